"""Making a capsule: what a document could not hold of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, chain, compress
from operator import eq
from typing import Any

from .. import patching
from ..dialect import Dialect
from ..errors import Malformed, Unsupported
from ..ledger import Ledger, Loss
from ..model import History, Json, Message, Reasoning, Request, ToolCall, Tree
from ..models import DEFAULT, Models
from ..patching import equal, same
from ..reading import encode
from ..units import Unit, View, align
from .marks import relative
from .names import ids_in
from .places import (
    PARTS,
    inner_of,
    instructs,
    is_instruction,
    is_like,
    is_restored,
    keys_of,
    neighbours,
    own,
    owners_of,
    view_of,
)
from .references import held

VERSION = 2


SLIGHT = 200
"""How long the gist of a unit must be to tell by itself that it is the same unit."""


def seal(
    original: Json,
    document: Json,
    source: Dialect,
    target: Dialect,
    facet: str,
    tree: Tree | None = None,
    models: Models = DEFAULT,
) -> Json:
    """What ``document`` could not hold of ``original``; ``tree`` is what that was read as.

    ``models`` are those of the conversion: the way back is written for the same models.
    """
    suffix = facet.replace("-", "_")
    if not hasattr(target, f"read_{suffix}") or not hasattr(source, f"write_{suffix}"):
        raise Unsupported(f"no way home: {target.name} cannot read or {source.name} cannot write")
    log = Ledger(models=models)
    heard = target.read(document, facet)
    back = source.write(heard, log)
    capsule = {"capsule": VERSION, "dialect": source.name, "facet": facet, "patch": None}
    losses = log.losses
    key = source.history
    if back.__class__ is list and original.__class__ is dict and key in original:
        capsule["wrap"] = key  # a list of turns is written without what stood around it
        back = {key: back}
    elif original.__class__ is list and back.__class__ is dict and [*back] == [key]:
        capsule["bare"] = key
        back = back[key]
    try:
        alike = _alike(original, back)
        if not _is_all(original, back, alike):
            tree = source.read(original, facet) if tree is None else tree
            losses = _compare(capsule, original, tree, back, heard, losses, source, alike)
    except RecursionError:
        raise Malformed("nested too deeply to be carried") from None
    if losses:  # what is restored makes up for these, so they are no losses on the way home
        capsule["mended"] = [[loss.kind, loss.what, loss.path] for loss in losses]
    return capsule


def _compare(
    capsule: dict[str, Json],
    original: Json,
    tree: Tree,
    back: Json,
    heard: Tree,
    losses: list[Loss],
    source: Dialect,
    alike: set[str],
) -> list[Loss]:
    """Fill the capsule; gives the losses that nothing in it speaks of."""
    if isinstance(tree, Request | History) and _is_apart(original, back, alike):
        _settle(capsule, View(original, None, False), View(back, None, False), alike)
        return losses
    tools_too = not any(_are_at(tree, key) for key in alike)
    here = view_of(original, tree, tools_too)
    if here is not None and original.__class__ is back.__class__:
        left = _by_echo(capsule, here, back, tree, heard, losses, alike)
        if left is not None:
            return left
        there = view_of(back, source.read(back, capsule["facet"]), tools_too)
        if there is not None and here.base == there.base:
            return _fill(capsule, here, there, tree, heard, losses, alike)
    capsule["patch"], refers = patching.make(back, original)
    if refers:
        capsule["refs"] = True
    return losses


def _alike(original: Json, back: Json) -> set[str]:
    """The keys whose values came back as they were."""
    if original.__class__ is not dict or back.__class__ is not dict:
        return set()
    out: set[str] = set()
    for key, value in original.items():
        # Tools share their schemas with those that came back, so a walk is soon at its end.
        if key in back and (same if key == "tools" else equal)(value, back[key]):
            out.add(key)
    return out


def _is_all(original: Json, back: Json, alike: set[str]) -> bool:
    if original.__class__ is dict and back.__class__ is dict:
        return len(alike) == len(original) and list(original) == list(back)
    return equal(original, back)


def _are_at(tree: Tree, key: str) -> bool:
    """Whether all definitions of tools stand under a key: if they are alike, nobody asks which."""
    tools = getattr(tree, "tools", None) or ()
    return bool(tools) and all(tool.at.startswith(f"/{key}/") for tool in tools)


def _is_apart(original: Json, back: Json, alike: set[str]) -> bool:
    """Whether only numbers and the like differ, so that nobody needs to look at the turns."""
    if original.__class__ is not dict or back.__class__ is not dict:
        return False
    lost = original.keys() - alike
    return not any(original[key].__class__ in LARGE for key in lost) and not _has_news(
        original, back
    )


LARGE = frozenset({str, list, dict})
"""The kinds of values that may hold a turn."""


def _has_news(original: dict[str, Json], back: dict[str, Json]) -> bool:
    """Whether there is a key that the original has not, and that may hold a turn."""
    return any(back[key].__class__ in LARGE for key in back.keys() - original.keys())


def _by_echo(
    capsule: dict[str, Json],
    here: View,
    back: Json,
    tree: Tree,
    heard: Tree,
    losses: list[Loss],
    alike: set[str],
) -> list[Loss] | None:
    """Fill the capsule where each turn came back in its place; None: not all did.

    Nobody needs to read the way back then: what a turn says is asked of the client's document.
    """
    if not isinstance(heard, Request | History) or not isinstance(tree, Request | History):
        return None
    if here.has_tools or here.base is not None or here.doc.__class__ is not dict:
        return None
    if not _are_like(heard.messages, tree.messages) or _has_news(here.doc, back):
        return None
    dirty = _dirty(here, back, alike)
    if dirty is None or sum(len(unit.nodes) for unit in here.turns) < len(tree.messages):
        return None
    units = _Echoed(here, heard.messages)
    begin = _begin(here.turns)
    entries: list[Json] = []
    for number in dirty:
        unit, mine = units[number], here.turns[number]
        if not unit.says_the_same(mine) or unit.is_marked():
            return None
        if number >= begin and instructs(mine):
            return None  # a system prompt in the middle
        entry = {"at": number, "is": [unit.key]}
        if unit.size < SLIGHT:
            entry["by"] = neighbours(units, number, 1)
        if number + 1 == len(units):
            entry["size"] = len(unit.atoms)
        entry |= held([[mine.slot, mine.start < 0, here.value(mine)]], [unit])
        entries.append(entry)
    _note_reused(entries, tree)
    repeated = Counter(entry["is"][0] for entry in entries)
    if len(repeated) < len(entries):
        for entry in entries:
            if repeated[entry["is"][0]] > 1:
                entry["by"] = neighbours(units, entry["at"], 1)
    capsule["echo"] = True
    if entries:
        capsule["turns"] = entries
    _settle(capsule, here, View(back, None, False), alike)
    capsule["count"][0] = len(units)
    if not losses:
        return []
    owner: dict[str, tuple[str, int]] = {}
    for number in range(len(units)):
        for node in units[number].nodes:
            own(owner, node, ("turns", number))
    return [loss for loss in losses if not is_restored(loss, owner, {"turns": set(dirty)})]


class _Echoed(Sequence[Unit]):
    """The units of the original, each with what the target says for it; made when asked for."""

    def __init__(self, here: View, said: Sequence[Message]) -> None:
        self.turns, self.said = here.turns, said
        self.ends = list(accumulate([len(unit.nodes) for unit in here.turns]))
        self.made: dict[int, Unit] = {}

    def __len__(self) -> int:
        return len(self.turns)

    def __getitem__(self, number: Any) -> Any:
        unit = self.made.get(number)
        if unit is None:
            mine, end = self.turns[number], self.ends[number]
            nodes = list(self.said[end - len(mine.nodes) : end])
            self.made[number] = unit = Unit(mine.slot, mine.start, nodes)
        return unit


def _note_reused(entries: list[Json], tree: Any) -> None:
    """Ids that stand for more than one call, where the target has others for them."""
    mine = [block.id for m in tree.messages for block in m.content if block.__class__ is ToolCall]
    if len(set(mine)) == len(mine):
        return
    reused = {name for name, count in Counter(mine).items() if count > 1}
    for entry in entries:
        if found := sorted(filter(None, ids_in(entry["put"], set()) & reused)):
            entry["reused"] = found


def _are_like(a: Sequence[Message], b: Sequence[Message]) -> bool:
    return [message.role for message in a] == [message.role for message in b]


def _begin(units: Sequence[Unit]) -> int:
    """Where the conversation begins, behind the system prompt."""
    return next((n for n, unit in enumerate(units) if not instructs(unit)), len(units))


def _dirty(here: View, back: dict[str, Json], alike: set[str]) -> list[int] | None:
    """The units that did not come back as they were; None: not each in its place."""
    changed: dict[str, set[int]] = {}
    for slot in here.slots() - alike:
        mine, theirs = here.inner[slot], back.get(slot)
        if mine.__class__ is not list or theirs.__class__ is not list:
            units = [unit for unit in here.turns if unit.slot == slot]
            if theirs is None or len(units) > 1 or not all(map(is_instruction, units[0].nodes)):
                return None
            changed[slot] = {0}
            continue
        found = _changed(theirs, mine)
        if found is None:
            return None
        changed[slot] = found
    out: list[int] = []
    for number, unit in enumerate(here.turns):
        found = changed.get(unit.slot, set())
        if unit.end - unit.start == 1 and unit.start >= 0:
            if unit.start in found:
                out.append(number)
        elif found and (unit.start < 0 or not found.isdisjoint(range(unit.start, unit.end))):
            out.append(number)
    return out


def _changed(theirs: list[Json], mine: list[Json]) -> set[int] | None:
    """The items of the original that came back otherwise, or not at all; None: nobody can tell.

    What did not come back must be of a kind of which nothing did: encrypted reasoning, say.
    """
    if len(mine) == len(theirs):
        found = _unlike(theirs, mine)
        return found if all(_shape(mine[n]) == _shape(theirs[n]) for n in found) else None
    shapes = [_shape(item) for item in theirs]
    known = set(shapes)
    kept = [n for n, item in enumerate(mine) if _shape(item) in known]
    if [_shape(mine[n]) for n in kept] != shapes:
        return None
    found = set(range(len(mine))).difference(kept)
    return found | {kept[n] for n in _unlike(theirs, [mine[n] for n in kept])}


def _unlike(a: list[Json], b: list[Json]) -> set[int]:
    """Which items are not the same."""
    alike = list(map(eq, a, b))
    if not equal(list(compress(a, alike)), list(compress(b, alike))):
        alike = list(map(equal, a, b))
    return {number for number, same_ in enumerate(alike) if not same_}


def _shape(item: Json) -> Any:
    if item.__class__ is not dict:
        return item.__class__
    role, kind = item.get("role"), item.get("type", "message")
    return (role if role.__class__ is str else "", kind if kind.__class__ is str else "")


def _fill(
    capsule: dict[str, Json],
    here: View,
    there: View,
    tree: Tree,
    heard: Tree,
    losses: list[Loss],
    alike: set[str],
) -> list[Loss]:
    """Entries and settings."""
    if not (here.has_tools and there.has_tools):
        here.leave_tools()
        there.leave_tools()
    found = {part: _entries(part, here, there, alike) for part in PARTS}
    if found["turns"]:
        _note_reused(found["turns"], tree)
    capsule |= {part: entries for part, entries in found.items() if entries}
    _settle(capsule, here, there, alike)
    if not losses:
        return []
    restored = {
        part: {entry["at"] + n for entry in entries for n in range(len(entry["is"]))}
        for part, entries in found.items()
    }
    owner = owners_of(there, heard)
    return [loss for loss in losses if not is_restored(loss, owner, restored)]


def _settle(capsule: dict[str, Json], here: View, there: View, alike: set[str]) -> None:
    """What is no turn and no tool, and the order of all keys."""
    capsule["count"] = [len(there.turns), len(there.tools) if here.has_tools else None]
    slots = here.slots()
    mine = here.settings(slots)
    theirs = there.settings(slots | there.slots())
    capsule["patch"] = patch = patching.diff(
        {key: value for key, value in theirs.items() if key not in alike},
        {key: value for key, value in mine.items() if key not in alike},
    )
    patched = theirs if patch is None else patching.apply(patch, theirs, "", Ledger(), None)
    if keys_of(there, inner_of(there, patched), slots) != list(here.inner):
        capsule["order"] = list(here.inner)


def _entries(part: str, here: View, there: View, alike: set[str]) -> list[Json]:
    old, new = getattr(there, part), getattr(here, part)  # from the way back to the original
    if here.base is None and {unit.slot for unit in (*old, *new)} <= alike:
        return []
    begin, start = (_begin(new), _begin(old)) if part == "turns" else (0, 0)
    out: list[Json] = []
    moved: list[tuple[Json, Counter[bytes], Counter[bytes]]] = []
    for b0, b1, o0, o1 in _runs(old, new):
        if b1 - b0 == o1 - o0 == 1 and _is_clean(there, old[b0], here, new[o0]):
            continue  # as most
        was, is_ = old[b0:b1], new[o0:o1]
        entry: dict[str, Json] = {"at": b0, "is": [unit.key for unit in was]}
        if b1 == len(old) and was:
            entry["size"] = len(was[-1].atoms)
        if part == "turns":
            if marks := relative(was):  # where they stood that the target holds as well
                entry["marks"] = [marks, relative(is_)]
            if b1 - b0 != o1 - o0 or not all(map(Unit.says_the_same, was, is_)):
                moved.append((entry, _counted(is_), _counted(was)))
            if any(map(instructs, chain(new[max(o0, begin) : o1], old[max(b0, start) : b1]))):
                entry["odd"] = 2  # a system prompt in the middle, or what has become of it
        if b1 - b0 != o1 - o0:
            entry.setdefault("odd", 1)
            if o1 - o0 > b1 - b0 and any(map(_reasons, was)):
                entry["odd"] = 3  # replies that became one: what is left of it may say the same
        entry |= held(here.pieces(is_), was)
        out.append(entry)
    _tie(moved)
    _tell_apart(out, old)
    return out


def _tell_apart(entries: list[Json], units: Sequence[Unit]) -> None:
    """What a unit must stand beside, where it does not tell by itself that it is the same."""
    repeated = Counter(key for entry in entries for key in entry["is"][:1])
    for entry in entries:
        start, keys = entry["at"], entry["is"]
        slight = sum(unit.size for unit in units[start : start + len(keys)]) < SLIGHT
        odd = entry.pop("odd", 0)
        strict = 2 if odd == 2 else int(odd == 3 or "with" in entry)
        if slight or odd or strict or not keys or repeated[keys[0]] > 1:
            entry["by"] = neighbours(units, start, len(keys))
        if strict:
            entry["strict"] = strict


def _is_clean(there: View, a: Unit, here: View, b: Unit) -> bool:
    """Whether a unit came back as it was: the same JSON, key order and types of numbers too."""
    if a.slot != b.slot or (a.start < 0) != (b.start < 0):
        return False
    return equal(there.value(a), here.value(b))


def _runs(old: list[Unit], new: list[Unit]) -> list[tuple[int, int, int, int]]:
    """Which units correspond: one by one, or those between two that do."""
    if len(old) == len(new) and all(is_like(a, b) for a, b in zip(old, new, strict=True)):
        return [(n, n + 1, n, n + 1) for n in range(len(old))]
    one, other = [unit.key for unit in old], [unit.key for unit in new]
    if old and new and old[0].nodes[0].__class__ is Message:
        lead = _begin(old)
        if lead == _begin(new):  # system prompts at the front, as `system` or `developer`
            one[:lead] = other[:lead] = [str(number) for number in range(lead)]
    pairs = align(one, other)
    out: list[tuple[int, int, int, int]] = []
    i = j = 0
    for x, y in [*pairs, (len(old), len(new))]:
        if x == i and j < y < len(new) and _goes_on(new[y - 1], new[y]):
            out.append((x, x + 1, j, y + 1))  # it is of the reply that comes next
            i, j = x + 1, y + 1
            continue
        if x > i:  # what was made up on the way has no counterpart: it goes alone
            out.append((i, x, j, y))
        elif y > j:  # what has no counterpart goes with what stands before it
            b0, _, o0, _ = out.pop() if out else (i, i, j, j)
            out.append((b0, x, o0, y))
        if x < len(old):
            out.append((x, x + 1, y, y + 1))
        i, j = x + 1, y + 1
    if len(out) > 1 and out[0][0] == out[0][1]:  # nothing stands before it
        first, second = out[:2]
        out[:2] = [(first[0], second[1], first[2], second[3])]
    return out


def _goes_on(a: Unit, b: Unit) -> bool:
    """Whether two units are of one reply."""
    one, other = a.nodes[-1], b.nodes[0]
    return one.__class__ is Message and bool(one.role == other.role == "assistant")


def _reasons(unit: Unit) -> bool:
    """Whether there is reasoning in a unit, of which its gist tells nothing."""
    return any(
        block.__class__ is Reasoning
        for node in unit.nodes
        if node.__class__ is Message
        for block in node.content
    )


def _counted(units: Sequence[Unit]) -> Counter[bytes]:
    return Counter(encode(atom) for unit in units for atom in unit.atoms)


def _tie(moved: list[tuple[Json, Counter[bytes], Counter[bytes]]]) -> None:
    """Entries that exchanged something are restored together: ``with`` is the number of a set."""
    if len(moved) < 2:
        return
    gained: dict[bytes, list[int]] = {}
    for number, (_, mine, theirs) in enumerate(moved):
        for atom in theirs - mine:
            gained.setdefault(atom, []).append(number)
    sets = list(range(len(moved)))

    def top(number: int) -> int:
        while sets[number] != number:
            sets[number] = sets[sets[number]]
            number = sets[number]
        return number

    for number, (_, mine, theirs) in enumerate(moved):
        for atom in mine - theirs:
            others = gained.get(atom, [])
            for other in others:
                a, b = sorted((top(number), top(other)))
                sets[b] = a
            del others[1:]  # the rest are of one set now
    sizes = Counter(top(number) for number in range(len(moved)))
    for number, (entry, _, _) in enumerate(moved):
        if sizes[top(number)] > 1:
            entry["with"] = top(number)
