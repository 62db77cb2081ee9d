"""Reading the UI message stream of the AI SDK (protocol v1).

What the stream amounts to is what ``useChat`` holds in the end, part by part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

import msgspec
from msgspec import Struct

from ...core.reading import UNREADABLE, decode, encode, maybe_str, need_str
from ...errors import Malformed
from ...model import Failure, Json, Reasoning, Response, Signature, Text
from ...streams.base import StreamReader
from ...streams.events import Cite, Close, Delta, End, Event, Odd, Open, Signed, hollow
from ...streams.framing import Frame
from ...streams.received import Keys, Received
from .._ai_sdk_stream import signature_of, signed_late
from . import message
from .message import APPROVAL, OUTCOME, TOOL_FIELDS, UNFINISHED

if TYPE_CHECKING:
    from . import VercelUI


DONE = b"[DONE]"
TEXT = ("type", "id", "providerMetadata")
TOOL = ("type", "toolCallId", "providerMetadata", *TOOL_FIELDS)
INPUT = (*TOOL, "toolName", "dynamic", "inputEncoding")
# That the tool is dynamic was written when its input began.
OUTPUT = Keys(*TOOL, *OUTCOME, "dynamic")
# Other chunks are parts of the message as they are.
KEYS = {
    "start": Keys("type", "messageId", "messageMetadata"),
    "start-step": Keys("type"),
    "finish-step": Keys("type"),
    "reset-step": Keys("type"),
    "text-start": Keys(*TEXT),
    "text-delta": Keys(*TEXT, "delta"),
    "text-end": Keys(*TEXT, "citations"),
    "reasoning-start": Keys(*TEXT),
    "reasoning-delta": Keys(*TEXT, "delta"),
    "reasoning-end": Keys(*TEXT, "citations"),
    "tool-input-start": Keys(*INPUT),
    "tool-input-delta": Keys("type", "toolCallId", "inputTextDelta"),
    "tool-input-available": Keys(*INPUT, "input"),
    "tool-input-error": Keys(*INPUT, "input", "errorText"),
    "tool-approval-request": Keys("type", "toolCallId", *APPROVAL),
    "tool-approval-response": Keys(*TOOL, "approvalId", "approved", "reason"),
    "tool-output-available": OUTPUT,
    "tool-output-error": OUTPUT,
    "tool-output-denied": OUTPUT,
    "message-metadata": Keys("type", "messageMetadata"),
    "finish": Keys("type", "messageMetadata", "finishReason"),
    "abort": Keys("type", "reason"),
}


class UIUsual(Struct, forbid_unknown_fields=True):
    """Nearly every chunk there is. Anything more in it, and it is read with care."""

    type: str
    delta: str = ""
    id: str = ""
    toolCallId: str = ""
    inputTextDelta: str = ""


decode_usual = msgspec.json.Decoder(UIUsual).decode


class UIPart:
    """A part while it arrives."""

    def __init__(self, doc: dict[str, Json], index: int, whole: bool) -> None:
        self.doc = doc
        self.index = index
        self.received = Received(whole)
        self.open = True
        self.quiet = False  # nothing is written of it elsewhere
        self.signature: Signature | None = None  # how it was signed when it began


class UIReader(StreamReader):
    dialect: VercelUI
    keys: ClassVar[dict[str, Keys]] = KEYS

    def __init__(self, dialect: VercelUI, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.head: dict[str, Json] | None = None
        self.parts: list[UIPart] = []
        self.early: list[Event] = []  # of data that come before the message begins
        self.texts: dict[tuple[str, str], UIPart] = {}
        self.tools: dict[str, UIPart] = {}
        self.ways: dict[str, Callable[[dict[str, Json]], Sequence[Event]]] = {
            "start": self.start,
            "start-step": self.step,
            "text-start": self.open_text,
            "reasoning-start": self.open_text,
            "text-delta": self.add,
            "reasoning-delta": self.add,
            "text-end": self.close_text,
            "reasoning-end": self.close_text,
            "tool-input-start": self.open_tool,
            "tool-input-delta": self.add_input,
            "tool-input-available": self.close_tool,
            "tool-input-error": self.close_tool,
            "tool-approval-request": self.asked,
            "tool-approval-response": self.allowed,
            "tool-output-available": self.replied,
            "tool-output-error": self.replied,
            "tool-output-denied": self.replied,
            "source-url": self.whole_part,
            "source-document": self.whole_part,
            "file": self.whole_part,
            "reasoning-file": self.whole_part,
            "custom": self.whole_part,
            "steering-message": self.whole_part,
            "reset-step": self.take_back,
            "message-metadata": self.amend,
            "finish-step": self.nothing,
            "finish": self.finish,
            "abort": self.aborted,
            "error": self.broken,
        }

    def read(self, frame: Frame) -> Sequence[Event]:
        try:
            usual = decode_usual(frame[1])
        except UNREADABLE:
            return self.read_with_care(frame)
        kind = usual.type
        part = None
        text = usual.delta
        if kind == "text-delta" or kind == "reasoning-delta":
            part = self.texts.get((kind.partition("-")[0], usual.id))
        elif kind == "tool-input-delta":
            part, text = self.tools.get(usual.toolCallId), usual.inputTextDelta
        if part is None or not part.open or part.quiet:
            return self.read_with_care(frame)
        part.received.add(text)
        self.sink = part.received.add
        return (Delta(part.index, text),)

    def read_with_care(self, frame: Frame) -> Sequence[Event]:
        if frame[1].strip() == DONE:
            return ()
        doc = self.parse(frame)
        kind = need_str(doc, "type", "")
        way = self.data if kind.startswith("data-") else self.ways.get(kind)
        if way is None:
            return (Odd(self.dialect.name, doc),)
        self.look(kind, doc)
        begun: Sequence[Event] = ()
        if self.head is None and kind not in ("start", "error", "abort") and way != self.data:
            begun = self.start({})  # some servers leave it out
        return [*begun, *way(doc)]

    def belongs_to(self, kind: str, doc: dict[str, Json]) -> str:
        known = self.texts.get((kind.partition("-")[0], str(doc.get("id"))))
        part = known or self.tools.get(str(doc.get("toolCallId")))
        if part is not None:
            return f"/parts/{part.index}"
        return f"/parts/{len(self.parts)}" if kind.startswith(("te", "re", "tool")) else ""

    def start(self, doc: dict[str, Json]) -> Sequence[Event]:
        again = self.head is not None  # an application may merge several streams into one
        if self.head is None:
            self.head = {"role": "assistant"}
        if (name := maybe_str(doc, "messageId", "")) is not None:
            self.head["id"] = name
        self.amend(doc)
        return () if again else (self.begin(self.silent()), *self.early)

    def silent(self) -> Response:
        tree = message.read_response(self.dialect, {**(self.head or {}), "parts": []})
        assert isinstance(tree, Response)
        return tree

    def amend(self, doc: dict[str, Json]) -> Sequence[Event]:
        more = doc.get("messageMetadata")
        if more is not None and self.head is not None:
            before = self.head.get("metadata")
            self.head["metadata"] = more if before is None else merged(before, more)
        return ()

    def nothing(self, doc: dict[str, Json]) -> Sequence[Event]:
        return ()

    def step(self, doc: dict[str, Json]) -> Sequence[Event]:
        part = UIPart({"type": "step-start"}, -1, self.whole)
        part.open = False
        self.parts.append(part)
        return ()

    # -- texts and reasoning -----------------------------------------------------------------

    def add_part(self, doc: dict[str, Json], whole: bool | None = None) -> UIPart:
        part = UIPart(doc, len(self.parts), self.whole if whole is None else whole)
        self.parts.append(part)
        return part

    def open_text(self, doc: dict[str, Json]) -> Sequence[Event]:
        kind, _, _ = need_str(doc, "type", "").partition("-")
        key = (kind, need_str(doc, "id", ""))
        if key in self.texts and self.texts[key].open:
            raise Malformed(f"{kind} {key[1]!r} is open already")
        part = self.texts[key] = self.add_part({"type": kind, "text": "", "state": "done"})
        self.note_metadata(part, doc)
        block = message.read_part(self.dialect, part.doc, kind, f"/parts/{part.index}")
        part.signature = signature_of(block)
        return (Open(part.index, hollow(block)),)

    def note_metadata(self, part: UIPart, doc: dict[str, Json]) -> None:
        if doc.get("providerMetadata") is not None:
            at = f"/parts/{part.index}/providerMetadata"
            self.supersede(part.doc.get("providerMetadata"), doc["providerMetadata"], at)
            part.doc["providerMetadata"] = doc["providerMetadata"]

    def text_of(self, doc: dict[str, Json]) -> UIPart:
        kind, _, _ = need_str(doc, "type", "").partition("-")
        name = need_str(doc, "id", "")
        part = self.texts.get((kind, name))
        if part is None or not part.open:
            raise Malformed(f"{kind} {name!r} is not open")
        self.note_metadata(part, doc)
        return part

    def add(self, doc: dict[str, Json]) -> Sequence[Event]:
        part, text = self.text_of(doc), need_str(doc, "delta", "")
        part.received.add(text)
        return (Delta(part.index, text),)

    def close_text(self, doc: dict[str, Json]) -> Sequence[Event]:
        part = self.text_of(doc)
        if doc.get("citations") is not None:
            part.doc["citations"] = doc["citations"]
        part.open = False
        part.doc["text"] = str(part.received)
        events: list[Event] = []
        at = f"/parts/{part.index}"
        block = message.read_part(self.dialect, part.doc, part.doc["type"], at)
        if isinstance(block, Reasoning) and block.signature is not None:
            events.append(Signed(part.index, block.signature))
        events.append(Close(part.index))
        if isinstance(block, Text):
            events += signed_late(self, block, part.signature, part.index)
        return events

    # -- tools ------------------------------------------------------------------------------

    def open_tool(self, doc: dict[str, Json]) -> Sequence[Event]:
        call_id, name = need_str(doc, "toolCallId", ""), need_str(doc, "toolName", "")
        if call_id in self.tools and self.tools[call_id] in self.this_step():
            raise Malformed(f"tool {call_id!r} has begun before")
        tool: dict[str, Json] = {"type": f"tool-{name}"}
        if doc.get("dynamic"):
            tool = {"type": "dynamic-tool", "toolName": name}
        tool |= {"toolCallId": call_id, "state": UNFINISHED}
        if doc.get("inputEncoding") is not None:
            tool["inputEncoding"] = doc["inputEncoding"]
        part = self.tools[call_id] = self.add_part(tool, whole=True)
        part.quiet = doc.get("providerExecuted") is True
        self.note_tool(part, doc, "callProviderMetadata")
        block = message.read_part(self.dialect, tool, tool["type"], f"/parts/{part.index}")
        part.signature = signature_of(block)
        return () if part.quiet else (Open(part.index, hollow(block)),)

    def this_step(self) -> list[UIPart]:
        """The parts since the last step began."""
        kinds = [part.doc["type"] for part in reversed(self.parts)]
        count = kinds.index("step-start") if "step-start" in kinds else len(kinds)
        return self.parts[len(kinds) - count :]

    def tool_of(self, doc: dict[str, Json]) -> UIPart:
        name = need_str(doc, "toolCallId", "")
        if name not in self.tools:
            raise Malformed(f"tool {name!r} has not begun")
        return self.tools[name]

    def note_tool(self, part: UIPart, doc: dict[str, Json], metadata: str) -> None:
        """What a chunk says of a tool besides: of its call, or of its reply."""
        for key, name in (*((k, k) for k in TOOL_FIELDS), ("providerMetadata", metadata)):
            if doc.get(key) is not None:
                self.supersede(part.doc.get(name), doc[key], f"/parts/{part.index}/{name}")
                part.doc[name] = doc[key]
        if part.doc.get("providerExecuted") is True and not part.quiet:
            why = "the stream marked the tool call as run by the provider after it had begun"
            self.notes.append(("hosted", f"/parts/{part.index}", why))

    def add_input(self, doc: dict[str, Json]) -> Sequence[Event]:
        part, text = self.tool_of(doc), need_str(doc, "inputTextDelta", "")
        if not part.open:
            raise Malformed(f"the input of tool {doc['toolCallId']!r} is complete")
        part.received.add(text)
        return () if part.quiet else (Delta(part.index, text),)

    def close_tool(self, doc: dict[str, Json]) -> Sequence[Event]:
        events: list[Event] = []
        known = self.tools.get(need_str(doc, "toolCallId", ""))
        if known is None or (not known.open and known not in self.this_step()):
            events += self.open_tool(doc)
        part = self.tool_of(doc)
        if not part.open:
            return events
        part.doc.pop("inputEncoding", None)
        part.doc["state"] = "input-available"
        if "input" in doc:
            part.doc["input"] = doc["input"]
        if doc["type"] == "tool-input-error":
            part.doc |= {"state": "output-error", "errorText": doc.get("errorText")}
        self.note_tool(part, doc, "callProviderMetadata")
        part.open = False
        if part.quiet:
            return events
        at = f"/parts/{part.index}"
        if (
            signature_of(message.read_part(self.dialect, part.doc, part.doc["type"], at))
            != part.signature
        ):
            why = "the signature of a tool call arrived after its beginning"
            self.notes.append(("reasoning.signature", at, why))
        given = doc.get("input")
        if not part.received.parts and given not in (None, {}):
            text = given if isinstance(given, str) else encode(given).decode()
            events.append(Delta(part.index, text))
        elif part.received.parts and "input" in doc and not is_input(str(part.received), given):
            why = "the final input differs from the streamed input"
            self.notes.append(("stream.text", at, why))
        return [*events, Close(part.index)]

    def asked(self, doc: dict[str, Json]) -> Sequence[Event]:
        part = self.tool_of(doc)
        value = {name: doc[key] for key, name in APPROVAL.items() if doc.get(key) is not None}
        part.doc |= {"state": "approval-requested", "approval": value}
        return ()

    def allowed(self, doc: dict[str, Json]) -> Sequence[Event]:
        name = need_str(doc, "approvalId", "")
        for part in self.tools.values():
            asked = part.doc.get("approval")
            if isinstance(asked, dict) and asked.get("id") == name:
                value = {k: doc[k] for k in ("approved", "reason") if doc.get(k) is not None}
                part.doc |= {"state": "approval-responded", "approval": asked | value}
                self.note_tool(part, doc, "callProviderMetadata")
                return ()
        raise Malformed(f"approval {name!r} was not requested before")

    def replied(self, doc: dict[str, Json]) -> Sequence[Event]:
        """A tool that the application ran: its reply stays with the part."""
        part = self.tool_of(doc)
        part.doc["state"] = need_str(doc, "type", "").removeprefix("tool-")
        if part.doc["state"] != "output-denied":
            for key in OUTCOME:  # the last word counts
                part.doc.pop(key, None)
        part.doc |= {key: doc[key] for key in OUTCOME if key in doc}
        self.note_tool(part, doc, "resultProviderMetadata")
        return ()

    # -- what comes whole, and the end ------------------------------------------------------

    def data(self, doc: dict[str, Json]) -> Sequence[Event]:
        """Data of the application; with the id of others, they take their place."""
        if doc.get("transient"):
            return ()
        for part in self.parts if doc.get("id") is not None else ():
            if (part.doc["type"], part.doc.get("id")) == (doc["type"], doc["id"]):
                self.supersede(doc, part.doc, f"/parts/{part.index}")
                part.doc["data"] = doc.get("data")
                return ()
        events = self.whole_part(doc)
        if self.head is not None:
            return events
        self.early += events
        return ()

    def whole_part(self, doc: dict[str, Json]) -> Sequence[Event]:
        kind = need_str(doc, "type", "")
        text = self.text_before() if kind == "source-url" else None
        part = self.add_part(doc)
        part.open = False
        if text is not None:
            return self.cite(part, text)
        block = message.read_part(self.dialect, doc, kind, f"/parts/{part.index}")
        return (Open(part.index, block), Close(part.index))

    def text_before(self) -> UIPart | None:
        """The text that a source belongs to: the part before it, other sources aside."""
        for part in reversed(self.parts):
            if part.doc["type"] != "source-url":
                return part if part.doc["type"] == "text" else None
        return None

    def cite(self, part: UIPart, text: UIPart) -> Sequence[Event]:
        cite = message.read_source(self.dialect, part.doc, f"/parts/{part.index}")
        if cite is None:
            return ()
        if not text.open:
            self.notes.append(
                ("stream.order", cite.at, "the source arrived after the end of its text")
            )
        return (Cite(text.index, cite),)

    def take_back(self, doc: dict[str, Json]) -> Sequence[Event]:
        """The step begins anew, and what it said is gone. Elsewhere it cannot be unsaid."""
        gone = self.this_step()
        if gone and not self.same:
            raise Malformed("the stream takes back what has been passed on")
        del self.parts[len(self.parts) - len(gone) :]
        self.texts = {k: part for k, part in self.texts.items() if part not in gone}
        self.tools = {k: part for k, part in self.tools.items() if part not in gone}
        return ()

    def finish(self, doc: dict[str, Json]) -> Sequence[Event]:
        self.amend(doc)
        assert self.head is not None
        if any(part.open for part in self.texts.values()):
            raise Malformed("the message ended, and a text had not")
        events: list[Event] = []
        for part in self.tools.values():
            if part.open:
                part.open = False
                if part.received.parts:
                    part.doc["rawInput"] = str(part.received)  # the model got no further
                events += () if part.quiet else (Close(part.index),)
        meta = self.head.get("metadata")
        if meta is None or (isinstance(meta, dict) and "finishReason" not in meta):
            waits = any(
                part.doc["state"] in ("input-available", "approval-requested") and not part.quiet
                for part in self.tools.values()
            )
            word = doc.get("finishReason") or ("tool-calls" if waits else "stop")
            self.head["metadata"] = {**(meta or {}), "finishReason": word}
        self.done = True
        return [*events, End(self.silent())]

    def aborted(self, doc: dict[str, Json]) -> Sequence[Event]:
        reason = maybe_str(doc, "reason", "")
        return self.fail(Failure("other", f"aborted: {reason}" if reason else "aborted"))

    def broken(self, doc: dict[str, Json]) -> Sequence[Event]:
        return self.fail(message.read_error(self.dialect, doc))

    def document(self) -> Json | None:
        if self.head is None:
            return None
        return {**self.head, "parts": [self.part_so_far(part) for part in self.parts]}

    def part_so_far(self, part: UIPart) -> Json:
        if part.open and "text" in part.doc:
            return {**part.doc, "text": str(part.received)}
        return part.doc


def is_input(text: str, given: Json) -> bool:
    """Whether the text of an input, as it came bit by bit, is the input that is given at last."""
    if text == given:
        return True
    try:
        return bool(decode(text) == given)
    except UNREADABLE:
        return not text.strip() and given == {}


def merged(before: Json, more: Json) -> Json:
    """Metadata that come in several chunks: objects grow, anything else is replaced."""
    if not isinstance(before, dict) or not isinstance(more, dict):
        return more
    return before | {k: merged(before[k], v) if k in before else v for k, v in more.items()}
