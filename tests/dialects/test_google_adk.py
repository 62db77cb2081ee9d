"""Google's types take the contents that we write, and its events have the keys.

The package excludes the versions of other vendors' SDKs that the tests have, so the fields of an
event stand here: google-adk 2.13, events/event.py, which forbids any other.
"""

from __future__ import annotations

from typing import Any

import pytest
from google.genai import types

import dragoman
import places
from dragoman import testing
from dragoman.testing import Document, load_corpus

NAME = "google-adk"
FIELDS = {
    "content", "author", "invocationId", "actions", "nodeInfo", "id", "timestamp", "partial",
    "turnComplete", "finishReason", "usageMetadata", "errorCode", "errorMessage", "branch",
    "longRunningToolIds", "groundingMetadata", "customMetadata", "interrupted",
}  # fmt: skip
HISTORIES = [
    document
    for case in load_corpus(places.CORPUS)
    for document in case.documents
    if document.facet == "messages" and not document.degraded
]


@pytest.mark.parametrize("document", HISTORIES, ids=lambda d: d.name)
def test_googles_types_take_what_is_written(document: Document) -> None:
    written = testing.converted(document, NAME).document
    for event in written["events"] if isinstance(written, dict) else written:
        assert event.keys() <= FIELDS
        assert event["author"]
        if "content" in event:
            types.Content.model_validate(event["content"])


def event(author: str, role: str, *parts: Any, **more: Any) -> dict[str, Any]:
    return {"author": author, "content": {"parts": list(parts), "role": role}, **more}


CALL = {"functionCall": {"id": "adk-1", "name": "look", "args": {}}}
RESULT = {"functionResponse": {"id": "adk-1", "name": "look", "response": {"output": "7"}}}


def test_events_are_known_by_their_authors() -> None:
    events = [event("user", "user", {"text": "Hi"}), event("looker", "model", {"text": "Oh."})]
    assert dragoman.detect(events)[0].dialect == NAME
    assert dragoman.detect({"id": "s", "appName": "a", "events": events})[0].dialect == NAME


def test_what_every_event_has_is_no_loss_and_what_it_changes_is_one() -> None:
    nothing: dict[str, Any] = {"stateDelta": {}, "artifactDelta": {}}
    events = [
        event("user", "user", {"text": "Hi"}, actions=nothing, nodeInfo={"path": ""}),
        event("looker", "model", CALL, actions=nothing),
        event("looker", "user", RESULT, actions={**nothing, "stateDelta": {"seen": 1}}),
    ]
    there = dragoman.convert(events, source=NAME, target="openai-chat", facet="messages")
    assert [loss.path for loss in there.losses] == ["/2/actions"]
    assert there.document[1]["name"] == "looker"


def test_keys_in_snake_case_are_read() -> None:
    call = {"function_call": {"id": "adk-1", "name": "look", "args": {}}}
    result = {"function_response": {"id": "adk-1", "name": "look", "response": {"output": "7"}}}
    snake = [event("a", "model", call), event("a", "user", result)]
    camel = [event("a", "model", CALL), event("a", "user", RESULT)]
    one, two = (
        dragoman.convert(events, source=NAME, target="anthropic-messages", facet="messages")
        for events in (snake, camel)
    )
    assert one.document == two.document
