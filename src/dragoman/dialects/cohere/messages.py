"""Messages of Cohere's, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.reading import as_dict, maybe_list, maybe_str, need_dict, need_list, need_str, only
from ...core.resuming import Going
from ...core.turns import HOISTED, more_results, note_empty_result, results_in_place, unhoist
from ...core.writing import is_blank, lose_labels
from ...errors import Malformed
from ...ledger import Ledger
from ...model import (
    Block,
    Extras,
    History,
    Json,
    Media,
    Message,
    Passage,
    Raw,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
)
from ...tools import freeform
from ...tools.tool_errors import ERROR, is_marked, unmark_error
from . import citations, documents, parts
from .documents import CohereWriting, is_document, last_question
from .parts import is_image
from .tools import rest

if TYPE_CHECKING:
    from . import Cohere


PLAIN_MESSAGE = only("role", "content")
ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")
SAID = frozenset({"role", "content", "tool_plan", "tool_calls", "citations"})
SILENCE = [{"type": "text", "text": ""}]


def read_messages(d: Cohere, doc: Json) -> History:
    """A history is a bare list; an object that holds one is tolerated."""
    if doc.__class__ is list:
        return History(tuple(read_history(d, doc, "")), dialect=d.name)
    doc = as_dict(doc, "")
    messages = read_history(d, need_list(doc, "messages", ""), "/messages")
    extras = d.keep(doc, ("messages",)) or Extras(d.name)  # which tells that it was an object
    return History(tuple(messages), dialect=d.name, extras=extras)


def write_messages(d: Cohere, tree: History, log: Ledger) -> Json:
    w = CohereWriting(log, d.is_same(tree.dialect))
    messages = write_history(d, tree.messages, w)
    if tree.extras is not None and d.is_same(tree.extras.dialect):
        return d.emit({"messages": messages}, tree, log)
    d.lose(tree.extras, tree.at, log)
    return messages


def read_history(d: Cohere, docs: list[Json], at: str) -> list[Message]:
    out: list[Message] = []
    for index, doc in enumerate(docs):
        message = read_message(d, as_dict(doc, f"{at}/{index}"), f"{at}/{index}")
        if message.role == "user" and out and out[-1].role == "tool":
            alone = PLAIN_MESSAGE(doc) and not more_results(docs, index)
            if alone and unhoist(message, out, has_images):
                continue
        out.append(message)
    return out


def write_history(d: Cohere, messages: Sequence[Message], w: CohereWriting) -> list[Json]:
    out: list[Json]
    go = Going(d.writes, messages, w, partial(results_in_place, apart=True))
    messages = go.messages
    start, (out,) = go.take(w, 0, [])
    asked = last_question(messages)
    for index, message in enumerate(messages[start:] if start else messages, start):
        if index == go.note_at and not (w.hoisted or w.documents):  # these go with the last turn
            go.note(w, 0, out)
        if message.role == "tool":
            out += write_results(d, message, w)
            continue
        out += w.lowered()
        if message.role == "assistant":
            doc = write_assistant(d, message, w)
        else:
            doc = write_turn(d, message, index == asked, w)
        if doc is not None:
            out.append(doc)
    if not (w.hoisted or w.documents):
        go.end(w, 0, out)
    return out + more if (more := w.lowered()) else out


def write_turn(d: Cohere, message: Message, last: bool, w: CohereWriting) -> Json | None:
    """What a user or the system says."""
    role = message.role
    content = lift_documents(d, message, last, w) if role == "user" else message.content
    parts: list[Json] = []
    for block in content:
        written = write_part(d, block, role, w)
        if not w.same and any(part.get("text") == "" for part in written):
            # "message must not be empty in a turn"
            d.omit_text(block.at, w.log)
            written = [part for part in written if part.get("text") != ""]
        parts += written
    if not parts and not w.same:
        d.omit_message(message, w.log)
        d.lose(message.extras, message.at, w.log)
        return None
    doc: dict[str, Json] = {"role": role}
    if parts:
        doc["content"] = as_content(parts)
    return d.emit(doc, message, w.log)


def lift_documents(d: Cohere, message: Message, last: bool, w: CohereWriting) -> Sequence[Block]:
    """Documents stand beside the conversation, if there is something left to be written."""
    content = message.content
    if w.same:  # others are parts of their messages, which is tolerated
        for block in content if last and w.beside else ():
            if not is_document(block):
                break
            w.documents.append(documents.write_beside(d, block, w))
        return content[len(w.documents) :] if last else content
    rest = [block for block in content if not is_beside(block, w)]
    if not any(map(is_sent, rest)):
        return content
    written = False
    for block in content:
        if not is_document(block) or not is_beside(block, w):
            written = True
            continue
        if not last:
            why = f"{d.name} has documents beside the messages only"
            w.log.moved("message.position", block.at, why)
        elif written:
            why = f"documents come before the text of the last turn in {d.name}"
            w.log.approximated("content.order", block.at, why)
        w.documents.append(documents.write_beside(d, block, w))
    return rest


def is_beside(block: Block, w: CohereWriting) -> bool:
    """Whether a block is a document that may stand beside the conversation.

    "document at index 0 cannot be empty", says the API of one that holds nothing.
    """
    if not w.beside or not is_document(block):
        return False
    inner = block.content if isinstance(block, Passage) else block.source.blocks
    words = "".join(part.text for part in inner if isinstance(part, Text))
    return bool(words) or (isinstance(block, Media) and bool(block.source.value))


def write_part(d: Cohere, block: Block, role: str, w: CohereWriting) -> list[Json]:
    if isinstance(block, Raw) and d.is_same(block.dialect):
        return [block.payload]
    if isinstance(block, Text):
        return [parts.write_text(d, block, w)]
    if isinstance(block, Reasoning) and role == "assistant":
        return [parts.write_reasoning(d, block, w)]
    if isinstance(block, Media) and is_image(block) and (w.same or role == "user"):
        return [parts.write_image(d, block, w)]
    if w.same and is_document(block):
        return [documents.write_part_document(d, block, w)]
    return [{"type": "text", "text": text} for text in parts.texts_in(d, block, w)]


def as_content(parts: list[Json]) -> Json:
    """One text is a string."""
    return parts[0]["text"] if is_single(parts) else parts


def read_message(d: Cohere, doc: dict[str, Json], at: str) -> Message:
    value = need_str(doc, "role", at)
    role = next((role for role in ROLES if role == value), None)
    if role is None:
        raise Malformed(f"unknown role {value!r}; there are: {', '.join(ROLES)}", at)
    if role == "tool":
        return Message("tool", (read_result(d, doc, at),), at=at)
    if role == "assistant":
        return read_assistant(d, doc, at)
    blocks = parts.read_content(d, doc.get("content"), role, f"{at}/content")
    return Message(role, tuple(blocks), at=at, extras=d.keep(doc, ("role", "content")))


def read_assistant(d: Cohere, doc: dict[str, Json], at: str) -> Message:
    """Reasoning and texts, what is planned, and calls, in this order."""
    calls = [
        read_call(d, as_dict(call, f"{at}/tool_calls/{n}"), f"{at}/tool_calls/{n}")
        for n, call in enumerate(maybe_list(doc, "tool_calls", at) or ())
    ]
    content, cited = doc.get("content"), maybe_list(doc, "citations", at) or ()
    if calls and (content == "" or (content == SILENCE and not cited)):
        content = None
    blocks = parts.read_content(d, content, "assistant", f"{at}/content")
    plan = maybe_str(doc, "tool_plan", at)
    if plan:
        blocks.append(Text(plan, at=f"{at}/tool_plan"))
    strays = citations.read_citations(d, cited, blocks, bool(plan), f"{at}/citations")
    taken = SAID if doc.get("role") == "assistant" else SAID - {"role"}
    if strays:
        doc, taken = doc | {"citations": strays}, taken - {"citations"}
    return Message("assistant", (*blocks, *calls), at=at, extras=d.keep(doc, taken))


def write_assistant(d: Cohere, message: Message, w: CohereWriting) -> Json | None:
    calls = [block for block in message.content if isinstance(block, ToolCall)]
    blocks = [block for block in message.content if not isinstance(block, ToolCall)]
    plan = plan_in(d, blocks, calls)
    parts: list[Json] = []
    cited: list[Json] = []
    worded = False  # a text was written
    for block in blocks:
        if block is plan:
            continue
        written = write_part(d, block, "assistant", w)
        if isinstance(block, Text):
            cited += citations.write_citations(d, block, len(parts) if worded else None, w)
        worded = worded or any(part.get("type") == "text" for part in written)
        parts += written
    doc: dict[str, Json] = {"role": "assistant"}
    if parts or (w.reply and not w.same and not message.content):
        doc["content"] = parts if w.reply else as_content(parts)
    if plan is not None:
        doc["tool_plan"] = plan.text
        cited += citations.write_citations(d, plan, -1, w)
        d.lose(plan.extras, plan.at, w.log)
    if calls:
        doc["tool_calls"] = [write_call(d, call, w) for call in calls]
    if len(doc) == 1 and not w.same and not w.reply:
        d.omit_message(message, w.log)
        d.lose(message.extras, message.at, w.log)
        return None
    doc = d.emit(doc, message, w.log)
    if cited:
        doc["citations"] = [*(doc.get("citations") or ()), *cited]
    return doc


def plan_in(d: Cohere, blocks: Sequence[Block], calls: Sequence[ToolCall]) -> Text | None:
    """What the model says before its calls is its plan, if it is one text and comes last.

    A plan is a string: a part with keys of its own stays a part.
    """
    last = blocks[-1] if blocks and calls else None
    if not isinstance(last, Text) or not last.text:
        return None
    if last.extras is not None and d.is_same(last.extras.dialect):
        return None
    return None if any(isinstance(block, Text) for block in blocks[:-1]) else last


def read_call(d: Cohere, doc: dict[str, Json], at: str) -> ToolCall:
    function, where = need_dict(doc, "function", at), f"{at}/function"
    return ToolCall(
        maybe_str(doc, "id", at),
        need_str(function, "name", where),
        maybe_str(function, "arguments", where) or "",
        at=at,
        extras=rest(d, doc, ("name", "arguments")),
    )


def write_call(d: Cohere, call: ToolCall, w: CohereWriting) -> Json:
    call = freeform.as_function(call)
    out: dict[str, Json] = {}
    if call.id is not None or not w.same:
        out["id"] = w.call_once(call)
    blank = is_blank(call.arguments) and not w.same
    out["type"] = "function"
    out["function"] = {
        "name": w.tool_name(call.name, call.at),
        "arguments": "{}" if blank else call.arguments,
    }
    return d.emit(out, call, w.log)


def write_results(d: Cohere, message: Message, w: CohereWriting) -> list[Json]:
    d.lose(message.extras, message.at, w.log)
    out: list[Json] = []
    for block in message.content:
        if not isinstance(block, ToolResult):
            raise Malformed("only tool results are allowed in a tool message", block.at)
        out.append(write_result(d, block, w))
    return out


def read_result(d: Cohere, doc: dict[str, Json], at: str) -> ToolResult:
    content = doc.get("content")
    blocks = parts.read_content(d, content, "tool", f"{at}/content")
    failed, first = None, blocks[0] if blocks else None
    part = (
        content[0] if content.__class__ is list and content else {"type": "text", "text": content}
    )
    if isinstance(first, Text) and is_mark(part):
        failed, text = unmark_error(first.text)
        blocks[:1] = [] if text is None else [replace(first, text=text)]
    return ToolResult(
        maybe_str(doc, "tool_call_id", at),
        tuple(blocks),
        failed,
        at=at,
        extras=d.keep(doc, ("role", "tool_call_id", "content")),
    )


def write_result(d: Cohere, result: ToolResult, w: CohereWriting) -> Json:
    doc: dict[str, Json] = {"role": "tool"}
    if result.call_id is not None or not w.same:
        given = w.result_id(result)
        doc["tool_call_id"] = w.once(given, result)
    content = hoist(d, list(result.content), doc.get("tool_call_id"), w)
    if not w.same and len(content) < len(result.content):
        note_empty_result(content, w.log)
    parts = [part for block in content for part in write_piece(d, block, w)]
    if parts:
        doc["content"] = as_content(parts)
    elif not w.same:
        doc["content"] = ""
    return d.emit(doc, result, w.log)


def is_mark(part: Json) -> bool:
    """Whether a part begins with the mark of an error; keys of its own make it none."""
    if part.get("type") != "text" or not is_marked(part["text"]):
        return False
    return part["text"] != ERROR or is_single([part])


def has_images(result: ToolResult) -> bool:
    """Whether a result holds its images itself, against the official rules."""
    return any(map(is_image, result.content))


def hoist(d: Cohere, content: list[Block], call_id: Json, w: CohereWriting) -> list[Block]:
    """What stays in a result; its images go to a question after the run of results."""
    images = [block for block in content if isinstance(block, Media) and is_image(block)]
    if not images or call_id is None:
        return content
    w.hoisted.append({"type": "text", "text": HOISTED.format(id=call_id)})
    why = f"{d.name} allows only texts and documents in a tool result; written in a user turn"
    for block in images:
        w.hoisted.append(parts.write_image(d, block, w))
        w.moved("tool_result.content", block.at, why)
    return [block for block in content if block not in images]


def write_piece(d: Cohere, block: Block, w: CohereWriting) -> list[Json]:
    """A part of a result."""
    if not is_document(block):
        return write_part(d, block, "tool", w)
    if not w.same and isinstance(block, Media) and not block.title:
        return [write_result_text(d, block, w)]
    return [documents.write_part_document(d, block, w)]


def write_result_text(d: Cohere, block: Media, w: CohereWriting) -> Json:
    """A document that has nothing but its text is what the tool said."""
    w.log.approximated(
        "media", block.at, f"{d.name} writes a document without a title as text in a result"
    )
    lose_labels(block, "a text has", w.log)
    data = {"text": "\n\n".join(documents.texts_of(d, block, w))}
    return d.emit({"type": "document", "document": {"data": data}}, block, w.log)


def is_sent(block: Block) -> bool:
    """Whether anything of a block is left in a question; else its documents have none."""
    if isinstance(block, Media):
        return block.kind == "image" and block.source.kind in ("url", "base64")
    return not isinstance(block, Text) or bool(block.text)


def is_single(parts: list[Json]) -> bool:
    """One text with nothing to it."""
    return len(parts) == 1 and parts[0].keys() == {"type", "text"}
