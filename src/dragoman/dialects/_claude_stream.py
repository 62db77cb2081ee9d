"""What the streams of Claude's APIs share: blocks come one after the other, arguments are objects.

The arguments of a call arrive as text, bit by bit. A reader makes an object of them in the end, as
the vendor's client does. A writer sees by their beginning whether they will be one; text that is
none becomes a string inside an object.
"""

from __future__ import annotations

from msgspec.structs import replace

from ..core.reading import UNREADABLE, compact, decode
from ..core.writing import is_blank, repeats_a_key
from ..dialect import Dialect
from ..ledger import Ledger
from ..model import Block, Json, Reasoning, Response, Text, ToolCall
from ..streams.base import StreamReader
from ..streams.events import Delta
from ..streams.orders import OneByOne


class ClaudeReader(StreamReader):
    def __init__(self, dialect: Dialect, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.written: dict[str, str] = {}  # where a call stands -> its arguments as they came

    def arguments(self, at: str, text: str) -> dict[str, Json]:
        """Arguments as an object; text that is none goes under ``arguments``, as at rest."""
        try:
            value = decode(text)
        except UNREADABLE:
            value = self.arguments_without_halves(text, at)
        fit = isinstance(value, dict)
        if self.whole or not fit:
            self.written[at] = text
        if not fit or repeats_a_key(text, value):
            self.unfit[at] = None
        return value if fit else {"arguments": text}

    def at_rest(self) -> Response:
        """The arguments of calls are the text that the model wrote, as they are in flight."""
        tree = super().at_rest()
        if not self.written or self.same:
            return tree
        reply = tree.candidates[0]
        content = tuple(map(self.as_written, reply.message.content))
        reply = replace(reply, message=replace(reply.message, content=content))
        return replace(tree, candidates=(reply,))

    def as_written(self, block: Block) -> Block:
        if isinstance(block, ToolCall):
            return replace(block, arguments=self.written.get(block.at, block.arguments))
        return block


class ClaudeWriter(OneByOne):
    def __init__(self, dialect: Dialect, log: Ledger, same: bool) -> None:
        super().__init__(dialect, same, log)
        self.number = -1  # of the block that was begun last
        self.enter_next()

    def enter_next(self) -> None:
        """Another block begins in the source."""
        self.entered = False  # whether anything of it was written
        self.plain = False  # whether its deltas can be written as they are
        self.wrapped = False  # whether they are a string inside an object
        self.blank = ""  # white space that is written only if something follows

    def add_arguments(self, text: str) -> bytes:
        """Write more of the arguments of the current call."""
        raise NotImplementedError

    def add_text(self, text: str) -> bytes:
        """Write more of the current text, which begins with it if need be."""
        raise NotImplementedError

    def add_reasoning(self, text: str) -> bytes:
        """Write more of the current reasoning, which begins with it if need be."""
        raise NotImplementedError

    def say(self, event: Delta) -> bytes:
        block, text = self.block, event.text
        if isinstance(block, Reasoning):
            written = self.reasoning(event)
            return self.add_reasoning(written) if written or (written == "" and self.same) else b""
        if isinstance(block, ToolCall):
            return self.argue(text)
        if not isinstance(block, Text):
            return b""
        if self.entered or self.same:
            return self.add_text(text)
        text, self.blank = self.blank + text, ""
        if not is_blank(text):
            return self.add_text(text)
        self.blank = text
        return b""

    def argue(self, text: str) -> bytes:
        """The arguments of a call. How they begin shows whether they will be an object."""
        if self.plain:
            return self.add_arguments(text)
        text, self.blank = self.blank + text, ""
        if self.wrapped:
            return self.add_arguments(compact(text)[1:-1])
        if is_blank(text):
            self.blank = text
            return b""
        if not text.lstrip().startswith("{"):
            return self.wrap("arguments") + self.argue(text)
        self.plain = True
        return self.add_arguments(text)

    def wrap(self, key: str) -> bytes:
        """Text that is no object becomes one with a single string, around it as it comes."""
        self.wrapped = True
        return self.add_arguments(f'{{"{key}":"')

    def unwrap(self) -> bytes:
        return self.add_arguments('"}') if self.wrapped else b""
