"""The turns of a document in any dialect: where they stand, and what their blocks are.

Keys and types of blocks mean the same in all dialects that have them, so they are one table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from .. import dialects
from ..model import Json

INNER = {"native": "tree"}
"""The key of what holds the conversation, where it is not at the top."""


WHOLE_REPLIES = frozenset({"vercel-ui"})
"""Dialects of which one item has all steps of a reply: the calls, their results, what follows."""


def _key_of_turns(name: str) -> str | None:
    return "messages" if name in INNER else dialects.get(name).history


TURNS: dict[str, str] = {
    name: key
    for name in dialects.names()
    if (key := _key_of_turns(name)) and "messages" in dialects.get(name).facets()
}
"""The key under which each dialect has its list of turns."""


def turns_in(document: Json, dialect: str) -> list[Json] | None:
    """The turns of a document; None: it has no list of them."""
    found = document
    if isinstance(document, dict):
        inner = document.get(INNER[dialect]) if dialect in INNER else document
        found = inner.get(TURNS[dialect]) if isinstance(inner, dict) else None
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        return None
    return found


def with_turns(document: Json, dialect: str, turns: list[Json] | None) -> Json:
    """The document with other turns."""
    if not isinstance(document, dict):
        return turns
    if dialect in INNER:
        inner = {**document[INNER[dialect]], TURNS[dialect]: turns}
        return {**document, INNER[dialect]: inner}
    return {**document, TURNS[dialect]: turns}


def has_items(dialect: str) -> bool:
    """Whether calls, results and reasoning are items beside the messages, as in Responses."""
    return TURNS[dialect] == "input"


WRAPPERS = ("data", "kwargs", "content")
"""Keys of the message in an item of LangChain or of the ADK."""


def message_of(item: Json) -> Json:
    """The message in an item, which is the item itself but for frameworks that wrap it."""
    if "role" in item or "parts" in item:
        return item
    held = (item.get(key) for key in WRAPPERS)
    return next((each for each in held if isinstance(each, dict) and _says(each)), item)


def _says(value: Json) -> bool:
    return "parts" in value or ("content" in value and "type" in value)


def content_key(item: Json) -> str:
    return next((key for key in ("parts", "blocks") if key in item), "content")


def blocks_of(item: Json) -> list[Json]:
    item = message_of(item)
    found = item.get(content_key(item))
    found = [found] if isinstance(found, dict) else found  # MCP has one block without a list
    return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []


def parts_of(item: Json) -> list[Json]:
    """The item, which may be a block itself, and the blocks in it."""
    return [message_of(item), *blocks_of(item)]


def type_of(part: Json) -> str:
    found = part.get("type") or part.get("block")  # the latter is our own
    if found is None and part.get("role") == "reasoning":  # AG-UI's, which is a message
        return "reasoning"
    return found if isinstance(found, str) else ""


ARGUMENTS = {
    "tool_use": ("input",),
    "function_call": ("arguments",),
    "tool_call": ("parameters",),
    "tool-call": ("arguments", "args", "input"),
}
"""Types of blocks that are calls -> where the arguments stand."""


HELD = {"functionCall": "args", "function_call": "args", "toolUse": "input"}
"""Keys that hold a call -> where its arguments stand in there."""


PAIRING = ("tool_call_id", "tool_use_id", "call_id", "toolUseId", "toolCallId", "callId")
"""Keys of the ids that pair calls with results."""


RESULTS = {
    "tool_result",
    "function_call_output",
    "function_result",
    "custom_tool_call_output",
    "tool-result",
    "tool_response",
}


NAMED = ("tool_call", "tool-call", "tool_call_response")
"""Types of blocks whose own id is the one that pairs; the last is OpenTelemetry's."""


RESULT_KEYS = ("functionResponse", "function_response", "toolResult")


REASONING = {"thinking", "redacted_thinking", "reasoning", "thought"}


def listed_calls(item: Json) -> list[Json]:
    """The calls that stand beside the content of a message."""
    message = message_of(item)
    found = message.get("tool_calls") or message.get("toolCalls")  # the latter is AG-UI's
    return [call for call in found or () if isinstance(call, dict)]


