"""The laws of streams over every answer of the corpus, and streams that went wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

import dragoman
from dragoman import dialects, events, testing
from dragoman.model import Response
from dragoman.testing import Document, load_corpus

CORPUS = load_corpus(Path(__file__).parent / "corpus")
STREAMS = [name for name in dialects.names() if "stream" in dialects.get(name).facets()]
ANSWERS = [
    document
    for case in CORPUS
    for document in case.documents
    if document.facet == "response" and not document.degraded and document.dialect in STREAMS
]
answers = pytest.mark.parametrize("document", ANSWERS, ids=lambda d: d.name)
targets = pytest.mark.parametrize("target", STREAMS)


def stream(document: Document) -> bytes:
    return dragoman.decompose(document.body, document.dialect)


@pytest.mark.parametrize(
    "document",
    [d for c in CORPUS for d in c.documents if d.facet == "response"],
    ids=lambda d: d.name,
)
def test_collect_undoes_decompose(document: Document) -> None:
    tree = dialects.get(document.dialect).read(document.body, "response")
    assert isinstance(tree, Response)
    assert events.collect(events.decompose(tree)) == tree


@answers
def test_an_answer_flies(document: Document) -> None:
    testing.flies(document)


@answers
@targets
def test_rest_is_flight(document: Document, target: str) -> None:
    testing.rest_is_flight(stream(document), document.dialect, target)


@answers
@targets
def test_chunks_do_not_matter(document: Document, target: str) -> None:
    for size in (1, 7):
        testing.chunks_do_not_matter(stream(document), document.dialect, target, size)


@answers
@targets
def test_never_a_false_success(document: Document, target: str) -> None:
    testing.never_a_false_success(stream(document), document.dialect, target)
