"""Reading the stream of the Gemini API.

Each chunk is a response of its own that holds what is new: more text, or whole parts. Nothing marks
where a text ends, and nothing but the end of the bytes the end of the stream; an answer is whole
when every candidate has said why it ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType

from ...core.reading import UNREADABLE, as_dict, maybe_dict, maybe_list
from ...errors import Malformed
from ...model import Block, Json, Reasoning, Response, Text, ToolCall
from ...streams.base import Keys, Said, StreamReader
from ...streams.events import Cite, Close, Delta, End, Event, Open, Signed, hollow
from ...streams.framing import Frame
from .pieces import Pieces, begins, goes_on
from .spelling import both

if TYPE_CHECKING:
    from . import Gemini

HEAD = both("modelVersion", "responseId", "createTime")
ENDS = both("finishReason")
NOTHING: Json = [{"text": ""}]
PLAIN = frozenset({"text", "thought"})
PARTIAL = "partialArgs"
PIECE = Keys("jsonPath", "stringValue", "numberValue", "boolValue", "nullValue", "willContinue")


Counts: TypeAlias = dict[str, int | str | list[dict[str, int | str]]]


class Piece(Struct, forbid_unknown_fields=True):
    text: str
    reasoning: bool = False


class Content(Struct, forbid_unknown_fields=True):
    parts: tuple[Piece]
    role: Literal["model"]


class Candidate(Struct, forbid_unknown_fields=True):
    content: Content
    index: int | UnsetType = UNSET


class Usual(Struct, forbid_unknown_fields=True, rename="camel"):
    """Nearly every chunk there is: more of a text. Anything else in it is read with care."""

    candidates: tuple[Candidate]
    usage_metadata: Counts | UnsetType = UNSET
    model_version: str | UnsetType = UNSET
    response_id: str | UnsetType = UNSET
    create_time: str | UnsetType = UNSET


decode_usual = msgspec.json.Decoder(Usual).decode


class Part:
    """A part while it arrives."""

    __slots__ = ("doc", "index", "open", "said")

    def __init__(self, doc: dict[str, Json], index: int, whole: bool) -> None:
        self.doc = doc
        self.index = index
        self.open = True
        self.said: Said | None = None
        if is_plain(doc):
            self.said = Said(whole)
            self.said.add(doc["text"])

    def takes(self, doc: dict[str, Json]) -> bool:
        """Whether a part goes on with this one."""
        if not self.open or self.said is None:
            return False
        if bool(doc.get("thought")) != bool(self.doc.get("thought")):
            return False
        return is_plain(doc) or signatures(doc)

    def document(self) -> dict[str, Json]:
        return self.doc if self.said is None else {**self.doc, "text": str(self.said)}


class Voice:
    """One candidate while it arrives."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.doc: dict[str, Json] = {}
        self.content: dict[str, Json] | None = None
        self.parts: list[Part] = []
        self.call: Pieces | None = None  # whose arguments still come

    def document(self) -> dict[str, Json]:
        if self.content is None:
            return self.doc
        content = dict(self.content)
        if self.parts:
            content["parts"] = [part.document() for part in self.parts]
        return {**self.doc, "content": content}


