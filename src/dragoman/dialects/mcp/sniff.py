"""How to know documents of the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...lint.evidence import Evidence, Verdict, is_list_of_objects, objects
from ...model import Json

if TYPE_CHECKING:
    from . import MCP

ASKED = {"systemPrompt": 0.8, "maxTokens": 0.6, "modelPreferences": 0.95, "includeContext": 0.9,
         "toolChoice": 0.3, "stopSequences": 0.3}  # fmt: skip
KINDS = tuple({"text", "image", "audio", "resource", "resource_link", "tool_use", "tool_result"})
OF_TOOLS = {"outputSchema": 0.7, "annotations": 0.6, "title": 0.3, "_meta": 0.7, "icons": 0.5,
            "execution": 0.4}  # fmt: skip
STOPS = frozenset({"endTurn", "stopSequence", "maxTokens", "toolUse"})


def sniff(d: MCP, doc: Json) -> Iterator[Verdict]:
    if is_list_of_objects(doc):
        yield from in_messages(doc, {})
        yield from in_tools(doc, {})
    elif doc.__class__ is dict:
        if is_list_of_objects(doc.get("messages")):
            yield from in_messages(doc["messages"], doc)
        elif is_list_of_objects(doc.get("tools")):
            yield from in_tools(doc["tools"], doc)
        elif "content" in doc:
            yield from in_result(doc)
        elif doc.get("jsonrpc") == "2.0" and doc.get("error").__class__ is dict:
            yield "error", 0.97, ("an error of JSON-RPC",)


def in_messages(messages: list[Json], doc: dict[str, Json]) -> Iterator[Verdict]:
    asked = {key for key in ASKED if doc.get(key) is not None} - {"systemPrompt"}
    e = Evidence("request" if asked else "messages")
    for key in asked | ({"systemPrompt"} & doc.keys()):
        e.speaks_for(f"the key {key!r}", ASKED[key])
    for message in objects(messages):
        if message.get("role") not in ("user", "assistant"):
            e.speaks_against("another role", 0.95)
        content = message.get("content")
        if content.__class__ is dict and content.get("type") in KINDS:
            e.speaks_for("content that is one block", 0.9)
        elif content.__class__ is list:
            for part in objects(content):
                weigh_part(e, part)
        else:
            e.speaks_against("content that is no block", 0.9)
    if e.signs:
        yield e.verdict()


def weigh_part(e: Evidence, part: dict[str, Json]) -> None:
    kind = part.get("type")
    if kind not in KINDS:
        e.speaks_against("a block of another type", 0.8)
    elif kind == "tool_result" and "toolUseId" in part:
        e.speaks_for("a result with 'toolUseId'", 0.95)
    elif kind in ("image", "audio") and "mimeType" in part and "data" in part:
        e.speaks_for("data with a 'mimeType'", 0.9)
    elif kind in ("resource", "resource_link"):
        e.speaks_for("a resource", 0.9)
    elif kind == "tool_result":
        e.speaks_against("a result without 'toolUseId'", 0.9)


def in_tools(tools: list[Json], doc: dict[str, Json]) -> Iterator[Verdict]:
    e = Evidence("tools")
    for tool in objects(tools):
        if "type" in tool or tool.get("inputSchema").__class__ is not dict or "name" not in tool:
            e.speaks_against("a tool of another form", 0.95)
            continue
        e.speaks_for("a tool with 'inputSchema'", 0.9)
        for key, weight in OF_TOOLS.items():
            if tool.get(key) is not None:
                e.speaks_for(f"the key {key!r}", weight)
    if e.signs:
        yield e.verdict()


def in_result(doc: dict[str, Json]) -> Iterator[Verdict]:
    content = doc["content"]
    if doc.get("role") == "assistant" and "model" in doc:
        e = Evidence("response")
        if content.__class__ is dict and content.get("type") in KINDS:
            e.speaks_for("content that is one block", 0.9)
        if doc.get("stopReason").__class__ is str and doc["stopReason"] in STOPS:
            e.speaks_for("a stop reason of the protocol", 0.9)
    elif "role" not in doc and (content == [] or is_list_of_objects(content)):
        e = Evidence("messages")
        if all(part.get("type") in KINDS for part in objects(content)):
            for key in ("isError", "structuredContent"):
                if key in doc:
                    e.speaks_for(f"the key {key!r}", 0.9)
            for part in objects(content):
                weigh_part(e, part)
    else:
        return
    if e.signs:
        yield e.verdict()
