"""Writers whose blocks cannot be written in the order in which they come.

The ledger reports ``stream.order`` where a block waits for another.
"""

from __future__ import annotations

from collections.abc import Hashable

from msgspec.structs import replace

from ..core.lowering import Opening
from ..core.reading import compact
from ..core.writing import may_open
from ..dialect import Dialect
from ..ledger import Ledger
from ..model import Block, Citation, Media, Reasoning, Signature, Text, ToolCall
from .base import StreamWriter, Write
from .events import Cite, Close, Delta, Event, Open, Signed

REDACTED_LATE = (
    "the reasoning was streamed before it was marked as redacted; its text is not in the response"
)


class BlankReasoning:
    """Delays empty reasoning until it is known whether a summary replaces it.

    Where reasoning is written once, content of white space is replaced by a summary
    (``Reasoning.words``), and what has been written cannot be withdrawn. While such a block is
    open, its deltas are handled here; all others go directly to the writer.
    """

    def __init__(self, ways: dict[type, Write]) -> None:
        self.ways = ways
        self.write_open, self.write_delta, self.write_close = ways[Open], ways[Delta], ways[Close]
        self.waiting: dict[int, list[Delta]] = {}
        ways[Open] = self.open

    def open(self, event: Open) -> bytes:
        if event.block.__class__ is Reasoning:
            self.waiting[event.index] = []
            self.ways |= {Delta: self.delta, Close: self.close}
        return self.write_open(event)

    def delta(self, event: Delta) -> bytes:
        waiting = self.waiting.get(event.index)
        if waiting is None:
            return self.write_delta(event)
        if not event.text or (event.place == "text" and event.text.isspace()):
            waiting.append(event)
            return b""
        return self.release(event.index, event.place == "summary") + self.write_delta(event)

    def close(self, event: Close) -> bytes:
        return self.release(event.index, summed=False) + self.write_close(event)

    def release(self, index: int, summed: bool) -> bytes:
        """What was delayed, unless a summary replaces it."""
        waited = self.waiting.pop(index, [])
        if not self.waiting:
            self.ways |= {Delta: self.write_delta, Close: self.write_close}
        return b"" if summed else b"".join(map(self.write_delta, waited))


class Spoken:
    """Writes the transcript of media that the target does not take from an assistant.

    The text begins with the first word of the transcript; without one, nothing is written. While
    such a block is open, its events are handled here; all others go directly to the writer.
    """

    def __init__(self, ways: dict[type, Write], opening: Opening) -> None:
        self.ways, self.opening = ways, opening
        self.write_open, self.write_delta, self.write_close = ways[Open], ways[Delta], ways[Close]
        self.silent: dict[int, Open] = {}
        self.speaking: set[int] = set()
        ways[Open] = self.open

    def open(self, event: Open) -> bytes:
        block = event.block
        if not isinstance(block, Media) or not self.opening.is_spoken(block):
            return self.write_open(event)
        self.silent[event.index] = replace(event, block=Text("", at=block.at))
        self.ways |= {Delta: self.delta, Close: self.close}
        return self.delta(Delta(event.index, block.transcript or "", "transcript"))

    def delta(self, event: Delta) -> bytes:
        index, opened = event.index, b""
        if index not in self.silent and index not in self.speaking:
            return self.write_delta(event)
        if event.place != "transcript" or not event.text:
            return b""
        if (begun := self.silent.pop(index, None)) is not None:
            self.speaking.add(index)
            opened = self.write_open(begun)
        return opened + self.write_delta(Delta(index, event.text))

    def close(self, event: Close) -> bytes:
        written = self.silent.pop(event.index, None) is None
        self.speaking.discard(event.index)
        if not self.silent and not self.speaking:
            self.ways |= {Delta: self.write_delta, Close: self.write_close}
        return self.write_close(event) if written else b""


class InTurns(StreamWriter):
    """For dialects in which all texts of one kind are one text, each block after the one before.

    If two are open side by side in the source, the second waits, and the ledger reports it. A
    writer calls ``must_wait`` when a block opens, ``wait`` for what belongs to a block that is not
    open yet, and ``next_turn`` when a block closes.
    """

    def __init__(self, dialect: Dialect, same: bool, log: Ledger) -> None:
        super().__init__(dialect, same, log)
        self.speaking: dict[Hashable, int] = {}  # places, and the blocks that are written there
        self.waiting: dict[int, tuple[Hashable, list[Event]]] = {}

    def must_wait(self, event: Open, place: Hashable, quiet: bool = False) -> bool:
        if self.speaking.setdefault(place, event.index) == event.index:
            return False
        self.waiting[event.index] = (place, [event])
        if not quiet:
            self.log.moved(
                "stream.order", event.block.at, "written after the block before it was complete"
            )
        return True

    def wait(self, event: Delta | Cite | Signed | Close) -> bytes:
        if event.index in self.waiting:
            self.waiting[event.index][1].append(event)
        return b""

    def next_turn(self, index: int) -> bytes:
        """What was delayed until a block closed."""
        place = next((place for place, other in self.speaking.items() if other == index), None)
        if place is None:
            return b""
        del self.speaking[place]
        out: list[bytes] = []
        while place not in self.speaking:
            found = next((i for i, (where, _) in self.waiting.items() if where == place), None)
            if found is None:
                break
            out += [self.write(event) for event in self.waiting.pop(found)[1]]
        return b"".join(out)


