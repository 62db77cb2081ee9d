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
    compact,
    expected,
    maybe_str,
    missing,
    need_str,
    only,
    parse,
    sole,
    tokens,
)
from ...core.writing import Writing, data_uri, object_of, split_data_uri
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
    is_family,
    keep_options,
    keep_part,
    read_cache,
    read_signature,
    write_cache,
    write_signature,
)

if TYPE_CHECKING:
    from . import VercelModel


PLAIN_TEXT = only("type", "text")
TAGGED = {kind: only("type", kind) for kind in ("data", "url", "text", "reference")}
TEXT_KEYS = frozenset({"type", "text"})
IMAGE_KEYS = frozenset({"type", "image"})
FILE_KEYS = frozenset({"type", "data", "filename"})
THOUGHT_KEYS = frozenset({"type", "text", "signature", "data"})
CALL_KEYS = frozenset({"type", "toolCallId", "toolName", "input", "args"})
MEDIA_TYPES = ("mediaType", "mimeType")
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
        block = read_part(d, doc, kind, where, custom)
        if block.__class__ is Reasoning and out and out[-1].__class__ is Reasoning:
            if (whole := one_item(out[-1], block)) is not None:
                out[-1] = whole
                continue
        out.append(block)
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
            spelling = None if d.flat else {"part": kind}
            extras = keep_options(d, options, THOUGHT_KEYS, spelling)
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
        case Raw() | Hosted() if is_family(d, block.dialect):
            return write_own(d, block, role, w)
        case _:
            d.omit(block, w.log)
    return []


def write_own(d: VercelModel, block: Raw | Hosted, role: str, w: Writing) -> list[Json]:
    """What only this SDK knows, if this version of it does."""
    kind = block.payload.get("type") if block.payload.__class__ is dict else None
    if w.home or (is_one(kind, d.said[role]) and takes(d, block)):
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
    said = doc.get(key)
    spelling: dict[str, Json] = {}
    type_key, media_type = read_media_type(d, doc, at, spelling)
    source = read_data(d, said, media_type, f"{at}/{key}", spelling)
    if source is None:
        if said is None:
            missing(key, at)
        return Raw(d.family, doc, at=at)
    if key == "image" and source.media_type is None and source.kind == "base64":
        if (found := sniff(source.value)) is not None:  # which is what the SDK does, too
            source = Source("base64", source.value, found)
            spelling["untyped"] = True
    kind: MediaKind = "image" if key == "image" else kind_of(media_type or source.media_type)
    if (key == "image") != (d.image_parts and kind == "image"):
        spelling["part"] = doc["type"]
    options = Taker(doc, at)
    taken = (IMAGE_KEYS if key == "image" else FILE_KEYS) | {type_key}
    filename = maybe_str(doc, "filename", at) if "filename" in taken else None
    return media(d, kind, source, filename, options, taken, spelling)


def media(
    d: VercelModel,
    kind: MediaKind,
    source: Source,
    filename: str | None,
    options: Taker,
    taken: frozenset[str],
    spelling: dict[str, Json],
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
        at=options.at.removesuffix(f"/{KEY}"),
        extras=keep_part(d, options, taken, spelling)
    )  # fmt: skip


def write_media(d: VercelModel, block: Media, role: str, w: Writing) -> Json:
    spelling = d.spelling(block)
    image = d.image_parts and block.kind == "image" and role == "user"
    if "part" in spelling:
        image = spelling["part"] == "image"
    data = write_data(d, block, spelling)
    out: dict[str, Json] = {"type": "image" if image else "file"}
    out["image" if image else "data"] = data
    write_media_type(d, out, block, spelling, w, needed=not image)
    if block.filename is not None:
        if image:
            why = f"{d.name} has no file names of images"
            w.log.dropped("media.filename", block.at, why)
        else:
            out["filename"] = block.filename
    return finish(d, out, block, w, *about(d, block, w))


def read_media_type(
    d: VercelModel, doc: dict[str, Json], at: str, spelling: dict[str, Json]
) -> tuple[str, str | None]:
    """The media type under the name of any version; ``image`` or ``image/*`` names none."""
    for key in MEDIA_TYPES:
        media_type = maybe_str(doc, key, at)
        if media_type is not None:
            if key != d.media_type:
                spelling["media_type"] = key
            if "/" not in media_type or media_type.endswith("/*"):
                spelling["any"] = media_type
            return key, media_type
    return d.media_type, None


