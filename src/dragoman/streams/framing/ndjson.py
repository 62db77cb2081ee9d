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
        whole = self.cut(data)
        return self.split(whole) if whole else []

    def cut(self, data: bytes) -> bytes:
        buffer = self.buffer
        if not buffer and data.endswith(b"\n"):
            return data
        end = data.rfind(b"\n")
        before = len(buffer)
        buffer += data
        if end < 0:
            if self.too_long or len(buffer) > self.limit:
                self.refuse()
            return b""
        whole = bytes(buffer[: before + end + 1])
        del buffer[: before + end + 1]
        return whole

    def next_frame(self, whole: bytes, place: int) -> tuple[Frame | None, int]:
        end = whole.find(b"\n", place)
        line = whole[place:end]
        return ("", line) if line and not line.isspace() else None, end + 1

    def is_between(self) -> bool:
        return not self.buffer and not self.too_long

    def split(self, whole: bytes) -> list[Frame]:
        lines = whole[:-1].split(b"\n")
        if self.too_long or len(whole) - 1 > self.limit:
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

    def whole(self, data: bytes | bytearray, start: int) -> int:
        return data.rfind(b"\n", start) + 1


FRAMER = NDJSON
