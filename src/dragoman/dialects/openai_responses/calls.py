"""Calls, results and reasoning of the OpenAI Responses API, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.lowering import SEARCH
from ...core.reading import compact, expected, maybe_bool, maybe_str, need_str, only, parse
from ...core.writing import is_blank, is_plain_text, object_of
from ...model import (
    Block,
    Extras,
    Json,
    Raw,
    Reasoning,
    Signature,
    Text,
    ToolCall,
    ToolResult,
)
from ...tools.tool_errors import ERROR, MARK, is_marked, mark_error, mark_plain, unmark_error
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
REASONING_KEYS = frozenset({"type", "id", "summary", "content", "encrypted_content"})
TOOL_USE_KEYS = frozenset({"type", "id", "name", "input"})
TOOL_RESULT_KEYS = frozenset({"type", "tool_use_id", "content", "is_error"})

CALL, CUSTOM = "function_call", "custom_tool_call"
CALL_TYPES = {"custom": CUSTOM, "search": f"{SEARCH}_call"}
CALL_OUTPUT = f"{CALL}_output"
PLAIN_CALL = only("type", "call_id", "name", "arguments")
WHOLE_CALL = only("type", "call_id", "name", "arguments", "id", "status")
PLAIN_RESULT = only("type", "call_id", "output")
RESULTS = {CALL_OUTPUT: "function", f"{CUSTOM}_output": "custom"}
ABSENT = ["absent"]
"""The spelling of arguments that are not there: no string and no object, as theirs are."""
SEARCH_CALL, SEARCH_OUTPUT = f"{SEARCH}_call", f"{SEARCH}_output"
ITEM_PREFIX = {"function": "fc", "custom": "ctc", "search": "tsc"}


def keep_item(
    d: ResponsesBase,
    doc: dict[str, Json],
    taken: frozenset[str],
    spelling: dict[str, Json] | None = None,
) -> Extras | None:
    """``keep`` for items, which are usually completed, and that says nothing."""
    extras = d.keep(doc, taken, spelling)
    if extras is None or doc.get("status") != "completed":
        return extras
    if len(extras.fields) == 1 and not extras.blanks and not spelling:
        return d.completed
    fields = {k: v for k, v in extras.fields.items() if k != "status"}
    return replace(extras, fields=fields, blanks=extras.blanks | d.completed.blanks)


def read_call(d: ResponsesBase, doc: dict[str, Json], at: str) -> ToolCall:
    arguments, call_id = doc.get("arguments"), doc.get("call_id")
    spelling: dict[str, Json] | None = None
    if arguments.__class__ is not str or is_blank(arguments):
        arguments, spelling = read_arguments(doc, "arguments", at)
    item_id = maybe_str(doc, "id", at)
    extras = None
    if call_id is None or spelling:
        extras = keep_item(d, doc, CALL_KEYS, spelling)
    elif item_id is not None and doc.get("status") == "completed" and WHOLE_CALL(doc):
        extras = d.completed  # as the API itself writes calls
    elif not PLAIN_CALL(doc):
        extras = keep_item(d, doc, CALL_KEYS)
    return ToolCall(
        maybe_str(doc, "call_id", at),
        need_str(doc, "name", at),
        arguments,
        item_id=item_id,
        at=at,
        extras=extras,
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
        and not w.answer
        and text
        and not text.isspace()
    ):  # the usual shape
        call_id = call.id if w.ids.stays(call.id) else w.call_id(call)
        if name not in w.names.staying:
            name = w.tool_name(name, call.at)
        return {"type": CALL, "call_id": call_id, "name": name, "arguments": text}
    custom = call.kind == "custom"
    spelling = {} if call.extras is None else d.spelling(call)
    if spelling.get("part") == "tool_use":
        return write_tool_use(d, call, spelling, w)
    out: dict[str, Json] = {"type": CALL_TYPES.get(call.kind, CALL)}
    if call.id is not None or not w.home:
        out["call_id"] = w.call_id(call)
    if call.kind == "search":
        out |= {"execution": "client", "arguments": search_arguments(call, spelling, w)}
        if out["arguments"] == ABSENT:
            del out["arguments"]
        spelling = {}
    else:
        out["name"] = w.tool_name(call.name, call.at)
        if call.namespace is not None:
            out["namespace"] = call.namespace
        out["input" if custom else "arguments"] = call.arguments
        if not custom and is_blank(call.arguments):
            out["arguments"] = "{}"
    if call.item_id is not None:
        if w.home or call.item_id.startswith(ITEM_PREFIX.get(call.kind, "fc")):
            out["id"] = call.item_id
        else:
            w.log.dropped(
                "tool_call.item_id", call.at, f"the id has another form than those of {d.name}"
            )
    if w.answer and not w.home:
        out["status"] = "completed"
        if (
            "id" not in out and d.names_calls
        ):  # every item of an answer has one, and clients go by it
            out["id"] = w.item_id(ITEM_PREFIX.get(call.kind, "fc"))
            why = f"{d.name} requires an item id for a tool call; written as {out['id']!r}"
            w.log.invented("tool_call.item_id", call.at, why)
    if spelling:
        spell_arguments(out, "input" if custom else "arguments", call, spelling)
    return out if call.extras is None else d.emit(out, part_of(d, call), w.log)


def search_arguments(call: ToolCall, spelling: dict[str, Json], w: ItemWriting) -> Json:
    """The arguments of a tool search, which are an object."""
    if "arguments" in spelling:
        return spelling["arguments"]
    return object_of(call, w.log)


def spell_arguments(
    out: dict[str, Json], key: str, call: ToolCall, spelling: dict[str, Json]
) -> None:
    """Arguments as the document had them: blank, absent, or an object."""
    if "object" in spelling:
        out[key] = parse(call.arguments)
    elif call.arguments == ("" if call.kind == "custom" else "{}"):
        out[key] = spelling.get("input" if call.kind == "custom" else "arguments", out[key])
        if out[key] is None:
            del out[key]


def read_search_call(d: ResponsesBase, doc: dict[str, Json], at: str) -> ToolCall:
    """A search for tools that the client runs; its arguments are an object."""
    value, spelling = doc.get("arguments"), None
    text = compact(value)
    if value.__class__ is not dict:
        spelling = {"arguments": value} if "arguments" in doc else {"arguments": ABSENT}
        text = value if isinstance(value, str) and not is_blank(value) else "{}"
    return ToolCall(
        maybe_str(doc, "call_id", at),
        SEARCH,
        text,
        "search",
        maybe_str(doc, "id", at),
        at=at,
        extras=keep_item(d, doc, SEARCH_KEYS, spelling),
    )


def read_found(d: ResponsesBase, doc: dict[str, Json], at: str) -> ToolResult:
    """What the client's search found: definitions of tools."""
    docs, where = doc.get("tools"), f"{at}/tools"
    tools = () if docs is None else d.read_tool_list(docs, where)
    spelling = {"tools": "absent"} if "tools" not in doc else None
    place = at if spelling else where
    found = Raw(NAME, docs, tools=tools, code=SEARCH, at=place)  # the same in all variants
    return ToolResult(
        maybe_str(doc, "call_id", at),
        (found,),
        kind="search",
        at=at,
        extras=keep_item(d, doc, FOUND_KEYS, spelling),
    )


