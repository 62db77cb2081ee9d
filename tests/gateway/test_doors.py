"""Doors beside those of the matrix, and the paths beside those for replies.

Their clients are the official SDKs as well; the upstreams are one that signs reasoning, one that
encrypts it, and one that signs calls.
"""

from __future__ import annotations

import base64
import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from google import genai
from google.genai import types
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from dragoman.gateway import Config, Gateway, Upstream
from dragoman.gateway.config import Client, Limits
from dragoman.model import Media, Reasoning, Text, ToolCall
from gateways import Model, Reply, chain, post, running, scripted
from sdk_clients import MORE, PNG

REPLIES: tuple[dict[str, Any], ...] = (
    {"text": "A dot.", "when": {"model": "seeing"}},
    {"refusal": "I cannot help with that.", "when": {"model": "refusing"}},
    {"text": "Once upon a", "stop": "length", "when": {"model": "long"}},
    {"error": {"kind": "rate-limit", "message": "slow down"}, "when": {"model": "limited"}},
    {"text": "one two three four five", "fail_after": 3, "when": {"model": "failing"}},
    {"reasoning": "Hm.", "signature": "c2ln", "text": "Let me look.",
     "calls": [{"name": "look", "arguments": {"city": "Pera"}}]},
    {"reasoning": "And the other.", "signature": "c2lnMg==",
     "calls": [{"name": "look", "arguments": {"city": "Galata"}},
               {"name": "look", "arguments": {"city": "Üsküdar"}}]},
    {"text": "14 degrees everywhere."},
)  # fmt: skip
LIMITED = ("max_tokens", "incomplete", "MAX_TOKENS")
UPSTREAMS = ("anthropic-messages", "openai-responses", "gemini")
Behind = tuple[str, str, Model]
ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
doors = pytest.mark.parametrize("door", list(MORE))


@pytest.fixture(scope="module", params=UPSTREAMS)
def behind(request: pytest.FixtureRequest) -> Iterator[Behind]:
    with chain(request.param, *REPLIES) as (url, model):
        yield request.param, url, model


@doors
@ways
def test_two_rounds_of_tools_with_reasoning(behind: Behind, door: str, stream: bool) -> None:
    upstream, url, model = behind
    with MORE[door](url, thinking=True) as talk:
        first = talk.ask("How warm is it?", stream)
        second = talk.results(["14"], stream)
        last = talk.results(["14", "14"], stream)
    assert first.text == "Let me look."
    assert first.calls == (("look", {"city": "Pera"}),)
    assert first.reasoning == "Hm."
    assert second.calls == (("look", {"city": "Galata"}), ("look", {"city": "Üsküdar"}))
    assert (last.text, last.calls) == ("14 degrees everywhere.", ())
    blocks = [block for message in model.asked[-1].messages for block in message.content]
    signed = [b.signature.data for b in blocks if isinstance(b, Reasoning) and b.signature]
    if upstream == "gemini":  # which signs the first call of a turn
        calls = [block for block in blocks if isinstance(block, ToolCall)]
        marks = [c.extras.signature.data for c in calls if c.extras and c.extras.signature]
        signed = [base64.b64decode(mark).decode() for mark in marks]
    assert signed == ["c2ln", "c2lnMg=="]


@pytest.mark.parametrize("door", ["gemini-interactions", "anthropic-bedrock"])
@ways
def test_reasoning_comes_back_without_a_store(door: str, stream: bool) -> None:
    """It is in the client's own history, enclosed."""
    with chain("openai-responses", *REPLIES, store="none") as (url, model):
        with MORE[door](url, thinking=True) as talk:
            talk.ask("How warm is it?", stream)
            talk.results(["14"], stream)
        blocks = [block for message in model.asked[-1].messages for block in message.content]
        signed = [b.signature.data for b in blocks if isinstance(b, Reasoning) and b.signature]
    assert signed == ["c2ln"]


@doors
@ways
def test_a_picture_a_refusal_and_a_limit(behind: Behind, door: str, stream: bool) -> None:
    _, url, model = behind
    with MORE[door](url, model="seeing") as talk:
        assert talk.look("What is it?", PNG, stream).text == "A dot."
    picture = model.asked[-1].messages[-1].content[-1]
    assert isinstance(picture, Media)
    assert base64.b64encode(PNG).decode() in str(picture.source)
    with MORE[door](url, model="refusing") as talk:
        assert talk.ask("Hm?", stream).text == "I cannot help with that."
    with MORE[door](url, model="long") as talk:
        heard = talk.ask("Tell me a story.", stream)
    assert heard.text == "Once upon a"
    assert heard.stop in LIMITED


