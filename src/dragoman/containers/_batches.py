"""The records of a batch file, for another vendor: the same ids, around converted documents."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from .. import dialects
from ..convert import convert as convert_document
from ..core.endpoint import Endpoint
from ..core.reading import encode, escape
from ..core.statuses import status_of
from ..errors import DragomanError, Malformed, Unsupported
from ..ledger import Ledger, Loss
from ..model import Failure, Json
from . import _codings
from ._documents import Document, located
from ._kinds import Found, Line, Records, kind_of, kinds
from ._recorded import Options

if TYPE_CHECKING:
    from . import Record, Rewritten

WORDS = {
    "expired": "the request was not processed before the batch expired",
    "canceled": "the batch was canceled before the request was processed",
}


@cache
def shape_for(dialect: str) -> Records | None:
    """The batch files of a dialect's vendor; None where there are none."""
    for kind in kinds():
        if isinstance(kind, Records) and kind.serves(dialect):
            return kind
    return None


def found(kind: Records, line: Line, value: Json) -> Found:
    """The documents of a record: a request, a response, an error; where both are there, both."""
    documents = []
    at = line.at.removesuffix("/params").removesuffix("/body")
    at = at if at.startswith("/requests/") else ""
    if line.asked is not None:
        documents.append(
            Document(
                encode(line.asked),
                line.dialect,
                "request",
                at=at,
                id=line.id,
                why=f"a line of {kind.title}",
                place=line.asked_at.__add__,
            )
        )
    facet = line.kind if line.kind in ("request", "response") else "error"

    def put(document: Json, dialect: str, number: int) -> tuple[Json, tuple[Loss, ...]]:
        return written(kind, line, value, document, dialect, number)

    documents.append(
        Document(
            encode(line.document),
            line.dialect,
            facet,
            at=at,
            id=line.id,
            why=f"a line of {kind.title}",
            place=line.at.__add__,
            status=line.status,
            put=put,
        )
    )
    return Found(at, tuple(documents))


def written(
    kind: Records, line: Line, value: Json, document: Json, dialect: str, number: int
) -> tuple[Json, tuple[Loss, ...]]:
    """A record of the vendor of a dialect, around a document of that dialect."""
    target = shape_for(dialect)
    if target is None:
        raise Unsupported(f"{dialect} has no batch files")
    if target is kind and line.dialect == dialect and document == line.document:
        return value, ()
    losses: list[Loss] = []
    for pointer in line.rest if target is not kind else ():
        why = f"{target.title} has no such field"
        losses.append(Loss("dropped", "container.field", pointer, why, dialect))
    if line.asked is not None and line.kind != "request":
        why = f"{target.title} does not repeat the request"
        losses.append(Loss("dropped", "container.field", line.asked_at, why, dialect))
    id = line.id
    if id is None:
        id = f"request-{number}"
        why = f"the record has no id; {id!r} is written"
        losses.append(Loss("invented", "container.id", line.id_at, why, dialect))
    status = line.status
    if line.kind == "error" and line.dialect != dialect:
        speaker = dialects.get(dialect)
        tree = speaker.read(document, "error")
        if isinstance(tree, Failure):
            status = status_of(tree.kind, speaker.statuses)
    new = line._replace(id=id, document=document, dialect=dialect, status=status)
    record, more = target.write(new, dialect)
    if target is kind:
        record = grafted(record, value, line.rest)
        more = tuple(loss for loss in more if loss.what != "container.id" or id != line.id)
    return record, (*losses, *more)


def grafted(record: Json, before: Json, rest: tuple[str, ...]) -> Json:
    """A record of the same shape, with what only that shape has."""
    for pointer in rest:
        keys = [key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:]]
        old, new = before, record
        for key in keys[:-1]:
            old, new = old.get(key), new.get(key)
        if new.__class__ is dict:
            new[keys[-1]] = old[keys[-1]]
    return record


def losses_of(
    document: Document, losses: Iterable[Loss], more: tuple[Loss, ...]
) -> tuple[Loss, ...]:
    """The losses of a record: of its document, and of the shape around it."""
    found = located(losses, document.place)
    if any(loss.what == "model" for loss in more):  # it is not written at all
        found = (loss for loss in found if loss.what != "model")
    return (*document.notes, *found, *more)


