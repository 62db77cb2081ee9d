"""Blocks of the contents of llxprt, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.media import kind_of, sniff
from ...core.reading import compact, escape, maybe_str, need_str, only
from ...core.signers import signer
from ...core.writing import Writing, is_plain_text, joined, object_or_text, split_data_uri
from ...dialect import NOTHING, Dialect
from ...ledger import Ledger
from ...model import (
    Block,
    Hosted,
    Json,
    Media,
    Node,
    Raw,
    Reasoning,
    Signature,
    Source,
    Text,
    ToolCall,
    ToolResult,
)
from ...tools import freeform
from ...tools.llxprt_ids import HISTORY, from_history, to_history
from ...tools.tool_errors import ERROR

if TYPE_CHECKING:
    from . import IContent

PLAIN_TEXT = only("type", "text")
# Who signed reasoning. The provider's name is free; these are the ones llxprt comes with.
PROVIDERS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "openai-responses": "openai",
    "openaivercel": "openai",
    "codex": "openai",
    "gemini": "google",
    "google": "google",
}
# The vendors' own hosts: a signature from elsewhere is not theirs, whatever the provider is called.
HOSTS = ("api.anthropic.com", "api.openai.com", "chatgpt.com", "googleapis.com")
FIELDS = {"thinking": "anthropic", "thought": "google"}
NOBODY = "llxprt"
"""The issuer of a signature of which nobody knows whose it is: no API has that name."""
REDACTED = "[redacted]"
"""What llxprt writes as the reasoning where Anthropic redacted it; the signature is its data."""
RESPONSE_KEYS = frozenset({"type", "callId", "toolName", "result"})
MEDIA_KEYS = frozenset({"type", "mimeType", "data", "encoding", "filename"})
THINKING_KEYS = frozenset({"type", "thought", "signature", "sourceField"})


def call_id_of(written: str) -> str:
    """The id that an id of a history stands for.

    "Tool IDs from history use hist_tool_ prefix", "Vercel SDK expects call_ prefix": so it is also
    where the rest is nothing that ``ids`` would write, such as one with spaces in it.
    """
    found = from_history(written)
    if found == written and written.startswith(HISTORY):
        return f"call_{written[len(HISTORY) :]}"
    return found


class Known:
    """What was read so far: the ids of calls and their names, and whose turn it is."""

    __slots__ = ("custom", "ids", "metadata", "names", "taken")

    def __init__(self, custom: frozenset[str] = frozenset()) -> None:
        self.custom = custom
        self.ids: dict[str, str] = {}  # an id in the history -> the id it stands for
        self.taken: dict[str, str] = {}  # the other way round
        self.names: dict[str, str] = {}
        self.metadata: dict[str, Json] = {}

    def call(self, written: str, name: str) -> str:
        """The id of a call. Two spellings of one id are two ids where two calls bear them."""
        found = self.ids.get(written)
        if found is None:
            found = call_id_of(written)
            while self.taken.setdefault(found, written) != written:
                found = to_history(found)
            self.ids[written] = found
        self.names[found] = name
        return found

    def result(self, written: str) -> str:
        return self.ids.get(written) or call_id_of(written)


ANY = ("(?s:.)", 10**9)
"""Ids and names may be what they like; ids are written in a form of their own."""
# Which signatures the blocks have a place for, and the field that tells whose they are.
SIGNED = {("anthropic", "signature"): "thinking", ("google", "signature"): "thought"}
"""Who signs reasoning, and the field that the signature stands for."""


class ContentWriting(Writing):
    """A conversion into contents: knows the tools that were called, by the ids of the calls."""

    def __init__(self, log: Ledger, same: bool, reply: bool = False) -> None:
        super().__init__(log, ANY, ANY, same, reply)
        self.tools: dict[str | None, str] = {}


def read_block(d: IContent, doc: dict[str, Json], at: str, known: Known) -> Block:
    kind = doc.get("type")
    match kind:
        case "text":
            text = need_str(doc, "text", at)
            extras = None if PLAIN_TEXT(doc) else d.keep(doc, ("type", "text"))
            return Text(text, at=at, extras=extras)
        case "tool_call":
            return read_call(d, doc, at, known)
        case "tool_response":
            return read_result(d, doc, at, known)
        case "media":
            return read_media(d, doc, at)
        case "image":
            return read_image(d, doc, at)
        case "thinking":
            return read_thinking(d, doc, at, known.metadata)
        case "code":
            return read_code(d, doc, at)
        case _:
            need_str(doc, "type", at)
            return Raw(d.name, doc, at=at)


def write_blocks(d: IContent, blocks: Sequence[Block], w: ContentWriting) -> list[Json]:
    out: list[Json] = []
    for block in blocks:
        if block.__class__ is Text and block.extras is None and block.cache is None:
            if not block.citations:
                out.append({"type": "text", "text": block.text})
                continue
        out += write_block(d, block, w)
    return out


def write_block(d: IContent, block: Block, w: ContentWriting) -> list[Json]:
    match block:
        case Text():
            return [write_text(d, block, w)]
        case ToolCall():
            return [write_call(d, block, w)]
        case ToolResult():
            return write_result(d, block, w)
        case Media():
            return [write_media(d, block, w)]
        case Reasoning():
            return [write_reasoning(d, block, w)]
        case Raw() | Hosted() if d.is_same(block.dialect):
            return [block.payload]
        case _:
            d.omit(block, w.log)
            return []


def write_text(d: IContent, block: Text, w: Writing) -> Json:
    extras = block.extras
    if extras is not None and d.knows(extras.dialect) and "code" in extras.fields:
        return emit(d, {"type": "code"}, block, w.log)
    return emit(d, {"type": "text", "text": block.text}, block, w.log)


def read_call(d: IContent, doc: dict[str, Json], at: str, known: Known) -> Block:
    written, name = need_str(doc, "id", at), need_str(doc, "name", at)
    call_id = known.call(written, name)
    given = doc.get("parameters")
    text = given if given.__class__ is str else "{}" if given is None else compact(given)
    taken = ["type", "id", "name", "parameters"]
    if doc.get("input") is not None and compact(doc["input"]) == text:
        taken.append("input")  # llxprt's own converter says it twice
    extras = d.keep(doc, taken)
    if name in known.custom and given.__class__ is dict and given.keys() == {"input"}:
        if isinstance(given["input"], str):
            return ToolCall(call_id, name, given["input"], "custom", at=at, extras=extras)
    return ToolCall(call_id, name, text, at=at, extras=extras)


def write_call(d: IContent, call: ToolCall, w: ContentWriting) -> Json:
    w.tools[call.id] = call.name
    call_id = call.id if call.id is not None else w.call_id(call)
    out: dict[str, Json] = {"type": "tool_call", "id": to_history(call_id), "name": call.name}
    out["parameters"] = object_or_text(freeform.as_function(call), w)
    return emit(d, out, call, w.log)


def read_result(d: IContent, doc: dict[str, Json], at: str, known: Known) -> ToolResult:
    call_id, name = known.result(need_str(doc, "callId", at)), maybe_str(doc, "toolName", at)
    if name == known.names.get(call_id):
        name = None  # what the call says already is not said twice
    taken = set(RESPONSE_KEYS)
    failed = read_failed(doc, at, taken)
    content = read_result_content(doc, at, taken)
    extras = d.keep(doc, taken)
    return ToolResult(call_id, content, failed, name or None, at=at, extras=extras)


def write_result(d: IContent, result: ToolResult, w: ContentWriting) -> list[Json]:
    out = d.name_result(result, w)  # before any call inside of it, which it does not reply
    texts, before, after = (own_result_content if w.same else sort_result_content)(
        d, result.content, w
    )
    reply = "\n".join(text.text for text in texts)
    error = reply if texts and w.same else reply or ERROR
    if not w.same:
        mute = result.is_error and d.has_error  # a failure without a word has a form here
        if not texts and not mute:
            d.add_text(result.at, w.log)
        elif mute and not reply:
            for text in texts:
                d.omit_text(text.at, w.log)
    out["result"] = reply if texts or not w.same else None
    if result.is_error:
        write_failed(d, out, result, error)
    return [*before, emit(d, out, result, w.log), *after]


def read_failed(doc: dict[str, Json], at: str, taken: set[str]) -> bool | None:
    """Whether the tool failed: the real type has ``error``, the design a ``status`` as well."""
    failed = True if maybe_str(doc, "error", at) is not None else None
    if doc.get("status") == "error":
        taken.add("status")
        failed = True
    if doc.get("isError").__class__ is bool:  # llxprt's own converter adds it
        taken.add("isError")
        failed = failed or doc["isError"]
    return failed


def write_failed(d: IContent, out: dict[str, Json], result: ToolResult, error: str) -> None:
    """That a tool failed, unless it has an error of its own, or another status."""
    extras = result.extras
    fields = extras.fields if extras is not None and d.knows(extras.dialect) else NOTHING
    if "error" in fields:
        return
    if d.has_error:
        out["error"] = error
    elif "status" in fields:
        out["isError"] = True
    else:
        out["status"] = "error"


def name_result(d: IContent, result: ToolResult, w: ContentWriting) -> dict[str, Json]:
    """The call a result replies, and the tool: the type demands its name."""
    call_id = result.call_id if result.call_id is not None else w.result_id(result)
    name = result.name or w.tools.get(result.call_id, "")
    return {"type": "tool_response", "callId": to_history(call_id), "toolName": name}


def sort_result_content(
    d: IContent, content: Sequence[Block], w: ContentWriting
) -> tuple[list[Text], list[Json], list[Json]]:
    """Texts, which are the result, and media, which stand before and after it."""
    texts: list[Text] = []
    before: list[Json] = []
    media: list[Json] = []
    for block in content:
        if isinstance(block, Text):
            d.lose(block.extras, block.at, w.log)
            if not texts:
                before, media = media, before
            else:
                d.join_text(block.at, w.log)
                if media:
                    w.log.approximated(
                        "content.order", block.at, f"images follow the text in {d.name}"
                    )
            texts.append(block)
        else:
            media += write_block(d, block, w)
    return texts, before, media


def own_result_content(
    d: IContent, content: Sequence[Block], w: ContentWriting
) -> tuple[list[Text], list[Json], list[Json]]:
    """The same for what was read here: the first plain text is the result, the rest are blocks."""
    for index, block in enumerate(content):
        if is_plain_text(block):
            before, after = content[:index], content[index + 1 :]
            return [block], write_blocks(d, before, w), write_blocks(d, after, w)
    return [], [], write_blocks(d, content, w)


def read_result_content(doc: dict[str, Json], at: str, taken: set[str]) -> tuple[Block, ...]:
    """What a tool answered, as text. Where it failed without a reply, the error is it;
    where it did both, the error is a field of this dialect's own."""
    text, error = doc.get("result"), doc.get("error")
    if text.__class__ is dict and text.keys() == {"output"} and isinstance(text["output"], str):
        text = text["output"]  # which is what llxprt shows the model
    elif text is not None and text.__class__ is not str:
        text = compact(text)
    if error is not None and (not text or error in (text, "", ERROR)):
        taken.add("error")
        if error == ERROR and not text:
            return ()
        if error and not text:
            return (Text(error, at=f"{at}/error"),)
    return () if text is None else (Text(text, at=f"{at}/result"),)


