"""Bytes in, bytes out: a stream of one dialect as a stream of another while it arrives."""

from __future__ import annotations

from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from math import inf
from typing import Any, Protocol, overload

from msgspec.structs import replace

from .. import dialects
from ..core import duplicates
from ..core.lowering import Opening
from ..core.models import Models, given
from ..core.reading import encode, load, nearest, parse
from ..core.surrogates import WHY
from ..dialect import Dialect
from ..errors import Malformed, Unsupported
from ..ledger import Ids, Ledger, Loss
from ..model import Failure, History, Json, Response
from ..result import Result
from .base import StreamReader, StreamWriter
from .candidates import InOrder
from .events import Cite, Delta, End, Event, Fail, Odd, Open
from .events import decompose as pieces
from .framing import LIMIT, TOTAL, Frame, framer, write_frame
from .orders import BlankReasoning, Spoken
from .splicing import Shape, Splice, Splicer

_SIGNATURES = ("reasoning", "reasoning.signature")
_IDS = ("message.id", "reasoning.id", "tool_call.item_id")


class Amend(Protocol):
    """Changes to a reply whose request is known: to its events, and to the whole response."""

    def event(self, event: Event) -> Iterable[Event]: ...

    def hears(self, index: int) -> bool:
        """Whether it must be told of every delta of a block."""
        ...

    def response(self, tree: Response, log: Ledger) -> Response: ...


