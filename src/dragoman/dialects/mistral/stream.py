"""The stream of Mistral: that of OpenAI Chat, with reasoning as chunks of the content.

The content of a delta is a text or a list of chunks. Chunks of one kind that follow each other are
one; reasoning without texts ends the reasoning. A call comes whole. Tokens are counted in the chunk
that says why the reply ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from msgspec.structs import replace

from ...core.reading import as_dict, as_list, compact, expected, need_str
from ...core.writing import is_blank, same_only
from ...ledger import Ledger
from ...model import Block, Json, Reasoning, Signature, Text, ToolCall
from ...streams.events import Cite, Close, Delta, Event, Odd, Open, Signed, deltas, hollow
from ...streams.received import Received
from ...streams.splicing import Splice, silent
from ..openai_chat import assistant as chat_assistant
from ..openai_chat.choices import Speaker
from ..openai_chat.read_stream import ChatReader
from ..openai_chat.write_stream import ChatVoice, ChatWriter
from . import parts
from .parts import is_bare_text

if TYPE_CHECKING:
    from . import Mistral


THINKING = "thinking"
TEXT = "content"


class Chunk:
    """A chunk of the content while it arrives."""

    def __init__(self, kind: str, whole: bool, doc: dict[str, Json] | None = None) -> None:
        self.kind = kind
        self.received = Received(whole)
        self.doc = doc or {}  # what it says beyond its words; all of it, if it has none

    def whole(self) -> dict[str, Json]:
        if self.kind == TEXT:
            return {"type": "text", "text": str(self.received)}
        if self.kind == THINKING:
            words = str(self.received)
            texts = [{"type": "text", "text": words}] if words else []
            return {"type": "thinking", "thinking": texts, **self.doc}
        return self.doc


class MistralReader(ChatReader):
    dialect: Mistral
    padding: ClassVar[str] = "p"
    varying: ClassVar[Mapping[str, Any]] = {"p": str}
    thinks_apart: ClassVar[bool] = False  # a tool may speak, too

    def __init__(self, dialect: Mistral, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.chunks: dict[int, list[Chunk]] = {}
        self.roles: dict[tuple[int, int | None], Json] = {}  # who speaks under which index

    def read_delta(
        self, speaker: Speaker, delta: dict[str, Json], at: str, events: list[Event]
    ) -> None:
        """What a tool says that Mistral runs itself is a message of its own, by its index."""
        index = delta.get("index")
        place = (speaker.number, index if index.__class__ is int else None)
        if delta.get("role") is not None:
            self.roles[place] = delta["role"]
        if self.roles.get(place) == "tool":
            events.append(Odd(self.dialect.name, delta))
        else:
            super().read_delta(speaker, delta, at, events)

    def add(self, speaker: Speaker, key: str, text: str, events: list[Event]) -> None:
        if key not in (TEXT, THINKING):
            super().add(speaker, key, text, events)
            return
        index = speaker.open.get(key)
        if index is None:
            index = self.begin_chunk(speaker, key, self.text_block(speaker, key), events)
        speaker.received[key].add(text)
        events.append(Delta(index, text))

    def begin_chunk(
        self, speaker: Speaker, key: str, block: Block, events: list[Event],
        doc: dict[str, Json] | None = None,
    ) -> int:  # fmt: skip
        if speaker.calls:
            self.out_of_order(speaker)
        self.close_before(speaker, events)
        chunk = Chunk(key, self.whole, doc)
        self.chunks.setdefault(speaker.number, []).append(chunk)
        speaker.received[key] = chunk.received
        return self.begin_block(speaker, key, block, events)

    def text_block(self, speaker: Speaker, key: str) -> Block:
        if key == THINKING:
            return Reasoning(at=f"/choices/{speaker.number}/message/content")
        return super().text_block(speaker, key)

    def read_parts(self, speaker: Speaker, value: Json, at: str, events: list[Event]) -> None:
        if not at.endswith("/content"):
            expected("a string", value, at)
        for place, part in enumerate(as_list(value, at)):
            where = f"{at}/{place}"
            part = as_dict(part, where)
            kind = need_str(part, "type", where)
            if is_bare_text(part):
                if part["text"]:
                    self.add(speaker, TEXT, part["text"], events)
            elif kind == THINKING and is_worded(part):
                self.read_thinking(speaker, part, events)
            else:
                self.read_whole(speaker, part, where, events)

    def read_whole(
        self, speaker: Speaker, part: dict[str, Json], at: str, events: list[Event]
    ) -> None:
        kind = part["type"]
        block = replace(
            self.dialect.read_part(part, kind, at), at=f"/choices/{speaker.number}/message"
        )
        index = self.begin_chunk(speaker, kind, hollow(block), events, part)
        events += deltas(index, block)
        del speaker.open[kind], speaker.received[kind]
        events.append(Close(index))

    def read_thinking(self, speaker: Speaker, part: dict[str, Json], events: list[Event]) -> None:
        given = part[THINKING]
        text = given if given.__class__ is str else "".join(item["text"] for item in given)
        rest = {k: v for k, v in part.items() if k not in ("type", THINKING)}
        if text:
            self.add(speaker, THINKING, text, events)
        elif rest and THINKING not in speaker.open:
            self.begin_chunk(speaker, THINKING, self.text_block(speaker, THINKING), events)
        if rest:
            self.chunks[speaker.number][-1].doc |= rest
        index = speaker.open.get(THINKING)
        if index is not None and part.get("signature").__class__ is str:
            events.append(Signed(index, Signature(part["signature"], self.dialect.issuer)))
        if index is not None and not text and not rest:
            events.append(Close(speaker.open.pop(THINKING)))

    def choice(self, speaker: Speaker) -> Json:
        choice = super().choice(speaker)
        message = choice["message"]
        message.pop(THINKING, None)
        chunks: list[dict[str, Json]] = []
        for part in self.chunks.get(speaker.number, ()):
            chunk = part.whole()
            if chunks and is_bare_text(chunk) and is_bare_text(chunks[-1]):  # a call came between
                chunk["text"] = chunks.pop()["text"] + chunk["text"]
            chunks.append(chunk)
        if len(chunks) == 1 and is_bare_text(chunks[0]):
            message[TEXT] = chunks[0]["text"]
        elif chunks:
            message[TEXT] = chunks
        told = choice.get("messages")
        if told and says_no_more(message, told.__class__ is list and told[-1]):
            del choice["message"]  # it is the last of these
        return choice


def says_no_more(message: dict[str, Json], last: Json) -> bool:
    """Whether what the deltas said is what the last of the ``messages`` says."""
    said = {key: value for key, value in message.items() if key != "role" and value}
    words = said.pop(TEXT, "")
    if not said and not words:
        return True
    return last.__class__ is dict and all(
        texts_of(value) == texts_of(last.get(key)) for key, value in {**said, TEXT: words}.items()
    )


def texts_of(content: Json) -> Json:
    """Content of nothing but texts as one of them."""
    if content.__class__ is not list or not all(map(is_bare_text, content)):
        return content
    return "".join(part["text"] for part in content)


def is_worded(part: dict[str, Json]) -> bool:
    """Whether reasoning consists of texts."""
    written = part.get(THINKING)
    return written.__class__ is str or (
        written.__class__ is list and all(map(is_bare_text, written))
    )


class Held(NamedTuple):
    """A call while it is not whole."""

    number: int
    call: dict[str, Json]
    pieces: list[str]


class MistralWriter(ChatWriter):
    dialect: Mistral

    def __init__(self, dialect: Mistral, log: Ledger, same: bool) -> None:
        super().__init__(dialect, log, same)
        self.reasoning: dict[int, int] = {}  # open reasoning -> their candidates
        self.parted: dict[int, str] = {}  # reasoning that a call has parted, and where they stand
        self.places: dict[int, str] = {}
        self.worded: dict[int, int] = {}  # open texts -> their candidates
        self.reasoned: set[int] = set()  # candidates whose last chunk is reasoning
        self.mixed: dict[int, tuple[int, dict[str, Json]]] = {}  # chunks that come whole
        self.held: dict[int, Held] = {}  # calls that are not whole, or behind one that is not
        self.whole: set[int] = set()

    def voice(self, number: int) -> tuple[ChatVoice, bytes]:
        voice = self.voices.setdefault(number, ChatVoice())
        if voice.begun:
            return voice, b""
        voice.begun = True
        return voice, self.chunk(number, {"role": "assistant"})

    def open(self, event: Open) -> bytes:
        block, number = event.block, event.candidate
        if isinstance(block, Reasoning) and self.key_of(block) is None:
            return self.open_reasoning(event)
        if isinstance(block, Text):
            if self.same:
                self.reasoned.discard(number)
                if block.extras is not None and block.extras.fields:
                    (doc,) = parts.write_part(self.dialect, block, self.w)
                    self.mixed[event.index] = number, doc
                    return self.voice(number)[1]
            self.worded[event.index] = number
        return super().open(event)

    def open_call(self, call: ToolCall, voice: ChatVoice, index: int, number: int) -> bytes:
        """A call comes whole: the SDK refuses a piece of one that does not name its function."""
        doc = chat_assistant.write_call(self.dialect, replace(call, arguments="{}"), self.w)
        self.called[index] = doc.get("id")
        self.held[index] = Held(number, {"index": voice.calls, **doc}, [])
        voice.calls += 1
        voice.received.add("tool_calls")
        return b""

    def open_reasoning(self, event: Open) -> bytes:
        number = event.candidate
        voice, written = self.voice(number)
        if self.must_wait(event, (number, TEXT)):
            return written
        if number in self.reasoned:  # another reasoning block: the one before has ended
            written += self.chunk(number, {"content": [{"type": "thinking", "thinking": []}]})
        words = {"type": "thinking", "thinking": [{"type": "text", "text": "\0"}]}
        self.frame_deltas(event.index, number, {"content": [words]})
        self.reasoning[event.index] = number
        block = event.block
        self.places[event.index] = block.at
        extras = block.extras
        if self.same and extras is not None:
            (doc,) = parts.write_part(self.dialect, block, self.w)
            if not is_worded(doc):
                self.mixed[event.index] = number, doc
            elif len(doc) > 2:
                voice.received.add(TEXT)
                self.reasoned.add(number)
                written += self.chunk(number, {"content": [doc]})
        return written

    def delta(self, event: Delta) -> bytes:
        index = event.index
        if index in self.held:
            self.held[index].pieces.append(event.text)
            return b""
        if index in self.mixed:
            doc = self.mixed[index][1]
            if doc["type"] == "text":
                doc["text"] += event.text
            return b""  # texts of reasoning stand among what it refers to
        if index in self.reasoning:
            if not (event.text or self.same):
                return b""
            if event.place == "summary" and (self.parts.get(index) or ("",))[0] == "text":
                return b""  # reasoning is written once here
            if (at := self.parted.pop(index, None)) is not None and index in self.parts:
                why = "a tool call interrupted the reasoning; the rest is written as another block"
                self.log.moved("stream.order", at, why)
            number = self.reasoning[index]
            self.voices[number].received.add(TEXT)
            self.reasoned.add(number)
            self.parts.setdefault(index, (event.place, event.part))
        elif self.reasoned and event.text and index in self.heads and index in self.worded:
            self.reasoned.discard(self.worded[index])
        return super().delta(event)

    def splicing(self, event: Delta) -> Splice | None:
        index = event.index
        if index in self.wrapped or index in self.parted or index in self.mixed:
            return None
        if event.index in self.held:
            return silent(self.held[event.index].pieces.append)
        return super().splicing(event)

    def add_signature(self, event: Signed) -> bytes:
        number = self.reasoning.get(event.index)
        signature = event.signature
        if number is None:
            return self.wait(event)
        if signature.kind != "signature" or not same_only(self.dialect, signature.issuer):
            return b""
        self.voices[number].received.add(TEXT)
        if event.index in self.mixed:
            self.mixed[event.index][1]["signature"] = signature.data
            return b""
        self.reasoned.add(number)
        part = {"type": "thinking", "thinking": [], "signature": signature.data}
        return self.chunk(number, {"content": [part]})

    def cite(self, event: Cite) -> bytes:
        return super().cite(event) if self.same or event.index in self.waiting else b""

    def close(self, event: Close) -> bytes:
        if event.index not in self.waiting:
            self.reasoning.pop(event.index, None)
            self.worded.pop(event.index, None)
        written = b""
        if event.index in self.mixed:
            number, doc = self.mixed.pop(event.index)
            self.voices[number].received.add(TEXT)
            written = self.chunk(number, {"content": [doc]})
        if (held := self.held.get(event.index)) is not None:
            self.whole.add(event.index)
            written += self.write_calls(held.number)
        return written + super().close(event)

    def write_calls(self, number: int) -> bytes:
        """The calls of a candidate that are whole, in the order in which they began."""
        found: list[int] = []
        for index, held in self.held.items():
            if held.number == number:
                if index not in self.whole:
                    break
                found.append(index)
        return b"".join(self.write_held(self.held.pop(index)) for index in found)

    def write_held(self, held: Held) -> bytes:
        self.parted |= {index: self.places[index] for index in self.reasoning}
        arguments = "".join(held.pieces)
        if is_blank(arguments) and not self.same:  # blank arguments are none
            arguments = "{}"
        function = {**held.call["function"], "arguments": arguments}
        return self.chunk(held.number, {"tool_calls": [{**held.call, "function": function}]})

    def end(self, doc: Json) -> bytes:
        """Counts come in the last chunk, which says why the reply ended."""
        usage = doc.get("usage")
        written = super().end({k: v for k, v in doc.items() if k != "usage"})
        if usage is None:
            return written
        frames = written.split(b"\n\n")
        last = frames[-3]  # before [DONE]
        frames[-3] = last[:-1] + b',"usage":' + compact(usage).encode() + b"}"
        return b"\n\n".join(frames)
