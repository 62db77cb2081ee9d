"""One request and its reply: what the request became is undone in the reply."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import dragoman
import places
import sdk
from dragoman import Exchange, dialects
from dragoman.core.restoring import tools_of
from dragoman.core.statuses import KINDS, STATUSES, VAGUE
from dragoman.core.walk import meaning
from dragoman.model import (
    Candidate,
    Failure,
    Json,
    Message,
    Request,
    Response,
    Stop,
    Text,
    ToolCall,
    Usage,
)
from dragoman.testing import Document, load_corpus

CORPUS = load_corpus(places.CORPUS)
REQUESTS = [
    document
    for case in CORPUS
    for document in case.documents
    if document.facet == "request" and not document.degraded
]


def speaks(name: str) -> bool:
    """Whether a client or an upstream can be of a dialect: whole replies and streams."""
    facets = dialects.get(name).facets()
    both = ("read", "write")
    return all(facets.get(facet) == both for facet in ("request", "response", "stream", "error"))


APIS = [name for name in dialects.names() if speaks(name) and name != "native"]
UPSTREAMS = (
    "anthropic-messages", "openai-chat", "openai-responses", "gemini", "mistral",
    "bedrock-converse", "ollama", "cohere",
)  # fmt: skip
WITH_TOOLS = [
    document
    for document in REQUESTS
    if document.dialect in APIS
    and isinstance(tree := dragoman.read(document.body, document.dialect), Request)
    and any(tool.kind != "hosted" for tool in tree.tools or ())
]


def test_there_are_apis_and_requests_enough() -> None:
    assert len(APIS) >= 15
    assert len(WITH_TOOLS) >= 100


# -- names and kinds of tools -----------------------------------------------------------------


def calls_of(tree: Any) -> list[tuple[str | None, str, str, str]]:
    return [
        (block.namespace, block.name, block.kind, meaning(block).arguments)
        for candidate in tree.candidates
        for block in candidate.message.content
        if isinstance(block, ToolCall)
    ]


def written_names(document: Json, dialect: str) -> list[str]:
    """What the tools of a request are called on the wire, as its own reader sees them."""
    tree = dragoman.read(document, dialect)
    assert isinstance(tree, Request)
    return [tool.name for tool in tree.tools or () if tool.kind != "hosted"]


def reply_calling(names: list[str], upstream: str, custom: frozenset[str]) -> Json:
    """A reply of the upstream that calls each tool."""
    wraps = not can_be_freeform(upstream)
    calls = tuple(
        ToolCall(
            f"call{number:05d}", name, written(name in custom, wraps), kind(name, custom, wraps)
        )
        for number, name in enumerate(names)
    )
    message = Message("assistant", calls)
    candidate = Candidate(message, Stop("tool-call"))
    tree = Response("reply_1", "m", (candidate,), Usage(7, output=5), created=1)
    return dragoman.write(tree, upstream, now=1).document


FREEFORM = 'one\n"two" \\ \u00e9 \U0001f600'


def written(is_custom: bool, wraps: bool) -> str:
    if not is_custom:
        return '{"city":"Pera"}'
    return json.dumps({"input": FREEFORM}) if wraps else FREEFORM


def kind(name: str, custom: frozenset[str], wraps: bool) -> Any:
    return "custom" if name in custom and not wraps else "function"


def can_be_freeform(dialect: str) -> bool:
    return dialect in ("openai-chat", "openai-responses")


@pytest.mark.parametrize("document", WITH_TOOLS, ids=lambda d: d.name)
def test_calls_are_to_the_tools_that_the_client_defined(document: Document) -> None:
    """At rest and in a stream: names, namespaces and kinds are the client's."""
    asked = dragoman.read(document.body, document.dialect)
    assert isinstance(asked, Request)
    for upstream in UPSTREAMS:
        if upstream == document.dialect:
            continue
        exchange = Exchange(client=document.dialect, upstream=upstream, now=1)
        try:
            sent = exchange.request(document.body).document
        except dragoman.Unsayable:
            continue
        tools = {(t.namespace, t.name): t for t in tools_of(asked) if t.kind != "hosted"}
        names = written_names(sent, upstream)
        if not any(loss.what in ("tool", "tool_choice") for loss in exchange.losses):
            assert len(names) == len(tools), f"{upstream} got {names}"
        reply = reply_calling(names, upstream, exchange._custom)
        result = exchange.response(reply)
        back = dragoman.read(result.document, document.dialect, facet="response")
        called = calls_of(back)
        assert len(called) == len(names)
        for namespace, name, kind, arguments in called:
            # It is one that the client defined; a tool that was searched for is called by its
            # name as namespace, as earlier calls of it are.
            tool = tools.get((namespace, name)) or tools[None, name]
            if kind != tool.kind:  # a client that has only functions gets what it knows
                assert (kind, tool.kind) == ("function", "custom"), upstream
                assert json.loads(arguments) == {"input": FREEFORM}
            else:
                assert arguments == (FREEFORM if kind == "custom" else ANY)
        assert len({call[:2] for call in called}) == len(names)
        # In a stream they are the same.
        flow = exchange.transcoder()
        stream = flow.feed(dragoman.decompose(reply, upstream)) + flow.close()
        streamed = dragoman.collect(stream, document.dialect).document
        again = dragoman.read(streamed, document.dialect, facet="response")
        assert calls_of(again) == calls_of(back), upstream


