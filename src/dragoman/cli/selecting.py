"""A part of a conversation: messages by their numbers, turns by what they say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import click
from msgspec.structs import replace

from ..model import History, Request, Tree
from ..views.portrait import Fact, Portrait, Turn, many
from .options import Kind

SPAN = re.compile(r"(\d+)(?:-(\d*))?|-(\d+)")


class Numbers(NamedTuple):
    """Messages from ``first`` to ``last``, counted from 1; or the last ones, ``tail``."""

    first: int = 1
    last: int | None = None
    tail: int | None = None

    def of(self, count: int) -> slice:
        if self.tail is not None:
            return slice(max(count - self.tail, 0), count)
        return slice(self.first - 1, self.last)


class NumbersType(Kind):
    """``7``, ``3-7``, ``3-`` (to the end), ``-5`` (the last five)."""

    name = "range"

    def convert(self, value: Any, param: click.Parameter | None, ctx: Any) -> Numbers:
        if isinstance(value, Numbers):
            return value
        seen = SPAN.fullmatch(value)
        if seen is None or value in ("0", "-0"):
            self.fail(
                f"{value!r} is not a range such as 7, 3-7, 3- or -5 (the last five)", param, ctx
            )
        if seen[3]:
            return Numbers(tail=int(seen[3]))
        first = max(int(seen[1]), 1)
        if seen[2] is None:
            return Numbers(first, first)
        last = int(seen[2]) if seen[2] else None
        if last is not None and last < first:
            self.fail(f"{value!r} ends before it begins; did you mean {last}-{first}?", param, ctx)
        return Numbers(first, last)


class PatternType(Kind):
    """A regular expression; without a capital in it, capitals do not matter."""

    name = "pattern"

    def convert(self, value: Any, param: click.Parameter | None, ctx: Any) -> re.Pattern[str]:
        if isinstance(value, re.Pattern):
            return value
        try:
            return re.compile(value, re.IGNORECASE if value == value.lower() else 0)
        except re.error as problem:
            self.fail(f"{value!r} is not a regular expression: {problem}", param, ctx)


def selected(tree: Tree, numbers: Numbers | None) -> Tree:
    """The conversation with those messages alone."""
    if numbers is None or not isinstance(tree, Request | History):
        return tree
    return replace(tree, messages=tree.messages[numbers.of(len(tree.messages))])


def filtered(
    portrait: Portrait, count: int, numbers: Numbers | None, wanted: re.Pattern[str] | None
) -> Portrait:
    """The turns that say it. ``count`` is how many messages there are."""
    turns = portrait.turns
    written: list[Fact] = []
    if numbers is not None:
        first, last, _ = numbers.of(count).indices(count)
        written = [("shown", f"{first + 1:,} to {last:,}" if first < last else "none of them")]
    if wanted is not None:
        turns = tuple(turn for turn in turns if any(map(wanted.search, texts(turn))))
        written += [("found in", f"{len(turns):,} of {many(len(portrait.turns), 'turn')}")]
    facts = [fact for fact in portrait.facts if not fact[1].endswith((" message", " messages"))]
    number = many(count, "message")
    place = 1 if facts and facts[0][0] == "model" else 0
    facts[place:place] = [("", number), *written]
    tools = portrait.tools if turns else ()
    return portrait._replace(turns=turns, facts=tuple(facts), tools=tools)


def texts(value: Any) -> Iterator[str]:
    """All that is written in a turn: texts, names, arguments, results."""
    if value.__class__ is str:
        yield value
    elif isinstance(value, Turn):
        yield from texts(value.items)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from texts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts(item)
