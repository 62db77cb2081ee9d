"""LangChain's own library reads what we write, and we read what it writes."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from langchain_core.load import dumpd, load
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)
from msgspec.structs import replace

import dragoman
import places
from dragoman import dialects, testing
from dragoman.ledger import Ledger
from dragoman.model import History, Reasoning, Refusal, Text, ToolCall, ToolResult
from dragoman.testing import Document, load_corpus

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
HISTORIES = [
    document
    for case in load_corpus(places.CORPUS)
    for document in case.documents
    if document.facet == "messages"
]
OTHERS = [d for d in HISTORIES if not d.dialect.startswith("langchain") and not d.degraded]
OWN = [d for d in HISTORIES if d.dialect.startswith("langchain")]


def name_of(document: Document) -> str:
    return document.name


def loaded(doc: Any) -> list[BaseMessage]:
    """Messages as LangChain reads them, in either form."""
    if "lc" in doc[0]:
        with warnings.catch_warnings():  # that it is beta is told once
            warnings.simplefilter("ignore")
            found: list[BaseMessage] = load(doc, allowed_objects="messages")
        return found
    read: list[BaseMessage] = messages_from_dict(doc)
    return read


@pytest.mark.parametrize("document", OTHERS, ids=name_of)
def test_the_library_loads_what_is_written_and_dumps_the_same(document: Document) -> None:
    history = testing.converted(document, "langchain").document
    messages = messages_from_dict(history)
    assert messages_to_dict(messages) == history
    dumped = testing.converted(document, "langchain-dumpd").document
    again = loaded(dumped)
    assert dumpd(again) == dumped
    for message, twin in zip(messages, again, strict=True):
        assert message.content_blocks == twin.content_blocks


@pytest.mark.parametrize("document", OTHERS, ids=name_of)
def test_the_library_finds_the_same_texts_and_calls(document: Document) -> None:
    tree = dialects.get(document.dialect).read(document.body, "messages")
    assert isinstance(tree, History)
    written = messages_from_dict(testing.converted(document, "langchain").document)
    own = dialects.get("langchain").read(messages_to_dict(written), "messages")
    assert isinstance(own, History)
    for message, found in zip(own.messages, written, strict=True):
        texts = [b["text"] for b in found.content_blocks if b["type"] == "text"]
        content: Any = message.content
        if message.role == "tool":
            content = content[0].content
        assert "".join(b.text for b in content if isinstance(b, Text)) == "".join(texts)
        if isinstance(found, AIMessage):
            calls = [b.name for b in content if isinstance(b, ToolCall)]
            assert sorted(calls) == sorted(
                str(c["name"]) for c in [*found.tool_calls, *found.invalid_tool_calls]
            )
            in_blocks = [b for b in found.content_blocks if b["type"] == "tool_call"]
            assert len(in_blocks) >= len(found.tool_calls) or document.name in REPEATED


REPEATED: frozenset[str] = frozenset()
"""Documents in which several calls have one id, of which the library shows one."""


@pytest.mark.parametrize("document", OWN, ids=name_of)
def test_the_library_takes_the_documents_of_the_corpus(document: Document) -> None:
    """Also those in an older form: the library and we understand the same."""
    doc = document.body
    if "data" not in doc[0] and "lc" not in doc[0]:
        doc = [{"type": message["type"], "data": message} for message in doc]
    messages = loaded(doc)
    theirs = dialects.get("langchain").read(messages_to_dict(messages), "messages")
    ours = dialects.get(document.dialect).read(document.body, "messages")
    assert isinstance(theirs, History)
    assert isinstance(ours, History)
    assert [m.role for m in theirs.messages] == [m.role for m in ours.messages]
    for their, our in zip(theirs.messages, ours.messages, strict=True):
        assert [type(b) for b in their.content] == [type(b) for b in our.content]


def everything() -> list[BaseMessage]:
    """Messages of every class, with blocks of every kind and version."""
    usage: Any = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    blocks: list[Any] = [
        "a bare string",
        {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
        {"type": "image", "source_type": "base64", "data": PNG, "mime_type": "image/png"},
        {"type": "image", "base64": PNG, "mime_type": "image/png", "extras": {"x": 1}},
        {"type": "image", "url": "https://example.com/a.png"},
        {"type": "audio", "file_id": "file-1"},
        {"type": "file", "file": {"file_id": "file-2"}},
        {"type": "text-plain", "text": "notes", "mime_type": "text/plain", "title": "Notes"},
        {"type": "media", "mime_type": "image/png", "data": PNG},
        {"type": "guard_content", "guard_content": {"text": "x"}},
    ]
    reply = AIMessage(
        content=[
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "text", "text": "ok"},
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "x"}},
            {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
        ],
        tool_calls=[{"name": "f", "args": {"a": 1}, "id": "t1", "type": "tool_call"}],
        invalid_tool_calls=[
            {"name": "g", "args": "{bad", "id": "t2", "error": "x", "type": "invalid_tool_call"}
        ],
        usage_metadata=usage,
        response_metadata={"model_name": "m", "model_provider": "anthropic"},
        id="run-1",
    )
    return [
        SystemMessage("Be brief."),
        SystemMessage("Obey.", additional_kwargs={"__openai_role__": "developer"}),
        HumanMessage(content=blocks, name="bob", id="h1"),
        reply,
        ToolMessage("res", tool_call_id="t1", name="f", status="error", artifact={"x": 1}),
        ToolMessage([{"type": "text", "text": "r"}], tool_call_id="t2"),
        AIMessage("", additional_kwargs={"function_call": {"name": "f", "arguments": "{}"}}),
        FunctionMessage(content="r", name="f"),
        AIMessage("no", additional_kwargs={"refusal": "I will not."}),
        AIMessage("4", additional_kwargs={"reasoning_content": "2 + 2"}),
        ChatMessage(content="x", role="assistant"),
        ChatMessage(content="x", role="critic"),
        AIMessageChunk(content="hello"),
        RemoveMessage(id="x"),
    ]


@pytest.mark.parametrize("name", ["langchain", "langchain-dumpd"])
def test_what_the_library_dumps_comes_back_as_it_was(name: str) -> None:
    dump = messages_to_dict(everything()) if name == "langchain" else dumpd(everything())
    result = dragoman.convert(dump, source=name, target=name, facet="messages")
    assert result.document == dump
    assert not result.losses
    guess = dragoman.detect(dump)[0]
    assert (guess.dialect, guess.facet) == ("langchain", "messages")
    testing.identity(Document("", name, "", "messages", False, dump))
    for target in ("anthropic-messages", "openai-chat", "openai-responses", "gemini"):
        testing.same(Document("", name, "", "messages", False, dump), target)
        testing.audit(Document("", name, "", "messages", False, dump), target)


def test_every_message_that_is_written_without_its_source_is_loaded_again() -> None:
    tree = dialects.get("langchain").read(messages_to_dict(everything()), "messages")
    assert isinstance(tree, History)
    for name in ("langchain", "langchain-dumpd"):
        history = dialects.get(name).write(replace(tree, original=None), Ledger())
        assert len(loaded(history)) == len(tree.messages)


def test_what_is_read_of_each_message() -> None:
    tree = dialects.get("langchain").read(messages_to_dict(everything()), "messages")
    assert isinstance(tree, History)
    roles = "system developer user assistant tool tool assistant tool assistant assistant"
    assert [m.role for m in tree.messages[:10]] == roles.split()
    reply = tree.messages[3].content
    assert isinstance(reply[0], Reasoning)
    assert reply[0].signature is not None
    assert reply[0].signature.issuer == "anthropic"
    calls = [block for block in reply if isinstance(block, ToolCall)]
    assert [(c.id, c.arguments) for c in calls] == [("t1", '{"a":1}'), ("t2", "{bad")]
    failed = tree.messages[4].content[0]
    assert isinstance(failed, ToolResult)
    assert failed.is_error is True
    assert isinstance(tree.messages[8].content[-1], Refusal)
    assert isinstance(tree.messages[9].content[0], Reasoning)


def test_the_text_of_arguments_is_the_one_that_the_model_wrote() -> None:
    """``additional_kwargs`` has it where OpenAI's integration has left it."""
    raw = [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a" : 1}'}}]
    dump = messages_to_dict([AIMessage("", additional_kwargs={"tool_calls": raw})])
    assert dump[0]["data"]["tool_calls"]  # which the library has made of it
    result = dragoman.convert(dump, source="langchain", target="openai-chat", facet="messages")
    assert result.document[0]["tool_calls"] == raw
    assert not result.losses


def test_signatures_of_two_providers_do_not_stand_in_one_message() -> None:
    content = [
        {"type": "reasoning", "text": "a", "providerOptions": {"anthropic": {"signature": "eA=="}}},
        {
            "type": "reasoning",
            "text": "b",
            "providerOptions": {"google": {"thoughtSignature": "eQ=="}},
        },
        {"type": "text", "text": "c"},
    ]
    history = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": content}]
    result = dragoman.convert(history, source="vercel-model", target="langchain", facet="messages")
    data = result.document[1]["data"]
    assert data["response_metadata"]["model_provider"] == "anthropic"
    assert data["content"][0]["extras"] == {"signature": "eA=="}
    assert "extras" not in data["content"][1]
    lost = [loss for loss in result.losses if loss.what == "reasoning.signature"]
    assert [loss.path for loss in lost] == ["/1/content/1"]