def calls_in(item: Json) -> Iterator[tuple[Json, str]]:
    """The calls of an item: what holds the arguments, and under which key."""
    for call in listed_calls(item):
        if isinstance(call.get("function"), dict):
            yield call["function"], "arguments"
        elif "args" in call:  # LangChain's
            yield call, "args"
    for part in parts_of(item):
        if part.get("kind", "function") == "function":
            for key in ARGUMENTS.get(type_of(part), ()):
                if key in part:
                    yield part, key
        for name, key in HELD.items():
            if isinstance(part.get(name), dict):
                yield part[name], key


def ids_in(item: Json) -> Iterator[tuple[Json, str]]:
    """The ids that pair calls with results: what holds each, and under which key."""
    for call in listed_calls(item):
        yield call, "id"
    beside = item.get("additional_kwargs")
    if isinstance(beside, dict) and "tool_call_id" in beside:  # LlamaIndex's
        yield beside, "tool_call_id"
    for part in parts_of(item):
        for key in PAIRING:
            yield part, key
        for name in (*HELD, *RESULT_KEYS):
            if isinstance(part.get(name), dict):
                yield part[name], "toolUseId" if name in ("toolUse", "toolResult") else "id"
        if type_of(part).endswith("tool_use") or type_of(part) in NAMED:
            yield part, "id"
        if type_of(part) == "function_call" and "call_id" not in part:  # a step of Gemini's
            yield part, "id"


def kind(item: Json) -> str:
    """Who speaks: ``system``, ``user``, ``assistant``, or a tool (``result``)."""
    message = message_of(item)
    role = message.get("role", message.get("speaker"))
    if role is None and "type" in message and message is not item:
        role = message["type"]  # LangChain's words
    if role is None and item.get("kind") == "request":  # Pydantic AI's
        role = _asked([part.get("part_kind") for part in blocks_of(item)])
    about = item.get("info")  # opencode has its role there
    if role is None and isinstance(about, dict):
        role = about.get("role")
    told = item.get("metadata")  # icontent writes a system prompt as a turn of the model
    if isinstance(told, dict) and role == "ai":
        role = told.get("role", role)
    if role in ("system", "developer", "control"):
        return "system"
    if type_of(item) in ("item_reference", "mcp_approval_response"):
        return "user"  # the first may be anything, and goes with what stands before it
    if role in ("tool", "function") or any(holds_result(part) for part in parts_of(item)):
        return "result"
    if type_of(item) == "user_input":
        return "user"
    return "assistant" if role in ("assistant", "model", "ai", "reasoning", None) else "user"


def _asked(kinds: list[Json]) -> str:
    """Who speaks in a request of Pydantic AI: a tool, the user, or the system alone."""
    if "tool-return" in kinds or "retry-prompt" in kinds:
        return "tool"
    return "system" if kinds and all(kind == "system-prompt" for kind in kinds) else "user"


def holds_result(part: Json) -> bool:
    if type_of(part) == "tool_search_output":  # the client's, or a part of the reply
        return bool(part.get("execution") == "client")
    return type_of(part) in RESULTS or any(key in part for key in RESULT_KEYS)


def rounds(turns: list[Json], dialect: str) -> list[tuple[int, int]]:
    """What can go without leaving half of a pair: a message, or calls with their results."""
    out: list[tuple[int, int]] = []
    before = ""
    for index, item in enumerate(turns):
        who = kind(item)
        goes_on = who == "result" and before in ("assistant", "result")
        if who == before == "assistant":  # the results of both may stand in one turn
            last = turns[index - 1]
            goes_on = has_items(dialect) or bool(ids_of(last)) or type_of(last) in REASONING
        if goes_on and out:
            out[-1] = (out[-1][0], index + 1)
        elif who != "system":
            out.append((index, index + 1))
        before = who
    return out


def replies(turns: list[Json], dialect: str) -> list[tuple[int, int]]:
    """The same, where all that is said between two turns of the user is one item elsewhere."""
    out: list[tuple[int, int]] = []
    for start, end in rounds(turns, dialect):
        if out and out[-1][1] == start and kind(turns[start]) == kind(turns[out[-1][0]]) != "user":
            out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
    return out


def names_ids(turns: list[Json]) -> bool:
    """Whether a text names an id: what could not stand in a result is introduced by one."""
    text = as_text(turns)
    return "[content of tool result " in text or " of the tool call " in text


def is_reasoning(part: Json) -> bool:
    return type_of(part) in REASONING or part.get("thought") is True or "reasoningContent" in part


def ids_of(item: Json) -> list[str]:
    found = [held[key] for held, key in ids_in(item) if isinstance(held.get(key), str)]
    return list(dict.fromkeys(found))


def as_text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
