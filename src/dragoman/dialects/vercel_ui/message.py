"""A reply as a UI message of the AI SDK, both ways."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import NoneType
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from ...core import heads
from ...core.counts import Counts
from ...core.media import kind_of
from ...core.reading import (
    as_dict,
    as_str,
    compact,
    maybe_dict,
    maybe_str,
    need_list,
    need_str,
    parse,
    sole,
)
from ...core.writing import Writing, data_uri, joined, object_of, split_data_uri
from ...errors import Malformed
from ...ledger import Ledger
from ...lint.evidence import PARTS, is_list_of_objects, objects
from ...model import (
    Block,
    Candidate,
    Citation,
    Extras,
    Failure,
    Hosted,
    Json,
    Media,
    Message,
    Raw,
    Reasoning,
    Response,
    Signature,
    Source,
    Stop,
    Text,
    ToolCall,
    ToolKind,
    Usage,
)
from .._ai_sdk import COUNTED, SIGNATURE, SIGNATURES, SIGNER, STOPS, signature_in

if TYPE_CHECKING:
    from . import VercelUI


NOW = frozenset(STOPS.meanings) - {"unknown", "interrupted"}
"""the stop reasons that the end of a stream may have; some versions have more"""
METADATA, CALL_METADATA = "providerMetadata", "callProviderMetadata"
# What files are taken for when nobody says, and their first bytes do not tell.
USUAL_TYPES = {
    "image": "image/png",
    "audio": "audio/wav",
    "video": "video/mp4",
    "document": "application/octet-stream",
}
COUNTS = Counts(COUNTED)
TEXT_KEYS = ("type", "text", "state")
TOOL_KEYS = ("type", "toolName", "toolCallId", "state", "input")
UNFINISHED = "input-streaming"
TOOL_FIELDS = ("title", "providerExecuted", "toolMetadata")
OUTCOME = ("output", "errorText", "preliminary")
# what a request for approval says -> what the part calls it
APPROVAL = {
    "approvalId": "id",
    "approvalDescriptor": "descriptor",
    "inputSchemaInput": "inputSchemaInput",
    "reason": "requestReason",
    "isAutomatic": "isAutomatic",
    "signature": "signature",
}
KINDS = frozenset(
    {"text", "reasoning", "dynamic-tool", "file", "source-url", "source-document", "step-start"}
)
ROLES = ("system", "user", "assistant")
Signed = TypeVar("Signed", Text, ToolCall, Media)
IDS = (r"[\s\S]", 512)
NAMES = (r"[\s\S]", 256)


def read_response(d: VercelUI, doc: Json) -> Response:
    doc = as_dict(doc, "")
    if "parts" not in doc and doc.get("type") == "error":
        return Response(None, None, (), failure=read_error(d, doc), dialect=d.name)
    blocks = read_parts(d, need_list(doc, "parts", ""), "/parts")
    meta = doc.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    model = meta.get("model") if isinstance(meta.get("model"), str) else None
    message = Message("assistant", tuple(blocks), at="/parts")
    usage = read_counts(d, meta.get("usage"))
    stop = read_stop(d, meta.get("finishReason"), message)
    about = {"model": model, "usage": usage, "finishReason": stop}
    known = tuple(key for key, value in about.items() if value is not None)
    taken = ("id", "role", "parts") if doc.get("role") == "assistant" else ("id", "parts")
    return Response(
        maybe_str(doc, "id", ""),
        model,
        (Candidate(message, stop, at=""),),
        usage,
        dialect=d.name,
        extras=d.keep(doc, taken, partly={"metadata": known} if known else {}),
    )


def write_response(d: VercelUI, tree: Response, log: Ledger) -> Json:
    w = writing(d, log, tree.dialect)
    candidate = tree.candidates[0] if tree.candidates else Candidate(Message("assistant"))
    out: dict[str, Json] = {}
    heads.put_id(d, out, tree, w, "msg-1")
    out["role"] = "assistant"
    meta = write_metadata(d, tree, candidate, w)
    if meta:
        out["metadata"] = meta
    out["parts"] = write_parts(d, candidate.message.content, w)
    d.lose(candidate.extras, candidate.at, log)
    d.lose(candidate.message.extras, candidate.message.at, log)
    return d.emit(out, tree, log)


def write_metadata(
    d: VercelUI, tree: Response, candidate: Candidate, w: Writing
) -> dict[str, Json]:
    meta: dict[str, Json] = {}
    if tree.model is not None:
        meta["model"] = tree.model
    if (word := d.stop_word(candidate, w)) is not None:
        meta["finishReason"] = word
    if tree.usage is not None:
        meta["usage"] = d.write_usage(tree.usage, w)
    return meta


def read_stop(d: VercelUI, word: Json, message: Message) -> Stop | None:
    return d.stop_of(word, message) if word.__class__ is str and word in STOPS else None


def read_counts(d: VercelUI, doc: Json) -> Usage | None:
    """Counts in the form of the SDK; any other is the application's own."""
    if not isinstance(doc, dict) or not doc.keys() <= COUNTS.rows.keys():
        return None
    usage = d.read_usage(doc, "/metadata/usage")
    if usage.unsaid or usage.input_total != doc["inputTokens"]:
        return None
    return usage if usage.output_total == doc["outputTokens"] else None


