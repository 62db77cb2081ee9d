"""Steps of the Interactions API, both ways.

An interaction is a flat list of steps. Everything the model does between two steps of others is one
assistant message in the tree: its outputs, thoughts and calls, in their order. Texts and media of
one ``model_output`` are blocks; what that step says beyond them is kept by the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from ...core.reading import (
    as_dict,
    compact,
    maybe_bool,
    maybe_dict,
    maybe_list,
    maybe_str,
    need_str,
    only,
)
from ...core.turns import split_results
from ...core.writing import Writing, is_plain_text, joined, json_of
from ...errors import Malformed
from ...model import (
    Block,
    Extras,
    Hosted,
    Json,
    Media,
    Message,
    Raw,
    Reasoning,
    Signature,
    Text,
    ToolCall,
    ToolResult,
)
from ...tools import freeform
from . import contents
from .contents import BEGINS, CONTENTS, JOINS

if TYPE_CHECKING:
    from . import GeminiInteractions

STEP = "step"
"""The spelling of a block that is a step of its own, and not a content."""
USER, MODEL, THOUGHT = "user_input", "model_output", "thought"
CALL, RESULT = "function_call", "function_result"
STEP_KEYS = frozenset({"type", "content"})
THOUGHT_KEYS = frozenset({"type", "signature", "summary"})
CALL_KEYS = frozenset({"type", "id", "name", "arguments"})
RESULT_KEYS = frozenset({"type", "call_id", "name", "result", "is_error"})
PLAIN_STEP = only("type", "content")
# What other dialects call the same service.
SERVICES = {
    "google_search": "web_search",
    "url_context": "web_fetch",
    "google_maps": "maps",
    "mcp_server_tool": "mcp",
}
Phase = Literal["call", "result"]
PHASES: tuple[Phase, ...] = ("call", "result")
Called = dict[str, str]
"""The names of the calls so far, by id."""


def read_steps(d: GeminiInteractions, docs: list[Json], at: str, out: list[Message]) -> None:
    run: list[Block] = []  # what the model did last
    start = ""
    called: Called = {}
    for index, item in enumerate(docs):
        where = f"{at}/{index}"
        doc = as_dict(item, where)
        kind = need_str(doc, "type", where)
        if is_of_model(kind):
            start = start if run else where
            read_step(d, doc, kind, where, run, called)
            continue
        if run:
            out.append(Message("assistant", tuple(run), at=start))
            run.clear()
        if kind == USER:
            read_user(d, doc, where, out, called)
        elif kind == RESULT:
            out.append(Message("tool", (read_result(d, doc, where, called),), at=where))
        else:
            add_content(d, doc, where, out, index > 0 and is_bare(docs[index - 1]))
    if run:
        out.append(Message("assistant", tuple(run), at=start))


def is_of_model(kind: str) -> bool:
    """Whether a step is the model's: all are but what the user says, and the results of tools."""
    return kind not in (USER, RESULT) and kind not in CONTENTS


def is_bare(doc: Json) -> bool:
    """Whether a content stands where a step should."""
    return doc.get("type") in tuple(CONTENTS)


def write_steps(d: GeminiInteractions, messages: Sequence[Message], w: Writing) -> list[Json]:
    out: list[Json] = []
    called: Called = {}
    run = False  # the last step is the model's, and what it does next is of the same turn
    for message in messages:
        if message.role == "assistant":
            d.lose(message.extras, message.at, w.log)
            before = len(out)
            write_turn(d, message.content, out, w, called)
            if len(out) == before and not w.same:
                d.omit_message(message, w.log)
            elif run and not w.same:
                d.merge_message(message, w.log)
            run = run or len(out) > before
            continue
        run = False
        if message.role == "tool":
            write_results(d, message, out, w, called)
        else:
            write_user(d, message, out, w)
    return out


# -- the user -------------------------------------------------------------------------------------


def add_content(
    d: GeminiInteractions, doc: dict[str, Json], at: str, out: list[Message], more: bool
) -> None:
    """A content without a step: with those that stand beside it, it is what the user says."""
    block = contents.read_content(d, doc, at)
    if more:
        last = out[-1]
        out[-1] = Message("user", (*last.content, block), at=last.at)
    else:
        out.append(Message("user", (block,), at=at))


def read_user(
    d: GeminiInteractions, doc: dict[str, Json], at: str, out: list[Message], called: Called
) -> None:
    """What the user says. Some clients put the results of tools there too."""
    blocks: list[Block] = []
    for index, item in enumerate(maybe_list(doc, "content", at) or ()):
        where = f"{at}/content/{index}"
        part = as_dict(item, where)
        if part.get("type") == RESULT:
            blocks.append(read_result(d, part, where, called))
        else:
            blocks.append(contents.read_content(d, part, where))
    extras = None if PLAIN_STEP(doc) else d.keep(doc, STEP_KEYS)
    if any(isinstance(block, ToolResult) for block in blocks):
        split_results(blocks, at, extras, out)
    else:
        out.append(Message("user", tuple(blocks), at=at, extras=extras))


