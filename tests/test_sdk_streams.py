"""The official clients are happy: what they put together from our streams is what we say it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from openai.types.chat import ChatCompletionChunk

import dragoman
from dragoman import dialects
from dragoman.testing import Document, load_corpus
from listener import REFUSALS, Json, Listener, tidy
from sdk import problems

DIALECTS = ("anthropic-messages", "openai-chat", "openai-responses")
STREAMS = [name for name in dialects.names() if "stream" in dialects.get(name).facets()]
ANSWERS = [
    document
    for case in load_corpus(Path(__file__).parent / "corpus")
    for document in case.documents
    if document.facet == "response"
    and not document.degraded
    and document.dialect in STREAMS
    and document.dialect not in case.unofficial  # such blocks the client does not know either
]
answers = pytest.mark.parametrize("document", ANSWERS, ids=lambda d: d.name)
targets = pytest.mark.parametrize("target", DIALECTS)


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    with Listener() as listening:
        yield listening


def test_the_judge_leaves_the_clients_alone() -> None:
    """Types made strict for judging would make the clients deaf to what they do not know."""
    unknown = {"delta": {"reasoning_content": "Hm."}, "index": 0, "finish_reason": None}
    assert any("reasoning" in word for word in problems("openai-chat", "event", chunk(unknown)))
    heard = ChatCompletionChunk.model_validate(chunk(unknown))
    assert heard.to_dict()["choices"] == [unknown]


def chunk(choice: Json) -> Json:
    about = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    return {**about, "choices": [choice]}


def at_rest(document: Document, target: str) -> Json:
    return dragoman.convert(
        document.body, source=document.dialect, target=target, facet="response", now=0
    ).document


def is_named_last(transcoder: dragoman.Transcoder) -> bool:
    return "stream.head" in {loss.what for loss in transcoder.losses}


@answers
@targets
def test_the_client_hears_what_was_said(
    listener: Listener, document: Document, target: str
) -> None:
    transcoder = dragoman.Transcoder(document.dialect, target, now=0)
    said = transcoder.feed(dragoman.decompose(document.body, document.dialect))
    said += transcoder.close()
    if transcoder.response.failure is not None:
        with pytest.raises(REFUSALS):
            listener.hear(said, target)
        return
    heard = listener.hear(said, target)
    if is_named_last(transcoder):  # clients take what the first event says
        rest = tidy(at_rest(document, target))
        heard |= {key: rest[key] for key in ("id", "model", "created") if key in rest}
    assert heard == tidy(dragoman.collect(said, target).document)
    assert heard == tidy(at_rest(document, target))


@answers
def test_chunks_of_a_chat(listener: Listener, document: Document) -> None:
    """Each chunk by itself is what a client of chats expects: one id, one role, counts at last."""
    transcoder = dragoman.Transcoder(document.dialect, "openai-chat", now=0)
    said = transcoder.feed(dragoman.decompose(document.body, document.dialect))
    said += transcoder.close()
    if transcoder.response.failure is not None:
        with pytest.raises(REFUSALS):
            listener.chunks(said)
        return
    chunks = listener.chunks(said)
    heads = {(chunk["id"], chunk["model"], chunk["created"]) for chunk in chunks}
    assert len(heads) == 1 + is_named_last(transcoder)
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    counted = [place for place, chunk in enumerate(chunks) if chunk.get("usage")]
    if transcoder.response.usage is not None:
        assert counted == [len(chunks) - 1]
        assert chunks[-1]["choices"] == []
    choices = [chunk["choices"][0] for chunk in chunks if chunk["choices"]]
    for number in {choice["index"] for choice in choices}:
        mine = [choice for choice in choices if choice["index"] == number]
        assert mine[0]["delta"]["role"] == "assistant"
        assert not any("role" in choice["delta"] for choice in mine[1:])
        reasons = [choice["finish_reason"] for choice in mine]
        assert reasons[-1] is not None
        assert not any(reasons[:-1])
