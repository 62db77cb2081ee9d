"""The way back: what a target could not hold, and its exact return.

Theory of operation. When a document of dialect A has become one of dialect B, the plain way back
(read as B, written as A) gives A again, less what B could not hold. The capsule is what is missing
there. It is made by going that way once, so it needs no knowledge of any dialect, it is empty where
nothing is lost, and with an unchanged document it is exact by construction, key order included.

Clients do not echo bytes: they spell arguments anew, move cache marks, replace ids, leave reasoning
out, remove turns. So the conversation is restored **turn by turn, each whole or not at all**, and
turns are compared by what they mean:

- A *unit* is what stands or falls together: the run of items in the document that one message of
  the tree was read from, or all messages that one item holds. ``Message.at`` tells. The system
  prompt is a unit too, wherever the dialect keeps it, and so is each definition of a tool.
- The *gist* of a unit is what it says: role, texts, calls with their arguments as JSON values,
  results, media. Ids, cache marks, citations, unknown fields and the spelling are no part of it;
  neither is reasoning, unless a unit says nothing else.
- For each unit of the way back that is not the original, an *entry* holds its number, the digest
  of its gist, and the original items. A unit that comes back by itself has no entry.
- On the way home, an entry is put where its unit stands now: at the old number, or moved as far as
  its neighbours have moved, or wherever else its gist stands alone. A short text ("OK.") may stand
  anywhere, so it needs a neighbour that is the same as before. An entry that finds no unit is left
  out, and reported as ``dropped capsule`` at the place of the changed turn.
- Where units came back in another number or order, those between two that correspond are one
  entry. Entries that exchanged a text or a call are restored together or not at all: otherwise it
  would stand twice.
- A turn keeps its own signatures when an earlier turn changes: a signature covers the reasoning
  that it stands with, not the conversation before it, and it is needed as long as the turn is
  there. It never comes without the whole turn, and never with another.

Original items are written with references instead of the long texts that their unit has anyway, so
an entry weighs what was lost. What follows the last unit is new, and stays as it is; a last item
that has grown (some APIs want one item where two turns of a role follow each other) keeps what was
added. Ids: a restored turn has its original ids, and where the client replaced them, those of its
calls and results in other turns follow. Cache marks: where B holds them too, they stand where the
client has put them last.

Everything that is not a turn or a tool (settings, and documents without turns, such as responses)
is restored by a structural patch, part by part, where the part is still what it was:

    {"=": value, "was": digest}                                     the value, instead of another
    {"set": {k: v}, "del": {k: digest}, "in": {k: patch}, "order": [k, ...]}           an object
    {"items": [op, ...], "length": n}                                                  a list
    {"wrap": {...}, "key": k} / {"unwrap": k}         a text that was the only block of a list

where an op of a list is ``{"keep": n, "was": digest}`` (so many items stay as they are),
``[digest, patch]`` (the next item changes), ``{"skip": digest}`` (the next item goes) or
``{"put": value}`` (an item comes). Version 1 had nothing but such a patch of the whole document;
its capsules are still opened, with that version's limits.

A capsule is plain JSON and comes from outside: whatever is wrong with it is ``Malformed``.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, chain, compress, islice
from operator import eq
from typing import Any

from . import patching
from .dialect import Dialect
from .errors import Malformed, Unsupported
from .ledger import Ledger, Loss
from .model import History, Json, Message, Reasoning, Request, Toolbox, ToolCall, Tree
from .patching import REF, equal, same
from .reading import compact, encode, parse
from .units import LONG, Unit, View, align, digest

VERSION = 2
SLIGHT = 200
"""How long the gist of a unit must be to tell by itself that it is the same unit."""
WORTH = 2000
"""How long the gist of a unit must be for a look at what of it can be referred to."""
TEXT = "\0json"
"""The key of a text that is JSON itself, and refers to texts inside of it."""
PARTS = ("turns", "tools")
CHANGED = "this turn has changed since; what the capsule holds for it is left out"


# -- making ---------------------------------------------------------------------------------


def seal(
    original: Json,
    document: Json,
    source: Dialect,
    target: Dialect,
    facet: str,
    tree: Tree | None = None,
) -> Json:
    """What ``document`` could not hold of ``original``; ``tree`` is what that was read as."""
    suffix = facet.replace("-", "_")
    if not hasattr(target, f"read_{suffix}") or not hasattr(source, f"write_{suffix}"):
        raise Unsupported(f"no way home: {target.name} cannot read or {source.name} cannot write")
    log = Ledger()
    heard = target.read(document, facet)
    back = source.write(heard, log)
    capsule = {"capsule": VERSION, "dialect": source.name, "facet": facet, "patch": None}
    losses = log.losses
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
    here = _view(original, tree, tools_too)
    if here is not None and original.__class__ is back.__class__:
        left = _by_echo(capsule, here, back, tree, heard, losses, alike)
        if left is not None:
            return left
        there = _view(back, source.read(back, capsule["facet"]), tools_too)
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


def _view(doc: Json, tree: Tree, tools_too: bool = True) -> View | None:
    if not isinstance(tree, Request | History | Toolbox):
        return None
    try:
        return View(doc, tree, tools_too)
    except (LookupError, ValueError):
        return None


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
        if number >= begin and _instructs(mine):
            return None  # a system prompt in the middle
        entry = {"at": number, "is": [unit.key]}
        if unit.size < SLIGHT:
            entry["by"] = _neighbours(units, number, 1)
        if number + 1 == len(units):
            entry["size"] = len(unit.atoms)
        entry["put"] = _shrunk([[mine.slot, mine.start < 0, here.value(mine)]], [unit])
        entries.append(entry)
    _note_reused(entries, tree)
    repeated = Counter(entry["is"][0] for entry in entries)
    if len(repeated) < len(entries):
        for entry in entries:
            if repeated[entry["is"][0]] > 1:
                entry["by"] = _neighbours(units, entry["at"], 1)
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
            _own(owner, node, ("turns", number))
    return [loss for loss in losses if not _is_restored(loss, owner, {"turns": set(dirty)})]


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
        if found := sorted(filter(None, _ids_in(entry["put"], set()) & reused)):
            entry["reused"] = found


def _are_like(a: Sequence[Message], b: Sequence[Message]) -> bool:
    if len(a) != len(b):
        return False
    for one, other in zip(a, b, strict=True):
        if one.role != other.role:
            return False
    return True


def _begin(units: Sequence[Unit]) -> int:
    """Where the conversation begins, behind the system prompt."""
    return next((n for n, unit in enumerate(units) if not _instructs(unit)), len(units))


def _dirty(here: View, back: dict[str, Json], alike: set[str]) -> list[int] | None:
    """The units that did not come back as they were; None: not each in its place."""
    changed: dict[str, set[int]] = {}
    for slot in here.slots() - alike:
        mine, theirs = here.inner[slot], back.get(slot)
        if mine.__class__ is not list or theirs.__class__ is not list:
            units = [unit for unit in here.turns if unit.slot == slot]
            if theirs is None or len(units) > 1 or not all(map(_is_instruction, units[0].nodes)):
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
    owner = _owners(there, heard)
    return [loss for loss in losses if not _is_restored(loss, owner, restored)]


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
    if _keys(there, _inner(there, patched), slots) != list(here.inner):
        capsule["order"] = list(here.inner)


def _entries(part: str, here: View, there: View, alike: set[str]) -> list[Json]:
    old, new = getattr(there, part), getattr(here, part)  # from the way back to the original
    if here.base is None and {unit.slot for unit in (*old, *new)} <= alike:
        return []
    begin = _begin(new) if part == "turns" else 0
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
            if marks := _relative(was):  # where they stood that the target holds as well
                entry["marks"] = [marks, _relative(is_)]
            if b1 - b0 != o1 - o0 or not all(map(Unit.says_the_same, was, is_)):
                moved.append((entry, _counted(is_), _counted(was)))
            if o1 > begin and any(map(_instructs, chain(is_, was))):
                entry["odd"] = 2  # a system prompt in the middle, or what has become of it
        if b1 - b0 != o1 - o0:
            entry.setdefault("odd", 1)
        entry["put"] = _shrunk(here.pieces(is_), was)
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
        strict = max(entry.pop("odd", 0), int("with" in entry))
        if slight or strict or not keys or repeated[keys[0]] > 1:
            entry["by"] = _neighbours(units, start, len(keys))
        if strict:
            entry["strict"] = strict


def _is_clean(there: View, a: Unit, here: View, b: Unit) -> bool:
    """Whether a unit came back as it was: the same JSON, key order and types of numbers too."""
    if a.slot != b.slot or (a.start < 0) != (b.start < 0):
        return False
    return equal(there.value(a), here.value(b))


def _runs(old: list[Unit], new: list[Unit]) -> list[tuple[int, int, int, int]]:
    """Which units correspond: one by one, or those between two that do."""
    if len(old) == len(new) and all(_is_like(a, b) for a, b in zip(old, new, strict=True)):
        return [(n, n + 1, n, n + 1) for n in range(len(old))]
    pairs = align([unit.key for unit in old], [unit.key for unit in new])
    out: list[tuple[int, int, int, int]] = []
    i = j = 0
    for x, y in [*pairs, (len(old), len(new))]:
        if x > i and y > j:
            out.append((i, x, j, y))
        elif x > i or y > j:  # what has no counterpart goes with what stands before it
            b0, _, o0, _ = out.pop() if out else (i, i, j, j)
            out.append((b0, x, o0, y))
        if x < len(old):
            out.append((x, x + 1, y, y + 1))
        i, j = x + 1, y + 1
    if len(out) > 1 and out[0][0] == out[0][1]:  # nothing stands before it
        first, second = out[:2]
        out[:2] = [(first[0], second[1], first[2], second[3])]
    return out


def _is_like(a: Unit, b: Unit) -> bool:
    if a.slot != b.slot or len(a.nodes) != len(b.nodes):
        return False
    one, other = a.nodes[0], b.nodes[0]
    if one.__class__ is Message:
        return bool(one.role == other.role)
    return bool(one.name == other.name)


def _instructs(unit: Unit) -> bool:
    return _is_instruction(unit.nodes[0])


def _is_instruction(node: Any) -> bool:
    return node.role in ("system", "developer")


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


def _neighbours(units: Sequence[Unit], start: int, count: int) -> list[str]:
    end = start + count
    before = units[start - 1].key if start else "^"
    return [before, units[end].key if end < len(units) else "$"]


# -- texts that the unit has anyway ---------------------------------------------------------


def _texts(gists: Iterable[list[Json]], known: list[str]) -> set[int]:
    """The long texts of gists, in an order that no spelling changes; which are in arguments."""
    called: set[int] = set()
    for gist in gists:
        for atom in gist:
            if atom.__class__ is not str:
                start = len(known)
                _strings(atom, known)
                if atom[0] == "call":
                    called.update(range(start, len(known)))
            elif len(atom) >= LONG:
                known.append(atom)
    return called


def _strings(value: Json, out: list[str]) -> None:
    for item in value if value.__class__ is not dict else [value[key] for key in sorted(value)]:
        kind = item.__class__
        if kind is str:
            if len(item) >= LONG:
                out.append(item)
        elif kind is list or kind is dict:
            _strings(item, out)


def _schemas(units: Sequence[Unit]) -> dict[int, Json]:
    if not units or units[0].nodes[0].__class__ is Message:
        return {}
    return dict(enumerate(node.schema for unit in units for node in unit.nodes if node.schema))


class _Taken(Exception):
    """A document has a key of ours."""


def _shrunk(pieces: list[Json], was: Sequence[Unit]) -> Json:
    """The original with references to what its unit holds; as it is, if it has such keys itself.

    Each text is referred to once, so that what comes of it is no longer than what there is.
    """
    schemas = _schemas(was)
    if not schemas and sum(unit.size for unit in was) < WORTH:
        return {"raw": pieces}
    known: list[str] = []
    called = _texts([unit.atoms for unit in was], known)
    places = {text: number for number, text in enumerate(known)}
    try:
        return _shrink(pieces, places, called, schemas)
    except _Taken:
        return {"raw": pieces}


def _shrink(
    value: Json, places: dict[str, int], called: set[int], schemas: dict[int, Json]
) -> Json:
    items: Any = enumerate(value)
    if value.__class__ is dict:
        for number in list(islice(schemas, MANY)):
            if same(value, schemas[number]):
                del schemas[number]
                return {REF: ~number}
        if REF in value or TEXT in value:
            raise _Taken
        items = value.items()
    out = value.copy()
    for key, item in items:
        kind = item.__class__
        if kind is str:
            if len(item) >= LONG:
                number = places.pop(item, None)
                if number is not None:
                    out[key] = {REF: number}
                elif called and item[0] == "{":
                    out[key] = _shrunk_text(item, places, called)
        elif kind is dict or kind is list:
            out[key] = _shrink(item, places, called, schemas)
    return out


MANY = 8
"""How many texts are looked for in another, or schemas compared with a value."""


def _shrunk_text(text: str, places: dict[str, int], called: set[int]) -> Json:
    """A text that is JSON, with references to the texts in it: the arguments of a call."""
    found: list[tuple[int, int, str, int]] = []
    style = int("\\u" in text and text.isascii())
    for known, number in islice(places.items(), MANY):
        if number in called:
            spelled = SPELLINGS[style](known)
            at = text.find(spelled)
            if at >= 0:
                found.append((at, at + len(spelled), known, number))
    parts: list[Json] = []
    end = 0
    for start, stop, known, number in sorted(found):
        if start >= end:
            del places[known]
            parts += [text[end:start], [number, style]]
            end = stop
    return {TEXT: [*parts, text[end:]]} if parts else text


SPELLINGS: tuple[Callable[[str], str], ...] = (compact, json.dumps)
"""How texts are spelled in JSON, nearly always."""


def _grown(put: Json, gists: Iterable[list[Json]], schemas: dict[int, Json]) -> list[Json]:
    """The original pieces of an entry, with the texts of the units that it belongs to."""
    if put.__class__ is dict:
        return _checked(put["raw"])
    known: list[str] = []
    _texts(gists, known)
    return _checked(_expand(put, dict(enumerate(known)), schemas))


def _expand(value: Json, known: dict[int, str], schemas: dict[int, Json]) -> Json:
    if value.__class__ is dict:
        if REF in value:
            number = value[REF]
            return known.pop(number) if number >= 0 else schemas.pop(~number)
        if TEXT in value:
            return "".join(_spelled(part, known) for part in value[TEXT])
        return {key: _expand(item, known, schemas) for key, item in value.items()}
    if value.__class__ is list:
        return [_expand(item, known, schemas) for item in value]
    return value


def _spelled(part: Json, known: dict[int, str]) -> str:
    if part.__class__ is str:
        return str(part)
    number, style = part
    return SPELLINGS[style](known.pop(number))


def _checked(pieces: Json) -> list[Json]:
    if pieces.__class__ is not list:
        raise TypeError("what is put is a list")
    for slot, whole, value in pieces:
        if slot.__class__ is not str or (not whole and value.__class__ is not list):
            raise TypeError("what is put is a slot and its items")
    return pieces


# -- cache marks ----------------------------------------------------------------------------


def _relative(units: Sequence[Unit]) -> list[Json]:
    """The marks of units: in which piece, and where in there."""
    out: list[Json] = []
    number, last = -1, None
    base = 0
    for unit in units:
        whole = unit.start < 0
        if last is None or whole or last != unit.slot:
            number, base = number + 1, max(unit.start, 0)
        last = None if whole else unit.slot
        for at in unit.marks():
            tokens: list[Any] = at.split("/")
            skip = tokens.index(unit.slot) + 1 if unit.slot in tokens else 1
            rest = tokens[skip:]
            if not whole and rest and rest[0].isdigit():
                rest[0] = str(int(rest[0]) - base)
            out.append([number, *rest])
    return out


def _follow_marks(entry: Json, pieces: list[Json], shown: list[Json], now: list[Json]) -> bool:
    """Put the marks where they stand now, where the target holds marks; False: one has no place."""
    was, held = entry.get("marks", ((), ()))
    if list(was) == now:
        return True
    for path in reversed(held):
        at, key = _container(pieces, path)
        if at.__class__ is dict and at.pop(key, None) is not None and not at:
            at, key = _container(pieces, path[:-1])
            del at[int(key)]  # the mark was a block of its own
    placed = True
    for path in now:
        value, key = _container(shown, path)
        if value.__class__ is dict and len(value) == 1:
            path = path[:-1]
            value, key = _container(shown, path)
        at, _ = _container(pieces, path, shown)
        if at.__class__ is dict and value.__class__ is dict:
            at[key] = value[key]
        elif at.__class__ is list and value.__class__ is list:
            at.insert(max(0, len(at) - (len(value) - 1 - int(key))), value[int(key)])
        else:
            placed = False
    return placed


def _container(pieces: list[Json], path: Json, shown: list[Json] | None = None) -> tuple[Json, str]:
    """What holds the last token of a path: itself, or what corresponds to it in the other pieces.

    Items correspond counted from the end: reasoning that was left out stood at the beginning.
    """
    number, *tokens = path
    at: Json = pieces[number][2] if number < len(pieces) else None
    guide: Json = shown[number][2] if shown is not None else None
    for token in tokens[:-1]:
        if at.__class__ is list and token.isdigit():
            index = int(token)
            if guide is not None:
                index += len(at) - len(guide)
            at = at[index] if 0 <= index < len(at) else None
        else:
            at = at.get(token) if at.__class__ is dict else None
        if guide is not None:
            guide = guide[int(token)] if guide.__class__ is list else guide[token]
    return at, tokens[-1] if tokens else ""


def _has(pieces: list[Json], path: Json) -> bool:
    at, key = _container(pieces, path)
    return at.__class__ is dict and key in at


# -- opening --------------------------------------------------------------------------------


def open_(
    capsule: Json,
    document: Json,
    dialect: Dialect,
    facet: str,
    log: Ledger,
    heard: Tree,
    echoed: Json,
) -> Json:
    """The document with everything restored that the capsule holds for it.

    ``heard`` and ``echoed`` are what it was written from: the tree, and the client's document.
    """
    if not isinstance(capsule, dict) or capsule.get("capsule") not in (1, VERSION):
        version = capsule.get("capsule") if isinstance(capsule, dict) else None
        said = "" if version is None else f", but of version {version!r}"
        raise Malformed(f"not a capsule of version {VERSION}{said}")
    if capsule.get("dialect") != dialect.name:
        raise Malformed(f"the capsule belongs to {capsule.get('dialect')!r}, not {dialect.name!r}")
    if capsule.get("facet") != facet:
        raise Malformed(f"the capsule belongs to a {capsule.get('facet')!r}, not to a {facet!r}")
    said_before = len(log.losses)
    try:
        if capsule["capsule"] == 1 or "count" not in capsule:
            root = document if capsule.get("refs") else None
            restored = patching.apply(capsule.get("patch"), document, "", log, root)
            if len(log.losses) == said_before:  # all of it fitted, so all of this is made up for
                mended = Counter(tuple(mended) for mended in capsule.get("mended", ()))
                log.losses[:] = _unmended(log.losses, mended, {})
        else:
            view = _view(document, dialect.read(document, facet))
            if view is None:
                log.dropped("capsule", "", "this is no conversation of items any more")
                return document
            restored = _Opening(capsule, view, heard, log).run(dialect, facet)
        _point(log, said_before, echoed)
        return restored
    except RecursionError:
        raise Malformed("nested too deeply to be restored") from None
    except (TypeError, LookupError, ValueError, AttributeError) as problem:
        raise Malformed(f"the capsule is damaged: {problem!r}") from None


def _point(log: Ledger, start: int, echoed: Json) -> None:
    """Settings are called otherwise in the other document: point at what there is of the path."""
    for number in range(start, len(log.losses)):
        loss = log.losses[number]
        if loss.what == "capsule":
            log.losses[number] = Loss(loss.kind, loss.what, _nearest(echoed, loss.path), loss.why)


def _nearest(doc: Json, path: str) -> str:
    found = ""
    for token in path.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        if doc.__class__ is dict and name in doc:
            doc = doc[name]
        elif doc.__class__ is list and name.isdigit() and int(name) < len(doc):
            doc = doc[int(name)]
        else:
            break
        found += f"/{token}"
    return found


class _Entry:
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

    def has_grown(self, unit: Unit) -> bool:
        size = self.data.get("size", 0)
        if unit.start < 0 or not 1 < size < len(unit.atoms) or len(unit.atoms) != len(unit.ats):
            return False
        return bool(digest(unit.atoms[:size])[0] == self.data["is"][-1])

    def is_near(self, units: list[Unit], at: int) -> bool:
        """Whether it stands beside what it stood beside, if it needs that to be told.

        Where turns came back in another order or number, both neighbours count: a system prompt in
        the middle, say, may stand only before a reply.
        """
        by = self.data.get("by")
        if by is None:
            return True
        before, behind = _neighbours(units, at, self.count)
        if strict := self.data.get("strict"):
            end = at + self.count
            if by[1] == "$" and end < len(units):
                grown = strict == 1 or units[end].nodes[0].role == "assistant"
            else:
                grown = behind == by[1]
            return bool(before == by[0] and grown)
        return bool(before == by[0] or behind == by[1])

    def stays(self, units: list[Unit]) -> bool:
        at = self.data["at"]
        if not self.fits(units, at):
            return False
        return not self.data.get("strict") or self.is_near(units, at)


class _Opening:
    """One capsule of this version, being opened."""

    def __init__(self, capsule: dict[str, Json], view: View, heard: Tree, log: Ledger) -> None:
        self.capsule = capsule
        self.view = view
        self.heard = heard
        self.log = log
        if capsule["count"][1] is None:
            view.leave_tools()
        if capsule.get("echo"):
            _twin(view, getattr(heard, "messages", ()))
        self.units: dict[str, list[Unit]] = {"turns": view.turns, "tools": view.tools}
        self.entries = {part: [_Entry(e) for e in capsule.get(part, ())] for part in PARTS}

    def run(self, dialect: Dialect, facet: str) -> Json:
        for part, total in zip(PARTS, self.capsule["count"], strict=True):
            self.place(part, total or 0)
        self.drop_last()
        self.grow()
        self.drop_sets()
        self.drop_conflicts()
        patched = self.settings()
        document = self.assemble(patched, {})
        for _ in range(3):
            names, failed = self.reconcile(document, dialect, facet)
            for entry in failed:
                entry.hint, entry.at = entry.at or 0, None
            if failed:
                self.drop_sets()
            if not failed and not names:
                break
            document = self.assemble(patched, names)
        self.report()
        return document

    def all(self) -> Iterator[_Entry]:
        return chain.from_iterable(self.entries.values())

    # -- where entries belong ---------------------------------------------------------------

    def place(self, part: str, total: int) -> None:
        entries, units = self.entries[part], self.units[part]
        if all(entry.stays(units) for entry in entries):
            for entry in entries:
                entry.at = entry.data["at"]
            return
        places: dict[str, list[int]] = {}
        for number, unit in enumerate(units):
            places.setdefault(unit.key, []).append(number)
        offset = floor = 0
        tail = len(units) - total
        for entry in entries:
            was = entry.data["at"]
            at = self.search(entry, units, places, floor, (was + offset, was + tail, was))
            if at is None:
                entry.hint = max(floor, min(was + offset, len(units) - 1))
            else:
                entry.at, offset, floor = at, at - was, at + entry.count

    def search(
        self,
        entry: _Entry,
        units: list[Unit],
        places: dict[str, list[int]],
        floor: int,
        guesses: tuple[int, ...],
    ) -> int | None:
        for guess in guesses:
            if guess >= floor and entry.fits(units, guess) and entry.is_near(units, guess):
                return guess
        keys = entry.data["is"]
        found = places.get(keys[0], []) if keys else []
        found = [at for at in found[-FEW:] if at >= floor and entry.fits(units, at)]
        if "by" in entry.data:
            found = [at for at in found if entry.is_near(units, at)][:1]
        return found[0] if len(found) == 1 else None

    def drop_last(self) -> None:
        """A turn that others followed and that is the last one now is what the model goes on with.

        Such a beginning of a reply takes no reasoning: "When thinking is disabled, an `assistant`
        message in the final position cannot contain `thinking`", and enabled, it takes none at all.
        """
        units, total = self.units["turns"], self.capsule["count"][0]
        for entry in self.entries["turns"] if isinstance(self.heard, Request) else ():
            end = entry.data["at"] + entry.count
            if entry.at is None or entry.at + entry.count < len(units) or end == total:
                continue
            if units and units[-1].nodes[-1].role == "assistant":
                entry.hint, entry.at = entry.at, None

    def drop_sets(self) -> None:
        """What exchanged something is restored together."""
        for entries in self.entries.values():
            lost = {entry.data.get("with") for entry in entries if entry.at is None} - {None}
            for entry in entries:
                if entry.data.get("with") in lost and entry.at is not None:
                    entry.hint, entry.at = entry.at, None

    def drop_conflicts(self) -> None:
        """A slot is one value, or a list: not both."""
        for part, entries in self.entries.items():
            kinds: dict[str, list[bool]] = {}
            taken = self.taken(part)
            for number, unit in enumerate(self.units[part]):
                if number not in taken:
                    kinds.setdefault(unit.slot, []).append(unit.start < 0)
            for entry in entries:
                for slot, whole, _ in entry.pieces if entry.at is not None else ():
                    kinds.setdefault(slot, []).append(bool(whole))
            bad = {slot for slot, wholes in kinds.items() if any(wholes) and len(wholes) > 1}
            for entry in entries if bad else ():
                if entry.at is not None and any(slot in bad for slot, _, _ in entry.pieces):
                    entry.hint, entry.at = entry.at, None
            if bad:
                self.drop_sets()

    def taken(self, part: str) -> dict[int, _Entry]:
        """Which units are restored, and by what."""
        found: dict[int, _Entry] = {}
        for entry in self.entries[part]:
            if entry.at is not None:
                found |= dict.fromkeys(range(entry.at, entry.at + entry.count), entry)
        return found

    # -- what they hold ---------------------------------------------------------------------

    def grow(self) -> None:
        """The original of each entry, with the texts that it refers to."""
        for part in PARTS:
            for entry in self.entries[part]:
                if entry.at is None:
                    continue
                units = self.units[part][entry.at : entry.at + entry.count]
                atoms = [unit.atoms for unit in units]
                entry.grown = bool(units) and units[-1].key != entry.data["is"][-1]
                if entry.grown:
                    atoms[-1] = atoms[-1][: entry.data["size"]]
                entry.pieces = _grown(entry.data["put"], atoms, _schemas(units))
                if part != "turns":
                    continue
                shown, rest = self.view.pieces(units), None
                if entry.grown:
                    try:
                        shown, rest = self.parted(units, entry.data["size"])
                    except (LookupError, ValueError):  # it has grown where it is no list
                        entry.hint, entry.at = entry.at, None
                        continue
                self.follow_marks(entry, units, shown)
                if rest is not None:
                    self.add(entry, units[-1].slot, rest)

    def follow_marks(self, entry: _Entry, units: list[Unit], shown: list[Json]) -> None:
        now = _relative(units)
        if entry.grown:  # the marks of what was added stay with it
            now = [path for path in now if _has(shown, path)]
        if not now and "marks" not in entry.data:
            return
        entry.pieces = parse(encode(entry.pieces))  # our own, to be changed
        if not _follow_marks(entry.data, entry.pieces, shown, now):
            at = self.path("turns", entry.at or 0)
            self.log.dropped("cache", at, "the restored turn has no place for this mark")

    def parted(self, units: list[Unit], size: int) -> tuple[list[Json], list[Json]]:
        """The pieces of units without what was written into the last item, and that."""
        shown = self.view.pieces(units)
        unit = units[-1]
        thoughts = {b.at for n in unit.nodes for b in n.content if b.__class__ is Reasoning}
        depth = (2 if self.view.doc.__class__ is list else 3) + (self.view.base is not None)
        into = unit.ats[size].split("/")
        if len(into) <= depth and size + 1 < len(unit.ats):  # the role; what it says comes next
            into = unit.ats[size + 1].split("/")
        index = int(into[depth - 1])
        slot, whole, items = shown[-1]
        cut = len(items) - (unit.end - index)  # the first item that has anything new
        if unit.ats[size - 1].split("/")[:depth] != into[:depth]:
            while cut > 1 and "/".join([*into[: depth - 1], str(index - 1)]) in thoughts:
                cut, index = cut - 1, index - 1
            return [*shown[:-1], [slot, whole, items[:cut]]], items[cut:]
        key, number = into[depth], int(into[depth + 1])
        while number and "/".join([*into[: depth + 1], str(number - 1)]) in thoughts:
            number -= 1
        item = items[cut]
        rest = [{**item, key: item[key][number:]}, *items[cut + 1 :]]
        kept = [*items[:cut], {**item, key: item[key][:number]}]
        return [*shown[:-1], [slot, whole, kept]], rest

    def add(self, entry: _Entry, slot: str, items: list[Json]) -> None:
        """What came after the turn and was written into its last item."""
        last, whole, value = entry.pieces[-1] if entry.pieces else ("", True, [])
        if whole or last != slot:
            entry.pieces = [*entry.pieces, [slot, False, items]]
        else:
            entry.pieces = [*entry.pieces[:-1], [slot, False, _joined(value, items)]]

    # -- the document -----------------------------------------------------------------------

    def settings(self) -> Json:
        settings = self.view.settings(self.view.slots())
        return patching.apply(self.capsule.get("patch"), settings, "", self.log, None)

    def assemble(self, patched: Json, names: dict[str, str]) -> Json:
        values: dict[str, Json] = {}
        for part in PARTS:
            taken = self.taken(part)
            for entry in self.entries[part]:
                entry.spans = []
                if entry.at is not None and not entry.count:
                    self.put(entry, values)
            for number, unit in enumerate(self.units[part]):
                owner = taken.get(number)
                if owner is None:
                    value = self.view.value(unit)
                    value = _renamed(value, names) if names else value
                    _add(values, unit.slot, unit.start < 0, value)
                elif number == owner.at:
                    self.put(owner, values)
        inner = _inner(self.view, patched)
        keys = _keys(self.view, inner, set(values))
        if "order" in self.capsule:
            first = [key for key in self.capsule["order"] if key in values or key in inner]
            keys = [*first, *(key for key in keys if key not in set(first))]
        whole = {key: values[key] if key in values else inner[key] for key in keys}
        if self.view.doc.__class__ is not dict:
            return values.get("", [])
        return whole if self.view.base is None else {**patched, self.view.base: whole}

    def put(self, entry: _Entry, values: dict[str, Json]) -> None:
        for slot, whole, value in entry.pieces:
            start = 0 if whole else len(values.get(slot, ()))
            entry.spans.append((slot, start, start + 1 if whole else start + len(value)))
            _add(values, slot, whole, value)

    # -- ids --------------------------------------------------------------------------------

    def reconcile(
        self, document: Json, dialect: Dialect, facet: str
    ) -> tuple[dict[str, str], list[_Entry]]:
        """Ids that the client replaced, where a restored turn has the original again.

        Gives the names for the other turns, and the entries that cannot be reconciled with them.
        """
        taken = self.taken("turns")
        units = self.units["turns"]
        others = {
            i for n, u in enumerate(units) if n not in taken for ids in u.calls() for i in ids
        }
        sets: dict[Any, list[_Entry]] = {}  # what was exchanged is looked at together
        for number, entry in enumerate(self.entries["turns"]):
            if entry.at is not None:
                sets.setdefault(entry.data.get("with", f"/{number}"), []).append(entry)
        many = Counter(i for entries in sets.values() for i in self.ids(entries))
        shared = others | {name for name, count in many.items() if count > 1}
        places: _Places | None = None
        given: dict[Any, Any] = {}  # id as it is now -> as it was, in what is restored
        names: dict[str, str] = {}
        failed: list[_Entry] = []
        for entries in sets.values():
            now = [unit for entry in entries for unit in self.of(entry)]
            met = _all_ids(now) & shared
            if not met or met <= _ids_in([entry.pieces for entry in entries], set()):
                continue
            places = places or _Places(View(document, dialect.read(document, facet)))
            spans = [span for entry in entries for span in entry.spans]
            pairs = _paired(now, places.within(spans), len(entries) > 1)
            free = {name for entry in entries for name in entry.data.get("reused", ())}
            free |= (pairs or {}).keys()
            if pairs is None or any(
                given.get(k, v) != v or (v in others and v not in names and v not in free)
                for k, v in pairs.items()
            ):
                failed += entries
            else:
                given |= pairs
                found = ((old, new) for old, new in pairs.items() if old in others)
                names |= {old: new for old, new in found if new is not None}
        return names, failed

    def ids(self, entries: list[_Entry]) -> set[str | None]:
        return _all_ids([unit for entry in entries for unit in self.of(entry)])

    def of(self, entry: _Entry) -> list[Unit]:
        """The units that an entry restores."""
        return [] if entry.at is None else self.units["turns"][entry.at : entry.at + entry.count]

    # -- the ledger -------------------------------------------------------------------------

    def path(self, part: str, number: int) -> str:
        """Where a unit stands in the client's document."""
        owned = (at for at, unit in self.owner.items() if unit == (part, number))
        return next(owned, "")

    @cached_property
    def owner(self) -> dict[str, tuple[str, int]]:
        return _owners(self.view, self.heard)

    def report(self) -> None:
        fitted = not any(loss.what == "capsule" for loss in self.log.losses)
        lost = [(part, e) for part in PARTS for e in self.entries[part] if e.at is None]
        owner = self.owner if lost or self.log.losses else {}
        restored = {part: set(self.taken(part)) for part in PARTS}
        losses = [x for x in self.log.losses if not _is_restored(x, owner, restored)]
        mended = Counter(tuple(mended) for mended in self.capsule.get("mended", ()))
        self.log.losses[:] = (
            losses if not mended or not fitted else _unmended(losses, mended, owner if lost else {})
        )
        first: dict[tuple[str, int], str] = {}
        for at, unit in owner.items():
            first.setdefault(unit, at)
        for part, entry in lost:
            self.log.dropped("capsule", first.get((part, entry.hint), ""), CHANGED)


