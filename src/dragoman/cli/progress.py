"""How far long work is, on a terminal only: a rate, and the time that remains."""

from __future__ import annotations

import sys
from time import monotonic

from . import terminal
from .inputs import Input

PATIENCE = 0.5
"""Seconds before anything is shown: what is quick needs no progress."""
PAUSE = 0.1


class Progress:
    """One line on stderr that is written over. Time remains by the bytes that were read."""

    def __init__(self, inputs: list[Input], unit: str = "documents") -> None:
        self.inputs = inputs
        self.unit = unit
        self.count = 0
        self.shown = False
        self.active = terminal.is_terminal(sys.stderr) and not terminal.is_terminal(sys.stdout)
        self.active = self.active or (terminal.is_terminal(sys.stderr) and len(inputs) > 1)
        self.start = self.last = monotonic() if self.active else 0.0
        self.whole: int | None = None

    def step(self) -> None:
        """One more is done."""
        self.count += 1
        if not self.active:
            return
        now = monotonic()
        if now - self.start > PATIENCE and now - self.last > PAUSE:
            self.last = now
            self.show(now - self.start)

    def show(self, seconds: float) -> None:
        line = describe(self.count, self.unit, seconds, self.share())
        sys.stderr.write(f"\r{terminal.cut(line)}\x1b[K")
        sys.stderr.flush()
        self.shown = True

    def share(self) -> float | None:
        """How much of the bytes has been read; None where nobody knows how many there are."""
        if self.whole is None:
            sizes = [input.size for input in self.inputs]
            self.whole = 0 if None in sizes else sum(size or 0 for size in sizes)
        read = sum(input.taken for input in self.inputs)
        return min(read / self.whole, 1.0) if self.whole else None

    def clear(self) -> None:
        """Away with the line: something else is written."""
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self.shown = False


def describe(count: int, unit: str, seconds: float, share: float | None) -> str:
    """The line.

    >>> describe(1200, "documents", 4.0, 0.25)
    '1,200 documents, 300/s, 25 %, 12 s left'
    >>> describe(10, "documents", 20.0, None)
    '10 documents, 0.5/s'
    """
    rate = count / seconds if seconds else 0.0
    written = (
        f"{count:,} {unit}, {rate:,.0f}/s" if rate >= 10 else f"{count:,} {unit}, {rate:.1f}/s"
    )
    if share:
        written += f", {share:.0%}".replace("%", " %")
        written += f", {_time(seconds * (1 - share) / share)} left"
    return written


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"
