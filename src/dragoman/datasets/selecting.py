"""Which lines stay, and in which shard each one stands.

It sees the notes of the chunks in their order, whoever made them and when, and decides line by
line: equal to one that was kept, sampled, which split. What it decides depends on the notes and the
options alone. Where the order of the lines is their own, a shard is known as soon as it is full;
where they are shuffled, or a number of them is drawn, when all have been seen.
"""

from __future__ import annotations

import hashlib
import heapq
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from .likeness import Likeness
from .noting import ChunkNote, Note
from .options import Options

ALL = "data"
"""What the shards are called where there is no split."""
WIDE = 2**64
MOST = 100
"""How many tools the manifest lists."""


class Run(Struct, frozen=True, array_like=True):
    """Lines of a chunk that follow each other: bytes of its part."""

    chunk: int
    start: int
    length: int


class Shard(Struct, frozen=True):
    """A file that is to be written: its name without suffix, and what stands in it."""

    name: str
    runs: tuple[Run, ...]
    records: int

    @property
    def chunks(self) -> set[int]:
        return {run.chunk for run in self.runs}


class Lengths(Struct):
    """How long the lines of a split are: for the report and the summary."""

    records: int = 0
    bytes: int = 0
    chars: int = 0
    tokens: int = 0
    sizes: Counter[int] = msgspec.field(default_factory=Counter)
    """characters, rounded -> how many lines"""
    counts: Counter[int] = msgspec.field(default_factory=Counter)
    """tokens, rounded"""
    messages: Counter[int] = msgspec.field(default_factory=Counter)
    roles: Counter[str] = msgspec.field(default_factory=Counter)
    tools: Counter[str] = msgspec.field(default_factory=Counter)
    sources: Counter[str] = msgspec.field(default_factory=Counter)

    def told(self) -> dict[str, Any]:
        """As the manifest has it."""
        return {
            "records": self.records,
            "bytes": self.bytes,
            "chars": self.chars,
            "tokens": self.tokens if self.counts else None,
            "roles": dict(sorted(self.roles.items())),
            "sources": dict(sorted(self.sources.items())),
            "tools": dict(sorted(self.tools.items(), key=lambda item: (-item[1], item[0]))[:MOST]),
            "lengths": {
                name: {str(size): count for size, count in sorted(counts.items())}
                for name, counts in (
                    ("chars", self.sizes),
                    ("tokens", self.counts),
                    ("messages", self.messages),
                )
                if counts
            },
        }

    def add(self, note: Note) -> None:
        self.records += 1
        self.bytes += note.length
        self.chars += note.chars
        self.sizes[rounded(note.chars)] += 1
        self.messages[note.messages] += 1
        if note.tokens is not None:
            self.tokens += note.tokens
            self.counts[rounded(note.tokens)] += 1
        self.sources[note.source] += 1
        for role, count in note.roles.items():
            self.roles[role] += count
        for tool, count in note.tools.items():
            self.tools[tool] += count


def rounded(number: int) -> int:
    """A number with its two leading digits, so that there are few different ones.

    >>> rounded(7), rounded(1234), rounded(98765)
    (7, 1200, 98000)
    """
    if number < 100:
        return number
    size: int = 10 ** (len(str(number)) - 2)
    return number // size * size


def drawn(*values: bytes | int) -> int:
    """A number below 2**64 that depends on the values alone."""
    hashed = hashlib.blake2b(digest_size=8)
    for value in values:
        hashed.update(value if isinstance(value, bytes) else value.to_bytes(8, "big", signed=True))
    return int.from_bytes(hashed.digest(), "big")


