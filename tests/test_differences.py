"""The comparison of conversions before and after a change: does it notice one?"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import differences

BEFORE = {
    "case request > a": ["1", ["dropped x at /y (why)"]],
    "case request > b": ["1", []],
    "case request > c": ["1", []],
}


@pytest.mark.parametrize(
    ("changed", "keys"),
    [
        ({}, []),
        ({"case request > a": ["2", ["dropped x at /y (why)"]]}, ["case request > a"]),
        ({"case request > b": ["1", ["dropped x at /y (why)"]]}, ["case request > b"]),
        ({"case request > d": ["1", []]}, ["case request > d"]),
    ],
)
def test_each_difference_is_reported(
    changed: dict[str, list[object]], keys: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert differences.report(BEFORE, BEFORE | changed) == keys
    assert capsys.readouterr().out.startswith(f"{len(BEFORE | changed)} conversions: ")


def test_what_is_no_longer_possible_is_reported() -> None:
    assert differences.report(BEFORE, {}) == sorted(BEFORE)


def test_documents_and_streams_are_found(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(s) + "\n" for s in differences.documents()), "utf-8")
    found = list(differences.sources(False, differences.read_documents(path)))
    assert any(source.name.endswith(".degraded") for source in found)
    facets = Counter(source.facet for source in found)
    assert {"request", "response", "error", "tools", differences.STREAM} <= facets.keys()
    assert min(facets.values()) > 0
