"""What goes through a gateway, as it happens: the observer behind the view of traffic.

Of each exchange there is one row of facts. Contents (headers but for keys, bodies, the times at
which pieces of a stream came) are kept only where the operator asked for them, in memory only, and
up to ``MEMORY`` bytes together: then the oldest are forgotten first.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

import msgspec

from .. import dialects
from ..core.reading import encode
from ..errors import DragomanError, Unsupported
from ..gateway.app import Gateway
from ..gateway.clients import ANYONE
from ..gateway.config import Aim
from ..gateway.doors import Door
from ..gateway.handling import Handling
from ..gateway.watching import Seen
from ..ledger import Loss
from ..model import Json
from ..providers.secrets import MASK
from ..streams.transcoder import collect
from ..views.links import Link, links, places
from .converting import located, pretty, value_of

MEMORY = 64 * 2**20
"""How many bytes of contents are kept."""
MOST = 2_000
"""So many exchanges have a row."""
REPLAYED = "replay"
"""The client's name of what is sent again from the page."""
FRAMES = 2_000
"""So many pieces of a stream are shown with their times."""
PIECE = 4_000


class Asked:
    """One request to an upstream, and its reply."""

    __slots__ = ("document", "headers", "pieces", "status", "upstream")

    def __init__(self, upstream: str, document: bytes) -> None:
        self.upstream, self.document = upstream, document
        self.status = 0
        self.headers: dict[str, str] = {}
        self.pieces: list[tuple[float, bytes]] = []

    def size(self) -> int:
        return len(self.document) + sum(len(data) for _, data in self.pieces)


class Contents:
    """What was said in an exchange."""

    __slots__ = ("asked", "body", "headers", "sent", "size")

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.body = b""
        self.asked: list[Asked] = []
        self.sent: list[tuple[float, bytes]] = []
        self.size = 0


class Exchange:
    """One exchange: its facts, and what was said in it where that is kept."""

    def __init__(self, number: int, seen: Seen, contents: Contents | None) -> None:
        self.number, self.seen, self.contents = number, seen, contents
        self.began = time.time()
        self.ms: float | None = None
        self.requested = 0
        """So many of the losses are those of the request."""

    def row(self) -> dict[str, Json]:
        seen = self.seen
        return {
            "id": self.number,
            "time": self.began,
            "client": seen.client,
            "dialect": seen.dialect,
            "model": seen.model,
            "upstream": seen.upstream,
            "upstream_model": seen.upstream_model,
            "status": seen.status,
            "stream": seen.stream,
            "ms": self.ms,
            "first_ms": None if seen.first is None else round((seen.first - seen.began) * 1000, 1),
            "input_tokens": seen.input_tokens,
            "output_tokens": seen.output_tokens,
            "losses": seen.codes(),
            "error": seen.error,
            "open": self.ms is None,
            "contents": self.contents is not None,
        }


