"""Requests of Chat Completions, both ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from msgspec.structs import replace

from ... import fitting, freeform, schemas
from ...checking import JSON_PLEASE, JSON_WORD, says_json
from ...ledger import Ledger
from ...model import (
    Extras,
    History,
    Json,
    OutputFormat,
    Params,
    Request,
    Thinking,
    Tool,
    ToolChoice,
)
from ...models import UNKNOWN, Facts
from ...normal import effort_of, read_store
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
from ...writing import Writing, leave_out, write_usual
from .._openai import USER, labels_of, read_user
from .tools import Tools

TAKEN = frozenset(
    {
        "model", "messages", "tools", "tool_choice", "parallel_tool_calls",
        "max_completion_tokens", "safety_identifier", "temperature", "top_p",
        "frequency_penalty", "presence_penalty", "seed", "n", "logit_bias", "logprobs",
        "top_logprobs", "stop", "reasoning_effort", "verbosity", "stream", "store", "metadata",
        "service_tier", "prompt_cache_key",
    }
)  # fmt: skip
# canonical name -> key; the same in both directions
SCALARS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "seed": "seed",
    "candidates": "n",
    "logit_bias": "logit_bias",
    "logprobs": "logprobs",
    "top_logprobs": "top_logprobs",
    "verbosity": "verbosity",
    "stream": "stream",
    "metadata": "metadata",
    "cache_key": "prompt_cache_key",
}
UNSAID = {
    "top_k": "there is no top-k sampling here",
    "previous_id": "answers cannot be continued here; send the whole conversation",
    "conversation_id": "conversations are not kept here; send the whole conversation",
    "truncation": "a conversation that is too long is rejected here",
}
EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")
TIERS = ("auto", "default", "flex", "scale", "priority", "fast")
MOST_STOPS = 4


READERS = {
    "temperature": ("temperature", maybe_number),
    "top_p": ("top_p", maybe_number),
    "frequency_penalty": ("frequency_penalty", maybe_number),
    "presence_penalty": ("presence_penalty", maybe_number),
    "seed": ("seed", maybe_int),
    "logit_bias": ("logit_bias", maybe_dict),
    "logprobs": ("logprobs", maybe_bool),
    "top_logprobs": ("top_logprobs", maybe_int),
    "n": ("candidates", maybe_int),
    "verbosity": ("verbosity", maybe_str),
    "stream": ("stream", maybe_bool),
    "metadata": ("metadata", maybe_dict),
    "service_tier": ("service_tier", maybe_str),
    "prompt_cache_key": ("cache_key", maybe_str),
}
SAID = frozenset(READERS)
SPECIAL = frozenset(
    {
        "max_tokens",
        "stop",
        "response_format",
        "reasoning_effort",
        "safety_identifier",
        "user",
        "store",
    }
)
CALLING = frozenset({"tools", "functions", "tool_choice", "function_call", "parallel_tool_calls"})
RARE = SAID - {"temperature", "stream"}


class Requests(Tools):
    """Reading and writing requests and histories."""

    rules: ClassVar[dict[str, str]] = {}
    """What the API demands, as far as ``check`` knows."""
    limit_key: ClassVar[str] = "max_completion_tokens"
    """What the output limit is called; readers know the other name as well."""
    tiers: ClassVar[tuple[str, ...]] = TIERS
    most_stops: ClassVar[int] = MOST_STOPS
    asks_for_usage: ClassVar[bool] = True
    """Whether a stream counts tokens only for those who ask."""
    user_key: ClassVar[str] = "safety_identifier"
    """What the end user is called; readers know the other name as well."""
    user_keys: ClassVar[tuple[str, ...]] = USER
    more: ClassVar[dict[str, tuple[str, Callable[[dict[str, Json], str, str], Any]]]] = {}
    """Parameters that only a variant knows: key -> canonical name, reader."""
    refused: ClassVar[dict[str, str]] = {}
    """Parameters that a variant does not take, and why."""
    efforts: ClassVar[tuple[str, ...]] = EFFORTS
    special: ClassVar[frozenset[str]] = SPECIAL
    """Keys that must be looked at more closely."""
    limits_labels: ClassVar[bool] = True
    """Whether labels are few and short texts."""
    model_in_path: ClassVar[bool] = False
    """Whether a request may do without a model, as its address names it."""

    # -- reading ----------------------------------------------------------------------------

    def read_request(self, doc: Json) -> Request:
        doc = as_dict(doc, "")
        taken: set[str] = set()  # beside what is always taken
        spelling: dict[str, Json] = {}
        messages = self.read_history(need_list(doc, "messages", ""), "/messages")
        tools = choice = None
        if not CALLING.isdisjoint(doc):
            tools = self.read_request_tools(doc, taken)
            choice = self.read_request_choice(doc, taken)
        params = self.read_params(doc, taken, spelling)
        if self.more and not self.more.keys().isdisjoint(doc):
            params = self.read_more(doc, params, taken)
        if params.stream and doc.get("stream_options") == {"include_usage": True}:
            taken.add("stream_options")
            spelling["usage"] = True
        tree = Request(
            maybe_str(doc, "model", ""),
            tuple(messages),
            tools,
            choice,
            params,
            dialect=self.name,
            extras=self.keep(doc, TAKEN | taken if taken else TAKEN, spelling),
        )
        return tree if self.has_freeform else freeform.unwrap_calls(tree)

    def read_messages(self, doc: Json) -> History:
        """A history is a bare list; an object that holds one is tolerated."""
        if doc.__class__ is list:
            return History(tuple(self.read_history(doc, "")), dialect=self.name)
        doc = as_dict(doc, "")
        messages = self.read_history(need_list(doc, "messages", ""), "/messages")
        extras = self.keep(doc, ("messages",), {"object": True})
        return History(tuple(messages), dialect=self.name, extras=extras)

    def read_request_tools(self, doc: dict[str, Json], taken: set[str]) -> tuple[Tool, ...] | None:
        if doc.get("tools") is not None:
            return self.read_tool_list(doc["tools"], "/tools")
        if doc.get("functions") is not None:
            taken.add("functions")
            return self.read_legacy_tools(doc["functions"])
        return None

    def read_request_choice(self, doc: dict[str, Json], taken: set[str]) -> ToolChoice | None:
        choice = doc.get("tool_choice")
        parallel = maybe_bool(doc, "parallel_tool_calls", "")
        legacy = doc.get("function_call")
        if choice is None and legacy is not None and doc.get("functions") is not None:
            taken.add("function_call")
            note = Extras(self.name, spelling={"legacy": True})
            if legacy.__class__ is str:
                said = self.read_choice(legacy, parallel, "/function_call")
                return replace(said, extras=note)
            name = as_str(as_dict(legacy, "/function_call").get("name"), "/function_call/name")
            return ToolChoice(
                "named",
                name,
                parallel=parallel,
                dialect=self.name,
                at="/function_call",
                extras=note,
            )
        if choice is None and parallel is None:
            return None
        return self.read_choice(choice, parallel, "/tool_choice")

    def read_params(
        self, doc: dict[str, Json], taken: set[str], spelling: dict[str, Json]
    ) -> Params:
        ats: dict[str, str] = {}
        if RARE.isdisjoint(doc) and self.special.isdisjoint(doc):  # the usual request
            temperature = maybe_number(doc, "temperature", "")
            stream = maybe_bool(doc, "stream", "")
            limit = None
            if "max_completion_tokens" in doc:
                limit = self.read_limit(doc, taken, ats, spelling)
            return Params(max_tokens=limit, temperature=temperature, stream=stream, ats=ats)
        said: dict[str, Any] = {"ats": ats}
        # Few of many are ever said; so look at what is there, not for what might be.
        for key in SAID & doc.keys():
            name, read = READERS[key]
            if (value := read(doc, key, "")) is not None:
                said[name] = value
                if name != key:
                    ats[name] = f"/{key}"
        said["max_tokens"] = self.read_limit(doc, taken, ats, spelling)
        if not self.special.isdisjoint(doc):
            said["stop"] = self.read_stops(doc, spelling)
            said["output"] = self.read_output(doc, taken)
            said["thinking"] = self.read_effort(doc, taken)
            said["user_id"] = read_user(doc, taken, ats, spelling, self.user_keys)
            said["store"] = read_store(doc, spelling)
        return Params(**said)

    def read_more(self, doc: dict[str, Json], params: Params, taken: set[str]) -> Params:
        """The parameters that only this variant knows."""
        said: dict[str, Any] = {}
        for key, (name, read) in self.more.items():
            if (value := read(doc, key, "")) is not None:
                said[name] = value
                taken.add(key)
                if name != key:
                    params.ats[name] = f"/{key}"
        return replace(params, **said)

    def read_limit(
        self,
        doc: dict[str, Json],
        taken: set[str],
        ats: dict[str, str],
        spelling: dict[str, Json],
    ) -> int | None:
        for key in ("max_completion_tokens", "max_tokens"):
            limit = maybe_int(doc, key, "")
            if limit is not None:
                if key not in TAKEN:
                    taken.add(key)
                ats["max_tokens"] = f"/{key}"
                if key != self.limit_key:
                    spelling["max_tokens"] = key
                return limit
        return None

    def read_stops(self, doc: dict[str, Json], spelling: dict[str, Json]) -> tuple[str, ...] | None:
        stop = doc.get("stop")
        if stop is None or stop == []:
            return None
        if stop.__class__ is str:
            spelling["stop"] = "string"
            return (stop,)
        if stop.__class__ is not list:
            expected("a string or a list", stop, "/stop")
        return tuple(as_str(word, f"/stop/{index}") for index, word in enumerate(stop))

    def read_effort(self, doc: dict[str, Json], taken: set[str]) -> Thinking | None:
        effort = maybe_str(doc, "reasoning_effort", "")
        if effort is None:
            return None
        if effort == "none":
            return Thinking("off", at="/reasoning_effort")
        return Thinking(effort=effort, at="/reasoning_effort")

    def read_output(self, doc: dict[str, Json], taken: set[str]) -> OutputFormat | None:
        form = doc.get("response_format")
        at = "/response_format"
        if form.__class__ is not dict:
            return None
        kind = form.get("type")
        if kind in ("text", "json_object"):
            taken.add("response_format")
            word = "json" if kind == "json_object" else "text"
            return OutputFormat(word, at=at, extras=self.keep(form, ("type",)))  # type: ignore[arg-type]
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
            extras=self.keep(form, ("type",), partly={"json_schema": known}),
        )

    # -- writing ----------------------------------------------------------------------------

    def write_request(self, tree: Request, log: Ledger) -> Json:
        w = self.writing(log, tree.dialect)
        if not self.has_freeform:
            w.custom = freeform.names_in(tree.tools)
        out: dict[str, Json] = {}
        if tree.model is not None:
            out["model"] = tree.model
        facts = w.address(self.vendor, tree.model)
        if facts is not UNKNOWN:
            tree = fitting.fit(tree, facts, log)
        w.signed = self.is_addressed(tree.model, log.models)
        self.write_params(out, tree, w)
        if tree.tools is not None:
            self.write_request_tools(out, tree.tools, w)
        if tree.tool_choice is not None:
            self.write_request_choice(out, tree.tool_choice, w)
        out["messages"] = self.write_history(tree.messages, w)
        if "response_format" in out and "json-word" in self.rules and not w.home:
            self.say_json(out, tree, log)
        asks = self.spelling(tree).get("usage") if w.home else self.asks_for_usage
        if tree.params.stream and asks:
            out["stream_options"] = {"include_usage": True}  # elsewhere, streams always count
        if tree.prefill:
            why = "the model answers anew here, and does not go on with this turn"
            log.approximated("prefill", tree.messages[-1].at, why)
        return self.emit(out, tree, log)

    def fit_model(self, tree: Request, log: Ledger) -> Request:
        facts = log.models.facts(self.vendor, tree.model)
        tree = fitting.without_media(fitting.mended(tree, facts, log), facts, log)
        spelled = self.spelling(tree).get("max_tokens")
        if facts.limit_key not in (None, spelled or self.limit_key) and tree.extras is not None:
            why = f"{spelled} is not supported by {tree.model}; {facts.limit_key} is written"
            log.renamed("max_tokens", tree.params.where("max_tokens"), why)
            rest = {k: v for k, v in tree.extras.spelling.items() if k != "max_tokens"}
            tree = replace(tree, extras=replace(tree.extras, spelling=rest))
        return tree

    def say_json(self, out: dict[str, Json], tree: Request, log: Ledger) -> None:
        """ "'messages' must contain the word 'json' in some form" """
        if out["response_format"].get("type") == "json_object" and not says_json(out["messages"]):
            assert tree.params.output is not None
            log.invented("output", tree.params.output.at, JSON_WORD)
            facts = log.models.facts(self.vendor, tree.model)
            role = "user" if facts.system_prompt is False else "system"
            out["messages"].insert(0, {"role": role, "content": JSON_PLEASE})

    def write_messages(self, tree: History, log: Ledger) -> Json:
        messages = self.write_history(tree.messages, self.writing(log, tree.dialect))
        if self.spelling(tree).get("object"):
            return self.emit({"messages": messages}, tree, log)
        self.lose(tree.extras, tree.at, log)
        return messages

    def write_request_tools(
        self, out: dict[str, Json], tools: tuple[Tool, ...], w: Writing
    ) -> None:
        docs = self.write_tool_list(tools, w)
        legacy = bool(tools) and self.spelling(tools[0]).get("legacy")
        if docs or w.home:
            out["functions" if legacy else "tools"] = docs

    def write_request_choice(self, out: dict[str, Json], choice: ToolChoice, w: Writing) -> None:
        if self.spelling(choice).get("legacy"):
            name = {"name": choice.name}
            out["function_call"] = choice.payload or (
                name if choice.mode == "named" else choice.mode
            )
        else:
            if not w.home and not out.get("tools"):
                # "'tool_choice' is only allowed when 'tools' are specified."
                w.log.dropped("tool_choice", choice.at, "a choice needs tools")
                return
            said = self.write_choice(choice, w)
            if said is not None:
                out["tool_choice"] = said
        if choice.parallel is not None and (w.home or not choice.parallel):
            out["parallel_tool_calls"] = choice.parallel

    def write_params(self, out: dict[str, Json], tree: Request, w: Writing) -> None:
        params, log = tree.params, w.log
        if self.refused and not w.home:
            params = leave_out(params, self.refused_by(w.facts), log)
        spelling = self.spelling(tree)
        if not spelling and write_usual(out, params, self.limit_key):
            return
        if params.max_tokens is not None:
            out[spelling.get("max_tokens", self.limit_key)] = params.max_tokens
        for name, key in SCALARS.items():
            if (value := getattr(params, name)) is not None:
                out[key] = value
        for key, (name, _) in self.more.items():
            if (value := getattr(params, name)) is not None:
                out[key] = value
        if params.candidates == 1 and not w.home:
            out.pop("n", None)  # it goes without saying
        if params.metadata is not None and self.limits_labels and not w.home:
            out["metadata"] = labels_of(params, log)
        if params.top_logprobs is not None and params.logprobs is None and not w.home:
            # "top_logprobs is only allowed when logprobs is enabled"
            out["logprobs"] = True
            log.invented("logprobs", params.where("top_logprobs"), "alternatives imply them")
        if params.max_tokens == 0 and not w.home:
            out[self.limit_key] = 1
            log.approximated("max_tokens", params.where("max_tokens"), "1 is the least here")
        if params.store is not None or "store" in spelling:
            out["store"] = params.store or False
        if params.stop is not None:
            self.write_stops(out, params, spelling, w)
        if params.user_id is not None:
            self.write_user(out, params, spelling, w)
        if params.service_tier is not None:
            if params.service_tier in self.tiers or w.home:
                out["service_tier"] = params.service_tier
            else:
                why = f"{params.service_tier!r} is a tier of another API"
                log.dropped("service_tier", params.where("service_tier"), why)
        if params.thinking is not None:
            self.write_effort(out, params.thinking, w)
        output = params.output
        if output is not None and (w.home or output.kind != "text" or output.extras is not None):
            out["response_format"] = self.write_output(output, w)
        for key, why in UNSAID.items():
            if key not in self.more and getattr(params, key) is not None:
                log.dropped(key, params.where(key), why)
        self.lose(params.extras, params.at, log)

    def refused_by(self, facts: Facts) -> dict[str, str]:
        """The parameters that this API does not take for such a model, and why."""
        return self.refused

    def write_stops(
        self, out: dict[str, Json], params: Params, spelling: dict[str, Json], w: Writing
    ) -> None:
        stops = params.stop or ()
        if spelling.get("stop") == "string" and len(stops) == 1:
            out["stop"] = stops[0]
            return
        if len(stops) > self.most_stops and not w.home:
            why = f"only {self.most_stops} can be named here"
            w.log.approximated("stop", params.where("stop"), why)
            stops = stops[: self.most_stops]
        out["stop"] = list(stops)

    def write_user(
        self, out: dict[str, Json], params: Params, spelling: dict[str, Json], w: Writing
    ) -> None:
        user = params.user_id or ""
        if not w.home:
            user = w.user(user, params.where("user_id"))
        usual = "safety_identifier" if w.home else self.user_key
        out[spelling.get("user_id", usual)] = user

    def write_effort(self, out: dict[str, Json], config: Thinking, w: Writing) -> None:
        log, effort = w.log, config.effort
        if config.mode == "off":
            if effort is not None or config.budget is not None:
                code = "thinking.effort" if effort is not None else "thinking.budget"
                log.dropped(code, config.at, "that the model should not think says it")
            effort = "none"
        elif effort is None and config.budget is not None:
            effort = effort_of(config.budget)
            why = f"a budget of {config.budget} tokens is about {effort!r} effort"
            log.approximated("thinking.budget", config.at, why)
        elif config.budget is not None:
            log.dropped("thinking.budget", config.at, "effort is all that can be said here")
        elif config.mode is not None and effort is None and w.facts.thinks == "off":
            effort = fitting.usual_effort(config, w.model or "", log)
        elif config.mode is not None:
            why = "that the model should think goes without saying here"
            log.dropped("thinking", config.at, why)
        if config.display is not None:
            log.dropped("thinking.display", config.at, "thoughts are not shown here")
        if effort is not None and w.facts.efforts is not None:
            effort = fitting.known_effort(effort, w.facts, config, w.model or "", log)
        if effort is not None:
            if effort not in self.efforts and effort != "none" and not w.home:
                near = "low" if effort == "minimal" else "high"
                log.approximated("thinking.effort", config.at, f"{effort!r} becomes {near!r}")
                effort = near
            out["reasoning_effort"] = effort
        self.lose(config.extras, config.at, log)

    def write_output(self, form: OutputFormat, w: Writing) -> Json:
        if form.kind != "schema":
            kind = "json_object" if form.kind == "json" else "text"
            return self.emit({"type": kind}, form, w.log)
        inner: dict[str, Json] = {}
        if form.name is not None:
            inner["name"] = form.name
        elif not w.home:
            inner["name"] = "answer"
            w.log.invented("output.name", form.at, "a schema has a name here")
        for key in ("description", "schema", "strict"):
            if (value := getattr(form, key)) is not None:
                inner[key] = value
        if form.strict and self.enforces and not w.home and form.schema is not None:
            inner["schema"], strict = schemas.strictly(form, form.schema, schemas.OPENAI, w.log)
            inner["strict"] = strict or False
        return self.emit({"type": "json_schema", "json_schema": inner}, form, w.log)
