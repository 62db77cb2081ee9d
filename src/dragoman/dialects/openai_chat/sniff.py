"""How to know a document of the OpenAI Chat Completions API.

Many servers speak this dialect with keys of their own, so an unknown key says nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from ...core.models import is_named
from ...lint.evidence import (
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
    weigh_model,
    weigh_tools,
    weigh_unnamed,
)
from ...model import Json

if TYPE_CHECKING:
    from . import OpenAIChat


REQUEST = {
    "max_completion_tokens": 0.6, "response_format": 0.6, "stream_options": 0.6, "n": 0.5,
    "seed": 0.4, "stop": 0.5, "frequency_penalty": 0.4, "presence_penalty": 0.4, "logprobs": 0.5,
    "top_logprobs": 0.4, "logit_bias": 0.5, "functions": 0.7, "function_call": 0.6,
    "parallel_tool_calls": 0.5, "reasoning_effort": 0.5, "user": 0.3, "modalities": 0.4,
    "prediction": 0.5, "verbosity": 0.3, "prompt_cache_key": 0.3, "store": 0.3,
    "web_search_options": 0.5, "safety_identifier": 0.4,
}  # fmt: skip
FOREIGN = {
    "system": 0.7, "anthropic_version": 0.95, "stop_sequences": 0.7, "input": 0.8,
    "instructions": 0.5, "max_output_tokens": 0.7, "contents": 0.9, "inferenceConfig": 0.9,
    "modelId": 0.9, "random_seed": 0.5, "safe_prompt": 0.5, "prompt_mode": 0.3, "keep_alive": 0.7,
    "think": 0.6, "options": 0.5, "strict_tools": 0.5, "citation_options": 0.5, "safety_mode": 0.4,
    "documents": 0.2,
}  # fmt: skip
LOOK = Look(
    roles={
        "user": 0.0, "assistant": 0.0, "system": 0.0, "developer": 0.3, "tool": 0.7,
        "function": 0.8,
    },
    keys={
        "tool_calls": 0.9, "tool_call_id": 0.9, "function_call": 0.9, "refusal": 0.5,
        "reasoning_content": 0.5, "reasoning_details": 0.5, "audio": 0.3, "annotations": 0.3,
        "name": 0.2,
    },
    parts={"image_url": 0.9, "input_audio": 0.8, "file": 0.7, "refusal": 0.5, "video_url": 0.5},
    foreign_keys={
        "call_id": 0.9, "parts": 0.9, "toolUse": 0.9, "prefix": 0.3, "tool_name": 0.7,
        "images": 0.6, "thinking": 0.5, "tool_plan": 0.3,
    },
    foreign_parts={
        "tool_use": 0.95, "tool_result": 0.95, "server_tool_use": 0.95, "thinking": 0.7,
        "redacted_thinking": 0.95, "image": 0.9, "document": 0.9, "search_result": 0.9,
        "input_text": 0.95, "output_text": 0.95, "input_image": 0.95, "input_file": 0.95,
        "document_url": 0.7,
    },
)  # fmt: skip
# What makes an object with messages a request, and no list of messages that is wrapped.
ASKED = (
    "model", "max_tokens", "temperature", "tools", "tool_choice", "functions",
    "parallel_tool_calls",
)  # fmt: skip


class Marks(Struct, frozen=True):
    """By what a variant of this dialect is known, and by nothing else: key -> weight."""

    request: Mapping[str, float] = {}
    response: Mapping[str, float] = {}
    choice: Mapping[str, float] = {}
    usage: Mapping[str, float] = {}
    message: Mapping[str, float] = {}
    error: Mapping[str, float] = {}
    model: str | None = None
    """A pattern of the names of models that nobody else gives to them."""
    even_null: bool = False
    """Whether the keys of a reply tell though they say nothing."""

    def signs(self, doc: Json) -> dict[str, float]:
        """What of these a document has."""
        e = Evidence("")
        if doc.__class__ is list:
            self.weigh_messages(e, doc)
        elif doc.__class__ is dict:
            model = doc.get("model")
            if self.model and model.__class__ is str and re.fullmatch(self.model, model):
                e.speaks_for(f"the model {model!r}"[:60], 0.6)
            if doc.get("choices").__class__ is list:
                self.weigh_reply(e, doc)
            elif doc.get("error").__class__ is dict:
                weigh_keys(e, doc["error"], self.error)
            else:
                weigh_keys(e, doc, self.request)
                self.weigh_messages(e, doc.get("messages"))
        return e.signs

    def weigh_messages(self, e: Evidence, messages: Json) -> None:
        for message in objects(messages):
            weigh_keys(e, message, self.message)

    def weigh_reply(self, e: Evidence, doc: dict[str, Json]) -> None:
        self.weigh_message(e, doc, self.response)
        if doc.get("usage").__class__ is dict:
            weigh_keys(e, doc["usage"], self.usage)
        for choice in objects(doc["choices"], 3):
            self.weigh_message(e, choice, self.choice)
            if choice.get("message").__class__ is dict:
                weigh_keys(e, choice["message"], self.message)

    def weigh_message(self, e: Evidence, doc: dict[str, Json], keys: Mapping[str, float]) -> None:
        weigh_keys(e, dict.fromkeys(doc, True) if self.even_null else doc, keys)


def sniff(d: OpenAIChat, doc: Json) -> Iterator[Verdict]:
    if doc.__class__ is dict:
        if doc.get("messages").__class__ is list:
            yield request(doc)
            yield TALK.history(doc)
        elif doc.get("choices").__class__ is list:
            yield response(doc)
        elif doc.get("error").__class__ is dict and "type" not in doc:
            yield openai_error(doc)
        else:
            yield from choice(doc)
    elif doc.__class__ is str:
        yield from openai_word(doc)
    elif is_list_of_objects(doc):
        yield TALK.listed(doc)


def request(doc: dict[str, Json]) -> Verdict:
    e = Evidence("request")
    e.speaks_for("a list of messages", 0.5)
    weigh_keys(e, doc, REQUEST)
    weigh_doubts(e, doc, FOREIGN)
    weigh_unnamed(e, doc)
    weigh_model(e, doc, "openai", 0.2, ("mistral", "cohere"))
    TALK.weigh_messages(e, doc["messages"])
    weigh_tools(e, doc.get("tools"), tool_form)
    if doc.get("tool_choice") in ("REQUIRED", "NONE"):
        e.speaks_against("a tool choice in capitals", 0.3)
    else:
        weigh_choice(e, doc.get("tool_choice"), choice)
    return e.verdict()


def response(doc: dict[str, Json]) -> Verdict:
    e = Evidence("response")
    weigh_keys(e, doc, {"choices": 0.3})
    for candidate in objects(doc["choices"], 3):
        if candidate.get("message").__class__ is dict:
            e.speaks_for("a choice with a message", 0.7)
        else:
            e.speaks_against("a choice without a message", 0.9)
        weigh_keys(e, candidate, {"finish_reason": 0.4})
    kind = doc.get("object")
    if kind == "chat.completion":
        e.speaks_for("the object 'chat.completion'", 0.8)
    elif kind:
        e.speaks_against(f"the object {kind!r}"[:60], 0.8)
    if is_named("mistral", doc.get("model")):
        e.speaks_against("the model is one of Mistral's", 0.1)
    weigh_count(e, doc, "prompt_tokens", 0.5)
    return e.verdict()


def choice(doc: dict[str, Json]) -> Iterator[Verdict]:
    kind = doc.get("type")
    if kind in ("function", "custom", "allowed_tools") and doc.get(kind).__class__ is dict:
        inner = doc[kind]
        if "parameters" in inner or "description" in inner:
            return  # one tool, on its own
        sign = f"the type {kind!r} with {kind!r} inside"
        yield "tool-choice", 0.9, (sign,)


def tool_form(tool: dict[str, Json]) -> str:
    kind = tool.get("type")
    inside = kind in ("function", "custom") and tool.get(kind).__class__ is dict
    return f"a tool with {kind!r} inside" if inside else ""


TALK = Talk(LOOK, FOREIGN, dict.fromkeys(ASKED, 0.9), tool_form)
