"""What of a conversation is in the text that a template printed, and where.

Each value of the conversation gets a pair of marks, two characters of a private plane of Unicode,
inside its own white space, and the template prints it all once more. Where this text without the
marks is the text that was printed before, the marks tell exactly what is there and where. Where it
is not (a template may ask what a text begins with), each value is looked for, in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..model import Json

BEGIN, END = 0xF0000, 0x100000
"""Planes 15 and 16 are private: what has such characters itself is not marked."""
MOST = 0xFF00


class Probe(NamedTuple):
    """One value: what it is, where it stood in the source, and in which message (-1: a tool)."""

    what: str
    at: str
    message: int
    value: str
    strict: bool = True
    """whether it can be marked; a number or a name that is sorted cannot"""


class Probes:
    """The values of one conversation, and copies of its messages and tools with marks."""

    def __init__(self) -> None:
        self.found: list[Probe] = []
        self.spans: dict[int, tuple[int, int]] = {}
        """the place of each value that was found, by its number"""

    def mark(self, what: str, at: str, message: int, text: str) -> str:
        """A text with marks around all but its outer white space."""
        core = text.strip()
        if not core:
            return text
        number = len(self.found)
        self.found.append(Probe(what, at, message, core, number < MOST and not is_private(core)))
        if not self.found[-1].strict:
            return text
        start = text.index(core)
        end = start + len(core)
        return f"{text[:start]}{chr(BEGIN + number)}{core}{chr(END + number)}{text[end:]}"

    def note(self, what: str, at: str, message: int, text: str) -> None:
        """A value that is only looked for."""
        if text.strip():
            self.found.append(Probe(what, at, message, text.strip(), strict=False))

    def mark_value(self, what: str, at: str, message: int, value: Json) -> Json:
        """The strings of a value with marks; its numbers and keys are looked for."""
        if value.__class__ is str:
            return self.mark(what, at, message, value)
        if value.__class__ is list:
            return [self.mark_value(what, at, message, item) for item in value]
        if value.__class__ is dict:
            for key in value:
                self.note(what, at, message, key)
            return {k: self.mark_value(what, at, message, item) for k, item in value.items()}
        if value is not None and value.__class__ is not bool:
            self.note(what, at, message, str(value))
        return value

    # -- what was printed ---------------------------------------------------------------------

    def locate(self, marked: str, text: str) -> list[Probe]:
        """Notes where each value stands in the text; gives those that do not."""
        self.spans = {}
        bare, places = unmarked(marked)
        exact = bare == text
        gone: list[Probe] = []
        cursor = 0
        for number, probe in enumerate(self.found):
            if probe.strict and exact:
                if number in places:
                    self.spans[number] = places[number]
                else:
                    gone.append(probe)
                continue
            place = text.find(probe.value, cursor)
            if place < 0:
                place = min(
                    (p for form in forms(probe.value) if (p := text.find(form)) >= 0), default=-1
                )
            if place < 0:
                gone.append(probe)
            else:
                self.spans[number] = (place, place + len(probe.value))
                cursor = place + len(probe.value) if not exact and probe.strict else cursor
        return gone

    def bounds(self, message: int) -> tuple[int, int] | None:
        """From the first to the last value of a message that the text has."""
        own = [self.spans[n] for n, p in enumerate(self.found)
               if p.message == message and n in self.spans and p.strict]  # fmt: skip
        return (min(a for a, _ in own), max(b for _, b in own)) if own else None

    def runs(self, message: int) -> list[tuple[int, int, int]]:
        """The values of a message that stand together: from, to, and where others follow."""
        placed = sorted((*self.spans[n], p.message) for n, p in enumerate(self.found)
                        if n in self.spans and p.strict)  # fmt: skip
        out: list[tuple[int, int, int]] = []
        owner = None
        for start, end, whose in placed:
            if whose == message and owner == message:
                out[-1] = (out[-1][0], max(end, out[-1][1]), max(end, out[-1][1]))
            elif whose == message:
                out.append((start, end, end))
            elif owner == message:
                out[-1] = (*out[-1][:2], start)
            owner = whose
        return out

    def places(self, message: int, what: str) -> Iterator[tuple[int, int]]:
        for number, probe in enumerate(self.found):
            if probe.message == message and probe.what == what and number in self.spans:
                yield self.spans[number]


def is_private(text: str) -> bool:
    return any(ord(sign) >= BEGIN for sign in text)


def forms(value: str) -> Iterator[str]:
    """How a template may print a value: as it is, or inside JSON."""
    yield value
    yield value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def unmarked(text: str) -> tuple[str, dict[int, tuple[int, int]]]:
    """A text without marks, and the first place of each value; of one that is printed in pieces,
    from its first mark to its last."""
    out: list[str] = []
    length, last = 0, 0
    starts: dict[int, int] = {}
    places: dict[int, tuple[int, int]] = {}
    for index, sign in enumerate(text):
        code = ord(sign)
        if code < BEGIN:
            continue
        out.append(text[last:index])
        length += index - last
        last = index + 1
        if code < END:
            starts.setdefault(code - BEGIN, length)
        elif (number := code - END) in starts and number not in places:
            places[number] = (starts[number], length)
    out.append(text[last:])
    return "".join(out), places
