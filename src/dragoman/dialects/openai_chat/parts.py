"""Content parts of Chat Completions, both ways."""

from __future__ import annotations

from collections.abc import Sequence
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
    parse,
)
from ...core.writing import Writing, data_uri, is_plain_text, split_data_uri
from ...dialect import NOTHING
from ...model import (
    Block,
    Cache,
    Citation,
    Extras,
    Hosted,
    Json,
    Media,
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
TEXT_KEYS = frozenset({"type", "text", "prompt_cache_breakpoint", "cache_control"})
MEDIA_KEYS = frozenset({"type", "prompt_cache_breakpoint", "cache_control"})
CITATION_KEYS = ("url", "title", "start_index", "end_index")
AUDIO = {"wav": "audio/wav", "mp3": "audio/mpeg"}
AUDIO_FORMATS = {media_type: form for form, media_type in AUDIO.items()}
AUDIO_SYNONYMS = {"audio/x-wav": "audio/wav", "audio/mp3": "audio/mpeg"}
# Not in the official API, but understood by many servers that speak it.
UNOFFICIAL = {
    "video_url": "video", "file_url": "document", "audio_url": "audio", "input_audio": "audio",
}  # fmt: skip
HOME_MARK: dict[str, Json] = {"mode": "explicit"}

EMPTY: dict[str | None, Json] = {"list": [], "empty": ""}
"""How nothing was spelled, where not as null."""


def read_parts(d: OpenAIChat, docs: list[Json], at: str) -> list[Block]:
    out: list[Block] = []
    for index, doc in enumerate(docs):
        where = f"{at}/{index}"
        if doc.__class__ is str:  # some clients mix bare strings into the list
            out.append(Text(doc, at=where, extras=Extras(d.name, spelling={"bare": True})))
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
            cache, spelling = read_cache(d, doc, at)
            text = need_str(doc, "text", at)
            extras = keep_marked(d, doc, TEXT_KEYS, spelling)
            return Text(text, cache=cache, at=at, extras=extras)
        case "image_url":
            return read_image(d, doc, at)
        case "input_audio":
            return read_audio(d, doc, at)
        case "file":
            return read_file(d, doc, at)
        case "refusal":
            text = need_str(doc, "refusal", at)
            extras = d.keep(doc, ("type", "refusal"), {"part": True})
            return Refusal(text, at=at, extras=extras)
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
            if d.spelling(block).get("bare"):
                return [block.text]
            return [finish(d, {"type": "text", "text": block.text}, block, block.cache, w)]
        case Media():
            return write_media(d, block, w)
        case Refusal():
            out: dict[str, Json] = {"type": "refusal", "refusal": block.text}
            return [d.emit(out, block, w.log)]
        case Reasoning() if "part" in d.spelling(block):
            return [gateways.write_part(d, block)]
        case Raw() | Hosted() if d.is_home(block.dialect):
            return [block.payload]
        case ToolCall() | ToolResult() if "part" in d.spelling(block):
            return [write_inline(d, block, w)]
        case _:
            d.omit(block, w.log)
    return []


def write_media(d: OpenAIChat, block: Media, w: Writing) -> list[Json]:
    spelling = d.spelling(block)
    if "type" in spelling:
        kind = spelling["type"]
        return [
            finish(d, {"type": kind, kind: {"url": url_of(block.source)}}, block, block.cache, w)
        ]
    if block.kind == "image":
        out = d.write_image(block, w)
    elif block.kind == "audio":
        out = d.write_audio(block, w)
    elif block.kind == "document":
        out = d.write_file(block, w)
    else:
        out = write_unofficial(d, block)
    return [finish(d, out, block, block.cache, w)]


def read_cache(
    d: OpenAIChat, doc: dict[str, Json], at: str
) -> tuple[Cache | None, dict[str, Json]]:
    """A cache mark: the official one, or the one that compatible servers know."""
    mark = doc.get("prompt_cache_breakpoint")
    if mark.__class__ is dict:
        where = f"{at}/prompt_cache_breakpoint"
        usual = mark.get("mode") == "explicit"
        extras = d.keep(mark, ("mode", "ttl") if usual else ("ttl",))
        spelling = {} if usual else {"cache": "prompt_cache_breakpoint"}
        if doc.get("cache_control") is not None:  # both: they say the same twice
            spelling["cache_control"] = doc["cache_control"]
        return Cache(maybe_str(mark, "ttl", where), at=where, extras=extras), spelling
    if mark is not None:
        expected("an object", mark, f"{at}/prompt_cache_breakpoint")
    mark = doc.get("cache_control")
    if mark.__class__ is dict:
        where = f"{at}/cache_control"
        usual = mark.get("type") == "ephemeral"
        extras = d.keep(
            mark, ("type", "ttl") if usual else ("ttl",), {"type": "ephemeral"} if usual else None
        )
        cache = Cache(maybe_str(mark, "ttl", where), at=where, extras=extras)
        return cache, {"cache": "cache_control"}
    if mark is not None:
        expected("an object", mark, f"{at}/cache_control")
    return None, {}


def keep_marked(
    d: OpenAIChat,
    doc: dict[str, Json],
    taken: frozenset[str],
    spelling: dict[str, Json],
    partly: dict[str, Json] = NOTHING,
) -> Extras | None:
    """``keep``, also of a second mark that says the same as the first."""
    if "cache_control" in spelling:
        partly = partly | {"cache_control": ("type", "ttl")}
    return d.keep(doc, taken, spelling, partly=partly)


def read_image(d: OpenAIChat, doc: dict[str, Json], at: str) -> Block:
    image = doc.get("image_url")
    cache, spelling = read_cache(d, doc, at)
    if image.__class__ is str:
        spelling["image_url"] = "string"
        source, detail = read_url(image), None
        extras = keep_marked(d, doc, MEDIA_KEYS | {"image_url"}, spelling)
    else:
        image = need_dict(doc, "image_url", at)
        where = f"{at}/image_url"
        source = read_url(need_str(image, "url", where))
        detail = maybe_str(image, "detail", where)
        partly = {"image_url": ("url", "detail")}
        extras = keep_marked(d, doc, MEDIA_KEYS, spelling, partly)
    return Media("image", source, detail, cache=cache, at=at, extras=extras)


def write_image(d: OpenAIChat, block: Media, w: Writing) -> dict[str, Json]:
    url = url_of(block.source)
    if d.spelling(block).get("image_url") == "string":
        return {"type": "image_url", "image_url": url}
    image: dict[str, Json] = {"url": url}
    if block.detail is not None and (w.home or block.detail != "auto"):
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
    data = need_str(audio, "data", where)
    cache, spelling = read_cache(d, doc, at)
    if form is None:
        spelling["bare"] = True
    elif form not in AUDIO:
        spelling["format"] = form
    media_type = None if form is None else AUDIO.get(form, f"audio/{form}")
    source = Source("base64", data, media_type)
    partly = {"input_audio": ("data", "format")}
    extras = keep_marked(d, doc, MEDIA_KEYS, spelling, partly)
    return Media("audio", source, cache=cache, at=at, extras=extras)


def write_audio(d: OpenAIChat, block: Media, w: Writing) -> dict[str, Json]:
    source, spelling = block.source, d.spelling(block)
    if "bare" in spelling:
        return {"type": "input_audio", "input_audio": {"data": source.value}}
    kind = source.media_type or ""
    form = spelling.get("format") or AUDIO_FORMATS.get(kind) or kind.removeprefix("audio/")
    if source.kind == "url" and "audio" in d.media_urls:
        return write_unofficial(d, block)
    return {"type": "input_audio", "input_audio": {"data": source.value, "format": form}}


def read_file(d: OpenAIChat, doc: dict[str, Json], at: str) -> Block:
    file = need_dict(doc, "file", at)
    where = f"{at}/file"
    cache, spelling = read_cache(d, doc, at)
    data, file_id = maybe_str(file, "file_data", where), maybe_str(file, "file_id", where)
    taken = ["filename"]
    if data is not None:
        taken.append("file_data")
        source = read_url(data)
        if source.kind == "url":
            spelling["file_data"] = "url" if "://" in data[:12] else "bare"
            if spelling["file_data"] == "bare":
                source = Source("base64", data)
    elif file_id is not None:
        taken.append("file_id")
        source = Source("file", file_id, issuer=d.issuer)
    else:
        return Raw(d.name, doc, at=at)
    return Media(
        "document",
        source,
        filename=maybe_str(file, "filename", where),
        cache=cache,
        at=at,
        extras=keep_marked(d, doc, MEDIA_KEYS, spelling, {"file": taken}),
    )


def write_file(d: OpenAIChat, block: Media, w: Writing) -> dict[str, Json]:
    source = block.source
    file: dict[str, Json] = {}
    spelled = d.spelling(block).get("file_data")
    if source.kind == "file":
        file["file_id"] = source.value
    else:
        file["file_data"] = source.value if spelled else url_of(source)
    if block.filename is not None:
        file["filename"] = block.filename
    return {"type": "file", "file": file}


def finish(
    d: OpenAIChat, out: dict[str, Json], node: Text | Media, cache: Cache | None, w: Writing
) -> dict[str, Json]:
    """Cache mark and extras, which every part can bear."""
    if cache is not None and w.facts.cache_marks is False:
        why = f"cache marks are not supported by {w.model}"
        w.log.dropped("cache", cache.at, why)
    elif cache is not None:
        key = d.spelling(node).get("cache")
        usual = d.cache_key if not w.home else "prompt_cache_breakpoint"
        mark: dict[str, Json] = {} if key else dict(HOME_MARK if w.home else d.cache_mark)
        out[key or usual] = write_mark(d, mark, cache, w)
        if "cache_control" in (spelling := d.spelling(node)):
            out["cache_control"] = spelling["cache_control"]
    return d.emit(out, node, w.log)


def write_mark(d: OpenAIChat, mark: dict[str, Json], cache: Cache, w: Writing) -> Json:
    if cache.ttl is not None:
        mark["ttl"] = cache.ttl
    mark |= d.spelling(cache)
    return d.emit(mark, cache, w.log)


def write_inline(d: OpenAIChat, block: ToolCall | ToolResult, w: Writing) -> Json:
    return inline.write_part(d, block, w)


def read_unofficial(d: OpenAIChat, doc: dict[str, Json], kind: str, at: str) -> Block:
    url = maybe_str(doc[kind], "url", f"{at}/{kind}")
    if url is None:
        return Raw(d.name, doc, at=at)
    cache, spelling = read_cache(d, doc, at)
    spelling["type"] = kind
    extras = keep_marked(d, doc, MEDIA_KEYS, spelling, {kind: ("url",)})
    media = UNOFFICIAL[kind]
    return Media(media, read_url(url), cache=cache, at=at, extras=extras)  # type: ignore[arg-type]


def write_unofficial(d: OpenAIChat, block: Media) -> dict[str, Json]:
    kind = d.media_urls[block.kind]
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


def read_content(
    d: OpenAIChat, doc: dict[str, Json], at: str
) -> tuple[tuple[Block, ...], dict[str, Json] | None]:
    """Content in any of its forms, and the form where it is not the usual one."""
    content = doc.get("content")
    where = f"{at}/content"
    if content.__class__ is str:
        return (Text(content, at=where),), None
    if content.__class__ is list:
        blocks = tuple(read_parts(d, content, where))
        if not blocks or (len(blocks) == 1 and is_plain_text(blocks[0])):
            return blocks, {"content": "list"}
        return blocks, None
    if content is None:
        return (), {"content": "null" if "content" in doc else "absent"}
    if content.__class__ is not dict:
        expected("a string or a list", content, where)
    # Some servers parse a JSON answer on the client's behalf.
    return (Text(compact(content), at=where),), {"content": "object"}


def write_content(d: OpenAIChat, blocks: Sequence[Block], spelled: Json, w: Writing) -> Json:
    """A string for one plain text, else a list; None where nothing is left."""
    if spelled == "object" and len(blocks) == 1 and isinstance(blocks[0], Text):
        return parse(blocks[0].text)
    if len(blocks) == 1 and spelled != "list" and is_plain_text(blocks[0], w.home):
        return blocks[0].text
    parts = write_parts(d, blocks, w)
    return parts or EMPTY.get(spelled)


def read_failed(
    blocks: tuple[Block, ...], spelling: dict[str, Json]
) -> tuple[bool, tuple[Block, ...]]:
    """A result that begins with the mark of an error is one; the mark goes."""
    if not blocks or not isinstance(first := blocks[0], Text):
        return False, blocks
    failed, text = unmark_error(first.text)
    if text is None and is_plain_text(first):
        if len(blocks) > 1:
            spelling["mark"] = "alone"
        return True, blocks[1:]
    if text is None or text == first.text:
        return False, blocks
    return bool(failed), (replace(first, text=text), *blocks[1:])


def url_of(source: Source) -> str | None:
    """The address of a medium, as data URI if need be."""
    match source.kind:
        case "url":
            return source.value
        case "base64":
            return data_uri(source.media_type or "", source.value)
        case _:
            return None