FEW = 50
"""How many units that say the same are looked at."""


def _unmended(
    losses: list[Loss], mended: Counter[tuple[Any, ...]], owner: dict[str, Any]
) -> list[Loss]:
    """The losses that nothing makes up for; in a changed conversation those of its turns stay."""
    out: list[Loss] = []
    for loss in losses:
        triple = (loss.kind, loss.what, loss.path)
        if mended[triple] > 0 and _owner(loss.path, owner) is None:
            mended[triple] -= 1
        else:
            out.append(loss)
    return out


def _inner(view: View, settings: Json) -> dict[str, Json]:
    inner: dict[str, Json] = settings if view.base is None else settings[view.base]
    return inner


def _keys(view: View, inner: dict[str, Json], slots: set[str]) -> list[str]:
    """The order of the keys: as the document has them, then what comes."""
    here = dict.fromkeys(key for key in view.inner if key in inner or key in slots)
    return list(here | dict.fromkeys(inner) | dict.fromkeys(sorted(slots)))


def _add(values: dict[str, Json], slot: str, whole: bool, value: Json) -> None:
    if whole:
        values[slot] = value
    else:
        values.setdefault(slot, []).extend(value)


def _joined(items: list[Json], more: list[Json]) -> list[Json]:
    """Items with more of them behind; what continues the last one becomes a part of it."""
    if items and more and more[0].__class__ is items[-1].__class__ is dict:
        last, following = items[-1], more[0]
        for key, value in following.items():
            mine = last.get(key)
            if mine.__class__ is list and value.__class__ is list:
                if last.get("role") == following.get("role"):
                    return [*items[:-1], {**last, key: mine + value}, *more[1:]]
    return [*items, *more]


