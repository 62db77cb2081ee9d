"""The quick way to read tool results of Anthropic says what the careful way says, of every turn."""

from __future__ import annotations

import pytest

import places
from dragoman.dialects.anthropic_messages import AnthropicMessages
from dragoman.errors import Malformed
from dragoman.model import Json, Message, Tree
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


class Careful(AnthropicMessages):
    def read_results(self, docs: list[Json], at: str) -> list[Message] | None:
        return None


def read(dialect: AnthropicMessages, facet: str, body: Json) -> Tree | str:
    """The tree, or why there is none."""
    try:
        return dialect.read(body, facet)
    except Malformed as problem:
        return str(problem)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_documents(document: Document) -> None:
    for body in (document.body, *broken(document.body)):
        quick, careful = (
            read(each, document.facet, body) for each in (AnthropicMessages(), Careful())
        )
        assert quick == careful


@pytest.mark.parametrize("turn", TURNS, ids=str)
def test_turns(turn: list[Json]) -> None:
    said = {"role": "user", "content": turn}
    for body in ([said], [said, said], [said, {"role": "user", "content": [RESULT]}]):
        quick, careful = (read(each, "messages", body) for each in (AnthropicMessages(), Careful()))
        assert quick == careful
