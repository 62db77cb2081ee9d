"""Types of items that a client may leave out, as ``"type": "message"`` in Responses.

A client that writes it writes it in each of its messages, and the writer of the way back in none,
so every message would have an entry for it. One key of the capsule (``typed``) says it for all.
"""

from __future__ import annotations

from ..dialect import Dialect
from ..model import Json


def place_of(document: Json, dialect: Dialect) -> str | None:
    """Where in a message the client writes the type: ``first`` or ``last``; None: not in each."""
    items = document.get(dialect.history) if document.__class__ is dict else None
    if not dialect.implied_type or items.__class__ is not list:
        return None
    place = None
    for item in items:
        if item.__class__ is not dict or "type" not in item:
            return None
        if place is None and item["type"] == dialect.implied_type:
            place = "first" if next(iter(item)) == "type" else "last"
    return place


def typed(document: Json, dialect: Dialect, place: str) -> tuple[Json, set[int]]:
    """The document with that type in each message that has none, and the ``id`` of these."""
    items = document.get(dialect.history) if document.__class__ is dict else None
    if not dialect.implied_type or items.__class__ is not list:
        return document, set()
    said = {"type": dialect.implied_type}
    first = place == "first"
    out: list[Json] = []
    found: set[int] = set()
    for item in items:
        if item.__class__ is dict and "type" not in item and "role" in item:
            item = {**said, **item} if first else {**item, **said}
            found.add(id(item))
        out.append(item)
    return ({**document, dialect.history: out}, found) if found else (document, found)
