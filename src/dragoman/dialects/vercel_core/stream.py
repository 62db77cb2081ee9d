"""The stream of a provider of AI SDK 4: the parts of its ``doStream``, one frame each, both ways.

    response-metadata
    (reasoning | reasoning-signature | text-delta | tool-call-delta | tool-call)*
    finish

Nothing says where a text or reasoning begins or ends: reasoning ends with its signature, and both
end where something else begins. The arguments of a call come bit by bit, and whole in the end.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ...core.reading import as_dict, escape, need_str
from ...core.writing import is_blank
from ...ledger import Ledger
from ...model import Block, Citation, Json, Reasoning, Signature, Text, ToolCall
from ...streams.events import Close, Delta, Event, Open, Signed, hollow
from ...streams.orders import REDACTED_LATE, OneByOne
from ...streams.received import Keys, Received, remember
from ...streams.splicing import MARKED, Splice, around
from .._ai_sdk_stream import frame
from ..vercel_model.stream import ProviderReader, ProviderWriter

if TYPE_CHECKING:
    from . import VercelCore

RANKS = {"reasoning": 0, "text": 1, "call": 2}
CALL = ("type", "toolCallType", "toolCallId", "toolName")
# Other parts stand in the response as they are.
KEYS = {
    "text-delta": Keys("type", "textDelta"),
    "reasoning": Keys("type", "textDelta"),
    "reasoning-signature": Keys("type", "signature"),
    "tool-call-delta": Keys(*CALL, "argsTextDelta"),
}
WHOLE_CALL = Keys(*CALL, "args")
REDACTED = Keys("type", "data")
SAID = ("reasoning", "text", "toolCalls")
"""the content of a response"""


class CoreCall:
    """A call while it arrives."""

    def __init__(self, doc: dict[str, Json], index: int, at: str) -> None:
        self.doc = doc
        self.index = index
        self.at = at
        self.received = Received(True)
        self.open = True


class CoreReader(ProviderReader):
    dialect: VercelCore
    keys: ClassVar[dict[str, Keys]] = KEYS
    empty: ClassVar[dict[str, Json]] = dict.fromkeys(SAID)

    def __init__(self, dialect: VercelCore, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.parts: list[dict[str, Json]] = []
        self.reasoned: Received | None = None  # the reasoning that is open
        self.received: Received | None = None
        self.calls: list[CoreCall] = []
        self.latest: dict[str, CoreCall] = {}  # by their ids, which may come again
        self.open: tuple[str, int] | None = None  # what kind of text is open, and its block
        self.highest = 0
        self.count = 0
        self.ways = {
            "text-delta": self.text,
            "reasoning": self.reasoning,
            "reasoning-signature": self.signature,
            "redacted-reasoning": self.redacted,
            "tool-call-delta": self.call,
            "tool-call": self.called,
            "finish": self.finish,
        }

    def belongs_to(self, kind: str, doc: dict[str, Json]) -> str:
        if kind == "tool-call-delta":
            return self.place_of(doc.get("toolCallId"))
        return "/text" if kind == "text-delta" else f"/reasoning/{len(self.parts)}"

    def place_of(self, name: Json) -> str:
        """Where a call stands, or will stand."""
        call = self.latest.get(name) if isinstance(name, str) else None
        return f"/toolCalls/{len(self.calls)}" if call is None else call.at

    def enter(self, kind: str, block: Block) -> list[Event]:
        """A block begins, and so what was open before has ended."""
        events = self.shut()
        if RANKS[kind] < self.highest:
            why = (
                "reasoning, text and tool calls were interleaved in the stream; "
                "the document has one field for each"
            )
            self.notes.append(("stream.order", block.at, why))
        self.highest = max(RANKS[kind], self.highest)
        self.open = (kind, self.count)
        self.count += 1
        return [*events, Open(self.open[1], hollow(block))]

    def shut(self, signature: Signature | None = None) -> list[Event]:
        if self.open is None:
            return []
        index, self.open = self.open[1], None
        return [Close(index)] if signature is None else [Signed(index, signature), Close(index)]

    def text(self, doc: dict[str, Json]) -> list[Event]:
        text, events = need_str(doc, "textDelta", ""), list[Event]()
        if self.open is None or self.open[0] != "text":
            if self.received is not None:
                self.highest = 3  # a second text, which is one with the first at rest
            events = self.enter("text", Text("", at="/text"))
            self.received = self.received or Received(self.whole)
        assert self.received is not None
        assert self.open is not None
        self.received.add(text)
        self.sink = self.received.add
        return [*events, Delta(self.open[1], text)]

    def reasoning(self, doc: dict[str, Json]) -> list[Event]:
        text, events = need_str(doc, "textDelta", ""), list[Event]()
        if self.open is None or self.open[0] != "reasoning":
            events = self.enter("reasoning", Reasoning(at=f"/reasoning/{len(self.parts)}"))
            self.reasoned = Received(self.whole)
            self.parts.append({"type": "text"})
        assert self.reasoned is not None
        assert self.open is not None
        self.reasoned.add(text)
        self.sink = self.reasoned.add
        self.parts[-1]["text"] = self.reasoned
        return [*events, Delta(self.open[1], text)]

    def signature(self, doc: dict[str, Json]) -> list[Event]:
        data, events = need_str(doc, "signature", ""), list[Event]()
        if self.open is None or self.open[0] != "reasoning":
            events = self.reasoning({"textDelta": ""})
        self.parts[-1]["signature"] = data
        return [*events, *self.shut(Signature(data, "anthropic"))]

    def redacted(self, doc: dict[str, Json]) -> list[Event]:
        at = f"/reasoning/{len(self.parts)}"
        signature = Signature(need_str(doc, "data", ""), "anthropic", "encrypted")
        self.late |= dict.fromkeys(REDACTED.others(doc, at))
        self.parts.append({**doc, "type": "redacted"})
        events = self.enter("reasoning", Reasoning(at=at))
        return [*events, *self.shut(signature)]

    def call(self, doc: dict[str, Json]) -> list[Event]:
        text = need_str(doc, "argsTextDelta", "")
        call, events = self.call_of(doc)
        call.received.add(text)
        self.sink = call.received.add
        return [*events, Delta(call.index, text)]

    def call_of(self, doc: dict[str, Json]) -> tuple[CoreCall, list[Event]]:
        """The call that a frame belongs to: another one, if the last with its id was complete."""
        name = need_str(doc, "toolCallId", "")
        call = self.latest.get(name)
        if call is not None and call.open:
            return call, []
        known = {key: doc[key] for key in CALL[1:] if key in doc}
        at = f"/toolCalls/{len(self.calls)}"
        events = self.enter("call", ToolCall(name, need_str(doc, "toolName", ""), at=at))
        call = self.latest[name] = CoreCall(known, self.count - 1, at)
        self.open = None  # it ends by itself
        self.calls.append(call)
        return call, events

    def called(self, doc: dict[str, Json]) -> list[Event]:
        call, events = self.call_of(doc)
        self.late |= dict.fromkeys(WHOLE_CALL.others(doc, call.at))
        written, final = str(call.received), doc.get("args")
        if final is None and "args" not in doc:
            doc = {**doc, "args": written}
        elif isinstance(final, str) and final != written:
            if written:
                why = "the final text differs from the streamed text"
                self.notes.append(("stream.text", call.at, why))
            else:
                events.append(Delta(call.index, final))
        call.doc = {k: v for k, v in doc.items() if k != "type"}
        call.open = False
        return [*events, Close(call.index)]

    def finish(self, doc: dict[str, Json]) -> list[Event]:
        events = self.shut()
        for call in self.calls:
            if call.open:
                call.doc, call.open = call.doc | {"args": str(call.received)}, False
                events.append(Close(call.index))
        if doc.get("warnings"):
            self.late["/warnings"] = None  # elsewhere a stream begins with them
        return self.end(doc, events)

    def document(self) -> Json | None:
        if self.head is None:
            return None
        doc: dict[str, Json] = {}
        if self.parts:
            doc["reasoning"] = [
                {k: str(v) if isinstance(v, Received) else v for k, v in part.items()}
                for part in self.parts
            ]
        if self.received is not None:
            doc["text"] = str(self.received)
        if self.calls:
            doc["toolCalls"] = [
                {**call.doc, "args": str(call.received)} if call.open else call.doc
                for call in self.calls
            ]
        if self.about:
            doc["response"] = self.about
        return doc | self.head


# -- writing --------------------------------------------------------------------------------


class CoreWriter(ProviderWriter, OneByOne):
    dialect: VercelCore
    before = SAID

    def __init__(self, dialect: VercelCore, log: Ledger, same: bool) -> None:
        super().__init__(dialect, log, same)
        self.doc: dict[str, Json] = {}  # the call that is written now
        self.texts: list[str] = []  # what was written of the block that is written now
        self.unsigned = False  # whether the last thing was reasoning that nothing ended

    def enter(self, event: Open) -> bytes:
        block, self.texts = event.block, []
        if isinstance(block, ToolCall):
            self.doc = as_dict(self.dialect.write_reply_call(block, self.w), "")
        if isinstance(block, Reasoning) and self.unsigned:
            why = "a vercel-core stream does not mark the end of the reasoning before it"
            self.log.approximated("stream.text", block.at, why)
        return b""

    def say(self, event: Delta) -> bytes:
        block = self.block
        if isinstance(block, Reasoning):
            text = self.reasoning(event)
            remember(self.texts, text or "")
            return b"" if text is None else frame({"type": "reasoning", "textDelta": text})
        if event.place != "text" or not isinstance(block, Text | ToolCall):
            return b""
        if not isinstance(block, ToolCall):
            remember(self.texts, event.text)
            return frame({"type": "text-delta", "textDelta": event.text})
        self.texts.append(event.text)
        return self.argue(event.text) if event.text else b""

    def argue(self, text: str) -> bytes:
        known = {k: v for k, v in self.doc.items() if k in ("toolCallId", "toolName")}
        head = {"type": "tool-call-delta", "toolCallType": "function"}
        return frame({**head, **known, "argsTextDelta": text})

    def splicing(self, event: Delta) -> Splice | None:
        block, keep = self.block, partial(remember, self.texts)
        if event.index != self.current or event.index in self.wrapped:
            return None
        if isinstance(block, Reasoning):
            goes_on = self.part == (event.part, event.place)
            written = frame({"type": "reasoning", "textDelta": MARKED})
            return around(written, keep) if goes_on else None
        if event.place != "text" or not isinstance(block, Text | ToolCall):
            return None
        if isinstance(block, ToolCall):
            return around(self.argue(MARKED), self.texts.append)
        return around(frame({"type": "text-delta", "textDelta": MARKED}), keep)

    def quote(self, citation: Citation) -> bytes:
        return b""

    def leave(self) -> bytes:
        block, written = self.block, "".join(self.texts)
        if isinstance(block, Text | ToolCall):  # of others, nothing is written here
            self.unsigned = False
        if isinstance(block, ToolCall):
            given = self.doc["args"] if is_blank(written) else written
            return frame({**self.doc, "type": "tool-call", "args": given})
        if isinstance(block, Text) and not self.texts:
            return frame({"type": "text-delta", "textDelta": ""})
        return self.leave_reasoning(block, written) if isinstance(block, Reasoning) else b""

    def leave_reasoning(self, block: Reasoning, written: str) -> bytes:
        whole = replace(block, content=(written,) if written else (), summary=())
        whole = replace(whole, signature=self.signed or block.signature)
        whole = self.lowered(whole) or whole
        part = self.dialect.write_reply_reasoning(whole, self.w)
        if part["type"] == "redacted":
            rest = {k: v for k, v in part.items() if k != "type"}
            if self.texts:
                self.log.approximated("stream.text", block.at, REDACTED_LATE)
            self.unsigned = False
            return frame({"type": "redacted-reasoning", **rest})
        for key in part:
            if key not in ("type", "text", "signature"):
                why = "a vercel-core stream has no field for it beside reasoning"
                self.log.dropped("extras", f"{block.at}/{escape(key)}", why)
        out = b"" if self.texts else frame({"type": "reasoning", "textDelta": ""})
        if "signature" in part:
            self.unsigned = False
            return out + frame({"type": "reasoning-signature", "signature": part["signature"]})
        self.unsigned = True
        return out
