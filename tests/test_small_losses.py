"""Small things that vanish easily: each is written, or the ledger names it at its place."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from msgspec.structs import replace

import dragoman
from dragoman import Transcoder
from dragoman.model import Request, ToolCall

PDF = base64.b64encode(b"%PDF-1.4 and so on").decode()
HI = {"role": "user", "content": "Hi"}


def entries(result: dragoman.Result) -> set[str]:
    return {f"{loss.kind} {loss.what} {loss.path}" for loss in result.losses}


def reply(**more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": "Hi"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "r", "object": "chat.completion", "model": "m", "choices": [choice], **more}


def native(facet: str, **tree: Any) -> dict[str, Any]:
    return {"dragoman": 1, "facet": facet, "tree": tree}


DETAILS = [
    {"type": "reasoning.text", "text": "a", "id": "one"},
    {"type": "reasoning.summary", "summary": "b", "id": "two"},
    {"type": "reasoning.summary", "summary": "c", "id": "three"},
    {"type": "reasoning.encrypted", "data": "d", "id": "four", "format": "openai-responses-v1"},
]
THOUGHTFUL = {"role": "assistant", "content": "Hi", "reasoning_details": DETAILS}
AUDIO = {"block": "media", "kind": "audio", "source": {"kind": "url", "value": "a.wav"}}
IMAGE = {"block": "media", "kind": "image", "source": {"kind": "base64", "value": PDF}}
LOST: list[tuple[str, str, str, Any, set[str]]] = [
    *(
        ("openai-chat", target, "request", {"model": "m", "messages": [prompt, HI]}, lost)
        for target in ("bedrock-converse", "anthropic-messages")
        for prompt, lost in (
            ({"role": "system", "content": []}, {"dropped message.empty /messages/0"}),
            (
                {"role": "system", "content": ""},
                {"dropped text.empty /messages/0/content", "dropped message.empty /messages/0"},
            ),
        )
    ),
    ("openai-chat", "cohere", "response", reply(usage={}), {"dropped usage /usage"}),
    ("openai-chat", "ollama", "response", reply(usage={}), {"dropped usage /usage"}),
    (
        "openrouter",
        "openai-chat",
        "request",
        {"model": "m", "messages": [HI, THOUGHTFUL, HI]},
        {
            "dropped extras /messages/1/reasoning_details/0/id",
            "dropped extras /messages/1/reasoning_details/1/id",
            "dropped extras /messages/1/reasoning_details/2/id",
            "dropped reasoning.id /messages/1/reasoning_details/3",
        },
    ),
    *(
        (
            "native",
            target,
            "messages",
            native("messages", messages=[{"role": "user", "content": [IMAGE]}]),
            {"dropped media /tree/messages/0/content/0"},
        )
        for target in ("gemini", "anthropic-messages", "bedrock-converse")
    ),
    (
        "native",
        "mistral",
        "messages",
        native("messages", messages=[{"role": "user", "content": [AUDIO]}]),
        {"dropped media /tree/messages/0/content/0"},
    ),
]


@pytest.mark.parametrize(("source", "target", "facet", "document", "lost"), LOST)
def test_it_is_in_the_ledger(
    source: str, target: str, facet: str, document: Any, lost: set[str]
) -> None:
    result = dragoman.convert(document, source=source, target=target, facet=facet, now=0)
    assert lost <= entries(result)


@pytest.mark.parametrize("content", [" ", "\n", "  x  "])
@pytest.mark.parametrize("target", ["openrouter", "openai-chat", "groq"])
def test_white_space_of_a_response_is_written(content: str, target: str) -> None:
    document = {"content": [{"type": "text", "text": content}], "id": "a", "model": "m"}
    result = dragoman.convert(document, source="anthropic", target=target, facet="response", now=0)
    assert result.document["choices"][0]["message"]["content"] == content


def test_the_id_of_a_result_stays_where_its_call_has_none() -> None:
    call = {"type": "function_call", "name": "f", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c1", "output": "x"}
    document = {"model": "m", "input": [{"role": "user", "content": "Hi"}, call, result]}
    done = dragoman.convert(document, source="open-responses", target="gemini", facet="request")
    assert "c1" in json.dumps(done.document)


@pytest.mark.parametrize("payload", [{}, {"a": 1}, {"type": 5}])
@pytest.mark.parametrize("dialect", ["open-responses", "openai-responses", "router-responses"])
def test_an_item_without_a_type_is_not_written(dialect: str, payload: Any) -> None:
    block = {"block": "hosted", "dialect": dialect, "service": "x", "payload": payload}
    document = native("messages", messages=[{"role": "assistant", "content": [block]}])
    result = dragoman.convert(document, source="native", target=dialect, facet="messages")
    assert "dropped hosted /tree/messages/0/content/0" in entries(result)
    dragoman.read(result.document, dialect, facet="messages")


@pytest.mark.parametrize("target", ["vercel-model-v6", "openai-responses", "anthropic", "native"])
def test_the_end_closes_what_nobody_closed(target: str) -> None:
    response = {"id": "r", "model": "m", "candidates": [{"message": {"role": "assistant"}}]}
    events = [
        {"event": "begin", "response": response},
        {"event": "open", "index": 0, "block": {"block": "text", "text": ""}},
        {"event": "delta", "index": 0, "text": "Hi"},
        {"event": "end", "response": response},
    ]
    closed = [*events[:3], {"event": "close", "index": 0}, events[3]]
    written = []
    for some in (events, closed):
        transcoder = Transcoder("native", target, now=0)
        data = b"".join(json.dumps(event).encode() + b"\n" for event in some)
        written.append(transcoder.feed(data) + transcoder.close())
    if target != "native":  # what is written in the same dialect is copied
        assert written[0] == written[1]
    assert transcoder.response.candidates[0].message.content


@pytest.mark.parametrize("depth", [50, 300, 390])
def test_arguments_may_be_nested_as_deeply_as_a_document(depth: int) -> None:
    arguments: Any = 1
    for _ in range(depth):
        arguments = {"a": arguments}
    parts = [{"functionCall": {"name": "f", "args": arguments}}]
    contents = [{"role": "user", "parts": [{"text": "Hi"}]}, {"role": "model", "parts": parts}]
    tree = dragoman.read({"contents": contents, "unknown": 1}, "gemini", facet="request")
    assert isinstance(tree, Request)
    turn = tree.messages[1]
    call = turn.content[0]
    assert isinstance(call, ToolCall)
    shorter = replace(tree, messages=tree.messages[1:])
    written = dragoman.write(shorter, "gemini").document
    assert written["contents"][-1]["parts"] == parts
    other = replace(turn, content=(replace(call, arguments=call.arguments.replace("1", "2")),))
    written = dragoman.write(replace(tree, messages=(tree.messages[0], other)), "gemini").document
    changed = json.loads(json.dumps(parts).replace("1", "2"))
    assert written["contents"][-1]["parts"] == changed
    assert written["unknown"] == 1
