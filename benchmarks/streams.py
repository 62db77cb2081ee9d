"""How fast streams are transcoded, as a ratio to ``orjson`` parsing and printing the same frames.

python -m benchmarks.streams [--quick] [--enforce]

A stream of 500 deltas, half of them words and half of them arguments (or all words, where a call
comes whole), fed frame by frame as a server sends them and all at once. The baseline splits nothing
and decides nothing: it parses and prints the data of each frame.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import orjson  # noqa: E402

from benchmarks import timing  # noqa: E402
from dragoman import Transcoder  # noqa: E402
from dragoman.streams.framing import framer  # noqa: E402

BAR = 2.0
SPEAKERS = ("anthropic-messages", "openai-chat", "openai-responses", "gemini")
WORDS = [f" word{n % 50}" for n in range(250)]
ARGUMENTS = ['{"query":"', *(f" term{n % 50}" for n in range(248)), '"}']


def sse(doc: dict[str, Any], *, named: bool = True) -> bytes:
    name = f"event: {doc['type']}\n".encode() if named else b""
    return name + b"data: " + json.dumps(doc, separators=(",", ":")).encode() + b"\n\n"


def anthropic() -> list[bytes]:
    usage = {"input_tokens": 100, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "claude",
    }
    message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    out: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    call = {"type": "tool_use", "id": "toolu_01", "name": "search", "input": {}}
    for index, (block, kind, key, texts) in enumerate(
        (
            ({"type": "text", "text": ""}, "text_delta", "text", WORDS),
            (call, "input_json_delta", "partial_json", ARGUMENTS),
        )
    ):
        out.append({"type": "content_block_start", "index": index, "content_block": block})
        for text in texts:
            delta = {"type": kind, key: text}
            out.append({"type": "content_block_delta", "index": index, "delta": delta})
        out.append({"type": "content_block_stop", "index": index})
    end = {"stop_reason": "tool_use", "stop_sequence": None}
    out.append({"type": "message_delta", "delta": end, "usage": {"output_tokens": 500}})
    return [sse(doc) for doc in [*out, {"type": "message_stop"}]]


def chat() -> list[bytes]:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        head: dict[str, Any] = {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1700000000,
        }
        head |= {"model": "gpt", "service_tier": "default", "system_fingerprint": "fp_1"}
        return sse(head | {"choices": [choice], "usage": None}, named=False)

    call: dict[str, Any] = {"index": 0, "id": "call_1", "type": "function"}
    call["function"] = {"name": "search", "arguments": ""}
    out = [chunk({"role": "assistant", "content": "", "refusal": None})]
    out += [chunk({"content": text}) for text in WORDS]
    out.append(chunk({"tool_calls": [call]}))
    out += [
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": text}}]}) for text in ARGUMENTS
    ]
    return [*out, chunk({}, "tool_calls"), b"data: [DONE]\n\n"]


def responses() -> list[bytes]:
    docs: list[dict[str, Any]] = []

    def say(kind: str, **fields: Any) -> None:
        docs.append({"type": f"response.{kind}", "sequence_number": len(docs), **fields})

    head: dict[str, Any] = {"id": "resp_1", "object": "response", "created_at": 1700000000}
    head |= {"status": "in_progress", "model": "gpt", "output": [], "usage": None}
    say("created", response=head)
    said: dict[str, Any] = {"type": "message", "id": "msg_1", "status": "completed"}
    said |= {"role": "assistant", "content": []}
    say("output_item.added", output_index=0, item=said)
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    say("content_part.added", **place, part=part)
    for text in WORDS:
        say("output_text.delta", **place, delta=text, logprobs=[], obfuscation="abcdefgh")
    whole = part | {"text": "".join(WORDS)}
    say("output_text.done", **place, text=whole["text"], logprobs=[])
    say("content_part.done", **place, part=whole)
    say("output_item.done", output_index=0, item=said | {"content": [whole]})
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "search"}
    call |= {"arguments": "", "status": "in_progress"}
    say("output_item.added", output_index=1, item=call)
    for text in ARGUMENTS:
        say(
            "function_call_arguments.delta",
            item_id="fc_1", output_index=1, delta=text, obfuscation="abcdefgh",
        )  # fmt: skip
    call |= {"arguments": "".join(ARGUMENTS), "status": "completed"}
    say("function_call_arguments.done", item_id="fc_1", output_index=1, arguments=call["arguments"])
    say("output_item.done", output_index=1, item=call)
    usage = {"input_tokens": 100, "output_tokens": 500, "total_tokens": 600}
    done = head | {"status": "completed", "output": [said | {"content": [whole]}, call]}
    say("completed", response=done | {"usage": usage})
    return [sse(doc) for doc in docs]


def gemini() -> list[bytes]:
    """A call comes whole here, so all deltas are words."""

    def chunk(parts: list[dict[str, Any]], count: int, **more: Any) -> bytes:
        candidate = {"content": {"parts": parts, "role": "model"}, **more, "index": 0}
        usage: dict[str, Any] = {"promptTokenCount": 100, "candidatesTokenCount": count}
        usage |= {"totalTokenCount": 100 + count}
        usage["promptTokensDetails"] = [{"modality": "TEXT", "tokenCount": 100}]
        doc = {"candidates": [candidate], "usageMetadata": usage}
        return sse(doc | {"modelVersion": "gemini", "responseId": "resp_1"}, named=False)

    out = [chunk([{"text": text}], count) for count, text in enumerate(WORDS + WORDS)]
    call = {"functionCall": {"id": "call_1", "name": "search", "args": {"query": "terms"}}}
    return [*out, chunk([call], 500), chunk([{"text": ""}], 500, finishReason="STOP")]


STREAMS = {
    "anthropic-messages": anthropic,
    "openai-chat": chat,
    "openai-responses": responses,
    "gemini": gemini,
}


def baseline(frames: list[bytes]) -> Callable[[], object]:
    found = framer("sse").feed(b"".join(frames))
    data = [frame for _, frame in found if frame != b"[DONE]"]

    def work() -> object:
        return [orjson.dumps(orjson.loads(frame)) for frame in data]

    return work


def transcoding(
    pieces: list[bytes], source: str, target: str, *, collect: bool
) -> Callable[[], object]:
    def work() -> object:
        transcoder = Transcoder(source, target, collect=collect)
        feed = transcoder.feed
        return [feed(piece) for piece in pieces], transcoder.close()

    return work


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--enforce", action="store_true", help="exit 1 where the bar is missed")
    options = parser.parse_args()
    timing.pin()
    seconds = 0.5 if options.quick else 3.0
    missed = 0
    print(f"500 deltas, ratio to orjson (bar {BAR}, all at once)\n")
    print("| stream | all at once | frame by frame | without `.response` | us a frame |")
    print("| --- | --- | --- | --- | --- |")
    for source, make in STREAMS.items():
        frames = make()
        whole = [b"".join(frames)]
        for target in SPEAKERS:
            if target == source:
                continue
            contenders = [
                baseline(frames),
                transcoding(whole, source, target, collect=True),
                transcoding(frames, source, target, collect=True),
                transcoding(whole, source, target, collect=False),
            ]
            base, *others = [t.best for t in timing.race(contenders, seconds=seconds)]
            ratios = [other / base for other in others]
            missed += ratios[0] > BAR
            cells = " | ".join(f"{ratio:.2f}" for ratio in ratios)
            each = others[1] / len(frames) * 1e6
            print(f"| {source} > {target} | {cells} | {each:.2f} |")
    print(timing.noise())
    return 1 if options.enforce and missed else 0


if __name__ == "__main__":
    sys.exit(main())
