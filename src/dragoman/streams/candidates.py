"""The order of candidates in a stream.

At rest candidates stand in the order of their indices, and a dialect with one candidate has the
first. In a stream any candidate may come first, and an index may be missing. So a block of a
candidate is held back until each lower index has been seen or the stream has ended; then the rank
of the candidate is known. Where all come in order, as they nearly always do, nothing is held back.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from ..errors import Malformed
from .base import Write
from .events import Cite, Close, Delta, Open, Signed
from .orders import BlankReasoning, Spoken

Inside: TypeAlias = Delta | Cite | Signed | Close
Held: TypeAlias = Open | Inside
OVERHEAD = 64
"""What an event that is held back counts, beside its text."""


class InOrder:
    """Holds back the blocks of candidates whose rank is not known."""

    def __init__(
        self,
        ways: dict[type, Write],
        layers: Sequence[BlankReasoning | Spoken],
        seen: Collection[int],
        *,
        one: bool,
        limit: int,
    ) -> None:
        self.ways, self.inner = ways, ways
        self.layers = layers  # which change the ways while a block is open
        self.seen = seen  # the indices of candidates so far
        self.one = one  # whether the target has one candidate
        self.limit = limit
        self.held: list[Held] = []
        self.size = 0
        self.whose: dict[int, int] = {}  # blocks that are held back -> the index of their candidate
        self.write_open = ways[Open]
        ways[Open] = self.open

    def open(self, event: Open) -> bytes:
        if not event.candidate or self.is_ranked(event.candidate):
            opened = self.write_open(event)
            return opened + self.release() if self.held else opened
        if self.inner is self.ways:
            self.take_over()
        self.whose[event.index] = event.candidate
        return self.hold(event, 0)

    def is_ranked(self, index: int) -> bool:
        """Whether the rank of a candidate is known; where there is one, whether it is not it."""
        return 0 in self.seen if self.one else all(n in self.seen for n in range(index))

    def take_over(self) -> None:
        """From now on each event is looked at before it is written."""
        self.inner = dict(self.ways)
        self.inner[Open] = self.write_open
        for layer in self.layers:
            layer.ways = self.inner
        self.ways |= dict.fromkeys((Delta, Cite, Signed, Close), self.inside)

    def inside(self, event: Inside) -> bytes:
        """An event of a block."""
        out = b""
        index = self.whose.get(event.index)
        if index is not None:
            if not self.is_ranked(index):
                return self.hold(event, len(event.text) if isinstance(event, Delta) else 0)
            out = self.release() if self.held else b""
        return out + self.inner[event.__class__](event)

    def hold(self, event: Held, length: int) -> bytes:
        self.held.append(event)
        self.size += OVERHEAD + length
        if self.size > self.limit:
            raise Malformed(
                f"more than {self.limit:,} bytes of other candidates before candidate 0"
            )
        return b""

    def release(self, ended: bool = False) -> bytes:
        """What was held back and has a rank now; all of it if the stream has ended."""
        ranks = {index: rank for rank, index in enumerate(sorted(self.seen))}
        held, self.held, self.size = self.held, [], 0
        out: list[bytes] = []
        for event in held:
            index = self.whose[event.index]
            if not ended and not self.is_ranked(index):
                self.hold(event, len(event.text) if isinstance(event, Delta) else 0)
                continue
            if isinstance(event, Open):
                event = replace(event, candidate=ranks.get(index, index))
            out.append(self.inner[event.__class__](event))
        return b"".join(out)
