"""How to know a document of the Interactions API: by the types of its steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...lint.evidence import (
    Evidence,
    Verdict,
    is_list_of_objects,
    objects,
    weigh_doubts,
    weigh_keys,
    weigh_model,
)
from ...model import Json
from .contents import CONTENTS
from .request import CONFIG

if TYPE_CHECKING:
    from . import GeminiInteractions

STEPS = {
    "user_input": 0.95, "model_output": 0.95, "thought": 0.9, "function_result": 0.9,
    "google_search_call": 0.9, "google_search_result": 0.9, "url_context_call": 0.9,
    "url_context_result": 0.9, "mcp_server_tool_call": 0.9, "mcp_server_tool_result": 0.9,
    "code_execution_call": 0.9, "code_execution_result": 0.9, "function_call": 0.2,
}  # fmt: skip
REQUEST = {
    CONFIG: 0.85, "previous_interaction_id": 0.95, "system_instruction": 0.5,
    "agent_config": 0.7, "response_modalities": 0.5,
}  # fmt: skip
FOREIGN = {
    "contents": 0.95, "messages": 0.9, "instructions": 0.8, "max_output_tokens": 0.9,
    "reasoning": 0.8, "text": 0.8, "parallel_tool_calls": 0.8, "include": 0.7,
    "temperature": 0.8, "tool_choice": 0.8,
}  # fmt: skip
RESPONSE = {"id": 0.1, "status": 0.2, "usage": 0.1}
STATUSES = ("requires_action", "completed", "incomplete", "in_progress", "failed")


def sniff(d: GeminiInteractions, doc: Json) -> Iterator[Verdict]:
    if doc.__class__ is dict:
        if "input" in doc:
            yield request(doc)
            if doc["input"].__class__ is list and "model" not in doc and CONFIG not in doc:
                yield history(doc)
        elif doc.get("object") == "interaction" or doc.get("steps").__class__ is list:
            yield response(doc)
        elif doc.keys() == {"allowed_tools"} and doc["allowed_tools"].__class__ is dict:
            yield "tool-choice", 0.8, ("the tools that are allowed",)
        elif doc.get("error").__class__ is dict:
            yield error(doc["error"])
    elif is_list_of_objects(doc):
        yield history({"input": doc})
        yield from tools(doc)


def request(doc: dict[str, Json]) -> Verdict:
    e = Evidence("request")
    weigh_keys(e, doc, REQUEST)
    weigh_doubts(e, doc, FOREIGN)
    weigh_steps(e, doc["input"])
    if "model" not in doc and "agent" not in doc:
        e.speaks_against("no model is named", 0.4)
    weigh_model(e, doc, "google", 0.4)
    return e.verdict()


def history(doc: dict[str, Json]) -> Verdict:
    e = Evidence("messages")
    weigh_doubts(e, doc, FOREIGN)
    weigh_steps(e, doc["input"])
    if "system_instruction" in doc:
        e.speaks_for("'system_instruction'", 0.5)
    return e.verdict()


def weigh_steps(e: Evidence, steps: Json) -> None:
    for step in objects(steps):
        kind = step.get("type")
        if kind.__class__ is not str:
            e.speaks_against("a step without a type", 0.9)
        elif kind in STEPS:
            e.speaks_for(f"a step {kind!r}", STEPS[kind])
            if kind == "function_call" and step.get("arguments").__class__ is dict:
                e.speaks_for("a call whose arguments are an object", 0.6)
        elif kind in CONTENTS:
            if kind != "text" and ("uri" in step or "mime_type" in step):
                e.speaks_for("a content with its type", 0.5)
        else:
            e.speaks_against(f"a step {kind!r}", 0.7)
        if "role" in step or ("call_id" in step and "output" in step):
            e.speaks_against("an item", 0.9)


def response(doc: dict[str, Json]) -> Verdict:
    e = Evidence("response")
    if doc.get("object") == "interaction":
        e.speaks_for("the object 'interaction'", 0.95)
    if doc.get("status") in STATUSES:
        e.speaks_for(f"the status {doc['status']!r}", 0.3)
    weigh_steps(e, doc.get("steps"))
    return e.verdict()


def error(inner: dict[str, Json]) -> Verdict:
    e = Evidence("error")
    code = inner.get("code")
    if code.__class__ is str and "message" in inner and inner.keys() == {"code", "message"}:
        e.speaks_for("an error with a code and a message", 0.4)
    return e.verdict()


def tools(docs: list[Json]) -> Iterator[Verdict]:
    kinds = [tool.get("type") for tool in objects(docs)]
    if any(kind in ("google_search", "url_context", "google_maps") for kind in kinds):
        yield "tools", 0.8, ("a tool of Google's, with its type",)
