"""The Agents SDK's own converter reads what we write, and we read what it writes."""

from __future__ import annotations

from typing import Any

import pytest
from agents.models.chatcmpl_converter import Converter
from openai.types.chat import ChatCompletionMessage

import dragoman
import places
from dragoman import testing
from dragoman.testing import Document, load_corpus

NAME = "openai-agents"
CLAUDE = "litellm/anthropic/claude-opus-4-5"
HISTORIES = [
    document
    for case in load_corpus(places.CORPUS)
    for document in case.documents
    if document.facet == "messages" and not document.degraded
]


def chat(items: Any) -> Any:
    """What the SDK sends to a model that speaks Chat Completions."""
    return Converter.items_to_messages(
        items, CLAUDE, preserve_thinking_blocks=True, preserve_tool_output_all_content=True
    )


def gist(messages: Any) -> list[Any]:
    """Who says what, calls and replies; system prompts may be several."""
    out: list[Any] = []
    for message in messages:
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        texts = [part["text"] for part in parts if part.get("text")]
        texts = [text for text in texts if not text.startswith("[content of tool result")]
        calls = [(c["id"], c["function"]["name"]) for c in message.get("tool_calls") or ()]
        if texts or calls:
            out.append((message["role"], message.get("tool_call_id"), "".join(texts), calls))
    return out


@pytest.mark.parametrize("document", HISTORIES, ids=lambda d: d.name)
def test_the_sdk_sends_what_we_would(document: Document) -> None:
    """Its converter and ours make the same conversation of the items."""
    items = testing.converted(document, NAME).document
    hosted = ("_call", "_call_output", "compaction", "item_reference")
    plain = [
        item
        for item in items
        if item.get("type") in (None, "message", "function_call", "function_call_output")
        or not str(item.get("type")).endswith(hosted)
    ]
    if plain != items or "input_file" in str(items) or "input_audio" in str(items):
        return  # the SDK refuses these for Chat Completions
    ours = dragoman.convert(items, source=NAME, target="openai-chat", facet="messages").document
    theirs, mine = gist(chat(items)), gist(ours)
    assert "".join(text for _, _, text, _ in theirs) == "".join(text for _, _, text, _ in mine)
    assert [calls for *_, calls in theirs if calls] == [calls for *_, calls in mine if calls]
    assert [i for _, i, *_ in theirs if i] == [i for _, i, *_ in mine if i]


def test_a_signed_block_of_claude_comes_back_as_it_was() -> None:
    thinking = {"type": "thinking", "thinking": "A crane.", "signature": "c2ln"}
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    history = [
        {"role": "user", "content": "Which harbour?"},
        {"role": "assistant", "content": [thinking, call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "7"}]},
    ]
    there = dragoman.convert(
        {"messages": history}, source="anthropic-messages", target=NAME, facet="messages"
    )
    assert not there.losses
    assert chat(there.document)[1]["thinking_blocks"] == [thinking]


def test_what_the_sdk_makes_of_a_reply_is_read() -> None:
    blocks = [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}]
    reply = ChatCompletionMessage(
        role="assistant",
        content="So.",
        reasoning_content="Hm.",
        thinking_blocks=blocks,  # type: ignore[call-arg]
    )
    items = [
        item.model_dump(exclude_unset=True)
        for item in Converter.message_to_output_items(reply, {"model": CLAUDE})
    ]
    read = dragoman.convert(items, source=NAME, target="anthropic-messages", facet="messages")
    content = read.document["messages"][0]["content"]
    assert content == [*blocks, {"type": "text", "text": "So."}]
    assert {loss.path.rpartition("/")[2] for loss in read.losses} == {"model", "provider_data"}
