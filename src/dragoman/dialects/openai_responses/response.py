"""Responses and errors of the OpenAI Responses API, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core import heads
from ...core.counts import ALL, INPUT, OUTPUT, Counts
from ...core.plain import Reply, Unusual
from ...core.reading import (
    as_dict,
    maybe_dict,
    maybe_list,
    maybe_number,
    maybe_str,
    missing,
    only,
    texts,
)
from ...core.turns import note_error_code, note_error_type
from ...core.writing import Writing
from ...dialect import Dialect
from ...ledger import Ledger
from ...model import (
    Block,
    Candidate,
    ErrorKind,
    Extras,
    Failure,
    Hosted,
    Json,
    Message,
    Raw,
    Refusal,
    Response,
    Stop,
    StopReason,
    Text,
    ToolCall,
    Usage,
)
from .._openai import ERROR_TYPES, ERRORS
from .items import read_plain_reply_items, read_reply, write_plain_reply_items
from .parts import ItemWriting, has_rest
from .request import TIERS

if TYPE_CHECKING:
    from .base import ResponsesBase


# https://platform.openai.com/docs/api-reference/responses/object#responses/object-status
STATUS: dict[str, StopReason] = {
    "completed": "end",
    "complete": "end",  # not official; seen in the wild
    "failed": "error",
    "cancelled": "cancelled",
    "in_progress": "unfinished",
    "queued": "unfinished",
}
INCOMPLETE: dict[str, StopReason] = {
    "max_output_tokens": "length",
    "content_filter": "filter",
    "steered": "cancelled",
}
BROKEN_OFF = ("incomplete", "failed")
"""what a response is whose last item did not come to its end"""
# What stands for each reason here: the status, why it is incomplete, whether that says it all.
ENDS: dict[StopReason, tuple[str, str | None, bool]] = {
    "end": ("completed", None, True),
    "stop-sequence": ("completed", None, False),
    "length": ("incomplete", "max_output_tokens", True),
    "context": ("incomplete", "max_output_tokens", False),
    "tool-call": ("completed", None, True),
    "filter": ("incomplete", "content_filter", True),
    "pause": ("incomplete", None, False),
    "compaction": ("incomplete", None, False),
    "cancelled": ("cancelled", None, True),
    "error": ("failed", None, True),
    "unfinished": ("in_progress", None, True),
    "other": ("incomplete", None, True),
}

COMPLETE = ("end", "tool-call")

# The codes that a failed response may have, for those kinds that have one.
FAILURE_CODES: dict[ErrorKind, str] = {
    "invalid-request": "invalid_prompt",
    "rate-limit": "rate_limit_exceeded",
    "server": "server_error",
    "timeout": "vector_store_timeout",
}
ERROR_KEYS = ("message", "type", "code", "param")

# What a response repeats of its request; one loss elsewhere, however much it is.
ECHO = frozenset(
    {
        "instructions", "tools", "tool_choice", "parallel_tool_calls", "temperature", "top_p",
        "top_logprobs", "text", "reasoning", "truncation", "store", "metadata", "background",
        "max_output_tokens", "max_tool_calls", "previous_response_id", "conversation", "prompt",
        "user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention",
        "prompt_cache_options", "frequency_penalty", "presence_penalty", "image",
    }
)  # fmt: skip
ECHOED = ECHO - {"store", "frequency_penalty", "presence_penalty"}
"""What is repeated for a client: the SDK's type does not know the rest."""
# What the SDK's type requires of it, where the request says nothing.
LEAST_ECHO: dict[str, Json] = {
    "instructions": None,
    "metadata": None,
    "temperature": None,
    "top_p": None,
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}
REQUIRED_ECHO = {key: value for key, value in LEAST_ECHO.items() if value is not None}
UNSET = {key: value for key, value in LEAST_ECHO.items() if value is None}
TAKEN = frozenset(
    {
        "id", "object", "created_at", "status", "model", "output", "error", "incomplete_details",
        "usage", "service_tier", *ECHO,
    }
)  # fmt: skip
# https://platform.openai.com/docs/api-reference/responses/object#responses/object-usage
COUNTS = Counts(
    {
        "input_tokens": INPUT,
        "output_tokens": OUTPUT,
        "total_tokens": ALL,
        "input_tokens_details/cached_tokens": ("cache_read",),
        "input_tokens_details/cache_write_tokens": ("cache_write",),
        "output_tokens_details/reasoning_tokens": ("reasoning",),
    },
    whole=True,
)
HEAD = texts("id", "model", "service_tier")
PLAIN_RESPONSE = only(*TAKEN)
ALL_TEXT = "output_text"
WRITE_TTLS = {"30m": "ttl_30m_tokens", "12h": "ttl_12h_tokens"}


