"""Writing conversations as training texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from ...core.reading import decode, encode
from ...core.writing import Writing, object_of
from ...errors import Malformed, Unsayable
from ...ledger import Ledger
from ...model import (
    Block,
    Candidate,
    History,
    Json,
    Message,
    Request,
    Response,
    Stop,
    Tool,
    ToolCall,
    ToolResult,
)
from ...tools.tool_errors import is_marked, mark_error, mark_plain
from .._gemma import (
    CALL,
    CALLED,
    CONTROL,
    END,
    FUNCTION,
    RESPOND,
    RESPONDED,
    defuse,
    respelled,
    said,
)
from . import declarations, reading
from .values import Values

if TYPE_CHECKING:
    from . import FunctionGemma


# At home, what would be read otherwise than it was meant is broken all the same.
TURN_TOKENS = re.compile(r"<(?=(?:start|end)_of_turn>)")
HEAD_TOKENS = re.compile(r"<(?=(?:(?:start|end)_of_turn|(?:start|end)_function_declaration)>)")
SAID_TOKENS = re.compile(rf"<(?=(?:(?:start|end)_of_turn|{FUNCTION})>)")
LEADING = ("system", "developer")
STOPS = {"end": END, "tool-call": RESPOND}


class WrittenPiece:
    """One stretch of a text: its kind, its words, and how the seams around it are spelled."""

    __slots__ = ("after", "kind", "text")

    def __init__(self, kind: str, text: str, after: Json = None) -> None:
        self.kind = kind
        self.text = text
        self.after = after


def write_request(d: FunctionGemma, tree: Request, log: Ledger) -> Json:
    w = d.writing(log, tree.dialect)
    tools = tree.tools or ()
    d.lose_settings(tree, w)
    spelling = d.spelling(tree)
    doc = write_record(d, tree.messages, tools, spelling, w)
    return d.emit(doc, tree, log)


def write_messages(d: FunctionGemma, tree: History, log: Ledger) -> Json:
    w = d.writing(log, tree.dialect)
    doc = write_record(d, tree.messages, (), d.spelling(tree), w)
    return d.emit(doc, tree, log)


def write_response(d: FunctionGemma, tree: Response, log: Ledger) -> Json:
    if not tree.candidates:
        raise Unsayable("the response has no candidate to write", tree.at)
    w = d.writing(log, tree.dialect)
    if tree.usage is not None:
        d.lack("usage", tree.usage.at, log)
    candidate = tree.candidates[0]
    text = write_assistant(d, candidate.message, w)
    d.lose(candidate.message.extras, candidate.message.at, log)
    stop = write_stop(d, candidate, candidate.stop, w)
    spelling = d.spelling(candidate)
    d.lose(candidate.extras, candidate.at, log)
    text = said(spelling, "before", "") + text + said(spelling, "after", stop)
    return d.emit({"text": text}, tree, log)


def write_stop(d: FunctionGemma, candidate: Candidate, stop: Stop | None, w: Writing) -> str:
    if stop is None:
        return ""
    if stop.reason not in STOPS:
        d.lose_stop(candidate, w.log)
    return STOPS.get(stop.reason, "")


def write_record(
    d: FunctionGemma,
    messages: Sequence[Message],
    tools: Sequence[Tool],
    spelling: dict[str, Json],
    w: Writing,
) -> dict[str, Json]:
    pieces: list[WrittenPiece] = []
    declared = declarations.write_declarations(d, tools, w)
    count = leading(messages, w.home)
    if count or declared:
        words = write_head(d, messages[:count], declared, spelling, w)
        if words is not None:
            pieces.append(WrittenPiece("head", words, spelling.get("head")))
    rest = messages[count:]
    write_turns(d, pieces, rest if w.home else d.results_in_order(rest, w.log), w)
    out = [said(spelling, "bos", d.bos)]
    cut = 0  # where the last answer begins
    before: WrittenPiece | None = None
    for piece in pieces:
        out.append(write_seam(before, piece, spelling))
        if piece.kind in ("assistant", "call"):
            cut = len(out)
        out.append(piece.text)
        before = piece
    out.append(write_seam(before, None, spelling))
    return write_cut(out, cut or len(out), spelling)


def write_cut(out: list[str], cut: int, spelling: dict[str, Json]) -> dict[str, Json]:
    text = "".join(out)
    spelled = spelling.get("cut")
    if spelled.__class__ is not list:
        return {"text": text}
    place = spelled[1] if spelled[0] == len(text) else len("".join(out[:cut]))
    return {"prompt": text[:place], "completion": text[place:]}


def write_seam(
    before: WrittenPiece | None, after: WrittenPiece | None, spelling: dict[str, Json]
) -> str:
    kind = (
        None
        if after is None
        else "developer"
        if after.kind == "head"
        else reading.role_of(after.kind)
    )
    if before is None:
        return said(spelling, "open", "" if kind is None else reading.header(kind))
    return said({"after": before.after}, "after", reading.seam(before.kind, kind))


def write_head(
    d: FunctionGemma,
    messages: Sequence[Message],
    declared: str,
    spelling: dict[str, Json],
    w: Writing,
) -> str | None:
    """The turn of the developer: the system prompt, a sentence, and the declarations."""
    log, control = w.log, HEAD_TOKENS if w.home else CONTROL
    texts: list[tuple[str, str]] = []
    after = ""
    for index, message in enumerate(messages):
        if message.role == "developer":
            log.approximated(
                "message.role", message.at, f"{d.name} writes the system prompt as `developer`"
            )
        if index:
            d.merge_prompt(message, log)
        d.lose(message.extras, message.at, log)
        for block in message.content:
            if (text := d.plain(block, log)) is None:
                continue
            text = trim(d, text, block.at, log, control)
            own = d.spelling(block)
            if declared and own.get("place") == "behind":
                after = said(own, "text", text)
            else:
                texts.append((text, block.at))
    words = d.join_texts(texts, log)
    if not w.home and messages and not words:
        d.omit_message(messages[0], log)
        if not declared:
            return None
    usual = reading.developer_of(words, bool(declared))
    if not w.home and declared:
        note_trigger(d, words, usual, messages, log)
    return said(spelling, "developer", usual) + declared + after


def note_trigger(
    d: FunctionGemma, words: str, usual: str, messages: Sequence[Message], log: Ledger
) -> None:
    at = messages[0].at if messages else ""
    if words != usual:
        why = (
            f"{d.name} requires a sentence before the declarations: 'You are a model that can ...'"
        )
        log.moved("system.trigger", at, why)
    elif reading.system_of(usual, True) != words:
        why = "the sentence before the declarations belongs to the format, not to the prompt"
        log.approximated("system.trigger", at, why)


def write_turns(
    d: FunctionGemma, pieces: list[WrittenPiece], messages: Sequence[Message], w: Writing
) -> None:
    names: dict[str, str] = {}  # the tool of each call, by its id
    for message in messages:
        after = d.spelling(message).get("after") if message.extras is not None else None
        d.lose(message.extras, message.at, w.log)
        match message.role:
            case "tool":
                for block in message.content:
                    if not isinstance(block, ToolResult):
                        raise Malformed("only tool results are allowed in a tool message", block.at)
                    pieces.append(WrittenPiece("tool", write_result(d, block, names, w), after))
                continue
            case "assistant":
                text = write_assistant(d, message, w)
                for block in message.content:
                    if isinstance(block, ToolCall) and block.id is not None:
                        names[block.id] = block.name
                kind = (
                    reading.kind_of(message)
                    if w.home
                    else "call"
                    if text.endswith(CALLED)
                    else "assistant"
                )
            case "system":
                if pieces and not w.home:
                    why = f"{d.name} has one system prompt; written as `developer`"
                    w.log.approximated("message.role", message.at, why)
                kind, text = "developer", write_said(d, message, w)
            case role:
                kind, text = role, write_said(d, message, w)
        if text or w.home:
            pieces.append(WrittenPiece(kind, text, after))
        else:
            d.omit_message(message, w.log)


def write_said(d: FunctionGemma, message: Message, w: Writing) -> str:
    """The words of the user, or of the developer in between."""
    control = TURN_TOKENS if w.home else CONTROL
    texts = [
        (trim(d, text, block.at, w.log, control), block.at)
        for block in message.content
        if (text := d.plain(block, w.log)) is not None
    ]
    return d.join_texts(texts, w.log)


def trim(d: FunctionGemma, text: str, at: str, log: Ledger, control: re.Pattern[str]) -> str:
    """The official template trims every text; what is nothing but space is empty."""
    bare = text.strip()
    if bare and bare != text:
        log.approximated("text.space", at, f"{d.name} does not keep white space around a text")
    return defuse(bare, at, log, control)


def write_assistant(d: FunctionGemma, message: Message, w: Writing) -> str:
    """Text, then calls; at home, in the order in which they were said."""
    control = SAID_TOKENS if w.home else CONTROL
    texts: list[tuple[str, str]] = []
    out: list[str] = []
    for block in message.content:
        if isinstance(block, ToolCall):
            if texts and w.home:
                out.append(d.join_texts(texts, w.log))
                texts = []
            out.append(write_call(d, block, w))
        elif (text := d.plain(block, w.log)) is not None:
            text = trim(d, text, block.at, w.log, control)
            if block.extras is not None and w.home:
                text = said(d.spelling(block), "text", text)
            texts.append((text, block.at))
    if texts and w.home:
        return "".join(out) + d.join_texts(texts, w.log)
    return d.join_texts(texts, w.log) + "".join(out) if texts else "".join(out)


def write_call(d: FunctionGemma, call: ToolCall, w: Writing) -> str:
    losses = len(w.log.losses)
    d.lose_call(call, w)
    text = say_call(d, call, w.tool_name(call.name, call.at), w.log)
    return text if call.extras is None else respelled(d, call, text, w.log, losses)


def say_call(d: FunctionGemma, call: ToolCall, name: str, log: Ledger) -> str:
    values = Values(call.at, log)
    values.out += (CALL, "call:", name)
    custom = call.kind == "custom"
    values.write({"input": call.arguments} if custom else object_of(call, log))
    if values.sorted:
        log.approximated(
            "tool_call.arguments", call.at, f"{d.name} sorts the keys of the arguments"
        )
    values.out.append(CALLED)
    return values.text()


def write_result(d: FunctionGemma, result: ToolResult, names: dict[str, str], w: Writing) -> str:
    log, called = w.log, result.call_id
    losses = len(log.losses)
    if called is not None:
        log.dropped(
            "tool_call.id",
            result.at,
            f"{d.name} has no field for call ids; results match calls by name and order",
        )
    name = result.name
    if name is None and (name := names.get(called or "")) is None:
        name = "tool"
        log.invented(
            "tool_result.name",
            result.at,
            f"{d.name} requires the tool name of a result; written as 'tool'",
        )
    elif result.name is None and called is None:
        log.invented(
            "tool_result.name",
            result.at,
            f"{d.name} requires the tool name of a result; written as {name!r}",
        )
    d.lose(result.extras, result.at, log)
    text = say_result(d, result, w.tool_name(name, result.at), w)
    return text if result.extras is None else respelled(d, result, text, log, losses)


def say_result(d: FunctionGemma, result: ToolResult, name: str, w: Writing) -> str:
    values = Values(result.at, w.log)
    values.out += (RESPOND, "response:", name)
    texts = [
        (text, block.at) for block in result.content if (text := d.plain(block, w.log)) is not None
    ]
    for _, at in texts[1:]:
        d.join_text(at, w.log)
    text = "\n".join(text for text, _ in texts) if texts else None
    values.write(value_of(d, result, text, values, w), in_order=False)
    values.out.append(RESPONDED)
    return values.text()


def value_of(
    d: FunctionGemma, result: ToolResult, text: str | None, values: Values, w: Writing
) -> dict[str, Json]:
    """A result as an object: its own, or its text as the only ``value``."""
    if result.is_error:
        w.moved(
            "tool_result.error",
            result.at,
            f"{d.name} has no error flag; the text begins with '[tool error]'",
        )
        return {"value": mark_error(text)}
    if text is None:
        return {}
    if text.startswith("{") and (found := object_in(text)) is not None:
        if encode(found) != text.encode() or is_unsorted(found):
            why = f"a JSON object is written in the notation of {d.name}: sorted, without spaces"
            w.log.approximated("tool_result", result.at, why)
        return found
    if is_marked(text):
        w.moved(
            "tool_result.error",
            result.at,
            "'[tool output]' is written before a text that looks like an error",
        )
        return {"value": mark_plain(text)}
    return {"value": text}


def usual(d: FunctionGemma, block: Block) -> str:
    """A call or a response as it is written by itself."""
    log = Ledger()
    if isinstance(block, ToolCall):
        return say_call(d, block, block.name, log)
    assert isinstance(block, ToolResult)
    return say_result(d, block, block.name or "", Writing(log, (".", 1), (".", 1), True))


def leading(messages: Sequence[Message], home: bool) -> int:
    """How many messages make up the system prompt."""
    count = 0
    for message in messages:
        if message.role not in LEADING or (home and (count or message.role != "system")):
            break
        count += 1
    return count


def object_in(text: str) -> dict[str, Json] | None:
    """The JSON object that a text is, unless it would be read as something else."""
    try:
        value = decode(text)
    except (ValueError, RecursionError):
        return None
    if value.__class__ is not dict or not value:
        return None
    if value.keys() == {"value"} and value["value"].__class__ is str:
        return None
    found: dict[str, Json] = value
    return found


def is_unsorted(value: Json) -> bool:
    if value.__class__ is dict:
        names = [key.lower() for key in value]
        if any(a > b for a, b in pairwise(names)):
            return True
        return any(map(is_unsorted, value.values()))
    return value.__class__ is list and any(map(is_unsorted, value))
