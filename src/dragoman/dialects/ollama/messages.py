"""Messages and tools of Ollama, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ...core.media import sniff
from ...core.reading import (
    as_dict,
    as_str,
    compact,
    expected,
    maybe_list,
    maybe_str,
    need_dict,
    need_str,
    only,
)
from ...core.resuming import Going, write_once
from ...core.turns import HOISTED, more_results, unhoist
from ...core.writing import Writing, is_blank, joined, object_or_text, parameters
from ...errors import Malformed
from ...ledger import Ledger
from ...model import (
    Block,
    History,
    Json,
    Media,
    Message,
    Raw,
    Reasoning,
    Role,
    Source,
    Text,
    Tool,
    Toolbox,
    ToolCall,
    ToolResult,
)
from ...tools import freeform
from ...tools.tool_errors import unmark_error
from .. import _functions

if TYPE_CHECKING:
    from . import Ollama


ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "developer",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
# https://ollama.com/library/granite3.2: what it says ("thinking") is a switch of that model.
CONTROL = "control"
HOISTED_KEYS = only("role", "content", "images")
SAID = ("role", "content", "images", "thinking", "tool_calls")
ANSWERED = ("role", "content", "images", "tool_name", "tool_call_id")
ANYTHING = (r"[\s\S]", 10_000)


class OllamaWriting(Writing):
    """One conversion into Ollama's dialect: it knows which call has which name."""

    counters = ("known",)

    def __init__(self, log: Ledger, same: bool, reply: bool = False) -> None:
        super().__init__(log, ANYTHING, ANYTHING, same, reply)
        self.known: dict[str, str] = {}


def read_messages(d: Ollama, doc: Json) -> History:
    return _functions.read_messages(d, doc, partial(read_history, d))


def write_messages(d: Ollama, tree: History, log: Ledger) -> Json:
    messages = write_history(d, tree.messages, OllamaWriting(log, d.is_same(tree.dialect)))
    return _functions.write_messages(d, tree, messages, log)


def read_history(d: Ollama, docs: list[Json], at: str) -> list[Message]:
    known: dict[str, str] = {}
    out: list[Message] = []
    for index, doc in enumerate(docs):
        message = read_message(d, as_dict(doc, f"{at}/{index}"), f"{at}/{index}", known)
        for block in message.content:
            if isinstance(block, ToolCall) and block.id is not None:
                known[block.id] = block.name
        if message.role == "user" and out and out[-1].role == "tool":
            alone = HOISTED_KEYS(doc) and not more_results(docs, index)
            if alone and unhoist(message, out, holds_all):
                continue
        out.append(message)
    return out


def write_history(d: Ollama, messages: Sequence[Message], w: OllamaWriting) -> list[Json]:
    out: list[Json]
    hoisted: list[Json]
    go = Going(d.writes, messages, w, lambda them, log: them)
    start, (out, hoisted) = go.take(w, 0, [], [])
    for index, message in enumerate(messages[start:] if start else messages, start):
        if index == go.note_at and not hoisted:
            go.note(w, 0, out, hoisted)
        if message.role != "tool":
            out += hoisted
            hoisted.clear()
            out.append(write_turn(d, message, w))
            continue
        for block in message.content:
            if not isinstance(block, ToolResult):
                raise Malformed("only tool results are allowed in a tool message", block.at)
            d.lose(message.extras, message.at, w.log)
            out.append(write_result(d, block, hoisted, w))
    if not hoisted:
        go.end(w, 0, out, hoisted)
    return out + hoisted if hoisted else out


def read_message(d: Ollama, doc: dict[str, Json], at: str, known: dict[str, str]) -> Message:
    given = need_str(doc, "role", at)
    role = ROLES.get(given)
    if given == CONTROL:
        return Message("system", (Raw(d.name, doc, at=at),), at=at)
    if role is None:
        raise Malformed(f"unknown role {given!r}; there are: {', '.join(ROLES)}", at)
    if role == "tool":
        return Message("tool", (read_result(d, doc, at, known),), at=at)
    return read_turn(d, doc, role, at)


def read_turn(d: Ollama, doc: dict[str, Json], role: Role, at: str, reply: bool = False) -> Message:
    """What anybody but a tool says: reasoning, a text, images, calls, in this order."""
    before: list[Block] = []
    after: list[Block] = [*read_images(doc, at)]
    if reasoning := maybe_str(doc, "thinking", at):
        before.append(Reasoning((reasoning,), at=f"{at}/thinking"))
    for index, call in enumerate(maybe_list(doc, "tool_calls", at) or ()):
        where = f"{at}/tool_calls/{index}"
        after.append(read_call(d, as_dict(call, where), index, where))
    content = maybe_str(doc, "content", at)
    if content or (content == "" and not (reply or before or after)):
        before.append(Text(content, at=f"{at}/content"))
    taken = SAID if maybe_str(doc, "role", at) in (None, role) else SAID[1:]
    return Message(role, (*before, *after), at=at, extras=d.keep(doc, taken))


