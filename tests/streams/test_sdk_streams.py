"""The official clients are happy: what they put together from our streams is what we say it is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from openai.types.chat import ChatCompletionChunk

import dragoman
import places
from dragoman import dialects
from dragoman.model import Refusal, Response, Text, ToolCall
from dragoman.testing import Document, load_corpus
from listener import REFUSALS, Json, Listener, loaded, tidy
from sdk import problems
from talks import cuts, replies

DIALECTS = ("anthropic-messages", "openai-chat", "openai-responses")
STREAMS = [name for name in dialects.names() if "stream" in dialects.get(name).facets()]
ANSWERS = [
    document
    for case in load_corpus(places.CORPUS)
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


def streamed(document: Document, target: str) -> tuple[dragoman.Transcoder, bytes]:
    """A response as the stream of another dialect, and who transcoded it."""
    transcoder = dragoman.Transcoder(document.dialect, target, now=0)
    written = transcoder.feed(dragoman.decompose(document.body, document.dialect))
    return transcoder, written + transcoder.close()


def is_named_last(transcoder: dragoman.Transcoder) -> bool:
    return "stream.head" in {loss.what for loss in transcoder.losses}


@answers
@targets
def test_the_client_hears_what_was_said(
    listener: Listener, document: Document, target: str
) -> None:
    transcoder, written = streamed(document, target)
    if transcoder.response.failure is not None:
        with pytest.raises(REFUSALS):
            listener.hear(written, target)
        return
    heard = listener.hear(written, target)
    if is_named_last(transcoder):  # clients take what the first event says
        rest = tidy(at_rest(document, target))
        heard |= {key: rest[key] for key in ("id", "model", "created") if key in rest}
    assert heard == tidy(dragoman.collect(written, target).document)
    if target != document.dialect:  # there the document may have another form than its stream
        assert heard == tidy(at_rest(document, target))


@answers
def test_chunks_of_a_chat(listener: Listener, document: Document) -> None:
    """Each chunk by itself is what a client of chats expects: one id, one role, counts at last."""
    transcoder = dragoman.Transcoder(document.dialect, "openai-chat", now=0)
    written = transcoder.feed(dragoman.decompose(document.body, document.dialect))
    written += transcoder.close()
    if transcoder.response.failure is not None:
        with pytest.raises(REFUSALS):
            listener.chunks(written)
        return
    chunks = listener.chunks(written)
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


# -- the clients of the other vendors, which put nothing together ---------------------------

OTHERS = (
    "bedrock-converse", "cohere", "gemini", "gemini-interactions", "mistral", "ollama",
)  # fmt: skip


def spoken(tree: Response) -> tuple[str, list[tuple[str, Json]]]:
    """The texts and the calls of the first candidate."""
    blocks = tree.candidates[0].message.content if tree.candidates else ()
    texts = [block.text for block in blocks if isinstance(block, Text | Refusal)]
    calls = [(b.name, loaded(b.arguments)) for b in blocks if isinstance(b, ToolCall)]
    return "".join(texts), calls


@pytest.mark.parametrize("document", [d for d in ANSWERS if not d.spelling], ids=lambda d: d.name)
@pytest.mark.parametrize("target", OTHERS)
def test_the_other_clients_hear_what_was_said(
    listener: Listener, document: Document, target: str
) -> None:
    transcoder, written = streamed(document, target)
    if transcoder.response.failure is not None:
        assert not has_finished(listener, written, target)
        return
    heard = listener.follow(written, target)
    assert heard.ending is not None
    tree = dragoman.read(dragoman.collect(written, target).document, target, facet="response")
    assert isinstance(tree, Response)
    assert (heard.text, heard.calls) == spoken(tree)


# -- cut streams ----------------------------------------------------------------------------


def has_finished(listener: Listener, written: bytes, target: str) -> bool:
    """Whether the client of a dialect takes a stream for a response that came to its end."""
    try:
        if target in OTHERS:
            return listener.follow(written, target).is_finished
        heard = listener.hear(written, target)
    except REFUSALS:
        return False
    return bool(heard.get("status", "completed") == "completed")


@pytest.mark.parametrize("source", STREAMS)
@pytest.mark.parametrize("target", DIALECTS + OTHERS)
def test_no_client_takes_a_cut_stream_for_a_whole_one(
    listener: Listener, source: str, target: str
) -> None:
    tried = 0
    for data in cuts(source):
        transcoder = dragoman.Transcoder(source, target, now=0)
        written = transcoder.feed(data) + transcoder.close()
        assert not has_finished(listener, written, target), written[-300:]
        tried += 1
    assert tried > 3
    whole = dragoman.Transcoder(source, target, now=0)
    written = whole.feed(dragoman.decompose(replies(source), source)) + whole.close()
    assert has_finished(listener, written, target)
