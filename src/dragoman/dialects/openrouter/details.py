"""The model's reasoning as OpenRouter says them, both ways.

``reasoning_details`` lists them part by part: a text, perhaps signed; a summary; or what is
encrypted. Its ``format`` tells whose the signature is. Summaries and the encrypted part after them
are one reasoning block of those APIs that sign reasoning so; any other part is reasoning by
itself. But what Google encrypted is the signature of a call, which its ``id`` names, or of the
text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ...core.reading import as_dict
from ...core.signers import signer
from ...core.writing import Writing
from ...model import Block, Extras, Json, Message, Raw, Reasoning, Signature, Text, ToolCall
from ..openai_chat import assistant as chat_assistant
from ..openai_chat.signing import ISSUER, unsigned

if TYPE_CHECKING:
    from . import OpenRouter


TEXT, SUMMARY, ENCRYPTED = "reasoning.text", "reasoning.summary", "reasoning.encrypted"
WORD = {TEXT: "text", SUMMARY: "summary"}
SIGNED = {TEXT: "signature", ENCRYPTED: "data"}
COMMON = frozenset({"type", "format", "index", "id"})
SIGNATURE = COMMON | {"data"}
# https://openrouter.ai/docs/use-cases/reasoning-tokens#reasoning_details-api-reference
ISSUERS = {
    "anthropic-claude-v1": "anthropic",
    "openai-responses-v1": "openai",
    "azure-openai-responses-v1": "azure-openai",
    "xai-responses-v1": "xai",
    "google-gemini-v1": "google",
}
FORMATS = {issuer: name for name, issuer in ISSUERS.items()}
# @openrouter/sdk 1.3.19 (npm), models/reasoningformat.d.ts
ITEMS = frozenset(
    {
        "openai-responses-v1", "azure-openai-responses-v1", "xai-responses-v1",
        "bedrock-openai-responses-v1", "bedrock-xai-responses-v1", "meta-responses-v1",
    }
)  # fmt: skip
"""Formats in which reasoning is an item, with an id, summaries and an encrypted part."""
UNKNOWN = "unknown"
OTHERWISE = frozenset({"key", "blocks", "part"})
"""How reasoning is spelled that stands elsewhere than in the list."""


class OpenRouterPart(NamedTuple):
    """One entry of the list: what was taken of it, and the rest."""

    taken: tuple[str, ...]
    rest: dict[str, Json]


def read_assistant(d: OpenRouter, doc: dict[str, Json], at: str) -> Message:
    details = doc.get("reasoning_details")
    if details.__class__ is not list or not details:
        return chat_assistant.read_assistant(d, doc, at)
    rest = {k: v for k, v in doc.items() if k != "reasoning_details"}
    said, words = doc.get("reasoning"), words_of(details)
    spelling: dict[str, Json] = {}
    odd: dict[str, Json] = {}
    if words and said is not None:
        del rest["reasoning"]
        if said == words:
            spelling["reasoning"] = True
        else:
            odd["reasoning"] = said
    message = chat_assistant.read_assistant(d, rest, at)
    extras = d.respell(message.extras, **spelling)
    extras = replace(extras, fields=extras.fields | odd)
    content = list(message.content)
    taken = read_signatures(d, details, content)
    blocks = read_details(d, details, f"{at}/reasoning_details", taken)
    return replace(message, content=(*blocks, *content), extras=extras)


def write_assistant(d: OpenRouter, message: Message, w: Writing) -> Json | None:
    extras = message.extras
    if extras is not None and extras.fields.get("reasoning_details") == [] and not w.home:
        rest = {key: value for key, value in extras.fields.items() if key != "reasoning_details"}
        message = replace(message, extras=replace(extras, fields=rest))  # it says nothing
    signed = [b for b in message.content if is_signed(b, message.content)]
    doc = chat_assistant.write_assistant(d, without_details(message) if signed else message, w)
    if doc is None:
        for block in signed:
            d.lose(block.extras, block.at, w.log)
        return None
    if details := doc.get("reasoning_details"):
        if d.spelling(message).get("reasoning") or (w.answer and not w.home):
            if words := words_of(details):
                doc["reasoning"] = words
        if not w.home:
            note_boundaries(d, message, details, w)
    if signed:
        write_signatures(d, doc, message)
    return doc


def without_details(message: Message) -> Message:
    content = (
        unsigned(block, "detail")
        if isinstance(block, Text | ToolCall) and is_signed(block, message.content)
        else block
        for block in message.content
    )
    return replace(message, content=tuple(content))


def read_signatures(d: OpenRouter, details: list[Json], content: list[Block]) -> set[int]:
    """Google's signatures go to what they sign; which entries of the list these were."""
    taken: set[int] = set()
    for index, doc in enumerate(details):
        place = signs(doc, content) if is_signature(doc) else None
        if place is not None:
            content[place] = sign(d, content[place], doc, index)
            taken.add(index)
    return taken


