"""Where the upstream of a dialect lives, and how it wants its key.

``url`` may be the base that the vendors' own SDKs take, or the whole address. A dialect that is
not in the table is reached by its whole address; a variant of one that is (a server that speaks
OpenAI Chat with additions) shares its path and its manners, but neither its address nor its key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from ..dialect import Dialect
from ..errors import Unsupported
from ..model import Json
from .errors import AuthenticationFailed
from .secrets import Headers, Secrets


class Endpoint(NamedTuple):
    base: str
    path: str
    url_variable: str
    key_variable: str
    key_header: str = "authorization"
    key_scheme: str = "Bearer "
    headers: Mapping[str, str] = {}
    stream: Mapping[str, Json] = {"stream": True}
    """the fields of a request that ask for a stream, with counts of tokens in it"""


# https://platform.openai.com/docs/api-reference/authentication
# https://docs.anthropic.com/en/api/overview#authentication. The newest SDK sends a later version
# and a bearer token; most clients seen in the wild still send these, and `headers` replaces them.
ENDPOINTS: dict[str, Endpoint] = {
    "openai-chat": Endpoint(
        "https://api.openai.com/v1",
        "/chat/completions",
        "OPENAI_BASE_URL",
        "OPENAI_API_KEY",
        stream={"stream": True, "stream_options": {"include_usage": True}},
    ),
    "openai-responses": Endpoint(
        "https://api.openai.com/v1", "/responses", "OPENAI_BASE_URL", "OPENAI_API_KEY"
    ),
    "anthropic-messages": Endpoint(
        "https://api.anthropic.com",
        "/v1/messages",
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_API_KEY",
        "x-api-key",
        "",
        {"anthropic-version": "2023-06-01"},
    ),
}
SECRET = re.compile(r"auth|key|token|secret|cookie|sig", re.IGNORECASE)
"""The names of headers and of parts of a query that hold what must not be shown."""
ILLEGAL = re.compile(r"[^\t\x20-\x7e\x80-\xff]")


class Address(NamedTuple):
    """Where requests go, and what goes with each of them."""

    url: str
    headers: Headers
    secrets: Secrets

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc


def resolve(
    upstream: Dialect, url: str | None, key: str | None, headers: Mapping[str, str] | None
) -> Address:
    """The address of an upstream: what the caller says, else the environment, else the vendor.

    A key of the environment goes where the environment or the vendor says, never to a ``url`` of
    the caller: else a local server would be shown the key to an account elsewhere.
    """
    endpoint, own = endpoint_of(upstream)
    key = (key or "").strip() or None
    vendors = False
    if url is None:
        if endpoint is None or not own:
            raise Unsupported(f"no address is known for {upstream.name}: give url=")
        key = key or variable(endpoint.key_variable)
        url = variable(endpoint.url_variable)
        vendors = url is None
        url = url or endpoint.base
    whole = check_url(url)
    given = {name.lower(): value for name, value in (headers or {}).items()}
    sent = Headers()
    if endpoint is not None:
        whole = join(url, endpoint.path)
        sent.update(endpoint.headers)
    if key is not None:
        header, scheme = (
            (endpoint.key_header, endpoint.key_scheme) if endpoint else ("authorization", "Bearer ")
        )
        sent[header] = scheme + key
    elif vendors and endpoint is not None and endpoint.key_header not in given:
        raise AuthenticationFailed(f"no key: give key= or set {endpoint.key_variable}")
    sent.update(given)
    for name, value in sent.items():
        if ILLEGAL.search(value):
            raise Unsupported(f"the header {name!r} holds what no header can hold")
    return Address(whole, sent, Secrets((key or "", *secrets_of(sent))))


def endpoint_of(upstream: Dialect) -> tuple[Endpoint | None, bool]:
    """The row of a dialect, and whether it is its own or that of what it is a variant of."""
    if upstream.name in ENDPOINTS:
        return ENDPOINTS[upstream.name], True
    for parent in type(upstream).__mro__[1:]:
        if (found := ENDPOINTS.get(getattr(parent, "name", ""))) is not None:
            return found, False
    return None, False


def stream_fields(dialect: Dialect) -> Mapping[str, Json]:
    """How a request of a dialect asks for a stream; nothing where it has no word for that."""
    endpoint, _ = endpoint_of(dialect)
    return {} if endpoint is None else endpoint.stream


def variable(name: str) -> str | None:
    return os.environ.get(name, "").strip() or None


def check_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reading it is what checks it
    except ValueError:
        raise Unsupported("the url is none") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Unsupported("the url must begin with https:// (or http://) and a host")
    named = [name for name, _ in parse_qsl(parts.query) if SECRET.search(name)]
    if "@" in parts.netloc or named:  # addresses are shown; they must hold nothing that is not
        raise Unsupported("a url with a secret in it; give key= or headers= instead")
    return url


def join(base: str, path: str) -> str:
    """A base and the path behind it, of which the base may already say the beginning or all.

    >>> join("https://api.anthropic.com/v1/", "/v1/messages")
    'https://api.anthropic.com/v1/messages'
    >>> join("http://localhost:8000/v1/chat/completions?v=2", "/chat/completions")
    'http://localhost:8000/v1/chat/completions?v=2'
    """
    parts = urlsplit(base)
    have = parts.path.rstrip("/")
    if have.endswith("/v1") and path.startswith("/v1/"):
        path = path.removeprefix("/v1")
    if not have.endswith(path):
        have += path
    return urlunsplit((parts.scheme, parts.netloc, have, parts.query, ""))


def secrets_of(headers: Mapping[str, str]) -> list[str]:
    """What must not be shown: a credential with and without the scheme that it follows."""
    found = [value for name, value in headers.items() if SECRET.search(name)]
    return found + [value.partition(" ")[2] for value in found]
