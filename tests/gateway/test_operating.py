"""What operators configure: keys, routes, limits, policies, logs; and what clients see of it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anthropic
import openai
import pytest
from google import genai
from msgspec.structs import replace
from websockets.sync.client import connect

import dragoman
from dragoman.gateway import Config, Gateway, Script, Upstream, load_config
from dragoman.gateway.carrying import Envelope
from dragoman.gateway.config import Client, ConfigError, route
from dragoman.gateway.doors import find
from dragoman.gateway.extras import dialect_of
from dragoman.gateway.store import Memory, SQLite, Store
from dragoman.model import Failure, Reasoning, Request, Signature, Text
from gateways import Model, chain, post, running, scripted

ASKED = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
CHAT = "/v1/chat/completions"


def ask(url: str, document: Any = ASKED, path: str = CHAT, **headers: str) -> tuple[int, Any, Any]:
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    reply = post(url, path, json.dumps(document).encode(), told)
    return reply.status, json.loads(reply.body), reply.headers


def fetch(url: str, **headers: str) -> tuple[int, bytes]:
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, headers=told)
    try:
        with urllib.request.urlopen(request, timeout=20) as reply:
            return reply.status, reply.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


# -- keys ---------------------------------------------------------------------------------------


@pytest.fixture
def guarded() -> Iterator[str]:
    clients = {
        "ann": Client(key="key-of-ann", models=("gpt-*",), per_minute=3),
        "op": Client(key="key-of-op", operator=True),
    }
    with scripted({"text": "Hi"}, clients=clients) as (url, _):
        yield url


def test_keys_models_and_rates(guarded: str) -> None:
    assert ask(guarded)[0] == 401
    assert ask(guarded, authorization="Bearer wrong")[0] == 401
    key = "Bearer key-of-ann"
    assert ask(guarded, authorization=key)[0] == 403
    asked = {**ASKED, "model": "gpt-5"}
    assert [ask(guarded, asked, authorization=key)[0] for _ in range(4)] == [200, 200, 200, 429]
    status, error, headers = ask(guarded, asked, authorization=key)
    assert status == 429
    assert 1 <= int(headers["retry-after"]) <= 60
    assert error["error"]["message"]
    for header in ({"x_api_key": "key-of-op"}, {"x_goog_api_key": "key-of-op"}):
        assert ask(guarded, **header)[0] == 200


def test_health_is_open_and_metrics_are_for_operators(guarded: str) -> None:
    assert ask(guarded, authorization="Bearer key-of-op")[0] == 200
    assert fetch(f"{guarded}/healthz") == (200, b"ok\n")
    assert fetch(f"{guarded}/readyz")[0] == 200
    assert fetch(f"{guarded}/metrics")[0] == 401
    assert fetch(f"{guarded}/metrics", authorization="Bearer key-of-ann")[0] == 403
    assert ask(guarded, authorization="Bearer key-of-op")[0] == 200
    status, page = fetch(f"{guarded}/metrics", authorization="Bearer key-of-op")
    assert status == 200
    assert b'dragoman_requests_total{dialect="openai-chat",status="200",upstream="script"}' in page
    assert b"key-of" not in page


def test_no_other_host_without_keys() -> None:
    with pytest.raises(ConfigError, match="configure client keys"):
        Gateway(Config(host="0.0.0.0"))
    Gateway(Config(host="0.0.0.0", clients={"a": Client(key="k")}))


# -- configuration ------------------------------------------------------------------------------


def test_a_file_and_its_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "gateway.toml"
    monkeypatch.setenv("THE_KEY", "k")
    path.write_text(
        '[upstreams.a]\ndialect = "anthropic-messages"\nkey_env = "THE_KEY"\n'
        '[routes]\n"gpt-*" = "a/claude-opus-5-5"\n"*" = ["a", "script"]\n'
    )
    config = load_config(path)
    assert [aim[:2] for aim in route(config, "gpt-5")] == [("a", "claude-opus-5-5")]
    assert [aim[:2] for aim in route(config, "m")] == [("a", "m"), ("script", "m")]
    for text, message in (
        ("port = 'x'", "expected int, got str - at port"),
        ("nonsense = 1", "nonsense"),
        ("[", "is not TOML"),
        ('[routes]\n"*" = "b"', "no upstream 'b'"),
        ('[upstreams.a]\ndialect = "x"', "unknown dialect"),
        ('[clients.a]\nkey_env = "NONE"', "no key"),
    ):
        path.write_text(text)
        with pytest.raises(ConfigError, match=message):
            load_config(path)


def test_routes_fall_back_and_show_the_name_that_was_asked_for() -> None:
    with ExitStack() as stack:
        bad, _ = stack.enter_context(scripted({"error": {"kind": "overloaded"}}))
        good, model = stack.enter_context(scripted({"text": "Hi"}))
        gone = "http://127.0.0.1:9"
        upstreams = {
            name: Upstream(dialect=dialect, url=url, key="k", retries=0)
            for name, dialect, url in (
                ("gone", "openai-chat", f"{gone}/v1"),
                ("bad", "anthropic-messages", bad),
                ("good", "anthropic-messages", good),
                ("same", "openai-chat", f"{good}/v1"),
            )
        }
        routes: dict[str, str | tuple[str, ...]] = {
            "gpt-5": ("gone", "bad", "good/claude"),
            "s": "same/other",
            "b": "bad",
        }
        gateway = Gateway(Config(log="none", upstreams=upstreams, routes=routes))
        url = stack.enter_context(running(gateway))
        status, reply, _ = ask(url, {**ASKED, "model": "gpt-5"})
        assert (status, reply["model"]) == (200, "gpt-5")
        assert model.asked[-1].model == "claude"
        status, reply, _ = ask(url, {**ASKED, "model": "s"})
        assert (status, reply["model"], model.asked[-1].model) == (200, "s", "other")
        body = json.dumps({**ASKED, "model": "s", "stream": True}).encode()
        written = post(url, CHAT, body).body
        assert b'"model":"s"' in written
        assert b"other" not in written
        assert ask(url, {**ASKED, "model": "b"})[0] == 503
        assert ask(url, {**ASKED, "model": "x"})[0] == 404


def test_lists_of_models_have_the_form_that_is_asked_for() -> None:
    upstream = Upstream(dialect="openai-chat", url="http://127.0.0.1:9/v1", models=("a", "b"))
    with running(Gateway(Config(log="none", upstreams={"u": upstream}))) as url:
        with openai.OpenAI(base_url=f"{url}/v1", api_key="k") as sdk:
            assert [model.id for model in sdk.models.list()] == ["a", "b"]
        with anthropic.Anthropic(base_url=url, api_key="k") as claude:
            assert [model.id for model in claude.models.list()] == ["a", "b"]
            counted = claude.messages.count_tokens(model="a", messages=ASKED["messages"])  # type: ignore[arg-type]
            assert counted.input_tokens > 0
        for version in ("v1", "v1beta"):
            google = genai.Client(
                api_key="k", http_options={"base_url": url, "api_version": version}
            )
            assert [model.name for model in google.models.list()] == ["models/a", "models/b"]
            assert google.models.get(model="b").name == "models/b"
            google.close()
        assert b'"models/a"' in fetch(f"{url}/v1beta/models")[1]
        assert b'"name":"a"' in fetch(f"{url}/api/tags")[1]
        assert fetch(f"{url}/nothing")[0] == 404


ALLOWED = {
    "/v1/messages": "POST", "/v1/chat/completions": "POST", "/v1/responses": "POST",
    "/ui/chat": "POST", "/proxy/v1/messages": "POST",
    "/groq/openai/v1/chat/completions": "POST",
    "/v1beta/models/a:streamGenerateContent": "POST", "/v1beta/models/a:countTokens": "POST",
    "/model/a/converse": "POST", "/api/chat": "POST", "/v2/chat": "POST", "/api/show": "POST",
    "/v1/messages/count_tokens": "POST", "/v1/responses/input_tokens": "POST",
    "/v1/responses/resp_1": "GET, DELETE", "/v1beta/interactions/int_1": "GET, DELETE",
    "/v1/responses/resp_1/input_items": "GET",
    "/v1/models": "GET", "/v1/models/a": "GET", "/v1beta/models": "GET", "/v1beta/models/a": "GET",
    "/api/tags": "GET", "/api/version": "GET", "/metrics": "GET", "/": "GET",
}  # fmt: skip


@pytest.mark.parametrize("method", ["PUT", "OPTIONS", "PATCH", "GET", "HEAD", "DELETE", "POST"])
def test_a_path_with_another_method(method: str) -> None:
    """Is not "no such path": the error says which methods there are, in the door's own form."""
    with running(Gateway(Config(log="none"))) as url:
        for path, allowed in ALLOWED.items():
            asked = urllib.request.Request(url + path, method=method, data=None)
            try:
                with urllib.request.urlopen(asked, timeout=20) as reply:
                    status, headers, body = reply.status, reply.headers, reply.read()
            except urllib.error.HTTPError as error:
                status, headers, body = error.code, error.headers, error.read()
            assert "access-control-allow-origin" not in headers
            if ("GET" if method == "HEAD" else method) in allowed.split(", "):
                assert status != 405, path
                continue
            assert (status, headers["allow"]) == (405, allowed), path
            if method != "HEAD":
                door = find(path)
                dialect = dialect_of(path, {}) if door is None else door.dialect
                failure = dialect.read(json.loads(body), "error")
                assert isinstance(failure, Failure)
                assert f"{method} is not allowed at {path}" in failure.message
        assert fetch(f"{url}/nothing")[0] == 404


