"""Content parts of Chat Completions, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ...core.reading import as_dict, expected, maybe_int, maybe_str, need_dict, need_str, only
from ...core.writing import Writing, data_uri, split_data_uri
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
from . import gateways
from .signing import Signing

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


class Parts(Signing):
    """Reading and writing what stands inside a message."""

    name = "openai-chat"
    issuer = "openai"
    cache_key: ClassVar[str] = "prompt_cache_breakpoint"
    """What marks a part for the cache; readers know the other name as well."""
    cache_mark: ClassVar[dict[str, Json]] = {"mode": "explicit"}
    media_urls: ClassVar[dict[str, str]] = {}
    """What can be sent in a way that is not official: kind -> type, and key, of its part."""
    any_audio: ClassVar[bool] = False
    """Whether a recording may have any format, or none that is named."""

    # -- reading ----------------------------------------------------------------------------

    def read_parts(self, docs: list[Json], at: str) -> list[Block]:
        out: list[Block] = []
        for index, doc in enumerate(docs):
            where = f"{at}/{index}"
            if doc.__class__ is str:  # some clients mix bare strings into the list
                out.append(Text(doc, at=where, extras=Extras(self.name, spelling={"bare": True})))
                continue
            doc = as_dict(doc, where)
            kind = doc.get("type")
            if kind == "text" and PLAIN_TEXT(doc) and doc.get("text").__class__ is str:
                out.append(Text(doc["text"], at=where))
            else:
                out.append(self.read_part(doc, kind, where))
        return out

    def read_part(self, doc: dict[str, Json], kind: Json, at: str) -> Block:
        match kind:
            case "text":
                cache, spelling = self.read_cache(doc, at)
                text = need_str(doc, "text", at)
                extras = self.keep_marked(doc, TEXT_KEYS, spelling)
                return Text(text, cache=cache, at=at, extras=extras)
            case "image_url":
                return self.read_image(doc, at)
            case "input_audio":
                return self.read_audio(doc, at)
            case "file":
                return self.read_file(doc, at)
            case "refusal":
                text = need_str(doc, "refusal", at)
                extras = self.keep(doc, ("type", "refusal"), {"part": True})
                return Refusal(text, at=at, extras=extras)
            case gateways.PART if gateways.is_part(doc):
                return gateways.read_part(self, doc, at)
            case str() if kind in UNOFFICIAL and isinstance(doc.get(kind), dict):
                return self.read_unofficial(doc, kind, at)
            case _:
                need_str(doc, "type", at)
                return Raw(self.name, doc, at=at)

    def read_cache(self, doc: dict[str, Json], at: str) -> tuple[Cache | None, dict[str, Json]]:
        """A cache mark: the official one, or the one that compatible servers know."""
        mark = doc.get("prompt_cache_breakpoint")
        if mark.__class__ is dict:
            where = f"{at}/prompt_cache_breakpoint"
            usual = mark.get("mode") == "explicit"
            extras = self.keep(mark, ("mode", "ttl") if usual else ("ttl",))
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
            extras = self.keep(
                mark,
                ("type", "ttl") if usual else ("ttl",),
                {"type": "ephemeral"} if usual else None,
            )
            cache = Cache(maybe_str(mark, "ttl", where), at=where, extras=extras)
            return cache, {"cache": "cache_control"}
        if mark is not None:
            expected("an object", mark, f"{at}/cache_control")
        return None, {}

    def keep_marked(
        self,
        doc: dict[str, Json],
        taken: frozenset[str],
        spelling: dict[str, Json],
        partly: dict[str, Json] = NOTHING,
    ) -> Extras | None:
        """``keep``, also of a second mark that says the same as the first."""
        if "cache_control" in spelling:
            partly = partly | {"cache_control": ("type", "ttl")}
        return self.keep(doc, taken, spelling, partly=partly)

    def read_image(self, doc: dict[str, Json], at: str) -> Block:
        image = doc.get("image_url")
        cache, spelling = self.read_cache(doc, at)
        if image.__class__ is str:
            spelling["image_url"] = "string"
            source, detail = self.read_url(image), None
            extras = self.keep_marked(doc, MEDIA_KEYS | {"image_url"}, spelling)
        else:
            image = need_dict(doc, "image_url", at)
            where = f"{at}/image_url"
            source = self.read_url(need_str(image, "url", where))
            detail = maybe_str(image, "detail", where)
            partly = {"image_url": ("url", "detail")}
            extras = self.keep_marked(doc, MEDIA_KEYS, spelling, partly)
        return Media("image", source, detail, cache=cache, at=at, extras=extras)

    def read_url(self, url: str) -> Source:
        found = split_data_uri(url)
        if found is None:
            return Source("url", url)
        return Source("base64", found[1], found[0])

    def read_audio(self, doc: dict[str, Json], at: str) -> Block:
        audio = need_dict(doc, "input_audio", at)
        where = f"{at}/input_audio"
        if self.any_audio and "data" not in audio and "url" in audio:
            return self.read_unofficial(doc, "input_audio", at)
        if not self.any_audio:
            need_str(audio, "format", where)
        form = maybe_str(audio, "format", where)
        data = need_str(audio, "data", where)
        cache, spelling = self.read_cache(doc, at)
        if form is None:
            spelling["bare"] = True
        elif form not in AUDIO:
            spelling["format"] = form
        media_type = None if form is None else AUDIO.get(form, f"audio/{form}")
        source = Source("base64", data, media_type)
        partly = {"input_audio": ("data", "format")}
        extras = self.keep_marked(doc, MEDIA_KEYS, spelling, partly)
        return Media("audio", source, cache=cache, at=at, extras=extras)

    def read_file(self, doc: dict[str, Json], at: str) -> Block:
        file = need_dict(doc, "file", at)
        where = f"{at}/file"
        cache, spelling = self.read_cache(doc, at)
        data, file_id = maybe_str(file, "file_data", where), maybe_str(file, "file_id", where)
        taken = ["filename"]
        if data is not None:
            taken.append("file_data")
            source = self.read_url(data)
            if source.kind == "url":
                spelling["file_data"] = "url" if "://" in data[:12] else "bare"
                if spelling["file_data"] == "bare":
                    source = Source("base64", data)
        elif file_id is not None:
            taken.append("file_id")
            source = Source("file", file_id, issuer=self.issuer)
        else:
            return Raw(self.name, doc, at=at)
        return Media(
            "document",
            source,
            filename=maybe_str(file, "filename", where),
            cache=cache,
            at=at,
            extras=self.keep_marked(doc, MEDIA_KEYS, spelling, {"file": taken}),
        )

    def read_unofficial(self, doc: dict[str, Json], kind: str, at: str) -> Block:
        url = maybe_str(doc[kind], "url", f"{at}/{kind}")
        if url is None:
            return Raw(self.name, doc, at=at)
        cache, spelling = self.read_cache(doc, at)
        spelling["type"] = kind
        extras = self.keep_marked(doc, MEDIA_KEYS, spelling, {kind: ("url",)})
        media = UNOFFICIAL[kind]
        return Media(media, self.read_url(url), cache=cache, at=at, extras=extras)  # type: ignore[arg-type]

    def read_annotations(self, docs: list[Json], at: str) -> tuple[Citation, ...]:
        return tuple(
            self.read_annotation(as_dict(doc, f"{at}/{index}"), f"{at}/{index}")
            for index, doc in enumerate(docs)
        )

    def read_annotation(self, doc: dict[str, Json], at: str) -> Citation:
        inner = doc.get("url_citation")
        if doc.get("type") != "url_citation" or inner.__class__ is not dict:
            return Citation("other", at=at, extras=Extras(self.name, fields=doc))
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
            extras=self.keep(doc, ("type",), partly={"url_citation": taken}),
        )

    # -- writing ----------------------------------------------------------------------------

    def write_parts(self, blocks: Sequence[Block], w: Writing) -> list[Json]:
        out: list[Json] = []
        for block in blocks:
            if block.__class__ is Text and block.cache is None and block.extras is None:
                out.append({"type": "text", "text": block.text})
            else:
                out += self.write_part(block, w)
        return out

    def write_part(self, block: Block, w: Writing) -> list[Json]:
        match block:
            case Text():
                if self.spelling(block).get("bare"):
                    return [block.text]
                return [self.finish({"type": "text", "text": block.text}, block, block.cache, w)]
            case Media():
                return self.write_media(block, w)
            case Refusal():
                out: dict[str, Json] = {"type": "refusal", "refusal": block.text}
                return [self.emit(out, block, w.log)]
            case Reasoning() if "part" in self.spelling(block):
                return [gateways.write_part(self, block)]
            case Raw() | Hosted() if self.is_home(block.dialect):
                return [block.payload]
            case ToolCall() | ToolResult() if "part" in self.spelling(block):
                return [self.write_inline(block, w)]
            case _:
                self.omit(block, w.log)
        return []

    def write_inline(self, block: ToolCall | ToolResult, w: Writing) -> Json:
        raise NotImplementedError

    def write_media(self, block: Media, w: Writing) -> list[Json]:
        spelling = self.spelling(block)
        if "type" in spelling:
            kind = spelling["type"]
            return [
                self.finish(
                    {"type": kind, kind: {"url": url_of(block.source)}}, block, block.cache, w
                )
            ]
        if block.kind == "image":
            out = self.write_image(block, w)
        elif block.kind == "audio":
            out = self.write_audio(block, w)
        elif block.kind == "document":
            out = self.write_file(block, w)
        else:
            out = self.write_unofficial(block)
        return [self.finish(out, block, block.cache, w)]

    def write_unofficial(self, block: Media) -> dict[str, Json]:
        kind = self.media_urls[block.kind]
        return {"type": kind, kind: {"url": url_of(block.source)}}

    def write_image(self, block: Media, w: Writing) -> dict[str, Json]:
        url = url_of(block.source)
        if self.spelling(block).get("image_url") == "string":
            return {"type": "image_url", "image_url": url}
        image: dict[str, Json] = {"url": url}
        if block.detail is not None and (w.home or block.detail != "auto"):
            image["detail"] = block.detail
        return {"type": "image_url", "image_url": image}

    def write_audio(self, block: Media, w: Writing) -> dict[str, Json]:
        source, spelling = block.source, self.spelling(block)
        if "bare" in spelling:
            return {"type": "input_audio", "input_audio": {"data": source.value}}
        kind = source.media_type or ""
        form = spelling.get("format") or AUDIO_FORMATS.get(kind) or kind.removeprefix("audio/")
        if source.kind == "url" and "audio" in self.media_urls:
            return self.write_unofficial(block)
        return {"type": "input_audio", "input_audio": {"data": source.value, "format": form}}

    def write_file(self, block: Media, w: Writing) -> dict[str, Json]:
        source = block.source
        file: dict[str, Json] = {}
        spelled = self.spelling(block).get("file_data")
        if source.kind == "file":
            file["file_id"] = source.value
        else:
            file["file_data"] = source.value if spelled else url_of(source)
        if block.filename is not None:
            file["filename"] = block.filename
        return {"type": "file", "file": file}

    def finish(
        self, out: dict[str, Json], node: Text | Media, cache: Cache | None, w: Writing
    ) -> dict[str, Json]:
        """Cache mark and extras, which every part can bear."""
        if cache is not None and w.facts.cache_marks is False:
            why = f"cache marks are not supported by {w.model}"
            w.log.dropped("cache", cache.at, why)
        elif cache is not None:
            key = self.spelling(node).get("cache")
            usual = self.cache_key if not w.home else "prompt_cache_breakpoint"
            mark: dict[str, Json] = {} if key else dict(HOME_MARK if w.home else self.cache_mark)
            out[key or usual] = self.write_mark(mark, cache, w)
            if "cache_control" in (spelling := self.spelling(node)):
                out["cache_control"] = spelling["cache_control"]
        return self.emit(out, node, w.log)

    def write_mark(self, mark: dict[str, Json], cache: Cache, w: Writing) -> Json:
        if cache.ttl is not None:
            mark["ttl"] = cache.ttl
        mark |= self.spelling(cache)
        return self.emit(mark, cache, w.log)


def url_of(source: Source) -> str | None:
    """The address of a medium, as data URI if need be."""
    match source.kind:
        case "url":
            return source.value
        case "base64":
            return data_uri(source.media_type or "", source.value)
        case _:
            return None
