"""Clients and upstreams of the same dialect: bytes pass, and what belongs to a request passes too.

Upstreams are small ASGI applications of the tests' own, so that what they were sent is seen whole.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.sync.client import connect

from dragoman import dialects
from dragoman.gateway import Config, Gateway, Upstream
from dragoman.gateway.config import Client
from dragoman.gateway.passing import KINDS, Passing
from dragoman.gateway.store import Memory, StoreFailed
from dragoman.streams.transcoder import Transcoder
from gateways import Model, chain, post, running, scripted

ASKED: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Hi"}],
}
MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
    "content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn", "stop_sequence": None,
    "usage": {"input_tokens": 3, "output_tokens": 2},
}  # fmt: skip


class Server:
    """An upstream with one reply, which keeps what it was asked."""

    def __init__(self, reply: Any, **headers: str) -> None:
        self.reply = json.dumps(reply).encode()
        self.headers = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
        self.asked: list[tuple[str, dict[str, str], bytes]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        told = {k.decode(): v.decode() for k, v in scope["headers"]}
        self.asked.append((scope["path"], told, body))
        headers = [(b"content-type", b"application/json"), *self.headers]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self.reply})


def through(server: Server, dialect: str, **told: Any) -> Callable[..., Any]:
    """A function that posts to a gateway in front of a server."""

    def ask(path: str, document: Any, **headers: str) -> Any:
        with running(server) as url:
            settings = {"dialect": dialect, "url": url, "key": "own-key", **told}
            with running(Gateway(Config(log="none", upstreams={"up": Upstream(**settings)}))) as at:
                sent = {k.replace("_", "-"): v for k, v in headers.items()}
                return post(at, path, json.dumps(document).encode(), sent)

    return ask


# -- headers ----------------------------------------------------------------------------------


def test_versions_and_betas_are_part_of_a_request() -> None:
    server = Server(MESSAGE, request_id="req_1", anthropic_ratelimit_requests_remaining="7",
                    anthropic_organization_id="org", set_cookie="a=b")  # fmt: skip
    reply = through(server, "anthropic-messages")(
        "/v1/messages?beta=true", ASKED, anthropic_beta="one,two", anthropic_version="2099-01-01",
        x_api_key="clients-key", x_stainless_os="Linux", cookie="c=d",
    )  # fmt: skip
    _, told, body = server.asked[-1]
    assert body == json.dumps(ASKED).encode()
    assert told["anthropic-beta"] == "one,two"
    assert told["anthropic-version"] == "2099-01-01"
    assert told["x-api-key"] == "own-key"
    assert not {"cookie", "x-stainless-os"} & set(told)
    assert reply.headers["request-id"] == "req_1"
    assert reply.headers["anthropic-ratelimit-requests-remaining"] == "7"
    assert not {"anthropic-organization-id", "set-cookie"} & set(reply.headers)


def test_headers_of_another_dialect_are_not_passed() -> None:
    server = Server(MESSAGE, request_id="req_1")
    reply = through(server, "anthropic-messages")(
        "/v1/chat/completions", ASKED, openai_beta="x", anthropic_beta="y"
    )
    assert reply.status == 200
    assert not {"openai-beta", "anthropic-beta"} & set(server.asked[-1][1])
    assert server.asked[-1][1]["anthropic-version"] == "2023-06-01"
    assert "request-id" not in reply.headers


def test_a_token_of_a_subscription_is_forwarded_as_it_came() -> None:
    server = Server(MESSAGE)
    ask = through(server, "anthropic-messages", forward_key=True)
    assert ask("/v1/messages", ASKED, authorization="Bearer oauth-1").status == 200
    assert server.asked[-1][1]["authorization"] == "Bearer oauth-1"
    assert "x-api-key" not in server.asked[-1][1]
    ask("/v1/messages", ASKED, x_api_key="key-1")
    assert server.asked[-1][1]["x-api-key"] == "key-1"
    ask("/v1/chat/completions", ASKED, authorization="Bearer key-2")
    assert server.asked[-1][1]["x-api-key"] == "key-2"


@pytest.mark.parametrize("share", [None, True])
def test_ids_of_users_are_for_the_vendor_alone(share: bool | None) -> None:
    """A server that speaks the vendor's dialect is somebody else."""
    server = Server(MESSAGE)
    asked = {**ASKED, "metadata": {"user_id": "device-and-account"}, "context_management": {}}
    ask = through(server, "anthropic-messages", share_user=share)
    reply = ask("/v1/messages", asked)
    sent = json.loads(server.asked[-1][2])
    assert ("device-and-account" in str(sent)) is bool(share)
    assert sent["context_management"] == {}
    assert ("user_id" in reply.headers.get("x-dragoman-losses", "")) is not bool(share)


