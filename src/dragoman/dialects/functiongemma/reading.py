"""Reading training texts: the turns, and what stands in them.

What stands *between* two pieces of content (``<end_of_turn>\\n<start_of_turn>user\\n``, or nothing
between a call and its response) is their seam. Seams that are not the usual ones are kept beside
the message before them, so that the text comes back to the letter.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

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
from . import declarations, writing
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
HEADERS = {"system": "developer", "developer": "developer", "user": "user"}
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


class ReadPiece(NamedTuple):
    """A text, a call or a response, and where it stands."""

    block: Block
    start: int
    end: int


def header(kind: str) -> str:
    return f"{START}{HEADERS.get(kind, 'model')}\n"


def seam(before: str, after: str | None) -> str:
    """What usually stands between two messages; a call, a response and the answer share a turn."""
    speaking = before in ("assistant", "call", "tool")
    if after is None:
        if before == "call":
            return RESPOND
        if before == "tool":
            return ""
        return f"{END}\n" if speaking else f"{END}\n{header('assistant')}"
    if speaking and (after == "tool" or before == "tool") and after in ("tool", "assistant"):
        return ""
    return f"{END}\n{header(after)}"


def kind_of(message: Message) -> str:
    """What a message is for its seams: one that ends in a call waits for a response."""
    if message.role == "assistant" and message.content:
        return "call" if message.content[-1].__class__ is ToolCall else "assistant"
    return message.role


def role_of(kind: str) -> str:
    return "assistant" if kind == "call" else kind


class Scan:
    """One text under way: the messages so far, and where the content of the last one ended."""

    __slots__ = ("custom", "end", "kind", "messages", "root", "source", "tools")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.messages: list[Message] = []
        self.tools: tuple[Tool, ...] = ()
        self.custom: frozenset[str] = frozenset()
        self.root: dict[str, Json] = {}  # how the record is spelled
        self.kind: str | None = None  # what came last
        self.end = 0


def read_request(d: FunctionGemma, doc: Json) -> Request:
    doc = as_dict(doc, "")
    scan = read_record(d, doc)
    last = scan.messages[-1] if scan.messages else None
    unfinished = (
        last is not None
        and kind_of(last) == "assistant"
        and END not in scan.source.text[scan.end :]
    )
    return Request(
        None,
        tuple(scan.messages),
        scan.tools or None,
        prefill=True if unfinished else None,
        dialect=d.name,
        extras=d.keep(doc, taken(doc), scan.root),
    )


def read_messages(d: FunctionGemma, doc: Json) -> History:
    doc = as_dict(doc, "")
    scan = read_record(d, doc)
    if scan.tools:
        raise Malformed("a history has no declarations; this is a request", scan.tools[0].at)
    extras = d.keep(doc, taken(doc), scan.root)
    return History(tuple(scan.messages), dialect=d.name, extras=extras)


def read_response(d: FunctionGemma, doc: Json) -> Response:
    """What the model said after ``<start_of_turn>model``."""
    doc = as_dict(doc, "")
    scan = Scan(Source(as_str(doc.get("text"), "/text")))
    text = scan.source.text
    pieces, end = read_pieces(d, scan, 0)
    for piece in pieces:
        if isinstance(piece.block, ToolResult):
            raise Malformed("function responses are not allowed in a response", "/text")
    start = pieces[0].start if pieces else 0
    blocks, last = read_blocks(d, scan, pieces)
    rest = text[last:]
    if text[end:].strip() and AFTER.fullmatch(text, end + len(END)) is None:
        Reader(text, "/text", end).fail("text after the end of the turn")
    stop = None
    if RESPOND in rest:
        stop = Stop("tool-call", RESPOND, d.name)
    elif END in rest:
        stop = Stop("end", END, d.name)
    spelling: dict[str, Json] = {}
    if rest != (usual := stop.native or "" if stop else ""):
        spelling["after"] = [usual, rest]
    if start:
        spelling["before"] = ["", text[:start]]
    message = Message("assistant", blocks, at="/text")
    candidate = Candidate(message, stop, at="/text")
    if spelling:
        candidate = replace(candidate, extras=d.respell(None, **spelling))
    return Response(None, None, (candidate,), dialect=d.name, extras=d.keep(doc, ("text",)))


def taken(doc: dict[str, Json]) -> tuple[str, ...]:
    return ("text",) if "text" in doc else ("prompt", "completion")


def read_record(d: FunctionGemma, doc: dict[str, Json]) -> Scan:
    """``{"text"}``, or the same text cut in two: ``{"prompt", "completion"}``."""
    if "text" not in doc and "prompt" in doc:
        prompt, completion = need_str(doc, "prompt", ""), need_str(doc, "completion", "")
        scan = Scan(Source(prompt + completion, len(prompt)))
        scan.root["cut"] = [len(scan.source.text), len(prompt)]
    else:
        scan = Scan(Source(need_str(doc, "text", "")))
    text = scan.source.text
    found = BOS.match(text)
    pos = scan.end = found.end() if found is not None else 0
    if text[:pos] != d.bos:
        scan.root["bos"] = [d.bos, text[:pos]]
    first = True
    while pos < len(text):
        pos = read_turn(d, scan, pos, first)
        first = False
    join(d, scan, None, len(text))
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
        end = read_model(d, scan, body)
    elif role == "developer" and first:
        end = read_head(d, scan, body)
    else:
        end = read_said(d, scan, role, body)
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


def read_said(d: FunctionGemma, scan: Scan, role: str, body: int) -> int:
    end = close(scan, body)
    at = scan.source.at(body)
    start, stop = strip(scan.source.text, body, end)
    content = (Text(scan.source.text[start:stop], at=at),) if start < stop else ()
    add(d, scan, Message(role, content, at=at), start, stop)  # type: ignore[arg-type]
    return end


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
    raw = text[body:middle]
    words = system_of(raw, declares)
    usual = developer_of(words, declares)
    if usual != raw:
        scan.root["developer"] = [usual, raw]
    content: tuple[Block, ...] = (Text(words, at=at),) if words else ()
    after, last = strip(text, stop, end)
    if after < last:  # some writers add a word after the declarations
        place = d.respell(None, place="behind", text=[text[after:last], text[stop:last]])
        content += (Text(text[after:last], at=at, extras=place),)
        stop = last
    join(d, scan, "developer", body)
    scan.kind, scan.end = "head", stop
    if content or not declares:
        scan.messages.append(Message("system", content, at=at))
    return end


def read_model(d: FunctionGemma, scan: Scan, body: int) -> int:
    """A turn of the model: messages of the assistant, and between them those of the tools."""
    pieces, end = read_pieces(d, scan, body)
    closed = end < len(scan.source.text)
    if not pieces:
        if closed:
            add(d, scan, Message("assistant", at=scan.source.at(body)), body, body)
        return end
    run: list[ReadPiece] = []
    for piece in pieces:
        if isinstance(piece.block, ToolResult):
            add_said(d, scan, run)
            run = []
            at = scan.source.at(piece.start)
            add(d, scan, Message("tool", (piece.block,), at=at), piece.start, piece.end)
        else:
            run.append(piece)
    add_said(d, scan, run)
    return end


def add_said(d: FunctionGemma, scan: Scan, run: list[ReadPiece]) -> None:
    if run:
        blocks, end = read_blocks(d, scan, run)
        message = Message("assistant", blocks, at=scan.source.at(run[0].start))
        add(d, scan, message, run[0].start, end)


def read_blocks(
    d: FunctionGemma, scan: Scan, run: list[ReadPiece]
) -> tuple[tuple[Block, ...], int]:
    """The blocks of one message; blanks between them are their spelling."""
    blocks: list[Block] = []
    end = run[0].start if run else 0
    for piece in run:
        block, raw = piece.block, scan.source.text[end : piece.end]
        usual = block.text if isinstance(block, Text) else writing.usual(d, block)
        if raw != usual:
            block = replace(block, extras=d.respell(block.extras, text=[usual, raw]))
        blocks.append(block)
        end = piece.end
    return tuple(blocks), end


def read_pieces(d: FunctionGemma, scan: Scan, pos: int) -> tuple[list[ReadPiece], int]:
    """Texts, calls and responses from a place on, and where the turn ends."""
    text = scan.source.text
    out: list[ReadPiece] = []
    while True:
        found = SAID.search(text, pos)
        until = found.start() if found is not None else len(text)
        start, stop = strip(text, pos, until)
        if start < stop:
            out.append(ReadPiece(Text(text[start:stop], at=scan.source.at(start)), start, stop))
        if found is None or found[0] == END:
            return out, until
        reader = Reader(text, scan.source.at(until), until)
        if found[0] == CALL:
            block: Block = read_call(scan, reader)
        elif found[0] == RESPOND:
            reader.need(RESPOND)
            reader.skip()
            if reader.pos == len(text) or reader.see(END) or reader.see("<eos>"):
                return out, text.find(END, until) if reader.see(END) else len(text)
            block = read_answer(d, scan, reader, until)
        else:
            reader.fail(f"{found[0]} is not allowed at this point")
        out.append(ReadPiece(block, until, reader.pos))
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


def read_answer(d: FunctionGemma, scan: Scan, reader: Reader, start: int) -> ToolResult:
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
    result = ToolResult(None, content, failed, name, kind, at=reader.at)  # type: ignore[arg-type]
    raw, usual = reader.text[start : reader.pos], writing.usual(d, result)
    if usual != raw:
        result = replace(result, extras=d.respell(None, text=[usual, raw]))
    return result


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


def add(d: FunctionGemma, scan: Scan, message: Message, start: int, end: int) -> None:
    join(d, scan, message.role, start)
    scan.messages.append(message)
    scan.kind, scan.end = kind_of(message), end


def join(d: FunctionGemma, scan: Scan, after: str | None, start: int) -> None:
    """Keep the seam before a message where it is not the usual one."""
    raw = scan.source.text[scan.end : start]
    if scan.kind is None:
        usual = "" if after is None else header(after)
        if raw != usual:
            scan.root["open"] = [usual, raw]
        return
    usual = seam(scan.kind, after)
    if raw == usual:
        return
    if scan.kind == "head":
        scan.root["head"] = [usual, raw]
    else:
        last = scan.messages[-1]
        scan.messages[-1] = replace(last, extras=d.respell(last.extras, after=[usual, raw]))


def strip(text: str, start: int, end: int) -> tuple[int, int]:
    """Where a text begins and ends without the white space around it."""
    bare = text[start:end]
    left = len(bare) - len(bare.lstrip())
    if left == len(bare):
        return start, start
    return start + left, start + len(bare.rstrip())


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


def developer_of(words: str, declares: bool) -> str:
    """The words of the developer: before declarations, a sentence calls for functions."""
    if not declares or TRIGGER in words:
        return words
    return f"{words}\n{TRIGGER}" if words else TRIGGER
