"""Gemini: generateContent and streamGenerateContent, at Google AI and at Vertex AI.

What it does differently from its neighbours: the model and whether to stream stand in the address;
contents are made of parts, and what a part is says the key it has; the assistant is the ``model``;
results are parts of a user's turn and name their tool; ids of calls are optional; arguments and
results are objects; any part may be signed, and a signature must go back on that very part; keys
are camelCase or snake_case; everything about sampling stands in ``generationConfig``; thoughts do
not count as output tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from .response import Responses
from .rules import Rules
from .sniff import Sniff

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...model import ErrorKind
    from ...streaming import StreamReader, StreamWriter


class Gemini(Sniff, Rules, Responses):
    name = "gemini"
    vendor = "google"
    serves = ("google",)
    pairs = True
    spec = "https://ai.google.dev/api/generate-content"
    aliases = ("google", "vertex")
    # https://ai.google.dev/gemini-api/docs/troubleshooting: the status is the code of the error
    statuses: ClassVar[Mapping[ErrorKind, int]] = {"billing": 400, "too-large": 400}
    framings = "either"  # events with alt=sse, and an array without
    stream_signs = (("candidates", None), ("promptFeedback", None), ("usageMetadata", None))

    def read_stream(self, whole: bool) -> StreamReader:
        from .read_stream import GeminiReader

        return GeminiReader(self, whole)

    def write_stream(self, log: Ledger, home: bool) -> StreamWriter:
        from .write_stream import GeminiWriter

        return GeminiWriter(self, log, home)


DIALECT = Gemini()
