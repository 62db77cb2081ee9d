"""Responses on their way to a target: their fields, and how many candidates they have."""

from __future__ import annotations

from msgspec.structs import replace

from ...model import Candidate, Extras, Json, Refusal, Response, Stop, ToolCall
from ..capabilities import LACKED, Capabilities
from .messages import Messages


def fits(tree: Response, can: Capabilities) -> bool:
    """Whether a response has no field that the target lacks, and no more candidates than it has."""
    if can.candidates is not None and len(tree.candidates) > can.candidates:
        return False
    return not any(_has(tree, code) for code in can.lacks)


def _has(tree: Response, code: str) -> bool:
    if code in ROOT_FIELDS:
        value = getattr(tree, ROOT_FIELDS[code])
        return value is not None and not (isinstance(value, Extras) and not value.fields)
    return any(_field(candidate, code) is not None for candidate in tree.candidates)


def _field(candidate: Candidate, code: str) -> Json:
    if code == "logprobs":
        return candidate.logprobs
    stop = candidate.stop
    return None if stop is None else stop.sequence if code == "stop.sequence" else stop.detail


ROOT_FIELDS = {
    "response.id": "id",
    "response.model": "model",
    "response.created": "created",
    "response.echo": "echo",
    "service_tier": "service_tier",
}
"""Fields of a response by the codes of their losses; all others are fields of its candidates."""


def lower(tree: Response, lowering: Messages) -> Response:
    """A response with the fields and the candidates that the target has."""
    to, log = lowering.to, lowering.log
    most = len(tree.candidates) if to.can.candidates is None else to.can.candidates
    for other in tree.candidates[most:]:
        log.dropped("candidates", other.at, f"{to.name} has one candidate")
    for code, name in ROOT_FIELDS.items():
        if code in to.can.lacks and _has(tree, code):
            _lack(code, tree.at, lowering)
            tree = replace(tree, **{name: None})
    found = [_candidate(candidate, lowering) for candidate in tree.candidates[:most]]
    return replace(tree, candidates=tuple(found))


def _candidate(candidate: Candidate, lowering: Messages) -> Candidate:
    message, stop = lowering.message(candidate.message), _stop(candidate, lowering)
    lacks = lowering.to.can.lacks
    if message is not candidate.message:
        candidate = replace(candidate, message=message)
    if candidate.logprobs is not None and "logprobs" in lacks:
        _lack("logprobs", candidate.at, lowering)
        candidate = replace(candidate, logprobs=None)
    if stop is None or lowering.to.is_home(stop.dialect):
        return candidate
    if stop.sequence is not None and "stop.sequence" in lacks:
        _lack("stop.sequence", candidate.at, lowering)
        stop = replace(stop, sequence=None)
    if stop.detail is not None and "stop.detail" in lacks:
        _lack("stop.detail", candidate.at, lowering)
        stop = replace(stop, detail=None)
    return candidate if stop is candidate.stop else replace(candidate, stop=stop)


def _stop(candidate: Candidate, lowering: Messages) -> Stop | None:
    """Why a response ended, where that is read off a refusal which cannot be written."""
    to, stop = lowering.to, candidate.stop
    if stop is None or stop.reason != "filter" or to.can.refused == "filter":
        return stop
    if "response" in to.can.refusals or to.is_home(stop.dialect):
        return stop
    if not any(isinstance(block, Refusal) and block.text for block in candidate.message.content):
        return stop
    if not any(isinstance(block, ToolCall) for block in candidate.message.content):
        # Where there are calls, the writer says that they do not end it.
        why = f"{to.name} has no stop reason for refusals"
        lowering.log.approximated("stop.reason", candidate.at, why)
    return replace(stop, reason=to.can.refused)


def _lack(code: str, at: str, lowering: Messages) -> None:
    why = f"{lowering.to.name} has no field for {LACKED[code]}"
    lowering.log.dropped(code, at, why)
