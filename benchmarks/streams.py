"""How fast streams are transcoded, as a ratio to ``orjson`` parsing and printing the same events.

python -m benchmarks.streams [--quick] [--enforce] [--all] [--memory] [SOURCE]

Streams of a thousand deltas as vendors send them: words, arguments of a tool and reasoning.
Anthropic pads deltas with blanks before the last brace, OpenAI adds ``obfuscation`` and numbers its
events, Gemini counts tokens in each chunk. Each is fed all at once and event by event.

The yardstick does the same work without deciding anything: it splits the bytes into events, parses
and prints the data of each and frames it again. Both sides join what they make (all at once) or
drop it (event by event); to keep all results alive would cost the yardstick more than its work. The
time is that of the processor, best of many samples taken in turns. ``spliced`` is the share of
events that were spliced (see ``dragoman.streams.splicing``).

``--all`` writes every stream dialect; ``--memory`` prints how much memory a transcoder with
``collect=False`` has taken after 1,000 and after 10,000 deltas of text and reasoning, for all
pairs; arguments of calls are kept in any case.
"""

from __future__ import annotations

import argparse
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import orjson  # noqa: E402

from benchmarks import timing  # noqa: E402
from dragoman import Transcoder, dialects  # noqa: E402
from dragoman.streams.framing import framer, write_frame  # noqa: E402

COUNT = 1000
GREAT = ("openai-chat", "anthropic-messages", "openai-responses", "gemini")
PIECES = (" word", " the", "\n\n", " naïve", ".", ' "quoted"', " and", " 東京", " longer-than-most")
NOISE = "aZ3kQ9xLm2Pw7"  # what hides the length of a delta, in other lengths each time


class Bars(NamedTuple):
    at_once: float
    by_event: float


PLAIN, HIDDEN, SAME = Bars(1.1, 1.6), Bars(1.7, 2.3), Bars(0.4, 0.4)


class Source(NamedTuple):
    """A stream, and the bars for its way into another of the great dialects."""

    dialect: str
    make: Callable[[int], list[bytes]]
    bars: Bars | None = None


def words(count: int) -> list[str]:
    return [PIECES[n % len(PIECES)] for n in range(count)]


def arguments(count: int) -> list[str]:
    return ['{"query":"', *(f" term{n % 50}" for n in range(count - 2)), '"}']


def hidden(number: int) -> str:
    return NOISE[: number % len(NOISE) + 1]


def sse(doc: dict[str, Any], *, named: bool = True) -> bytes:
    name = f"event: {doc['type']}\n".encode() if named else b""
    return name + b"data: " + orjson.dumps(doc) + b"\n\n"