# -- streams that nobody reads ----------------------------------------------------------------


def chunks(name: str, text: str) -> list[bytes]:
    """A stream of our own writer, frame by frame."""
    with scripted({"text": text, "usage": {"input": 40, "output": 7}}) as (url, _):
        paths: dict[str, tuple[str, dict[str, Any]]] = {
            "anthropic-messages": ("/v1/messages", ASKED),
            "openai-chat": ("/v1/chat/completions", ASKED),
            "openai-responses": ("/v1/responses", {"model": "m", "input": "Hi"}),
        }
        path, asked = paths[name]
        more = {"stream_options": {"include_usage": True}} if name == "openai-chat" else {}
        body = post(url, path, json.dumps({**asked, **more, "stream": True}).encode()).body
    return [frame + b"\n\n" for frame in body.split(b"\n\n")[:-1]]


TRICKY = 'say "type":"message_stop" and data: [DONE]\n\nevent: error\n\n"usage":{"error":1} ' * 3


@pytest.fixture(params=list(KINDS))
def frames(request: pytest.FixtureRequest) -> tuple[str, list[bytes]]:
    return request.param, chunks(request.param, TRICKY)


def passed(name: str, pieces: list[bytes]) -> tuple[bytes, Passing]:
    passing = Passing(lambda: Transcoder(name, name), dialects.get(name))
    return b"".join([*map(passing.feed, pieces), passing.close()]), passing


def test_a_whole_stream_passes_unread(frames: tuple[str, list[bytes]]) -> None:
    name, pieces = frames
    for step in (1, 2, 7, len(pieces)):
        grouped = [b"".join(pieces[i : i + step]) for i in range(0, len(pieces), step)]
        out, passing = passed(name, grouped)
        assert out == b"".join(pieces)
        assert passing.flow is None, f"{step} frames at once"
        usage = passing.usage()
        assert usage is not None
        assert (usage.input_total, usage.output_total) == (40, 7)


def test_whatever_else_comes_is_read(frames: tuple[str, list[bytes]]) -> None:
    """As by a transcoder alone, wherever the stream is cut, broken off or spoilt."""
    name, pieces = frames
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    bad = [b"data: {no json\n\n", b"<html>\n\n",
           f"event: error\ndata: {json.dumps(error)}\n\n".encode()]  # fmt: skip
    whole = b"".join(pieces)
    middle = len(pieces) // 2
    spoilt = [[*pieces[:middle], each, *pieces[middle:]] for each in bad]
    cut = [pieces[:-1], pieces[:-2], pieces[:middle], pieces[:1], []]
    odd = [[whole[i : i + 50] for i in range(0, len(whole), 50)]]
    odd.append([piece.replace(b"\n", b"\r\n") for piece in pieces])
    for given in (*spoilt, *cut, *odd):
        alone = Transcoder(name, name)
        expected = b"".join([*map(alone.feed, given), alone.close()])
        out, passing = passed(name, given)
        assert out == expected
        failure = None if passing.flow is None else passing.flow.reader.failure
        assert (failure is None) == (alone.reader.failure is None)


