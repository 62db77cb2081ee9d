"""Which dialect a record is of, quickly: records of one shape are of one dialect.

To weigh the evidence of a document takes longer than to convert it, and most records of a log look
alike. So the shape of a record (which keys it has, which roles and types, how its model and its ids
begin) is looked up first. What has been seen is forgotten at the end of each chunk: the answer
depends on the chunk alone, whoever works on it.
"""

from __future__ import annotations

from typing import NamedTuple

from ..detect import alike, candidates
from ..errors import Unsupported
from ..model import Json
from .options import writer_of

SURE = 0.5
TELLING = ("role", "type", "from", "object", "sender", "model", "kind")
"""Keys whose values say what an object is."""
PARTS = ("content", "parts", "message", "payload", "tool_calls", "function", "source")
"""Keys of a message below which its blocks stand."""
LOOKED_INTO = frozenset((*TELLING, *PARTS, "id"))
START = 6
"""How much of a text is looked at: ``<bos>...``."""
FAMILY = 12
"""How long the first word of an id is at most that all ids of one API begin with."""


class Source(NamedTuple):
    dialect: str
    facet: str


class Detector:
    """Finds the dialect of records; ``source`` is what the user told."""

    def __init__(self, source: str | None) -> None:
        self.source = source
        self.seen: dict[object, Source] = {}

    def forget(self) -> None:
        self.seen.clear()

    def find(self, value: Json, dialect: str | None, facet: str | None) -> Source:
        """What a record is; an error where nobody can tell."""
        if dialect is not None and facet is not None:
            return Source(self.source or dialect, facet)
        if self.source is not None:
            return Source(self.source, facet or facet_of(value))
        shape = (facet, shape_of(value))
        found = self.seen.get(shape)
        if found is None:
            found = self.seen[shape] = detected(value, facet)
        return found


def facet_of(value: Json) -> str:
    return "messages" if value.__class__ is list else "request"


def detected(value: Json, facet: str | None) -> Source:
    guesses = candidates(value, facet)
    if not guesses or guesses[0].confidence < SURE:
        raise Unsupported("cannot tell the dialect of this record; name it with -f")
    if rivals := alike(guesses):
        names = ", ".join(dict.fromkeys(guess.dialect for guess in rivals))
        raise Unsupported(f"cannot tell the dialect: {names} match equally; name it with -f")
    return Source(guesses[0].dialect, guesses[0].facet)


def response_source(value: Json, asked: str) -> str:
    """The dialect of a reply: what it looks like, or that of its request."""
    guesses = candidates(value, "response")
    own = next((guess for guess in guesses if guess.dialect == asked), None)
    if not guesses or own is not None or guesses[0].confidence < SURE or alike(guesses):
        return asked
    related = isinstance(writer_of(asked), type(writer_of(guesses[0].dialect)))
    return asked if related else guesses[0].dialect


def shape_of(value: Json) -> object:
    """What a document looks like, without what it says.

    >>> shape_of([{"role": "user", "content": "Hi"}]) == shape_of([{"role": "user", "content": ""}])
    True
    """
    if value.__class__ is dict:
        return tuple([(key, _top(key, item)) for key, item in value.items()])
    return _items(value) if value.__class__ is list else value.__class__


def _top(key: str, value: Json) -> object:
    """What stands under a key of the document."""
    kind = value.__class__
    if kind is list:
        return _items(value)
    if kind is dict:
        return _item(value)
    if kind is str:
        return value if key in TELLING else value[:START]
    return kind


def _items(values: list[Json]) -> frozenset[object]:
    return frozenset([_item(value) for value in values])


def _item(value: Json) -> object:
    """A message, a block, a tool: its keys, what it is called, and what its parts are."""
    if value.__class__ is not dict:
        return value.__class__
    parts: list[object] = [tuple(value)]
    for key, inner in value.items():
        if key not in LOOKED_INTO:
            continue
        kind = inner.__class__
        if kind is str and key in TELLING:
            parts.append(inner)
        elif kind is str and key == "id":
            parts.append(family(inner))
        elif kind is list and key in PARTS:
            parts.append(_items(inner))
        elif kind is dict and key in PARTS:
            parts.append(_item(inner))
        else:
            parts.append(kind)
    return tuple(parts)


def family(name: str) -> tuple[str, int]:
    """What ids of one API have in common: how they begin, and how long they are.

    >>> family("call_a1b2"), family("toolu_01XYZ"), family("D681PevKs")
    (('call', 9), ('toolu', 11), ('', 9))
    """
    head, mark, _ = name[:FAMILY].partition("_")
    return (head if mark else ""), len(name)
