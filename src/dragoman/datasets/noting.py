"""What is noted of each line that was written, and of all that happened in a chunk.

A note has all that the selection and the report need, so that nobody reads a line twice. Notes and
counts are stored beside the lines of their chunk (``to_bytes``), which is what a job that was
killed goes on with.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator

import msgspec
from msgspec import Struct

from ..core.reading import decode
from ..ledger import Loss
from ..model import (
    Block,
    Json,
    Message,
    Passage,
    Reasoning,
    Refusal,
    Request,
    Text,
    ToolCall,
    ToolResult,
)

ROLES = ("system", "developer", "user", "assistant", "tool")
QUOTE = ord('"')
MOST = 200
"""How many characters of a name or a reason are kept."""


class Note(Struct, array_like=True):
    """A line: its length in bytes, and what it is."""

    length: int
    conversation: bytes
    """a digest of how the conversation begins: it decides about the split"""
    source: str
    chars: int
    messages: int
    tokens: int | None
    roles: dict[str, int]
    tools: dict[str, int]
    content: bytes = b""
    """a digest of the line, where equal ones are dropped"""
    signature: bytes = b""
    """of MinHash, where those that are nearly equal are dropped"""


class Reject(Struct, array_like=True):
    """A record of which no line was made. ``line`` counts from 1 in its chunk, then in its file."""

    input: int
    line: int | None
    at: str
    code: str
    why: str


class Count(Struct, array_like=True):
    """A kind of loss: how often, in how many records, and where first."""

    times: int
    records: int
    input: int
    line: int | None
    at: str
    why: str


class ChunkNote(Struct):
    """What became of a chunk."""

    notes: list[Note] = []
    rejects: list[Reject] = []
    lines: dict[int, int] = {}
    """how many lines or rows of each input there were; those of the next chunk are counted on"""
    read: dict[int, int] = {}
    """how many records"""
    losses: dict[str, dict[str, Count]] = {}
    """dialect of the source -> kind and code -> how often"""
    filtered: dict[str, int] = {}
    redacted: dict[str, int] = {}
    edits: dict[str, int] = {}
    renamed: dict[str, str] = {}
    """carried columns whose names the target has itself"""
    columns: dict[str, str] = {}
    """key of the written objects -> what its values are, for tables"""

    def place(self, before: dict[int, int]) -> None:
        """Count the lines on, where ``before`` has how many the chunks before it had."""
        counts = (count for table in self.losses.values() for count in table.values())
        places: list[Reject | Count] = [*self.rejects, *counts]
        for place in places:
            if place.line is not None:
                place.line += before.get(place.input, 0)
        for input, count in self.lines.items():
            before[input] = before.get(input, 0) + count


def short(text: str) -> str:
    """A place or a reason, or its beginning."""
    return text if len(text) <= MOST else f"{text[: MOST - 1]}…"


class Losses:
    """Counts losses into the tables of a note; ``clean`` leaves out of places what must not be
    printed.

    Most records lose just what the one before them lost. So they are compared, and counted
    together: what was counted last is in the tables after ``settle``.
    """

    def __init__(self, tables: dict[str, dict[str, Count]], clean: Callable[[str], str]) -> None:
        self.tables, self.clean = tables, clean
        self.last: tuple[str, list[Loss]] = "", []
        self.counts: dict[str, int] = {}  # of the last record, by kind and code
        self.records = 0  # that lost the same

    def add(self, source: str, losses: list[Loss], input: int, line: int | None, at: str) -> None:
        """The losses of a line, and where its record is."""
        if (source, losses) == self.last:
            self.records += 1
            return
        self.settle()
        self.last, self.records, self.counts = (source, losses), 1, {}
        table = self.tables.setdefault(source, {})
        for loss in losses:
            key = f"{loss.kind} {loss.what}"
            if key in self.counts:
                self.counts[key] += 1
                continue
            self.counts[key] = 1
            if key not in table:
                place, why = self.clean(at + loss.path), self.clean(loss.why)
                table[key] = Count(0, 0, input, line, short(place), short(why))

    def settle(self) -> None:
        for key, times in self.counts.items():
            count = self.tables[self.last[0]][key]
            count.times += times * self.records
            count.records += self.records
        self.records = 0


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(ChunkNote).decode


def to_bytes(note: ChunkNote) -> bytes:
    return _pack(note)


def from_bytes(data: bytes) -> ChunkNote:
    return _unpack(data)


class Summary(Struct):
    """What all chunks amount to, and what was selected of it."""

    losses: dict[str, dict[str, Count]] = {}
    filtered: Counter[str] = msgspec.field(default_factory=Counter)
    redacted: Counter[str] = msgspec.field(default_factory=Counter)
    edits: Counter[str] = msgspec.field(default_factory=Counter)
    renamed: dict[str, str] = {}
    columns: dict[str, str] = {}
    read: Counter[int] = msgspec.field(default_factory=Counter)
    """by the number of the input"""
    rejected: int = 0
    converted: int = 0

    def add(self, note: ChunkNote) -> None:
        for source, table in note.losses.items():
            mine = self.losses.setdefault(source, {})
            for key, count in table.items():
                known = mine.get(key)
                if known is None:
                    mine[key] = count
                else:
                    known.times += count.times
                    known.records += count.records
        self.filtered.update(note.filtered)
        self.redacted.update(note.redacted)
        self.edits.update(note.edits)
        self.renamed.update(note.renamed)
        for column, kind in note.columns.items():
            known_kind = self.columns.setdefault(column, kind)
            if known_kind != kind:
                self.columns[column] = wider(known_kind, kind)
        self.read.update(note.read)
        self.rejected += len(note.rejects)
        self.converted += len(note.notes)


def wider(one: str, other: str) -> str:
    """What holds both: numbers are numbers, anything else is JSON.

    >>> wider("int", "float"), wider("text", "null"), wider("text", "int")
    ('float', 'text', 'json')
    """
    if one == other or other == "null":
        return one
    if one == "null":
        return other
    return "float" if {one, other} == {"int", "float"} else "json"


KINDS = {
    str: "text", bool: "bool", int: "int", float: "float", type(None): "null", list: "json",
    dict: "json",
}  # fmt: skip


def kind_of(value: Json) -> str:
    """What a value of a column is."""
    if value.__class__ is msgspec.Raw:
        return "text" if memoryview(value)[0] == QUOTE else kind_of(decode(value))
    if value.__class__ is int and not -(2**63) <= value < 2**63:
        return "json"
    return KINDS.get(value.__class__, "json")


# -- measures --------------------------------------------------------------------------------------


def measure(tree: Request) -> tuple[int, dict[str, int], dict[str, int]]:
    """How many characters a conversation has, who speaks, and which tools are called."""
    chars = 0
    roles: dict[str, int] = {}
    tools: dict[str, int] = {}
    for message in tree.messages:
        roles[message.role] = roles.get(message.role, 0) + 1
        for block in message.content:
            if block.__class__ is Text:
                chars += len(block.text)
            elif block.__class__ is ToolResult:
                for inner in block.content:
                    chars += (
                        len(inner.text) if inner.__class__ is Text else sum(map(len, words(inner)))
                    )
            elif block.__class__ is ToolCall:
                chars += len(block.arguments)
                name = block.name[:MOST]
                tools[name] = tools.get(name, 0) + 1
            else:
                chars += sum(map(len, words(block)))
    return chars, roles, tools


def words(block: Block) -> Iterator[str]:
    """The texts of a block."""
    match block:
        case Text() | Refusal():
            yield block.text
        case Reasoning():
            yield from block.words
        case ToolCall():
            yield block.arguments
        case ToolResult() | Passage():
            for inner in block.content:
                yield from words(inner)
        case _:
            return


def text_of(tree: Request) -> str:
    """All that is said in a conversation."""
    return "\n".join(text for m in tree.messages for block in m.content for text in words(block))


def beginning(messages: tuple[Message, ...]) -> bytes:
    """A digest of a conversation up to what its user says first: requests of one conversation,
    each of which repeats the history, have the same."""
    hashed = hashlib.blake2b(digest_size=8)
    for message in messages:
        hashed.update(message.role.encode() + b"\0")
        for block in message.content:
            for text in words(block):
                hashed.update(text.encode("utf-8", "replace") + b"\0")
        if message.role == "user":
            break
    return hashed.digest()
