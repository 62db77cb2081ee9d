"""Bedrock Converse, and ConverseStream.

What it does differently from its neighbours: a block is an object with one key, which tells what
it is; a cache mark is a block of its own behind what it marks; turns alternate, and the user
begins; tools must be defined as long as the conversation has calls; there is no way to forbid
them; a tool's answer may be a JSON value; media have short formats instead of types, documents
have names of few letters; the schema of an answer is JSON text; what only some models know is in a
bag of its own; the stream comes in binary frames, and texts begin in it without being announced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from .response import Responses
from .sniff import Sniff

if TYPE_CHECKING:
    from ...ledger import Ledger
    from ...streaming import StreamReader, StreamWriter


class BedrockConverse(Sniff, Responses):
    spec = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html"
    pairs = True
    aliases = ("bedrock",)
    blank = frozenset({"stopSequences", "system", "serverToolUsage"})
    framing = "eventstream"
    stream_headers: ClassVar[dict[str, str]] = {
        "content-type": "application/vnd.amazon.eventstream"
    }

    def read_stream(self, whole: bool) -> StreamReader:
        from .read_stream import BedrockReader

        return BedrockReader(self, whole)

    def write_stream(self, log: Ledger, home: bool) -> StreamWriter:
        from .write_stream import BedrockWriter

        return BedrockWriter(self, log, home)


DIALECT = BedrockConverse()
