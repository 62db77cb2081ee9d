"""Content parts of the OpenAI Responses API, both ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import replace

from ...core.reading import as_dict, expected, maybe_dict, maybe_list, maybe_str, need_str, only
from ...core.writing import Writing, data_uri, split_data_uri
from ...ledger import Ledger
from ...model import (
    Block,
    Cache,
    Citation,
    Extras,
    Hosted,
    Json,
    Media,
    Node,
    Raw,
    Refusal,
    Source,
    Text,
)

if TYPE_CHECKING:
    from .base import ResponsesBase


NAME = "openai-responses"

INPUT, OUTPUT = "input_text", "output_text"
TEXT_TYPES = frozenset({INPUT, OUTPUT, "text"})
IMAGE_TYPES = frozenset({"input_image", "output_image"})
CACHE = "prompt_cache_breakpoint"
PART = "content/0"
"""Where the first block of a message item keeps what it says as a part, beside the item's own."""

IDS = (r"[\s\S]", 64)
NAMES = ("[a-zA-Z0-9_-]", 128)

Reader: TypeAlias = Callable[[Any, dict[str, Json], str], Block]
NO_READERS: dict[str, Reader] = {}

TEXT_KEYS = frozenset({"type", "text", "annotations", CACHE})
IMAGE_KEYS = ("type", "detail", CACHE)
PLAIN_TEXT = only("type", "text")
PLAIN_MARK = only("mode")
FILE_KEYS = ("type", "detail", "filename", CACHE)


class ItemWriting(Writing):
    """A conversion under way, with the ids that an answer gives its items."""

    __slots__ = ("count", "custom", "within")

    def __init__(self, log: Ledger, home: bool, answer: bool = False) -> None:
        Writing.__init__(self, log, IDS, NAMES, home, answer)
        self.count: dict[str, int] = {}
        self.within = ""  # the answer whose items are named

    def item_id(self, prefix: str) -> str:
        """A fresh id for an item of an answer, after the answer's own: ``msg_<answer>_1``."""
        if self.log.ids is not None:
            return self.log.ids(prefix)
        number = self.count[prefix] = self.count.get(prefix, 0) + 1
        return f"{prefix}_{self.within}{number}"


def read_parts(
    d: ResponsesBase, docs: list[Json], at: str, usual: str, more: Mapping[str, Reader] = NO_READERS
) -> list[Block]:
    """The parts of a content; ``usual`` is how text is typed there, ``more`` what else is."""
    out: list[Block] = []
    for index, doc in enumerate(docs):
        where = f"{at}/{index}"
        if doc.__class__ is not dict:
            expected("an object", doc, where)
        kind = doc.get("type")
        if kind == usual and PLAIN_TEXT(doc):
            text = doc.get("text")
            if text.__class__ is str:
                out.append(Text(text, at=where))
                continue
        kind = need_str(doc, "type", where)
        if (read := more.get(kind)) is not None:
            out.append(read(d, doc, where))
        else:
            out.append(read_part(d, doc, kind, where, usual))
    return out


def write_parts(
    d: ResponsesBase, blocks: Sequence[Block], w: Writing, usual: str = INPUT
) -> list[Json]:
    out: list[Json] = []
    for block in blocks:
        if block.__class__ is Text:
            out.append(d.write_text(block, usual, w))
        else:
            d.write_part(block, out, w)
    return out


def read_part(d: ResponsesBase, doc: dict[str, Json], kind: str, at: str, usual: str) -> Block:
    if kind in TEXT_TYPES:
        return read_text(d, doc, kind, at, usual)
    if kind in IMAGE_TYPES:
        return d.read_image(doc, kind, at)
    match kind:
        case "refusal":
            return read_refusal(d, doc, at)
        case "input_file":
            return read_file(d, doc, at)
        case "input_audio":
            return read_audio(d, doc, at)
        case _:
            return Raw(d.name, doc, at=at)  # new part types arrive every month


def write_part(d: ResponsesBase, block: Block, out: list[Json], w: Writing) -> None:
    """One block as parts: a document made of blocks, or a passage, may be several."""
    match block:
        case Text():
            out.append(d.write_text(block, INPUT, w))
        case Refusal():
            out.append(write_refusal(d, block, w))
        case Media():
            d.write_media(block, out, w)
        case Raw() | Hosted() if d.knows(block.dialect):
            out.append(block.payload)
        case _:
            d.omit(block, w.log)


