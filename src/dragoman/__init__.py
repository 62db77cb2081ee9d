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

from .check import check
from .convert import Result, convert, join, read, write
from .detect import detect
from .dialect import Guess, Problem
from .errors import DragomanError, Lossy, Malformed, Unsayable, Unsupported
from .formats import Format, formats
from .ledger import Loss
from .repair import repair, repair_passes

__all__ = [
    "DragomanError",
    "Format",
    "Guess",
    "Loss",
    "Lossy",
    "Malformed",
    "Problem",
    "Result",
    "Unsayable",
    "Unsupported",
    "check",
    "convert",
    "detect",
    "formats",
    "join",
    "read",
    "repair",
    "repair_passes",
    "write",
]
__version__ = "0.1.0"
