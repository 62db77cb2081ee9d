"""Every dialect as the caller's: asked in it, answered in it, whole and streaming."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

import dragoman
import dragoman.reading
from dragoman import dialects
from dragoman.model import History, Message, Params, Request, Response, Text, Tool, ToolCall
from dragoman.providers import Provider
from upstream import Tell, Upstream, awkward

GREAT = ("anthropic-messages", "openai-chat", "openai-responses")
QUESTION, ANSWER = "What is the weather in Pera?", "Let me look."
TREE = Request(
    "m",
    (Message("user", (Text(QUESTION),)),),
    (Tool("look", "Looks.", {"type": "object", "properties": {"city": {"type": "string"}}}),),
)


def has(name: str, *facets: str) -> bool:
    return all(dialects.get(name).facets().get(facet) == ("read", "write") for facet in facets)


CALLERS = [name for name in dialects.names() if has(name, "request", "response")]
STREAMING = [name for name in CALLERS if has(name, "stream")]
WITH_HISTORY = [name for name in CALLERS if dialects.get(name).history is not None]
pairs = [(caller, upstream) for caller in CALLERS for upstream in GREAT]


def test_there_are_callers_enough() -> None:
    assert len(CALLERS) >= 28
    assert len(STREAMING) >= 18


def replies(upstream: str) -> dict[str, Any]:
    reply = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [
            {"type": "text", "text": ANSWER},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"city": "Pera"}},
        ],
        "stop_reason": "tool_use", "stop_sequence": None,
        "usage": {"input_tokens": 7, "output_tokens": 5},
    }  # fmt: skip
    document: dict[str, Any] = dragoman.convert(
        reply, source=GREAT[0], target=upstream, facet="response", now=1
    ).document
    return document


def request_of(caller: str, stream: bool | None = None) -> Any:
    return dragoman.write(replace(TREE, params=Params(stream=stream)), caller).document


def heard(document: Any, upstream: str) -> list[str]:
    """What the user said, as the upstream reads it."""
    tree = dragoman.read(document, upstream)
    assert isinstance(tree, Request)
    return [
        block.text
        for message in tree.messages
        if message.role == "user"
        for block in message.content
        if isinstance(block, Text)
    ]


def said(document: Any, caller: str) -> list[Any]:
    """What a response says: its texts, and its calls."""
    tree = dragoman.read(document, caller, facet="response")
    assert isinstance(tree, Response)
    return spoken(tree.candidates[0].message)


def spoken(message: Message) -> list[Any]:
    texts = "".join(block.text for block in message.content if isinstance(block, Text)).strip()
    calls = [
        (block.name, dragoman.reading.decode(block.arguments))
        for block in message.content
        if isinstance(block, ToolCall)
    ]
    return [texts, *calls]


EXPECTED = [ANSWER, ("look", {"city": "Pera"})]


def provider(upstream: Upstream, target: str, caller: str) -> Provider:
    return Provider(target, url=f"{upstream.url}/v1", key="k", model="m", dialect=caller)


@pytest.mark.parametrize(("caller", "target"), pairs)
def test_a_whole_request_and_its_reply(caller: str, target: str) -> None:
    with Upstream(replies(target)) as upstream, provider(upstream, target, caller) as model:
        answer = model.request(request_of(caller))
        sent = upstream.seen[0].document
    assert heard(sent, target) == [QUESTION]
    assert not sent.get("stream")
    tree = dragoman.read(sent, target)
    assert isinstance(tree, Request)
    assert [tool.name for tool in tree.tools or ()] == ["look"]
    assert said(answer.document, caller) == EXPECTED


@pytest.mark.parametrize("target", GREAT)
@pytest.mark.parametrize("caller", WITH_HISTORY)
def test_a_history_and_the_next_turn(caller: str, target: str) -> None:
    """``create`` sends the history that it is given, and the reply fits at its end."""
    document = request_of(caller)
    key = dialects.get(caller).history
    assert key is not None
    history, tools = document[key], document.get("tools")
    with Upstream(replies(target), replies(target), strict=False) as upstream:
        with provider(upstream, target, caller) as model:
            answer = model.create(history, tools=tools)
            grown = answer.append(history)
            model.create(grown, tools=tools)
        first, second = (seen.document for seen in upstream.seen)
    assert not first.get("stream")
    assert heard(first, target) == [QUESTION]
    tree = dragoman.read(second, target)
    assert isinstance(tree, Request)
    assert [spoken(m) for m in tree.messages if m.role == "assistant"] == [EXPECTED]
    read = dragoman.read(grown, caller, facet="messages")
    assert isinstance(read, History)
    assert read.messages[-1].role == "assistant"


@pytest.mark.parametrize("target", GREAT)
@pytest.mark.parametrize("caller", STREAMING)
def test_a_stream(caller: str, target: str) -> None:
    stream = dragoman.decompose(replies(target), target)
    with Upstream(Tell(awkward(stream)), Tell(awkward(stream))) as upstream:
        with provider(upstream, target, caller) as model:
            talk = model.stream_request(request_of(caller, True))
            events = list(talk)
            raw = b"".join(model.stream_request(request_of(caller, True)).raw())
        sent = [seen.document for seen in upstream.seen]
    assert events
    assert all(heard(document, target) == [QUESTION] for document in sent)
    assert all(document["stream"] is True for document in sent)
    assert said(talk.answer.document, caller) == EXPECTED
    assert said(dragoman.collect(raw, caller).document, caller) == EXPECTED


@pytest.mark.parametrize("caller", [name for name in CALLERS if name not in STREAMING])
def test_a_caller_without_streams_is_told_so(caller: str) -> None:
    refused = pytest.raises(dragoman.Unsupported, match="has no stream")
    with Provider("openai-chat", url="http://127.0.0.1:1", dialect=caller) as model, refused:
        list(model.stream_request(request_of(caller)))