def write_turn(d: Ollama, message: Message, w: OllamaWriting) -> dict[str, Json]:
    for block in message.content:
        if isinstance(block, Raw) and d.is_same(block.dialect):
            return as_dict(block.payload, block.at)  # the whole turn
    written = OllamaTurn(d, message.role, w)
    for block in message.content:
        written.add(block)
    doc: dict[str, Json] = {"role": message.role, "content": written.text(message)}
    if w.same and not (message.content or w.reply):
        doc["content"] = None  # an empty one would be read as a text
    if written.reasoning:
        doc["thinking"] = joined(written.reasoning)
    if written.images:
        doc["images"] = written.images
    if written.calls:
        doc["tool_calls"] = written.calls
    return d.emit(doc, message, w.log)


def read_images(doc: dict[str, Json], at: str) -> list[Media]:
    images = enumerate(maybe_list(doc, "images", at) or ())
    return [read_image(data, f"{at}/images/{index}") for index, data in images]


def read_image(data: Json, at: str) -> Media:
    data = as_str(data, at)
    return Media("image", Source("base64", data, sniff(data)), at=at)


def write_image(d: Ollama, block: Media, w: Writing) -> str:
    d.lose(block.extras, block.at, w.log)
    return block.source.value


def read_call(d: Ollama, doc: dict[str, Json], index: int, at: str) -> ToolCall:
    function, where = need_dict(doc, "function", at), f"{at}/function"
    arguments = function.get("arguments")
    if arguments is None:
        arguments = "{}"
    elif arguments.__class__ is dict:
        arguments = compact(arguments)
    elif arguments.__class__ is not str:  # which is how OpenAI has them
        expected("an object", arguments, f"{where}/arguments")
    numbered = function.get("index").__class__ is int and function["index"] == index
    kept = ("id", "type") if doc.get("type") == "function" else ("id",)
    taken = ("name", "arguments", "index") if numbered else ("name", "arguments")
    return ToolCall(
        maybe_str(doc, "id", at),
        need_str(function, "name", where),
        arguments,
        at=at,
        extras=d.keep(doc, kept, partly={"function": taken}),
    )


def write_call(d: Ollama, call: ToolCall, w: OllamaWriting) -> Json:
    call = freeform.as_function(call)
    out: dict[str, Json] = {}
    if call.id is not None:
        out["id"] = call.id
        w.known[call.id] = call.name
    out["function"] = {"name": call.name, "arguments": object_or_text(call, w)}
    return d.emit(out, call, w.log)


def holds_all(result: ToolResult) -> bool:
    """Whether a result holds its images itself, where most models do not see them."""
    return any(isinstance(block, Media) for block in result.content)


def read_result(d: Ollama, doc: dict[str, Json], at: str, known: dict[str, str]) -> ToolResult:
    content = maybe_str(doc, "content", at)
    call_id, name = maybe_str(doc, "tool_call_id", at), maybe_str(doc, "tool_name", at)
    failed, text = (None, None) if content is None else unmark_error(content)
    if call_id is not None and known.get(call_id) == name:
        name = None  # its call says so
    given = () if text is None else (Text(text, at=f"{at}/content"),)
    return ToolResult(
        call_id,
        (*given, *read_images(doc, at)),
        failed,
        name or None,
        at=at,
        extras=d.keep(doc, ANSWERED),
    )


def write_result(d: Ollama, result: ToolResult, hoisted: list[Json], w: OllamaWriting) -> Json:
    texts: list[Text] = []
    images: list[Media] = []
    for block in result.content:
        if isinstance(block, Media) and is_sendable(block):
            images.append(block)
            continue
        if isinstance(block, Text):
            texts.append(block)
        else:
            w.log.dropped("tool_result.content", block.at, f"a result is one text in {d.name}")
        d.lose(block.extras, block.at, w.log)
    written = texts[0].text if texts else None
    doc: dict[str, Json] = {"role": "tool", "content": written}
    if written is None and not w.same:
        doc["content"] = ""
    write_names(d, doc, result, w)
    write_shown(d, doc, images, hoisted, w)
    return d.emit(doc, result, w.log)