def read_parts(d: VercelUI, docs: list[Json], at: str) -> list[Block]:
    out: list[Block] = []
    steps = 0
    for index, doc in enumerate(docs):
        where = f"{at}/{index}"
        doc = as_dict(doc, where)
        kind = need_str(doc, "type", where)
        if kind == "step-start" and sole(doc):
            steps += 1
            continue
        if kind == "source-url" and not steps and out and isinstance(text := out[-1], Text):
            if (cite := read_source(d, doc, where)) is not None:
                out[-1] = replace(text, citations=(*text.citations, cite))
                continue
        block = read_part(d, doc, kind, where)
        if steps:
            block = replace(block, extras=d.respell(block.extras, steps=steps))
            steps = 0
        out.append(block)
    if steps:
        last = Raw(d.name, {"type": "step-start"}, at=at)
        out.append(replace(last, extras=d.respell(None, steps=steps - 1)))
    return out


def write_parts(d: VercelUI, blocks: Sequence[Block], w: Writing) -> list[Json]:
    out: list[Json] = []
    for block in blocks:
        out += [{"type": "step-start"}] * d.spelling(block).get("steps", 0)
        out += write_part(d, block, w)
    # One call of the model is one step, and a step begins with its mark.
    return [{"type": "step-start"}, *out] if out and not w.same else out


def read_part(d: VercelUI, doc: dict[str, Json], kind: str, at: str) -> Block:
    if kind == "text":
        extras = keep_signed(d, doc, TEXT_KEYS, METADATA, note_state(doc, "done"))
        return Text(need_str(doc, "text", at), at=at, extras=extras)
    if kind == "reasoning":
        return read_reasoning(d, doc, at)
    if kind.startswith("tool-") or kind == "dynamic-tool":
        return read_tool(d, doc, kind, at)
    if kind == "file":
        return read_file(d, doc, at)
    return Raw(d.name, doc, at=at)


def keep_signed(
    d: VercelUI,
    doc: dict[str, Json],
    taken: Iterable[str],
    key: str,
    notes: dict[str, Json] | None = None,
) -> Extras | None:
    """``keep`` for a part that Google may have signed, with its metadata under a key."""
    found = signature_in(doc.get(key))
    if found is None:
        return d.keep(doc, taken, notes)
    name, signature = found
    extras = d.keep(doc, taken, notes, partly={key: (name,)})
    return replace(extras or Extras(d.name), signature=Signature(signature, SIGNER))


def note_state(doc: dict[str, Json], usual: str) -> dict[str, Json]:
    """How far a part has come, if not as far as usual: no other dialect knows of it."""
    return {} if doc.get("state") in (None, usual) else {"state": doc["state"]}


def write_part(d: VercelUI, block: Block, w: Writing) -> Iterable[Json]:
    match block:
        case Text():
            return write_text(d, block, w)
        case Reasoning():
            return (write_reasoning(d, block, w),)
        case ToolCall():
            return (write_tool(d, block, w),)
        case Media():
            return write_file(d, block, w)
        case Raw() | Hosted() if d.is_same(block.dialect):
            return (block.payload,)
        case _:
            d.omit(block, w.log)
    return ()


def write_text(d: VercelUI, block: Text, w: Writing) -> list[Json]:
    out: dict[str, Json] = {"type": "text", "text": block.text}
    write_state(d, out, block, "done")
    docs: list[Json] = [d.emit(out, sign(out, block, METADATA), w.log)]
    cited = enumerate(block.citations, 1)
    return docs + [write_source(d, cite, f"{number}", w) for number, cite in cited]


def write_state(d: VercelUI, out: dict[str, Json], block: Block, usual: str) -> None:
    out["state"] = d.spelling(block).get("state", usual)


