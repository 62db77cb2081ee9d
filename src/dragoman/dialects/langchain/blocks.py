"""What stands inside a message of LangChain, both ways.

Read are the standard blocks of version 1, the blocks of version 0 (``source_type``), and those that
the integrations of OpenAI, Anthropic and Google leave as their provider returned them. Written are
the standard ones; what has no standard block is ``non_standard`` with the provider's own in it,
which is where LangChain itself puts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...core.media import kind_of, sniff
from ...core.reading import as_dict, compact, maybe_str, need_str, only
from ...core.writing import Writing, data_uri, split_data_uri
from ...model import (
    Block,
    Cache,
    Citation,
    Hosted,
    Json,
    Media,
    MediaKind,
    Raw,
    Reasoning,
    Refusal,
    Signature,
    Source,
    Text,
    ToolCall,
    ToolResult,
)
from .._stored import add, issuer_of_file, note_owner, sign, texts_of

if TYPE_CHECKING:
    from . import LangChain

# `model_provider` in `response_metadata`, as the integrations write it.
PROVIDERS = {
    "anthropic": "anthropic",
    "bedrock": "bedrock",
    "bedrock_converse": "bedrock",
    "google_genai": "google",
    "google_vertexai": "google",
    "openai": "openai",
    "azure": "openai",
}
NAMES = {"anthropic": "anthropic", "bedrock": "anthropic", "google": "google_genai",
         "openai": "openai"}  # fmt: skip
NOBODY = "langchain"
"""The issuer of a signature of which nobody knows whose it is: no API has that name."""

PLAIN_TEXT = only("type", "text")
CALL_KEYS = frozenset({"type", "id", "name", "args"})
MEDIA = {"image": "image", "audio": "audio", "video": "video", "file": "document",
         "document": "document", "text-plain": "document"}  # fmt: skip
LABELS = ("filename", "title", "context")
SERVER = {
    "server_tool_call": "call", "server_tool_use": "call", "mcp_tool_use": "call",
    "server_tool_result": "result", "web_search_tool_result": "result",
    "code_execution_tool_result": "result", "mcp_tool_result": "result",
    "web_search_call": "both", "file_search_call": "both", "code_interpreter_call": "both",
    "computer_call": "both", "mcp_call": "both", "image_generation_call": "both",
}  # fmt: skip
"""What a provider runs, and which part of it a block is."""
SPANS = {
    "char": ("start_char_index", "end_char_index"),
    "page": ("start_page_number", "end_page_number"),
    "block": ("start_block_index", "end_block_index"),
}
"""Where in a document a cited passage stands: the names are Anthropic's, under ``extras``."""


class Provider:
    """Whose signatures stand in a message: it names one provider."""

    __slots__ = ("name", "signed", "used", "who")

    def __init__(self, given: Json = None) -> None:
        self.who = PROVIDERS.get(given, f"{NOBODY}:{given}") if given.__class__ is str else None
        self.used = False
        self.name: str | None = None
        self.signed: dict[str, Json] = {}

    def issuer(self, usual: str = NOBODY) -> str:
        """Who signed what stands here."""
        self.used = self.used or self.who in PROVIDERS.values()
        return self.who or usual

    def takes(self, signature: Signature) -> bool:
        """Whether a signature may stand beside those that were written; the first one decides."""
        if signature.issuer.partition(":")[0] == NOBODY:
            return True  # the message may name a provider that nobody knows, or none
        name = NAMES.get(signature.issuer)
        if name is None or self.name not in (None, name):
            return False
        self.name = name
        return True


def read_blocks(
    d: LangChain, docs: list[Json], at: str, provider: Provider, *, results: bool = False
) -> list[Block]:
    """The blocks of a message; only in one of the user results of tools are results."""
    out: list[Block] = []
    for index, doc in enumerate(docs):
        where = f"{at}/{index}"
        if doc.__class__ is str:
            out.append(Text(doc, at=where))
        else:
            add(out, read_block(d, as_dict(doc, where), where, provider, results=results))
    return out


