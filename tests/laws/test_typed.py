"""What the types of the official SDKs can say: it is read, it comes back, and no leaf vanishes.

The corpus has what somebody thought of. These documents are made of the SDKs' own types, member by
member (``typed.py``), so that a new version of an SDK asks about its new types by itself.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any
from zlib import crc32

import pytest

import dragoman
import leaves
import sdk
import seeds
import typed
from dragoman import DragomanError, Malformed, Unsayable

GREAT = ("anthropic-messages", "openai-chat", "openai-responses", "gemini")
OTHERS = (
    "bedrock-converse", "cohere", "databricks", "gemini-interactions", "litellm", "mistral",
    "ollama", "openrouter", "vercel-model",
)  # fmt: skip
VENDORS = (*GREAT, "cohere", "gemini-interactions", "mistral", "ollama")
SAMPLE = 150
"""So many documents of a dialect and facet are asked about; the choice never changes."""
REFUSED = 0.25
"""The types allow a little more than the API does: calls without functions, and the like."""

documents = pytest.mark.parametrize(
    ("dialect", "facet"), [*product(VENDORS, ("request", "response"))]
)


@cache
def sample(dialect: str, facet: str) -> tuple[Any, ...]:
    made = {seeds.text(each): each for each in typed.documents(sdk.schema(dialect, facet))}
    assert len(made) > 50, "the types of the SDK were not found"
    chosen = sorted(made, key=lambda written: crc32(written.encode()))[:SAMPLE]
    return tuple(made[written] for written in chosen)


@documents
def test_they_are_read_and_come_back(dialect: str, facet: str) -> None:
    refused = 0
    for document in sample(dialect, facet):
        try:
            result = dragoman.convert(document, source=dialect, target=dialect, facet=facet)
        except Malformed:
            refused += 1
            continue
        assert seeds.text(result.document) == seeds.text(document)
        assert not result.losses
    assert refused <= REFUSED * len(sample(dialect, facet))


@documents
def test_each_leaf_is_there_or_is_reported(dialect: str, facet: str) -> None:
    faults: list[str] = []
    for number, document in enumerate(sample(dialect, facet)):
        asked = None if document.get("model") or facet != "request" else "some-model"
        for target in {*GREAT, OTHERS[number % len(OTHERS)]} - {dialect}:
            try:
                result = dragoman.convert(
                    document, source=dialect, target=target, facet=facet, now=1, model=asked
                )
            except (Malformed, Unsayable):
                continue
            for leaf in leaves.unaccounted(document, result.document, result.losses):
                faults.append(f"{target}: {leaf.pointer} {leaf.value!r} of {document}")
    assert not faults, "\n".join(sorted(faults)[:20])


@pytest.mark.parametrize("dialect", VENDORS)
def test_a_response_as_a_stream_has_each_leaf(dialect: str) -> None:
    faults: list[str] = []
    for document in sample(dialect, "response"):
        try:
            stream = dragoman.decompose(document, dialect)
            found = dragoman.collect(stream, dialect).document
        except DragomanError:
            continue
        if "error" not in found:  # the types allow a reply that has not ended
            left = leaves.unaccounted(document, found, ())
            faults += [f"{leaf.pointer} {leaf.value!r} of {document}" for leaf in left]
    assert not faults, "\n".join(sorted(faults)[:20])
