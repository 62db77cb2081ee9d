"""A request with its response: ``{"request": ..., "response": ...}``, or a capture of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..core.reading import encode
from ..ledger import Loss
from ..model import Json
from ._kinds import Recording
from ._wire import Call, Reply, Sent
from .capture import as_bytes, is_capture, pairs, sent


class Pair(Recording):
    name = "pair"
    title = "a request with its response"
    spec = "https://www.rfc-editor.org/rfc/rfc9110#name-message-abstraction"
    signs = ((b'"request"', b'"response"'), (b'"request"', b'"status"'))
    rank = 8
    is_rewritten = False
    is_sparse = False

    def claims(self, value: Json) -> bool:
        return (
            value.__class__ is dict
            and value.get("request").__class__ is dict
            and (
                "response" in value or ("status" in value and ("body" in value or "text" in value))
            )
        )

    def calls(self, value: Json) -> Iterator[Call]:
        inner = value["request"]
        asked = sent(inner, "/request") if is_capture(inner) else Sent("/request", encode(inner))
        if "response" in value:
            yield Call("", asked, _reply(value["response"], "/response"))
        else:
            yield Call("", asked, _reply(value, ""))

    def put(self, value: Json, index: int, old: Call, new: Call) -> Iterable[Loss]:
        raise NotImplementedError  # two documents, and no file of calls


def _reply(value: Json, at: str) -> Reply:
    if value.__class__ is not dict:
        return Reply(at, as_bytes(value) or b"null", is_text=value.__class__ is str)
    status = value.get("status", value.get("status_code", 200))
    status = status if status.__class__ is int else 200
    for key in ("body", "text"):
        if key in value and ("status" in value or "status_code" in value or "headers" in value):
            body = value[key]
            data = as_bytes(body) or b"null"
            headers = pairs(value.get("headers"))
            return Reply(f"{at}/{key}", data, status, headers, "", body.__class__ is str)
    return Reply(at, encode(value))


CONTAINER = Pair()
