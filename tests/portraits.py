"""What an awkward stream becomes in each great dialect, in a few lines that a reader can judge.

python tests/portraits.py        writes the portraits anew: read the difference before you commit
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import dragoman
import places
from dragoman import dialects
from dragoman.model import Block, Hosted, Media, Reasoning, Refusal, Response, Text, ToolCall

STREAMS = places.AWKWARD
TARGETS = ("anthropic-messages", "openai-chat", "openai-responses")


class Stream(NamedTuple):
    """A file of ``tests/awkward``: ``<what is awkward>.<dialect>.sse``, its portraits beside it."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def dialect(self) -> str:
        return self.path.stem.partition(".")[2]

    @property
    def data(self) -> bytes:
        return self.path.read_bytes()

    @property
    def expected(self) -> Path:
        return self.path.with_suffix(".txt")


def streams() -> list[Stream]:
    return [Stream(path) for path in sorted(STREAMS.glob("*.sse"))]


def gallery(stream: Stream) -> str:
    """The portraits of a stream in every target, with what was lost on the way."""
    lines: list[str] = []
    for target in TARGETS:
        transcoder = dragoman.Transcoder(stream.dialect, target, now=0)
        written = transcoder.feed(stream.data) + transcoder.close()
        document = dragoman.collect(written, target).document
        tree = dialects.get(target).read(document, "response")
        assert isinstance(tree, Response)
        lines += [f"{target}:", *(f"  {line}" for line in portrait(tree))]
        lines += [
            f"  - {loss.kind} {loss.what} at {loss.path or '/'}" for loss in losses(transcoder)
        ]
    return "\n".join(lines) + "\n"


def losses(transcoder: dragoman.Transcoder) -> list[dragoman.Loss]:
    """Those that are about what was written; what a reply echoes is told in other tests."""
    dull = ("response.", "usage", "message.id", "tool_call.item_id", "service_tier", "reasoning.id")
    return [loss for loss in transcoder.losses if not loss.what.startswith(dull)]


def portrait(tree: Response) -> Iterator[str]:
    for number, candidate in enumerate(tree.candidates):
        if number:
            yield f"candidate {number}"
        yield from map(line, candidate.message.content)
        if tree.failure is None:
            yield f"stop {candidate.stop.reason if candidate.stop else '?'}"
    if tree.failure is not None:
        yield f"failed ({tree.failure.kind}): {tree.failure.message}"
    elif tree.usage is not None:
        yield f"{tree.usage.input} in, {tree.usage.output} out"


def line(block: Block) -> str:
    match block:
        case Text():
            cited = "".join(f" [{c.url or c.title}]" for c in block.citations)
            return f"text {block.text!r}{cited}"
        case Refusal():
            return f"refusal {block.text!r}"
        case ToolCall():
            return f"call {block.id} {block.name} {block.arguments}"
        case Reasoning():
            written = " / ".join((*block.content, *block.summary))
            return f"thought {written!r}" + (
                f" {block.signature.kind} {block.signature.data}" if block.signature else ""
            )
        case Hosted():
            return f"hosted {block.service}"
        case Media():
            return f"media {block.kind}"
        case _:
            return type(block).__name__.lower()


if __name__ == "__main__":
    for found in streams():
        found.expected.write_text(gallery(found), "utf-8")
