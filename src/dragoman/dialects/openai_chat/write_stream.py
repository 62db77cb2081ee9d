"""Writing the stream of OpenAI Chat Completions.

Each delta is a chunk. What is known only at the end comes in the chunk that says why the reply
ended; counts of tokens come last, in a chunk without choices, for clients that asked for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from ...core.reading import encode
from ...core.writing import is_blank, joint
from ...ledger import Ledger
from ...model import (
    Block,
    Citation,
    Json,
    Media,
    Raw,
    Reasoning,
    Refusal,
    Text,
    ToolCall,
)
from ...streams.events import Begin, Cite, Close, Delta, Open, Signed
from ...streams.orders import FunctionsOnly, InTurns
from ...streams.splicing import Splice, between, silent
from . import assistant, gateways
from .parts import place_of

if TYPE_CHECKING:
    from . import OpenAIChat


APART = ("choices", "usage", "object", "error")
encode_text = msgspec.json.Encoder().encode


class ChatVoice:
    """One candidate while it is written."""

    def __init__(self) -> None:
        self.begun = False
        self.calls = 0
        self.length = 0  # of the text so far
        self.last = ""  # the end of it
        self.last_cited = False  # whether the last text is cited
        self.last_at = ""  # where it stands in the source
        self.last_calls = 0  # and how many calls there were then
        self.cited: list[Json] = []  # where it comes from
        self.received: set[str] = set()  # keys of the message that were written


class ChatSpoken:
    """A text while it is written: its length, and where it comes from."""

    def __init__(self, voice: ChatVoice, at: str) -> None:
        self.voice = voice
        self.at = at
        self.length = 0
        self.last = ""
        self.citations: list[Citation] = []

    def add(self, text: str) -> None:
        self.length += len(text)
        self.last = text


class Own:
    """Reasoning in LiteLLM's blocks or in a part of the content, written when it is whole."""

    def __init__(self, number: int, place: str, block: Reasoning) -> None:
        self.number = number
        self.place = place
        self.block = block
        self.texts: dict[tuple[str, int], str] = {}

    def whole(self) -> Reasoning:
        content, summary = (
            tuple(text for (place, _), text in self.texts.items() if place == name)
            for name in ("text", "summary")
        )
        return replace(self.block, content=content, summary=summary)


