"""Design 002's provider interface: any caller, any upstream, over a real connection."""

from __future__ import annotations

import asyncio
import json
import pickle
import re
import socket
import ssl
import threading
import traceback
from collections.abc import Iterable
from typing import Any

import pytest
import trustme

import dragoman
import places
import sdk
from dragoman import dialects, testing
from dragoman.dialect import Dialect
from dragoman.providers import (
    AuthenticationFailed,
    BadReply,
    Conflict,
    ConnectionFailed,
    InvalidRequest,
    NotFound,
    Overloaded,
    PaymentRequired,
    PermissionDenied,
    Provider,
    ProviderError,
    RateLimited,
    Reply,
    ServerFailed,
    TimedOut,
    TooLarge,
)
from dragoman.providers import errors as provider_errors
from dragoman.providers.client import BlockingClient, Client, Message, proxy_for
from dragoman.providers.endpoints import endpoint_of, resolve
from dragoman.providers.reply import Ids
from dragoman.providers.secrets import Headers
from upstream import DIALECTS, Raw, Say, Seen, Tell, Upstream, awkward

GREAT = tuple(DIALECTS.values())
CORPUS = places.CORPUS
KEY = "sk-test-9f8e7d6c5b4a"
TOKEN = "tok-0123456789"


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def corpus(case: str, dialect: str, facet: str) -> Any:
    found = testing.load_case(CORPUS / case).expected(dialect, facet)
    assert found is not None
    return found.body


def chat(text: str = "Hi") -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


def written(dialect: str = "openai-chat") -> Any:
    return corpus("answer", dialect, "response")


def provider(upstream: Upstream | Raw, speaks: str = "openai-chat", **options: Any) -> Provider:
    return Provider(speaks, url=upstream.url + "/v1", model="m", key=KEY, **options)


# -- every caller, every upstream -------------------------------------------------------------


@pytest.mark.parametrize("target", GREAT)
@pytest.mark.parametrize("caller", GREAT)
@pytest.mark.parametrize("way", ["sync", "async"])
def test_002_each_pair_of_dialects(caller: str, target: str, way: str) -> None:
    with Upstream(corpus("answer-tool-calls", target, "response")) as upstream:
        asked = corpus("tool-call", caller, "request")
        reply = ask(provider(upstream, target, dialect=caller), asked, way)
    assert upstream.seen[0].dialect == target
    assert upstream.seen[0].document == corpus("tool-call", target, "request")
    assert sdk.problems(caller, "response", reply.document) == []
    assert words(reply.document, caller) == words(said_calls(caller), caller)
    assert (reply.losses, reply.request_losses) == ((), ()) or caller != target
    assert reply.stop is not None
    assert reply.stop.reason == "tool-call"
    assert reply.usage is not None
    assert (reply.usage.input_total, reply.usage.output_total) == (10, 5)
    grown = {**asked, history(caller): reply.append(asked[history(caller)])}
    assert sdk.problems(caller, "request", grown) == []
    assert grown[history(caller)] == asked[history(caller)] + reply.messages


def ask(talk: Provider, asked: Any, way: str) -> Reply:
    if way == "sync":
        with talk:
            return talk.request(asked)

    async def run() -> Reply:
        async with talk:
            return await talk.arequest(asked)

    return asyncio.run(run())


def said_calls(dialect: str) -> Any:
    return corpus("answer-tool-calls", dialect, "response")


def history(dialect: str) -> str:
    return dialects.get(dialect).history or ""


def words(document: Any, dialect: str) -> Any:
    """What a reply says: ids of items and times are made up anew each time."""
    tree: Any = dragoman.read(document, dialect, facet="response")
    return [(b.__class__, getattr(b, "text", ""), getattr(b, "arguments", ""), getattr(b, "id", ""))
            for b in tree.candidates[0].message.content]  # fmt: skip


def test_002_the_history_stays_in_the_callers_dialect_while_the_upstream_changes() -> None:
    history, tools = chat(), corpus("tool-call", "openai-chat", "request")["tools"]
    script = [said_calls("anthropic-messages"), written("openai-responses"), written("openai-chat")]
    with Upstream(*script) as upstream:
        for number, target in enumerate(("anthropic-messages", "openai-responses", "openai-chat")):
            with provider(upstream, target) as talk:
                reply = talk.create(history, tools=tools)
            history = [*reply.append(history)]
            if not number:
                assert reply.message["tool_calls"][0]["id"] == "toolu_1"
                history += [
                    {"role": "tool", "tool_call_id": call["id"], "content": "14 C"}
                    for call in reply.message["tool_calls"]
                ]
            else:
                history += chat("Go on.")
            assert sdk.problems("openai-chat", "messages", history) == []
    outputs = [i for i in upstream.seen[1].document["input"] if "call_id" in i]
    assert [i["call_id"] for i in outputs] == ["toolu_1", "toolu_2", "toolu_1", "toolu_2"]


