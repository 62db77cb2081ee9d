"""Schemas that are compiled into a grammar, so that the model cannot but follow them.

OpenAI (``strict``), Anthropic (``strict``, ``output_config.format``) and Bedrock (the same, for
the same models) refuse a request whose schema their compilers do not know. Their rules, in the
words of their errors:

- OpenAI: "'additionalProperties' is required to be supplied and to be false"; "'required' is
  required to be supplied and to be an array including every key in properties"; "'oneOf' is not
  permitted"; "schema must have a 'type' key"; "array schema missing items"; "$ref cannot have
  keywords {'description'}"; "schema must be a JSON Schema of 'type: "object"'" at the top, and no
  alternatives there. A ``default`` is let pass, and so is any ``format`` of numbers. And not too
  much of it: "Expected at most 1000 enum values in total within a single schema".
- Anthropic, Bedrock: "For 'object' type, 'additionalProperties' must be explicitly set to false";
  "For 'integer' type, property 'minimum' is not supported"; "For 'array' type, 'minItems' values
  other than 0 or 1 are not supported"; no schema may refer to itself.
"""

from __future__ import annotations

from typing import NamedTuple

from ...core.reading import compact
from ...ledger import Ledger
from ...model import Json, Tool
from .merging import NOTHING_OF_VALUES, Merged, are_apart, fits, merge, type_of, types_of
from .notes import DEPTH, Notes, Place, Refused, Rewritten, Schematic, place_of
from .refs import SILENT, circles, resolve

Node = dict[str, Json]


class Sizes(NamedTuple):
    """How large a schema may be, all in all."""

    levels: int
    """nested objects"""
    properties: int
    letters: int
    """of the names of properties and definitions, and of the values of ``enum`` and ``const``"""
    values: int
    """of all ``enum``"""
    many: int
    """from so many values on, the letters of one ``enum`` are limited"""
    many_letters: int


class Rules(NamedTuple):
    """What the compiler of an API knows."""

    unknown: frozenset[str]
    """keywords that it refuses"""
    formats: frozenset[str]
    """of texts; there is no rule for others"""
    all_required: bool
    """every property must come"""
    typed: bool
    """every schema has a type, every list says what is in it, the top is an object"""
    recursive: bool
    few: int | None
    """the greatest ``minItems`` there is"""
    sizes: Sizes | None = None


COMPLEX = frozenset(
    {
        "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies",
        "patternProperties", "unevaluatedProperties", "unevaluatedItems", "propertyNames",
        "minProperties", "maxProperties", "contains", "minContains", "maxContains", "uniqueItems",
        "additionalItems",
    }
)  # fmt: skip
FORMATS = frozenset(
    {
        "date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid",
    }
)  # fmt: skip
# https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
OPENAI = Rules(
    unknown=COMPLEX | {"allOf", "prefixItems", "$dynamicRef", "$recursiveRef"},
    formats=FORMATS,
    all_required=True,
    typed=True,
    recursive=True,
    few=None,
    sizes=Sizes(10, 5_000, 120_000, 1_000, many=250, many_letters=15_000),
)
# https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations
CLAUDE = Rules(
    unknown=COMPLEX
    | {
        "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
        "maxLength", "maxItems", "prefixItems", "$dynamicRef", "$recursiveRef",
    },
    formats=FORMATS | {"uri"},
    all_required=False,
    typed=False,
    recursive=False,
    few=1,
)  # fmt: skip


def enforced(schema: Json, rules: Rules) -> Rewritten | Refused:
    """A schema that can be enforced and allows nothing that this one does not; or why not.

    It may allow less: no further properties, and a property that may be null has to come.

    >>> enforced({"type": "object", "properties": {}}, OPENAI).schema
    {'type': 'object', 'properties': {}, 'additionalProperties': False, 'required': []}
    """
    return _compile(schema, rules, firm=True)


def strictly(node: Schematic, schema: Json, rules: Rules, log: Ledger) -> tuple[Json, bool | None]:
    """The schema of a node and whether it is enforced, where the source wants it to be.

    Strict is a promise: nothing comes that the schema does not allow. Where a target can only
    enforce a schema that allows more or demands other things, the promise cannot be kept; then
    the schema stays as it is, and is not enforced.
    """
    found = enforced(schema, rules)
    if isinstance(found, Refused):
        what = "tool.strict" if isinstance(node, Tool) else "output.strict"
        log.dropped(what, place_of(node, found.at), f"the schema cannot be enforced: {found.why}")
        return schema, None
    return found.told(node, log), True


