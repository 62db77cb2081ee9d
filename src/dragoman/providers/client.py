"""The one HTTP client: bytes out, bytes in, typed errors. It knows no dialect.

Connections are kept and used again. A request has a time limit and an answer a size limit; TLS
certificates are checked; redirects are not followed and cookies not kept, so that a key goes
nowhere but to the address it was given for. Proxies are those of the environment. Nothing is
tried twice: whether a request may be repeated only the caller knows.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from ..errors import MissingExtra, Unsupported
from .errors import BadAnswer, ConnectionFailed, ProviderError, TimedOut
from .secrets import Headers

try:
    import aiohttp
except ModuleNotFoundError as missing:
    if missing.name != "aiohttp":
        raise
    raise MissingExtra("talking to providers", "providers") from None

T = TypeVar("T")

LIMIT = 64 * 2**20
"""How many bytes an answer may have. The longest answers of today have a few millions."""
AGENT = "dragoman"
HERE = frozenset({"localhost", "127.0.0.1", "::1"})


class Reply(NamedTuple):
    """What came back, whatever its status."""

    status: int
    headers: Mapping[str, str]
    """looked up without regard to case"""
    body: bytes

    def __repr__(self) -> str:  # short: tracebacks print local variables
        return f"<Reply {self.status}: {len(self.body)} bytes>"


class Client:
    """For callers with an event loop: it opens with the first request and belongs to that loop."""

    def __init__(
        self,
        *,
        timeout: float | None = 600.0,
        connect_timeout: float | None = 10.0,
        limit: int = LIMIT,
    ) -> None:
        self.timeout = timeout
        self.connect_timeout = connect_timeout
        self.limit = limit
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    async def post(self, url: str, body: bytes, headers: Headers) -> Reply:
        """One request and its whole answer."""
        # The errors of aiohttp hold the request, and the request holds the key. So ours are
        # raised outside of the handlers, where nothing is chained to them.
        failure: ProviderError
        try:
            return await self._post(url, body, headers)
        except aiohttp.ConnectionTimeoutError:
            failure = TimedOut(f"no connection in time ({self._limits()})")
        except TimeoutError:
            failure = TimedOut(f"no answer in time ({self._limits()})")
        except (aiohttp.ClientError, OSError) as problem:
            failure = broken(problem)
        raise failure

    def _limits(self) -> str:
        return f"timeout={self.timeout}, connect_timeout={self.connect_timeout}"

    async def _post(self, url: str, body: bytes, headers: Headers) -> Reply:
        session = self._open()
        async with session.post(
            url, data=body, headers=headers, allow_redirects=False, proxy=proxy_for(url)
        ) as response:
            return Reply(response.status, response.headers, await self._read(response))

    async def _read(self, response: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > self.limit:
                raise BadAnswer(f"the answer is longer than {self.limit} bytes")
        return bytes(body)

    def _open(self) -> aiohttp.ClientSession:
        if self._closed:
            raise Unsupported("this provider is closed")
        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is None or self._loop.is_closed():
            self._loop = loop
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=self.timeout, connect=self.connect_timeout),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"user-agent": AGENT},
            )
        elif self._loop is not loop:
            raise Unsupported("this provider is in use in another event loop; make one for each")
        return self._session

    async def close(self) -> None:
        self._closed = True
        if self._session is not None:
            await self._session.close()
            self._session = None


class BlockingClient:
    """For callers without an event loop: one loop for all requests, in a thread of its own.

    So it also works where a loop is running, as in a notebook. Several threads may share it.
    """

    def __init__(self, client: Callable[[], Client]) -> None:
        self._make = client
        self._worker: _Worker | None = None
        self._lock = threading.Lock()
        self._closed = False

    def post(self, url: str, body: bytes, headers: Headers) -> Reply:
        worker = self._open()
        return worker.run(worker.client.post(url, body, headers))

    def _open(self) -> _Worker:
        with self._lock:
            if self._closed:
                raise Unsupported("this provider is closed")
            if self._worker is None or not self._worker.is_alive():  # threads do not survive a fork
                self._worker = _Worker(self._make())
                weakref.finalize(self, self._worker.stop)  # for those who forget to close
            return self._worker

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._worker is not None:
                self._worker.stop()
                self._worker = None


class _Worker:
    """An event loop in a thread, with the client that lives in it."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._main, name="dragoman-provider", daemon=True)
        self._thread.start()
        self._ready.wait()

    def _main(self) -> None:
        asyncio.run(self._live())

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._end = asyncio.Event()
        self._ready.set()
        await self._end.wait()
        await self.client.close()

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except CancelledError:
            failure = ConnectionFailed("the provider was closed before the answer came")
        except BaseException:
            future.cancel()  # whoever is interrupted here no longer waits for an answer
            raise
        raise failure

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end.set)
            if threading.current_thread() is not self._thread:
                self._thread.join()


def broken(problem: Exception) -> ProviderError:
    """Our error for one of aiohttp's, with the reason but without the request."""
    match problem:
        case aiohttp.ClientConnectorError():
            reason = problem.os_error.strerror or str(problem.os_error)
            return ConnectionFailed(f"no connection to {problem.host}:{problem.port}: {reason}")
        case aiohttp.ClientHttpProxyError():
            return ConnectionFailed(f"the proxy refuses the connection with {problem.status}")
        case aiohttp.ClientResponseError():
            return BadAnswer("the answer is not HTTP")
        case aiohttp.ClientPayloadError():
            return ConnectionFailed("the connection broke in the middle of the answer")
        case _:
            return ConnectionFailed("the connection broke before the answer came")


def proxy_for(url: str) -> str | None:
    """The proxy that the environment names for an address; never for one on this machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in HERE or proxy_bypass(host):
        return None
    return getproxies().get(parts.scheme)