@doors
@ways
def test_errors(behind: Behind, door: str, stream: bool) -> None:
    with (
        MORE[door](behind[1], model="limited") as talk,
        pytest.raises(Exception, match="slow down") as caught,
    ):
        talk.ask("Hm?", stream)
    problem: Any = caught.value
    assert 429 in (getattr(problem, "status_code", None), getattr(problem, "code", None))
    if stream:
        with (
            MORE[door](behind[1], model="failing") as talk,
            pytest.raises(Exception, match="scripted failure"),
        ):
            talk.ask("Hm?", True)


@doors
def test_clients_wait_through_silence(door: str) -> None:
    slow = {"text": "Hi.", "calls": [{"name": "look", "arguments": {"city": "Pera"}}], "delay": 0.1}
    with (
        chain("openai-chat", slow, limits=Limits(keep_alive=0.03)) as (url, _),
        MORE[door](url) as talk,
    ):
        heard = talk.ask("Hm?", True)
    assert (heard.text, heard.calls) == ("Hi.", (("look", {"city": "Pera"}),))


# -- interactions that are stored -------------------------------------------------------------


@pytest.fixture
def google(behind: Behind) -> Iterator[Any]:
    options = types.HttpOptions(base_url=behind[1], timeout=30_000)
    with genai.Client(api_key="k", http_options=options) as sdk:
        yield sdk.interactions


@ways
def test_an_interaction_is_continued_shown_and_deleted(
    behind: Behind, google: Any, stream: bool
) -> None:
    tool = {"type": "function", "name": "look", "parameters": {"type": "object"}}
    asked = {"model": "m", "tools": [tool]}
    if stream:
        with google.create(**asked, input="How warm is it?", stream=True) as events:
            first = next(e for e in events if e.event_type == "interaction.completed").interaction
    else:
        first = google.create(**asked, input="How warm is it?")
    call = google.get(first.id, include_input=True)
    assert [part.text for step in call.input for part in step.content] == ["How warm is it?"]
    (made,) = (step for step in call.steps if step.type == "function_call")
    result = {"type": "function_result", "call_id": made.id, "name": "look", "result": "14"}
    second = google.create(**asked, input=[result], previous_interaction_id=first.id)
    assert second.status == "requires_action"
    told = behind[2].asked[-1].messages
    texts = [b.text for m in told for b in m.content if isinstance(b, Text)]
    assert texts[:2] == ["How warm is it?", "Let me look."]
    assert [m.role for m in told] == ["user", "assistant", "tool"]
    google.delete(first.id)
    with pytest.raises(Exception, match="is not stored"):
        google.get(first.id)
    with pytest.raises(Exception, match="is not stored"):
        google.create(**asked, input=[result], previous_interaction_id=first.id)


def test_without_a_store_no_interaction_is_continued() -> None:
    with chain("anthropic-messages", {"text": "One."}, store="none") as (url, _):
        asked = {"model": "m", "input": "a", "previous_interaction_id": "v1_x"}
        reply = post(url, "/v1beta/interactions", json.dumps(asked).encode())
    assert reply.status == 400
    assert b"no store is configured" in reply.body


# -- other paths ------------------------------------------------------------------------------


def get(url: str, path: str, **headers: str) -> Reply:
    line = http.client.HTTPConnection(urlsplit(url).netloc, timeout=20)
    try:
        line.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        response = line.getresponse()
        return Reply(response.status, dict(response.getheaders()), response.read())
    finally:
        line.close()


@pytest.mark.parametrize("base", ["", "/llm/gateway"])
def test_any_base_url_has_all_paths(base: str) -> None:
    with scripted({"text": "Hi"}) as (url, _):
        hi = [{"role": "user", "content": "Hi, how are you?"}]
        for path, body, counted in (
            ("/v1/messages/count_tokens", {"model": "m", "messages": hi}, "input_tokens"),
            ("/v1/responses/input_tokens", {"model": "m", "input": hi}, "input_tokens"),
            ("/v1beta/models/m:countTokens", {"contents": [{"parts": [{"text": "Hi"}]}]},
             "totalTokens"),
        ):  # fmt: skip
            reply = post(url, base + path, json.dumps(body).encode())
            assert json.loads(reply.body)[counted] > 0, path
            assert reply.headers["x-dragoman-estimated"]
        for path, key in (("/v1/models", "data"), ("/v1beta/models", "models"),
                          ("/api/tags", "models"), ("/api/version", "version")):  # fmt: skip
            assert json.loads(get(url, base + path).body)[key], path
        asked = json.dumps({"model": "m", "input": "Hi"}).encode()
        name = json.loads(post(url, f"{base}/v1/responses", asked).body)["id"]
        assert json.loads(get(url, f"{base}/v1/responses/{name}").body)["id"] == name
        items = json.loads(get(url, f"{base}/v1/responses/{name}/input_items").body)["data"]
        assert items[0]["content"] == "Hi"


