"""How to know documents of the Agent User Interaction Protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...lint.evidence import Evidence, Verdict, is_list_of_objects, objects
from ...model import Json
from .messages import ROLES
from .parts import MEDIA

if TYPE_CHECKING:
    from . import AgUI

ASKED = {"threadId": 0.7, "runId": 0.8, "forwardedProps": 0.9, "parentRunId": 0.8}


def sniff(d: AgUI, doc: Json) -> Iterator[Verdict]:
    if doc.__class__ is dict:
        yield from answers(doc)
    messages = doc.get("messages") if doc.__class__ is dict else doc
    if not is_list_of_objects(messages):
        return
    asked = [key for key in ASKED if doc.__class__ is dict and key in doc]
    e = Evidence("request" if asked else "messages")
    for key in asked:
        e.speaks_for(f"the key {key!r}", ASKED[key])
    if doc.__class__ is dict and doc.get("type") == "MESSAGES_SNAPSHOT":
        e.speaks_for("the event 'MESSAGES_SNAPSHOT'", 0.98)
    for message in objects(messages):
        weigh(e, message)
    if e.signs:
        yield e.verdict()


def answers(doc: dict[str, Json]) -> Iterator[Verdict]:
    """What a run gave, or the error that ended it."""
    if doc.get("newMessages").__class__ is list:
        e = Evidence("response")
        e.speaks_for("'newMessages' of a run", 0.95)
        yield e.verdict()
    elif doc.get("type") == "RUN_ERROR" and doc.get("message").__class__ is str:
        e = Evidence("error")
        e.speaks_for("the event 'RUN_ERROR'", 0.98)
        yield e.verdict()


def weigh(e: Evidence, message: dict[str, Json]) -> None:
    role = message.get("role")
    if role not in (*ROLES, "reasoning", "activity"):
        e.speaks_against("another role", 0.9)
        return
    if message.get("id").__class__ is not str or "parts" in message:
        e.speaks_against("a message without an id", 0.6)
        return
    if role == "reasoning" or (role == "activity" and "activityType" in message):
        e.speaks_for(f"the role {role!r}", 0.95)
    elif role == "tool" and "toolCallId" in message:
        e.speaks_for("a result with 'toolCallId'", 0.85)
    elif role == "assistant" and message.get("toolCalls").__class__ is list:
        e.speaks_for("'toolCalls' in a message", 0.85)
    elif "content" in message and not message.keys() - {"id", "role", "content", "name"}:
        e.speaks_for("a message with an id", 0.5)
    content = message.get("content")
    for part in objects(content) if is_list_of_objects(content) else ():
        given = part.get("source")
        if part.get("type") in tuple(MEDIA) and given.__class__ is dict and "value" in given:
            e.speaks_for("a medium with a source", 0.8)
