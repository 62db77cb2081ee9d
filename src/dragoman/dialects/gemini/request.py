"""Requests of the Gemini API, both ways."""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from ...core import fitting
from ...core.fields import NAMES, Field, Fields, Reader, flag, labels, number, strings, text, whole
from ...core.lowering.thinking import repaired
from ...core.models import Facts
from ...core.reading import (
    as_dict,
    as_str,
    expected,
    maybe_int,
    maybe_number,
    maybe_str,
    need_list,
)
from ...core.turns import SILENCE
from ...core.writing import Writing
from ...ledger import Ledger
from ...model import (
    Extras,
    History,
    Json,
    Message,
    OutputFormat,
    Params,
    Request,
    Thinking,
)
from ...tools import schemas
from .read_parts import NOBODY
from .schema import Saying
from .spelling import SNAKE, both, pick, spelled
from .tools import Tools
from .vouching import vouch

TAKEN = both(
    "model", "contents", "systemInstruction", "tools", "toolConfig", "labels", "serviceTier",
    "store",
)  # fmt: skip
# What nearly all requests say, in camelCase as nearly all clients write; where it stands.
USUAL = frozenset(
    {"model", "contents", "systemInstruction", "tools", "toolConfig", "generationConfig"}
)
USUAL_CONFIG = frozenset({"maxOutputTokens", "temperature"})
CONFIG = "/generationConfig"
ATS = {"max_tokens": f"{CONFIG}/maxOutputTokens", "temperature": f"{CONFIG}/temperature"}
LEVEL_ALONE = "the level says how much to think, and nothing else"
THINKING_KEYS = both("thinkingBudget", "thinkingLevel", "includeThoughts")
LEVELS = ("minimal", "low", "medium", "high")
UNSPECIFIED = "THINKING_LEVEL_UNSPECIFIED"
# https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/add-labels-to-api-calls
_may_label = re.compile(r"[\w-]{0,63}").fullmatch


def is_label(value: Json) -> bool:
    """Whether a value can be that of a label."""
    return value.__class__ is str and value == value.lower() and _may_label(value) is not None


def is_key(name: str) -> bool:
    """Whether a name can be that of a label: it begins with a letter."""
    return name[:1].isalpha() and is_label(name)


def row(name: str, read: Reader, key: str, **limits: Any) -> Field:
    """A parameter in either spelling."""
    return Field(name, read, key, also=(SNAKE[key],) if key in SNAKE else (), **limits)


CONFIG_FIELDS = Fields(
    row("max_tokens", whole, "maxOutputTokens"),
    row("candidates", whole, "candidateCount"),
    row("seed", whole, "seed"),
    row("top_logprobs", whole, "logprobs"),
    row("temperature", number, "temperature", least=0, most=2),
    row("top_p", number, "topP", least=0, most=1),
    row("frequency_penalty", number, "frequencyPenalty"),
    row("presence_penalty", number, "presencePenalty"),
    # "The set of character sequences (up to 5) that will stop output generation."
    row("stop", strings, "stopSequences", count=5),
    row("logprobs", flag, "responseLogprobs"),
    methods=dict.fromkeys(("top_k", "thinking", "output", "metadata", "store", "service_tier"), ()),
    once=True,
)
"""What stands in ``generationConfig``."""
FIELDS = Fields(
    Field(
        "metadata", labels, "labels", only=lambda key, value: is_key(key) and is_label(value),
        why="labels of {target} are short, and of small letters, digits, '_' and '-'",
    ),
    Field("store", flag, silent=False),  # which is what no value means in other dialects
    row("service_tier", text, "serviceTier", among=("flex", "standard", "priority")),
    methods=dict.fromkeys(NAMES, ()),
    once=True,
)  # fmt: skip
"""What stands beside it."""
CONFIG_KEYS = CONFIG_FIELDS.known | both("topK", "thinkingConfig")


