"""Where a JSON pointer points, in the text of a document. Only those who fail need it."""

from __future__ import annotations

import json
import re

SPACE = re.compile(r"[ \t\n\r]*")
_decode = json.JSONDecoder(strict=False).raw_decode


def locate(data: bytes, pointer: str) -> int | None:
    """The offset of the value in the bytes; None where it cannot be found.

    >>> locate(b'{"a": [1, {"b": 2}]}', "/a/1/b")
    16

    A pointer beyond the document gives the place where it leaves it: of a key that is missing, the
    object it is missing from.
    """
    try:
        text = data.decode()
        place = _find(text, pointer.split("/")[1:])
    except (ValueError, RecursionError):  # bytes that are not UTF-8, text that is not JSON
        return None
    return len(text[:place].encode())


def _find(text: str, tokens: list[str]) -> int:
    place = _skip(text, 0)
    for token in tokens:
        token = token.replace("~1", "/").replace("~0", "~")
        sign = text[place : place + 1]
        if sign == "{":
            inner = _member(text, place, token)
        elif sign == "[" and token.isdigit():
            inner = _item(text, place, int(token))
        else:
            inner = None
        if inner is None:
            break
        place = inner
    return place


def _member(text: str, place: int, wanted: str) -> int | None:
    """The value of a key; of several, the last one, as parsers have it."""
    found = None
    place = _skip(text, place + 1)
    while text[place : place + 1] == '"':
        key, place = _decode(text, place)
        place = _skip(text, _skip(text, place) + 1)  # after the colon
        if key == wanted:
            found = place
        _, place = _decode(text, place)
        place = _skip(text, place)
        if text[place : place + 1] != ",":
            break
        place = _skip(text, place + 1)
    return found


def _item(text: str, place: int, index: int) -> int | None:
    place = _skip(text, place + 1)
    for _ in range(index):
        if text[place : place + 1] == "]":
            return None
        _, place = _decode(text, place)
        place = _skip(text, place)
        if text[place : place + 1] != ",":
            return None
        place = _skip(text, place + 1)
    return None if text[place : place + 1] == "]" else place


def _skip(text: str, place: int) -> int:
    found = SPACE.match(text, place)
    return found.end() if found else place
