"""Content blocks of the Converse API, both ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import TYPE_CHECKING, Any, assert_never

from msgspec.structs import replace

from ...core.reading import (
    as_dict,
    compact,
    maybe_bool,
    maybe_dict,
    maybe_list,
    maybe_str,
    need_dict,
    need_list,
    need_str,
    only,
    parse,
    sole,
)
from ...core.writing import (
    Rule,
    Writing,
    joined,
    object_of,
)
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
from .._claude import is_claude
from .formats import (
    FORMATS,
    document_name,
    numbered,
    type_of,
    without_ending,
)

if TYPE_CHECKING:
    from . import BedrockConverse


NAME = "bedrock-converse"
NOBODY: frozenset[str] = frozenset()
CALL_KEYS = frozenset({"toolUseId", "name", "input"})
RESULT_KEYS = frozenset({"toolUseId", "content"})
MEDIA_KEYS = frozenset({"format", "source"})
DOCUMENT_KEYS = MEDIA_KEYS | {"name", "context", "citations"}
THOUGHT_KEYS = frozenset({"text", "signature"})
PASSAGE_KEYS = frozenset({"source", "title", "content", "citations"})
PLAIN_TEXT = only("text")
CITABLE_REST: dict[str, Json] = {"citations": {"enabled": ()}}
SOURCE_REST: dict[str, Json] = {"source": {"s3Location": {"uri": ()}}}
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


class BedrockSaid(Writing):
    """A conversion into this dialect: it also knows the names of the documents so far."""

    __slots__ = ("documents",)

    def __init__(self, log: Ledger, home: bool, answer: bool) -> None:
        super().__init__(log, IDS, NAMES, home, answer)
        self.documents: set[str] = set()

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
            key = next((key for key in doc if key in READERS), "")
            read = READERS.get(key)
            # New kinds of blocks arrive every few months.
            out.append(Raw(NAME, doc, at=where) if read is None else read(d, doc, where))
    return out


def mark(d: BedrockConverse, block: Block, doc: dict[str, Json], at: str) -> Block | None:
    """The block with the cache mark that stands after it; None where it cannot bear it."""
    if not isinstance(block, Text | Media | Passage | ToolCall | ToolResult) or not sole(doc):
        return None
    return replace(block, cache=read_cache(d, doc, at)) if block.cache is None else None


def write_blocks(d: BedrockConverse, blocks: Sequence[Block], w: BedrockSaid) -> list[Json]:
    """Each block, and after it the cache mark that it bears."""
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
            w.log.dropped(
                "cache", cache.at, f"the block with this cache mark is not supported by {d.name}"
            )
    return out


def write_mark(d: BedrockConverse, out: list[Json], cache: Cache, w: BedrockSaid) -> None:
    doc = {"cachePoint": write_cache(d, cache, w)}
    w.marks.append((doc, cache))
    out.append(doc)


def read_cache(d: BedrockConverse, doc: dict[str, Json], at: str) -> Cache:
    point, where = need_dict(doc, "cachePoint", at), f"{at}/cachePoint"
    spelling = None if point.get("type") == "default" else {"type": point.get("type")}
    extras = d.keep(point, ("type", "ttl"), spelling)
    return Cache(maybe_str(point, "ttl", where), at=where, extras=extras)


def rest(
    d: BedrockConverse,
    doc: dict[str, Json],
    key: str,
    taken: Set[str],
    spelling: Json = None,
    within: dict[str, Json] = NOTHING,
) -> Extras | None:
    """What is left of a block, of the object in it, and of the objects ``within`` that."""
    inner = doc[key]
    if sole(doc) and not (spelling or within) and inner.keys() <= taken:
        if None not in inner.values():
            return None  # as usual
    known = dict.fromkeys(taken, ()) | within if within else taken
    return d.keep(doc, (key,), spelling, partly={key: known})


def write_cache(d: BedrockConverse, cache: Cache, w: BedrockSaid) -> Json:
    point: dict[str, Json] = {"type": "default"}
    if cache.ttl is not None:
        point["ttl"] = cache.ttl
    if "type" in (spelling := d.spelling(cache)):
        point["type"] = spelling["type"]
        if spelling["type"] is None:
            del point["type"]
    return d.emit(point, cache, w.log)


def write_block(d: BedrockConverse, block: Block, w: BedrockSaid) -> Json | None:
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
        case Hosted() | Raw() if d.is_home(block.dialect):
            return block.payload
        case _:
            d.omit(block, w.log)
            return None


def read_text(d: BedrockConverse, doc: dict[str, Json], at: str) -> Block:
    spelling = None
    if doc.get("type") == "text":  # as others say it; it says nothing more
        spelling = {"type": "text"}
    extras = None if sole(doc) else d.keep(doc, ("text", *(spelling or ())), spelling)
    return Text(need_str(doc, "text", at), at=at, extras=extras)


def write_text(d: BedrockConverse, block: Text, w: BedrockSaid) -> Json | None:
    text, extras = block.text, block.extras
    if extras is not None and d.is_home(extras.dialect):
        if "guardContent" in extras.fields:
            return {"guardContent": extras.fields["guardContent"]}
        if "json" in extras.spelling:
            return d.emit({"json": parse(text)}, block, w.log)
        if "cited" in extras.spelling:
            out = {"citationsContent": extras.spelling["cited"]}
            return d.emit(out, block, w.log)
    if block.citations:
        cited = [write_citation(d, cite, w) for cite in block.citations]
        out = {"citationsContent": {"content": [{"text": text}], "citations": cited}}
    else:
        out = {"text": text}
    if extras is None:
        return out
    return d.emit(out | d.spelling(block), block, w.log)


def read_json(d: BedrockConverse, doc: dict[str, Json], at: str) -> Block:
    """A JSON value as a tool's answer: its text."""
    return Text(compact(doc["json"]), at=at, extras=d.keep(doc, ("json",), {"json": True}))


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
    spelling = None if len(texts) == 1 and citations else {"cited": inner}
    extras = rest(d, doc, "citationsContent", {"content", "citations"}, spelling)
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
    spelling: dict[str, Json] = {}
    if texts is not None and len(texts) != 1:
        spelling["sourceContent"] = doc["sourceContent"]
    if not isinstance(place, dict):
        return Citation("other", at=at, extras=Extras(NAME, fields=doc))
    if kind == "web" and place.keys() <= {"url", "domain"} and "url" in place:
        spelling |= {key: place[key] for key in place if key == "domain"}  # part of the address
        extras = d.keep(doc, taken, spelling)
        url = maybe_str(place, "url", f"{at}/location/web")
        return Citation("url", url, title, quote, at=at, extras=extras)
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
        extras=d.keep(doc, (*taken, "source") if passage else taken, spelling),
    )


