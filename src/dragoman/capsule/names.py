"""Ids of calls and results: those that pair a restored turn with the others."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Sequence
from itertools import chain
from typing import Any

from ..core.reading import encode
from ..model import Json, ToolCall
from .units import Unit, View


def all_ids(units: Sequence[Unit]) -> set[str | None]:
    return {i for unit in units for ids in unit.calls() for i in ids} - {None}


def _is_id(key: str) -> bool:
    return key[-2:] in ("id", "Id")


def ids_in(value: Json, found: set[str | None]) -> set[str | None]:
    if value.__class__ is dict:
        for key, item in value.items():
            if item.__class__ is str:
                if _is_id(key):
                    found.add(item)
            else:
                ids_in(item, found)
    elif value.__class__ is list:
        for item in value:
            ids_in(item, found)
    return found


def reused_ids(tree: Any) -> set[str | None]:
    """Ids that stand for more than one call."""
    mine = [block.id for m in tree.messages for block in m.content if block.__class__ is ToolCall]
    if len(set(mine)) == len(mine):
        return set()
    return {name for name, count in Counter(mine).items() if count > 1}


def note_reused(entries: list[Json], reused: set[str | None]) -> None:
    """Ids that stand for more than one call, where the target has others for them."""
    for entry in entries:
        if found := sorted(filter(None, ids_in(entry["put"], set()) & reused)):
            entry["reused"] = found


def renamed(value: Json, names: dict[str, str]) -> Json:
    if value.__class__ is dict:
        return {
            key: names.get(item, item)
            if item.__class__ is str and _is_id(key)
            else renamed(item, names)
            for key, item in value.items()
        }
    if value.__class__ is list:
        return [renamed(item, names) for item in value]
    return value


class Places:
    """The units of a document by where they stand."""

    def __init__(self, view: View) -> None:
        self.units: dict[str, list[Unit]] = {}
        for unit in view.turns:
            self.units.setdefault(unit.slot, []).append(unit)
        self.starts = {slot: [max(u.start, 0) for u in us] for slot, us in self.units.items()}

    def within(self, spans: list[tuple[str, int, int]]) -> list[Unit]:
        found: list[Unit] = []
        for slot, start, end in spans:
            starts = self.starts.get(slot, [])
            units = self.units.get(slot, [])
            found += units[bisect_left(starts, start) : bisect_left(starts, end)]
        return found


def paired(now: Sequence[Unit], original: Sequence[Unit]) -> dict[Any, Any] | None:
    """The ids of calls and results as they are now -> as they were; None: not the same ones.

    What they say tells; those that say something else now are in the same order.
    """
    places: dict[bytes, deque[tuple[int, str | None]]] = {}
    named = [pair for unit in original for pair in unit.identified()]
    for number, (atom, name) in enumerate(named):
        places.setdefault(encode(atom), deque()).append((number, name))
    pairs: list[tuple[str | None, str | None]] = []
    left: list[str | None] = []
    met: set[int] = set()
    for unit in now:
        for atom, name in unit.identified():
            found = places.get(encode(atom))
            if found:
                number, was = found.popleft()
                met.add(number)
                pairs.append((name, was))
            else:
                left.append(name)
    rest = [name for number, (_, name) in enumerate(named) if number not in met]
    if len(left) != len(rest):  # results of one call may have become one
        left, rest = list(dict.fromkeys(left)), list(dict.fromkeys(rest))
    if len(left) != len(rest):
        return None
    out: dict[Any, Any] = {}
    for name, was in chain(pairs, zip(left, rest, strict=True)):
        if out.setdefault(name, was) != was:
            return None
    return out
