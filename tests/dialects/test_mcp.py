"""The protocol's own types judge what we write, and what they dump is what we read."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest
from mcp.server.validation import validate_tool_use_result_messages
from pydantic import BaseModel

import dragoman
import places
from dragoman import dialects, testing
from dragoman.model import History, Request, Response, Text, ToolResult
from dragoman.testing import Document, load_corpus

NAME = "mcp"
FACETS = ("request", "messages", "tools", "response")
CORPUS = [
    document
    for case in load_corpus(places.CORPUS)
    for document in case.documents
    if document.facet in FACETS and not document.degraded
]
GREAT = ("anthropic-messages", "openai-chat", "gemini")


def name_of(document: Document) -> str:
    return document.name


def judged(doc: Any, facet: str) -> BaseModel:
    """A document as the library takes it; it raises what it does not."""
    if facet == "request":
        request = types.CreateMessageRequestParams.model_validate(doc)
        validate_tool_use_result_messages(request.messages)
        return request
    if facet == "response":
        return types.CreateMessageResultWithTools.model_validate(doc)
    if facet == "tools":
        listed = doc if isinstance(doc, dict) else {"tools": doc}
        return types.ListToolsResult.model_validate(listed)
    if "messages" not in doc:
        return types.CallToolResult.model_validate(doc)
    if "description" in doc:
        return types.GetPromptResult.model_validate(doc)
    return types.CreateMessageRequestParams.model_validate({"maxTokens": 1, **doc})


def dumped(model: BaseModel) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def turned(doc: Any, facet: str, target: str) -> Any:
    try:
        return testing.converted(Document("", NAME, "", facet, False, doc), target).document
    except dragoman.Unsayable:
        return None


@pytest.mark.parametrize("document", CORPUS, ids=name_of)
def test_the_library_takes_what_is_written_and_means_the_same(document: Document) -> None:
    try:
        written = testing.converted(document, NAME).document
    except dragoman.Unsayable:
        return  # an error in the place of a response
    if document.facet == "response" and "content" not in written:
        types.ErrorData.model_validate(written)
        return
    if document.facet == "request" and is_ahead(written):
        return
    dump = dumped(judged(written, document.facet))
    if isinstance(written, list):
        dump = dump["tools"]
    for target in GREAT:
        ours, theirs = (turned(doc, document.facet, target) for doc in (written, dump))
        if document.facet == "messages" and isinstance(theirs, dict):
            theirs.pop("maxTokens", None)
        assert theirs == ours, testing.difference(theirs, ours)


def is_ahead(doc: Any) -> bool:
    """A record that ends in what the model should say, or goes on after a call, is no request."""
    last = doc["messages"][-1:] + doc["messages"][-2:-1]
    held = [m["content"] if isinstance(m["content"], list) else [m["content"]] for m in last]
    return any(block["type"] == "tool_use" for content in held for block in content) and not all(
        block["type"] == "tool_result" for block in held[0]
    )


def test_every_case_of_ours_is_judged() -> None:
    own = [document for document in CORPUS if document.dialect == NAME]
    assert {document.facet for document in own} == set(FACETS)
    for document in own:
        assert judged(document.body, document.facet)


def test_the_library_can_refuse() -> None:
    with pytest.raises(ValueError, match="content"):
        judged({"role": "assistant", "model": "m"}, "response")
    stray = {"type": "tool_result", "toolUseId": "c1", "content": []}
    with pytest.raises(ValueError, match="previous message"):
        judged({"messages": [{"role": "user", "content": [stray]}], "maxTokens": 1}, "request")


def test_what_the_library_dumps_is_read() -> None:
    text = types.TextContent(text="14 C")
    called = types.ToolUseContent(id="c1", name="f", input={"a": 1})
    result = types.ToolResultContent(tool_use_id="c1", content=[text])
    asked = types.CreateMessageRequestParams(
        messages=[
            types.SamplingMessage(role="user", content=text),
            types.SamplingMessage(role="assistant", content=[called]),
            types.SamplingMessage(role="user", content=[result]),
        ],
        system_prompt="Be brief.",
        max_tokens=5,
        tools=[types.Tool(name="f", input_schema={"type": "object"})],
        tool_choice=types.ToolChoice(mode="required"),
    )
    tree = dialects.get(NAME).read(dumped(asked), "request")
    assert isinstance(tree, Request)
    assert [message.role for message in tree.messages] == ["system", "user", "assistant", "tool"]
    assert tree.params.max_tokens == 5
    guess = dragoman.detect(dumped(asked))[0]
    assert (guess.dialect, guess.facet) == (NAME, "request")
    answer = types.CreateMessageResult(role="assistant", content=text, model="m")
    read = dialects.get(NAME).read(dumped(answer), "response")
    assert isinstance(read, Response)
    assert read.candidates[0].message.content[0] == Text("14 C", at="/content")


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        (types.CallToolResult(content=[types.TextContent(text="14 C")]), "14 C"),
        (types.CallToolResult(content=[], structured_content={"c": 14}), '{"c":14}'),
    ],
)
def test_what_a_tool_returned_is_a_result_without_a_call(
    returned: types.CallToolResult, text: str
) -> None:
    dump = dumped(returned)
    tree = dialects.get(NAME).read(dump, "messages")
    assert isinstance(tree, History)
    [message] = tree.messages
    result = message.content[0]
    assert isinstance(result, ToolResult)
    assert result.call_id is None
    assert [block.text for block in result.content if isinstance(block, Text)] == [text]
    chat = dragoman.convert(dump, source=NAME, target="openai-chat", facet="messages")
    assert chat.document == [{"role": "tool", "tool_call_id": "call_1", "content": text}]
    assert [loss.what for loss in chat.losses] == ["tool_call.id"]


def test_results_have_a_turn_of_their_own() -> None:
    """What the user says after results is the next turn: results stand alone."""
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "14 C"}
    request = {
        "model": "m",
        "max_tokens": 5,
        "messages": [
            {"role": "user", "content": "Hi"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}],
            },
            {"role": "user", "content": [result, {"type": "text", "text": "And now?"}]},
        ],
    }
    written = dragoman.convert(request, source="anthropic-messages", target=NAME).document
    kinds = [m["content"]["type"] for m in written["messages"]]
    assert kinds == ["text", "tool_use", "tool_result", "text"]


def test_a_model_is_a_hint() -> None:
    request = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    result = dragoman.convert(request, source="openai-chat", target=NAME)
    assert result.document["modelPreferences"] == {"hints": [{"name": "m"}]}
    noted = [(loss.kind, loss.what) for loss in result.losses]
    assert noted == [("moved", "model"), ("invented", "max_tokens")]
    back = dragoman.convert(result.document, source=NAME, target="openai-chat")
    assert back.document["model"] == "m"
