"""The one HTTP client: bytes out, bytes in, typed errors. It knows no dialect.

Connections are kept and used again. A request has a time limit and a reply a size limit; TLS
certificates are checked; redirects are not followed and cookies not kept, so that a key goes
nowhere but to the address it was given for. Proxies are those of the environment. Nothing is
tried twice unless the caller says so: whether a request may be repeated only the caller knows.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from ..errors import MissingExtra, Unsupported
from .errors import BadReply, ConnectionFailed, ProviderError, TimedOut
from .retries import Retries
from .secrets import Headers
from .signing import Sign
from .timing import within

try:
    import aiohttp
    from aiohttp.http_exceptions import ContentEncodingError, HttpProcessingError

    from .wire import NoConnection, Reply, Wire
except ModuleNotFoundError as missing:
    if missing.name != "aiohttp":
        raise
    raise MissingExtra("dragoman.providers", "providers") from None

T = TypeVar("T")

LIMIT = 64 * 2**20
"""How many bytes a reply may have. The longest replies of today have a few millions."""
LINGER = 0.1
"""How many seconds the end of a body is waited for after the end of the reply."""
NO_RETRIES = Retries(0)
FAILED = (aiohttp.ClientError, HttpProcessingError, OSError)
"""What goes wrong with a request; that it took too long is an ``OSError`` as well."""
HERE = frozenset({"localhost", "127.0.0.1", "::1"})


class Message(NamedTuple):
    """A request."""

    url: str
    """sent as it is: what is quoted in it stays so, since a signature covers it"""
    body: bytes
    headers: Headers
    sign: Sign | None = None
    method: str = "POST"

    def __repr__(self) -> str:  # short: tracebacks print local variables
        return f"<Message: {len(self.body)} bytes>"


class HttpReply(NamedTuple):
    """What came back, whatever its status."""

    status: int
    headers: Mapping[str, str]
    """looked up without regard to case"""
    body: bytes

    def __repr__(self) -> str:  # short: tracebacks print local variables
        return f"<HttpReply {self.status}: {len(self.body)} bytes>"


class Client:
    """For callers with an event loop: it opens with the first request and belongs to that loop."""

    def __init__(
        self,
        *,
        timeout: float | None = 600.0,
        connect_timeout: float | None = 10.0,
        total_timeout: float | None = None,
        limit: int = LIMIT,
        retries: Retries = NO_RETRIES,
    ) -> None:
        self.timeout = timeout
        self.connect_timeout = connect_timeout
        self.total_timeout = total_timeout
        self.limit = limit
        self.retries = retries
        self._proxies: dict[str, str | None] = {}
        self._wire: Wire | None = None
        self._closed = False

    async def post(self, message: Message) -> HttpReply:
        """One request and its whole reply."""
        reply = await self._try(message)
        incoming = Incoming(self, reply)
        try:
            with within(None if self.timeout is None else self.timeout - reply.age()):
                return HttpReply(incoming.status, incoming.headers, await incoming.rest())
        except TimeoutError as problem:
            failure = self.error(problem, begun=True)
        finally:
            incoming.close()
        raise failure

    async def open(self, message: Message) -> Incoming:
        """One request, and its reply while it arrives. Whoever opens it closes it."""
        # How long all of it takes depends on whoever reads it; only silence has a limit, unless the
        # caller sets one.
        if self.total_timeout is None:
            return Incoming(self, await self._try(message))
        deadline = asyncio.get_running_loop().time() + self.total_timeout
        reply = await self.until(deadline, lambda: self._try(message))
        return Incoming(self, reply, deadline)

    async def until(self, deadline: float | None, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Some work that ends before a time of the loop's clock, if there is one."""
        if deadline is None:
            return await work()
        # What comes without a wait is not interrupted, so it is not begun too late.
        if asyncio.get_running_loop().time() < deadline:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(deadline):
                    return await work()
        raise TimedOut(
            f"the response did not complete in time (total_timeout={self.total_timeout})"
        )

    async def _try(self, message: Message) -> Reply:
        """Send a request, and again if that may help and the caller wants it.

        The headers of the response decide. A response that began is not asked for again, however
        its body ends: the model has worked for it.
        """
        attempt = 0
        while True:
            outcome = await self._once(message)
            if isinstance(outcome, ConnectionFailed):
                wait = self.retries.wait(attempt, None, {})
                if wait is None:
                    raise outcome
            elif outcome.status < 400:
                return outcome
            else:
                wait = self.retries.wait(attempt, outcome.status, outcome.headers)
                if wait is None:
                    return outcome
                outcome.close()
            await self.retries.sleep(wait)
            attempt += 1

    async def _once(self, message: Message) -> Reply | ConnectionFailed:
        """Send a request; that there was no response is an outcome like any other."""
        headers = message.headers
        if message.sign is not None:  # anew each time: a signature has its time
            headers = Headers({**headers, **await asyncio.to_thread(message.sign, *message[:3])})
        # aiohttp's errors know the request, which has the key. So ours are raised outside of the
        # handlers, where nothing is chained to them.
        wire = self._open()
        try:
            # Interim responses (1xx) are no silence: without this they could come for ever.
            with wire.limits.within():
                target = wire.target(message.method, message.url, self._proxy_for)
                return await wire.ask(target, headers, message.body)
        except FAILED as problem:
            failure = self.error(problem, begun=False)
        if isinstance(failure, ConnectionFailed):
            return failure
        raise failure

    def error(self, problem: Exception, *, begun: bool) -> ProviderError:
        """Our error for one of aiohttp's; ``begun``: with its reply, that is."""
        limits = f"timeout={self.timeout}, connect_timeout={self.connect_timeout}"
        if isinstance(problem, NoConnection):
            return TimedOut(f"no connection in time ({limits})")
        if isinstance(problem, TimeoutError):
            what = "no further data" if begun else "no response"
            return TimedOut(f"{what} in time ({limits})")
        return broken(problem, begun)

    def _proxy_for(self, url: str) -> str | None:
        """The proxy for an address; the environment is looked through once for each host."""
        start = url[: url.find("/", 8)]  # after the scheme
        try:
            return self._proxies[start]
        except KeyError:
            if len(self._proxies) >= 100:
                self._proxies.clear()
            return self._proxies.setdefault(start, proxy_for(url))

    def _open(self) -> Wire:
        wire = self._wire
        if wire is not None and wire.thread == threading.get_ident() and wire.loop.is_running():
            return wire  # as nearly always; to ask for the loop is a call to the system
        if self._closed:
            raise Unsupported("this provider is closed")
        loop = asyncio.get_running_loop()
        if self._wire is None or self._wire.loop.is_closed():
            self._wire = Wire(self.connect_timeout, self.timeout)
        elif self._wire.loop is not loop:
            raise Unsupported("this provider is used in another event loop; create one per loop")
        return self._wire

    async def close(self) -> None:
        self._closed = True
        if self._wire is not None:
            await self._wire.close()
            self._wire = None


