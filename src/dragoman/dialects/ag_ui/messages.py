"""The messages of the Agent User Interaction Protocol, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.reading import as_dict, as_str, maybe_list, maybe_str, need_dict, need_str
from ...core.writing import Writing, joined
from ...errors import Malformed
from ...ledger import Ledger
from ...model import (
    Block,
    Extras,
    History,
    Json,
    Message,
    Raw,
    Reasoning,
    Role,
    Signature,
    Text,
    ToolCall,
    ToolResult,
)
from ...tools import freeform
from .. import _stored
from . import parts

if TYPE_CHECKING:
    from . import AgUI

ROLES: dict[str, Role] = {
    "developer": "developer",
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
NOBODY = "ag-ui"
"""The issuer of what was encrypted: nothing tells whose it is, and no API has that name."""
ENCRYPTED = "encryptedValue"
WHOLE = "raw"
"""The code of a block that is a whole message."""


def read_messages(d: AgUI, doc: Json) -> History:
    if doc.__class__ is dict and doc.get("type") == "MESSAGES_SNAPSHOT":
        tree = _stored.read_list(d, doc, lambda docs, at: read_history(d, docs, at))
        kept = d.keep(doc, ("type", "messages")) or Extras(d.name)
        spelling = kept.spelling | {"event": True}
        return replace(tree, extras=replace(kept, spelling=spelling))
    return _stored.read_list(d, doc, lambda docs, at: read_history(d, docs, at))


def write_messages(d: AgUI, tree: History, log: Ledger) -> Json:
    w = writing(d, log, tree.dialect)
    if d.spelling(tree).get("event"):
        out = {"type": "MESSAGES_SNAPSHOT", "messages": write_history(d, tree.messages, w)}
        return d.emit(out, tree, log)
    return _stored.write_list(d, tree, lambda messages: write_history(d, messages, w), log)


def writing(d: AgUI, log: Ledger, dialect: str | None) -> Writing:
    return Writing(log, _stored.FREE, _stored.FREE, d.is_same(dialect))


def made_id(index: int) -> str:
    """The id of a message to which nobody has given one."""
    return f"msg-{index + 1}"


# -- reading --------------------------------------------------------------------------------


def read_history(d: AgUI, docs: list[Json], at: str) -> list[Message]:
    out: list[Message] = []
    reasoning: list[Block] = []  # they are part of what the assistant says next
    for index, item in enumerate(docs):
        where = f"{at}/{index}"
        doc = as_dict(item, where)
        given = need_str(doc, "role", where)
        taken = {"role", "id"} if doc.get("id") == made_id(index) else {"role"}
        if given == "reasoning":
            reasoning.append(read_reasoning(d, doc, taken, where))
            continue
        if given == "assistant":
            out.append(read_assistant(d, doc, taken, reasoning, where))
            reasoning = []
            continue
        if reasoning:
            out.append(Message("assistant", tuple(reasoning), at=reasoning[0].at))
            reasoning = []
        out.append(read_message(d, doc, given, taken, where))
    if reasoning:
        out.append(Message("assistant", tuple(reasoning), at=reasoning[0].at))
    return out


def read_reasoning(d: AgUI, doc: dict[str, Json], taken: set[str], at: str) -> Reasoning:
    text, data = need_str(doc, "content", at), maybe_str(doc, ENCRYPTED, at)
    signature = None if data is None else Signature(data, NOBODY, "encrypted")
    extras = d.keep(doc, taken | {"content", ENCRYPTED})
    return Reasoning((text,) if text else (), (), signature, at=at, extras=extras)


def read_assistant(
    d: AgUI, doc: dict[str, Json], taken: set[str], reasoning: list[Block], at: str
) -> Message:
    content = list(reasoning)
    text = maybe_str(doc, "content", at)
    if text:
        content.append(Text(text, at=f"{at}/content"))
    for index, item in enumerate(maybe_list(doc, "toolCalls", at) or ()):
        where = f"{at}/toolCalls/{index}"
        content.append(read_call(d, as_dict(item, where), where))
    name = maybe_str(doc, "name", at)
    extras = d.keep(doc, taken | {"content", "toolCalls", "name"})
    return Message("assistant", tuple(content), name, at=at, extras=extras)


def read_call(d: AgUI, doc: dict[str, Json], at: str) -> ToolCall:
    function, where = need_dict(doc, "function", at), f"{at}/function"
    taken = ("id", "type") if doc.get("type") == "function" else ("id",)
    extras = d.keep(doc, taken, partly={"function": ("name", "arguments")})
    name, text = need_str(function, "name", where), as_str(function.get("arguments"), where)
    return ToolCall(need_str(doc, "id", at), name, text, at=at, extras=extras)


def read_message(d: AgUI, doc: dict[str, Json], given: str, taken: set[str], at: str) -> Message:
    if given == "activity":  # for the user's eyes
        return Message("user", (Raw(d.name, doc, code=WHOLE, at=at),), at=at)
    role = ROLES.get(given)
    if role is None:
        known = ", ".join((*ROLES, "reasoning", "activity"))
        raise Malformed(f"unknown role {given!r}; there are: {known}", at)
    content = parts.read_content(d, doc.get("content"), f"{at}/content")
    if role != "tool":
        extras = d.keep(doc, taken | {"content", "name"})
        return Message(role, tuple(content), maybe_str(doc, "name", at), at=at, extras=extras)
    error = maybe_str(doc, "error", at)
    if error is not None:
        texts = words(content)
        if not texts and (error or not content):
            content = [Text(error, at=f"{at}/error"), *content]
        if texts in ("", error):
            taken = taken | {"error"}
    call_id = need_str(doc, "toolCallId", at)
    failed = True if error is not None else None
    result = ToolResult(call_id, tuple(content), failed, at=at)
    extras = d.keep(doc, taken | {"content", "toolCallId"})
    return Message("tool", (result,), at=at, extras=extras)


def words(content: Sequence[Block]) -> str:
    """What a result says, and its error repeats."""
    return "\n".join(b.text for b in content if isinstance(b, Text) and b.text)


# -- writing --------------------------------------------------------------------------------


def write_history(d: AgUI, messages: Sequence[Message], w: Writing) -> list[Json]:
    out: list[Json] = []
    for message in messages:
        first = message.content[0] if len(message.content) == 1 else None
        if isinstance(first, Raw) and first.code == WHOLE and d.is_same(first.dialect):
            out.append(first.payload)
        elif message.role == "assistant":
            write_assistant(d, message, out, w)
        elif message.role == "tool":
            out.append(write_result(d, message, made_id(len(out)), w))
        else:
            out.append(write_spoken(d, message, made_id(len(out)), w))
    return out


def write_assistant(d: AgUI, message: Message, out: list[Json], w: Writing) -> None:
    texts: list[str] = []
    calls: list[Json] = []
    others = 0
    for block in message.content:
        if isinstance(block, Reasoning):
            out.append(write_reasoning(d, block, made_id(len(out)), w))
            others += 1
        elif isinstance(block, Text):
            d.lose(block.extras, block.at, w.log)
            if not (block.text or w.same):
                d.omit_text(block.at, w.log)  # an empty one is read as none
                continue
            if texts:
                d.join_text(block.at, w.log)
            texts.append(block.text)
        elif isinstance(block, ToolCall):
            calls.append(write_call(d, block, w))
        else:
            d.omit(block, w.log)
    if others and not (texts or calls or message.name or has_fields(d, message)):
        d.lose(message.extras, message.at, w.log)
        return  # what the model thought is all there is
    doc: dict[str, Json] = {"id": made_id(len(out)), "role": "assistant"}
    if message.name is not None:
        doc["name"] = message.name
    if texts or not calls:
        doc["content"] = "\n\n".join(texts)
    if calls:
        doc["toolCalls"] = calls
    out.append(d.emit(doc, message, w.log))


def has_fields(d: AgUI, message: Message) -> bool:
    extras = message.extras
    return extras is not None and d.is_same(extras.dialect) and bool(extras.fields)


def write_reasoning(d: AgUI, block: Reasoning, made: str, w: Writing) -> Json:
    out: dict[str, Json] = {"id": made, "role": "reasoning", "content": joined(block.words)}
    if block.signature is not None and block.signature.issuer == NOBODY:
        out[ENCRYPTED] = block.signature.data
    return d.emit(out, block, w.log)


def write_call(d: AgUI, call: ToolCall, w: Writing, given: str | None = None) -> dict[str, Json]:
    """A call; ``given`` is its id, where ids are given otherwise than in a history."""
    call = freeform.as_function(call, w.same)
    name = w.tool_name(call.name, call.at)
    text = call.arguments if w.same or call.arguments.strip() else "{}"
    out: dict[str, Json] = {"id": given or w.call_id(call), "type": "function"}
    return d.emit(out | {"function": {"name": name, "arguments": text}}, call, w.log)


def write_result(d: AgUI, message: Message, made: str, w: Writing) -> Json:
    result = message.content[0] if len(message.content) == 1 else None
    if not isinstance(result, ToolResult):
        raise Malformed("only one tool result is allowed in a tool message", message.at)
    doc: dict[str, Json] = {"id": made, "role": "tool"}
    doc["content"] = parts.write_content(d, result.content, w)
    doc["toolCallId"] = w.result_id(result)
    if result.is_error:
        doc["error"] = words(result.content)
    d.lose(result.extras, result.at, w.log)
    return d.emit(doc, message, w.log)


def write_spoken(d: AgUI, message: Message, made: str, w: Writing) -> Json:
    doc: dict[str, Json] = {"id": made, "role": message.role}
    if message.name is not None:
        doc["name"] = message.name
    if message.role == "user":
        doc["content"] = parts.write_content(d, message.content, w)
    else:
        doc["content"] = parts.write_text(d, message.content, w)
        if not (message.content or w.same):
            d.add_text(message.at, w.log)
    return d.emit(doc, message, w.log)