def read_reasoning(d: VercelUI, doc: dict[str, Json], at: str) -> Block:
    meta = maybe_dict(doc, METADATA, at) or {}
    signature: Signature | None = None
    partly: dict[str, tuple[str, ...]] = {}
    if (found := signature_in(meta)) is not None:
        signature, partly[METADATA] = Signature(found[1], SIGNER), (found[0],)
    for issuer, kinds in SIGNATURES.items():
        stated = meta.get(issuer)
        for kind, key in kinds.items():
            if isinstance(stated, dict) and isinstance(stated.get(key), str) and sole(stated):
                signature = Signature(stated[key], issuer, kind)  # type: ignore[arg-type]
                partly[METADATA] = (issuer,)
    # Its id is what the stream called it, which nobody needs again.
    extras = d.keep(doc, (*TEXT_KEYS, "id"), note_state(doc, "done"), partly=partly)
    return Reasoning((need_str(doc, "text", at),), signature=signature, at=at, extras=extras)


def write_reasoning(d: VercelUI, block: Reasoning, w: Writing) -> Json:
    out: dict[str, Json] = {"type": "reasoning", "text": joined(block.content)}
    write_state(d, out, block, "done")
    if (meta := write_signature(block)) is not None:
        out[METADATA] = meta
    return d.emit(out, block, w.log)


def write_signature(block: Reasoning) -> Json | None:
    signature = block.signature
    key = None if signature is None else SIGNATURES.get(signature.issuer, {}).get(signature.kind)
    return None if signature is None or key is None else {signature.issuer: {key: signature.data}}


def sign(out: dict[str, Json], block: Signed, key: str) -> Signed:
    """Say how Google signed a part; the part without its signature."""
    extras = block.extras
    if extras is None or (signature := extras.signature) is None or signature.issuer != SIGNER:
        return block
    out[key] = {SIGNER: {SIGNATURE: signature.data}}
    return replace(block, extras=replace(extras, signature=None))


def read_tool(d: VercelUI, doc: dict[str, Json], kind: str, at: str) -> Block:
    dynamic = kind == "dynamic-tool"
    name = need_str(doc, "toolName", at) if dynamic else kind.removeprefix("tool-")
    call_id = need_str(doc, "toolCallId", at)
    if doc.get("providerExecuted") is True:  # nobody else's to run
        phase = "both" if str(doc.get("state")).startswith("output-") else "call"
        return Hosted(d.name, name, doc, phase, id=call_id, at=at)  # type: ignore[arg-type]
    given, raw, state = doc.get("input"), doc.get("rawInput"), doc.get("state")
    text: str = given if isinstance(given, str) else "{}" if given is None else compact(given)
    custom = given.__class__ is str
    taken = TOOL_KEYS if dynamic else tuple(k for k in TOOL_KEYS if k != "toolName")
    notes = note_state(doc, "input-available")
    if dynamic:
        notes["dynamic"] = True
    # What the model wrote may be no input, or not yet; then the input is only a guess at it.
    if (state == UNFINISHED and raw.__class__ is str) or (
        state == "output-error" and raw is not None
    ):
        text = raw if isinstance(raw, str) else compact(raw)
        custom = state == UNFINISHED and doc.get("inputEncoding") == "text"
        guessed = given is not None and state == UNFINISHED
        notes |= {"raw": True, "guess": given} if guessed else {"raw": True}
        taken = (*taken, "rawInput")
        if given is not None and state != UNFINISHED:
            taken = tuple(key for key in taken if key != "input")  # another one, which is kept
    sort: ToolKind = "custom" if custom else "function"
    extras = keep_signed(d, doc, taken, CALL_METADATA, notes)
    return ToolCall(call_id, name, text, sort, at=at, extras=extras)


def input_of(call: ToolCall, w: Writing) -> Json:
    """The arguments as an object; in the same dialect, whatever value they were."""
    if w.same:
        try:
            value = parse(call.arguments)
        except Malformed:
            return object_of(call, w.log)
        if value.__class__ not in (dict, str, NoneType):  # a text is freeform, null is no input
            return value
    return object_of(call, w.log)


def write_tool(d: VercelUI, call: ToolCall, w: Writing) -> Json:
    notes, name = d.spelling(call), call.name
    out: dict[str, Json] = {"type": f"tool-{name}"}
    if "dynamic" in notes:
        out = {"type": "dynamic-tool", "toolName": name}
    out["toolCallId"] = w.call_once(call)
    write_state(d, out, call, "input-available")
    if "raw" in notes:
        out["rawInput"] = call.arguments
        if "guess" in notes:
            out["input"] = notes["guess"]
    elif call.kind == "custom":
        out["input"] = call.arguments
    else:
        out["input"] = input_of(call, w)
    return d.emit(out, sign(out, call, CALL_METADATA), w.log)