def trimmed(schema: Json, rules: Rules) -> Rewritten:
    """A schema that can be enforced; what cannot is told to the model in a description."""
    found = _compile(schema, rules, firm=False)
    assert isinstance(found, Rewritten)
    return found


def _compile(schema: Json, rules: Rules, *, firm: bool) -> Rewritten | Refused:
    compiler = _Compiler(schema, rules, firm)
    try:
        out = compiler.root()
        if firm and rules.sizes is not None:
            _Measure(rules.sizes).take(out, 0)
    except Refused as refused:
        return refused
    if not compiler.notes.found:
        return Rewritten(schema)
    return Rewritten(out, tuple(compiler.notes.found))


class _Compiler:
    def __init__(self, schema: Json, rules: Rules, firm: bool) -> None:
        self.top = schema
        self.rules = rules
        self.firm = firm
        self.notes = Notes()
        self.circles: dict[str, bool] = {}
        self.ones: set[str] = set()  # where 'anyOf' was 'oneOf'
        self.nullable: dict[str, bool] = {}  # whether what is referred to may be null
        self.asked: dict[str, bool | None] = {}  # the same, while that is being found out
        self.turned = False  # whether that led into a circle

    def cut(self, at: Place, why: str) -> None:
        """What cannot be expressed: the end, or a note."""
        if self.firm:
            raise Refused(at.pointer, why)
        self.notes.other(at, why)

    def root(self) -> Json:
        if not self.rules.recursive:
            self.circles = circles(self.top)
        if not self.rules.typed or self.top.__class__ is not dict:
            return self.write(self.top, Place(), 0)
        node: Node = self.top
        found = resolve(node, node["$ref"]) if "$ref" in node else None
        if found is not None and found[0].__class__ is dict and found[1]:
            rest = {k: v for k, v in node.items() if k != "$ref"}
            both, lost = merge(rest, {k: v for k, v in found[0].items() if k not in SILENT})
            if not lost:
                self.notes.same(Place("/$ref"), "a reference at the top is written out")
                node = both
        if node.get("type") != "object" or "anyOf" in node or "oneOf" in node:
            self.cut(Place(), "the top must be an object, without alternatives")
        return self.write(node, Place("", node is not self.top), 0)

    def write(self, schema: Json, at: Place, depth: int) -> Json:
        if depth > DEPTH:
            self.cut(at, "nested too deeply")
            return schema
        if schema.__class__ is not dict:
            if schema is True and not self.rules.typed:
                return schema
            self.cut(at, "not a schema of an object, a list or a value")
            return {}
        node: Node = schema
        if "$ref" in node:
            node = self.led(node, at)
            if "$ref" in node:
                return self.below(node, at, depth)
        if "allOf" in node and "allOf" in self.rules.unknown:
            node, at = self.joined(node, at)
        if "oneOf" in node:
            node = self.any_of(node, at)
        node = self.known(node, at)
        node = self.typed(node, at)
        if "properties" in node or "object" in types_of(node.get("type")):
            node = self.closed(node, at)
        return self.below(node, at, depth)

    def below(self, node: Node, at: Place, depth: int) -> Node:
        out = dict(node)
        for key in ("properties", "$defs", "definitions"):
            if node.get(key).__class__ is dict:
                table, here = node[key], at / key
                out[key] = {n: self.write(s, here / n, depth + 1) for n, s in table.items()}
        if node.get("anyOf").__class__ is list:
            here = at / ("oneOf" if at.pointer in self.ones else "anyOf")
            out["anyOf"] = [self.write(s, here / i, depth + 1) for i, s in enumerate(node["anyOf"])]
        if node.get("allOf").__class__ is list:
            here = at / "allOf"
            out["allOf"] = [self.write(s, here / i, depth + 1) for i, s in enumerate(node["allOf"])]
        if "items" in node:
            out["items"] = self.write(node["items"], at / "items", depth + 1)
        return out

    # -- one schema ------------------------------------------------------------------------------

    def led(self, node: Node, at: Place) -> Node:
        ref, here = node["$ref"], at / "$ref"
        found = resolve(self.top, ref)
        rest = {k: v for k, v in node.items() if k != "$ref"}
        if found is None:
            self.cut(here, f"{ref!r} points to nothing in this schema")
            return rest
        if at.pointer in self.circles and not at.merged:
            self.cut(here, f"{ref!r} is a circular reference")
            goal = found[0] if found[0].__class__ is dict else {}
            return {k: goal[k] for k in ("type", "description") if k in goal} | rest
        if not rest.keys() - {"$defs", "definitions"}:
            return node
        if "anyOf" in rest:
            self.cut(here, "'$ref' is not allowed beside 'anyOf'")
            return rest
        self.notes.same(here, "nothing is allowed beside '$ref'; it is written as the only 'anyOf'")
        return rest | {"anyOf": [{"$ref": ref}]}

    def joined(self, node: Node, at: Place) -> tuple[Node, Place]:
        """``allOf`` as one schema."""
        out = {k: v for k, v in node.items() if k != "allOf"}
        branches, here = node["allOf"], at / "allOf"
        if branches.__class__ is not list:
            self.cut(here, "'allOf' is not a list")
            return out, at
        merged = Merged(out)
        for branch in branches:
            found = resolve(self.top, branch["$ref"]) if is_lone(branch) else (branch, "")
            part = found[0] if found is not None else None
            if part.__class__ is not dict or not {"$ref", "allOf"}.isdisjoint(part):
                lost = ["allOf"]
            else:
                lost = merged.add({k: v for k, v in part.items() if k not in SILENT})
            if lost:
                self.cut(here, "the parts of 'allOf' cannot be merged")
        self.notes.same(here, "'allOf' merged into one schema")
        return merged.out, at.mixed()

    def any_of(self, node: Node, at: Place) -> Node:
        branches, here = node["oneOf"], at / "oneOf"
        out = {("anyOf" if k == "oneOf" else k): v for k, v in node.items() if k != "anyOf"}
        self.ones.add(at.pointer)
        if "anyOf" in node:
            self.cut(here, "'oneOf' beside 'anyOf'")
        elif branches.__class__ is list and are_apart([self.seen(b) for b in branches]):
            self.notes.same(here, "'oneOf' written as 'anyOf': no value matches several")
        else:
            self.cut(here, "'oneOf' cannot be written as 'anyOf': a value may match several")
        return out

    def seen(self, branch: Json) -> Json:
        """What a branch refers to, to be compared."""
        if branch.__class__ is dict and "$ref" in branch:
            found = resolve(self.top, branch["$ref"])
            return found[0] if found is not None and len(branch) == 1 else None
        return branch

    def known(self, node: Node, at: Place) -> Node:
        """A schema without the keywords that are not."""
        rules, hints = self.rules, {}
        texts = "string" in (types_of(node.get("type")) or ("string",))
        out: Node = {}
        for key, value in node.items():
            few = rules.few is not None and key == "minItems" and value not in (0, rules.few)
            if (
                key == "format"
                and texts
                and not (value.__class__ is str and value in rules.formats)
            ):
                self.notes.gone(at / key, f"the format {value!r} is not supported")
                hints[key] = value
            elif few or key in rules.unknown or (key == "items" and value.__class__ is list):
                self.cut(at / key, f"{key!r} is not supported")
                if value.__class__ is not dict and value.__class__ is not list:
                    hints[key] = value
            else:
                out[key] = value
        if hints:
            spelled = ", ".join(f"{key}: {compact(value)}" for key, value in hints.items())
            text = out.get("description")
            out["description"] = f"{text}\n\n{{{spelled}}}" if text else f"{{{spelled}}}"
        return out

    def typed(self, node: Node, at: Place) -> Node:
        if not self.rules.typed:
            return node
        if "type" not in node and "anyOf" not in node:
            values = [node["const"]] if "const" in node else node.get("enum")
            if values.__class__ is list and values:
                kinds = list(dict.fromkeys(type_of(value) for value in values))
                self.notes.same(at, "the type is taken from the values")
                node = {"type": kinds[0] if len(kinds) == 1 else kinds, **node}
            else:
                self.cut(at, "a schema must have a type")
        if "array" in types_of(node.get("type")) and node.get("items").__class__ is not dict:
            self.cut(at, "a list must have 'items'")
        return node

    def closed(self, node: Node, at: Place) -> Node:
        """An object that has the properties that are described, and no others."""
        table, more = node.get("properties"), node.get("additionalProperties", True)
        table = table if table.__class__ is dict else {}
        here = at / "additionalProperties" if "additionalProperties" in node else at
        if more is not False:
            if not table and ("properties" not in node or "additionalProperties" in node):
                self.cut(here, "an object without 'properties' could only be empty")
            elif "additionalProperties" in node:
                self.cut(here, "additional properties are not supported")
            else:
                self.notes.other(here, "'additionalProperties' set to false")
            node = node | {"additionalProperties": False}
        if "type" not in node and "anyOf" not in node:
            self.notes.other(at, "no type; 'object', as it has properties")
            node = {"type": "object", **node}
        return self.required(node, table, at) if self.rules.all_required else node

    def required(self, node: Node, table: Node, at: Place) -> Node:
        names = node.get("required", [])
        if names.__class__ is not list or any(name not in table for name in map(str, names)):
            self.cut(at / "required", "a required property is not in 'properties'")
            names = [name for name in table if names.__class__ is list and name in names]
        left = [name for name in table if name not in names]
        for name in left:
            if not self.may_be_null(table[name], 0):
                self.cut(at / "properties" / name, f"{name!r} is optional and not nullable")
        if left:
            spelled = ", ".join(map(repr, left))
            self.notes.other(at, f"an optional property that may be null made required: {spelled}")
        if left or "required" not in node:
            if not left:
                self.notes.same(at, "empty 'required' added")
            return node | {"required": list(table)}
        return node

    def may_be_null(self, node: Json, depth: int) -> bool:
        if node.__class__ is not dict or depth > DEPTH:
            return False
        if "$ref" in node:
            return node.keys() <= NOTHING_OF_VALUES | {"$ref"} and self.leads_to_null(
                node["$ref"], depth
            )
        if "allOf" in node or "not" in node or "if" in node:
            return False
        for key in ("anyOf", "oneOf"):
            if key in node:
                rows = node[key] if node[key].__class__ is list else []
                if not any(self.may_be_null(row, depth + 1) for row in rows):
                    return False
        if "const" in node and node["const"] is not None:
            return False
        if "enum" in node and not (node["enum"].__class__ is list and None in node["enum"]):
            return False
        kinds = types_of(node.get("type"))
        return any(fits(None, kind) for kind in kinds) if kinds else True

    def leads_to_null(self, ref: Json, depth: int) -> bool:
        """Whether a reference may be null; asked once, for many may lead to one place."""
        found = resolve(self.top, ref)
        if found is None or ref in self.nullable:
            return found is not None and self.nullable[ref]
        if ref in self.asked:
            self.turned = self.turned or self.asked[ref] is None
            return bool(self.asked[ref])
        first = not self.asked
        self.asked[ref] = None
        reply = self.asked[ref] = self.may_be_null(found[0], depth + 1)
        if first:
            if self.turned:  # what was asked in a circle is sure for its beginning alone
                self.asked = {ref: reply}
            self.nullable |= {name: bool(known) for name, known in self.asked.items()}
            self.asked, self.turned = {}, False
        return reply


