"""The page and what it asks, as an ASGI application: on its own, or in front of a gateway.

- Each request but those for the files of the page needs a token: one made at the start, which is
  in the fragment of the address that is printed (browsers send it nowhere), or the key of an
  operator. Where client keys are configured there is no other token.
- The address that a browser asks for must be one of this machine, unless client keys are
  configured: no name on the network can be made to point here.
- The policy of the page forbids scripts, styles, images and requests from anywhere else, and all
  scripts that are not a file of the page. What it shows of a document is text.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Awaitable, Callable
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec

from ..core.reading import encode
from ..errors import DragomanError
from ..gateway.app import Gateway, path_of, whole
from ..gateway.clients import Gone, Refused
from ..model import Json
from . import converting, examples
from .conversations import Conversations, Search
from .exporting import exported
from .traffic import Traffic, opened

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Scope = dict[str, Any]
T = TypeVar("T")

PATH = "/workbench"
"""Where it is on a gateway."""
LARGEST = 256 * 2**20
"""How many bytes a document may have."""
SILENCE = 15.0
"""Seconds after which a page that watches gets an empty line."""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}
HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
NONCE = b"{nonce}"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; "
    "img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


class Replay(msgspec.Struct, forbid_unknown_fields=True):
    upstream: str
    model: str | None = None


class Switch(msgspec.Struct, forbid_unknown_fields=True):
    paused: bool


class Reply:
    """What is answered: a JSON value, or bytes of a type."""

    def __init__(self, body: Json, status: int = 200, kind: str = "application/json") -> None:
        self.body = body if isinstance(body, bytes) else encode(body)
        self.status, self.kind = status, kind
        self.headers: dict[str, str] = {}


class Failed(Exception):
    """A request that is not answered, with its status and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Workbench:
    """The page as an ASGI application. With a ``gateway``, it stands in front of it.

    What is below ``PATH`` is the page's, all else the gateway's; without a gateway everything is
    the page's. ``token`` is what lets somebody in, if no client keys are configured; ``given`` is
    a file that the page opens with.
    """

    def __init__(
        self,
        gateway: Gateway | None = None,
        traffic: Traffic | None = None,
        *,
        token: str | None = None,
        given: tuple[str, bytes] | None = None,
    ) -> None:
        self.gateway, self.traffic, self.given = gateway, traffic, given
        if traffic is not None:
            traffic.gateway = gateway
        self.token = token or secrets.token_urlsafe(24)
        self.prefix = "" if gateway is None else PATH
        self.conversations = Conversations()

    def close(self) -> None:
        """End what waits for changes: a server that stops need not wait for a page that watches."""
        if self.traffic is not None:
            self.traffic.close()

    @property
    def keyed(self) -> bool:
        """Whether the key of an operator is asked for instead of the token."""
        return self.gateway is not None and bool(self.gateway.config.clients)

    def address(self, base: str) -> str:
        """What a browser opens."""
        place = f"{base}{self.prefix}/"
        return place if self.keyed else f"{place}#token={self.token}"

    # -- ASGI -----------------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = path_of(scope) if scope["type"] in ("http", "websocket") else ""
        ours = path == self.prefix or path.startswith(f"{self.prefix}/")
        if self.gateway is not None and not (scope["type"] == "http" and ours):
            await self.gateway(scope, receive, send)
        elif scope["type"] == "lifespan":
            await live(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, path.removeprefix(self.prefix), receive, send)

    async def _serve(self, scope: Scope, path: str, receive: Receive, send: Send) -> None:
        headers = {k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]}
        method = scope["method"]
        query = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
        try:
            self._check_host(headers)
            if not path.startswith("/api/"):
                await self._file(path, method, send)
                return
            self._admit(headers)
            if path == "/api/traffic/live":
                await self._live(send, receive)
                return
            reply = await self._reply(method, path.removeprefix("/api/"), query, receive)
        except Failed as failed:
            reply = Reply({"error": {"message": str(failed)}}, failed.status)
        except (DragomanError, msgspec.DecodeError, ValueError) as problem:
            message = {"message": str(problem), "at": getattr(problem, "at", None)}
            reply = Reply({"error": message}, 400)
        except Gone:
            return
        await say(send, reply)

    def _check_host(self, headers: dict[str, str]) -> None:
        if self.keyed:
            return
        host = headers.get("host", "")
        name = host if host.endswith("]") else host.rpartition(":")[0] or host
        if name not in LOOPBACK:
            raise Failed(421, "the workbench is there for this machine alone")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            raise Failed(403, "the workbench is asked by its own page alone")

    def _admit(self, headers: dict[str, str]) -> None:
        """The token, or the key of an operator."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            raise Failed(401, "the token of the workbench is missing")
        if self.keyed:
            assert self.gateway is not None
            try:
                _, client = self.gateway.guests.admit(given)
            except Refused:
                raise Failed(401, "missing or unknown key") from None
            if not client.operator:
                raise Failed(403, "this key may not see the workbench")
        elif not hmac.compare_digest(given.encode(), self.token.encode()):
            raise Failed(401, "this is not the token of the workbench")

    async def _file(self, path: str, method: str, send: Send) -> None:
        """A file of the page; nothing in it is secret."""
        if method not in ("GET", "HEAD"):
            raise Failed(405, "only GET")
        name = path.strip("/") or "index.html"
        if path == "" and self.prefix:
            reply = Reply(b"", 307)
            reply.headers["location"] = f"{self.prefix}/"
            await say(send, reply)
            return
        if name not in names():
            raise Failed(404, "no such file")
        data = content(name)
        reply = Reply(data, kind=TYPES[name.rpartition(".")[2]])
        if name == "index.html":
            nonce = secrets.token_urlsafe(16)
            reply.body = data.replace(NONCE, nonce.encode())
            reply.headers["content-security-policy"] = POLICY.format(nonce=nonce)
        await say(send, reply)

    # -- what the page asks ---------------------------------------------------------------------

    async def _reply(
        self, method: str, path: str, query: dict[str, str], receive: Receive
    ) -> Reply:
        head, _, rest = path.partition("/")
        if method == "GET":
            return await self._get(head, rest, query)
        if method != "POST":
            raise Failed(405, "only GET and POST")
        body = await self._body(receive)
        if head in WORK and not rest:
            kind, work = WORK[head]
            return Reply(
                await asyncio.to_thread(lambda: work(msgspec.json.decode(body, type=kind)))
            )
        if head == "conversation":
            return await self._conversation(rest, query, body)
        if head == "traffic":
            return await self._traffic(rest, body)
        raise Failed(404, "no such path")

    async def _body(self, receive: Receive) -> bytes:
        try:
            return await whole(receive, LARGEST)
        except Refused as refused:
            raise Failed(413, refused.message) from None

    async def _get(self, head: str, rest: str, query: dict[str, str]) -> Reply:
        if head == "about":
            state = None if self.traffic is None else self.traffic.state()
            name = None if self.given is None else self.given[0]
            more = {"traffic": state, "examples": examples.listed(), "given": name}
            return Reply({**converting.about(), **more})
        if head == "given" and self.given is not None:
            return Reply(self.given[1], kind="application/octet-stream")
        if head == "explain":
            return Reply(converting.explained(query.get("name", "")))
        if head == "example":
            return Reply({"text": examples.text(rest)})
        if head == "conversation":
            number, _, what = rest.partition("/")
            if what == "turns":
                first, last = int(query.get("from", 0)), int(query.get("to", 0))
                return Reply(self.conversations.turns(int(number), first, last))
            if what == "turn":
                return Reply(self.conversations.turn(int(number), int(query.get("index", 0))))
        if head == "traffic" and self.traffic is not None:
            if rest == "export":
                wanted = [int(each) for each in query.get("ids", "").split(",") if each]
                found = [self.traffic.get(n) for n in wanted] or self.traffic.all()
                base = query.get("base", "http://127.0.0.1")
                name, data = exported(found, query.get("form", "har"), base, self.traffic.hide)
                reply = Reply(data, kind="application/octet-stream")
                reply.headers["content-disposition"] = f'attachment; filename="{name}"'
                return reply
            found_one = self.traffic.get(int(rest))
            return Reply(await asyncio.to_thread(opened, self.traffic, found_one))
        raise Failed(404, "no such path")

    async def _conversation(self, rest: str, query: dict[str, str], body: bytes) -> Reply:
        known = self.conversations
        number, _, what = rest.partition("/")
        if not rest:
            name, dialect = query.get("name", ""), query.get("dialect") or None
            return Reply(await asyncio.to_thread(known.open, body, name, dialect))
        if what == "search":
            asked = msgspec.json.decode(body, type=Search)
            return Reply(await asyncio.to_thread(known.search, int(number), asked))
        if what == "differences":
            other = int(query.get("other", 0))
            return Reply(await asyncio.to_thread(known.differences, int(number), other))
        raise Failed(404, "no such path")

    async def _traffic(self, rest: str, body: bytes) -> Reply:
        traffic = self.traffic
        if traffic is None:
            raise Failed(404, "there is no gateway: start `dragoman serve --ui`")
        number, _, what = rest.partition("/")
        if rest == "clear":
            traffic.clear()
        elif rest == "pause":
            traffic.pause(msgspec.json.decode(body, type=Switch).paused)
        elif what == "replay":
            asked = msgspec.json.decode(body, type=Replay)
            return Reply({"id": await traffic.replay(int(number), asked.upstream, asked.model)})
        else:
            raise Failed(404, "no such path")
        return Reply(traffic.state())

    async def _live(self, send: Send, receive: Receive) -> None:
        """Rows of exchanges as they change: a line of JSON for each change, until the page goes."""
        if self.traffic is None:
            raise Failed(404, "there is no gateway: start `dragoman serve --ui`")
        listener = self.traffic.listen()
        await begin(send, 200, "application/x-ndjson", {})
        await more(send, {**self.traffic.state(), "rows": self.traffic.rows(), "cleared": True})
        task = asyncio.ensure_future(gone(receive))
        try:
            while not (task.done() or self.traffic.closed):
                step = asyncio.ensure_future(listener.changes(SILENCE))
                await asyncio.wait((task, step), return_when=asyncio.FIRST_COMPLETED)
                if task.done() or self.traffic.closed:
                    step.cancel()
                    break
                await more(send, step.result())
            if not task.done():
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            task.cancel()
            self.traffic.leave(listener)


WORK: dict[str, tuple[Any, Callable[[Any], Json]]] = {
    "convert": (converting.Options, converting.converted),
    "link": (converting.Pair, converting.linked),
    "repair": (converting.Repair, converting.repaired),
    "replay": (converting.Replay, converting.replayed),
}
"""What is asked about documents: the form of the question, and who works on it."""


@cache
def names() -> frozenset[str]:
    """The files of the page."""
    return frozenset(each.name for each in files(__package__).joinpath("static").iterdir())


@cache
def content(name: str) -> bytes:
    return files(__package__).joinpath("static", name).read_bytes()


async def say(send: Send, reply: Reply) -> None:
    await begin(send, reply.status, reply.kind, reply.headers, len(reply.body))
    await send({"type": "http.response.body", "body": reply.body, "more_body": False})


async def begin(
    send: Send, status: int, kind: str, more: dict[str, str], length: int | None = None
) -> None:
    headers = {"content-type": kind, **HEADERS, **more}
    if length is not None:
        headers["content-length"] = str(length)
    listed = [(k.encode("latin-1"), v.encode("latin-1")) for k, v in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": listed})


async def more(send: Send, value: Json) -> None:
    await send({"type": "http.response.body", "body": encode(value) + b"\n", "more_body": True})


async def gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
