"""Amazon's binary event stream: https://smithy.io/2.0/aws/amazon-eventstream.html

    total length, headers length, CRC-32 of these two      the prelude, 4 bytes each
    headers: name length (1), name, type (1), value        a string has type 7 and a length (2)
    payload
    CRC-32 of all before it

The name of a frame is its ``:event-type``, or its ``:exception-type`` where it failed. What was
recorded as JSON, one ``{"event-type": payload}`` per line, is read as well: a frame that begins
with a brace would be two gigabytes long.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct, error
from zlib import crc32

from ...core.reading import encode
from ...errors import Malformed
from . import LIMIT, Frame
from .ndjson import NDJSON

PRELUDE = Struct(">III")
CHECK = Struct(">I")
SHORT = Struct(">H")
STRING = 7
# Types of header values -> how many bytes they take; those with a length of their own are apart.
SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
WITH_LENGTH = (6, STRING)
LEAST = PRELUDE.size + CHECK.size
LONGEST = 32767  # bytes of a header


class EventStream:
    __slots__ = ("buffer", "limit", "lines", "problem", "started")

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.buffer = bytearray()
        self.lines: NDJSON | None = None  # where it is JSON after all
        self.problem: Malformed | None = None  # which comes after the frames that were whole
        self.started = False

    def feed(self, data: bytes) -> list[Frame]:
        if not self.started and data:
            self.started = True
            if data.startswith(b"{"):
                self.lines = NDJSON(self.limit)
        if self.lines is not None:
            return self.lines.feed(data)
        if self.problem is not None:
            raise self.problem
        self.buffer += data
        frames: list[Frame] = []
        try:
            frames.extend(self.complete())
        except Malformed as problem:
            if not frames:
                raise
            self.problem = problem
        return frames

    def complete(self) -> Iterator[Frame]:
        """The frames that are complete."""
        buffer = self.buffer
        while len(buffer) >= PRELUDE.size:
            total, headers, check = PRELUDE.unpack_from(buffer)
            if crc32(buffer[:8]) != check:
                raise Malformed("the checksum of a frame's prelude is wrong")
            if total > self.limit:
                raise Malformed(f"a frame of more than {self.limit} bytes")
            if headers + LEAST > total:
                raise Malformed("a frame shorter than its headers")
            if len(buffer) < total:
                return
            frame = bytes(buffer[:total])
            del buffer[:total]
            if crc32(frame[:-4]) != CHECK.unpack_from(frame, total - 4)[0]:
                raise Malformed("the checksum of a frame is wrong")
            end = PRELUDE.size + headers
            yield read_frame(read_headers(frame[PRELUDE.size : end]), frame[end:-4])

    def cut(self, data: bytes) -> None:
        return None

    def split(self, whole: bytes) -> list[Frame]:
        return self.feed(whole)

    def next_frame(self, whole: bytes, place: int) -> tuple[Frame | None, int]:
        return None, len(whole)

    def is_between(self) -> bool:
        return False

    def close(self) -> list[Frame]:
        if self.lines is not None:
            return self.lines.close()
        if self.problem is not None:
            raise self.problem
        if self.buffer:
            raise Malformed("the stream ended in the middle of a frame")
        return []

    def whole(self, data: bytes | bytearray, start: int) -> int:
        if self.lines is not None:
            return self.lines.whole(data, start)
        end = 0
        while len(data) >= end + PRELUDE.size:
            total = PRELUDE.unpack_from(data, end)[0]
            if total < LEAST or len(data) < end + total:
                break
            end += total
        return end


def read_headers(data: bytes) -> dict[str, str]:
    """The headers that are strings; the others are passed over."""
    found: dict[str, str] = {}
    place = 0
    try:
        while place < len(data):
            start = place + 1
            place = start + data[place]
            name, kind = data[start:place], data[place]
            place += 1
            if kind in WITH_LENGTH:
                size = SHORT.unpack_from(data, place)[0]
                place += SHORT.size
            else:
                size = SIZES[kind]
            if place + size > len(data):
                raise Malformed("a header longer than its frame declares")
            if kind == STRING:
                found[name.decode()] = data[place : place + size].decode()
            place += size
    except (IndexError, KeyError, error, UnicodeError):
        raise Malformed("the headers of a frame are invalid") from None
    return found


def read_frame(headers: dict[str, str], payload: bytes) -> Frame:
    if headers.get(":message-type") == "error":  # no payload: it is all in the headers
        message = headers.get(":error-message", "")
        return headers.get(":error-code", "error"), encode({"message": message})
    name = headers.get(":event-type") or headers.get(":exception-type", "")
    return name, payload or b"{}"  # an event without members may have no payload


def write_frame(name: str, payload: bytes, kind: str = "event") -> bytes:
    """A frame; ``kind`` is ``event`` or ``exception``."""
    written = {f":{kind}-type": name, ":content-type": "application/json", ":message-type": kind}
    return framed(written, payload)


def write_error(code: str, message: str) -> bytes:
    """The frame of an error that the protocol does not describe; a header has its limit."""
    words = message.encode()[:LONGEST].decode(errors="ignore")
    return framed({":message-type": "error", ":error-code": code, ":error-message": words}, b"")


def framed(written: dict[str, str], payload: bytes) -> bytes:
    headers = b"".join(
        bytes((len(key),)) + key.encode() + bytes((STRING,)) + SHORT.pack(len(data)) + data
        for key, value in written.items()
        if (data := value.encode())
    )
    lengths = PRELUDE.pack(LEAST + len(headers) + len(payload), len(headers), 0)[:8]
    frame = lengths + CHECK.pack(crc32(lengths)) + headers + payload
    return frame + CHECK.pack(crc32(frame))


FRAMER = EventStream
