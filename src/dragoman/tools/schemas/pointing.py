"""JSON Schema for Gemini's ``parametersJsonSchema`` and ``responseJsonSchema``.

"While the full JSON Schema may be sent, not all features are supported." What is not is passed
over, so nearly all of a schema goes as it is. Rewritten is what the API refuses, and what it would
pass over although it can be expressed in words that it heeds:

- references lead to ``$defs`` at the top: "reference to undefined schema at properties.a";
- beside a reference nothing else stands: "$ref 'A' was set alongside unsupported fields";
- "ref loops are only supported if they include optional or nullable property values, or a
  potentially-zero-length array items";
- ``const`` of a text or a number is an ``enum`` of one, ``allOf`` is joined where that is exact,
  and an exclusive limit of whole numbers is the next whole number.
"""

from __future__ import annotations

from ...core.reading import escape
from ...model import Json
from .merging import NOTHING_OF_VALUES, Merged, alike, is_number, merge, type_of
from .notes import DEPTH, MOST, Notes, Place, Rewritten
from .refs import LISTS, SILENT, SINGLES, TABLES, circles, resolve

Node = dict[str, Json]
REWRITTEN = frozenset({"$ref", "const", "allOf", "exclusiveMinimum", "exclusiveMaximum"})
TABLED = frozenset(TABLES)
LOOKED_AT = REWRITTEN.union(TABLES, LISTS, SINGLES)


def portable(schema: Json) -> Rewritten:
    """A schema whose references Gemini can follow; one that has none is not even looked at.

    >>> found = portable({"$ref": "#/definitions/a", "definitions": {"a": {"type": "object"}}})
    >>> found.schema
    {'$ref': '#/$defs/a', '$defs': {'a': {'type': 'object'}}}
    """
    if schema.__class__ is not dict or is_plain(schema):
        return Rewritten(schema)
    writer = _Writer(schema)
    out = writer.write_root()
    if not writer.notes.found:
        return Rewritten(schema)
    return Rewritten(out, tuple(writer.notes.found))


def is_plain(*schemas: Json) -> bool:
    """Whether schemas have nothing that could have to be rewritten, where ``below`` would look."""
    left = [*schemas]
    for schema in left:
        if schema.__class__ is not dict or LOOKED_AT.isdisjoint(schema):
            continue  # as most are
        for key in schema:
            if key in LOOKED_AT:
                if key in REWRITTEN:
                    return False
                value = schema[key]
                if value.__class__ is list:
                    left += value
                elif key in TABLED and value.__class__ is dict:
                    left += value.values()
                else:
                    left.append(value)
    return True


