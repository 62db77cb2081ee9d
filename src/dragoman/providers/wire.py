"""A request on a connection of aiohttp's, and its reply while it arrives.

aiohttp's session makes each request anew: it takes the address apart, copies the headers several
times, asks for cookies, starts a task that writes the body, and sets a timer for each read. That
costs more than the connection and the parser together. Whoever asks models asks a few addresses
with the same headers again and again, so aiohttp's connector (names, TLS, proxies, connections that
are used again) and its parser do here what they always do, and the bytes of a request are put
together from two parts that are made once: those of its address and those of its headers.

    POST /v1/messages HTTP/1.1         of the address
    host: api.anthropic.com
    x-api-key: ...                     of the headers
    content-length: 120                of the request

No redirect is followed and no cookie kept, since nobody looks at either.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any
from weakref import ref

import aiohttp
from aiohttp import hdrs
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import RawResponseMessage
from aiohttp.streams import StreamReader
from yarl import URL

from ..errors import Unsupported
from .secrets import Headers
from .timing import Limits

SMALL = 2**16
"""What is copied sooner than given to the kernel in two parts."""
MOST = 1000
"""How many addresses are remembered."""
DEFAULTS = {
    "accept": "*/*",
    "accept-encoding": aiohttp.ClientRequest.DEFAULT_HEADERS[hdrs.ACCEPT_ENCODING],
    "user-agent": "dragoman",
    "content-type": "application/octet-stream",
}
"""What is sent where a request has no header of that name."""
OWN = ("host", "proxy-authorization")
"""Headers that the address has."""
BODY = frozenset({"content-length", "transfer-encoding"})
"""Headers that are those of the body that is sent, whatever a request says."""
LINE_BREAK = re.compile(r"[\r\n\0]")


class NoConnection(TimeoutError):
    """There was none in time."""


class Request(aiohttp.ClientRequest):
    """What the connector is asked for; always the same, so its key is made once."""

    @cached_property
    def connection_key(self) -> aiohttp.client_reqrep.ConnectionKey:
        return super().connection_key


class Target:
    """An address: what the connector is asked for, and how a request to it begins."""

    __slots__ = ("_head", "_line", "posts", "request")

    def __init__(self, method: str, url: str, proxy: str | None) -> None:
        address = URL(url, encoded=True)
        loop = asyncio.get_running_loop()
        through = None if proxy is None else URL(proxy)
        self.request = Request("GET", address, loop=loop, proxy=through)
        # A proxy that only passes requests on needs the whole address; with TLS it passes bytes on.
        whole = through is not None and not self.request.is_ssl()
        self._line = f"{method} {address if whole else address.raw_path_qs} HTTP/1.1\r\n"
        self.posts = method != "GET"
        self._head: bytes | None = None

    def head(self, headers: Headers) -> bytes:
        """All of a request but the length of its body."""
        if headers.encoded is None:
            headers.encoded = lines(headers)
        if self._head is None:  # the connector has added the header for the proxy by now
            own = (name for name in OWN if name in self.request.headers)
            named = "".join(f"{name}: {self.request.headers[name]}\r\n" for name in own)
            self._head = f"{self._line}{named}".encode()
        if "host" in headers:
            return self._line.encode() + headers.encoded
        return self._head + headers.encoded


def lines(headers: Mapping[str, str]) -> bytes:
    """Headers as they are sent, with those that every request has."""
    told = {**DEFAULTS, **headers}
    for name, value in told.items():
        if LINE_BREAK.search(name) or LINE_BREAK.search(value):
            raise Unsupported(f"the header {name[:40]!r} has a line break")
    return "".join(f"{k}: {v}\r\n" for k, v in told.items() if k not in BODY).encode()


class Line(ResponseHandler):
    """A connection that tells whoever reads a body when what follows is not HTTP.

    Of a chunk that is none aiohttp tells the connection alone, and whoever reads the body waits
    forever: no limit is left that would end it.
    """

    def set_exception(self, exc: Any, *cause: Any) -> None:
        content = self._payload
        super().set_exception(exc, *cause)
        if isinstance(exc, HttpProcessingError) and content is not None and not content.is_eof():
            content.set_exception(aiohttp.ClientPayloadError(exc.message))

    def resume_reading(self, *about: Any, **more: Any) -> None:
        if self._reading_paused:  # it is called whenever something is read
            super().resume_reading(*about, **more)


class Body(StreamReader):
    """A body that is read as it comes. aiohttp counts where each chunk ends, for those who want
    chunks, and reads them one by one; there are as many as there are frames in a stream.
    """

    __slots__ = ()

    def begin_http_chunk_receiving(self) -> None:
        pass

    def end_http_chunk_receiving(self) -> None:
        pass

    def _read_nowait(self, n: int) -> bytes:
        """All that is there."""
        if n != -1 or self._buffer_offset:
            return super()._read_nowait(n)
        data = b"".join(self._buffer)
        self._buffer.clear()
        if self._http_chunk_splits:
            self._http_chunk_splits.clear()
        self._size, self._cursor = 0, self._cursor + len(data)
        self._protocol.resume_reading()
        return data


class Connector(aiohttp.TCPConnector):
    """As many connections as there are requests at once; each is a ``Line``."""

    def __init__(self) -> None:
        super().__init__(limit=0)
        made: type[ResponseHandler] = Line
        self._factory = partial(made, loop=self._loop)


class Wire:
    """The connections of one client, in one event loop."""

    def __init__(self, connect_timeout: float | None, timeout: float | None) -> None:
        self.loop, self.thread = asyncio.get_running_loop(), threading.get_ident()
        self.limits = Limits(timeout, self.loop)
        """How long a request waits for its reply, and a reply for its next bytes."""
        self.closed = False
        self._connector = Connector()
        self.timeout = aiohttp.ClientTimeout(connect=connect_timeout)
        self._targets: dict[tuple[str, str], Target] = {}

    def target(self, method: str, url: str, proxy: Callable[[str], str | None]) -> Target:
        """An address; through which proxy is asked for once."""
        if (target := self._targets.get((method, url))) is None:
            if len(self._targets) >= MOST:
                self._targets.clear()
            target = self._targets[method, url] = Target(method, url, proxy(url))
        return target

    async def ask(self, target: Target, headers: Headers, body: bytes) -> Reply:
        """Send a request; its reply, once its status is there."""
        began = self.loop.time()
        try:
            connection = await self._connector.connect(target.request, [], self.timeout)
        except TimeoutError:
            raise NoConnection from None
        try:
            line, transport = connection.protocol, connection.transport
            assert line is not None
            assert transport is not None
            line.set_response_params(read_until_eof=True)
            head = target.head(headers)
            if body or target.posts:
                head = b"%bcontent-length: %d\r\n\r\n" % (head, len(body))
            else:
                head += b"\r\n"
            if len(body) < SMALL:
                transport.write(head + body)
            else:
                transport.writelines((head, body))
            while True:
                message, content = await line.read()
                if not 100 <= message.code < 200 or message.code == 101:
                    if content.__class__ is StreamReader:  # and not the empty one
                        content.__class__ = Body
                    return Reply(self, began, connection, message, content)
        except BaseException:
            connection.close()
            raise

    async def close(self) -> None:
        self.closed = True
        for waiting in tuple(self.limits.waiting):
            if isinstance(waiting, Reply):
                waiting.close()  # else whoever waits for more of it waits forever
        self.limits.close()
        await self._connector.close()


class Reply:
    """A status, headers, and bytes while they arrive.

    What is not read stays with the sender: aiohttp reads no further than a few buffers ahead.
    Whoever forgets a reply hangs up: nothing but its reader holds it.
    """

    __slots__ = ("__weakref__", "_began", "connection", "content", "headers", "status", "wire")

    def __init__(
        self,
        wire: Wire,
        began: float,
        connection: aiohttp.connector.Connection,
        message: RawResponseMessage,
        content: StreamReader,
    ) -> None:
        self.wire, self._began = wire, began
        self.status: int = message.code
        self.headers: Mapping[str, str] = message.headers
        self.content = content
        self.connection: aiohttp.connector.Connection | None = connection
        content.on_eof(partial(end, ref(self)))

    def age(self) -> float:
        """Seconds since it was asked for."""
        return self.wire.loop.time() - self._began

    async def read(self) -> bytes:
        """The next bytes, as soon as there are any; none where the reply ends."""
        wire = self.wire
        if wire.closed:
            self.close()
        wire.limits.begin(self)
        try:
            return await self.content.readany()
        finally:
            wire.limits.waiting.pop(self, None)

    def left(self) -> bytes:
        """What came before an error did. aiohttp has no public word for it."""
        return self.content._read_nowait(-1)

    def late(self) -> None:
        """Nothing has come for too long."""
        self.content.set_exception(aiohttp.SocketTimeoutError("no further data"))

    def end(self) -> None:
        """All of it has come. The connection is used again if the request is all sent."""
        connection, self.connection = self.connection, None
        if connection is None:
            return
        transport = connection.transport
        if transport is None or transport.get_write_buffer_size():
            connection.close()
        else:
            connection.release()

    def close(self) -> None:
        """Hang up, unless it has come to its end."""
        connection, self.connection = self.connection, None
        if connection is not None:
            if self.content.exception() is None:
                self.content.set_exception(aiohttp.ClientConnectionError("Connection closed"))
            connection.close()

    def __del__(self) -> None:
        if self.connection is not None:
            self.connection.close()


def end(found: ref[Reply]) -> None:
    """The body of a reply is complete."""
    if (reply := found()) is not None:
        reply.end()
