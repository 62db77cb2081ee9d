"""Requests of Cohere's, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core import fitting
from ...core.fields import Field, Fields, flag, number, strings, whole
from ...core.models import UNKNOWN
from ...core.reading import (
    as_dict,
    maybe_bool,
    maybe_dict,
    maybe_int,
    maybe_list,
    maybe_str,
    need_list,
)
from ...ledger import Ledger
from ...model import Json, OutputFormat, Params, Request, Thinking, Tool
from ...tools import freeform
from . import documents
from .documents import CohereWriting, last_question
from .messages import read_history, write_history
from .tools import read_choice, read_tool_list, write_choice, write_tool_list

if TYPE_CHECKING:
    from . import Cohere


# https://docs.cohere.com/reference/chat, and "temperature must be between 0 and 1.0 inclusive."
FIELDS = Fields(
    Field("max_tokens", whole),
    Field("temperature", number, least=0, most=1),
    Field("top_p", number, "p", least=0.01, most=0.99),
    Field("top_k", whole, "k", least=0, most=500),
    Field("seed", whole),
    Field("frequency_penalty", number, least=0, most=1),
    Field("presence_penalty", number, least=0, most=1),
    Field("logprobs", flag),
    Field("stream", flag),
    Field("stop", strings, "stop_sequences", count=5),
    methods={"output": ("response_format",), "thinking": ("thinking",)},
    keys=(
        "model", "messages", "tools", "strict_tools", "tool_choice", "documents",
        "response_format", "thinking",
    ),
)  # fmt: skip
MOST_FIELDS = 200


def read_request(d: Cohere, doc: Json) -> Request:
    doc = as_dict(doc, "")
    taken = set(FIELDS.taken)
    messages = read_history(d, need_list(doc, "messages", ""), "/messages")
    if maybe_list(doc, "documents", ""):
        if last_question(messages) is None:
            taken.discard("documents")  # nobody asked anything that they could belong to
        else:
            messages = documents.read_documents(d, doc["documents"], messages)
    strict = maybe_bool(doc, "strict_tools", "")
    tools = None
    if doc.get("tools") is not None:
        tools = read_tool_list(d, doc["tools"], "/tools", strict or None)
    if strict and not tools:
        taken.discard("strict_tools")  # there are no tools that could be strict
    choice = maybe_str(doc, "tool_choice", "")
    params = read_params(d, doc, taken)
    tree = Request(
        maybe_str(doc, "model", ""),
        tuple(messages),
        tools,
        None if choice is None else read_choice(d, choice, "/tool_choice"),
        params,
        dialect=d.name,
        extras=d.keep(doc, taken),
    )
    return freeform.unwrap_calls(tree)


def write_request(d: Cohere, tree: Request, log: Ledger) -> Json:
    w = CohereWriting(log, d.is_same(tree.dialect))
    facts = w.address(d.vendor, tree.model)
    if facts is not UNKNOWN:
        tree = fitting.without_media(fitting.fit(tree, facts, log), facts, log)
    form = tree.params.output
    tools = write_tool_list(d, tree.tools or (), w)
    # "invalid request: response_format is not supported with RAG."
    w.beside = w.same or form is None or form.kind == "text"
    out: dict[str, Json] = {}
    if tree.model is not None:
        out["model"] = tree.model
    out["messages"] = write_history(d, tree.messages, w)
    if w.documents:
        out["documents"] = w.documents
    if tools:
        out["tools"] = tools
        write_strict(d, out, tree.tools or (), w)
    if tree.tool_choice is not None:
        if (choice := write_choice(d, tree.tool_choice, w)) is not None:
            out["tool_choice"] = choice
    write_params(d, out, tree, w)
    return d.emit(out, tree, log)


def write_strict(
    d: Cohere, out: dict[str, Json], tools: tuple[Tool, ...], w: CohereWriting
) -> None:
    """All tools are strict here, or none is."""
    strict = [tool for tool in tools if tool.strict]
    functions = [tool for tool in tools if tool.kind != "hosted"]
    why = f"{d.name} requires all tools to be strict, or none"
    if strict and strict == functions:
        written = [tool["function"].get("parameters") for tool in out["tools"]]
        why = "" if w.same else why_not_strict(written)
        if not why:
            out["strict_tools"] = True
            return
    for tool in strict:
        w.log.dropped("tool.strict", tool.at, why)


def read_params(d: Cohere, doc: dict[str, Json], taken: set[str]) -> Params:
    ats: dict[str, str] = {}
    given = FIELDS.read(doc, ats, {}, taken)
    form = maybe_dict(doc, "response_format", "")
    thinking = maybe_dict(doc, "thinking", "")
    output = None if form is None else read_output(d, form)
    if output is None:
        taken.discard("response_format")
    config = None if thinking is None else read_thinking(d, thinking)
    if config is None:
        taken.discard("thinking")
    return Params(**given, output=output, thinking=config, ats=ats)


def write_params(d: Cohere, out: dict[str, Json], tree: Request, w: CohereWriting) -> None:
    params = FIELDS.write(out, tree.params, w, d.name)
    if params is None:
        return
    if params.output is not None:
        write_output(d, out, params.output, w)
    if params.thinking is not None:
        write_thinking(d, out, params.thinking, w)
    d.lose(params.extras, params.at, w.log)


def read_output(d: Cohere, form: dict[str, Json]) -> OutputFormat | None:
    """``json_schema`` beside the type; older clients call it ``schema``."""
    at = "/response_format"
    if form.get("type") == "text":
        return OutputFormat("text", at=at, extras=d.keep(form, ("type",)))
    if form.get("type") != "json_object":
        return None
    key = "json_schema" if form.get("json_schema") is not None else "schema"
    schema = form.get(key)
    if schema is None:
        return OutputFormat("json", at=at, extras=d.keep(form, ("type", "json_schema")))
    return OutputFormat("schema", schema=schema, at=at, extras=d.keep(form, ("type", key)))


def write_output(d: Cohere, out: dict[str, Json], form: OutputFormat, w: CohereWriting) -> None:
    if form.kind == "text" and not w.same:
        d.lose(form.extras, form.at, w.log)
        return  # as it goes without saying
    written: dict[str, Json] = {"type": "text" if form.kind == "text" else "json_object"}
    if form.kind == "schema":
        written["json_schema"] = form.schema
    out["response_format"] = d.emit(written, form, w.log)


def read_thinking(d: Cohere, doc: dict[str, Json]) -> Thinking | None:
    modes = {"enabled": "on", "disabled": "off"}
    kind = doc.get("type")
    if kind.__class__ is not str or kind not in modes:
        return None
    return Thinking(
        modes[kind],  # type: ignore[arg-type]
        budget=maybe_int(doc, "token_budget", "/thinking"),
        at="/thinking",
        extras=d.keep(doc, ("type", "token_budget")),
    )


def write_thinking(d: Cohere, out: dict[str, Json], config: Thinking, w: CohereWriting) -> None:
    if config.mode is None and config.budget is None:
        d.lose(config.extras, config.at, w.log)
        return
    written: dict[str, Json] = {"type": "disabled" if config.mode == "off" else "enabled"}
    if config.budget is not None:
        written["token_budget"] = config.budget
    out["thinking"] = d.emit(written, config, w.log)


def why_not_strict(schemas: list[Json]) -> str:
    """Why tools with these parameters cannot be strict; empty where they can.

    https://docs.cohere.com/docs/tool-use-parameter-types#important-notes: "At least one required
    parameter must be specified", and "a maximum of 200 fields across all tools".
    """
    if not all(schema.get("required") for schema in schemas if schema.__class__ is dict):
        return "cohere requires a required parameter in every strict tool"
    if sum(map(fields_in, schemas)) > MOST_FIELDS:
        return f"cohere allows at most {MOST_FIELDS} parameters in all strict tools together"
    return ""


def fields_in(schema: Json) -> int:
    """How many properties a schema describes, those of its parts included."""
    if schema.__class__ is list:
        return sum(map(fields_in, schema))
    if schema.__class__ is not dict:
        return 0
    table = schema.get("properties")
    own = len(table) if table.__class__ is dict else 0
    return own + sum(map(fields_in, schema.values()))
