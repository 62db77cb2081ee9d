"""The data export of Claude.ai: a zip with ``conversations.json``, or that file.

``chat_messages`` are messages with ``sender`` and blocks of ``content``; results of tools stand in
the assistant's message, and move to a user message of their own, as the API has them. With
``parent_message_uuid`` the path to the last message is read. The format is not documented; what is
here is what exports have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from ..model import Json
from . import _exports
from ._exports import Written
from ._kinds import Coding, Container, Found

OWN = ("name", "summary", "created_at", "updated_at")
ROLES = {"human": "user", "assistant": "assistant"}


class ClaudeAi(Container):
    name = "claude-ai"
    title = "an export of Claude.ai"
    spec = "https://support.claude.com/en/articles/9450526"
    codings: ClassVar[tuple[Coding, ...]] = ("zip", "json")
    signs = ((b'"chat_messages"',),)
    rank = 3

    def claims(self, value: Json) -> bool:
        return _exports.claims(value, is_conversation)

    def documents(self, value: Json, limit: int | None) -> Iterator[Found]:
        for at, one in _exports.conversations(value, is_conversation):
            yield _exports.found(at, one, "anthropic-messages", "Claude.ai", read)


def is_text(value: Json) -> bool:
    return value.__class__ is str and bool(value)


def is_conversation(value: Json) -> bool:
    return value.__class__ is dict and value.get("chat_messages").__class__ is list


def read(conversation: Json, out: Written) -> None:
    """The messages, in their order or along the path to the last one."""
    if not is_conversation(conversation):
        return  # which is said to have no messages
    own = [key for key in OWN if conversation.get(key) not in (None, "")]
    if own:
        why = f"messages have no field for what Claude.ai notes of a conversation: {', '.join(own)}"
        out.lose("container.field", out.at, why)
    messages = conversation["chat_messages"]
    for index in _path(messages, out):
        message = messages[index]
        at = f"{out.at}/chat_messages/{index}"
        if message.__class__ is not dict or message.get("sender") not in ("human", "assistant"):
            out.lose("message.role", at, "a message of an unknown sender")
            continue
        _read_message(message, at, out)


def _path(messages: list[Json], out: Written) -> list[int]:
    """The places of the messages that were last shown."""
    known: dict[str, int] = {}
    for index, message in enumerate(messages):
        if message.__class__ is dict and message.get("uuid").__class__ is str:
            known[message["uuid"]] = index
    last = messages[-1] if messages else None
    if last.__class__ is not dict or last.get("parent_message_uuid").__class__ is not str:
        return list(range(len(messages)))

    def parent_of(id: str) -> Json:
        parent = messages[known[id]].get("parent_message_uuid")
        return parent if parent.__class__ is str and parent in known else None

    path = [known[id] for id in _exports.path_to(last.get("uuid"), parent_of, len(messages))]
    for index in sorted(set(range(len(messages))) - set(path)):
        why = "a message of another branch; the one that was last shown is read"
        out.lose("container.branch", f"{out.at}/chat_messages/{index}", why)
    return path


def _read_message(message: dict[str, Any], at: str, out: Written) -> None:
    role = ROLES[message["sender"]]
    blocks: list[Json] = _attachments(message, at, out)
    content: Json = message.get("content")
    if not content and is_text(message.get("text")):
        content = [{"type": "text", "text": message["text"]}]
    open_calls: list[str] = []
    results: list[Json] = []
    for index, block in enumerate(content if content.__class__ is list else ()):
        place = f"{at}/content/{index}"
        if block.__class__ is not dict:
            out.lose("raw", place, "a block that is no object")
            continue
        kind = block.get("type")
        if kind == "tool_result":
            results.append(_result(block, open_calls))
            continue
        if results:  # the assistant goes on after the results
            _flush(role, blocks, results, at, out)
            blocks, results = [], []
        if kind == "text" and block.get("text").__class__ is str:
            if block["text"]:
                blocks.append({"type": "text", "text": block["text"]})
            if block.get("citations"):
                out.lose("text.citations", place, "citations of Claude.ai have another form")
        elif kind == "thinking" and block.get("thinking").__class__ is str:
            signature = block.get("signature")
            signature = signature if signature.__class__ is str else ""
            blocks.append(
                {"type": "thinking", "thinking": block["thinking"], "signature": signature}
            )
        elif kind == "tool_use" and block.get("name").__class__ is str:
            blocks.append(_call(block, place, open_calls, out))
        else:
            out.lose("raw", place, "a block that only Claude.ai has")
    _flush(role, blocks, results, at, out)


def _flush(role: str, blocks: list[Json], results: list[Json], at: str, out: Written) -> None:
    if blocks:
        out.add({"role": role, "content": blocks}, at)
    if results:
        out.add({"role": "user", "content": results}, at)


def _attachments(message: dict[str, Any], at: str, out: Written) -> list[Json]:
    """Texts of attachments as documents; other files are not in the export."""
    blocks: list[Json] = []
    for key in ("attachments", "files"):
        items: Json = message.get(key)
        for index, item in enumerate(items if items.__class__ is list else ()):
            text: Json = item.get("extracted_content") if item.__class__ is dict else None
            if text.__class__ is str and text:
                source = {"type": "text", "media_type": "text/plain", "data": text}
                block: dict[str, Json] = {"type": "document", "source": source}
                if item.get("file_name").__class__ is str and item["file_name"]:
                    block["title"] = item["file_name"]
                blocks.append(block)
            else:
                out.lose("media", f"{at}/{key}/{index}", "a file that the export does not have")
    return blocks


def _call(block: dict[str, Any], at: str, open_calls: list[str], out: Written) -> Json:
    id = block.get("id")
    if id.__class__ is not str or not id:
        id = f"toolu_{len(out.messages)}_{len(open_calls)}"
        out.invent("tool_call.id", at, f"the call has no id; {id!r} is written")
    open_calls.append(id)
    given = block.get("input")
    given = given if given.__class__ is dict else {}
    return {"type": "tool_use", "id": id, "name": block["name"], "input": given}


def _result(block: dict[str, Any], open_calls: list[str]) -> Json:
    id = block.get("tool_use_id")
    if id.__class__ is str and id in open_calls:
        open_calls.remove(id)
    elif open_calls:
        id = open_calls.pop(0)
    content: Json = block.get("content")
    texts = [
        {"type": "text", "text": part["text"]}
        for part in (content if content.__class__ is list else ())
        if part.__class__ is dict and part.get("type") == "text" and is_text(part.get("text"))
    ]
    result: dict[str, Json] = {"type": "tool_result", "tool_use_id": id or "", "content": texts}
    if content.__class__ is str:
        result["content"] = content
    if block.get("is_error") is True:
        result["is_error"] = True
    return result


CONTAINER = ClaudeAi()
