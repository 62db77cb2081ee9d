"""Replies and errors of the Gemini API, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core import heads
from ...core.counts import ALL, INPUT, Counts
from ...core.plain import Reply, Unusual, named, object_in
from ...core.reading import as_dict, expected, maybe_dict, maybe_int, maybe_list, only, texts
from ...core.times import seconds_of, time_of
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
    Stop,
    StopReason,
    Text,
    ToolCall,
    Usage,
)
from . import turns
from .grounding import cited, grounded
from .parts import emit, read_plain_reply_parts, write_call, write_part
from .spelling import both, is_camel, pick, pick_dict, pick_str
from .turns import CONTENT_KEYS

if TYPE_CHECKING:
    from . import Gemini


# https://ai.google.dev/api/generate-content#FinishReason; all others are "other".
STOPS = Stops(
    {
        "STOP": "end",
        "MAX_TOKENS": "length",
        "SAFETY": "filter",
        "RECITATION": "filter",
        "BLOCKLIST": "filter",
        "PROHIBITED_CONTENT": "filter",
        "SPII": "filter",
        "IMAGE_SAFETY": "filter",
        "IMAGE_PROHIBITED_CONTENT": "filter",
        "IMAGE_RECITATION": "filter",
        "MODEL_ARMOR": "filter",
        "CONTINUATION": "pause",
        # The model went wrong, and what it said is no reply: it must not look like one elsewhere.
        "MALFORMED_FUNCTION_CALL": "error",
        "UNEXPECTED_TOOL_CALL": "error",
        "TOO_MANY_TOOL_CALLS": "error",
        "MALFORMED_RESPONSE": "error",
    },
    {
        "stop-sequence": "STOP",
        "tool-call": "STOP",
        "context": "MAX_TOKENS",
        "pause": "OTHER",
        "error": "OTHER",
    },
    rest="OTHER",
    vague=("STOP",),
)
# Some clients pass on the numbers of the enumeration.
NUMBERED = (
    "FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER",
    "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL",
)  # fmt: skip

# https://cloud.google.com/apis/design/errors#handling_errors
ERRORS: dict[str, tuple[int, ErrorKind]] = {
    "INVALID_ARGUMENT": (400, "invalid-request"),
    "FAILED_PRECONDITION": (400, "invalid-request"),
    "OUT_OF_RANGE": (400, "invalid-request"),
    "UNAUTHENTICATED": (401, "authentication"),
    "PERMISSION_DENIED": (403, "permission"),
    "NOT_FOUND": (404, "not-found"),
    "ABORTED": (409, "conflict"),
    "ALREADY_EXISTS": (409, "conflict"),
    "RESOURCE_EXHAUSTED": (429, "rate-limit"),
    "CANCELLED": (499, "other"),
    "INTERNAL": (500, "server"),
    "UNKNOWN": (500, "server"),
    "DATA_LOSS": (500, "server"),
    "UNIMPLEMENTED": (501, "server"),
    "UNAVAILABLE": (503, "overloaded"),
    "DEADLINE_EXCEEDED": (504, "timeout"),
}
STATUSES: dict[ErrorKind, str] = {
    "invalid-request": "INVALID_ARGUMENT",
    "authentication": "UNAUTHENTICATED",
    "billing": "FAILED_PRECONDITION",
    "permission": "PERMISSION_DENIED",
    "not-found": "NOT_FOUND",
    "conflict": "ABORTED",
    "too-large": "INVALID_ARGUMENT",
    "rate-limit": "RESOURCE_EXHAUSTED",
    "server": "INTERNAL",
    "overloaded": "UNAVAILABLE",
    "timeout": "DEADLINE_EXCEEDED",
    "other": "UNKNOWN",
}
# The API writes camelCase; what Google's client for Python stores of a reply is snake_case.
RESPONSE_KEYS = both("candidates", "usageMetadata", "modelVersion", "responseId")
GROUNDING = frozenset({"groundingMetadata", "citationMetadata"})
HEAD = texts("responseId", "modelVersion")
PLAIN_RESPONSE = only("candidates", "usageMetadata", "modelVersion", "responseId")
PLAIN_CANDIDATE = only("content", "finishReason", "index")
CANDIDATE_KEYS = both("index", "content", "finishReason", "finishMessage")
# https://ai.google.dev/api/generate-content#UsageMetadata: cached tokens are among those of the
# prompt, reasoning is not among those of the candidates.
COUNTS = Counts(
    {
        "promptTokenCount": INPUT,
        "candidatesTokenCount": ("output",),
        "totalTokenCount": ALL,
        "cachedContentTokenCount": ("cache_read",),
        "thoughtsTokenCount": ("reasoning",),
    },
    omits=True,
)
TOOL_COUNT = "toolUsePromptTokenCount"
COUNTED = both(*COUNTS.rows, TOOL_COUNT)
UNUSUAL_COUNTS = COUNTED.difference(COUNTS.rows)
"""The names of counts in snake_case, and what tools added."""


def read_response(d: Gemini, doc: Json) -> Response:
    doc = as_dict(doc, "")
    if "candidates" not in doc and doc.get("error") is not None:
        return Response(None, None, (), failure=read_error(d, doc), dialect=d.name)
    candidates: list[Candidate] = []
    for index, item in enumerate(maybe_list(doc, "candidates", "") or ()):
        where = f"/candidates/{index}"
        candidates.append(read_candidate(d, as_dict(item, where), index, where))
    taken = RESPONSE_KEYS
    created = counts = None
    if "createTime" in doc or "create_time" in doc:
        time, key = pick(doc, "createTime")
        created = seconds_of(time) if time.__class__ is str else None
        if created is not None:
            taken |= {key}
    if is_camel(doc):  # as usual
        name, model = HEAD(doc, "")
        usage, where = maybe_dict(doc, "usageMetadata", ""), "/usageMetadata"
    else:
        name, model = pick_str(doc, "responseId", ""), pick_str(doc, "modelVersion", "")
        usage, where = pick_dict(doc, "usageMetadata", "")
    if usage is not None:
        if usage and COUNTED.isdisjoint(usage):  # it says something else
            taken -= both("usageMetadata")
        else:
            counts = read_counts(d, usage, where)
    return Response(
        name,
        model,
        tuple(candidates) or read_block(d, doc),
        counts,
        created,
        dialect=d.name,
        extras=d.keep(doc, taken),
    )


def read_plain_reply(d: Gemini, doc: Json) -> Reply | None:
    if doc.__class__ is not dict or not PLAIN_RESPONSE(doc):
        return None
    candidates, counted = doc.get("candidates"), doc.get("usageMetadata")
    one = candidates[0] if candidates.__class__ is list and len(candidates) == 1 else None
    if one.__class__ is not dict or not PLAIN_CANDIDATE(one) or counted.__class__ is not dict:
        return None
    usage, content = COUNTS.read_plain(counted), one.get("content")
    if usage is None or not UNUSUAL_COUNTS.isdisjoint(counted) or content.__class__ is not dict:
        return None
    if content.get("role") != "model" or not turns.PLAIN_CONTENT(content):
        return None
    said = read_plain_reply_parts(content.get("parts"))
    if said is None:
        return None
    reasoning, text, calls, signed = said
    word = one.get("finishReason")
    if word != "STOP" and word != "MAX_TOKENS":
        return None
    ended: StopReason = "length" if word == "MAX_TOKENS" else "tool-call" if calls else "end"
    name, model = doc.get("responseId"), doc.get("modelVersion")
    return Reply(name, model, None, reasoning, text, calls, ended, usage, None, signed)


def write_plain_reply(d: Gemini, reply: Reply, log: Ledger) -> Json:
    parts: list[Json] = []
    if reply.reasoning is not None:
        parts.append({"text": reply.reasoning, "thought": True})
    if reply.text is not None:
        parts.append({"text": reply.text})
    if reply.calls:
        w = turns.writing(d, log, None, reply=True)
        for call_id, name, given in named(reply.calls, w):
            call = {"id": call_id, "name": name, "args": object_in(given, log)}
            parts.append({"functionCall": call})
    content = {"role": "model", "parts": parts}
    word = STOPS.word("end" if reply.calls else reply.ended)
    out: dict[str, Json] = {
        "candidates": [{"content": content, "finishReason": word, "index": 0}],
        "usageMetadata": COUNTS.write_plain(reply.usage),
        "modelVersion": reply.model,
    }
    if reply.created is not None:
        if (time := time_of(reply.created)) is None:
            raise Unusual
        out["createTime"] = time
    out["responseId"] = reply.name
    return out


def write_response(d: Gemini, tree: Response, log: Ledger) -> Json:
    w = turns.writing(d, log, tree.dialect, reply=True)
    out: dict[str, Json] = {}
    candidates = tree.candidates
    if not candidates and not w.same:
        candidates = (Candidate(Message("assistant", at=tree.at), at=tree.at),)
    if tree.extras is None or not is_blocked(d, tree):
        written: list[Json] = []
        out["candidates"] = written
        for index, candidate in enumerate(candidates):
            written.append(write_candidate(d, candidate, index, w))
    if tree.usage is not None:
        out["usageMetadata"] = write_counts(d, tree.usage, w)
    if tree.model is not None:
        out["modelVersion"] = tree.model
    if tree.created is not None:
        if (time := time_of(tree.created)) is not None:
            out["createTime"] = time
            if tree.created.__class__ is not int and seconds_of(time) != tree.created:
                heads.round_date("microseconds", tree, d, log)
        else:
            d.lack("response.created", tree.at, log)  # a year of five digits
    if tree.id is not None:
        out["responseId"] = tree.id
    return out if tree.extras is None else emit(d, out, tree, log)


def is_blocked(d: Gemini, tree: Response) -> bool:
    """Whether the only candidate says what the fields say: that the prompt was blocked."""
    if tree.extras is None or not d.is_same(tree.extras.dialect):
        return False
    blocked = read_block(d, tree.extras.fields)
    return any(
        one.stop == two.stop and not one.message.content
        for one, two in zip(tree.candidates, blocked, strict=False)
    )


def read_block(d: Gemini, doc: dict[str, Json]) -> tuple[Candidate, ...]:
    """A prompt that was blocked has no reply; elsewhere, it has one that was filtered."""
    feedback, at = pick_dict(doc, "promptFeedback", "")
    word = None if feedback is None else pick_str(feedback, "blockReason", at)
    if word is None:
        return ()
    stop = Stop("filter", word, d.name)
    return (Candidate(Message("assistant", at=at), stop, at=at),)


def read_candidate(d: Gemini, doc: dict[str, Json], index: int, at: str) -> Candidate:
    content = maybe_dict(doc, "content", at)
    taken = CANDIDATE_KEYS
    if content is not None:
        where = f"{at}/content"
        blocks = turns.read_content(d, content, where, {})
        if not GROUNDING.isdisjoint(doc):
            blocks, whole = cited(blocks, doc, at)
            if whole:
                taken |= {"groundingMetadata"}
        extras = d.keep(content, CONTENT_KEYS)
        message = Message("assistant", tuple(blocks), at=where, extras=extras)
    else:
        message = Message("assistant", at=at)
    stop = read_stop(d, doc, message, at)
    if stop is None:
        taken -= both("finishMessage")
    return Candidate(message, stop, at=at, extras=d.keep(doc, taken))


def write_candidate(d: Gemini, candidate: Candidate, index: int, w: Writing) -> Json:
    content, grounding = write_reply_content(d, candidate.message, w)
    out: dict[str, Json] = {"content": content}
    write_stop(d, out, candidate, w)
    out["index"] = index
    if grounding is not None and not has_grounding(d, candidate.extras):
        out["groundingMetadata"] = grounding
    return out if candidate.extras is None else emit(d, out, candidate, w.log)


def has_grounding(d: Gemini, extras: Extras | None) -> bool:
    """Whether all that is cited was kept, as it says more than the citations do."""
    if extras is None or not d.is_same(extras.dialect):
        return False
    return not GROUNDING.isdisjoint(extras.fields)


def write_reply_content(d: Gemini, message: Message, w: Writing) -> tuple[Json, Json | None]:
    """The content of a reply, and what it cites, which stands beside it."""
    parts: list[Json] = []
    placed: list[tuple[int, Block]] = []
    called: dict[str, str] = {}
    for block in message.content:
        if block.__class__ is Text:
            if block.citations:
                placed.append((len(parts), block))
            if block.extras is None or d.is_mute(block.extras):
                parts.append({"text": block.text})  # the usual shape
                continue
        elif block.__class__ is ToolCall:
            parts.append(write_call(d, block, w, called))
            continue
        parts += write_part(d, block, w, called)
    grounding = grounded(placed) if placed else None
    return turns.write_content(d, message, "model", parts, w), grounding


def read_stop(d: Gemini, doc: dict[str, Json], message: Message, at: str) -> Stop | None:
    word, key = doc.get("finishReason"), "finishReason"
    if word.__class__ is not str or "finish_reason" in doc:
        word, key = pick(doc, "finishReason")
    if word.__class__ is int:
        word = NUMBERED[word] if 0 <= word < len(NUMBERED) else "OTHER"
    elif word is None:
        return None
    elif word.__class__ is not str:
        expected("a string", word, f"{at}/{key}")
    detail = pick_str(doc, "finishMessage", at)
    return Stop(d.stops.reason(word, message), word, d.name, detail=detail)


def write_stop(d: Gemini, out: dict[str, Json], candidate: Candidate, w: Writing) -> None:
    stop, word = candidate.stop, d.stop_word(candidate, w)
    if word is not None:
        out["finishReason"] = word
    if stop is not None and stop.detail is not None and d.is_same(stop.dialect):
        out["finishMessage"] = stop.detail


def read_counts(d: Gemini, doc: dict[str, Json], at: str) -> Usage:
    """What tools added to the prompt is counted apart, and is in the total."""
    if UNUSUAL_COUNTS.isdisjoint(doc):
        return with_total(d.counts.read(d, doc, at), doc.get("totalTokenCount"))
    names = {key: pick(doc, key)[1] for key in (*COUNTS.rows, TOOL_COUNT)}
    prompt = names["promptTokenCount"]
    tools, asked = (maybe_int(doc, key, at) for key in (names.pop(TOOL_COUNT), prompt))
    counted = doc if tools is None or asked is None else doc | {prompt: asked + tools}
    usage = d.counts.read(d, counted, at, spelled=names)
    return with_total(usage, doc.get(names["totalTokenCount"]))


def with_total(usage: Usage, total: Json) -> Usage:
    """A total without candidates says that there are none: zeros are left out."""
    if not usage.unsaid or total is None:
        return usage
    return replace(usage, unsaid=tuple(n for n in usage.unsaid if n != "output"))


def write_counts(d: Gemini, usage: Usage, w: Writing) -> Json:
    out, extras = d.counts.write(d, usage, w), usage.extras
    if w.same and extras is not None and "promptTokenCount" in out:
        out["promptTokenCount"] -= pick(extras.fields, TOOL_COUNT)[0] or 0
    return out if extras is None else emit(d, out, usage, w.log)


def read_error(d: Gemini, doc: Json) -> Failure:
    if doc.__class__ is str:
        return Failure("other", doc, dialect=d.name)
    if doc.__class__ is list and len(doc) == 1 and doc[0].__class__ is dict:
        return replace(read_error(d, doc[0]), at="/0")  # where a list of chunks was asked for
    doc = as_dict(doc, "")
    inner = doc.get("error")
    if inner.__class__ is not dict:
        words = inner if inner.__class__ is str else doc.get("message")
        message = words if words.__class__ is str else ""
        return Failure("other", message, dialect=d.name, extras=d.keep(doc, ()))
    known = [key for key in ("message", "status") if inner.get(key).__class__ is str]
    status = inner["status"] if "status" in known else None
    code, kind = ERRORS.get(status or "", (None, "other"))
    if code is not None and inner.get("code") == code and inner["code"].__class__ is int:
        known.append("code")  # the status says it
    extras = d.keep(doc, (), partly={"error": known})
    return Failure(
        kind,  # type: ignore[arg-type]
        inner["message"] if "message" in known else "",
        status,
        dialect=d.name,
        extras=extras,
    )


def write_error(d: Gemini, tree: Failure, log: Ledger) -> Json:
    same = d.is_same(tree.dialect)
    status = tree.type
    if not same:
        status = STATUSES[tree.kind]
        if ERRORS[status][1] != tree.kind:
            note_error_type(tree, status, log)
    d.note_error(tree, log)
    known = ERRORS.get(status or "")
    inner: dict[str, Json] = {"message": tree.message}
    if known is not None:
        inner = {"code": known[0], "message": tree.message}
    if status is not None:
        inner["status"] = status
    return emit(d, {"error": inner}, tree, log)
