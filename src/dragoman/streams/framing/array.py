"""One JSON array whose items come one after the other: ``[{...},\\r\\n{...}]``."""

from __future__ import annotations

import re
from typing import NoReturn

from ...errors import Malformed
from . import LIMIT, Frame

# Only these matter: strings, whose brackets do not count, and what nests.
SPECIAL = re.compile(rb'["\\\[\]{}]')


class Array:
    __slots__ = ("depth", "escaped", "in_string", "item", "limit", "too_long")

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.item = bytearray()  # the item that is not complete
        self.depth = 0
        self.in_string = False
        self.escaped = -1  # the place in the data that a backslash stands before
        self.too_long = False  # an item is, and those before it have been given

    def feed(self, data: bytes) -> list[Frame]:
        if self.too_long:
            self.refuse()
        frames: list[Frame] = []
        start = 0 if self.depth > 1 else -1
        for found in SPECIAL.finditer(data):
            place, sign = found.start(), found[0]
            if self.in_string:
                if place == self.escaped:
                    continue
                if sign == b"\\":
                    self.escaped = place + 1
                elif sign == b'"':
                    self.in_string = False
            elif sign == b'"':
                self.in_string = True
            elif sign in b"[{":
                self.depth += 1
                if self.depth == 2:
                    start = place
            elif sign in b"]}":
                self.depth -= 1
                if self.depth == 1:
                    if len(self.item) + place + 1 - start > self.limit:
                        return self.short(frames)
                    frames.append(("", bytes(self.item) + data[start : place + 1]))
                    self.item.clear()
                    start = -1
        if start >= 0:
            self.item += data[start:]
            if len(self.item) > self.limit:
                return self.short(frames)
        self.escaped = 0 if self.escaped == len(data) else -1
        return frames

    def cut(self, data: bytes) -> None:
        return None

    def split(self, whole: bytes) -> list[Frame]:
        return self.feed(whole)

    def next_frame(self, whole: bytes, place: int) -> tuple[Frame | None, int]:
        return None, len(whole)

    def is_between(self) -> bool:
        return False

    def short(self, frames: list[Frame]) -> list[Frame]:
        """The items before one that is too long; the next call refuses it."""
        if not frames:
            self.refuse()
        self.too_long = True
        return frames

    def refuse(self) -> NoReturn:
        raise Malformed(f"an item of more than {self.limit} bytes")

    def close(self) -> list[Frame]:
        if self.too_long:
            self.refuse()
        rest = bytes(self.item)
        self.item.clear()
        return [("", rest)] if rest else []

    def whole(self, data: bytes | bytearray, start: int) -> int:
        return len(data)  # nothing could be written after an item: the array is not closed


FRAMER = Array
