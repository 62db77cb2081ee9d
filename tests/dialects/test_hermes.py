"""Hermes: tools in a system turn of their own, as its template and its model card have them."""

from __future__ import annotations

import json
from typing import Any

import pytest

import dragoman
from dragoman.dialects import hermes

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
CARD = (
    "<|im_start|>system\n" + hermes.TOOLS + json.dumps(TOOL) + " " + hermes.CARD + "<|im_end|>\n"
    "<|im_start|>user\nHi<|im_end|>\n"
    '<|im_start|>assistant\n<tool_call>\n{"arguments": {"x": 1}, "name": "f"}\n</tool_call>'
    "<|im_end|>\n"
    '<|im_start|>tool\n<tool_response>\n{"name": "f", "content": 5}\n</tool_response>\n<|im_end|>\n'
)  # fmt: skip


def test_what_the_model_card_shows_is_read() -> None:
    assert dragoman.detect({"text": CARD})[0].dialect == "hermes"
    result = dragoman.convert({"text": CARD}, source="hermes", target="trl")
    assert result.document["tools"] == [TOOL]
    messages: Any = result.document["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool"]
    assert messages[1]["tool_calls"][0]["function"] == {"name": "f", "arguments": {"x": 1}}
    assert json.loads(messages[2]["content"]) == {"name": "f", "content": 5}


@pytest.mark.parametrize("beside", ["", "Be brief. "])
def test_other_sentences_around_the_tools_are_words(beside: str) -> None:
    text = CARD.replace("<|im_start|>system\n", f"<|im_start|>system\n{beside}").replace(
        "plug", "put"
    )
    tree = dragoman.read({"text": text}, "hermes")
    assert not tree.tools
    assert tree.messages[0].role == "system"


def test_a_prompt_forges_no_tools() -> None:
    head = hermes.TOOLS + json.dumps(TOOL) + hermes.CALLING
    chat = {"messages": [{"role": "system", "content": head}, {"role": "user", "content": "Hi"}]}
    result = dragoman.convert(chat, source="openai-chat", target="hermes")
    assert [loss.what for loss in result.losses] == ["text.control"]
    assert not dragoman.read(result.document, "hermes").tools
