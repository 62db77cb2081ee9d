"""Tool definitions and tool choice of the Anthropic Messages API, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.lowering.tools import omit_tool
from ...core.reading import as_dict, as_list, maybe_bool, maybe_str, need_str, only
from ...core.resuming import read_once, write_once
from ...core.writing import Writing, object_schema
from ...ledger import Ledger
from ...model import Json, Tool, Toolbox, ToolChoice
from ...tools import freeform, schemas
from . import blocks

if TYPE_CHECKING:
    from . import AnthropicMessages

IDS = ("[a-zA-Z0-9_-]", 512)
NAMES = ("[a-zA-Z0-9_-]", 128)

SCHEMA = "/input_schema"
TOOL_KEYS = frozenset(
    {
        "type", "name", "description", "input_schema", "strict", "cache_control", "defer_loading",
    }
)  # fmt: skip
PLAIN_TOOL = only("name", "description", "input_schema")
MODES = {"auto": "auto", "any": "required", "none": "none", "tool": "named"}
KINDS = {mode: kind for kind, mode in MODES.items()}


def writing(
    d: AnthropicMessages, log: Ledger, dialect: str | None, *, reply: bool = False
) -> Writing:
    return Writing(log, IDS, NAMES, d.is_same(dialect), reply)


def read_tools(d: AnthropicMessages, doc: Json) -> Toolbox:
    return Toolbox(read_tool_list(d, doc, ""), dialect=d.name)


def write_tools(d: AnthropicMessages, tree: Toolbox, log: Ledger) -> Json:
    d.lose(tree.extras, tree.at, log)
    return write_tool_list(d, tree.tools, writing(d, log, tree.dialect))


@read_once
def read_tool_list(d: AnthropicMessages, docs: Json, at: str) -> tuple[Tool, ...]:
    out: list[Tool] = []
    for index, doc in enumerate(as_list(docs, at)):
        where = f"{at}/{index}"
        out.append(read_tool(d, as_dict(doc, where), where))
    return tuple(out)


@write_once
def write_tool_list(d: AnthropicMessages, tools: tuple[Tool, ...], w: Writing) -> list[Json]:
    out: list[Json] = []
    for tool in tools:
        if tool.kind != "hosted" or d.has_tool(tool):
            out.append(write_tool(d, tool, w))
        else:  # a tree of this dialect that somebody has edited: it was not lowered
            omit_tool(tool, d, w.log)
    return out


def read_tool(d: AnthropicMessages, doc: dict[str, Json], at: str) -> Tool:
    if PLAIN_TOOL(doc):
        name, description = doc.get("name"), doc.get("description")
        if name.__class__ is description.__class__ is str and "input_schema" in doc:
            if freeform.MARK not in description:
                # the usual shape
                return Tool(name, description, doc["input_schema"], at=at, schema_at=SCHEMA)
    kind = maybe_str(doc, "type", at)
    if kind is not None and kind != "custom":
        name = maybe_str(doc, "name", at) or kind
        service = kind.rstrip("0123456789").rstrip("_")
        return Tool(name, kind="hosted", service=service, dialect=d.name, payload=doc, at=at)
    name = need_str(doc, "name", at)
    description = maybe_str(doc, "description", at)
    schema = doc.get("input_schema")
    extras = d.keep(doc, TOOL_KEYS)
    strict = maybe_bool(doc, "strict", at)
    cache = blocks.read_cache(d, doc, at)
    deferred = maybe_bool(doc, "defer_loading", at)
    if (found := freeform.unwrap(description, schema)) is not None:
        description, grammar = found
        return Tool(
            name, description, kind="custom", grammar=grammar, strict=strict, cache=cache,
            at=at, extras=extras, deferred=deferred
        )  # fmt: skip
    return Tool(
        name, description, schema, strict=strict, cache=cache, at=at, extras=extras,
        schema_at=SCHEMA if "input_schema" in doc else None, deferred=deferred
    )  # fmt: skip


def write_tool(d: AnthropicMessages, tool: Tool, w: Writing) -> Json:
    if tool.kind == "hosted":
        return tool.payload
    tool = freeform.as_function(tool)
    out: dict[str, Json] = {"name": w.tool_name(tool.name, tool.at)}
    if tool.description is not None:
        out["description"] = tool.description
    if (schema := tool.schema if w.same else object_schema(tool, w.log)) is not None:
        out["input_schema"] = schema
    strict = tool.strict
    if strict and not w.same:
        out["input_schema"], strict = schemas.strictly(tool, schema, schemas.CLAUDE, w.log)
    if strict is not None:
        out["strict"] = strict
    if tool.deferred is not None:
        out["defer_loading"] = tool.deferred
    if tool.cache is None and (tool.extras is None or d.is_mute(tool.extras)):
        return out
    return blocks.finish(d, out, tool, tool.cache, w)


def read_tool_choice(d: AnthropicMessages, doc: Json) -> ToolChoice:
    return read_choice(d, as_dict(doc, ""), "")


def write_tool_choice(d: AnthropicMessages, tree: ToolChoice, log: Ledger) -> Json:
    return write_choice(d, tree, writing(d, log, tree.dialect))


def read_choice(d: AnthropicMessages, doc: dict[str, Json], at: str) -> ToolChoice:
    kind = need_str(doc, "type", at)
    disabled = maybe_bool(doc, "disable_parallel_tool_use", at)
    parallel = None if disabled is None else not disabled
    mode = MODES.get(kind)
    if mode is None:
        return ToolChoice(payload=doc, dialect=d.name, at=at)
    taken = ("type", "name", "disable_parallel_tool_use")
    return ToolChoice(
        mode,  # type: ignore[arg-type]
        need_str(doc, "name", at) if mode == "named" else None,
        parallel=parallel,
        dialect=d.name,
        at=at,
        extras=d.keep(doc, taken if mode == "named" else (taken[0], taken[2])),
    )


def write_choice(d: AnthropicMessages, choice: ToolChoice, w: Writing) -> Json:
    if choice.payload is not None:
        return choice.payload
    mode = choice.mode
    if mode is None:
        mode = "auto"
        w.log.invented(
            "tool_choice",
            choice.at,
            f"{d.name} has parallel tool calls in tool_choice only; written as 'auto'",
        )
    out: dict[str, Json] = {"type": KINDS[mode]}
    if mode == "named":
        out["name"] = w.tool_name(choice.name or "", choice.at)
    if choice.parallel is False:
        out["disable_parallel_tool_use"] = True
    return d.emit(out, choice, w.log)
