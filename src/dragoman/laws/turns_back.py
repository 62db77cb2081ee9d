"""How each turn of an edited document may come back: the original, or the plain conversion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

from ..model import Json
from .edited import Edited, with_types
from .edits import SAME
from .gist import MARKS, flat, gist_of, without_keys, without_names, words_of
from .wire import REASONING, as_text, content_key, has_items, kind, names_ids, type_of


class Group(NamedTuple):
    """Turns of the way back (``start`` to ``end``), and what they were in the original."""

    start: int
    end: int
    original: list[Json]
    size: int = 1
    """how many turns those were"""
    loose: bool = False
    """turns were merged, moved or made up in there, and which is which is for others to say"""


class Way(NamedTuple):
    """How some turns may come back."""

    items: list[Json]
    turns: int = 1
    """how many turns of the plain conversion that is"""
    restores: int = -1
    """the group that is the original again then"""


class Choices:
    """How the turns from a place on may come back."""

    def __init__(
        self, way: Edited, was: list[list[Json]], now: list[list[Json]], groups: list[Group]
    ) -> None:
        self.way, self.was, self.now, self.groups = way, was, now, groups
        if way.edit in SAME and len(now) == len(was):
            self.twin = {number: number for number in range(len(now))}
        else:
            tell = gist_of if way.edit in SAME else without_names
            self.twin = _paired([tell(turn) for turn in now], [tell(turn) for turn in was])
            self.twin |= dict(self.alike())
        self.owner = {b: n for n, g in enumerate(groups) for b in range(g.start, g.end)}

    def alike(self) -> Iterator[tuple[int, int]]:
        """Turns that say the same where they stand, though not in the same words of the dialect.

        What is written for a turn may depend on its place: a reply at the end is to be gone on
        with.
        """
        i = j = 0
        for x, y in [*sorted(self.twin.items()), (len(self.now), len(self.was))]:
            for a, b in _paired(
                [gist_of(turn) for turn in self.now[i:x]], [gist_of(turn) for turn in self.was[j:y]]
            ).items():
                yield i + a, j + b
            i, j = x + 1, y + 1

    def follow(self, came: list[Json], start: int) -> tuple[set[int], int, int]:
        """What is restored, where the turns can be followed to the end; else how far they can."""
        dead: set[tuple[int, int]] = set()
        path: list[tuple[int, int, Iterator[Way], int]] = []
        index, at, best = 0, start, (0, start)
        ways = iter(self.at(index, came[at:])) if self.now else iter(())
        while (index, at) != (len(self.now), len(came)):
            best = max(best, (index, at))
            for how in ways:
                end = at + len(how.items)
                after = index + how.turns, end
                if after not in dead and matches(
                    came[at:end], how.items, self.way, how.restores < 0
                ):
                    path.append((index, at, ways, how.restores))
                    index, at = after
                    ways = iter(self.at(index, came[at:]) if index < len(self.now) else ())
                    break
            else:
                dead.add((index, at))
                if not path:
                    return set(), *best
                index, at, ways, _ = path.pop()
        return {restores for *_, restores in path}, index, at

    def at(self, index: int, came: list[Json]) -> list[Way]:
        item = Way(self.now[index])
        partner = self.twin.get(index)
        if partner is None:
            return [*_grown(self.now[index], self.was, self.groups), *self.moved(index), item]
        number = self.owner[partner]
        group = self.groups[number]
        if group.loose:
            return [*self.grown(index, number), *self.loosely(index, number, came), item]
        size = group.end - group.start
        grown = list(self.grown(index, number))
        if grown:
            return [*grown, item]
        kept = [self.twin.get(index + n) for n in range(size)]
        if kept != [*range(group.start, group.end)]:
            return [item]  # a part of what stands or falls together
        choices = [Way(group.original, size, number)]
        if number == 0 and index > 0 and (left := without_prompts(group.original)):
            # An agent stores no system prompt: it came with the first turn, which is no longer the
            # first. That it is gone must be reported; what was carried with it may be as well.
            choices += [Way(left, size), item]
        choices += [Way(self.groups[n].original, 1, n) for n in self.equals(index, partner)]
        is_clean = flat(self.was[group.start : group.end]) == group.original
        if is_clean or self.may_stay(index, group):
            choices.append(item)  # nothing is carried for it, so it is as the client says
        return choices

    def grown(self, index: int, number: int) -> Iterator[Way]:
        """Several turns that were one, the last of which took in what was added after it."""
        group = self.groups[number]
        last = index + group.end - group.start - 1
        kept = [self.twin.get(n) for n in range(index, last)]
        if last > index and kept == [*range(group.start, group.end - 1)] and last < len(self.now):
            if number + 1 == len(self.groups) and last not in self.twin:
                for way in _grown(self.now[last], self.was, self.groups):
                    yield way._replace(turns=last - index + 1)

    def loosely(self, index: int, number: int, came: list[Json]) -> Iterator[Way]:
        """Where turns were merged or moved: all of the original, or items of either, none twice."""
        group = self.groups[number]
        end = index
        while end < len(self.now) and self.owner.get(self.twin.get(end, -1)) == number:
            end += 1
        yield Way(group.original, end - index, number)
        plain = flat(self.now[index:end])
        known = {without_names(item) for item in (*group.original, *plain)}
        room = Counter(map(gist_of, group.original)) | Counter(map(gist_of, plain))
        size = 0
        while (
            size < len(came)
            and without_names(came[size]) in known
            and room[gist_of(came[size])] > 0
        ):
            room[gist_of(came[size])] -= 1
            size += 1
        for number in range(size, 0, -1):
            yield Way(came[:number], end - index)

    def equals(self, index: int, partner: int) -> Iterator[int]:
        """Other turns that say the same and stood beside the same: either of them is right."""
        gist = gist_of(self.was[partner])
        for number, group in enumerate(self.groups):
            other = group.start
            if other != partner and group.end == other + 1 and gist_of(self.was[other]) == gist:
                if self.is_near(index - 1, other - 1) or self.is_near(index + 1, other + 1):
                    yield number

    def moved(self, index: int) -> Iterator[Way]:
        """A turn that stands after others now: it may be the original all the same."""
        met, spelled = set(self.twin.values()), without_names(self.now[index])
        for number, group in enumerate(self.groups):
            if group.end == group.start + 1 and group.start not in met and not group.loose:
                if without_names(self.was[group.start]) == spelled:
                    yield Way(group.original, 1, number)

    def is_near(self, a: int, b: int) -> bool:
        """Whether two turns are the same, or both sides end there."""
        now, was = self.now, self.was
        if not (0 <= a < len(now) and 0 <= b < len(was)):
            return a == b == -1 or (a == len(now) and b == len(was))
        return without_names(now[a]) == without_names(was[b])

    def may_stay(self, index: int, group: Group) -> bool:
        """Whether a turn that still says the same may stay as the plain conversion has it."""
        if self.way.edit in SAME:
            return not self.way.means_the_same
        end = index + group.end - group.start
        is_last = end == len(self.now) and group.end < len(self.was)
        if is_last and kind(self.now[-1][-1]) == "assistant":
            # The model goes on with it, and such a beginning of a reply takes no reasoning: "When
            # thinking is disabled, an `assistant` message in the final position cannot contain
            # `thinking`", and enabled, it takes none at all.
            return self.way.facet == "request"
        sides = self.is_near(index - 1, group.start - 1), self.is_near(end, group.end)
        if self.is_inside(group) or names_ids(group.original):
            # A system prompt in the middle is allowed between certain turns only, and content that
            # stands after a result is of more than one turn.
            return not all(sides)
        items = flat(self.was[group.start : group.end])
        if has_items(self.way.source) and sum(type_of(i) in REASONING for i in items) > 1:
            # Replies that became one: a part of them says the same, and has less reasoning.
            return not all(sides)
        # Between two other turns it may be another one that says the same.
        return not any(sides)

    def is_inside(self, group: Group) -> bool:
        after = group.original if group.start > 0 else group.original[1:]
        return any(kind(item) == "system" for item in after)


def groups_of(was: list[list[Json]], original: list[list[Json]]) -> list[Group]:
    """Which turns correspond: one by one, or those between two that do."""
    out: list[Group] = []
    i = j = 0
    places = _paired([gist_of(turn) for turn in was], [gist_of(turn) for turn in original])
    for x, y in [*sorted(places.items()), (len(was), len(original))]:
        out += _between(was, original, (i, x), (j, y))
        if x < len(was):
            out.append(Group(x, x + 1, original[y]))
        i, j = x + 1, y + 1
    merged: list[Group] = []
    for number, group in enumerate(out):
        is_alone = group.start == group.end
        if is_alone and number + 1 < len(out):
            if not merged or _goes_on(group, out[number + 1]):
                out[number + 1] = _both(group, out[number + 1])
                continue
        if is_alone and merged:
            group = _both(merged.pop(), group)
        merged.append(group)
    return _exchanged(merged, was, original, places)


def without_prompts(items: list[Json]) -> list[Json]:
    """What comes after the system prompts at the front; empty: there are none."""
    said = [item for item in items if item.get("role") not in ("system", "developer")]
    return said if len(said) < len(items) and said == items[-len(said) :] else []


def _exchanged(
    groups: list[Group], was: list[list[Json]], original: list[list[Json]], places: dict[int, int]
) -> list[Group]:
    """Turns that changed places are one group, with all that stands between them."""
    same = [n for n, group in enumerate(groups) for _ in range(group.size)]
    here = {b: n for n, group in enumerate(groups) for b in range(group.start, group.end)}
    lost = {o: gist_of(turn) for o, turn in enumerate(original) if o not in places.values()}
    own = [gist_of(group.original) for group in groups]
    spans = [
        sorted((here[b], same[o]))
        for b in range(len(was))
        if b not in places and not _is_among(words := words_of(gist_of(was[b])), own[here[b]])
        for o, spelled in lost.items()
        if _is_among(words, spelled)
    ]
    out: list[Group] = []
    for number, group in enumerate(groups):
        inside = any(first < number <= last for first, last in spans)
        out.append(_both(out.pop(), group)._replace(loose=True) if inside else group)
    return out


def _is_among(words: str, written: str) -> bool:
    """Whether somebody says these words; a few letters (".") stand in many texts by chance."""
    if len(words) < FEW:
        return bool(words) and f"\0{words}\0" in f"\0{written}\0"
    return words in written


FEW = 4
"""How many letters are no words yet."""


def _both(a: Group, b: Group) -> Group:
    """What stands or falls together: something that has no counterpart, and what it stands by."""
    return Group(
        a.start,
        b.end,
        a.original + b.original,
        a.size + b.size,
        (a.loose and bool(a.original)) or (b.loose and bool(b.original)),
    )


def _goes_on(a: Group, b: Group) -> bool:
    """Whether what has no counterpart is the beginning of a reply."""
    return bool(a.original and b.original) and "assistant" == kind(a.original[-1]) == kind(
        b.original[0]
    )


def _between(
    was: list[list[Json]],
    original: list[list[Json]],
    back: tuple[int, int],
    there: tuple[int, int],
) -> Iterator[Group]:
    """Turns that say other things than the original."""
    ours, theirs = was[slice(*back)], original[slice(*there)]
    if not ours and not theirs:
        return
    alike = len(ours) == len(theirs) and all(
        kind(a[-1]) == kind(b[-1]) for a, b in zip(ours, theirs, strict=True)
    )
    a, b = [*map(gist_of, ours)], [*map(gist_of, theirs)]
    if alike and not any(x in b for x in a) and not any(words_of(y) in x for x in a for y in b):
        for number, turn in enumerate(theirs):
            yield Group(back[0] + number, back[0] + number + 1, turn)
    else:
        yield Group(*back, flat(theirs), len(theirs), bool(ours))


def _grown(turn: list[Json], was: list[list[Json]], groups: list[Group]) -> Iterator[Way]:
    """A last item that took in what was added after it keeps what it was before."""
    if not was or not groups or not groups[-1].original:
        return
    item, last, before = turn[-1], groups[-1].original[-1], was[-1][-1]
    key = content_key(item)
    parts, mine, old = item.get(key), last.get(key), before.get(key)
    if not isinstance(parts, list) or mine is None:
        return
    old = old if isinstance(old, list) else [{"type": "text", "text": old}]
    if without_names(parts[: len(old)]) == without_names(old):
        mine = mine if isinstance(mine, list) else [{"type": "text", "text": mine}]
        whole = {**last, key: mine + parts[len(old) :]}
        yield Way([*groups[-1].original[:-1], whole], 1, len(groups) - 1)


def _paired(a: list[str], b: list[str]) -> dict[int, int]:
    blocks = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    return {block.a + n: block.b + n for block in blocks for n in range(block.size)}


def matches(came: list[Json], wanted: list[Json], way: Edited, plain: bool) -> bool:
    if as_text(came) == as_text(wanted):
        return True
    if way.edit == "marks moved":  # they stand where the client has put them
        return as_text(without_keys(came, MARKS)) == as_text(without_keys(wanted, MARKS))
    # As the client says where nothing was lost; those of calls follow the results that came back.
    if plain:
        return without_names(with_types(came, way.original, way.source)) == without_names(wanted)
    if way.edit in ("ids replaced", "ids dropped"):
        return without_names(came) == without_names(wanted)
    return False
