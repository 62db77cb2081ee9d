"""Documents to try the page with."""

from __future__ import annotations

import json

from ..errors import Unsupported
from ..model import Json

_WEATHER = {"city": {"type": "string", "description": "e.g. Lisbon"}, "days": {"type": "integer"}}
AGENT: Json = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 4096,
    "temperature": 1.0,
    "top_k": 40,
    "thinking": {"type": "enabled", "budget_tokens": 2048},
    "metadata": {"user_id": "user-7f3a"},
    "system": [
        {
            "type": "text",
            "text": "You plan walks. Look up the weather before you suggest one.",
            "cache_control": {"type": "ephemeral"},
        }
    ],
    "tools": [
        {
            "name": "get_weather",
            "description": "The weather of the next days.",
            "input_schema": {"type": "object", "properties": _WEATHER, "required": ["city"]},
        }
    ],
    "messages": [
        {"role": "user", "content": "Is Saturday a good day for a walk in Lisbon, or in Porto?"},
        {
            "role": "assistant",
            "content": [
                {
                    "type": "thinking",
                    "thinking": "Two cities: I ask for both at once and compare.",
                    "signature": "RXhhbXBsZSBvZiBhIHNpZ25hdHVyZQ==",
                },
                {"type": "text", "text": "Let me look at both."},
                {
                    "type": "tool_use",
                    "id": "toolu_01",
                    "name": "get_weather",
                    "input": {"city": "Lisbon", "days": 3},
                },
                {
                    "type": "tool_use",
                    "id": "toolu_02",
                    "name": "get_weather",
                    "input": {"city": "Porto", "days": 3},
                },
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_01",
                    "content": "Sat: sunny, 24 °C, light wind",
                },
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_02",
                    "content": "503: the station of Porto does not answer",
                    "is_error": True,
                },
                {"type": "text", "text": "Lisbon is fine if Porto is not known."},
            ],
        },
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "Then Lisbon: Saturday is sunny, 24 °C."}],
        },
        {"role": "user", "content": "Where do I start?"},
    ],
}
BROKEN: Json = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 1024,
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "Hi"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "call 1", "name": "read file", "input": {"path": "a"}}
            ],
        },
        {"role": "user", "content": "Never mind the file."},
        {"role": "assistant", "content": [{"type": "text", "text": "All right. "}]},
    ],
}
CHAT: Json = {
    "model": "gpt-5",
    "messages": [
        {"role": "developer", "content": "Answer in one sentence."},
        {"role": "user", "name": "ana", "content": "What is 17 * 23?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_a",
                    "type": "function",
                    "function": {"name": "multiply", "arguments": '{"a": 17, "b": 23}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_a", "content": "391"},
    ],
    "seed": 7,
    "logit_bias": {"50256": -100},
    "max_completion_tokens": 200,
}


def _chunk(delta: Json, stop: str | None = None, **more: Json) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": stop}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1}
    return "data: " + json.dumps({**head, "model": "gpt-5", "choices": [choice], **more})


def _stream() -> str:
    words = [
        "Saturday",
        " is",
        " sunny",
        " in",
        " Lisbon",
        ":",
        " I",
        " look",
        " up",
        " a",
        " path.",
    ]
    call = {"index": 0, "id": "call_a", "type": "function"}
    lines = [_chunk({"role": "assistant", "content": ""})]
    lines += [_chunk({"content": word}) for word in words]
    named = {**call, "function": {"name": "find_walk", "arguments": ""}}
    lines.append(_chunk({"tool_calls": [named]}))
    for piece in ('{"city"', ': "Lis', 'bon", ', '"hours"', ": 3}"):
        lines.append(_chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}))
    usage = {"prompt_tokens": 42, "completion_tokens": 31, "total_tokens": 73}
    lines += [_chunk({}, "tool_calls", usage=usage), "data: [DONE]"]
    return "\n\n".join(lines) + "\n\n"


def _pretty(value: Json) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


_ALL = {
    "agent": ("Agent with reasoning and tools (Anthropic)", _pretty(AGENT)),
    "chat": ("Tool call (OpenAI Chat)", _pretty(CHAT)),
    "broken": ("Request that the API rejects (Anthropic)", _pretty(BROKEN)),
    "stream": ("Stream with a tool call (OpenAI Chat)", _stream()),
}


def listed() -> list[list[str]]:
    """The examples by name, each with its title."""
    return [[name, title] for name, (title, _) in _ALL.items()]


def text(name: str) -> str:
    if name not in _ALL:
        raise Unsupported(f"no example {name!r}")
    return _ALL[name][1]
