"""The items of a message of Semantic Kernel, both ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...core.media import kind_of, standard
from ...core.reading import as_dict, compact, maybe_str, need_str
from ...core.writing import Writing, data_uri, joined, split_data_uri
from ...ledger import Ledger
from ...model import (
    Block,
    Extras,
    Hosted,
    Json,
    Media,
    Raw,
    Reasoning,
    Source,
    Text,
    ToolCall,
    ToolResult,
)
from ...tools import freeform
from ...tools.tool_errors import unmark_error
from .._stored import FREE, issuer_of_file, note_owner

if TYPE_CHECKING:
    from . import SemanticKernel

MEDIA = ("image", "audio", "binary")
PARTS = ("function_name", "plugin_name")
NAMED = ("name", *PARTS)
SEPARATOR = "-"
"""What stands between the name of a plugin and that of its function."""


class KernelWriting(Writing):
    """A conversion into this dialect: it also knows the functions that have been called."""

    counters = ("functions",)

    def __init__(self, log: Ledger, same: bool) -> None:
        super().__init__(log, FREE, FREE, same)
        self.functions: dict[Json, str] = {}


def read_items(d: SemanticKernel, docs: list[Json], at: str) -> list[Block]:
    out: list[Block] = []
    for index, item in enumerate(docs):
        where = f"{at}/{index}"
        out.append(read_item(d, as_dict(item, where), where))
    return out


def read_item(d: SemanticKernel, doc: dict[str, Json], at: str) -> Block:
    kind = need_str(doc, "content_type", at)
    if kind == "text":
        text = need_str(doc, "text", at)
        return Text(text, at=at, extras=d.keep(doc, ("content_type", "text")))
    if kind == "reasoning":
        text = maybe_str(doc, "text", at) or ""
        extras = d.keep(doc, ("content_type", "text"))
        return Reasoning((text,) if text else (), at=at, extras=extras)
    if kind == "function_call":
        return read_call(d, doc, at)
    if kind == "function_result":
        return read_result(d, doc, at)
    if kind in MEDIA:
        return read_media(d, doc, kind, at) or Raw(d.name, doc, at=at)
    if kind == "file_reference" and doc.get("file_id").__class__ is str:
        file_id: str = doc["file_id"]
        # An id of which nobody tells whose it is is of no use to anybody else.
        source = Source("file", file_id, None, issuer_of_file(file_id) or d.name)
        extras = d.keep(doc, ("content_type", "file_id"))
        return Media("document", source, at=at, extras=extras)
    return Raw(d.name, doc, at=at)


def write_items(d: SemanticKernel, content: Sequence[Block], w: KernelWriting) -> list[Json]:
    return [doc for block in content if (doc := write_item(d, block, w)) is not None]


def write_item(d: SemanticKernel, block: Block, w: KernelWriting) -> Json | None:
    match block:
        case Text():
            return d.emit({"content_type": "text", "text": block.text}, block, w.log)
        case Reasoning():
            out: dict[str, Json] = {"content_type": "reasoning", "text": joined(block.words)}
            return d.emit(out, block, w.log)
        case ToolCall():
            return write_call(d, block, w)
        case ToolResult():
            return write_result(d, block, w)
        case Media():
            return write_media(d, block, w)
        case Raw() | Hosted() if d.is_same(block.dialect):
            return block.payload
        case _:
            d.omit(block, w.log)
            return None


# -- functions ------------------------------------------------------------------------------


def read_name(doc: dict[str, Json], at: str) -> tuple[str, tuple[str, ...]]:
    """The whole name of a function, and which keys say no more than it does."""
    name, own = maybe_str(doc, "name", at), maybe_str(doc, "function_name", at)
    plugin = maybe_str(doc, "plugin_name", at)
    whole = f"{plugin}{SEPARATOR}{own}" if plugin and own else own
    if name is None or name == whole:
        return whole or need_str(doc, "name", at), NAMED
    if own is None and (not plugin or name.startswith(plugin + SEPARATOR)):
        return name, NAMED
    return name, ("name",)  # the parts contradict it


def write_name(name: str, extras: Extras | None) -> dict[str, Json]:
    """The name in its parts, as the library divides it; those that contradict it are extras."""
    plugin, separator, own = name.partition(SEPARATOR)
    if extras is not None and not extras.fields.keys().isdisjoint(PARTS):
        return {"name": name}
    if not (separator and plugin and own):
        return {"name": name, "function_name": name}
    return {"name": name, "function_name": own, "plugin_name": plugin}


def read_call(d: SemanticKernel, doc: dict[str, Json], at: str) -> ToolCall:
    name, named = read_name(doc, at)
    given = doc.get("arguments")
    text = given if given.__class__ is str else "" if given is None else compact(given)
    # Of the Responses API: there the item has an id beside that of the call.
    call_id, item_id = maybe_str(doc, "call_id", at), maybe_str(doc, "id", at)
    if call_id is None:
        call_id, item_id = item_id, None
    extras = d.keep(doc, ("content_type", "id", "call_id", "arguments", *named))
    return ToolCall(call_id, name, text, item_id=item_id, at=at, extras=extras)


def write_call(d: SemanticKernel, call: ToolCall, w: KernelWriting) -> Json:
    call = freeform.as_function(call)
    call_id = call.id if w.same and call.id is None else w.call_id(call)
    out: dict[str, Json] = {"content_type": "function_call", "id": call_id}
    if call.item_id is not None:
        out |= {"id": call.item_id, "call_id": call_id}
    name = w.functions[call_id] = w.tool_name(call.name, call.at)
    out |= write_name(name, call.extras if w.same else None)
    out["arguments"] = call.arguments if w.same or call.arguments.strip() else "{}"
    return d.emit(out, call, w.log)


def read_result(d: SemanticKernel, doc: dict[str, Json], at: str) -> ToolResult:
    """What a function returned, as text; that it failed, the text can tell."""
    name, named = read_name(doc, at)
    taken = {"content_type", "id", "result", *named}
    call_id = maybe_str(doc, "id", at)
    if doc.get("call_id").__class__ is str:
        call_id, taken = doc["call_id"], (taken | {"call_id"}) - {"id"}
    value, where = doc.get("result"), f"{at}/result"
    failed: bool | None = None
    content: tuple[Block, ...] = ()
    if value.__class__ is str:
        failed, text = unmark_error(value)
        content = () if text is None else (Text(text, at=where),)
    elif value is not None:
        content = (Text(compact(value), at=where),)
    return ToolResult(call_id, content, failed, name, at=at, extras=d.keep(doc, taken))


def unnamed(result: ToolResult, called: Mapping[str | None, ToolCall]) -> ToolResult:
    """A result without what its call says already: its name, and the id of the call's item."""
    call = called.get(result.call_id)
    if call is None:
        return result
    extras = result.extras
    if extras is not None and call.item_id is not None and extras.fields.get("id") == call.item_id:
        fields = {key: value for key, value in extras.fields.items() if key != "id"}
        extras = replace(extras, fields=fields) if fields or extras.spelling else None
    name = None if result.name == call.name else result.name
    return replace(result, name=name, extras=extras)


