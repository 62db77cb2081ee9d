"""The parts of Pydantic AI's messages, both ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...core.media import kind_of, standard
from ...core.reading import compact, expected, maybe_str, need_str
from ...core.writing import Writing, is_plain_text
from ...model import (
    Block,
    Cache,
    Extras,
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
    ToolResult,
)
from ...tools import freeform
from .._stored import sign, texts_of

if TYPE_CHECKING:
    from . import PydanticAI

# `provider_name`, as each model of the framework writes it in its `system`.
PROVIDERS = {
    "anthropic": "anthropic",
    "bedrock": "bedrock",
    "openai": "openai",
    "azure": "openai",
    "google": "google",
    "google-gla": "google",
    "google-vertex": "google",
    "google-cloud": "google",
}
ISSUERS = ("anthropic", "openai", "google")
"""Whose files can be named."""
NOBODY = "pydantic-ai"
"""The issuer of a signature of which nobody knows whose it is: no API has that name."""
REDACTED = "redacted_thinking"
"""The id of reasoning of which only its encrypted form is left."""
SIGNED = "thought_signature"
"""Where Google's signatures of texts and calls stand, in the details of the provider."""

URLS: dict[str, MediaKind] = {
    "image-url": "image", "audio-url": "audio", "video-url": "video", "document-url": "document",
}  # fmt: skip
HOSTED = {"builtin-tool-call": "call", "builtin-tool-return": "result"}
ITEMS = {
    **dict.fromkeys(URLS, frozenset({"url", "media_type"})),
    "binary": frozenset({"data", "media_type"}),
    "uploaded-file": frozenset({"file_id", "provider_name"}),
}
"""The files that a tool may return, by what makes them such."""
NEVER = frozenset({""})


# -- what the user says ---------------------------------------------------------------------


def read_user(d: PydanticAI, content: Json, at: str) -> list[Block]:
    if content.__class__ is str:
        return [Text(content, at=at)]
    if content.__class__ is not list:
        expected("a string or a list", content, at)
    out: list[Block] = []
    for index, item in enumerate(content):
        where = f"{at}/{index}"
        if item.__class__ is str:
            out.append(Text(item, at=where))
        elif item.__class__ is not dict:
            expected("a string or an object", item, where)
        elif not mark(d, item, where, out):
            out.append(read_item(d, item, where))
    return out


def mark(d: PydanticAI, doc: dict[str, Json], at: str, out: list[Block]) -> bool:
    """A cache point is a mark on what stands before it."""
    last = out[-1] if out else None
    if doc.get("kind") != "cache-point" or not isinstance(last, Text | Media) or last.cache:
        return False
    ttl = doc.get("ttl")
    if ttl is not None and ttl.__class__ is not str:
        return False
    out[-1] = replace(last, cache=Cache(ttl, at=at, extras=d.keep(doc, ("kind", "ttl"))))
    return True


def read_item(d: PydanticAI, doc: dict[str, Json], at: str) -> Block:
    kind = need_str(doc, "kind", at)
    if kind == "text-content" and doc.get("content").__class__ is str:
        return Text(doc["content"], at=at, extras=d.keep(doc, ("kind", "content")))
    return read_media(d, doc, kind, at) or Raw(d.name, doc, at=at)


def write_user(d: PydanticAI, content: Sequence[Block], w: Writing) -> str | list[Json]:
    if len(content) == 1 and is_plain_text(only := content[0], w.same):
        d.lose(only.extras, only.at, w.log)
        return only.text
    out: list[Json] = []
    for block in content:
        cache: Cache | None = None
        if isinstance(block, Text):
            out.append(write_item(d, block, w))
            cache = block.cache
        elif isinstance(block, Media):
            out.append(write_media(d, block, w))
            cache = block.cache
        elif isinstance(block, Raw) and d.is_same(block.dialect):
            out.append(block.payload)
        else:
            d.omit(block, w.log)
        if cache is not None:
            point: dict[str, Json] = {"kind": "cache-point"}
            if cache.ttl is not None:
                point["ttl"] = cache.ttl
            out.append(d.emit(point, cache, w.log))
    return out


def write_item(d: PydanticAI, block: Text, w: Writing) -> Json:
    extras = block.extras
    if extras is None or not d.is_same(extras.dialect):
        d.lose(extras, block.at, w.log)
        return block.text
    return d.emit({"content": block.text, "kind": "text-content"}, block, w.log)


# -- media ----------------------------------------------------------------------------------


