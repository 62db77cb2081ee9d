"""The stream of Perplexity: that of OpenAI Chat, with what was found on the web in every chunk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...model import Json
from ...streams.events import Event
from ...streams.framing import Frame
from ..openai_chat.choices import Speaker
from ..openai_chat.read_stream import ChatReader

if TYPE_CHECKING:
    from . import Perplexity


class PerplexityReader(ChatReader):
    dialect: Perplexity

    def __init__(self, dialect: Perplexity, whole: bool) -> None:
        super().__init__(dialect, whole)
        self.found: dict[str, Json] = {}
        self.cited: set[int] = set()  # candidates whose text has what was found

    def parse(self, frame: Frame) -> dict[str, Json]:
        doc = super().parse(frame)
        for key in ("search_results", "citations"):
            if doc.get(key):
                self.found[key] = doc[key]
        return doc

    def close_all(self, speaker: Speaker, events: list[Event]) -> None:
        """What was found is known in the end; a text has it as long as it is open."""
        from ...streams.events import Cite
        from . import read_found

        own = any(other.annotations for other in self.speakers.values())
        if self.found and not own and speaker.number not in self.cited and speaker.text is not None:
            self.cited.add(speaker.number)
            events += [Cite(speaker.text, cite) for cite in read_found(self.dialect, self.found)]
        super().close_all(speaker, events)
