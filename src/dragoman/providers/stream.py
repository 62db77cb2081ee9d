"""A response while it arrives: its events in the caller's dialect, without delay.

``Flow`` does the work, in one event loop. ``AsyncStream`` is for callers in that loop, ``Stream``
for callers without one. Nothing is read ahead beyond the buffers of the connection, so a slow
reader makes the upstream wait.
"""

from __future__ import annotations

import time
import weakref
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import suppress
from typing import Any, Self

from .. import dialects
from ..core.reading import parse
from ..errors import Malformed, Unsupported
from ..exchange import Exchange
from ..ledger import Loss
from ..model import Failure, Json
from ..streams.framing import Frame, framer
from .client import BlockingClient, Client, Incoming, Message, Worker
from .errors import (
    BadReply,
    ConnectionFailed,
    ProviderError,
    broken_off,
    failed,
    no_reply,
    object_in,
    request_id,
)
from .reply import Reply
from .secrets import Secrets

DONE = b"[DONE]"
WHOLE: dict[str, tuple[bytes, ...]] = {
    "sse": (b"{", b"[", b"<"),
    "eventstream": (b"{", b"[", b"<"),
    "ndjson": (b"<",),
    "either": (b"<",),
}
"""What a document begins with, or a page, and a stream of this framing never does."""


class Flow:
    """One request and its reply on the way, in the loop of its client."""

    def __init__(
        self,
        exchange: Exchange,
        message: Message,
        secrets: Secrets,
        client: Client,
        counts_added: bool,
    ) -> None:
        self.exchange = exchange
        self._caller, self._upstream = map(dialects.get, (exchange.client, exchange.upstream))
        self._counts_added = counts_added  # which the caller did not ask for
        self.request_id: str | None = None
        self.error: ProviderError | None = None
        self.over = False  # nothing more comes, whatever the reason
        self._message = message
        self._secrets = secrets
        self._client = client
        self._incoming: Incoming | None = None
        self._begun = False  # something came that is not white space
        exchange.now = time.time()
        limit = client.limit
        self._transcoder = exchange.transcoder(duplicates=True, limit=limit, total=16 * limit)
        self._frames = framer(self._caller.framing)

    # -- the connection ---------------------------------------------------------------------

    async def open(self) -> None:
        """Send the request, and see whether the reply to it is a stream."""
        if self._incoming is not None or self.over:
            return
        try:
            incoming = self._incoming = await self._client.open(self._message)
            self.request_id = request_id(incoming.headers, self._secrets)
            if incoming.status >= 300:
                self.error = self._no_stream(await incoming.rest())
        except ProviderError as error:
            self.error = error
        if self.error is not None:
            self.end()

    async def more(self, raw: bool) -> list[Any]:
        """What can be written now, ``raw``: bytes, else events. Nothing is the end, or an error."""
        await self.open()
        written: list[Any] = []
        while not written and not self.over:
            if self._transcoder.ended:
                await self._finish()
            else:
                written = await self._hear(raw)
        return written

    async def _hear(self, raw: bool) -> list[Any]:
        assert self._incoming is not None
        try:
            data = await self._incoming.read()
            if not self._begun and self._is_whole(data):
                self.error = self._no_stream(await self._incoming.rest(data))
                self.end()
                return []
        except ProviderError as error:
            self.error = error
            self.end()
            kind = "server" if error.kind == "other" else error.kind
            written = self._transcoder.fail(Failure(kind, error.message))
            return [written] if raw and written else []
        self._begun = self._begun or not data.isspace()
        return self._bytes(data) if raw else self._events(data)

    async def _finish(self) -> None:
        assert self._incoming is not None
        failure, status = self._transcoder.reader.failure, self._incoming.status
        if failure is None:
            await self._incoming.finish()
        elif self._transcoder.problem is not None:
            what = f"not a stream of {self.exchange.upstream}: {failure.message}"
            self.error = BadReply(
                self._secrets.hide(what), status=status, request_id=self.request_id
            )
        else:
            self.error = broken_off(failure, status, self.request_id, self._caller, self._secrets)
        self.end()

    def end(self) -> None:
        """Hang up, unless the body has come to its end."""
        self.over = True
        if self._incoming is not None:
            self._incoming.close()

    async def close(self) -> None:
        """``end``, by those who are in another thread and have to wait for it."""
        self.end()

    def abandon(self) -> None:
        """``end`` for those who forgot to close, from wherever they are."""
        if self._incoming is not None and not self.over:
            self._incoming.abandon()

    # -- what is no stream ------------------------------------------------------------------

    def _is_whole(self, data: bytes) -> bool:
        framing = self._upstream.framings or self._upstream.framing
        return data.lstrip().startswith(WHOLE.get(framing, ()))

    def _no_stream(self, body: bytes) -> ProviderError:
        assert self._incoming is not None
        reply = (self._incoming.status, self._incoming.headers, body)
        heard = object_in(body)
        if reply[0] >= 400 or (heard is not None and heard.get("error")):
            return failed(*reply, self._upstream, self._caller, self._secrets)
        if reply[0] >= 300 or heard is None:
            return no_reply(*reply, self._secrets)
        what = "the upstream sent a whole response, not a stream; use create() or request()"
        return BadReply(what, status=reply[0], request_id=self.request_id)

    # -- what is written -----------------------------------------------------------------------

    def _bytes(self, data: bytes) -> list[bytes]:
        """The bytes of the caller's dialect that some bytes amount to; no bytes are the end."""
        written = self._transcoder.feed(data) if data else self._transcoder.close()
        if self._transcoder.reader.failure is not None:
            written = self._secrets.hide(written.decode("latin-1")).encode("latin-1")
        return [written] if written else []

    def _events(self, data: bytes) -> list[Json]:
        """The events of the caller's dialect that some bytes amount to; no bytes are the end."""
        transcoder, events = self._transcoder, list[Json]()
        try:
            for frame in transcoder.framed(data) if data else transcoder.frames.close():
                if not transcoder.ended:
                    events += self._events_of(frame)
        except Malformed as problem:
            transcoder.refuse(problem, [])
        if not data and not transcoder.ended:
            written = transcoder.close()
            if transcoder.reader.failure is None:
                events += self._parsed(self._frames.feed(written))
        return events

    def _events_of(self, frame: Frame) -> list[Json]:
        transcoder, out = self._transcoder, list[bytes]()
        transcoder.take([frame], out)
        has_failed = transcoder.reader.failure is not None
        if transcoder.same:
            return [] if has_failed else self._parsed([frame])
        if has_failed:
            out.pop()  # the error itself, which is raised
        return self._parsed(self._frames.feed(b"".join(out)))

    def _parsed(self, frames: Iterable[Frame]) -> list[Json]:
        if self._caller.framing == "eventstream":  # the name is not in the payload
            return [{name: parse(data)} for name, data in frames]
        events = [parse(data) for _, data in frames if data.strip() != DONE]
        if self._counts_added:
            return [event for event in events if not is_count(event)]
        return events

    @property
    def losses(self) -> tuple[Loss, ...]:
        return self._transcoder.losses

    @property
    def is_complete(self) -> bool:
        return self._transcoder.ended and self._transcoder.reader.failure is None

    def reply(self) -> Reply:
        """The whole reply, once it is whole."""
        transcoder = self._transcoder
        if not self.is_complete:
            raise Unsupported("no response yet: the stream has not ended")
        return Reply(
            transcoder.document or {},
            transcoder.reader.document() or {},
            transcoder.losses,
            self.request_id,
            self.exchange,
        )


