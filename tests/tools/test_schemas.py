"""The schema compiler: what comes out is what the targets take, and accepts what went in."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from google.genai.types import Schema
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from jsonschema.exceptions import (  # type: ignore[import-untyped]
    _WrappedReferencingError as Unresolvable,
)

from choosing import examples
from dragoman import Loss, convert
from dragoman.testing import resolves
from dragoman.tools.schemas import (
    CLAUDE,
    OPENAI,
    Refused,
    Rewritten,
    enforced,
    from_openapi,
    openapi,
    pointing,
    portable,
    trimmed,
)
from dragoman.tools.schemas.merging import types_of
from dragoman.tools.schemas.refs import LISTS, SINGLES, TABLES
from dragoman.tools.schemas.subset import FORMATS, TYPES

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
    """What can be expressed nearly everywhere, if in other words."""
    return st.one_of(
        keywords(st.nothing(), "minLength", "description").map({"type": "string"}.__or__),
        keywords(st.nothing(), "exclusiveMinimum", "minimum").map({"type": "integer"}.__or__),
        st.lists(st.sampled_from(["a", "b"]), min_size=1).map(lambda row: {"enum": row}),
        st.sampled_from(["a", 1, None]).map(lambda value: {"const": value}),
        st.sampled_from([["string", "null"], ["integer", "string"]]).map(lambda k: {"type": k}),
        st.sampled_from(["#/$defs/a", "#/definitions/b"]).map(lambda ref: {"$ref": ref}),
        st.just({"$ref": "#/$defs/a", "description": "D", "type": "string"}),
        st.lists(inner, min_size=1, max_size=3).map(lambda row: {"anyOf": row}),
        st.lists(inner, min_size=1, max_size=2).map(lambda row: {"oneOf": row}),
        st.lists(inner, min_size=1, max_size=2).map(lambda row: {"allOf": row}),
        inner.map(lambda item: {"type": "array", "items": item}),
        inner.map(lambda item: {"anyOf": [item, {"type": "null"}], "title": "T"}),
        st.builds(closed, table(inner), st.lists(names, max_size=2, unique=True)),
    )


def closed(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    kept = [name for name in required if name in properties]
    return {"type": "object", "properties": properties, "required": kept}


tame = st.builds(
    lambda root, one, two: root | {"$defs": {"a": one}, "definitions": {"b": two}},
    st.recursive(tame_words(st.just({"type": "string"})), tame_words, max_leaves=5),
    st.sampled_from([{"type": "string"}, {"const": "a"}, {"type": ["string", "null"]}]),
    st.sampled_from([{"type": "integer"}, {"anyOf": [{"type": "object"}, {"type": "null"}]}]),
)
simple = st.sampled_from(
    [
        {"type": "string", "default": "a"},
        {"type": ["integer", "null"], "minimum": 1},
        {"const": "a"},
        {"enum": [1, None]},
        {"oneOf": [{"type": "string"}, {"type": "null"}]},
        {"allOf": [{"type": "number"}, {"maximum": 2}], "format": "uri"},
    ]
)


def full(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects whose properties are required, or may be null."""
    shut = st.sampled_from([{}, {"additionalProperties": False}])
    return st.builds(
        lambda table, rest: closed(table, [n for n in table if "null" not in str(table[n])]) | rest,
        table(inner),
        shut,
    )


def listed(item: Any) -> Any:
    return {"type": "array", "items": item}


strict = full(st.recursive(simple, lambda inner: full(inner) | inner.map(listed), max_leaves=4))


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
few = settings(max_examples=examples(100), deadline=None)


def accepts(schema: Any, value: Any) -> bool:
    """Whether a value is of a schema; schemas that mean nothing are passed over."""
    try:
        return bool(Draft202012Validator(schema).is_valid(value))
    except (Unresolvable, RecursionError):
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


@few
@given(tame | anything | wild)
def test_what_is_plain_has_nothing_to_rewrite(schema: Any) -> None:
    quick = portable(schema)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pointing, "is_plain", lambda *schemas: False)
        assert quick == portable(schema)


@pytest.mark.parametrize("word", sorted(pointing.REWRITTEN))
@pytest.mark.parametrize("key", [*TABLES, *LISTS, *SINGLES])
def test_what_may_be_rewritten_is_seen_wherever_schemas_stand(key: str, word: str) -> None:
    inner = {word: 1}
    assert not pointing.is_plain({}, {key: {"a": inner} if key in TABLES else inner})
    assert not pointing.is_plain({"properties": {"a": {"items": {key: [{}, inner]}}}})
    assert pointing.is_plain({"enum": [inner], "default": inner, "properties": {word: {}}})


# -- what is enforced ----------------------------------------------------------------------------


def check_strict(node: Any) -> None:
    """OpenAI's rules."""
    if "$ref" in node:
        assert node.keys() <= {"$ref", "$defs", "definitions"}
    else:
        assert "type" in node or "anyOf" in node
    assert not node.keys() & {"oneOf", "allOf", "not", "patternProperties", "if"}
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
@given(strict | usual | anything, values)
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


# -- one by one -----------------------------------------------------------------------------------


