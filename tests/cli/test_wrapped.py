"""Captures, pairs, HAR files and pointers: what stands in them, where, and that nothing crashes."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.wrapped import placed, resolve
from dragoman.containers._wire import dialect_of
from transcripts import dragoman

CHAT = {"model": "gpt-5", "messages": [{"role": "user", "content": "Hi"}]}
CLAUDE = {"model": "claude-opus-5-5", "max_tokens": 9, "messages": CHAT["messages"]}
REPLY = {
    "id": "1",
    "object": "chat.completion",
    "model": "gpt-5",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}
    ],
}
STREAM = (
    'data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"gpt-5","choices":'
    '[{"index":0,"delta":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}\n\n'
    "data: [DONE]\n\n"
)
CAPTURE = {"method": "POST", "path": "/v1/chat/completions", "headers": [], "body": CHAT}
ENTRY = {
    "request": {
        "method": "POST",
        "url": "https://api.openai.com/v1/chat/completions",
        "postData": {"text": json.dumps(CHAT)},
    },
    "response": {"status": 200, "content": {"text": json.dumps(REPLY)}},
}


def converted(tmp_path: Path, document: Any, *options: str) -> tuple[list[Any], str, int]:
    file = tmp_path / "x.json"
    file.write_text(json.dumps(document))
    out, written, code = dragoman(["convert", "-t", "native", "--compact", *options, str(file)])
    return [json.loads(line) for line in out.splitlines()], written, code


def texts(document: Any) -> list[str]:
    tree = document["tree"]
    return [block["text"] for message in tree["messages"] for block in message["content"]]


@pytest.mark.parametrize(
    ("url", "host", "dialect", "model"),
    [
        ("/v1/messages?beta=true", "", "anthropic-messages", None),
        ("/v1/messages/count_tokens", "", "anthropic-messages", None),
        ("/openai/deployments/my-gpt/chat/completions", "", "azure-openai", "my-gpt"),
        ("https://api.mistral.ai/v1/chat/completions", "", "mistral", None),
        ("/openai/v1/chat/completions", "api.groq.com", "groq", None),
        ("/v1/chat/completions", "localhost:8000", "openai-chat", None),
        ("/v1/responses", "", "openai-responses", None),
        ("/v1beta/models/gemini-3:generateContent", "", "gemini", "gemini-3"),
        (
            "/model/us.amazon.nova-v1:0/converse-stream",
            "",
            "bedrock-converse",
            "us.amazon.nova-v1:0",
        ),
        ("/api/chat", "", "ollama", None),
        ("/v1beta/interactions?alt=sse", "", "gemini-interactions", None),
        ("/v2/chat", "", "cohere", None),
    ],
)
def test_the_address_names_the_dialect(
    url: str, host: str, dialect: str, model: str | None
) -> None:
    address = dialect_of(url, host)
    assert address is not None
    assert (address.dialect, address.model) == (dialect, model)


def test_other_addresses_name_none() -> None:
    for url in ("/v1/models", "", "/api/tags", "ftp://x", "?", "/v1/messages/batches"):
        assert dialect_of(url, "") is None


@pytest.mark.parametrize(
    "document",
    [
        CAPTURE,
        {**CAPTURE, "body": json.dumps(CHAT)},
        {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": CHAT},
        {"request": CAPTURE, "status": 200, "body": REPLY},
        {"request": CAPTURE, "status": 200, "text": STREAM},
        {"request": CHAT, "response": REPLY},
        {"request": CHAT, "response": json.dumps(REPLY)},
        {"request": CAPTURE, "response": {"status_code": 200, "body": REPLY}},
        {"log": {"entries": [ENTRY]}},
    ],
)
def test_what_is_on_the_wire_is_understood(document: Any, tmp_path: Path) -> None:
    (tree,), written, code = converted(tmp_path, document)
    assert code == 0, written
    has_reply = "request" in document or "log" in document
    assert texts(tree) == (["Hi", "Hello"] if has_reply else ["Hi"])
    if has_reply:
        (asked,), _, _ = converted(tmp_path, document, "--facet", "request")
        assert texts(asked) == ["Hi"]
        (reply,), _, code = converted(tmp_path, document, "--facet", "response")
        assert code == 0
        assert reply["tree"]["candidates"]


def test_bodies_of_a_har_may_be_packed(tmp_path: Path) -> None:
    entry: dict[str, Any] = copy.deepcopy(ENTRY)
    packed = base64.b64encode(STREAM.encode()).decode()
    entry["response"]["content"] = {"text": packed, "encoding": "base64"}
    (tree,), written, code = converted(tmp_path, {"log": {"entries": [entry]}})
    assert code == 0, written
    assert texts(tree) == ["Hi", "Hello"]


def test_the_ledger_points_into_the_file(tmp_path: Path) -> None:
    pair: dict[str, Any] = {"request": {**CLAUDE, "top_k": 3}, "response": REPLY}
    pair["response"] = {**REPLY, "choices": [*REPLY["choices"], *REPLY["choices"]]}
    file, report = tmp_path / "pair.json", tmp_path / "report.json"
    file.write_text(json.dumps(pair))
    dragoman(["convert", "-q", "-t", "chat", str(file), "--report", str(report)])
    losses = json.loads(report.read_text())["documents"][0]["losses"]
    paths = {loss["what"]: loss["path"] for loss in losses}
    assert paths["top_k"] == "/request/top_k"
    assert paths["candidates"] == "/response/choices/1"


def test_pointers_find_and_place() -> None:
    whole = {"a": [{"b/c": 1}, {"b/c": 2}], "t": '{"x": [7]}'}
    assert list(resolve(whole, "/a/*/b~1c")) == [("/a/0/b~1c", 1), ("/a/1/b~1c", 2)]
    assert list(resolve(whole, "/t/x/0")) == [("/t/x/0", 7)]
    assert list(resolve(whole, "/a/9/x")) == []
    assert placed(whole, "/a/1/b~1c", 5) == {**whole, "a": [{"b/c": 1}, {"b/c": 5}]}
    assert whole["a"][1] == {"b/c": 2}


ODD: tuple[Any, ...] = (None, 7, "x", "{", [], {}, [7], [[]], {"x": 7}, True)


def mangled(value: Any) -> Iterator[Any]:
    """The document with each of its values replaced, or left out."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield {k: v for k, v in value.items() if k != key}
            yield from ({**value, key: other} for other in (*ODD, *mangled(inner)))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            for other in (*ODD, *mangled(inner)):
                yield [*value[:index], other, *value[index + 1 :]]


@pytest.mark.parametrize(
    "document",
    [
        {
            "method": "POST",
            "path": "/v1/responses",
            "headers": [["host", "x"]],
            "body": {"input": "Hi"},
        },
        {"method": "GET", "path": "/v1/responses", "websocket_messages": [{"input": "Hi"}]},
        {
            "request": {"method": "POST", "url": "/api/chat", "body": {"messages": []}},
            "response": {},
        },
        {"request": {"messages": []}, "status": 500, "text": "oops"},
        {
            "log": {
                "entries": [{**ENTRY, "response": {"status": 1, "content": {"text": "data: x"}}}]
            }
        },
    ],
)
def test_whatever_a_capture_holds_is_a_result_or_a_reason(document: Any, tmp_path: Path) -> None:
    for index, bad in enumerate(mangled(document)):
        if index % 3:
            continue  # a third of them tells as much
        file = tmp_path / "bad.json"
        file.write_text(json.dumps(bad))
        for command in (["convert", "-t", "chat"], ["show"], ["join"], ["detect"]):
            _, written, code = dragoman([*command, str(file)])
            assert code in (0, 1, 2, 3, 4), (command, bad, written)
