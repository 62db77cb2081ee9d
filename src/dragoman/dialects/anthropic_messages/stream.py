"""Reading the stream of the Anthropic Messages API.

``message_start (content_block_start delta* content_block_stop)* message_delta message_stop``:
blocks come one after the other. Counts of tokens are cumulative, and the last ones hold.

Writing the stream of the Anthropic Messages API.

Blocks come one after the other here. An empty one is not said, so a block begins with its first
word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...core.reading import UNREADABLE, compact, encode, escape, maybe_dict, maybe_list, need_dict
from ...errors import Malformed
from ...ledger import Ledger
from ...model import Block, Citation, Hosted, Json, Raw, Reasoning, Response, Text, ToolCall
from ...streams.events import Begin, Cite, Close, Delta, End, Event, Odd, Open, Ping, Signed, hollow
from ...streams.framing import Frame
from ...streams.orders import REDACTED_LATE
from ...streams.received import Keys, Received
from ...streams.splicing import Splice, between
from .._claude_stream import ClaudeReader, ClaudeWriter
from . import blocks, response, tools

if TYPE_CHECKING:
    from . import AnthropicMessages


# The texts of blocks: type of delta -> the key of the delta, and the key of the block.
TEXTS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("partial_json", "input"),
}
CUT = ("max_tokens", "model_context_window_exceeded")
# Types of blocks -> what comes bit by bit.
GROWS = {"text": "text", "thinking": "thinking", "tool_use": "input"}


# Messages, blocks and what amends them stand in the response as they are.
KEYS = {
    "message_start": Keys("type", "message"),
    "content_block_start": Keys("type", "index", "content_block"),
    "content_block_delta": Keys("type", "index", "delta"),
    "content_block_stop": Keys("type", "index"),
    "message_stop": Keys("type"),
    "ping": Keys("type"),
}
DELTA_KEYS = {
    "text_delta": Keys("type", "text"),
    # estimated_tokens tells how far the reasoning has come; usage counts it in the end
    "thinking_delta": Keys("type", "thinking", "estimated_tokens"),
    "input_json_delta": Keys("type", "partial_json"),
    "signature_delta": Keys("type", "signature"),
    "citations_delta": Keys("type", "citation"),
}


class AnthropicPiece(Struct, forbid_unknown_fields=True):
    type: Literal["text_delta", "thinking_delta", "input_json_delta"]
    text: str = ""
    thinking: str = ""
    partial_json: str = ""


class AnthropicUsual(Struct, forbid_unknown_fields=True):
    """Nearly every event there is. Anything more in it, and it is read with care."""

    type: Literal["content_block_delta"]
    index: int
    delta: AnthropicPiece


decode_usual = msgspec.json.Decoder(AnthropicUsual).decode


class Opened:
    """A block that is open."""

    __slots__ = ("doc", "hosted", "key", "late", "received")

    def __init__(self, doc: dict[str, Json], key: str, whole: bool) -> None:
        self.doc = doc
        self.key = key
        # Arguments are kept in any case: whether they are an object shows in the end.
        self.received = Received(whole or key == "input")
        self.hosted = False
        self.late = False  # what it says is known in the end


class AnthropicReader(ClaudeReader):
    dialect: AnthropicMessages
    keys: ClassVar[dict[str, Keys]] = KEYS

    def __init__(self, dialect: AnthropicMessages, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.head: dict[str, Json] | None = None
        self.blocks: list[dict[str, Json]] = []
        self.opened: dict[int, Opened] = {}
        self.ways: dict[str, Callable[[dict[str, Json]], Sequence[Event]]] = {
            "message_start": self.start,
            "content_block_start": self.open,
            "content_block_delta": self.add,
            "content_block_stop": self.stop,
            "message_delta": self.amend,
            "message_stop": self.finish,
            "error": self.broken,
            "ping": self.ping,
        }

    def read(self, frame: Frame) -> Sequence[Event]:
        data = frame[1]
        try:
            usual = decode_usual(data)
        except UNREADABLE:
            doc = self.parse(frame)
            kind = doc.get("type") or frame[0]
            way = self.ways.get(kind) if isinstance(kind, str) else None
            if way is None:
                return (Odd(self.dialect.name, doc),)
            self.look(kind, doc)
            return way(doc)
        index, delta = usual.index, usual.delta
        opened = self.opened.get(index)
        if opened is None:
            raise Malformed(f"block {index} is not open")
        text = delta.text or delta.thinking or delta.partial_json
        opened.received.add(text)
        if opened.hosted:
            return ()
        self.sink = opened.received.add
        return (Delta(index, text),)

    def belongs_to(self, kind: str, doc: dict[str, Json]) -> str:
        return f"/content/{doc['index']}" if "index" in doc else ""

    def start(self, doc: dict[str, Json]) -> Sequence[Event]:
        message = need_dict(doc, "message", "")
        if self.head is not None:
            if not self.blocks and message.get("id") == self.head.get("id"):
                self.supersede(message, self.head | {"content": []}, "")
                return ()  # said twice, by some gateways
            raise Malformed("the message has begun before")
        self.head = dict(message)
        before = self.head.pop("content", None) or []
        events: list[Event] = [self.begin(self.silent())]
        for block in before if isinstance(before, list) else ():  # nobody is known to do this
            number = len(self.blocks)
            events += self.open({"index": number, "content_block": block})
            events += self.stop({"index": number})
        return events

    def silent(self) -> Response:
        tree = response.read_response(self.dialect, {**(self.head or {}), "content": []})
        assert isinstance(tree, Response)
        return tree

    def open(self, doc: dict[str, Json]) -> Sequence[Event]:
        if self.head is None:
            raise Malformed("a block before the message")
        index, block = self.number(doc), dict(need_dict(doc, "content_block", ""))
        if index != len(self.blocks):
            raise Malformed(f"block {index} follows block {len(self.blocks) - 1}")
        at = f"/content/{index}"
        key = GROWS.get(str(block.get("type")), "")
        if key:
            block.setdefault(key, {} if key == "input" else "")  # not every server says it empty
        else:
            key = next((k for k in ("text", "thinking", "input") if k in block), "")
        opened = Opened(block, key, self.whole)
        before = block.get(key)
        if key == "input":
            block[key] = before if before.__class__ is dict else {}
        elif before.__class__ is str:
            block[key] = ""
        read = blocks.read_blocks(self.dialect, [block], at)[0]
        self.blocks.append(block)
        self.opened[index] = opened
        if not isinstance(read, Text | Reasoning | ToolCall):
            opened.hosted = True
            opened.late = isinstance(read, Raw)
            return () if opened.late else (Open(index, read),)
        events: list[Event] = [
            Open(index, read if block["type"] == "redacted_thinking" else hollow(read))
        ]
        if before.__class__ is str and before:
            opened.received.add(before)
            events.append(Delta(index, before))
        return events

    def number(self, doc: dict[str, Json]) -> int:
        index = doc.get("index")
        if index.__class__ is not int:
            raise Malformed("expected an integer", "/index")
        return int(index)

    def add(self, doc: dict[str, Json]) -> Sequence[Event]:
        """A delta that is not the usual one."""
        index, delta = self.number(doc), need_dict(doc, "delta", "")
        opened = self.opened.get(index)
        if opened is None:
            raise Malformed(f"block {index} is not open")
        kind = delta.get("type")
        if kind.__class__ is str and kind in DELTA_KEYS:
            at = f"/content/{index}"
            self.look("content_block_delta", delta, "/delta", DELTA_KEYS[kind], at)
        if kind.__class__ is str and kind in TEXTS:
            text = delta.get(TEXTS[kind][0])
            if text.__class__ is not str:
                raise Malformed("expected a string", f"/delta/{TEXTS[kind][0]}")
            opened.received.add(text)
            return () if opened.hosted else (Delta(index, text),)
        block = opened.doc
        if kind == "signature_delta":
            data = delta.get("signature")
            signed = {**block, "thinking": "", "signature": data}
            reasoning = blocks.read_blocks(self.dialect, [signed], f"/content/{index}")[0]
            block["signature"] = data  # it comes once, and replaces
            signature = reasoning.signature if isinstance(reasoning, Reasoning) else None
            return () if signature is None else (Signed(index, signature),)
        if kind == "citations_delta":
            cited = maybe_list(block, "citations", f"/content/{index}") or []
            at = f"/content/{index}/citations/{len(cited)}"
            citation = blocks.read_citation(
                self.dialect, need_dict(delta, "citation", "/delta"), at
            )
            block["citations"] = [*cited, delta["citation"]]
            return (Cite(index, citation),)
        for key, value in delta.items():  # a kind of delta that is new: strings grow
            if key != "type":
                before = block.get(key)
                grows = isinstance(before, str) and isinstance(value, str)
                block[key] = before + value if grows else value
                if not opened.late:
                    self.late[f"/content/{index}/{escape(key)}"] = None
        return ()

    def stop(self, doc: dict[str, Json]) -> Sequence[Event]:
        index = self.number(doc)
        opened = self.opened.pop(index, None)
        if opened is None:
            raise Malformed(f"block {index} is not open")
        events: list[Event] = []
        block, text = opened.doc, str(opened.received)
        if opened.key == "input":
            if text:
                before, block["input"] = block["input"], self.arguments(f"/content/{index}", text)
                self.supersede(before, block["input"], f"/content/{index}/input")
            elif block["input"] and not opened.hosted:  # it came whole
                events.append(Delta(index, compact(block["input"])))
            if not self.whole and not opened.hosted and "arguments" not in block["input"]:
                block["input"] = {}
        elif opened.key:
            block[opened.key] = text
        if opened.late:
            events.append(
                Open(index, blocks.read_blocks(self.dialect, [block], f"/content/{index}")[0])
            )
        events.append(Close(index))
        return events

    def amend(self, doc: dict[str, Json]) -> Sequence[Event]:
        if self.head is None:
            raise Malformed("the end of a message that has not begun")
        self.head |= maybe_dict(doc, "delta", "") or {}
        usage = maybe_dict(doc, "usage", "")
        if usage is not None:
            known = {k: v for k, v in usage.items() if v is not None}
            before = self.head.get("usage") or {}
            self.head["usage"] = {**usage, **before, **known}
            self.supersede(before, self.head["usage"], "/usage")
        self.head |= {k: v for k, v in doc.items() if k not in ("type", "delta", "usage")}
        return ()

    def finish(self, doc: dict[str, Json]) -> Sequence[Event]:
        if self.head is None:
            raise Malformed("the end of a message that has not begun")
        # A block that the limit has cut may have no end: what came of it is what there is.
        # https://github.com/anthropics/anthropic-sdk-python, tests/lib/streaming/fixtures
        if self.opened and self.head.get("stop_reason") not in CUT:
            raise Malformed(f"the message ended, and block {next(iter(self.opened))} had not")
        cut = [event for index in list(self.opened) for event in self.stop({"index": index})]
        self.done = True
        return (*cut, End(self.silent()))

    def broken(self, doc: dict[str, Json]) -> Sequence[Event]:
        return self.fail(response.read_error(self.dialect, doc))

    def ping(self, doc: dict[str, Json]) -> Sequence[Event]:
        return (Ping(),)

    def document(self) -> Json | None:
        if self.head is None:
            return None
        blocks = [
            {**block, self.opened[index].key: self.so_far(index, self.opened[index])}
            if index in self.opened and self.opened[index].key
            else block
            for index, block in enumerate(self.blocks)
        ]
        return {**self.head, "content": blocks}

    def so_far(self, index: int, opened: Opened) -> Json:
        text = str(opened.received)
        if opened.key != "input":
            return text
        return self.arguments(f"/content/{index}", text) if text else opened.doc["input"]


TAIL = b"}}\n\n"
encode_text = msgspec.json.Encoder().encode


def frame(kind: str, **fields: Json) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), encode({"type": kind, **fields}))


class AnthropicWriter(ClaudeWriter):
    counts_first: ClassVar[bool] = True
    dialect: AnthropicMessages

    def __init__(self, dialect: AnthropicMessages, log: Ledger, same: bool) -> None:
        super().__init__(dialect, log, same)
        self.w = tools.writing(dialect, self.aside, dialect.name if same else None, reply=True)
        self.head = b""  # what a delta of the current block begins with
        self.start: dict[str, Json] = {}

    def begin(self, event: Begin) -> bytes:
        tree = replace(event.response, failure=None)
        doc = self.at_rest(tree)
        doc["content"] = []
        for key in ("stop_reason", "stop_sequence"):
            if key in doc:
                doc[key] = None
        doc.pop("stop_details", None)
        self.start = doc
        return self.frame("message_start", message=doc)

    def frame(self, kind: str, **fields: Json) -> bytes:
        """An event."""
        return frame(kind, **fields)

    def more(self, text: str) -> bytes:
        """An event that adds to the text of the current block."""
        return self.head + encode_text(text) + TAIL

    def delta(self, event: Delta) -> bytes:
        if event.index == self.current:
            if self.plain and event.place == "text":  # as most are
                return self.more(event.text)
            return self.say(event)
        return self.wait(event)

    def splicing(self, event: Delta) -> Splice | None:
        if event.index != self.current or not self.entered or self.wrapped:
            return None
        plain = self.plain and event.place == "text"
        goes_on = self.part == (event.part, event.place)
        return between(self.head, TAIL) if plain or goes_on else None

    def enter(self, event: Open) -> bytes:
        block = event.block
        self.enter_next()
        if isinstance(block, ToolCall) or (self.same and isinstance(block, Text)):
            return self.enter_block()
        if isinstance(block, Text | Reasoning):
            return b""  # it may turn out to be empty, or reasoning to be redacted
        own = isinstance(block, Hosted | Raw) and self.dialect.is_same(block.dialect)
        docs = blocks.write_blocks(self.dialect, [block], self.w) if self.same or own else ()
        return b"".join(self.whole(doc) for doc in docs)

    def enter_block(self) -> bytes:
        """Write the start of the current block."""
        self.entered = True
        self.number += 1
        block, key, kind = self.block, "text", "text_delta"
        doc: Json = {"type": "text", "text": ""}
        if isinstance(block, ToolCall):
            key, kind = "partial_json", "input_json_delta"
            doc = blocks.write_call(self.dialect, replace(block, arguments="{}"), self.w) | {
                "input": {}
            }
        elif isinstance(block, Reasoning):
            key, kind = "thinking", "thinking_delta"
            doc = {"type": "thinking", "thinking": "", "signature": ""}
            if self.same or self.is_kin(block):
                doc = (
                    blocks.write_reasoning(self.dialect, replace(block, content=("",)), self.w)
                    or doc
                )
        elif isinstance(block, Text) and (self.same or self.is_kin(block)):
            doc = blocks.write_text(self.dialect, block, self.w)
        head = {
            "type": "content_block_delta",
            "index": self.number,
            "delta": {"type": kind, key: ""},
        }
        self.head = b"event: content_block_delta\ndata: " + encode(head)[:-4]
        self.plain = isinstance(block, Text)
        start = self.frame("content_block_start", index=self.number, content_block=doc)
        freeform = isinstance(block, ToolCall) and block.kind == "custom"
        return start + self.wrap("input") if freeform else start

    def is_kin(self, block: Block) -> bool:
        """Whether a block has what only a relative of this dialect knows."""
        return block.extras is not None and self.dialect.knows(block.extras.dialect)

    def add_arguments(self, text: str) -> bytes:
        return self.more(text)

    def add_text(self, text: str) -> bytes:
        opened = b"" if self.entered else self.enter_block()
        return opened + self.more(text)

    add_reasoning = add_text

    def quote(self, citation: Citation) -> bytes:
        if not isinstance(self.block, Text):
            return b""
        doc = blocks.write_citation(self.dialect, citation, self.w)
        delta = {"type": "citations_delta", "citation": doc}
        opened = b"" if self.entered else self.enter_block()
        return opened + self.frame("content_block_delta", index=self.number, delta=delta)

    def leave(self) -> bytes:
        block = self.block
        if isinstance(block, Reasoning):
            return self.leave_reasoning(block)
        if not self.entered:
            return b""
        return self.unwrap() + self.frame("content_block_stop", index=self.number)

    def leave_reasoning(self, block: Reasoning) -> bytes:
        signature = self.own_signature(block)
        if signature is not None and signature.kind == "encrypted":
            doc = blocks.write_reasoning(self.dialect, replace(block, signature=signature), self.w)
            if not self.entered:
                return self.whole(doc)
            self.log.approximated("stream.text", block.at, REDACTED_LATE)
            return self.frame("content_block_stop", index=self.number) + self.whole(doc)
        out = b""
        if not self.entered:
            if signature is None and not self.same:
                return b""
            out = self.enter_block()
        if signature is not None:
            delta = {"type": "signature_delta", "signature": signature.data}
            out += self.frame("content_block_delta", index=self.number, delta=delta)
        return out + self.frame("content_block_stop", index=self.number)

    def whole(self, doc: Json) -> bytes:
        """A block that comes whole."""
        self.number += 1
        start = self.frame("content_block_start", index=self.number, content_block=doc)
        return start + self.frame("content_block_stop", index=self.number)

    def ping(self, event: Ping) -> bytes:
        return self.frame("ping")

    def end(self, doc: Json) -> bytes:
        delta = {k: v for k, v in doc.items() if k not in self.start or self.start[k] != v}
        for key in ("content", "usage"):
            delta.pop(key, None)
        fields: dict[str, Json] = {"delta": delta}
        if "usage" in doc:
            fields["usage"] = doc["usage"]
        for key in ("stop_reason", "stop_sequence"):
            if key in doc:
                delta.setdefault(key, doc[key])
        return self.frame("message_delta", **fields) + self.frame("message_stop")

    def fail(self, doc: Json) -> bytes:
        return b"event: error\ndata: " + encode(doc) + b"\n\n"
