"""Streams that went wrong on the way, or were made to: a reply or an error, and nothing else."""

from __future__ import annotations

import json
import random
import tracemalloc
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dragoman
from choosing import examples
from dragoman.model import Response, Text
from dragoman.streams.framing import Frame, framer
from dragoman.testing import broken
from portraits import TARGETS, streams

Json: TypeAlias = Any
FRAMES: dict[str, list[list[Frame]]] = {}
for _stream in streams():
    FRAMES.setdefault(_stream.dialect, []).append(framer("sse").feed(_stream.data + b"\n\n"))

sources = pytest.mark.parametrize("source", sorted(FRAMES))
targets = pytest.mark.parametrize("target", TARGETS)
relaxed = settings(max_examples=examples(150), suppress_health_check=list(HealthCheck))


def written(frames: list[Frame]) -> bytes:
    return b"".join(
        (f"event: {name}\n".encode() if name else b"") + b"data: " + data + b"\n\n"
        for name, data in frames
    )


def survive(data: bytes, source: str, target: str, *, collect: bool = True) -> Response:
    """Any bytes give a reply or a failure, and the target's own reader sees the same."""
    transcoder = dragoman.Transcoder(source, target, collect=collect)
    spelled = b"".join(transcoder.feed(data[i : i + 997]) for i in range(0, len(data), 997))
    so_far = transcoder.response
    assert isinstance(so_far, Response)
    spelled += transcoder.close()
    tree = transcoder.response
    assert isinstance(transcoder.losses, tuple)
    again = dragoman.Transcoder(target, target)
    again.feed(spelled)
    again.close()
    assert (again.response.failure is None) == (tree.failure is None), spelled[-500:]
    return tree


@st.composite
def mangled(draw: st.DrawFn, source: str) -> bytes:
    """A stream of the kind that servers send, with frames lost, doubled, swapped or altered."""
    frames = list(draw(st.sampled_from(FRAMES[source])))
    for _ in range(draw(st.integers(1, 4))):
        if not frames:
            break
        place = draw(st.integers(0, len(frames) - 1))
        other = draw(st.integers(0, len(frames) - 1))
        match draw(st.sampled_from(["drop", "double", "swap", "alter", "alter", "byte", "splice"])):
            case "drop":
                del frames[place]
            case "double":
                frames.insert(place, frames[other])
            case "swap":
                frames[place], frames[other] = frames[other], frames[place]
            case "alter":
                frames[place] = altered(frames[place], draw(st.integers(0, 10_000)))
            case "byte":
                name, data = frames[place]
                spot = draw(st.integers(0, max(len(data) - 1, 0)))
                byte = bytes([draw(st.integers(0, 255))])
                frames[place] = (name, data[:spot] + byte + data[spot + 1 :])
            case "splice":
                tail = draw(st.sampled_from(FRAMES[source]))
                frames = frames[:place] + tail[draw(st.integers(0, len(tail))) :]
    return written(frames)


def altered(frame: Frame, number: int) -> Frame:
    """The frame with one of its values replaced or removed: the ``number``-th way to do so."""
    name, data = frame
    try:
        ways = list(broken(json.loads(data)))
    except ValueError:
        return frame
    return name, json.dumps(ways[number % len(ways)]).encode()


@sources
@targets
@relaxed
@given(data=st.data())
def test_mangled_streams(source: str, target: str, data: st.DataObject) -> None:
    survive(data.draw(mangled(source)), source, target, collect=data.draw(st.booleans()))


@sources
@targets
@relaxed
@given(data=st.binary(max_size=300))
def test_noise(source: str, target: str, data: bytes) -> None:
    assert survive(data, source, target).failure is not None


@sources
@targets
def test_each_value_replaced_by_another(source: str, target: str) -> None:
    """Every field of one rich stream of each dialect, one after the other."""
    frames = FRAMES[source][NESTED[source]]
    for place, (name, data) in enumerate(frames):
        if not data.startswith(b"{"):
            continue
        ways = list(broken(json.loads(data)))
        for number in random.Random(place).sample(range(len(ways)), min(len(ways), 60)):
            frame = (name, json.dumps(ways[number]).encode())
            survive(written([*frames[:place], frame, *frames[place + 1 :]]), source, target)


