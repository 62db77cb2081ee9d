"""Conversations inside of other documents: at a JSON pointer, or in a container.

What stands in them is a document as any; ``Document.place`` tells where, so that the ledger and the
errors point into the file that people have. ``dragoman.containers`` knows the containers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from .. import containers
from ..core import duplicates
from ..core.reading import UNREADABLE, decode, encode, escape
from ..core.surrogates import parse_exactly
from ..errors import DragomanError, Malformed, MissingExtra
from ..ledger import Loss
from ..model import Json
from .faults import IO, MALFORMED, USAGE, Fault
from .inputs import Document, Hint, Nothing, limit


class View(NamedTuple):
    """What of a document is meant: what stands at pointers, one facet of a pair, or both joined."""

    at: tuple[str, ...] = ()
    facet: str | None = None
    join: bool = False


class Part(NamedTuple):
    """A value inside of another, and where it stands there."""

    at: str
    value: Json


def may_wrap(data: bytes) -> bool:
    """Whether a document has what every file of some kind of container has."""
    return containers.may_be(data)


def unwrap(document: Document, view: View) -> Iterator[Document]:
    """The conversations of a document; mostly that is the document itself.

    One that has a ``problem`` is a record that could not be read.
    """
    if document.is_packed:
        yield from unpacked(document, view)
        return
    if view.at:
        whole = parse_exactly(document.data)
        for part in found(whole, view.at, document.name):
            yield from opened(document, part, view)
        return
    if not may_wrap(document.data):
        yield document
        return
    try:
        whole = parse_exactly(document.data)
    except Malformed:
        yield document  # which is written when it is read
        return
    yield from opened(document, Part("", whole), view)


def unpacked(document: Document, view: View) -> Iterator[Document]:
    """What stands in a container that is not JSON."""
    name = document.input.name
    coding = containers.coding_of(document.data, name)
    if coding is None:
        raise Fault("not a container that dragoman knows", MALFORMED, where=document.name)
    if coding == "yaml" and not view.at and b"interactions" not in document.data:
        raise Nothing("no cassette in this YAML", USAGE, where=document.name)
    try:
        value = containers.load(document.data, coding, limit())
    except MissingExtra as problem:
        if document.input.base is None:
            raise
        raise Nothing(str(problem), IO, where=document.name) from None
    if view.at:
        for part in found(value, view.at, document.name):
            yield from opened(document, part, view)
        return
    if containers.kind_of(value) is None:
        what = f"no conversation that dragoman knows in this {containers.CODINGS[coding]}"
        raise Nothing(what, USAGE, where=document.name, hint="--at POINTER names its place")
    yield from opened(document, Part("", value), view)


def opened(document: Document, part: Part, view: View) -> Iterator[Document]:
    value = part.value
    kind = containers.kind_of(value)
    if kind is not None:
        count = 0
        for record in kind.documents(value, limit()):
            count += 1
            yield from shown(document, record, part.at, view)
        if not count and document.line is None:  # a line of a trace may be no call
            what = f"no call of a model in this {kind.name} file"
            raise Nothing(what, USAGE, where=document.name)
    elif part.at:
        inner = text_of(value)
        notes = twice_in(value, part.at)
        yield document.inside(part.at, encode(inner), None, label=part.at, notes=notes)
    else:
        yield document


def shown(document: Document, record: containers.Found, at: str, view: View) -> Iterator[Document]:
    """What of a record is meant: its documents each for itself, one of them, or joined."""
    label = at + record.at
    if record.problem is not None:
        yield failed(document, record.problem, at, label)
        return
    inner = [held(document, each, at, label) for each in record.documents]
    joins = view.join and view.facet is None
    if joins and record.reply_problem is not None:
        yield failed(document, record.reply_problem, at, label)
    elif joins and len(inner) == 2:
        from .joining import joined

        try:
            yield joined(inner[0], inner[1])
        except (DragomanError, Fault) as problem:
            yield failed(document, problem, "", label)
    else:
        yield from (each for each in inner if view.facet in (None, facet_of(each)))
        if record.reply_problem is not None and view.facet != "request":
            yield failed(document, record.reply_problem, at, label)


def facet_of(document: Document) -> str | None:
    """The facet that a container tells; a request whose address says nothing is one as well."""
    return "request" if document.hint is None else document.hint.facet


def held(document: Document, inner: containers.Document, at: str, label: str) -> Document:
    """A document of a container as one of the command line."""
    hint = None
    if inner.dialect is not None and inner.facet is not None:
        stream_at = inner.asks_stream and at + inner.asks_stream
        hint = Hint(inner.dialect, inner.facet, inner.why, asks_stream=stream_at)
    notes = tuple(replace(loss, path=at + loss.path) for loss in inner.notes)
    made = document.inside("", inner.data, hint, label=label, notes=notes)
    made.place = lambda path: at + inner.place(path)
    made.put, made.id = inner.put, inner.id
    return made


def failed(document: Document, problem: Exception, at: str, label: str) -> Document:
    """A record of which there is no document, and why."""
    if isinstance(problem, containers.NoCall):
        problem = Nothing(str(problem), USAGE, where=document.name)
    elif isinstance(problem, Malformed):
        problem = Malformed(problem.what, at + problem.at)
    made = document.inside("", b"", None, label=label)
    made.problem = problem
    return made


# -- pointers --------------------------------------------------------------------------------------


def found(whole: Json, pointers: tuple[str, ...], name: str) -> Iterator[Part]:
    """What stands at the pointers; ``*`` is every item of a list, or every value of an object."""
    for pointer in pointers:
        parts = list(resolve(whole, pointer))
        if not parts:
            raise Nothing(f"nothing at {pointer}", MALFORMED, where=name)
        yield from parts


def resolve(whole: Json, pointer: str) -> Iterator[Part]:
    """The values at a pointer, of which a token may be ``*``.

    >>> list(resolve({"a": [{"b": 1}, {"b": 2}]}, "/a/*/b"))
    [Part(at='/a/0/b', value=1), Part(at='/a/1/b', value=2)]
    """
    parts = [Part("", whole)]
    for token in pointer.split("/")[1:]:
        parts = [inner for part in parts for inner in _step(part, token)]
    return iter(parts)


def _step(part: Part, token: str) -> Iterator[Part]:
    at, value = part.at, text_of(part.value)
    key = token.replace("~1", "/").replace("~0", "~")
    if value.__class__ is dict:
        keys = list(value) if token == "*" and "*" not in value else [key]
        yield from (Part(f"{at}/{escape(k)}", value[k]) for k in keys if k in value)
    elif value.__class__ is list:
        count = range(len(value))
        indices = count if token == "*" else [int(key)] if key.isdecimal() else []
        yield from (Part(f"{at}/{i}", value[i]) for i in indices if i in count)


def placed(whole: Json, at: str, value: Json) -> Json:
    """The document with another value at a pointer; the document itself is not changed."""
    if not at:
        return value
    head, *rest = at.split("/")[1:]
    key = head.replace("~1", "/").replace("~0", "~")
    tail = "".join(f"/{token}" for token in rest)
    if whole.__class__ is list:
        index = int(key)
        return [*whole[:index], placed(whole[index], tail, value), *whole[index + 1 :]]
    return whole | {key: placed(whole[key], tail, value)}


def text_of(value: Json) -> Json:
    """What a text says if it is JSON, as the bodies of HAR files are; any other value as it is."""
    if value.__class__ is str and value.lstrip()[:1] in ("{", "["):
        try:
            return decode(value.encode())
        except UNREADABLE:
            pass
    return value


def twice_in(value: Json, at: str) -> tuple[Loss, ...]:
    """What a text loses where it is taken for the JSON that it is: keys that stand in it twice."""
    inner = text_of(value)
    if inner is value:
        return ()
    losses = duplicates.losses(value.encode(), inner)
    return tuple(replace(loss, path=at + loss.path) for loss in losses)
