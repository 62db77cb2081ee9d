"""Who is asked: a server over HTTP, or the scripted model in this process.

Both give the same: a status, headers, and bytes while they arrive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
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
from ..providers.errors import ConnectionFailed, ProviderError, object_in
from ..providers.retries import Retries
from ..providers.secrets import Headers, Secrets
from ..providers.timing import within
from . import config
from .policies import Prepare, prepare
from .script import Cut, Script

JSON = {"content-type": "application/json", "accept": "application/json"}
NO_SECRETS = Secrets(())
MOST_URLS = 1000
LISTED, LIST_TIMEOUT = 60.0, 5.0
"""Seconds for which a list of models is good, and that it may take."""
MOST, LONGEST = 40, 500
"""How many headers of a reply are shown, and how much of each."""
encode_event = msgspec.json.Encoder().encode


class Ask(NamedTuple):
    """What is asked of an upstream, beside the document."""

    model: str
    stream: bool
    client: Dialect
    key: str | None = None
    """The key that the client sent."""
    headers: Mapping[str, str] = {}
    """What the client sent with it."""


class Incoming(Protocol):
    """A reply while it arrives; ``providers.client.Incoming`` is one."""

    status: int
    headers: Mapping[str, str]

    async def read(self) -> bytes: ...

    async def rest(self, begun: bytes = b"") -> bytes: ...

    def close(self) -> None: ...


class Upstream(Protocol):
    """Whoever can be asked."""

    name: str
    dialect: Dialect
    settings: config.Upstream
    secrets: Secrets

    async def open(self, body: Json, call: Ask) -> Incoming: ...

    async def models(self) -> tuple[str, ...]:
        """The names of its models."""
        ...

    def policy(self, client: str, most: int | None, user: bool) -> Prepare | None:
        """What is changed in requests of clients of a dialect; ``user``: with the id of a user."""
        ...

    def shown(self, headers: Mapping[str, str], client: Dialect) -> dict[str, str]:
        """Those headers of a reply that clients of a dialect read."""
        ...

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
        row = self._address.row
        own = {name.lower() for name in settings.headers}
        self._passes = tuple(name for name in row.passes if name not in own)
        self._shows = row.shows
        self._listed: tuple[float, tuple[str, ...]] = (0.0, ())
        self._urls: dict[tuple[str, bool], str] = {}
        self._policies: dict[tuple[str, int | None, bool], Prepare | None] = {}

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
            document = self._completed(body)
            if stream:
                document = {**stream_fields(self.dialect), **document}
            body = encode(row.body(document, stream, self.dialect.model_key))
        elif self.settings.extra or self.settings.normalize:
            if (found := object_in(body)) is not None:
                body = encode(self._completed(found))
        headers = self._stream_headers if stream else self._headers
        if self._passes and call.client.name == self.dialect.name:
            passed = {name: call.headers[name] for name in self._passes if name in call.headers}
            if passed:
                headers = Headers({**headers, **passed})
        if self.settings.forward_key and call.key:
            rest = {k: v for k, v in headers.items() if k != row.key_header}
            headers = Headers({**rest, **self._forwarded(call, call.key)})
        if (url := self._urls.get((call.model, stream))) is None:
            url = self._address.url_for(call.model, stream)
            if len(self._urls) < MOST_URLS:
                self._urls[call.model, stream] = url
        return Message(url, body, headers, self._address.sign)

    def _completed(self, document: dict[str, Json]) -> dict[str, Json]:
        """A request with what every request to this server gets."""
        if self.settings.extra:
            document = {**document, **self.settings.extra}
        return with_types(document) if self.settings.normalize else document

    def _forwarded(self, call: Ask, key: str) -> dict[str, str]:
        """The client's own key: as it was sent, where the upstream speaks the same dialect."""
        row, given = self._address.row, call.headers.get("authorization")
        if given is not None and call.client.name == self.dialect.name:
            return {"authorization": given}  # as tokens of a subscription, which are no API keys
        return {row.key_header: row.key_scheme + key}

    async def models(self) -> tuple[str, ...]:
        """Those of the configuration, else those that it lists itself, asked once a minute."""
        if self.settings.models or not self._address.row.models:
            return self.settings.models
        now = asyncio.get_running_loop().time()
        if now >= self._listed[0]:
            self._listed = (now + LISTED, self._listed[1])
            self._listed = (now + LISTED, await self._list())
        return self._listed[1]

    async def _list(self) -> tuple[str, ...]:
        row, place = self._address.row, self._address.place
        message = Message(
            place.at(row.models, row.query), b"", self._headers, self._address.sign, "GET"
        )
        try:
            with within(LIST_TIMEOUT):
                incoming = await self._client.open(message)
                try:
                    return names_in(await incoming.rest()) if incoming.status == 200 else ()
                finally:
                    incoming.close()
        except (ProviderError, TimeoutError):
            return ()

    def policy(self, client: str, most: int | None, user: bool) -> Prepare | None:
        key = client, most, user
        if key not in self._policies:
            self._policies[key] = prepare(self.settings, client, most, user=user)
        return self._policies[key]

    def shown(self, headers: Mapping[str, str], client: Dialect) -> dict[str, str]:
        if not self._shows or client.name != self.dialect.name:
            return {}
        found = {
            name: self.secrets.hide(value[:LONGEST])
            for key, value in headers.items()
            if (name := key.lower()).startswith(self._shows)
            and value.isascii()
            and value.isprintable()
        }
        return found if len(found) <= MOST else dict(list(found.items())[:MOST])

    async def close(self) -> None:
        await self._client.close()


def with_types(document: dict[str, Json]) -> dict[str, Json]:
    """A request whose messages have their type: llama-server knows those of Responses by it."""
    items = document.get("input")
    if not isinstance(items, list):
        return document
    told = [
        {"type": "message", **item} if isinstance(item, dict) and "role" in item else item
        for item in items
    ]
    return {**document, "input": told}


def names_in(body: bytes) -> tuple[str, ...]:
    """The names in a list of models, of whichever API."""
    document = object_in(body) or {}
    listed = document.get("data") or document.get("models")
    found = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    names = (each.get("id") or each.get("name") for each in found[:MOST_URLS])
    return tuple(n.removeprefix("models/") for n in names if isinstance(n, str) and n.isprintable())


class Scripted:
    """The model in this process. It speaks the canonical tree, so every door is converted."""

    secrets = NO_SECRETS

    def __init__(self, script: Script, name: str = config.SCRIPTED) -> None:
        self.name, self.script = name, script
        self.dialect = dialects.get("native")
        self.settings = config.Upstream(dialect="native", share_user=True)

    def limited(self) -> None:
        return None

    async def models(self) -> tuple[str, ...]:
        return ()

    def policy(self, client: str, most: int | None, user: bool) -> Prepare | None:
        return prepare(self.settings, client, most, user=user)

    def shown(self, headers: Mapping[str, str], client: Dialect) -> dict[str, str]:
        return {}

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
            raise ConnectionFailed("the connection was lost")
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

    def close(self) -> None:
        pass


def open_upstreams(settings: config.Config) -> dict[str, Upstream]:
    """All upstreams of a configuration, and the scripted model."""
    script = Script.load(settings.script) if settings.script is not None else Script()
    found: dict[str, Upstream] = {config.SCRIPTED: Scripted(script)}
    for name, upstream in settings.upstreams.items():
        found[name] = Server(name, upstream, settings.limits.response)
    return found
