"""Items of the OpenAI Responses API, both ways.

A conversation is a flat list of items here. Everything the model says between two words of others
is one assistant message in the tree: its message items, calls and reasoning, in their order. The
first block of a message item keeps the fields of the item; see ``parts.mark``.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec.structs import replace

from ...core.plain import Call, Reply, Turn, named, text_of
from ...core.reading import expected, maybe_str, missing, need_str, only, pointers
from ...core.resuming import Going
from ...core.turns import split_results
from ...errors import Malformed
from ...ledger import Ledger
from ...model import (
    Block,
    Extras,
    Hosted,
    Json,
    Media,
    Message,
    Raw,
    Reasoning,
    Refusal,
    Text,
    ToolCall,
    ToolResult,
)
from ...tools.tool_errors import MARK
from . import calls, parts
from .calls import CALL, CALL_OUTPUT, PLAIN_CALL, PLAIN_RESULT, RESULTS, SEARCH_OUTPUT
from .parts import INPUT, NO_READERS, OUTPUT, PART, PLAIN_TEXT, ItemWriting, is_item

if TYPE_CHECKING:
    from .base import ResponsesBase


Speaker: TypeAlias = Literal["user", "system", "developer"]

SPEAKERS: tuple[Speaker, ...] = ("user", "system", "developer")
ADDITION_KEYS = frozenset({"type", "role", "tools"})
# What of a message item is not extra. A status of "completed" says nothing.
MESSAGE_KEYS = frozenset({"type", "role", "content"})


# https://platform.openai.com/docs/guides/tools: item type -> service, phase, who does the work
HOSTED: dict[str, tuple[str, Literal["call", "result", "both"], Literal["provider", "client"]]] = {
    "web_search_call": ("web_search", "both", "provider"),
    "file_search_call": ("file_search", "both", "provider"),
    "code_interpreter_call": ("code_interpreter", "both", "provider"),
    "image_generation_call": ("image_generation", "both", "provider"),
    "mcp_list_tools": ("mcp", "result", "provider"),
    "mcp_call": ("mcp", "both", "provider"),
    "mcp_approval_request": ("mcp", "call", "provider"),
    "tool_search_call": ("tool_search", "call", "provider"),
    "tool_search_output": ("tool_search", "result", "provider"),
    "computer_call": ("computer", "call", "client"),
    "computer_call_output": ("computer", "result", "client"),
    "local_shell_call": ("local_shell", "call", "client"),
    "local_shell_call_output": ("local_shell", "result", "client"),
    "shell_call": ("shell", "call", "client"),
    "shell_call_output": ("shell", "result", "client"),
    "apply_patch_call": ("apply_patch", "call", "client"),
    "apply_patch_call_output": ("apply_patch", "result", "client"),
}
# Items that are not the model's, and those of the model whose types end like those of results.
NEUTRAL = frozenset(
    {"item_reference", "mcp_approval_response", "configuration_update", "compaction_trigger"}
)
PROVIDED = frozenset({"program_output", "tool_search_output"})


# The usual shapes
PLAIN_MESSAGE = only("role", "content")
TYPED_MESSAGE = only("type", "role", "content")
USUAL_MESSAGE = only("type", "id", "status", "role", "content")
USUAL_TEXT = only("type", "text", "annotations", "logprobs")
USUAL_CALL = only("type", "id", "status", "call_id", "name", "arguments")
USUAL_REASONING = only("type", "id", "summary", "content", "encrypted_content")
ASSISTANT = "assistant"


NOTHING: tuple[Json, ...] = (None, [])
OTHERS = (Hosted, Raw)
NO_ITEMS = (Media, ToolResult)
"""What no item of the model holds."""

# A plain message after one of these begins an item without a mark.
UNMARKED = (NoneType, ToolCall, Reasoning, Hosted)


def read_items(d: ResponsesBase, docs: list[Json], at: str, out: list[Message]) -> None:
    """The items of a request in normal form, appended to ``out``."""
    run: list[Block] = []  # what the model said last
    start = ""
    before = len(out)
    known, begin, stop, _ = d.reads.begin(docs)
    out += known
    places, outputs = pointers(at, docs, "/output")
    for index, doc in enumerate(docs[begin:] if begin else docs, begin):
        if index == stop and not run:
            d.reads.note(index, out[before:])
        where = places[index]
        kind = doc.get("type") if doc.__class__ is dict else None
        message = None
        # The usual shapes, most items by far.
        if kind == "function_call":
            call_id, name, given = doc.get("call_id"), doc.get("name"), doc.get("arguments")
            if given.__class__ is name.__class__ is call_id.__class__ is str and PLAIN_CALL(doc):
                if given and not given.isspace():
                    if not run:
                        start = where
                    run.append(ToolCall(call_id, name, given, at=where))
                    continue
        elif kind == "function_call_output":
            output, call_id = doc.get("output"), doc.get("call_id")
            if output.__class__ is call_id.__class__ is str and PLAIN_RESULT(doc):
                if not output or output[0] != "[" or not output.startswith(MARK):
                    text = Text(output, at=outputs[index])
                    message = Message("tool", (ToolResult(call_id, (text,), at=where),), at=where)
        elif kind == "message" and TYPED_MESSAGE(doc):
            content = doc.get("content")
            if content.__class__ is str and doc.get("role") == "assistant":
                if not run:
                    start = where
                run.append(Text(content, at=f"{where}/content", extras=d.as_item))
                continue
            if content.__class__ is list and doc.get("role") == "user":
                message = read_usual_prompt(content, where)
        if message is None:
            start = read_item(d, doc, where, run, start, out)
            continue
        if run:
            out.append(Message("assistant", tuple(run), at=start))
            run.clear()
        out.append(message)
    if run:
        out.append(Message("assistant", tuple(run), at=start))
    else:
        d.reads.end(docs, out[before:])


def write_items(d: ResponsesBase, messages: Sequence[Message], w: ItemWriting) -> list[Json]:
    out: list[Json]
    before: str | None
    go = Going(d.writes, messages, w, lambda them, log: them)
    start, (out, before) = go.take(w, 0, [], None)
    strings = not d.listed
    for index, message in enumerate(messages[start:] if start else messages, start):
        role, content, extras = message.role, message.content, message.extras
        if index == go.note_at:
            go.note(w, 0, out, before)
        usual = message.name is None and (extras is None or d.is_mute(extras))
        block = content[0] if usual and len(content) == 1 else None
        if role == "assistant" and before == "assistant" and not w.same:
            d.merge_message(message, w.log)
        if strings and role == "tool" and block.__class__ is ToolResult:
            out.append(d.write_result(block, w))  # the usual shape
        elif (
            strings
            and block.__class__ is Text
            and role != "tool"
            and block.cache is None
            and not block.citations
            and (block.extras is None or d.is_mute(block.extras))
        ):
            out.append({"role": role, "content": block.text})  # the usual shape
        elif role == "assistant":
            length = len(out)
            d.write_turn(content, out, w)
            d.lose(extras, message.at, w.log)
            if len(out) == length and not w.same:
                d.omit_message(message, w.log)
        elif role == "tool":
            d.write_results(message, out, w)
        else:
            d.write_message(message, out, w)
        before = role
    go.end(w, 0, out, before)
    return out


def read_plain_items(docs: list[Json], turns: list[Turn]) -> bool:
    """The items of a request, appended to the turns as plain ones; whether they may be plain."""
    text: str | None = None
    run: list[Call] = []  # what the model called last, after the text
    for doc in docs:
        if doc.__class__ is not dict:
            return False
        kind = doc.get("type")
        if kind == "function_call" and PLAIN_CALL(doc):
            call_id, name, given = doc.get("call_id"), doc.get("name"), doc.get("arguments")
            if not (call_id.__class__ is name.__class__ is given.__class__ is str):
                return False
            if not given or given.isspace():
                return False
            run.append((call_id, name, given))
            continue
        if (kind is None or kind == "message") and TYPED_MESSAGE(doc):
            role = doc.get("role")
            words = plain_words(doc.get("content"), OUTPUT if role == "assistant" else INPUT)
            if words is None:
                return False
            if role == "assistant":
                if run or text is not None:
                    return False
                text = words
                continue
            after: Turn = (role, words, None)
        elif kind == "function_call_output" and PLAIN_RESULT(doc):
            output = doc.get("output")
            if output.__class__ is not str:
                return False
            after = ("tool", output, doc.get("call_id"))
        else:
            return False
        if run or text is not None:
            turns.append(("assistant", text, run or None))
            text, run = None, []
        turns.append(after)
    return not run and text is None


def read_plain_reply_items(docs: list[Json]) -> tuple[str | None, str | None, list[Call]] | None:
    """What the model reasoned, said and called, in this order, if each is plain."""
    reasoning = text = None
    calls: list[Call] = []
    for doc in docs:
        kind = doc.get("type") if doc.__class__ is dict else None
        if kind == "function_call" and USUAL_CALL(doc) and doc.get("status") == "completed":
            call_id, name, given = doc.get("call_id"), doc.get("name"), doc.get("arguments")
            if not (call_id.__class__ is name.__class__ is given.__class__ is str):
                return None
            if doc.get("id").__class__ is not str or not given or given.isspace():
                return None
            calls.append((call_id, name, given))
        elif kind == "message" and text is None and not calls:
            if (text := plain_reply_words(doc)) is None:
                return None
        elif kind == "reasoning" and reasoning is None and text is None and not calls:
            if (reasoning := plain_reasoning(doc)) is None:
                return None
        else:
            return None
    return reasoning, text, calls


def plain_reply_words(doc: dict[str, Json]) -> str | None:
    """The text of a message of a response, if it is all that the message says."""
    content = doc.get("content")
    part = content[0] if content.__class__ is list and len(content) == 1 else None
    if not USUAL_MESSAGE(doc) or doc.get("status") != "completed" or doc.get("role") != ASSISTANT:
        return None
    if part.__class__ is not dict or part.get("type") != OUTPUT or not USUAL_TEXT(part):
        return None
    if doc.get("id").__class__ is not str or part.get("annotations") not in NOTHING:
        return None
    text = part.get("text")
    return text if text.__class__ is str and part.get("logprobs") in NOTHING else None


def plain_reasoning(doc: dict[str, Json]) -> str | None:
    """The one text of reasoning: the reasoning itself, or its summary."""
    if not USUAL_REASONING(doc) or doc.get("id").__class__ is not str:
        return None
    signed = doc.get("encrypted_content")
    if signed is not None and signed.__class__ is not str:
        return None
    summary, content = doc.get("summary"), doc.get("content")
    if content in NOTHING:
        texts, kind = summary, "summary_text"
    elif summary in NOTHING:
        texts, kind = content, "reasoning_text"
    else:
        return None
    return plain_words(texts, kind) if texts.__class__ is list else None


def write_plain_reply_items(d: ResponsesBase, reply: Reply, stem: str, log: Ledger) -> list[Json]:
    """The items of a response from elsewhere, with ids as ``ItemWriting.item_id`` makes them."""
    out: list[Json] = []
    if reply.reasoning is not None:
        reasoned = [{"type": "reasoning_text", "text": reply.reasoning}]
        item = {"type": "reasoning", "id": f"rs_{stem}1", "summary": [], "content": reasoned}
        out.append(item)
    if reply.text is not None:
        item = {"type": "message", "id": f"msg_{stem}1", "status": "completed", "role": ASSISTANT}
        item["content"] = [{"type": OUTPUT, "text": reply.text, "annotations": []}]
        out.append(item)
    if reply.calls:
        w = d.writing(log, None, reply=True)
        for number, (call_id, name, given) in enumerate(named(reply.calls, w), 1):
            call = {"type": CALL, "call_id": call_id, "name": name, "arguments": text_of(given)}
            out.append({**call, "status": "completed", "id": f"fc_{stem}{number}"})
    return out


def plain_words(content: Json, kind: str) -> str | None:
    """The words of a message, if they are a string, or a list of one part."""
    if content.__class__ is list and len(content) == 1:
        part = content[0]
        if part.__class__ is not dict or part.get("type") != kind or not PLAIN_TEXT(part):
            return None
        content = part.get("text")
    return content if content.__class__ is str else None


def write_plain_items(turns: list[Turn], w: ItemWriting) -> list[Json]:
    """The items of plain turns."""
    out: list[Json] = []
    for role, text, beside in turns:
        if beside is None:
            out.append({"role": role, "content": text})
        elif role == "tool":
            out.append({"type": CALL_OUTPUT, "call_id": beside, "output": text})
        else:
            if text is not None:
                out.append({"role": role, "content": text})
            for call_id, name, given in named(beside, w):
                call = {"type": CALL, "call_id": call_id, "name": name, "arguments": text_of(given)}
                out.append(call)
    return out


def read_usual_prompt(content: list[Json], at: str) -> Message | None:
    """A message of the user, if its content is one text."""
    part = content[0] if len(content) == 1 else None
    if part.__class__ is not dict or part.get("type") != INPUT or not PLAIN_TEXT(part):
        return None
    text = part.get("text")
    if text.__class__ is not str:
        return None
    return Message("user", (Text(text, at=f"{at}/content/0"),), at=at)


def read_item(
    d: ResponsesBase, doc: Json, at: str, run: list[Block], start: str, out: list[Message]
) -> str:
    """An item of any shape; where the run of the model's items began that now goes on."""
    kind, role = read_kind(d, doc, at)
    side = side_of(doc, kind, role)
    if side == "model":
        if not run:
            start = at
        read_turn(d, doc, kind, at, run)
        return start
    if run:
        out.append(Message("assistant", tuple(run), at=start))
        run.clear()
    if kind == "message":
        read_message(d, doc, side, at, out)
    elif kind in RESULTS:
        out.append(Message("tool", (calls.read_result(d, doc, kind, at),), at=at))
    elif kind == SEARCH_OUTPUT:
        out.append(Message("tool", (calls.read_found(d, doc, at),), at=at))
    else:
        out.append(Message(side, (read_other(d, doc, kind, at),), at=at))
    return start


