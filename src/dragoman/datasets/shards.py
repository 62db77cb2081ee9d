"""Files that are written beside, then renamed; shards that are put together from parts."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from msgspec import Struct

from ..errors import MissingExtra
from . import tables
from .selecting import Run, Shard

COPIED = 256 * 1024
BUFFER = 1024 * 1024
LEVEL = 6


class Form(Struct, frozen=True):
    """How shards are written: what their names end in."""

    suffix: str

    @property
    def is_table(self) -> bool:
        return self.suffix == ".parquet"


class Finished(Struct):
    """A shard that is there."""

    path: str
    records: int
    bytes: int
    sha256: str


@contextlib.contextmanager
def beside(place: Path, *, sure: bool = True) -> Iterator[BinaryIO]:
    """A file that is there when it is whole, and not before; ``sure``: even if power fails."""
    place.parent.mkdir(parents=True, exist_ok=True)
    made = place.with_name(f".{place.name}.part")
    try:
        with made.open("wb", BUFFER) as file:
            yield file
            if sure:
                file.flush()
                os.fsync(file.fileno())
        os.replace(made, place)
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def put(place: Path, data: bytes, *, sure: bool = True) -> None:
    """Write a whole file at once."""
    with beside(place, sure=sure) as file:
        file.write(data)


def write(shard: Shard, place: Path, parts: Path, form: Form, columns: dict[str, str]) -> Finished:
    """Write a shard from the parts that its lines stand in."""
    with beside(place) as file:
        out = _Hashed(file)
        if form.is_table:
            tables.write(_lines(shard, parts), columns, cast(BinaryIO, out))
        else:
            with _packing(out, form) as sink:
                held = memoryview(bytearray(COPIED))
                for run in shard.runs:
                    _copy(run, parts, sink, held)
        return Finished(place.name, shard.records, out.count, out.hash.hexdigest())


class _Hashed(io.RawIOBase):
    """A file whose bytes are counted and hashed while they are written."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.hash, self.count = file, hashlib.sha256(), 0

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        view = memoryview(data)  # type: ignore[arg-type]
        self.hash.update(view)
        self.count += view.nbytes
        self.file.write(view)
        return view.nbytes


@contextlib.contextmanager
def _packing(out: _Hashed, form: Form) -> Iterator[BinaryIO]:
    """The lines packed as the name says; the same bytes for the same lines."""
    if form.suffix.endswith(".gz"):
        with gzip.GzipFile("", "wb", LEVEL, cast(BinaryIO, out), mtime=0) as packed:
            yield cast(BinaryIO, packed)
    elif form.suffix.endswith((".zst", ".zstd")):
        with _zstd(out) as sink:
            yield sink
    else:
        yield cast(BinaryIO, out)


def _zstd(out: _Hashed) -> contextlib.AbstractContextManager[BinaryIO]:
    try:
        import zstandard
    except ImportError:
        raise MissingExtra("zstd", "zstd") from None
    writer = zstandard.ZstdCompressor(level=3).stream_writer(cast(BinaryIO, out), closefd=False)
    return cast("contextlib.AbstractContextManager[BinaryIO]", writer)


def _copy(run: Run, parts: Path, out: BinaryIO, held: memoryview) -> None:
    """Copy a run; ``held`` is memory for it, as to ask for it again and again takes time."""
    with part(parts, run.chunk).open("rb", 0) as file:
        file.seek(run.start)
        left = run.length
        while left and (count := file.readinto(held[:left])):
            out.write(held[:count])
            left -= count


def _lines(shard: Shard, parts: Path) -> Iterator[bytes]:
    for run in shard.runs:
        with part(parts, run.chunk).open("rb", BUFFER) as file:
            file.seek(run.start)
            left = run.length
            while left > 0 and (line := file.readline()):
                left -= len(line)
                yield line


def part(parts: Path, chunk: int) -> Path:
    """The lines of a chunk."""
    return parts / f"{chunk:07}.jsonl"


def note(parts: Path, chunk: int) -> Path:
    """What became of a chunk; where it is there, the lines are."""
    return parts / f"{chunk:07}.note"