def read_text(d: ResponsesBase, doc: dict[str, Json], kind: str, at: str, usual: str) -> Text:
    cited: tuple[Citation, ...] = ()
    if annotations := maybe_list(doc, "annotations", at):
        cited = tuple(
            read_citation(d, as_dict(item, where), where)
            for index, item in enumerate(annotations)
            if (where := f"{at}/annotations/{index}")
        )
    return Text(
        need_str(doc, "text", at),
        cited,
        read_cache(d, doc, at) if CACHE in doc else None,
        at=at,
        extras=d.keep(doc, TEXT_KEYS, None if kind == usual else {"type": kind}),
    )


def write_text(d: ResponsesBase, block: Text, usual: str, w: Writing) -> Json:
    out: dict[str, Json] = {"type": usual, "text": block.text}
    if usual == OUTPUT and not w.home:
        out["annotations"] = []
    if block.extras is None and block.cache is None and not block.citations:
        return out
    if block.citations:
        out["annotations"] = [write_citation(d, cite, block, w) for cite in block.citations]
    if block.cache is not None:
        write_cache(d, out, block.cache, w)
    if "type" in (spelling := d.spelling(block)):
        out["type"] = spelling["type"]
    return d.emit(out, part_of(d, block), w.log)


def read_refusal(d: ResponsesBase, doc: dict[str, Json], at: str) -> Block:
    """A refusal; some clients put its words under ``text``."""
    key = "refusal" if doc.get("refusal") is not None else "text"
    if doc.get(key).__class__ is not str:
        need_str(doc, "refusal", at)
    extras = d.keep(doc, ("type", key), None if key == "refusal" else {"key": key})
    return Refusal(doc[key], at=at, extras=extras)


def write_refusal(d: ResponsesBase, block: Refusal, w: Writing) -> Json:
    key = d.spelling(block).get("key", "refusal")
    return d.emit({"type": "refusal", key: block.text}, part_of(d, block), w.log)


def read_citation(d: ResponsesBase, doc: dict[str, Json], at: str) -> Citation:
    kind = need_str(doc, "type", at)
    start, end = doc.get("start_index"), doc.get("end_index")
    span, taken = None, ["type"]
    if start.__class__ is int and end.__class__ is int:
        span = (start, end)
        taken += ["start_index", "end_index"]
    match kind:
        case "url_citation":
            taken += ["url", "title"]
            url, title = maybe_str(doc, "url", at), maybe_str(doc, "title", at)
            return Citation("url", url, title, span=span, at=at, extras=d.keep(doc, taken))
        case "file_citation" | "container_file_citation" | "file_path":
            taken += ["file_id", "filename"]
            spelling = None if kind == "file_citation" else {"type": kind}
            return Citation(
                "file",
                span=span,
                file_id=maybe_str(doc, "file_id", at),
                filename=maybe_str(doc, "filename", at),
                at=at,
                extras=d.keep(doc, taken, spelling),
            )
        case _:
            return Citation("other", at=at, extras=Extras(d.name, fields=doc))


def write_citation(d: ResponsesBase, cite: Citation, block: Text, w: Writing) -> Json:
    extras = cite.extras
    home = w.home or (extras is not None and d.is_home(extras.dialect))
    if home and cite.kind == "other" and extras is not None:
        return extras.fields
    if home and cite.kind == "file":
        out: dict[str, Json] = {"type": d.spelling(cite).get("type", "file_citation")}
        out |= {k: v for k in ("file_id", "filename") if (v := getattr(cite, k)) is not None}
    else:
        out = {"type": "url_citation"}
        out |= {k: v for k in ("url", "title") if (v := getattr(cite, k)) is not None}
    span = cite.span
    if not home:
        out.setdefault("title", "")
        span = span or (0, len(block.text))
    if span is not None:
        out |= {"start_index": span[0], "end_index": span[1]}
    return d.emit(out, cite, w.log)


def read_cache(d: ResponsesBase, doc: dict[str, Json], at: str) -> Cache | None:
    mark = maybe_dict(doc, CACHE, at)
    if mark is None:
        return None
    where = f"{at}/{CACHE}"
    if mark.get("mode") == "explicit" and PLAIN_MARK(mark):
        return Cache(at=where)
    spelling = None if mark.get("mode") == "explicit" else {"mode": mark.get("mode")}
    extras = d.keep(mark, ("mode", "ttl"), spelling)
    return Cache(maybe_str(mark, "ttl", where), at=where, extras=extras)


