"""Who is asked: a server over HTTP, or the scripted model in this process.

Both give the same: a status, headers, and bytes while they arrive.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple, Protocol

import msgspec

from .. import dialects
from ..core.reading import encode
from ..core.statuses import STATUSES
from ..core.walk import unplaced
from ..dialect import Dialect
from ..ledger import Ledger
from ..model import Json, Request
from ..providers.client import Client, Message
from ..providers.endpoints import resolve, stream_fields
from ..providers.errors import ConnectionFailed
from ..providers.retries import Retries
from ..providers.secrets import Headers, Secrets
from . import config
from .script import Cut, Script

JSON = {"content-type": "application/json", "accept": "application/json"}
NO_SECRETS = Secrets(())
encode_event = msgspec.json.Encoder().encode


class Ask(NamedTuple):
    """What is asked of an upstream, beside the document."""

    model: str
    stream: bool
    client: Dialect
    key: str | None = None
    """The key that the client sent."""


class Incoming(Protocol):
    """A reply while it arrives; ``providers.client.Incoming`` is one."""

    status: int
    headers: Mapping[str, str]

    async def read(self) -> bytes: ...

    async def rest(self, begun: bytes = b"") -> bytes: ...

    async def finish(self) -> None: ...

    def close(self) -> None: ...


class Upstream(Protocol):
    """Whoever can be asked."""

    name: str
    dialect: Dialect
    settings: config.Upstream
    secrets: Secrets

    async def open(self, body: Json, call: Ask) -> Incoming: ...

    def limited(self) -> asyncio.Semaphore | None: ...

    async def close(self) -> None: ...


class Server:
    """An upstream over HTTP."""

    def __init__(self, name: str, settings: config.Upstream, limit: int) -> None:
        self.name, self.settings = name, settings
        self.dialect = dialects.get(settings.dialect)
        key = settings.secret()
        self._address = resolve(
            self.dialect,
            settings.url,
            key if not settings.forward_key else "-",
            settings.headers,
            platform=settings.platform,
            settings=settings.settings,
        )
        self.secrets = self._address.secrets
        streamed = self.dialect.stream_headers["content-type"]
        accept = {"accept": f"{streamed}, application/json"}
        self._headers = Headers(JSON | self._address.headers)
        self._stream_headers = Headers(JSON | accept | self._address.headers)
        self._client = Client(
            timeout=settings.timeout,
            connect_timeout=settings.connect_timeout,
            total_timeout=settings.total_timeout,
            limit=limit,
            retries=Retries(settings.retries),
        )
        self._limit: asyncio.Semaphore | None = None

    def limited(self) -> asyncio.Semaphore | None:
        """How many requests it is sent at once."""
        if self.settings.concurrency is not None and self._limit is None:
            self._limit = asyncio.Semaphore(self.settings.concurrency)
        return self._limit

    async def open(self, body: Json, call: Ask) -> Incoming:
        return await self._client.open(self.message(body, call))

    def message(self, body: Json, call: Ask) -> Message:
        """A request: a document, or bytes that pass as they are."""
        row, stream = self._address.row, call.stream
        if body.__class__ is not bytes:
            document = {**body, **self.settings.extra} if self.settings.extra else body
            if stream:
                document = {**stream_fields(self.dialect), **document}
            body = encode(row.body(document, stream, self.dialect.model_key))
        headers = self._stream_headers if stream else self._headers
        if self.settings.forward_key and call.key:
            headers = Headers({**headers, row.key_header: row.key_scheme + call.key})
        return Message(self._address.url_for(call.model, stream), body, headers, self._address.sign)

    async def close(self) -> None:
        await self._client.close()


class Scripted:
    """The model in this process. It speaks the canonical tree, so every door is converted."""

    secrets = NO_SECRETS

    def __init__(self, script: Script, name: str = config.SCRIPTED) -> None:
        self.name, self.script = name, script
        self.dialect = dialects.get("native")
        self.settings = config.Upstream(dialect="native", share_user=True)

    def limited(self) -> None:
        return None

    async def open(self, body: Json, call: Ask) -> Incoming:
        tree = self.dialect.read(body, "request")
        assert isinstance(tree, Request)
        reply = self.script.reply(tree)
        if reply.delay and not call.stream:
            await asyncio.sleep(reply.delay)
        response = self.script.response(tree, call.client)
        if response.failure is not None:
            wait = reply.error.retry_after if reply.error is not None else None
            headers = {} if wait is None else {"retry-after": f"{wait:g}"}
            error = self.dialect.write(response.failure, Ledger())
            return Written(STATUSES[response.failure.kind], headers, encode(error))
        if call.stream:
            return Playing(self.script, tree, call.client)
        if reply.cut_after is not None:
            return Written(200, {}, encode(self.dialect.write(response, Ledger()))[:-20])
        return Written(200, {}, encode(self.dialect.write(response, Ledger())))

    async def close(self) -> None:
        pass


class Written:
    """A whole reply that is there already."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status, self.headers, self._body = status, headers, body

    async def read(self) -> bytes:
        body, self._body = self._body, b""
        return body

    async def rest(self, begun: bytes = b"") -> bytes:
        return begun + await self.read()

    async def finish(self) -> None:
        pass

    def close(self) -> None:
        pass


class Playing:
    """A stream of the scripted model."""

    status = 200

    def __init__(self, script: Script, tree: Request, client: Dialect) -> None:
        self.headers: Mapping[str, str] = {"content-type": "application/x-ndjson"}
        self._events = script.events(tree, client)

    async def read(self) -> bytes:
        try:
            return encode_event(unplaced(await anext(self._events))) + b"\n"
        except StopAsyncIteration:
            return b""
        except Cut:
            raise ConnectionFailed("the connection was lost") from None

    async def rest(self, begun: bytes = b"") -> bytes:
        parts = [begun]
        while data := await self.read():
            parts.append(data)
        return b"".join(parts)

    async def finish(self) -> None:
        pass

    def close(self) -> None:
        pass


@asynccontextmanager
async def place(limit: asyncio.Semaphore | None) -> AsyncIterator[None]:
    """A place among those who may ask at once."""
    if limit is None:
        yield
        return
    async with limit:
        yield


def open_upstreams(settings: config.Config) -> dict[str, Upstream]:
    """All upstreams of a configuration, and the scripted model."""
    script = Script.load(settings.script) if settings.script is not None else Script()
    found: dict[str, Upstream] = {config.SCRIPTED: Scripted(script)}
    for name, upstream in settings.upstreams.items():
        found[name] = Server(name, upstream, settings.limits.response)
    return found
