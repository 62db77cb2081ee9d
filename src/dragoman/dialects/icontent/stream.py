"""The stream of llxprt: contents of the ai, as its providers yield them, each with more blocks.

Text and reasoning come in pieces, anything else comes whole. Nothing says where a text ends: it
ends where a block of another kind begins, reasoning also with its signature, and either with a
content that says nothing at all, which is written between two of a kind. What is counted and why
it ended come in the ``metadata`` of the last content, and ``[DONE]`` after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.reading import as_dict, encode, maybe_dict, maybe_str, need_list, need_str
from ...errors import Malformed
from ...ledger import Ledger
from ...model import Block, Citation, Json, Media, Reasoning, Response, Text, ToolCall, ToolResult
from ...streams.base import StreamReader
from ...streams.events import Begin, Close, Delta, End, Event, Open, Signed, hollow
from ...streams.framing import Frame
from ...streams.orders import REDACTED_LATE, OneByOne
from ...streams.received import Received, remember
from ...streams.splicing import MARKED, Splice, around, silent
from . import blocks, request
from .blocks import REDACTED, Known

if TYPE_CHECKING:
    from . import IContent


DONE = b"[DONE]"
TEXTS = {"text": "text", "thinking": "thought"}
"""Blocks that come bit by bit, and the key of their words."""
SIGNATURES = ("signature", "encryptedContent")
ENDS = ("stopReason", "finishReason")


class ContentPart:
    """A block while it arrives."""

    def __init__(self, doc: dict[str, Json], index: int, whole: bool) -> None:
        self.doc = doc
        self.index = index
        self.received = Received(whole)

    def so_far(self) -> dict[str, Json]:
        key = TEXTS.get(self.doc["type"])
        return self.doc if key not in self.doc else {**self.doc, key: str(self.received)}


class ContentReader(StreamReader):
    dialect: IContent

    def __init__(self, dialect: IContent, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.head: dict[str, Json] | None = None
        self.metadata: dict[str, Json] = {}
        self.parts: list[ContentPart] = []
        self.open: ContentPart | None = None
        self.known = Known()

    def read(self, frame: Frame) -> Sequence[Event]:
        events: list[Event] = []
        if frame[1].strip() == DONE:
            if self.head is None:
                raise Malformed("the end of a response that has not begun")
            self.finish(events)
            return events
        doc = self.parse(frame)
        if "speaker" not in doc and doc.get("error") is not None:
            return self.fail(self.dialect.read_error(doc))
        if need_str(doc, "speaker", "") != "ai":
            raise Malformed("the speaker of a response is 'ai'", "/speaker")
        blocks = need_list(doc, "blocks", "")
        metadata = maybe_dict(doc, "metadata", "")
        more = {k: v for k, v in doc.items() if k not in ("speaker", "blocks", "metadata")}
        self.metadata |= metadata or {}
        self.known.metadata = self.metadata
        self.head = {**(self.head or {}), **more}
        if metadata is not None:
            self.head["metadata"] = self.metadata
        if self.begun is None:
            events.append(self.begin(self.silent()))
        if not blocks and metadata is None and not more:
            self.shut(events)
        for index, block in enumerate(blocks):
            self.hear(as_dict(block, f"/blocks/{index}"), events)
        return events

    def silent(self) -> Response:
        tree = request.read_response(self.dialect, {**(self.document() or {}), "blocks": []})
        assert isinstance(tree, Response)
        return tree

    def hear(self, doc: dict[str, Json], events: list[Event]) -> None:
        kind = need_str(doc, "type", "/blocks")
        key = TEXTS.get(kind)
        if key is None or (kind == "thinking" and doc.get("thought") == REDACTED):
            self.shut(events)
            self.add_whole(doc, events)
            return
        if self.open is None or self.open.doc["type"] != kind:
            self.shut(events)
            self.enter(doc, key, events)
        part = self.open
        assert part is not None
        text = maybe_str(doc, key, "/blocks")
        if text is None and kind == "text":
            need_str(doc, key, "/blocks")
        part.doc |= {k: v for k, v in doc.items() if k != key}
        if key in doc:
            part.doc[key] = doc[key]
        if text:
            part.received.add(text)
            self.sink = part.received.add
            events.append(Delta(part.index, text))
        if any(doc.get(name) for name in SIGNATURES):
            self.shut(events)

    def enter(self, doc: dict[str, Json], key: str, events: list[Event]) -> None:
        known = {k: v for k, v in doc.items() if k not in (*SIGNATURES, key)}
        part = self.open = ContentPart(known, len(self.parts), self.whole)
        self.parts.append(part)
        block = self.read_block({**known, key: ""})
        events.append(Open(part.index, hollow(block)))

    def read_block(self, doc: dict[str, Json], after: int = 1) -> Block:
        at = f"/blocks/{len(self.parts) - after}"
        return blocks.read_block(self.dialect, doc, at, self.known)

    def shut(self, events: list[Event]) -> None:
        part, self.open = self.open, None
        if part is None:
            return
        block = blocks.read_block(self.dialect, part.so_far(), f"/blocks/{part.index}", self.known)
        if isinstance(block, Reasoning):
            if block.summary:
                why = "the stream marked the reasoning as a summary after its text"
                self.notes.append(("stream.text", block.at, why))
            if block.signature is not None:
                events.append(Signed(part.index, block.signature))
        events.append(Close(part.index))

    def add_whole(self, doc: dict[str, Json], events: list[Event]) -> None:
        block = self.read_block(doc, 0)
        if isinstance(block, ToolResult):
            raise Malformed("tool results are not allowed in a response", "/blocks")
        part = ContentPart(doc, len(self.parts), whole=True)  # its thought is a mark, and short
        part.received.add(doc["thought"] if doc["type"] == "thinking" else "")
        self.parts.append(part)
        if isinstance(block, ToolCall):
            events += (Open(part.index, hollow(block)), Delta(part.index, block.arguments))
        elif isinstance(block, Text):  # code
            events += (Open(part.index, hollow(block)), Delta(part.index, block.text))
        elif isinstance(block, Reasoning):
            events.append(Open(part.index, hollow(block)))
            events += [Delta(part.index, text) for text in block.content]
            events += [] if block.signature is None else [Signed(part.index, block.signature)]
        else:
            events.append(Open(part.index, block))
        events.append(Close(part.index))

    def finish(self, events: list[Event]) -> None:
        self.shut(events)
        self.done = True
        events.append(End(self.silent()))

    def close(self) -> Sequence[Event]:
        """Why it ended was written, so it has, whether ``[DONE]`` came or not."""
        if self.done or not any(self.metadata.get(key) for key in ENDS):
            return super().close()
        events: list[Event] = []
        self.finish(events)
        return events

    def document(self) -> Json | None:
        if self.head is None:
            return None
        return {"speaker": "ai", "blocks": [part.so_far() for part in self.parts], **self.head}


# -- writing --------------------------------------------------------------------------------


class ContentWriter(OneByOne):
    dialect: IContent

    def __init__(self, dialect: IContent, log: Ledger, same: bool) -> None:
        super().__init__(dialect, same, log)
        self.w = request.writing(dialect, self.aside, dialect.name if same else None, reply=True)
        self.last = ""  # the kind of the block that came last
        self.kind = ""  # the kind of the block that is written now, if it comes bit by bit
        self.more: dict[str, Json] = {}  # what is written of it beside its words
        self.texts: list[str] = []
        self.heard = False  # whether it has content, be it empty

    def chunk(self, *blocks: Json, **more: Json) -> bytes:
        doc = {"speaker": "ai", "blocks": list(blocks), **more}
        return b"data: " + encode(doc) + b"\n\n"

    def piece(self, doc: dict[str, Json]) -> bytes:
        """A block, or the beginning of one: after another of its kind, it is set apart."""
        apart = self.chunk() if doc["type"] in TEXTS and doc["type"] == self.last else b""
        self.last = doc["type"]
        return apart + self.chunk(doc)

    def begin(self, event: Begin) -> bytes:
        doc = self.at_rest(replace(event.response, failure=None, usage=None))
        metadata = {k: v for k, v in (doc.get("metadata") or {}).items() if k not in ENDS}
        return self.chunk(metadata=metadata) if metadata else b""

    def enter(self, event: Open) -> bytes:
        block = event.block
        self.kind, self.more, self.texts, self.heard = "", {}, [], False
        if isinstance(block, Text):
            docs = blocks.write_block(self.dialect, replace(block, text="x"), self.w)
        elif isinstance(block, Reasoning):
            begun = self.lowered(replace(block, content=("x",)))
            docs = [] if begun is None else blocks.write_block(self.dialect, begun, self.w)
        elif isinstance(block, ToolCall) or (isinstance(block, Media) and not block.source.value):
            return b""
        else:
            return b"".join(map(self.piece, blocks.write_block(self.dialect, block, self.w)))
        if docs and TEXTS.get(docs[0]["type"]) in docs[0]:
            self.kind = docs[0]["type"]
            words = (TEXTS[self.kind], *SIGNATURES)
            self.more = {k: v for k, v in docs[0].items() if k not in words}
        return b""

    def say(self, event: Delta) -> bytes:
        text: str | None = event.text
        if isinstance(self.block, Reasoning):
            text = self.reasoning(event)
            self.heard |= event.place == "text"
        elif event.place != "text":
            return b""
        if not text:
            return b""
        first = not self.texts
        if not self.kind:
            self.texts.append(text)
            return b""
        remember(self.texts, text)
        if first:
            return self.piece({**self.more, TEXTS[self.kind]: text})
        return self.chunk({"type": self.kind, TEXTS[self.kind]: text})

    def splicing(self, event: Delta) -> Splice | None:
        reasoning = isinstance(self.block, Reasoning)
        goes_on = self.part == (event.part, event.place) if reasoning else event.place == "text"
        if event.index != self.current or not self.texts or not goes_on:
            return None
        if not self.kind:
            return silent(self.texts.append)
        more = {"type": self.kind, TEXTS[self.kind]: MARKED}
        return around(self.chunk(more), partial(remember, self.texts))

    def quote(self, citation: Citation) -> bytes:
        return b""

    def leave(self) -> bytes:
        block, written = self.block, "".join(self.texts)
        if isinstance(block, Text):
            if self.kind and written:
                return b""
            docs = blocks.write_block(self.dialect, replace(block, text=written), self.w)
        elif isinstance(block, ToolCall):
            docs = [blocks.write_call(self.dialect, replace(block, arguments=written), self.w)]
        elif isinstance(block, Media) and written:
            source = replace(block.source, value=written)
            docs = blocks.write_block(self.dialect, replace(block, source=source), self.w)
        elif isinstance(block, Reasoning):
            return self.leave_reasoning(block, written)
        else:
            docs = []
        return b"".join(map(self.piece, docs))

    def leave_reasoning(self, block: Reasoning, written: str) -> bytes:
        whole = replace(block, content=(written,) if written or self.heard else (), summary=())
        whole = replace(whole, signature=self.signed or block.signature)
        known = self.lowered(whole)
        docs = [] if known is None else blocks.write_block(self.dialect, known, self.w)
        if not self.kind or not written:
            return b"".join(map(self.piece, docs))
        if docs and docs[0]["thought"] == REDACTED:
            self.log.approximated("stream.text", block.at, REDACTED_LATE)
            return self.piece(docs[0])
        rest = {k: v for k, v in docs[0].items() if k != "thought"} if docs else {}
        if rest.keys() <= {"type", *self.more}:
            return b""
        return self.chunk({**rest, "thought": ""})

    def end(self, doc: Json) -> bytes:
        rest = {k: v for k, v in doc.items() if k not in ("speaker", "blocks")}
        return self.chunk(**rest) + b"data: [DONE]\n\n"

    def fail(self, doc: Json) -> bytes:
        return b"data: " + encode(doc) + b"\n\n"
