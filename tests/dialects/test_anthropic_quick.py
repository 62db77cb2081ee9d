"""The quick way to read tool results of Anthropic says what the careful way says, of every turn."""

from __future__ import annotations

import pytest

import places
from dragoman.dialects.anthropic_messages import DIALECT, turns
from dragoman.errors import Malformed
from dragoman.model import Json, Tree
from dragoman.testing import Document, broken, load_corpus

DOCUMENTS = [
    document
    for case in load_corpus(places.CORPUS)
    for document in case.documents
    if document.dialect == "anthropic-messages" and document.facet in ("request", "messages")
]
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "b"}
WORDS = {"type": "text", "text": "c"}
CONTENTS: list[Json] = ["", None, [], {}, 1, [WORDS], [WORDS, WORDS]]
TURNS: list[list[Json]] = [
    [RESULT],
    [RESULT, RESULT],
    [RESULT, WORDS],
    [WORDS, RESULT],
    [RESULT, None],
    [RESULT, "tool_result"],
    [RESULT, [RESULT]],
    *([RESULT, {**RESULT, "content": content}] for content in CONTENTS),
    [RESULT, {**RESULT, "content": [{**WORDS, "text": None}]}],
    [RESULT, {**RESULT, "content": [{**WORDS, "unknown": 1}]}],
    [RESULT, {**RESULT, "tool_use_id": None}],
    [RESULT, {**RESULT, "type": "text"}],
    [RESULT, {**RESULT, "is_error": True}],
    [RESULT, {**RESULT, "unknown": 1}],
    [RESULT, {key: value for key, value in RESULT.items() if key != "content"}],
]


def read(facet: str, bodies: list[Json]) -> list[Tree | str]:
    """The trees, or why there is none."""
    out: list[Tree | str] = []
    for body in bodies:
        try:
            out.append(DIALECT.read(body, facet))
        except Malformed as problem:
            out.append(str(problem))
    return out


def refuse(docs: list[Json], at: str) -> None:
    """No turn is one of usual results."""


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_documents(document: Document, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = [document.body, *broken(document.body)]
    quick = read(document.facet, bodies)
    monkeypatch.setattr(turns, "read_results", refuse)
    assert quick == read(document.facet, bodies)


@pytest.mark.parametrize("turn", TURNS, ids=str)
def test_turns(turn: list[Json], monkeypatch: pytest.MonkeyPatch) -> None:
    written = {"role": "user", "content": turn}
    bodies = [[written], [written, written], [written, {"role": "user", "content": [RESULT]}]]
    quick = read("messages", bodies)
    monkeypatch.setattr(turns, "read_results", refuse)
    assert quick == read("messages", bodies)
