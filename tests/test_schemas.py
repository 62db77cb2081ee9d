"""The schema compiler: what comes out is what the targets take, and accepts what went in."""

from __future__ import annotations

import warnings
from typing import Any

from google.genai.types import Schema
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema.exceptions import _WrappedReferencingError

from dragoman.schemas import (
    CLAUDE,
    OPENAI,
    Refused,
    Rewritten,
    enforced,
    from_openapi,
    openapi,
    portable,
    trimmed,
)
from dragoman.schemas.merging import types_of
from dragoman.schemas.openapi import FORMATS, TYPES
from dragoman.testing import resolves

# -- schemas nobody wrote down ----------------------------------------------------------------

names = st.sampled_from(["a", "b", "c", "x/y", "p%q", "$ref"])
scalars = st.sampled_from(["", "a", "b", 0, 1, 2, 1.0, 1.5, -1, True, False, None])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
references = st.sampled_from(
    [
        "#/$defs/a",
        "#/$defs/b",
        "#/$defs/x~1y",
        "#/$defs/p%25q",
        "#/definitions/a",
        "#/properties/a",
        "#",
        "#/$defs/none",
        "https://example.com/schema",
    ]
)
kinds = st.sampled_from(TYPES)
counts = st.sampled_from([0, 1, 2])
numbers = st.sampled_from([-1, 0, 0.5, 1, 2, 3])