def write_found(
    d: ResponsesBase, result: ToolResult, found: Raw, spelling: dict[str, Json], w: ItemWriting
) -> Json:
    out: dict[str, Json] = {"type": SEARCH_OUTPUT}
    if result.call_id is not None or not w.home:
        out["call_id"] = w.result_id(result)
    out["execution"] = "client"
    if "tools" not in spelling:
        out["tools"] = found.payload
    return d.emit(out, result, w.log)


def mark_parts(d: ResponsesBase, result: ToolResult, w: ItemWriting) -> tuple[Block, ...]:
    """There is no flag for a failed tool: its text says so, and another's must not."""
    content = result.content
    first = content[0] if content else None
    if w.home and isinstance(first, Text) and first.text == ERROR and not is_bare((first,)):
        return content  # a text with keys of its own is no mark, and is written as it was
    if not result.is_error:
        if isinstance(first, Text) and is_marked(first.text):
            w.moved(
                "tool_result.error",
                first.at,
                "'[tool output]' is written before a text that looks like an error",
            )
            return (replace(first, text=mark_plain(first.text)), *content[1:])
        return content
    w.moved(
        "tool_result.error",
        result.at,
        f"{d.name} has no error flag; the text begins with '[tool error]'",
    )
    if isinstance(first, Text) and d.spelling(result).get("mark") != "alone":
        return (replace(first, text=mark_error(first.text)), *content[1:])
    return (Text(mark_error(None), at=result.at), *content)


def mark_first(part: Json, result: ToolResult, w: ItemWriting) -> None:
    """A text that now comes first, because what stood before it could not be said."""
    if part.get("type") == INPUT and is_marked(part["text"]):
        w.moved(
            "tool_result.error",
            result.at,
            "'[tool output]' is written before a text that looks like an error",
        )
        part["text"] = mark_plain(part["text"])


