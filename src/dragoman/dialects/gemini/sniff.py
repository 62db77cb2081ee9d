"""How to know a document of the Gemini API: contents of parts, each with a key for its kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...lint.evidence import FIRST, PARTS, Evidence, Verdict, is_list_of_objects, objects
from ...model import Json
from .parts import KINDS
from .spelling import both, snake
from .tools import DECLARATIONS, SERVICES
from .turns import ROLES

if TYPE_CHECKING:
    from . import Gemini


SETTINGS = both("generationConfig", "toolConfig") | {
    "safetySettings", "safety_settings", "cachedContent", "cached_content",
}  # fmt: skip
SYSTEM = both("systemInstruction")
CHOICE = both("functionCallingConfig")
ANSWER = both("usageMetadata", "modelVersion", "promptFeedback", "responseId")
ENDS = both("finishReason")
FOREIGN = frozenset({"messages", "input", "choices", "content"})


def sniff(d: Gemini, doc: Json) -> Iterator[Verdict]:
    if doc.__class__ is list:
        yield from sniff_list(doc)
        return
    if doc.__class__ is not dict:
        return
    if doc.get("contents").__class__ is list:
        yield from sniff_request(doc)
    elif is_reply(doc):
        e = Evidence("response")
        for key in sorted(ANSWER & doc.keys()):
            e.speaks_for(f"the key {key!r}", 0.7)
        for item in objects(doc.get("candidates")):
            if item.get("content").__class__ is dict or not ENDS.isdisjoint(item):
                e.speaks_for("a candidate with content", 0.9)
        yield e.verdict()
    elif is_error(doc):
        yield "error", 0.95, ("an error with a status in capitals",)
    elif any(doc.get(key).__class__ is dict for key in CHOICE):
        yield "tool-choice", 0.95, ("a functionCallingConfig",)
    elif any(doc.get(key).__class__ is list for key in DECLARATIONS):
        yield "tools", 0.95, ("functionDeclarations",)


def sniff_list(doc: list[Json]) -> Iterator[Verdict]:
    if not is_list_of_objects(doc):
        return
    if len(doc) == 1 and is_error(doc[0]):
        yield "error", 0.95, ("an error with a status in capitals",)
    elif all(item.get("parts").__class__ is list for item in doc[:FIRST]):
        e = Evidence("messages")
        weigh_contents(e, doc)
        if e.signs:
            yield e.verdict()
    elif any(item.get(key).__class__ is list for item in doc[:FIRST] for key in DECLARATIONS):
        yield "tools", 0.95, ("functionDeclarations",)
    elif all(len(item) == 1 and is_service(item) for item in doc[:FIRST]):
        yield "tools", 0.9, ("a tool that Google runs",)


def sniff_request(doc: dict[str, Json]) -> Iterator[Verdict]:
    settings = sorted((SETTINGS | {"tools", "model"}) & doc.keys())
    system = sorted(SYSTEM & doc.keys())
    for facet in ("request", "messages"):
        e = Evidence(facet)
        weigh_contents(e, doc["contents"])
        for key in sorted(FOREIGN & doc.keys()):
            e.speaks_against(f"the key {key!r}", 0.9)
        if system:
            e.speaks_for(f"the key {system[0]!r}", 0.7)
        if facet == "request":
            e.speaks_for("a list of contents", 0.6)
            for key in settings:
                e.speaks_for(f"the key {key!r}", 0.7)
        elif settings:
            e.speaks_against("it has settings", 0.9)
        else:
            e.speaks_against("nothing tells it from a request", 0.2)
        if e.signs:
            yield e.verdict()


def weigh_contents(e: Evidence, contents: list[Json]) -> None:
    """The roles and the parts of the first contents."""
    for content in contents[:FIRST]:
        if content.__class__ is not dict or not ("parts" in content or "role" in content):
            e.speaks_against("a content without parts", 0.95)
            return
        role = content.get("role")
        if role.__class__ is not str and role is not None:
            e.speaks_against("a role that is no string", 0.95)
        elif role not in ROLES:
            e.speaks_against(f"the role {role!r}", 0.95)
        elif role == "model":
            e.speaks_for("the role 'model'", 0.8)
        for part in objects(content.get("parts"), PARTS):
            if "type" in part:
                e.speaks_against("a part with a type", 0.9)
            for kind in KINDS:
                if kind in part:
                    e.speaks_for(f"a part with {kind!r}", 0.8)


def is_reply(doc: dict[str, Json]) -> bool:
    """Candidates, or what is written where there are none."""
    if is_list_of_objects(doc.get("candidates")):
        return True
    return ("usageMetadata" in doc and "candidates" in doc) or is_blocked(doc)


def is_blocked(doc: dict[str, Json]) -> bool:
    feedback = doc.get("promptFeedback")
    return feedback.__class__ is dict and "blockReason" in feedback


def is_error(doc: Json) -> bool:
    inner = doc.get("error") if doc.__class__ is dict else None
    if inner.__class__ is not dict:
        return False
    status = inner.get("status")
    return status.__class__ is str and status.isupper() and inner.get("code").__class__ is int


def is_service(item: dict[str, Json]) -> bool:
    return all(snake(key) in SERVICES and item[key].__class__ is dict for key in item)
