"""Who watches exchanges as they happen: ``Gateway(config, observer=...)``.

    client ── client_request ──> gateway ── upstream_request ──> upstream
           <── client_data ─────         <── upstream_reply, upstream_data ──
                                 ended

For a page that shows what goes through a gateway, or a recorder of one's own. The methods are
called in the event loop, in the order in which things happen, and must return at once; whoever
wants times asks a clock in them. An exchange is known by its ``Seen``, the same object in each
call: it has the dialect, the client, the model, the upstream and its model, the status, the counts
of tokens, and ``losses``, which grow: at ``upstream_request`` they are those of the request, at
``ended`` those of the reply as well.

- Where a route has several upstreams, ``upstream_request`` comes for each one that is asked.
- A request that is refused at the door has no ``client_request``, only ``client_data`` and
  ``ended``.
- ``client_data`` has what the client gets, as it gets it: a whole body, or frames of a stream.
- What an observer raises ends the exchange, as an error inside of the gateway.
- Keys are in none of it: not in headers, and masked where an upstream repeats its own. Contents are
  in all of it, so an observer is never there unless somebody asks for it.

Without an observer nothing of this costs anything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ..model import Json
from ..providers.secrets import Secrets

if TYPE_CHECKING:
    from .upstreams import Incoming
    from .watching import Seen

Send = Callable[[dict[str, Any]], Awaitable[None]]
HIDDEN = frozenset(
    {"authorization", "proxy-authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie"}
)
"""Headers that hold keys."""


class Observer(Protocol):
    """What is told of each exchange."""

    def client_request(self, seen: Seen, headers: Mapping[str, str], body: bytes) -> None:
        """A request came in, with its headers but for those that hold keys."""

    def upstream_request(self, seen: Seen, document: Json) -> None:
        """An upstream is asked (``seen.upstream``): a document, or the client's bytes as they are.

        It belongs to the exchange: it must not be changed.
        """

    def upstream_reply(self, seen: Seen, status: int, headers: Mapping[str, str]) -> None:
        """The upstream has begun its reply."""

    def upstream_data(self, seen: Seen, data: bytes) -> None:
        """Bytes of the upstream's reply, as they arrive."""

    def client_data(self, seen: Seen, data: bytes) -> None:
        """Bytes of the reply to the client, as they are sent; ``seen.status`` is its status."""

    def ended(self, seen: Seen) -> None:
        """The exchange is over, whatever became of it; ``seen.error`` says what went wrong."""


def without_keys(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in HIDDEN}


def observed_send(observer: Observer, seen: Seen, send: Send) -> Send:
    """What sends to the client, and tells the observer."""

    async def observed(message: dict[str, Any]) -> None:
        if data := message.get("body"):
            observer.client_data(seen, data)
        await send(message)

    return observed


class ObservedReply:
    """An upstream's reply, of which the observer is told."""

    def __init__(
        self, observer: Observer, seen: Seen, incoming: Incoming, secrets: Secrets
    ) -> None:
        self._observer, self._seen, self._incoming = observer, seen, incoming
        self._secrets = secrets
        self.status, self.headers = incoming.status, incoming.headers
        shown = {name: secrets.hide(value) for name, value in incoming.headers.items()}
        observer.upstream_reply(seen, self.status, without_keys(shown))

    async def read(self) -> bytes:
        return self._told(await self._incoming.read())

    async def rest(self, begun: bytes = b"") -> bytes:
        data = await self._incoming.rest()
        return begun + self._told(data)

    def _told(self, data: bytes) -> bytes:
        if data:
            self._observer.upstream_data(self._seen, self._secrets.hide_bytes(data))
        return data

    def close(self) -> None:
        self._incoming.close()