def write_cache(d: ResponsesBase, out: dict[str, Json], cache: Cache, w: Writing) -> None:
    """The mark of a part, if the model takes any."""
    if w.facts.cache_marks is False:
        w.log.dropped("cache", cache.at, f"cache marks are not supported by {w.model}")
        return
    mark: dict[str, Json] = {"mode": "explicit"}
    if cache.ttl is not None:
        mark["ttl"] = cache.ttl
    if "mode" in (spelling := d.spelling(cache)):
        mark["mode"] = spelling["mode"]
        if mark["mode"] is None:
            del mark["mode"]
    out[CACHE] = d.emit(mark, cache, w.log)


def write_media(d: ResponsesBase, block: Media, out: list[Json], w: Writing) -> None:
    source = block.source
    if block.kind == "image":
        out.append(finish(d, d.write_image(block, w), block, w))
    elif block.kind == "document":
        out.append(finish(d, write_file(d, block, w), block, w))
    elif "format" in (spelling := d.spelling(block)):
        audio = {"data": source.value, "format": spelling["format"]}
        out.append(finish(d, {"type": "input_audio", "input_audio": audio}, block, w))


def read_image(d: ResponsesBase, doc: dict[str, Json], kind: str, at: str) -> Block:
    """An image by ``image_url`` (also as an object, as in Chat), ``url`` or ``file_id``."""
    key = "image_url" if doc.get("image_url") is not None else "url"
    address, detail = doc.get(key), maybe_str(doc, "detail", at)
    spelling: dict[str, Json] = {} if kind == "input_image" else {"type": kind}
    partly: dict[str, Json] = {}
    if address.__class__ is dict:
        spelling["nested"] = {k: v for k, v in address.items() if k == "detail"}
        partly = {key: ("url", "detail")}
        if detail is None:
            detail = maybe_str(address, "detail", f"{at}/{key}")
            spelling["detail"] = "nested"
        address = need_str(address, "url", f"{at}/{key}")
    if address.__class__ is str:
        if key == "url":
            spelling["key"] = key
        source = read_address(address, spelling)
    elif address is None and doc.get("file_id").__class__ is str:
        key = "file_id"
        source = Source("file", doc[key], issuer=d.issuer)
    else:
        return Raw(d.name, doc, at=at)
    return Media(
        "image",
        source,
        detail,
        cache=read_cache(d, doc, at),
        at=at,
        extras=d.keep(doc, (*IMAGE_KEYS, key), spelling, partly=partly),
    )


def write_image(d: ResponsesBase, block: Media, w: Writing) -> dict[str, Json]:
    spelling, source = d.spelling(block), block.source
    out: dict[str, Json] = {"type": spelling.get("type", "input_image")}
    nested = spelling.get("nested")
    if source.kind == "file":
        out["file_id"] = source.value
    else:
        address: Json = d.write_address(block, w)
        if nested is not None:
            address = {"url": address, **nested}
        out[spelling.get("key", "image_url")] = address
    if "detail" in spelling:
        return out
    if block.detail is not None:
        out["detail"] = block.detail
    elif not w.home:
        out["detail"] = "auto"  # the types demand one; this is the default, and says nothing
    return out


def read_file(d: ResponsesBase, doc: dict[str, Json], at: str) -> Block:
    """A document by ``file_data`` (data URI or bare base64), ``file_url`` or ``file_id``."""
    keys = ("file_data", "file_url", "file_id")
    key = next((k for k in keys if doc.get(k).__class__ is str), None)
    if key is None:
        return Raw(d.name, doc, at=at)
    spelling: dict[str, Json] = {}
    if key == "file_id":
        source = Source("file", doc[key], issuer=d.issuer)
    else:
        source = read_address(doc[key], spelling)
        if key == "file_data" and source.kind == "url":
            if "://" in doc[key][:12]:
                spelling["key"] = key
            else:
                source = Source("base64", doc[key])
        elif key == "file_url" and source.kind == "base64":
            spelling["key"] = key
    return Media(
        "document",
        source,
        maybe_str(doc, "detail", at),
        filename=maybe_str(doc, "filename", at),
        cache=read_cache(d, doc, at),
        at=at,
        extras=d.keep(doc, (*FILE_KEYS, key), spelling),
    )