class Selection:
    """Decides about all lines, chunk by chunk."""

    def __init__(self, options: Options, *, single: bool = False, late: bool = False) -> None:
        self.options = options
        self.single = single
        """there is one file, however long it gets"""
        self.late = late or options.shuffle or (options.sample or 0) >= 1
        self.seen: set[bytes] = set()
        self.likeness = Likeness(options.threshold) if options.dedup == "near" else None
        self.dropped: Counter[str] = Counter()
        self.splits: dict[str, Lengths] = {name: Lengths() for name in options.split or (ALL,)}
        self.ordinal = 0  # of the line, among all that were converted
        self.open: dict[str, _Open] = {name: _Open(name) for name in self.splits}
        self.kept = _Kept()

    def feed(self, chunk: int, note: ChunkNote) -> Iterator[Shard]:
        """The lines of the next chunk; the shards that are full now."""
        start = 0
        for each in note.notes:
            begin, start = start, start + each.length
            self.ordinal += 1
            reason = self.why_not(each)
            if reason is not None:
                self.dropped[reason] += 1
            elif self.late:
                self.kept.add(self.rank(), chunk, begin, each)
            elif (full := self.place(chunk, begin, each)) is not None:
                yield full

    def why_not(self, note: Note) -> str | None:
        """Why a line does not stay."""
        if self.options.dedup is not None:
            if note.content in self.seen:
                return "duplicate"
            self.seen.add(note.content)
            if self.likeness is not None and not self.likeness.is_new(note.signature):
                return "near-duplicate"
        share = self.options.sample
        if share is not None and share < 1:
            if drawn(b"sample", self.options.seed, self.ordinal) >= share * WIDE:
                return "not sampled"
        return None

    def rank(self) -> int:
        """By which a line is drawn, or shuffled."""
        return drawn(b"order", self.options.seed, self.ordinal)

    def split_of(self, conversation: bytes) -> str:
        """The split of a conversation: all of its records are in the same one."""
        if not self.options.split:
            return ALL
        place = drawn(b"split", self.options.seed, conversation) / WIDE
        total = 0.0
        for name, share in self.options.split.items():
            total += share
            if place < total:
                return name
        return name

    def place(self, chunk: int, start: int, note: Note) -> Shard | None:
        """Put a line into the shard that is open; the one before it, if that is full."""
        name, full = self.split_of(note.conversation), None
        self.splits[name].add(note)
        opened = self.open[name]
        if not self.single and opened.size and opened.size + note.length > self.options.shard_size:
            full = opened.close()
        opened.add(chunk, start, note.length)
        return full

    def finish(self) -> Iterator[Shard]:
        """The shards that are left."""
        if self.late:
            most = self.options.sample
            number = None if most is None or most < 1 else int(most)
            self.dropped["not sampled"] += self.kept.draw(number, self.options.shuffle)
            for chunk, start, note in self.kept.in_order():
                if (full := self.place(chunk, start, note)) is not None:
                    yield full
        self.dropped += Counter()  # without those that are zero
        for opened in self.open.values():
            if opened.size or self.single:
                yield opened.close()

    def holds(self, chunk: int) -> bool:
        """Whether lines of a chunk are not in a shard yet."""
        return self.late or any(chunk in opened.chunks for opened in self.open.values())


class _Open:
    """A shard that is not full yet."""

    def __init__(self, name: str) -> None:
        self.name, self.number = name, 0
        self.begin()

    def begin(self) -> None:
        self.chunks: set[int] = set()
        self.runs: list[Run] = []
        self.size = self.records = 0
        self.chunk = self.start = self.end = -1  # of the last run, which may go on

    def add(self, chunk: int, start: int, length: int) -> None:
        if start != self.end or chunk != self.chunk:
            self.end_run()
            self.chunk, self.start = chunk, start
            self.chunks.add(chunk)
        self.end = start + length
        self.size += length
        self.records += 1

    def end_run(self) -> None:
        if self.end > self.start:
            self.runs.append(Run(self.chunk, self.start, self.end - self.start))

    def close(self) -> Shard:
        self.end_run()
        shard = Shard(f"{self.name}-{self.number:05}", tuple(self.runs), self.records)
        self.number += 1
        self.begin()
        return shard


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(Note).decode


class _Kept:
    """Lines that wait until all have been seen: perhaps millions, so their notes are packed."""

    def __init__(self) -> None:
        self.ranks, self.chunks = array("Q"), array("Q")
        self.starts, self.places = array("Q"), array("Q", [0])
        self.notes = bytearray()
        self.order: Sequence[int] = ()

    def add(self, rank: int, chunk: int, start: int, note: Note) -> None:
        self.ranks.append(rank)
        self.chunks.append(chunk)
        self.starts.append(start)
        note.content = note.signature = b""
        self.notes += _pack(note)
        self.places.append(len(self.notes))

    def draw(self, most: int | None, shuffled: bool) -> int:
        """Which lines stay, in which order; gives how many do not."""
        everything = range(len(self.ranks))
        rank = self.ranks.__getitem__
        chosen = everything if most is None else sorted(heapq.nsmallest(most, everything, rank))
        self.order = array("Q", sorted(chosen, key=rank)) if shuffled else chosen
        return len(everything) - len(chosen)

    def in_order(self) -> Iterator[tuple[int, int, Note]]:
        for i in self.order:
            note = _unpack(memoryview(self.notes)[self.places[i] : self.places[i + 1]])
            yield self.chunks[i], self.starts[i], note
