"""Trying again: how often, after how long, and what for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from .errors import retry_after

# What the SDKs of OpenAI and Anthropic try again, beside the server's own failures.
AGAIN = frozenset({408, 409, 429})
FIRST, LONGEST = 0.5, 8.0
"""Seconds before the second try and the most before any, where the server asks for none."""


class Retries(NamedTuple):
    """How often a request that failed is sent again, and how long it waits before that.

    Sent again is what the server was too busy for or failed at, and what found no connection or
    lost it before the response came; a stream only before its first byte. What the server asks
    for (``retry-after``) is respected; where that is more than ``patience`` seconds, the error is
    raised at once. Otherwise it waits half a second, then twice as long each time, up to eight.
    """

    times: int = 2
    patience: float = 60.0
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep

    def wait(self, attempt: int, status: int | None, headers: Mapping[str, str]) -> float | None:
        """How long to wait after a try; None: it was the last. No status: there was no response."""
        if attempt >= self.times or not is_repeatable(status, headers):
            return None
        asked = retry_after(headers)
        if asked is None:
            return min(FIRST * float(2**attempt), LONGEST)
        return asked if asked <= self.patience else None


def is_repeatable(status: int | None, headers: Mapping[str, str]) -> bool:
    told = headers.get("x-should-retry")  # as OpenAI and Anthropic say it
    if told in ("true", "false"):
        return told == "true"
    return status is None or status in AGAIN or status >= 500
