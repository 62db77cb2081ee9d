"""Content parts of Chat Completions, both ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.reading import (
    as_dict,
    compact,
    expected,
    maybe_int,
    maybe_str,
    need_dict,
    need_str,
    only,
)
from ...core.writing import Writing, data_uri, is_plain_text, split_data_uri
from ...model import (
    Block,
    Cache,
    Citation,
    Extras,
    Hosted,
    Json,
    Media,
    MediaKind,
    Raw,
    Reasoning,
    Refusal,
    Source,
    Text,
    ToolCall,
    ToolResult,
)
from ...tools.tool_errors import unmark_error
from . import gateways, inline

if TYPE_CHECKING:
    from . import OpenAIChat


PLAIN_TEXT = only("type", "text")
CITATION_KEYS = ("url", "title", "start_index", "end_index")
AUDIO = {"wav": "audio/wav", "mp3": "audio/mpeg"}
AUDIO_FORMATS = {media_type: form for form, media_type in AUDIO.items()}
AUDIO_SYNONYMS = {"audio/x-wav": "audio/wav", "audio/mp3": "audio/mpeg"}
# Not in the official API, but understood by many servers that speak it.
UNOFFICIAL: dict[str, MediaKind] = {
    "video_url": "video", "file_url": "document", "audio_url": "audio", "input_audio": "audio",
}  # fmt: skip
MARKS = ("prompt_cache_breakpoint", "cache_control")
"""Cache marks: the official one, and the one that compatible servers know."""
USUAL_MARKS = (("mode", "explicit"), ("type", "ephemeral"))


def read_parts(d: OpenAIChat, docs: list[Json], at: str) -> list[Block]:
    out: list[Block] = []
    for index, doc in enumerate(docs):
        where = f"{at}/{index}"
        if doc.__class__ is str:  # some clients mix bare strings into the list
            out.append(Text(doc, at=where))
            continue
        doc = as_dict(doc, where)
        kind = doc.get("type")
        if kind == "text" and PLAIN_TEXT(doc) and doc.get("text").__class__ is str:
            out.append(Text(doc["text"], at=where))
        else:
            out.append(d.read_part(doc, kind, where))
    return out


def write_parts(d: OpenAIChat, blocks: Sequence[Block], w: Writing) -> list[Json]:
    out: list[Json] = []
    for block in blocks:
        if block.__class__ is Text and block.cache is None and block.extras is None:
            out.append({"type": "text", "text": block.text})
        else:
            out += d.write_part(block, w)
    return out


def read_part(d: OpenAIChat, doc: dict[str, Json], kind: Json, at: str) -> Block:
    match kind:
        case "text":
            extras = keep_marked(d, doc, {"text": ()})
            return Text(
                need_str(doc, "text", at), cache=read_cache(d, doc, at), at=at, extras=extras
            )
        case "image_url":
            return read_image(d, doc, at)
        case "input_audio":
            return read_audio(d, doc, at)
        case "file":
            return read_file(d, doc, at)
        case "refusal":
            extras = d.keep(doc, ("type", "refusal"), {"place": "content"})
            return Refusal(need_str(doc, "refusal", at), at=at, extras=extras)
        case gateways.PART if gateways.is_part(doc):
            return gateways.read_part(d, doc, at)
        case str() if kind in UNOFFICIAL and isinstance(doc.get(kind), dict):
            return read_unofficial(d, doc, kind, at)
        case _:
            need_str(doc, "type", at)
            return Raw(d.name, doc, at=at)


def write_part(d: OpenAIChat, block: Block, w: Writing) -> list[Json]:
    match block:
        case Text():
            return [finish(d, {"type": "text", "text": block.text}, block, w)]
        case Media():
            return [finish(d, write_media(d, block, w), block, w)]
        case Refusal():
            return [d.emit({"type": "refusal", "refusal": block.text}, block, w.log)]
        case Reasoning() if place_of(d, block) == "content":
            return [gateways.write_part(block)]
        case Raw() | Hosted() if d.is_same(block.dialect):
            return [block.payload]
        case ToolCall() | ToolResult() if w.same:
            return [inline.write_part(d, block, w)]
        case _:
            d.omit(block, w.log)
    return []


def place_of(d: OpenAIChat, block: Block) -> str | None:
    """The key of the message under which a block stood, where there are several for its kind."""
    place: str | None = d.spelling(block).get("place")
    return place


def write_media(d: OpenAIChat, block: Media, w: Writing) -> dict[str, Json]:
    if block.kind == "image":
        return d.write_image(block, w)
    if block.kind == "audio":
        return d.write_audio(block, w)
    if block.kind == "document":
        return d.write_file(block, w)
    return write_unofficial(d, block)


def read_cache(d: OpenAIChat, doc: dict[str, Json], at: str) -> Cache | None:
    """A cache mark; the official one, if there are both: they say the same."""
    for key, (kind, usual) in zip(MARKS, USUAL_MARKS, strict=True):
        mark, where = doc.get(key), f"{at}/{key}"
        if mark.__class__ is dict:
            extras = d.keep(mark, (kind, "ttl") if mark.get(kind) == usual else ("ttl",))
            return Cache(maybe_str(mark, "ttl", where), at=where, extras=extras)
        if mark is not None:
            expected("an object", mark, where)
    return None


def keep_marked(d: OpenAIChat, doc: dict[str, Json], inner: Mapping[str, Json]) -> Extras | None:
    """What a part says beyond its type, its marks, and what was taken of the objects in it."""
    if doc.get(MARKS[0]) is not None and doc.get(MARKS[1]) is not None:
        inner = {**inner, MARKS[1]: ("type", "ttl")}
    return d.keep(doc, ("type", *MARKS, *inner), partly=inner)


def read_image(d: OpenAIChat, doc: dict[str, Json], at: str) -> Block:
    image, detail = doc.get("image_url"), None
    if image.__class__ is not str:
        inner, where = need_dict(doc, "image_url", at), f"{at}/image_url"
        image, detail = need_str(inner, "url", where), maybe_str(inner, "detail", where)
    extras = keep_marked(d, doc, {"image_url": ("url", "detail")})
    cache = read_cache(d, doc, at)
    return Media("image", read_url(image), detail, cache=cache, at=at, extras=extras)


def write_image(d: OpenAIChat, block: Media, w: Writing) -> dict[str, Json]:
    image: dict[str, Json] = {"url": url_of(block.source)}
    if block.detail is not None and (w.same or block.detail != "auto"):
        image["detail"] = block.detail
    return {"type": "image_url", "image_url": image}


def read_url(url: str) -> Source:
    found = split_data_uri(url)
    if found is None:
        return Source("url", url)
    return Source("base64", found[1], found[0])


def read_audio(d: OpenAIChat, doc: dict[str, Json], at: str) -> Block:
    audio = need_dict(doc, "input_audio", at)
    where = f"{at}/input_audio"
    if d.any_audio and "data" not in audio and "url" in audio:
        return read_unofficial(d, doc, "input_audio", at)
    if not d.any_audio:
        need_str(audio, "format", where)
    form = maybe_str(audio, "format", where)
    media_type = None if form is None else AUDIO.get(form, f"audio/{form}")
    source = Source("base64", need_str(audio, "data", where), media_type)
    extras = keep_marked(d, doc, {"input_audio": ("data", "format")})
    return Media("audio", source, cache=read_cache(d, doc, at), at=at, extras=extras)


def write_audio(d: OpenAIChat, block: Media, w: Writing) -> dict[str, Json]:
    source, kind = block.source, block.source.media_type
    if source.kind == "url":
        return write_unofficial(d, block)
    audio: dict[str, Json] = {"data": source.value}
    if kind is not None:
        audio["format"] = AUDIO_FORMATS.get(kind) or kind.removeprefix("audio/")
    return {"type": "input_audio", "input_audio": audio}


def read_file(d: OpenAIChat, doc: dict[str, Json], at: str) -> Block:
    file = need_dict(doc, "file", at)
    where = f"{at}/file"
    data, file_id = maybe_str(file, "file_data", where), maybe_str(file, "file_id", where)
    if data is not None:
        key, source = "file_data", read_url(data)
        if source.kind == "url" and not has_scheme(data):
            source = Source("base64", data)
    elif file_id is not None:
        key, source = "file_id", Source("file", file_id, issuer=d.issuer)
    else:
        return Raw(d.name, doc, at=at)
    return Media(
        "document",
        source,
        filename=maybe_str(file, "filename", where),
        cache=read_cache(d, doc, at),
        at=at,
        extras=keep_marked(d, doc, {"file": (key, "filename")}),
    )


def write_file(d: OpenAIChat, block: Media, w: Writing) -> dict[str, Json]:
    source = block.source
    file: dict[str, Json] = {}
    if w.same and source.kind == "url" and not has_scheme(source.value):
        return write_unofficial(d, block)  # else it would be read as data
    if source.kind == "file":
        file["file_id"] = source.value
    else:
        file["file_data"] = url_of(source) if source.media_type is not None else source.value
    if block.filename is not None:
        file["filename"] = block.filename
    return {"type": "file", "file": file}


def finish(
    d: OpenAIChat, out: dict[str, Json], node: Text | Media | ToolCall | ToolResult, w: Writing
) -> dict[str, Json]:
    """Cache mark and extras, which every part can have."""
    cache = node.cache
    if cache is not None and w.facts.cache_marks is False:
        why = f"cache marks are not supported by {w.model}"
        w.log.dropped("cache", cache.at, why)
    elif cache is not None:
        out[d.cache_key] = write_mark(d, cache, w)
    return d.emit(out, node, w.log)


def write_mark(d: OpenAIChat, cache: Cache, w: Writing) -> Json:
    mark = dict(d.cache_mark)
    if cache.ttl is not None:
        mark["ttl"] = cache.ttl
    return d.emit(mark, cache, w.log)


def read_unofficial(d: OpenAIChat, doc: dict[str, Json], kind: str, at: str) -> Block:
    url = maybe_str(doc[kind], "url", f"{at}/{kind}")
    if url is None:
        return Raw(d.name, doc, at=at)
    extras = keep_marked(d, doc, {kind: ("url",)})
    cache = read_cache(d, doc, at)
    return Media(UNOFFICIAL[kind], read_url(url), cache=cache, at=at, extras=extras)


def write_unofficial(d: OpenAIChat, block: Media) -> dict[str, Json]:
    name = "file" if block.kind == "document" else block.kind
    kind = d.media_urls.get(block.kind, f"{name}_url")
    return {"type": kind, kind: {"url": url_of(block.source)}}


def read_annotations(d: OpenAIChat, docs: list[Json], at: str) -> tuple[Citation, ...]:
    return tuple(
        read_annotation(d, as_dict(doc, f"{at}/{index}"), f"{at}/{index}")
        for index, doc in enumerate(docs)
    )


def read_annotation(d: OpenAIChat, doc: dict[str, Json], at: str) -> Citation:
    inner = doc.get("url_citation")
    if doc.get("type") != "url_citation" or inner.__class__ is not dict:
        return Citation("other", at=at, extras=Extras(d.name, fields=doc))
    where = f"{at}/url_citation"
    start, end = maybe_int(inner, "start_index", where), maybe_int(inner, "end_index", where)
    span = None if start is None or end is None else (start, end)
    taken = CITATION_KEYS if span is not None else CITATION_KEYS[:2]
    return Citation(
        "url",
        maybe_str(inner, "url", where),
        maybe_str(inner, "title", where),
        span=span,
        at=at,
        extras=d.keep(doc, ("type",), partly={"url_citation": taken}),
    )


def read_content(d: OpenAIChat, doc: dict[str, Json], at: str) -> tuple[Block, ...]:
    """Content in any of its forms."""
    content = doc.get("content")
    where = f"{at}/content"
    if content.__class__ is str:
        return (Text(content, at=where),)
    if content.__class__ is list:
        return tuple(read_parts(d, content, where))
    if content is None:
        return ()
    if content.__class__ is not dict:
        expected("a string or a list", content, where)
    # Some servers parse a JSON reply on the client's behalf.
    return (Text(compact(content), at=where),)


def write_content(d: OpenAIChat, blocks: Sequence[Block], w: Writing) -> Json:
    """A string for one plain text, else a list; None where nothing is left."""
    if len(blocks) == 1 and is_plain_text(blocks[0], same=False):
        return blocks[0].text
    return write_parts(d, blocks, w) or None


def read_failed(blocks: tuple[Block, ...]) -> tuple[bool, tuple[Block, ...]]:
    """A result that begins with the mark of an error is one; the mark goes."""
    if not blocks or not isinstance(first := blocks[0], Text):
        return False, blocks
    failed, text = unmark_error(first.text)
    if text is None and is_plain_text(first):
        return True, blocks[1:]
    if text is None or text == first.text:
        return False, blocks
    return bool(failed), (replace(first, text=text), *blocks[1:])


def has_scheme(url: str) -> bool:
    return "://" in url[:12]


def url_of(source: Source) -> str | None:
    """The address of a medium, as data URI if need be."""
    match source.kind:
        case "url":
            return source.value
        case "base64":
            return data_uri(source.media_type or "", source.value)
        case _:
            return None
