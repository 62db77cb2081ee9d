"""Requests as they go out on a connection, and what becomes of the connection."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable

import pytest

from dragoman.errors import Unsupported
from dragoman.providers.client import Client, Message
from dragoman.providers.errors import ConnectionFailed
from dragoman.providers.secrets import Headers
from dragoman.providers.wire import DEFAULTS, Target, lines
from gateways import in_a_loop

URL = "http://upstream.invalid:81/v1%2Fx?a=b"
Play = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
REPLY = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


def rows(data: bytes) -> dict[str, str]:
    first, *rest = data.decode().split("\r\n")
    return {"": first, **dict(row.split(": ", 1) for row in rest if row)}


def test_headers_have_what_every_request_has() -> None:
    told = rows(b"x\r\n" + lines({"accept": "text/plain", "x-key": "ü", "content-length": "7"}))
    assert told == {"": "x", **DEFAULTS, "accept": "text/plain", "x-key": "ü"}


@pytest.mark.parametrize("odd", ["\r", "\n", "\0", "a\r\nb: c"])
def test_a_header_is_one_line(odd: str) -> None:
    for headers in ({"x": odd}, {f"x{odd}": "a"}):
        with pytest.raises(Unsupported, match="line break"):
            lines(headers)


@in_a_loop
async def test_the_head_of_a_request() -> None:
    headers = Headers({"x-key": "k"})
    told = rows(Target("POST", URL, None).head(headers))
    assert told[""] == "POST /v1%2Fx?a=b HTTP/1.1"
    assert (told["host"], told["x-key"]) == ("upstream.invalid:81", "k")
    assert headers.encoded is not None
    proxied = rows(Target("POST", URL, "http://proxy.invalid:3128").head(headers))
    assert proxied[""] == f"POST {URL} HTTP/1.1"
    assert proxied["host"] == "upstream.invalid:81"
    named = Target("POST", URL, None).head(Headers({"host": "another.invalid"}))
    assert named.count(b"host: ") == 1
    assert b"host: another.invalid\r\n" in named


async def serve(play: Play, use: Callable[[str], Awaitable[None]]) -> int:
    """Ask a server; how many connections it got."""
    count = 0

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        try:
            await play(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(one, "127.0.0.1", 0, limit=2**26)
    async with server:
        await use(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
    return count


async def request(reader: asyncio.StreamReader) -> bytes:
    """One request, with its body."""
    head = await reader.readuntil(b"\r\n\r\n")
    told = rows(head)
    return head + await reader.readexactly(int(told.get("content-length", 0)))


@in_a_loop
async def test_a_connection_is_used_again() -> None:
    heard: list[bytes] = []

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(3):
            heard.append(await request(reader))
            writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\n" + REPLY)

    async def use(url: str) -> None:
        client = Client()
        for message in (
            Message(url, b"body", Headers()), Message(url, b"", Headers()),
            Message(url, b"", Headers(), None, "GET"),
        ):  # fmt: skip
            reply = await client.post(message)
            assert (reply.status, reply.body) == (200, b"ok")
        await client.close()

    assert await serve(play, use) == 1
    posted, empty, got = map(rows, (h.partition(b"\r\n\r\n")[0] for h in heard))
    assert (posted["content-length"], empty["content-length"]) == ("4", "0")
    assert (got[""], "content-length" in got) == ("GET / HTTP/1.1", False)


@in_a_loop
async def test_a_connection_with_a_request_that_was_not_all_sent_is_not() -> None:
    """The server replies before it has read the request."""
    done = asyncio.Event()

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(REPLY)
        await done.wait()

    async def use(url: str) -> None:
        client = Client()
        for _ in range(2):
            incoming = await client.open(Message(url, bytes(2**25), Headers()))
            assert await incoming.rest() == b"ok"
            incoming.close()
        await client.close()
        done.set()

    assert await serve(play, use) == 2


@in_a_loop
async def test_whoever_forgets_a_reply_hangs_up() -> None:
    gone = asyncio.Event()

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request(reader)
        writer.write(REPLY[:-1])
        assert await reader.read() == b""
        gone.set()

    async def use(url: str) -> None:
        client = Client()
        incoming = await client.open(Message(url, b"body", Headers()))
        assert await incoming.read() == b"o"
        del incoming
        gc.collect()
        await gone.wait()
        await client.close()

    assert await serve(play, use) == 1


@in_a_loop
async def test_a_reply_ends_with_its_client() -> None:
    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request(reader)
        writer.write(REPLY[:-1])
        await reader.read()

    async def use(url: str) -> None:
        for waits in (True, False):
            client = Client()
            incoming = await client.open(Message(url, b"body", Headers()))
            assert await incoming.read() == b"o"
            if waits:
                reading = asyncio.ensure_future(incoming.read())
                await asyncio.sleep(0)
                await client.close()
            else:
                await client.close()
                reading = asyncio.ensure_future(incoming.read())
            with pytest.raises(ConnectionFailed):
                await reading
            incoming.close()

    assert await serve(play, use) == 2