# -- no conversion where there is nothing to convert ------------------------------------------


@pytest.mark.parametrize("dialect", GREAT)
def test_002_the_same_dialect_is_not_converted(dialect: str, monkeypatch: Any) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("somebody reads or writes a tree")

    asked = {"zeta": [1.0, None], "model": "m", history(dialect): ["not even a message"], "a": {}}
    heard = {"z": 1, "unknown": {"b": [], "a": 2.50}, "choices": "none", "content": None}
    monkeypatch.setattr(Dialect, "read", refuse)
    monkeypatch.setattr(Dialect, "write", refuse)
    with (
        Upstream(heard, strict=False) as upstream,
        provider(upstream, dialect, dialect=dialect) as p,
    ):
        reply = p.request(asked)
    assert upstream.seen[0].body == json.dumps(asked, separators=(",", ":")).encode()
    assert json.dumps(reply.document) == json.dumps(heard)
    assert (reply.losses, reply.request_losses, reply.capsules) == ((), (), {})


def test_002_what_compatible_servers_add_reaches_the_next_turn() -> None:
    heard = written()
    heard["choices"][0]["message"]["reasoning_content"] = "Hm."
    with Upstream(heard) as upstream, provider(upstream) as talk:
        reply = talk.create(chat())
    assert reply.message["reasoning_content"] == "Hm."


# -- building the request ---------------------------------------------------------------------


def test_create_builds_a_request_of_the_callers_dialect() -> None:
    tools = corpus("tool-call", "openai-responses", "request")["tools"]
    with (
        Upstream(written("openai-responses")) as upstream,
        provider(upstream, "openai-responses", dialect="openai-responses") as talk,
    ):
        reply = talk.create("Hi", tools=tools, tool_choice="auto", max_output_tokens=99)
    assert upstream.seen[0].document == {
        "model": "m",
        "input": "Hi",
        "tools": tools,
        "tool_choice": "auto",
        "max_output_tokens": 99,
    }
    assert [item["type"] for item in reply.append("Hi")[1:]] == ["message"]


def test_the_model_of_a_call_comes_before_that_of_the_provider() -> None:
    with Upstream(written(), written(), written()) as upstream, provider(upstream) as talk:
        talk.create(chat(), model="other")
        talk.create(chat())
        talk.request({"model": "third", "messages": chat()})
    assert [s.document["model"] for s in upstream.seen] == ["other", "m", "third"]


def test_extra_is_said_in_the_upstreams_dialect() -> None:
    extra = {"include": ["reasoning.encrypted_content"]}
    with (
        Upstream(written("openai-responses")) as upstream,
        provider(upstream, "openai-responses", extra=extra) as talk,
    ):
        reply = talk.create(chat())
    assert upstream.seen[0].document["include"] == extra["include"]
    assert reply.request_losses == ()


def test_a_loss_that_is_not_to_happen_stops_the_request() -> None:
    with (
        Upstream(strict=False) as upstream,
        provider(upstream, "anthropic-messages", fail_on=["dropped"]) as talk,
        pytest.raises(dragoman.Lossy, match="seed"),
    ):
        talk.create(chat(), seed=7)
    assert upstream.seen == []


def test_losses_of_the_request_and_of_the_answer_are_kept_apart() -> None:
    with (
        Upstream(corpus("answer-reasoning", "anthropic-messages", "response")) as upstream,
        provider(upstream, "anthropic-messages") as talk,
    ):
        reply = talk.create(chat(), seed=7)
    assert {x.what for x in reply.request_losses} == {"seed", "max_tokens"}
    assert {x.what for x in reply.losses} == {
        "reasoning",
        "reasoning.signature",
        "response.created",
    }
    assert reply.history_losses == ()
    assert repr(reply) == "<Answer: openai-chat from anthropic-messages, 5 losses>"


def test_what_only_answers_may_say_does_not_enter_the_history() -> None:
    with (
        Upstream(corpus("answer-annotations", "openai-chat", "response")) as upstream,
        provider(upstream) as talk,
    ):
        reply = talk.create(chat())
    assert "annotations" in reply.document["choices"][0]["message"]
    assert "annotations" not in reply.message
    assert {loss.what for loss in reply.history_losses} == {"text.citations"}


def test_several_items_are_not_one_message() -> None:
    with (
        Upstream(said_calls("openai-responses")) as upstream,
        provider(upstream, "openai-responses", dialect="openai-responses") as talk,
    ):
        reply = talk.create("Hi")
    assert len(reply.messages) == 3
    with pytest.raises(dragoman.Unsupported, match="3 items, not one"):
        _ = reply.message