def kinds_of(found: Rewritten) -> list[str]:
    return [f"{note.kind} {note.at}" for note in found.notes]


@pytest.mark.parametrize(
    ("schema", "wanted", "notes"),
    [
        ({"type": "string"}, {"type": "STRING"}, []),
        ({"type": ["integer", "null"]}, {"type": "INTEGER", "nullable": True}, []),
        (
            {"type": ["string", "null"], "enum": ["a", None]},
            {"type": "STRING", "enum": ["a"], "nullable": True},
            [],
        ),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "D"},
            {"type": "STRING", "description": "D", "nullable": True},
            ["renamed /anyOf"],
        ),
        (
            {"type": ["string", "number"], "minLength": 1, "description": "D"},
            {
                "anyOf": [
                    {"type": "STRING", "minLength": 1, "description": "D"},
                    {"type": "NUMBER", "description": "D"},
                ]
            },
            ["renamed /type", "renamed /description"],
        ),
        (
            {"enum": [1, 2, 3]},
            {"type": "INTEGER", "minimum": 1, "maximum": 3},
            ["renamed /enum"] * 2,
        ),
        (
            {"enum": [1, 5]},
            {"type": "INTEGER", "minimum": 1, "maximum": 5, "description": "{enum: [1,5]}"},
            ["renamed /enum", "approximated /enum"],
        ),
        (
            {"type": "number", "exclusiveMaximum": 1},
            {"type": "NUMBER", "maximum": 1},
            ["approximated /exclusiveMaximum"],
        ),
        (
            {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
            {"type": "INTEGER", "minimum": 1},
            ["renamed /exclusiveMinimum"],
        ),
        (
            {"type": "string", "format": "uri", "description": "Where"},
            {"type": "STRING", "description": 'Where\n\n{format: "uri"}'},
            ["dropped /format"],
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "b"]},
            {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "required": ["a"]},
            ["approximated /required"],
        ),
        (
            {"allOf": [{"type": "integer", "minimum": 1}, {"minimum": 3, "maximum": 9}]},
            {"type": "INTEGER", "minimum": 3, "maximum": 9},
            ["renamed /allOf"],
        ),
        (
            {"oneOf": [{"type": "string"}, {"type": "boolean"}]},
            {"anyOf": [{"type": "STRING"}, {"type": "BOOLEAN"}]},
            ["renamed /oneOf"],
        ),
        (
            {"oneOf": [{"type": "string"}, {"type": "string", "minLength": 2}]},
            {"anyOf": [{"type": "STRING"}, {"type": "STRING", "minLength": 2}]},
            ["approximated /oneOf"],
        ),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
            {"type": "ARRAY", "items": {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]}},
            ["approximated /prefixItems"],
        ),
    ],
)
def test_the_subset(schema: Any, wanted: Any, notes: list[str]) -> None:
    found = openapi(schema)
    assert found.schema == wanted
    assert sorted(kinds_of(found)) == sorted(notes)


def test_references_of_all_spellings_are_written_out() -> None:
    text = {"type": "string"}
    defs = {"a/b": text, "c~d": text, "e f": text, "g": {"$anchor": "here", **text}}
    refs = ["#/$defs/a~1b", "#/$defs/c~0d", "#/$defs/e%20f", "#here", "#/properties/0"]
    schema = {"properties": {str(i): {"$ref": ref} for i, ref in enumerate(refs)}, "$defs": defs}
    found = openapi({"type": "object", **schema})
    assert found.schema["properties"] == {str(i): {"type": "STRING"} for i in range(5)}
    assert {note.kind for note in found.notes} == {"renamed", "dropped"}


def test_a_circle_is_cut_and_said() -> None:
    schema = {
        "type": "object",
        "properties": {"next": {"$ref": "#"}, "name": {"type": "string"}},
    }
    found = openapi(schema)
    assert found.schema["properties"]["next"] == {"type": "OBJECT"}
    assert kinds_of(found) == ["approximated /properties/next/$ref"]


def test_a_bomb_of_references_does_not_go_off() -> None:
    defs: dict[str, Any] = {"d0": {"type": "string"}}
    for index in range(1, 40):
        below = {"$ref": f"#/$defs/d{index - 1}", "description": "D"}
        pair = {"a": below, "b": below}
        defs[f"d{index}"] = {"type": "object", "properties": pair, "required": ["a", "b"]}
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/d39"}}, "$defs": defs}
    for found in (openapi(schema), portable(schema), trimmed(schema, CLAUDE)):
        assert len(str(found.schema)) < 5_000_000
        assert found.notes
    assert "too large" in str(openapi(schema).notes)
    assert isinstance(enforced(schema, OPENAI), Refused | Rewritten)


def test_schemas_that_nest_without_end_are_answered() -> None:
    schema: dict[str, Any] = {"type": "string", "const": "x"}
    for index in range(190):
        words: list[Any] = [{"properties": {"a": schema}}, {"items": schema}, {"allOf": [schema]}]
        schema = {"anyOf": [schema]} if index % 4 == 3 else words[index % 4]
    check_openapi(openapi(schema).schema)
    portable(schema)
    trimmed(schema, CLAUDE)
    assert isinstance(enforced(schema, OPENAI), Refused)


