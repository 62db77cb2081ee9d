"""What stands inside a message of the AI SDK, both ways, whichever version it was made for.

Only what the schema of the version accepts is written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

from msgspec.structs import replace

from ...core.media import kind_of, sniff
from ...core.reading import (
    UNREADABLE,
    compact,
    decode,
    expected,
    maybe_str,
    missing,
    need_str,
    only,
    sole,
    tokens,
)
from ...core.writing import Writing, is_whole, object_of, split_data_uri
from ...model import (
    Block,
    Hosted,
    Json,
    Media,
    MediaKind,
    Raw,
    Reasoning,
    Signature,
    Source,
    Text,
    ToolCall,
)
from .options import (
    KEY,
    Options,
    Taker,
    finish,
    keep_options,
    keep_part,
    read_cache,
    read_signature,
    write_cache,
    write_item,
    write_signature,
)

if TYPE_CHECKING:
    from . import VercelModel


PLAIN_TEXT = only("type", "text")
TAGGED = {kind: only("type", kind) for kind in ("data", "url", "text", "reference")}
TEXT_KEYS = frozenset({"type", "text"})
IMAGE_KEYS = frozenset({"type", "image"})
FILE_KEYS = frozenset({"type", "data", "filename"})
SIGNED_KEYS = TEXT_KEYS | {"signature"}
REDACTED_KEYS = frozenset({"type", "data"})
CALL_KEYS = frozenset({"type", "toolCallId", "toolName"})
MEDIA_TYPES = ("mediaType", "mimeType")
TOP_LEVEL = frozenset({"application", "audio", "font", "image", "model", "text", "video", "*"})
"""What may stand for any type of its kind: `image`, `image/*`."""
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
"""How a string begins that ``new URL`` takes for an address."""
FILE_ID = "file-"
"""How the ids of OpenAI's files begin, where they stand in the place of data."""

USUAL_TYPES = {"image": "image/*", "audio": "audio/*", "video": "video/*"}


def is_one(kind: Json, kinds: frozenset[str]) -> bool:
    """Whether a value is one of these words."""
    return kind.__class__ is str and kind in kinds


def read_parts(d: VercelModel, docs: list[Json], at: str, custom: frozenset[str]) -> list[Block]:
    out: list[Block] = []
    for token, doc in zip(tokens(docs), docs, strict=False):
        where = at + token
        if doc.__class__ is not dict:
            expected("an object", doc, where)
        kind = doc.get("type")
        if kind == "text" and PLAIN_TEXT(doc) and doc.get("text").__class__ is str:
            out.append(Text(doc["text"], at=where))  # the usual shape
            continue
        add_block(out, read_part(d, doc, kind, where, custom))
    return out


def write_parts(d: VercelModel, blocks: Sequence[Block], role: str, w: Writing) -> list[Json]:
    out: list[Json] = []
    for block in blocks:
        if block.__class__ is Text and block.extras is None and block.cache is None:
            if not block.citations:
                out.append({"type": "text", "text": block.text})  # the usual shape
                continue
        out += write_part(d, block, role, w)
    return out


def read_part(
    d: VercelModel, doc: dict[str, Json], kind: Json, at: str, custom: frozenset[str]
) -> Block:
    match kind:
        case "text":
            options = Taker(doc, at)
            cache = read_cache(d, options)
            text = need_str(doc, "text", at)
            extras = keep_part(d, options, TEXT_KEYS)
            return Text(text, cache=cache, at=at, extras=extras)
        case "image":
            return read_file(d, doc, "image", at)
        case "file":
            return read_file(d, doc, "data", at)
        case "reasoning":
            return read_reasoning(d, doc, at)
        case "redacted-reasoning":
            options = Taker(doc, at)
            signature = Signature(need_str(doc, "data", at), "anthropic", "encrypted")
            extras = keep_options(d, options, REDACTED_KEYS)
            return Reasoning(signature=signature, at=at, extras=extras)
        case "tool-call":
            return read_call(d, doc, at, custom)
        case "tool-result":  # among what the assistant says, so its provider ran the tool
            name = maybe_str(doc, "toolName", at) or ""
            call_id = maybe_str(doc, "toolCallId", at)
            return Hosted(d.family, name, doc, "result", id=call_id, at=at)
        case _:
            need_str(doc, "type", at)
            return Raw(d.family, doc, at=at)


