"""Bytes to frames and back, without meaning: one module per way of framing a stream.

A framer takes bytes in any pieces (``feed``, then ``close``) and gives frames, each an event name
(often empty) and its data. It does no I/O and holds no more than one frame that is not complete.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Protocol, TypeAlias

Frame: TypeAlias = tuple[str, bytes]
"""The name of an event, empty where there is none, and its data."""

LIMIT = 64 * 1024 * 1024
"""How long one frame may be, in bytes. The longest in the wild bear an image of a few megabytes."""

TOTAL = 16 * LIMIT
"""How long a stream may be whose texts are kept: what a reply says is a small part of its bytes."""


class Framer(Protocol):
    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are complete now."""

    def cut(self, data: bytes) -> bytes | None:
        """The bytes of the frames that are complete now, for ``split``; None where only ``feed``
        can tell."""

    def split(self, whole: bytes) -> list[Frame]:
        """The frames of bytes that ``cut`` gave."""

    def next_frame(self, whole: bytes, place: int) -> tuple[Frame | None, int]:
        """The frame that begins at a place in bytes that ``cut`` gave, if it is one, and where it
        ends."""

    def is_between(self) -> bool:
        """Whether the bytes so far end where a frame ends, and ``cut`` gives all of them."""

    def close(self) -> list[Frame]:
        """The frame that the bytes ended in the middle of, if there was one."""

    def whole(self, data: bytes | bytearray, start: int) -> int:
        """Where the last frame ends that is complete in bytes that were fed, from a frame's
        beginning on; up to ``start`` none ends."""


def framer(kind: str, limit: int = LIMIT) -> Framer:
    """A framer by its name: ``sse``, ``ndjson``, ``array``, ``either`` of the first and the last,
    ``eventstream``. The name is that of its module, which ends in a ``FRAMER``."""
    return _maker(kind)(limit)


@cache
def _maker(kind: str) -> Callable[[int], Framer]:
    make: Callable[[int], Framer] = import_module(f".{kind}", __name__).FRAMER
    return make


def write_frame(kind: str, frame: Frame) -> bytes:
    """A frame as the bytes that a framer of this kind reads."""
    name, data = frame
    if kind == "eventstream":
        from .eventstream import write_frame

        return write_frame(name, data, "exception" if name.endswith("Exception") else "event")
    if kind != "sse":
        return data + b"\n"
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + data + b"\n\n"
