"""Readers and writers that go on where they were, in a session.

Each pass over a conversation (reading, pairing, lowering, writing) begins with its first message.
In a session most messages are those of the last turn, the very same objects, and a pass that could
be interrupted there need not look at them again. It can be at a *calm place*: before a turn of the
model that follows words of the user or results of tools. There nothing waits for what comes next,
so all that a pass knows is what it made so far and some names.

- A pass asks where it may begin, and with what (``begin``): at a calm place that it noted in an
  earlier turn, if all before it is the same.
- On its way it notes one calm place of this turn (``note``), with a copy of what it has, and the
  losses since it began. These are in the ledger again when it begins there. It is the end, if the
  client only ever adds to its conversation: the model's turn comes next. Clients that mark the
  newest message for the cache change it in the next turn; then it is the last place before that.

Where something is not calm after all (a call without an id waits for its result, a cache mark may
still have to go), it notes nothing, and begins with the first message the next time.

``Dialect.reads`` and ``Dialect.writes`` hold what was noted. A session has copies of its two
dialects for that; without a session they hold nothing, and passes begin at the beginning.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from operator import is_
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..ledger import Ledger, Loss
from ..model import Json, Message, Tool

if TYPE_CHECKING:
    from ..dialect import Dialect
    from .writing import Names, Writing

D = TypeVar("D", bound="Dialect")
W = TypeVar("W", bound="Writing")

PLACES = 3
"""How many calm places are kept: a client may still change its last messages, such as marks."""
LEAD = 4
"""So many messages may stand beside the list, such as the system prompt: read anew each time."""
MODEL = ("assistant", "model")
OTHERS = ("user", "tool")
CALLS = ("function_call", "custom_tool_call", "reasoning")
OUTPUTS = ("function_call_output", "custom_tool_call_output")


def is_turn(doc: Json) -> bool:
    """Whether an element of a history is the model's."""
    if doc.__class__ is not dict:
        return False
    role = doc.get("role")
    return role in MODEL if role.__class__ is str else doc.get("type") in CALLS


def is_other(doc: Json) -> bool:
    """Whether an element of a history is of the user, or the result of a tool."""
    if doc.__class__ is not dict:
        return False
    role = doc.get("role")
    return role in OTHERS if role.__class__ is str else doc.get("type") in OUTPUTS


def calm(items: Sequence[Any], turn: Callable[[Any], bool], other: Callable[[Any], bool]) -> int:
    """The last calm place; -1 if there is none."""
    for index in range(len(items) - 1, 0, -1):
        if turn(items[index]) and other(items[index - 1]):
            return index
    return -1


class Reads:
    """What a reader has read, up to some calm places."""

    __slots__ = ("grows", "history", "listed", "messages", "notes", "stop", "tools")

    def __init__(self) -> None:
        self.grows = True  # all that there was in the last turn is the same in this one
        self.stop = -1  # where to make a note
        self.listed: Json = None  # the tools as they stood there, and as they were read
        self.tools: tuple[Tool, ...] = ()
        self.history: list[Json] | None = None  # the list that is to be read
        self.messages: list[Message] = []  # all that was read in the last turn
        self.notes: list[tuple[int, int, Any]] = []  # place, how many messages, the reader's state

    def expect(self, history: list[Json] | None, known: int, grows: bool) -> None:
        """The list that is read next; so many of its elements are those of the last one."""
        self.history, self.grows = history, grows
        self.notes = [note for note in self.notes if note[0] <= known]

    def begin(self, docs: list[Json]) -> tuple[list[Message], int, int, Any]:
        """What was read, up to which element; what is the next calm place; the reader's state.

        The list is what goes on: what a reader adds to it is there in the next turn, up to a note.
        """
        if docs is not self.history:
            return [], 0, -1, None
        end = len(docs)
        stop = end if self.grows and is_other(docs[-1]) else calm(docs, is_turn, is_other)
        self.stop = stop
        for number in range(len(self.notes) - 1, -1, -1):
            place, count, state = self.notes[number]
            if place < end and is_turn(docs[place]):
                del self.notes[number + 1 :]  # of which the messages go now
                del self.messages[count:]
                return self.messages, place, stop if stop > place else -1, state
        self.forget()
        return self.messages, 0, stop, None

    def note(self, place: int, messages: list[Message], state: Any = None) -> None:
        """What was read up to a place; a reader may go on with the very list."""
        self.messages = messages
        self.notes = [*self.notes[1 - PLACES :], (place, len(messages), state)]

    def end(self, docs: list[Json], messages: list[Message], state: Any = None) -> None:
        """All has been read; the next turn may begin here."""
        if docs is self.history and self.stop == len(docs):
            self.note(self.stop, messages, state)

    def forget(self) -> None:
        self.notes, self.messages = [], []


