"""Documents and streams of every dialect and facet to begin with, for generators and fuzzers.

The corpus has hundreds of documents for the APIs of vendors and a few for each variant. Where it
has few, what another dialect's document of the same case becomes is a seed as well.

``parts`` tells which values stand at a place, over all seeds of a dialect and facet: with another
value of the same place, a document remains one that the reader takes (nearly always).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, TypeAlias
from zlib import crc32

import places
from dragoman import DragomanError, convert, decompose, dialects
from dragoman.dialect import FACETS
from dragoman.laws.wire import TURNS
from dragoman.testing import Document, load_corpus, speaks
from portraits import streams

MOST = 80
"""So many seeds are kept of one dialect and facet."""
ENOUGH = 16
"""With fewer documents in the corpus, as many conversions of each donor are added."""
DONORS = ("openai-chat", "anthropic-messages", "openai-responses", "gemini", "vercel-model")
"""Dialects whose documents are converted."""
DEEP = 12
"""How deep into a document parts are told apart: below, it is free JSON."""

Place: TypeAlias = tuple[Any, ...]

FACES = [
    (name, facet)
    for name in dialects.names()
    for facet, ways in dialects.get(name).facets().items()
    if "read" in ways and facet in FACETS
]
"""Every dialect with every facet that it reads."""
STREAMS = [name for name in dialects.names() if "stream" in dialects.get(name).facets()]


@cache
def corpus() -> dict[tuple[str, str], list[Document]]:
    found: dict[tuple[str, str], list[Document]] = {}
    for case in load_corpus(places.CORPUS):
        for document in case.documents:
            found.setdefault((document.dialect, document.facet), []).append(document)
    return found


STEP = 11
"""One conversation goes to every so many dialects, so that those of a dialect go to all of them."""


def echoed(documents: Iterable[Document]) -> Iterator[tuple[Document, list[str]]]:
    """Conversations, and the dialects that each is edited in, in some seventeen ways."""
    talks: dict[str, list[Document]] = {name: [] for name in TURNS}
    for document in documents:
        if document.dialect in talks and document.facet in ("request", "messages"):
            talks[document.dialect].append(document)
    for found in talks.values():
        step = min(STEP, len(found))
        for number, document in enumerate(found):
            near = [name for place, name in enumerate(TURNS) if (number + place) % step == 0]
            yield document, [name for name in near if speaks(name, document.facet)]


@cache
def documents(dialect: str, facet: str) -> tuple[Any, ...]:
    """The seeds of a dialect and facet; nobody may change them."""
    own = [document.body for document in corpus().get((dialect, facet), ())]
    found = {text(body): body for body in [*own, *converted(dialect, facet, len(own))]}
    chosen = sorted(found, key=lambda written: crc32(written.encode("utf-8", "replace")))[:MOST]
    return tuple(found[written] for written in chosen)


def converted(dialect: str, facet: str, known: int) -> Iterator[Any]:
    """Documents of other dialects, as this one writes them."""
    for donor in DONORS if known < ENOUGH else ():
        others = corpus().get((donor, facet), ())
        for document in others[:: max(len(others) // ENOUGH, 1)]:
            try:
                yield convert(
                    document.body, source=donor, target=dialect, facet=facet, now=0
                ).document
            except DragomanError:
                continue


@cache
def recorded(dialect: str) -> tuple[bytes, ...]:
    """Streams of a dialect: awkward ones, and those that its responses could have come as."""
    found = [stream.data for stream in streams() if stream.dialect == dialect]
    for body in documents(dialect, "response"):
        try:
            found.append(decompose(body, dialect))
        except DragomanError:
            continue
    return tuple(dict.fromkeys(found))


# -- places ------------------------------------------------------------------------------------


def nodes(value: Any) -> Iterator[tuple[Place, Any]]:
    """Every value of a document, with its keys and indices, however deep it nests."""
    waiting: list[tuple[Place, Any]] = [((), value)]
    while waiting:
        path, value = waiting.pop()
        yield path, value
        if isinstance(value, dict):
            waiting += [((*path, key), item) for key, item in reversed(value.items())]
        elif isinstance(value, list):
            waiting += [((*path, i), item) for i, item in reversed([*enumerate(value)])]


def at(value: Any, path: Place) -> Any:
    for step in path:
        value = value[step]
    return value


def kind_of(holder: Any) -> str:
    """Of which type and role an object is, where it says so."""
    if not isinstance(holder, dict):
        return ""
    tags = (holder.get(key) for key in ("type", "role"))
    return "/".join(tag for tag in tags if isinstance(tag, str))


def place_of(document: Any, path: Place) -> Place:
    """The way to a value: keys, any index, and of which kind the objects on it are."""
    steps: list[str] = []
    for step in path:
        steps += [kind_of(document), "*" if isinstance(step, int) else step]
        document = document[step]
    return tuple(steps)


@cache
def parts(dialect: str, facet: str) -> dict[Place, list[Any]]:
    """What stands at each place, over all seeds of a dialect and facet."""
    found: dict[Place, dict[str, Any]] = {}
    for document in documents(dialect, facet):
        for path, value in nodes(document):
            if 0 < len(path) <= DEEP:
                found.setdefault(place_of(document, path), {})[text(value)] = value
    return {place: list(values.values()) for place, values in found.items()}


@cache
def members(dialect: str, facet: str) -> dict[Place, list[str]]:
    """The keys that objects of a kind have at a place: the place, and the kind after it."""
    found: dict[Place, list[str]] = {}
    for *holder, key in parts(dialect, facet):
        if key != "*":
            found.setdefault(tuple(holder), []).append(key)
    return found


@cache
def keys(dialect: str, facet: str) -> frozenset[str]:
    """Every key that a dialect has in documents of a facet."""
    return frozenset(step for place in parts(dialect, facet) for step in place)


@cache
def vocabulary() -> dict[str, list[Any]]:
    """Every key of every dialect, with a few values that stand under it."""
    found: dict[str, dict[str, Any]] = {}
    for dialect, facet in FACES:
        for document in documents(dialect, facet)[:20]:
            for path, value in nodes(document):
                if path and isinstance(path[-1], str) and path[-1]:
                    known = found.setdefault(path[-1], {})
                    if len(known) < 12:
                        known.setdefault(text(value), value)
    return {key: list(values.values()) for key, values in sorted(found.items())}


def text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
