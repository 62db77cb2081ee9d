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
from .messages import Messages, Plan, first_unfit, has_namespace, plan_of

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
    plan: Plan
    plain: bool
    """Whether it can hold texts and calls in this order."""
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
        plan = plan_of(can, "response")
        ranks, unfit = plan.ranks["assistant"], plan.rare["assistant"]
        plain = ranks.get(Text, 0) <= ranks.get(ToolCall, 0) and unfit.isdisjoint((Text, ToolCall))
        names = [*codes, "failure", "failure"]  # two at least, else it gives no tuple
        look = attrgetter(*names)
        found = LACKS[id(can)] = Lacks(can, plan, plain, codes, look, *others)
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
        if lacks.plain and is_plain(candidate.message):
            continue  # as many are
        message, plan = candidate.message, lacks.plan
        if message.content and message.content[0].__class__ in plan.rare[message.role]:
            return False  # reasoning comes first
        if first_unfit((message,), plan) is not None:
            return False
    return True


def is_plain(message: Message) -> bool:
    """Whether a reply is texts and then calls, none of them empty, with nothing to any of them."""
    if message.role != "assistant" or message.name is not None:
        return False
    called = False
    for block in message.content:
        if block.__class__ is ToolCall:
            called = True
            if block.kind != "function" or block.namespace is not None:
                return False
            if block.item_id is not None or block.cache is not None:
                return False
        elif block.__class__ is Text and not called:
            if block.citations or block.cache is not None:
                return False
            if not block.text or block.text.isspace():
                return False
        else:
            return False
    return True


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
