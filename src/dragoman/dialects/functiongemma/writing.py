"""Writing conversations as training texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from ...core.plain import Turn
from ...core.reading import decode, encode
from ...core.writing import Writing, object_of
from ...errors import Malformed, Unsayable
from ...ledger import Ledger
from ...model import (
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
from .._gemma import (
    CALL,
    CALLED,
    CONTROL,
    END,
    ESCAPE,
    HEAD_TOKENS,
    RESPOND,
    RESPONDED,
    SAID_TOKENS,
    START,
    TURN_TOKENS,
    VALUE_TOKENS,
    defuse,
)
from .._training import has_words, text_of
from . import declarations, reading
from .values import Values

if TYPE_CHECKING:
    from . import FunctionGemma


HEADERS = {"system": "developer", "developer": "developer", "head": "developer", "user": "user"}
LEADING = ("system", "developer")
STOPS = {"end": END, "tool-call": RESPOND}


Piece: TypeAlias = tuple[str, str]
"""One stretch of a text: its kind, and its words."""


def write_request(d: FunctionGemma, tree: Request, log: Ledger) -> Json:
    w = d.writing(log, tree.dialect)
    d.lose_settings(tree, w)
    pieces = write_pieces(d, tree.messages, tree.tools or (), w, bool(tree.prefill))
    return d.emit({"text": text_of(pieces, log)}, tree, log)


def write_messages(d: FunctionGemma, tree: History, log: Ledger) -> Json:
    pieces = write_pieces(d, tree.messages, (), d.writing(log, tree.dialect))
    return d.emit({"text": text_of(pieces, log)}, tree, log)


def write_response(d: FunctionGemma, tree: Response, log: Ledger) -> Json:
    if not tree.candidates:
        raise Unsayable("the response has no candidate to write", tree.at)
    w = d.writing(log, tree.dialect)
    if tree.usage is not None:
        d.lack("usage", tree.usage.at, log)
    candidate = tree.candidates[0]
    text = write_assistant(d, candidate.message, {}, w, Values(log, w.same))
    d.lose(candidate.message.extras, candidate.message.at, log)
    text += write_stop(d, candidate, candidate.stop, w)
    d.lose(candidate.extras, candidate.at, log)
    return d.emit({"text": text}, tree, log)


def write_stop(d: FunctionGemma, candidate: Candidate, stop: Stop | None, w: Writing) -> str:
    if stop is None:
        return ""
    if stop.reason not in STOPS:
        d.lose_stop(candidate, w.log)
    return STOPS.get(stop.reason, "")


def write_pieces(
    d: FunctionGemma,
    messages: Sequence[Message],
    tools: Sequence[Tool],
    w: Writing,
    begun: bool = False,
) -> list[str]:
    """A conversation; ``begun``: the model is to continue the last turn."""
    if messages is w.log.plain and not tools:
        if (plain := write_plain(d, w.log.turns)) is not None:
            return plain
    pieces: list[Piece] = []
    declared = declarations.write_declarations(d, tools, w)
    count = leading(messages, w.same)
    if count or declared:
        words = write_head(d, messages[:count], declared, w)
        if words is not None:
            pieces.append(("head", words))
    rest = messages[count:]
    if not w.same and messages is not w.log.usual:
        rest = d.results_in_order(rest, w.log)
    write_turns(d, pieces, rest, w)
    out = [d.bos]
    before, said = "", False
    for kind, text in pieces:
        out += (seam(before, kind, said and bool(text)), text)
        before, said = kind, bool(text)
    if not (begun and w.same):
        out.append(seam(before, "", False))
    return out


def write_plain(d: FunctionGemma, turns: Sequence[Turn]) -> list[str] | None:
    """A conversation of plain texts; None where there is anything to note of one."""
    out = [d.bos]
    role = ""
    for role, text, _ in turns:
        if "<" in text or text[0].isspace() or text[-1].isspace():
            return None
        out += (header(role), text, f"{END}\n")
    if role != "assistant":
        out.append(header("assistant"))
    return out


@cache
def header(kind: str) -> str:
    return f"{START}{HEADERS.get(kind, 'model')}\n"


@cache
def seam(before: str, after: str, said: bool) -> str:
    """What stands between two pieces; a call, a response and the reply share a turn.

    No kind is the beginning or the end. ``said``: both have words.
    """
    if not before:
        return header(after) if after else ""
    speaking = before in ("assistant", "call", "tool")
    if not after:
        if before == "call":
            return RESPOND
        if before == "tool":
            return ""
        return f"{END}\n" if speaking else f"{END}\n{header('assistant')}"
    if speaking and said and "tool" in (before, after) and after not in HEADERS:
        return ""
    return f"{END}\n{header(after)}"


def as_record(doc: Json, out: dict[str, Json]) -> dict[str, Json]:
    """A text as the record that it was read from: one that was cut in two is cut again."""
    if "text" in doc or "prompt" not in doc or "text" not in out:
        return out
    text, prompt, completion = out.pop("text"), doc["prompt"], doc["completion"]
    place = text.rfind(header("assistant")) + len(header("assistant"))
    if text.startswith(prompt):
        place = len(prompt)
    elif text.endswith(completion):
        place = len(text) - len(completion)
    return {"prompt": text[:place], "completion": text[place:], **out}


def write_head(
    d: FunctionGemma,
    messages: Sequence[Message],
    declared: str,
    w: Writing,
) -> str | None:
    """The turn of the developer: the system prompt, a sentence, and the declarations."""
    log, control = w.log, HEAD_TOKENS if w.same else CONTROL
    texts: list[tuple[str, str]] = []
    after = ""
    for message in messages:
        before = len(texts)
        if message.role == "developer":
            log.approximated(
                "message.role", message.at, f"{d.name} writes the system prompt as `developer`"
            )
        d.lose(message.extras, message.at, log)
        for block in message.content:
            if (text := d.plain(block, log)) is None:
                continue
            text = trim(d, text, block.at, log, control)
            if w.same and declared and texts and not after:
                after = text  # where the second one was
            else:
                texts.append((text, block.at))
        if not w.same:
            d.note_prompt(message, has_words(texts[:before]), has_words(texts[before:]), log)
    words = d.join_texts(texts, log)
    if not w.same and messages and not words and not declared:
        return None
    if not declared:
        return words
    usual = words
    if reading.TRIGGER not in words:
        usual = f"{words}\n{reading.TRIGGER}" if words else reading.TRIGGER
    if not w.same:
        note_trigger(d, words, usual, messages, log)
    return usual + declared + after


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
    d: FunctionGemma, pieces: list[Piece], messages: Sequence[Message], w: Writing
) -> None:
    names: dict[str, str] = {}  # the tool of each call, by its id
    values = Values(w.log, w.same)
    for message in messages:
        if message.extras is not None:
            d.lose(message.extras, message.at, w.log)
        match message.role:
            case "tool":
                for block in message.content:
                    if not isinstance(block, ToolResult):
                        raise Malformed("only tool results are allowed in a tool message", block.at)
                    pieces.append(("tool", write_result(d, block, names, w, values)))
                continue
            case "assistant":
                text = write_assistant(d, message, names, w, values)
                if w.same:
                    kind = reading.kind_of(message)
                else:
                    kind = "call" if text.endswith(CALLED) else "assistant"
            case "system":
                if pieces and not w.same:
                    why = f"{d.name} has one system prompt; written as `developer`"
                    w.log.approximated("message.role", message.at, why)
                kind, text = "developer", write_spoken(d, message, w)
            case role:
                kind, text = role, write_spoken(d, message, w)
        if text or w.same:
            pieces.append((kind, text))
        else:
            d.omit_message(message, w.log)


def write_spoken(d: FunctionGemma, message: Message, w: Writing) -> str:
    """The words of the user, or of the developer in between."""
    control = TURN_TOKENS if w.same else CONTROL
    if (alone := only_text(d, message, w)) is not None:
        return alone
    texts = [
        (trim(d, text, block.at, w.log, control), block.at)
        for block in message.content
        if (text := d.plain(block, w.log)) is not None
    ]
    return d.join_texts(texts, w.log)


def only_text(d: FunctionGemma, message: Message, w: Writing) -> str | None:
    """The words of a message that is one text, as most are; None where anything is to be noted."""
    content = message.content
    if len(content) != 1 or w.same:
        return None
    block = content[0]
    if block.__class__ is not Text or block.extras is not None:
        return None
    text = block.text.strip()
    return text if text and text == block.text and "<" not in text else None


def trim(d: FunctionGemma, text: str, at: str, log: Ledger, control: re.Pattern[str]) -> str:
    """The official template trims every text; what is nothing but space is empty."""
    bare = text.strip()
    if bare and bare != text:
        log.approximated("text.space", at, f"{d.name} does not keep white space around a text")
    return defuse(bare, at, log, control)


def write_assistant(
    d: FunctionGemma, message: Message, names: dict[str, str], w: Writing, values: Values
) -> str:
    """Text, then calls; in the same dialect, in the order in which they were written.

    ``names`` gets the tool of each call, by its id.
    """
    if (alone := only_text(d, message, w)) is not None:
        return alone
    control = SAID_TOKENS if w.same else CONTROL
    texts: list[tuple[str, str]] = []
    out: list[str] = []
    for block in message.content:
        if isinstance(block, ToolCall):
            if texts and w.same:
                out.append(d.join_texts(texts, w.log))
                texts = []
            out.append(write_call(d, block, w, values))
            if block.id is not None:
                names[block.id] = block.name
        elif (text := d.plain(block, w.log)) is not None:
            texts.append((trim(d, text, block.at, w.log, control), block.at))
    if texts and w.same:
        return "".join(out) + d.join_texts(texts, w.log)
    return d.join_texts(texts, w.log) + "".join(out) if texts else "".join(out)


def write_call(d: FunctionGemma, call: ToolCall, w: Writing, values: Values) -> str:
    d.lose_call(call, w)
    name, custom = w.tool_name(call.name, call.at), call.kind == "custom"
    arguments = {"input": call.arguments} if custom else object_of(call, w.log)
    text = values.text(arguments, call.at)
    if values.sorted:
        w.log.approximated("tool_call.arguments", call.at, sorted_keys(d.name))
    return f"{CALL}call:{name}{text}{CALLED}"


@cache
def sorted_keys(target: str) -> str:
    return f"{target} sorts the keys of the arguments"


@cache
def no_ids(target: str) -> str:
    return f"{target} has no field for call ids; results match calls by name and order"


def write_result(
    d: FunctionGemma, result: ToolResult, names: dict[str, str], w: Writing, values: Values
) -> str:
    log, called = w.log, result.call_id
    if called is not None:
        log.dropped("tool_call.id", result.at, no_ids(d.name))
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
    if result.extras is not None:
        d.lose(result.extras, result.at, log)
    name = w.tool_name(name, result.at)
    texts = [text for block in result.content if (text := d.plain(block, log)) is not None]
    value = value_of(d, result, texts[0], w, values) if texts else "{}"
    return f"{RESPOND}response:{name}{value}{RESPONDED}"


def value_of(d: FunctionGemma, result: ToolResult, text: str, w: Writing, values: Values) -> str:
    """A result as an object: its own, or its text as the only ``value``."""
    found = object_in(text)
    if found is None:
        control = VALUE_TOKENS if w.same else CONTROL
        return f"{{value:{ESCAPE}{defuse(text, result.at, w.log, control)}{ESCAPE}}}"
    if not w.same and (encode(found) != text.encode() or is_unsorted(found)):
        why = f"a JSON object is written in the notation of {d.name}: sorted, without spaces"
        w.log.approximated("tool_result", result.at, why)
    return values.text(found, result.at)


def leading(messages: Sequence[Message], same: bool) -> int:
    """How many messages make up the system prompt."""
    count = 0
    for message in messages:
        if message.role not in LEADING or (same and (count or message.role != "system")):
            break
        count += 1
    return count


def object_in(text: str) -> dict[str, Json] | None:
    """The JSON object that a text is, unless it would be read as something else."""
    if not text.startswith("{"):
        return None
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
