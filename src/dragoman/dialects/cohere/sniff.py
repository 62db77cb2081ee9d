"""How to know a document of Cohere's: nearly one of OpenAI Chat, with signs of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...lint.evidence import (
    Evidence,
    Look,
    Verdict,
    is_list_of_objects,
    objects,
    weigh_doubts,
    weigh_keys,
    weigh_messages,
    weigh_model,
    weigh_tools,
)
from ...model import Json
from .response import STOPS, TYPES
from .tools import NONE, REQUIRED

if TYPE_CHECKING:
    from . import Cohere


REQUEST = {
    "documents": 0.7, "strict_tools": 0.9, "citation_options": 0.9, "safety_mode": 0.8, "p": 0.5,
    "k": 0.5, "raw_prompting": 0.7,
}  # fmt: skip
FOREIGN = {
    "max_completion_tokens": 0.9, "top_p": 0.8, "top_k": 0.8, "stop": 0.8, "system": 0.9,
    "stream_options": 0.9, "n": 0.7, "metadata": 0.7, "contents": 0.9, "input": 0.8, "options": 0.8,
    "inferenceConfig": 0.9, "parallel_tool_calls": 0.8, "top_logprobs": 0.7, "random_seed": 0.8,
    "reasoning_effort": 0.8, "store": 0.7, "user": 0.6, "logit_bias": 0.8, "functions": 0.9,
    "think": 0.8, "format": 0.7, "keep_alive": 0.9,
}  # fmt: skip
LOOK = Look(
    roles={"user": 0.0, "assistant": 0.0, "system": 0.0, "tool": 0.0},
    keys={"tool_plan": 0.95, "citations": 0.5},
    foreign_keys={
        "name": 0.6, "refusal": 0.8, "function_call": 0.9, "reasoning_content": 0.8,
        "reasoning_details": 0.8, "annotations": 0.6, "audio": 0.8, "call_id": 0.9, "parts": 0.9,
        "prefix": 0.6, "tool_name": 0.8, "images": 0.8, "thinking": 0.8,
    },
    foreign_parts={
        "tool_use": 0.95, "tool_result": 0.95, "image": 0.9, "input_text": 0.95,
        "output_text": 0.95, "input_audio": 0.9, "file": 0.9, "document_url": 0.9,
        "redacted_thinking": 0.95, "search_result": 0.95, "refusal": 0.9, "reference": 0.8,
    },
)  # fmt: skip
# What it has in common with OpenAI Chat.
ALIKE = Look(
    roles={**LOOK.roles, "tool": 0.7},
    keys={"tool_calls": 0.9, "tool_call_id": 0.9},
    parts={"image_url": 0.9},
)
SETTINGS = {"response_format": 0.6, "seed": 0.4, "frequency_penalty": 0.4, "logprobs": 0.5}

is_uuid = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch


def sniff(d: Cohere, doc: Json) -> Iterator[Verdict]:
    if doc.__class__ is dict:
        if doc.get("messages").__class__ is list:
            yield from request(doc)
        elif doc.get("message").__class__ is dict and "choices" not in doc:
            yield response(doc)
        elif doc.get("message").__class__ is str:
            yield from error(doc)
    elif doc in (REQUIRED, NONE) and doc.__class__ is str:
        yield "tool-choice", 0.6, (f"the word {doc!r}",)
    elif is_list_of_objects(doc) and "role" in doc[0]:
        e = Evidence("messages")
        weigh_turns(e, doc)
        yield from verdicts(e, doc)


def verdicts(e: Evidence, messages: list[Json]) -> Iterator[Verdict]:
    """With a sign of its own, what speaks for OpenAI Chat speaks for it; else nothing does."""
    if e.signs:
        e.speaks_for("a list of messages", 0.5)
        weigh_messages(e, messages, ALIKE)
        yield e.verdict()


def request(doc: dict[str, Json]) -> Iterator[Verdict]:
    facets = ("request",) if "model" in doc or "documents" in doc else ("messages", "request")
    for facet in facets:
        e = Evidence(facet)
        weigh_keys(e, doc, REQUEST)
        weigh_doubts(e, doc, FOREIGN)
        weigh_turns(e, doc["messages"])
        weigh_settings(e, doc)
        if e.signs:
            weigh_tools(e, doc.get("tools"), tool_form)
            weigh_keys(e, doc, SETTINGS)
        if facet != facets[0]:
            e.speaks_against("no model is named", 0.4)
        yield from verdicts(e, doc["messages"])


def weigh_settings(e: Evidence, doc: dict[str, Json]) -> None:
    thinking, form = doc.get("thinking"), doc.get("response_format")
    weigh_model(e, doc, "cohere", 0.6)
    if doc.get("tool_choice") in (REQUIRED, NONE):
        e.speaks_for("a tool choice in capitals", 0.9)
    if thinking.__class__ is dict and "token_budget" in thinking:
        e.speaks_for("a token budget of reasoning", 0.9)
    if form.__class__ is dict and form.get("type") == "json_object" and "json_schema" in form:
        e.speaks_for("an object with a schema", 0.8)


def weigh_turns(e: Evidence, messages: list[Json]) -> None:
    weigh_messages(e, messages, LOOK)
    for message in objects(messages):
        for part in objects(message.get("content")):
            if part.get("type") == "thinking":
                if part.get("thinking").__class__ is not str or "signature" in part:
                    e.speaks_against("reasoning in another form", 0.9)
                elif message.get("tool_calls") is not None:
                    e.speaks_for("reasoning beside tool calls", 0.6)
            elif part.get("type") == "document":
                document = part.get("document")
                if document.__class__ is dict and "data" in document:
                    e.speaks_for("a document with data", 0.9)
                else:
                    e.speaks_against("a document of another form", 0.9)


def response(doc: dict[str, Json]) -> Verdict:
    e = Evidence("response")
    word, usage = doc.get("finish_reason"), doc.get("usage")
    if word.__class__ is str and word in STOPS:
        e.speaks_for(f"the reason {word!r}", 0.6)
    if usage.__class__ is dict:
        weigh_keys(e, usage, {"billed_units": 0.8, "tokens": 0.5})
    weigh_keys(e, doc["message"], {"tool_plan": 0.8, "citations": 0.3})
    if doc["message"].get("content").__class__ is list:
        e.speaks_for("a message with parts", 0.2)
    weigh_doubts(e, doc, {"done": 0.9, "model": 0.5, "object": 0.8})
    return e.verdict()


def error(doc: dict[str, Json]) -> Iterator[Verdict]:
    """A message and an id; nothing else tells it from the errors of others."""
    name, kind = doc.get("id"), doc.get("error_type")
    if not doc.keys() <= {"id", "message", "error_type"}:
        return
    e = Evidence("error")
    if name.__class__ is str and is_uuid(name):
        e.speaks_for("an error with an id", 0.6)
    if kind.__class__ is str and kind in TYPES:
        e.speaks_for(f"the error {kind!r}", 0.6)
    yield e.verdict()


def tool_form(tool: dict[str, Json]) -> str:
    inside = tool.get("type") == "function" and tool.get("function").__class__ is dict
    return "a tool with 'function' inside" if inside else ""
