"""LiteLLM's types know every key that we write.

The package excludes the versions of other vendors' SDKs that the tests have, so its types stand
here as a table: litellm 1.106.2, types/llms/openai.py.
"""

from __future__ import annotations

from typing import Any

import pytest

import dragoman
import places
from dragoman import testing
from dragoman.testing import Document, load_corpus

NAME = "litellm"
# ChatCompletionSystemMessage, -DeveloperMessage, -UserMessage, -AssistantMessage, -ToolMessage; the
# speaker's name and the refusal are those of OpenAI, whose types the function takes as well.
MESSAGES = {
    "system": {"role", "content", "name", "cache_control"},
    "developer": {"role", "content", "name", "cache_control"},
    "user": {"role", "content", "name", "cache_control"},
    "assistant": {
        "role", "content", "name", "tool_calls", "function_call", "cache_control", "refusal",
        "reasoning_content", "reasoning_items", "thinking_blocks",
    },
    "tool": {"role", "content", "tool_call_id"},
}  # fmt: skip
# ChatCompletionThinkingBlock, ChatCompletionRedactedThinkingBlock
BLOCKS = {
    "thinking": {"type", "thinking", "signature", "cache_control"},
    "redacted_thinking": {"type", "data", "cache_control"},
}
CACHED = {"type", "ttl"}  # ChatCompletionCachedContent
DOCUMENTS = [
    document
    for case in load_corpus(places.CORPUS)
    for document in case.documents
    if document.facet in ("request", "messages") and not document.degraded and not document.spelling
    if document.dialect in ("anthropic-messages", "openai-chat", "gemini")
]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_its_types_know_what_is_written(document: Document) -> None:
    if document.dialect == "openai-chat":
        document = document._replace(body=written_by_others(document.body))
    try:
        written = testing.converted(document, NAME).document
    except dragoman.Unsayable:
        return
    for message in written if isinstance(written, list) else written["messages"]:
        assert message.keys() <= MESSAGES[message["role"]]
        for block in message.get("thinking_blocks", ()):
            assert block.keys() <= BLOCKS[block["type"]]
        for part in message["content"] if isinstance(message.get("content"), list) else ():
            assert part.get("cache_control", {}).keys() <= CACHED


def written_by_others(body: Any) -> Any:
    """A document without fields that only one dialect knows and its kin pass on."""
    keys = {key for known in MESSAGES.values() for key in known}
    messages = body if isinstance(body, list) else body["messages"]
    own = [{k: v for k, v in message.items() if k in keys} for message in messages]
    return own if isinstance(body, list) else body | {"messages": own}


def test_a_history_of_claude_passes_there_and_back_whole() -> None:
    """What LiteLLM makes of such a request is what is read of it (anthropic_messages_pt)."""
    thinking = {"type": "thinking", "thinking": "A crane.", "signature": "c2lnbmVk"}
    hidden = {"type": "redacted_thinking", "data": "aGlkZGVu"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": {"what": "crane"}}
    history = {
        "messages": [
            {"role": "user", "content": "Which harbour is this?"},
            {"role": "assistant", "content": [thinking, hidden, call]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "7"}],
            },
        ]
    }
    there = dragoman.convert(history, source="anthropic-messages", target=NAME, facet="messages")
    assert there.document[1]["thinking_blocks"] == [thinking, hidden]
    assert there.document[1]["reasoning_content"] == "A crane."
    assert not there.losses
    back = dragoman.convert(
        there.document, source=NAME, target="anthropic-messages", facet="messages"
    )
    assert back.document == history
