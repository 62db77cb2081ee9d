"""What the server listens with: headers have a limit while they arrive, and a time.

uvicorn's parser takes headers of any size before the application hears of a request, and waits for
them as long as a client likes; no key is asked for by then. And it gives the head of a response to
the kernel apart from its body: a system call that costs as much as all else that the gateway does.
"""

from __future__ import annotations

import asyncio
from typing import Any

from .config import Limits

TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"connection: close\r\ncontent-length: 0\r\n\r\n"
)


HEAD = b"HTTP/1.1 "
SMALL = 2**16
"""What is copied sooner than given to the kernel in two parts."""


class Joining:
    """A transport that holds the head of a response back until the body comes, so that both are
    written in one system call; at the latest until what is being done now is done.
    """

    __slots__ = ("_head", "_loop", "_transport", "_write", "is_closing")

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._write, self.is_closing = transport.write, transport.is_closing
        self._head = b""

    def write(self, data: bytes) -> None:
        if self._head:
            head, self._head = self._head, b""
            if len(data) < SMALL:
                self._write(head + data)
            else:
                self._transport.writelines((head, data))
        elif data.startswith(HEAD):
            self._head = data
            self._loop.call_soon(self._flush)
        else:
            self._write(data)

    def _flush(self) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._write(head)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def protocol(limits: Limits) -> Any:
    """The protocol class for uvicorn; ``auto`` where httptools is not there (h11 has limits)."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ModuleNotFoundError:
        return "auto"

    class Bounded(HttpToolsProtocol):
        """Bytes are counted from the second piece of unfinished headers on, so that a request that
        comes in one piece costs nothing. A connection without a request is closed after a while, by
        one timer, which looks how long there was none.
        """

        _unfinished = False
        _size = 0
        _timer: asyncio.TimerHandle | None = None
        _idle: asyncio.TimerHandle | None = None
        _since: float | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(Joining(transport, self.loop))  # type: ignore[arg-type]
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            if self._idle is not None:
                self._idle.cancel()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._unfinished:
                self._size += len(data)
                if self._size > limits.headers:
                    self.transport.write(TOO_LARGE)
                    self.transport.close()
                    return
            super().data_received(data)
            if self._unfinished and self._timer is None:
                self._wait()

        def _unset_keepalive_if_required(self) -> None:
            self._since = None
            super()._unset_keepalive_if_required()

        def on_response_complete(self) -> None:
            if self.pipeline or self.transport.is_closing():
                super().on_response_complete()
                return
            self.server_state.total_requests += 1
            self.flow.resume_reading()
            self._since = self.loop.time()
            if self._idle is None:
                self._idle = self.loop.call_later(self.timeout_keep_alive, self._look)

        def _look(self) -> None:
            """Whether the connection was without a request for so long."""
            self._idle = None
            if self._since is None:
                return
            left = self._since + self.timeout_keep_alive - self.loop.time()
            if left > 0:
                self._idle = self.loop.call_later(left, self._look)
            else:
                self.timeout_keep_alive_handler()

        def on_message_begin(self) -> None:
            self._unfinished, self._size = True, 0
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._unfinished = False
            self._stop()
            super().on_headers_complete()

        def _wait(self) -> None:
            self._timer = self.loop.call_later(limits.body_timeout, self._late)

        def _late(self) -> None:
            self._timer = None
            self.transport.close()

        def _stop(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return Bounded
