"""Calls and results inside of content, as Anthropic has them and some clients write them to Chat.

``{"type": "tool_use"}`` in the assistant's content is a call, ``{"type": "tool_result"}`` in the
user's a result: "Handle inline tool use (Anthropic style)" (design 004). The API takes neither: a
call is written among the calls, a result as a message of its own, unless it has a cache mark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.reading import compact
from ...core.writing import Writing, object_of
from ...errors import Malformed
from ...model import Block, Json, Message, Raw, Role, Text, ToolCall, ToolResult
from . import parts

if TYPE_CHECKING:
    from . import OpenAIChat


CALL, RESULT = "tool_use", "tool_result"
CALL_KEYS = ("type", "id", "name", "input", "cache_control", "prompt_cache_breakpoint")
RESULT_KEYS = ("type", "tool_use_id", "content", "is_error", *CALL_KEYS[-2:])


def kind_of(block: Block) -> Json:
    """The type of a part that only this dialect knows."""
    return block.payload.get("type") if isinstance(block, Raw) else None


def read_call(chat: OpenAIChat, part: Block) -> Block:
    """A part of the assistant's content: a call, if it is one."""
    if not isinstance(part, Raw) or kind_of(part) != CALL:
        return part
    doc, at = part.payload, part.at
    call_id, name, given = (doc.get(key) for key in ("id", "name", "input"))
    if (call_id.__class__, name.__class__, given.__class__) != (str, str, dict):
        return part
    extras = chat.keep(doc, CALL_KEYS)
    cache = parts.read_cache(chat, doc, at)
    return ToolCall(call_id, name, compact(given), cache=cache, at=at, extras=extras)


def has_results(message: Message) -> bool:
    return message.name is None and any(kind_of(block) == RESULT for block in message.content)


def cut(chat: OpenAIChat, message: Message) -> list[Message]:
    """The results of a user's message as messages of their own, and what is written around them."""
    pieces: list[tuple[Role, list[Block]]] = []
    for block in message.content:
        if isinstance(block, Raw) and kind_of(block) == RESULT:
            block = read_result(chat, block)
        if isinstance(block, ToolResult):
            pieces.append(("tool", [block]))
        elif pieces and pieces[-1][0] == "user":
            pieces[-1][1].append(block)
        else:
            pieces.append(("user", [block]))
    if len(pieces) == 1 and pieces[0][0] == "user":
        return [message]  # what looked like a result was none
    return [
        replace(message, role=role, content=tuple(content), extras=None if i else message.extras)
        for i, (role, content) in enumerate(pieces)
    ]


def read_result(chat: OpenAIChat, part: Raw) -> Block:
    doc, at = part.payload, part.at
    content, where = doc.get("content"), f"{at}/content"
    blocks: tuple[Block, ...] = ()
    if content.__class__ is str:
        blocks = (Text(content, at=where),)
    elif content.__class__ is list:
        try:
            blocks = tuple(parts.read_parts(chat, content, where))
        except Malformed:
            return part
    elif content is not None:
        return part
    if doc.get("tool_use_id").__class__ is not str:
        return part
    failed: bool | None = doc.get("is_error")
    if failed.__class__ is not bool:
        marked, blocks = parts.read_failed(blocks)
        failed = True if marked else None
    cache = parts.read_cache(chat, doc, at)
    extras = chat.keep(doc, RESULT_KEYS)
    return ToolResult(doc["tool_use_id"], blocks, failed, cache=cache, at=at, extras=extras)


def write_part(chat: OpenAIChat, block: ToolCall | ToolResult, w: Writing) -> Json:
    """A call or a result that has a cache mark, which only a part of the content can."""
    out: dict[str, Json]
    if isinstance(block, ToolCall):
        out = {"type": CALL, "id": block.id, "name": block.name, "input": object_of(block, w.log)}
    else:
        content = parts.write_parts(chat, block.content, w)
        out = {"type": RESULT, "tool_use_id": block.call_id, "content": content}
        if block.is_error is not None:
            out["is_error"] = block.is_error
    return parts.finish(chat, out, block, w)
