"""Replies and errors of Bedrock's Converse API, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.counts import ALL, OUTPUT, Counts
from ...core.reading import as_dict, maybe_dict, maybe_str, need_dict, need_list
from ...core.turns import note_error_type
from ...core.words import Stops
from ...core.writing import Writing
from ...ledger import Ledger
from ...model import Block, Candidate, ErrorKind, Failure, Json, Message, Response, Text, Usage
from .._claude_turns import calls_last
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
    if "output" not in doc and (failure := error_in(d, doc)) is not None:
        return Response(None, None, (), failure=failure, dialect=d.name)
    output = need_dict(doc, "output", "")
    message, at = need_dict(output, "message", "/output"), "/output/message"
    docs = need_list(message, "content", at)
    blocks = tuple(read_blocks(d, docs, f"{at}/content", results=False))
    taken = ("content", "role") if message.get("role") == "assistant" else ("content",)
    given = Message("assistant", blocks, at=at, extras=d.keep(message, taken))
    stop = d.stop_of(maybe_str(doc, "stopReason", ""), given)
    usage = maybe_dict(doc, "usage", "")
    tier = maybe_dict(doc, "serviceTier", "")
    return Response(
        None,
        None,
        (Candidate(given, stop, at=""),),
        None if usage is None else read_usage(d, usage, "/usage"),
        service_tier=None if tier is None else maybe_str(tier, "type", "/serviceTier"),
        dialect=d.name,
        extras=d.keep(
            doc, RESPONSE_KEYS, partly={"output": ("message",), "serviceTier": ("type",)}
        ),
    )


def write_response(d: BedrockConverse, tree: Response, log: Ledger) -> Json:
    w = writing(d, log, tree.dialect, reply=True)
    candidate = tree.candidates[0] if tree.candidates else Candidate(Message("assistant"))
    message = candidate.message
    content = message.content if w.same else calls_last(d, message.content, w)
    written: dict[str, Json] = {"role": "assistant", "content": write_blocks(d, content, w)}
    out: dict[str, Json] = {"output": {"message": d.emit(written, message, log)}}
    if (word := d.stop_word(candidate, w)) is not None:
        out["stopReason"] = word
    d.put_usage(out, tree, w)
    if tree.service_tier is not None and w.same:
        out["serviceTier"] = {"type": tree.service_tier}
    if not w.same:
        out["metrics"] = {"latencyMs": 0}
        log.invented("response.latency", "", f"{d.name} requires metrics.latencyMs; written as 0")
        d.lose(candidate.extras, candidate.at, log)
    return d.emit(out, tree, log)


def read_usage(d: BedrockConverse, doc: dict[str, Json], at: str) -> Usage:
    ttl = ttl_of(doc.get("cacheDetails"))
    also = [old for old, key in TWICE.items() if old in doc and doc[old] == doc.get(key)]
    usage = d.counts.read(d, doc, at, also if ttl is None else (*also, "cacheDetails"))
    return usage if ttl is None else replace(usage, cache_write_ttl=ttl)


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
    """A text of a response may be blank; not in a history."""
    content: list[Block] = []
    for block in message.content:
        if isinstance(block, Text) and not block.text.strip():
            d.omit_text(block.at, log)
        else:
            content.append(block)
    return replace(message, content=tuple(content))


def read_error(d: BedrockConverse, doc: Json) -> Failure:
    """``{"message"}``; its type is in a header, or here as AWS's clients put it."""
    if doc.__class__ is str:
        return Failure("other", doc, dialect=d.name)
    doc = as_dict(doc, "")
    if (failure := error_in(d, doc)) is not None:
        return failure
    word = doc.get("__type") if isinstance(doc.get("__type"), str) else None
    extras = d.keep(doc, () if word is None else ("__type",))
    return Failure(kind_of(word or ""), "", word, dialect=d.name, extras=extras)


def error_in(d: BedrockConverse, doc: dict[str, Json]) -> Failure | None:
    """The error of a document; None where there is no message."""
    for key in ("message", "Message"):
        if isinstance(doc.get(key), str):
            word = doc.get("__type") if isinstance(doc.get("__type"), str) else None
            extras = d.keep(doc, (key,) if word is None else (key, "__type"))
            return Failure(kind_of(word or ""), doc[key], word, dialect=d.name, extras=extras)
    for word, inner in doc.items():  # {"throttlingException": {"message"}}, an event of a stream
        if word.endswith("Exception") and isinstance(inner, dict):
            if isinstance(text := inner.get("message"), str):
                extras = d.keep(doc, (), partly={word: ("message",)})
                return Failure(kind_of(word), text, word, dialect=d.name, extras=extras)
    return None


def kind_of(word: str) -> ErrorKind:
    return ERRORS.get(type_name(word), "other")


def write_error(d: BedrockConverse, tree: Failure, log: Ledger) -> Json:
    word = tree.type
    if not d.is_same(tree.dialect):
        word = ERROR_TYPES.get(tree.kind)
        if word is None:
            word = NEAREST.get(tree.kind, "InternalServerException")
            note_error_type(tree, word, log)
    d.note_error(tree, log)
    out: dict[str, Json] = {} if word is None else {"__type": word}
    return d.emit(out | {"message": tree.message}, tree, log)


def type_name(word: str) -> str:
    """The name of an error: ``com.amazon#ThrottlingException:http://...`` is a long one of it."""
    name = word.partition(":")[0].rpartition("#")[2]
    return name[:1].upper() + name[1:]


def ttl_of(details: Json) -> dict[str, int] | None:
    """How long what was written to the cache lives; None where it is written in another way."""
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
