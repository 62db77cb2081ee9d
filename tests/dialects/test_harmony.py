"""Conversations of harmony, as the package of OpenAI reads them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai_harmony import Conversation

import dragoman
from dragoman import testing
from dragoman.testing import Document
from places import CORPUS

WRITTEN = [
    document
    for case in testing.load_corpus(CORPUS)
    for document in case.documents
    if document.facet == "request"
    and document.dialect in ("openai-chat", "trl", "harmony", "claude-code")
]
CHANNELS = {"analysis", "commentary", "final"}


@pytest.mark.parametrize("document", WRITTEN, ids=lambda document: document.name)
def test_the_package_reads_and_stores_the_same(document: Document) -> None:
    record = testing.converted(document, "harmony").document
    read = Conversation.from_json(json.dumps({"messages": record["messages"]}))
    stored: Any = json.loads(read.to_json())
    assert without_nulls(stored["messages"]) == without_nulls(record["messages"])
    for message in record["messages"]:
        if message["role"] == "assistant" and document.dialect != "harmony":
            assert message["channel"] in CHANNELS  # "Channel must be included for every message."


def without_nulls(value: Any) -> Any:
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return value


def test_what_stands_in_a_channel() -> None:
    chat = {"model": "m", "messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "reasoning_content": "Hm.", "content": "Wait.", "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "assistant", "content": "Done."}]}  # fmt: skip
    result = dragoman.convert(chat, source="deepseek", target="harmony")
    messages = result.document["messages"][1:]
    assert [(m["role"], m.get("channel"), m.get("recipient"), m.get("name")) for m in messages] == [
        ("user", None, None, None),
        ("assistant", "analysis", None, None),
        ("assistant", "commentary", None, None),
        ("assistant", "commentary", "functions.f", None),
        ("assistant", "commentary", "functions.g", None),
        ("tool", "commentary", "assistant", "functions.f"),
        ("tool", "commentary", "assistant", "functions.g"),
        ("assistant", "final", None, None),
    ]
    assert ("moved", "message.position") in [(loss.kind, loss.what) for loss in result.losses]


def test_tools_of_its_own_are_kept() -> None:
    call = {"role": "assistant", "content": [{"type": "text", "text": "1+1"}],
            "channel": "analysis", "recipient": "python", "content_type": "code"}  # fmt: skip
    record = {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}, call]}
    tree = dragoman.read(record, "harmony")
    assert dragoman.write(tree, "harmony").document == record
    lost = dragoman.write(tree, "trl").losses
    assert ("dropped", "raw", "/messages/1") in [(x.kind, x.what, x.path) for x in lost]


def test_detection() -> None:
    record = {"messages": [{"role": "assistant", "channel": "final", "content": [
        {"type": "text", "text": "Hi"}]}]}  # fmt: skip
    assert dragoman.detect(record)[0].dialect == "harmony"
