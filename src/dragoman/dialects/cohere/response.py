"""Answers and errors of Cohere's, both ways."""

from __future__ import annotations

import re

from msgspec.structs import replace

from ...core.reading import (
    as_dict,
    expected,
    maybe_dict,
    maybe_str,
    need_dict,
    uncounted,
)
from ...core.writing import wants_calls_run
from ...ledger import Ledger
from ...model import (
    Candidate,
    ErrorKind,
    Extras,
    Failure,
    Json,
    Message,
    Response,
    Stop,
    StopReason,
    Usage,
)
from .documents import CohereWriting, respell
from .request import Requests

# https://docs.cohere.com/reference/chat, finish_reason; the last two are of version 1.
STOP: dict[str, StopReason] = {
    "COMPLETE": "end",
    "STOP_SEQUENCE": "stop-sequence",
    "MAX_TOKENS": "length",
    "TOOL_CALL": "tool-call",
    "ERROR": "error",
    "TIMEOUT": "error",
    "ERROR_LIMIT": "context",
    "ERROR_TOXIC": "filter",
}
# What stands for each reason here; a cut answer must not look complete.
STOP_WORDS: dict[StopReason, str] = {
    "end": "COMPLETE",
    "stop-sequence": "STOP_SEQUENCE",
    "length": "MAX_TOKENS",
    "context": "MAX_TOKENS",
    "tool-call": "TOOL_CALL",
    "filter": "ERROR",
    "pause": "MAX_TOKENS",
    "compaction": "MAX_TOKENS",
    "cancelled": "ERROR",
    "error": "ERROR",
    "unfinished": "ERROR",
    "other": "COMPLETE",
}
RESPONSE_KEYS = frozenset({"id", "finish_reason", "message", "usage"})
TOKENS = ("input_tokens", "output_tokens", "reasoning_tokens")
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


