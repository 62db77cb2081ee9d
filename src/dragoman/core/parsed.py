"""The last request of a conversation, so that the next one is parsed only where it is new.

The requests of a conversation repeat each other: the next one begins with the messages of the last
one, byte for byte. What is known of the last one is its bytes, its value, and where each message
ends in its bytes. The next one is compared with these bytes, and taken apart:

    {"model":"m","messages":[{...},{...},{...},{...}],"tools":[...]}
    |--------- head --------||- known -||--- new ---||--- tail ----|

- Head and tail are the same, as usual: ``new`` is parsed as the rest of a list.
- Else the request is parsed with a mark in the place of ``known``, field by field; a field that has
  the same bytes as in the last request keeps its value. The mark must come out as the first
  message: a list that was found in another place, or a key that stands twice, is noticed by that.
- What cannot be parsed so is parsed as a whole, so errors are the same, and nothing is remembered
  before all of it was read.

JSON text has one value, wherever it stands. So the value is the same as that of a whole parse; only
the objects of known messages are those of the last request. Nobody may change them.

Keys that stand twice in an object are looked for when somebody asks (``duplicates``), and only in
what has not been looked at.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from ..ledger import Loss
from ..model import Json
from . import duplicates
from .reading import UNREADABLE, decode, load

MARK = b'"\\u0000the known items\\u0000"'
MARKED = "\0the known items\0"
MOVING = 2
"""How many messages at the end are compared for themselves: a moved cache mark changes one."""
_slices = msgspec.json.Decoder(list[Raw]).decode
_fields = msgspec.json.Decoder(dict[str, Raw]).decode


class Parsed:
    """The last request: its bytes, its value, and where each message of it ends."""

    __slots__ = (
        "begin", "count", "data", "end", "ends", "grows", "key", "known", "looked", "others",
        "raws", "steady", "value",
    )  # fmt: skip

    def __init__(self, key: str | None) -> None:
        self.key = key  # under which the history stands
        self.forget()

    def forget(self) -> None:
        self.data = b""
        self.value: Json = None
        self.begin = 0  # of the first message
        self.ends: list[int] | None = None  # of each message; None before they are needed
        self.end = 0  # of the last message; those before it may still be to be looked for
        self.raws: dict[str, bytes] = {}  # the other fields
        self.known = self.count = 0  # messages that are those of the last request; all of them
        self.grows = True  # whether all messages of the last request are known
        self.steady = False  # whether all that is no message is that of the last request
        self.looked = 0  # so many messages have no key twice,
        self.others = False  # and nor has the rest

    def load(self, data: bytes, limit: int | None) -> Json:
        """The value of a request, its known messages the same objects as in the last one."""
        fits = limit is None or len(data) <= limit
        value = self._continued(data) if fits and self.is_placed() else None
        if value is None:
            value = load(data, limit)
            self.forget()
            self.take(data, value)
        else:
            self.grows = self.known == self.count
            self.count = len(value[self.key])
        return value

    def take(self, data: bytes, value: Json) -> None:
        """Begin with a request."""
        self.data, self.value = data, value
        history = value.get(self.key) if value.__class__ is dict else None
        self.count = len(history) if history.__class__ is list else 0

    @property
    def history(self) -> list[Json] | None:
        """The messages of the last request."""
        return self.value[self.key] if self.count else None

    # -- where the messages stand -----------------------------------------------------------

    def is_placed(self) -> bool:
        """Whether it is known where the messages of the last request stand."""
        if self.ends is None:
            self.ends = []
            if self.data and self.key is not None:
                self._place()
        return bool(self.ends)

    def _place(self) -> None:
        value, key, data = self.value, self.key, self.data
        if value.__class__ is not dict or value.get(key).__class__ is not list or not value[key]:
            return
        try:
            raws = _fields(data)
        except UNREADABLE:  # it begins with a byte order mark
            return
        history = raws.pop(str(key))
        begin = data.find(memoryview(history))
        first, ends = walk(data, begin + 1, _slices(history))
        # The same list may stand elsewhere, too: is this the one that counts?
        marked = _fields(data[:first] + MARK + data[ends[-1] :]).get(str(key))
        if marked is not None and decode(marked) == [MARKED] and MARKED not in value[key]:
            self.begin, self.ends, self.end = first, ends, ends[-1]
            # A slice holds on to all that it was cut from: what stays is copied.
            self.raws = {name: bytes(memoryview(raw)) for name, raw in raws.items()}

    def shares(self, data: bytes) -> tuple[int, int]:
        """How many bytes of messages another request shares with this one, and of how many."""
        if not self.is_placed():
            return 0, 0
        known = self._agreed(data)[1]
        return (self._end_of(known) - self.begin if known else 0), self.end - self.begin

    def _end_of(self, known: int) -> int:
        """Where the last one of so many messages ends."""
        assert self.ends is not None
        return self.end if known == self.count else self.ends[known - 1]

    def _agreed(self, data: bytes) -> tuple[int | None, int]:
        """How far the first message has moved, and how many messages are the same.

        None: it has not, and all before it is the same.
        """
        assert self.ends is not None
        view, begin, ends = memoryview(self.data), self.begin, self.ends
        cut = ends[-1]
        # ``startswith`` of a view compares as memory; the views themselves are slow to compare.
        if len(ends) < self.count and data.startswith(view[:cut]):
            if data.startswith(view[cut : self.end], cut):
                return None, self.count  # as usual, if nothing but the end is new
            low = len(ends)
            self._divide()
            return None, agree(view, data, cut, ends, 0, low)
        self._divide()
        if data.startswith(view[:begin]):
            return None, agree(view, data, begin, ends, 0)
        at = data.find(view[begin : ends[0]])  # something changed before the messages
        if at < 0:
            return 0, 0
        return at - begin, agree(view, data, begin, ends, at - begin)

    def _divide(self) -> None:
        """Find where the last messages end, which nobody has asked yet."""
        ends = self.ends
        assert ends
        if len(ends) < self.count:
            text = b"[{}" + self.data[ends[-1] : self.end] + b"]"
            ends += walk(self.data, ends[-1], _slices(text)[1:])[1]

    # -- going on ---------------------------------------------------------------------------

    def _continued(self, data: bytes) -> Json:
        """The value of a request that repeats messages of the last one; None if it does not."""
        moved, known = self._agreed(data)
        if not known:
            return None
        last, cut = memoryview(self.data), self._end_of(known)
        rest = len(last) - self.end
        try:
            if (
                moved is None
                and len(data) - rest >= cut
                and data.endswith(last[len(last) - rest :])
            ):
                return self._lengthened(data, known, cut, len(data) - rest)
            return self._altered(data, known, moved or 0)
        except UNREADABLE:
            return None

    def _lengthened(self, data: bytes, known: int, cut: int, end: int) -> Json:
        """A request in which nothing is new but messages, from one place to another."""
        lists = decode(b"[[{}" + data[cut:end] + b"]]")  # nested as deeply as it is
        if len(lists) > 1:  # the list ends in the middle, and another one begins
            return None
        assert self.ends is not None
        del self.ends[known:]
        old, new = self.value[self.key], lists[0]
        del new[0]
        value = self.value | {self.key: (old if known == len(old) else old[:known]) + new}
        self.data, self.value, self.end = data, value, end
        self.known, self.steady, self.looked = known, True, min(self.looked, known)
        return value

    def _altered(self, data: bytes, known: int, moved: int) -> Json:
        """A request with other fields; its known messages may have moved."""
        self._divide()
        assert self.ends is not None
        key, begin, ends = self.key, self.begin + moved, self.ends[:known]
        if moved:
            ends = [end + moved for end in ends]
        text = data[:begin] + MARK + data[ends[-1] :]
        if MARK in data:
            return None
        fields, raws, steady = self._by_field(text)
        more = fields.get(key) if fields.__class__ is dict else None
        if more.__class__ is not list or not more or more[0] != MARKED:
            return None
        if more[1:]:
            ends += walk(data, ends[-1], _slices(_fields(text)[str(key)])[1:])[1]
        fields[key] = self.value[key][:known] + more[1:]
        self.data, self.value, self.begin, self.ends = data, fields, begin, ends
        self.end = ends[-1]
        self.raws, self.known, self.steady = raws, known, steady
        self.looked, self.others = min(self.looked, known), False
        return fields

    def _by_field(self, data: bytes) -> tuple[Any, dict[str, bytes], bool]:
        """The value of a request, its fields those of the last one where their bytes are.

        Nothing is remembered yet: the request may still turn out to be broken.
        """
        raws = _fields(data)
        size = 1 + sum(4 + len(name.encode()) + len(memoryview(r)) for name, r in raws.items())
        if size != len(data):  # white space, or a key twice: what is hidden may be wrong
            return decode(data), {}, False
        out: dict[str, Any] = {}
        kept: dict[str, bytes] = {}
        steady = len(raws) == len(self.raws) + 1
        for name, raw in raws.items():
            view, last = memoryview(raw), self.raws.get(name)
            if last is not None and len(last) == len(view) and last.startswith(view):
                out[name], kept[name] = self.value[name], last
                continue
            out[name] = decode(raw)
            if name != self.key:
                kept[name] = bytes(view)
                # A number or a word cannot be equal to another and yet be written otherwise.
                steady = steady and out[name].__class__ is str and last is not None
        return out, kept, steady

    # -- keys that stand twice --------------------------------------------------------------

    def duplicates(self, data: bytes, value: Json, target: str) -> tuple[Loss, ...]:
        """The keys that an object of a request has twice; what was looked at stays as it is."""
        if data is not self.data:  # other requests have come since then
            return duplicates.losses(data, value, target)
        if self.looked and self.others and self.looked == self.count:
            return ()
        if not self._has_unseen(data, value):
            self.looked, self.others = self.count, True
            return ()
        return duplicates.losses(data, value, target)

    def _has_unseen(self, data: bytes, value: Json) -> bool:
        """Whether a key stands twice in what nobody has looked at."""
        looked = self.looked
        if not looked or not self.ends:
            return bool(duplicates.pointers(data, value))
        more = value[self.key][looked:]
        self._divide()
        if self.others:
            middle = data[self.ends[looked - 1] : self.end]
            return bool(duplicates.pointers(b"[{}" + middle + b"]", [{}, *more]))
        text = data[: self.begin] + MARK + data[self.ends[looked - 1] :]
        return bool(duplicates.pointers(text, value | {self.key: [MARKED, *more]}))


def walk(data: bytes, at: int, raws: Any) -> tuple[int, list[int]]:
    """Where the first of several values begins, and where each ends; commas stand between them."""
    ends: list[int] = []
    first = at
    for raw in raws:
        view = memoryview(raw)
        at = data.index(view[:1], at)
        if not ends:
            first = at
        at += len(view)
        ends.append(at)
    return first, ends


def agree(view: memoryview, data: bytes, at: int, ends: list[int], moved: int, low: int = 0) -> int:
    """How many messages are the same in both, of which the first ``low`` are, up to ``at``.

    Each byte is looked at about once.
    """
    high = len(ends)
    step = max(1, high - low - MOVING)
    while low < high:
        end = ends[low + step - 1]
        if data.startswith(view[at:end], at + moved):
            low, at = low + step, end
        else:
            high = low + step - 1
        step = max(1, (high - low + 1) // 2)
    return low