class Requests(Tools):
    """Reading and writing requests and histories."""

    history = "contents"

    # -- reading ----------------------------------------------------------------------------

    def read_request(self, doc: Json) -> Request:
        doc = as_dict(doc, "")
        said: dict[str, str] = {}
        spelling: dict[str, Json] = {}
        tools, custom = None, NOBODY
        if (listed := doc.get("tools")) is not None:
            tools, alone = self.read_tool_list(listed, "/tools")
            custom = frozenset(tool.name for tool in tools if tool.kind == "custom")
            if alone:
                spelling["tools"] = "object"
        messages = self.read_said(doc, custom, said)
        choice, taken = None, TAKEN
        if (config := pick(doc, "toolConfig", said)) is not None:
            where = f"/{said.get('toolConfig', 'toolConfig')}"
            choice = self.read_choice(as_dict(config, where), where)
            if choice.name in custom:
                choice = replace(choice, kind="custom")
            if choice.mode is None:  # nothing is chosen: what it says is not about calls
                choice, taken = None, TAKEN - {where[1:]}
        params, extras = self.read_usual_params(doc), None
        if params is None or spelling or taken is not TAKEN:
            params, partly = self.read_params(doc, said, spelling)
            if said:
                spelling["snake"] = said
            extras = self.keep(doc, taken, spelling, partly=partly)
        return Request(
            maybe_str(doc, "model", ""),
            tuple(messages),
            tools,
            choice,
            params,
            dialect=self.name,
            extras=extras,
        )

    def read_usual_params(self, doc: dict[str, Json]) -> Params | None:
        """The parameters of a request that has nothing unusual, and so nothing to be kept."""
        config = doc.get("generationConfig")
        if config.__class__ is not dict or not config or not USUAL_CONFIG.issuperset(config):
            return None
        if not USUAL.issuperset(doc) or None in doc.values() or None in config.values():
            return None
        limit = maybe_int(config, "maxOutputTokens", CONFIG)
        return Params(limit, maybe_number(config, "temperature", CONFIG), ats=ATS)

    def read_messages(self, doc: Json) -> History:
        if doc.__class__ is list:
            messages = self.read_contents(doc, "")
            extras: Extras | None = Extras(self.name, spelling={"bare": True})
            return History(tuple(messages), dialect=self.name, extras=extras)
        doc = as_dict(doc, "")
        said: dict[str, str] = {}
        messages = self.read_said(doc, NOBODY, said)
        keys = both("contents", "systemInstruction")
        extras = self.keep(doc, keys, {"snake": said} if said else None)
        return History(tuple(messages), dialect=self.name, extras=extras)

    def read_said(
        self, doc: dict[str, Json], custom: frozenset[str], said: dict[str, str]
    ) -> list[Message]:
        """The system instruction and the contents."""
        messages = self.read_contents(need_list(doc, "contents", ""), "/contents", custom)
        system = pick(doc, "systemInstruction", said)
        if system is None:
            return messages
        key = said.get("systemInstruction", "systemInstruction")
        return [self.read_system(system, f"/{key}"), *messages]

    def read_params(
        self, doc: dict[str, Json], said: dict[str, str], spelling: dict[str, Json]
    ) -> tuple[Params, dict[str, frozenset[str]]]:
        ats: dict[str, str] = {}
        partly: dict[str, frozenset[str]] = {}
        given = FIELDS.read(doc, ats, spelling, set())
        config = pick(doc, "generationConfig", said)
        if config is not None:
            key = said.get("generationConfig", "generationConfig")
            at = f"/{key}"
            config = as_dict(config, at)
            # Spelled apart: both levels could have the same key.
            inner: dict[str, str] = {}
            partly[key] = CONFIG_KEYS | self.read_config(config, at, given, ats, inner, spelling)
            if inner:
                spelling["config"] = inner
        return Params(**given, ats=ats), partly

    def read_config(
        self,
        config: dict[str, Json],
        at: str,
        given: dict[str, Json],
        ats: dict[str, str],
        said: dict[str, str],
        spelling: dict[str, Json],
    ) -> frozenset[str]:
        """``generationConfig``; gives the keys that say what the answer must look like."""
        snake: dict[str, Json] = {}
        given |= CONFIG_FIELDS.read(config, ats, snake, set(), at=at)
        if snake:
            spelling["params"] = snake
        if pick(config, "topK", said) is not None:
            key = said.get("topK", "topK")
            top_k, ats["top_k"] = maybe_number(config, key, at), f"{at}/{key}"
            if top_k.__class__ is float and top_k == int(top_k or 0):
                spelling["topK"] = top_k
                top_k = int(top_k or 0)
            given["top_k"] = top_k
        thinking = pick(config, "thinkingConfig", said)
        if thinking is not None:
            where = f"{at}/{said.get('thinkingConfig', 'thinkingConfig')}"
            given["thinking"] = self.read_thinking(as_dict(thinking, where), where)
        return self.read_output(config, at, given, said)

    def read_thinking(self, doc: dict[str, Json], at: str) -> Thinking:
        said: dict[str, str] = {}
        spelling: dict[str, Json] = {}
        budget, level = pick(doc, "thinkingBudget", said), pick(doc, "thinkingLevel", said)
        shown = pick(doc, "includeThoughts", said)
        if budget is not None and budget.__class__ is not int:
            expected("an integer", budget, f"{at}/{said.get('thinkingBudget', 'thinkingBudget')}")
        if shown is not None and shown.__class__ is not bool:
            expected("a boolean", shown, f"{at}/{said.get('includeThoughts', 'includeThoughts')}")
        if level == UNSPECIFIED:  # which is what silence means
            spelling["level"], level = level, None
        elif level is not None:
            as_str(level, f"{at}/{said.get('thinkingLevel', 'thinkingLevel')}")
            if level != level.upper():
                spelling["level"] = level
        if said:
            spelling["snake"] = said
        mode = None
        if budget is not None:
            mode = {0: "off", -1: "adaptive"}.get(budget, "on")
        return Thinking(
            mode,  # type: ignore[arg-type]
            None if level is None else level.lower(),
            budget if mode == "on" else None,
            None if shown is None else "summarized" if shown else "omitted",
            at=at,
            extras=self.keep(doc, THINKING_KEYS, spelling),
        )

    def read_output(
        self, config: dict[str, Json], at: str, given: dict[str, Json], said: dict[str, str]
    ) -> frozenset[str]:
        """The type of the answer and its schema, in one of two forms."""
        kind = pick(config, "responseMimeType", said)
        kind_key = said.get("responseMimeType", "responseMimeType")
        if kind is not None:
            as_str(kind, f"{at}/{kind_key}")
        if kind not in (None, "application/json", "text/plain"):
            return frozenset()  # text/x.enum; the schema then is no schema of JSON
        spelling: dict[str, Json] = {} if kind is not None else {"type": "absent"}
        for key in ("responseJsonSchema", "responseSchema"):
            schema = pick(config, key, said)
            if schema is None or kind == "text/plain":
                continue
            own, key = schema, said.get(key, key)
            if not key.startswith(("responseJson", "response_json")):
                schema = schemas.from_openapi(own)
                spelling["schema"] = "own" if schema == own else own
            schema_at = "" if schema is own or schema == own else None
            given["output"] = OutputFormat(
                "schema", schema=schema, at=f"{at}/{key}", schema_at=schema_at,
                extras=Extras(self.name, spelling=spelling) if spelling else None,
            )  # fmt: skip
            return frozenset({kind_key, key})
        if kind is not None:
            form = "json" if kind == "application/json" else "text"
            given["output"] = OutputFormat(form, at=f"{at}/{kind_key}")  # type: ignore[arg-type]
        return frozenset({kind_key})

    # -- writing ----------------------------------------------------------------------------

    def write_request(self, tree: Request, log: Ledger) -> Json:
        w = self.writing(log, tree.dialect)
        facts = w.address(self.vendor, tree.model)
        tree = fitting.fit(tree, facts, log)
        spelling = {} if tree.extras is None else self.spelling(tree)
        out: dict[str, Json] = {}
        if tree.model is not None:
            out["model"] = tree.model
        # Tools come first, then the system instruction: that is the order of the prompt.
        if tree.tools is not None:
            tools = self.write_tool_list(tree.tools, w)
            if tools or w.home:
                out["tools"] = tools[0] if spelling.get("tools") == "object" else tools
        system, contents = self.write_conversation(tree.messages, w)
        if system is not None:
            out["systemInstruction"] = system
        if not (contents or w.home):
            # "contents is not specified"
            self.add_user_turn(tree.at, log)
            contents = [{"role": "user", "parts": [{"text": SILENCE}]}]
        if facts.signatures:
            vouch(contents, tree.messages, log)
        out["contents"] = contents
        if tree.tool_choice is not None:
            self.write_request_choice(out, tree, w)
        params = tree.params
        if params.output is not None and "tools" in out and not w.home:
            params = self.fit_output(tree, facts, log)
        self.write_params(out, params, spelling, w)
        if tree.extras is None:
            return out
        return self.emit(spelled(out, spelling.get("snake", {})), tree, log)

    def fit_model(self, tree: Request, log: Ledger) -> Request:
        facts = log.models.facts(self.vendor, tree.model)
        tree = repaired(tree, self, facts, log)
        if tree.params.output is not None and tree.tools:
            tree = replace(tree, params=self.fit_output(tree, facts, log))
        return tree

    def fit_output(self, tree: Request, facts: Facts, log: Ledger) -> Params:
        """The parameters, without a form of the answer where the model takes none beside tools."""
        params, choice = tree.params, tree.tool_choice
        form = params.output
        assert form is not None
        if form.kind == "text" or facts.tools_with_output is not False:
            return params
        if choice is not None and choice.mode == "none":
            return params
        why = "models before Gemini 3 take no demanded form of the answer beside tools"
        log.dropped("output", form.at, why)
        return replace(params, output=None)

    def write_messages(self, tree: History, log: Ledger) -> Json:
        system, contents = self.write_conversation(tree.messages, self.writing(log, tree.dialect))
        spelling = self.spelling(tree)
        if "bare" in spelling:
            return contents
        out: dict[str, Json] = {} if system is None else {"systemInstruction": system}
        out["contents"] = contents
        return self.emit(spelled(out, spelling.get("snake", {})), tree, log)

    def write_request_choice(self, out: dict[str, Json], tree: Request, w: Writing) -> None:
        choice = tree.tool_choice
        assert choice is not None
        if w.home or choice.mode is not None:
            out["toolConfig"] = self.write_choice(choice, w)

    def write_params(
        self, out: dict[str, Json], params: Params, spelling: dict[str, Json], w: Saying
    ) -> None:
        config: dict[str, Json] = {}
        left = CONFIG_FIELDS.write(config, params, w, self.name, spelling.get("params", {}))
        if left is None and not spelling:
            if config:
                out["generationConfig"] = config
            return
        if params.top_k is not None:
            config["topK"] = spelling.get("topK", params.top_k)
        if params.thinking is not None:
            self.write_thinking(config, params.thinking, w)
        if params.output is not None:
            self.write_output(config, params.output, w)
        config = spelled(config, spelling.get("config", {}))
        if config:
            out["generationConfig"] = config
        FIELDS.write(out, params, w, self.name, spelling)
        self.lose(params.extras, params.at, w.log)

    def write_thinking(self, config: dict[str, Json], thinking: Thinking, w: Saying) -> None:
        out: dict[str, Json] = {}
        spelling = self.spelling(thinking)
        if thinking.mode is not None or thinking.budget is not None:
            # 0 is none, -1 as many as the model likes
            out["thinkingBudget"] = {"off": 0}.get(thinking.mode or "", thinking.budget or -1)
        if thinking.effort is not None:
            out["thinkingLevel"] = spelling.get("level", thinking.effort.upper())
        elif "level" in spelling:
            out["thinkingLevel"] = spelling["level"]
        if thinking.display is not None:
            out["includeThoughts"] = thinking.display != "omitted"
        out = self.emit(spelled(out, self.said(thinking)), thinking, w.log)
        if out or w.home:
            config["thinkingConfig"] = out

    def write_output(self, config: dict[str, Json], form: OutputFormat, w: Saying) -> None:
        spelling = self.spelling(form)
        self.lose(form.extras, form.at, w.log)
        if form.kind == "text":
            if w.home:
                config["responseMimeType"] = "text/plain"
            return
        if "type" not in spelling:
            config["responseMimeType"] = "application/json"
        if form.kind == "json":
            return
        own = spelling.get("schema")
        if own == "own":
            config["responseSchema"] = form.schema
        elif own is not None and schemas.from_openapi(own) == form.schema:
            config["responseSchema"] = own
        else:
            self.write_foreign(config, form, w)

    def write_foreign(self, config: dict[str, Json], form: OutputFormat, w: Saying) -> None:
        """A schema that was written elsewhere, in the form that the model takes."""
        if w.home:
            config["responseJsonSchema"] = form.schema
        elif w.own:
            config["responseSchema"] = schemas.openapi(form.schema).told(form, w.log)
        else:
            config["responseJsonSchema"] = schemas.portable(form.schema).told(form, w.log)
