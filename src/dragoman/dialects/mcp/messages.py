"""Messages of the Model Context Protocol, and what a tool returned, both ways.

A turn with results has nothing else: "SamplingMessage with tool result content blocks MUST NOT
contain other content types." So results that follow each other share a turn, and what the user
says after them is the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core.reading import as_dict, maybe_str, need_list, need_str
from ...core.turns import results_in_place, split_results
from ...core.writing import Writing
from ...errors import Malformed
from ...ledger import Ledger
from ...model import Extras, History, Json, Message, Role, Text, ToolResult
from . import blocks

if TYPE_CHECKING:
    from . import MCP

ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant"}
PROMPT = "systemPrompt"
RETURNED = "returned"
"""The spelling of a history that is the result of ``tools/call``."""


def read_messages(d: MCP, doc: Json) -> History:
    """Messages, an object that holds them (a prompt, a request), or the result of one tool."""
    if doc.__class__ is list:
        return History(tuple(read_history(d, doc, "")), dialect=d.name)
    doc = as_dict(doc, "")
    if "messages" not in doc and "content" in doc and "role" not in doc:
        rest = {k: v for k, v in doc.items() if (k, v) != ("resultType", "complete")}
        message = Message("tool", (blocks.read_result(d, rest, ""),), at="")
        note = Extras(d.name, spelling={RETURNED: True})
        return History((message,), dialect=d.name, extras=note)
    taken = {"messages", PROMPT}
    if doc.get("resultType") == "complete":
        taken.add("resultType")
    return History(tuple(read_conversation(d, doc)), dialect=d.name, extras=d.keep(doc, taken))


def write_messages(d: MCP, tree: History, log: Ledger) -> Json:
    w = d.writing(log, tree.dialect)
    if d.spelling(tree).get(RETURNED) and len(tree.messages) == 1:
        result = tree.messages[0].content[0]
        if isinstance(result, ToolResult):
            return d.emit(blocks.write_output(d, result, w), result, log)
    out: dict[str, Json] = {}
    write_conversation(d, out, tree.messages, w)
    return d.emit(out, tree, log)


def read_conversation(d: MCP, doc: dict[str, Json]) -> list[Message]:
    messages = read_history(d, need_list(doc, "messages", ""), "/messages")
    prompt = maybe_str(doc, PROMPT, "")
    if prompt is None:
        return messages
    at = f"/{PROMPT}"
    return [Message("system", (Text(prompt, at=at),), at=at), *messages]


def read_history(d: MCP, docs: list[Json], at: str) -> list[Message]:
    out: list[Message] = []
    for index, item in enumerate(docs):
        where = f"{at}/{index}"
        doc = as_dict(item, where)
        given = need_str(doc, "role", where)
        if (role := ROLES.get(given)) is None:
            raise Malformed(f"unknown role {given!r}; there are: {', '.join(ROLES)}", where)
        content = blocks.read_content(d, doc.get("content"), f"{where}/content")
        extras = d.keep(doc, ("role", "content"))
        if role == "user" and any(isinstance(block, ToolResult) for block in content):
            split_results(content, where, extras, out)
        else:
            out.append(Message(role, tuple(content), at=where, extras=extras))
    return out


def write_conversation(
    d: MCP, out: dict[str, Json], messages: Sequence[Message], w: Writing
) -> None:
    if not w.same:
        messages = results_in_place(messages, w.log)
    prompt = write_prompt(d, [m for m in messages if m.role == "system"], w)
    if prompt is not None:
        out[PROMPT] = prompt
    out["messages"] = write_history(d, [m for m in messages if m.role != "system"], w)


def write_prompt(d: MCP, messages: Sequence[Message], w: Writing) -> str | None:
    texts: list[str] = []
    for message in messages:
        d.lose(message.extras, message.at, w.log)
        before = len(texts)
        for block in message.content:
            if not isinstance(block, Text):
                d.omit(block, w.log)
                continue
            if texts:
                d.join_text(block.at, w.log)
            d.lose(block.extras, block.at, w.log)
            texts.append(block.text)
        if not w.same:
            d.note_prompt(message, before > 0, len(texts) > before, w.log)
    return "\n\n".join(texts) if texts else None


def listed(doc: dict[str, Json]) -> list[Json]:
    content = doc["content"]
    return content if content.__class__ is list else [content]


def calls(doc: dict[str, Json]) -> bool:
    return any(block["type"] == "tool_use" for block in listed(doc))


def add(d: MCP, doc: dict[str, Json], message: Message, w: Writing) -> None:
    """A message that shares the turn of the one before it."""
    doc["content"] = [*listed(doc), *blocks.write_blocks(d, message.content, w)]
    d.lose(message.extras, message.at, w.log)


def write_history(d: MCP, messages: Sequence[Message], w: Writing) -> list[Json]:
    out: list[Json] = []
    before = ""
    for message in messages:
        own = message.extras is not None and d.is_same(message.extras.dialect)
        if message.role == "tool" == before and not (own and message.extras.fields):  # type: ignore[union-attr]
            add(d, out[-1], message, w)
            continue
        if message.role == "assistant" == before and not w.same and calls(out[-1]):
            d.merge_message(message, w.log)  # the results of the calls come next
            add(d, out[-1], message, w)
            continue
        role = "user" if message.role == "tool" else message.role
        doc: dict[str, Json] = {"role": role}
        doc["content"] = blocks.write_content(d, message.content, w)
        out.append(d.emit(doc, message, w.log))
        before = message.role
    return out
