"""How to know a document of llxprt: a speaker and blocks, where others have a role and content."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...lint.evidence import Evidence, Verdict, is_list_of_objects, objects, weigh_keys
from ...model import Json

if TYPE_CHECKING:
    from . import IContent


BLOCKS = {
    "tool_call": 0.5, "tool_response": 0.6, "media": 0.4, "thinking": 0.2, "code": 0.2,
    "image": 0.2, "text": 0.1,
}  # fmt: skip
SPEAKERS = ("human", "ai", "tool", "system")


def sniff(d: IContent, doc: Json) -> Iterator[Verdict]:
    if doc.__class__ is dict:
        if is_content(doc):
            if doc.get("speaker") == "ai":
                yield weigh("response", [doc])
        elif is_list_of_objects(doc.get("contents")) and is_content(doc["contents"][0]):
            yield weigh("request", doc["contents"], doc)
    elif is_list_of_objects(doc):
        if is_content(doc[0]):
            yield weigh("messages", doc)
        elif any("parametersJsonSchema" in tool for tool in declared(doc)):
            yield "tools", 0.6, ("tools in groups, with 'parametersJsonSchema'",)


def is_content(doc: dict[str, Json]) -> bool:
    return doc.get("blocks").__class__ is list and doc.get("speaker") in SPEAKERS


def declared(groups: Json) -> Iterator[dict[str, Json]]:
    for group in objects(groups):
        yield from objects(group.get("functionDeclarations"))


def weigh(facet: str, contents: list[Json], request: dict[str, Json] | None = None) -> Verdict:
    e = Evidence(facet)
    e.speaks_for("a speaker and blocks", 0.9)
    if request is not None:
        weigh_keys(e, request, {"resolved": 0.3, "systemInstruction": 0.2})
    for content in objects(contents):
        if not is_content(content):
            e.speaks_against("something else among the contents", 0.6)
            continue
        for block in objects(content["blocks"]):
            kind = block.get("type")
            if isinstance(kind, str) and kind in BLOCKS:
                e.speaks_for(f"a block of type {kind!r}", BLOCKS[kind])
    return e.verdict()