def write_item(d: ResponsesBase, block: Block, w: ItemWriting) -> Json | None:
    if block.__class__ is ToolCall:
        return d.write_call(block, w)
    if block.__class__ is Reasoning:
        return d.write_reasoning(block, w)
    match block:
        case Hosted() if block.payload.get("type").__class__ is not str:  # nobody could read it
            d.omit(block, w.log)
        case Hosted() | Raw() if d.knows(block.dialect):
            return block.payload
        case _:
            d.omit(block, w.log)
    return None


def read_reply(d: ResponsesBase, docs: list[Json], at: str) -> tuple[Block, ...]:
    """The items of a response: all of them are the model's."""
    run: list[Block] = []
    for index, doc in enumerate(docs):
        where = f"{at}/{index}"
        if doc.__class__ is dict and doc.get("type") == "function_call" and USUAL_CALL(doc):
            call_id, item_id, name = doc.get("call_id"), doc.get("id"), doc.get("name")
            given = doc.get("arguments")
            if given.__class__ is name.__class__ is call_id.__class__ is item_id.__class__ is str:
                if doc.get("status") == "completed" and given and not given.isspace():
                    # the usual shape
                    run.append(ToolCall(call_id, name, given, "function", item_id, at=where))
                    continue
        read_message_at(d, doc, where, run)
    return tuple(run)