class FunctionsOnly(StreamWriter):
    """For dialects with functions only: the text of a custom call is its one argument."""

    def __init__(self, dialect: Dialect, same: bool, log: Ledger) -> None:
        super().__init__(dialect, same, log)
        self.wrapped: set[int] = set()

    def wrap_freeform(self) -> None:
        """The dialect has functions only; before this call nothing is wrapped."""
        self.ways |= {Open: self.open_wrapped, Delta: self.say_wrapped, Close: self.close_wrapped}

    def open_wrapped(self, event: Open) -> bytes:
        block = event.block
        if not isinstance(block, ToolCall) or block.kind != "custom":
            return self.open(event)
        self.wrapped.add(event.index)
        spelled = self.open(replace(event, block=replace(block, kind="function")))
        return spelled + self.delta(Delta(event.index, '{"input":"'))

    def say_wrapped(self, event: Delta) -> bytes:
        if event.index in self.wrapped:
            event = Delta(event.index, compact(event.text)[1:-1])
        return self.delta(event)

    def close_wrapped(self, event: Close) -> bytes:
        if event.index not in self.wrapped:
            return self.close(event)
        self.wrapped.discard(event.index)
        return self.delta(Delta(event.index, '"}')) + self.close(event)


class OneByOne(StreamWriter):
    """For dialects in which blocks come one after the other.

    If blocks are open side by side in the source, all but the first wait, and the ledger reports
    it.
    """

    def __init__(self, dialect: Dialect, same: bool, log: Ledger) -> None:
        super().__init__(dialect, same, log)
        self.current: int | None = None  # the block that is written now
        self.block: Block | None = None
        self.signed: Signature | None = None
        self.part: tuple[int, str] = (-1, "")  # what was written last of reasoning
        self.waiting: dict[int, list[Event]] = {}
        self.again = dict(self.ways)  # how to write what has waited: it is wrapped already

    def enter(self, event: Open) -> bytes:
        """Write the start of a block."""
        raise NotImplementedError

    def say(self, event: Delta) -> bytes:
        """Write more of the current block."""
        raise NotImplementedError

    def quote(self, citation: Citation) -> bytes:
        """Write a citation of the current text."""
        raise NotImplementedError

    def leave(self) -> bytes:
        """Write the end of the current block."""
        raise NotImplementedError

    def open(self, event: Open) -> bytes:
        if event.candidate:
            return b""  # there is one reply here
        if self.current is None:
            self.current, self.block = event.index, event.block
            self.signed, self.part = None, (-1, "")
            return self.enter(event)
        self.waiting[event.index] = [event]
        self.log.moved(
            "stream.order", event.block.at, "written after the block before it was complete"
        )
        return b""

    def delta(self, event: Delta) -> bytes:
        return self.say(event) if event.index == self.current else self.wait(event)

    def cite(self, event: Cite) -> bytes:
        if event.index == self.current:
            return self.quote(event.citation)
        return self.wait(event) if event.index in self.waiting else self.quote_late(event)

    def quote_late(self, event: Cite) -> bytes:
        """Write a citation of a text that is already closed."""
        return b""

    def add_signature(self, event: Signed) -> bytes:
        if event.index != self.current:
            return self.wait(event)
        self.signed = event.signature
        return b""

    def close(self, event: Close) -> bytes:
        if event.index != self.current:
            return self.wait(event)
        out = [self.leave()]
        self.current = None
        while self.waiting and self.current is None:
            index = next(iter(self.waiting))
            out += [self.again[spelled.__class__](spelled) for spelled in self.waiting.pop(index)]
        return b"".join(out)

    def wait(self, event: Delta | Cite | Signed | Close) -> bytes:
        if event.index in self.waiting:
            self.waiting[event.index].append(event)
        return b""

    def reasoning(self, event: Delta) -> str | None:
        """The parts of a reasoning block as one text, separated by an empty line.

        None if it was written already: reasoning is written once, in full or in summary.
        """
        if self.part[1] not in ("", event.place):
            return None
        if not event.text:
            return ""
        part = (event.part, event.place)
        first = self.part[0] < 0 or part == self.part
        self.part = part
        return event.text if first else f"\n\n{event.text}"

    def own_signature(self, block: Reasoning) -> Signature | None:
        """The signature of reasoning, if it may be written in this dialect."""
        signature = self.signed or block.signature
        return signature if signature is not None and may_open(self.dialect, signature) else None
