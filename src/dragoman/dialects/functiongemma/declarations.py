"""Function declarations, both ways.

The official template says of a schema only what the model was trained to see. So a schema becomes
first what is *said* of it (a plain value, in the order and with the keys of the template); that
value is what is written, what a reader will find, and what tells whether anything was left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ...core.reading import UNREADABLE, as_dict, as_str, decode, encode
from ...core.writing import Writing
from ...errors import Malformed, Unsayable
from ...ledger import Ledger
from ...model import Json, Tool, Toolbox
from ...tools import freeform
from .._gemma import DECLARE, DECLARED, defuse_noted, left_out
from .values import Quoted, Reader, Values

if TYPE_CHECKING:
    from . import FunctionGemma


# Names that the template takes for keywords even where they are parameters: it leaves them out.
KEYWORDS = frozenset({"description", "type", "properties", "required", "nullable"})
SCHEMAS = frozenset({"items", "additionalProperties", "not"})
UNIONS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
SEVERAL = re.compile(r"\['\w+'(?:, '\w+')*\]")
"""Several types, as Python prints a list."""
ORDER = ("type", "description", "enum", "items", "properties", "required")


def read_tools(d: FunctionGemma, doc: Json) -> Toolbox:
    doc = as_dict(doc, "")
    text = as_str(doc.get("text"), "/text")
    tools, end = read_declarations(d, text, 0, "/text")
    if text[end:].strip():
        Reader(text, "/text", end).fail("expected a declaration")
    return Toolbox(tools, dialect=d.name, extras=d.keep(doc, ("text",)))


def write_tools(d: FunctionGemma, tree: Toolbox, log: Ledger) -> Json:
    text = write_declarations(d, tree.tools, d.writing(log, tree.dialect))
    return d.emit({"text": text}, tree, log)


def read_declarations(
    d: FunctionGemma, text: str, pos: int, at: str
) -> tuple[tuple[Tool, ...], int]:
    """The declarations from a place on, and where the last one ends."""
    out: list[Tool] = []
    reader = Reader(text, at, pos)
    while reader.take(DECLARE):
        name = reader.function("declaration")
        body = reader.object()
        reader.need(DECLARED)
        out.append(read_declaration(d, name, body, at, reader))
        pos = reader.pos
    return tuple(out), pos


def write_declarations(d: FunctionGemma, tools: Iterable[Tool], w: Writing) -> str:
    return "".join(write_tool(d, tool, w) for tool in tools)


def write_tool(d: FunctionGemma, tool: Tool, w: Writing) -> str:
    name = w.tool_name(tool.name, tool.at)
    d.lose_tool(tool, w.log)
    if tool.description == "" and tool.kind != "custom":
        w.log.dropped("text.empty", tool.at, f"an empty description is omitted in {d.name}")
    known = None if w.same or tool.kind == "custom" else known_body(tool)
    text, unsaid, broken = known or body_of(tool, w.same)
    for _ in range(broken):
        defuse_noted(tool.at, w.log)
    if unsaid:
        why = f"a declaration of {d.name} has no notation for: {', '.join(unsaid)}"
        w.log.approximated("tool.schema", tool.at, why)
    return f"{DECLARE}declaration:{name}{text}{DECLARED}"


class Body(NamedTuple):
    """What is declared of a tool, what is not, and how many texts had a control token."""

    text: str
    unsaid: tuple[str, ...]
    broken: int


def body_of(tool: Tool, same: bool) -> Body:
    aside = Ledger()
    try:
        body, unsaid = declare(freeform.as_function(tool), same)
        text = Values(aside, same, in_order=True).text(body, "")
    except RecursionError:
        raise Unsayable("the schema nests too deeply", tool.at) from None
    except Unsayable as problem:
        raise Unsayable(problem.what, tool.at) from None
    return Body(text, unsaid, len(aside.losses))


LONGEST = 16 * 1024
"""How long the schema of a tool may be that is remembered."""


def known_body(tool: Tool) -> Body | None:
    """The same for a function, remembered: nearly every record of a set has the same tools."""
    try:
        schema = encode(tool.schema)
        if len(schema) + len(tool.description or "") > LONGEST:
            return None
        return _known_body(tool.description, schema)
    except (Malformed, Unsayable, *UNREADABLE):
        return None  # which is said where it is written


@lru_cache(maxsize=512)
def _known_body(description: str | None, schema: bytes) -> Body:
    return body_of(Tool("", description, decode(schema)), same=False)


def declare(tool: Tool, same: bool) -> tuple[dict[str, Json], tuple[str, ...]]:
    """What is written of a tool, and what of its schema is not.

    In the same dialect all of it is written: the text may have more than the template would print.
    """
    schema = tool.schema
    body: dict[str, Json] = {"description": tool.description or ""}
    # The template leaves out parameters that say nothing: `{%- if params -%}`
    if schema.__class__ is dict and schema:
        body["parameters"] = say(schema)
    if schema is None or freeform.unwrap(tool.description, schema) is not None:
        return body, ()
    back = understand(body["parameters"], top=True) if "parameters" in body else None
    if back == schema:
        return body, ()
    if same and schema.__class__ is dict:
        return body | {"parameters": say_all(schema)}, ()
    return body, tuple(dict.fromkeys(left_out(schema, back))) or ("its form",)


def read_declaration(
    d: FunctionGemma, name: str, body: dict[str, Json], at: str, reader: Reader
) -> Tool:
    description = body.get("description", "")
    parameters = body.get("parameters")
    if body.keys() - {"description", "parameters"}:
        reader.fail("a declaration has a description and parameters")
    if description.__class__ is not str:
        reader.fail("a description is a string")
    if parameters is not None and parameters.__class__ is not dict:
        reader.fail("parameters are an object")
    schema = None if parameters is None else understand(parameters, top=True)
    return d.unwrap(name, description, schema, at)


# -- what the template says of a schema ---------------------------------------------------------


def say(schema: dict[str, Json]) -> dict[str, Json]:
    """The parameters of a function."""
    out: dict[str, Json] = {}
    properties, required = schema.get("properties"), schema.get("required")
    if properties.__class__ is dict and properties:
        out["properties"] = say_properties(properties)
    if required.__class__ is list and required:
        out["required"] = say_names(required)
    # Without a type the template's braces do not match; parameters are always an object.
    out["type"] = say_type(schema.get("type") or "object")
    return out


def say_properties(properties: dict[str, Json]) -> dict[str, Json]:
    names = sorted(properties, key=str.lower)
    return {name: say_property(properties[name]) for name in names if name not in KEYWORDS}


def say_property(schema: Json) -> dict[str, Json]:
    if schema.__class__ is not dict:
        return {"description": "", "type": ""}
    out: dict[str, Json] = {"description": say_text(schema.get("description"))}
    kind = say_type(schema.get("type"))
    if kind == "STRING":
        if schema.get("enum").__class__ is list and schema["enum"]:
            out["enum"] = quote(schema["enum"])
    elif kind == "OBJECT":
        properties, required = schema.get("properties"), schema.get("required")
        out["properties"] = say_properties(properties) if properties.__class__ is dict else {}
        if required.__class__ is list and required:
            out["required"] = say_names(required)
    elif kind == "ARRAY":
        if schema.get("items").__class__ is dict and schema["items"]:
            out["items"] = say_items(schema["items"])
    out["type"] = kind
    return out


def say_items(items: dict[str, Json]) -> dict[str, Json]:
    """What an array holds: every key is written, in order of name."""
    out: dict[str, Json] = {}
    for key in sorted(items, key=str.lower):
        value = items[key]
        if value is None:
            continue
        if key == "properties":
            out[key] = say_properties(value) if value.__class__ is dict else {}
        elif key == "required" and value.__class__ is list:
            out[key] = say_names(value)
        elif key == "type":
            several = value.__class__ is list
            out[key] = [say_text(kind).upper() for kind in value] if several else say_type(value)
        else:
            out[key] = quote(value)
    return out


def say_text(value: Json) -> str:
    return value if value.__class__ is str else ""


def say_type(value: Json) -> str:
    """Several types are printed as Python prints a list: ``['STRING', 'NULL']``."""
    if value.__class__ is list:
        return str([say_text(kind) for kind in value]).upper()
    return say_text(value).upper()


def say_names(names: list[Json]) -> list[Json]:
    return [name for name in names if name.__class__ is str]


def quote(value: Json) -> Json:
    """A value of any kind: the keys of its objects are sorted, and between ``<escape>``."""
    if value.__class__ is dict:
        return {Quoted(key): quote(value[key]) for key in sorted(value, key=str.lower)}
    if value.__class__ is list:
        return [quote(item) for item in value]
    return value


def say_all(schema: dict[str, Json]) -> dict[str, Json]:
    """A schema that was read, with all that was written of it: ``understand`` the other way."""
    out: dict[str, Json] = {}
    for key, value in schema.items():
        if key == "type":
            out[key] = list(map(upper, value)) if value.__class__ is list else upper(value)
        elif key == "properties" and value.__class__ is dict:
            out[key] = {name: all_of(inner) for name, inner in value.items()}
        elif key in SCHEMAS:
            out[key] = all_of(value)
        elif key in UNIONS and value.__class__ is list:
            out[key] = [all_of(inner) for inner in value]
        else:
            out[key] = value
    return out


def upper(kind: Json) -> Json:
    return kind.upper() if kind.__class__ is str else kind


def all_of(value: Json) -> Json:
    return say_all(value) if value.__class__ is dict else value


# -- what a declaration says --------------------------------------------------------------------


def understand(body: dict[str, Json], top: bool = False) -> dict[str, Json]:
    """The schema that a declaration speaks of: types in small letters, empty words left out."""
    found: dict[str, Json] = {}
    for key, value in body.items():
        if key == "type":
            if value != "":
                found["type"] = understand_type(value)
        elif key == "description" and value == "":
            continue
        elif key == "properties" and value.__class__ is dict:
            found[key] = {
                str(name): understand(inner) if inner.__class__ is dict else inner
                for name, inner in value.items()
            }
        elif key in SCHEMAS and value.__class__ is dict:
            found[key] = understand(value)
        elif key in UNIONS and value.__class__ is list:
            found[key] = [understand(x) if x.__class__ is dict else x for x in value]
        else:
            found[str(key)] = value
    if top and found.get("type") == "object":
        found.setdefault("properties", {})
    ordered = {key: found[key] for key in ORDER if key in found}
    return ordered | found


def understand_type(value: Json) -> Json:
    if value.__class__ is list:
        return [kind.lower() if kind.__class__ is str else kind for kind in value]
    if value.__class__ is not str:
        return value
    if SEVERAL.fullmatch(value):
        return [kind.lower() for kind in value[2:-2].split("', '")]
    return value.lower()