class Transcoder:
    r"""A stream of one dialect as a stream of another.

    >>> transcoder = Transcoder("openai-chat", "anthropic-messages")
    >>> said = b'{"id": "1", "choices": [{"index": 0, "delta": {"content": "Hi"}}]}'
    >>> for line in transcoder.feed(b"data: " + said + b"\n\n").decode().splitlines()[6:8]:
    ...     print(line)
    event: content_block_delta
    data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}

    ``feed`` takes bytes in any split and returns those that can be written now; ``close`` returns
    the last ones. A failure (an error of the upstream, a truncated stream, invalid bytes) ends with
    the target's own error, never with a regular end. ``losses`` is complete once the stream has
    ended. With ``collect=False`` texts are not kept, so that memory does not grow with the stream
    (unless the last event of the target repeats the whole response).

    ``now``, ``ids`` and ``models`` are those of ``convert``; ``usage=False`` omits
    the counts where a client must request them; ``limit`` is the maximum of one frame, in bytes,
    and ``total`` that of a stream whose texts are kept (None: no limit).
    ``amend`` is what ``Exchange.transcoder`` knows of the request. With ``duplicates``, duplicate
    keys in a frame are in the ledger; it costs about a third more.
    """

    def __init__(
        self,
        source: str,
        target: str,
        *,
        collect: bool = True,
        usage: bool = True,
        now: float | None = None,
        ids: Callable[[str], str] | None = None,
        limit: int = LIMIT,
        total: int | None = TOTAL,
        amend: Amend | None = None,
        models: Models | Mapping[str, Any] | None = None,
        duplicates: bool = False,
    ) -> None:
        self.source, self.target = dialects.get(source), dialects.get(target)
        self._names = None if ids is None else Ids(ids)
        self.log = Ledger(now, self._names, given(models), self.target.name)
        self.same = self.source.name == self.target.name  # then the bytes pass as they are
        self.writer: StreamWriter = self.target.stream_writer(self.log, same=self.same)
        self.writer.usage = usage
        whole = collect or self.writer.needs_whole
        self._total = total if whole else None
        self._room = inf if self._total is None else self._total  # bytes that may still come
        self.reader: StreamReader = self.source.stream_reader(whole)
        self.reader.same = self.same
        self._amend = None if self.same else amend
        self._read = self.reader.read if self._amend is None else self._read_amended
        self.twice: dict[str, str] = {}  # keys that a frame has twice -> what is written of it
        if duplicates:
            self._read_frame, self._read = self._read, self._read_checked
        self.frames = framer(self.source.framings or self.source.framing, limit)
        self._ways = {} if self.same else dict(self.writer.ways)
        layers: list[BlankReasoning | Spoken] = []
        if self._ways and self.target.lowers:
            self._opening = Opening(self.target)
            self._ways[Open] = self._open_lowered
            self._ways[Cite] = self._cite_lowered
            layers.append(Spoken(self._ways, self._opening))
        if self._ways and not self.writer.has_summaries:
            layers.append(BlankReasoning(self._ways))
        self._in_order: InOrder | None = None
        if self._ways and self.reader.numbers is not None:
            one = self.target.can.candidates == 1
            self._in_order = InOrder(self._ways, layers, self.reader.numbers, one=one, limit=limit)
        self.limit = limit
        self._count = 0  # frames so far that were read
        self._splicer = Splicer(self.reader.varying, limit)
        self._shape: Shape | None = None  # the next bytes may be one frame that has it
        self.ended = False
        self._refused = False  # the source made no sense
        self.problem: Malformed | None = None  # why not
        self._tail = bytearray()  # of what passes as it is, the frame that is not complete
        self._document: Json | None = None

    def feed(self, data: bytes) -> bytes:
        """More bytes of the source; returns the bytes of the target that can be written now."""
        if self._shape is not None and len(data) <= self._room:
            written = self._shape.one(data)
            if written is not None:
                self._room -= len(data)
                return data if self.same else written
        out: list[bytes] = []
        if not self.ended:
            try:
                self._make_room(data)
                self._take_bytes(data, out)
            except Malformed as problem:
                self.refuse(problem, out)
        return self._passed(data) if self.same else b"".join(out)

    def skip(self, frames: int) -> None:
        """So many frames have passed that nobody read: what comes is numbered after them."""
        self._count += frames

    def framed(self, data: bytes) -> list[Frame]:
        """The frames that are complete now; ``Malformed`` if there is more than may be kept."""
        self._make_room(data)
        return self.frames.feed(data)

    def _make_room(self, data: bytes) -> None:
        self._room -= len(data)
        if self._room < 0:
            raise Malformed(f"a stream of more than {self._total:,} bytes")

    def _take_bytes(self, data: bytes, out: list[bytes]) -> None:
        """Frames that are complete now: spliced if they can be, else read."""
        self._shape = None
        whole = self.frames.cut(data)
        if whole is None:
            self._take_payloads(self.frames.feed(data), out)
        elif len(whole) > self.limit:
            self.take(self.frames.split(whole) if whole else (), out)
        else:
            self._take_whole(whole, out)
            if not self.ended and not self._tail and self.frames.is_between():
                self._shape = self._splicer.shape
                if self._shape is not None:
                    self._shape.spell(data)

    def _take_whole(self, whole: bytes, out: list[bytes]) -> None:
        """The bytes of whole frames."""
        splicer, next_frame, place, size = self._splicer, self.frames.next_frame, 0, len(whole)
        while place < size and not self.ended:
            if (shape := splicer.shape) is not None:
                end, written = shape.run(whole, place)
                if end > place:
                    out.append(written)
                    place = end
                    continue
            frame, end = next_frame(whole, place)
            if frame is not None:
                self.reader.sink = None
                events = self._hear(frame, out)
                if splicer.shape is not None:
                    splicer.forget()
                if self.reader.sink is not None and not self.ended:
                    self._learn(whole[place:end], events)
            place = end

    def _take_payloads(self, found: list[Frame], out: list[bytes]) -> None:
        """Frames whose bytes have lengths and checksums in them: what they hold is spliced."""
        splicer = self._splicer
        for frame in found:
            if self.ended:
                return
            payload = b"%b:%b" % (frame[0].encode(), frame[1])
            written = None if splicer.shape is None else splicer.shape.one(payload)
            if written is not None:
                out.append(written)
                continue
            self.reader.sink = None
            events = self._hear(frame, out)
            splicer.forget()
            if self.reader.sink is not None and not self.ended:
                self._learn(payload, events)

    def _learn(self, event: bytes, events: Sequence[Event]) -> None:
        """The shape of a frame that has only added a text may be that of the next ones."""
        reader, writer = self.reader, self.writer
        delta = events[0] if len(events) == 1 else None
        if not isinstance(delta, Delta) or not delta.text or reader.sink is None:
            return
        write: Splice | None = None
        if self._amend is not None and self._amend.hears(delta.index):
            return
        if not self.same:
            if self._ways[Delta] != writer.ways[Delta]:
                return  # a layer may hold it back
            write = writer.splicing(delta)
            if write is None:
                return
        self._splicer.learn(event, delta.text, reader.sink, write, reader.renew)

    @property
    def spliced(self) -> int:
        """How many frames were spliced (``streams.splicing``)."""
        return self._splicer.count

    def close(self) -> bytes:
        """The source has ended; so does the target. A stream that has ended stays as it is."""
        self._forget()
        out: list[bytes] = []
        last: list[Frame] = []
        if not self.ended:
            try:
                last = self.frames.close()
                self.take(last, out)
                if not self.ended:
                    self._put(self.reader.close(), out)
            except Malformed as problem:
                self.refuse(problem, out)
        if self.same and self._refused:
            self._finish(out)
            self._refused = False  # it is written once
        elif self.same and not self.reader.truncated:
            out.insert(0, bytes(self._tail))
        elif self.same and self._tail:  # a frame that was whole but for its end was heard
            out[:0] = [write_frame(self.source.framing, frame) for frame in last]
        self._tail.clear()
        return b"".join(out)

    def _passed(self, data: bytes) -> bytes:
        """What is passed through: whole frames, so that an error is never written inside one."""
        tail, start = self._tail, len(self._tail)
        if not tail and self.frames.whole(data, 0) == len(data):
            return data
        if self._refused and start > self.limit:
            return b""  # a frame without an end
        tail += data
        # After a regular end nothing is written any more that must not stand inside a frame.
        freed = self.ended and not self._refused and start > self.limit
        end = len(tail) if freed else self.frames.whole(tail, start)
        whole = bytes(tail[:end])
        del tail[:end]
        return whole

    def fail(self, failure: Failure) -> bytes:
        """The source failed without an error of its own; the target's error is written."""
        self._forget()
        out: list[bytes] = []
        if not self.ended:
            self.reader.fail(failure)
            self._refused = True
            self._finish(out)
            self._refused = False
            self._tail.clear()
        return b"".join(out)

    @property
    def document(self) -> Json | None:
        """The response in the target's dialect, once it has ended; its error if it failed."""
        if self.same and self.reader.failure is None:
            return self.reader.document()
        return self._document

    @property
    def response(self) -> Response:
        """The response so far, with its failure if it failed."""
        tree = self.reader.response()
        return tree if self._amend is None else self._amend.response(tree, self.log.apart())

    @property
    def losses(self) -> tuple[Loss, ...]:
        """Every deviation so far, in the order in which they happened."""
        return tuple(self.log.losses)

    def take(self, frames: Iterable[Frame], out: list[bytes]) -> None:
        """Frames of the source; what they make sayable is appended to ``out``."""
        self._forget()
        for frame in frames:
            if self.ended:
                return
            self._hear(frame, out)

    def _forget(self) -> None:
        """The next frame is read, whatever it looks like."""
        self._shape = None
        self._splicer.forget()

    def _hear(self, frame: Frame, out: list[bytes]) -> Sequence[Event]:
        """The events of a frame, which have been written."""
        ways = self._ways
        self._count += 1
        events = self._read(frame)
        for event in events:
            way = ways.get(event.__class__)
            if way is not None:
                out.append(way(event))
            elif event.__class__ is End or event.__class__ is Fail:
                if self.same and self.reader.truncated:
                    self.ended = self._refused = True  # what comes passes, the error comes last
                else:
                    self._finish(out)
                break
        return events

    def _read_checked(self, frame: Frame) -> Sequence[Event]:
        """The events of a frame; duplicate keys are noted where they occur first."""
        for at in duplicates.frame_pointers(frame[1]):
            if at not in self.twice:
                number = self._count + self.spliced
                why = f"{at} of frame {number} is a duplicate key; the last value is read"
                self.twice[at] = why
                if not self.same:
                    self.log.dropped(duplicates.CODE, "", why)
        return self._read_frame(frame)

    def _read_amended(self, frame: Frame) -> list[Event]:
        """The events of a frame, with what is known of the request."""
        assert self._amend is not None
        amended = self._amend.event
        events = self.reader.read(frame)
        stated = [stated for event in events for stated in amended(event)]
        if len(stated) != 1 or stated[0] is not events[0]:
            self.reader.sink = None
        return stated

    def _put(self, events: Iterable[Event], out: list[bytes]) -> None:
        for event in events:
            if event.__class__ is End or event.__class__ is Fail:
                self._finish(out)
            elif self._amend is not None:
                out += [
                    self._ways[spelled.__class__](spelled) for spelled in self._amend.event(event)
                ]
            elif not self.same:
                out.append(self._ways[event.__class__](event))

    def _open_lowered(self, event: Open) -> bytes:
        """A block as the target can say it."""
        events = self._opening.lower(event)
        if len(events) == 1:
            return self.writer.write(events[0])
        return b"".join(map(self.writer.write, events))

    def _cite_lowered(self, event: Cite) -> bytes:
        """A citation as the target can tell it, if it can."""
        lowered = self._opening.cite(event)
        return b"" if lowered is None else self.writer.write(lowered)

    def refuse(self, problem: Malformed, out: list[bytes]) -> None:
        """Invalid bytes are a failure of the source."""
        where = f" - at {problem.at}" if problem.at else ""
        message = f"frame {self._count + self.spliced} of the stream: {problem.what}{where}"
        self.problem = problem
        self.reader.fail(Failure("server", message))
        if self.same:
            self.ended = self._refused = True  # what came passes, and the error comes last
        else:
            self._finish(out)

    def _finish(self, out: list[bytes]) -> None:
        """The end, regular or not: the writer at rest decides what was lost."""
        tree = self.reader.at_rest() if self.reader.failure is None else self.reader.response()
        self.ended = True
        if self.same and not self._refused and not self.reader.truncated:
            if tree.failure is not None:
                self._document = self.target.write(tree, Ledger())
            return
        if self.same:
            self.writer.begun = self.reader.begun is not None
        if self._in_order is not None:
            out.append(self._in_order.release(ended=True))
        if self._names is not None:
            self.log.ids = self._names.again()  # what was named on the way keeps its name
        if self._amend is not None:
            tree = self._amend.response(tree, self.log)
        doc = self._document = self.target.write(tree, self.log)
        for code, at, why in dict.fromkeys(self.reader.notes):
            self.log.approximated(code, at, why)
        self._note_signatures()
        if not self.same:
            self.reader.note_halves(self.log)
            if not self.writer.needs_whole:
                self.reader.note_late(self.log)
            self.reader.note_unknown(self.log, f"only {self.source.name} knows")
        self._note_ids()
        self._note_head(tree)
        if tree.failure is None:
            out.append(self.writer.end(doc))
        else:
            out.append(self.writer.fail(doc))
        self._place_losses()

    def _place_losses(self) -> None:
        """Losses that were noted during the stream, with the paths of the final document."""
        losses = self.log.losses
        noted = [n for n, x in enumerate(losses) if x.path and x.what.startswith("stream.")]
        document = self.reader.document() if noted else None
        for number in noted:
            where, left = nearest(document, losses[number].path)
            if left:
                losses[number] = replace(losses[number], path=where)
        if type(self.source).locate is not Dialect.locate and not self.same:
            document = self.reader.document()
            locate = self.source.locate
            losses[:] = [replace(loss, path=locate(document, loss.path)) for loss in losses]

    def _note_head(self, tree: Response) -> None:
        """Report what is known only at the end, if the target's stream begins with it."""
        begun = self.reader.begun
        if self.same or begun is None or not self.writer.names_first or tree.failure is not None:
            return
        late = [
            name
            for name in ("id", "model", "created")
            if getattr(tree, name) is not None and getattr(begun, name) is None
        ]
        if late:
            why = f"{', '.join(late)} known only at the end; {self.target.name} sends it first"
            self.log.approximated("stream.head", tree.at, why)

    def _note_signatures(self) -> None:
        """Report reasoning that the last event of the source encrypts again, if it is written."""
        if not self.reader.notes_on_signatures:
            return
        gone = {loss.path for loss in self.log.losses if loss.what in _SIGNATURES}
        for at in self.reader.notes_on_signatures:
            if at not in gone:
                why = "the last event encrypts this reasoning again; the first version is written"
                self.log.approximated("stream.text", at, why)

    def _note_ids(self) -> None:
        """Report items that have another id in the last event of the source, if ids are written."""
        if not self.reader.notes_on_ids:
            return
        losses = self.log.losses
        gone = {loss.path for loss in losses if loss.what in _IDS or loss.kind == "dropped"}
        for at in self.reader.notes_on_ids:
            if at not in gone and f"{at}/id" not in gone:
                why = "the last event has another id for this item; the first is written"
                self.log.approximated("stream.text", at, why)


