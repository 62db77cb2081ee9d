"""Ollama's own chat API, ``POST /api/chat``.

What it does differently from its neighbours: what a message says is one string, images stand beside
it as bare data, thoughts in a field of their own; arguments are objects; a result names its tool;
the parameters are ``options``; there is no choice among tools; an answer is streamed unless the
request says no, one JSON document per line; an error is nothing but a text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from .response import Responses
from .sniff import Sniff

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...streaming import StreamReader, StreamWriter


class Ollama(Sniff, Responses):
    spec = "https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-chat-completion"
    needs_model = True
    blank = frozenset({"format"})
    framing = "ndjson"
    stream_signs = (("done", False), ("done", True), ("error", None))
    stream_headers: ClassVar[dict[str, str]] = {"content-type": "application/x-ndjson"}

    def read_stream(self, whole: bool) -> StreamReader:
        from .stream import OllamaReader

        return OllamaReader(self, whole)

    def write_stream(self, log: Ledger, home: bool) -> StreamWriter:
        from .stream import OllamaWriter

        return OllamaWriter(self, log, home)


DIALECT = Ollama()
