"""Bedrock's Converse, with Amazon's own client as the judge."""

from __future__ import annotations

import base64
import json
from itertools import pairwise
from typing import Any, get_args

import botocore.session
import pytest
from botocore.eventstream import EventStreamBuffer
from botocore.parsers import EventStreamJSONParser
from hypothesis import given
from hypothesis import strategies as st

import dragoman
import places
import sdk
from dragoman import Malformed, Transcoder
from dragoman.model import ErrorKind, Failure
from dragoman.streams.framing import framer
from dragoman.streams.framing.eventstream import write_frame
from dragoman.testing import Document, load_corpus

NAME = "bedrock-converse"
CORPUS = load_corpus(places.CORPUS)
HI = {"role": "user", "content": "Hi"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    "document",
    [d for case in CORPUS for d in case.documents
     if d.facet == "request" and d.dialect in ("openai-chat", "anthropic-messages")],
    ids=lambda d: d.name,
)  # fmt: skip
def test_the_official_client_accepts_what_is_written(document: Document) -> None:
    doc = dragoman.convert(document.body, source=document.dialect, target=NAME).document
    assert sdk.problems(NAME, "request", doc) == []


def test_the_official_client_accepts_an_answer() -> None:
    reply = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}
    doc = dragoman.convert(reply, source="openai-chat", target=NAME, facet="response").document
    assert sdk.problems(NAME, "response", doc) == []


def convert(messages: list[Any], **more: Any) -> dragoman.Result:
    request = {"messages": messages, **more}
    return dragoman.convert(request, source="openai-chat", target=NAME, facet="request")


def test_tools_are_defined_as_long_as_they_are_used() -> None:
    result = convert(
        [HI, {"role": "assistant", "tool_calls": [CALL]},
         {"role": "tool", "tool_call_id": "call_1", "content": "1"}]
    )  # fmt: skip
    spec = {"name": "f", "inputSchema": {"json": {"type": "object", "properties": {}}}}
    assert result.document["toolConfig"] == {"tools": [{"toolSpec": spec}]}
    assert [(loss.kind, loss.what) for loss in result.losses] == [("invented", "tool")]


def test_the_user_begins() -> None:
    result = convert([{"role": "assistant", "content": "Hello."}, HI])
    assert [turn["role"] for turn in result.document["messages"]] == ["user", "assistant", "user"]
    assert [(loss.kind, loss.what) for loss in result.losses] == [("invented", "message.empty")]


@pytest.mark.parametrize(
    ("title", "name"),
    [("Q3_report.v2", "Q3-report-v2"), ("a  b", "a b"), ("é", "-"), ("Plan (1) [x]", None)],
)
def test_names_of_documents(title: str, name: str | None) -> None:
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK"}
    block = {"type": "document", "title": title, "source": source}
    content = [block, {"type": "text", "text": "Read it."}]
    doc = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": content}]}
    result = dragoman.convert(doc, source="anthropic-messages", target=NAME)
    assert result.document["messages"][0]["content"][0]["document"]["name"] == (name or title)
    assert [loss.what for loss in result.losses] == (["media.title"] if name else [])


# -- the frames -----------------------------------------------------------------------------

