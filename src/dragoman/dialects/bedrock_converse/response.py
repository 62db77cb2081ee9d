"""Answers and errors of Bedrock's Converse API, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.counts import ALL, OUTPUT, Counts
from ...core.reading import (
    as_dict,
    maybe_dict,
    maybe_str,
    need_dict,
    need_list,
)
from ...core.turns import note_error_type
from ...core.words import Stops
from ...core.writing import Writing
from ...ledger import Ledger
from ...model import (
    Block,
    Candidate,
    ErrorKind,
    Extras,
    Failure,
    Json,
    Message,
    Response,
    Text,
    ToolCall,
    Usage,
)
from . import turns
from .blocks import read_blocks, write_blocks, writing

if TYPE_CHECKING:
    from . import BedrockConverse


# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html, stopReason.
STOPS = Stops(
    {
        "end_turn": "end",
        "stop_sequence": "stop-sequence",
        "max_tokens": "length",
        "model_context_window_exceeded": "context",
        "tool_use": "tool-call",
        "content_filtered": "filter",
        "guardrail_intervened": "filter",
        "malformed_model_output": "error",
        "malformed_tool_use": "error",
    },
    rest="malformed_model_output",  # a reason is demanded; it must not look like success
    unended="max_tokens",
    calls=True,
)

# The same page, Errors, and CommonErrors.html beside it. The last of a kind is written.
ERRORS: dict[str, ErrorKind] = {
    "InvalidSignatureException": "authentication",
    "ExpiredTokenException": "authentication",
    "UnrecognizedClientException": "authentication",
    "AccessDeniedException": "permission",
    "ResourceNotFoundException": "not-found",
    "ConflictException": "conflict",
    "ValidationException": "invalid-request",
    "ServiceQuotaExceededException": "rate-limit",
    "ThrottlingException": "rate-limit",
    "ModelErrorException": "server",
    "ModelStreamErrorException": "server",
    "InternalServerException": "server",
    "ModelNotReadyException": "overloaded",
    "ServiceUnavailableException": "overloaded",
    "ModelTimeoutException": "timeout",
}
ERROR_TYPES = {kind: word for word, kind in ERRORS.items()}
# What has no word of its own is at least the fault of the same side.
NEAREST: dict[ErrorKind, str] = {
    "billing": "AccessDeniedException",
    "too-large": "ValidationException",
}
RESPONSE_KEYS = frozenset({"output", "stopReason", "usage"})
COUNTS = Counts(
    {
        "inputTokens": ("input",),
        "outputTokens": OUTPUT,
        "totalTokens": ALL,
        "cacheReadInputTokens": ("cache_read",),
        "cacheWriteInputTokens": ("cache_write",),
    },
    required=True,
)
# The counts of the cache come twice, under an old name as well.
TWICE = {
    "cacheReadInputTokenCount": "cacheReadInputTokens",
    "cacheWriteInputTokenCount": "cacheWriteInputTokens",
}


def read_response(d: BedrockConverse, doc: Json) -> Response:
    doc = as_dict(doc, "")
    if "output" not in doc and error_of(doc) is not None:
        return Response(None, None, (), failure=read_error(d, doc), dialect=d.name)
    output = need_dict(doc, "output", "")
    message, at = need_dict(output, "message", "/output"), "/output/message"
    docs = need_list(message, "content", at)
    blocks = tuple(read_blocks(d, docs, f"{at}/content", results=False))
    role = message.get("role")
    extras = d.keep(message, ("content", "role"))
    if role != "assistant":
        extras = d.respell(extras, role=role)
    word = maybe_str(doc, "stopReason", "")
    said = Message("assistant", blocks, at=at, extras=extras)
    stop = d.stop_of(word, said)
    usage = maybe_dict(doc, "usage", "")
    tier = maybe_dict(doc, "serviceTier", "")
    return Response(
        None,
        None,
        (Candidate(said, stop, at=""),),
        None if usage is None else read_usage(d, usage, "/usage"),
        service_tier=None if tier is None else maybe_str(tier, "type", "/serviceTier"),
        dialect=d.name,
        extras=d.keep(
            doc, RESPONSE_KEYS, partly={"output": ("message",), "serviceTier": ("type",)}
        ),
    )


def write_response(d: BedrockConverse, tree: Response, log: Ledger) -> Json:
    w = writing(d, log, tree.dialect, answer=True)
    candidate = tree.candidates[0] if tree.candidates else Candidate(Message("assistant"))
    message = candidate.message
    content = message.content if w.home else turns.fit_assistant(d, message.content, w)
    said = write_message(d, message, write_blocks(d, content, w), log)
    out: dict[str, Json] = {"output": {"message": said}}
    if (word := d.stop_word(candidate, w)) is not None:
        out["stopReason"] = word
    d.put_usage(out, tree, w)
    if tree.service_tier is not None and w.home:
        out["serviceTier"] = {"type": tree.service_tier}
    if not w.home:
        out["metrics"] = {"latencyMs": 0}
        log.invented("response.latency", "", f"{d.name} requires metrics.latencyMs; written as 0")
        d.lose(candidate.extras, candidate.at, log)
    return d.emit(out, tree, log)


def write_message(d: BedrockConverse, message: Message, content: list[Json], log: Ledger) -> Json:
    out: dict[str, Json] = {"role": "assistant", "content": content}
    if "role" in (spelling := d.spelling(message)):
        out["role"] = spelling["role"]
        if spelling["role"] is None:
            del out["role"]
    return d.emit(out, message, log)


def read_usage(d: BedrockConverse, doc: dict[str, Json], at: str) -> Usage:
    ttl = ttl_of(doc.get("cacheDetails"))
    usage = d.counts.read(d, doc, at, () if ttl is None else ("cacheDetails",))
    extras = usage.extras
    if extras is not None and not TWICE.keys().isdisjoint(extras.fields):
        twice = {k: v for k, v in extras.fields.items() if k in TWICE and doc.get(TWICE[k]) == v}
        fields = {k: v for k, v in extras.fields.items() if k not in twice}
        extras = replace(extras, fields=fields, blanks=extras.blanks | twice)
    return replace(usage, cache_write_ttl=ttl, extras=extras)


def write_usage(d: BedrockConverse, usage: Usage, w: Writing) -> dict[str, Json]:
    out = d.counts.write(d, usage, w)
    if usage.cache_write_ttl:
        if usage.cache_write_ttl.keys() <= {"5m", "1h"}:
            out["cacheDetails"] = [
                {"ttl": ttl, "inputTokens": count} for ttl, count in usage.cache_write_ttl.items()
            ]
        else:
            d.lack("usage.cache_ttl", usage.at, w.log)
    return d.emit(out, usage, w.log)


def settle(d: BedrockConverse, message: Message, log: Ledger) -> Message:
    """A text of an answer may be blank, and a call may bear a type; not in a history."""
    content: list[Block] = []
    for block in message.content:
        if isinstance(block, Text) and not block.text.strip():
            d.omit_text(block.at, log)
            continue
        if isinstance(block, Text | ToolCall) and (extras := block.extras) is not None:
            spelling = {k: v for k, v in extras.spelling.items() if k != "type"}
            block = replace(block, extras=replace(extras, spelling=spelling))
        content.append(block)
    return replace(message, content=tuple(content))


def read_error(d: BedrockConverse, doc: Json) -> Failure:
    """``{"message"}``; its type is in a header, or here as AWS's clients put it."""
    if doc.__class__ is str:
        return Failure("other", doc, dialect=d.name, extras=d.respell(None, whole=True))
    doc = as_dict(doc, "")
    found = error_of(doc)
    if found is None:
        bare = Extras(d.name, doc, spelling={"bare": True})
        return Failure("other", "", dialect=d.name, extras=bare)
    word, holder, key, named = found
    kind = ERRORS.get(type_name(word or ""), "other")
    if holder is doc:
        extras = d.keep(doc, (key, *named), {"keys": [key, *named]})
    else:  # {"throttlingException": {"message"}}, as an event of a stream
        extras = Extras(d.name, doc, spelling={"bare": True})
    return Failure(kind, holder[key], word, dialect=d.name, extras=extras)


