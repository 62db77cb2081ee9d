"""Texts, images and reasoning of Cohere's messages, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.reading import as_dict, expected, maybe_str, need_str
from ...core.writing import data_uri, is_blank, joined, lose_labels, split_data_uri
from ...model import Block, Json, Media, Passage, Raw, Reasoning, Source, Text
from . import documents
from .documents import CohereWriting, is_document

if TYPE_CHECKING:
    from . import Cohere


DETAILS = frozenset({"auto", "low", "high"})


def read_content(d: Cohere, content: Json, role: str, at: str) -> list[Block]:
    if content is None:
        return []
    if content.__class__ is str:
        return [Text(content, at=at)]
    if content.__class__ is not list:
        expected("a string or a list", content, at)
    return [
        read_part(d, as_dict(part, f"{at}/{index}"), role, f"{at}/{index}")
        for index, part in enumerate(content)
    ]


def read_part(d: Cohere, doc: dict[str, Json], role: str, at: str) -> Block:
    match need_str(doc, "type", at):
        case "text":
            return Text(need_str(doc, "text", at), at=at, extras=d.keep(doc, ("type", "text")))
        case "thinking" if doc.get("thinking").__class__ is str and role == "assistant":
            given = (doc["thinking"],) if doc["thinking"] else ()
            return Reasoning(given, at=at, extras=d.keep(doc, ("type", "thinking")))
        case "image_url" if doc.get("image_url").__class__ is dict:
            return read_image(d, doc, at)
        case "document":
            return documents.read_part_document(d, doc, at, role == "tool")
        case _:
            return Raw(d.name, doc, at=at)


def read_image(d: Cohere, doc: dict[str, Json], at: str) -> Block:
    image, where = doc["image_url"], f"{at}/image_url"
    url = need_str(image, "url", where)
    found = split_data_uri(url)
    return Media(
        "image",
        Source("url", url) if found is None else Source("base64", found[1], found[0]),
        maybe_str(image, "detail", where),
        at=at,
        extras=d.keep(doc, ("type",), partly={"image_url": ("url", "detail")}),
    )


def write_image(d: Cohere, block: Media, w: CohereWriting) -> Json:
    source = block.source
    image: dict[str, Json] = {"url": source.value}
    if source.kind == "base64":
        image["url"] = data_uri(source.media_type or "", source.value)
    if block.detail is not None and (block.detail != "auto" or w.same):
        image["detail"] = block.detail
    return d.emit({"type": "image_url", "image_url": image}, block, w.log)


def texts_in(d: Cohere, block: Block, w: CohereWriting) -> list[str]:
    """What a document says as plain text; any other block is lost."""
    found: list[str] = []
    if is_document(block):
        code = "passage" if isinstance(block, Passage) else "media"
        why = f"{d.name} has plain text only; the document is written as text"
        w.log.approximated(code, block.at, why)
        if isinstance(block, Media):
            lose_labels(block, "plain text has", w.log)
        found = documents.texts_of(d, block, w)
    else:
        d.omit(block, w.log)
    d.lose(block.extras, block.at, w.log)
    return found


def write_text(d: Cohere, block: Text, w: CohereWriting) -> Json:
    return d.emit({"type": "text", "text": block.text}, block, w.log)


def write_reasoning(d: Cohere, block: Reasoning, w: CohereWriting) -> Json:
    return d.emit({"type": "thinking", "thinking": joined(block.content)}, block, w.log)


def is_image(block: Block) -> bool:
    """An image by its address or as data; nobody here holds files."""
    if not isinstance(block, Media) or block.kind != "image":
        return False
    return block.source.kind in ("url", "base64") and not is_blank(block.source.value)
