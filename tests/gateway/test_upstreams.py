"""What operators configure for upstreams: keys, headers, limits, retries, and who is asked next."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.sync.client import connect

from dragoman.gateway import Config, Gateway, Upstream
from dragoman.gateway.config import Client, Limits
from gateways import Reply, post, running

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
BUSY = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
SLOW = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
WRONG = {"type": "error", "error": {"type": "invalid_request_error", "message": "wrong"}}
BEGUN = (
    b'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message",'
    b'"role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,'
    b'"usage":{"input_tokens":1,"output_tokens":1}}}\n\n'
    b'event: content_block_start\ndata: {"type":"content_block_start","index":0,'
    b'"content_block":{"type":"text","text":""}}\n\n'
)
PIECE = (
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
    b'"delta":{"type":"text_delta","text":"x"}}\n\n'
)
ENDED = (
    b'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n'
    b'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn",'
    b'"stop_sequence":null},"usage":{"output_tokens":2}}\n\n'
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
)
DOORS = {"converted": "/v1/chat/completions", "same": "/v1/messages"}
doors = pytest.mark.parametrize("path", DOORS.values(), ids=list(DOORS))


class Server:
    """An upstream that replies by a list of (status, body, headers); the last again and again."""

    def __init__(self, *replies: tuple[int, Any, dict[str, str]]) -> None:
        self.replies = list(replies) or [(200, MESSAGE, {})]
        self.asked: list[tuple[dict[str, str], Any]] = []
        self.open = self.most = 0
        self.heard, self.left = threading.Event(), threading.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.asked.append(
            ({k.decode(): v.decode() for k, v in scope["headers"]}, json.loads(body or b"{}"))
        )
        self.heard.set()
        self.open += 1
        self.most = max(self.most, self.open)
        await asyncio.sleep(0)
        status, said, told = self.replies[0] if len(self.replies) == 1 else self.replies.pop(0)
        headers = [(k.encode(), v.encode()) for k, v in told.items()]
        if said is None:  # never
            while (await receive())["type"] != "http.disconnect":
                pass
            self.left.set()
            return
        data = said if isinstance(said, bytes) else json.dumps(said).encode()
        start = {"type": "http.response.start", "status": status, "headers": headers}
        await send(start)
        for number in range(0, len(data), 2**16):
            piece = data[number : number + 2**16]
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        self.open -= 1


STREAM = {"content-type": "text/event-stream"}


@contextmanager
def before(*servers: Server, config: dict[str, Any] | None = None, **told: Any) -> Iterator[str]:
    """A gateway before upstreams that are asked one after the other."""
    if not servers:
        servers = (Server(),)
    with ExitStack() as stack:
        ups = {}
        for number, server in enumerate(servers):
            url = stack.enter_context(running(server))
            settings = {"dialect": "anthropic-messages", "url": url, "key": "k", "retries": 0}
            ups[f"up{number}"] = Upstream(**{**settings, **told})
        made = Config(log="none", upstreams=ups, routes={"*": tuple(ups)}, **(config or {}))
        yield stack.enter_context(running(Gateway(made)))


def ask(url: str, path: str, stream: bool = False, key: str = "") -> Reply:
    body = json.dumps({**ASKED, "stream": True} if stream else ASKED).encode()
    return post(url, path, body, {"x-api-key": key})


# -- what is sent -----------------------------------------------------------------------------


@doors
def test_keys_of_files_headers_and_fields(tmp_path: Path, path: str) -> None:
    file = tmp_path / "key"
    file.write_text("key-in-a-file\n")
    server = Server()
    more: dict[str, Any] = {
        "key": None,
        "key_file": str(file),
        "headers": {"x-team": "t", "anthropic-beta": "b"},
    }
    with before(server, extra={"service_tier": "auto"}, **more) as url:
        assert ask(url, path).status == 200
    headers, body = server.asked[-1]
    assert headers["x-api-key"] == "key-in-a-file"
    assert (headers["x-team"], headers["anthropic-beta"]) == ("t", "b")
    assert body["service_tier"] == "auto"
    assert body["messages"] == ASKED["messages"]


def test_a_normalized_upstream_gets_messages_with_their_types() -> None:
    """From clients of its own dialect as well: llama-server knows messages of Responses by them."""
    response = {"id": "r", "object": "response", "status": "completed", "model": "m", "output": []}
    server = Server((200, response, {}))
    asked = {"model": "m", "input": [{"role": "user", "content": "Hi"}], "unknown": [1]}
    with before(server, dialect="openai-responses", normalize=True) as url:
        assert post(url, "/v1/responses", json.dumps(asked).encode()).status == 200
    sent = server.asked[-1][1]
    assert sent["input"] == [{"type": "message", "role": "user", "content": "Hi"}]
    assert sent["unknown"] == [1]


# -- retries ----------------------------------------------------------------------------------


@doors
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_what_was_too_busy_is_asked_again(path: str, stream: bool) -> None:
    good = (200, BEGUN + PIECE + ENDED, STREAM) if stream else (200, MESSAGE, {})
    server = Server((529, BUSY, {"retry-after": "0"}), (429, SLOW, {"retry-after": "0"}), good)
    with before(server, retries=2) as url:
        reply = ask(url, path, stream)
    assert reply.status == 200
    assert b"overloaded" not in reply.body
    assert len(server.asked) == 3


@doors
def test_a_long_wait_is_the_clients_to_wait(path: str) -> None:
    server = Server((429, SLOW, {"retry-after": "3600"}))
    with before(server, retries=2) as url:
        reply = ask(url, path)
    assert (reply.status, reply.headers["retry-after"]) == (429, "3600")
    assert len(server.asked) == 1


@doors
def test_nothing_is_repeated_once_a_byte_has_gone_out(path: str) -> None:
    cut, other = Server((200, BEGUN + PIECE, STREAM)), Server()
    with before(cut, other, retries=2) as url:
        reply = ask(url, path, stream=True)
    assert (reply.status, len(cut.asked), len(other.asked)) == (200, 1, 0)
    assert b'"error"' in reply.body
    assert b"[DONE]" not in reply.body
    assert b"message_stop" not in reply.body


@doors
def test_the_next_is_asked_where_one_is_busy(path: str) -> None:
    busy, other = Server((503, BUSY, {})), Server()
    with before(busy, other) as url:
        assert ask(url, path).status == 200
    assert (len(busy.asked), len(other.asked)) == (1, 1)
    refusing, other = Server((400, WRONG, {})), Server()
    with before(refusing, other) as url:
        assert ask(url, path).status == 400
    assert not other.asked


# -- limits -----------------------------------------------------------------------------------


@doors
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_an_upstream_that_never_replies(path: str, stream: bool) -> None:
    server = Server((200, None, {}))
    with before(server, timeout=0.2) as url:
        reply = ask(url, path, stream)
        assert reply.status == 504
        assert json.loads(reply.body)["error"]["message"]
        assert server.left.wait(20)


@doors
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_reply_of_a_hundred_megabytes(path: str, stream: bool) -> None:
    """Of one piece that cannot be sent before it is whole."""
    huge = b'event: content_block_delta\ndata: {"type":"' + b"x" * 100 * 2**20
    body = BEGUN + huge if stream else json.dumps(MESSAGE).encode()[:-1] + b" " * 100 * 2**20 + b"}"
    server = Server((200, body, STREAM if stream else {}))
    with before(server, config={"limits": Limits(response=2**20)}) as url:
        reply = ask(url, path, stream)
    assert reply.status == (200 if stream else 502)
    assert b'"error"' in reply.body
    assert len(reply.body) < 4 * 2**20


@doors
def test_a_trickle_has_an_end(path: str) -> None:
    async def dripping(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        while (await receive()).get("more_body"):
            pass
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": BEGUN, "more_body": True})
        gone = asyncio.ensure_future(receive())
        while not gone.done():
            await send({"type": "http.response.body", "body": PIECE, "more_body": True})
            await asyncio.wait({gone}, timeout=0.02)

    with running(dripping) as behind:
        up = Upstream(dialect="anthropic-messages", url=behind, key="k", total_timeout=0.3)
        with running(Gateway(Config(log="none", upstreams={"up": up}))) as url:
            reply = ask(url, path, stream=True)
    assert b'"error"' in reply.body
    assert b"message_stop" not in reply.body


def test_no_more_at_once_than_an_upstream_may_be_sent() -> None:
    here: list[int] = []
    most = 0
    pair = asyncio.Barrier(2)

    async def counting(scope: Any, receive: Any, send: Any) -> None:
        nonlocal most
        if scope["type"] != "http":
            return
        while (await receive()).get("more_body"):
            pass
        here.append(1)
        most = max(most, len(here))
        async with asyncio.timeout(60):
            await pair.wait()  # two are sent at once
        for _ in range(200):  # whoever else may come is there by now
            await asyncio.sleep(0)
        most = max(most, len(here))
        await send({"type": "http.response.start", "status": 200, "headers": []})
        here.pop()
        await send({"type": "http.response.body", "body": json.dumps(MESSAGE).encode()})

    with running(counting) as behind:
        up = Upstream(dialect="anthropic-messages", url=behind, key="k", concurrency=2)
        with running(Gateway(Config(log="none", upstreams={"up": up}))) as url:

            async def one() -> bytes:
                reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)
                body = json.dumps(ASKED).encode()
                writer.write(
                    b"POST /v1/messages HTTP/1.1\r\nhost: h\r\nconnection: close\r\n"
                    b"content-length: %d\r\n\r\n%b" % (len(body), body)
                )
                data = await reader.read()
                writer.close()
                return data

            async def all_of_them() -> list[bytes]:
                return await asyncio.gather(*(one() for _ in range(40)))

            replies = asyncio.run(all_of_them())
    assert all(reply.startswith(b"HTTP/1.1 200") for reply in replies)
    assert most == 2


def test_who_waits_for_a_place_hears_that_the_stream_is_alive() -> None:
    server = Server((200, None, {}))
    config = {"limits": Limits(keep_alive=0.05)}
    with before(server, concurrency=1, config=config) as url:
        body = json.dumps({**ASKED, "stream": True}).encode()
        head = b"POST /v1/messages HTTP/1.1\r\nhost: h\r\ncontent-length: %d\r\n\r\n" % len(body)
        with ExitStack() as stack:
            at = ("127.0.0.1", int(urlsplit(url).port or 0))
            first, second = (
                stack.enter_context(socket.create_connection(at, timeout=20)) for _ in range(2)
            )
            first.sendall(head + body)
            assert server.heard.wait(20)
            second.sendall(head + body)
            heard = b""
            while b"event: ping" not in heard:
                heard += second.recv(2**16)
            assert heard.startswith(b"HTTP/1.1 200")
    assert len(server.asked) == 1


def test_no_more_at_once_than_a_client_may_ask() -> None:
    server = Server((200, None, {}))
    clients = {"ann": Client(key="a", concurrency=1)}
    with before(server, config={"clients": clients}) as url:
        line = socket.create_connection(("127.0.0.1", int(urlsplit(url).port or 0)))
        body = json.dumps(ASKED).encode()
        line.sendall(
            b"POST /v1/messages HTTP/1.1\r\nhost: h\r\nx-api-key: a\r\ncontent-length: %d\r\n\r\n%b"
            % (len(body), body)
        )
        assert server.heard.wait(20)
        reply = ask(url, DOORS["same"], key="a")
        assert (reply.status, reply.headers["retry-after"]) == (429, "1")
        line.close()  # which ends the request upstream, though nothing was streamed
        assert server.left.wait(20)


# -- the socket -------------------------------------------------------------------------------


def test_a_socket_survives_whatever_it_is_sent_and_ends_what_it_began() -> None:
    server = Server((200, None, {}))
    with before(server, config={"limits": Limits(body=2**16)}) as url:
        at = url.replace("http", "ws") + "/v1/responses"
        with connect(at) as line:
            for sent in ("[" * 10_000, "[]", "7", '{"type":"response.cancel"}', "x" * 2**17,
                         '{"model":1,"input":"a"}', '{"model":"m","input":7}',
                         b'\xff\xfe'):  # fmt: skip
                line.send(sent)
                event = json.loads(line.recv(timeout=20))
                assert (event["type"], 400 <= event["status"] < 500) == ("error", True), sent
                assert event["error"]["message"]
            assert not server.asked
            line.send(json.dumps({"type": "response.create", "model": "m", "input": "a"}))
            assert server.heard.wait(20)
        assert server.left.wait(20)


# -- the end ----------------------------------------------------------------------------------


def test_open_streams_end_before_the_gateway_does() -> None:
    begun, go = threading.Event(), threading.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        while (await receive()).get("more_body"):
            pass
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": BEGUN + PIECE, "more_body": True})
        begun.set()
        await asyncio.to_thread(go.wait, 20)
        await send({"type": "http.response.body", "body": ENDED})

    with running(slow) as behind:
        up = Upstream(dialect="anthropic-messages", url=behind, key="k", retries=0)
        gateway = Gateway(Config(log="none", upstreams={"up": up}))
        with running(gateway) as url:
            heard: list[Reply] = []
            client = threading.Thread(
                target=lambda: heard.append(ask(url, DOORS["converted"], stream=True))
            )
            client.start()
            assert begun.wait(20)
            gateway.closing = True  # as the end of the process begins
            assert ask(url, DOORS["converted"]).status == 503
            assert post(url, "/v1/messages/count_tokens", b"{}").headers["retry-after"] == "5"
            loop = next(iter(gateway.running)).get_loop()
            done = asyncio.run_coroutine_threadsafe(gateway.close(), loop)
            go.set()
            done.result(20)
            client.join(20)
    assert b"data: [DONE]" in heard[0].body
