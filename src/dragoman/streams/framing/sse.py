"""Server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html

Lines end in LF, CRLF or CR; ``data`` lines are joined; comments, ``id`` and ``retry`` say nothing
here, nor does an event whose data are blank: some servers and gateways send one as a heartbeat
(but for one that is named ``error``). Unlike a browser, ``close`` gives the last event even if no
blank line follows it: servers end the body right after ``[DONE]``.
"""

from __future__ import annotations

from typing import NoReturn

from ...errors import Malformed
from . import LIMIT, Frame

BOM = b"\xef\xbb\xbf"
ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")


class SSE:
    __slots__ = ("after_cr", "buffer", "limit", "started", "too_long")

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.buffer = bytearray()  # the event that is not complete
        self.after_cr = False  # a line feed that comes next belongs to the line before
        self.started = False
        self.too_long = False  # an event is, and those before it have been given

    def feed(self, data: bytes) -> list[Frame]:
        whole = self.cut(data)
        return self.split(whole) if whole else []

    def cut(self, data: bytes) -> bytes:
        if self.after_cr or b"\r" in data:
            data = self.with_line_feeds(data)
        buffer = self.buffer
        if not buffer and data.endswith(b"\n\n"):  # whole events, as most servers send them
            return data
        start = max(len(buffer) - 1, 0)  # so far there is no blank line in it
        buffer += data
        end = buffer.rfind(b"\n\n", start)
        if end < 0:
            if self.too_long or len(buffer) - buffer.endswith(b"\n") > self.limit:
                self.refuse()
            return b""
        end += 2
        whole = bytes(buffer[:end])
        del buffer[:end]
        return whole

    def next_frame(self, whole: bytes, place: int) -> tuple[Frame | None, int]:
        end = whole.find(b"\n\n", place)
        if end < 0:  # one more line feed after the blank line
            end = len(whole)
        event = whole[place:end]
        if self.started and event.startswith(b"data: ") and b"\n" not in event:
            if (usual := event[6:]) and not usual.isspace():
                return ("", usual), end + 2
        if self.started and not self.too_long:
            return read_event(event) if event else None, end + 2
        found = self.split(event)
        return found[0] if found else None, end + 2

    def is_between(self) -> bool:
        return not self.buffer and not self.after_cr and not self.too_long

    def with_line_feeds(self, data: bytes) -> bytes:
        if self.after_cr and data.startswith(b"\n"):
            data = data[1:]
            self.after_cr = False
        if data:
            self.after_cr = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def split(self, data: bytes) -> list[Frame]:
        if not self.started:
            self.started = True
            data = data.removeprefix(BOM)
        frames: list[Frame] = []
        long = self.too_long or len(data) > self.limit
        for event in data.split(b"\n\n"):
            if long and (self.too_long or len(event) > self.limit):
                self.too_long = True
                if not frames:
                    self.refuse()
                break
            if event.startswith(b"data: ") and b"\n" not in event:  # the usual shape
                if (usual := event[6:]) and not usual.isspace():
                    frames.append(("", usual))
            elif event and (frame := read_event(event)) is not None:
                frames.append(frame)
        return frames

    def refuse(self) -> NoReturn:
        raise Malformed(f"an event of more than {self.limit} bytes")

    def close(self) -> list[Frame]:
        if self.too_long:
            self.refuse()
        rest = bytes(self.buffer)
        self.buffer.clear()
        return self.split(rest) if rest.strip() else []

    def whole(self, data: bytes | bytearray, start: int) -> int:
        if data.endswith(ENDS):
            return len(data)
        start = max(start - 3, 0)
        found = [(data.rfind(sign, start), len(sign)) for sign in ENDS]
        return max(place + length if place >= 0 else 0 for place, length in found)


def read_event(event: bytes) -> Frame | None:
    """One event; None where it has no data, or blank data that are no error."""
    name = ""
    data: list[bytes] = []
    for line in event.split(b"\n"):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode("utf-8", "replace")
    joined = b"\n".join(data)
    blank = not joined or joined.isspace()
    return None if not data or (blank and name != "error") else (name, joined)


FRAMER = SSE
