"""Documents that are a file of JSON lines: a session, which its program appends to as it goes on.

Such a dialect has ``lines``. Its document is the list of the values of the lines, and the bytes of
the file are made one JSON text first, the list of them (``as_list``), line by line. So everything
that looks at the bytes of a document (duplicate keys, lone surrogates, limits, the line of an
error) works here as well, and ``/12`` is line 13.

A program may be killed while it writes. A line that is no JSON is its text, which is a string in
the list; so is an empty line. Written again, a string is a line as it stands (``join``).
"""

from __future__ import annotations

import re

from ..errors import Malformed
from ..model import Json
from .reading import BOM, BYTES, LIMIT, UNREADABLE, decode, encode, is_longer

# The end of an object and the beginning of the next one. Inside of one JSON text a comma stands
# between them, and no text in it has a line break.
SEVERAL = re.compile(rb"\}[ \t]*\r?\n\s*\{")


def are_several(data: bytes) -> bool:
    """Whether bytes are surely several objects, one on a line, and not one JSON text."""
    return data[:1] != b"[" and SEVERAL.search(data) is not None


def as_list(data: bytes | bytearray | memoryview) -> bytes:
    r"""The lines of a file as one JSON text; a list of them, as it may be stored, stays.

    >>> as_list(b'{"a": 1}\n\n{"b": \n')
    b'[{"a": 1},\n"",\n"{\\"b\\": "]'
    """
    data = bytes(data).removeprefix(BOM)
    if data.lstrip()[:1] == b"[" and _is_list(data):
        return data
    lines = data.split(b"\n")
    if not lines[-1].strip():
        del lines[-1]
    text = b"[" + b",\n".join(lines) + b"]"
    try:
        values = decode(text)
        if len(values) == len(lines) and str not in set(map(type, values)):
            return text
    except UNREADABLE:
        pass
    return b"[" + b",\n".join(map(_value, lines)) + b"]"


def _is_list(data: bytes) -> bool:
    try:
        return decode(data).__class__ is list
    except UNREADABLE:
        from .surrogates import well_formed  # nearly no file has halves of characters

        return well_formed(data) is not None


def _value(line: bytes) -> bytes:
    """A line as JSON: what it is, or its text."""
    line = line.removesuffix(b"\r")
    try:
        if decode(line).__class__ is not str:
            return line
    except UNREADABLE:
        from .surrogates import ESCAPED, well_formed

        if ESCAPED.search(line) and well_formed(line) is not None:
            return line
    return encode(line.decode("utf-8", "replace"))


def join(values: Json) -> bytes:
    r"""The file: a line for each value, in compact JSON; a text as it is.

    >>> join([{"a": 1}, "", '{"b": '])
    b'{"a":1}\n\n{"b": \n'
    """
    if values.__class__ is not list:
        return encode(values) + b"\n"
    return b"".join([_line(value) + b"\n" for value in values])


def _line(value: Json) -> bytes:
    if value.__class__ is not str:
        return encode(value)
    if "\n" not in value and "\r" not in value:
        try:
            line = value.encode()
            decoded = decode(line) if line else ""
        except UNREADABLE:
            return encode(value) if _has_half(value) else value.encode()
        if decoded.__class__ is str:
            return line
    return encode(value)  # else it would be read as something else


def _has_half(text: str) -> bool:
    try:
        text.encode()
    except UnicodeError:
        return True
    return False


def of(doc: Json | bytes, limit: int | None = LIMIT) -> Json | bytes:
    """A document for a dialect of lines: bytes as one JSON text, unless they are too many."""
    return as_list(doc) if isinstance(doc, BYTES) and not is_longer(doc, limit) else doc


def values_of(doc: Json) -> list[Json]:
    """The values of the lines; ``Malformed`` where no line is an object."""
    if doc.__class__ is not list:
        raise Malformed("expected a list, with the value of each line of the file")
    if dict not in set(map(type, doc)):
        raise Malformed("no line of the file is a JSON object")
    return doc
