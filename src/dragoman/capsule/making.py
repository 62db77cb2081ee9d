"""Making a capsule: what a document could not hold of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

from ..core.models import DEFAULT, Models
from ..core.reading import encode
from ..core.source import with_source
from ..dialect import Dialect
from ..errors import CapsuleError, Malformed, Unsupported
from ..ledger import Ledger, Loss
from ..model import History, Json, Media, Message, Reasoning, Request, Toolbox, ToolResult, Tree
from . import echoing, patching
from .echoing import SLIGHT
from .marks import relative
from .modelled import NAMELESS, named, wants_model
from .names import note_reused, reused_ids
from .opening import open_
from .patching import equal, same
from .places import (
    LARGE,
    PARTS,
    has_news,
    inner_of,
    instructs,
    is_like,
    is_restored,
    keys_of,
    neighbours,
    owners_of,
    view_of,
)
from .references import held
from .signing import sign
from .types import place_of, typed
from .units import Unit, View, align

VERSION = 2


def make(
    original: Json,
    document: Json,
    source: Dialect,
    target: Dialect,
    facet: str,
    tree: Tree | None = None,
    models: Models = DEFAULT,
    *,
    converted: bool = True,
    key: bytes | None = None,
) -> Json:
    """What ``document`` could not hold of ``original``; ``tree`` is what that was read as.

    ``models`` are those of the conversion: the way back is written for the same models. A document
    that was not ``converted`` from the original is the client's own, and what is lost of it on the
    way back is lost. ``key`` signs the capsule.
    """
    suffix = facet.replace("-", "_")
    if not hasattr(target, f"read_{suffix}") or not hasattr(source, f"write_{suffix}"):
        raise Unsupported(
            f"no conversion back: {target.name} cannot read or {source.name} cannot write"
        )
    log = Ledger(models=models)
    log.restores = True  # as on the way back, when this capsule is there
    heard = target.read(document, facet)
    if source.name == target.name or source.keeps_source:
        heard = with_source(heard, document, target)
    capsule = {"capsule": VERSION, "dialect": source.name, "facet": facet, "patch": None}
    if wants_model(heard, source):  # which the target has no field for
        tree = source.read(original, facet) if tree is None else tree
        model = tree.model if isinstance(tree, Request) else None
        capsule["model"] = model if model is not None and model.strip() else NAMELESS
        heard = named(capsule, heard, source)
    back = written = source.write(heard, log)
    losses = log.losses
    slot = source.history
    if back.__class__ is list and original.__class__ is dict and slot in original:
        capsule["wrap"] = slot  # a list of turns is written without what stood around it
        back = {slot: back}
    elif original.__class__ is list and back.__class__ is dict and [*back] == [slot]:
        capsule["bare"] = slot
        back = back[slot]
    try:
        alike = _alike(original, back)
        if not _is_all(original, back, alike):
            tree = source.read(original, facet) if tree is None else tree
            before = dict(capsule)
            losses = _compare(capsule, original, tree, back, heard, losses, source, alike)
            if (
                converted  # of the client's own document no turn may be taken away
                and ("turns" in capsule or isinstance(tree, Request | History | Toolbox))
                and ("echo" not in capsule or _is_odd(tree, heard, log.losses))
                and not _opens(capsule, written, original, source, target, heard, document, models)
            ):
                capsule = before
                _patch(capsule, back, original)
                losses = log.losses
    except RecursionError:
        raise Malformed("nested too deeply to be carried") from None
    if (
        losses and converted
    ):  # what is restored makes up for these, so they are no losses on the way back
        capsule["repaired"] = [[loss.kind, loss.what, loss.path] for loss in losses]
    if isinstance(heard, Request) and original.__class__ is dict:
        judged = Ledger(models=models)
        source.restored(original, heard, judged)
        if judged.losses:
            capsule["unfit"] = True  # as the original was, so that is how it comes back
    sign(capsule, key)
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
    untyped = back
    if source.implied_type and (place := place_of(original, source)):
        back = typed(back, source, place)
        if back is not untyped:
            capsule["typed"] = place
    if isinstance(tree, Request | History) and _is_apart(original, back, alike):
        _settle(capsule, View(original, None, False), View(back, None, False), alike)
        return losses
    tools_too = original.__class__ is not dict or not _have_same_tools(tree, alike)
    if not tools_too:
        left = echoing.fill(capsule, original, back, tree, heard, losses, alike)
        if left is not None:
            return left
    here = view_of(original, tree, tools_too)
    if here is not None and original.__class__ is back.__class__:
        there = view_of(back, source.read(back, capsule["facet"]), tools_too)
        if there is not None and here.base == there.base:
            return _fill(capsule, here, there, tree, heard, losses, alike)
    capsule.pop("typed", None)  # a patch says what becomes of each item
    _patch(capsule, untyped, original)
    return losses


def _patch(capsule: dict[str, Json], back: Json, original: Json) -> None:
    """The whole document as one patch."""
    capsule["patch"], refers = patching.make(back, original)
    if refers:
        capsule["refs"] = True


STRUCTURAL = frozenset(
    {"tool_result", "tool_call.id", "message.position", "message.boundary", "message.role"}
    | {"message.empty", "content.order", "content.role"}
)
"""Codes of losses after which turns have another order or other neighbours."""


def _is_odd(tree: Tree, heard: Tree, losses: Sequence[Loss] = ()) -> bool:
    """Whether turns may be confused though each seems to be in its place: some were made up or
    left out on one of the ways, say nothing, or stand beside the result that they are part of.
    """
    if not isinstance(tree, Request | History) or not isinstance(heard, Request | History):
        return False
    if len(tree.messages) != len(heard.messages):
        return True
    if any(loss.what in STRUCTURAL for loss in losses):
        return True
    for message, other in zip(tree.messages, heard.messages, strict=True):
        if not message.content or message.role != other.role:
            return True
        if message.role == "tool":
            results = (block for block in message.content if isinstance(block, ToolResult))
            if any(isinstance(part, Media) for result in results for part in result.content):
                return True
    return False


def _opens(
    capsule: dict[str, Json],
    written: Json,
    original: Json,
    source: Dialect,
    target: Dialect,
    heard: Tree,
    document: Json,
    models: Models,
) -> bool:
    """Whether the capsule gives the original, if the document comes back as it is.

    Turns that look alike, or that look like what was made up for others, may be confused.
    """
    log = Ledger(models=models)
    try:
        found = open_(capsule, written, source, capsule["facet"], log, heard, target, document)
    except CapsuleError:
        return False
    return equal(found, original) and not any(loss.what == "capsule" for loss in log.losses)


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


def _have_same_tools(tree: Tree, alike: set[str]) -> bool:
    """Whether all definitions of tools stand under a key that came back: nobody asks which."""
    tools = getattr(tree, "tools", None)
    if not tools:
        return True
    slot = tools[0].at.split("/", 2)[1] if tools[0].at else ""
    prefix = f"/{slot}/"
    return slot in alike and all(tool.at.startswith(prefix) for tool in tools)


def _is_apart(original: Json, back: Json, alike: set[str]) -> bool:
    """Whether only numbers and the like differ, so that nobody needs to look at the turns."""
    if original.__class__ is not dict or back.__class__ is not dict:
        return False
    lost = original.keys() - alike
    return not any(original[key].__class__ in LARGE for key in lost) and not has_news(
        original, back
    )


def _begin(units: Sequence[Unit]) -> int:
    """Where the conversation begins, after the system prompt."""
    return next((n for n, unit in enumerate(units) if not instructs(unit)), len(units))


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
    if found["turns"] and (reused := reused_ids(tree)):
        note_reused(found["turns"], reused)
    capsule |= {part: entries for part, entries in found.items() if entries}
    _settle(capsule, here, there, alike)
    if not losses:
        return []
    restored = {
        part: {entry["at"] + n for entry in entries for n in range(len(entry["is"]))}
        for part, entries in found.items()
    }
    owner, count = owners_of(there, heard), len(there.turns)
    return [loss for loss in losses if not is_restored(loss, owner, restored, count)]


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
            if o1 - o0 > b1 - b0 and sum(map(_reasons, was)) > 1:
                entry["odd"] = 3  # replies that became one: what is left of it may say the same
        pieces = here.pieces(is_)
        if not pieces and here.inner.get(was[0].slot).__class__ is list:
            pieces = [[was[0].slot, False, []]]  # which stays a list, if of nothing
        entry |= held(pieces, was)
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


def _reasons(unit: Unit) -> int:
    """How many blocks of reasoning there are in a unit, of which its gist tells nothing."""
    return sum(
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
