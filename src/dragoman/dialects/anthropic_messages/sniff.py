"""How to know a document of the Anthropic Messages API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...core.models import is_named
from ...lint.evidence import (
    Evidence,
    Look,
    Talk,
    Verdict,
    is_list_of_objects,
    weigh_count,
    weigh_doubts,
    weigh_keys,
    weigh_messages,
    weigh_tools,
    weigh_unnamed,
)
from ...model import Json

if TYPE_CHECKING:
    from . import AnthropicMessages


# Keys no neighbour has, or has with another meaning. `max_tokens` is everybody's; that it is
# *missing* speaks against a request, as this API requires it.
REQUEST = {
    "anthropic_version": 0.97, "anthropic_beta": 0.95, "system": 0.7, "stop_sequences": 0.6,
    "mcp_servers": 0.6, "context_management": 0.4, "output_format": 0.4, "output_config": 0.4,
    "container": 0.4, "betas": 0.5, "diagnostics": 0.4, "inference_geo": 0.5, "cache_control": 0.3,
}  # fmt: skip
FOREIGN = {
    "max_completion_tokens": 0.8, "response_format": 0.8, "stream_options": 0.8, "n": 0.8,
    "seed": 0.7, "stop": 0.8, "frequency_penalty": 0.7, "presence_penalty": 0.7, "logprobs": 0.7,
    "logit_bias": 0.7, "functions": 0.9, "parallel_tool_calls": 0.8, "reasoning_effort": 0.7,
    "user": 0.5, "input": 0.9, "instructions": 0.6, "contents": 0.9, "options": 0.5,
    "inferenceConfig": 0.9, "modelId": 0.9,
}  # fmt: skip
LOOK = Look(
    roles={"user": 0.0, "assistant": 0.0, "system": 0.0},
    parts={
        "tool_use": 0.95, "tool_result": 0.95, "server_tool_use": 0.97, "thinking": 0.6,
        "redacted_thinking": 0.95, "image": 0.6, "document": 0.6, "search_result": 0.9,
        "container_upload": 0.9, "mcp_tool_use": 0.97, "tool_addition": 0.9, "compaction": 0.6,
    },
    foreign_keys={
        "tool_calls": 0.95, "tool_call_id": 0.95, "function_call": 0.95, "refusal": 0.8,
        "reasoning_content": 0.8, "name": 0.6, "call_id": 0.9, "parts": 0.9, "toolUse": 0.9,
    },
    foreign_parts={
        "image_url": 0.95, "input_text": 0.95, "output_text": 0.95, "input_image": 0.95,
        "input_file": 0.95, "input_audio": 0.95, "file": 0.9, "refusal": 0.9, "video_url": 0.9,
    },
)  # fmt: skip
HOSTED_TOOL = re.compile(r"[a-z0-9_]+_20\d{6}|mcp_toolset").fullmatch


def sniff(d: AnthropicMessages, doc: Json) -> Iterator[Verdict]:
    if doc.__class__ is dict:
        if doc.get("messages").__class__ is list:
            yield request(doc)
            yield TALK.history(doc)
        elif doc.get("content").__class__ is list:
            yield response(doc)
        elif doc.get("type") == "error" and doc.get("error").__class__ is dict:
            yield error(doc)
        elif doc.get("type") in ("auto", "any", "tool", "none"):
            yield choice(doc)
    elif is_list_of_objects(doc):
        yield TALK.listed(doc)


def request(doc: dict[str, Json]) -> Verdict:
    e = Evidence("request")
    e.speaks_for("a list of messages", 0.5)
    weigh_keys(e, doc, REQUEST)
    weigh_doubts(e, doc, FOREIGN)
    weigh_thinking(e, doc)
    # Training data has neither a model nor a limit, and its tools tell whose it is.
    stored = doc.get("model") is None and doc.get("tools").__class__ is list
    if doc.get("max_tokens").__class__ is not int and not stored:
        e.speaks_against("'max_tokens' is missing", 0.5)
    if not doc.get("anthropic_version"):  # Bedrock and Vertex name the model elsewhere
        weigh_unnamed(e, doc)
    if is_named("anthropic", doc.get("model")):
        e.speaks_for("the model is a Claude", 0.2)
    TALK.weigh_messages(e, doc["messages"])
    weigh_tools(e, doc.get("tools"), tool_form)
    choice_ = doc.get("tool_choice")
    if choice_.__class__ is dict and choice_.get("type") in ("auto", "any", "tool", "none"):
        e.speaks_for(f"the tool choice {choice_['type']!r}", 0.8)
    elif choice_ is not None:
        e.speaks_against("another tool choice", 0.9)
    return e.verdict()


def response(doc: dict[str, Json]) -> Verdict:
    e = Evidence("response")
    if doc.get("type") == "message" and doc.get("role") == "assistant":
        e.speaks_for("a message of the assistant", 0.7)
        weigh_keys(e, doc, {"stop_reason": 0.7, "stop_sequence": 0.5})
        weigh_count(e, doc, "input_tokens", 0.6)
        weigh_messages(e, [doc], LOOK)
    weigh_doubts(e, doc, {"object": 0.8, "output": 0.8, "choices": 0.9})
    return e.verdict()


def error(doc: dict[str, Json]) -> Verdict:
    e = Evidence("error")
    e.speaks_for("an object of type 'error' that holds an error", 0.8)
    weigh_keys(e, doc, {"request_id": 0.5})
    weigh_keys(e, doc["error"], {"type": 0.3, "message": 0.3})
    return e.verdict()


def choice(doc: dict[str, Json]) -> Verdict:
    e = Evidence("tool-choice")
    e.speaks_for(f"the type {doc['type']!r}", 0.6)
    weigh_keys(e, doc, {"disable_parallel_tool_use": 0.8})
    if (doc["type"] == "tool") != (doc.get("name").__class__ is str):
        e.speaks_against("a name where none belongs, or none where one does", 0.8)
    if not doc.keys() <= {"type", "name", "disable_parallel_tool_use"}:
        e.speaks_against("other keys", 0.8)
    return e.verdict()


def weigh_first(e: Evidence, messages: list[Json]) -> None:
    first = messages[0] if messages else None
    if first.__class__ is dict and first.get("role") == "system":
        e.speaks_against("the first message is the system's", 0.7)


def weigh_thinking(e: Evidence, doc: dict[str, Json]) -> None:
    """``thinking: {"type": "enabled"}`` is spelled alike by other vendors; the rest is not."""
    thinking = doc.get("thinking")
    if thinking.__class__ is dict:
        weigh_keys(e, thinking, {"budget_tokens": 0.5, "display": 0.4})
        if thinking.get("type") in ("adaptive", "between_tools"):
            e.speaks_for(f"thinking that is {thinking['type']!r}", 0.4)


def tool_form(tool: dict[str, Json]) -> str:
    if "input_schema" in tool:
        return "a tool with 'input_schema'"
    kind = tool.get("type")
    return "a dated tool" if kind.__class__ is str and HOSTED_TOOL(kind) else ""


ASKED = dict.fromkeys(("model", "max_tokens", "tools", "anthropic_version"), 0.9)
TALK = Talk(LOOK, FOREIGN, ASKED, tool_form, {"system": 0.7}, weigh_first)
