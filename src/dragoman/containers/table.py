"""Columns of Parquet and Arrow files: cells with conversations, as JSON text or lists of structs.

A row with a request and a response, or in the shape of a record of a batch, is read as such; else
each column whose cells are conversations. A converted file has texts of JSON in those columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, ClassVar

from ..convert import convert
from ..core.reading import UNREADABLE, decode, encode, escape
from ..detect import candidates, is_tied
from ..errors import DragomanError, Malformed, Unsupported
from ..ledger import Ledger, Loss
from ..model import Json
from ._documents import Document, located
from ._kinds import Coding, Container, Found, kind_of
from ._recorded import Options
from ._tables import Table, rewritten

LOOKED_AT = 32
"""How many rows are read to see which columns have conversations."""
SURE = 0.5


class Columns(Container):
    name = "table"
    title = "a table of Parquet or Arrow"
    spec = "https://parquet.apache.org/docs/file-format/"
    codings: ClassVar[tuple[Coding, ...]] = ("parquet", "arrow")
    is_rewritten = True

    def claims(self, value: Json) -> bool:
        return isinstance(value, Table)

    def documents(self, value: Json, limit: int | None) -> Iterator[Found]:
        assert isinstance(value, Table)
        columns = columns_of(value)
        for number, row in enumerate(value.rows()):
            parsed = {name: _parsed(cell) for name, cell in row.items()}
            kind = kind_of(parsed)
            if kind is not None and kind.name in ("pair", *BATCHES):
                for found in kind.documents(parsed, limit):
                    yield _moved(found, f"/{number}")
                continue
            for column in columns:
                cell = parsed.get(column)
                if cell.__class__ in (dict, list):
                    yield _cell(cell, number, column)


BATCHES = ("openai-batch", "anthropic-batch", "gemini-batch", "bedrock-batch")


def columns_of(table: Table) -> tuple[str, ...]:
    """The columns that have conversations, by their first rows."""
    found: dict[str, None] = {}
    for row in islice(table.rows(), LOOKED_AT):
        for name, cell in row.items():
            value = _parsed(cell)
            if name not in found and value and value.__class__ in (dict, list):
                guesses = candidates(value)
                if guesses and guesses[0].confidence >= SURE:
                    found[name] = None
    return tuple(found)


def _parsed(cell: Json) -> Json:
    if cell.__class__ is str and cell.lstrip()[:1] in ("{", "["):
        try:
            return decode(cell.encode())
        except UNREADABLE:
            return cell
    return cell


def _cell(value: Json, number: int, column: str) -> Found:
    at = f"/{number}/{escape(column)}"
    return Found(at, (Document(encode(value), None, None, at=at, place=at.__add__),))


def _moved(found: Found, at: str) -> Found:
    for document in found.documents:
        place = document.place
        document.place = lambda path, place=place: at + place(path)  # type: ignore[misc]
        document.at, document.put = at + document.at, None
    return found._replace(at=at + found.at)


def rewrite(table: Table, target: str, options: Options) -> Any:
    """The file with its conversations in another dialect, as texts of JSON."""
    from . import Record, Rewritten

    columns = columns_of(table)
    if not columns:
        raise Unsupported("no column of this table has conversations that dragoman knows")
    cells: dict[str, dict[int, bytes]] = {column: {} for column in columns}
    records: list[Record] = []
    is_changed = False
    for number, row in enumerate(table.rows()):
        for column in columns:
            value = _parsed(row.get(column))
            if value.__class__ not in (dict, list):
                continue
            at = f"/{number}/{escape(column)}"
            try:
                source, data, losses = _converted(value, at, target, options)
            except DragomanError as problem:
                records.append(Record(at, None, None, (), problem))
                continue
            if source != target or options.model is not None:
                cells[column][number], is_changed = data, True
            records.append(Record(at, None, source, losses))
    if not is_changed:
        return Rewritten(table.data, tuple(records))
    return Rewritten(rewritten(table, cells), tuple(records))


def _converted(
    value: Json, at: str, target: str, options: Options
) -> tuple[str, bytes, tuple[Loss, ...]]:
    guesses = candidates(value)
    facet = guesses[0].facet if guesses else "messages"
    source = options.source
    if source is None:
        if not guesses or is_tied(guesses):
            raise Malformed("the dialect of this cell is not certain; name it", at)
        source = guesses[0].dialect
    else:
        own = [guess for guess in guesses if guess.dialect == source]
        usual = "messages" if value.__class__ is list else "request"
        facet = own[0].facet if own else usual
    try:
        result = convert(
            value,
            source=source,
            target=target,
            facet=facet,
            now=options.now,
            ids=options.ids,
            model=options.model if facet == "request" else None,
            models=options.models,
        )
    except Malformed as problem:
        raise Malformed(problem.what, at + problem.at) from None
    losses = tuple(located(result.losses, at.__add__))
    log = Ledger()
    log.losses += losses
    log.enforce(options.fail_on)
    return source, result.to_json(), losses


CONTAINER = Columns()
