"""How to know a document of the OpenAI Responses API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...lint.evidence import (
    PARTS,
    Evidence,
    Look,
    Talk,
    Verdict,
    is_list_of_objects,
    objects,
    openai_error,
    openai_word,
    weigh_choice,
    weigh_count,
    weigh_doubts,
    weigh_keys,
    weigh_tools,
    weigh_unnamed,
)
from ...model import Json
from . import items
from .calls import RESULTS

if TYPE_CHECKING:
    from . import OpenAIResponses


REQUEST = {
    "instructions": 0.5, "previous_response_id": 0.8, "max_output_tokens": 0.4, "include": 0.5,
    "store": 0.3, "truncation": 0.3, "reasoning": 0.3, "text": 0.4, "conversation": 0.5,
    "background": 0.4, "max_tool_calls": 0.4, "prompt_cache_key": 0.2,
    "context_management": 0.2, "parallel_tool_calls": 0.3,
}  # fmt: skip
FOREIGN = {
    "messages": 0.95, "contents": 0.95, "max_tokens": 0.7, "max_completion_tokens": 0.8,
    "response_format": 0.8, "system": 0.8, "encoding_format": 0.8, "dimensions": 0.8,
    "instruction": 0.9, "output": 0.8,
}  # fmt: skip
# https://platform.openai.com/docs/api-reference/responses/create#responses-create-input
ITEMS = {"message": 0.5} | dict.fromkeys(
    (
        "function_call", "custom_tool_call", *RESULTS, "reasoning", *items.HOSTED, *items.PROVIDED,
        *items.NEUTRAL, "program", "compaction", "additional_tools",
    ),
    0.9,
)  # fmt: skip
LOOK = Look(
    roles={"user": 0.0, "assistant": 0.0, "system": 0.0, "developer": 0.3},
    keys={"call_id": 0.7, "encrypted_content": 0.7, "phase": 0.4},
    items=ITEMS,
    parts={
        "input_text": 0.8, "output_text": 0.8, "input_image": 0.8, "input_file": 0.8,
        "refusal": 0.2,
    },
    foreign_keys={"tool_calls": 0.95, "tool_call_id": 0.95, "parts": 0.9, "reasoning_content": 0.8},
    foreign_parts={
        "text": 0.9, "image_url": 0.95, "tool_use": 0.95, "tool_result": 0.95, "image": 0.9,
        "document": 0.9, "thinking": 0.9, "input_audio": 0.8, "file": 0.9,
    },
)  # fmt: skip
HOSTED = frozenset(
    {
        "file_search", "web_search", "web_search_2025_08_26", "web_search_preview",
        "web_search_preview_2025_03_11", "computer", "computer_use_preview", "code_interpreter",
        "image_generation", "mcp", "local_shell", "shell", "apply_patch", "tool_search",
        "programmatic_tool_calling", "namespace",
    }
)  # fmt: skip


def sniff(d: OpenAIResponses, doc: Json) -> Iterator[Verdict]:
    if doc.__class__ is dict:
        if doc.get("output").__class__ is list:
            yield response(doc)
        elif doc.get("error").__class__ is dict and "type" not in doc:
            yield openai_error(doc)
        elif "model" in doc or "input" in doc or doc.get("prompt").__class__ is dict:
            yield request(doc)
            yield TALK.history(doc, "input")
        else:
            yield from choice(doc)
    elif doc.__class__ is str:
        yield from openai_word(doc)
    elif is_list_of_objects(doc):
        yield TALK.listed(doc)


def request(doc: dict[str, Json]) -> Verdict:
    e = Evidence("request")
    if doc.get("input").__class__ in (str, list):
        e.speaks_for("the key 'input'", 0.5)
    elif doc.get("prompt").__class__ is not dict:
        e.speaks_against("no input", 0.5)
    weigh_keys(e, doc, REQUEST)
    weigh_doubts(e, doc, FOREIGN)
    if doc.get("prompt").__class__ is dict:
        e.speaks_for("a stored prompt", 0.6)
    else:
        weigh_unnamed(e, doc)
    if doc.get("include") == ["reasoning"]:
        e.speaks_against("'reasoning' is nothing to be included", 0.5)
    TALK.weigh_messages(e, doc.get("input"))
    weigh_tools(e, doc.get("tools"), tool_form)
    weigh_choice(e, doc.get("tool_choice"), choice)
    return e.verdict()


def response(doc: dict[str, Json]) -> Verdict:
    e = Evidence("response")
    weigh_keys(e, doc, {"output": 0.3, "status": 0.2})
    if doc.get("object") == "response":
        e.speaks_for("the object 'response'", 0.9)
    elif doc.get("object") is not None:
        e.speaks_against("another object", 0.8)
    TALK.weigh_messages(e, doc["output"])
    weigh_count(e, doc, "input_tokens", 0.3)
    return e.verdict()


def choice(doc: dict[str, Json]) -> Iterator[Verdict]:
    kind = doc.get("type")
    if kind in ("function", "custom"):
        if doc.get("name").__class__ is str and doc.keys() <= {"type", "name"}:
            yield "tool-choice", 0.9, (f"the type {kind!r} with a name beside it",)
    elif kind == "allowed_tools":
        if doc.get("tools").__class__ is list:
            yield "tool-choice", 0.9, ("the type 'allowed_tools' with tools beside it",)
    elif kind.__class__ is str and kind in HOSTED:
        if doc.keys() <= {"type", "server_label", "name"}:
            yield "tool-choice", 0.7, (f"the type {kind!r}",)


def weigh_images(e: Evidence, items: list[Json]) -> None:
    for item in objects(items):
        for part in objects(item.get("content"), PARTS):
            if part.get("type") == "input_image" and part.get("url").__class__ is str:
                e.speaks_against("an image with a 'url'", 0.5)


def tool_form(tool: dict[str, Json]) -> str:
    kind = tool.get("type")
    if kind in ("function", "custom"):
        flat = tool.get("name").__class__ is str and "input_schema" not in tool
        return f"a tool of type {kind!r} with a name beside it" if flat else ""
    return f"a tool of type {kind!r}" if kind.__class__ is str and kind in HOSTED else ""


ASKED = {"model": 0.9, "tools": 0.5, "previous_response_id": 0.9}
TALK = Talk(LOOK, FOREIGN, ASKED, tool_form, {"instructions": 0.5}, weigh_images)
