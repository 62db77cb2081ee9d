"""Messages and tools of Ollama, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ...core.media import sniff
from ...core.reading import (
    as_dict,
    as_list,
    as_str,
    compact,
    expected,
    maybe_list,
    maybe_str,
    need_dict,
    need_list,
    need_str,
    only,
    parse,
)
from ...core.turns import HOISTED, more_results, unhoist
from ...core.writing import Writing, is_blank, joined, object_of, parameters
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
from ...tools.tool_errors import is_marked, mark_error, mark_plain, unmark_error

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
    """One conversion into Ollama's dialect: it knows which call bears which name."""

    __slots__ = ("known",)

    def __init__(self, log: Ledger, home: bool, answer: bool = False) -> None:
        super().__init__(log, ANYTHING, ANYTHING, home, answer)
        self.known: dict[str, str] = {}


def read_messages(d: Ollama, doc: Json) -> History:
    """A history is a bare list; an object that holds one is tolerated."""
    if doc.__class__ is list:
        return History(tuple(read_history(d, doc, "")), dialect=d.name)
    doc = as_dict(doc, "")
    messages = read_history(d, need_list(doc, "messages", ""), "/messages")
    extras = d.keep(doc, ("messages",), {"object": True})
    return History(tuple(messages), dialect=d.name, extras=extras)


def write_messages(d: Ollama, tree: History, log: Ledger) -> Json:
    w = OllamaWriting(log, d.is_home(tree.dialect))
    messages = write_history(d, tree.messages, w)
    if d.spelling(tree).get("object"):
        return d.emit({"messages": messages}, tree, log)
    d.lose(tree.extras, tree.at, log)
    return messages


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
            if alone and unhoist(message, out, partial(holds_all, d)):
                continue
        out.append(message)
    return out


def write_history(d: Ollama, messages: Sequence[Message], w: OllamaWriting) -> list[Json]:
    out: list[Json] = []
    hoisted: list[Json] = []
    for message in messages:
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
    return out + hoisted


def read_message(d: Ollama, doc: dict[str, Json], at: str, known: dict[str, str]) -> Message:
    said = need_str(doc, "role", at)
    role = ROLES.get(said)
    if said == CONTROL:
        return Message("system", (Raw(d.name, doc, at=at),), at=at)
    if role is None:
        raise Malformed(f"unknown role {said!r}; there are: {', '.join(ROLES)}", at)
    if role == "tool":
        return Message("tool", (read_result(d, doc, at, known),), at=at)
    return read_turn(d, doc, role, at)


def read_turn(
    d: Ollama, doc: dict[str, Json], role: Role, at: str, answer: bool = False
) -> Message:
    """What anybody but a tool says: reasoning, a text, images, calls, in this order."""
    spelling: dict[str, Json] = {}
    before: list[Block] = []
    after: list[Block] = []
    reasoning = maybe_str(doc, "thinking", at)
    if reasoning:
        before.append(Reasoning((reasoning,), at=f"{at}/thinking"))
    elif reasoning is not None:
        spelling["thinking"] = reasoning
    for index, data in enumerate(maybe_list(doc, "images", at) or ()):
        after.append(read_image(data, f"{at}/images/{index}"))
    for index, call in enumerate(maybe_list(doc, "tool_calls", at) or ()):
        where = f"{at}/tool_calls/{index}"
        after.append(read_call(d, as_dict(call, where), index, where))
    for key in ("images", "tool_calls"):
        if doc.get(key) == []:
            spelling[key] = []
    content = maybe_str(doc, "content", at)
    if content is None:
        spelling["content"] = "null" if "content" in doc else "absent"
    elif content == "" and (answer or before or after):
        spelling["content"] = "empty"
    else:
        before.append(Text(content, at=f"{at}/content"))
    return Message(role, (*before, *after), at=at, extras=d.keep(doc, SAID, spelling or None))


