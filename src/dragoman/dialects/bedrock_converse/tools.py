"""Tool definitions and tool choice of Bedrock's Converse API, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.reading import (
    as_dict,
    as_list,
    maybe_bool,
    maybe_str,
    need_dict,
    need_list,
    need_str,
    sole,
)
from ...core.resuming import write_once
from ...core.writing import object_schema
from ...ledger import Ledger
from ...model import Extras, Json, Tool, Toolbox, ToolChoice
from ...tools import freeform, schemas
from . import blocks
from .blocks import BedrockWriting

if TYPE_CHECKING:
    from . import BedrockConverse


SCHEMA = "/toolSpec/inputSchema/json"
SPEC_KEYS = frozenset({"name", "description", "inputSchema", "strict"})
MODES = {"auto": "auto", "any": "required", "tool": "named"}
WORDS = {mode: word for word, mode in MODES.items()}


def read_tools(d: BedrockConverse, doc: Json) -> Toolbox:
    if doc.__class__ is dict:  # the whole ``toolConfig``
        tools = read_tool_list(d, need_list(doc, "tools", ""), "/tools")
        extras = d.keep(doc, ("tools",)) or Extras(d.name)  # which tells that it was an object
        return Toolbox(tools, dialect=d.name, extras=extras)
    return Toolbox(read_tool_list(d, doc, ""), dialect=d.name)


def write_tools(d: BedrockConverse, tree: Toolbox, log: Ledger) -> Json:
    tools = write_tool_list(d, tree.tools, blocks.writing(d, log, tree.dialect))
    if tree.extras is not None and d.is_same(tree.extras.dialect):
        return d.emit({"tools": tools}, tree, log)
    d.lose(tree.extras, tree.at, log)
    return tools


def read_tool_list(d: BedrockConverse, docs: Json, at: str) -> tuple[Tool, ...]:
    out: list[Tool] = []
    for index, doc in enumerate(as_list(docs, at)):
        where = f"{at}/{index}"
        doc = as_dict(doc, where)
        if sole(doc) == "cachePoint" and out and out[-1].cache is None:
            out[-1] = replace(out[-1], cache=blocks.read_cache(d, doc, where))
        else:
            out.append(read_tool(d, doc, where))
    return tuple(out)


@write_once
def write_tool_list(d: BedrockConverse, tools: tuple[Tool, ...], w: BedrockWriting) -> list[Json]:
    out: list[Json] = []
    for tool in tools:
        out.append(write_tool(d, tool, w))
        if tool.cache is not None:
            blocks.write_mark(d, out, tool.cache, w)
    return out


def read_tool(d: BedrockConverse, doc: dict[str, Json], at: str) -> Tool:
    if "toolSpec" not in doc:
        kind = next(iter(doc), "")
        inner = doc.get(kind)
        name = inner.get("name") if isinstance(inner, dict) else None
        name = name if isinstance(name, str) else kind
        return Tool(name, kind="hosted", service=name, dialect=d.name, payload=doc, at=at)
    spec, where = need_dict(doc, "toolSpec", at), f"{at}/toolSpec"
    name, description = need_str(spec, "name", where), maybe_str(spec, "description", where)
    holder = spec.get("inputSchema")
    taken, schema = SPEC_KEYS, None
    if isinstance(holder, dict) and holder.keys() == {"json"} and holder["json"] is not None:
        schema = holder["json"]
    else:
        taken -= {"inputSchema"}
    strict = maybe_bool(spec, "strict", where)
    extras = blocks.rest(d, doc, "toolSpec", taken)
    if (found := freeform.unwrap(description, schema)) is not None:
        description, grammar = found
        return Tool(
            name, description, kind="custom", grammar=grammar, strict=strict, at=at,
            extras=extras
        )  # fmt: skip
    schema_at = None if schema is None else SCHEMA
    return Tool(name, description, schema, strict=strict, at=at, extras=extras, schema_at=schema_at)


def write_tool(d: BedrockConverse, tool: Tool, w: BedrockWriting) -> Json:
    if tool.kind == "hosted":
        return tool.payload
    tool = freeform.as_function(tool)
    spec: dict[str, Json] = {"name": w.tool_name(tool.name, tool.at)}
    if tool.description or (tool.description is not None and w.same):
        spec["description"] = tool.description
    elif tool.description is not None:
        w.log.approximated("tool", tool.at, f"an empty description is omitted in {d.name}")
    schema, strict = tool.schema, tool.strict
    if not w.same:
        schema = object_schema(tool, w.log)
        if strict:
            schema, strict = schemas.strictly(tool, schema, schemas.CLAUDE, w.log)
    if schema is not None:
        spec["inputSchema"] = {"json": schema}
    if strict is not None:
        spec["strict"] = strict
    return d.emit({"toolSpec": spec}, tool, w.log)


def read_tool_choice(d: BedrockConverse, doc: Json) -> ToolChoice:
    return read_choice(d, as_dict(doc, ""), "")


def write_tool_choice(d: BedrockConverse, tree: ToolChoice, log: Ledger) -> Json:
    return write_choice(d, tree, blocks.writing(d, log, tree.dialect))


def read_choice(d: BedrockConverse, doc: dict[str, Json], at: str) -> ToolChoice:
    word = sole(doc) or ""
    mode = MODES.get(word)
    if mode is None:
        return ToolChoice(payload=doc, dialect=d.name, at=at)
    inner = need_dict(doc, word, at)
    named = mode == "named"
    return ToolChoice(
        mode,  # type: ignore[arg-type]
        need_str(inner, "name", f"{at}/{word}") if named else None,
        dialect=d.name,
        at=at,
        extras=d.keep(doc, (word,), partly={word: ("name",) if named else ()}),
    )


def write_choice(d: BedrockConverse, choice: ToolChoice, w: BedrockWriting) -> Json | None:
    """A choice; None where there is none to be written."""
    if choice.payload is not None:
        return choice.payload
    if choice.mode is None:
        d.lose(choice.extras, choice.at, w.log)
        return None
    named = choice.mode == "named"
    inner = {"name": w.tool_name(choice.name or "", choice.at)} if named else {}
    return d.emit({WORDS[choice.mode]: inner}, choice, w.log)
