"""Ids of tool calls: no two alike, and each comes back."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dragoman.tools import llxprt_ids as ids

# Made of the pieces that could be mistaken for each other, and of anything at all.
PIECES = st.sampled_from(
    ["call_", "toolu_", "hist_tool_", "raw_", "abc", "-", "--", "-2e-", ".", ":", "_", "é", "0"]
)
WIRE = st.one_of(st.lists(PIECES, max_size=6).map("".join), st.text(max_size=12))
WAYS = [
    (ids.to_history, ids.from_history, "hist_tool_"),
    (ids.to_openai, ids.from_openai, "call_"),
    (ids.to_anthropic, ids.from_anthropic, "toolu_"),
]
ways = pytest.mark.parametrize(("there", "back", "prefix"), WAYS, ids=[w[2] for w in WAYS])
Way = Callable[[str], str]


@ways
@given(WIRE)
def test_there_and_back(there: Way, back: Way, prefix: str, call_id: str) -> None:
    if prefix != "hist_tool_":
        call_id = ids.from_history(call_id)  # these two unwrap what comes out of a history
        assume(ids.from_history(call_id) == call_id)
    written = there(call_id)
    assert re.fullmatch(f"{prefix}[a-zA-Z0-9_-]*", written)
    assert back(written) == call_id


@ways
@given(WIRE, WIRE)
def test_no_two_ids_become_one(there: Way, back: Way, prefix: str, a: str, b: str) -> None:
    if prefix != "hist_tool_":
        a, b = ids.from_history(a), ids.from_history(b)
        assume(ids.from_history(a) == a and ids.from_history(b) == b)
    assert (there(a) == there(b)) == (a == b)


@given(WIRE)
def test_a_history_id_stands_for_one_id_only(history_id: str) -> None:
    """What is read from a history is written again as it was, or was no id of ours."""
    found = ids.from_history(history_id)
    assert found == history_id or ids.to_history(found) == history_id


@given(WIRE)
def test_a_history_id_goes_where_its_call_goes(call_id: str) -> None:
    assume(ids.from_history(call_id) == call_id)
    assert ids.to_openai(ids.to_history(call_id)) == ids.to_openai(call_id)
    assert ids.to_anthropic(ids.to_history(call_id)) == ids.to_anthropic(call_id)


TABLE = [
    ("call_abc", "hist_tool_abc", "call_abc", "toolu_call_abc"),
    ("toolu_abc", "hist_tool_toolu_abc", "call_toolu_abc", "toolu_abc"),
    (
        "functions.Bash:0",
        "hist_tool_raw_functions-2e-Bash-3a-0",
        "call_raw_functions-2e-Bash-3a-0",
        "toolu_raw_functions-2e-Bash-3a-0",
    ),
    ("fc-1", "hist_tool_raw_fc--1", "call_raw_fc--1", "toolu_raw_fc--1"),
    ("call_raw_x", "hist_tool_raw_call_raw_x", "call_raw_call_raw_x", "toolu_call_raw_x"),
    ("", "hist_tool_raw_", "call_raw_", "toolu_raw_"),
    ("call_", "hist_tool_", "call_", "toolu_call_"),
]


@pytest.mark.parametrize(("wire", "history", "openai", "anthropic"), TABLE)
def test_table(wire: str, history: str, openai: str, anthropic: str) -> None:
    assert ids.to_history(wire) == history
    assert ids.from_history(history) == wire
    assert ids.to_openai(wire) == ids.to_openai(history) == openai
    assert ids.to_anthropic(wire) == ids.to_anthropic(history) == anthropic


@pytest.mark.parametrize(
    "strange", ["abc", "hist_tool_a.b", "hist_tool_raw_call_abc", "hist_tool_raw_-g-", "toolu_x"]
)
def test_what_was_not_written_by_these_rules_stays(strange: str) -> None:
    assert ids.from_history(strange) == strange
