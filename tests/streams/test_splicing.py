"""A stream that is spliced is the same as one whose frames are all read (``streams.splicing``)."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seeds
from benchmarks.streams import STREAMS as VENDORS
from choosing import examples
from dragoman import Transcoder, dialects
from dragoman.streams import splicing
from dragoman.streams.framing import Frame, framer, write_frame
from dragoman.testing import splicing_changes_nothing

STREAMS = [name for name in dialects.names() if "stream" in dialects.get(name).facets()]
GREAT = ("openai-chat", "anthropic-messages", "openai-responses", "gemini")
ODD = 61  # bytes in a piece: in the middle of everything, sooner or later
targets = pytest.mark.parametrize("target", STREAMS)
Frames: TypeAlias = list[Frame]


def frames_of(data: bytes, dialect: str) -> Frames:
    speaker = dialects.get(dialect)
    frames = framer(speaker.framings or speaker.framing)
    return [*frames.feed(data), *frames.close()]


def in_pieces(data: bytes, dialect: str) -> Iterator[list[bytes]]:
    """Whole, frame by frame, and cut anywhere."""
    kind = dialects.get(dialect).framing
    yield [data]
    if kind == "eventstream":
        yield [write_frame(kind, frame) for frame in frames_of(data, dialect)]
    else:
        end = b"\n" if kind == "ndjson" else b"\r\n\r\n" if b"\r\n\r\n" in data else b"\n\n"
        *whole, rest = data.split(end)
        yield [*(piece + end for piece in whole), rest]
    size = ODD if len(data) < 5000 else 20 * ODD
    yield [data[place : place + size] for place in range(0, len(data), size)]


def holds(data: bytes, source: str, target: str, **options: Any) -> None:
    for pieces in in_pieces(data, source):
        splicing_changes_nothing(pieces, source, target, now=0, **options)


# -- streams of the corpus ------------------------------------------------------------------


@pytest.mark.parametrize("source", STREAMS)
@targets
def test_the_streams_of_the_corpus(source: str, target: str) -> None:
    for number, data in enumerate(seeds.recorded(source)):
        holds(data, source, target, collect=number % 3 > 0, duplicates=number % 2 > 0)


@pytest.mark.parametrize("name", VENDORS)
@targets
def test_streams_as_vendors_send_them(name: str, target: str) -> None:
    source = VENDORS[name]
    frames = source.make(40)
    for collect in (True, False):
        holds(b"".join(frames), source.dialect, target, collect=collect)


# -- streams that nobody sent ---------------------------------------------------------------

WORDS = (
    " the", "a", ",", ":", '"', "\\", "\n", "\r\n", "\t", "{", "}", '"}', "é", " 東京", "😀",
    "\u2028", "\x7f", "\x00", "data: ", "\n\n", "text", "index", "content", '","', "null", "0",
    "//", " " * 9,
    "x" * 300, "",
)  # fmt: skip
CALL = '{"query":"the \\"weather\\" in M\\u00fcnchen","days":[1,2,3],"deep":{"a":null}}'


def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    doc = {"id": "chatcmpl-1", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(doc).encode() + b"\n\n"


def deltas(rng: Random) -> Iterator[dict[str, Any]]:
    """Reasoning, words, and calls that may come side by side."""
    yield {"role": "assistant", "content": ""}
    for key in rng.choice((["content"], ["reasoning_content", "content"], [])):
        for _ in range(rng.randrange(2, 30)):
            yield {key: rng.choice(WORDS)}
    calls = range(rng.choice((0, 1, 2)))
    waiting: list[tuple[int, list[str]]] = []
    for index in calls:
        called = {"index": index, "id": f"c{index}", "type": "function"}
        yield {"tool_calls": [called | {"function": {"name": "f", "arguments": ""}}]}
        size = rng.choice((1, 3, 20))
        waiting.append((index, [CALL[n : n + size] for n in range(0, len(CALL), size)]))
        while waiting and (index == calls[-1] or rng.random() < 0.9):
            number, pieces = waiting[0] if rng.random() < 0.9 else rng.choice(waiting)
            yield {"tool_calls": [{"index": number, "function": {"arguments": pieces.pop(0)}}]}
            waiting = [(n, left) for n, left in waiting if left]


def spoken(dialect: str, rng: Random) -> Frames:
    """Such a stream in a dialect."""
    data = b"".join(map(chunk, deltas(rng))) + chunk({}, "stop") + b"data: [DONE]\n\n"
    transcoder = Transcoder("openai-chat", dialect, now=0)
    return frames_of(transcoder.feed(data) + transcoder.close(), dialect)


def spelled(frames: Frames, dialect: str, rng: Random) -> Frames:
    """The same in the spelling of another server: escapes, white space, padding, noise."""
    ascii_only, spaced, noisy = (rng.random() < 0.4 for _ in range(3))
    separators = (", ", ": ") if spaced else (",", ":")
    odd = rng.choice(("odd", 7, None))
    padding, nested = rng.choice((0, 0, 9)), rng.random() < 0.2
    varying = dialects.get(dialect).stream_reader().varying

    def respell(frame: Frame) -> Frame:
        if not frame[1].startswith(b"{"):
            return frame
        doc = json.loads(frame[1])
        for key, kind in varying.items() if noisy else ():
            if kind is str:
                doc[key] = rng.choice(("", "a1b2", "x" * 9, "2026-01-01T00:00:00Z", '"', odd))
            elif kind is not int:
                doc[key] = {"promptTokenCount": 9, "candidatesTokenCount": rng.randrange(1000)}
            for name, inner in doc.items() if nested else ():
                if isinstance(inner, dict) and name != key:
                    inner[key] = doc.get(key)
        text = json.dumps(doc, ensure_ascii=ascii_only, separators=separators)
        return frame[0], (text[:-1] + " " * rng.randrange(padding + 1) + text[-1]).encode()

    return [respell(frame) for frame in frames]


HALF = "\\ud83d"


def broken(data: bytes, rng: Random) -> bytes:
    """A frame after an accident."""
    place = rng.randrange(len(data) or 1)
    match rng.randrange(7):
        case 0:
            return data[:place]
        case 1:
            return data[:place] + bytes((rng.randrange(256),)) + data[place + 1 :]
        case 2:  # half of a surrogate pair
            return data.replace(b'"}', HALF.encode() + b'"}', 1)
        case 3:
            return data.replace(b":", b": ", 1)
        case 4:
            return data.replace(b'{"', b'{"unknown":1,"', 1)
        case 5:  # a line break between a key and its text
            places = [n for n in range(len(data)) if data.startswith(b':"', n)] or [0]
            place = rng.choice(places) + 1
            return data[:place] + b"\n" + data[place:]
        case _:  # a key twice
            return data.replace(b'{"', b'{"type":"x","', 1)


def shaken(frames: Frames, rng: Random) -> Frames:
    """A few accidents on the way."""
    frames = list(frames)
    for _ in range(rng.choice((0, 0, 1, 3))):
        place = rng.randrange(len(frames))
        name, data = frames[place]
        match rng.randrange(5):
            case 0:
                del frames[place]
            case 1:
                frames.insert(place, frames[rng.randrange(len(frames))])
            case 2:
                frames.insert(place, (name, b'{"type":"ping"}'))
            case _:
                frames[place] = (name, broken(data, rng))
        if not frames:
            break
    return frames


def stream(dialect: str, rng: Random) -> bytes:
    frames = shaken(spelled(spoken(dialect, rng), dialect, rng), rng)
    kind = dialects.get(dialect).framing
    data = b"".join(write_frame(kind, frame) for frame in frames)
    if kind == "sse" and rng.random() < 0.2:
        data = data.replace(b"\n", b"\r\n")
    return data


@pytest.mark.parametrize("source", STREAMS)
@settings(max_examples=examples(120))
@given(rng=st.randoms(use_true_random=False), data=st.data())
def test_streams_that_nobody_sent(source: str, rng: Random, data: st.DataObject) -> None:
    target = data.draw(st.sampled_from(STREAMS))
    options: dict[str, Any] = {"collect": rng.random() < 0.7, "duplicates": rng.random() < 0.2}
    if rng.random() < 0.2:
        options["limit"] = rng.choice((150, 400))
    if rng.random() < 0.2:
        options["total"] = rng.randrange(500, 5000)
    holds(stream(source, rng), source, target, **options)


# -- the law can fail, and the path is taken -------------------------------------------------


def reversed_texts(original: Any) -> Any:
    def texts(self: Any, pieces: Any, renewed: Any) -> Any:
        found = original(self, pieces, renewed)
        return None if found is None else (found[0][::-1], found[1][::-1])

    return texts


FAULTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "texts change places": lambda patch: patch.setattr(
        splicing.Shape, "texts", reversed_texts(splicing.Shape.texts)
    ),
    "a shape outlives its block": lambda patch: patch.setattr(
        splicing.Splicer, "forget", lambda self: None
    ),
    "letters are written as escapes": lambda patch: patch.setattr(
        splicing, "encode", lambda text: json.dumps(text).encode()
    ),
    "counts are not renewed": lambda patch: patch.setattr(
        "dragoman.dialects.gemini.stream.GeminiReader.renew", lambda self, values: None
    ),
    "a line break is overlooked": lambda patch: patch.setattr(
        splicing, "is_broken", lambda data: False
    ),
    "any text is a text": lambda patch: patch.setattr(
        splicing, "decode_text", lambda piece: piece.decode("utf-8", "replace").strip('"')
    ),
    "values that vary are not looked at": lambda patch: patch.setattr(
        splicing, "decoder_of", lambda kind: lambda data: data.splitlines()
    ),
    "a limit is overlooked": lambda patch: patch.setattr(
        splicing.Splicer, "__init__", without_limit(splicing.Splicer.__init__)
    ),
}


def without_limit(original: Any) -> Any:
    def start(self: Any, varying: Any, limit: int) -> None:
        original(self, varying, 1 << 30)

    return start


@pytest.mark.parametrize("fault", FAULTS)
def test_the_law_notices(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    FAULTS[fault](monkeypatch)
    for seed in range(400):
        rng = Random(seed)
        source = rng.choice(GREAT)
        target = rng.choice(("vercel-ui", *GREAT))
        limit = {"limit": 300} if "limit" in fault else {}
        try:
            holds(stream(source, rng), source, target, **limit)
        except AssertionError:
            return
    pytest.fail("nobody noticed")


@pytest.mark.parametrize("name", VENDORS)
@targets
def test_most_frames_are_spliced(name: str, target: str) -> None:
    source = VENDORS[name]
    frames = source.make(200)
    for pieces in (frames, [b"".join(frames)]):
        count, total = splicing_changes_nothing(pieces, source.dialect, target)
        assert count > 0.85 * total


def test_a_stream_whose_frames_all_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """Learning is tried less and less often."""
    transcoder, tried = Transcoder("vercel-ui", "anthropic-messages"), list[bytes]()
    original = splicing.shape_of

    def shape_of(event: bytes, text: str, varying: Any) -> Any:
        tried.append(event)
        return original(event, text, varying)

    monkeypatch.setattr(splicing, "shape_of", shape_of)
    transcoder.feed(b'data: {"type":"start"}\n\ndata: {"type":"text-start","id":"1"}\n\n')
    for number in range(2000):
        written = {"type": "text-delta", "id": "1", "delta": f"word{number}"}
        text = json.dumps(written, indent=number % 7 + 1).replace("\n", "\ndata: ")
        transcoder.feed(f"data: {text}\n\n".encode())
    assert transcoder.spliced == 0
    assert 0 < len(tried) < 40


# -- memory -----------------------------------------------------------------------------------


@cache
def vendor_frames(name: str, count: int) -> list[bytes]:
    return VENDORS[name].make(count)


def kept(name: str, target: str, count: int, *, at_once: bool) -> int:
    """What a transcoder has taken when nearly all has been fed to it."""
    frames = vendor_frames(name, 2 * count)[:count]  # what comes behind are arguments
    pieces = [b"".join(frames[n : n + 50]) for n in range(0, len(frames), 50)]
    transcoder = Transcoder(VENDORS[name].dialect, target, collect=False)
    tracemalloc.start()
    for piece in pieces if at_once else frames:
        transcoder.feed(piece)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return size


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("mistral", "anthropic-messages"),
        ("mistral", "openai-chat"),
        ("gemini", "openai-chat"),
        ("gemini", "anthropic-messages"),
        ("ollama", "openai-chat"),
        ("anthropic-messages, padded", "vercel-core"),
        ("openai-chat, obfuscation", "vercel-ui"),
    ],
)
@pytest.mark.parametrize("at_once", [True, False])
def test_memory_is_flat_over_ten_thousand_deltas(name: str, target: str, at_once: bool) -> None:
    small, large = (kept(name, target, count, at_once=at_once) for count in (500, 10_000))
    assert large < small + 16 * 1024
