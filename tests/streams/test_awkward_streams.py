"""Streams as real servers send them, each with something that trips a careless reader."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import dragoman
from dragoman import testing
from listener import REFUSALS, Json, Listener, tidy
from portraits import TARGETS, Stream, gallery, streams

# Servers that never say [DONE] are trusted when they give a reason to stop; this one goes on.
WHOLE_TOO_EARLY = {"text-behind-the-end.openai-chat"}

every = pytest.mark.parametrize("stream", streams(), ids=lambda s: s.name)
targets = pytest.mark.parametrize("target", TARGETS)


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    with Listener() as listening:
        yield listening


@every
def test_it_becomes_what_its_portrait_shows(stream: Stream) -> None:
    assert gallery(stream) == stream.expected.read_text("utf-8")


@every
@targets
def test_the_laws_hold(stream: Stream, target: str) -> None:
    testing.streaming_equals_batch(stream.data, stream.dialect, target)
    if stream.name not in WHOLE_TOO_EARLY:
        testing.never_a_false_success(stream.data, stream.dialect, target)
    for size in (1, 13):
        testing.chunks_do_not_matter(stream.data, stream.dialect, target, size)


@every
@targets
def test_nobody_needs_the_whole(stream: Stream, target: str) -> None:
    """Without ``collect`` the same bytes are written, and the same losses noted."""
    whole = dragoman.Transcoder(stream.dialect, target, now=0)
    lean = dragoman.Transcoder(stream.dialect, target, now=0, collect=False)
    one = whole.feed(stream.data) + whole.close()
    other = lean.feed(stream.data) + lean.close()
    assert other == one, testing.frames_difference(other, one, whole.target.name)
    if not any(loss.what == "stream.text" for loss in whole.losses):
        assert lean.losses == whole.losses


@every
@targets
def test_the_official_client_hears_it(listener: Listener, stream: Stream, target: str) -> None:
    """Of a stream that passes as it came, the clients make what they make of it."""
    if target == stream.dialect:
        return
    transcoder = dragoman.Transcoder(stream.dialect, target, now=0)
    written = transcoder.feed(stream.data) + transcoder.close()
    if transcoder.response.failure is not None:
        with pytest.raises(REFUSALS):
            listener.hear(written, target)
        return
    heard, ours = listener.hear(written, target), tidy(dragoman.collect(written, target).document)
    if any(loss.what == "tool_call.arguments" for loss in transcoder.losses):
        del heard["content"], ours["content"]  # each has its own way with arguments that broke off
    assert heard == ours, testing.difference(heard, ours)


@every
@targets
def test_what_is_said_agrees_with_itself(stream: Stream, target: str) -> None:
    """The last event of a stream repeats what came before it, in the same words."""
    transcoder = dragoman.Transcoder(stream.dialect, target, now=0)
    written = transcoder.feed(stream.data) + transcoder.close()
    if target == stream.dialect or any(
        loss.what.startswith("stream.") for loss in transcoder.losses
    ):
        return
    other = next(name for name in TARGETS if name != target)
    again = dragoman.Transcoder(target, other, now=0)
    again.feed(written)
    again.close()
    assert not [loss for loss in again.losses if loss.what == "stream.text"]


# -- at once --------------------------------------------------------------------------------


def chunk(delta: Json, reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return b"data: " + json.dumps({"id": "1", "model": "m", "choices": [choice]}).encode() + b"\n\n"


def call(index: int, arguments: str, **named: str) -> Json:
    inner = {"arguments": arguments} | ({"name": named["name"]} if named else {})
    return {
        "tool_calls": [
            {"index": index, **({"id": f"c{index}"} if named else {}), "function": inner}
        ]
    }


@targets
def test_words_are_said_when_they_come(target: str) -> None:
    transcoder = dragoman.Transcoder("openai-chat", target)
    transcoder.feed(chunk({"role": "assistant", "content": ""}))
    for word in ("one", "two", "three"):
        assert word.encode() in transcoder.feed(chunk({"content": word}))


@targets
def test_arguments_are_said_when_they_come(target: str) -> None:
    transcoder = dragoman.Transcoder("openai-chat", target)
    assert b"sky" in transcoder.feed(chunk(call(0, "", name="sky")))
    for piece in ("{", "1", "}"):
        assert piece.encode() in transcoder.feed(chunk(call(0, piece)))


def test_calls_side_by_side_take_turns_where_they_must() -> None:
    """The open block goes on, the next waits for its turn and is written when it comes."""
    transcoder = dragoman.Transcoder("openai-chat", "anthropic-messages")
    transcoder.feed(chunk(call(0, '{"a":', name="sky")))
    assert transcoder.feed(chunk(call(1, '{"b":', name="sea"))) == b""
    assert rb"1}" in transcoder.feed(chunk(call(0, "1}")))
    assert transcoder.feed(chunk(call(1, "2"))) == b""
    turn = transcoder.feed(chunk(call(2, "", name="sun")))  # which shows that the first is complete
    assert [e["content_block"]["name"] for e in events(turn, "content_block_start")] == ["sea"]
    assert [e["delta"]["partial_json"] for e in events(turn, "content_block_delta")] == [
        '{"b":',
        "2",
    ]
    more = transcoder.feed(chunk(call(1, "}")))
    assert [e["delta"]["partial_json"] for e in events(more, "content_block_delta")] == ["}"]
    last = transcoder.feed(chunk({}, "tool_calls"))
    assert [e["content_block"]["name"] for e in events(last, "content_block_start")] == ["sun"]
    waited = [loss for loss in transcoder.losses if loss.what == "stream.order"]
    assert [loss.kind for loss in waited] == ["moved", "moved"]


def events(data: bytes, kind: str) -> list[Json]:
    docs = [json.loads(line[6:]) for line in data.splitlines() if line.startswith(b"data: ")]
    return [doc for doc in docs if doc["type"] == kind]