def read_message_at(d: ResponsesBase, doc: Json, at: str, run: list[Block]) -> None:
    """One item of a response, appended to what was written before."""
    kind, role = read_kind(d, doc, at)
    if kind in RESULTS or (kind == "message" and role != "assistant"):
        run.append(Raw(d.name, doc, at=at, extras=d.as_item))
    else:
        read_turn(d, doc, kind, at, run, reply=True)


def read_kind(d: ResponsesBase, doc: Json, at: str) -> tuple[str, str | None]:
    """The type of an item, and who speaks if it is a message; messages may omit theirs."""
    if doc.__class__ is not dict:
        expected("an object", doc, at)
    kind, role = doc.get("type"), doc.get("role")
    if kind is None or kind == "message":
        if role.__class__ is str and (role in d.speakers or role == "assistant"):
            return "message", role
        if role is None and kind is None and doc.get("id").__class__ is str:
            return "item_reference", None  # "type" is optional there as well
        if role is None:
            missing("type" if kind is None else "role", at)
        need_str(doc, "role", at)
        raise Malformed(f"unknown role {role!r}; there are: {', '.join(d.speakers)}, assistant", at)
    return need_str(doc, "type", at), None


def side_of(doc: dict[str, Json], kind: str, role: str | None) -> Literal["model"] | Speaker:
    """Whose an item is. An unknown one is the model's, unless it is an output."""
    if kind == "message":
        return "model" if role == "assistant" else role  # type: ignore[return-value]
    if kind == "additional_tools":
        return "developer"
    if kind in PROVIDED:
        return "user" if doc.get("execution") == "client" else "model"
    return "user" if kind in NEUTRAL or kind.endswith("_output") else "model"


