"""What is special about Ollama: dates, lines that end, errors in a word."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman import Malformed, Transcoder, collect, convert, dialects
from dragoman.detect import detect
from dragoman.dialects.ollama.dates import date_of, seconds_of
from dragoman.ledger import Ledger

OLLAMA = dialects.get("ollama")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2000-02-29T12:00:00Z", 951825600),
        ("2024-12-31T23:59:59Z", 1735689599),
        ("1969-12-31T23:59:59Z", -1),
        ("2100-03-01T00:00:00Z", 4107542400),
        ("2025-08-14T14:53:06.5Z", 1755183186.5),
    ],
)
def test_dates(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds
    assert date_of(seconds) == text


@pytest.mark.parametrize("text", ["", "yesterday", "2025-13-01T00:00:00Z", "2025-01-01"])
def test_what_is_no_date_is_kept(text: str) -> None:
    assert seconds_of(text) is None
    message = {"role": "assistant", "content": "Hi"}
    doc = {"model": "m", "created_at": text, "message": message, "done": True}
    assert OLLAMA.write(OLLAMA.read(doc, "response"), Ledger()) == doc


def test_every_day_comes_back() -> None:
    for day in range(-200_000, 200_000, 97):
        assert seconds_of(date_of(day * 86400)) == day * 86400


@pytest.mark.parametrize(
    ("doc", "kind"),
    [
        ({"error": "model 'x' not found"}, "not-found"),
        ({"error": "unauthorized"}, "authentication"),
        ({"error": "something else", "status": 500}, "other"),
        ({"error": {"message": "from a proxy"}}, "other"),
    ],
)
def test_errors(doc: Any, kind: str) -> None:
    tree: Any = OLLAMA.read(doc, "error")
    assert tree.kind == kind
    log = Ledger()
    assert OLLAMA.write(tree, log) == doc
    assert not log.losses


def test_an_error_in_the_middle_of_a_stream() -> None:
    line = {"model": "m", "message": {"role": "assistant", "content": "Hi"}, "done": False}
    transcoder = Transcoder("ollama", "openai-chat")
    data = b"".join(json.dumps(doc).encode() + b"\n" for doc in (line, {"error": "out of memory"}))
    written = transcoder.feed(data) + transcoder.close()
    assert transcoder.response.failure is not None
    assert b"out of memory" in written
    assert b"[DONE]" not in written


def test_a_stream_is_lines() -> None:
    chunks = [
        {"id": "1", "model": "m", "created": 1, "choices": [{"index": 0, "delta": delta}]}
        for delta in (
            {"reasoning_content": "Hm."},
            {"content": "Yes."},
            {"tool_calls": [{"index": 0, "id": "call_1", "function": {"name": "f"}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": '{"a":'}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]},
        )
    ]
    chunks[-1]["choices"][0]["finish_reason"] = "tool_calls"  # type: ignore[index]
    transcoder = Transcoder("openai-chat", "ollama")
    data = b"".join(b"data: %b\n\n" % json.dumps(chunk).encode() for chunk in chunks)
    written = transcoder.feed(data + b"data: [DONE]\n\n") + transcoder.close()
    lines = [json.loads(line) for line in written.splitlines()]
    assert [line["message"] for line in lines] == [
        {"role": "assistant", "content": "", "thinking": "Hm."},
        {"role": "assistant", "content": "Yes."},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "call_1", "function": {"name": "f", "arguments": {"a": 1}}}],
        },
        {"role": "assistant", "content": ""},
    ]
    assert [line["done"] for line in lines] == [False, False, False, True]
    assert lines[-1]["done_reason"] == "stop"


def test_silence_is_a_stream() -> None:
    doc = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    assert convert(doc, source="ollama", target="openai-chat").document["stream"] is True
    there = convert(doc, source="openai-chat", target="ollama").document
    assert there["stream"] is False
    assert convert(there, source="ollama", target="openai-chat").document == doc


def test_probabilities_come_line_by_line() -> None:
    written = [("He", [{"token": "He", "logprob": -1}]), ("y", [{"token": "y", "logprob": -2}])]
    lines = [
        {"message": {"role": "assistant", "content": text}, "logprobs": likely, "done": False}
        for text, likely in written
    ]
    last = {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
    data = b"".join(json.dumps(line).encode() + b"\n" for line in (*lines, last))
    reply = collect(data, "ollama").document
    assert reply["message"]["content"] == "Hey"
    assert [likely["token"] for likely in reply["logprobs"]] == ["He", "y"]


def test_a_role_that_nobody_knows() -> None:
    with pytest.raises(Malformed, match="unknown role 'robot'"):
        OLLAMA.read([{"role": "robot", "content": "Hi"}], "messages")


@pytest.mark.parametrize(
    ("facet", "doc"),
    [
        ("request", {"model": "m", "messages": [], "options": {"num_ctx": 1}}),
        ("request", {"model": "m", "messages": [{"role": "user", "content": ""}], "think": False}),
        ("messages", [{"role": "tool", "content": "1", "tool_name": "f"}]),
        ("response", {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True}),
        ("error", {"error": "model 'm' not found"}),
    ],
)
def test_detection(facet: str, doc: Any) -> None:
    best = detect(doc)[0]
    assert (best.dialect, best.facet) == ("ollama", facet)
