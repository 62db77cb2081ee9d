"""Requests of the Anthropic Messages API, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.fields import Field, Fields, flag, number, strings, text, whole
from ...core.lowering.prefill import is_begun
from ...core.models import UNKNOWN
from ...core.plain import Turn
from ...core.reading import as_dict, expected, maybe_dict, maybe_str, need_list
from ...core.resuming import read_once
from ...core.turns import SILENCE
from ...core.writing import Writing
from ...ledger import Ledger
from ...model import (
    History,
    Json,
    Message,
    OutputFormat,
    Params,
    Request,
    Text,
    Thinking,
    Tool,
    ToolChoice,
    Tree,
)
from ...tools import freeform, schemas
from .._claude import (
    CONTINUE,
    EXCLUDED,
    as_custom,
    ends_in_words,
    fit,
    is_excluded,
    no_prefill,
    note_prefill,
    read_thinking,
    repaired,
    surplus_marks,
    write_thinking,
)
from .._claude_turns import (
    WITHOUT_THINKING,
    apart,
    lacks_thinking,
    why_unthinking,
    without_final_space,
    without_final_thinking,
)
from .blocks import read_blocks, read_cache, write_cache
from .tools import read_choice, read_tool_list, write_choice, write_tool_list, writing
from .turns import read_history, read_turns, write_conversation

if TYPE_CHECKING:
    from . import AnthropicMessages


DEFAULT_MAX_TOKENS = 8192
"""What is sent when the source names no limit; every current model accepts it."""


FIELDS = Fields(
    Field("max_tokens", whole),
    Field("temperature", number, least=0, most=1.0),
    Field("top_p", number, least=0, most=1),
    Field("top_k", whole),
    Field("stream", flag),
    Field(
        "stop", strings, "stop_sequences", only=str.strip,
        why="{target} accepts no stop string of white space alone",
    ),
    Field("user_id", text, "metadata/user_id"),
    Field("service_tier", text, among=("auto", "standard_only")),
    methods={
        "cache": ("cache_control",),
        "thinking": ("thinking", "output_config"),
        "output": ("output_config", "output_format"),
    },
    keys=("model", "messages", "system", "tools", "tool_choice", "cache_control"),
)  # fmt: skip


def read_plain(d: AnthropicMessages, doc: Json) -> tuple[Request, list[Turn]] | None:
    turns = read_turns(doc) if doc.__class__ is dict else None
    return None if turns is None else (read_around(d, doc, []), turns)


def read_request(d: AnthropicMessages, doc: Json) -> Request:
    return read_around(d, as_dict(doc, ""), None)


def read_around(
    d: AnthropicMessages, doc: dict[str, Json], messages: list[Message] | None
) -> Request:
    """A request with these messages; None: they are read as well."""
    tools = doc.get("tools")
    tools = None if tools is None else read_tool_list(d, tools, "/tools")
    if messages is None:
        messages = read_conversation(d, doc, tools)
    stated = maybe_dict(doc, "tool_choice", "")
    choice = None if stated is None else read_choice(d, stated, "/tool_choice")
    params, partly = read_params(d, doc)
    return Request(
        maybe_str(doc, "model", ""),
        tuple(messages),
        tools,
        as_custom(choice, tools),
        params,
        True if messages and is_begun(messages[-1]) else None,
        dialect=d.name,
        extras=d.keep(doc, FIELDS.taken, partly=partly),
    )


def write_request(d: AnthropicMessages, tree: Request, log: Ledger) -> Json:
    w = writing(d, log, tree.dialect)
    out: dict[str, Json] = {}
    if tree.model is not None:
        out["model"] = tree.model
    facts = w.address(d.vendor, tree.model)
    if not w.same:
        if facts is not UNKNOWN or tree.params.thinking is not None:
            tree = fit(tree, facts, log)
        tree = apart(tree, d, log)
    write_params(d, out, tree, w)
    # Texts alone of which the last one is the user's: there is nothing about their end.
    asked = tree.messages is log.plain and log.turns[-1][0] != "assistant" and not tree.prefill
    if not (asked or w.same or (ends_in_words(tree) and no_prefill(tree, facts, thinks(out)))):
        if tree.messages is not log.plain:
            if "thinking" not in out or out["thinking"]["type"] == "disabled":
                tree = without_final_thinking(tree, log)
        tree = without_final_space(tree, log)
    # Tools come before the system prompt and the messages: that is the order of the cache.
    if tree.tools is not None:
        tools = write_tool_list(d, tree.tools, w)
        if tools:
            out["tools"] = tools
    if tree.tool_choice is not None:
        write_request_choice(d, out, tree, tree.tool_choice, w)
    write_conversation(d, out, tree.messages, w)
    if not (out["messages"] or w.same):
        # "messages: at least one message is required"
        d.add_user_turn(tree.at, log)
        out["messages"] = [{"role": "user", "content": SILENCE}]
    for doc in surplus_marks(d, w) if w.marks else ():
        del doc["cache_control"]
    turns = out["messages"]
    if not (asked or w.same) and tree.messages and turns:
        refused = no_prefill(tree, facts, thinks(out))
        note_prefill(d, tree, turns, refused, CONTINUE, is_beginning(turns[-1]), log)
    if "thinking" in out and not w.same and not log.restores:
        fit_thinking(out, tree, log)
    return d.emit(out, tree, log)


def restored(d: AnthropicMessages, document: Json, tree: Tree, log: Ledger) -> Json:
    if d.is_same(tree.dialect) or not isinstance(tree, Request):
        return document
    if not isinstance(document.get("thinking"), dict) or not thinks(document):
        return document
    why = why_unthinking(document["messages"], is_result, is_thinking)
    if why is None:
        return document
    asked = tree.params.thinking  # None: the capsule alone has it
    log.dropped("thinking", asked.at if asked is not None else "", why)
    return {key: value for key, value in document.items() if key != "thinking"}


def fit_thinking(out: dict[str, Json], tree: Request, log: Ledger) -> None:
    """In the middle of a tool loop, thinking needs the thinking block that began it."""
    config = tree.params.thinking
    if config is None or not thinks(out):
        return
    if lacks_thinking(out["messages"], is_result, is_thinking):
        del out["thinking"]
        log.dropped("thinking", config.at, WITHOUT_THINKING)


def fit_model(d: AnthropicMessages, tree: Request, log: Ledger) -> Request:
    return repaired(tree, d, log.models.facts(d.vendor, tree.model), log)


def read_messages(d: AnthropicMessages, doc: Json) -> History:
    if doc.__class__ is list:
        return History(tuple(read_history(d, doc, "", frozenset())), dialect=d.name)
    doc = as_dict(doc, "")
    messages = read_conversation(d, doc, None)
    extras = d.keep(doc, ("messages", "system"))
    return History(tuple(messages), dialect=d.name, extras=extras)


def write_messages(d: AnthropicMessages, tree: History, log: Ledger) -> Json:
    out: dict[str, Json] = {}
    write_conversation(d, out, tree.messages, writing(d, log, tree.dialect))
    return d.emit(out, tree, log)


def write_request_choice(
    d: AnthropicMessages, out: dict[str, Json], tree: Request, choice: ToolChoice, w: Writing
) -> None:
    if not w.same:
        if choice.mode is None and choice.parallel is not False:
            return  # as usual
        if is_excluded(choice, tree.params):
            w.log.approximated("tool_choice", choice.at, EXCLUDED)
            choice = replace(choice, mode="auto", name=None, allowed=None)
    out["tool_choice"] = write_choice(d, choice, w)


def read_conversation(
    d: AnthropicMessages, doc: dict[str, Json], tools: tuple[Tool, ...] | None
) -> list[Message]:
    """System prompt and messages."""
    custom = freeform.names_of(d, tools or (), "/tools")
    messages = read_history(d, need_list(doc, "messages", ""), "/messages", custom)
    system = doc.get("system")
    if system is None:
        return messages
    if system == []:
        return messages
    return [read_system(d, system, "/system"), *messages]


@read_once
def read_system(d: AnthropicMessages, system: Json, at: str) -> Message:
    if system.__class__ is str:
        return Message("system", (Text(system, at=at),), at=at)
    if system.__class__ is not list:
        expected("a string or a list", system, at)
    return Message("system", tuple(read_blocks(d, system, at)), at=at)


def read_params(
    d: AnthropicMessages, doc: dict[str, Json]
) -> tuple[Params, dict[str, tuple[str, ...]]]:
    partly: dict[str, tuple[str, ...]] = {}
    if (usual := FIELDS.usual(doc)) is not None:
        return usual, partly
    ats: dict[str, str] = {}
    given = FIELDS.read(doc, ats, {}, set(), partly)
    if not FIELDS.special.isdisjoint(doc):
        given["thinking"] = read_thinking_config(doc, partly)
        given["output"] = read_output(d, doc, partly)
        given["cache"] = read_cache(d, doc, "")
    return Params(**given, ats=ats), partly


def write_params(d: AnthropicMessages, out: dict[str, Json], tree: Request, w: Writing) -> None:
    given = tree.params
    if given.max_tokens is None and not w.same:
        given = with_limit(d, given, w)
    if (params := d.fields.write(out, given, w, d.name)) is None:
        return
    if params.cache is not None:
        out["cache_control"] = write_cache(d, params.cache, w)
    if params.thinking is not None:
        write_thinking_config(d, out, params.thinking, w)
    if params.output is not None:
        write_output(d, out, params.output, w)
    d.lose(params.extras, params.at, w.log)


def with_limit(d: AnthropicMessages, params: Params, w: Writing) -> Params:
    limit = DEFAULT_MAX_TOKENS
    if params.thinking is not None and params.thinking.budget is not None:
        limit += params.thinking.budget  # "max_tokens must be greater than budget_tokens"
    limit = min(limit, w.facts.max_tokens or limit)
    w.log.invented("max_tokens", "", f"{d.name} requires max_tokens; {limit} is written")
    return replace(params, max_tokens=limit)


def read_thinking_config(
    doc: dict[str, Json], partly: dict[str, tuple[str, ...]]
) -> Thinking | None:
    thinking = maybe_dict(doc, "thinking", "")
    config = maybe_dict(doc, "output_config", "")
    effort = None if config is None else maybe_str(config, "effort", "/output_config")
    if config is not None:
        partly["output_config"] = ("effort",)
    asked = None if thinking is None else read_thinking(thinking, effort, "/thinking")
    if asked is not None:
        partly["thinking"] = ("type", "budget_tokens", "display")
    elif effort is not None:
        return Thinking(effort=effort, at="/output_config/effort")
    return asked


def write_thinking_config(
    d: AnthropicMessages, out: dict[str, Json], config: Thinking, w: Writing
) -> None:
    if (thinking := write_thinking(config)) is not None:
        out["thinking"] = thinking
    if config.effort is not None:
        out["output_config"] = {"effort": config.effort}
    d.lose(config.extras, config.at, w.log)


def read_output(
    d: AnthropicMessages, doc: dict[str, Json], partly: dict[str, tuple[str, ...]]
) -> OutputFormat | None:
    """The schema of the response, in its place or where the beta had it (``output_format``)."""
    config = maybe_dict(doc, "output_config", "") or {}
    for holder, key, at in (
        (config, "format", "/output_config/format"),
        (doc, "output_format", "/output_format"),
    ):
        form = holder.get(key)
        if form.__class__ is dict and form.get("type") == "json_schema" and "schema" in form:
            if key == "format":
                partly["output_config"] = (*partly.get("output_config", ()), "format")
            else:
                partly["output_format"] = tuple(form)
            extras = d.keep(form, ("type", "schema"))
            return OutputFormat(
                "schema", schema=form["schema"], at=at, extras=extras, schema_at="/schema"
            )
    return None


def write_output(
    d: AnthropicMessages, out: dict[str, Json], form: OutputFormat, w: Writing
) -> None:
    if form.kind == "text":  # which needs no saying
        d.lose(form.extras, form.at, w.log)
        return
    schema = form.schema
    if not w.same:
        schema = schemas.trimmed(schema, schemas.CLAUDE).told(form, w.log)
    doc: dict[str, Json] = {"type": "json_schema", "schema": schema}
    d.emit(doc, form, w.log)
    out["output_config"] = out.get("output_config", {}) | {"format": doc}


def is_result(block: Json) -> bool:
    return bool(block.get("type") == "tool_result")


def thinks(out: dict[str, Json]) -> bool:
    """Whether the model thinks within a budget."""
    return "thinking" in out and out["thinking"].get("type") == "enabled"


def is_thinking(block: Json) -> bool:
    return block.get("type") in ("thinking", "redacted_thinking")


def is_beginning(turn: Json) -> bool:
    """Whether a turn at the end is one with which the model goes on."""
    if turn["role"] != "assistant":
        return False
    written = turn["content"]
    return written.__class__ is str or not any(block.get("type") == "tool_use" for block in written)
