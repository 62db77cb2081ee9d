r"""A stream of the client's own dialect: its bytes pass, and a cheap look tells how it ends.

A transcoder of one dialect to itself reads every frame, which costs as much as a conversion. Most
frames only add to a text, and say nothing of how a stream ends:

    event: content_block_delta\n data: {"type":"content_block_delta", ...}\n\n

Pieces that are made of whole frames of known kinds pass unread. Those that are more than additions
are kept: the beginning, the last frames, with the counts of tokens in them. If the stream ends as
its dialect says (``message_stop``, ``[DONE]``, ``response.completed``), that was all. As soon as
anything else comes (an error, a frame that is cut in two, an unknown event, what is no frame at
all, or no end), the transcoder reads what was kept and all that follows, and has the last word.

In a text quotes are escaped, so that a key with its quotes stands there only as a key.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from ..errors import DragomanError
from ..model import Failure, Json, Usage
from ..streams.transcoder import Transcoder

KEPT = 64 * 2**10
"""How many bytes of frames are kept before the transcoder reads them."""
NEAR = 2**12
"""How far into a piece additions are looked for."""
END = b"}\n\n"
Make = Callable[[], Transcoder]


class Addition(NamedTuple):
    """A frame that adds to a text."""

    start: bytes
    next: bytes
    """the end of one frame and the beginning of the next"""
    lines: int
    """how many a frame has"""


def adding(*starts: bytes) -> tuple[Addition, ...]:
    """The additions that begin so."""
    return tuple(Addition(each, END + each, (END + each).count(b"\n")) for each in starts)


class Kind(NamedTuple):
    """The frames of a dialect's streams."""

    additions: tuple[Addition, ...]
    """frames that add to a text"""
    frames: re.Pattern[bytes]
    """whole frames of known kinds"""
    end: re.Pattern[bytes]
    """the end of what was kept of a whole stream"""
    each: tuple[bytes, ...] = ()
    """what each addition has in it, in one of these spellings"""
    odd: tuple[bytes, ...] = ()
    """what is in none of the additions"""
    error: tuple[bytes, ...] = (b'"error"',)
    """what is in no other frame that passes"""
    repeats: bool = False
    """whether an error at the end repeats the whole response, so that additions are kept as well"""


def events(*names: str) -> tuple[bytes, ...]:
    """How frames of an event begin, as servers spell JSON with and without spaces."""
    return tuple(
        f'event: {name}\ndata: {{"type":{space}"{name}"'.encode()
        for name in names
        for space in ("", " ")
    )


COMMENTS = rb"(?::[^\r\n]*\n\n)*"
NAMED = rb'(?:event: (%b)\ndata: \{"type": ?"\1"[^\r\n]*\}\n\n|:[^\r\n]*\n\n)+'
KINDS = {
    "anthropic-messages": Kind(
        adding(*events("content_block_delta")),
        re.compile(NAMED % rb"message_start|content_block_\w+|message_delta|message_stop|ping"),
        re.compile(
            rb'event: message_delta\ndata: [^\n]*"stop_reason": ?"[^\n]*\n\n'
            rb'event: message_stop\ndata: \{"type": ?"message_stop"[^\n]*\}\n\n' + COMMENTS + rb"\Z"
        ),
    ),
    "openai-responses": Kind(
        adding(
            *events(
                "response.output_text.delta",
                "response.reasoning_summary_text.delta",
                "response.function_call_arguments.delta",
            )
        ),
        re.compile(NAMED % rb"response\.(?!failed)[a-z_.]+"),
        re.compile(
            rb'event: response\.(completed|incomplete)\ndata: \{"type": ?"response\.\1"'
            rb"[^\n]*\}\n\n" + COMMENTS + rb"\Z"
        ),
        error=(b'"error":{', b'"error": {'),
        repeats=True,
    ),
    "openai-chat": Kind(
        adding(b"data: {"),
        re.compile(rb"(?:data: (?:\{[^\r\n]*\}|\[DONE\])\n\n|:[^\r\n]*\n\n)+"),
        re.compile(
            rb'"finish_reason": ?"[^\n]*\}\n\n(?:data: \{[^\n]*\}\n\n)*data: \[DONE\]\n\n'
            + COMMENTS
            + rb"\Z"
        ),
        each=(b'"finish_reason":null', b'"finish_reason": null'),
        odd=(b'"error"', b'"usage":{', b'"usage": {'),
    ),
}


class Counted(msgspec.Struct):
    """Where the counts of tokens stand in a frame."""

    usage: Any = None
    message: Any = None
    response: Any = None


decode = msgspec.json.Decoder(Counted).decode


