"""Requests of Chat Completions, both ways."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from ...core import fitting
from ...core.fields import Field, Fields, flag, mapping, number, strings, text, whole
from ...core.lowering.thinking import repaired
from ...core.models import UNKNOWN
from ...core.reading import as_dict, as_str, maybe_bool, maybe_str, need_list
from ...core.writing import Writing
from ...ledger import Ledger
from ...lint.rules import JSON_PLEASE, JSON_WORD, says_json
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
from ...tools import freeform, schemas
from .._openai import short_labels, short_user
from .tools import Tools

TIERS = ("auto", "default", "flex", "scale", "priority", "fast")
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


class Requests(Tools):
    """Reading and writing requests and histories."""

    rules: ClassVar[dict[str, str]] = {}
    """What the API demands, as far as ``check`` knows."""
    fields: ClassVar[Fields] = FIELDS
    asks_for_usage: ClassVar[bool] = True
    """Whether a stream counts tokens only for those who ask."""
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
            extras=self.keep(doc, self.fields.all_taken(taken), spelling),
        )
        return tree if self.can.freeform == "native" else freeform.unwrap_calls(tree)

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
        fields = self.fields
        if (usual := fields.usual(doc)) is not None:
            return usual
        ats: dict[str, str] = {}
        given = fields.read(doc, ats, spelling, taken)
        if not fields.special.isdisjoint(doc):
            given["output"] = self.read_output(doc, taken)
            given["thinking"] = self.read_effort(doc, taken)
        return Params(**given, ats=ats)

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
        return self.emit(out, tree, log)

    def fit_model(self, tree: Request, log: Ledger) -> Request:
        facts = log.models.facts(self.vendor, tree.model)
        tree = fitting.without_media(repaired(tree, self, facts, log), facts, log)
        spelled = self.spelling(tree).get("max_tokens")
        usual = self.fields["max_tokens"].key
        if facts.limit_key not in (None, spelled or usual) and tree.extras is not None:
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
            said = self.write_choice(choice, w)
            if said is not None:
                out["tool_choice"] = said
        if choice.parallel is not None and (w.home or not choice.parallel):
            out["parallel_tool_calls"] = choice.parallel

    def write_params(self, out: dict[str, Json], tree: Request, w: Writing) -> None:
        fields, log = self.table(tree, w), w.log
        params = fields.write(out, tree.params, w, self.name, self.spelling(tree))
        if params is None:
            return
        if "top_logprobs" in out and "logprobs" not in out and not w.home:
            # "top_logprobs is only allowed when logprobs is enabled"
            out["logprobs"] = True
            why = f"{self.name} requires logprobs with top_logprobs"
            log.invented("logprobs", params.where("top_logprobs"), why)
        if params.thinking is not None:
            self.write_effort(out, params.thinking, w)
        output = params.output
        if output is not None and (w.home or output.kind != "text" or output.extras is not None):
            out["response_format"] = self.write_output(output, w)
        self.lose(params.extras, params.at, log)

    def table(self, tree: Request, w: Writing) -> Fields:
        """The parameters that may be written, where that depends on the model or the request."""
        return self.fields

    def write_effort(self, out: dict[str, Json], config: Thinking, w: Writing) -> None:
        effort = "none" if config.mode == "off" else config.effort
        if effort is not None:
            out["reasoning_effort"] = effort
        self.lose(config.extras, config.at, w.log)

    def write_output(self, form: OutputFormat, w: Writing) -> Json:
        if form.kind != "schema":
            kind = "json_object" if form.kind == "json" else "text"
            return self.emit({"type": kind}, form, w.log)
        inner: dict[str, Json] = {}
        if form.name is not None:
            inner["name"] = form.name
        for key in ("description", "schema", "strict"):
            if (value := getattr(form, key)) is not None:
                inner[key] = value
        if form.strict and self.enforces and not w.home and form.schema is not None:
            inner["schema"], strict = schemas.strictly(form, form.schema, schemas.OPENAI, w.log)
            inner["strict"] = strict or False
        return self.emit({"type": "json_schema", "json_schema": inner}, form, w.log)
