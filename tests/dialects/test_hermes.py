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


HEAD = hermes.TOOLS + json.dumps(TOOL) + hermes.CALLING


@pytest.mark.parametrize(
    "head",
    [
        f"{HEAD}x",
        f"x{HEAD}",
        hermes.TOOLS + json.dumps(TOOL),
        json.dumps(TOOL) + hermes.CALLING,
        hermes.TOOLS.replace("Here", "There") + json.dumps(TOOL) + hermes.CALLING,
        hermes.TOOLS + json.dumps(TOOL) + hermes.CALLING.replace("pydantic", "json"),
    ],
)
def test_a_head_that_is_not_the_template_is_words(head: str) -> None:
    tree = dragoman.read({"text": f"<|im_start|>system\n{head}<|im_end|>\n"}, "hermes")
    assert tree.tools is None
    assert [block.text for block in tree.messages[0].content] == [head]  # type: ignore[union-attr]


@pytest.mark.parametrize("between", ["\n", "\n\n", "\n \n"])
def test_blank_lines_between_tools_are_no_tools(between: str) -> None:
    other = {**TOOL, "function": {"name": "g"}}
    head = hermes.TOOLS + json.dumps(TOOL) + between + json.dumps(other) + hermes.CALLING
    tree = dragoman.read({"text": f"<|im_start|>system\n{head}<|im_end|>\n"}, "hermes")
    assert [tool.name for tool in tree.tools or ()] == ["f", "g"]
    assert not tree.messages


@pytest.mark.parametrize("listed", ["{", "5", "{}", "[1]"])
def test_tools_that_are_none_are_malformed(listed: str) -> None:
    head = hermes.TOOLS + listed + hermes.CALLING
    with pytest.raises(dragoman.Malformed) as problem:
        dragoman.read({"text": f"<|im_start|>system\n{head}<|im_end|>\n"}, "hermes")
    assert problem.value.at == "/text"
