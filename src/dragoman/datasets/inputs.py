"""The files of a job, and how they are cut into chunks.

Plain files with a document per line are cut by bytes: a line belongs to the piece in which it
begins. Packed ones are unpacked once, in their order, and their lines handed out. Tables are cut by
row groups. Anything else is one piece: a document, a session, a container. Where the cuts are
depends on the files alone, and small pieces share a chunk.
"""

from __future__ import annotations

import contextlib
import glob
import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import BinaryIO, Literal, cast

from msgspec import Struct

from ..containers import _tables
from ..core.lines import are_several
from ..detect import begins_lines
from ..errors import DragomanError, Malformed, Unsupported
from ..sessions.packed import unpacked
from .options import CHUNK, Options, writer_of

Kind = Literal["lines", "whole", "rows"]

PACKED = (".gz", ".zst", ".zstd")
LINES = (".jsonl", ".ndjson")
TABLES = (".parquet", ".arrow", ".feather")
KNOWN = (*LINES, *TABLES, ".json", ".har", ".yaml", ".yml", ".flow", ".flows", ".mitm", ".zip")
"""What the files of a folder end in that may hold conversations."""
CAPSULE = ".capsule.json"
BUFFER = 4 * 1024 * 1024
"""How much is read at once: a long line that lies in two buffers is put together twice."""
PEEK = 64 * 1024
"""How much of a file is looked at to see whether its lines are one document."""


class Input(Struct, frozen=True):
    """A file: its size and date tell whether it is still the same."""

    path: str
    size: int
    changed: int
    """nanoseconds since 1970"""


class Piece(Struct, frozen=True):
    """A part of a file: bytes, rows, or all of it. ``data``: its lines, out of a packed file."""

    input: int
    kind: Kind
    start: int = 0
    end: int = 0
    data: bytes | None = None
    size: int = 0
    """how much of the file on the disk it is; for the progress"""


class Chunk(Struct, frozen=True):
    """What a worker does at once."""

    number: int
    pieces: tuple[Piece, ...]

    @property
    def size(self) -> int:
        return sum(piece.size for piece in self.pieces)


def expand(paths: Iterable[str]) -> list[Input]:
    """The files that are meant: globs, folders, names; in the order in which they are named."""
    found: dict[str, None] = {}
    for path in paths:
        if path == "-":
            raise Unsupported("a data set is made of files, which can be read again; not of stdin")
        if os.path.isdir(path):
            inside = list(walk(path))
        elif glob.has_magic(path) and not os.path.lexists(path):
            matches = sorted(glob.glob(path, recursive=True))
            inside = [match for match in matches if not os.path.isdir(match)]
        else:
            inside = [path]
        if not inside:
            raise Unsupported(f"{path}: no file in it that may hold conversations")
        found.update(dict.fromkeys(inside))
    return [_input(path) for path in found]


def _input(path: str) -> Input:
    about = os.stat(path)
    return Input(path, about.st_size, about.st_mtime_ns)


