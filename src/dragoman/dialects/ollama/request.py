"""Requests of Ollama, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...core.fields import Field, Fields, flag, number, strings, whole
from ...core.reading import as_dict, as_str, expected, maybe_bool, maybe_str, need_list
from ...core.writing import Writing
from ...ledger import Ledger
from ...model import Json, OutputFormat, Params, Request, Thinking
from ...tools import freeform
from .. import _functions
from .messages import OllamaWriting, read_history, write_history, write_tool_list

if TYPE_CHECKING:
    from . import Ollama


def limit(doc: Mapping[str, Json], key: str, at: str) -> int | None:
    """The output limit; a negative one means that there is none."""
    value = whole(doc, key, at)
    return value if value is None or value >= 0 else None


FIELDS = Fields(
    Field("max_tokens", limit, "options/num_predict"),
    Field("temperature", number, "options/temperature"),
    Field("top_p", number, "options/top_p"),
    Field("top_k", whole, "options/top_k"),
    Field("seed", whole, "options/seed"),
    Field("frequency_penalty", number, "options/frequency_penalty"),
    Field("presence_penalty", number, "options/presence_penalty"),
    Field("stop", strings, "options/stop", single=True),
    Field("logprobs", flag),
    Field("top_logprobs", whole),
    methods={"output": ("format",), "stream": ("stream",), "thinking": ("think",)},
    keys=("model", "messages", "tools", "stream", "format", "think"),
)


def read_request(d: Ollama, doc: Json) -> Request:
    doc = as_dict(doc, "")
    messages = read_history(d, need_list(doc, "messages", ""), "/messages")
    tools = None
    if doc.get("tools") is not None:
        tools = _functions.read_tools(d, doc["tools"], "/tools")
    partly: dict[str, tuple[str, ...]] = {}
    params = read_params(doc, partly)
    tree = Request(
        maybe_str(doc, "model", ""),
        tuple(messages),
        tools,
        None,
        params,
        dialect=d.name,
        extras=d.keep(doc, FIELDS.taken, partly=partly),
    )
    return freeform.unwrap_calls(tree)


def write_request(d: Ollama, tree: Request, log: Ledger) -> Json:
    w = OllamaWriting(log, d.is_same(tree.dialect))
    out: dict[str, Json] = {}
    if tree.model is not None:
        out["model"] = tree.model
    out["messages"] = write_history(d, tree.messages, w)
    if tree.tools:
        out["tools"] = write_tool_list(d, tree.tools, w)
    write_params(d, out, tree, w)
    return d.emit(out, tree, log)


def read_params(doc: dict[str, Json], partly: dict[str, tuple[str, ...]]) -> Params:
    ats: dict[str, str] = {}
    given = FIELDS.read(doc, ats, {}, set(), partly)
    stream = maybe_bool(doc, "stream", "")
    if stream is None:  # which means that it is wanted
        ats["stream"] = "/messages"
    return Params(
        **given,
        output=read_output(doc.get("format")),
        thinking=read_thinking(doc.get("think")),
        stream=None if stream is False else True,  # not to stream is silence elsewhere
        ats=ats,
    )


def write_params(d: Ollama, out: dict[str, Json], tree: Request, w: Writing) -> None:
    params = FIELDS.write(out, tree.params, w, d.name)
    out["stream"] = tree.params.stream or False  # ollama streams unless told not to
    if params is None:
        return
    if params.thinking is not None:
        write_thinking(d, out, params.thinking, w)
    if params.output is not None:
        write_output(d, out, params.output, w)
    d.lose(params.extras, params.at, w.log)


def read_output(form: Json) -> OutputFormat | None:
    if form is None or form == "":
        return None
    if form == "json":
        return OutputFormat("json", at="/format")
    if form.__class__ is not dict:
        expected("'json' or a schema", form, "/format")
    return OutputFormat("schema", schema=form, at="/format", schema_at="")


def write_output(d: Ollama, out: dict[str, Json], form: OutputFormat, w: Writing) -> None:
    d.lose(form.extras, form.at, w.log)
    if form.kind == "text":
        return
    out["format"] = form.schema if form.kind == "schema" else "json"


def read_thinking(think: Json) -> Thinking | None:
    if think is None:
        return None
    if think.__class__ is bool:
        return Thinking("on" if think else "off", at="/think")
    return Thinking(effort=as_str(think, "/think"), at="/think")


def write_thinking(d: Ollama, out: dict[str, Json], config: Thinking, w: Writing) -> None:
    d.lose(config.extras, config.at, w.log)
    if config.effort is not None and config.mode != "off":
        out["think"] = config.effort
    elif config.mode is not None:
        out["think"] = config.mode != "off"