def read_media(d: PydanticAI, doc: dict[str, Json], kind: str, at: str) -> Media | None:
    given = doc.get("media_type")
    if given is not None and given.__class__ is not str:
        return None
    key = "url" if kind in URLS else {"binary": "data", "uploaded-file": "file_id"}.get(kind)
    value = doc.get(key or "")
    if value.__class__ is not str:
        return None
    taken = {"kind", key or "", "media_type"}
    if kind in URLS:
        source, media = Source("url", value, given), URLS[kind]
    elif kind == "binary":
        exact = None if given is None or given.endswith("/*") else given
        source, media = Source("base64", standard(value), exact), kind_of(given)
    else:
        owner = doc.get("provider_name")
        if owner.__class__ is not str:
            return None
        taken.add("provider_name")
        media = kind_of(given)
        exact = None if given is None or given.endswith("/*") else given
        source = Source("file", value, exact, PROVIDERS.get(owner, f"{NOBODY}:{owner}"))
    if doc.get("force_download") is False:
        taken.add("force_download")
    if doc.get("identifier") == identifier(source, value):
        taken.add("identifier")
    detail, more = None, doc.get("vendor_metadata")
    if media == "image" and more.__class__ is dict and more.get("detail").__class__ is str:
        detail = more["detail"]
    extras = d.keep(doc, taken, partly={"vendor_metadata": ("detail",)} if detail else {})
    return Media(media, source, detail, at=at, extras=extras)


def identifier(source: Source, value: str) -> str | None:
    """What the framework calls a file of which nobody said how: a digest of what it is."""
    import base64  # rarely needed, as is what follows
    import binascii
    import hashlib

    data = value.encode()
    if source.kind == "base64":
        try:
            data = base64.b64decode(source.value)
        except (ValueError, binascii.Error):
            return None
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()[:6]


def write_media(d: PydanticAI, block: Media, w: Writing) -> dict[str, Json]:
    source = block.source
    out: dict[str, Json]
    if source.kind == "url":
        kind = next(name for name, media in URLS.items() if media == block.kind)
        out = {"url": source.value, "kind": kind, "media_type": None}
    elif source.kind == "file":
        out = {"file_id": source.value, "kind": "uploaded-file"}
        out["provider_name"] = owner_name(source.issuer or "")
        if block.kind != "document":  # which nothing else tells
            out["media_type"] = f"{block.kind}/*"
    else:
        out = {"data": source.value, "kind": "binary"}  # in either alphabet
        out["media_type"] = f"{block.kind}/*" if block.kind != "document" else "application/pdf"
    if source.media_type is not None:
        out["media_type"] = source.media_type
    if block.detail is not None and (w.same or block.detail != "auto"):  # the default
        out["vendor_metadata"] = {"detail": block.detail}
    return d.emit(out, block, w.log)


# -- results --------------------------------------------------------------------------------


def told(content: Json) -> str:
    """What a retry says: a text, or a list of errors."""
    return content if content.__class__ is str else compact(content)


def read_result(
    d: PydanticAI, doc: dict[str, Json], kind: str, at: str, called: dict[str | None, str]
) -> tuple[ToolResult, Extras | None]:
    call_id, name = maybe_str(doc, "tool_call_id", at), maybe_str(doc, "tool_name", at)
    # The digests are of the files in the content: the framework counts them anew.
    taken = {"part_kind", "content", "tool_call_id", "tool_name", "content_file_digests"}
    outcome = doc.get("outcome")
    failed = kind == "retry-prompt" or outcome not in (None, "success")
    if outcome in ("success", "failed"):
        taken.add("outcome")
    content = read_value(d, doc.get("content"), f"{at}/content")
    if name in ("", called.get(call_id)):
        name = None  # what the call says already is not said twice
    result = ToolResult(call_id, tuple(content), failed or None, name, at=at)
    fields = d.keep(doc, taken, {"part": kind} if kind == "retry-prompt" else None)
    return result, fields


def read_value(d: PydanticAI, value: Json, at: str) -> list[Block]:
    """What a tool returned: text, any JSON value, or values among which there are files."""
    if value.__class__ is str:
        return [Text(value, at=at)]
    if is_file(value):
        return [read_item(d, value, at)]
    if value.__class__ is list and any(map(is_file, value)):
        out: list[Block] = []
        for index, item in enumerate(value):
            where = f"{at}/{index}"
            if is_file(item):
                out.append(read_item(d, item, where))
            else:
                out.append(Text(told(item), at=where))
        return out
    return [Text(compact(value), at=at)]


def is_file(value: Json) -> bool:
    """Whether a value that a tool returned is a file of the framework.

    A tool may return an object that looks like one: "a URL mapping without the key [media_type]
    stays a plain Mapping".
    """
    kind = value.get("kind") if value.__class__ is dict else None
    return kind.__class__ is str and value.keys() >= ITEMS.get(kind, NEVER)