def walk(folder: str) -> Iterator[str]:
    """The files below a folder that may hold conversations; what is hidden is passed over."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            known = suffix(name) in KNOWN and not name.endswith(CAPSULE)
            if known and not name.startswith("."):
                yield os.path.join(place, name)


def suffix(name: str) -> str:
    """What a name ends in, whatever the file is packed in.

    >>> suffix("logs/a.JSONL.gz")
    '.jsonl'
    """
    name = name.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    return os.path.splitext(name)[1]


def is_packed(path: str) -> bool:
    return path.lower().endswith(PACKED)


# -- bytes -----------------------------------------------------------------------------------------


@contextlib.contextmanager
def open_plain(path: str) -> Iterator[BinaryIO]:
    """A file, unpacked by its name."""
    with open(path, "rb") as file:
        if path.lower().endswith(".gz"):
            with gzip.GzipFile(fileobj=file, mode="rb") as unzipped:
                yield cast(BinaryIO, unzipped)
        else:
            yield unpacked(file) if is_packed(path) else file


def read_whole(path: str, limit: int) -> bytes:
    """All of a file, if it is not too long."""
    try:
        with open_plain(path) as file:
            data = file.read(limit + 1)
    except damaged() as problem:
        raise Malformed(f"damaged: {problem}") from None
    if len(data) > limit:
        raise Malformed(f"a document of more than {limit:,} bytes")
    return data


def unreadable() -> tuple[type[Exception], ...]:
    """What reading any file raises."""
    return (DragomanError, OSError, *damaged())


def damaged() -> tuple[type[Exception], ...]:
    """What reading a packed file raises when its bytes make no sense; only what is loaded can."""
    found: list[type[Exception]] = [EOFError, zlib.error, gzip.BadGzipFile]
    for name in ("zstandard", "compression.zstd"):
        if (module := sys.modules.get(name)) is not None:
            found.append(module.ZstdError)
    return tuple(found)


# -- pieces ----------------------------------------------------------------------------------------


def chunks(inputs: list[Input], options: Options, size: int = CHUNK) -> Iterator[Chunk]:
    """The chunks of all inputs, in their order."""
    held: list[Piece] = []
    number = weight = 0
    for index, input in enumerate(inputs):
        for piece in pieces(index, input, options, size):
            bulk = len(piece.data) if piece.data is not None else piece.size
            if held and weight + bulk > size:
                yield Chunk(number, tuple(held))
                number, held, weight = number + 1, [], 0
            held.append(piece)
            weight += bulk
    if held:
        yield Chunk(number, tuple(held))


def pieces(index: int, input: Input, options: Options, size: int = CHUNK) -> Iterator[Piece]:
    """The pieces of one file. One that cannot be read is a piece as well: its worker says why."""
    path = input.path
    whole = Piece(index, "whole", size=input.size)
    if suffix(path) in TABLES and not is_packed(path):
        yield from _rows(index, input, options, size)
    elif not _has_lines(path, options):
        yield whole
    elif is_packed(path):
        yield from _unpacked(index, input, options, size)
    else:
        count = max(round(input.size / size), 1)
        edges = [input.size * i // count for i in range(count + 1)]
        for start, end in pairwise(edges):
            yield Piece(index, "lines", start, end, size=end - start)


def _has_lines(path: str, options: Options) -> bool:
    """Whether a file has a document on each line; the lines of a session are one document."""
    kind = suffix(path)
    if kind in LINES and (options.column is not None or options.source is not None):
        return options.source is None or not writer_of(options.source).lines
    if kind in KNOWN and kind not in (*LINES, ".json"):
        return False
    try:
        with open_plain(path) as file:
            start = file.read(PEEK)
    except unreadable():
        return kind in LINES  # whoever reads it says what is wrong
    if kind not in LINES and not are_several(start):
        return False
    cut = start.rfind(b"\n") + 1
    try:
        return not begins_lines(start[: cut or None])
    except DragomanError:
        return True


def _unpacked(index: int, input: Input, options: Options, size: int) -> Iterator[Piece]:
    """The lines of a packed file, some megabytes at a time."""
    held: list[bytes] = []
    weight = 0
    try:
        with open_plain(input.path) as file:
            while line := file.readline(options.max_size + 1):
                held.append(line)
                weight += len(line)
                if weight >= size:
                    yield Piece(index, "lines", data=b"".join(held), size=0)
                    held, weight = [], 0
    except unreadable():
        yield Piece(index, "lines", data=b"".join(held))
        yield Piece(index, "whole", size=input.size)  # whose worker says what is wrong
        return
    yield Piece(index, "lines", data=b"".join(held), size=input.size)


def _rows(index: int, input: Input, options: Options, size: int) -> Iterator[Piece]:
    """The row groups of a table, or the batches of Arrow; small ones together."""
    try:
        sizes = group_sizes(input.path)
    except (OSError, DragomanError):
        yield Piece(index, "whole", size=input.size)
        return
    start, weight = 0, 0
    total = sum(sizes) or 1
    for number, bulk in enumerate(sizes):
        if weight and weight + bulk > size:
            yield Piece(index, "rows", start, number, size=input.size * weight // total)
            start, weight = number, 0
        weight += bulk
    if start < len(sizes):
        yield Piece(index, "rows", start, len(sizes), size=input.size * weight // total)


def group_sizes(path: str) -> list[int]:
    """How many bytes the row groups of a file have; batches of Arrow count by their rows."""
    pa = _tables.arrow()
    try:
        if suffix(path) == ".parquet":
            import pyarrow.parquet

            about = pyarrow.parquet.ParquetFile(path).metadata
            return [about.row_group(i).total_byte_size for i in range(about.num_row_groups)]
        import pyarrow.ipc

        with pa.memory_map(path) as source, pyarrow.ipc.open_file(source) as reader:
            return [reader.get_batch(i).nbytes for i in range(reader.num_record_batches)]
    except (pa.ArrowException, OSError, EOFError) as problem:
        first = " ".join(str(problem).split())[:200]
        raise Malformed(f"damaged: {first}") from None


def lines_of(piece: Piece, path: str, limit: int) -> Iterator[bytes | None]:
    """The lines of a piece: those that begin in it. None is one that is too long."""
    if piece.data is not None:
        yield from io.BytesIO(piece.data)
        return
    with open(path, "rb", BUFFER) as file:
        left = piece.end - piece.start
        if piece.start:
            file.seek(piece.start - 1)
            left -= _skip(file) - 1
        while left > 0 and (line := file.readline(limit + 1)):
            left -= len(line)
            if len(line) > limit:
                left -= 0 if line.endswith(b"\n") else _skip(file)
                yield None
            else:
                yield line


def _skip(file: BinaryIO) -> int:
    """Go to the end of the line; how many bytes that was."""
    count = 0
    while part := file.readline(PEEK):
        count += len(part)
        if part.endswith(b"\n"):
            break
    return count
