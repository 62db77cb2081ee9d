"""Blocks of a stream on their way to a target, while they arrive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...ledger import Ledger
from ...model import Block, Media, Raw, Reasoning, Refusal, Text, ToolCall
from ...streams.events import Cite, Delta, Event, Open
from . import citations, media
from .messages import Messages, is_known

if TYPE_CHECKING:
    from ...dialect import Dialect


class Opening:
    """Lowers a block when it opens; what is lost is reported by the conversion of the whole."""

    def __init__(self, to: Dialect) -> None:
        self.lowering = Messages(to, Ledger(), "response")

    def lower(self, event: Open) -> list[Event]:
        """The events that open a block as the target can say it."""
        block = event.block
        if isinstance(block, Text | ToolCall):
            lowered = self.begun(block)
            return [event if lowered is block else replace(event, block=lowered)]
        if isinstance(block, Media):
            found = self.lowering.media(block, "assistant")
            if len(found) == 1 and isinstance(found[0], Media):
                return [event if found[0] is block else replace(event, block=found[0])]
            return self.written(event, found) or [replace(event, block=Raw("", None, at=block.at))]
        if isinstance(block, Refusal) and "response" not in self.lowering.to.can.refusals:
            return [replace(event, block=self.lowering.refusal(block))]
        if isinstance(block, Raw) and is_known(block) and not self.lowering.to.accepts(block):
            return self.written(event, self.lowering.raw(block)) or [event]
        return [event]

    def is_spoken(self, block: Block) -> bool:
        """Whether of a medium only its transcript can be written."""
        return isinstance(block, Media) and media.is_misplaced(block, "assistant", self.lowering)

    def reasoning(self, block: Reasoning) -> Reasoning | None:
        """Reasoning that has arrived, as the target writes it; None where it does not."""
        found = self.lowering.content((block,), "assistant")
        return found[0] if found and isinstance(found[0], Reasoning) else None

    def begun(self, block: Text | ToolCall) -> Block:
        """A block of which the words are yet to come, so nothing is judged by them."""
        lowering = self.lowering
        if isinstance(block, Text):
            return lowering.text(block, "assistant")
        return lowering.call(lowering.marked(block, "call"))  # writers wrap what is freeform

    def written(self, event: Open, blocks: Sequence[Block]) -> list[Event]:
        """A block that is written as text."""
        for block in blocks:
            if isinstance(block, Text):
                opened = replace(event, block=replace(block, text=""))
                return [opened, Delta(event.index, block.text)]
        return []

    def cite(self, event: Cite) -> Cite | None:
        """A citation as the target can tell it; None where it cannot."""
        lowering = self.lowering
        cite = citations.fitted(event.citation, lowering.to, "response", True, lowering.log)
        if cite is None or cite is event.citation:
            return None if cite is None else event
        return replace(event, citation=cite)