def collect(data: bytes, dialect: str) -> Result:
    """The response that a stream contains, as a response document of the same dialect.

    A stream that failed gives what a failed response is in that dialect: its error.
    """
    transcoder = Transcoder(dialect, dialect, duplicates=True)
    transcoder.feed(data)
    transcoder.close()
    return collected(transcoder)


def collected(transcoder: Transcoder) -> Result:
    """The response that a transcoder has read to its end, in the dialect of its source."""
    reader = transcoder.reader
    log = Ledger(target=reader.dialect.name)
    for why in transcoder.twice.values():
        log.dropped(duplicates.CODE, "", why)
    if reader.failure is None:
        document = reader.document()
        for at in reader.unfit:
            why = "the arguments are not a JSON object, or have a duplicate key"
            log.approximated("tool_call.arguments", at, why)
        reader.note_halves(log)
        for at in reader.halved:
            log.approximated("text.surrogate", at, WHY)
        reader.note_unknown(log, "a response has no field")
        return Result(document, tuple(log.losses))
    document = reader.dialect.write(reader.response(), log)
    return Result(document, tuple(log.losses))


def decompose(doc: Json | bytes, dialect: str) -> bytes:
    """A response document as a stream."""
    speaker = dialects.get(dialect)
    tree = speaker.read(load(doc), "response")
    assert isinstance(tree, Response)
    log = Ledger()
    writer = speaker.stream_writer(log, same=True)
    out = [
        writer.write(e) for e in pieces(tree) if e.__class__ is not End and e.__class__ is not Fail
    ]
    document = speaker.write(tree, log)
    out.append(writer.end(document) if tree.failure is None else writer.fail(document))
    return b"".join(out)


