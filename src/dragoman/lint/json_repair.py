"""JSON that was cut off or has a comma too many, repaired; anything else is left alone."""

from __future__ import annotations

import re

from ..core.reading import parse
from ..errors import Malformed
from ..model import Json

CUTS = 3
"""How many members may be given up, from the end, before the text is."""

_PARTIAL_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?$")
_TRAILING_COMMA = re.compile(r",\s*$")


def repair_object(text: str) -> str | None:
    """The text as a JSON object, or None if that would take more than repairing.

    >>> repair_object('{"a": [1, 2,],}')
    '{"a": [1, 2]}'
    >>> repair_object('{"path": "/tmp/fi')
    '{"path": "/tmp/fi"}'
    >>> repair_object('{"a": 1, "b":')
    '{"a": 1}'
    """
    text = text.strip()
    if re.match(r"\{\}\s*\{", text):  # a stream that began with an empty object by mistake
        text = text[2:].lstrip()
    if not text.startswith("{"):
        return None
    scan = _Scan()
    if not scan.read(text):
        return None
    for candidate in scan.candidates():
        value = _object_of(candidate)
        if value or (value == {} and text == "{"):  # what says something never becomes nothing
            return candidate
    return None


def _object_of(text: str) -> dict[str, Json] | None:
    try:
        value = parse(text)
    except Malformed:
        return None
    return value if isinstance(value, dict) else None


class _Scan:
    """A walk through the text: what is open at its end, and where it could be cut."""

    def __init__(self) -> None:
        self.out = ""
        self.open: list[str] = []
        self.in_string = False
        self.cuts: list[tuple[int, str]] = []  # how much to keep, and how to close it

    def read(self, text: str) -> bool:
        """Whether the brackets match as far as they go."""
        pieces: list[str] = []
        length = 0
        escaped = False
        for char in text:
            if self.in_string:
                if char == '"' and not escaped:
                    self.in_string = False
                escaped = char == "\\" and not escaped
            elif char == '"':
                self.in_string = True
            elif char in "{[":
                if not self.open and pieces:
                    return False  # a second value
                self.open.append("}" if char == "{" else "]")
                self.cuts.append((length + 1, self._closing()))
            elif char in "}]":
                if not self.open or self.open.pop() != char:
                    return False
                length -= self._drop_comma(pieces)
            elif char == "," and self.open:
                self.cuts.append((length, self._closing()))
            pieces.append(char)
            length += 1
        self.out = "".join(pieces)
        return True

    def _drop_comma(self, pieces: list[str]) -> int:
        """Take a trailing comma away, with the space after it; how much was taken."""
        end = len(pieces)
        while end and pieces[end - 1].isspace():
            end -= 1
        if not end or pieces[end - 1] != ",":
            return 0
        taken = len(pieces) - end + 1
        del pieces[end - 1 :]
        return taken

    def _closing(self) -> str:
        return "".join(reversed(self.open))

    def candidates(self) -> list[str]:
        """The text closed as it is; then without its last members, one by one."""
        text = self.out
        if self.in_string:
            text = _PARTIAL_ESCAPE.sub(r"\1", text) + '"'
        whole = _TRAILING_COMMA.sub("", text) + self._closing()
        if not self.open:
            return [whole]
        return [whole, *(self.out[:end] + closing for end, closing in self.cuts[: -CUTS - 1 : -1])]
