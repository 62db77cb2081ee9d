"""One JSON document per line."""

from __future__ import annotations

from ..errors import Malformed
from . import LIMIT, Frame


class NDJSON:
    __slots__ = ("buffer", "limit", "searched")

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.buffer = bytearray()
        self.searched = 0

    def feed(self, data: bytes) -> list[Frame]:
        buffer = self.buffer
        buffer += data
        end = buffer.rfind(b"\n", self.searched)
        if end < 0:
            self.searched = len(buffer)
            if len(buffer) > self.limit:
                raise Malformed(f"a line of more than {self.limit} bytes")
            return []
        whole = bytes(buffer[:end])
        del buffer[: end + 1]
        self.searched = len(buffer)
        return [("", line) for line in whole.split(b"\n") if line and not line.isspace()]

    def close(self) -> list[Frame]:
        rest = bytes(self.buffer)
        self.buffer.clear()
        return [("", rest)] if rest and not rest.isspace() else []

    def whole(self, data: bytearray, start: int) -> int:
        return data.rfind(b"\n", start) + 1


FRAMER = NDJSON
