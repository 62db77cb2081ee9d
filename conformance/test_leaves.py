"""Stranger's keys and the audit by leaf over recorded traffic, a part of it, always the same."""

from __future__ import annotations

from itertools import product

import pytest

import leaves
import strangers
from dragoman import DragomanError, convert

from . import laws
from .reality import DIALECTS, FACETS, Record, records

KINDS = list(product(DIALECTS, FACETS))
RECORDS = 40
"""how many documents of each kind are looked at"""
TARGETS = 2
STRANGERS = 12
"""how many strange keys each of them gets"""
LONGEST = 40_000
"""characters: what is longer is left to the other laws"""


def some(dialect: str, facet: str) -> list[Record]:
    short = [r for r in records(dialect, facet) if len(strangers.text(r.body)) < LONGEST]
    return strangers.sample(short, RECORDS, f"{dialect} {facet}")


def others(record: Record) -> list[str]:
    return strangers.sample([t for t in DIALECTS if t != record.dialect], TARGETS, record.name)


@pytest.mark.parametrize(("dialect", "facet"), KINDS)
def test_each_leaf_is_there_or_is_reported(dialect: str, facet: str) -> None:
    faults: list[str] = []
    for record in some(dialect, facet):
        for target in others(record):
            try:
                result = convert(record.body, source=dialect, target=target, facet=facet, now=0)
            except DragomanError:
                continue
            missed = leaves.unaccounted(record.body, result.document, result.losses)
            if not laws.tally("5 each leaf", f"{dialect} {facet} > {target}", not missed):
                faults.append(f"{record.name} > {target}: {missed[0].pointer}")
    assert not faults, "\n".join(faults[:20])


@pytest.mark.parametrize(("dialect", "facet"), KINDS)
def test_a_strange_key_comes_back_or_is_reported(dialect: str, facet: str) -> None:
    faults: list[str] = []
    seen: set[object] = set()
    for record in some(dialect, facet):
        found = list(strangers.strangers(record.body, seen, ()))
        for stranger in strangers.sample(found, STRANGERS, record.name):
            for target in (dialect, *others(record)):
                problem = strangers.fault(stranger, dialect, target, facet)
                if not laws.tally("6 strange keys", f"{dialect} {facet} > {target}", not problem):
                    faults.append(f"{record.name} > {target}: {problem}")
    assert not faults, "\n".join(faults[:20])