def join_texts(d: PydanticAI, content: Sequence[Block], w: Writing) -> Sequence[Block]:
    """Texts without a file among them become one: a list of texts is a value that is no text."""
    texts = [block for block in content if isinstance(block, Text)]
    if len(texts) < 2 or len(texts) < len(content):
        return content
    for block in texts[1:]:
        d.join_text(block.at, w.log)
        d.lose(block.extras, block.at, w.log)
        if block.cache is not None:
            w.log.dropped("cache", block.cache.at, f"{d.name} has no cache marks in results")
    return [replace(texts[0], text="\n".join(block.text for block in texts))]


def write_result(
    d: PydanticAI, result: ToolResult, w: Writing, called: Mapping[str | None, str]
) -> dict[str, Json]:
    extras = result.extras
    name = result.name or called.get(result.call_id, "")
    content = join_texts(d, result.content, w)
    only = content[0] if len(content) == 1 else None
    written: Json
    if isinstance(only, Text) and not w.same:  # a list of one text is a value that is no text
        d.lose(only.extras, only.at, w.log)
        if only.cache is not None:
            w.log.dropped("cache", only.cache.at, f"{d.name} has no cache marks in results")
        written = only.text
    else:
        written = write_user(d, content, w)
    out: dict[str, Json] = {"tool_name": name, "content": written}
    if result.call_id is not None or not w.same:
        out["tool_call_id"] = w.result_id(result)
    out["outcome"] = "failed" if result.is_error else "success"
    out["part_kind"] = "tool-return"
    return d.emit(out, replace(result, extras=extras), w.log)


# -- what the model says --------------------------------------------------------------------


def read_part(d: PydanticAI, doc: dict[str, Json], at: str, owner: Json = None) -> Block:
    """A part of a response; one that names no provider is of that of the response."""
    kind = need_str(doc, "part_kind", at)
    if kind == "text":
        text = need_str(doc, "content", at)
        extras, _ = keep(d, doc, {"part_kind", "content"}, owner)
        return Text(text, at=at, extras=extras)
    if kind == "thinking":
        return read_thinking(d, doc, at, owner)
    if kind == "tool-call":
        return read_call(d, doc, at, owner)
    if kind in HOSTED:
        phase: Any = HOSTED[kind]
        name = need_str(doc, "tool_name", at)
        return Hosted(d.name, name, doc, phase, id=maybe_str(doc, "tool_call_id", at), at=at)
    if kind == "file" and is_file(doc.get("content")):
        found = read_media(d, doc["content"], doc["content"]["kind"], f"{at}/content")
        if found is not None and left(d, doc) is None:
            return found
    return Raw(d.name, doc, at=at)


def who_made(doc: dict[str, Json], owner: Json) -> str:
    """Whose a part is."""
    name = doc.get("provider_name") or owner
    return PROVIDERS.get(name, f"{NOBODY}:{name}") if name.__class__ is str else NOBODY


def owner_name(issuer: str) -> str:
    """The name of a provider; of one that nobody knows, the name under which it was read."""
    return issuer.removeprefix(f"{NOBODY}:")


def left(d: PydanticAI, doc: dict[str, Json]) -> Extras | None:
    return d.keep(doc, ("content", "part_kind"))


def keep(
    d: PydanticAI, doc: dict[str, Json], taken: set[str], owner: Json = None
) -> tuple[Extras | None, Signature | None]:
    """What is kept of a part, with the signature that Google has given it."""
    details, signature = doc.get("provider_details"), None
    if details.__class__ is dict and details.get(SIGNED).__class__ is str:
        if who_made(doc, owner) in ("google", NOBODY):
            signature = Signature(details[SIGNED], "google")
            taken = taken | {"provider_name"}
    partly = {"provider_details": (SIGNED,)} if signature is not None else {}
    extras = d.keep(doc, taken, partly=partly)
    return (extras if signature is None else sign(d, extras, signature)), signature


