"""Every dialect that has a stream, the small ones too: said at once, and never beside itself."""

from __future__ import annotations

import json
import random
import re
from base64 import b64decode
from functools import cache
from typing import Any

import pytest

import dragoman
import places
from dragoman import dialects
from dragoman.streams.framing import Frame, framer, write_frame
from dragoman.testing import broken_once, load_corpus

STREAMS = [name for name in dialects.names() if "stream" in dialects.get(name).facets()]
sources = pytest.mark.parametrize("source", STREAMS)
targets = pytest.mark.parametrize("target", STREAMS)

MARK = re.compile(rb"(?:THOUGHT|WORD|ARGUMENT)[0-9]+;")


def frames_of(data: bytes, dialect: str) -> list[Frame]:
    frames = framer(dialects.get(dialect).framing)
    return [*frames.feed(data), *frames.close()]


def read_aloud(data: bytes, dialect: str) -> bytes:
    """What is written, without the base64 in which one dialect wraps each event."""
    if dialect != "anthropic-bedrock":
        return data
    return b"".join(b64decode(json.loads(frame)["bytes"]) for _, frame in frames_of(data, dialect))


def written(frame: Frame, dialect: str) -> bytes:
    return write_frame(dialects.get(dialect).framing, frame)


# -- at once --------------------------------------------------------------------------------


def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    doc = {"id": "chatcmpl-1", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(doc).encode() + b"\n\n"


def call(index: int, arguments: str, **named: str) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "function": {"arguments": arguments}, **named}]}


@cache
def bit_by_bit(dialect: str) -> tuple[bytes, ...]:
    """Reasoning, words and two calls in a dialect, each in several pieces."""
    spelled: list[dict[str, Any]] = [{"reasoning_content": f"THOUGHT{n}; "} for n in range(3)]
    spelled += [{"content": f"WORD{n}; "} for n in range(3)]
    for index in range(2):
        spelled.append(
            {"tool_calls": [{"index": index, "id": f"c{index}", "function": {"name": "f"}}]}
        )
        spelled.append(call(index, '{"a":"'))
        spelled += [call(index, f"ARGUMENT{index}{n}; ") for n in range(3)]
        spelled.append(call(index, '"}'))
    data = b"".join(map(chunk, spelled)) + chunk({}, "tool_calls") + b"data: [DONE]\n\n"
    transcoder = dragoman.Transcoder("openai-chat", dialect)
    data = transcoder.feed(data) + transcoder.close()
    return tuple(written(frame, dialect) for frame in frames_of(data, dialect))


THOUGHTLESS = ("openai-chat", "azure-openai", "icontent-design", "perplexity")
"""Where there is no place for reasoning."""
NAMED_LAST = ("ag-ui", "copilot-responses")
"""Where the last event alone has a place for the model, or for model, id and date."""
WHOLE = ("gemini", "ollama", "mistral", "icontent", "icontent-design", "xzatoma")
"""Where a call cannot be expressed before it is whole: its arguments are an object, mostly."""


@sources
@targets
@pytest.mark.parametrize("collect", [True, False])
def test_each_piece_is_said_on_the_feed_that_brings_it(
    source: str, target: str, collect: bool
) -> None:
    transcoder = dragoman.Transcoder(source, target, collect=collect)
    heard: set[bytes] = set()
    due: set[bytes] = set()
    for data in bit_by_bit(source):
        new = set(MARK.findall(read_aloud(data, source))) - heard
        heard |= new
        if target in THOUGHTLESS and target != source:
            new = {mark for mark in new if not mark.startswith(b"THOUGHT")}  # no place for them
        due |= new
        due -= set(MARK.findall(read_aloud(transcoder.feed(data), target)))
        if (
            target in WHOLE
        ):  # a call is written when it ends, at the latest when the next one begins
            assert len({mark[:-2] for mark in due if mark.startswith(b"ARGUMENT")}) < 2
            assert not {mark for mark in due if not mark.startswith(b"ARGUMENT")}
        else:
            assert not due
    transcoder.close()
    assert not due
    assert len(heard) == 12 or source in THOUGHTLESS
    assert transcoder.response.failure is None
    spelled = {loss.what for loss in transcoder.losses if loss.what.startswith("stream.")}
    assert spelled <= ({"stream.head"} if source in NAMED_LAST else set())


# -- hostile --------------------------------------------------------------------------------

ANSWERS = [
    document
    for case in load_corpus(places.CORPUS)
    for document in case.documents
    if document.facet == "response" and not document.degraded
]


@cache
def seeds(dialect: str) -> list[list[Frame]]:
    """The replies of the corpus in a dialect, or else what those of a chat become in it."""
    mine = [document for document in ANSWERS if document.dialect == dialect]
    if mine:
        return [frames_of(dragoman.decompose(d.body, dialect), dialect) for d in mine]
    return [frames_of(transcoded(frames, dialect), dialect) for frames in seeds("openai-chat")]


def transcoded(frames: list[Frame], dialect: str) -> bytes:
    transcoder = dragoman.Transcoder("openai-chat", dialect)
    spelled = b"".join(transcoder.feed(written(frame, "openai-chat")) for frame in frames)
    return spelled + transcoder.close()


def mangled(frames: list[Frame], dice: random.Random) -> None:
    place, other = dice.randrange(len(frames)), dice.randrange(len(frames))
    match dice.choice(("alter", "alter", "alter", "double", "drop", "swap")):
        case "alter":
            name, data = frames[place]
            if data != b"[DONE]":
                frames[place] = (name, altered(data, dice))
        case "double":
            frames.insert(other, frames[place])
        case "drop" if len(frames) > 1:
            del frames[place]
        case _:
            frames[place], frames[other] = frames[other], frames[place]


def altered(data: bytes, dice: random.Random) -> bytes:
    """A frame of which one value is another, or is gone."""
    return json.dumps(broken_once(json.loads(data), dice.randrange)).encode()


@pytest.mark.parametrize("source", STREAMS)
@targets
def test_a_mangled_stream_is_an_answer_or_an_error(source: str, target: str) -> None:
    dice = random.Random(f"{source} {target}")
    for _ in range(120):
        frames = list(dice.choice(seeds(source)))
        for _ in range(dice.randint(1, 3)):
            mangled(frames, dice)
        transcoder = dragoman.Transcoder(source, target, collect=dice.random() < 0.5)
        spelled = b"".join(transcoder.feed(written(frame, source)) for frame in frames)
        spelled += transcoder.close()
        assert isinstance(transcoder.losses, tuple)
        again = dragoman.Transcoder(target, target)
        again.feed(spelled)
        again.close()
        if transcoder.response.failure is not None:
            assert again.response.failure is not None, spelled[-500:]
