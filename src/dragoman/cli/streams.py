"""What a stream ended in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import terminal
from .faults import MALFORMED, Fault

if TYPE_CHECKING:
    from ..transcoder import Transcoder


def ending(transcoder: Transcoder, name: str) -> str:
    """Nothing, or that the answer is an error; a stream that broke off, or is none, is a Fault."""
    failure = transcoder.reader.failure
    if failure is None:
        return ""
    if transcoder.problem is not None or transcoder.reader.truncated:
        raise Fault(failure.message, MALFORMED, where=name)
    return f"{terminal.bold(name)}: the answer is an error: {terminal.clean(failure.message)}"
