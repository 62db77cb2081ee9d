"""The least that these conversions can cost in Python: each written by hand for one document.

python -m benchmarks.floor [--seconds 1]

A converter by hand knows the one document that it gets: it looks at no key that is not there, knows
no other shape, refuses nothing, names no loss, and is wrong for anything else. It decodes, builds
the document that ``dragoman.convert`` writes (which is checked) and encodes, by msgspec. Nothing in
Python can cost less; what dragoman costs above it is the price of taking any document, and of one
reader and one writer for each dialect.

For responses there is a second one, ``with checks``, which takes nothing for granted: it looks at
every type and every key, does not lose a key that an object has twice, and has a list of what is
lost. What it finds in order is still nothing but this one shape, for this one pair.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import msgspec  # noqa: E402

from benchmarks import answers, run, timing, workload  # noqa: E402
from dragoman.core.reading import only  # noqa: E402

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


ROOT_KEYS = only(
    *("id", "object", "created", "model", "choices", "usage", "service_tier", "system_fingerprint")
)
CHOICE_KEYS = only("index", "message", "logprobs", "finish_reason")
MESSAGE_KEYS = only("role", "content", "refusal", "annotations", "tool_calls")
CALL_KEYS, FUNCTION_KEYS = only("id", "type", "function"), only("name", "arguments")
USAGE_KEYS = ("prompt_tokens", "completion_tokens", "total_tokens")
DETAILS = {
    "prompt_tokens_details": "cached_tokens",
    "completion_tokens_details": "reasoning_tokens",
}
USUAL_USAGE = only(*USAGE_KEYS, *DETAILS)
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}").fullmatch
STOPS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}


def checked(doc: Json) -> Json:
    """The same with all that must be looked at before that is right, and a list of what is lost."""
    lost: list[tuple[str, str]] = []
    (choice,) = doc["choices"]
    message, usage = choice["message"], doc["usage"]
    text, calls, stop = message["content"], message.get("tool_calls", ()), choice["finish_reason"]
    name, model, usual = doc["id"], doc["model"], message["role"] == "assistant"
    usual = usual and ROOT_KEYS(doc) and CHOICE_KEYS(choice) and MESSAGE_KEYS(message)
    usual = usual and text.__class__ is name.__class__ is model.__class__ is str and bool(text)
    usual = usual and not (message["refusal"] or message["annotations"] or choice["logprobs"])
    if not usual or text.isspace() or doc["system_fingerprint"] is not None:
        raise ValueError("not as usual")
    lost += [("dropped", f"/{key}") for key in ("created", "service_tier") if doc[key] is not None]
    content: list[Json] = [{"type": "text", "text": text}]
    for call in calls:
        function = call["function"]
        called, made, given = call["id"], function["name"], function["arguments"]
        if not (CALL_KEYS(call) and FUNCTION_KEYS(function) and call["type"] == "function"):
            raise ValueError("not as usual")
        if not made.__class__ is called.__class__ is given.__class__ is str:
            raise ValueError("not as usual")
        value = decode(given)
        if not (NAME(made) and NAME(called)) or encode(value) != given.encode():
            raise ValueError("not as usual")
        content.append({"type": "tool_use", "id": called, "name": made, "input": value})
    asked, wrote, total = [usage[key] for key in USAGE_KEYS]
    cached, reasoned = [usage[outer][key] for outer, key in DETAILS.items()]
    counts = asked.__class__ is wrote.__class__ is cached.__class__ is reasoned.__class__ is int
    if not (counts and USUAL_USAGE(usage)) or asked + wrote != total:
        raise ValueError("not as usual")
    for outer, known in DETAILS.items():
        lost += [("dropped", f"/usage/{outer}/{key}") for key in usage[outer] if key != known]
    return {
        "id": name,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": STOPS[stop],
        "stop_sequence": None,
        "usage": {
            "input_tokens": asked - cached,
            "output_tokens": wrote,
            "cache_read_input_tokens": cached,
            "output_tokens_details": {"thinking_tokens": reasoned},
        },
    }


def cases() -> list[tuple[str, bytes, Callable[[Json], Json], str]]:
    """Name, document, the converter by hand, and the facet."""
    said, called = (answers.wire(answers.WORKLOADS[n](), CHAT) for n in ("small", "agentic"))
    short, long = (workload.WORKLOADS[name]() for name in ("small", "agentic"))
    return [
        ("small", workload.wire(short, CHAT), small, "request"),
        ("agentic", workload.wire(long, CHAT), agentic, "request"),
        ("response, small", said, answered, "response"),
        ("response, small, with checks", said, checked, "response"),
        ("response, agentic", called, answered, "response"),
        ("response, agentic, with checks", called, checked, "response"),
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
