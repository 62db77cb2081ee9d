"""The laws of streams over every reply of the corpus, and streams that went wrong."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import pytest

import dragoman
import places
from choosing import tried
from dragoman import Transcoder, dialects, testing
from dragoman.dialects.openai_chat import OpenAIChat
from dragoman.model import Failure, Response
from dragoman.streams import events
from dragoman.streams.framing import framer
from dragoman.testing import Document, load_corpus
from portraits import streams

CORPUS = load_corpus(places.CORPUS)
STREAMS = [name for name in dialects.names() if "stream" in dialects.get(name).facets()]
ANSWERS = [
    document
    for case in CORPUS
    for document in case.documents
    if document.facet == "response" and not document.degraded and document.dialect in STREAMS
]
replies = pytest.mark.parametrize("document", ANSWERS, ids=lambda d: d.name)
targets = pytest.mark.parametrize("target", STREAMS)
PAIRS = [(document, target) for document in ANSWERS for target in tried(document, STREAMS)]
pairs = pytest.mark.parametrize(
    ("document", "target"), PAIRS, ids=[f"{target}-{document.name}" for document, target in PAIRS]
)


def stream(document: Document) -> bytes:
    return dragoman.decompose(document.body, document.dialect)


def as_array(data: bytes) -> bytes:
    return b"[" + b",\r\n".join(frame for _, frame in framer("sse").feed(data)) + b"]"


@pytest.mark.parametrize(
    "document",
    [d for c in CORPUS for d in c.documents if d.facet == "response"],
    ids=lambda d: d.name,
)
def test_collect_undoes_decompose(document: Document) -> None:
    tree = dialects.get(document.dialect).read(document.body, "response")
    assert isinstance(tree, Response)
    back = events.collect(events.decompose(tree))
    assert back == tree, testing.difference(back, tree)


@replies
def test_an_answer_flies(document: Document) -> None:
    testing.stream_and_back(document)


@pairs
def test_streaming_equals_batch(document: Document, target: str) -> None:
    testing.streaming_equals_batch(stream(document), document.dialect, target)


@pairs
def test_chunks_do_not_matter(document: Document, target: str) -> None:
    for size in (1, 7):
        testing.chunks_do_not_matter(stream(document), document.dialect, target, size)


# Each case in its own dialect and in another one, which the name of the case chooses.
CUT = [
    *((document.name, document.dialect, stream(document)) for document in ANSWERS),
    *((awkward.name, awkward.dialect, awkward.data) for awkward in streams()),
    *(
        (f"{d.name} as an array", d.dialect, as_array(stream(d)))
        for d in ANSWERS
        if dialects.get(d.dialect).framings == "either"
    ),
]


@pytest.mark.parametrize(("name", "source", "data"), CUT, ids=[name for name, *_ in CUT])
def test_cuts_do_not_matter(name: str, source: str, data: bytes) -> None:
    for target in (source, Random(name).choice(STREAMS)):
        testing.cuts_do_not_matter(data, source, target, name)


@pytest.mark.parametrize("framing", ["sse", "ndjson", "eventstream"])
def test_cuts_are_tried_in_every_framing(framing: str) -> None:
    assert any(dialects.get(source).framing == framing for _, source, _ in CUT)


@pairs
def test_never_a_false_success(document: Document, target: str) -> None:
    testing.never_a_false_success(stream(document), document.dialect, target)


def parsed(data: bytes, dialect: str) -> list[Any]:
    frames = framer(dialects.get(dialect).framing)
    found = [*frames.feed(data), *frames.close()]
    if dialects.get(dialect).framing == "eventstream":  # only the frame bears the name
        return [{name: json.loads(text)} for name, text in found]
    return [json.loads(text) for _, text in found if text != b"[DONE]"]


@pairs
def test_parsed_events_become_the_same_events(document: Document, target: str) -> None:
    """With an iterator or an asynchronous one, as with bytes."""
    source, data = document.dialect, stream(document)
    transcoder = Transcoder(source, target)
    wanted = parsed(transcoder.feed(data) + transcoder.close(), target)
    given = parsed(data, source)
    written = list(dragoman.transcode(given, source, target))
    assert written == wanted, testing.difference(written, wanted)

    async def one_by_one() -> AsyncIterator[Any]:
        for event in given:
            yield event

    async def heard() -> list[Any]:
        return [event async for event in dragoman.transcode(one_by_one(), source, target)]

    written = asyncio.run(heard())
    assert written == wanted, testing.difference(written, wanted)


CHUNKS: tuple[dict[str, Any], ...] = (
    {"role": "assistant", "reasoning_content": "Hm."},
    {"content": "Let me look."},
    {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{}"}}]},
    {"tool_calls": [{"index": 1, "function": {"name": "g", "arguments": "{}"}}]},
)


@pytest.mark.parametrize(("target", "count"), [("anthropic-messages", 3), ("openai-responses", 7)])
def test_what_was_named_on_the_way_keeps_its_name(target: str, count: int) -> None:
    """A server that names neither its reply nor its calls, and ids that never come again."""
    fresh = (f"_{number}" for number in range(100))
    transcoder = Transcoder("openai-chat", target, ids=lambda prefix: prefix + next(fresh))
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in CHUNKS]
    ended = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    data = b"".join(b"data: %b\n\n" % json.dumps(c).encode() for c in (*chunks, ended))
    written = (transcoder.feed(data) + transcoder.close()).decode()
    assert transcoder.response.failure is None
    assert len(set(re.findall(r'"(?:id|item_id|call_id)":"(\w+)"', written))) == count


SENSELESS: dict[str, tuple[dict[str, Any], ...]] = {
    "openai-chat": (
        {"choices": [{"index": 0, "delta": {"content": "Hi"}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": "many"},
    ),
    "anthropic-messages": (
        {"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "content": []}},
        {"type": "message_delta", "delta": {"stop_reason": 5}},
        {"type": "message_stop"},
    ),
    "openai-responses": (
        {"type": "response.created", "response": {"id": 5}},
        {"type": "response.completed", "response": {"id": "resp_1", "output": 3}},
    ),
}


@targets
@pytest.mark.parametrize("source", SENSELESS)
def test_an_answer_that_makes_no_sense_ends_in_an_error(source: str, target: str) -> None:
    transcoder = Transcoder(source, target)
    data = b"".join(b"data: %b\n\n" % json.dumps(c).encode() for c in SENSELESS[source])
    written = transcoder.feed(data + b"data: [DONE]\n\n") + transcoder.close()
    assert transcoder.problem is not None
    assert transcoder.response.failure is not None
    assert transcoder.response.failure.message.encode() in written


@pairs
def test_a_source_that_fails_without_a_word(document: Document, target: str) -> None:
    transcoder = Transcoder(document.dialect, target)
    data = stream(document)
    written = transcoder.feed(data[: len(data) // 2])
    if not transcoder.ended:
        written += transcoder.fail(Failure("overloaded", "The line is dead."))
        assert b"The line is dead." in written
        assert transcoder.response.failure == Failure("overloaded", "The line is dead.")
    assert transcoder.fail(Failure("server", "Again.")) == b""


@replies
def test_an_error_never_ends_up_inside_of_a_frame(document: Document) -> None:
    """What stays in its dialect passes as it is, but for a frame that broke off."""
    data = stream(document)
    for cut in range(0, len(data), 7):
        transcoder = Transcoder(document.dialect, document.dialect)
        written = transcoder.feed(data[:cut])
        if transcoder.ended:
            break
        written += transcoder.fail(Failure("overloaded", "The line is dead."))
        again = Transcoder(document.dialect, document.dialect)
        again.feed(written + transcoder.close())
        again.close()
        assert again.problem is None
        assert again.response.failure is not None
        assert again.response.failure.message == "The line is dead."


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_what_stays_in_its_dialect_passes_as_it_is(end: bytes, size: int) -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    data = (b"data: %b\n\n: \n\ndata: [DONE]\n" % json.dumps(chunk).encode()).replace(b"\n", end)
    transcoder = Transcoder("openai-chat", "openai-chat")
    written = [transcoder.feed(data[i : i + size]) for i in range(0, len(data), size)]
    assert b"".join(written) + transcoder.close() == data


CHATS = [name for name in STREAMS if isinstance(dialects.get(name), OpenAIChat)]


@pytest.mark.parametrize("target", CHATS)
def test_a_text_with_a_call_between_is_one_text(target: str) -> None:
    """Chat has one text: what comes of it after a call goes on where it was."""
    look = {"name": "look", "arguments": "{}"}
    call = {"index": 0, "id": "call_1", "type": "function", "function": look}
    deltas: tuple[dict[str, Any], ...] = (
        {"content": "Wait"},
        {"tool_calls": [call]},
        {"content": "ing."},
        {},
    )
    frames = [
        {
            "id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": None if delta else "stop"}],
        }
        for delta in deltas
    ]  # fmt: skip
    data = b"".join(b"data: %b\n\n" % json.dumps(frame).encode() for frame in frames)
    transcoder = Transcoder("openai-chat", target, now=0)
    out = transcoder.feed(data + b"data: [DONE]\n\n") + transcoder.close()
    found: Any = dragoman.collect(out, target).document
    assert found["choices"][0]["message"]["content"] == "Waiting."
