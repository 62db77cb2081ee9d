"""The blocks of messages of Strands Agents, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...core.reading import (
    UNREADABLE,
    as_dict,
    compact,
    decode,
    maybe_list,
    maybe_str,
    need_dict,
    need_str,
    sole,
)
from ...core.writing import Writing, joined, object_or_text
from ...model import (
    Block,
    Cache,
    Extras,
    Hosted,
    Json,
    Media,
    Raw,
    Reasoning,
    Signature,
    Text,
    ToolCall,
    ToolResult,
)
from ...tools import freeform
from .._stored import sign
from .media import STORE, read_bytes, read_media, write_bytes, write_media

if TYPE_CHECKING:
    from . import Strands

MEDIA = ("image", "audio", "video", "document")
SIGNED = "reasoningSignature"
"""Under which key Google's signature of a call stands."""
GUARD, CITED = "guardContent", "citationsContent"


def read_blocks(d: Strands, docs: list[Json], at: str) -> list[Block]:
    out: list[Block] = []
    for index, item in enumerate(docs):
        where = f"{at}/{index}"
        doc = as_dict(item, where)
        if "cachePoint" not in doc or not mark(d, doc, where, out):
            out.append(read_block(d, doc, where))
    return out


def mark(d: Strands, doc: dict[str, Json], at: str, out: list[Block]) -> bool:
    """A cache point is a mark on what stands before it."""
    last, point = (out[-1] if out else None), doc["cachePoint"]
    if not isinstance(last, Text | Media | ToolCall | ToolResult) or last.cache is not None:
        return False
    if not sole(doc) or point.__class__ is not dict or point.get("type") != "default":
        return False
    ttl = point.get("ttl")
    if ttl is not None and ttl.__class__ is not str:
        return False
    where = f"{at}/cachePoint"
    out[-1] = replace(last, cache=Cache(ttl, at=where, extras=d.keep(point, ("type", "ttl"))))
    return True


def read_block(d: Strands, doc: dict[str, Json], at: str) -> Block:
    if doc.get("text").__class__ is str:
        return Text(doc["text"], at=at, extras=d.keep(doc, ("text",)))
    found: Block | None = None
    if "toolUse" in doc:
        found = read_call(d, doc, at)
    elif "toolResult" in doc:
        found = read_result(d, doc, at)
    elif "reasoningContent" in doc:
        found = read_reasoning(d, doc, at)
    elif GUARD in doc or CITED in doc:
        found = read_words(d, doc, at)
    elif kind := next((kind for kind in MEDIA if kind in doc), None):
        found = read_media(d, doc, kind, at)
    return found or Raw(d.name, doc, at=at)


def write_blocks(d: Strands, content: Sequence[Block], w: Writing) -> list[Json]:
    out: list[Json] = []
    for block in content:
        doc = write_block(d, block, w)
        if doc is None:
            continue
        out.append(doc)
        cache = block.cache if isinstance(block, Text | Media | ToolCall | ToolResult) else None
        if cache is not None:
            point: dict[str, Json] = {"type": "default"}
            if cache.ttl is not None:
                point["ttl"] = cache.ttl
            out.append({"cachePoint": d.emit(point, cache, w.log)})
    return out


def write_block(d: Strands, block: Block, w: Writing) -> Json | None:
    match block:
        case Text():
            return write_text(d, block, w)
        case Media():
            return write_media(d, block, w)
        case Reasoning():
            return write_reasoning(d, block, w)
        case ToolCall():
            return write_call(d, block, w)
        case ToolResult():
            return write_result(d, block, w)
        case Raw() | Hosted() if d.is_same(block.dialect):
            return block.payload
        case _:
            d.omit(block, w.log)
            return None


# -- words ----------------------------------------------------------------------------------


def read_words(d: Strands, doc: dict[str, Json], at: str) -> Text | None:
    """Words that a guardrail looks at, or that have sources: the rest is the framework's own."""
    key = sole(doc)
    inner = doc.get(key or "")
    if inner.__class__ is not dict:
        return None
    if key == GUARD:
        held = inner.get("text")
        text = held.get("text") if held.__class__ is dict else None
        partly: Any = {GUARD: {"text": {"text": ()}}}
    else:
        listed = inner.get("content")
        held = listed[0] if listed.__class__ is list and len(listed) == 1 else None
        text = held.get("text") if held.__class__ is dict and sole(held) else None
        partly = {CITED: ("content",)}
    if text.__class__ is not str:
        return None
    extras = d.keep(doc, (), {"within": key}, partly=partly)
    return Text(str(text), at=at, extras=extras)


def write_text(d: Strands, block: Text, w: Writing) -> Json:
    within = d.spelling(block).get("within") if w.same else None
    out: dict[str, Json] = {"text": block.text}
    if within == GUARD:
        out = {GUARD: {"text": {"text": block.text}}}
    elif within == CITED:
        out = {CITED: {"content": [{"text": block.text}]}}
    return d.emit(out, block, w.log)


