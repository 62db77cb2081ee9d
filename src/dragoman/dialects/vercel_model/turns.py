"""The messages of the AI SDK, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...core.reading import as_dict, as_list, expected, need_list, need_str, only, tokens
from ...core.resuming import Going
from ...core.turns import mark_custom_results, place_of, results_in_place
from ...core.writing import Writing, is_plain_text
from ...errors import Malformed
from ...ledger import Ledger
from ...model import Block, History, Json, Media, Message, Raw, Role, Text, ToolCall, ToolResult
from . import parts, results
from .options import Taker, finish, keep_options, read_cache, write_cache

if TYPE_CHECKING:
    from . import VercelModel


ROLES: dict[str, Role] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
MESSAGE_KEYS = frozenset({"role", "content"})
PLAIN_MESSAGE = only("role", "content")
NOBODY: frozenset[str] = frozenset()
# Any string is an identifier here: the schemas say no more than `z.string()`.
FREE = (r"[\s\S]", 1 << 20)


def read_messages(d: VercelModel, doc: Json) -> History:
    """A history is a bare list; an object that holds one is tolerated."""
    if doc.__class__ is list:
        return History(tuple(read_history(d, doc, "")), dialect=d.name)
    doc = as_dict(doc, "")
    messages = read_history(d, need_list(doc, "messages", ""), "/messages")
    return History(tuple(messages), dialect=d.name, extras=d.keep(doc, ("messages",)))


def write_messages(d: VercelModel, tree: History, log: Ledger) -> Json:
    messages = write_history(d, tree.messages, d.writing(log, tree.dialect))
    if tree.extras is not None and d.is_same(tree.extras.dialect):
        return d.emit({"messages": messages}, tree, log)
    d.lose(tree.extras, tree.at, log)
    return messages


def read_history(
    d: VercelModel, docs: list[Json], at: str, custom: frozenset[str] = NOBODY
) -> list[Message]:
    out: list[Message] = []
    called: dict[str, str] = {}
    for token, doc in zip(tokens(docs), docs, strict=False):
        where = at + token
        doc = as_dict(doc, where)
        given = doc.get("role")
        role = ROLES.get(given) if given.__class__ is str else None
        content = doc.get("content")
        if role is None:
            need_str(doc, "role", where)
            raise Malformed(f"unknown role {given!r}; there are: {', '.join(ROLES)}", where)
        if role == "tool":
            read_results(d, doc, where, called, out)
        elif content.__class__ is str and PLAIN_MESSAGE(doc):  # the usual shape
            out.append(Message(role, (Text(content, at=f"{where}/content"),), at=where))
        else:
            message = read_turn(d, doc, role, where, custom)
            for block in message.content:
                if block.__class__ is ToolCall and block.id is not None:
                    called[block.id] = block.name
            out.append(message)
    return mark_custom_results(out) if custom else out


def write_history(d: VercelModel, messages: Sequence[Message], w: Writing) -> list[Json]:
    out: list[dict[str, Json]]
    called: dict[str, str]

    def arranged(messages: Sequence[Message], log: Ledger) -> Sequence[Message]:
        # "Tool result is missing for tool call": no other turn may come between.
        if any(m.role != "tool" and is_result(d, m) for m in messages):
            messages = [replace(m, role="tool") if is_result(d, m) else m for m in messages]
        return results_in_place(messages, log)

    go = Going(d.writes, messages, w, arranged)
    messages = go.messages
    start, (out, called) = go.take(w, 0, [], {})
    for index, message in enumerate(messages[start:] if start else messages, start):
        if index == go.note_at:
            go.note(w, 0, out, called)
        if message.role == "tool" or is_result(d, message):
            write_results(d, message, called, out, w)
            continue
        if message.role == "system":
            out += d.write_system(message, w)
            continue
        doc = d.write_turn(message, w)
        if doc is not None:
            out.append(doc)
            if message.role == "assistant":
                note_calls(doc["content"], called)
    go.end(w, 0, out, called)
    return out


def note_calls(content: Json, called: dict[str, str]) -> None:
    """The names that results will need."""
    if content.__class__ is list:
        for part in content:
            if part.get("type") == "tool-call" and not part.get("providerExecuted"):
                called[part["toolCallId"]] = part["toolName"]


def read_turn(
    d: VercelModel, doc: dict[str, Json], role: Role, at: str, custom: frozenset[str]
) -> Message:
    content = doc.get("content")
    where = f"{at}/content"
    blocks: list[Block]
    if content.__class__ is str:
        blocks = [Text(content, at=where)]
    elif content.__class__ is list and role != "system":
        blocks = parts.read_parts(d, content, where, custom)
    else:
        expected("a string" if role == "system" else "a string or a list", content, where)
    options = Taker(doc, at)
    read_message_cache(d, options, blocks)
    extras = keep_options(d, options, MESSAGE_KEYS)
    return Message(role, tuple(blocks), at=at, extras=extras)


def write_turn(d: VercelModel, message: Message, w: Writing) -> dict[str, Json] | None:
    """A turn of the user or the assistant."""
    content = message.content
    doc: dict[str, Json] = {"role": message.role}
    if len(content) == 1 and is_plain_text(only := content[0], w.same):
        d.lose(only.extras, only.at, w.log)
        doc["content"] = only.text
    else:
        doc["content"] = parts.write_parts(d, content, message.role, w)
        if content and not doc["content"] and not w.same:
            d.lose(message.extras, message.at, w.log)
            d.omit_message(message, w.log)
            return None
    return finish(d, doc, message, w)


def write_system(d: VercelModel, message: Message, w: Writing) -> list[dict[str, Json]]:
    """A system turn is one string here; a turn of several texts becomes several turns."""
    out: list[dict[str, Json]] = []
    for block in message.content:
        if not isinstance(block, Text):
            d.omit(block, w.log)
            continue
        if out:
            why = f"{d.name} writes one text per system turn; the others become turns of their own"
            w.log.approximated("message.boundary", block.at, why)
        doc: dict[str, Json] = {"role": "system", "content": block.text}
        if block.extras is not None:
            d.lose(block.extras, block.at, w.log)
        node = message if not out else replace(message, extras=None)
        out.append(finish(d, doc, node, w, write_cache(d, block.cache, w)))
    if not out:
        d.lose(message.extras, message.at, w.log)
        d.omit_message(message, w.log)
    return out


def read_message_cache(d: VercelModel, options: Taker, blocks: list[Block]) -> None:
    """A mark on a message is a mark on the last of its parts."""
    last: Any = blocks[-1] if blocks else None
    if isinstance(last, Text | Media | ToolCall | ToolResult) and last.cache is None:
        if (cache := read_cache(d, options)) is not None:
            blocks[-1] = replace(last, cache=cache)


def read_results(
    d: VercelModel, doc: dict[str, Json], at: str, called: dict[str, str], out: list[Message]
) -> None:
    """Each result is a message of its own; what their message says is kept with the first."""
    options = Taker(doc, at)
    blocks: list[Block] = []
    for index, item in enumerate(as_list(doc.get("content"), f"{at}/content")):
        where = f"{at}/content/{index}"
        part = as_dict(item, where)
        if need_str(part, "type", where) == "tool-result":
            blocks.append(results.read_result(d, part, called, where))
        else:
            blocks.append(Raw(d.family, part, at=where))
    read_message_cache(d, options, blocks)
    extras = keep_options(d, options, MESSAGE_KEYS)
    for block in blocks:
        if isinstance(block, ToolResult):
            place = place_of(block, at, extras)
            out.append(Message("tool", (block,), at=place, extras=extras))
        else:  # an approval: the user's, and no result
            note = d.respell(extras, role="tool")
            out.append(Message("user", (block,), at=place_of(block, at, note), extras=note))
        extras = None
    if not blocks:
        out.append(Message("user", (), at=at, extras=d.respell(extras, role="tool")))


def is_result(d: VercelModel, message: Message) -> bool:
    """Whether a message stands in a message of the role ``tool`` here."""
    extras = message.extras
    return message.role == "tool" or (
        extras is not None and d.knows(extras.dialect) and extras.spelling.get("role") == "tool"
    )


def writing(d: VercelModel, log: Ledger, dialect: str | None, *, reply: bool = False) -> Writing:
    return Writing(log, FREE, FREE, d.is_same(dialect), reply)


def write_results(
    d: VercelModel, message: Message, called: dict[str, str], out: list[dict[str, Json]], w: Writing
) -> None:
    """Results that follow each other share one message."""
    extras = message.extras
    empty = not message.content
    begins = w.same and (empty or (extras is not None and bool(extras.fields)))
    joined = bool(out) and out[-1]["role"] == "tool" and bool(out[-1]["content"]) and not begins
    if joined and empty:
        d.lose(extras, message.at, w.log)
        d.omit_message(message, w.log)
        return
    if not joined:
        out.append({"role": "tool", "content": []})
    doc = out[-1]
    for block in message.content:
        if isinstance(block, ToolResult):
            doc["content"].append(results.write_result(d, block, called, w))
        elif isinstance(block, Raw):
            doc["content"] += parts.write_own(d, block, "tool", w)
        else:
            raise Malformed("only tool results are allowed in a tool message", block.at)
    if joined:
        d.lose(extras, message.at, w.log)
    elif not doc["content"] and not w.same:
        out.pop()
        d.lose(extras, message.at, w.log)
        if empty:
            d.omit_message(message, w.log)
    else:
        out[-1] = finish(d, doc, message, w)
