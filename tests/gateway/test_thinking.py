"""Thinking with a tool loop whose reasoning is gone: never a request that Anthropic refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

import dragoman
from dragoman.gateway import Config, Gateway, Upstream
from gateways import post, running

MODEL = "claude-sonnet-4-5"
REPLY = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": MODEL,
    "content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn",
    "usage": {"input_tokens": 1, "output_tokens": 1},
}  # fmt: skip
SCHEMA = {"type": "object", "properties": {}}
FUNCTION = {"type": "function", "function": {"name": "look", "parameters": SCHEMA}}
CALL = {"type": "function", "function": {"name": "look", "arguments": "{}"}}
DOORS: dict[str, tuple[str, dict[str, Any]]] = {
    "openai-chat": ("/v1/chat/completions", {
        "model": MODEL, "reasoning_effort": "high", "tools": [FUNCTION],
        "messages": [{"role": "user", "content": "a"},
                     {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", **CALL}]},
                     {"role": "tool", "tool_call_id": "c1", "content": "14"}],
    }),
    "openai-responses": ("/v1/responses", {
        "model": MODEL, "reasoning": {"effort": "high"},
        "tools": [{"type": "function", "name": "look", "parameters": SCHEMA}],
        "input": [{"role": "user", "content": "a"},
                  {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
                  {"type": "function_call_output", "call_id": "c1", "output": "14"}],
    }),
    "gemini": (f"/v1beta/models/{MODEL}:generateContent", {
        "contents": [
            {"role": "user", "parts": [{"text": "a"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "look", "response": {"output": "14"}}}]}],
        "tools": [{"functionDeclarations": [{"name": "look"}]}],
        "generationConfig": {"thinkingConfig": {"thinkingBudget": 2000}},
    }),
    "ollama": ("/api/chat", {
        "model": MODEL, "think": True, "stream": False, "tools": [FUNCTION],
        "messages": [{"role": "user", "content": "a"},
                     {"role": "assistant", "content": "", "tool_calls": [
                         {"function": {"name": "look", "arguments": {}}}]},
                     {"role": "tool", "tool_name": "look", "content": "14"}],
    }),
}  # fmt: skip


class Recorder:
    """A server that gives one reply and keeps what it was sent."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.asked.append(json.loads(body))
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(REPLY).encode()})


def asked(path: str, document: dict[str, Any]) -> tuple[Any, str]:
    """What Anthropic is sent, and the losses that the client is told of."""
    server = Recorder()
    with running(server) as url:
        upstream = Upstream(dialect="anthropic-messages", url=url, key="k")
        with running(Gateway(Config(log="none", upstreams={"up": upstream}))) as front:
            reply = post(front, path, json.dumps(document).encode())
    assert reply.status == 200, reply.body
    return server.asked[-1], reply.headers.get("x-dragoman-losses", "")


@pytest.mark.parametrize("door", list(DOORS))
def test_a_loop_without_reasoning(door: str) -> None:
    sent, losses = asked(*DOORS[door])
    assert not dragoman.check(sent, dialect="anthropic-messages")
    assert "thinking" not in sent
    assert "dropped thinking" in losses


@pytest.mark.parametrize("signature", ["ZHJhZ20xZm9yZ2VkIGJ5IHNvbWVib2R5IGVsc2U=", "ZHJhZ20x"])
def test_a_loop_whose_reasoning_another_gateway_enclosed(signature: str) -> None:
    """Claude Code that came from another gateway: its block is not Anthropic's, nor ours."""
    thought = {"type": "thinking", "thinking": "Hm.", "signature": signature}
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "14"}
    sent, losses = asked("/v1/messages", {
        "model": MODEL, "max_tokens": 4000, "thinking": {"type": "enabled", "budget_tokens": 2000},
        "tools": [{"name": "look", "input_schema": SCHEMA}],
        "messages": [{"role": "user", "content": "a"},
                     {"role": "assistant", "content": [thought, call]},
                     {"role": "user", "content": [result]}],
    })  # fmt: skip
    assert not dragoman.check(sent, dialect="anthropic-messages")
    assert signature not in json.dumps(sent)
    assert "thinking" not in sent
    assert "dropped reasoning.signature" in losses
