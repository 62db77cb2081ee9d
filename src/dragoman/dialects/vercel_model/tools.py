"""Tool definitions and tool choice of the AI SDK, both ways.

Tools are listed as a provider receives them. (In a program they are an object of functions, which
no document can hold.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.reading import as_dict, as_list, expected, maybe_bool, maybe_str, need_str
from ...core.resuming import write_once
from ...core.writing import Writing, needed_parameters
from ...dialect import Dialect
from ...ledger import Ledger
from ...model import Json, Tool, Toolbox, ToolChoice
from ...tools import freeform
from .options import Taker, finish, keep_options, read_cache, write_cache

if TYPE_CHECKING:
    from . import VercelModel


TOOL_KEYS = frozenset({"type", "name", "description", "strict"})
SCHEMAS = ("inputSchema", "parameters")
HOSTED = ("provider", "provider-defined")
MODES = ("auto", "none", "required")


def read_tools(d: VercelModel, doc: Json) -> Toolbox:
    return Toolbox(read_tool_list(d, doc, ""), dialect=d.name)


def write_tools(d: VercelModel, tree: Toolbox, log: Ledger) -> Json:
    d.lose(tree.extras, tree.at, log)
    w = d.writing(log, tree.dialect)
    return write_tool_list(d, tree.tools, w)


@write_once
def write_tool_list(d: VercelModel, tools: tuple[Tool, ...], w: Writing) -> list[Json]:
    return [write_tool(d, tool, w) for tool in tools]


def read_tool_list(d: VercelModel, docs: Json, at: str) -> tuple[Tool, ...]:
    return tuple(
        read_tool(d, as_dict(doc, where), where)
        for index, doc in enumerate(as_list(docs, at))
        if (where := f"{at}/{index}")
    )


def has_tool(d: VercelModel, node: Tool | ToolChoice) -> bool:
    return node.dialect == d.family if isinstance(node, Tool) else Dialect.has_tool(d, node)


def read_tool(d: VercelModel, doc: dict[str, Json], at: str) -> Tool:
    kind = maybe_str(doc, "type", at)
    name = need_str(doc, "name", at)
    if kind is not None and kind != "function":
        return read_hosted_tool(d, doc, name, kind, at)
    key = next((k for k in (d.schema, *SCHEMAS) if k in doc), d.schema)
    options = Taker(doc, at)
    cache = read_cache(d, options)
    extras = keep_options(d, options, TOOL_KEYS | {key})
    description, strict = maybe_str(doc, "description", at), maybe_bool(doc, "strict", at)
    schema = doc.get(key)
    if (found := freeform.unwrap(description, schema)) is not None:
        description, grammar = found
        return Tool(
            name, description, kind="custom", grammar=grammar, strict=strict, cache=cache,
            at=at, extras=extras
        )  # fmt: skip
    return Tool(
        name, description, schema, strict=strict, cache=cache, at=at, extras=extras,
        schema_at=f"/{key}" if key in doc else None
    )  # fmt: skip


def write_tool(d: VercelModel, tool: Tool, w: Writing) -> Json:
    if tool.kind == "hosted":
        return {"type": d.provider_tool, **(tool.payload or {"name": tool.name})}
    tool = freeform.as_function(tool)
    out: dict[str, Json] = {"type": "function", "name": w.tool_name(tool.name, tool.at)}
    if tool.description is not None:
        out["description"] = tool.description
    if tool.schema is not None or not w.same:
        out[d.schema] = tool.schema if w.same else needed_parameters(tool, w.log)
    if tool.strict is not None and (d.can.strict or w.same):
        out["strict"] = tool.strict
    return finish(d, out, tool, w, write_cache(d, tool.cache, w))


def read_hosted_tool(d: VercelModel, doc: dict[str, Json], name: str, kind: str, at: str) -> Tool:
    """A tool that a provider defines: ``{"id": "openai.web_search", "name", "args"}``."""
    service = (maybe_str(doc, "id", at) or kind).rpartition(".")[2]
    payload = {k: v for k, v in doc.items() if k != "type" or kind not in HOSTED}
    return Tool(name, kind="hosted", service=service, dialect=d.family, payload=payload, at=at)


def read_tool_choice(d: VercelModel, doc: Json) -> ToolChoice:
    return read_choice(d, doc, "")


def write_tool_choice(d: VercelModel, tree: ToolChoice, log: Ledger) -> Json:
    return write_choice(d, tree, d.writing(log, tree.dialect))


def read_choice(d: VercelModel, doc: Json, at: str) -> ToolChoice:
    if doc.__class__ is str:
        if doc in MODES:
            return ToolChoice(doc, dialect=d.name, at=at)  # type: ignore[arg-type]
        return ToolChoice(payload=doc, dialect=d.name, at=at)
    if doc.__class__ is not dict:
        expected("a string or an object", doc, at)
    kind = doc.get("type")
    if kind == "tool":
        extras = d.keep(doc, ("type", "toolName"))
        name = need_str(doc, "toolName", at)
        return ToolChoice("named", name, dialect=d.name, at=at, extras=extras)
    if kind in MODES:  # as a provider receives it
        return ToolChoice(kind, dialect=d.name, at=at, extras=d.keep(doc, ("type",)))
    return ToolChoice(payload=doc, dialect=d.name, at=at)


def write_choice(d: VercelModel, choice: ToolChoice, w: Writing) -> Json | None:
    if choice.payload is not None:
        return choice.payload
    if choice.mode is None:
        d.lose(choice.extras, choice.at, w.log)
        return None
    if choice.mode == "named":
        name = w.tool_name(choice.name or "", choice.at)
        return d.emit({"type": "tool", "toolName": name}, choice, w.log)
    if choice.extras is not None and d.is_same(choice.extras.dialect):
        return d.emit({"type": choice.mode}, choice, w.log)
    d.lose(choice.extras, choice.at, w.log)
    return choice.mode
