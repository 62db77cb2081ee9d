"""Parts of messages in OpenTelemetry's attributes, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.media import kind_of, standard
from ...core.reading import UNREADABLE, as_dict, compact, decode, maybe_str, need_str
from ...core.writing import Writing, joined, object_or_text
from ...model import Block, Hosted, Json, Media, Raw, Reasoning, Source, Text, ToolCall, ToolResult
from ...tools import freeform
from ...tools.tool_errors import unmark_error
from .._stored import issuer_of_file, note_owner

if TYPE_CHECKING:
    from . import OtelGenAI

# part -> the key of what it holds, and what that is
MEDIA = {"blob": ("content", "base64"), "uri": ("uri", "url"), "file": ("file_id", "file")}
FORMS = {form: (kind, key) for kind, (key, form) in MEDIA.items()}
MODALITIES = ("image", "audio", "video", "document")
HOSTED = {"server_tool_call": "call", "server_tool_call_response": "result"}
RESPONSES = ("response", "result")
"""The key of what a tool returned, and what it was called at first."""


def read_parts(d: OtelGenAI, docs: list[Json], at: str) -> list[Block]:
    out: list[Block] = []
    for index, item in enumerate(docs):
        where = f"{at}/{index}"
        out.append(read_part(d, as_dict(item, where), where))
    return out


def read_part(d: OtelGenAI, doc: dict[str, Json], at: str) -> Block:
    kind = need_str(doc, "type", at)
    if kind in ("text", "reasoning"):
        text = need_str(doc, "content", at)
        extras = d.keep(doc, ("type", "content"))
        if kind == "text":
            return Text(text, at=at, extras=extras)
        return Reasoning((text,) if text else (), at=at, extras=extras)
    if kind == "tool_call":
        return read_call(d, doc, at)
    if kind == "tool_call_response":
        return read_result(d, doc, at)
    if kind in MEDIA:
        return read_media(d, doc, kind, at) or Raw(d.name, doc, at=at)
    if kind in HOSTED:
        phase: Any = HOSTED[kind]
        name = maybe_str(doc, "name", at) or kind
        return Hosted(d.name, name, doc, phase, id=maybe_str(doc, "id", at), at=at)
    return Raw(d.name, doc, at=at)


def read_call(d: OtelGenAI, doc: dict[str, Json], at: str) -> ToolCall:
    given = doc.get("arguments")
    arguments = given if given.__class__ is str else "" if given is None else compact(given)
    extras = d.keep(doc, ("type", "id", "name", "arguments"))
    return ToolCall(
        maybe_str(doc, "id", at), need_str(doc, "name", at), arguments, at=at, extras=extras
    )


def read_result(d: OtelGenAI, doc: dict[str, Json], at: str) -> ToolResult:
    """What a tool returned: text, or a JSON value as text. That it failed, the text can tell."""
    key = next((key for key in RESPONSES if key in doc), RESPONSES[0])
    value = doc.get(key)
    notes: dict[str, Json] = {} if key == RESPONSES[0] else {"key": key}
    failed: bool | None = None
    content: tuple[Block, ...] = ()
    where = f"{at}/{key}"
    if value.__class__ is str:
        failed, text = unmark_error(value)
        content = () if text is None else (Text(text, at=where),)
    elif value is not None:
        notes["output"] = "json"
        content = (Text(compact(value), at=where),)
    extras = d.keep(doc, ("type", "id", key), notes)
    return ToolResult(maybe_str(doc, "id", at), content, failed, at=at, extras=extras)


def read_media(d: OtelGenAI, doc: dict[str, Json], kind: str, at: str) -> Media | None:
    key, form = MEDIA[kind]
    value, mime, modality = doc.get(key), doc.get("mime_type"), doc.get("modality")
    if value.__class__ is not str or (mime is not None and mime.__class__ is not str):
        return None
    taken = {"type", key, "mime_type", "modality"}
    media: Any = modality
    if modality not in MODALITIES:
        media = kind_of(mime)
        if modality is not None:
            taken.discard("modality")
    # An id of which nobody tells whose it is is of no use to anybody else.
    issuer = (issuer_of_file(value) or d.name) if form == "file" else None
    held = standard(value) if form == "base64" else value
    source = Source(form, held, mime, issuer)  # type: ignore[arg-type]
    notes: dict[str, Json] | None = None if modality is not None else {"modality": False}
    return Media(media, source, at=at, extras=d.keep(doc, taken, notes))


# -- writing --------------------------------------------------------------------------------


def write_parts(d: OtelGenAI, blocks: Sequence[Block], w: Writing) -> list[Json]:
    return [part for block in blocks if (part := write_part(d, block, w)) is not None]


def write_part(d: OtelGenAI, block: Block, w: Writing) -> Json | None:
    match block:
        case Text():
            return d.emit({"type": "text", "content": block.text}, block, w.log)
        case Reasoning():
            out: dict[str, Json] = {"type": "reasoning", "content": joined(block.words)}
            return d.emit(out, block, w.log)
        case ToolCall():
            return write_call(d, block, w)
        case ToolResult():
            return write_result(d, block, w)
        case Media() if block.source.kind in FORMS:
            return write_media(d, block, w)
        case Raw() | Hosted() if d.is_same(block.dialect):
            return block.payload
        case _:
            d.omit(block, w.log)
            return None


def write_call(d: OtelGenAI, call: ToolCall, w: Writing) -> Json:
    call = freeform.as_function(call)
    out: dict[str, Json] = {"type": "tool_call"}
    out["id"] = call.id if w.same and call.id is None else w.call_id(call)
    out["name"] = w.tool_name(call.name, call.at)
    out["arguments"] = object_or_text(call, w)
    return d.emit(out, call, w.log)


def write_result(d: OtelGenAI, result: ToolResult, w: Writing) -> Json:
    spelled = d.spelling(result)
    out: dict[str, Json] = {"type": "tool_call_response"}
    unknown = w.same and result.call_id is None
    out["id"] = None if unknown else w.result_id(result)
    out[spelled.get("key", RESPONSES[0])] = value_of(d, result, spelled, w)
    return d.emit(out, result, w.log)


def value_of(d: OtelGenAI, result: ToolResult, spelled: dict[str, Json], w: Writing) -> Json:
    texts: list[str] = []
    for block in result.content:
        if isinstance(block, Text):
            d.lose(block.extras, block.at, w.log)
            texts.append(block.text)
        else:
            why = f"{d.name} writes the result of a tool as a value"
            w.log.dropped("tool_result.content", block.at, why)
    text = "\n".join(texts) if texts else None
    if text is None:
        return None
    if spelled.get("output") == "json":
        try:
            return decode(text)
        except UNREADABLE:
            return text
    return text


def write_media(d: OtelGenAI, block: Media, w: Writing) -> Json:
    kind, key = FORMS[block.source.kind]
    if kind == "file":
        note_owner(d, block, w.log)
    out: dict[str, Json] = {"type": kind}
    if not (w.same and d.spelling(block).get("modality") is False):
        out["modality"] = block.kind
    if block.source.media_type is not None:
        out["mime_type"] = block.source.media_type
    out[key] = block.source.value
    return d.emit(out, block, w.log)
