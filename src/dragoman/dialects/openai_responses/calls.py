"""Calls, results and reasoning of the OpenAI Responses API, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.lowering import SEARCH
from ...core.reading import compact, expected, maybe_bool, maybe_str, need_str, only, parse
from ...core.writing import is_blank, is_plain_text, object_of
from ...errors import Malformed
from ...ledger import Ledger
from ...model import Block, Extras, Json, Raw, Reasoning, Signature, Text, ToolCall, ToolResult
from ...tools.tool_errors import unmark_error
from .parts import (
    INPUT,
    NAME,
    PLAIN_TEXT,
    ItemWriting,
    Reader,
    bare_text,
    part_of,
    read_parts,
    write_parts,
)

if TYPE_CHECKING:
    from .base import ResponsesBase


CALL_KEYS = frozenset({"type", "id", "call_id", "name", "arguments", "namespace"})
CUSTOM_KEYS = frozenset({"type", "id", "call_id", "name", "input", "namespace"})
RESULT_KEYS = frozenset({"type", "call_id", "output", "name"})
NAMED_RESULT_KEYS = RESULT_KEYS | {"namespace"}
SEARCH_KEYS = frozenset({"type", "id", "call_id", "arguments", "execution"})
FOUND_KEYS = frozenset({"type", "call_id", "tools", "execution"})
STATUS = frozenset({"status"})
REASONING_KEYS = frozenset({"type", "id", "summary", "content", "encrypted_content"})
TOOL_USE_KEYS = frozenset({"type", "id", "name", "input"})
TOOL_RESULT_KEYS = frozenset({"type", "tool_use_id", "content", "is_error"})

CALL, CUSTOM = "function_call", "custom_tool_call"
CALL_TYPES = {"custom": CUSTOM, "search": f"{SEARCH}_call"}
CALL_OUTPUT = f"{CALL}_output"
PLAIN_CALL = only("type", "call_id", "name", "arguments")
PLAIN_RESULT = only("type", "call_id", "output")
RESULTS = {CALL_OUTPUT: "function", f"{CUSTOM}_output": "custom"}
SEARCH_CALL, SEARCH_OUTPUT = f"{SEARCH}_call", f"{SEARCH}_output"
OWN_ID = "an item id for a tool call"
ITEM_PREFIX = {"function": "fc", "custom": "ctc", "search": "tsc"}


def keep_item(d: ResponsesBase, doc: dict[str, Json], taken: frozenset[str]) -> Extras | None:
    """``keep`` for items, which are usually completed, and that says nothing."""
    return d.keep(doc, taken | STATUS if doc.get("status") == "completed" else taken)


def read_call(d: ResponsesBase, doc: dict[str, Json], at: str) -> ToolCall:
    return ToolCall(
        maybe_str(doc, "call_id", at),
        need_str(doc, "name", at),
        read_arguments(doc, "arguments", at),
        item_id=maybe_str(doc, "id", at),
        at=at,
        extras=keep_item(d, doc, CALL_KEYS),
        namespace=maybe_str(doc, "namespace", at),
    )


def write_call(d: ResponsesBase, call: ToolCall, w: ItemWriting) -> Json:
    name, text = call.name, call.arguments
    if (
        call.extras is None
        and call.cache is None
        and call.item_id is None
        and call.id is not None
        and call.kind == "function"
        and call.namespace is None
        and text
        and not text.isspace()
        and not (w.reply and w.same)
    ):  # the usual shape
        call_id = call.id if w.ids.stays(call.id) else w.call_id(call)
        if name not in w.names.staying:
            name = w.tool_name(name, call.at)
        usual: dict[str, Json] = {"type": CALL, "call_id": call_id, "name": name, "arguments": text}
        return add_item_id(d, usual, call, w) if w.reply else usual
    custom = call.kind == "custom"
    out: dict[str, Json] = {"type": CALL_TYPES.get(call.kind, CALL)}
    if call.id is not None or not w.same:
        out["call_id"] = w.call_id(call)
    if call.kind == "search":
        out |= {"execution": "client", "arguments": search_arguments(call, w)}
    else:
        out["name"] = w.tool_name(call.name, call.at)
        if call.namespace is not None:
            out["namespace"] = call.namespace
        out["input" if custom else "arguments"] = call.arguments
        if not custom and not w.same and is_blank(call.arguments):
            out["arguments"] = "{}"
    if call.item_id is not None:
        if w.same or call.item_id.startswith(ITEM_PREFIX.get(call.kind, "fc")):
            out["id"] = call.item_id
        else:
            why = f"the id has another form than those of {d.name}"
            w.log.dropped("tool_call.item_id", call.at, why)
    if w.reply:
        add_item_id(d, out, call, w)
    return out if call.extras is None else d.emit(out, part_of(d, call), w.log)


def add_item_id(d: ResponsesBase, out: dict[str, Json], call: ToolCall, w: ItemWriting) -> Json:
    """In a reply every call has a status, and an id beside the one that pairs it."""
    out["status"] = "completed"
    if not w.same and d.names_calls and "id" not in out:  # clients go by it
        made = out["id"] = w.item_id(ITEM_PREFIX.get(call.kind, "fc"))
        w.log.later(note_item_id, d, "tool_call.item_id", OWN_ID, call, made)
    return out


def note_item_id(
    d: ResponsesBase, code: str, what: str, block: Block, made: str, log: Ledger
) -> None:
    log.invented(code, block.at, f"{d.name} requires {what}; written as {made!r}")


def read_search_call(d: ResponsesBase, doc: dict[str, Json], at: str) -> ToolCall:
    """A search for tools that the client runs; its arguments are an object."""
    value = doc.get("arguments")
    text = value if value.__class__ is str else compact(value) if value.__class__ is dict else ""
    known = text or value is None or value == ""
    return ToolCall(
        maybe_str(doc, "call_id", at),
        SEARCH,
        "{}" if is_blank(text) else text,
        "search",
        maybe_str(doc, "id", at),
        at=at,
        extras=keep_item(d, doc, SEARCH_KEYS if known else SEARCH_KEYS - {"arguments"}),
    )


def search_arguments(call: ToolCall, w: ItemWriting) -> Json:
    """The arguments of a tool search, which are an object."""
    if not w.same:
        return object_of(call, w.log)
    try:
        return parse(call.arguments)
    except Malformed:
        return call.arguments


def read_found(d: ResponsesBase, doc: dict[str, Json], at: str) -> ToolResult:
    """What the client's search found: definitions of tools."""
    docs, where = doc.get("tools"), f"{at}/tools"
    tools = () if docs is None else d.read_tool_list(docs, where)
    place = where if "tools" in doc else at
    found = Raw(NAME, docs, tools=tools, code=SEARCH, at=place)  # the same in all variants
    return ToolResult(
        maybe_str(doc, "call_id", at),
        (found,),
        kind="search",
        at=at,
        extras=keep_item(d, doc, FOUND_KEYS),
    )