def read_arguments(doc: dict[str, Json], key: str, at: str) -> tuple[str, dict[str, Json] | None]:
    """The argument text; some clients send an object, and blank means no arguments."""
    value = doc.get(key)
    if value.__class__ is str:
        return ("{}", {"arguments": value}) if is_blank(value) else (value, None)
    if value is None:
        return "{}", {"arguments": None}
    if value.__class__ is not dict:
        expected("a string", value, f"{at}/{key}")
    return compact(value), {"object": True}


def read_custom_call(d: ResponsesBase, doc: dict[str, Json], at: str) -> ToolCall:
    text = maybe_str(doc, "input", at)
    spelling: dict[str, Json] | None = None if text is not None else {"input": None}
    return ToolCall(
        maybe_str(doc, "call_id", at),
        need_str(doc, "name", at),
        text or "",
        "custom",
        maybe_str(doc, "id", at),
        at=at,
        extras=keep_item(d, doc, CUSTOM_KEYS, spelling),
        namespace=maybe_str(doc, "namespace", at),
    )


def read_result(d: ResponsesBase, doc: dict[str, Json], kind: str, at: str) -> ToolResult:
    output = doc.get("output")
    call_id = doc.get("call_id")
    if output.__class__ is str and PLAIN_RESULT(doc) and not output.startswith(MARK):
        if kind == "function_call_output" and call_id.__class__ is str:
            return ToolResult(call_id, (Text(output, at=f"{at}/output"),), at=at)
    spelling: dict[str, Json] = {}
    failed, blocks = read_answered(d, doc, "output", at, spelling)
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
        extras=keep_item(d, doc, taken, spelling),
        namespace=namespace,
    )


def write_result(d: ResponsesBase, result: ToolResult, w: ItemWriting) -> Json:
    content, extras, call_id = result.content, result.extras, result.call_id
    if (
        len(content) == 1
        and (extras is None or d.is_mute(extras))
        and not result.is_error
        and result.name is None
        and result.cache is None
        and result.kind == "function"
        and call_id is not None
    ):
        only = content[0]
        if only.__class__ is Text and only.extras is None and only.cache is None:
            if not only.citations and not only.text.startswith(MARK):  # the usual shape
                if call_id not in w.ids.staying:
                    call_id = w.result_id(result)
                return {"type": CALL_OUTPUT, "call_id": call_id, "output": only.text}
    spelling = {} if extras is None else d.spelling(result)
    if spelling.get("part") == "tool_result":
        return d.write_tool_result(result, spelling, w)
    if result.kind == "search" and (found := found_in(result)) is not None:
        return write_found(d, result, found, spelling, w)
    out: dict[str, Json] = {"type": f"{CUSTOM if result.kind == 'custom' else CALL}_output"}
    if result.call_id is not None or not w.home:
        out["call_id"] = w.result_id(result)
    spelled = spelling.get("content")
    content = mark_parts(d, result, w)
    text = None if spelled == "list" else bare_text(d, content, w)
    if text is not None:
        out["output"] = text
    elif spelled not in ("null", "absent"):
        parts = write_parts(d, content, w)
        if parts and not w.home and not isinstance(content[0], Text):
            mark_first(parts[0], result, w)
        out["output"] = parts or ([] if spelled == "list" else "")
    if result.name is not None:
        if result.kind == "custom" and not w.home:
            why = f"{d.name} has no field for the tool name of a freeform result"
            w.log.dropped("tool_result.name", result.at, why)
        else:
            out["name"] = w.tool_name(result.name, result.at)
    if result.namespace is not None:
        out["namespace"] = result.namespace
    return out if extras is None else d.emit(out, result, w.log)


def read_answered(
    d: ResponsesBase, doc: dict[str, Json], key: str, at: str, spelling: dict[str, Json]
) -> tuple[bool, tuple[Block, ...]]:
    """What a tool answered, and whether it says that the tool failed."""
    output, where = doc.get(key), f"{at}/{key}"
    if output is None:
        spelling["content"] = "null" if key in doc else "absent"
        return False, ()
    if output.__class__ is str:
        failed, text = unmark_error(output)
        return bool(failed), () if text is None else (Text(text, at=where),)
    if output.__class__ is not list:
        expected("a string or a list", output, where)
    blocks = tuple(read_parts(d, output, where, INPUT))
    failed, blocks = read_failed(blocks, spelling)
    if not blocks or is_bare(blocks):
        spelling["content"] = "list"
    return failed, blocks


