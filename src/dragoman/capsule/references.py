"""Originals with references instead of the long texts that their units have anyway."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from ..core.reading import compact
from ..model import Json, Message
from .patching import REF, same
from .units import LONG, Unit, joined

TEXT = "\0json"
"""The key of a text that is JSON itself, and refers to texts inside of it."""


WORTH = 2000
"""How long the gist of a unit must be for a look at what of it can be referred to."""


MANY = 8
"""How many texts are looked for in another, or schemas compared with a value."""


SHORT = 60
"""How much of a text is enough to find it, mostly."""


SPELLINGS: tuple[Callable[[str], str], ...] = (compact, json.dumps)
"""How texts are spelled in JSON, nearly always."""


def held(pieces: list[Json], was: Sequence[Unit]) -> dict[str, Json]:
    """What an entry holds of the original of units, with references if that is worth it."""
    schemas = schemas_of(was)
    if not schemas and sum(unit.size for unit in was) < WORTH:
        return {"put": {"raw": pieces}}
    return shrunk(pieces, [unit.atoms for unit in was], schemas)


def shrunk(
    pieces: list[Json], gists: list[list[Json]], schemas: dict[int, Json]
) -> dict[str, Json]:
    """The original with references to what its gist holds; as it is, if it has such keys itself.

    Each text is referred to once, so that what comes of it is no longer than what there is.
    """
    only = _only_text(gists)
    known: list[str] = [] if only is None else [only]
    called = _texts(gists, known) if only is None else set()
    places = {text: number for number, text in enumerate(known)}
    try:
        put = [_shrink(piece, places, called, schemas) for piece in pieces]
    except _Taken:
        return {"put": {"raw": pieces}}
    cuts = cuts_of(gists) if only is None else None
    return {"put": put, "cuts": cuts} if cuts else {"put": put}


def _only_text(gists: list[list[Json]]) -> str | None:
    """The long text that is all that one message or result says, as many do."""
    if len(gists) != 1 or len(gists[0]) != 2 or gists[0][0][1] is not None:
        return None
    written: Json = gists[0][1]
    if written.__class__ is list and written[0] == "result" and len(written[2]) == 1:
        written = written[2][0]
    return written if written.__class__ is str and len(written) >= LONG else None


def cuts_of(gists: list[list[Json]]) -> list[list[int]] | None:
    """How long the texts are that follow each other, run by run; None: each stands alone.

    References count texts, and a client may have joined some of these or split others.
    """
    out: list[list[int]] = []
    for atoms in gists:
        _measure(atoms, out)
    return out if any(len(lengths) > 1 for lengths in out) else None


def _measure(atoms: list[Json], out: list[list[int]]) -> None:
    before: Any = None
    for atom in atoms:
        if atom.__class__ is not str:
            if atom[0] == "result":
                _measure(atom[2], out)
        elif before is str:
            out[-1].append(len(atom))
        else:
            out.append([len(atom)])
        before = atom.__class__


def cut(atoms: list[Json], lengths: Iterator[list[int]] | None) -> list[Json]:
    """Atoms with their texts joined and cut again as they were."""
    out: list[Json] = []
    for atom in joined(atoms):
        if atom.__class__ is str and lengths is not None:
            start = 0
            for length in next(lengths):
                out.append(atom[start : start + length])
                start += length
        elif atom.__class__ is not str and atom[0] == "result":
            out.append(["result", atom[1], cut(atom[2], lengths)])
        else:
            out.append(atom)
    return out


class _Taken(Exception):
    """A document has a key of ours."""


def _shrink(
    value: Json, places: dict[str, int], called: set[int], schemas: dict[int, Json]
) -> Json:
    items: Any
    if value.__class__ is dict:
        if schemas and (number := _schema(value, schemas)) is not None:
            return {REF: ~number}
        if REF in value or TEXT in value:
            raise _Taken
        items = value.items()
    else:
        items = enumerate(value)
    out = value.copy()
    for key, item in items:
        kind = item.__class__
        if kind is str:
            if len(item) >= LONG:
                if item in places:
                    out[key] = {REF: places.pop(item)}
                elif called and item[0] == "{":
                    out[key] = _shrunk_text(item, places, called)
        elif kind is dict or kind is list:
            out[key] = _shrink(item, places, called, schemas)
    return out


def _schema(value: Json, schemas: dict[int, Json]) -> int | None:
    """Which of the schemas a value is, each once."""
    for number in list(islice(schemas, MANY)):
        if same(value, schemas[number]):
            del schemas[number]
            return number
    return None


def _shrunk_text(text: str, places: dict[str, int], called: set[int]) -> Json:
    """A text that is JSON, with references to the texts in it: the arguments of a call."""
    found: list[tuple[int, int, str, list[int]]] = []
    for known, number in islice(places.items(), MANY):
        for style in range(len(SPELLINGS)) if number in called else ():
            spelled = SPELLINGS[style](known)
            at = text.find(spelled[:SHORT])  # a long text is much slower to find
            if at >= 0 and not text.startswith(spelled, at):
                at = text.find(spelled)
            if at >= 0:
                found.append((at, at + len(spelled), known, [number, style]))
                break
    parts: list[Json] = []
    end = 0
    for start, stop, known, reference in sorted(found):
        if start >= end:
            del places[known]
            parts += [text[end:start], reference]
            end = stop
    return {TEXT: [*parts, text[end:]]} if parts else text


def expanded(put: Json, gists: Iterable[list[Json]], schemas: dict[int, Json]) -> list[Json]:
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
    spell: Callable[[str], str] = SPELLINGS[style]
    return spell(known.pop(number))


def _checked(pieces: Json) -> list[Json]:
    if pieces.__class__ is not list:
        raise TypeError("what is put is a list")
    for slot, whole, value in pieces:
        if slot.__class__ is not str or (not whole and value.__class__ is not list):
            raise TypeError("what is put is a slot and its items")
    return pieces


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


def schemas_of(units: Sequence[Unit]) -> dict[int, Json]:
    if not units or units[0].nodes[0].__class__ is Message:
        return {}
    return dict(enumerate(node.schema for unit in units for node in unit.nodes if node.schema))