def rich(source: str) -> int:
    names = [stream.name for stream in streams() if stream.dialect == source]
    wanted = {
        "anthropic-messages": "hosted-search",
        "gemini": "arguments-in-pieces",
        "mistral": "media-in-content",
        "openai-chat": "calls-interleaved",
        "openai-responses": "summary-parts",
        "openrouter": "signed-call",
    }
    return names.index(f"{wanted[source]}.{source}")


NESTED = {source: rich(source) for source in FRAMES}

# -- one bad frame --------------------------------------------------------------------------

START = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []}
CREATED = {"id": "r", "object": "response", "created_at": 0, "model": "m", "output": []}
FIRST: dict[str, Json] = {
    "anthropic-messages": {
        "type": "message_start",
        "message": START | {"usage": {"input_tokens": 1, "output_tokens": 1}},
    },
    "gemini": {
        "candidates": [{"content": {"parts": [{"text": "a"}], "role": "model"}, "index": 0}],
        "modelVersion": "m",
        "responseId": "g",
    },
    "mistral": {
        "id": "i",
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": "Hi"}}],
    },
    "openai-chat": {
        "id": "c",
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": "Hi"}}],
    },
    "openai-responses": {
        "type": "response.created",
        "response": CREATED | {"status": "in_progress"},
    },
    "openrouter": {
        "id": "o",
        "model": "m",
        "provider": "p",
        "choices": [{"index": 0, "delta": {"content": "Hi"}}],
    },
}
IDS = {
    "anthropic-messages": "m",
    "gemini": "g",
    "mistral": "i",
    "openai-chat": "c",
    "openai-responses": "r",
    "openrouter": "o",
}
GOOD = {name: b"data: " + json.dumps(doc).encode() + b"\n\n" for name, doc in FIRST.items()}
BAD = {
    "no JSON": b"data: nonsense\n\n",
    "half of it": b'data: {"type":"content_block_start","index"\n\n',
    "a list": b"data: [1, 2]\n\n",
    "not UTF-8": b'data: {"type":"\xff\xfe","choices":[]}\n\n',
    "a NUL": b"data: \0\n\n",
    "too deep": b'data: {"choices":' + b"[" * 5000 + b"]" * 5000 + b"}\n\n",
    "deep, and read": b'data: {"type":"x","choices":' + b"[" * 450 + b"]" * 450 + b"}\n\n",
    "a number beyond all": b'data: {"type":"x","choices":1e999}\n\n',
}


@sources
@targets
@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_a_bad_frame_is_an_error_with_its_number(source: str, target: str, bad: bytes) -> None:
    tree = survive(GOOD[source] + bad, source, target)
    assert tree.failure is not None
    assert tree.failure.message.startswith("frame 2 of the stream: "), tree.failure
    assert tree.id == IDS[source]


@sources
@targets
def test_a_line_without_end_is_an_error(source: str, target: str) -> None:
    """Memory is bounded by the limit of a frame, whatever the source sends."""
    transcoder = dragoman.Transcoder(source, target, limit=10_000, collect=False)
    spelled = transcoder.feed(GOOD[source] + b"data: ")
    for _ in range(100):
        spelled += transcoder.feed(b"x" * 1000)
    assert transcoder.ended
    spelled += transcoder.close()
    assert b"more than 10000 bytes" in spelled
    assert transcoder.response.failure is not None


def test_what_follows_an_error_is_not_heard() -> None:
    transcoder = dragoman.Transcoder("openai-chat", "anthropic-messages")
    assert b"event: error" in transcoder.feed(b"data: nonsense\n\n" + GOOD["openai-chat"])
    assert transcoder.feed(GOOD["openai-chat"]) == b""
    assert transcoder.close() == b""