# -- losses -------------------------------------------------------------------------------------


def test_losses_are_in_headers_and_can_be_refused() -> None:
    asked = {**ASKED, "logit_bias": {"50256": -100}}
    with chain("anthropic-messages", {"text": "Hi"}) as (url, _):
        status, _, headers = ask(url, asked, x_dragoman_ledger="full")
        assert status == 200
        assert "dropped logit_bias" in headers["x-dragoman-losses"]
        ledger = json.loads(headers["x-dragoman-ledger"])
        assert any(loss["what"] == "logit_bias" for loss in ledger)
        written = post(url, CHAT, json.dumps({**asked, "stream": True}).encode())
        assert b": x-dragoman-losses: " in written.body
        assert b"dropped stream" not in written.body
    with chain("anthropic-messages", {"text": "Hi"}, fail_on=("dropped",)) as (url, model):
        status, error, _ = ask(url, asked)
        assert status == 422
        assert "logit_bias" in error["error"]["message"]
        assert not model.asked
        assert ask(url)[0] == 200


# -- policies -----------------------------------------------------------------------------------


def roles(model: Model) -> list[str]:
    return [message.role for message in model.asked[-1].messages]


PROMPTS = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "A"},
        {"role": "user", "content": "B"},
        {"role": "system", "content": "C"},
        {"role": "user", "content": "D"},
    ],
}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"system": "keep"}, ["system", "user", "system", "user"]),
        ({"system": "first"}, ["system", "system", "user", "user"]),
        ({"system": "merge"}, ["system", "user", "user"]),
        ({"system": "user"}, ["system", "user", "user", "user"]),
        ({"system": "user", "merge_turns": True}, ["system", "user"]),
    ],
)
def test_system_turns(more: dict[str, Any], expected: list[str]) -> None:
    with chain("openai-chat", {"text": "Hi"}, more=more) as (url, model):
        status, _, headers = ask(url, PROMPTS)
        assert status == 200
        assert roles(model) == expected
        assert ("x-dragoman-losses" in headers) is (more != {"system": "keep"})