class Traffic:
    """An observer of a gateway. ``contents``: what is said is kept, too."""

    def __init__(self, *, contents: bool = False, memory: int = MEMORY, most: int = MOST) -> None:
        self.contents, self.paused, self.closed = contents, False, False
        self._memory, self._most = memory, most
        self._size = 0
        self._next = 1
        self._kept: OrderedDict[int, Exchange] = OrderedDict()
        self._running: dict[int, Exchange] = {}
        self._listeners: set[Listener] = set()
        self.gateway: Gateway | None = None

    # -- what an observer is told -------------------------------------------------------------

    def client_request(self, seen: Seen, headers: Mapping[str, str], body: bytes) -> None:
        found = self._begun(seen)
        if found is not None and found.contents is not None:
            found.contents.headers = dict(headers)
            found.contents.body = body
            self._grown(found, len(body))

    def upstream_request(self, seen: Seen, document: Json) -> None:
        found = self._running.get(id(seen))
        if found is None:
            return
        found.requested = len(seen.losses)
        if found.contents is not None:
            data = document if isinstance(document, bytes) else encode(document)
            found.contents.asked.append(Asked(seen.upstream, data))
            self._grown(found, len(data))
        self._tell(found)

    def upstream_reply(self, seen: Seen, status: int, headers: Mapping[str, str]) -> None:
        if (asked := self._asked(seen)) is not None:
            asked.status, asked.headers = status, dict(headers)

    def upstream_data(self, seen: Seen, data: bytes) -> None:
        if (asked := self._asked(seen)) is not None:
            asked.pieces.append((time.monotonic() - seen.began, data))
            self._grown(self._running[id(seen)], len(data))

    def client_data(self, seen: Seen, data: bytes) -> None:
        found = self._running.get(id(seen))
        if found is None:
            found = self._begun(seen)
        if found is not None and found.contents is not None:
            found.contents.sent.append((time.monotonic() - seen.began, data))
            self._grown(found, len(data))

    def ended(self, seen: Seen) -> None:
        found = self._running.pop(id(seen), None)
        if found is not None:
            found.ms = round((time.monotonic() - seen.began) * 1000, 1)
            self._tell(found)

    def _begun(self, seen: Seen) -> Exchange | None:
        if self.paused:
            return None
        found = Exchange(self._next, seen, Contents() if self.contents else None)
        self._next += 1
        self._running[id(seen)] = self._kept[found.number] = found
        while len(self._kept) > self._most:
            self._forget(next(iter(self._kept)))
        self._tell(found)
        return found

    def _asked(self, seen: Seen) -> Asked | None:
        found = self._running.get(id(seen))
        contents = None if found is None else found.contents
        return contents.asked[-1] if contents is not None and contents.asked else None

    def _grown(self, found: Exchange, count: int) -> None:
        """Count what is kept, and forget what is oldest where it is too much."""
        if found.contents is None:
            return
        found.contents.size += count
        self._size += count
        for other in self._kept.values():
            if self._size <= self._memory:
                return
            self._drop(other)

    def _drop(self, found: Exchange) -> None:
        if found.contents is not None:
            self._size -= found.contents.size
            found.contents = None
            self._tell(found)

    def _forget(self, number: int) -> None:
        found = self._kept.pop(number)
        self._drop(found)
        self._running.pop(id(found.seen), None)

    # -- what the page asks ----------------------------------------------------------------------

    @property
    def size(self) -> int:
        return self._size

    def state(self) -> dict[str, Json]:
        gateway = self.gateway
        upstreams = [] if gateway is None else list(gateway.upstreams)
        return {"contents": self.contents, "paused": self.paused, "upstreams": upstreams}

    def rows(self) -> list[dict[str, Json]]:
        return [found.row() for found in self._kept.values()]

    def clear(self) -> None:
        for number in list(self._kept):
            self._forget(number)
        for listener in self._listeners:
            listener.clear()

    def pause(self, paused: bool) -> None:
        self.paused = paused

    def get(self, number: int) -> Exchange:
        if (found := self._kept.get(number)) is None:
            raise Unsupported("this exchange is no longer kept")
        return found

    def all(self) -> list[Exchange]:
        return list(self._kept.values())

    def listen(self) -> Listener:
        listener = Listener()
        self._listeners.add(listener)
        return listener

    def close(self) -> None:
        """Let those who listen go."""
        self.closed = True
        for listener in self._listeners:
            listener.wake()

    def leave(self, listener: Listener) -> None:
        self._listeners.discard(listener)

    def _tell(self, found: Exchange) -> None:
        for listener in self._listeners:
            listener.tell(found)

    def dialect_of(self, upstream: str) -> str | None:
        known = None if self.gateway is None else self.gateway.upstreams.get(upstream)
        return None if known is None else known.dialect.name

    def hide(self, data: bytes) -> bytes:
        """Bytes without the keys of upstreams."""
        for upstream in () if self.gateway is None else self.gateway.upstreams.values():
            data = upstream.secrets.hide_bytes(data)
        return data

    async def replay(self, number: int, upstream: str, model: str | None) -> int:
        """Ask again, with the client's own request, another upstream; the number of the new one."""
        gateway, contents = self.gateway, self.get(number).contents
        if gateway is None or contents is None or not contents.body:
            raise Unsupported("only an exchange whose contents are kept can be sent again")
        if upstream not in gateway.upstreams:
            raise Unsupported(f"no upstream {upstream!r}")
        before = self._next
        seen = self.get(number).seen
        aimed = Aimed(gateway, Aim(upstream, model or seen.model))
        dialect = dialects.get(seen.dialect)
        door = Door(dialect, dialect.endpoints[0], seen.model, seen.stream)
        handling = Handling(aimed, door, headers_again(contents.headers), nowhere)  # type: ignore[arg-type]
        handling.client = ANYONE
        handling.seen.client = REPLAYED
        gateway.metrics.opened()
        try:
            await handling.run(contents.body)
        finally:
            gateway.ended(handling)
        return before


