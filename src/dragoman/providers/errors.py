"""The errors of a provider, in one hierarchy.

DragomanError
└── ProviderError             no response; ``kind`` is the same for all upstreams
    ├── InvalidRequest        the upstream rejects this request
    ├── AuthenticationFailed  the key is missing, wrong or expired
    ├── PaymentRequired       no credit is left
    ├── PermissionDenied      the key may not do this
    ├── NotFound              no such model, or no such URL
    ├── Conflict              a conflict with another request
    ├── TooLarge              the request is too long
    ├── RateLimited           too many requests; ``retry_after`` may tell how long to wait
    ├── Overloaded            the upstream is overloaded
    ├── ServerFailed          the upstream failed
    ├── TimedOut              no response in time, on either side
    ├── ConnectionFailed      no connection, or a lost one
    └── BadAnswer             not a valid response: not JSON, the wrong structure, too long

The class is chosen by the body of the error, or by the HTTP status if the body has no type. Keys
are not in these errors, even if an upstream repeats them: they are replaced by ``[key]``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import ClassVar

from msgspec.structs import replace

from ..core.reading import compact, parse
from ..core.statuses import kind_of
from ..dialect import Dialect
from ..errors import DragomanError, Malformed
from ..ledger import Ledger
from ..model import ErrorKind, Failure, Json
from .secrets import Secrets

SHOWN = 300
"""How much of a body that is no JSON is shown in a message."""


class ProviderError(DragomanError):
    """No response. ``str()`` has everything but the document."""

    usual: ClassVar[ErrorKind] = "other"

    def __init__(
        self,
        message: str,
        *,
        kind: ErrorKind | None = None,
        status: int | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        document: Json = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        """the upstream's message, or what happened"""
        self.kind: ErrorKind = kind or self.usual
        self.status = status
        """the HTTP status, if there was one"""
        self.request_id = request_id
        """the upstream's id of this request"""
        self.retry_after = retry_after
        """how many seconds the upstream asks to wait"""
        self.document = document
        """the upstream's error as an error document of the caller's dialect"""

    def __str__(self) -> str:
        written = self.message if self.status is None else f"{self.status}: {self.message}"
        more = []
        if self.retry_after is not None:
            more.append(f"retry after {self.retry_after:g} s")
        if self.request_id is not None:
            more.append(f"request {self.request_id}")
        return f"{written} ({', '.join(more)})" if more else written


class InvalidRequest(ProviderError):
    usual = "invalid-request"


class AuthenticationFailed(ProviderError):
    usual = "authentication"


class PaymentRequired(ProviderError):
    usual = "billing"


class PermissionDenied(ProviderError):
    usual = "permission"


class NotFound(ProviderError):
    usual = "not-found"


class Conflict(ProviderError):
    usual = "conflict"


class TooLarge(ProviderError):
    usual = "too-large"


class RateLimited(ProviderError):
    usual = "rate-limit"


class Overloaded(ProviderError):
    usual = "overloaded"


class ServerFailed(ProviderError):
    usual = "server"


class TimedOut(ProviderError):
    usual = "timeout"


class ConnectionFailed(ProviderError):
    pass


class BadReply(ProviderError):
    pass


OF_KIND: dict[ErrorKind, type[ProviderError]] = {
    "invalid-request": InvalidRequest,
    "authentication": AuthenticationFailed,
    "billing": PaymentRequired,
    "permission": PermissionDenied,
    "not-found": NotFound,
    "conflict": Conflict,
    "too-large": TooLarge,
    "rate-limit": RateLimited,
    "overloaded": Overloaded,
    "server": ServerFailed,
    "timeout": TimedOut,
    "other": ProviderError,
}

REQUEST_IDS = ("request-id", "x-request-id", "apim-request-id", "x-amzn-requestid")


def failed(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    upstream: Dialect,
    caller: Dialect,
    secrets: Secrets,
) -> ProviderError:
    """The error that an upstream answered with, without the keys that it may repeat."""
    document = error_document(body, secrets)
    tree = read_failure(with_type(document, headers), upstream)
    kind = kind_of(tree.kind, status)
    message = tree.message or "no reason given"
    return OF_KIND[kind](
        message,
        kind=kind,
        status=status,
        request_id=tree.request_id or request_id(headers, secrets),
        retry_after=retry_after(headers),
        document=write_failure(replace(tree, kind=kind, message=message), document, caller),
    )


