"""dragoman: any LLM conversation, in any format, and exactly what was lost on the way.

>>> import dragoman
>>> result = dragoman.convert(
...     {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]},
...     source="anthropic-messages",
...     target="openai-chat",
... )
>>> result.document
{'model': 'm', 'max_completion_tokens': 9, 'messages': [{'role': 'user', 'content': 'Hi'}]}
>>> result.losses
()
"""

from typing import TYPE_CHECKING

from .check import check
from .convert import convert, join, read, write
from .core import models
from .detect import Guesses, detect
from .dialect import Facet, Guess, Problem
from .errors import (
    CapsuleError,
    DragomanError,
    Lossy,
    Malformed,
    MissingExtra,
    Undetected,
    Unsayable,
    Unsupported,
)
from .formats import Format, formats
from .ledger import Loss, Restored
from .repair import repair, repair_passes
from .result import Result

if TYPE_CHECKING:
    from .exchange import Exchange
    from .session import Session, Sessions
    from .streams.transcoder import (
        Transcoder,
        atranscode,
        collect,
        convert_event,
        decompose,
        transcode,
    )

_STREAMS = ("Transcoder", "atranscode", "collect", "convert_event", "decompose", "transcode")


def __getattr__(name: str) -> object:
    """Streams, sessions and exchanges are loaded when first asked for."""
    if name in ("Session", "Sessions"):
        from . import session

        return getattr(session, name)
    if name == "Exchange":
        from .exchange import Exchange

        return Exchange
    if name in _STREAMS:
        from .streams import transcoder

        return getattr(transcoder, name)
    raise AttributeError(f"module 'dragoman' has no attribute {name!r}")


__all__ = [
    "CapsuleError",
    "DragomanError",
    "Exchange",
    "Facet",
    "Format",
    "Guess",
    "Guesses",
    "Loss",
    "Lossy",
    "Malformed",
    "MissingExtra",
    "Problem",
    "Restored",
    "Result",
    "Session",
    "Sessions",
    "Transcoder",
    "Undetected",
    "Unsayable",
    "Unsupported",
    "atranscode",
    "check",
    "collect",
    "convert",
    "convert_event",
    "decompose",
    "detect",
    "formats",
    "join",
    "models",
    "read",
    "repair",
    "repair_passes",
    "transcode",
    "write",
]
__version__ = "0.1.0"