NOTHING_READ = Reads()


def read_once(
    read: Callable[[D, Json, str], tuple[Tool, ...]],
) -> Callable[[D, Json, str], tuple[Tool, ...]]:
    """A reader of tools; in a session, the same tools are read once."""

    def read_again(d: D, docs: Json, at: str) -> tuple[Tool, ...]:
        reads = d.reads
        if reads is NOTHING_READ or not docs:
            return read(d, docs, at)
        if docs is not reads.listed:
            found = read(d, docs, at)
            reads.listed, reads.tools = docs, found
        return reads.tools

    return read_again


class Note(NamedTuple):
    """What a pass had at a calm place."""

    seen: tuple[Message, ...]
    first: Any
    state: Any
    losses: list[Loss]
    names: dict[str, tuple[str | None, str]]


class Seeing:
    """Whether messages begin with those that were seen; several passes ask the same."""

    __slots__ = ("asked", "grows", "place", "replies", "scratch", "seen")

    def __init__(self) -> None:
        self.scratch = Ledger()  # for what is only tried
        self.grows = True  # all that there was in the last turn is the same in this one
        self.ask(())

    def ask(self, messages: Sequence[Message]) -> None:
        """Of which messages is spoken from now on."""
        self.asked = messages
        self.place: int | None = None  # the one to note
        self.seen: tuple[Message, ...] | None = None  # the messages up to there
        self.replies: list[tuple[tuple[Message, ...], bool]] = []

    def begins(self, messages: Sequence[Message], seen: tuple[Message, ...]) -> bool:
        if messages is not self.asked:
            self.ask(messages)
        for known, reply in self.replies:
            if known is seen:
                return reply
        reply = begins(messages, seen)
        self.replies.append((seen, reply))
        return reply

    def stop(self, messages: Sequence[Message]) -> int:
        """The place to note: the end, or the last calm place before it."""
        if messages is not self.asked:
            self.ask(messages)
        place = self.place
        if place is None:
            end = self.grows and messages and messages[-1].role in OTHERS
            place = self.place = len(messages) if end else calm_place(messages)
        return place

    def cut(self, messages: Sequence[Message], place: int) -> tuple[Message, ...]:
        """The messages up to a place, the same object for all who note that place."""
        if messages is not self.asked:
            self.ask(messages)
        seen = self.seen
        if seen is None or len(seen) != place:
            # The very same, if it is all of a tuple.
            seen = self.seen = tuple(messages[:place])
        return seen


class Pass:
    """One pass over the messages, and what it noted."""

    __slots__ = ("begun", "first", "notes", "seeing")

    def __init__(self, seeing: Seeing) -> None:
        self.seeing = seeing
        self.notes: list[Note] = []
        self.first: Any = None  # what else the pass depends on
        self.begun = 0  # how many losses there were

    def found(self, messages: Sequence[Message], first: Any) -> Note | None:
        """Where the pass may begin."""
        note: Note
        for note in reversed(self.notes):
            if note.first == first and self.seeing.begins(messages, note.seen):
                return note
        return None

    def begin(self, note: Note | None, first: Any, log: Ledger) -> None:
        """The pass begins at a note; the losses before that are in the ledger then."""
        self.first, self.begun = first, len(log.losses)
        if note is not None:
            log.losses += note.losses
            log.tool_names |= note.names

    def known(self, messages: Sequence[Message]) -> int:
        """How many messages were noted, whatever else the pass depends on."""
        for note in reversed(self.notes):
            if self.seeing.begins(messages, note.seen):
                return len(note.seen)
        return 0

    def note(self, place: int, messages: Sequence[Message], state: Any, log: Ledger) -> None:
        losses, names = log.losses[self.begun :], dict(log.tool_names)
        seen = self.seeing.cut(messages, place)
        note = Note(seen, self.first, state, losses, names)
        self.notes = [*self.notes[1 - PLACES :], note]


