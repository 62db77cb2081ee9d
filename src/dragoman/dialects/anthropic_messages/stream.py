"""The stream of the Anthropic Messages API, both ways.

``message_start (content_block_start delta* content_block_stop)* message_delta message_stop``:
blocks come one after the other, so of blocks that are open side by side elsewhere, all but the
first wait here. Counts of tokens are cumulative, and the last ones hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...errors import Malformed
from ...events import Begin, Cite, Close, Delta, End, Event, Odd, Open, Ping, Sealed, hollow
from ...framing import Frame
from ...ledger import Ledger
from ...model import Block, Json, Media, Reasoning, Refusal, Response, Text, ToolCall
from ...reading import UNREADABLE, compact, decode, encode, maybe_dict, maybe_list, need_dict
from ...streaming import Said, StreamReader, StreamWriter
from ...writing import home_only, is_blank

if TYPE_CHECKING:
    from . import AnthropicMessages

# The texts of blocks: type of delta -> the key of the delta, and the key of the block.
TEXTS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("partial_json", "input"),
}
# Types of blocks -> what comes bit by bit.
GROWS = {"text": "text", "thinking": "thinking", "tool_use": "input"}


class Piece(Struct, forbid_unknown_fields=True):
    type: Literal["text_delta", "thinking_delta", "input_json_delta"]
    text: str = ""
    thinking: str = ""
    partial_json: str = ""


class Usual(Struct, forbid_unknown_fields=True):
    """Nearly every event there is. Anything more in it, and it is read with care."""

    type: Literal["content_block_delta"]
    index: int
    delta: Piece


decode_usual = msgspec.json.Decoder(Usual).decode


class Opened:
    """A block that is open."""

    __slots__ = ("doc", "hosted", "key", "said")

    def __init__(self, doc: dict[str, Json], key: str, whole: bool) -> None:
        self.doc = doc
        self.key = key
        # Arguments are kept in any case: whether they are an object shows in the end.
        self.said = Said(whole or key == "input")
        self.hosted = False


class AnthropicReader(StreamReader):
    dialect: AnthropicMessages

    def __init__(self, dialect: AnthropicMessages, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.head: dict[str, Json] | None = None
        self.blocks: list[dict[str, Json]] = []
        self.opened: dict[int, Opened] = {}
        self.written: dict[str, str] = {}  # where a call stands -> its arguments as they came
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
            return (Odd(self.dialect.name, doc),) if way is None else way(doc)
        index, delta = usual.index, usual.delta
        opened = self.opened.get(index)
        if opened is None:
            raise Malformed(f"block {index} is not open")
        text = delta.text or delta.thinking or delta.partial_json
        opened.said.add(text)
        return () if opened.hosted else (Delta(index, text),)

    def start(self, doc: dict[str, Json]) -> Sequence[Event]:
        message = need_dict(doc, "message", "")
        if self.head is not None:
            if not self.blocks and message.get("id") == self.head.get("id"):
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
        tree = self.dialect.read_response({**(self.head or {}), "content": []})
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
        read = self.dialect.read_blocks([block], at)[0]
        self.blocks.append(block)
        self.opened[index] = opened
        if not isinstance(read, Text | Reasoning | ToolCall):
            opened.hosted = True
            return (Open(index, read),)
        events: list[Event] = [
            Open(index, read if block["type"] == "redacted_thinking" else hollow(read))
        ]
        if before.__class__ is str and before:
            opened.said.add(before)
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
        if kind.__class__ is str and kind in TEXTS:
            text = delta.get(TEXTS[kind][0])
            if text.__class__ is not str:
                raise Malformed("expected a string", f"/delta/{TEXTS[kind][0]}")
            opened.said.add(text)
            return () if opened.hosted else (Delta(index, text),)
        block = opened.doc
        if kind == "signature_delta":
            signature = delta.get("signature")
            sealed = {**block, "thinking": "", "signature": signature}
            thought = self.dialect.read_blocks([sealed], f"/content/{index}")[0]
            block["signature"] = signature  # it comes once, and replaces
            seal = thought.seal if isinstance(thought, Reasoning) else None
            return () if seal is None else (Sealed(index, seal),)
        if kind == "citations_delta":
            cited = maybe_list(block, "citations", f"/content/{index}") or []
            at = f"/content/{index}/citations/{len(cited)}"
            citation = self.dialect.read_citation(need_dict(delta, "citation", "/delta"), at)
            block["citations"] = [*cited, delta["citation"]]
            return (Cite(index, citation),)
        for key, value in delta.items():  # a kind of delta that is new: strings grow
            if key != "type":
                before = block.get(key)
                grows = isinstance(before, str) and isinstance(value, str)
                block[key] = before + value if grows else value
        return ()

    def stop(self, doc: dict[str, Json]) -> Sequence[Event]:
        index = self.number(doc)
        opened = self.opened.pop(index, None)
        if opened is None:
            raise Malformed(f"block {index} is not open")
        events: list[Event] = []
        block, text = opened.doc, str(opened.said)
        if opened.key == "input":
            if text:
                block["input"] = self.arguments(index, text)
            elif block["input"] and not opened.hosted:  # it came whole
                events.append(Delta(index, compact(block["input"])))
            if not self.whole and not opened.hosted and "arguments" not in block["input"]:
                block["input"] = {}
        elif opened.key:
            block[opened.key] = text
        events.append(Close(index))
        return events

    def amend(self, doc: dict[str, Json]) -> Sequence[Event]:
        if self.head is None:
            raise Malformed("the end of a message that has not begun")
        self.head |= maybe_dict(doc, "delta", "") or {}
        usage = maybe_dict(doc, "usage", "")
        if usage is not None:
            known = {k: v for k, v in usage.items() if v is not None}
            self.head["usage"] = {**usage, **(self.head.get("usage") or {}), **known}
        self.head |= {k: v for k, v in doc.items() if k not in ("type", "delta", "usage")}
        return ()

    def finish(self, doc: dict[str, Json]) -> Sequence[Event]:
        if self.head is None:
            raise Malformed("the end of a message that has not begun")
        if self.opened:
            raise Malformed(f"the message ended, and block {next(iter(self.opened))} had not")
        self.done = True
        return (End(self.silent()),)

    def broken(self, doc: dict[str, Json]) -> Sequence[Event]:
        return self.fail(self.dialect.read_error(doc))

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

    def at_rest(self) -> Response:
        """The arguments of calls are the text that the model wrote, as they are in flight."""
        tree = super().at_rest()
        if not self.written or self.home:
            return tree
        answer = tree.candidates[0]
        content = (
            replace(block, arguments=self.written.get(block.at, block.arguments))
            if isinstance(block, ToolCall)
            else block
            for block in answer.message.content
        )
        answer = replace(answer, message=replace(answer.message, content=tuple(content)))
        return replace(tree, candidates=(answer,))

    def so_far(self, index: int, opened: Opened) -> Json:
        text = str(opened.said)
        if opened.key != "input":
            return text
        return self.arguments(index, text) if text else opened.doc["input"]

    def arguments(self, index: int, text: str) -> dict[str, Json]:
        """Arguments as an object; text that is none goes under ``arguments``, as at rest."""
        try:
            value = decode(text)
        except UNREADABLE:
            value = None
        fit = isinstance(value, dict)
        if self.whole or not fit:
            self.written[f"/content/{index}"] = text
        return value if fit else {"arguments": text}


# -- writing --------------------------------------------------------------------------------

TAIL = b"}}\n\n"
encode_text = msgspec.json.Encoder().encode


def frame(kind: str, **fields: Json) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), encode({"type": kind, **fields}))


class AnthropicWriter(StreamWriter):
    dialect: AnthropicMessages

    def __init__(self, dialect: AnthropicMessages, log: Ledger, home: bool) -> None:
        super().__init__(dialect, home, log)
        self.w = dialect.writing(self.aside, dialect.name if home else None, answer=True)
        self.number = -1  # of the block that was begun last
        self.current: int | None = None  # the block that is said now
        self.block: Block | None = None
        self.begun = False  # whether the current block has been opened here
        self.plain = False  # whether its deltas can be said as they are
        self.wrapped = False  # whether they are a string inside an object
        self.head = b""  # what a delta of it begins with
        self.blank = ""  # white space that is said only if something follows
        self.part = (-1, "")
        self.sealed: Sealed | None = None
        self.waiting: dict[int, list[Event]] = {}
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
        return frame("message_start", message=doc)

    # -- one block after the other ----------------------------------------------------------

    def open(self, event: Open) -> bytes:
        if event.candidate:
            return b""  # there is one answer here
        if self.current is None:
            return self.enter(event)
        self.waiting[event.index] = [event]
        self.log.moved("stream.order", event.block.at, "it waited for the block before it")
        return b""

    def delta(self, event: Delta) -> bytes:
        if event.index == self.current:
            if self.plain and event.place == "text":
                return self.head + encode_text(event.text) + TAIL
            return self.say(event)
        return self.wait(event)

    def cite(self, event: Cite) -> bytes:
        if event.index != self.current:
            return self.wait(event)
        doc = self.dialect.write_citation(event.citation, self.w)
        if doc is None or not isinstance(self.block, Text):
            return b""
        delta = {"type": "citations_delta", "citation": doc}
        opened = b"" if self.begun else self.enter_block()
        return opened + frame("content_block_delta", index=self.number, delta=delta)

    def seal(self, event: Sealed) -> bytes:
        if event.index != self.current:
            return self.wait(event)
        self.sealed = event
        return b""

    def close(self, event: Close) -> bytes:
        if event.index != self.current:
            return self.wait(event)
        out = [self.leave()]
        self.current = None
        while self.waiting and self.current is None:
            index = next(iter(self.waiting))
            out += [self.write(waited) for waited in self.waiting.pop(index)]
        return b"".join(out)

    def wait(self, event: Delta | Cite | Sealed | Close) -> bytes:
        if event.index in self.waiting:
            self.waiting[event.index].append(event)
        return b""

    # -- the block that is said now ---------------------------------------------------------

    def enter(self, event: Open) -> bytes:
        self.current, self.block = event.index, event.block
        self.begun = self.plain = self.wrapped = False
        self.blank, self.sealed, self.part = "", None, (-1, "")
        block = event.block
        if isinstance(block, ToolCall) or (self.home and isinstance(block, Text)):
            return self.enter_block()
        if isinstance(block, Reasoning):
            if block.seal is not None and block.seal.kind == "encrypted":
                return b""  # redacted: it is said when it closes
            return self.enter_block() if self.home else b""
        if isinstance(block, Text | Refusal | Media):
            return b""  # it may turn out to be empty, and empty blocks are not said
        docs = self.dialect.write_blocks([block], self.w) if self.home else ()
        return b"".join(self.whole(doc) for doc in docs)

    def enter_block(self) -> bytes:
        """Open the current block here."""
        self.begun = True
        self.number += 1
        block, key, kind = self.block, "text", "text_delta"
        doc: Json = {"type": "text", "text": ""}
        if isinstance(block, ToolCall):
            key, kind = "partial_json", "input_json_delta"
            doc = self.dialect.write_call(replace(block, arguments="{}"), self.w) | {"input": {}}
        elif isinstance(block, Reasoning):
            key, kind = "thinking", "thinking_delta"
            doc = {"type": "thinking", "thinking": "", "signature": ""}
            if self.home:
                doc = self.dialect.write_reasoning(replace(block, content=("",)), self.w) or doc
        elif isinstance(block, Text) and self.home:
            doc = self.dialect.write_text(block, self.w)
        head = {
            "type": "content_block_delta",
            "index": self.number,
            "delta": {"type": kind, key: ""},
        }
        self.head = b"event: content_block_delta\ndata: " + encode(head)[:-4]
        self.plain = isinstance(block, Text | Refusal)
        start = frame("content_block_start", index=self.number, content_block=doc)
        freeform = isinstance(block, ToolCall) and block.kind == "custom"
        return start + self.wrap("input") if freeform else start

    def wrap(self, key: str) -> bytes:
        """Text that is no object becomes one with a single string, around it as it comes."""
        self.wrapped = True
        return self.head + encode(f'{{"{key}":"') + TAIL

    def unwrap(self) -> bytes:
        return self.head + encode('"}') + TAIL if self.wrapped else b""

    def argue(self, text: str) -> bytes:
        """The arguments of a call. How they begin shows whether they will be an object."""
        text, self.blank = self.blank + text, ""
        if self.wrapped:
            return self.head + encode(compact(text)[1:-1]) + TAIL
        if is_blank(text):
            self.blank = text
            return b""
        if not text.lstrip().startswith("{"):
            return self.wrap("arguments") + self.argue(text)
        self.plain = True
        return self.head + encode(text) + TAIL

    def say(self, event: Delta) -> bytes:
        block, text = self.block, event.text
        if isinstance(block, Reasoning):
            return self.think(event)
        if isinstance(block, Media) and event.place != "transcript":
            return b""  # what was spoken is written here
        if isinstance(block, ToolCall):
            return self.argue(text)
        if not isinstance(block, Text | Refusal | Media):
            return b""
        if self.begun:
            return self.head + encode(text) + TAIL
        if is_blank(self.blank + text):
            self.blank += text
            return b""
        opened, text = self.enter_block(), self.blank + text
        return opened + self.head + encode(text) + TAIL

    def think(self, event: Delta) -> bytes:
        """The parts of a thought become one, apart from each other by a blank line."""
        part = (event.part, event.place)
        if self.part[1] not in ("", event.place):
            return b""  # a thought is said once here
        text = event.text if part == self.part or self.part[0] < 0 else "\n\n" + event.text
        opened = b"" if self.begun or not event.text else self.enter_block()
        self.part = part
        return opened + self.head + encode(text) + TAIL if self.begun else b""

    def leave(self) -> bytes:
        block = self.block
        if isinstance(block, Reasoning):
            return self.leave_thought(block)
        if not self.begun:
            return b""
        return self.unwrap() + frame("content_block_stop", index=self.number)

    def leave_thought(self, block: Reasoning) -> bytes:
        seal = block.seal if self.sealed is None else self.sealed.seal
        if seal is not None and not home_only(self.dialect, seal.issuer):
            seal = None
        if seal is not None and seal.kind == "encrypted":
            doc = self.dialect.write_reasoning(replace(block, seal=seal), self.w)
            return b"" if self.begun else self.whole(doc)
        out = b""
        if not self.begun:
            if seal is None:
                return b""
            out = self.enter_block()
        if seal is not None:
            delta = {"type": "signature_delta", "signature": seal.data}
            out += frame("content_block_delta", index=self.number, delta=delta)
        return out + frame("content_block_stop", index=self.number)

    def whole(self, doc: Json) -> bytes:
        """A block that comes whole."""
        self.number += 1
        start = frame("content_block_start", index=self.number, content_block=doc)
        return start + frame("content_block_stop", index=self.number)

    # -- the end ----------------------------------------------------------------------------

    def ping(self, event: Ping) -> bytes:
        return frame("ping")

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
        return frame("message_delta", **fields) + frame("message_stop")

    def fail(self, doc: Json) -> bytes:
        return b"event: error\ndata: " + encode(doc) + b"\n\n"
