"""Reading the events of a run.

What they amount to are the messages that the client of the protocol has in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from msgspec import Struct

from ...core.reading import UNREADABLE, need_str
from ...errors import Malformed
from ...model import Block, Candidate, Json, Message, Response, Signature
from ...streams.base import StreamReader
from ...streams.events import Close, Delta, End, Event, Odd, Open, Signed, hollow
from ...streams.framing import Frame
from ...streams.received import Keys, Received
from . import messages, response
from .messages import ENCRYPTED, NOBODY, made_id
from .response import KEY

if TYPE_CHECKING:
    from . import AgUI

ROOM = 1 << 20
"""How many blocks a message may have before their numbers reach those of the next."""
BASE = ("type", "timestamp")
TEXT = Keys(*BASE, "messageId")
MORE = Keys(*BASE, "messageId", "delta")
BARE = Keys(*BASE)
# What else the first event of a message or a call says is a field of it.
KEYS = {
    "TEXT_MESSAGE_CONTENT": MORE,
    "TEXT_MESSAGE_END": TEXT,
    "TOOL_CALL_ARGS": Keys(*BASE, "toolCallId", "delta"),
    "TOOL_CALL_END": Keys(*BASE, "toolCallId"),
    "REASONING_START": TEXT,
    "REASONING_END": TEXT,
    "REASONING_MESSAGE_CONTENT": MORE,
    "REASONING_MESSAGE_END": TEXT,
    "REASONING_ENCRYPTED_VALUE": Keys(*BASE, "subtype", "entityId", "encryptedValue"),
    "THINKING_START": BARE,
    "THINKING_END": BARE,
    "THINKING_TEXT_MESSAGE_CONTENT": Keys(*BASE, "delta"),
    "THINKING_TEXT_MESSAGE_END": BARE,
    # What is not said by the model, and that no message holds.
    "STEP_STARTED": BARE,
    "STEP_FINISHED": BARE,
    "STATE_SNAPSHOT": BARE,
    "STATE_DELTA": BARE,
    "MESSAGES_SNAPSHOT": BARE,
    "ACTIVITY_DELTA": BARE,
    "RAW": BARE,
    "CUSTOM": BARE,
    "META": BARE,
    "META_EVENT": BARE,
    "SUBAGENT_STARTED": BARE,
    "SUBAGENT_FINISHED": BARE,
    "SUBAGENT_ERROR": BARE,
}
REASONING = "thought"
"""What reasoning without an id is known by; there is one at a time."""


class AgUsual(Struct, forbid_unknown_fields=True):
    """Nearly every event there is. Anything more in it, and it is read with care."""

    type: str
    delta: str = ""
    messageId: str = ""
    toolCallId: str = ""
    timestamp: int | None = None


decode_usual = msgspec.json.Decoder(AgUsual).decode
USUAL = {"TEXT_MESSAGE_CONTENT": "text", "REASONING_MESSAGE_CONTENT": "reasoning"}


class AgPart:
    """A text, a call or reasoning while it arrives."""

    def __init__(self, doc: dict[str, Json], key: str, index: int, whole: bool) -> None:
        self.doc = doc
        self.key = key
        self.index = index
        self.received = Received(whole)
        self.open = True
        self.quiet = False  # it is the message of another, which is kept as a whole

    def fill(self) -> None:
        self.doc[self.key] = str(self.received)


class AgReader(StreamReader):
    dialect: AgUI
    keys: ClassVar[dict[str, Keys]] = KEYS
    varying: ClassVar[Mapping[str, Any]] = {"timestamp": int}

    def __init__(self, dialect: AgUI, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.head: dict[str, Json] | None = None
        self.messages: list[dict[str, Json]] = []
        self.parts: dict[tuple[str, str], AgPart] = {}
        self.places: dict[str, int] = {}  # the messages of the assistant, by their ids
        self.entities: dict[
            tuple[bool, str], dict[str, Json]
        ] = {}  # what may have encrypted values, by ids
        self.activities: dict[str, dict[str, Json]] = {}
        self.chunk: tuple[str, str] | None = None  # what came in chunks last, and is open
        self.ways: dict[str, Callable[[dict[str, Json]], Sequence[Event]]] = {
            "RUN_STARTED": self.start,
            "RUN_FINISHED": self.finish,
            "RUN_ERROR": self.broken,
            "TEXT_MESSAGE_START": self.open_text,
            "TEXT_MESSAGE_CONTENT": self.add_text,
            "TEXT_MESSAGE_END": self.close_text,
            "TEXT_MESSAGE_CHUNK": self.chunk_text,
            "TOOL_CALL_START": self.open_call,
            "TOOL_CALL_ARGS": self.add_call,
            "TOOL_CALL_END": self.close_call,
            "TOOL_CALL_CHUNK": self.chunk_call,
            "TOOL_CALL_RESULT": self.result,
            "REASONING_MESSAGE_START": self.open_reasoning,
            "REASONING_MESSAGE_CONTENT": self.add_reasoning,
            "REASONING_MESSAGE_END": self.close_reasoning,
            "REASONING_MESSAGE_CHUNK": self.chunk_reasoning,
            "REASONING_ENCRYPTED_VALUE": self.read_encrypted,
            "THINKING_TEXT_MESSAGE_START": self.open_reasoning,
            "THINKING_TEXT_MESSAGE_CONTENT": self.add_reasoning,
            "THINKING_TEXT_MESSAGE_END": self.close_reasoning,
            "ACTIVITY_SNAPSHOT": self.activity,
        }

    def read(self, frame: Frame) -> Sequence[Event]:
        try:
            usual = decode_usual(frame[1])
        except UNREADABLE:
            return self.read_with_care(frame)
        if self.chunk is not None:
            return self.read_with_care(frame)
        if usual.type == "TOOL_CALL_ARGS":
            part = self.parts.get(("call", usual.toolCallId))
        else:
            part = self.parts.get((USUAL.get(usual.type, ""), usual.messageId))
        if part is None or not part.open or part.quiet:
            return self.read_with_care(frame)
        part.received.add(usual.delta)
        self.sink = part.received.add
        return (Delta(part.index, usual.delta),)

    def read_with_care(self, frame: Frame) -> Sequence[Event]:
        doc = self.parse(frame)
        kind = need_str(doc, "type", "")
        way = self.ways.get(kind)
        if way is None and kind not in KEYS:
            return (Odd(self.dialect.name, doc),)
        self.look(kind, doc)
        events: list[Event] = []
        if way is None:
            return events
        if self.head is None and kind not in ("RUN_STARTED", "RUN_ERROR"):
            events += self.start({})  # some servers leave it out
        if self.chunk is not None and not kind.endswith("_CHUNK"):
            events += self.end_chunks()
        return [*events, *way(doc)]

    def fields(self, doc: dict[str, Json], *taken: str) -> dict[str, Json]:
        """What an event says of a message or a call, or of the run."""
        if doc.get("rawEvent") is not None:
            self.unknown.setdefault("/rawEvent", (str(doc.get("type")), ""))
        gone = {*BASE, "rawEvent", *taken}
        return {k: v for k, v in doc.items() if k not in gone and v is not None}

    # -- the run ----------------------------------------------------------------------------

    def start(self, doc: dict[str, Json]) -> Sequence[Event]:
        again = self.head is not None
        self.head = {**(self.head or {}), **self.fields(doc, KEY)}
        return () if again else (self.begin(self.silent()),)

    def silent(self) -> Response:
        """The run without its messages."""
        tree = self.at_rest()
        (candidate,) = tree.candidates
        mute = Candidate(Message("assistant"), candidate.stop, at=candidate.at)
        return msgspec.structs.replace(tree, candidates=(mute,))

    def finish(self, doc: dict[str, Json]) -> Sequence[Event]:
        events = self.end_chunks()
        for (kind, name), part in self.parts.items():
            if part.open:
                raise Malformed(f"the run ended, and {kind} {name!r} had not")
        self.head = {**(self.head or {}), **self.fields(doc, KEY)}
        self.done = True
        return [*events, End(self.silent())]

    def broken(self, doc: dict[str, Json]) -> Sequence[Event]:
        return self.fail(response.read_error(self.dialect, doc))

    # -- messages ---------------------------------------------------------------------------

    def add_message(self, doc: dict[str, Json]) -> int:
        self.messages.append(doc)
        self.entities[False, str(doc["id"])] = doc
        return len(self.messages) - 1

    def blocks(self, number: int) -> list[Block]:
        """What a message says so far."""
        after = number > 0 and self.messages[number - 1]["role"] == "assistant"
        doc, at = self.messages[number], f"/{KEY}/{number}"
        return response.read_message(self.dialect, doc, number, after, at)

    def whole_message(self, doc: dict[str, Json]) -> Sequence[Event]:
        """A message that is no part of what the model says."""
        number = self.add_message(doc)
        (block,) = self.blocks(number)
        return (Open(number * ROOM, block), Close(number * ROOM))

    def begin_part(self, kind: str, name: str, part: AgPart) -> None:
        before = self.parts.get((kind, name))
        if before is not None and before.open:
            raise Malformed(f"{kind} {name!r} is open already")
        self.parts[kind, name] = part

    def part_of(self, kind: str, name: str) -> AgPart:
        part = self.parts.get((kind, name))
        if part is None or not part.open:
            raise Malformed(f"{kind} {name!r} is not open")
        return part

    def add(self, kind: str, name: str, doc: dict[str, Json]) -> Sequence[Event]:
        part, text = self.part_of(kind, name), need_str(doc, "delta", "")
        part.received.add(text)
        return () if part.quiet else (Delta(part.index, text),)

    def close_part(self, kind: str, name: str) -> Sequence[Event]:
        part = self.part_of(kind, name)
        part.open = False
        part.fill()
        if not part.quiet:
            return (Close(part.index),)
        (block,) = self.blocks(part.index // ROOM)
        return (Open(part.index, block), Close(part.index))

    # -- texts ------------------------------------------------------------------------------

    def open_text(self, doc: dict[str, Json]) -> Sequence[Event]:
        name, role = need_str(doc, "messageId", ""), doc.get("role") or "assistant"
        more = self.fields(doc, "messageId", "role", "delta")
        known = self.places.get(name) if role == "assistant" else None
        if known is not None and "content" not in self.messages[known]:
            number, message = known, self.messages[known]
            why = "the text of this message arrived after its calls"
            self.notes.append(("stream.order", f"/{KEY}/{number}", why))
            message |= more
        else:
            message = {"id": name, "role": role, **more}
            number = self.add_message(message)
        message["content"] = ""
        part = AgPart(message, "content", number * ROOM, self.whole or role != "assistant")
        self.begin_part("text", name, part)
        block = self.blocks(number)[0]  # which also refuses a role that there is not
        if role != "assistant":
            part.quiet = True
            return ()
        self.places[name] = number
        return (Open(part.index, hollow(block)),)

    def add_text(self, doc: dict[str, Json]) -> Sequence[Event]:
        return self.add("text", need_str(doc, "messageId", ""), doc)

    def close_text(self, doc: dict[str, Json]) -> Sequence[Event]:
        return self.close_part("text", need_str(doc, "messageId", ""))

    # -- calls ------------------------------------------------------------------------------

    def open_call(self, doc: dict[str, Json]) -> Sequence[Event]:
        name, tool = need_str(doc, "toolCallId", ""), need_str(doc, "toolCallName", "")
        function: dict[str, Json] = {"name": tool, "arguments": ""}
        call: dict[str, Json] = {"id": name, "type": "function", "function": function}
        call |= self.fields(doc, "toolCallId", "toolCallName", "parentMessageId", "delta")
        parent = doc.get("parentMessageId")
        number = self.places.get(parent) if parent.__class__ is str else None
        fresh = number is None
        if number is None:
            given = parent if parent.__class__ is str else made_id(len(self.messages))
            number = self.add_message({"id": given, "role": "assistant", "toolCalls": []})
            self.places[given] = number
        calls = self.messages[number].setdefault("toolCalls", [])
        calls.append(call)
        if number + 1 < len(self.messages):
            why = "this call arrived after messages that follow its own"
            self.notes.append(("stream.order", f"/{KEY}/{number}/toolCalls/{len(calls) - 1}", why))
        self.entities[True, name] = call
        index = number * ROOM + len(calls)
        self.begin_part("call", name, AgPart(function, "arguments", index, whole=True))
        if not fresh:
            at = f"/{KEY}/{number}/toolCalls/{len(calls) - 1}"
            return (Open(index, hollow(messages.read_call(self.dialect, call, at))),)
        *head, block = self.blocks(number)
        begun = [Open(index, hollow(block))]
        return [Open(number * ROOM, head[0]), Close(number * ROOM), *begun] if head else begun

    def add_call(self, doc: dict[str, Json]) -> Sequence[Event]:
        return self.add("call", need_str(doc, "toolCallId", ""), doc)

    def close_call(self, doc: dict[str, Json]) -> Sequence[Event]:
        return self.close_part("call", need_str(doc, "toolCallId", ""))

    def result(self, doc: dict[str, Json]) -> Sequence[Event]:
        """A tool that the agent ran."""
        name = need_str(doc, "messageId", "")
        more = self.fields(doc, "messageId", "role")
        return self.whole_message({"id": name, "role": "tool", **more})

    def activity(self, doc: dict[str, Json]) -> Sequence[Event]:
        """What the user is shown; one with the id of another takes its place."""
        name = need_str(doc, "messageId", "")
        more = self.fields(doc, "messageId", "role", "replace")
        known = self.activities.get(name)
        if known is not None:
            if doc.get("replace") is not False:
                self.supersede(known, more, f"/{KEY}")
                known |= more
            return ()
        self.activities[name] = {"id": name, "role": "activity", **more}
        return self.whole_message(self.activities[name])

    # -- reasoning --------------------------------------------------------------------------

    def open_reasoning(self, doc: dict[str, Json]) -> Sequence[Event]:
        old = need_str(doc, "type", "").startswith("THINKING")
        name = REASONING if old else need_str(doc, "messageId", "")
        message: dict[str, Json] = {
            "id": made_id(len(self.messages)) if old else name,
            "role": "reasoning",
            **self.fields(doc, "messageId", "role", "delta"),
            "content": "",
        }
        number = self.add_message(message)
        part = AgPart(message, "content", number * ROOM, self.whole)
        self.begin_part("reasoning", name, part)
        return (Open(part.index, hollow(self.blocks(number)[0])),)

    def reasoning_of(self, doc: dict[str, Json]) -> str:
        old = need_str(doc, "type", "").startswith("THINKING")
        return REASONING if old else need_str(doc, "messageId", "")

    def add_reasoning(self, doc: dict[str, Json]) -> Sequence[Event]:
        return self.add("reasoning", self.reasoning_of(doc), doc)

    def close_reasoning(self, doc: dict[str, Json]) -> Sequence[Event]:
        return self.close_part("reasoning", self.reasoning_of(doc))

    def read_encrypted(self, doc: dict[str, Json]) -> Sequence[Event]:
        """What a provider signed or encrypted of a message or a call."""
        name, value = need_str(doc, "entityId", ""), need_str(doc, ENCRYPTED, "")
        called = doc.get("subtype") == "tool-call"
        entity = self.entities.get((called, name))
        if entity is None:
            self.unknown.setdefault(f"/{ENCRYPTED}", ("REASONING_ENCRYPTED_VALUE", ""))
            return ()
        entity[ENCRYPTED] = value
        return self.signed(name, value) if entity.get("role") == "reasoning" else ()

    def signed(self, name: str, value: str) -> Sequence[Event]:
        part = self.parts.get(("reasoning", name))
        if part is None or not part.open:
            return ()  # it goes to nobody else
        return (Signed(part.index, Signature(value, NOBODY, "encrypted")),)

    # -- chunks -----------------------------------------------------------------------------

    def chunk_text(self, doc: dict[str, Json]) -> Sequence[Event]:
        return self.take_chunk("text", doc, "messageId", self.open_text)

    def chunk_reasoning(self, doc: dict[str, Json]) -> Sequence[Event]:
        return self.take_chunk("reasoning", doc, "messageId", self.open_reasoning)

    def chunk_call(self, doc: dict[str, Json]) -> Sequence[Event]:
        return self.take_chunk("call", doc, "toolCallId", self.open_call)

    def take_chunk(
        self,
        kind: str,
        doc: dict[str, Json],
        key: str,
        begin: Callable[[dict[str, Json]], Sequence[Event]],
    ) -> Sequence[Event]:
        """A chunk begins a part, or goes on with the one before it; it needs no end."""
        events: list[Event] = []
        goes_on = self.chunk is not None and self.chunk[0] == kind
        if not goes_on or doc.get(key) not in (None, self.chunk and self.chunk[1]):
            events += self.end_chunks()
            name = need_str(doc, key, "")
            events += begin(doc)
            self.chunk = (kind, name)
        assert self.chunk is not None
        if doc.get("delta"):
            events += self.add(*self.chunk, doc)
        return events

    def end_chunks(self) -> list[Event]:
        chunk, self.chunk = self.chunk, None
        return [] if chunk is None else list(self.close_part(*chunk))

    def document(self) -> Json | None:
        if self.head is None:
            return None
        for part in self.parts.values():
            if part.open:
                part.fill()
        return {**self.head, KEY: self.messages}