def write_media_type(
    d: VercelModel,
    out: dict[str, Json],
    block: Media,
    spelling: dict[str, Json],
    w: Writing,
    *,
    needed: bool,
) -> None:
    source = block.source
    key = spelling.get("media_type", d.media_type)
    said = spelling.get("any", spelling.get("type", source.media_type))
    if said is None and not w.home:
        if not needed:
            return
        said = usual_type(d, block)
    if said is not None and ("any" in spelling or not spelling.get("untyped")):
        out[key] = said


def usual_type(d: VercelModel, block: Media) -> str:
    if block.source.kind in ("text", "blocks"):
        return "text/plain"
    kind = USUAL_TYPES[block.kind]
    return kind if d.image_parts else kind.removesuffix("/*")


def about(d: VercelModel, block: Media, w: Writing) -> tuple[Options, ...]:
    """What providers are told about a medium."""
    shares = [write_cache(d, block.cache, w)]
    if block.detail is not None:
        if block.kind == "image":
            if block.detail != "auto" or w.home:
                shares.append({"openai": {"imageDetail": block.detail}})
    for key, value in (
        ("title", block.title),
        ("context", block.context),
        ("citations", None if block.citable is None else {"enabled": block.citable}),
    ):
        if value is not None:
            shares.append({"anthropic": {key: value}})
    return tuple(shares)


def read_data(
    d: VercelModel, said: Json, media_type: str | None, at: str, spelling: dict[str, Json]
) -> Source | None:
    """Where a medium is; None for a form that nobody knows."""
    exact = None if "any" in spelling else media_type
    if said.__class__ is str:
        return read_text_data(d, said, exact, spelling)
    if said.__class__ is not dict:
        return None
    match said:
        case {"type": "data", "data": str(data)} if TAGGED["data"](said):
            spelling["data"] = "tagged"
            return Source("base64", data, exact)
        case {"type": "url", "url": str(url)} if TAGGED["url"](said):
            spelling["data"] = "tagged"
            return Source("url", url, exact)
        case {"type": "text", "text": str(text)} if TAGGED["text"](said):
            return Source("text", text, exact)
        case {"type": "reference", "reference": dict(reference)} if TAGGED["reference"](said):
            spelling["data"] = "tagged"
            return read_reference(reference, exact)
    return read_reference(said, exact)


def write_data(d: VercelModel, block: Media, spelling: dict[str, Json]) -> Json:
    source, spelled = block.source, spelling.get("data")
    match source.kind:
        case "url":
            return {"type": "url", "url": source.value} if spelled == "tagged" else source.value
        case "base64":
            if spelled == "uri":
                return data_uri(source.media_type or "", source.value)
            if spelled == "tagged":
                return {"type": "data", "data": source.value}
            return source.value
        case "file":
            return write_file_id(d, block, spelled)
        case "text" | "blocks":
            return {"type": "text", "text": source.value}
        case _:
            assert_never(source.kind)


def write_file_id(d: VercelModel, block: Media, spelled: Json) -> Json:
    source = block.source
    reference = {source.issuer or "": source.value}
    if spelled == "tagged":
        return {"type": "reference", "reference": reference}
    own = source.issuer == "openai" and source.value.startswith(FILE_ID)
    if spelled == "id" or (d.file_ids and own):
        return source.value
    return reference


def read_text_data(
    d: VercelModel, said: str, media_type: str | None, spelling: dict[str, Json]
) -> Source:
    found = split_data_uri(said)
    if found is not None:
        spelling["data"] = "uri"
        if media_type != (found[0] or None):
            spelling["type"] = media_type
        return Source("base64", found[1], found[0] or None)
    if ADDRESS.match(said):
        return Source("url", said, media_type)
    if said.startswith(FILE_ID):
        if not d.file_ids:
            spelling["data"] = "id"
        return Source("file", said, media_type, "openai")
    return Source("base64", said, media_type)


def read_reference(said: dict[str, Json], media_type: str | None) -> Source | None:
    """``{provider: id}``; a file that several providers hold is kept as it is."""
    issuer = sole(said)
    if issuer is not None and (file_id := said[issuer]).__class__ is str:
        return Source("file", file_id, media_type, issuer)
    return None


def read_reasoning(d: VercelModel, doc: dict[str, Json], at: str) -> Block:
    text = need_str(doc, "text", at)
    options = Taker(doc, at)
    signature = read_signature(options)
    item = options.take("openai", "itemId")
    taken, spelling = THOUGHT_KEYS - {"data"}, {}
    data = maybe_str(doc, "signature", at)
    if data and signature is None:
        signature = Signature(data, "anthropic")
        if not d.flat:
            spelling["signature"] = True
    elif data is not None:
        taken = taken - {"signature"}
    elif signature == Signature(signature.data if signature else "", "anthropic") and d.flat:
        spelling["signature"] = False
    extras = keep_options(d, options, taken, spelling)
    said = (text,) if text else ()
    if item is not None or (signature is not None and signature.issuer == "openai"):
        # What OpenAI shows of its reasoning are summaries.
        return Reasoning((), said, signature, item, at=at, extras=extras)
    if signature is None:
        said = (text,)
    elif (
        signature.kind == "encrypted"
        and text == ""
        and signature.issuer in ("anthropic", "bedrock")
    ):
        if d.flat:
            extras = d.respell(extras, part="reasoning")
    return Reasoning(said, signature=signature, at=at, extras=extras)