def write_turn(d: Ollama, message: Message, w: OllamaWriting) -> dict[str, Json]:
    role = message.role
    for block in message.content:
        if isinstance(block, Raw) and d.is_home(block.dialect):
            return as_dict(block.payload, block.at)  # the whole turn
    said = OllamaTurn(d, role, w)
    for block in message.content:
        said.add(block)
    doc: dict[str, Json] = {"role": role, "content": said.text(message)}
    if said.reasoning:
        doc["thinking"] = joined(said.reasoning)
    if said.images:
        doc["images"] = said.images
    if said.calls:
        doc["tool_calls"] = said.calls
    spelling = d.spelling(message)
    for key in ("thinking", "images", "tool_calls"):
        if key in spelling:
            doc.setdefault(key, spelling[key])
    if spelling.get("content") == "absent":
        del doc["content"]
    elif spelling.get("content") == "null":
        doc["content"] = None
    return d.emit(doc, message, w.log)


def read_image(data: Json, at: str) -> Media:
    data = as_str(data, at)
    return Media("image", Source("base64", data, sniff(data)), at=at)


def write_image(d: Ollama, block: Media, w: Writing) -> str:
    d.lose(block.extras, block.at, w.log)
    return block.source.value


def join_result(d: Ollama, texts: list[tuple[Block, str]], w: Writing) -> str | None:
    """What a result says, as one text; empty texts beside others are left out."""
    if not texts:
        return None
    worded = [number for number, (_, text) in enumerate(texts) if text]
    first = worded[0] if worded else 0
    for number, (block, text) in enumerate(texts):
        if number == first:
            continue
        if text:
            d.join_text(block.at, w.log)
        else:
            d.omit_text(block.at, w.log)
    return "\n\n".join(text for _, text in texts if text)


def read_call(d: Ollama, doc: dict[str, Json], index: int, at: str) -> ToolCall:
    function, where = need_dict(doc, "function", at), f"{at}/function"
    spelling: dict[str, Json] = {}
    taken = ["name", "arguments"]
    if function.get("index") == index and function["index"].__class__ is int:
        taken.append("index")
        spelling["index"] = index
    if doc.get("type") == "function":
        spelling["type"] = "function"
    arguments = function.get("arguments")
    if arguments.__class__ is str:  # as OpenAI has it
        spelling["arguments"] = "text"
    elif arguments is None:
        spelling["arguments"] = None
        arguments = "{}"
    elif arguments.__class__ is dict:
        arguments = compact(arguments)
    else:
        expected("an object", arguments, f"{where}/arguments")
    kept = ("id", "type") if "type" in spelling else ("id",)
    return ToolCall(
        maybe_str(doc, "id", at),
        need_str(function, "name", where),
        arguments,
        at=at,
        extras=d.keep(doc, kept, spelling or None, partly={"function": taken}),
    )


def write_call(d: Ollama, call: ToolCall, index: int, w: OllamaWriting) -> Json:
    call = freeform.as_function(call, w.home)
    out: dict[str, Json] = {}
    if call.id is not None:
        out["id"] = call.id
        w.known[call.id] = call.name
    spelling = d.spelling(call)
    if "type" in spelling:
        out["type"] = spelling["type"]
    function: dict[str, Json] = {"name": call.name}
    if "index" in spelling:
        function["index"] = spelling["index"]
    if spelling.get("arguments", "") is None:
        pass
    elif spelling.get("arguments") == "text":
        function["arguments"] = call.arguments
    elif w.home:
        function["arguments"] = parse(call.arguments)
    else:
        function["arguments"] = object_of(call, w.log)
    out["function"] = function
    return d.emit(out, call, w.log)


def holds_all(d: Ollama, result: ToolResult) -> bool:
    """Whether a result holds its images itself, where most models do not see them."""
    return d.spelling(result).get("images") is True


