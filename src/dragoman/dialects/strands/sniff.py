"""How to know messages of Strands Agents.

The blocks alone are those of Bedrock's Converse API; what tells them apart is the envelope of a
stored message, the mark on bytes, and what the framework keeps with a message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...lint.evidence import Evidence, Verdict, is_list_of_objects, objects
from ...model import Json
from .blocks import MEDIA
from .media import MARK

if TYPE_CHECKING:
    from . import Strands

ENVELOPE = {"message", "message_id"}


def sniff(d: Strands, doc: Json) -> Iterator[Verdict]:
    messages = doc.get("messages") if doc.__class__ is dict else doc
    if not is_list_of_objects(messages):
        return
    e = Evidence("messages")
    if doc.__class__ is dict and "system_prompt" in doc:
        e.speaks_for("the key 'system_prompt'", 0.98)
    for item in objects(messages):
        if item.keys() >= ENVELOPE:
            e.speaks_for("a stored message with 'message_id'", 0.97)
        message = item.get("message", item)
        if message.__class__ is not dict or message.get("role") not in ("user", "assistant"):
            e.speaks_against("another role", 0.95)
            continue
        if "tracking_id" in message:
            e.speaks_for("the key 'tracking_id'", 0.8)
        content = message.get("content")
        if content.__class__ is not list:
            e.speaks_against("content that is no list", 0.95)
            continue
        for block in objects(content):
            weigh(e, block)
    if e.signs:
        yield e.verdict()


def weigh(e: Evidence, block: dict[str, Json]) -> None:
    if "type" in block:
        e.speaks_against("a block with a type", 0.95)
    for kind in MEDIA:
        inner = block.get(kind)
        source = inner.get("source") if inner.__class__ is dict else None
        held = source.get("bytes") if source.__class__ is dict else None
        if held.__class__ is dict and MARK in held:
            e.speaks_for(f"bytes with {MARK!r}", 0.97)
    if block.keys() <= {"text"} and block:
        e.speaks_for("a block that is 'text'", 0.4)
    elif "toolUse" in block or "toolResult" in block or "reasoningContent" in block:
        e.speaks_for("a block of the Converse API", 0.6)
