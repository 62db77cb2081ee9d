"""Requests of the OpenAI Responses API, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core import fitting
from ...core.fields import Field, Fields, flag, labels, number, text, whole
from ...core.lowering.thinking import repaired
from ...core.models import UNKNOWN
from ...core.plain import Turn, is_asked, is_plain
from ...core.reading import as_dict, expected, maybe_bool, maybe_dict, maybe_str
from ...core.resuming import read_once
from ...core.writing import Names
from ...ledger import Ledger
from ...lint.rules import JSON_PLEASE, JSON_WORD, says_json
from ...model import (
    History,
    Json,
    Message,
    OutputFormat,
    Params,
    Request,
    Text,
    Thinking,
    ToolChoice,
)
from ...tools import schemas
from .._openai import short_labels, short_user
from . import parts
from .items import begins_item, read_plain_items, write_plain_items
from .parts import ItemWriting
from .tools import write_tool_list

if TYPE_CHECKING:
    from .base import ResponsesBase


LOGPROBS = "message.output_text.logprobs"
"""What must be included in a response to get token probabilities."""
# https://platform.openai.com/docs/api-reference/responses/create#responses-create-reasoning
SUMMARIES = ("auto", "concise", "detailed")
TIERS = ("auto", "default", "flex", "scale", "priority", "fast", "ultrafast")
FORMATS = {"text": "text", "json_object": "json", "json_schema": "schema"}
FORMAT_WORDS = {kind: word for word, kind in FORMATS.items()}
SCHEMA_NAME = Names(("[a-zA-Z0-9_-]", 64), "output.name")
SCHEMA_KEYS = ("name", "description", "schema", "strict")
FIELDS = Fields(
    # "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16"
    Field("max_tokens", whole, "max_output_tokens", least=16),
    Field("temperature", number, least=0, most=2),
    Field("top_p", number, least=0, most=1),
    Field("top_logprobs", whole, least=0, most=20),
    Field("stream", flag),
    Field("metadata", labels, fit=short_labels),
    Field("previous_id", text, "previous_response_id"),
    Field("truncation", text),
    Field("cache_key", text, "prompt_cache_key"),
    Field("store", flag, silent=False),  # which is what no value means in other dialects
    Field("user_id", text, "safety_identifier", also=("user",), fit=short_user),
    Field("service_tier", text, among=TIERS),
    methods={
        "conversation_id": ("conversation",),
        "logprobs": ("include",),
        "output": ("text",),
        "thinking": ("reasoning",),
        "verbosity": ("text",),
    },
    keys=("model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls"),
)


def read_plain(d: ResponsesBase, doc: Json) -> tuple[Request, list[Turn]] | None:
    turns = None if doc.__class__ is not dict or "system" in doc else read_turns(doc)
    return None if turns is None else (read_around(d, doc, []), turns)


def read_request(d: ResponsesBase, doc: Json) -> Request:
    return read_around(d, as_dict(doc, ""), None)


def read_around(d: ResponsesBase, doc: dict[str, Json], messages: list[Message] | None) -> Request:
    """A request with these messages; None: they are read as well."""
    taken: set[str] = set()  # beside what is always taken
    partly: dict[str, tuple[str, ...]] = {}
    if messages is None:
        messages = read_conversation(d, doc, taken)
    tools = doc.get("tools")
    tools = None if tools is None else d.read_tool_list(tools, "/tools")
    choice = read_request_choice(d, doc)
    params = read_params(d, doc, taken, partly)
    return Request(
        maybe_str(doc, "model", ""),
        tuple(messages),
        tools,
        choice,
        params,
        dialect=d.name,
        extras=d.keep(doc, d.fields.all_taken(taken), partly=partly),
    )


def write_request(d: ResponsesBase, tree: Request, log: Ledger) -> Json:
    w = d.writing(log, tree.dialect)
    if tree.tools is not None:
        w.custom = frozenset(t.name for t in tree.tools if t.kind == "custom")
    out: dict[str, Json] = {}
    if tree.model is not None:
        out["model"] = tree.model
    facts = w.address(d.vendor, tree.model)
    if facts is not UNKNOWN:
        tree = fitting.fit(tree, facts, log)
    if tree.messages is log.plain and not d.listed:
        write_turns(out, log.turns, w)
    else:
        left = d.write_prompt(out, tree.messages, w)
        out["input"] = d.write_items(left, w)
    if tree.tools is not None:
        tools = write_tool_list(d, tree.tools, w)
        if tools or w.same:
            out["tools"] = tools
    if tree.tool_choice is not None:
        write_request_choice(d, out, tree, tree.tool_choice, w)
    write_params(d, out, tree.params, w)
    if "text" in out and not w.same:
        say_json(d, out, tree, log)
    return d.emit(out, tree, log)


def fit_model(d: ResponsesBase, tree: Request, log: Ledger) -> Request:
    facts = log.models.facts(d.vendor, tree.model)
    return repaired(tree, d, facts, log)


def say_json(d: ResponsesBase, out: dict[str, Json], tree: Request, log: Ledger) -> None:
    """ "Response input messages must contain the word 'json'": the instructions are none."""
    written = out["text"].get("format") or {}
    key = "system" if "system" in out else "instructions"
    if written.get("type") != "json_object" or says_json(out["input"]):
        return
    if isinstance(out.get(key), str) and says_json(out[key]):
        please = out.pop(key)
    elif "json-word" in d.rules:
        please = JSON_PLEASE
        assert tree.params.output is not None
        log.invented("output", tree.params.output.at, JSON_WORD)
    else:
        return
    facts = log.models.facts(d.vendor, tree.model)
    role = "user" if facts.system_prompt is False else "system"
    out["input"] = [{"role": role, "content": please}, *out["input"]]


def read_messages(d: ResponsesBase, doc: Json) -> History:
    """A history is an object with the items; the bare items are tolerated."""
    if doc.__class__ is list or doc.__class__ is str:
        messages: list[Message] = []
        read_input(d, doc, "", messages)
        return History(tuple(messages), dialect=d.name)
    doc = as_dict(doc, "")
    taken = {"input", "instructions"}
    messages = read_conversation(d, doc, taken)
    return History(tuple(messages), dialect=d.name, extras=d.keep(doc, taken))


def write_messages(d: ResponsesBase, tree: History, log: Ledger) -> Json:
    w = d.writing(log, tree.dialect)
    out: dict[str, Json] = {}
    left = d.write_prompt(out, tree.messages, w)
    out["input"] = d.write_items(left, w)
    return d.emit(out, tree, log)


@read_once
def read_prompt(d: ResponsesBase, prompt: Json, at: str) -> Message:
    return Message("system", (Text(prompt, at=at),), at=at)


def read_conversation(d: ResponsesBase, doc: dict[str, Json], taken: set[str]) -> list[Message]:
    """The instructions and the items."""
    out: list[Message] = []
    prompt = doc.get("instructions")
    if prompt.__class__ is str:
        if prompt:
            out.append(read_prompt(d, prompt, "/instructions"))
    elif prompt.__class__ is list:
        d.read_items(prompt, "/instructions", out)
    elif prompt is not None:
        expected("a string", prompt, "/instructions")
    system = doc.get("system")
    if system.__class__ is str:  # not a field of this API, but other converters write it
        taken.add("system")
        out.append(read_prompt(d, system, "/system"))
    read_input(d, doc.get("input"), "/input", out)
    return out


def read_turns(doc: dict[str, Json]) -> list[Turn] | None:
    """The instructions and the input as plain turns, if they are plain."""
    prompt, given = doc.get("instructions"), doc.get("input")
    turns: list[Turn] = [] if prompt is None or prompt == "" else [("system", prompt, None)]
    if prompt is not None and prompt.__class__ is not str:
        return None
    if given.__class__ is str:
        turns.append(("user", given, None))
    elif given is None or not is_asked(given) or not read_plain_items(given, turns):
        return None
    return turns if is_plain(turns) else None


def write_turns(out: dict[str, Json], turns: list[Turn], w: ItemWriting) -> None:
    """The instructions and the input of plain turns."""
    items = write_plain_items(turns, w)
    if turns[0][0] == "system":
        out["instructions"] = items.pop(0)["content"]
    out["input"] = items


def write_prompt(
    d: ResponsesBase, out: dict[str, Json], messages: Sequence[Message], w: ItemWriting
) -> Sequence[Message]:
    """The prompt beside the items, and the messages that are left for the items."""
    first = messages[0] if messages else None
    if first is None or first.role != "system" or begins_item(d, first.extras):
        return messages  # if there is a prompt, it stood among the items
    text = parts.bare_text(d, first.content, w)
    if text is None or (w.same and not text):
        return messages
    d.lose(first.extras, first.at, w.log)
    if text:
        out["instructions"] = text
    else:
        d.omit_text(first.content[0].at, w.log)
    return messages[1:]


def read_input(d: ResponsesBase, value: Json, at: str, out: list[Message]) -> None:
    if value.__class__ is list:
        d.read_items(value, at, out)
    elif value.__class__ is str:
        out.append(Message("user", (Text(value, at=at),), at=at))
    elif value is not None:
        expected("a string or a list", value, at)


def read_request_choice(d: ResponsesBase, doc: dict[str, Json]) -> ToolChoice | None:
    choice = doc.get("tool_choice")
    parallel = maybe_bool(doc, "parallel_tool_calls", "")
    if choice is not None:
        return d.read_choice(choice, parallel, "/tool_choice")
    if parallel is None:
        return None
    return ToolChoice(parallel=parallel, dialect=d.name, at="/parallel_tool_calls")


def write_request_choice(
    d: ResponsesBase, out: dict[str, Json], tree: Request, choice: ToolChoice, w: ItemWriting
) -> None:
    if choice.parallel is not None and (w.same or not choice.parallel):
        out["parallel_tool_calls"] = choice.parallel
    if not w.same and choice.mode in ("required", "named"):
        # "Tool choice 'required' must be specified with 'tools' parameter."
        names = {tool.name for tool in tree.tools or () if tool.kind != "hosted"}
        if not names or (choice.mode == "named" and choice.name not in names):
            why = f"{d.name} requires the tool of tool_choice to be in tools"
            return w.log.dropped("tool_choice", choice.at, why)
    written = d.write_choice(choice, w)
    if written is not None:
        out["tool_choice"] = written
    return None


def read_params(
    d: ResponsesBase, doc: dict[str, Json], taken: set[str], partly: dict[str, tuple[str, ...]]
) -> Params:
    fields = d.fields
    if (usual := fields.usual(doc)) is not None:
        return usual
    ats: dict[str, str] = {}
    given = fields.read(doc, ats, {}, taken)
    if fields.special.isdisjoint(doc):
        return Params(**given, ats=ats)
    stated = doc.get("text")
    stated = stated if isinstance(stated, dict) else {}
    given["output"] = read_output(d, stated, partly)
    if (verbosity := maybe_str(stated, "verbosity", "/text")) is not None:
        partly["text"] = (*partly.get("text", ()), "verbosity")
        ats["verbosity"] = "/text/verbosity"
        given["verbosity"] = verbosity
    if doc.get("include") == [LOGPROBS]:
        taken.add("include")
        ats["logprobs"] = "/include/0"
        given["logprobs"] = True
    given["thinking"] = read_effort(doc, partly)
    given["conversation_id"] = read_conversation_id(doc, taken, partly, ats)
    return Params(**given, ats=ats)


def write_params(d: ResponsesBase, out: dict[str, Json], params: Params, w: ItemWriting) -> None:
    left = d.fields.write(out, params, w, d.name)
    if not w.same:
        out.setdefault("store", False)  # the API stores a response unless it is told not to
    if left is None:
        return
    if left.conversation_id is not None:
        name = left.conversation_id
        out["conversation"] = {"id": name} if w.same else name
    if left.thinking is not None:
        write_effort(d, out, left.thinking, w)
    write_reply_form(d, out, left, w)
    if left.logprobs:
        out["include"] = [LOGPROBS]
    elif left.logprobs is not None:
        why = f"{d.name} has no field that turns logprobs off"
        w.log.dropped("logprobs", left.where("logprobs"), why)
    d.lose(left.extras, left.at, w.log)


def read_conversation_id(
    doc: dict[str, Json],
    taken: set[str],
    partly: dict[str, tuple[str, ...]],
    ats: dict[str, str],
) -> str | None:
    """The stored conversation: its id, or an object with its id."""
    value = doc.get("conversation")
    if value.__class__ is str:
        taken.add("conversation")
        ats["conversation_id"] = "/conversation"
        return str(value)
    if value.__class__ is dict and value.get("id").__class__ is str:
        partly["conversation"] = ("id",)
        ats["conversation_id"] = "/conversation/id"
        return str(value["id"])
    return None


def read_effort(doc: dict[str, Json], partly: dict[str, tuple[str, ...]]) -> Thinking | None:
    config = maybe_dict(doc, "reasoning", "")
    if config is None:
        return None
    effort = maybe_str(config, "effort", "/reasoning")
    display = maybe_str(config, "summary", "/reasoning")
    partly["reasoning"] = ("effort", "summary")
    if effort is None and display is None:
        return None
    if effort == "none":
        return Thinking("off", display=display, at="/reasoning")
    return Thinking(effort=effort, display=display, at="/reasoning")


def write_effort(d: ResponsesBase, out: dict[str, Json], config: Thinking, w: ItemWriting) -> None:
    doc: dict[str, Json] = {}
    effort = "none" if config.mode == "off" else config.effort
    if effort is not None:
        doc["effort"] = effort
    if config.display is not None:
        doc["summary"] = config.display
    if doc:
        out["reasoning"] = doc
    d.lose(config.extras, config.at, w.log)


def write_reply_form(
    d: ResponsesBase, out: dict[str, Json], params: Params, w: ItemWriting
) -> None:
    text: dict[str, Json] = {}
    output = params.output
    if output is not None and (w.same or output.kind != "text" or output.extras is not None):
        text["format"] = write_output(d, output, w)
    if params.verbosity is not None:
        text["verbosity"] = params.verbosity
    if text:
        out["text"] = text


def read_output(
    d: ResponsesBase, text: dict[str, Json], partly: dict[str, tuple[str, ...]]
) -> OutputFormat | None:
    """The form of the response; the schema may be nested, as it is in Chat."""
    form, at = text.get("format"), "/text/format"
    if form.__class__ is not dict:
        return None
    word = form.get("type")
    kind = FORMATS.get(word) if isinstance(word, str) else None
    if kind is None:
        return None
    partly["text"] = ("format",)
    if kind != "schema":
        return OutputFormat(kind, at=at, extras=d.keep(form, ("type",)))  # type: ignore[arg-type]
    if form.get("json_schema").__class__ is dict:
        inner, where = form["json_schema"], f"{at}/json_schema"
        nested = {"json_schema": SCHEMA_KEYS}
        extras = d.keep(form, ("type",), partly=nested)
    else:
        inner, where = form, at
        extras = d.keep(form, ("type", *SCHEMA_KEYS))
    return OutputFormat(
        "schema",
        maybe_str(inner, "name", where),
        maybe_str(inner, "description", where),
        inner.get("schema"),
        maybe_bool(inner, "strict", where),
        f"{where[len(at) :]}/schema" if "schema" in inner else None,
        at=at,
        extras=extras,
    )


def write_output(d: ResponsesBase, form: OutputFormat, w: ItemWriting) -> Json:
    doc: dict[str, Json] = {"type": FORMAT_WORDS[form.kind]}
    if form.kind != "schema":
        return d.emit(doc, form, w.log)
    inner: dict[str, Json] = {}
    for key in SCHEMA_KEYS:
        if (value := getattr(form, key)) is not None:
            inner[key] = value
    if not w.same:
        inner["name"] = SCHEMA_NAME(form.name or "", form.at, w.log)
        if form.strict:
            inner["schema"], strict = schemas.strictly(form, form.schema, schemas.OPENAI, w.log)
            inner["strict"] = strict or False
    nested = parts.has_rest(d, form, "json_schema")
    return d.emit(doc | ({"json_schema": inner} if nested else inner), form, w.log)
