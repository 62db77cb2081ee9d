"""Reading training texts: the turns, and what stands in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ...core.reading import as_dict, as_str, compact, need_str
from ...errors import Malformed
from ...model import (
    Block,
    Candidate,
    History,
    Json,
    Message,
    Request,
    Response,
    Stop,
    Text,
    Tool,
    ToolCall,
    ToolResult,
)
from ...tools.tool_errors import unmark_error
from .._gemma import CALL, CALLED, DECLARE, END, ESCAPE, RESPOND, RESPONDED, START
from . import declarations
from .values import Reader

if TYPE_CHECKING:
    from . import FunctionGemma


# "You can ..." is how Ollama says it.
TRIGGER = "You are a model that can do function calling with the following functions"
TRIGGERS = (TRIGGER, "You can do function calling with the following functions:")
ROLES = {
    "developer": "developer", "system": "developer", "user": "user", "model": "assistant",
    "assistant": "assistant",
}  # fmt: skip
TURNS = re.compile(r"<(?:start|end)_of_turn>")
HEAD = re.compile(r"<(?:(?:start|end)_of_turn|(?:start|end)_function_declaration)>")
SAID = re.compile(r"<(?:start|end)_(?:of_turn|function_(?:declaration|call|response))>")
BOS = re.compile(r"\s*(?:<bos>\s*)*")
AFTER = re.compile(r"(?:\s|<eos>)*")


class Source(NamedTuple):
    """The text of a record, and where each half of it stands in the document."""

    text: str
    split: int | None = None

    def at(self, pos: int) -> str:
        if self.split is None:
            return "/text"
        return "/prompt" if pos < self.split else "/completion"


class Scan:
    """One text under way: what was read so far, and how the last turn of the model ended."""

    __slots__ = ("custom", "messages", "source", "tools", "unfinished", "waits")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.messages: list[Message] = []
        self.tools: tuple[Tool, ...] = ()
        self.custom: frozenset[str] = frozenset()
        self.unfinished = False  # it has words, and no end
        self.waits = False  # it ends in the token that asks for a response


def read_request(d: FunctionGemma, doc: Json) -> Request:
    doc = as_dict(doc, "")
    scan = read_record(d, doc)
    last = scan.messages[-1] if scan.messages else None
    begun = last is not None and scan.unfinished and kind_of(last) == "assistant"
    return Request(
        None,
        tuple(scan.messages),
        scan.tools or None,
        prefill=True if begun else None,
        dialect=d.name,
        extras=d.keep(doc, taken(doc)),
    )


def read_messages(d: FunctionGemma, doc: Json) -> History:
    doc = as_dict(doc, "")
    scan = read_record(d, doc)
    if scan.tools:
        raise Malformed("a history has no declarations; this is a request", scan.tools[0].at)
    return History(tuple(scan.messages), dialect=d.name, extras=d.keep(doc, taken(doc)))


def read_response(d: FunctionGemma, doc: Json) -> Response:
    """What the model said after ``<start_of_turn>model``."""
    doc = as_dict(doc, "")
    scan = Scan(Source(as_str(doc.get("text"), "/text")))
    text = scan.source.text
    blocks, end = read_blocks(scan, 0)
    if any(isinstance(block, ToolResult) for block in blocks):
        raise Malformed("function responses are not allowed in a response", "/text")
    if text[end:].strip() and AFTER.fullmatch(text, end + len(END)) is None:
        Reader(text, "/text", end).fail("text after the end of the turn")
    stop = None
    if scan.waits:
        stop = Stop("tool-call", RESPOND, d.name)
    elif end < len(text):
        stop = Stop("end", END, d.name)
    message = Message("assistant", tuple(blocks), at="/text")
    candidate = Candidate(message, stop, at="/text")
    return Response(None, None, (candidate,), dialect=d.name, extras=d.keep(doc, ("text",)))


def kind_of(message: Message) -> str:
    """What a message is: one that ends in a call waits for a response."""
    if message.content and message.content[-1].__class__ is ToolCall:
        return "call"
    return message.role


def taken(doc: dict[str, Json]) -> tuple[str, ...]:
    return ("text",) if "text" in doc else ("prompt", "completion")


def read_record(d: FunctionGemma, doc: dict[str, Json]) -> Scan:
    """``{"text"}``, or the same text cut in two: ``{"prompt", "completion"}``."""
    if "text" not in doc and "prompt" in doc:
        prompt, completion = need_str(doc, "prompt", ""), need_str(doc, "completion", "")
        scan = Scan(Source(prompt + completion, len(prompt)))
    else:
        scan = Scan(Source(need_str(doc, "text", "")))
    text = scan.source.text
    found = BOS.match(text)
    pos = found.end() if found is not None else 0
    first = True
    while pos < len(text):
        pos = read_turn(d, scan, pos, first)
        first = False
    return scan


def read_turn(d: FunctionGemma, scan: Scan, pos: int, first: bool) -> int:
    """One turn; the place where the next begins."""
    text = scan.source.text
    reader = Reader(text, scan.source.at(pos), pos)
    if not reader.see(START):
        reader.fail(f"expected {START}")
    line = text.find("\n", pos)
    line = len(text) if line < 0 else line
    word = text[pos + len(START) : line].strip()
    role = ROLES.get(word)
    if role is None:
        reader.fail(f"unknown role {word[:20]!r}; there are: developer, user, model")
    body = min(line + 1, len(text))
    if role == "assistant":
        end = read_model(scan, body)
    elif role == "developer" and first:
        end = read_head(d, scan, body)
    else:
        end = read_message_item(scan, role, body)
    if end == len(text):
        return end
    after = AFTER.match(text, end + len(END))
    return after.end() if after is not None else len(text)


def close(scan: Scan, body: int, tokens: re.Pattern[str] = TURNS) -> int:
    """Where a turn ends that is not the model's."""
    text = scan.source.text
    found = tokens.search(text, body)
    if found is None or found[0] != END:
        Reader(text, scan.source.at(body), body).fail(f"this turn is not closed with {END}")
    return found.start()


