"""Responses on their way to a target: their fields, and how many candidates they have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ...ledger import Ledger
from ...model import Candidate, Extras, Message, Refusal, Response, Stop, Text, ToolCall
from ..capabilities import LACKED, Capabilities
from .messages import Messages, first_unfit, has_namespace, plan_of

if TYPE_CHECKING:
    from ...dialect import Dialect

ROOT_FIELDS = {
    "response.id": "id",
    "response.model": "model",
    "response.created": "created",
    "response.echo": "echo",
    "service_tier": "service_tier",
}
"""Fields of a response by the codes of their losses; all others are fields of its candidates."""


class Lacks(Struct, frozen=True):
    """The fields that a target lacks."""

    can: Capabilities
    codes: dict[str, str]
    """Of a response: their names, and the codes of their losses."""
    look: Callable[[Response], tuple[Any, ...]]
    """Gives all of these at once, and something else after them."""
    logprobs: bool
    sequence: bool
    detail: bool


LACKS: dict[int, Lacks] = {}


def lacks_of(can: Capabilities) -> Lacks:
    """What to look at, made once for each declaration, as in ``plan_of``."""
    found = LACKS.get(id(can))
    if found is None:
        codes = {name: code for code, name in ROOT_FIELDS.items() if code in can.lacks}
        others = (code in can.lacks for code in ("logprobs", "stop.sequence", "stop.detail"))
        names = [*codes, "failure", "failure"]  # two at least, else it gives no tuple
        look = attrgetter(*names)
        found = LACKS[id(can)] = Lacks(can, codes, look, *others)
    return found


def lower(tree: Response, to: Dialect, log: Ledger) -> Response:
    """A response with the fields and the candidates that the target has."""
    can, candidates = to.can, tree.candidates
    if can.candidates is not None and len(candidates) > can.candidates:
        for other in candidates[can.candidates :]:
            log.dropped("candidates", other.at, f"{to.name} has one candidate")
        candidates = candidates[: can.candidates]
    lacks = LACKS.get(id(can)) or lacks_of(can)
    changed: dict[str, None] = {}
    for name, value in zip(lacks.codes, lacks.look(tree), strict=False):
        if value is not None and (value.__class__ is not Extras or value.fields):
            changed[name] = None
    if changed:
        log.later(_lack_fields, tree, to, lacks, changed)
    if not _fit(candidates, lacks):
        lowering = Messages(to, log, "response")
        candidates = tuple([_candidate(candidate, lowering) for candidate in candidates])
    if changed:
        return replace(tree, candidates=candidates, **changed)
    return tree if candidates is tree.candidates else replace(tree, candidates=candidates)


def _lack_fields(
    tree: Response, to: Dialect, lacks: Lacks, names: Iterable[str], log: Ledger
) -> None:
    for name in names:
        _lack(lacks.codes[name], tree.at, to, log)


def _fit(candidates: tuple[Candidate, ...], lacks: Lacks) -> bool:
    """Whether there is nothing to lower in any of them."""
    for candidate in candidates:
        if lacks.logprobs and candidate.logprobs is not None:
            return False
        if (stop := candidate.stop) is not None:
            if lacks.sequence and stop.sequence is not None:
                return False
            if lacks.detail and stop.detail is not None:
                return False
        message = candidate.message
        if is_words(message):
            continue  # as many are
        plan = plan_of(lacks.can, "response")
        content = message.content
        if content and content[0].__class__ in plan.rare[message.role]:
            return False  # reasoning comes first
        if first_unfit((message,), plan) is not None:
            return False
    return True


def is_words(message: Message) -> bool:
    """Whether a reply is one text with nothing to it, and not empty: that fits everywhere."""
    content = message.content
    if len(content) != 1 or message.role != "assistant" or message.name is not None:
        return False
    text = content[0]
    if text.__class__ is not Text or text.citations or text.cache is not None:
        return False
    return bool(text.text) and not text.text.isspace()


def _candidate(candidate: Candidate, lowering: Messages) -> Candidate:
    lowering.plain = not has_namespace((candidate.message,))
    message, stop = lowering.message(candidate.message), _stop(candidate, lowering)
    lacks = lowering.to.can.lacks
    if message is not candidate.message:
        candidate = replace(candidate, message=message)
    if candidate.logprobs is not None and "logprobs" in lacks:
        _lack("logprobs", candidate.at, lowering.to, lowering.log)
        candidate = replace(candidate, logprobs=None)
    if stop is None or lowering.to.is_same(stop.dialect):
        return candidate
    if stop.sequence is not None and "stop.sequence" in lacks:
        _lack("stop.sequence", candidate.at, lowering.to, lowering.log)
        stop = replace(stop, sequence=None)
    if stop.detail is not None and "stop.detail" in lacks:
        _lack("stop.detail", candidate.at, lowering.to, lowering.log)
        stop = replace(stop, detail=None)
    return candidate if stop is candidate.stop else replace(candidate, stop=stop)


def _stop(candidate: Candidate, lowering: Messages) -> Stop | None:
    """Why a response ended, where that is read off a refusal which cannot be written."""
    to, stop = lowering.to, candidate.stop
    if stop is None or stop.reason != "filter" or to.can.refused == "filter":
        return stop
    if "response" in to.can.refusals or to.is_same(stop.dialect):
        return stop
    if not any(isinstance(block, Refusal) and block.text for block in candidate.message.content):
        return stop
    if not any(isinstance(block, ToolCall) for block in candidate.message.content):
        # Where there are calls, the writer says that they do not end it.
        why = f"{to.name} has no stop reason for refusals"
        lowering.log.approximated("stop.reason", candidate.at, why)
    return replace(stop, reason=to.can.refused)


def _lack(code: str, at: str, to: Dialect, log: Ledger) -> None:
    log.dropped(code, at, f"{to.name} has no field for {LACKED[code]}")