def test_bad_requests_are_the_callers_and_are_not_sent() -> None:
    with Upstream(strict=False) as upstream, provider(upstream, "anthropic-messages") as talk:
        with pytest.raises(dragoman.Malformed, match="/messages/0"):
            talk.create(["not a message"])
        with pytest.raises(dragoman.Malformed, match="an object"):
            talk.request([])
        with pytest.raises(dragoman.Unsupported, match="stream"):
            talk.create(chat(), stream=True)
    assert upstream.seen == []
    with pytest.raises(dragoman.Unsupported, match=r"request\(\)"):
        Provider(url="http://localhost", dialect="native").create([])


@pytest.mark.parametrize(
    ("case", "target", "caller"),
    [
        ("answer-reasoning", "anthropic-messages", "openai-responses"),
        ("answer-reasoning-summary", "openai-responses", "anthropic-messages"),
        ("answer-reasoning-beside", "openai-chat", "anthropic-messages"),
        ("answer-reasoning-beside", "openai-chat", "openai-responses"),
    ],
)
def test_what_was_made_up_for_an_answer_does_not_enter_the_history(
    case: str, target: str, caller: str
) -> None:
    """A made-up signature or id in a history would be refused by the one who issues them."""
    with (
        Upstream(corpus(case, target, "response")) as upstream,
        provider(upstream, target, dialect=caller) as talk,
    ):
        asked = corpus("answer", caller, "request")
        reply = talk.request(asked)
    invented = {loss.what for loss in reply.losses if loss.kind == "invented"}
    assert invented & {"reasoning.id", "reasoning.signature"}
    assert sdk.problems(caller, "response", reply.document) == []
    grown = asked | {history(caller): reply.append(asked[history(caller)])}
    assert dragoman.check(grown, caller) == []
    assert sdk.problems(caller, "request", grown) == []
    assert {"id", "signature", "thinking", "summary"}.isdisjoint(reply.message)
    assert "thinking" not in str(reply.message)
    assert "reasoning" in {loss.what for loss in reply.history_losses}


def test_calls_keep_the_ids_that_were_made_up_for_them() -> None:
    ids = Ids()
    made = [ids("call"), ids("msg"), ids("call")]
    again = ids.again()
    assert [again("call"), again("call"), again("msg")] == [made[0], made[2], made[1]]
    assert again("call") not in made


# -- reasoning that the caller's dialect cannot hold ------------------------------------------