def read_reasoning(d: Strands, doc: dict[str, Json], at: str) -> Reasoning | None:
    inner = doc["reasoningContent"]
    if inner.__class__ is not dict or not sole(inner):
        return None
    if "redactedContent" in inner:
        data = read_bytes(inner["redactedContent"])
        if data is None:
            return None
        signature = Signature(data, STORE, "encrypted")
        return Reasoning((), (), signature, at=at, extras=d.keep(doc, ("reasoningContent",)))
    said = inner.get("reasoningText")
    if said.__class__ is not dict or said.get("text").__class__ is not str:
        return None
    data = said.get("signature")
    known: dict[str, Any] = {"reasoningText": ("text", "signature")}
    extras = d.keep(doc, (), partly={"reasoningContent": known})
    signed = Signature(data, "anthropic") if data.__class__ is str and data else None
    text: str = said["text"]
    return Reasoning((text,) if text or not signed else (), (), signed, at=at, extras=extras)


def write_reasoning(d: Strands, block: Reasoning, w: Writing) -> Json:
    signature = block.signature
    if signature is not None and signature.kind == "encrypted":
        redacted = {"redactedContent": write_bytes(signature.data)}
        return d.emit({"reasoningContent": redacted}, block, w.log)
    inner: dict[str, Json] = {"text": joined(block.words)}
    if signature is not None:
        inner["signature"] = signature.data
    return d.emit({"reasoningContent": {"reasoningText": inner}}, block, w.log)


# -- tools ----------------------------------------------------------------------------------


def read_call(d: Strands, doc: dict[str, Json], at: str) -> ToolCall:
    inner, where = need_dict(doc, "toolUse", at), f"{at}/toolUse"
    given = inner.get("input")
    text = given if given.__class__ is str else compact({} if given is None else given)
    data = inner.get(SIGNED)
    taken = ["toolUseId", "name", "input"]
    if data.__class__ is str:
        taken.append(SIGNED)
    extras: Extras | None = d.keep(doc, (), partly={"toolUse": taken})
    if data.__class__ is str:
        extras = sign(d, extras, Signature(data, "google"))
    call_id, name = need_str(inner, "toolUseId", where), need_str(inner, "name", where)
    return ToolCall(call_id, name, text, at=at, extras=extras)


def write_call(d: Strands, call: ToolCall, w: Writing) -> Json:
    call = freeform.as_function(call)
    inner: dict[str, Json] = {
        "toolUseId": w.call_id(call),
        "name": w.tool_name(call.name, call.at),
        "input": object_or_text(call, w),
    }
    extras = call.extras
    if extras is not None and (signature := extras.signature) is not None:
        if signature.issuer == "google":
            inner[SIGNED] = signature.data
            call = replace(call, extras=replace(extras, signature=None))
    return d.emit({"toolUse": inner}, call, w.log)


def read_result(d: Strands, doc: dict[str, Json], at: str) -> ToolResult:
    inner, where = need_dict(doc, "toolResult", at), f"{at}/toolResult"
    content: list[Block] = []
    for index, item in enumerate(maybe_list(inner, "content", where) or ()):
        place = f"{where}/content/{index}"
        part = as_dict(item, place)
        if "json" in part:
            extras = d.keep(part, ("json",), {"json": True})
            content.append(Text(compact(part["json"]), at=place, extras=extras))
        else:
            content.append(read_block(d, part, place))
    status = maybe_str(inner, "status", where)
    taken = ("toolUseId", "content", "status")
    if status not in (None, "success", "error"):
        taken = ("toolUseId", "content", "content")
    extras = d.keep(doc, (), partly={"toolResult": taken})
    failed = True if status == "error" else None
    call_id = need_str(inner, "toolUseId", where)
    return ToolResult(call_id, tuple(content), failed, at=at, extras=extras)


def write_result(d: Strands, result: ToolResult, w: Writing) -> Json:
    content: list[Json] = []
    for block in result.content:
        doc = write_block(d, block, w)
        if doc is not None and w.same and d.spelling(block).get("json"):
            doc = as_json(doc)
        if doc is not None:
            content.append(doc)
    inner: dict[str, Json] = {"toolUseId": w.result_id(result)}
    inner["status"] = "error" if result.is_error else "success"
    inner["content"] = content
    return d.emit({"toolResult": inner}, result, w.log)


def as_json(doc: dict[str, Json]) -> Json:
    """A text that was a JSON value, as the value."""
    try:
        value = decode(doc["text"])
    except UNREADABLE:
        return doc
    return {"json": value, **{key: item for key, item in doc.items() if key != "text"}}
