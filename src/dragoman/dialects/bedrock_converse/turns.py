"""Writing a conversation of Bedrock's Converse API: the system prompt and the turns.

Turns alternate, and the user begins. So what follows each other from the same side shares a turn:
the results of tools and what the user says after them, which can be told apart again, and texts
that were written in several messages, which cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core.reading import as_dict, need_list, need_str, only
from ...core.resuming import Going
from ...core.turns import SILENCE, mark_custom_results, results_in_place, split_results
from ...errors import Malformed
from ...model import Json, Message, Role, ToolResult
from .._claude_turns import calls_last, has_fields, prompts
from .blocks import BedrockWriting, read_blocks, write_blocks

if TYPE_CHECKING:
    from . import BedrockConverse


ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
PLAIN_MESSAGE = only("role", "content")


def read_history(
    d: BedrockConverse, docs: list[Json], at: str, custom: frozenset[str]
) -> list[Message]:
    """The messages in normal form: each tool result a message of its own."""
    out: list[Message] = []
    for index, doc in enumerate(docs):
        where = f"{at}/{index}"
        read_message(d, as_dict(doc, where), where, out, custom)
    return mark_custom_results(out) if custom else out


def read_message(
    d: BedrockConverse, doc: dict[str, Json], at: str, out: list[Message], custom: frozenset[str]
) -> None:
    given = need_str(doc, "role", at)
    role = ROLES.get(given)
    if role is None:
        raise Malformed(f"unknown role {given!r}; there are: {', '.join(ROLES)}", at)
    extras = None if PLAIN_MESSAGE(doc) else d.keep(doc, ("role", "content"))
    docs = need_list(doc, "content", at)
    blocks = read_blocks(d, docs, f"{at}/content", custom, results=role == "user")
    if role == "user" and any(isinstance(block, ToolResult) for block in blocks):
        split_results(blocks, at, extras, out)
    else:
        out.append(Message(role, tuple(blocks), at=at, extras=extras))


def write_conversation(
    d: BedrockConverse, out: dict[str, Json], messages: Sequence[Message], w: BedrockWriting
) -> None:
    go = Going(d.writes, messages, w, results_in_place)
    messages = go.messages
    leading = prompts(d, messages, w)
    write_system(d, out, messages[:leading], w)
    rest = messages[leading:]
    if w.same:
        out["messages"] = write_turns(d, rest, w)
    else:
        out["messages"] = write_alternating(d, rest, w, go, leading)


def write_system(
    d: BedrockConverse, out: dict[str, Json], messages: Sequence[Message], w: BedrockWriting
) -> None:
    blocks: list[Json] = []
    for message in messages:
        d.lose(message.extras, message.at, w.log)
        written = write_blocks(d, message.content, w)
        if not written and not w.same:
            d.omit_message(message, w.log)
        elif blocks and written:
            d.merge_prompt(message, w.log)
        blocks += written
    if blocks:
        out["system"] = blocks


def write_turns(d: BedrockConverse, messages: Sequence[Message], w: BedrockWriting) -> list[Json]:
    """The messages in the same dialect: results share a turn of the user with what is beside."""
    out: list[Json] = []
    before = ""
    for message in messages:
        doc = write_turn(d, message, w)
        shared = "tool" in (before, message.role) and {before, message.role} <= {"tool", "user"}
        whole = has_fields(d, message) or not (doc["content"] and out and out[-1]["content"])
        if shared and not whole:
            out[-1]["content"] += doc["content"]
        else:
            out.append(doc)
        before = message.role
    return out


def write_alternating(
    d: BedrockConverse, messages: Sequence[Message], w: BedrockWriting, go: Going, leading: int
) -> list[Json]:
    out: list[Json]
    places: list[str]  # where the turns stood
    before: str
    start, (out, places, before) = go.take(w, leading, [], [], "")
    for index, message in enumerate(messages[start:] if start else messages, start):
        if index == go.note_at:
            go.note(w, leading, out, places, before)
        doc = write_turn(d, message, w)
        if not doc["content"]:
            d.omit_message(message, w.log)
            continue
        if out and out[-1]["role"] == doc["role"]:
            if before != "tool" and message.role != "tool":
                d.merge_message(message, w.log)
            out[-1]["content"] += doc["content"]
        else:
            out.append(doc)
            places.append(message.at)
        before = message.role
    go.end(w, leading, out, places, before)
    if w.documents:
        pairs = zip(out, places, strict=True)
        out = [with_words(d, doc, at, w) for doc, at in pairs]
    if out and out[0]["role"] != "user":
        out = [begin(d, messages[0].at, w), *out]
    return out


def begin(d: BedrockConverse, at: str, w: BedrockWriting) -> Json:
    """ "A conversation must start with a user message." """
    d.add_user_turn(at, w.log)
    return {"role": "user", "content": [{"text": SILENCE}]}


def with_words(d: BedrockConverse, doc: Json, at: str, w: BedrockWriting) -> Json:
    """ "A text block must be included when using documents." """
    kinds = {kind for block in doc["content"] for kind in block}
    if "document" not in kinds or "text" in kinds:
        return doc
    why = f"{d.name} requires a text beside a document; written as {SILENCE!r}"
    w.log.invented("text.empty", at, why)
    return {**doc, "content": [*doc["content"], {"text": SILENCE}]}


def write_turn(d: BedrockConverse, message: Message, w: BedrockWriting) -> dict[str, Json]:
    role, apart = message.role, message.role == "assistant" and not w.same
    content = calls_last(d, message.content, w) if apart else message.content
    written = "user" if role == "tool" else role
    return d.emit({"role": written, "content": write_blocks(d, content, w)}, message, w.log)