def write_part(d: VercelModel, block: Block, role: str, w: Writing) -> list[Json]:
    match block:
        case Text():
            return [write_text(d, block, w)]
        case Media():
            part = write_media(d, block, role, w)
            return [] if part is None else [part]
        case Reasoning() if role == "assistant":
            return write_reasoning(d, block, w)
        case ToolCall() if role == "assistant":
            return [write_call(d, block, w)]
        case Raw() | Hosted() if block.dialect == d.family:
            return write_own(d, block, role, w)
        case _:
            d.omit(block, w.log)
    return []


def write_own(d: VercelModel, block: Raw | Hosted, role: str, w: Writing) -> list[Json]:
    """What only this SDK knows, if this version of it does."""
    kind = block.payload.get("type") if block.payload.__class__ is dict else None
    if w.same or (is_one(kind, d.allowed[role]) and takes(d, block)):
        return [block.payload]
    d.omit(block, w.log)
    return []


def takes(d: VercelModel, block: Raw | Hosted) -> bool:
    """Whether this version knows what a provider's tool did, in all its parts."""
    if isinstance(block, Raw):  # a file that several providers hold is raw
        return d.references or block.payload.get("type") not in ("file", "image")
    if d.flat:  # there are only a client's calls, and this must not become one
        return False
    output = block.payload.get("output")
    if output.__class__ is not dict:
        return True
    parts = output.get("value") if output.get("type") == "content" else None
    return is_one(output.get("type"), d.outputs) and all(
        part.__class__ is dict and is_one(part.get("type"), d.result_parts)
        for part in (parts if parts.__class__ is list else ())
    )


def write_text(d: VercelModel, block: Text, w: Writing) -> Json:
    out: dict[str, Json] = {"type": "text", "text": block.text}
    return finish(d, out, block, w, write_cache(d, block.cache, w))


def read_file(d: VercelModel, doc: dict[str, Json], key: str, at: str) -> Block:
    """An image or a file: its data are an address, base64, a reference, or any of them."""
    given = doc.get(key)
    type_key, media_type = read_media_type(d, doc, at)
    source = read_data(given, media_type)
    if source is None:
        if given is None:
            missing(key, at)
        return Raw(d.family, doc, at=at)
    if key == "image" and source.media_type is None and source.kind == "base64":
        source = Source("base64", source.value, sniff(source.value))  # as the SDK does, too
    kind: MediaKind = "image" if key == "image" else kind_of(media_type or source.media_type)
    taken = (IMAGE_KEYS if key == "image" else FILE_KEYS) | {type_key}
    filename = maybe_str(doc, "filename", at) if "filename" in taken else None
    return media(d, kind, source, filename, Taker(doc, at), taken)


def media(
    d: VercelModel,
    kind: MediaKind,
    source: Source,
    filename: str | None,
    options: Taker,
    taken: frozenset[str],
) -> Media:
    """A medium with what providers know about it."""
    cache = read_cache(d, options)
    detail = options.take("openai", "imageDetail") if kind == "image" else None
    title = context = citable = None
    if kind == "document":
        title = options.take("anthropic", "title")
        context = options.take("anthropic", "context")
        citations = options.take("anthropic", "citations", dict)
        if citations is not None and citations in ({"enabled": True}, {"enabled": False}):
            citable = citations["enabled"]
        elif citations is not None and options.left is not None:
            options.left["anthropic"]["citations"] = citations
    return Media(
        kind, source, detail, title, filename, context, citable, cache=cache,
        at=options.at.removesuffix(f"/{KEY}"), extras=keep_part(d, options, taken)
    )  # fmt: skip


def write_media(d: VercelModel, block: Media, role: str, w: Writing) -> Json:
    image = d.image_parts and block.kind == "image" and role == "user"
    if w.same and block.filename is not None:
        image = False  # only files have names
    out: dict[str, Json] = {"type": "image" if image else "file"}
    out["image" if image else "data"] = write_data(d, block.source)
    write_media_type(d, out, block, w, needed=not image)
    if block.filename is not None:
        if image:
            why = f"{d.name} has no file names of images"
            w.log.dropped("media.filename", block.at, why)
        else:
            out["filename"] = block.filename
    return finish(d, out, block, w, *about(d, block, w))