@pytest.mark.parametrize("base", ["", "/llm"])
def test_names_of_models_may_have_slashes(base: str) -> None:
    """AWS's SDKs quote those of ARNs, Google's leave that of ``NAME/model`` as it is."""
    arn = "arn:aws:bedrock:us-east-1:1:inference-profile/m"
    said = b'{"messages": [{"role": "user", "content": [{"text": "Hi"}]}]}'
    told = b'{"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}'
    with scripted({"text": "Hi"}) as (url, model):
        for path, body in (
            (f"/model/{quote(arn, safe='')}/converse", said),
            (f"/model/{quote(arn, safe='')}/converse-stream", said),
            ("/v1beta/models/local/qwen3:generateContent", told),
            ("/v1beta/models/local%2Fqwen3:streamGenerateContent", told),
        ):
            assert post(url, base + path, body).status == 200, path
        assert [asked.model for asked in model.asked] == [arn, arn, "local/qwen3", "local/qwen3"]


def test_a_client_sees_the_models_that_it_may_use() -> None:
    clients = {"ann": Client(key="a", models=("gpt-*",)), "bob": Client(key="b")}
    upstream = Upstream(dialect="openai-chat", url="http://127.0.0.1:9", models=("gpt-5", "o3"))
    config = Config(log="none", clients=clients, upstreams={"up": upstream})
    with running(Gateway(config)) as url:
        for key, names in (("a", ["gpt-5"]), ("b", ["gpt-5", "o3"])):
            listed = json.loads(get(url, "/v1/models", authorization=f"Bearer {key}").body)
            assert [model["id"] for model in listed["data"]] == names


def test_a_client_that_leaves_in_the_middle_of_a_count(capfd: pytest.CaptureFixture[str]) -> None:
    with scripted({"text": "Hi"}) as (url, _):
        with socket.create_connection(("127.0.0.1", int(urlsplit(url).port or 0))) as line:
            line.sendall(b"POST /v1/messages/count_tokens HTTP/1.1\r\nhost: h\r\n"
                         b"content-length: 99\r\n\r\n{")  # fmt: skip
        assert get(url, "/healthz").status == 200
    assert "Traceback" not in capfd.readouterr().err


ELSEWHERE = {"origin": "https://elsewhere.example"}


def test_pages_of_other_origins_are_not_served() -> None:
    """Browsers post and open sockets without asking first; a page would use somebody's models."""
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}).encode()
    with scripted({"text": "Hi"}) as (url, model):
        for origin in ("https://elsewhere.example", "null", "http://[", "http://127.0.0.1.x.org"):
            told = {"origin": origin, "content-type": "text/plain"}
            assert post(url, "/v1/chat/completions", body, told).status == 403, origin
        at = url.replace("http", "ws") + "/v1/responses"
        with pytest.raises(InvalidStatus), connect(at, additional_headers=ELSEWHERE):
            pass
        assert not model.asked
        for origin in ("http://localhost:3000", url, "vscode-webview://1"):
            told = {"origin": origin}
            assert post(url, "/v1/chat/completions", body, told).status == 200, origin


def test_a_foreign_name_for_this_machine_is_not_served() -> None:
    """DNS rebinding: the page's own host leads here, so that its requests are of one origin."""
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}).encode()
    foreign = {"host": "elsewhere.example:8700", "origin": "http://elsewhere.example:8700"}
    path = "/v1/chat/completions"
    with scripted({"text": "Hi"}) as (url, model):
        for told in (foreign, {"host": "elsewhere.example"}, {"host": "127.0.0.1.x.org"}):
            assert post(url, path, body, told).status == 403, told
        at = url.replace("http", "ws") + "/v1/responses"
        with pytest.raises(InvalidStatus), connect(at, additional_headers=foreign):
            pass
        assert not model.asked
        for name in ("localhost:1", "[::1]:8700", "192.168.0.7", "host.docker.internal", "h"):
            assert post(url, path, body, {"host": name}).status == 200, name
    with scripted({"text": "Hi"}, hosts=("elsewhere.example",)) as (url, _):
        assert post(url, path, body, foreign).status == 200
        assert post(url, path, body, {"host": "other.example"}).status == 403
    with scripted({"text": "Hi"}, clients={"ann": Client(key="key-of-ann")}) as (url, _):
        told = {"host": "elsewhere.example", "authorization": "Bearer key-of-ann"}
        assert post(url, path, body, told).status == 200
