"""Making a capsule where each turn came back in its place, as nearly always.

Nobody needs to read the way back then: items are compared as they are, and what a turn says is
asked of the client's document. This is the path that a gateway takes with every request, so it
makes nothing for the turns that came back as they were.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, compress
from operator import eq, not_
from typing import Any

from ..ledger import Loss
from ..model import History, Json, Request, ToolResult
from . import patching
from .names import note_reused, reused_ids
from .patching import equal, plainly_same
from .places import INSTRUCTIONS, has_news, is_instruction, is_restored, own, owner_of, view_of
from .references import WORTH, shrunk
from .types import type_of
from .units import (
    Unit,
    View,
    are_marked,
    beginning,
    common_gist,
    digest,
    gist_of,
    ids_of,
    joined,
    say_the_same,
)

SLIGHT = 200
"""How long the gist of a unit must be to tell by itself that it is the same unit."""


def fill(
    capsule: dict[str, Json],
    original: Json,
    back: Json,
    tree: Any,
    heard: Any,
    losses: list[Loss],
    alike: set[str],
) -> list[Loss] | None:
    """Fill the capsule; gives the losses that nothing in it speaks of. None: not each in place."""
    if not _came_back(original, back, tree, heard):
        return None
    turns = _turns(original, tree, heard.messages, alike)
    if turns is None:
        return None
    dirty = turns.dirty(back, alike)
    entries = None if dirty is None else _entries(turns, dirty, tree)
    if dirty is None or entries is None:
        return None
    capsule["echo"] = True
    if entries:
        capsule["turns"] = entries
    _settle(capsule, original, back, turns.slots, alike)
    capsule["count"] = [turns.count, None]
    return _left(losses, turns, set(dirty)) if losses else []


def _came_back(original: Json, back: Json, tree: Any, heard: Any) -> bool:
    """Whether as many turns of the same roles are there, and under no other key."""
    if original.__class__ is not dict or back.__class__ is not dict:
        return False
    if heard.__class__ not in SPOKEN or tree.__class__ not in SPOKEN:
        return False
    if [message.role for message in heard.messages] != [m.role for m in tree.messages]:
        return False
    return not has_news(original, back)


SPOKEN = frozenset({Request, History})


class _Turns:
    """The units of a document, each with what the client's document says for it."""

    __slots__ = ("count", "doc", "nodes", "slots", "written")

    def __init__(self, doc: dict[str, Json], nodes: Sequence[Any], written: Sequence[Any]) -> None:
        self.doc = doc
        self.nodes = nodes
        self.written = written
        self.count = 0
        self.slots: set[str] = set()

    def dirty(self, back: dict[str, Json], alike: set[str]) -> list[int] | None:
        """Those that did not come back as they were; None: not each in its place."""
        raise NotImplementedError

    def span(self, number: int) -> tuple[int, int, str, int, int]:
        """The messages that a unit is made of (from, to), the slot, and its items there (from, to).

        Where it is no run of items but all that stands there, these are from -1.
        """
        raise NotImplementedError

    def unit_of(self, index: int) -> int:
        """Which unit a message is of."""
        raise NotImplementedError

    def what(self, number: int) -> Sequence[Any]:
        """What the client's document says for it."""
        first, end, *_ = self.span(number)
        return self.written[first:end]

    def neighbours(self, number: int) -> list[str]:
        before, after = "^", "$"
        if number:
            before = digest(joined(gist_of(self.what(number - 1))))[0]
        if number + 1 < self.count:
            after = digest(joined(gist_of(self.what(number + 1))))[0]
        return [before, after]


class _Listed(_Turns):
    """All stand in one list; a prompt that stands elsewhere came back as it was."""

    __slots__ = ("items", "lead", "numbers", "slot", "starts")

    def __init__(
        self,
        doc: dict[str, Json],
        tree: Any,
        written: Any,
        numbers: list[int],
        slot: str,
        lead: str,
    ) -> None:
        """``numbers``: the item that each message stands in, in order."""
        super().__init__(doc, tree.messages, written)
        self.slot = slot
        self.items = doc[slot]
        self.lead = int(bool(lead))
        self.slots = {slot, lead} if lead else {slot}
        self.numbers = numbers
        self.starts = list(dict.fromkeys(numbers))
        self.starts[0] = 0  # what stands before belongs to it
        self.count = len(self.starts) + self.lead

    def dirty(self, back: dict[str, Json], alike: set[str]) -> list[int] | None:
        if self.slot in alike:
            return []
        found = _changed(back.get(self.slot), self.items)
        if found is None:
            return None
        if self.is_one_by_one():
            return [item + self.lead for item in found]
        before = self.lead - 1
        return list(dict.fromkeys([bisect_right(self.starts, item) + before for item in found]))

    def is_one_by_one(self) -> bool:
        """Whether each item is a unit."""
        return len(self.starts) == len(self.items)

    def span(self, number: int) -> tuple[int, int, str, int, int]:
        lead, starts, numbers = self.lead, self.starts, self.numbers
        number -= lead
        if number < 0:
            return 0, 1, self.slot, 0, 0  # which came back, so nobody asks where it stands
        start = starts[number]
        first = bisect_left(numbers, start) + lead
        number += 1
        if number == len(starts):
            return first, len(self.nodes), self.slot, start, len(self.items)
        stop = starts[number]
        return first, bisect_left(numbers, stop) + lead, self.slot, start, stop

    def unit_of(self, index: int) -> int:
        index -= self.lead
        return 0 if index < 0 else bisect_right(self.starts, self.numbers[index]) - 1 + self.lead