class Incoming:
    """A reply while it arrives, in the event loop of its client."""

    def __init__(self, client: Client, reply: Reply, deadline: float | None = None) -> None:
        self._deadline = deadline
        self.status, self.headers = reply.status, reply.headers
        self._client, self._reply = client, reply

    def read(self) -> Coroutine[Any, Any, bytes]:
        """The next bytes, as soon as there are any; none where the reply ends."""
        if self._deadline is None:
            return self._read()
        return self._client.until(self._deadline, self._read)

    async def _read(self) -> bytes:
        try:
            return await self._reply.read()
        except FAILED as problem:
            # What came before the line broke is still to be heard; the next time it raises again.
            failure, left = self._client.error(problem, begun=True), self._reply.left()
        if left:
            return left
        raise failure

    async def rest(self, begun: bytes = b"") -> bytes:
        """All of it at once, after what was read already; of an error, as much as came."""
        parts = [begun] if begun else []
        try:
            if self._deadline is None:
                await self._rest(parts)
            else:
                await self._client.until(self._deadline, lambda: self._rest(parts))
        except ProviderError:
            if self.status < 400:  # else the status says more than how its body ended
                raise
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _rest(self, parts: list[bytes]) -> None:
        """Add what is still to come to what was read."""
        client, reply, size = self._client, self._reply, sum(map(len, parts))
        try:
            while part := await reply.read():
                parts.append(part)
                size += len(part)
                if size > client.limit:
                    raise BadReply(f"the response is longer than {client.limit} bytes")
            return
        except FAILED as problem:
            failure = client.error(problem, begun=True)
        raise failure

    async def finish(self) -> None:
        """The reply is complete. Where its body ends as well, the connection is used again."""
        try:
            async with asyncio.timeout(LINGER):
                while await self._reply.read():
                    pass
        except FAILED:
            pass  # nothing is missing
        self.close()

    def close(self) -> None:
        """Hang up, unless the body has come to its end."""
        self._reply.close()

    def abandon(self) -> None:
        """``close`` for those who are in another thread, or whose loop has ended."""
        with suppress(RuntimeError):
            self._reply.wire.loop.call_soon_threadsafe(self._reply.close)


