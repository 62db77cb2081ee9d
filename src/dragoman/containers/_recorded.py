"""A recorded call in another dialect: as if another vendor had been asked.

The address is that of the target, the headers are those that its API needs and those that any HTTP
has, keys are placeholders, and both bodies are converted: documents, streams, errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from msgspec.structs import replace

from .. import dialects
from ..convert import convert
from ..core import duplicates
from ..core.endpoint import SETTING, Endpoint, Place, filled
from ..core.models import Models
from ..core.reading import decode, encode
from ..core.statuses import kind_of, status_of
from ..dialect import Dialect
from ..errors import Malformed, Unsupported
from ..exchange import Exchange
from ..ledger import Ledger, Loss
from ..model import Failure, Response
from . import _wire
from ._documents import Document, located
from ._wire import PLACEHOLDER, Call, Reply, Sent

# Headers of HTTP itself, which no vendor has made; all others are the source's.
KEPT_OF_REQUESTS = frozenset(
    {"accept", "accept-encoding", "accept-language", "connection", "content-type", "host"}
)
KEPT_OF_REPLIES = frozenset(
    {"cache-control", "connection", "content-type", "date", "retry-after", "transfer-encoding"}
)
# What says how long or how packed the old body was, or who sent it: written anew, or not at all.
RENEWED = frozenset({"content-length", "content-encoding", "content-md5", "user-agent"})
SETTINGS = {"region": "us-east-1", "location": "us-central1"}
"""What is written for what stands in braces in a vendor's address."""


class Options(NamedTuple):
    """What the caller says of a conversion."""

    model: str | None = None
    models: Models | Mapping[str, Any] | None = None
    now: float | None = None
    ids: Callable[[str], str] | None = None
    fail_on: tuple[str, ...] = ()
    source: str | None = None
    limit: int | None = _wire.LIMIT
    url: str | None = None
    """the address of the target's API, where it is not the vendor's usual one"""


class Converted(NamedTuple):
    """A call of the target, what was lost, and the dialect it was in."""

    call: Call
    losses: tuple[Loss, ...]
    source: str


def address_of(target: Dialect) -> Endpoint | None:
    """Where the API of a dialect stands; None where it has no address of its own."""
    row = target.endpoints[0] if target.endpoints else None
    return row if row is not None and row.base is not None else None


def converted(
    call: Call, target: Dialect, options: Options, notes: tuple[Loss, ...] = ()
) -> Converted:
    """A call of a model as one of the target; ``notes``: what the file around it loses."""
    call = _wire.plain(call, options.limit)
    request = _wire.request_of(call)
    assert request.dialect is not None
    source = options.source or request.dialect
    if source == target.name and options.model is None:
        return Converted(call, (), source)
    if _wire.COUNTS.search(call.sent.url):
        raise Unsupported("a request that counts tokens is not converted")
    if call.problem:
        raise Malformed(call.problem, call.at)
    now = options.now if options.now is not None else call.time
    options = options._replace(now=now)
    sent, losses = _request(call.sent, request, source, target, options)
    reply = None
    if call.reply is not None:
        reply, more = _reply(call, source, target, options)
        losses = (*losses, *more)
    losses = (*notes, *losses)
    log = Ledger()
    log.losses += losses
    log.enforce(options.fail_on)
    return Converted(call._replace(sent=sent, reply=reply), losses, source)


# -- requests --------------------------------------------------------------------------------------


