"""The stream of a variant of Responses that has its calls inside of messages.

An answer without a word may hold words for silence at rest. Nobody said them, so they are no
delta: they come with the last event, which repeats the whole answer, and are not read as a text.
A call that stands inside a message at rest (``tool_use``) comes whole, where the message ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...ledger import Ledger
from ...model import Json, ToolCall
from ...streams.events import Close, Delta, Event, Open
from .read_stream import ResponsesReader
from .write_stream import ResponsesWriter

if TYPE_CHECKING:
    from .base import ResponsesBase


class InlineReader(ResponsesReader):
    silence: Json = None
    """the words for silence, where the answer has them"""

    def __init__(
        self, dialect: ResponsesBase, whole: bool, is_silent: Callable[[Json], bool]
    ) -> None:
        super().__init__(dialect, whole)
        self.is_silent = is_silent

    def settle(self, output: list[Json], events: list[Event]) -> None:
        wordless = all(item.kind == "reasoning" for item in self.items.values())
        if wordless and self.is_silent({"output": output}):
            *output, self.silence = output
        super().settle(output, events)

    def document(self) -> Json | None:
        doc = super().document()
        if doc is not None and self.silence is not None:
            doc["output"].append(self.silence)
        return doc


class InlineWriter(ResponsesWriter):
    def __init__(self, dialect: ResponsesBase, log: Ledger, home: bool) -> None:
        super().__init__(dialect, log, home)
        self.inline: dict[int, tuple[ToolCall, list[Json], int, list[str]]] = {}

    def open(self, event: Open) -> bytes:
        block = event.block
        if self.home and isinstance(block, ToolCall) and "part" in self.dialect.spelling(block):
            return self.open_inline(event.index, block)
        return super().open(event)

    def open_inline(self, index: int, call: ToolCall) -> bytes:
        out = b""
        if self.message is not None and "item" in self.dialect.spelling(call):
            out += self.close_message()
        if self.message is None:
            self.message = {"type": "message", "role": "assistant", "content": []}
            self.place = self.count
            self.count += 1
            item = {**self.message, "content": []}
            out += self.event("response.output_item.added", output_index=self.place, item=item)
        parts = self.message["content"]
        self.inline[index] = (call, parts, len(parts), [])
        parts.append(None)
        return out

    def delta(self, event: Delta) -> bytes:
        if (found := self.inline.get(event.index)) is None:
            return super().delta(event)
        found[3].append(event.text)
        return b""

    def close(self, event: Close) -> bytes:
        if (found := self.inline.pop(event.index, None)) is None:
            return super().close(event)
        call, parts, number, said = found
        whole = replace(call, arguments="".join(said))
        parts[number] = self.dialect.write_call(whole, self.w)
        return b""
