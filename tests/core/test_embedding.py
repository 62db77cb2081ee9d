"""Arguments that are embedded as JSON text: the same bytes, document and losses as without."""

from __future__ import annotations

import json
from typing import Any

import pytest

import dragoman

LONG = "x = 1\\n" * 80
ARGUMENTS = {
    "short": '{"a":1}',
    "compact": f'{{"path":"a.py","text":"{LONG}"}}',
    "nested": f'{{"a":{{"b":[1,2,{{"c":"{LONG}"}}]}}}}',
    "spaced": f'{{"path": "a.py", "text": "{LONG}"}}',
    "broken over lines": f'{{\n  "path": "a.py",\n  "text": "{LONG}"\n}}',
    "a key twice": f'{{"a":"{LONG}","a":1}}',
    "a key twice inside": f'{{"a":{{"b":1,"b":"{LONG}"}}}}',
    "numbers spelled otherwise": f'{{"a":1.10,"b":1E2,"c":"{LONG}"}}',
    "a long number": f'{{"a":123456789012345678901234567890,"c":"{LONG}"}}',
    "a number out of range": f'{{"a":1e999,"c":"{LONG}"}}',
    "escapes": f'{{"a":"\\u00e9\\/{LONG}"}}',
    "not ASCII": f'{{"a":"é{LONG}"}}',
    "half of a character": f'{{"a":"\\ud800{LONG}"}}',
    "deep": '{"a":' * 300 + '""' + "}" * 300,
    "a list": f'["{LONG}"]',
    "cut off": f'{{"a":"{LONG}',
    "nothing": "",
}
TARGETS = ("anthropic-messages", "gemini")


def request(arguments: str) -> dict[str, Any]:
    call: dict[str, Any] = {"id": "call_1", "type": "function"}
    call |= {"function": {"name": "edit", "arguments": arguments}}
    return {
        "model": "m",
        "max_completion_tokens": 5,
        "messages": [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": "Done."},
        ],
    }


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ARGUMENTS)
def test_bytes_say_the_same_as_values(name: str, target: str) -> None:
    doc = request(ARGUMENTS[name])
    data = json.dumps(doc).encode()
    plain = dragoman.convert(doc, source="openai-chat", target=target)
    first = dragoman.convert(data, source="openai-chat", target=target)
    assert first.to_json() == plain.to_json()
    assert first.losses == plain.losses
    assert first.document == plain.document
    assert first.to_json() == plain.to_json()  # also after somebody has looked at it


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["compact", "nested", "not ASCII"])
def test_compact_arguments_are_embedded(name: str, target: str) -> None:
    data = json.dumps(request(ARGUMENTS[name])).encode()
    assert dragoman.convert(data, source="openai-chat", target=target)._embeds


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["spaced", "a key twice", "numbers spelled otherwise", "escapes"])
def test_arguments_spelled_otherwise_are_not(name: str, target: str) -> None:
    data = json.dumps(request(ARGUMENTS[name])).encode()
    assert not dragoman.convert(data, source="openai-chat", target=target)._embeds


def test_a_document_can_be_replaced() -> None:
    data = json.dumps(request(ARGUMENTS["compact"])).encode()
    result = dragoman.convert(data, source="openai-chat", target="anthropic")
    result.document = {"model": "n"}
    assert (result.document, result.to_json()) == ({"model": "n"}, b'{"model":"n"}')