def read_media(d: IContent, doc: dict[str, Json], at: str) -> Block:
    data, claimed = need_str(doc, "data", at), maybe_str(doc, "mimeType", at)
    encoding = maybe_str(doc, "encoding", at)
    if encoding not in (None, "url", "base64"):
        return Raw(d.name, doc, at=at)
    source = read_data(data, encoding, claimed)
    return Media(
        kind_of(claimed or source.media_type),
        source,
        filename=maybe_str(doc, "filename", at),
        at=at,
        extras=d.keep(doc, MEDIA_KEYS),
    )


def write_media(d: IContent, block: Media, w: ContentWriting) -> Json:
    return emit(d, d.write_image_or_file(block), block, w.log)


def write_image_or_file(d: IContent, block: Media) -> dict[str, Json]:
    source = block.source
    out: dict[str, Json] = {
        "type": "media",
        "mimeType": source.media_type or f"{block.kind}/*",
        "data": source.value,
        "encoding": source.kind,
    }
    if block.filename is not None:
        out["filename"] = block.filename
    return out


def read_image(d: IContent, doc: dict[str, Json], at: str) -> Block:
    """An image as the design has it: an address, a data URL or bare base64."""
    source = read_data(need_str(doc, "data", at), None, maybe_str(doc, "mimeType", at))
    extras = d.keep(doc, ("type", "data", "mimeType"))
    return Media("image", source, at=at, extras=extras)