class Scan:
    """A pass that only looks at messages: it has nothing in hand, and notes how far it came."""

    __slots__ = ("notes", "seeing")

    def __init__(self, seeing: Seeing) -> None:
        self.seeing = seeing
        self.notes: list[tuple[Message, ...]] = []

    def begin(self, messages: Sequence[Message]) -> tuple[int, int]:
        """Where to begin, and where to make a note."""
        stop = self.seeing.stop(messages)
        for seen in reversed(self.notes):
            if self.seeing.begins(messages, seen):
                return len(seen), stop if stop > len(seen) else -1
        return 0, stop

    def note(self, place: int, messages: Sequence[Message]) -> None:
        self.notes = [*self.notes[1 - PLACES :], self.seeing.cut(messages, place)]


def begins(messages: Sequence[Message], seen: tuple[Message, ...]) -> bool:
    """Whether messages begin with those that were seen, and go on with a turn of the model."""
    place = len(seen)
    if place >= len(messages) or messages[place].role != "assistant":
        return False
    if all(map(is_, seen, messages)):
        return True
    lead = 0
    while lead < place and seen[lead] is not messages[lead]:
        lead += 1
        if lead > LEAD:
            return False
    if lead and seen[:lead] != tuple(messages[:lead]):
        return False
    return all(map(is_, seen[lead:], messages[lead:]))


def calm_place(messages: Sequence[Message]) -> int:
    """The last calm place among messages; -1 if there is none."""
    for index in range(len(messages) - 1, 0, -1):
        if messages[index].role == "assistant" and messages[index - 1].role in OTHERS:
            return index
    return -1


class Writes:
    """What the passes on the way to a target have done, up to some calm places."""

    __slots__ = (
        "fit", "fitting", "lowered", "named", "paired", "seeing", "signed", "tools", "written",
    )  # fmt: skip

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self.seeing = seeing = Seeing()
        self.paired, self.fitting, self.signed = Scan(seeing), Scan(seeing), Scan(seeing)
        self.lowered, self.written = Pass(seeing), Pass(seeing)
        self.tools: Listed | None = None
        self.fit: tuple[Tool, ...] | None = None  # the tools in which there is nothing to lower
        # Tools, the names of those that are not hosted, and the names of the freeform ones.
        self.named: tuple[Sequence[Tool], set[str], set[str]] | None = None


class Listed(NamedTuple):
    """The tools that were written, and what the writer knew before and after."""

    tools: tuple[Tool, ...]
    first: Any
    out: list[Json]
    kept: Names
    losses: list[Loss]
    names: dict[str, tuple[str | None, str]]


def write_once(
    write: Callable[[D, tuple[Tool, ...], W], list[Json]],
) -> Callable[[D, tuple[Tool, ...], W], list[Json]]:
    """A writer of tools; in a session, the same tools are written once."""

    def write_again(d: D, tools: tuple[Tool, ...], w: W) -> list[Json]:
        writes, log = d.writes, w.log
        if writes is None or w.same or w.reply:
            return write(d, tools, w)
        # Of what a writer knows, tools depend on names and change names, and nothing else.
        first, noted = (values(w.names), w.custom, w.model), writes.tools
        if noted is not None and noted.tools is tools and noted.first == first:
            w.names = copied(noted.kept)
            log.losses += noted.losses
            log.tool_names |= noted.names
            return noted.out
        begun = len(log.losses)
        out = write(d, tools, w)
        if not w.marks:  # which may have to go again
            losses, names = log.losses[begun:], dict(log.tool_names)
            writes.tools = Listed(tools, first, out, copied(w.names), losses, names)
        return out

    return write_again


