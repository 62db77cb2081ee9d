"""HTTP statuses and kinds of errors, both ways.

An error has a kind in words that all dialects share, and a status on the wire. The body of an error
decides its kind; where the body says little, the status does. A client gets the status that the
API of its own dialect replies with for that kind, since SDKs decide by it whether to try again.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..model import ErrorKind

# https://www.rfc-editor.org/rfc/rfc9110#name-status-codes; 529 is Anthropic's
KINDS: dict[int, ErrorKind] = {
    401: "authentication",
    402: "billing",
    403: "permission",
    404: "not-found",
    408: "timeout",
    409: "conflict",
    413: "too-large",
    429: "rate-limit",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}
STATUSES: dict[ErrorKind, int] = {
    "invalid-request": 400,
    "authentication": 401,
    "billing": 402,
    "permission": 403,
    "not-found": 404,
    "conflict": 409,
    "too-large": 413,
    "rate-limit": 429,
    "server": 500,
    "overloaded": 503,
    "timeout": 504,
    "other": 500,
}
VAGUE: frozenset[ErrorKind] = frozenset({"other", "invalid-request", "server"})
"""What a body says in general, a status may say more precisely."""


def kind_of(written: ErrorKind, status: int) -> ErrorKind:
    """The kind of an error: by its body, unless the status is more precise.

    OpenAI calls a missing key an ``invalid_request_error`` and replies 401; a rate limit and an
    empty purse are both 429 there, and the body tells them apart.
    """
    if written in VAGUE and status in KINDS:
        return KINDS[status]
    if written != "other":
        return written
    return "server" if status >= 500 else "invalid-request" if status >= 400 else "other"


def status_of(kind: ErrorKind, own: Mapping[ErrorKind, int]) -> int:
    """The status that an API replies with for a kind of error; ``own`` is where it differs."""
    return own.get(kind, STATUSES[kind])