def write_found(d: ResponsesBase, result: ToolResult, found: Raw, w: ItemWriting) -> Json:
    out: dict[str, Json] = {"type": SEARCH_OUTPUT}
    if result.call_id is not None or not w.same:
        out["call_id"] = w.result_id(result)
    return d.emit(out | {"execution": "client", "tools": found.payload}, result, w.log)


def read_arguments(doc: dict[str, Json], key: str, at: str) -> str:
    """The argument text; some clients send an object, and blank means no arguments."""
    value = doc.get(key)
    if value.__class__ is str:
        return "" if value.isspace() else str(value)
    if value is None:
        return ""
    if value.__class__ is not dict:
        expected("a string", value, f"{at}/{key}")
    return compact(value)


def read_custom_call(d: ResponsesBase, doc: dict[str, Json], at: str) -> ToolCall:
    return ToolCall(
        maybe_str(doc, "call_id", at),
        need_str(doc, "name", at),
        maybe_str(doc, "input", at) or "",
        "custom",
        maybe_str(doc, "id", at),
        at=at,
        extras=keep_item(d, doc, CUSTOM_KEYS),
        namespace=maybe_str(doc, "namespace", at),
    )


def read_result(d: ResponsesBase, doc: dict[str, Json], kind: str, at: str) -> ToolResult:
    failed, blocks = read_answered(d, doc, "output", at)
    name, namespace, taken = maybe_str(doc, "name", at), None, RESULT_KEYS
    if name is not None:
        namespace, taken = maybe_str(doc, "namespace", at), NAMED_RESULT_KEYS
    return ToolResult(
        maybe_str(doc, "call_id", at),
        blocks,
        True if failed else None,
        name,
        RESULTS[kind],  # type: ignore[arg-type]
        at=at,
        extras=keep_item(d, doc, taken),
        namespace=namespace,
    )


