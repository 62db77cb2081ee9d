"""Requests of Ollama, both ways."""

from __future__ import annotations

from typing import Any

from ... import freeform
from ...ledger import Ledger
from ...model import Json, OutputFormat, Params, Request, Thinking
from ...normal import effort_of
from ...reading import (
    as_dict,
    as_str,
    expected,
    maybe_bool,
    maybe_dict,
    maybe_int,
    maybe_number,
    maybe_str,
    need_list,
)
from ...writing import Writing, leave_out
from .messages import Messages, OllamaWriting

TAKEN = frozenset(
    {"model", "messages", "tools", "stream", "format", "think", "logprobs", "top_logprobs"}
)
# canonical name -> key of the options
OPTIONS = {
    "max_tokens": ("num_predict", maybe_int),
    "temperature": ("temperature", maybe_number),
    "top_p": ("top_p", maybe_number),
    "top_k": ("top_k", maybe_int),
    "seed": ("seed", maybe_int),
    "frequency_penalty": ("frequency_penalty", maybe_number),
    "presence_penalty": ("presence_penalty", maybe_number),
}
UNSAID = {
    "logit_bias": "tokens have no biases here",
    "candidates": "there is one answer here",
    "verbosity": "how long the answer should be is not said here",
    "metadata": "requests bear no labels here",
    "user_id": "the end user is not named here",
    "service_tier": "there are no tiers here",
    "cache_key": "caches have no keys here",
    "cache": "nothing is marked for a cache here",
    "store": "answers are not kept here",
    "previous_id": "answers cannot be continued here; send the whole conversation",
    "conversation_id": "conversations are not kept here; send the whole conversation",
    "truncation": "what happens to a long conversation is said otherwise here",
}
EFFORTS = ("low", "medium", "high", "max")


