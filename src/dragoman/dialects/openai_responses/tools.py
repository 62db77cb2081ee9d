"""Tool definitions and tool choice of the OpenAI Responses API, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from ...core.lowering import SEARCH
from ...core.reading import as_dict, as_list, expected, maybe_bool, maybe_str, need_str, only
from ...core.resuming import read_once, write_once
from ...core.writing import parameters
from ...ledger import Ledger
from ...model import Extras, Grammar, Json, Namespace, Tool, Toolbox, ToolChoice, ToolKind
from ...tools import schemas
from .parts import ItemWriting, has_rest

if TYPE_CHECKING:
    from .base import ResponsesBase


SCHEMA = "/parameters"
FUNCTION_KEYS = ("name", "description", "parameters", "strict", "defer_loading")
TOOL_KEYS = frozenset({"type", *FUNCTION_KEYS})
CUSTOM_KEYS = ("type", "name", "description", "defer_loading")
SEARCH_KEYS = ("type", "execution", "description", "parameters")
NAMESPACE_KEYS = ("type", "name", "description", "tools")
PLAIN_TOOL = only("type", "name", "description", "parameters", "strict")
PLAIN_CHOICE = only("type", "name", "server_label", "function")
PLAIN_NAME = only("name")
FORMAT_KEYS: dict[str, Json] = {"type": (), "syntax": (), "definition": ()}
NESTED_KEYS: dict[str, Json] = {"type": (), "grammar": {"syntax": (), "definition": ()}}
# https://platform.openai.com/docs/api-reference/responses/create#responses-create-tool_choice
# Other converters write {"auto": true}, and "any" is their word for "required".
FLAGS: dict[str, Literal["auto", "none", "required"]] = {
    "auto": "auto", "none": "none", "required": "required", "any": "required",
}  # fmt: skip


def read_tools(d: ResponsesBase, doc: Json) -> Toolbox:
    return Toolbox(d.read_tool_list(doc, ""), dialect=d.name)


def write_tools(d: ResponsesBase, tree: Toolbox, log: Ledger) -> Json:
    d.lose(tree.extras, tree.at, log)
    return write_tool_list(d, tree.tools, d.writing(log, tree.dialect))


@read_once
def read_tool_list(d: ResponsesBase, docs: Json, at: str) -> tuple[Tool, ...]:
    out: list[Tool] = []
    for index, doc in enumerate(as_list(docs, at)):
        where = f"{at}/{index}"
        doc = as_dict(doc, where)
        if doc.get("type") == "namespace":
            out += read_namespace(d, doc, where)
        else:
            out.append(d.read_tool(doc, where))
    return tuple(out)


@write_once
def write_tool_list(d: ResponsesBase, tools: tuple[Tool, ...], w: ItemWriting) -> list[Json]:
    out: list[Json] = []
    before: Tool | None = None  # the tool of a namespace that was written last
    for tool in tools:
        doc = d.write_tool(tool, w)
        if doc is None:
            continue
        if tool.namespace is None:
            out.append(doc)
            before = None
            continue
        if before is None or tool.group is not None or tool.namespace != before.namespace:
            out.append(write_namespace(d, tool, w))
        out[-1]["tools"].append(doc)
        before = tool
    return out


def read_namespace(d: ResponsesBase, doc: dict[str, Json], at: str) -> list[Tool]:
    """The tools of a namespace, of which the first remembers the group."""
    name, docs = doc.get("name"), doc.get("tools")
    if name.__class__ is not str or docs.__class__ is not list or not docs:
        return [read_hosted_tool(d, doc, "namespace", at)]  # it has no tools
    tools = []
    for index, inner in enumerate(docs):
        where = f"{at}/tools/{index}"
        tools.append(replace(d.read_tool(as_dict(inner, where), where), namespace=name))
    description = maybe_str(doc, "description", at)
    group = Namespace(description, at=at, extras=d.keep(doc, NAMESPACE_KEYS))
    return [replace(tools[0], group=group), *tools[1:]]


def write_namespace(d: ResponsesBase, tool: Tool, w: ItemWriting) -> dict[str, Json]:
    """The group that a tool begins, without tools."""
    group = tool.group or Namespace()
    out: dict[str, Json] = {"type": "namespace", "name": tool.namespace}
    if group.description is not None:
        out["description"] = group.description
    elif not w.same:
        out["description"] = ""
        why = f"{d.name} requires the description of a namespace"
        w.log.invented("tool.namespace", tool.at, why)
    return d.emit(out | {"tools": []}, group, w.log)


def has_tool(d: ResponsesBase, node: Tool | ToolChoice) -> bool:
    return d.knows(node.dialect)


def read_tool(d: ResponsesBase, doc: dict[str, Json], at: str) -> Tool:
    if doc.get("type") == "function" and doc.get("strict") is False and PLAIN_TOOL(doc):
        name, description = doc.get("name"), doc.get("description")
        schema = doc.get("parameters")
        if name.__class__ is description.__class__ is str and schema is not None:
            # The usual shape.
            return Tool(name, description, schema, at=at, schema_at=SCHEMA)
    kind = need_str(doc, "type", at)
    if kind == "function":
        if doc.get("function").__class__ is dict:
            return read_nested(d, doc, at)
        return read_function(d, doc, at, at, d.keep(doc, TOOL_KEYS))
    if kind == "custom":
        return read_custom(d, doc, at)
    if kind == "tool_search" and doc.get("execution") == "client":
        return read_search(d, doc, at)
    return read_hosted_tool(d, doc, kind, at)


def write_tool(d: ResponsesBase, tool: Tool, w: ItemWriting) -> Json:
    if tool.kind == "hosted":
        return tool.payload
    if tool.kind == "search":
        return write_search(d, tool, w)
    inner: dict[str, Json] = {"name": w.tool_name(tool.name, tool.at)}
    if tool.description is not None:
        inner["description"] = tool.description
    if tool.kind == "custom":
        return write_custom(d, tool, inner, w)
    # Absent means "if the schema allows it" here and "no" elsewhere; so "no" is written.
    inner["strict"] = write_parameters(d, inner, tool, w) or False
    if tool.deferred is not None:
        inner["defer_loading"] = tool.deferred
    if has_rest(d, tool, "function"):
        return d.emit({"type": "function", "function": inner}, tool, w.log)
    return d.emit({"type": "function", **inner}, tool, w.log)


def read_search(d: ResponsesBase, doc: dict[str, Json], at: str) -> Tool:
    """A search for tools that the client runs: a function in all but its name."""
    return Tool(
        SEARCH,
        maybe_str(doc, "description", at),
        doc.get("parameters"),
        kind="search",
        at=at,
        extras=d.keep(doc, SEARCH_KEYS),
        schema_at=SCHEMA if "parameters" in doc else None,
    )


def write_search(d: ResponsesBase, tool: Tool, w: ItemWriting) -> Json:
    out: dict[str, Json] = {"type": "tool_search", "execution": "client"}
    if tool.description is not None:
        out["description"] = tool.description
    if tool.schema is not None:
        out["parameters"] = tool.schema
    return d.emit(out, tool, w.log)


def read_hosted_tool(d: ResponsesBase, doc: dict[str, Json], kind: str, at: str) -> Tool:
    name = doc.get("name")
    name = name if isinstance(name, str) else kind
    return Tool(name, kind="hosted", service=kind, dialect=d.name, payload=doc, at=at)


def read_function(
    d: ResponsesBase, doc: dict[str, Json], where: str, at: str, extras: Extras | None
) -> Tool:
    return Tool(
        need_str(doc, "name", where),
        maybe_str(doc, "description", where),
        doc.get("parameters"),
        strict=maybe_bool(doc, "strict", where) or None,
        at=at,
        extras=extras,
        schema_at=where[len(at) :] + SCHEMA if "parameters" in doc else None,
        deferred=maybe_bool(doc, "defer_loading", where),
    )


def read_nested(d: ResponsesBase, doc: dict[str, Json], at: str) -> Tool:
    """A tool in the form of Chat; some clients repeat the name beside the function."""
    inner = doc["function"]
    again = [k for k in ("name", "description") if k in doc and doc[k] == inner.get(k)]
    extras = d.keep(doc, ("type", *again), partly={"function": FUNCTION_KEYS})
    return read_function(d, inner, f"{at}/function", at, extras)


def read_custom(d: ResponsesBase, doc: dict[str, Json], at: str) -> Tool:
    form, where = doc.get("format"), f"{at}/format"
    grammar = None
    partly: dict[str, Json] = {}
    if form.__class__ is dict and form.get("type") == "grammar":
        nested = form.get("grammar").__class__ is dict
        holder = form["grammar"] if nested else form
        grammar = Grammar(need_str(holder, "syntax", where), need_str(holder, "definition", where))
        partly["format"] = NESTED_KEYS if nested else FORMAT_KEYS
    elif form == {"type": "text"}:  # the default
        partly["format"] = ("type",)
    return Tool(
        need_str(doc, "name", at),
        maybe_str(doc, "description", at),
        kind="custom",
        grammar=grammar,
        at=at,
        extras=d.keep(doc, CUSTOM_KEYS, partly=partly),
        deferred=maybe_bool(doc, "defer_loading", at),
    )


def write_custom(d: ResponsesBase, tool: Tool, inner: dict[str, Json], w: ItemWriting) -> Json:
    out: dict[str, Json] = {"type": "custom", **inner}
    if tool.deferred is not None:
        out["defer_loading"] = tool.deferred
    if tool.strict is not None:
        why = f"{d.name} has no field for strictness of a freeform tool"
        w.log.dropped("tool.strict", tool.at, why)
    if tool.grammar is not None:
        written = {"syntax": tool.grammar.syntax, "definition": tool.grammar.definition}
        nested = has_rest(d, tool, "format/grammar")
        out["format"] = {"type": "grammar", **({"grammar": written} if nested else written)}
    return d.emit(out, tool, w.log)


def write_parameters(
    d: ResponsesBase, inner: dict[str, Json], tool: Tool, w: ItemWriting
) -> bool | None:
    """The schema of a tool; gives whether it is enforced."""
    schema, strict = tool.schema, tool.strict
    if w.same:
        if schema is not None:
            inner["parameters"] = schema
        return strict
    schema = parameters(tool, w.log, {})
    if schema is not None and not ("type" in schema and "properties" in schema):
        schema, strict = complete(d, schema, tool, w)
    elif strict and schema is not None:
        schema, strict = schemas.strictly(tool, schema, schemas.OPENAI, w.log)
    inner["parameters"] = schema
    return strict


def complete(
    d: ResponsesBase, schema: dict[str, Json], tool: Tool, w: ItemWriting
) -> tuple[Json, bool | None]:
    """A schema with what every schema must have here, and whether it is enforced."""
    missing: dict[str, Json] = {}
    if "type" not in schema:
        # "schema must be a JSON Schema of 'type: "object"', got 'type: "None"'."
        missing["type"] = "object"
    whole, strict = missing | schema, tool.strict
    if strict:  # before its properties are written: an object of any would become an empty one
        whole, strict = schemas.strictly(tool, whole, schemas.OPENAI, w.log)
    if whole.get("type") == "object" and "properties" not in whole:
        # "In context=(), object schema missing properties."
        missing["properties"] = {}
        whole = {"properties": {}} | whole
    if missing:
        written = " and ".join(missing)
        w.log.invented("tool.schema", tool.at, f"{d.name} requires the {written} of a schema")
    return whole, strict


def read_tool_choice(d: ResponsesBase, doc: Json) -> ToolChoice:
    return d.read_choice(doc, None, "")


def write_tool_choice(d: ResponsesBase, tree: ToolChoice, log: Ledger) -> Json:
    return d.write_choice(tree, d.writing(log, tree.dialect))


def read_choice(d: ResponsesBase, doc: Json, parallel: bool | None, at: str) -> ToolChoice:
    found: ToolChoice | None
    if doc.__class__ is str:
        found = ToolChoice(FLAGS[doc]) if doc in FLAGS else None
    elif doc.__class__ is dict:
        found = read_named(d, doc, at) or read_allowed(d, doc) or read_flag(d, doc)
    else:
        expected("a string or an object", doc, at)
    if found is None:  # a built-in tool, or something new
        found = ToolChoice(payload=doc)
    return replace(found, parallel=parallel, dialect=d.name, at=at)


def write_choice(d: ResponsesBase, choice: ToolChoice, w: ItemWriting) -> Json | None:
    if choice.payload is not None:
        return choice.payload
    if choice.allowed is not None:
        return write_allowed(d, choice, choice.allowed, w)
    if choice.mode == "named":
        return write_named(d, choice, w)
    if choice.extras is not None and choice.extras.fields and d.is_same(choice.extras.dialect):
        return d.emit({choice.mode or "auto": True}, choice, w.log)
    d.lose(choice.extras, choice.at, w.log)
    return choice.mode


def read_named(d: ResponsesBase, doc: dict[str, Json], at: str) -> ToolChoice | None:
    kind = doc.get("type")
    key: ToolKind = "custom" if kind == "custom" else "function"
    if kind != key and (kind is not None or doc.get("function").__class__ is not dict):
        return None
    inner, where, extras = doc, at, None
    if doc.get(key).__class__ is dict:
        inner, where = doc[key], f"{at}/{key}"
        extras = d.keep(doc, ("type",), partly={key: ("name",)})
    else:
        extras = d.keep(doc, ("type", "name"))
    return ToolChoice("named", need_str(inner, "name", where), key, extras=extras)


def write_named(d: ResponsesBase, choice: ToolChoice, w: ItemWriting) -> Json:
    name = choice.name or ""
    key = "custom" if choice.kind == "custom" or name in w.custom else "function"
    name = w.tool_name(name, choice.at)
    inner: dict[str, Json] = {"name": name}
    nested = has_rest(d, choice, key)
    return d.emit({"type": key, **({key: inner} if nested else inner)}, choice, w.log)


def read_allowed(d: ResponsesBase, doc: dict[str, Json]) -> ToolChoice | None:
    if doc.get("type") != "allowed_tools":
        return None
    nested = doc.get("allowed_tools").__class__ is dict
    holder = doc["allowed_tools"] if nested else doc
    mode, tools = holder.get("mode"), holder.get("tools")
    if mode not in ("auto", "required") or tools.__class__ is not list:
        return None
    names = [name_in(tool) for tool in tools]
    if None in names:
        return None
    known = tuple(name for name in names if name is not None)
    taken: tuple[str, ...] = ("type",) if nested else ("type", "mode", "tools")
    extras = d.keep(doc, taken, partly={"allowed_tools": ("mode", "tools")} if nested else {})
    return ToolChoice(mode, allowed=known, extras=extras)


def write_allowed(
    d: ResponsesBase, choice: ToolChoice, allowed: tuple[str, ...], w: ItemWriting
) -> Json:
    tools: Json = [
        {"type": "custom" if name in w.custom else "function", "name": w.tool_name(name, choice.at)}
        for name in allowed
    ]
    inner: dict[str, Json] = {"mode": choice.mode or "auto", "tools": tools}
    nested = has_rest(d, choice, "allowed_tools")
    out = {"type": "allowed_tools"} | ({"allowed_tools": inner} if nested else inner)
    return d.emit(out, choice, w.log)


def writing(
    d: ResponsesBase, log: Ledger, dialect: str | None, *, reply: bool = False
) -> ItemWriting:
    return ItemWriting(log, d.is_same(dialect), reply)


def read_flag(d: ResponsesBase, doc: dict[str, Json]) -> ToolChoice | None:
    for flag, mode in FLAGS.items():
        if doc.get(flag) is True:
            return ToolChoice(mode, extras=d.keep(doc, (flag,)))
    return None


def name_in(tool: Json) -> str | None:
    """The name of an allowed tool that says nothing else; a built-in goes by type or server."""
    if tool.__class__ is not dict or not PLAIN_CHOICE(tool):
        return None
    function = tool.get("function")
    if function is not None and not (function.__class__ is dict and PLAIN_NAME(function)):
        return None
    for holder in (tool, function if function.__class__ is dict else tool):
        for key in ("name", "server_label"):
            if holder.get(key).__class__ is str:
                return str(holder[key])
    kind = tool.get("type")
    return kind if isinstance(kind, str) and kind not in ("function", "custom") else None
