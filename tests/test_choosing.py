"""The quick run is chosen by a rule, and the rule leaves no dialect and no layer out."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

import choosing
import places
from choosing import ALL, COSTLY, DEAR, FEW, OF_A_DIALECT, PART, SLOW, kept, sampled, spread
from dragoman import dialects
from dragoman.testing import load_corpus

ROOT = places.TESTS
WHOLE = [d for c in load_corpus(ROOT / "corpus") for d in c.documents if not d.degraded]
LAWS = ("test_identity", "test_pair", "test_audit", "test_the_way_home", "test_determinism")
STREAMS = [name for name in dialects.names() if "stream" in dialects.get(name).facets()]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a quick run keeps is looked at, whichever run this is."""
    monkeypatch.setitem(choosing.chosen, "quick", True)
    monkeypatch.setitem(choosing.chosen, "most", False)


def test_few_are_all_kept_and_of_many_a_part() -> None:
    assert sampled("f", [str(n) for n in range(ALL)]) == list(range(ALL))
    assert len(sampled("f", [str(n) for n in range(ALL + 10 * PART)])) == ALL + 10
    costly = f"tests/{min(COSTLY)}"
    assert len(sampled(costly, [str(n) for n in range(50)])) == FEW


def test_the_sample_is_the_same_in_every_run_and_another_for_every_law() -> None:
    ids = [document.name for document in WHOLE]
    assert sampled("a", ids) == sampled("a", ids)
    assert sampled("a", ids) != sampled("b", ids)
    more = sampled("a", [*ids, "a-new-case"])
    assert len(set(more) - set(sampled("a", ids))) <= 2  # a new case does not shuffle the others


def test_the_laws_look_at_every_dialect() -> None:
    ids = [d.name for d in WHOLE]
    values: list[Mapping[str, Any]] = [{"document": d} for d in WHOLE]
    every: set[int] = set()
    for law in LAWS:
        found = spread(f"tests/test_corpus.py::{law}", ids, values)
        assert {WHOLE[place].dialect for place in found} == {d.dialect for d in WHOLE}
        assert len(found) < len(WHOLE) / 4
        every.update(found)
    assert len(every) > len(WHOLE) / 3


def test_the_laws_of_streams_look_at_every_target() -> None:
    pairs = [(d, target) for target in STREAMS for d in WHOLE if d.facet == "response"]
    ids = [f"{target}-{d.name}" for d, target in pairs]
    values: list[Mapping[str, Any]] = [{"document": d, "target": t} for d, t in pairs]
    found = spread("tests/streams/test_streams.py::test_streaming_equals_batch", ids, values)
    assert {pairs[place][1] for place in found} == set(STREAMS)
    assert {pairs[place][0].dialect for place in found} == {d.dialect for d, _ in pairs}


@pytest.mark.parametrize("name", sorted(COSTLY | DEAR | SLOW))
def test_what_is_named_exists(name: str) -> None:
    file, _, function = name.partition("::")
    tree = ast.parse(next(ROOT.rglob(file)).read_text("utf-8"))
    assert function in {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}


def test_one_dialect_is_its_documents_and_all_others_with_it_as_target(monkeypatch: Any) -> None:
    monkeypatch.setitem(choosing.chosen, "dialect", "groq")
    ids = [d.name for d in WHOLE]
    values: list[Mapping[str, Any]] = [{"document": d} for d in WHOLE]
    own = {n for n, d in enumerate(WHOLE) if d.dialect == "groq"}
    found = set(kept("tests/test_corpus.py::test_pair", ids, values, True))
    assert own <= found or len(own & found) >= OF_A_DIALECT
    other = next(WHOLE[n] for n in found if WHOLE[n].dialect != "groq")
    assert choosing.targets(other) == ("groq",)
    assert choosing.targets(WHOLE[min(own)]) == choosing.tried(WHOLE[min(own)], dialects.names())
    assert kept("f", ["x"], [{"document": other}], False) == []


def test_work_grows_with_the_documents_and_every_dialect_is_tried() -> None:
    names = dialects.names()
    tried: set[tuple[str, str]] = set()
    for document in WHOLE:
        found = choosing.tried(document, names)
        assert {*choosing.GREAT, document.dialect} <= set(found)
        share = 3 if document.dialect in choosing.GREAT else 1
        assert len(found) <= len(choosing.GREAT) + 1 + choosing.OTHERS * share
        more = choosing.tried(document, (*names, "a-new-dialect"))
        assert len(set(found) - set(more)) <= 1  # a new dialect does not shuffle the others
        tried.update((document.dialect, name) for name in found)
    often = [name for name, count in Counter(d.dialect for d in WHOLE).items() if count >= 60]
    assert len(often) > 5
    for source in often:
        assert {name for d, name in tried if d == source} == set(names), source
