"""A usual conversation is written without the careful ways: they are for what is unusual."""

from __future__ import annotations

from typing import Any

import pytest

import dragoman
from dragoman import dialects
from dragoman.dialects.gemini import order
from dragoman.model import Json

CALLS: Json = [
    {"block": "tool-call", "id": "c1", "name": "f", "arguments": '{"a":1}'},
    {"block": "tool-call", "id": "c2", "name": "f", "arguments": '{"a":2}'},
]


def text(words: str) -> Json:
    return {"block": "text", "text": words}


def reply(call_id: str) -> Json:
    result = {"block": "tool-result", "call_id": call_id, "content": [text("14 C")]}
    return {"role": "tool", "content": [result]}


TREE: Json = {
    "model": "m",
    "messages": [
        {"role": "system", "content": [text("Be brief.")]},
        {"role": "user", "content": [text("Hi")]},
        {"role": "assistant", "content": [text("Hello."), *CALLS]},
        reply("c1"),
        reply("c2"),
        {"role": "assistant", "content": [text("It is 14 C.")]},
        {"role": "user", "content": [text("Again.")]},
        {"role": "assistant", "content": [{**CALLS[0], "id": "c3"}]},
        reply("c3"),
    ],
    "tools": [{"name": "f", "schema": {"type": "object", "properties": {}}}],
    "params": {"max_tokens": 100},
}
CAREFUL = {
    "anthropic-messages": (
        "note_system", "write_other", "write_turn", "write_blocks", "write_block", "write_call",
        "fit_assistant", "fit_result",
    ),
    "gemini": ("write_turn", "write_part", "write_text", "write_call", "finish"),
    "openai-chat": ("sort_blocks", "write_content", "write_parts", "write_call"),
    "openai-responses": ("write_message", "write_results", "write_message_item"),
}  # fmt: skip


@pytest.mark.parametrize("target", CAREFUL)
def test_nothing_careful_is_asked(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("this is the careful way")

    dialect = dialects.get(target)
    for name in CAREFUL[target]:
        if hasattr(dialect, name):
            monkeypatch.setattr(type(dialect), name, fail)
    monkeypatch.setattr(order, "in_order", fail)
    monkeypatch.setattr(order, "results_in_place", fail)
    document = {"dragoman": 1, "facet": "request", "tree": TREE}
    result = dragoman.convert(document, source="native", target=target, facet="request")
    assert not result.losses
