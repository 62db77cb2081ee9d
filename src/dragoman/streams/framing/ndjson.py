"""One JSON document per line."""

from __future__ import annotations

from typing import NoReturn

from ...errors import Malformed
from . import LIMIT, Frame


class NDJSON:
    __slots__ = ("buffer", "limit", "too_long")

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.buffer = bytearray()
        self.too_long = False  # a line is, and those before it have been given

    def feed(self, data: bytes) -> list[Frame]:
        buffer = self.buffer
        end = data.rfind(b"\n")
        before = len(buffer)
        buffer += data
        if end < 0:
            if self.too_long or len(buffer) > self.limit:
                self.refuse()
            return []
        whole = bytes(buffer[: before + end])
        del buffer[: before + end + 1]
        lines = whole.split(b"\n")
        if self.too_long or len(whole) > self.limit:
            lines = self.short(lines)
        return [("", line) for line in lines if line and not line.isspace()]

    def short(self, lines: list[bytes]) -> list[bytes]:
        """The lines before one that is too long; the next call refuses it."""
        long = next((n for n, line in enumerate(lines) if len(line) > self.limit), None)
        if self.too_long or long == 0:
            self.refuse()
        self.too_long = long is not None
        return lines[:long]

    def refuse(self) -> NoReturn:
        raise Malformed(f"a line of more than {self.limit} bytes")

    def close(self) -> list[Frame]:
        rest = bytes(self.buffer)
        if self.too_long or len(rest) > self.limit:
            self.refuse()
        self.buffer.clear()
        return [("", rest)] if rest and not rest.isspace() else []

    def whole(self, data: bytearray, start: int) -> int:
        return data.rfind(b"\n", start) + 1


FRAMER = NDJSON