THINKING = {
    "id": "msg_01",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [
        {"type": "thinking", "thinking": "I should look.", "signature": "EqQBCkYIBxgC"},
        {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Pera"}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 9, "output_tokens": 9},
}
RESULT = {"role": "tool", "tool_call_id": "toolu_1", "content": "14 C"}


def test_002_signed_reasoning_goes_back_to_its_issuer_with_a_capsule() -> None:
    tools = corpus("tool-call", "openai-chat", "request")["tools"]
    history: list[Any] = [{"role": "system", "content": "Be brief."}, *chat()]
    script = [THINKING, written("openai-responses"), written("anthropic-messages")]
    with Upstream(*script) as upstream:
        claude = provider(upstream, "anthropic-messages")
        other = provider(upstream, "openai-responses")
        with claude, other:
            first = claude.create(history, tools=tools)
            history.append(first.message)  # the very list that was asked grows
            history.append(RESULT)
            capsules = json.loads(json.dumps(first.capsules))
            second = other.create(history, tools=tools, capsules=capsules)
            history = [*second.append(history), *chat("And now?")]
            third = claude.create(history, tools=tools, capsules=second.capsules)
    assert "thinking" not in upstream.seen[1].body.decode()
    assert upstream.seen[2].document["messages"][1]["content"] == THINKING["content"]
    assert third.capsules == capsules  # nothing new was signed, and what is kept is still good
    assert "capsule" not in {loss.what for loss in third.request_losses}


def test_002_a_capsule_is_not_put_into_a_turn_that_has_changed() -> None:
    with (
        Upstream(THINKING, *[written("anthropic-messages")] * 2) as upstream,
        provider(upstream, "anthropic-messages") as talk,
    ):
        first = talk.create(chat())
        edited = json.loads(json.dumps(first.message).replace("Pera", "Fatih"))
        second = talk.create([*chat(), edited, RESULT], capsules=first.capsules)
        # A signature covers the reasoning, not what was written before it: the turn stays whole.
        third = talk.create(
            [*chat("Something else"), first.message, RESULT], capsules=first.capsules
        )
    assert "thinking" not in upstream.seen[1].body.decode()
    assert "capsule" in {loss.what for loss in second.request_losses}
    assert upstream.seen[2].document["messages"][1]["content"] == THINKING["content"]
    assert "capsule" not in {loss.what for loss in third.request_losses}


def test_a_provider_signs_its_capsules() -> None:
    key = b"0123456789abcdef"
    with (
        Upstream(THINKING, written("anthropic-messages")) as upstream,
        provider(upstream, "anthropic-messages", capsule_key=key) as talk,
    ):
        first = talk.create(chat())
        history = [*chat(), first.message, RESULT]
        forged = json.loads(json.dumps(first.capsules).replace("I should look.", "I know."))
        assert forged != first.capsules
        with pytest.raises(dragoman.CapsuleError, match="not signed with this key"):
            talk.create(history, capsules=forged)
        talk.create(history, capsules=first.capsules)
    assert len(upstream.seen) == 2
    assert upstream.seen[1].document["messages"][1]["content"] == THINKING["content"]


# -- errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dialect", "status", "body", "expected", "kind"),
    [
        # as the vendors document them
        ("openai-chat", 401, {"error": {"message": "You didn't provide an API key.",
            "type": "invalid_request_error", "param": None, "code": None}},
            AuthenticationFailed, "authentication"),
        ("openai-chat", 401, {"error": {"message": "Incorrect API key provided.",
            "type": "invalid_request_error", "param": None, "code": "invalid_api_key"}},
            AuthenticationFailed, "authentication"),
        ("openai-chat", 404, {"error": {"message": "No such model.",
            "type": "invalid_request_error", "param": None, "code": "model_not_found"}},
            NotFound, "not-found"),
        ("openai-chat", 429, {"error": {"message": "Slow down.", "type": "requests",
            "param": None, "code": "rate_limit_exceeded"}}, RateLimited, "rate-limit"),
        ("openai-chat", 429, {"error": {"message": "No credit.", "type": "insufficient_quota",
            "param": None, "code": "insufficient_quota"}}, PaymentRequired, "billing"),
        ("openai-responses", 400, {"error": {"message": "No.", "type": "invalid_request_error",
            "param": "input", "code": None}}, InvalidRequest, "invalid-request"),
        ("openai-responses", 503, {"error": {"message": "Busy.", "type": "server_error",
            "param": None, "code": None}}, Overloaded, "overloaded"),
        ("anthropic-messages", 403, {"type": "error", "error": {"type": "permission_error",
            "message": "No."}}, PermissionDenied, "permission"),
        ("anthropic-messages", 413, {"type": "error", "error": {"type": "request_too_large",
            "message": "Too long."}}, TooLarge, "too-large"),
        ("anthropic-messages", 529, {"type": "error", "error": {"type": "overloaded_error",
            "message": "Overloaded"}}, Overloaded, "overloaded"),
        ("anthropic-messages", 500, {"type": "error", "error": {"type": "api_error",
            "message": "Oops."}}, ServerFailed, "server"),
        ("anthropic-messages", 504, {"type": "error", "error": {"type": "timeout_error",
            "message": "Late."}}, TimedOut, "timeout"),
        ("openai-chat", 409, {"error": "locked"}, Conflict, "conflict"),
        # as inference servers and proxies say them
        ("openai-chat", 400, {"error": {"code": 400, "message": "too many tokens",
            "type": "exceed_context_size_error", "n_ctx": 8192}},
            InvalidRequest, "invalid-request"),
        ("openai-chat", 422, {"detail": [{"loc": ["body", 1], "msg": "JSON decode error"}]},
            InvalidRequest, "invalid-request"),
        ("openai-chat", 404, {"detail": "Not Found"}, NotFound, "not-found"),
        ("openai-chat", 500, "Internal Server Error", ServerFailed, "server"),
        ("openai-chat", 502, "<html><h1>502 Bad Gateway</h1></html>", ServerFailed, "server"),
        ("openai-chat", 429, [["a", "list"]], RateLimited, "rate-limit"),
        ("openai-chat", 503, "", Overloaded, "overloaded"),
        ("openai-chat", 402, None, PaymentRequired, "billing"),
        # a reply that failed, and a gateway that says so with status 200
        ("openai-responses", 200, corpus("answer-failed", "openai-responses", "response"),
            ServerFailed, "server"),
        ("openai-chat", 200, {"error": {"message": "Odd.", "code": 502}}, ServerFailed, "server"),
    ],
)  # fmt: skip
def test_an_error_is_of_the_class_of_its_kind(
    dialect: str, status: int, body: Any, expected: type[ProviderError], kind: str
) -> None:
    with Upstream(Say(status, body), strict=False, forever=True) as upstream:
        for caller in GREAT:
            with (
                provider(upstream, dialect, dialect=caller) as talk,
                pytest.raises(ProviderError) as caught,
            ):
                talk.create(chat())
            error = caught.value
            assert type(error) is expected
            assert (error.kind, error.status, error.retry_after) == (kind, status, None)
            assert str(error) == f"{status}: {error.message}"
            if caller == dialect and isinstance(body, dict):
                assert error.document == body
            elif caller != dialect:
                tree: Any = dragoman.read(error.document, caller, facet="error")
                assert tree.message == error.message
                assert tree.kind == ("server" if kind == "other" else kind)


def test_every_kind_of_error_has_its_class_and_no_class_two_kinds() -> None:
    from typing import get_args

    from dragoman.model import ErrorKind

    assert set(provider_errors.OF_KIND) == set(get_args(ErrorKind))
    assert all(kind == error.usual for kind, error in provider_errors.OF_KIND.items())


DATE = "Sun, 15 Nov 2026 18:33:18 GMT"


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "20"}, 20.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"Retry-After": "Sun, 15 Nov 2026 18:34:18 GMT", "Date": DATE}, 60.0),
        ({"Retry-After": "Sun, 15 Nov 2026 18:00:00 GMT", "Date": DATE}, 0.0),
        ({"Retry-After": "Sun, 15 Nov 2026 18:34:18", "Date": DATE}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "-3"}, None),
        ({"retry-after-ms": "x", "retry-after": "3"}, 3.0),
        ({}, None),
    ],
)
def test_retry_after_in_all_its_forms(headers: dict[str, str], wait: float | None) -> None:
    script = Say(429, corpus("error-rate-limit", "anthropic-messages", "error"), headers)
    with (
        Upstream(script) as upstream,
        provider(upstream, "anthropic-messages") as talk,
        pytest.raises(RateLimited) as caught,
    ):
        talk.create(chat())
    assert caught.value.retry_after == wait
    assert caught.value.request_id == "req_1"
    if wait == 20.0:
        assert str(caught.value) == "429: Slow down. (retry after 20 s, request req_1)"
    assert pickle.loads(pickle.dumps(caught.value)).__dict__ == caught.value.__dict__