def read_turn(
    d: ResponsesBase,
    doc: dict[str, Json],
    kind: str,
    at: str,
    run: list[Block],
    *,
    reply: bool = False,
) -> None:
    """One item of the model, appended to what it said before."""
    match kind:
        case "message":
            d.read_message_item(doc, at, run, reply)
        case "function_call":
            run.append(calls.read_call(d, doc, at))
        case "custom_tool_call":
            run.append(calls.read_custom_call(d, doc, at))
        case "reasoning":
            run.append(d.read_reasoning(doc, at))
        case "tool_search_call" if doc.get("execution") == "client":
            run.append(calls.read_search_call(d, doc, at))
        case _:
            run.append(read_other(d, doc, kind, at))


def is_foreign(d: ResponsesBase, block: Block) -> bool:
    """Whether a block is one that only another dialect knows."""
    return isinstance(block, OTHERS) and not d.knows(block.dialect)


def write_turn(d: ResponsesBase, content: Sequence[Block], out: list[Json], w: ItemWriting) -> None:
    """What the model said, as items; texts that follow each other share one message."""
    written: list[Block] = []
    easy = not (w.same or w.reply or d.listed)
    for block in content:
        if easy and block.__class__ is Text:
            out.append(write_easy(d, block, w))
        elif easy and block.__class__ is ToolCall and block.extras is None and not written:
            out.append(d.write_call(block, w))  # the usual shape
        elif block.__class__ is Text or (not is_alone(block, w) and d.is_part(block, w)):
            if written and d.begins_item(block.extras):
                out.append(write_message_item(d, written, w))
                written = []
            written.append(block)
        elif isinstance(block, NO_ITEMS) or is_foreign(d, block):
            d.omit(block, w.log)  # texts around it still follow each other
        else:
            if written:
                out.append(write_message_item(d, written, w))
                written = []
            if (doc := write_item(d, block, w)) is not None:
                out.append(doc)
    if written:
        out.append(write_message_item(d, written, w))