def read_block(
    d: LangChain, doc: dict[str, Json], at: str, provider: Provider, *, results: bool = False
) -> Block:
    kind = need_str(doc, "type", at)
    found: Block | None = None
    if kind == "text":
        found = read_text(d, doc, at, provider)
    elif kind in MEDIA:
        found = read_media(d, doc, kind, at)
    elif kind == "image_url":
        found = read_image_url(d, doc, at)
    elif kind == "media":
        found = read_google(d, doc, at)
    elif kind == "input_audio":
        found = read_audio(d, doc, at)
    elif kind in ("tool_call", "invalid_tool_call"):
        found = read_call(d, doc, at)
    elif kind in ("tool_use", "function_call"):
        found = read_native_call(d, doc, kind, at)
    elif kind == "tool_result" and results:
        found = read_native_result(d, doc, at)
    elif kind == "refusal" and doc.get("refusal").__class__ is str:
        found = Refusal(doc["refusal"], at=at, extras=d.keep(doc, ("type", "refusal")))
    elif kind in ("reasoning", "thinking", "redacted_thinking", "reasoning_content"):
        found = read_reasoning(d, doc, kind, at, provider)
    elif kind in SERVER:
        name: Any = doc.get("name") if doc.get("name").__class__ is str else kind
        phase: Any = SERVER[kind]
        found = Hosted(d.name, name, doc, phase, id=maybe_str(doc, "id", at), at=at)
    elif kind == "non_standard" and doc.keys() == {"type", "value"}:
        found = read_own(d, doc["value"], f"{at}/value", provider)
    return Raw(d.name, doc, at=at) if found is None else found


def read_own(d: LangChain, value: Json, at: str, provider: Provider) -> Block | None:
    """What stands in a block that is not standard, if it is one of those that are known."""
    if value.__class__ is not dict or value.get("type") not in ("redacted_thinking", "refusal"):
        return None
    return read_block(d, value, at, provider)


def write_blocks(
    d: LangChain, content: Sequence[Block], w: Writing, provider: Provider
) -> list[Json]:
    return [doc for block in content for doc in write_block(d, block, w, provider)]


def write_block(d: LangChain, block: Block, w: Writing, provider: Provider) -> list[Json]:
    match block:
        case Text():
            return [write_text(d, block, w, provider)]
        case Media() if block.source.kind != "blocks":
            return [write_media(d, block, w)]
        case Reasoning():
            return write_reasoning(d, block, w, provider)
        case Refusal():
            own = d.emit({"type": "refusal", "refusal": block.text}, block, w.log)
            return [{"type": "non_standard", "value": own}]
        case Raw() | Hosted() if d.knows(block.dialect) and block.payload.__class__ is dict:
            return [block.payload]
        case _:
            d.omit(block, w.log)
            return []


# -- texts ----------------------------------------------------------------------------------


def read_text(d: LangChain, doc: dict[str, Json], at: str, provider: Provider) -> Text:
    text = need_str(doc, "text", at)
    if PLAIN_TEXT(doc):
        return Text(text, at=at)
    citations: list[Citation] = []
    taken = {"type", "text"}
    listed = doc.get("annotations")
    if listed.__class__ is list:
        found = [read_citation(d, item, f"{at}/annotations/{n}") for n, item in enumerate(listed)]
        if None not in found:
            taken.add("annotations")
            citations = [citation for citation in found if citation is not None]
    cache = read_cache(d, doc, at, taken)
    extra = doc.get("extras")
    inner: list[str] = []
    signature = None
    if extra.__class__ is dict and extra.get("signature").__class__ is str:
        signature = Signature(extra["signature"], provider.issuer("google"))
        inner.append("signature")
    extras = d.keep(doc, taken, partly={"extras": inner} if inner else {})
    if signature is not None:
        extras = sign(d, extras, signature)
    return Text(text, tuple(citations), cache, at=at, extras=extras)


def write_text(d: LangChain, block: Text, w: Writing, provider: Provider) -> dict[str, Json]:
    out: dict[str, Json] = {"type": "text", "text": block.text}
    if block.citations:
        out["annotations"] = [write_citation(d, cite, w) for cite in block.citations]
    extras = block.extras
    if extras is not None and (mark := extras.signature) is not None and provider.takes(mark):
        out["extras"] = {"signature": mark.data}
        block = replace(block, extras=replace(extras, signature=None))
    write_cache(d, out, block.cache, w)
    return d.emit(out, block, w.log)


def read_cache(d: LangChain, doc: dict[str, Json], at: str, taken: set[str]) -> Cache | None:
    mark = doc.get("cache_control")
    if mark.__class__ is not dict or mark.get("type") != "ephemeral":
        return None
    ttl = mark.get("ttl")
    if ttl is not None and ttl.__class__ is not str:
        return None
    taken.add("cache_control")
    return Cache(ttl, at=f"{at}/cache_control", extras=d.keep(mark, ("type", "ttl")))


