"""Responses at rest that are measured: one reply, written as a response of four dialects.

As in ``workload``, everything comes from a fixed seed. ``small`` is a text of a few sentences;
``agentic`` is a turn of a coding agent: reasoning with its signature, a text and three calls.
Fields are those that the APIs send today, nulls included.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

from benchmarks import corpus, workload

Json: TypeAlias = Any
Received: TypeAlias = tuple[str, ...]

NOW = 1_760_000_000
"""The date that a response gets whose source has none; ``convert`` takes it as an argument."""
INPUT, CACHED, OUTPUT, REASONED = 12_345, 11_264, 512, 128
CHAT, ANTHROPIC, RESPONSES, GEMINI = workload.SPEAKERS


@dataclass(frozen=True)
class Reply:
    """What a model said, in nobody's format."""

    text: str
    reasoning: str = ""
    signature: str = ""
    calls: tuple[workload.Call, ...] = ()


def small(seed: int = workload.SEED) -> Reply:
    """A few sentences."""
    return Reply(corpus.prose(Random(seed), 30, 60))


def agentic(seed: int = workload.SEED) -> Reply:
    """A turn of a coding agent."""
    rng = Random(seed)
    calls = tuple(workload._call(rng, 1024) for _ in range(3))
    signature = "".join(rng.choices("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnop0123456789+/", k=720))
    return Reply(corpus.prose(rng), corpus.prose(rng, 80, 160), signature, calls)


def openai_chat(reply: Reply) -> Json:
    message: Json = {"role": "assistant", "content": reply.text, "refusal": None, "annotations": []}
    if reply.calls:
        message["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.text()}}
            for c in reply.calls
        ]
    reason = "tool_calls" if reply.calls else "stop"
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    usage = {
        "prompt_tokens": INPUT,
        "completion_tokens": OUTPUT,
        "total_tokens": INPUT + OUTPUT,
        "prompt_tokens_details": {"cached_tokens": CACHED, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": REASONED,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
    return {
        "id": "chatcmpl-CQ1bench",
        "object": "chat.completion",
        "created": NOW,
        "model": workload.MODEL,
        "choices": [choice],
        "usage": usage,
        "service_tier": "default",
        "system_fingerprint": None,
    }


def anthropic_messages(reply: Reply) -> Json:
    content: list[Json] = []
    if reply.reasoning:
        thinking = {"type": "thinking", "thinking": reply.reasoning}
        content.append({**thinking, "signature": reply.signature})
    content.append({"type": "text", "text": reply.text})
    content += [
        {"type": "tool_use", "id": c.id, "name": c.name, "input": c.arguments} for c in reply.calls
    ]
    usage = {
        "input_tokens": INPUT - CACHED,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": CACHED,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": OUTPUT,
        "service_tier": "standard",
    }
    return {
        "model": workload.MODEL,
        "id": "msg_01bench",
        "type": "message",
        "role": "assistant",
        "content": content,
        "stop_reason": "tool_use" if reply.calls else "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }


def openai_responses(reply: Reply) -> Json:
    output: list[Json] = []
    if reply.reasoning:
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        sealed = {"summary": summary, "encrypted_content": reply.signature}
        output.append({"id": "rs_bench", "type": "reasoning", **sealed})
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": reply.text}
    written = {"status": "completed", "content": [part], "role": "assistant"}
    output.append({"id": "msg_bench", "type": "message", **written})
    output += [
        {
            "id": f"fc_{c.id}",
            "type": "function_call",
            "status": "completed",
            "arguments": c.text(),
            "call_id": c.id,
            "name": c.name,
        }
        for c in reply.calls
    ]
    usage = {
        "input_tokens": INPUT,
        "input_tokens_details": {"cached_tokens": CACHED, "cache_write_tokens": 0},
        "output_tokens": OUTPUT,
        "output_tokens_details": {"reasoning_tokens": REASONED},
        "total_tokens": INPUT + OUTPUT,
    }
    return {
        "id": "resp_bench",
        "object": "response",
        "created_at": NOW,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "model": workload.MODEL,
        "output": output,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": "medium", "summary": "detailed"},
        "service_tier": "default",
        "store": False,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": usage,
        "user": None,
        "metadata": {},
    }


def gemini(reply: Reply) -> Json:
    parts: list[Json] = []
    if reply.reasoning:
        parts.append({"text": reply.reasoning, "thought": True})
    parts.append({"text": reply.text})
    parts += [
        {"functionCall": {"id": c.id, "name": c.name, "args": c.arguments}} for c in reply.calls
    ]
    if reply.signature and reply.calls:
        parts[-len(reply.calls)]["thoughtSignature"] = reply.signature
    content = {"parts": parts, "role": "model"}
    usage = {
        "promptTokenCount": INPUT,
        "candidatesTokenCount": OUTPUT - REASONED,
        "totalTokenCount": INPUT + OUTPUT,
        "cachedContentTokenCount": CACHED,
        "thoughtsTokenCount": REASONED,
    }
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": usage,
        "modelVersion": workload.MODEL,
        "responseId": "bench",
    }


SPEAKERS: dict[str, Callable[[Reply], Json]] = {
    CHAT: openai_chat,
    ANTHROPIC: anthropic_messages,
    RESPONSES: openai_responses,
    GEMINI: gemini,
}
WORKLOADS: dict[str, Callable[[], Reply]] = {"small": small, "agentic": agentic}


def wire(reply: Reply, dialect: str) -> bytes:
    """The reply as the bytes that a server sends."""
    doc = SPEAKERS[dialect](reply)
    return json.dumps(doc, separators=(",", ":"), ensure_ascii=False).encode()


# -- what a response says, read without any library ---------------------------------------------


def gist(doc: Json, dialect: str) -> list[Received]:
    """Texts and calls of a response. Reasoning is left out: not every dialect can hold it."""
    return [written for written in _READERS[dialect](doc) if written != ("text", "")]


def _chat(doc: Json) -> Iterator[Received]:
    message = doc["choices"][0]["message"]
    yield "text", message["content"] or ""
    for call in message.get("tool_calls") or ():
        function = call["function"]
        yield "call", call["id"], function["name"], _canonical(json.loads(function["arguments"]))


def _anthropic(doc: Json) -> Iterator[Received]:
    for block in doc["content"]:
        if block["type"] == "text":
            yield "text", block["text"]
        elif block["type"] == "tool_use":
            yield "call", block["id"], block["name"], _canonical(block["input"])


def _responses(doc: Json) -> Iterator[Received]:
    for item in doc["output"]:
        if item["type"] == "message":
            yield "text", "".join(part["text"] for part in item["content"])
        elif item["type"] == "function_call":
            yield "call", item["call_id"], item["name"], _canonical(json.loads(item["arguments"]))


def _gemini(doc: Json) -> Iterator[Received]:
    for part in doc["candidates"][0]["content"]["parts"]:
        if "functionCall" in part:
            call = part["functionCall"]
            yield "call", call["id"], call["name"], _canonical(call["args"])
        elif not part.get("thought"):
            yield "text", part["text"]


_READERS: dict[str, Callable[[Json], Iterator[Received]]] = {
    CHAT: _chat,
    ANTHROPIC: _anthropic,
    RESPONSES: _responses,
    GEMINI: _gemini,
}


def _canonical(value: Json) -> str:
    return json.dumps(value, sort_keys=True)
