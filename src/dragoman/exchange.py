"""One exchange: a request for an upstream, and its reply for the client.

A reply alone does not tell what its request was. A tool that was renamed for the upstream is called
by its new name, a custom (freeform) tool that was written as a function is called as a function,
the tools of a namespace by their merged names. So these changes are remembered, and undone in the
reply:

    client ── request ──> names, kinds, ids, settings ──> upstream
           <── response, transcoder, error ─────────────

- *names*: each call is to the tool that the client defined, in its namespace;
- *kinds*: a custom call is custom again, its text unescaped as it arrives;
- *ids*: an id invented for a reply or a call is unique in the conversation;
- *settings*: where the client's dialect repeats the request in its replies, they are the client's;
- *input tokens*: where a stream begins with their number and the upstream sends it only at the end,
  it begins with an estimate, and the ledger reports it.

There are no side effects: no socket, no clock, no randomness. An exchange refers to the request
that it was given and copies nothing of the history. With a ``Session`` for all exchanges of a
conversation, a request costs only what is new in it, and nothing else is different.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec.structs import replace

from . import capsule as capsuling
from . import dialects
from .convert import join, with_halves, with_model
from .core import duplicates
from .core.models import Models, given
from .core.reading import compact, decode, encode, load
from .core.restoring import Restorer, restore, tools_of, written
from .core.source import with_source
from .core.statuses import kind_of, status_of
from .core.surrogates import Whole, parse_leniently, well_formed
from .dialect import Dialect
from .errors import DragomanError, Malformed, Unsupported
from .ledger import Ledger, Loss
from .model import (
    ErrorKind,
    Failure,
    Json,
    Media,
    Message,
    Reasoning,
    Refusal,
    Request,
    Response,
    Text,
    ToolCall,
    ToolResult,
    Tree,
    Usage,
)
from .result import Result
from .session import Again, Session
from .streams.events import Begin, Event

if TYPE_CHECKING:
    from .streams.transcoder import Transcoder

_CHARACTERS = 4
"""of text in a token, about: OpenAI and Anthropic both give this figure for English"""
_MEDIUM = 1_500
"""tokens of an image, about: https://platform.claude.com/docs/en/build-with-claude/vision"""
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_NOTHING: frozenset[str] = frozenset()
_SHOWN = 300
"""How much of an error that is not JSON is shown in its message."""


class Carrier(Protocol):
    """What a caller changes in the trees of an exchange; each change is in the ledger.

    A gateway takes what the client's dialect cannot hold out of a reply, and puts it into the next
    request.
    """

    def request(self, tree: Request, log: Ledger) -> Request: ...

    def response(self, tree: Response, log: Ledger) -> Response: ...

    def event(self, event: Event) -> Event: ...

    def hears(self, index: int) -> bool:
        """Whether it must be told of every delta of a block."""
        ...


