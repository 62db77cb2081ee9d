"""One request: from the door to an upstream, and its reply back to the client.

    arrive -> route -> for each upstream: convert -> ask -> reply | stream | error, or the next

Once a byte of the reply has gone out, nothing is tried again: what fails then ends in the client's
own form of an error inside of the stream.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from ..core.reading import encode
from ..core.statuses import kind_of, status_of
from ..dialect import Dialect
from ..dialects import get
from ..errors import DragomanError, Lossy, Malformed, Unsupported
from ..exchange import Exchange
from ..ledger import Ledger, Loss
from ..model import ErrorKind, Failure, Json, Request, Response, Usage
from ..providers.errors import ProviderError, no_reply, object_in, retry_after, with_type
from ..providers.errors import error_document as hidden
from ..providers.reply import Ids
from ..result import Result
from ..streams.framing import framer
from ..streams.transcoder import Transcoder
from . import config, continuing
from .carrying import MARK, Carrying, turn_keys
from .clients import NOBODY, Refused
from .doors import Door
from .observing import ObservedReply, observed_send, without_keys
from .passing import Passing
from .policies import USER
from .renaming import Renamer
from .store import Owned, Store, StoreFailed
from .upstreams import Ask, Incoming, Upstream, place
from .watching import Seen, usage_of

if TYPE_CHECKING:
    from .app import Gateway

Send = Callable[[dict[str, Any]], Awaitable[None]]

JSON = "application/json"
MARK_BYTES = MARK.encode()
AGAIN = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
"""Statuses after which the next upstream is asked."""
LOSSES = "x-dragoman-losses"
LEDGER = "x-dragoman-ledger"
REASONING = "x-dragoman-reasoning"
LONGEST = 6_000
"""How many bytes the ledger may have in a header."""


class Peek(msgspec.Struct):
    """The fields of a request that decide where it goes."""

    model: Any = None
    stream: Any = None


peek = msgspec.json.Decoder(Peek).decode


class Handling:
    """One request of a client."""

    client = NOBODY
    key: str | None = None
    started = False
    known: Store | None = None
    """What a connection remembers of its own responses."""
    _writes, _latest = 0, b""  # what was written of a stream
    _exchanged: Exchange | None = None
    _make: Callable[[], Exchange] | None = None
    _shown: Mapping[str, str] = {}  # headers of the upstream's reply that the client reads
    _told: dict[str, Json] | None = None  # a request with what was written before it
    _carrying: Carrying | None = None

    def __init__(
        self, gateway: Gateway, door: Door, headers: Mapping[str, str], send: Send
    ) -> None:
        self.gateway, self.door, self.dialect = gateway, door, door.dialect
        self.headers, self._send = headers, send
        self.seen = Seen()
        self.seen.dialect = door.dialect.name
        self._observer = gateway.observer
        if self._observer is not None:
            self._send = observed_send(self._observer, self.seen, send)
        self._array = Array() if door.array else None

    def close(self) -> None:
        """Let go of what refers back to it, so that a document is gone when its exchange is."""
        if self._exchanged is not None:
            self._exchanged.close()
        self._exchanged = self._make = self._carrying = None

    # -- the way there ----------------------------------------------------------------------

    async def run(self, body: bytes) -> None:
        """Reply a request, whatever becomes of it."""
        self.seen.received = len(body)
        try:
            if self._observer is not None:
                self._observer.client_request(self.seen, without_keys(self.headers), body)
            await self._answer(body)
        except Refused as refused:
            await self.refuse(refused.kind, refused.message, refused.retry_after)
        except Lossy as problem:
            self.seen.note(problem.losses)
            await self.refuse("invalid-request", str(problem), status=422)
        except ProviderError as problem:
            await self.fail(problem)
        except StoreFailed as problem:
            await self.refuse("overloaded", str(problem), 5.0)
        except DragomanError as problem:
            await self.refuse("invalid-request", str(problem))
        except Exception as bug:
            self.seen.error = f"a bug in dragoman: {place_of(bug)}"
            await self.fail(ProviderError("an error inside of the gateway", kind="server"))

    async def _answer(self, body: bytes) -> None:
        model, stream = self._peek(body)
        self.seen.model, self.seen.stream = model, stream
        name = self.seen.client
        self.gateway.guests.begin(name, self.client, model)
        try:
            aims = self.gateway.route(model)
            if not aims:
                raise Refused("not-found", f"no upstream has the model {model!r}")
            for number, aim in enumerate(aims):
                if await self._ask(body, aim, model, stream, last=number == len(aims) - 1):
                    return
        finally:
            self.gateway.guests.end(name)

    def _peek(self, body: bytes) -> tuple[str, bool]:
        """The model and whether a stream is asked for."""
        try:
            asked = peek(body)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as problem:
            raise Malformed(f"the body is not a JSON object: {problem}") from None
        model = self.door.model or asked.model
        if not isinstance(model, str) or not model:
            raise Refused("invalid-request", "the request names no model")
        stream = self.door.stream
        if stream is None:
            stream = asked.stream if asked.stream is not None else bool(self.door.row.plain)
        return model, bool(stream)

    @property
    def _exchange(self) -> Exchange:
        """The exchange; where nothing is converted it is made when something must be."""
        if self._exchanged is None:
            assert self._make is not None
            self._exchanged = self._make()
        return self._exchanged

    async def _ask(
        self, body: bytes, aim: config.Aim, model: str, stream: bool, *, last: bool
    ) -> bool:
        """Ask one upstream; False: it failed before it answered, and another may be asked."""
        upstream = self.gateway.upstreams[aim.upstream]
        self.seen.upstream, self.seen.upstream_model = aim.upstream, aim.model
        document = await self._convert(body, upstream, aim, model, stream)
        if (limit := upstream.limited()) is None and not stream:
            return await self._sent(document, upstream, aim, stream, last)
        with self._alive(stream):
            async with place(limit):
                return await self._sent(document, upstream, aim, stream, last)

    async def _sent(
        self, document: Json, upstream: Upstream, aim: config.Aim, stream: bool, last: bool
    ) -> bool:
        call = Ask(aim.model, stream, self.dialect, self.key, self.headers)
        if self._observer is not None:
            self._observer.upstream_request(self.seen, document)
        try:
            incoming = await upstream.open(document, call)
        except ProviderError:
            if last or self.started:
                raise
            return False
        if self._observer is not None:
            incoming = ObservedReply(self._observer, self.seen, incoming, upstream.secrets)
        try:
            if not last and not self.started and incoming.status in AGAIN:
                return False
            self._shown = upstream.shown(incoming.headers, self.dialect)
            await self._reply(upstream, incoming, stream)
        finally:
            incoming.close()
        return True

    async def _convert(
        self, body: bytes, upstream: Upstream, aim: config.Aim, asked: str, stream: bool
    ) -> Json:
        """The request for an upstream: a document, or the client's bytes as they are."""
        model, client = aim.model, self._spoken(upstream)
        same = upstream.dialect.name == client.name
        user = not same or USER.search(body) is not None
        policy = upstream.policy(client.name, aim.max_tokens, user)
        renamed = model != asked or self.door.model is not None
        carrying = None
        if not same or policy is not None or MARK_BYTES in body:
            carrying = Carrying(self.gateway.envelope, client, upstream.dialect, policy)
        self._carrying, self._exchanged = carrying, None
        self._make = lambda: Exchange(
            client=client,
            upstream=upstream.dialect,
            model=model if renamed and (not same or model != asked) else None,
            shown_model=None if same and model == asked else asked,
            fail_on=self._fail_on(),
            carrier=carrying,
            now=time.time(),
            ids=Ids(),
        )
        written: Json = body
        if (form := continuing.form_of(self.dialect)) is not None:
            written = await self._continued(body, form, same)
        if same and carrying is None and model == asked:
            if self.gateway.config.log_contents:
                self._log_contents("asked", object_in(body))
            return written if written.__class__ is bytes else encode(written)
        exchange = self._exchange
        if carrying is not None and not same:
            carrying.stored = await self._stored(exchange.read(written))
        result = exchange.request(written, stream=None if same else stream)
        self.seen.note(result.losses)
        self._log_contents("asked", exchange.asked)
        self._log_contents("sent", exchange.sent)
        return result.document

    def _log_contents(self, name: str, document: Json) -> None:
        if self.gateway.config.log_contents:
            self.seen.contents = {**self.seen.contents, name: document}

    def _spoken(self, upstream: Upstream) -> Dialect:
        """The client's dialect; a Chat client that wants reasoning gets ``reasoning_content``."""
        own = self.client.reasoning
        wanted = self.gateway.config.reasoning if own is None else own
        if (wanted or self.headers.get(REASONING)) and self.dialect.name == "openai-chat":
            if upstream.dialect.name != self.dialect.name:
                return get("llama-cpp")
        return self.dialect

    async def _continued(self, body: bytes, form: continuing.Form, same: bool) -> Json:
        """A request with what was written before it.

        An upstream of the same dialect keeps its own responses; but not those of a connection that
        asked for none to be kept.
        """
        if same and self.known is None:
            return body
        document = object_in(body)
        if document is None:
            raise Malformed("the body is not a JSON object")
        before = document.get(form.before)
        known = self.known
        if known is not None and await known.get(f"{form.key}{before}") is not None:
            self._told = await continuing.continued(known, form, document)
        elif same:
            self._told = document
            return body
        else:
            store = Owned(self.gateway.store, self.seen.client)
            self._told = await continuing.continued(store, form, document)
        return self._told

    def _fail_on(self) -> tuple[str, ...]:
        own = self.client.fail_on
        return self.gateway.config.fail_on if own is None else own

    async def _stored(self, tree: Request) -> dict[str, bytes]:
        """What is kept of the turns of a conversation."""
        if not any(message.role == "assistant" for message in tree.messages):
            return {}
        mine = self._turns()
        keys = [mine + key for turn in turn_keys(tree.messages)[0].values() for key in turn]
        if not keys:
            return {}
        try:
            found = await self.gateway.store.find(keys)
        except StoreFailed as problem:  # what is not found is written off, and reported
            self.seen.error = str(problem)
            return {}
        return {key.removeprefix(mine): value for key, value in found.items()}

    def _turns(self) -> str:
        """What the keys of turns begin with: no client gets what belongs to another."""
        return f"turn:{self.seen.client}:"

    @contextmanager
    def _alive(self, stream: bool) -> Iterator[None]:
        """While a stream is silent, also before it begins, the client hears that it is alive."""
        alive, silence = self.dialect.keep_alive, self.gateway.config.limits.keep_alive
        if not stream or not silence or not alive:
            yield
            return
        beating = Beating(silence, self._beat)
        try:
            yield
        finally:
            beating.cancel()

    async def _beat(self, half: float) -> None:
        """Say so whenever nothing was written for two halves of the time."""
        quiet = self._writes == 0
        while True:
            wrote = self._writes
            await asyncio.sleep(half)
            if self._writes != wrote:
                quiet = False
            elif not quiet:
                quiet = True
            else:
                quiet = False
                if self._is_between(self._latest):
                    await self._write(self.dialect.keep_alive, between=True)

    # -- the way back -----------------------------------------------------------------------

    async def _reply(self, upstream: Upstream, incoming: Incoming, stream: bool) -> None:
        if incoming.status >= 300:
            await self._reply_error(upstream, incoming)
        elif stream:
            await self._reply_stream(upstream, incoming)
        else:
            await self._reply_whole(upstream, incoming)

    async def _reply_error(self, upstream: Upstream, incoming: Incoming) -> None:
        body = await incoming.rest()
        status = incoming.status
        if status < 400:
            raise no_reply(status, incoming.headers, body, upstream.secrets)
        written = with_type(hidden(body, upstream.secrets), incoming.headers)
        result = self._exchange.error(
            written.encode() if isinstance(written, str) else written, status
        )
        result = self._explained(result, status)
        self.seen.error = f"upstream {status}"
        headers = {}
        if (wait := retry_after(incoming.headers)) is not None:
            headers["retry-after"] = f"{max(wait, 0):.0f}"
        if self.started:
            failure = self.dialect.read(result.document, "error")
            assert isinstance(failure, Failure)
            await self._end_stream(failure)
            return
        await self.send_json(result.status or status, result.document, headers)

    def _explained(self, result: Result, status: int) -> Result:
        """An error that says something: what passes as it is may be no error at all."""
        try:
            tree = self.dialect.read(result.document, "error")
            if isinstance(tree, Failure) and tree.message:
                return result
        except DragomanError:
            pass
        document = error_document(
            self.dialect, kind_of("other", status), "the upstream reported no reason"
        )
        return Result(document, result.losses, status=result.status)

    async def _reply_whole(self, upstream: Upstream, incoming: Incoming) -> None:
        body = upstream.secrets.hide_bytes(await incoming.rest())
        value = object_in(body)
        if value is None:
            raise no_reply(incoming.status, incoming.headers, body, upstream.secrets)
        if self._make is not None and self._exchanged is None and not value.get("error"):
            if (usage := usage_of(value, upstream.dialect)) is not None:
                if not upstream.settings.normalize:
                    await self._pass(value, body, usage)
                    return
        exchange = self._exchange
        if value.get("error"):
            result = exchange.error(hidden(body, upstream.secrets), 500)
            self.seen.error = "an error with status 200"
            status = error_status(result)
            await self.send_json(status, self._explained(result, status).document)
            return
        try:
            if upstream.settings.normalize and not exchange.is_converted:
                body = normalized(value, upstream.dialect)
            result = exchange.response(body)
            if not exchange.is_converted:
                self._count(upstream.dialect.read(value, "response"))
                body = self._renamed(body)
        except DragomanError as problem:
            what = upstream.secrets.hide(f"not a response of {upstream.dialect.name}: {problem}")
            raise ProviderError(what, kind="server") from None
        if exchange.is_converted:
            self.seen.note(result.losses)
            self._count(exchange.reply)
            body = result.to_json()
        self._log_contents("replied", result.document)
        await self._keep_turn(result.document)
        await self.send_bytes(result.status or 200, body, self._loss_headers())

    async def _pass(self, value: dict[str, Json], body: bytes, usage: Usage) -> None:
        """A response of the client's own dialect, as it is."""
        self.seen.input_tokens, self.seen.output_tokens = usage.input_total, usage.output_total
        self._log_contents("replied", value)
        await self._keep_turn(value)
        await self.send_bytes(200, body, self._loss_headers())

    def _renamed(self, body: bytes) -> bytes:
        """A reply of the same dialect with the model that the client asked for."""
        if self.seen.model == self.seen.upstream_model:
            return body
        renamer = Renamer(self.seen.upstream_model, self.seen.model)
        return renamer.feed(body) + renamer.close()

    async def _reply_stream(self, upstream: Upstream, incoming: Incoming) -> None:
        data = await incoming.read()
        if is_document(data, upstream.dialect):
            await self._no_stream(upstream, incoming, await incoming.rest(data))
            return
        same = upstream.dialect.name == self.dialect.name
        flow: Transcoder | Passing
        if same and upstream.settings.normalize:
            limit = self.gateway.config.limits.response
            flow = Normalizing(upstream.dialect.name, limit=limit, total=16 * limit)
        elif same and self._told is None and not self.gateway.config.log_contents:
            flow = Passing(self._flow, upstream.dialect)
        else:
            flow = self._flow()
        renamer = None
        if same and self.seen.model != self.seen.upstream_model:
            if not upstream.settings.normalize:
                renamer = Renamer(self.seen.upstream_model, self.seen.model)
        feed, read, hide = flow.feed, incoming.read, upstream.secrets.hide_bytes
        written = b""
        try:
            while data:
                written = feed(hide(data))
                if renamer is not None:
                    written = renamer.feed(written)
                if not same and flow.ended:
                    break  # what ends the stream goes out with its last frames
                await self._write(written)
                written, data = b"", await read()
            written += flow.close()
        except ProviderError as problem:
            kind: ErrorKind = "server" if problem.kind == "other" else problem.kind
            written = flow.fail(Failure(kind, upstream.secrets.hide(problem.message)))
        if renamer is not None:
            written = renamer.feed(written) + renamer.close()
        await self._close_stream(flow, written)

    def _flow(self) -> Transcoder:
        limit = self.gateway.config.limits.response
        return self._exchange.transcoder(limit=limit, total=16 * limit)

    async def _no_stream(self, upstream: Upstream, incoming: Incoming, body: bytes) -> None:
        """A whole document came where a stream was asked for: an error, or no reply at all."""
        value = object_in(body)
        if value is None:
            raise no_reply(incoming.status, incoming.headers, body, upstream.secrets)
        if value.get("error"):
            result = self._exchange.error(hidden(body, upstream.secrets), 500)
            self.seen.error = "an error with status 200"
            status = error_status(result)
            await self.send_json(status, self._explained(result, status).document)
            return
        what = "the upstream sent a whole response where a stream was asked for"
        raise ProviderError(what, kind="server")

    async def _close_stream(self, passed: Transcoder | Passing, last: bytes) -> None:
        """The last bytes of a stream, after what is stored of it: the client may go on at once."""
        flow = passed.flow if isinstance(passed, Passing) else passed
        if flow is None:  # nobody had to read it
            assert isinstance(passed, Passing)
            if (usage := passed.usage()) is not None:
                self.seen.input_tokens = usage.input_total
                self.seen.output_tokens = usage.output_total
            await self._end(last)
            return
        response = flow.response
        self._count(response)
        self.seen.note(flow.losses)
        if flow.reader.failure is not None:
            self.seen.error = f"stream: {flow.reader.failure.kind}"
        else:
            self._log_contents("replied", flow.document)
            await self._keep_turn(flow.document)
        if self.dialect.takes_comments and self.seen.losses:
            last += f": {LOSSES}: {self._loss_words()}\n\n".encode()
        await self._end(last)

    def _count(self, tree: Any) -> None:
        usage = tree.usage if isinstance(tree, Response) else None
        if isinstance(usage, Usage):
            self.seen.input_tokens = usage.input_total
            self.seen.output_tokens = usage.output_total

    async def _keep_turn(self, document: Json = None) -> None:
        """Store what the client's dialect has no field for, and responses that may go on."""
        if self._told is None and (self._carrying is None or not self._carrying.turns):
            return
        form = continuing.form_of(self.dialect)
        if self._told is not None and form is not None and self.known is not None:
            await continuing.keep(self.known, form, self._told, document)
        try:
            if self._told is not None and form is not None:
                if self._told.get("store") is not False and self._exchange.is_converted:
                    store = Owned(self.gateway.store, self.seen.client)  # else the upstream does
                    await continuing.keep(store, form, self._told, document)
            for key, data in self._carrying.turns if self._carrying is not None else ():
                await self.gateway.store.put(self._turns() + key, data)
        except StoreFailed as problem:  # the reply is there all the same
            self.seen.error = str(problem)

    # -- what is sent -----------------------------------------------------------------------

    async def _write(self, data: bytes, *, between: bool = False) -> None:
        """Bytes of a stream; ``between``: of none of its frames."""
        if not self.started:
            await self._start_stream()
        if self._array is not None:
            data = b"\n" if between else self._array.feed(data)
        if data:
            self.seen.sent += len(data)
            if not between:
                self._writes += 1
                self._latest = data
            await self._send({"type": "http.response.body", "body": data, "more_body": True})

    def _is_between(self, data: bytes) -> bool:
        """Whether a stream stands between two frames after these bytes."""
        if self._array is not None or not data:
            return True
        framing = self.dialect.framing
        if framing == "sse":
            return data.endswith((b"\n\n", b"\n\r\n"))
        # Frames that pass as they are may be cut anywhere; those that are written are whole.
        converted = self._exchanged is not None and self._exchanged.is_converted
        return data.endswith(b"\n") if framing == "ndjson" else converted

    async def _start_stream(self) -> None:
        self.started = True
        headers = {**self.dialect.stream_headers, "cache-control": "no-cache"}
        if self._array is not None:
            headers["content-type"] = JSON
        self.seen.first = time.monotonic()
        await self._start(200, [], headers | self._loss_headers())

    async def _end(self, data: bytes) -> None:
        """The last bytes of a stream, and its end."""
        if not self.started:
            await self._start_stream()
        if self._array is not None:
            data = self._array.feed(data) + self._array.close()
        self.seen.sent += len(data)
        self._writes += 1
        await self._send({"type": "http.response.body", "body": data, "more_body": False})

    async def _end_stream(self, failure: Failure) -> None:
        """An error after the stream began: in the form that it has inside of one."""
        await self._end(self._exchange.transcoder().fail(failure))

    async def fail(self, problem: ProviderError) -> None:
        """The upstream gave no reply."""
        kind: ErrorKind = "server" if problem.kind == "other" else problem.kind
        self.seen.error = f"upstream: {problem.kind}: {problem.message[:200]}"
        if self.started:
            await self._end_stream(Failure(kind, problem.message))
            return
        status = 504 if kind == "timeout" else 502 if kind == "server" else None
        await self.refuse(kind, problem.message, problem.retry_after, status)

    async def refuse(
        self,
        kind: ErrorKind,
        message: str,
        wait: float | None = None,
        status: int | None = None,
    ) -> None:
        """An error in the client's dialect."""
        self.seen.error = self.seen.error or f"{kind}: {message[:200]}"
        document = error_document(self.dialect, kind, message)
        if status is not None:
            document = with_status(document, status)
        headers = {} if wait is None else {"retry-after": f"{max(wait, 1):.0f}"}
        code = status or status_of(kind, self.dialect.statuses)
        await self.send_json(code, document, headers)

    async def send_json(
        self, status: int, document: Json, headers: Mapping[str, str] | None = None
    ) -> None:
        more = {**self._loss_headers(), **(headers or {})}
        await self.send_bytes(status, encode(document), more)

    async def send_bytes(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        """A whole reply, which is JSON."""
        if self.started:
            return
        self.started = True
        self.seen.sent += len(body)
        length = str(len(body)).encode()
        listed = [(b"content-type", b"application/json"), (b"content-length", length)]
        await self._start(status, listed, headers)
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def _start(
        self, status: int, listed: list[tuple[bytes, bytes]], headers: Mapping[str, str]
    ) -> None:
        self.seen.status = status
        if self._shown:
            headers = {**self._shown, **headers}
        if headers:
            listed += [(k.encode("latin-1"), v.encode("latin-1")) for k, v in headers.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": listed})

    def _loss_words(self) -> str:
        return f"{len(self.seen.losses)}; " + ", ".join(self.seen.codes())

    def _loss_headers(self) -> dict[str, str]:
        if not self.seen.losses:
            return {}
        headers = {LOSSES: self._loss_words()[:1000]}
        if self.headers.get(LEDGER):
            headers[LEDGER] = ledger_header(self.seen.losses)
        return headers


class Beating:
    """What keeps a silent stream alive; it begins after the first silence."""

    def __init__(self, silence: float, beat: Callable[[float], Coroutine[Any, Any, None]]) -> None:
        self._silence, self._beat = silence, beat
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(silence / 2, self._begin)

    def _begin(self) -> None:
        self._task = asyncio.ensure_future(self._beat(self._silence / 2))

    def cancel(self) -> None:
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()


class Array:
    """The documents of an event stream as a JSON array, which is Gemini's other form."""

    def __init__(self) -> None:
        self._frames, self._begun = framer("sse"), False

    def feed(self, data: bytes) -> bytes:
        out = [payload for _, payload in self._frames.feed(data)]
        if not out:
            return b""
        head, self._begun = b",\r\n" if self._begun else b"[", True
        return head + b",\r\n".join(out)

    def close(self) -> bytes:
        return b"]" if self._begun else b"[]"


class Normalizing(Transcoder):
    """A stream of the client's own dialect, read and written anew: by way of the canonical tree."""

    def __init__(self, dialect: str, **limits: Any) -> None:
        super().__init__("native", dialect, now=time.time(), ids=Ids(), **limits)
        self._first = Transcoder(dialect, "native", now=time.time(), ids=Ids(), **limits)

    def feed(self, data: bytes) -> bytes:
        return super().feed(self._first.feed(data))

    def close(self) -> bytes:
        return super().feed(self._first.close()) + super().close()

    def fail(self, failure: Failure) -> bytes:
        return super().feed(self._first.fail(failure)) + super().close()


def normalized(value: Json, dialect: Dialect) -> bytes:
    """A response of a server that deviates from its dialect, as the dialect writes it."""
    tree = dialect.read(value, "response")
    log = Ledger(now=time.time(), ids=Ids())
    return encode(dialect.write(replace(tree, dialect="native"), log))


def error_status(result: Result) -> int:
    """The status for an error that came with a good one."""
    status = result.status or 500
    return status if status >= 400 else 500


def place_of(bug: Exception) -> str:
    """Where an error was raised that nobody foresaw; never what was in it."""
    trace = bug.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    line = "" if trace is None else f" at {trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"
    return f"{type(bug).__name__}{line}"


def ledger_header(losses: list[Loss]) -> str:
    """The ledger as JSON in ASCII, as much of it as a header may hold."""
    import json

    out = json.dumps([msgspec.to_builtins(loss) for loss in losses])
    while len(out) > LONGEST:
        losses = losses[: len(losses) // 2]
        out = json.dumps([*(msgspec.to_builtins(loss) for loss in losses), "..."])
    return out


def is_document(data: bytes, dialect: Dialect) -> bool:
    """Whether what comes instead of a stream is a document, or a page."""
    framing = dialect.framings or dialect.framing
    starts = (b"<",) if framing in ("ndjson", "either", "array") else (b"{", b"[", b"<")
    return data.lstrip().startswith(starts)


def with_status(document: Json, status: int) -> Json:
    """An error whose dialect repeats the status in it (Gemini), with that of its reply."""
    error = document.get("error") if isinstance(document, dict) else None
    if isinstance(error, dict) and isinstance(error.get("code"), int):
        return {**document, "error": {**error, "code": status}}
    return document


def error_document(dialect: Dialect, kind: ErrorKind, message: str) -> Json:
    """An error in a dialect."""
    try:
        return dialect.write(Failure(kind, message), Ledger())
    except (Unsupported, DragomanError):
        return {"error": {"type": kind, "message": message}}
