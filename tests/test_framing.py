"""Bytes to frames: whatever the pieces, whatever the line ends."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import Malformed
from dragoman.framing import Frame, framer

EVENTS = (
    b"\xef\xbb\xbf: a comment\n\n"
    b'event: greeting\nid: 7\ndata: {"a": 1}\n\n'
    b"data: first line\ndata:second line\nretry: 10\n\n"
    b"event: nothing\n\n"
    b"data\n\n"
    b"\n\n"
    b'data: {"text": "\xc3\xa9\xf0\x9f\x98\x80"}\n\n'
    b"data: [DONE]"
)
FRAMES: list[Frame] = [
    ("greeting", b'{"a": 1}'),
    ("", b"first line\nsecond line"),
    ("", '{"text": "é😀"}'.encode()),
    ("", b"[DONE]"),
]


def frames(kind: str, pieces: list[bytes]) -> list[Frame]:
    stream = framer(kind)
    found = [frame for piece in pieces for frame in stream.feed(piece)]
    return found + stream.close()


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[a:b] for a, b in pairwise(places)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@given(cuts=st.lists(st.integers(0, 400), max_size=12))
def test_events_come_out_whole(end: bytes, cuts: list[int]) -> None:
    data = EVENTS.replace(b"\n", end)
    assert frames("sse", split(data, cuts)) == FRAMES
    assert frames("sse", [data[i : i + 1] for i in range(len(data))]) == FRAMES


def test_an_event_comes_with_its_last_byte() -> None:
    stream = framer("sse")
    assert stream.feed(b"data: 1\n") == []
    assert stream.feed(b"\ndata: 2") == [("", b"1")]
    assert stream.feed(b"\r\n\r") == [("", b"2")]
    assert stream.feed(b"\ndata: 3\n\n") == [("", b"3")]


@given(st.lists(st.integers(0, 100), max_size=8))
def test_lines(cuts: list[int]) -> None:
    data = b'{"a": 1}\r\n\n  \n{"b": "\xc3\xa9"}\n[3]'
    found = [json.loads(frame) for _, frame in frames("ndjson", split(data, cuts))]
    assert found == [{"a": 1}, {"b": "é"}, [3]]


ITEMS: list[Any] = [{"a": ["]", '"', "\\", {}]}, {"b": {"c": [1, {"d": 'x\\"{'}]}}, {}]


@given(st.lists(st.integers(0, 200), max_size=12))
def test_items_of_an_array(cuts: list[int]) -> None:
    data = json.dumps(ITEMS, indent=1).encode()
    assert [json.loads(item) for _, item in frames("array", split(data, cuts))] == ITEMS
    single = [data[i : i + 1] for i in range(len(data))]
    assert [json.loads(item) for _, item in frames("array", single)] == ITEMS


@pytest.mark.parametrize(
    ("kind", "begin"), [("sse", b"data: "), ("ndjson", b'"'), ("array", b'[{"a": "')]
)
def test_a_frame_without_end_is_refused(kind: str, begin: bytes) -> None:
    stream = framer(kind, 1000)
    for _ in range(10):
        stream.feed(begin)
        begin = b"x" * 90
    with pytest.raises(Malformed, match="more than 1000 bytes"):
        stream.feed(b"x" * 1000)


@given(st.lists(st.integers(0, 300), max_size=6))
def test_a_long_event_is_refused_in_any_pieces(cuts: list[int]) -> None:
    """What came before it is given all the same."""
    stream = framer("sse", 100)
    found: list[Frame] = []

    def feed_all() -> None:
        for piece in split(b"data: 1\n\ndata: %b\n\ndata: 3\n\n" % (b"x" * 95), cuts):
            found.extend(stream.feed(piece))
        stream.close()

    with pytest.raises(Malformed, match="more than 100 bytes"):
        feed_all()
    assert found == [("", b"1")]


@pytest.mark.parametrize("kind", ["sse", "ndjson", "array"])
@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=5))
def test_anything_can_come(kind: str, data: bytes, cuts: list[int]) -> None:
    whole = frames(kind, [data])
    assert frames(kind, split(data, cuts)) == whole


@pytest.mark.parametrize("space", [b"", b" \r\n"])
@given(cuts=st.lists(st.integers(0, 400), max_size=12))
def test_the_first_byte_tells_events_from_an_array(space: bytes, cuts: list[int]) -> None:
    array = space + b'[{"a": 1},\r\n{"b": "]"}]'
    assert frames("either", split(array, cuts)) == [("", b'{"a": 1}'), ("", b'{"b": "]"}')]
    events = space + b'data: {"a": 1}\n\ndata: {"b": "]"}\n\n'
    assert frames("either", split(events, cuts)) == [("", b'{"a": 1}'), ("", b'{"b": "]"}')]