def write_cache(d: LangChain, out: dict[str, Json], cache: Cache | None, w: Writing) -> None:
    if cache is not None:
        mark: dict[str, Json] = {"type": "ephemeral"}
        if cache.ttl is not None:
            mark["ttl"] = cache.ttl
        out["cache_control"] = d.emit(mark, cache, w.log)


def read_citation(d: LangChain, doc: Json, at: str) -> Citation | None:
    """An annotation, if it is the standard one."""
    if doc.__class__ is not dict or doc.get("type") != "citation":
        return None
    extra = doc.get("extras")
    extra = extra if extra.__class__ is dict else {}
    taken, inner = {"type", "url", "title", "cited_text"}, set[str]()
    span = pair(doc, "start_index", "end_index")
    taken |= {"start_index", "end_index"} if span is not None else set()
    location = None
    for unit, names in SPANS.items():
        if (found := pair(extra, *names)) is not None:
            location = (unit, *found)
            inner |= {*names}
            break
    place: Any = location
    document = extra.get("document_index")
    document = document if document.__class__ is int else None
    strings = {k: extra[k] for k in ("file_id", "filename", "encrypted_index")
               if extra.get(k).__class__ is str}  # fmt: skip
    inner |= {*strings, *(("document_index",) if document is not None else ())}
    url, title = maybe_str(doc, "url", at), maybe_str(doc, "title", at)
    encrypted = strings.get("encrypted_index")
    kind = "url" if url is not None else "file" if "file_id" in strings else "document"
    return Citation(
        kind,  # type: ignore[arg-type]
        url,
        title,
        maybe_str(doc, "cited_text", at),
        span,
        document,
        place,
        strings.get("file_id"),
        strings.get("filename"),
        None if encrypted is None else Signature(encrypted, "anthropic", "encrypted"),
        at=at,
        extras=d.keep(doc, taken, partly={"extras": inner} if inner else {}),
    )


def pair(doc: dict[str, Json], first: str, last: str) -> tuple[int, int] | None:
    low, high = doc.get(first), doc.get(last)
    return (low, high) if low.__class__ is high.__class__ is int else None


def write_citation(d: LangChain, cite: Citation, w: Writing) -> dict[str, Json]:
    out: dict[str, Json] = {"type": "citation"}
    for key, value in (("url", cite.url), ("title", cite.title), ("cited_text", cite.quote)):
        if value is not None:
            out[key] = value
    if cite.span is not None:
        out["start_index"], out["end_index"] = cite.span
    extra: dict[str, Json] = {}
    if cite.location is not None:
        unit, low, high = cite.location
        extra |= dict(zip(SPANS[unit], (low, high), strict=True))
    for key, told in (("document_index", cite.document), ("file_id", cite.file_id),
                      ("filename", cite.filename)):  # fmt: skip
        if told is not None:
            extra[key] = told
    if cite.signature is not None:
        extra["encrypted_index"] = cite.signature.data
    if extra:
        out["extras"] = extra
    return d.emit(out, cite, w.log)


# -- calls ----------------------------------------------------------------------------------


def read_call(d: LangChain, doc: dict[str, Json], at: str) -> ToolCall:
    """A call, among the calls or in the content; the arguments of an invalid one are text."""
    arguments = doc.get("args")
    text = arguments if arguments.__class__ is str else compact(arguments or {})
    taken = {*CALL_KEYS, "error"} if doc.get("error") is None else CALL_KEYS
    name = maybe_str(doc, "name", at) or ""
    return ToolCall(maybe_str(doc, "id", at), name, text, at=at, extras=d.keep(doc, taken))


def read_native_call(d: LangChain, doc: dict[str, Json], kind: str, at: str) -> ToolCall:
    """A call as the provider returned it, beside the one that LangChain made of it."""
    own, arguments = ("id", "input") if kind == "tool_use" else ("call_id", "arguments")
    given = doc.get(arguments)
    text = given if given.__class__ is str else compact(given or {})
    keys = ("type", "name", own, arguments, "partial_json", "index")
    name = maybe_str(doc, "name", at) or ""
    return ToolCall(maybe_str(doc, own, at), name, text, at=at, extras=d.keep(doc, keys))


