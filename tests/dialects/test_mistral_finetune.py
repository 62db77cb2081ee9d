"""Mistral's training lines, as mistral-common validates them for fine-tuning."""

from __future__ import annotations

from typing import Any

import pytest
from mistral_common.protocol.instruct.messages import (
    FinetuningAssistantMessage,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.tool_calls import Tool
from mistral_common.protocol.instruct.validator import MistralRequestValidatorV13, ValidationMode

import dragoman
from dragoman import testing
from dragoman.testing import Document
from places import CORPUS

TYPES: dict[str, Any] = {
    "system": SystemMessage,
    "user": UserMessage,
    "assistant": FinetuningAssistantMessage,
    "tool": ToolMessage,
}
WRITTEN = [
    document
    for case in testing.load_corpus(CORPUS)
    for document in case.documents
    if document.facet == "request"
    and document.dialect in ("openai-chat", "mistral-finetune", "trl", "claude-code")
]
# What the model itself wrote wrong is kept as it is: arguments, and a word after a call.
BROKEN = {"tool-call-malformed-arguments", "tool-call-half-character", "gemini-call-and-word"}


def validate(record: dict[str, Any]) -> None:
    """Every key is known, and the whole passes as an example for fine-tuning."""
    assert record.keys() <= {"messages", "tools"}
    messages = [TYPES[message["role"]].model_validate(message) for message in record["messages"]]
    tools = [Tool.model_validate(tool) for tool in record.get("tools", [])]
    request: Any = ChatCompletionRequest(messages=messages, tools=tools or None, model="m")
    MistralRequestValidatorV13(ValidationMode.finetuning).validate_request(request)


@pytest.mark.parametrize("document", WRITTEN, ids=lambda document: document.name)
def test_mistral_accepts_what_is_written(document: Document) -> None:
    try:
        record = testing.converted(document, "mistral-finetune").document
    except dragoman.Unsayable:
        return
    if document.case in BROKEN:
        return
    validate(record)


def test_the_hosted_form_of_reasoning_is_read() -> None:
    parts = [{"type": "text", "text": "So."}]
    chunk = {"type": "thinking", "thinking": parts}
    line = {"messages": [{"role": "user", "content": "Hi"},
                         {"role": "assistant", "content": [chunk]}]}  # fmt: skip
    tree = dragoman.read(line, "mistral-finetune")
    (block,) = tree.messages[1].content
    assert getattr(block, "content", None) == ("So.",)
    assert (
        dragoman.convert(line, source="mistral-finetune", target="mistral-finetune").document
        == line
    )


def test_a_weight_passes_to_the_other_format_that_has_it() -> None:
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hm.", "weight": 0}]
    result = dragoman.convert(
        {"messages": talk}, source="openai-finetune", target="mistral-finetune"
    )
    assert (result.document, result.losses) == ({"messages": talk}, ())
    back = dragoman.convert(result.document, source="mistral-finetune", target="openai-finetune")
    assert (back.document, back.losses) == ({"messages": talk}, ())


def test_what_follows_the_last_reply_is_left_out() -> None:
    chat = {"model": "m", "messages": [
        {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "Bye"}]}  # fmt: skip
    result = dragoman.convert(chat, source="openai-chat", target="mistral-finetune")
    assert [m["content"] for m in result.document["messages"]] == ["Hi", "Hello."]
    assert [(loss.what, loss.path) for loss in result.losses if loss.what != "model"] == [
        ("training.unanswered", "/messages/2/content")
    ]
    with pytest.raises(dragoman.Unsayable, match="no reply"):
        dragoman.convert(
            {**chat, "messages": chat["messages"][:1]},
            source="openai-chat",
            target="mistral-finetune",
        )
