"""Messages of Chat Completions, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core.plain import Turn, is_plain
from ...core.reading import expected, maybe_str, need_str, only, pointers
from ...core.resuming import Going
from ...core.turns import (
    HOISTED,
    mark_custom_results,
    more_results,
    note_empty_result,
    results_in_place,
    unhoist,
)
from ...core.writing import Writing
from ...errors import Malformed
from ...ledger import Ledger
from ...model import Block, Json, Media, Message, Role, Text, ToolResult
from ...tools.tool_errors import MARK
from . import assistant, inline, parts
from .assistant import CALLING_MESSAGE, PLAIN_MESSAGE, is_custom

if TYPE_CHECKING:
    from . import OpenAIChat


ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",  # before there were tools
}
PLAIN_KEYS = frozenset({"role", "content", "name"})
RESULT_KEYS = PLAIN_KEYS | {"tool_call_id"}
PLAIN_RESULT = only("role", "content", "tool_call_id")


def read_history(d: OpenAIChat, docs: list[Json], at: str) -> list[Message]:
    out, begin, stop, _ = d.reads.begin(docs)
    append = out.append
    custom = False
    places, contents = pointers(at, docs, "/content")
    for index, doc in enumerate(docs[begin:] if begin else docs, begin):
        if index == stop and not custom:  # results are marked by calls that stand before them
            d.reads.note(index, out)
        where = places[index]
        if doc.__class__ is not dict:
            expected("an object", doc, where)
        role = doc.get("role")
        content = doc.get("content")
        # The usual shapes, most messages by far; but no result that may begin with a mark.
        if content.__class__ is str:
            text = Text(content, at=contents[index])
            if role == "tool":
                call_id = doc.get("tool_call_id")
                if call_id.__class__ is str and PLAIN_RESULT(doc):
                    if not content or content[0] != "[" or not content.startswith(MARK):
                        result = ToolResult(call_id, (text,), at=where)
                        append(Message("tool", (result,), at=where))
                        continue
            elif PLAIN_MESSAGE(doc):
                if role == "assistant" or role == "system" or role == "user":
                    append(Message(role, (text,), at=where))
                    continue
            elif role == "assistant" and CALLING_MESSAGE(doc):
                if (calls := doc.get("tool_calls")).__class__ is list:
                    blocks: list[Block] = [text]
                    custom = assistant.read_calls(d, blocks, calls, where) or custom
                    append(Message("assistant", tuple(blocks), at=where))
                    continue
        elif role == "assistant" and content is None and CALLING_MESSAGE(doc):
            calls = doc.get("tool_calls")
            if calls.__class__ is list:
                blocks = []
                custom = assistant.read_calls(d, blocks, calls, where) or custom
                append(Message("assistant", tuple(blocks), at=where))
                continue
        message = read_message(d, doc, where)
        if message.role == "user" and inline.has_results(message):
            out += inline.cut(d, message)
            continue
        if message.role == "user" and out and out[-1].role == "tool":
            alone = message.extras is None and message.name is None
            alone = alone and not more_results(docs, index)
            if alone and unhoist(message, out, d.holds_all):
                continue
        elif message.role == "assistant":
            custom = custom or any(is_custom(block) for block in message.content)
        append(message)
    d.reads.end(docs, out)
    if custom:
        d.reads.forget()
    return mark_custom_results(out) if custom else out


def read_turns(docs: list[Json]) -> list[Turn] | None:
    """The messages of a request as plain turns, if they are plain."""
    turns: list[Turn] = []
    add = turns.append
    for doc in docs:
        if doc.__class__ is not dict:
            return None
        role, content = doc.get("role"), doc.get("content")
        if content is not None and content.__class__ is not str:
            return None
        if role == "tool" and PLAIN_RESULT(doc):
            add((role, content, doc.get("tool_call_id")))
        elif PLAIN_MESSAGE(doc):
            add((role, content, None))
        elif role == "assistant" and CALLING_MESSAGE(doc):
            if (calls := assistant.read_plain_calls(doc.get("tool_calls"))) is None:
                return None
            add((role, content, calls))
        else:
            return None
    return turns if is_plain(turns) else None


def write_turns(turns: list[Turn], w: Writing) -> list[Json]:
    """The messages of plain turns."""
    out: list[Json] = []
    for role, text, beside in turns:
        if beside is None:
            out.append({"role": role, "content": text})
        elif role == "tool":
            out.append({"role": "tool", "tool_call_id": beside, "content": text})
        else:
            calls = assistant.write_plain_calls(beside, w)
            out.append({"role": role, "content": text, "tool_calls": calls})
    return out


def arrange(d: OpenAIChat, messages: Sequence[Message], log: Ledger) -> Sequence[Message]:
    """Messages of another dialect in the order that they have here; the same if they are in it."""
    return results_in_place(messages, log, apart=True)


def write_history(d: OpenAIChat, messages: Sequence[Message], w: Writing) -> list[Json]:
    # A variant that adds something to the turns of the model has its own way to write them.
    if messages is w.log.plain and type(d).write_assistant is assistant.write_assistant:
        return write_turns(w.log.turns, w)
    out: list[Json]
    hoisted: list[Json]
    go = Going(d.writes, messages, w, d.arrange)
    messages = go.messages
    start, (out, hoisted) = go.take(w, 0, [], [])
    for index, message in enumerate(messages[start:] if start else messages, start):
        role = message.role
        if index == go.note_at and not hoisted:
            go.note(w, 0, out, hoisted)
        if role == "tool":
            for block in message.content:
                out.append(write_result(d, block, message, hoisted, w))
            continue
        if hoisted:
            out.append({"role": "user", "content": list(hoisted)})
            hoisted.clear()
        if role == "assistant":
            doc = d.write_assistant(message, w)
        else:
            doc = write_plain(d, message, w)
        if doc is not None:
            out.append(doc)
    if hoisted:
        out.append({"role": "user", "content": list(hoisted)})
    else:
        go.end(w, 0, out, hoisted)
    return out


def write_plain(d: OpenAIChat, message: Message, w: Writing) -> Json | None:
    """A turn of system, developer or user."""
    content, extras = message.content, message.extras
    doc: dict[str, Json]
    if len(content) == 1 and (extras is None or d.is_mute(extras)):
        text = content[0]
        if (
            text.__class__ is Text
            and text.extras is None
            and text.cache is None
            and not text.citations
        ):  # the usual shape
            doc = {"role": message.role, "content": text.text}
            if message.name is not None:
                doc["name"] = message.name
            return doc
    spelled = parts.write_content(d, content, w)
    if spelled is None and not w.same:
        d.lose(extras, message.at, w.log)
        d.omit_message(message, w.log)
        return None
    doc = {"role": message.role, "content": [] if spelled is None else spelled}
    if message.name is not None:
        doc["name"] = message.name
    return d.emit(doc, message, w.log)


def read_message(d: OpenAIChat, doc: dict[str, Json], at: str) -> Message:
    given = doc.get("role")
    role = ROLES.get(given) if given.__class__ is str else None
    if role is None:
        need_str(doc, "role", at)
        raise Malformed(f"unknown role {given!r}; there are: {', '.join(ROLES)}", at)
    if role == "assistant":
        return d.read_assistant(doc, at)
    if role == "tool":
        return read_result(d, doc, at)
    blocks = parts.read_content(d, doc, at)
    extras = d.keep(doc, PLAIN_KEYS)
    return Message(role, blocks, maybe_str(doc, "name", at), at=at, extras=extras)


def read_result(d: OpenAIChat, doc: dict[str, Json], at: str) -> Message:
    failed, blocks = parts.read_failed(parts.read_content(d, doc, at))
    result = ToolResult(
        maybe_str(doc, "tool_call_id", at),
        blocks,
        True if failed else None,
        maybe_str(doc, "name", at),
        at=at,
        extras=d.keep(doc, RESULT_KEYS),
    )
    return Message("tool", (result,), at=at)


def holds_all(d: OpenAIChat, result: ToolResult) -> bool:
    """Whether a result holds its images itself, against the official rules."""
    return not all(isinstance(block, Text) for block in result.content)


def write_result(
    d: OpenAIChat, block: Block, message: Message, hoisted: list[Json], w: Writing
) -> Json:
    if block.__class__ is not ToolResult:
        raise Malformed("only tool results are allowed in a tool message", block.at)
    content, extras, call_id = block.content, block.extras, block.call_id
    if block.kind != "function" and not w.same:
        note_kind(d, block, w)
    if (
        (extras is None or (not w.same and d.is_mute(extras)))
        and block.name is None
        and block.cache is None
        and not (w.same and call_id is None)
        and (message.extras is None or d.is_mute(message.extras))
        and len(content) == 1
    ):  # the usual shape
        first = content[0]
        if (
            first.__class__ is Text
            and first.extras is None
            and first.cache is None
            and not first.citations
        ):
            if call_id is None or call_id not in w.ids.staying:
                call_id = w.result_id(block)
            return {"role": "tool", "tool_call_id": call_id, "content": first.text}
    if block.cache is not None:  # which only a part of the user's content can have
        return d.emit({"role": "user", "content": d.write_part(block, w)}, message, w.log)
    doc: dict[str, Json] = {"role": "tool"}
    if not w.same or call_id is not None:
        doc["tool_call_id"] = w.result_id(block)
    elif block.name is not None:
        doc["role"] = "function"  # from before there were tools
    spelled = d.write_result_content(doc, block, hoisted, w)
    doc["content"] = spelled if spelled is not None else [] if w.same else ""
    if block.name is not None and (w.same or d.can.result_names):
        doc["name"] = block.name
    if w.same:
        return d.emit(d.emit(doc, message, w.log), block, w.log)
    d.lose(message.extras, message.at, w.log)
    return d.emit(doc, block, w.log)


def note_kind(d: OpenAIChat, result: ToolResult, w: Writing) -> None:
    """The kind of a result is that of its call; without one it is a function's."""
    if result.call_id not in w.ids.staying and result.call_id not in w.ids.given:
        why = f"a result without its call is that of a function in {d.name}"
        w.log.approximated("tool_call.kind", result.at, why)


def write_result_content(
    d: OpenAIChat, doc: dict[str, Json], block: ToolResult, hoisted: list[Json], w: Writing
) -> Json:
    texts = [part for part in block.content if isinstance(part, Text)]
    if len(texts) < len(block.content):
        if w.same and not (block.call_id and any(isinstance(b, Media) for b in block.content)):
            # In another turn, nobody could tell what it is, or whose.
            return [doc for part in block.content for doc in d.write_part(part, w)]
        hoist(d, block, doc, hoisted, w)
        if not w.same and hoisted:
            note_empty_result(texts, w.log)
    return parts.write_content(d, texts, w)


def hoist(
    d: OpenAIChat, block: ToolResult, doc: dict[str, Json], hoisted: list[Json], w: Writing
) -> None:
    """A result holds only text here: what else it holds goes to a user turn after the run."""
    parts: list[Json] = []
    for part in block.content:
        if not isinstance(part, Text) and (written := d.write_part(part, w)):
            parts += written
            why = f"{d.name} allows only text in a tool result; written in a user turn"
            w.moved("tool_result.content", part.at, why)
    if parts:
        mark = HOISTED.format(id=doc.get("tool_call_id"))
        hoisted += [{"type": "text", "text": mark}, *parts]
