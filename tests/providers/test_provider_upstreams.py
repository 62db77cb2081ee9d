"""Every API as the upstream: its address, key, path and body, whole and streaming.

What is expected is written down here by hand, after the vendors' references; and where a vendor's
own client can be pointed at this machine, it is: what it sends must be what we send.
"""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

import pytest

import dragoman
from apis import APIS, KEY, MODEL, Api
from dragoman import dialects
from dragoman.core.endpoint import Endpoint
from dragoman.dialect import Dialect
from dragoman.providers import (
    AuthenticationFailed,
    Overloaded,
    PermissionDenied,
    Provider,
    RateLimited,
    Retries,
    ServerFailed,
)
from dragoman.providers.endpoints import resolve
from dragoman.providers.signing import AwsSigner
from talks import EXPECTED, QUESTION, heard, replies, request_of, written
from upstream import Raw, Say, Seen, Tell, Upstream, awkward

NO_API = {
    "alpaca": "a training record",
    "anthropic-vertex": "the platform vertex of anthropic-messages",
    "chatml": "a prompt format",
    "hermes": "a prompt format",
    "functiongemma": "a prompt format",
    "functiongemma-completion": "a training record",
    "functiongemma-nobos": "a prompt format",
    "functiongemma-teaching": "a prompt format",
    "goose": "a file of an agent",
    "google-adk": "a framework's messages",
    "harmony": "a prompt format",
    "icontent": "a client's shape",
    "icontent-design": "a client's shape",
    "langchain": "a framework's messages",
    "langchain-dumpd": "a framework's messages",
    "mistral-finetune": "a training record",
    "native": "our own tree",
    "openai-agents": "a framework's messages",
    "openai-finetune": "a training record",
    "opencode": "a file of an agent",
    "sharegpt": "a training record",
    "semantic-kernel": "a framework's messages",
    "strands": "a framework's messages",
    "otel-genai": "a record of what was said",
    "ag-ui": "a protocol between programs",
    "llamaindex": "a framework's messages",
    "mcp": "a protocol between programs",
    "pydantic-ai": "a framework's messages",
    "router-responses": "a client's shape",
    "trl": "a training record",
    "trl-completion": "a training record",
    "vercel-core": "a client's shape",
    "vercel-model": "a client's shape",
    "vercel-model-v5": "a client's shape",
    "vercel-model-v6": "a client's shape",
    "vercel-ui": "a client's shape",
    "vertex-tuning": "a training record",
    "xzatoma": "a client's shape",
    **{name: "a file of an agent" for name in dialects.names() if dialects.get(name).lines},
}
apis = pytest.mark.parametrize("name", APIS)


@pytest.fixture(autouse=True)
def _nothing_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for dialect in map(dialects.get, dialects.names()):
        for row in dialect.endpoints:
            told = (name for names in row.settings.values() for name in names)
            for name in (*row.url_variables, *row.key_variables, *told, row.switch):
                monkeypatch.delenv(name, raising=False) if name else None
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")


def test_every_dialect_has_an_address_or_a_reason_to_have_none() -> None:
    kinds = {name: type(dialects.get(name)) for name in dialects.names()}
    own = {name for name, kind in kinds.items() if vars(kind).get("endpoints")}
    assert own == APIS.keys()
    assert own | NO_API.keys() == set(dialects.names())


def server(name: str, *script: Any) -> Upstream:
    api = APIS[name]
    return Upstream(*script, speaks=name, paths={api.path, api.stream_path or api.path})


def provider(upstream: Upstream, name: str, **options: Any) -> Provider:
    api = APIS[name]
    written = {"url": upstream.url + api.base, "key": KEY, "model": MODEL, **api.options, **options}
    return Provider(name, **written)


def hold(seen: Seen, api: Api, *, stream: bool) -> None:
    """A request against what the reference says."""
    assert seen.path == ((api.stream_path if stream else None) or api.path)
    assert seen.query == {**api.query, **(api.stream_query if stream else {})}
    assert seen.headers[api.header] == api.credential
    others = {"authorization", "x-api-key", "api-key", "x-goog-api-key"} - {api.header}
    assert others.isdisjoint(seen.headers)
    assert seen.headers["content-type"] == "application/json"
    if stream:
        assert api.content_type in seen.headers["accept"]
    if api.names_model:
        assert {"model", "modelId"}.isdisjoint(seen.document)
    else:
        assert seen.document[api.model_key] == MODEL
    assert bool(seen.document.get("stream")) is (stream and api.flag)
    assert heard(seen.document, seen.dialect) == [QUESTION]