def read_media_type(d: VercelModel, doc: dict[str, Json], at: str) -> tuple[str, str | None]:
    """The media type under the name of any version, and that name."""
    for key in (d.media_type, *MEDIA_TYPES):
        if (media_type := maybe_str(doc, key, at)) is not None:
            return key, media_type
    return d.media_type, None


def exact_type(media_type: str | None) -> str | None:
    """``image`` or ``image/*`` names no type."""
    general = media_type is None or media_type.removesuffix("/*") in TOP_LEVEL
    return None if general else media_type


def write_media_type(
    d: VercelModel, out: dict[str, Json], block: Media, w: Writing, *, needed: bool
) -> None:
    media_type = block.source.media_type
    if media_type is None and needed:
        media_type = usual_type(d, block, w)
    if media_type is not None:
        out[d.media_type] = media_type


def usual_type(d: VercelModel, block: Media, w: Writing) -> str | None:
    if block.source.kind in ("text", "blocks"):
        return None if w.same else "text/plain"
    kind = USUAL_TYPES.get(block.kind)
    return kind if kind is None or d.image_parts else kind.removesuffix("/*")


def about(d: VercelModel, block: Media, w: Writing) -> tuple[Options, ...]:
    """What providers are told about a medium."""
    shares = [write_cache(d, block.cache, w)]
    if block.detail is not None:
        if block.kind == "image":
            if block.detail != "auto" or w.same:
                shares.append({"openai": {"imageDetail": block.detail}})
    for key, value in (
        ("title", block.title),
        ("context", block.context),
        ("citations", None if block.citable is None else {"enabled": block.citable}),
    ):
        if value is not None:
            shares.append({"anthropic": {key: value}})
    return tuple(shares)


def read_data(written: Json, media_type: str | None) -> Source | None:
    """Where a medium is; None for a form that nobody knows."""
    exact = exact_type(media_type)
    if written.__class__ is str:
        return read_text_data(written, exact)
    if written.__class__ is not dict:
        return None
    match written:
        case {"type": "data", "data": str(data)} if TAGGED["data"](written):
            return Source("base64", data, exact)
        case {"type": "url", "url": str(url)} if TAGGED["url"](written):
            # The SDK makes this of a file of a UI message, whose address has the data in it.
            found = split_data_uri(url)
            return Source("url", url, exact) if found is None else read_text_data(url, exact)
        case {"type": "text", "text": str(text)} if TAGGED["text"](written):
            return Source("text", text, exact)
        case {"type": "reference", "reference": dict(reference)} if TAGGED["reference"](written):
            return read_reference(reference, exact)
    return read_reference(written, exact)


def write_data(d: VercelModel, source: Source, *, tagged: bool = False) -> Json:
    match source.kind:
        case "url":
            return {"type": "url", "url": source.value} if tagged else source.value
        case "base64":
            return {"type": "data", "data": source.value} if tagged else source.value
        case "file":
            if not d.references and source.issuer == "openai" and source.value.startswith(FILE_ID):
                return source.value
            reference = {source.issuer or "": source.value}
            return {"type": "reference", "reference": reference} if tagged else reference
        case "text" | "blocks":
            return {"type": "text", "text": source.value}
        case _:
            assert_never(source.kind)


def read_text_data(written: str, media_type: str | None) -> Source:
    if (found := split_data_uri(written)) is not None:
        return Source("base64", found[1], found[0] or media_type)
    if ADDRESS.match(written):
        return Source("url", written, media_type)
    if written.startswith(FILE_ID):
        return Source("file", written, media_type, "openai")
    return Source("base64", written, media_type)


def read_reference(written: dict[str, Json], media_type: str | None) -> Source | None:
    """``{provider: id}``; a file that several providers hold is kept as it is."""
    issuer = sole(written)
    if issuer is not None and (file_id := written[issuer]).__class__ is str:
        return Source("file", file_id, media_type, issuer)
    return None


