"""Calling models over HTTP: requests and responses in the caller's dialect, for any upstream.

Needs the extra ``providers``: ``pip install 'dragoman[providers]'``.
"""

from .errors import (
    AuthenticationFailed,
    BadReply,
    Conflict,
    ConnectionFailed,
    InvalidRequest,
    NotFound,
    Overloaded,
    PaymentRequired,
    PermissionDenied,
    ProviderError,
    RateLimited,
    ServerFailed,
    TimedOut,
    TooLarge,
)
from .provider import Provider
from .reply import Reply
from .retries import Retries
from .stream import AsyncStream, Stream

__all__ = [
    "AsyncStream",
    "AuthenticationFailed",
    "BadReply",
    "Conflict",
    "ConnectionFailed",
    "InvalidRequest",
    "NotFound",
    "Overloaded",
    "PaymentRequired",
    "PermissionDenied",
    "Provider",
    "ProviderError",
    "RateLimited",
    "Reply",
    "Retries",
    "ServerFailed",
    "Stream",
    "TimedOut",
    "TooLarge",
]
