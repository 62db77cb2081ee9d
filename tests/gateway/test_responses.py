"""Conversations that are continued by an id, over HTTP and over a WebSocket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from websockets.sync.client import connect

from dragoman.model import Text
from gateways import Model, chain

REPLIES = ({"text": "One."}, {"text": "Two."}, {"text": "Three."})


@pytest.fixture(scope="module")
def talk() -> Iterator[tuple[str, Model]]:
    with chain("anthropic-messages", *REPLIES) as found:
        yield found


@pytest.fixture
def sdk(talk: tuple[str, Model]) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{talk[0]}/v1", api_key="k", max_retries=0) as client:
        yield client


def told(model: Model) -> list[str]:
    """The texts of the last request."""
    blocks = [block for message in model.asked[-1].messages for block in message.content]
    return [block.text for block in blocks if isinstance(block, Text)]


def test_a_response_is_continued_shown_and_deleted(
    talk: tuple[str, Model], sdk: openai.OpenAI
) -> None:
    first = sdk.responses.create(model="m", input="a")
    second = sdk.responses.create(model="m", input="b", previous_response_id=first.id)
    third = sdk.responses.create(model="m", input="c", previous_response_id=second.id)
    assert third.output_text == "Three."
    assert told(talk[1]) == ["a", "One.", "b", "Two.", "c"]
    assert sdk.responses.retrieve(third.id).output_text == "Three."
    items = sdk.responses.input_items.list(third.id).data
    assert len(items) == 5
    sdk.responses.delete(third.id)
    with pytest.raises(openai.NotFoundError):
        sdk.responses.retrieve(third.id)


def test_what_is_not_stored_cannot_be_continued(sdk: openai.OpenAI) -> None:
    first = sdk.responses.create(model="m", input="not kept", store=False)
    with pytest.raises(openai.NotFoundError, match="is not stored"):
        sdk.responses.create(model="m", input="b", previous_response_id=first.id)


def test_a_stream_is_stored_too(talk: tuple[str, Model], sdk: openai.OpenAI) -> None:
    with sdk.responses.stream(model="m", input="a") as events:
        first = events.get_final_response()
    sdk.responses.create(model="m", input="b", previous_response_id=first.id)
    assert told(talk[1]) == ["a", "One.", "b"]


def test_a_socket_answers_one_request_after_the_other(talk: tuple[str, Model]) -> None:
    url = talk[0].replace("http", "ws") + "/v1/responses"
    with connect(url, additional_headers={"authorization": "Bearer k"}) as socket:
        socket.send(json.dumps({"type": "response.create", "model": "m", "generate": False}))
        assert heard(socket)[-1]["response"]["output"] == []
        asked: dict[str, Any] = {"type": "response.create", "model": "m", "store": False}
        socket.send(json.dumps({**asked, "input": "a"}))
        events = heard(socket)
        assert events[0]["type"] == "response.created"
        name = events[-1]["response"]["id"]
        socket.send(json.dumps({**asked, "input": "b", "previous_response_id": name}))
        done = heard(socket)[-1]
        assert done["response"]["output"][0]["content"][0]["text"] == "Two."
        assert told(talk[1]) == ["a", "One.", "b"]
        socket.send(json.dumps({**asked, "input": "c", "previous_response_id": "resp_none"}))
        assert heard(socket)[-1]["type"] == "error"
        socket.send("{")
        assert heard(socket)[-1]["status"] == 400


def heard(socket: Any) -> list[dict[str, Any]]:
    """The events of one reply."""
    events: list[dict[str, Any]] = []
    while not events or events[-1]["type"] not in ("response.completed", "error"):
        events.append(json.loads(socket.recv(timeout=20)))
    return events


def test_without_a_store_nothing_is_continued() -> None:
    with (
        chain("anthropic-messages", *REPLIES, store="none") as (url, _),
        openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client,
    ):
        first = client.responses.create(model="m", input="a")
        with pytest.raises(openai.BadRequestError, match="no store is configured"):
            client.responses.create(model="m", input="b", previous_response_id=first.id)
        with pytest.raises(openai.BadRequestError, match="no store is configured"):
            client.responses.create(model="m", input="b", store=True)
