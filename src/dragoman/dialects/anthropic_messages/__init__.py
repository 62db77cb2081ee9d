"""Anthropic Messages.

What it does differently from its neighbours: the system prompt stands beside the messages; tool
results are blocks of a user turn, and those of one turn share it; arguments are objects; thoughts
are signed, and a thought without its signature is rejected; empty text is rejected; the output
limit is required; caches are marked in the content; cached tokens do not count as input tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .response import Responses
from .rules import Rules
from .sniff import Sniff

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...streaming import StreamReader, StreamWriter


class AnthropicMessages(Sniff, Rules, Responses):
    spec = "https://docs.claude.com/en/api/messages"
    pairs = True
    aliases = ("anthropic", "claude")
    blank = frozenset({"stop_sequences"})
    stream_signs = (("type", "message_start"), ("type", "content_block_delta"))

    def read_stream(self, whole: bool) -> StreamReader:
        from .read_stream import AnthropicReader

        return AnthropicReader(self, whole)

    def write_stream(self, log: Ledger, home: bool) -> StreamWriter:
        from .write_stream import AnthropicWriter

        return AnthropicWriter(self, log, home)


DIALECT = AnthropicMessages()
