"""What a request says, whatever its dialect: enough to tell a conversion from a mere reply.

This knows nothing of dragoman, so that dragoman and its peers are checked alike. It reads only
what the workloads hold: texts, tool calls, tool results, tool definitions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

Json: TypeAlias = Any
Received: TypeAlias = tuple[str, ...]


def gist(doc: Json, dialect: str) -> list[Received]:
    """The request as a flat list of (kind, words...), texts of one speaker joined."""
    written: list[Received] = []
    for item in _READERS[dialect](doc):
        last = written[-1] if written else ("",)
        if item[0] == "text" and last[:2] == item[:2]:
            written[-1] = ("text", item[1], last[2] + item[2])
        elif item[0] != "text" or item[2]:
            written.append(item)
    return written


def _chat(doc: Json) -> Iterator[Received]:
    for message in doc["messages"]:
        role = message["role"]
        if role == "tool":
            yield "result", message["tool_call_id"], _text(message["content"])
            continue
        yield "text", "system" if role == "developer" else role, _text(message.get("content"))
        for call in message.get("tool_calls") or ():
            function = call["function"]
            yield "call", call["id"], function["name"], _canonical(function["arguments"])
    for tool in doc.get("tools") or ():
        yield "tool", tool["function"]["name"], _canonical(tool["function"]["parameters"])


def _anthropic(doc: Json) -> Iterator[Received]:
    yield "text", "system", _text(doc.get("system"))
    for message in doc["messages"]:
        content = message["content"]
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        for block in content:
            if block["type"] == "text":
                yield "text", message["role"], block["text"]
            elif block["type"] == "tool_use":
                yield "call", block["id"], block["name"], _canonical(block["input"])
            elif block["type"] == "tool_result":
                yield "result", block["tool_use_id"], _text(block.get("content"))
    for tool in doc.get("tools") or ():
        yield "tool", tool["name"], _canonical(tool["input_schema"])


def _responses(doc: Json) -> Iterator[Received]:
    yield "text", "system", doc.get("instructions") or ""
    for item in doc["input"]:
        kind = item.get("type", "message")
        if kind == "message":
            role = "system" if item["role"] == "developer" else item["role"]
            yield "text", role, _text(item["content"])
        elif kind == "function_call":
            yield "call", item["call_id"], item["name"], _canonical(item["arguments"])
        elif kind == "function_call_output":
            yield "result", item["call_id"], _text(item["output"])
    for tool in doc.get("tools") or ():
        yield "tool", tool["name"], _canonical(tool["parameters"])


def _gemini(doc: Json) -> Iterator[Received]:
    yield "text", "system", _text((doc.get("systemInstruction") or {}).get("parts"))
    for content in doc["contents"]:
        role = "assistant" if content.get("role") == "model" else "user"
        for part in content["parts"]:
            if "text" in part:
                yield "text", role, part["text"]
            elif "functionCall" in part:
                call = part["functionCall"]
                yield "call", call["id"], call["name"], _canonical(call["args"])
            elif "functionResponse" in part:
                result = part["functionResponse"]
                yield "result", result["id"], result["response"]["output"]
    for tool in doc.get("tools") or ():
        for declared in tool["functionDeclarations"]:
            schema = declared.get("parametersJsonSchema") or declared["parameters"]
            yield "tool", declared["name"], _canonical(schema)


_READERS: dict[str, Callable[[Json], Iterator[Received]]] = {
    "openai-chat": _chat,
    "anthropic-messages": _anthropic,
    "openai-responses": _responses,
    "gemini": _gemini,
}


def _text(content: Json) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part.get("text") or "" for part in content)


def _canonical(value: Json) -> str:
    return json.dumps(json.loads(value) if isinstance(value, str) else value, sort_keys=True)
