"""Keys that an object has twice: ``{"messages": [A], "messages": [B]}`` loses A in every parser.

JSON does not forbid them, and parsers silently keep the last value. Nearly no document has one, so
the look for them must cost next to nothing where there is none:

1. The value, encoded, is what was read, byte for byte. Then nothing can have been lost. So it is
   with what programs write, and it costs an encoding.
2. Else the colons of both are counted. A key that was lost leaves one more in what was read; white
   space, escapes and numbers that are spelled otherwise leave none, but for an escaped colon.
3. Else every object is looked at, which takes as long as some conversions: there is a key twice, or
   such an escape.
"""

from __future__ import annotations

from collections import Counter

from ..errors import Malformed
from ..ledger import Ledger, Loss
from ..model import Json
from .reading import BOM, UNREADABLE, decode, encode, escape

CODE = "document.key"
WHY = "duplicate key in an object; the last value is read, the others are ignored"


def losses(data: bytes, value: Json, target: str = "") -> tuple[Loss, ...]:
    """The losses of a document by its keys, given its bytes and what was read in them."""
    places = pointers(data, value)
    return tuple([Loss("dropped", CODE, at, WHY, target) for at in places]) if places else ()


def note(doc: Json | bytes, value: Json, log: Ledger, at: str = "") -> None:
    """The same for a document that may be bytes, into a ledger; ``at`` is where it stands."""
    if isinstance(doc, bytes | bytearray | memoryview):
        for place in pointers(bytes(doc), value):
            log.dropped(CODE, at + place, WHY)


def pointers(data: bytes, value: Json) -> list[str]:
    """Where the keys stand that an object has twice."""
    data = data.removeprefix(BOM)
    return [] if _is_clean(data, value) else _search(data)


def frame_pointers(data: bytes) -> list[str]:
    """The same for a frame of a stream; none where it is no JSON."""
    try:
        return pointers(data, decode(data))
    except UNREADABLE:
        return []


def _is_clean(data: bytes, value: Json) -> bool:
    """Whether there is certainly no key twice."""
    try:
        written = encode(value)
    except Malformed:
        return False
    if data.startswith(written) and not data[len(written) :].strip():
        return True
    return data.count(b":") <= written.count(b":") and b"\\u003" not in data


def _search(data: bytes) -> list[str]:
    twice: dict[int, tuple[dict[str, Json], list[str]]] = {}

    def made(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            again = [key for key, count in counts.items() if count > 1]
            twice[id(found)] = found, again  # kept: its id is not given to another
        return found

    import json  # nearly no document comes so far

    try:
        root = json.loads(data.decode(), object_pairs_hook=made, parse_int=str, parse_float=str)
    except RecursionError:  # what was read by less of a stack is nested as deeply as can be
        raise Malformed("nested too deeply") from None
    return _placed(root, twice) if twice else []


def _placed(root: Json, twice: dict[int, tuple[dict[str, Json], list[str]]]) -> list[str]:
    """The places of these objects; one inside of a value that was lost has none."""
    places: list[str] = []
    waiting: list[tuple[str, Json]] = [("", root)]
    while waiting:
        at, value = waiting.pop()
        if value.__class__ is dict:
            if id(value) in twice:
                places += [f"{at}/{escape(key)}" for key in twice[id(value)][1]]
            waiting += [(f"{at}/{escape(key)}", item) for key, item in reversed(value.items())]
        elif value.__class__ is list:
            waiting += [(f"{at}/{i}", item) for i, item in reversed(list(enumerate(value)))]
    return places
