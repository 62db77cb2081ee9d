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
from ...model import (
    Json,
    Message,
    OutputFormat,
    Params,
    Request,
    Text,
    Thinking,
    Tool,
    ToolChoice,
)
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
    spelling: dict[str, Json] = {}
    tools = doc.get("tools")
    tools = None if tools is None else read_tool_list(d, tools, "/tools")
    custom = frozenset(t.name for t in tools or () if t.kind == "custom")
    messages = read_conversation(d, doc, custom, taken, spelling)
    choice = read_request_choice(d, doc, tools or (), taken)
    options = Taker(doc, "")
    params = read_params(d, doc, options, taken, spelling)
    return Request(
        maybe_str(doc, "model", ""),
        tuple(messages),
        tools,
        choice,
        params,
        dialect=d.name,
        extras=keep_options(d, options, frozenset(taken), spelling),
    )


def write_request(d: VercelModel, tree: Request, log: Ledger) -> Json:
    w = d.writing(log, tree.dialect)
    spelling = d.spelling(tree)
    out: dict[str, Json] = {}
    if tree.model is not None:
        out["model"] = tree.model
    write_params(d, out, tree, w)
    if tree.tools is not None:
        tools = write_tool_list(d, tree.tools, w)
        if tools or w.home:
            out["tools"] = tools
    if tree.tool_choice is not None:
        write_request_choice(d, out, tree.tool_choice, w)
    write_conversation(d, out, tree.messages, spelling, w)
    return finish(d, out, tree, w, write_cache(d, tree.params.cache, w))


def read_conversation(
    d: VercelModel,
    doc: dict[str, Json],
    custom: frozenset[str],
    taken: set[str],
    spelling: dict[str, Json],
) -> list[Message]:
    """The system prompt and the messages, or the prompt that stands for them."""
    prompt = doc.get("prompt")
    if doc.get("messages") is None and prompt is not None:
        taken.add("prompt")
        spelling["prompt"] = True
        if prompt.__class__ is str:
            messages = [Message("user", (Text(prompt, at="/prompt"),), at="/prompt")]
            spelling["prompt"] = "string"
        else:
            messages = turns.read_history(d, need_list(doc, "prompt", ""), "/prompt", custom)
    else:
        messages = turns.read_history(d, need_list(doc, "messages", ""), "/messages", custom)
    if doc.get(ALLOW) is True:  # which the messages show by themselves
        taken.add(ALLOW)
        spelling[ALLOW] = True
    for index, message in enumerate(messages):
        if message.role != "system":
            break
        messages[index] = replace(message, extras=d.respell(message.extras, place="inside"))
    for key in SYSTEMS:
        if doc.get(key) is not None:
            taken.add(key)
            if key != d.system:
                spelling["system"] = key
            return read_system(d, doc[key], f"/{key}", spelling) + messages
    return messages


def write_conversation(
    d: VercelModel,
    out: dict[str, Json],
    messages: Sequence[Message],
    spelling: dict[str, Json],
    w: Writing,
) -> None:
    count = count_leading(d, messages)
    prompts = [doc for message in messages[:count] for doc in d.write_system(message, w)]
    inside: list[Json] = []
    key, form = spelling.get("system", d.system), spelling.get("prompts")
    if form == "object" and len(prompts) == 1:
        out[key] = prompts[0]
    elif len(prompts) == 1 and len(prompts[0]) == 2 and form != "list":
        out[key] = prompts[0]["content"]
    elif form == "list" or (prompts and d.system_lists):
        out[key] = prompts
    else:
        inside = list(prompts)
    said = inside + turns.write_history(d, messages[count:], w)
    if not (said or w.home):
        # "Invalid prompt: messages must not be empty"
        at = messages[-1].at if messages else ""
        d.add_user_turn(at, w.log)
        said = [{"role": "user", "content": SILENCE}]
    if spelling.get("prompt") == "string" and len(said) == 1:
        out["prompt"] = said[0]["content"]
    else:
        out["prompt" if "prompt" in spelling else "messages"] = said
    if spelling.get(ALLOW) or (not w.home and not d.system_inside and has_system(said)):
        out[ALLOW] = True