def broken_off(
    failure: Failure, status: int, named: str | None, caller: Dialect, secrets: Secrets
) -> ProviderError:
    """The error that a stream ended in."""
    document = caller.write(failure, Ledger()) if has_errors(caller) else None
    return OF_KIND[failure.kind](
        secrets.hide(failure.message or "no reason given"),
        kind=failure.kind,
        status=status,
        request_id=secrets.hide(failure.request_id) if failure.request_id else named,
        document=secrets.hide_in(document),
    )


def error_document(body: bytes, secrets: Secrets) -> Json:
    """The body of an error: JSON, or the text that a proxy or a crash left in its place."""
    try:
        return secrets.hide_in(parse(body))
    except (Malformed, RecursionError):  # which is no JSON to us, however deep it is
        return excerpt(body, secrets)


def with_type(document: Json, headers: Mapping[str, str]) -> Json:
    """An error document with its type, where AWS tells that in a header: ``Name:http://...``."""
    told = headers.get("x-amzn-errortype")
    if not told or not isinstance(document, dict) or "__type" in document:
        return document
    return {**document, "__type": told.partition(":")[0]}


def read_failure(document: Json, upstream: Dialect) -> Failure:
    """An error document, as far as the dialect knows it."""
    try:
        tree = upstream.read(document, "error")
        assert isinstance(tree, Failure)
        return tree
    except DragomanError:
        return Failure("other", document if isinstance(document, str) else compact(document))


def write_failure(tree: Failure, document: Json, caller: Dialect) -> Json:
    """The error in the caller's dialect: as it came if it is that, None if there are no errors."""
    if tree.dialect == caller.name:
        return document
    return caller.write(tree, Ledger()) if has_errors(caller) else None


def has_errors(caller: Dialect) -> bool:
    return "write" in caller.facets().get("error", ())


def excerpt(body: bytes, secrets: Secrets) -> str:
    """The beginning of a body that is not what it should be, on one line."""
    text = secrets.hide(" ".join(body.decode("utf-8", "replace").split()))
    return f"{text[:SHOWN]}…" if len(text) > SHOWN else text


def request_id(headers: Mapping[str, str], secrets: Secrets) -> str | None:
    """How the upstream names a request in its logs."""
    named = next((headers[name] for name in REQUEST_IDS if headers.get(name)), None)
    return named and secrets.hide(named)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """How many seconds the upstream asks to wait.

    >>> retry_after({"retry-after": "20"})
    20.0
    >>> retry_after({"retry-after-ms": "1500", "retry-after": "2"})  # the finer one
    1.5

    A date counts from the date of the reply itself, so no clock needs to be right.
    """
    if (fine := seconds(headers.get("retry-after-ms"))) is not None:
        return fine / 1000
    coarse = headers.get("retry-after")
    if (number := seconds(coarse)) is not None:
        return number
    try:
        wait = parsedate_to_datetime(coarse or "") - parsedate_to_datetime(headers.get("date", ""))
    except (ValueError, TypeError, OverflowError):  # no date, one without a zone, or beyond all
        return None
    return max(wait.total_seconds(), 0.0)


def seconds(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def no_reply(status: int, headers: Mapping[str, str], body: bytes, secrets: Secrets) -> BadReply:
    """What came with a good status and is no reply all the same."""
    written = excerpt(body, secrets)
    if status >= 300:
        what = "redirects are not followed; give the url of its target"
    elif not written:
        what = "the response is empty"
    elif written.startswith("<"):
        what = f"the response is HTML, not JSON; check the url. It begins: {written}"
    else:
        what = f"the response is not a JSON object; it begins: {written}"
    return BadReply(what, status=status, request_id=request_id(headers, secrets))


def object_in(body: bytes) -> dict[str, Json] | None:
    """The JSON object that a reply is, if it is one."""
    try:
        document = parse(body)
    except Malformed:
        return None
    return document if isinstance(document, dict) else None
