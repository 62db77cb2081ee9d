"""Messages of Chat Completions, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.reading import (
    expected,
    maybe_str,
    need_str,
    only,
    pointers,
)
from ...core.turns import (
    HOISTED,
    mark_custom_results,
    more_results,
    note_empty_result,
    results_in_place,
    unhoist,
)
from ...core.writing import Writing, is_plain_text
from ...errors import Malformed
from ...model import (
    Block,
    Json,
    Message,
    Role,
    Text,
    ToolResult,
)
from ...tools.tool_errors import ERROR, MARK, is_marked, mark_error, mark_plain
from . import assistant, inline, parts
from .assistant import CALLING_MESSAGE, PLAIN_MESSAGE, _stands_in, is_custom

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
PLAIN_RESULT = only("role", "content", "tool_call_id")


def read_history(d: OpenAIChat, docs: list[Json], at: str) -> list[Message]:
    out: list[Message] = []
    append = out.append
    custom = after_tool = False
    places, contents = pointers(at, docs, "/content")
    for index, doc in enumerate(docs):  # not zip, which takes long to begin
        where = places[index]
        if doc.__class__ is not dict:
            expected("an object", doc, where)
        role = doc.get("role")
        content = doc.get("content")
        # The usual shapes, most messages by far; but no text that may begin with a mark.
        if content.__class__ is str:
            text = Text(content, at=contents[index])
            if role == "tool":
                call_id = doc.get("tool_call_id")
                if call_id.__class__ is str and PLAIN_RESULT(doc):
                    if not content or content[0] != "[" or not content.startswith(MARK):
                        result = ToolResult(call_id, (text,), at=where)
                        append(Message("tool", (result,), at=where))
                        after_tool = True
                        continue
            elif PLAIN_MESSAGE(doc):
                if (
                    role == "assistant"
                    or role == "system"
                    or (role == "user" and not (after_tool and content[:1] == "["))
                ):
                    append(Message(role, (text,), at=where))
                    after_tool = False
                    continue
            elif role == "assistant" and CALLING_MESSAGE(doc):
                if (calls := doc.get("tool_calls")).__class__ is list and calls:
                    blocks: list[Block] = [text]
                    custom = assistant.read_calls(d, blocks, calls, where) or custom
                    append(Message("assistant", tuple(blocks), at=where))
                    after_tool = False
                    continue
        elif role == "assistant" and content is None and CALLING_MESSAGE(doc):
            calls = doc.get("tool_calls")
            if calls.__class__ is list and calls and "content" in doc:
                blocks = []
                custom = assistant.read_calls(d, blocks, calls, where) or custom
                append(Message("assistant", tuple(blocks), at=where))
                after_tool = False
                continue
        message = read_message(d, doc, where)
        if message.role == "user" and inline.has_results(message):
            out += inline.cut(d, message)
            after_tool = out[-1].role == "tool"
            continue
        if message.role == "user" and out and out[-1].role == "tool":
            alone = PLAIN_MESSAGE(doc) and not more_results(docs, index)
            if alone and unhoist(message, out, d.holds_all):
                continue
        elif message.role == "assistant":
            custom = custom or any(is_custom(block) for block in message.content)
        after_tool = message.role == "tool"
        append(message)
    return mark_custom_results(out) if custom else out


def write_history(d: OpenAIChat, messages: Sequence[Message], w: Writing) -> list[Json]:
    out: list[Json] = []
    hoisted: list[Json] = []
    if not w.home:
        messages = results_in_place(messages, w.log, apart=True)
    for message in messages:
        role = message.role
        if w.home and message.extras is not None and inline.write_message(d, message, out, w):
            continue
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
    return out


def write_plain(d: OpenAIChat, message: Message, w: Writing) -> Json | None:
    """A turn of system, developer or user."""
    content, extras = message.content, message.extras
    doc: dict[str, Json]
    if len(content) == 1 and (extras is None or d.is_mute(extras)):
        if is_plain_text(content[0]):  # the usual shape
            doc = {"role": message.role, "content": content[0].text}
            if message.name is not None:
                doc["name"] = message.name
            return doc
    spelled = d.spelling(message).get("content")
    doc = {"role": message.role}
    if spelled == "null":
        doc["content"] = None
    elif spelled != "absent":
        said = parts.write_content(d, content, spelled, w)
        if said is None:
            if not w.home:
                d.lose(extras, message.at, w.log)
                d.omit_message(message, w.log)
                return None
            said = []
        doc["content"] = said
    if message.name is not None:
        doc["name"] = message.name
    return d.emit(doc, message, w.log)


def read_message(d: OpenAIChat, doc: dict[str, Json], at: str) -> Message:
    said = doc.get("role")
    role = ROLES.get(said) if said.__class__ is str else None
    if role is None:
        need_str(doc, "role", at)
        raise Malformed(f"unknown role {said!r}; there are: {', '.join(ROLES)}", at)
    if role == "assistant":
        return d.read_assistant(doc, at)
    if role == "tool":
        return read_result(d, doc, str(said), at)
    content = doc.get("content")
    if content.__class__ is str and PLAIN_MESSAGE(doc):
        return Message(role, (Text(content, at=f"{at}/content"),), at=at)
    blocks, spelling = parts.read_content(d, doc, at)
    extras = None if PLAIN_MESSAGE(doc) else d.keep(doc, PLAIN_KEYS)
    if spelling:
        extras = d.respell(extras, **spelling)
    return Message(role, blocks, maybe_str(doc, "name", at), at=at, extras=extras)


def read_result(d: OpenAIChat, doc: dict[str, Json], role: str, at: str) -> Message:
    content = doc.get("content")
    if role == "tool" and content.__class__ is str and PLAIN_RESULT(doc):
        call_id = doc.get("tool_call_id")
        if call_id.__class__ is str and not content.startswith(MARK):
            result = ToolResult(call_id, (Text(content, at=f"{at}/content"),), at=at)
            return Message("tool", (result,), at=at)
    blocks, spelling = parts.read_content(d, doc, at)
    spelling = spelling or {}
    if any(not isinstance(b, Text) for b in blocks):
        spelling["content"] = "list"  # against the official rules, and kept so at home
    failed, blocks = parts.read_failed(blocks, spelling)
    if role == "function":
        spelling["legacy"] = True
    elif doc.get("tool_call_id") is None and "tool_call_id" not in doc:
        spelling["no_id"] = True
    extras = d.keep(doc, ("role", "content", "tool_call_id", "name"), spelling)
    result = ToolResult(
        maybe_str(doc, "tool_call_id", at),
        blocks,
        True if failed else None,
        maybe_str(doc, "name", at),
        at=at,
        extras=extras,
    )
    return Message("tool", (result,), at=at)


def holds_all(d: OpenAIChat, result: ToolResult) -> bool:
    """Whether a result holds its images itself, against the official rules."""
    spelled = d.spelling(result).get("content")
    only = result.content[0] if len(result.content) == 1 else None
    return bool(spelled) and not (spelled == "list" and only and is_plain_text(only))


def write_result(
    d: OpenAIChat, block: Block, message: Message, hoisted: list[Json], w: Writing
) -> Json:
    if block.__class__ is not ToolResult:
        raise Malformed("only tool results are allowed in a tool message", block.at)
    content, extras, call_id = block.content, block.extras, block.call_id
    if (
        (extras is None or (not w.home and d.is_mute(extras)))
        and not block.is_error
        and block.name is None
        and block.cache is None
        and (message.extras is None or d.is_mute(message.extras))
        and len(content) == 1
    ):  # the usual shape
        first = content[0]
        if (
            first.__class__ is Text
            and first.extras is None
            and first.cache is None
            and not first.citations
            and not first.text.startswith(MARK)
        ):
            if call_id is None or call_id not in w.ids.staying:
                call_id = w.result_id(block)
            return {"role": "tool", "tool_call_id": call_id, "content": first.text}
    doc: dict[str, Json] = {"role": "tool"}
    spelling = d.spelling(block)
    write_result_id(doc, block, spelling, w)
    d.write_result_content(doc, block, spelling, hoisted, w)
    if block.name is not None and (w.home or d.can.result_names):
        doc["name"] = block.name
    d.lose(message.extras, message.at, w.log)
    return doc if block.extras is None else d.emit(doc, block, w.log)


def mark_first(part: Json, block: ToolResult, w: Writing) -> None:
    """A text that comes first because what stood before it is not written here."""
    if part.get("type") == "text" and is_marked(part["text"]):
        w.moved(
            "tool_result.error",
            block.at,
            "'[tool output]' is written before a text that looks like an error",
        )
        part["text"] = mark_plain(part["text"])


def write_result_id(
    doc: dict[str, Json], block: ToolResult, spelling: dict[str, Json], w: Writing
) -> None:
    if spelling.get("legacy"):
        doc["role"] = "function"
    if w.home and block.call_id is None:
        return
    doc["tool_call_id"] = w.result_id(block)


def write_result_content(
    d: OpenAIChat,
    doc: dict[str, Json],
    block: ToolResult,
    spelling: dict[str, Json],
    hoisted: list[Json],
    w: Writing,
) -> None:
    spelled = spelling.get("content")
    if spelled in ("null", "absent") and not block.is_error:
        if spelled == "null":
            doc["content"] = None
        return
    texts: list[Block] = []
    media: list[Block] = []
    for part in block.content:
        inline = isinstance(part, Text) or (spelled == "list" and _stands_in(part, block))
        (texts if inline else media).append(part)
    if media:
        hoist(d, media, block, doc, hoisted, w)
        if not w.home and hoisted:
            note_empty_result(texts, block.is_error, w.log)
    doc["content"] = parts.write_content(d, mark_texts(d, texts, block, w), spelled, w)
    if doc["content"] is None:
        doc["content"] = ""


def mark_texts(d: OpenAIChat, texts: list[Block], block: ToolResult, w: Writing) -> list[Block]:
    """There is no flag for a failed tool: its text says so, and another's must not."""
    first = texts[0] if texts else None
    if w.home and isinstance(first, Text) and first.text == ERROR and not is_plain_text(first):
        return texts  # a text with keys of its own is no mark, and is written as it was
    if not block.is_error:
        if isinstance(first, Text) and is_marked(first.text):
            w.moved(
                "tool_result.error",
                first.at,
                "'[tool output]' is written before a text that looks like an error",
            )
            return [replace(first, text=mark_plain(first.text)), *texts[1:]]
        return texts
    w.moved(
        "tool_result.error",
        block.at,
        f"{d.name} has no error flag; the text begins with '[tool error]'",
    )
    if isinstance(first, Text) and d.spelling(block).get("mark") != "alone":
        return [replace(first, text=mark_error(first.text)), *texts[1:]]
    return [Text(mark_error(None), at=block.at), *texts]


def hoist(
    d: OpenAIChat,
    media: list[Block],
    block: ToolResult,
    doc: dict[str, Json],
    hoisted: list[Json],
    w: Writing,
) -> None:
    """A result holds only text here: what else it holds goes to a user turn after the run."""
    parts: list[Json] = []
    for part in media:
        if written := d.write_part(part, w):
            parts += written
            why = f"{d.name} allows only text in a tool result; written in a user turn"
            w.moved("tool_result.content", part.at, why)
    if not parts:
        return
    mark = HOISTED.format(id=doc.get("tool_call_id"))
    hoisted += [{"type": "text", "text": mark}, *parts]
