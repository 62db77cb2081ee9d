"""Blocks of a stream on their way to a target, while they arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..events import Cite, Delta, Event, Open
from ..ledger import Ledger
from ..model import Block, Raw, Refusal, Text, ToolCall
from . import citations
from .messages import Messages, is_known

if TYPE_CHECKING:
    from ..dialect import Dialect


class Opening:
    """Lowers a block when it opens; what is lost is reported by the conversion of the whole."""

    def __init__(self, to: Dialect) -> None:
        self.lowering = Messages(to, Ledger(), "response")

    def lower(self, event: Open) -> list[Event]:
        """The events that open a block as the target can say it."""
        block = event.block
        if isinstance(block, ToolCall):
            lowered: Block = self.lowering.call(block)
            return [event if lowered is block else replace(event, block=lowered)]
        if isinstance(block, Refusal) and "response" not in self.lowering.to.can.refusals:
            return [replace(event, block=self.lowering.refusal(block))]
        if isinstance(block, Raw) and is_known(block) and not self.lowering.to.accepts(block):
            said = [b for b in self.lowering.raw(block) if isinstance(b, Text)]
            if said:
                opened = replace(event, block=replace(said[0], text=""))
                return [opened, Delta(event.index, said[0].text)]
        return [event]

    def cite(self, event: Cite) -> Cite | None:
        """A citation as the target can tell it; None where it cannot."""
        lowering = self.lowering
        cite = citations.fitted(event.citation, lowering.to, "response", True, lowering.log)
        if cite is None or cite is event.citation:
            return None if cite is None else event
        return replace(event, citation=cite)
