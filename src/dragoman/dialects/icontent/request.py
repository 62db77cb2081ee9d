"""Requests, histories, tools and answers of llxprt, both ways.

A request is what llxprt hands to a provider, ``GenerateChatOptions``: the contents, the tools, the
system prompt, and under ``resolved`` the few settings that all providers share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core import dates, heads
from ...core.counts import ALL, INPUT, OUTPUT, Counts
from ...core.fields import Field, Fields, flag
from ...core.reading import (
    as_dict,
    as_list,
    maybe_dict,
    maybe_int,
    maybe_number,
    maybe_str,
    need_list,
    need_str,
)
from ...core.words import Stops
from ...core.writing import Writing
from ...dialect import Dialect
from ...errors import Malformed
from ...ledger import Ledger
from ...model import (
    Candidate,
    Extras,
    History,
    Json,
    Message,
    Params,
    Request,
    Response,
    Stop,
    Text,
    Tool,
    Toolbox,
    Usage,
)
from ...tools import freeform
from . import blocks, turns
from .blocks import ContentWriting, Known

if TYPE_CHECKING:
    from . import IContent


FIELDS = Fields(
    Field("max_tokens", maybe_int, "resolved/maxTokens"),
    Field("temperature", maybe_number, "resolved/temperature"),
    Field("stream", flag, "resolved/streaming"),
    keys=("contents", "tools", "systemInstruction"),
)
SCHEMAS = ("parametersJsonSchema", "parameters")

# Providers say it in their own words, under stopReason or (as OpenAI's do) under finishReason.
STOPS = Stops(
    {
        "end_turn": "end",
        "stop_sequence": "stop-sequence",
        "max_tokens": "length",
        "model_context_window_exceeded": "context",
        "tool_use": "tool-call",
        "refusal": "filter",
        "pause_turn": "pause",
        "compaction": "compaction",
        "cancelled": "cancelled",
        "error": "error",
        "unfinished": "unfinished",
        "stop": "end",
        "length": "length",
        "tool_calls": "tool-call",
        "function_call": "tool-call",
        "content_filter": "filter",
        "STOP": "end",
        "MAX_TOKENS": "length",
        "SAFETY": "filter",
        "completed": "end",
        "max_output_tokens": "length",
    },
    vague=("stop", "STOP", "completed"),
)
ANSWER = ("usage", "stopReason", "model", "id", "timestamp")
# Cached tokens are counted as prompt tokens, reasoning as completion tokens.
COUNTS = Counts(
    {
        "promptTokens": INPUT,
        "completionTokens": OUTPUT,
        "totalTokens": ALL,
        "cachedTokens": ("cache_read",),
        "cacheCreationTokens": ("cache_write",),
        "reasoningTokens": ("reasoning",),
    }
)
# What an older version of the type called them.
ALIASES = {
    "cachedTokens": "cache_read_input_tokens",
    "cacheCreationTokens": "cache_creation_input_tokens",
}


def writing(
    d: IContent, log: Ledger, dialect: str | None, *, answer: bool = False
) -> ContentWriting:
    return ContentWriting(log, d.is_home(dialect), answer)


def read_request(d: IContent, doc: Json) -> Request:
    doc = as_dict(doc, "")
    tools = None if doc.get("tools") is None else read_groups(d, doc["tools"], "/tools")
    custom = frozenset(t.name for t in tools or () if t.kind == "custom")
    messages = turns.read_history(d, need_list(doc, "contents", ""), "/contents", custom)
    prompt = maybe_str(doc, "systemInstruction", "")
    if prompt is not None:
        at = "/systemInstruction"
        spelling = Extras(d.name, spelling={"place": "instruction"})
        messages.insert(0, Message("system", (Text(prompt, at=at),), at=at, extras=spelling))
    ats, partly = {"model": "/resolved/model"}, {"resolved": ("model",)}
    params = Params(**FIELDS.read(doc, ats, {}, set(), partly), ats=ats)
    return Request(
        maybe_str(doc.get("resolved") or {}, "model", "/resolved"),
        tuple(messages),
        tools,
        params=params,
        dialect=d.name,
        extras=d.keep(doc, FIELDS.taken, partly=partly),
    )


def write_request(d: IContent, tree: Request, log: Ledger) -> Json:
    w = writing(d, log, tree.dialect)
    out: dict[str, Json] = {}
    messages = tree.messages
    if count := count_instructions(d, messages, w):
        write_instruction(d, out, messages[:count], w)
    out["contents"] = turns.write_history(d, messages[count:], w)
    if tree.tools is not None and (groups := write_groups(d, tree.tools, w) or w.home):
        out["tools"] = [] if groups is True else groups
    if tree.model is not None:
        out["resolved"] = {"model": tree.model}
    FIELDS.write(out, tree.params, w, d.name)
    d.lose(tree.params.extras, tree.params.at, log)
    return blocks.emit(d, out, tree, log)


def count_instructions(d: IContent, messages: Sequence[Message], w: ContentWriting) -> int:
    """How many of the first messages are the system prompt that stands beside the contents."""
    if w.home:
        first = messages[0] if messages else None
        return int(first is not None and d.spelling(first).get("place") == "instruction")
    count = 0
    if d.has_instruction:
        for message in messages:
            if message.role != "system":
                break
            count += 1
    return count


def write_instruction(
    d: IContent, out: dict[str, Json], messages: Sequence[Message], w: ContentWriting
) -> None:
    texts: list[Text] = []
    for index, message in enumerate(messages):
        if index:
            d.merge_prompt(message, w.log)
        d.lose(message.extras, message.at, w.log)
        for block in message.content:
            if not isinstance(block, Text):
                d.omit(block, w.log)
                continue
            d.lose(block.extras, block.at, w.log)
            if texts:
                d.join_text(block.at, w.log)
            texts.append(block)
    if texts:
        out["systemInstruction"] = "\n".join(text.text for text in texts)
    else:
        d.omit_message(messages[0], w.log)


def read_messages(d: IContent, doc: Json) -> History:
    return History(tuple(turns.read_history(d, as_list(doc, ""), "")), dialect=d.name)


def write_messages(d: IContent, tree: History, log: Ledger) -> Json:
    d.lose(tree.extras, tree.at, log)
    return turns.write_history(d, tree.messages, writing(d, log, tree.dialect))


def read_tools(d: IContent, doc: Json) -> Toolbox:
    return Toolbox(read_groups(d, doc, ""), dialect=d.name)


def write_tools(d: IContent, tree: Toolbox, log: Ledger) -> Json:
    d.lose(tree.extras, tree.at, log)
    return write_groups(d, tree.tools, writing(d, log, tree.dialect))


def read_groups(d: IContent, docs: Json, at: str) -> tuple[Tool, ...]:
    """Tools come in groups; what else stands in a group is a tool of the provider."""
    tools: list[Tool] = []
    for index, group in enumerate(as_list(docs, at)):
        where = f"{at}/{index}"
        group = as_dict(group, where)
        functions = as_list(group.get("functionDeclarations", []), where)
        rest = {k: v for k, v in group.items() if k != "functionDeclarations" or not functions}
        if rest or not functions:
            name = next(iter(rest), "")
            tools.append(
                Tool(name, kind="hosted", service=name, dialect=d.name, payload=rest, at=where)
            )
        for number, doc in enumerate(functions):
            place = f"{where}/functionDeclarations/{number}"
            new = bool(index) and not number and not rest
            tools.append(read_function(d, as_dict(doc, place), place, new))
    return tuple(tools)


def write_groups(d: IContent, tools: Sequence[Tool], w: ContentWriting) -> list[Json]:
    groups: list[dict[str, Json]] = []
    for tool in tools:
        if tool.kind == "hosted":
            groups.append(dict(tool.payload))
            continue
        function = write_function(d, tool, w)
        if not groups or d.spelling(tool).get("group") == "new":
            groups.append({})
        groups[-1].setdefault("functionDeclarations", []).append(function)
    return list(groups)


def read_function(d: IContent, doc: dict[str, Json], at: str, new: bool) -> Tool:
    spelling: dict[str, Json] = {"group": "new"} if new else {}
    key = next((key for key in SCHEMAS if doc.get(key) is not None), SCHEMAS[0])
    if key != SCHEMAS[0]:
        spelling["schema"] = key
    name, description = need_str(doc, "name", at), maybe_str(doc, "description", at)
    schema = doc.get(key)
    extras = d.keep(doc, ("name", "description", key), spelling)
    if (found := freeform.unwrap(description, schema)) is not None:
        description, grammar = found
        return Tool(name, description, kind="custom", grammar=grammar, at=at, extras=extras)
    return Tool(name, description, schema, at=at, extras=extras)


def write_function(d: IContent, tool: Tool, w: ContentWriting) -> Json:
    tool = freeform.as_function(tool)
    out: dict[str, Json] = {"name": tool.name}
    if tool.description is not None:
        out["description"] = tool.description
    if tool.schema is not None:
        out[d.spelling(tool).get("schema", SCHEMAS[0])] = tool.schema
    return blocks.emit(d, out, tool, w.log)


def read_response(d: IContent, doc: Json) -> Response:
    """One content of the ai; what is counted and why it ended stand in its metadata."""
    doc = as_dict(doc, "")
    if "speaker" not in doc and doc.get("error") is not None:
        return Response(None, None, (), failure=d.read_error(doc), dialect=d.name)
    if doc.get("speaker") != "ai":
        raise Malformed("the speaker of a response is 'ai'", "/speaker")
    found: list[Message] = []
    turns.read_content(d, doc, "", Known(), found)
    if len(found) != 1 or found[0].role != "assistant":
        raise Malformed("tool results are not allowed in a response", "/blocks")
    message = Message("assistant", found[0].content, at="")
    metadata = maybe_dict(doc, "metadata", "") or {}
    at = "/metadata"
    taken = list(ANSWER)
    spelling: dict[str, Json] = {}
    stop = read_stop(d, metadata, message, taken, spelling)
    usage = maybe_dict(metadata, "usage", at)
    time = maybe_number(metadata, "timestamp", at)
    return Response(
        maybe_str(metadata, "id", at),
        maybe_str(metadata, "model", at),
        (Candidate(message, stop, at=""),),
        None if usage is None else read_usage(d, usage, f"{at}/usage"),
        None if time is None else whole(time / 1000),
        dialect=d.name,
        extras=d.keep(doc, ("speaker", "blocks"), spelling, partly={"metadata": taken}),
    )


def write_response(d: IContent, tree: Response, log: Ledger) -> Json:
    w = writing(d, log, tree.dialect, answer=True)
    out: dict[str, Json] = {"speaker": "ai", "blocks": []}
    metadata: dict[str, Json] = {}
    if tree.id is not None:
        metadata["id"] = tree.id
    if tree.model is not None:
        metadata["model"] = tree.model
    if tree.created is not None and not (w.home or dates.has_year(tree.created)):
        d.lack("response.created", tree.at, log)  # a year of five digits
    elif tree.created is not None:
        metadata["timestamp"] = whole(tree.created * 1000)
        time = tree.created
        if not w.home and isinstance(time, float) and time * 1000 / 1000 != time:
            heads.round_date("milliseconds", tree, d, log)
    if tree.candidates:
        candidate = tree.candidates[0]
        out["blocks"] = turns.write_message(d, candidate.message, w)["blocks"]
        write_stop(d, metadata, candidate, d.spelling(tree), w)
        d.lose(candidate.extras, candidate.at, log)
    if tree.usage is not None:
        metadata["usage"] = write_usage(d, tree.usage, w)
    if metadata:
        out["metadata"] = metadata
    return blocks.emit(d, out, tree, log)


def read_stop(
    d: IContent,
    metadata: dict[str, Json],
    message: Message,
    taken: list[str],
    spelling: dict[str, Json],
) -> Stop | None:
    word = maybe_str(metadata, "stopReason", "/metadata")
    other = maybe_str(metadata, "finishReason", "/metadata")
    if other is not None and (
        word is None or STOPS.meanings.get(word) == STOPS.meanings.get(other)
    ):
        taken.append("finishReason")
        spelling["finishReason"] = other
    if word is None and other is None:
        return None
    said = word or other or ""
    if word is None:
        spelling["stopReason"] = None
    return d.stop_of(said, message)


def write_stop(
    d: IContent,
    metadata: dict[str, Json],
    candidate: Candidate,
    spelling: dict[str, Json],
    w: ContentWriting,
) -> None:
    stop = candidate.stop
    if stop is None:
        return
    if stop.native is not None and d.is_home(stop.dialect):
        if "stopReason" not in spelling:
            metadata["stopReason"] = stop.native
        if "finishReason" in spelling:
            metadata["finishReason"] = spelling["finishReason"]
        return
    own = stop.native if stop.native and stop.native not in STOPS else "other"
    metadata["stopReason"] = STOPS.word(stop.reason) or own


def read_usage(d: IContent, doc: dict[str, Json], at: str) -> Usage:
    old = {
        alias: doc[alias]
        for key, alias in ALIASES.items()
        if doc.get(alias) is not None and doc.get(key) in (None, doc[alias])
    }  # what says another number than the newer name is a field that nobody knows
    if not old:
        return Dialect.read_usage(d, doc, at)
    said = {k: alias for k, alias in ALIASES.items() if alias in old and doc.get(k) is None}
    usage = d.counts.read(d, doc, at, old, spelled=said)
    old |= {key: doc[key] for key in ALIASES if doc.get(key) is not None}  # both may be there
    extras = usage.extras or Extras(d.name)
    return replace(usage, extras=replace(extras, blanks=extras.blanks | old))


def write_usage(d: IContent, usage: Usage, w: Writing) -> dict[str, Json]:
    out, extras = d.counts.write(d, usage, w), usage.extras
    if w.home and extras is not None:
        for key, alias in ALIASES.items():
            if alias in extras.blanks and key not in extras.blanks:
                out.pop(key, None)
    return blocks.emit(d, out, usage, w.log)


def whole(number: float) -> float:
    """A number, whole where it is."""
    return int(number) if number == int(number) else number