def write_file(d: ResponsesBase, block: Media, w: Writing) -> dict[str, Json]:
    source, spelled = block.source, d.spelling(block).get("key")
    out: dict[str, Json] = {"type": "input_file"}
    match source.kind:
        case "file":
            out["file_id"] = source.value
        case "url":
            out[spelled or "file_url"] = source.value
        case _:
            bare = source.media_type is None and "media_type" not in d.spelling(block)
            address = d.write_address(block, w)
            out[spelled or "file_data"] = source.value if bare and w.home else address
    if block.filename is not None:
        out["filename"] = block.filename
    if block.detail is not None:
        out["detail"] = block.detail
    return out


def write_address(d: ResponsesBase, block: Media, w: Writing) -> str:
    """An address, or the data themselves as one."""
    source = block.source
    if source.kind != "base64":
        return source.value
    media_type = d.spelling(block).get("media_type", source.media_type)
    return data_uri(media_type or "", source.value)


def finish(d: ResponsesBase, out: dict[str, Json], block: Media, w: Writing) -> dict[str, Json]:
    """Cache mark and extras, which every medium can bear."""
    if block.cache is not None:
        write_cache(d, out, block.cache, w)
    return d.emit(out, part_of(d, block), w.log)


def mark(d: ResponsesBase, extras: Extras | None, item: Extras | None, form: str) -> Extras:
    """What the first block of an item keeps: the item's own extras, and under ``content`` its.

    No item has an extra field ``content``, so the two cannot meet.
    """
    fields = dict(item.fields) if item is not None else {}
    blanks = dict(item.blanks) if item is not None else {}
    spelling: dict[str, Json] = {"item": form}
    if extras is not None:
        if extras.fields:
            fields[PART] = extras.fields
        if extras.blanks:
            blanks[PART] = extras.blanks
        spelling |= extras.spelling
    inner = () if item is None else item.inner
    if extras is not None:
        inner += tuple(f"{PART}/{part}" for part in extras.inner)
    return Extras(d.name, fields, blanks, spelling, (*inner, PART) if PART in fields else inner)


def part_of(d: ResponsesBase, block: Node) -> Node:
    """The block as a part: without what it keeps for its item."""
    extras = block.extras
    if extras is None or not d.knows(extras.dialect) or "item" not in extras.spelling:
        return block
    fields, blanks = extras.fields.get(PART, {}), extras.blanks.get(PART, {})
    return Node(at=block.at, extras=replace(extras, fields=fields, blanks=blanks))


def item_of(block: Node) -> Node:
    """The item whose first block this is: without what the block keeps for itself."""
    extras = block.extras
    if extras is None:
        return block
    fields = {k: v for k, v in extras.fields.items() if k != PART}
    blanks = {k: v for k, v in extras.blanks.items() if k != PART}
    return Node(at=block.at, extras=replace(extras, fields=fields, blanks=blanks))


def read_audio(d: ResponsesBase, doc: dict[str, Json], at: str) -> Block:
    """Typed in the SDK and not accepted by the API; read for those servers that do."""
    audio = doc.get("input_audio")
    if audio.__class__ is not dict:
        return Raw(d.name, doc, at=at)
    data, form = audio.get("data"), audio.get("format")
    if data.__class__ is not str or form.__class__ is not str:
        return Raw(d.name, doc, at=at)
    source = Source("base64", data, "audio/mpeg" if form == "mp3" else f"audio/{form}")
    partly = {"input_audio": ("data", "format")}
    extras = d.keep(doc, ("type", CACHE), {"format": form}, partly=partly)
    return Media("audio", source, cache=read_cache(d, doc, at), at=at, extras=extras)


def bare_text(d: ResponsesBase, content: Sequence[Block], w: Writing) -> str | None:
    """The text of a message for which a string says it all; foreign extras are lost then."""
    if len(content) != 1:
        return None
    block = content[0]
    if block.__class__ is not Text or block.citations or block.cache is not None:
        return None
    if block.extras is not None:
        if d.is_home(block.extras.dialect):
            return None
        d.lose(block.extras, block.at, w.log)
    return block.text


def read_address(url: str, spelling: dict[str, Json]) -> Source:
    """A data URI as data, with the parameters of its media type; it may have none."""
    found = split_data_uri(url)
    if found is None:
        return Source("url", url)
    head, data = found
    if not head:
        spelling["media_type"] = head
    return Source("base64", data, head or None)
