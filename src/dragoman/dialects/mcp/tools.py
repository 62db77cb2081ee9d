"""Definitions of tools as ``tools/list`` has them, and the choice among them, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.reading import as_dict, as_list, maybe_str, need_list, need_str
from ...core.writing import Writing, needed_parameters
from ...ledger import Ledger
from ...model import Extras, Json, Tool, Toolbox, ToolChoice
from ...tools import freeform

if TYPE_CHECKING:
    from . import MCP

KEYS = ("name", "description", "inputSchema")
MODES = ("auto", "required", "none")


def read_tools(d: MCP, doc: Json) -> Toolbox:
    if doc.__class__ is list:
        return Toolbox(read_tool_list(d, doc, ""), dialect=d.name)
    doc = as_dict(doc, "")
    taken = ("tools", "resultType") if doc.get("resultType") == "complete" else ("tools",)
    extras = d.keep(doc, taken) or Extras(d.name)  # which tells that it was an object
    tools = read_tool_list(d, need_list(doc, "tools", ""), "/tools")
    return Toolbox(tools, dialect=d.name, extras=extras)


def write_tools(d: MCP, tree: Toolbox, log: Ledger) -> Json:
    tools = write_tool_list(d, tree.tools, d.writing(log, tree.dialect))
    if tree.extras is not None and d.is_same(tree.extras.dialect):
        return d.emit({"tools": tools}, tree, log)
    d.lose(tree.extras, tree.at, log)
    return tools


def read_tool_list(d: MCP, docs: Json, at: str) -> tuple[Tool, ...]:
    tools = (
        read_tool(d, as_dict(doc, f"{at}/{index}"), f"{at}/{index}")
        for index, doc in enumerate(as_list(docs, at))
    )
    return tuple(freeform.unwrap_tool(tool, d.name) for tool in tools)


def write_tool_list(d: MCP, tools: tuple[Tool, ...], w: Writing) -> list[Json]:
    return [write_tool(d, tool, w) for tool in tools]


def read_tool(d: MCP, doc: dict[str, Json], at: str) -> Tool:
    name, description = need_str(doc, "name", at), maybe_str(doc, "description", at)
    schema = doc.get("inputSchema")
    where = None if schema is None else "/inputSchema"
    return Tool(name, description, schema, at=at, extras=d.keep(doc, KEYS), schema_at=where)


def write_tool(d: MCP, tool: Tool, w: Writing) -> Json:
    tool = freeform.as_function(tool, w.same)
    out: dict[str, Json] = {"name": w.tool_name(tool.name, tool.at)}
    if tool.description is not None:
        out["description"] = tool.description
    schema = tool.schema if w.same else needed_parameters(tool, w.log)
    if not w.same and "type" not in schema:
        # "type: 'object' is required at the root"
        why = f"{d.name} requires the type of a schema; written as 'object'"
        w.log.invented("tool.schema", tool.at, why)
        schema = {"type": "object", **schema}
    if schema is not None:
        out["inputSchema"] = schema
    return d.emit(out, tool, w.log)


def read_tool_choice(d: MCP, doc: Json) -> ToolChoice:
    return read_choice(d, as_dict(doc, ""), "")


def write_tool_choice(d: MCP, tree: ToolChoice, log: Ledger) -> Json:
    return write_choice(d, tree, d.writing(log, tree.dialect))


def read_choice(d: MCP, doc: dict[str, Json], at: str) -> ToolChoice:
    mode = maybe_str(doc, "mode", at)
    if mode is None:
        extras = d.keep(doc, ("mode",))
        return ToolChoice("auto", dialect=d.name, at=at, extras=extras)
    if mode not in MODES:
        return ToolChoice(payload=doc, dialect=d.name, at=at)
    extras = d.keep(doc, ("mode",))
    return ToolChoice(mode, dialect=d.name, at=at, extras=extras)  # type: ignore[arg-type]


def write_choice(d: MCP, choice: ToolChoice, w: Writing) -> Json | None:
    if choice.payload is not None:
        return choice.payload
    if choice.mode is None:
        d.lose(choice.extras, choice.at, w.log)
        return None
    return d.emit({"mode": choice.mode}, choice, w.log)
