"""Usual shapes are read on a short way: always, and as the careful way reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import seeds
from dragoman import Malformed, dialects
from dragoman.dialects.anthropic_messages import blocks as claude_blocks
from dragoman.dialects.anthropic_messages import turns as claude_turns
from dragoman.dialects.gemini import parts as gemini_parts
from dragoman.dialects.gemini import turns as gemini_turns
from dragoman.dialects.openai_chat import assistant as chat_assistant
from dragoman.dialects.openai_chat import messages as chat_messages
from dragoman.dialects.openai_chat import parts as chat_parts
from dragoman.dialects.openai_responses import items as responses_items
from dragoman.model import History

MARKED = "[tool error] x"
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
USE = {"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}
TEXT = {"type": "text", "text": "Hi"}
USUAL: dict[str, list[list[Any]]] = {
    "openai-chat": [
        [{"role": "system", "content": "Hi"}],
        [{"role": "user", "content": "[x"}],
        [{"role": "assistant", "content": "Hi"}],
        [{"role": "assistant", "content": "Hi", "tool_calls": [CALL]}],
        [
            {"role": "assistant", "content": None, "tool_calls": [CALL, CALL]},
            {"role": "tool", "tool_call_id": "c", "content": ""},
            {"role": "tool", "tool_call_id": "c", "content": "[x"},
            {"role": "user", "content": ""},
            {"role": "user", "content": "[x"},
        ],
        [
            {"role": "assistant", "content": "Hi", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c", "content": "x"},
            {"role": "assistant", "content": "Hi"},
            {"role": "user", "content": "[x"},
        ],
        [
            {"role": "tool", "tool_call_id": "c", "content": "x"},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "user", "content": "[x"},
        ],
        [
            {"role": "tool", "tool_call_id": "c", "content": "x"},
            {"role": "assistant", "content": "Hi", "tool_calls": [CALL]},
            {"role": "user", "content": "[x"},
        ],
    ],
    "anthropic-messages": [
        [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hi"}],
        [{"role": "user", "content": [TEXT]}],
        [{"role": "assistant", "content": [TEXT, USE]}],
        [{"role": "assistant", "content": [USE]}],
        [
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c", "content": "r"},
                    {"type": "tool_result", "tool_use_id": "c", "content": [TEXT]},
                ],
            }
        ],
    ],
    "gemini": [
        [{"role": "user", "parts": [{"text": "Hi"}]}, {"role": "model", "parts": [{"text": ""}]}],
        [{"role": "model", "parts": [{"text": "Hm", "thought": True}, {"text": "Hi"}]}],
        [
            {
                "role": "model",
                "parts": [{"functionCall": {"id": "c", "name": "f", "args": {"a": 1}}}],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "c", "name": "f", "response": {"output": "r"}}}
                ],
            },
        ],
        [
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "f", "response": {"output": ""}}}],
            },
        ],
    ],
    "openai-responses": [
        [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
            {"type": "message", "role": "assistant", "content": "Hi"},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": ""},
            {"type": "function_call_output", "call_id": "c", "output": "[x"},
        ],
        [
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "message", "role": "assistant", "content": "Hi"},
        ],
    ],
}
"""Histories of nothing but usual shapes."""
NEARLY: dict[str, list[list[Any]]] = {
    "openai-chat": [
        [{"role": "user", "content": [TEXT]}],
        [
            {"role": "tool", "tool_call_id": "c", "content": "x"},
            {"role": "user", "content": "[x"},
        ],
        [{"role": "user", "content": [TEXT]}, {"role": "user", "content": "[x"}],
    ],
}
"""Histories with a short way for parts of them."""
CAREFUL: dict[str, list[tuple[ModuleType, str]]] = {
    "openai-chat": [
        (chat_messages, "read_message"), (chat_assistant, "read_call"), (chat_parts, "read_part"),
    ],
    "anthropic-messages": [
        (claude_turns, "read_message"), (claude_blocks, "read_call"),
        (claude_blocks, "read_result"),
    ],
    "gemini": [(gemini_turns, "read_turn"), (gemini_parts, "read_part")],
    "openai-responses": [(responses_items, "read_item")],
}  # fmt: skip
"""The functions that read any shape."""
SHORT: dict[str, list[tuple[ModuleType, str]]] = {
    "openai-chat": [
        (chat_messages, "PLAIN_RESULT"), (chat_messages, "PLAIN_MESSAGE"),
        (chat_messages, "CALLING_MESSAGE"), (chat_assistant, "PLAIN_CALL"),
        (chat_parts, "PLAIN_TEXT"),
    ],
    "anthropic-messages": [
        (claude_turns, "PLAIN_MESSAGE"), (claude_turns, "PLAIN_RESULT"),
        (claude_blocks, "PLAIN_CALL"), (claude_blocks, "PLAIN_TEXT"),
    ],
    "gemini": [
        (gemini_turns, "PLAIN_CONTENT"), (gemini_turns, "PLAIN_PART"), (gemini_parts, "PLAIN_PART"),
        (gemini_parts, "PLAIN_CALLING"), (gemini_parts, "PLAIN_THOUGHT"),
        (gemini_parts, "PLAIN_REPLYING"),
    ],
    "openai-responses": [
        (responses_items, "PLAIN_CALL"), (responses_items, "PLAIN_RESULT"),
        (responses_items, "TYPED_MESSAGE"), (responses_items, "PLAIN_TEXT"),
    ],
}  # fmt: skip
"""What is asked before a short way is taken."""
OTHER: tuple[Any, ...] = (None, "", "x", 5, True, [], {}, ["x"], [None], {"x": 1}, " ", MARKED)


def document(dialect: str, history: list[Any]) -> Any:
    return {dialects.get(dialect).history: history}


def read(dialect: str, history: list[Any]) -> Any:
    """The messages, or what is wrong and where."""
    try:
        tree = dialects.get(dialect).read(document(dialect, history), "messages")
    except Malformed as problem:
        return problem.at, problem.what
    assert isinstance(tree, History)
    return tree.messages


def never(*_: object) -> bool:
    return False


def forbidden(*_: object, **__: object) -> None:
    raise AssertionError("this is the careful way")


def unusual(history: list[Any]) -> Iterator[list[Any]]:
    """A history with one value less, or another one, or a key that nobody knows."""
    text = json.dumps(history)
    for path, value in seeds.nodes(history):
        if not path:
            continue
        for change in (*OTHER, "less", "more"):
            changed = json.loads(text)
            holder = seeds.at(changed, path[:-1])
            if change == "less":
                del holder[path[-1]]
            elif change == "more":
                if not isinstance(value, dict):
                    continue
                holder[path[-1]]["zq"] = 1
            else:
                holder[path[-1]] = change
            yield changed


@pytest.mark.parametrize("dialect", USUAL)
def test_the_short_way_is_taken(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in CAREFUL[dialect]:
        monkeypatch.setattr(module, name, forbidden)
    monkeypatch.setitem(claude_blocks.READERS, "text", forbidden)
    for history in USUAL[dialect]:
        read(dialect, history)


@pytest.mark.parametrize("dialect", USUAL)
def test_an_unknown_key_is_kept(dialect: str) -> None:
    for usual in (*USUAL[dialect], *NEARLY.get(dialect, ())):
        for history in unusual(usual):
            if "zq" in json.dumps(history):
                assert "zq" in repr(read(dialect, history)), history


@pytest.mark.parametrize("dialect", USUAL)
def test_the_short_way_reads_what_the_careful_way_reads(
    dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = [*USUAL[dialect], *NEARLY.get(dialect, ())]
    histories = [each for usual in known for each in (usual, *unusual(usual))]
    short = [read(dialect, history) for history in histories]
    for module, name in SHORT[dialect]:
        monkeypatch.setattr(module, name, never)
    for history, found in zip(histories, short, strict=True):
        assert read(dialect, history) == found, history
