"""What the client is sent: a whole reply, a stream, an error; and signs of life in a silent one.

Headers tell what was lost. Whatever goes wrong before the first byte is an error with its status in
the form of the client's dialect; after it, nothing but an event of the stream can tell.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from ..core.reading import encode
from ..core.statuses import status_of
from ..dialect import Dialect
from ..errors import DragomanError, Unsupported
from ..ledger import Ledger, Loss
from ..model import ErrorKind, Failure, Json
from ..providers.timing import Limits
from ..streams.framing import framer
from .watching import Seen

Send = Callable[[dict[str, Any]], Awaitable[None]]

JSON = "application/json"
LOSSES = "x-dragoman-losses"
LEDGER = "x-dragoman-ledger"
LONGEST = 6_000
"""How many bytes the ledger may have in a header."""


class Sending:
    """The reply to one request."""

    started = False
    converted = False
    """Whether frames are written here, and so are whole."""
    shown: Mapping[str, str] = {}
    """Headers of the upstream's reply that the client reads."""
    _writes, _latest = 0, b""  # what was written of a stream

    def __init__(
        self, dialect: Dialect, seen: Seen, send: Send, *, array: bool, ledger: bool
    ) -> None:
        self.dialect, self._seen, self._send, self._ledger = dialect, seen, send, ledger
        self._array = Array() if array else None

    # -- streams ----------------------------------------------------------------------------

    async def write(self, data: bytes) -> None:
        """Bytes of a stream."""
        if not self.started:
            await self._start_stream()
        if self._array is not None:
            data = self._array.feed(data)
        if data:
            self._seen.sent += len(data)
            self._writes += 1
            self._latest = data
            await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def _beat(self) -> None:
        """Bytes between two frames, which say that the stream is alive."""
        if not self.started:
            await self._start_stream()
        data = self.dialect.keep_alive if self._array is None else b"\n"
        self._seen.sent += len(data)
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def _start_stream(self) -> None:
        self.started = True
        headers = {**self.dialect.stream_headers, "cache-control": "no-cache"}
        if self._array is not None:
            headers["content-type"] = JSON
        self._seen.first = time.monotonic()
        await self._start(200, [], headers | self.loss_headers())

    async def end(self, data: bytes) -> None:
        """The last bytes of a stream, and its end."""
        if not self.started:
            await self._start_stream()
        if self._array is not None:
            data = self._array.feed(data) + self._array.close()
        self._seen.sent += len(data)
        self._writes += 1
        await self._send({"type": "http.response.body", "body": data, "more_body": False})

    # -- silence ----------------------------------------------------------------------------

    async def beat(self, half: float) -> None:
        """Say that the stream is alive whenever nothing was written for two halves of the time."""
        quiet = self._writes == 0
        while True:
            wrote = self._writes
            await asyncio.sleep(half)
            if self._writes != wrote:
                quiet = False
            elif not quiet:
                quiet = True
            else:
                quiet = False
                if self._is_between(self._latest):
                    await self._beat()

    def _is_between(self, data: bytes) -> bool:
        """Whether a stream stands between two frames after these bytes."""
        if self._array is not None or not data:
            return True
        framing = self.dialect.framing
        if framing == "sse":
            return data.endswith((b"\n\n", b"\n\r\n"))
        # Frames that pass as they are may be cut anywhere; those that are written are whole.
        return data.endswith(b"\n") if framing == "ndjson" else self.converted

    # -- whole replies ----------------------------------------------------------------------

    async def refuse(
        self,
        kind: ErrorKind,
        message: str,
        wait: float | None = None,
        status: int | None = None,
    ) -> None:
        """An error in the client's dialect."""
        self._seen.error = self._seen.error or f"{kind}: {message[:200]}"
        document = error_document(self.dialect, kind, message)
        if status is not None:
            document = with_status(document, status)
        headers = {} if wait is None else {"retry-after": f"{max(wait, 1):.0f}"}
        code = status or status_of(kind, self.dialect.statuses)
        await self.send_json(code, document, headers)

    async def send_json(
        self, status: int, document: Json, headers: Mapping[str, str] | None = None
    ) -> None:
        await self.send_bytes(status, encode(document), headers or {})

    async def send_bytes(
        self, status: int, body: bytes, headers: Mapping[str, str] | None = None
    ) -> None:
        """A whole reply, which is JSON."""
        if self.started:
            return
        self.started = True
        self._seen.sent += len(body)
        length = str(len(body)).encode()
        listed = [(b"content-type", b"application/json"), (b"content-length", length)]
        if self._seen.losses:
            headers = {**self.loss_headers(), **(headers or {})}
        await self._start(status, listed, headers or {})
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def _start(
        self, status: int, listed: list[tuple[bytes, bytes]], headers: Mapping[str, str]
    ) -> None:
        self._seen.status = status
        if self.shown:
            headers = {**self.shown, **headers}
        if headers:
            listed += [(k.encode("latin-1"), v.encode("latin-1")) for k, v in headers.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": listed})

    # -- losses -----------------------------------------------------------------------------

    def comment(self) -> bytes:
        """What was lost, as the last comment of a stream."""
        if not self._seen.losses or not self.dialect.takes_comments:
            return b""
        return f": {LOSSES}: {self._loss_words()}\n\n".encode()

    def loss_headers(self) -> dict[str, str]:
        if not self._seen.losses:
            return {}
        headers = {LOSSES: self._loss_words()[:1000]}
        if self._ledger:
            headers[LEDGER] = ledger_header(self._seen.losses)
        return headers

    def _loss_words(self) -> str:
        return f"{len(self._seen.losses)}; " + ", ".join(self._seen.codes())


class Beating:
    """What keeps a silent stream alive; it begins after the first silence. One timer serves all."""

    __slots__ = ("_out", "_silences", "_task")

    def __init__(self, out: Sending, silences: Limits) -> None:
        self._out, self._silences = out, silences
        self._task: asyncio.Task[None] | None = None
        silences.begin(self)

    def late(self) -> None:
        self._task = asyncio.ensure_future(self._out.beat(self._silences.seconds))

    def cancel(self) -> None:
        self._silences.end(self)
        if self._task is not None:
            self._task.cancel()


class Array:
    """The documents of an event stream as a JSON array, which is Gemini's other form."""

    def __init__(self) -> None:
        self._frames, self._begun = framer("sse"), False

    def feed(self, data: bytes) -> bytes:
        out = [payload for _, payload in self._frames.feed(data)]
        if not out:
            return b""
        head, self._begun = b",\r\n" if self._begun else b"[", True
        return head + b",\r\n".join(out)

    def close(self) -> bytes:
        return b"]" if self._begun else b"[]"


def ledger_header(losses: list[Loss]) -> str:
    """The ledger as JSON in ASCII, as much of it as a header may hold."""
    import json

    out = json.dumps([msgspec.to_builtins(loss) for loss in losses])
    while len(out) > LONGEST:
        losses = losses[: len(losses) // 2]
        out = json.dumps([*(msgspec.to_builtins(loss) for loss in losses), "..."])
    return out


def with_status(document: Json, status: int) -> Json:
    """An error whose dialect repeats the status in it (Gemini), with that of its reply."""
    error = document.get("error") if isinstance(document, dict) else None
    if isinstance(error, dict) and isinstance(error.get("code"), int):
        return {**document, "error": {**error, "code": status}}
    return document


def error_document(dialect: Dialect, kind: ErrorKind, message: str) -> Json:
    """An error in a dialect."""
    try:
        return dialect.write(Failure(kind, message), Ledger())
    except (Unsupported, DragomanError):
        return {"error": {"type": kind, "message": message}}
