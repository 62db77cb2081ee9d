"""Server-sent events or one JSON array: the first byte that is no white space tells.

An object is an array's only item without the array: so a server replies that refuses to stream.
"""

from __future__ import annotations

from . import LIMIT, Frame, Framer
from .array import Array
from .sse import SSE


class Either:
    __slots__ = ("chosen", "limit", "seen")

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.chosen: Framer | None = None
        self.seen = b""  # white space, which decides nothing

    def feed(self, data: bytes) -> list[Frame]:
        data = self.choose(data)
        return [] if self.chosen is None else self.chosen.feed(data)

    def choose(self, data: bytes) -> bytes:
        """Decide what it is, if the bytes tell; the bytes with the white space before them."""
        if self.chosen is not None:
            return data
        data = self.seen + data
        begins = data.lstrip()[:1]
        if not begins:
            self.seen = data[-4:]
            return b""
        if begins in b"[{":
            array = self.chosen = Array(self.limit)
            array.depth = int(begins == b"{")
        else:
            self.chosen = SSE(self.limit)
        return data

    def cut(self, data: bytes) -> bytes | None:
        data = self.choose(data)
        return b"" if self.chosen is None else self.chosen.cut(data)

    def split(self, whole: bytes) -> list[Frame]:
        return [] if self.chosen is None else self.chosen.split(whole)

    def next_frame(self, whole: bytes, place: int) -> tuple[Frame | None, int]:
        return (None, len(whole)) if self.chosen is None else self.chosen.next_frame(whole, place)

    def is_between(self) -> bool:
        return self.chosen is not None and self.chosen.is_between()

    def close(self) -> list[Frame]:
        return [] if self.chosen is None else self.chosen.close()

    def whole(self, data: bytes | bytearray, start: int) -> int:
        return 0 if self.chosen is None else self.chosen.whole(data, start)


FRAMER = Either
