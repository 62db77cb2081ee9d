"""One difference between two trees; those of extras and of reasoning are noted part by part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

from ..core.reading import escape
from ..model import Extras, Json, Reasoning

How: TypeAlias = Literal["gone", "new", "altered"]


class Change(NamedTuple):
    """One difference. ``what`` is a class of nodes, or one of its fields: ``Text.citations``."""

    what: str
    how: How
    at: str
    """where the node stood in the source; for what is new, where it would stand"""
    near: tuple[str, ...] = ()
    """other places that tell of it as well: the other of two that were joined or swapped"""
    above: tuple[str, ...] = ()
    """the nodes in which it stood, the innermost first"""
    old: Any = None
    new: Any = None
    implied: bool = False
    """it follows from others: a message of which every block is gone"""
    read: Any = None
    """the node as it was read, with its places"""

    def __str__(self) -> str:
        return f"{self.what} {self.how} at {self.at or '/'}: {self.old!r} -> {self.new!r}"[:400]


class Place(NamedTuple):
    """A node: what it means, and as it was read, with its place."""

    written: Any
    read: Any
    same: int = 0
    """the number of the message in which a block stands"""
    role: str = ""
    """who says it"""

    @property
    def at(self) -> str:
        return str(self.read.at)


def how_of(old: Any, new: Any) -> How:
    if new is None or new == ():
        return "gone"
    return "new" if old is None or old == () else "altered"


Special: TypeAlias = Callable[[Any, Any, Any, str, tuple[str, ...], list[Change]], None]


def note_extras(
    written: Extras | None, read: Extras | None, got: Extras | None, at: str,
    above: tuple[str, ...], out: list[Change],
) -> None:  # fmt: skip
    """Fields one by one; an object of which only some keys were kept, key by key."""
    inner = read.inner if read is not None else ()
    old, new = _flat(written, inner), _flat(got, inner)
    for path in {**old, **new}:
        if path in old and path in new and old[path] == new[path]:
            continue
        if path in old:
            where = at + "".join(f"/{key}" for key in path)
            out.append(Change("extras", "gone", where, (at,), above, old[path], new.get(path)))
        if path in new:
            out.append(Change("extras", "new", at, above[:2], above, None, new[path]))
    for field in ("signature", "spelling"):
        a, b = getattr(written, field, None) or None, getattr(got, field, None) or None
        if a != b:
            out.append(Change(f"extras.{field}", how_of(a, b), at, (), above, a, b))


def _flat(extras: Extras | None, inner: tuple[str, ...]) -> dict[tuple[str, ...], Json]:
    if extras is None:
        return {}
    flat: dict[tuple[str, ...], Json] = {}
    for key, value in extras.fields.items():
        if key in inner and isinstance(value, dict):
            flat |= {(key, escape(name)): item for name, item in value.items()}
        else:
            flat[escape(key),] = value
    return flat


def note_reasoning(
    written: Reasoning, at: str, got: Reasoning, above: tuple[str, ...], out: list[Change]
) -> None:
    """The words of reasoning: which there are, whether they are a summary, and their parts."""
    old, new = written, got
    content, summary = squeezed(*old.content), squeezed(*old.summary)
    got_content, got_summary = squeezed(*new.content), squeezed(*new.summary)

    def note(what: str, how: How, a: Any, b: Any) -> None:
        out.append(Change(f"Reasoning.{what}", how, at, (), above, a, b))

    if (content, summary) == (got_content, got_summary):
        counts = any(old.summary) or not content  # an empty one beside the words is nothing
        if old.summary and not new.summary and not summary and counts:
            note("summary", "gone", old.summary, ())  # without a word
        if old.content and not new.content and not content and not summary:
            note("content", "gone", old.content, ())
        if (old.content != new.content and content) or (old.summary != new.summary and summary):
            note("boundary", "altered", old.content or old.summary, new.content or new.summary)
        return
    swapped = False
    if summary and not got_summary and got_content == summary:
        note("summary", "altered", "summary", "content")
        swapped = True
        if content:
            note("content", "gone", old.content, ())
        if len(old.summary) != len(new.content):
            note("boundary", "altered", old.summary, new.content)
    elif content and not got_content and got_summary == content:
        note("summary", "new", "content", "summary")
        swapped = True
        if summary:
            note("summary", "gone", old.summary, ())
        if len(old.content) != len(new.summary):
            note("boundary", "altered", old.content, new.summary)
    if swapped:
        return
    for field, a, b in (("content", content, got_content), ("summary", summary, got_summary)):
        was, now = getattr(old, field), getattr(new, field)
        if a != b:
            note(field, how_of(was or None, now or None), was, now)
        elif was != now:
            note("boundary", "altered", was, now)


def squeezed(*texts: str) -> str:
    """Words without the white space between them, by which texts are joined and trimmed."""
    return "".join("".join(texts).split())
