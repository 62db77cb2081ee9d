"""How to know a document in the shapes of design 001."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...core.reading import compact
from ...lint.evidence import Evidence, Verdict, objects, weigh_doubts, weigh_keys
from ...model import Json
from .request import CHOICES, REASONING

if TYPE_CHECKING:
    from . import CopilotResponses


REQUEST = frozenset(
    {"model", "input", "stream", "temperature", "tools", "tool_choice", "reasoning", "include"}
)


def sniff(d: CopilotResponses, doc: Json) -> Iterator[Verdict]:
    if doc.__class__ is not dict:
        return
    if doc.get("input").__class__ is list:
        yield sniff_request(doc)
    elif doc.get("message").__class__ is dict and doc.get("usage").__class__ is dict:
        e = Evidence("response")
        weigh_keys(e, doc, {"reasoning": 0.3, "model": 0.1})
        if "input_tokens" in doc["usage"] and doc["message"].get("role") == "assistant":
            e.speaks_for("a message beside a usage with 'input_tokens'", 0.6)
        yield e.verdict()
    elif is_choice(doc):
        yield "tool-choice", 0.9, (f"the choice {compact(doc)}"[:60],)


def sniff_request(doc: dict[str, Json]) -> Verdict:
    """The signs that OpenAI would not know, in a request that has no key but those of its type."""
    e = Evidence("request" if "model" in doc else "messages")
    if is_choice(doc.get("tool_choice")):
        e.speaks_for("a tool choice like {'auto': true}", 0.999)
    if doc.get("include") == [REASONING]:
        e.speaks_for("'reasoning' to be included", 0.999)
    if any(tool.get("function").__class__ is dict for tool in objects(doc.get("tools"))):
        # Some clients send these to OpenAI as well, so it takes another sign to prove it.
        e.speaks_for("a tool with 'function' inside, beside an 'input'", 0.9)
    for item in objects(doc["input"]):
        if item.get("type").__class__ is not str:
            e.speaks_against("an item without a type", 0.5)
        for part in objects(item.get("content")):
            if part.get("type") == "input_image" and part.get("url").__class__ is str:
                e.speaks_for("an image with a 'url'", 0.999)
    weigh_doubts(e, doc, dict.fromkeys(doc.keys() - REQUEST, 0.9))
    return e.verdict()


def is_choice(doc: Json) -> bool:
    """Whether a tool choice has the form that is this dialect's alone."""
    if doc.__class__ is not dict or len(doc) != 1:
        return False
    function = doc.get("function")
    named = function.__class__ is dict and function.keys() == {"name"}
    return named or any(doc.get(flag) is True for flag in CHOICES.values())