@pytest.mark.parametrize("name", ["request-id", "x-request-id", "X-Request-Id"])
def test_the_id_of_a_request_is_told(name: str) -> None:
    script = [Say(200, written(), {name: "req_7"}), Say(500, "oops", {name: "req_8"})]
    with Upstream(*script) as upstream, provider(upstream) as talk:
        assert talk.create(chat()).request_id == "req_7"
        with pytest.raises(ServerFailed, match=r"^500: oops \(request req_8\)$"):
            talk.create(chat())


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Say(200, "<!doctype html><p>Sign in"), "is HTML, not JSON; check the url"),
        (Say(200, "data: {}\n\n"), "not a JSON object; it begins: data: {}"),
        (Say(200, [1]), "not a JSON object"),
        (Say(200, "{"), "not a JSON object"),
        (Say(204), "empty"),
        (Say(200, {"choices": 3}), "not a response of openai-chat: .* at /choices"),
        (Say(307, "", {"location": "http://elsewhere.invalid/"}), "redirect"),
    ],
)
def test_what_is_no_answer_is_a_bad_answer(reply: Say, message: str) -> None:
    with (
        Upstream(reply) as upstream,
        provider(upstream, dialect="anthropic-messages") as talk,
        pytest.raises(BadReply, match=message) as caught,
    ):
        talk.create(chat(), max_tokens=9)
    assert caught.value.status == reply.status


# -- connections ------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["sync", "async"])
def test_an_answer_that_does_not_come_in_time(way: str) -> None:
    upstream = Upstream(strict=False)
    upstream.script.append(upstream.silence)
    with upstream, pytest.raises(TimedOut, match="in time") as caught:
        ask(provider(upstream, timeout=0.05), {"messages": chat()}, way)
    assert (caught.value.kind, caught.value.status) == ("timeout", None)


def test_a_connection_that_does_not_come_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:  # which never shakes hands
        url = f"https://127.0.0.1:{server.getsockname()[1]}"
        with Provider(url=url, connect_timeout=0.05) as talk, pytest.raises(TimedOut, match="time"):
            talk.create(chat())