def write_result(d: ResponsesBase, result: ToolResult, w: ItemWriting) -> Json:
    content, extras, call_id = result.content, result.extras, result.call_id
    if (
        len(content) == 1
        and (extras is None or d.is_mute(extras))
        and result.name is None
        and result.cache is None
        and result.kind == "function"
        and call_id is not None
    ):
        only = content[0]
        if only.__class__ is Text and only.extras is None and only.cache is None:
            if not only.citations:  # the usual shape
                if call_id not in w.ids.staying:
                    call_id = w.result_id(result)
                return {"type": CALL_OUTPUT, "call_id": call_id, "output": only.text}
    if result.kind == "search" and (found := found_in(result)) is not None:
        return write_found(d, result, found, w)
    out: dict[str, Json] = {"type": f"{CUSTOM if result.kind == 'custom' else CALL}_output"}
    if result.call_id is not None or not w.same:
        out["call_id"] = w.result_id(result)
    out["output"] = write_answered(d, result, w)
    if result.name is not None:
        if result.kind == "custom" and not w.same:
            why = f"{d.name} has no field for the tool name of a freeform result"
            w.log.dropped("tool_result.name", result.at, why)
        else:
            out["name"] = w.tool_name(result.name, result.at)
    if result.namespace is not None:
        out["namespace"] = result.namespace
    return out if extras is None else d.emit(out, result, w.log)


def read_answered(
    d: ResponsesBase, doc: dict[str, Json], key: str, at: str
) -> tuple[bool, tuple[Block, ...]]:
    """What a tool answered, and whether it says that the tool failed."""
    output, where = doc.get(key), f"{at}/{key}"
    if output is None:
        return False, ()
    if output.__class__ is str:
        failed, text = unmark_error(output)
        return bool(failed), () if text is None else (Text(text, at=where),)
    if output.__class__ is not list:
        expected("a string or a list", output, where)
    return read_failed(tuple(read_parts(d, output, where, INPUT)))


def write_answered(d: ResponsesBase, result: ToolResult, w: ItemWriting) -> Json:
    """What a tool answered: a string, if that says it all."""
    if (text := bare_text(d, result.content, w)) is not None:
        return text
    parts = write_parts(d, result.content, w)
    return parts or ([] if w.same else "")


def read_failed(blocks: tuple[Block, ...]) -> tuple[bool, tuple[Block, ...]]:
    """Parts that begin with the mark of an error are those of a failed tool; the mark goes."""
    if not blocks or not isinstance(first := blocks[0], Text):
        return False, blocks
    failed, text = unmark_error(first.text)
    if text is None and is_bare(blocks[:1]):
        return True, blocks[1:]
    if text is None or text == first.text:
        return False, blocks
    return bool(failed), (replace(first, text=text), *blocks[1:])


