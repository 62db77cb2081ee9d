"""The model's reasoning as OpenRouter says them, both ways.

``reasoning_details`` lists them part by part: a text, perhaps signed; a summary; or what is
encrypted. Its ``format`` tells whose the signature is. Summaries and the encrypted part after them
are one reasoning block of those APIs that sign reasoning so; any other part is reasoning by
itself. But what Google encrypted is the signature of a call, which its ``id`` names, or of the
text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.reading import as_dict
from ...core.signers import signer
from ...core.writing import Writing
from ...model import Block, Extras, Json, Message, Raw, Reasoning, Signature, Text, ToolCall
from ..openai_chat import assistant as chat_assistant
from ..openai_chat.parts import place_of
from ..openai_chat.signing import ISSUER, unsigned
from ..openai_chat.variant import without_fields

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
DETAILS = "reasoning_details"


def read_assistant(d: OpenRouter, doc: dict[str, Json], at: str) -> Message:
    details = doc.get(DETAILS)
    if details.__class__ is not list or not details:
        return chat_assistant.read_assistant(d, doc, at)
    rest = {k: v for k, v in doc.items() if k != DETAILS}
    words = words_of(details)
    given = rest.pop("reasoning", None) if words else None
    message = chat_assistant.read_assistant(d, rest, at)
    if given is not None and given != words:
        extras = message.extras or Extras(d.name)
        message = replace(
            message, extras=replace(extras, fields={**extras.fields, "reasoning": given})
        )
    content = list(message.content)
    taken = read_signatures(details, content)
    blocks = read_details(d, details, f"{at}/{DETAILS}", taken)
    return replace(message, content=(*blocks, *content))


def write_assistant(d: OpenRouter, message: Message, w: Writing) -> Json | None:
    extras = message.extras
    if extras is not None and extras.fields.get(DETAILS) == [] and not w.same:
        message = without_fields(message, DETAILS)  # it says nothing
    signed = [b for b in message.content if is_signed(b, message.content)]
    doc = chat_assistant.write_assistant(d, without_details(message) if signed else message, w)
    if doc is None:
        for block in signed:
            d.lose(block.extras, block.at, w.log)
        return None
    details = doc.get(DETAILS)
    if details.__class__ is list and details:
        if w.reply and (words := words_of(details)):
            doc.setdefault("reasoning", words)
        if not w.same:
            note_boundaries(d, message, details, w)
    if signed:
        write_signatures(doc, message)
    return doc


def without_details(message: Message) -> Message:
    content = (
        unsigned(block)
        if isinstance(block, Text | ToolCall) and is_signed(block, message.content)
        else block
        for block in message.content
    )
    return replace(message, content=tuple(content))


def read_signatures(details: list[Json], content: list[Block]) -> set[int]:
    """Google's signatures go to what they sign; which entries of the list these were."""
    taken: set[int] = set()
    for index, doc in enumerate(details):
        place = signs(doc, content) if is_signature(doc) else None
        if place is not None:
            content[place] = sign(content[place], doc["data"])
            taken.add(index)
    return taken


def sign(block: Block, data: str) -> Block:
    extras = block.extras or Extras("openrouter")
    return replace(block, extras=replace(extras, signature=Signature(data, ISSUER)))


def write_signatures(doc: dict[str, Json], message: Message) -> None:
    """Google's signatures, at the end of the list; a text's comes last.

    Only the last text can be signed, and in a stream nobody knows before its end which that is.
    """
    details = doc.setdefault(DETAILS, [])
    known = doc.get("tool_calls")
    calls = [call.get("id") for call in known] if known.__class__ is list else []
    late: list[Block] = []
    for block in message.content:
        call_id = calls.pop(0) if isinstance(block, ToolCall) and calls else None
        if not is_signed(block, message.content):
            continue
        if isinstance(block, Text):
            late.append(block)
        else:
            details.append(signature(block, call_id, len(details)))
    for block in late:
        details.append(signature(block, None, len(details)))


def signature(block: Block, call_id: str | None, index: int) -> dict[str, Json]:
    """The entry that signs a call, or the text."""
    assert block.extras is not None
    assert block.extras.signature is not None
    entry: dict[str, Json] = {"type": ENCRYPTED, "data": block.extras.signature.data}
    entry |= {"format": FORMATS[ISSUER], "index": index}
    return entry if call_id is None else entry | {"id": call_id}


def note_boundaries(d: OpenRouter, message: Message, details: list[Json], w: Writing) -> None:
    again = read_details(d, details, "")
    meant = [b for b in message.content if isinstance(b, Reasoning) and is_sayable(b)]
    if [says(b) for b in again if isinstance(b, Reasoning)] != [says(b) for b in meant]:
        why = f"{d.name} has one text per reasoning block and joins consecutive summaries"
        w.log.approximated("text.boundary", meant[0].at if meant else message.at, why)


