"""Cache marks of restored turns: they stand where the client has put them last."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import Json
from .units import Unit


def relative(units: Sequence[Unit]) -> list[Json]:
    """The marks of units: in which piece, and where in there."""
    out: list[Json] = []
    number, base = -1, 0
    last: str | None = None
    for unit in units:
        if last != unit.slot:
            number, base = number + 1, max(unit.start, 0)
        last = unit.slot
        for at in unit.marks():
            tokens = at.split("/")
            rest = tokens[tokens.index(unit.slot) + 1 if unit.slot in tokens else 1 :]
            if rest and rest[0].isdigit():
                rest[0] = str(int(rest[0]) - base)
            out.append([number, *rest])
    return out


def put_marks(entry: Json, pieces: list[Json], shown: list[Json], now: list[Json]) -> bool:
    """Put the marks where they stand now, where the target holds marks; False: one has no place."""
    was, held = entry.get("marks", ((), ()))
    if list(was) == now:
        return True
    places = [_place(pieces, shown, path) for path in now]
    stood = {id(_container(pieces, path)[0]) for path in held}
    if len(was) == len(now) and all(id(at) in stood for at, _, _ in places):
        return True  # the same blocks under other numbers: texts before them were joined or split
    for path in reversed(held):
        at, key = _container(pieces, path)
        if any(at is other for other, _, _ in places):
            places = [place for place in places if place[0] is not at]
            continue  # it stands where it stood, so it is what it was
        if at.__class__ is dict and at.pop(key, None) is not None:
            _tidy(pieces, path, at)
    placed = True
    for at, key, value in reversed(places):  # so that what stands after a block is there already
        if at.__class__ is dict and value.__class__ is dict:
            at[key] = value[key]
        elif at.__class__ is list and value.__class__ is list:
            at.insert(_spot(at, value, int(key)), value[int(key)])
        else:
            placed = False
    return placed


def _spot(items: list[Json], guide: list[Json], index: int) -> int:
    """Where an item of the guide is to be put: before what stands after it."""
    after = _after(guide, index + 1)
    found = (n for n in range(len(items), -1, -1) if _after(items, n) == after)
    return next(found, max(0, len(items) - (len(guide) - 1 - index)))


def _tidy(pieces: list[Json], path: Json, at: Json) -> None:
    """Take away what held nothing but a mark: a block of its own, or options."""
    while at.__class__ is dict and not at and len(path) > 2:
        path = path[:-1]
        at, key = _container(pieces, path)
        if at.__class__ is list:
            del at[int(key)]
        elif at.__class__ is dict:
            del at[key]


def _place(pieces: list[Json], shown: list[Json], path: Json) -> tuple[Json, str, Json]:
    """Where a mark belongs that stands at a path now: what holds it, its key, what holds it now.

    What holds nothing else goes with it: a block of its own, or options that are not there yet.
    """
    value, key = _container(shown, path)
    at, _ = _container(pieces, path, shown)
    while value.__class__ is dict and len(value) == 1 and len(path) > 2:
        if at.__class__ is dict and not path[-2].isdigit():
            break
        path = path[:-1]
        value, key = _container(shown, path)
        at, _ = _container(pieces, path, shown)
    return at, key, value


def _container(pieces: list[Json], path: Json, shown: list[Json] | None = None) -> tuple[Json, str]:
    """What holds the last token of a path: itself, or what corresponds to it in the other pieces.

    Items correspond counted from the end: reasoning that was left out stood at the beginning. So
    do texts, by how much stands after them: clients join texts, and split them.
    """
    number, *tokens = path
    at: Json = pieces[number][2] if number < len(pieces) else None
    guide: Json = shown[number][2] if shown is not None else None
    for token in tokens[:-1]:
        if at.__class__ is list and token.isdigit():
            index = int(token)
            if guide is not None:
                index = _counterpart(at, guide, index)
            at = at[index] if 0 <= index < len(at) else None
        else:
            at = at.get(token) if at.__class__ is dict else None
        if guide is not None:
            guide = guide[int(token)] if guide.__class__ is list else guide[token]
    return at, tokens[-1] if tokens else ""


def _counterpart(items: list[Json], guide: list[Json], index: int) -> int:
    """The number of the item that ends where an item of the guide ends.

    A turn that the target could not hold stands beside it now, so roles must be the same.
    """
    plain = index + len(items) - len(guide)
    if len(items) == len(guide):
        return plain
    alike = [n for n, item in enumerate(items) if _role(item) == _role(guide[index])]
    after = _after(guide, index + 1)
    found = (n for n in reversed(alike) if _after(items, n + 1) == after)
    return next(found, plain if plain in alike or not alike else alike[-1])


def _role(item: Json) -> Json:
    return item.get("role") if item.__class__ is dict else None


def _after(items: list[Json], start: int) -> tuple[int, int]:
    """What stands from a place on: how much text, and how many other things, marks aside."""
    length = others = 0
    for item in items[start:]:
        text = item.get("text") if item.__class__ is dict else None
        if text.__class__ is str:
            length += len(text)
        elif item.__class__ is not dict or item.keys() != {"cachePoint"}:
            others += 1
    return length, others


def has_mark(pieces: list[Json], path: Json) -> bool:
    at, key = _container(pieces, path)
    return at.__class__ is dict and key in at
