"""Styled lines on their way out: in colour where it is wanted, as wide as there is room."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from . import terminal
from .lines import Line, render
from .outputs import Sink

# For terminals and files that know no more than ASCII.
ASCII = str.maketrans(
    {"┃": "|", "→": ">", "←": "<", "✗": "x", "✻": "*", "▣": "#", "◇": "?", "·": "-", "…": "...",
     "“": '"', "”": '"', "─": "-"}
)  # fmt: skip
PAGE = 80
"""How wide lines are in a pipe or a file."""
ENOUGH = 32 * 1024
"""So many characters are written at once, where nobody looks on."""


class Screen:
    """Where styled lines go: standard output, or a file that has been opened."""

    def __init__(self, sink: Sink | None = None, place: Path | None = None) -> None:
        self.sink: Sink = sys.stdout.buffer if sink is None else sink
        self.is_live = place is None and terminal.is_terminal(sys.stdout)
        self.colour = place is None and terminal.is_colourful(sys.stdout)
        self.encoding = (sys.stdout.encoding if place is None else None) or "utf-8"
        self.lines: list[str] = []  # that are yet to be written
        self.count = 0

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()

    @property
    def columns(self) -> int:
        """As wide as the terminal, up to what the eye follows."""
        if not self.is_live and not os.environ.get("COLUMNS"):
            return PAGE
        return min(max(shutil.get_terminal_size().columns, 20), terminal.WIDEST)

    def write(self, line: Line) -> None:
        text = render(line, self.colour) + "\n"
        self.lines.append(text)
        self.count += len(text)
        if self.is_live or self.count > ENOUGH:
            self.flush()

    def flush(self) -> None:
        if self.lines:
            try:
                data = "".join(self.lines).encode(self.encoding)
            except UnicodeEncodeError:
                data = b"".join(encoded(line, self.encoding) for line in self.lines)
            self.sink.write(data)
            self.lines, self.count = [], 0


def encoded(line: str, encoding: str) -> bytes:
    try:
        return line.encode(encoding)
    except UnicodeEncodeError:
        return line.translate(ASCII).encode(encoding, "backslashreplace")
