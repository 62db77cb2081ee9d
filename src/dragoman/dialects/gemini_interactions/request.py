"""Requests of the Interactions API, both ways."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.fields import Field, Fields, flag, labels, number, strings, text, whole
from ...core.reading import as_dict, expected, maybe_dict, maybe_str
from ...core.turns import SILENCE
from ...core.writing import Writing, joined
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
    ToolChoice,
)
from ...tools import freeform
from . import contents
from .steps import read_steps, write_steps
from .tools import read_choice, read_tool_list, write_choice, write_tool_list

if TYPE_CHECKING:
    from . import GeminiInteractions

CONFIG = "generation_config"
CHOICE_AT = f"/{CONFIG}/tool_choice"
PROMPT = "system_instruction"
LEVELS = ("minimal", "low", "medium", "high")
SUMMARIES = {"auto": "summarized", "none": "omitted"}
SUMMARY_WORDS = {meaning: word for word, meaning in SUMMARIES.items()}
TIERS = ("flex", "standard", "priority", "deferred")
JSON, PLAIN = "application/json", "text/plain"
SCHEMA_TYPES = ("object", "array", "string", "number", "integer", "boolean")
_may_label = re.compile(r"[\w-]{0,63}").fullmatch


def is_label(key: str, value: Json) -> bool:
    """ "Label keys and values can be no longer than 63 characters [...] and can only contain
    lowercase letters, numeric characters, underscores, and dashes. [...] Label keys must start
    with a letter."
    """
    pair = (key, value)
    short = all(x.__class__ is str and x == x.lower() and _may_label(x) for x in pair)
    return short and key[:1].isalpha()


FIELDS = Fields(
    Field("max_tokens", whole, f"{CONFIG}/max_output_tokens"),
    Field("temperature", number, f"{CONFIG}/temperature", least=0, most=2),
    Field("top_p", number, f"{CONFIG}/top_p", least=0, most=1),
    Field("seed", whole, f"{CONFIG}/seed"),
    # "The set of character sequences (up to 5) that will stop output generation."
    Field("stop", strings, f"{CONFIG}/stop_sequences", count=5),
    Field("stream", flag),
    Field("store", flag, silent=False),  # which is what no value means in other dialects
    Field("previous_id", text, "previous_interaction_id"),
    Field("service_tier", text, among=TIERS),
    Field(
        "metadata", labels, "labels", only=is_label,
        why="labels of {target} are short, and of small letters, digits, '_' and '-'",
    ),
    methods={"thinking": (CONFIG,), "output": ("response_format",)},
    keys=("model", "input", PROMPT, "tools"),
)  # fmt: skip


def read_request(d: GeminiInteractions, doc: Json) -> Request:
    doc = as_dict(doc, "")
    taken: set[str] = set()
    partly: dict[str, tuple[str, ...]] = {}
    tools = doc.get("tools")
    config = maybe_dict(doc, CONFIG, "")
    choice: ToolChoice | None = None
    if config is not None and config.get("tool_choice") is not None:
        choice = read_choice(d, config["tool_choice"], CHOICE_AT)
        partly[CONFIG] = ("tool_choice",)
    messages = read_conversation(d, doc)
    params = read_params(d, doc, config, taken, partly)
    tree = Request(
        maybe_str(doc, "model", ""),
        tuple(messages),
        None if tools is None else read_tool_list(d, tools, "/tools"),
        choice,
        params,
        dialect=d.name,
        extras=d.keep(doc, FIELDS.all_taken(taken), partly=partly),
    )
    return freeform.unwrap_calls(tree)


def write_request(d: GeminiInteractions, tree: Request, log: Ledger) -> Json:
    w = d.writing(log, tree.dialect)
    out: dict[str, Json] = {}
    if tree.model is not None:
        out["model"] = tree.model
    left = write_prompt(d, out, tree.messages, w)
    steps = write_steps(d, left, w)
    if not (steps or w.same):
        d.add_user_turn(tree.at, log)
        steps = [{"type": "user_input", "content": [{"type": "text", "text": SILENCE}]}]
    out["input"] = steps
    if tree.tools:
        out["tools"] = write_tool_list(d, tree.tools, w)
    write_params(d, out, tree.params, w)
    if tree.tool_choice is not None and (w.same or tree.tool_choice.mode is not None):
        out.setdefault(CONFIG, {})["tool_choice"] = write_choice(d, tree.tool_choice, w)
    return d.emit(out, tree, log)


def read_messages(d: GeminiInteractions, doc: Json) -> History:
    """A history is an object with the steps; the bare steps are tolerated."""
    if doc.__class__ is list:
        messages: list[Message] = []
        read_input(d, doc, "", messages)
        return History(tuple(messages), dialect=d.name)
    doc = as_dict(doc, "")
    extras = d.keep(doc, ("input", PROMPT))
    return History(tuple(read_conversation(d, doc)), dialect=d.name, extras=extras)


def write_messages(d: GeminiInteractions, tree: History, log: Ledger) -> Json:
    w = d.writing(log, tree.dialect)
    out: dict[str, Json] = {}
    left = write_prompt(d, out, tree.messages, w)
    out["input"] = write_steps(d, left, w)
    return d.emit(out, tree, log)


def read_conversation(d: GeminiInteractions, doc: dict[str, Json]) -> list[Message]:
    out: list[Message] = []
    prompt = maybe_str(doc, PROMPT, "")
    if prompt is not None:
        at = f"/{PROMPT}"
        out.append(Message("system", (Text(prompt, at=at),), at=at))
    read_input(d, doc.get("input"), "/input", out)
    return out


def read_input(d: GeminiInteractions, value: Json, at: str, out: list[Message]) -> None:
    """Steps, contents, one content, or a string."""
    if value.__class__ is list:
        read_steps(d, value, at, out)
    elif value.__class__ is str:
        out.append(Message("user", (Text(value, at=at),), at=at))
    elif value.__class__ is dict:
        out.append(Message("user", (contents.read_content(d, value, at),), at=at))
    elif value is not None:
        expected("a string or a list", value, at)


def write_prompt(
    d: GeminiInteractions, out: dict[str, Json], messages: Sequence[Message], w: Writing
) -> Sequence[Message]:
    """The system instruction, which is one text; and the messages that are left."""
    texts: list[str] = []
    count = 0
    for message in messages:
        if message.role != "system":
            break
        count += 1
        d.lose(message.extras, message.at, w.log)
        written = [block for block in message.content if isinstance(block, Text)]
        for index, block in enumerate(written):
            d.lose(block.extras, block.at, w.log)
            if texts:
                d.join_text(block.at, w.log)
            if texts and not index:
                d.merge_prompt(message, w.log)
            texts.append(block.text)
        for other in message.content:
            if not isinstance(other, Text):
                d.omit(other, w.log)
        if not written and not w.same:
            d.omit_message(message, w.log)
    if texts:
        out[PROMPT] = joined(texts)
    return messages[count:]


def read_params(
    d: GeminiInteractions,
    doc: dict[str, Json],
    config: dict[str, Json] | None,
    taken: set[str],
    partly: dict[str, tuple[str, ...]],
) -> Params:
    ats: dict[str, str] = {}
    given = FIELDS.read(doc, ats, {}, taken, partly)
    if config is not None:
        given["thinking"] = read_thinking(config, partly)
    given["output"] = read_output(d, doc, taken)
    return Params(**given, ats=ats)


def write_params(d: GeminiInteractions, out: dict[str, Json], params: Params, w: Writing) -> None:
    left = FIELDS.write(out, params, w, d.name)
    if not w.same:
        out.setdefault("store", False)  # the API stores an interaction unless it is told not to
    if left is None:
        return
    if left.thinking is not None:
        write_thinking(d, out, left.thinking, w)
    if left.output is not None:
        write_output(d, out, left.output, w)
    d.lose(left.extras, left.at, w.log)


def read_thinking(config: dict[str, Json], partly: dict[str, tuple[str, ...]]) -> Thinking | None:
    at = f"/{CONFIG}"
    level = maybe_str(config, "thinking_level", at)
    word = maybe_str(config, "thinking_summaries", at)
    keys = ["thinking_level"] if level is not None else []
    display = SUMMARIES.get(word or "")
    if display is not None:
        keys.append("thinking_summaries")
    if not keys:
        return None
    partly[CONFIG] = (*partly.get(CONFIG, ()), *keys)
    return Thinking(effort=level, display=display, at=at if keys[1:] else f"{at}/{keys[0]}")


def write_thinking(
    d: GeminiInteractions, out: dict[str, Json], thinking: Thinking, w: Writing
) -> None:
    config: dict[str, Json] = {}
    if thinking.effort is not None:
        config["thinking_level"] = thinking.effort
    if thinking.display is not None:
        config["thinking_summaries"] = SUMMARY_WORDS[thinking.display]
    if config:
        out.setdefault(CONFIG, {}).update(config)
    d.lose(thinking.extras, thinking.at, w.log)


def read_output(
    d: GeminiInteractions, doc: dict[str, Json], taken: set[str]
) -> OutputFormat | None:
    """The form of the reply. Older clients give the schema itself, and its type beside it."""
    form, at = doc.get("response_format"), "/response_format"
    if form.__class__ is not dict:
        return None
    kind = form.get("type")
    if kind == "text" and form.get("mime_type") in (JSON, PLAIN):
        taken.add("response_format")
        schema = form.get("schema")
        keys = ("type", "mime_type", "schema")
        if form["mime_type"] == PLAIN:
            return OutputFormat("text", at=at, extras=d.keep(form, keys[:2]))
        extras = d.keep(form, keys)
        if schema is None:
            return OutputFormat("json", at=at, extras=extras)
        return OutputFormat("schema", schema=schema, at=at, extras=extras, schema_at="/schema")
    if kind.__class__ is str and kind in SCHEMA_TYPES:
        taken.add("response_format")
        if doc.get("response_mime_type") == JSON:
            taken.add("response_mime_type")
        return OutputFormat("schema", schema=form, at=at, schema_at="")
    return None


def write_output(
    d: GeminiInteractions, out: dict[str, Json], form: OutputFormat, w: Writing
) -> None:
    if form.kind == "text" and not w.same:
        d.lose(form.extras, form.at, w.log)
        return  # as it goes without saying
    written: dict[str, Json] = {"type": "text"}
    written["mime_type"] = PLAIN if form.kind == "text" else JSON
    if form.kind == "schema":
        written["schema"] = form.schema
    out["response_format"] = d.emit(written, replace(form, schema=None), w.log)