class Exchange:
    """One request of a client's dialect to an upstream of another, and its reply.

    >>> exchange = Exchange(client="openai-chat", upstream="anthropic-messages")
    >>> tool = {"type": "function", "function": {"name": "files.read", "parameters": {}}}
    >>> asked = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": [tool]}
    >>> sent = exchange.request(asked).document
    >>> sent["tools"][0]["name"]
    'files_read_601e4eb608'
    >>> call = {"type": "tool_use", "id": "c1", "name": "files_read_601e4eb608", "input": {}}
    >>> reply = {"id": "m1", "model": "m", "role": "assistant", "content": [call]}
    >>> exchange.response(reply).document["choices"][0]["message"]["tool_calls"][0]["function"]
    {'name': 'files.read', 'arguments': '{}'}

    ``client`` and ``upstream`` are dialects; where they are the same, documents pass as they are.
    ``model`` replaces the model that the client names; ``models`` has rows of the caller's own for
    the table of what depends on the model. ``fail_on`` names losses of the *request* that raise
    ``Lossy``. ``capsules`` is what earlier exchanges of the conversation gave as
    ``capsules``; ``key`` signs them and refuses those that it did not sign, ``capsule_limit`` is
    how many bytes of JSON each may have. ``now`` and ``ids`` supply what a reply may need, as in
    ``convert``. ``carrier`` changes the trees before they are written, ``shown_model`` is the model
    that replies name instead of the upstream's.

    ``session`` is for all exchanges of a conversation: a ``Session`` from client to upstream, which
    has ``model``, ``models`` and ``fail_on``. Requests that are bytes and have no capsule cost what
    is new in them then.
    """

    def __init__(
        self,
        *,
        client: str | Dialect,
        upstream: str | Dialect,
        model: str | None = None,
        models: Models | Mapping[str, Any] | None = None,
        fail_on: Iterable[str] = (),
        capsules: Mapping[str, Json] | None = None,
        now: float | None = None,
        ids: Callable[[str], str] | None = None,
        key: bytes | None = None,
        capsule_limit: int = capsuling.LIMIT,
        session: Session | None = None,
        carrier: Carrier | None = None,
        shown_model: str | None = None,
    ) -> None:
        self._carrier, self._shown_model = carrier, shown_model
        self._client, self._upstream = _dialect(client), _dialect(upstream)
        if session is not None and (session.source, session.target) != (self.client, self.upstream):
            raise Unsupported(f"{session!r} is not one from {self.client} to {self.upstream}")
        if session is not None:
            if model is not None or models is not None or fail_on != ():
                raise Unsupported("model, models and fail_on are those of the session")
            model, models, fail_on = session.model, session.models, session.fail_on
        self._session = session
        self._model, self._models = model, given(models)
        self._fail_on = fail_on if isinstance(fail_on, str) else tuple(fail_on)
        self._kept = dict(capsules or {})
        self._key, self._capsule_limit = key, capsule_limit
        self.now, self.ids = now, ids
        self._tree: Request | None = None
        self._loaded: tuple[Json, Whole | None] | None = None
        self._names: Mapping[str, tuple[str | None, str]] = {}
        self._custom = self._search = self._own_names = _NOTHING
        self._original: Json = None  # the reply as the upstream gave it
        self._replied: Json = None  # the reply as the client got it
        self._reply_losses: tuple[Loss, ...] = ()
        self._flow: Transcoder | None = None
        self._asked: Json = None  # of a session, which owns it; or that of the caller
        self._asked_as: bytes | None = None
        self._sent: Json = None
        self._sent_as: bytes | None = None
        self.reply: Response | None = None
        """a reply that was converted, as the upstream gave it"""
        self.losses: tuple[Loss, ...] = ()
        """what became of the request on its way to the upstream"""

    def __repr__(self) -> str:
        return f"<Exchange: {self.client} with {self.upstream}>"

    @property
    def client(self) -> str:
        """The dialect of the client."""
        return self._client.name

    @property
    def upstream(self) -> str:
        """The dialect of the model's server."""
        return self._upstream.name

    @property
    def is_converted(self) -> bool:
        """Whether the two dialects differ."""
        return self._client.name != self._upstream.name

    @property
    def asked(self) -> Json:
        """The request, in the client's dialect."""
        if self._asked_as is not None:
            self._asked, self._asked_as = decode(self._asked_as), None
        return self._asked

    @asked.setter
    def asked(self, value: Json) -> None:
        self._asked, self._asked_as = value, None

    @property
    def sent(self) -> Json:
        """The request, in the upstream's dialect; the very same where that is the client's."""
        if self._sent_as is not None:
            self._sent, self._sent_as = decode(self._sent_as), None
        return self._sent

    @sent.setter
    def sent(self, value: Json) -> None:
        self._sent, self._sent_as = value, None

    @property
    def outline(self) -> dict[str, Json]:
        """The fields of ``sent``; those that a session wrote are encoded (``msgspec.Raw``)."""
        if self._sent_as is None:
            return dict(self._sent)
        raws = _fields(self._sent_as)
        heavy = {k: memoryview(raw)[:1].tobytes() in (b"{", b"[") for k, raw in raws.items()}
        return {k: raw if heavy[k] else decode(raw) for k, raw in raws.items()}

    def add(self, fields: Mapping[str, Json]) -> bool:
        """Add fields to what is sent, where it has none of that name; whether there were any."""
        known = self.outline
        more = {key: value for key, value in fields.items() if key not in known}
        if more and self._sent_as is not None:
            self._sent_as = encode(known | more)
        elif more:
            self.sent = known | more
        return bool(more)

    # -- there ------------------------------------------------------------------------------

    def read(self, doc: Json | bytes) -> Request:
        """The client's request as a tree, for callers who look at it first.

        ``request`` with the same document must follow; it is not read again.
        """
        self._forget()
        self._loaded = _loaded(doc)
        tree = self._client.read(self._loaded[0], "request")
        assert isinstance(tree, Request)
        self._tree = tree
        return tree

    def request(self, doc: Json | bytes, *, stream: bool | None = None) -> Result:
        """The client's request in the upstream's dialect.

        ``stream`` is whether it requests a stream, if that is not in the document but in the path,
        as in Gemini's and Bedrock's APIs.
        """
        if self._carrier is None and (found := self._continued(doc, stream)) is not None:
            return found
        value, halves = self._loaded if self._loaded is not None else _loaded(doc)
        read = self._tree if self._loaded is not None else None
        self._loaded = None
        self._forget()
        log = Ledger(models=self._models, target=self.upstream)
        duplicates.note(doc, value, log)
        if not self.is_converted and self._model is None and self._carrier is None:
            log.enforce(self._fail_on)
            self.asked, self.sent, self.losses = value, value, tuple(log.losses)
            return Result(value if halves is None else halves.restored(value)[0], self.losses)
        tree = read if read is not None else self._client.read(value, "request")
        assert isinstance(tree, Request)
        if not self.is_converted:
            tree = with_source(tree, value, self._client)
        if self._model is not None:
            tree = with_model(tree, self._model)
        if self._carrier is not None:
            tree = self._carrier.request(tree, log)
        if stream is not None:
            tree = replace(tree, params=replace(tree.params, stream=stream or None))
        capsule = self._kept.get(self.upstream) if self.is_converted else None
        log.restores = capsule is not None
        if capsule is not None:
            capsuling.check(capsule, self._upstream, "request", self._key, self._capsule_limit)
        sent = self._upstream.write(tree, log)
        if capsule is not None:
            upstream, client = self._upstream, self._client
            sent = capsuling.open_(capsule, sent, upstream, "request", log, tree, client, value)
            sent = capsuling.refit(sent, self._upstream, tree, log)
        if halves is not None:
            sent = with_halves(sent, halves, not self.is_converted, log)
        log.enforce(self._fail_on)
        self._tree, self._names = tree, log.tool_names
        self._know_tools()
        self._asked, self._asked_as, self._sent, self._sent_as = value, None, sent, None
        self.losses = tuple(log.losses)
        return Result(sent, self.losses, restored=tuple(log.restored))

    def _continued(self, doc: Json | bytes, stream: bool | None) -> Result | None:
        """The request by the session of the conversation, if there is one and it can."""
        session = self._session
        if session is None or doc.__class__ is not bytes or not self.is_converted:
            return None
        if self._kept.get(self.upstream) is not None:
            return None

        def change(tree: Tree) -> Tree:
            assert isinstance(tree, Request)
            if stream is None:
                return tree
            return replace(tree, params=replace(tree.params, stream=stream or None))

        turn = session.turn(doc, change)
        if turn is None:
            return None
        self._forget()
        assert isinstance(turn.tree, Request)
        self._tree, self._names = turn.tree, turn.log.tool_names
        self._know_tools()
        self._asked, self._asked_as = turn.value, doc
        self._sent, self._sent_as = None, turn.data
        self.losses = (*session.duplicates(doc, turn.value), *turn.log.losses)
        return Again(turn.data, self.losses)

    def close(self) -> None:
        """Let go of the request and its reply: with its stream an exchange refers to itself, and
        what they hold would stay until the garbage collector comes by.
        """
        self._forget()
        self.asked = self.sent = self._loaded = None

    def _forget(self) -> None:
        """Forget an earlier request and its reply, if there was one."""
        if self._tree is self._original is self._flow is None and not self.losses:
            return
        self._tree, self._names, self._flow = None, {}, None
        self._custom = self._search = self._own_names = _NOTHING
        self._original = self._replied = self.reply = None
        self.losses = self._reply_losses = ()
        self.__dict__.pop("input_tokens", None)

    @cached_property
    def input_tokens(self) -> int:
        """An estimate of the request's tokens: four characters of text each."""
        tree = self._tree
        if tree is None:
            if self._asked is None:
                return 0
            read = self._client.read(self._asked, "request")
            assert isinstance(read, Request)
            tree = read
        return estimate(tree)

    # -- and back ---------------------------------------------------------------------------

    def response(self, doc: Json | bytes, *, parsed: Json = None) -> Result:
        """The upstream's reply in the client's dialect.

        ``status`` is 200, or that of the error which a failed reply is. ``parsed`` is what the
        bytes say, if the caller has read them.
        """
        value, halves = _loaded(doc) if parsed is None else (parsed, None)
        log = self._ledger()
        duplicates.note(doc, value, log)
        if not self.is_converted:
            self._original = self._replied = value
            reply = value if halves is None else halves.restored(value)[0]
            return Result(reply, tuple(log.losses), status=200)
        tree = self._upstream.read(value, "response")
        assert isinstance(tree, Response)
        self.reply = tree
        reply = self._client.write(self._repeat(self.restore(tree, log), log), log)
        if halves is not None:
            reply = with_halves(reply, halves, False, log)
        self._original, self._replied = value, reply
        self._reply_losses = tuple(log.losses)
        status = 200 if tree.failure is None else self._status(tree.failure.kind)
        return Result(reply, self._reply_losses, status=status)

    def transcoder(self, **options: Any) -> Transcoder:
        """The upstream's stream in the client's dialect: a ``Transcoder`` that knows the request.

        Options are those of ``Transcoder``; a Chat client gets token counts if its request asks for
        them.
        """
        from .streams.transcoder import Transcoder  # not needed by those who convert documents

        told = {"usage": _asks_for_counts(self._asked), "now": self.now, "ids": self._ids()}
        options = told | {"models": self._models} | options
        amend = _Amend(self)
        flow = self._flow = Transcoder(self.upstream, self.client, amend=amend, **options)
        for log in (flow.log, flow.writer.aside):
            self._tell(log)
        if flow.writer.counts_first and self._asked is not None:
            amend.estimate = self._estimate
        return flow

    def error(self, doc: Json | bytes, status: int) -> Result:
        """The upstream's error in the client's dialect; ``result.status`` is its HTTP status.

        Anything else than an error document (an HTML page, an empty body) is an error too: its
        beginning is the message.
        """
        value, tree = _failure(doc, self._upstream)
        if not self.is_converted and tree.dialect is not None:
            return Result(value, (), status=status)
        kind = kind_of(tree.kind, status)
        log = self._ledger()
        spelled = replace(
            tree, kind=kind, message=tree.message or "the upstream reported no reason"
        )
        document = self._client.write(spelled, log)
        return Result(document, tuple(log.losses), status=self._status(kind))

    def _status(self, kind: ErrorKind) -> int:
        return status_of(kind, self._client.statuses)

    def _ledger(self) -> Ledger:
        return self._tell(Ledger(self.now, self._ids(), self._models, self.client))

    def _ids(self) -> Callable[[str], str] | None:
        """What makes ids for a reply: the caller's maker, or one that counts on.

        Claude Code treats two replies with one id as one. So an invented id contains the number of
        the turn, and is unique in a conversation.
        """
        if self.ids is not None or self._tree is None:
            return self.ids
        turn, taken, number = len(self._tree.messages), _CallIds(self._tree.messages), 0

        def made(prefix: str) -> str:
            nonlocal number
            number += 1
            while (name := f"{prefix}_{turn}_{number}") in taken:
                number += 1
            return name

        return made

    def _tell(self, log: Ledger) -> Ledger:
        """Give the writer of a reply the call ids and tool names of the conversation."""
        if self._tree is not None:
            log.taken = _CallIds(self._tree.messages)
            log.own_names = self._own_names
        return log

    def restore(self, tree: Response, log: Ledger | None = None) -> Response:
        """A reply with the names and kinds of tools that the client knows."""
        tree = restore(tree, self._names, self._custom, log, search=self._search)
        if self._shown_model is not None:
            tree = replace(tree, model=self._shown_model)
        if self._carrier is not None:
            tree = self._carrier.response(tree, log or Ledger())
        return tree

    def _know_tools(self) -> None:
        """The client's tools that are no functions, under the names that the upstream knows."""
        assert self._tree is not None
        tools = tuple(tools_of(self._tree))
        self._own_names = frozenset(tool.name for tool in tools) if tools else _NOTHING
        kinds = {tool.kind for tool in tools}
        if "custom" in kinds:
            self._custom = written(self._tree, self._names, "custom")
        if "search" in kinds:
            self._search = written(self._tree, self._names, "search")

    def _repeat(self, tree: Response, log: Ledger) -> Response:
        """A reply whose settings, where replies repeat them, are those that the client sent."""
        told = tree.echo.fields if tree.echo is not None else {}
        sent = self.sent if told and self.sent.__class__ is dict else {}
        if new := [key for key, value in told.items() if sent.get(key) != value]:
            why = f"settings as {self.upstream} reports them: {', '.join(new)}"
            log.dropped("response.echo", tree.at, why)
        echo = self._client.echo(self._asked)
        if echo is not None and self._asked_as is not None:  # the session's, which nobody changes
            echo = replace(echo, fields=decode(encode(echo.fields)))
        return tree if echo is None and tree.echo is None else replace(tree, echo=echo)

    def _estimate(self, tree: Response, log: Ledger) -> Response:
        if tree.usage is not None:
            return tree
        why = f"an estimate of {self.input_tokens} input tokens; the upstream sends its counts last"
        log.invented("stream.usage", "", why)
        return replace(tree, usage=Usage(self.input_tokens))

    # -- across turns -----------------------------------------------------------------------

    @property
    def capsules(self) -> dict[str, Json]:
        """What the upstream requires in the next request and the client's history cannot hold.

        Plain JSON, to be kept beside the history and given to the next exchange. It belongs to the
        history with the reply appended. There is one capsule for each upstream dialect; those of
        others are passed on unchanged.
        """
        if self._flow is not None and self._flow.ended and self._flow.response.failure is None:
            self._original, self._replied = self._flow.reader.document(), self._flow.document
            self._reply_losses = self._flow.losses
        if self._replied is None or not self.loses_reasoning(self._reply_losses):
            return self.kept
        held = join(self.asked, self._replied, dialect=self.client).document
        return self.capsules_for(self._original, held)

    @property
    def kept(self) -> dict[str, Json]:
        """The capsules that the exchange was given."""
        return dict(self._kept)

    def loses_reasoning(self, losses: Iterable[Loss]) -> bool:
        """Whether a reply had signed or encrypted reasoning that the client does not get."""
        return self.is_converted and any(loss.what == "reasoning.signature" for loss in losses)

    def capsules_for(self, original: Json, held: Json) -> dict[str, Json]:
        """``capsules``, given the upstream's reply and the history that the client holds."""
        known = join(self.sent, original, dialect=self.upstream).document
        signed = capsuling.make(
            known,
            held,
            self._upstream,
            self._client,
            "request",
            models=self._models,
            converted=False,
            key=self._key,
        )
        return self._kept | {self.upstream: signed}


