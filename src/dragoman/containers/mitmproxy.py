"""Dumps of mitmproxy (``mitmdump -w``): flows, each a typed netstring after the other.

https://docs.mitmproxy.org/stable/api/mitmproxy/io.html; headers are pairs of bytes, and ``content``
is the body as it went over the wire.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from ..ledger import Loss
from ..model import Json
from ._kinds import Coding, Recording
from ._wire import Call, Reply, Sent
from .vcr import phrase


class Mitmproxy(Recording):
    name = "mitmproxy"
    title = "a dump of mitmproxy"
    spec = "https://docs.mitmproxy.org/stable/concepts/commands/"
    codings: ClassVar[tuple[Coding, ...]] = ("flows",)

    def claims(self, value: Json) -> bool:
        return value.__class__ is list and value[:1] != [] and all(map(_is_flow, value))

    def calls(self, value: Json) -> Iterator[Call]:
        for index, flow in enumerate(value):
            yield _call(flow, f"/{index}")

    def put(self, value: Json, index: int, old: Call, new: Call) -> Iterable[Loss]:
        flow = value[index]
        request: Json = _get(flow, "request")
        if request.__class__ is not dict:
            return ()
        _put_url(request, old.sent, new.sent)
        _put_side(request, old.sent, new.sent)
        response: Json = _get(flow, "response")
        if new.reply is not None and old.reply is not None and response.__class__ is dict:
            _put_side(response, old.reply, new.reply)
            if new.reply.status != old.reply.status:
                _set(response, "status_code", new.reply.status)
                _set(response, "reason", phrase(new.reply.status).encode())
        return ()


def _is_flow(value: Json) -> bool:
    """The version of a flow is a number or a list; in lines of other files it is text."""
    return value.__class__ is dict and _get(value, "version").__class__ in (int, list, tuple)


def _get(flow: dict[Any, Any], key: str) -> Json:
    """A value; old versions write keys as bytes."""
    return flow.get(key, flow.get(key.encode()))


def _set(flow: dict[Any, Any], key: str, value: Json) -> None:
    flow[key.encode() if key.encode() in flow else key] = value


def _text(value: Json) -> str:
    return value.decode("latin-1") if value.__class__ is bytes else str(value or "")


def _call(flow: dict[Any, Any], at: str) -> Call:
    request: Json = _get(flow, "request")
    if request.__class__ is not dict:
        return Call(at, Sent(f"{at}/request", None))
    path, host = _text(_get(request, "path")), _text(_get(request, "host"))
    scheme, port = _text(_get(request, "scheme")), _get(request, "port")
    usual = {"https": 443, "http": 80}.get(scheme)
    where = host if port in (usual, None) else f"{host}:{port}"
    content: Json = _get(request, "content")
    asked = Sent(
        f"{at}/request/content",
        content if content.__class__ is bytes else None,
        f"{scheme}://{where}{path}",
        _text(_get(request, "method")),
        _headers(request),
        f"{at}/request/path",
        f"{at}/request/headers",
        True,
    )
    response: Json = _get(flow, "response")
    time = _get(request, "timestamp_start")
    time = time if time.__class__ is float else None
    if response.__class__ is not dict or _get(response, "content").__class__ is not bytes:
        return Call(at, asked, None, time)
    status = _get(response, "status_code")
    reply = Reply(
        f"{at}/response/content",
        _get(response, "content"),
        status if status.__class__ is int else 200,
        _headers(response),
        f"{at}/response/headers",
        True,
    )
    return Call(at, asked, reply, time)


def _headers(side: dict[Any, Any]) -> tuple[tuple[str, str], ...]:
    headers: Json = _get(side, "headers")
    return tuple(
        (_text(pair[0]), _text(pair[1]))
        for pair in (headers if headers.__class__ is list else ())
        if pair.__class__ is list and len(pair) == 2
    )


def _put_url(request: dict[Any, Any], old: Sent, new: Sent) -> None:
    if new.url == old.url:
        return
    scheme, _, rest = new.url.partition("://")
    netloc, slash, path = rest.partition("/")
    host, colon, port = netloc.partition(":")
    _set(request, "scheme", scheme.encode())
    _set(request, "host", host)
    _set(request, "port", int(port) if colon else 443 if scheme == "https" else 80)
    _set(request, "path", f"{slash or '/'}{path}".encode())
    if _get(request, "authority"):
        _set(request, "authority", netloc.encode())


def _put_side(side: dict[Any, Any], old: Sent | Reply, new: Sent | Reply) -> None:
    if new.headers != old.headers:
        _set(side, "headers", [[k.encode("latin-1"), v.encode("latin-1")] for k, v in new.headers])
    if new.data is not old.data and new.data is not None:
        _set(side, "content", new.data)


CONTAINER = Mitmproxy()