def read_result(d: Ollama, doc: dict[str, Json], at: str, known: dict[str, str]) -> ToolResult:
    content = maybe_str(doc, "content", at)
    call_id, name = maybe_str(doc, "tool_call_id", at), maybe_str(doc, "tool_name", at)
    failed, text = (None, None) if content is None else unmark_error(content)
    spelling: dict[str, Json] = {}
    if content is None:
        spelling["content"] = "null" if "content" in doc else "absent"
    if name is not None and call_id is not None and known.get(call_id) == name:
        spelling["tool_name"] = name  # its call says so
        name = None
    images = [
        read_image(data, f"{at}/images/{index}")
        for index, data in enumerate(maybe_list(doc, "images", at) or ())
    ]
    if images:
        spelling["images"] = True
    elif doc.get("images") == []:
        spelling["images"] = []
    said = () if text is None else (Text(text, at=f"{at}/content"),)
    return ToolResult(
        call_id,
        (*said, *images),
        failed,
        name,
        at=at,
        extras=d.keep(doc, ANSWERED, spelling or None),
    )


def write_result(d: Ollama, result: ToolResult, hoisted: list[Json], w: OllamaWriting) -> Json:
    texts: list[tuple[Block, str]] = []
    images: list[Media] = []
    for block in result.content:
        if isinstance(block, Media) and is_sendable(block):
            images.append(block)
        elif isinstance(block, Text):
            texts += [(block, text) for text in texts_in(d, block, w)]
        else:
            w.log.dropped("tool_result.content", block.at, "a result is one text in ollama")
            d.lose(block.extras, block.at, w.log)
    said = join_result(d, texts, w)
    if result.is_error:
        w.moved(
            "tool_result.error",
            result.at,
            f"{d.name} has no error flag; the text begins with '[tool error]'",
        )
        said = mark_error(said)
    elif said is not None and is_marked(said):
        w.moved(
            "tool_result.error",
            result.at,
            "'[tool output]' is written before a text that looks like an error",
        )
        said = mark_plain(said)
    spelling = d.spelling(result)
    doc: dict[str, Json] = {"role": "tool"}
    if said is not None:
        doc["content"] = said
    elif spelling.get("content") != "absent":
        doc["content"] = None if "content" in spelling else ""
    write_names(d, doc, result, spelling, w)
    write_shown(d, doc, result, images, hoisted, w)
    return d.emit(doc, result, w.log)


def write_shown(
    d: Ollama,
    doc: dict[str, Json],
    result: ToolResult,
    images: list[Media],
    hoisted: list[Json],
    w: OllamaWriting,
) -> None:
    """Images of a result. Most models see only those of a user, so they get a turn of one."""
    shown: list[Json] = [write_image(d, block, w) for block in images]
    if holds_all(d, result):
        doc["images"] = shown
        return
    if "images" in d.spelling(result):
        doc["images"] = []
    if not shown:
        return
    known = doc.get("tool_call_id")
    for block in images:
        why = f"{d.name} has images in user turns only; written in a user turn"
        if known is None:
            w.log.approximated("tool_result.content", block.at, why)
        else:
            w.moved("tool_result.content", block.at, why)
    mark = HOISTED.format(id=known if known is not None else doc.get("tool_name", ""))
    hoisted.append({"role": "user", "content": mark, "images": shown})


def write_names(
    d: Ollama, doc: dict[str, Json], result: ToolResult, spelling: dict[str, Json], w: OllamaWriting
) -> None:
    """Which call and which tool a result is of. Templates of models want the tool."""
    called = w.known.get(result.call_id) if result.call_id is not None else None
    if result.call_id is not None:
        doc["tool_call_id"] = result.call_id
    if w.home:
        if (name := spelling.get("tool_name", result.name)) is not None:
            doc["tool_name"] = name
        return
    if result.name is not None and result.name == called:
        w.log.approximated(
            "tool_result.name",
            result.at,
            f"{d.name} has no name of a result beside the name of its call",
        )
    if (name := result.name or called) is not None:
        doc["tool_name"] = name