def anthropic(count: int, *, padded: bool = False) -> list[bytes]:
    usage = {"input_tokens": 100, "output_tokens": 1}
    message: dict[str, Any] = {"id": "msg_01", "type": "message", "role": "assistant"}
    message |= {"model": "claude"}
    message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    out = [sse({"type": "message_start", "message": message})]
    call = {"type": "tool_use", "id": "toolu_01", "name": "search", "input": {}}
    thinking = {"type": "thinking", "thinking": "", "signature": ""}
    blocks: list[tuple[dict[str, Any], str, str, list[str]]] = [
        (thinking, "thinking_delta", "thinking", words(count // 5)),
        ({"type": "text", "text": ""}, "text_delta", "text", words(count // 2)),
        (call, "input_json_delta", "partial_json", arguments(count * 3 // 10)),
    ]
    for index, (block, kind, key, texts) in enumerate(blocks):
        out.append(sse({"type": "content_block_start", "index": index, "content_block": block}))
        for number, text in enumerate(texts):
            delta = {"type": kind, key: text}
            frame = sse({"type": "content_block_delta", "index": index, "delta": delta})
            blanks = b" " * (number * 7 % 13) if padded else b""
            out.append(frame[:-3] + blanks + frame[-3:])
        out.append(sse({"type": "content_block_stop", "index": index}))
    end = {"stop_reason": "tool_use", "stop_sequence": None}
    out.append(sse({"type": "message_delta", "delta": end, "usage": {"output_tokens": 500}}))
    return [*out, sse({"type": "message_stop"})]


def chat(
    count: int, *, obfuscated: bool = False, reasoning: bool = False, arguing: bool = True
) -> list[bytes]:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        doc: dict[str, Any] = {"id": "chatcmpl-1", "object": "chat.completion.chunk"}
        doc |= {"created": 1700000000, "model": "gpt", "service_tier": "default"}
        doc |= {"system_fingerprint": "fp_1", "choices": [choice], "usage": None}
        if obfuscated:
            doc["obfuscation"] = hidden(len(out))
        return sse(doc, named=False)

    out: list[bytes] = []
    call: dict[str, Any] = {"index": 0, "id": "call_1", "type": "function"}
    call["function"] = {"name": "search", "arguments": ""}
    out.append(chunk({"role": "assistant", "content": "" if not reasoning else None}))
    if reasoning:
        for text in words(count // 5):
            out.append(chunk({"content": None, "reasoning_content": text}))
    for text in words(count // 2):
        out.append(chunk({"content": text}))
    if arguing:
        out.append(chunk({"tool_calls": [call]}))
        for text in arguments(count * 3 // 10 if reasoning else count // 2):
            piece = {"index": 0, "function": {"arguments": text}}
            out.append(chunk({"tool_calls": [piece]}))
    return [*out, chunk({}, "tool_calls" if arguing else "stop"), b"data: [DONE]\n\n"]


def responses(count: int) -> list[bytes]:
    """With the keys in the order in which OpenAI sends them."""
    docs: list[dict[str, Any]] = []

    def say(kind: str, **fields: Any) -> None:
        doc = {"type": f"response.{kind}", **fields, "sequence_number": len(docs)}
        docs.append(dict(sorted(doc.items())))

    head: dict[str, Any] = {"id": "resp_1", "object": "response", "created_at": 1700000000}
    head |= {"status": "in_progress", "model": "gpt", "output": [], "usage": None}
    say("created", response=head)
    thought: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": []}
    say("output_item.added", output_index=0, item=thought)
    place = {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
    part: dict[str, Any] = {"type": "summary_text", "text": ""}
    say("reasoning_summary_part.added", **place, part=part)
    for text in words(count // 5):
        noise = hidden(len(docs))
        say("reasoning_summary_text.delta", **place, delta=text, obfuscation=noise)
    part = part | {"text": "".join(words(count // 5))}
    say("reasoning_summary_text.done", **place, text=part["text"])
    say("reasoning_summary_part.done", **place, part=part)
    thought = thought | {"summary": [part]}
    say("output_item.done", output_index=0, item=thought)
    written: dict[str, Any] = {"type": "message", "id": "msg_1", "status": "completed"}
    written |= {"role": "assistant", "content": []}
    say("output_item.added", output_index=1, item=written)
    place = {"item_id": "msg_1", "output_index": 1, "content_index": 0}
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    say("content_part.added", **place, part=part)
    for text in words(count // 2):
        noise = hidden(len(docs))
        say("output_text.delta", **place, delta=text, logprobs=[], obfuscation=noise)
    whole = part | {"text": "".join(words(count // 2))}
    say("output_text.done", **place, text=whole["text"], logprobs=[])
    say("content_part.done", **place, part=whole)
    written = written | {"content": [whole]}
    say("output_item.done", output_index=1, item=written)
    call: dict[str, Any] = {"type": "function_call", "id": "fc_1", "call_id": "call_1"}
    call |= {"name": "search", "arguments": "", "status": "in_progress"}
    say("output_item.added", output_index=2, item=call)
    place = {"item_id": "fc_1", "output_index": 2}
    for text in arguments(count * 3 // 10):
        noise = hidden(len(docs))
        say("function_call_arguments.delta", **place, delta=text, obfuscation=noise)
    call = call | {"arguments": "".join(arguments(count * 3 // 10)), "status": "completed"}
    say("function_call_arguments.done", **place, arguments=call["arguments"])
    say("output_item.done", output_index=2, item=call)
    usage = {"input_tokens": 100, "output_tokens": 500, "total_tokens": 600}
    done = head | {"status": "completed", "output": [thought, written, call], "usage": usage}
    say("completed", response=done)
    return [sse(doc) for doc in docs]


def gemini(count: int) -> list[bytes]:
    """A call comes whole here; events end as Google ends them."""

    def chunk(parts: list[dict[str, Any]], number: int, **more: Any) -> bytes:
        candidate = {"content": {"parts": parts, "role": "model"}, **more, "index": 0}
        usage: dict[str, Any] = {"promptTokenCount": 100, "candidatesTokenCount": number}
        usage |= {"totalTokenCount": 100 + number}
        usage["promptTokensDetails"] = [{"modality": "TEXT", "tokenCount": 100}]
        doc = {"candidates": [candidate], "usageMetadata": usage}
        frame = sse(doc | {"modelVersion": "gemini", "responseId": "resp_1"}, named=False)
        return frame[:-2] + b"\r\n\r\n"

    thoughts = words(count // 5)
    texts = words(count - count // 5)
    out = [chunk([{"text": t, "thought": True}], n) for n, t in enumerate(thoughts, 1)]
    out += [chunk([{"text": t}], n) for n, t in enumerate(texts, len(out) + 1)]
    call = {"functionCall": {"id": "call_1", "name": "search", "args": {"query": "terms"}}}
    return [*out, chunk([call], count), chunk([{"text": ""}], count, finishReason="STOP")]


def ollama(count: int) -> list[bytes]:
    def line(number: int, message: dict[str, Any], **more: Any) -> bytes:
        doc: dict[str, Any] = {"model": "qwen", "created_at": f"2026-01-01T00:00:00.{number:06}Z"}
        written = {"role": "assistant", "content": ""}
        return orjson.dumps(doc | {"message": written | message, "done": False} | more) + b"\n"

    out = [line(n, {"thinking": text}) for n, text in enumerate(words(count // 5))]
    texts = words(count - count // 5)
    out += [line(n, {"content": text}) for n, text in enumerate(texts, len(out))]
    done = {"done": True, "done_reason": "stop", "prompt_eval_count": 100, "eval_count": count}
    return [*out, line(count, {}, **done)]


def bedrock(count: int) -> list[bytes]:
    def event(name: str, **payload: Any) -> bytes:
        payload["p"] = hidden(len(out))
        return write_frame("eventstream", (name, orjson.dumps(payload)))

    out: list[bytes] = []
    out.append(event("messageStart", role="assistant"))
    for text in words(count // 2):
        out.append(event("contentBlockDelta", contentBlockIndex=0, delta={"text": text}))
    out.append(event("contentBlockStop", contentBlockIndex=0))
    start = {"toolUse": {"toolUseId": "tooluse_1", "name": "search"}}
    out.append(event("contentBlockStart", contentBlockIndex=1, start=start))
    for text in arguments(count // 2):
        delta = {"toolUse": {"input": text}}
        out.append(event("contentBlockDelta", contentBlockIndex=1, delta=delta))
    out.append(event("contentBlockStop", contentBlockIndex=1))
    out.append(event("messageStop", stopReason="tool_use"))
    usage = {"inputTokens": 100, "outputTokens": 500, "totalTokens": 600}
    return [*out, event("metadata", usage=usage, metrics={"latencyMs": 100})]


def spoken(target: str) -> Callable[[int], list[bytes]]:
    """The stream that Anthropic's becomes in another dialect."""

    def make(count: int) -> list[bytes]:
        transcoder = Transcoder("anthropic-messages", target)
        whole = transcoder.feed(b"".join(anthropic(count))) + transcoder.close()
        kind = dialects.get(target).framing
        return [write_frame(kind, frame) for frame in framer(kind).feed(whole)]

    return make


STREAMS = {
    "openai-chat": Source("openai-chat", chat, PLAIN),
    "openai-chat, obfuscation": Source("openai-chat", lambda n: chat(n, obfuscated=True), HIDDEN),
    "openai-chat, reasoning": Source("openai-chat", lambda n: chat(n, reasoning=True), PLAIN),
    "anthropic-messages": Source("anthropic-messages", anthropic, PLAIN),
    "anthropic-messages, padded": Source(
        "anthropic-messages", lambda n: anthropic(n, padded=True), HIDDEN
    ),
    "openai-responses": Source("openai-responses", responses),
    "gemini": Source("gemini", gemini),
    "mistral": Source("mistral", lambda n: chat(n, arguing=False)),
    "cohere": Source("cohere", spoken("cohere")),
    "ollama": Source("ollama", ollama),
    "bedrock-converse": Source("bedrock-converse", bedrock),
    "vercel-ui": Source("vercel-ui", spoken("vercel-ui")),
}
ALL = [name for name in dialects.names() if "stream" in dialects.get(name).facets()]


def again(event: bytes) -> bytes:
    """An event, parsed and printed: its last line but one is its data."""
    name, _, data = event.rpartition(b"data: ")
    if data.startswith(b"[DONE]"):
        return event
    return name + b"data: " + orjson.dumps(orjson.loads(data)) + b"\n\n"


def yardsticks(frames: list[bytes], dialect: str) -> list[timing.Work]:
    """What splitting, parsing, printing and framing cost, all at once and event by event."""
    kind, whole = dialects.get(dialect).framing, b"".join(frames)
    if kind == "eventstream":
        split = framer(kind).feed

        def rewritten(data: bytes) -> Iterator[bytes]:
            for name, payload in split(data):
                yield write_frame(kind, (name, orjson.dumps(orjson.loads(payload))))

        return [
            lambda: b"".join(rewritten(whole)),
            lambda: [None for frame in frames for _ in rewritten(frame)],
        ]
    if kind == "ndjson":

        def line(data: bytes) -> bytes:
            return orjson.dumps(orjson.loads(data)) + b"\n"

        return [lambda: b"".join(map(line, whole.splitlines())), lambda: drop(line, frames)]
    end = b"\r\n\r\n" if whole.endswith(b"\r\n\r\n") else b"\n\n"
    return [
        lambda: b"".join(map(again, whole.split(end)[:-1])),
        lambda: drop(lambda frame: again(frame.split(end)[0]), frames),
    ]


def drop(work: Callable[[bytes], object], pieces: list[bytes]) -> None:
    for piece in pieces:
        work(piece)


def transcoding(
    pieces: list[bytes], source: str, target: str, *, collect: bool = True
) -> timing.Work:
    def work() -> object:
        transcoder = Transcoder(source, target, collect=collect)
        drop(transcoder.feed, pieces)
        return transcoder.close()

    return work


def hit_rate(frames: list[bytes], source: str, target: str) -> float:
    transcoder = Transcoder(source, target)
    drop(transcoder.feed, frames)
    transcoder.close()
    return getattr(transcoder, "spliced", 0) / len(frames)


def measure(name: str, targets: tuple[str, ...], seconds: float) -> int:
    """The lines of one source; how many bars it misses."""
    source, missed = STREAMS[name], 0
    frames = source.make(COUNT)
    whole = [b"".join(frames)]
    for target in targets:
        same = target == source.dialect
        contenders = [
            *yardsticks(frames, source.dialect),
            transcoding(whole, source.dialect, target),
            transcoding(frames, source.dialect, target),
            transcoding(whole, source.dialect, target, collect=False),
            transcoding(frames, source.dialect, target, collect=False),
        ]
        taken = [t.best for t in timing.race(contenders, seconds=seconds, clock=process_time)]
        ratios = [took / taken[n % 2] for n, took in enumerate(taken[2:])]
        bars = SAME if same else source.bars if target in GREAT else None
        found = ratios[2:] if same else ratios  # same dialect: watched for its end
        verdict = "" if bars is None else "ok"
        if bars is not None and (found[0] > bars.at_once or found[1] > bars.by_event):
            verdict, missed = "MISS", missed + 1
        cells = " | ".join(f"{ratio:.2f}" for ratio in ratios)
        share = f"{hit_rate(frames, source.dialect, target):.0%}"
        each = taken[3] / len(frames) * 1e6
        print(f"| {name} > {target} | {cells} | {each:.2f} | {share} | {verdict} |", flush=True)
    return missed


def memory() -> None:
    """Kilobytes that are taken after 1,000 and after 10,000 deltas, and by how much they grew."""
    print("| stream | 1,000 deltas | 10,000 deltas |\n| --- | --- | --- |")
    for name, source in STREAMS.items():
        for target in ALL:
            taken = [f"{kept(source, target, count) / 1024:.0f} KB" for count in (1000, 10_000)]
            print(f"| {name} > {target} | {taken[0]} | {taken[1]} |", flush=True)


def kept(source: Source, target: str, count: int) -> int:
    frames = source.make(2 * count)[:count]  # what comes behind are arguments
    transcoder = Transcoder(source.dialect, target, collect=False)
    tracemalloc.start()
    drop(transcoder.feed, frames)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return size


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--enforce", action="store_true", help="exit 1 where a bar is missed")
    parser.add_argument("--all", action="store_true", help="into every dialect with a stream")
    parser.add_argument("--memory", action="store_true", help="memory instead of time")
    parser.add_argument("source", nargs="?", default="", help="how the names of sources begin")
    options = parser.parse_args()
    timing.pin()
    if options.memory:
        memory()
        return 0
    seconds = 0.5 if options.quick else 3.0
    print(f"Some {COUNT:,} deltas, as a ratio to the yardstick; the last two with collect=False.\n")
    head = "stream | all at once | by event | at once, not kept | by event, not kept | us an event"
    print(f"| {head} | spliced | bars |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
    missed = 0
    for name, source in STREAMS.items():
        targets = tuple(ALL) if options.all else tuple(dict.fromkeys((*GREAT, source.dialect)))
        if name.startswith(options.source):
            missed += measure(name, targets, seconds)
    print(timing.noise())
    return 1 if options.enforce and missed else 0


if __name__ == "__main__":
    sys.exit(main())
