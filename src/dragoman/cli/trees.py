"""What the inputs say, as canonical trees: documents are read, streams are collected first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from .. import dialects
from ..core.surrogates import parse_leniently as parse
from ..core.walk import meaning
from ..detect import MARGIN, candidates
from ..errors import Malformed
from ..model import Json, Tree
from . import streams, terminal
from .batch import Batch
from .faults import Fault
from .inputs import Document, Reading, limit
from .sources import Source, identify, identify_stream


class Shown(NamedTuple):
    """One conversation: where it came from, what it is, and what it says."""

    name: str
    source: Source
    value: Json
    tree: Tree
    place: Callable[[str], str] = str
    """Where a pointer into the document points in its file."""

    @property
    def what(self) -> str:
        """The dialect, if it is only one that may have said it, and the facet."""
        return str(self.source).strip()


def each(batch: Batch, reading: Reading, dialect: str | None, facet: str | None) -> Iterator[Shown]:
    """The conversations of one input; those that fail are written and left out."""
    if reading.form == "stream":
        yield from collected(batch, reading, dialect)
        return
    for document in batch.documents(reading):
        found: Shown | None = None
        with batch.attempt(document):
            found = understood(document, dialect, facet)
        if found is not None:
            yield found


def understood(document: Document, dialect: str | None, facet: str | None) -> Shown:
    value = parse(document.data)
    try:
        source = identify(document, dialect, facet, value)
    except Fault:
        undecided = tied(value, facet) if dialect is None else None
        if undecided is None:
            raise
        return Shown(document.name, undecided[0], value, undecided[1], document.place)
    tree = dialects.get(source.dialect).read(value, source.facet)
    return Shown(document.name, source, value, tree, document.place)


def tied(value: Json, facet: str | None) -> tuple[Source, Tree] | None:
    """What a document says if several dialects claim it and all of them read the same in it."""
    guesses = candidates(value, facet)
    best = [g for g in guesses if guesses[0].confidence - g.confidence < MARGIN]
    try:
        trees = [dialects.get(claim.dialect).read(value, claim.facet) for claim in best]
    except Malformed:
        return None
    if len(trees) < 2 or any(meaning(tree) != meaning(trees[0]) for tree in trees):
        return None
    return Source("", best[0].facet), replace(trees[0], dialect=None)


def collected(batch: Batch, reading: Reading, dialect: str | None) -> Iterator[Shown]:
    """The reply that a stream amounts to. If it broke off, so much of it, and then the fault."""
    from ..streams.transcoder import Transcoder

    found: Shown | None = None
    with batch.attempt(reading.input.name):
        source, chunks = identify_stream(reading, dialect)
        most, name = limit(), source.dialect
        transcoder = Transcoder(name, name, duplicates=True, limit=most, total=most)
        for _ in streams.transcoded(transcoder, chunks):
            pass
        for written in transcoder.twice.values() if not batch.quiet else ():
            batch.say(f"{terminal.bold(reading.input.name)}: {terminal.clean(written)}")
        found = Shown(reading.input.name, source, transcoder.document, transcoder.response)
    if found is not None:
        yield found
        with batch.attempt(reading.input.name):
            streams.ending(transcoder, reading.input.name)