@pytest.mark.parametrize(
    ("reply", "expected", "message"),
    [
        (b"", ConnectionFailed, "before the response"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{", ConnectionFailed, "in the middle"),
        (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{",
            ConnectionFailed,
            "middle",
        ),
        (b"SSH-2.0-OpenSSH_9\r\n\r\n", BadReply, "not HTTP"),
    ],
)
def test_a_connection_that_breaks(
    reply: bytes, expected: type[ProviderError], message: str
) -> None:
    with (
        Raw(reply) as server,
        provider(server) as talk,
        pytest.raises(expected, match=message) as caught,
    ):
        talk.create(chat())
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_nobody_listens() -> None:
    with Raw() as server:
        port = server.port
    with (
        Provider(url=f"http://127.0.0.1:{port}") as talk,
        pytest.raises(ConnectionFailed, match=rf"^no connection to 127.0.0.1:{port}: "),
    ):
        talk.create(chat())
    with (
        Provider(url="http://no-such-host.invalid") as talk,
        pytest.raises(ConnectionFailed, match=r"^no connection to no-such-host.invalid:80: "),
    ):
        talk.create(chat())


def test_an_answer_without_end_is_cut_off() -> None:
    with Upstream(Say(200, b"x" * 3000)) as upstream:
        blocking = BlockingClient(lambda: Client(limit=1000))
        with pytest.raises(BadReply, match="longer than 1000 bytes"):
            blocking.post(Message(upstream.url + "/v1/messages", REQUEST, Headers()))
        blocking.close()


REQUEST = json.dumps(
    {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
).encode()


def test_tls_is_used_and_certificates_are_checked() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)  # an authority nobody knows

    async def run() -> None:
        heard: list[bytes] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heard.append(await reader.read(100))
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        async with server, Provider(url=f"https://127.0.0.1:{port}", key=KEY) as talk:
            with pytest.raises(ConnectionFailed, match="certificate"):
                await talk.acreate(chat())
        assert heard == []

    asyncio.run(run())


def test_connections_are_used_again() -> None:
    ports = []

    with Upstream(written(), forever=True) as upstream, provider(upstream) as talk:
        for _ in range(3):
            talk.create(chat())
            ports.append(connections(upstream))
    assert ports == [1, 1, 1]


def connections(upstream: Upstream) -> int:
    return len(upstream.runner.server.connections) if upstream.runner.server else 0


def test_cookies_and_redirects_lead_nowhere() -> None:
    script = [
        Say(200, written(), {"set-cookie": "a=b"}),
        Say(302, "", {"location": "/v1/responses"}),
    ]
    with Upstream(*script) as upstream, provider(upstream) as talk:
        talk.create(chat())
        with pytest.raises(BadReply):
            talk.create(chat())
    assert "cookie" not in upstream.seen[1].headers
    assert len(upstream.seen) == 2


def test_proxies_are_those_of_the_environment(monkeypatch: Any) -> None:
    with Upstream(written(), strict=False) as upstream:
        monkeypatch.setenv("HTTP_PROXY", upstream.url)
        with Provider(url="http://models.invalid/v1", key=KEY) as talk:
            assert talk.create(chat()).document == written()
    assert upstream.seen[0].headers["host"] == "models.invalid"
    assert proxy_for("http://127.0.0.1:8000/v1") is None
    assert proxy_for("http://localhost/v1") is None
    monkeypatch.setenv("NO_PROXY", "models.invalid")
    assert proxy_for("http://models.invalid/v1") is None


# -- loops and threads ------------------------------------------------------------------------


def test_the_blocking_half_works_inside_a_running_loop_and_from_many_threads() -> None:
    async def run(talk: Provider) -> Reply:
        return talk.create(chat())

    with Upstream(written(), forever=True) as upstream, provider(upstream) as talk:
        asyncio.run(run(talk))
        replies: list[Reply] = []
        threads = [
            threading.Thread(target=lambda: replies.append(talk.create(chat()))) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(replies) == 8
        workers = [t for t in threading.enumerate() if t.name == "dragoman-provider"]
        assert len(workers) == 1
    assert not workers[0].is_alive()


def test_many_requests_at_once_in_one_loop() -> None:
    async def run(upstream: Upstream) -> list[Reply]:
        async with provider(upstream) as talk:
            return await asyncio.gather(*(talk.acreate(chat()) for _ in range(20)))

    with Upstream(written(), forever=True) as upstream:
        assert len(asyncio.run(run(upstream))) == 20


def test_one_loop_at_a_time() -> None:
    with Upstream(written(), forever=True) as upstream:
        talk = provider(upstream)

        async def other() -> None:
            with pytest.raises(dragoman.Unsupported, match="another event loop"):
                await talk.acreate(chat())

        async def run() -> None:
            await talk.acreate(chat())
            await asyncio.to_thread(asyncio.run, other())
            await talk.aclose()

        asyncio.run(run())


def test_a_closed_provider_says_so_and_closes_again() -> None:
    talk = Provider(url="http://localhost")
    asyncio.run(talk.aclose())
    talk.close()
    with pytest.raises(dragoman.Unsupported, match="closed"):
        talk.create(chat())
    with pytest.raises(dragoman.Unsupported, match="closed"):
        asyncio.run(talk.acreate(chat()))


def test_whoever_closes_does_not_leave_others_waiting() -> None:
    upstream = Upstream(strict=False)
    arrived = threading.Event()

    async def hold(seen: Seen) -> Say:
        arrived.set()
        return await upstream.silence(seen)

    upstream.script.append(hold)
    caught: list[BaseException] = []

    def wait() -> None:
        try:
            talk.create(chat())
        except ProviderError as error:
            caught.append(error)

    with upstream:
        talk = provider(upstream)
        thread = threading.Thread(target=wait)
        thread.start()
        arrived.wait()
        talk.close()
        thread.join()
    assert [type(error) for error in caught] == [ConnectionFailed]


def test_who_forgets_to_close_leaves_no_thread_after() -> None:
    with Upstream(written()) as upstream:
        talk = provider(upstream)
        talk.create(chat())
        worker = next(t for t in threading.enumerate() if t.name == "dragoman-provider")
        del talk
        worker.join()
    assert not worker.is_alive()


# -- addresses --------------------------------------------------------------------------------


def test_addresses_and_keys_come_from_the_environment(monkeypatch: Any) -> None:
    with Upstream(written("anthropic-messages"), written()) as upstream:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", upstream.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", f" {KEY}\n")
        monkeypatch.setenv("OPENAI_BASE_URL", upstream.url + "/v1/")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        with Provider("anthropic", model="m") as claude, Provider(model="m") as gpt:
            claude.create(chat())
            gpt.create(chat())
    first, second = upstream.seen
    assert (first.path, first.headers["x-api-key"]) == ("/v1/messages", KEY)
    assert first.headers["anthropic-version"] == "2023-06-01"
    assert first.headers["content-type"] == "application/json"
    assert "authorization" not in first.headers
    assert second.path == "/v1/chat/completions"
    assert second.headers["authorization"] == f"Bearer {KEY}"


def test_a_key_of_the_environment_goes_nowhere_else(monkeypatch: Any) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Upstream(written()) as upstream, Provider(url=upstream.url + "/v1", model="m") as talk:
        talk.create(chat())
    assert KEY not in str(upstream.seen[0].headers)


def test_headers_of_the_caller_come_last() -> None:
    headers = {"Anthropic-Version": "2026-10-21", "anthropic-beta": "b", "X-API-Key": "mine"}
    with (
        Upstream(written("anthropic-messages")) as upstream,
        provider(upstream, "anthropic-messages", headers=headers) as talk,
    ):
        talk.create(chat())
    sent = upstream.seen[0].headers
    assert (sent["anthropic-version"], sent["anthropic-beta"]) == ("2026-10-21", "b")
    assert sent["x-api-key"] == "mine"


@pytest.mark.parametrize(
    ("url", "whole"),
    [
        ("https://h/v1", "https://h/v1/messages"),
        ("https://h/", "https://h/v1/messages"),
        ("https://h/v1/messages", "https://h/v1/messages"),
        ("https://h/proxy?beta=true", "https://h/proxy/v1/messages?beta=true"),
    ],
)
def test_a_url_is_a_base_or_the_whole_address(url: str, whole: str) -> None:
    assert resolve(dialects.get("anthropic"), url, None, None).url == whole


@pytest.mark.parametrize("url", ["", "ftp://h", "h:80", "https://", "https://[", "http://h:x"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(dragoman.Unsupported, match="url"):
        Provider(url=url, key=KEY)


def test_what_no_header_can_hold_is_refused_without_showing_it() -> None:
    for options in ({"key": f"{KEY}\nx: y"}, {"headers": {"x-api-key": KEY + "\u20ac"}}):
        with pytest.raises(dragoman.Unsupported, match="header") as caught:
            Provider(url="http://localhost", **options)
        assert KEY not in str(caught.value)
    for url in (f"https://user:{KEY}@h", f"https://h/?api_key={KEY}"):
        with pytest.raises(dragoman.Unsupported, match="the url contains a secret") as caught:
            Provider(url=url)
        assert KEY not in str(caught.value)


def test_without_a_key_the_vendor_is_not_even_asked() -> None:
    with pytest.raises(AuthenticationFailed, match="OPENAI_API_KEY"):
        Provider()
    with pytest.raises(AuthenticationFailed, match="ANTHROPIC_API_KEY"):
        Provider("anthropic")


def test_a_variant_shares_the_manners_but_not_the_address(monkeypatch: Any) -> None:
    class Cousin(type(dialects.get("openai-chat"))):  # type: ignore[misc]
        name = "cousin"

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    found, own = endpoint_of(Cousin())
    assert found is not None
    assert not own
    assert resolve(Cousin(), "http://h/v1", None, None).url == "http://h/v1/chat/completions"
    with pytest.raises(dragoman.Unsupported, match="give url="):
        resolve(Cousin(), None, None, None)


def test_a_dialect_that_is_nowhere_is_reached_by_its_whole_address() -> None:
    address = resolve(dialects.get("native"), "http://h/talk", KEY, None)
    assert (address.url, address.headers) == ("http://h/talk", {"authorization": f"Bearer {KEY}"})
    with pytest.raises(dragoman.Unsupported, match="give url="):
        resolve(dialects.get("native"), None, None, None)


# -- keys do not show -------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("target", GREAT)
def test_a_key_that_the_upstream_repeats_is_hidden(target: str, way: str, caplog: Any) -> None:
    def echo(seen: Seen) -> Say:
        lines = " ".join(f"{k}: {v}" for k, v in seen.headers.items())
        body = {"error": {"message": lines, "type": KEY, "code": KEY}, KEY: [lines]}
        escaped = json.dumps(body).replace("sk-", "\\u0073k-")
        return Say(401, escaped, {"x-request-id": KEY, "content-type": "application/json"})

    def page(seen: Seen) -> Say:
        return Say(500, f"<pre>{'x' * 290}{seen.headers}")

    def good(seen: Seen) -> Say:
        return Say(200, f"<pre>{seen.headers}")

    def wrong(seen: Seen) -> Say:
        return Say(200, {"choices": {KEY: 1}, "content": {KEY: 1}, "output": {KEY: 1}, "id": 1})

    caller = "anthropic-messages" if target == "openai-chat" else "openai-chat"
    caplog.set_level(0)
    with Upstream(echo, page, good, wrong) as upstream:
        for _ in range(4):
            talk = provider(upstream, target, dialect=caller, headers={"proxy-auth": f"B {TOKEN}"})
            with pytest.raises(ProviderError) as caught:
                ask(talk, corpus("answer", caller, "request"), way)
            error = caught.value
            shown = traceback.TracebackException.from_exception(error, capture_locals=True)
            text = "".join(shown.format()) + repr(error) + str(error.__dict__) + repr(talk)
            chained: BaseException | None = error
            while chained is not None:
                text += str(chained.__dict__)
                chained = chained.__context__
            assert KEY not in text
            assert KEY[:12] not in text
            assert TOKEN not in text
    assert KEY not in caplog.text


def test_a_key_does_not_show_where_a_provider_shows() -> None:
    talk = Provider("anthropic", url="https://h/x?v=1", key=KEY, headers={"Cookie": f"c={KEY}"})
    assert repr(talk) == "<Provider: anthropic-messages at h, asked in openai-chat>"
    assert KEY not in str(vars(talk))
    assert talk._address.secrets.hide(f"{KEY} and c={KEY}") == "[key] and [key]"


# -- the page ---------------------------------------------------------------------------------


def test_the_examples_of_the_page_run_and_print_what_they_say(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (places.ROOT / "docs" / "providers.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    with Upstream(weather, forever=True) as upstream:
        for name in ("OPENAI", "ANTHROPIC"):
            monkeypatch.setenv(f"{name}_BASE_URL", upstream.url + "/v1")
            monkeypatch.setenv(f"{name}_API_KEY", KEY)
        names: dict[str, Any] = {}
        for block in blocks:
            exec(compile(block, "providers.md", "exec"), names)
            promised = [line[2:] for line in block.splitlines() if line.startswith("# ")]
            assert capsys.readouterr().out.splitlines() == promised
    assert len(blocks) == 6


def weather(seen: Seen) -> dict[str, Any] | Say | Tell:
    """A model that looks up the weather if it has the tools, and tells it if it has not."""
    document = seen.document
    if document["model"] == "no-such-model":
        error = {"message": "There is no model 'no-such-model'.", "code": "model_not_found"}
        return Say(404, {"error": error | {"type": "invalid_request_error", "param": None}})
    asked = "tools" in document and "14 C" not in seen.body.decode()
    reply = said_calls(seen.dialect) if asked else written(seen.dialect)
    text = json.dumps(reply).replace("An interpreter.", "It is 14 degrees in Pera.")
    if document.get("stream"):
        return Tell(awkward(dragoman.decompose(text.encode(), seen.dialect)))
    return json.loads(text)  # type: ignore[no-any-return]


def test_the_page_names_every_error_and_every_address() -> None:
    page = (places.ROOT / "docs" / "providers.md").read_text("utf-8")
    for name in dragoman.providers.__all__:
        assert f"`{name}`" in page or name in ("Answer", "Provider"), name
    for line in table_of_addresses():
        assert line in page.splitlines(), f"docs/providers.md lacks: {line}"


def table_of_addresses() -> list[str]:
    """The rows of the page, as the dialects declare them."""
    rows = []
    for name in dialects.names():
        dialect = dialects.get(name)
        for row in dialect.endpoints if "endpoints" in vars(type(dialect)) else ():
            who = f"`{name}`" + (f', `platform="{row.platform}"`' if row.platform else "")
            asks = f" (stream: `{row.stream_path}`)" if row.stream_path else ""
            path = f"`{row.prefix}{row.path}`{asks}"
            base = f"`{row.base}`" if row.base else "`url=`"
            settings = [name for names in row.settings.values() for name in names]
            where = ticked((*row.url_variables, *settings))
            keys = [*row.key_variables, *({"aws": ["AWS"], "google": ["Google"]}.get(row.auth, ()))]
            header = f"`{row.key_header}: {row.key_scheme}`".replace(": `", "`").replace(" `", "`")
            rows.append(f"| {who} | {base} | {path} | {where} | {ticked(keys)} | {header} |")
    return rows


def ticked(words: Iterable[str]) -> str:
    return ", ".join(word if word in ("AWS", "Google") else f"`{word}`" for word in words)