def test_however_many_frames_come_at_once(frames: tuple[str, list[bytes]]) -> None:
    """As by a transcoder alone, in pieces of any number of frames, whatever is among them."""
    name, pieces = frames
    error = b'event: error\ndata: {"error": {"message": "busy"}}\n\n'
    others = [b": ping\n\n", b"event: new\ndata: {}\n\n", b"data: {\n\n", b"no frame", error]
    places = range(0, len(pieces) + 1, max(len(pieces) // 6, 1))
    given = [
        [*pieces[:at], *other, *pieces[at:]] for at in places for other in ((o,) for o in others)
    ]
    given += [pieces[:at] for at in places]
    for frames_of_it in given:
        for step in (1, 3, 8, len(frames_of_it) or 1):
            grouped = [
                b"".join(frames_of_it[i : i + step]) for i in range(0, len(frames_of_it), step)
            ]
            alone = Transcoder(name, name)
            expected = b"".join([*map(alone.feed, grouped), alone.close()])
            out, passing = passed(name, grouped)
            assert out == expected
            failure = None if passing.flow is None else passing.flow.reader.failure
            assert (failure is None) == (alone.reader.failure is None)


def test_a_slow_client_slows_its_upstream_down() -> None:
    """What it does not read stays with the upstream; the gateway keeps some buffers of it."""
    piece = (
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":'
        + (b'{"type":"text_delta","text":"%b"}}\n\n' % (b"x" * 65_000))
    )
    begin = b"".join(chunks("anthropic-messages", "x")[:2])
    sent, stopped = 0, threading.Event()

    async def upstream(scope: Any, receive: Any, send: Any) -> None:
        nonlocal sent
        if scope["type"] != "http":
            return
        while (await receive()).get("more_body"):
            pass
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": begin, "more_body": True})
        for _ in range(2000):
            message = {"type": "http.response.body", "body": piece, "more_body": True}
            try:
                await asyncio.wait_for(send(message), 0.5)
            except TimeoutError:
                break
            sent += len(piece)
        stopped.set()

    for path, door in (("/v1/messages", ASKED), ("/v1/chat/completions", ASKED)):
        sent = 0
        stopped.clear()
        with running(upstream) as url:
            settings = Upstream(dialect="anthropic-messages", url=url, key="k")
            with running(Gateway(Config(log="none", upstreams={"up": settings}))) as at:
                body = json.dumps({**door, "stream": True}).encode()
                line = socket.create_connection(("127.0.0.1", int(urlsplit(at).port or 0)))
                line.sendall(
                    b"POST %b HTTP/1.1\r\nhost: h\r\ncontent-length: %d\r\n\r\n"
                    % (path.encode(), len(body))
                    + body
                )
                assert stopped.wait(60)
                line.close()
        assert sent < 40 * 2**20, path


# -- Responses --------------------------------------------------------------------------------


def test_a_response_belongs_to_the_client_that_asked_for_it() -> None:
    clients = {"ann": Client(key="key-of-ann"), "bob": Client(key="key-of-bob")}
    with chain("anthropic-messages", {"text": "One."}, clients=clients) as (url, _):
        ann = {"authorization": "Bearer key-of-ann"}
        bob = {"authorization": "Bearer key-of-bob"}
        asked = {"model": "m", "input": "a"}
        name = json.loads(post(url, "/v1/responses", json.dumps(asked).encode(), ann).body)["id"]
        more = json.dumps({**asked, "previous_response_id": name}).encode()
        assert post(url, "/v1/responses", more, bob).status == 404
        assert post(url, "/v1/responses", more, ann).status == 200
        for headers, status in ((bob, 404), (ann, 200)):
            line = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
            line.request("GET", f"/v1/responses/{name}", headers=headers)
            assert line.getresponse().status == status
            line.close()


def test_a_socket_is_continued_with_an_upstream_of_its_own_dialect() -> None:
    """The upstream is asked over HTTP, and does not know what a connection remembers."""
    with chain("openai-responses", {"text": "One."}, {"text": "Two."}) as (url, model):
        at = url.replace("http", "ws") + "/v1/responses"
        asked: dict[str, Any] = {"type": "response.create", "model": "m", "store": False}
        with connect(at, additional_headers={"authorization": "Bearer k"}) as line:
            line.send(json.dumps({**asked, "input": "a"}))
            first = last_event(line)
            more = {"input": "b", "previous_response_id": first["response"]["id"]}
            line.send(json.dumps({**asked, **more}))
            assert last_event(line)["response"]["output"][0]["content"][0]["text"] == "Two."
        assert roles(model) == ["user", "assistant", "user"]


def last_event(line: Any) -> Any:
    while True:
        event = json.loads(line.recv(timeout=20))
        if event["type"] in ("response.completed", "error"):
            return event


def roles(model: Model) -> list[str]:
    return [message.role for message in model.asked[-1].messages]


# -- a store that fails -----------------------------------------------------------------------


class Failing(Memory):
    async def find(self, keys: Any) -> dict[str, bytes]:
        raise StoreFailed("the store (Redis) failed: ConnectionError")

    async def get(self, key: str) -> bytes | None:
        raise StoreFailed("the store (Redis) failed: ConnectionError")

    async def put(self, key: str, value: bytes) -> None:
        raise StoreFailed("the store (Redis) failed: ConnectionError")


def test_a_store_that_fails_ends_no_conversation() -> None:
    reply = {"reasoning": "Hm.", "signature": "c2ln", "calls": [{"name": "look"}]}
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    with scripted(reply, {"text": "Done."}) as (behind, _):
        settings = Upstream(dialect="anthropic-messages", url=behind, key="k", retries=0)
        gateway = Gateway(Config(log="none", upstreams={"up": settings}), store=Failing())
        with running(gateway) as url:
            asked: dict[str, Any] = {**ASKED, "tools": [tool], "reasoning_effort": "high"}
            first = post(url, "/v1/chat/completions", json.dumps(asked).encode())
            assert first.status == 200
            message = json.loads(first.body)["choices"][0]["message"]
            result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"]}
            asked["messages"] = [*ASKED["messages"], message, {**result, "content": "14"}]
            second = post(url, "/v1/chat/completions", json.dumps(asked).encode())
            assert json.loads(second.body)["choices"][0]["message"]["content"] == "Done."
            more = {"model": "m", "input": "a", "previous_response_id": "resp_1"}
            third = post(url, "/v1/responses", json.dumps(more).encode())
            assert third.status == 503
            assert b"the store (Redis) failed" in third.body


# -- lists of models --------------------------------------------------------------------------


def test_models_are_those_that_the_upstream_lists() -> None:
    server = Server(MESSAGE)

    async def upstream(scope: Any, receive: Any, send: Any) -> None:
        server.reply = json.dumps({"object": "list", "data": [{"id": "qwen3"}, {"id": 7}]}).encode()
        await server(scope, receive, send)

    with running(upstream) as url:
        settings = Upstream(dialect="openai-chat", url=f"{url}/v1", key="k")
        with running(Gateway(Config(log="none", upstreams={"up": settings}))) as at:
            for path, name in (
                ("/v1/models", "data"), ("/v1beta/models", "models"), ("/api/tags", "models"),
            ):  # fmt: skip
                with urllib.request.urlopen(at + path, timeout=20) as reply:
                    assert "qwen3" in str(json.load(reply)[name])
            shown = post(at, "/api/show", b'{"model": "qwen3"}')
            assert "tools" in json.loads(shown.body)["capabilities"]
            with urllib.request.urlopen(urllib.request.Request(at, method="HEAD")) as reply:
                assert reply.status == 200
    assert [path for path, _, _ in server.asked] == ["/v1/models"]
