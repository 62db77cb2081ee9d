"""The audit by leaf, over the corpus; and that it can fail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import leaves
import places
from dragoman import Result, Unsayable, convert, dialects
from dragoman.testing import Document, load_corpus, speaks
from strangers import edited, sample

CORPUS = load_corpus(places.CORPUS)
TARGETS = 6
"""how many other dialects each document is written as"""
OURS = "native"
"""the tree itself: no other vocabulary, and nothing of it is translated"""
NAMES = [name for name in dialects.names() if name != OURS]


def turned(document: Document, target: str) -> Result | None:
    try:
        return convert(
            document.body, source=document.dialect, target=target, facet=document.facet, now=0
        )
    except Unsayable:
        return None


def documents(dialect: str) -> Iterator[Document]:
    for case in CORPUS:
        yield from (d for d in case.documents if d.dialect == dialect)


@pytest.mark.parametrize("dialect", NAMES)
def test_each_leaf_is_there_or_is_reported(dialect: str) -> None:
    faults: list[str] = []
    for document in documents(dialect):
        others = [t for t in NAMES if t != dialect and speaks(t, document.facet)]
        for target in sample(others, TARGETS, document.name):
            if (result := turned(document, target)) is not None:
                for leaf in leaves.unaccounted(document.body, result.document, result.losses):
                    faults.append(f"{document.name} > {target}: {leaf.pointer} {leaf.value!r}")
    assert not faults, "\n".join(faults[:20])


# -- the law can fail -------------------------------------------------------------------------

ALL_PAIRS = [
    (document, target)
    for case in CORPUS
    for document in case.documents
    if document.dialect in ("anthropic-messages", "openai-chat", "openai-responses")
    for target in ("gemini", "bedrock-converse", "openai-chat", "anthropic-messages")
    if target != document.dialect and speaks(target, document.facet)
]
PAIRS = ALL_PAIRS[::7]


def without(value: Any, path: leaves.Path) -> Any:
    """A document without one of its leaves."""
    *above, last = path
    holder = value
    for step in above:
        holder = holder[step]
    if isinstance(holder, list):
        return edited(value, tuple(above), [x for i, x in enumerate(holder) if i != last])
    return edited(value, tuple(above), {k: v for k, v in holder.items() if k != last})


def test_a_leaf_that_a_writer_drops_is_missed() -> None:
    """Nearly each leaf of an output that came from the source is missed if it is not there."""
    asked = noticed = 0
    for document, target in PAIRS:
        result = turned(document, target)
        if result is None:
            continue
        written = [leaf for leaf in leaves.walk(document.body) if not leaves.is_silent(leaf)]
        texts = {
            leaf.value for leaf in written if isinstance(leaf.value, str) and len(leaf.value) > 3
        }
        numbers = {leaf.value for leaf in written if isinstance(leaf.value, int | float)} - {0}
        for leaf in list(leaves.walk(result.document)):
            if leaves.is_key(leaf) or leaf.key in leaves.STRUCTURE or leaves.counts(leaf):
                continue
            if leaf.value not in texts and leaf.value not in numbers:
                continue
            if leaf.value in leaves.MEANT or leaves.plain(leaf.key) in leaves.NAMES:
                continue  # another word for the same, or a name that is written more than once
            asked += 1
            cut = without(result.document, leaf.path)
            noticed += bool(leaves.unaccounted(document.body, cut, result.losses))
    assert asked > 500
    assert noticed / asked > 0.95, f"{noticed} of {asked}"


def test_a_loss_that_is_not_told_is_missed() -> None:
    """Nearly every loss that drops something is needed: without it, a leaf is unaccounted for.

    Others tell of what is there twice (a reasoning item that is dropped had an id), or of a name
    that was empty. Codes that speak of no scalar (``COVERS`` gives them no key) are not asked, and
    no names of tools in results, which their calls have as well.
    """
    asked = noticed = 0
    for document, target in ALL_PAIRS:
        result = turned(document, target)
        for loss in result.losses if result is not None else ():
            if loss.kind != "dropped" or leaves.COVERS.get(loss.what) == frozenset():
                continue
            if loss.what == "tool_result.name":
                continue
            assert result is not None
            rest = [other for other in result.losses if other is not loss]
            asked += 1
            noticed += bool(leaves.unaccounted(document.body, result.document, rest))
    assert asked > 3000
    assert noticed / asked > 0.92, f"{noticed} of {asked}"


SAID_TWICE = {
    "result": "Looking.\n330 m",
    "experimental_content": [
        {"type": "text", "text": "Looking."},
        {"type": "text", "text": "330 m"},
    ],
}
LAST = "/experimental_content/1/text"


@pytest.mark.parametrize(
    ("source", "output", "missed"),
    [
        ({"max_tokens": 5}, {"maxOutputTokens": 5}, []),
        ({"max_tokens": 5}, {"temperature": 5}, ["/max_tokens"]),
        ({"text": "Hello there"}, {"content": "Well: Hello there!"}, []),
        ([{"text": "Hello"}, {"text": "Hello"}], {"text": "Hello"}, ["/1/text"]),
        ({"strict": True}, {"stream": True}, ["/strict"]),
        ({"arguments": '{"city": "Paris"}'}, {"input": {"city": "Paris"}}, []),
        ({"arguments": '{"city": "Paris"}'}, {"input": {"town": "Paris"}}, ["/arguments"]),
        ({"url": "data:image/png;base64,iVBORw0KGgo="}, {"data": "iVBORw0KGgo="}, []),
        ({"usage": {"total": 7}}, {"usage": {"in": 3, "out": 4}}, []),
        ({"usage": {"total": 8}}, {"usage": {"in": 3, "out": 9}}, ["/usage/total"]),
        ({"role": "assistant", "top_k": 4}, {"role": "model"}, ["/top_k"]),
        ({"created": 1700000000}, {"createTime": "2023-11-14T22:13:20Z"}, []),
        ({"created": 1700000001}, {"createTime": "2023-11-14T22:13:20Z"}, ["/created"]),
        ({"callId": "hist_tool_raw_f-2e-look-3a-0"}, {"text": "[result of f.look:0]"}, []),
        ({"callId": "hist_tool_raw_f-2e-look-3a-0"}, {"text": "[result of f.look:1]"}, ["/callId"]),
        ({"parts": [], "finish_reason": "tool_call"}, {}, ["/finish_reason"]),
        ({"parts": [{"type": "tool_call"}], "finish_reason": "tool_call"}, {}, []),
        (SAID_TWICE, [{"text": "Looking."}, {"text": "330 m"}], []),
        (SAID_TWICE, [{"text": "Looking."}, {"text": "331 m"}], ["/result/1", LAST]),
        (
            SAID_TWICE | {"result": "330 m high"},
            [{"text": "Looking."}, {"text": "330 m"}],
            ["/result"],
        ),
    ],
)
def test_what_is_found(source: Any, output: Any, missed: list[str]) -> None:
    assert [leaf.pointer for leaf in leaves.unaccounted(source, output, ())] == missed
