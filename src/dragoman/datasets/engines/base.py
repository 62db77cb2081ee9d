"""What an engine is, and the two tasks that it runs. Both are plain functions of plain values."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from .. import chunks, noting, shards
from ..converting import Converter
from ..inputs import Chunk, Input
from ..options import Options, options_of
from ..selecting import Shard


class Plan(Struct, frozen=True):
    """What all tasks of a job share. It is sent to workers as bytes (``to_bytes``)."""

    options: bytes
    inputs: tuple[Input, ...]
    parts: str
    form: shards.Form
    columns: bool = False
    """whether it is noted what the values of each key are"""

    @property
    def folder(self) -> Path:
        return Path(self.parts)


class Task(Struct, frozen=True):
    """A shard that is to be written, and where."""

    shard: Shard
    place: str
    columns: dict[str, str]


class Engine(Protocol):
    """Runs the tasks of a job."""

    def convert(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """Convert chunks, which are given back when their parts and notes are on the disk."""
        ...

    def write(self, task: Task) -> None:
        """Write a shard, now or later."""
        ...

    def written(self) -> Iterator[tuple[Task, shards.Finished]]:
        """The shards that have been written since it was asked; it waits for none."""
        ...

    def finish(self) -> Iterator[tuple[Task, shards.Finished]]:
        """The shards that are left."""
        ...

    def close(self) -> None: ...


@lru_cache(1)
def converter_of(options: bytes) -> Converter:
    """A worker has one converter."""
    return Converter(decoded(options))


def encoded(options: Options) -> bytes:
    return msgspec.msgpack.encode(options)


def decoded(options: bytes) -> Options:
    return options_of(msgspec.msgpack.decode(options))


def convert_here(plan: Plan, chunk: Chunk) -> None:
    """Convert a chunk into its part; then its note, which tells that the part is whole."""
    converter = converter_of(plan.options)
    with shards.beside(shards.part(plan.folder, chunk.number), sure=False) as file:
        note = chunks.convert(converter, chunk, list(plan.inputs), file, columns=plan.columns)
    shards.put(shards.note(plan.folder, chunk.number), noting.to_bytes(note), sure=False)


def convert_apart(plan: Plan, chunk: Chunk) -> tuple[bytes, bytes]:
    """The same where the disk is another machine's: the part and its note, as bytes."""
    sink = io.BytesIO()
    converter = converter_of(plan.options)
    note = chunks.convert(converter, chunk, list(plan.inputs), sink, columns=plan.columns)
    return sink.getvalue(), noting.to_bytes(note)


def write_shard(plan: Plan, task: Task) -> shards.Finished:
    return shards.write(task.shard, Path(task.place), plan.folder, plan.form, task.columns)