def test_what_passes_as_it_came_ends_in_the_error() -> None:
    """Within one dialect the bytes are the upstream's own; that they make no sense comes last."""
    transcoder = dragoman.Transcoder("openai-chat", "openai-chat")
    data = b"data: nonsense\n\n" + GOOD["openai-chat"]
    assert transcoder.feed(data) == data
    assert b'"error"' in transcoder.close()
    assert transcoder.close() == b""


def test_parsed_events_may_be_nonsense_too() -> None:
    spelled = list(dragoman.transcode([{"choices": 5}], "openai-chat", "anthropic-messages"))
    assert spelled[-1]["type"] == "error"
    spelled = list(dragoman.transcode([{"a": object()}], "openai-chat", "anthropic-messages"))
    assert spelled[-1]["type"] == "error"


# -- memory ---------------------------------------------------------------------------------

Say: TypeAlias = Callable[[int], bytes]


def chat_word(number: int) -> bytes:
    doc = {"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"content": f"w{number} "}}]}
    return b"data: " + json.dumps(doc).encode() + b"\n\n"


def anthropic_word(number: int) -> bytes:
    delta = {"type": "text_delta", "text": f"w{number} "}
    doc = {"type": "content_block_delta", "index": 0, "delta": delta}
    return b"event: content_block_delta\ndata: " + json.dumps(doc).encode() + b"\n\n"


OPENED = (
    b'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
)


def peak(source: str, target: str, begin: bytes, word: Say, count: int) -> int:
    """The most memory that is held while so many words pass."""
    transcoder = dragoman.Transcoder(source, target, collect=False)
    transcoder.feed(begin)
    for number in range(50):
        transcoder.feed(word(number))
    tracemalloc.start()
    try:
        for number in range(count):
            transcoder.feed(word(number))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("source", "target", "begin", "word"),
    [
        ("openai-chat", "anthropic-messages", GOOD["openai-chat"], chat_word),
        ("openai-chat", "openai-chat", GOOD["openai-chat"], chat_word),
        ("anthropic-messages", "openai-chat", GOOD["anthropic-messages"] + OPENED, anthropic_word),
    ],
)
def test_memory_is_flat(source: str, target: str, begin: bytes, word: Say) -> None:
    short = peak(source, target, begin, word, 200)
    long = peak(source, target, begin, word, 20_000)
    assert long - short < 20_000, f"{short} bytes for 200 words, {long} for 20,000"


def second_word(number: int) -> bytes:
    choice = {"index": 1, "delta": {"content": f"word {number} "}, "finish_reason": None}
    return b"data: " + json.dumps({"id": "1", "choices": [choice]}).encode() + b"\n\n"


@pytest.mark.parametrize("target", ["anthropic-messages", "gemini"])
def test_what_waits_for_candidate_0_has_a_limit(target: str) -> None:
    transcoder = dragoman.Transcoder("openai-chat", target, collect=False, limit=100_000)
    for number in range(2_000):
        transcoder.feed(second_word(number))
    assert transcoder.response.failure is not None
    assert "100,000 bytes of other candidates" in str(transcoder.response.failure)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("collect", [True, False])
def test_a_candidate_without_those_before_it_is_written_in_the_end(
    target: str, collect: bool
) -> None:
    transcoder = dragoman.Transcoder("openai-chat", target, collect=collect)
    spelled = b"".join(map(transcoder.feed, map(second_word, range(3))))
    ended = {"id": "1", "choices": [{"index": 1, "delta": {}, "finish_reason": "stop"}]}
    spelled += transcoder.feed(b"data: " + json.dumps(ended).encode() + b"\n\ndata: [DONE]\n\n")
    spelled += transcoder.close()
    heard = dragoman.Transcoder(target, target)
    heard.feed(spelled)
    heard.close()
    (candidate,) = heard.response.candidates
    (text,) = candidate.message.content
    assert isinstance(text, Text)
    assert text.text == "word 0 word 1 word 2 "