class _Amend:
    """What ``Transcoder`` does to a reply because of its request."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        names, custom, search = exchange._names, exchange._custom, exchange._search
        knows = names or custom or search
        self.restorer = Restorer(names, custom, search=search) if knows else None
        self.estimate: Callable[[Response, Ledger], Response] | None = None
        self.notes = Ledger(target=exchange.client)

    def event(self, event: Event) -> Iterable[Event]:
        if event.__class__ is Begin:
            assert isinstance(event, Begin)
            tree = self.exchange._repeat(event.response, Ledger())
            if self.estimate is not None:
                tree = self.estimate(tree, self.notes)
            shown = self.exchange._shown_model
            if shown is not None:
                tree = replace(tree, model=shown)
            return (Begin(tree),)
        events = (event,) if self.restorer is None else self.restorer.event(event)
        carrier = self.exchange._carrier
        return events if carrier is None else [carrier.event(each) for each in events]

    def hears(self, index: int) -> bool:
        carrier = self.exchange._carrier
        return carrier is not None and carrier.hears(index)

    def response(self, tree: Response, log: Ledger) -> Response:
        log.losses += self.notes.losses
        return self.exchange._repeat(self.exchange.restore(tree, log), log)


class _CallIds(Container[str]):
    """The ids of the calls of a conversation, collected when first needed."""

    def __init__(self, messages: Iterable[Message]) -> None:
        self.messages = messages

    @cached_property
    def ids(self) -> frozenset[str | None]:
        blocks = (block for message in self.messages for block in message.content)
        return frozenset(
            block.id if isinstance(block, ToolCall) else block.call_id
            for block in blocks
            if isinstance(block, ToolCall | ToolResult)
        )

    def __contains__(self, name: object) -> bool:
        return name in self.ids


def _dialect(given: str | Dialect) -> Dialect:
    return given if isinstance(given, Dialect) else dialects.get(given)


def _asks_for_counts(asked: Json) -> bool:
    """Whether an OpenAI Chat client requests the chunk of token counts, which has no choices."""
    options = asked.get("stream_options") if asked.__class__ is dict else None
    return isinstance(options, dict) and options.get("include_usage") is True


def estimate(tree: Request) -> int:
    """An estimate of the tokens of a request."""
    size, media = 0, 0
    for tool in tree.tools or ():
        size += len(tool.name) + len(tool.description or "") + len(compact(tool.schema))
    waiting = [block for message in tree.messages for block in message.content]
    while waiting:
        block = waiting.pop()
        if isinstance(block, Text | Refusal):
            size += len(block.text)
        elif isinstance(block, ToolCall):
            size += len(block.name) + len(block.arguments)
        elif isinstance(block, ToolResult):
            waiting += block.content
        elif isinstance(block, Reasoning):
            size += sum(map(len, (*block.content, *block.summary)))
        elif isinstance(block, Media):
            media += 1
    return size // _CHARACTERS + media * _MEDIUM + 1


def _loaded(doc: Json | bytes) -> tuple[Json, Whole | None]:
    """A document, and its lone surrogates."""
    try:
        return load(doc), None
    except Malformed:
        if (found := well_formed(doc)) is None:
            raise
        return found.value, found


def _failure(doc: Json | bytes, upstream: Dialect) -> tuple[Json, Failure]:
    """An error of the upstream, as far as its dialect can read it."""
    try:
        raw = isinstance(doc, bytes | bytearray | memoryview)
        value = parse_leniently(bytes(doc)) if raw else doc
        if value.__class__ is str:
            raise Malformed("expected an object, got a string")
    except Malformed:
        data = doc if isinstance(doc, str) else bytes(doc).decode("utf-8", "replace")
        text = " ".join(data.split())
        return doc, Failure("other", f"{text[:_SHOWN]}…" if len(text) > _SHOWN else text)
    try:
        tree = upstream.read(value, "error")
    except (Malformed, Unsupported):
        return value, Failure("other", compact(value)[:_SHOWN])
    except DragomanError as problem:
        return value, Failure("other", str(problem))
    assert isinstance(tree, Failure)
    return value, tree