def read_response(d: ResponsesBase, doc: Json) -> Response:
    doc = as_dict(doc, "")
    if "output" not in doc and "status" not in doc:
        missing("output", "")
    blocks = read_reply(d, maybe_list(doc, "output", "") or [], "/output")
    taken, status = TAKEN, doc.get("status")
    if status is None:
        taken -= {"incomplete_details"}
    elif status in BROKEN_OFF:
        blocks = as_broken_off(blocks)
    message = Message("assistant", blocks, at="/output" if "output" in doc else "")
    usage = maybe_dict(doc, "usage", "")
    failure = doc.get("error")
    name, model, tier = HEAD(doc, "")
    return Response(
        name,
        model,
        (Candidate(message, read_stop(d, doc, blocks)),),
        None if usage is None else read_usage(d, usage, "/usage"),
        maybe_number(doc, "created_at", ""),
        None if failure is None else read_failure(d, failure),
        tier,
        read_echo(d, doc),
        dialect=d.name,
        extras=without_copy(blocks, d.keep(doc, taken)),
    )


def without_copy(blocks: tuple[Block, ...], extras: Extras | None) -> Extras | None:
    """Of a text that repeats the others, as the SDK has it, only that it is there."""
    if extras is None or extras.fields.get(ALL_TEXT) != text_in(blocks):
        return extras
    fields = {k: v for k, v in extras.fields.items() if k != ALL_TEXT}
    return replace(extras, fields=fields, inner=(*extras.inner, ALL_TEXT))