def _turns(doc: dict[str, Json], tree: Any, written: Any, alike: set[str]) -> _Turns | None:
    listed = _listed(doc, tree, written, alike)
    if listed is not None:
        return listed
    view = view_of(doc, tree, False)
    if view is None or view.base is not None:
        return None
    turns = _Viewed(view, tree.messages, written)
    return turns if turns.ends and turns.ends[-1] == len(tree.messages) else None


def _listed(doc: dict[str, Json], tree: Any, written: Any, alike: set[str]) -> _Listed | None:
    ats = [beginning(node) for node in tree.messages]
    slot = ats[-1].split("/", 2)[1] if ats and ats[-1] else ""
    items = doc.get(slot)
    if items.__class__ is not list or not items or not slot.isidentifier():
        return None
    lead = ""
    if not ats[0].startswith(f"/{slot}/"):  # the system prompt
        first = tree.messages[0]
        lead = ats.pop(0).split("/", 2)[1]
        if lead not in alike or not is_instruction(first) or not _says(first):
            return None
    numbers = _numbers(slot, ats)
    if not numbers or numbers != sorted(numbers):
        return None
    turns = _Listed(doc, tree, written, numbers, slot, lead)
    # An item that was read into the result before it is no unit of its own.
    return turns if turns.is_one_by_one() or not _is_hoisted(tree.messages) else None


def _numbers(slot: str, ats: list[str]) -> list[int] | None:
    """The items of a slot that places stand in; None: not all of them do.

    All conversations have their messages in the same places, so these are parsed only once.
    """
    known = _known(slot)
    try:
        return [known[at] for at in ats]
    except KeyError:
        pass
    lines = "\n".join(ats)  # all at once: there may be many
    found = re.findall(rf"(?m)^/{slot}/(\d+)(?=/|$)", lines)
    if not len(found) == len(ats) > lines.count("\n"):
        return None
    numbers = list(map(int, found))
    if len(known) + len(ats) <= MANY:
        known.update(zip(ats, numbers, strict=True))
    return numbers


MANY = 4096
"""How many places of a slot are remembered."""


@lru_cache(maxsize=16)
def _known(slot: str) -> dict[str, int]:
    return {}


def _says(message: Any) -> bool:
    """Whether it says anything: an empty prompt is a setting."""
    return any(getattr(block, "text", "x") for block in message.content)


def _is_hoisted(nodes: Sequence[Any]) -> bool:
    """Whether an image of a result stands in another item."""
    for node in nodes:
        if node.role == "tool" and node.content:
            block = node.content[-1]
            if block.__class__ is ToolResult and (inside := block.content):
                if not inside[-1].at.startswith(node.at):
                    return True
    return False


class _Viewed(_Turns):
    """They stand in several places, or share items."""

    __slots__ = ("ends", "units")

    def __init__(self, view: View, nodes: Sequence[Any], written: Sequence[Any]) -> None:
        super().__init__(view.inner, nodes, written)
        self.units = view.turns
        self.slots = view.slots()
        self.count = len(view.turns)
        self.ends = list(accumulate([len(unit.nodes) for unit in view.turns]))

    def span(self, number: int) -> tuple[int, int, str, int, int]:
        end, unit = self.ends[number], self.units[number]
        return end - len(unit.nodes), end, unit.slot, unit.start, unit.end

    def unit_of(self, index: int) -> int:
        return bisect_right(self.ends, index)

    def dirty(self, back: dict[str, Json], alike: set[str]) -> list[int] | None:
        changed: dict[str, set[int]] = {}
        for slot in self.slots - alike:
            mine, theirs = self.doc[slot], back.get(slot)
            if mine.__class__ is list and theirs.__class__ is list:
                found = _changed(theirs, mine)
                if found is None:
                    return None
                changed[slot] = set(found)
                continue
            units = [unit for unit in self.units if unit.slot == slot]
            if theirs is None or len(units) > 1 or not all(map(is_instruction, units[0].nodes)):
                return None
            changed[slot] = {0}
        return [n for n, unit in enumerate(self.units) if _holds(unit, changed)]


def _holds(unit: Unit, changed: dict[str, set[int]]) -> bool:
    """Whether one of the changed items stands in a unit."""
    found = changed.get(unit.slot)
    if not found or unit.start < 0:
        return bool(found)
    return not found.isdisjoint(range(unit.start, unit.end))


