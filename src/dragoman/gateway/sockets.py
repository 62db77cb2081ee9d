"""The WebSocket transport of the Responses API, which Codex and Copilot CLI use.

Each message of the client is ``{"type": "response.create", ...}`` with the fields of a request, and
each event of the reply is one message. One reply follows the other. A request may continue an
earlier one of the same connection by ``previous_response_id``, whether or not responses are stored;
one with ``generate: false`` prepares the connection and is answered without asking anybody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from ..core.reading import encode
from ..dialects import get
from ..model import Json
from ..streams.framing import framer
from .clients import Refused
from .doors import Door, find, key_of
from .handling import Handling
from .sending import error_document
from .store import Memory

if TYPE_CHECKING:
    from .app import Gateway

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
POLICY = 1008


class Socket:
    """One connection."""

    def __init__(self, gateway: Gateway, door: Door, receive: Receive, send: Send) -> None:
        self._gateway, self._door = gateway, door
        self._receive, self._send = receive, send
        self._known = Memory(most=32 * 2**20)
        self._heard: asyncio.Queue[bytes | None] = asyncio.Queue(4)
        self._gone = asyncio.Event()
        self.key: str | None = None

    async def serve(self) -> None:
        """Reply until the client goes away."""
        hearing = asyncio.ensure_future(self._hear())
        try:
            while (data := await self._heard.get()) is not None:
                await self._answer(data)
        finally:
            hearing.cancel()

    async def _hear(self) -> None:
        """Take messages as they come, so that a client that goes away is noticed at once."""
        while True:
            message = await self._receive()
            if message["type"] == "websocket.receive":
                await self._heard.put(message.get("bytes") or (message.get("text") or "").encode())
            elif message["type"] == "websocket.disconnect":
                self._gone.set()
                await self._heard.put(None)
                return

    async def _answer(self, data: bytes) -> None:
        if len(data) > self._gateway.config.limits.body:
            await self._refuse("the message is too long")
            return
        try:
            document = msgspec.json.decode(data, type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            await self._refuse("the message is not a JSON object")
            return
        kind = document.pop("type", "response.create")
        if kind != "response.create":
            await self._refuse(f"unknown message {str(kind)[:60]!r}; expected response.create")
        elif document.pop("generate", True) is False:
            await self._prepare(document)
        else:
            await self._exchange({**document, "stream": True})

    async def _exchange(self, document: dict[str, Json]) -> None:
        handling = Handling(self._gateway, self._door, {}, Frames(self._send).send)
        handling.key, handling.known = self.key, self._known
        try:
            handling.seen.client, handling.client = self._gateway.admit(self.key, {})
        except Refused as refused:  # its key is gone, or the gateway is shutting down
            await handling.out.refuse(refused.kind, refused.message, refused.retry_after)
            return
        working = asyncio.ensure_future(handling.run(encode(document)))
        gone = asyncio.ensure_future(self._gone.wait())
        self._gateway.running.add(working)
        working.add_done_callback(self._gateway.running.discard)
        self._gateway.metrics.opened()
        try:
            await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (working, gone):
                task.cancel()
            await asyncio.gather(working, gone, return_exceptions=True)
            self._gateway.ended(handling)

    async def _prepare(self, document: dict[str, Json]) -> None:
        """An empty response, which the next request may continue."""
        name = "resp_prepared"
        response: dict[str, Json] = {
            "id": name, "object": "response", "created_at": 0, "status": "completed",
            "model": document.get("model"), "output": [], "usage": None,
        }  # fmt: skip
        kept = {"input": document.get("input") or [], "response": response}
        await self._known.put(f"response:{name}", encode(kept))
        for number, kind in enumerate(("response.created", "response.completed")):
            event = {"type": kind, "response": response, "sequence_number": number}
            await self._send({"type": "websocket.send", "text": encode(event).decode()})

    async def _refuse(self, message: str) -> None:
        error = error_document(self._door.dialect, "invalid-request", message)
        event = {"type": "error", "status": 400, **error}
        await self._send({"type": "websocket.send", "text": encode(event).decode()})


class Frames:
    """What a reply over HTTP would be, as messages of a socket."""

    def __init__(self, send: Send) -> None:
        self._send, self._frames = send, framer("sse")
        self._status = 200

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            return
        data = message.get("body", b"")
        if self._status != 200:
            error = msgspec.json.decode(data) if data else {}
            data = encode({"type": "error", "status": self._status, **error})
            await self._send({"type": "websocket.send", "text": data.decode()})
            return
        for _, payload in self._frames.feed(data):
            if payload != b"[DONE]":
                await self._send({"type": "websocket.send", "text": payload.decode()})


async def serve(
    gateway: Gateway, path: str, headers: dict[str, str], receive: Receive, send: Send
) -> None:
    """A connection from its beginning to its end."""
    await receive()  # websocket.connect
    door = find(path)
    if door is None or door.dialect.name != "openai-responses":
        await send({"type": "websocket.close", "code": POLICY})
        return
    socket = Socket(gateway, door._replace(dialect=get("openai-responses")), receive, send)
    socket.key = key_of(headers, {})
    try:
        gateway.admit(socket.key, headers)
    except Refused:
        await send({"type": "websocket.close", "code": POLICY})
        return
    await send({"type": "websocket.accept"})
    await socket.serve()