class BlockingClient:
    """For callers without an event loop: one loop for all requests, in a thread of its own.

    So it also works where a loop is running, as in a notebook. Several threads may share it.
    """

    def __init__(self, client: Callable[[], Client]) -> None:
        self._make = client
        self._worker: Worker | None = None
        self._lock = threading.Lock()
        self._closed = False

    def post(self, message: Message) -> HttpReply:
        worker = self.worker()
        return worker.run(worker.client.post(message))

    def worker(self) -> Worker:
        """The thread, for those who have more than one thing to do there."""
        with self._lock:
            if self._closed:
                raise Unsupported("this provider is closed")
            if self._worker is None or not self._worker.is_alive():  # threads do not survive a fork
                self._worker = Worker(self._make())
                weakref.finalize(self, self._worker.stop)  # for those who forget to close
            return self._worker

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._worker is not None:
                self._worker.stop()
                self._worker = None


class Worker:
    """An event loop in a thread, with the client that lives in it."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._ready = threading.Event()
        self._lock = threading.RLock()  # again: what ends a worker may be the garbage collector
        self._ended = False
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
        future = self._submit(work)
        if future is not None:
            try:
                return future.result()
            except CancelledError:
                pass  # by the end of the loop
            except BaseException:
                future.cancel()  # whoever is interrupted here no longer waits for a reply
                raise
        raise ConnectionFailed("the provider was closed before the response arrived")

    def _submit(self, work: Coroutine[Any, Any, T]) -> Future[T] | None:
        with self._lock:  # what is submitted before the end is told of the end
            if not self._ended and self.is_alive():
                return asyncio.run_coroutine_threadsafe(work, self._loop)
        work.close()
        return None

    def stop(self) -> None:
        with self._lock:
            if not self._ended and self.is_alive():
                self._loop.call_soon_threadsafe(self._end.set)
            self._ended = True
        if threading.current_thread() is not self._thread:
            self._thread.join()


def broken(problem: Exception, begun: bool) -> ProviderError:
    """Our error for one of aiohttp's, with the reason but without the request."""
    if isinstance(problem.__cause__, ContentEncodingError):
        return BadReply("the response is not compressed as its headers declare")
    if begun:
        return ConnectionFailed("the connection was lost in the middle of the response")
    match problem:
        case aiohttp.ClientConnectorError():
            reason = problem.os_error.strerror or str(problem.os_error)
            return ConnectionFailed(f"no connection to {problem.host}:{problem.port}: {reason}")
        case aiohttp.ClientHttpProxyError():
            return ConnectionFailed(f"the proxy rejected the connection with {problem.status}")
        case HttpProcessingError():
            return BadReply("the response is not HTTP")
        case _:
            return ConnectionFailed("the connection was lost before the response")


def proxy_for(url: str) -> str | None:
    """The proxy that the environment names for an address; never for one on this machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in HERE or proxy_bypass(host):
        return None
    return getproxies().get(parts.scheme)