def is_alone(block: Block, w: ItemWriting) -> bool:
    """Whether a block of a response is an item of its own, as calls and reasoning mostly are."""
    kind = block.__class__
    return w.reply and (kind is Reasoning or (kind is ToolCall and block.extras is None))


def begins_item(d: ResponsesBase, extras: Extras | None) -> bool:
    """Whether a block was the first of a message item."""
    return extras is not None and is_item(extras) and d.is_same(extras.dialect)


def is_part(d: ResponsesBase, block: Block, w: ItemWriting) -> bool:
    """Whether a block of the model's turn stands inside a message item."""
    match block:
        case Text() | Refusal():
            return True
        case ToolCall():
            return begins_item(d, block.extras)
        case Raw():
            return d.knows(block.dialect) and not is_whole(block)
        case Media():
            return w.same
        case _:
            return False


def is_whole(block: Raw) -> bool:
    """Whether it is an item itself: the first part of a message has the fields of that one."""
    extras, payload = block.extras, block.payload
    if extras is None or not is_item(extras):
        return False
    return all(payload.get(key) == value for key, value in extras.fields.items())


def read_other(d: ResponsesBase, doc: dict[str, Json], kind: str, at: str) -> Block:
    """An item that is kept as it is: work of hosted tools, and what the tree cannot name."""
    found = HOSTED.get(kind)
    if found is None and kind.endswith("_call"):
        found = (kind.removesuffix("_call"), "both", "provider")
    if found is None:
        return read_raw(d, doc, kind, at)
    service, phase, executor = found
    if doc.get("execution") == "client":
        executor = "client"
    key = "call_id" if doc.get("call_id").__class__ is str else "id"
    return Hosted(d.name, service, doc, phase, executor, maybe_str(doc, key, at), at=at)


