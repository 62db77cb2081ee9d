"""What items say, whatever form they have: to compare turns that came back with the original."""

from __future__ import annotations

import json

from ..model import Json
from .wire import PAIRING, as_text, calls_in, holds_result, is_reasoning, kind

MARKS = {"cache_control", "prompt_cache_breakpoint", "cachePoint", "cacheControl"}


NAMES = {"id", *PAIRING}


def without_keys(value: Json, keys: set[str]) -> Json:
    if isinstance(value, dict):
        found = {k: without_keys(v, keys) for k, v in value.items() if k not in keys}
        return {k: v for k, v in found.items() if v != {} or value[k] == {}}
    if isinstance(value, list):
        items = [without_keys(item, keys) for item in value]
        return [item for item, was in zip(items, value, strict=True) if item or not was]
    return value


def without_names(value: Json) -> str:
    return as_text(without_keys(value, NAMES | MARKS))


SAID = {
    "text",
    "tool_plan",
    "content",
    "output",
    "name",
    "toolName",
    "result",
    "value",
    "response",
}


ARGUED = {"arguments", "input", "args", "parameters"}


def gist_of(value: Json) -> str:
    """What items say, whatever else they hold: their texts, and arguments as values."""
    found: list[str] = []

    def walk(value: Json, key: str) -> None:
        if isinstance(value, str):
            if value and key in SAID:
                found.append(value)
            elif key == "images":
                found.append(key)
            elif key in ARGUED:
                found.append(_value(value))
        elif isinstance(value, list):
            for inner in value:
                walk(inner, key)
        elif isinstance(value, dict) and not is_reasoning(value):
            if key in ARGUED:
                found.append(json.dumps(value, sort_keys=True))
                return
            if key == "response":  # Gemini's: an object, or a text where there was none
                bare = value.keys() == {"output"} and isinstance(value["output"], str)
                found.append(_value(value["output"] if bare else as_text(value)))
                return
            if key in ("content", "parts", "blocks", "output", "response", "value") and _is_other(
                value
            ):
                found.append(as_text(sorted(value)))
            is_result = (
                holds_result(value) or value.get("role") == "tool"
            )  # the name of the tool is the call's to say
            for name, inner in sorted(value.items()):
                if not (is_result and name in ("name", "toolName", "type")):
                    walk(inner, name)

    before = ""
    for item in value if isinstance(value, list) else [value]:
        size = len(found)
        walk(item, "content")
        who = kind(item) if isinstance(item, dict) else ""
        if who != before and (len(found) > size or not before):
            found.insert(size, who)
            before = who
    return "\0".join(found)


def _is_other(part: Json) -> bool:
    """Whether a block is no text, no call and no result: an image, say."""
    known = isinstance(part.get("text"), str) or "role" in part or "speaker" in part
    return not known and not holds_result(part) and not any(calls_in(part))


def _value(text: str) -> str:
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return text


def words_of(gist: str) -> str:
    return gist.partition("\0")[2]


def flat(turns: list[list[Json]]) -> list[Json]:
    return [item for turn in turns for item in turn]