class _Writer:
    def __init__(self, root: Node) -> None:
        self.root = root
        self.notes = Notes()
        self.count = 0
        self.circles: dict[str, bool] = {}
        self.names: dict[str, str] = {}  # pointer -> name under ``$defs``
        self.moved: dict[str, Json] = {}  # what was not there before
        self.waiting: list[tuple[str, Json, str]] = []  # the same, still to be written

    def write_root(self) -> Node:
        self.circles = circles(self.root)
        own = self.root.get("$defs")
        for name in own if own.__class__ is dict else ():
            found = resolve(self.root, f"#/$defs/{pointed(name)}")
            if found is not None:
                self.names[found[1]] = name
        out: Node = self.write(self.root, Place(), 0, ())
        while self.waiting:
            name, goal, pointer = self.waiting.pop()
            self.moved[name] = self.write(goal, Place(pointer), 1, ())
        if self.moved:
            old, new = out.get("definitions"), out.get("$defs")
            if old.__class__ is dict and all(
                f"/definitions/{escape(k)}" in self.names for k in old
            ):
                del out["definitions"]  # all of them stand under ``$defs`` now
            out["$defs"] = {**(new if new.__class__ is dict else {}), **self.moved}
        return out

    def write(self, schema: Json, at: Place, depth: int, way: tuple[str, ...]) -> Json:
        self.count += 1
        if schema.__class__ is not dict or depth > DEPTH:
            return schema
        node: Node = schema
        for _ in range(DEPTH):
            if "allOf" in node:
                node, at, way = self.joined(node, at, way)
            if "$ref" not in node:
                break
            node, at, way = self.led(node, at, way)
            if "$ref" in node and is_alone(node):
                rest = {k: v for k, v in node.items() if k in ("$defs", "definitions")}
                return node | self.below(rest, at, depth, way) if rest else node
        else:
            self.notes.other(at, "too many consecutive references")
            node = {k: v for k, v in node.items() if k != "$ref"}
        if "const" in node:
            node = self.listed(node, at)
        if node.get("type") == "integer":
            node = self.bounded(node, at)
        return node | self.below(node, at, depth, way)

    def below(self, node: Node, at: Place, depth: int, way: tuple[str, ...]) -> Node:
        """The schemas in a schema, written."""
        out: Node = {}
        for key, value in node.items():
            here = at / key
            if key in TABLES and value.__class__ is dict:
                out[key] = {n: self.write(s, here / n, depth + 1, way) for n, s in value.items()}
            elif (key in LISTS or key == "items") and value.__class__ is list:
                out[key] = [self.write(s, here / i, depth + 1, way) for i, s in enumerate(value)]
            elif key in SINGLES:
                out[key] = self.write(value, here, depth + 1, way)
        return out

    # -- references ----------------------------------------------------------------------------

    def led(
        self, node: Node, at: Place, way: tuple[str, ...]
    ) -> tuple[Node, Place, tuple[str, ...]]:
        """A reference that leads to ``$defs`` and stands alone, or what it refers to."""
        ref, here = node["$ref"], at / "$ref"
        rest = {k: v for k, v in node.items() if not is_aside(k)}
        held = {k: v for k, v in node.items() if k not in rest and k != "$ref"}
        found = resolve(self.root, ref)
        if found is None:
            self.notes.other(here, f"{ref!r} points to nothing in this schema")
            return held | rest, at, way
        goal, pointer = found
        if self.circles.get(at.pointer) is False and not at.merged:
            self.notes.other(here, "a circular reference of required properties is cut")
            kind = {"type": goal["type"]} if goal.__class__ is dict and "type" in goal else {}
            return held | kind | rest, at.mixed(), way
        name = self.named(pointer, goal, here, ref)
        lone = {"$ref": f"#/$defs/{pointed(name)}"}
        if not rest:
            return held | lone, at, way
        if pointer in way or self.count > MOST or not pointer:
            self.notes.same(
                here, "nothing is allowed beside '$ref'; it is written as the only 'anyOf'"
            )
            if "anyOf" in rest:
                self.notes.other(here, "'$ref' beside 'anyOf' omitted")
                return held | rest, at.mixed(), way
            return held | rest | {"anyOf": [lone]}, at.mixed(), way
        both, lost = merge(rest, goal if goal.__class__ is dict else {})
        self.notes.same(here, f"nothing is allowed beside '$ref'; {ref!r} is written out")
        for key in lost:
            self.notes.other(at, f"{key!r} conflicts with the schema that '$ref' points to")
        inner = {k: v for k, v in both.items() if k not in SILENT}
        plain = rest.keys() <= NOTHING_OF_VALUES
        return held | inner, Place(pointer) if plain else at.mixed(), (*way, pointer)

    def named(self, pointer: str, goal: Json, here: Place, ref: str) -> str:
        """The name under ``$defs`` of what is referred to; it is put there if it is elsewhere."""
        name = self.names.get(pointer)
        if name is not None and pointer.startswith("/$defs/"):
            if ref != f"#{pointer}" and ref != f"#/$defs/{pointed(name)}":
                self.notes.same(here, "written as a pointer to '$defs'")
            return name
        self.notes.same(here, f"the target of {ref!r} moved to '$defs'")
        if name is None:
            stem = pointer.rpartition("/")[2] or "root"
            taken, number = {*self.names.values(), *self.moved}, 2
            name = stem
            while name in taken:
                name, number = f"{stem}_{number}", number + 1
            self.names[pointer] = name
            if goal.__class__ is dict:
                goal = {k: v for k, v in goal.items() if k not in SILENT}
            self.moved[name] = goal
            self.waiting.append((name, goal, pointer))
        return name

    # -- other words -----------------------------------------------------------------------------

    def joined(
        self, node: Node, at: Place, way: tuple[str, ...]
    ) -> tuple[Node, Place, tuple[str, ...]]:
        """``allOf`` as one schema, where that says the same; else it is passed over, not wrong."""
        stays, branches = (node, at, way), node["allOf"]
        if branches.__class__ is not list or not branches or self.count > MOST:
            return stays
        merged = Merged({k: v for k, v in node.items() if k != "allOf"})
        for branch in branches:
            for _ in range(DEPTH):
                if branch.__class__ is not dict or "allOf" in branch:
                    return stays
                if "$ref" not in branch:
                    break
                found = resolve(self.root, branch["$ref"])
                if found is None or found[0].__class__ is not dict or found[1] in way:
                    return stays
                way = (*way, found[1])
                rest = {k: v for k, v in branch.items() if k not in SILENT and k != "$ref"}
                goal = {k: v for k, v in found[0].items() if k not in SILENT}
                branch, lost = merge(rest, goal)
                if lost:
                    return stays
            if merged.add(branch) or "$ref" in branch:
                return stays
        self.notes.same(at / "allOf", "'allOf' merged into one schema")
        return merged.out, at.mixed(), way

    def listed(self, node: Node, at: Place) -> Node:
        value = node["const"]
        if value.__class__ is not str and not is_number(value):
            return node
        values = node.get("enum", [value])
        if values.__class__ is not list or not any(alike(value, v) for v in values):
            return node
        self.notes.same(at / "const", "'const' written as an 'enum' of one value")
        out = {k: v for k, v in node.items() if k not in ("const", "enum")}
        return {"type": type_of(value), **out, "enum": [value]}

    def bounded(self, node: Node, at: Place) -> Node:
        for key, word, step in (
            ("minimum", "exclusiveMinimum", 1),
            ("maximum", "exclusiveMaximum", -1),
        ):
            limit, other = node.get(word), node.get(key)
            if limit is not None and is_number(limit) and (other is None or is_number(other)):
                self.notes.same(at / word, f"{key!r} set to the next integer")
                limit = step * (int(step * limit // 1) + 1)
                if other is not None:
                    limit = max(limit, other) if step > 0 else min(limit, other)
                node = {k: v for k, v in node.items() if k != word} | {key: limit}
        return node


def is_aside(key: str) -> bool:
    """Whether a keyword may stand beside a reference."""
    return key.startswith("$") or key == "definitions"


def is_alone(node: Node) -> bool:
    return all(map(is_aside, node))


def pointed(name: str) -> str:
    """A name as a token of a reference."""
    return name.replace("~", "~0").replace("/", "~1").replace("%", "%25")
