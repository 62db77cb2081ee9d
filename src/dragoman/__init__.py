"""dragoman: any LLM conversation, in any format, and exactly what was lost on the way."""

from .convert import Result, convert, join, read, write
from .dialect import Guess, Problem
from .errors import DragomanError, Lossy, Malformed, Unsupported
from .ledger import Ledger, Loss

__all__ = [
    "DragomanError",
    "Guess",
    "Ledger",
    "Loss",
    "Lossy",
    "Malformed",
    "Problem",
    "Result",
    "Unsupported",
    "convert",
    "join",
    "read",
    "write",
]
__version__ = "0.1.0"