def write_shown(
    d: Ollama,
    doc: dict[str, Json],
    images: list[Media],
    hoisted: list[Json],
    w: OllamaWriting,
) -> None:
    """Images of a result. Most models see only those of a user, so they get a turn of one."""
    if not images:
        return
    shown: list[Json] = [write_image(d, block, w) for block in images]
    known = doc.get("tool_call_id")
    if w.same and (known is None or doc["content"] == ""):
        doc["images"] = shown  # elsewhere they would not be known again
        return
    for block in images:
        why = f"{d.name} has images in user turns only; written in a user turn"
        if known is None:
            w.log.approximated("tool_result.content", block.at, why)
        else:
            w.moved("tool_result.content", block.at, why)
    mark = HOISTED.format(id=known if known is not None else doc.get("tool_name", ""))
    hoisted.append({"role": "user", "content": mark, "images": shown})


def write_names(d: Ollama, doc: dict[str, Json], result: ToolResult, w: OllamaWriting) -> None:
    """Which call and which tool a result is of. Templates of models want the tool."""
    called = w.known.get(result.call_id) if result.call_id is not None else None
    if result.call_id is not None:
        doc["tool_call_id"] = result.call_id
    if result.name is not None and result.name == called:
        w.log.approximated(
            "tool_result.name",
            result.at,
            f"{d.name} has no name of a result beside the name of its call",
        )
    if (name := result.name or called) is not None:
        doc["tool_name"] = name


def read_tools(d: Ollama, doc: Json) -> Toolbox:
    return Toolbox(_functions.read_tools(d, doc, ""), dialect=d.name)


def write_tools(d: Ollama, tree: Toolbox, log: Ledger) -> Json:
    d.lose(tree.extras, tree.at, log)
    w = OllamaWriting(log, d.is_same(tree.dialect))
    return write_tool_list(d, tree.tools, w)


@write_once
def write_tool_list(d: Ollama, tools: tuple[Tool, ...], w: Writing) -> list[Json]:
    return [write_tool(d, tool, w) for tool in tools]


def write_tool(d: Ollama, tool: Tool, w: Writing) -> Json:
    tool = freeform.as_function(tool)
    function: dict[str, Json] = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    if tool.schema is not None:
        function["parameters"] = tool.schema if w.same else parameters(tool, w.log)
    return d.emit({"type": "function", "function": function}, tool, w.log)


class OllamaTurn:
    """What one speaker says, sorted: reasoning, a text, images, calls."""

    def __init__(self, dialect: Ollama, role: Role, w: OllamaWriting) -> None:
        self.dialect = dialect
        self.role = role
        self.w = w
        self.reasoning: list[str] = []
        self.texts: list[str] = []
        self.empty: list[str] = []  # where those stood that are empty
        self.images: list[Json] = []
        self.calls: list[Json] = []

    def add(self, block: Block) -> None:
        w, dialect = self.w, self.dialect
        if isinstance(block, ToolCall) and self.role == "assistant":
            self.calls.append(write_call(dialect, block, w))
        elif isinstance(block, Reasoning) and self.role == "assistant":
            dialect.lose(block.extras, block.at, w.log)
            if self.reasoning:
                dialect.join_text(block.at, w.log)
            self.reasoning.append(joined(block.content))
        elif is_sendable(block) and (w.same or self.role == "user"):
            assert isinstance(block, Media)
            self.images.append(write_image(dialect, block, w))
        else:
            dialect.lose(block.extras, block.at, w.log)
            if not isinstance(block, Text):
                dialect.omit(block, w.log)
                return
            if not block.text:
                self.empty.append(block.at)
            elif any(self.texts):
                dialect.join_text(block.at, w.log)
            self.texts.append(block.text)

    def text(self, message: Message) -> str:
        """One string. What an assistant says in pieces is one piece; others say paragraphs."""
        written = ("" if self.role == "assistant" else "\n\n").join(filter(None, self.texts))
        if self.w.same:
            return written
        beside = self.reasoning or self.images or self.calls
        # An empty text says nothing beside others; alone, it is what the message says.
        alone = not (written or self.w.reply or beside)
        for at in self.empty[1:] if alone else self.empty:
            self.dialect.omit_text(at, self.w.log)
        if written or self.texts:
            return written
        if alone:
            self.dialect.add_text(message.at, self.w.log)
        return written


def is_sendable(block: Block) -> bool:
    """An image as data."""
    return (
        isinstance(block, Media)
        and block.kind == "image"
        and block.source.kind == "base64"
        and not is_blank(block.source.value)
    )
