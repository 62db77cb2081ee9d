"""Pydantic AI's own library reads what we write, and we read what it writes."""

from __future__ import annotations

import json
import warnings
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace
from pydantic_ai import messages as pai

import dragoman
import places
from dragoman import dialects, testing
from dragoman.ledger import Ledger
from dragoman.model import (
    History,
    Hosted,
    Media,
    Message,
    Raw,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from dragoman.testing import Document, load_corpus

NAME = "pydantic-ai"
HISTORIES = [
    document
    for case in load_corpus(places.CORPUS)
    for document in case.documents
    if document.facet == "messages" and not document.degraded
]
GREAT = ("anthropic-messages", "openai-chat", "openai-responses", "gemini")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
PNG = b"\x89PNG\r\n\x1a\n"


def name_of(document: Document) -> str:
    return document.name


def loaded(doc: Any) -> list[Any]:
    return pai.ModelMessagesTypeAdapter.validate_python(doc)


def dumped(messages: list[Any]) -> Any:
    return json.loads(pai.ModelMessagesTypeAdapter.dump_json(messages))


def without_defaults(doc: Any) -> Any:
    """Without what the library adds: the lifetime of each cache mark, the time at which it has
    loaded a part, and the type of a file by its address."""
    if isinstance(doc, list):
        return [without_defaults(item) for item in doc]
    if isinstance(doc, dict):
        mark = doc.get("kind") == "cache-point" and doc.get("ttl") == "5m"
        gone = {"timestamp", *(("ttl",) if mark else ())}
        kept = {k: without_defaults(v) for k, v in doc.items() if k not in gone}
        return kept | {"media_type": None} if "url" in doc and "kind" in doc else kept
    return doc


@pytest.mark.parametrize("document", HISTORIES, ids=name_of)
def test_the_library_loads_what_is_written_and_means_the_same(document: Document) -> None:
    written = testing.converted(document, NAME).document
    own, dump = without_defaults(written), without_defaults(dumped(loaded(written)))
    for target in GREAT:
        if (ours := turned(own, target)) is not None:
            theirs = turned(dump, target)
            assert theirs == ours, testing.difference(theirs, ours)


def turned(doc: Any, target: str) -> Any:
    try:
        return testing.converted(Document("", NAME, "", "messages", False, doc), target).document
    except dragoman.Unsayable:
        return None


@pytest.mark.parametrize("document", HISTORIES, ids=name_of)
def test_nothing_of_the_library_is_a_loss_but_times(document: Document) -> None:
    """Its defaults, which it writes of every part, are no fields of anybody's."""
    if document.dialect == NAME:
        return
    written = testing.converted(document, NAME).document
    dump = Document("", NAME, "", "messages", False, dumped(loaded(written)))
    lost = [
        loss.path for loss in testing.converted(dump, "openai-chat").losses if loss.what == "extras"
    ]
    assert all(path.endswith("/timestamp") for path in lost)


def everything() -> list[Any]:
    """Messages with parts of every kind."""
    asked: list[Any] = [
        pai.SystemPromptPart("Be brief.", timestamp=NOW),
        pai.UserPromptPart(
            [
                "hi",
                pai.ImageUrl("https://example.com/a.png", vendor_metadata={"detail": "high"}),
                pai.BinaryContent(PNG, media_type="image/png"),
                pai.DocumentUrl("https://example.com/a.pdf", identifier="mine"),
                pai.CachePoint(),
                pai.TextContent("t", metadata={"a": 1}),
                pai.UploadedFile(file_id="file-1", provider_name="openai"),
            ],
            timestamp=NOW,
        ),
    ]
    said: list[Any] = [
        pai.ThinkingPart("hm", signature="c2ln", provider_name="anthropic"),
        pai.ThinkingPart("", id="redacted_thinking", signature="ZW5j", provider_name="anthropic"),
        pai.TextPart("ok", id="msg_1", provider_name="openai"),
        pai.ToolCallPart("f", {"a": 1}, tool_call_id="t1"),
        pai.ToolCallPart(
            "g",
            '{"a" : 1}',
            tool_call_id="t2",
            provider_name="google",
            provider_details={"thought_signature": "eA=="},
        ),
        pai.NativeToolCallPart(
            "web_search", {"q": 1}, tool_call_id="n1", provider_name="anthropic"
        ),
        pai.NativeToolReturnPart("web_search", {"r": 1}, tool_call_id="n1", timestamp=NOW),
        pai.FilePart(pai.BinaryContent(PNG, media_type="image/png")),
    ]
    picture = ["look", pai.BinaryContent(PNG, media_type="image/png")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # which the library has replaced, and stored before
        retries = [
            pai.RetryPromptPart("bad", tool_name="f", tool_call_id="t4", timestamp=NOW),
            pai.RetryPromptPart("Once more.", timestamp=NOW, tool_call_id="r1"),
        ]
    replied: list[Any] = [
        pai.ToolReturnPart("f", "r", tool_call_id="t1", timestamp=NOW),
        pai.ToolReturnPart("g", {"x": [1]}, tool_call_id="t2", timestamp=NOW, outcome="failed"),
        pai.ToolReturnPart("h", picture, tool_call_id="t3", timestamp=NOW, outcome="denied"),
        pai.ToolReturnPart("i", ["a", "b"], tool_call_id="t5", timestamp=NOW),
        *retries,
    ]
    return [
        pai.ModelRequest(parts=asked, instructions="Be kind.", run_id="r1"),
        pai.ModelResponse(parts=said, model_name="m", timestamp=NOW, provider_name="anthropic"),
        pai.ModelRequest(parts=replied, instructions="Be kind."),
    ]


def read(doc: Any) -> tuple[Message, ...]:
    tree = dialects.get(NAME).read(doc, "messages")
    assert isinstance(tree, History)
    return tree.messages


def test_what_the_library_dumps_comes_back_as_it_was() -> None:
    dump = dumped(everything())
    result = dragoman.convert(dump, source=NAME, target=NAME, facet="messages")
    assert result.document == dump
    assert not result.losses
    guess = dragoman.detect(dump)[0]
    assert (guess.dialect, guess.facet) == (NAME, "messages")
    document = Document("", NAME, "", "messages", False, dump)
    testing.identity(document)
    for target in (*GREAT, "langchain"):
        testing.same(document, target)
        testing.audit(document, target)
        testing.pointers(document, target)


def test_what_is_written_without_its_source_is_loaded_again() -> None:
    tree = dialects.get(NAME).read(dumped(everything()), "messages")
    assert isinstance(tree, History)
    written = dialects.get(NAME).write(replace(tree, original=None), Ledger())
    again = loaded(written)
    assert [message.kind for message in again] == ["request", "response", "request"]
    kinds = [[part.part_kind for part in message.parts] for message in again]
    assert kinds == [[part.part_kind for part in m.parts] for m in loaded(dumped(everything()))]
    assert {message.instructions for message in again if message.kind == "request"} == {"Be kind."}


def test_what_is_read_of_each_part() -> None:
    messages = read(dumped(everything()))
    assert [message.role for message in messages] == [
        *("system", "system", "user", "assistant"),
        *("tool", "tool", "tool", "tool", "tool", "user"),
    ]
    spoken = messages[0].content[0]
    assert isinstance(spoken, Text)
    assert (spoken.text, spoken.at) == ("Be kind.", "/2/instructions")
    asked = messages[2].content
    assert [type(block) for block in asked] == [Text, Media, Media, Media, Text, Media]
    assert isinstance(asked[1], Media)
    assert asked[1].detail == "high"
    assert isinstance(asked[3], Media)
    assert asked[3].cache is not None
    assert asked[3].extras is not None
    assert asked[3].extras.fields == {"identifier": "mine"}  # one that nobody chose is not kept
    said = messages[3].content
    signed = [b.signature for b in said if isinstance(b, Reasoning)]
    assert [(s.issuer, s.kind) for s in signed if s] == [
        ("anthropic", "signature"),
        ("anthropic", "encrypted"),
    ]
    calls = [block for block in said if isinstance(block, ToolCall)]
    assert [call.arguments for call in calls] == ['{"a":1}', '{"a" : 1}']
    assert calls[1].extras is not None
    assert calls[1].extras.signature is not None
    assert [type(block) for block in said[-3:]] == [Hosted, Hosted, Media]
    results = [m.content[0] for m in messages if m.role == "tool"]
    failed = [block.is_error for block in results if isinstance(block, ToolResult)]
    assert failed == [None, True, True, None, True]
    listed = results[3]
    assert isinstance(listed, ToolResult)
    assert [b.text for b in listed.content if isinstance(b, Text)] == ['["a","b"]']


def test_instructions_that_do_not_count_are_reported() -> None:
    """The model gets those of the last request alone."""
    part = {"part_kind": "user-prompt", "content": "Hi"}
    first = {"kind": "request", "parts": [part], "instructions": "Old."}
    last = {"kind": "request", "parts": [part], "instructions": "New."}
    said = {"kind": "response", "parts": [{"part_kind": "text", "content": "Yes?"}]}
    history = [first, said, last]
    result = dragoman.convert(history, source=NAME, target="openai-chat", facet="messages")
    assert result.document[0] == {"role": "system", "content": "New."}
    assert [str(loss.path) for loss in result.losses] == ["/0/instructions"]


def test_a_signature_of_google_is_that_of_the_next_part() -> None:
    parts = [
        {"part_kind": "thinking", "content": "Hm.", "signature": "eA=="},
        {"part_kind": "tool-call", "tool_name": "f", "args": "{}", "tool_call_id": "c1"},
    ]
    history = [{"kind": "response", "parts": parts, "provider_name": "google-gla"}]
    thought, call = read(history)[0].content
    assert isinstance(thought, Reasoning)
    assert thought.signature is None
    assert isinstance(call, ToolCall)
    assert call.extras is not None
    assert call.extras.signature is not None
    assert call.extras.signature.issuer == "google"


def test_a_value_that_only_looks_like_a_file_is_a_value() -> None:
    """ "a URL mapping without the key stays a plain `Mapping`": it is what the tool returned."""
    value = {"kind": "image-url", "url": "https://example.com/a.png"}
    returned = pai.ToolReturnPart("f", value, tool_call_id="c1", timestamp=NOW)
    dump = dumped([pai.ModelRequest(parts=[returned])])
    [block] = read(dump)[0].content
    assert isinstance(block, ToolResult)
    assert isinstance(block.content[0], Text)
    assert json.loads(block.content[0].text) == value


def test_a_part_of_an_unknown_kind_is_kept() -> None:
    part = {"part_kind": "speech", "speaker": "user", "transcript": "Hi"}
    [message] = read([{"kind": "request", "parts": [part]}])
    assert isinstance(message.content[0], Raw)
    assert message.content[0].payload == part
