"""Validation: what the real API would reject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from . import dialects
from .core import lines
from .core.models import Models, given
from .core.reading import LIMIT, load, nearest
from .dialect import Facet, Problem
from .errors import Malformed
from .model import Json


def check(
    doc: Json | bytes,
    dialect: str,
    *,
    facet: Facet | str = "request",
    models: Models | Mapping[str, Any] | None = None,
    limit: int | None = LIMIT,
) -> list[Problem]:
    """Everything in a document that the API of its dialect would reject.

    >>> for problem in check({"model": "m", "messages": []}, "anthropic-messages"):
    ...     print(problem)
    max-tokens at /: max_tokens: Field required
    no-messages at /messages: messages: at least one message is required

    Rules that depend on the model use the model name in the request; ``models`` adds rows of your
    own to the table of model facts (``dragoman.models``). ``limit`` is how many bytes a document
    may have (None: any number).
    """
    speaker = dialects.get(dialect)
    value = load(lines.of(doc, limit) if speaker.lines else doc, limit)
    try:
        return [
            problem
            if not left
            else replace(problem, path=where)  # what is missing has no path of its own
            for problem in speaker.check(value, facet, given(models))
            for where, left in (nearest(value, problem.path),)
        ]
    except RecursionError:
        raise Malformed("nested too deeply") from None
