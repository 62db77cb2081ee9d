"""Interactions, which are what the API replies, and its errors; both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core import heads
from ...core.counts import ALL, INPUT, Counts
from ...core.reading import as_dict, maybe_dict, maybe_int, maybe_list, maybe_str, missing
from ...core.times import seconds_of, time_of
from ...core.turns import note_error_type
from ...core.words import Stops, Words
from ...core.writing import Writing
from ...ledger import Ledger
from ...model import Candidate, ErrorKind, Failure, Json, Message, Response, Usage
from .steps import read_reply, write_turn

if TYPE_CHECKING:
    from . import GeminiInteractions

# https://ai.google.dev/api/interactions-api#Resource:Interaction: status
STOPS = Stops(
    {
        "completed": "end",
        "requires_action": "tool-call",
        "incomplete": "length",
        "requires_continuation": "pause",
        "cancelled": "cancelled",
        "failed": "error",
        "in_progress": "unfinished",
        "queued": "unfinished",
        "budget_exceeded": "length",
    },
    {"stop-sequence": "completed", "context": "incomplete", "filter": "incomplete"},
    rest="incomplete",
    unended="in_progress",
    calls=True,
)
# Cached tokens are among those of the input, thoughts are not among those of the output.
COUNTS = Counts(
    {
        "total_input_tokens": INPUT,
        "total_output_tokens": ("output",),
        "total_thought_tokens": ("reasoning",),
        "total_cached_tokens": ("cache_read",),
        "total_tokens": ALL,
    },
    omits=True,
)
FAILED = "failed"
TOOL_COUNT = "total_tool_use_tokens"
TAKEN = frozenset({"id", "model", "status", "steps", "usage", "service_tier", "object"})
# Codes are the words of https://cloud.google.com/apis/design/errors in small letters, and some more
# that the API's documentation and the tests of its SDK have.
ERRORS: Words[ErrorKind] = Words(
    {
        "invalid_request": "invalid-request",
        "invalid_argument": "invalid-request",
        "failed_precondition": "invalid-request",
        "out_of_range": "invalid-request",
        "unauthenticated": "authentication",
        "permission_denied": "permission",
        "not_found": "not-found",
        "aborted": "conflict",
        "already_exists": "conflict",
        "too_many_requests": "rate-limit",
        "resource_exhausted": "rate-limit",
        "internal": "server",
        "unknown": "server",
        "data_loss": "server",
        "unimplemented": "server",
        "unavailable": "overloaded",
        "gateway_timeout": "timeout",
        "deadline_exceeded": "timeout",
    },
    {"billing": "failed_precondition", "too-large": "invalid_request"},
    rest="unknown",
)
WORDS = ("code", "message")
KINDS: dict[int, ErrorKind] = {
    400: "invalid-request", 401: "authentication", 403: "permission", 404: "not-found",
    409: "conflict", 429: "rate-limit", 500: "server", 503: "overloaded", 504: "timeout",
}  # fmt: skip
"""Where the code is the status."""


def read_response(d: GeminiInteractions, doc: Json) -> Response:
    doc = as_dict(doc, "")
    if "steps" not in doc and "status" not in doc:
        if doc.get("error") is not None:
            return Response(None, None, (), failure=read_error(d, doc), dialect=d.name)
        missing("steps", "")
    content = read_reply(d, maybe_list(doc, "steps", "") or [], "/steps")
    message = Message("assistant", content, at="/steps" if "steps" in doc else "")
    stop = d.stop_of(maybe_str(doc, "status", ""), message)
    time, taken = doc.get("created"), TAKEN
    created = seconds_of(time) if time.__class__ is str else None
    if created is not None:
        taken |= {"created"}
    usage, failure = maybe_dict(doc, "usage", ""), None
    if stop is not None and stop.reason == "error" and (errors := doc.get("errors")):
        if errors.__class__ is list and errors[0].__class__ is dict:
            failure = read_words(d, errors[0])
            taken = taken if len(errors) > 1 else taken | {"errors"}
    return Response(
        maybe_str(doc, "id", ""),
        maybe_str(doc, "model", ""),
        (Candidate(message, stop, at=""),),
        None if usage is None else read_usage(d, usage, "/usage"),
        created,
        failure,
        maybe_str(doc, "service_tier", ""),
        dialect=d.name,
        extras=d.keep(doc, taken),
    )


def write_response(d: GeminiInteractions, tree: Response, log: Ledger) -> Json:
    w = d.writing(log, tree.dialect, reply=True)
    first = heads.only_candidate(d, tree, log)
    out: dict[str, Json] = {}
    heads.put_id(d, out, tree, w, "v1_1")
    if (word := status_of(d, tree, first, w)) is not None:
        out["status"] = word
    out["object"] = "interaction"
    heads.put_model(d, out, tree, w)
    write_created(d, out, tree, w)
    if tree.service_tier is not None:
        d.fields["service_tier"].write(out, tree.service_tier, tree.at, w, d.name)
    out["steps"] = []
    write_turn(d, first.message.content, out["steps"], w, {})
    d.put_usage(out, tree, w)
    if tree.failure is not None:
        out["errors"] = [write_words(d, tree.failure, log)]
    d.lose(first.message.extras, first.message.at, log)
    d.lose(first.extras, first.at, log)
    return d.emit(out, tree, log)


def status_of(d: GeminiInteractions, tree: Response, first: Candidate, w: Writing) -> str | None:
    """The status; that of a response that failed says so."""
    stop = first.stop
    if tree.failure is None:
        return d.stop_word(first, w)
    if stop is not None and stop.reason != "error" and not w.same:
        d.note_stop(first, FAILED, w.log)
    return FAILED


def write_created(d: GeminiInteractions, out: dict[str, Json], tree: Response, w: Writing) -> None:
    if tree.created is None:
        if not w.same:
            out["created"] = time_of(w.log.now or 0)
            heads.make_up("created", out["created"], d, w.log)
        return
    time = time_of(tree.created)
    if time is None:
        d.lack("response.created", tree.at, w.log)  # a year of five digits
        return
    out["created"] = time
    if tree.created.__class__ is not int and seconds_of(time) != tree.created:
        heads.round_date("microseconds", tree, d, w.log)


def read_usage(d: GeminiInteractions, doc: dict[str, Json], at: str) -> Usage:
    """What tools added to the prompt is counted apart, and is in the total."""
    tools, asked = maybe_int(doc, TOOL_COUNT, at), maybe_int(doc, "total_input_tokens", at)
    if not tools or asked is None:
        usage = d.counts.read(d, doc, at)
        extras = usage.extras
        if extras is not None and extras.fields.get(TOOL_COUNT) == 0:
            fields = {k: v for k, v in extras.fields.items() if k != TOOL_COUNT}
            kept = replace(extras, fields=fields) if fields or extras.spelling else None
            usage = replace(usage, extras=kept)
        return usage
    return d.counts.read(d, doc | {"total_input_tokens": asked + tools}, at)


def write_usage(d: GeminiInteractions, usage: Usage, w: Writing) -> dict[str, Json]:
    out, extras = d.counts.write(d, usage, w), usage.extras
    if w.same and extras is not None and "total_input_tokens" in out:
        out["total_input_tokens"] -= extras.fields.get(TOOL_COUNT) or 0
    return d.emit(out, usage, w.log)


def read_error(d: GeminiInteractions, doc: Json) -> Failure:
    """``{"error": {"code", "message"}}``; servers before it say the status as a number."""
    if doc.__class__ is str:
        return Failure("other", doc, dialect=d.name)
    doc = as_dict(doc, "")
    inner = doc.get("error")
    if inner.__class__ is not dict:
        words = inner if inner.__class__ is str else doc.get("message")
        message = words if words.__class__ is str else ""
        return Failure("other", message, dialect=d.name, extras=d.keep(doc, ()))
    known: dict[str, str] = {k: inner[k] for k in WORDS if inner.get(k).__class__ is str}
    code, status = inner.get("code"), status_in(inner)
    kind: ErrorKind = "other"
    if code.__class__ is str:
        kind = ERRORS.meanings.get(code, "other")
    elif status:
        kind = KINDS[status["code"]]
    return Failure(
        kind,
        known.get("message", ""),
        known.get("code"),
        dialect=d.name,
        extras=d.keep(doc, (), status, partly={"error": {*known, *status}}),
    )


def status_in(doc: dict[str, Json]) -> dict[str, Json]:
    """The status of HTTP that tells the kind of an error, in the place of its code."""
    code = doc.get("code")
    return {"code": code} if code.__class__ is int and code in KINDS else {}


def read_words(d: GeminiInteractions, doc: dict[str, Json]) -> Failure:
    """The error in an interaction that failed."""
    failure = read_error(d, {"error": doc})
    known, status = {key for key in WORDS if doc.get(key).__class__ is str}, status_in(doc)
    return replace(failure, at="/errors/0", extras=d.keep(doc, known | status.keys(), status))


def write_words(d: GeminiInteractions, tree: Failure, log: Ledger) -> dict[str, Json]:
    word = error_word(d, tree, log)
    out: dict[str, Json] = dict(d.spelling(tree)) if word is None else {"code": word}
    if tree.message or not d.is_same(tree.dialect):
        out["message"] = tree.message
    d.note_error(tree, log)
    return d.emit(out, tree, log)


def write_error(d: GeminiInteractions, tree: Failure, log: Ledger) -> Json:
    inner = write_words(d, replace(tree, extras=d.respell(None, **d.spelling(tree))), log)
    return d.emit({"error": inner}, tree, log)


def error_word(d: GeminiInteractions, tree: Failure, log: Ledger) -> str | None:
    """The code of an error."""
    if d.is_same(tree.dialect):
        return tree.type
    if tree.type is not None and ERRORS.meanings.get(tree.type) == tree.kind:
        return tree.type
    word = ERRORS.word(tree.kind) or "unknown"
    if ERRORS.meanings.get(word) != tree.kind:
        note_error_type(tree, word, log)
    return word
