"""Design 002, whole: the example agent, with a scripted upstream that speaks three dialects."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dragoman
import places
import sdk
from upstream import Say, Upstream

AGENT = places.ROOT / "examples" / "agent.py"
MODELS = ["anthropic-messages:claude", "openai-responses:gpt", "openai-chat:local"]

# What the vendors' own replies look like, each with a call or a text.
CLAUDE = {
    "id": "msg_01",
    "type": "message",
    "role": "assistant",
    "model": "claude",
    "content": [
        {"type": "thinking", "thinking": "First, what is there?", "signature": "EqQBCkYIBxgC"},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "toolu_01", "name": "list_files", "input": {}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 500, "output_tokens": 40},
}
BUSY = {
    "type": "error",
    "error": {"type": "overloaded_error", "message": "Overloaded"},
    "request_id": "req_01",
}


def gpt(*output: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "resp_01",
        "object": "response",
        "created_at": 1794700000,
        "status": "completed",
        "model": "gpt",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "output": list(output),
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": {
            "input_tokens": 600,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 30,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 630,
        },
    }


def call(number: int, name: str, **arguments: Any) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": f"fc_0{number}",
        "call_id": f"call_0{number}",
        "name": name,
        "arguments": json.dumps(arguments),
        "status": "completed",
    }


LOCAL = {
    "id": "chatcmpl-01",
    "object": "chat.completion",
    "created": 1794700001,
    "model": "local",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "Zk3xQw9",
                        "type": "function",
                        "function": {"name": "add", "arguments": '{"numbers": [3, 4]}'},
                    }
                ],
            },
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {"prompt_tokens": 700, "completion_tokens": 20, "total_tokens": 720},
}
END = {
    "type": "message",
    "id": "msg_02",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Seven ships.", "annotations": [], "logprobs": []}],
}
SCRIPT = (
    CLAUDE,
    gpt(call(1, "read_file", path="ships.txt"), call(2, "read_file", path="../secret.txt")),
    LOCAL,
    Say(529, BUSY, {"retry-after": "7"}),
    gpt(END),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text("nobody's business")
    root = tmp_path / "harbour"
    root.mkdir()
    (root / "ships.txt").write_text("three galleys, four cogs")
    return root


def environment(monkeypatch: pytest.MonkeyPatch, upstream: Upstream) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", upstream.url)
    monkeypatch.setenv("OPENAI_BASE_URL", upstream.url + "/v1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


def test_002_the_agent_keeps_one_history_with_three_models(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    spec = importlib.util.spec_from_file_location("agent", AGENT)
    assert spec is not None
    assert spec.loader is not None
    agent = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(agent)
    with Upstream(*SCRIPT) as upstream:  # which holds every request against the vendors' types
        environment(monkeypatch, upstream)
        history = agent.main(["How many ships?", *MODELS, "--root", str(folder)])
    assert [seen.dialect for seen in upstream.seen] == [
        "anthropic-messages",
        "openai-responses",
        "openai-chat",
        "anthropic-messages",  # which is busy,
        "openai-responses",  # so the next one goes on
    ]

    # The history is OpenAI's from the first message to the last.
    assert sdk.problems("openai-chat", "messages", history) == []
    assert dragoman.check({"model": "m", "messages": history}, "openai-chat") == []
    results = {m["tool_call_id"]: m["content"] for m in history if m["role"] == "tool"}
    assert results == {
        "toolu_01": "ships.txt",
        "call_01": "three galleys, four cogs",
        "call_02": "[tool error] PermissionError: ../secret.txt is outside of the folder",
        "Zk3xQw9": "7",
    }
    assert history[-1] == {"role": "assistant", "content": "Seven ships."}

    # OpenAI heard the reply to Anthropic's call, and not what only Anthropic can read.
    heard = upstream.seen[1].document["input"]
    assert [i["call_id"] for i in heard if "call_id" in i] == ["toolu_01", "toolu_01"]
    assert "EqQBCkYIBxgC" not in upstream.seen[1].body.decode()
    # The server that speaks the history's own format got it as it is.
    assert upstream.seen[2].document["messages"] == history[:7]
    # Anthropic got its own reasoning back, and the failure as a failure.
    messages = upstream.seen[3].document["messages"]
    assert messages[1]["content"] == CLAUDE["content"]
    flags = [b.get("is_error") for m in messages[3:] for b in m["content"] if "tool_use_id" in b]
    assert flags == [None, True, None]

    printed = capsys.readouterr().out
    assert "[claude] is busy: 529: Overloaded (retry after 7 s, request req_01)" in printed
    assert printed.endswith("[gpt] Seven ships.\n")


def test_002_the_agent_runs_from_the_command_line(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    with Upstream(gpt(END)) as upstream:
        environment(monkeypatch, upstream)
        done = subprocess.run(
            [sys.executable, str(AGENT), "How many ships?", MODELS[1], "--root", str(folder)],
            capture_output=True,
            text=True,
        )
    assert (done.stdout, done.stderr, done.returncode) == ("[gpt] Seven ships.\n", "", 0)
