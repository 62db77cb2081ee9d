"""A conversation as the list of UI messages that an application stores, both ways.

A message of the assistant holds all steps of a reply, and the part of a tool its call and its
result. As ``convertToModelMessages`` reads it, each step is a turn of the assistant, followed by
the results of its calls; so turns without one of the user between them become one message.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.reading import (
    UNREADABLE,
    as_dict,
    compact,
    decode,
    need_list,
    need_str,
    only,
    sole,
    tokens,
)
from ...core.turns import mark_custom_results, results_in_place
from ...core.writing import Writing
from ...errors import Malformed
from ...ledger import Ledger
from ...model import (
    Block,
    Extras,
    History,
    Json,
    Message,
    Raw,
    Reasoning,
    Role,
    Signature,
    Text,
    ToolCall,
    ToolResult,
)
from .. import _stored
from . import message as own
from .message import CALL_METADATA, METADATA, OUTCOME

if TYPE_CHECKING:
    from . import VercelUI

ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}
KEYS = ("role", "parts")
OF_USER = ("text", "file")
"""The parts of a user, and of a system prompt; others are kept as they are."""
SPOKEN = ["assistant"]
STEP = {"type": "step-start"}
RESULT_KEYS = (*OUTCOME, "resultProviderMetadata")
"""What a tool's part says of the result, and not of the call."""
ITEM, ENCRYPTED = "itemId", "reasoningEncryptedContent"
ITEM_KEYS, ITEM_ONLY = only(ITEM, ENCRYPTED), only(ITEM)
SUCCESS = "output-available"
FAILURES = ("output-error", "output-denied", "approval-responded")
DENIED = "Tool call execution denied."
"""What the SDK tells the model of a call that was denied without a reason."""
WAITING = "input-available"


def read_messages(d: VercelUI, doc: Json) -> History:
    return _stored.read_list(d, doc, lambda docs, at: read_history(d, docs, at))


def write_messages(d: VercelUI, tree: History, log: Ledger) -> Json:
    w = own.writing(d, log, tree.dialect)
    return _stored.write_list(d, tree, lambda messages: write_history(d, messages, w), log)


def made_id(index: int) -> str:
    """The id of a message to which the application has given none."""
    return f"msg-{index + 1}"


# -- reading --------------------------------------------------------------------------------


def read_history(d: VercelUI, docs: list[Json], at: str) -> list[Message]:
    out: list[Message] = []
    for index, (token, item) in enumerate(zip(tokens(docs), docs, strict=False)):
        where = at + token
        doc = as_dict(item, where)
        given = need_str(doc, "role", where)
        if (role := ROLES.get(given)) is None:
            raise Malformed(f"unknown role {given!r}; there are: {', '.join(ROLES)}", where)
        parts = need_list(doc, "parts", where)
        taken = (*KEYS, "id") if doc.get("id") == made_id(index) else KEYS
        extras = d.keep(doc, taken)
        if role == "assistant":
            out += read_steps(d, parts, where, extras)
        else:
            content = tuple(read_spoken(d, parts, f"{where}/parts"))
            out.append(Message(role, content, at=where, extras=extras))
    return mark_custom_results(out)


def read_spoken(d: VercelUI, parts: list[Json], at: str) -> list[Block]:
    """What a user says, or a system prompt."""
    out: list[Block] = []
    for token, item in zip(tokens(parts), parts, strict=False):
        where = at + token
        part = as_dict(item, where)
        kind = need_str(part, "type", where)
        known = kind in OF_USER
        out.append(own.read_part(d, part, kind, where) if known else Raw(d.name, part, at=where))
    return out


def read_steps(d: VercelUI, parts: list[Json], at: str, extras: Extras | None) -> list[Message]:
    """A turn for each step, followed by the results of its calls."""
    out: list[Message] = []
    content: list[Block] = []
    results: list[Message] = []
    start = at

    def end_step() -> None:
        nonlocal extras
        if content:
            out.append(Message("assistant", tuple(content), at=start, extras=extras))
            extras = None
            out.extend(results)
            content.clear()
            results.clear()

    for token, item in zip(tokens(parts), parts, strict=False):
        where = f"{at}/parts{token}"
        part = as_dict(item, where)
        kind = need_str(part, "type", where)
        if kind == "step-start":
            end_step()
            if sole(part):  # else it says more, and is kept
                continue
        if not content and out:
            start = where
        read_into(d, part, kind, where, content, results)
    end_step()
    return out or [Message("assistant", (), at=at, extras=extras)]


