"""Content blocks of the Converse API, both ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from functools import partial
from typing import TYPE_CHECKING, Any, assert_never

from msgspec.structs import replace

from ...core.reading import (
    UNREADABLE,
    as_dict,
    compact,
    decode,
    maybe_dict,
    maybe_list,
    maybe_str,
    need_dict,
    need_list,
    need_str,
    only,
    sole,
)
from ...core.writing import Rule, Writing, is_blank, joined, object_of
from ...dialect import NOTHING
from ...ledger import Ledger
from ...model import (
    Block,
    Cache,
    Citation,
    Extras,
    Hosted,
    Json,
    Media,
    MediaKind,
    Passage,
    Raw,
    Reasoning,
    Signature,
    Source,
    Text,
    ToolCall,
    ToolResult,
)
from .._claude import is_claude, read_citable, write_citable
from .formats import document_name, numbered, type_of, without_ending, word_of

if TYPE_CHECKING:
    from . import BedrockConverse


NAME = "bedrock-converse"
NOBODY: frozenset[str] = frozenset()
CALL_KEYS = frozenset({"toolUseId", "name", "input"})
RESULT_KEYS = frozenset({"toolUseId", "content"})
SOURCE_KEYS = {"bytes": (), "text": (), "content": (), "s3Location": {"uri": ()}}
MEDIA_KEYS = {"format": (), "source": SOURCE_KEYS}
CITABLE_KEYS = {"citations": {"enabled": ()}}
DOCUMENT_KEYS = {**MEDIA_KEYS, "name": (), "context": (), **CITABLE_KEYS}
PASSAGE_KEYS = {"source": (), "title": (), "content": (), **CITABLE_KEYS}
CITED_KEYS = frozenset({"content", "citations"})
REASONING_KEYS = frozenset({"text", "signature"})
PLAIN_TEXT = only("text")
STATUS = {"success": False, "error": True}
# Where in a source -> what is counted, and the key that tells the source.
LOCATIONS: dict[str, tuple[str, str]] = {
    "documentChar": ("char", "documentIndex"),
    "documentPage": ("page", "documentIndex"),
    "documentChunk": ("block", "documentIndex"),
    "searchResultLocation": ("block", "searchResultIndex"),
}

IDS: Rule = ("[a-zA-Z0-9_.:-]", 64)
NAMES: Rule = ("[a-zA-Z0-9_-]", 64)
UNITS = {"char": "documentChar", "page": "documentPage", "block": "documentChunk"}


class BedrockWriting(Writing):
    """A conversion into this dialect: it also knows the names of the documents so far."""

    counters = ("documents",)

    def __init__(self, log: Ledger, same: bool, reply: bool) -> None:
        super().__init__(log, IDS, NAMES, same, reply)
        self.documents: dict[str, None] = {}

    def made(self, call_id: str) -> str:
        return call_id if self.ids.fits(call_id) else self.ids.rename(call_id)


def read_blocks(
    d: BedrockConverse,
    docs: list[Json],
    at: str,
    custom: frozenset[str] = NOBODY,
    results: bool = True,
) -> list[Block]:
    """Blocks; ``results``: whether tool results may stand here."""
    out: list[Block] = []
    for index, doc in enumerate(docs):
        where = f"{at}/{index}"
        doc = as_dict(doc, where)
        if "cachePoint" in doc:
            if not out or (marked := mark(d, out[-1], doc, where)) is None:
                out.append(Raw(NAME, doc, at=where))
            else:
                out[-1] = marked
        elif "toolUse" in doc:
            out.append(read_call(d, doc, where, custom))
        elif "toolResult" in doc and not results and not is_hosted(doc["toolResult"]):
            out.append(Raw(NAME, doc, at=where))
        else:
            # New kinds of blocks arrive every few months.
            read = next((READERS[key] for key in doc if key in READERS), read_unknown)
            out.append(read(d, doc, where))
    return out


def mark(d: BedrockConverse, block: Block, doc: dict[str, Json], at: str) -> Block | None:
    """The block with the cache mark that stands after it; None where it cannot bear it."""
    if not isinstance(block, Text | Media | Passage | ToolCall | ToolResult) or not sole(doc):
        return None
    return replace(block, cache=read_cache(d, doc, at)) if block.cache is None else None


def write_blocks(d: BedrockConverse, blocks: Sequence[Block], w: BedrockWriting) -> list[Json]:
    """Each block, and after it the cache mark that it has."""
    out: list[Json] = []
    for block in blocks:
        cache = None
        if isinstance(block, ToolResult):
            doc, cache = write_result(d, block, w)
        else:
            doc = write_block(d, block, w)
            if isinstance(block, Text | Media | Passage | ToolCall):
                cache = block.cache
        if doc is not None:
            out.append(doc)
            if cache is not None:
                write_mark(d, out, cache, w)
        elif cache is not None:
            why = f"the block with this cache mark is not supported by {d.name}"
            w.log.dropped("cache", cache.at, why)
    return out


def write_mark(d: BedrockConverse, out: list[Json], cache: Cache, w: BedrockWriting) -> None:
    doc = {"cachePoint": write_cache(d, cache, w)}
    w.marks.append((doc, cache))
    out.append(doc)


def read_cache(d: BedrockConverse, doc: dict[str, Json], at: str) -> Cache:
    point, where = need_dict(doc, "cachePoint", at), f"{at}/cachePoint"
    taken = ("type", "ttl") if point.get("type") == "default" else ("ttl",)
    return Cache(maybe_str(point, "ttl", where), at=where, extras=d.keep(point, taken))


def rest(
    d: BedrockConverse, doc: dict[str, Json], key: str, known: Set[str] | dict[str, Any]
) -> Extras | None:
    """What is left of a block, of the object in it, and of the objects inside that."""
    if known.__class__ is frozenset and sole(doc) and doc[key].keys() <= known:
        return None  # as usual
    return d.keep(doc, (key,), partly={key: known})


def write_cache(d: BedrockConverse, cache: Cache, w: BedrockWriting) -> Json:
    point: dict[str, Json] = {"type": "default"}
    if cache.ttl is not None:
        point["ttl"] = cache.ttl
    return d.emit(point, cache, w.log)


def write_block(d: BedrockConverse, block: Block, w: BedrockWriting) -> Json | None:
    match block:
        case Text():
            return write_text(d, block, w)
        case ToolCall():
            return write_call(d, block, w)
        case ToolResult():
            return write_result(d, block, w)[0]
        case Reasoning():
            return write_reasoning(d, block, w)
        case Media():
            return write_media(d, block, w)
        case Passage():
            return write_passage(d, block, w)
        case Hosted() | Raw() if d.is_same(block.dialect):
            return block.payload
        case _:
            d.omit(block, w.log)
            return None


def read_unknown(d: BedrockConverse, doc: dict[str, Json], at: str) -> Block:
    return Raw(NAME, doc, at=at)


def read_text(d: BedrockConverse, doc: dict[str, Json], at: str) -> Block:
    # Some servers write the type of others beside it.
    taken = ("text", "type") if doc.get("type") == "text" else ("text",)
    extras = None if sole(doc) else d.keep(doc, taken)
    return Text(need_str(doc, "text", at), at=at, extras=extras)


def write_text(d: BedrockConverse, block: Text, w: BedrockWriting) -> Json | None:
    text, extras = block.text, block.extras
    own = extras.fields if extras is not None and d.is_same(extras.dialect) else NOTHING
    if "guardContent" in own:
        guard = own["guardContent"]
        return {"guardContent": {"text": guard["text"] | {"text": text}}}
    out: dict[str, Json] = {"text": text}
    if block.citations or ("citationsContent" in own and extras and extras.inner):
        cited = [write_citation(d, cite, w) for cite in block.citations]
        out = {"citationsContent": {"content": [{"text": text}], "citations": cited}}
    return out if extras is None else d.emit(out, block, w.log)


def read_json(d: BedrockConverse, doc: dict[str, Json], at: str) -> Block:
    """A JSON value in a result: its text."""
    return Text(compact(doc["json"]), at=at, extras=d.keep(doc, ("json",)))


def read_guard(d: BedrockConverse, doc: dict[str, Json], at: str) -> Block:
    """Words that a guardrail looks at. The words are carried, and that it looks is not."""
    guard = need_dict(doc, "guardContent", at)
    inner = guard.get("text")
    words = inner.get("text") if isinstance(inner, dict) else None
    if not sole(doc) or not sole(guard) or not isinstance(words, str):
        return Raw(NAME, doc, at=at)
    return Text(words, at=at, extras=Extras(NAME, fields={"guardContent": guard}))


def read_cited(d: BedrockConverse, doc: dict[str, Json], at: str) -> Block:
    """Text with its sources: ``{"content": [{"text"}], "citations": [...]}``."""
    inner, where = need_dict(doc, "citationsContent", at), f"{at}/citationsContent"
    texts = texts_of(inner.get("content"))
    if texts is None:
        return Raw(NAME, doc, at=at)
    cited = maybe_list(inner, "citations", where) or []
    citations = tuple(
        read_citation(d, as_dict(item, place), place)
        for index, item in enumerate(cited)
        if (place := f"{where}/citations/{index}")
    )
    extras = rest(d, doc, "citationsContent", CITED_KEYS)
    return Text("".join(texts), citations, at=at, extras=extras)


def read_citation(d: BedrockConverse, doc: dict[str, Json], at: str) -> Citation:
    title = maybe_str(doc, "title", at)
    texts = texts_of(doc.get("sourceContent"))
    quote = None if texts is None else "".join(texts)
    location = maybe_dict(doc, "location", at) or {}
    kind = sole(location) or ""
    place = location.get(kind)
    taken: tuple[str, ...] = ("title", "location")
    if texts is not None:
        taken += ("sourceContent",)
    if not isinstance(place, dict):
        return Citation("other", at=at, extras=Extras(NAME, fields=doc))
    if kind == "web" and place.keys() <= {"url", "domain"} and "url" in place:
        url = maybe_str(place, "url", f"{at}/location/web")  # the domain is part of it
        return Citation("url", url, title, quote, at=at, extras=d.keep(doc, taken))
    unit, index_key = LOCATIONS.get(kind, ("", ""))
    numbers = [place.get(key) for key in (index_key, "start", "end")]
    if (
        not unit
        or place.keys() != {index_key, "start", "end"}
        or any(number.__class__ is not int for number in numbers)
    ):
        return Citation("other", at=at, extras=Extras(NAME, fields=doc))
    passage = kind == "searchResultLocation"
    return Citation(
        "passage" if passage else "document",
        maybe_str(doc, "source", at) if passage else None,
        title,
        quote,
        document=numbers[0],
        location=(unit, numbers[1], numbers[2]),  # type: ignore[arg-type]
        at=at,
        extras=d.keep(doc, (*taken, "source") if passage else taken),
    )


def write_citation(d: BedrockConverse, cite: Citation, w: BedrockWriting) -> Json:
    if cite.kind == "other" and cite.extras is not None and d.is_same(cite.extras.dialect):
        return cite.extras.fields
    out: dict[str, Json] = {}
    if cite.title is not None:
        out["title"] = cite.title
    if cite.quote is not None:
        out["sourceContent"] = [{"text": cite.quote}]
    if cite.location is not None and cite.document is not None:
        unit, start, end = cite.location
        passage = cite.kind == "passage"
        kind = "searchResultLocation" if passage else UNITS[unit]
        number = LOCATIONS[kind][1]
        out["location"] = {kind: {number: cite.document, "start": start, "end": end}}
        if passage and cite.url is not None:
            out["source"] = cite.url
    else:
        out["location"] = {"web": {"url": cite.url}}
    return d.emit(out, cite, w.log)


def opens(d: BedrockConverse, signature: Signature, model: str | None, log: Ledger) -> bool:
    """What others signed goes to the model that signed it, if the request names one."""
    own = signature.issuer == d.issuer or model is None
    return own or is_claude(model, log.models)


def read_reasoning(d: BedrockConverse, doc: dict[str, Json], at: str) -> Block:
    inner, where = need_dict(doc, "reasoningContent", at), f"{at}/reasoningContent"
    extras = None if sole(doc) else d.keep(doc, ("reasoningContent",))
    if inner.keys() == {"redactedContent"}:
        signature = Signature(need_str(inner, "redactedContent", where), d.issuer, "encrypted")
        return Reasoning(signature=signature, at=at, extras=extras)
    stated = inner.get("reasoningText")
    if not sole(inner) or stated.__class__ is not dict or not stated.keys() <= REASONING_KEYS:
        return Raw(NAME, doc, at=at)
    where += "/reasoningText"
    text, data = need_str(stated, "text", where), maybe_str(stated, "signature", where)
    return Reasoning(
        (text,) if text or not data else (),  # reasoning, and not shown: only signed
        signature=Signature(data, d.issuer) if data else None,
        at=at,
        extras=extras,
    )


def write_reasoning(d: BedrockConverse, block: Reasoning, w: BedrockWriting) -> Json:
    signature = block.signature
    if signature is not None and signature.kind == "encrypted":
        doc = {"reasoningContent": {"redactedContent": signature.data}}
        return d.emit(doc, block, w.log)
    inner: dict[str, Json] = {"text": joined(block.words)}
    if signature is not None:
        inner["signature"] = signature.data
    return d.emit({"reasoningContent": {"reasoningText": inner}}, block, w.log)


def read_call(d: BedrockConverse, doc: dict[str, Json], at: str, custom: frozenset[str]) -> Block:
    call, where = need_dict(doc, "toolUse", at), f"{at}/toolUse"
    name, call_id = need_str(call, "name", where), need_str(call, "toolUseId", where)
    kind = maybe_str(call, "type", where)
    if kind == "server_tool_use":
        return Hosted(NAME, name, doc, "call", id=call_id, at=at)
    # The type is in responses, and unknown to requests.
    extras = rest(d, doc, "toolUse", CALL_KEYS | {"type"} if kind == "tool_use" else CALL_KEYS)
    if "input" in call and call["input"].__class__ is not dict:
        # Arguments that are no object: the API takes and gives any JSON value.
        return ToolCall(call_id, name, text_of(call["input"]), at=at, extras=extras)
    arguments = need_dict(call, "input", where)
    if name in custom and arguments.keys() == {"input"} and isinstance(arguments["input"], str):
        return ToolCall(call_id, name, arguments["input"], "custom", at=at, extras=extras)
    return ToolCall(call_id, name, compact(arguments), at=at, extras=extras)


def write_call(d: BedrockConverse, call: ToolCall, w: BedrockWriting) -> Json:
    inner: dict[str, Json] = {
        "toolUseId": w.call_once(call),
        "name": w.tool_name(call.name, call.at),
        "input": {"input": call.arguments} if call.kind == "custom" else arguments_of(call, w),
    }
    return d.emit({"toolUse": inner}, call, w.log)


def arguments_of(call: ToolCall, w: BedrockWriting) -> Json:
    """An object; in the same dialect, any JSON value that the arguments are."""
    if w.same and not is_blank(call.arguments):
        try:
            value = decode(call.arguments)
        except UNREADABLE:
            return call.arguments
        if value.__class__ is not dict:
            return value
    return object_of(call, w.log)


def read_result(d: BedrockConverse, doc: dict[str, Json], at: str) -> Block:
    result, where = need_dict(doc, "toolResult", at), f"{at}/toolResult"
    call_id = need_str(result, "toolUseId", where)
    if is_hosted(result):
        service = str(result["type"]).removesuffix("_result")
        return Hosted(NAME, service, doc, "result", id=call_id, at=at)
    content = read_blocks(d, need_list(result, "content", where), f"{where}/content")
    status = STATUS.get(maybe_str(result, "status", where) or "")
    taken = RESULT_KEYS if status is None else RESULT_KEYS | {"status"}
    extras = rest(d, doc, "toolResult", taken)
    return ToolResult(call_id, tuple(content), status, at=at, extras=extras)


def write_result(
    d: BedrockConverse, result: ToolResult, w: BedrockWriting
) -> tuple[Json, Cache | None]:
    """A result, and the cache mark after it: that of its parts too, which can have none."""
    call_id = w.result_id(result)
    inner: dict[str, Json] = {"toolUseId": w.once(call_id, result)}
    cache, parts = result.cache, result.content
    if w.same:
        inner["content"] = write_blocks(d, parts, w)
    else:
        for part in parts:
            if isinstance(part, Text | Media | Passage) and part.cache is not None:
                if cache is None:
                    why = f"{d.name} has cache marks after whole results only"
                    w.log.approximated("cache", part.cache.at, why)
                    cache = part.cache
                else:
                    why = f"{d.name} writes one cache mark per result"
                    w.log.dropped("cache", part.cache.at, why)
        docs = (write_block(d, part, w) for part in parts)
        inner["content"] = [doc for doc in docs if doc is not None]
    if result.is_error is True:
        inner["status"] = "error"
    elif result.is_error is False and w.same:
        # Elsewhere it goes without saying: "only supported by Amazon Nova and Anthropic Claude"
        inner["status"] = "success"
    return d.emit({"toolResult": inner}, result, w.log), cache


def read_media(kind: MediaKind, d: BedrockConverse, doc: dict[str, Json], at: str) -> Block:
    inner, where = need_dict(doc, kind, at), f"{at}/{kind}"
    if "error" in inner and "source" not in inner:
        return Raw(NAME, doc, at=at)  # an image that could not be made
    source = read_source(d, kind, inner, where)
    if source is None:
        return Raw(NAME, doc, at=at)
    if kind != "document":
        return Media(kind, source, at=at, extras=rest(d, doc, kind, MEDIA_KEYS))
    return Media(
        kind,
        source,
        title=maybe_str(inner, "name", where),
        context=maybe_str(inner, "context", where),
        citable=read_citable(inner, where),
        at=at,
        extras=rest(d, doc, kind, DOCUMENT_KEYS),
    )


def write_media(d: BedrockConverse, block: Media, w: BedrockWriting) -> Json:
    word, source = write_source(d, block, w)
    inner: dict[str, Json] = {} if word is None else {"format": word}
    if block.kind == "document":
        write_name(d, inner, block, word, w)
        if block.context is not None:
            inner["context"] = block.context
        write_citable(inner, block.citable)
    inner["source"] = source
    return d.emit({block.kind: inner}, block, w.log)


def write_name(
    d: BedrockConverse, out: dict[str, Json], block: Media, word: str | None, w: BedrockWriting
) -> None:
    """A document must have a name, and only some letters can be in it."""
    name = block.title
    if w.same:
        if name is not None:
            out["name"] = name
        return
    if name is not None:
        given = document_name(name, w.documents)
        if given != name:
            why = (
                f"{name!r} is used already or not allowed as a document name in {d.name}; "
                f"written as {given!r}"
            )
            w.log.renamed("media.title", block.at, why)
        if block.filename is not None:
            w.log.dropped("media.filename", block.at, f"a document has one name in {d.name}")
    elif block.filename is not None:
        given = document_name(without_ending(block.filename, word), w.documents)
        why = f"written as the name of the document: {given!r}"
        w.log.approximated("media.filename", block.at, why)
    else:
        given = numbered("document", w.documents)
        why = f"{d.name} requires the name of a document; written as {given!r}"
        w.log.invented("media.title", block.at, why)
    w.documents[given] = None
    out["name"] = given


def read_source(
    d: BedrockConverse, kind: MediaKind, doc: dict[str, Json], at: str
) -> Source | None:
    """Where a medium is; None for a kind of source that is not known."""
    holder, where = need_dict(doc, "source", at), f"{at}/source"
    word = maybe_str(doc, "format", at)
    media_type = None if word is None else type_of(kind, word)
    match sole(holder):
        case "bytes":
            return Source("base64", need_str(holder, "bytes", where), media_type)
        case "s3Location":
            place = need_dict(holder, "s3Location", where)
            uri = need_str(place, "uri", f"{where}/s3Location")
            return Source("file", uri, media_type, d.issuer)
        case "text":
            return Source("text", need_str(holder, "text", where), media_type or "text/plain")
        case "content":
            blocks = read_blocks(d, need_list(holder, "content", where), f"{where}/content")
            return Source("blocks", blocks=tuple(blocks))
    return None


def write_source(d: BedrockConverse, block: Media, w: BedrockWriting) -> tuple[str | None, Json]:
    """The format of a medium and where it is."""
    source = block.source
    word = word_of(block.kind, source.media_type)
    match source.kind:
        case "base64":
            return word, {"bytes": source.value}
        case "file" | "url":
            return word, {"s3Location": {"uri": source.value}}
        case "text":
            return word, {"text": source.value}
        case "blocks":
            return None, {"content": write_blocks(d, only_text(d, source.blocks, w), w)}
        case _:
            assert_never(source.kind)


def read_passage(d: BedrockConverse, doc: dict[str, Json], at: str) -> Block:
    inner, where = need_dict(doc, "searchResult", at), f"{at}/searchResult"
    content = read_blocks(d, need_list(inner, "content", where), f"{where}/content")
    return Passage(
        need_str(inner, "source", where),
        need_str(inner, "title", where),
        tuple(content),
        read_citable(inner, where),
        at=at,
        extras=rest(d, doc, "searchResult", PASSAGE_KEYS),
    )


def writing(
    d: BedrockConverse, log: Ledger, dialect: str | None, *, reply: bool = False
) -> BedrockWriting:
    return BedrockWriting(log, d.is_same(dialect), reply)


def write_passage(d: BedrockConverse, block: Passage, w: BedrockWriting) -> Json:
    inner: dict[str, Json] = {"source": block.source, "title": block.title}
    inner["content"] = write_blocks(d, only_text(d, block.content, w), w)
    write_citable(inner, block.citable)
    return d.emit({"searchResult": inner}, block, w.log)


def only_text(d: BedrockConverse, blocks: Sequence[Block], w: BedrockWriting) -> list[Block]:
    """Where there is room for text alone; in the same dialect, for whatever there was."""
    kept: list[Block] = []
    for block in blocks:
        if isinstance(block, Text) or w.same:
            kept.append(block)
        else:
            d.omit(block, w.log)
    return kept


READERS: dict[str, Callable[[Any, dict[str, Json], str], Block]] = {
    "text": read_text,
    "json": read_json,
    "toolResult": read_result,
    "reasoningContent": read_reasoning,
    "image": partial(read_media, "image"),
    "document": partial(read_media, "document"),
    "video": partial(read_media, "video"),
    "audio": partial(read_media, "audio"),
    "searchResult": read_passage,
    "citationsContent": read_cited,
    "guardContent": read_guard,
}


def text_of(written: Json) -> str:
    """The text of arguments that are no object."""
    return written if isinstance(written, str) else compact({} if written is None else written)


def is_hosted(result: Json) -> bool:
    """Whether a result is that of a tool which Bedrock itself runs: those have a type."""
    return isinstance(result, dict) and result.get("type") not in (None, "tool_result")


def texts_of(docs: Json) -> list[str] | None:
    """The words of a list that holds texts alone; None for anything else."""
    if docs.__class__ is not list:
        return None
    found = (doc.get("text") for doc in docs if doc.__class__ is dict and PLAIN_TEXT(doc))
    texts = [text for text in found if isinstance(text, str)]
    return texts if len(texts) == len(docs) else None
