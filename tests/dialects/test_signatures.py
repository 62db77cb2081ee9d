"""What Google signed arrives, or the ledger says that it did not: in every dialect, every time."""

from __future__ import annotations

import json
from typing import Any

import pytest

import dragoman
import places
from dragoman import dialects
from dragoman.testing import speaks

CORPUS = places.CORPUS
SIGNED = [
    ("gemini-signed-parts", "request"),
    ("gemini-signed-parts", "response"),
    ("gemini-signed-text", "response"),
    ("gemini-signed-end", "response"),
    ("openrouter-sealed-call", "messages"),
]


def signatures(doc: object) -> list[str]:
    """The signatures of a document of Gemini's."""
    if isinstance(doc, list):
        return [found for item in doc for found in signatures(item)]
    if not isinstance(doc, dict):
        return []
    own = [doc["thoughtSignature"]] if "thoughtSignature" in doc else []
    return own + [found for item in doc.values() for found in signatures(item)]


# One ends in a call, or writes nothing; the other has no calls.
CALLS = ("functiongemma-teaching", "alpaca")
WAYS = [
    (case, facet, target)
    for case, facet in SIGNED
    for target in dialects.names()
    if speaks(target, facet) and target not in CALLS
]


@pytest.mark.parametrize(("case", "facet", "target"), WAYS)
def test_no_signature_is_lost_in_silence(case: str, facet: str, target: str) -> None:
    data = (CORPUS / case / f"gemini.{facet}.json").read_bytes()
    signed = signatures(json.loads(data))
    assert signed
    result = dragoman.convert(data, source="gemini", target=target, facet=facet, now=0)
    arrived = [s for s in signed if json.dumps(s) in result.to_json().decode()]
    lost = [loss for loss in result.losses if loss.what == "reasoning.signature"]
    assert len(arrived) + len(lost) == len(signed), result.losses


@pytest.mark.parametrize("through", ["openai-chat", "openrouter", "vercel-model"])
def test_what_is_signed_comes_back_to_the_same_part(through: str) -> None:
    data = (CORPUS / "gemini-signed-parts" / "gemini.request.json").read_bytes()
    there = dragoman.convert(data, source="gemini", target=through)
    back = dragoman.convert(there.to_json(), source=through, target="gemini")
    assert back.document == json.loads(data)
    assert not [loss for loss in there.losses if loss.what != "model"]
    assert not [loss for loss in back.losses if loss.what != "model"]


STREAMS = places.AWKWARD


@pytest.mark.parametrize("source", ["openai-chat", "openrouter"])
@pytest.mark.parametrize("target", ["gemini", "openai-chat", "openrouter"])
@pytest.mark.parametrize("what", ["call", "text"])
def test_a_signature_arrives_in_flight(what: str, source: str, target: str) -> None:
    data = (STREAMS / f"signed-{what}.{source}.sse").read_bytes()
    signature = signatures(
        dragoman.convert(
            dragoman.collect(data, source).to_json(),
            source=source,
            target="gemini",
            facet="response",
        ).document
    )
    assert len(signature) == 1
    written = dragoman.convert(data, source=source, target=target, facet="stream").document
    collected = dragoman.collect(written, target).document
    assert json.dumps(collected).count(json.dumps(signature[0])) == 1


# What Gemini streams where it thinks before it calls, and where it signs the end of a text.
CALLED = [
    [{"functionCall": {"id": "c1", "name": "f", "args": {"a": 1}}, "thoughtSignature": "c2lnMQ=="}],
    [{"functionCall": {"id": "c2", "name": "g", "args": {}}}],
]
SAID = [[{"text": "It is "}], [{"text": "warm."}], [{"text": "", "thoughtSignature": "c2lnMg=="}]]