def read_failed(
    blocks: tuple[Block, ...], spelling: dict[str, Json]
) -> tuple[bool, tuple[Block, ...]]:
    """Parts that begin with the mark of an error are those of a failed tool; the mark goes."""
    if not blocks or not isinstance(first := blocks[0], Text):
        return False, blocks
    failed, text = unmark_error(first.text)
    if text is None and is_bare(blocks[:1]):
        if isinstance(blocks[1] if blocks[1:] else None, Text):
            spelling["mark"] = "alone"
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
    spelling: dict[str, Json] = {}
    if "summary" not in doc or doc["summary"] is None:
        spelling["summary"] = None
    if doc.get("content") == []:
        spelling["content"] = []
    return Reasoning(
        content,
        summary,
        Signature(signed, d.issuer, "encrypted") if signed else None,
        maybe_str(doc, "id", at),
        at=at,
        extras=keep_item(d, doc, REASONING_KEYS, spelling),
    )


def write_reasoning(d: ResponsesBase, block: Reasoning, w: ItemWriting) -> Json | None:
    signature, made = block.signature, block.id
    if made is None and w.answer and not w.home:
        made = w.item_id("rs")
        w.log.invented("reasoning.id", block.at, f"reasoning has an id in {d.name}: {made!r}")
    out: dict[str, Json] = {"type": "reasoning"}
    if made is not None:
        out["id"] = made
    # "summary" is required, even when empty.
    out["summary"] = [{"type": "summary_text", "text": text} for text in block.summary]
    if block.content:
        out["content"] = [{"type": "reasoning_text", "text": text} for text in block.content]
    if signature is not None:
        out["encrypted_content"] = signature.data
    if block.extras is None:
        return out
    for key, value in d.spelling(block).items():
        if not out.get(key):
            out[key] = value
            if value is None:
                del out[key]
    return d.emit(out, block, w.log)


def read_call_part(d: ResponsesBase, doc: dict[str, Json], at: str) -> Block:
    call = read_call(d, doc, at)
    return replace(call, extras=d.respell(call.extras, part=CALL))


def read_result_part(d: ResponsesBase, doc: dict[str, Json], at: str) -> Block:
    result = d.read_result(doc, doc["type"], at)
    return replace(result, extras=d.respell(result.extras, part=doc["type"]))


def read_tool_use(d: ResponsesBase, doc: dict[str, Json], at: str) -> ToolCall:
    text, spelling = read_arguments(doc, "input", at)
    extras = d.keep(doc, TOOL_USE_KEYS, (spelling or {}) | {"part": "tool_use"})
    call_id, name = maybe_str(doc, "id", at), need_str(doc, "name", at)
    return ToolCall(call_id, name, text, at=at, extras=extras)


def write_tool_use(
    d: ResponsesBase, call: ToolCall, spelling: dict[str, Json], w: ItemWriting
) -> Json:
    out: dict[str, Json] = {"type": "tool_use", "name": call.name, "input": call.arguments}
    if call.id is not None:
        out["id"] = call.id
    spell_arguments(out, "input", call, spelling)
    return d.emit(out, part_of(d, call), w.log)


def read_tool_result(d: ResponsesBase, doc: dict[str, Json], at: str) -> ToolResult:
    """A result in Anthropic's form, which has a flag for failure and needs no mark."""
    content, where = doc.get("content"), f"{at}/content"
    spelling: dict[str, Json] = {"part": "tool_result"}
    blocks: tuple[Block, ...] = ()
    if content.__class__ is str:
        blocks = (Text(content, at=where),)
    elif content.__class__ is list:
        blocks = tuple(read_parts(d, content, where, "text"))
        if not blocks or is_bare(blocks):
            spelling["content"] = "list"
    elif content is None:
        spelling["content"] = "null" if "content" in doc else "absent"
    else:
        expected("a string or a list", content, where)
    return ToolResult(
        maybe_str(doc, "tool_use_id", at),
        blocks,
        maybe_bool(doc, "is_error", at),
        at=at,
        extras=d.keep(doc, TOOL_RESULT_KEYS, spelling),
    )


def write_tool_result(
    d: ResponsesBase, result: ToolResult, spelling: dict[str, Json], w: ItemWriting
) -> Json:
    out: dict[str, Json] = {"type": "tool_result"}
    if result.call_id is not None:
        out["tool_use_id"] = result.call_id
    spelled = spelling.get("content")
    text = None if spelled == "list" else bare_text(d, result.content, w)
    if text is not None:
        out["content"] = text
    elif spelled not in ("null", "absent"):
        out["content"] = write_parts(d, result.content, w, "text")
    if result.is_error is not None:
        out["is_error"] = result.is_error
    return d.emit(out, result, w.log)


CALL_PARTS: dict[str, Reader] = {
    "tool_use": read_tool_use,
    "function_call": read_call_part,
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
    return tuple(part["text"] for part in parts)