@apis
@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_whole_response(name: str, way: str) -> None:
    with server(name, replies(name)) as upstream, provider(upstream, name) as model:
        asked = request_of("openai-chat") | {"model": MODEL}
        if way == "sync":
            reply = model.request(asked)
        else:
            reply = asyncio.run(within(model, asked))
    hold(upstream.seen[0], APIS[name], stream=False)
    assert written(reply.document, "openai-chat") == EXPECTED
    assert reply.usage is not None
    assert reply.usage.output_total == 5


async def within(model: Provider, asked: Any) -> Any:
    async with model:
        return await model.arequest(asked)


@apis
def test_a_stream(name: str) -> None:
    stream = dragoman.decompose(replies(name), name)
    told = {"content-type": APIS[name].content_type}
    with (
        server(name, *[Tell(awkward(stream), told) for _ in range(2)]) as upstream,
        provider(upstream, name) as model,
    ):
        tools = request_of("openai-chat")["tools"]
        talk = model.stream([{"role": "user", "content": QUESTION}], tools=tools)
        events = list(talk)
        raw = b"".join(model.stream_request(request_of("openai-chat") | {"model": MODEL}).raw())
    for seen in upstream.seen:
        hold(seen, APIS[name], stream=True)
    texts = [c["delta"].get("content") or "" for event in events for c in event["choices"]]
    assert "".join(texts) == EXPECTED[0]
    assert written(talk.reply.document, "openai-chat") == EXPECTED
    assert written(dragoman.collect(raw, "openai-chat").document, "openai-chat") == EXPECTED


@apis
def test_the_same_dialect_passes_as_it_is_but_for_the_model_in_the_path(name: str) -> None:
    key, model_key = dialects.get(name).history, dialects.get(name).model_key
    assert key is not None
    asked = {"unknown": [1, {"x": None}], key: request_of(name)[key]}
    heard, told = {"a": 1, "b": None}, {"content-type": APIS[name].content_type}
    stream = dragoman.decompose(replies(name), name)
    with (
        Upstream(heard, Tell([stream], told), strict=False, speaks=name) as upstream,
        provider(upstream, name, dialect=name) as model,
    ):
        reply = model.request(asked)
        talk = model.stream_request(asked)
        raw = b"".join(talk.raw())
    whole, streamed = (seen.document for seen in upstream.seen)
    flag = {"stream": True} if APIS[name].flag else {}
    named = {} if APIS[name].names_model else {model_key: MODEL}
    assert whole == asked | named | ({"stream": False} if name == "ollama" else {})
    assert streamed == asked | named | flag
    assert reply.document == heard
    assert raw == stream
    assert written(talk.reply.document, name) == EXPECTED


@apis
def test_an_error_is_an_error_of_the_callers(name: str) -> None:
    from dragoman.model import Failure

    failure = Failure("rate-limit", "Slow down.")
    document = dragoman.write(failure, name).document
    with (
        Upstream(Say(429, document, {"retry-after": "7"}), strict=False) as upstream,
        provider(upstream, name) as model,
        pytest.raises(RateLimited) as caught,
    ):
        model.create([{"role": "user", "content": "Hi"}])
    assert caught.value.retry_after == 7
    assert "Slow down." in caught.value.document["error"]["message"]


@apis
def test_a_stream_that_fails_before_it_begins(name: str) -> None:
    with (
        Upstream(Say(503, b"<html>busy"), strict=False) as upstream,
        provider(upstream, name) as model,
        pytest.raises(Overloaded),
    ):
        list(model.stream([{"role": "user", "content": "Hi"}]))


