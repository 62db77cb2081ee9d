"""The stream of a provider of AI SDK 4: the parts of its ``doStream``, one frame each, both ways.

    response-metadata
    (reasoning | reasoning-signature | text-delta | tool-call-delta | tool-call)*
    finish

Nothing says where a text or reasoning begins or ends: reasoning ends with its signature, and both
end where something else begins. The arguments of a call come bit by bit, and whole in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from ...core.reading import as_dict, encode, escape, need_str
from ...core.writing import is_blank
from ...ledger import Ledger
from ...model import Block, Citation, Json, Reasoning, Response, Signature, Text, ToolCall
from ...streams.base import REDACTED_LATE, FunctionsOnly, Keys, OneByOne, Said, StreamReader
from ...streams.events import Begin, Close, Delta, End, Event, Odd, Open, Signed, hollow
from ...streams.framing import Frame
from ..vercel_model import response

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


class CoreCall:
    """A call while it arrives."""

    def __init__(self, doc: dict[str, Json], index: int, at: str) -> None:
        self.doc = doc
        self.index = index
        self.at = at
        self.said = Said(True)
        self.open = True


class CoreReader(StreamReader):
    dialect: VercelCore
    keys: ClassVar[dict[str, Keys]] = KEYS

    def __init__(self, dialect: VercelCore, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.head: dict[str, Json] | None = None
        self.about: dict[str, Json] = {}
        self.parts: list[dict[str, Json]] = []
        self.reasoned: Said | None = None  # the reasoning that is open
        self.said: Said | None = None
        self.calls: list[CoreCall] = []
        self.latest: dict[str, CoreCall] = {}  # by their ids, which may come again
        self.open: tuple[str, int] | None = None  # what kind of text is open, and its block
        self.highest = 0
        self.count = 0
        self.ways: dict[str, Callable[[dict[str, Json], list[Event]], None]] = {
            "text-delta": self.text,
            "reasoning": self.reasoning,
            "reasoning-signature": self.signature,
            "redacted-reasoning": self.redacted,
            "tool-call-delta": self.call,
            "tool-call": self.called,
            "finish": self.finish,
        }

    def read(self, frame: Frame) -> Sequence[Event]:
        if frame[1].strip() == b"[DONE]":
            return ()
        doc = self.parse(frame)
        kind = need_str(doc, "type", "")
        if kind == "error":
            return self.fail(self.dialect.read_error(doc))
        if self.head is None:
            self.head = {}
        if kind == "response-metadata":
            self.about |= {k: v for k, v in doc.items() if k != "type"}
            self.silent()  # which refuses nonsense
            return ()
        if (way := self.ways.get(kind)) is None:
            return (Odd(self.dialect.name, doc),)
        events: list[Event] = []
        if self.begun is None:
            events.append(self.begin(self.silent()))
        self.look(kind, doc)
        way(doc, events)
        return events

    def belongs_to(self, kind: str, doc: dict[str, Json]) -> str:
        if kind == "tool-call-delta":
            return self.place_of(doc.get("toolCallId"))
        return "/text" if kind == "text-delta" else f"/reasoning/{len(self.parts)}"

    def place_of(self, name: Json) -> str:
        """Where a call stands, or will stand."""
        call = self.latest.get(name) if isinstance(name, str) else None
        return f"/toolCalls/{len(self.calls)}" if call is None else call.at

    def silent(self) -> Response:
        said = {k: v for k, v in (self.document() or {}).items() if k not in SAID}
        tree = response.read_response(self.dialect, said)
        assert isinstance(tree, Response)
        return tree

    def enter(self, kind: str, block: Block, events: list[Event]) -> int:
        """A block begins, and so what was open before has ended."""
        self.shut(events)
        if RANKS[kind] < self.highest:
            why = (
                "reasoning, text and tool calls were interleaved in the stream; "
                "the document has one field for each"
            )
            self.notes.append(("stream.order", block.at, why))
        self.highest = max(RANKS[kind], self.highest)
        events.append(Open(self.count, hollow(block)))
        self.count += 1
        return self.count - 1

    def shut(self, events: list[Event], signature: Signature | None = None) -> None:
        if self.open is None:
            return
        if signature is not None:
            events.append(Signed(self.open[1], signature))
        events.append(Close(self.open[1]))
        self.open = None

    def text(self, doc: dict[str, Json], events: list[Event]) -> None:
        text = need_str(doc, "textDelta", "")
        if self.open is None or self.open[0] != "text":
            if self.said is not None:
                self.highest = 3  # a second text, which is one with the first at rest
            self.open = ("text", self.enter("text", Text("", at="/text"), events))
            self.said = self.said or Said(self.whole)
        assert self.said is not None
        self.said.add(text)
        events.append(Delta(self.open[1], text))

    def reasoning(self, doc: dict[str, Json], events: list[Event]) -> None:
        text = need_str(doc, "textDelta", "")
        if self.open is None or self.open[0] != "reasoning":
            at = f"/reasoning/{len(self.parts)}"
            self.open = ("reasoning", self.enter("reasoning", Reasoning(at=at), events))
            self.reasoned = Said(self.whole)
            self.parts.append({"type": "text"})
        assert self.reasoned is not None
        self.reasoned.add(text)
        self.parts[-1]["text"] = self.reasoned
        events.append(Delta(self.open[1], text))

    def signature(self, doc: dict[str, Json], events: list[Event]) -> None:
        data = need_str(doc, "signature", "")
        if self.open is None or self.open[0] != "reasoning":
            self.reasoning({"textDelta": ""}, events)
        self.parts[-1]["signature"] = data
        self.shut(events, Signature(data, "anthropic"))

    def redacted(self, doc: dict[str, Json], events: list[Event]) -> None:
        part = {"type": "redacted", **{k: v for k, v in doc.items() if k != "type"}}
        at = f"/reasoning/{len(self.parts)}"
        signature = Signature(need_str(doc, "data", ""), "anthropic", "encrypted")
        self.late |= dict.fromkeys(REDACTED.others(doc, at))
        self.parts.append(part)
        index = self.enter("reasoning", Reasoning(at=at), events)
        events += (Signed(index, signature), Close(index))

    def call(self, doc: dict[str, Json], events: list[Event]) -> None:
        name, text = need_str(doc, "toolCallId", ""), need_str(doc, "argsTextDelta", "")
        call = self.call_of(name, doc, events)
        call.said.add(text)
        events.append(Delta(call.index, text))

    def call_of(self, name: str, doc: dict[str, Json], events: list[Event]) -> CoreCall:
        """The call that a frame belongs to: another one, if the last with its id was complete."""
        call = self.latest.get(name)
        return call if call is not None and call.open else self.open_call(doc, events)

    def open_call(self, doc: dict[str, Json], events: list[Event]) -> CoreCall:
        keys = ("toolCallType", "toolCallId", "toolName")
        known = {key: doc[key] for key in keys if key in doc}
        at = f"/toolCalls/{len(self.calls)}"
        name = need_str(doc, "toolCallId", "")
        block = ToolCall(name, need_str(doc, "toolName", ""), at=at)
        call = self.latest[name] = CoreCall(known, self.enter("call", block, events), at)
        self.calls.append(call)
        return call

    def called(self, doc: dict[str, Json], events: list[Event]) -> None:
        call = self.call_of(need_str(doc, "toolCallId", ""), doc, events)
        self.late |= dict.fromkeys(WHOLE_CALL.others(doc, call.at))
        said, final = str(call.said), doc.get("args")
        if final is None and "args" not in doc:
            doc = {**doc, "args": said}
        elif isinstance(final, str) and final != said:
            if said:
                why = "the final text differs from the streamed text"
                self.notes.append(("stream.text", call.at, why))
            else:
                events.append(Delta(call.index, final))
        call.doc = {k: v for k, v in doc.items() if k != "type"}
        call.open = False
        events.append(Close(call.index))

    def finish(self, doc: dict[str, Json], events: list[Event]) -> None:
        assert self.head is not None
        self.shut(events)
        for call in self.calls:
            if call.open:
                call.doc, call.open = call.doc | {"args": str(call.said)}, False
                events.append(Close(call.index))
        self.head |= {k: v for k, v in doc.items() if k != "type"}
        if doc.get("warnings"):
            self.late["/warnings"] = None  # elsewhere a stream begins with them
        self.done = True
        events.append(End(self.silent()))

    def document(self) -> Json | None:
        if self.head is None:
            return None
        doc: dict[str, Json] = {}
        if self.parts:
            doc["reasoning"] = [
                {k: str(v) if isinstance(v, Said) else v for k, v in part.items()}
                for part in self.parts
            ]
        if self.said is not None:
            doc["text"] = str(self.said)
        if self.calls:
            doc["toolCalls"] = [
                {**call.doc, "args": str(call.said)} if call.open else call.doc
                for call in self.calls
            ]
        if self.about:
            doc["response"] = self.about
        return doc | self.head


SAID = ("reasoning", "text", "toolCalls")


# -- writing --------------------------------------------------------------------------------


def frame(doc: Json) -> bytes:
    return b"data: " + encode(doc) + b"\n\n"


class CoreWriter(FunctionsOnly, OneByOne):
    dialect: VercelCore

    def __init__(self, dialect: VercelCore, log: Ledger, home: bool) -> None:
        super().__init__(dialect, home, log)
        if not home:
            self.wrap_freeform()
        self.w = self.dialect.writing(self.aside, dialect.name if home else None, answer=True)
        self.about: Json = {}
        self.doc: dict[str, Json] = {}  # the call that is said now
        self.texts: list[str] = []  # what was said of the block that is said now
        self.unsigned = False  # whether the last thing was reasoning that nothing ended

    def begin(self, event: Begin) -> bytes:
        return self.tell(self.at_rest(replace(event.response, failure=None)))

    def tell(self, doc: dict[str, Json]) -> bytes:
        about = doc.get("response") or {}
        if about == self.about:
            return b""
        self.about = about
        return frame({**about, "type": "response-metadata"})

    def enter(self, event: Open) -> bytes:
        block, self.texts = event.block, []
        if isinstance(block, ToolCall):
            self.doc = as_dict(self.dialect.write_answer_call(block, self.w), "")
        if isinstance(block, Reasoning) and self.unsigned:
            why = "a vercel-core stream does not mark the end of the reasoning before it"
            self.log.approximated("stream.text", block.at, why)
        return b""

    def say(self, event: Delta) -> bytes:
        block = self.block
        if isinstance(block, Reasoning):
            text = self.reasoning(event)
            self.texts.append(text or "")
            return b"" if text is None else frame({"type": "reasoning", "textDelta": text})
        if event.place != "text" or not isinstance(block, Text | ToolCall):
            return b""
        self.texts.append(event.text)
        if not isinstance(block, ToolCall):
            return frame({"type": "text-delta", "textDelta": event.text})
        if not event.text:
            return b""
        known = {k: v for k, v in self.doc.items() if k in ("toolCallId", "toolName")}
        head = {"type": "tool-call-delta", "toolCallType": "function"}
        return frame({**head, **known, "argsTextDelta": event.text})

    def quote(self, citation: Citation) -> bytes:
        return b""

    def leave(self) -> bytes:
        block, said = self.block, "".join(self.texts)
        if isinstance(block, Text | ToolCall):  # of others, nothing is said here
            self.unsigned = False
        if isinstance(block, ToolCall):
            spelled = self.dialect.spelling(block)
            given = said if not is_blank(said) and "args" not in spelled else self.doc["args"]
            return frame({**self.doc, "type": "tool-call", "args": given})
        if isinstance(block, Text) and not self.texts:
            return frame({"type": "text-delta", "textDelta": ""})
        return self.leave_reasoning(block, said) if isinstance(block, Reasoning) else b""

    def leave_reasoning(self, block: Reasoning, said: str) -> bytes:
        whole = replace(block, content=(said,) if said else (), summary=())
        whole = replace(whole, signature=self.signed or block.signature)
        whole = self.lowered(whole) or whole
        part = self.dialect.write_answer_reasoning(whole, self.w)[0]
        if part.__class__ is dict and part["type"] == "redacted":
            rest = {k: v for k, v in part.items() if k != "type"}
            if self.texts:
                self.log.approximated("stream.text", block.at, REDACTED_LATE)
            self.unsigned = False
            return frame({"type": "redacted-reasoning", **rest})
        for key in part if part.__class__ is dict else ():
            if key not in ("type", "text", "signature"):
                why = "a vercel-core stream has no field for it beside reasoning"
                self.log.dropped("extras", f"{block.at}/{escape(key)}", why)
        out = b"" if self.texts else frame({"type": "reasoning", "textDelta": ""})
        if part.__class__ is dict and "signature" in part:
            self.unsigned = False
            return out + frame({"type": "reasoning-signature", "signature": part["signature"]})
        self.unsigned = True
        return out

    def end(self, doc: Json) -> bytes:
        # Reasoning that is one string, and what only some documents have, come with the end.
        rest = {k: v for k, v in doc.items() if k not in ("text", "toolCalls", "response")}
        if rest.get("reasoning").__class__ is list:
            del rest["reasoning"]
        return self.tell(doc) + frame({**rest, "type": "finish"})

    def fail(self, doc: Json) -> bytes:
        return frame({"type": "error", "error": doc["error"]} if isinstance(doc, dict) else doc)