def write_citation(d: BedrockConverse, cite: Citation, w: BedrockSaid) -> Json:
    spelling = d.spelling(cite)
    if cite.kind == "other" and cite.extras is not None and d.is_home(cite.extras.dialect):
        return cite.extras.fields
    out: dict[str, Json] = {}
    if cite.title is not None:
        out["title"] = cite.title
    if cite.quote is not None:
        out["sourceContent"] = spelling.get("sourceContent", [{"text": cite.quote}])
    if cite.location is not None and cite.document is not None:
        unit, start, end = cite.location
        passage = cite.kind == "passage"
        kind = "searchResultLocation" if passage else UNITS[unit]
        number = LOCATIONS[kind][1]
        out["location"] = {kind: {number: cite.document, "start": start, "end": end}}
        if passage and cite.url is not None:
            out["source"] = cite.url
    else:
        domain = {key: spelling[key] for key in ("domain",) if key in spelling}
        out["location"] = {"web": {"url": cite.url, **domain}}
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
    said = inner.get("reasoningText")
    if not sole(inner) or said.__class__ is not dict or not said.keys() <= THOUGHT_KEYS:
        return Raw(NAME, doc, at=at)
    where += "/reasoningText"
    text, data = need_str(said, "text", where), maybe_str(said, "signature", where)
    if "signature" in said and not data:
        extras = d.respell(extras, signature=data)
    return Reasoning(
        (text,) if text or not data else (),  # reasoning, and not shown: only signed
        signature=Signature(data, d.issuer) if data else None,
        at=at,
        extras=extras,
    )


