"""Every dialect as the caller's: asked in it, answered in it, whole and streaming."""

from __future__ import annotations

import json

import pytest

import dragoman
from dragoman import dialects
from dragoman.model import Failure, History, Request
from dragoman.providers import Overloaded, Provider, ServerFailed
from talks import EXPECTED, QUESTION, heard, replies, request_of, spoken, written
from upstream import Say, Tell, Upstream, awkward

GREAT = ("anthropic-messages", "openai-chat", "openai-responses")


def has(name: str, *facets: str) -> bool:
    return all(dialects.get(name).facets().get(facet) == ("read", "write") for facet in facets)


CALLERS = [name for name in dialects.names() if has(name, "request", "response")]
STREAMING = [name for name in CALLERS if has(name, "stream")]
WITH_HISTORY = [name for name in CALLERS if dialects.get(name).history is not None]
ERRING = [name for name in STREAMING if has(name, "error")]
pairs = [(caller, upstream) for caller in CALLERS for upstream in GREAT]


def test_there_are_callers_enough() -> None:
    assert len(CALLERS) >= 29
    assert len(STREAMING) >= 27
    apis = (name for name in dialects.names() if not dialects.get(name).lines)
    speaking = {name for name in apis if has(name, "messages")}
    # What a program keeps, and what a model learns from: nobody asks with it, and nobody answers.
    stored = {"goose", "langchain", "langchain-dumpd", "llamaindex", "opencode", "pydantic-ai"}
    stored |= {"google-adk", "openai-agents", "otel-genai", "semantic-kernel", "strands"}
    stored |= {"vercel-ui"}
    learned = {"functiongemma-teaching", "openai-finetune", "sharegpt", "trl", "trl-completion"}
    learned |= {"chatml", "hermes", "mistral-finetune"}
    assert speaking - set(CALLERS) == stored | learned
    prompts = {"functiongemma", "functiongemma-nobos"}
    assert set(CALLERS) - set(STREAMING) == prompts | {"mcp"}  # a result comes whole


def provider(upstream: Upstream, target: str, caller: str) -> Provider:
    return Provider(target, url=f"{upstream.url}/v1", key="k", model="m", dialect=caller)


@pytest.mark.parametrize(("caller", "target"), pairs)
def test_a_whole_request_and_its_reply(caller: str, target: str) -> None:
    with Upstream(replies(target)) as upstream, provider(upstream, target, caller) as model:
        reply = model.request(request_of(caller))
        sent = upstream.seen[0].document
    assert heard(sent, target) == [QUESTION]
    assert not sent.get("stream")
    tree = dragoman.read(sent, target)
    assert isinstance(tree, Request)
    assert [tool.name for tool in tree.tools or ()] == ["look"]
    assert written(reply.document, caller) == EXPECTED


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
            reply = model.create(history, tools=tools)
            grown = reply.append(history)
            model.create(grown, tools=tools)
        first, second = (seen.document for seen in upstream.seen)
    assert not first.get("stream")
    assert first["model"] == second["model"] == "m"
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
    assert written(talk.reply.document, caller) == EXPECTED
    assert written(dragoman.collect(raw, caller).document, caller) == EXPECTED


@pytest.mark.parametrize("caller", [name for name in STREAMING if name in WITH_HISTORY])
def test_a_text_of_the_user_and_a_stream_of_its_reply(caller: str) -> None:
    """A string is what the user says, in whatever form a history is."""
    target = "anthropic-messages"
    stream = dragoman.decompose(replies(target), target)
    with Upstream(replies(target), Tell(awkward(stream)), strict=False) as upstream:
        with provider(upstream, target, caller) as model:
            reply = model.create(QUESTION)
            grown = reply.append(QUESTION)
            talk = model.stream(grown)
            events = list(talk)
        first, second = (seen.document for seen in upstream.seen)
    assert heard(first, target) == heard(second, target) == [QUESTION]
    assert (first["model"], second["model"]) == ("m", "m")
    assert second["stream"] is True
    assert events
    tree = dragoman.read(second, target)
    assert isinstance(tree, Request)
    assert [spoken(m) for m in tree.messages if m.role == "assistant"] == [EXPECTED]
    assert written(talk.reply.document, caller) == EXPECTED


@pytest.mark.parametrize("caller", ERRING)
def test_an_error_in_the_callers_words(caller: str) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Busy."}}
    failed = {"type": "error", "error": {"type": "api_error", "message": "Oh."}}
    started = b"event: error\ndata: " + json.dumps(failed).encode() + b"\n\n"
    with (
        Upstream(Say(529, error), Tell([started]), strict=False) as upstream,
        provider(upstream, "anthropic-messages", caller) as model,
    ):
        with pytest.raises(Overloaded) as refused:
            model.request(request_of(caller))
        with pytest.raises(ServerFailed):
            list(model.stream_request(request_of(caller, True)))
    failure = dragoman.read(refused.value.document, caller, facet="error")
    assert isinstance(failure, Failure)
    assert "Busy." in failure.message


@pytest.mark.parametrize("caller", [name for name in CALLERS if name not in STREAMING])
def test_a_caller_without_streams_is_told_so(caller: str) -> None:
    refused = pytest.raises(dragoman.Unsupported, match="has no stream")
    url = "http://127.0.0.1:1"
    with Provider("openai-chat", url=url, model="m", dialect=caller) as model, refused:
        list(model.stream_request(request_of(caller)))
