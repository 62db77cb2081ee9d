"""Events of Google's Agent Development Kit: those of a session, each with a content of Gemini's.

What it does differently from its parent: a conversation is a list of events, alone or in a
session; each names its author, who is the user or an agent; results are events of the agent that
asked for them; there is no system prompt, as the agent has its own; an event says more of itself
(ids, a time, what it changes in the state), and may have no content at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core.endpoint import Endpoint
from ..core.reading import as_dict, maybe_str
from ..dialect import Dialect
from ..ledger import Ledger
from ..lint.evidence import Evidence, Verdict, is_list_of_objects, objects
from ..model import Extras, History, Json, Message, Raw
from . import _stored
from ._sessions import ABSENT
from .gemini import Gemini, parts, turns
from .gemini.parts import NOBODY, Called
from .gemini.schema import Saying
from .gemini.spelling import both

USER, AGENT = "user", "agent"
"""Who speaks: the user, or an agent whose name is not known."""
CONTENT = "content"
EMPTY = both("actions", "nodeInfo")
"""Objects that every event has, mostly of empty ones."""
SIGNS = {
    "invocationId": 0.6, "invocation_id": 0.6, "longRunningToolIds": 0.4, "turnComplete": 0.3,
    "long_running_tool_ids": 0.4, "nodeInfo": 0.4, "node_info": 0.4,
}  # fmt: skip


class GoogleADK(Gemini):
    name = "google-adk"
    spec = "https://google.github.io/adk-docs/events/"
    aliases: ClassVar[tuple[str, ...]] = ("adk",)
    history: ClassVar[str | None] = "events"
    endpoints: ClassVar[tuple[Endpoint, ...]] = ()
    stream_signs = ()
    vendor = ""
    serves: ClassVar[tuple[str, ...]] = ()  # type: ignore[assignment]
    rules: ClassVar[dict[str, str]] = {}
    can = replace(Gemini.can, names=cap.HISTORY, citations=cap.NO_CITATIONS)

    read_request = write_request = ABSENT
    read_response = write_response = ABSENT
    read_error = write_error = ABSENT
    read_tools = write_tools = ABSENT
    read_tool_choice = write_tool_choice = ABSENT
    read_stream = write_stream = ABSENT
    fit_model = Dialect.fit_model
    check = Dialect.check

    def sniff(self, doc: Json) -> Iterator[Verdict]:
        events = doc.get("events") if doc.__class__ is dict else doc
        if not is_list_of_objects(events):
            return
        e = Evidence("messages")
        for event in objects(events):
            if event.get("author").__class__ is not str or "role" in event:
                e.speaks_against("an event without an author", 0.9)
            elif event.get(CONTENT).__class__ is dict and "parts" in event[CONTENT]:
                e.speaks_for("an author, and a content with parts", 0.9)
            for key, weight in SIGNS.items():
                if key in event:
                    e.speaks_for(f"{key!r}", weight)
        if e.signs:
            yield e.verdict()

    # -- reading ----------------------------------------------------------------------------

    def read_messages(self, doc: Json) -> History:
        return _stored.read_list(self, doc, self.read_events)

    def read_events(self, docs: list[Json], at: str) -> list[Message]:
        out: list[Message] = []
        called: Called = {}
        odd, speaker = False, AGENT
        for index, item in enumerate(docs):
            where = f"{at}/{index}"
            event = as_dict(item, where)
            author = maybe_str(event, "author", where)
            content = event.get(CONTENT)
            before = len(out)
            if content.__class__ is dict and content.get("parts"):
                odd = (
                    turns.read_turn(self, content, f"{where}/{CONTENT}", called, NOBODY, out) or odd
                )
            if len(out) == before:  # nothing is said; or media of the results before it
                out[before:] = [Message("user", (Raw(self.name, event, at=where),), at=where)]
                continue
            first = out[before]
            taken = {CONTENT, *(key for key in EMPTY if is_empty(event.get(key)))}
            if first.role == "assistant":
                speaker = author or AGENT
                taken.add("author")
                name = None if speaker == AGENT else speaker
                out[before] = first = replace(first, name=name)
            elif author in (None, speaker if first.role == "tool" else USER):
                taken.add("author")
            out[before] = of_event(first, self.keep(event, taken), where)
        return turns.paired(out) if odd else out

    # -- writing ----------------------------------------------------------------------------

    def write_messages(self, tree: History, log: Ledger) -> Json:
        w = turns.writing(self, log, tree.dialect)
        return _stored.write_list(self, tree, lambda messages: self.write_events(messages, w), log)

    def write_events(self, messages: Sequence[Message], w: Saying) -> list[Json]:
        out: list[Json] = []
        called: Called = {}
        speaker, joins = AGENT, False
        for message in messages:
            first = message.content[0] if len(message.content) == 1 else None
            if isinstance(first, Raw) and self.is_same(first.dialect) and "author" in first.payload:
                out.append(first.payload)
                joins = False
                continue
            if message.role in ("system", "developer"):
                why = f"{self.name} stores no system prompt; the agent has its own"
                for block in message.content or (message,):
                    w.log.dropped("system", block.at, why)
                if message.name is not None:
                    w.log.dropped("message.name", message.at, why)
                self.lose(message.extras, message.at, w.log)
                continue
            if message.role == "assistant":
                speaker = message.name or AGENT
            elif message.name is not None:
                why = f"{self.name} has names of agents only"
                w.log.dropped("message.name", message.at, why)
            written = parts.write_parts(self, message.content, w, called)
            own = message.extras is not None and self.is_same(message.extras.dialect)
            if joins and message.role == "tool" and not own:
                out[-1][CONTENT]["parts"] += written
                self.lose(message.extras, message.at, w.log)
            elif written or w.same:
                author = USER if message.role == "user" else speaker
                out.append(self.write_event(message, author, written, w))
                joins = message.role == "tool"
            else:
                self.lose(message.extras, message.at, w.log)
                self.omit_message(message, w.log)
        return out

    def write_event(self, message: Message, author: str, written: list[Json], w: Saying) -> Json:
        content = {"parts": written, "role": turns.SPEAKERS[message.role]}
        event: dict[str, Json] = {"author": author, CONTENT: content}
        return parts.emit(self, event, message, w.log)


def is_empty(value: Json) -> bool:
    """Whether an object holds nothing but what is empty."""
    return value.__class__ is dict and not any(value.values())


def of_event(message: Message, event: Extras | None, at: str) -> Message:
    """A message with what its event says of itself; its content's own fields stand in there."""
    own = message.extras
    if event is None and own is None:
        return message
    fields, inner = dict(event.fields) if event else {}, event.inner if event else ()
    if own is not None and own.fields:
        fields[CONTENT] = own.fields
        inner = (*inner, CONTENT, *(f"{CONTENT}/{name}" for name in own.inner))
    dialect = event.dialect if event else own.dialect if own else ""
    return replace(message, at=at, extras=Extras(dialect, fields, {}, inner))


DIALECT = GoogleADK()
