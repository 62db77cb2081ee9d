"""Content blocks of the Model Context Protocol, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core.media import kind_of, standard
from ...core.reading import as_dict, compact, maybe_bool, maybe_list, maybe_str, need_str
from ...core.writing import Writing, object_of
from ...ledger import Ledger
from ...model import Block, Hosted, Json, Media, Raw, Source, Text, ToolCall, ToolResult
from .._stored import FREE

if TYPE_CHECKING:
    from . import MCP

# "Tool names SHOULD be between 1 and 128 characters", of these.
NAMES = (r"[A-Za-z0-9_.-]", 128)
DATA = ("image", "audio")
STRUCTURED = "structuredContent"


def writing(d: MCP, log: Ledger, dialect: str | None, *, reply: bool = False) -> Writing:
    return Writing(log, FREE, NAMES, d.is_same(dialect), reply)


def read_content(d: MCP, content: Json, at: str) -> list[Block]:
    """One block, or a list of them; the first versions of the protocol have no lists."""
    if content.__class__ is not list:
        return [read_block(d, as_dict(content, at), at)]
    out: list[Block] = []
    for index, item in enumerate(content):
        where = f"{at}/{index}"
        out.append(read_block(d, as_dict(item, where), where))
    return out


def write_content(d: MCP, blocks: Sequence[Block], w: Writing) -> Json:
    """One block as it is, which every version reads."""
    written = write_blocks(d, blocks, w)
    return written[0] if len(written) == 1 else written


def write_blocks(d: MCP, blocks: Sequence[Block], w: Writing) -> list[Json]:
    return [doc for block in blocks if (doc := write_block(d, block, w)) is not None]


def read_block(d: MCP, doc: dict[str, Json], at: str) -> Block:
    kind = need_str(doc, "type", at)
    if kind == "text":
        return Text(need_str(doc, "text", at), at=at, extras=d.keep(doc, ("type", "text")))
    if kind in DATA:
        source = Source(
            "base64", standard(need_str(doc, "data", at)), maybe_str(doc, "mimeType", at)
        )
        extras = d.keep(doc, ("type", "data", "mimeType"))
        return Media(kind, source, at=at, extras=extras)  # type: ignore[arg-type]
    if kind == "tool_use":
        name, call_id = need_str(doc, "name", at), need_str(doc, "id", at)
        arguments = compact(as_dict(doc.get("input"), f"{at}/input"))
        extras = d.keep(doc, ("type", "name", "id", "input"))
        return ToolCall(call_id, name, arguments, at=at, extras=extras)
    if kind == "tool_result":
        return read_result(d, doc, at)
    if kind == "resource" and (found := read_resource(d, doc, at)) is not None:
        return found
    return Raw(d.name, doc, at=at)


def read_resource(d: MCP, doc: dict[str, Json], at: str) -> Media | None:
    """A resource with its content; its address is the server's own, and nobody else can read it."""
    inner = doc.get("resource")
    if inner.__class__ is not dict:
        return None
    kind = maybe_str(inner, "mimeType", f"{at}/resource")
    for key, form in (("text", "text"), ("blob", "base64")):
        value = inner.get(key)
        if value.__class__ is str:
            value = standard(value) if form == "base64" else value
            extras = d.keep(doc, ("type",), partly={"resource": (key, "mimeType")})
            media = kind_of(kind) if form == "base64" else "document"
            source = Source(form, value, kind)  # type: ignore[arg-type]
            return Media(media, source, at=at, extras=extras)
    return None


def write_block(d: MCP, block: Block, w: Writing) -> Json | None:
    match block:
        case Text():
            return d.emit({"type": "text", "text": block.text}, block, w.log)
        case Media():
            return write_media(d, block, w)
        case ToolCall():
            out = {
                "type": "tool_use",
                "name": w.tool_name(block.name, block.at),
                "id": w.call_once(block),
                "input": {"input": block.arguments}
                if block.kind == "custom"
                else object_of(block, w.log),
            }
            return d.emit(out, block, w.log)
        case ToolResult():
            return write_result(d, block, w)
        case Raw() | Hosted() if d.is_same(block.dialect):
            return block.payload
        case _:
            d.omit(block, w.log)
            return None


def write_media(d: MCP, block: Media, w: Writing) -> Json | None:
    source = block.source
    if block.extras is not None and "resource" in block.extras.inner and w.same:
        key = "text" if source.kind == "text" else "blob"
        inner: dict[str, Json] = {key: source.value}
        if source.media_type is not None:
            inner["mimeType"] = source.media_type
        return d.emit({"type": "resource", "resource": inner}, block, w.log)
    if source.kind != "base64" or block.kind not in DATA:
        d.omit(block, w.log)
        return None
    usual = "image/png" if block.kind == "image" else "audio/wav"
    kind = source.media_type
    if kind is None and not w.same:
        kind = usual
        w.log.invented("media.type", block.at, f"{d.name} requires the type; {usual!r} is written")
    out: dict[str, Json] = {"type": block.kind, "data": source.value}
    if kind is not None:
        out["mimeType"] = kind
    return d.emit(out, block, w.log)


def read_result(d: MCP, doc: dict[str, Json], at: str, call_id: str | None = None) -> ToolResult:
    """A result; where it has no content, it is the text of its structured content."""
    content = tuple(read_content(d, maybe_list(doc, "content", at) or [], f"{at}/content"))
    taken = {"type", "toolUseId", "content", "isError"}
    if not content and doc.get(STRUCTURED) is not None:
        content = (Text(compact(doc[STRUCTURED]), at=f"{at}/{STRUCTURED}"),)
        taken.add(STRUCTURED)
    failed = maybe_bool(doc, "isError", at)
    if doc.get("type") == "tool_result":
        call_id = need_str(doc, "toolUseId", at)
    extras = d.keep(doc, taken)
    return ToolResult(call_id, content, failed, at=at, extras=extras)


def write_result(d: MCP, result: ToolResult, w: Writing) -> Json:
    out: dict[str, Json] = {"type": "tool_result"}
    out["toolUseId"] = w.once(w.result_id(result), result)
    return d.emit(out | write_output(d, result, w), result, w.log)


def write_output(d: MCP, result: ToolResult, w: Writing) -> dict[str, Json]:
    """What a tool returned, without what it replies to."""
    content = write_blocks(d, result.content, w)
    out: dict[str, Json] = {"content": content}
    if result.is_error is not None:
        out["isError"] = result.is_error
    return out
