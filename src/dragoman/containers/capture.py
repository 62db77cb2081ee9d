"""A request as a proxy or a test wrote it down: ``{"method", "path" or "url", "headers", "body"}``.

The Responses API over a socket has ``websocket_messages``, of which the last that was sent is the
request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..core.reading import encode
from ..ledger import Loss
from ..model import Json
from ._kinds import Recording
from ._wire import Call, Sent


class Capture(Recording):
    name = "capture"
    title = "an HTTP request"
    spec = "https://www.rfc-editor.org/rfc/rfc9110#name-methods"
    signs = ((b'"method"', b'"body"'), (b'"method"', b'"websocket_messages"'))
    rank = 9
    is_rewritten = False
    is_sparse = False

    def claims(self, value: Json) -> bool:
        return is_capture(value)

    def calls(self, value: Json) -> Iterator[Call]:
        yield Call("", sent(value, ""))

    def put(self, value: Json, index: int, old: Call, new: Call) -> Iterable[Loss]:
        raise NotImplementedError  # it is a document with its address, and no file of calls


def is_capture(value: Json) -> bool:
    return (
        value.__class__ is dict
        and value.get("method").__class__ is str
        and (value.get("path") or value.get("url")).__class__ is str
        and "messages" not in value
    )


def sent(value: dict[str, Json], at: str) -> Sent:
    url = str(value.get("path") or value.get("url"))
    body = value.get("body")
    headers = pairs(value.get("headers"))
    if body is None and value.get("websocket_messages").__class__ is list:
        frames = [m for m in value["websocket_messages"] if m.__class__ is dict and "input" in m]
        if frames:  # the Responses API over a socket: a request is its message
            index = value["websocket_messages"].index(frames[-1])
            frame = {k: v for k, v in frames[-1].items() if k != "type"}
            return Sent(f"{at}/websocket_messages/{index}", encode(frame), url, "POST", headers)
    return Sent(
        f"{at}/body",
        as_bytes(body),
        url,
        value["method"],
        headers,
        f"{at}/path" if value.get("path") else f"{at}/url",
        f"{at}/headers",
        body.__class__ is str,
    )


def as_bytes(body: Json) -> bytes | None:
    """A body that stands there as text, or as the JSON that it is."""
    if body is None:
        return None
    return body.encode("utf-8", "surrogatepass") if body.__class__ is str else encode(body)


def pairs(headers: Json) -> tuple[tuple[str, str], ...]:
    """Headers, however they are written: an object, of lists too, or a list of pairs."""
    found: list[tuple[str, str]] = []
    if headers.__class__ is dict:
        for name, value in headers.items():
            values = value if value.__class__ is list else [value]
            found += [(str(name), text(each)) for each in values]
    for pair in headers if headers.__class__ is list else ():
        if pair.__class__ is dict:  # as HAR has them
            pair = [pair.get("name"), pair.get("value")]
        if pair.__class__ is list and len(pair) == 2:
            found.append((text(pair[0]), text(pair[1])))
    return tuple(found)


def text(value: Json) -> str:
    return value.decode("latin-1") if value.__class__ is bytes else str(value)


CONTAINER = Capture()
