"""What is said to people: on stderr, in colour only where a terminal shows it.

``NO_COLOR`` (https://no-color.org) turns colour off, ``FORCE_COLOR`` on. Texts out of documents
go through ``clean`` first, so that no document can command a terminal.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import IO, Any

import click

CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
# What looks like a key is not repeated, wherever it stands.
SECRET = re.compile(
    r"\b(?:sk|pk|rk|ghp|gho|ghu|ghs|github_pat|xox[abps]|AIza)[-_]?[A-Za-z0-9_-]{16,}"
    r"|\b[Bb]earer\s+[A-Za-z0-9._~+/-]{16,}=*"
)
WIDEST = 100
"""How wide an excerpt or a help text becomes on the widest terminal."""


def is_colourful(stream: IO[Any] | None = None) -> bool:
    """Whether colour is wanted on that stream; stderr, if none is named."""
    stream = stream if stream is not None else sys.stderr
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return is_terminal(stream) and os.environ.get("TERM") != "dumb"


def is_terminal(stream: IO[Any]) -> bool:
    """Whether a person looks at that stream."""
    try:
        return stream.isatty()
    except (AttributeError, ValueError):  # replaced, or closed
        return False


def width() -> int | None:
    """How many columns stderr has; None where it is no terminal, and nothing need be cut."""
    if not is_terminal(sys.stderr) and not os.environ.get("COLUMNS"):
        return None
    return shutil.get_terminal_size().columns


def say(line: str = "") -> None:
    """One line for people, on stderr."""
    click.echo(line, err=True, color=is_colourful())


def put(line: str = "") -> None:
    """One line of the result, on stdout; coloured where a terminal shows it."""
    click.echo(line, color=is_colourful(sys.stdout))


def style(text: str, **looks: Any) -> str:
    """The text with colour codes; ``say`` takes them away where they are not wanted."""
    return click.style(text, **looks) if text else ""


def bold(text: str) -> str:
    return style(text, bold=True)


def dim(text: str) -> str:
    return style(text, dim=True)


def red(text: str) -> str:
    return style(text, fg="red", bold=True)


def yellow(text: str) -> str:
    return style(text, fg="yellow")


def green(text: str) -> str:
    return style(text, fg="green")


def cyan(text: str) -> str:
    return style(text, fg="cyan")


def clean(text: str) -> str:
    """Text of a document for one line of a terminal: no control characters, no keys."""
    return SECRET.sub("[key]", CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\n", " ")))


def cells(text: str) -> int:
    """How many columns a text takes, colour codes aside."""
    plain = click.unstyle(text)
    if plain.isascii():
        return len(plain)
    return sum(_cells(char) for char in plain)


def _cells(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def excerpt(text: str, column: int) -> tuple[str, str]:
    """A line with a caret under a column (from 0), cut to what can be taken in at a glance."""
    room = min(width() or 80, WIDEST) - 4
    start = max(0, min(column - room // 2, len(text) - room))
    shown = clean(text[start : start + room].replace("\t", " "))
    if len(shown) != len(text[start : start + room]):  # a key was masked: the caret has no place
        return ("…" if start else "") + shown, ""
    head = "…" if start else ""
    tail = "…" if start + room < len(text) else ""
    pad = " " * (len(head) + cells(shown[: column - start]))
    return f"{head}{shown}{tail}", pad + red("^")


def table(rows: Iterable[Sequence[str]], *, indent: str = "", whole: bool = False) -> list[str]:
    """Rows in columns. On a terminal, lines are cut to fit, unless ``whole``; elsewhere never."""
    rows = [tuple(row) for row in rows]
    if not rows:
        return []
    widths = [max(cells(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        parts = [cell + " " * (w - cells(cell)) for cell, w in zip(row, widths, strict=True)]
        line = (indent + "  ".join(parts)).rstrip()
        lines.append(line if whole else cut(line))
    return lines


def cut(line: str, columns: int | None = None) -> str:
    """The line, cut to the terminal's width. Colour survives; a cut shows as an ellipsis."""
    columns = columns or width()
    if columns is None or cells(line) <= columns:
        return line
    out, taken = [], 0
    for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
        if piece.startswith("\x1b"):
            out.append(piece)
            continue
        for char in piece:
            if taken + _cells(char) > columns - 1:
                return "".join(out) + "…" + ("\x1b[0m" if "\x1b" in line else "")
            out.append(char)
            taken += _cells(char)
    return "".join(out)


def plural(count: int, one: str, many: str = "") -> str:
    """``1 document``, ``2 documents``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
