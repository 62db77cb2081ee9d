"""Upstreams and clients that go wrong: each ends in the client's own form of an error.

No cut reply passes for a whole one, no key shows, nothing hangs, and the next request is answered.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

import dragoman
from apis import APIS, KEY
from dragoman import dialects
from dragoman.core.reading import encode
from dragoman.core.statuses import kind_of, status_of
from dragoman.gateway import Config, Gateway, Upstream
from dragoman.gateway.config import Limits
from dragoman.model import Failure, Text
from gateways import Reply, chain, post, running, scripted
from hostile import (
    BROKEN,
    MARKED,
    TRICKS,
    WHOLE,
    Good,
    Hostile,
    Wire,
    chunk,
    chunked,
    endless,
    wire,
)
from talks import EXPECTED, replies, request_of, written

PAIRS = (
    ("anthropic-messages", "openai-chat"),
    ("openai-chat", "anthropic-messages"),
    ("openai-responses", "gemini"),
    ("gemini", "openai-responses"),
    ("ollama", "bedrock-converse"),
    ("bedrock-converse", "ollama"),
    ("openai-chat", "openai-chat"),
    ("anthropic-messages", "anthropic-messages"),
)
pairs = pytest.mark.parametrize(("door", "upstream"), PAIRS, ids=[">".join(p) for p in PAIRS])
ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
UNMARKED = ("gemini",)
"""APIs whose streams have no last event: they end where the body ends."""
ALIVE = ("anthropic-messages", "openai-chat", "openai-responses", "gemini", "ollama", "cohere",
         "bedrock-converse", "anthropic-bedrock", "gemini-interactions")  # fmt: skip
"""Doors that say in silence that they are alive, each in its own form."""
PASSED = 64
"""How many kilobytes of a reply may be on the way before a client takes them."""


def path_of(door: str, stream: bool) -> str:
    row = dialects.get(door).endpoints[0]
    path, query = row.route("m", stream)
    base = urlsplit(row.base or "").path if door != "ollama" else ""
    asked = "&".join(f"{k}={v}" for k, v in query.items())
    return base + row.prefix + path + (f"?{asked}" if asked else "")


def body_of(door: str, stream: bool) -> bytes:
    row = dialects.get(door).endpoints[0]
    document = request_of(door, stream=stream or None)
    if stream and row.stream_path is None:
        document = {**document, **row.stream}
    return encode(row.body(document, stream, dialects.get(door).model_key))


@pytest.fixture(scope="module")
def server() -> Iterator[Hostile]:
    with Hostile() as hostile:
        yield hostile


def good(name: str, stream: bool) -> Good:
    if not stream:
        return Good(encode(replies(name)), "application/json")
    return Good(dragoman.decompose(replies(name), name), APIS[name].content_type)


def outcome(reply: Reply, door: str, stream: bool) -> tuple[bool, str]:
    """Whether a reply is whole, and what is wrong with it."""
    wrong = "the key shows" if KEY.encode() in reply.body + str(reply.headers).encode() else ""
    if reply.status != 200:
        tree = dragoman.read(json.loads(reply.body), door, facet="error")
        assert isinstance(tree, Failure)
        return False, wrong if tree.message else "an error without a message"
    if not stream:
        found = written(json.loads(reply.body), door)
    else:
        flow = dragoman.Transcoder(door, door)
        flow.feed(reply.body)
        flow.close()
        if flow.response.failure is not None:
            return False, wrong
        found = written(flow.document, door)
    return True, wrong or ("" if found == EXPECTED else f"another reply: {found}")


@pairs
@ways
def test_every_trick_of_a_hostile_server(
    server: Hostile, door: str, upstream: str, stream: bool
) -> None:
    api = APIS[upstream]
    settings = Upstream(dialect=upstream, url=server.url + api.base, key=KEY, retries=0, timeout=20)
    found: list[str] = []
    with running(Gateway(Config(log="none", upstreams={"up": settings}))) as url:
        for what, trick in TRICKS.items():
            server.play(wire(trick, good(upstream, stream)))
            reply = post(url, path_of(door, stream), body_of(door, stream))
            whole, wrong = outcome(reply, door, stream)
            expected = trick.stream if stream else trick.plain
            if expected == MARKED and upstream in UNMARKED:
                continue
            if whole and (expected == BROKEN or isinstance(expected, int)):
                wrong = "a success"
            if not whole and expected in (WHOLE, MARKED):
                wrong = f"no reply: {reply.status} {reply.body[:200]!r}"
            if wrong:
                found.append(f"{what}: {wrong}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 429, 500, 503, 529])
@pairs
def test_statuses_are_those_of_the_clients_api(
    server: Hostile, door: str, upstream: str, status: int
) -> None:
    api = APIS[upstream]
    settings = Upstream(dialect=upstream, url=server.url + api.base, key=KEY, retries=0)
    expected = status_of(kind_of("other", status), dialects.get(door).statuses)
    with running(Gateway(Config(log="none", upstreams={"up": settings}))) as url:
        server.play(wire(TRICKS[f"{status} and an error"], good(upstream, False)))
        reply = post(url, path_of(door, False), body_of(door, False))
        assert reply.status == (status if door == upstream else expected)


def test_a_client_that_goes_away_ends_the_request_upstream(server: Hostile) -> None:
    settings = Upstream(dialect="openai-chat", url=f"{server.url}/v1", key=KEY, retries=0)
    frame = b'data: {"id":"1","choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
    with running(Gateway(Config(log="none", upstreams={"up": settings}))) as url:
        begun = chunked(Good(b"", "text/event-stream"))
        server.play(Wire(endless(begun, frame)))
        line = socket.create_connection(("127.0.0.1", int(urlsplit(url).port or 0)))
        body = body_of("anthropic-messages", True)
        line.sendall(
            b"POST /v1/messages HTTP/1.1\r\nhost: h\r\n"
            b"content-length: %d\r\n\r\n" % len(body) + body
        )
        assert line.recv(10)
        line.close()
        assert server.left.wait(20)


def test_keep_alive_before_the_first_token(server: Hostile) -> None:
    settings = Upstream(dialect="openai-chat", url=f"{server.url}/v1", key=KEY, retries=0)
    config = Config(log="none", upstreams={"up": settings}, limits=Limits(keep_alive=0.05))
    reply = good("openai-chat", True)
    with running(Gateway(config)) as url:
        for door in ALIVE:
            server.play(Wire((b"", chunked(reply) + chunk(reply.body) + b"0\r\n\r\n")))
            line = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
            line.request("POST", path_of(door, True), body_of(door, True))
            response = line.getresponse()
            alive = dialects.get(door).keep_alive
            first = response.read(len(alive))  # before the upstream has written anything
            assert first == alive
            server.proceed()
            heard = Reply(200, {}, first + response.read())
            line.close()
            assert outcome(heard, door, True) == (True, "")


# -- clients that go wrong --------------------------------------------------------------------


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    limits = Limits(body=2**20, headers=2**14, body_timeout=2)
    with scripted({"text": "Hi"}, limits=limits) as (found, _):
        yield found


BODIES = {
    "nothing": b"",
    "no JSON": b"{",
    "a list": b"[]",
    "null": b"null",
    "a number as the model": b'{"model": 1, "messages": []}',
    "no model": b'{"messages": []}',
    "messages that are none": b'{"model": "m", "messages": 7, "input": 7, "contents": 7}',
    "too deep": b'{"model": "m", "messages": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "no UTF-8": b'{"model": "m", "messages": [{"role": "user", "content": "\xff"}]}',
    "too long": b'{"model": "m", "x": "' + b"x" * 2**21 + b'"}',
}
DOORS = ("anthropic-messages", "openai-chat", "openai-responses", "gemini", "ollama", "cohere",
         "bedrock-converse", "anthropic-bedrock", "gemini-interactions")  # fmt: skip
IN_PATH = ("gemini", "bedrock-converse", "anthropic-bedrock")
"""Doors whose path names the model."""


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("what", BODIES)
def test_bad_bodies_are_errors_of_the_clients_dialect(url: str, door: str, what: str) -> None:
    if what in ("no model", "a number as the model") and door in IN_PATH:
        return
    reply = post(url, path_of(door, False), BODIES[what])
    assert 400 <= reply.status < 500, reply.body
    tree = dragoman.read(json.loads(reply.body), door, facet="error")
    assert isinstance(tree, Failure)
    assert tree.message
    assert b"Traceback" not in reply.body


def test_half_a_body_and_long_headers(url: str) -> None:
    port = int(urlsplit(url).port or 0)
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(b"POST /v1/messages HTTP/1.1\r\nhost: h\r\ncontent-length: 99\r\n\r\n{")
        assert line.recv(2000).startswith(b"HTTP/1.1 504 ")
    reply = post(url, "/v1/messages", b"{}", {"x-long": "x" * 20_000})
    assert reply.status in (400, 413, 431)
    good_reply = post(url, "/v1/messages", body_of("anthropic-messages", False))
    assert good_reply.status == 200


def test_many_at_once_and_none_is_lost(url: str) -> None:
    async def one(number: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)
        body = body_of("openai-chat", True)
        writer.write(
            b"POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\nconnection: close\r\n"
            b"content-length: %d\r\n\r\n" % len(body) + body
        )
        data = await reader.read()
        writer.close()
        return data

    async def run() -> list[bytes]:
        return await asyncio.gather(*(one(number) for number in range(100)))

    for data in asyncio.run(run()):
        assert b"[DONE]" in data


HALF = "cut \\ud83d in two"


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions", "/v1/responses"])
@pytest.mark.parametrize("body", ["half", "mark"])
def test_a_client_that_cuts_a_character_in_two(path: str, body: str) -> None:
    """As programs do that shorten texts; the decoder refuses it. Neither does a byte order mark end
    a request.
    """
    said = HALF if body == "half" else "Hi"
    told = f'"messages": [{{"role": "user", "content": "{said}"}}]'
    if path == "/v1/responses":
        told = f'"input": "{said}"'
    data = f'{{"model": "m", "max_tokens": 9, {told}}}'.encode(
        "utf-8-sig" if body == "mark" else "utf-8"
    )
    with chain("anthropic-messages", {"text": "Hello."}) as (url, model):
        reply = post(url, path, data)
        assert reply.status == 200, reply.body
        (block,) = model.asked[-1].messages[-1].content
        assert isinstance(block, Text)
        assert block.text.startswith("cut " if body == "half" else "Hi")
