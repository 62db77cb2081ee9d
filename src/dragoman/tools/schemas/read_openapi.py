"""A schema of Gemini's own form, after OpenAPI, as JSON Schema."""

from __future__ import annotations

from ...model import Json
from .subset import COUNTS, TYPES, Node

WORDS = frozenset(kind.upper() for kind in TYPES)
SINGLE = frozenset({"items", "additionalProperties"})
LISTED = frozenset({"anyOf", "prefixItems", "oneOf", "allOf"})
TABLED = frozenset({"properties", "$defs", "definitions"})
NAMES = {
    "any_of": "anyOf",
    "prefix_items": "prefixItems",
    "additional_properties": "additionalProperties",
    "property_ordering": "propertyOrdering",
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
    "defs": "$defs",
    "ref": "$ref",
}


def from_openapi(schema: Json) -> Json:
    """A schema in the subset as JSON Schema; one that is that already stays as it is.

    >>> from_openapi({"type": "INTEGER", "nullable": True, "min_items": "2"})
    {'type': ['integer', 'null'], 'minItems': 2}
    """
    if schema.__class__ is not dict:
        return schema
    out: Node = {}
    key: str
    for key, value in schema.items():
        name = NAMES.get(key, key)
        if name in SINGLE:
            value = from_openapi(value)
        elif name in LISTED and value.__class__ is list:
            value = [from_openapi(item) for item in value]
        elif name in TABLED and value.__class__ is dict:
            value = {word: from_openapi(item) for word, item in value.items()}
        elif name in COUNTS and value.__class__ is str and value.isascii() and value.isdigit():
            value = int(value)  # int64 is a string in the JSON form of protocol buffers
        elif key == "ref" and value.__class__ is str:
            value = value.replace("#/defs/", "#/$defs/", 1)
        out[name] = value
    kind = out.get("type")
    if kind.__class__ is str and kind in WORDS:
        out["type"] = kind.lower()
        if kind in ("INTEGER", "NUMBER") and out.get("enum").__class__ is list:
            out["enum"] = [_number(value) for value in out["enum"]]
    elif kind == "TYPE_UNSPECIFIED":
        del out["type"]
    if out.get("nullable").__class__ is bool:
        _unnullable(out)
    return out


def _number(value: Json) -> Json:
    """``{type:INTEGER, format:enum, enum:["101", "201", "301"]}``: numbers listed as texts."""
    if value.__class__ is str and len(value) < 300:
        digits = value.removeprefix("-")
        if digits.isascii() and digits.isdigit():
            return int(value)
        whole, dot, rest = digits.partition(".")
        if dot and (whole + rest).isascii() and whole.isdigit() and rest.isdigit():
            return float(value)
    return value


def _unnullable(out: Node) -> None:
    """``nullable: true`` as another type that the value may have."""
    may = out.pop("nullable")
    kind = out.get("type")
    if not may:
        return
    if kind.__class__ is str and kind != "null":
        out["type"] = [kind, "null"]
        values = out.get("enum")
        if values.__class__ is list and None not in values:
            out["enum"] = [*values, None]
    elif kind is None and out.get("anyOf").__class__ is list:
        if {"type": "null"} not in out["anyOf"]:
            out["anyOf"] = [*out["anyOf"], {"type": "null"}]
