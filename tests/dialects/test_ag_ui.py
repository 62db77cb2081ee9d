"""The protocol's own types judge what we write, and we read what they dump."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ag_ui.core import types as ag
from pydantic import TypeAdapter

import dragoman
import places
from dragoman import dialects, testing
from dragoman.model import History, Media, Raw, Reasoning, Request, ToolCall, ToolResult
from dragoman.testing import Document, load_corpus

NAME = "ag-ui"
CORPUS = [
    document
    for case in load_corpus(places.CORPUS)
    for document in case.documents
    if document.facet in ("messages", "request", "tools") and not document.degraded
]
GREAT = ("anthropic-messages", "openai-chat", "gemini")
ADAPTERS: dict[str, TypeAdapter[Any]] = {
    "messages": TypeAdapter(list[ag.Message]),
    "request": TypeAdapter(ag.RunAgentInput),
    "tools": TypeAdapter(list[ag.Tool]),
}


def name_of(document: Document) -> str:
    return document.name


def dumped(doc: Any, facet: str) -> Any:
    """A document as the library loads and dumps it; it raises what it does not take."""
    adapter = ADAPTERS[facet]
    return adapter.dump_python(adapter.validate_python(doc), mode="json", by_alias=True)


def turned(doc: Any, facet: str, target: str) -> Any:
    model = "m" if facet == "request" else None
    try:
        result = dragoman.convert(doc, source=NAME, target=target, facet=facet, model=model)
    except dragoman.Unsayable:
        return None
    return result.document


def is_legacy(doc: Any) -> bool:
    """Whether a part is ``binary``, which the types of version 1.0 have no more."""
    return '"binary"' in json.dumps(doc)


@pytest.mark.parametrize("document", CORPUS, ids=name_of)
def test_the_library_loads_what_is_written_and_means_the_same(document: Document) -> None:
    try:
        written = testing.converted(document, NAME).document
    except dragoman.Unsayable:
        return
    if is_legacy(written):
        return
    dump = dumped(written, document.facet)
    for target in GREAT:
        ours, theirs = (turned(doc, document.facet, target) for doc in (written, dump))
        assert theirs == ours, testing.difference(theirs, ours)


def test_the_library_can_refuse() -> None:
    with pytest.raises(ValueError, match="toolCallId"):
        dumped([{"id": "1", "role": "tool", "content": "14 C"}], "messages")


def everything() -> list[Any]:
    """Messages of every role."""
    data = ag.DataSource(value="iVBORw0KGgo=", mime_type="image/png")
    function = ag.FunctionCall(name="f", arguments='{"a" : 1}')
    return [
        ag.SystemMessage(id="s1", content="Be brief."),
        ag.UserMessage(
            id="u1", content=[ag.TextPart(text="Look:"), ag.ImagePart(source=data)], name="ann"
        ),
        ag.ReasoningMessage(id="r1", content="Hm.", encrypted_value="ZW5j"),
        ag.AssistantMessage(
            id="a1", content="I ask.", tool_calls=[ag.ToolCall(id="c1", function=function)]
        ),
        ag.ToolMessage(id="t1", tool_call_id="c1", content="", error="no such city"),
        ag.ActivityMessage(id="x1", activity_type="PLAN", content={"a": 1}),
    ]


def test_what_is_read_of_each_message() -> None:
    adapter = ADAPTERS["messages"]
    dump = adapter.dump_python(everything(), mode="json", by_alias=True)
    result = dragoman.convert(dump, source=NAME, target=NAME, facet="messages")
    assert result.document == dump
    assert not result.losses
    guess = dragoman.detect(dump)[0]
    assert (guess.dialect, guess.facet) == (NAME, "messages")
    tree = dialects.get(NAME).read(dump, "messages")
    assert isinstance(tree, History)
    assert [m.role for m in tree.messages] == ["system", "user", "assistant", "tool", "user"]
    assert isinstance(tree.messages[1].content[1], Media)
    thought, _, call = tree.messages[2].content
    assert isinstance(thought, Reasoning)
    assert thought.signature is not None
    assert thought.signature.issuer == NAME  # nobody tells whose it is, so it goes nowhere else
    assert isinstance(call, ToolCall)
    assert call.arguments == '{"a" : 1}'
    replied = tree.messages[3].content[0]
    assert isinstance(replied, ToolResult)
    assert replied.is_error
    assert isinstance(tree.messages[4].content[0], Raw)


def test_a_run_is_a_request_to_a_model() -> None:
    run = ag.RunAgentInput(
        thread_id="t1",
        run_id="r1",
        messages=[ag.UserMessage(id="u1", content="Hi")],
        tools=[ag.Tool(name="f", description="F.", parameters={"type": "object"})],
    ).model_dump(mode="json", by_alias=True)
    guess = dragoman.detect(run)[0]
    assert (guess.dialect, guess.facet) == (NAME, "request")
    tree = dialects.get(NAME).read(run, "request")
    assert isinstance(tree, Request)
    assert tree.tools is not None
    result = dragoman.convert(run, source=NAME, target="openai-chat", model="m")
    assert result.document["messages"] == [{"role": "user", "content": "Hi"}]
    assert sorted(str(loss.path) for loss in result.losses) == [
        *("/messages/0/id", "/runId", "/threadId"),
    ]


def test_a_snapshot_of_messages_is_a_history() -> None:
    event = {
        "type": "MESSAGES_SNAPSHOT",
        "messages": [{"id": "msg-1", "role": "user", "content": "Hi"}],
    }
    assert dragoman.detect(event)[0].dialect == NAME
    result = dragoman.convert(event, source=NAME, target="openai-chat", facet="messages")
    assert result.document == [{"role": "user", "content": "Hi"}]
    assert not result.losses


def test_an_error_beside_the_content_is_told_apart() -> None:
    failed = {"id": "msg-1", "role": "tool", "toolCallId": "c1", "content": "Log.", "error": "No."}
    result = dragoman.convert([failed], source=NAME, target="anthropic-messages", facet="messages")
    [block] = result.document["messages"][0]["content"]
    assert (block["content"], block["is_error"]) == ("Log.", True)
    assert [loss.path for loss in result.losses] == ["/0/error"]