def read_reasoning(d: VercelModel, doc: dict[str, Json], at: str) -> Block:
    text, data = need_str(doc, "text", at), maybe_str(doc, "signature", at)
    options = Taker(doc, at)
    signature = read_signature(options)
    item = options.take("openai", "itemId")
    taken = TEXT_KEYS
    if data and signature is None:
        signature, taken = Signature(data, "anthropic"), SIGNED_KEYS
    extras = keep_options(d, options, taken)
    words = (text,) if text else ()
    if item is not None or (signature is not None and signature.issuer == "openai"):
        # What OpenAI shows of its reasoning are summaries.
        return Reasoning((), words, signature, item, at=at, extras=extras)
    if signature is None:
        words = (text,)
    return Reasoning(words, signature=signature, at=at, extras=extras)


def add_block(out: list[Block], block: Block) -> None:
    """One more block; the summaries of one reasoning item of OpenAI are one block."""
    whole = one_item(out[-1], block) if out else None
    if whole is None:
        out.append(block)
    else:
        out[-1] = whole


def one_item(first: Block, second: Block) -> Reasoning | None:
    """Summaries of one reasoning item of OpenAI: each is a part, with the id of the item."""
    if not isinstance(first, Reasoning) or not isinstance(second, Reasoning):
        return None
    if first.id is None or first.id != second.id or second.extras is not None:
        return None
    if first.signature != second.signature or first.extras is not None:
        return None
    if not first.summary or not second.summary:
        return None
    summary = (*first.summary, *second.summary)
    return Reasoning((), summary, first.signature, first.id, at=first.at)


def write_reasoning(d: VercelModel, block: Reasoning, w: Writing) -> list[Json]:
    signature, words = block.signature, block.words or ("",)
    has: dict[str, Json] = {}  # a signature of Anthropic stands in the part itself in version 4
    if d.flat and signature is not None and signature.issuer == "anthropic":
        if signature.kind == "encrypted" and not any(words):
            out: dict[str, Json] = {"type": "redacted-reasoning", "data": signature.data}
            return [finish(d, out, block, w)]
        if signature.kind == "signature":
            has, signature = {"signature": signature.data}, None
    shares = write_signature(signature), write_item(block.id)
    nodes = (block, *[replace(block, extras=None)] * (len(words) - 1))
    return [
        finish(d, {"type": "reasoning", "text": text, **has}, node, w, *shares)
        for text, node in zip(words, nodes, strict=True)
    ]


def read_call(d: VercelModel, doc: dict[str, Json], at: str, custom: frozenset[str]) -> Block:
    name, call_id = need_str(doc, "toolName", at), need_str(doc, "toolCallId", at)
    if doc.get("providerExecuted") is True:
        return Hosted(d.family, name, doc, "call", id=call_id, at=at)
    options = Taker(doc, at)
    item = options.take("openai", "itemId")
    cache = read_cache(d, options)
    key = next((k for k in (d.arguments, "input", "args") if k in doc), d.arguments)
    given, kind = doc.get(key), "function"
    if name in custom and given.__class__ is dict and given.keys() == {"input"}:
        if given["input"].__class__ is str:
            given, kind = given["input"], "custom"
    text: str = given if given.__class__ is str else "" if given is None else compact(given)
    if not text and kind == "function":
        text = "{}"
    extras = keep_part(d, options, CALL_KEYS | {key})
    return ToolCall(call_id, name, text, kind, item, cache, at=at, extras=extras)  # type: ignore[arg-type]


def write_call(d: VercelModel, call: ToolCall, w: Writing) -> Json:
    out = {"type": "tool-call", **write_call_head(call, w), d.arguments: write_arguments(call, w)}
    return finish(d, out, call, w, write_cache(d, call.cache, w), write_item(call.item_id))


def write_call_head(call: ToolCall, w: Writing) -> dict[str, Json]:
    return {"toolCallId": w.call_id(call), "toolName": w.tool_name(call.name, call.at)}


def write_arguments(call: ToolCall, w: Writing) -> Json:
    """An object; in the same dialect any value that the arguments were, or else their text."""
    if call.kind == "custom":
        return {"input": call.arguments}
    if not w.same or is_whole(call):
        return object_of(call, w.log)
    try:
        value = decode(call.arguments)
    except UNREADABLE:
        return call.arguments
    return call.arguments if value is None or value.__class__ is str else value