def read_file(d: VercelUI, doc: dict[str, Json], at: str) -> Block:
    url, kind = need_str(doc, "url", at), need_str(doc, "mediaType", at)
    found = split_data_uri(url)
    source = Source("url", url, kind) if found is None else Source("base64", found[1], kind)
    extras = keep_signed(d, doc, ("type", "url", "mediaType", "filename"), METADATA)
    name = maybe_str(doc, "filename", at)
    return Media(kind_of(kind), source, filename=name, at=at, extras=extras)


def write_file(d: VercelUI, block: Media, w: Writing) -> Iterable[Json]:
    source = block.source
    kind = source.media_type or USUAL_TYPES[block.kind]
    url = data_uri(kind, source.value) if source.kind == "base64" else source.value
    out: dict[str, Json] = {"type": "file", "url": url, "mediaType": kind}
    if block.filename is not None:
        out["filename"] = block.filename
    return (d.emit(out, sign(out, block, METADATA), w.log),)


def guesses(d: VercelUI, doc: Json) -> Iterable[tuple[str, float, tuple[str, ...]]]:
    if (seen := guess_messages(doc)) is not None:
        yield seen
    if not isinstance(doc, dict):
        return
    parts = doc.get("parts")
    if isinstance(parts, list) and doc.get("role") == "assistant":
        kinds = [part.get("type") for part in parts if isinstance(part, dict)]
        words = [k for k in kinds if isinstance(k, str)]
        named = [k for k in words if k in KINDS or k.startswith(("tool-", "data-"))]
        if named and len(named) == len(parts):
            written = ", ".join(sorted(set(named))[:3])
            yield "response", 0.95, (f"'parts' of the AI SDK: {written}",)
    elif doc.get("type") == "error" and isinstance(doc.get("errorText"), str):
        yield "error", 0.95, ("'errorText'",)


def guess_messages(doc: Json) -> tuple[str, float, tuple[str, ...]] | None:
    """A list of messages with parts, each with a type of the SDK's."""
    messages = doc.get("messages") if doc.__class__ is dict else doc
    if not is_list_of_objects(messages):
        return None
    named = 0
    for message in objects(messages):
        parts = message.get("parts")
        if parts.__class__ is not list or message.get("role") not in ROLES:
            return None
        for part in parts[:PARTS]:
            kind = part.get("type") if part.__class__ is dict else None
            if kind.__class__ is not str or (kind in ("text", "reasoning") and "text" not in part):
                return None
            named += kind in KINDS or kind.startswith(("tool-", "data-"))
    return ("messages", 0.96, ("messages with 'parts' of the AI SDK",)) if named else None


def read_source(d: VercelUI, doc: dict[str, Json], at: str) -> Citation | None:
    url, number = doc.get("url"), doc.get("sourceId")
    if not isinstance(url, str) or not isinstance(number, str):
        return None
    extras = d.keep(doc, ("type", "url", "title", "sourceId"), {"sourceId": number})
    return Citation("url", url, maybe_str(doc, "title", at), at=at, extras=extras)


def writing(d: VercelUI, log: Ledger, dialect: str | None) -> Writing:
    return Writing(log, IDS, NAMES, d.is_same(dialect), reply=True)


def write_source(d: VercelUI, cite: Citation, number: str, w: Writing) -> Json:
    spelled = d.spelling(cite).get("sourceId")
    out: dict[str, Json] = {"type": "source-url", "sourceId": spelled or f"source-{number}"}
    out["url"] = cite.url
    if cite.title is not None:
        out["title"] = cite.title
    return d.emit(out, cite, w.log)


def read_error(d: VercelUI, doc: Json) -> Failure:
    doc = as_dict(doc, "")
    taken = ("type", "errorText") if doc.get("type") == "error" else ("errorText",)
    text = as_str(doc.get("errorText"), "/errorText")
    return Failure("other", text, dialect=d.name, extras=d.keep(doc, taken))


def write_error(d: VercelUI, tree: Failure, log: Ledger) -> Json:
    if not d.is_same(tree.dialect):
        if tree.kind != "other" or tree.type is not None:
            d.lack("error.type", tree.at, log)
        d.note_error(tree, log)
    return d.emit({"type": "error", "errorText": tree.message}, tree, log)
