"""A JSON Schema in the subset of OpenAPI 3.0 in which Gemini's own schemas are written.

It is a fixed set of fields, and the API refuses a request for one that it does not know: "Unknown
name "const" at 'tools[0].function_declarations[5].parameters.properties[8].value': Cannot find
field." Types are single words in capitals, null is ``nullable``, values that are listed are
strings, and there are no references. Rules that are not in the type definitions:

- "enum: only allowed for STRING type", and none of them may be empty;
- "only 'enum' and 'date-time' are supported for STRING type" (of ``format``);
- "items: missing field" where a list does not say what is in it;
- "required[0]: property is not defined";
- "schema specified other fields alongside any_of", which "must be the only field set".
"""

from __future__ import annotations

from ...core.reading import compact
from ...model import Json
from .merging import NOTHING_OF_VALUES, Merged, are_apart, fits, is_number, merge, type_of, types_of
from .notes import DEPTH, MOST, Notes, Place, Rewritten
from .refs import SILENT, is_null, resolve

Node = dict[str, Json]

TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
FORMATS = {
    "string": ("date-time", "enum"),
    "number": ("float", "double"),
    "integer": ("int32", "int64"),
}
KEPT = ("title", "description", "pattern", "example")
COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
# What speaks of values of one type only; said of another type, it says nothing.
STRING = frozenset({"minLength", "maxLength", "pattern", "format"})
NUMBER = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
ARRAY = frozenset(
    {
        "items", "prefixItems", "additionalItems", "unevaluatedItems", "minItems", "maxItems",
        "uniqueItems", "contains", "minContains", "maxContains",
    }
)  # fmt: skip
OBJECT = frozenset(
    {
        "properties", "required", "additionalProperties", "patternProperties", "propertyNames",
        "minProperties", "maxProperties", "unevaluatedProperties", "dependentRequired",
        "dependentSchemas", "dependencies", "propertyOrdering",
    }
)  # fmt: skip
SPEAKS_OF = {
    "string": STRING,
    "number": NUMBER | {"format"},
    "integer": NUMBER | {"format"},
    "array": ARRAY,
    "object": OBJECT,
}
TYPED = STRING | NUMBER | ARRAY | OBJECT
HINTED = frozenset({"multipleOf", "uniqueItems", "format", "enum", "const", "default"})
"""What is told to the model in the description, where it has no field of its own."""


def openapi(schema: Json) -> Rewritten:
    """A JSON Schema in the subset; always replies, and notes what it had to change."""
    writer = _Writer(schema)
    out = writer.write(schema, Place(), 0, ("",))
    return Rewritten(out, tuple(writer.notes.found))


