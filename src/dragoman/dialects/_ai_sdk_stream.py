"""What the streams of the AI SDK have in common."""

from __future__ import annotations

from ..core.reading import encode
from ..model import Block, Extras, Json, Signature, Text
from ..streams.base import StreamReader
from ..streams.events import Close, Event, Open

BEHIND = 1 << 20
"""how far the number of what comes after a part is from its own"""


def frame(doc: Json) -> bytes:
    return b"data: " + encode(doc) + b"\n\n"


def signature_of(block: Block) -> Signature | None:
    """How a text or a call was signed."""
    return None if block.extras is None else block.extras.signature


def signed_late(
    reader: StreamReader, block: Block, before: Signature | None, index: int
) -> list[Event]:
    """A text that has been passed on without its signature: an empty text has it."""
    signature = signature_of(block)
    if signature is None or signature == before:
        return []
    reader.notes.append(("stream.text", block.at, "the signature of a text arrived after the text"))
    signed = Text("", at=block.at, extras=Extras(reader.dialect.name, signature=signature))
    return [Open(BEHIND + index, signed), Close(BEHIND + index)]
