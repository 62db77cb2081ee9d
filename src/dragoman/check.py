"""What would the real API reject?"""

from __future__ import annotations

from . import dialects
from .dialect import Problem
from .model import Json
from .reading import load


def check(doc: Json | bytes, dialect: str, *, facet: str = "request") -> list[Problem]:
    """Everything in a document that the API of its dialect would reject, in no order of weight.

    >>> for problem in check({"model": "m", "messages": []}, "anthropic-messages"):
    ...     print(problem)
    max-tokens at /: max_tokens: Field required
    no-messages at /messages: messages: at least one message is required
    """
    return list(dialects.get(dialect).check(load(doc), facet))
