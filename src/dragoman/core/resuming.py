"""Readers and writers that go on where they were, in a session.

Each pass over a conversation (reading, pairing, lowering, writing) begins with its first message.
In a session most messages are those of the last turn, the very same objects, and a pass that could
be interrupted there need not look at them again. It can be at a *calm place*: before a turn of the
model that follows words of the user or results of tools. There nothing waits for what comes next,
so all that a pass knows is what it made so far and some names.

- A pass asks where it may begin, and with what (``begin``): at a calm place that it noted in an
  earlier turn, if all before it is the same.
- On its way it notes one calm place of this turn (``note``): how much it has, and the losses since
  it began. These are in the ledger again when it begins there, and what came later is cut off. It
  is the end, if the client only ever adds to its conversation: the model's turn comes next. Clients
  that mark the newest message for the cache change it in the next turn; then it is the last place
  before that.
- What it has goes on with it: lists and names that only grow, of which there is one each. So
  nobody may change what stands in them, and what is put before a conversation makes another list.

Where something is not calm after all (a call without an id waits for its result, a cache mark may
still have to go), it notes nothing, and begins with the first message the next time.

``Dialect.reads`` and ``Dialect.writes`` hold what was noted. A session has copies of its two
dialects for that; without a session they hold nothing, and passes begin at the beginning.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import compress, count
from operator import is_not
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from ..ledger import Ledger, Loss
from ..model import Json, Message, Tool

if TYPE_CHECKING:
    from ..dialect import Dialect
    from .writing import Names, Writing

D = TypeVar("D", bound="Dialect")
T = TypeVar("T")
W = TypeVar("W", bound="Writing")

PLACES = 3
"""How many calm places are kept: a client may still change its last messages, such as marks."""
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

    __slots__ = ("beside", "grows", "history", "messages", "notes", "stop")

    def __init__(self) -> None:
        self.grows = True  # all that there was in the last turn is the same in this one
        self.stop = -1  # where to make a note
        # What stood beside the messages, and as what it was read, by reader and place.
        self.beside: dict[Any, tuple[Json, Any]] = {}
        self.history: list[Json] | None = None  # the list that is to be read
        self.messages: list[Message] = []  # all that was read in the last turn
        self.notes: list[tuple[int, int, Any]] = []  # place, how many messages, the reader's state

    def expect(self, history: list[Json] | None, known: int, grows: bool) -> None:
        """The list that is read next; so many of its elements are those of the last one."""
        self.history, self.grows = history, grows
        if self.notes and self.notes[-1][0] > known:
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


def read_once(read: Callable[[D, Json, str], T]) -> Callable[[D, Json, str], T]:
    """A reader of what stands beside the messages; in a session, the same is read once.

    What was read before is the very same object then, which others go by.
    """

    def read_again(d: D, doc: Json, at: str) -> T:
        reads = d.reads
        if reads is NOTHING_READ or not doc:
            return read(d, doc, at)
        known = reads.beside.get((read, at))
        if known is None or known[0] is not doc:
            known = reads.beside[read, at] = doc, read(d, doc, at)
        found: T = known[1]
        return found

    return read_again


class Mark(Struct, eq=False):
    """A calm place, and what passes noted there, by their names."""

    place: int
    noted: dict[str, Any] = {}


class Seeing:
    """How far messages are those of the last turn; all passes over them ask the same."""

    __slots__ = ("asked", "grows", "marks", "next", "odd", "stop", "sure", "usable")

    def __init__(self) -> None:
        self.grows = True  # all that there was in the last turn is the same in this one
        self.asked: Sequence[Message] = ()  # the messages that are spoken of
        self.sure = 0  # how many of them are those of the last turn
        self.odd: int | None = None  # the message because of which they are not as usual
        self.stop = -1  # the place to note: the end, or the last calm place before it
        self.next = Mark(-1)  # what is noted of it
        self.marks: list[Mark] = []  # of earlier turns, the last one first
        self.usable: list[Mark] = []  # those at which a turn of the model follows

    def ask(self, messages: Sequence[Message]) -> None:
        """Of which messages is spoken from now on."""
        last, marks, end = self.asked, self.marks, len(messages)
        sure = self.sure = agreeing(last, messages)
        self.asked = messages
        made = self.next
        if made.noted:
            if not marks or made.place > marks[0].place:
                marks = [made, *marks[: PLACES - 1]]
            elif made not in marks:
                marks = sorted([made, *marks], key=lambda mark: -mark.place)[:PLACES]
        if marks and marks[0].place > sure:
            marks = [mark for mark in marks if mark.place <= sure]
        self.marks = marks
        if marks and (place := marks[0].place) < end and messages[place].role == "assistant":
            self.usable = marks  # as usual
        else:
            self.usable = [mark for mark in marks if is_calm(messages, mark.place)]
        if self.odd is not None and self.odd >= sure:
            self.odd = None
        ends = self.grows and messages and messages[-1].role in OTHERS
        stop = self.stop = end if ends else calm_place(messages)
        self.next = Mark(stop)
        if marks and stop <= marks[0].place:  # what is noted now is added to what was noted of it
            self.next = next((mark for mark in marks if mark.place == stop), self.next)


class Stages:
    """The messages that were read, and what these became: other ones, if they were lowered."""

    __slots__ = ("read", "written")

    def __init__(self) -> None:
        self.read = Seeing()
        self.written = Seeing()

    def of(self, messages: Sequence[Message]) -> Seeing:
        """How far messages are those of the last turn."""
        seeing = self.read
        if messages is not seeing.asked:
            seeing = self.written
            if messages is not seeing.asked:
                seeing.ask(messages)
        return seeing


class Scan:
    """A pass that only looks at messages: it has nothing in hand, and notes how far it came."""

    __slots__ = ("name", "stages", "state")

    def __init__(self, name: str, stages: Stages) -> None:
        self.name, self.stages = name, stages
        self.state: Any = None  # what was noted where it begins

    def begin(self, messages: Sequence[Message]) -> tuple[int, int]:
        """Where to begin, and where to make a note."""
        seeing, name = self.stages.of(messages), self.name
        stop = seeing.stop
        for mark in seeing.usable:
            if name in mark.noted:
                place, self.state = mark.place, mark.noted[name]
                return place, stop if stop > place else -1
        return 0, stop

    def note(self, messages: Sequence[Message], state: Any = None) -> None:
        """The place has been reached, and nothing waits there."""
        self.stages.of(messages).next.noted[self.name] = state


class Note(Struct, eq=False):
    """What a pass had at a calm place."""

    place: int
    first: Any
    state: Any
    losses: list[Loss]
    names: dict[str, tuple[str | None, str]]


class Pass:
    """One pass over the messages, and what it noted."""

    __slots__ = ("begun", "first", "name", "seeing", "stages")

    def __init__(self, name: str, stages: Stages) -> None:
        self.name, self.stages = name, stages
        self.seeing = stages.read
        self.first: Any = None  # what else the pass depends on
        self.begun = 0  # how many losses there were

    def found(self, messages: Sequence[Message], first: Any) -> Note | None:
        """Where the pass may begin."""
        seeing, name = self.stages.of(messages), self.name
        self.seeing = seeing
        for mark in seeing.usable:
            note: Note | None = mark.noted.get(name)
            if note is not None and note.first == first:
                return note
        return None

    def begin(self, note: Note | None, first: Any, log: Ledger) -> None:
        """The pass begins at a note; the losses before that are in the ledger then.

        Lists and names that it noted are cut to what they were there, so what was noted of places
        after that is void.
        """
        self.first, self.begun = first, len(log.losses)
        if note is None:
            return
        log.entries += note.losses
        if note.names:
            log.tool_names |= note.names
        for mark in self.seeing.marks:
            if mark.place <= note.place:
                break
            mark.noted.pop(self.name, None)

    def known(self, messages: Sequence[Message]) -> int:
        """How many messages were noted, whatever else the pass depends on."""
        for mark in self.stages.of(messages).usable:
            if self.name in mark.noted:
                return mark.place
        return 0

    def note(self, state: Any, log: Ledger) -> None:
        """The place has been reached, and nothing waits there."""
        losses, names, made = log.losses[self.begun :], dict(log.tool_names), self.seeing.next
        made.noted[self.name] = Note(made.place, self.first, state, losses, names)


def is_calm(messages: Sequence[Message], place: int) -> bool:
    """Whether a turn of the model stands at a place that was noted."""
    return place < len(messages) and messages[place].role == "assistant"


def agreeing(last: Sequence[Message], messages: Sequence[Message]) -> int:
    """How many messages at the beginning are the very same."""
    both = min(len(last), len(messages))
    return next(compress(count(), map(is_not, last, messages)), both)


def calm_place(messages: Sequence[Message]) -> int:
    """The last calm place among messages; -1 if there is none."""
    for index in range(len(messages) - 1, 0, -1):
        if messages[index].role == "assistant" and messages[index - 1].role in OTHERS:
            return index
    return -1


class Writes:
    """What the passes on the way to a target have done, up to some calm places."""

    __slots__ = (
        "fit", "fitting", "items", "kept", "lowered", "marked", "named", "paired", "scratch",
        "signed", "stages", "tools", "usual", "written",
    )  # fmt: skip

    def __init__(self) -> None:
        self.scratch = Ledger()  # for what is only tried
        self.items: list[Json] = []  # what was printed last; a writer may go on with the very list
        self.kept = 0  # so many of these are still as they were printed
        self.forget()

    def forget(self) -> None:
        self.stages = stages = Stages()
        self.usual, self.paired = Scan("usual", stages), Scan("paired", stages)
        self.fitting, self.signed = Scan("fitting", stages), Scan("signed", stages)
        self.lowered, self.written = Pass("lowered", stages), Pass("written", stages)
        self.tools: Listed | None = None
        self.fit: tuple[Tool, ...] | None = None  # the tools in which there is nothing to lower
        # Tools with cache marks, the same as far as they may have any, and the losses.
        self.marked: tuple[tuple[Tool, ...], tuple[Tool, ...], list[Loss]] | None = None
        # Tools, the names of those that are not hosted, and the names of the freeform ones.
        self.named: tuple[Sequence[Tool], set[str], set[str]] | None = None

    def expect(self, grows: bool, steady: bool) -> None:
        """A request in which all of the last one is the same, or all that is no message."""
        if not steady:
            self.forget()
        self.stages.read.grows = self.stages.written.grows = grows

    def cut(self, items: list[Json], size: int) -> None:
        """A writer goes on after so many items."""
        if items is self.items and size < self.kept:
            self.kept = size


class Listed(NamedTuple):
    """The tools that were written, and what the writer knew before and after."""

    tools: tuple[Tool, ...]
    first: Any
    out: list[Json]
    known: Names
    size: Size
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
        first = values(w.names) if "names" in w.__dict__ else None, w.custom, w.model
        noted = writes.tools
        if noted is not None and noted.tools is tools and noted.first == first:
            w.names = rewound(noted.known, noted.size)
            log.entries += noted.losses
            if noted.names:
                log.tool_names |= noted.names
            return noted.out
        begun = len(log.losses)
        out = write(d, tools, w)
        if not w.marks:  # which may have to go again
            losses, names = log.losses[begun:], dict(log.tool_names)
            writes.tools = Listed(tools, first, out, w.names, size_of(w.names), losses, names)
        return out

    return write_again


class Going:
    """The pass of a writer: where it begins, and where it makes a note.

    What a writer has is noted by its size: lists and names only grow, and a writer that goes on
    from a note cuts them to what they were there. So there is one of each, and no copies; notes of
    places after that are void then.
    """

    __slots__ = ("messages", "named", "note_at", "writes")

    def __init__(
        self,
        writes: Writes | None,
        messages: Sequence[Message],
        w: Writing,
        arrange: Callable[[Sequence[Message], Ledger], Sequence[Message]],
    ) -> None:
        # A list may be another one the next time somebody looks: only tuples are remembered.
        apt = writes is not None and messages.__class__ is tuple and not (w.same or w.reply)
        self.writes = writes if apt else None
        self.messages = messages
        self.note_at = -1
        self.named = NO_SIZE  # the names that there were before the first message
        if w.same:
            return
        if writes is None or not apt:
            if messages is not w.log.usual:
                self.messages = arrange(messages, w.log)
            return
        if messages is not w.log.usual:
            known = writes.written.known(messages)
            rest = messages[known:]
            if not known or arrange(rest, writes.scratch) is not rest:
                writes.scratch.losses.clear()
                self.messages = arrange(messages, w.log)
        if self.messages is messages:
            self.note_at = writes.stages.of(messages).stop

    def take(self, w: Writing, skipped: int, *fresh: Any) -> tuple[int, Any]:
        """With which message the loop begins, and with what; ``skipped`` are written elsewhere."""
        writes = self.writes
        self.note_at -= skipped
        if writes is None or self.note_at < 0:
            self.note_at = -1
            return 0, fresh
        passed, names = writes.written, w.__dict__.get("names")
        if names is not None:
            self.named = size_of(names)
        first = facts_of(w, writes.tools)
        note = passed.found(self.messages, first)
        passed.begin(note, first, w.log)
        if note is None:
            return 0, fresh
        state, kept = note.state
        restore(w, kept)
        start = note.place - skipped
        if start >= self.note_at:
            self.note_at = -1
        return start, [again(part, writes) for part in state]

    def end(self, w: Writing, skipped: int, *state: Any) -> None:
        """All messages are written; the next turn may begin here."""
        if self.note_at + skipped == len(self.messages) and self.note_at > 0:
            self.note(w, skipped, *state)

    def note(self, w: Writing, skipped: int, *state: Any) -> None:
        """What the writer has now, if nothing waits."""
        writes = self.writes
        assert writes is not None
        if w.waiting is not None or w.__dict__.get("marks"):
            return
        kept = [*map(apart, state)], saved(w, self.named)
        writes.written.note(kept, w.log)


Size: TypeAlias = tuple[int, int, int]
NO_SIZE: Size = (0, 0, 0)


def apart(part: Any) -> Any:
    """A piece of state, with its size; the last item of a list may still be added to."""
    if part.__class__ is dict:
        return dict(part)
    if part.__class__ is not list:
        return part
    last = part[-1] if part else None
    return part, len(part), copied_item(last) if last.__class__ is dict else None


def again(part: Any, writes: Writes) -> Any:
    """A piece of state as it was, for a writer that goes on with it."""
    if part.__class__ is dict:
        return dict(part)
    if part.__class__ is not tuple:
        return part
    items, size, last = part
    del items[size:]
    if last is not None and items[-1] != last:
        size -= 1
        items[size] = copied_item(last)
    writes.cut(items, size)
    return items


def copied_item(item: dict[str, Json]) -> dict[str, Json]:
    return {key: value[:] if value.__class__ is list else value for key, value in item.items()}


def facts_of(w: Writing, tools: Listed | None) -> Any:
    """What a writer knows before the first message, as values."""
    has = w.__dict__
    known: Any = has.get("names")
    if known is not None and (
        tools is None or known is not tools.known or size_of(known) != tools.size
    ):
        known = values(known)
    before = None
    if "ids" in has or "called" in has:
        before = values(w.ids), set(w.called)
    return known, before, w.unnamed, w.signed, w.custom, w.model


def values(names: Names) -> Any:
    return set(names.staying), dict(names.given), set(names.made)


def size_of(names: Names) -> Size:
    return len(names.staying), len(names.given), len(names.made)


def rewound(names: Names, size: Size) -> Names:
    """Names as they were when there were so many."""
    if size_of(names) != size:
        cut(names.staying, size[0])
        cut(names.given, size[1])
        cut(names.made, size[2])
    return names


def cut(known: dict[str, Any], size: int) -> None:
    """Forget what came last."""
    while len(known) > size:
        known.popitem()


class Kept(Struct, eq=False):
    """What a writer knows; of what only grows, with its size."""

    ids: Names | None
    ids_size: Size
    names: Names | None
    """those that the messages brought; None: there were the same before"""
    called: dict[str, tuple[int, str]] | None
    called_size: int
    unnamed: int
    results: int
    again: tuple[dict[str, deque[str]], dict[str, int]] | None
    counts: list[dict[str, Any]] | None


def saved(w: Writing, named: Size) -> Kept:
    """What a writer knows; ``named``: how many names there were before the first message."""
    has = w.__dict__
    ids, names, called = has.get("ids"), has.get("names"), has.get("called")
    return Kept(
        ids,
        NO_SIZE if ids is None else size_of(ids),
        None if names is None or size_of(names) == named else copied(names),
        called,
        0 if called is None else len(called),
        w.unnamed,
        w.results,
        (queues(w.again), dict(w.times)) if has.get("again") or has.get("times") else None,
        [dict(getattr(w, name)) for name in w.counters] if w.counters else None,
    )


def restore(w: Writing, kept: Kept) -> None:
    ids, called = kept.ids, kept.called
    w.unnamed, w.results = kept.unnamed, kept.results
    if ids is not None:
        w.ids = rewound(ids, kept.ids_size)
    if kept.names is not None:
        w.names = copied(kept.names)
    if called is not None:
        cut(called, kept.called_size)
        w.called = called
    if kept.again is not None:
        waiting, times = kept.again
        w.again, w.times = queues(waiting), dict(times)
    if kept.counts is not None:
        for name, value in zip(w.counters, kept.counts, strict=True):
            setattr(w, name, dict(value))


def queues(waiting: dict[str, deque[str]]) -> dict[str, deque[str]]:
    return {name: deque(ids) for name, ids in waiting.items()}


def copied(names: Names) -> Names:
    return type(names)(
        names.rule, names.what, dict(names.staying), dict(names.given), dict(names.made)
    )
