"""How documents look when they are written, and what a command line can say of time and ids."""

from __future__ import annotations

import click
import msgspec

from .. import dialects
from ..core.surrogates import HALF


def document(data: bytes, dialect: str, on_a_line: bool) -> bytes:
    """A document as it is written; a file of JSON lines has them already."""
    return data if dialects.get(dialect).lines else json_text(data, on_a_line)


def json_text(data: bytes, on_a_line: bool) -> bytes:
    """JSON for people (indented), or on one line; the line ends."""
    return (data if on_a_line else indented(data, 2)) + b"\n"


def indented(data: bytes, indent: int) -> bytes:
    """JSON for people, a line for each value; lone surrogates stay the escapes that they are."""
    try:
        return msgspec.json.format(data, indent=indent)
    except msgspec.MsgspecError:
        import json

        text = json.dumps(json.loads(data), indent=indent, ensure_ascii=False)
        return HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text).encode()


def time_of(written: str | None) -> float | None:
    """``now``, or seconds since 1970."""
    if written is None:
        return None
    if written == "now":
        import time

        return time.time()
    try:
        return float(written)
    except ValueError:
        raise click.BadParameter(
            f"{written!r} is neither `now` nor a number of seconds", param_hint="--now"
        ) from None


def random_id(prefix: str) -> str:
    """An id that nobody else has."""
    import uuid

    return f"{prefix}_{uuid.uuid4().hex}"
