"""How to know messages of LangChain: a type that says who speaks, and data or a class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...lint.evidence import Evidence, Verdict, is_list_of_objects, objects
from ...model import Json

if TYPE_CHECKING:
    from . import LangChain

TYPES = frozenset({"human", "ai", "system", "tool", "function", "chat", "remove"})
OWN = frozenset({"human", "ai"})


def sniff(d: LangChain, doc: Json) -> Iterator[Verdict]:
    messages = doc.get("messages") if doc.__class__ is dict else doc
    if is_list_of_objects(messages):
        e = Evidence("messages")
        for message in objects(messages):
            weigh(e, message)
        if e.signs:
            yield e.verdict()


def weigh(e: Evidence, message: dict[str, Json]) -> None:
    kind = message.get("type")
    known = kind.__class__ is str and (kind in TYPES or kind.endswith("MessageChunk"))
    if message.get("lc").__class__ is int and message.get("kwargs").__class__ is dict:
        e.speaks_for("a serialised object of LangChain", 0.98)
    elif known and message.get("data").__class__ is dict and "content" in message["data"]:
        e.speaks_for("a message with 'type' and 'data'", 0.95)
    elif known and "content" in message and "role" not in message:
        e.speaks_for("a message with 'type' and 'content'", 0.9 if kind in OWN else 0.4)
    elif "role" in message and kind != "chat":
        e.speaks_against("a message with 'role'", 0.9)
    else:
        e.speaks_against("something else among the messages", 0.5)
