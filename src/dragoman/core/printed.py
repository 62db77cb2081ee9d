"""The document that was written last, so that the next one is encoded only where it is new.

A writer makes the whole history again for each request of a conversation; its items at the
beginning have the same values as the last time, and so the same bytes. Kept are the items, the
bytes of the document, and where each item ends in them.

Equal values may have other bytes: 1 equals 1.0, and the order of keys does not count. So an item is
the same if it is the same object, or if ``same`` says so, which is exact and slow. There is a
shorter way for most: an item that was made of known messages alone is made of the same values now,
by the same code. It can only be *another* item where something new stands before it, or where a
field beside the messages has changed. The one is a loss of its own (``MOVES``), the other is known
from the bytes; the caller says so (``exact``). Else ``==`` suffices for items that are no younger
than what is known: ``born`` is how many messages there were when an item was first written.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import compress
from operator import eq, is_, is_not
from typing import Any

from ..model import Json
from .reading import encode

MOVES = frozenset({"message.position", "content.order", "tool_result", "content.role"})
"""Codes of losses that tell of something that stands elsewhere than it stood."""
EXACT = frozenset({str, int, type(None), bool})
FEW = 4
"""How long a list may be that is compared, such as the blocks of a system prompt."""


class Printed:
    """The items of the history that was written last, and the bytes around and of them."""

    __slots__ = ("around", "begin", "born", "data", "ends", "fields", "items", "key", "values")

    def __init__(self, key: str | None) -> None:
        self.key = key
        self.forget()

    def forget(self) -> None:
        self.items: list[Json] = []
        self.data = b""
        self.begin = 0  # of the first item
        self.ends: list[int] = []  # of each item, from there
        self.born: list[int] = []  # never falls from one item to the next
        self.fields: dict[str, tuple[Json, bytes]] = {}  # what stands beside the items, and
        self.values: list[Json] = []  # its values, in the order of the document
        self.around = b"", b""  # the bytes before the items and after them

    def dump(self, document: Json, known: int, count: int, exact: bool, kept: int) -> bytes:
        """The bytes of a document, of whose ``count`` messages the first ones were known.

        ``kept``: so many of the last items are as they were; the document may hold the very list.
        """
        key = self.key
        items = document.get(key) if document.__class__ is dict else None
        if items.__class__ is not list or not items:
            self.forget()
            return encode(document)
        kept = self._kept(items, 0 if exact else known, kept)
        head, tail = self._around(document)
        ends, born = self.ends, self.born
        del ends[kept:], born[kept:]
        end = ends[-1] if kept else 0
        pieces: list[bytes | memoryview] = [
            head,
            memoryview(self.data)[self.begin : self.begin + end],
        ]
        for item in items[kept:]:
            piece = encode(item)
            if ends:
                pieces.append(b",")
                end += 1
            pieces.append(piece)
            end += len(piece)
            ends.append(end)
            born.append(count)
        pieces.append(tail)
        data = b"".join(pieces)
        self.items, self.data, self.begin = items, data, len(head)
        return data

    def _around(self, document: dict[str, Json]) -> tuple[bytes, bytes]:
        """What is written before the items, and after them; the same fields only once."""
        last, key = self.fields, self.key
        if [*document] == [*last]:
            changed = [*compress(last, map(is_not, document.values(), self.values))]
            if all(name == key or alike(last[name][0], document[name]) for name in changed):
                for name in changed:
                    last[name] = document[name], last[name][1]
                self.values = [*document.values()]
                return self.around
        fields = dict[str, tuple[Json, bytes]]()
        for name, value in document.items():
            known = last.get(name)
            if name == key:
                piece = known[1] if known is not None else encode(name) + b":["
            elif known is not None and (known[0] is value or alike(known[0], value)):
                piece = known[1]
            else:
                piece = encode(name) + b":" + encode(value)
            fields[name] = value, piece
        self.fields, self.values = fields, [*document.values()]
        place = list(fields).index(str(key)) + 1
        pieces = [piece for _, piece in fields.values()]
        tail = b",".join((b"]", *pieces[place:])) + b"}"
        self.around = b"{" + b",".join(pieces[:place]), tail
        return self.around

    def _kept(self, items: list[Json], known: int, end: int) -> int:
        """How many items at the beginning have the bytes that they had; ``end`` at most."""
        last, end = self.items, min(end, len(items))
        if items is last:
            return end
        kept = next(compress(range(end), map(is_not, last, items)), end)
        sure = min(bisect_right(self.born, known), end)
        if kept < sure:
            kept = (
                sure if last[kept:sure] == items[kept:sure] else first(eq, last, items, kept, end)
            )
        return kept if kept < sure else first(same, last, items, kept, end)


def first(test: Any, one: list[Json], two: list[Json], start: int, end: int) -> int:
    """The place from which on two lists differ, up to another one."""
    for place in range(start, end):
        if not test(one[place], two[place]):
            return place
    return end


def alike(one: Any, two: Any) -> bool:
    """Whether two fields have the very same parts, such as the same list of tools."""
    kind = one.__class__
    if kind is not two.__class__ or not (kind is dict or (kind is list and len(one) <= FEW)):
        return False
    return same(one, two)


def same(one: Any, two: Any) -> bool:
    """Whether two values have the same bytes: 1 is not 1.0, and the order of keys counts."""
    if one is two:
        return True
    kind = one.__class__
    if kind is not two.__class__:
        return False
    if kind in EXACT:
        return bool(one == two)
    if kind is dict:
        if [*one] != [*two]:
            return False
        if all(map(is_, one.values(), two.values())):
            return True
        kinds = [*map(type, one.values())]
        if kinds != [*map(type, two.values())]:
            return False
        if EXACT.issuperset(kinds):  # then equal is the same
            return bool(one == two)
        return all(map(same, one.values(), two.values()))
    if kind is list:
        return len(one) == len(two) and all(map(same, one, two))
    return kind is float and repr(one) == repr(two)