class Requests(Messages):
    """Reading and writing requests."""

    # -- reading ----------------------------------------------------------------------------

    def read_request(self, doc: Json) -> Request:
        doc = as_dict(doc, "")
        spelling: dict[str, Json] = {}
        messages = self.read_history(need_list(doc, "messages", ""), "/messages")
        tools = None
        if doc.get("tools") is not None:
            tools = self.read_tool_list(doc["tools"], "/tools")
        known: list[str] = []
        params = self.read_params(doc, known, spelling)
        tree = Request(
            maybe_str(doc, "model", ""),
            tuple(messages),
            tools,
            None,
            params,
            dialect=self.name,
            extras=self.keep(doc, TAKEN, spelling or None, partly={"options": known}),
        )
        return freeform.unwrap_calls(tree)

    def read_params(
        self, doc: dict[str, Json], known: list[str], spelling: dict[str, Json]
    ) -> Params:
        options = maybe_dict(doc, "options", "") or {}
        said: dict[str, Any] = {}
        ats: dict[str, str] = {}
        for name, (key, read) in OPTIONS.items():
            value = read(options, key, "/options")
            if value is not None and not (name == "max_tokens" and value < 0):  # without limit
                said[name] = value
                ats[name] = f"/options/{key}"
                known.append(key)
        if (stop := options.get("stop")) is not None and stop != []:
            known.append("stop")
            ats["stop"] = "/options/stop"
            said["stop"] = self.read_stops(stop, spelling)
        stream = maybe_bool(doc, "stream", "")
        if stream is None:  # which means that it is wanted
            spelling["stream"] = "absent"
        return Params(
            **said,
            logprobs=maybe_bool(doc, "logprobs", ""),
            top_logprobs=maybe_int(doc, "top_logprobs", ""),
            output=self.read_output(doc.get("format")),
            thinking=self.read_thinking(doc.get("think")),
            stream=None if stream is False else True,  # not to stream is silence elsewhere
            ats=ats | ({"stream": "/messages"} if stream is None else {}),
        )

    def read_stops(self, stop: Json, spelling: dict[str, Json]) -> tuple[str, ...]:
        if stop.__class__ is str:
            spelling["stop"] = "string"
            return (stop,)
        if stop.__class__ is not list:
            expected("a list", stop, "/options/stop")
        return tuple(as_str(word, f"/options/stop/{index}") for index, word in enumerate(stop))

    def read_output(self, form: Json) -> OutputFormat | None:
        if form is None or form == "":
            return None
        if form == "json":
            return OutputFormat("json", at="/format")
        if form.__class__ is not dict:
            expected("'json' or a schema", form, "/format")
        return OutputFormat("schema", schema=form, at="/format", schema_at="")

    def read_thinking(self, think: Json) -> Thinking | None:
        if think is None:
            return None
        if think.__class__ is bool:
            return Thinking("on" if think else "off", at="/think")
        return Thinking(effort=as_str(think, "/think"), at="/think")

    # -- writing ----------------------------------------------------------------------------

    def write_request(self, tree: Request, log: Ledger) -> Json:
        w = OllamaWriting(log, self.is_home(tree.dialect))
        out: dict[str, Json] = {}
        if tree.model is not None:
            out["model"] = tree.model
        out["messages"] = self.write_history(tree.messages, w)
        if tree.tools is not None:
            tools = self.write_tool_list(tree.tools, w)
            if tools or w.home:
                out["tools"] = tools
        self.write_params(out, tree, w)
        if tree.prefill:
            why = "whether the model goes on with this turn is its own affair here"
            log.approximated("prefill", tree.messages[-1].at, why)
        return self.emit(out, tree, log)

    def write_params(self, out: dict[str, Json], tree: Request, w: Writing) -> None:
        params, log, spelling = tree.params, w.log, self.spelling(tree)
        params = leave_out(params, UNSAID, log)
        options: dict[str, Json] = {
            key: value
            for name, (key, _) in OPTIONS.items()
            if (value := getattr(params, name)) is not None
        }
        if params.stop is not None:
            options["stop"] = list(params.stop)
            if spelling.get("stop") == "string":
                options["stop"] = params.stop[0]
        if options:
            out["options"] = options
        if "stream" not in spelling:
            out["stream"] = params.stream or False  # it goes without saying here
        for name in ("logprobs", "top_logprobs"):
            if (value := getattr(params, name)) is not None:
                out[name] = value
        if params.thinking is not None:
            self.write_thinking(out, params.thinking, w)
        if params.output is not None:
            self.write_output(out, params.output, w)
        self.lose(params.extras, params.at, log)

    def write_thinking(self, out: dict[str, Json], config: Thinking, w: Writing) -> None:
        log, effort = w.log, config.effort
        if config.display is not None:
            log.dropped("thinking.display", config.at, "thoughts are always shown here")
        self.lose(config.extras, config.at, log)
        if config.mode == "off":
            if effort is not None:
                log.dropped("thinking.effort", config.at, "that the model should not think says it")
            out["think"] = False
            return
        if config.budget is not None:
            effort = effort or effort_of(config.budget)
            why = f"a budget of {config.budget} tokens is about {effort!r} effort"
            log.approximated("thinking.budget", config.at, why)
        elif effort is not None and config.mode is not None:
            log.dropped("thinking", config.at, "the effort says that the model should think")
        elif config.mode not in (None, "on"):
            log.approximated("thinking", config.at, "the model thinks, or does not")
        if effort is not None and effort not in EFFORTS and not w.home:
            near = "low" if effort == "minimal" else "high"
            log.approximated("thinking.effort", config.at, f"{effort!r} becomes {near!r}")
            effort = near
        if effort is not None or config.mode is not None:
            out["think"] = effort if effort is not None else True

    def write_output(self, out: dict[str, Json], form: OutputFormat, w: Writing) -> None:
        self.lose(form.extras, form.at, w.log)
        if form.kind == "text":
            return
        out["format"] = form.schema if form.kind == "schema" else "json"
        for key in ("name", "description", "strict"):
            if getattr(form, key) is not None:
                w.log.dropped(f"output.{key}", form.at, "the schema is all that is said here")
        if form.kind == "schema" and form.schema.__class__ is not dict and not w.home:
            out["format"] = "json"
            w.log.approximated("output", form.at, "a schema is an object here")