def _owners(view: View, heard: Tree) -> dict[str, tuple[str, int]]:
    """Places in the client's document -> the unit that is written from there."""
    out: dict[str, tuple[str, int]] = {}
    spoken: dict[str, Sequence[Any]] = {
        "turns": getattr(heard, "messages", ()),
        "tools": getattr(heard, "tools", ()) or (),
    }
    for part, nodes in spoken.items():
        units: list[Unit] = getattr(view, part)
        flat = [(number, node) for number, unit in enumerate(units) for node in unit.nodes]
        for i, j in _aligned(nodes, [node for _, node in flat]):
            _own(out, nodes[i], (part, flat[j][0]))
    return out


def _own(owner: dict[str, tuple[str, int]], node: Any, unit: tuple[str, int]) -> None:
    for at in (node.at, *(block.at for block in getattr(node, "content", ()))):
        if at:
            owner.setdefault(at, unit)


def _twin(view: View, spoken: Sequence[Message]) -> None:
    """Give each unit what the client said for it."""
    nodes = [node for unit in view.turns for node in unit.nodes]
    twins = {j: spoken[i] for i, j in _aligned(spoken, nodes)}
    index = 0
    for unit in view.turns:
        places = range(index, index + len(unit.nodes))
        unit.twins = [twins.get(n, nodes[n]) for n in places]
        index = places.stop


