"""What is written to people: on stderr, in colour only where a terminal shows it.

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
from typing import IO, Any, BinaryIO

import click

# Controls (C0, DEL, C1), characters that reorder or hide text, and what no encoding can carry.
HOSTILE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
# What looks like a key is not repeated, wherever it stands.
SECRET = re.compile(
    r"\b(?:sk|pk|rk|ghp|gho|ghu|ghs|github_pat|xox[abps]|AIza)[-_]?[A-Za-z0-9_-]{16,}"
    r"|\b[Bb]earer\s+[A-Za-z0-9._~+/-]{16,}=*"
)
# The values of fields that say who somebody is, or which device; an excerpt does not repeat them.
PERSONAL = re.compile(
    r'"(?:user|user_?id|end_?user\w*|safety_identifier|account_\w*id|organization_id|device_?id'
    r'|installation_id|session_?id|email|external_customer_id)"\s*:\s*'
    r'"?((?<=")(?:[^"\\]|\\.)*|[\[{][^\]}]*|-?\d[\d.]*)',  # a text, what holds some, a number
    re.IGNORECASE,
)
WIDEST = 100
"""How wide an excerpt or a help text becomes on the widest terminal."""
PROSE = 28
"""The columns that a reason needs beside other cells; with less, it stands below them."""
MIN_TEXT = 16
RESET = "\x1b[0m"
_KEPT = re.compile(r"(\x1b\[[0-9;]*m|[\t\n])")
"""The codes of colours, and white space."""
_BLANK = re.compile(r"[\t\n]")
# The same in the bytes of UTF-8; line ends and tabs, which JSON has between its values, are left.
_ACTING = re.compile(
    rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f\xad]|\xd8\x9c|\xe1(?:\x85[\x9f\xa0]|\xa0\x8e)"
    rb"|\xe2\x80[\x8b\x8e\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]|\xe3\x85\xa4"
    rb"|\xef(?:\xbb\xbf|\xbe\xa0|\xbf[\xb9-\xbb])|\xf3\xa0[\x80-\xbf][\x80-\xbf]"
)


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


def stdout_width() -> int | None:
    """How many columns stdout has; None where it is no terminal. What programs read is one line."""
    if not is_terminal(sys.stdout):
        return None
    return shutil.get_terminal_size().columns


class Escaped:
    """A terminal that JSON is written to: what would act on it is written as JSON escapes it."""

    def __init__(self, sink: BinaryIO) -> None:
        self.sink = sink

    def write(self, data: bytes) -> int:
        return self.sink.write(escaped(data))

    def flush(self) -> None:
        self.sink.flush()


def escaped(data: bytes) -> bytes:
    r"""JSON with the same meaning, in which nothing acts.

    >>> escaped('{"a": "\u202e\x9b"}'.encode())
    b'{"a": "\\u202e\\u009b"}'
    """
    return _ACTING.sub(_escape, data) if _ACTING.search(data) else data


def _escape(found: re.Match[bytes]) -> bytes:
    import json

    return json.dumps(found[0].decode("utf-8")).strip('"').encode()


def put_json(data: bytes) -> None:
    """One line of JSON, on stdout."""
    click.echo(escaped(data) if is_terminal(sys.stdout) else data)


def say(line: str = "", hang: int = 2) -> None:
    """One line for people, on stderr; wrapped where the terminal is narrower."""
    for each in wrap(netted(line), width(), hang):
        click.echo(each, err=True, color=is_colourful())


def put(line: str = "", hang: int = 2) -> None:
    """One line of the result, on stdout; coloured and wrapped where a terminal shows it."""
    for each in wrap(netted(line), stdout_width(), hang):
        click.echo(each, color=is_colourful(sys.stdout))


def style(text: str, **looks: Any) -> str:
    """The text with colour codes; ``say`` takes them away where they are not wanted.

    Names of files go through here: what would act on the terminal is shown as a sign.
    """
    return click.style(harmless(text), **looks) if text else ""


def harmless(text: str) -> str:
    """A name or a hint in which nothing acts on a terminal and nothing hides."""
    if text.isascii() and text.isprintable():
        return text
    from .lines import visible  # which few need

    return visible(text)


def netted(line: str) -> str:
    r"""What is about to be written, with our own colours, and nothing else that acts.

    Whoever writes a name or a text has made it ``clean``; no way leads around this.

    >>> netted("\x1b[31mred\x1b[0m\x1b]0;title\x07")
    '\x1b[31mred\x1b[0m␛]0;title␇'
    """
    if line.isascii() and "\x1b" not in line and line.isprintable():
        return line
    from .lines import visible

    return "".join(
        part if number % 2 else visible(part) for number, part in enumerate(_KEPT.split(line))
    )


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
    return SECRET.sub("[key]", HOSTILE.sub("\N{REPLACEMENT CHARACTER}", _BLANK.sub(" ", text)))


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


def _masked(found: re.Match[str]) -> str:
    """The same length, so that places stay what they are."""
    whole, start = found[0], found.start(1) - found.start()
    return whole[:start] + "*" * (len(whole) - start)


def excerpt(text: str, column: int) -> tuple[str, str]:
    """A line with a caret under a column (from 0), cut to what can be taken in at a glance."""
    text = PERSONAL.sub(_masked, text)
    room = min(width() or 80, WIDEST) - 4
    start = max(0, min(column - room // 2, len(text) - room))
    shown = clean(text[start : start + room].replace("\t", " "))
    if len(shown) != len(text[start : start + room]):  # a key was masked: the caret has no place
        return ("…" if start else "") + shown, ""
    head = "…" if start else ""
    tail = "…" if start + room < len(text) else ""
    pad = " " * (len(head) + cells(shown[: column - start]))
    return f"{head}{shown}{tail}", pad + red("^")


def table(rows: Iterable[Sequence[str]], *, on_stdout: bool = False) -> list[str]:
    """Rows in columns, as wide as the terminal; where there is none, a line for each row.

    Nothing is cut. The last cell is wrapped in its own column where there is room for it; else it
    stands below the others, and these below each other where even they do not fit.
    """
    rows = [tuple(row) for row in rows]
    if not rows:
        return []
    columns = stdout_width() if on_stdout else width()
    widths = [max(cells(row[i]) for row in rows) for i in range(len(rows[0]))]
    head = sum(widths[:-1]) + 2 * len(widths[:-1])
    fits = columns is None or head + widths[-1] <= columns
    beside = columns is not None and head + PROSE <= columns
    lines: list[str] = []
    for row in rows:
        parts = [cell + " " * (w - cells(cell)) for cell, w in zip(row, widths, strict=True)]
        whole = "  ".join(parts).rstrip()
        if columns is None or fits:
            lines.append(whole)
        elif beside:
            lines += wrap("  ".join((*parts[:-1], row[-1])), columns, head)
        else:
            lines += _stacked(row, parts, columns)
    return lines


def _stacked(row: Sequence[str], parts: list[str], columns: int) -> list[str]:
    """One row on several lines: as many cells as fit on the first, the others below it."""
    count = len(row) - 1
    while count > 1 and cells("  ".join(parts[:count]).rstrip()) > columns:
        count -= 1
    lines = wrap("  ".join((*parts[: count - 1], row[count - 1])).rstrip(), columns, 2)
    for cell in row[count:]:
        if cell:
            lines += wrap(f"  {cell}", columns, 2)
    return lines


_PIECES = re.compile(r"(\x1b\[[0-9;]*m)|( +)|([^ \x1b]+)")
_BREAKS = re.compile(r"[^/,]*[/,]?")


def wrap(line: str, columns: int | None, hang: int = 2) -> list[str]:
    """The line in lines of so many columns; those that follow are indented by ``hang``.

    Words stay whole where they fit. A pointer or a path is broken before it is cut in two. Colour
    goes on in the next line.
    """
    if columns is None or cells(line) <= columns:
        return [line]
    hang = hang if hang <= columns - MIN_TEXT else 2
    out = _Lines(columns, hang)
    for colour, space, word in _PIECES.findall(line):
        if colour:
            out.colour(colour)
        elif space:
            out.space(space)
        else:
            out.word(word)
    return out.done()


class _Lines:
    """Lines that are being filled."""

    def __init__(self, columns: int, hang: int) -> None:
        self.columns, self.hang = columns, hang
        self.lines: list[str] = []
        self.line, self.taken, self.begun = "", 0, False
        self.style = ""
        self.pending = self.opening = ""

    def colour(self, code: str) -> None:
        if code == RESET:
            self.line, self.style, self.opening = self.line + code * bool(self.style), "", ""
        else:  # before the next word, wherever that stands
            self.opening += code

    def space(self, space: str) -> None:
        if self.begun or not self.lines:
            self.pending += space

    def word(self, word: str) -> None:
        if self.taken + len(self.pending) + cells(word) <= self.columns:
            self.put(word)
            return
        room = self.columns - self.hang
        if cells(word) <= room:
            self.turn()
            self.put(word)
            return
        for part in _BREAKS.findall(word):  # longer than a line
            if self.taken + len(self.pending) + cells(part) > self.columns and self.begun:
                self.turn()
            while cells(part) > self.columns - self.taken - len(self.pending):
                count = max(self.columns - self.taken - len(self.pending), 1)
                while cells(part[:count]) > self.columns - self.taken and count > 1:
                    count -= 1
                self.put(part[:count])
                part = part[count:]
                self.turn()
            self.put(part)

    def put(self, word: str) -> None:
        if word:
            self.line += self.pending + self.opening + word
            self.taken += len(self.pending) + cells(word)
            self.style += self.opening
            self.pending, self.opening, self.begun = "", "", True

    def turn(self) -> None:
        """The next line."""
        self.lines.append(self.line + (RESET if self.style else ""))
        self.line = " " * self.hang + self.style
        self.taken, self.pending, self.begun = self.hang, "", False

    def done(self) -> list[str]:
        return [*self.lines, self.line] if self.begun or not self.lines else self.lines


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
