"""The types of OpenTelemetry's own instrumentations have each key that we write, and no other."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from opentelemetry.util.genai import types as otel
from opentelemetry.util.genai import utils

import dragoman
import places
from dragoman import dialects, testing
from dragoman.model import History, Media, Reasoning, Text, ToolResult
from dragoman.testing import Document, load_corpus

NAME = "otel-genai"
HISTORIES = [
    document
    for case in load_corpus(places.CORPUS)
    for document in case.documents
    if document.facet == "messages" and not document.degraded and document.dialect != NAME
]
PARTS: dict[str, Any] = {
    "text": otel.TextPart,
    "reasoning": otel.ReasoningPart,
    "tool_call": otel.ToolCallRequestPart,
    "tool_call_response": otel.ToolCallResponsePart,
    "blob": otel.BlobPart,
    "uri": otel.UriPart,
    "file": otel.FilePart,
}


def name_of(document: Document) -> str:
    return document.name


def message_of(doc: Any) -> otel.InputMessage:
    """A message as an instrumentation makes it: an argument that it does not know is an error."""
    return otel.InputMessage(**{**doc, "parts": [part_of(part) for part in doc["parts"]]})


def part_of(doc: Any) -> Any:
    kind = PARTS[doc["type"]]
    fields = {field.name for field in dataclasses.fields(kind)}
    missing = {key: None for key in fields - doc.keys() if key in ("mime_type", "modality", "id")}
    return kind(**doc, **missing)


def dumped(messages: list[Any]) -> Any:
    docs = json.loads(utils.gen_ai_json_dumps([dataclasses.asdict(m) for m in messages]))
    return [without_nothing(doc) for doc in docs]


def without_nothing(value: Any) -> Any:
    return {key: item for key, item in value.items() if item is not None}


def turned(doc: Any, target: str) -> Any:
    try:
        return testing.converted(Document("", NAME, "", "messages", False, doc), target).document
    except dragoman.Unsayable:
        return None


@pytest.mark.parametrize("document", HISTORIES, ids=name_of)
def test_the_library_has_a_type_for_each_part(document: Document) -> None:
    written = testing.converted(document, NAME).document
    dump = dumped([message_of(doc) for doc in written])
    for target in ("anthropic-messages", "openai-chat", "gemini"):
        theirs, ours = turned(dump, target), turned(written, target)
        assert theirs == ours, testing.difference(theirs, ours)


def everything() -> list[Any]:
    said: list[Any] = [
        otel.ReasoningPart("Hm."),
        otel.TextPart("I look."),
        otel.ToolCallRequestPart({"n": 1}, "look", "c1"),
    ]
    asked: list[Any] = [
        otel.TextPart("Look:"),
        otel.BlobPart("image/png", otel.Modality.IMAGE, b"\x89PNG\r\n\x1a\n"),
        otel.UriPart(None, "image", "https://example.com/a.png"),
    ]
    returned = otel.ToolCallResponsePart({"animals": ["cat"]}, "c1")
    return [
        otel.InputMessage("user", asked),
        otel.InputMessage("assistant", said),
        otel.InputMessage("tool", [returned]),
    ]


def read(doc: Any) -> History:
    tree = dialects.get(NAME).read(doc, "messages")
    assert isinstance(tree, History)
    return tree


def test_what_an_instrumentation_records_is_read() -> None:
    dump = json.loads(utils.gen_ai_json_dumps([dataclasses.asdict(m) for m in everything()]))
    assert dragoman.detect(dump)[0].dialect == NAME
    asked, said, returned = read(dump).messages
    assert [type(block) for block in asked.content] == [Text, Media, Media]
    assert isinstance(said.content[0], Reasoning)
    result = returned.content[0]
    assert isinstance(result, ToolResult)
    assert [b.text for b in result.content if isinstance(b, Text)] == ['{"animals":["cat"]}']
    again = dragoman.convert(dump, source=NAME, target=NAME, facet="messages")
    assert again.document == dump
    assert not again.losses


def attributes() -> dict[str, str]:
    """The attributes of a span, whose values are JSON as text."""
    text = [{"type": "text", "content": "Be brief."}]
    output = [{"role": "assistant", "parts": [{"type": "text", "content": "Cat."}]}]
    asked = utils.gen_ai_json_dumps([dataclasses.asdict(message) for message in everything()])
    return {
        "gen_ai.system_instructions": json.dumps(text),
        "gen_ai.input.messages": asked,
        "gen_ai.output.messages": json.dumps(output),
    }


def test_the_attributes_of_a_span_are_one_conversation() -> None:
    span = attributes()
    roles = [message.role for message in read(span).messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant"]
    result = dragoman.convert(span, source=NAME, target="openai-chat", facet="messages")
    assert [m["role"] for m in result.document] == roles


def test_losses_in_text_point_to_their_attribute() -> None:
    result = dragoman.convert(attributes(), source=NAME, target="openai-chat", facet="messages")
    assert {loss.path for loss in result.losses} == {"/gen_ai.input.messages"}


def test_the_older_name_of_what_a_tool_returned() -> None:
    part = {"type": "tool_call_response", "id": "c1", "result": "14 C"}
    result = dragoman.convert(
        [{"role": "tool", "parts": [part]}], source=NAME, target="openai-chat", facet="messages"
    )
    assert result.document == [{"role": "tool", "tool_call_id": "c1", "content": "14 C"}]


def test_results_in_a_turn_of_the_user() -> None:
    parts = [
        {"type": "tool_call_response", "id": "c1", "response": "14 C"},
        {"type": "text", "content": "And now?"},
    ]
    roles = [m.role for m in read([{"role": "user", "parts": parts}]).messages]
    assert roles == ["tool", "user"]
