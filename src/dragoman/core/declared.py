"""What a dialect declares (``Dialect.can`` and ``Dialect.fields``) of each code of the ledger.

The matrix, ``explain`` and ``formats -f A -t B`` read it from here, so that none restates it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .capabilities import (
    ALL_MEDIA,
    EVERYWHERE,
    LACKED,
    MODES,
    NO_THINKING,
    Capabilities,
    Outputs,
    Places,
    ThinkingForm,
)
from .fields import NAMES, Field, Fields

YES, NO = "yes", "no"
LABELS = ("title", "filename", "context", "citable", "transcript", "detail")
REASONING = ("reasoning", "reasoning.signature", "reasoning.id", "reasoning.summary")
NO_OUTPUT = Outputs(labels=frozenset())
TRAINING = ("completion", "rejected", "label")
KINDS = ("image", "audio", "video", "document")


def declared(can: Capabilities, fields: Fields | None = None) -> dict[str, str]:
    """Of each code that a declaration decides: ``yes``, ``no``, or where and what it carries.

    A parameter that a method of the dialect writes, or that a predicate decides, is not in it.
    """
    found = dict(_all(can))
    if fields is not None:
        has_output = "output" in fields.methods and "output" not in fields.refuses
        found |= _outputs(can.outputs if has_output else NO_OUTPUT)
        found |= _thinking(can.thinking)
    for name, word in _parameters(fields) if fields is not None else ():
        if name == "cache":
            continue  # what is said of it is that of cache marks
        found[name] = _both(word, found[name]) if name in found else word
    return found


def _both(request: str, response: str) -> str:
    """One code for a parameter of requests and a field of responses."""
    if response == NO:
        return NO if request == NO else "requests" if request == YES else f"requests: {request}"
    return "responses" if request == NO else request


def _parameters(fields: Fields) -> Iterator[tuple[str, str]]:
    rows = {row.name: row for row in fields.rows}
    for name in NAMES:
        if name in rows:
            if (word := _row(rows[name])) is not None:
                yield name, word
        elif name not in fields.methods or name in fields.refuses:
            yield name, NO


def _row(row: Field) -> str | None:
    """What a parameter may be; None: a predicate knows."""
    if row.refused or (row.among is not None and not row.among):
        return NO
    if row.only is not None or row.fit is not None:
        return None
    if row.among is not None:
        return ", ".join(row.among)
    if row.count is not None:
        return f"up to {row.count}"
    if row.most is None:
        return YES if row.least is None else f"from {row.least:g}"
    return f"up to {row.most:g}" if row.least is None else f"{row.least:g} to {row.most:g}"


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
    for name in TRAINING:
        yield f"training.{name}", _bool(name in can.training)
    yield "candidates", YES if can.candidates is None else NO
    yield "response.failure", _bool(can.failed)
    for code in LACKED:
        yield code, _bool(code not in can.lacks)


def _choices(can: Capabilities) -> Iterator[tuple[str, str]]:
    modes = can.choices.modes
    yield "tool_choice", YES if modes >= MODES else _listed(sorted(m for m in modes if m), 4)
    yield "tool_choice.allowed", _bool(bool(can.choices.subsets & MODES))
    yield "tool_choice.parallel", _bool(bool(can.choices.parallel & MODES))


def _outputs(form: Outputs) -> Iterator[tuple[str, str]]:
    for label in ("name", "description", "strict"):
        yield f"output.{label}", _bool(label in form.labels)


def _thinking(form: ThinkingForm | None) -> Iterator[tuple[str, str]]:
    """How a request asks for reasoning."""
    form = form or NO_THINKING
    yield "thinking", _bool(bool(form.modes or form.efforts or form.budgets))
    yield "thinking.effort", ", ".join(form.efforts) or NO
    yield "thinking.budget", _bool(form.budgets)
    yield "thinking.display", ", ".join(form.displays) or NO


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
