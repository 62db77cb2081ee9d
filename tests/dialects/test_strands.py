"""Strands Agents' own types judge what we write, and we read what its sessions store."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest
from pydantic import TypeAdapter

import dragoman
import places
from dragoman import dialects, testing
from dragoman.model import History, Media, Reasoning, Text, ToolCall, ToolResult
from dragoman.testing import Document, load_corpus

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of other packages, which the framework imports
    from strands.types.content import Message as StrandsMessage
    from strands.types.session import SessionMessage, decode_bytes_values

NAME = "strands"
HISTORIES = [
    document
    for case in load_corpus(places.CORPUS)
    for document in case.documents
    if document.facet == "messages" and not document.degraded and document.dialect != NAME
]
GREAT = ("anthropic-messages", "openai-chat", "bedrock-converse", "gemini")
ADAPTER: TypeAdapter[Any] = TypeAdapter(StrandsMessage)
PNG = b"\x89PNG\r\n\x1a\n"


def name_of(document: Document) -> str:
    return document.name


def turned(doc: Any, target: str) -> Any:
    try:
        return testing.converted(Document("", NAME, "", "messages", False, doc), target).document
    except dragoman.Unsayable:
        return None


def stored(messages: list[Any]) -> list[Any]:
    """Messages as a session manager stores them, without the dates."""
    docs = [SessionMessage(message, index).to_dict() for index, message in enumerate(messages)]
    kept = [{k: v for k, v in doc.items() if k not in ("created_at", "updated_at")} for doc in docs]
    loaded: list[Any] = json.loads(json.dumps(kept))
    return loaded


@pytest.mark.parametrize("document", HISTORIES, ids=name_of)
def test_the_library_takes_what_is_written_and_means_the_same(document: Document) -> None:
    written = testing.converted(document, NAME).document
    alone = written["messages"] if isinstance(written, dict) else written
    decoded = decode_bytes_values(alone)
    for message in decoded:
        assert ADAPTER.validate_python(message) == message  # else there is a key it does not know
    again = stored(decoded)
    for target in GREAT:
        theirs, ours = turned(again, target), turned(alone, target)
        assert theirs == ours, testing.difference(theirs, ours)


def test_the_library_can_refuse() -> None:
    with pytest.raises(ValueError, match="role"):
        ADAPTER.validate_python({"role": "tool", "content": []})
    with pytest.raises(ValueError, match="format"):
        ADAPTER.validate_python({"role": "user", "content": [{"image": {"format": "svg"}}]})


def everything() -> list[Any]:
    """Messages with blocks of every kind."""
    image = {"image": {"format": "png", "source": {"bytes": PNG}}}
    said = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}
    calls = [
        {"toolUse": {"toolUseId": "c1", "name": "f", "input": {"a": 1}}},
        {
            "toolUse": {
                "toolUseId": "c2",
                "name": "f",
                "input": {},
                "reasoningSignature": "Z29v",
            }
        },
    ]
    returned = [
        {"toolResult": {"toolUseId": "c1", "status": "success", "content": [{"json": {"c": 14}}]}},
        {"toolResult": {"toolUseId": "c2", "status": "error", "content": [{"text": "No."}]}},
    ]
    return [
        {
            "role": "user",
            "content": [{"text": "Look:"}, image, {"cachePoint": {"type": "default"}}],
        },
        {"role": "assistant", "content": [said, {"text": "I ask."}, *calls]},
        {"role": "user", "content": [*returned, {"text": "And?"}]},
    ]


def read(doc: Any) -> History:
    tree = dialects.get(NAME).read(doc, "messages")
    assert isinstance(tree, History)
    return tree


def test_what_a_session_stores_is_read_and_comes_back() -> None:
    docs = [SessionMessage(m, i).to_dict() for i, m in enumerate(everything())]
    dump = json.loads(json.dumps(docs))
    guess = dragoman.detect(dump)[0]
    assert (guess.dialect, guess.facet) == (NAME, "messages")
    result = dragoman.convert(dump, source=NAME, target=NAME, facet="messages")
    assert result.document == dump
    assert not result.losses
    asked, said, first, second, more = read(dump).messages
    assert [type(block) for block in asked.content] == [Text, Media]
    assert isinstance(asked.content[1], Media)
    assert asked.content[1].cache is not None
    thought, _, _, call = said.content
    assert isinstance(thought, Reasoning)
    assert thought.signature is not None
    assert thought.signature.issuer == "anthropic"
    assert isinstance(call, ToolCall)
    assert call.extras is not None
    assert call.extras.signature is not None
    assert call.extras.signature.issuer == "google"
    assert isinstance(first.content[0], ToolResult)
    assert first.content[0].is_error is None
    assert isinstance(second.content[0], ToolResult)
    assert second.content[0].is_error
    assert more.role == "user"
    for target in (*GREAT, "langchain"):
        testing.audit(Document("", NAME, "", "messages", False, dump), target)


def test_a_message_that_was_redacted_is_what_it_was_redacted_to() -> None:
    redacted = {"role": "user", "content": [{"text": "[redacted]"}]}
    secret = {"role": "user", "content": [{"text": "My number is 5."}]}
    doc = [{"message": secret, "message_id": 0, "redact_message": redacted}]
    result = dragoman.convert(doc, source=NAME, target="openai-chat", facet="messages")
    assert result.document == [{"role": "user", "content": "[redacted]"}]
    assert [loss.path for loss in result.losses] == ["/0/message"]


def test_the_system_prompt_stands_beside_the_messages() -> None:
    history = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    result = dragoman.convert(history, source="openai-chat", target=NAME, facet="messages")
    assert result.document == {
        "system_prompt": "Be brief.",
        "messages": [{"role": "user", "content": [{"text": "Hi"}]}],
    }
    assert not result.losses
    assert dragoman.detect(result.document)[0].dialect == NAME