class GeminiReader(StreamReader):
    dialect: Gemini

    def __init__(self, dialect: Gemini, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.head: dict[str, Json] | None = None
        self.numbers = self.voices = dict[int, Voice]()
        self.count = 0  # blocks so far

    def read(self, frame: Frame) -> Sequence[Event]:
        if self.count:
            try:
                usual = decode_usual(frame[1])
            except UNREADABLE:
                return self.chunk(frame)
            part = self.going_on(usual)
            if part is not None and part.said is not None:
                text = usual.candidates[0].content.parts[0].text
                part.said.add(text)
                return (Delta(part.index, text),) if text else ()
        return self.chunk(frame)

    def going_on(self, usual: Usual) -> Part | None:
        """The part that a usual chunk goes on with, if it says nothing new but text and counts."""
        candidate, head = usual.candidates[0], self.head
        voice = self.voices.get(0 if candidate.index is UNSET else candidate.index)
        if head is None or voice is None or voice.content is None or not voice.parts:
            return None
        if (
            head.get("modelVersion", UNSET) != usual.model_version
            or head.get("responseId", UNSET) != usual.response_id
            or head.get("createTime", UNSET) != usual.create_time
            or voice.doc.get("index", UNSET) != candidate.index
            or voice.content.get("role") != "model"
        ):
            return None
        part = voice.parts[-1]
        reasoning = candidate.content.parts[0].reasoning
        if not part.open or part.said is None or bool(part.doc.get("thought")) is not reasoning:
            return None
        if usual.usage_metadata is not UNSET:
            if "usageMetadata" not in head:
                return None
            head["usageMetadata"] = usual.usage_metadata  # the last counts hold
        return part

    def chunk(self, frame: Frame) -> Sequence[Event]:
        if frame[1].strip() == b"[DONE]":
            return ()  # not this API's, but that of some who speak it
        doc = self.parse(frame)
        if doc.get("error") is not None:
            return self.fail(self.dialect.read_error(doc))
        events: list[Event] = []
        if self.head is None:
            self.head = {}
        listed = maybe_list(doc, "candidates", "")
        self.head |= {key: value for key, value in doc.items() if key != "candidates"}
        if self.begun is None and listed:
            events.append(self.introduce())
        if listed is not None:
            self.head.setdefault("candidates", [])
        for place, item in enumerate(listed or ()):
            self.candidate(as_dict(item, f"/candidates/{place}"), place, events)
        return events

    def introduce(self) -> Event:
        """What is known of an answer when it begins to speak: chunks before that may not know."""
        assert self.head is not None
        known = {key: self.head[key] for key in HEAD if key in self.head}
        tree = self.dialect.read_response(known)
        return self.begin(Response(tree.id, tree.model, (), created=tree.created))

    def candidate(self, doc: dict[str, Json], place: int, events: list[Event]) -> None:
        number = doc.get("index")
        if number.__class__ is not int:
            number = place
        voice = self.voices.get(number)
        if voice is None:
            voice = self.voices[number] = Voice(number)
        voice.doc |= {key: value for key, value in doc.items() if key != "content"}
        content = maybe_dict(doc, "content", f"/candidates/{place}")
        if content is None:
            if "content" in doc and voice.content is None:
                voice.doc["content"] = None
            return
        parts = content.get("parts")
        if voice.content is None:
            voice.content = {}
            voice.doc.pop("content", None)
        voice.content |= {key: value for key, value in content.items() if key != "parts"}
        if parts.__class__ is dict:
            parts = [parts]
        if parts == NOTHING and voice.parts and any(doc.get(key) is not None for key in ENDS):
            parts = []  # a chunk has parts, and this one has nothing to say but why it ends
        if parts is not None:
            voice.content.setdefault("parts", [])
        for index, part in enumerate(maybe_list({"parts": parts}, "parts", "/content") or ()):
            self.part(as_dict(part, "/content/parts"), voice, index == 0, events)

    def part(self, doc: dict[str, Json], voice: Voice, first: bool, events: list[Event]) -> None:
        """A part goes on with the last one of the chunk before, or is one of its own."""
        if voice.call is not None or "functionCall" in doc:
            whole = self.gather(doc, voice)
            if whole is None:
                return
            doc = whole
        last = voice.parts[-1] if voice.parts else None
        if last is not None and first and last.takes(doc):
            assert last.said is not None
            text = doc["text"]
            last.said.add(text)
            if text:
                events.append(Delta(last.index, text))
            if not is_plain(doc):
                self.signature(last, doc, events)
            return
        if last is not None:
            self.shut(last, events)
        where = f"/candidates/{voice.number}/content/parts/{len(voice.parts)}"
        block = self.dialect.read_part(doc, where, {}, frozenset())
        part = Part(doc, self.count, self.whole)
        self.count += 1
        voice.parts.append(part)
        events.append(Open(part.index, hollow(block), voice.number))
        events += deltas(part.index, block)
        if part.said is None:
            self.shut(part, events)

    def gather(self, doc: dict[str, Json], voice: Voice) -> dict[str, Json] | None:
        """The part, where it is one; None for a piece of a call that goes on."""
        call = voice.call
        if call is None:
            if not begins(doc):
                return doc
            call = voice.call = Pieces(doc)
        elif goes_on(doc):
            call.add(doc)
        elif "functionCall" in doc:
            raise Malformed("a call begins before the one before it has come whole")
        else:
            return doc
        at = f"/candidates/{voice.number}/content/parts/{len(voice.parts)}/functionCall/args"
        for piece in doc["functionCall"].get(PARTIAL) or ():
            self.look(PARTIAL, piece, f"/functionCall/{PARTIAL}", PIECE, at)
        if not call.done:
            return None
        voice.call = None
        return call.document()

    def signature(self, part: Part, doc: dict[str, Json], events: list[Event]) -> None:
        """A signature that comes after its reasoning."""
        part.doc = {**part.doc, **doc}
        block = self.dialect.read_part({**part.doc, "text": "?"}, "", {}, frozenset())
        if isinstance(block, Reasoning) and block.signature is not None:
            events.append(Signed(part.index, block.signature))
        self.shut(part, events)

    def shut(self, part: Part, events: list[Event]) -> None:
        if part.open:
            part.open = False
            events.append(Close(part.index))

    def document(self) -> Json | None:
        if self.head is None:
            return None
        out = dict(self.head)
        if self.voices:
            out["candidates"] = [self.voices[n].document() for n in sorted(self.voices)]
        return out

    def close(self) -> Sequence[Event]:
        if self.done:
            return ()
        if not self.is_whole():
            return super().close()
        events: list[Event] = [self.introduce()] if self.begun is None else []
        tree = self.at_rest()
        for voice, candidate in zip(
            (self.voices[number] for number in sorted(self.voices)), tree.candidates, strict=False
        ):
            for part, block in zip(voice.parts, candidate.message.content, strict=False):
                self.cite(part, block, events)
                self.shut(part, events)
        self.done = True
        return (*events, End(tree))

    def cite(self, part: Part, block: Block, events: list[Event]) -> None:
        """What a text cites is known when all has been said."""
        if not isinstance(block, Text) or not block.citations:
            return
        events += [Cite(part.index, cite) for cite in block.citations]
        if not part.open:
            why = "a citation arrived after the end of its text"
            self.notes.append(("stream.order", block.citations[0].at, why))

    def is_whole(self) -> bool:
        """Whether all candidates ended, or the prompt was blocked."""
        if self.head is None:
            return False
        if not self.voices:
            return bool(self.dialect.read_block(self.head))
        return all(
            voice.call is None and any(voice.doc.get(key) is not None for key in ENDS)
            for voice in self.voices.values()
        )


def is_plain(doc: dict[str, Json]) -> bool:
    """A part that is text, or reasoning, and nothing more."""
    return doc.get("text").__class__ is str and doc.keys() <= PLAIN


def signatures(doc: dict[str, Json]) -> bool:
    """The signature of the reasoning before it."""
    return (
        doc.get("text") == ""
        and doc.get("thought") is True
        and doc.keys() == {"text", "thought", "thoughtSignature"}
    )


def deltas(index: int, block: Block) -> list[Event]:
    """What is said in a part that has just come."""
    if isinstance(block, Text):
        return [Delta(index, block.text)] if block.text else []
    if isinstance(block, ToolCall):
        return [Delta(index, block.arguments)] if block.arguments else []
    if isinstance(block, Reasoning):
        out: list[Event] = [Delta(index, text) for text in block.content if text]
        return out if block.signature is None else [*out, Signed(index, block.signature)]
    return []
