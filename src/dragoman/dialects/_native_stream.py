"""The stream of the canonical tree: its events, as they are, one JSON document per line.

Not a dialect: a name that begins with an underscore is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec
from msgspec.structs import replace

from ..core.reading import parse
from ..core.walk import unplaced
from ..dialect import Dialect
from ..errors import Malformed
from ..model import Json, Response
from ..streams.base import StreamReader, StreamWriter
from ..streams.events import Begin, Cite, Close, Delta, End, Event, Fail, Odd, Open, Ping, collect
from ..streams.framing import Frame
from ..streams.received import Received
from ..streams.splicing import MARKED, Splice, around

decode = msgspec.json.Decoder(Event).decode
encode = msgspec.json.Encoder().encode


class NativeReader(StreamReader):
    """Events are taken as they are; only their order is looked at."""

    def __init__(self, dialect: Dialect, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.events: list[Event] = []
        self.received: dict[tuple[int, str, int], Received] = {}
        self.open: set[int] = set()
        self.opened: set[int] = set()  # those that are closed may still be cited
        self.began = False

    def read(self, frame: Frame) -> Sequence[Event]:
        try:
            event = decode(frame[1])
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as problem:
            raise Malformed(f"not an event: {problem}") from None
        if isinstance(event, Ping | Odd):
            return (event,)  # these may come at any time, and are no part of the reply
        self.check(event)
        self.keep(event)
        if isinstance(event, Fail):
            self.failure = event.failure
        self.done = isinstance(event, End | Fail)
        if isinstance(event, End) and self.open:  # which ends what nobody closed
            left = [Close(index) for index in sorted(self.open)]
            self.open.clear()
            self.events[-1:] = [*left, event]
            return (*left, event)
        return (event,)

    def check(self, event: Event) -> None:
        if isinstance(event, Begin) == self.began and not isinstance(event, Fail):
            raise Malformed("a response begins once, before all other events")
        if isinstance(event, Begin):
            self.began = True
            self.begin(event.response)
        index = getattr(event, "index", None)
        if isinstance(event, Open):
            if event.index in self.open or event.index < 0 or not 0 <= event.candidate < 128:
                raise Malformed(f"block {event.index} is open already, or out of place")
            if event.index < max(self.opened, default=0):
                why = "a block began after one that follows it in the document"
                self.notes.append(("stream.order", "", why))
            self.open.add(event.index)
            self.opened.add(event.index)
        elif index is not None and index not in (
            self.opened if isinstance(event, Cite) else self.open
        ):
            raise Malformed(f"block {index} is not open")
        if isinstance(event, Close):
            self.open.discard(event.index)
        elif isinstance(event, Cite) and event.index not in self.open:
            why = "a citation arrived after the end of its text"
            self.notes.append(("stream.order", "", why))

    def keep(self, event: Event) -> None:
        """What the reply is made of in the end; of texts only a likeness, if nobody wants them."""
        if not isinstance(event, Delta):
            self.events.append(event)
            return
        key = (event.index, event.place, event.part)
        written = self.received.get(key)
        if written is None:
            written = self.received[key] = Received(self.whole)
        written.add(event.text)
        self.sink = written.add

    def document(self) -> Json | None:
        if not self.events:
            return None
        texts: dict[int, list[Event]] = {}
        for (index, place, part), written in self.received.items():
            delta = Delta(index, str(written), place, part)  # type: ignore[arg-type]
            texts.setdefault(index, []).append(delta)
        events: list[Event] = []
        for event in self.events:
            events.append(event)
            if isinstance(event, Open):
                events += texts.get(event.index, ())
        tree = replace(collect(events), failure=None)
        return native(tree)


class NativeWriter(StreamWriter):
    """Events are written as they are; the last one repeats the reply, with all there is to it."""

    needs_whole: ClassVar[bool] = True
    names_first: ClassVar[bool] = False
    has_summaries: ClassVar[bool] = True

    def write(self, event: Event) -> bytes:
        return encode(unplaced(event)) + b"\n"

    begin = open = delta = cite = signature = close = ping = odd = write

    def splicing(self, event: Delta) -> Splice | None:
        return around(self.write(replace(event, text=MARKED)))

    def end(self, doc: Json) -> bytes:
        return self.write(End(msgspec.convert(doc["tree"], Response)))

    def fail(self, doc: Json) -> bytes:
        tree = msgspec.convert(doc["tree"], Response)
        assert tree.failure is not None
        return self.write(Fail(tree.failure, replace(tree, failure=None)))


def native(tree: Response) -> Json:
    return {"dragoman": 1, "facet": "response", "tree": parse(encode(unplaced(tree)))}
