"""Bytes to frames: whatever the pieces, whatever the line ends."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import Malformed, Transcoder
from dragoman.streams.framing import Frame, Framer, framer, write_frame
from dragoman.streams.framing.eventstream import write_error

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


# -- limits, ends and headers, to the byte --------------------------------------------------

ONE: dict[str, tuple[bytes, bytes, bytes]] = {
    "sse": (b"data: ", b"x" * 94, b"\n\n"),
    "ndjson": (b"", b"x" * 100, b"\n"),
    "array": (b"[", b"{" + b" " * 98 + b"}", b"]"),
}


@pytest.mark.parametrize("pieces", [1, 2, 200])
@pytest.mark.parametrize("kind", ONE)
def test_a_frame_may_be_as_long_as_the_limit(kind: str, pieces: int) -> None:
    begin, body, end = ONE[kind]
    data = begin + body + end
    size = -(-len(data) // pieces)
    stream = framer(kind, 100)
    found = [f for i in range(0, len(data), size) for f in stream.feed(data[i : i + size])]
    assert found == [("", body)]
    assert stream.close() == []


@pytest.mark.parametrize("kind", ONE)
def test_a_frame_that_is_longer_by_one_is_refused(kind: str) -> None:
    begin, body, _ = ONE[kind]
    data = (begin + body)[: None if kind != "array" else -1]
    with pytest.raises(Malformed, match=f"more than {len(data) - 2} bytes"):
        framer(kind, len(data) - 2).feed(data)


LONG: dict[str, bytes] = {
    "sse": b"data: 1\n\ndata: 2\n\ndata: " + b"3" * 25 + b"\n\ndata: 4\n\n",
    "ndjson": b"1\n2\n" + b"3" * 25 + b"\n4\n",
    "array": b'[{"a":1},{"b":2},{"c":"' + b"3" * 25 + b'"},{"d":4}]',
}


@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize("kind", LONG)
def test_a_frame_that_is_too_long_is_refused_however_the_bytes_are_cut(
    kind: str, ends: bool
) -> None:
    data = LONG[kind] if ends else LONG[kind][: LONG[kind].index(b"3" * 25) + 25]
    for size in range(1, len(data) + 1):
        found: list[Frame] = []
        with pytest.raises(Malformed, match="of more than 20 bytes"):
            fill(found, framer(kind, 20), data, size)
        assert len(found) == 2, size


def test_an_item_is_as_long_as_its_braces_are_apart() -> None:
    stream = framer("array", 100)
    assert stream.feed(b"[{" + b" " * 99) == []
    with pytest.raises(Malformed, match="more than 100 bytes"):
        stream.feed(b"}")
    assert framer("array", 100).feed(b"[{" + b" " * 98 + b"}") == [("", b"{" + b" " * 98 + b"}")]
    with pytest.raises(Malformed, match="more than 100 bytes"):
        framer("array", 100).feed(b"[{" + b" " * 99 + b"}")


SHORT: dict[str, tuple[bytes, bytes]] = {
    "sse": (b"data: 1\n\n", b"data: " + b"3" * 25 + b"\n\n"),
    "ndjson": (b"1\n", b"3" * 25 + b"\n"),
    "array": (b"[{},", b'{"c":"' + b"3" * 25 + b'"},'),
}


@pytest.mark.parametrize("kind", SHORT)
def test_a_frame_that_is_too_long_is_the_end(kind: str) -> None:
    """The first is refused at once, one after others with the next call, whatever that brings."""
    short, long = SHORT[kind]
    stream = framer(kind, 20)
    with pytest.raises(Malformed, match="of more than 20 bytes"):
        stream.feed(long if kind != "array" else b"[" + long)
    for after in (b"", b"x", b"\n\n", short, None):
        stream = framer(kind, 20)
        assert len(stream.feed(short + long)) == 1
        with pytest.raises(Malformed, match="of more than 20 bytes"):
            stream.close() if after is None else stream.feed(after)


@pytest.mark.parametrize(("kind", "data"), [("sse", b"data: 1"), ("ndjson", b"1234567")])
def test_a_last_frame_may_be_as_long_as_the_limit(kind: str, data: bytes) -> None:
    stream = framer(kind, 7)
    assert stream.feed(data) == []
    assert stream.close() == [("", data.removeprefix(b"data: "))]
    blank = framer(kind, 7)
    assert blank.feed(b"\n\n" + data) == []
    assert blank.feed(b"\n\n") == [("", data.removeprefix(b"data: "))]


def test_an_event_with_blank_data_says_nothing_unless_it_is_an_error() -> None:
    data = b"event: ping\ndata:  \n\ndata:\ndata:\n\nevent: error\ndata:\n\n"
    assert framer("sse").feed(data) == [("error", b"")]
    # "If the data buffer is an empty string", which no line has touched, nothing is dispatched.
    assert framer("sse").feed(b"event: error\n\n") == []


def fill(found: list[Frame], stream: Framer, data: bytes, size: int) -> None:
    for start in range(0, len(data), size):
        found += stream.feed(data[start : start + size])
    found += stream.close()


@pytest.mark.parametrize(
    ("kind", "data"), [("sse", b"data: 1"), ("ndjson", b"1"), ("array", b"[{"), ("either", b"[{")]
)
def test_the_last_frame_is_given_once(kind: str, data: bytes) -> None:
    stream = framer(kind)
    assert stream.feed(data) == []
    assert stream.close() == [("", data.removeprefix(b"data: ").removeprefix(b"["))]
    assert stream.close() == []


@pytest.mark.parametrize(
    ("kind", "space"), [("sse", b"\n \n"), ("ndjson", b" \r"), ("either", b" ")]
)
def test_white_space_is_no_frame(kind: str, space: bytes) -> None:
    stream = framer(kind)
    assert stream.feed(space) + stream.close() == []


def test_lines_that_begin_with_their_end() -> None:
    stream = framer("ndjson", 3)
    assert stream.feed(b"\n") == []
    assert stream.feed(b"123") == []
    assert stream.feed(b"\n4\n56") == [("", b"123"), ("", b"4")]
    assert stream.feed(b"7\n") == [("", b"567")]
    lines = framer("ndjson")
    assert [lines.feed(piece) for piece in (b"12345", b"\n1", b"\n")] == [
        [], [("", b"12345")], [("", b"1")],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "data", "ends"),
    [
        ("sse", b"data: 1\n\ndata: 2", [(0, 9), (9, 9)]),
        ("sse", b"data: 1\r\n\r\ndata: 2", [(0, 11), (8, 11), (10, 11)]),
        ("sse", b"data: 1\r\rdata: 2", [(0, 9), (8, 9)]),
        ("sse", b"data: 1\n", [(0, 0), (7, 0)]),
        ("sse", b"\n\ndata", [(0, 2), (1, 2), (2, 2)]),
        ("ndjson", b"1\n2\n3", [(0, 4), (2, 4)]),
        ("ndjson", b"123", [(0, 0)]),
        ("array", b"[{},{", [(0, 5)]),
    ],
)
def test_where_the_last_whole_frame_ends(
    kind: str, data: bytes, ends: list[tuple[int, int]]
) -> None:
    for start, end in ends:
        assert framer(kind).whole(bytearray(data), start) == end


def test_which_of_both_decides_where_a_frame_ends() -> None:
    for begin, data, end in ((b" ", b" ", 0), (b"[", b"[{},{", 5), (b"d", b"data: 1\n\nd", 9)):
        stream = framer("either")
        stream.feed(begin)
        assert stream.whole(bytearray(data), 0) == end


def test_an_object_alone_is_the_only_item() -> None:
    assert frames("either", [b' {"a": [1]}']) == [("", b'{"a": [1]}')]
    assert frames("either", [b" ", b"\n", b'{"a": 1}']) == [("", b'{"a": 1}')]


def test_any_other_byte_begins_an_event() -> None:
    assert frames("either", [b"x: 1\n\ndata: 2\n\n"]) == [("", b"2")]


def test_white_space_before_the_first_event_belongs_to_it() -> None:
    """A field that begins with a space is another field, however the bytes are cut."""
    data = b" data: 1\n\ndata: 2\n\n"
    assert frames("either", [data]) == frames("sse", [data]) == [("", b"2")]
    assert frames("either", [data[:1], data[1:]]) == [("", b"2")]


def test_a_mark_of_the_byte_order_stands_at_the_beginning_only() -> None:
    bom = b"\xef\xbb\xbf"
    assert frames("sse", [bom + b"data: 1\n\n", b"data: 2\n\n"]) == [("", b"1"), ("", b"2")]
    assert frames("sse", [b"data: 1\n\n", bom + b"data: 2\n\n"]) == [("", b"1")]


def test_no_event_but_the_first_begins_with_a_mark_of_the_byte_order() -> None:
    data, stream = b"data: 1\n\n\xef\xbb\xbfdata: 2\n\n", framer("sse")
    whole = stream.cut(data)
    assert whole == data
    frame, place = stream.next_frame(whole, 0)
    assert frame == ("", b"1")
    assert stream.next_frame(whole, place)[0] is None  # a field that nobody knows


def test_a_line_feed_belongs_to_the_carriage_return_right_before_it() -> None:
    assert frames("sse", [b"data: 1\r", b"\ndata: 2\r", b"\n\r\n"]) == [("", b"1\n2")]
    assert frames("sse", [b"data: 1\r", b"data: 2\n", b"\n"]) == [("", b"1\n2")]
    assert frames("sse", [b"data: 1\n", b"\ndata: 2\r", b"\r"]) == [("", b"1"), ("", b"2")]
    assert framer("sse").feed(b"data: 1\r\n\r\n") == [("", b"1")]
    stream = framer("sse")
    assert [stream.feed(piece) for piece in (b"data: 1\r", b"\n", b"\n")] == [[], [], [("", b"1")]]
    assert [stream.feed(piece) for piece in (b"data: 2\r", b"\n", b"\r")] == [[], [], [("", b"2")]]
    assert frames("sse", [b"data: 1\r", b"", b"\n\ndata: 2\n", b"\n"]) == [("", b"1"), ("", b"2")]


@pytest.mark.parametrize(
    ("kind", "frame", "data"),
    [
        ("sse", ("", b"1"), b"data: 1\n\n"),
        ("sse", ("ping", b"1"), b"event: ping\ndata: 1\n\n"),
        ("ndjson", ("", b"1"), b"1\n"),
        ("array", ("", b"1"), b"1\n"),
    ],
)
def test_frames_are_written(kind: str, frame: Frame, data: bytes) -> None:
    assert write_frame(kind, frame) == data


# -- Amazon's event stream, by another hand than the framer's -----------------------------------


def binary(headers: dict[str, tuple[int, bytes]], payload: bytes = b"{}") -> bytes:
    """A frame after the specification: name, type and value of each header as they are given."""
    written = b"".join(
        bytes([len(name)]) + name.encode() + bytes([kind]) + value
        for name, (kind, value) in headers.items()
    )
    prelude = (16 + len(written) + len(payload)).to_bytes(4, "big") + len(written).to_bytes(
        4, "big"
    )
    frame = prelude + crc32(prelude).to_bytes(4, "big") + written + payload
    return frame + crc32(frame).to_bytes(4, "big")


def text(value: str) -> tuple[int, bytes]:
    return 7, len(value).to_bytes(2, "big") + value.encode()


SAID = {":event-type": text("delta"), ":message-type": text("event")}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (0, b""), (1, b""), (2, b"\1"), (3, b"\1\2"), (4, b"\1\2\3\4"), (5, b"12345678"),
        (6, b"\0\2ab"), (8, b"12345678"), (9, b"0123456789abcdef"),
    ],
)  # fmt: skip
def test_headers_that_are_no_text_are_passed_over(kind: int, value: bytes) -> None:
    data = binary({"x": (kind, value), **SAID})
    assert frames("eventstream", [data]) == [("delta", b"{}")]
    assert frames("eventstream", [data[i : i + 1] for i in range(len(data))]) == [("delta", b"{}")]


@pytest.mark.parametrize(
    ("headers", "payload", "frame"),
    [
        ({":event-type": text("a"), ":exception-type": text("b")}, b"1", ("a", b"1")),
        ({":exception-type": text("b")}, b"1", ("b", b"1")),
        ({}, b"1", ("", b"1")),
        (SAID, b"", ("delta", b"{}")),
        ({":message-type": text("error")}, b"", ("error", b'{"message":""}')),
        (
            {
                ":message-type": text("error"),
                ":error-code": text("Slow"),
                ":error-message": text("Wait."),
            },
            b"",
            ("Slow", b'{"message":"Wait."}'),
        ),
    ],
)
def test_the_headers_name_a_frame(
    headers: dict[str, tuple[int, bytes]], payload: bytes, frame: Frame
) -> None:
    assert frames("eventstream", [binary(headers, payload)]) == [frame]


def test_frames_of_the_event_stream_are_written() -> None:
    written = {
        ":event-type": text("delta"),
        ":content-type": text("application/json"),
        ":message-type": text("event"),
    }
    assert write_frame("eventstream", ("delta", b"1")) == binary(written, b"1")
    failed = {
        ":exception-type": text("throttlingException"),
        ":content-type": text("application/json"),
        ":message-type": text("exception"),
    }
    assert write_frame("eventstream", ("throttlingException", b"1")) == binary(failed, b"1")
    error = {
        ":message-type": text("error"),
        ":error-code": text("c"),
        ":error-message": text("x" * 32767),
    }
    assert write_error("c", "x" * 40000) == binary(error, b"")


GOOD = binary(SAID)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (GOOD[:8] + b"\0\0\0\0" + GOOD[12:], "the checksum of a frame's prelude is wrong"),
        (GOOD[:-1] + bytes([GOOD[-1] ^ 1]), "the checksum of a frame is wrong"),
        (GOOD[:-1], "the stream ended in the middle of a frame"),
        (GOOD[:11], "the stream ended in the middle of a frame"),
        (binary(SAID, b"x" * 200), "a frame of more than 200 bytes"),
        (binary({"x": (7, b"\0\x09ab")}, b""), "a header longer than its frame declares"),
        (binary({"x": (10, b"")}, b""), "the headers of a frame are invalid"),
        (binary({"x": (7, b"\0")}, b""), "the headers of a frame are invalid"),
        (binary({"x": (7, b"\0\1\xff")}, b""), "the headers of a frame are invalid"),
    ],
)
def test_a_frame_that_is_damaged(data: bytes, problem: str) -> None:
    """What came before it is given, whether it comes at once or later."""
    for pieces in ([GOOD + data], [GOOD, data]):
        stream, found = framer("eventstream", 200), list[Frame]()
        with pytest.raises(Malformed, match=problem):
            feed_all(stream, pieces, found)
        assert found == [("delta", b"{}")]


def feed_all(stream: Framer, pieces: list[bytes], found: list[Frame]) -> None:
    for piece in pieces:
        found += stream.feed(piece)
    stream.close()


def test_a_damage_is_reported_after_what_was_whole() -> None:
    stream = framer("eventstream")
    assert stream.feed(GOOD + GOOD[:-1] + b"!") == [("delta", b"{}")]
    with pytest.raises(Malformed, match="checksum"):
        stream.feed(GOOD)
    with pytest.raises(Malformed, match="checksum"):
        stream.close()


def test_a_binary_frame_may_be_as_long_as_the_limit() -> None:
    stream = framer("eventstream", len(GOOD))
    assert stream.feed(GOOD) == [("delta", b"{}")]
    assert stream.close() == []
    bare = binary({}, b"")
    assert framer("eventstream", 16).feed(bare) == [("", b"{}")]
    with pytest.raises(Malformed, match="more than 15 bytes"):
        framer("eventstream", 15).feed(bare)


def test_a_prelude_is_looked_at_as_soon_as_it_is_there() -> None:
    with pytest.raises(Malformed, match="prelude"):
        framer("eventstream").feed(GOOD[:8] + b"\0\0\0\0")


def test_headers_longer_than_the_frame() -> None:
    prelude = (16).to_bytes(4, "big") + (1).to_bytes(4, "big")
    with pytest.raises(Malformed, match="shorter than its headers"):
        framer("eventstream").feed(prelude + crc32(prelude).to_bytes(4, "big") + b"1234")


def test_where_the_last_whole_binary_frame_ends() -> None:
    stream = framer("eventstream")
    for data, end in (
        (GOOD, len(GOOD)),
        (GOOD + GOOD, 2 * len(GOOD)),
        (GOOD + GOOD[:-1], len(GOOD)),
        (GOOD + GOOD[:12], len(GOOD)),
        (GOOD[:11], 0),
        (GOOD + b"\0" * 12, len(GOOD)),  # which is no frame, and would never end
        (binary({}, b""), 16),
    ):
        assert stream.whole(bytearray(data), 0) == end
    lines = framer("eventstream")
    assert lines.feed(b"") == []
    assert lines.feed(b'{"a": 1}\n{') == [("", b'{"a": 1}')]
    assert lines.whole(bytearray(b'{"a": 1}\n{'), 0) == 9
    assert lines.close() == [("", b"{")]


@pytest.mark.parametrize("ends", ["\n\n\n", "\n\n\n\n\n", "\r\n\r\n\r\n", "\n\n\r"])
def test_more_blank_lines_than_one_end_an_event_as_well(ends: str) -> None:
    """An odd number of line feeds leaves one, which is no event and is not looked for again."""
    chunk = '{"id":"1","choices":[{"index":0,"delta":{"content":"Hi"}}]}'
    data = "".join(f"data: {chunk}{ends}" for _ in range(3)).encode()
    for piece in (len(data), 1, 7):
        flow = Transcoder("openai-chat", "anthropic-messages")
        heard = [flow.feed(data[i : i + piece]) for i in range(0, len(data), piece)]
        heard.append(flow.feed(b"data: [DONE]\n\n") + flow.close())
        assert b"".join(heard).count(b'"text":"Hi"') == 3


# -- the three ways to the frames: feed, cut and split, cut and one frame after the other ---------

WAYS: dict[str, list[bytes]] = {
    "sse": [
        b"data: 1\n\nevent: a\ndata: 2\n\n: note\n\ndata: 3\ndata: 4\n\n\ndata: 5\n\ndata:  \n\n",
        b"\xef\xbb\xbfdata: 1\r\n\r\ndata: 2\r\rdata: 3\n\n\n\n\xef\xbb\xbfdata: 4\n\ndata: 5",
        b"\n\n\ndata: 1\n\n" + b"data: " + b"2" * 30 + b"\n\ndata: 3\n\n",
    ],
    "ndjson": [b'{"a":1}\n\n \r\n2\r\n"3"\n', b"1\n" + b"2" * 40 + b"\n3\n", b"\n\n1"],
    "either": [b" \n data: 1\n\ndata: 2\n\n", b"\n\ndata: 1\n\nevent: error\ndata:\n\n", b" \n\n"],
}


@pytest.mark.parametrize(("kind", "data"), [(k, data) for k, many in WAYS.items() for data in many])
@pytest.mark.parametrize("limit", [20, 100])
def test_all_ways_give_the_same_frames(kind: str, data: bytes, limit: int) -> None:
    for first in range(len(data) + 1):
        for second in range(first, len(data) + 1, 3):
            pieces = [data[:first], data[first:second], data[second:]]
            fed = outcome(framer(kind, limit), pieces, fed_to)
            assert outcome(framer(kind, limit), pieces, cut_and_split) == fed
            if limit > len(data):  # the transcoder looks for the length first
                assert outcome(framer(kind, limit), pieces, cut_and_next) == fed


def outcome(stream: Framer, pieces: list[bytes], way: Any) -> tuple[list[Frame], str]:
    """The frames, and the error that comes after them."""
    found: list[Frame] = []
    try:
        for piece in pieces:
            found += way(stream, piece)
        found += stream.close()
    except Malformed as problem:
        return found, str(problem)
    return found, ""


def fed_to(stream: Framer, data: bytes) -> list[Frame]:
    return stream.feed(data)


def cut_and_split(stream: Framer, data: bytes) -> list[Frame]:
    whole = stream.cut(data)
    assert whole is not None
    return stream.split(whole) if whole else []


def cut_and_next(stream: Framer, data: bytes) -> list[Frame]:
    whole = stream.cut(data)
    assert whole is not None
    found, place = [], 0
    while place < len(whole):
        frame, end = stream.next_frame(whole, place)
        assert end > place
        found += [frame] if frame is not None else []
        place = end
    return found


@pytest.mark.parametrize(("kind", "data"), [(k, data) for k, many in WAYS.items() for data in many])
def test_between_frames_nothing_is_kept(kind: str, data: bytes) -> None:
    """There, and only there, all bytes have been given, and a line feed belongs to no line."""
    for end in range(1, len(data) + 1):
        begun, stream = data[:end], framer(kind, 100)
        given = stream.cut(begun)
        lines = begun if kind == "ndjson" else begun.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        ends_there = given == lines and (kind == "ndjson" or not begun.endswith(b"\r"))
        assert stream.is_between() is ends_there, begun
        if ends_there:
            assert stream.close() == []


@pytest.mark.parametrize("kind", ["sse", "ndjson", "either"])
def test_after_a_frame_that_is_too_long_nothing_is_between(kind: str) -> None:
    short, long = SHORT["ndjson" if kind == "ndjson" else "sse"]
    stream = framer(kind, 20)
    assert cut_and_split(stream, short)
    assert stream.is_between()
    assert cut_and_split(stream, short + long)
    assert not stream.is_between()


def test_before_the_first_byte_that_tells_nothing_is_between() -> None:
    stream = framer("either")
    for space in (b"", b" ", b"\n\n"):
        assert stream.cut(space) == b""
        assert stream.choose(space) == b""  # type: ignore[attr-defined]
        assert stream.is_between() is False
    assert stream.next_frame(b"ab", 0) == (None, 2)
    assert stream.split(b"ab") == []


@pytest.mark.parametrize("kind", ["array", "eventstream"])
def test_what_only_feeding_tells(kind: str) -> None:
    stream = framer(kind)
    assert stream.cut(b"[{}") is None
    assert stream.is_between() is False
    assert stream.next_frame(b"[{}", 0) == (None, 3)
