"""Server-sent events or one JSON array: the first byte that is no white space tells.

An object is an array's only item without the array: so a server answers that refuses to stream.
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
        if self.chosen is not None:
            return self.chosen.feed(data)
        data = self.seen + data
        begins = data.lstrip()[:1]
        if not begins:
            self.seen = data[-4:]
            return []
        if begins in b"[{":
            array = self.chosen = Array(self.limit)
            array.depth = int(begins == b"{")
        else:
            self.chosen = SSE(self.limit)
        return self.chosen.feed(data)

    def close(self) -> list[Frame]:
        return [] if self.chosen is None else self.chosen.close()

    def whole(self, data: bytearray, start: int) -> int:
        return 0 if self.chosen is None else self.chosen.whole(data, start)


FRAMER = Either
