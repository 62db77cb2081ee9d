"""Halves of characters, wherever clients and servers leave them: read, reported, written back."""

from __future__ import annotations

import json
from typing import Any

import pytest

import dragoman
from dragoman import Transcoder, dialects
from dragoman.testing import resolves

HALF = "\ud83d"
TARGETS = ["anthropic-messages", "gemini", "bedrock-converse", "openai-responses", "cohere"]
STREAMS = [name for name in dialects.names() if "stream" in dialects.get(name).facets()]
targets = pytest.mark.parametrize("target", TARGETS)


def written(doc: Any) -> bytes:
    """JSON in ASCII: each half is the escape that JavaScript writes for it."""
    return json.dumps(doc).encode()


def ask(**more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "Hi"}], **more}


def called(arguments: str) -> dict[str, Any]:
    function = {"name": "f", "arguments": arguments}
    call: dict[str, Any] = {"id": "c", "type": "function", "function": function}
    history = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "1"},
    ]
    return {"model": "m", "messages": history}


SCHEMA = {"type": "object", "properties": {f"a{HALF}": {"type": "string"}}}
TOOL = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}
DOCUMENTS: dict[str, dict[str, Any]] = {
    "in a text": ask(messages=[{"role": "user", "content": f"cut {HALF}"}]),
    "in a key": ask(metadata={f"a{HALF}": "b"}),
    "in two keys that differ by it": ask(metadata={f"a{x}": "b" for x in ("\ud83d", "\ud83e")}),
    "in a key and its value": ask(metadata={f"a{HALF}": f"b{HALF}"}),
    "in a key inside of another": ask(x={f"a{HALF}": {f"b{HALF}": [{f"c{HALF}": 1}]}}),
    "in a schema": ask(tools=[TOOL]),
    "in arguments": called(f'{{"a":"{HALF}"}}'),
    "in the key of arguments": called(f'{{"a{HALF}":1}}'),
    "escaped in arguments": called('{"a":"\\ud83d"}'),
}
documents = pytest.mark.parametrize("doc", DOCUMENTS.values(), ids=DOCUMENTS.keys())


@documents
def test_the_same_dialect_gives_it_back(doc: dict[str, Any]) -> None:
    result = dragoman.convert(written(doc), source="openai-chat", target="openai-chat")
    assert json.loads(result.to_json()) == doc
    assert not result.losses


@documents
@targets
def test_another_dialect_reports_it(doc: dict[str, Any], target: str) -> None:
    result = dragoman.convert(written(doc), source="openai-chat", target=target, carry=True)
    result.to_json().decode()  # which no half can be
    spelled = [loss for loss in result.losses if loss.what == "text.surrogate"]
    if not (target in ("openai-responses", "cohere") and '\\ud83d"}' in str(doc)):
        assert spelled  # arguments that stay text are as they were
    whole = json.loads(written(doc).replace(rb"\ud83d", rb"\ufffd"))
    assert all(resolves(whole, loss.path) for loss in spelled if "\ufffd\ufffd" not in loss.path)
    same = dragoman.convert(
        result.to_json(), source=target, target="openai-chat", capsule=result.capsule
    )
    assert json.loads(same.to_json()) == doc


@documents
@pytest.mark.parametrize("upstream", ["openai-chat", "anthropic-messages"])
def test_an_exchange_takes_it(doc: dict[str, Any], upstream: str) -> None:
    exchange = dragoman.Exchange(client="openai-chat", upstream=upstream)
    result = exchange.request(written(doc))
    if upstream == "openai-chat":
        assert json.loads(result.to_json()) == doc
    else:
        assert any(loss.what == "text.surrogate" for loss in result.losses)
        result.to_json().decode()


def test_replies_and_errors_may_have_it() -> None:
    exchange = dragoman.Exchange(client="anthropic-messages", upstream="openai-chat")
    exchange.request({"model": "m", "max_tokens": 9, "messages": ask()["messages"]})
    reply = {"choices": [{"message": {"content": f"cut {HALF}"}, "finish_reason": "stop"}]}
    result = exchange.response(written(reply))
    assert result.document["content"][0]["text"] == "cut \ufffd"
    assert any(loss.what == "text.surrogate" for loss in result.losses)
    error = exchange.error(written({"error": {"message": f"cut {HALF}"}}), 500)
    assert error.document["error"]["message"] == "cut \ufffd"


# -- streams --------------------------------------------------------------------------------


def stream(*deltas: dict[str, Any]) -> bytes:
    choices: list[Any] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    docs = [{"id": "c", "created": 1, "model": "m", "choices": [choice]} for choice in choices]
    return b"".join(b"data: %b\n\n" % written(doc) for doc in docs) + b"data: [DONE]\n\n"


def transcoded(data: bytes, target: str) -> tuple[Transcoder, bytes]:
    transcoder = Transcoder("openai-chat", target, now=0)
    return transcoder, transcoder.feed(data) + transcoder.close()


@pytest.mark.parametrize("target", STREAMS)
def test_a_pair_that_two_deltas_share_is_one_character(target: str) -> None:
    data = stream({"content": "a \ud83d"}, {"content": "\ude00 b"}, {"content": " c"})
    transcoder, spelled = transcoded(data, target)
    assert transcoder.response.failure is None
    assert not [loss for loss in transcoder.losses if loss.what == "text.surrogate"]
    (block,) = transcoder.response.candidates[0].message.content
    assert getattr(block, "text", "") == "a \U0001f600 b c"
    assert (spelled == data) == (target == "openai-chat")


CUT: dict[str, tuple[tuple[dict[str, Any], ...], str]] = {
    "inside a text": (({"content": f"a{HALF}b"}, {"content": "c"}), "a\ufffdbc"),
    "at the end of a text": (({"content": f"a{HALF}"},), "a"),
    "and another delta": (({"content": f"a{HALF}"}, {"content": "b"}), "ab"),
    "a second half alone": (({"content": "a"}, {"content": "\ude00b"}), "a\ufffdb"),
    "in a key": (({"content": "a", f"odd{HALF}": 1},), "a"),
}


@pytest.mark.parametrize(("deltas", "text"), CUT.values(), ids=CUT.keys())
@pytest.mark.parametrize("target", STREAMS)
def test_a_half_in_a_stream(deltas: tuple[dict[str, Any], ...], text: str, target: str) -> None:
    transcoder, spelled = transcoded(stream(*deltas), target)
    assert transcoder.response.failure is None
    (block,) = transcoder.response.candidates[0].message.content
    assert getattr(block, "text", "") == text
    if target == "openai-chat":
        assert spelled == stream(*deltas)
    else:
        assert [loss.what for loss in transcoder.losses].count("text.surrogate") == 1


def test_what_else_is_wrong_with_a_frame_is_an_error() -> None:
    transcoder, _ = transcoded(
        b'data: {"choices": [{"delta": {"content": "\\ud83d"}]}\n\n', "native"
    )
    assert transcoder.problem is not None
