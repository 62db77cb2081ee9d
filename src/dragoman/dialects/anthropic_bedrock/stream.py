"""The stream of InvokeModelWithResponseStream: Anthropic's events, each in a frame of Amazon's.

``chunk {"bytes": "<an event in base64>", "p": "<padding>"}``; an exception is a frame of its own.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Sequence

from ...core.reading import as_dict, encode, sole
from ...errors import Malformed
from ...model import Json
from ...streams.events import Delta, Event
from ...streams.framing import Frame
from ...streams.framing.eventstream import write_error, write_frame
from ...streams.received import Keys
from ...streams.splicing import Splice
from ..anthropic_messages.stream import AnthropicReader, AnthropicWriter

CHUNK = "chunk"
CHUNK_KEYS = Keys("bytes", "p")
# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ResponseStream.html
EXCEPTIONS = {
    "throttlingException": "rate_limit_error",
    "validationException": "invalid_request_error",
    "modelTimeoutException": "timeout_error",
    "modelStreamErrorException": "api_error",
    "internalServerException": "api_error",
    "serviceUnavailableException": "overloaded_error",
}
EXCEPTION_OF = {word: name for name, word in reversed(EXCEPTIONS.items())}


class InvokedReader(AnthropicReader):
    def read(self, frame: Frame) -> Sequence[Event]:
        return super().read(self.inner(frame))

    def inner(self, frame: Frame) -> Frame:
        """The event that a frame holds."""
        name, doc = frame[0], self.parse(frame)
        key = sole(doc)
        if not name and key is not None and (key == CHUNK or key in EXCEPTIONS):
            name, doc = key, as_dict(doc[key], f"/{key}")  # parsed: its name is a key
        data = doc.get("bytes")
        if data.__class__ is str:
            self.look(CHUNK, doc, keys=CHUNK_KEYS, at="")
            try:
                return "", b64decode(data, validate=True)
            except (Error, ValueError):
                raise Malformed("expected base64", "/bytes") from None
        if name not in ("", CHUNK):
            kind = EXCEPTIONS.get(name[:1].lower() + name[1:], "api_error")
            message = doc.get("message")
            words = message if message.__class__ is str else name
            return "error", encode({"type": "error", "error": {"type": kind, "message": words}})
        return frame  # the event itself, as some recorders have it


class InvokedWriter(AnthropicWriter):
    def frame(self, kind: str, **fields: Json) -> bytes:
        return framed(super().frame(kind, **fields))

    def more(self, text: str) -> bytes:
        return framed(super().more(text))

    def splicing(self, event: Delta) -> Splice | None:
        return None  # base64 cannot be put together from pieces

    def fail(self, doc: Json) -> bytes:
        inner = doc.get("error") or {}
        message = str(inner.get("message", ""))
        name = EXCEPTION_OF.get(str(inner.get("type")))
        if name is None:
            return write_error(str(inner.get("type", "error")), message)
        return write_frame(name, encode({"message": message}), "exception")


def framed(event: bytes) -> bytes:
    """A server-sent event as a frame, in base64."""
    data = event.partition(b"\ndata: ")[2].removesuffix(b"\n\n")
    return write_frame(CHUNK, encode({"bytes": b64encode(data).decode()}))
