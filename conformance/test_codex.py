"""Codex as it is sent: what others make of its requests is accepted, and every tool is callable."""

from __future__ import annotations

import json
from typing import Any

import pytest

import dragoman
import sdk
from dragoman import dialects
from dragoman.core.restoring import restore, tools_of, written
from dragoman.ledger import Ledger
from dragoman.model import Candidate, Message, Request, Response, Stop, ToolCall, ToolKind, Usage

from . import laws
from .reality import SHARED

SOURCE = "openai-responses"
TARGETS = ("anthropic-messages", "openai-chat", "gemini")


def requests() -> list[tuple[str, dict[str, Any]]]:
    """Bodies, and messages over a socket, which are the same but for their type."""
    found: list[tuple[str, dict[str, Any]]] = []
    for path in sorted((SHARED / "captures" / "codex").glob("*.json")):
        capture = json.loads(path.read_bytes())
        if capture["body"]:
            found.append((path.stem, capture["body"]))
        for number, message in enumerate(capture.get("websocket_messages", ()), 1):
            body = {key: value for key, value in message.items() if key != "type"}
            found.append((f"{path.stem}-{number}", body))
    return found


REQUESTS = requests()
captured = pytest.mark.parametrize(("name", "body"), REQUESTS, ids=[name for name, _ in REQUESTS])


def test_there_are_captures() -> None:
    kinds = {tool["type"] for _, body in REQUESTS for tool in body["tools"]}
    assert len(REQUESTS) >= 10
    assert {"function", "namespace", "custom", "tool_search"} <= kinds


@captured
def test_the_same_dialect_is_exact(name: str, body: dict[str, Any]) -> None:
    result = dragoman.convert(body, source=SOURCE, target=SOURCE)
    assert laws.exact(result.document, body)
    assert not result.losses


@captured
@pytest.mark.parametrize("target", TARGETS)
def test_what_is_written_is_accepted(name: str, body: dict[str, Any], target: str) -> None:
    result = dragoman.convert(body, source=SOURCE, target=target)
    assert sdk.problems(target, "request", result.document) == []
    problems = dragoman.check(result.document, target)
    if body.get("previous_response_id"):  # the calls are at the server, and the ledger says so
        assert any(loss.what == "previous_id" for loss in result.losses)
        problems = [problem for problem in problems if problem.rule != "orphan-result"]
    assert problems == []


@captured
@pytest.mark.parametrize("target", TARGETS)
def test_every_tool_is_callable(name: str, body: dict[str, Any], target: str) -> None:
    """A model that calls each tool as it is written calls the tool that the client has."""
    tree = dragoman.read(body, SOURCE)
    assert isinstance(tree, Request)
    log = Ledger()
    back = dialects.get(target).read(dialects.get(target).write(tree, log), "request")
    assert isinstance(back, Request)
    offered = {tool.name for tool in back.tools or ()}
    given = {pair: name for name, pair in log.tool_names.items()}
    called, wanted = [], []
    for tool in tools_of(tree):
        if tool.kind == "hosted":
            continue  # of the provider, and reported as dropped
        call = ToolCall("c", tool.name, "{}", tool.kind, namespace=tool.namespace)
        written_name = given.get((tool.namespace, tool.name), tool.name)
        assert written_name in offered, tool.name
        arguments = "{}"
        if tool.kind == "custom":
            call = ToolCall("c", tool.name, "a\nb", "custom", namespace=tool.namespace)
            arguments = '{"input":"a\\nb"}'
        wanted.append(call)
        called.append(ToolCall("c", written_name, arguments))
    assert len({call.name for call in called}) == len(called)
    custom = written(tree, log.tool_names, "custom")
    search = written(tree, log.tool_names, "search")
    got = restore(response(called), log.tool_names, custom, search=search)
    assert got == response(wanted)


def response(calls: list[ToolCall]) -> Response:
    return Response("r", "m", (Candidate(Message("assistant", tuple(calls))),))


# -- a reply that calls every tool ----------------------------------------------------------

UPSTREAMS = (
    "anthropic-messages", "openai-chat", "gemini", "mistral", "ollama", "bedrock-converse",
    "cohere",
)  # fmt: skip
FREE = 'x\n"y"'  # what a freeform tool is given
ITEMS = {"function_call": "function", "custom_tool_call": "custom", "tool_search_call": "search"}


def every_call(
    body: dict[str, Any], exchange: dragoman.Exchange, asked: Request, upstream: str
) -> tuple[Response, list[tuple[str, str | None, str]]]:
    """A reply of the upstream that calls every tool it was given, and what the client calls them.

    Tools that the upstream runs itself are called by nobody.
    """
    tree = dragoman.read(body, SOURCE)
    assert isinstance(tree, Request)
    names = {theirs: ours for ours, theirs in exchange._names.items()}
    calls: list[ToolCall] = []
    meant: list[tuple[str, str | None, str]] = []
    for number, tool in enumerate(tools_of(tree)):
        if tool.kind == "hosted":
            continue
        name = names.get((tool.namespace, tool.name), tool.name)
        assert [given.name for given in asked.tools or ()].count(name) == 1, name
        kind: ToolKind = "function"
        arguments = '{"a":1}'
        if tool.kind == "custom":
            kind = "custom" if upstream == "openai-chat" else "function"
            arguments = FREE if kind == "custom" else json.dumps({"input": FREE})
        calls.append(ToolCall(f"call_{number}", name, arguments, kind))
        meant.append((tool.kind, tool.namespace, tool.name))
    spelled = Candidate(Message("assistant", tuple(calls)), Stop("tool-call"))
    return Response("r", "m", (spelled,), Usage(1, output=1)), meant


def called(document: Any) -> list[tuple[str, str | None, str]]:
    """The calls of a response as the client reads them, by an eye of its own."""
    items = document["output"]
    assert all(item["input"] == FREE for item in items if item["type"] == "custom_tool_call")
    return [
        (ITEMS[item["type"]], item.get("namespace"), item.get("name", "tool_search"))
        for item in items
    ]


@captured
@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_every_call_comes_back_as_the_client_names_it(
    name: str, body: dict[str, Any], upstream: str
) -> None:
    exchange = dragoman.Exchange(client=SOURCE, upstream=upstream, now=0)
    speaker = dialects.get(upstream)
    asked = speaker.read(exchange.request(body).document, "request")
    assert isinstance(asked, Request)
    reply, meant = every_call(body, exchange, asked, upstream)
    document = speaker.write(reply, Ledger(now=0))
    assert called(exchange.response(document).document) == meant
    transcoder, data = exchange.transcoder(), dragoman.decompose(document, upstream)
    pieces = [transcoder.feed(data[at : at + 7]) for at in range(0, len(data), 7)]
    spelled = b"".join(pieces) + transcoder.close()
    assert called(dragoman.collect(spelled, SOURCE).document) == meant