class ChatWriter(FunctionsOnly, InTurns):
    dialect: OpenAIChat

    def __init__(self, dialect: OpenAIChat, log: Ledger, same: bool) -> None:
        super().__init__(dialect, same, log)
        if not same and dialect.can.freeform != "native":
            self.wrap_freeform()
        self.joins = dialect.joins_texts and not same
        self.w = dialect.writing(self.aside, dialect.name if same else None, reply=True)
        self.head: dict[str, Json] = {}
        self.voices: dict[int, ChatVoice] = {}
        self.heads: dict[int, bytes] = {}  # what the deltas of a block begin and end with
        self.tails: dict[int, bytes] = {}
        self.parts: dict[int, tuple[str, int] | None] = {}  # what was written last of reasoning
        self.thinking: dict[int, tuple[ChatVoice, str]] = {}  # reasoning without a word so far
        self.texts: dict[int, ChatSpoken] = {}
        self.called: dict[int, Json] = {}  # ids of calls
        self.own: dict[int, Own] = {}  # reasoning in a shape of its own
        self.mute: set[int] = set()  # open calls of functions that have no arguments yet

    def begin(self, event: Begin) -> bytes:
        doc = self.at_rest(replace(event.response, failure=None))
        for key in ("choices", "usage", "service_tier"):  # which one served is known in the end
            doc.pop(key, None)
        doc["object"] = "chat.completion.chunk"
        self.head = doc
        return b""  # a chunk without choices says something else

    def chunk(self, number: int, delta: Json, **fields: Json) -> bytes:
        choice: dict[str, Json] = {"index": number, "delta": delta, "finish_reason": None}
        return self.frame({**self.head, "choices": [choice | fields]})

    def frame(self, doc: Json) -> bytes:
        return b"data: " + encode(doc) + b"\n\n"

    def voice(self, number: int) -> tuple[ChatVoice, bytes]:
        """A candidate, and what it begins with if it has not begun."""
        voice = self.voices.setdefault(number, ChatVoice())
        if voice.begun:
            return voice, b""
        voice.begun = True
        # OpenAI's client takes no candidate before the one with the next lower index.
        before = self.voice(number - 1)[1] if number else b""
        delta = {"role": "assistant", "content": None, "refusal": None}
        return voice, before + self.chunk(number, delta)

    def open(self, event: Open) -> bytes:
        if event.candidate and self.dialect.can.candidates == 1:
            return b""  # the ledger reports it as dropped
        voice, begun = self.voice(event.candidate)
        block, index, number = event.block, event.index, event.candidate
        key = self.key_of(block)
        if isinstance(block, ToolCall):
            return begun + self.open_call(block, voice, index, number)
        if isinstance(block, Reasoning) and self.is_in_its_own_shape(block):
            return begun + self.open_own(event, block, voice)
        if self.same and isinstance(block, Media | Raw) and "/content/" in block.at:
            voice.received.add("content")
            return begun + self.chunk(number, {"content": self.dialect.write_part(block, self.w)})
        if key is None or self.must_wait(event, (number, key)):
            return begun
        if isinstance(block, Reasoning):  # another reasoning block is apart from the one before
            self.parts[index] = ("", -1) if key in voice.received else None
            self.thinking[index] = (voice, key)
        else:
            voice.received.add(key)
        if isinstance(block, Text):
            self.texts[index] = ChatSpoken(voice, block.at)
        self.frame_deltas(index, number, {key: "\0"})
        return begun

    def is_in_its_own_shape(self, block: Reasoning) -> bool:
        """Whether reasoning stands in LiteLLM's blocks or in a part of the content."""
        return place_of(self.dialect, block) in (gateways.BLOCKS, "content")

    def open_own(self, event: Open, block: Reasoning, voice: ChatVoice) -> bytes:
        place = place_of(self.dialect, block) or ""
        if not self.must_wait(event, (event.candidate, gateways.BLOCKS)):
            self.own[event.index] = Own(event.candidate, place, block)
            voice.received |= {place, gateways.TWIN} if place == gateways.BLOCKS else {place}
        return b""

    def say_own(self, own: Own) -> bytes:
        delta: dict[str, Json] = {}
        if own.place == gateways.BLOCKS:
            gateways.write_block(self.dialect, delta, own.whole(), self.aside)
        else:
            delta["content"] = [gateways.write_part(own.whole())]
        return self.chunk(own.number, delta)

    def add_signature(self, event: Signed) -> bytes:
        if (own := self.own.get(event.index)) is None:
            return self.wait(event)
        own.block = replace(own.block, signature=event.signature)
        return b""

    def key_of(self, block: Block) -> str | None:
        """Where a text stands in a message here."""
        if isinstance(block, Text):
            return "content"
        if isinstance(block, Refusal):
            return "refusal"
        if isinstance(block, Reasoning):
            return place_of(self.dialect, block) or self.dialect.thinking_key
        return None

    def open_call(self, call: ToolCall, voice: ChatVoice, index: int, number: int) -> bytes:
        place = voice.calls
        if assistant.is_legacy(self.dialect, call):
            voice.received.add("function_call")
            self.frame_deltas(index, number, {"function_call": {"arguments": "\0"}})
            return self.chunk(number, {"function_call": {"name": call.name, "arguments": ""}})
        voice.calls += 1
        voice.received.add("tool_calls")
        doc = assistant.write_call(self.dialect, replace(call, arguments="{}"), self.w)
        self.called[index] = doc.get("id")
        custom = "custom" in doc
        if not (custom or self.same):
            self.mute.add(index)
        key, field = ("custom", "input") if custom else ("function", "arguments")
        doc = {"index": place, **doc, key: {**doc[key], field: ""}}
        self.frame_deltas(index, number, {"tool_calls": [{"index": place, key: {field: "\0"}}]})
        return self.chunk(number, {"tool_calls": [doc]})

    def frame_deltas(self, index: int, number: int, delta: Json) -> None:
        """What stands around each delta of a block."""
        head, _, tail = self.chunk(number, delta).partition(b'"\\u0000"')
        self.heads[index], self.tails[index] = head, tail

    def delta(self, event: Delta) -> bytes:
        index = event.index
        head = self.heads.get(index)
        if head is None:
            if index in self.own:
                part, texts = (event.place, event.part), self.own[index].texts
                texts[part] = texts.get(part, "") + event.text
                return b""
            return self.wait(event)  # or it has no place here
        text = event.text
        if event.place != "text" or event.part or index in self.parts:
            text = self.apart(event)
            if not text:
                return b""
        elif index in self.texts:
            text = self.say_text(self.texts[index], text)
        elif index in self.mute and not is_blank(text):
            self.mute.discard(index)
        return head + encode_text(text) + self.tails[index]

    def splicing(self, event: Delta) -> Splice | None:
        index = event.index
        head, tail = self.heads.get(index), self.tails.get(index, b"")
        if head is None:  # it has no place here, unless it comes later
            return None if index in self.own or index in self.waiting else silent()
        if index in self.wrapped or index in self.mute:
            return None
        if index in self.parts:
            goes_on = self.parts[index] == (event.place, event.part)
            return between(head, tail) if goes_on else None
        if event.place != "text" or event.part:
            return None
        spoken = self.texts.get(index)
        return between(head, tail, None if spoken is None else spoken.add)

    def say_text(self, spoken: ChatSpoken, text: str) -> str:
        """More of a text; before its first word, what stands between it and the text before."""
        if not text:
            return text
        before = ""
        voice = spoken.voice
        if not spoken.length and voice.last and self.joins:
            between = voice.calls > voice.last_calls
            if not (between and spoken.at == voice.last_at != ""):  # one text, with calls between
                before = joint(voice.last, text, voice.last_cited)
            voice.length += len(before)
        spoken.add(text)
        return before + text

    def apart(self, event: Delta) -> str:
        """The parts of reasoning become one text, apart from each other by a blank line."""
        if not event.text:
            return ""
        before = self.parts.get(event.index)
        part = (event.place, event.part)
        if event.index in self.thinking:
            voice, key = self.thinking.pop(event.index)
            voice.received.add(key)
        if event.place == "summary" and before is not None and before[0] == "text":
            return ""  # reasoning is written once here
        self.parts[event.index] = part
        return event.text if before is None or before == part else "\n\n" + event.text

    def cite(self, event: Cite) -> bytes:
        if event.index in self.texts:
            self.texts[event.index].citations.append(event.citation)
            return b""
        return self.wait(event)

    def close(self, event: Close) -> bytes:
        """Where a text comes from is written at the end: clients do not add to a list twice."""
        index, written = event.index, b""
        if index in self.waiting:
            return self.wait(event)
        if index in self.mute:  # blank arguments are none
            written = self.delta(Delta(index, "{}"))
        if index in self.own:
            written = self.say_own(self.own[index])
        for known in (self.heads, self.tails, self.parts, self.own):
            known.pop(index, None)
        if (text := self.texts.pop(index, None)) is not None:
            voice, start = text.voice, text.voice.length
            voice.length += text.length
            if text.length:
                voice.last, voice.last_cited = text.last, bool(text.citations)
                voice.last_at, voice.last_calls = text.at, voice.calls
            cited = (
                assistant.write_annotation(self.dialect, citation, text.length, start, self.w)
                for citation in text.citations
            )
            voice.cited += [doc for doc in cited if doc is not None]
        return written + self.next_turn(index)

    def end(self, doc: Json) -> bytes:
        begun, choices = self.last_choices(doc)
        out = [begun, *(self.frame({**self.head, "choices": [choice]}) for choice in choices)]
        if self.usage and doc.get("usage") is not None:
            out.append(self.frame({**self.head, "choices": [], "usage": doc["usage"]}))
        return b"".join(out) + b"data: [DONE]\n\n"

    def last_choices(self, doc: Json) -> tuple[bytes, list[Json]]:
        """What of the reply is known only now; and what comes before, if none of it came yet."""
        self.head |= {k: v for k, v in doc.items() if k not in APART}
        written, choices = b"", []
        for number, choice in enumerate(doc.get("choices", ())):
            voice, begun = self.voice(number)
            written += begun
            message = choice.get("message") or {}
            rest = {k: v for k, v in message.items() if k not in voice.received and k != "role"}
            if message.get("content") == "":
                rest["content"] = ""
            if not self.same and len(voice.cited) >= len(message.get("annotations") or ()) > 0:
                rest["annotations"] = voice.cited  # none came late, when its text was closed
            rest = {k: v for k, v in rest.items() if v is not None}
            fields = {k: v for k, v in choice.items() if k not in ("index", "message")}
            choices.append({"index": number, "delta": rest, "finish_reason": None, **fields})
        return written, choices

    def fail(self, doc: Json) -> bytes:
        if not doc.get("choices"):
            return self.frame(doc)  # and no [DONE]: it is not done
        begun, choices = self.last_choices(doc)
        more = {key: doc[key] for key in ("usage", "error") if key in doc}
        return begun + self.frame({**self.head, "choices": choices, **more})