def write_user(d: GeminiInteractions, message: Message, out: list[Json], w: Writing) -> None:
    written = contents.write_contents(d, message.content, w)
    if not written and not w.same:
        d.lose(message.extras, message.at, w.log)
        d.omit_message(message, w.log)
        return
    out.append(d.emit({"type": USER, "content": written}, message, w.log))


# -- tools ----------------------------------------------------------------------------------------


def read_call(d: GeminiInteractions, doc: dict[str, Json], at: str, called: Called) -> ToolCall:
    call_id, name = maybe_str(doc, "id", at), need_str(doc, "name", at)
    given = maybe_dict(doc, "arguments", at)
    if call_id is not None:
        called[call_id] = name
    text = "" if given is None else compact(given)
    return ToolCall(call_id, name, text, at=at, extras=d.keep(doc, CALL_KEYS))


def write_call(
    d: GeminiInteractions, call: ToolCall, w: Writing, called: Called
) -> dict[str, Json]:
    call = freeform.as_function(call)
    out: dict[str, Json] = {"type": CALL}
    name = w.tool_name(call.name, call.at)
    if call.id is not None or not w.same:
        out["id"] = w.call_id(call)
        called[out["id"]] = name
    out["name"] = name
    out["arguments"] = json_of(call, w.log)
    return d.emit(out, call, w.log)


def read_result(d: GeminiInteractions, doc: dict[str, Json], at: str, called: Called) -> ToolResult:
    """The result of a tool. Its name says nothing new where the call is known by its id."""
    call_id, name = maybe_str(doc, "call_id", at), maybe_str(doc, "name", at)
    if call_id is not None and called.get(call_id) == name:
        name = None
    return ToolResult(
        call_id,
        read_result_content(d, doc.get("result"), f"{at}/result"),
        maybe_bool(doc, "is_error", at),
        name,
        at=at,
        extras=d.keep(doc, RESULT_KEYS),
    )


def read_result_content(d: GeminiInteractions, result: Json, at: str) -> tuple[Block, ...]:
    """A string, contents, or any object, which is JSON text elsewhere."""
    if result is None:
        return ()
    if result.__class__ is str:
        return (Text(result, at=at),)
    if result.__class__ is list and all(map(is_content, result)):
        return tuple(contents.read_contents(d, result, at))
    return (Text(compact(result), at=at),)


def is_content(value: Json) -> bool:
    return value.__class__ is dict and value.get("type").__class__ is str


def write_results(
    d: GeminiInteractions, message: Message, out: list[Json], w: Writing, called: Called
) -> None:
    found: list[Json] = []
    for block in message.content:
        if not isinstance(block, ToolResult):
            raise Malformed("only tool results are allowed in a tool message", block.at)
        found.append(write_result(d, block, w, called))
    extras = message.extras
    if extras is not None and extras.fields and d.is_same(extras.dialect):
        # A step of the user in which results stood has fields, and its results have none.
        found = [d.emit({"type": USER, "content": found}, message, w.log)]
    else:
        d.lose(extras, message.at, w.log)
    out += found


def write_result(
    d: GeminiInteractions, result: ToolResult, w: Writing, called: Called
) -> dict[str, Json]:
    out: dict[str, Json] = {"type": RESULT}
    known = None
    if result.call_id is not None or not w.same:
        out["call_id"] = w.result_id(result)
        known = called.get(out["call_id"])
    if result.name is not None:
        out["name"] = w.tool_name(result.name, result.at)
        if out["name"] == known and not w.same:
            why = f"{d.name} has no name of a result beside the name of its call"
            w.log.approximated("tool_result.name", result.at, why)
    elif known is not None:
        out["name"] = known
    out["result"] = write_result_content(d, result, w)
    if result.is_error is not None:
        out["is_error"] = result.is_error
    return d.emit(out, result, w.log)


def write_result_content(d: GeminiInteractions, result: ToolResult, w: Writing) -> Json:
    """One text is a string."""
    content = result.content
    if len(content) == 1 and is_plain_text(content[0], w.same):
        d.lose(content[0].extras, content[0].at, w.log)
        return content[0].text
    return contents.write_contents(d, content, w)


# -- the model ------------------------------------------------------------------------------------


def read_reply(d: GeminiInteractions, docs: list[Json], at: str) -> tuple[Block, ...]:
    """The steps of a response. What is not the model's is not what it replies."""
    run: list[Block] = []
    for index, item in enumerate(docs):
        where = f"{at}/{index}"
        doc = as_dict(item, where)
        kind = need_str(doc, "type", where)
        if is_of_model(kind):
            read_step(d, doc, kind, where, run, {})
        else:
            run.append(whole_step(d, doc, where))
    return tuple(run)


def whole_step(d: GeminiInteractions, doc: dict[str, Json], at: str) -> Raw:
    return Raw(d.name, doc, at=at, extras=Extras(d.name, spelling={STEP: True}))


def is_step(block: Block) -> bool:
    """Whether a block that only one dialect knows is a step of its own."""
    return block.extras is not None and STEP in block.extras.spelling