@apis
def test_the_environment_says_where_and_with_what_key(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = APIS[name]
    if api.key_variable is not None:
        monkeypatch.setenv(api.key_variable, KEY)
    with server(name, replies(name)) as upstream:
        if api.url_variable is None or api.key_variable is None:
            row = dialects.get(name).endpoints[0]
            assert not row.url_variables
            upstream.script.clear()
            return
        monkeypatch.setenv(api.url_variable, upstream.url + api.base)
        with Provider(name, model=MODEL, **api.options) as model:
            model.request(request_of("openai-chat") | {"model": MODEL})
    hold(upstream.seen[0], api, stream=False)


@apis
def test_the_vendors_address_and_a_key_that_is_missing(name: str) -> None:
    dialect, settings = dialects.get(name), {"region": "eu-central-1", "api_version": "1"}
    if APIS[name].host is None:
        with pytest.raises(dragoman.Unsupported, match="give url="):
            resolve(dialect, None, KEY, None, settings=settings)
        return
    address = resolve(dialect, None, KEY, None, settings=settings)
    assert address.url_for("m", stream=False) == APIS[name].address
    if APIS[name].is_local:
        assert "authorization" not in resolve(dialect, None, None, None).headers
    else:
        with pytest.raises(AuthenticationFailed, match=APIS[name].key_variable or "key="):
            resolve(dialect, None, None, None, settings=settings)


@apis
def test_a_key_of_the_environment_does_not_go_to_a_url_of_the_caller(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (variable := APIS[name].key_variable) is not None:
        monkeypatch.setenv(variable, KEY)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
    address = resolve(dialects.get(name), "http://h", None, None, settings={"api_version": "1"})
    assert KEY not in "".join(address.headers.values())
    assert address.sign is None


# -- addresses --------------------------------------------------------------------------------

ROWS = [(name, row) for name in APIS for row in dialects.get(name).endpoints]


@pytest.mark.parametrize(("name", "row"), ROWS, ids=[f"{n}-{r.platform}" for n, r in ROWS])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", ["m", "vendor.m-1:0", "a b?c#d%41", "ünï"])
def test_what_a_path_says_can_be_read_again(
    name: str, row: Endpoint, stream: bool, model: str
) -> None:
    """So that whoever serves an API can route by the same facts."""
    path, query = row.route(model, stream)
    assert path.isascii()
    assert "?" not in path
    found = row.find("/some/prefix" + path)
    assert found is not None
    assert found.before == "/some/prefix"
    assert found.model == (model if row.model_in_path else None)
    assert found.stream is (None if row.stream_path is None else stream)
    assert query == {**row.query, **(row.stream_query if stream else {})}
    body = row.body({"model": model, "x": 1}, stream, "model")
    assert ("model" in body) is not row.model_in_path
    assert body["x"] == 1


@pytest.mark.parametrize("model", ["", "..", "../x", "a//b", None])
def test_a_model_that_would_change_the_path_is_refused(model: str | None) -> None:
    for name in ("gemini", "bedrock-converse", "azure-openai"):
        with pytest.raises(dragoman.Unsupported, match=r"model=|part of a URL"):
            dialects.get(name).endpoints[0].route(model, stream=False)


HOST = "https://h"
GEMINI = "/models/m:generateContent"
URLS = [
    ("gemini", "", f"/v1beta{GEMINI}"),
    ("gemini", "/v1beta/", f"/v1beta{GEMINI}"),
    ("gemini", "/v1", f"/v1{GEMINI}"),
    ("gemini", "/proxy", f"/proxy/v1beta{GEMINI}"),
    ("gemini", "/v1beta/models/other:generateContent", f"/v1beta{GEMINI}"),
    ("gemini", "/v1beta/models/other:streamGenerateContent?alt=sse", f"/v1beta{GEMINI}"),
    ("anthropic-messages", "", "/v1/messages"),
    ("anthropic-messages", "/v1", "/v1/messages"),
    ("anthropic-messages", "/v1/messages?beta=true", "/v1/messages?beta=true"),
    ("groq", "/openai", "/openai/v1/chat/completions"),
    ("groq", "/openai/v1", "/openai/v1/chat/completions"),
    ("cohere", "/v1", "/v2/chat"),
    ("cohere", "/v2", "/v2/chat"),
    ("cohere", "/v2/chat", "/v2/chat"),
    ("mistral", "/v1", "/v1/chat/completions"),
    ("ollama", "/api/chat", "/api/chat"),
    ("bedrock-converse", "/model/other/converse-stream", "/model/m/converse"),
    ("azure-openai", "/openai?api-version=9",
     "/openai/deployments/m/chat/completions?api-version=9"),
    ("azure-openai", "/openai/deployments/other?api-version=9",
     "/openai/deployments/m/chat/completions?api-version=9"),
    ("azure-openai", "/openai/v1", "/openai/v1/chat/completions"),
    ("openai-chat", "/v1/chat/completions", "/v1/chat/completions"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "whole"), URLS)
def test_a_url_is_a_base_or_a_whole_address(name: str, given: str, whole: str) -> None:
    address = resolve(dialects.get(name), HOST + given, KEY, None)
    assert address.url_for("m", stream=False) == HOST + whole


def test_one_url_serves_whole_responses_and_streams_and_may_name_the_model() -> None:
    url = f"{HOST}/v1beta/models/mine:generateContent"
    address = resolve(dialects.get("gemini"), url, KEY, None)
    assert address.url_for(None, stream=False) == url
    assert (
        address.url_for(None, stream=True)
        == f"{HOST}/v1beta/models/mine:streamGenerateContent?alt=sse"
    )
    tuned = address.url_for("tunedModels/t", stream=False)
    assert tuned == f"{HOST}/v1beta/tunedModels/t:generateContent"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("1.2.3.4", "http://1.2.3.4:11434"),
        (":56789", "http://127.0.0.1:56789"),
        ("example.com:56789/path", "http://example.com:56789/path"),
        ("https://example.com", "https://example.com"),
        ("[::1]", "http://[::1]:11434"),
    ],
)
def test_the_host_of_ollama_may_be_any_part_of_an_address(
    host: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ollama

    monkeypatch.setenv("OLLAMA_HOST", host)
    address = resolve(dialects.get("ollama"), None, None, None)
    assert address.url == f"{url}/api/chat"
    theirs = str(ollama.Client()._client.base_url).rstrip("/")
    assert theirs.removesuffix(":443") == url


def test_what_an_address_needs_and_nobody_says(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(dragoman.Unsupported, match="OPENAI_API_VERSION"):
        Provider("azure-openai", url=HOST, key=KEY)
    with pytest.raises(dragoman.Unsupported, match="AWS_REGION"):
        Provider("bedrock", key=KEY)
    with pytest.raises(dragoman.Unsupported, match="CLOUD_ML_REGION"):
        Provider("anthropic", platform="vertex", key=KEY)
    with pytest.raises(dragoman.Unsupported, match="known: vertex"):
        Provider("gemini", platform="moon", key=KEY)
    with pytest.raises(dragoman.Unsupported, match="unknown auth"):
        Provider("gemini", url=HOST, auth="moon")  # type: ignore[arg-type]
    with (
        Provider("gemini", url=HOST, key=KEY) as model,
        pytest.raises(dragoman.Unsupported, match="give model="),
    ):
        model.create([{"role": "user", "content": "Hi"}])


def test_a_dialect_of_another_package_brings_its_own_row() -> None:
    class Elsewhere(Dialect):
        name = "elsewhere"
        spec = "https://example.com"
        model_key = "engine"
        endpoints = (
            Endpoint(
                "/{model}/talk",
                "https://{city}.example.com",
                "/v3",
                stream_path="/{model}/talk-live",
                key_header="x-elsewhere",
                key_scheme="Token ",
                settings={"city": ("ELSEWHERE_CITY",)},
            ),
        )

    address = resolve(Elsewhere(), None, KEY, None, settings={"city": "pera"})
    assert address.headers == {"x-elsewhere": f"Token {KEY}"}
    assert address.url_for("m", stream=True) == "https://pera.example.com/v3/m/talk-live"
    assert address.row.body({"engine": "m", "a": 1}, False, "engine") == {"a": 1}


# -- the vendors' own clients -----------------------------------------------------------------


def openai_chat(url: str, model: str, stream: bool) -> None:
    import openai

    client = openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0)
    client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": QUESTION}], stream=stream
    )