def read_native_result(d: LangChain, doc: dict[str, Json], at: str) -> ToolResult:
    """A result as Anthropic has it, in a message of the user."""
    content = doc.get("content")
    found: list[Block] = []
    if content.__class__ is str:
        found = [Text(content, at=f"{at}/content")]
    elif content.__class__ is list:
        found = read_blocks(d, content, f"{at}/content", Provider())
    elif content is not None:
        as_dict(content, f"{at}/content")
    failed = doc.get("is_error")
    return ToolResult(
        maybe_str(doc, "tool_use_id", at),
        tuple(found),
        failed if failed.__class__ is bool else None,
        at=at,
        extras=d.keep(doc, ("type", "tool_use_id", "content", "is_error")),
    )


# -- reasoning ------------------------------------------------------------------------------


def read_reasoning(
    d: LangChain, doc: dict[str, Json], kind: str, at: str, provider: Provider
) -> Reasoning | None:
    if kind == "redacted_thinking":
        data = doc.get("data")
        if data.__class__ is not str:
            return None
        signature = Signature(data, provider.issuer("anthropic"), "encrypted")
        return Reasoning(signature=signature, at=at, extras=d.keep(doc, ("type", "data")))
    if kind == "reasoning" and doc.get("summary").__class__ is list:
        return read_item(d, doc, at)
    if kind == "reasoning_content":  # as Bedrock has it
        inner = doc.get("reasoning_content")
        if inner.__class__ is not dict or inner.get("text").__class__ is not str:
            return None
        found = read_signed(inner.get("signature"), provider, "bedrock")
        return Reasoning(
            (inner["text"],),
            signature=found,
            at=at,
            extras=d.keep(
                doc, ("type",), partly={"reasoning_content": ("type", "text", "signature")}
            ),
        )
    key = "thinking" if kind == "thinking" else "reasoning"
    text = maybe_str(doc, key, at)
    words = () if text is None else (text,)
    if kind == "thinking":
        mark = read_signed(doc.get("signature"), provider, "anthropic")
        extras = d.keep(doc, ("type", key, "signature", "index"))
        return Reasoning(words, signature=mark, at=at, extras=extras)
    return read_standard(d, doc, words, at, provider)


def read_signed(data: Json, provider: Provider, usual: str) -> Signature | None:
    if data.__class__ is not str or not data:
        return None
    return Signature(data, provider.issuer(usual))


def read_standard(
    d: LangChain, doc: dict[str, Json], words: tuple[str, ...], at: str, provider: Provider
) -> Reasoning:
    """The standard block: what was signed, and how, is among its extras."""
    extra, item_id = doc.get("extras"), maybe_str(doc, "id", at)
    extra = extra if extra.__class__ is dict else {}
    signed, encrypted = extra.get("signature"), extra.get("encrypted_content")
    beside = doc.get("encrypted_content")  # which is where earlier versions put it
    taken = {"type", "reasoning", "id"}
    inner: list[str] = []
    signature = None
    if signed.__class__ is str and signed:
        signature = Signature(signed, provider.issuer())
        inner.append("signature")
    elif encrypted.__class__ is str and encrypted:
        signature = Signature(encrypted, provider.issuer("openai"), "encrypted")
        inner.append("encrypted_content")
    elif beside.__class__ is str and beside:
        signature = Signature(beside, provider.issuer("openai"), "encrypted")
        taken.add("encrypted_content")
    extras = d.keep(doc, taken, partly={"extras": inner} if inner else {})
    summed = item_id is not None or (signature is not None and signature.kind == "encrypted")
    if summed:
        words = tuple(filter(None, words))
        return Reasoning((), words, signature, item_id, at=at, extras=extras)
    return Reasoning(words, (), signature, at=at, extras=extras)


def read_item(d: LangChain, doc: dict[str, Json], at: str) -> Reasoning | None:
    """Reasoning as the Responses API has it: an id, a summary in parts, encrypted or not."""
    parts: list[str] = []
    for part in doc["summary"]:
        if part.__class__ is not dict or not PLAIN_TEXT(part) or part["text"].__class__ is not str:
            return None
        parts.append(part["text"])
    data = doc.get("encrypted_content")
    if data is not None and data.__class__ is not str:
        return None
    signature = Signature(data, "openai", "encrypted") if data else None
    extras = d.keep(doc, ("type", "id", "summary", "encrypted_content"))
    return Reasoning((), tuple(parts), signature, maybe_str(doc, "id", at), at=at, extras=extras)