ANY = '{"city":"Pera"}'


CODEX: Json = {
    "model": "m",
    "input": [{"role": "user", "content": "Patch it."}],
    "tools": [
        {"type": "custom", "name": "apply_patch", "description": "Patches.",
         "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}},
        {"type": "function", "name": "server.read_file", "parameters": {"type": "object"}},
    ],
}  # fmt: skip


def test_a_freeform_tool_and_an_illegal_name_come_back() -> None:
    exchange = Exchange(client="openai-responses", upstream="anthropic-messages", now=1)
    sent = exchange.request(CODEX).document
    patch, read = (tool["name"] for tool in sent["tools"])
    assert patch == "apply_patch"
    assert read.startswith("server_read_file_")
    reply = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [
            {"type": "tool_use", "id": "t1", "name": patch, "input": {"input": "*** Begin"}},
            {"type": "tool_use", "id": "t2", "name": read, "input": {"path": "a"}},
        ],
        "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 2},
    }  # fmt: skip
    first, second = exchange.response(reply).document["output"]
    assert (first["type"], first["name"], first["input"]) == (
        "custom_tool_call", "apply_patch", "*** Begin",
    )  # fmt: skip
    assert (second["type"], second["name"]) == ("function_call", "server.read_file")
    stream = dragoman.decompose(reply, "anthropic-messages")
    flow = exchange.transcoder()
    written = (
        b"".join(flow.feed(stream[i : i + 7]) for i in range(0, len(stream), 7)) + flow.close()
    )
    assert b"response.custom_tool_call_input.delta" in written
    assert b"server_read_file_" not in written
    got = dragoman.collect(written, "openai-responses").document["output"]
    assert [item["name"] for item in got] == ["apply_patch", "server.read_file"]
    assert got[0]["input"] == "*** Begin"
    assert flow.document is not None
    assert [item["type"] for item in flow.document["output"]] == [item["type"] for item in got]


# -- ids, settings, counts --------------------------------------------------------------------

