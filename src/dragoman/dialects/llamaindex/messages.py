"""The messages of LlamaIndex, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core.reading import as_dict, maybe_dict, maybe_list, maybe_str, need_str
from ...core.writing import Writing
from ...errors import Malformed
from ...ledger import Ledger
from ...model import Block, History, Json, Message, Role, Text, ToolCall, ToolResult
from ...tools.tool_errors import unmark_error
from .. import _stored
from . import blocks

if TYPE_CHECKING:
    from . import LlamaIndex

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",  # of older versions
    "chatbot": "assistant",  # Cohere's
    "model": "assistant",  # Google's
}
MORE = "additional_kwargs"
CALLED = ("tool_call_id", "call_id")
"""Under which keys the id of a call stands."""


def read_messages(d: LlamaIndex, doc: Json) -> History:
    return _stored.read_list(d, doc, lambda docs, at: read_history(d, docs, at))


def write_messages(d: LlamaIndex, tree: History, log: Ledger) -> Json:
    w = Writing(log, _stored.FREE, _stored.FREE, d.is_same(tree.dialect))
    return _stored.write_list(d, tree, lambda messages: write_history(d, messages, w), log)


# -- reading --------------------------------------------------------------------------------


def read_history(d: LlamaIndex, docs: list[Json], at: str) -> list[Message]:
    out: list[Message] = []
    called: dict[str | None, str] = {}
    for index, item in enumerate(docs):
        where = f"{at}/{index}"
        doc = as_dict(item, where)
        given = need_str(doc, "role", where)
        role = ROLES.get(given)
        if role is None:
            raise Malformed(f"unknown role {given!r}; there are: {', '.join(ROLES)}", where)
        out.append(read_message(d, doc, role, where, called))
    return out


def read_message(
    d: LlamaIndex, doc: dict[str, Json], role: Role, at: str, called: dict[str | None, str]
) -> Message:
    content, taken = read_content(d, doc, at)
    more = maybe_dict(doc, MORE, at) or {}
    used: tuple[str, ...] = ()
    if role == "assistant" and more.get("tool_calls").__class__ is list:
        used = read_calls(d, more["tool_calls"], content, f"{at}/{MORE}/tool_calls")
    note = {} if doc["role"] == role else {"role": doc["role"]}
    if role != "tool":
        extras = d.keep(doc, taken, note, partly={MORE: used})
        called.update((b.id, b.name) for b in content if isinstance(b, ToolCall))
        return Message(role, tuple(content), at=at, extras=extras)
    call_key = next((key for key in CALLED if more.get(key).__class__ is str), "")
    name = maybe_str(more, "name", f"{at}/{MORE}")
    failed, marked = read_mark(content)
    extras = d.keep(doc, taken, note, partly={MORE: (call_key, "name")})
    call_id = more.get(call_key)
    if name == called.get(call_id):
        name = None  # what the call says already is not said twice
    result = ToolResult(call_id, tuple(marked), failed, name, at=at)
    return Message(role, (result,), at=at, extras=extras)


def read_content(
    d: LlamaIndex, doc: dict[str, Json], at: str
) -> tuple[list[Block], tuple[str, ...]]:
    """The blocks of a message, or the text that older versions have in their place."""
    if doc.get("blocks") is None and doc.get("content").__class__ is str:
        text = Text(doc["content"], at=f"{at}/content")
        return [text] if text.text else [], ("role", "content", "blocks")
    key = "content" if doc.get("blocks") is None and "content" in doc else "blocks"
    listed = maybe_list(doc, key, at) or []
    return blocks.read_blocks(d, listed, f"{at}/{key}"), ("role", key)


def read_mark(content: list[Block]) -> tuple[bool | None, list[Block]]:
    """Whether a tool failed, which only the beginning of its text can tell."""
    first = content[0] if content else None
    if not isinstance(first, Text):
        return None, content
    failed, text = unmark_error(first.text)
    if text == first.text:
        return None, content
    if text is None:
        return failed, content[1:]
    kept = Text(text, cache=first.cache, at=first.at, extras=first.extras)
    return failed, [kept, *content[1:]]


def read_calls(d: LlamaIndex, docs: list[Json], content: list[Block], at: str) -> tuple[str, ...]:
    """Calls in the form of a provider: they say again what the blocks say, or stand for them."""
    found = [blocks.read_foreign_call(d, doc, f"{at}/{i}") for i, doc in enumerate(docs)]
    known = {(b.id, b.name) for b in content if isinstance(b, ToolCall)}
    if any(call is None for call in found):
        return ()
    calls = [call for call in found if call is not None]
    fresh = [call for call in calls if (call.id, call.name) not in known]
    if known and (fresh or len(calls) != len(known)):
        return ()
    content += fresh
    return ("tool_calls",)


# -- writing --------------------------------------------------------------------------------


def write_history(d: LlamaIndex, messages: Sequence[Message], w: Writing) -> list[Json]:
    return [write_message(d, message, w) for message in messages]


def write_message(d: LlamaIndex, message: Message, w: Writing) -> Json:
    spelled = d.spelling(message).get("role") if w.same else None
    out: dict[str, Json] = {"role": spelled or message.role, MORE: {}}
    if message.role != "tool":
        out["blocks"] = blocks.write_blocks(d, message.content, w)
        return d.emit(out, message, w.log)
    result = message.content[0] if len(message.content) == 1 else None
    if not isinstance(result, ToolResult):
        raise Malformed("only one tool result is allowed in a tool message", message.at)
    more: dict[str, Json] = {}
    if result.call_id is not None or not w.same:
        more[CALLED[0]] = w.result_id(result)
    if result.name is not None:
        more["name"] = result.name
    out[MORE] = more
    out["blocks"] = blocks.write_blocks(d, result.content, w)
    d.lose(result.extras, result.at, w.log)
    return d.emit(out, message, w.log)