def write_reasoning(
    d: LangChain, block: Reasoning, w: Writing, provider: Provider
) -> list[dict[str, Json]]:
    signature = block.signature
    if signature is not None and not provider.takes(signature):
        why = f"a message of {d.name} has signatures of one provider"
        w.log.dropped("reasoning.signature", block.at, why)
        signature = None
    encrypted = signature is not None and signature.kind == "encrypted"
    if signature is not None and encrypted and signature.issuer == "anthropic" and not block.words:
        own = d.emit({"type": "redacted_thinking", "data": signature.data}, block, w.log)
        return [{"type": "non_standard", "value": own}]
    out: dict[str, Json] = {"type": "reasoning"}
    words = texts_of(d, block, w.log)
    if block.id is not None:
        out["id"] = block.id
    more = [{**out, "reasoning": text} for text in words[1:]]
    if words:
        out["reasoning"] = words[0]
    if signature is not None:
        key = "signature" if signature.kind == "signature" else "encrypted_content"
        out["extras"] = {key: signature.data}
    return [d.emit(out, block, w.log), *more]


# -- media ----------------------------------------------------------------------------------


def read_media(d: LangChain, doc: dict[str, Json], kind: str, at: str) -> Media | None:
    """Media as version 1 has it, as version 0 had it, or as OpenAI and Anthropic do."""
    if doc.get("source").__class__ is dict:
        return read_native_media(d, doc, kind, at)
    if kind == "file" and doc.get("file").__class__ is dict:
        return read_openai_file(d, doc, at)
    found = read_source(doc)
    if found is None:
        return None
    source, taken = found
    labels, inner = read_labels(doc, taken)
    cache = read_cache(d, doc, at, taken)
    media: MediaKind = kind_of(source.media_type) if kind == "file" else MEDIA[kind]  # type: ignore[assignment]
    extras = d.keep(doc, taken, partly={"extras": inner} if inner else {})
    return Media(media, source, cache=cache, at=at, extras=extras, **labels)


def read_source(doc: dict[str, Json]) -> tuple[Source, set[str]] | None:
    """Where the bytes are, and the keys that say so; None where several do, or none."""
    given, old = doc.get("mime_type"), doc.get("source_type")
    if given is not None and given.__class__ is not str:
        return None
    taken = {"type", "mime_type"}
    if old.__class__ is str:
        key = {"url": "url", "base64": "data", "text": "text", "id": "id"}.get(old)
        taken |= {"source_type"}
    else:
        keys = [key for key in ("url", "base64", "text", "file_id") if doc.get(key) is not None]
        key = keys[0] if len(keys) == 1 else None
    value = doc.get(key or "")
    if key is None or value.__class__ is not str:
        return None
    taken.add(key)
    if key == "url":
        if (data := split_data_uri(value)) is not None:
            return Source("base64", data[1], given or data[0] or None), taken
        return Source("url", value, given), taken
    if key == "text":
        return Source("text", value, given), taken
    if key in ("id", "file_id"):
        return Source("file", value, given, issuer_of_file(value)), taken
    return Source("base64", value, given or sniff(value)), taken


def read_labels(doc: dict[str, Json], taken: set[str]) -> tuple[dict[str, Any], list[str]]:
    """What is told of a medium: beside it, or among its extras."""
    labels: dict[str, Any] = {}
    inner: list[str] = []
    extra = doc.get("extras")
    extra = extra if extra.__class__ is dict else {}
    for key in LABELS:
        if doc.get(key).__class__ is str:
            labels[key] = doc[key]
            taken.add(key)
        elif extra.get(key).__class__ is str:
            labels[key] = extra[key]
            inner.append(key)
    cited = extra.get("citations")
    if (
        cited.__class__ is dict
        and cited.keys() == {"enabled"}
        and cited["enabled"].__class__ is bool
    ):
        labels["citable"] = cited["enabled"]
        inner.append("citations")
    return labels, inner


def write_media(d: LangChain, block: Media, w: Writing) -> dict[str, Json]:
    source = block.source
    if block.detail is not None:
        return write_image_url(d, block, w)
    if source.kind == "text":
        out: dict[str, Json] = {"type": "text-plain", "text": source.value}
        if source.media_type is not None or not w.same:
            out["mime_type"] = source.media_type or "text/plain"
    else:
        kind = "file" if block.kind == "document" else block.kind
        key = {"url": "url", "base64": "base64", "file": "file_id"}[source.kind]
        out = {"type": kind, key: source.value}
        if source.kind == "file" and not w.same:
            note_owner(d, block, w.log)
        if source.media_type is not None:
            out["mime_type"] = source.media_type
    extra: dict[str, Json] = {}
    for name in LABELS:
        if (value := getattr(block, name)) is not None:
            plain = source.kind == "text" and name != "filename"
            (out if plain else extra)[name] = value
    if block.citable is not None:
        extra["citations"] = {"enabled": block.citable}
    if extra:
        out["extras"] = extra
    write_cache(d, out, block.cache, w)
    return d.emit(out, block, w.log)