class _Writer:
    def __init__(self, root: Json) -> None:
        self.root = root
        self.notes = Notes()
        self.count = 0
        self.consts: set[str] = set()  # where an ``enum`` was a ``const``

    def write(self, schema: Json, at: Place, depth: int, way: tuple[str, ...]) -> Node:
        self.count += 1
        if depth > DEPTH:
            self.notes.other(at, "nested too deeply; cut")
            return self.any_value()
        node, at, way = self.whole(self.known(schema, at), at, way, depth)
        return self.write_whole(node, at, depth, way)

    def known(self, schema: Json, at: Place) -> Node:
        if schema.__class__ is dict:
            return schema
        if schema is False:
            self.notes.other(at, "a schema that accepts no value is not supported")
        elif schema is not True:
            self.notes.other(at, "not a schema; read as any value")
        return {}

    # -- references and what must hold together ----------------------------------------------

    def whole(
        self, node: Node, at: Place, way: tuple[str, ...], depth: int
    ) -> tuple[Node, Place, tuple[str, ...]]:
        """A schema without references and ``allOf``: what they say is written out."""
        for _ in range(DEPTH):
            if "$ref" in node:
                node, at, way = self.follow(node, at, way)
            elif "$dynamicRef" in node or "$recursiveRef" in node:
                self.notes.other(at, "dynamic references are not supported")
                node = {k: v for k, v in node.items() if k not in ("$dynamicRef", "$recursiveRef")}
            elif "allOf" in node:
                node, at, way = self.join(node, at, way, depth)
            else:
                return node, at, way
        self.notes.other(at, "too many consecutive references")
        return {k: v for k, v in node.items() if k not in ("$ref", "allOf")}, at, way

    def follow(
        self, node: Node, at: Place, way: tuple[str, ...]
    ) -> tuple[Node, Place, tuple[str, ...]]:
        ref, here = node["$ref"], at / "$ref"
        rest = {k: v for k, v in node.items() if k not in SILENT and k != "$ref"}
        found = resolve(self.root, ref)
        if found is None:
            self.notes.other(here, f"{ref!r} points to nothing in this schema")
            return rest, at, way
        goal, pointer = found
        goal = {} if goal is True else {"not": {}} if goal is False else goal
        if pointer in way:
            self.notes.other(here, f"{ref!r} is a circular reference; cut")
            return rest | self.stub(goal, rest), at.mixed(), way
        if self.count > MOST:
            self.notes.other(here, "the schema is too large with references written out; cut")
            return rest | self.stub(goal, rest), at.mixed(), way
        self.notes.same(here, f"{ref!r} is written out")
        way = (*way, pointer)
        if not rest.keys() - NOTHING_OF_VALUES:
            return goal | self.shown(rest, at), Place(pointer), way
        both, lost = merge(rest, goal)
        for key in lost:
            self.notes.other(at, f"{key!r} conflicts with the schema that '$ref' points to")
        return both, at.mixed(), way

    def stub(self, goal: Node, rest: Node) -> Node:
        """What can be expressed of a schema without going on."""
        kept = {k: goal[k] for k in ("type", "title", "description") if k in goal}
        if "type" not in kept and "properties" in goal:
            kept["type"] = "object"
        return {k: v for k, v in kept.items() if k not in rest}

    def join(
        self, node: Node, at: Place, way: tuple[str, ...], depth: int
    ) -> tuple[Node, Place, tuple[str, ...]]:
        branches, here = node["allOf"], at / "allOf"
        out = {k: v for k, v in node.items() if k != "allOf"}
        if branches.__class__ is not list:
            self.notes.other(here, "'allOf' is not a list; omitted")
            return out, at, way
        self.notes.same(here, "'allOf' merged into one schema")
        one = len(branches) == 1 and out.keys() <= NOTHING_OF_VALUES
        alone = at
        if one:
            out = self.shown(out, at)
        merged = Merged(out)
        for index, branch in enumerate(branches):
            self.count += 1
            if depth > DEPTH or self.count > MOST:
                self.notes.other(here, "too large to be merged; cut")
                break
            place = here / index
            part, place, more = self.whole(self.known(branch, place), place, way, depth + 1)
            way = (*way, *(pointer for pointer in more if pointer not in way))
            for key in merged.add(part):
                self.notes.other(here / index, f"{key!r} conflicts with another part of 'allOf'")
            alone = place
        return merged.out, alone if one else at.mixed(), way

    # -- alternatives --------------------------------------------------------------------------

    def write_whole(self, node: Node, at: Place, depth: int, way: tuple[str, ...]) -> Node:
        """A schema without references, by what it offers to choose from."""
        node = self.listed(node, at)
        for key in ("anyOf", "oneOf"):
            branches = node.get(key)
            if key in node and (branches.__class__ is not list or not branches):
                self.notes.other(at / key, f"empty {key!r} omitted")
                node = {k: v for k, v in node.items() if k != key}
        if "anyOf" in node and "oneOf" in node:
            self.notes.other(at / "oneOf", "'oneOf' beside 'anyOf' omitted")
            node = {k: v for k, v in node.items() if k != "oneOf"}
        key = "anyOf" if "anyOf" in node else "oneOf"
        if key in node:
            return self.write_choice(node, key, at, depth, way)
        return self.write_types(node, at, depth, way)

    def listed(self, node: Node, at: Place) -> Node:
        """A schema with ``enum`` for ``const``."""
        if "const" not in node:
            return node
        out = {k: v for k, v in node.items() if k != "const"}
        known = node.get("enum")
        if known.__class__ is list and node["const"] not in known:
            self.notes.other(at / "const", "'const' is not a value of 'enum'")
        else:
            self.notes.same(at / "const", "'const' written as an 'enum' of one value")
        out["enum"] = [node["const"]]
        self.consts.add(at.pointer)
        return out

    def at_enum(self, at: Place) -> Place:
        return at / ("const" if at.pointer in self.consts else "enum")

    def write_choice(
        self, node: Node, key: str, at: Place, depth: int, way: tuple[str, ...]
    ) -> Node:
        rest = {k: v for k, v in node.items() if k != key}
        rules = {k: v for k, v in rest.items() if k not in NOTHING_OF_VALUES}
        about = {k: v for k, v in rest.items() if k in NOTHING_OF_VALUES}
        parts: list[tuple[Node, Place, tuple[str, ...]]] = []
        nullable = False
        for index, branch in enumerate(node[key]):
            place = at / key / index
            part, place, more = self.whole(self.known(branch, place), place, way, depth)
            if is_null(part):
                nullable = True
                continue
            if rules:
                part, lost = merge(part, rules)
                place = at.mixed()
                for word in lost:
                    self.notes.other(at / key, f"{word!r} does not apply to each alternative")
            parts.append((part, place, more))
        nullable = nullable and may_be_null(rest)
        if key == "oneOf" and not are_apart([part for part, _, _ in parts]):
            self.notes.other(at / key, "'oneOf' written as 'anyOf': a value may match several")
        elif key == "oneOf" and len(parts) > 1:
            self.notes.same(at / key, "'oneOf' written as 'anyOf': no value matches several")
        if not parts:
            self.notes.same(at / key, "null is the only alternative")
            return self.write_types(rest | {"type": "null"}, at, depth, way)
        if len(parts) == 1:
            why = (
                "null written as 'nullable'"
                if nullable
                else "a single alternative written as the schema itself"
            )
            self.notes.same(at / key, why)
            part, place, more = parts[0]
            out = self.write_whole(part | self.shown(about, at), place, depth, more)
        else:
            if rules or nullable:
                self.notes.same(
                    at / key, "keywords beside the alternatives written in each of them"
                )
            out = {"anyOf": [self.write_part(p, w, depth, m) for p, w, m in parts]}
            self.say_in_each(out, about, at)
        return made_nullable(out) if nullable else out

    def write_part(self, part: Node, at: Place, depth: int, way: tuple[str, ...]) -> Node:
        self.count += 1
        if depth >= DEPTH or self.count > 2 * MOST:
            self.notes.other(at, "too large or too deep; cut")
            return {"type": "OBJECT"}
        return self.write_whole(part, at, depth + 1, way)

    def shown(self, about: Node, at: Place) -> Node:
        """Title and description; what else constrains nothing is left out."""
        kept: Node = {}
        for word, value in about.items():
            if word in ("title", "description") and value.__class__ is str:
                kept[word] = value
            else:
                self.leave(word, value, at)
        return kept

    def say_in_each(self, out: Node, about: Node, at: Place) -> None:
        """Nothing may stand beside alternatives, so each gets the description of all."""
        text = about.get("description")
        for word in about:
            if word != "description":
                self.leave(word, about[word], at)
            elif text.__class__ is str:
                self.notes.same(at / word, "written in each alternative")
                describe(out, text)
            else:
                self.leave(word, text, at)

    # -- types -----------------------------------------------------------------------------------

    def write_types(self, node: Node, at: Place, depth: int, way: tuple[str, ...]) -> Node:
        """A schema without alternatives, by the types it allows."""
        values = node.get("enum")
        if "enum" in node and (values.__class__ is not list or not values):
            self.notes.other(self.at_enum(at), "'enum' without values; any value is accepted")
            node = {k: v for k, v in node.items() if k != "enum"}
        types = self.types(node, at)
        nullable = "null" in types
        types = [kind for kind in types if kind != "null"]
        if not types and nullable:
            return self.write_typed(node, "null", at, depth, way)
        if not types:
            self.notes.other(at, "any value written as string, number, boolean or object")
            out = self.any_value()
            self.say_in_each(out, {k: v for k, v in node.items() if k != "type"}, at)
        elif len(types) == 1:
            out = self.write_typed(node, types[0], at, depth, way)
        else:
            about = {k: v for k, v in node.items() if k in NOTHING_OF_VALUES}
            rules = {k: v for k, v in node.items() if k not in NOTHING_OF_VALUES}
            out = {
                "anyOf": [
                    self.write_typed(self.of_type(rules, t), t, at, depth, way) for t in types
                ]
            }
            self.say_in_each(out, about, at)
        return made_nullable(out) if nullable else out

    def any_value(self) -> Node:
        return {"anyOf": [{"type": kind} for kind in ("STRING", "NUMBER", "BOOLEAN", "OBJECT")]}

    def types(self, node: Node, at: Place) -> list[str]:
        """The types that values may have; nothing is any."""
        spelled, values = node.get("type"), node.get("enum")
        types = [kind for kind in types_of(spelled) if kind in TYPES]
        if spelled is not None and (not types or len(types) != len(types_of(spelled))):
            self.notes.other(at / "type", "unknown type omitted")
        if "number" in types and "integer" in types:
            types.remove("integer")
        if values is not None:
            types = self.types_of_values(types, values, at)
        elif not types:
            types = self.guess(node, at)
        if spelled.__class__ is list and not (
            len(spelled) == 2 and spelled[1] == "null" != spelled[0]
        ):
            self.notes.same(
                at / "type", "a list of types written as alternatives, null as 'nullable'"
            )
        return types

    def types_of_values(self, types: list[str], values: list[Json], at: Place) -> list[str]:
        if not types:
            if at.pointer not in self.consts:
                self.notes.same(self.at_enum(at), "the type is taken from the values")
            found = list(dict.fromkeys(type_of(value) for value in values))
            return [t for t in found if t != "integer" or "number" not in found]
        if not all(any(fits(value, kind) for kind in types) for value in values):
            self.notes.same(self.at_enum(at), "values of other types omitted")
        left = [kind for kind in types if any(fits(value, kind) for value in values)]
        if not left:
            self.notes.other(self.at_enum(at), "no value has the type; any value is accepted")
            return types
        if len(left) != len(types):
            self.notes.same(at / "type", "types without a value omitted")
        return left

    def guess(self, node: Node, at: Place) -> list[str]:
        for kind, words in (("object", OBJECT), ("array", ARRAY), ("string", STRING)):
            if not words.isdisjoint(node):
                self.notes.other(at, f"no type; {kind}, by its keywords")
                return [kind]
        if not NUMBER.isdisjoint(node):
            self.notes.other(at, "no type; number, by its keywords")
            return ["number"]
        return []

    def of_type(self, node: Node, kind: str) -> Node:
        """What a schema says of one of its types."""
        words = SPEAKS_OF.get(kind, frozenset())
        return {k: v for k, v in node.items() if k not in TYPED or k in words}

    # -- one type --------------------------------------------------------------------------------

    def write_typed(
        self, node: Node, kind: str, at: Place, depth: int, way: tuple[str, ...]
    ) -> Node:
        out: Node = {"type": kind.upper()}
        hints: Node = {}
        words = SPEAKS_OF.get(kind, frozenset())
        for key, value in node.items():
            if key in ("type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
                continue
            if key in TYPED and key not in words:
                self.notes.same(at / key, f"{key!r} does not apply to {kind}")
            elif key in KEPT and (value.__class__ is str or key == "example"):
                out[key] = value
            elif key == "enum":
                self.write_enum(out, hints, kind, value, at)
            elif key in COUNTS:
                self.write_count(out, key, value, at)
            elif key == "format" and value in FORMATS.get(kind, ()):
                out[key] = value
            elif key == "properties":
                self.write_properties(out, value, at, depth, way)
            elif key in ("items", "prefixItems"):
                continue
            elif key == "propertyOrdering" and value.__class__ is list:
                out[key] = value
            elif key == "required":
                continue
            else:
                self.leave(key, value, at)
                if key in HINTED and value is not None:
                    hints[key] = value
        if kind in ("number", "integer"):
            self.write_bounds(out, node, kind, at)
        elif kind == "array":
            self.write_items(out, node, at, depth, way)
        elif kind == "object":
            self.write_required(out, node, at)
        if hints:
            spelled = ", ".join(f"{key}: {compact(value)}" for key, value in hints.items())
            text = out.get("description")
            out["description"] = f"{text}\n\n{{{spelled}}}" if text else f"{{{spelled}}}"
        return out

    def leave(self, key: str, value: Json, at: Place) -> None:
        """Leave out what there is no field for."""
        if key == "additionalProperties" and (value is True or value == {}):
            self.notes.same(at / key, "additional properties are allowed by default")
        elif key == "additionalProperties":
            self.notes.other(at / key, "a schema for additional properties is not supported")
        elif key in ("$defs", "definitions"):
            self.notes.gone(at / key, "definitions are written where they are used")
        elif key in NOTHING_OF_VALUES or key == "format" or key not in RULES:
            self.notes.gone(at / key, f"no field for {key!r}")
        else:
            self.notes.other(at / key, f"{key!r} is not supported")

    def write_count(self, out: Node, key: str, value: Json, at: Place) -> None:
        if is_number(value) and value >= 0 and value == int(value):
            out[key] = int(value)
        else:
            self.notes.other(at / key, "not a count")

    def write_enum(self, out: Node, hints: Node, kind: str, values: list[Json], at: Place) -> None:
        fitting = [v for v in values if fits(v, kind)]
        if not fitting:
            return  # said before
        if None in values and values[-1] is not None:
            self.notes.same(self.at_enum(at), "null moved to the end")
        if kind == "string":
            out["enum"] = [value for value in dict.fromkeys(fitting) if value]
            if "" in fitting:
                self.notes.other(self.at_enum(at), "an empty string is not allowed in 'enum'")
            elif len(out["enum"]) != len(fitting):
                self.notes.same(self.at_enum(at), "duplicate values omitted")
            if not out["enum"]:
                del out["enum"]
        elif kind == "boolean" and len(set(fitting)) == 2:
            self.notes.same(self.at_enum(at), "'enum' of both boolean values omitted")
        elif kind == "null":
            self.notes.same(self.at_enum(at), "'enum' of null omitted")
        elif kind in ("number", "integer") and is_run(fitting, kind):
            self.notes.same(
                self.at_enum(at), "consecutive integers written as 'minimum' and 'maximum'"
            )
            self.bound(out, min(fitting), max(fitting))
        else:
            self.notes.other(
                self.at_enum(at),
                "'enum' is supported for strings only; the values are in the description",
            )
            hints["enum"] = fitting
            if kind in ("number", "integer"):
                self.bound(out, min(fitting), max(fitting))

    def bound(self, out: Node, least: Json, most: Json) -> None:
        out["minimum"] = max(out.get("minimum", least), least)
        out["maximum"] = min(out.get("maximum", most), most)

    def write_bounds(self, out: Node, node: Node, kind: str, at: Place) -> None:
        for key, word, step in (
            ("minimum", "exclusiveMinimum", 1),
            ("maximum", "exclusiveMaximum", -1),
        ):
            found = [out[key]] if key in out else []
            if is_number(node.get(key)):
                found.append(node[key])
            elif key in node:
                self.notes.other(at / key, "not a number")
            limit = node.get(word)
            if limit is True and found:  # as it was until draft 4
                limit = found[-1]
            if limit is not None and is_number(limit):
                if kind == "integer":
                    # The next whole number: floor + 1 above it, ceil - 1 below it.
                    limit = step * (int(step * limit // 1) + 1)
                    self.notes.same(at / word, f"{key!r} set to the next integer")
                else:
                    self.notes.other(
                        at / word, f"written as {key!r}, which includes the limit itself"
                    )
                found.append(limit)
            elif word in node:
                self.notes.gone(at / word, f"{word!r} has no effect")
            if found:
                out[key] = max(found) if step > 0 else min(found)

    def write_items(
        self, out: Node, node: Node, at: Place, depth: int, way: tuple[str, ...]
    ) -> None:
        items, places = node.get("items"), node.get("prefixItems")
        key = "prefixItems"
        if items.__class__ is list and places is None:
            places, items, key = items, node.get("additionalItems"), "items"
        if places.__class__ is list and places:
            self.notes.other(
                at / key, "a schema per position written as alternatives for every position"
            )
            parts = [self.write(s, at / key / i, depth + 1, way) for i, s in enumerate(places)]
            if items.__class__ is dict:
                rest = "items" if key == "prefixItems" else "additionalItems"
                parts.append(self.write(items, at / rest, depth + 1, way))
            parts = [part for i, part in enumerate(parts) if part not in parts[:i]]
            out["items"] = parts[0] if len(parts) == 1 else {"anyOf": parts}
        elif "items" in node:
            out["items"] = self.write(items, at / "items", depth + 1, way)
        else:
            out["items"] = self.write({}, at.mixed(), depth + 1, way)

    def write_properties(
        self, out: Node, table: Json, at: Place, depth: int, way: tuple[str, ...]
    ) -> None:
        here = at / "properties"
        if table.__class__ is not dict:
            self.notes.other(here, "'properties' is not an object; omitted")
            return
        if not table:
            # "properties: should be non-empty for OBJECT type"
            self.notes.same(here, "empty 'properties' omitted")
            return
        found: Node = {}
        for name, child in table.items():
            if child is False:
                self.notes.other(here / name, "a property that must be absent is not supported")
            else:
                found[name] = self.write(child, here / name, depth + 1, way)
        if found:
            out["properties"] = found

    def write_required(self, out: Node, node: Node, at: Place) -> None:
        if "required" not in node:
            return
        names, known = node["required"], out.get("properties", {})
        if names.__class__ is not list or not all(name.__class__ is str for name in names):
            self.notes.other(at / "required", "'required' is not a list of names; omitted")
            return
        kept = [name for name in dict.fromkeys(names) if name in known]
        if len(kept) != len(set(names)):
            why = "a required property that is not in 'properties' omitted"
            self.notes.other(at / "required", why)
        elif len(kept) != len(names):
            self.notes.same(at / "required", "duplicate names omitted")
        if kept or not names:
            out["required"] = kept


RULES = TYPED | {"not", "if", "then", "else", "enum", "const", "anyOf", "oneOf", "allOf"}
"""Keywords that tell which values will do."""


def is_run(values: list[Json], kind: str) -> bool:
    """Whether numbers are all there are between the least and the greatest of them."""
    found = set(values)
    if len(found) == 1:
        return True
    return kind == "integer" and len(found) == max(found) - min(found) + 1


def may_be_null(node: Node) -> bool:
    if node.get("type") is not None and "null" not in types_of(node["type"]):
        return False
    values = node.get("enum")
    return values.__class__ is not list or None in values


def made_nullable(out: Node) -> Node:
    """The same, or null; said in each alternative, for nothing may stand beside them."""
    if "anyOf" in out:
        return {"anyOf": [made_nullable(part) for part in out["anyOf"]]}
    return out if out["type"] == "NULL" else out | {"nullable": True}


def describe(out: Node, text: str) -> None:
    for part in out["anyOf"]:
        if "anyOf" in part:
            describe(part, text)
        else:
            own = part.get("description")
            part["description"] = f"{text}\n\n{own}" if own else text
