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
HOLDS = (
    "It holds signed reasoning, three parallel tool calls, an image from the user, an image from a"
    " tool, a tool that failed, and a cache mark."
)
WHOLE = ("native", "openai-chat", "openai-responses")
"""The dialects in which all of it is shown; of the others, the turn with the calls."""
COLOURS = {
    "dropped": "31", "approximated": "33", "invented": "35", "moved": "36", "renamed": "34",
    "title": "1", "quiet": "2", "good": "32",
}  # fmt: skip
COLOURED = sys.stdout.isatty() and "NO_COLOR" not in os.environ


def paint(text: str, colour: str) -> str:
    return f"\033[{COLOURS[colour]}m{text}\033[0m" if COLOURED else text


def main() -> None:
    original = SAMPLE.read_bytes()
    width = min(shutil.get_terminal_size((80, 40)).columns, 120)
    print(paint(f"{SAMPLE.name}: a request in {SOURCE}, {len(original)} bytes", "title"))
    for line in textwrap.wrap(HOLDS, width):
        print(line)
    print()
    for target in WHOLE:
        show(original, target, width)
    for known in dragoman.formats():
        if known.name not in WHOLE and "request" in known.facets:
            show_briefly(original, known.name, width)
    print(paint("And a response comes back the other way:", "title"))
    show_response("anthropic-messages", width)
    for known in dragoman.formats():
        if "request" not in known.facets and "response" in known.facets:
            show_response(known.name, width)
    print(paint("Formats that have neither hold a stored history:", "title"))
    for known in dragoman.formats():
        if "request" not in known.facets and "response" not in known.facets:
            show_history(known.name, width)


def show_briefly(original: bytes, target: str, width: int) -> None:
    """The turn with the calls, the losses by their kinds, and whether it comes back."""
    print(paint(f"── {target} ".ljust(width, "─"), "title"))
    try:
        result = dragoman.convert(original, source=SOURCE, target=target, carry=True)
    except dragoman.Unsayable as refusal:
        print("\n".join(textwrap.wrap(f"refused: {refusal}", width)) + "\n")
        return
    print(paint(cut(f"  {turn_with_calls(result.document)}", width), "quiet"))
    for kind in COLOURS:
        codes = dict.fromkeys(loss.what for loss in result.losses if loss.kind == kind)
        if codes:
            lines = textwrap.wrap(", ".join(codes), width - 13)
            print(paint(f"{kind:<13}", kind) + f"\n{'':13}".join(lines))
    if not result.losses:
        print(paint("nothing lost", "good"))
    print_way_home(original, result, target)


def turn_with_calls(document: object) -> str:
    """The first item that names the tool, of the shortest list that has one."""
    if isinstance(document, dict):
        body = document.get("tree", document)
        for value in body.values():
            for item in value if isinstance(value, list) else ():
                text = json.dumps(item, ensure_ascii=False)
                if "toolu_01" in text or ("get_weather" in text and "Istanbul" in text):
                    return text
    text = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)
    return text.replace("\n", " ")


def cut(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1]}…"


def show(original: bytes, target: str, width: int) -> None:
    print(paint(f"── {target} ".ljust(width, "─"), "title"))
    try:
        result = dragoman.convert(original, source=SOURCE, target=target, carry=True)
    except dragoman.Unsayable as refusal:
        print(f"refused: {refusal}\n")
        return
    print(excerpt(result.document, width))
    print_ledger(result.losses, width)
    print_way_home(original, result, target)


def print_way_home(original: bytes, result: dragoman.Result, target: str) -> None:
    same = dragoman.convert(result.to_json(), source=target, target=SOURCE, capsule=result.capsule)
    exact = json.dumps(same.document) == json.dumps(json.loads(original))
    size = len(json.dumps(result.capsule))
    verdict = (
        paint("exactly the original", "good") if exact else paint("NOT the original", "dropped")
    )
    print(f"and back, with a capsule of {size} bytes: {verdict}\n")


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
    return "\n".join(paint(cut(line, width), "quiet") for line in lines)


def print_ledger(losses: tuple[dragoman.Loss, ...], width: int) -> None:
    if not losses:
        print(paint("nothing lost", "good"))
        return
    for loss in losses:
        head = f"{loss.kind:<13}{loss.what} at {loss.path or '/'}"
        print(paint(head[:13], loss.kind) + head[13:])
        for line in textwrap.wrap(loss.why, width - 13):
            print(" " * 13 + line)


def show_response(target: str, width: int) -> None:
    print(paint(f"── {target} ".ljust(width, "─"), "title"))
    reply = {
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
    result = dragoman.convert(reply, source="openai-chat", target=target, facet="response")
    print(json.dumps(result.document, indent=2, ensure_ascii=False))
    print_ledger(result.losses, width)


def show_history(target: str, width: int) -> None:
    print(paint(f"── {target} ".ljust(width, "─"), "title"))
    history = [
        {"role": "user", "content": "What is the weather in Istanbul?"},
        {"role": "assistant", "content": "14 degrees and light rain."},
    ]
    result = dragoman.convert(history, source="openai-chat", target=target, facet="messages")
    for message in result.document:
        print(paint(cut(f"  {json.dumps(message, ensure_ascii=False)}", width), "quiet"))
    print_ledger(result.losses, width)


if __name__ == "__main__":
    main()
