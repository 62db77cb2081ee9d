"""What is noted of lines: the losses, which are counted together where they are the same."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from choosing import examples
from dragoman.datasets.noting import MOST, Count, Losses, short
from dragoman.ledger import Loss

LOSSES = [
    Loss("dropped", "model", "", "no field"),
    Loss("dropped", "model", "/model", "no field"),
    Loss("dropped", "temperature", "/temperature", "no field"),
    Loss("moved", "model", "", "elsewhere"),
]
records = st.lists(
    st.tuples(
        st.sampled_from(["anthropic-messages", "codex"]),
        st.lists(st.sampled_from(LOSSES), min_size=1, max_size=3),
    ),
    max_size=12,
)


@given(records)
@settings(max_examples=examples(200))
def test_records_with_the_same_losses_are_counted_as_any_others(
    records: list[tuple[str, list[Loss]]],
) -> None:
    tables: dict[str, dict[str, Count]] = {}
    counting = Losses(tables, str.upper)
    first: dict[tuple[str, str], tuple[int, str]] = {}
    times: Counter[tuple[str, str]] = Counter()
    held: Counter[tuple[str, str]] = Counter()
    for number, (source, losses) in enumerate(records):
        counting.add(source, list(losses), 0, number, "/at")
        keys = [(source, f"{loss.kind} {loss.what}") for loss in losses]
        for key, loss in zip(keys, losses, strict=True):
            first.setdefault(key, (number, f"/at{loss.path}".upper()))
        times.update(keys)
        held.update(set(keys))
    counting.settle()
    counted = {
        (source, key): count for source, table in tables.items() for key, count in table.items()
    }
    assert {key: count.times for key, count in counted.items()} == times
    assert {key: count.records for key, count in counted.items()} == held
    assert {key: (count.line, count.at) for key, count in counted.items()} == first


def test_a_reason_that_is_cut_off_says_so() -> None:
    assert short("x" * MOST) == "x" * MOST
    assert short("x" * (MOST + 1)) == "x" * (MOST - 1) + "…"
