"""One request: from the door to an upstream, and its reply back to the client.

    arrive -> route -> for each upstream: convert -> ask -> reply | stream | error, or the next

Once a byte of the reply has gone out, nothing is tried again: what fails then ends in the client's
own form of an error inside of the stream.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from ..core.reading import encode, parse
from ..core.statuses import kind_of
from ..core.surrogates import well_formed
from ..dialect import Dialect
from ..dialects import get
from ..errors import DragomanError, Lossy, Malformed
from ..exchange import Exchange
from ..ledger import Ledger
from ..model import ErrorKind, Failure, Json, Request, Response, Usage
from ..providers.errors import ProviderError, no_reply, object_in, retry_after, with_type
from ..providers.errors import error_document as hidden
from ..providers.reply import Ids
from ..result import Result
from ..streams.transcoder import Transcoder
from . import config, continuing
from .carrying import MARK, Carrying, turn_keys
from .clients import NOBODY, Refused
from .doors import Door
from .observing import ObservedReply, observed_send, without_keys
from .passing import Passing
from .policies import USER
from .renaming import Renamer
from .sending import Beating, Send, Sending, error_document
from .store import Owned, Store, StoreFailed
from .upstreams import Ask, Incoming, Upstream
from .watching import Seen, usage_of

if TYPE_CHECKING:
    from .app import Gateway

MARK_BYTES = MARK.encode()
AGAIN = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
"""Statuses after which the next upstream is asked."""
LEDGER = "x-dragoman-ledger"
REASONING = "x-dragoman-reasoning"


class Peek(msgspec.Struct):
    """The fields of a request that decide where it goes."""

    model: Any = None
    stream: Any = None


peek = msgspec.json.Decoder(Peek).decode


class Handling:
    """One request of a client."""

    client = NOBODY
    key: str | None = None
    known: Store | None = None
    """What a connection remembers of its own responses."""
    _exchanged: Exchange | None = None
    _make: Callable[[], Exchange] | None = None
    _told: dict[str, Json] | None = None  # a request with what was written before it
    _carrying: Carrying | None = None

    def __init__(
        self, gateway: Gateway, door: Door, headers: Mapping[str, str], send: Send
    ) -> None:
        self.gateway, self.door, self.dialect = gateway, door, door.dialect
        self.headers, self.seen = headers, Seen()
        self.seen.dialect = door.dialect.name
        self._observer = gateway.observer
        if self._observer is not None:
            send = observed_send(self._observer, self.seen, send)
        ledger = LEDGER in headers and bool(headers[LEDGER])
        self.out = Sending(self.dialect, self.seen, send, array=door.array, ledger=ledger)
        """What the client is sent."""

    def close(self) -> None:
        """Let go of what refers back to it, so that a document is gone when its exchange is."""
        if self._exchanged is not None and self.seen.stream:
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
            await self.out.refuse(refused.kind, refused.message, refused.retry_after)
        except Lossy as problem:
            self.seen.note(problem.losses)
            await self.out.refuse("invalid-request", str(problem), status=422)
        except ProviderError as problem:
            await self.fail(problem)
        except StoreFailed as problem:
            await self.out.refuse("overloaded", str(problem), 5.0)
        except DragomanError as problem:
            await self.out.refuse("invalid-request", str(problem))
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
            asked = peek_closely(body, problem)
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
        silences = self.gateway.silences() if stream and self.dialect.keep_alive else None
        # While a stream is silent, also before it begins, the client hears that it is alive.
        beating = None if silences is None else Beating(self.out, silences)
        try:
            if (limit := upstream.limited()) is None:
                return await self._sent(document, upstream, aim, stream, last)
            async with limit:
                return await self._sent(document, upstream, aim, stream, last)
        finally:
            if beating is not None:
                beating.cancel()

    async def _sent(
        self, document: Json, upstream: Upstream, aim: config.Aim, stream: bool, last: bool
    ) -> bool:
        call = Ask(aim.model, stream, self.dialect, self.key, self.headers)
        if self._observer is not None:
            self._observer.upstream_request(self.seen, document)
        try:
            incoming = await upstream.open(document, call)
        except ProviderError:
            if last or self.out.started:
                raise
            return False
        if self._observer is not None:
            incoming = ObservedReply(self._observer, self.seen, incoming, upstream.secrets)
        try:
            if not last and not self.out.started and incoming.status in AGAIN:
                return False
            self.out.shown = upstream.shown(incoming.headers, self.dialect)
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

        def make() -> Exchange:
            return Exchange(
                client=client,
                upstream=upstream.dialect,
                model=model if renamed and (not same or model != asked) else None,
                shown_model=None if same and model == asked else asked,
                fail_on=self._fail_on(),
                carrier=carrying,
                now=time.time(),
                ids=Ids(),
            )

        self._make = make
        written: Json = body
        if (form := continuing.form_of(self.dialect)) is not None:
            written = await self._continued(body, form, same)
        if same and carrying is None and model == asked:
            if self.gateway.config.log_contents:
                self._log_contents("asked", object_in(body))
            return written if written.__class__ is bytes else encode(written)
        exchange = self._exchange
        if carrying is not None and not same:
            tree = exchange.read(written)
            if any(message.role == "assistant" for message in tree.messages):
                carrying.stored = await self._stored(tree)
        result = exchange.request(written, stream=None if same else stream)
        self.seen.note(result.losses)
        if self.gateway.config.log_contents:
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
            found = well_formed(body)
            if found is None or not isinstance(found.value, dict):
                raise Malformed("the body is not a JSON object")
            if found.value.get(form.before) is not None:
                raise Malformed("a request that goes on from another has half of a character in it")
            self._told = found.value
            return body
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
        if self.out.started:
            failure = self.dialect.read(result.document, "error")
            assert isinstance(failure, Failure)
            await self._end_stream(failure)
            return
        await self.out.send_json(result.status or status, result.document, headers)

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
            await self.out.send_json(status, self._explained(result, status).document)
            return
        try:
            if upstream.settings.normalize and not exchange.is_converted:
                body = normalized(value, upstream.dialect)
            parsed = value if exchange.is_converted else None
            result = exchange.response(body, parsed=parsed)
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
        await self.out.send_bytes(result.status or 200, body)

    async def _pass(self, value: dict[str, Json], body: bytes, usage: Usage) -> None:
        """A response of the client's own dialect, as it is."""
        self.seen.input_tokens, self.seen.output_tokens = usage.input_total, usage.output_total
        self._log_contents("replied", value)
        await self._keep_turn(value)
        await self.out.send_bytes(200, body)

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
        self.out.converted = not same
        feed, read, hide = flow.feed, incoming.read, upstream.secrets.hide_bytes
        written = b""
        try:
            while data:
                written = feed(hide(data))
                if renamer is not None:
                    written = renamer.feed(written)
                if not same and flow.ended:
                    break  # what ends the stream goes out with its last frames
                if written or not self.out.started:
                    await self.out.write(written)
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
            await self.out.send_json(status, self._explained(result, status).document)
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
            await self.out.end(last)
            return
        response = flow.response
        self._count(response)
        self.seen.note(flow.losses)
        if flow.reader.failure is not None:
            self.seen.error = f"stream: {flow.reader.failure.kind}"
        else:
            self._log_contents("replied", flow.document)
            await self._keep_turn(flow.document)
        await self.out.end(last + self.out.comment())

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

    async def _end_stream(self, failure: Failure) -> None:
        """An error after the stream began: in the form that it has inside of one."""
        await self.out.end(self._exchange.transcoder().fail(failure))

    async def fail(self, problem: ProviderError) -> None:
        """The upstream gave no reply."""
        kind: ErrorKind = "server" if problem.kind == "other" else problem.kind
        self.seen.error = f"upstream: {problem.kind}: {problem.message[:200]}"
        if self.out.started:
            await self._end_stream(Failure(kind, problem.message))
            return
        status = 504 if kind == "timeout" else 502 if kind == "server" else None
        await self.out.refuse(kind, problem.message, problem.retry_after, status)


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


def peek_closely(body: bytes, problem: Exception) -> Peek:
    """The same of what the decoder refuses: half of a character, where a client has cut a text
    in two, or a byte order mark.
    """
    try:
        found = well_formed(body)
        value = parse(body) if found is None else found.value
    except Malformed:
        value = None
    if not isinstance(value, dict):
        raise Malformed(f"the body is not a JSON object: {problem}") from None
    return Peek(value.get("model"), value.get("stream"))


def is_document(data: bytes, dialect: Dialect) -> bool:
    """Whether what comes instead of a stream is a document, or a page."""
    framing = dialect.framings or dialect.framing
    starts = (b"<",) if framing in ("ndjson", "either", "array") else (b"{", b"[", b"<")
    return data.lstrip().startswith(starts)
