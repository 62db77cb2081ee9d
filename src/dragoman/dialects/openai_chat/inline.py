"""Calls and results inside of content, as Anthropic has them and some clients write them to Chat.

``{"type": "tool_use"}`` in the assistant's content is a call, ``{"type": "tool_result"}`` in the
user's a result: "Handle inline tool use (Anthropic style)" (design 004). The API takes neither. A
result becomes a message of its own; in the same dialect each part comes back where it stood.
"""

from __future__ import annotations

from collections.abc import Sequence
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
PART = "part"
"""Marks what stood in the content; of a call and a result it holds the part itself."""
INLINE = "inline"
"""Marks the pieces of a message that holds results: the ``first`` of them, and ``more``."""
CALL_KEYS = frozenset({"type", "id", "name", "input", "cache_control", "prompt_cache_breakpoint"})
RESULT_KEYS = frozenset(
    {"type", "tool_use_id", "content", "is_error", "cache_control", "prompt_cache_breakpoint"}
)


def kind_of(block: Block) -> Json:
    """The type of a part that only this dialect knows."""
    return block.payload.get("type") if isinstance(block, Raw) else None


# -- reading --------------------------------------------------------------------------------------


def read_spoken(chat: OpenAIChat, blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The assistant's content: its calls as calls, and what is unknown marked as a part of it."""
    return tuple(
        block
        if not isinstance(block, Raw)
        else read_call(chat, block)
        if kind_of(block) == CALL
        else replace(block, extras=chat.respell(None, part=True))
        for block in blocks
    )


def read_call(chat: OpenAIChat, part: Raw) -> Block:
    doc, at = part.payload, part.at
    call_id, name, given = (doc.get(key) for key in ("id", "name", "input"))
    if (call_id.__class__, name.__class__, given.__class__) != (str, str, dict):
        return replace(part, extras=chat.respell(None, part=True))
    cache, _ = parts.read_cache(chat, doc, at)
    extras = chat.keep(doc, CALL_KEYS, {PART: doc})
    return ToolCall(call_id, name, compact(given), cache=cache, at=at, extras=extras)


def has_results(message: Message) -> bool:
    return message.name is None and any(kind_of(block) == RESULT for block in message.content)


def cut(chat: OpenAIChat, message: Message) -> list[Message]:
    """The results of a user's message as messages of their own, and what is said around them."""
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
        replace(
            message,
            role=role,
            content=tuple(content),
            extras=chat.respell(message.extras, inline="first")
            if not index
            else chat.respell(None, inline="more"),
        )
        for index, (role, content) in enumerate(pieces)
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
    if doc.get("tool_use_id").__class__ is not str or content.__class__ not in (
        str,
        list,
        type(None),
    ):
        return part
    failed: bool | None = doc.get("is_error")
    if failed.__class__ is not bool:
        marked, blocks = parts.read_failed(blocks, {})
        failed = True if marked else None
    cache, _ = parts.read_cache(chat, doc, at)
    extras = chat.keep(doc, RESULT_KEYS, {PART: doc})
    return ToolResult(doc["tool_use_id"], blocks, failed, cache=cache, at=at, extras=extras)


# -- writing, in the same dialect -----------------------------------------------------------------


def write_message(chat: OpenAIChat, message: Message, out: list[Json], w: Writing) -> bool:
    """A piece of a message that was cut, where it stood; False for any other message."""
    place = None if message.extras is None else chat.spelling(message).get(INLINE)
    if place is None:
        return False
    content = parts.write_parts(chat, message.content, w)
    last = out[-1] if out and place == "more" else {}
    if last.get("role") == "user" and last["content"].__class__ is list:
        last["content"] += content
    else:
        out.append(chat.emit({"role": "user", "content": content}, message, w.log))
    return True


def write_part(chat: OpenAIChat, block: ToolCall | ToolResult, w: Writing) -> Json:
    """The part as it was, or what it has become."""
    doc = chat.spelling(block)[PART]
    part = Raw(chat.name, doc, at=block.at)
    read = read_call if isinstance(block, ToolCall) else read_result
    if read(chat, part) == block:
        return doc
    if isinstance(block, ToolCall):
        new: dict[str, Json] = {"type": CALL, "id": block.id, "name": block.name}
        return new | {"input": object_of(block, w.log)}
    said = [b.text for b in block.content if isinstance(b, Text)]
    new = {"type": RESULT, "tool_use_id": block.call_id, "content": "\n".join(said)}
    if len(said) != len(block.content) or len(said) > 1:
        new["content"] = parts.write_parts(chat, block.content, w)
    if block.is_error is not None:
        new["is_error"] = block.is_error
    return new
