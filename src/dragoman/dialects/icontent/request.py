"""Requests, histories, tools and replies of llxprt, both ways.

A request is what llxprt hands to a provider, ``GenerateChatOptions``: the contents, the tools, the
system prompt, and under ``resolved`` the few settings that all providers share.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

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
from ...core.writing import is_plain_text
from ...errors import Malformed
from ...ledger import Ledger
from ...model import (
    Block,
    Candidate,
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
    d: IContent, log: Ledger, dialect: str | None, *, reply: bool = False
) -> ContentWriting:
    return ContentWriting(log, d.is_same(dialect), reply)


def read_request(d: IContent, doc: Json) -> Request:
    doc = as_dict(doc, "")
    tools = None if doc.get("tools") is None else read_groups(d, doc["tools"], "/tools")
    custom = frozenset(t.name for t in tools or () if t.kind == "custom")
    messages = turns.read_history(d, need_list(doc, "contents", ""), "/contents", custom)
    prompt = maybe_str(doc, "systemInstruction", "")
    if prompt is not None:
        at = "/systemInstruction"
        messages.insert(0, Message("system", (Text(prompt, at=at),), at=at))
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
    if tree.tools and (groups := write_groups(d, tree.tools, w)):
        out["tools"] = groups
    if tree.model is not None:
        out["resolved"] = {"model": tree.model}
    FIELDS.write(out, tree.params, w, d.name)
    d.lose(tree.params.extras, tree.params.at, log)
    return blocks.emit(d, out, tree, log)


def count_instructions(d: IContent, messages: Sequence[Message], w: ContentWriting) -> int:
    """How many of the first messages are the system prompt that stands beside the contents."""
    prompts = () if d.has_system else takewhile(lambda m: m.role == "system", messages)
    if w.same:  # one text, as it is read
        first = next(iter(prompts), None)
        return int(first is not None and first.extras is None and is_plain_texts(first.content))
    return len(tuple(prompts))


def is_plain_texts(content: Sequence[Block]) -> bool:
    return len(content) == 1 and is_plain_text(content[0])


def write_instruction(
    d: IContent, out: dict[str, Json], messages: Sequence[Message], w: ContentWriting
) -> None:
    texts: list[Text] = []
    for message in messages:
        d.lose(message.extras, message.at, w.log)
        before = len(texts)
        for block in message.content:
            if not isinstance(block, Text):
                d.omit(block, w.log)
                continue
            d.lose(block.extras, block.at, w.log)
            if texts:
                d.join_text(block.at, w.log)
            texts.append(block)
        d.note_prompt(message, before > 0, len(texts) > before, w.log)
    if texts:
        out["systemInstruction"] = "\n".join(text.text for text in texts)


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
        rest = {k: v for k, v in group.items() if k != "functionDeclarations"}
        if rest:
            name = next(iter(rest), "")
            tools.append(
                Tool(name, kind="hosted", service=name, dialect=d.name, payload=rest, at=where)
            )
        for number, doc in enumerate(functions):
            place = f"{where}/functionDeclarations/{number}"
            tools.append(read_function(d, as_dict(doc, place), place))
    return tuple(tools)


def write_groups(d: IContent, tools: Sequence[Tool], w: ContentWriting) -> list[Json]:
    groups: list[dict[str, Json]] = []
    for tool in tools:
        if tool.kind == "hosted":
            groups.append(dict(tool.payload))
            continue
        function = write_function(d, tool, w)
        if not groups:
            groups.append({})
        groups[-1].setdefault("functionDeclarations", []).append(function)
    return list(groups)


def read_function(d: IContent, doc: dict[str, Json], at: str) -> Tool:
    key = next((key for key in SCHEMAS if doc.get(key) is not None), SCHEMAS[0])
    name, description = need_str(doc, "name", at), maybe_str(doc, "description", at)
    schema = doc.get(key)
    extras = d.keep(doc, ("name", "description", key))
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
        out[SCHEMAS[0]] = tool.schema
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
    stop = read_stop(d, metadata, message, taken)
    usage = maybe_dict(metadata, "usage", at)
    time = maybe_number(metadata, "timestamp", at)
    return Response(
        maybe_str(metadata, "id", at),
        maybe_str(metadata, "model", at),
        (Candidate(message, stop, at=""),),
        None if usage is None else read_usage(d, usage, f"{at}/usage"),
        None if time is None else whole(time / 1000),
        dialect=d.name,
        extras=d.keep(doc, ("speaker", "blocks"), partly={"metadata": taken}),
    )


def write_response(d: IContent, tree: Response, log: Ledger) -> Json:
    w = writing(d, log, tree.dialect, reply=True)
    out: dict[str, Json] = {"speaker": "ai", "blocks": []}
    metadata: dict[str, Json] = {}
    if tree.id is not None:
        metadata["id"] = tree.id
    if tree.model is not None:
        metadata["model"] = tree.model
    if tree.created is not None and not (w.same or dates.has_year(tree.created)):
        d.lack("response.created", tree.at, log)  # a year of five digits
    elif tree.created is not None:
        metadata["timestamp"] = whole(tree.created * 1000)
        time = tree.created
        if not w.same and isinstance(time, float) and time * 1000 / 1000 != time:
            heads.round_date("milliseconds", tree, d, log)
    if tree.candidates:
        candidate = tree.candidates[0]
        out["blocks"] = turns.write_message(d, candidate.message, w)["blocks"]
        if candidate.stop is not None:
            metadata["stopReason"] = write_stop(d, candidate, candidate.stop, w)
        d.lose(candidate.extras, candidate.at, log)
    if tree.usage is not None:
        metadata["usage"] = d.write_usage(tree.usage, w)
    if metadata:
        out["metadata"] = metadata
    return blocks.emit(d, out, tree, log)


def read_stop(
    d: IContent, metadata: dict[str, Json], message: Message, taken: list[str]
) -> Stop | None:
    word = maybe_str(metadata, "stopReason", "/metadata")
    other = maybe_str(metadata, "finishReason", "/metadata")
    means = STOPS.meanings.get
    if word is None or other is None or means(word, word) == means(other, other):
        taken.append("finishReason")
    return d.stop_of(other if word is None else word, message)


def write_stop(d: IContent, candidate: Candidate, stop: Stop, w: ContentWriting) -> str:
    if stop.native is not None and d.is_same(stop.dialect):
        return stop.native
    own = stop.native if stop.native and stop.native not in STOPS else "other"
    word = STOPS.word(stop.reason) or own
    if d.is_unnamed(stop, word):
        d.note_stop(candidate, word, w.log)
    return word


def read_usage(d: IContent, doc: dict[str, Json], at: str) -> Usage:
    """The tokens; what says another number than the newer name is a field that nobody knows."""
    old = {k: v for k, v in ALIASES.items() if doc.get(v) is not None}
    taken = [alias for key, alias in old.items() if doc.get(key) in (None, doc[alias])]
    spelled = {key: alias for key, alias in old.items() if doc.get(key) is None}
    return d.counts.read(d, doc, at, taken, spelled=spelled)


def whole(number: float) -> float:
    """A number, whole where it is."""
    return int(number) if number == int(number) else number
