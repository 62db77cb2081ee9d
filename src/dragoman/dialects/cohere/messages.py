"""Messages of Cohere's, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeGuard

from msgspec.structs import replace

from ...core.reading import as_dict, maybe_list, maybe_str, need_dict, need_list, need_str, only
from ...core.turns import HOISTED, more_results, note_empty_result, results_in_place, unhoist
from ...core.writing import is_blank, lose_labels
from ...errors import Malformed
from ...ledger import Ledger
from ...model import (
    Block,
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
from ...tools.tool_errors import ERROR, is_marked, mark_error, mark_plain, unmark_error
from . import citations, documents, parts
from .documents import CohereWriting, is_document, last_question, respell
from .parts import is_image

if TYPE_CHECKING:
    from . import Cohere


PLAIN_MESSAGE = only("role", "content")
ROLES: dict[str, Role] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
SAID = ("role", "content", "tool_plan", "tool_calls", "citations")
SILENCE = [{"type": "text", "text": ""}]


def read_messages(d: Cohere, doc: Json) -> History:
    """A history is a bare list; an object that holds one is tolerated."""
    if doc.__class__ is list:
        return History(tuple(read_history(d, doc, "")), dialect=d.name)
    doc = as_dict(doc, "")
    messages = read_history(d, need_list(doc, "messages", ""), "/messages")
    extras = d.keep(doc, ("messages",), {"object": True})
    return History(tuple(messages), dialect=d.name, extras=extras)


def write_messages(d: Cohere, tree: History, log: Ledger) -> Json:
    w = CohereWriting(log, d.is_home(tree.dialect))
    messages = write_history(d, tree.messages, w)
    if d.spelling(tree).get("object"):
        return d.emit({"messages": messages}, tree, log)
    d.lose(tree.extras, tree.at, log)
    return messages


def read_history(d: Cohere, docs: list[Json], at: str) -> list[Message]:
    out: list[Message] = []
    for index, doc in enumerate(docs):
        message = read_message(d, as_dict(doc, f"{at}/{index}"), f"{at}/{index}")
        if message.role == "user" and out and out[-1].role == "tool":
            alone = PLAIN_MESSAGE(doc) and not more_results(docs, index)
            if alone and unhoist(message, out, partial(holds_all, d)):
                continue
        out.append(message)
    return out


def write_history(d: Cohere, messages: Sequence[Message], w: CohereWriting) -> list[Json]:
    if not w.home:
        messages = results_in_place(messages, w.log, apart=True)
    out: list[Json] = []
    asked = last_question(messages)
    for index, message in enumerate(messages):
        if message.role == "tool":
            out += write_results(d, message, w)
            continue
        out += w.lowered()
        if message.role == "assistant":
            out.append(write_assistant(d, message, w))
        else:
            out.append(write_turn(d, message, index == asked, w))
    out += w.lowered()
    return [doc for doc in out if doc is not None]


def write_turn(d: Cohere, message: Message, last: bool, w: CohereWriting) -> Json | None:
    """What a user or the system says."""
    role = message.role
    user = role == "user"
    content = lift_documents(d, message, last, w) if user else message.content
    parts: list[Json] = []
    for block in content:
        said = write_part(d, block, role, w)
        parts += said if w.home else without_empty(d, said, block, w)
    if not parts and not w.home:
        d.omit_message(message, w.log)
        d.lose(message.extras, message.at, w.log)
        return None
    doc: dict[str, Json] = {"role": role}
    if parts:
        doc["content"] = as_content(d, parts, message, False)
    return d.emit(doc, message, w.log)


def lift_documents(d: Cohere, message: Message, last: bool, w: CohereWriting) -> Sequence[Block]:
    """Documents stand beside the conversation, if there is something left to be said."""
    rest = [block for block in message.content if not is_beside(d, block, w)]
    if not w.home and not any(map(is_sent, rest)):
        return message.content
    said = False
    for block in message.content:
        if not is_document(block) or not is_beside(d, block, w):
            said = True
            continue
        if w.home:
            pass
        elif not last:
            why = f"{d.name} has documents beside the messages only"
            w.log.moved("message.position", block.at, why)
        elif said:
            why = f"documents come before the text of the last turn in {d.name}"
            w.log.approximated("content.order", block.at, why)
        w.documents.append(documents.write_beside(d, block, w))
    return rest


def is_beside(d: Cohere, block: Block, w: CohereWriting) -> bool:
    """Whether a block is a document that may stand beside the conversation.

    "document at index 0 cannot be empty", says the API of one that holds nothing.
    """
    if not w.beside or not is_document(block) or "place" in d.spelling(block):
        return False
    if w.home:
        return True
    inner = block.content if isinstance(block, Passage) else block.source.blocks
    words = "".join(part.text for part in inner if isinstance(part, Text))
    return bool(words) or (isinstance(block, Media) and bool(block.source.value))


def write_part(d: Cohere, block: Block, role: str, w: CohereWriting) -> list[Json]:
    if isinstance(block, Raw) and d.is_home(block.dialect):
        return [block.payload]
    if isinstance(block, Text) and not block.citations:
        return [parts.write_text(d, block, w)]
    if is_image(block) and (w.home or role == "user"):
        assert isinstance(block, Media)
        return [parts.write_image(d, block, w)]
    if w.home and is_document(block):
        return [documents.write_part_document(d, block, w)]
    return [{"type": "text", "text": text} for text in parts.texts_in(d, block, w)]


def without_empty(d: Cohere, parts: list[Json], block: Block, w: CohereWriting) -> list[Json]:
    """ "message must not be empty in a turn", says the API."""
    said = [part for part in parts if part.get("text") != ""]
    if len(said) != len(parts):
        d.omit_text(block.at, w.log)
    return said


def as_content(d: Cohere, parts: list[Json], message: Message, answer: bool) -> Json:
    """One text is a string, if nothing speaks against it; in an answer it is a list."""
    spelled = d.spelling(message).get("content", "list" if answer else "string")
    return parts[0]["text"] if spelled == "string" and is_single(parts) else parts


def read_message(d: Cohere, doc: dict[str, Json], at: str) -> Message:
    said = need_str(doc, "role", at)
    role = ROLES.get(said)
    if role is None:
        raise Malformed(f"unknown role {said!r}; there are: {', '.join(ROLES)}", at)
    if role == "tool":
        return Message("tool", (read_result(d, doc, at),), at=at)
    if role == "assistant":
        return read_assistant(d, doc, at)
    content = doc.get("content")
    blocks = parts.read_content(d, content, role, f"{at}/content")
    spelling = {"content": "list"} if is_listed(content, blocks) else None
    extras = d.keep(doc, ("role", "content"), spelling)
    return Message(role, tuple(blocks), at=at, extras=extras)


def read_assistant(d: Cohere, doc: dict[str, Json], at: str, answer: bool = False) -> Message:
    """Reasoning and texts, what is planned, and calls, in this order."""
    spelling: dict[str, Json] = {}
    calls = [
        read_call(d, as_dict(call, f"{at}/tool_calls/{n}"), f"{at}/tool_calls/{n}")
        for n, call in enumerate(maybe_list(doc, "tool_calls", at) or ())
    ]
    content = doc.get("content")
    if calls and content == SILENCE and not doc.get("citations"):
        spelling["silence"] = content
        content = None
    elif calls and content == "":
        content = None
    blocks = parts.read_content(d, content, "assistant", f"{at}/content")
    if answer and content.__class__ is str:
        spelling["content"] = "string"
    elif not answer and is_listed(content, blocks):
        spelling["content"] = "list"
    planned = maybe_str(doc, "tool_plan", at)
    plan = Text(planned, at=f"{at}/tool_plan") if planned else None
    cited = maybe_list(doc, "citations", at) or ()
    blocks, plan, strays, order = citations.read_citations(
        d, cited, blocks, plan, f"{at}/citations"
    )
    if order:
        spelling["order"] = order
    if plan is not None:
        spelling["plan"] = True
        blocks.append(plan)
    extras = d.keep(doc, SAID, spelling or None)
    if strays:
        extras = d.respell(extras)
        extras = replace(extras, fields=extras.fields | {"citations": strays})
    return Message("assistant", (*blocks, *calls), at=at, extras=extras)


def write_assistant(d: Cohere, message: Message, w: CohereWriting) -> Json | None:
    blocks, calls = sort_blocks(message.content, w)
    plan = plan_in(d, message, blocks, calls, w)
    parts: list[Json] = []
    cited: list[Json] = []
    worded = False  # a text was said
    for block in blocks:
        if block is plan:
            continue
        said = write_said(d, block, w)
        if said and isinstance(block, Text):
            cited += citations.write_citations(d, block, len(parts) if worded else None, w)
        worded = worded or any(part.get("type") == "text" for part in said)
        parts += said
    doc: dict[str, Json] = {"role": "assistant"}
    if parts or (w.answer and not w.home and not message.content):
        doc["content"] = as_content(d, parts, message, w.answer)
    if plan is not None:
        doc["tool_plan"] = plan.text
        cited += citations.write_citations(d, plan, -1, w)
        d.lose(plan.extras, plan.at, w.log)
    if calls:
        doc["tool_calls"] = [write_call(d, call, w) for call in calls]
    if len(doc) == 1 and not w.home and not w.answer:
        d.omit_message(message, w.log)
        d.lose(message.extras, message.at, w.log)
        return None
    return finish_assistant(d, doc, cited, message, w)


def sort_blocks(content: Sequence[Block], w: CohereWriting) -> tuple[list[Block], list[ToolCall]]:
    """Reasoning and texts, then calls."""
    calls = [block for block in content if isinstance(block, ToolCall)]
    return [block for block in content if not isinstance(block, ToolCall)], calls


def plan_in(
    d: Cohere, message: Message, blocks: list[Block], calls: list[ToolCall], w: CohereWriting
) -> Text | None:
    """What the model says before its calls is its plan, if it is one text and comes last."""
    last = blocks[-1] if blocks else None
    if not isinstance(last, Text):
        return None
    if w.home:
        return last if "plan" in d.spelling(message) else None
    alone = not any(isinstance(block, Text) for block in blocks[:-1])
    return last if calls and alone and last.text else None


def write_said(d: Cohere, block: Block, w: CohereWriting) -> list[Json]:
    """A part of the content, or none."""
    if isinstance(block, Text):
        return [parts.write_text(d, block, w)]
    if isinstance(block, Reasoning):
        return [parts.write_reasoning(d, block, w)]
    return write_part(d, block, "assistant", w)


def finish_assistant(
    d: Cohere, doc: dict[str, Json], cited: list[Json], message: Message, w: CohereWriting
) -> Json:
    spelling = d.spelling(message)
    if "silence" in spelling:
        doc.setdefault("content", spelling["silence"])
    doc = d.emit(doc, message, w.log)
    cited = [*(doc.get("citations") or ()), *cited]
    if len(order := spelling.get("order", ())) == len(cited):
        cited = [cited[order.index(number)] for number in sorted(order)]
    if cited:
        doc["citations"] = cited
    return doc


def read_call(d: Cohere, doc: dict[str, Json], at: str) -> ToolCall:
    function, where = need_dict(doc, "function", at), f"{at}/function"
    spelling: dict[str, Json] = {}
    if doc.get("type") != "function":
        spelling["type"] = [doc["type"]] if "type" in doc else []
    arguments = maybe_str(function, "arguments", where)
    if arguments is None:
        spelling["arguments"] = None
    return ToolCall(
        maybe_str(doc, "id", at),
        need_str(function, "name", where),
        arguments or "",
        at=at,
        extras=d.keep(
            doc, ("id", "type"), spelling or None, partly={"function": ("name", "arguments")}
        ),
    )


def write_call(d: Cohere, call: ToolCall, w: CohereWriting) -> Json:
    call = freeform.as_function(call, w.home)
    spelling = d.spelling(call)
    out: dict[str, Json] = {}
    if call.id is not None or not w.home:
        out["id"] = w.call_once(call)
    respell(out, "type", spelling.get("type", ["function"]))
    function: dict[str, Json] = {"name": w.tool_name(call.name, call.at)}
    function["arguments"] = arguments_of(call, w)
    if "arguments" in spelling:
        del function["arguments"]
    out["function"] = function
    return d.emit(out, call, w.log)


def arguments_of(call: ToolCall, w: CohereWriting) -> str:
    if is_blank(call.arguments) and not w.home:
        return "{}"
    return call.arguments


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
    spelling: dict[str, Json] = {}
    if is_listed(content, blocks):
        spelling["content"] = "list"
    if any(map(is_image, blocks)):
        spelling["images"] = True
    failed = None
    if blocks and is_said(first := blocks[0]) and is_marked(first.text) and not is_kept(first):
        failed, text = unmark_error(first.text)
        blocks[:1] = [] if text is None else [replace(first, text=text)]
        if not blocks and content.__class__ is list:
            spelling["content"] = "list"
        if text is None and blocks and is_said(blocks[0]):
            spelling["mark"] = "alone"
    return ToolResult(
        maybe_str(doc, "tool_call_id", at),
        tuple(blocks),
        failed,
        at=at,
        extras=d.keep(doc, ("role", "tool_call_id", "content"), spelling or None),
    )


def write_result(d: Cohere, result: ToolResult, w: CohereWriting) -> Json:
    doc: dict[str, Json] = {"role": "tool"}
    if result.call_id is not None or not w.home:
        given = w.result_id(result)
        doc["tool_call_id"] = w.once(given, result)
    content = list(result.content)
    if not holds_all(d, result):
        kept = hoist(d, content, doc.get("tool_call_id"), w)
        if not w.home and len(kept) < len(content):
            note_empty_result(kept, result.is_error, w.log)
        content = kept
    content = marked(d, result, content, w)
    parts = [part for block in content for part in write_piece(d, block, w)]
    if parts and not (w.home or result.is_error or is_said(content[0])):
        mark_first(parts[0], result, w)
    if is_single(parts) and d.spelling(result).get("content") != "list":
        doc["content"] = parts[0]["text"]
    elif parts:
        doc["content"] = parts
    elif not w.home:
        doc["content"] = ""
    return d.emit(doc, result, w.log)


def marked(d: Cohere, result: ToolResult, content: list[Block], w: CohereWriting) -> list[Block]:
    """What a result holds, with a mark where it failed, or seems to have failed."""
    first = content[0] if content else None
    words = first if first is not None and is_said(first) else None
    if w.home and words is not None and is_kept(words):
        return content  # it was no mark when it was read
    if result.is_error:
        w.moved(
            "tool_result.error",
            result.at,
            f"{d.name} has no error flag; the text begins with '[tool error]'",
        )
        if d.spelling(result).get("mark") == "alone":
            words = None
        mark = mark_error(None if words is None else words.text)
        if words is None:
            return [Text(mark, at=result.at), *content]
        content[0] = replace(words, text=mark)
    elif words is not None and is_marked(words.text):
        w.moved(
            "tool_result.error",
            result.at,
            "'[tool output]' is written before a text that looks like an error",
        )
        content[0] = replace(words, text=mark_plain(words.text))
    return content


def mark_first(part: dict[str, Json], result: ToolResult, w: CohereWriting) -> None:
    """A text that comes first because what stood before it is not written here."""
    if part.get("type") == "text" and is_marked(part["text"]):
        w.moved(
            "tool_result.error",
            result.at,
            "'[tool output]' is written before a text that looks like an error",
        )
        part["text"] = mark_plain(part["text"])


def holds_all(d: Cohere, result: ToolResult) -> bool:
    """Whether a result holds its images itself, against the official rules."""
    return "images" in d.spelling(result)


def hoist(d: Cohere, content: list[Block], call_id: Json, w: CohereWriting) -> list[Block]:
    """What stays in a result; its images go to a question after the run of results."""
    images = [block for block in content if is_image(block)]
    if not images:
        return content
    w.hoisted.append({"type": "text", "text": HOISTED.format(id=call_id)})
    for block in content:
        if isinstance(block, Media) and is_image(block):
            w.hoisted.append(parts.write_image(d, block, w))
            why = (
                f"{d.name} allows only texts and documents in a tool result; written in a user turn"
            )
            w.moved("tool_result.content", block.at, why)
    return [block for block in content if not is_image(block)]


def write_piece(d: Cohere, block: Block, w: CohereWriting) -> list[Json]:
    """A part of a result."""
    if isinstance(block, Raw) and d.is_home(block.dialect):
        return [block.payload]
    if not w.home and is_document(block) and isinstance(block, Media) and not block.title:
        return [write_result_text(d, block, w)]
    if is_document(block) or "place" in d.spelling(block):
        return [documents.write_part_document(d, block, w)]
    if isinstance(block, Text):
        return [parts.write_text(d, block, w)]
    return write_part(d, block, "tool", w)


def write_result_text(d: Cohere, block: Media, w: CohereWriting) -> Json:
    """A document that has nothing but its text is what the tool said."""
    w.log.approximated(
        "media", block.at, f"{d.name} writes a document without a title as text in a result"
    )
    lose_labels(block, "a text has", w.log)
    out = {
        "type": "document",
        "document": {"data": {"text": "\n\n".join(documents.texts_of(d, block, w))}},
    }
    return d.emit(out, block, w.log)


def is_sent(block: Block) -> bool:
    """Whether anything of a block is left in a question; else its documents have none."""
    if isinstance(block, Media):
        return block.kind == "image" and block.source.kind in ("url", "base64")
    return not isinstance(block, Text) or bool(block.text)


def is_said(block: Block) -> TypeGuard[Text]:
    """A text, and not the data of a document."""
    if not isinstance(block, Text):
        return False
    extras = block.extras
    return extras is None or extras.dialect != "cohere" or "place" not in extras.spelling


def is_kept(text: Text) -> bool:
    """Whether a text is the mark of an error with keys of its own, which make it none."""
    return text.text == ERROR and text.extras is not None and bool(text.extras.fields)


def is_single(parts: list[Json]) -> bool:
    """One text with nothing to it."""
    return len(parts) == 1 and parts[0].keys() == {"type", "text"}


def is_listed(content: Json, blocks: list[Block]) -> bool:
    """Whether one plain text was spelled as a list."""
    if content.__class__ is not list or len(blocks) != 1:
        return False
    block = blocks[0]
    return isinstance(block, Text) and is_said(block) and block.extras is None
