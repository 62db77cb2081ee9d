"""Where units stand: what they stand beside, what they were written from, what is no unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ledger import Loss
from ..model import History, Json, Message, Request, Toolbox, Tree
from .units import Unit, View, align

PARTS = ("turns", "tools")
INSTRUCTIONS = frozenset({"system", "developer"})
LARGE = frozenset({str, list, dict})
"""The kinds of values that may hold a turn."""


def view_of(doc: Json, tree: Tree, tools_too: bool = True) -> View | None:
    if not isinstance(tree, Request | History | Toolbox):
        return None
    try:
        return View(doc, tree, tools_too)
    except (LookupError, ValueError):
        return None


def has_news(original: dict[str, Json], back: dict[str, Json]) -> bool:
    """Whether there is a key that the original has not, and that may hold a turn."""
    return any(back[key].__class__ in LARGE for key in back.keys() - original.keys())


def is_like(a: Unit, b: Unit) -> bool:
    if a.slot != b.slot or len(a.nodes) != len(b.nodes):
        return False
    one, other = a.nodes[0], b.nodes[0]
    if one.__class__ is Message:
        return bool(one.role == other.role)
    return bool(one.name == other.name)


def instructs(unit: Unit) -> bool:
    return is_instruction(unit.nodes[0])


def is_instruction(node: Any) -> bool:
    return node.role in INSTRUCTIONS


def neighbours(units: Sequence[Unit], start: int, count: int) -> list[str]:
    end = start + count
    before = units[start - 1].key if start else "^"
    return [before, units[end].key if end < len(units) else "$"]


def inner_of(view: View, settings: Json) -> dict[str, Json]:
    inner: dict[str, Json] = settings if view.base is None else settings[view.base]
    return inner


def keys_of(view: View, inner: dict[str, Json], slots: set[str]) -> list[str]:
    """The order of the keys: as the document has them, then what comes."""
    here = dict.fromkeys(key for key in view.inner if key in inner or key in slots)
    return list(here | dict.fromkeys(inner) | dict.fromkeys(sorted(slots)))


def owners_of(view: View, heard: Tree) -> dict[str, tuple[str, int]]:
    """Places in the client's document -> the unit that is written from there."""
    out: dict[str, tuple[str, int]] = {}
    spoken: dict[str, Sequence[Any]] = {
        "turns": getattr(heard, "messages", ()),
        "tools": getattr(heard, "tools", ()) or (),
    }
    for part, nodes in spoken.items():
        units: list[Unit] = getattr(view, part)
        flat = [(number, node) for number, unit in enumerate(units) for node in unit.nodes]
        for i, j in aligned(nodes, [node for _, node in flat]):
            own(out, nodes[i], (part, flat[j][0]))
    return out


def own(owner: dict[str, tuple[str, int]], node: Any, unit: tuple[str, int]) -> None:
    for at in (node.at, *(block.at for block in getattr(node, "content", ()))):
        if at:
            owner.setdefault(at, unit)


def aligned(a: Sequence[Any], b: Sequence[Any]) -> list[tuple[int, int]]:
    one, other = [Unit("", 0, [node]) for node in a], [Unit("", 0, [node]) for node in b]
    if len(one) == len(other) and all(map(is_like, one, other)):
        return [(n, n) for n in range(len(one))]
    mine, theirs = _runs(one), _runs(other)
    out: list[tuple[int, int]] = []
    for i, j in align([run[0] for run in mine], [run[0] for run in theirs]):
        (_, start, size), (_, at, length) = mine[i], theirs[j]
        out += [(start + n, at + n) for n in range(min(size, length))]
    return out


def _runs(units: Sequence[Unit]) -> list[tuple[tuple[str, ...], int, int]]:
    """Units, and results that follow each other as one: some APIs want another order of these."""
    out: list[tuple[list[str], int]] = []
    last = ""
    for number, unit in enumerate(units):
        role = getattr(unit.nodes[0], "role", "")
        if role == last == "tool":
            out[-1][0].append(unit.key)
        else:
            out.append(([unit.key], number))
        last = role
    return [(tuple(sorted(keys)), start, len(keys)) for keys, start in out]


def owner_of(path: str, owner: dict[str, Any]) -> Any:
    while path:
        if path in owner:
            return owner[path]
        path = path.rpartition("/")[0]
    return None


def is_restored(
    loss: Loss, owner: dict[str, Any], restored: dict[str, set[int]], count: int
) -> bool:
    """Whether a restored unit makes up for a loss; ``count``: how many turns there are.

    A turn that is made up after a reply, for the model to go on, is told at that reply.
    """
    if loss.what == "prefill" and count - 1 not in restored["turns"]:
        return False
    found = owner_of(loss.path, owner)
    return found is not None and found[1] in restored[found[0]]
