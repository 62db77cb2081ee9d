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


class Screen:
    """Where styled lines go: standard output, or a file that has been opened."""

    def __init__(self, sink: Sink | None = None, place: Path | None = None) -> None:
        self.sink: Sink = sys.stdout.buffer if sink is None else sink
        self.is_live = place is None and terminal.is_terminal(sys.stdout)
        self.colour = place is None and terminal.is_colourful(sys.stdout)
        self.encoding = (sys.stdout.encoding if place is None else None) or "utf-8"

    @property
    def columns(self) -> int:
        """As wide as the terminal, up to what the eye follows."""
        if not self.is_live and not os.environ.get("COLUMNS"):
            return PAGE
        return min(max(shutil.get_terminal_size().columns, 20), terminal.WIDEST)

    def write(self, line: Line) -> None:
        self.sink.write(encoded(render(line, self.colour) + "\n", self.encoding))


def encoded(line: str, encoding: str) -> bytes:
    try:
        return line.encode(encoding)
    except UnicodeEncodeError:
        return line.translate(ASCII).encode(encoding, "backslashreplace")
