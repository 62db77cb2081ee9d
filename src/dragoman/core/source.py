"""Writing a tree in the dialect that it was read from: what was not edited is copied.

A tree that ``read``, ``join``, ``repair`` or ``convert`` has read holds its document and itself as
it was read (``Original``). Written in the same dialect:

- A tree without edits is its document.
- Messages that are the same objects as before are copied. The elements of the document's list that
  such messages were read from are a *unit*: one turn of Anthropic may be several messages. A unit
  is copied if all its messages are there, one after the other; what is between two copied units is
  a *window*, and only windows are written.
- A window, and the rest of the root, is merged from three documents: the source, what the writer
  makes of the tree as it was read, and what it makes of the edited one. Where the writer makes the
  same of both, the source stays, whatever form it has; elsewhere what was written is taken.
- Where the source has not the writer's own form in a place that changes, what was merged is read,
  and must mean what the edited tree alone means. If it does not (two names of one field, say), the
  edited tree is written without its source.

So no reader has to remember the form that a document had, and no writer has to restore it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec.structs import replace

from ..errors import Malformed
from ..ledger import Ledger
from ..model import History, Json, Message, Original, Request, Root, Tree
from .walk import meaning, unplaced

if TYPE_CHECKING:
    from ..dialect import Dialect

R = TypeVar("R", bound=Root)
OUTSIDE = -1  # of a message that does not stand in the list, but beside it


def with_source(tree: R, doc: Json, dialect: Dialect) -> R:
    """The tree with the document that it was read from."""
    return tree if dialect.keeps_source else replace(tree, original=Original(doc, tree))


class Window(NamedTuple):
    """Messages that are no longer what they were; ``wire`` is where they stood in the list."""

    old: Sequence[Message]
    new: Sequence[Message]
    wire: slice


class Apart(Exception):
    """The document cannot be divided into units; it is merged as a whole."""


def write(dialect: Dialect, tree: Tree, facet: str, log: Ledger) -> Json:
    """A tree as a document of the dialect that it was read from."""
    assert tree.original is not None
    doc, read = tree.original.doc, tree.original.tree
    edited: Any = replace(tree, original=None)
    if read is None:  # only the document is known
        try:
            read = dialect.read(doc, facet)
        except Malformed:
            return dialect.write(edited, log)
        edited = recognized(edited, read)
    if edited == read:
        return doc
    return Writer(dialect, doc, read, edited, facet, log).write()


class Writer:
    """One edited tree, written in its own dialect."""

    def __init__(
        self, dialect: Dialect, doc: Json, read: Any, edited: Any, facet: str, log: Ledger
    ) -> None:
        self.dialect, self.facet, self.log = dialect, facet, log
        self.doc, self.read, self.edited = doc, read, edited

    def write(self) -> Json:
        if isinstance(self.edited, Request | History):
            try:
                return self.write_windows()
            except Apart:
                pass
        return self.merge(self.doc, self.read, self.edited)

    def write_windows(self) -> Json:
        key, listed = self.dialect.history, self.doc.__class__ is list
        named = key is not None and self.doc.__class__ is dict
        whole = self.doc if listed else self.doc.get(key) if named else None
        if key is None or whole.__class__ is not list:
            raise Apart
        old, new = self.read.messages, self.edited.messages
        first, windows = Window(old, new, slice(0, len(whole))), list[Window]()
        if self.dialect.windows:
            starts = starts_of(old, f"{self.read.at}{'' if listed else '/' + key}")
            first, windows = divide(old, new, starts, len(whole))
        source = {key: whole[first.wire]} if listed else {**self.doc, key: whole[first.wire]}
        out = self.merge(
            source,
            replace(self.read, messages=tuple(first.old)),
            replace(self.edited, messages=tuple(first.new)),
        )
        parts = list(out if out.__class__ is list else out[key])
        end = first.wire.stop
        for window in windows:
            parts += whole[end : window.wire.start]
            if window.new:
                parts += self.write_window(whole[window.wire], window, key)
            end = window.wire.stop
        parts += whole[end:]
        if out.__class__ is list:
            return parts if listed else {**self.doc, key: parts}
        return parts if listed and out.keys() == {key} else {**out, key: parts}

    def write_window(self, source: list[Json], window: Window, key: str) -> list[Json]:
        """The root is the same in all of them: only the list is of interest."""
        old, new = (replace(self.read, messages=tuple(m)) for m in (window.old, window.new))
        before, after = self.written(old), self.written(new)
        if before[0].__class__ is list:
            found = self.verified(merged(source, before[0], after[0]), before, after)
            return list(found)
        if any(before[0].get(k) != after[0].get(k) for k in {**before[0], **after[0]} if k != key):
            raise Apart  # a message of the window is written beside the list
        here = {**before[0], key: source}
        return list(self.verified(merged(here, before[0], after[0]), before, after)[key])

    def merge(self, source: Json, old: Tree, new: Tree) -> Json:
        before, after = self.written(old), self.written(new)
        if before[0].__class__ is list and source.__class__ is dict:  # a history may be a bare list
            source = source.get(self.dialect.history, source)
        return self.verified(merged(source, before[0], after[0]), before, after)

    def written(self, tree: Tree) -> tuple[Json, Ledger]:
        log = self.log.apart()
        return self.dialect.write(tree, log), log

    def verified(
        self, found: tuple[Json, bool], before: tuple[Json, Ledger], after: tuple[Json, Ledger]
    ) -> Json:
        """What was merged, if it says what was written; else what was written."""
        out, sure = found
        self.log.tool_names |= after[1].tool_names
        losses = after[1].losses
        if sure or self.says(out, after[0]):
            losses = [loss for loss in losses if loss not in before[1].losses]
        else:
            out = after[0]
        self.log.losses += [loss for loss in losses if loss not in self.log.losses]
        return out

    def says(self, one: Json, two: Json) -> bool:
        """Whether two documents mean the same."""
        try:
            read = [meaning(self.dialect.read(doc, self.facet)) for doc in (one, two)]
        except Malformed:
            return False
        return bool(read[0] == read[1])


def recognized(edited: R, read: R) -> R:
    """A tree that came from elsewhere, with those messages that are equal to what was read."""
    if unplaced(edited) == unplaced(read):
        return read
    if not isinstance(edited, Request | History) or not isinstance(read, Request | History):
        return edited
    new, old = ([unplaced(m) for m in tree.messages] for tree in (edited, read))
    first, last = same_ends(old, new)
    end = len(old) - last
    middle = edited.messages[first : len(new) - last]
    messages = (*read.messages[:first], *middle, *read.messages[end:])
    if (
        isinstance(edited, Request)
        and isinstance(read, Request)
        and unplaced(edited.params) == unplaced(read.params)
    ):
        return replace(edited, messages=messages, params=read.params)  # 1 may have become 1.0
    return replace(edited, messages=messages)


# -- units and windows ------------------------------------------------------------------------


def starts_of(messages: Sequence[Message], at: str) -> list[int]:
    """Which element of the list each message begins with, or OUTSIDE."""
    out: list[int] = []
    least, head = OUTSIDE, len(at) + 1
    for message in messages:
        number = OUTSIDE
        if message.at.startswith(at) and message.at[head - 1 : head] == "/":
            token = message.at[head:].partition("/")[0]
            if not token.isdecimal():
                raise Apart
            number = int(token)
        if number < least:
            raise Apart
        out.append(number)
        least = number
    return out


class Unit(NamedTuple):
    """Messages that are copied: their range in the old ones, and where they stand in the new."""

    lo: int
    hi: int
    at: int

    @property
    def end(self) -> int:
        return self.at + self.hi - self.lo

    def follows(self, other: Unit | None) -> bool:
        """Whether it still comes right after the one before it."""
        return other is not None and other.hi == self.lo and other.end == self.at


def divide(
    old: Sequence[Message], new: Sequence[Message], starts: Sequence[int], length: int
) -> tuple[Window, list[Window]]:
    """What must be written: the window at the beginning, which may be empty, and the others."""
    units = settled(units_kept(old, new, starts), old, new)
    outside = starts.count(OUTSIDE)  # these are always in the first window
    if outside and units and units[0].lo == 0:
        units = units[1:]
    i = j = 0

    def begin(index: int) -> int:
        if index <= outside and index < len(old):
            return 0
        return starts[index] if index < len(old) else length

    windows: list[Window] = []
    for unit in (*units, Unit(len(old), len(old), len(new))):
        if not windows or unit.lo > i or unit.at > j:
            wire = slice(begin(i) if windows else 0, begin(unit.lo))
            windows.append(Window(old[i : unit.lo], new[j : unit.at], wire))
        i, j = unit.hi, unit.end
    return windows[0], windows[1:]


def units_kept(old: Sequence[Message], new: Sequence[Message], starts: Sequence[int]) -> list[Unit]:
    """The units whose messages are all there, in the order in which they were."""
    begins = [i for i, start in enumerate(starts) if not i or start != starts[i - 1]]
    ends = dict(zip(begins, (*begins[1:], len(old)), strict=False))
    places = {id(old[lo]): lo for lo in begins}
    out: list[Unit] = []
    at, least = 0, 0
    while at < len(new):
        lo = places.get(id(new[at]), -1)
        if lo >= least:
            unit = Unit(lo, ends[lo], at)
            there = new[at : unit.end]
            if len(there) == unit.hi - lo and all(map(is_same, old[lo : unit.hi], there)):
                if starts[lo] != OUTSIDE or at == 0:
                    out.append(unit)
                    at, least = unit.end, unit.hi
                    continue
        at += 1
    return out


def is_same(one: object, two: object) -> bool:
    return one is two


def settled(units: list[Unit], old: Sequence[Message], new: Sequence[Message]) -> list[Unit]:
    """Without those that belong into a window beside them.

    Results that follow each other, or did so, may share a turn, and a prompt at the beginning of a
    window would be taken for that of the conversation.
    """
    count = -1
    while count != len(units):
        count = len(units)
        kept: list[Unit] = []
        for unit in units:
            before = kept[-1] if kept else None
            results = are_results(new, unit.at) or are_results(old, unit.lo)
            if not results or unit.follows(before):
                kept.append(unit)
        units = kept
        kept = []
        for unit in reversed(units):
            after = kept[-1] if kept else None
            if after is None or not after.follows(unit):
                follows = new[unit.end].role if unit.end < len(new) else ""
                results = are_results(new, unit.end) or are_results(old, unit.hi)
                apart = after is not None and after.at == unit.end
                if results or (follows in ("system", "developer") and not apart):
                    continue
            kept.append(unit)
        units = kept[::-1]
    return units


def are_results(messages: Sequence[Message], index: int) -> bool:
    """Whether results are on both sides of a place."""
    return 0 < index < len(messages) and messages[index - 1].role == messages[index].role == "tool"


# -- merging ----------------------------------------------------------------------------------


MERGED = 60
"""Below so many levels a value is taken as a whole: input may be nested as deeply as it likes."""


def merged(source: Json, old: Json, new: Json, depth: int = MERGED) -> tuple[Json, bool]:
    """The source, with what makes ``new`` different from ``old``; and whether that is sure.

    It is where the source has the writer's own form in each place that changes.
    """
    if equal(old, new):
        return source, True
    if not depth:
        return new, equal(source, old)
    if source.__class__ is old.__class__ is new.__class__ is dict:
        return merged_objects(source, old, new, depth - 1)
    if source.__class__ is old.__class__ is new.__class__ is list and len(source) == len(old):
        first, last = same_ends(old, new)
        end = len(old) - last
        middle, sure = new[first : len(new) - last], equal(source[first:end], old[first:end])
        if len(old) == len(new):
            pairs = [merged(source[i], old[i], new[i], depth - 1) for i in range(first, end)]
            middle, sure = [value for value, _ in pairs], all(sure for _, sure in pairs)
        return [*source[:first], *middle, *source[end:]], sure
    return new, equal(source, old)


def merged_objects(
    source: dict[str, Json], old: dict[str, Json], new: dict[str, Json], depth: int
) -> tuple[Json, bool]:
    out, sure = {}, True
    for key, value in source.items():
        if key in new and key in old:
            out[key], certain = merged(value, old[key], new[key], depth)
            sure = sure and certain
        elif key in new:
            out[key] = new[key]
            sure = sure and value is None
        elif key not in old:
            out[key] = value
        else:  # removed
            sure = sure and equal(value, old[key])
    for key, value in new.items():
        if key not in source and not (key in old and equal(old[key], value)):
            out[key] = value
            sure = sure and key not in old
    return out, sure and not (old.keys() - new.keys() - source.keys())


def same_ends(old: Sequence[Any], new: Sequence[Any]) -> tuple[int, int]:
    """How many elements at the beginning and at the end are the same in both."""
    shorter, first, last = min(len(old), len(new)), 0, 0
    while first < shorter and equal(old[first], new[first]):
        first += 1
    while last < shorter - first and equal(old[-1 - last], new[-1 - last]):
        last += 1
    return first, last


def equal(one: Any, two: Any) -> bool:
    """Whether two values are the same, and true is not 1; no matter how deeply they are nested."""
    pairs = [(one, two)]
    while pairs:
        one, two = pairs.pop()
        if one is two:
            continue
        if one.__class__ is not two.__class__:
            return False
        if one.__class__ is dict:
            if one.keys() != two.keys():
                return False
            pairs += [(value, two[key]) for key, value in one.items()]
        elif one.__class__ is list:
            if len(one) != len(two):
                return False
            pairs += zip(one, two, strict=True)
        elif one != two:
            return False
    return True
