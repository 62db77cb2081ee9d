"""The blocks of LlamaIndex's messages, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...core.media import ENDINGS, endings_of, standard
from ...core.reading import as_dict, compact, maybe_list, maybe_str, need_str
from ...core.writing import Writing, joined, object_or_text, split_data_uri
from ...model import (
    Block,
    Cache,
    Hosted,
    Json,
    Media,
    Passage,
    Raw,
    Reasoning,
    Signature,
    Source,
    Text,
    ToolCall,
)
from ...tools import freeform
from ...tools.tool_errors import mark_error as mark_error

if TYPE_CHECKING:
    from . import LlamaIndex

# block -> the keys of its data and of its type
MEDIA = {
    "image": ("image", "image_mimetype"),
    "audio": ("audio", "format"),
    "video": ("video", "video_mimetype"),
    "document": ("data", "document_mimetype"),
}
UNTITLED = "input_document"
"""What the framework calls a document of which nobody has told the title."""
FORMATS = ENDINGS["audio"]
"""The formats of audio, which are endings of file names."""
WORDS = endings_of(ENDINGS["audio"])
ABOUT = "additional_information"
# Who signs under which key, and how: as the framework's packages for these providers write it.
SIGNED: dict[str, tuple[str, str]] = {
    "signature": ("anthropic", "signature"),
    "thought_signature": ("google", "signature"),
    "encrypted_content": ("openai", "encrypted"),
}
KEYS = {"bedrock": "signature"} | {issuer: key for key, (issuer, _) in SIGNED.items()}
TYPES = ("thinking", "reasoning")


def text_doc(text: str) -> dict[str, Json]:
    return {"block_type": "text", "text": text}


def read_blocks(d: LlamaIndex, docs: list[Json], at: str) -> list[Block]:
    out: list[Block] = []
    for index, item in enumerate(docs):
        where = f"{at}/{index}"
        doc = as_dict(item, where)
        if doc.get("block_type") != "cache" or not mark(d, doc, where, out):
            out.append(read_block(d, doc, where))
    return out


def mark(d: LlamaIndex, doc: dict[str, Json], at: str, out: list[Block]) -> bool:
    """A cache point is a mark on what stands before it."""
    last = out[-1] if out else None
    point = doc.get("cache_control")
    if not isinstance(last, Text | Media | Passage | ToolCall) or last.cache is not None:
        return False
    if point.__class__ is not dict or point.get("type") != "ephemeral":
        return False
    ttl = point.get("ttl")
    if ttl is not None and ttl.__class__ is not str:
        return False
    extras = d.keep(doc, ("block_type",), partly={"cache_control": ("type", "ttl")})
    # "5m" is the framework's default, which it writes of every point.
    out[-1] = replace(last, cache=Cache(None if ttl == "5m" else ttl, at=at, extras=extras))
    return True


def read_block(d: LlamaIndex, doc: dict[str, Json], at: str) -> Block:
    kind = need_str(doc, "block_type", at)
    if kind == "text":
        text = need_str(doc, "text", at)
        return Text(text, at=at, extras=d.keep(doc, ("block_type", "text")))
    if kind in MEDIA:
        return read_media(d, doc, kind, at) or Raw(d.name, doc, at=at)
    if kind == "thinking":
        return read_thinking(d, doc, at)
    if kind == "tool_call":
        return read_call(d, doc, at)
    if kind == "citable":
        content = read_blocks(d, maybe_list(doc, "content", at) or [], f"{at}/content")
        source, title = need_str(doc, "source", at), need_str(doc, "title", at)
        extras = d.keep(doc, ("block_type", "source", "title", "content"))
        return Passage(source, title, tuple(content), at=at, extras=extras)
    return Raw(d.name, doc, at=at)


def write_blocks(d: LlamaIndex, content: Sequence[Block], w: Writing) -> list[Json]:
    out: list[Json] = []
    for block in content:
        doc = write_block(d, block, w)
        if doc is None:
            continue
        out.append(doc)
        cache = block.cache if isinstance(block, Text | Media | Passage | ToolCall) else None
        if cache is not None:
            point = {"type": "ephemeral", "ttl": cache.ttl or "5m"}
            out.append(d.emit({"block_type": "cache", "cache_control": point}, cache, w.log))
    return out


def write_block(d: LlamaIndex, block: Block, w: Writing) -> Json | None:
    match block:
        case Text():
            return d.emit(text_doc(block.text), block, w.log)
        case Media():
            return write_media(d, block, w)
        case Reasoning():
            return write_thinking(d, block, w)
        case ToolCall():
            return write_call(d, block, w)
        case Passage():
            out: dict[str, Json] = {
                "block_type": "citable",
                "source": block.source,
                "title": block.title,
            }
            out["content"] = write_blocks(d, block.content, w)
            return d.emit(out, block, w.log)
        case Raw() | Hosted() if d.is_same(block.dialect):
            return block.payload
        case _:
            d.omit(block, w.log)
            return None


# -- media ----------------------------------------------------------------------------------


def read_media(d: LlamaIndex, doc: dict[str, Json], kind: str, at: str) -> Media | None:
    data_key, type_key = MEDIA[kind]
    data, url, written = doc.get(data_key), doc.get("url"), doc.get(type_key)
    if written is not None and written.__class__ is not str:
        return None
    media_type = FORMATS.get(written, written) if kind == "audio" and written else written
    media: Any = kind
    taken = {"block_type", type_key}
    if data.__class__ is str and data:
        source = Source("base64", standard(data), media_type)
        taken.add(data_key)
    elif url.__class__ is str:
        found = split_data_uri(url)
        source = Source("url", url, media_type)
        if found is not None:
            source = Source("base64", found[1], media_type or found[0])
        taken.add("url")
    else:  # a file on this machine, or nothing
        return None
    detail = maybe_str(doc, "detail", at) if kind in ("image", "video") else None
    title = maybe_str(doc, "title", at) if kind == "document" else None
    taken |= {"detail"} if kind in ("image", "video") else {"title"} & doc.keys()
    title = None if title == UNTITLED else title
    if kind != "document":
        taken.discard("title")
    return Media(media, source, detail, title, at=at, extras=d.keep(doc, taken))


def write_media(d: LlamaIndex, block: Media, w: Writing) -> Json:
    data_key, type_key = MEDIA[block.kind]
    source = block.source
    out: dict[str, Json] = {"block_type": block.kind}
    out["url" if source.kind == "url" else data_key] = source.value
    kind = source.media_type
    if kind is not None:
        out[type_key] = WORDS.get(kind, kind) if block.kind == "audio" else kind
    if block.detail is not None and (w.same or block.detail != "auto"):  # the default
        out["detail"] = block.detail
    if block.title is not None:
        out["title"] = block.title
    return d.emit(out, block, w.log)


# -- what the model says --------------------------------------------------------------------


def read_thinking(d: LlamaIndex, doc: dict[str, Json], at: str) -> Block:
    text, about = maybe_str(doc, "content", at) or "", doc.get(ABOUT)
    about = about if about.__class__ is dict else {}
    signature, item_id = None, about.get("id")
    taken = {"type"} if about.get("type") in TYPES else set()
    for key, (issuer, kind) in SIGNED.items():
        data = about.get(key)
        if data.__class__ is str and signature is None:
            taken.add(key)
            if data:
                signature = Signature(data, issuer, kind)  # type: ignore[arg-type]
    if item_id.__class__ is str:
        taken.add("id")
    else:
        item_id = None
    extras = d.keep(doc, ("block_type", "content"), partly={ABOUT: taken})
    words = (text,) if text else ()
    if item_id is not None or (signature is not None and signature.issuer == "openai"):
        return Reasoning((), words, signature, item_id, at=at, extras=extras)
    return Reasoning(words, (), signature, at=at, extras=extras)


def write_thinking(d: LlamaIndex, block: Reasoning, w: Writing) -> Json:
    signature, about = block.signature, dict[str, Json]()
    if block.id is not None:
        about["id"] = block.id
    if signature is not None:
        about[KEYS[signature.issuer]] = signature.data
    out: dict[str, Json] = {"block_type": "thinking", "content": joined(block.words)}
    out[ABOUT] = about
    return d.emit(out, block, w.log)


def read_call(d: LlamaIndex, doc: dict[str, Json], at: str) -> ToolCall:
    given = doc.get("tool_kwargs")
    arguments = given if given.__class__ is str else compact({} if given is None else given)
    call_id, name = maybe_str(doc, "tool_call_id", at), need_str(doc, "tool_name", at)
    extras = d.keep(doc, ("block_type", "tool_call_id", "tool_name", "tool_kwargs"))
    return ToolCall(call_id, name, arguments, at=at, extras=extras)


def read_foreign_call(d: LlamaIndex, doc: Json, at: str) -> ToolCall | None:
    """A call as OpenAI or Anthropic write it."""
    if doc.__class__ is not dict:
        return None
    inner = doc.get("function")
    call_id = doc.get("id")
    if call_id is not None and call_id.__class__ is not str:
        return None
    if inner.__class__ is dict:
        name, arguments = inner.get("name"), inner.get("arguments")
        rest = d.keep(doc, ("id", "type"), partly={"function": ("name", "arguments")})
    else:
        name, arguments = doc.get("name"), doc.get("input")
        rest = d.keep(doc, ("id", "type", "name", "input"))
    if name.__class__ is not str or arguments is None or rest is not None:
        return None
    text = arguments if arguments.__class__ is str else compact(arguments)
    return ToolCall(call_id, name, text, at=at)


def write_call(d: LlamaIndex, call: ToolCall, w: Writing) -> Json:
    call = freeform.as_function(call)
    out: dict[str, Json] = {"block_type": "tool_call"}
    out["tool_call_id"] = call.id if w.same and call.id is None else w.call_id(call)
    out["tool_name"] = w.tool_name(call.name, call.at)
    out["tool_kwargs"] = object_or_text(call, w)
    return d.emit(out, call, w.log)