def read_message_item(scan: Scan, role: str, body: int) -> int:
    end = close(scan, body)
    at, words = scan.source.at(body), scan.source.text[body:end].strip()
    scan.messages.append(Message(role, texts_of(words, at), at=at))  # type: ignore[arg-type]
    return end


def texts_of(words: str, at: str) -> tuple[Text, ...]:
    return (Text(words, at=at),) if words else ()


def read_head(d: FunctionGemma, scan: Scan, body: int) -> int:
    """The first turn of the developer: the system prompt, and the declarations."""
    text, at = scan.source.text, scan.source.at(body)
    found = HEAD.search(text, body)
    declares = found is not None and found[0] == DECLARE
    middle = found.start() if found is not None and declares else close(scan, body, HEAD)
    end = stop = middle
    if declares:
        scan.tools, stop = declarations.read_declarations(d, text, middle, at)
        scan.custom = frozenset(tool.name for tool in scan.tools if tool.kind == "custom")
        end = close(scan, stop, HEAD)
    words = system_of(text[body:middle], declares)
    # some writers add a word after the declarations
    content = (*texts_of(words, at), *texts_of(text[stop:end].strip(), at))
    if content or not declares:
        scan.messages.append(Message("system", content, at=at))
    return end


def read_model(scan: Scan, body: int) -> int:
    """A turn of the model: messages of the assistant, and between them those of the tools."""
    blocks, end = read_blocks(scan, body)
    closed = end < len(scan.source.text)
    scan.unfinished = bool(blocks) and not closed
    if not blocks and closed:
        scan.messages.append(Message("assistant", at=scan.source.at(body)))
    run: list[Block] = []
    for block in blocks:
        if isinstance(block, ToolResult):
            add_text(scan, run)
            run = []
            scan.messages.append(Message("tool", (block,), at=block.at))
        else:
            run.append(block)
    add_text(scan, run)
    return end


def add_text(scan: Scan, run: list[Block]) -> None:
    if run:
        scan.messages.append(Message("assistant", tuple(run), at=run[0].at))


def read_blocks(scan: Scan, pos: int) -> tuple[list[Block], int]:
    """Texts, calls and responses from a place on, and where the turn ends."""
    text = scan.source.text
    out: list[Block] = []
    while True:
        found = SAID.search(text, pos)
        until = found.start() if found is not None else len(text)
        start = pos + len(text[pos:until]) - len(text[pos:until].lstrip())
        out += texts_of(text[start:until].rstrip(), scan.source.at(start))
        if found is None or found[0] == END:
            return out, until
        reader = Reader(text, scan.source.at(until), until)
        if found[0] == CALL:
            out.append(read_call(scan, reader))
        elif found[0] == RESPOND:
            reader.need(RESPOND)
            reader.skip()
            if reader.pos == len(text) or reader.see(END) or reader.see("<eos>"):
                scan.waits = True
                return out, text.find(END, until) if reader.see(END) else len(text)
            out.append(read_reply(scan, reader))
        else:
            reader.fail(f"{found[0]} is not allowed at this point")
        pos = reader.pos


def read_call(scan: Scan, reader: Reader) -> ToolCall:
    reader.need(CALL)
    name = reader.function("call")
    arguments = reader.object()
    reader.need(CALLED)
    if name in scan.custom and arguments.keys() == {"input"}:
        free = arguments["input"]
        if free.__class__ is str:
            return ToolCall(None, name, free, "custom", at=reader.at)
    return ToolCall(None, name, compact(arguments), at=reader.at)


def read_reply(scan: Scan, reader: Reader) -> ToolResult:
    """A response: an object, or a text as its only ``value``."""
    name = reader.function("response")
    text = read_bare_text(reader)
    if text is None:
        value = reader.object()
        alone = value.keys() == {"value"} and value["value"].__class__ is str
        text = value["value"] if alone else compact(value) if value else None
    reader.need(RESPONDED)
    failed = None
    if text is not None:
        failed, text = unmark_error(text)
    content = () if text is None else (Text(text, at=reader.at),)
    kind = "custom" if name in scan.custom else "function"
    return ToolResult(None, content, failed, name, kind, at=reader.at)  # type: ignore[arg-type]


def read_bare_text(reader: Reader) -> str | None:
    """Ollama leaves out the key of a text: ``{<escape>text<escape>}``."""
    start = reader.pos
    reader.need("{")
    reader.skip()
    if reader.see(ESCAPE):
        text = reader.string()
        if reader.take("}"):
            return text
    reader.pos = start
    return None


def system_of(raw: str, declares: bool) -> str:
    """The system prompt in a developer's turn, without the sentence that calls for functions."""
    words = raw.strip()
    if not declares:
        return words
    for trigger in TRIGGERS:
        if words == trigger:
            return ""
        if words.endswith("\n" + trigger):
            rest = words[: -len(trigger)].strip()
            if TRIGGER not in rest:
                return rest
    return words
