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


@pytest.mark.parametrize("target", ["anthropic-messages", "openai-chat"])
def test_what_goes_on_with_a_line_is_no_frame(target: str) -> None:
    """A comment is begun, and what ends it looks like a frame of the shape that was spliced."""
    first, *words = (chunk({"content": word}) for word in ("", "a", "b", "c", "d"))
    pieces = [first, words[0], words[1], words[2] + b": and", words[3], b"data: [DONE]\n\n"]
    splicing_changes_nothing(pieces, "openai-chat", target, now=0)


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
        if target == "anthropic-bedrock":
            assert count == 0  # an event in base64 cannot be put together from pieces
        else:
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


# -- a shape by itself ------------------------------------------------------------------------

Counts: TypeAlias = dict[str, int]
PLAIN = b'data: {"id":"a-1","t":"Hi"}\n\n'
AFTER = b'data: {"id":"a-1","t":"Hi","p":"x3k","n":7}\n\n'
BEFORE = b'data: {"p":"x3k","id":"a-1","u":{"a":1},"t":"Hi"}\n\n'
RENEWED = b'data: {"id":"a-1","t":"Hi","u":{"a":1},"p":"x"}\n\n'
PADDED = b'data: {"d":{"t":"Hi"}   }\n\n'
TABBED = b'data: {"d":{"t":"Hi"}\t}\n\n'
LONG = b'data: {"t":"Hi","id":"abcdefghijklmnop"}\n\n'
WIDE = 'data: {"t":"Hi","\u00e9":1,"p":"x3k"}\n\n'.encode()
VARYING: dict[str, Any] = {"p": str, "n": int, "u": Counts}


class Heard:
    """A splicer that has learned a frame, and what it is told since."""

    def __init__(self, event: bytes, text: str = "Hi", limit: int = 1 << 20) -> None:
        self.texts, self.renewed = list[str](), list[Any]()
        self.splicer = splicing.Splicer(VARYING, limit)
        write = splicing.between(b"<", b">")
        self.splicer.learn(event, text, self.texts.append, write, self.renewed.append)

    @property
    def shape(self) -> splicing.Shape:
        assert self.splicer.shape is not None
        return self.splicer.shape

    def run(self, data: bytes) -> tuple[int, bytes, int]:
        """How far the frames have the shape, what is written, and in how many steps."""
        place, steps, written = 0, 0, list[bytes]()
        while True:
            end, more = self.shape.run(data, place)
            steps += 1
            if end == place:
                assert more == b""
                return place, b"".join(written), steps
            written.append(more)
            place = end


def frame(text: str, event: bytes = PLAIN) -> bytes:
    return event.replace(b'"Hi"', text.encode())


FITS: list[tuple[bytes, bytes, str, list[Any]]] = [
    (PLAIN, frame('"x"'), "x", []),
    (PLAIN, frame('"\\n \\u00e9\\"\\\\"'), '\n \u00e9"\\', []),
    (PLAIN, frame('"\u00e9 \U0001f600"'), "\u00e9 \U0001f600", []),
    (PLAIN, frame('"\\ud83d\\ude00"'), "\U0001f600", []),
    (PLAIN, frame('  "x"\t'), "x", []),
    (AFTER, frame('"x"', AFTER).replace(b"x3k", b""), "x", []),
    (AFTER, frame('"x"', AFTER).replace(b"7", b"-12"), "x", []),
    (BEFORE, frame('"x"', BEFORE).replace(b"x3k", b"y\\u00e9"), "x", [{"u": {"a": 1}}]),
    (BEFORE, frame('"x"', BEFORE).replace(b'"a":1', b""), "x", [{"u": {}}]),
    (RENEWED, frame('"x"', RENEWED).replace(b":1}", b":2}"), "x", [{"u": {"a": 2}}]),
    (PADDED, frame('"x"', PADDED).replace(b"   }", b"}"), "x", []),
    (PADDED, frame('"x"', PADDED).replace(b"   }", b" \t }"), "x", []),
    (TABBED, frame('"x"', TABBED).replace(b"\t}", b"  }"), "x", []),
    (LONG, frame('"x"', LONG), "x", []),
    (WIDE, frame('"x"', WIDE), "x", []),
]
UNFIT: list[tuple[bytes, bytes]] = [
    (PLAIN, frame('""')),
    (PLAIN, frame("1")),
    (PLAIN, frame("null")),
    (PLAIN, frame('"x')),
    (PLAIN, frame('x"')),
    (PLAIN, frame('"\\ud83d"')),
    (PLAIN, frame('"x","u":1')),
    (PLAIN, frame('"x","y"')),
    (PLAIN, frame('"x"\n')),
    (PLAIN, frame('\r"x"')),
    (PLAIN, PLAIN.replace(b"a-1", b"a-2")),
    (PLAIN, PLAIN.replace(b"}", b",}")),
    (PLAIN, PLAIN.replace(b"data: ", b"data:")),
    (PLAIN, b"data: [DONE]\n\n"),
    (PLAIN, PLAIN[:-1]),
    (AFTER, AFTER.replace(b'"x3k"', b"1")),
    (AFTER, AFTER.replace(b'"x3k"', b'"x","y"')),
    (AFTER, AFTER.replace(b"7", b"7.5")),
    (AFTER, AFTER.replace(b"7", b"\n7")),
    (AFTER, AFTER.replace(b"7", b"")),
    (AFTER, AFTER.replace(b"7", b"7,8")),
    (BEFORE, BEFORE.replace(b'"a":1', b'"a":"1"')),
    (BEFORE, BEFORE.replace(b'{"a":1}', b"null")),
    (BEFORE, BEFORE.replace(b'"x3k"', b'\r"x3k"')),
    (LONG, LONG.replace(b"abc", b"zbc")),
    (LONG, LONG.replace(b"}", b" }")),
    (WIDE, WIDE.replace(b"x3k", b"x3l")),
    (PADDED, PADDED.replace(b"   }", b" , }")),
    (PADDED, PADDED.replace(b"   }", b"\n }")),
    (PADDED, PADDED.replace(b"   }", b',"u":1  }')),
    (PADDED, PADDED.replace(b"}   }", b"   }")),
]


