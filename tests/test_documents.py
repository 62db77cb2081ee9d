"""The laws over documents nobody wrote: parts of the corpus, put together anew, in every dialect.

A document of the corpus gets values, members and items that other documents have at the same place,
so that nearly all of them can be read. The laws are the oracles of the fuzzer.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import seeds
from choosing import examples
from dragoman import DragomanError, decompose
from dragoman.dialect import Dialect
from fuzz import mutations, oracles, run
from fuzz.dice import Seeded
from fuzz.oracles import Stream, Talk

relaxed = settings(
    max_examples=examples(40),
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
)
faces = pytest.mark.parametrize(
    ("dialect", "facet"), seeds.FACES, ids=[f"{dialect}.{facet}" for dialect, facet in seeds.FACES]
)
LAWS = (
    oracles.refusals,
    oracles.same_dialect,
    oracles.rewritten,
    oracles.determinism,
    oracles.ledger,
    oracles.checks,
    oracles.readable,
    oracles.audit_by_node,
    oracles.audit_by_leaf,
    oracles.way_home,
)
REFUSED = 0.02
"""The share of documents that readers may refuse."""


class Drawn:
    """Choices that hypothesis makes, and makes smaller."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def below(self, limit: int) -> int:
        return self.draw(st.integers(0, limit - 1)) if limit > 1 else 0


@st.composite
def documents(draw: st.DrawFn, dialect: str, facet: str) -> Any:
    """A document of a dialect and facet, with parts of others."""
    dice = Drawn(draw)
    seed = draw(st.sampled_from(seeds.documents(dialect, facet)))
    return mutations.recombined(seed, dialect, facet, dice)


@faces
@relaxed
@given(data=st.data())
def test_documents(dialect: str, facet: str, data: st.DataObject) -> None:
    document = data.draw(documents(dialect, facet))
    case = Talk(dialect, facet, data.draw(st.sampled_from(run.targets(facet))), document)
    for law in LAWS:
        law(case)


@pytest.mark.parametrize("source", seeds.STREAMS)
@relaxed
@given(data=st.data())
def test_streams(source: str, data: st.DataObject) -> None:
    """A response that nobody gave comes as a stream, cut anywhere, and becomes another one."""
    try:
        stream = decompose(data.draw(documents(source, "response")), source)
    except DragomanError:
        return
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=3, unique=True)))
    case = Stream(source, data.draw(st.sampled_from(seeds.STREAMS)), stream, cuts)
    for law in (oracles.cuts, oracles.truncation, oracles.stream_ledger):
        law(case)


def made(dialect: str, facet: str, number: int) -> Any:
    """One of the documents that could be drawn, the same in each run."""
    found = seeds.documents(dialect, facet)
    seed = Seeded(f"{dialect}.{facet}.{number}")
    return mutations.recombined(found[number % len(found)], dialect, facet, seed)


def test_few_documents_are_refused() -> None:
    refused = {
        f"{dialect}.{facet}": sum(
            oracles.is_refused(Talk(dialect, facet, dialect, made(dialect, facet, number)))
            for number in range(20)
        )
        for dialect, facet in seeds.FACES
    }
    assert sum(refused.values()) < REFUSED * 20 * len(seeds.FACES), refused


def test_a_reader_that_forgets_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the same dialect its source is copied; elsewhere what it forgot is lost in silence."""
    monkeypatch.setattr(Dialect, "keep", lambda *_, **__: None)
    cases = [Talk(*face, "anthropic-messages", made(*face, 0)) for face in seeds.FACES]
    assert any(list(oracles.faults(case, only="audit_by_leaf")) for case in cases)
