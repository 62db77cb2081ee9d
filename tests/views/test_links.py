"""Links between two documents: every place is there, and what says the same is found."""

from __future__ import annotations

import pytest

import dragoman
import places as folders
from choosing import GREAT
from dragoman import dialects
from dragoman.errors import DragomanError
from dragoman.model import Json
from dragoman.testing import Document, load_corpus
from dragoman.views.compare import resolves
from dragoman.views.links import Link, links, places, spots
from dragoman.workbench.converting import located

CORPUS = [
    document
    for case in load_corpus(folders.CORPUS)
    for document in case.documents
    if not document.degraded and document.facet in ("request", "messages", "response", "tools")
]
documents = pytest.mark.parametrize("document", CORPUS, ids=lambda d: d.name)


def found(document: Document, target: str) -> tuple[Json, list[Link], dragoman.Result]:
    """The links of a conversion, at places of both documents."""
    reader, writer = dialects.get(document.dialect), dialects.get(target)
    value = document.body
    made = dragoman.convert(value, source=reader.name, target=target, facet=document.facet)
    one = reader.read(value, document.facet)
    other = writer.read(made.document, document.facet)
    linked = [located(x, reader, value, writer, made.document) for x in links(one, other)]
    return value, linked, made


@documents
def test_a_document_is_linked_with_itself(document: Document) -> None:
    _, linked, _ = found(document, document.dialect)
    assert [link for link in linked if link.a != link.b] == []


@documents
def test_places_are_there_and_what_goes_nowhere_is_in_the_ledger(document: Document) -> None:
    for target in sorted(GREAT):
        try:
            value, linked, made = found(document, target)
        except DragomanError:
            continue  # which says why there is no document
        seen = places(made.losses, linked, value)
        assert len(seen) == len(made.losses)
        for link in linked:
            assert link.a is not None or link.b is not None
            assert link.a is None or resolves(value, link.a), (target, link)
            assert link.b is None or resolves(made.document, link.b), (target, link)
        for place in seen:
            assert resolves(value, place.a), (target, place)
            assert place.b is None or resolves(made.document, place.b), (target, place)
        gone = [link for link in linked if link.b is None]
        assert made.losses or not gone, (target, gone)


def test_calls_follow_their_ids_and_results_their_calls() -> None:
    def chat(first: str, second: str) -> Json:
        def call(name: str) -> Json:
            return {"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}}

        said = {"role": "assistant", "content": None, "tool_calls": [call(first), call(second)]}
        replies = [
            {"role": "tool", "tool_call_id": name, "content": "ok"} for name in (second, first)
        ]
        return {"model": "m", "messages": [{"role": "user", "content": "Hi"}, said, *replies]}

    speaker = dialects.get("openai-chat")
    one = speaker.read(chat("a", "b"), "request")
    other = speaker.read(chat("x", "y"), "request")
    linked = {link.a: link.b for link in links(one, other) if link.kind == "result"}
    assert linked == {"/messages/2": "/messages/2", "/messages/3": "/messages/3"}


def test_a_lost_part_and_an_invented_one() -> None:
    asked = {
        "model": "m",
        "seed": 7,
        "messages": [{"role": "user", "content": "Hi"}],
    }
    reader, writer = dialects.get("openai-chat"), dialects.get("anthropic-messages")
    made = dragoman.convert(asked, source=reader.name, target=writer.name)
    linked = links(reader.read(asked, "request"), writer.read(made.document, "request"))
    by_code = dict(
        zip((x.what for x in made.losses), places(made.losses, linked, asked), strict=True)
    )
    assert (by_code["seed"].a, by_code["seed"].b, by_code["seed"].gone) == ("/seed", None, True)
    assert (by_code["max_tokens"].a, by_code["max_tokens"].b) == ("", "/max_tokens")


def test_a_renamed_tool_is_the_same_tool() -> None:
    tool = {"name": "read file", "input_schema": {"type": "object", "properties": {}}}
    talk = [{"role": "user", "content": "Hi"}]
    asked = {"model": "m", "max_tokens": 9, "messages": talk, "tools": [tool]}
    reader, writer = dialects.get("anthropic-messages"), dialects.get("openai-chat")
    made = dragoman.convert(asked, source=reader.name, target=writer.name)
    linked = links(reader.read(asked, "request"), writer.read(made.document, "request"))
    assert [(x.a, x.b, x.changed) for x in linked if x.kind == "tool"] == [
        ("/tools/0", "/tools/0", True)
    ]


def test_texts_that_were_joined_are_linked_with_the_whole() -> None:
    def asked(content: Json) -> Json:
        said = {"role": "assistant", "content": content}
        talk = [{"role": "user", "content": "Hi"}, said, {"role": "user", "content": "Go on"}]
        return {"model": "m", "max_tokens": 9, "messages": talk}

    reader = dialects.get("anthropic-messages")
    blocks = [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]
    one = reader.read(asked(blocks), "request")
    other = reader.read(asked("One.\n\nTwo."), "request")
    linked = {x.a: x.b for x in links(one, other) if x.kind == "text"}
    assert linked["/messages/1/content/0"] == "/messages/1/content"
    assert linked["/messages/1/content/1"] == "/messages/1/content"


def test_every_part_has_one_kind() -> None:
    kinds = {spot.kind for document in CORPUS for spot in spots(
        dialects.get(document.dialect).read(document.body, document.facet))}  # fmt: skip
    assert {"call", "result", "text", "reasoning", "tool", "parameter", "usage"} <= kinds
