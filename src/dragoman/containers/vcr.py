"""Cassettes of vcrpy and pytest-recording, in YAML or JSON.

    interactions:
    - request: {body: ..., headers: {name: [value]}, method: POST, uri: ...}
      response: {body: {string: ...}, headers: {name: [value]}, status: {code: 200, message: OK}}
    version: 1

https://vcrpy.readthedocs.io/ and its ``serialize.py``; bodies that are not UTF-8 are ``!!binary``.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, ClassVar

from ..core.reading import encode
from ..ledger import Loss
from ..model import Json
from ._kinds import Coding, Recording
from ._wire import Call, Reply, Sent, header
from .capture import pairs


class Vcr(Recording):
    name = "vcr"
    title = "a cassette of vcrpy"
    spec = "https://vcrpy.readthedocs.io/"
    codings: ClassVar[tuple[Coding, ...]] = ("yaml", "json")
    signs: ClassVar[tuple[tuple[bytes, ...], ...]] = (
        (b'"interactions"', b'"request"', b'"response"'),
    )
    rank = 1
    holds_bytes = False  # "use a different serializer (like the yaml serializer)"
    key: ClassVar[str] = "interactions"

    def claims(self, value: Json) -> bool:
        if value.__class__ is not dict:
            return False
        inner = value.get(self.key)
        return inner.__class__ is list and all(
            each.__class__ is dict and each.get("request").__class__ is dict for each in inner
        )

    def calls(self, value: Json) -> Iterator[Call]:
        for index, each in enumerate(value[self.key]):
            yield call_of(each, f"/{self.key}/{index}")

    def put(self, value: Json, index: int, old: Call, new: Call) -> Iterable[Loss]:
        each = value[self.key][index]
        put_side(each["request"], old.sent, new.sent)
        if "uri" in each["request"]:
            each["request"]["uri"] = new.sent.url
        response: Json = each.get("response")
        if new.reply is None or old.reply is None or response.__class__ is not dict:
            return ()
        put_side(response, old.reply, new.reply)
        if new.reply.status != old.reply.status:
            status: Json = response.get("status")
            if status.__class__ is dict:
                response["status"] = status | {
                    "code": new.reply.status,
                    "message": phrase(new.reply.status),
                }
            else:
                response["status_code"] = new.reply.status
        return ()


def call_of(each: dict[str, Any], at: str) -> Call:
    request, response = each["request"], each.get("response")
    try:
        asked = Sent(
            f"{at}/request{_body_at(request)}",
            body_of(request),
            str(request.get("uri") or ""),
            str(request.get("method") or "").upper(),
            pairs(request.get("headers")),
            f"{at}/request/uri",
            f"{at}/request/headers",
            True,
        )
        if response.__class__ is not dict:
            return Call(at, asked)
        headers = pairs(response.get("headers"))
        reply = Reply(
            f"{at}/response{_body_at(response)}",
            body_of(response) or b"",
            _status(response),
            headers,
            f"{at}/response/headers",
            True,
        )
    except (binascii.Error, ValueError):
        lost = Sent(f"{at}/request", None, str(request.get("uri") or ""))
        return Call(at, lost, problem="a body is not base64")
    return Call(at, asked, reply, date_of(headers))


def _status(response: dict[str, Any]) -> int:
    status = response.get("status", response.get("status_code"))
    code = status.get("code") if status.__class__ is dict else status
    return code if code.__class__ is int else 200


def _body_at(side: dict[str, Any]) -> str:
    body = side.get("body")
    if body.__class__ is dict:
        for key in ("string", "base64_string"):
            if key in body:
                return f"/body/{key}"
    return "/content" if "body" not in side and "content" in side else "/body"


def body_of(side: dict[str, Any]) -> bytes | None:
    """A body: text, bytes, an object with one of them, or what a serializer made of its JSON."""
    body = side.get("body", side.get("content"))
    if body.__class__ is dict and "base64_string" in body:
        packed = body["base64_string"]
        return base64.b64decode(packed, validate=False) if packed.__class__ is str else None
    if body.__class__ is dict and "string" in body:
        body = body["string"]
    elif body.__class__ in (dict, list):
        return encode(body)
    if body is None or body.__class__ is bytes:
        return None if body is None else bytes(body)
    return str(body).encode("utf-8", "surrogatepass")


def put_side(side: dict[str, Any], old: Sent | Reply, new: Sent | Reply) -> None:
    """The headers and the body of a request or of a response, as its file spells them."""
    if new.headers != old.headers:
        side["headers"] = spelled(new.headers, side.get("headers"))
    if new.data is old.data or new.data is None:
        return
    text = text_or_bytes(new.data)
    key = "body" if "body" in side or "content" not in side else "content"
    body = side.get(key)
    if body.__class__ is dict and ("string" in body or "base64_string" in body):
        if text.__class__ is bytes and "encoding" in body:  # Ruby
            packed = base64.b64encode(new.data).decode()
            side[key] = {k: v for k, v in body.items() if k != "string"} | {"base64_string": packed}
        else:
            kept = {k: v for k, v in body.items() if k != "base64_string"}
            side[key] = kept | {"string": text}
    else:
        side[key] = text


def text_or_bytes(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def spelled(headers: Iterable[tuple[str, str]], before: Json) -> Json:
    """Headers in the form that the file has them in: each with a list of values, or a text."""
    if before.__class__ is list:
        return [[name, value] for name, value in headers]
    plain = before.__class__ is dict and any(v.__class__ is str for v in before.values())
    out: dict[str, Any] = {}
    for name, value in headers:
        if plain:
            out[name] = value
        else:
            out.setdefault(name, []).append(value)
    return out


def date_of(headers: Iterable[tuple[str, str]]) -> float | None:
    """When a reply was sent, by its header; so that what is converted has the same date."""
    try:
        date = parsedate_to_datetime(header(headers, "date"))
    except (ValueError, TypeError, OverflowError):
        return None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


CONTAINER = Vcr()
