"""How to know a chat history of Semantic Kernel: items with a ``content_type``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...lint.evidence import Evidence, Verdict, is_list_of_objects, objects
from ...model import Json

if TYPE_CHECKING:
    from . import SemanticKernel


def sniff(d: SemanticKernel, doc: Json) -> Iterator[Verdict]:
    messages = doc.get("messages") if doc.__class__ is dict else doc
    if not is_list_of_objects(messages):
        return
    e = Evidence("messages")
    for message in objects(messages):
        items = message.get("items")
        if "role" not in message or (items is not None and items.__class__ is not list):
            e.speaks_against("a message of another form", 0.9)
            continue
        if message.get("content_type") == "message":
            e.speaks_for("a message with 'content_type'", 0.95)
        for item in objects(items) if items else ():
            if item.get("content_type").__class__ is str:
                e.speaks_for("an item with 'content_type'", 0.95)
            else:
                e.speaks_against("an item without a type", 0.9)
    if e.signs:
        yield e.verdict()
