"""Styled lines of text: wrapped to a width, harmless, and rendered plain or with colours.

What a conversation says is a stranger's text. Every character that could move the cursor, change
the terminal or reorder what people read is shown as a visible sign; that happens once more at the
very end, in ``render``, so that no way leads around it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from .terminal import HOSTILE


class Span(NamedTuple):
    """A piece of a line in one style."""

    text: str
    style: str = ""


class Picture(NamedTuple):
    """An escape sequence of our own making, which shows an image; it has no width."""

    sequence: str


Line: TypeAlias = tuple[Span | Picture, ...]

# The sixteen colours and the attributes that every terminal has; they follow the user's theme.
SGR: dict[str, str] = {
    "title": "1",
    "label": "2",
    "dim": "2",
    "system": "35",
    "system title": "1;35",
    "developer": "35",
    "developer title": "1;35",
    "user": "36",
    "user title": "1;36",
    "assistant": "32",
    "assistant title": "1;32",
    "tool": "33",
    "tool title": "1;33",
    "error": "31",
    "error title": "1;31",
    "thought": "2;3",
    "call": "1;33",
    "key": "33",
    "good": "32",
    "mark": "36",
    "fence": "2",
    "code": "34",
    "heading": "1",
    "a": "31",
    "a title": "1;31",
    "b": "32",
    "b title": "1;32",
}


# -- harmless ------------------------------------------------------------------------------------


def _sign(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)  # the control pictures: ␀ ... ␛ ... ␟
    if code == 0x7F:
        return "\u2421"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(text: str) -> str:
    r"""A text in which nothing acts and nothing hides; line breaks and tabs are signs as well.

    >>> visible("a\x1b[31mb\u202ec")
    'a␛[31mb\\u202ec'
    """
    if text.isascii() and text.isprintable():  # which most texts are, and this is quickly known
        return text
    return HOSTILE.sub(_sign, text) if HOSTILE.search(text) else text


def paragraphs(text: str) -> Iterator[str]:
    r"""The lines of a text, harmless each; tabs are spaces.

    >>> list(paragraphs("one\r\n\ttwo"))
    ['one', '    two']
    """
    return map(visible, _split(text))


def _split(text: str) -> list[str]:
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if "\t" in text:
        text = text.expandtabs(4)
    return text.split("\n")


# -- widths --------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _cell(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def width(text: str) -> int:
    """How many columns a text takes: two for wide characters, none for combining ones.

    >>> width("Pera"), width("東京"), width("e\u0301")
    (4, 4, 1)
    """
    return len(text) if text.isascii() else sum(map(_cell, text))


def measure(line: Line) -> int:
    return sum(width(span.text) for span in line if isinstance(span, Span))


def clip(text: str, columns: int) -> str:
    """As much of a text as fits, with a sign where it was cut."""
    text = visible(text)
    if width(text) <= columns:
        return text
    return _fitting(text, max(columns - 1, 0)) + "…"


def _fitting(text: str, columns: int) -> str:
    """The longest beginning that fits."""
    if text.isascii():
        return text[:columns]
    room = columns
    for index, char in enumerate(text):
        room -= _cell(char)
        if room < 0:
            return text[:index]
    return text


# -- wrapping ------------------------------------------------------------------------------------

# A run of spaces, a character of a script without spaces, or a word.
_IDEOGRAPHS = r"\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\uff00-\uff60"
_WORDS = re.compile(rf" +|[{_IDEOGRAPHS}]|[^ {_IDEOGRAPHS}]+")


def wrap(spans: Iterable[Span], columns: int) -> Iterator[Line]:
    """Spans as lines of at most so many columns. A line that is continued keeps its indentation."""
    columns = max(columns, 8)
    pieces = [Span(visible(text), style) for text, style in spans]
    whole = "".join(text for text, _ in pieces) if len(pieces) != 1 else pieces[0].text
    if width(whole) <= columns:
        yield tuple(pieces)
        return
    hang = _indentation(whole)
    hang = hang if len(hang) <= columns // 2 else ""
    indent = (Span(hang),) if hang else ()
    breaks = _line_breaks(whole, columns, len(hang))
    if len(pieces) == 1:
        style = pieces[0].style
        for number, (start, end) in enumerate(breaks):
            span = Span(whole[start:end], style)
            yield (*indent, span) if number else (span,)
        return
    for number, spans in enumerate(_sliced(pieces, breaks)):
        yield (*indent, *spans) if number else tuple(spans)


def height(text: str, columns: int) -> int:
    r"""How many lines a text takes; they are counted and not made.

    >>> height("one two\nthree", 8), height("one two three", 8)
    (2, 2)
    """
    columns, count = max(columns, 8), 0
    for line in _split(text):
        if len(line) <= columns and line.isascii() and line.isprintable():
            count += 1
            continue
        line = visible(line)
        hang = len(_indentation(line))
        hang = hang if hang <= columns // 2 else 0
        fits = width(line) <= columns
        count += 1 if fits else sum(1 for _ in _line_breaks(line, columns, hang))
    return count


# Anything but characters of one column each that stand between spaces.
_UNEVEN = re.compile("[^ -~\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2030-\u205e\u2190-\u21ff]")


def _line_breaks(text: str, columns: int, hang: int) -> Iterator[tuple[int, int]]:
    """Where the lines of a text begin and end that is too long for one."""
    if text.isascii() or not _UNEVEN.search(text):
        return _breaks(text, columns, hang)
    return _uneven_breaks(text, columns, hang)


def _uneven_breaks(text: str, columns: int, hang: int) -> Iterator[tuple[int, int]]:
    """The same where characters differ in width, or words may be parted without a space."""
    begin, room, begun, first = 0, columns, False, True
    for found in _WORDS.finditer(text):
        word, start, end = found[0], found.start(), found.end()
        size = width(word)
        if word[0] == " ":
            if size <= room and (begun or first):
                room -= size
            elif begun:
                room = 0  # the line ends here
            else:
                begin = end
            continue
        while size > room:
            part = "" if begun else _fitting(text[start : min(start + 4 * room, end)], room)
            part = part or ("" if begun else text[start])
            yield begin, len(text[begin : start + len(part)].rstrip(" ")) + begin
            start, size = start + len(part), size - width(part)
            begin, room, begun, first = start, columns - hang, False, False
        if start < end:
            room, begun = room - size, True
    if begun:
        yield begin, len(text.rstrip(" "))


def _breaks(text: str, columns: int, hang: int) -> Iterator[tuple[int, int]]:
    """Where lines begin and end: at the last space that fits, or where a word must be cut."""
    start, room, length = 0, columns, len(text.rstrip(" "))
    if len(text) - len(text.lstrip(" ")) >= columns:  # nothing but its indent is on the first line
        start = len(text) - len(text.lstrip(" "))
    while length - start > room:
        end = text.rfind(" ", start, start + room + 1)
        # Where there is but one word, or its indent, it is cut.
        if end <= start or (text[start] == " " and not text[start:end].strip(" ")):
            end = after = start + room
        else:
            after = end
        if text[end - 1] == " ":
            end = len(text[start:end].rstrip(" ")) + start
        yield start, end
        while after < length and text[after] == " ":
            after += 1
        start, room = after, columns - hang
    if start < length:
        yield start, length


def _sliced(pieces: list[Span], breaks: Iterator[tuple[int, int]]) -> Iterator[list[Span]]:
    """Parts of a line, in the styles of its pieces; each piece is passed but once."""
    index = place = 0  # the piece, and where it begins
    for start, end in breaks:
        spans = []
        while index < len(pieces):
            text, style = pieces[index]
            if part := text[max(start - place, 0) : end - place]:
                spans.append(Span(part, style))
            if place + len(text) > end:
                break
            place += len(text)
            index += 1
        yield spans


_BULLET = re.compile(r" *(?:[-*+•] |\d{1,3}[.)] )?")


def _indentation(text: str) -> str:
    """The indentation of a line, or of what stands after its bullet."""
    found = _BULLET.match(text)
    return " " * width(found[0]) if found else ""


# -- rendering -----------------------------------------------------------------------------------


def render(line: Line, colour: bool) -> str:
    """A line as a terminal or a pipe takes it, without its line break."""
    if not colour and Picture not in map(type, line):
        return visible("".join([span[0] for span in line])).rstrip(" ")
    out = []
    for span in line:
        if isinstance(span, Picture):
            out.append(span.sequence)
        elif colour and span.style and span.text:
            out.append(f"\x1b[{SGR[span.style]}m{visible(span.text)}\x1b[0m")
        else:
            out.append(visible(span.text))
    return "".join(out).rstrip(" ")
