"""Definitions of tools in OpenTelemetry's attributes, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.reading import as_dict, as_list, maybe_str, need_str
from ...core.writing import Writing
from ...ledger import Ledger
from ...model import Json, Tool, Toolbox
from ...tools import freeform
from .messages import writing

if TYPE_CHECKING:
    from . import OtelGenAI


def read_tools(d: OtelGenAI, doc: Json) -> Toolbox:
    tools = (
        read_tool(d, as_dict(item, f"/{index}"), f"/{index}")
        for index, item in enumerate(as_list(doc, ""))
    )
    return Toolbox(tuple(tools), dialect=d.name)


def write_tools(d: OtelGenAI, tree: Toolbox, log: Ledger) -> Json:
    w = writing(d, log, tree.dialect)
    d.lose(tree.extras, tree.at, log)
    return [write_tool(d, tool, w) for tool in tree.tools]


def read_tool(d: OtelGenAI, doc: dict[str, Json], at: str) -> Tool:
    kind, name = need_str(doc, "type", at), need_str(doc, "name", at)
    if kind != "function":
        return Tool(name, kind="hosted", service=kind, dialect=d.name, payload=doc, at=at)
    schema = doc.get("parameters")
    extras = d.keep(doc, ("type", "name", "description", "parameters"))
    where = None if schema is None else "/parameters"
    description = maybe_str(doc, "description", at)
    return Tool(name, description, schema, at=at, extras=extras, schema_at=where)


def write_tool(d: OtelGenAI, tool: Tool, w: Writing) -> Json:
    if tool.kind == "hosted":
        return tool.payload
    tool = freeform.as_function(tool, w.same)
    out: dict[str, Json] = {"type": "function", "name": w.tool_name(tool.name, tool.at)}
    if tool.description is not None:
        out["description"] = tool.description
    if tool.schema is not None:
        out["parameters"] = tool.schema
    return d.emit(out, tool, w.log)