class Passing:
    """What passes a stream of one dialect; ``feed`` and ``close`` are those of a transcoder."""

    def __init__(self, make: Make, dialect: Any) -> None:
        self._make, self._dialect = make, dialect
        self._kind = KINDS.get(dialect.name)
        self._kept: list[bytes] = []
        self._size = self._unread = 0
        self._usual: Addition | None = None  # what most pieces are made of
        self.flow: Transcoder | None = None if self._kind is not None else make()

    def feed(self, data: bytes) -> bytes:
        """More bytes; those that may be sent now."""
        if self.flow is not None:
            return self.flow.feed(data)
        usual = self._usual
        if usual is not None and data.startswith(usual.start) and data.endswith(END):
            lines = data.count(b"\n")
            if lines == usual.lines or lines == usual.lines * (1 + data.count(usual.next)):
                self._unread += lines // usual.lines
                return data
        kind = self._kind
        assert kind is not None
        span = additions(data, kind, bool(self._kept))
        others = [part for part in (data[: span.start], data[span.end :]) if part]
        kept = [data] if kind.repeats else others
        self._size += sum(map(len, kept))
        if self._size > KEPT or not all(is_known(part, kind) for part in others):
            return self._read().feed(data)
        self._kept += kept
        if span.number and not kind.repeats:
            self._unread += span.number
            self._usual = span.addition if not kind.each else None
        return data

    def _read(self) -> Transcoder:
        """The transcoder, which has read what was kept."""
        if self.flow is None:
            self.flow = self._make()
            for data in self._kept:
                self.flow.feed(data)
            self._kept = []
            self.flow.skip(self._unread)
        return self.flow

    def close(self) -> bytes:
        """The stream has ended; what is written because it ended too soon."""
        if self.flow is None and self._kind is not None:
            if self._kind.end.search(b"".join(self._kept)) is not None:
                return b""
        return self._read().close()

    def fail(self, failure: Failure) -> bytes:
        return self._read().fail(failure)

    def usage(self) -> Usage | None:
        """The counts of a stream that nobody read."""
        found: dict[str, Json] = {}
        for data in self._kept:
            if b'"usage"' not in data:
                continue
            for line in data.split(b"\n"):
                if b'"usage"' in line and line.startswith(b"data: {"):
                    found |= counted(line)
        try:
            return self._dialect.counts.read(self._dialect, found, "/usage") if found else None
        except DragomanError:
            return None

    @property
    def ended(self) -> bool:
        return self.flow is not None and self.flow.ended


class Span(NamedTuple):
    """Where in a piece of a stream those frames are that add to a text, and how many."""

    start: int = 0
    end: int = 0
    number: int = 0
    addition: Addition | None = None


NONE = Span()


def additions(data: bytes, kind: Kind, begun: bool = True) -> Span:
    """The additions in a piece that is made of whole frames; none if they are not all together, or
    if it begins the stream with them.
    """
    if not data.endswith(END):
        return NONE
    first = 0 if begun else data.find(b"\n\n") + 2
    for addition in kind.additions:
        if data.startswith(addition.start, first):
            return together(data, first, addition, kind)
    for addition in kind.additions:
        if (found := data.find(addition.next, first, first + NEAR)) >= 0:
            return together(data, found + len(END), addition, kind)
    return NONE


def together(data: bytes, start: int, addition: Addition, kind: Kind) -> Span:
    """The additions from a place on."""
    marks = kind.each or (addition.start,)
    mark = next((each for each in marks if data.find(each, start) >= 0), None)
    if mark is None:
        return NONE
    end = data.find(b"\n\n", data.rfind(mark)) + 2
    if not data.endswith(END, start, end):
        return NONE
    # A frame ends as the last one does and the next one begins as the first one did, so often that
    # no line is left.
    count, rest = divmod(data.count(b"\n", start, end), addition.lines)
    if rest or (count > 1 and data.count(addition.next, start, end) != count - 1):
        return NONE
    if kind.each and data.count(mark, start, end) != count:
        return NONE
    if any(data.find(odd, start, end) >= 0 for odd in kind.odd):
        return NONE
    return Span(start, end, count, addition)


def is_known(data: bytes, kind: Kind) -> bool:
    """Whether a piece is made of frames of known kinds."""
    return kind.frames.fullmatch(data) is not None and not any(odd in data for odd in kind.error)


def counted(line: bytes) -> dict[str, Json]:
    """The counts in a frame."""
    try:
        frame = decode(line[len(b"data: ") :])
    except msgspec.MsgspecError:
        return {}
    inner = frame.message or frame.response
    usage = frame.usage or (inner.get("usage") if isinstance(inner, dict) else None)
    return usage if isinstance(usage, dict) else {}