def read_raw(d: ResponsesBase, doc: dict[str, Json], kind: str, at: str) -> Raw:
    """An item that only this API knows; what others can be told of it stands beside it."""
    if kind == "compaction":
        return Raw(d.name, doc, code=kind, at=at, extras=d.as_item)
    if kind == "additional_tools" and doc.get("tools").__class__ is list:
        tools = d.read_tool_list(doc["tools"], f"{at}/tools")
        extras = parts.mark(d, None, d.keep(doc, ADDITION_KEYS))
        return Raw(d.name, doc, tools=tools, at=at, extras=extras)
    return Raw(d.name, doc, at=at, extras=d.as_item)


def read_message_item(
    d: ResponsesBase, doc: dict[str, Json], at: str, run: list[Block], reply: bool
) -> None:
    """A message of the assistant: its parts, of which the first remembers the item."""
    content = doc.get("content")
    if reply and content.__class__ is list and (usual := read_usual_reply(d, doc, at)) is not None:
        run.append(usual)
        return
    where = f"{at}/content"
    if content.__class__ is str:
        after = run[-1] if run else None
        if PLAIN_MESSAGE(doc) and not reply and isinstance(after, UNMARKED):
            run.append(Text(content, at=where))  # the usual form of a history
            return
        blocks: list[Block] = [Text(content, at=where)]
    elif content.__class__ is list and content:
        blocks = parts.read_parts(d, content, where, OUTPUT, calls.CALL_PARTS)
    elif content is None or content == []:
        run.append(Raw(d.name, doc, at=at, extras=d.as_item))  # it says nothing
        return
    else:
        expected("a string or a list", content, where)
    first = blocks[0]
    item = None if PLAIN_MESSAGE(doc) else calls.keep_item(d, doc, MESSAGE_KEYS)
    if first.__class__ is not ToolCall or item is not None:
        extras = parts.mark(d, first.extras, item)
        # Its losses are the item's, so that is where they point.
        blocks[0] = replace(first, at=at if extras.fields else first.at, extras=extras)
    run += blocks


def read_usual_reply(d: ResponsesBase, doc: dict[str, Json], at: str) -> Text | None:
    """A message of a response as the API sends it, if its content is one text without sources."""
    content, made = doc["content"], doc.get("id")
    part = content[0] if len(content) == 1 else None
    if made.__class__ is not str or doc.get("status") != "completed" or not USUAL_MESSAGE(doc):
        return None
    if part.__class__ is not dict or part.get("type") != OUTPUT or not USUAL_TEXT(part):
        return None
    text = part.get("text")
    if text.__class__ is not str:
        return None
    if part.get("annotations") not in NOTHING or part.get("logprobs") not in NOTHING:
        return None
    return Text(text, at=at, extras=Extras(d.name, {"id": made}, inner=(PART,)))


def write_message_item(d: ResponsesBase, blocks: Sequence[Block], w: ItemWriting) -> Json:
    """A message item of the assistant."""
    first = blocks[0]
    extras = first.extras
    if extras is None or not begins_item(d, extras) or not (extras.fields or w.reply):
        return d.write_new_item(blocks, w)
    # The official types require the status of a message that has an id.
    out: dict[str, Json] = {"type": "message", "status": "completed", "role": "assistant"}
    return d.emit(out | {"content": write_spoken(d, blocks, w)}, parts.item_of(first), w.log)


