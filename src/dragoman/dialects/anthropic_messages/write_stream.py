"""Writing the stream of the Anthropic Messages API.

Blocks come one after the other here. An empty one is not said, so a block begins with its first
word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import msgspec
from msgspec.structs import replace

from ...core.reading import compact, encode
from ...core.writing import is_blank
from ...ledger import Ledger
from ...model import Citation, Hosted, Json, Raw, Reasoning, Text, ToolCall
from ...streams.base import REDACTED_LATE, OneByOne
from ...streams.events import Begin, Delta, Open, Ping

if TYPE_CHECKING:
    from . import AnthropicMessages


TAIL = b"}}\n\n"
encode_text = msgspec.json.Encoder().encode


def frame(kind: str, **fields: Json) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), encode({"type": kind, **fields}))


class AnthropicWriter(OneByOne):
    counts_first: ClassVar[bool] = True
    dialect: AnthropicMessages

    def __init__(self, dialect: AnthropicMessages, log: Ledger, home: bool) -> None:
        super().__init__(dialect, home, log)
        self.w = dialect.writing(self.aside, dialect.name if home else None, answer=True)
        self.number = -1  # of the block that was begun last
        self.begun = False  # whether the current block has been opened here
        self.plain = False  # whether its deltas can be said as they are
        self.wrapped = False  # whether they are a string inside an object
        self.head = b""  # what a delta of it begins with
        self.blank = ""  # white space that is said only if something follows
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

    # -- the block that is said now ---------------------------------------------------------

    def delta(self, event: Delta) -> bytes:
        if event.index == self.current:
            if self.plain and event.place == "text":  # as most are
                return self.head + encode_text(event.text) + TAIL
            return self.say(event)
        return self.wait(event)

    def enter(self, event: Open) -> bytes:
        block = event.block
        self.begun = self.plain = self.wrapped = False
        self.blank = ""
        if isinstance(block, ToolCall) or (self.home and isinstance(block, Text)):
            return self.enter_block()
        if isinstance(block, Text | Reasoning):
            return b""  # it may turn out to be empty, or reasoning to be redacted
        own = isinstance(block, Hosted | Raw) and self.dialect.is_home(block.dialect)
        docs = self.dialect.write_blocks([block], self.w) if self.home or own else ()
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
        self.plain = isinstance(block, Text)
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
        if isinstance(block, ToolCall):
            return self.argue(text)
        if not isinstance(block, Text):
            return b""
        if self.begun:
            return self.head + encode(text) + TAIL
        if is_blank(self.blank + text):
            self.blank += text
            return b""
        opened, text = self.enter_block(), self.blank + text
        return opened + self.head + encode(text) + TAIL

    def think(self, event: Delta) -> bytes:
        text = self.reasoning(event)
        if text is None:
            return b""
        opened = b"" if self.begun or not (event.text or self.home) else self.enter_block()
        return opened + self.head + encode(text) + TAIL if self.begun else b""

    def quote(self, citation: Citation) -> bytes:
        if not isinstance(self.block, Text):
            return b""
        doc = self.dialect.write_citation(citation, self.w)
        delta = {"type": "citations_delta", "citation": doc}
        opened = b"" if self.begun else self.enter_block()
        return opened + frame("content_block_delta", index=self.number, delta=delta)

    def leave(self) -> bytes:
        block = self.block
        if isinstance(block, Reasoning):
            return self.leave_reasoning(block)
        if not self.begun:
            return b""
        return self.unwrap() + frame("content_block_stop", index=self.number)

    def leave_reasoning(self, block: Reasoning) -> bytes:
        signature = self.own_signature(block)
        if signature is not None and signature.kind == "encrypted":
            doc = self.dialect.write_reasoning(replace(block, signature=signature), self.w)
            if not self.begun:
                return self.whole(doc)
            self.log.approximated("stream.text", block.at, REDACTED_LATE)
            return frame("content_block_stop", index=self.number) + self.whole(doc)
        out = b""
        if not self.begun:
            if signature is None and not self.home:
                return b""
            out = self.enter_block()
        if signature is not None:
            delta = {"type": "signature_delta", "signature": signature.data}
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
