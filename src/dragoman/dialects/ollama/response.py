"""Replies and errors of Ollama, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core import heads
from ...core.counts import INPUT, OUTPUT, Counts
from ...core.reading import as_dict, maybe_str, need_dict
from ...core.words import Stops
from ...ledger import Ledger
from ...model import Candidate, ErrorKind, Failure, Json, Response, Usage
from . import messages
from .dates import date_of, seconds_of
from .messages import OllamaWriting

if TYPE_CHECKING:
    from . import Ollama


# https://github.com/ollama/ollama/blob/main/docs/api.md
STOPS = Stops(
    {"stop": "end", "length": "length", "load": "other", "unload": "other"},
    {"stop-sequence": "stop", "tool-call": "stop", "other": "stop"},
    rest="length",  # a cut reply must not look complete
    vague=("stop",),
)
COUNTS = Counts({"prompt_eval_count": INPUT, "eval_count": OUTPUT}, omits=True)
RESPONSE_KEYS = frozenset({"model", "created_at", "message", "done", "done_reason", *COUNTS.rows})


def read_response(d: Ollama, doc: Json) -> Response:
    doc = as_dict(doc, "")
    if doc.get("error") is not None and doc.get("message") is None:
        return Response(None, None, (), failure=read_error(d, doc), dialect=d.name)
    date = maybe_str(doc, "created_at", "")
    created = None if date is None else seconds_of(date)
    taken = RESPONSE_KEYS if created is not None else RESPONSE_KEYS - {"created_at"}
    return Response(
        None,
        maybe_str(doc, "model", ""),
        (read_candidate(d, doc),),
        read_counts(d, doc),
        created,
        dialect=d.name,
        extras=d.keep(doc, taken),
    )


def write_response(d: Ollama, tree: Response, log: Ledger) -> Json:
    w = OllamaWriting(log, d.is_same(tree.dialect), reply=True)
    out: dict[str, Json] = {}
    write_head(d, out, tree, w)
    first = heads.only_candidate(d, tree, log)
    out["message"] = messages.write_turn(d, first.message, w)
    out["done"] = True
    if (word := d.stop_word(first, w)) is not None:
        out["done_reason"] = word
    if not w.same:
        d.lose(first.extras, first.at, log)
    if tree.usage is not None:
        counted = d.write_usage(tree.usage, w)
        if not counted and not w.same:
            d.lose_usage(tree.usage, log)
        out |= counted
    return d.emit(out, tree, log)


def write_head(d: Ollama, out: dict[str, Json], tree: Response, w: OllamaWriting) -> None:
    heads.put_model(d, out, tree, w)
    heads.put_created(d, out, "created_at", tree, w, date_of)
    if tree.created is not None and seconds_of(out["created_at"]) != tree.created:
        heads.round_date("nanoseconds", tree, d, w.log)


def read_candidate(d: Ollama, doc: dict[str, Json]) -> Candidate:
    given = need_dict(doc, "message", "")
    message = messages.read_turn(d, given, "assistant", "/message", reply=True)
    stop = d.stop_of(maybe_str(doc, "done_reason", ""), message)
    return Candidate(message, stop, at="")


def read_counts(d: Ollama, doc: dict[str, Json]) -> Usage | None:
    """The usage, whose counts are fields of the response."""
    given = {key: doc[key] for key in COUNTS.rows if doc.get(key) is not None}
    if not given:
        return None
    return replace(d.read_usage(given, ""), at=f"/{next(iter(given))}")


def read_error(d: Ollama, doc: Json) -> Failure:
    doc = as_dict(doc, "")
    given = doc.get("error")
    if given.__class__ is not str:  # from a proxy, perhaps
        inner = given.get("message") if given.__class__ is dict else None
        words = inner if inner.__class__ is str else ""
        return Failure("other", words, dialect=d.name, extras=d.keep(doc, ()))
    return Failure(kind_of(given), given, dialect=d.name, extras=d.keep(doc, ("error",)))


def write_error(d: Ollama, tree: Failure, log: Ledger) -> Json:
    if not d.is_same(tree.dialect):
        if tree.type is not None or kind_of(tree.message) != tree.kind:
            d.lack("error.type", tree.at, log)
        d.note_error(tree, log)
    return d.emit({"error": tree.message}, tree, log)


def kind_of(message: str) -> ErrorKind:
    """What an error is about, by its words: there is nothing else."""
    if message.endswith("not found") or "not found, try pulling" in message:
        return "not-found"
    return "authentication" if message == "unauthorized" else "other"