def test_definitions_of_old_stand_under_defs() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/definitions/node"}}}
    schema = {"$ref": "#/definitions/node", "definitions": {"node": node}}
    found = portable(schema)
    assert found.schema == {
        "$ref": "#/$defs/node",
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    }


def test_a_circle_in_which_all_is_required_is_cut() -> None:
    node = {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["a"]}
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/n"}}, "$defs": {"n": node}}
    assert kinds_of(portable(schema)) == ["approximated /$defs/n/properties/a/$ref"]
    node["required"] = []
    assert not portable(schema).notes


def test_a_plain_schema_is_left_alone() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^a"}}}
    assert portable(schema).schema is schema
    strict = schema | {"required": ["a"], "additionalProperties": False}
    found = enforced(strict, OPENAI)
    assert isinstance(found, Rewritten)
    assert found.schema is strict


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"required": []}, "'a' is optional and not nullable"),
        ({"additionalProperties": True}, "additional properties are not supported"),
        ({"properties": {"a": {}}}, "a schema must have a type"),
        ({"properties": {"a": {"type": "object"}}}, "an object without 'properties' could only be"),
        ({"properties": {"a": {"type": "array"}}}, "a list must have 'items'"),
        ({"not": {"required": ["b"]}}, "'not' is not supported"),
        ({"anyOf": [{"type": "object"}]}, "the top must be an object, without alternatives"),
        ({"properties": {"a": {"$ref": "x.json"}}}, "'x.json' points to nothing in this schema"),
    ],
)
def test_what_cannot_be_enforced_is_refused(change: dict[str, Any], why: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    found = enforced(schema | change, OPENAI)
    assert isinstance(found, Refused)
    assert why in found.why


def test_the_own_form_of_gemini_is_json_schema_to_others() -> None:
    own = {
        "type": "OBJECT",
        "properties": {
            "pet": {"ref": "#/defs/Pet"},
            "flat": {"type": "INTEGER", "format": "enum", "enum": ["101", "-2"]},
            "any": {"any_of": [{"type": "STRING"}, {"type": "NUMBER"}], "nullable": True},
        },
        "defs": {"Pet": {"type": "STRING", "nullable": True, "max_length": "9"}},
    }
    assert from_openapi(own) == {
        "type": "object",
        "properties": {
            "pet": {"$ref": "#/$defs/Pet"},
            "flat": {"type": "integer", "format": "enum", "enum": [101, -2]},
            "any": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "null"}]},
        },
        "$defs": {"Pet": {"type": ["string", "null"], "maxLength": 9}},
    }


def written(model: str) -> tuple[Any, tuple[Loss, ...]]:
    result = convert(request(model), source="openai-chat", target="gemini")
    return result.document, result.losses


def request(model: str) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {"unit": {"const": "C"}},
        "additionalProperties": False,
    }
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}
    return {"model": model, "messages": [{"role": "user", "content": "Hi"}], "tools": [tool]}


@pytest.mark.parametrize("model", ["gemini-2.0-flash", "models/gemini-1.5-pro", "claude-x"])
def test_old_models_get_the_own_form(model: str) -> None:
    document, losses = written(model)
    (tool,) = document["tools"][0]["functionDeclarations"]
    assert tool["parameters"]["properties"] == {"unit": {"type": "STRING", "enum": ["C"]}}
    told = [loss for loss in losses if loss.what != "model"]
    assert [f"{loss.kind} {loss.what} {loss.path}" for loss in told] == [
        "renamed tool.schema /tools/0/function/parameters/properties/unit/const",
        "approximated tool.schema /tools/0/function/parameters/additionalProperties",
    ]


def test_other_models_get_json_schema() -> None:
    document, losses = written("gemini-3-pro")
    (tool,) = document["tools"][0]["functionDeclarations"]
    assert tool["parametersJsonSchema"]["additionalProperties"] is False
    assert [f"{loss.kind} {loss.what}" for loss in losses] == ["renamed tool.schema"]


@pytest.mark.parametrize(
    ("properties", "what"),
    [
        ({f"p{i}": {"type": "string"} for i in range(5001)}, "5000 properties"),
        ({"p": {"enum": list(range(600))}, "q": {"enum": list(range(401))}}, "1000 values"),
        ({"p": {"enum": [f"{i:060}" for i in range(251)]}}, "15000 characters in 'enum'"),
        ({"p" * 119_999: {"type": "string"}, "qq": {"type": "string"}}, "120000 characters"),
    ],
)
def test_what_is_too_large_is_not_enforced(properties: dict[str, Any], what: str) -> None:
    """OpenAI refuses the request: "Expected at most 1000 enum values in total"."""
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    found = enforced(schema | {"additionalProperties": False}, OPENAI)
    assert isinstance(found, Refused)
    assert what in found.why
    *_, last = properties
    fewer = {k: v for k, v in properties.items() if k != last}
    smaller = schema | {"properties": fewer, "required": list(fewer)}
    assert isinstance(enforced(smaller | {"additionalProperties": False}, OPENAI), Rewritten)