def is_count(event: Json) -> bool:
    return isinstance(event, dict) and event.get("choices") == [] and bool(event.get("usage"))


class BaseStream:
    """What a stream is for those with an event loop and for those without."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._written: deque[Json] = deque()
        self._reply: Reply | None = None
        # For those who leave in the middle and forget to close.
        weakref.finalize(self, flow.abandon).atexit = False

    def __repr__(self) -> str:
        exchange = self._flow.exchange
        return f"<{type(self).__name__}: {exchange.client} from {exchange.upstream}>"

    @property
    def reply(self) -> Reply:
        """The whole response, once the stream has ended."""
        if self._reply is None:
            self._reply = self._flow.reply()
        return self._reply

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The losses of the response; complete at the end."""
        return self._flow.losses

    @property
    def request_losses(self) -> tuple[Loss, ...]:
        """The losses of the request."""
        return self._flow.exchange.losses

    @property
    def request_id(self) -> str | None:
        """The upstream's id of the request."""
        return self._flow.request_id

    def _check(self) -> None:
        # Raised here, where nothing is known of what came: it may repeat the key, and some
        # tracebacks show the variables of every frame.
        error, self._flow.error = self._flow.error, None
        if error is not None:
            raise error
        if self._flow.over and not self._flow.is_complete:
            raise Unsupported("this stream was closed or failed before its end")


class AsyncStream(BaseStream):
    """The events of a response, for ``async for``. The request is sent with the first of them.

    ``async with`` sends it at once, and closes the connection if the stream is left early.
    """

    async def __aenter__(self) -> Self:
        await self._flow.open()
        self._check()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Json:
        if not self._written:
            self._written += await self._flow.more(raw=False)
        if not self._written:
            self._check()
            raise StopAsyncIteration
        return self._written.popleft()

    async def raw(self) -> AsyncIterator[bytes]:
        """The bytes of the stream instead of its events, to be passed on.

        An error is among them, in the caller's dialect, before it is raised.
        """
        while not self._flow.over:
            for written in await self._flow.more(raw=True):
                yield written
        self._check()

    async def aclose(self) -> None:
        """Close the connection, if the response is not complete."""
        self._written.clear()
        self._flow.end()


class Stream(BaseStream):
    """The events of a response, for ``for``. The request is sent with the first of them.

    ``with`` sends it at once, and closes the connection if the stream is left early.
    """

    def __init__(self, flow: Flow, worker: Worker, client: BlockingClient) -> None:
        super().__init__(flow)
        self._worker = worker
        self._client = client  # which ends its worker when nobody needs it any more

    def __enter__(self) -> Self:
        self._worker.run(self._flow.open())
        self._check()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Json:
        if not self._written and not self._flow.over:
            self._written += self._worker.run(self._flow.more(raw=False))
        if not self._written:
            self._check()
            raise StopIteration
        return self._written.popleft()

    def raw(self) -> Iterator[bytes]:
        """The bytes of the stream instead of its events, to be passed on.

        An error is among them, in the caller's dialect, before it is raised.
        """
        while not self._flow.over:
            yield from self._worker.run(self._flow.more(raw=True))
        self._check()

    def close(self) -> None:
        """Close the connection, if the response is not complete."""
        self._written.clear()
        if not self._flow.over:
            with suppress(ConnectionFailed):  # the provider has hung up before
                self._worker.run(self._flow.close())