class Responses(Requests):
    """Reading and writing answers."""

    # -- reading ----------------------------------------------------------------------------

    def read_response(self, doc: Json) -> Response:
        doc = as_dict(doc, "")
        if doc.get("message").__class__ is str:
            return Response(None, None, (), failure=self.read_error(doc), dialect=self.name)
        usage = maybe_dict(doc, "usage", "")
        return Response(
            maybe_str(doc, "id", ""),
            None,
            (self.read_candidate(doc),),
            self.read_usage(usage, "/usage") if usage else None,
            dialect=self.name,
            extras=self.keep(doc, RESPONSE_KEYS),
        )

    def read_candidate(self, doc: dict[str, Json]) -> Candidate:
        said = need_dict(doc, "message", "")
        message = self.read_assistant(said, "/message", answer=True)
        if said.get("role") != "assistant":
            role = [said["role"]] if "role" in said else []
            message = replace(message, extras=self.respell(message.extras, role=role))
        word = maybe_str(doc, "finish_reason", "")
        stop = None if word is None else Stop(STOP.get(word, "other"), word, self.name)
        return Candidate(message, stop, at="")

    def read_usage(self, doc: dict[str, Json], at: str) -> Usage:
        """Tokens as they are; where only what is billed was counted, that."""
        tokens = maybe_dict(doc, "tokens", at)
        billed = maybe_dict(doc, "billed_units", at)
        counts, where = tokens or billed or {}, f"{at}/tokens" if tokens else f"{at}/billed_units"
        asked, answered, reasoning = (count(counts, key, where) for key in TOKENS)
        cached = count(doc, "cached_tokens", at)
        places = [(tokens or {}, key) for key in TOKENS] + [(doc, "cached_tokens")]
        spelling: dict[str, Json] = {
            f"float {key}": None for holder, key in places if holder.get(key).__class__ is float
        }
        known = [key for key in TOKENS if counts.get(key) is not None]
        if not tokens:
            spelling["tokens"] = None
        elif {"input_tokens", "output_tokens"} - set(known):
            spelling |= {f"unknown {key}": None for key in TOKENS if key not in known}
        rest, said = (asked or 0) - (cached or 0), (answered or 0) - (reasoning or 0)
        if rest < 0:
            spelling["input_tokens"] = asked or 0
        if said < 0:
            spelling["output_tokens"] = answered or 0
        partly = {"tokens": known} if tokens else {}
        extras = self.keep(doc, ("cached_tokens",), spelling or None, partly=partly)
        unsaid = uncounted(asked, answered)
        return Usage(
            max(rest, 0), cached, None, None, max(said, 0), reasoning, unsaid, at=at, extras=extras
        )

    # -- writing ----------------------------------------------------------------------------

    def write_response(self, tree: Response, log: Ledger) -> Json:
        w = CohereWriting(log, self.is_home(tree.dialect), answer=True)
        first = tree.candidates[0] if tree.candidates else Candidate(Message("assistant"))
        if not tree.candidates:
            log.invented("candidates", tree.at, "there is one answer here")
        out: dict[str, Json] = {}
        if tree.id is not None:
            out["id"] = tree.id
        elif not w.home:
            out["id"] = log.ids("msg") if log.ids else "msg_1"
            log.invented("response.id", "", f"an answer has an id: {out['id']!r}")
        out["message"] = self.write_answer(first, w)
        self.write_stop(out, first, w)
        if tree.usage is not None:
            out["usage"] = self.write_usage(tree.usage, w)
        if not w.home:
            self.lose(first.extras, first.at, log)
        return self.emit(out, tree, log)

    def write_answer(self, candidate: Candidate, w: CohereWriting) -> Json:
        doc = self.write_assistant(candidate.message, w)
        assert doc is not None
        if "role" in (spelling := self.spelling(candidate.message)):
            respell(doc, "role", spelling["role"])
        return doc

    def write_stop(self, out: dict[str, Json], candidate: Candidate, w: CohereWriting) -> None:
        stop = candidate.stop
        if stop is None:
            if not w.home:
                out["finish_reason"] = self.invent_stop(candidate, "MAX_TOKENS", w.log)
            return
        if self.is_home(stop.dialect):
            out["finish_reason"] = stop.native
            return
        reason: StopReason = "tool-call" if wants_calls_run(candidate) else stop.reason
        word = out["finish_reason"] = STOP_WORDS[reason]
        if STOP[word] != stop.reason:
            self.note_stop(candidate, word, w.log)

    def write_usage(self, usage: Usage, w: CohereWriting) -> Json:
        spelling = self.spelling(usage)
        tokens: dict[str, Json] = {
            "input_tokens": usage.input_total,
            "output_tokens": usage.output_total,
        }
        if not w.home:
            unsaid = [f"{name}_tokens" for name in usage.unsaid]
            tokens = {key: n for key, n in tokens.items() if key not in unsaid}
        if usage.reasoning is not None:
            tokens["reasoning_tokens"] = usage.reasoning
        tokens |= {key: spelling[key] for key in TOKENS if key in spelling}
        tokens = {
            key: float(value) if f"float {key}" in spelling else value
            for key, value in tokens.items()
            if f"unknown {key}" not in spelling
        }
        out: dict[str, Json] = {} if "tokens" in spelling else {"tokens": tokens}
        if usage.cache_read is not None:
            cached = usage.cache_read
            out["cached_tokens"] = float(cached) if "float cached_tokens" in spelling else cached
        self.note_counts(usage, w.log, omits=True)
        return self.emit(out, usage, w.log)

    # -- errors -----------------------------------------------------------------------------

    def read_error(self, doc: Json) -> Failure:
        """``{"id", "message"}``, and rarely a type."""
        doc = as_dict(doc, "")
        said = doc.get("message")
        if said.__class__ is not str:  # from a proxy, perhaps
            extras = Extras(self.name, doc, spelling={"whole": True})
            return Failure("other", "", dialect=self.name, extras=extras)
        kind = maybe_str(doc, "error_type", "")
        return Failure(
            kind_of(kind, said),
            said,
            kind,
            request_id=maybe_str(doc, "id", ""),
            dialect=self.name,
            extras=self.keep(doc, ("id", "message", "error_type")),
        )

    def write_error(self, tree: Failure, log: Ledger) -> Json:
        if self.spelling(tree).get("whole") and tree.extras is not None:
            return tree.extras.fields
        home = self.is_home(tree.dialect)
        out: dict[str, Json] = {} if tree.request_id is None else {"id": tree.request_id}
        out["message"] = tree.message
        if home and tree.type is not None:
            out["error_type"] = tree.type
        elif not home:
            kind = kind_of(None, tree.message)
            if kind != tree.kind or (kind == "other" and tree.type is not None):
                self.lack("error.type", tree.at, log)
        self.note_error(tree, log)
        return self.emit(out, tree, log)


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
