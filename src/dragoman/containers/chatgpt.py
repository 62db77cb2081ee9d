"""The data export of ChatGPT: a zip with ``conversations.json``, or that file.

A conversation is a tree: ``mapping`` has nodes with ``parent`` and ``message``, ``current_node`` is
the leaf that was last shown. Its path becomes messages of ``openai-chat``; other branches,
reasoning, files and what only ChatGPT has are in the ledger with their places. The format is not
documented; what is here is what exports have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from ..core.reading import UNREADABLE, decode, escape
from ..model import Json
from . import _exports
from ._exports import Written
from ._kinds import Coding, Container, Found

HIDDEN = frozenset({"user_editable_context", "model_editable_context"})
REASONING = frozenset({"thoughts", "reasoning_recap"})
MESSAGE_KEYS = ("text", "result", "content")
OWN = ("title", "create_time", "update_time", "default_model_slug", "gizmo_id")


class ChatGPT(Container):
    name = "chatgpt"
    title = "an export of ChatGPT"
    spec = "https://help.openai.com/en/articles/7260999"
    codings: ClassVar[tuple[Coding, ...]] = ("zip", "json")
    signs = ((b'"mapping"', b'"message"'),)
    rank = 3

    def claims(self, value: Json) -> bool:
        return _exports.claims(value, is_conversation)

    def documents(self, value: Json, limit: int | None) -> Iterator[Found]:
        for at, one in _exports.conversations(value, is_conversation):
            yield _exports.found(at, one, "openai-chat", "ChatGPT", read)


def is_conversation(value: Json) -> bool:
    if value.__class__ is not dict or value.get("mapping").__class__ is not dict:
        return False
    return all(n.__class__ is dict and "message" in n for n in value["mapping"].values())


def read(conversation: Json, out: Written) -> None:
    """The messages of the current path."""
    if conversation.__class__ is not dict or conversation.get("mapping").__class__ is not dict:
        return  # which is said to have no messages
    mapping = conversation["mapping"]
    leaf = conversation.get("current_node")
    if leaf.__class__ is not str or leaf not in mapping:
        leaf = next(reversed(mapping), None)

    def parent_of(id: str) -> Json:
        node = mapping.get(id)
        return node.get("parent") if node.__class__ is dict else None

    path = _exports.path_to(leaf, parent_of, len(mapping))
    own = [key for key in OWN if conversation.get(key) not in (None, "")]
    if own:
        why = f"messages have no field for what ChatGPT notes of a conversation: {', '.join(own)}"
        out.lose("container.field", out.at, why)
    others = [id for id in mapping if id not in set(path) and _message(mapping, id)]
    for id in others:
        out.lose(
            "container.branch",
            f"{out.at}/mapping/{escape(id)}",
            "a message of another branch; the one that was last shown is read",
        )
    calls: list[str] = []
    for id in path:
        message = _message(mapping, id)
        if message is not None:
            _read_message(message, f"{out.at}/mapping/{escape(id)}/message", out, calls)


def _message(mapping: dict[str, Json], id: str) -> dict[str, Any] | None:
    node = mapping.get(id)
    message: Json = node.get("message") if node.__class__ is dict else None
    return message if isinstance(message, dict) else None


def _read_message(message: dict[str, Any], at: str, out: Written, calls: list[str]) -> None:
    author: Json = message.get("author")
    author = author if author.__class__ is dict else {}
    role, content = author.get("role"), message.get("content")
    content = content if content.__class__ is dict else {}
    kind = content.get("content_type")
    if kind in REASONING if kind.__class__ is str else False:
        out.lose("reasoning", f"{at}/content", "openai-chat has no field for reasoning")
        return
    texts = _texts(content, f"{at}/content", out)
    text = "\n".join(texts)
    if kind.__class__ is str and kind in HIDDEN:
        if text or any(content.get(k) for k in ("user_profile", "user_instructions")):
            why = "instructions that ChatGPT adds by itself"
            out.lose("container.field", f"{at}/content", why)
        return
    recipient = message.get("recipient")
    if role == "assistant" and recipient.__class__ is str and recipient != "all":
        out.add(_call(recipient, text, message, calls), at)
    elif role == "tool":
        if not calls:
            out.lose("tool_result", at, "a result without a call before it")
            return
        out.add({"role": "tool", "tool_call_id": calls.pop(0), "content": text}, at)
    elif role in ("user", "assistant", "system") and text:
        out.add({"role": role, "content": text}, at)
    elif text:
        out.lose("message.role", at, "a message of an unknown role")


def _call(name: str, text: str, message: dict[str, Any], calls: list[str]) -> Json:
    """A call of a tool: with arguments where they are an object, else freeform."""
    id = f"call_{message.get('id') or len(calls)}"
    calls.append(id)
    try:
        is_object = decode(text.encode("utf-8", "surrogatepass")).__class__ is dict
    except UNREADABLE:
        is_object = False
    if is_object:
        call: Json = {"type": "function", "function": {"name": name, "arguments": text}}
    else:
        call = {"type": "custom", "custom": {"name": name, "input": text}}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id, **call}]}


def _texts(content: dict[str, Any], at: str, out: Written) -> list[str]:
    parts: Json = content.get("parts")
    if parts.__class__ is not list:
        found = (content.get(key) for key in MESSAGE_KEYS)
        return [text for text in found if text.__class__ is str and text][:1]
    texts = []
    for index, part in enumerate(parts):
        if part.__class__ is str:
            texts.append(part)
        elif part.__class__ is dict and part.get("text").__class__ is str:
            texts.append(part["text"])
        elif part.__class__ is dict:
            kind = part.get("content_type")
            what = kind if kind.__class__ is str and kind.isidentifier() else "a part"
            why = f"{what}: the file stands beside the conversations of the export"
            out.lose("media", f"{at}/parts/{index}", why)
    return [text for text in texts if text]


CONTAINER = ChatGPT()