EVENTS: list[tuple[str, Any]] = [
    ("messageStart", {"role": "assistant"}),
    ("contentBlockDelta", {"delta": {"text": "Hé"}, "contentBlockIndex": 0, "p": "abc"}),
    ("contentBlockStop", {"contentBlockIndex": 0}),
    ("messageStop", {"stopReason": "end_turn"}),
    ("metadata", {"usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}}),
]
DATA = b"".join(write_frame(name, json.dumps(payload).encode()) for name, payload in EVENTS)


def test_amazons_parser_reads_our_frames() -> None:
    buffer = EventStreamBuffer()
    buffer.add_data(DATA)
    found = [(event.headers[":event-type"], json.loads(event.payload)) for event in buffer]
    assert found == EVENTS


@given(st.lists(st.integers(0, len(DATA)), max_size=9))
def test_frames_come_out_whole(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(DATA)]
    stream = framer("eventstream")
    found = []
    for start, end in pairwise(places):
        found += stream.feed(DATA[start:end])
    assert [(name, json.loads(data)) for name, data in found + stream.close()] == EVENTS


@pytest.mark.parametrize("place", range(0, len(DATA), 7))
def test_a_changed_byte_is_a_failure(place: int) -> None:
    changed = bytearray(DATA)
    changed[place] ^= 0x40
    transcoder = Transcoder(NAME, "openai-chat")
    transcoder.feed(bytes(changed))
    transcoder.close()
    assert transcoder.response.failure is not None


@given(st.binary(max_size=200))
def test_any_bytes_give_frames_or_malformed(data: bytes) -> None:
    stream = framer("eventstream")
    try:
        stream.feed(data)
        stream.close()
    except Malformed:
        pass


def test_lines_of_json_are_the_same_stream() -> None:
    lines = b"".join(json.dumps({name: payload}).encode() + b"\n" for name, payload in EVENTS)
    assert dragoman.collect(lines, NAME).document == dragoman.collect(DATA, NAME).document


def test_an_exception_ends_the_stream() -> None:
    failed = write_frame("throttlingException", b'{"message": "Slow down."}', "exception")
    transcoder = Transcoder(NAME, "anthropic-messages")
    written = transcoder.feed(failed) + transcoder.close()
    assert b"rate_limit_error" in written
    assert b"Slow down." in written


@pytest.mark.parametrize("kind", get_args(ErrorKind))
def test_amazons_client_reads_how_a_stream_failed(kind: ErrorKind) -> None:
    """Of an exception that the stream has no shape for, botocore reads neither name nor words."""
    model = botocore.session.get_session().get_service_model("bedrock-runtime")
    shape = model.operation_model("ConverseStream").output_shape.members["stream"]
    transcoder = Transcoder("openai-chat", NAME)
    data = transcoder.fail(Failure(kind, "Sorry."))
    buffer = EventStreamBuffer()
    buffer.add_data(data)
    (event,) = buffer
    error = EventStreamJSONParser().parse(event.to_response_dict(), shape)["Error"]
    assert error["Message"] == "Sorry."
    assert transcoder.document is not None
    assert error["Code"].lower() == transcoder.document["__type"].lower()
    assert dragoman.collect(data, NAME).document == transcoder.document


@pytest.mark.parametrize(("written", "text"), [("[1", "[1"), ([1], "[1]"), (None, "{}")])
def test_arguments_that_are_no_object(written: Any, text: str) -> None:
    """The API takes and gives any JSON value."""
    call = {"toolUse": {"toolUseId": "t", "name": "f", "input": written}}
    history = [{"role": "assistant", "content": [call]}]
    back = dragoman.convert(history, source=NAME, target=NAME, facet="messages")
    assert (back.document, back.losses) == (history, ())
    chat = dragoman.convert(history, source=NAME, target="openai-chat", facet="messages").document
    assert chat[0]["tool_calls"][0]["function"]["arguments"] == text


def test_redacted_reasoning_come_in_pieces() -> None:
    pieces = [base64.b64encode(piece).decode() for piece in (b"ab", b"cd")]
    events: list[Any] = [{"messageStart": {"role": "assistant"}}]
    for piece in pieces:
        delta = {"reasoningContent": {"redactedContent": piece}}
        events.append({"contentBlockDelta": {"delta": delta, "contentBlockIndex": 0}})
    events += [{"contentBlockStop": {"contentBlockIndex": 0}}, {"messageStop": {}}]
    data = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    block = dragoman.collect(data, NAME).document["output"]["message"]["content"][0]
    assert base64.b64decode(block["reasoningContent"]["redactedContent"]) == b"abcd"


def lines(*events: dict[str, Any]) -> bytes:
    """A recorded reply that says something before and after the events."""
    stop = {"messageStop": {"stopReason": "end_turn"}}
    words = {"contentBlockDelta": {"delta": {"text": "Done."}, "contentBlockIndex": 1}}
    written = [{"messageStart": {"role": "assistant"}}, *events, words, stop]
    return b"".join(json.dumps(event).encode() + b"\n" for event in written)


def test_a_delta_that_nobody_knows_is_passed_over() -> None:
    delta = {"contentBlockDelta": {"delta": {"scent": {"rose": 1}}, "contentBlockIndex": 0}}
    stop = {"contentBlockStop": {"contentBlockIndex": 0}}
    transcoder = Transcoder(NAME, "anthropic-messages", now=0)
    transcoder.feed(lines(delta, stop))
    transcoder.close()
    assert transcoder.response.failure is None
    assert transcoder.document is not None
    assert transcoder.document["content"] == [{"type": "text", "text": "Done."}]
    assert "stream.event" in [loss.what for loss in transcoder.losses]


def test_an_image_that_failed_does_not_fail_the_answer() -> None:
    start = {"contentBlockStart": {"start": {"image": {"format": "png"}}, "contentBlockIndex": 0}}
    image = {"image": {"error": {"message": "Too dark."}}}
    delta = {"contentBlockDelta": {"delta": image, "contentBlockIndex": 0}}
    stop = {"contentBlockStop": {"contentBlockIndex": 0}}
    data = lines(start, delta, stop)
    failed = {"image": {"format": "png", "error": {"message": "Too dark."}}}
    content = dragoman.collect(data, NAME).document["output"]["message"]["content"]
    assert content == [failed, {"text": "Done."}]
    transcoder = Transcoder(NAME, "openai-chat", now=0)
    transcoder.feed(data)
    transcoder.close()
    assert transcoder.document is not None
    assert transcoder.document["choices"][0]["message"]["content"] == "Done."
    assert "raw" in [loss.what for loss in transcoder.losses]