def as_broken_off(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """The last item of a response that broke off is incomplete; its status says no more."""
    for index in range(len(blocks) - 1, -1, -1):
        extras = blocks[index].extras
        if extras is None or "status" not in extras.fields:
            continue
        if extras.fields["status"] != "incomplete":
            break
        fields = {k: v for k, v in extras.fields.items() if k != "status"}
        block = replace(blocks[index], extras=replace(extras, fields=fields))
        return (*blocks[:index], block, *blocks[index + 1 :])
    return blocks


def read_plain_reply(d: ResponsesBase, doc: Json) -> Reply | None:
    if doc.__class__ is not dict or doc.get("status") != "completed" or not PLAIN_RESPONSE(doc):
        return None
    if doc.get("error") is not None or doc.get("incomplete_details") is not None:
        return None
    counted: Json = doc.get("usage")
    usage, items = COUNTS.read_plain(counted), doc.get("output")
    if usage is None or items.__class__ is not list:
        return None
    if read_ttls(counted.get("input_tokens_details")) is not None:
        return None
    said = read_plain_reply_items(items)
    if said is None:
        return None
    reasoning, text, calls = said
    return Reply(
        doc.get("id"), doc.get("model"), doc.get("created_at"), reasoning, text, calls,
        "tool-call" if calls else "end", usage, doc.get("service_tier"),
    )  # fmt: skip


def write_plain_reply(d: ResponsesBase, reply: Reply, log: Ledger) -> Json:
    if reply.ended == "length":
        raise Unusual
    out = {
        "id": reply.name,
        "object": "response",
        "created_at": int(log.now or 0) if reply.created is None else reply.created,
        "model": reply.model,
        "status": "completed",
        "incomplete_details": None,
        "error": None,
        "output": write_plain_reply_items(d, reply, stem(reply.name), log),
        "usage": COUNTS.write_plain(reply.usage),
    }
    if (tier := reply.tier) is not None:
        if tier not in TIERS:
            raise Unusual
        out["service_tier"] = tier
    return {**out, **LEAST_ECHO, "tools": []}


def write_response(d: ResponsesBase, tree: Response, log: Ledger) -> Json:
    w = d.writing(log, tree.dialect, reply=True)
    candidate = tree.candidates[0] if tree.candidates else Candidate(Message("assistant"))
    out: dict[str, Json] = {}
    heads.put_id(d, out, tree, w, "resp_1")
    out["object"] = "response"
    heads.put_seconds(d, out, "created_at", tree, w)
    heads.put_model(d, out, tree, w)
    write_stop(d, out, tree, candidate, w)
    out.setdefault("error", None)
    items: list[Json] = []
    out["output"] = items
    w.within = stem(tree.id)
    d.write_turn(candidate.message.content, items, w)
    status = items[-1].get("status") if items and out.get("status") in BROKEN_OFF else None
    if status == "completed" or (status is not None and not w.same):
        last = candidate.message.content[-1]
        if not isinstance(last, Hosted | Raw) or items[-1] is not last.payload:
            items[-1]["status"] = "incomplete"
    if candidate.message.extras is not None:
        d.lose(candidate.message.extras, candidate.message.at, log)
    if candidate.extras is not None:
        d.lose(candidate.extras, candidate.at, log)
    out["usage"] = None if tree.usage is None else write_usage(d, tree.usage, w)
    if tree.service_tier is not None:
        d.fields["service_tier"].write(out, tree.service_tier, tree.at, w, d.name)
    d.write_echo(out, tree, w)
    if tree.extras is None:
        return out
    if has_rest(d, tree, ALL_TEXT):
        out[ALL_TEXT] = text_in(candidate.message.content)
    return d.emit(out, tree, log)


def read_echo(d: ResponsesBase, doc: dict[str, Json]) -> Extras | None:
    fields = {k: v for k, v in doc.items() if v is not None and k in ECHO}
    return Extras(d.name, fields) if fields else None


def echo(d: ResponsesBase, request: Json) -> Extras | None:
    if request.__class__ is not dict:
        return None
    written = {k: v for k, v in request.items() if k in ECHOED and v is not None}
    return Extras(d.name, LEAST_ECHO | {"tools": []} | written)


def write_echo(d: ResponsesBase, out: dict[str, Json], tree: Response, w: ItemWriting) -> None:
    """What a response repeats of its request; of a request nobody knows, the least."""
    echo = tree.echo
    if echo is not None and d.is_same(echo.dialect):
        out |= UNSET | echo.fields
        return
    same = echo is not None and echo.fields == REQUIRED_ECHO
    if echo is not None and echo.fields and not same:
        why = f"{d.name} does not repeat this field of the request"
        w.log.dropped("response.echo", tree.at, why)
    if w.same:
        return
    out |= LEAST_ECHO
    out["tools"] = []
    if not same:
        w.log.later(note_echo, d)


def note_echo(d: ResponsesBase, log: Ledger) -> None:
    why = f"{d.name} repeats the request in a response; written as no tools"
    log.invented("response.echo", "", f"{why} and the default tool_choice")


def read_stop(d: ResponsesBase, doc: dict[str, Json], blocks: tuple[Block, ...]) -> Stop | None:
    """The status does not tell a call or a refusal from a plain end; the items do."""
    status = maybe_str(doc, "status", "")
    if status == "completed" and doc.get("incomplete_details") is None:
        return Stop(end_of(blocks), status, d.name)  # as most do
    details = maybe_dict(doc, "incomplete_details", "")
    if status is None:
        return None
    word = None if details is None else details.get("reason")
    if not isinstance(word, str):
        word = None
    if status != "incomplete":
        word = None  # the status tells how it ended; why it was cut off is no more than a detail
    detail = None if details == {"reason": word} and word else details
    native = status if word is None else f"{status}:{word}"
    reason = STATUS.get(status, "other") if word is None else INCOMPLETE.get(word, "other")
    if reason == "end":
        reason = end_of(blocks)
    return Stop(reason, native, d.name, detail=detail)


def write_stop(
    d: ResponsesBase, out: dict[str, Json], tree: Response, candidate: Candidate, w: ItemWriting
) -> None:
    stop, failure = candidate.stop, tree.failure
    if failure is not None:
        out["error"] = write_failure(d, failure, w)
    if w.same and (stop is None or d.is_same(stop.dialect)):
        if stop is not None:
            write_own_stop(out, stop)
        return
    content = candidate.message.content
    if stop is not None and failure is None and stop.reason in COMPLETE:
        out["status"], out["incomplete_details"] = "completed", None
        if end_of(content) != stop.reason:
            d.note_stop(candidate, "completed", w.log)
        return  # as most do
    if stop is None and failure is None:
        d.invent_stop(candidate, "in_progress", w.log)
    reason: StopReason = "unfinished" if stop is None else stop.reason
    status, word, exact = ENDS["error" if failure is not None else reason]
    if status == "failed" and failure is None and stop and stop.native != status:
        # What failed has an error here, and this has none.
        status, word, exact = *ENDS["other"][:2], False
    if reason == "filter" and any(isinstance(b, Refusal) for b in content):
        status, word = "completed", None
    out["status"] = status
    out["incomplete_details"] = None if word is None else {"reason": word}
    if stop is None:
        return
    exact = exact or stop.native == status  # a variant of this API said so
    if failure is not None and reason != "error":
        exact = False  # it failed, whatever was written of its end
    if d.is_unnamed(stop, word or status):
        exact = False
    if not exact or (status == "completed" and end_of(content) != reason):
        d.note_stop(candidate, word or status, w.log)


def write_own_stop(out: dict[str, Json], stop: Stop) -> None:
    status, _, word = (stop.native or "").partition(":")
    if status != "incomplete":  # of others, a colon is a part
        status, word = stop.native or "", ""
    out["status"] = status
    found = {"reason": word} if word else None
    out["incomplete_details"] = found if stop.detail is None else stop.detail


def read_failure(d: ResponsesBase, doc: Json) -> Failure:
    """The error inside a response that failed."""
    at = "/error"
    if doc.__class__ is str:
        return Failure("other", doc, dialect=d.name, at=at)
    words = words_of(as_dict(doc, at))
    return failure_of(d, words, at, d.keep(doc, words))


def write_failure(d: ResponsesBase, failure: Failure, w: ItemWriting) -> Json:
    if d.is_same(failure.dialect):
        return d.emit(write_words(failure), failure, w.log)
    code = FAILURE_CODES.get(failure.kind, "server_error")
    if failure.kind not in FAILURE_CODES:
        note_error_type(failure, code, w.log)
    note_error_code(failure, code, w.log)
    beside = (("error.param", failure.param), ("error.request_id", failure.request_id))
    for lost in (name for name, value in beside if value is not None):
        w.log.dropped(lost, failure.at, f"the error in a response of {d.name} has no such field")
    d.lose(failure.extras, failure.at, w.log)
    return {"code": code, "message": failure.message}


def read_usage(d: ResponsesBase, doc: dict[str, Json], at: str) -> Usage:
    ttl = read_ttls(doc.get("input_tokens_details"))
    if ttl is None:
        return Dialect.read_usage(d, doc, at)
    known = (*d.counts.partly["input_tokens_details"], "cache_write_tokens_details")
    usage = d.counts.read(d, doc, at, partly={"input_tokens_details": known})
    return replace(usage, cache_write_ttl=ttl)


def write_usage(d: ResponsesBase, usage: Usage, w: Writing) -> dict[str, Json]:
    out = d.counts.write(d, usage, w)
    ttls = usage.cache_write_ttl
    if ttls and (w.same or any(ttls.values())) and "usage.cache_ttl" not in d.can.lacks:
        write_ttls(d, out, usage, ttls, w)
    return out if usage.extras is None else d.emit(out, usage, w.log)


def read_ttls(inputs: Json) -> dict[str, int] | None:
    """The tokens written to the cache by how long they live, if the object is as it should."""
    if inputs.__class__ is not dict:
        return None
    details = inputs.get("cache_write_tokens_details")
    if details.__class__ is not dict or not details.keys() <= set(WRITE_TTLS.values()):
        return None
    found = {ttl: details[key] for ttl, key in WRITE_TTLS.items() if key in details}
    return found if found and all(n.__class__ is int for n in found.values()) else None


def write_ttls(
    d: ResponsesBase, out: dict[str, Json], usage: Usage, ttls: dict[str, int], w: Writing
) -> None:
    if not ttls.keys() <= WRITE_TTLS.keys():
        d.lack("usage.cache_ttl", usage.at, w.log)
        return
    found = {WRITE_TTLS[ttl]: count for ttl, count in ttls.items()}
    if not w.same:
        found = dict.fromkeys(WRITE_TTLS.values(), 0) | found
    out.setdefault("input_tokens_details", {})["cache_write_tokens_details"] = found


def read_error(d: ResponsesBase, doc: Json) -> Failure:
    """An error document: ``{"error": {...}}``, or what servers and gateways make of it."""
    if doc.__class__ is str:
        return Failure("other", doc, dialect=d.name)
    doc = as_dict(doc, "")
    inner = doc.get("error")
    if inner.__class__ is dict:
        words = words_of(inner)
        return failure_of(d, words, "", d.keep(doc, (), partly={"error": words}))
    for key in ("error", "detail", "message"):
        if doc.get(key).__class__ is str:
            words = words_of(doc) | {"message": doc[key]}
            taken = (key, *(k for k in ERROR_KEYS[1:] if k in words))
            return failure_of(d, words, "", d.keep(doc, taken))
    return Failure("other", "", dialect=d.name, extras=d.keep(doc, ()))


def write_error(d: ResponsesBase, tree: Failure, log: Ledger) -> Json:
    if d.is_same(tree.dialect):
        return d.emit({"error": write_words(tree)}, tree, log)
    word = tree.type
    if word is None or kind_of(tree.code, word) != tree.kind:
        word = ERROR_TYPES.get(tree.kind, "server_error")
        if tree.kind not in ERROR_TYPES:
            note_error_type(tree, word, log)
    inner: dict[str, Json] = {"message": tree.message, "type": word}
    inner |= {"param": tree.param, "code": tree.code}
    d.note_error(tree, log)
    d.lose(tree.extras, tree.at, log)
    return {"error": inner}


def write_words(failure: Failure) -> dict[str, Json]:
    """The strings of an error, those that it had."""
    return {k: v for k in ERROR_KEYS if (v := getattr(failure, k)) is not None}


def failure_of(d: ResponsesBase, words: dict[str, str], at: str, extras: Extras | None) -> Failure:
    return Failure(
        kind_of(words.get("code"), words.get("type")),
        words.get("message", ""),
        words.get("type"),
        words.get("code"),
        words.get("param"),
        dialect=d.name,
        at=at,
        extras=extras,
    )


def words_of(doc: dict[str, Json]) -> dict[str, str]:
    """The strings of an error; what is not a string in it is an extra (``"code": 400``)."""
    return {k: doc[k] for k in ERROR_KEYS if doc.get(k).__class__ is str}


def kind_of(code: str | None, word: str | None) -> ErrorKind:
    """What kind of error it is; the code knows better than the type, if it knows anything."""
    found, kind = ERRORS.get(code or ""), ERRORS.get(word or "")
    if found == "invalid-request" and kind is not None:
        found = kind
    return found or kind or "other"


def end_of(blocks: tuple[Block, ...]) -> StopReason:
    """Why a completed response ended."""
    reason: StopReason = "end"
    for block in blocks:
        if block.__class__ is ToolCall:
            return "tool-call"
        if block.__class__ is Refusal:
            reason = "filter"
    return reason


def text_in(blocks: tuple[Block, ...]) -> str:
    """All that was written aloud, as the SDK's ``output_text`` gives it."""
    return "".join(block.text for block in blocks if isinstance(block, Text))


def stem(reply: str | None) -> str:
    """What the ids of a response's items have in common: the response's id, less its prefix."""
    if reply is None:
        return ""
    tail = reply.replace("-", "_").rpartition("_")[2]
    if tail.isascii() and tail.isalnum():  # as most are
        return tail + "_"
    return "".join(c for c in tail if c.isascii() and c.isalnum()) + "_"
