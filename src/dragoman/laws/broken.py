"""Documents with a value that does not belong there: any JSON gives a tree or ``Malformed``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from ..model import Json
from .cases import Document

WRONG: tuple[Json, ...] = (None, 0, 1.5, True, "", "x", [], {}, [None], {"type": 1}, [[]])


Place: TypeAlias = tuple[Any, ...]
"""Where a value stands: keys and indices."""


def broken(body: Json, places: Iterable[Place] | None = None) -> Iterator[Json]:
    """The document with each of its values replaced by something that does not belong there.

    With ``places``, only the values there are replaced.
    """
    for path in places_in(body) if places is None else places:
        for wrong in WRONG:
            yield _replaced(body, path, wrong)
        yield _removed(body, path)


def broken_once(body: Json, choose: Callable[[int], int]) -> Json:
    """One of what ``broken`` gives; ``choose`` names its number, told how many there are."""
    paths = list(places_in(body))
    place, way = divmod(choose(len(paths) * (len(WRONG) + 1)), len(WRONG) + 1)
    if way == len(WRONG):
        return _removed(body, paths[place])
    return _replaced(body, paths[place], WRONG[way])


ALIKE = 3
"""How many values of one shape are broken, of all documents of a dialect."""


def novel_places(documents: Iterable[Document]) -> dict[str, list[Place]]:
    """The values of documents, by their names, that are not like those of three others before.

    Values are alike that stand at the same place of the same dialect, whatever their indices, with
    the same keys, types and roles around them. What a reader does with the fourth, it did thrice.
    """
    seen: dict[Any, int] = {}
    places: dict[str, list[Place]] = {}
    for document in documents:
        places[document.name] = mine = []
        for path in places_in(document.body):
            shape = (document.dialect, document.facet, *_shape(document.body, path))
            seen[shape] = seen.get(shape, 0) + 1
            if seen[shape] <= ALIKE:
                mine.append(path)
    return places


def _shape(body: Json, path: Place) -> tuple[Any, ...]:
    """The keys to a value, what its nearest two objects are, and its type."""
    value, around = body, []
    for key in path:
        if isinstance(value, dict):
            tags = (value.get("type"), value.get("role"))
            around.append((*sorted(value), *(tag for tag in tags if isinstance(tag, str))))
        value = value[key]
    keys = tuple("*" if isinstance(key, int) else key for key in path)
    return keys, tuple(around[-2:]), type(value)


def places_in(value: Json, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places_in(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places_in(item, (*path, index))


def _replaced(value: Json, path: tuple[Any, ...], new: Json) -> Json:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _replaced(value[path[0]], path[1:], new)
    return copy


def _removed(value: Json, path: tuple[Any, ...]) -> Json:
    if not path:
        return None
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    if len(path) == 1:
        del copy[path[0]]
    else:
        copy[path[0]] = _removed(value[path[0]], path[1:])
    return copy