def write_new_item(d: ResponsesBase, blocks: Sequence[Block], w: ItemWriting) -> Json:
    """A message item that no item of a document stands after.

    In a request it has no id: the API checks ids, and takes a message without one. In an
    reply every message has an id.
    """
    if w.reply:
        made = w.item_id("msg")
        w.log.later(calls.note_item_id, d, "message.id", "a message id", blocks[0], made)
        return {
            "type": "message",
            "id": made,
            "status": "completed",
            "role": "assistant",
            "content": write_spoken(d, blocks, w),
        }
    if (text := parts.bare_text(d, blocks, w)) is not None:
        return {"role": "assistant", "content": text}
    content = write_spoken(d, blocks, w)
    return {"type": "message", "role": "assistant", "content": content}


def write_easy(d: ResponsesBase, block: Text, w: ItemWriting) -> Json:
    """A text of the assistant in a request from elsewhere: a message of its own, as a string.

    The other form, a list of parts, demands the ids of real items. The reader joins what
    follows each other, so no boundary is lost.
    """
    if block.extras is not None:
        d.lose(block.extras, block.at, w.log)
    return {"role": "assistant", "content": block.text}


def write_spoken(d: ResponsesBase, blocks: Sequence[Block], w: ItemWriting) -> list[Json]:
    out: list[Json] = []
    for block in blocks:
        if isinstance(block, Text):
            out.append(d.write_text(block, OUTPUT, w))
        elif isinstance(block, ToolCall):
            out.append(d.write_call(block, w))
        elif isinstance(block, Media):
            d.write_media(block, out, w)
            out[-1]["type"] = out[-1]["type"].replace("input_image", "output_image")
        else:
            d.write_part(block, out, w)
    return out


def read_message(
    d: ResponsesBase, doc: dict[str, Json], role: Speaker, at: str, out: list[Message]
) -> None:
    """A message of anyone but the assistant."""
    content, where = doc.get("content"), f"{at}/content"
    blocks: list[Block] = []
    if content.__class__ is str:
        blocks = [Text(content, at=where)]
    elif content.__class__ is list:
        more = d.RESULT_PARTS if role == "user" else NO_READERS
        blocks = parts.read_parts(d, content, where, INPUT, more)
    elif content is not None:
        expected("a string or a list", content, where)
    extras = None if PLAIN_MESSAGE(doc) else calls.keep_item(d, doc, MESSAGE_KEYS)
    if role == "user" and any(b.__class__ is ToolResult for b in blocks):
        split_results(blocks, at, extras, out)
    else:
        if role == "system":
            extras = parts.mark(d, None, extras)  # else it would be the instructions
        out.append(Message(role, tuple(blocks), at=at, extras=extras))


def write_message(d: ResponsesBase, message: Message, out: list[Json], w: ItemWriting) -> None:
    """A message of anyone but the assistant."""
    content = message.content
    if len(content) == 1 and write_whole(d, content[0], out, w):
        return d.lose(message.extras, message.at, w.log)
    written: Json = None if d.listed else parts.bare_text(d, content, w)
    if written is None:
        written = parts.write_parts(d, content, w)
        if not written and not w.same:
            d.lose(message.extras, message.at, w.log)
            return d.omit_message(message, w.log)
    out.append(d.emit({"role": message.role, "content": written}, message, w.log))
    return None


def write_whole(d: ResponsesBase, block: Block, out: list[Json], w: ItemWriting) -> bool:
    """An item that is no message, and stands as one in the tree."""
    whole = isinstance(block, Hosted) or (isinstance(block, Raw) and is_whole(block))
    if whole and (doc := write_item(d, block, w)) is not None:
        out.append(doc)
    return whole


def write_results(d: ResponsesBase, message: Message, out: list[Json], w: ItemWriting) -> None:
    d.lose(message.extras, message.at, w.log)
    found: list[Json] = []
    for block in message.content:
        if isinstance(block, ToolResult):
            found.append(d.write_result(block, w))
        else:
            d.omit(block, w.log)
    extras = message.extras
    if extras is not None and extras.fields and d.is_same(extras.dialect):
        # A message of the user in which results stood has fields, and its results have none.
        found = [d.emit({"role": "user", "content": found}, message, w.log)]
    out += found
