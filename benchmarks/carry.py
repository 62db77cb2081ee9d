"""What a capsule costs beside the conversion that it is made with.

python -m benchmarks.carry [--quick] [--enforce]

A request of about 80 kB from each of the four great dialects, converted with and without
``carry=True`` side by side in one run, bytes in and bytes out. ``plain`` is a coding agent of which
nearly nothing is lost; in ``signed`` each turn of the assistant has reasoning that only its issuer
can read, and an unknown field, so that each has an entry in the capsule. The ratio is that of the
capsule alone: 1.00 means that it takes as long as the conversion itself.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import orjson  # noqa: E402

import dragoman  # noqa: E402
from benchmarks import timing, workload  # noqa: E402

BAR = 1.0
SIZE = 60_000  # of the conversation; the system prompt and the tools come on top
SIGNATURE = "EqQBCkYIBxgCKkBd" * 20


def anthropic(doc: Any) -> None:
    for message in doc["messages"]:
        if message["role"] == "assistant":
            if isinstance(message["content"], str):
                message["content"] = [{"type": "text", "text": message["content"]}]
            signed = {"type": "thinking", "thinking": "I look.", "signature": SIGNATURE}
            message["content"].insert(0, signed)


def chat(doc: Any) -> None:
    for message in doc["messages"]:
        if message["role"] == "assistant":
            message["reasoning_trace"] = SIGNATURE


def responses(doc: Any) -> None:
    items: list[Any] = []
    for item in doc["input"]:
        if item.get("type") == "function_call" or item.get("role") == "assistant":
            before = items[-1].get("type") if items else None
            if before not in ("function_call", "reasoning"):
                items.append({"type": "reasoning", "id": f"rs_{len(items)}", "summary": [],
                              "encrypted_content": SIGNATURE})  # fmt: skip
        items.append(item)
    doc["input"] = items


def gemini(doc: Any) -> None:
    for content in doc["contents"]:
        if content["role"] == "model":
            content["parts"][-1]["thoughtSignature"] = SIGNATURE


SIGN: dict[str, Callable[[Any], None]] = {
    "anthropic-messages": anthropic,
    "openai-chat": chat,
    "openai-responses": responses,
    "gemini": gemini,
}


def documents(source: str) -> dict[str, bytes]:
    plain = workload.wire(workload.large(size=SIZE), source)
    doc = orjson.loads(plain)
    SIGN[source](doc)
    return {"plain": plain, "signed": orjson.dumps(doc)}


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