def read_into(
    d: VercelUI,
    part: dict[str, Json],
    kind: str,
    at: str,
    content: list[Block],
    results: list[Message],
) -> None:
    last = content[-1] if content else None
    if kind == "source-url" and isinstance(last, Text):
        if (cite := own.read_source(d, part, at)) is not None:
            content[-1] = replace(last, citations=(*last.citations, cite))
            return
    if kind == "reasoning":
        add(content, read_reasoning(d, part, at))
    elif (kind.startswith("tool-") or kind == "dynamic-tool") and not is_providers(part):
        call, result = read_call(d, part, kind, at)
        content.append(call)
        if result is not None:
            results.append(Message("tool", (result,), at=at))
    else:
        content.append(own.read_part(d, part, kind, at))


def is_providers(part: dict[str, Json]) -> bool:
    return part.get("providerExecuted") is True


def read_call(
    d: VercelUI, part: dict[str, Json], kind: str, at: str
) -> tuple[Block, ToolResult | None]:
    state = part.get("state")
    block = own.read_tool(d, {k: v for k, v in part.items() if k not in RESULT_KEYS}, kind, at)
    assert isinstance(block, ToolCall)
    block = with_item(block)
    rest = {key: part[key] for key in RESULT_KEYS if key in part}
    outcome = read_outcome(part, state, at)
    if outcome is None:
        if rest:  # of a result that there is not yet
            fields = {key: value for key, value in rest.items() if value is not None}
            held = block.extras or Extras(d.name)
            block = replace(block, extras=replace(held, fields=held.fields | fields))
        return block, None
    text, failed, taken = outcome
    is_value = state == SUCCESS and part.get("output").__class__ is not str
    extras = d.keep(rest, taken, {"output": "json"} if is_value else None)
    return block, ToolResult(block.id, (text,), failed, at=at, extras=extras)


def with_item(call: ToolCall) -> ToolCall:
    """A call with the id that OpenAI's item of it has, which stands among its metadata."""
    extras = call.extras
    meta = extras.fields.get(CALL_METADATA) if extras is not None else None
    item = meta.get("openai") if meta.__class__ is dict and sole(meta) else None
    if extras is None or item.__class__ is not dict or not item or not ITEM_ONLY(item):
        return call
    if item[ITEM].__class__ is not str:
        return call
    fields = {key: value for key, value in extras.fields.items() if key != CALL_METADATA}
    bare = not (fields or extras.spelling or extras.signature)
    return replace(
        call, item_id=item[ITEM], extras=None if bare else replace(extras, fields=fields)
    )


def read_outcome(
    part: dict[str, Json], state: Json, at: str
) -> tuple[Text, bool | None, tuple[str, ...]] | None:
    """What a tool returned, whether it failed, and where that stood; None: there is no result."""
    if state == SUCCESS:
        value = part.get("output")
        text = value if value.__class__ is str else compact(value)
        where = f"{at}/output" if "output" in part else at
        return Text(text, at=where), None, ("output",)
    if state == "output-error":
        return Text(need_str(part, "errorText", at), at=f"{at}/errorText"), True, ("errorText",)
    approval = part.get("approval")
    denied = approval.__class__ is dict and approval.get("approved") is False
    if state == "output-denied" or (state == "approval-responded" and denied):
        reason = approval.get("reason") if approval.__class__ is dict else None
        text = reason if reason.__class__ is str else DENIED
        return Text(text, at=at), True, ()
    return None