def write_reasoning(d: BedrockConverse, block: Reasoning, w: BedrockSaid) -> Json:
    signature = block.signature
    if signature is not None and signature.kind == "encrypted":
        doc = {"reasoningContent": {"redactedContent": signature.data}}
        return d.emit(doc, block, w.log)
    inner: dict[str, Json] = {"text": joined(block.words)}
    if signature is not None:
        inner["signature"] = signature.data
    inner |= {k: v for k, v in d.spelling(block).items() if k == "signature"}
    return d.emit({"reasoningContent": {"reasoningText": inner}}, block, w.log)


def read_call(d: BedrockConverse, doc: dict[str, Json], at: str, custom: frozenset[str]) -> Block:
    call, where = need_dict(doc, "toolUse", at), f"{at}/toolUse"
    name, call_id = need_str(call, "name", where), need_str(call, "toolUseId", where)
    kind = maybe_str(call, "type", where)
    if kind == "server_tool_use":
        return Hosted(NAME, name, doc, "call", id=call_id, at=at)
    spelling: dict[str, Json] = {}
    if kind == "tool_use":  # said in answers, and unknown to requests
        spelling["type"] = kind
    if "input" in call and call["input"].__class__ is not dict:
        return read_argued(d, doc, call_id, name, spelling, at)
    arguments = need_dict(call, "input", where)
    extras = rest(d, doc, "toolUse", CALL_KEYS | spelling.keys(), spelling)
    if name in custom and arguments.keys() == {"input"} and isinstance(arguments["input"], str):
        return ToolCall(call_id, name, arguments["input"], "custom", at=at, extras=extras)
    return ToolCall(call_id, name, compact(arguments), at=at, extras=extras)


def write_call(d: BedrockConverse, call: ToolCall, w: BedrockSaid) -> Json:
    spelling = d.spelling(call)
    arguments: Json
    if "input" in spelling and text_of(spelling["input"]) == call.arguments:
        arguments = spelling["input"]  # it is said as it was
    elif call.kind == "custom":
        arguments = {"input": call.arguments}
    else:
        arguments = object_of(call, w.log)
    inner: dict[str, Json] = {
        "toolUseId": w.call_once(call),
        "name": w.tool_name(call.name, call.at),
        "input": arguments,
    }
    if call.extras is None:
        return {"toolUse": inner}
    more = {key: value for key, value in spelling.items() if key != "input"}
    return d.emit({"toolUse": inner | more}, call, w.log)