@pytest.mark.parametrize(("event", "other", "text", "renewed"), FITS)
def test_a_frame_that_fits(event: bytes, other: bytes, text: str, renewed: list[Any]) -> None:
    alone, among = Heard(event), Heard(event)
    literal = b"<" + splicing.encode(text) + b">"
    assert alone.shape.one(other) == literal
    assert (alone.texts, alone.renewed, alone.splicer.count) == ([text], renewed, 1)
    data = event * 3 + other + event * 2
    place, written, _ = among.run(data)
    assert place == len(data)
    assert written == b'<"Hi">' * 3 + literal + b'<"Hi">' * 2
    assert "".join(among.texts) == "HiHiHi" + text + "HiHi"
    assert among.splicer.count == 6
    assert bool(among.renewed) is (b'"u"' in event)


@pytest.mark.parametrize(("event", "other"), UNFIT)
def test_a_frame_that_does_not_fit(event: bytes, other: bytes) -> None:
    alone = Heard(event)
    assert alone.shape.one(other) is None
    assert (alone.texts, alone.renewed, alone.splicer.count) == ([], [], 0)
    for before in (0, 1, 2, 50):
        among = Heard(event)
        place, written, _ = among.run(event * before + other + event * 3)
        taken = place // len(event)
        assert place == taken * len(event)
        # One that begins otherwise may hide where the frame before it ends.
        assert taken == before if other.startswith(event[: splicing.MARK]) else taken <= before
        assert written == b'<"Hi">' * taken
        assert "".join(among.texts) == "Hi" * taken
        assert among.splicer.count == taken


def test_the_last_of_the_counts_is_told() -> None:
    heard = Heard(RENEWED)
    data = RENEWED + RENEWED.replace(b":1}", b":2}") + RENEWED.replace(b":1}", b":3}")
    assert heard.run(data)[0] == len(data)
    assert heard.renewed[-1] == {"u": {"a": 3}}
    both = b'data: {"u":{"a":1},"t":"Hi","v":{"b":1}}\n\n'
    splicer, told = splicing.Splicer({"u": Counts, "v": Counts}, 1 << 20), list[Any]()
    splicer.learn(both, "Hi", lambda text: None, None, told.append)
    assert splicer.shape is not None
    assert splicer.shape.one(both.replace(b"1", b"2")) == b""
    assert splicer.shape.run(both * 2, 0) == (2 * len(both), b"")
    assert told == [{"u": {"a": 2}, "v": {"b": 2}}, {"u": {"a": 1}, "v": {"b": 1}}]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (PLAIN, "Ho"),
        (PLAIN.replace(b"a-1", b"Hi"), "Hi"),  # which of both?
        (PLAIN.replace(b"a-1", b"\\u0048i"), "Hi"),
        (PLAIN.replace(b'"}', b'","x":"\\u0048i"}'), "Hi"),
        (b'data: {"p":"Hi"}\n\n', "Hi"),  # a value that says nothing
        (b'data: {"p":"a","t":"Hi","p":"b"}\n\n', "Hi"),
        (b'data: {"u":{"t":"Hi"}}\n\n', "Hi"),
    ],
)
def test_a_frame_without_a_shape(event: bytes, text: str) -> None:
    assert splicing.shape_of(event, text, VARYING) is None