def read_reasoning(d: VercelUI, part: dict[str, Json], at: str) -> Block:
    """Reasoning; that of OpenAI is an item with an id, and what is shown of it a summary."""
    meta = part.get(METADATA)
    item = meta.get("openai") if meta.__class__ is dict else None
    if item.__class__ is not dict or not ITEM_KEYS(item):
        return own.read_reasoning(d, part, at)
    item_id, data = item.get(ITEM), item.get(ENCRYPTED)
    if not all(each is None or each.__class__ is str for each in (item_id, data)):
        return own.read_reasoning(d, part, at)
    if item_id is None and not data:
        return own.read_reasoning(d, part, at)
    text = need_str(part, "text", at)
    signature = None if data is None else Signature(data, "openai", "encrypted")
    notes = own.note_state(part, "done")
    extras = d.keep(part, (*own.TEXT_KEYS, "id"), notes, partly={METADATA: ("openai",)})
    return Reasoning((), (text,) if text else (), signature, item_id, at=at, extras=extras)


def add(out: list[Block], block: Block) -> None:
    """One more block; the summaries of one item of OpenAI are one block."""
    last = out[-1] if out else None
    if (
        isinstance(last, Reasoning)
        and isinstance(block, Reasoning)
        and last.id is not None
        and (last.id, last.signature) == (block.id, block.signature)
        and last.extras is block.extras is None
        and last.summary
        and block.summary
    ):
        out[-1] = replace(last, summary=(*last.summary, *block.summary))
    else:
        out.append(block)


# -- writing --------------------------------------------------------------------------------


class Called:
    """A call that was written, and waits for its result."""

    __slots__ = ("call", "part", "place")

    def __init__(self, call: ToolCall, part: dict[str, Json], place: int) -> None:
        self.call, self.part, self.place = call, part, place


class Calls:
    """The calls that were written so far; in the same dialect, several may have one id."""

    def __init__(self) -> None:
        self.waiting: dict[str, deque[Called]] = {}
        self.count = 0

    def add(self, call: ToolCall, part: dict[str, Json]) -> None:
        self.waiting.setdefault(part["toolCallId"], deque()).append(Called(call, part, self.count))
        self.count += 1

    def reply(self, call_id: str) -> Called | None:
        """The first call of that id that has no result yet."""
        waiting = self.waiting.get(call_id)
        return waiting.popleft() if waiting else None


def write_history(d: VercelUI, messages: Sequence[Message], w: Writing) -> list[Json]:
    out: list[Json] = []
    calls = Calls()
    last = -1  # the place of the call whose result was written last
    turns = results_in_place(messages, w.log, apart=True)
    for index, message in enumerate(turns):
        if message.role == "assistant":
            beside = turns[index + 1 : index + 2]
            joins = bool(out) and out[-1]["role"] == "assistant"
            if not (message.content or w.same) and (joins or [m.role for m in beside] == SPOKEN):
                d.lose(message.extras, message.at, w.log)
                d.omit_message(message, w.log)  # a step of nothing is none
                continue
            write_turn(d, message, out, calls, w)
            last = -1
        elif message.role == "tool":
            last = write_result(d, message, calls, last, w)
        else:
            parts = write_spoken(d, message, w)
            if not parts and not w.same:
                d.add_text(message.at, w.log)
                parts = [{"type": "text", "text": ""}]
            doc = {"id": made_id(len(out)), "role": message.role, "parts": parts}
            out.append(d.emit(doc, message, w.log))
    return out


def write_spoken(d: VercelUI, message: Message, w: Writing) -> list[Json]:
    out: list[Json] = []
    for block in message.content:
        for part in own.write_part(d, block, w):
            if part["type"] == "text" and "state" not in d.spelling(block):
                del part["state"]  # a text that is typed does not stream
            out.append(part)
    return out


def write_turn(d: VercelUI, message: Message, out: list[Json], calls: Calls, w: Writing) -> None:
    """A turn as a step of the message that is being written, or of a new one."""
    extras = message.extras
    begins = extras is not None and d.is_same(extras.dialect) and bool(extras.fields)
    if not out or out[-1]["role"] != "assistant" or begins:
        out.append({"id": made_id(len(out)), "role": "assistant", "parts": []})
    doc = out[-1]
    doc["parts"].append(dict(STEP))
    for block in message.content:
        if isinstance(block, Reasoning):
            doc["parts"] += write_reasoning(d, block, w)
            continue
        written = own.write_part(d, block, w)
        doc["parts"] += written
        if isinstance(block, ToolCall):
            (part,) = written
            if part["state"] in (SUCCESS, *FAILURES):
                part["state"] = WAITING  # until there is a result
            if block.item_id is not None:
                part.setdefault(CALL_METADATA, {})["openai"] = {ITEM: block.item_id}
            calls.add(block, part)
    d.emit(doc, message, w.log)


