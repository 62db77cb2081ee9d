"""The messages of a chat history of Semantic Kernel, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core.reading import as_dict, maybe_list, maybe_str, need_list, need_str
from ...errors import Malformed
from ...ledger import Ledger
from ...model import Block, History, Json, Message, Role, Text, ToolCall, ToolResult
from . import items

if TYPE_CHECKING:
    from . import SemanticKernel

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
PROMPT = "system_message"
"""A prompt beside the messages, which the library puts in front of them."""


def read_messages(d: SemanticKernel, doc: Json) -> History:
    if doc.__class__ is list:
        return History(tuple(read_history(d, doc, "")), dialect=d.name)
    doc = as_dict(doc, "")
    out: list[Message] = []
    prompt = maybe_str(doc, PROMPT, "")
    if prompt:
        at = f"/{PROMPT}"
        out.append(Message("system", (Text(prompt, at=at),), at=at))
    out += read_history(d, need_list(doc, "messages", ""), "/messages")
    return History(tuple(out), dialect=d.name, extras=d.keep(doc, ("messages", PROMPT)))


def write_messages(d: SemanticKernel, tree: History, log: Ledger) -> Json:
    w = items.KernelWriting(log, d.is_same(tree.dialect))
    return d.emit({"messages": [write_message(d, m, w) for m in tree.messages]}, tree, log)


def read_history(d: SemanticKernel, docs: list[Json], at: str) -> list[Message]:
    out: list[Message] = []
    called: dict[str | None, ToolCall] = {}
    for index, item in enumerate(docs):
        where = f"{at}/{index}"
        read_message(d, as_dict(item, where), where, called, out)
    return out


def read_message(
    d: SemanticKernel,
    doc: dict[str, Json],
    at: str,
    called: dict[str | None, ToolCall],
    out: list[Message],
) -> None:
    given = need_str(doc, "role", at)
    role = ROLES.get(given)
    if role is None:
        raise Malformed(f"unknown role {given!r}; there are: {', '.join(ROLES)}", at)
    content, taken = read_content(d, doc, at)
    called.update((block.id, block) for block in content if isinstance(block, ToolCall))
    if doc.get("finish_reason") == usual_end(content):
        taken.add("finish_reason")
    results = [block for block in content if isinstance(block, ToolResult)]
    if results and len(results) == len(content):
        extras = d.keep(doc, taken)
        for number, result in enumerate(results):
            result = items.unnamed(result, called)
            place = result.at if number else at
            out.append(Message("tool", (result,), at=place, extras=None if number else extras))
        return
    if role == "tool":  # it has more than results, or none: what it says is for the model
        result = ToolResult(None, tuple(content), at=at)
        out.append(Message("tool", (result,), at=at, extras=d.keep(doc, taken)))
        return
    name = maybe_str(doc, "name", at)
    out.append(Message(role, tuple(content), name, at=at, extras=d.keep(doc, taken | {"name"})))


def read_content(d: SemanticKernel, doc: dict[str, Json], at: str) -> tuple[list[Block], set[str]]:
    """The items of a message, or the text that may stand in their place."""
    taken = {"role", "items"}
    if doc.get("content_type") in ("message", None):
        taken.add("content_type")
    if doc.get("items") is None and doc.get("content").__class__ is str:
        text = doc["content"]
        return [Text(text, at=f"{at}/content")] if text else [], taken | {"content"}
    return items.read_items(d, maybe_list(doc, "items", at) or [], f"{at}/items"), taken


def usual_end(content: Sequence[Block]) -> str:
    """Why a reply ended, as its content tells."""
    return "tool_calls" if any(isinstance(block, ToolCall) for block in content) else "stop"


def write_message(d: SemanticKernel, message: Message, w: items.KernelWriting) -> Json:
    out: dict[str, Json] = {"content_type": "message", "role": message.role}
    if message.name is not None:
        out["name"] = message.name
    content = written_content(message) if w.same else message.content
    out["items"] = items.write_items(d, content, w)
    return d.emit(out, message, w.log)


def written_content(message: Message) -> Sequence[Block]:
    """The content as it stood: where it had no result, all of it was taken for one."""
    only = message.content[0] if len(message.content) == 1 else None
    if isinstance(only, ToolResult) and only.call_id is None and only.name is None:
        return only.content
    return message.content
