"""How to know messages of Pydantic AI: requests and responses, with parts that have a kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...lint.evidence import Evidence, Verdict, is_list_of_objects, objects
from ...model import Json

if TYPE_CHECKING:
    from . import PydanticAI


def sniff(d: PydanticAI, doc: Json) -> Iterator[Verdict]:
    messages = doc.get("messages") if doc.__class__ is dict else doc
    if not is_list_of_objects(messages):
        return
    e = Evidence("messages")
    for message in objects(messages):
        if message.get("kind") not in ("request", "response"):
            e.speaks_against("something else among the messages", 0.9)
            continue
        for part in objects(message.get("parts")):
            if part.get("part_kind").__class__ is str:
                e.speaks_for("a part with 'part_kind'", 0.97)
            else:
                e.speaks_against("a part without a kind", 0.9)
    if e.signs:
        yield e.verdict()