def write_error(d: BedrockConverse, tree: Failure, log: Ledger) -> Json:
    spelling = d.spelling(tree)
    if spelling.get("whole"):
        return tree.message
    if spelling.get("bare") and tree.extras is not None:
        return tree.extras.fields
    if "keys" in spelling:
        key, *named = spelling["keys"]
        return d.emit({key: tree.message} | dict.fromkeys(named, tree.type), tree, log)
    word = ERROR_TYPES.get(tree.kind)
    if word is None:
        word = NEAREST.get(tree.kind, "InternalServerException")
        note_error_type(tree, word, log)
    d.note_error(tree, log)
    return d.emit({"__type": word, "message": tree.message}, tree, log)


def error_of(doc: dict[str, Json]) -> tuple[str | None, dict[str, Json], str, list[str]] | None:
    """The type of an error, the object and key of its message, the key of its type if beside it."""
    for key in ("message", "Message"):
        if isinstance(doc.get(key), str):
            named = [k for k in ("__type",) if isinstance(doc.get(k), str)]
            return (doc[named[0]] if named else None), doc, key, named
    for word, inner in doc.items():
        if word.endswith("Exception") and isinstance(inner, dict):
            if isinstance(inner.get("message"), str):
                return word, inner, "message", []
    return None


def type_name(word: str) -> str:
    """The name of an error: ``com.amazon#ThrottlingException:http://...`` is a long one of it."""
    name = word.partition(":")[0].rpartition("#")[2]
    return name[:1].upper() + name[1:]


def ttl_of(details: Json) -> dict[str, int] | None:
    """How long what was written to the cache lives; None where it is said in another way."""
    if details.__class__ is not list or not details:
        return None
    found: dict[str, int] = {}
    for detail in details:
        if detail.__class__ is not dict or detail.keys() != {"ttl", "inputTokens"}:
            return None
        ttl, count = detail["ttl"], detail["inputTokens"]
        if ttl.__class__ is not str or count.__class__ is not int or ttl in found:
            return None
        found[ttl] = count
    return found