def _changed(theirs: Json, mine: list[Json]) -> list[int] | None:
    """The items of the original that came back otherwise, or not at all; None: nobody can tell.

    What did not come back must be of a kind of which nothing did: encrypted reasoning, say.
    """
    if theirs.__class__ is not list:
        return None
    if len(mine) == len(theirs):
        return _unlike(mine, theirs)
    try:
        known = set(_kinds(theirs))
        came = [kind in known for kind in _kinds(mine)]
    except (AttributeError, TypeError):  # what is no object, or has no text for a type
        return None
    kept = list(compress(range(len(mine)), came))
    if len(kept) != len(theirs):
        return None
    found = _unlike(list(compress(mine, came)), theirs)
    if found is None:
        return None
    return sorted([*compress(range(len(mine)), map(not_, came)), *[kept[n] for n in found]])


def _kinds(items: list[Json]) -> list[Json]:
    try:
        return list(map(type_of, items))
    except KeyError:
        return [item.get("type", "message") for item in items]


def _unlike(a: list[Json], b: list[Json]) -> list[int] | None:
    """Which items are not the same; None: some are not even of the same kind."""
    alike = list(map(eq, a, b))
    if not plainly_same(list(compress(a, alike)), list(compress(b, alike))):
        alike = list(map(equal, a, b))
    found = [number for number, same_ in enumerate(alike) if not same_]
    return found if all(_are_of_a_kind(a[number], b[number]) for number in found) else None


def _are_of_a_kind(a: Json, b: Json) -> bool:
    if a.__class__ is not dict or b.__class__ is not dict:
        return a.__class__ is b.__class__
    kind = a.get("type", "message")
    return bool(a.get("role") == b.get("role") and kind == b.get("type", "message"))


def _entries(turns: _Turns, dirty: list[int], tree: Any) -> list[Json] | None:
    """What to put for each unit that changed; None: one of them says something else now."""
    if not dirty:
        return []
    reused = reused_ids(tree)
    nodes = turns.nodes
    begin = next((n for n, node in enumerate(nodes) if not is_instruction(node)), len(nodes))
    last = turns.count - 1
    out: list[Json] = []
    for number in dirty:
        first, end, slot, start, stop = turns.span(number)
        if nodes[first].role in INSTRUCTIONS and first >= begin:
            return None  # a system prompt in the middle
        written, mine = turns.written[first:end], nodes[first:end]
        atoms = common_gist(written, mine)
        if atoms is None:
            if not say_the_same(written, mine) or are_marked(written):
                return None
            atoms = gist_of(written)
        key, size = digest(joined(atoms))
        entry: dict[str, Json] = {"at": number, "is": [key]}
        if size < SLIGHT:
            _tell(entry, written, turns, reused)
        if number == last:
            entry["size"] = len(atoms)
        value = turns.doc[slot]
        pieces = [[slot, start < 0, value if start < 0 else value[start:stop]]]
        if size < WORTH:
            entry["put"] = {"raw": pieces}
        else:
            entry |= shrunk(pieces, [atoms], {})
        out.append(entry)
    if reused:
        note_reused(out, reused)
    if len({entry["is"][0] for entry in out}) < len(out):
        repeated = Counter([entry["is"][0] for entry in out])
        for entry in out:
            if repeated[entry["is"][0]] > 1:
                _tell(entry, turns.what(entry["at"]), turns, reused)
    return out


def _settle(
    capsule: dict[str, Json],
    original: dict[str, Json],
    back: dict[str, Json],
    slots: set[str],
    alike: set[str],
) -> None:
    """What is no turn, and the order of all keys."""
    known = slots | alike
    mine = {key: value for key, value in original.items() if key not in known}
    theirs = {key: value for key, value in back.items() if key not in known}
    capsule["patch"] = patching.diff(theirs, mine) if mine or theirs else None
    order = list(original)
    here = list(back)
    if here == order:
        return
    # As the document has them when it is opened, then what comes: ``keys_of`` of what is patched.
    here = [key for key in here if key in original]
    here += [key for key in order if key not in back and key not in slots]
    here += sorted(slots.difference(here))
    if here != order:
        capsule["order"] = order


def _tell(
    entry: dict[str, Json], written: Sequence[Any], turns: _Turns, reused: set[str | None]
) -> None:
    """How a turn that may stand anywhere is told: by its ids, or by what it stands beside."""
    ids = ids_of(written)
    if ids and None not in ids and reused.isdisjoint(ids):
        entry["ids"] = ids
    else:
        entry["by"] = turns.neighbours(entry["at"])


def _left(losses: list[Loss], turns: _Turns, restored: set[int]) -> list[Loss]:
    """The losses that no restored turn makes up for."""
    number: dict[str, int] = {}
    for index in range(len(turns.written) - 1, -1, -1):
        number[turns.written[index].at] = index  # the first, if there are several
    found = [owner_of(loss.path, number) for loss in losses]
    if None in found:  # of a block that stands elsewhere, or of no turn
        owner: dict[str, tuple[str, int]] = {}
        for node in turns.written:
            own(owner, node, ("turns", turns.unit_of(number[node.at])))
        kept = {"turns": restored}
        return [loss for loss in losses if not is_restored(loss, owner, kept, turns.count)]
    added = turns.count - 1 not in restored
    return [
        loss
        for loss, index in zip(losses, found, strict=True)
        if turns.unit_of(index) not in restored or (added and loss.what == "prefill")
    ]
