"""Recordings: what stands in them, and what they are for another vendor."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import recordings
from dragoman import Malformed, check, containers, dialects
from dragoman.containers import _codings, _wire
from dragoman.errors import Unsupported
from dragoman.model import Request, Text

NOW = 1_700_000_000.0


def spelled_yaml(value: Any) -> bytes:
    return str(yaml.safe_dump(value)).encode()


def spelled_json(value: Any) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()


def spelled_flows(value: Any) -> bytes:
    return b"".join(map(_codings.dump_flow, value))


FILES: dict[str, bytes] = {
    "vcr.yaml": spelled_yaml(recordings.vcr()),
    "packed.yaml": spelled_yaml(recordings.vcr(packs=True)),
    "vcr.json": spelled_json(recordings.vcr()),
    "ruby.yml": spelled_yaml(recordings.ruby()),
    "ruby.json": spelled_json(recordings.ruby()),
    "traffic.har": spelled_json(recordings.har()),
    "polly.har": spelled_json(recordings.polly()),
    "traffic.flow": spelled_flows(recordings.flows()),
}
LOADS: dict[str, Callable[[bytes], Any]] = {
    ".yaml": yaml.safe_load, ".yml": yaml.safe_load, ".json": json.loads, ".har": json.loads,
    ".flow": _codings.load_flows,
}  # fmt: skip
TARGETS = [n for n in dialects.names() if containers.is_addressed(n) and n != "openai-chat"]
names = pytest.mark.parametrize("name", FILES)


@names
def test_its_documents_are_found_with_their_places(name: str) -> None:
    opened = containers.open(FILES[name], name=name)
    found = [(d.dialect, d.facet) for d in opened]
    pair = [("openai-chat", "request"), ("openai-chat", "response")]
    assert found == [*pair, *pair, ("openai-chat", "request"), ("openai-chat", "error")]
    assert not opened.problems
    load = LOADS[name[name.rindex(".") :]]
    document = next(iter(containers.open(FILES[name], name=name)))
    body = load(FILES[name])
    for key in document.place("").split("/")[1:]:
        body = body[int(key)] if isinstance(body, list) else body[key]
    assert json.loads(body) == recordings.TALK[0].asked == document.value


WAYS = [("packed.yaml", target) for target in TARGETS] + [
    (name, target)
    for name in FILES
    for target in ("anthropic-messages", "openai-responses", "gemini", "bedrock-converse")
    if name != "packed.yaml"
]
"""Every target from one kind of file, and every kind of file to those that differ most."""


@pytest.mark.parametrize(("name", "target"), WAYS)
def test_it_is_written_as_if_another_vendor_had_been_asked(name: str, target: str) -> None:
    made = containers.convert(FILES[name], target=target, name=name)
    if (name, target) == ("vcr.json", "bedrock-converse"):
        (problem,) = made.problems
        assert "use YAML" in str(problem.error)
        return
    assert not made.problems
    kinds = {d.facet: d for d in containers.open(made.data, name=name)}
    spoken = type(dialects.get(target))
    for document in containers.open(made.data, name=name):
        known = dialects.get(document.dialect or "")
        assert isinstance(known, spoken) or isinstance(dialects.get(target), type(known))
        facet = document.facet or ""
        if target == document.dialect:
            assert not list(check(document.value, target, facet=facet))
    asked = dialects.get(target).read(kinds["request"].value, "request")
    assert isinstance(asked, Request)
    (said,) = asked.messages[-1].content
    assert isinstance(said, Text)
    assert said.text == "again"
    assert asked.model == "gpt-5"
    whole = containers.read(made.data, name)
    assert whole is not None
    assert whole.coding == containers.coding_of(FILES[name], name) or whole.coding == "json"
    for call in whole.kind.calls(whole.value):  # type: ignore[attr-defined]
        address = _wire.dialect_of(call.sent.url, "")
        assert (address is None) == (call.sent.data is None or call.sent.method == "GET")


@names
def test_no_secret_is_written(name: str) -> None:
    made = containers.convert(FILES[name], target="anthropic", name=name)
    for secret in (recordings.KEY, recordings.COOKIE, "0123456789abcdef", "org-of-somebody"):
        assert secret.encode() in FILES[name] or secret in ("0123456789abcdef",)
        assert secret.encode() not in made.data
        assert not any(secret in str(loss) for loss in made.losses)


@names
def test_the_same_dialect_is_the_same_file(name: str) -> None:
    made = containers.convert(FILES[name], target="openai-chat", name=name)
    assert made.data == FILES[name]
    assert not made.losses


@names
def test_the_same_input_gives_the_same_bytes(name: str) -> None:
    one, two = (containers.convert(FILES[name], target="gemini", name=name) for _ in range(2))
    assert one.data == two.data
    assert one.losses == two.losses


@names
def test_every_loss_has_a_place_in_the_file(name: str) -> None:
    made = containers.convert(FILES[name], target="anthropic", name=name)
    value = LOADS[name[name.rindex(".") :]](FILES[name])
    assert made.losses
    for loss in made.losses:
        inner = value
        for key in loss.path.split("/")[1:]:
            if isinstance(inner, str | bytes):
                break  # a body, which the pointer goes on into
            inner = inner[int(key)] if isinstance(inner, list) else inner[key]
    headers = [loss.why for loss in made.losses if loss.what == "http.header"]
    assert any("x-stainless-lang" in why for why in headers)
    assert any("openai-organization" in why or "set-cookie" in why for why in headers)


@names
def test_a_call_that_cannot_be_converted_stays_and_is_reported(name: str) -> None:
    load = LOADS[name[name.rindex(".") :]]
    data = FILES[name].replace(b'\\"Hi\\"', b"7     ").replace(b'"Hi"', b"7   ")
    assert data != FILES[name]
    load(data)
    made = containers.convert(data, target="anthropic", name=name)
    (problem,) = made.problems
    assert problem.at.endswith("/1")
    assert isinstance(problem.error, Malformed)
    assert problem.error.at.endswith("/messages/0/content")
    assert len(made.records) == 3


def test_a_model_is_named_in_requests_and_replies() -> None:
    made = containers.convert(
        FILES["traffic.har"], target="gemini", name="x.har", model="gemini-3-pro"
    )
    urls = [e["request"]["url"] for e in json.loads(made.data)["log"]["entries"]]
    base = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro"
    assert urls[0] == f"{base}:generateContent"
    assert urls[1] == f"{base}:streamGenerateContent?alt=sse"
    replies = [d.value for d in containers.open(made.data) if d.facet == "response"]
    assert [reply["modelVersion"] for reply in replies] == ["gemini-3-pro"] * 2


def test_the_date_of_a_reply_is_that_of_its_recording() -> None:
    anthropic = containers.convert(FILES["vcr.yaml"], target="anthropic", name="x.yaml")
    back = containers.convert(anthropic.data, target="openai-chat", name="x.yaml")
    reply = next(d for d in containers.open(back.data, name="x.yaml") if d.facet == "response")
    assert reply.value["created"] == NOW


def test_a_stream_of_gemini_may_be_an_array() -> None:
    parts: list[dict[str, Any]] = [
        {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]}
        for text in ("Hel", "lo")
    ]
    parts[-1]["candidates"][0]["finishReason"] = "STOP"
    value = recordings.vcr()
    call = value["interactions"][0]
    base = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro"
    call["request"]["uri"] = f"{base}:streamGenerateContent"
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    call["request"]["body"] = json.dumps(body)
    call["response"]["body"]["string"] = json.dumps(parts)
    del value["interactions"][1:]
    request, reply = containers.open(spelled_yaml(value), name="x.yaml")
    assert request.value["model"] == "gemini-3-pro"
    assert request.place("/model") == request.asks_stream == "/interactions/0/request/uri"
    texts = [part["text"] for part in reply.value["candidates"][0]["content"]["parts"]]
    assert "".join(texts) == "Hello"
    made = containers.convert(spelled_yaml(value), target="chat", name="x.yaml")
    assert not made.problems
    (asked, said) = containers.open(made.data, name="x.yaml")
    assert asked.value["stream"] is True
    assert said.value["choices"][0]["message"]["content"] == "Hello"


def test_a_page_of_a_proxy_is_an_error_of_the_target() -> None:
    value = recordings.vcr()
    del value["interactions"][1:]
    response = value["interactions"][0]["response"]
    response["status"], response["body"]["string"] = {"code": 502, "message": ""}, "<h1>Bad</h1>"
    opened = containers.open(spelled_yaml(value), name="x.yaml")
    assert len(list(opened)) == 1
    assert "status 502 that is not JSON" in str(opened.problems[0].error)
    made = containers.convert(spelled_yaml(value), target="anthropic", name="x.yaml")
    new = yaml.safe_load(made.data)["interactions"][0]["response"]
    assert new["status"]["code"] == 500
    assert json.loads(new["body"]["string"])["error"]["message"] == "<h1>Bad</h1>"


def test_the_way_home_says_the_same() -> None:
    for target in ("anthropic", "gemini", "responses", "bedrock", "mistral", "ollama"):
        there = containers.convert(FILES["vcr.yaml"], target=target, name="x.yaml")
        back = containers.convert(there.data, target="chat", name="x.yaml", model="gpt-5")
        assert not back.problems
        replies = [
            d.value for d in containers.open(back.data, name="x.yaml") if d.facet == "response"
        ]
        (call,) = replies[0]["choices"][0]["message"]["tool_calls"]
        assert json.loads(call["function"]["arguments"]) == {"city": "Pera"}
        assert replies[1]["choices"][0]["message"]["content"] == "Hello"


def test_without_a_call_of_a_model_it_is_refused() -> None:
    value = recordings.vcr()
    del value["interactions"][:3]
    with pytest.raises(containers.NoCall, match="no call of a model"):
        containers.convert(spelled_yaml(value), target="anthropic", name="x.yaml")


def test_a_dialect_without_an_address_has_no_recordings() -> None:
    with pytest.raises(Unsupported, match="cannot be written for functiongemma"):
        containers.convert(FILES["vcr.yaml"], target="functiongemma", name="x.yaml")


def test_polly_is_told_that_its_checksums_are_old() -> None:
    made = containers.convert(FILES["polly.har"], target="anthropic", name="x.har")
    assert [loss.path for loss in made.losses if loss.what == "container.field"] == [
        f"/log/entries/{index}/_id" for index in range(3)
    ]


def test_what_mitmproxy_itself_has_written() -> None:
    data = (Path(__file__).parent / "mitmproxy-11.flow").read_bytes()
    facets = [document.facet for document in containers.open(data)]
    assert facets == ["request", "response", "request", "response", "request", "error"]
    assert b"".join(map(_codings.dump_flow, _codings.load_flows(data))) == data
    made = containers.convert(data, target="anthropic")
    assert not made.problems
    assert recordings.KEY.encode() not in made.data
    before, after = _codings.load_flows(data), _codings.load_flows(made.data)
    same = {"version", "type", "id", "client_conn", "server_conn", "websocket", "error"}
    assert [{k: v for k, v in flow.items() if k in same} for flow in after] == [
        {k: v for k, v in flow.items() if k in same} for flow in before
    ]


# -- hostile input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "interactions: &a [*a]",
        "interactions: " + "[" * 2000 + "]" * 2000,
        "interactions: " + "[" * 500 + "]" * 500,
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(
            f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n"
            for i in range(12)
        )
        + "interactions: *m\n",
        "interactions: !!python/object/apply:os.system ['true']",
        "interactions: !ruby/object:Gem {}",
        "interactions: [}",
        "interactions: \x00",
        "interactions: [*nothing]",
    ],
)
def test_hostile_yaml_is_refused(text: str) -> None:
    with pytest.raises(Malformed, match=r"YAML|deep"):
        containers.convert(text.encode(), target="anthropic", name="x.yaml")


def test_merged_mappings_are_keys_like_any_other() -> None:
    assert _codings.load_yaml(b"a: &a {x: 1}\nb: {<<: *a}") == {
        "a": {"x": 1},
        "b": {"<<": {"x": 1}},
    }


@pytest.mark.parametrize(
    "scalar", ["2020-01-01", "1:30:00", "0x1F", "1_000", "yes", "on", "=", ".inf", "0o17", "NaN"]
)
def test_yaml_of_other_versions_is_text(scalar: str) -> None:
    assert _codings.load_yaml(f"a: {scalar}".encode()) == {"a": scalar}
    written = _codings.dump_yaml({"a": scalar}, b"")
    assert yaml.safe_load(written) == {"a": scalar}


def test_a_body_that_is_a_bomb_is_refused() -> None:
    import gzip

    value = recordings.vcr()
    response = value["interactions"][0]["response"]
    response["headers"]["content-encoding"] = ["gzip"]
    response["body"]["string"] = gzip.compress(b" " * 5_000_000)
    data = spelled_yaml(value)
    made = containers.convert(data, target="anthropic", name="x.yaml", limit=1_000_000)
    (problem,) = made.problems
    assert "more than 1,000,000 bytes" in str(problem.error)


def test_base64_that_is_none_is_reported() -> None:
    value = recordings.har()
    value["log"]["entries"][1]["response"]["content"]["text"] = "%%%"
    opened = containers.open(json.dumps(value).encode())
    assert len(list(opened)) == 4
    (problem,) = opened.problems
    assert "not base64" in str(problem.error)
    assert problem.at == "/log/entries/1"


@pytest.mark.parametrize("cut", range(0, 400, 7))
def test_a_truncated_dump_is_an_error(cut: int) -> None:
    data = FILES["traffic.flow"]
    with pytest.raises(Malformed):
        containers.convert(data[: len(data) - 1 - cut], target="anthropic", name="x.flow")


@pytest.mark.parametrize(
    "data",
    [
        b"5:",
        b"99999999999999:a,",
        b"3:1:a}",
        b"4:0:~]",
        b"3:abc?",
        b"1:x;",
        b"2:\xff\xfe;",
        b"3:abc#",
    ],
)
def test_what_is_no_dump_is_an_error(data: bytes) -> None:
    with pytest.raises(Malformed, match=r"mitmproxy|truncated"):
        containers.convert(data, target="anthropic", name="x.flow")


ODD: tuple[Any, ...] = (None, 7, "x", [7], {"x": 7})


def mangled(value: Any) -> Any:
    """The value with each of its parts replaced."""
    if isinstance(value, dict):
        for key in value:
            for odd in ODD:
                yield {**value, key: odd}
            for inner in mangled(value[key]):
                yield {**value, key: inner}
    elif isinstance(value, list) and value:
        for odd in ODD:
            yield [odd, *value[1:]]
        for inner in mangled(value[0]):
            yield [inner, *value[1:]]


def cut(value: Any) -> Any:
    """A file with its first call alone."""
    for inner in (value, value.get("log", {})):
        for key in ("interactions", "http_interactions", "entries"):
            if key in inner:
                del inner[key][1:]
    return value


@pytest.mark.parametrize(
    "make", [recordings.vcr, recordings.ruby, recordings.har, recordings.polly]
)
def test_a_damaged_recording_is_read_or_refused(make: Callable[[], Any]) -> None:
    for value in mangled(cut(make())):
        data = json.dumps(value).encode()
        list(containers.open(data))
        whole = containers.read(data)
        if whole is None or not whole.kind.is_rewritten:
            continue
        try:
            made = containers.convert(data, target="anthropic")
        except containers.NoCall:
            continue
        json.loads(made.data)


def test_a_damaged_dump_is_read_or_refused() -> None:
    for value in mangled(recordings.flows()[:1]):
        data = spelled_flows(value)
        try:
            list(containers.open(data, name="x.flow"))
            containers.convert(data, target="anthropic", name="x.flow")
        except (Malformed, Unsupported):
            continue
