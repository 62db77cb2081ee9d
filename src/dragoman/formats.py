"""What exists: the dialects, their facets and directions."""

from __future__ import annotations

import re
from math import inf
from typing import NamedTuple

from msgspec import Struct

from . import dialects
from .core.declared import NO, YES
from .core.fields import NAMES


class Format(Struct, frozen=True):
    """One dialect: ``facets`` maps each facet to its directions, ``("read", "write")``."""

    name: str
    aliases: tuple[str, ...]
    spec: str
    facets: dict[str, tuple[str, ...]]


def formats() -> tuple[Format, ...]:
    """Every dialect there is, those of installed packages included."""
    found = (dialects.get(name) for name in dialects.names())
    return tuple(Format(d.name, d.aliases, d.spec, d.facets()) for d in found)


class Difference(NamedTuple):
    """A code of which the target declares less than the source, or something else."""

    code: str
    source: str
    """What the source declares, in a word or two: ``yes``, ``0 to 2``, ``image, document``."""
    target: str


_FACETS = {
    "tool": {"tools", "request"},
    "tool_choice": {"tool-choice", "request"},
    **{word: {"response"} for word in ("response", "stop", "usage")},
    **{word: {"request"} for word in NAMES},
    **{word: {"request", "response"} for word in ("candidates", "logprobs", "service_tier")},
    "stop.sequence": {"response"},
    "stop.detail": {"response"},
    "error": {"error", "response"},
}
"""Documents that may have what a code is about, by the code or its first word."""
_CONVERSATION = {"request", "messages", "response"}


def differences(source: str, target: str, facet: str | None = None) -> tuple[Difference, ...]:
    """What both dialects declare, where the target cannot hold all that the source can.

    A code that depends on more than a declaration (the model, a schema) is not in it.
    """
    one, other = dialects.get(source), dialects.get(target)
    facets = {f for f, ways in one.facets().items() if "read" in ways}
    facets &= {f for f, ways in other.facets().items() if "write" in ways}
    if facet is not None:
        facets &= {facet}
    mine, theirs = one.declared(), other.declared()
    return tuple(
        Difference(code, word, theirs[code])
        for code, word in mine.items()
        if word != NO
        and code in theirs
        and not _covers(theirs[code], word)
        and not facets.isdisjoint(_facets_of(code))
    )


def _covers(theirs: str, mine: str) -> bool:
    """Whether all that one declares is in what the other does."""
    if theirs in (YES, mine):
        return True
    if mine == "responses":
        return theirs not in (NO, "history") and not theirs.startswith("requests")
    if (wide := _range(theirs)) is not None and (narrow := _range(mine)) is not None:
        return wide[0] <= narrow[0] and narrow[1] <= wide[1]
    return mine != YES and set(mine.split(", ")) <= set(theirs.split(", "))


_range_words = re.compile(r"(?:from |up to )?(-?[\d.]+)(?: to (-?[\d.]+))?").fullmatch


def _range(word: str) -> tuple[float, float] | None:
    """``0 to 2``, ``from 1`` or ``up to 4`` as numbers."""
    if (found := _range_words(word)) is None:
        return None
    least, most = found.groups()
    if word.startswith("up to "):
        return -inf, float(least)
    return float(least), inf if most is None else float(most)


def _facets_of(code: str) -> set[str]:
    """Documents that may have what a code is about."""
    return _FACETS.get(code) or _FACETS.get(code.partition(".")[0], _CONVERSATION)