def openai_responses(url: str, model: str, stream: bool) -> None:
    import openai

    client = openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0)
    client.responses.create(model=model, input=QUESTION, stream=stream)


def azure(url: str, model: str, stream: bool) -> None:
    import openai

    client = openai.AzureOpenAI(
        azure_endpoint=url, api_key=KEY, api_version="2024-10-21", max_retries=0
    )
    client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": QUESTION}], stream=stream
    )


def anthropic_messages(url: str, model: str, stream: bool) -> None:
    import anthropic

    client = anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0)
    client.messages.create(
        model=model,
        max_tokens=9,
        messages=[{"role": "user", "content": QUESTION}],
        stream=stream,
    )


def gemini(url: str, model: str, stream: bool) -> None:
    from google import genai

    options = genai.types.HttpOptions(base_url=url, api_version="v1beta")
    client = genai.Client(api_key=KEY, http_options=options)
    if stream:
        list(client.models.generate_content_stream(model=model, contents=QUESTION))
    else:
        client.models.generate_content(model=model, contents=QUESTION)


def interactions(url: str, model: str, stream: bool) -> None:
    from google import genai

    options = genai.types.HttpOptions(base_url=url, api_version="v1beta")
    client = genai.Client(api_key=KEY, http_options=options)
    if stream:
        list(client.interactions.create(model=model, input=QUESTION, stream=True))
    else:
        client.interactions.create(model=model, input=QUESTION)


def mistral(url: str, model: str, stream: bool) -> None:
    from mistralai.client import Mistral

    client = Mistral(api_key=KEY, server_url=url)
    ask: Any = client.chat.stream if stream else client.chat.complete
    ask(model=model, messages=[{"role": "user", "content": QUESTION}])


def ollama_chat(url: str, model: str, stream: bool) -> None:
    import ollama

    client = ollama.Client(host=url, headers={"authorization": f"Bearer {KEY}"})
    ask: Any = client.chat
    written = ask(model, [{"role": "user", "content": QUESTION}], stream=stream)
    _ = list(written) if stream else written


def cohere_chat(url: str, model: str, stream: bool) -> None:
    import cohere

    client = cohere.ClientV2(api_key=KEY, base_url=url)
    messages: Any = [{"role": "user", "content": QUESTION}]
    if stream:
        list(client.chat_stream(model=model, messages=messages))
    else:
        client.chat(model=model, messages=messages)


CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI-EXAMPLE",
    "AWS_SESSION_TOKEN": "session-token-example",
    "AWS_REGION": "eu-central-1",
}


def bedrock(url: str, model: str, stream: bool) -> None:
    import botocore.session

    session = botocore.session.get_session()
    client = session.create_client("bedrock-runtime", "eu-central-1", endpoint_url=url)
    ask = client.converse_stream if stream else client.converse
    written = ask(modelId=model, messages=[{"role": "user", "content": [{"text": QUESTION}]}])
    if stream:
        list(written["stream"])


SDKS: dict[str, Callable[[str, str, bool], None]] = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "azure-openai": azure,
    "anthropic-messages": anthropic_messages,
    "gemini": gemini,
    "gemini-interactions": interactions,
    "mistral": mistral,
    "ollama": ollama_chat,
    "cohere": cohere_chat,
}


unclosed = pytest.mark.filterwarnings("ignore::ResourceWarning")  # theirs, in the next lines


@unclosed
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", SDKS)
def test_the_vendors_client_sends_the_same(name: str, stream: bool) -> None:
    # Google's client leaves a colon in a path as it is, and it says the same either way.
    model = "model-1" if name == "azure-openai" else MODEL
    replied = replies(name)
    told = {"content-type": APIS[name].content_type}
    whole: Any = Tell([dragoman.decompose(replied, name)], told) if stream else replied
    with Upstream(whole, whole, strict=False, speaks=name) as upstream:
        SDKS[name](upstream.url, model, stream)
        gc.collect()
        with provider(upstream, name, dialect=name) as ours:
            asked = request_of(name) | {dialects.get(name).model_key: model}
            if stream:
                list(
                    ours.stream_request({**asked, **({"stream": True} if APIS[name].flag else {})})
                )
            else:
                ours.request({k: v for k, v in asked.items() if k != "stream"})
    theirs, sent = upstream.seen
    assert unquote(theirs.path) == unquote(sent.path)
    assert theirs.query == sent.query
    header = APIS[name].header
    if name == "anthropic-messages":  # its newest client sends the key as a bearer token
        assert theirs.headers["authorization"] == f"Bearer {sent.headers[header]}"
    else:
        assert theirs.headers[header] == sent.headers[header]
    flags = [bool(seen.document.get("stream")) for seen in upstream.seen]
    assert flags == [stream and APIS[name].flag] * 2
    if name != "azure-openai":  # whose client leaves the model in the body as well
        assert ("model" in theirs.document) == ("model" in sent.document)


# -- AWS --------------------------------------------------------------------------------------


