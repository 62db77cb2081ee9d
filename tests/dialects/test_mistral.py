"""What is special about Mistral: ids of nine characters, reasoning in a stream, flat errors."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from dragoman import Transcoder, collect, convert, dialects
from dragoman.core.walk import meaning
from dragoman.detect import detect
from dragoman.ledger import Ledger

MISTRAL = dialects.get("mistral")
LEGAL = re.compile(r"[a-zA-Z0-9]{9}").fullmatch


def calls(*ids: str | None) -> list[dict[str, Any]]:
    """A history in which each id is called and answered."""
    function = {"name": "f", "arguments": "{}"}
    made: list[dict[str, Any]] = [{"type": "function", "function": function} for _ in ids]
    for call, call_id in zip(made, ids, strict=True):
        if call_id is not None:
            call["id"] = call_id
    results = [
        {"role": "tool", "content": "1"} | ({"tool_call_id": i} if i is not None else {})
        for i in ids
    ]
    return [{"role": "assistant", "content": None, "tool_calls": made}, *results]


@pytest.mark.parametrize("ids", [("call_1", "call_2"), ("a.b", "ab"), ("", "é" * 9), (None, None)])
def test_ids_are_legal_different_and_the_same_at_both_ends(ids: tuple[str | None, ...]) -> None:
    result = convert(calls(*ids), source="openai-chat", target="mistral", facet="messages")
    given = [call["id"] for call in result.document[0]["tool_calls"]]
    assert all(map(LEGAL, given))
    assert len(set(given)) == len(ids)
    assert [message["tool_call_id"] for message in result.document[1:]] == given
    kinds = {loss.kind for loss in result.losses}
    assert kinds == ({"invented"} if ids[0] is None else {"renamed"})


def test_ids_that_fit_stay_and_nobody_gets_theirs() -> None:
    first = convert(calls("call_1"), source="openai-chat", target="mistral", facet="messages")
    taken = first.document[0]["tool_calls"][0]["id"]
    history = calls(taken, "call_1")
    result = convert(history, source="openai-chat", target="mistral", facet="messages")
    given = [call["id"] for call in result.document[0]["tool_calls"]]
    assert given[0] == taken
    assert given[1] != taken
    assert LEGAL(given[1])


def thinking(*texts: str, **more: Any) -> dict[str, Any]:
    words = [{"type": "text", "text": text} for text in texts]
    return {"type": "thinking", "thinking": words, **more}


def stream(*contents: Any) -> bytes:
    docs: list[dict[str, Any]] = [
        {
            "id": "1",
            "model": "m",
            "choices": [{"index": 0, "delta": {"content": content}}],
            "p": "ab",
        }
        for content in contents
    ]
    docs[-1]["choices"][0]["finish_reason"] = "stop"
    docs[-1]["usage"] = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    return b"".join(b"data: %b\n\n" % json.dumps(d).encode() for d in docs) + b"data: [DONE]\n\n"


def test_reasoning_in_a_stream() -> None:
    data = stream(
        "", [thinking("The ")], [thinking("sum.", closed=True), {"type": "text", "text": "1"}], "44"
    )
    transcoder = Transcoder("mistral", "mistral")
    assert transcoder.feed(data) == data
    document: Any = transcoder.document
    message = document["choices"][0]["message"]
    assert message["content"] == [
        thinking("The sum.", closed=True),
        {"type": "text", "text": "144"},
    ]
    assert "p" not in document


def test_texts_in_a_stream_keep_keys_that_nobody_knows() -> None:
    def said(text: str, **more: Any) -> dict[str, Any]:
        return {"type": "text", "text": text, **more}

    data = stream([said("1")], [said("4", zq=1)], [said("4", zq=1)], [said("5")], [said("", zq=2)])
    transcoder = Transcoder("mistral", "anthropic-messages")
    transcoder.feed(data)
    transcoder.close()
    document: Any = transcoder.reader.document()
    content = [said("1"), said("4", zq=1), said("4", zq=1), said("5"), said("", zq=2)]
    assert document["choices"][0]["message"]["content"] == content
    assert {loss.path for loss in transcoder.losses if loss.what == "extras"} == {
        f"/choices/0/message/content/{n}/zq" for n in (1, 2, 4)
    }


def test_a_reasoning_without_words_ends_the_reasoning() -> None:
    data = stream([thinking("One.")], [thinking()], [thinking("Two.", signature="c2ln")], "Yes")
    transcoder = Transcoder("mistral", "anthropic-messages")
    transcoder.feed(data)
    document: Any = transcoder.document
    blocks = document["content"]
    assert [block.get("thinking") for block in blocks] == ["One.", "Two.", None]
    assert "dropped reasoning.signature" in {
        f"{loss.kind} {loss.what}" for loss in transcoder.losses
    }


def deltas(*written: dict[str, Any], reason: str = "stop") -> bytes:
    choices: list[Any] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in written]
    choices.append({"index": 0, "delta": {}, "finish_reason": reason})
    chunks = ({"id": "1", "model": "m", "choices": [choice]} for choice in choices)
    return b"".join(b"data: %b\n\n" % json.dumps(chunk).encode() for chunk in chunks)


def test_the_id_of_a_call_is_the_first_that_was_said() -> None:
    begun = {"index": 0, "id": "AbC123xyz", "function": {"name": "f", "arguments": '{"a":'}}
    more = {"index": 0, "id": "null", "function": {"name": "", "arguments": "1}"}}
    transcoder = Transcoder("mistral", "openai-chat")
    data = deltas({"tool_calls": [begun]}, {"tool_calls": [more]}, reason="tool_calls")
    written = transcoder.feed(data) + transcoder.close()
    assert b'"null"' not in written
    (call,) = (transcoder.document or {})["choices"][0]["message"]["tool_calls"]
    assert (call["id"], call["function"]["arguments"]) == ("AbC123xyz", '{"a":1}')


@pytest.mark.parametrize("target", ["mistral", "openai-chat"])
@pytest.mark.parametrize("pieces", [(), ("",), (" ", "")])
def test_a_call_without_arguments_streams_an_empty_object(target: str, pieces: Any) -> None:
    start = {"toolUse": {"toolUseId": "AbC123xyz", "name": "f"}}
    events: list[Any] = [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockStart": {"start": start, "contentBlockIndex": 0}},
        *({"contentBlockDelta": {"delta": {"toolUse": {"input": text}}, "contentBlockIndex": 0}}
          for text in pieces),
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "tool_use"}},
    ]  # fmt: skip
    transcoder = Transcoder("bedrock-converse", target)
    data = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    written = transcoder.feed(data) + transcoder.close()
    (call,) = collect(written, target).document["choices"][0]["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {}


def test_what_a_hosted_tool_says_is_not_the_answer() -> None:
    transcoder = Transcoder("mistral", "openai-chat")
    written = [{"role": "tool", "index": 0, "tool_call_id": "AbC123xyz", "content": "18"},
            {"index": 0, "content": " degrees"},
            {"role": "assistant", "index": 1, "content": "It is warm."}]  # fmt: skip
    out = transcoder.feed(deltas(*written)) + transcoder.close()
    assert b"18" not in out
    assert b"degrees" not in out
    assert (transcoder.document or {})["choices"][0]["message"]["content"] == "It is warm."
    assert "stream.event" in [loss.what for loss in transcoder.losses]


def test_tokens_are_counted_in_the_last_chunk() -> None:
    transcoder = Transcoder("openai-chat", "mistral")
    written = transcoder.feed(stream("Hi"))
    last = [frame for frame in written.split(b"\n\n") if frame][-2]
    assert json.loads(last.removeprefix(b"data: "))["usage"]["total_tokens"] == 3
    assert written.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize(
    ("doc", "kind", "message"),
    [
        ({"object": "error", "message": "no", "type": "invalid_model"}, "not-found", "no"),
        ({"object": "error", "message": "no", "raw_status_code": 429}, "rate-limit", "no"),
        ({"object": "error", "message": "no", "type": "strange", "code": 7}, "other", "no"),
        ({"detail": "Invalid API Key"}, "authentication", "Invalid API Key"),
        ({"detail": [{"loc": ["body"], "msg": "no", "type": "x"}]}, "invalid-request", "no"),
        ({"error": {"message": "no", "type": "server_error"}}, "server", "no"),
    ],
)
def test_errors(doc: Any, kind: str, message: str) -> None:
    tree: Any = MISTRAL.read(doc, "error")
    assert (tree.kind, tree.message) == (kind, message)
    log = Ledger()
    assert meaning(MISTRAL.read(MISTRAL.write(tree, log), "error")) == meaning(tree)
    assert not log.losses


def test_a_seed_under_both_names() -> None:
    doc = {"model": "m", "messages": [], "seed": 1, "random_seed": 2, "max_completion_tokens": 9}
    tree: Any = MISTRAL.read(doc, "request")
    assert (tree.params.seed, tree.params.max_tokens) == (2, 9)
    assert MISTRAL.write(tree, Ledger()) == doc


HI = [{"role": "user", "content": "Hi"}]


@pytest.mark.parametrize(
    ("facet", "doc"),
    [
        ("request", {"model": "mistral-large-latest", "messages": HI}),
        ("request", {"model": "m", "messages": HI, "random_seed": 1}),
        ("request", {"model": "m", "messages": [*HI, {"role": "assistant", "prefix": True}]}),
        ("messages", [*calls("Or5TU38vr"), {"role": "assistant", "content": "1", "prefix": False}]),
        ("error", {"object": "error", "message": "no", "type": "x", "param": None, "code": "1"}),
    ],
)
def test_detection(facet: str, doc: Any) -> None:
    best = detect(doc)[0]
    assert (best.dialect, best.facet) == ("mistral", facet)