def test_defaults_and_what_is_not_passed_on() -> None:
    asked = {
        "model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "Hi"}],
        "metadata": {"user_id": "device-and-account"},
    }  # fmt: skip
    with chain("openai-chat", {"text": "Hi"}) as (url, model):
        _, _, headers = ask(url, asked, "/v1/messages")
        assert model.asked[-1].params.user_id is None
        assert "user_id" in headers["x-dragoman-losses"]
    with chain("openai-chat", {"text": "Hi"}, more={"share_user": True}) as (url, model):
        ask(url, asked, "/v1/messages")
        assert model.asked[-1].params.user_id is not None
    more = {"max_tokens": 77, "cache": True}
    with chain("anthropic-messages", {"text": "Hi"}, more=more) as (url, model):
        ask(url)
        assert model.asked[-1].params.max_tokens == 77
        assert model.asked[-1].params.cache is not None


def test_a_chat_client_gets_reasoning_if_it_is_asked_for() -> None:
    reply = {"reasoning": "Hm.", "signature": "c2ln", "text": "Hi"}
    with chain("anthropic-messages", reply) as (url, _):
        assert "reasoning_content" not in ask(url)[1]["choices"][0]["message"]
        told = ask(url, x_dragoman_reasoning="1")[1]["choices"][0]["message"]
        assert told["reasoning_content"] == "Hm."


