"""One conversation with reasoning, parallel calls, images and a failed tool, in every dialect."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from pathlib import Path

import dragoman

SAMPLE = Path(__file__).with_name("conversation.json")
SOURCE = "anthropic-messages"
COLOURS = {
    "dropped": "31", "approximated": "33", "invented": "35", "moved": "36", "renamed": "34",
    "title": "1", "quiet": "2", "good": "32",
}  # fmt: skip
COLOURED = sys.stdout.isatty() and "NO_COLOR" not in os.environ


def paint(text: str, colour: str) -> str:
    return f"\033[{COLOURS[colour]}m{text}\033[0m" if COLOURED else text


def main() -> None:
    original = SAMPLE.read_bytes()
    width = min(shutil.get_terminal_size((100, 40)).columns, 120)
    print(paint(f"{SAMPLE.name}: a request in {SOURCE}, {len(original)} bytes", "title"))
    print("It holds signed reasoning, three parallel tool calls, an image from the user, an image")
    print("from a tool, a tool that failed, and a cache mark.\n")
    for target in ("native", "openai-chat", "openai-responses"):
        show(original, target, width)
    print(paint("And an answer comes back the other way:", "title"))
    show_answer()


def show(original: bytes, target: str, width: int) -> None:
    print(paint(f"── {target} ".ljust(width, "─"), "title"))
    try:
        result = dragoman.convert(original, source=SOURCE, target=target, carry=True)
    except dragoman.Unsayable as refusal:
        print(f"refused: {refusal}\n")
        return
    print(excerpt(result.document, width))
    print_ledger(result.losses, width)
    home = dragoman.convert(result.to_json(), source=target, target=SOURCE, capsule=result.capsule)
    exact = json.dumps(home.document) == json.dumps(json.loads(original))
    size = len(json.dumps(result.capsule))
    verdict = (
        paint("exactly the original", "good") if exact else paint("NOT the original", "dropped")
    )
    print(f"and home again with a capsule of {size} bytes: {verdict}\n")


def excerpt(document: object, width: int) -> str:
    """The document, a line for each message, cut to the terminal."""
    lines: list[str] = []
    assert isinstance(document, dict)
    body = document.get("tree", document)
    for key, value in body.items():
        if isinstance(value, list) and key in ("messages", "input"):
            lines.append(f"  {key}:")
            lines += [f"    {json.dumps(item, ensure_ascii=False)}" for item in value]
        else:
            lines.append(f"  {key}: {json.dumps(value, ensure_ascii=False)}")
    return "\n".join(
        paint(line if len(line) <= width else f"{line[: width - 1]}…", "quiet") for line in lines
    )


def print_ledger(losses: tuple[dragoman.Loss, ...], width: int) -> None:
    if not losses:
        print(paint("nothing lost", "good"))
        return
    what = max(len(loss.what) for loss in losses)
    where = max(len(loss.path or "/") for loss in losses)
    for loss in losses:
        head = f"{loss.kind:<13}{loss.what:<{what + 2}}{loss.path or '/':<{where + 2}}"
        why = textwrap.wrap(loss.why, max(width - len(head), 24)) or [""]
        print(paint(head[:13], loss.kind) + head[13:] + why[0])
        for more in why[1:]:
            print(" " * len(head) + more)


def show_answer() -> None:
    answer = {
        "id": "chatcmpl-7",
        "object": "chat.completion",
        "created": 1794700000,
        "model": "gpt-6",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Istanbul, 14 degrees and light rain."},
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": 900,
            "completion_tokens": 12,
            "total_tokens": 912,
            "prompt_tokens_details": {"cached_tokens": 800},
        },
    }
    result = dragoman.convert(
        answer, source="openai-chat", target="anthropic-messages", facet="response"
    )
    print(json.dumps(result.document, indent=2, ensure_ascii=False))
    print_ledger(result.losses, 100)


if __name__ == "__main__":
    main()
