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
"""Where the first block of a message item keeps the extra fields of its part, beside the item's.

Extras of an item name it in ``inner``; so do those of a block that is an item itself.
"""

IDS = (r"[\s\S]", 64)
NAMES = ("[a-zA-Z0-9_-]", 128)

Reader: TypeAlias = Callable[[Any, dict[str, Json], str], Block]
NO_READERS: dict[str, Reader] = {}

TEXT_KEYS = frozenset({"type", "text", "annotations", CACHE})
IMAGE_KEYS = ("type", "detail", CACHE)
PLAIN_TEXT = only("type", "text")
FILE_KEYS = ("type", "detail", "filename", CACHE)


class ItemWriting(Writing):
    """A conversion under way, with the ids that a response gives its items."""

    counters = ("count",)

    def __init__(self, log: Ledger, same: bool, reply: bool = False) -> None:
        Writing.__init__(self, log, IDS, NAMES, same, reply)
        self.count: dict[str, int] = {}
        self.within = ""  # the response whose items are named

    def item_id(self, prefix: str) -> str:
        """A fresh id for an item of a response, after the response's own: ``msg_<response>_1``."""
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
            out.append(read_part(d, doc, kind, where))
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


def read_part(d: ResponsesBase, doc: dict[str, Json], kind: str, at: str) -> Block:
    if kind in TEXT_TYPES:
        return read_text(d, doc, at)
    if kind in IMAGE_TYPES:
        return read_image(d, doc, at)
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


def read_text(d: ResponsesBase, doc: dict[str, Json], at: str) -> Text:
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
        extras=d.keep(doc, TEXT_KEYS),
    )


def write_text(d: ResponsesBase, block: Text, usual: str, w: Writing) -> Json:
    out: dict[str, Json] = {"type": usual, "text": block.text}
    if usual == OUTPUT and d.annotates:
        out["annotations"] = []
    if block.extras is None and block.cache is None and not block.citations:
        return out
    if block.citations:
        out["annotations"] = [write_citation(d, cite, block, w) for cite in block.citations]
    if block.cache is not None:
        write_cache(d, out, block.cache, w)
    return d.emit(out, part_of(d, block), w.log)


def read_refusal(d: ResponsesBase, doc: dict[str, Json], at: str) -> Block:
    """A refusal; some clients put its words under ``text``."""
    key = "refusal" if doc.get("refusal") is not None else "text"
    if doc.get(key).__class__ is not str:
        need_str(doc, "refusal", at)
    return Refusal(doc[key], at=at, extras=d.keep(doc, ("type", key)))


def write_refusal(d: ResponsesBase, block: Refusal, w: Writing) -> Json:
    return d.emit({"type": "refusal", "refusal": block.text}, part_of(d, block), w.log)


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
            return Citation(
                "file",
                span=span,
                file_id=maybe_str(doc, "file_id", at),
                filename=maybe_str(doc, "filename", at),
                at=at,
                extras=d.keep(doc, taken),
            )
        case _:
            return Citation("other", at=at, extras=Extras(d.name, fields=doc))


def write_citation(d: ResponsesBase, cite: Citation, block: Text, w: Writing) -> Json:
    extras = cite.extras
    same = w.same or (extras is not None and d.is_same(extras.dialect))
    if same and cite.kind == "other" and extras is not None:
        return extras.fields
    if same and cite.kind == "file":
        out: dict[str, Json] = {"type": type_of(cite)}
        out |= {k: v for k in ("file_id", "filename") if (v := getattr(cite, k)) is not None}
    else:
        out = {"type": "url_citation"}
        out |= {k: v for k in ("url", "title") if (v := getattr(cite, k)) is not None}
    span = cite.span
    if not same:
        out.setdefault("title", "")
        span = span or (0, len(block.text))
    if span is not None:
        out |= {"start_index": span[0], "end_index": span[1]}
    return d.emit(out, cite, w.log)