def _aligned(a: Sequence[Any], b: Sequence[Any]) -> list[tuple[int, int]]:
    one, other = [Unit("", 0, [node]) for node in a], [Unit("", 0, [node]) for node in b]
    if len(one) == len(other) and all(map(_is_like, one, other)):
        return [(n, n) for n in range(len(one))]
    return align([unit.key for unit in one], [unit.key for unit in other])


def _owner(path: str, owner: dict[str, Any]) -> Any:
    while path:
        if path in owner:
            return owner[path]
        path = path.rpartition("/")[0]
    return None


def _is_restored(loss: Loss, owner: dict[str, Any], restored: dict[str, set[int]]) -> bool:
    found = _owner(loss.path, owner)
    return found is not None and found[1] in restored[found[0]]


# -- ids ------------------------------------------------------------------------------------


def _all_ids(units: Sequence[Unit]) -> set[str | None]:
    return {i for unit in units for ids in unit.calls() for i in ids} - {None}


def _is_id(key: str) -> bool:
    return key[-2:] in ("id", "Id")


def _ids_in(value: Json, found: set[str | None]) -> set[str | None]:
    if value.__class__ is dict:
        for key, item in value.items():
            if item.__class__ is str:
                if _is_id(key):
                    found.add(item)
            else:
                _ids_in(item, found)
    elif value.__class__ is list:
        for item in value:
            _ids_in(item, found)
    return found


