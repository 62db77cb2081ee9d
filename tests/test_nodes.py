"""Each node that a reader makes says where it stood: a loss of it is reported there."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
import pytest

import kept
import seeds
from dragoman import DragomanError, dialects
from dragoman.model import Candidate, Failure, Message, Params, ToolResult, Usage

WHOLE = (Candidate, Failure, Message, ToolResult)
"""Nodes that may be all of the document: of a response, or of what a tool returned."""
GATHERED = (Params, Usage)
"""Nodes whose fields stand in several places."""
cases = cache(kept.load)


def nodes(value: Any) -> Iterator[Any]:
    if isinstance(value, msgspec.Struct):
        if hasattr(value, "at") and not isinstance(value, GATHERED):
            yield value
        for name in value.__struct_fields__:
            yield from nodes(getattr(value, name))
    elif isinstance(value, tuple):
        for each in value:
            yield from nodes(each)


def stands_at(document: Any, pointer: str) -> bool:
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict) and key in document:
            document = document[key]
        elif isinstance(document, list) and key.isdigit() and int(key) < len(document):
            document = document[int(key)]
        else:
            return False
    return True


def documents(dialect: str) -> Iterator[tuple[str, Any]]:
    """Those of the corpus, and those that are kept."""
    for (name, facet), some in seeds.corpus().items():
        yield from ((facet, each.body) for each in some if name == dialect)
    for case, _ in cases():
        if case.dialect == dialect and case.facet != kept.STREAM:
            yield case.facet, case.document


def is_whole(document: Any, facet: str) -> bool:
    """Whether a document is one message: a response, or what a tool returned (MCP)."""
    return facet == "response" or (isinstance(document, dict) and document.keys() >= {"content"})


@pytest.mark.parametrize("dialect", [name for name in dialects.names() if name != "native"])
def test_each_node_says_where_it_stood(dialect: str) -> None:
    """In documents that are not trees themselves."""
    for facet, document in documents(dialect):
        try:
            tree = dialects.get(dialect).read(document, facet)
        except DragomanError:
            continue
        for node in nodes(tree):
            if node is tree or (
                not node.at and is_whole(document, facet) and isinstance(node, WHOLE)
            ):
                continue
            assert node.at, (node, document)
            where = dialects.get(dialect).locate(document, node.at)
            assert stands_at(document, where), (node, document)
