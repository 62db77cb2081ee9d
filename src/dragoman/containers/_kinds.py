"""What a container is: how it is recognised, what stands in it, and how that is put back.

A file of this package whose name has no underscore is one kind of container; its ``CONTAINER`` is
found by that name. There are three:

- a *recording* of calls over HTTP (HAR, cassettes, dumps of proxies): ``calls`` gives them, ``put``
  writes one anew;
- a file of *records* (batches), of which each line is one: ``record`` reads it, ``write`` spells it
  for another vendor;
- an *export* (of a chat, of traces), which is only read: ``documents``.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import ClassVar, Literal, NamedTuple

from ..errors import DragomanError
from ..ledger import Loss
from ..model import Json
from . import _wire
from ._documents import Document
from ._wire import Call

Coding = Literal["json", "yaml", "flows", "zip", "parquet", "arrow"]


class Container:
    """One kind of container."""

    name: ClassVar[str]
    title: ClassVar[str]
    spec: ClassVar[str]
    """the page that describes it"""
    codings: ClassVar[tuple[Coding, ...]] = ("json",)
    """how its bytes are written"""
    signs: ClassVar[tuple[tuple[bytes, ...], ...]] = ()
    """keys that stand in the bytes of every file of JSON: all of one group, the rarest first"""
    is_rewritten: ClassVar[bool] = False
    """whether the file can be written anew as a whole, with its documents in another dialect"""
    rank: ClassVar[int] = 0
    """those of a lower rank are asked first"""

    def claims(self, value: Json) -> bool:
        """Whether a parsed file, or a line of one, is of this kind."""
        raise NotImplementedError

    def documents(self, value: Json, limit: int | None) -> Iterator[Found]:
        """What stands in it, one after the other."""
        raise NotImplementedError


class Found(NamedTuple):
    """One record: its documents, or why it has none."""

    at: str
    documents: tuple[Document, ...] = ()
    problem: DragomanError | None = None
    reply_problem: DragomanError | None = None
    """why there is no reply, where there is a request"""


class Recording(Container):
    """A recording of calls over HTTP."""

    is_rewritten = True
    is_sparse: ClassVar[bool] = True
    """Whether it has all traffic, of which only some are calls of models."""

    holds_bytes: ClassVar[bool] = True
    """Whether a body that is no text can be written where the file is JSON."""

    def calls(self, value: Json) -> Iterator[Call]:
        """All calls, in their order; one that is damaged has a ``problem``."""
        raise NotImplementedError

    def put(self, value: Json, index: int, old: Call, new: Call) -> Iterable[Loss]:
        """Write a call anew, in its place in the value; what is the same object is not written."""
        raise NotImplementedError

    def documents(self, value: Json, limit: int | None) -> Iterator[Found]:
        for call in self.calls(value):
            if call.problem or not self.is_sparse or _wire.is_model_call(call):
                yield found(call, limit)


def found(call: Call, limit: int | None) -> Found:
    """The documents of a call."""
    call = _wire.plain(call, limit)
    try:
        request = _wire.request_of(call)
    except DragomanError as problem:
        return Found(call.at, (), problem)
    if not _wire.has_document(call):
        return Found(call.at, (request,))
    try:
        reply = _wire.reply_of(call, request.dialect, limit)
    except DragomanError as problem:
        return Found(call.at, (request,), None, problem)
    return Found(call.at, (request, reply))


@cache
def kinds() -> tuple[Container, ...]:
    """All of them, by their rank and name."""
    package = __name__.rpartition(".")[0]
    folder = importlib.import_module(package)
    names = [m.name for m in pkgutil.iter_modules(folder.__path__) if not m.name.startswith("_")]
    made: list[Container] = [
        importlib.import_module(f"{package}.{name}").CONTAINER for name in sorted(names)
    ]
    return tuple(sorted(made, key=lambda kind: (kind.rank, kind.name)))


def kind_of(value: Json) -> Container | None:
    """What a parsed file, or a line of one, is; None: no container."""
    return next((kind for kind in kinds() if kind.claims(value)), None)


@cache
def _signs() -> tuple[re.Pattern[bytes], tuple[tuple[bytes, ...], ...]]:
    signs = tuple(dict.fromkeys(sign for kind in kinds() for sign in kind.signs))
    firsts = dict.fromkeys(sign[0].strip(b'"') for sign in signs)
    # One pass for all that is rare; what has none of it is no container, as nearly everything.
    return re.compile(b'"(?:%b)"' % b"|".join(map(re.escape, firsts))), signs


def may_be(data: bytes) -> bool:
    """Whether bytes have what every file of some kind has; anything else need not be parsed."""
    first, signs = _signs()
    if first.search(data) is None:
        return False
    return any(all(part in data for part in sign) for sign in signs)


# -- batches ---------------------------------------------------------------------------------------

LineKind = Literal["request", "response", "error", "expired", "canceled"]


class Line(NamedTuple):
    """One record of a batch file, apart from the shape that its vendor gives it."""

    id: str | None
    kind: LineKind
    document: Json
    dialect: str | None
    at: str
    """where the document stands in the record"""
    id_at: str = ""
    status: int = 200
    rest: tuple[str, ...] = ()
    """pointers of what only this vendor's files have"""
    asked: Json = None
    """the request, where results repeat it; ``asked_at`` is its place"""
    asked_at: str = ""


class Records(Container):
    """A file of records, one per line: requests, or what became of them."""

    def lines(self, value: Json) -> Iterator[Line]:
        """The records of one line; some files have all of them in one document."""
        raise NotImplementedError

    def serves(self, dialect: str) -> bool:
        """Whether files of this shape are for the API of a dialect."""
        raise NotImplementedError

    def write(self, line: Line, dialect: str) -> tuple[Json, tuple[Loss, ...]]:
        """A record in this shape; its document is in that dialect already."""
        raise NotImplementedError

    def documents(self, value: Json, limit: int | None) -> Iterator[Found]:
        from . import _batches

        for line in self.lines(value):
            yield _batches.found(self, line, value)
