"""What Google signed arrives, or the ledger says that it did not: in every dialect, every time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dragoman
from dragoman import dialects
from dragoman.testing import speaks

CORPUS = Path(__file__).parent / "corpus"
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


WAYS = [
    (case, facet, target)
    for case, facet in SIGNED
    for target in dialects.names()
    if speaks(target, facet) and target != "functiongemma-teaching"  # it ends in a call, or nothing
]


@pytest.mark.parametrize(("case", "facet", "target"), WAYS)
def test_no_signature_is_lost_in_silence(case: str, facet: str, target: str) -> None:
    data = (CORPUS / case / f"gemini.{facet}.json").read_bytes()
    signed = signatures(json.loads(data))
    assert signed
    result = dragoman.convert(data, source="gemini", target=target, facet=facet, now=0)
    arrived = [s for s in signed if json.dumps(s) in result.to_json().decode()]
    lost = [loss for loss in result.losses if loss.what == "reasoning.seal"]
    assert len(arrived) + len(lost) == len(signed), result.losses


@pytest.mark.parametrize("through", ["openai-chat", "openrouter", "vercel-model"])
def test_what_is_signed_comes_back_to_the_same_part(through: str) -> None:
    data = (CORPUS / "gemini-signed-parts" / "gemini.request.json").read_bytes()
    there = dragoman.convert(data, source="gemini", target=through)
    back = dragoman.convert(there.to_json(), source=through, target="gemini")
    assert back.document == json.loads(data)
    assert not there.losses
    assert not back.losses


STREAMS = Path(__file__).parent / "streams"


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
    said = dragoman.convert(data, source=source, target=target, facet="stream").document
    collected = dragoman.collect(said, target).document
    assert json.dumps(collected).count(json.dumps(signature[0])) == 1


def test_another_model_does_not_get_them() -> None:
    """A history that was Gemini's, sent to somebody else by Chat Completions."""
    doc = json.loads((CORPUS / "gemini-signed-parts" / "openai-chat.request.json").read_bytes())
    tree = dragoman.read(doc | {"model": "gpt-5"}, "openai-chat")
    there = dragoman.write(tree, "gemini").document
    back = dragoman.convert(there, source="gemini", target="openai-chat")
    assert "extra_content" not in back.to_json().decode()
    assert [loss.what for loss in back.losses] == ["reasoning.seal", "reasoning.seal"]