def read_argued(
    d: BedrockConverse,
    doc: dict[str, Json],
    call_id: str,
    name: str,
    spelling: dict[str, Json],
    at: str,
) -> ToolCall:
    """A call whose arguments are no object: the API takes and gives any JSON value."""
    said = spelling["input"] = doc["toolUse"]["input"]
    extras = rest(d, doc, "toolUse", CALL_KEYS | spelling.keys(), spelling)
    return ToolCall(call_id, name, text_of(said), at=at, extras=extras)


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
    d: BedrockConverse, result: ToolResult, w: BedrockSaid
) -> tuple[Json, Cache | None]:
    """A result, and the cache mark after it: that of its parts too, which can bear none."""
    call_id = w.result_id(result)
    inner: dict[str, Json] = {"toolUseId": w.once(call_id, result)}
    cache, parts = result.cache, result.content
    if w.home:
        inner["content"] = write_blocks(d, parts, w)
    else:
        for part in parts:
            if isinstance(part, Text | Media | Passage) and part.cache is not None:
                if cache is None:
                    w.log.approximated(
                        "cache", part.cache.at, f"{d.name} has cache marks after whole results only"
                    )
                    cache = part.cache
                else:
                    w.log.dropped(
                        "cache", part.cache.at, f"{d.name} writes one cache mark per result"
                    )
        docs = (write_block(d, part, w) for part in parts)
        inner["content"] = [doc for doc in docs if doc is not None]
    if result.is_error is True:
        inner["status"] = "error"
    elif result.is_error is False and w.home:
        # Elsewhere it goes without saying: "only supported by Amazon Nova and Anthropic Claude"
        inner["status"] = "success"
    if result.name is not None:
        w.log.dropped(
            "tool_result.name", result.at, f"{d.name} has no field for the tool name of a result"
        )
    return d.emit({"toolResult": inner}, result, w.log), cache


def read_image(d: BedrockConverse, doc: dict[str, Json], at: str) -> Block:
    return read_media(d, "image", doc, at)


def read_video(d: BedrockConverse, doc: dict[str, Json], at: str) -> Block:
    return read_media(d, "video", doc, at)


def read_audio(d: BedrockConverse, doc: dict[str, Json], at: str) -> Block:
    return read_media(d, "audio", doc, at)


def read_media(d: BedrockConverse, kind: MediaKind, doc: dict[str, Json], at: str) -> Block:
    inner, where = need_dict(doc, kind, at), f"{at}/{kind}"
    if "error" in inner and "source" not in inner:
        return Raw(NAME, doc, at=at)  # an image that could not be made
    source, spelling = read_source(d, kind, inner, where)
    if source is None:
        return Raw(NAME, doc, at=at)
    within = SOURCE_REST if source.kind == "file" else NOTHING
    extras = rest(d, doc, kind, MEDIA_KEYS, spelling, within)
    return Media(kind, source, at=at, extras=extras)


def write_media(d: BedrockConverse, block: Media, w: BedrockSaid) -> Json:
    word, source = write_source(d, block, w)
    if "format" in (spelling := d.spelling(block)):
        word = spelling["format"]
    inner: dict[str, Json] = {} if word is None else {"format": word}
    if block.kind == "document":
        write_name(d, inner, block, word, w)
        if block.context is not None:
            inner["context"] = block.context
        write_citable(inner, block)
    inner["source"] = source
    return d.emit({block.kind: inner}, block, w.log)


def write_name(
    d: BedrockConverse, out: dict[str, Json], block: Media, word: str | None, w: BedrockSaid
) -> None:
    """A document must have a name, and only some letters can be in it."""
    name = block.title
    if w.home:
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
        w.log.approximated(
            "media.filename", block.at, f"written as the name of the document: {given!r}"
        )
    else:
        given = numbered("document", w.documents)
        w.log.invented(
            "media.title",
            block.at,
            f"{d.name} requires the name of a document; written as {given!r}",
        )
    w.documents.add(given)
    out["name"] = given


def read_document(d: BedrockConverse, doc: dict[str, Json], at: str) -> Block:
    inner, where = need_dict(doc, "document", at), f"{at}/document"
    source, spelling = read_source(d, "document", inner, where)
    if source is None:
        return Raw(NAME, doc, at=at)
    within = CITABLE_REST if "citations" in inner else NOTHING
    if source.kind == "file":
        within = within | SOURCE_REST
    return Media(
        "document",
        source,
        title=maybe_str(inner, "name", where),
        context=maybe_str(inner, "context", where),
        citable=read_citable(inner, where),
        at=at,
        extras=rest(d, doc, "document", DOCUMENT_KEYS, spelling, within),
    )


