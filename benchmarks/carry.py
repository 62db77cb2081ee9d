"""What a capsule costs beside the conversion that it is made with.

python -m benchmarks.carry [--quick] [--enforce]

A request of about 78 kB from each of the four great dialects: a coding agent with eight tools,
converted with and without ``carry=True`` side by side in one run, bytes in and bytes out. In
``few`` one turn of the assistant in ten has something that only its own dialect can hold (reasoning
that only its issuer can read, or an unknown field); in ``third`` every other one has, so that a
quarter to a third of all turns have an entry in the capsule. The ratio is that of the capsule
alone: 1.00 means that it takes as long as the conversion itself.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import orjson  # noqa: E402

import dragoman  # noqa: E402
from benchmarks import timing, workload  # noqa: E402

BAR = 1.0
SIZE = 45_000  # of the conversation; the system prompt and the tools come on top
TOOLS = 8
EVERY = {"few": 10, "third": 2}
"""Which turns of the assistant lose something; its turns are about half of all."""
SIGNATURE = "EqQBCkYIBxgCKkBd" * 20


def anthropic(doc: Any, every: int) -> None:
    replies = [message for message in doc["messages"] if message["role"] == "assistant"]
    for message in replies[::every]:
        if isinstance(message["content"], str):
            message["content"] = [{"type": "text", "text": message["content"]}]
        signed = {"type": "thinking", "thinking": "I look.", "signature": SIGNATURE}
        message["content"].insert(0, signed)


def chat(doc: Any, every: int) -> None:
    replies = [message for message in doc["messages"] if message["role"] == "assistant"]
    for message in replies[::every]:
        message["reasoning_trace"] = SIGNATURE


def responses(doc: Any, every: int) -> None:
    items: list[Any] = []
    turns = 0
    for item in doc["input"]:
        if item.get("type") == "function_call" or item.get("role") == "assistant":
            before = items[-1] if items else {}
            if before.get("type") != "function_call" and before.get("role") != "assistant":
                if turns % every == 0:
                    items.append({"type": "reasoning", "id": f"rs_{len(items)}", "summary": [],
                                  "encrypted_content": SIGNATURE})  # fmt: skip
                turns += 1
        items.append(item)
    doc["input"] = items


def gemini(doc: Any, every: int) -> None:
    replies = [content for content in doc["contents"] if content["role"] == "model"]
    for content in replies[::every]:
        content["parts"][-1]["thoughtSignature"] = SIGNATURE


SIGN: dict[str, Callable[[Any, int], None]] = {
    "anthropic-messages": anthropic,
    "openai-chat": chat,
    "openai-responses": responses,
    "gemini": gemini,
}


def documents(source: str) -> dict[str, bytes]:
    script = workload.large(size=SIZE)
    plain = workload.wire(replace(script, tools=script.tools[:TOOLS]), source)
    out: dict[str, bytes] = {}
    for name, every in EVERY.items():
        doc = orjson.loads(plain)
        SIGN[source](doc, every)
        out[name] = orjson.dumps(doc)
    return out


def conversion(data: bytes, source: str, target: str, *, carry: bool) -> Callable[[], object]:
    def work() -> object:
        result = dragoman.convert(data, source=source, target=target, carry=carry)
        return result.to_json(), result.capsule

    return work


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--enforce", action="store_true", help="exit 1 where the bar is missed")
    options = parser.parse_args()
    timing.pin()
    seconds = 0.3 if options.quick else 2.0
    missed = 0
    print(f"the capsule by the conversion (bar {BAR:.2f})\n")
    print("| conversion | request | kB | capsule, kB | ratio | median |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for source in SIGN:
        for name, data in documents(source).items():
            for target in SIGN:
                if target == source:
                    continue
                works = [conversion(data, source, target, carry=carry) for carry in (False, True)]
                alone, both = timing.race(works, seconds=seconds)
                ratio = both.best / alone.best - 1
                missed += ratio > BAR
                result = dragoman.convert(data, source=source, target=target, carry=True)
                sizes = f"{len(data) / 1000:.1f} | {len(orjson.dumps(result.capsule)) / 1000:.1f}"
                middle = both.median / alone.median - 1
                print(f"| {source} > {target} | {name} | {sizes} | {ratio:.2f} | {middle:.2f} |")
    print(timing.noise())
    return 1 if options.enforce and missed else 0


if __name__ == "__main__":
    sys.exit(main())
