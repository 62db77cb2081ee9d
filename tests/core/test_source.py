"""A tree that is written in the dialect it was read from: what was not edited is copied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

import dragoman
import leaves
import places
from dragoman import dialects
from dragoman.core.source import merged, with_source
from dragoman.core.walk import meaning
from dragoman.dialect import Dialect
from dragoman.dialects.anthropic_messages import AnthropicMessages, blocks, response
from dragoman.errors import Unsayable
from dragoman.ledger import Ledger
from dragoman.model import History, Json, Message, Request, Response, Text
from dragoman.testing import Document, difference, load_corpus

DOCUMENTS = [
    document
    for case in load_corpus(places.CORPUS)
    for document in case.documents
    if {"read", "write"} <= set(dialects.get(document.dialect).facets()[document.facet])
]
COPIED = [document for document in DOCUMENTS if not dialects.get(document.dialect).keeps_source]
TALKS = [document for document in COPIED if document.facet in ("request", "messages")]
HI: Json = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
CALL: Json = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
RESULT: Json = {"type": "tool_result", "tool_use_id": "c", "content": [], "is_error": None}
SPELLED: Json = {
    "stop_sequences": [],
    "messages": [
        HI,
        {"role": "assistant", "content": [CALL]},
        {"role": "user", "content": [RESULT, {"type": "text", "text": "Go on", "citations": None}]},
        {"content": [{"text": "Done", "type": "text"}], "role": "assistant"},
    ],
    "model": "m",
    "metadata": None,
    "system": [{"type": "text", "text": "Be kind"}],
    "max_tokens": 9,
}


def read(**changes: Json) -> Request:
    return dragoman.read({**SPELLED, **changes}, "anthropic")


def written(tree: Request) -> Json:
    result = dragoman.write(tree, "anthropic")
    assert not result.losses
    return result.document


def with_message(tree: Request, index: int, message: Message) -> Request:
    return replace(tree, messages=(*tree.messages[:index], message, *tree.messages[index + 1 :]))


def test_a_tree_without_edits_is_its_document() -> None:
    doc = {**SPELLED}
    assert written(dragoman.read(doc, "anthropic")) is doc
    assert dragoman.convert(doc, source="anthropic", target="anthropic").document is doc


def test_the_source_is_no_part_of_equality() -> None:
    tree = read()
    assert tree.original is not None
    assert (
        tree == replace(tree, original=None) == dialects.get("anthropic").read(SPELLED, "request")
    )


def test_an_added_message_leaves_the_others() -> None:
    tree = read()
    tree = replace(tree, messages=(*tree.messages, Message("user", (Text("Thanks"),))))
    turn = {"role": "user", "content": "Thanks"}
    assert written(tree) == {**SPELLED, "messages": [*SPELLED["messages"], turn]}
    assert list(written(tree)) == list(SPELLED)


def test_a_parameter_leaves_the_rest() -> None:
    tree = read()
    assert written(replace(tree, model="n")) == {**SPELLED, "model": "n"}
    tree = replace(tree, params=replace(tree.params, temperature=0.5))
    assert written(tree) == {**SPELLED, "temperature": 0.5}
    tree = replace(tree, params=replace(tree.params, max_tokens=None))
    assert written(tree) == {k: v for k, v in SPELLED.items() if k != "max_tokens"} | {
        "temperature": 0.5
    }


def test_a_block_leaves_the_other_blocks_of_its_turn() -> None:
    tree = read()  # the result is message 3, the text beside it message 4
    spelled = with_message(tree, 4, replace(tree.messages[4], content=(Text("Stop"),)))
    turns = written(spelled)["messages"]
    assert turns[:2] + turns[-1:] == SPELLED["messages"][:2] + SPELLED["messages"][-1:]
    assert dragoman.read(written(spelled), "anthropic").messages[4].content[0] == Text(
        "Stop", at="/messages/3/content"
    ) or "Stop" in str(turns[2])


def test_the_system_prompt() -> None:
    tree = read()
    gone = replace(tree, messages=tree.messages[1:])
    assert written(gone) == {k: v for k, v in SPELLED.items() if k != "system"}
    other = with_message(tree, 0, Message("system", (Text("Be brief"),)))
    assert written(other) == {**SPELLED, "system": "Be brief"}
    two = replace(tree, messages=(Message("system", (Text("Be brief"),)), *tree.messages))
    spelled = [
        message.content[0] for message in dragoman.read(written(two), "anthropic").messages[:2]
    ]
    assert isinstance(spelled[0], Text)
    assert spelled[0].text == "Be brief"
    assert written(two)["messages"][-4:] == SPELLED["messages"]


def test_two_names_of_one_field() -> None:
    form = {"type": "json_schema", "schema": {"type": "object"}}
    tree = read(output_format=form)
    assert tree.params.output is not None
    assert written(replace(tree, model="n")) == {**SPELLED, "output_format": form, "model": "n"}
    output = replace(tree.params.output, schema={"type": "string"})
    doc = written(replace(tree, params=replace(tree.params, output=output)))
    back = dragoman.read(doc, "anthropic").params.output
    assert back is not None
    assert back.schema == {"type": "string"}
    assert "output_format" not in doc or "output_config" not in doc
    assert doc["messages"] == SPELLED["messages"]


def test_native_keeps_it() -> None:
    native = dragoman.convert(SPELLED, source="anthropic", target="native").document
    back = dragoman.convert(native, source="native", target="anthropic").document
    assert back == SPELLED
    native["tree"]["messages"][-1]["content"][0]["text"] = "Over"
    back = dragoman.convert(native, source="native", target="anthropic").document
    assert back["messages"][:-1] == SPELLED["messages"][:-1]
    assert "Over" in str(back["messages"][-1])
    assert {**back, "messages": []} == {**SPELLED, "messages": []}


@pytest.mark.parametrize("key", ["original", "tool_choice"])
def test_native_has_no_original_in_the_tree(key: str) -> None:
    native = dragoman.convert(SPELLED, source="anthropic", target="native").document
    original: Json = {"doc": {}}
    native["tree"][key] = original if key == "original" else {"original": original}
    with pytest.raises(dragoman.Malformed):
        dragoman.read(native, "native")


def test_merging() -> None:
    source = {"a": None, "x": [{"k": 1, "n": None}, "b"], "gone": 1}
    old = {"x": [{"k": 1}, [{"b": 1}]], "gone": 1, "default": 0}
    new = {"x": [{"k": 2}, [{"b": 1}]], "default": 0, "more": True}
    assert merged(source, old, new) == (
        {"a": None, "x": [{"k": 2, "n": None}, "b"], "more": True},
        True,
    )
    assert merged([1, 2], [1, 2], [True, 2]) == ([True, 2], True)
    assert merged([1, 2], [1], [2]) == ([2], False)
    assert merged({"alias": 1}, {"key": 1}, {"key": 2}) == ({"alias": 1, "key": 2}, False)
    assert merged({"alias": 1}, {"key": 1}, {}) == ({"alias": 1}, False)
    assert merged({"key": 0}, {}, {"key": 2}) == ({"key": 2}, False)


# -- over the corpus --------------------------------------------------------------------------


def edits(tree: Request | History) -> Iterator[Any]:
    """The tree, edited in one or two places."""
    messages = tree.messages
    new = Message("user", (Text("something new"),))
    for index in range(len(messages)):
        yield replace(tree, messages=messages[:index] + messages[index + 1 :])
        yield replace(tree, messages=(*messages[:index], new, *messages[index:]))
        block = messages[index].content[0] if messages[index].content else None
        if isinstance(block, Text):
            spelled = (replace(block, text="edited"), *messages[index].content[1:])
            changed = replace(messages[index], content=spelled)
            yield replace(tree, messages=(*messages[:index], changed, *messages[index + 1 :]))
            yield replace(tree, messages=(*messages[1:index], changed, *messages[index + 1 :]))
    yield replace(tree, messages=(*messages, *messages[-1:]))
    if isinstance(tree, Request):
        yield replace(tree, params=replace(tree.params, temperature=0.25))
        yield replace(tree, tools=None, model="other")


# Open: a result whose document stands in the next turn of the user, when that turn is edited.
HOISTED = {"tool-result-document/openai-chat.request", "vercel-result-file-id/openai-chat.messages"}
EDITED = [document for document in TALKS if not (document.degraded and document.name in HOISTED)]


@pytest.mark.parametrize("document", EDITED, ids=lambda d: d.name)
def test_an_edited_document_says_what_the_edited_tree_says(document: Document) -> None:
    speaker = dialects.get(document.dialect)
    tree = with_source(speaker.read(document.body, document.facet), document.body, speaker)
    assert isinstance(tree, Request | History)
    for edited in edits(tree):
        try:
            plain = speaker.write(replace(edited, original=None), Ledger())
        except Unsayable:  # the dialect has no form for it, with its source or without
            with pytest.raises(Unsayable):
                speaker.write(edited, Ledger())
            continue
        doc = speaker.write(edited, Ledger())
        assert meaning(speaker.read(doc, document.facet)) == meaning(
            speaker.read(plain, document.facet)
        )


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_a_document_comes_back(document: Document) -> None:
    """By way of the tree, and by way of the tree as JSON."""
    tree = dragoman.read(document.body, document.dialect, facet=document.facet)
    assert dragoman.write(tree, document.dialect).document == document.body
    native = dragoman.write(tree, "native").document
    back = dragoman.convert(native, source="native", target=document.dialect, facet=document.facet)
    assert back.document == document.body
    assert not back.losses


# Defaults, which need not be written.
DEFAULTS = {
    ("type", "custom"),  # of a tool
    ("type", "direct"),  # of the caller of a call
    ("disable_parallel_tool_use", False),
    ("stream", False),
    ("store", False),
    ("status", "completed"),  # of an item
    ("code", 400),  # the status that the kind of an error implies
}


@pytest.mark.parametrize("document", COPIED, ids=lambda d: d.name)
def test_without_its_source_a_document_loses_its_form_alone(document: Document) -> None:
    """A copy cannot fail where a reader forgets something, so this is asked without it."""
    assert lost(document.body, dialects.get(document.dialect), document.facet) == []


def lost(body: Json, speaker: Dialect, facet: str) -> list[str]:
    tree, log = speaker.read(body, facet), Ledger()
    back = speaker.write(tree, log)
    assert not log.losses
    got, meant = meaning(speaker.read(back, facet)), meaning(tree)
    assert got == meant, difference(got, meant)
    missing = leaves.unaccounted(body, back, ())
    return [leaf.pointer for leaf in missing if (leaf.key, leaf.value) not in DEFAULTS]


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (AnthropicMessages, "keep"),
        (blocks, "read_cache"),
        (blocks, "read_citable"),
        (response, "read_stop"),
    ],
)
def test_a_reader_that_forgets_is_noticed(
    place: object, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    speaker = dialects.get("anthropic")
    monkeypatch.setattr(place, name, lambda *_, **__: None)
    noticed = 0
    for document in COPIED:
        if document.dialect != speaker.name:
            continue
        try:
            noticed += bool(lost(document.body, speaker, document.facet))
        except AssertionError:
            noticed += 1
    assert noticed


def test_join_leaves_the_history() -> None:
    spelled = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Bye"}]}
    spelled |= {"model": "m", "id": "r", "stop_reason": "end_turn"}
    doc = {**SPELLED, "messages": [HI]}
    for target in (None, "anthropic"):
        out = dragoman.join(doc, spelled, dialect="anthropic", target=target).document
        assert {**out, "messages": out["messages"][:1]} == doc
        assert len(out["messages"]) == 2


def test_repair_leaves_what_is_right() -> None:
    empty = {"role": "user", "content": [{"type": "text", "text": ""}, HI["content"][0]]}
    doc = {**SPELLED, "messages": [*SPELLED["messages"], empty]}
    out = dragoman.repair(doc, "anthropic").document
    assert out["messages"][:4] == SPELLED["messages"]
    assert {**out, "messages": []} == {**SPELLED, "messages": []}


def test_another_dialect_does_not_see_it() -> None:
    tree = read()
    plain = replace(tree, original=None)
    for target in ("openai-chat", "gemini"):
        assert dragoman.write(tree, target).document == dragoman.write(plain, target).document
    response: Response = dragoman.read(
        {"content": [], "id": "a", "model": "m"}, "anthropic", facet="response"
    )
    assert "original=Original(...)" in repr(response)


@pytest.mark.parametrize("beside", [{}, {"keep": 1}, None])
def test_a_history_that_is_a_bare_list_or_stands_in_an_object(beside: Json) -> None:
    turns: Json = [{"role": "user", "content": "Hi", "images": []}]
    doc = turns if beside is None else {"messages": turns, **beside}
    tree = dragoman.read(doc, "ollama", facet="messages")
    assert isinstance(tree, History)
    result = dragoman.write(
        replace(tree, messages=(*tree.messages, Message("user", (Text("Go on"),)))), "ollama"
    )
    more = [*turns, {"role": "user", "content": "Go on"}]
    assert result.document == (more if beside is None else {"messages": more, **beside})
    assert not result.losses
