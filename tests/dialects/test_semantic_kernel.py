"""What Semantic Kernel prints of a history is read, and comes back as it was.

The library needs other versions of packages than the other tests: ``conformance/kernel_history.py``
asks it itself. The history of the corpus is what it printed.
"""

from __future__ import annotations

from typing import Any

import pytest

import dragoman
import places
from dragoman import dialects, testing
from dragoman.model import (
    History,
    Media,
    Message,
    Raw,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from dragoman.testing import Document, load_corpus

NAME = "semantic-kernel"
PRINTED = next(
    document
    for case in load_corpus(places.CORPUS)
    for document in case.documents
    if document.dialect == NAME and case.name == "semantic-kernel-history"
)


def read(doc: Any) -> tuple[Message, ...]:
    tree = dialects.get(NAME).read(doc, "messages")
    assert isinstance(tree, History)
    return tree.messages


def test_what_is_read_of_each_item() -> None:
    guess = dragoman.detect(PRINTED.body)[0]
    assert (guess.dialect, guess.facet) == (NAME, "messages")
    system, asked, said, first, second, _, file = read(PRINTED.body)
    assert system.role == "system"
    assert [type(block) for block in asked.content] == [Text, Media, Media, Media, Media]
    media = [b for b in asked.content if isinstance(b, Media)]
    assert [(b.kind, b.source.kind) for b in media] == [
        ("image", "base64"),
        ("image", "url"),
        ("document", "base64"),
        ("audio", "base64"),
    ]
    assert said.name == "bot"
    assert isinstance(said.content[0], Reasoning)
    calls = [block for block in said.content if isinstance(block, ToolCall)]
    assert [call.name for call in calls] == ["Weather-get", "now"]
    assert [call.arguments for call in calls] == ['{"city": "Paris"}', '{"a":1}']
    results = [m.content[0] for m in (first, second)]
    assert [r.name for r in results if isinstance(r, ToolResult)] == [None, None]
    assert isinstance(file.content[0], Media)
    assert file.content[0].source.issuer == "openai"


@pytest.mark.parametrize("target", ["anthropic-messages", "openai-chat", "langchain"])
def test_it_comes_back_and_all_that_is_lost_is_reported(target: str) -> None:
    again = dragoman.convert(PRINTED.body, source=NAME, target=NAME, facet="messages")
    assert again.document == PRINTED.body
    assert not again.losses
    testing.audit(PRINTED, target)


def call(**more: Any) -> Any:
    item = {"content_type": "function_call", "name": "P-f", "arguments": "{}", **more}
    return {"content_type": "message", "role": "assistant", "items": [item]}


def result(**more: Any) -> Any:
    item = {"content_type": "function_result", "name": "P-f", "result": "14 C", **more}
    return {"content_type": "message", "role": "tool", "items": [item]}


@pytest.mark.parametrize(
    "names",
    [
        {"name": "P-f"},
        {"name": "P-f", "function_name": "f", "plugin_name": "P"},
        {"name": None, "function_name": "f", "plugin_name": "P"},
    ],
)
def test_the_name_of_a_function_has_that_of_its_plugin(names: Any) -> None:
    doc = {"messages": [call(id="c1", **names), result(id="c1", **names)]}
    chat = dragoman.convert(doc, source=NAME, target="openai-chat", facet="messages")
    assert chat.document[0]["tool_calls"][0]["function"]["name"] == "P-f"
    assert not chat.losses


def test_the_ids_of_the_responses_api() -> None:
    doc = {"messages": [call(id="fc_1", call_id="c1"), result(id="fc_1", call_id="c1")]}
    messages = read(doc)
    block = messages[0].content[0]
    assert isinstance(block, ToolCall)
    assert (block.id, block.item_id) == ("c1", "fc_1")
    written = dragoman.convert(doc, source=NAME, target="openai-responses", facet="messages")
    assert [item["call_id"] for item in written.document["input"]] == ["c1", "c1"]
    assert written.document["input"][0]["id"] == "fc_1"
    assert not written.losses


def test_a_prompt_beside_the_messages_is_the_system_message() -> None:
    doc = {"system_message": "Be brief.", "messages": []}
    assert [message.role for message in read(doc)] == ["system"]


def test_results_of_one_message_are_told_apart() -> None:
    both = result(id="c1")
    both["items"] += result(id="c2")["items"]
    messages = read({"messages": [both]})
    assert [message.role for message in messages] == ["tool", "tool"]


def test_an_item_of_an_unknown_kind_is_kept() -> None:
    item = {"content_type": "annotation", "file_id": "file-1", "quote": "x"}
    doc = {"messages": [{"content_type": "message", "role": "assistant", "items": [item]}]}
    [message] = read(doc)
    assert isinstance(message.content[0], Raw)
    lost = dragoman.convert(doc, source=NAME, target="openai-chat", facet="messages").losses
    assert [loss.what for loss in lost if loss.what == "raw"] == ["raw"]


def test_the_document_is_known_by_its_items() -> None:
    document = Document("", NAME, "", "messages", False, [call(id="c1"), result(id="c1")])
    assert dragoman.detect(document.body)[0].dialect == NAME
