"""A chat in a page: the AI SDK's own client, with each upstream behind the gateway."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from ai_sdk import NODE, node
from dragoman.gateway.ui import request_of
from dragoman.model import Media, Reasoning, Text, ToolCall, ToolResult
from gateways import DOORS, chain, post

REPLIES = (
    {"reasoning": "Hm.", "signature": "c2ln", "text": "Let me look.",
     "calls": [{"name": "look", "arguments": {"city": "Pera"}},
               {"name": "look", "arguments": {"city": "Galata"}}], "when": {"model": "m"}},
    {"text": "14 degrees in both.", "when": {"model": "m"}},
    {"error": {"kind": "rate-limit", "message": "slow down"}, "when": {"model": "limited"}},
    {"text": "one two three four five", "fail_after": 3, "when": {"model": "failing"}},
)  # fmt: skip


def chat(version: int, url: str, model: str) -> dict[str, Any]:
    """What the client holds in the end."""
    run = subprocess.run(
        [node(), "chat.mjs", str(version), url, model, "How warm is it?"],
        cwd=NODE,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr.decode()[-2000:]
    return dict(json.loads(run.stdout))


@pytest.mark.node
@pytest.mark.parametrize("version", [5, 6, 7])
@pytest.mark.parametrize("upstream", list(DOORS))
def test_a_page_runs_tools(upstream: str, version: int) -> None:
    with chain(upstream, *REPLIES) as (url, model):
        held = chat(version, url, "m")
        assert held.get("error") is None
        parts = held["messages"][-1]["parts"]
        assert parts[-1]["text"] == "14 degrees in both."
        run = [part for part in parts if "toolCallId" in part]
        assert [(p["input"], p["output"]) for p in run] == [
            ({"city": "Pera"}, "14"),
            ({"city": "Galata"}, "14"),
        ]
        blocks = [b for m in model.asked[-1].messages for b in m.content]
        assert sum(isinstance(block, ToolCall) for block in blocks) == 2
        assert sum(isinstance(block, ToolResult) for block in blocks) == 2
        assert sum(isinstance(block, Media) for block in blocks) == 1
        signed = [b.signature.data for b in blocks if isinstance(b, Reasoning) and b.signature]
        if upstream not in ("openai-chat", "ollama", "gemini"):
            assert signed == ["c2ln"]


@pytest.mark.node
@pytest.mark.parametrize(("model", "told"), [("limited", "slow down"), ("failing", "failure")])
def test_a_page_hears_of_errors(model: str, told: str) -> None:
    with chain("anthropic-messages", *REPLIES) as (url, _):
        assert told in str(chat(6, url, model)["error"])


def test_a_whole_reply() -> None:
    with chain("openai-chat", *REPLIES) as (url, _):
        parts = [{"type": "text", "text": "Hi"}]
        body = {"model": "m", "stream": False, "messages": [{"role": "user", "parts": parts}]}
        reply = post(url, "/ui/chat", json.dumps(body).encode())
        assert reply.status == 200, reply.body
        assert json.loads(reply.body)["role"] == "assistant"
        reply = post(url, "/ui/chat", b'{"model": "m", "messages": [{"role": "x", "parts": []}]}')
        assert reply.status == 400
        assert json.loads(reply.body)["type"] == "error"


def test_a_message_with_steps_becomes_turns() -> None:
    look = {"type": "tool-look", "toolCallId": "c1", "state": "output-available", "input": {},
            "output": {"c": 14}}  # fmt: skip
    denied = {"type": "dynamic-tool", "toolName": "rm", "toolCallId": "c2", "input": {},
              "state": "output-denied", "approval": {"id": "a", "approved": False}}  # fmt: skip
    parts = [{"type": "step-start"}, {"type": "reasoning", "text": "Hm."}, look, denied,
             {"type": "step-start"}, {"type": "text", "text": "14."},
             {"type": "data-weather", "data": {}}]  # fmt: skip
    told = request_of({"id": "chat", "trigger": "submit-message", "model": "m", "system": "Hi.",
                       "messages": [{"id": "1", "role": "assistant", "parts": parts}]})  # fmt: skip
    first, results, last = told.pop("messages")
    assert told == {"model": "m", "system": "Hi."}
    assert [part["type"] for part in first["content"]] == ["reasoning", "tool-call", "tool-call"]
    assert [part["output"] for part in results["content"]] == [
        {"type": "json", "value": {"c": 14}},
        {"type": "error-text", "value": "Tool call execution denied."},
    ]
    assert last["content"] == [
        {"type": "text", "text": "14."},
        {"type": "data-weather", "data": {}},
    ]


def test_parts_that_are_not_for_the_model_are_reported() -> None:
    text, data = {"type": "text", "text": "Hi"}, {"type": "data-weather", "data": {"c": 14}}
    source = {"type": "source-url", "sourceId": "s", "url": "https://example.com"}
    begun = {"type": "tool-look", "toolCallId": "c1", "state": "input-streaming", "input": {}}
    messages = [{"role": "user", "parts": [text, data]},
                {"role": "assistant", "parts": [text, data, source, begun]},
                {"role": "user", "parts": [text]}]  # fmt: skip
    body = json.dumps({"model": "m", "stream": False, "messages": messages}).encode()
    with chain("openai-chat", {"text": "1"}, {"text": "2"}) as (url, model):
        reply = post(url, "/ui/chat", body, {"x-dragoman-ledger": "full"})
    assert reply.status == 200, reply.body
    ledger = json.loads(reply.headers["x-dragoman-ledger"])
    dropped = [loss["path"] for loss in ledger if loss["path"].startswith("/messages/")]
    assert dropped == ["/messages/0/content/1", *(f"/messages/1/content/{n}" for n in (1, 2, 3))]
    heard = [b for message in model.asked[-1].messages for b in message.content]
    assert [block.text for block in heard if isinstance(block, Text)] == ["Hi"] * len(heard)