def one_item(first: Block, second: Block) -> Reasoning | None:
    """Summaries of one reasoning item of OpenAI: each is a part, with the id of the item."""
    assert isinstance(first, Reasoning)
    assert isinstance(second, Reasoning)
    if first.id is None or first.id != second.id or second.extras is not None:
        return None
    if first.signature != second.signature or first.extras is not None:
        return None
    if not first.summary or not second.summary:
        return None
    summary = (*first.summary, *second.summary)
    return Reasoning((), summary, first.signature, first.id, at=first.at)


def write_reasoning(d: VercelModel, block: Reasoning, w: Writing) -> list[Json]:
    signature, spelling = block.signature, d.spelling(block)
    if signature is not None and signature.kind == "encrypted" and signature.issuer == "anthropic":
        if (d.flat and spelling.get("part") != "reasoning") or "part" in spelling:
            out = {"type": "redacted-reasoning", "data": signature.data}
            return [finish(d, out, block, w)]
    shares = [write_signature(signature)]
    if block.id is not None:
        shares.append({"openai": {"itemId": block.id}})
    parts: list[Json] = []
    for index, text in enumerate(block.words or ("",)):
        part: dict[str, Json] = {"type": "reasoning", "text": text}
        native = (
            signature is not None
            and signature.kind == "signature"
            and signature.issuer == "anthropic"
        )
        if signature is not None and native and signs(d, spelling):
            part["signature"] = signature.data
            shares[0] = {}
        if index and block.extras is not None:
            block = replace(block, extras=None)
        parts.append(finish(d, part, block, w, *shares))
    return parts


def signs(d: VercelModel, spelling: dict[str, Json]) -> bool:
    """Whether the signature stands in the reasoning itself."""
    return bool(spelling.get("signature", d.flat))


def read_call(d: VercelModel, doc: dict[str, Json], at: str, custom: frozenset[str]) -> Block:
    name, call_id = need_str(doc, "toolName", at), need_str(doc, "toolCallId", at)
    if doc.get("providerExecuted") is True:
        return Hosted(d.family, name, doc, "call", id=call_id, at=at)
    options = Taker(doc, at)
    item = options.take("openai", "itemId")
    cache = read_cache(d, options)
    key = next((k for k in (d.arguments, "input", "args") if k in doc), d.arguments)
    said = doc.get(key)
    spelling: dict[str, Json] = {} if key == d.arguments else {"key": key}
    kind, text = "function", "{}"
    if said.__class__ is dict:
        text = compact(said)
        if name in custom and said.keys() == {"input"} and said["input"].__class__ is str:
            kind, text = "custom", said["input"]
    elif said.__class__ is str:
        text, spelling["form"] = (said, "text") if said else ("{}", "blank")
    elif said is not None:
        text, spelling["form"] = compact(said), "json"
    elif key in doc:
        spelling["form"] = "null"
    else:
        spelling["form"] = "absent"
    extras = keep_part(d, options, CALL_KEYS - ({"input", "args"} - {key}), spelling)
    if extras is not None and key in extras.blanks:
        blanks = {k: v for k, v in extras.blanks.items() if k != key}
        extras = replace(extras, blanks=blanks)
    return ToolCall(call_id, name, text, kind, item, cache, at=at, extras=extras)  # type: ignore[arg-type]


def write_call(d: VercelModel, call: ToolCall, w: Writing) -> Json:
    spelling = d.spelling(call)
    out: dict[str, Json] = {
        "type": "tool-call",
        "toolCallId": w.call_id(call),
        "toolName": w.tool_name(call.name, call.at),
    }
    form = spelling.get("form")
    if form == "text":
        said: Json = call.arguments
    elif form in ("null", "blank"):
        said = None if form == "null" else ""
    elif form == "json":
        said = parse(call.arguments)
    elif call.kind == "custom":
        said = {"input": call.arguments}
    else:
        said = object_of(call, w.log)
    if form != "absent":
        out[spelling.get("key", d.arguments)] = said
    item: Options = {} if call.item_id is None else {"openai": {"itemId": call.item_id}}
    return finish(d, out, call, w, write_cache(d, call.cache, w), item)
