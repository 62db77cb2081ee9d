"""What a failed law prints: the places that differ, not two documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import islice
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from .. import dialects
from ..core.reading import escape
from ..model import Json
from ..streams.framing import framer

SHOWN = 12
"""How many places of a difference are printed."""


EXCERPT = 60
"""How much of a value is printed."""


def difference(got: Any, wanted: Any, *, most: int = SHOWN) -> str:
    """Where two documents (or trees) differ: a line for each place, ``wanted -> got``.

    >>> print(difference({"a": [1, 2], "b": "x"}, {"a": [1, 3], "c": None}))
    /a/1: 3 -> 2
    /c: null is missing
    /b: "x" is not wanted
    """
    places = _places(got, wanted, "")
    shown = list(islice(places, most))
    more = sum(1 for _ in places)
    return "\n".join(shown + [f"... and {more} more"] * bool(more)) or "no difference"


def frames_difference(got: bytes, wanted: bytes, dialect: str) -> str:
    """Where two streams of a dialect differ, frame by frame."""

    def frames(data: bytes) -> list[Json]:
        found = framer(dialects.get(dialect).framing)
        return [[name, _parsed(frame)] for name, frame in [*found.feed(data), *found.close()]]

    places = difference(frames(got), frames(wanted))
    return "the same frames, other bytes between them" if places == "no difference" else places


def _parsed(frame: bytes) -> Json:
    try:
        return json.loads(frame)
    except ValueError:
        return frame.decode("utf-8", "backslashreplace")


def _places(got: Any, wanted: Any, at: str) -> Iterator[str]:
    got, wanted = _plain(got), _plain(wanted)
    if isinstance(got, dict) and isinstance(wanted, dict):
        yield from _keys(got, wanted, at)
    elif isinstance(got, list) and isinstance(wanted, list):
        yield from _items(got, wanted, at)
    elif isinstance(got, str) and isinstance(wanted, str) and got != wanted:
        start = next((i for i, (a, b) in enumerate(zip(got, wanted, strict=False)) if a != b), None)
        start = min(len(got), len(wanted)) if start is None else start
        yield f"{at or '/'}: {_excerpt(wanted, start)} -> {_excerpt(got, start)}"
    elif got.__class__ is not wanted.__class__ or got != wanted:
        yield f"{at or '/'}: {_brief(wanted)} -> {_brief(got)}"


def _keys(got: dict[str, Any], wanted: dict[str, Any], at: str) -> Iterator[str]:
    for key, value in wanted.items():
        place = f"{at}/{escape(str(key))}"
        if key in got:
            yield from _places(got[key], value, place)
        else:
            yield f"{place}: {_brief(value)} is missing"
    for key, value in got.items():
        if key not in wanted:
            yield f"{at}/{escape(str(key))}: {_brief(value)} is not wanted"
    if got.keys() == wanted.keys() and list(got) != list(wanted):
        yield f"{at or '/'}: keys in another order: {', '.join(wanted)} -> {', '.join(got)}"


def _items(got: list[Any], wanted: list[Any], at: str) -> Iterator[str]:
    """Items that are gone or came in between do not make others of those after them."""
    before, after = ([repr(_plain(item)) for item in items] for items in (wanted, got))
    steps = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for what, i, end, j, stop in steps:
        if what == "equal":
            continue
        for n in range(max(end - i, stop - j)):
            if i + n >= end:
                yield f"{at}/{j + n}: {_brief(got[j + n])} is not wanted"
            elif j + n >= stop:
                yield f"{at}/{i + n}: {_brief(wanted[i + n])} is missing"
            else:
                yield from _places(got[j + n], wanted[i + n], f"{at}/{i + n}")


def _plain(value: Any) -> Any:
    """Trees as objects, tuples as lists."""
    if isinstance(value, Struct):
        fields = {name: item for name, item in asdict(value).items() if name != "original"}
        return {"": type(value).__name__} | fields
    return list(value) if isinstance(value, tuple) else value


def _brief(value: Any) -> str:
    try:
        text = json.dumps(_plain(value), ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= EXCERPT else f"{text[: EXCERPT - 1]}…"


def _excerpt(text: str, place: int) -> str:
    """A text where it begins to differ."""
    start = max(place - EXCERPT // 3, 0) if len(text) > EXCERPT else 0
    cut = text[start : start + EXCERPT]
    written = json.dumps(cut, ensure_ascii=False)
    return ("…" if start else "") + written + ("…" if start + EXCERPT < len(text) else "")
