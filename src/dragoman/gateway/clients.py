"""Who may ask: keys of clients, and how often and for which models each may."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections import deque
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

from ..model import ErrorKind
from .config import LOOPBACK, Client

ANYONE = Client(operator=True)
"""Whoever asks where no keys are configured: somebody on this machine."""
NOBODY = Client()
"""Whoever asks before its key was looked at."""
EVERY = ("*",)


class Refused(Exception):
    """A request that a client may not make."""

    def __init__(self, kind: ErrorKind, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind, self.message, self.retry_after = kind, message, retry_after


class Gone(Exception):
    """A client has closed its connection."""


class Known(NamedTuple):
    name: str
    client: Client
    digest: bytes


class Guests:
    """All clients, with what they have asked for in the last minute."""

    def __init__(self, clients: Mapping[str, Client]) -> None:
        self._known = tuple(
            Known(name, client, digest(client.secret() or "")) for name, client in clients.items()
        )
        self._asked: dict[str, deque[float]] = {}
        self._open: dict[str, int] = {}

    def admit(self, key: str | None) -> tuple[str, Client]:
        """The client that has a key; all keys are compared, so that time tells nothing."""
        if not self._known:
            return "", ANYONE
        given = digest(key or "")
        found = [each for each in self._known if hmac.compare_digest(each.digest, given)]
        if not key or not found:
            raise Refused("authentication", "missing or unknown key")
        return found[0].name, found[0].client

    def begin(self, name: str, client: Client, model: str) -> None:
        """One more request of a client; ``end`` must follow."""
        if client.models != EVERY and not any(fnmatchcase(model, each) for each in client.models):
            raise Refused("permission", f"this key may not use the model {model!r}")
        if client.concurrency is not None and self._open.get(name, 0) >= client.concurrency:
            raise Refused("rate-limit", "too many requests at once", 1.0)
        if client.per_minute is not None:
            self._count(name, client.per_minute)
        self._open[name] = self._open.get(name, 0) + 1

    def _count(self, name: str, most: int) -> None:
        now, asked = time.monotonic(), self._asked.setdefault(name, deque())
        while asked and asked[0] <= now - 60:
            asked.popleft()
        if len(asked) >= most:
            wait = asked[0] + 60 - now
            raise Refused("rate-limit", f"more than {most} requests in a minute", wait)
        asked.append(now)

    def end(self, name: str) -> None:
        self._open[name] -= 1


def digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def is_foreign(headers: Mapping[str, str], hosts: tuple[str, ...] = ()) -> bool:
    """Whether a page asks that came from elsewhere. Browsers send such requests without asking
    first, and open sockets to any host; programs name no origin. A page whose own host name leads
    to this machine (DNS rebinding) is of the same origin for a browser, so the name is looked at.

    >>> is_foreign({"origin": "https://elsewhere.example", "host": "127.0.0.1:8700"})
    True
    >>> is_foreign({"origin": "http://localhost:3000", "host": "127.0.0.1:8700"})
    False
    >>> is_foreign({"host": "elsewhere.example:8700"})
    True
    """
    named = headers.get("host")
    if named and not is_own(named, hosts):
        return True
    origin = headers.get("origin")
    if not origin:
        return False
    scheme, _, host = origin.partition("://")
    if scheme not in ("http", "https", "null"):  # an application of this machine: vscode-webview
        return False
    name = name_in(host)
    return name not in LOOPBACK and name not in hosts and host != named


@lru_cache(maxsize=256)
def is_own(host: str, hosts: tuple[str, ...]) -> bool:
    """Whether no page from elsewhere is reached by a name: an address, a name that nobody can
    register, or one of the configuration.
    """
    name = name_in(host)
    if name in hosts or "*" in hosts:
        return True
    if name and ("." not in name or name.endswith((".localhost", ".internal"))):
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def name_in(host: str) -> str:
    """The name in ``name:port``; an empty one where it makes no sense."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
