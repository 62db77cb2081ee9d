"""Records: what stands in a piece of a file, each for itself, with its place.

A record is a conversation, or a request with its response. Lines are read as bytes and parsed one
by one, so a value that is a string here and a list there stays what it is; in tables, cells of text
are parsed likewise. A record that cannot be read has a ``problem``, and the others go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from .. import containers
from ..containers import _tables
from ..core import duplicates, lines, surrogates
from ..core.reading import UNREADABLE, decode, escape, parse
from ..detect import begins_lines, candidates
from ..errors import DragomanError, Malformed, Unsupported
from ..ledger import Loss
from ..model import Json
from .inputs import TABLES, Input, Piece, lines_of, read_whole, suffix, unreadable
from .options import Options, writer_of

BATCHES = ("openai-batch", "anthropic-batch", "gemini-batch", "bedrock-batch")
PLAIN = frozenset(
    (
        *(
            "model",
            "messages",
            "contents",
            "input",
            "system",
            "instructions",
            "tools",
            "tool_choice",
        ),
        *("max_tokens", "max_completion_tokens", "max_output_tokens", "temperature", "top_p"),
        *("top_k", "stop", "seed", "stream", "thinking", "reasoning_effort", "metadata", "text"),
        *("parallel_tool_calls", "response_format", "conversations", "prompt", "completion"),
    )
)
"""Keys that no container has alone: what has no others is looked at no further."""
DATABASE = b"SQLite format 3\0"
"""How the files begin in which some agents store their sessions."""
LOOKED_AT = 32
SURE = 0.5
WHOLE_ROW = ""
"""Stands for a column: the row itself is a conversation."""
HISTORIES = ("messages", "conversations", "contents", "prompt", "chosen")


class Part(Struct, frozen=True):
    """A document of a record; dialect and facet where something around it tells them."""

    value: Json
    dialect: str | None = None
    facet: str | None = None


class Record(Struct, frozen=True):
    """``line`` counts from 1 in its piece; ``at`` points into the line or the file."""

    line: int | None
    at: str = ""
    asked: Part | None = None
    reply: Part | None = None
    carried: dict[str, Json] = {}
    conversation: Json = None
    """what its column says of which conversation it is"""
    notes: tuple[Loss, ...] = ()
    problem: Exception | None = None


class Reading:
    """The records of a piece, to be iterated once; ``lines`` is how many lines or rows were read.

    What fails of the file itself is a record with a problem.
    """

    def __init__(self, piece: Piece, input: Input, options: Options) -> None:
        self.piece, self.input, self.options = piece, input, options
        self.lines = 0

    def __iter__(self) -> Iterator[Record]:
        try:
            yield from _READ[self.piece.kind](self)
        except unreadable() as problem:
            yield Record(None, problem=problem)


# -- lines -----------------------------------------------------------------------------------------


def _of_lines(reading: Reading) -> Iterator[Record]:
    options = reading.options
    limit = options.max_size
    for line in lines_of(reading.piece, reading.input.path, limit):
        reading.lines += 1
        if line is None:
            problem = Malformed(f"a line of more than {limit:,} bytes")
            yield Record(reading.lines, problem=problem)
        elif not line.isspace():
            yield from of_line(line, reading.lines, options)


def of_line(line: bytes, number: int | None, options: Options) -> Iterable[Record]:
    """The records of a line: mostly one."""
    try:
        value, notes = parsed(line)
    except DragomanError as problem:
        return (Record(number, problem=problem),)
    return of_value(value, number, "", options, notes)


def parsed(data: bytes) -> tuple[Json, tuple[Loss, ...]]:
    """JSON, and what is lost where it is read: keys that stand twice, halves of characters."""
    try:
        value = decode(data)
    except UNREADABLE:
        return _whole(data)
    return value, duplicates.losses(data, value)


def _whole(data: bytes) -> tuple[Json, tuple[Loss, ...]]:
    """The same where JSON cannot be read as it is: with a byte order mark, or halves."""
    halves = surrogates.well_formed(data)
    if halves is None:
        value = parse(data)  # which says what is wrong
        return value, duplicates.losses(data, value)
    why = surrogates.WHY
    notes = [Loss("approximated", "text.surrogate", at, why) for at in halves.places]
    return halves.value, (*duplicates.losses(data, halves.value), *notes)


def of_value(
    value: Json, line: int | None, at: str, options: Options, notes: tuple[Loss, ...] = ()
) -> Iterable[Record]:
    """The records of a parsed line, row or file."""
    if options.column is not None:
        return (_of_columns(value, line, at, options, notes),)
    is_plain = value.__class__ is dict and PLAIN.issuperset(value)
    kind = None if is_plain else containers.kind_of(value)
    if kind is None:
        return (Record(line, at, Part(value), notes=notes),)
    return (_found(found, line, at, notes) for found in kind.documents(value, options.max_size))


def _found(
    found: containers.Found, line: int | None, at: str, notes: tuple[Loss, ...] = ()
) -> Record:
    """A record of a container: a request, perhaps with its reply."""
    at += found.at
    for problem in (found.problem, found.reply_problem):
        if problem is not None:
            return Record(line, at, problem=problem)
    parts = [Part(each.value, each.dialect, each.facet) for each in found.documents]
    notes = (*notes, *(note for each in found.documents for note in each.notes))
    reply = parts[1] if len(parts) > 1 else None
    return Record(line, at, parts[0], reply, notes=notes)


def _of_columns(
    value: Json, line: int | None, at: str, options: Options, notes: tuple[Loss, ...]
) -> Record:
    """A record whose columns are named; what stands in the others is carried along."""
    column, other = options.column, options.response_column
    assert column is not None
    if value.__class__ is not dict or value.get(column) is None:
        return Record(line, at, problem=Malformed(f"no column {column!r}", at))
    names = [name for name in value if name not in (column, other)]
    if options.carry is not None:
        names = [name for name in names if name in options.carry]
    carried = {name: value[name] for name in names}
    try:
        asked = Part(_cell(value[column]))
        reply = None
        if other is not None:
            if value.get(other) is None:
                raise Malformed(f"no column {other!r}", at)
            reply = Part(_cell(value[other]))
    except DragomanError as problem:
        return Record(line, f"{at}/{escape(column)}", problem=problem)
    name = options.conversation
    conversation = value.get(name) if name is not None else None
    return Record(line, f"{at}/{escape(column)}", asked, reply, carried, conversation, notes)


def _cell(value: Json) -> Json:
    """What a cell says: JSON as text, or the value itself."""
    if value.__class__ is str and value.lstrip()[:1] in ("{", "["):
        return parse(value)
    return value


# -- rows ------------------------------------------------------------------------------------------


def _of_rows(reading: Reading) -> Iterator[Record]:
    options, path = reading.options, reading.input.path
    columns: tuple[str, ...] | None = None
    for batch in _batches(reading.piece, path, options.max_size):
        for row in batch.to_pylist():
            reading.lines += 1
            value = {name: unpadded(_tables.plain(cell)) for name, cell in row.items()}
            if options.column is not None:
                yield _of_columns(value, reading.lines, "", options, ())
                continue
            if columns is None:
                columns = columns_of(path, options)
            yield from _of_row(value, reading.lines, columns, options)


def _batches(piece: Piece, path: str, limit: int) -> Iterator[Any]:
    """The rows of a piece, a few at a time."""
    pa = _tables.arrow()
    try:
        if suffix(path) == ".parquet":
            import pyarrow.parquet

            file = pyarrow.parquet.ParquetFile(path)
            groups = list(range(piece.start, piece.end))
            sizes = [file.metadata.row_group(group).total_byte_size for group in groups]
            if any(size > limit for size in sizes):
                raise Malformed(f"a row group of more than {limit:,} bytes")
            yield from file.iter_batches(_tables.ROWS, row_groups=groups)
            return
        import pyarrow.ipc

        with pa.memory_map(path) as source, pyarrow.ipc.open_file(source) as reader:
            for index in range(piece.start, piece.end):
                whole = reader.get_batch(index)
                for start in range(0, whole.num_rows, _tables.ROWS):
                    yield whole.slice(start, _tables.ROWS)
    except (pa.ArrowException, EOFError, MemoryError) as problem:
        first = " ".join(str(problem).split())[:200]
        raise Malformed(f"damaged: {first}") from None


def unpadded(value: Json) -> Json:
    """A cell of structs without the keys that Arrow has filled with null.

    >>> unpadded({"role": "user", "content": "Hi", "tool_calls": None})
    {'role': 'user', 'content': 'Hi'}
    """
    if value.__class__ is dict:
        return {key: unpadded(item) for key, item in value.items() if item is not None}
    if value.__class__ is list:
        return [unpadded(item) for item in value]
    return value


def _of_row(
    row: dict[str, Json], number: int, columns: tuple[str, ...], options: Options
) -> Iterator[Record]:
    """A row: a request and a response, a record of a batch, or cells that are conversations."""
    value = {name: _tried(cell) for name, cell in row.items()}
    kind = containers.kind_of(value)
    if kind is not None and kind.name in ("pair", *BATCHES):
        for found in kind.documents(value, options.max_size):
            yield _found(found, number, "")
        return
    if not columns:
        hint = "name the column of the conversations with --column"
        problem = Malformed(f"no column of this table has conversations that are known; {hint}")
        yield Record(number, problem=problem)
    for column in columns:
        if column == WHOLE_ROW:
            yield Record(number, "", Part(value))
        elif value.get(column).__class__ in (dict, list):
            yield Record(number, f"/{escape(column)}", Part(value[column]))


def _tried(cell: Json) -> Json:
    try:
        return _cell(cell)
    except Malformed:
        return cell


def columns_of(path: str, options: Options) -> tuple[str, ...]:
    """The columns of a table that have conversations, by the first rows of the file.

    Where the messages are a column of their own, the row itself is the conversation.
    """
    found: dict[str, None] = {}
    left = LOOKED_AT
    for batch in _batches(Piece(0, "rows", 0, 1), path, options.max_size):
        for row in batch.slice(0, left).to_pylist():
            if any(row.get(key) for key in HISTORIES):
                return (WHOLE_ROW,)
            for name, cell in row.items():
                value = _tried(unpadded(_tables.plain(cell)))
                if name not in found and value and value.__class__ in (dict, list):
                    guesses = candidates(value)
                    if guesses and guesses[0].confidence >= SURE:
                        found[name] = None
        left -= batch.num_rows
        if left <= 0:
            break
    return tuple(found)


# -- whole files -----------------------------------------------------------------------------------


def _of_file(reading: Reading) -> Iterator[Record]:
    name, options = reading.input.path, reading.options
    if suffix(name) in TABLES:
        _tables.arrow()  # which says what is missing
        raise Malformed("a table that cannot be read; it must not be packed")
    data = read_whole(name, options.max_size)
    if data.startswith(DATABASE):
        raise Unsupported("a database, which is no input of a data set; convert its sessions first")
    source = options.source and writer_of(options.source)
    if (source and source.lines) or (lines.are_several(data) and begins_lines(data[:65536])):
        value, notes = parsed(lines.as_list(data))
        yield Record(None, "", Part(value), notes=notes)
        return
    if options.column is None and containers.coding_of(data, name) is not None:
        yield from _of_container(data, name, options)
        return
    value, notes = parsed(data)
    if value.__class__ is list and not _is_history(value):
        for index, item in enumerate(value):
            yield from of_value(item, None, f"/{index}", options)
        return
    yield from of_value(value, None, "", options, notes)


def _of_container(data: bytes, name: str, options: Options) -> Iterator[Record]:
    whole = containers.read(data, name, options.max_size)
    if whole is None:
        raise Unsupported("no conversation that dragoman knows in this file")
    for found in whole.kind.documents(whole.value, options.max_size):
        if not isinstance(found.problem, containers.NoCall):
            yield _found(found, None, "")


def _is_history(value: list[Json]) -> bool:
    """Whether a list is a conversation; else it is a list of records."""
    first = next((item for item in value if item.__class__ is dict), {})
    if "request" in first or any(key in first for key in HISTORIES):
        return False
    return bool(candidates(value)) or "role" in first or "type" in first


_READ = {"lines": _of_lines, "rows": _of_rows, "whole": _of_file}