def texts_in(d: Ollama, block: Block, w: Writing) -> list[str]:
    """What a block says as text; what is no text is lost."""
    found: list[str] = []
    match block:
        case Text():
            found = [block.text]
        case _:
            d.omit(block, w.log)
    d.lose(block.extras, block.at, w.log)
    return found


def read_tools(d: Ollama, doc: Json) -> Toolbox:
    return Toolbox(read_tool_list(d, doc, ""), dialect=d.name)


def write_tools(d: Ollama, tree: Toolbox, log: Ledger) -> Json:
    d.lose(tree.extras, tree.at, log)
    return write_tool_list(d, tree.tools, OllamaWriting(log, d.is_home(tree.dialect)))


def read_tool_list(d: Ollama, docs: Json, at: str) -> tuple[Tool, ...]:
    tools = (
        read_tool(d, as_dict(doc, f"{at}/{index}"), f"{at}/{index}")
        for index, doc in enumerate(as_list(docs, at))
    )
    return tuple(freeform.unwrap_tool(tool, d.name) for tool in tools)


def write_tool_list(d: Ollama, tools: Sequence[Tool], w: Writing) -> list[Json]:
    return [write_tool(d, tool, w) for tool in tools]


def read_tool(d: Ollama, doc: dict[str, Json], at: str) -> Tool:
    function, where = need_dict(doc, "function", at), f"{at}/function"
    kind = maybe_str(doc, "type", at)
    spelling: dict[str, Json] | None = None if kind == "function" else {"type": kind}
    if kind is None and "type" in doc:
        spelling = {"type": "null"}
    return Tool(
        need_str(function, "name", where),
        maybe_str(function, "description", where),
        function.get("parameters"),
        at=at,
        schema_at="/function/parameters" if "parameters" in function else None,
        extras=d.keep(
            doc, ("type",), spelling, partly={"function": ("name", "description", "parameters")}
        ),
    )


def write_tool(d: Ollama, tool: Tool, w: Writing) -> Json:
    tool = freeform.as_function(tool, w.home)
    function: dict[str, Json] = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    if tool.schema is not None:
        function["parameters"] = tool.schema if w.home else parameters(tool, w.log)
    kind = d.spelling(tool).get("type", "function")
    out: dict[str, Json] = {} if kind in (None, "null") else {"type": kind}
    out["function"] = function
    return d.emit(out, tool, w.log)


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
            self.calls.append(write_call(dialect, block, len(self.calls), w))
        elif isinstance(block, Reasoning) and self.role == "assistant":
            dialect.lose(block.extras, block.at, w.log)
            if self.reasoning:
                dialect.join_text(block.at, w.log)
            self.reasoning.append(joined(block.content))
        elif is_sendable(block) and (w.home or self.role == "user"):
            assert isinstance(block, Media)
            self.images.append(write_image(dialect, block, w))
        else:
            for text in texts_in(dialect, block, w):
                if text and any(self.texts):
                    dialect.join_text(block.at, w.log)
                if not text:
                    self.empty.append(block.at)
                self.texts.append(text)

    def text(self, message: Message) -> str:
        """One string. What an assistant says in pieces is one piece; others say paragraphs."""
        said = ("" if self.role == "assistant" else "\n\n").join(filter(None, self.texts))
        if self.w.home:
            return said
        beside = self.reasoning or self.images or self.calls
        # An empty text says nothing beside others; alone, it is what the message says.
        alone = not (said or self.w.answer or beside)
        for at in self.empty[1:] if alone else self.empty:
            self.dialect.omit_text(at, self.w.log)
        if said or self.texts:
            return said
        if alone:
            self.dialect.add_text(message.at, self.w.log)
        return said


def is_sendable(block: Block) -> bool:
    """An image as data."""
    return (
        isinstance(block, Media)
        and block.kind == "image"
        and block.source.kind == "base64"
        and not is_blank(block.source.value)
    )