def test_values_vary_only_at_the_top() -> None:
    deep = b'data: {"d":{"p":"x"},"l":[{"p":"{"}],"p":"a","t":"Hi"}\n\n'
    assert Heard(deep).shape.one(deep.replace(b'"a"', b'"b"')) == b'<"Hi">'
    assert Heard(deep).shape.one(deep.replace(b'"x"', b'"y"')) is None
    assert Heard(deep).shape.one(deep.replace(b'"{"', b'"}"')) is None
    later = b'data: {"t":"Hi","d":{"p":"x"},"l":["p"],"p":"a"}\n\n'
    assert Heard(later).shape.one(later.replace(b'"a"', b'"b"')) == b'<"Hi">'
    assert Heard(later).shape.one(later.replace(b'"x"', b'"y"')) is None
    within = b'data: {"c":[{"p":"x","t":"Hi","p2":1}],"p":"a"}\n\n'
    assert Heard(within).shape.one(within.replace(b'"a"', b'"b"')) == b'<"Hi">'
    assert Heard(within).shape.one(within.replace(b'"x"', b'"y"')) is None


def test_a_frame_is_no_longer_than_the_limit() -> None:
    heard = Heard(PLAIN, limit=len(PLAIN) + 1)
    assert heard.shape.one(frame('"Hi!"')) == b'<"Hi!">'
    assert heard.shape.one(frame('"Hi!!"')) is None


def test_a_frame_that_comes_alone_has_the_line_breaks_of_those_before() -> None:
    heard, other = Heard(PLAIN), PLAIN.replace(b"\n", b"\r\n")
    assert heard.shape.one(other) is None
    heard.shape.spell(other)
    assert heard.shape.one(other) == b'<"Hi">'
    assert heard.shape.one(PLAIN) is None
    heard.shape.spell(PLAIN)
    assert heard.shape.one(PLAIN) == b'<"Hi">'


def test_many_frames_are_taken_together() -> None:
    """As many bytes as a span at once; after one that does not fit few, and then more and more."""
    data = PLAIN * 5000
    assert Heard(PLAIN).run(data)[::2] == (len(data), 6)
    heard = Heard(PLAIN)
    assert heard.run(PLAIN * 3 + frame("1") + data)[0] == 3 * len(PLAIN)
    assert heard.run(data)[::2] == (len(data), 14)
    assert heard.run(data)[::2] == (len(data), 6)


def test_where_frames_of_a_shape_end_is_looked_for_by_halves() -> None:
    shape, other = Heard(PLAIN).shape, b"event: ping\ndata: {}\n\n"
    for count in (1, 2, 3, 10, 100, 500):
        data = PLAIN * count + other * 300
        end = shape.reach(data, 0)
        assert abs(end - count * len(PLAIN)) <= 3 * shape.step


def test_patience() -> None:
    """Three shapes are learned in vain; then more and more frames pass before the next is tried."""
    splicer, tried = splicing.Splicer({}, 1 << 20), list[int]()
    for number in range(1200):
        if not splicer.waits:
            tried.append(number)
        splicer.learn(PLAIN, "Ho", lambda text: None, None, lambda values: None)
    assert tried == [0, 1, 2, 3, 20, 53, 118, 247, 504, 761, 1018]
    assert splicer.count == 0


def test_patience_is_learned_from_shapes_that_are_not_met_again() -> None:
    splicer = splicing.Splicer({}, 1 << 20)
    for failures in (1, 2, 3, 4):
        splicer.learn(PLAIN, "Hi", lambda text: None, None, lambda values: None)
        assert splicer.shape is not None
        splicer.forget()
        assert (splicer.failures, splicer.count) == (failures, 0)
        splicer.forget()  # nothing is known, and nothing is forgotten
        assert splicer.failures == failures
    assert splicer.waits == 16
    splicer.waits = 0
    splicer.learn(PLAIN, "Hi", lambda text: None, None, lambda values: None)
    assert splicer.shape is not None
    assert splicer.shape.one(PLAIN) == b""
    assert splicer.count == 1
    splicer.forget()
    assert (splicer.failures, splicer.waits, splicer.count) == (0, 0, 1)


def test_a_delta_that_says_its_text_twice() -> None:
    write = splicing.around(b"<" + splicing.MARKER + b"|" + splicing.MARKER + b">")
    assert write(("a", "b"), (b'"a"', b'"b"')) == b'<"a"|"a"><"b"|"b">'
    kept_texts: list[str] = []
    once = splicing.around(b"<" + splicing.MARKER + b">", kept_texts.append)
    assert once(("a", "b"), (b'"a"', b'"b"')) == b'<"a"><"b">'
    assert splicing.silent(kept_texts.append)(("c", "d"), (b'"c"', b'"d"')) == b""
    assert splicing.silent()(("e",), (b'"e"',)) == b""
    assert kept_texts == ["ab", "cd"]
