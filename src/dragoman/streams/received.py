"""What a reader has received of a text, for comparison with what its end says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from zlib import crc32

from ..core.reading import UNREADABLE, decode, escape
from ..model import Json

NOTHING: tuple[Json, ...] = (None, "", [], {})


class Keys:
    """The keys that an object of an event is known to have, and those of the objects inside it.

    Named are those that a reader uses, and those without meaning (padding, sequence numbers). An
    object that is in the response unchanged is not inspected: it is read at rest.
    """

    __slots__ = ("inner", "only")

    def __init__(self, *keys: str, **inner: Keys) -> None:
        self.only = frozenset((*keys, *inner)).issuperset
        self.inner = tuple(inner.items())

    def fit(self, doc: dict[str, Json]) -> bool:
        """Whether there is no other key; what is asked of each event that is not the usual one."""
        if not self.only(doc):
            return False
        for key, keys in self.inner:
            value = doc.get(key)
            if value.__class__ is dict and not keys.fit(value):
                return False
        return True

    def others(self, doc: dict[str, Json], at: str = "") -> Iterator[str]:
        """The pointers of the keys that are not known, apart from those that are null."""
        for key, value in doc.items():
            if not self.only((key,)) and value is not None:
                yield f"{at}/{escape(key)}"
        for key, keys in self.inner:
            value = doc.get(key)
            if value.__class__ is dict:
                yield from keys.others(value, f"{at}/{key}")


def last_of(pointer: str) -> str:
    """The key that a pointer ends with."""
    return pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")


def ways_to(pointer: str) -> list[str]:
    """A pointer, and those of all that it is in."""
    steps = pointer.split("/")
    return ["/".join(steps[:count]) for count in range(len(steps), 0, -1)]


class Received:
    """A text while it arrives; if it is not kept, only whether it has any content."""

    __slots__ = ("add", "length", "parts", "sum", "whole")

    def __init__(self, whole: bool) -> None:
        self.whole = whole
        self.parts: list[str] = []
        self.length = self.sum = 0  # what is left of a text that is not kept
        self.add: Callable[[str], None] = self.parts.append if whole else self.look

    def look(self, text: str) -> None:
        self.length += len(text)
        self.sum = crc32(text.encode(), self.sum)
        if text and (not self.parts or self.parts[0].isspace()):
            self.parts[:] = [text.strip()[:1] or " "]

    def lacks(self, final: str) -> str | None:
        """The rest of the final text that was not streamed; None if it is another text."""
        if self.whole:
            so_far = str(self)
            return final[len(so_far) :] if final.startswith(so_far) else None
        same = crc32(final[: self.length].encode()) == self.sum
        return final[self.length :] if same else None

    def __str__(self) -> str:
        return "".join(self.parts)


def remember(texts: list[str], text: str) -> None:
    """Keep of a text that is written as it comes whether there is any, and whether it is blank."""
    if not texts:
        texts.append(text)
    elif not texts[0] or texts[0].isspace():
        texts[0] = text or texts[0]


def is_complete(text: str) -> bool:
    """Whether argument text is whole: nothing can follow a complete JSON value."""
    try:
        decode(text)
    except UNREADABLE:
        return False
    return True
