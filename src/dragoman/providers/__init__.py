"""Calling models over HTTP: requests and responses in the caller's dialect, for any upstream.

Needs the extra ``providers``: ``pip install 'dragoman[providers]'``.
"""

from .answer import Answer
from .errors import (
    AuthenticationFailed,
    BadAnswer,
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
from .retries import Retries
from .stream import AsyncStream, Stream

__all__ = [
    "Answer",
    "AsyncStream",
    "AuthenticationFailed",
    "BadAnswer",
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
    "Retries",
    "ServerFailed",
    "Stream",
    "TimedOut",
    "TooLarge",
]
