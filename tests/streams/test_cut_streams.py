"""One stream of each dialect, cut after every byte: no cut passes for an end.

Where a stream says that it is complete is written down here by hand, from the vendors' references.
Before that, whatever the target: it ends in the target's own error, after everything that came.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import pytest

import dragoman
from choosing import chosen
from dragoman import dialects
from dragoman.core.reading import parse
from dragoman.model import Response, Text
from dragoman.streams.framing import framer, write_frame
from talks import ANSWER, EXPECTED, LAST, replies
from talks import written as gist

STREAMS = [name for name in dialects.names() if "stream" in dialects.get(name).facets()]
FEW = 25
"""How many cuts of a stream a short run tries."""


class Cut(NamedTuple):
    """A stream, and where the frame that completes it is."""

    data: bytes
    starts: int
    ends: tuple[int, ...]
    """where it ends, and the frames after it: counts, and what says that nothing else comes"""


@cache
def stream_of(dialect: str) -> Cut:
    data = dragoman.decompose(replies(dialect), dialect)
    framing = dialects.get(dialect).framing
    frames = framer(framing)
    bounds, last = [0], 0
    for number, frame in enumerate([*frames.feed(data), *frames.close()], 1):
        bounds.append(bounds[-1] + len(write_frame(framing, frame)))
        last = number if LAST[dialect] in frame[1] else last
    assert bounds[-1] == len(data)
    assert last
    return Cut(data, bounds[last - 1], tuple(bounds[last:]))


def text_in(tree: Response) -> str:
    blocks = [block for c in tree.candidates for block in c.message.content]
    return "".join(block.text for block in blocks if isinstance(block, Text))


def partners() -> list[tuple[str, str]]:
    """Each dialect to itself and to another, so that each is a target of another as well."""
    return [pair for n, a in enumerate(STREAMS) for pair in ((a, a), (a, STREAMS[n - 7]))]


def test_every_stream_has_a_last_frame() -> None:
    assert set(STREAMS) == LAST.keys()


def places(cut: Cut) -> list[int]:
    every = range(len(cut.data) + 1)
    if not chosen["quick"]:
        return list(every)
    near = [cut.starts, cut.starts + 1, *cut.ends, *(end - 1 for end in cut.ends)]
    return sorted({*every[:: len(every) // FEW + 1], *(place for place in near if place in every)})


@pytest.mark.parametrize(("source", "target"), partners())
def test_cut_after_every_byte(source: str, target: str) -> None:
    cut = stream_of(source)
    whole = dragoman.Transcoder(source, target, now=0)
    everything = whole.feed(cut.data)
    before = 0  # how much of the text has come
    for place in places(cut):
        transcoder = dragoman.Transcoder(source, target, now=0)
        begun = transcoder.feed(cut.data[:place])
        assert everything.startswith(begun)  # nothing is written that the whole would not say
        if place <= cut.starts:
            assert not transcoder.ended
        written = begun + transcoder.close()
        complete = is_complete(transcoder, written, target)
        if place <= cut.starts:
            assert not complete, place
        if place in cut.ends:
            assert complete, place
        text = text_in(transcoder.response)
        assert ANSWER.startswith(text)
        assert len(text) >= before  # what has come stays
        before = len(text)
        if place >= cut.starts:
            assert text == ANSWER
        assert text_in(heard(written, target).response) == text, place
        assert transcoder.close() == b""


def heard(written: bytes, target: str) -> dragoman.Transcoder:
    transcoder = dragoman.Transcoder(target, target)
    transcoder.feed(written)
    transcoder.close()
    return transcoder


def is_complete(transcoder: dragoman.Transcoder, written: bytes, target: str) -> bool:
    """Whether a response is complete: all who say so must agree."""
    failure = transcoder.response.failure
    again = heard(written, target)
    assert again.problem is None  # a stream of the target, with an end or with an error
    assert (again.response.failure is None) is (failure is None), written[-300:]
    if failure is None:
        assert gist(transcoder.document, target) == EXPECTED
        return True
    frames = framer(dialects.get(target).framing)
    for _, data in [*frames.feed(written), *frames.close()]:
        assert data.strip() == b"[DONE]" or isinstance(parse(data), dict)
    assert failure.kind == "server"
    assert transcoder.document is None or target_says_error(transcoder, target)
    return False


def target_says_error(transcoder: dragoman.Transcoder, target: str) -> bool:
    """Whether the document at rest is no response that somebody could take for a success."""
    tree = dragoman.read(transcoder.document, target, facet="response")
    return isinstance(tree, Response) and tree.failure is not None


@pytest.mark.parametrize("source", STREAMS)
def test_byte_by_byte_it_ends_where_it_ends(source: str) -> None:
    """Fed in single bytes, a stream has not ended before the frame that completes it."""
    cut = stream_of(source)
    transcoder = dragoman.Transcoder(source, "native")
    for place, byte in enumerate(cut.data):
        assert not transcoder.ended or place >= cut.starts, place
        transcoder.feed(bytes([byte]))
    transcoder.close()
    assert transcoder.ended
    assert transcoder.response.failure is None


@pytest.mark.parametrize("dialect", STREAMS)
@pytest.mark.parametrize("target", ["openai-chat", "anthropic-messages", "bedrock-converse"])
def test_what_comes_after_the_end_is_no_second_end(dialect: str, target: str) -> None:
    """Stray bytes, or a frame with a bad checksum: what was written stands, and ends once."""
    cut = stream_of(dialect)
    whole = dragoman.Transcoder(dialect, target, now=0)
    written = whole.feed(cut.data)
    written += whole.close()
    assert whole.close() == b""
    broken = cut.data[cut.starts : -1] + bytes((cut.data[-1] ^ 0x5A,))
    for stray in (b"\x00\x01", b"]", broken):
        if dialect == target or (stray is broken and dialects.get(dialect).framing == "sse"):
            continue  # copied as it is; a frame of text has no checksum
        again = dragoman.Transcoder(dialect, target, now=0)
        got = again.feed(cut.data) + again.feed(stray) + again.close()
        assert again.close() == b""
        assert got == written, got[len(written) - 200 :]
        assert again.response.failure is None
