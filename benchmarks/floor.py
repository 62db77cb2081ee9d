"""The least that these conversions can cost in Python: each written by hand for one document.

python -m benchmarks.floor [--seconds 1]

A converter by hand knows the one document that it gets: it looks at no key that is not there, knows
no other shape, refuses nothing, names no loss, and is wrong for anything else. It decodes, builds
the document that ``dragoman.convert`` writes (which is checked) and encodes, by msgspec. Nothing in
Python can cost less; what dragoman costs above it is the price of taking any document, of the
ledger and of one code path for all pairs of dialects.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import msgspec  # noqa: E402

from benchmarks import answers, run, timing, workload  # noqa: E402

Json: TypeAlias = Any
Work: TypeAlias = Callable[[], bytes]

decode, encode = msgspec.json.Decoder().decode, msgspec.json.Encoder().encode
CHAT, ANTHROPIC, RESPONSES, GEMINI = workload.SPEAKERS


# -- requests -----------------------------------------------------------------------------------


def small(doc: Json) -> Json:
    """A short conversation of Chat for Anthropic."""
    system, *turns = doc["messages"]
    return {
        "model": doc["model"],
        "max_tokens": doc["max_completion_tokens"],
        "temperature": doc["temperature"],
        "system": system["content"],
        "messages": [{"role": turn["role"], "content": turn["content"]} for turn in turns],
    }


def agentic(doc: Json) -> Json:
    """The history of an agent of Chat for Anthropic, with the arguments parsed and no look back."""
    system, *turns = doc["messages"]
    out: list[Json] = []
    results: list[Json] | None = None
    for turn in turns:
        role, content = turn["role"], turn["content"]
        if role == "tool":
            if results is None:
                results = []
                out.append({"role": "user", "content": results})
            result = {"type": "tool_result", "tool_use_id": turn["tool_call_id"]}
            results.append({**result, "content": content})
            continue
        results = None
        if "tool_calls" not in turn:
            out.append({"role": role, "content": content})
            continue
        blocks: list[Json] = [] if content is None else [{"type": "text", "text": content}]
        for call in turn["tool_calls"]:
            function = call["function"]
            given = decode(function["arguments"])
            use = {"type": "tool_use", "id": call["id"], "name": function["name"]}
            blocks.append({**use, "input": given})
        out.append({"role": role, "content": blocks})
    tools = [
        {
            "name": function["name"],
            "description": function["description"],
            "input_schema": function["parameters"],
        }
        for function in (tool["function"] for tool in doc["tools"])
    ]
    head = {"model": doc["model"], "max_tokens": doc["max_completion_tokens"]}
    choice = {"type": doc["tool_choice"]}
    return {
        **head,
        "system": system["content"],
        "messages": out,
        "tools": tools,
        "tool_choice": choice,
    }


# -- responses ----------------------------------------------------------------------------------


def answered(doc: Json) -> Json:
    """A response of Chat for Anthropic."""
    choice, usage = doc["choices"][0], doc["usage"]
    message = choice["message"]
    content: list[Json] = [{"type": "text", "text": message["content"]}]
    for call in message.get("tool_calls", ()):
        function = call["function"]
        given = decode(function["arguments"])
        use = {"type": "tool_use", "id": call["id"], "name": function["name"]}
        content.append({**use, "input": given})
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    reasoned = usage["completion_tokens_details"]["reasoning_tokens"]
    return {
        "id": doc["id"],
        "type": "message",
        "role": "assistant",
        "model": doc["model"],
        "content": content,
        "stop_reason": "tool_use" if "tool_calls" in message else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage["prompt_tokens"] - cached,
            "output_tokens": usage["completion_tokens"],
            "cache_read_input_tokens": cached,
            "output_tokens_details": {"thinking_tokens": reasoned},
        },
    }


def cases() -> list[tuple[str, bytes, Callable[[Json], Json], str]]:
    """Name, document, the converter by hand, and the facet."""
    short, long = (workload.WORKLOADS[name]() for name in ("small", "agentic"))
    return [
        ("small", workload.wire(short, CHAT), small, "request"),
        ("agentic", workload.wire(long, CHAT), agentic, "request"),
        ("response, small", answers.wire(answers.small(), CHAT), answered, "response"),
        ("response, agentic", answers.wire(answers.agentic(), CHAT), answered, "response"),
    ]


def works(data: bytes, by_hand: Callable[[Json], Json], facet: str) -> list[Work]:
    """The yardstick, msgspec alone, the converter by hand, and dragoman."""
    ours = run.conversion if facet == "request" else run.answering
    return [
        run.baseline(data),
        lambda: encode(decode(data)),
        lambda: encode(by_hand(decode(data))),
        ours(data, CHAT, ANTHROPIC),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.floor", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0)
    asked = parser.parse_args()
    timing.pin()
    print("| openai-chat > anthropic-messages | msgspec alone | by hand | dragoman | bar |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, data, by_hand, facet in cases():
        made = works(data, by_hand, facet)
        if decode(made[2]()) != decode(made[3]()):
            raise AssertionError(f"{name}: the converter by hand writes something else")
        base, *taken = timing.race(made, seconds=asked.seconds * 4)
        ratios = " | ".join(f"{took.best / base.best:.2f}" for took in taken)
        bar = run.ANSWER_BAR if facet == "response" else run.BARS.get(name, 1.9)
        print(f"| {name} | {ratios} | {bar:.1f} |", flush=True)
    print(timing.noise())
    return 0


if __name__ == "__main__":
    sys.exit(main())
