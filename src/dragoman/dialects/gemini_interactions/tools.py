"""Tool definitions and tool choice of the Interactions API, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.reading import as_dict, as_str, maybe_dict, maybe_list, maybe_str, need_list, need_str
from ...core.writing import Writing, parameters
from ...ledger import Ledger
from ...model import Json, Tool, Toolbox, ToolChoice
from ...tools import freeform
from .steps import SERVICES

if TYPE_CHECKING:
    from . import GeminiInteractions

FUNCTION = "function"
TOOL_KEYS = frozenset({"type", "name", "description", "parameters"})
HOSTED = SERVICES | {"mcp_server": "mcp"}
# https://ai.google.dev/api/interactions-api: ToolChoiceType
MODES = {"auto": "auto", "any": "required", "none": "none"}
MODE_WORDS = {mode: word for word, mode in MODES.items()}
ALLOWED = "allowed_tools"


def read_tools(d: GeminiInteractions, doc: Json) -> Toolbox:
    return Toolbox(read_tool_list(d, doc, ""), dialect=d.name)


def write_tools(d: GeminiInteractions, tree: Toolbox, log: Ledger) -> Json:
    d.lose(tree.extras, tree.at, log)
    return write_tool_list(d, tree.tools, d.writing(log, tree.dialect))


def read_tool_list(d: GeminiInteractions, docs: Json, at: str) -> tuple[Tool, ...]:
    listed = need_list({"tools": docs}, "tools", at.removesuffix("/tools"))
    return tuple(
        read_tool(d, as_dict(doc, f"{at}/{n}"), f"{at}/{n}") for n, doc in enumerate(listed)
    )


def write_tool_list(d: GeminiInteractions, tools: tuple[Tool, ...], w: Writing) -> list[Json]:
    return [write_tool(d, tool, w) for tool in tools]


def read_tool(d: GeminiInteractions, doc: dict[str, Json], at: str) -> Tool:
    kind = need_str(doc, "type", at)
    if kind != FUNCTION:
        service = HOSTED.get(kind, kind)
        return Tool(kind, kind="hosted", service=service, dialect=d.name, payload=doc, at=at)
    description, schema = maybe_str(doc, "description", at), doc.get("parameters")
    extras = d.keep(doc, TOOL_KEYS)
    tool = Tool(need_str(doc, "name", at), description, schema, at=at, extras=extras)
    return freeform.unwrap_tool(tool, d.name)


def write_tool(d: GeminiInteractions, tool: Tool, w: Writing) -> Json:
    if tool.kind == "hosted":
        d.lose(tool.extras, tool.at, w.log)
        return tool.payload
    tool = freeform.as_function(tool)
    out: dict[str, Json] = {"type": FUNCTION, "name": w.tool_name(tool.name, tool.at)}
    if tool.description is not None:
        out["description"] = tool.description
    if tool.schema is not None:
        out["parameters"] = tool.schema if w.same else parameters(tool, w.log)
    return d.emit(out, tool, w.log)


def read_tool_choice(d: GeminiInteractions, doc: Json) -> ToolChoice:
    return read_choice(d, doc, "")


def write_tool_choice(d: GeminiInteractions, tree: ToolChoice, log: Ledger) -> Json:
    return write_choice(d, tree, d.writing(log, tree.dialect))


def read_choice(d: GeminiInteractions, doc: Json, at: str) -> ToolChoice:
    """A word, or the tools that are allowed."""
    if doc.__class__ is str:
        mode = MODES.get(doc)
        if mode is None:  # validated: as the model likes, but by the schema
            return ToolChoice(dialect=d.name, payload=doc, at=at)
        return ToolChoice(mode, dialect=d.name, at=at)  # type: ignore[arg-type]
    doc = as_dict(doc, at)
    config, where = maybe_dict(doc, ALLOWED, at), f"{at}/{ALLOWED}"
    if config is None:
        return ToolChoice(dialect=d.name, at=at, extras=d.keep(doc, ()))
    word, names = maybe_str(config, "mode", where), maybe_list(config, "tools", where)
    allowed = tuple(as_str(n, f"{where}/tools/{i}") for i, n in enumerate(names or ())) or None
    mode, name, taken = MODES.get(word or ""), None, {"mode", "tools"}
    if mode is None and word is not None:
        mode, taken = "auto", {"tools"}
    if mode == "required" and allowed is not None and len(allowed) == 1:
        mode, name, allowed = "named", allowed[0], None
    extras = d.keep(doc, (), partly={ALLOWED: taken})
    return ToolChoice(
        mode,  # type: ignore[arg-type]
        name,
        allowed=allowed,
        dialect=d.name,
        at=at,
        extras=extras,
    )


def write_choice(d: GeminiInteractions, choice: ToolChoice, w: Writing) -> Json:
    if choice.payload is not None and d.is_same(choice.dialect):
        return choice.payload
    extras = choice.extras
    own = extras is not None and d.is_same(extras.dialect)
    named = choice.mode == "named"
    if w.same and choice.mode is None and not (choice.allowed or own):
        return {}  # a choice that says nothing
    if not (named or choice.allowed or own):
        d.lose(extras, choice.at, w.log)
        return MODE_WORDS[choice.mode or "auto"]
    config: dict[str, Json] = {}
    if choice.mode is not None:
        config["mode"] = "any" if named else MODE_WORDS[choice.mode]
    if named:
        config["tools"] = [w.tool_name(choice.name or "", choice.at)]
        if choice.kind == "hosted":
            why = f"{d.name} can require functions only, no hosted tools"
            w.log.approximated("tool_choice", choice.at, why)
    elif choice.allowed is not None:
        config["tools"] = [w.tool_name(name, choice.at) for name in choice.allowed]
        if len(choice.allowed) == 1 and choice.mode == "required" and not w.same:
            why = f"{d.name} requires a call of the one allowed tool"
            w.log.approximated("tool_choice.allowed", choice.at, why)
    return d.emit({ALLOWED: config}, choice, w.log)