def type_of(cite: Citation) -> str:
    """Of the sources that are files, only those in a container and those that are cited have more
    than an id and an index."""
    fields = {} if cite.extras is None else cite.extras.fields
    if "container_id" in fields:
        return "container_file_citation"
    return "file_path" if cite.filename is None and "index" in fields else "file_citation"


def read_cache(d: ResponsesBase, doc: dict[str, Json], at: str) -> Cache | None:
    mark = maybe_dict(doc, CACHE, at)
    if mark is None:
        return None
    where = f"{at}/{CACHE}"
    taken = ("mode", "ttl") if mark.get("mode") == "explicit" else ("ttl",)
    return Cache(maybe_str(mark, "ttl", where), at=where, extras=d.keep(mark, taken))


def write_cache(d: ResponsesBase, out: dict[str, Json], cache: Cache, w: Writing) -> None:
    """The mark of a part, if the model takes any."""
    if w.facts.cache_marks is False:
        w.log.dropped("cache", cache.at, f"cache marks are not supported by {w.model}")
        return
    mark: dict[str, Json] = {"mode": "explicit"}
    if cache.ttl is not None:
        mark["ttl"] = cache.ttl
    out[CACHE] = d.emit(mark, cache, w.log)


def write_media(d: ResponsesBase, block: Media, out: list[Json], w: Writing) -> None:
    doc: dict[str, Json]
    if block.kind == "image":
        doc = d.write_image(block, w)
    elif block.kind == "document":
        doc = write_file(d, block, w)
    else:
        doc = write_audio(block)
    if block.cache is not None:
        write_cache(d, doc, block.cache, w)
    out.append(d.emit(doc, part_of(d, block), w.log))


def read_image(d: ResponsesBase, doc: dict[str, Json], at: str) -> Block:
    """An image by ``image_url`` (also as an object, as in Chat), ``url`` or ``file_id``."""
    key = "image_url" if doc.get("image_url") is not None else "url"
    address, detail = doc.get(key), maybe_str(doc, "detail", at)
    partly: dict[str, Json] = {}
    if address.__class__ is dict:
        partly = {key: ("url", "detail")}
        if detail is None:
            detail = maybe_str(address, "detail", f"{at}/{key}")
        address = need_str(address, "url", f"{at}/{key}")
    if address.__class__ is str:
        source = read_address(address)
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
        extras=d.keep(doc, (*IMAGE_KEYS, key), partly=partly),
    )


def write_image(d: ResponsesBase, block: Media, w: Writing) -> dict[str, Json]:
    out: dict[str, Json] = {"type": "input_image"}
    if block.source.kind == "file":
        out["file_id"] = block.source.value
    else:
        address = d.write_address(block, w)
        nested = has_rest(d, part_of(d, block), "image_url")
        out["image_url"] = {"url": address} if nested else address
    if block.detail is not None:
        out["detail"] = block.detail
    elif not w.same:
        out["detail"] = "auto"  # the types demand one; this is the default, and says nothing
    return out


def has_rest(d: ResponsesBase, node: Node, key: str) -> bool:
    """Whether something is left of an object that this dialect had under a key."""
    extras = node.extras
    return extras is not None and key in extras.inner and d.is_same(extras.dialect)


def read_file(d: ResponsesBase, doc: dict[str, Json], at: str) -> Block:
    """A document by ``file_data`` (data URI or bare base64), ``file_url`` or ``file_id``."""
    keys = ("file_data", "file_url", "file_id")
    key = next((k for k in keys if doc.get(k).__class__ is str), None)
    if key is None:
        return Raw(d.name, doc, at=at)
    if key == "file_id":
        source = Source("file", doc[key], issuer=d.issuer)
    else:
        source = read_address(doc[key])
        if key == "file_data" and source.kind == "url" and "://" not in doc[key][:12]:
            source = Source("base64", doc[key])
    return Media(
        "document",
        source,
        maybe_str(doc, "detail", at),
        filename=maybe_str(doc, "filename", at),
        cache=read_cache(d, doc, at),
        at=at,
        extras=d.keep(doc, (*FILE_KEYS, key)),
    )


