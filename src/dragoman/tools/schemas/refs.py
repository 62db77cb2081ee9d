"""Finding what a schema refers to, and where it goes round in circles."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.reading import escape
from ...model import Json
from .notes import DEPTH

TABLES = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
SINGLES = (
    "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
    "additionalItems", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
SILENT = frozenset({"$defs", "definitions", "$schema", "$id", "id", "$comment", "$anchor"})
"""What stands beside a reference and says nothing of values nor to the model."""


def resolve(root: Json, ref: Json) -> tuple[Json, str] | None:
    """What a local reference points at, and its pointer; None where there is nothing."""
    if ref.__class__ is not str or not ref.startswith("#"):
        return None
    if "%" in ref:
        from urllib.parse import unquote  # rarely needed

        ref = unquote(ref)
    if ref not in ("#", "#/") and not ref.startswith("#/"):
        return _anchored(root, ref[1:])
    node, pointer = root, ""
    for token in ref[2:].split("/") if len(ref) > 2 else ():
        token = token.replace("~1", "/").replace("~0", "~")
        if node.__class__ is dict and token in node:
            node = node[token]
        elif node.__class__ is list and token.isascii() and token.isdigit():
            if len(token) > 9 or int(token) >= len(node):
                return None
            node = node[int(token)]
        else:
            return None
        pointer += f"/{escape(token)}"
    return (node, pointer) if node.__class__ in (dict, bool) else None


def _anchored(root: Json, name: str) -> tuple[Json, str] | None:
    for table in ("$defs", "definitions"):
        found = root.get(table) if root.__class__ is dict else None
        for key, node in found.items() if found.__class__ is dict else ():
            if node.__class__ is dict and node.get("$anchor") == name:
                return node, f"/{table}/{escape(key)}"
    return None


def children(node: dict[str, Json]) -> Iterator[tuple[str, str, Json]]:
    """The schemas in a schema: the keyword, the pointer after it, and the schema."""
    for key in TABLES:
        table = node.get(key)
        if table.__class__ is dict:
            for name, child in table.items():
                yield key, f"/{key}/{escape(name)}", child
    for key in LISTS:
        row = node.get(key)
        if row.__class__ is list:
            for index, child in enumerate(row):
                yield key, f"/{key}/{index}", child
    for key in SINGLES:
        child = node.get(key)
        if child.__class__ is dict:
            yield key, f"/{key}", child
        elif child.__class__ is list and key == "items":
            for index, item in enumerate(child):
                yield key, f"/{key}/{index}", item


def circles(root: Json) -> dict[str, bool]:
    """The references that close a circle, and whether a value can end there.

    It can where an optional property, a list that may be empty or a null lies on the way.
    """
    found: dict[str, bool] = {}
    done: set[str] = set()

    def visit(node: Json, at: str, slack: int, way: dict[str, int], depth: int) -> None:
        if node.__class__ is not dict or depth > DEPTH:
            return
        target = resolve(root, node["$ref"]) if "$ref" in node else None
        if target is not None:
            goal, pointer = target
            if pointer in way:
                found[at] = found.get(at, False) or slack > way[pointer]
            elif pointer not in done:
                visit(goal, pointer, slack, {**way, pointer: slack}, depth + 1)
                done.add(pointer)
        required = node.get("required")
        required = {escape(str(name)) for name in required} if required.__class__ is list else set()
        nulls = {
            key: any(map(is_null, node[key]))
            for key in ("anyOf", "oneOf")
            if node.get(key).__class__ is list
        }
        for key, below, child in children(node):
            if key in ("$defs", "definitions"):
                continue  # followed where they are referred to
            loose = 0
            if key == "properties":
                loose = below[len("/properties/") :] not in required
            elif key in ("items", "prefixItems"):
                loose = not node.get("minItems")
            elif key in ("anyOf", "oneOf"):
                loose = nulls[key]
            elif key in ("additionalProperties", "patternProperties"):
                loose = 1
            visit(child, at + below, slack + loose, way, depth + 1)

    visit(root, "", 0, {"": 0}, 0)
    return found


def is_null(node: Json) -> bool:
    """Whether a schema accepts null and nothing else."""
    if node.__class__ is not dict:
        return False
    if node.get("type") in ("null", ["null"]):
        return True
    return ("const" in node and node["const"] is None) or node.get("enum") == [None]
