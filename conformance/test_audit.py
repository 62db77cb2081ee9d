"""The audit by node over recorded traffic: the ledger tells what happened, in every dialect."""

from __future__ import annotations

import random

import pytest

from dragoman import DragomanError, Unsayable, dialects, testing
from dragoman.testing import Document

from . import laws
from .reality import DIALECTS, FACETS, Record, records

# So many documents of each kind, by the same dice every time: about a minute in all.
SAMPLE = 150


def sampled(dialect: str, facet: str) -> list[Record]:
    found = list(records(dialect, facet))
    random.Random(f"{dialect} {facet}").shuffle(found)
    return found[:SAMPLE]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("facet", FACETS)
def test_the_ledger_tells_what_happened(dialect: str, facet: str) -> None:
    failures: list[str] = []
    for record in sampled(dialect, facet):
        document = Document(record.name, dialect, "", facet, False, record.body)
        try:
            dialects.get(dialect).read(record.body, facet)
        except DragomanError:
            continue  # test_identity judges what can be read
        for target in dialects.names():
            if not testing.speaks(target, facet):
                continue
            try:
                testing.audit(document, target)
                held = True
            except Unsayable:
                continue
            except AssertionError as problem:
                held = False
                failures.append(f"{record.name} > {target}\n{problem}")
            laws.tally("5 audited by node", f"{dialect} {facet}", held)
    assert not failures, "\n".join(failures[:20])
