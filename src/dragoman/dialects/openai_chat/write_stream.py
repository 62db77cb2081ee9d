"""Writing the stream of OpenAI Chat Completions.

Each delta is a chunk. What is known only at the end comes in the chunk that says why the answer
ended; counts of tokens come last, in a chunk without choices, for clients that asked for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from ...core.reading import (
    encode,
)
from ...core.writing import is_blank, joint
from ...ledger import Ledger
from ...model import (
    Block,
    Citation,
    Json,
    Reasoning,
    Refusal,
    Text,
    ToolCall,
)
from ...streams.base import FunctionsOnly, InTurns
from ...streams.events import Begin, Cite, Close, Delta, Open, Signed
from . import assistant, gateways

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
        self.said: set[str] = set()  # keys of the message that were said


class ChatSpoken:
    """A text while it is written: its length, and where it comes from."""

    def __init__(self, voice: ChatVoice, at: str) -> None:
        self.voice = voice
        self.at = at
        self.length = 0
        self.last = ""
        self.citations: list[Citation] = []


class ChatWriter(FunctionsOnly, InTurns):
    dialect: OpenAIChat

    def __init__(self, dialect: OpenAIChat, log: Ledger, home: bool) -> None:
        super().__init__(dialect, home, log)
        if not home and dialect.can.freeform != "native":
            self.wrap_freeform()
        self.joins = dialect.joins_texts and not home
        self.w = dialect.writing(self.aside, dialect.name if home else None, answer=True)
        self.head: dict[str, Json] = {}
        self.voices: dict[int, ChatVoice] = {}
        self.heads: dict[int, bytes] = {}  # what the deltas of a block begin and end with
        self.tails: dict[int, bytes] = {}
        self.parts: dict[int, tuple[str, int] | None] = {}  # what was said last of reasoning
        self.thinking: dict[int, tuple[ChatVoice, str]] = {}  # reasoning without a word so far
        self.texts: dict[int, ChatSpoken] = {}
        self.called: dict[int, Json] = {}  # ids of calls
        self.own: dict[int, tuple[int, dict[str, Json]]] = {}  # reasoning in a shape of its own
        self.mute: set[int] = set()  # open calls of functions that have no arguments yet

    def begin(self, event: Begin) -> bytes:
        doc = self.at_rest(replace(event.response, failure=None))
        doc.pop("choices", None)
        doc.pop("usage", None)
        if not self.home:
            doc.pop("service_tier", None)  # which one served is known in the end
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
        delta: dict[str, Json] = {"role": "assistant"}
        if not self.home:
            delta |= {"content": None, "refusal": None}
        # OpenAI's client takes no candidate before the one with the next lower index.
        before = self.voice(number - 1)[1] if number and not self.home else b""
        return voice, before + self.chunk(number, delta)

    def open(self, event: Open) -> bytes:
        voice, begun = self.voice(event.candidate)
        block, index, number = event.block, event.index, event.candidate
        key = self.key_of(block)
        if isinstance(block, ToolCall):
            return begun + self.open_call(block, voice, index, number)
        if isinstance(block, Reasoning) and self.is_in_its_own_shape(block):
            return begun + self.open_own(event, block, voice)
        if key is None or self.must_wait(event, (number, key)):
            return begun
        if isinstance(block, Reasoning):  # another reasoning block is apart from the one before
            self.parts[index] = ("", -1) if key in voice.said else None
            self.thinking[index] = (voice, key)
        else:
            voice.said.add(key)
        if isinstance(block, Text):
            self.texts[index] = ChatSpoken(voice, block.at)
        self.frame_deltas(index, number, {key: "\0"})
        return begun

    def is_in_its_own_shape(self, block: Reasoning) -> bool:
        """Whether reasoning stands in LiteLLM's blocks or in a part of the content."""
        spelling = self.dialect.spelling(block)
        return "blocks" in spelling or "part" in spelling

    def open_own(self, event: Open, block: Reasoning, voice: ChatVoice) -> bytes:
        number, spelling = event.candidate, self.dialect.spelling(block)
        if self.must_wait(event, (number, gateways.BLOCKS)):
            return b""
        self.own[event.index] = (number, spelling)
        voice.said |= {gateways.BLOCKS, *filter(None, (spelling.get("twin"),))}
        if "part" in spelling:
            voice.said.add("content")
        if spelling.get("blocks") == "redacted_thinking" and block.signature is not None:
            return self.add_signature(Signed(event.index, block.signature))  # it comes whole
        return b""

    def say_own(self, index: int, text: str, part: int, signature: str | None = None) -> bytes:
        number, spelling = self.own[index]
        signed = {} if signature is None else {"signature": signature}
        if "blocks" in spelling:
            doc: dict[str, Json] = {"type": "thinking", "thinking": text, **signed}
            twin = {gateways.TWIN: text} if "twin" in spelling and text else {}
            return self.chunk(number, {**twin, gateways.BLOCKS: [doc]})
        if not spelling["part"]:
            return self.chunk(number, {"content": [{"type": gateways.PART, "text": text}]})
        before = [{"type": "summary_text", "text": ""}] * part
        item = {"type": "summary_text", "text": text, **signed}
        whole = {"type": gateways.PART, "summary": [*before, item]}
        return self.chunk(number, {"content": [whole]})

    def add_signature(self, event: Signed) -> bytes:
        if event.index not in self.own:
            return self.wait(event)
        number, spelling = self.own[event.index]
        if spelling.get("blocks") == "redacted_thinking":
            doc = {"type": "redacted_thinking", "data": event.signature.data}
            return self.chunk(number, {gateways.BLOCKS: [doc]})
        spelled = spelling.get("part")
        items = spelled[0] if spelled else []
        place = next((n for n, item in enumerate(items) if item.get("signature")), 0)
        return self.say_own(event.index, "", place, event.signature.data)

    def key_of(self, block: Block) -> str | None:
        """Where a text stands in a message here."""
        if isinstance(block, Text):
            return "content"
        if isinstance(block, Refusal):
            return "refusal"
        if isinstance(block, Reasoning):
            key: str | None = self.dialect.spelling(block).get("key") or self.dialect.thinking_key
            return key
        return None

    def open_call(self, call: ToolCall, voice: ChatVoice, index: int, number: int) -> bytes:
        place = voice.calls
        if call.extras is not None and self.dialect.spelling(call).get("legacy"):
            voice.said.add("function_call")
            self.frame_deltas(index, number, {"function_call": {"arguments": "\0"}})
            return self.chunk(number, {"function_call": {"name": call.name, "arguments": ""}})
        voice.calls += 1
        voice.said.add("tool_calls")
        doc = assistant.write_call(self.dialect, replace(call, arguments="{}"), self.w)
        self.called[index] = doc.get("id")
        custom = "custom" in doc
        if not (custom or self.home):
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
                return self.say_own(index, event.text, event.part)
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
        spoken.length += len(text)
        spoken.last = text
        return before + text

    def apart(self, event: Delta) -> str:
        """The parts of reasoning become one text, apart from each other by a blank line."""
        if not event.text:
            return ""
        before = self.parts.get(event.index)
        part = (event.place, event.part)
        if event.index in self.thinking:
            voice, key = self.thinking.pop(event.index)
            voice.said.add(key)
        if event.place == "summary" and before is not None and before[0] == "text":
            return ""  # reasoning is said once here
        self.parts[event.index] = part
        return event.text if before is None or before == part else "\n\n" + event.text

    def cite(self, event: Cite) -> bytes:
        if event.index in self.texts:
            self.texts[event.index].citations.append(event.citation)
            return b""
        return self.wait(event)

    def close(self, event: Close) -> bytes:
        """Where a text comes from is said at the end: clients do not add to a list twice."""
        index, said = event.index, b""
        if index in self.waiting:
            return self.wait(event)
        if index in self.mute:  # blank arguments are none
            said = self.delta(Delta(index, "{}"))
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
            if self.home and voice.cited:  # there is one text, and its citations come with it
                voice.said.add("annotations")
                said += self.chunk(self.number_of(voice), {"annotations": voice.cited})
        return said + self.next_turn(index)

    def number_of(self, voice: ChatVoice) -> int:
        return next(number for number, known in self.voices.items() if known is voice)

    def end(self, doc: Json) -> bytes:
        begun, choices = self.last_choices(doc)
        out = [begun, *(self.frame({**self.head, "choices": [choice]}) for choice in choices)]
        if self.usage and doc.get("usage") is not None:
            out.append(self.frame({**self.head, "choices": [], "usage": doc["usage"]}))
        return b"".join(out) + b"data: [DONE]\n\n"

    def last_choices(self, doc: Json) -> tuple[bytes, list[Json]]:
        """What of the answer is known only now; and what comes before, if none of it came yet."""
        self.head |= {k: v for k, v in doc.items() if k not in APART}
        said, choices = b"", []
        for place, choice in enumerate(doc.get("choices", ())):
            number = choice.get("index", place)
            if "message" not in choice and "messages" not in choice:  # it was filtered
                choices.append({"index": number, **choice})
                continue
            voice, begun = self.voice(place)
            said += begun
            message = choice.get("message") or {}
            rest = {k: v for k, v in message.items() if k not in voice.said and k != "role"}
            if message.get("content") == "":
                rest["content"] = ""
            if not self.home and len(voice.cited) >= len(message.get("annotations") or ()) > 0:
                rest["annotations"] = voice.cited  # none came late, when its text was closed
            if not self.home:
                rest = {k: v for k, v in rest.items() if v is not None}
            fields = {k: v for k, v in choice.items() if k not in ("index", "message")}
            choices.append({"index": number, "delta": rest, "finish_reason": None, **fields})
        return said, choices

    def fail(self, doc: Json) -> bytes:
        if not doc.get("choices"):
            return self.frame(doc)  # and no [DONE]: it is not done
        begun, choices = self.last_choices(doc)
        more = {key: doc[key] for key in ("usage", "error") if key in doc}
        return begun + self.frame({**self.head, "choices": choices, **more})
