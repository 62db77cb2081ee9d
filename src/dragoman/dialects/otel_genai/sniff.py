"""How to know messages and tools in OpenTelemetry's attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...lint.evidence import Evidence, Verdict, is_list_of_objects, objects
from ...model import Json
from .messages import INPUT, OUTPUT, ROLES, SYSTEM
from .parts import HOSTED, MEDIA, RESPONSES

if TYPE_CHECKING:
    from . import OtelGenAI


def sniff(d: OtelGenAI, doc: Json) -> Iterator[Verdict]:
    if doc.__class__ is dict:
        named = [key for key in (INPUT, OUTPUT, SYSTEM) if key in doc]
        if named:
            yield "messages", 0.99, tuple(f"the attribute {key!r}" for key in named)
        return
    if not is_list_of_objects(doc):
        return
    e = Evidence("messages")
    for message in objects(doc):
        parts = message.get("parts")
        role = message.get("role")
        if role.__class__ is not str or role not in ROLES or parts.__class__ is not list:
            e.speaks_against("a message of another form", 0.95)
            return
        for part in objects(parts):
            weigh(e, part)
    if e.signs:
        yield e.verdict()


def weigh(e: Evidence, part: dict[str, Json]) -> None:
    kind = part.get("type")
    if kind in ("text", "reasoning") and part.get("content").__class__ is str:
        e.speaks_for(f"a part {kind!r} with 'content'", 0.9)
    elif kind == "tool_call" and "name" in part and "arguments" in part:
        e.speaks_for("a part 'tool_call'", 0.95)
    elif kind == "tool_call_response" and any(key in part for key in RESPONSES):
        e.speaks_for("a part 'tool_call_response'", 0.97)
    elif kind.__class__ is str and (kind in MEDIA or kind in HOSTED):
        e.speaks_for(f"a part {kind!r}", 0.8)
    else:
        e.speaks_against("a part of another kind", 0.6)
