"""Writing the events of a run.

Blocks come one after the other: older clients refuse a message inside of another. Each text and
each block of reasoning is a message; calls belong to the message before them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.reading import encode
from ...ledger import Ledger
from ...model import Citation, Json, Raw, Reasoning, Text, ToolCall
from ...streams.events import Begin, Delta, Open
from ...streams.orders import FunctionsOnly, OneByOne
from ...streams.splicing import MARKED, Splice, around
from . import messages, response
from .messages import ENCRYPTED, NOBODY, WHOLE, made_id
from .response import KEY, PENDING

if TYPE_CHECKING:
    from . import AgUI

FIRST = ("threadId", "runId", "parentRunId", "protocolVersion", "input")
"""What the first event tells of a run; the last one tells the rest."""
OWN = frozenset({"type", "messageId", "toolCallId", "timestamp", "rawEvent"})


def event(kind: str, doc: Mapping[str, Json]) -> bytes:
    return b"data: " + encode({"type": kind, **doc}) + b"\n\n"


def beside(doc: dict[str, Json]) -> dict[str, Json]:
    """Fields of a message that the event which begins it has as well."""
    return {key: value for key, value in doc.items() if key not in OWN}


class AgWriter(FunctionsOnly, OneByOne):
    dialect: AgUI

    def __init__(self, dialect: AgUI, log: Ledger, same: bool) -> None:
        super().__init__(dialect, same, log)
        if not same:
            self.wrap_freeform()
        self.w = messages.writing(dialect, self.aside, dialect.name if same else None)
        self.run: dict[str, Json] = {}
        self.calls: dict[str, None] = {}  # their ids, in the order in which they were written
        self.count = 0  # messages so far
        self.parent: str | None = None  # the message that calls belong to
        self.about: dict[str, Json] = {}  # what tells which message or call it is
        self.encrypted: Json = None
        self.head: dict[str, Json] = {}  # a message of the assistant whose calls come next
        self.started = False  # whether anything was written of the block
        self.blanks: str | None = ""  # what may turn out to be no arguments at all

    def begin(self, event_: Begin) -> bytes:
        doc = self.at_rest(replace(event_.response, failure=None, usage=None))
        self.run = {key: doc[key] for key in FIRST if key in doc}
        return event("RUN_STARTED", self.run)

    def message_id(self) -> str:
        self.count += 1
        return made_id(self.count - 1)

    def enter(self, event_: Open) -> bytes:
        block = event_.block
        self.started, self.blanks, self.encrypted = False, "", None
        if isinstance(block, ToolCall):
            return self.begin_call(block)
        if isinstance(block, Text):
            self.parent = None
            return self.begin_text(block)
        if isinstance(block, Reasoning):
            return self.begin_reasoning() if self.same else b""
        if isinstance(block, Raw) and self.dialect.is_same(block.dialect):
            return self.write_whole(block)
        self.parent = None  # what was left out stands between the messages
        return b""

    # -- texts ------------------------------------------------------------------------------

    def begin_text(self, block: Text) -> bytes:
        doc = self.dialect.emit({"id": self.message_id()}, block, self.aside)
        self.parent = str(doc.pop("id"))
        self.encrypted = doc.pop(ENCRYPTED, None)
        self.about, self.started = {"messageId": self.parent}, True
        first = {**self.about, "role": "assistant", **beside(doc)}
        return event("TEXT_MESSAGE_START", first)

    # -- calls ------------------------------------------------------------------------------

    def begin_call(self, block: ToolCall) -> bytes:
        if self.parent is None or response.is_apart(self.dialect, block):
            self.parent = self.message_id()
        doc = messages.write_call(
            self.dialect, replace(block, arguments=""), self.w, self.w.call_once(block)
        )
        name = doc.pop("function")["name"]
        doc.pop("type")
        self.about = {"toolCallId": doc.pop("id")}
        self.calls[self.about["toolCallId"]] = None
        self.encrypted, self.started = doc.pop(ENCRYPTED, None), True
        first = {**self.about, "toolCallName": name, "parentMessageId": self.parent}
        out = event("TOOL_CALL_START", {**first, **beside(doc)})
        if ENCRYPTED in self.head:
            out += self.write_encrypted("message", self.parent, self.head.pop(ENCRYPTED))
        return out

    def write_encrypted(self, subtype: str, name: Json, value: Json) -> bytes:
        doc = {"subtype": subtype, "entityId": name, ENCRYPTED: value}
        return event("REASONING_ENCRYPTED_VALUE", doc)

    # -- reasoning --------------------------------------------------------------------------

    def begin_reasoning(self) -> bytes:
        block = self.block
        assert isinstance(block, Reasoning)
        self.parent = None
        doc = messages.write_reasoning(
            self.dialect, replace(block, content=(), summary=()), self.message_id(), self.w
        )
        self.about, self.started = {"messageId": doc.pop("id")}, True
        for key in ("role", "content", ENCRYPTED):
            doc.pop(key, None)
        first = {**self.about, "role": "reasoning", **beside(doc)}
        return event("REASONING_START", self.about) + event("REASONING_MESSAGE_START", first)

    def end_reasoning(self, block: Reasoning) -> bytes:
        out = event("REASONING_MESSAGE_END", self.about)
        signature = self.signed or block.signature
        if signature is not None and signature.issuer == NOBODY:
            out += self.write_encrypted("message", self.about["messageId"], signature.data)
        return out + event("REASONING_END", self.about)

    # -- what comes whole -------------------------------------------------------------------

    def write_whole(self, block: Raw) -> bytes:
        """A message of another, or the fields of one whose calls come next."""
        if block.code != WHOLE:
            made = self.message_id()
            self.head = dict(block.payload)
            self.parent = str(self.head.get("id", made))
            return b""
        self.parent = None
        self.count += 1
        doc = dict(block.payload)
        name, role = doc.pop("id", made_id(self.count - 1)), doc.pop("role")
        about: dict[str, Json] = {"messageId": name}
        if role == "tool":
            about |= {"toolCallId": doc.pop("toolCallId"), "role": role}
            return event("TOOL_CALL_RESULT", {**about, **beside(doc)})
        if role == "activity":
            return event("ACTIVITY_SNAPSHOT", {**about, **beside(doc)})
        text = doc.pop("content")
        out = event("TEXT_MESSAGE_START", {**about, "role": role, **beside(doc)})
        if text:
            out += event("TEXT_MESSAGE_CONTENT", {**about, "delta": text})
        return out + event("TEXT_MESSAGE_END", about)

    # -- what blocks have in common ---------------------------------------------------------

    def more(self, text: str) -> bytes:
        kind = "TOOL_CALL_ARGS"
        if isinstance(self.block, Text):
            kind = "TEXT_MESSAGE_CONTENT"
        elif isinstance(self.block, Reasoning):
            kind = "REASONING_MESSAGE_CONTENT"
        return event(kind, {**self.about, "delta": text})

    def say(self, event_: Delta) -> bytes:
        block, text = self.block, event_.text
        if isinstance(block, Reasoning):
            thought = self.reasoning(event_)
            if not thought:
                return b""
            return (b"" if self.started else self.begin_reasoning()) + self.more(thought)
        if not text or event_.place != "text" or not isinstance(block, Text | ToolCall):
            return b""
        if isinstance(block, ToolCall) and not self.same and self.blanks is not None:
            text = self.blanks + text
            self.blanks = text
            if not text.strip():
                return b""
            self.blanks = None
        return self.more(text)

    def splicing(self, event_: Delta) -> Splice | None:
        if event_.index != self.current or event_.index in self.wrapped or not self.started:
            return None
        if isinstance(self.block, Reasoning):
            goes_on = self.part == (event_.part, event_.place)
            return around(self.more(MARKED)) if goes_on else None
        if event_.place != "text" or not isinstance(self.block, Text | ToolCall):
            return None
        if isinstance(self.block, ToolCall) and not self.same and self.blanks is not None:
            return None
        return around(self.more(MARKED))

    def quote(self, citation: Citation) -> bytes:
        return b""

    def leave(self) -> bytes:
        block = self.block
        if isinstance(block, Reasoning):
            return self.end_reasoning(block) if self.started else b""
        if isinstance(block, Text):
            out = event("TEXT_MESSAGE_END", self.about)
            return (
                out
                if self.encrypted is None
                else out + self.write_encrypted("message", self.about["messageId"], self.encrypted)
            )
        if not isinstance(block, ToolCall):
            return b""
        empty = not self.same and self.blanks is not None
        out = (self.more("{}") if empty else b"") + event("TOOL_CALL_END", self.about)
        return (
            out
            if self.encrypted is None
            else out + self.write_encrypted("tool-call", self.about["toolCallId"], self.encrypted)
        )

    def end(self, doc: Json) -> bytes:
        rest = {key: value for key, value in doc.items() if key not in (*FIRST, KEY)}
        run = {key: doc[key] for key in ("threadId", "runId") if key in doc}
        outcome = rest.get("outcome")
        if not self.same and outcome and PENDING in outcome:
            rest["outcome"] = {**outcome, PENDING: list(self.calls)}
        return event("RUN_FINISHED", {**run, **rest})

    def fail(self, doc: Json) -> bytes:
        return event("RUN_ERROR", beside(doc))
