"""What a dialect declares (``Dialect.can``) of each code of the ledger, in a word or two.

The matrix and ``explain`` read it from here, so that neither restates it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .capabilities import ALL_MEDIA, EVERYWHERE, LACKED, MODES, Capabilities, Places

YES, NO = "yes", "no"
LABELS = ("title", "filename", "context", "citable", "transcript", "detail")
REASONING = ("reasoning", "reasoning.signature", "reasoning.id", "reasoning.summary")
KINDS = ("image", "audio", "video", "document")


def declared(can: Capabilities) -> dict[str, str]:
    """Of each code that a declaration decides: ``yes``, ``no``, or where and what it carries."""
    return dict(_all(can))


def _all(can: Capabilities) -> Iterator[tuple[str, str]]:
    yield "message.name", _places(can.names)
    yield "refusal", _places(can.refusals)
    yield "passage", _places(can.passages)
    yield "tool_call.item_id", _places(can.item_ids)
    yield "tool_result.name", _bool(can.result_names)
    yield "tool_result.error", _bool(can.results.errors == "flag")
    yield "tool.namespace", _bool("namespace" in can.tools)
    yield "tool.deferred", _bool("deferred" in can.tools)
    yield "tool.strict", _bool(can.strict)
    yield "tool.kind", YES if can.freeform == "native" else NO
    yield from _choices(can)
    yield from _reasoning(can)
    yield "text.citations", _places(can.citations.places)
    yield "cache", _listed(sorted(can.caching.on), 10)
    yield "cache.ttl", _lifetimes(can)
    yield from _media(can)
    yield "candidates", YES if can.candidates is None else NO
    yield "response.failure", _bool(can.failed)
    for code in LACKED:
        yield code, _bool(code not in can.lacks)


def _choices(can: Capabilities) -> Iterator[tuple[str, str]]:
    modes = can.choices.modes
    yield "tool_choice", YES if modes >= MODES else _listed(sorted(m for m in modes if m), 4)
    yield "tool_choice.allowed", _bool(bool(can.choices.subsets & MODES))
    yield "tool_choice.parallel", _bool(bool(can.choices.parallel & MODES))


def _reasoning(can: Capabilities) -> Iterator[tuple[str, str]]:
    form = can.reasoning
    if form is None:
        yield from dict.fromkeys(REASONING, YES).items()
        return
    places = _places(form.places)
    yield "reasoning", "signed" if places == YES and "history" not in form.unsigned else places
    signers = sorted({who for who, _ in form.signatures})
    yield "reasoning.signature", _listed(signers, len(signers) + 1)
    yield "reasoning.id", _places(form.ids)
    summed = sorted({who for who, _ in form.summed})
    yield "reasoning.summary", _listed(summed, 0) if summed else _places(form.summaries)


def _lifetimes(can: Capabilities) -> str:
    if not can.caching.on:
        return NO
    return YES if can.caching.ttls is None else _listed(can.caching.ttls, 10)


def _media(can: Capabilities) -> Iterator[tuple[str, str]]:
    if can.media is ALL_MEDIA:
        yield from dict.fromkeys(("media", *(f"media.{label}" for label in LABELS)), YES).items()
        return
    yield "media", _listed([kind for kind in KINDS if kind in can.media.kinds], len(KINDS))
    for label in LABELS:
        taken = [kind for kind, form in can.media.kinds.items() if label in form.labels]
        yield f"media.{label}", _listed(taken, len(KINDS))


def _bool(value: bool) -> str:
    return YES if value else NO


def _places(places: Places) -> str:
    if places == EVERYWHERE:
        return YES
    return "history" if "history" in places else "responses" if places else NO


def _listed(words: Iterable[str], everything: int) -> str:
    """Some words; ``everything`` is how many of them there are."""
    found = list(words)
    return YES if len(found) == everything else ", ".join(found) or NO