def sign(d: OpenRouter, block: Block, doc: dict[str, Json], index: int) -> Block:
    rest = {key: value for key, value in doc.items() if key != "data"}
    extras = d.respell(block.extras, detail=[index, rest])
    return replace(block, extras=replace(extras, signature=Signature(doc["data"], ISSUER)))


def write_signatures(d: OpenRouter, doc: dict[str, Json], message: Message) -> None:
    """Google's signatures, each in its place in the list, or at its end; a text's comes last.

    Only the last text can be signed, and in a stream nobody knows before its end which that is.
    """
    details = doc.setdefault("reasoning_details", [])
    known = doc.get("tool_calls")
    calls = [call.get("id") for call in known] if known.__class__ is list else []
    placed: list[tuple[int, Json]] = []
    late: list[Block] = []
    for block in message.content:
        call_id = calls.pop(0) if isinstance(block, ToolCall) and calls else None
        if not is_signed(block, message.content):
            continue
        spelled = d.spelling(block).get("detail")
        if spelled is None and isinstance(block, Text):
            late.append(block)
        elif spelled is None:
            details.append(signature(d, block, call_id, len(details)))
        else:
            placed.append((spelled[0], signature(d, block, None, 0)))
    for block in late:
        details.append(signature(d, block, None, len(details)))
    for index, entry in sorted(placed, key=lambda found: found[0]):
        details.insert(index, entry)


def signature(d: OpenRouter, block: Block, call_id: str | None, index: int) -> dict[str, Json]:
    """The entry that signs a call, or the text."""
    assert block.extras is not None
    assert block.extras.signature is not None
    spelled = d.spelling(block).get("detail")
    entry: dict[str, Json] = {"type": ENCRYPTED, "data": block.extras.signature.data}
    if spelled is not None:
        rest: dict[str, Json] = spelled[1]
        return entry | rest
    entry |= {"format": FORMATS[ISSUER], "index": index}
    return entry if call_id is None else entry | {"id": call_id}


def note_boundaries(d: OpenRouter, message: Message, details: list[Json], w: Writing) -> None:
    again = read_details(d, details, "")
    meant = [b for b in message.content if isinstance(b, Reasoning) and is_sayable(b)]
    if [says(b) for b in again if isinstance(b, Reasoning)] != [says(b) for b in meant]:
        why = f"{d.name} has one text per reasoning block and joins consecutive summaries"
        w.log.approximated("text.boundary", meant[0].at if meant else message.at, why)


def write_beside(d: OpenRouter, doc: dict[str, Json], block: Block, w: Writing) -> None:
    if isinstance(block, Raw) and d.spelling(block).get("place") == "details":
        doc.setdefault("reasoning_details", []).append(block.payload)
    else:
        chat_assistant.write_beside(d, doc, block, w)


