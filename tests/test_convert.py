"""The public face: convert, read, write, join, formats, and the errors."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

import pytest

import dragoman
from dragoman import Unsayable, dialects, testing
from dragoman.model import History, Message, Params, Request, Text

ASK: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Hi"}],
}
THOUGHT: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "x", "signature": "s"}]},
        {"role": "user", "content": "Go on."},
    ],
}
ANSWER: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "Hello."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 2},
}


def test_bytes_are_parsed_and_values_taken() -> None:
    as_bytes = b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}'
    for doc in (as_bytes, bytearray(as_bytes), memoryview(as_bytes), ASK):
        result = dragoman.convert(doc, source="anthropic", target="chat")
        assert result.to_json() == (
            b'{"model":"m","max_completion_tokens":9,"messages":[{"role":"user","content":"Hi"}]}'
        )


def test_the_input_is_not_changed() -> None:
    before = repr(THOUGHT)
    for target in filter(lambda name: testing.speaks(name, "request"), dialects.names()):
        with suppress(dragoman.Unsayable):  # some dialects have no form for a plain reply
            dragoman.convert(THOUGHT, source="anthropic", target=target, carry=True)
    assert repr(THOUGHT) == before


def test_fail_on_a_kind_or_a_code() -> None:
    for fail_on in ({"dropped"}, {"reasoning.signature"}, ["reasoning", "moved"]):
        with pytest.raises(dragoman.Lossy) as caught:
            dragoman.convert(THOUGHT, source="anthropic", target="chat", fail_on=fail_on)
        assert caught.value.losses
        assert "/messages/1/content/0" in str(caught.value)
    dragoman.convert(THOUGHT, source="anthropic", target="chat", fail_on={"renamed"})
    with pytest.raises(dragoman.Lossy):
        dragoman.convert(THOUGHT, source="anthropic", target="chat", fail_on="dropped")
    with pytest.raises(dragoman.Unsupported, match=r"unknown \['droped'\]"):
        dragoman.convert(ASK, source="anthropic", target="chat", fail_on={"droped"})


def test_what_a_pure_function_cannot_know_is_injected() -> None:
    options: dict[str, Any] = {"source": "anthropic", "target": "chat", "facet": "response"}
    plain = dragoman.convert(ANSWER, **options)
    assert plain.document["created"] == 0
    assert [loss.what for loss in plain.losses] == ["response.created"]
    dated = dragoman.convert(ANSWER, **options, now=1_700_000_000.5)
    assert dated.document["created"] == 1_700_000_000
    nameless = {k: v for k, v in ANSWER.items() if k != "id"}
    fresh = dragoman.convert(nameless, **options, ids=lambda prefix: f"{prefix}-fresh")
    assert fresh.document["id"] == "chatcmpl-fresh"


def test_join_appends_the_answer() -> None:
    result = dragoman.join(ASK, ANSWER, dialect="anthropic")
    assert result.document["messages"] == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello."},
    ]
    assert not result.losses
    assert result.document["max_tokens"] == 9
    failed = {"type": "error", "error": {"type": "api_error", "message": "x"}}
    with pytest.raises(dragoman.Malformed, match="failed response"):
        dragoman.join(ASK, failed, dialect="anthropic")


def test_the_source_can_be_detected() -> None:
    doc = {"model": "m", "input": "Hi"}
    result = dragoman.convert(doc, target="chat")
    assert result.document["messages"] == [{"role": "user", "content": "Hi"}]
    with pytest.raises(dragoman.Unsupported, match="name it with source="):
        dragoman.convert({"x": 1}, target="chat")


def test_read_and_write() -> None:
    tree = dragoman.read(ASK, "anthropic")
    assert isinstance(tree, Request)
    assert tree.messages[0].content == (Text("Hi", at="/messages/0/content"),)
    history = History((Message("user", (Text("Hi"),)),))
    assert dragoman.write(history, "chat").document == [{"role": "user", "content": "Hi"}]
    with pytest.raises(dragoman.Unsupported, match="not a canonical tree"):
        dragoman.write("x", "chat")  # type: ignore[arg-type]


def test_unknown_dialects_and_facets_say_what_there_is() -> None:
    with pytest.raises(dragoman.Unsupported, match="did you mean 'anthropic'"):
        dragoman.read(ASK, "antropic")
    with pytest.raises(dragoman.Unsupported, match="no stream to read; it has: request, messages"):
        dragoman.read(ASK, "anthropic", facet="stream")


def test_formats_lists_what_exists() -> None:
    found = {form.name: form for form in dragoman.formats()}
    assert {"anthropic-messages", "openai-chat", "openai-responses", "native"} <= found.keys()
    assert found["openai-chat"].facets["request"] == ("read", "write")
    for form in found.values():
        assert form.facets
        assert form.spec


def deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


CYCLE: list[Any] = []
CYCLE.append(CYCLE)
BAD: dict[str, tuple[Any, str]] = {
    "not JSON": (b"{", "not JSON"),
    "not UTF-8": (b'"\xff"', "not JSON"),
    "NaN in bytes": (b'{"model": NaN}', "not JSON"),
    "a number too large": (b'{"temperature": 1e400}', "not JSON"),
    "deep bytes": (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
    "deep value": ({**ASK, "x": deep(5000)}, "nested too deeply"),
    "a cycle": ({**ASK, "x": CYCLE}, "nested too deeply"),
    "NaN": ({**ASK, "temperature": math.nan}, "not a JSON number"),
    "infinity": ({**ASK, "x": [math.inf]}, "not a JSON number"),
    "a set": ({**ASK, "x": {1}}, "got set"),
    "a tuple": ({**ASK, "x": (1,)}, "got tuple"),
    "keys that are no strings": ({**ASK, 1: 2}, "string keys"),
    "an endless integer": ({**ASK, "x": 10**5000}, "digits"),
    "a list": ([], "expected an object"),
    "JSON text as a string": ('{"model": "m"}', "as bytes"),
    "a wrong role": ({**ASK, "messages": [{"role": "wizard", "content": ""}]}, "unknown role"),
    "a role that is a list": ({**ASK, "messages": [{"role": []}]}, "expected a string"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("source", ["anthropic", "chat"])
def test_bad_input_is_malformed(case: str, source: str) -> None:
    doc, reason = BAD[case]
    with pytest.raises(dragoman.Malformed, match=reason):
        dragoman.convert(doc, source=source, target="responses")


def test_an_error_says_where() -> None:
    doc = {**ASK, "messages": [{"role": "user", "content": [{"type": "text", "text": 5}]}]}
    with pytest.raises(dragoman.Malformed) as caught:
        dragoman.read(doc, "anthropic")
    assert str(caught.value) == "expected a string, got an integer - at /messages/0/content/0/text"
    assert caught.value.at == "/messages/0/content/0/text"


@pytest.mark.parametrize("levels", [50, 100, 900, 980])
def test_deep_documents_are_carried_or_refused(levels: int) -> None:
    nested = b"[" * levels + b"]" * levels
    doc = b'{"model":"m","max_tokens":9,"x":' + nested + b',"messages":[]}'

    def there_and_back() -> bool:
        result = dragoman.convert(doc, source="anthropic", target="chat", carry=True)
        back = dragoman.convert(
            result.to_json(), source="chat", target="anthropic", capsule=result.capsule
        )
        return bool(back.to_json() == doc)

    def exact_or_refused() -> bool:
        try:
            return there_and_back()
        except dragoman.Malformed as problem:  # deeper than a Python program can walk
            return "nested too deeply" in str(problem)

    assert there_and_back() if levels <= 100 else exact_or_refused()


def test_gigantic_strings_pass() -> None:
    doc = {**ASK, "messages": [{"role": "user", "content": "x" * 20_000_000}]}
    assert len(dragoman.convert(doc, source="anthropic", target="chat").to_json()) > 20_000_000


def test_results_tell_what_they_lost() -> None:
    assert (
        repr(dragoman.convert(ASK, source="anthropic", target="chat")) == "<Result: nothing lost>"
    )
    lossy = dragoman.convert(THOUGHT, source="anthropic", target="chat")
    assert repr(lossy) == "<Result: 3 dropped>"


@pytest.mark.parametrize(
    ("arguments", "repeated"),
    [
        ('{"a":1,"a":2}', True),
        ('{"a":1, "a" :2}', True),
        ('{"a" :"\\":", "a" :1}', True),
        ('{"a":{"b":1,"b":2}}', True),
        ('{"a":[{"b":1,"b":2}]}', True),
        ('{"a":1,"\\u0061":2}', True),
        ('{"a" : 1, "b":2}', False),
        ('{"a":"\\":"}', False),
        ('{"a": 1.0, "b": [1, 2, {"c": ":"}]}', False),
        ('{"a\\u003a": "\\u003a"}', False),
    ],
)
def test_a_key_that_occurs_twice_is_said(arguments: str, repeated: bool) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    doc = {"model": "m", "max_tokens": 9, "messages": [{"role": "assistant", "tool_calls": [call]}]}
    losses = dragoman.convert(doc, source="chat", target="anthropic").losses
    assert any(loss.what == "tool_call.arguments" for loss in losses) == repeated


HALVES = rb"""{"model": "m", "max_tokens": 9, "messages": [
    {"role": "user", "content": [{"type": "text", "text": "cut \ud83d"}]},
    {"role": "assistant", "content": "\ude00 \ud83d\ude00 whole"},
    {"role": "user", "content": "Bye"}]}"""


def test_lone_surrogates_come_back_in_the_same_dialect() -> None:
    for doc in (HALVES, json.loads(HALVES)):
        for name in ("anthropic", "chat"):
            result = dragoman.convert(doc, source=name, target=name)
            assert not result.losses
            assert json.loads(result.to_json()) == json.loads(HALVES)
            assert b"\\ud83d" in result.to_json()


@pytest.mark.parametrize("target", ["chat", "gemini", "responses", "bedrock", "mistral", "ollama"])
def test_lone_surrogates_are_reported_elsewhere_and_no_text_has_them(target: str) -> None:
    result = dragoman.convert(HALVES, source="anthropic", target=target, carry=True)
    written = [loss for loss in result.losses if loss.what == "text.surrogate"]
    assert [loss.path for loss in written] == ["/messages/0/content/0/text", "/messages/1/content"]
    assert {loss.kind for loss in written} == {"approximated"}
    text = result.to_json().decode()
    assert "cut \ufffd" in text
    assert "\ufffd \U0001f600 whole" in text
    same = dragoman.convert(
        result.to_json(), source=target, target="anthropic", capsule=result.capsule
    )
    assert json.loads(same.to_json()) == json.loads(HALVES)


def test_what_else_is_wrong_is_not_hidden_by_lone_surrogates() -> None:
    for bad in (
        rb'{"a": "\ud83d", "b": NaN}',
        rb'{"a": "\ud83d", "b": 1e400}',
        rb'{"a": "\ud83d"',
        b'{"a": "\\ud83d", "b": "\xff"}',
        b'{"a": "\\ud83d", "b": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    ):
        with pytest.raises(dragoman.Malformed):
            dragoman.convert(bad, source="chat", target="anthropic")


# -- the model --------------------------------------------------------------------------------


def asking(model: str | None, dialect: str = "openai-chat") -> dict[str, Any]:
    tree = Request(model, (Message("user", (Text("Hi"),)),), params=Params(max_tokens=9))
    return (
        dict(dragoman.write(tree, "gemini").document)
        if model is None
        else dict(dragoman.write(tree, dialect).document)
    )


NEEDY = [name for name in dialects.names() if dialects.get(name).needs_model]


def test_most_apis_need_a_model() -> None:
    assert {"anthropic-messages", "openai-chat", "openai-responses", "cohere", "ollama"} <= {*NEEDY}


@pytest.mark.parametrize("target", NEEDY)
def test_a_request_without_a_model_is_refused_until_one_is_named(target: str) -> None:
    document = asking(None)
    for nameless in (document, document | {"model": ""}, document | {"model": " "}):
        with pytest.raises(Unsayable, match=f"{target} requires a model"):
            dragoman.convert(nameless, source="gemini", target=target)
        named = dragoman.convert(nameless, source="gemini", target=target, model="m")
        tree = dragoman.read(named.document, target)
        assert isinstance(tree, Request)
        assert tree.model == "m"
        assert not [loss for loss in named.losses if loss.what == "model"]


def test_an_empty_model_is_refused() -> None:
    for empty in ("", "  "):
        with pytest.raises(dragoman.Unsupported, match="model= is empty"):
            dragoman.convert(asking("m"), source="openai-chat", target="gemini", model=empty)


@pytest.mark.parametrize("target", ["gemini", "bedrock-converse", "azure-openai"])
def test_an_empty_model_is_refused_where_none_is_needed(target: str) -> None:
    for empty in ("", "  "):
        with pytest.raises(Unsayable, match="the model is empty: give model= - at /model"):
            dragoman.convert(asking("m") | {"model": empty}, source="vllm", target=target)


@pytest.mark.parametrize("facet", ["messages", "response", "stream"])
def test_only_a_request_names_a_model(facet: str) -> None:
    with pytest.raises(dragoman.Unsupported, match="model= applies to the facet request"):
        dragoman.convert(
            [] if facet == "messages" else {"choices": []} if facet == "response" else b"",
            source="openai-chat", target="openai-chat", facet=facet, model="m",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("model", "source", "target", "place"),
    [
        ("claude-opus-4-5", "anthropic-messages", "openai-chat", "/model"),
        ("gpt-4.1", "openai-chat", "anthropic-messages", "/model"),
        ("gemini-3-flash", "gemini", "openai-responses", "/model"),
        ("us.anthropic.claude-opus-4-5-v1:0", "bedrock-converse", "gemini", "/modelId"),
        ("mistral-large-latest", "mistral", "cohere", "/model"),
    ],
)
def test_another_vendors_model_is_passed_on_and_reported(
    model: str, source: str, target: str, place: str
) -> None:
    result = dragoman.convert(asking(model, source), source=source, target=target)
    assert result.document["model"] == model
    (loss,) = [loss for loss in result.losses if loss.what == "model"]
    assert (loss.kind, loss.path) == ("moved", place)
    with pytest.raises(dragoman.Lossy):
        dragoman.convert(asking(model, source), source=source, target=target, fail_on={"model"})


@pytest.mark.parametrize(
    ("model", "target"),
    [
        ("gpt-4.1", "openai-responses"),
        ("claude-opus-4-5", "openrouter"),  # which serves everybody's
        ("claude-opus-4-5", "bedrock-converse"),
        ("my-own-model", "anthropic-messages"),  # nobody's that is known
    ],
)
def test_a_model_that_may_be_served_is_not_reported(model: str, target: str) -> None:
    result = dragoman.convert(asking(model), source="openai-chat", target=target)
    assert not [loss for loss in result.losses if loss.what == "model"]
