"""Which call a result replies that bears no id."""

from __future__ import annotations

import pytest

import dragoman
from dragoman.model import ToolCall
from dragoman.tools.pairing import Waiting


def waiting(*turns: str) -> Waiting:
    """Calls without ids, turn by turn: each letter is a call of that name, ``a0`` the first."""
    found = Waiting()
    numbers: dict[str, int] = {}
    for turn, names in enumerate(turns):
        for place, name in enumerate(names):
            number = numbers[name] = numbers.get(name, -1) + 1
            call = ToolCall(None, name, "{}", at=f"/messages/{turn}/tool_calls/{place}")
            found.add(call, f"{name}{number}")
    return found


@pytest.mark.parametrize(
    ("turns", "results", "replied"),
    [
        (["ab"], [None, None, None], ["a0", "b0", None]),
        (["ab"], ["b", "a", "a"], ["b0", "a0", None]),
        (["aba"], ["a", None, None], ["a0", "b0", "a1"]),  # by name, and what is left in order
        (["ab"], ["a", None], ["a0", "b0"]),
        (["a", "a"], ["a", "a"], ["a1", "a0"]),  # the last turn first
        (["ab", "c"], [None, None, None], ["c0", "a0", "b0"]),
        (["ab", "c"], ["a", None, None], ["a0", "c0", "b0"]),
        (["a"], ["x"], ["a0"]),  # a name that nobody called: the only one that is left
        (["ab"], ["x", None, "x"], [None, "a0", "b0"]),  # which one it is, nobody knows
        (["a", "bc"], ["x", "b", "x", "x"], [None, "b0", "c0", "a0"]),
        ([], ["a", None], [None, None]),
    ],
)
def test_results_without_ids(
    turns: list[str], results: list[str | None], replied: list[str | None]
) -> None:
    calls = waiting(*turns)
    assert [calls.reply(name) for name in results] == replied


@pytest.mark.parametrize("target", ["openai-chat", "anthropic-messages", "gemini", "cohere"])
def test_a_result_of_a_tool_that_nobody_called_is_a_message(target: str) -> None:
    calls = [{"function": {"name": name, "arguments": {}}} for name in "ab"]
    turns = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "tool_name": "x", "content": "one"},
        {"role": "tool", "tool_name": "b", "content": "two"},
    ]
    doc = {"model": "m", "messages": turns}
    result = dragoman.convert(doc, source="ollama", target=target)
    assert dragoman.check(result.document, target) == []
    losses = [(loss.kind, loss.what, loss.path) for loss in result.losses]
    assert ("approximated", "tool_result", "/messages/2") in losses
