"""Gateways on loopback for tests: real sockets, real SDKs, a scripted model behind."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, ParamSpec
from urllib.parse import urlsplit

from dragoman.gateway import Config, Gateway, Upstream, testing
from dragoman.gateway.testing import Model, running

__all__ = ["DOORS", "Model", "Reply", "chain", "in_a_loop", "post", "running", "scripted"]
P = ParamSpec("P")

DOORS = {
    "anthropic-messages": "",
    "openai-chat": "/v1",
    "openai-responses": "/v1",
    "gemini": "",
    "ollama": "",
    "bedrock-converse": "",
}
"""The doors, and what follows the host in the base URL that SDKs take."""


@contextmanager
def scripted(*replies: Mapping[str, Any], **settings: Any) -> Iterator[tuple[str, Model]]:
    """A gateway with the scripted model behind it."""
    with testing.scripted(*replies, **settings) as model:
        yield model.url, model


@contextmanager
def chain(
    upstream: str, *replies: Mapping[str, Any], more: Mapping[str, Any] | None = None, **told: Any
) -> Iterator[tuple[str, Model]]:
    """A gateway whose upstream speaks a dialect: another gateway, with the scripted model."""
    with ExitStack() as stack:
        url, model = stack.enter_context(scripted(*replies))
        settings = {"dialect": upstream, "url": url + DOORS[upstream], "key": "k", "retries": 0}
        behind = Upstream(**{**settings, **(more or {})})
        gateway = Gateway(Config(log="none", upstreams={"up": behind}, **told))
        yield stack.enter_context(running(gateway)), model


class Reply:
    """What came back over HTTP."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body


def post(
    url: str, path: str, body: bytes, headers: dict[str, str] | None = None, timeout: float = 30
) -> Reply:
    line = http.client.HTTPConnection(urlsplit(url).netloc, timeout=timeout)
    try:
        told = {"content-type": "application/json", **(headers or {})}
        line.request("POST", path, body, told)
        response = line.getresponse()
        return Reply(
            response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()
        )
    finally:
        line.close()


def in_a_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """A test that is a coroutine, in an event loop of its own."""

    @wraps(test)
    def run(*about: P.args, **named: P.kwargs) -> None:
        asyncio.run(test(*about, **named))

    return run