def read_thinking(d: IContent, doc: dict[str, Json], at: str, metadata: dict[str, Json]) -> Block:
    reasoning = maybe_str(doc, "thought", at)
    data, encrypted = maybe_str(doc, "signature", at), maybe_str(doc, "encryptedContent", at)
    field = maybe_str(doc, "sourceField", at)
    taken = THINKING_KEYS
    content: tuple[str, ...] = () if reasoning is None else (reasoning,)
    summary: tuple[str, ...] = ()
    signature = None
    if data:
        issuer = issuer_of(metadata, FIELDS.get(field or "", NOBODY))
        redacted = reasoning == REDACTED and field == "thinking"
        signature = Signature(data, issuer, "encrypted" if redacted else "signature")
        content = () if redacted else content
    if encrypted == "" or signature is None:
        taken |= {"encryptedContent"}
    if encrypted and signature is None:
        # What OpenAI tells of a signed reasoning block is its summary.
        content, summary = (), content if reasoning else ()
        signature = Signature(encrypted, issuer_of(metadata, "openai"), "encrypted")
    return Reasoning(content, summary, signature, at=at, extras=d.keep(doc, taken))


def write_reasoning(d: IContent, block: Reasoning, w: ContentWriting) -> Json:
    signature = block.signature
    out: dict[str, Json] = {"type": "thinking", "thought": joined(block.words)}
    if signature is None:
        pass
    elif signature.kind == "signature":
        if (field := SIGNED.get((signer(signature), signature.kind))) is not None:
            out["sourceField"] = field
        out["signature"] = signature.data
    elif signature.issuer == "anthropic" and not out["thought"]:
        out |= {"thought": REDACTED, "sourceField": "thinking", "signature": signature.data}
    else:
        out["encryptedContent"] = signature.data
    return emit(d, out, block, w.log)