def read_thinking(d: PydanticAI, doc: dict[str, Json], at: str, owner: Json) -> Reasoning:
    text, data = need_str(doc, "content", at), maybe_str(doc, "signature", at)
    who, item_id = who_made(doc, owner), maybe_str(doc, "id", at)
    taken = {"part_kind", "content", "signature", "id"}
    if data or (item_id and who == "openai"):
        taken.add("provider_name")
    words = (text,) if text else ()
    if item_id == REDACTED and data:
        extras = d.keep(doc, taken)
        return Reasoning((), (), Signature(data, who, "encrypted"), at=at, extras=extras)
    signature = None
    if data:
        kind: Any = "encrypted" if who == "openai" else "signature"
        signature = Signature(data, who, kind)
        extras = d.keep(doc, taken)
    else:
        kept, signature = keep(d, doc, taken, owner)
        extras = kept if kept is None else replace(kept, signature=None)
        extras = extras if extras is not None and (extras.fields or extras.spelling) else None
    if item_id is not None:
        return Reasoning((), words, signature, item_id, at=at, extras=extras)
    if signature is not None and signature.kind == "encrypted":
        return Reasoning((), words, signature, at=at, extras=extras)
    return Reasoning(words or ("",), (), signature, at=at, extras=extras)


def read_call(d: PydanticAI, doc: dict[str, Json], at: str, owner: Json) -> ToolCall:
    arguments = doc.get("args")
    text = arguments if arguments.__class__ is str else compact(arguments or {})
    item_id = maybe_str(doc, "id", at)
    taken = {"part_kind", "tool_name", "args", "tool_call_id", "id"}
    if item_id is not None and doc.get("provider_name") == "openai":
        taken.add("provider_name")
    extras, _ = keep(d, doc, taken, owner)
    name, call_id = need_str(doc, "tool_name", at), maybe_str(doc, "tool_call_id", at)
    return ToolCall(call_id, name, text, item_id=item_id, at=at, extras=extras)


def pass_on(d: PydanticAI, block: Block, mark: Signature) -> Block | None:
    """A part with the signature that stood before it; None where it has one, or can have none.

    "The signature attaches to the _next_ part, not the thinking part itself", where it is Google's
    and stands under ``signature``; its own stands in the details.
    """
    if not isinstance(block, Text | ToolCall):
        return None
    if block.extras is not None and block.extras.signature is not None:
        return None
    return replace(block, extras=sign(d, block.extras, mark))


def write_part(d: PydanticAI, block: Block, w: Writing) -> list[Json]:
    match block:
        case Text():
            out: dict[str, Json] = {"content": block.text, "part_kind": "text"}
            return [finish(d, out, block, w)]
        case Reasoning():
            return write_thinking(d, block, w)
        case ToolCall():
            return [write_call(d, block, w)]
        case Media() if block.source.kind == "base64":
            return [{"content": write_media(d, block, w), "part_kind": "file"}]
        case Media():
            why = f"{d.name} has no addresses of media that the model has sent"
            w.log.dropped("media", block.at, why)
            return []
        case Raw() | Hosted() if d.is_same(block.dialect):
            return [block.payload]
        case _:
            d.omit(block, w.log)
            return []


def finish(
    d: PydanticAI, out: dict[str, Json], block: Text | ToolCall, w: Writing
) -> dict[str, Json]:
    """What was kept of a part, and Google's signature of it."""
    extras = block.extras
    if extras is not None and (found := extras.signature) is not None:
        if found.issuer == "google":
            out |= {"provider_name": "google", "provider_details": {SIGNED: found.data}}
            block = replace(block, extras=replace(extras, signature=None))
    return d.emit(out, block, w.log)


def write_thinking(d: PydanticAI, block: Reasoning, w: Writing) -> list[Json]:
    signature = block.signature
    words = texts_of(d, block, w.log) or [""]
    out: dict[str, Json] = {"content": words[0], "part_kind": "thinking"}
    own: dict[str, Json] = {}
    if block.id is not None:
        own["id"] = block.id
    if signature is not None and signature.issuer == "google":
        out["provider_details"] = {SIGNED: signature.data}
    elif signature is not None:
        out["signature"] = signature.data
        if signature.kind == "encrypted" and signature.issuer == "anthropic":
            own["id"] = REDACTED
    owner = "openai" if signature is None else owner_name(signature.issuer)
    if (own or signature is not None) and owner != NOBODY:
        own["provider_name"] = owner
    more = [{"content": text, "part_kind": "thinking", **own} for text in words[1:]]
    return [d.emit(out | own, block, w.log), *more]


def write_call(d: PydanticAI, call: ToolCall, w: Writing) -> dict[str, Json]:
    call = freeform.as_function(call)
    out: dict[str, Json] = {"tool_name": w.tool_name(call.name, call.at)}
    out["args"] = call.arguments if call.arguments.strip() else "{}"
    out["tool_call_id"] = call.id if w.same and call.id is None else w.call_id(call)
    if call.item_id is not None:  # which only its issuer knows, and the framework asks whose it is
        out |= {"id": call.item_id, "provider_name": "openai"}
    out["part_kind"] = "tool-call"
    return finish(d, out, call, w)
