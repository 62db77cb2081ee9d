"""Streams: a reader of frames and a writer of events for each dialect that has a stream.

    bytes -> framing -> frames -> StreamReader -> events -> StreamWriter -> frames -> bytes
                                      |
                          the response document -> read -> write -> losses

*Events* (``dragoman.streams.events``) are the same for all dialects: a response begins, blocks
open, get deltas and close, and the response ends or fails. Blocks may be open side by side.

*A reader* does two things with each frame. It returns the events of the frame, so that they can be
written at once; and it builds the document of the same response without streaming ("at rest"), as
the vendor's own client does. A frame whose meaning is known only later (a delta without an index,
an id that changes) is resolved here, so that events and document agree.

*A writer* writes each event as soon as its dialect allows it. Where blocks must not overlap
(``OneByOne``), or all texts are one text (``InTurns``), a block waits for the one before it, and
the ledger reports ``stream.order``. What was written cannot be withdrawn: if the source changes a
text later, that is ``stream.text``.

*The writer at rest decides.* When the stream has ended, the document is read and written as any
response is, and its losses are the losses of the stream. So a stream and its response report the
same, and no rule is written twice. The stream begins with what the writer at rest makes of the head
(id, model, date), and ends with what it makes of the whole (stop reason, usage).

*Truncated streams.* A stream that ends before its response is complete has failed: the reader sets
``failure``, and the writer ends with the error of its dialect, never with a regular end. How a
stream tells that it is complete depends on the dialect: a last event, or a stop reason for each
candidate.

*Splicing* (``dragoman.streams.splicing``): a frame that differs from the one before in its text
alone is neither read nor written anew.

Memory is bounded: with ``collect=False`` texts are not kept, unless the last event of the target
repeats the response. ``docs/streams.md`` has the same for users.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

from msgspec.structs import replace

from ..core.lowering import Opening
from ..core.reading import DEPTH, escape, nearest, parse, plain
from ..core.surrogates import FIRST, HALF, SECOND, WHY, joined, replaced, well_formed
from ..dialect import Dialect
from ..errors import Malformed
from ..ledger import Ledger
from ..model import Failure, Json, Reasoning, Response
from .events import Begin, Cite, Close, Delta, Event, Fail, Odd, Open, Ping, Signed
from .framing import Frame
from .received import NOTHING, Keys, last_of, ways_to
from .splicing import Sink, Splice

TRUNCATED = "the stream ended before the response was complete"


class StreamReader:
    """Frames of one dialect in, events out. Subclass it for each dialect that has a stream."""

    keys: ClassVar[Mapping[str, Keys]] = {}
    """The keys of events, by type."""
    others: ClassVar[Keys | None] = None
    """Those of events that are not named; None where such an event stands in the response."""

    varying: ClassVar[Mapping[str, Any]] = {}
    """Keys of deltas whose values differ from frame to frame, and their types. They say nothing,
    or the last one counts (``renew``)."""

    same = False
    """Whether source and target are the same dialect, where all is written as it was."""

    sink: Sink | None = None
    """Adds more to the text that the last frame has added to, if it did and gave nothing else."""

    def __init__(self, dialect: Dialect, whole: bool = True) -> None:
        self.dialect = dialect
        self.whole = whole  # the texts are wanted in the end, not only what they are like
        self.done = False
        self.failure: Failure | None = None
        self.truncated = False  # the frames ended, and the reply had not
        self.begun: Response | None = None  # what was known of the reply at first
        self.unfit: dict[str, None] = {}  # calls whose arguments are no object, as one is due
        self.notes: list[tuple[str, str, str]] = []  # what a stream elsewhere says otherwise
        self.notes_on_signatures: list[str] = []  # where reasoning was encrypted anew in the end
        self.halves: dict[str, str] = {}  # halves of characters at the end of texts, by place
        self.halved: dict[str, None] = {}  # calls whose arguments have half of a character
        self.cut = self.omitted = False  # there was half of a character, and never the other
        self.notes_on_ids: list[str] = []  # where the last event has another id for an item
        self.unknown: dict[str, tuple[str, str]] = {}  # keys of events -> the first event, place
        self.superseded: dict[str, None] = {}  # keys that stood in an object that another replaced
        self.held: dict[str, None] = {}  # fields that had been written when another value came
        self.numbers: Collection[int] | None = None  # of candidates so far, where frames name them
        self.late: dict[str, None] = {}  # fields of blocks that had been passed on without them

    def read(self, frame: Frame) -> Sequence[Event]:
        """The events of a frame."""
        raise NotImplementedError

    def renew(self, values: Mapping[str, Json]) -> None:
        """The last values of keys that vary (``streams.splicing``), but for texts and numbers."""

    def document(self) -> Json | None:
        """The response document so far; None if nothing has begun."""
        raise NotImplementedError

    def begin(self, response: Response) -> Begin:
        self.begun = response
        return Begin(response)

    def close(self) -> Sequence[Event]:
        """The source has ended. A response that is not complete has failed."""
        if self.done:
            return ()
        self.truncated = True
        return self.fail(Failure("server", TRUNCATED))

    def fail(self, failure: Failure) -> Sequence[Event]:
        self.done = True
        self.failure = failure
        return (Fail(failure),)

    def at_rest(self) -> Response:
        """The response so far, as a tree; ``Malformed`` if the frames are not one."""
        doc = self.document()
        read = self.dialect.read
        tree = Response(None, None, ()) if doc is None else read(doc, "response")
        assert isinstance(tree, Response)
        return tree

    def response(self) -> Response:
        """The response so far, with its failure if it failed. Invalid frames are not part of it."""
        try:
            tree, failure = self.at_rest(), self.failure
        except Malformed as problem:
            tree = self.begun or Response(None, None, ())
            failure = self.failure or Failure("server", str(problem))
        return tree if failure is None else replace(tree, failure=failure)

    def look(
        self,
        kind: str,
        doc: dict[str, Json],
        inside: str = "",
        keys: Keys | None = None,
        at: str | None = None,
    ) -> None:
        """Note the unknown keys of an event, or of an object ``inside`` an event.

        A key that every event of a stream has is noted once, at the place of the first.
        """
        keys = keys or self.keys.get(kind, self.others)
        if keys is not None and not keys.fit(doc):
            where = self.belongs_to(kind, doc) if at is None else at
            for pointer in keys.others(doc, inside):
                self.unknown.setdefault(pointer, (kind, where))

    def belongs_to(self, kind: str, doc: dict[str, Json]) -> str:
        """The place in the response that an event is about."""
        return ""

    def supersede(self, old: Json, new: Json, at: str) -> None:
        """Note the keys that an object had, and that its replacement has not."""
        if old.__class__ is dict and new.__class__ is dict:
            for key, value in old.items():
                where = f"{at}/{escape(key)}"
                if key in new:
                    self.supersede(value, new[key], where)
                elif value not in NOTHING:
                    self.superseded[where] = None
        elif old.__class__ is list and new.__class__ is list:
            for number, (one, other) in enumerate(zip(old, new, strict=False)):
                self.supersede(one, other, f"{at}/{number}")

    def arrive(self, old: Mapping[str, Json], new: Mapping[str, Json], at: str) -> None:
        """Note the fields of a block that arrived, or changed, after it had been written."""
        for key, value in new.items():
            where = f"{at}/{escape(key)}"
            before = old.get(key)
            if value and value.__class__ is dict:  # of which part may have been known before
                self.arrive(before if before.__class__ is dict else {}, value, where)
            elif key not in old or before != value:
                self.late[where] = None

    def hold(self, first: Json, other: Json, at: str) -> None:
        """Of a field that has been written the first value holds; note that another one came."""
        if other not in NOTHING and other != first:
            self.held[at] = None

    def note_late(self, log: Ledger) -> None:
        """Report fields that arrived too late, if the target would have written them earlier."""
        if self.late:
            # A code without a dot is of a block or a field as a whole.
            whole = (x for x in log.losses if x.kind == "dropped" and "." not in x.what)
            gone = {loss.path for loss in whole}
            doc = self.document()
            for at in self.late:
                if gone.isdisjoint(ways_to(at)):
                    why = f"{last_of(at)!r} arrived after its block had already been written"
                    log.dropped("extras", nearest(doc, at)[0], why)

    def note_unknown(self, log: Ledger, whose: str) -> None:
        """Report keys of events that the response has no field for, each once, at its place."""
        if not self.unknown and not self.superseded and not self.held:
            return
        doc = self.document()
        for pointer, (kind, at) in self.unknown.items():
            why = f"{whose} {last_of(pointer)!r} of the event {kind}"
            log.dropped("extras", nearest(doc, at)[0], why)
        for at in self.superseded:
            where, left = nearest(doc, at)
            if left:  # else the response has it after all
                why = f"{whose} {last_of(at)!r}, which one event has and another omits"
                log.dropped("extras", where, why)
        for at in self.held:
            why = f"{last_of(at)!r} of a later event differs from what had been written"
            log.dropped("extras", nearest(doc, at)[0], why)

    def parse(self, frame: Frame) -> dict[str, Json]:
        """The JSON object of a frame."""
        data = frame[1]
        try:
            doc = parse(data)
        except Malformed:
            doc = self.without_halves(data)
        if doc.__class__ is not dict:
            raise Malformed("expected an object")
        if data.count(b"{") + data.count(b"[") > DEPTH:
            plain(doc)  # which refuses what nests too deeply
        return doc

    def without_halves(self, data: bytes) -> Json:
        """A frame with half of a surrogate pair; the other half may come with the next frame.

        Raises ``Malformed`` if there is another error.
        """
        found = well_formed(data)
        if found is None:
            parse(data)
            raise Malformed("not JSON")
        value, before, self.halves = found.value, self.halves, {}
        for at, text in found.halves.items():
            if at in before and SECOND.match(text):
                text = before.pop(at) + text
            if FIRST.search(text):
                self.halves[at], text = text[-1], text[:-1]
            value = replaced(value, at, joined(text))
            if HALF.search(text) and "\ufffd" in joined(text):
                self.cut = True
        self.cut = self.cut or bool(found.keys)
        self.omitted = self.omitted or bool(before)
        return value

    def arguments_without_halves(self, text: str, at: str) -> Json:
        """Arguments with half of a surrogate pair; None if there is another error."""
        found = well_formed(text.encode())
        if found is None:
            return None
        self.halved[at] = None
        return found.value

    def note_halves(self, log: Ledger) -> None:
        """Report lone surrogates."""
        if self.cut:
            log.approximated("text.surrogate", "", WHY)
        if self.omitted or self.halves:
            why = (
                "a delta ended inside a surrogate pair and the second half did not follow; omitted"
            )
            log.approximated("text.surrogate", "", why)


Write: TypeAlias = Callable[..., bytes]


class StreamWriter:
    """Events in, bytes of one dialect out.

    The writer at rest decides what a response is in its dialect: the stream begins with what it
    makes of the head, and ends with what it makes of the whole.
    """

    needs_whole: ClassVar[bool] = False
    """Whether the last event repeats the response."""

    begun = False
    """Whether the first event has been written."""

    usage = True
    """Whether token counts are written where a client must request them."""

    names_first: ClassVar[bool] = True
    """Whether the stream begins with the model, the id or the date of the response."""

    has_summaries: ClassVar[bool] = False
    """Whether reasoning has separate fields for its content and its summary."""

    counts_first: ClassVar[bool] = False
    """Whether the stream begins with the number of input tokens."""

    def __init__(self, dialect: Dialect, same: bool, log: Ledger) -> None:
        self.dialect = dialect
        self.same = same
        self.log = log  # what is noted here is about the stream; the rest is noted at rest
        self.aside = log.apart()  # what was noted while writing ahead
        self.opened = self.latest = 0  # blocks so far, and the last of them that has begun
        self.ways: dict[type, Write] = {
            Begin: self.begin,
            Open: self.open,
            Delta: self.delta,
            Cite: self.cite,
            Signed: self.add_signature,
            Close: self.close,
            Ping: self.ping,
            Odd: self.odd,
        }

    def write(self, event: Event) -> bytes:
        """The bytes of an event other than the end of the stream."""
        return self.ways[event.__class__](event)

    def splicing(self, event: Delta) -> Splice | None:
        """How more deltas like this one, which has been written, are written; None: as events."""
        return None

    def begin(self, event: Begin) -> bytes:
        raise NotImplementedError

    def open(self, event: Open) -> bytes:
        raise NotImplementedError

    def delta(self, event: Delta) -> bytes:
        raise NotImplementedError

    def cite(self, event: Cite) -> bytes:
        return b""

    def add_signature(self, event: Signed) -> bytes:
        return b""

    def close(self, event: Close) -> bytes:
        return b""

    def ping(self, event: Ping) -> bytes:
        return b""

    def odd(self, event: Odd) -> bytes:
        why = f"an event that only {event.dialect} knows"
        self.log.dropped("stream.event", "", why)
        return b""

    def turn(self) -> int:
        """Which of the blocks it is that opens now."""
        self.opened += 1
        return self.opened

    def begins(self, turn: int, at: str) -> None:
        """The first text of a block is written, perhaps after a later block has begun."""
        if turn < self.latest:
            why = "its first text arrived after the next block had begun"
            self.log.moved("stream.order", at, why)
        else:
            self.latest = turn

    def end(self, doc: Json) -> bytes:
        """The end of the stream, given the whole response at rest."""
        raise NotImplementedError

    def fail(self, doc: Json) -> bytes:
        """The end of a stream that failed, given what it is at rest."""
        raise NotImplementedError

    def lowered(self, block: Reasoning) -> Reasoning | None:
        """Reasoning that has arrived, as this dialect writes it; None where it does not."""
        return block if self.same else Opening(self.dialect).reasoning(block)

    def at_rest(self, response: Response) -> dict[str, Json]:
        """What the writer at rest makes of a response, without its losses."""
        doc = self.dialect.write(response, self.aside)
        assert doc.__class__ is dict
        return doc
