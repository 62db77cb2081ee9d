"""A chunk: its records are converted one after the other, and all that is known of it is noted."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Protocol

from ..model import Json
from .converting import Converter, Refused
from .inputs import Chunk, Input
from .noting import KINDS, ChunkNote, Losses, Reject, kind_of, short, wider
from .records import Reading, Record


class Sink(Protocol):
    """Where lines go."""

    def write(self, data: bytes, /) -> object: ...


def convert(
    converter: Converter, chunk: Chunk, inputs: list[Input], sink: Sink | BinaryIO, *, columns: bool
) -> ChunkNote:
    """Write the lines of a chunk and give its note; ``columns``: with what each key holds."""
    converter.begin()
    out = ChunkNote()
    losses = Losses(out.losses, converter.clean)
    with uncollected():
        _convert_all(converter, chunk, inputs, sink, out, losses, columns)
    losses.settle()
    out.filtered = dict(converter.filtered)
    out.redacted = dict(converter.redacted)
    out.edits = {what: count for what, count in converter.edits.items() if count}
    out.renamed = dict(converter.renamed)
    return out


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the garbage collector: documents and trees have no cycles, and there are many."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _convert_all(
    converter: Converter,
    chunk: Chunk,
    inputs: list[Input],
    sink: Sink | BinaryIO,
    out: ChunkNote,
    losses: Losses,
    columns: bool,
) -> None:
    for piece in chunk.pieces:
        index = piece.input
        before = out.lines.get(index, 0)
        reading = Reading(piece, inputs[index], converter.options)
        count = 0
        for record in reading:
            count += 1
            line = None if record.line is None else before + record.line
            _convert(converter, record, index, line, sink, out, losses, columns)
        out.lines[index] = before + reading.lines
        out.read[index] = out.read.get(index, 0) + count


def _convert(
    converter: Converter,
    record: Record,
    input: int,
    line: int | None,
    sink: Sink | BinaryIO,
    out: ChunkNote,
    losses: Losses,
    columns: bool,
) -> None:
    clean = converter.clean
    for written in converter.lines(record):
        if isinstance(written, Refused):
            at, why = clean(record.at + written.at), short(clean(str(written)))
            out.rejects.append(Reject(input, line, at, written.code, why))
            continue
        note = written.note
        sink.write(written.data)
        sink.write(b"\n")
        out.notes.append(note)
        if written.losses:
            losses.add(note.source, written.losses, input, line, record.at)
        if columns:
            note_columns(written.document, out.columns)


def note_columns(document: Json, columns: dict[str, str]) -> None:
    """What the values of each key are."""
    for key, value in document.items() if document.__class__ is dict else ():
        known = columns.get(key)
        if known is not None and KINDS.get(value.__class__) == known != "int":
            continue  # as usual
        kind = kind_of(value)
        if known is None:
            columns[key] = kind
        elif known != kind:
            columns[key] = wider(known, kind)