def write_reasoning(d: VercelUI, block: Reasoning, w: Writing) -> list[Json]:
    signature = block.signature
    ours = signature is not None and (signature.issuer, signature.kind) == ("openai", "encrypted")
    if block.id is None and not ours:
        return [own.write_reasoning(d, block, w)]
    item: dict[str, Json] = {} if block.id is None else {ITEM: block.id}
    if block.signature is not None:
        item[ENCRYPTED] = block.signature.data
    state = d.spelling(block).get("state", "done")
    out: list[Json] = []
    for text in block.words or ("",):
        part: dict[str, Json] = {"type": "reasoning", "text": text, "state": state}
        out.append(part | {METADATA: {"openai": dict(item)}})
    d.emit(out[0], block, w.log)
    return out


def write_result(d: VercelUI, message: Message, calls: Calls, last: int, w: Writing) -> int:
    """A result in the part of its call."""
    result = message.content[0] if len(message.content) == 1 else None
    if not isinstance(result, ToolResult):
        raise Malformed("only one tool result is allowed in a tool message", message.at)
    d.lose(message.extras, message.at, w.log)
    call_id, called = None, None
    if result.call_id is not None or w.waiting is not None:
        call_id = w.once(w.result_id(result), result)
        called = calls.reply(call_id)
    if called is None:
        known = call_id in calls.waiting
        why = "its call has a result already" if known else "its call is missing"
        text = f"{d.name} writes results in the part of the call, and {why}"
        w.log.dropped("tool_result", result.at, text)
        d.lose(result.extras, result.at, w.log)
        return last
    if called.place < last:
        why = f"{d.name} has the results of a turn in the order of its calls"
        w.log.moved("message.position", message.at, why)
    name_result(d, result, called.call, w)
    write_outcome(d, result, called, w)
    return max(last, called.place)


def name_result(d: VercelUI, result: ToolResult, call: ToolCall, w: Writing) -> None:
    if result.name is None:
        return
    if result.name == call.name:
        why = f"{d.name} takes the tool name of a result from its call"
        w.moved("tool_result.name", result.at, why)
    else:
        why = f"{d.name} has no name of a result beside that of its call"
        w.log.dropped("tool_result.name", result.at, why)


def write_outcome(d: VercelUI, result: ToolResult, called: Called, w: Writing) -> None:
    part, spelled = called.part, d.spelling(called.call).get("state")
    if not result.is_error:
        part["state"] = SUCCESS
        part.pop("approval", None) if spelled in FAILURES[1:] else None
        part["output"] = value_of(d, result, w)
    elif spelled in FAILURES[1:] and w.same:
        part["state"] = spelled  # the reason stands in the approval
    else:
        part["state"] = "output-error"
        part["errorText"] = text_of(d, result, w)
    if part["state"] != "output-error" and "rawInput" in part:
        part["input"] = part.pop("rawInput")
    d.emit(part, result, w.log)


def value_of(d: VercelUI, result: ToolResult, w: Writing) -> Json:
    """What a tool returned: the JSON value that it was, or a text."""
    text = text_of(d, result, w)
    if d.spelling(result).get("output") != "json":
        return text
    try:
        return decode(text)
    except UNREADABLE:
        return text


def text_of(d: VercelUI, result: ToolResult, w: Writing) -> str:
    texts: list[str] = []
    for block in result.content:
        if isinstance(block, Text):
            if texts:
                d.join_text(block.at, w.log)
            d.lose(block.extras, block.at, w.log)
            texts.append(block.text)
        else:
            why = f"{d.name} allows only text in the result of a tool"
            w.log.dropped("tool_result.content", block.at, why)
    return "\n".join(texts)
