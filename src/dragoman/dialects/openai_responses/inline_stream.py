"""The stream of a variant of Responses whose empty responses hold a placeholder at rest.

The placeholder is no content, so it is no delta: it comes with the last event, which repeats the
whole response, and is not read as a text. A call that stands inside a message at rest
(``tool_use``) comes whole, where the message ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...model import Json
from ...streams.events import Event
from .read_stream import ResponsesReader

if TYPE_CHECKING:
    from .base import ResponsesBase


class InlineReader(ResponsesReader):
    silence: Json = None
    """the placeholder, where the response has it"""

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