class _Measure:
    """How large a schema is; one that is too large is refused as a whole."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.properties = self.letters = self.values = 0

    def take(self, node: Json, level: int) -> None:
        if node.__class__ is not dict:
            return
        sizes = self.sizes
        level += "properties" in node
        for key in ("properties", "$defs", "definitions"):
            table = node.get(key)
            if table.__class__ is dict:
                self.properties += len(table) if key == "properties" else 0
                self.letters += sum(map(len, table))
        values = node["enum"] if node.get("enum").__class__ is list else []
        letters = sum(map(length, values))
        self.values += len(values)
        self.letters += letters + length(node.get("const"))
        for count, most, what in (
            (level, sizes.levels, "nested objects"),
            (self.properties, sizes.properties, "properties"),
            (self.letters, sizes.letters, "characters in names and values"),
            (self.values, sizes.values, "values of 'enum'"),
            (
                letters if len(values) > sizes.many else 0,
                sizes.many_letters,
                "characters in 'enum'",
            ),
        ):
            if count > most:
                raise Refused("", f"more than {most} {what}")
        for key in ("properties", "$defs", "definitions"):
            if node.get(key).__class__ is dict:
                for inner in node[key].values():
                    # A definition is not inside the object that it stands in.
                    self.take(inner, level if key == "properties" else 0)
        for inner in node["anyOf"] if node.get("anyOf").__class__ is list else ():
            self.take(inner, level)
        self.take(node.get("items"), level)


def length(value: Json) -> int:
    return len(value) if value.__class__ is str else 0


def is_lone(node: Json) -> bool:
    return node.__class__ is dict and node.keys() == {"$ref"}
