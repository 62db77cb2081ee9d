"""The Interactions API: places in bytes, the forms of an input, steps in a stream."""

from __future__ import annotations

from typing import Any

import pytest

import dragoman
from dragoman import dialects
from dragoman.dialects.gemini_interactions import GeminiInteractions
from dragoman.dialects.gemini_interactions.contents import BEGINS, Places, mark, part_of, step_of
from dragoman.model import Extras, Text
from dragoman.streams.transcoder import collect

NAME = "gemini-interactions"


@pytest.mark.parametrize(
    "text", ["plain", "a\u2013b\u00e9c\U0001f600d", "\U0001f600\U0001f600", "\ud800b"]
)
def test_places_are_those_of_the_encoded_text(text: str) -> None:
    places = Places()
    for char in text:
        places.add(char)
    for index in range(len(text) + 1):
        byte = len(text[:index].encode("utf-8", "surrogatepass"))
        assert places.byte(index) == byte
        assert places.char(byte) == index
    inside = {n for n in range(places.bytes) if n not in {places.byte(i) for i in range(len(text))}}
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


def test_the_first_content_of_a_step_keeps_both() -> None:
    """What the step says stands beside what the content says; each is taken out again."""
    d = dialects.get(NAME)
    assert isinstance(d, GeminiInteractions)
    block = Text("a", extras=Extras(NAME, {"x": {"y": 1}}, inner=("x",)))
    step = Extras(NAME, {"z": {"y": 2}}, inner=("z",))
    both = mark(d, block, step, "/steps/0", begins=False)
    assert part_of(d, both).extras == block.extras
    assert step_of(d, both).extras == step
    assert mark(d, block, None, "/steps/0", begins=False) is block
    begun = mark(d, Text("a"), None, "/steps/0", begins=True)
    assert begun.extras.spelling == {BEGINS: True}