class Going:
    """The pass of a writer: where it begins, and where it makes a note."""

    __slots__ = ("messages", "note_at", "passed")

    def __init__(
        self,
        writes: Writes | None,
        messages: Sequence[Message],
        w: Writing,
        arrange: Callable[[Sequence[Message], Ledger], Sequence[Message]],
    ) -> None:
        # A list may be another one the next time somebody looks: only tuples are remembered.
        apt = messages.__class__ is tuple and not (w.same or w.reply)
        self.passed = None if writes is None or not apt else writes.written
        self.messages = messages
        self.note_at = -1
        if w.same:
            return
        if self.passed is None:
            if messages is not w.log.usual:
                self.messages = arrange(messages, w.log)
            return
        known = self.passed.known(messages)
        rest = messages[known:]
        if not known or arrange(rest, self.passed.seeing.scratch) is not rest:
            self.passed.seeing.scratch.losses.clear()
            self.messages = arrange(messages, w.log)
        if self.messages is messages:
            self.note_at = self.passed.seeing.stop(messages)

    def take(self, w: Writing, skipped: int, *fresh: Any) -> tuple[int, Any]:
        """With which message the loop begins, and with what; ``skipped`` are written elsewhere."""
        self.note_at -= skipped
        if self.passed is None or self.note_at < 0:
            self.note_at = -1
            return 0, fresh
        first = facts_of(w)
        note = self.passed.found(self.messages, first)
        self.passed.begin(note, first, w.log)
        if note is None or len(note.seen) < skipped:
            return 0, fresh
        start = len(note.seen) - skipped
        state, kept = note.state
        restore(w, kept)
        if start >= self.note_at:
            self.note_at = -1
        return start, tuple(map(apart, state))

    def end(self, w: Writing, skipped: int, *state: Any) -> None:
        """All messages are written; the next turn may begin here."""
        if self.note_at + skipped == len(self.messages) and self.note_at > 0:
            self.note(w, skipped, *state)

    def note(self, w: Writing, skipped: int, *state: Any) -> None:
        """What the writer has now, if nothing waits."""
        assert self.passed is not None
        if w.marks or w.waiting is not None:
            return
        kept = tuple(map(apart, state)), saved(w)
        self.passed.note(self.note_at + skipped, self.messages, kept, w.log)


def apart(part: Any) -> Any:
    """A piece of state of its own; the last item of a list may still be added to."""
    if part.__class__ is dict:
        return dict(part)
    if part.__class__ is not list:
        return part
    if not part or part[-1].__class__ is not dict:
        return part[:]
    last = {key: value[:] if value.__class__ is list else value for key, value in part[-1].items()}
    return [*part[:-1], last]


def facts_of(w: Writing) -> Any:
    """What a writer knows before the first message, as values."""
    known = values(w.ids), values(w.names), set(w.called)
    return known, w.unnamed, w.signed, w.custom, w.model


def values(names: Names) -> Any:
    return set(names.staying), dict(names.given), set(names.made)


def saved(w: Writing) -> Any:
    names = copied(w.ids), copied(w.names), w.unnamed
    counts = tuple(dict(getattr(w, name)) for name in w.counters)
    return names, (dict(w.called), w.results, queues(w.again), dict(w.times)), counts


def restore(w: Writing, kept: Any) -> None:
    (ids, names, w.unnamed), (called, w.results, again, times), counts = kept
    w.ids, w.names = copied(ids), copied(names)
    w.called, w.again, w.times = dict(called), queues(again), dict(times)
    for name, value in zip(w.counters, counts, strict=True):
        setattr(w, name, dict(value))


def queues(waiting: dict[str, deque[str]]) -> dict[str, deque[str]]:
    return {name: deque(ids) for name, ids in waiting.items()}


def copied(names: Names) -> Names:
    return type(names)(
        names.rule, names.what, set(names.staying), dict(names.given), set(names.made)
    )
