"""Requests of Chat Completions, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core import fitting
from ...core.fields import Field, Fields, flag, mapping, number, strings, text, whole
from ...core.lowering.thinking import repaired
from ...core.models import UNKNOWN
from ...core.plain import Turn, is_asked
from ...core.reading import as_dict, maybe_bool, maybe_str, need_list, need_str
from ...core.writing import Writing
from ...ledger import Ledger
from ...lint.rules import JSON_PLEASE, JSON_WORD, says_json
from ...model import (
    Extras,
    History,
    Json,
    Message,
    OutputFormat,
    Params,
    Request,
    Thinking,
    Tool,
    ToolChoice,
)
from ...tools import freeform, schemas
from .._openai import short_labels, short_user
from . import signing
from .messages import read_turns
from .tools import read_legacy_tools, read_tool_list, write_tool_list

if TYPE_CHECKING:
    from . import OpenAIChat


TIERS = ("auto", "default", "flex", "scale", "priority", "fast")
COUNTED: dict[str, Json] = {"include_usage": True}
CALLING = frozenset({"tools", "functions", "tool_choice", "function_call", "parallel_tool_calls"})
FIELDS = Fields(
    Field("max_tokens", whole, "max_completion_tokens", also=("max_tokens",), least=1),
    Field("temperature", number, least=0, most=2),
    Field("top_p", number, least=0, most=1),
    Field("frequency_penalty", number, least=-2, most=2),
    Field("presence_penalty", number, least=-2, most=2),
    Field("seed", whole),
    Field("candidates", whole, "n", least=1, most=128),
    Field("logit_bias", mapping),
    Field("logprobs", flag),
    Field("top_logprobs", whole, least=0, most=20),
    Field("verbosity", text),
    Field("stream", flag),
    Field("metadata", mapping, fit=short_labels),
    Field("cache_key", text, "prompt_cache_key"),
    Field("store", flag, silent=False),  # which is what no value means in other dialects
    Field("stop", strings, single=True, count=4),
    Field("user_id", text, "safety_identifier", also=("user",), fit=short_user),
    Field("service_tier", text, among=TIERS),
    methods={"output": ("response_format",), "thinking": ("reasoning_effort",)},
    keys=(
        "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "reasoning_effort",
    ),
)  # fmt: skip
OLD_LIMIT = Field("max_tokens", whole, also=("max_completion_tokens",), least=1)
"""The limit of servers that know it by its old name."""


def read_plain(d: OpenAIChat, doc: Json) -> tuple[Request, list[Turn]] | None:
    docs = doc.get("messages") if doc.__class__ is dict else None
    turns = read_turns(docs) if docs is not None and is_asked(docs) else None
    return None if turns is None else (read_around(d, doc, ()), turns)


def read_request(d: OpenAIChat, doc: Json) -> Request:
    return read_around(d, as_dict(doc, ""), None)


def read_around(d: OpenAIChat, doc: dict[str, Json], messages: Sequence[Message] | None) -> Request:
    """A request with these messages; None: they are read as well."""
    taken: set[str] = set()  # beside what is always taken
    spelling: dict[str, Json] = {}
    if messages is None:
        messages = d.read_history(need_list(doc, "messages", ""), "/messages")
    tools = choice = None
    if not CALLING.isdisjoint(doc):
        tools = read_request_tools(d, doc, taken)
        choice = read_request_choice(d, doc, taken)
    params = d.read_params(doc, taken, spelling)
    if params.stream and doc.get("stream_options") == COUNTED:
        taken.add("stream_options")
    tree = Request(
        maybe_str(doc, "model", ""),
        tuple(messages),
        tools,
        choice,
        params,
        dialect=d.name,
        extras=d.keep(doc, d.fields.all_taken(taken), spelling),
    )
    return tree if d.can.freeform == "native" else freeform.unwrap_calls(tree)


def write_request(d: OpenAIChat, tree: Request, log: Ledger) -> Json:
    w = d.writing(log, tree.dialect)
    out: dict[str, Json] = {}
    if tree.model is not None:
        out["model"] = tree.model
    facts = w.address(d.vendor, tree.model)
    if facts is not UNKNOWN:
        tree = fitting.fit(tree, facts, log)
    w.signed = signing.is_addressed(tree.model, log.models)
    d.write_params(out, tree, w)
    if tree.tools is not None:
        write_request_tools(d, out, tree.tools, w)
    if tree.tool_choice is not None:
        write_request_choice(d, out, tree.tool_choice, w)
    out["messages"] = d.write_history(tree.messages, w)
    if "response_format" in out and "json-word" in d.rules and not w.same:
        say_json(d, out, tree, log)
    if tree.params.stream and d.asks_for_usage:
        out["stream_options"] = dict(COUNTED)  # elsewhere, streams always count
    return d.emit(out, tree, log)


def fit_model(d: OpenAIChat, tree: Request, log: Ledger) -> Request:
    facts = log.models.facts(d.vendor, tree.model)
    tree = fitting.without_media(repaired(tree, d, facts, log), facts, log)
    spelled = d.spelling(tree).get("max_tokens")
    usual = d.fields["max_tokens"].key
    if facts.limit_key not in (None, spelled or usual) and tree.extras is not None:
        why = f"{spelled} is not supported by {tree.model}; {facts.limit_key} is written"
        log.renamed("max_tokens", tree.params.where("max_tokens"), why)
        rest = {k: v for k, v in tree.extras.spelling.items() if k != "max_tokens"}
        tree = replace(tree, extras=replace(tree.extras, spelling=rest))
    return tree


def say_json(d: OpenAIChat, out: dict[str, Json], tree: Request, log: Ledger) -> None:
    """ "'messages' must contain the word 'json' in some form" """
    if out["response_format"].get("type") == "json_object" and not says_json(out["messages"]):
        assert tree.params.output is not None
        log.invented("output", tree.params.output.at, JSON_WORD)
        facts = log.models.facts(d.vendor, tree.model)
        role = "user" if facts.system_prompt is False else "system"
        out["messages"] = [{"role": role, "content": JSON_PLEASE}, *out["messages"]]


def read_messages(d: OpenAIChat, doc: Json) -> History:
    """A history is a bare list; an object that holds one is tolerated."""
    if doc.__class__ is list:
        return History(tuple(d.read_history(doc, "")), dialect=d.name)
    doc = as_dict(doc, "")
    messages = d.read_history(need_list(doc, "messages", ""), "/messages")
    extras = d.keep(doc, ("messages",)) or Extras(d.name)  # of a list there are none
    return History(tuple(messages), dialect=d.name, extras=extras)


def write_messages(d: OpenAIChat, tree: History, log: Ledger) -> Json:
    messages = d.write_history(tree.messages, d.writing(log, tree.dialect))
    if tree.extras is not None and d.is_same(tree.extras.dialect):
        return d.emit({"messages": messages}, tree, log)
    d.lose(tree.extras, tree.at, log)
    return messages


def read_request_tools(
    d: OpenAIChat, doc: dict[str, Json], taken: set[str]
) -> tuple[Tool, ...] | None:
    if doc.get("tools") is not None:
        return read_tool_list(d, doc["tools"], "/tools")
    if doc.get("functions") is not None:
        taken.add("functions")
        return read_legacy_tools(d, doc["functions"])
    return None


def write_request_tools(
    d: OpenAIChat, out: dict[str, Json], tools: tuple[Tool, ...], w: Writing
) -> None:
    if (docs := write_tool_list(d, tools, w)) or w.same:
        out["tools"] = docs


def read_request_choice(d: OpenAIChat, doc: dict[str, Json], taken: set[str]) -> ToolChoice | None:
    choice = doc.get("tool_choice")
    parallel = maybe_bool(doc, "parallel_tool_calls", "")
    legacy = doc.get("function_call")
    if choice is None and legacy is not None and doc.get("functions") is not None:
        taken.add("function_call")
        at = "/function_call"
        if legacy.__class__ is str:
            return d.read_choice(legacy, parallel, at)
        name = need_str(as_dict(legacy, at), "name", at)
        return ToolChoice("named", name, parallel=parallel, dialect=d.name, at=at)
    if choice is None and parallel is None:
        return None
    return d.read_choice(choice, parallel, "/tool_choice")


def write_request_choice(
    d: OpenAIChat, out: dict[str, Json], choice: ToolChoice, w: Writing
) -> None:
    if (written := d.write_choice(choice, w)) is not None:
        out["tool_choice"] = written
    if choice.parallel is not None and (w.same or not choice.parallel):
        out["parallel_tool_calls"] = choice.parallel


def read_params(
    d: OpenAIChat, doc: dict[str, Json], taken: set[str], spelling: dict[str, Json]
) -> Params:
    fields = d.fields
    if (usual := fields.usual(doc)) is not None:
        return usual
    ats: dict[str, str] = {}
    given = fields.read(doc, ats, spelling, taken)
    if not fields.special.isdisjoint(doc):
        given["output"] = d.read_output(doc, taken)
        given["thinking"] = d.read_effort(doc, taken)
    return Params(**given, ats=ats)


def write_params(d: OpenAIChat, out: dict[str, Json], tree: Request, w: Writing) -> None:
    fields, log = d.table(tree, w), w.log
    params = fields.write(out, tree.params, w, d.name, d.spelling(tree))
    if params is None:
        return
    if "top_logprobs" in out and "logprobs" not in out and not w.same:
        # "top_logprobs is only allowed when logprobs is enabled"
        out["logprobs"] = True
        why = f"{d.name} requires logprobs with top_logprobs"
        log.invented("logprobs", params.where("top_logprobs"), why)
    if params.thinking is not None:
        d.write_effort(out, params.thinking, w)
    output = params.output
    if output is not None and (w.same or output.kind != "text" or output.extras is not None):
        out["response_format"] = d.write_output(output, w)
    d.lose(params.extras, params.at, log)


def table(d: OpenAIChat, tree: Request, w: Writing) -> Fields:
    """The parameters that may be written, where that depends on the model or the request."""
    return d.fields


def read_effort(d: OpenAIChat, doc: dict[str, Json], taken: set[str]) -> Thinking | None:
    effort = maybe_str(doc, "reasoning_effort", "")
    if effort is None:
        return None
    if effort == "none":
        return Thinking("off", at="/reasoning_effort")
    return Thinking(effort=effort, at="/reasoning_effort")


def write_effort(d: OpenAIChat, out: dict[str, Json], config: Thinking, w: Writing) -> None:
    effort = "none" if config.mode == "off" else config.effort
    if effort is not None:
        out["reasoning_effort"] = effort
    d.lose(config.extras, config.at, w.log)


def read_output(d: OpenAIChat, doc: dict[str, Json], taken: set[str]) -> OutputFormat | None:
    form = doc.get("response_format")
    at = "/response_format"
    if form.__class__ is not dict:
        return None
    kind = form.get("type")
    if kind in ("text", "json_object"):
        taken.add("response_format")
        word = "json" if kind == "json_object" else "text"
        return OutputFormat(word, at=at, extras=d.keep(form, ("type",)))  # type: ignore[arg-type]
    inner = form.get("json_schema")
    if kind != "json_schema" or inner.__class__ is not dict:
        return None
    taken.add("response_format")
    known = ("name", "description", "schema", "strict")
    where = f"{at}/json_schema"
    return OutputFormat(
        "schema",
        maybe_str(inner, "name", where),
        maybe_str(inner, "description", where),
        inner.get("schema"),
        maybe_bool(inner, "strict", where),
        "/json_schema/schema" if "schema" in inner else None,
        at=at,
        extras=d.keep(form, ("type",), partly={"json_schema": known}),
    )


def write_output(d: OpenAIChat, form: OutputFormat, w: Writing) -> Json:
    if form.kind != "schema":
        kind = "json_object" if form.kind == "json" else "text"
        return d.emit({"type": kind}, form, w.log)
    inner: dict[str, Json] = {}
    if form.name is not None:
        inner["name"] = form.name
    for key in ("description", "schema", "strict"):
        if (value := getattr(form, key)) is not None:
            inner[key] = value
    if form.strict and d.enforces and not w.same and form.schema is not None:
        inner["schema"], strict = schemas.strictly(form, form.schema, schemas.OPENAI, w.log)
        inner["strict"] = strict or False
    return d.emit({"type": "json_schema", "json_schema": inner}, form, w.log)
