"""Where the turns that an entry of a capsule is for stand now: candidates, each with a weight."""

from __future__ import annotations

from bisect import bisect_left

from ..model import Json
from .names import ids_in
from .places import neighbours
from .units import Unit, digest, joined

FEW = 25
"""How many units that say the same are looked at, on each side of where one is expected."""


TURN = 16
"""The weight of a turn that is restored: more than all that speaks for one place or another."""


class Entry:
    """What a capsule holds for some units, and where those stand now; ``at`` None: nowhere."""

    __slots__ = ("at", "count", "data", "grown", "hint", "pieces", "spans")

    def __init__(self, data: Json) -> None:
        keys, number = data["is"], data["at"]
        if keys.__class__ is not list or number.__class__ is not int:
            raise TypeError("an entry has the number and the digests of its units")
        self.data = data
        self.count = len(keys)
        self.at: int | None = None
        self.hint = 0
        self.grown = False
        self.pieces: list[Json] = []
        self.spans: list[tuple[str, int, int]] = []  # where the pieces are put

    def fits(self, units: list[Unit], at: int) -> bool:
        keys, end = self.data["is"], at + self.count
        if at < 0 or end > len(units) or (not keys and units):
            return False
        if any(units[at + n].key != key for n, key in enumerate(keys[:-1])):
            return False
        return not keys or bool(units[end - 1].key == keys[-1]) or self.has_grown(units[end - 1])

    def changed(self, units: list[Unit], at: int) -> int:
        """The first of the units from a place on that is not what it was."""
        for number, key in enumerate(self.data["is"], at):
            if 0 <= number < len(units) and units[number].key != key:
                return number
        return at

    def has_grown(self, unit: Unit) -> bool:
        size = self.data.get("size", 0)
        if unit.start < 0 or not 1 < size < len(unit.atoms) or len(unit.atoms) != len(unit.ats):
            return False
        return bool(digest(joined(unit.atoms[:size]))[0] == self.data["is"][-1])

    def is_near(self, units: list[Unit], at: int) -> bool:
        """Whether it stands beside what it stood beside, if it needs that to be told.

        Where turns came back in another order or number, both neighbours count: a system prompt in
        the middle, say, may stand only before a reply.
        """
        ids = self.data.get("ids")
        if ids is not None:
            return bool(at == self.data["at"] or units[at].ids() == ids)
        by = self.data.get("by")
        if by is None:
            return True
        before, after = neighbours(units, at, self.count)
        if strict := self.data.get("strict"):
            end = at + self.count
            if by[1] == "$" and end < len(units):
                grown = strict == 1 or units[end].nodes[0].role == "assistant"
            else:
                grown = after == by[1]
            return bool(before == by[0] and grown)
        return bool(before == by[0] or after == by[1])

    def is_told(self) -> bool:
        """Whether it takes more than what it says to tell where it stands."""
        return "by" in self.data or "ids" in self.data

    def is_prompt(self) -> bool:
        """Whether it is put where no list is."""
        put = self.data["put"]
        return any(whole for _, whole, _ in (put["raw"] if put.__class__ is dict else put))

    def candidates(
        self, units: list[Unit], places: dict[str, list[int]], tail: int
    ) -> list[tuple[int, int]]:
        """Where it may stand now, each with a weight: how much speaks for it."""
        keys, was = self.data["is"], self.data["at"]
        found = around(places.get(keys[0], []), (was, was + tail)) if keys else []
        if "size" in self.data and self.count == 1 and not found:
            found = [at for at, unit in enumerate(units) if self.has_grown(unit)]
        found = [at for at in found if self.fits(units, at) and self.is_near(units, at)]
        if self.is_prompt():  # which stands before all that is written
            found = [at for at in found if at <= was]
        if not self.is_told() and len(found) > 1:
            found = [at for at in found if at in (was, was + tail)]
        named = ids_in(self.data["put"], set()) if found else set()
        return [(at, self.weight(units, at, named)) for at in found]

    def weight(self, units: list[Unit], at: int, named: set[str | None]) -> int:
        """A turn more than anything; then its neighbours, first a call's result; then ids.

        Ids that the client has kept tell more than the number of a turn.
        """
        out = TURN
        if "ids" in self.data and units[at].ids() == self.data["ids"]:
            out += 2
        called, replied = units[at].calls()
        if by := self.data.get("by"):
            before, after = neighbours(units, at, self.count)
            out += (4 if replied else 2) * (before == by[0])
            out += (4 if units[at + self.count - 1].calls()[0] else 2) * (after == by[1])
        return out + (not named.isdisjoint(called + replied))

    def stays(self, units: list[Unit]) -> bool:
        at = self.data["at"]
        if not self.fits(units, at):
            return False
        return not self.data.get("strict") or self.is_near(units, at)


def around(places: list[int], expected: tuple[int, ...]) -> list[int]:
    """Some of many places: those nearest to where something is expected."""
    if len(places) <= FEW:
        return places
    found: set[int] = set()
    for at in expected:
        middle = bisect_left(places, at)
        found.update(places[max(0, middle - FEW) : middle + FEW])
    return sorted(found)


def heaviest(entries: list[Entry], found: list[list[tuple[int, int]]], size: int) -> dict[int, int]:
    """Entry -> its place, in order and apart from each other: the heaviest such choice.

    ``best`` holds, for each end of a choice, the heaviest one (as a Fenwick tree: the heaviest up
    to a place at the cost of a logarithm).
    """
    best: list[tuple[int, int]] = [(0, -1)] * (size + 2)
    made: list[tuple[int, int, int]] = []  # the entry, its place, what was chosen before
    for number, places in enumerate(found):
        count = entries[number].count
        news: list[tuple[int, int, int]] = []
        for at, weight in places:
            heavy, before = 0, -1
            place = at + 1
            while place > 0:
                if best[place][0] > heavy:
                    heavy, before = best[place]
                place -= place & -place
            news.append((at + count, heavy + weight, len(made)))
            made.append((number, at, before))
        for end, weight, choice in news:
            place = end + 1
            while place < len(best):
                if best[place][0] < weight:
                    best[place] = (weight, choice)
                place += place & -place
    choice, place, heavy = -1, size + 1, 0
    while place > 0:
        if best[place][0] > heavy:
            heavy, choice = best[place]
        place -= place & -place
    out: dict[int, int] = {}
    while choice >= 0:
        number, at, choice = made[choice]
        out[number] = at
    return out