def table(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(names, inner, max_size=3)


def keywords(inner: st.SearchStrategy[Any], *some: str) -> st.SearchStrategy[Any]:
    """A schema with some of all keywords there are, or of those that are named."""
    rows = st.lists(inner, min_size=1, max_size=3)
    known: dict[str, st.SearchStrategy[Any]] = {
        "type": kinds | st.lists(kinds, min_size=1, max_size=3, unique=True),
        "properties": table(inner),
        "required": st.lists(names, max_size=3, unique=True),
        "additionalProperties": inner,
        "items": inner,
        "prefixItems": rows,
        "anyOf": rows,
        "oneOf": rows,
        "allOf": rows,
        "not": inner,
        "enum": st.lists(scalars, min_size=1, max_size=4),
        "const": scalars,
        "minimum": numbers,
        "maximum": numbers,
        "exclusiveMinimum": numbers,
        "exclusiveMaximum": numbers,
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "minLength": counts,
        "maxLength": counts,
        "minItems": counts,
        "maxItems": counts,
        "minProperties": counts,
        "pattern": st.sampled_from(["^a", "b$"]),
        "format": st.sampled_from(["date-time", "uri", "int32", "email"]),
        "uniqueItems": st.booleans(),
        "title": st.just("T"),
        "description": st.just("D"),
        "default": scalars,
        "$ref": references,
        "patternProperties": st.dictionaries(st.just("^a"), inner, max_size=1),
        "if": inner,
        "then": inner,
        "$comment": st.just("C"),
        "x-own": st.just(1),
    }
    return st.lists(st.sampled_from(some or sorted(known)), max_size=4, unique=True).flatmap(
        lambda keys: st.fixed_dictionaries({key: known[key] for key in keys})
    )


schemas = st.recursive(
    st.booleans() | keywords(st.just({"type": "string"})), keywords, max_leaves=8
)
rooted = st.builds(
    lambda root, defs, old: root | {"$defs": defs} | ({"definitions": old} if old else {}),
    keywords(schemas),
    st.fixed_dictionaries({}, optional=dict.fromkeys(("a", "b", "x/y", "p%q"), schemas)),
    st.none() | st.fixed_dictionaries({"a": schemas}),
)
# What tools carry: objects with properties.
usual = st.builds(
    lambda properties, required, rest: {
        "type": "object",
        "properties": properties,
        "required": [name for name in required if name in properties],
        **rest,
    },
    table(schemas),
    st.lists(names, max_size=3, unique=True),
    st.sampled_from([{}, {"additionalProperties": False}, {"additionalProperties": True}]),
)
anything = rooted | usual


def tame_words(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return keywords(
        inner, "type", "properties", "required", "anyOf", "oneOf", "allOf", "enum", "const",
        "minimum", "exclusiveMinimum", "minLength", "$ref", "description", "items",
    )  # fmt: skip


# What can be said nearly everywhere.
typed = st.builds(
    lambda kind, rest: {"type": kind, **rest}, kinds, tame_words(st.just({"type": "string"}))
)
tame = st.builds(
    lambda root, defs: root | {"$defs": defs},
    tame_words(st.recursive(typed, tame_words, max_leaves=6)),
    st.fixed_dictionaries({"a": typed, "b": typed}),
)
words = st.sampled_from(
    [
        "type",
        "properties",
        "items",
        "anyOf",
        "allOf",
        "oneOf",
        "$ref",
        "$defs",
        "enum",
        "const",
        "required",
        "minimum",
        "format",
        "nullable",
        "exclusiveMinimum",
        "minItems",
        "additionalProperties",
        "description",
        "definitions",
        "prefixItems",
    ]
)
wild = st.recursive(
    values | references | kinds,
    lambda inner: st.dictionaries(words, inner | st.lists(inner, max_size=2), max_size=4),
    max_leaves=12,
)
few = settings(max_examples=100, deadline=None)


def accepts(schema: Any, value: Any) -> bool:
    """Whether a value is of a schema; schemas that mean nothing are passed over."""
    try:
        return bool(Draft202012Validator(schema).is_valid(value))
    except (_WrappedReferencingError, RecursionError):
        assume(False)
        raise


def is_exact(found: Rewritten) -> bool:
    return not any(note.kind == "approximated" for note in found.notes)


def check_places(schema: Any, found: Rewritten) -> None:
    for note in found.notes:
        assert resolves(schema, note.at), f"{note} points nowhere in {schema}"


# -- the subset of OpenAPI ----------------------------------------------------------------------

FIELDS = {
    "type", "format", "title", "description", "nullable", "enum", "items", "minItems", "maxItems",
    "properties", "required", "minProperties", "maxProperties", "minLength", "maxLength", "pattern",
    "minimum", "maximum", "anyOf", "propertyOrdering", "example",
}  # fmt: skip
OF_TYPE = {
    "STRING": {"enum", "minLength", "maxLength", "pattern", "format"},
    "NUMBER": {"minimum", "maximum", "format"},
    "INTEGER": {"minimum", "maximum", "format"},
    "ARRAY": {"items", "minItems", "maxItems"},
    "OBJECT": {"properties", "required", "minProperties", "maxProperties", "propertyOrdering"},
    "BOOLEAN": set(),
    "NULL": set(),
}


def check_openapi(node: Any, depth: int = 0) -> None:
    """The rules of the API, as its errors tell them."""
    assert isinstance(node, dict)
    assert node.keys() <= FIELDS, node.keys() - FIELDS
    if "anyOf" in node:
        assert node.keys() == {"anyOf"}, "it must be the only field set"
        assert len(node["anyOf"]) > 1
        for part in node["anyOf"]:
            check_openapi(part, depth + 1)
        return
    kind = node["type"]
    typed = node.keys() & set().union(*OF_TYPE.values())
    assert typed <= OF_TYPE[kind], (kind, typed)
    assert node.get("format") in (None, *FORMATS.get(kind.lower(), ()))
    assert all(isinstance(value, str) and value for value in node.get("enum", ()))
    assert node.get("enum") != []
    if kind == "ARRAY":
        check_openapi(node["items"], depth + 1)
    assert node.get("properties") != {}
    for child in node.get("properties", {}).values():
        check_openapi(child, depth + 1)
    assert set(node.get("required", ())) <= node.get("properties", {}).keys()


@few
@given(anything | wild)
def test_whatever_comes_becomes_the_subset(schema: Any) -> None:
    found = openapi(schema)
    check_openapi(found.schema)
    check_places(schema, found)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Schema.model_validate(found.schema)


@few
@given(anything)
def test_nothing_changes_without_a_note(schema: Any) -> None:
    found = openapi(schema)
    assert (from_openapi(found.schema) == schema) is (not found.notes), found


@few
@given(tame | anything, values)
def test_without_an_approximation_the_subset_accepts_the_same(schema: Any, value: Any) -> None:
    found = openapi(schema)
    if is_exact(found):
        assert accepts(from_openapi(found.schema), value) is accepts(schema, value), found


# -- JSON Schema for Gemini -----------------------------------------------------------------------


def check_references(root: Any, node: Any) -> None:
    if isinstance(node, list):
        for item in node:
            check_references(root, item)
    elif isinstance(node, dict):
        ref = node.get("$ref")
        if isinstance(ref, str):
            beside = {key for key in node if not key.startswith("$")} - {"definitions"}
            assert not beside, node
            assert ref.startswith("#/$defs/"), ref
            assert resolves(root, ref[1:].replace("%25", "%")), ref
        for key, child in node.items():
            if key in ("properties", "$defs", "patternProperties") and isinstance(child, dict):
                for item in child.values():
                    check_references(root, item)
            elif key not in ("enum", "const", "default", "definitions"):
                check_references(root, child)


@few
@given(anything)
def test_references_lead_to_definitions_and_stand_alone(schema: Any) -> None:
    found = portable(schema)
    check_references(found.schema, found.schema)
    check_places(schema, found)
    assert (found.schema == schema) is (not found.notes)


@few
@given(wild)
def test_whatever_comes_is_answered(schema: Any) -> None:
    for found in (portable(schema), trimmed(schema, CLAUDE), enforced(schema, OPENAI)):
        if isinstance(found, Rewritten):
            check_places(schema, found)
        else:
            assert resolves(schema, found.at)


@few
@given(tame | anything, values)
def test_without_an_approximation_references_accept_the_same(schema: Any, value: Any) -> None:
    found = portable(schema)
    if found.notes and is_exact(found):
        assert accepts(found.schema, value) is accepts(schema, value), found


# -- what is enforced ----------------------------------------------------------------------------


def check_strict(node: Any) -> None:
    """OpenAI's rules."""
    if "$ref" in node:
        assert node.keys() <= {"$ref", "$defs", "definitions"}
    else:
        assert "type" in node or "anyOf" in node
    assert not node.keys() & {"oneOf", "allOf", "not", "default", "patternProperties", "if"}
    if "object" in types_of(node.get("type")):
        assert node["additionalProperties"] is False
        assert set(node["required"]) == node.get("properties", {}).keys()
    if "array" in types_of(node.get("type")):
        check_strict(node["items"])
    for child in (*node.get("properties", {}).values(), *node.get("$defs", {}).values()):
        check_strict(child)
    for child in node.get("anyOf", ()):
        check_strict(child)


@few
@given(usual | anything, values)
def test_what_is_enforced_allows_nothing_more(schema: Any, value: Any) -> None:
    for rules in (OPENAI, CLAUDE):
        found = enforced(schema, rules)
        if isinstance(found, Refused):
            assert resolves(schema, found.at)
            continue
        check_places(schema, found)
        assert (found.schema == schema) is (not found.notes), found
        if accepts(found.schema, value):
            assert accepts(schema, value), found
        elif is_exact(found):
            assert not accepts(schema, value), found
        if rules is OPENAI:
            check_strict(found.schema)


def check_claude(node: Any) -> None:
    if node is True:
        return
    assert not node.keys() & CLAUDE.unknown, node
    if "object" in types_of(node.get("type")):
        assert node["additionalProperties"] is False
    assert node.get("minItems", 0) in (0, 1)
    tables = (node.get(key) for key in ("properties", "$defs", "definitions"))
    for table in tables:
        for child in (table or {}).values():
            check_claude(child)
    for child in (*node.get("anyOf", ()), *node.get("allOf", ())):
        check_claude(child)
    if "items" in node:
        check_claude(node["items"])


@few
@given(anything)
def test_what_is_trimmed_can_be_enforced(schema: Any) -> None:
    found = trimmed(schema, CLAUDE)
    check_claude(found.schema)
    check_places(schema, found)
    assert (found.schema == schema) is (not found.notes), found