def read_image_url(d: LangChain, doc: dict[str, Json], at: str) -> Media | None:
    inner = doc.get("image_url")
    inner = {"url": inner} if inner.__class__ is str else inner
    if inner.__class__ is not dict or inner.get("url").__class__ is not str:
        return None
    detail = inner.get("detail")
    if detail is not None and detail.__class__ is not str:
        return None
    url, data = inner["url"], split_data_uri(inner["url"])
    source = Source("url", url) if data is None else Source("base64", data[1], data[0] or None)
    taken = {"type"}
    cache = read_cache(d, doc, at, taken)
    if doc["image_url"].__class__ is str:
        extras = d.keep(doc, {*taken, "image_url"})
    else:
        extras = d.keep(doc, taken, partly={"image_url": ("url", "detail")})
    return Media("image", source, detail, cache=cache, at=at, extras=extras)


def write_image_url(d: LangChain, block: Media, w: Writing) -> dict[str, Json]:
    """An image that was read with a level of detail, which only OpenAI's form has."""
    source = block.source
    url = source.value
    if source.kind == "base64":
        url = data_uri(source.media_type or "", source.value)
    out: dict[str, Json] = {"type": "image_url", "image_url": {"url": url, "detail": block.detail}}
    write_cache(d, out, block.cache, w)
    return d.emit(out, block, w.log)


def read_audio(d: LangChain, doc: dict[str, Json], at: str) -> Media | None:
    inner = doc.get("input_audio")
    if inner.__class__ is not dict or inner.get("data").__class__ is not str:
        return None
    form = inner.get("format")
    if form.__class__ is not str:
        return None
    source = Source("base64", inner["data"], {"mp3": "audio/mpeg"}.get(form, f"audio/{form}"))
    extras = d.keep(doc, ("type",), partly={"input_audio": ("data", "format")})
    return Media("audio", source, at=at, extras=extras)


def read_openai_file(d: LangChain, doc: dict[str, Json], at: str) -> Media | None:
    inner = doc["file"]
    data, file_id = inner.get("file_data"), inner.get("file_id")
    if data.__class__ is str and file_id is None and (found := split_data_uri(data)) is not None:
        source = Source("base64", found[1], found[0] or None)
    elif file_id.__class__ is str and data is None:
        source = Source("file", file_id, issuer="openai")
    else:
        return None
    name = inner.get("filename")
    if name is not None and name.__class__ is not str:
        return None
    extras = d.keep(doc, ("type",), partly={"file": ("file_data", "file_id", "filename")})
    return Media(kind_of(source.media_type), source, filename=name, at=at, extras=extras)


def read_native_media(d: LangChain, doc: dict[str, Json], kind: str, at: str) -> Media | None:
    """An image or a document as Anthropic has it."""
    inner = doc["source"]
    where = inner.get("type")
    key = {"base64": "data", "url": "url", "file": "file_id", "text": "data"}.get(
        where if where.__class__ is str else ""
    )
    value = inner.get(key or "")
    given = inner.get("media_type")
    if (
        key is None
        or value.__class__ is not str
        or (given is not None and given.__class__ is not str)
    ):
        return None
    issuer = "anthropic" if where == "file" else None
    source = Source(where, value, given, issuer)
    taken = {"type"}
    labels, inner = read_labels(doc, taken)
    cache = read_cache(d, doc, at, taken)
    partly = {"source": ("type", key, "media_type"), **({"extras": inner} if inner else {})}
    extras = d.keep(doc, taken, partly=partly)
    return Media(MEDIA[kind], source, cache=cache, at=at, extras=extras, **labels)  # type: ignore[arg-type]


def read_google(d: LangChain, doc: dict[str, Json], at: str) -> Media | None:
    """Media as Google's integration had it: a type, and data or the address of a file."""
    given, data, uri = doc.get("mime_type"), doc.get("data"), doc.get("file_uri")
    if given.__class__ is not str or (data is None) == (uri is None):
        return None
    value = uri if data is None else data
    if value.__class__ is not str:
        return None
    source = Source("url" if data is None else "base64", value, given)
    extras = d.keep(doc, ("type", "mime_type", "data", "file_uri"))
    return Media(kind_of(given), source, at=at, extras=extras)