def write_file(d: ResponsesBase, block: Media, w: Writing) -> dict[str, Json]:
    out: dict[str, Json] = {"type": "input_file"}
    match block.source.kind:
        case "file":
            out["file_id"] = block.source.value
        case "url":
            out["file_url"] = block.source.value
        case _:
            out["file_data"] = d.write_address(block, w)
    if block.filename is not None:
        out["filename"] = block.filename
    if block.detail is not None:
        out["detail"] = block.detail
    return out


def write_address(d: ResponsesBase, block: Media, w: Writing) -> str:
    """An address, or the data themselves as one."""
    source = block.source
    return (
        data_uri(source.media_type or "", source.value) if source.kind == "base64" else source.value
    )


def read_audio(d: ResponsesBase, doc: dict[str, Json], at: str) -> Block:
    """Typed in the SDK and not accepted by the API; read for those servers that do."""
    audio = doc.get("input_audio")
    if audio.__class__ is not dict:
        return Raw(d.name, doc, at=at)
    data, form = audio.get("data"), audio.get("format")
    if data.__class__ is not str or form.__class__ is not str:
        return Raw(d.name, doc, at=at)
    source = Source("base64", data, "audio/mpeg" if form == "mp3" else f"audio/{form}")
    extras = d.keep(doc, ("type", CACHE), partly={"input_audio": ("data", "format")})
    return Media("audio", source, cache=read_cache(d, doc, at), at=at, extras=extras)


def write_audio(block: Media) -> dict[str, Json]:
    form = (block.source.media_type or "").removeprefix("audio/")
    audio = {"data": block.source.value, "format": "mp3" if form == "mpeg" else form}
    return {"type": "input_audio", "input_audio": audio}


def mark(d: ResponsesBase, extras: Extras | None, item: Extras | None) -> Extras:
    """What the first block of an item keeps: the item's own fields, and under ``PART`` its.

    No item has an extra field of that name, so the two cannot meet.
    """
    if extras is None:
        return d.as_item if item is None else replace(item, inner=(*item.inner, PART))
    own = Extras(d.name) if item is None else item
    fields = {**own.fields, PART: extras.fields} if extras.fields else own.fields
    inside = (f"{PART}/{part}" for part in extras.inner)
    return replace(own, fields=fields, inner=(*own.inner, *inside, PART))


def is_item(extras: Extras | None) -> bool:
    """Whether extras are those of an item, or of its first block."""
    return extras is not None and PART in extras.inner


def part_of(d: ResponsesBase, block: Node) -> Node:
    """The block as a part: without what it keeps for its item."""
    extras = block.extras
    if extras is None or not is_item(extras) or not d.knows(extras.dialect):
        return block
    within = f"{PART}/"
    inner = tuple(name.removeprefix(within) for name in extras.inner if name.startswith(within))
    own = replace(extras, fields=extras.fields.get(PART, {}), inner=inner)
    return Node(at=block.at, extras=own)


def item_of(block: Node) -> Node:
    """The item whose first block this is: without what the block keeps for itself."""
    extras = block.extras
    if extras is None:
        return block
    fields = {k: v for k, v in extras.fields.items() if k != PART}
    return Node(at=block.at, extras=replace(extras, fields=fields))


def bare_text(d: ResponsesBase, content: Sequence[Block], w: Writing) -> str | None:
    """The text of a message for which a string says it all; foreign extras are lost then."""
    if len(content) != 1:
        return None
    block = content[0]
    if block.__class__ is not Text or block.citations or block.cache is not None:
        return None
    if (extras := block.extras) is not None:
        if extras.fields and d.is_same(extras.dialect):
            return None
        d.lose(extras, block.at, w.log)
    return block.text


def read_address(url: str) -> Source:
    """A data URI as data, with the parameters of its media type; it may have none."""
    found = split_data_uri(url)
    return Source("url", url) if found is None else Source("base64", found[1], found[0] or None)
