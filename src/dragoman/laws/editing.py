"""What clients do to a document before they send it back, and what must come back then.

The edits are made on the JSON of every dialect that has a list of turns, one at a time; the law
compares items of plain JSON. Nothing here knows how a capsule is made or opened, or how a document
is read: ``convert`` and ``check`` are all that is asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..check import check
from ..model import Json
from .edited import PROMPTS, Edited, applies, is_stated, ways
from .edits import NEW, OTHER, SAME
from .gist import flat
from .turns_back import Choices, Group, groups_of
from .wire import INNER, TURNS, WHOLE_REPLIES, as_text, replies, rounds, turns_in, with_turns


def law(body: Json, source: str, facet: str, target: str) -> None:
    """Every edit, one at a time; raises ``AssertionError`` with all that do not hold."""
    if not applies(source, target, facet) or is_divided(body, source):
        return
    broken = [
        f"{way.edit}: {problem}"
        for way in ways(body, source, target, facet=facet)
        for problem in problems(way)
    ]
    assert not broken, "\n".join(broken)


def is_divided(body: Json, source: str) -> bool:
    """Whether the conversation stands in several lists, of which the law sees one."""
    return source == "otel-genai" and isinstance(body, dict)


def problems(way: Edited) -> Iterator[str]:
    """What is wrong with what came back."""
    yield from _turn_by_turn(way)
    if way.means_the_same:
        yield from _all_of_it(way)
    for loss in _lost(way):
        if not _resolves(way.echoed, loss.path):
            yield f"{loss} points nowhere"
    if way.facet == "request":
        yield from _broken_rules(way)


def _lost(way: Edited) -> list[Any]:
    return [loss for loss in way.result.losses if loss.what == "capsule"]


def _all_of_it(way: Edited) -> Iterator[str]:
    """All means the same, so nothing is left out, and settings are as they were in their order."""
    a, b = (_settings(document, way) for document in (way.result.document, way.original))
    was, now = (_settings(document, way) for document in (way.back.document, way.plain.document))
    omitted = any((loss.kind, loss.what) == ("dropped", "thinking") for loss in way.result.losses)
    if as_text(a) != as_text(b) and (as_text(was) != as_text(now) or omitted):
        # A setting that an API takes only beside what the client has removed (thinking, beside
        # reasoning in the last turn) is not written, so there is nothing to be restored.
        if not way.result.losses:
            yield f"a setting is left out, and not reported: {as_text(now)[:300]}"
        return
    if as_text(a) != as_text(b):
        yield f"other settings: {as_text(a)[:300]}\n  wanted {as_text(b)[:300]}"
    for loss in _lost(way):
        yield f"all means the same, and still: {loss}"


def _settings(document: Json, way: Edited) -> Json:
    """A document without its turns and its prompt; an empty prompt is a setting."""
    rest = with_turns(document, way.source, None)
    return {k: v for k, v in rest.items() if k not in PROMPTS or not is_stated(v)} if rest else rest


def _broken_rules(way: Edited) -> Iterator[str]:
    """What comes back breaks no rule of its API that was kept before.

    It is what the client's edit makes of the original: a rule that the same edit of the original
    breaks (the word that a setting asks for is gone with its turn, a call without a signature is
    in the last turn now) is between the client and the API. A system prompt that the target does
    not store may be gone with the first turn, if that is reported.
    """
    problems_ = check(way.result.document, way.source)
    if not problems_:
        return
    known = [way.original, way.plain.document]
    turns = json.loads(json.dumps(turns_in(way.original, way.source) or []))
    edited = (SAME | OTHER)[way.edit](turns, way.source)
    if edited is not None:
        known.append(with_turns(way.original, way.source, edited))
        if _lost(way) and way.loses_prompts:
            known.append(way.without_prompts(known[-1]))
    allowed = {problem.rule for document in known for problem in check(document, way.source)}
    for problem in problems_:
        if problem.rule not in allowed:
            yield f"breaks a rule: {problem}"


def _turn_by_turn(way: Edited) -> Iterator[str]:
    """Each turn is the original, whole, or what the plain conversion has, in the same order."""
    was, now = way.turns(way.back.document), way.turns(way.plain.document)
    groups = groups_of(was, way.turns(way.original))
    came = way.items(way.result.document)
    missing = {n for n, g in enumerate(groups) if flat(was[g.start : g.end]) != g.original}
    at = 0
    if groups and groups[0].end == 0 and came[: len(groups[0].original)] == groups[0].original:
        at = len(groups[0].original)  # nothing of the original was there, so it stands in front
        missing.discard(0)
    choices = Choices(way, was, now, groups)
    restored, index, at = choices.follow(came, at)
    if index < len(now):
        wanted = "\n  or ".join(as_text(how.items)[:300] for how in choices.at(index, came[at:]))
        yield f"not as it was: {as_text(came[at : at + 2])[:400]}\n  wanted {wanted}"
        return
    if at < len(came):
        yield f"stands there, and no turn of the client: {as_text(came[at:])[:300]}"
    here = [as_text(item) for item in came]
    missing = {n for n in missing - restored if not _are_among(groups[n].original, here)}
    if missing and not _lost(way) and not way.means_the_same:
        yield "left out, and not reported"
    if way.edit == "words changed" and _is_missed(way, missing, groups, was, now):
        if not _is_pointed_at(way):
            yield "reported, and not at the turn that has changed"


def _are_among(items: list[Json], texts: list[str]) -> bool:
    """Whether all items are there, in this order."""
    rest = iter(texts)
    return bool(items) and all(as_text(item) in rest for item in items)


def _is_missed(
    way: Edited, missing: set[int], groups: list[Group], was: list[Any], now: list[Any]
) -> bool:
    """Whether something was left out for the turn whose words have changed."""
    changed = {n for n, turn in enumerate(now) if NEW in as_text(turn)}
    if len(was) != len(now):
        return False
    exact = [groups[n] for n in missing if not groups[n].loose]
    return any(changed & set(range(group.start, group.end)) for group in exact)


def _is_pointed_at(way: Edited) -> bool:
    """Whether a loss is at the turn whose words have changed."""
    turns = turns_in(way.echoed, way.target) or []
    base = "" if isinstance(way.echoed, list) else f"/{TURNS[way.target]}"
    base = f"/{INNER[way.target]}{base}" if way.target in INNER else base
    runs = (replies if way.source in WHOLE_REPLIES else rounds)(turns, way.target)
    for start, end in runs:
        if NEW in as_text(turns[start:end]):
            places = [f"{base}/{number}" for number in range(start, end)]
            return any(f"{loss.path}/".startswith(f"{p}/") for loss in _lost(way) for p in places)
    return False


def _resolves(doc: Json, pointer: str) -> bool:
    try:
        for token in pointer.split("/")[1:]:
            token = token.replace("~1", "/").replace("~0", "~")
            doc = doc[int(token)] if isinstance(doc, list) else doc[token]
    except (LookupError, ValueError, TypeError):
        return False
    return True
