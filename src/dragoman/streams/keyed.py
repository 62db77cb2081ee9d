"""A reader of streams whose message has one key for its text and one for its reasoning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ..dialect import Dialect
from ..model import Block, Json, Reasoning, Text
from .base import StreamReader
from .events import Close, Delta, Event, Open
from .received import Received

INTERLEAVED = (
    "reasoning, text and tool calls were interleaved in the stream; "
    "the document has one field for each"
)


class KeyedReader(StreamReader):
    """Texts go on under their key; whatever stood between them is not in the document."""

    texts: ClassVar[Mapping[str, str]]
    """The keys of texts and where they stand; the first is that of the reasoning."""

    def __init__(self, dialect: Dialect, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.head: dict[str, Json] | None = None
        self.message: dict[str, Json] = {}
        self.received: dict[str, Received] = {}
        self.calls: list[Json] = []
        self.open: tuple[str, int] | None = None  # key of a text, and its block
        self.count = 0

    def add(self, key: str, text: str, events: list[Event]) -> None:
        if self.open is None or self.open[0] != key:
            reasons = key == next(iter(self.texts))
            if key in self.received or self.calls or (reasons and self.received):
                self.notes.append(("stream.order", "/message", INTERLEAVED))
            self.shut(events)
            at = self.texts[key]
            block: Block = Reasoning(at=at) if reasons else Text("", at=at)
            self.open = (key, self.enter(block, events))
            self.received.setdefault(key, Received(self.whole))
        self.received[key].add(text)
        if text:
            events.append(Delta(self.open[1], text))

    def enter(self, block: Block, events: list[Event]) -> int:
        events.append(Open(self.count, block))
        self.count += 1
        return self.count - 1

    def shut(self, events: list[Event]) -> None:
        if self.open is not None:
            events.append(Close(self.open[1]))
            self.open = None
