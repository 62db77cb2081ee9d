"""A scripted upstream on this machine: it speaks any dialect and is strict about it.

Each request is held against the vendor's own types and against ``dragoman.check``, and kept for
the test. The replies are given in the order of the script.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import threading
from collections.abc import (
    AsyncIterable,
    Awaitable,
    Callable,
    Container,
    Iterable,
    Iterator,
    Mapping,
)
from types import MappingProxyType
from typing import Any, NamedTuple, Self, TypeAlias

from aiohttp import web

import dragoman
import families
import sdk

Json: TypeAlias = Any
DIALECTS = {
    "/v1/chat/completions": "openai-chat",
    "/v1/messages": "anthropic-messages",
    "/v1/responses": "openai-responses",
}
"""What is spoken where, unless the server is told that it speaks something else."""
JUDGES = {"openai-chat": families.CHAT, "openai-responses": families.RESPONSES}
"""Whose types a variant's requests are held against; its vendor has no SDK of its own here."""


class Seen(NamedTuple):
    """A request as it arrived."""

    path: str
    """as it was sent: what was quoted still is"""
    headers: dict[str, str]
    body: bytes
    query: Mapping[str, str] = MappingProxyType({})
    speaks: str | None = None

    @property
    def dialect(self) -> str:
        return self.speaks or DIALECTS[self.path]

    @property
    def document(self) -> Json:
        return json.loads(self.body)


class Say(NamedTuple):
    """A reply that is not simply a JSON document with status 200."""

    status: int = 200
    body: Json | bytes | str = b""
    headers: Mapping[str, str] = MappingProxyType({})


class Tell(NamedTuple):
    """A reply that comes in pieces. ``breaks``: the connection breaks after the last."""

    pieces: Iterable[bytes] | AsyncIterable[bytes]
    headers: Mapping[str, str] = MappingProxyType({})
    breaks: bool = False


Script: TypeAlias = (
    "dict[str, Json] | Say | Tell | Callable[[Seen], dict[str, Json] | Say | Tell | Awaitable[Say]]"
)


def awkward(data: bytes) -> Iterator[bytes]:
    """Pieces that end anywhere: within a frame, a line end, a character."""
    sizes = itertools.cycle((1, 40, 7, 2, 300, 5))
    place = 0
    while place < len(data):
        size = next(sizes)
        yield data[place : place + size]
        place += size


class Upstream:
    """A server in a thread, until the end of a ``with``. ``strict`` off: it takes anything."""

    def __init__(
        self,
        *script: Script,
        strict: bool = True,
        forever: bool = False,
        speaks: str | None = None,
        paths: Container[str] = DIALECTS,
    ) -> None:
        self.script = list(script)
        self.speaks = speaks
        self.paths = paths
        self.strict = strict
        self.forever = forever
        """the last reply of the script is given again and again"""
        self.seen: list[Seen] = []
        self.problems: list[str] = []
        self.left = threading.Event()
        """somebody hung up in the middle of a reply"""
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.loop.call_soon_threadsafe(self.end.set)
        self._thread.join()
        if kind is None:
            assert not self.problems, self.problems
            assert self.forever or not self.script, f"never asked for: {self.script}"

    async def _serve(self) -> None:
        self.loop, self.end = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self.runner = runner = web.AppRunner(app, shutdown_timeout=5, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = runner.addresses[0][1]
        self._ready.set()
        await self.end.wait()
        await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        path, query = request.url.raw_path, dict(request.query)
        seen = Seen(path, headers, await request.read(), query, self.speaks)
        self.seen.append(seen)
        if self.strict:
            self._judge(seen)
        step = self.script[0] if self.forever and len(self.script) == 1 else self.script.pop(0)
        written: Any = step(seen) if callable(step) else step
        if asyncio.iscoroutine(written):
            written = await written
        if isinstance(written, Tell):
            return await self._tell(request, written)
        if isinstance(written, dict):
            written = Say(body=written)
        body = written.body
        if not isinstance(body, bytes | str):
            return web.json_response(body, status=written.status, headers=written.headers)
        kind = written.headers.get("content-type", "text/plain")
        rest = {k: v for k, v in written.headers.items() if k != "content-type"}
        raw = body.encode() if isinstance(body, str) else body
        return web.Response(body=raw, status=written.status, headers=rest, content_type=kind)

    async def _tell(self, request: web.Request, written: Tell) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={"content-type": "text/event-stream", **written.headers}
        )
        await response.prepare(request)
        pieces = written.pieces
        try:
            if isinstance(pieces, AsyncIterable):
                async for piece in pieces:
                    await response.write(piece)
            else:
                for piece in pieces:
                    await response.write(piece)
        except ConnectionError:
            self.left.set()
            return response
        if written.breaks:
            assert request.transport is not None
            request.transport.close()
        return response

    def _judge(self, seen: Seen) -> None:
        if seen.path not in self.paths:
            self.problems.append(f"nothing is at {seen.path}")
            return
        judge = next((name for name, kin in JUDGES.items() if seen.dialect in kin), seen.dialect)
        if seen.dialect == "watsonx":  # whose model has another name
            judge = seen.dialect
        if judge in sdk.TYPES or judge == "bedrock-converse":
            named = {"model": "m"} if seen.dialect == "azure-openai" else {}  # the path names it
            self.problems += sdk.problems(judge, "request", named | seen.document)
        self.problems += map(str, dragoman.check(seen.document, seen.dialect))

    async def silence(self, _: Seen) -> Say:
        """A reply that does not come before the server ends."""
        await self.end.wait()
        return Say(500)


class Raw:
    """A server that reads one request, sends some bytes, HTTP or not, and hangs up."""

    def __init__(self, *replies: bytes) -> None:
        self.replies = replies
        self.heard = b""
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        self._server.close()

    def _serve(self) -> None:
        for reply in self.replies:
            connection, _ = self._server.accept()
            with connection:
                self.heard += connection.recv(2**16)
                connection.sendall(reply)
                connection.shutdown(socket.SHUT_RDWR)
