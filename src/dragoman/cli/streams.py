"""What a stream ended in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from . import terminal
from .faults import MALFORMED, Fault

if TYPE_CHECKING:
    from ..streams.transcoder import Transcoder


def transcoded(transcoder: Transcoder, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """What the bytes of a stream become, piece by piece, until they end or make no sense."""
    for chunk in chunks:
        yield transcoder.feed(chunk)
        # Nothing that comes after is read, and it may have no end. What passes as it is, passes.
        if transcoder.problem is not None or (transcoder.ended and not transcoder.same):
            break
    yield transcoder.close()


def ending(transcoder: Transcoder, name: str) -> str:
    """Nothing, or that the reply is an error; a stream that broke off, or is none, is a Fault."""
    failure = transcoder.reader.failure
    if failure is None:
        return ""
    if transcoder.problem is not None or transcoder.reader.truncated:
        raise Fault(failure.message, MALFORMED, where=name)
    return f"{terminal.bold(name)}: the response is an error: {terminal.clean(failure.message)}"