def convert_event(
    event: Json | bytes,
    *,
    source: str,
    target: str,
    fail_on: Iterable[str] = (),
    ids: Callable[[str], str] | None = None,
) -> Result:
    """One event of a stream as the message that it holds, or None.

    For agents that take a stream event by event, from a dialect whose events stand for
    themselves (``whole_events``). The document is one message of the target's ``messages`` facet,
    a list of its items where it writes a turn as several, or None for an event without content,
    such as a status. Each event is taken alone, so a piece of a text is a message of its own;
    ``Transcoder`` puts pieces together.
    """
    speaker, writer = dialects.get(source), dialects.get(target)
    log = Ledger(ids=ids, target=writer.name)
    if not speaker.whole_events:
        raise Unsupported(f"an event of {speaker.name} is a part of a message; use Transcoder")
    value = load(event)
    duplicates.note(event, value, log)
    history = _heard(value, speaker, log)
    spelled: list[Json] = []
    if history.messages:
        document = writer.write(history, log)
        if writer.history is not None and document.__class__ is dict:
            document = document.get(writer.history)
        spelled = document if document.__class__ is list else [document]
    if speaker.event_items:  # each was read as the only item of a list
        log.losses[:] = [replace(x, path=x.path.removeprefix("/0")) for x in log.losses]
    log.enforce(fail_on)
    whole = None if not spelled else spelled[0] if len(spelled) == 1 else spelled
    return Result(whole, tuple(log.losses))