def streamed(chunks: list[list[Any]]) -> bytes:
    docs: list[Any] = [
        {"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}]}
        for parts in chunks
    ]
    docs[-1]["candidates"][0]["finishReason"] = "STOP"
    head = {"modelVersion": "gemini-3-pro", "responseId": "r"}
    return b"".join(b"data: " + json.dumps(doc | head).encode() + b"\n\n" for doc in docs)


@pytest.mark.parametrize("through", ["openai-chat", "openrouter", "vercel-ui"])
@pytest.mark.parametrize("chunks", [CALLED, SAID], ids=["call", "text"])
def test_a_signature_comes_back_in_flight(chunks: list[list[Any]], through: str) -> None:
    """Gemini's stream, said in another format and read back from there."""
    there = dragoman.convert(streamed(chunks), source="gemini", target=through, facet="stream")
    assert "reasoning.signature" not in [loss.what for loss in there.losses]
    back = dragoman.convert(there.document, source=through, target="gemini", facet="stream")
    parts = dragoman.collect(back.document, "gemini").document["candidates"][0]["content"]["parts"]
    wanted = dragoman.collect(streamed(chunks), "gemini").document["candidates"][0]["content"]
    assert [signatures(part) for part in parts] == [signatures(p) for p in wanted["parts"]]


@pytest.mark.parametrize("vendor", ["google", "vertex", "googleVertex"])
@pytest.mark.parametrize("late", [False, True])
def test_the_ai_sdk_signs_under_several_names(vendor: str, late: bool) -> None:
    """A text is signed when it begins or when it ends, by the name of the provider."""
    signed = {"providerMetadata": {vendor: {"thoughtSignature": "c2ln"}}}
    chunks: list[Any] = [
        {"type": "start", "messageId": "m"},
        {"type": "text-start", "id": "1", **({} if late else signed)},
        {"type": "text-delta", "id": "1", "delta": "Hi"},
        {"type": "text-end", "id": "1", **(signed if late else {})},
        {"type": "finish"},
    ]
    data = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    written = dragoman.convert(data, source="vercel-ui", target="gemini", facet="stream")
    assert signatures(dragoman.collect(written.document, "gemini").document) == ["c2ln"]
    rest = dragoman.collect(data, "vercel-ui").document
    assert rest["parts"][0]["providerMetadata"] == signed["providerMetadata"]
    again = dragoman.convert(rest, source="vercel-ui", target="vercel-ui", facet="response")
    assert again.document == rest
    there = dragoman.convert(rest, source="vercel-ui", target="gemini", facet="response")
    assert signatures(there.document) == ["c2ln"]


def test_a_call_that_is_signed_too_late_is_noted() -> None:
    call = {"toolCallId": "c", "toolName": "f"}
    signed = {"providerMetadata": {"google": {"thoughtSignature": "c2ln"}}}
    chunks: list[Any] = [
        {"type": "start", "messageId": "m"},
        {"type": "tool-input-start", **call},
        {"type": "tool-input-available", **call, "input": {}, **signed},
        {"type": "finish"},
    ]
    data = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    written = dragoman.convert(data, source="vercel-ui", target="gemini", facet="stream")
    assert "reasoning.signature" in [loss.what for loss in written.losses]


@pytest.mark.parametrize("vendor", ["google", "vertex", "googleVertex"])
def test_a_history_of_the_ai_sdk_signs_under_several_names(vendor: str) -> None:
    signed = {"providerOptions": {vendor: {"thoughtSignature": "c2ln"}}}
    call = {"type": "tool-call", "toolCallId": "c", "toolName": "f", "input": {}, **signed}
    reasoning = {"type": "reasoning", "text": "Hm.", **signed}
    doc = [{"role": "assistant", "content": [reasoning, call]}]
    there = dragoman.convert(doc, source="vercel-model", target="gemini", facet="messages")
    assert signatures(there.document) == ["c2ln", "c2ln"]
    again = dragoman.convert(doc, source="vercel-model", target="vercel-model", facet="messages")
    assert again.document == doc


def test_another_model_does_not_get_them() -> None:
    """A history that was Gemini's, sent to somebody else by Chat Completions."""
    doc = json.loads((CORPUS / "gemini-signed-parts" / "openai-chat.request.json").read_bytes())
    tree = dragoman.read(doc | {"model": "gpt-5"}, "openai-chat")
    there = dragoman.write(tree, "gemini").document
    back = dragoman.convert(there, source="gemini", target="openai-chat")
    assert "extra_content" not in back.to_json().decode()
    assert [loss.what for loss in back.losses] == ["reasoning.signature", "reasoning.signature"]
