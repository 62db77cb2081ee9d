"""Requests: the settings of ``generateText`` and ``streamText`` that a document can say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core import capabilities as cap
from ...core.fields import Field, Fields, number, strings, whole
from ...core.reading import as_dict, as_str, expected, maybe_str, need_list
from ...core.turns import SILENCE
from ...core.writing import Writing
from ...ledger import Ledger
from ...model import Json, Message, OutputFormat, Params, Request, Text, Thinking, Tool, ToolChoice
from . import turns
from .options import Taker, finish, keep_options, read_cache, write_cache
from .tools import read_choice, read_tool_list, write_choice, write_tool_list

if TYPE_CHECKING:
    from . import VercelModel


SYSTEMS = ("instructions", "system")
ACTIVE = ("activeTools", "experimental_activeTools")
ALLOW = "allowSystemInMessages"
FORMAT_KEYS = frozenset({"type", "schema", "name", "description"})
# https://ai-sdk.dev/docs/ai-sdk-core/settings
FIELDS = Fields(
    # "maxOutputTokens must be >= 1"
    Field("max_tokens", whole, "maxOutputTokens", also=("maxTokens",), least=1),
    Field("temperature", number),
    Field("top_p", number, "topP"),
    Field("top_k", whole, "topK"),
    Field("presence_penalty", number, "presencePenalty"),
    Field("frequency_penalty", number, "frequencyPenalty"),
    Field("seed", whole),
    Field("stop", strings, "stopSequences"),
    methods=dict.fromkeys(("output", "thinking", "cache"), ()),
    keys=("model", "messages", "tools", "toolChoice"),
)


def read_request(d: VercelModel, doc: Json) -> Request:
    doc = as_dict(doc, "")
    taken = set(d.fields.taken)
    tools = doc.get("tools")
    tools = None if tools is None else read_tool_list(d, tools, "/tools")
    custom = frozenset(t.name for t in tools or () if t.kind == "custom")
    messages = read_conversation(d, doc, custom, taken)
    choice = read_request_choice(d, doc, tools or (), taken)
    options = Taker(doc, "")
    params = read_params(d, doc, options, taken)
    return Request(
        maybe_str(doc, "model", ""),
        tuple(messages),
        tools,
        choice,
        params,
        dialect=d.name,
        extras=keep_options(d, options, frozenset(taken)),
    )


def write_request(d: VercelModel, tree: Request, log: Ledger) -> Json:
    w = d.writing(log, tree.dialect)
    out: dict[str, Json] = {}
    if tree.model is not None:
        out["model"] = tree.model
    write_params(d, out, tree.params, w)
    if tree.tools or (tree.tools is not None and w.same):
        out["tools"] = write_tool_list(d, tree.tools, w)
    if tree.tool_choice is not None:
        write_request_choice(d, out, tree.tool_choice, w)
    write_conversation(d, out, tree.messages, w)
    return finish(d, out, tree, w, write_cache(d, tree.params.cache, w))


def read_conversation(
    d: VercelModel, doc: dict[str, Json], custom: frozenset[str], taken: set[str]
) -> list[Message]:
    """The system prompt and the messages, or the prompt that stands for them."""
    prompt, key = doc.get("prompt"), "messages"
    if doc.get(key) is None and prompt is not None:
        taken.add(key := "prompt")
    if key == "prompt" and prompt.__class__ is str:
        messages = [Message("user", (Text(prompt, at="/prompt"),), at="/prompt")]
    else:
        messages = turns.read_history(d, need_list(doc, key, ""), f"/{key}", custom)
    if doc.get(ALLOW) is True:  # which the messages show by themselves
        taken.add(ALLOW)
    for key in (d.system, *SYSTEMS):
        if doc.get(key) is not None:
            taken.add(key)
            return read_system(d, doc[key], f"/{key}") + messages
    return messages


def write_conversation(
    d: VercelModel, out: dict[str, Json], messages: Sequence[Message], w: Writing
) -> None:
    count = next((i for i, m in enumerate(messages) if m.role != "system"), len(messages))
    prompts: list[Json] = []
    for message in messages[:count]:
        prompts += d.write_system(message, w)
    inside: list[Json] = []
    if len(prompts) == 1 and len(prompts[0]) == 2:
        out[d.system] = prompts[0]["content"]
    elif prompts and d.system_lists:
        out[d.system] = prompts
    else:
        inside = prompts
    written = inside + turns.write_history(d, messages[count:], w)
    if not (written or w.same):
        # "Invalid prompt: messages must not be empty"
        at = messages[-1].at if messages else ""
        d.add_user_turn(at, w.log)
        written = [{"role": "user", "content": SILENCE}]
    out["messages"] = written
    if not d.system_inside and any(message["role"] == "system" for message in written):
        out[ALLOW] = True


def read_system(d: VercelModel, written: Json, at: str) -> list[Message]:
    if written.__class__ is str:
        return [Message("system", (Text(written, at=at),), at=at)]
    if written.__class__ is dict:
        return [read_prompt(d, written, at)]
    if written.__class__ is not list:
        expected("a string, an object or a list", written, at)
    return [read_prompt(d, doc, f"{at}/{index}") for index, doc in enumerate(written)]


def read_prompt(d: VercelModel, doc: Json, at: str) -> Message:
    """A system prompt as a message."""
    doc = as_dict(doc, at)
    if doc.get("role") != "system":
        expected("a system message", doc, at)
    return turns.read_turn(d, doc, "system", at, frozenset())


def read_request_choice(
    d: VercelModel, doc: dict[str, Json], tools: Sequence[Tool], taken: set[str]
) -> ToolChoice | None:
    given, choice = doc.get("toolChoice"), None
    if given is not None:
        choice = read_choice(d, given, "/toolChoice")
        named = {tool.name for tool in tools if tool.kind == "custom"}
        if choice.mode == "named" and choice.name in named:
            choice = replace(choice, kind="custom")
    key = next((k for k in (d.active, *ACTIVE) if doc.get(k).__class__ is list), None)
    if key is None or (choice is not None and choice.mode not in ("auto", "required")):
        return choice
    allowed = tuple(as_str(n, f"/{key}/{i}") for i, n in enumerate(doc[key]))
    taken.add(key)
    choice = choice or ToolChoice("auto", dialect=d.name, at=f"/{key}")
    return replace(choice, allowed=allowed)


def write_request_choice(
    d: VercelModel, out: dict[str, Json], choice: ToolChoice, w: Writing
) -> None:
    if (written := write_choice(d, choice, w)) is not None:
        out["toolChoice"] = written
    if choice.allowed is not None:
        out[d.active] = [w.tool_name(name, choice.at) for name in choice.allowed]


def read_params(d: VercelModel, doc: dict[str, Json], options: Taker, taken: set[str]) -> Params:
    ats: dict[str, str] = {}
    given = d.fields.read(doc, ats, {}, taken)
    given["output"] = read_format(d, doc, taken)
    given["thinking"] = read_effort(d, doc, taken)
    given["cache"] = read_cache(d, options)
    return Params(**given, ats=ats)


def write_params(d: VercelModel, out: dict[str, Json], params: Params, w: Writing) -> None:
    left = d.fields.write(out, params, w, d.name)
    if left is None:
        return
    if left.output is not None:
        write_format(d, out, left.output, w)
    if left.thinking is not None:
        write_effort(d, out, left.thinking, w)
    d.lose(left.extras, left.at, w.log)


def read_format(d: VercelModel, doc: dict[str, Json], taken: set[str]) -> OutputFormat | None:
    form = doc.get("responseFormat")
    at = "/responseFormat"
    if form.__class__ is not dict or form.get("type") not in ("text", "json"):
        return None
    taken.add("responseFormat")
    if form["type"] == "text":
        return OutputFormat("text", at=at, extras=d.keep(form, ("type",)))
    return OutputFormat(
        "json" if form.get("schema") is None else "schema",
        maybe_str(form, "name", at),
        maybe_str(form, "description", at),
        form.get("schema"),
        at=at,
        schema_at="/schema" if "schema" in form else None,
        extras=d.keep(form, FORMAT_KEYS),
    )


def write_format(d: VercelModel, out: dict[str, Json], form: OutputFormat, w: Writing) -> None:
    if form.kind == "text":
        if w.same:
            out["responseFormat"] = d.emit({"type": "text"}, form, w.log)
        else:
            d.lose(form.extras, form.at, w.log)
        return
    if form.kind == "schema" and form.schema is None:
        why = f"a schema is asked for, and there is none; {d.name} asks for any JSON"
        w.log.approximated("output", form.at, why)
    doc: dict[str, Json] = {"type": "json"}
    for key in ("name", "description", "schema"):
        if (value := getattr(form, key)) is not None:
            doc[key] = value
    out["responseFormat"] = d.emit(doc, form, w.log)


def read_effort(d: VercelModel, doc: dict[str, Json], taken: set[str]) -> Thinking | None:
    effort = doc.get("reasoning")
    if d.can.thinking is cap.NO_THINKING or effort.__class__ is not str:
        return None
    taken.add("reasoning")
    if effort == "none":
        return Thinking("off", at="/reasoning")
    return Thinking(effort=effort, at="/reasoning")


def write_effort(d: VercelModel, out: dict[str, Json], config: Thinking, w: Writing) -> None:
    d.lose(config.extras, config.at, w.log)
    effort = "none" if config.mode == "off" else config.effort
    if effort is not None:
        out["reasoning"] = effort