def is_part(d: GeminiInteractions, block: Block) -> bool:
    """Whether a block stands in an output of the model."""
    if isinstance(block, Text | Media):
        return True
    return isinstance(block, Raw) and d.is_same(block.dialect) and not is_step(block)


def read_step(
    d: GeminiInteractions,
    doc: dict[str, Json],
    kind: str,
    at: str,
    run: list[Block],
    called: Called,
) -> None:
    """One step of the model, appended to what it did before."""
    if kind == MODEL:
        read_output(d, doc, at, run)
    elif kind == THOUGHT:
        run.append(read_thought(d, doc, at))
    elif kind == CALL:
        run.append(read_call(d, doc, at, called))
    else:
        run.append(read_other(d, doc, kind, at))


def read_other(d: GeminiInteractions, doc: dict[str, Json], kind: str, at: str) -> Block:
    """What Google's own tools do, and steps that are not known."""
    service, _, word = kind.rpartition("_")
    phase = next((p for p in PHASES if p == word), None)
    if not service or phase is None:
        return whole_step(d, doc, at)
    key = "id" if phase == "call" else "call_id"
    name = SERVICES.get(service, service)
    return Hosted(d.name, name, doc, phase, id=maybe_str(doc, key, at), at=at)


def read_output(d: GeminiInteractions, doc: dict[str, Json], at: str, run: list[Block]) -> None:
    blocks = contents.read_contents(d, maybe_list(doc, "content", at) or [], f"{at}/content")
    if not blocks:
        run.append(whole_step(d, doc, at))  # it says nothing
        return
    for number, (before, block) in enumerate(pairwise(blocks), 1):
        if are_texts(before, block):
            blocks[number] = contents.spell(d, block, JOINS)
    begins = bool(run) and is_part(d, run[-1]) and not are_texts(run[-1], blocks[0])
    extras = None if PLAIN_STEP(doc) else d.keep(doc, STEP_KEYS)
    blocks[0] = contents.mark(d, blocks[0], extras, at, begins)
    run += blocks


def are_texts(before: Block | None, block: Block) -> bool:
    """Whether two contents are texts. In a stream, two texts of one step would become one."""
    return isinstance(before, Text) and isinstance(block, Text)


def is_spelled(d: GeminiInteractions, block: Block, word: str) -> bool:
    extras = block.extras
    return extras is not None and d.is_same(extras.dialect) and word in extras.spelling


def begins_step(d: GeminiInteractions, before: Block | None, block: Block) -> bool:
    """Whether a content begins a step of its own after another content."""
    if is_spelled(d, block, BEGINS):
        return True
    return are_texts(before, block) and not is_spelled(d, block, JOINS)


def write_turn(
    d: GeminiInteractions,
    content: Sequence[Block],
    out: list[Json],
    w: Writing,
    called: Called,
) -> None:
    """What the model did, as steps; a text and the media around it share one."""
    before: Block | None = None
    for block in content:
        if is_part(d, block):
            doc = contents.write_content(d, block, w)
            if before is not None and not begins_step(d, before, block):
                out[-1]["content"].append(doc)
            else:
                out.append(write_output(d, block, doc, w))
            before = block
        elif (step := write_step(d, block, w, called)) is not None:
            out.append(step)
            before = None


def write_output(d: GeminiInteractions, first: Block, doc: Json, w: Writing) -> dict[str, Json]:
    out: dict[str, Json] = {"type": MODEL, "content": [doc]}
    return d.emit(out, contents.step_of(d, first), w.log)


def write_step(d: GeminiInteractions, block: Block, w: Writing, called: Called) -> Json | None:
    match block:
        case ToolCall():
            return write_call(d, block, w, called)
        case Reasoning():
            return write_thought(d, block, w)
        case Hosted() | Raw() if d.is_same(block.dialect):
            return block.payload
        case _:
            d.omit(block, w.log)
            return None


def read_thought(d: GeminiInteractions, doc: dict[str, Json], at: str) -> Block:
    """A thought: its signature, and a summary. One with pictures is kept whole."""
    texts = [text_of(part) for part in maybe_list(doc, "summary", at) or ()]
    if None in texts:
        return whole_step(d, doc, at)
    signature, text = maybe_str(doc, "signature", at), joined(filter(None, texts))
    return Reasoning(
        (text,) if text else (),
        signature=Signature(signature, d.issuer) if signature else None,
        at=at,
        extras=d.keep(doc, THOUGHT_KEYS),
    )


def text_of(part: Json) -> str | None:
    """The text of a plain content; None of any other."""
    if part.__class__ is not dict or not contents.PLAIN_TEXT(part):
        return None
    return (
        part["text"] if part.get("type") == "text" and part.get("text").__class__ is str else None
    )


def write_thought(d: GeminiInteractions, block: Reasoning, w: Writing) -> dict[str, Json]:
    out: dict[str, Json] = {"type": THOUGHT}
    if block.signature is not None:
        out["signature"] = block.signature.data
    if block.content:
        out["summary"] = [{"type": "text", "text": joined(block.content)}]
    return d.emit(out, block, w.log)
