"""Replies and errors of the Anthropic Messages API, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core import heads
from ...core.counts import OUTPUT, Counts
from ...core.plain import Reply, Turn
from ...core.reading import as_dict, maybe_dict, maybe_int, maybe_str, need_list, only, texts
from ...core.turns import note_error_type
from ...core.words import Stops
from ...core.writing import Writing
from ...dialect import Dialect
from ...ledger import Ledger
from ...model import (
    Block,
    Candidate,
    Citation,
    ErrorKind,
    Extras,
    Failure,
    Json,
    Message,
    Response,
    Stop,
    StopReason,
    Text,
    Usage,
)
from . import tools
from .blocks import read_blocks, write_blocks
from .turns import read_plain_turn, write_plain_calls

if TYPE_CHECKING:
    from . import AnthropicMessages


# https://docs.claude.com/en/api/messages#response-stop-reason
STOPS = Stops(
    {
        "end_turn": "end",
        "stop_sequence": "stop-sequence",
        "max_tokens": "length",
        "model_context_window_exceeded": "context",
        "tool_use": "tool-call",
        "refusal": "filter",
        "pause_turn": "pause",
        "compaction": "compaction",
    },
    calls=True,
)

# https://docs.claude.com/en/api/errors
ERRORS: dict[str, ErrorKind] = {
    "invalid_request_error": "invalid-request",
    "authentication_error": "authentication",
    "billing_error": "billing",
    "permission_error": "permission",
    "not_found_error": "not-found",
    "conflict_error": "conflict",
    "request_too_large": "too-large",
    "rate_limit_error": "rate-limit",
    "api_error": "server",
    "timeout_error": "timeout",
    "overloaded_error": "overloaded",
}
ERROR_TYPES = {kind: word for word, kind in ERRORS.items()}
TTLS = {"5m": "ephemeral_5m_input_tokens", "1h": "ephemeral_1h_input_tokens"}
CREATION = {"cache_creation": frozenset(TTLS.values())}
RESPONSE_KEYS = frozenset(
    {"id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "stop_details"}
    | {"usage"}
)
HEAD = texts("id", "model")
PLAIN_RESPONSE = only(*RESPONSE_KEYS - {"stop_details"})
PLAIN_THINKING = only("type", "thinking", "signature")
ENDED: dict[str, StopReason] = {"end_turn": "end", "tool_use": "tool-call", "max_tokens": "length"}
USUAL = {"type": "message", "role": "assistant"}
STOP_KEYS = frozenset({"stop_sequence", "stop_details"})
COUNTS = Counts(
    {
        "input_tokens": ("input",),
        "output_tokens": OUTPUT,
        "cache_creation_input_tokens": ("cache_write",),
        "cache_read_input_tokens": ("cache_read",),
        "output_tokens_details/thinking_tokens": ("reasoning",),
    },
    required=True,
)


def read_response(d: AnthropicMessages, doc: Json) -> Response:
    doc = as_dict(doc, "")
    if "content" not in doc and doc.get("error") is not None:
        return Response(None, None, (), failure=read_error(d, doc), dialect=d.name)
    blocks = tuple(read_blocks(d, need_list(doc, "content", ""), "/content"))
    usage = maybe_dict(doc, "usage", "")
    message = Message("assistant", blocks)
    stop = read_stop(d, doc, message)
    taken = RESPONSE_KEYS if stop is not None else RESPONSE_KEYS - STOP_KEYS
    if doc.get("type") != "message" or doc.get("role") != "assistant":
        taken = taken - {key for key, usual in USUAL.items() if doc.get(key) != usual}
    name, model = HEAD(doc, "")
    return Response(
        name,
        model,
        (Candidate(message, stop),),
        None if usage is None else read_usage(d, usage, "/usage"),
        dialect=d.name,
        extras=d.keep(doc, taken),
    )


def read_plain_reply(d: AnthropicMessages, doc: Json) -> Reply | None:
    if doc.__class__ is not dict or not PLAIN_RESPONSE(doc):
        return None
    if doc.get("type") != "message" or doc.get("role") != "assistant":
        return None
    blocks, word, counted = doc.get("content"), doc.get("stop_reason"), doc.get("usage")
    ended = ENDED.get(word) if word.__class__ is str else None
    usage = COUNTS.read_plain(counted)
    if ended is None or usage is None or blocks.__class__ is not list or not blocks:
        return None
    if doc.get("stop_sequence") is not None or not is_plain_usage(counted):
        return None
    reasoning, first = None, blocks[0]
    if first.__class__ is dict and first.get("type") == "thinking":
        if not PLAIN_THINKING(first) or (reasoning := first.get("thinking")) is None:
            return None
        if first.get("signature").__class__ is not str:
            return None
        blocks = blocks[1:]
    said: list[Turn] = []
    if not read_plain_turn(blocks, said):
        return None
    _, text, calls = said[0]
    return Reply(
        doc.get("id"), doc.get("model"), None, reasoning, text, calls or [], ended, usage
    )  # fmt: skip


def is_plain_usage(doc: Json) -> bool:
    """Whether a usage has nothing that is counted again elsewhere."""
    created = doc.get("cache_creation")
    if created is not None:
        if created.__class__ is not dict or doc.get("cache_creation_input_tokens") is None:
            return False
        for count in created.values():
            if count.__class__ is not int or count:
                return False
    return not doc.get("iterations")


def write_plain_reply(d: AnthropicMessages, reply: Reply, log: Ledger) -> Json:
    content: list[Json] = []
    if reply.reasoning is not None:
        content.append({"type": "thinking", "thinking": reply.reasoning, "signature": ""})
    if reply.text is not None:
        content.append({"type": "text", "text": reply.text})
    if reply.calls:
        write_plain_calls(content, reply.calls, tools.writing(d, log, None, reply=True))
    return {
        "id": reply.name,
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": STOPS.word(reply.ended),
        "stop_sequence": None,
        "usage": COUNTS.write_plain(reply.usage),
    }


def write_response(d: AnthropicMessages, tree: Response, log: Ledger) -> Json:
    w = tools.writing(d, log, tree.dialect, reply=True)
    candidate = tree.candidates[0] if tree.candidates else Candidate(Message("assistant"))
    message = candidate.message
    out: dict[str, Json] = {"id": None, "type": "message", "role": "assistant", "model": None}
    heads.put_id(d, out, tree, w, "msg_1")
    heads.put_model(d, out, tree, w)
    out["content"] = write_blocks(d, message.content, w)
    write_stop(d, out, candidate, w)
    d.put_usage(out, tree, w)
    if candidate.extras is not None:
        d.lose(candidate.extras, candidate.at, log)
    if message.extras is not None:
        d.lose(message.extras, message.at, log)
    return out if tree.extras is None else d.emit(out, tree, log)


def read_stop(d: AnthropicMessages, doc: dict[str, Json], message: Message) -> Stop | None:
    stop = d.stop_of(maybe_str(doc, "stop_reason", ""), message)
    if stop is None:
        return None
    sequence, detail = maybe_str(doc, "stop_sequence", ""), doc.get("stop_details")
    if sequence is None and detail is None:
        return stop  # as usual
    return replace(stop, sequence=sequence, detail=detail)


def write_stop(
    d: AnthropicMessages, out: dict[str, Json], candidate: Candidate, w: Writing
) -> None:
    """Null: it has not ended, as far as anybody knows."""
    stop = candidate.stop
    out["stop_reason"] = d.stop_word(candidate, w)
    out["stop_sequence"] = None if stop is None else stop.sequence
    if stop is not None and stop.detail is not None and d.is_same(stop.dialect):
        out["stop_details"] = stop.detail


def read_usage(d: AnthropicMessages, doc: dict[str, Json], at: str) -> Usage:
    created = maybe_dict(doc, "cache_creation", at)
    if created is None and not doc.get("iterations"):
        return Dialect.read_usage(d, doc, at)
    usage = d.counts.read(d, doc, at, partly=CREATION)
    ttl: dict[str, int] = {}
    for name, key in TTLS.items():
        if created is not None and (count := maybe_int(created, key, at)) is not None:
            ttl[name] = count
    if ttl:
        written = sum(ttl.values()) if usage.cache_write is None else usage.cache_write
        usage = replace(usage, cache_write=written, cache_write_ttl=ttl)
    return with_compaction(d, usage, doc)


def with_compaction(d: AnthropicMessages, usage: Usage, doc: dict[str, Json]) -> Usage:
    """ "A `compaction` entry's tokens are not included in the top-level `usage` fields"
    (anthropic, PyPI, types/beta/beta_usage.py). Those of an advisor are another model's.
    """
    entries = doc.get("iterations")
    if entries.__class__ is not list:
        return usage  # as usual
    found = [
        entry for entry in entries if entry.__class__ is dict and entry.get("type") == "compaction"
    ]
    keys = sorted(d.counts.top)
    sums = {key: sum(n for e in found if (n := e.get(key)).__class__ is int) for key in keys}
    if not any(sums.values()):
        return usage
    spelling = {key: doc.get(key) for key in keys}
    extras = d.respell(usage.extras, **spelling)
    read, written = sums["cache_read_input_tokens"], sums["cache_creation_input_tokens"]
    return replace(
        usage,
        input=usage.input + sums["input_tokens"],
        output=usage.output + sums["output_tokens"],
        cache_read=usage.cache_read if not read else (usage.cache_read or 0) + read,
        cache_write=usage.cache_write if not written else (usage.cache_write or 0) + written,
        extras=extras,
    )


def write_usage(d: AnthropicMessages, usage: Usage, w: Writing) -> dict[str, Json]:
    out = d.counts.write(d, usage, w)
    if usage.cache_write_ttl:
        known = {TTLS[t]: n for t, n in usage.cache_write_ttl.items() if t in TTLS}
        if len(known) == len(usage.cache_write_ttl):
            out["cache_creation"] = {key: known.get(key, 0) for key in TTLS.values()}
        else:
            d.lack("usage.cache_ttl", usage.at, w.log)
    return out if usage.extras is None else d.emit(out, usage, w.log)


def settle(d: AnthropicMessages, message: Message, log: Ledger) -> Message:
    """A citation in a reply may name a file, and a text may be empty; not in a history."""
    content: list[Block] = []
    for block in message.content:
        if isinstance(block, Text) and not block.text.strip():
            d.omit_text(block.at, log)
        else:
            content.append(settle_block(d, block, log))
    return replace(message, content=tuple(content))


def settle_block(d: AnthropicMessages, block: Block, log: Ledger) -> Block:
    if not isinstance(block, Text) or not block.citations:
        return block
    return replace(block, citations=tuple(settle_citation(d, c, log) for c in block.citations))


def settle_citation(d: AnthropicMessages, cite: Citation, log: Ledger) -> Citation:
    extras = cite.extras
    if extras is None or "file_id" not in extras.fields:
        return cite
    log.dropped(
        "text.citations",
        f"{cite.at}/file_id",
        f"{d.name} has file_id in the citations of a response only",
    )
    fields = {k: v for k, v in extras.fields.items() if k != "file_id"}
    return replace(cite, extras=Extras(d.name, fields))


def read_error(d: AnthropicMessages, doc: Json) -> Failure:
    if doc.__class__ is str:
        return Failure("other", doc, dialect=d.name)
    doc = as_dict(doc, "")
    taken = ("type", "request_id") if doc.get("type") == "error" else ("request_id",)
    inner = doc.get("error")
    name = maybe_str(doc, "request_id", "")
    if inner.__class__ is not dict:  # some gateway's
        extras = d.keep(doc, taken)
        return Failure("other", message_of(doc), request_id=name, dialect=d.name, extras=extras)
    word = maybe_str(inner, "type", "/error")
    keys = [k for k in ("type", "message") if inner.get(k).__class__ is str]
    return Failure(
        ERRORS.get(word or "", "other"),
        message_of(inner),
        word,
        request_id=name,
        dialect=d.name,
        extras=d.keep(doc, taken, partly={"error": keys}),
    )


def write_error(d: AnthropicMessages, tree: Failure, log: Ledger) -> Json:
    word = tree.type
    if not d.knows(tree.dialect):
        word = ERROR_TYPES.get(tree.kind, "api_error")
        if tree.kind not in ERROR_TYPES:
            note_error_type(tree, "api_error", log)
    d.note_error(tree, log)
    inner: dict[str, Json] = {} if word is None else {"type": word}
    inner["message"] = tree.message
    out: dict[str, Json] = {"type": "error", "error": inner}
    if tree.request_id is not None:
        out["request_id"] = tree.request_id
    return d.emit(out, tree, log)


def message_of(doc: dict[str, Json]) -> str:
    """The message of an error, whatever the server made of it."""
    message = doc.get("message")
    return message if isinstance(message, str) else ""