def _heard(event: Json, speaker: Dialect, log: Ledger) -> History:
    """The content of one event, as a history: the event itself if it is an item."""
    kind = event.get("type") if event.__class__ is dict else None
    if kind.__class__ is str and kind in speaker.event_items:
        try:
            tree = speaker.read([event], "messages")
        except Malformed as problem:
            raise Malformed(problem.what, problem.at.removeprefix("/0")) from None
        assert isinstance(tree, History)
        return tree
    reader = speaker.stream_reader()
    for odd in reader.read(("", encode(event))):
        if odd.__class__ is Odd:
            log.dropped("stream.event", "", f"an event that only {speaker.name} knows")
    if reader.failure is not None:
        log.dropped("response.failure", "", "an error is not a message")
    if reader.failure is not None or speaker.event_items:
        return History(())
    spelled = tuple(c.message for c in reader.at_rest().candidates if c.message.content)
    return History(spelled, dialect=speaker.name)


@overload
def transcode(
    events: AsyncIterable[Json], source: str, target: str, **options: Any
) -> AsyncIterator[Json]: ...
@overload
def transcode(
    events: Iterable[Json], source: str, target: str, **options: Any
) -> Iterator[Json]: ...
def transcode(
    events: Iterable[Json] | AsyncIterable[Json], source: str, target: str, **options: Any
) -> Iterator[Json] | AsyncIterator[Json]:
    """Parsed events of one dialect as parsed events of another, one by one.

    For clients that parse the stream themselves: each event is the JSON document of one frame.
    Options are those of ``Transcoder``. For asynchronous iterators there is ``atranscode``.
    """
    if isinstance(events, AsyncIterable):
        return atranscode(events, source, target, **options)
    return _transcode(events, _Relay(source, target, options))


