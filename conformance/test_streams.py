"""The laws of streams over all that were recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import pytest

import dragoman
from dragoman import dialects, testing
from dragoman.core.walk import meaning
from dragoman.model import Response, Text
from dragoman.streams.framing import framer, write_frame

from . import laws
from .reality import DIALECTS, Stream, streams
from .test_reality import describe

PAIRS = list(product(DIALECTS, DIALECTS))
STREAMS = [name for name in dialects.names() if "stream" in dialects.get(name).facets()]
ODD = 61  # bytes in a piece: in the middle of everything, sooner or later

# Streams that are marked as complete and fail here, each with its reason.
FAILED: dict[str, str] = {
    "3859fbd1bcc60db0-82b6a1ae-0-stream": "it says [DONE] and has said nothing, nor why it stopped",
    "918fedc9b79fc244-918fedc9-0-stream": "written by hand: a chunk that is no JSON",
    "3eafd2cd4e210b8e-954465e9-0-stream": "the answer failed, and it says so",
    "b144fae11f25c5e6-b144fae1-0-stream": "an error stands beside its last choice",
    "bd93d95129c66b7a-bd93d951-0-stream": "the last event bears an error",
    "bd93d95129c66b7a-bd93d951-1-stream": "the last event bears an error",
}
# Streams that are marked as incomplete and end here.
ENDED: dict[str, str] = {
    "22dd578c484366b6-22dd578c-0-stream": "the prompt was blocked, and there will be no answer",
}
# Recordings that hold several replies, each of which is whole.
SEVERAL: dict[str, str] = {
    "14c1fc92bc2a0c24-c27680f3-0-stream": "two answers of two requests",
    "6e17c48fac0a00fc-6e17c48f-0-stream": "written by hand, with several reasons to stop",
    "bb3e9442feb35032-bb3e9442-0-stream": "written by hand, with several reasons to stop",
    "680a9a5830362ed4-2d8cb1b9-0-stream": "every chunk has a reason to stop, as Gemini once did",
    "75c66fce6199ffc0-fbf5d658-0-stream": "every chunk has a reason to stop, as Gemini once did",
    "e12616eef21aa7fe-e12616ee-0-stream": "every chunk has a reason to stop, as Gemini once did",
    "ed58ee72b3622f80-ed58ee72-0-stream": "every chunk has a reason to stop, as Gemini once did",
    "f3c5eb713d1a4d18-f3c5eb71-0-stream": "every chunk has a reason to stop, as Gemini once did",
}


def hold(law: Callable[[Stream], None], name: str, dialect: str, documents: str) -> None:
    """A law over all streams of a dialect, counted."""
    failures: list[tuple[str, object]] = []
    for stream in streams(dialect):
        try:
            law(stream)
            held, why = True, ""
        except AssertionError as problem:
            held, why = False, str(problem)[:400]
        if not laws.tally(name, documents, held):
            failures.append((stream.name, why))
    assert not failures, describe(failures)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_stream_is_read(dialect: str) -> None:
    """What reached its end is a reply, and what did not is a failure."""

    def law(stream: Stream) -> None:
        failure = laws.failure(stream)
        fails = stream.name in FAILED or not (stream.complete or stream.name in ENDED)
        assert (failure is not None) == fails, failure

    hold(law, "7 streams are read", dialect, dialect)


@pytest.mark.parametrize(("source", "target"), list(product(DIALECTS, STREAMS)))
def test_splicing_changes_nothing(source: str, target: str) -> None:
    """All at once, by frame and cut anywhere; whether texts are kept or not."""

    def law(stream: Stream) -> None:
        for pieces in in_pieces(stream.data, source):
            testing.splicing_changes_nothing(pieces, source, target, now=0)
            testing.splicing_changes_nothing(pieces, source, target, now=0, collect=False)

    hold(law, "9 spliced is read", source, f"{source} > {target}")


def in_pieces(data: bytes, dialect: str) -> Iterator[list[bytes]]:
    kind = dialects.get(dialect).framing
    yield [data]
    yield [data[place : place + ODD] for place in range(0, len(data), ODD)]
    if kind == "eventstream":
        yield [write_frame(kind, frame) for frame in framer(kind).feed(data)]
    else:
        end = b"\n" if kind == "ndjson" else b"\r\n\r\n" if b"\r\n\r\n" in data else b"\n\n"
        *whole, rest = data.split(end)
        yield [*(piece + end for piece in whole), rest]


@pytest.mark.parametrize(("source", "target"), list(product(DIALECTS, STREAMS)))
def test_streaming_equals_batch(source: str, target: str) -> None:
    hold(
        lambda stream: testing.streaming_equals_batch(stream.data, source, target),
        "8 rest is flight", source, f"{source} > {target}",
    )  # fmt: skip


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_pieces_do_not_matter(source: str, target: str) -> None:
    hold(
        lambda stream: testing.chunks_do_not_matter(stream.data, source, target, ODD),
        "9 pieces do not matter", source, f"{source} > {target}",
    )  # fmt: skip


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_never_a_false_success(source: str, target: str) -> None:
    """A stream that stops in the middle fails, and so do those that were recorded so."""

    def law(stream: Stream) -> None:
        cut = stream if not stream.complete else stream._replace(data=half(stream.data))
        transcoder = dragoman.Transcoder(source, target)
        written = transcoder.feed(cut.data) + transcoder.close()
        if transcoder.response.failure is None and stream.name in SEVERAL:
            return
        if transcoder.response.failure is None:  # all was written by then
            whole = dragoman.Transcoder(source, target)
            whole.feed(stream.data)
            whole.close()
            assert spoken(transcoder.response) == spoken(whole.response), "a part for the whole"
            return
        again = dragoman.Transcoder(target, target)
        again.feed(written)
        again.close()
        assert again.response.failure is not None, written[-200:]

    hold(law, "10 never a false success", source, f"{source} > {target}")


def spoken(tree: Response) -> list[object]:
    blocks = [
        block for candidate in meaning(tree).candidates for block in candidate.message.content
    ]
    return [block for block in blocks if not isinstance(block, Text) or block.text]


def half(data: bytes) -> bytes:
    """The stream up to the middle of its events."""
    events = data.replace(b"\r\n", b"\n").split(b"\n\n")
    told = [event for event in events if b"data:" in event]
    return b"\n\n".join(told[: len(told) // 2]) + b"\n\n"
