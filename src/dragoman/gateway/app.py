"""The gateway as an ASGI application: bare, without a framework.

It can be run by any ASGI server (``dragoman serve`` uses uvicorn) and mounted in another
application. A request is read whole, within its limits; its reply is sent as it arrives. A client
that goes away ends its exchange, and with it the request to the upstream.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from ..providers.timing import Limits, promptly
from . import extras, sockets
from .carrying import Envelope
from .clients import Gone, Guests, Refused, is_foreign
from .config import Aim, Client, Config, ConfigError, checked, read_file, route
from .doors import Door, find, key_of, serving
from .handling import Handling
from .observing import Observer
from .sending import Send
from .store import Store, StoreFailed, open_store
from .tracing import Tracing
from .upstreams import Upstream, open_upstreams
from .watching import Log, Metrics

Receive = Callable[[], Awaitable[dict[str, Any]]]
Scope = dict[str, Any]

SECRET = "secret"
"""The key of the store under which the envelope's own key is kept."""


MOST_ROUTES = 1000
SOON = 0.1
"""Seconds after which the gateway listens whether a client is still there."""


class Gateway:
    """An ASGI application that replies for models of any dialect.

    >>> gateway = Gateway()  # without upstreams, the scripted model replies

    ``store`` is a store of the application's own, ``observer`` is told of all that passes
    (``observing.Observer``).
    """

    def __init__(
        self,
        config: Config | None = None,
        *,
        store: Store | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.config = checked(config or Config())
        self.upstreams: dict[str, Upstream] = open_upstreams(self.config)
        self.guests = Guests(self.config.clients)
        self.store = store or open_store(self.config.store or "memory", self.config.store_days)
        self.log, self.metrics = Log(self.config), Metrics()
        self.tracing = Tracing() if self.config.traces else None
        self.observer = observer
        self.envelope = Envelope(self._secret())
        self._enclosed = self.config.secret_env is not None or self.config.secret_file is not None
        self._routes: dict[str, tuple[Aim, ...]] = {}
        self.running: set[asyncio.Task[Any]] = set()
        self._leaving = Leavings()
        self._silences: Limits | None = None
        self.closing = False

    def _secret(self) -> bytes:
        config = self.config
        if config.secret_env is not None:
            if not (secret := os.environ.get(config.secret_env, "").strip()):
                raise ConfigError(f"secret_env: {config.secret_env} is not set")
            return secret.encode()
        if config.secret_file is not None:
            return read_file(config.secret_file).strip()
        return secrets.token_bytes(32)

    async def start(self) -> None:
        """Before the first request: gateways that share a store share the key of the envelope."""
        if self._enclosed:
            return
        try:
            if (kept := await self.store.get(SECRET)) is None:
                kept = secrets.token_bytes(32)
                await self.store.put(SECRET, kept)
                kept = await self.store.get(SECRET) or kept
        except StoreFailed:
            return  # not ready; until the store is there, what is enclosed is our own alone
        self._enclosed = True
        self.envelope = Envelope(kept)

    async def reload(self, config: Config) -> None:
        """Take another configuration; what is open goes on with the old one."""
        upstreams = open_upstreams(checked(config))
        old, self.upstreams = self.upstreams, upstreams
        self._routes = {}
        self.config, self.guests, self.log = config, Guests(config.clients), Log(config)
        self.tracing = Tracing() if config.traces else None
        running = tuple(self.running)
        if running:
            await asyncio.wait(running, timeout=config.limits.shutdown)
        for upstream in old.values():
            await upstream.close()

    async def close(self) -> None:
        """Let open exchanges end, then close everything."""
        self.closing = True
        if self.running:
            await asyncio.wait(tuple(self.running), timeout=self.config.limits.shutdown)
        for task in tuple(self.running):
            task.cancel()
        for upstream in self.upstreams.values():
            await upstream.close()
        await self.store.close()

    # -- ASGI -------------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            if not self._enclosed:
                await self.start()
            await self._serve(scope, receive, send)
        elif scope["type"] == "websocket":
            await self.start()
            headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
            await sockets.serve(self, path_of(scope), headers, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await self.start()
                serving()  # which loads all dialects: a second that the first request need not wait
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = path_of(scope)
        headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
        asked = scope.get("query_string")
        query = dict(parse_qsl(asked.decode("latin-1"))) if asked else {}
        door = find(quoted(scope, path)) if scope["method"] == "POST" else None
        if door is not None and door.dialect.name == "gemini" and door.stream:
            door = in_array(door, query)
        if door is None:
            await extras.serve(self, scope, path, headers, query, receive, send)
            return
        await self._handle(Handling(self, door, headers, send), query, receive)

    async def _handle(self, handling: Handling, query: dict[str, str], receive: Receive) -> None:
        """One exchange; it ends when the client goes away."""
        self.metrics.opened()
        try:
            handling.key = key_of(handling.headers, query)
            name, handling.client = self.admit(handling.key, handling.headers)
            handling.seen.client = name
            body = await self.read_body(receive, handling.headers)
            await self._until_gone(handling.run(body), receive)
        except Refused as refused:
            await handling.out.refuse(refused.kind, refused.message, refused.retry_after)
        except Gone:
            handling.seen.error = "the client went away"
            handling.seen.status = handling.seen.status or 499
        finally:
            self.ended(handling)

    def ended(self, handling: Handling) -> None:
        """Tell of an exchange what operators want to know."""
        seen = handling.seen
        self.metrics.ended(seen)
        self.log(seen)
        if self.tracing is not None:
            asked = self.upstreams.get(seen.upstream)
            self.tracing.ended(seen, handling.headers, "" if asked is None else asked.dialect.name)
        if self.observer is not None:
            self.observer.ended(seen)
        handling.close()

    async def _until_gone(self, work: Awaitable[None], receive: Receive) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.running.add(task)
        leaving = self._leaving.watch(task, receive)
        try:
            await work
        except asyncio.CancelledError:
            if not leaving.gone:
                raise
            task.uncancel()
            raise Gone from None
        finally:
            leaving.close()
            self.running.discard(task)

    def route(self, model: str) -> tuple[Aim, ...]:
        """Who is asked for a model."""
        if (aims := self._routes.get(model)) is None:
            aims = route(self.config, model)
            if len(self._routes) < MOST_ROUTES:
                self._routes[model] = aims
        return aims

    def silences(self) -> Limits | None:
        """How long streams may be silent before their clients hear that they are alive."""
        silence, loop = self.config.limits.keep_alive / 2, asyncio.get_running_loop()
        known = self._silences
        if known is None or known.seconds != silence or known.loop is not loop:
            known = self._silences = Limits(silence, loop)
        return known if silence else None

    def admit(self, key: str | None, headers: Mapping[str, str]) -> tuple[str, Client]:
        if self.closing:
            raise Refused("overloaded", "the gateway is shutting down", 5.0)
        if not self.config.clients and is_foreign(headers, self.config.hosts):
            what = "pages of other origins and hosts are not served (hosts in the configuration)"
            raise Refused("permission", what)
        return self.guests.admit(key)

    async def read_body(self, receive: Receive, headers: Mapping[str, str]) -> bytes:
        """The whole of a request, within its limits."""
        limits = self.config.limits
        if sum(map(len, headers)) + sum(map(len, headers.values())) > limits.headers:
            raise Refused("too-large", f"the headers have more than {limits.headers} bytes")
        if (coding := headers.get("content-encoding", "identity")) != "identity":
            what = f"a body with content-encoding {coding[:40]!r} is not read: send it as it is"
            raise Refused("invalid-request", what)
        told = headers.get("content-length", "")
        if told.isdigit() and int(told) > limits.body:
            raise Refused("too-large", f"the body has more than {limits.body} bytes")
        try:
            return await promptly(whole(receive, limits.body), limits.body_timeout)
        except TimeoutError:
            raise Refused("timeout", "the body did not arrive in time") from None


def path_of(scope: Scope) -> str:
    """The path of a request below the place where the application is mounted."""
    path: str = scope["path"].removeprefix(scope.get("root_path", "").rstrip("/"))
    return path or "/"


def quoted(scope: Scope, path: str) -> str:
    """The same as it was sent: the name of a model may have slashes in it, as ARNs have."""
    raw: bytes = scope.get("raw_path") or b""
    if b"%" not in raw:
        return path
    return raw.partition(b"?")[0].decode("latin-1").removeprefix(scope.get("root_path", ""))


async def whole(receive: Receive, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise Refused("too-large", f"the body has more than {limit} bytes")
        if not message.get("more_body"):
            return part if not parts else b"".join((*parts, part))
        parts.append(part)


class Leaving:
    """Whether a client has closed its connection; then the task that works for it is cancelled."""

    __slots__ = ("_listening", "_receive", "_task", "closed", "gone")

    def __init__(self, task: asyncio.Task[Any], receive: Receive) -> None:
        self._task, self._receive = task, receive
        self._listening: asyncio.Task[None] | None = None
        self.closed = self.gone = False

    def begin(self) -> None:
        self._listening = asyncio.ensure_future(self._listen())

    async def _listen(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.gone = True
        self._task.cancel()

    def close(self) -> None:
        self.closed = True
        if self._listening is not None:
            self._listening.cancel()


class Leavings:
    """All of them. Most replies are there sooner than anybody can leave, so it listens to a client
    only once its exchange has taken ``SOON``, or twice as long: one timer serves all exchanges.
    """

    def __init__(self) -> None:
        self._older: list[Leaving] = []
        self._newer: list[Leaving] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    def watch(self, task: asyncio.Task[Any], receive: Receive) -> Leaving:
        leaving = Leaving(task, receive)
        self._newer.append(leaving)
        if self._loop is not (loop := task.get_loop()):
            self._loop = loop
            loop.call_later(SOON, self._begin, loop)
        return leaving

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Listen to those who were there last time as well."""
        for leaving in self._older:
            if not leaving.closed:
                leaving.begin()
        self._older, self._newer = [each for each in self._newer if not each.closed], []
        if self._older:
            loop.call_later(SOON, self._begin, loop)
        else:
            self._loop = None


def in_array(door: Door, query: dict[str, str]) -> Door:
    """Gemini sends a stream as an array, unless events are asked for."""
    return door if query.get("alt") == "sse" else door._replace(array=True)
