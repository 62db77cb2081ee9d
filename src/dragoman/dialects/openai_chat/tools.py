"""Tool definitions and tool choice of Chat Completions, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.reading import (
    as_dict,
    as_list,
    expected,
    maybe_bool,
    maybe_str,
    need_dict,
    need_str,
    only,
)
from ...core.resuming import read_once, write_once
from ...core.writing import Writing, parameters
from ...ledger import Ledger
from ...model import Extras, Grammar, Json, Tool, Toolbox, ToolChoice, ToolKind
from ...tools import freeform, schemas

if TYPE_CHECKING:
    from . import OpenAIChat


SCHEMA = "/function/parameters"
FUNCTION_KEYS = ("name", "description", "parameters", "strict")
GRAMMAR: dict[str, Json] = {"syntax": (), "definition": ()}
CUSTOM_KEYS: dict[str, Json] = {
    "name": (),
    "description": (),
    "format": {"type": (), "grammar": GRAMMAR},
}
FLAT_KEYS: dict[str, Json] = CUSTOM_KEYS | {"format": {"type": (), **GRAMMAR}}
PLAIN_TOOL = only("type", "function")
PLAIN_FUNCTION = only("name", "description", "parameters")
PLAIN_CHOICE = only("type", "name", "function", "custom")
PLAIN_NAME = only("name")
IDS = (".", 40)
NAMES = ("[a-zA-Z0-9_-]", 64)
MODES = ("auto", "none", "required")


def read_tools(d: OpenAIChat, doc: Json) -> Toolbox:
    return Toolbox(read_tool_list(d, doc, ""), dialect=d.name)


def write_tools(d: OpenAIChat, tree: Toolbox, log: Ledger) -> Json:
    d.lose(tree.extras, tree.at, log)
    return write_tool_list(d, tree.tools, d.writing(log, tree.dialect))


@read_once
def read_tool_list(d: OpenAIChat, docs: Json, at: str) -> tuple[Tool, ...]:
    out: list[Tool] = []
    for index, doc in enumerate(as_list(docs, at)):
        where = f"{at}/{index}"
        out.append(d.read_tool(as_dict(doc, where), where))
    if d.can.freeform != "native":
        return tuple(freeform.unwrap_tool(tool, d.name) for tool in out)
    return tuple(out)


@write_once
def write_tool_list(d: OpenAIChat, tools: tuple[Tool, ...], w: Writing) -> list[Json]:
    return [d.write_tool(tool, w) for tool in tools]


def read_tool(d: OpenAIChat, doc: dict[str, Json], at: str) -> Tool:
    function = doc.get("function")
    if function.__class__ is dict and PLAIN_TOOL(doc) and PLAIN_FUNCTION(function):
        name, description = function.get("name"), function.get("description")
        schema = function.get("parameters")
        if name.__class__ is description.__class__ is str and schema is not None:
            if doc.get("type") == "function":
                # the usual shape
                return Tool(name, description, schema, at=at, schema_at=SCHEMA)
    kind = maybe_str(doc, "type", at)
    if kind == "custom" and doc.get("custom").__class__ is dict:
        return read_custom(d, doc, at)
    if function.__class__ is dict and kind in (None, "function"):
        extras = d.keep(doc, ("type",), partly={"function": FUNCTION_KEYS})
        return read_function(function, f"{at}/function", at, extras)
    if kind is None or kind == "function":
        need_dict(doc, "function", at)
    # A tool that only some compatible server knows.
    return Tool(kind or "", kind="hosted", service=kind, dialect=d.name, payload=doc, at=at)


def write_tool(d: OpenAIChat, tool: Tool, w: Writing) -> Json:
    if tool.kind == "hosted":
        return tool.payload
    if d.can.freeform != "native":
        tool = freeform.as_function(tool, w.same)
    inner: dict[str, Json] = {"name": w.tool_name(tool.name, tool.at)}
    if tool.description is not None:
        inner["description"] = tool.description
    if tool.kind == "custom":
        if (grammar := tool.grammar) is not None:
            g = {"syntax": grammar.syntax, "definition": grammar.definition}
            inner["format"] = {"type": "grammar", "grammar": g}
        return d.emit({"type": "custom", "custom": inner}, tool, w.log)
    if tool.schema is not None:
        inner["parameters"] = tool.schema
        if not w.same and tool.schema.__class__ is not dict:
            inner["parameters"] = parameters(tool, w.log)
    strict = tool.strict
    if strict and d.enforces and not w.same and "parameters" in inner:
        schema = inner["parameters"]
        inner["parameters"], strict = schemas.strictly(tool, schema, schemas.OPENAI, w.log)
    if strict is not None:
        inner["strict"] = strict
    return d.emit({"type": "function", "function": inner}, tool, w.log)


def read_function(doc: dict[str, Json], where: str, at: str, extras: Extras | None) -> Tool:
    """The function of a tool."""
    return Tool(
        need_str(doc, "name", where),
        maybe_str(doc, "description", where),
        doc.get("parameters"),
        strict=maybe_bool(doc, "strict", where),
        at=at,
        extras=extras,
        schema_at=f"{where[len(at) :]}/parameters" if "parameters" in doc else None,
    )


def read_custom(d: OpenAIChat, doc: dict[str, Json], at: str) -> Tool:
    custom = doc["custom"]
    where = f"{at}/custom"
    form = custom.get("format")
    grammar, taken = None, CUSTOM_KEYS
    if form.__class__ is dict and form.get("type") == "grammar":
        inner = form.get("grammar")
        if inner.__class__ is not dict:
            inner, taken = form, FLAT_KEYS
        grammar = Grammar(
            need_str(inner, "syntax", f"{where}/format"),
            need_str(inner, "definition", f"{where}/format"),
        )
    elif form != {"type": "text"}:  # the default
        taken = {key: () for key in taken if key != "format"}
    return Tool(
        need_str(custom, "name", where),
        maybe_str(custom, "description", where),
        kind="custom",
        grammar=grammar,
        at=at,
        extras=d.keep(doc, ("type",), partly={"custom": taken}),
    )


def read_legacy_tools(d: OpenAIChat, docs: Json) -> tuple[Tool, ...]:
    """Functions from before there were tools."""
    return tuple(
        read_function(as_dict(doc, at), at, at, d.keep(doc, FUNCTION_KEYS))
        for index, doc in enumerate(as_list(docs, "/functions"))
        if (at := f"/functions/{index}")
    )


def read_tool_choice(d: OpenAIChat, doc: Json) -> ToolChoice:
    return d.read_choice(doc, None, "")


def write_tool_choice(d: OpenAIChat, tree: ToolChoice, log: Ledger) -> Json:
    return d.write_choice(tree, d.writing(log, tree.dialect))


def read_choice(d: OpenAIChat, doc: Json, parallel: bool | None, at: str) -> ToolChoice:
    if doc.__class__ is str:
        if doc in MODES:
            return ToolChoice(doc, parallel=parallel, dialect=d.name, at=at)  # type: ignore[arg-type]
        return ToolChoice(payload=doc, parallel=parallel, dialect=d.name, at=at)
    if doc is None:
        return ToolChoice(parallel=parallel, dialect=d.name, at="/parallel_tool_calls")
    if doc.__class__ is not dict:
        expected("a string or an object", doc, at)
    kind = doc.get("type")
    if kind == "allowed_tools" and doc.get("allowed_tools").__class__ is dict:
        return read_allowed(d, doc, parallel, at)
    key: ToolKind = "custom" if kind == "custom" else "function"
    inner = doc.get(key)
    if inner.__class__ is not dict or kind not in ("function", "custom", None):
        return ToolChoice(payload=doc, parallel=parallel, dialect=d.name, at=at)
    return ToolChoice(
        "named",
        need_str(inner, "name", f"{at}/{key}"),
        key,
        parallel=parallel,
        dialect=d.name,
        at=at,
        extras=d.keep(doc, ("type",), partly={key: ("name",)}),
    )


def write_choice(d: OpenAIChat, choice: ToolChoice, w: Writing) -> Json | None:
    if choice.payload is not None:
        return choice.payload
    if choice.mode is None:
        d.lose(choice.extras, choice.at, w.log)
        return None
    if w.same and d.can.freeform != "native":
        choice = freeform.as_function(choice, True)
    if choice.allowed is not None:
        tools = [{"type": "function", "function": {"name": name}} for name in choice.allowed]
        inner = {"mode": choice.mode, "tools": tools}
        return d.emit({"type": "allowed_tools", "allowed_tools": inner}, choice, w.log)
    if choice.mode != "named":
        d.lose(choice.extras, choice.at, w.log)
        return choice.mode
    key = "custom" if choice.kind == "custom" else "function"
    out: dict[str, Json] = {"type": key, key: {"name": w.tool_name(choice.name or "", choice.at)}}
    return d.emit(out, choice, w.log)


def writing(d: OpenAIChat, log: Ledger, dialect: str | None, *, reply: bool = False) -> Writing:
    """A conversion into this dialect: ids up to 40 characters, names `[a-zA-Z0-9_-]{1,64}`."""
    return Writing(log, IDS, NAMES, d.is_same(dialect), reply)


def read_allowed(d: OpenAIChat, doc: dict[str, Json], parallel: bool | None, at: str) -> ToolChoice:
    inner = doc["allowed_tools"]
    tools = as_list(inner.get("tools"), f"{at}/allowed_tools/tools")
    mode = inner.get("mode")
    names = [name for tool in tools if (name := name_in(tool)) is not None]
    if mode not in ("auto", "required") or len(names) != len(tools):
        return ToolChoice(payload=doc, parallel=parallel, dialect=d.name, at=at)
    return ToolChoice(
        mode,
        allowed=tuple(names),
        parallel=parallel,
        dialect=d.name,
        at=at,
        extras=d.keep(doc, ("type",), partly={"allowed_tools": ("mode", "tools")}),
    )


def name_in(tool: Json) -> str | None:
    """The name of an allowed tool that says nothing else."""
    if tool.__class__ is not dict or not PLAIN_CHOICE(tool):
        return None
    if tool.get("type") not in ("function", "custom", None):
        return None
    for holder in (tool.get("function"), tool.get("custom"), tool):
        if holder.__class__ is dict and holder.get("name").__class__ is str:
            if holder is tool or PLAIN_NAME(holder):
                return str(holder["name"])
    return None