def test_a_gemini_stream_as_an_array() -> None:
    asked = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    with scripted({"text": "It is warm."}) as (url, _):
        path = "/v1beta/models/m:streamGenerateContent"
        reply = post(url, path, json.dumps(asked).encode())
        assert reply.headers["content-type"] == "application/json"
        frames = json.loads(reply.body)
        parts = [p for f in frames for p in f["candidates"][0]["content"].get("parts", ())]
        assert "".join(part["text"] for part in parts) == "It is warm."


# -- what is enclosed ---------------------------------------------------------------------------


@contextmanager
def signed() -> Iterator[tuple[str, Model, list[Any]]]:
    """An Anthropic client of a Responses upstream, and its history after one reply."""
    reply = {
        "reasoning": "Hm.", "signature": "c2ln",
        "calls": [{"name": "look", "arguments": {}}],
    }  # fmt: skip
    asked: dict[str, Any] = {
        "model": "m", "max_tokens": 4000, "thinking": {"type": "enabled", "budget_tokens": 2000},
        "tools": [{"name": "look", "input_schema": {"type": "object"}}],
        "messages": [{"role": "user", "content": "Hi"}],
    }  # fmt: skip
    with chain("openai-responses", reply, {"text": "Done."}) as (url, model):
        _, written, _ = ask(url, asked, "/v1/messages")
        result = {
            "type": "tool_result",
            "tool_use_id": written["content"][-1]["id"],
            "content": "1",
        }
        history = [
            *asked["messages"],
            {"role": "assistant", "content": written["content"]},
            {"role": "user", "content": [result]},
        ]
        yield url, model, [asked, history]


def reasoning(model: Model) -> list[str | None]:
    blocks = [block for message in model.asked[-1].messages for block in message.content]
    found = [block for block in blocks if isinstance(block, Reasoning)]
    return [block.signature.data if block.signature else None for block in found]


def test_enclosed_reasoning_comes_back_and_a_changed_one_does_not() -> None:
    with signed() as (url, model, (asked, history)):
        status, _, _ = ask(url, {**asked, "messages": history}, "/v1/messages")
        assert status == 200
        assert reasoning(model) == ["c2ln"]
        block = history[1]["content"][0]
        block["signature"] = block["signature"][:-8] + "AAAAAAAA"
        status, _, headers = ask(url, {**asked, "messages": history}, "/v1/messages")
        assert status == 200
        assert "c2ln" not in reasoning(model)
        assert "dropped reasoning.signature" in headers["x-dragoman-losses"]


def test_an_envelope_opens_only_what_it_closed() -> None:
    block = Reasoning(("Hm.",), (), Signature("s", "anthropic"))
    data = Envelope(b"a").enclose(block)
    assert Envelope(b"a").open(data) == block
    assert Envelope(b"b").open(data) is None
    for changed in (data[:-4], "", "?", data[:8], data.replace(data[40], "A", 1) + "AAAA"):
        assert Envelope(b"a").open(changed) is None


# -- the store ----------------------------------------------------------------------------------


