"""How to know a document of Bedrock's Converse API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...lint.evidence import (
    FIRST,
    PARTS,
    Evidence,
    Verdict,
    is_list_of_objects,
    objects,
    weigh_count,
    weigh_doubts,
    weigh_keys,
    weigh_tools,
)
from ...model import Json
from .response import ERRORS, type_name

if TYPE_CHECKING:
    from . import BedrockConverse


REQUEST = {
    "modelId": 0.7, "inferenceConfig": 0.9, "toolConfig": 0.9, "additionalModelRequestFields": 0.95,
    "guardrailConfig": 0.9, "outputConfig": 0.7, "requestMetadata": 0.6, "promptVariables": 0.8,
    "additionalModelResponseFieldPaths": 0.95, "performanceConfig": 0.7, "serviceTier": 0.5,
}  # fmt: skip
FOREIGN = {
    "model": 0.8, "max_tokens": 0.9, "tools": 0.9, "tool_choice": 0.9, "stream": 0.8,
    "temperature": 0.9, "contents": 0.9, "input": 0.9,
}  # fmt: skip
# Keys that tell what a block is. A text has nothing but its text here, and no type.
BLOCKS = {
    "toolUse": 0.95, "toolResult": 0.95, "reasoningContent": 0.95, "cachePoint": 0.95,
    "guardContent": 0.95, "citationsContent": 0.95, "searchResult": 0.9, "image": 0.6,
    "document": 0.7, "video": 0.7, "audio": 0.6, "text": 0.6, "toolAddition": 0.9,
    "toolRemoval": 0.9,
}  # fmt: skip
CHOICES = {"auto", "any", "tool"}


def sniff(d: BedrockConverse, doc: Json) -> Iterator[Verdict]:
    if doc.__class__ is dict:
        if doc.get("messages").__class__ is list:
            yield request(doc)
            yield history(doc)
        elif doc.get("output").__class__ is dict:
            yield response(doc)
        elif doc.get("__type").__class__ is str:
            yield error(doc)
        elif doc.get("tools").__class__ is list:
            yield tools(doc["tools"])
        elif len(doc) == 1 and CHOICES.issuperset(doc):
            yield choice(doc)
    elif is_list_of_objects(doc):
        yield listed(doc) if "role" in doc[0] else tools(doc)


def request(doc: dict[str, Json]) -> Verdict:
    e = Evidence("request")
    weigh_keys(e, doc, REQUEST)
    weigh_doubts(e, doc, FOREIGN)
    weigh_conversation(e, doc["messages"])
    weigh_system(e, doc.get("system"))
    config = doc.get("toolConfig")
    if config.__class__ is dict:
        weigh_tools(e, config.get("tools"), tool_form)
    return e.verdict()


def history(doc: dict[str, Json]) -> Verdict:
    e = Evidence("messages")
    weigh_conversation(e, doc["messages"])
    weigh_system(e, doc.get("system"))
    weigh_doubts(e, doc, dict.fromkeys(REQUEST, 0.9) | FOREIGN)
    return e.verdict()


def listed(doc: list[Json]) -> Verdict:
    e = Evidence("messages")
    weigh_conversation(e, doc)
    return e.verdict()


def weigh_system(e: Evidence, system: Json) -> None:
    if system.__class__ is list:
        for block in objects(system, PARTS):
            weigh_block(e, block)
    elif system is not None:
        e.speaks_against("a system prompt that is no list", 0.9)


def weigh_conversation(e: Evidence, messages: list[Json]) -> None:
    for message in messages[:FIRST]:
        if message.__class__ is not dict or message.get("content").__class__ is not list:
            e.speaks_against("a message without a list of blocks", 0.95)
            continue
        if message.get("role") not in ("user", "assistant", "system"):
            e.speaks_against(f"the role {message.get('role')!r}", 0.95)
        if not message.keys() <= {"role", "content"}:
            e.speaks_against("a message with other keys", 0.6)
        for block in objects(message["content"], PARTS):
            weigh_block(e, block)


def weigh_block(e: Evidence, block: dict[str, Json]) -> None:
    key = next(iter(block), "")
    if "type" in block:
        e.speaks_against("a block with a type", 0.95)
    elif len(block) == 1 and key in BLOCKS:
        e.speaks_for(f"a block that is {key!r}", BLOCKS[key])
    else:
        e.speaks_against("a block of another form", 0.6)


def tools(docs: list[Json]) -> Verdict:
    e = Evidence("tools")
    weigh_tools(e, docs, tool_form)
    return e.verdict()


def tool_form(tool: dict[str, Json]) -> str:
    key = next(iter(tool), "")
    if len(tool) == 1 and key in ("toolSpec", "systemTool", "cachePoint"):
        return f"a tool that is {key!r}"
    return ""


def choice(doc: dict[str, Json]) -> Verdict:
    e = Evidence("tool-choice")
    word, inner = next(iter(doc.items()))
    if inner.__class__ is dict and inner.keys() == ({"name"} if word == "tool" else set()):
        e.speaks_for(f"the choice {word!r}, as an object", 0.8)
    return e.verdict()


def response(doc: dict[str, Json]) -> Verdict:
    e = Evidence("response")
    message = doc["output"].get("message")
    if message.__class__ is dict:
        e.speaks_for("a message in 'output'", 0.8)
        weigh_conversation(e, [message])
    weigh_keys(e, doc, {"stopReason": 0.7, "metrics": 0.5, "trace": 0.3})
    weigh_count(e, doc, "inputTokens", 0.6)
    return e.verdict()


def error(doc: dict[str, Json]) -> Verdict:
    e = Evidence("error")
    if doc.get("message").__class__ is str:
        e.speaks_for("a '__type' and a message", 0.6)
    if type_name(doc["__type"]) in ERRORS:
        e.speaks_for(f"the type {doc['__type']!r}", 0.8)
    return e.verdict()
