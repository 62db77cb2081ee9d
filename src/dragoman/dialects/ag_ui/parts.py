"""The parts of messages in the Agent User Interaction Protocol, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core.media import kind_of, standard
from ...core.reading import as_dict, expected, maybe_str, need_str
from ...core.writing import Writing, is_plain_text
from ...model import Block, Json, Media, MediaKind, Raw, Source, Text

if TYPE_CHECKING:
    from . import AgUI

MEDIA: dict[str, MediaKind] = {
    "image": "image",
    "audio": "audio",
    "video": "video",
    "document": "document",
}
SOURCES = {"data": "base64", "url": "url", "file": "file"}
FORMS = {form: kind for kind, form in SOURCES.items()}
USUAL = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4"}


def read_content(d: AgUI, content: Json, at: str) -> list[Block]:
    if content.__class__ is str:
        return [Text(content, at=at)]
    if content.__class__ is not list:
        expected("a string or a list", content, at)
    out: list[Block] = []
    for index, item in enumerate(content):
        where = f"{at}/{index}"
        out.append(read_part(d, as_dict(item, where), where))
    return out


def read_part(d: AgUI, doc: dict[str, Json], at: str) -> Block:
    kind = need_str(doc, "type", at)
    if kind == "text":
        text = need_str(doc, "text", at)
        return Text(text, at=at, extras=d.keep(doc, ("type", "text")))
    if kind in MEDIA:
        return read_media(d, doc, MEDIA[kind], at) or Raw(d.name, doc, at=at)
    if kind == "binary":
        return read_binary(d, doc, at) or Raw(d.name, doc, at=at)
    return Raw(d.name, doc, at=at)


def read_media(d: AgUI, doc: dict[str, Json], kind: MediaKind, at: str) -> Media | None:
    given = doc.get("source")
    form = given.get("type") if given.__class__ is dict else None
    if given.__class__ is not dict or form.__class__ is not str or form not in SOURCES:
        return None
    value, mime = given.get("value"), given.get("mimeType")
    issuer = given.get("provider")
    if value.__class__ is not str or any(
        text is not None and text.__class__ is not str for text in (mime, issuer)
    ):
        return None
    form = SOURCES[form]
    taken = ("type", "value", "mimeType", "provider" if form == "file" else "type")
    text: str = value
    source = Source(
        form,  # type: ignore[arg-type]
        standard(text) if form == "base64" else text,
        mime,
        # A handle of which nobody tells whose it is is of no use to anybody else.
        (issuer or d.name) if form == "file" else None,
    )
    return Media(kind, source, at=at, extras=d.keep(doc, ("type",), partly={"source": taken}))


def read_binary(d: AgUI, doc: dict[str, Json], at: str) -> Media | None:
    """A part as the protocol had it before version 1.0."""
    kind = maybe_str(doc, "mimeType", at)
    for key, form in (("data", "base64"), ("url", "url")):
        if doc.get(key).__class__ is str:
            value = standard(doc[key]) if form == "base64" else doc[key]
            extras = d.keep(doc, ("type", "mimeType", key), {"binary": True})
            source = Source(form, value, kind)  # type: ignore[arg-type]
            return Media(kind_of(kind), source, at=at, extras=extras)
    return None


def write_content(d: AgUI, blocks: Sequence[Block], w: Writing) -> Json:
    if len(blocks) == 1 and is_plain_text(only := blocks[0], w.same):
        d.lose(only.extras, only.at, w.log)
        return only.text
    return [part for block in blocks if (part := write_part(d, block, w)) is not None]


def write_part(d: AgUI, block: Block, w: Writing) -> Json | None:
    if isinstance(block, Text):
        return d.emit({"type": "text", "text": block.text}, block, w.log)
    if isinstance(block, Media) and block.source.kind in FORMS:
        return write_media(d, block, w)
    if isinstance(block, Raw) and d.is_same(block.dialect):
        return block.payload
    d.omit(block, w.log)
    return None


def write_media(d: AgUI, block: Media, w: Writing) -> Json:
    source, extras = block.source, block.extras
    if w.same and extras is not None and extras.spelling.get("binary"):
        old: dict[str, Json] = {"type": "binary", "mimeType": source.media_type}
        old["data" if source.kind == "base64" else "url"] = source.value
        return d.emit(old, block, w.log)
    given: dict[str, Json] = {"type": FORMS[source.kind], "value": source.value}
    mime = source.media_type
    if mime is None and source.kind == "base64" and not w.same:
        mime = USUAL.get(block.kind, "application/octet-stream")
        w.log.invented("media.type", block.at, f"{d.name} requires the type; {mime!r} is written")
    if mime is not None:
        given["mimeType"] = mime
    if source.kind == "file" and source.issuer not in (None, d.name):
        given["provider"] = source.issuer
    return d.emit({"type": block.kind, "source": given}, block, w.log)


def write_text(d: AgUI, blocks: Sequence[Block], w: Writing) -> str:
    """What is one text here."""
    texts: list[str] = []
    for block in blocks:
        if not isinstance(block, Text):
            d.omit(block, w.log)
            continue
        if texts:
            d.join_text(block.at, w.log)
        d.lose(block.extras, block.at, w.log)
        texts.append(block.text)
    return "\n\n".join(texts)
