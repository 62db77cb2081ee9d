"""Documents with something wrong in them; each mutation keeps the rest as it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Set
from typing import Any, TypeAlias

import seeds
from dragoman.testing import WRONG

from .dice import Dice, one_of

MOST = 4
"""So many mutations happen to one document at most."""
DEPTHS = (3, 30, 390, 405)
DEEP = 60
"""What nests so deeply already is not made deeper: JSON of Python ends at some 900."""
NUMBERS: tuple[Any, ...] = (
    -1, 0, 1, 1.0, -0.0, 0.1, 1e-7, 1e15, 1e22, 1.7976931348623157e308, 255, 256, 2**31, 2**53,
    2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63), 10**30, 4102444800, 253402300800, True,
)  # fmt: skip
TEXTS = (
    "", " ", "\n", "\0", "\x1b[31mred", "\ud83d", "\udc00x", "a\ud83d\ude00b", "\u202eright",
    "\ufeff", "é", "e\u0301", "💡", "x" * 300, "{", "{}", "[]", "null", '{"a":1,"a":2}',
    '{"a":"\\ud83d"}', "NaN", "data:image/png;base64,iVBORw0KGgo=", "data:,", "iVBORw0KGgo=",
    "https://example.org/a.png", "====", "[tool error] x", "[content of tool result call_1]",
    "<end_of_turn>", "<start_function_call>call:f{a:1}<end_function_call>", "~", "~1", "/", "a/b",
    "-0", "1e999", "auto", "user", "assistant", "system", "tool", "text", "function", "none",
)  # fmt: skip
NOBODYS = ("zq", "zq/a", "~zq", "zq \ud83d")
STRANGE = (*NOBODYS, "type", "role", "id", "index", "__proto__", "Type")

Json: TypeAlias = Any
Mutation: TypeAlias = Callable[[Json, Dice], Json]


def mutated(document: Json, dice: Dice) -> Json:
    """A document after one or more mutations; the seed is not changed."""
    document = copied(document)
    for _ in range(1 + dice.below(MOST)):
        document = one_of(dice, MUTATIONS)(document, dice)
    return document


def with_keys(document: Json, known: Set[str], dice: Dice, *, rename: bool = True) -> Json:
    """A document with keys that its dialect does not know, and nothing else wrong.

    A key of another dialect is added, or one of nobody's; or a key of its own gets another name.
    """
    document = copied(document)
    for _ in range(1 + dice.below(2)):
        path = choose(document, dice, dict)
        if path is None:
            return document
        holder = seeds.at(document, path)
        if rename and holder and not dice.below(3):
            old = one_of(dice, list(holder))
            new = {f"zq_{old}" if key == old else key: x for key, x in holder.items()}
            document = put(document, path, new)
            continue
        key = one_of(dice, list(seeds.vocabulary()))
        value = copied(one_of(dice, seeds.vocabulary()[key]))
        holder[one_of(dice, NOBODYS) if key in known or dice.below(2) else key] = value
    return document


def copied(value: Json) -> Json:
    return json.loads(json.dumps(value))


def choose(
    document: Json, dice: Dice, kind: type | tuple[type, ...] = object
) -> seeds.Place | None:
    """A place whose value is of a kind; None where there is none."""
    found = [path for path, value in seeds.nodes(document) if isinstance(value, kind)]
    return one_of(dice, found) if found else None


def put(document: Json, path: seeds.Place, value: Json) -> Json:
    """The document with another value at a place, in place."""
    if not path:
        return value
    seeds.at(document, path[:-1])[path[-1]] = value
    return document


def delete(document: Json, dice: Dice) -> Json:
    path = choose(document, dice)
    if path:
        del seeds.at(document, path[:-1])[path[-1]]
    return document


def duplicate(document: Json, dice: Dice) -> Json:
    """An item of a list comes again, right after or somewhere else in the list."""
    path = choose(document, dice, list)
    if path is None or not (items := seeds.at(document, path)):
        return document
    items.insert(dice.below(len(items) + 1), copied(one_of(dice, items)))
    return document


def swap(document: Json, dice: Dice) -> Json:
    """Two items of a list change places."""
    path = choose(document, dice, list)
    if path is not None and len(items := seeds.at(document, path)) > 1:
        one, other = dice.below(len(items)), dice.below(len(items))
        items[one], items[other] = items[other], items[one]
    return document


def retype(document: Json, dice: Dice) -> Json:
    """A value becomes one of another type: any, or one that says nearly the same."""
    path = choose(document, dice)
    assert path is not None
    value = seeds.at(document, path)
    ways: tuple[Json, ...] = (
        copied(one_of(dice, WRONG)), [value], {"text": value}, {"type": "text", "text": value},
        str(value), json.dumps(value)[:2000], one_of(dice, value) if is_full(value) else None,
    )  # fmt: skip
    return put(document, path, one_of(dice, ways))


def is_full(value: Json) -> bool:
    return isinstance(value, list) and bool(value)


def move(document: Json, dice: Dice) -> Json:
    """A value is written at another place, too, or there only."""
    taken, there = choose(document, dice), choose(document, dice)
    if not taken or not there:
        return document
    value = copied(seeds.at(document, taken))
    if dice.below(2) and there[: len(taken)] != taken:
        holder = seeds.at(document, taken[:-1])
        if isinstance(holder, dict):  # in a list, the other place would be another
            del holder[taken[-1]]
    return put(document, there, value)


def rename(document: Json, dice: Dice) -> Json:
    """A key becomes another: that of another dialect, one in other letters, or a strange one."""
    path = choose(document, dice, dict)
    if path is None or not (holder := seeds.at(document, path)):
        return document
    old = one_of(dice, list(holder))
    ways = (one_of(dice, list(seeds.vocabulary())), one_of(dice, STRANGE), old.upper(), f"zq_{old}")
    new = one_of(dice, ways)
    return put(document, path, {new if key == old else key: x for key, x in holder.items()})


def foreign(document: Json, dice: Dice) -> Json:
    """An object gets a key that another dialect has, or that nobody has."""
    path = choose(document, dice, dict)
    if path is None:
        return document
    key = one_of(dice, list(seeds.vocabulary()))
    value = copied(one_of(dice, seeds.vocabulary()[key]))
    if not dice.below(3):
        key = one_of(dice, STRANGE)
    seeds.at(document, path)[key] = value
    return document


def number(document: Json, dice: Dice) -> Json:
    path = choose(document, dice, (int, float))
    path = choose(document, dice) if path is None else path
    return put(document, path or (), one_of(dice, NUMBERS))


def text(document: Json, dice: Dice) -> Json:
    """A text becomes an odd one, or has it at its end."""
    path = choose(document, dice, str)
    if path is None:
        return document
    odd = one_of(dice, TEXTS)
    return put(document, path, seeds.at(document, path) + odd if dice.below(2) else odd)


def deepen(document: Json, dice: Dice) -> Json:
    path = choose(document, dice)
    assert path is not None
    if any(len(other) > DEEP for other, _ in seeds.nodes(document)):
        return document
    value = seeds.at(document, path)
    depth, is_list = one_of(dice, DEPTHS), dice.below(2)
    for _ in range(depth):
        value = [value] if is_list else {"a": value}
    return put(document, path, value)


MUTATIONS: tuple[Mutation, ...] = (
    delete, delete, duplicate, swap, retype, retype, move, rename, rename, foreign, foreign,
    foreign, number, text, text, deepen,
)  # fmt: skip


def recombined(document: Json, dialect: str, facet: str, dice: Dice) -> Json:
    """The document with values that others have at the same places: most of these can be read."""
    document = copied(document)
    for _ in range(1 + dice.below(MOST)):
        document = one_of(dice, (exchange, member, item))(document, dialect, facet, dice)
    return document


def exchange(document: Json, dialect: str, facet: str, dice: Dice) -> Json:
    """A value becomes one that another document has at this place."""
    path = choose(document, dice)
    known = seeds.parts(dialect, facet).get(seeds.place_of(document, path or ()), ())
    return put(document, path or (), copied(one_of(dice, known))) if known else document


def member(document: Json, dialect: str, facet: str, dice: Dice) -> Json:
    """An object gets a key that others of its kind have at this place."""
    path = choose(document, dice, dict)
    if path is None:
        return document
    holder = seeds.at(document, path)
    place = (*seeds.place_of(document, path), seeds.kind_of(holder))
    if keys := seeds.members(dialect, facet).get(place, ()):
        key = one_of(dice, keys)
        holder[key] = copied(one_of(dice, seeds.parts(dialect, facet)[(*place, key)]))
    return document


def item(document: Json, dialect: str, facet: str, dice: Dice) -> Json:
    """A list gets an item that others have at this place."""
    path = choose(document, dice, list)
    if path is None:
        return document
    items = seeds.at(document, path)
    known = seeds.parts(dialect, facet).get((*seeds.place_of(document, path), "", "*"), ())
    if known:
        items.insert(dice.below(len(items) + 1), copied(one_of(dice, known)))
    return document
