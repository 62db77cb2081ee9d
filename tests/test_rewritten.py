"""Kept documents, written without their source: they come back, unknown fields included."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import kept
from dragoman import Malformed, dialects
from dragoman.laws.documents import resolves
from dragoman.testing import Document, identity

CASES = kept.load()
BY_FILE = sorted({case.dialect for case, _ in CASES} - {"native"})


def documents(dialect: str) -> Iterator[Document]:
    """Those that can be read."""
    for case, _ in CASES:
        if case.dialect != dialect or case.facet == kept.STREAM or case.capsule is not None:
            continue
        try:
            dialects.get(dialect).read(case.document, case.facet)
        except Malformed:
            continue
        yield Document(case.name, dialect, "", case.facet, False, case.document)


@pytest.mark.parametrize("dialect", BY_FILE)
def test_they_come_back(dialect: str) -> None:
    for document in documents(dialect):
        identity(document)


@pytest.mark.parametrize("dialect", BY_FILE)
def test_what_is_wrong_with_them_is_told_where_it_stands(dialect: str) -> None:
    """A rule that is broken names a place of the document, or where a field is missing in one."""
    for document in documents(dialect):
        for problem in dialects.get(dialect).check(document.body, document.facet):
            assert problem.message, document.body
            around = problem.path.rpartition("/")[0]
            assert resolves(document.body, around), (problem, document.body)
