"""Types of items that a client may leave out, as ``"type": "message"`` in Responses.

A client that writes it writes it in each of its messages, and the writer of the way back in none,
so every message would have an entry for it. One key of the capsule (``typed``) says it for all.
"""

from __future__ import annotations

from operator import is_not, itemgetter

from ..dialect import Dialect
from ..model import Json

type_of = itemgetter("type")


def place_of(document: Json, dialect: Dialect) -> str | None:
    """Where in a message the client writes the type: ``first`` or ``last``; None: not in each."""
    items = _items(document, dialect)
    try:
        written = list(map(type_of, items))
    except (LookupError, TypeError):  # an item without a type, or no object
        return None
    if dialect.implied_type not in written:
        return None
    message = items[written.index(dialect.implied_type)]
    return "first" if next(iter(message)) == "type" else "last"


def typed(document: Json, dialect: Dialect, place: str) -> Json:
    """The document with that type in each message that has none; itself, if there is none."""
    items = _items(document, dialect)
    spelled, first = {"type": dialect.implied_type}, place == "first"
    out = [
        item
        if item.__class__ is not dict or "type" in item or "role" not in item
        else (spelled | item if first else item | spelled)
        for item in items
    ]
    return {**document, dialect.history: out} if any(map(is_not, out, items)) else document


def _items(document: Json, dialect: Dialect) -> list[Json]:
    """The items of a conversation, if there are such as may have a type or not."""
    found = document.get(dialect.history) if document.__class__ is dict else None
    return found if dialect.implied_type and found.__class__ is list else []
