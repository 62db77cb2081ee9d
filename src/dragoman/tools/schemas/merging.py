"""Two schemas that both hold, as one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from math import inf

from ...model import Json

NOTHING_OF_VALUES = frozenset(
    {
        "title", "description", "default", "examples", "example", "deprecated", "readOnly",
        "writeOnly", "$schema", "$id", "id", "$comment", "$anchor", "$defs", "definitions",
        "propertyOrdering", "contentEncoding", "contentMediaType", "contentSchema",
    }
)  # fmt: skip
"""Keywords that constrain nothing. Of two, the outer one is written."""
LOWER = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
UPPER = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})


def merge(outer: dict[str, Json], inner: dict[str, Json]) -> tuple[dict[str, Json], list[str]]:
    """Both schemas as one, and the keywords that could not be joined (the outer one is kept)."""
    merged = Merged(outer)
    return merged.out, merged.add(inner)


class Merged:
    """A schema that others are joined to, one after the other, at the cost of what each adds."""

    def __init__(self, outer: dict[str, Json]) -> None:
        self.out = dict(outer)
        self.own: set[str] = set()  # lists and objects that were made here, and may grow
        self.required: set[str] = set()
        self.both: dict[str, list[Json]] = {}  # properties that several schemas describe

    def add(self, inner: dict[str, Json]) -> list[str]:
        """Join another schema; gives the keywords that could not be joined."""
        out, lost = self.out, []
        if clashes(out, inner) or clashes(inner, out):
            lost.append("additionalProperties")
        for key, value in inner.items():
            if key not in out:
                out[key] = value
            elif key == "properties" and out[key].__class__ is value.__class__ is dict:
                self.describe(value)
            elif key == "required" and are_names(value) and self.has_names():
                self.require(value)
            elif not alike(out[key], value) and key not in NOTHING_OF_VALUES:
                joined = join(key, out[key], value)
                if joined is None:
                    lost.append(key)
                else:
                    out[key] = joined
        return lost

    def describe(self, properties: dict[str, Json]) -> None:
        if "properties" not in self.own:
            self.out["properties"] = dict(self.out["properties"])
            self.own.add("properties")
        mine = self.out["properties"]
        for name, schema in properties.items():
            if name in self.both:
                self.both[name].append(schema)
            elif name not in mine:
                mine[name] = schema
            elif not alike(mine[name], schema):
                self.both[name] = [mine[name], schema]
                mine[name] = {"allOf": self.both[name]}

    def has_names(self) -> bool:
        return "required" in self.own or are_names(self.out["required"])

    def require(self, names: list[str]) -> None:
        if "required" not in self.own:
            self.out["required"] = list(self.out["required"])
            self.required.update(self.out["required"])
            self.own.add("required")
        for name in names:
            if name not in self.required:
                self.required.add(name)
                self.out["required"].append(name)


def are_names(value: Json) -> bool:
    return value.__class__ is list and all(name.__class__ is str for name in value)


def clashes(one: dict[str, Json], two: dict[str, Json]) -> bool:
    """Whether one schema forbids properties by the lack of a name that the other has."""
    if one.get("additionalProperties", True) is True and "unevaluatedProperties" not in one:
        return False
    if "patternProperties" in one or "patternProperties" in two:
        return True
    mine, theirs = one.get("properties"), two.get("properties")
    mine = mine if mine.__class__ is dict else {}
    return theirs.__class__ is dict and bool(theirs.keys() - mine.keys())


def join(key: str, one: Json, two: Json) -> Json:
    """What both say with one keyword; None where that cannot be expressed."""
    if key == "type":
        return join_types(one, two)
    if key == "enum" and one.__class__ is two.__class__ is list:
        others = set(map(identity, two))
        return [value for value in one if identity(value) in others] or None
    if key in LOWER or key in UPPER:
        if not (is_number(one) and is_number(two)):
            return None
        return max(one, two) if key in LOWER else min(one, two)
    if key in ("items", "additionalProperties") and one.__class__ is two.__class__ is dict:
        return {"allOf": [one, two]}
    if key == "additionalProperties":
        return False if one is False or two is False else two if one is True else one
    if key == "uniqueItems":
        return True if one is True or two is True else one
    return None


def join_types(one: Json, two: Json) -> Json:
    left, right = types_of(one), types_of(two)
    both = [t for t in left if t in right or (t == "integer" and "number" in right)]
    both += [t for t in right if t not in both and t == "integer" and "number" in left]
    return (both[0] if len(both) == 1 else both) or None


def types_of(kind: Json) -> list[str]:
    """The value of ``type`` as a list of names."""
    if kind.__class__ is str:
        return [kind]
    if kind.__class__ is not list:
        return []
    return list(dict.fromkeys(t for t in kind if t.__class__ is str))


def is_number(value: Json) -> bool:
    return value.__class__ in (int, float) and -inf < value < inf


def alike(one: Json, two: Json) -> bool:
    """Equal as JSON has it: 1 is 1.0, but true is not 1."""
    if one.__class__ is bool or two.__class__ is bool:
        return one is two
    if one.__class__ is two.__class__ is list:
        return len(one) == len(two) and all(map(alike, one, two))
    if one.__class__ is two.__class__ is dict:
        return one.keys() == two.keys() and all(alike(v, two[k]) for k, v in one.items())
    return bool(one == two)


def identity(value: Json) -> Hashable:
    """A key of a JSON value: two values are ``alike`` if theirs are the same."""
    if value.__class__ is bool:
        return ("bool", value)
    if value.__class__ is list:
        return ("list", tuple(map(identity, value)))
    if value.__class__ is dict:
        return ("dict", frozenset((key, identity(item)) for key, item in value.items()))
    key: Hashable = value
    return key


def type_of(value: Json) -> str:
    """The type of a JSON value, in the words of JSON Schema."""
    if value is None:
        return "null"
    if value.__class__ is float and value.is_integer():
        return "integer"
    return NAMES[value.__class__]


NAMES = {
    bool: "boolean",
    str: "string",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
}


def fits(value: Json, kind: str) -> bool:
    """Whether a value is of a type."""
    own = type_of(value)
    return own == kind or (own == "integer" and kind == "number")


def are_apart(branches: list[Json]) -> bool:
    """Whether no value can be of two of these schemas, so that one of them is any of them."""
    if len(branches) > MANY:
        return are_told_apart(branches)
    for index, one in enumerate(branches):
        for two in branches[index + 1 :]:
            if not (one.__class__ is two.__class__ is dict and is_apart(one, two)):
                return False
    return True


MANY = 32
"""So many are compared each with each; of more, one property must tell all of them apart."""


def are_told_apart(branches: list[Json]) -> bool:
    """Whether the values of the schemas, or of one property that all require, are all different."""
    if not all(branch.__class__ is dict for branch in branches):
        return False
    if are_different(map(values, branches)):
        return True
    if any(kinds(branch) != {"object"} for branch in branches):
        return False
    common = set.intersection(*map(names, branches))
    tables = [branch["properties"] for branch in branches] if common else []
    return any(
        are_different(
            values(table[name]) if table[name].__class__ is dict else None for table in tables
        )
        for name in common
    )


def are_different(several: Iterable[list[Json] | None]) -> bool:
    """Whether no value is in two of the lists; None: any value may be in it."""
    seen: set[Hashable] = set()
    for found in several:
        if found is None:
            return False
        mine = set(map(identity, found))
        if not seen.isdisjoint(mine):
            return False
        seen |= mine
    return True


def is_apart(one: dict[str, Json], two: dict[str, Json]) -> bool:
    left, right = kinds(one), kinds(two)
    if left and right and not shared(left, right):
        return True
    mine, theirs = values(one), values(two)
    if mine is not None and theirs is not None:
        return not any(alike(a, b) for a in mine for b in theirs)
    if left != {"object"} or right != {"object"}:
        return False
    for name in names(one) & names(two):  # a property that tells them apart
        a, b = one["properties"][name], two["properties"][name]
        if a.__class__ is b.__class__ is dict and is_apart(a, b):
            return True
    return False


def kinds(node: dict[str, Json]) -> set[str]:
    if node.get("type") is not None:
        return set(types_of(node["type"]))
    found = values(node)
    return {type_of(value) for value in found} if found else set()


def shared(left: set[str], right: set[str]) -> bool:
    number = {"number", "integer"}
    return bool(left & right) or bool(left & number and right & number)


def values(node: dict[str, Json]) -> list[Json] | None:
    if "const" in node:
        return [node["const"]]
    found = node.get("enum")
    return found if found.__class__ is list else None


def names(node: dict[str, Json]) -> set[str]:
    """The properties that are described and required."""
    table, required = node.get("properties"), node.get("required")
    if table.__class__ is not dict or required.__class__ is not list:
        return set()
    return {name for name in required if name.__class__ is str and name in table}