class Listener:
    """A page that watches: what has changed since it last asked."""

    def __init__(self) -> None:
        self._changed: dict[int, Exchange] = {}
        self._cleared = False
        self._event = asyncio.Event()

    def tell(self, found: Exchange) -> None:
        self._changed[found.number] = found
        self._event.set()

    def clear(self) -> None:
        self._changed.clear()
        self._cleared = True
        self._event.set()

    def wake(self) -> None:
        self._event.set()

    async def changes(self, silence: float) -> dict[str, Json]:
        """What has changed; after so many seconds of silence nothing, for the line."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), silence)
        self._event.clear()
        changed, self._changed = self._changed, {}
        cleared, self._cleared = self._cleared, False
        return {"rows": [found.row() for found in changed.values()], "cleared": cleared}


class Aimed:
    """A gateway that asks one upstream, whatever its routes say."""

    def __init__(self, gateway: Gateway, aim: Aim) -> None:
        self._gateway, self._aim = gateway, aim

    def __getattr__(self, name: str) -> Any:
        return getattr(self._gateway, name)

    def route(self, model: str) -> tuple[Aim, ...]:
        return (self._aim,)


async def nowhere(message: dict[str, Any]) -> None:
    """Where a reply goes that nobody but the page reads."""


def headers_again(headers: Mapping[str, str]) -> dict[str, str]:
    skipped = ("content-length", "transfer-encoding", "host", "connection")
    return {name: value for name, value in headers.items() if name.lower() not in skipped}


# -- an exchange that was opened -------------------------------------------------------------


def opened(traffic: Traffic, found: Exchange) -> dict[str, Json]:
    """Everything about one exchange: its documents, side by side and linked."""
    losses = list(found.seen.losses)
    out: dict[str, Json] = {"row": found.row()}
    out["losses"] = [msgspec.to_builtins(loss) for loss in losses]
    out["requested"] = found.requested
    contents = found.contents
    if contents is None:
        return out
    seen = found.seen
    asked = contents.asked[-1] if contents.asked else None
    sent = b"".join(data for _, data in contents.sent)
    out["headers"], hide = contents.headers, traffic.hide
    there = None if asked is None else traffic.dialect_of(asked.upstream)
    request = Document("client's request", seen.dialect, "request", contents.body, hide)
    upstream = None
    replied = Document("reply to the client", seen.dialect, "response", sent, hide)
    reply = None
    if asked is not None:
        upstream = Document("request to the upstream", there, "request", asked.document, hide)
        came = b"".join(data for _, data in asked.pieces)
        reply = Document("upstream's reply", there, "response", came, hide)
        out["upstream_headers"], out["upstream_status"] = asked.headers, asked.status
    out["request"] = pair(request, upstream, losses[: found.requested])
    out["answer"] = pair(reply, replied, losses[found.requested :])
    out["pieces"] = {
        "in": [] if asked is None else timed(asked.pieces, reply),
        "out": timed(contents.sent, replied),
    }
    return out


Hide: TypeAlias = Callable[[bytes], bytes]


class Document:
    """A body of an exchange, as a document at rest."""

    def __init__(
        self, title: str, dialect: str | None, facet: str, data: bytes, hide: Hide
    ) -> None:
        self.title, self.dialect, self.facet = title, dialect, facet
        self.data = hide(data)
        self.masked = self.data != data
        """Whether a key stands in it that no piece had whole."""
        self._hide = hide
        self.stream = False
        self.tree: Any = None
        self.value: Json = None
        if dialect is not None and data:
            self._read(dialect)
        readable = self.value is not None
        self.text = pretty(self.data) if readable else self.data.decode("utf-8", "replace")

    def _read(self, dialect: str) -> None:
        speaker = dialects.get(dialect)
        with suppress(DragomanError):
            self.value = value_of(self.data, speaker)
        if self.value is None or self.value.__class__ is list:  # as Gemini's other form of a stream
            try:
                # A key may have come in pieces, which nobody could know as one.
                whole = collect(self.data, dialect).to_json()
                self.data = self._hide(whole)
                self.masked = self.masked or self.data != whole
                self.value, self.stream = value_of(self.data, speaker), True
            except DragomanError:
                return
        for facet in (self.facet, "error"):
            try:
                self.tree, self.facet = speaker.read(self.value, facet), facet
                return
            except DragomanError:
                continue

    def shown(self) -> dict[str, Json]:
        return {
            "title": self.title,
            "dialect": self.dialect,
            "facet": self.facet,
            "text": self.text,
            "stream": self.stream,
        }


def pair(one: Document | None, other: Document | None, losses: list[Loss]) -> dict[str, Json]:
    """Two documents of an exchange, and which of their places say the same."""
    found: list[Link] = []
    if one is not None and other is not None and one.tree is not None and other.tree is not None:
        reader, writer = dialects.get(one.dialect or ""), dialects.get(other.dialect or "")
        found = [
            located(each, reader, one.value, writer, other.value)
            for each in links(one.tree, other.tree)
        ]
    spots = places(losses, found, None if one is None else one.value)
    return {
        "a": None if one is None else one.shown(),
        "b": None if other is None else other.shown(),
        "links": [each._asdict() for each in found],
        "places": [each._asdict() for each in spots],
        "losses": [msgspec.to_builtins(loss) for loss in losses],
    }


def timed(found: list[tuple[float, bytes]], whole: Document | None) -> list[Json]:
    """Pieces of a stream, each with its milliseconds; their texts are not shown where a key is in
    several of them.
    """
    masked = whole is not None and whole.masked
    return [
        [
            round(at * 1000, 1),
            len(data),
            MASK if masked else data[:PIECE].decode("utf-8", "replace"),
        ]
        for at, data in found[:FRAMES]
    ]
