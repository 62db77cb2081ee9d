"""HAR, as browsers and proxies write it: all traffic, of which calls of models are documents.

http://www.softwareishard.com/blog/har-12-spec/
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl

from ..ledger import Loss
from ..model import Json
from ._kinds import Recording
from ._wire import Call, Reply, Sent, header, is_json
from .capture import pairs


class Har(Recording):
    name = "har"
    title = "a HAR file"
    spec = "http://www.softwareishard.com/blog/har-12-spec/"
    signs = ((b'"log"', b'"entries"'),)
    rank = 2

    def claims(self, value: Json) -> bool:
        if value.__class__ is not dict or value.get("log").__class__ is not dict:
            return False
        entries = value["log"].get("entries")
        return entries.__class__ is list and all(entry.__class__ is dict for entry in entries)

    def calls(self, value: Json) -> Iterator[Call]:
        for index, entry in enumerate(value["log"]["entries"]):
            yield call_of(entry, f"/log/entries/{index}")

    def put(self, value: Json, index: int, old: Call, new: Call) -> Iterable[Loss]:
        entry = value["log"]["entries"][index]
        request: Json = entry.get("request")
        if request.__class__ is not dict:
            return ()
        put_request(request, old.sent, new.sent)
        response: Json = entry.get("response")
        if new.reply is not None and old.reply is not None and response.__class__ is dict:
            put_response(response, old.reply, new.reply)
        return ()


def call_of(entry: dict[str, Json], at: str) -> Call:
    """One entry. What is no call of a model, or is not written out, has no body."""
    request: Json = entry.get("request")
    response: Json = entry.get("response")
    if request.__class__ is not dict or request.get("url").__class__ is not str:
        return Call(at, Sent(f"{at}/request", None))
    posted = request.get("postData")
    data: bytes | None = None
    if posted.__class__ is dict and posted.get("text").__class__ is str:
        data = posted["text"].encode("utf-8", "surrogatepass")
    asked = Sent(
        f"{at}/request/postData/text",
        data,
        request["url"],
        str(request.get("method")),
        pairs(request.get("headers")),
        f"{at}/request/url",
        f"{at}/request/headers",
        True,
    )
    response = response if response.__class__ is dict else {}
    content = response.get("content")
    time = _time(entry.get("startedDateTime"))
    headers = pairs(response.get("headers"))
    status = response.get("status")
    status = status if status.__class__ is int else 200
    if content.__class__ is not dict or content.get("text").__class__ is not str:
        return Call(at, asked, None, time)
    place = f"{at}/response/content/text"
    body = content["text"].encode("utf-8", "surrogatepass")
    if content.get("encoding") == "base64":
        try:
            body = base64.b64decode(body, validate=True)
        except (binascii.Error, ValueError):
            reply = Reply(place, b"", status, headers, f"{at}/response/headers")
            problem = "" if data is None else "the body of the response is not base64"
            return Call(at, asked, reply, time, problem)
    reply = Reply(place, body, status, headers, f"{at}/response/headers", True)
    return Call(at, asked, reply, time)


def put_request(request: dict[str, Any], old: Sent, new: Sent) -> None:
    if new.url != old.url:
        request["url"] = new.url
        if "queryString" in request:
            query = parse_qsl(new.url.partition("?")[2], keep_blank_values=True)
            request["queryString"] = [{"name": k, "value": v} for k, v in query]
    if new.headers != old.headers:
        request["headers"] = [{"name": k, "value": v} for k, v in new.headers]
        if request.get("cookies"):
            request["cookies"] = []
        if "headersSize" in request:
            request["headersSize"] = -1  # "-1 if the info is not available"
    if new.data is not old.data and new.data is not None:
        posted = request.setdefault("postData", {})
        posted["text"] = new.data.decode("utf-8", "surrogatepass")
        posted["mimeType"] = header(new.headers, "content-type") or "application/json"
        if "bodySize" in request:
            request["bodySize"] = len(new.data)


def put_response(response: dict[str, Any], old: Reply, new: Reply) -> None:
    if new.status != old.status:
        response["status"] = new.status
        response["statusText"] = ""
    if new.headers != old.headers:
        response["headers"] = [{"name": k, "value": v} for k, v in new.headers]
        if response.get("cookies"):
            response["cookies"] = []
        if "headersSize" in response:
            response["headersSize"] = -1
    if new.data is old.data:
        return
    content = response.setdefault("content", {})
    content.pop("encoding", None)
    content.pop("compression", None)
    try:
        content["text"] = new.data.decode()
    except UnicodeDecodeError:
        content["text"], content["encoding"] = base64.b64encode(new.data).decode(), "base64"
    content["size"] = len(new.data)
    usual = "application/json" if is_json(new.data) else "text/event-stream"
    content["mimeType"] = header(new.headers, "content-type") or usual
    if "bodySize" in response:
        response["bodySize"] = len(new.data)


def _time(text: Json) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp() if text.__class__ is str else None
    except (ValueError, OverflowError):
        return None


CONTAINER = Har()