def read_code(d: IContent, doc: dict[str, Json], at: str) -> Block:
    """Code is text in a fence; that it is code only this dialect knows."""
    code, language = need_str(doc, "code", at), maybe_str(doc, "language", at)
    fence = "```"
    while fence in code:
        fence += "`"
    text = f"{fence}{language or ''}\n{code}\n{fence}"
    extras = d.keep(doc, ("type",))
    return Text(text, at=at, extras=extras)


def emit(d: IContent, out: dict[str, Json], node: Node, log: Ledger) -> dict[str, Json]:
    """What the variant knows is written here as well, unless it is written otherwise already."""
    extras = node.extras
    if extras is None or extras.dialect == d.name or not d.knows(extras.dialect):
        return Dialect.emit(d, out, node, log)
    fields: dict[str, Json] = {}
    for key, value in extras.fields.items():
        own = out.get(key)
        if own.__class__ is dict and value.__class__ is dict:
            for name in own.keys() & value.keys():
                log.dropped(
                    "extras",
                    f"{node.at}/{key}/{escape(name)}",
                    f"{d.name} has another value in this field",
                )
            fields[key] = {name: v for name, v in value.items() if name not in own}
        elif key in out:
            log.dropped(
                "extras", f"{node.at}/{escape(key)}", f"{d.name} has another value in this field"
            )
        else:
            fields[key] = value
    return Dialect.emit(d, out, replace(node, extras=replace(extras, fields=fields)), log)


def has_response(blocks: list[Json]) -> bool:
    """Whether a tool says what a tool says: ``hasToolResponseBlocks``."""
    return any(b.__class__ is dict and b.get("type") == "tool_response" for b in blocks)


def read_data(data: str, encoding: str | None, claimed: str | None) -> Source:
    """Where the bytes are, whatever the block says of it: an address, a data URL, bare base64."""
    claimed = None if is_wildcard(claimed) else claimed
    if (found := split_data_uri(data)) is not None:
        media_type, data = found
        if claimed is None and not is_wildcard(media_type):
            claimed = media_type
    elif encoding == "url" or (encoding is None and "://" in data[:16]):
        return Source("url", data, claimed)
    return Source("base64", data, claimed or sniff(data))


def is_wildcard(media_type: str | None) -> bool:
    """Whether a media type says no more than the kind: ``image/*``."""
    return not media_type or media_type.endswith("/*")


def issuer_of(metadata: dict[str, Json], field: str) -> str:
    """Who signed reasoning: the provider that is named, else whoever has such a field.

    A compatible server elsewhere has its own signatures, which the vendor would reject.
    """
    provider, base = metadata.get("provider"), metadata.get("providerBaseURL")
    if isinstance(base, str) and base and not is_vendor(base):
        return f"{NOBODY}:{host_of(base)}"
    if isinstance(provider, str) and provider:
        return PROVIDERS.get(provider.lower(), f"{NOBODY}:{provider}")
    return field


def host_of(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].partition(":")[0].lower()


def is_vendor(url: str) -> bool:
    host = host_of(url)
    return any(host == own or host.endswith(f".{own}") for own in HOSTS)
