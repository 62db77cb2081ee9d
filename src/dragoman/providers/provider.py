"""Provider: a model that is called over HTTP in the caller's dialect.

The caller's dialect and the upstream's are any two of dragoman's. If they are the same, nothing is
converted: request and response are passed through unchanged.

A provider holds connections and no conversation: the history belongs to the caller, and what the
history cannot hold is in ``Reply.capsules``. Only with ``remember`` it holds the last requests, so
that the next ones are converted where they are new (``Sessions``). Nothing is retried without
``retries``; ``ProviderError.retry_after`` is what the upstream asks for.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any, Self

from .. import dialects
from ..core import duplicates
from ..core.endpoint import Auth
from ..core.reading import as_dict, encode, load
from ..errors import Malformed, Unsupported
from ..exchange import Exchange
from ..ledger import Ledger
from ..model import Json
from ..session import Sessions
from .client import LIMIT, BlockingClient, Client, HttpReply, Message
from .endpoints import resolve, stream_fields
from .errors import BadReply, ProviderError, failed, no_reply, object_in, request_id
from .reply import Ids, Reply, history_key, told
from .retries import Retries
from .secrets import Headers
from .signing import Sign
from .stream import AsyncStream, Flow, Stream

JSON = {"content-type": "application/json", "accept": "application/json"}


class Provider:
    """A model that is called over HTTP.

    ``upstream`` is the dialect of the server, ``dialect`` the caller's. ``url`` and
    ``key`` come from the environment if they are not given (``docs/providers.md`` has the names);
    ``headers`` are added to every request. ``platform`` selects another URL of the same API
    (``vertex``), ``settings`` the values in braces in a URL (``region``, ``project``), and ``auth``
    who signs requests: ``aws``, ``google``, or a function of url, body and headers that returns
    more headers. ``extra`` are fields of the *upstream's* dialect that are added to every request
    unchanged, for what the caller's dialect cannot express.
    ``fail_on`` names losses of a request that raise ``Lossy`` before anything is sent.
    ``timeout`` is for a whole response, or for the pause between two pieces of a stream,
    ``connect_timeout`` for a connection, and ``total_timeout`` for a whole stream, with retries and
    the time of its reader; all in seconds, and None is no limit. ``limit`` is how many bytes a
    response or a frame may have, decompressed; a stream may have 16 times as many. ``retries`` is
    how often a failed request is sent again, a number or ``Retries``. ``capsule_key`` signs the
    capsules of responses, and rejects those that it did not sign. ``remember`` is how many bytes of
    the last requests are kept in memory, so that each request of a long conversation costs only
    what is new in it; all that is asked through this provider shares them.
    """

    def __init__(
        self,
        upstream: str = "openai-chat",
        *,
        url: str | None = None,
        key: str | None = None,
        model: str | None = None,
        dialect: str = "openai-chat",
        headers: Mapping[str, str] | None = None,
        platform: str | None = None,
        settings: Mapping[str, str] | None = None,
        auth: Auth | Sign | None = None,
        extra: Mapping[str, Json] | None = None,
        fail_on: Iterable[str] = (),
        timeout: float | None = 600.0,
        connect_timeout: float | None = 10.0,
        total_timeout: float | None = None,
        limit: int = LIMIT,
        retries: int | Retries = 0,
        capsule_key: bytes | None = None,
        remember: int = 0,
    ) -> None:
        self._upstream = dialects.get(upstream)
        self._caller = dialects.get(dialect)
        if platform is None and any(row.platform == upstream for row in self._upstream.endpoints):
            platform = upstream  # "vertex" is another name for Gemini's API, and an address of it
        self._address = resolve(
            self._upstream, url, key, headers, platform=platform, settings=settings, auth=auth
        )
        self._headers = Headers(JSON | self._address.headers)
        streamed = self._upstream.stream_headers["content-type"]
        accept = {"accept": f"{streamed}, application/json"}
        self._stream_headers = Headers(JSON | accept | self._address.headers)
        self._extra = dict(extra or {})
        self._fail_on = fail_on if isinstance(fail_on, str) else tuple(fail_on)
        self._capsule_key = capsule_key
        self.model = model
        self._lock = threading.Lock()  # of the sessions, which are for one thread at a time
        self._sessions: Sessions | None = None
        if remember and self._caller.model_key and self.dialect != self.upstream:
            self._sessions = Sessions(
                source=self.dialect, target=self.upstream, fail_on=self._fail_on, budget=remember
            )

        again = Retries(retries) if isinstance(retries, int) else retries

        def client() -> Client:
            return Client(
                timeout=timeout,
                connect_timeout=connect_timeout,
                total_timeout=total_timeout,
                limit=limit,
                retries=again,
            )

        self._client = client()
        self._blocking = BlockingClient(client)

    @property
    def upstream(self) -> str:
        """The dialect of the server."""
        return self._upstream.name

    @property
    def dialect(self) -> str:
        """The dialect of the caller."""
        return self._caller.name

    def __repr__(self) -> str:
        return f"<Provider: {self.upstream} at {self._address.host}, asked in {self.dialect}>"

    # -- asking -----------------------------------------------------------------------------

    def create(
        self,
        messages: list[Json] | str,
        *,
        tools: list[Json] | None = None,
        tool_choice: Json = None,
        model: str | None = None,
        capsules: Mapping[str, Json] | None = None,
        **fields: Json,
    ) -> Reply:
        """The response to a history. All arguments, ``fields`` too, are in the caller's dialect."""
        document = self._document(messages, tools, tool_choice, model, fields)
        return self.request(document, capsules=capsules)

    async def acreate(
        self,
        messages: list[Json] | str,
        *,
        tools: list[Json] | None = None,
        tool_choice: Json = None,
        model: str | None = None,
        capsules: Mapping[str, Json] | None = None,
        **fields: Json,
    ) -> Reply:
        """``create`` for asyncio."""
        document = self._document(messages, tools, tool_choice, model, fields)
        return await self.arequest(document, capsules=capsules)

    def request(
        self, document: Json | bytes, *, capsules: Mapping[str, Json] | None = None
    ) -> Reply:
        """The response to a whole request document of the caller's dialect."""
        exchange = self._prepare(document, capsules)
        return self._reply(exchange, self._blocking.post(self._message(exchange)))

    async def arequest(
        self, document: Json | bytes, *, capsules: Mapping[str, Json] | None = None
    ) -> Reply:
        """``request`` for asyncio."""
        exchange = self._prepare(document, capsules)
        return self._reply(exchange, await self._client.post(self._message(exchange)))

    # -- asking for a stream ----------------------------------------------------------------

    def stream(
        self,
        messages: list[Json] | str,
        *,
        tools: list[Json] | None = None,
        tool_choice: Json = None,
        model: str | None = None,
        capsules: Mapping[str, Json] | None = None,
        **fields: Json,
    ) -> Stream:
        """The events of the response to a history, as they arrive; then ``.reply``."""
        document = self._document(messages, tools, tool_choice, model, fields)
        exchange = self._prepare(document, capsules, stream=True)
        return self._stream(exchange, self._add_counts(exchange))

    def astream(
        self,
        messages: list[Json] | str,
        *,
        tools: list[Json] | None = None,
        tool_choice: Json = None,
        model: str | None = None,
        capsules: Mapping[str, Json] | None = None,
        **fields: Json,
    ) -> AsyncStream:
        """``stream`` for asyncio: ``async for event in provider.astream(...)``."""
        document = self._document(messages, tools, tool_choice, model, fields)
        exchange = self._prepare(document, capsules, stream=True)
        return self._astream(exchange, self._add_counts(exchange))

    def stream_request(
        self, document: Json | bytes, *, capsules: Mapping[str, Json] | None = None
    ) -> Stream:
        """The events of the response to a whole request document of the caller's dialect."""
        return self._stream(self._prepare(document, capsules, stream=True))

    def astream_request(
        self, document: Json | bytes, *, capsules: Mapping[str, Json] | None = None
    ) -> AsyncStream:
        """``stream_request`` for asyncio."""
        return self._astream(self._prepare(document, capsules, stream=True))

    def _stream(self, exchange: Exchange, counts_added: bool = False) -> Stream:
        worker = self._blocking.worker()
        return Stream(self._flow(exchange, worker.client, counts_added), worker, self._blocking)

    def _astream(self, exchange: Exchange, counts_added: bool = False) -> AsyncStream:
        return AsyncStream(self._flow(exchange, self._client, counts_added))

    def _flow(self, exchange: Exchange, client: Client, counts_added: bool) -> Flow:
        message = self._message(exchange, stream=True)
        return Flow(exchange, message, self._address.secrets, client, counts_added)

    def _add_counts(self, exchange: Exchange) -> bool:
        """Ask for counts of tokens, also where a stream has them only for those who ask.

        Whether they were added: the caller, who did not ask, does not get them among the events.
        """
        return exchange.add(stream_fields(self._upstream))

    # -- the request ------------------------------------------------------------------------

    def _document(
        self,
        messages: list[Json] | str,
        tools: list[Json] | None,
        tool_choice: Json,
        model: str | None,
        fields: dict[str, Json],
    ) -> dict[str, Json]:
        # A list of our own: the caller's grows while the reply still refers to it.
        key = history_key(self._caller)
        history: Json = list(messages) if not isinstance(messages, str) else messages
        if isinstance(messages, str) and key != "input":  # which may be a string itself
            history = told(messages, self._caller)
        document: dict[str, Json] = {key: history, "tools": tools, "tool_choice": tool_choice}
        document = {k: v for k, v in document.items() if v is not None} | fields
        if model is not None:
            document = with_model_named(document, self._caller.model_key, model)
        return document

    def _prepare(
        self,
        document: Json | bytes,
        capsules: Mapping[str, Json] | None,
        *,
        stream: bool = False,
    ) -> Exchange:
        value = load(document)
        asked = dict(as_dict(value, ""))
        key = self._caller.model_key
        if self.model is not None and key:
            asked = with_model_named(asked, key, self.model)
        if asked.get("stream") and not stream:
            raise Unsupported("the request has stream=true; use stream() instead")
        if asked.get("stream") is False and stream:
            raise Unsupported("the request has stream=false; use create() or request() instead")
        if stream and "stream" in stream_fields(self._caller):
            asked["stream"] = True
        twice = Ledger(target=self.upstream)
        duplicates.note(document, value, twice)
        twice.enforce(self._fail_on)
        exchange = self._exchange(asked, capsules, stream)
        exchange.losses = (*twice.losses, *exchange.losses)
        if stream and exchange.is_converted:
            exchange.add(stream_fields(self._upstream))
        return exchange

    def _exchange(
        self, asked: dict[str, Json], capsules: Mapping[str, Json] | None, stream: bool
    ) -> Exchange:
        options: dict[str, Any] = {
            "client": self.dialect,
            "upstream": self.upstream,
            "capsules": capsules,
            "key": self._capsule_key,
            "ids": Ids(),
        }
        if self._sessions is not None:
            with self._lock:
                data = encode(asked)
                exchange = Exchange(**options, session=self._sessions.session_of(data))
                try:
                    exchange.request(data, stream=stream)
                finally:
                    self._sessions.shrink()
            return exchange
        # A model that has no place in the caller's document is named beside it.
        options["model"] = None if self._caller.model_key else self.model
        exchange = Exchange(**options, fail_on=self._fail_on)
        exchange.request(asked, stream=stream)
        return exchange

    def _message(self, exchange: Exchange, *, stream: bool = False) -> Message:
        address, model_key = self._address, self._upstream.model_key
        document = exchange.outline | self._extra
        model = document.get(model_key)
        if model is None and address.row.model_in_path:  # the body names none
            model = self.model or model_named(exchange.asked, self._caller.model_key)
        return Message(
            address.url_for(model if isinstance(model, str) else None, stream),
            encode(address.row.body(document, stream, model_key)),
            self._stream_headers if stream else self._headers,
            address.sign,
        )

    # -- being answered ---------------------------------------------------------------------

    def _reply(self, exchange: Exchange, reply: HttpReply) -> Reply:
        # An error is made where the body is known and raised where it is not: the body may repeat
        # the key, and some tracebacks show the variables of every frame.
        outcome = self._outcome(exchange, reply)
        if isinstance(outcome, ProviderError):
            raise outcome
        return outcome

    def _outcome(self, exchange: Exchange, reply: HttpReply) -> Reply | ProviderError:
        secrets = self._address.secrets
        heard = object_in(reply.body)
        if reply.status >= 400 or (heard is not None and heard.get("error")):
            # A reply that failed may come with any status, as some gateways have it.
            return failed(*reply, self._upstream, self._caller, secrets)
        if reply.status >= 300 or heard is None:
            return no_reply(*reply, secrets)
        named = request_id(reply.headers, secrets)
        exchange.now = time.time()
        try:
            result = exchange.response(heard)
        except Malformed as problem:
            what = secrets.hide(f"not a response of {self.upstream}: {problem}")
            return BadReply(what, status=reply.status, request_id=named)
        twice = duplicates.losses(reply.body, heard)
        return Reply(result.document, heard, (*twice, *result.losses), named, exchange)

    # -- the end ----------------------------------------------------------------------------

    def close(self) -> None:
        """Close what the methods without an ``a`` use. ``aclose`` closes everything."""
        self._blocking.close()

    async def aclose(self) -> None:
        await self._client.close()
        await asyncio.to_thread(self._blocking.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def model_named(document: Json, key: str) -> Json:
    """The model that a request names, where it does; ``a/b``: in an object of the request."""
    for part in key.split("/"):
        document = document.get(part) if document.__class__ is dict else None
    return document


def with_model_named(document: dict[str, Json], key: str, model: str) -> dict[str, Json]:
    """A request that names a model, where it names none; ``a/b``: in an object of the request."""
    outer, _, inner = key.partition("/")
    if inner:
        held = document.get(outer) or {}
        if not isinstance(held, dict) or held.get(inner) is not None:
            return document
        return {**document, outer: {**held, inner: model}}
    if document.get(key) is not None:
        return document
    return {key: model} | {k: v for k, v in document.items() if k != key}