def _request(
    sent: Sent, document: Document, source: str, target: Dialect, options: Options
) -> tuple[Sent, tuple[Loss, ...]]:
    row = address_of(target)
    if row is None:
        raise Unsupported(f"{target.name} has no address, so no capture can be written for it")
    value = document.value
    streams = bool(document.asks_stream) or (
        dialects.get(source).endpoints[0].stream_path is None and _asks_stream(value, source)
    )
    exchange = Exchange(
        client=source,
        upstream=target,
        model=options.model,
        models=options.models,
        now=options.now,
        ids=options.ids,
    )
    try:
        result = exchange.request(document.data, stream=streams)
    except Malformed as problem:
        raise Malformed(problem.what, document.place(problem.at)) from None
    found = result.losses
    if row.stream_path is not None:  # the address says it
        found = tuple(loss for loss in found if loss.what != "stream")
    written = exchange.outline
    model = written.get(target.model_key)
    if model is None and row.model_in_path:  # the body names none
        model = options.model or exchange.asked.get(dialects.get(source).model_key)
        found = tuple(loss for loss in found if loss.what != "model")
    body = row.body(written, streams, target.model_key)
    path, query = row.route(model if isinstance(model, str) else None, streams)
    base = Place(start_of(row)) if options.url is None else row.place(options.url)
    url = base.at(path, query)
    data = encode(body)
    headers, noted = _sent_headers(sent, url, len(data), row, source, target)
    notes = document.notes if document.data is not sent.data else ()  # else they are found again
    losses = (*notes, *located(found, document.place), *noted)
    return sent._replace(data=data, url=url, headers=headers), losses


def _asks_stream(value: Any, source: str) -> bool:
    """Whether the body of a request asks for a stream."""
    tree = dialects.get(source).read(value, "request")
    return bool(getattr(getattr(tree, "params", None), "stream", None))


def start_of(row: Endpoint) -> str:
    """The vendor's address, up to the path."""
    template = f"{row.base}{row.prefix}"
    known = {name: SETTINGS.get(name, name) for name in SETTING.findall(template)}
    return filled(template, {**known, **row.defaults})


def _sent_headers(
    sent: Sent, url: str, size: int, row: Endpoint, source: str, target: Dialect
) -> tuple[tuple[tuple[str, str], ...], tuple[Loss, ...]]:
    headers: list[tuple[str, str]] = []
    had_key = False
    left: list[str] = []
    own = {name.lower() for name in row.headers}
    for name, value in sent.headers:
        lower = name.lower()
        if _wire.SECRET_HEADER.search(lower):
            had_key = True
        elif lower == "host":
            headers.append((name, url.partition("://")[2].partition("/")[0]))
        elif lower == "content-type":
            headers.append((name, "application/json"))
        elif lower in KEPT_OF_REQUESTS:
            headers.append((name, value))
        elif lower == "content-length":
            headers.append((name, str(size)))
        elif lower not in RENEWED and lower not in own:
            left.append(lower)
    headers += row.headers.items() if sent.headers else ()
    noted = _left(left, source, sent.headers_at, target)
    if had_key or any(_wire.SECRET_QUERY.search(part) for part in _query_names(sent.url)):
        headers.append((row.key_header, row.key_scheme + PLACEHOLDER))
        why = f"the key is written as {PLACEHOLDER}"
        noted += (Loss("approximated", "http.header", sent.headers_at, why, target.name),)
    return tuple(headers), noted


def _query_names(url: str) -> list[str]:
    query = url.partition("?")[2].partition("#")[0]
    return [part.partition("=")[0] for part in query.split("&") if part]


def _left(names: Iterable[str], source: str, at: str, target: Dialect) -> tuple[Loss, ...]:
    """The headers that are not written, as one loss."""
    spelled = ", ".join(sorted(set(names)))
    if not spelled:
        return ()
    why = f"headers of {source} that {target.name} does not have: {spelled}"
    return (Loss("dropped", "http.header", at, why, target.name),)


# -- replies ---------------------------------------------------------------------------------------