def read_reasoning(d: ResponsesBase, doc: dict[str, Json], at: str) -> Block:
    summary = texts_of(doc.get("summary"), "summary_text")
    content = texts_of(doc.get("content"), "reasoning_text")
    if summary is None or content is None:
        return Raw(d.name, doc, at=at, extras=d.as_item)
    signed = maybe_str(doc, "encrypted_content", at)
    return Reasoning(
        content,
        summary,
        Signature(signed, d.issuer, "encrypted") if signed else None,
        maybe_str(doc, "id", at),
        at=at,
        extras=keep_item(d, doc, REASONING_KEYS),
    )


def write_reasoning(d: ResponsesBase, block: Reasoning, w: ItemWriting) -> Json | None:
    signature, made = block.signature, block.id
    if made is None and w.reply and not w.same:
        made = w.item_id("rs")
        w.log.later(note_reasoning_id, d, block, made)
    out: dict[str, Json] = {"type": "reasoning"}
    if made is not None:
        out["id"] = made
    # "summary" is required, even when empty.
    out["summary"] = [{"type": "summary_text", "text": text} for text in block.summary]
    if block.content:
        out["content"] = [{"type": "reasoning_text", "text": text} for text in block.content]
    if signature is not None:
        out["encrypted_content"] = signature.data
    return out if block.extras is None else d.emit(out, block, w.log)


def note_reasoning_id(d: ResponsesBase, block: Block, made: str, log: Ledger) -> None:
    log.invented("reasoning.id", block.at, f"reasoning has an id in {d.name}: {made!r}")


def read_result_part(d: ResponsesBase, doc: dict[str, Json], at: str) -> Block:
    return read_result(d, doc, doc["type"], at)


def read_tool_use(d: ResponsesBase, doc: dict[str, Json], at: str) -> ToolCall:
    call_id, name = maybe_str(doc, "id", at), need_str(doc, "name", at)
    text = read_arguments(doc, "input", at)
    return ToolCall(call_id, name, text, at=at, extras=d.keep(doc, TOOL_USE_KEYS))


def read_tool_result(d: ResponsesBase, doc: dict[str, Json], at: str) -> ToolResult:
    """A result in Anthropic's form, which has a flag for failure and needs no mark."""
    content, where = doc.get("content"), f"{at}/content"
    blocks: tuple[Block, ...] = ()
    if content.__class__ is str:
        blocks = (Text(content, at=where),)
    elif content.__class__ is list:
        blocks = tuple(read_parts(d, content, where, "text"))
    elif content is not None:
        expected("a string or a list", content, where)
    return ToolResult(
        maybe_str(doc, "tool_use_id", at),
        blocks,
        maybe_bool(doc, "is_error", at),
        at=at,
        extras=d.keep(doc, TOOL_RESULT_KEYS),
    )


CALL_PARTS: dict[str, Reader] = {
    "tool_use": read_tool_use,
    "function_call": read_call,
}


RESULT_PARTS: dict[str, Reader] = {
    "tool_result": read_tool_result,
    "function_call_output": read_result_part,
    "custom_tool_call_output": read_result_part,
}


def found_in(result: ToolResult) -> Raw | None:
    """The definitions that a search for tools gave, if it gave such."""
    only = result.content[0] if len(result.content) == 1 else None
    return only if isinstance(only, Raw) and only.code == SEARCH else None


def is_bare(blocks: Sequence[Block]) -> bool:
    """Whether a string would say all of it."""
    return len(blocks) == 1 and is_plain_text(blocks[0])


def texts_of(parts: Json, kind: str) -> tuple[str, ...] | None:
    """The texts of reasoning; None where its parts are not the usual ones."""
    if parts is None:
        return ()
    if parts.__class__ is not list:
        return None
    for part in parts:
        if part.__class__ is not dict or part.get("type") != kind or not PLAIN_TEXT(part):
            return None
        if part.get("text").__class__ is not str:
            return None
    return tuple([part["text"] for part in parts])