def read_details(
    d: OpenRouter, docs: list[Json], at: str, taken: Collection[int] = frozenset()
) -> list[Block]:
    out: list[Block] = []
    summaries: list[dict[str, Json]] = []  # that may belong to what comes next
    start = ""
    for index, value in enumerate(docs):
        where = f"{at}/{index}"
        doc = as_dict(value, where)
        if index in taken:
            continue
        if not summaries:
            start = where
        if is_summary(doc):
            summaries.append(doc)
            continue
        if summaries and is_item_signature(doc):
            out.append(read_reasoning(d, [*summaries, doc], start))
        else:
            if summaries:
                out.append(read_reasoning(d, summaries, start))
            out.append(read_detail(d, doc, where))
        summaries = []
    if summaries:
        out.append(read_reasoning(d, summaries, start))
    return out


def write_details(d: OpenRouter, block: Reasoning, count: int, w: Writing) -> list[Json]:
    """Reasoning from elsewhere."""
    signature = block.signature
    form = UNKNOWN if signature is None else FORMATS[signer(signature)]
    content = block.content if not block.summary or block.words is block.content else ()
    out: list[dict[str, Json]] = [{"type": TEXT, "text": text} for text in content]
    out += [{"type": SUMMARY, "summary": text} for text in block.summary]
    if signature is not None and signature.kind == "encrypted":
        out.append({"type": ENCRYPTED, "data": signature.data})
    elif signature is not None:
        if not content:
            out.append({"type": TEXT})
        next(doc for doc in reversed(out) if doc["type"] == TEXT)["signature"] = signature.data
    for index, doc in enumerate(out, count):
        doc |= {"format": form, "index": index}
    if block.id is not None and form in ITEMS and out:
        out[-1]["id"] = block.id
    elif block.id is not None:
        w.log.dropped("reasoning.id", block.at, f"only encrypted reasoning has an id in {d.name}")
    return out


def read_detail(d: OpenRouter, doc: dict[str, Json], at: str) -> Block:
    if str(doc.get("type")) in (TEXT, SUMMARY, ENCRYPTED):
        return read_reasoning(d, [doc], at)
    return Raw(d.name, doc, at=at, extras=d.respell(None, place="details"))


def read_reasoning(d: OpenRouter, docs: list[dict[str, Json]], at: str) -> Reasoning:
    words: dict[str, list[str]] = {TEXT: [], SUMMARY: []}
    signature, item = None, None
    parts: list[Json] = []
    odd: dict[str, Json] = {}
    for doc in docs:
        kind = doc["type"]
        taken = [key for key in (WORD.get(kind), SIGNED.get(kind)) if is_said(doc, key)]
        if WORD.get(kind) in taken:
            words[kind].append(doc[WORD[kind]])
        if SIGNED.get(kind) in taken:
            signature = read_signature(d, doc)
        if str(doc.get("format")) in ITEMS and doc.get("id").__class__ is str:
            item = doc["id"]
        known = COMMON | {WORD.get(kind), SIGNED.get(kind)}
        odd |= {k: v for k, v in doc.items() if k not in known and v is not None}
        parts.append([taken, {k: v for k, v in doc.items() if k not in taken}])
    extras = Extras(d.name, odd, spelling={"details": parts})
    texts, summaries = tuple(words[TEXT]), tuple(words[SUMMARY])
    return Reasoning(texts, summaries, signature, item, at=at, extras=extras)


def write_reasoning(d: OpenRouter, doc: dict[str, Json], block: Reasoning, w: Writing) -> None:
    if not OTHERWISE.isdisjoint(d.spelling(block)):
        return chat_assistant.write_reasoning(d, doc, block, w)
    said = doc.get("reasoning_details", [])
    parts = parts_of(d, block)
    if parts is not None:
        said += filled(parts, block)
    else:
        said += write_details(d, block, len(said), w)
        d.lose(block.extras, block.at, w.log)
    if said:
        doc["reasoning_details"] = said
    return None