def write_beside(d: OpenRouter, doc: dict[str, Json], block: Block, w: Writing) -> None:
    if isinstance(block, Raw) and place_of(d, block) == DETAILS:
        doc.setdefault(DETAILS, []).append(block.payload)
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
        if summaries and not are_one(summaries[-1], doc):
            out.append(read_reasoning(d, summaries, start))
            summaries = []
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
    """The entries of reasoning; those that were read here keep their format."""
    signature = block.signature
    form = format_of(d, block, signature)
    content = block.content if not block.summary or block.words is block.content else ()
    out: list[dict[str, Json]] = [{"type": TEXT, "text": text} for text in content]
    out += [{"type": SUMMARY, "summary": text} for text in block.summary]
    if signature is not None and signature.kind == "encrypted":
        out.append({"type": ENCRYPTED, "data": signature.data})
    elif signature is not None:
        if not content:
            out.append({"type": TEXT})
        next(doc for doc in reversed(out) if doc["type"] == TEXT)["signature"] = signature.data
    elif w.same and not out:
        out.append({"type": TEXT})
    for index, doc in enumerate(out, count):
        doc |= {"format": form, "index": index}
    if block.id is not None and form in ITEMS and out:
        out[-1]["id"] = block.id
    elif block.id is not None:
        w.log.dropped("reasoning.id", block.at, f"only encrypted reasoning has an id in {d.name}")
    if w.same:
        d.emit(out[-1], block, w.log)
    else:
        d.lose(block.extras, block.at, w.log)
    return out


def format_of(d: OpenRouter, block: Reasoning, signature: Signature | None) -> str:
    """Whose reasoning it is, as far as that is known."""
    form: str = d.spelling(block).get("format", UNKNOWN)
    return form if signature is None else FORMATS.get(signer(signature), form)


def read_detail(d: OpenRouter, doc: dict[str, Json], at: str) -> Block:
    if str(doc.get("type")) in (TEXT, SUMMARY, ENCRYPTED):
        return read_reasoning(d, [doc], at)
    return Raw(d.name, doc, at=at, extras=d.respell(None, place=DETAILS))


def read_reasoning(d: OpenRouter, docs: list[dict[str, Json]], at: str) -> Reasoning:
    words: dict[str, list[str]] = {TEXT: [], SUMMARY: []}
    signature, item = None, None
    odd: dict[str, Json] = {}
    for doc in docs:
        kind = doc["type"]
        if is_stated(doc, WORD.get(kind)):
            words[kind].append(doc[WORD[kind]])
        if is_stated(doc, SIGNED.get(kind)):
            signature = read_signature(d, doc)
        if str(doc.get("format")) in ITEMS and doc.get("id").__class__ is str:
            item = doc["id"]
        elif doc.get("id").__class__ is str:
            odd["id"] = doc["id"]  # nobody else's reasoning has such an id
        known = COMMON | {WORD.get(kind), SIGNED.get(kind)}
        odd |= {k: v for k, v in doc.items() if k not in known and v is not None}
    last = docs[-1]
    form = UNKNOWN if is_signature(last) else last.get("format")  # else it would sign something
    extras = Extras(d.name, odd, spelling={"format": form} if form.__class__ is str else {})
    texts, summaries = tuple(words[TEXT]), tuple(words[SUMMARY])
    return Reasoning(texts, summaries, signature, item, at=at, extras=extras)


def write_reasoning(d: OpenRouter, doc: dict[str, Json], block: Reasoning, w: Writing) -> None:
    if place_of(d, block) is not None:
        return chat_assistant.write_reasoning(d, doc, block, w)
    written = doc.get(DETAILS, [])
    written += write_details(d, block, len(written), w)
    if written:
        doc[DETAILS] = written
    return None


def read_signature(d: OpenRouter, doc: dict[str, Json]) -> Signature:
    issuer = ISSUERS.get(str(doc.get("format")), d.issuer)
    if doc["type"] == TEXT:
        return Signature(doc["signature"], issuer)
    if issuer == ISSUER:
        issuer = d.issuer  # it signs nothing that is here
    return Signature(doc["data"], issuer, "encrypted")


def is_stated(doc: dict[str, Json], key: str | None) -> bool:
    """Whether an entry says something under a key; an empty signature says nothing."""
    value = doc.get(key) if key is not None else None
    return value.__class__ is str and (bool(value) or key not in SIGNED.values())


def is_signature(doc: Json) -> bool:
    """Whether an entry is what Google signed of a call or of a text."""
    if doc.__class__ is not dict or doc.get("type") != ENCRYPTED:
        return False
    return (
        doc.get("format") == FORMATS[ISSUER] and is_stated(doc, "data") and has_only(doc, SIGNATURE)
    )


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
    """Whether Google signed a block, and in a place that can be expressed here."""
    signature = None if block.extras is None else block.extras.signature
    if signature is None or signature.issuer != ISSUER:
        return False
    if isinstance(block, Text):
        return block is [b for b in content if isinstance(b, Text)][-1]
    return isinstance(block, ToolCall)


def is_summary(doc: dict[str, Json]) -> bool:
    return doc.get("type") == SUMMARY and has_only(doc, COMMON | {"summary"})


def are_one(doc: dict[str, Json], other: dict[str, Json]) -> bool:
    """Whether two entries may be of one item: ids tell items apart."""
    one, two = doc.get("id"), other.get("id")
    return one is None or two is None or one == two


def is_item_signature(doc: dict[str, Json]) -> bool:
    """Whether an entry is the encrypted part of an item, to which summaries may belong."""
    known = doc.get("type") == ENCRYPTED and str(doc.get("format")) in ITEMS
    return known and is_stated(doc, "data") and has_only(doc, SIGNATURE)


def has_only(doc: dict[str, Json], keys: frozenset[str]) -> bool:
    """Whether an entry says nothing under other keys."""
    return all(key in keys or value is None for key, value in doc.items())


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
    written = (d.get(WORD.get(str(d.get("type")), "")) for d in details if d.__class__ is dict)
    return "".join(text for text in written if text.__class__ is str)
