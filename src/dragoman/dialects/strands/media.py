"""Media in messages of Strands Agents, both ways: their formats are words, and bytes are marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.capabilities import Form
from ...core.media import ENDINGS, endings_of, standard
from ...core.reading import only
from ...core.writing import Writing
from ...model import Json, Media, MediaKind, Source

if TYPE_CHECKING:
    from . import Strands

# The words that the types of the framework list beside the endings of file names.
TYPES = ENDINGS | {
    "video": {"three_gp": "video/3gpp"} | ENDINGS["video"],
    "audio": ENDINGS["audio"] | {"pcm": "audio/pcm", "mka": "audio/x-matroska"},
}
FORMATS = {kind: endings_of(types) for kind, types in TYPES.items()}
USUAL = {
    "image": "image/png",
    "document": "application/pdf",
    "video": "video/mp4",
    "audio": "audio/wav",
}
SYNONYMS = {"image/jpg": "image/jpeg", "audio/mp3": "audio/mpeg", "audio/x-wav": "audio/wav"}
MARK = "__bytes_encoded__"
BYTES = only(MARK, "data")
STORE = "bedrock"
"""Whose models read a file in S3."""


def form_of(kind: str) -> Form:
    """How media of a kind are taken: data have a format, and so have files, which are in S3."""
    return Form(
        sources=frozenset({"base64", "file"}),
        typed=True,
        usual=USUAL[kind],
        pointed={"file": USUAL[kind]},
        types=frozenset(FORMATS[kind]),
        synonyms=SYNONYMS,
        encoded=True,
        files=("s3://",),
        issuers=(STORE,),
    )


def read_bytes(value: Json) -> str | None:
    """Bytes as a session stores them, or as base64 alone."""
    if value.__class__ is dict and value.get(MARK) is True and BYTES(value):
        value = value.get("data")
    return standard(value) if value.__class__ is str else None


def write_bytes(data: str) -> Json:
    return {MARK: True, "data": data}


def read_media(d: Strands, doc: dict[str, Json], kind: str, at: str) -> Media | None:
    inner = doc.get(kind)
    holder = inner.get("source") if inner.__class__ is dict else None
    word = inner.get("format") if inner.__class__ is dict else None
    if holder.__class__ is not dict or inner.__class__ is not dict:
        return None
    if word is not None and word.__class__ is not str:
        return None
    top = "application" if kind == "document" else kind
    media_type = None if word is None else TYPES[kind].get(word) or f"{top}/{word}"
    source = read_source(holder, media_type)
    if source is None:
        return None
    taken: dict[str, Any] = {"format": (), "source": {"bytes": (), "location": ("type", "uri")}}
    named: MediaKind = kind  # type: ignore[assignment]
    title = context = None
    if kind == "document":
        title, context = inner.get("name"), inner.get("context")
        if any(text is not None and text.__class__ is not str for text in (title, context)):
            return None
        taken |= {"name": (), "context": ()}
    extras = d.keep(doc, (), partly={kind: taken})
    return Media(named, source, title=title, context=context, at=at, extras=extras)


def read_source(holder: dict[str, Json], media_type: str | None) -> Source | None:
    if "bytes" in holder:
        data = read_bytes(holder["bytes"])
        return None if data is None else Source("base64", data, media_type)
    place = holder.get("location")
    uri = place.get("uri") if place.__class__ is dict and place.get("type") == "s3" else None
    return Source("file", uri, media_type, STORE) if uri.__class__ is str else None


def write_media(d: Strands, block: Media, w: Writing) -> Json:
    inner: dict[str, Json] = {}
    kind = block.source.media_type
    if kind is not None:
        inner["format"] = FORMATS[block.kind].get(kind) or kind.rpartition("/")[2]
    if block.title is not None:
        inner["name"] = block.title
    if block.context is not None:
        inner["context"] = block.context
    if block.source.kind == "base64":
        inner["source"] = {"bytes": write_bytes(block.source.value)}
    else:
        inner["source"] = {"location": {"type": "s3", "uri": block.source.value}}
    return d.emit({block.kind: inner}, block, w.log)
