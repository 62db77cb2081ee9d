"""Schemas: the API's own form, after OpenAPI, as JSON Schema.

``parameters`` and ``responseSchema`` write types in capitals and say ``nullable``. The tree holds
JSON Schema, which everybody else speaks; ``parametersJsonSchema`` and ``responseJsonSchema`` take
it as it is.
"""

from __future__ import annotations

from ...model import Json

TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})
NESTED = frozenset({"items", "additionalProperties", "additional_properties"})
LISTS = frozenset({"anyOf", "any_of", "prefixItems", "prefix_items", "oneOf", "allOf"})
TABLES = frozenset({"properties", "$defs", "defs", "definitions"})
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
}
# int64 is a string in the JSON form of protocol buffers, and either is accepted.
COUNTS = frozenset(
    {"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"}
)


def lowered(schema: Json) -> Json:
    """A schema in the API's own form as JSON Schema; one that is that already stays as it is."""
    if schema.__class__ is not dict:
        return schema
    out: dict[str, Json] = {}
    key: str
    for key, value in schema.items():
        name = NAMES.get(key, key)
        if key in NESTED:
            value = lowered(value)
        elif key in LISTS and value.__class__ is list:
            value = [lowered(item) for item in value]
        elif key in TABLES and value.__class__ is dict:
            value = {word: lowered(item) for word, item in value.items()}
        elif name in COUNTS and value.__class__ is str and value.isascii() and value.isdigit():
            value = int(value)
        out[name] = value
    kind = out.get("type")
    if kind.__class__ is str and kind in TYPES:
        out["type"] = kind.lower()
    elif kind == "TYPE_UNSPECIFIED":
        del out["type"]
    if out.get("nullable").__class__ is bool:
        _nullable(out)
    return out


def _nullable(out: dict[str, Json]) -> None:
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