def read_citable(doc: dict[str, Json], at: str) -> bool | None:
    """``citations: {"enabled": true}``."""
    citations = maybe_dict(doc, "citations", at)
    return None if citations is None else maybe_bool(citations, "enabled", f"{at}/citations")


def write_citable(out: dict[str, Json], block: Media | Passage) -> None:
    if block.citable is not None:
        out["citations"] = {"enabled": block.citable}


def read_source(
    d: BedrockConverse, kind: MediaKind, doc: dict[str, Json], at: str
) -> tuple[Source | None, dict[str, Json]]:
    """Where a medium is, and how that was spelled. None for what is not known."""
    holder, where = need_dict(doc, "source", at), f"{at}/source"
    word = maybe_str(doc, "format", at)
    media_type = None if word is None else type_of(kind, word)
    spelling: dict[str, Json] = {}
    if media_type is not None and FORMATS[kind].get(media_type) != word:
        spelling["format"] = word
    match sole(holder):
        case "bytes":
            return Source("base64", need_str(holder, "bytes", where), media_type), spelling
        case "s3Location":
            place = need_dict(holder, "s3Location", where)
            uri = need_str(place, "uri", f"{where}/s3Location")
            return Source("file", uri, media_type, d.issuer), spelling
        case "text":
            if media_type is None:
                media_type = "text/plain"
                spelling["format"] = word
            return Source("text", need_str(holder, "text", where), media_type), spelling
        case "content":
            blocks = read_blocks(d, need_list(holder, "content", where), f"{where}/content")
            if word is not None:
                spelling["format"] = word
            return Source("blocks", blocks=tuple(blocks)), spelling
    return None, spelling


def write_source(d: BedrockConverse, block: Media, w: BedrockSaid) -> tuple[str | None, Json]:
    """The format of a medium and where it is."""
    source = block.source
    word = FORMATS[block.kind].get(source.media_type or "")
    match source.kind:
        case "base64":
            return word, {"bytes": source.value}
        case "file" | "url":
            return word, {"s3Location": {"uri": source.value}}
        case "text":
            return word, {"text": source.value}
        case "blocks":
            texts = write_blocks(d, only_text(d, source.blocks, w), w)
            return None, {"content": texts}
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
        extras=rest(
            d,
            doc,
            "searchResult",
            PASSAGE_KEYS,
            within=CITABLE_REST if "citations" in inner else NOTHING,
        ),
    )


def writing(
    d: BedrockConverse, log: Ledger, dialect: str | None, *, answer: bool = False
) -> BedrockSaid:
    return BedrockSaid(log, d.is_home(dialect), answer)


def write_passage(d: BedrockConverse, block: Passage, w: BedrockSaid) -> Json:
    inner: dict[str, Json] = {"source": block.source, "title": block.title}
    inner["content"] = write_blocks(d, only_text(d, block.content, w), w)
    write_citable(inner, block)
    return d.emit({"searchResult": inner}, block, w.log)


def only_text(d: BedrockConverse, blocks: Sequence[Block], w: BedrockSaid) -> list[Block]:
    """Where there is room for text alone; at home, for whatever there was."""
    kept: list[Block] = []
    for block in blocks:
        if isinstance(block, Text) or w.home:
            kept.append(block)
        else:
            d.omit(block, w.log)
    return kept


READERS: dict[str, Callable[[Any, dict[str, Json], str], Block]] = {
    "text": read_text,
    "json": read_json,
    "toolResult": read_result,
    "reasoningContent": read_reasoning,
    "image": read_image,
    "document": read_document,
    "video": read_video,
    "audio": read_audio,
    "searchResult": read_passage,
    "citationsContent": read_cited,
    "guardContent": read_guard,
}


def text_of(said: Json) -> str:
    """The text of arguments that are no object."""
    return said if isinstance(said, str) else compact({} if said is None else said)


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
