"""How to know messages of LlamaIndex: blocks with a ``block_type``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...lint.evidence import Evidence, Verdict, is_list_of_objects, objects
from ...model import Json

if TYPE_CHECKING:
    from . import LlamaIndex


def sniff(d: LlamaIndex, doc: Json) -> Iterator[Verdict]:
    messages = doc.get("messages") if doc.__class__ is dict else doc
    if not is_list_of_objects(messages):
        return
    e = Evidence("messages")
    for message in objects(messages):
        if "role" not in message:
            e.speaks_against("a message without a role", 0.9)
        if message.get("additional_kwargs").__class__ is dict:
            e.speaks_for("the key 'additional_kwargs'", 0.8)
        blocks = message.get("blocks")
        if blocks.__class__ is list:
            e.speaks_for("the key 'blocks'", 0.5)
            for block in objects(blocks):
                if block.get("block_type").__class__ is str:
                    e.speaks_for("a block with 'block_type'", 0.97)
                else:
                    e.speaks_against("a block without a type", 0.9)
    if e.signs:
        yield e.verdict()
