"""Reading the stream of Bedrock's ConverseStream.

``messageStart (contentBlockStart? contentBlockDelta* contentBlockStop)* messageStop metadata``:
texts and reasoning begin with their first delta. Every event may have a ``p``, padding of random
length that hides how long the words are. Some recorders lose the beginning, or turn the last two.

Writing the stream of Bedrock's ConverseStream.

Blocks come one after the other here. Only calls are announced; all else begins with its first word.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...core.reading import (
    UNREADABLE,
    as_dict,
    compact,
    encode,
    maybe_dict,
    maybe_str,
    need_dict,
    need_list,
    need_str,
)
from ...errors import Malformed
from ...ledger import Ledger
from ...model import Block, Citation, Json, Reasoning, Response, Signature, Text, ToolCall
from ...streams.events import Begin, Cite, Close, Delta, End, Event, Odd, Open, Signed, hollow
from ...streams.framing import Frame
from ...streams.framing.eventstream import write_error, write_frame
from ...streams.received import Keys, Received
from ...streams.splicing import MARKED, MARKER, Splice
from .._claude_stream import ClaudeReader, ClaudeWriter
from . import blocks, response
from .response import type_name

if TYPE_CHECKING:
    from . import BedrockConverse


PADDING = "p"
AT = "/output/message/content"
# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlockDelta.html
DELTAS = frozenset({"text", "toolUse", "toolResult", "reasoningContent", "citation", "image"})

# Messages, why they stop, their metadata, the beginnings of blocks, results and images stand in
# the response as they are. A delta or a beginning is of one kind, the first of its keys.
KEYS = {
    "contentBlockStart": Keys("contentBlockIndex", "start"),
    "contentBlockDelta": Keys("contentBlockIndex", "delta"),
    "contentBlockStop": Keys("contentBlockIndex"),
}
DELTA_KEYS = {
    "text": Keys("text", "citation"),
    "reasoningContent": Keys(reasoningContent=Keys("text", "signature", "redactedContent")),
    "toolUse": Keys(toolUse=Keys("input")),
    **{kind: Keys(kind) for kind in ("toolResult", "image")},
}
NONE = Keys()  # of a delta that says nothing
START_KEYS = {kind: Keys(kind) for kind in ("toolUse", "toolResult", "image")}


class BedrockWords(Struct, forbid_unknown_fields=True):
    text: str


class BedrockUsual(Struct, forbid_unknown_fields=True):
    """Nearly every event there is. Anything more in it, and it is read with care."""

    contentBlockIndex: int
    delta: BedrockWords
    p: str = ""


decode_usual = msgspec.json.Decoder(BedrockUsual).decode


class BedrockPiece:
    """A block while it arrives. ``kind`` is the key that it has at rest."""

    __slots__ = ("citations", "doc", "kind", "number", "opened", "received")

    def __init__(self, number: int, kind: str, doc: Json, whole: bool) -> None:
        self.number = number
        self.kind = kind
        self.doc = doc  # what came apart from texts
        # Arguments are kept in any case: whether they are an object shows in the end.
        self.received = Received(whole or kind == "toolUse")
        self.citations: list[Json] = []
        self.opened = False  # it has been written that the block begins


class BedrockReader(ClaudeReader):
    dialect: BedrockConverse
    varying: ClassVar[Mapping[str, Any]] = {PADDING: str}
    keys: ClassVar[dict[str, Keys]] = KEYS

    def __init__(self, dialect: BedrockConverse, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.message: dict[str, Json] = {}
        self.head: dict[str, Json] = {}
        self.blocks: list[BedrockPiece] = []
        self.open_now: dict[int, BedrockPiece] = {}
        self.stopped = self.counted = False
        self.ways: dict[str, Callable[[dict[str, Json]], list[Event]]] = {
            "messageStart": self.start,
            "contentBlockStart": self.open,
            "contentBlockDelta": self.add,
            "contentBlockStop": self.stop,
            "messageStop": self.end_message,
            "metadata": self.count,
        }

    def read(self, frame: Frame) -> Sequence[Event]:
        if frame[0] != "contentBlockDelta":
            return self.read_with_care(frame)
        try:
            usual = decode_usual(frame[1])
        except UNREADABLE:
            return self.read_with_care(frame)
        piece, text = self.open_now.get(usual.contentBlockIndex), usual.delta.text
        if piece is None or piece.kind != "text":
            return self.read_with_care(frame)
        piece.received.add(text)
        self.sink = piece.received.add
        return (Delta(piece.number, text),) if text else ()

    def read_with_care(self, frame: Frame) -> Sequence[Event]:
        name, doc = frame[0], self.parse(frame)
        if not name:  # JSON, in which the name of the event is a key
            name = next(iter(doc), "")
            doc = as_dict(doc.get(name), f"/{name}")
        if name.endswith("Exception") or (name not in self.ways and "message" in doc):
            message = doc.get("message")
            doc = {"__type": type_name(name), **doc, "message": message or ""}
            return self.fail(response.read_error(self.dialect, doc))
        way = self.ways.get(name)
        if way is None:
            return (Odd(self.dialect.name, {name: doc}),)
        doc.pop(PADDING, None)
        events: list[Event] = []
        if self.begun is None:
            self.message = dict(doc) if name == "messageStart" else {"role": "assistant"}
            events.append(self.begin(self.silent()))
        self.look(name, doc)
        return events + way(doc)

    def belongs_to(self, kind: str, doc: dict[str, Json]) -> str:
        """The block that an event is about: one that is open, or the next one."""
        index = doc.get("contentBlockIndex")
        piece = self.open_now.get(index) if index.__class__ is int else None
        return f"{AT}/{len(self.blocks) if piece is None else piece.number}"

    def start(self, doc: dict[str, Json]) -> list[Event]:
        if self.blocks:
            raise Malformed("the message has begun before")
        return []

    def silent(self) -> Response:
        message = {**self.message, "content": []}
        return response.read_response(self.dialect, {**self.head, "output": {"message": message}})

    def number(self, doc: dict[str, Json]) -> int:
        index = doc.get("contentBlockIndex")
        if index.__class__ is not int:
            raise Malformed("expected an integer", "/contentBlockIndex")
        return int(index)

    def open(self, doc: dict[str, Json]) -> list[Event]:
        start = maybe_dict(doc, "start", "")
        if not start:
            return []  # some models announce a text so; it begins with its first delta
        kind = next(iter(start), "")
        known = kind in START_KEYS
        if known:
            at = self.belongs_to("contentBlockStart", doc)
            self.look("contentBlockStart", start, "/start", START_KEYS[kind], at)
        inner = dict(need_dict(start, kind, "/start")) if known else start
        piece, events = self.enter(self.number(doc), kind if known else "", inner), list[Event]()
        if kind == "toolUse" and isinstance(block := self.read_piece(piece), ToolCall):
            piece.opened = True
            events.append(Open(piece.number, hollow(block)))
        return events

    def enter(self, index: int, kind: str, doc: Json) -> BedrockPiece:
        if index in self.open_now:
            raise Malformed(f"block {index} is open already")
        piece = BedrockPiece(len(self.blocks), kind, doc, self.whole)
        self.blocks.append(piece)
        self.open_now[index] = piece
        return piece

    def add(self, doc: dict[str, Json]) -> list[Event]:
        index, delta = self.number(doc), need_dict(doc, "delta", "")
        events: list[Event] = []
        kind = next(iter(delta), "")
        piece = self.open_now.get(index)
        if kind and kind not in DELTAS:  # new kinds arrive every few months
            return [Odd(self.dialect.name, {"contentBlockDelta": doc})]
        if piece is None:
            if kind not in ("text", "citation", "reasoningContent"):
                raise Malformed(f"block {index} is not open")
            reasoning = kind == "reasoningContent"
            piece = self.enter(index, kind if reasoning else "text", {})
            piece.opened = True
            at = f"{AT}/{piece.number}"
            events.append(Open(piece.number, Reasoning(at=at) if reasoning else Text("", at=at)))
        if kind == "citation":
            kind = "text"
        if kind != piece.kind:
            raise Malformed(f"{kind!r} for a block that is {piece.kind or 'another'!r}", "/delta")
        if not (keys := DELTA_KEYS.get(kind, NONE)).fit(delta):
            self.look("contentBlockDelta", delta, "/delta", keys, f"{AT}/{piece.number}")
        return events + self.grow(piece, delta)

    def grow(self, piece: BedrockPiece, delta: dict[str, Json]) -> list[Event]:
        match piece.kind:
            case "text":
                return self.add_text(piece, delta)
            case "reasoningContent":
                return self.add_reasoning(piece, need_dict(delta, "reasoningContent", "/delta"))
            case "toolUse":
                text = need_str(need_dict(delta, "toolUse", "/delta"), "input", "/delta/toolUse")
                piece.received.add(text)
                self.sink = piece.received.add
                return [Delta(piece.number, text)] if piece.opened and text else []
            case "toolResult":
                more = need_list(delta, "toolResult", "/delta")
                piece.doc["content"] = [*piece.doc.get("content", ()), *more]
            case _:  # an image
                piece.doc |= need_dict(delta, piece.kind, "/delta")
        return []

    def add_text(self, piece: BedrockPiece, delta: dict[str, Json]) -> list[Event]:
        events: list[Event] = []
        if (text := maybe_str(delta, "text", "/delta")) is not None:
            piece.received.add(text)
            if text:
                events.append(Delta(piece.number, text))
        if "citation" in delta:
            at = f"{AT}/{piece.number}/citationsContent/citations/{len(piece.citations)}"
            cited = need_dict(delta, "citation", "/delta")
            events.append(Cite(piece.number, blocks.read_citation(self.dialect, cited, at)))
            piece.citations.append(cited)
        return events

    def add_reasoning(self, piece: BedrockPiece, delta: dict[str, Json]) -> list[Event]:
        at = "/delta/reasoningContent"
        if (text := maybe_str(delta, "text", at)) is not None:
            piece.received.add(text)
            self.sink = piece.received.add
            piece.doc["text"] = True
            return [Delta(piece.number, text)] if text else []
        if (data := maybe_str(delta, "signature", at)) is not None:
            piece.doc["signature"] = piece.doc.get("signature", "") + data
            signature = Signature(piece.doc["signature"], self.dialect.issuer)
            return [Signed(piece.number, signature)] if signature.data else []
        hidden = joined(
            piece.doc.get("redactedContent", ""), need_str(delta, "redactedContent", at)
        )
        piece.doc["redactedContent"] = hidden
        return [Signed(piece.number, Signature(hidden, self.dialect.issuer, "encrypted"))]

    def stop(self, doc: dict[str, Json]) -> list[Event]:
        piece = self.open_now.pop(self.number(doc), None)
        return [] if piece is None else self.leave(piece)  # a text without a word has no delta

    def leave(self, piece: BedrockPiece) -> list[Event]:
        """The block is whole. One that cannot be expressed bit by bit is written now."""
        events: list[Event] = []
        if not piece.opened:
            piece.opened = True
            events.append(Open(piece.number, self.read_piece(piece)))
        return [*events, Close(piece.number)]

    def read_piece(self, piece: BedrockPiece) -> Block:
        at = f"{AT}/{piece.number}"
        block = blocks.read_blocks(self.dialect, [self.at_rest_of(piece)], AT, results=False)[0]
        return replace(block, at=at)

    def at_rest_of(self, piece: BedrockPiece) -> dict[str, Json]:
        """The block as it is at rest."""
        doc, text = piece.doc, str(piece.received)
        match piece.kind:
            case "text" if piece.citations:
                return {
                    "citationsContent": {"content": [{"text": text}], "citations": piece.citations}
                }
            case "text":
                return {"text": text}
            case "reasoningContent" if "redactedContent" in doc and "text" not in doc:
                return {"reasoningContent": {"redactedContent": doc["redactedContent"]}}
            case "reasoningContent":
                signed = {"signature": doc["signature"]} if "signature" in doc else {}
                return {"reasoningContent": {"reasoningText": {"text": text, **signed}}}
            case "toolUse":
                at = f"{AT}/{piece.number}"
                return {
                    "toolUse": {**doc, "input": self.arguments(at, text) if text.strip() else {}}
                }
            case "toolResult":
                return {"toolResult": {"content": [], **doc}}
            case "image":
                return {"image": doc}
        return as_dict(doc, "")

    def end_message(self, doc: dict[str, Json]) -> list[Event]:
        self.head |= doc
        self.stopped = True
        return self.finish() if self.counted else []

    def count(self, doc: dict[str, Json]) -> list[Event]:
        self.head |= doc
        self.counted = True
        return self.finish() if self.stopped else []

    def finish(self) -> list[Event]:
        events = [event for piece in self.open_now.values() for event in self.leave(piece)]
        self.open_now.clear()
        self.done = True
        return [*events, End(self.silent())]

    def close(self) -> Sequence[Event]:
        """A reply that has written why it ends is whole, even if nobody counted its tokens."""
        return self.finish() if self.stopped and not self.done else super().close()

    def document(self) -> Json | None:
        if self.begun is None:
            return None
        content = [self.at_rest_of(piece) for piece in self.blocks]
        return {**self.head, "output": {"message": {**self.message, "content": content}}}


def joined(before: str, more: str) -> str:
    """Base64 of the bytes of both."""
    if not before:
        return more
    try:
        both = base64.b64decode(before, validate=True) + base64.b64decode(more, validate=True)
    except ValueError:
        raise Malformed("expected base64", "/delta/reasoningContent/redactedContent") from None
    return base64.b64encode(both).decode()


STOP_KEYS = ("stopReason", "additionalModelResponseFields")
# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html: these
# come as exceptions. Of another one a client reads neither name nor message, unless it is an error
# that nobody has described.
EXCEPTIONS = frozenset(
    {
        "InternalServerException", "ModelStreamErrorException", "ValidationException",
        "ThrottlingException", "ServiceUnavailableException",
    }
)  # fmt: skip


def frame(name: str, **payload: Json) -> bytes:
    return write_frame(name, encode(payload))


class BedrockWriter(ClaudeWriter):
    names_first: ClassVar[bool] = False
    dialect: BedrockConverse

    def __init__(self, dialect: BedrockConverse, log: Ledger, same: bool) -> None:
        super().__init__(dialect, log, same)
        self.w = blocks.writing(dialect, self.aside, dialect.name if same else None, reply=True)
        self.cites: list[Json] = []  # that came before a word
        self.quoted: list[Json] = []  # citations that have been written
        self.late: list[Json] = []  # that came when their text was closed

    def begin(self, event: Begin) -> bytes:
        message = self.at_rest(replace(event.response, failure=None))["output"]["message"]
        return frame("messageStart", **{k: v for k, v in message.items() if k != "content"})

    def enter(self, event: Open) -> bytes:
        block = event.block
        self.enter_next()
        self.cites = []
        if isinstance(block, ToolCall):
            return self.enter_call(block)
        if isinstance(block, Text | Reasoning):
            return b""  # it begins with its first word
        docs = blocks.write_blocks(self.dialect, [block], self.w)
        return b"".join(self.whole(doc) for doc in docs)

    def enter_call(self, call: ToolCall) -> bytes:
        doc = blocks.write_call(self.dialect, replace(call, arguments="{}"), self.w)["toolUse"]
        start = {key: value for key, value in doc.items() if key != "input"}
        out = self.start({"toolUse": start})
        return out + self.wrap("input") if call.kind == "custom" else out

    def start(self, doc: Json) -> bytes:
        self.entered = True
        self.number += 1
        return frame("contentBlockStart", start=doc, contentBlockIndex=self.number)

    def piece(self, **delta: Json) -> bytes:
        """More of the current block, which begins with it if need be."""
        if not self.entered:
            self.entered = True
            self.number += 1
        return frame("contentBlockDelta", delta=delta, contentBlockIndex=self.number)

    def stop(self) -> bytes:
        return frame("contentBlockStop", contentBlockIndex=self.number)

    def whole(self, doc: dict[str, Json]) -> bytes:
        """A block that comes whole, in as many pieces as it must."""
        kind = next(iter(doc))
        inner = doc[kind]
        grown = {"toolUse": "input", "toolResult": "content", "image": "source"}.get(kind)
        if grown is None:
            return self.start(doc) + self.stop()
        start = self.start({kind: {k: v for k, v in inner.items() if k != grown}})
        value = inner.get(grown)
        if kind == "toolUse":
            return start + self.add_arguments(compact(value)) + self.stop()
        delta = value if kind == "toolResult" else {grown: value}
        return start + self.piece(**{kind: delta}) + self.stop()

    def add_arguments(self, text: str) -> bytes:
        return self.piece(toolUse={"input": text})

    def add_text(self, text: str) -> bytes:
        cited, self.cites = self.cites, []
        return self.piece(text=text) + b"".join(map(self.quote_piece, cited))

    def add_reasoning(self, text: str) -> bytes:
        return self.piece(reasoningContent={"text": text})

    def splicing(self, event: Delta) -> Splice | None:
        block, more = self.block, dict[str, Json]()
        if event.index != self.current or not self.entered or self.wrapped or self.cites:
            return None
        if isinstance(block, Text):
            more = {"text": MARKED}
        elif isinstance(block, ToolCall) and self.plain:
            more = {"toolUse": {"input": MARKED}}
        elif isinstance(block, Reasoning) and self.part == (event.part, event.place):
            more = {"reasoningContent": {"text": MARKED}}
        if not more:
            return None
        head, _, tail = encode({"delta": more, "contentBlockIndex": self.number}).partition(MARKER)

        def write(texts: Sequence[str], literals: Sequence[bytes]) -> bytes:
            name = "contentBlockDelta"
            return b"".join([write_frame(name, head + x + tail) for x in literals])

        return write

    def quote(self, citation: Citation) -> bytes:
        if not isinstance(self.block, Text):
            return b""
        doc = blocks.write_citation(self.dialect, citation, self.w)
        if self.entered or self.same:
            return self.quote_piece(doc)
        self.cites.append(doc)
        return b""

    def quote_piece(self, doc: Json) -> bytes:
        self.quoted.append(doc)
        return self.piece(citation=doc)

    def quote_late(self, event: Cite) -> bytes:
        self.late.append(blocks.write_citation(self.dialect, event.citation, self.w))
        return b""

    def leave(self) -> bytes:
        block = self.block
        if not self.entered:
            self.late += self.cites  # of a text without a word; at rest it may be part of another
        out = self.unwrap()
        if isinstance(block, Reasoning):
            out = self.leave_reasoning(block)
        elif isinstance(block, Text) and self.same and not self.entered:
            out = self.piece(text="")
        elif not isinstance(block, Text | ToolCall):
            return b""  # it came whole
        return out + self.stop() if self.entered else b""

    def leave_reasoning(self, block: Reasoning) -> bytes:
        signature = self.own_signature(block)
        if signature is None:
            return self.piece(reasoningContent={"text": ""}) if self.same_and_mute() else b""
        if signature.kind == "encrypted":
            return self.piece(reasoningContent={"redactedContent": signature.data})
        out = b"" if self.entered else self.piece(reasoningContent={"text": ""})
        return out + self.piece(reasoningContent={"signature": signature.data})

    def same_and_mute(self) -> bool:
        return self.same and not self.entered

    def end(self, doc: Json) -> bytes:
        self.entered = False
        late = b"".join(self.piece(citation=cite) for cite in self.unsaid(doc))
        late += self.stop() if late else b""
        stop = {key: doc[key] for key in STOP_KEYS if key in doc}
        rest = {k: v for k, v in doc.items() if k not in stop and k != "output"}
        return late + frame("messageStop", **stop) + (frame("metadata", **rest) if rest else b"")

    def unsaid(self, doc: Json) -> Iterator[Json]:
        """Of the citations that came late, those that stand at rest."""
        left = citations_in(doc) if self.late else []
        for cite in self.quoted:
            if cite in left:
                left.remove(cite)
        for cite in self.late:
            if cite in left:
                left.remove(cite)
                yield cite

    def fail(self, doc: Json) -> bytes:
        payload = dict(doc) if isinstance(doc, dict) else {"message": doc}
        word = type_name(str(payload.pop("__type", None) or "InternalServerException"))
        if word not in EXCEPTIONS and not self.same:
            return write_error(word, str(payload["message"]))
        name = word[:1].lower() + word[1:]
        return write_frame(name, encode(payload), "exception")


def citations_in(doc: dict[str, Json]) -> list[Json]:
    """What the response at rest cites."""
    content = doc["output"]["message"]["content"]
    cited = (block.get("citationsContent") or {} for block in content)
    return [cite for inner in cited for cite in inner.get("citations") or ()]