def parts_of(d: OpenRouter, block: Reasoning) -> list[OpenRouterPart] | None:
    """How reasoning was spelled here."""
    spelled = d.spelling(block).get("details")
    return None if spelled is None else [OpenRouterPart(tuple(t), rest) for t, rest in spelled]


def read_signature(d: OpenRouter, doc: dict[str, Json]) -> Signature:
    issuer = ISSUERS.get(str(doc.get("format")), d.issuer)
    if doc["type"] == TEXT:
        return Signature(doc["signature"], issuer)
    if issuer == ISSUER:
        issuer = d.issuer  # it signs nothing that is here
    return Signature(doc["data"], issuer, "encrypted")


def filled(parts: list[OpenRouterPart], block: Reasoning) -> list[Json]:
    """The entries of reasoning that was read here, with what it says now."""
    texts, summaries = list(block.content), list(block.summary)
    out: list[Json] = []
    for taken, rest in parts:
        doc = dict(rest)
        if "text" in taken and texts:
            doc["text"] = texts.pop(0)
        if "summary" in taken and summaries:
            doc["summary"] = summaries.pop(0)
        for key in ("signature", "data"):
            if key in taken and block.signature is not None:
                doc[key] = block.signature.data
        out.append(doc)
    return out


def is_said(doc: dict[str, Json], key: str | None) -> bool:
    """Whether an entry says something under a key; an empty signature says nothing."""
    value = doc.get(key) if key is not None else None
    return value.__class__ is str and (bool(value) or key not in SIGNED.values())


def is_signature(doc: Json) -> bool:
    """Whether an entry is what Google signed of a call or of a text."""
    if doc.__class__ is not dict or doc.get("type") != ENCRYPTED:
        return False
    return doc.get("format") == FORMATS[ISSUER] and is_said(doc, "data") and doc.keys() <= SIGNATURE


def signs(doc: dict[str, Json], content: Sequence[Block]) -> int | None:
    """The place of what an entry signs: the call that it names, or the last text."""
    call_id = doc.get("id")
    for index in range(len(content) - 1, -1, -1):
        block = content[index]
        if block.extras is not None and block.extras.signature is not None:
            continue
        if isinstance(block, ToolCall) and call_id is not None and block.id == call_id:
            return index
        if isinstance(block, Text) and call_id is None:
            return index
    return None


def is_signed(block: Block, content: Sequence[Block]) -> bool:
    """Whether Google signed a block, and in a place that can be said here."""
    signature = None if block.extras is None else block.extras.signature
    if signature is None or signature.issuer != ISSUER:
        return False
    if isinstance(block, Text):
        return block is [b for b in content if isinstance(b, Text)][-1]
    return isinstance(block, ToolCall)


def is_summary(doc: dict[str, Json]) -> bool:
    return doc.get("type") == SUMMARY and doc.keys() <= COMMON | {"summary"}


def is_item_signature(doc: dict[str, Json]) -> bool:
    """Whether an entry is the encrypted part of an item, to which summaries may belong."""
    known = doc.get("type") == ENCRYPTED and str(doc.get("format")) in ITEMS
    return known and is_said(doc, "data") and doc.keys() <= COMMON | {"data"}


def says(block: Reasoning) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The words of reasoning; None where it has none. A content without a word is left out."""
    if block.summary and block.words is not block.content:
        return (), block.summary
    return (block.content, block.summary) if block.content or block.summary else None


def is_sayable(block: Reasoning) -> bool:
    """Whether reasoning from elsewhere has words, or a signature that is known here."""
    return says(block) is not None or (
        block.signature is not None and signer(block.signature) in FORMATS
    )


def words_of(details: list[Json]) -> str:
    """What ``reasoning`` says beside the list: all that is readable of it."""
    said = (d.get(WORD.get(str(d.get("type")), "")) for d in details if d.__class__ is dict)
    return "".join(text for text in said if text.__class__ is str)
