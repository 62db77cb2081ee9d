"""Replies and errors of Mistral, both ways."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core.reading import as_dict
from ...core.turns import note_error_type
from ...core.writing import Writing
from ...dialect import Dialect
from ...ledger import Ledger
from ...model import Candidate, ErrorKind, Failure, Json, Usage
from ..openai_chat import response as chat_response
from . import messages

if TYPE_CHECKING:
    from . import Mistral


# The words and the numbers that were seen. https://docs.mistral.ai/api/
ERRORS: dict[str, ErrorKind] = {
    "invalid_model": "not-found",
    "rate_limited": "rate-limit",
    "service_tier_capacity_exceeded": "rate-limit",
    "unauthorized": "authentication",
    "internal_server_error": "server",
    "service_unavailable": "overloaded",
}
ERROR_WORDS: dict[ErrorKind, str] = {
    "invalid-request": "invalid_request_error",
    "authentication": "unauthorized",
    "rate-limit": "rate_limited",
    "server": "internal_server_error",
}
STATUS: dict[int, ErrorKind] = {
    400: "invalid-request",
    401: "authentication",
    402: "billing",
    403: "permission",
    404: "not-found",
    409: "conflict",
    413: "too-large",
    422: "invalid-request",
    429: "rate-limit",
    500: "server",
    503: "overloaded",
    504: "timeout",
}
STATUS_OF = {kind: status for status, kind in reversed(STATUS.items())}
ERROR_KEYS = ("message", "type", "param", "code")
ERROR_MEANING = attrgetter("kind", *ERROR_KEYS, "extras")


def read_choice_of_reply(d: Mistral, doc: dict[str, Json], index: int) -> Candidate:
    """Where Mistral ran tools itself, there are ``messages``, of which the last is the reply.

    https://docs.mistral.ai/api/#tag/chat; the others are kept as they are.
    """
    given = doc.get("messages")
    if doc.get("message") is not None or given.__class__ is not list or not given:
        return chat_response.read_choice_of_reply(d, doc, index)
    last = len(given) - 1
    at = f"/choices/{index}/messages/{last}"
    reply = as_dict(given[last], at)
    found = chat_response.read_choice_of_reply(d, {**doc, "message": reply}, index)
    extras = d.respell(found.extras, place="messages")
    return replace(found, message=messages.read_assistant(d, reply, at), extras=extras)


def write_candidate(d: Mistral, candidate: Candidate, index: int, w: Writing) -> Json:
    out = chat_response.write_candidate(d, candidate, index, w)
    if "place" in d.spelling(candidate):
        del out["message"]
    if out["logprobs"] is None:
        del out["logprobs"]
    return out


def write_reply(d: Mistral, candidate: Candidate, w: Writing) -> Json:
    doc = chat_response.write_reply(d, candidate, w)
    if doc["refusal"] is None:
        del doc["refusal"]
    if not w.same:
        if doc["content"] is None and doc.get("tool_calls"):
            doc["content"] = ""  # as the server has it
        doc.pop("name", None)
    return doc


def read_usage(d: Mistral, doc: dict[str, Json], at: str) -> Usage:
    """Cached tokens are counted under two names; ``num_cached_tokens`` is the older one."""
    cached, details = doc.get("num_cached_tokens"), doc.get("prompt_tokens_details")
    if cached.__class__ is not int or details.__class__ not in (dict, type(None)):
        return Dialect.read_usage(d, doc, at)
    if details is not None and details.get("cached_tokens") != cached:
        return Dialect.read_usage(d, doc, at)
    rest = {k: v for k, v in doc.items() if k != "num_cached_tokens"}
    known = details or {"cached_tokens": cached}
    return Dialect.read_usage(d, rest | {"prompt_tokens_details": known}, at)


def is_failure(d: Mistral, doc: dict[str, Json]) -> bool:
    if doc.get("choices") is not None:
        return False
    return chat_response.is_failure(d, doc) or doc.get("object") == "error" or "detail" in doc


def read_error(d: Mistral, doc: Json) -> Failure:
    if doc.__class__ is not dict or doc.get("error").__class__ is dict:
        return chat_response.read_error(d, doc)
    if doc.get("object") != "error" or doc.get("message", "").__class__ is not str:
        return read_detail(d, doc)
    known = [key for key in ERROR_KEYS if doc.get(key).__class__ is str]
    given = {key: doc[key] for key in known}
    status = doc.get("raw_status_code")
    kind = ERRORS.get(given.get("type", "")) or (
        STATUS.get(status) if status.__class__ is int else None
    )
    if kind is None:
        kind = "invalid-request" if given.get("type", "").startswith("invalid_") else "other"
    agreed = status is None or (status.__class__ is int and STATUS.get(status) == kind)
    if agreed:  # else it says something else than the words
        known = [*known, "raw_status_code"]
    return Failure(
        kind,
        given.get("message", ""),
        given.get("type"),
        given.get("code"),
        given.get("param"),
        dialect=d.name,
        extras=d.keep(doc, (*known, "object")),
    )


def write_error(d: Mistral, tree: Failure, log: Ledger) -> Json:
    same = d.is_same(tree.dialect)
    out: dict[str, Json] = {"object": "error"}
    out |= {key: getattr(tree, key) for key in ERROR_KEYS}
    if not same or (tree.type is None and tree.kind not in (*STATUS_OF, "other")):
        out["type"] = error_word(tree)
    if tree.kind in STATUS_OF:
        out["raw_status_code"] = STATUS_OF[tree.kind]
    if same and read_error(d, out).kind != tree.kind:
        return chat_response.write_error(d, tree, log)
    if same:
        for way in (out, {"message": tree.message}):  # the second is some proxy's
            written = d.emit(way, tree, log)
            if ERROR_MEANING(read_error(d, written)) == ERROR_MEANING(tree):
                return written
        return chat_response.write_error(d, tree, log)
    if read_error(d, out).kind != tree.kind or (tree.kind == "other" and tree.type is None):
        note_error_type(tree, out["type"], log)
    d.note_error(tree, log)
    return d.emit(out, tree, log)


def error_word(tree: Failure) -> str:
    """This API's word for an error; the source's own, where that is all there is to say."""
    if tree.type is not None and (tree.kind == "other" or ERRORS.get(tree.type) == tree.kind):
        return tree.type
    return ERROR_WORDS.get(tree.kind, tree.kind.replace("-", "_"))


def read_detail(d: Mistral, doc: dict[str, Json]) -> Failure:
    """``{"detail": "Invalid API Key"}``, or a list of what is wrong where."""
    failure = chat_response.read_error(d, doc)
    detail = doc.get("detail")
    if detail.__class__ is list and detail:
        first = detail[0] if detail[0].__class__ is dict else {}
        message = first.get("msg")
        if message.__class__ is str:
            return replace(failure, kind="invalid-request", message=message)
    if isinstance(detail, str) and "API Key" in detail:
        return replace(failure, kind="authentication")
    return failure