def test_stores(tmp_path: Path) -> None:
    async def use(store: Store) -> None:
        assert await store.get("a") is None
        await store.put("a", b"1")
        await store.put("b", b"2")
        assert await store.get("a") == b"1"
        assert await store.find(["a", "b", "c"]) == {"a": b"1", "b": b"2"}
        assert await store.delete("a")
        assert not await store.delete("a")
        assert await store.ready()
        await store.close()

    asyncio.run(use(Memory()))
    asyncio.run(use(SQLite(tmp_path / "s" / "kept.sqlite")))
    assert (tmp_path / "s" / "kept.sqlite").stat().st_mode & 0o777 == 0o600


def test_memory_has_a_bound() -> None:
    async def use() -> list[bytes | None]:
        store = Memory(most=100)
        for number in range(20):
            await store.put(f"k{number}", b"x" * 20)
        return [await store.get("k0"), await store.get("k19")]

    assert asyncio.run(use()) == [None, b"x" * 20]


# -- the command --------------------------------------------------------------------------------


def test_the_command_serves_reloads_and_ends(tmp_path: Path) -> None:
    path = tmp_path / "gateway.toml"
    path.write_text('store = "memory"\nport = 0\nlog = "json"\n')
    command = [sys.executable, "-m", "dragoman", "serve", "-c", str(path), "-p", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        url = process.stderr.readline().split()[-1]
        assert ask(url)[1]["choices"][0]["message"]["content"] == "You said: Hi"
        line = json.loads(process.stderr.readline())
        assert (line["status"], line["dialect"], line["upstream"]) == (200, "openai-chat", "script")
        assert "Hi" not in json.dumps(line)
        with connect(url.replace("http", "ws") + "/v1/responses") as socket_:
            socket_.send('{"type": "response.create", "model": "m", "input": "Hi"}')
            while json.loads(told := socket_.recv(timeout=20))["type"] != "response.completed":
                pass
            assert "You said: Hi" in str(told)
        assert json.loads(process.stderr.readline())["dialect"] == "openai-responses"
        path.write_text('store = "memory"\n[routes]\n"only" = "script"\n')
        process.send_signal(signal.SIGHUP)
        assert "reloaded" in process.stderr.readline()
        assert ask(url)[0] == 404
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def test_headers_have_a_limit_and_a_time(tmp_path: Path) -> None:
    """Before a request is whole nobody has been asked for a key."""
    path = tmp_path / "gateway.toml"
    path.write_text('store = "memory"\n[limits]\nheaders = 20000\nbody_timeout = 0.5\n')
    command = [sys.executable, "-m", "dragoman", "serve", "-c", str(path), "-p", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        url = process.stderr.readline().split()[-1]
        port = int(urlsplit(url).port or 0)
        for begin, again in ((b"POST / HTTP/1.1\r\n", b"x-a: b\r\n" * 4000),
                             (b"POST / HTTP/1.1\r\nx-a: ", b"x" * 2**15),
                             (b"GET /", b"x" * 2**15)):  # fmt: skip
            with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
                line.sendall(begin)
                assert sent_until_refused(line, again) < 2**24
        for begin in (b"", b"POST /v1/messages HTTP/1.1\r\nhost: "):
            with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
                line.sendall(begin)
                assert line.recv(100) == b""
        assert ask(url)[0] == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert "Traceback" not in process.stderr.read()


def sent_until_refused(line: socket.socket, data: bytes) -> int:
    """How much a server takes before it hangs up."""
    sent = 0
    try:
        while sent < 2**25:
            line.sendall(data)
            sent += len(data)
    except OSError:
        pass
    return sent


def test_what_is_compressed_is_refused_by_name() -> None:
    with scripted({"text": "Hi"}) as (url, _):
        status, error, _ = ask(url, content_encoding="zstd")
    assert status == 400
    assert "content-encoding 'zstd'" in error["error"]["message"]


def test_an_error_repeats_the_status_that_it_has() -> None:
    """Google's SDK shows the status in the document, not that of the reply."""
    asked = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    with chain("anthropic-messages", fail_on=("invented",)) as (url, _):
        status, error, _ = ask(url, asked, "/v1beta/models/m:generateContent")
    assert (status, error["error"]["code"]) == (422, 422)


def test_scripts() -> None:
    replies: list[Mapping[str, Any]] = [{"text": "A", "when": {"last": "*warm*"}}, {"text": "B"}]
    script = Script(replies)
    tree = dragoman.read({**ASKED}, "openai-chat", facet="request")
    assert isinstance(tree, Request)
    assert script.reply(tree).text == "B"
    warm = tuple(replace(m, content=(Text("How warm?"),)) for m in tree.messages)
    assert script.reply(replace(tree, messages=warm)).text == "A"


@pytest.mark.parametrize("stream", [False, True])
def test_a_server_that_deviates_is_normalized(stream: bool) -> None:
    """As llama-server's Responses, whose events have no ``output_index``."""
    item = {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed"}
    item["content"] = [{"type": "output_text", "text": "Hi", "annotations": []}]  # type: ignore[assignment]
    response = {"id": "resp_1", "object": "response", "status": "completed", "model": "m"}
    response["output"] = [item]  # type: ignore[assignment]
    events: list[dict[str, Any]] = [
        {
            "type": "response.created",
            "response": {**response, "status": "in_progress", "output": []},
        },
        {"type": "response.output_item.added", "item": {**item, "content": []}},
        {"type": "response.output_text.delta", "item_id": "msg_1", "delta": "Hi"},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": response},
    ]

    async def server(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        await receive()
        lines = [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events]
        body = "".join(lines).encode() if stream else json.dumps(response).encode()
        kind = b"text/event-stream" if stream else b"application/json"
        await send(
            {"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]}
        )
        await send({"type": "http.response.body", "body": body, "more_body": False})

    with running(server) as behind:
        upstream = Upstream(dialect="openai-responses", url=f"{behind}/v1", key="k", normalize=True)
        gateway = Gateway(Config(log="none", upstreams={"u": upstream}))
        with (
            running(gateway) as url,
            openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as sdk,
        ):
            if stream:
                with sdk.responses.stream(model="m", input="a") as heard:
                    kinds = [event for event in heard if hasattr(event, "output_index")]
                    assert kinds
                    assert {event.output_index for event in kinds} == {0}
                    assert heard.get_final_response().output_text == "Hi"
            else:
                told = sdk.responses.create(model="m", input="a")
                assert told.output_text == "Hi"
                assert isinstance(told.created_at, (int, float))


def test_contents_are_logged_only_if_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    for wanted in (False, True):
        gateway = Gateway(Config(log="json", log_contents=wanted))
        with running(gateway) as url:
            ask(url, {**ASKED, "messages": [{"role": "user", "content": "a secret"}]})
        assert ("a secret" in capsys.readouterr().err) is wanted


def test_the_log_has_the_whole_ledger(capfd: pytest.CaptureFixture[str]) -> None:
    with chain("anthropic-messages", {"text": "Hi."}) as (_, model):
        upstream = Upstream(dialect="anthropic-messages", url=model.url, key="k")
        with running(Gateway(Config(log="json", upstreams={"up": upstream}))) as url:
            body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "logit_bias": {}}
            post(url, "/v1/chat/completions", json.dumps({**body, "logit_bias": {"1": 2}}).encode())
    line = json.loads(capfd.readouterr().err.splitlines()[-1])
    (loss,) = (loss for loss in line["ledger"] if loss["what"] == "logit_bias")
    assert loss["path"] == "/logit_bias"
    assert "no field for logit_bias" in loss["why"]


def test_a_route_has_its_own_limit(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(
        "[upstreams.up]\ndialect = 'anthropic-messages'\nurl = 'http://127.0.0.1:9'\n"
        "[routes]\n'short-*' = { to = 'up/m', max_tokens = 50 }\n'*' = 'up'\n"
    )
    routes = load_config(file).routes
    assert route(load_config(file), "short-1")[0] == ("up", "m", 50)
    more = {"max_tokens": 77}
    with chain("anthropic-messages", {"text": "Hi"}, more=more, routes=routes) as (url, model):
        for name, limit in (("short-1", 50), ("other", 77)):
            ask(url, {**ASKED, "model": name})
            assert model.asked[-1].params.max_tokens == limit
        ask(url, {**ASKED, "model": "short-1", "max_completion_tokens": 9})
        assert model.asked[-1].params.max_tokens == 9
