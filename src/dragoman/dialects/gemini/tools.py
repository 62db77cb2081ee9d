"""Tool definitions and tool choice of the Gemini API, both ways.

Functions are declared together: an entry of ``tools`` holds a list of them, and may hold tools of
the provider beside it. The tree has them one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.reading import as_dict, as_str, escape, expected, maybe_str, need_str, only
from ...core.resuming import read_once, write_once
from ...core.writing import Writing
from ...ledger import Ledger
from ...model import Extras, Json, Tool, Toolbox, ToolChoice
from ...tools import freeform, schemas
from . import parts, turns
from .schema import Saying, write_parameters
from .spelling import both, pick, pick_dict, snake

if TYPE_CHECKING:
    from . import Gemini


TOOL_KEYS = frozenset({"name", "description"})
PLAIN_TOOL = only("name", "description", "parametersJsonSchema")
DECLARATIONS = ("functionDeclarations", "function_declarations")
# https://ai.google.dev/api/caching#Mode_1
MODES = {"AUTO": "auto", "ANY": "required", "NONE": "none"}
MODE_WORDS = {mode: word for word, mode in MODES.items()} | {"named": "ANY"}
CHOICE_KEYS = both("mode", "allowedFunctionNames")
# What other dialects call the same service.
SERVICES = {
    "google_search": "web_search",
    "google_search_retrieval": "web_search",
    "url_context": "web_fetch",
    "code_execution": "code_execution",
    "file_search": "file_search",
    "computer_use": "computer_use",
    "google_maps": "maps",
    "mcp_servers": "mcp",
}


def read_tools(d: Gemini, doc: Json) -> Toolbox:
    return Toolbox(read_tool_list(d, doc, ""), dialect=d.name)


def write_tools(d: Gemini, tree: Toolbox, log: Ledger) -> Json:
    out = write_tool_list(d, tree.tools, turns.writing(d, log, tree.dialect))
    d.lose(tree.extras, tree.at, log)
    return out


@read_once
def read_tool_list(d: Gemini, docs: Json, at: str) -> tuple[Tool, ...]:
    """The tools; a single entry may stand without its list."""
    if docs.__class__ is dict:
        return tuple(read_entry(d, docs, at))
    if docs.__class__ is not list:
        expected("a list", docs, at)
    out: list[Tool] = []
    for index, doc in enumerate(docs):
        where = f"{at}/{index}"
        out += read_entry(d, as_dict(doc, where), where)
    return tuple(out)


@write_once
def write_tool_list(d: Gemini, tools: tuple[Tool, ...], w: Saying) -> list[Json]:
    out: list[Json] = []
    functions: list[Json] | None = None  # those of the last entry
    w.look_at(tools)
    for tool in tools:
        if tool.kind == "hosted":
            out.append(tool.payload)
            d.lose(tool.extras, tool.at, w.log)
            functions = None
            continue
        if functions is None:
            functions = []
            out.append({DECLARATIONS[0]: functions})
        functions.append(write_tool(d, tool, w))
    return out


def read_entry(d: Gemini, doc: dict[str, Json], at: str) -> list[Tool]:
    out: list[Tool] = []
    rest = {key: value for key, value in doc.items() if key not in DECLARATIONS}
    for key in DECLARATIONS:
        docs = doc.get(key)
        if docs.__class__ is list and docs:
            for index, item in enumerate(docs):
                where = f"{at}/{key}/{index}"
                out.append(read_tool(d, as_dict(item, where), where, key))
        elif docs is not None and docs.__class__ is not list:
            expected("a list", docs, f"{at}/{key}")
        elif key in doc:
            rest[key] = docs  # null, or nobody
    for key, value in rest.items():
        if value is not None or not out:
            out.append(read_hosted_tool(d, key, value, f"{at}/{escape(key)}"))
    if not out:
        return [Tool("", kind="hosted", service="", dialect=d.name, payload={}, at=at)]
    return out


def read_hosted_tool(d: Gemini, key: str, value: Json, at: str) -> Tool:
    name = snake(key)
    service = SERVICES.get(name, name)
    return Tool(name, kind="hosted", service=service, dialect=d.name, payload={key: value}, at=at)


def read_tool(d: Gemini, doc: dict[str, Json], at: str, key: str) -> Tool:
    if key == DECLARATIONS[0] and PLAIN_TOOL(doc):
        name, description = doc.get("name"), doc.get("description")
        if name.__class__ is description.__class__ is str and freeform.MARK not in description:
            if (schema := doc.get("parametersJsonSchema")) is not None:
                return Tool(name, description, schema, at=at)  # the usual shape
    name, description = need_str(doc, "name", at), maybe_str(doc, "description", at)
    own, key = pick(doc, "parametersJsonSchema")
    schema = own
    if own is None and (own := doc.get("parameters")) is not None:
        key, schema = "parameters", schemas.from_openapi(own)
    schema_at = f"/{key}" if own is not None and schema == own else None
    extras = d.keep(doc, TOOL_KEYS | {key})
    if (found := freeform.unwrap(description, schema)) is not None:
        description, grammar = found
        return Tool(name, description, kind="custom", grammar=grammar, at=at, extras=extras)
    return Tool(name, description, schema, at=at, extras=extras, schema_at=schema_at)


def write_tool(d: Gemini, tool: Tool, w: Saying) -> Json:
    tool = freeform.as_function(tool)
    out: dict[str, Json] = {"name": w.tool_name(tool.name, tool.at)}
    schema = tool.schema
    if tool.description is not None:
        out["description"] = tool.description
    if schema is not None:
        if w.same or (w.plain and schema.__class__ is dict and "type" in schema):
            out["parametersJsonSchema"] = schema
        else:
            if w.own and freeform.unwrap(tool.description, schema) is not None:
                schema = freeform.LOOSE
            write_parameters(out, tool, schema, w)
    return out if tool.extras is None else parts.emit(d, out, tool, w.log)


def read_tool_choice(d: Gemini, doc: Json) -> ToolChoice:
    return read_choice(d, as_dict(doc, ""), "")


def write_tool_choice(d: Gemini, tree: ToolChoice, log: Ledger) -> Json:
    return write_choice(d, tree, turns.writing(d, log, tree.dialect))


def read_choice(d: Gemini, doc: dict[str, Json], at: str) -> ToolChoice:
    """``toolConfig``: the mode and the names are in one of its objects."""
    config, where = pick_dict(doc, "functionCallingConfig", at)
    if config is None:
        return ToolChoice(dialect=d.name, at=at, extras=d.keep(doc, ()))
    word = maybe_str(config, "mode", where)
    names, key = pick(config, "allowedFunctionNames")
    if names is not None and names.__class__ is not list:
        expected("a list", names, f"{where}/{key}")
    allowed = tuple(as_str(name, f"{where}/{key}") for name in names or ()) or None
    mode = MODES.get((word or "").upper())
    taken = CHOICE_KEYS
    name = None
    if mode is None:  # VALIDATED: as the model likes, but by the schema
        mode = "auto" if word is not None else None
        taken = CHOICE_KEYS - {"mode"}
    if mode == "required" and allowed is not None and len(allowed) == 1:
        mode, name, allowed = "named", allowed[0], None
    extras = d.keep(doc, (), partly={where[len(at) + 1 :]: taken})
    return ToolChoice(
        mode,  # type: ignore[arg-type]
        name,
        allowed=allowed,
        dialect=d.name,
        at=at,
        extras=extras,
    )


def write_choice(d: Gemini, choice: ToolChoice, w: Writing) -> Json:
    config: dict[str, Json] = {}
    if choice.mode is not None and not has_own_mode(d, choice.extras):
        config["mode"] = MODE_WORDS[choice.mode]
    if choice.mode == "named":
        config["allowedFunctionNames"] = [w.tool_name(choice.name or "", choice.at)]
        if choice.kind == "hosted":
            w.log.approximated(
                "tool_choice", choice.at, f"{d.name} can require functions only, no hosted tools"
            )
    elif choice.allowed is not None:
        write_allowed(d, config, choice, choice.allowed, w)
    return parts.emit(d, {"functionCallingConfig": config}, choice, w.log)


def has_own_mode(d: Gemini, extras: Extras | None) -> bool:
    """Whether the mode is a word that only this API has."""
    if extras is None or not d.is_same(extras.dialect):
        return False
    return any("mode" in (extras.fields.get(key) or {}) for key in extras.inner)


def write_allowed(
    d: Gemini, config: dict[str, Json], choice: ToolChoice, allowed: tuple[str, ...], w: Writing
) -> None:
    """ "allowedFunctionNames [...] should only be set when the Mode is ANY or VALIDATED." """
    if choice.mode == "auto" and not w.same:
        config["mode"] = "VALIDATED"
        why = f"{d.name} allows a subset of tools only with mode VALIDATED or ANY"
        w.log.approximated("tool_choice.allowed", choice.at, why)
    elif len(allowed) == 1 and not w.same:
        w.log.approximated(
            "tool_choice.allowed", choice.at, f"{d.name} requires a call of the one allowed tool"
        )
    config["allowedFunctionNames"] = [w.tool_name(name, choice.at) for name in allowed]