def _renamed(value: Json, names: dict[str, str]) -> Json:
    if value.__class__ is dict:
        return {
            key: names.get(item, item)
            if item.__class__ is str and _is_id(key)
            else _renamed(item, names)
            for key, item in value.items()
        }
    if value.__class__ is list:
        return [_renamed(item, names) for item in value]
    return value


class _Places:
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


def _paired(now: Sequence[Unit], original: Sequence[Unit], tied: bool) -> dict[Any, Any] | None:
    """The ids of calls and results as they are now -> as they were; None: not the same ones.

    What they say tells; else they are in the same order, unless they exchanged something.
    """
    by_meaning = _paired_by_meaning(now, original)
    if by_meaning is not None or tied:
        return by_meaning
    pairs: dict[Any, Any] = {}
    a = [name for unit in now for _, name in unit.identified()]
    b = [name for unit in original for _, name in unit.identified()]
    if len(a) != len(b):
        return None
    for old, new in zip(a, b, strict=True):
        if pairs.setdefault(old, new) != new:
            return None
    return pairs


def _paired_by_meaning(now: Sequence[Unit], original: Sequence[Unit]) -> dict[Any, Any] | None:
    pairs: dict[Any, Any] = {}
    places: dict[bytes, deque[str | None]] = {}
    for unit in original:
        for atom, name in unit.identified():
            places.setdefault(encode(atom), deque()).append(name)
    for unit in now:
        for atom, name in unit.identified():
            found = places.get(encode(atom))
            if not found or pairs.setdefault(name, found[0]) != found.popleft():
                return None
    return pairs
