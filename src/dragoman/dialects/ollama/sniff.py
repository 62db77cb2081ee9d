"""How to know a document of Ollama's own API."""

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
)
from ...model import Json

if TYPE_CHECKING:
    from . import Ollama


REQUEST = {"options": 0.7, "keep_alive": 0.9, "think": 0.8, "format": 0.6}
FOREIGN = {
    "max_tokens": 0.7, "max_completion_tokens": 0.9, "temperature": 0.6, "tool_choice": 0.8,
    "response_format": 0.9, "system": 0.7, "input": 0.8, "stream_options": 0.9, "n": 0.6,
    "top_p": 0.6, "stop": 0.6, "metadata": 0.5, "contents": 0.9, "reasoning_effort": 0.8,
    "inferenceConfig": 0.9,
}  # fmt: skip
LOOK = Look(
    roles={"user": 0.0, "assistant": 0.0, "system": 0.0, "tool": 0.2},
    keys={"tool_name": 0.9, "images": 0.7, "thinking": 0.7},
    foreign_keys={"reasoning_content": 0.5, "refusal": 0.5, "call_id": 0.9, "parts": 0.9},
)


is_missing = re.compile(r"model ['\"][^'\"]+['\"] not found.*").fullmatch


def sniff(d: Ollama, doc: Json) -> Iterator[Verdict]:
    if doc.__class__ is dict:
        if doc.get("messages").__class__ is list:
            yield request(doc)
            if "model" not in doc:
                yield history(doc["messages"])
        elif doc.get("message").__class__ is dict and "done" in doc:
            yield response(doc)
        elif doc.get("error").__class__ is str and is_missing(doc["error"]):
            yield "error", 0.6, ("an error that is nothing but a text, on a missing model",)
    elif is_list_of_objects(doc) and "role" in doc[0]:
        yield history(doc)


def request(doc: dict[str, Json]) -> Verdict:
    e = Evidence("request")
    weigh_keys(e, doc, REQUEST)
    weigh_doubts(e, doc, FOREIGN)
    weigh_turns(e, doc["messages"])
    if doc.get("model").__class__ is not str:
        e.speaks_against("no model is named", 0.4)
    elif ":" in doc["model"] and "/" not in doc["model"] and e.signs:
        e.speaks_for("a model with a tag", 0.3)
    return e.verdict()


def history(messages: list[Json]) -> Verdict:
    e = Evidence("messages")
    weigh_turns(e, messages)
    return e.verdict()


def weigh_turns(e: Evidence, messages: list[Json]) -> None:
    weigh_messages(e, messages, LOOK)
    for message in objects(messages):
        if message.get("content").__class__ is list:
            e.speaks_against("content is a list", 0.9)
        for call in objects(message.get("tool_calls")):
            function = call.get("function")
            if function.__class__ is dict and function.get("arguments").__class__ is dict:
                e.speaks_for("arguments are an object", 0.8)
            elif call.get("id") is not None:
                e.speaks_against("arguments are a text", 0.8)


def response(doc: dict[str, Json]) -> Verdict:
    e = Evidence("response")
    e.speaks_for("a message that is done or not", 0.5)
    weigh_keys(e, doc, {"created_at": 0.5, "done_reason": 0.6, "eval_count": 0.7})
    return e.verdict()