def named(id: str, pattern: str, at: str, why: str, dialect: str) -> tuple[str, tuple[Loss, ...]]:
    """An id that a vendor accepts: as it is, or its characters and a checksum."""
    if re.fullmatch(pattern, id):
        return id, ()
    digest = hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    new = f"{re.sub('[^A-Za-z0-9_-]', '_', id)[:50]}_{digest}"
    return new, (Loss("renamed", "container.id", at, f"{why}; {new!r} is written", dialect),)


def without_model(
    document: Json, key: str, at: str, title: str, dialect: str
) -> tuple[Json, tuple[Loss, ...]]:
    """A request whose model is named where the batch is created."""
    if key not in document:
        return document, ()
    rest = {name: value for name, value in document.items() if name != key}
    why = f"{title} does not name the model; the call that creates the batch does"
    return rest, (Loss("dropped", "model", f"{at}/model", why, dialect),)


def failure(kind: str, dialect: str) -> Json:
    """The error of a request that was never processed, in a dialect."""
    tree = Failure("timeout" if kind == "expired" else "other", WORDS[kind])
    return dialects.get(dialect).write(tree, Ledger())


def rest_of(value: dict[str, Json], known: frozenset[str], at: str = "") -> tuple[str, ...]:
    """The fields of a record that are not among the known, and that say something."""
    return tuple(
        f"{at}/{escape(key)}"
        for key, item in value.items()
        if key not in known and item not in (None, "", {}, [])
    )


def row_of(dialect: str) -> Endpoint | None:
    rows = dialects.get(dialect).endpoints
    return rows[0] if rows else None


# -- a whole file ----------------------------------------------------------------------------------


def convert(data: bytes, value: Json, target: str, options: Options) -> Rewritten:
    """A batch file for another vendor, line by line."""
    from . import Record, Rewritten

    out: list[bytes] = []
    records: list[Record] = []
    if value is not None:
        values: Iterator[tuple[int | None, bytes, Json]] = iter([(None, data, value)])
    else:
        values = _values(data, records)
    for number, written_as, each in values:
        kind = kind_of(each)
        if not isinstance(kind, Records):
            problem = Malformed("not a record of a batch")
            records.append(Record("", number, None, (), problem))
            continue
        for index, line in enumerate(kind.lines(each)):
            try:
                record, losses = _converted(kind, line, each, target, options, number or index + 1)
            except DragomanError as error:
                records.append(Record(line.at, number, line.dialect, (), error))
                continue
            same = record is each
            out.append(written_as.rstrip(b"\r\n") if same else encode(record))
            records.append(Record(line.at, number, line.dialect, losses))
    return Rewritten(b"".join(line + b"\n" for line in out), tuple(records))


def _values(data: bytes, records: list[Record]) -> Iterator[tuple[int | None, bytes, Json]]:
    from . import Record

    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            value = _codings.load_json(line)
        except Malformed as problem:
            records.append(Record("", number, None, (), problem))
            continue
        yield number, line, value


def _converted(
    kind: Records, line: Line, value: Json, target: str, options: Options, number: int
) -> tuple[Json, tuple[Loss, ...]]:
    document = found(kind, line, value).documents[-1]
    if document.dialect is None and options.source is None:
        raise Unsupported("cannot tell the dialect of this record; name it with source=")
    try:
        result = convert_document(
            document.data,
            source=options.source or document.dialect,
            target=target,
            facet=document.facet or "request",
            now=options.now,
            ids=options.ids,
            model=options.model if document.facet == "request" else None,
            models=options.models,
            limit=None,
        )
    except Malformed as problem:
        raise Malformed(problem.what, document.place(problem.at)) from None
    assert document.put is not None
    record, more = document.put(result.document, target, number)
    losses = losses_of(document, result.losses, more)
    log = Ledger()
    log.losses += losses
    log.enforce(options.fail_on)
    return record, tuple(replace(loss, target=loss.target or target) for loss in losses)
