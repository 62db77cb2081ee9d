"""Messages of Strands Agents, alone or as a session stores them, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.reading import as_dict, as_str, need_dict, need_list, need_str
from ...core.turns import results_in_place, split_results
from ...core.writing import Writing
from ...errors import Malformed
from ...ledger import Ledger
from ...model import Extras, History, Json, Message, Role, Text, ToolResult
from .. import _stored
from . import blocks

if TYPE_CHECKING:
    from . import Strands

# "Tool names ... 1 to 64 characters", of these, as Bedrock has it.
NAMES = (r"[a-zA-Z0-9_-]", 64)
ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant"}
PROMPT = "system_prompt"
STORED = "stored"
"""The spelling of a message that stands in the envelope of a session."""
EDITED = "redact_message"
LATE = "`system` role written as `user`: strands has system text before the first message only"


def read_messages(d: Strands, doc: Json) -> History:
    """A list of messages, alone or as stored; or an object that holds it beside the prompt."""
    if doc.__class__ is list:
        return History(tuple(read_history(d, doc, "")), dialect=d.name)
    doc = as_dict(doc, "")
    out: list[Message] = []
    prompt, at = doc.get(PROMPT), f"/{PROMPT}"
    if prompt.__class__ is list:
        out.append(Message("system", tuple(blocks.read_blocks(d, prompt, at)), at=at))
    elif prompt is not None:
        out.append(Message("system", (Text(as_str(prompt, at), at=at),), at=at))
    out += read_history(d, need_list(doc, "messages", ""), "/messages")
    kept = d.keep(doc, ("messages", PROMPT)) or Extras(d.name)
    return History(tuple(out), dialect=d.name, extras=kept)


def write_messages(d: Strands, tree: History, log: Ledger) -> Json:
    w = Writing(log, _stored.FREE, NAMES, d.is_same(tree.dialect))
    prompt = write_prompt(d, [m for m in tree.messages if m.role == "system"], w)
    turns = write_history(d, [m for m in tree.messages if m.role != "system"], w)
    same = tree.extras is not None and d.is_same(tree.extras.dialect)
    if prompt is None and not same:
        d.lose(tree.extras, tree.at, log)
        return turns
    out: dict[str, Json] = {} if prompt is None else {PROMPT: prompt}
    return d.emit(out | {"messages": turns}, tree, log)


def write_prompt(d: Strands, messages: Sequence[Message], w: Writing) -> Json | None:
    """The system prompt: one text as it is, or blocks."""
    out: list[Json] = []
    for message in messages:
        d.lose(message.extras, message.at, w.log)
        written = blocks.write_blocks(d, message.content, w)
        if not w.same:
            d.note_prompt(message, bool(out), bool(written), w.log)
        out += written
    if len(out) == 1 and out[0].keys() == {"text"}:
        return out[0]["text"]
    return out or None


def read_history(d: Strands, docs: list[Json], at: str) -> list[Message]:
    out: list[Message] = []
    for index, item in enumerate(docs):
        where = f"{at}/{index}"
        doc = as_dict(item, where)
        if "message" in doc and "role" not in doc:
            read_stored(d, doc, index, where, out)
        else:
            read_message(d, doc, where, where, d.keep(doc, ("role", "content")), out)
    return out


def read_stored(d: Strands, doc: dict[str, Json], index: int, at: str, out: list[Message]) -> None:
    """A message in its envelope; one that was redacted is what it was redacted to."""
    key = "message" if doc.get(EDITED) is None else EDITED
    inner = need_dict(doc, key, at)
    taken = ("message_id",) if doc.get("message_id") == index else ()
    partly: Any = {key: ("role", "content")}
    extras = d.keep(doc, taken, {STORED: key}, partly=partly)
    read_message(d, inner, f"{at}/{key}", at, extras, out)


def read_message(
    d: Strands,
    doc: dict[str, Json],
    at: str,
    place: str,
    extras: Extras | None,
    out: list[Message],
) -> None:
    given = need_str(doc, "role", at)
    if (role := ROLES.get(given)) is None:
        raise Malformed(f"unknown role {given!r}; there are: {', '.join(ROLES)}", at)
    content = blocks.read_blocks(d, need_list(doc, "content", at), f"{at}/content")
    if role == "user" and any(isinstance(block, ToolResult) for block in content):
        split_results(content, place, extras, out)
    else:
        out.append(Message(role, tuple(content), at=place, extras=extras))


def write_history(d: Strands, messages: Sequence[Message], w: Writing) -> list[Json]:
    """Results share a turn of the user, and what the user says after them is part of it."""
    if not w.same:
        messages = results_in_place(messages, w.log)
    out: list[Json] = []
    before = ""
    for message in messages:
        extras = message.extras
        own = extras is not None and d.is_same(extras.dialect) and bool(extras.fields)
        goes_on = before == "tool" and message.role in ("tool", "user") and not own
        content = blocks.write_blocks(d, message.content, w)
        if goes_on and (content or not w.same):
            if message.role == "user" and not message.content:
                d.omit_message(message, w.log)
            content_of(out[-1]).extend(content)
            d.lose(extras, message.at, w.log)
        else:
            role = "assistant" if message.role == "assistant" else "user"
            if message.role == "system":  # of a history that was edited; others are lowered
                w.log.approximated("message.role", message.at, LATE)
            doc: dict[str, Json] = {"role": role, "content": content}
            key = d.spelling(message).get(STORED)
            if key is not None:
                doc = {key: doc, "message_id": len(out)}
                if key == EDITED:
                    doc["message"] = {"role": role, "content": []}
            out.append(d.emit(doc, message, w.log))
        before = message.role
    return out


def content_of(doc: dict[str, Json]) -> list[Json]:
    held = doc if "role" in doc else doc.get(EDITED) or doc["message"]
    listed: list[Json] = held["content"]
    return listed
