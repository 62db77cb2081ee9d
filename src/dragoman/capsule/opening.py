"""Opening a capsule: each entry is put where its unit stands now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

from msgspec.structs import replace

from ..core.reading import encode, escape, nearest
from ..core.surrogates import parse_exactly
from ..dialect import Dialect
from ..errors import CapsuleError
from ..ledger import Ledger, Loss, Restored
from ..model import Json, Message, Reasoning, Request, Text, ToolResult, Tree
from ..tools.results import NO_RESULT
from . import patching
from .entries import Entry, heaviest
from .marks import has_mark, put_marks, relative
from .names import Places, all_ids, ids_in, paired, renamed
from .places import PARTS, aligned, inner_of, is_restored, keys_of, owner_of, owners_of, view_of
from .proof import Proof
from .references import cut, expanded, schemas_of
from .types import typed
from .units import Unit, View

CHANGED = "this turn was changed; what the capsule holds for it is not restored"


def open_(
    capsule: Json,
    document: Json,
    dialect: Dialect,
    facet: str,
    log: Ledger,
    heard: Tree,
    client: Dialect,
    echoed: Json,
) -> Json:
    """The document with everything restored that the capsule holds for it.

    The capsule is one that ``validating.check`` has passed. ``heard`` and ``echoed`` are what the
    document was written from: the tree, and the document of the client's dialect.
    """
    noted_before = len(log.losses)
    proof = Proof(client, echoed, heard, dialect, facet, log)
    key = capsule.get("wrap")
    if key.__class__ is str and document.__class__ is list:
        document = {key: document}
    key = capsule.get("bare")
    if key is not None and document.__class__ is dict and [*document] == [key]:
        document = document[key]
    try:
        if capsule["capsule"] == 1 or "count" not in capsule:
            root = patching.Root(document) if capsule.get("refs") else None
            restored = patching.apply(capsule.get("patch"), document, "", log, root)
            if len(log.losses) == noted_before:  # all of it fitted
                repaired = Counter(tuple(repaired) for repaired in capsule.get("repaired", ()))
                left = _unrepaired(log.losses, repaired, {})
                log.losses[:] = proof.left(restored, log.losses, left)
        else:
            untyped = document
            if "typed" in capsule:
                document = typed(document, dialect, capsule["typed"])
            view = view_of(document, dialect.read(document, facet))
            if view is None:
                log.dropped("capsule", "", "no longer a conversation of items")
                return document
            restored = _Opening(capsule, view, heard, log, proof).run(dialect, facet)
            if document is not untyped:
                _note_types(restored, document, untyped, dialect.history, log)
        _point(log, echoed)
        return restored
    except RecursionError:
        raise CapsuleError("nested too deeply to be restored") from None
    except (TypeError, LookupError, ValueError, AttributeError) as problem:
        raise CapsuleError(f"damaged: {problem!r}") from None


def _note_types(restored: Json, now: Json, before: Json, key: Any, log: Ledger) -> None:
    """Name each type that was written into a message, where that stands now."""
    pairs = zip(now[key], before[key], strict=True)
    written = {id(item) for item, old in pairs if item is not old}
    for number, item in enumerate(restored[key]):
        if id(item) in written:
            log.restored.append(Restored("field", f"/{key}/{number}/type"))


def refit(document: Json, dialect: Dialect, tree: Tree, log: Ledger) -> Json:
    """What was restored, as the dialect takes it: settings may not go with turns that changed."""
    try:
        return dialect.restored(document, tree, log)
    except (TypeError, LookupError, ValueError, AttributeError) as problem:
        raise CapsuleError(f"damaged: {problem!r}") from None


def _point(log: Ledger, echoed: Json) -> None:
    """Settings are called otherwise in the other document: point at what there is of the path."""
    for number, loss in enumerate(log.losses):
        if loss.what == "capsule":
            log.losses[number] = replace(loss, path=nearest(echoed, loss.path)[0])


class _Opening:
    """One capsule of this version, being opened."""

    def __init__(
        self, capsule: dict[str, Json], view: View, heard: Tree, log: Ledger, proof: Proof
    ) -> None:
        self.capsule = capsule
        self.proof = proof
        self.renamed: list[tuple[str, int, int]] = []  # turns whose ids follow those restored
        self.view = view
        self.heard = heard
        self.log = log
        if capsule["count"][1] is None:
            view.leave_tools()
        if capsule.get("echo"):
            _twin(view, getattr(heard, "messages", ()))
        self.units: dict[str, list[Unit]] = {"turns": view.turns, "tools": view.tools}
        self.entries = {part: [Entry(e) for e in capsule.get(part, ())] for part in PARTS}
        for entries in self.entries.values():
            if any("size" in entry.data for entry in entries[:-1]):
                raise TypeError("only the last turn can grow")

    def run(self, dialect: Dialect, facet: str) -> Json:
        for part, total in zip(PARTS, self.capsule["count"], strict=True):
            self.place(part, total or 0)
        self.drop_last()
        self.grow()
        self.drop_sets()
        self.drop_conflicts()
        self.keep_one()
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
        self.record()
        self.report(document)
        return document

    def all(self) -> Iterator[Entry]:
        return chain.from_iterable(self.entries.values())

    # -- where entries belong ---------------------------------------------------------------

    def place(self, part: str, total: int) -> None:
        entries, units = self.entries[part], self.units[part]
        if not total and not any(entry.count for entry in entries):
            for entry in entries:  # no turn came back: all that stands there now is after them
                entry.at = 0
            return
        if all(entry.stays(units) for entry in entries):
            for entry in entries:
                entry.at = entry.data["at"]
            return
        places: dict[str, list[int]] = {}
        for number, unit in enumerate(units):
            places.setdefault(unit.key, []).append(number)
        tail = len(units) - total
        found = [entry.candidates(units, places, tail) for entry in entries]
        for number, at in heaviest(entries, found, len(units)).items():
            entries[number].at = at
        self.fill(entries, units)

    def fill(self, entries: list[Entry], units: list[Unit]) -> None:
        """Turns that are told by those before them: moved as far; and where the others stood."""
        ends = [entry.at for entry in entries if entry.at is not None][::-1]
        offset = floor = 0
        for entry in entries:
            was, at = entry.data["at"], entry.at
            if at is None:
                guess = was + offset
                free = floor <= guess <= (ends[-1] if ends else len(units)) - entry.count
                if free and not entry.is_told() and entry.fits(units, guess):
                    at = entry.at = guess
                else:
                    entry.hint = max(floor, min(entry.changed(units, guess), len(units) - 1))
                    continue
            else:
                ends.pop()
            offset, floor = at - was, at + entry.count

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

    def keep_one(self) -> None:
        """What was made up on the way stays where nothing else is left of the conversation."""
        units, taken = self.units["turns"], self.taken("turns")
        slot = units[-1].slot if units else ""
        left = {unit.slot for number, unit in enumerate(units) if number not in taken}
        left.update(name for entry in taken.values() for name, _, value in entry.pieces if value)
        whole = len(units) == self.capsule["count"][0]  # nothing was removed
        if slot in left or (whole and all(e.at is not None for e in self.entries["turns"])):
            return
        for number, entry in taken.items():
            if units[number].slot == slot:
                entry.hint, entry.at = number, None

    def taken(self, part: str) -> dict[int, Entry]:
        """Which units are restored, and by what."""
        found: dict[int, Entry] = {}
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
                if part == "turns" and entry.data["put"].__class__ is list:
                    lengths = iter(entry.data["cuts"]) if "cuts" in entry.data else None
                    atoms = [cut(spelled, lengths) for spelled in atoms]
                entry.pieces = expanded(entry.data["put"], atoms, schemas_of(units))
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

    def follow_marks(self, entry: Entry, units: list[Unit], shown: list[Json]) -> None:
        now = relative(units)
        if entry.grown:  # the marks of what was added stay with it
            now = [path for path in now if has_mark(shown, path)]
        if not now and "marks" not in entry.data:
            return
        entry.pieces = parse_exactly(encode(entry.pieces))  # our own, to be changed
        if not put_marks(entry.data, entry.pieces, shown, now):
            at = self.path("turns", entry.at or 0)
            self.log.dropped(
                "cache", at, "the restored turn does not support this cache breakpoint"
            )

    def parted(self, units: list[Unit], size: int) -> tuple[list[Json], list[Json]]:
        """The pieces of units without what was written into the last item, and that."""
        shown = self.view.pieces(units)
        unit = units[-1]
        reasoning = {b.at for n in unit.nodes for b in n.content if b.__class__ is Reasoning}
        depth = (2 if self.view.doc.__class__ is list else 3) + (self.view.base is not None)
        into = unit.ats[size].split("/")
        if len(into) <= depth and size + 1 < len(unit.ats):  # the role; what it says comes next
            into = unit.ats[size + 1].split("/")
        index = int(into[depth - 1])
        slot, whole, items = shown[-1]
        cut = len(items) - (unit.end - index)  # the first item that has anything new
        if unit.ats[size - 1].split("/")[:depth] != into[:depth]:
            while cut > 1 and "/".join([*into[: depth - 1], str(index - 1)]) in reasoning:
                cut, index = cut - 1, index - 1
            return [*shown[:-1], [slot, whole, items[:cut]]], items[cut:]
        key, number = into[depth], int(into[depth + 1])
        while number and "/".join([*into[: depth + 1], str(number - 1)]) in reasoning:
            number -= 1
        item = items[cut]
        places = [at.split("/") for at in unit.ats]
        inside = [at[:depth] == into[:depth] and len(at) > depth for at in places]
        old = {at[depth] for at, here in zip(places[:size], inside, strict=False) if here}
        new = {at[depth] for at, here in zip(places[size:], inside[size:], strict=True) if here}
        # What both have in common may be put twice, but no list, which would be joined.
        plain = {k for k, v in item.items() if k in new or v.__class__ is not list} - old
        added = {k: v for k, v in item.items() if k == key or k in plain}
        before = {k: v for k, v in item.items() if k == key or k not in new}
        rest = [{**added, key: item[key][number:]}, *items[cut + 1 :]]
        kept = [*items[:cut], {**before, key: item[key][:number]}]
        if not number and key not in old:
            del kept[-1][key]
        return [*shown[:-1], [slot, whole, kept]], rest

    def add(self, entry: Entry, slot: str, items: list[Json]) -> None:
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
        self.renamed = []
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
                    if names and (other := renamed(value, names)) != value:
                        value = other
                        start = len(values.get(unit.slot, ()))
                        self.renamed.append((unit.slot, start, start + len(value)))
                    _add(values, unit.slot, unit.start < 0, value)
                elif number == owner.at:
                    self.put(owner, values)
        inner = inner_of(self.view, patched)
        keys = keys_of(self.view, inner, set(values))
        if "order" in self.capsule:
            first = [key for key in self.capsule["order"] if key in values or key in inner]
            keys = [*first, *(key for key in keys if key not in set(first))]
        whole = {key: values[key] if key in values else inner[key] for key in keys}
        if self.view.doc.__class__ is not dict:
            if values.keys() - {""}:
                raise TypeError("the document is a list, and has no fields")
            return values.get("", [])
        return whole if self.view.base is None else {**patched, self.view.base: whole}

    def put(self, entry: Entry, values: dict[str, Json]) -> None:
        for slot, whole, value in entry.pieces:
            start = 0 if whole else len(values.get(slot, ()))
            entry.spans.append((slot, start, start + 1 if whole else start + len(value)))
            _add(values, slot, whole, value)

    # -- ids --------------------------------------------------------------------------------

    def reconcile(
        self, document: Json, dialect: Dialect, facet: str
    ) -> tuple[dict[str, str], list[Entry]]:
        """Ids that the client replaced, where a restored turn has the original again.

        Gives the names for the other turns, and the entries that cannot be reconciled with them.
        """
        taken = self.taken("turns")
        units = self.units["turns"]
        others = {
            i for n, u in enumerate(units) if n not in taken for ids in u.calls() for i in ids
        }
        sets: dict[Any, list[Entry]] = {}  # what was exchanged is looked at together
        for number, entry in enumerate(self.entries["turns"]):
            if entry.at is not None:
                sets.setdefault(entry.data.get("with", f"/{number}"), []).append(entry)
        many = Counter(i for entries in sets.values() for i in self.ids(entries))
        shared = others | {name for name, count in many.items() if count > 1}
        places: Places | None = None
        given: dict[Any, Any] = {}  # id as it is now -> as it was, in what is restored
        names: dict[str, str] = {}
        failed: list[Entry] = []
        changed: list[tuple[list[Entry], list[Unit]]] = []
        for entries in sets.values():
            now = [
                unit for entry in entries for unit in self.of(entry) if not is_made_up(unit.nodes)
            ]
            met = all_ids(now) & shared
            if met <= ids_in([entry.pieces for entry in entries], set()):
                given |= {name: name for name in met}
            else:
                changed.append((entries, now))
        for entries, now in changed:
            places = places or Places(View(document, dialect.read(document, facet)))
            spans = [span for entry in entries for span in entry.spans]
            pairs = paired(now, places.within(spans))
            if pairs is not None:  # what had no id is told by its place, and agrees with any
                pairs = {old: new for old, new in pairs.items() if new is not None}
            free = {name for entry in entries for name in entry.data.get("reused", ())}
            free |= (pairs or {}).keys()
            if pairs is None or any(
                given.get(k, v) != v or (v in others and v not in names and v not in free)
                for k, v in pairs.items()
            ):
                failed += entries
            else:
                given |= pairs
                names |= {old: new for old, new in pairs.items() if old in others}
        return names, failed

    def ids(self, entries: list[Entry]) -> set[str | None]:
        return all_ids([unit for entry in entries for unit in self.of(entry)])

    def of(self, entry: Entry) -> list[Unit]:
        """The units that an entry restores."""
        return [] if entry.at is None else self.units["turns"][entry.at : entry.at + entry.count]

    # -- the ledger -------------------------------------------------------------------------

    def path(self, part: str, number: int) -> str:
        """Where a unit stands in the client's document."""
        owned = (at for at, unit in self.owner.items() if unit == (part, number))
        return next(owned, "")

    @cached_property
    def owner(self) -> dict[str, tuple[str, int]]:
        return owners_of(self.view, self.heard)

    def record(self) -> None:
        """Name all that is there because the capsule says so."""
        for part in PARTS:
            for entry in self.entries[part]:
                if entry.at is not None:
                    self.record_entry(entry, part)
        for slot, start, end in self.renamed:
            place = self.place_of(slot)
            self.log.restored += [Restored("id", f"{place}/{n}") for n in range(start, end)]

    def record_entry(self, entry: Entry, part: str) -> None:
        what, size = part[:-1], len(self.log.restored)
        for (slot, start, end), (_, whole, _) in zip(entry.spans, entry.pieces, strict=True):
            place = self.place_of(slot)
            paths = [place] if whole else [f"{place}/{n}" for n in range(start, end)]
            self.log.restored += [Restored(what, path) for path in paths]
        if size < len(self.log.restored):
            return
        assert entry.at is not None
        for unit in self.units[part][entry.at : entry.at + entry.count]:  # nothing in its place
            place = self.place_of(unit.slot)
            path = place if unit.start < 0 else f"{place}/{unit.start}"
            self.log.restored.append(Restored(what, path, True))

    def place_of(self, slot: str) -> str:
        if self.view.doc.__class__ is list:
            return ""
        base = "" if self.view.base is None else f"/{escape(self.view.base)}"
        return f"{base}/{escape(slot)}"

    def report(self, document: Json) -> None:
        fitted = not any(loss.what == "capsule" for loss in self.log.losses)
        lost = [(part, e) for part in PARTS for e in self.entries[part] if e.at is None]
        owner = self.owner if lost or self.log.losses else {}
        restored = {part: set(self.taken(part)) for part in PARTS}
        count = len(self.view.turns)
        losses = [x for x in self.log.losses if not is_restored(x, owner, restored, count)]
        repaired = Counter(tuple(repaired) for repaired in self.capsule.get("repaired", ()))
        left = _unrepaired(losses, repaired, owner if lost else {}) if fitted else losses
        # What is dropped may be the client's own, which the turn as it was does not have.
        others = {id(loss) for loss in losses}
        doubted = [x for x in self.log.losses if x.kind == "dropped" or id(x) in others]
        self.log.losses[:] = self.proof.left(document, doubted, left)
        first: dict[tuple[str, int], str] = {}
        for at, unit in owner.items():
            first.setdefault(unit, at)
        for part, entry in lost:
            self.log.dropped("capsule", first.get((part, entry.hint), ""), CHANGED)


