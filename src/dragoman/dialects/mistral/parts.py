"""Chunks of Mistral's messages, both ways: reasoning, documents, recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.reading import maybe_str
from ...core.writing import Writing
from ...model import Block, Json, Media, Raw, Reasoning, Signature, Source
from ..openai_chat import parts as chat_parts
from ..openai_chat.parts import PLAIN_TEXT, url_of

if TYPE_CHECKING:
    from . import Mistral


def read_part(d: Mistral, doc: dict[str, Json], kind: Json, at: str) -> Block:
    match kind:
        case "thinking":
            return read_thinking(d, doc, at)
        case "document_url" if doc.get("document_url").__class__ is str:
            source = chat_parts.read_url(doc["document_url"])
            name = maybe_str(doc, "document_name", at)
            extras = d.keep(doc, ("type", "document_url", "document_name"))
            return Media("document", source, filename=name, at=at, extras=extras)
        case "file" if doc.get("file_id").__class__ is str:
            source = Source("file", doc["file_id"], issuer=d.issuer)
            extras = d.keep(doc, ("type", "file_id"))
            return Media("document", source, at=at, extras=extras)
        case "input_audio" if doc.get("input_audio").__class__ is str:
            extras = d.keep(doc, ("type", "input_audio"))
            return Media("audio", read_recording(doc["input_audio"]), at=at, extras=extras)
        case "reference" | "resource" | "resource_link" | "tool_reference":
            return Raw(d.name, doc, at=at)
    return chat_parts.read_part(d, doc, kind, at)


def write_part(d: Mistral, block: Block, w: Writing) -> list[Json]:
    if isinstance(block, Reasoning):
        return write_thinking(d, block, w)
    return chat_parts.write_part(d, block, w)


def read_thinking(d: Mistral, doc: dict[str, Json], at: str) -> Block:
    """Reasoning in texts; one without any is kept as it is."""
    given = doc.get("thinking")
    if given.__class__ is str:
        texts = [given]
    elif given.__class__ is list:
        texts = [item["text"] for item in given if is_bare_text(item)]
    else:
        return Raw(d.name, doc, at=at)
    taken = ["type", "thinking", "signature"]
    if given.__class__ is list and len(texts) != len(given):
        if not texts:
            return Raw(d.name, doc, at=at)
        taken.remove("thinking")  # to what the reasoning refers is lost elsewhere
    if doc.get("closed") is True:  # which is what silence means
        taken.append("closed")
    mark = maybe_str(doc, "signature", at)
    return Reasoning(
        tuple(texts),
        signature=None if mark is None else Signature(mark, d.issuer),
        at=at,
        extras=d.keep(doc, taken),
    )


def write_thinking(d: Mistral, block: Reasoning, w: Writing) -> list[Json]:
    written = [{"type": "text", "text": text} for text in block.content]
    out: dict[str, Json] = {"type": "thinking", "thinking": written}
    if block.signature is not None:
        out["signature"] = block.signature.data
    return [d.emit(out, block, w.log)]


def write_audio(d: Mistral, block: Media, w: Writing) -> dict[str, Json]:
    source = block.source
    if w.same and source.media_type is not None:
        return {"type": "input_audio", "input_audio": url_of(source)}
    return {"type": "input_audio", "input_audio": source.value}


def write_image(d: Mistral, block: Media, w: Writing) -> dict[str, Json]:
    if block.source.kind == "file":
        return write_file(d, block, w)
    return chat_parts.write_image(d, block, w)


def write_file(d: Mistral, block: Media, w: Writing) -> dict[str, Json]:
    source = block.source
    if source.kind == "file":
        if block.kind != "document":
            w.log.approximated(
                "media", block.at, f"{d.name} has no field for the kind of a stored file"
            )
        return {"type": "file", "file_id": source.value}
    out: dict[str, Json] = {"type": "document_url", "document_url": url_of(source)}
    if block.filename is not None:
        out["document_name"] = block.filename
    return out


def read_recording(written: str) -> Source:
    """A recording: its address, or its data."""
    if written.startswith(("http://", "https://")):
        return Source("url", written)
    head, comma, data = written.partition(";base64,")
    if comma and head.startswith("data:"):
        return Source("base64", data, head[5:])
    return Source("base64", written)


def is_bare_text(item: Json) -> bool:
    """``{"type": "text", "text": ...}`` and nothing more."""
    return (
        item.__class__ is dict
        and PLAIN_TEXT(item)
        and item.get("type") == "text"
        and item.get("text").__class__ is str
    )