def _transcode(events: Iterable[Json], relay: _Relay) -> Iterator[Json]:
    for event in events:
        yield from relay.feed(event)
    yield from relay.close()


async def atranscode(
    events: AsyncIterable[Json], source: str, target: str, **options: Any
) -> AsyncIterator[Json]:
    """``transcode`` for asynchronous iterators."""
    relay = _Relay(source, target, options)
    async for event in events:
        for spelled in relay.feed(event):
            yield spelled
    for spelled in relay.close():
        yield spelled


class _Relay:
    """A transcoder between parsed events."""

    def __init__(self, source: str, target: str, options: dict[str, Any]) -> None:
        self.transcoder = Transcoder(source, target, **options)
        self.frames = framer(self.transcoder.target.framing)

    def feed(self, event: Json) -> list[Json]:
        transcoder, out = self.transcoder, list[bytes]()
        if transcoder.ended:
            return []
        try:
            transcoder.take([("", encode(event))], out)
        except Malformed as problem:
            transcoder.refuse(problem, out)
        stated = self.parsed(self.frames.feed(b"".join(out)))
        return [event, *stated] if transcoder.same else stated

    def close(self) -> list[Json]:
        frames = self.frames.feed(self.transcoder.close())
        return self.parsed([*frames, *self.frames.close()])

    def parsed(self, frames: list[Frame]) -> list[Json]:
        if self.transcoder.target.framing == "eventstream":  # the name is not in the payload
            return [{name: parse(data)} for name, data in frames]
        return [parse(data) for _, data in frames if data != b"[DONE]"]
