"""What the two OpenAI APIs say alike: the words of their errors, labels, and who the end user is.

Not a dialect: a name that begins with an underscore is none.
"""

from __future__ import annotations

from ..core.reading import compact
from ..core.writing import Names
from ..ledger import Ledger
from ..model import ErrorKind, Json

# https://platform.openai.com/docs/guides/error-codes/api-errors
ERRORS: dict[str, ErrorKind] = {
    "invalid_request_error": "invalid-request",
    "invalid_prompt": "invalid-request",
    "authentication_error": "authentication",
    "invalid_api_key": "authentication",
    "insufficient_quota": "billing",
    "permission_error": "permission",
    "not_found_error": "not-found",
    "model_not_found": "not-found",
    "previous_response_not_found": "not-found",
    "conflict_error": "conflict",
    "request_too_large": "too-large",
    "rate_limit_error": "rate-limit",
    "rate_limit_exceeded": "rate-limit",
    "tokens": "rate-limit",
    "requests": "rate-limit",
    "server_error": "server",
    "api_error": "server",
    "internal_server_error": "server",
    "service_unavailable": "overloaded",
    "overloaded_error": "overloaded",
    "timeout": "timeout",
    "vector_store_timeout": "timeout",
}
ERROR_TYPES: dict[ErrorKind, str] = {
    "invalid-request": "invalid_request_error",
    "authentication": "authentication_error",
    "billing": "insufficient_quota",
    "permission": "permission_error",
    "not-found": "not_found_error",
    "conflict": "conflict_error",
    "too-large": "request_too_large",
    "rate-limit": "rate_limit_error",
    "server": "server_error",
    "overloaded": "overloaded_error",
    "timeout": "timeout",
}
# The status of a reply over HTTP, which many servers repeat in the error itself.
STATUS: dict[int, ErrorKind] = {
    400: "invalid-request",
    401: "authentication",
    402: "billing",
    403: "permission",
    404: "not-found",
    408: "timeout",
    409: "conflict",
    413: "too-large",
    422: "invalid-request",
    429: "rate-limit",
    500: "server",
    502: "server",
    503: "overloaded",
    504: "timeout",
}
STATUS_OF = {kind: status for status, kind in reversed(STATUS.items())}


def short_user(user: str, at: str, log: Ledger, target: str) -> str:
    """The end user, in at most 64 characters."""
    return Names((".", 64), "user_id")(user, at, log)


def short_labels(labels: dict[str, Json], at: str, log: Ledger, target: str) -> dict[str, str]:
    """Labels as they are taken: 16 pairs of keys of 64 and values of 512 characters, all texts.

    "Invalid type for 'metadata.a': expected a string, but got an integer instead."
    """
    out: dict[str, str] = {}
    for key, value in labels.items():
        text = value if value.__class__ is str else compact(value)
        if len(out) == 16 or len(key) > 64 or len(text) > 512:
            why = f"the label {key!r} is too long for {target}, or one too many"
            log.dropped("metadata", at, why)
            continue
        if text is not value:
            log.approximated("metadata", at, f"the label {key!r} written as a string")
        out[key] = text
    return out