def write_result(d: SemanticKernel, result: ToolResult, w: KernelWriting) -> Json:
    texts: list[str] = []
    for block in result.content:
        if isinstance(block, Text):
            d.lose(block.extras, block.at, w.log)
            texts.append(block.text)
        else:
            why = f"{d.name} writes what a function returned as text"
            w.log.dropped("tool_result.content", block.at, why)
    text = "\n".join(texts) if texts else None
    out: dict[str, Json] = {"content_type": "function_result"}
    unknown = w.same and result.call_id is None
    out["id"] = None if unknown else w.result_id(result)
    if text is not None or not w.same:
        out["result"] = text or ""
    name = name_of(d, result, out["id"], w)
    out |= write_name(name, result.extras if w.same else None)
    return d.emit(out, result, w.log)


def name_of(d: SemanticKernel, result: ToolResult, call_id: Json, w: KernelWriting) -> str:
    """The name of the function that a result is of, which is required."""
    name = result.name
    known = w.functions.get(call_id)
    if name is None and known is None:  # in a history that was edited, the call may be gone
        why = f"{d.name} requires the name of a result; written as 'unknown'"
        w.log.invented("tool_result.name", result.at, why)
        return "unknown"
    return name or known or ""


# -- media ----------------------------------------------------------------------------------


def read_media(d: SemanticKernel, doc: dict[str, Json], kind: str, at: str) -> Media | None:
    data, uri = doc.get("data_uri"), doc.get("uri")
    taken = {"content_type", "data_uri"}
    found = split_data_uri(data) if data.__class__ is str and data else None
    if found is not None:
        mime = found[0].partition(";")[0] or None
        source = Source("base64", standard(found[1]), mime)
    elif not data and uri.__class__ is str:
        source = Source("url", uri)
        taken.add("uri")
    else:
        return None
    media: Any = kind if kind != "binary" else kind_of(source.media_type)
    return Media(media, source, at=at, extras=d.keep(doc, taken))


def write_media(d: SemanticKernel, block: Media, w: KernelWriting) -> Json:
    source = block.source
    if source.kind == "file":
        note_owner(d, block, w.log)
        out: dict[str, Json] = {"content_type": "file_reference", "file_id": source.value}
        return d.emit(out, block, w.log)
    kind = block.kind if block.kind in MEDIA else "binary"
    out = {"content_type": kind}
    if source.kind == "url":
        out["uri"] = source.value
    else:
        out["data_uri"] = data_uri(source.media_type or "", source.value)
    return d.emit(out, block, w.log)
