"""The functions that are made of a table of counts do what its loops do for any usage."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from dragoman import dialects
from dragoman.core.counts import SUMS, Counts
from dragoman.core.writing import Writing
from dragoman.dialect import Dialect
from dragoman.errors import Malformed
from dragoman.ledger import Ledger
from dragoman.model import Usage

COUNTING = [d for name in dialects.names() if (d := dialects.get(name)).counts.rows]
ODD: tuple[Any, ...] = (None, 0, 7, -1, 1.5, "7", True, {}, {"more": 1}, [])


def usage(rng: Random) -> Usage:
    read, written, reasoning = [rng.choice((None, 0, rng.randrange(100))) for _ in range(3)]
    unsaid = ("output",) if rng.random() < 0.2 else ()
    given, made = rng.randrange(99), rng.randrange(99)
    return Usage(given, read, written, None, made, reasoning, unsaid, at="/u")


def document(counts: Counts, rng: Random) -> dict[str, Any]:
    """A usage with right sums, of which a few things are odd."""
    said = usage(rng)
    parts = {name: getattr(said, name) for sums in SUMS for name in sums}
    doc: dict[str, Any] = {}
    for path, sums in rng.sample(list(counts.rows.items()), len(counts.rows)):
        found = [parts[name] for name in sums if parts[name] is not None]
        if not found:
            continue
        outer, _, key = path.rpartition("/")
        holder = doc.setdefault(outer, {}) if outer else doc
        if holder.__class__ is dict:
            holder[key] = rng.choice(ODD) if rng.random() < 0.05 else sum(found)
            if rng.random() < 0.1:
                holder["more"] = rng.choice(ODD)
        if rng.random() < 0.05:
            doc[outer or key] = rng.choice(ODD)
    return doc


def read(dialect: Dialect, counts: Counts, doc: dict[str, Any]) -> Usage | str:
    try:
        return counts.read(dialect, doc, "/usage")
    except Malformed as problem:
        return str(problem)


def looping(counts: Counts) -> Counts:
    """The same table, for which nothing is as usual."""
    slow = counts.but()
    slow._read_usual = not_usual
    return slow


def not_usual(doc: dict[str, Any]) -> None:
    return None


@pytest.mark.parametrize("dialect", COUNTING, ids=lambda d: d.name)
def test_read(dialect: Dialect) -> None:
    counts, rng = dialect.counts, Random(1)
    slow, usual = looping(counts), 0
    for _ in range(300):
        doc = document(counts, rng)
        found = read(dialect, counts, doc)
        assert found == read(dialect, slow, doc), doc
        usual += counts._read_usual(doc) is not None
    assert usual > 30 or "input" not in {name for sums in counts.rows.values() for name in sums}


@pytest.mark.parametrize("dialect", COUNTING, ids=lambda d: d.name)
def test_write(dialect: Dialect) -> None:
    counts, rng = dialect.counts, Random(1)
    for _ in range(300):
        said = usage(rng)
        quick, slow = (
            Writing(Ledger(target=dialect.name), (".", 9), (".", 9), False) for _ in range(2)
        )
        written, looped = counts.write(dialect, said, quick), counts._write_any(dialect, said, slow)
        assert (list(written.items()), quick.log.losses) == (list(looped.items()), slow.log.losses)
