"""How to know a document of the AI SDK: hyphens in the types, capitals in the middle of the keys.

A conversation of plain text looks like everybody else's. Nothing is claimed without a sign.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...lint.evidence import FIRST, PARTS, Evidence, Verdict, is_list_of_objects, objects
from ...model import Json

if TYPE_CHECKING:
    from . import VercelModel


REQUEST = {
    "maxOutputTokens": 0.8, "toolChoice": 0.7, "stopSequences": 0.5, "topP": 0.5, "topK": 0.5,
    "presencePenalty": 0.5, "frequencyPenalty": 0.5, "providerOptions": 0.9, "activeTools": 0.7,
    "allowSystemInMessages": 0.9, "responseFormat": 0.3,
}  # fmt: skip
FOREIGN = {
    "contents": 0.95, "generationConfig": 0.95, "inferenceConfig": 0.95, "modelId": 0.9,
    "max_tokens": 0.8, "tool_choice": 0.9, "stop_sequences": 0.9, "top_p": 0.8,
    "max_completion_tokens": 0.9, "response_format": 0.9, "input": 0.9,
}  # fmt: skip
ROLES = frozenset({"system", "user", "assistant", "tool"})
# type of a part -> keys it needs to be one of ours
TYPES: dict[str, tuple[str, ...]] = {
    "tool-call": ("toolCallId",),
    "tool-result": ("toolCallId",),
    "tool-approval-request": ("approvalId",),
    "tool-approval-response": ("approvalId",),
    "redacted-reasoning": ("data",),
    "reasoning": ("text",),
    "reasoning-file": ("data",),
    "image": ("image",),
    "file": ("data",),
}
FOREIGN_KEYS = frozenset({"tool_calls", "tool_call_id", "parts", "call_id", "speaker", "blocks"})


def sniff(d: VercelModel, doc: Json) -> Iterator[Verdict]:
    if doc.__class__ is dict:
        if doc.get("messages").__class__ is list:
            yield from sniff_request(d, doc)
        elif doc.get("prompt").__class__ in (str, list) and "input" not in doc:
            e = Evidence("request")
            weigh_settings(d, e, doc)
            if e.signs:
                yield e.verdict()
        elif doc.get("content").__class__ is list and "finishReason" in doc:
            if d.alone:
                yield "response", 0.95, ("'content' and 'finishReason'",)
        elif doc.get("type") == "tool" and doc.get("toolName").__class__ is str:
            if d.alone:
                yield "tool-choice", 0.9, ("a choice with 'toolName'",)
    elif is_list_of_objects(doc):
        if "role" in doc[0]:
            e = Evidence("messages")
            weigh_messages(d, e, doc)
            if e.signs:
                yield e.verdict()
        else:
            yield from sniff_tools(d, doc)


def sniff_request(d: VercelModel, doc: dict[str, Json]) -> Iterator[Verdict]:
    for facet in ("request", "messages"):
        e = Evidence(facet)
        weigh_messages(d, e, doc["messages"])
        for key, weight in FOREIGN.items():
            if doc.get(key) is not None:
                e.speaks_against(f"the key {key!r}", weight)
        settings = [key for key in (*REQUEST, *d.own_settings, "model") if key in doc]
        if facet == "messages":
            if settings or "tools" in doc:
                e.speaks_against("it has settings", 0.9)
        else:
            weigh_settings(d, e, doc)
        if e.signs:
            yield e.verdict()


def weigh_settings(d: VercelModel, e: Evidence, doc: dict[str, Json]) -> None:
    for key, weight in REQUEST.items():
        if doc.get(key) is not None and (d.alone or key in d.own_settings):
            e.speaks_for(f"the key {key!r}", weight)
    for key in sorted(d.own_settings - REQUEST.keys()):
        if doc.get(key) is not None:
            e.speaks_for(f"the key {key!r}", 0.6)
    for key in sorted(d.other_settings):
        if doc.get(key) is not None:
            e.speaks_against(f"the key {key!r}", 0.5)
    for tool in objects(doc.get("tools")):
        if tool.get("type") == "function" and d.schema_key in tool and "name" in tool:
            if d.schema_key == "inputSchema" or e.signs:
                e.speaks_for(f"a tool with {d.schema_key!r}", 0.7)
        elif tool.get("function").__class__ is dict or "input_schema" in tool:
            e.speaks_against("a tool of another form", 0.9)
    if e.signs:
        e.speaks_for("a list of messages", 0.3)


def sniff_tools(d: VercelModel, doc: list[Json]) -> Iterator[Verdict]:
    if not d.alone:
        return  # they look like the tools of other APIs
    for tool in objects(doc):
        if tool.get("type") == "function" and "inputSchema" in tool and "name" in tool:
            yield "tools", 0.9, ("a tool with 'inputSchema'",)
            return
        if tool.get("type") in ("provider", "provider-defined") and "id" in tool:
            yield "tools", 0.9, ("a tool that a provider defines",)
            return


def weigh_messages(d: VercelModel, e: Evidence, messages: list[Json]) -> None:
    for message in messages[:FIRST]:
        if message.__class__ is not dict or message.get("role").__class__ is not str:
            e.speaks_against("a message has no role", 0.9)
            return
        if message["role"] not in ROLES:
            e.speaks_against("another role", 0.95)
        if not FOREIGN_KEYS.isdisjoint(message):
            e.speaks_against("a message with foreign keys", 0.95)
        if message.get("providerOptions").__class__ is dict and d.alone:
            e.speaks_for("a message with 'providerOptions'", 0.7)
        for part in objects(message.get("content"), PARTS):
            weigh_part(d, e, part)


def weigh_part(d: VercelModel, e: Evidence, part: dict[str, Json]) -> None:
    kind = part.get("type")
    if kind.__class__ is not str:
        e.speaks_against("a part without a type", 0.9)
        return
    if part.get("providerOptions").__class__ is dict and d.alone:
        e.speaks_for("a part with 'providerOptions'", 0.7)
    if kind not in TYPES or not all(key in part for key in TYPES[kind]):
        if kind not in ("text", *TYPES):
            e.speaks_against(f"a part of type {kind!r}", 0.5)
        elif kind != "text":
            e.speaks_against(f"a part of type {kind!r} of another form", 0.9)
        return
    own = sorted(d.own_keys & part.keys())
    if d.other_keys & part.keys():
        e.speaks_against("a part of another version", 0.5)
    if own:
        e.speaks_for(f"a part of type {kind!r} with {own[0]!r}", 0.9)
    elif d.alone or kind == "redacted-reasoning":
        e.speaks_for(f"a part of type {kind!r}", 0.85 if kind == "image" else 0.6)
