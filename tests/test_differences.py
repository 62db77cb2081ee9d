"""The comparison of conversions before and after a change: does it notice one?"""

from __future__ import annotations

from collections import Counter

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


def test_documents_and_streams_are_found() -> None:
    facets = Counter(source.facet for source in differences.sources(also_recorded=False))
    assert {"request", "response", "error", "tools", differences.STREAM} <= facets.keys()
    assert min(facets.values()) > 0