def verify(seen: Seen, url: str) -> None:
    """A signature, computed again by botocore from what arrived."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    algorithm, _, rest = seen.headers["authorization"].partition(" ")
    assert algorithm == "AWS4-HMAC-SHA256"
    parts = dict(part.split("=", 1) for part in rest.split(", "))
    names = parts["SignedHeaders"].split(";")
    scope = parts["Credential"].split("/")
    assert scope[0] == CREDENTIALS["AWS_ACCESS_KEY_ID"]
    assert scope[2:] == ["eu-central-1", "bedrock", "aws4_request"]
    known = Credentials(
        CREDENTIALS["AWS_ACCESS_KEY_ID"],
        CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        CREDENTIALS["AWS_SESSION_TOKEN"],
    )
    request = AWSRequest(
        "POST", url, headers={name: seen.headers[name] for name in names}, data=seen.body
    )
    request.context["timestamp"] = seen.headers["x-amz-date"]
    signer = SigV4Auth(known, "bedrock", "eu-central-1")
    canonical = signer.canonical_request(request)
    signature = signer.signature(signer.string_to_sign(request, canonical), request)
    assert signature == parts["Signature"]
    assert seen.headers["x-amz-security-token"] == CREDENTIALS["AWS_SESSION_TOKEN"]


ARN = "arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.model-1:0"


@unclosed
@pytest.mark.parametrize("model", [MODEL, ARN])
@pytest.mark.parametrize("stream", [False, True])
def test_a_request_to_bedrock_is_signed_as_amazon_signs_it(
    stream: bool, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in CREDENTIALS.items():
        monkeypatch.setenv(variable, value)
    name = "bedrock-converse"
    replied: Any = replies(name)
    if stream:
        told = {"content-type": APIS[name].content_type}
        replied = Tell([dragoman.decompose(replied, name)], told)
    with Upstream(replied, replied, strict=False, speaks=name) as upstream:
        bedrock(upstream.url, model, stream)
        gc.collect()
        with Provider(name, url=upstream.url, auth="aws", model=model) as ours:
            if stream:
                list(ours.stream([{"role": "user", "content": QUESTION}]))
            else:
                ours.create([{"role": "user", "content": QUESTION}])
    theirs, sent = upstream.seen
    assert sent.path == theirs.path
    assert sent.path.endswith("/converse-stream" if stream else "/converse")
    for seen in (theirs, sent):
        verify(seen, upstream.url + seen.path)


def test_requests_to_amazons_hosts_are_signed_and_to_others_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable, value in CREDENTIALS.items():
        monkeypatch.setenv(variable, value)
    bedrock = dialects.get("bedrock")
    for host in ("bedrock-runtime.us-west-2.amazonaws.com", "bedrock-runtime.us-west-2.api.aws"):
        signer = resolve(bedrock, f"https://{host}", None, None).sign
        assert isinstance(signer, AwsSigner)
        assert signer._region == "us-west-2"
    for host in ("amazonaws.com.example.org", "notamazonaws.com", "localhost"):
        assert resolve(bedrock, f"https://{host}", None, None).sign is None
    usual = resolve(bedrock, None, None, None)
    assert usual.host == "bedrock-runtime.eu-central-1.amazonaws.com"
    assert isinstance(usual.sign, AwsSigner)
    chinese = resolve(bedrock, None, None, None, settings={"region": "cn-north-1"})
    assert chinese.host == "bedrock-runtime.cn-north-1.amazonaws.com.cn"


def test_credentials_that_cannot_be_had_are_an_error_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from botocore.credentials import Credentials
    from botocore.exceptions import CredentialRetrievalError

    def refuse(_: object) -> None:
        raise CredentialRetrievalError(provider="sso", error_msg=CREDENTIALS["AWS_SESSION_TOKEN"])

    for variable, value in CREDENTIALS.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr(Credentials, "get_frozen_credentials", refuse)
    model = Provider("bedrock", url="http://127.0.0.1:1", auth="aws", model=MODEL)
    with model, pytest.raises(AuthenticationFailed, match="CredentialRetrievalError") as caught:
        model.create([{"role": "user", "content": "Hi"}])
    assert CREDENTIALS["AWS_SESSION_TOKEN"] not in str(caught.value)


def test_the_type_of_an_error_of_bedrock_is_in_a_header() -> None:
    denied = {"x-amzn-errortype": "AccessDeniedException:http://internal.amazon.com/"}
    with (
        Upstream(Say(400, {"message": "No."}, denied), strict=False) as upstream,
        provider(upstream, "bedrock-converse") as model,
        pytest.raises(PermissionDenied),
    ):
        model.create([{"role": "user", "content": "Hi"}])


def test_the_credentials_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in CREDENTIALS.items():
        monkeypatch.setenv(variable, value)

    def echo(seen: Seen) -> Say:
        return Say(500, {"message": " ".join(seen.headers.values())})

    with Upstream(echo, strict=False) as upstream:
        model = Provider("bedrock", url=upstream.url, auth="aws", model=MODEL)
        with model, pytest.raises(ServerFailed) as caught:
            model.create([{"role": "user", "content": "Hi"}])
    shown = str(caught.value) + str(caught.value.document) + repr(model) + str(vars(model))
    assert "[key]" in shown
    assert not any(CREDENTIALS[name] in shown for name in CREDENTIALS if name != "AWS_REGION")


# -- Google -----------------------------------------------------------------------------------


class Granted:
    """Credentials as google-auth gives them."""

    token: str | None = None
    expired = False
    quota_project_id = "quota"

    def __init__(self) -> None:
        self.count = 0

    @property
    def valid(self) -> bool:
        return self.token is not None

    def refresh(self, _: object) -> None:
        self.count += 1
        self.token = f"ya29.token-{self.count}"

    def before_request(self, *_: object) -> None: ...


@pytest.fixture
def granted(monkeypatch: pytest.MonkeyPatch) -> Granted:
    import google.auth

    found = Granted()
    monkeypatch.setattr(google.auth, "default", lambda **_: (found, "their-project"))
    return found


@pytest.mark.parametrize(
    ("name", "options", "path"),
    [
        ("vertex", {}, "projects/their-project/locations/global/publishers/google/models/m"),
        ("gemini", {"platform": "vertex", "settings": {"project": "p", "location": "eu"}},
         "projects/p/locations/eu/publishers/google/models/m"),
        ("anthropic", {"platform": "vertex", "settings": {"location": "us-east5"}},
         "projects/their-project/locations/us-east5/publishers/anthropic/models/m"),
    ],
)  # fmt: skip
def test_vertex_is_another_address_of_the_same_api(
    name: str, options: dict[str, Any], path: str, granted: Granted
) -> None:
    dialect = dialects.get(name).name
    verbs = {"gemini": "generateContent", "anthropic-messages": "rawPredict"}
    live = {"gemini": "streamGenerateContent", "anthropic-messages": "streamRawPredict"}
    script: list[Any] = [replies(dialect), Tell([dragoman.decompose(replies(dialect), dialect)])]
    with (
        Upstream(*script, strict=False, speaks=dialect) as upstream,
        Provider(name, url=upstream.url, auth="google", model="m", **options) as model,
    ):
        model.create([{"role": "user", "content": QUESTION}])
        list(model.stream([{"role": "user", "content": QUESTION}]))
    first, second = upstream.seen
    assert first.path.endswith(f"/{path}:{verbs[dialect]}")
    assert second.path.endswith(f"/{path}:{live[dialect]}")
    assert [seen.headers["authorization"] for seen in upstream.seen] == ["Bearer ya29.token-1"] * 2
    assert first.headers["x-goog-user-project"] == "quota"
    assert "model" not in first.document
    if dialect == "anthropic-messages":
        assert first.document["anthropic_version"] == "vertex-2023-10-16"
        assert second.document["stream"] is True
        assert "anthropic-version" not in first.headers


def test_vertex_by_its_switch_and_by_its_hosts(
    granted: Granted, monkeypatch: pytest.MonkeyPatch
) -> None:
    gemini = dialects.get("gemini")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    assert resolve(gemini, None, None, None).host == "aiplatform.googleapis.com"
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "europe-west4")
    assert resolve(gemini, None, None, None).host == "europe-west4-aiplatform.googleapis.com"
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "eu")
    assert resolve(gemini, None, None, None).host == "aiplatform.eu.rep.googleapis.com"
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "false")
    url = "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/l"
    found = resolve(gemini, url, None, None)
    assert found.url_for("m", False) == f"{url}/publishers/google/models/m:generateContent"
    assert found.sign is not None
    foreign = "https://aiplatform.googleapis.com.example.org/v1/projects/p/locations/l"
    assert resolve(gemini, foreign, None, None).sign is None


@unclosed
def test_the_vendors_clients_send_the_same_to_vertex(granted: Granted) -> None:
    import anthropic
    from google import genai

    known: Any = granted
    script = [replies("gemini")] * 2 + [replies("anthropic-messages")] * 2
    settings = {"project": "p", "location": "europe-west4"}
    with Upstream(*script, strict=False) as upstream:
        options = genai.types.HttpOptions(base_url=upstream.url)
        known.token = "ya29.token-1"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = genai.Client(
                vertexai=True,
                project="p",
                location="europe-west4",
                credentials=known,
                http_options=options,
            )
            theirs.models.generate_content(model="m", contents=QUESTION)
        with Provider(
            "vertex", url=upstream.url, auth="google", model="m", settings=settings
        ) as ours:
            ours.create([{"role": "user", "content": QUESTION}])
        client = anthropic.AnthropicVertex(
            project_id="p",
            region="europe-west4",
            access_token="ya29.token-1",
            base_url=f"{upstream.url}/v1",
            max_retries=0,
        )
        client.messages.create(
            model="m", max_tokens=9, messages=[{"role": "user", "content": QUESTION}]
        )
        with Provider(
            "anthropic",
            url=upstream.url,
            platform="vertex",
            auth="google",
            model="m",
            settings=settings,
        ) as ours:
            ours.create([{"role": "user", "content": QUESTION}])
    gc.collect()
    for first, second in (upstream.seen[:2], upstream.seen[2:]):
        assert first.path == second.path
        assert first.headers["authorization"] == second.headers["authorization"]
    bodies = [seen.document for seen in upstream.seen[2:]]
    assert all("anthropic_version" in body and "model" not in body for body in bodies)


# -- who signs --------------------------------------------------------------------------------


def test_a_function_may_sign_and_what_it_adds_does_not_show() -> None:
    def sign(url: str, body: bytes, headers: Mapping[str, str]) -> dict[str, str]:
        return {"Authorization": "Bearer entra-id-token", "x-length": str(len(body))}

    def echo(seen: Seen) -> Say:
        return Say(401, {"error": {"message": seen.headers["authorization"]}})

    with Upstream(echo, strict=False) as upstream:
        model = Provider(url=f"{upstream.url}/v1", auth=sign, model="m")
        with model, pytest.raises(AuthenticationFailed) as caught:
            model.create([{"role": "user", "content": "Hi"}])
    seen = upstream.seen[0]
    assert seen.headers["x-length"] == str(len(seen.body))
    assert seen.headers["authorization"] == "Bearer entra-id-token"
    assert "entra-id-token" not in str(caught.value)


@pytest.mark.parametrize(
    ("auth", "module", "extra"),
    [("aws", "botocore.session", "bedrock"), ("google", "google.auth", "vertex")],
)
def test_a_package_that_is_missing_is_named(
    auth: Any, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(dragoman.MissingExtra, match=rf"dragoman\[{extra}\]"):
        Provider("gemini", url=HOST, auth=auth, settings={"region": "r"})


# -- trying again -----------------------------------------------------------------------------


class Slept(list[float]):
    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


def again(upstream: Upstream) -> tuple[Provider, Slept]:
    slept = Slept()
    retries = Retries(3, sleep=slept)
    return Provider(url=f"{upstream.url}/v1", key=KEY, model="m", retries=retries), slept


HELLO: list[Any] = [{"role": "user", "content": "Hi"}]
BUSY = {"error": {"message": "Busy.", "type": "server_error", "param": None, "code": None}}


@pytest.mark.parametrize("way", ["whole", "stream", "async"])
def test_what_may_succeed_later_is_tried_again(way: str) -> None:
    good = replies("openai-chat")
    last: Any = Tell([dragoman.decompose(good, "openai-chat")]) if way == "stream" else good
    script = [Say(429, BUSY, {"retry-after": "7"}), Say(503, BUSY, {"retry-after-ms": "250"})]
    with Upstream(*script, Say(500, b""), last) as upstream:
        model, slept = again(upstream)
        with model:
            if way == "stream":
                assert list(model.stream(HELLO))
            elif way == "async":
                assert asyncio.run(within(model, {"model": "m", "messages": HELLO}))
            else:
                assert model.create(HELLO)
    assert slept == [7, 0.25, 2]
    assert len({seen.body for seen in upstream.seen}) == 1


def test_what_is_tried_again_is_signed_again() -> None:
    signed: list[str] = []

    def sign(url: str, body: bytes, headers: Mapping[str, str]) -> dict[str, str]:
        signed.append(f"Bearer token-{len(signed)}")
        return {"authorization": signed[-1]}

    with Upstream(Say(503, BUSY), replies("openai-chat")) as upstream:
        retries = Retries(1, sleep=Slept())
        url = f"{upstream.url}/v1"
        with Provider(url=url, model="m", auth=sign, retries=retries) as model:
            model.create(HELLO)
    assert [seen.headers["authorization"] for seen in upstream.seen] == signed
    assert len(signed) == 2


def test_nothing_is_tried_again_by_default() -> None:
    with Upstream(Say(503, BUSY)) as upstream:
        model = Provider(url=f"{upstream.url}/v1", key=KEY, model="m")
        with model, pytest.raises(Overloaded):
            model.create(HELLO)
    assert len(upstream.seen) == 1


@pytest.mark.parametrize(
    ("step", "error", "slept"),
    [
        (Say(429, BUSY, {"retry-after": "61"}), RateLimited, []),  # more than its patience
        (Say(400, {}), dragoman.providers.InvalidRequest, []),  # nothing would change
        (Say(503, BUSY, {"x-should-retry": "false"}), Overloaded, []),
        (Say(400, {}, {"x-should-retry": "true"}), dragoman.providers.InvalidRequest,
         [0.5, 1, 2]),
        (Say(500, BUSY), ServerFailed, [0.5, 1, 2]),
    ],
)  # fmt: skip
def test_what_is_not_tried_again_and_when_it_ends(
    step: Say, error: type[Exception], slept: list[float]
) -> None:
    with Upstream(step, forever=True, strict=False) as upstream:
        model, waited = again(upstream)
        with model, pytest.raises(error):
            model.create(HELLO)
    assert waited == slept
    assert len(upstream.seen) == len(slept) + 1


def test_a_connection_that_breaks_before_the_response_is_tried_again() -> None:
    slept = Slept()
    good = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
    with Raw(b"", good) as upstream:
        retries = Retries(1, sleep=slept)
        model = Provider("openai-chat", url=upstream.url, key=KEY, model="m", retries=retries)
        with model:
            assert model.request({"messages": HELLO}).document == {}
    assert slept == [0.5]


def test_a_stream_that_has_begun_is_not_tried_again() -> None:
    stream = dragoman.decompose(replies("openai-chat"), "openai-chat")
    with Upstream(Tell([stream[:200]], breaks=True), strict=False) as upstream:
        model, slept = again(upstream)
        with model, pytest.raises(dragoman.providers.ProviderError):
            list(model.stream(HELLO))
    assert not slept


def test_another_name_for_what_has_a_default_is_refused() -> None:
    """Else a request for one region would go to another without a word."""
    settings = {"project": "p", "region": "europe-west4"}
    with pytest.raises(dragoman.Unsupported, match="no setting 'region'; it has: location, p"):
        Provider("vertex", url=HOST, key=KEY, model="m", settings=settings)
    settings["location"] = settings.pop("region")
    Provider("vertex", url=HOST, key=KEY, model="m", settings=settings).close()
