"""Requests of the Gemini API, both ways."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...core import fitting
from ...core.fields import NAMES, Field, Fields, Reader, flag, labels, number, strings, text, whole
from ...core.lowering.thinking import repaired
from ...core.models import UNKNOWN, Facts
from ...core.plain import Turn
from ...core.reading import as_dict, as_str, expected, maybe_int, maybe_number, maybe_str, need_list
from ...core.turns import SILENCE
from ...core.writing import Writing
from ...ledger import Ledger
from ...model import History, Json, Message, OutputFormat, Params, Request, Thinking
from ...tools import freeform, schemas
from . import parts, turns
from .parts import NOBODY
from .schema import Saying
from .spelling import SNAKE, both, pick, pick_dict, pick_str
from .tools import read_choice, read_tool_list, write_choice, write_tool_list
from .vouching import vouch

if TYPE_CHECKING:
    from . import Gemini


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


def read_plain(d: Gemini, doc: Json) -> tuple[Request, list[Turn]] | None:
    found = turns.read_turns(doc) if doc.__class__ is dict else None
    return None if found is None else (read_around(d, doc, []), found)


def read_request(d: Gemini, doc: Json) -> Request:
    return read_around(d, as_dict(doc, ""), None)


def read_around(d: Gemini, doc: dict[str, Json], messages: list[Message] | None) -> Request:
    """A request with these messages; None: they are read as well."""
    tools, custom = None, NOBODY
    if (listed := doc.get("tools")) is not None:
        tools = read_tool_list(d, listed, "/tools")
        custom = freeform.names_of(d, tools, "/tools")
    if messages is None:
        messages = read_conversation(d, doc, custom)
    choice, taken = None, TAKEN
    config, where = pick_dict(doc, "toolConfig", "")
    if config is not None:
        choice = read_choice(d, config, where)
        if choice.name in custom:
            choice = replace(choice, kind="custom")
        if choice.mode is None:  # nothing is chosen: what it says is not about calls
            choice, taken = None, TAKEN - {where[1:]}
    params, extras = read_usual_params(doc), None
    if params is None or taken is not TAKEN:
        spelling: dict[str, Json] = {}  # that nothing is stored may be written, or go unsaid
        params, partly = read_params(d, doc, spelling)
        extras = d.keep(doc, taken, spelling, partly=partly)
    return Request(
        maybe_str(doc, "model", ""),
        tuple(messages),
        tools,
        choice,
        params,
        dialect=d.name,
        extras=extras,
    )


def write_request(d: Gemini, tree: Request, log: Ledger) -> Json:
    w = turns.writing(d, log, tree.dialect)
    facts = w.address(d.vendor, tree.model)
    if facts is not UNKNOWN:
        tree = fitting.fit(tree, facts, log)
    known = d.facts_of(tree.model, log) if w.same else facts
    w.hoists = known.media_in_results is False
    out: dict[str, Json] = {}
    if tree.model is not None:
        out["model"] = tree.model
    # Tools come first, then the system instruction: that is the order of the prompt.
    if tree.tools is not None:
        if tools := write_tool_list(d, tree.tools, w):
            out["tools"] = tools
    system, contents = turns.write_conversation(d, tree.messages, w)
    if system is not None:
        out["systemInstruction"] = system
    if not (contents or w.same):
        # "contents is not specified"
        d.add_user_turn(tree.at, log)
        contents = [{"role": "user", "parts": [{"text": SILENCE}]}]
    if facts.signatures:
        vouch(contents, tree.messages, log)
    out["contents"] = contents
    if tree.tool_choice is not None:
        write_request_choice(d, out, tree, w)
    params = tree.params
    if params.output is not None and "tools" in out and not w.same:
        params = fit_output(tree, facts, log)
    write_params(d, out, params, {} if tree.extras is None else d.spelling(tree), w)
    return out if tree.extras is None else parts.emit(d, out, tree, log)


def fit_model(d: Gemini, tree: Request, log: Ledger) -> Request:
    facts = log.models.facts(d.vendor, tree.model)
    tree = repaired(tree, d, facts, log)
    if tree.params.output is not None and tree.tools:
        tree = replace(tree, params=fit_output(tree, facts, log))
    return tree


def fit_output(tree: Request, facts: Facts, log: Ledger) -> Params:
    """The parameters, without a form of the reply where the model takes none beside tools."""
    params, choice = tree.params, tree.tool_choice
    form = params.output
    assert form is not None
    if form.kind == "text" or facts.tools_with_output is not False:
        return params
    if choice is not None and choice.mode == "none":
        return params
    why = "models before Gemini 3 do not support a response schema together with tools"
    log.dropped("output", form.at, why)
    return replace(params, output=None)


def read_usual_params(doc: dict[str, Json]) -> Params | None:
    """The parameters of a request that has nothing unusual, and so nothing to be kept."""
    config = doc.get("generationConfig")
    if config.__class__ is not dict or not config or not USUAL_CONFIG.issuperset(config):
        return None
    if not USUAL.issuperset(doc) or None in doc.values() or None in config.values():
        return None
    limit = maybe_int(config, "maxOutputTokens", CONFIG)
    return Params(limit, maybe_number(config, "temperature", CONFIG), ats=ATS)


def read_messages(d: Gemini, doc: Json) -> History:
    if doc.__class__ is list:
        return History(tuple(turns.read_contents(d, doc, "")), dialect=d.name)
    doc = as_dict(doc, "")
    messages = read_conversation(d, doc, NOBODY)
    extras = d.keep(doc, both("contents", "systemInstruction"))
    return History(tuple(messages), dialect=d.name, extras=extras)


def write_messages(d: Gemini, tree: History, log: Ledger) -> Json:
    system, contents = turns.write_conversation(
        d, tree.messages, turns.writing(d, log, tree.dialect)
    )
    out: dict[str, Json] = {} if system is None else {"systemInstruction": system}
    out["contents"] = contents
    return parts.emit(d, out, tree, log)


def write_request_choice(d: Gemini, out: dict[str, Json], tree: Request, w: Writing) -> None:
    choice = tree.tool_choice
    assert choice is not None
    if w.same or choice.mode is not None:
        out["toolConfig"] = write_choice(d, choice, w)


def read_conversation(d: Gemini, doc: dict[str, Json], custom: frozenset[str]) -> list[Message]:
    """The system instruction and the contents."""
    messages = turns.read_contents(d, need_list(doc, "contents", ""), "/contents", custom)
    system, where = pick_dict(doc, "systemInstruction", "")
    return messages if system is None else [turns.read_system(d, system, where), *messages]


def read_params(
    d: Gemini, doc: dict[str, Json], spelling: dict[str, Json]
) -> tuple[Params, dict[str, frozenset[str]]]:
    ats: dict[str, str] = {}
    partly: dict[str, frozenset[str]] = {}
    given = FIELDS.read(doc, ats, spelling, set())
    config, at = pick_dict(doc, "generationConfig", "")
    if config is not None:
        partly[at[1:]] = CONFIG_KEYS | read_config(d, config, at, given, ats)
    return Params(**given, ats=ats), partly


def write_params(
    d: Gemini, out: dict[str, Json], params: Params, spelling: dict[str, Json], w: Saying
) -> None:
    config: dict[str, Json] = {}
    left = CONFIG_FIELDS.write(config, params, w, d.name)
    if left is None and not spelling:
        if config:
            out["generationConfig"] = config
        return
    if params.top_k is not None:
        config["topK"] = params.top_k
    if params.thinking is not None:
        write_thinking(d, config, params.thinking, w)
    if params.output is not None:
        write_output(d, config, params.output, w)
    if config:
        out["generationConfig"] = config
    FIELDS.write(out, params, w, d.name, spelling)
    d.lose(params.extras, params.at, w.log)


def read_config(
    d: Gemini, config: dict[str, Json], at: str, given: dict[str, Json], ats: dict[str, str]
) -> frozenset[str]:
    """``generationConfig``; gives the keys that say what the reply must look like."""
    given |= CONFIG_FIELDS.read(config, ats, {}, set(), at=at)
    top_k, key = pick(config, "topK")
    if top_k is not None:
        top_k, ats["top_k"] = maybe_number(config, key, at), f"{at}/{key}"
        given["top_k"] = int(top_k) if top_k == int(top_k or 0) else top_k
    thinking, where = pick_dict(config, "thinkingConfig", at)
    if thinking is not None:
        given["thinking"] = read_thinking(d, thinking, where)
    return read_output(config, at, given)


def read_thinking(d: Gemini, doc: dict[str, Json], at: str) -> Thinking:
    budget, key = pick(doc, "thinkingBudget")
    if budget is not None and budget.__class__ is not int:
        expected("an integer", budget, f"{at}/{key}")
    shown, key = pick(doc, "includeThoughts")
    if shown is not None and shown.__class__ is not bool:
        expected("a boolean", shown, f"{at}/{key}")
    level = pick_str(doc, "thinkingLevel", at)
    if level == UNSPECIFIED:  # which is what silence means
        level = None
    mode = None
    if budget is not None:
        mode = {0: "off", -1: "adaptive"}.get(budget, "on")
    return Thinking(
        mode,  # type: ignore[arg-type]
        None if level is None else level.lower(),
        budget if mode == "on" else None,
        None if shown is None else "summarized" if shown else "omitted",
        at=at,
        extras=d.keep(doc, THINKING_KEYS),
    )


def write_thinking(d: Gemini, config: dict[str, Json], thinking: Thinking, w: Saying) -> None:
    out: dict[str, Json] = {}
    if thinking.mode is not None or thinking.budget is not None:
        # 0 is none, -1 as many as the model likes
        out["thinkingBudget"] = {"off": 0}.get(thinking.mode or "", thinking.budget or -1)
    if thinking.effort is not None:
        out["thinkingLevel"] = thinking.effort.upper()
    if thinking.display is not None:
        out["includeThoughts"] = thinking.display != "omitted"
    out = parts.emit(d, out, thinking, w.log)
    if out or w.same:
        config["thinkingConfig"] = out


def read_output(config: dict[str, Json], at: str, given: dict[str, Json]) -> frozenset[str]:
    """The type of the reply and its schema, in one of two forms."""
    kind, kind_key = pick(config, "responseMimeType")
    if kind is not None:
        as_str(kind, f"{at}/{kind_key}")
    if kind not in (None, "application/json", "text/plain"):
        return frozenset()  # text/x.enum; the schema then is no schema of JSON
    for form in ("responseJsonSchema", "responseSchema"):
        own, key = pick(config, form)
        if own is None or kind == "text/plain":
            continue
        schema = own if form == "responseJsonSchema" else schemas.from_openapi(own)
        given["output"] = OutputFormat(
            "schema", schema=schema, at=f"{at}/{key}", schema_at="" if schema == own else None
        )
        return frozenset({kind_key, key})
    if kind is not None:
        word = "json" if kind == "application/json" else "text"
        given["output"] = OutputFormat(word, at=f"{at}/{kind_key}")  # type: ignore[arg-type]
    return frozenset({kind_key})


def write_output(d: Gemini, config: dict[str, Json], form: OutputFormat, w: Saying) -> None:
    d.lose(form.extras, form.at, w.log)
    if form.kind == "text":
        if w.same:
            config["responseMimeType"] = "text/plain"
        return
    config["responseMimeType"] = "application/json"
    if form.kind == "json":
        return
    if w.same:
        config["responseJsonSchema"] = form.schema
    elif w.own:
        config["responseSchema"] = schemas.openapi(form.schema).told(form, w.log)
    else:
        config["responseJsonSchema"] = schemas.portable(form.schema).told(form, w.log)
