"""Answers and errors of Ollama, both ways."""

from __future__ import annotations

from ...core.reading import (
    as_dict,
    maybe_int,
    maybe_str,
    need_dict,
    uncounted,
)
from ...core.writing import has_blank
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
    ToolCall,
    Usage,
)
from .dates import date_of, seconds_of
from .messages import OllamaWriting
from .request import Requests

# https://github.com/ollama/ollama/blob/main/docs/api.md
STOP: dict[str, StopReason] = {
    "stop": "end",
    "length": "length",
    "load": "other",
    "unload": "other",
}
# What stands for each reason here; a cut answer must not look complete.
STOP_WORDS: dict[StopReason, str] = {
    "end": "stop",
    "stop-sequence": "stop",
    "length": "length",
    "context": "length",
    "tool-call": "stop",
    "filter": "length",
    "pause": "length",
    "compaction": "length",
    "cancelled": "length",
    "error": "length",
    "unfinished": "length",
    "other": "stop",
}
COUNTS = ("prompt_eval_count", "eval_count")
RESPONSE_KEYS = frozenset({"model", "created_at", "message", "done", "done_reason", *COUNTS})


class Responses(Requests):
    """Reading and writing answers."""

    def read_response(self, doc: Json) -> Response:
        doc = as_dict(doc, "")
        if doc.get("error") is not None and doc.get("message") is None:
            return Response(None, None, (), failure=self.read_error(doc), dialect=self.name)
        spelling: dict[str, Json] = {}
        taken = set(RESPONSE_KEYS)
        created, date = None, maybe_str(doc, "created_at", "")
        if date is not None:
            created = seconds_of(date)
            if created is None:
                taken.discard("created_at")
            elif date_of(created) != date:
                spelling["created_at"] = date
        if doc.get("done") is not True:
            spelling["done"] = doc.get("done", "absent")
        return Response(
            None,
            maybe_str(doc, "model", ""),
            (self.read_candidate(doc),),
            self.read_usage(doc),
            created,
            dialect=self.name,
            extras=self.keep(doc, taken, spelling or None),
        )

    def read_candidate(self, doc: dict[str, Json]) -> Candidate:
        said = need_dict(doc, "message", "")
        message = self.read_turn(said, "assistant", "/message", answer=True)
        if (role := maybe_str(said, "role", message.at)) != "assistant":
            extras = self.respell(message.extras, role=role)
            message = Message("assistant", message.content, at=message.at, extras=extras)
        word = maybe_str(doc, "done_reason", "")
        stop = None if word is None else Stop(stop_reason(word, message), word, self.name)
        return Candidate(message, stop, at="")

    def read_usage(self, doc: dict[str, Json]) -> Usage | None:
        asked, answered = (maybe_int(doc, key, "") for key in COUNTS)
        if asked is None and answered is None:
            return None
        spelling: dict[str, Json] = {k: None for k in COUNTS if doc.get(k) is None}
        extras = Extras(self.name, spelling=spelling) if spelling else None
        at = f"/{COUNTS[0] if asked is not None else COUNTS[1]}"
        unsaid = uncounted(asked, answered)
        asked, answered = max(asked or 0, 0), max(answered or 0, 0)
        return Usage(asked, output=answered, unsaid=unsaid, at=at, extras=extras)

    def write_response(self, tree: Response, log: Ledger) -> Json:
        w = OllamaWriting(log, self.is_home(tree.dialect), answer=True)
        spelling = self.spelling(tree)
        out: dict[str, Json] = {}
        self.write_head(out, tree, w)
        first = tree.candidates[0] if tree.candidates else Candidate(Message("assistant"))
        if not tree.candidates:
            log.invented("candidates", tree.at, "there is one answer here")
        out["message"] = self.write_answer(first, w)
        out["done"] = spelling.get("done", True)
        if out["done"] == "absent":
            del out["done"]
        self.write_stop(out, first, w)
        if not w.home:
            self.lose(first.extras, first.at, log)
        if tree.usage is not None:
            self.write_usage(out, tree.usage, w)
        return self.emit(out, tree, log)

    def write_head(self, out: dict[str, Json], tree: Response, w: OllamaWriting) -> None:
        log = w.log
        if tree.model is not None:
            out["model"] = tree.model
        elif not w.home:
            out["model"] = ""
            log.invented("response.model", "", "an answer names its model")
        if tree.created is not None:
            date = self.spelling(tree).get("created_at") or date_of(tree.created)
            out["created_at"] = date
            if seconds_of(date) != tree.created:
                log.approximated("response.created", tree.at, "millionths of seconds here")
        elif not w.home:
            out["created_at"] = date_of(int(log.now or 0))
            log.invented("response.created", "", "an answer bears a date here")

    def write_answer(self, candidate: Candidate, w: OllamaWriting) -> Json:
        doc = self.write_turn(candidate.message, w)
        if "role" in (spelling := self.spelling(candidate.message)):
            doc["role"] = spelling["role"]
            if doc["role"] is None and not has_blank(candidate.message, "role"):
                del doc["role"]
        return doc

    def write_stop(self, out: dict[str, Json], candidate: Candidate, w: OllamaWriting) -> None:
        stop = candidate.stop
        if stop is None:
            if not w.home:
                out["done_reason"] = self.invent_stop(candidate, "length", w.log)
            return
        if self.is_home(stop.dialect):
            out["done_reason"] = stop.native
            return
        word = out["done_reason"] = STOP_WORDS[stop.reason]
        if stop_reason(word, candidate.message) != stop.reason:
            self.note_stop(candidate, word, w.log)

    def write_usage(self, out: dict[str, Json], usage: Usage, w: OllamaWriting) -> None:
        out["prompt_eval_count"], out["eval_count"] = usage.input_total, usage.output_total
        for key in self.spelling(usage):
            del out[key]
        if w.home:
            return
        for name, key in zip(("input", "output"), COUNTS, strict=True):
            if name in usage.unsaid:
                out.pop(key, None)
        self.note_counts(usage, w.log, omits=True)
        self.lose(usage.extras, usage.at, w.log)

    # -- errors -----------------------------------------------------------------------------

    def read_error(self, doc: Json) -> Failure:
        doc = as_dict(doc, "")
        said = doc.get("error")
        if said.__class__ is not str:  # from a proxy, perhaps
            inner = said.get("message") if said.__class__ is dict else None
            words = inner if inner.__class__ is str else ""
            extras = Extras(self.name, doc, spelling={"whole": True})
            return Failure("other", words, dialect=self.name, extras=extras)
        return Failure(kind_of(said), said, dialect=self.name, extras=self.keep(doc, ("error",)))

    def write_error(self, tree: Failure, log: Ledger) -> Json:
        if self.spelling(tree).get("whole") and tree.extras is not None:
            return tree.extras.fields
        if not self.is_home(tree.dialect):
            if tree.type is not None or kind_of(tree.message) != tree.kind:
                self.lack("error.type", tree.at, log)
            self.note_error(tree, log)
        return self.emit({"error": tree.message}, tree, log)


def stop_reason(word: str, message: Message) -> StopReason:
    """Why an answer ended; its content knows better than a bare "stop"."""
    reason = STOP.get(word, "other")
    if reason == "end" and any(isinstance(block, ToolCall) for block in message.content):
        return "tool-call"
    return reason


def kind_of(message: str) -> ErrorKind:
    """What an error is about, by its words: there is nothing else."""
    if message.endswith("not found") or "not found, try pulling" in message:
        return "not-found"
    return "authentication" if message == "unauthorized" else "other"
