"""A server on this machine that replies as no server should: broken HTTP, broken bodies, no end.

A ``Trick`` is one way to go wrong. It makes bytes of a response that would have been good, and says
what may become of them: the response all the same (``WHOLE``), an error with this status, or
either (``ANY``), where HTTP libraries differ in what they forgive.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import struct
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, Self

from apis import KEY

WHOLE: Final = "whole"
ANY: Final = "any"
MARKED: Final = "marked"
"""The response where its last event says that it is the last; else either."""
BROKEN: Final = "broken"
"""There is no response: an error, with whatever status came."""


class Good(NamedTuple):
    """What a good server would have sent."""

    body: bytes
    content_type: str


class Wire(NamedTuple):
    """What is sent instead, in pieces, and how the connection ends.

    At an empty piece the server waits until it is told to go on.
    """

    pieces: Iterable[bytes]
    deaf: bool = False
    """the request is not read"""
    reset: bool = False
    """the connection ends in an RST, not in a FIN"""


class Trick(NamedTuple):
    make: Callable[[Good], Wire | bytes]
    plain: str | int
    stream: str | int


class Hostile:
    """The server, in a thread, until the end of a ``with``. Each connection has one response."""

    def __init__(self) -> None:
        self.script: list[Wire] = []
        self.heard: list[bytes] = []
        """the requests that were read"""
        self.left = threading.Event()
        """the client hung up while it was still being told something"""
        self.go_on = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    def play(self, *wires: Wire) -> None:
        """What the next connections get."""
        self.script, self.heard = list(wires), []
        self.left.clear()
        self.go_on.clear()

    def proceed(self) -> None:
        """Go on after an empty piece, says the client from its thread."""
        self._loop.call_soon_threadsafe(self.go_on.set)

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._reply, "127.0.0.1", 0, limit=2**26)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._end.wait()
        server.close()

    async def _reply(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wire = self.script.pop(0)
        try:
            if not wire.deaf:
                head = await reader.readuntil(b"\r\n\r\n")
                length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
                self.heard.append(head + await reader.readexactly(int(length)))
            for piece in wire.pieces:
                if not piece:
                    await self.go_on.wait()
                writer.write(piece)
                await writer.drain()
            if wire.reset:
                how = struct.pack("ii", 1, 0)
                line: socket.socket = writer.get_extra_info("socket")
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, how)
            writer.close()
            await writer.wait_closed()
        except ConnectionError:
            self.left.set()


# -- pieces of HTTP -------------------------------------------------------------------------


def head(status: str | int = "200 OK", *lines: str) -> bytes:
    """The headers of a response. They say that the connection ends, so that no other uses it."""
    status = f"{status} Said" if isinstance(status, int) else status
    if not status.startswith("1"):
        lines = ("connection: close", *lines)
    return "\r\n".join((f"HTTP/1.1 {status}", *lines, "", "")).encode("latin-1")


def sized(good: Good, status: str | int = "200 OK", *lines: str) -> bytes:
    kind = f"content-type: {good.content_type}"
    return head(status, kind, f"content-length: {len(good.body)}", *lines) + good.body


def chunked(good: Good, *lines: str) -> bytes:
    return head(200, f"content-type: {good.content_type}", "transfer-encoding: chunked", *lines)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def until_closed(good: Good, *lines: str) -> bytes:
    return head(200, f"content-type: {good.content_type}", *lines)


def fails(status: int, body: bytes, *lines: str) -> Trick:
    """An error status with a body that is no error document, or a bad one."""
    kind = "application/json"
    return Trick(lambda good: sized(Good(body, kind), status, *lines), status, status)


def says(body: bytes, plain: str | int, stream: str | int, kind: str = "") -> Trick:
    """A good status with another body."""
    return Trick(lambda good: sized(Good(body, kind or good.content_type)), plain, stream)


def half(good: Good) -> bytes:
    return good.body[: len(good.body) // 2]


# -- what is repeated, and must not be shown ------------------------------------------------

PAGE = f"<!doctype html><title>Oops</title><pre>authorization: Bearer {KEY}</pre>".encode()
ERROR = json.dumps({"error": {"message": f"no {KEY}", "type": KEY, "code": KEY}}).encode()
DEEP = b'{"error":' * 800 + b'"' + KEY.encode() + b'"' + b"}" * 800
ODD = b'{"error":{"message":"\xff\xfe ' + KEY.encode() + b'"}}'
HUGE = b'{"error":{"message":"' + b"x" * 2**17 + KEY.encode() + b'"}}'

STATUSES = (400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529, 599)


def one_byte_each(good: Good) -> Wire:
    return Wire((chunked(good) + b"".join(chunk(bytes([b])) for b in good.body) + b"0\r\n\r\n",))


def packets(good: Good) -> Wire:
    """Each byte of the body is written by itself."""
    about = head(200, f"content-length: {len(good.body)}")
    return Wire((about, *(bytes([b]) for b in good.body)))


def packed(good: Good, level: int = 9) -> Good:
    return good._replace(body=gzip.compress(good.body, level, mtime=0))


def encoded(good: Good, how: str) -> bytes:
    return sized(good, "200 OK", f"content-encoding: {how}")


TRICKS: dict[str, Trick] = {
    # The connection.
    "closed at once": Trick(lambda good: Wire((), deaf=True), BROKEN, BROKEN),
    "reset at once": Trick(lambda good: Wire((), deaf=True, reset=True), BROKEN, BROKEN),
    "closed after the request": Trick(lambda good: Wire(()), BROKEN, BROKEN),
    "reset after the request": Trick(lambda good: Wire((), reset=True), BROKEN, BROKEN),
    "closed in the status line": Trick(lambda good: b"HTTP/1.1 2", BROKEN, BROKEN),
    "closed in the headers": Trick(lambda good: sized(good)[:60], BROKEN, BROKEN),
    "reset in the body": Trick(
        lambda good: Wire((sized(good)[: -len(good.body) // 2],), reset=True), BROKEN, BROKEN
    ),
    "closed in the body": Trick(lambda good: sized(good)[: -len(good.body) // 2], BROKEN, BROKEN),
    "closed in a body of unknown length": Trick(
        lambda good: until_closed(good) + half(good), BROKEN, BROKEN
    ),
    "closed in a chunk": Trick(
        lambda good: chunked(good) + chunk(good.body)[: len(good.body) // 2], BROKEN, BROKEN
    ),
    "closed after a chunk": Trick(lambda good: chunked(good) + chunk(half(good)), BROKEN, BROKEN),
    "half of it in good chunks": Trick(
        lambda good: chunked(good) + chunk(half(good)) + b"0\r\n\r\n", BROKEN, BROKEN
    ),
    "closed before the last chunk": Trick(
        lambda good: chunked(good) + chunk(good.body), BROKEN, MARKED
    ),
    "closed in the last chunk": Trick(
        lambda good: chunked(good) + chunk(good.body) + b"0\r\n", ANY, MARKED
    ),
    "a length that is too large": Trick(
        lambda good: head(200, f"content-length: {len(good.body) + 9}") + good.body, BROKEN, MARKED
    ),
    "a length that is too small": Trick(
        lambda good: head(200, f"content-length: {len(good.body) // 2}") + good.body, BROKEN, BROKEN
    ),
    "a length that is negative": Trick(
        lambda good: head(200, "content-length: -5") + good.body, BROKEN, BROKEN
    ),
    "a length that is no number": Trick(
        lambda good: head(200, "content-length: 0x20") + good.body, BROKEN, BROKEN
    ),
    "a length beyond all": Trick(
        lambda good: head(200, f"content-length: {'9' * 400}") + good.body, BROKEN, ANY
    ),
    "two lengths": Trick(
        lambda good: (
            head(200, "content-length: 3", f"content-length: {len(good.body)}") + good.body
        ),
        BROKEN,
        BROKEN,
    ),
    "the same length twice": Trick(
        lambda good: sized(good, 200, f"content-length: {len(good.body)}"), ANY, ANY
    ),
    "a length and chunks": Trick(
        lambda good: chunked(good, "content-length: 3") + chunk(good.body) + b"0\r\n\r\n", ANY, ANY
    ),
    "a chunk without a size": Trick(
        lambda good: chunked(good) + b"\r\n" + good.body + b"\r\n0\r\n\r\n", BROKEN, BROKEN
    ),
    "a chunk whose size is no number": Trick(
        lambda good: chunked(good) + b"zz\r\n" + good.body + b"\r\n0\r\n\r\n", BROKEN, BROKEN
    ),
    "a chunk whose size is negative": Trick(
        lambda good: chunked(good) + b"-5\r\n" + good.body + b"\r\n0\r\n\r\n", BROKEN, BROKEN
    ),
    "a chunk of unheard size": Trick(
        lambda good: chunked(good) + b"f" * 40 + b"\r\n" + good.body, BROKEN, ANY
    ),
    "a chunk longer than its size": Trick(
        lambda good: chunked(good) + b"5\r\n" + good.body + b"\r\n0\r\n\r\n", BROKEN, BROKEN
    ),
    "chunks that were not announced": Trick(
        lambda good: until_closed(good) + chunk(good.body) + b"0\r\n\r\n", BROKEN, ANY
    ),
    "chunks that were announced and not sent": Trick(
        lambda good: chunked(good) + good.body, BROKEN, BROKEN
    ),
    "garbage after the body": Trick(lambda good: sized(good) + b"\0\xff garbage", ANY, ANY),
    "garbage after the last chunk": Trick(
        lambda good: chunked(good) + chunk(good.body) + b"0\r\n\r\n\0\xff garbage", ANY, ANY
    ),
    "a second response": Trick(lambda good: sized(good) + sized(good), ANY, ANY),
    "one byte in a chunk": Trick(one_byte_each, WHOLE, WHOLE),
    "one byte at a time": Trick(packets, WHOLE, WHOLE),
    # The status line and the headers.
    "nothing of HTTP": Trick(lambda good: b"\x16\x03\x01\x02\x00" * 50, BROKEN, BROKEN),
    "only the body": Trick(lambda good: good.body, BROKEN, BROKEN),
    "HTTP of another age": Trick(lambda good: b"HTTP/9.9 200 OK\r\n\r\n" + good.body, ANY, ANY),
    "a status that is no number": Trick(lambda good: sized(good, "2x0 OK"), BROKEN, BROKEN),
    "a status of four digits": Trick(lambda good: sized(good, "2000 OK"), BROKEN, BROKEN),
    "a status with the key": Trick(
        lambda good: sized(Good(ERROR, "application/json"), f"500 {KEY}"), 500, 500
    ),
    "a header without a colon": Trick(lambda good: sized(good, 200, "nonsense"), ANY, ANY),
    "a header with a NUL": Trick(lambda good: sized(good, 200, f"x-a: \0{KEY}"), ANY, ANY),
    "a header that is folded": Trick(lambda good: sized(good, 200, "x-a: 1\r\n 2"), ANY, ANY),
    "a header that is too long": Trick(
        lambda good: sized(good, 200, f"x-a: {KEY * 2_000}"), BROKEN, BROKEN
    ),
    "headers without number": Trick(
        lambda good: sized(good, 200, *(f"x-{n}: {KEY}" for n in range(2_000))), ANY, ANY
    ),
    "headers not in ASCII": Trick(lambda good: sized(good, 200, "x-a: \xff\xe9"), ANY, ANY),
    "two types": Trick(lambda good: sized(good, 200, "content-type: image/png"), WHOLE, WHOLE),
    "another type": Trick(
        lambda good: sized(good._replace(content_type="image/png")), WHOLE, WHOLE
    ),
    "no type": Trick(
        lambda good: head(200, f"content-length: {len(good.body)}") + good.body, WHOLE, WHOLE
    ),
    "a charset that is none": Trick(
        lambda good: sized(good._replace(content_type="text/html; charset=klingon")), WHOLE, WHOLE
    ),
    "a request id of many kinds": Trick(
        lambda good: sized(good, 200, f"request-id: {KEY}", f"x-request-id: \x1b]0;{KEY}\x07"),
        ANY,
        ANY,
    ),
    "cookies": Trick(lambda good: sized(good, 200, f"set-cookie: a={KEY}"), WHOLE, WHOLE),
    # Statuses.
    "a hundred first": Trick(lambda good: head("100 Continue") + sized(good), WHOLE, WHOLE),
    "hints first": Trick(
        lambda good: head("103 Early Hints", "link: </a>") * 9 + sized(good), WHOLE, WHOLE
    ),
    "hints alone": Trick(lambda good: head("103 Early Hints"), BROKEN, BROKEN),
    "other protocols": Trick(
        lambda good: head("101 Switching Protocols", "upgrade: x", "connection: upgrade"),
        BROKEN,
        BROKEN,
    ),
    "no content": Trick(lambda good: head("204 No Content"), 204, 204),
    "no content, and some": Trick(lambda good: sized(good, "204 No Content"), BROKEN, BROKEN),
    "another good status": Trick(lambda good: sized(good, "206 Partial Content"), WHOLE, WHOLE),
    **{
        f"a redirect with {status}": Trick(
            lambda good, status=status: sized(  # type: ignore[misc]
                Good(PAGE, "text/html"), status, f"location: http://127.0.0.1:1/?key={KEY}"
            ),
            status,
            status,
        )
        for status in (300, 301, 302, 303, 307, 308)
    },
    "not modified": Trick(lambda good: head("304 Not Modified"), 304, 304),
    # What the body says.
    "a page": says(PAGE, 200, 200, "text/html"),
    "a page that says it is right": says(PAGE, 200, 200),
    "an error with a good status": says(ERROR, 200, 200, "application/json"),
    "an error that says it is right": says(ERROR, 200, 200),
    "nothing": says(b"", 200, 200),
    "spaces": says(b" \r\n" * 100, 200, 200),
    "null": says(b"null", 200, 200),
    "a list": says(b"[]", 200, 200),
    "a text": says(json.dumps(KEY).encode(), 200, 200),
    "nothing of JSON": says(b"\0\xff\xfe" * 99, 200, 200),
    "half a character": says(b'{"a":"\xe2\x82', 200, 200),
    "too deep": says(b'{"a":' * 5000 + b"1" + b"}" * 5000, 200, 200),
    "another encoding": Trick(
        lambda good: sized(good._replace(body=good.body.decode("latin-1").encode("utf-16"))),
        200,
        200,
    ),
    "a good body twice": Trick(
        lambda good: sized(good._replace(body=good.body * 2)), BROKEN, MARKED
    ),
    "good, and more": Trick(
        lambda good: sized(good._replace(body=good.body + b"\0\xff" + KEY.encode())), BROKEN, MARKED
    ),
    # How it is packed.
    "packed": Trick(lambda good: encoded(packed(good), "gzip"), WHOLE, WHOLE),
    "packed in another way": Trick(
        lambda good: encoded(good._replace(body=zlib.compress(good.body)), "deflate"), WHOLE, WHOLE
    ),
    "packed, it says": Trick(lambda good: encoded(good, "gzip"), BROKEN, BROKEN),
    "packed in an unknown way": Trick(lambda good: encoded(good, "klingon"), ANY, ANY),
    "packed, and cut": Trick(
        lambda good: encoded(good._replace(body=half(packed(good))), "gzip"), BROKEN, BROKEN
    ),
    "packed twice, said once": Trick(
        lambda good: encoded(packed(packed(good)), "gzip"), BROKEN, BROKEN
    ),
    "packed, and an error": Trick(
        lambda good: sized(packed(Good(ERROR, "application/json")), 500, "content-encoding: gzip"),
        500,
        500,
    ),
    "an error that is packed, it says": Trick(
        lambda good: sized(Good(ERROR, "application/json"), 500, "content-encoding: gzip"),
        500,
        500,
    ),
    # Errors.
    **{f"{status} and nothing": fails(status, b"") for status in (400, 429, 500)},
    **{f"{status} and an error": fails(status, ERROR) for status in STATUSES},
    "500 and a page": fails(500, PAGE),
    "500 and no UTF-8": fails(500, ODD),
    "500 and errors 800 deep": fails(500, DEEP),
    "500 and very much": fails(500, HUGE),
    "500 and a text": fails(500, json.dumps(KEY).encode()),
    "500 and a list": fails(500, json.dumps([KEY]).encode()),
    "500 and a number": fails(500, b"1e999"),
    "500 and null": fails(500, b"null"),
    "500 and errors in errors": fails(500, b'{"error":' * 60 + ERROR + b"}" * 60),
    "500 and an error of odd types": fails(500, b'{"error":{"message":[1],"type":{},"code":2.5}}'),
    "500 and a response": Trick(lambda good: sized(good, 500), 500, 500),
    "500 and a body that is cut": Trick(
        lambda good: head(500, f"content-length: {len(ERROR) + 9}") + ERROR, 500, 500
    ),
    "500 and a body that is reset": Trick(
        lambda good: Wire((head(500, "content-length: 9999") + ERROR,), reset=True), 500, 500
    ),
    "429 and a bad chunk": Trick(
        lambda good: head(429, "transfer-encoding: chunked") + chunk(ERROR) + b"zz\r\n",
        BROKEN,
        BROKEN,
    ),
    **{
        f"429 and a wait of {wait[:12]}": fails(429, ERROR, f"retry-after: {wait}")
        for wait in (
            "-5",
            "nan",
            "inf",
            "1e400",
            "9" * 400,
            "soon",
            "",
            "0x10",
            "Mon, 99 Foo 2026",
            "Fri, 31 Dec 99999999999 23:59:59 GMT",
        )
    },
}


def wire(trick: Trick, good: Good) -> Wire:
    made = trick.make(good)
    return Wire((made,)) if isinstance(made, bytes) else made


def endless(beginning: bytes, again: bytes) -> Iterator[bytes]:
    """A stream that begins and never ends."""
    yield beginning
    while True:
        yield chunk(again) * 50