def _reply(
    call: Call, source: str, target: Dialect, options: Options
) -> tuple[Reply, tuple[Loss, ...]]:
    reply = call.reply
    assert reply is not None
    place = reply.at.__add__
    status, streamed = reply.status, False
    found: tuple[Loss, ...] = ()
    try:
        if not reply.data.strip():
            data = reply.data
        elif _wire.is_stream(reply):
            if reply.status >= 400:  # a page of a proxy
                text = " ".join(reply.data.decode("utf-8", "replace").split())[:300]
                data, found, status = _error(Failure("other", text), status, target, options)
            else:
                data, found = _stream(reply.data, source, target, options)
                streamed = True
        elif reply.status >= 400:
            tree = dialects.get(source).read(decode(reply.data), "error")
            assert isinstance(tree, Failure)
            data, found, status = _error(tree, status, target, options)
        else:
            data, found = _response(reply.data, source, target, options)
    except Malformed as problem:
        raise Malformed(problem.what, place(problem.at)) from None
    headers: list[tuple[str, str]] = []
    left: list[str] = []
    kind = target.stream_headers["content-type"] if streamed else "application/json"
    for name, value in reply.headers:
        lower = name.lower()
        if lower == "content-type":
            headers.append((name, kind))
        elif lower == "content-length":
            headers.append((name, str(len(data))))
        elif lower in KEPT_OF_REPLIES:
            headers.append((name, value))
        elif lower not in RENEWED:
            left.append(lower)
    noted = _left(left, source, reply.headers_at, target)
    made = reply._replace(data=data, status=status, headers=tuple(headers))
    return made, (*located(found, place), *noted)


def _response(
    data: bytes, source: str, target: Dialect, options: Options
) -> tuple[bytes, tuple[Loss, ...]]:
    if options.model is None:
        result = convert(
            data,
            source=source,
            target=target.name,
            facet="response",
            now=options.now,
            ids=options.ids,
            models=options.models,
            limit=None,
        )
        return result.to_json(), result.losses
    log = Ledger(options.now, options.ids, target=target.name)
    value = decode(data)
    duplicates.note(data, value, log)
    tree = dialects.get(source).read(value, "response")
    assert isinstance(tree, Response)
    written = target.write(replace(tree, model=options.model), log)
    return encode(written), tuple(log.losses)


def _error(
    tree: Failure, status: int, target: Dialect, options: Options
) -> tuple[bytes, tuple[Loss, ...], int]:
    kind = kind_of(tree.kind, status)
    log = Ledger(options.now, options.ids, target=target.name)
    written = target.write(replace(tree, kind=kind), log)
    return encode(written), tuple(log.losses), status_of(kind, target.statuses)


class _Named:
    """Replies that name the model that was asked for."""

    def __init__(self, model: str) -> None:
        self.model = model

    def event(self, event: Any) -> Iterable[Any]:
        from ..streams.events import Begin

        if event.__class__ is Begin:
            return (Begin(replace(event.response, model=self.model)),)
        return (event,)

    def hears(self, index: int) -> bool:
        return False

    def response(self, tree: Response, log: Ledger) -> Response:
        return replace(tree, model=self.model)


def _stream(
    data: bytes, source: str, target: Dialect, options: Options
) -> tuple[bytes, tuple[Loss, ...]]:
    from ..streams.transcoder import Transcoder

    most = options.limit
    transcoder = Transcoder(
        source,
        target.name,
        now=options.now,
        ids=options.ids,
        models=options.models,
        duplicates=True,
        limit=_wire.LIMIT if most is None else most,
        total=most,
        amend=None if options.model is None else _Named(options.model),
    )
    written = transcoder.feed(data) + transcoder.close()
    if transcoder.problem is not None:
        failure = transcoder.reader.failure
        raise Malformed(failure.message if failure is not None else "not a stream")
    return written, transcoder.losses


# -- what is no call of a model --------------------------------------------------------------------


def guarded(call: Call) -> Call:
    """A call that stays as it is, without the keys in its headers and its address."""
    sent = call.sent
    sent = sent._replace(url=_wire.masked_url(sent.url), headers=_wire.masked(sent.headers))
    reply = call.reply
    if reply is not None:
        reply = reply._replace(headers=_wire.masked(reply.headers))
    return call._replace(sent=sent, reply=reply)
