"""Splicing: a frame that differs from the one before in its text alone is not read anew.

Most frames of a stream are alike but for a few characters: the same keys, the same ids, another
word. The *shape* of such a frame is the bytes around its text. It is learned from a frame that was
read and written in the ordinary way; while frames have that shape, only the JSON string of each is
cut out, checked and put between the bytes that the target has around it.

*Who takes part.* A reader that has done nothing with a frame but add a text to a block leaves in
``sink`` how it did that; ``varying`` names keys whose values it ignores (padding, numbers of
events), or of which the last counts (token counts: ``renew``). A writer is asked with ``splicing``
how more of the same delta is written. Both may say nothing, and then all is as if this module did
not exist.

*What a shape is.* ``first`` text ``last``, where values that vary may stand between::

    data: {"choices":[{"index":0,"delta":{"content":  "Hi"  }}],"obfuscation":  "x3k"  }\\n\\n
    first                                             text   right constant     value  last

Blanks before the last brace, with which Anthropic pads its deltas, are such a value, too.

*Why it is the same.* The text of a learned frame stands at one place (its JSON string is found
once, and no other string is spelled with escapes), so the shape has the text where the reader
found it. A frame that has these bytes around a valid JSON string, and values of the same types
where they vary, is the same JSON with another text; a line break is in none of them, so it is one
frame. Anything else does not fit and goes the ordinary way: broken JSON, half of a surrogate pair,
an empty text, another key, a frame that is longer than allowed. What the reader or the writer keep
in mind can change only with such a frame, and then the shape is forgotten.

*Runs.* Frames that came together are cut with one split, checked with one decoding and written with
one join. Where they seem to end is looked for by halves; after a frame that does not fit, first a
few are taken together and then more and more.

*Patience.* To learn a shape costs as much as to read a frame. If shapes are not met again, as in
streams with a time in each frame, learning is tried less and less often.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from json import JSONDecoder
from typing import Any, NamedTuple, TypeAlias

import msgspec

from ..core.reading import UNREADABLE
from ..model import Json

Sink: TypeAlias = Callable[[str], object]
Splice: TypeAlias = Callable[[Sequence[str], Sequence[bytes]], bytes]
"""Writes deltas of one block, given their texts, and the same as JSON strings."""
SPAN = 32 * 1024
"""How many bytes are looked at together, at most."""
MARK = 8
"""How many bytes of either side tell where one frame ends and the next begins."""
MARKED = "\0"
MARKER = b'"\\u0000"'
FREE, PATIENCE = 3, 256
"""How many shapes may be learned in vain, and how many frames are let pass then at most."""

encode = msgspec.json.Encoder().encode
decode_text = msgspec.json.Decoder(str).decode
decode_texts = msgspec.json.Decoder(list[str]).decode
end_of_value = JSONDecoder().raw_decode
STRINGS = re.compile(rb'"[^"]*"')


def between(head: bytes, tail: bytes, keep: Sink | None = None) -> Splice:
    """For deltas with the same bytes around each text; ``keep`` is told what was written."""
    joint = tail + head

    def write(texts: Sequence[str], literals: Sequence[bytes]) -> bytes:
        if keep is not None:
            keep("".join(texts))
        return b"".join((head, joint.join(literals), tail))

    return write


def around(frame: bytes, keep: Sink | None = None) -> Splice:
    """The same, given a delta whose text is ``MARKED``; where it says it twice, so do others."""
    head, *others = frame.split(MARKER)
    if len(others) == 1:
        return between(head, others[0], keep)

    def write(texts: Sequence[str], literals: Sequence[bytes]) -> bytes:
        return b"".join([literal.join((head, *others)) for literal in literals])

    return write


def silent(keep: Sink | None = None) -> Splice:
    """For deltas of which nothing is written, or not yet."""

    def write(texts: Sequence[str], literals: Sequence[bytes]) -> bytes:
        if keep is not None:
            keep("".join(texts))
        return b""

    return write


class Part(NamedTuple):
    """A constant, and the value that varies beside it: how it is checked, alone and with others."""

    constant: bytes
    check: Callable[[bytes], Json]
    check_all: Callable[[Sequence[bytes]], Json]
    key: str = ""  # of a value of which the last counts


@cache
def decoder_of(kind: Any) -> Callable[[bytes], Json]:
    decode: Callable[[bytes], Json] = msgspec.json.Decoder(kind).decode
    return decode


def part_of(constant: bytes, key: str, kind: Any) -> Part:
    """Values of a type: they say nothing if they are texts or numbers, else the last one counts."""
    decode_all = decoder_of(list[kind])

    def check_all(values: Sequence[bytes]) -> Json:
        found = decode_all(b"[%b]" % b",\n".join(values))
        if len(found) != len(values):
            raise msgspec.DecodeError("more than these values")
        return found[-1]

    return Part(constant, decoder_of(kind), check_all, "" if kind in (str, int) else key)


@cache
def pattern_of(keys: tuple[str, ...]) -> re.Pattern[bytes]:
    """Where one of the keys stands, up to its value."""
    return re.compile(rb'"(%b)"\s*:\s*' % "|".join(map(re.escape, keys)).encode())


class Shape:
    """The bytes around the text of a frame, and what is done with the text."""

    __slots__ = (
        "alone", "end", "first", "hits", "joint", "last", "left", "limit", "mark", "padded",
        "plain", "renew", "right", "sink", "span", "step", "trim", "write",
    )  # fmt: skip

    def __init__(
        self, first: bytes, left: list[Part], right: list[Part], padded: bytes, last: bytes
    ) -> None:
        self.first, self.left, self.right, self.last = first, left, right[::-1], last
        self.padded = padded  # what stands before blanks, if there are any
        self.alone = first, last
        self.plain = not left and not right and not padded
        self.joint = last + first
        self.end = last[len(last.rstrip()) :]
        self.mark = last[-MARK:] + first[:MARK]  # to search for all of it would take longer
        self.trim = slice(len(first[MARK:]), -len(last[:-MARK]) or None)
        self.hits = 0
        self.span: int
        self.step: int
        self.limit: int
        self.sink: Sink
        self.write: Splice | None = None  # where the bytes of the source pass as they are
        self.renew: Callable[[Mapping[str, Json]], None]

    def spell(self, data: bytes) -> None:
        """Frames that come alone have line breaks as these bytes have them."""
        self.alone = self.first, self.last
        if data.endswith(b"\r\n\r\n"):
            self.alone = self.first.replace(b"\n", b"\r\n"), self.last.replace(b"\n", b"\r\n")

    def one(self, data: bytes) -> bytes | None:
        """Bytes that are one frame of this shape, written; None if they are not."""
        first, last = self.alone
        if not data.startswith(first) or not data.endswith(last) or len(data) > self.limit:
            return None
        piece, renewed = data[len(first) : -len(last)], None
        try:
            if not self.plain:
                piece, renewed = self.inner(piece)
            text = decode_text(piece)
        except UNREADABLE:
            return None
        literal = encode(text)
        if not text or (literal != piece and is_broken(piece)):
            return None
        self.hits += 1
        if renewed:
            self.renew(renewed)
        self.sink(text)
        return b"" if self.write is None else self.write((text,), (literal,))

    def inner(self, piece: bytes) -> tuple[bytes, dict[str, Json] | None]:
        """The text of one frame; raises if a value that varies is not of its type."""
        renewed = None
        if self.padded:
            piece = piece.rstrip(b" \t")
            if not piece.endswith(self.padded):
                return b"", None
            piece = piece[: -len(self.padded)]
        if 10 in piece or 13 in piece:  # line breaks
            return b"", None
        for constant, check, _, key in self.left:
            value, _, piece = piece.partition(constant)
            checked = check(value)
            if key:
                renewed = {key: checked}
        for constant, check, _, key in self.right:
            piece, _, value = piece.rpartition(constant)
            checked = check(value)
            if key:
                renewed = {key: checked} | (renewed or {})
        return piece, renewed

    def run(self, data: bytes, place: int) -> tuple[int, bytes]:
        """The frames from a place on that have this shape: where they end, and written."""
        if not data.startswith(self.first, place):
            return place, b""
        pieces = data[place + MARK : self.reach(data, place)].split(self.mark)
        rest = pieces.pop()
        if (end := rest.find(self.last)) >= 0:
            pieces.append(rest[: end + len(self.last[:-MARK])])
        found = [piece[self.trim] for piece in pieces]
        middle = self.joint.join(found)
        end = place + len(self.first) + len(middle)
        if not data.startswith(middle, end - len(middle)) or not data.startswith(self.last, end):
            found = self.like(pieces)
        written = self.spliced(found) if found else None
        if written is not None:
            self.span = min(2 * self.span, SPAN, self.limit)
        else:
            self.span = self.step
            del found[1:]
            written = self.spliced(found) if found else None
        if written is None:
            return place, b""
        return place + len(found) * len(self.joint) + sum(map(len, found)), written

    def reach(self, data: bytes, place: int) -> int:
        """How far frames seem to have this shape: one after the end is looked for by halves."""
        least, most = place + self.step, min(place + self.span, len(data))
        if self.goes_on(data, most):
            return most
        while most - least > 2 * self.step:
            middle = (least + most) // 2
            if self.goes_on(data, middle):
                least = middle
            else:
                most = middle
        return most

    def goes_on(self, data: bytes, place: int) -> bool:
        """Whether the first frame that begins after a place seems to have this shape."""
        end = data.find(self.end, place)
        return end >= 0 and data.startswith(self.first, end + len(self.end))

    def like(self, pieces: list[bytes]) -> list[bytes]:
        """What the pieces hold that have this shape, up to the first that has not."""
        first, last = self.first[MARK:], self.last[:-MARK]
        least = len(first) + len(last)
        found: list[bytes] = []
        for piece in pieces:
            if len(piece) < least or not piece.startswith(first) or not piece.endswith(last):
                break
            found.append(piece[self.trim])
        return found

    def spliced(self, pieces: Sequence[bytes]) -> bytes | None:
        """What stands between ``first`` and ``last`` of some frames, written."""
        renewed: dict[str, Json] = {}
        found = self.texts(pieces, renewed)
        if found is None:
            return None
        texts, literals = found
        self.hits += len(texts)
        renewed.pop("", None)
        if renewed:
            self.renew(renewed)
        self.sink("".join(texts))
        return b"" if self.write is None else self.write(texts, literals)

    def texts(
        self, pieces: Sequence[bytes], renewed: dict[str, Json]
    ) -> tuple[list[str], Sequence[bytes]] | None:
        """The texts, and their JSON strings; None if something else varies."""
        values: Sequence[bytes]
        if not self.plain and is_broken(b"".join(pieces)):
            return None
        if self.padded:
            whole = sum(map(len, bare := [piece.rstrip(b" \t") for piece in pieces]))
            pieces = [piece.removesuffix(self.padded) for piece in bare]
            if whole - sum(map(len, pieces)) != len(pieces) * len(self.padded):
                return None
        try:
            for constant, _, check_all, key in self.left:
                values, _, pieces = zip(*[p.partition(constant) for p in pieces], strict=True)
                renewed[key] = check_all(values)
            for constant, _, check_all, key in self.right:
                pieces, _, values = zip(*[p.rpartition(constant) for p in pieces], strict=True)
                renewed[key] = check_all(values)
            # A string has no line break in it, so none reaches from one piece into the next.
            texts = decode_texts(b"[%b]" % b",\n".join(pieces))
        except UNREADABLE:
            return None
        if len(texts) != len(pieces) or "" in texts:
            return None
        joined = b",".join(pieces)
        if self.write is not None and encode(texts)[1:-1] == joined:
            return texts, pieces
        if is_broken(joined):
            return None
        return texts, pieces if self.write is None else [encode(text) for text in texts]


def is_broken(data: bytes) -> bool:
    """Whether there is a line break in it."""
    return 10 in data or 13 in data  # which takes half the time of b"\\n" in data


def shape_of(event: bytes, text: str, varying: Mapping[str, Any]) -> Shape | None:
    """The shape of a frame that has this text in it; None if it is not clear where."""
    literal = encode(text)
    place = event.find(literal)
    if place < 0 or event.find(literal, place + 1) >= 0:
        return None
    before, after = event[:place], event[place + len(literal) :]
    if b"\\" in before or b"\\" in after:
        return None
    try:
        (first, *others), keys = cut(b"", before, varying)
        (*constants, last), more = cut(before, after, varying)
    except (ValueError, RecursionError):
        return None  # the text is inside a value that varies
    if len({*keys, *more}) != len(keys) + len(more):
        return None  # a key that is there twice
    left = [part_of(c, key, varying[key]) for c, key in zip(others, keys, strict=True)]
    right = [part_of(c, key, varying[key]) for c, key in zip(constants, more, strict=True)]
    stem, padded = last.rstrip(), b""
    if stem.endswith((b" }", b"\t}")) and not is_broken(stem):
        padded = stem[:-1].rstrip(b" \t")
        last = b"}" + last[len(stem) :] if padded else last
    shape = Shape(first, left, right, padded, last)
    apart = shape.texts([event[len(first) : -len(last)]], {})
    return shape if apart is not None and apart[0] == [text] else None


def cut(before: bytes, rest: bytes, varying: Mapping[str, Any]) -> tuple[list[bytes], list[str]]:
    """The constants between values that vary, and the keys of these values; ``before`` the rest
    there may be more of the frame.
    """
    constants: list[bytes] = []
    keys: list[str] = []
    start = 0
    for found in pattern_of(tuple(varying)).finditer(rest) if varying and rest.isascii() else ():
        if found.start() >= start and depth(before + rest[: found.start()]) == 1:
            constants.append(rest[start : found.end()])
            keys.append(found[1].decode())
            _, start = end_of_value(rest.decode(), found.end())
    return [*constants, rest[start:]], keys


def depth(data: bytes) -> int:
    """How many objects and lists are open; no string has an escape."""
    signs = STRINGS.sub(b"", data)
    return sum(signs.count(s) for s in (b"{", b"[")) - sum(signs.count(s) for s in (b"}", b"]"))


class Splicer:
    """The shape that the next frames may have, if one is known."""

    def __init__(self, varying: Mapping[str, Any], limit: int) -> None:
        self.varying = varying
        self.limit = limit
        self.shape: Shape | None = None
        self.before = 0  # frames that were spliced in shapes that are forgotten
        self.failures = 0  # shapes in a row that were not met again
        self.waits = 0  # frames until another is learned

    @property
    def count(self) -> int:
        """How many frames were spliced."""
        return self.before if self.shape is None else self.before + self.shape.hits

    def forget(self) -> None:
        """A frame came that is not of this shape."""
        if (shape := self.shape) is None:
            return
        self.before += shape.hits
        self.shape = None
        if shape.hits:
            self.failures = self.waits = 0
        else:
            self.fail()

    def fail(self) -> None:
        """Nothing was learned, or in vain."""
        self.failures += 1
        self.waits = min(1 << self.failures, PATIENCE) if self.failures > FREE else 0

    def learn(
        self,
        event: bytes,
        text: str,
        sink: Sink,
        write: Splice | None,
        renew: Callable[[Mapping[str, Json]], None],
    ) -> None:
        """Learn the shape of a frame that has done nothing but add a text to a block."""
        if self.waits:
            self.waits -= 1
            return
        shape = shape_of(event, text, self.varying)
        if shape is None:
            self.fail()
        else:
            shape.sink, shape.write, shape.renew = sink, write, renew
            shape.limit = self.limit
            shape.step = min(2 * len(event), self.limit)
            shape.span = min(SPAN, self.limit)
            self.shape = shape
