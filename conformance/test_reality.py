"""The laws over all recorded requests, answers and errors of the three great APIs."""

from __future__ import annotations

from itertools import product

import pytest

import dragoman
import sdk
from dragoman import DragomanError

from . import laws
from .reality import DIALECTS, FACETS, Record, pairs, records

KINDS = list(product(DIALECTS, FACETS))


def describe(failures: list[tuple[str, object]]) -> str:
    return "\n".join(f"  {name}: {why}" for name, why in failures[:20])


@pytest.mark.parametrize(("dialect", "facet"), KINDS)
def test_identity(dialect: str, facet: str) -> None:
    failures: list[tuple[str, object]] = []
    for record in records(dialect, facet):
        try:
            held, why = laws.identity(record), "differs"
        except DragomanError as problem:
            held, why = False, str(problem)
        if not laws.tally("1 identity", f"{dialect} {facet}", held):
            failures.append((record.name, why))
    failures = [f for f in failures if f[0] not in EXCUSED]
    assert not failures, describe(failures)


@pytest.mark.parametrize(("dialect", "facet"), KINDS)
def test_the_way_home(dialect: str, facet: str) -> None:
    failures: list[tuple[str, object]] = []
    for record in readable(dialect, facet):
        for target in laws.targets(record):
            held = laws.comes_home(record, target)
            if not laws.tally("3 comes home", f"{dialect} {facet} > {target}", held):
                failures.append((record.name, target))
    assert not failures, describe(failures)


@pytest.mark.parametrize(("dialect", "facet"), [k for k in KINDS if k[1] != "error"])
def test_the_official_types_accept(dialect: str, facet: str) -> None:
    failures: list[tuple[str, object]] = []
    for record in readable(dialect, facet):
        valid = not sdk.problems(dialect, facet, record.body)
        for target in laws.targets(record):
            if target == "native":
                continue
            problems = laws.accepted(record, target)
            documents = f"{dialect} {facet} > {target}"
            law = "2 accepted (valid source)" if valid else "2 accepted (other source)"
            if not laws.tally(law, documents, not problems) and valid:
                failures.append((f"{record.name} > {target}", problems[:2]))
    assert not failures, describe(failures)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_join(dialect: str) -> None:
    """A recorded request and its answer join to a history that the official types accept."""
    failures: list[tuple[str, object]] = []
    for asked, answer in pairs(dialect):
        joined = dragoman.join(asked.body, answer.body, dialect=dialect)
        problems = sdk.problems(dialect, "request", joined.document)
        known = sdk.problems(dialect, "request", asked.body)
        held = not problems or bool(known) or bool(sdk.problems(dialect, "response", answer.body))
        if not laws.tally("4 joined", dialect, held):
            failures.append((answer.name, problems[:3]))
    assert not failures, describe(failures)


def readable(dialect: str, facet: str) -> list[Record]:
    return [record for record in records(dialect, facet) if record.name not in EXCUSED]


# Documents that no reader should accept, each with its reason.
EXCUSED: dict[str, str] = {}
