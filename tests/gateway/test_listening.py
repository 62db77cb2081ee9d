"""What the server writes to its sockets, and what an exchange leaves behind in memory."""

from __future__ import annotations

import asyncio
import gc
import json
import weakref
from typing import Any

import pytest

from dragoman.gateway import Config, Gateway
from dragoman.gateway.handling import Handling
from dragoman.gateway.listening import Joining
from gateways import in_a_loop

HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


class Transport:
    """What a transport was given, one item for each system call."""

    def __init__(self) -> None:
        self.given: list[Any] = []

    def write(self, data: bytes) -> None:
        self.given.append(data)

    def writelines(self, parts: tuple[bytes, ...]) -> None:
        self.given.append(b"".join(parts))

    def close(self) -> None:
        self.given.append("closed")

    def is_closing(self) -> bool:
        return "closed" in self.given


async def joined(*written: bytes) -> tuple[Transport, Joining]:
    transport = Transport()
    joining = Joining(transport, asyncio.get_running_loop())
    for data in written:
        joining.write(data)
    return transport, joining


@in_a_loop
async def test_a_head_goes_out_with_the_first_of_its_body() -> None:
    transport, joining = await joined(HEAD, b"one", b"two")
    await asyncio.sleep(0)
    assert transport.given == [HEAD + b"one", b"two"]
    joining.write(HEAD)
    joining.write(b"three")
    assert transport.given[2:] == [HEAD + b"three"]


@in_a_loop
async def test_a_head_does_not_wait_for_a_body_that_is_not_there() -> None:
    transport, joining = await joined(HEAD)
    assert transport.given == []
    await asyncio.sleep(0)
    assert transport.given == [HEAD]
    joining.write(b"late")
    assert transport.given == [HEAD, b"late"]


@in_a_loop
async def test_a_head_goes_out_before_the_end() -> None:
    transport, joining = await joined(HEAD)
    joining.close()
    await asyncio.sleep(0)
    assert transport.given == [HEAD, "closed"]
    assert joining.is_closing()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("door", ["/v1/chat/completions", "/v1/messages", "/v1/responses"])
@in_a_loop
async def test_an_exchange_is_gone_when_it_has_ended(
    monkeypatch: pytest.MonkeyPatch, door: str, stream: bool
) -> None:
    """No cycle keeps its documents until the garbage collector comes, which it seldom does."""
    made: list[Any] = []
    begin = Handling.__init__

    def remembered(self: Handling, *about: Any) -> None:
        begin(self, *about)
        made.append(weakref.ref(self))

    monkeypatch.setattr(Handling, "__init__", remembered)
    asked = {"model": "m", "stream": stream, "max_tokens": 9, "input": "Hi"}
    body = json.dumps({**asked, "messages": [{"role": "user", "content": "Hi"}]}).encode()
    told = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": door, "headers": told}
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body}

    async def send(message: Any) -> None:
        sent.append(message)

    gateway = Gateway(Config(log="none"))
    gc.disable()
    try:
        await gateway(scope, receive, send)
        assert sent[0]["status"] == 200
        assert [each() for each in made] == [None]
    finally:
        gc.enable()
        await gateway.close()