def _unrepaired(
    losses: list[Loss], repaired: Counter[tuple[Any, ...]], owner: dict[str, Any]
) -> list[Loss]:
    """The losses that nothing makes up for; in a changed conversation those of its turns stay."""
    out: list[Loss] = []
    for loss in losses:
        triple = (loss.kind, loss.what, loss.path)
        if repaired[triple] > 0 and owner_of(loss.path, owner) is None:
            repaired[triple] -= 1
        else:
            out.append(loss)
    return out


def _add(values: dict[str, Json], slot: str, whole: bool, value: Json) -> None:
    if whole:
        values[slot] = value
    else:
        values.setdefault(slot, []).extend(value)


def _joined(items: list[Json], more: list[Json]) -> list[Json]:
    """Items with more of them after; what continues the last one becomes a part of it."""
    if items and more and more[0].__class__ is items[-1].__class__ is dict:
        last, following = items[-1], more[0]
        shared = last.keys() & following.keys()
        lists = {k for k in shared if last[k].__class__ is following[k].__class__ is list}
        if all(last[key] == following[key] for key in shared - lists):
            whole = last | {k: last[k] + v if k in lists else v for k, v in following.items()}
            return [*items[:-1], whole, *more[1:]]
    return [*items, *more]


def _twin(view: View, spoken: Sequence[Message]) -> None:
    """Give each unit what the client said for it."""
    nodes = [node for unit in view.turns for node in unit.nodes]
    twins = {j: spoken[i] for i, j in aligned(spoken, nodes)}
    index = 0
    for unit in view.turns:
        places = range(index, index + len(unit.nodes))
        unit.twins = [twins.get(n, nodes[n]) for n in places]
        index = places.stop


def is_made_up(nodes: Sequence[Message]) -> bool:
    """Whether a turn is nothing but results that were made up for calls without one."""
    blocks = [block for node in nodes for block in node.content]
    return bool(blocks) and all(
        isinstance(block, ToolResult)
        and any(isinstance(inner, Text) and NO_RESULT in inner.text for inner in block.content)
        for block in blocks
    )
