"""Replies and errors of Cohere's, both ways."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...core import heads
from ...core.counts import INPUT, OUTPUT, Counts
from ...core.reading import as_dict, expected, maybe_dict, maybe_str, need_dict
from ...core.words import Stops
from ...ledger import Ledger
from ...model import Candidate, ErrorKind, Failure, Json, Response, Usage
from . import messages
from .documents import CohereWriting

if TYPE_CHECKING:
    from . import Cohere


# https://docs.cohere.com/reference/chat, finish_reason; the last two are of version 1.
STOPS = Stops(
    {
        "COMPLETE": "end",
        "STOP_SEQUENCE": "stop-sequence",
        "MAX_TOKENS": "length",
        "TOOL_CALL": "tool-call",
        "ERROR": "error",
        "TIMEOUT": "error",
        "ERROR_LIMIT": "context",
        "ERROR_TOXIC": "filter",
    },
    {
        "context": "MAX_TOKENS",
        "pause": "MAX_TOKENS",
        "compaction": "MAX_TOKENS",
        "filter": "ERROR",
        "other": "COMPLETE",
    },
    rest="ERROR",  # a cut reply must not look complete
    unended="MAX_TOKENS",
    calls=True,
)
RESPONSE_KEYS = frozenset({"id", "finish_reason", "message", "usage"})
COUNTS = Counts(
    {
        "tokens/input_tokens": INPUT,
        "tokens/output_tokens": OUTPUT,
        "tokens/reasoning_tokens": ("reasoning",),
        "cached_tokens": ("cache_read",),
    },
    omits=True,
)
TOKENS = COUNTS.partly["tokens"]
# https://docs.cohere.com/reference/errors: what begins, ends or occurs in a message. There is no
# type in most errors; the status, which tells the kind, is not in the body.
KINDS: tuple[tuple[re.Pattern[str], ErrorKind], ...] = (
    (re.compile(r"^invalid request|^too many tokens|^unknown field"), "invalid-request"),
    (re.compile(r"api key|api token", re.IGNORECASE), "authentication"),
    (re.compile(r"not found(\.|$|, make sure)"), "not-found"),
    (re.compile(r"payment method|[Mm]aximum billing"), "billing"),
    (re.compile(r"rate limit|request limit|Trial key|try again later"), "rate-limit"),
)
TYPES: dict[str, ErrorKind] = {
    "TOO_MANY_TOKENS": "invalid-request",
    "INVALID_TOOL_GENERATION": "server",
}


def read_response(d: Cohere, doc: Json) -> Response:
    doc = as_dict(doc, "")
    if doc.get("message").__class__ is str:
        return Response(None, None, (), failure=read_error(d, doc), dialect=d.name)
    usage = maybe_dict(doc, "usage", "") or {}
    return Response(
        maybe_str(doc, "id", ""),
        None,
        (read_candidate(d, doc),),
        read_usage(d, usage, "/usage") if any(map(has_value, usage.values())) else None,
        dialect=d.name,
        extras=d.keep(doc, RESPONSE_KEYS),
    )


def write_response(d: Cohere, tree: Response, log: Ledger) -> Json:
    w = CohereWriting(log, d.is_same(tree.dialect), reply=True)
    first = heads.only_candidate(d, tree, log)
    out: dict[str, Json] = {}
    heads.put_id(d, out, tree, w, "msg_1")
    out["message"] = messages.write_assistant(d, first.message, w)
    if (word := d.stop_word(first, w)) is not None:
        out["finish_reason"] = word
    d.put_usage(out, tree, w)
    if not w.same and tree.usage is not None and not out["usage"]:
        del out["usage"]  # which readers take for none
        d.lose_usage(tree.usage, log)
    if not w.same:
        d.lose(first.extras, first.at, log)
    return d.emit(out, tree, log)


def read_candidate(d: Cohere, doc: dict[str, Json]) -> Candidate:
    given = need_dict(doc, "message", "")
    message = messages.read_assistant(d, given, "/message")
    stop = d.stop_of(maybe_str(doc, "finish_reason", ""), message)
    return Candidate(message, stop, at="")


def read_usage(d: Cohere, doc: dict[str, Json], at: str) -> Usage:
    """Tokens as they are; where only what is billed was counted, that. The SDK says ``12.0``,
    and the API itself 12."""
    tokens, billed = maybe_dict(doc, "tokens", at), maybe_dict(doc, "billed_units", at)
    holder, counted = f"{at}/tokens" if tokens else f"{at}/billed_units", dict(doc)
    found = {key: count(tokens or billed or {}, key, holder) for key in TOKENS}
    found = {key: number for key, number in found.items() if number is not None}
    if found or tokens:
        counted["tokens"] = (tokens or {}) | found
    if "cached_tokens" in doc:
        counted["cached_tokens"] = count(doc, "cached_tokens", at)
    return d.counts.read(d, counted, at)


def has_value(value: Json) -> bool:
    """Whether a value of a usage is more than an object of nulls."""
    values = value.values() if value.__class__ is dict else (value,)
    return any(one is not None for one in values)


def read_error(d: Cohere, doc: Json) -> Failure:
    """``{"id", "message"}``, and rarely a type."""
    doc = as_dict(doc, "")
    given = doc.get("message")
    if "message" in doc and given.__class__ is not str:  # from a proxy, perhaps
        return Failure("other", "", dialect=d.name, extras=d.keep(doc, ()))
    message, kind = given or "", maybe_str(doc, "error_type", "")
    return Failure(
        kind_of(kind, message),
        message,
        kind,
        request_id=maybe_str(doc, "id", ""),
        dialect=d.name,
        extras=d.keep(doc, ("id", "message", "error_type")),
    )


def write_error(d: Cohere, tree: Failure, log: Ledger) -> Json:
    same = d.is_same(tree.dialect)
    out: dict[str, Json] = {} if tree.request_id is None else {"id": tree.request_id}
    out["message"] = tree.message
    if same and tree.type is not None:
        out["error_type"] = tree.type
    elif not same:
        kind = kind_of(None, tree.message)
        if kind != tree.kind or (kind == "other" and tree.type is not None):
            d.lack("error.type", tree.at, log)
    d.note_error(tree, log)
    return d.emit(out, tree, log)


def count(doc: dict[str, Json], key: str, at: str) -> int | None:
    """A count of tokens; the SDK says ``12.0``, and the API itself 12."""
    value = doc.get(key)
    if value.__class__ is float and value.is_integer():
        return int(value)
    if value is not None and value.__class__ is not int:
        expected("an integer", value, f"{at}/{key}")
    return value


def kind_of(word: str | None, message: str) -> ErrorKind:
    """What an error is about, by its type or else by its words."""
    if word is not None and word in TYPES:
        return TYPES[word]
    return next((kind for pattern, kind in KINDS if pattern.search(message)), "other")
