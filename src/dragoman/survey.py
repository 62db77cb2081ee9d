"""What a pair of dialects cannot carry, found out by trying.

Probes are small conversations, each about one thing. What the source can say whole is converted to
the target, and the ledger tells the rest. So the reply holds for every dialect there is, those of
other packages included, and never for more than was tried.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from . import dialects
from .convert import convert
from .errors import Unsayable
from .ledger import Ledger, Loss
from .model import Json


class Probe(NamedTuple):
    """One document: ``title`` says what it is about."""

    case: str
    title: str
    dialect: str
    facet: str
    document: Json


class Finding(NamedTuple):
    """One kind of loss under one code: the first of them, and the cases in which it came up."""

    loss: Loss
    cases: tuple[str, ...]


class Survey(NamedTuple):
    """What came of all probes."""

    tried: int
    """How many of them the source can say whole, and were converted."""
    whole: int
    """How many of those arrived whole."""
    refused: tuple[str, ...]
    """The cases for which the target has no form at all."""
    findings: tuple[Finding, ...]


def survey(probes: Iterable[Probe], source: str, target: str, facet: str | None = None) -> Survey:
    """Everything that the probes show to be lost between two dialects."""
    tried = whole = 0
    refused: list[str] = []
    found: dict[tuple[str, str], Finding] = {}
    for probe in probes:
        if facet not in (None, probe.facet) or not speaks(target, probe.facet):
            continue
        document = say(probe, source)
        if document is None or not speaks(source, probe.facet, "read"):
            continue
        tried += 1
        losses = lost(document, source, target, probe.facet)
        if losses is None:
            refused.append(probe.case)
            continue
        whole += not losses
        for loss in losses:
            key = loss.kind, loss.what
            known = found.get(key, Finding(loss, ()))
            cases = dict.fromkeys((*known.cases, probe.case))
            found[key] = Finding(known.loss, tuple(cases))
    return Survey(tried, whole, tuple(refused), tuple(found.values()))


def say(probe: Probe, dialect: str) -> Json | None:
    """The probe in a dialect; None where that cannot say it whole."""
    if probe.dialect == dialect:
        return probe.document
    if not speaks(dialect, probe.facet):
        return None
    tree = dialects.get(probe.dialect).read(probe.document, probe.facet)
    log = Ledger(now=0)
    try:
        document = dialects.get(dialect).write(tree, log)
    except Unsayable:
        return None
    return None if any(map(is_lossy, log.losses)) else document


def lost(document: Json, source: str, target: str, facet: str) -> list[Loss] | None:
    """What is lost of a document on the way to a dialect; None: it has no form for it at all."""
    try:
        result = convert(document, source=source, target=target, facet=facet, now=0)
    except Unsayable:
        return None
    return [loss for loss in result.losses if is_lossy(loss)]


NOT_READ_BACK = frozenset({"message.position", "tool", "tool.namespace"})
"""What is carried whole elsewhere, and stays there when it is read back: a message at another
place, a tool among those of the request, a namespace in the name of its tool."""


def is_lossy(loss: Loss) -> bool:
    """What was ``moved`` is carried whole and read back from there, but for its place."""
    return loss.kind != "moved" or loss.what in NOT_READ_BACK


def speaks(dialect: str, facet: str, way: str = "write") -> bool:
    """Whether a dialect has a facet in a direction."""
    return way in dialects.get(dialect).facets().get(facet, ())
