"""The JSON Schemas of the dialects, held against the readers they were learned from."""

from __future__ import annotations

import random
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

import places
from dragoman import Malformed, dialects
from dragoman.cli.schema import schema_of
from dragoman.dialect import FACETS
from dragoman.ledger import Ledger
from dragoman.testing import Document, broken, load_corpus

CORPUS = load_corpus(places.CORPUS)
DOCUMENTS: dict[tuple[str, str], list[Document]] = {}
for _case in CORPUS:
    for _document in _case.documents:
        DOCUMENTS.setdefault((_document.dialect, _document.facet), []).append(_document)
KINDS = sorted(DOCUMENTS)
kinds = pytest.mark.parametrize(("dialect", "facet"), KINDS, ids=lambda x: x)


def validator(dialect: str, facet: str) -> Any:
    return Draft202012Validator(schema_of(dialect, facet))


def reads(dialect: str, facet: str, body: Any) -> bool:
    try:
        dialects.get(dialect).read(body, facet)
    except Malformed:
        return False
    return True


@pytest.mark.parametrize("name", dialects.names())
def test_every_facet_that_is_read_has_a_schema(name: str) -> None:
    for facet, ways in dialects.get(name).facets().items():
        if "read" in ways and facet in FACETS:
            Draft202012Validator.check_schema(schema_of(name, facet))


@pytest.mark.parametrize("name", dialects.names())
def test_every_row_of_the_table_of_parameters_is_in_the_schema(name: str) -> None:
    fields, facets = dialects.get(name).fields, dialects.get(name).facets()
    if fields is None or "read" not in facets.get("request", ()):
        return
    schema = schema_of(name, "request")
    said = properties(schema)
    for row in fields.rows:
        assert row.key in said, row.name
        assert row.describe(name) in ("", *said[row.key]), row.name


def properties(schema: Any) -> dict[str, list[str]]:
    """The properties that a schema names anywhere, with their descriptions."""
    found: dict[str, list[str]] = {}
    for part in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(part, dict | list):
            for key, texts in properties(part).items():
                found.setdefault(key, []).extend(texts)
    if isinstance(schema, dict):
        for key, inside in schema.get("properties", {}).items():
            found.setdefault(key, []).append(inside.get("description", ""))
    return found


@kinds
def test_every_document_is_valid(dialect: str, facet: str) -> None:
    schema = validator(dialect, facet)
    for document in DOCUMENTS[dialect, facet]:
        assert not list(schema.iter_errors(document.body)), document.name


def test_every_native_document_is_valid() -> None:
    schemas = {facet: validator("native", facet) for facet in FACETS}
    native = dialects.get("native")
    for (dialect, facet), documents in DOCUMENTS.items():
        for document in documents[::5]:
            tree = dialects.get(dialect).read(document.body, facet)
            body = native.write(tree, Ledger())
            assert not list(schemas[facet].iter_errors(body)), document.name


def mangled(dialect: str, facet: str) -> list[Any]:
    """Documents with one wrong value each, the same in every run."""
    dice = random.Random(f"{dialect} {facet}")
    chosen = dice.sample(DOCUMENTS[dialect, facet], min(12, len(DOCUMENTS[dialect, facet])))
    found: list[Any] = []
    for document in chosen:
        bodies = list(broken(document.body))
        found += dice.sample(bodies, min(12, len(bodies)))
    return found


@kinds
def test_what_a_schema_refuses_the_reader_refuses(dialect: str, facet: str) -> None:
    schema = validator(dialect, facet)
    for body in mangled(dialect, facet):
        if reads(dialect, facet, body):
            errors = list(schema.iter_errors(body))
            assert not errors, errors[0]


def test_what_readers_refuse_most_schemas_refuse() -> None:
    refused = caught = 0
    for dialect, facet in KINDS:
        schema = validator(dialect, facet)
        for body in mangled(dialect, facet):
            if not reads(dialect, facet, body):
                refused += 1
                caught += not schema.is_valid(body)
    assert caught / refused > 0.95, f"{caught} of {refused}"