HISTORY: Json = [
    {"role": "user", "content": "Weather?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "14 C"},
]


def test_an_id_that_is_made_up_is_none_of_the_conversation() -> None:
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    exchange = Exchange(client="openai-chat", upstream="gemini", now=1)
    exchange.request({"model": "m", "messages": HISTORY, "tools": [tool]})
    part = {"functionCall": {"name": "look", "args": {}}}
    content = {"role": "model", "parts": [part, part]}
    reply = {"candidates": [{"content": content, "finishReason": "STOP"}]}
    calls = exchange.response(reply).document["choices"][0]["message"]["tool_calls"]
    made = [call["id"] for call in calls]
    assert len({*made, "call_1"}) == 3
    flow = exchange.transcoder()
    stream = flow.feed(dragoman.decompose(reply, "gemini")) + flow.close()
    got = dragoman.collect(stream, "openai-chat").document["choices"][0]["message"]["tool_calls"]
    assert [call["id"] for call in got] == made


def test_replies_of_one_conversation_have_ids_of_their_own() -> None:
    """Bedrock names no reply, and Claude Code takes two replies with one id for one."""
    written = {"message": {"role": "assistant", "content": [{"text": "Yes."}]}}
    reply = {"output": written, "stopReason": "end_turn", "metrics": {"latencyMs": 1},
             "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}}  # fmt: skip
    history: Json = [{"role": "user", "content": "Hi"}]
    seen = set()
    for _ in range(3):
        exchange = Exchange(client="anthropic-messages", upstream="bedrock-converse")
        exchange.request({"model": "m", "max_tokens": 9, "messages": history})
        document = exchange.response(reply).document
        flow = exchange.transcoder()
        stream = flow.feed(dragoman.decompose(reply, "bedrock-converse")) + flow.close()
        assert dragoman.collect(stream, "anthropic-messages").document["id"] == document["id"]
        assert document["id"] not in seen
        seen.add(document["id"])
        history = [*history, {"role": "assistant", "content": document["content"]},
                   {"role": "user", "content": "And?"}]  # fmt: skip


ANSWER: Json = {
    "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes."},
                 "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
}  # fmt: skip


def test_the_settings_that_a_reply_repeats_are_the_clients() -> None:
    asked = CODEX | {"instructions": "Be brief.", "temperature": 0.5, "metadata": {"a": "b"}}
    exchange = Exchange(client="openai-responses", upstream="openai-chat", now=1)
    exchange.request(asked)
    result = exchange.response(ANSWER)
    for key in ("instructions", "temperature", "metadata", "tools"):
        assert result.document[key] == asked[key]
    assert not [loss for loss in result.losses if loss.what == "response.echo"]
    assert sdk.problems("openai-responses", "response", result.document) == []
    flow = exchange.transcoder()
    stream = flow.feed(dragoman.decompose(ANSWER, "openai-chat")) + flow.close()
    created = json.loads(stream.split(b"data: ")[1].split(b"\n")[0])
    assert created["response"]["instructions"] == "Be brief."
    assert dragoman.collect(stream, "openai-responses").document["tools"] == CODEX["tools"]


def test_settings_that_the_upstream_changed_are_reported() -> None:
    exchange = Exchange(client="openai-chat", upstream="openai-responses", now=1)
    request: Json = {"model": "m", "messages": HISTORY[:1], "temperature": 0.5}
    sent = exchange.request(request).document
    reply = dragoman.convert(
        ANSWER, source="openai-chat", target="openai-responses", facet="response", now=1
    ).document
    same = reply | {key: sent[key] for key in ("temperature",)}
    for key in ("instructions", "metadata", "top_p", "tools", "tool_choice", "parallel_tool_calls"):
        del same[key]
    assert not [x for x in exchange.response(same).losses if x.what == "response.echo"]
    (loss,) = [
        x for x in exchange.response(same | {"temperature": 1.0}).losses
        if x.what == "response.echo"
    ]  # fmt: skip
    assert "temperature" in loss.why


def test_a_stream_begins_with_an_estimate_of_input_tokens() -> None:
    exchange = Exchange(client="anthropic-messages", upstream="openai-chat", now=1)
    text = "word " * 400
    messages = [{"role": "user", "content": text}]
    exchange.request({"model": "m", "max_tokens": 9, "messages": messages, "stream": True})
    flow = exchange.transcoder()
    stream = flow.feed(dragoman.decompose(ANSWER, "openai-chat")) + flow.close()
    start = json.loads(stream.split(b"data: ")[1].split(b"\n")[0])
    assert start["message"]["usage"]["input_tokens"] == exchange.input_tokens
    assert 400 <= exchange.input_tokens <= 600
    assert [loss.kind for loss in flow.losses if loss.what == "stream.usage"] == ["invented"]
    usage = dragoman.collect(stream, "anthropic-messages").document["usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (9, 2)


def test_counts_are_for_those_who_ask() -> None:
    asked: Json = {"model": "m", "messages": HISTORY[:1], "stream": True}
    for options, wanted in (({}, 0), ({"stream_options": {"include_usage": True}}, 1)):
        exchange = Exchange(client="openai-chat", upstream="anthropic-messages", now=1)
        exchange.request(asked | options)
        flow = exchange.transcoder()
        reply = dragoman.convert(
            ANSWER, source="openai-chat", target="anthropic-messages", facet="response"
        ).document
        stream = flow.feed(dragoman.decompose(reply, "anthropic-messages")) + flow.close()
        assert stream.count(b'"prompt_tokens":9') == wanted


# -- errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize("client", APIS)
@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_errors_keep_their_kind(client: str, upstream: str) -> None:
    for status, expected in {**KINDS, 400: "invalid-request", 500: "server"}.items():
        failure = Failure(expected, "It did not work.")
        document = dragoman.write(failure, upstream).document
        result = Exchange(client=client, upstream=upstream).error(document, status)
        back = dragoman.read(result.document, client, facet="error")
        assert isinstance(back, Failure)
        assert "It did not work." in back.message
        if client == upstream:
            assert (result.status, result.document) == (status, document)
            continue
        kinds = STATUSES | dict(dialects.get(client).statuses)
        heard = dragoman.read(document, upstream, facet="error")
        assert isinstance(heard, Failure)
        if heard.kind not in VAGUE:
            expected = heard.kind  # the nearest that this upstream can say
        assert result.status == kinds[expected], (expected, result.status)


@pytest.mark.parametrize(
    "body", [b"<html>502 Bad Gateway</html>", b"", b'"a text"', b"[]", b"null", b"\xff\xfe"]
)
@pytest.mark.parametrize("client", APIS)
def test_whatever_came_instead_of_an_error_is_one(client: str, body: bytes) -> None:
    result = Exchange(client=client, upstream="openai-chat").error(body, 502)
    back = dragoman.read(result.document, client, facet="error")
    assert isinstance(back, Failure)
    assert back.message
    assert result.status == (502 if client == "openai-chat" and not back.message else 500)


def test_an_error_of_gemini_says_its_status() -> None:
    exchange = Exchange(client="gemini", upstream="openai-chat")
    for status in (*KINDS, 400, 500, 502):
        result = exchange.error({"error": {"message": "No.", "type": "x"}}, status)
        assert result.document["error"]["code"] == result.status


def test_a_failed_reply_has_the_status_of_its_error() -> None:
    exchange = Exchange(client="anthropic-messages", upstream="openai-chat")
    exchange.request({"model": "m", "max_tokens": 9, "messages": HISTORY[:1]})
    result = exchange.response({"error": {"message": "Slow down.", "type": "rate_limit_error"}})
    assert result.document["error"]["type"] == "rate_limit_error"
    assert result.status == 429
    assert exchange.response(ANSWER).status == 200


# -- nothing in between, and the next turn ----------------------------------------------------


def test_documents_of_one_dialect_pass_as_they_are() -> None:
    exchange = Exchange(client="openai-chat", upstream="openai-chat")
    asked = {"model": "m", "messages": [], "unknown": {"a": 1}}
    assert exchange.request(asked).document is asked
    assert exchange.response(ANSWER).document is ANSWER
    data = dragoman.decompose(ANSWER, "openai-chat")
    flow = exchange.transcoder()
    assert flow.feed(data) + flow.close() == data


def test_another_model() -> None:
    for upstream in ("openai-chat", "anthropic-messages"):
        exchange = Exchange(client="openai-chat", upstream=upstream, model="another")
        asked = {"model": "m", "messages": HISTORY, "unknown": 1}
        assert exchange.request(asked).document["model"] == "another"
        assert exchange.asked is asked
        assert asked["model"] == "m"


SIGNED: Json = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
    "content": [
        {"type": "thinking", "thinking": "I should look.", "signature": "EqQBCkYIBxgC"},
        {"type": "tool_use", "id": "t1", "name": "look", "input": {"city": "Pera"}},
    ],
    "stop_reason": "tool_use", "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 2},
}  # fmt: skip


@pytest.mark.parametrize("streams", [False, True])
def test_signed_reasoning_comes_back_in_the_next_turn(streams: bool) -> None:
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    asked = {"model": "claude-opus-4-5", "messages": HISTORY[:1], "tools": [tool], "max_tokens": 9}
    first = Exchange(client="openai-chat", upstream="anthropic-messages", now=1)
    first.request(asked)
    if streams:
        flow = first.transcoder()
        flow.feed(dragoman.decompose(SIGNED, "anthropic-messages"))
        flow.close()
        reply = flow.document
    else:
        reply = first.response(SIGNED).document
    assert reply is not None
    capsules = json.loads(json.dumps(first.capsules))
    assert list(capsules) == ["anthropic-messages"]
    message = reply["choices"][0]["message"]
    grown = [*HISTORY[:1], message, {"role": "tool", "tool_call_id": "t1", "content": "14 C"}]
    second = Exchange(client="openai-chat", upstream="anthropic-messages", capsules=capsules)
    sent = second.request(asked | {"messages": grown}).document
    assert sent["messages"][1]["content"][0] == SIGNED["content"][0]
    # To another upstream it does not go.
    other = Exchange(client="openai-chat", upstream="gemini", capsules=capsules)
    assert b"EqQBCkYIBxgC" not in other.request(asked | {"messages": grown}).to_json()


def test_an_exchange_can_be_used_again() -> None:
    exchange = Exchange(client="openai-responses", upstream="anthropic-messages", now=1)
    exchange.request(CODEX)
    exchange.request({"model": "m", "input": "Hi"})
    call = {"type": "tool_use", "id": "t1", "name": "apply_patch", "input": {"input": "x"}}
    (item,) = exchange.response(SIGNED | {"content": [call]}).document["output"]
    assert item["type"] == "function_call"


def broken(document: Json) -> Iterator[Json]:
    for key in document:
        yield {k: v for k, v in document.items() if k != key}
        yield document | {key: 7}


def test_bad_input_is_malformed() -> None:
    for client, upstream in (("openai-chat", "gemini"), ("openai-responses", "openai-chat")):
        exchange = Exchange(client=client, upstream=upstream, now=1)
        for document in (*broken(CODEX), 7, [], None, "x", b"{"):
            for call in (exchange.request, exchange.response):
                try:
                    call(document)
                except (dragoman.Malformed, dragoman.Unsayable):
                    continue


def test_a_reply_without_a_request_is_converted_all_the_same() -> None:
    exchange = Exchange(client="openai-responses", upstream="openai-chat", now=1)
    document = exchange.response(ANSWER).document
    assert document["output"][0]["content"][0]["text"] == "Yes."
    assert exchange.input_tokens == 0
    tree = dragoman.read(document, "openai-responses", facet="response")
    assert isinstance(tree, Response)
    (block,) = tree.candidates[0].message.content
    assert isinstance(block, Text)
    assert block.text == "Yes."


@pytest.mark.parametrize("upstream", ["anthropic-messages", "bedrock-converse"])
@pytest.mark.parametrize("changed", [False, True])
def test_claude_goes_on_thinking_in_a_tool_loop_if_its_signed_block_is_back(
    upstream: str, changed: bool
) -> None:
    """With a budget, the turn that calls must start with a signed block, or thinking is off."""
    asked: dict[str, Any] = {
        "model": "claude-sonnet-4-5",
        "reasoning_effort": "low",
        "messages": [{"role": "user", "content": "Look."}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
    }
    signed = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [
            {"type": "thinking", "thinking": "I look.", "signature": "c2lnbmVk"},
            {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    reply = dragoman.convert(signed, source="anthropic-messages", target=upstream, facet="response")
    first = Exchange(client="openai-chat", upstream=upstream)
    before = json.dumps(first.request(asked).document)
    written = first.response(reply.document).document["choices"][0]["message"]
    if changed:
        written["tool_calls"][0]["function"]["arguments"] = '{"a": 2}'
    asked["messages"] += [written, {"role": "tool", "tool_call_id": "t1", "content": "Seen."}]
    result = Exchange(client="openai-chat", upstream=upstream, capsules=first.capsules).request(
        asked
    )
    after = json.dumps(result.document)
    assert '"budget_tokens"' in before
    assert ('"budget_tokens"' in after, "c2lnbmVk" in after) == (not changed, not changed)
    assert (
        "thinking" in [loss.what for loss in result.losses if loss.kind == "dropped"]
    ) is changed
    assert dragoman.check(result.document, upstream) == []