def count_leading(d: VercelModel, messages: Sequence[Message]) -> int:
    """How many messages are the system prompt; at home, not those that stood inside."""
    count = 0
    for message in messages:
        if message.role != "system":
            break
        if d.spelling(message).get("place") == "inside":
            break
        count += 1
    return count


def read_system(d: VercelModel, said: Json, at: str, spelling: dict[str, Json]) -> list[Message]:
    if said.__class__ is str:
        return [Message("system", (Text(said, at=at),), at=at)]
    if said.__class__ is dict:
        spelling["prompts"] = "object"
        return [read_prompt(d, said, at)]
    if said.__class__ is not list:
        expected("a string, an object or a list", said, at)
    spelling["prompts"] = "list"
    return [read_prompt(d, doc, f"{at}/{index}") for index, doc in enumerate(said)]


def read_prompt(d: VercelModel, doc: Json, at: str) -> Message:
    """A system prompt as a message."""
    doc = as_dict(doc, at)
    if doc.get("role") != "system":
        expected("a system message", doc, at)
    return turns.read_turn(d, doc, "system", at, frozenset())


def read_request_choice(
    d: VercelModel, doc: dict[str, Json], tools: Sequence[Tool], taken: set[str]
) -> ToolChoice | None:
    said, choice = doc.get("toolChoice"), None
    if said is not None:
        choice = read_choice(d, said, "/toolChoice")
        named = {tool.name for tool in tools if tool.kind == "custom"}
        if choice.mode == "named" and choice.name in named:
            choice = replace(choice, kind="custom")
    key = next((k for k in (d.active, *ACTIVE) if doc.get(k).__class__ is list), None)
    if key is None or (choice is not None and choice.mode not in ("auto", "required")):
        return choice
    allowed = tuple(as_str(n, f"/{key}/{i}") for i, n in enumerate(doc[key]))
    taken.add(key)
    spelled: dict[str, Json] = {} if key == d.active else {"active": key}
    if choice is None:
        spelled["mode"] = None
        choice = ToolChoice("auto", dialect=d.name, at=f"/{key}")
    extras = d.respell(choice.extras, **spelled) if spelled else choice.extras
    return replace(choice, allowed=allowed, extras=extras)


def write_request_choice(
    d: VercelModel, out: dict[str, Json], choice: ToolChoice, w: Writing
) -> None:
    spelling = d.spelling(choice)
    said = write_choice(d, choice, w)
    if said is not None and not ("mode" in spelling and choice.mode == "auto"):
        out["toolChoice"] = said
    if choice.allowed is not None:
        names = [w.tool_name(name, choice.at) for name in choice.allowed]
        out[spelling.get("active", d.active)] = names


def read_params(
    d: VercelModel, doc: dict[str, Json], options: Taker, taken: set[str], spelling: dict[str, Json]
) -> Params:
    ats: dict[str, str] = {}
    said = d.fields.read(doc, ats, spelling, taken)
    said["output"] = read_format(d, doc, taken)
    said["thinking"] = read_effort(d, doc, taken)
    said["cache"] = read_cache(d, options)
    return Params(**said, ats=ats)


def write_params(d: VercelModel, out: dict[str, Json], tree: Request, w: Writing) -> None:
    params = d.fields.write(out, tree.params, w, d.name, d.spelling(tree))
    if params is None:
        return
    if params.output is not None:
        write_format(d, out, params.output, w)
    if params.thinking is not None:
        write_effort(d, out, params.thinking, w)
    d.lose(params.extras, params.at, w.log)


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
        if w.home:
            out["responseFormat"] = d.emit({"type": "text"}, form, w.log)
        else:
            d.lose(form.extras, form.at, w.log)
        return
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


def has_system(messages: Sequence[Json]) -> bool:
    """Whether a system message stands among the messages."""
    return any(message["role"] == "system" for message in messages)
