"""The Interactions API: places in bytes, the forms of an input, steps in a stream."""

from __future__ import annotations

from typing import Any

import pytest

import dragoman
from dragoman.dialects.gemini_interactions.contents import Places
from dragoman.streams.transcoder import collect

NAME = "gemini-interactions"


@pytest.mark.parametrize("text", ["plain", "a\u2013b\u00e9c\U0001f600d", "\U0001f600\U0001f600"])
def test_places_are_those_of_the_encoded_text(text: str) -> None:
    places = Places()
    for char in text:
        places.add(char)
    for index in range(len(text) + 1):
        byte = len(text[:index].encode())
        assert places.byte(index) == byte
        assert places.char(byte) == index
    inside = {
        n for n in range(len(text.encode())) if n not in {places.byte(i) for i in range(len(text))}
    }
    assert all(places.char(byte) is None for byte in inside)


@pytest.mark.parametrize(
    "given",
    [
        "Hi",
        {"type": "text", "text": "Hi"},
        [{"type": "text", "text": "Hi"}],
        [{"type": "user_input", "content": [{"type": "text", "text": "Hi"}]}],
    ],
)
def test_an_input_has_four_forms(given: Any) -> None:
    request = {"model": "m", "input": given}
    there = dragoman.convert(request, source=NAME, target="openai-chat").document
    assert there["messages"] == [{"role": "user", "content": "Hi"}]
    assert dragoman.convert(request, source=NAME, target=NAME).document == request


def test_two_texts_of_one_step_are_two_steps_in_a_stream() -> None:
    texts = [{"type": "text", "text": text} for text in ("One.", "Two.")]
    reply = {"id": "v1_1", "status": "completed", "model": "m"}
    whole = reply | {"steps": [{"type": "model_output", "content": texts}]}
    steps = collect(dragoman.decompose(whole, NAME), NAME).document["steps"]
    assert steps == [{"type": "model_output", "content": [text]} for text in texts]


def test_an_error_has_a_word_or_a_number() -> None:
    for code in ("not_found", 404):
        error = {"error": {"code": code, "message": "Gone."}}
        assert dragoman.read(error, NAME, facet="error").kind == "not-found"
