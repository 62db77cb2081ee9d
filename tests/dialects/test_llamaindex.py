"""LlamaIndex's own types load what we write, and we read what they dump."""

from __future__ import annotations

import json
from typing import Any

import pytest
from llama_index.core.base.llms import types as li

import dragoman
import places
from dragoman import dialects, testing
from dragoman.model import History, Media, Passage, Reasoning, Text, ToolCall, ToolResult
from dragoman.testing import Document, load_corpus

NAME = "llamaindex"
HISTORIES = [
    document
    for case in load_corpus(places.CORPUS)
    for document in case.documents
    if document.facet == "messages" and not document.degraded
]
GREAT = ("anthropic-messages", "openai-chat", "openai-responses", "gemini")
PNG = b"\x89PNG\r\n\x1a\n"


def name_of(document: Document) -> str:
    return document.name


def loaded(docs: Any) -> list[li.ChatMessage]:
    return [li.ChatMessage.model_validate(doc) for doc in docs]


def dumped(messages: list[li.ChatMessage]) -> Any:
    return [json.loads(message.model_dump_json()) for message in messages]


def turned(doc: Any, target: str) -> Any:
    try:
        return testing.converted(Document("", NAME, "", "messages", False, doc), target).document
    except dragoman.Unsayable:
        return None


def without_defaults(value: Any) -> Any:
    """Without what the library makes up: types of files by their addresses and first bytes."""
    if isinstance(value, list):
        return [without_defaults(item) for item in value]
    if not isinstance(value, dict):
        return value
    gone = {"image_mimetype", "video_mimetype", "document_mimetype", "format"}
    return {k: without_defaults(v) for k, v in value.items() if k not in gone}


@pytest.mark.parametrize("document", HISTORIES, ids=name_of)
def test_the_library_loads_what_is_written_and_means_the_same(document: Document) -> None:
    written = testing.converted(document, NAME).document
    dump = dumped(loaded(written))
    for target in GREAT:
        theirs, ours = (turned(without_defaults(doc), target) for doc in (dump, written))
        assert theirs == ours, testing.difference(theirs, ours)


def everything() -> list[li.ChatMessage]:
    """Messages with blocks of every kind."""
    return [
        li.ChatMessage(
            role="user",
            blocks=[
                li.TextBlock(text="hi"),
                li.CachePoint(cache_control=li.CacheControl(type="ephemeral")),
                li.ImageBlock(image=PNG, detail="high"),
                li.ImageBlock(url="https://example.com/a.png"),
                li.DocumentBlock(data=b"%PDF-1.4", title="T"),
                li.AudioBlock(audio=b"RIFF\0\0\0\0WAVEfmt "),
                li.CitableBlock(title="T", source="s", content=[li.TextBlock(text="w")]),
            ],
        ),
        li.ChatMessage(
            role="assistant",
            blocks=[
                li.ThinkingBlock(content="hm", additional_information={"signature": "c2ln"}),
                li.ThinkingBlock(
                    content="sum",
                    additional_information={"id": "rs_1", "encrypted_content": "ZW5j"},
                ),
                li.TextBlock(text="ok"),
                li.ToolCallBlock(tool_call_id="c1", tool_name="f", tool_kwargs={"a": 1}),
                li.ToolCallBlock(tool_call_id="c2", tool_name="g", tool_kwargs='{"a" : 1}'),
            ],
        ),
        li.ChatMessage(role="tool", content="14 C", additional_kwargs={"tool_call_id": "c1"}),
        li.ChatMessage(role="tool", content="15 C", additional_kwargs={"tool_call_id": "c2"}),
    ]


def read(doc: Any) -> History:
    tree = dialects.get(NAME).read(doc, "messages")
    assert isinstance(tree, History)
    return tree


def test_what_the_library_dumps_comes_back_as_it_was() -> None:
    dump = dumped(everything())
    result = dragoman.convert(dump, source=NAME, target=NAME, facet="messages")
    assert result.document == dump
    assert not result.losses
    guess = dragoman.detect(dump)[0]
    assert (guess.dialect, guess.facet) == (NAME, "messages")
    for target in (*GREAT, "langchain"):
        testing.audit(Document("", NAME, "", "messages", False, dump), target)


def test_what_is_read_of_each_block() -> None:
    asked, said, first, _ = read(dumped(everything())).messages
    kinds = [type(block) for block in asked.content]
    assert kinds == [Text, Media, Media, Media, Media, Passage]
    assert isinstance(asked.content[0], Text)
    assert asked.content[0].cache is not None
    thoughts = [b for b in said.content if isinstance(b, Reasoning)]
    signed = [(b.signature.issuer, b.signature.kind) for b in thoughts if b.signature]
    assert signed == [("anthropic", "signature"), ("openai", "encrypted")]
    assert [b.id for b in thoughts] == [None, "rs_1"]
    calls = [block.arguments for block in said.content if isinstance(block, ToolCall)]
    assert calls == ['{"a":1}', '{"a" : 1}']
    assert isinstance(first.content[0], ToolResult)
    assert first.content[0].call_id == "c1"


CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize("call", [CALL, {"id": "c1", "type": "tool_use", "name": "f", "input": {}}])
def test_calls_of_older_versions_are_read(call: Any) -> None:
    message = {
        "role": "assistant",
        "content": "I ask.",
        "additional_kwargs": {"tool_calls": [call]},
    }
    result = dragoman.convert([message], source=NAME, target="openai-chat", facet="messages")
    assert result.document == [{"role": "assistant", "content": "I ask.", "tool_calls": [CALL]}]
    assert not result.losses


def test_calls_that_stand_twice_are_read_once() -> None:
    block = {"block_type": "tool_call", "tool_call_id": "c1", "tool_name": "f", "tool_kwargs": "{}"}
    message = {"role": "assistant", "additional_kwargs": {"tool_calls": [CALL]}, "blocks": [block]}
    result = dragoman.convert([message], source=NAME, target="openai-chat", facet="messages")
    assert result.document == [{"role": "assistant", "content": None, "tool_calls": [CALL]}]
    assert not result.losses


def test_a_call_beside_the_blocks_that_is_another_one_is_reported() -> None:
    block = {"block_type": "tool_call", "tool_call_id": "c2", "tool_name": "g", "tool_kwargs": "{}"}
    message = {"role": "assistant", "additional_kwargs": {"tool_calls": [CALL]}, "blocks": [block]}
    result = dragoman.convert([message], source=NAME, target="openai-chat", facet="messages")
    assert [loss.path for loss in result.losses] == ["/0/additional_kwargs/tool_calls"]


def test_a_file_on_this_machine_is_kept_and_never_opened() -> None:
    block = {"block_type": "image", "path": "/etc/hostname"}
    message = {"role": "user", "blocks": [{"block_type": "text", "text": "Look."}, block]}
    result = dragoman.convert([message], source=NAME, target="openai-chat", facet="messages")
    assert [loss.what for loss in result.losses] == ["raw"]
