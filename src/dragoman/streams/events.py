"""The events of a stream, the same for all dialects.

    Begin (Open (Delta | Cite | Signed)* Close)* End        blocks may be open side by side
    ... Fail                                                a failure ends with Fail, not End

``Begin`` has what is known of the response at the start, ``End`` what is known at the end; the
content comes in between, block by block. ``collect`` makes a response of events, ``decompose``
makes events of a response, and each is the reverse of the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from msgspec.structs import replace

from ..model import (
    Block,
    Candidate,
    Citation,
    Failure,
    Json,
    Leaf,
    Media,
    Message,
    Reasoning,
    Refusal,
    Response,
    Signature,
    Text,
    ToolCall,
)

Place: TypeAlias = Literal["text", "summary", "transcript"]
"""What a delta adds to: the block's own text (or arguments, or data), or another part of it."""


class Begin(Leaf, frozen=True, tag="begin", tag_field="event"):
    """The response begins: its id, model, date; no content yet."""

    response: Response


class Open(Leaf, frozen=True, tag="open", tag_field="event"):
    """A block begins. ``block`` is what is known of it; empty fields come as deltas."""

    index: int
    block: Block
    candidate: int = 0


class Delta(Leaf, frozen=True, tag="delta", tag_field="event"):
    """More of a block: text, arguments, or reasoning (``part``: which of several)."""

    index: int
    text: str
    place: Place = "text"
    part: int = 0


class Cite(Leaf, frozen=True, tag="cite", tag_field="event"):
    """A citation of a text block. It may come after the block is closed."""

    index: int
    citation: Citation


class Signed(Leaf, frozen=True, tag="signature", tag_field="event"):
    """The signature of a reasoning block, or its encrypted content."""

    index: int
    signature: Signature


class Close(Leaf, frozen=True, tag="close", tag_field="event"):
    """A block ends."""

    index: int


class End(Leaf, frozen=True, tag="end", tag_field="event"):
    """The response is complete. A candidate without content has that of the blocks before."""

    response: Response


class Fail(Leaf, frozen=True, tag="fail", tag_field="event"):
    """The response failed. ``response``, if the source has it, is what there was until then."""

    failure: Failure
    response: Response | None = None


class Ping(Leaf, frozen=True, tag="ping", tag_field="event"):
    """A keep-alive without content."""


class Odd(Leaf, frozen=True, tag="odd", tag_field="event"):
    """An event that only its dialect knows."""

    dialect: str
    payload: Json


Event: TypeAlias = Begin | Open | Delta | Cite | Signed | Close | End | Fail | Ping | Odd

NOBODY = Candidate(Message("assistant"))

# -- at rest --------------------------------------------------------------------------------


class Pieces:
    """A block while it arrives."""

    __slots__ = ("block", "candidate", "citations", "signature", "texts")

    def __init__(self, opened: Open) -> None:
        self.block = opened.block
        self.candidate = opened.candidate
        self.texts: dict[tuple[Place, int], list[str]] = {}
        self.citations: list[Citation] = []
        self.signature: Signature | None = None

    def whole(self) -> Block:
        """The block with all its deltas."""
        block = self.block
        text = "".join(self.texts.get(("text", 0), ()))
        if isinstance(block, Text):
            return replace(
                block, text=block.text + text, citations=(*block.citations, *self.citations)
            )
        if isinstance(block, Refusal):
            return replace(block, text=block.text + text)
        if isinstance(block, ToolCall):
            return replace(block, arguments=block.arguments + text)
        if isinstance(block, Reasoning):
            return replace(
                block,
                content=self.parts("text", block.content),
                summary=self.parts("summary", block.summary),
                signature=self.signature or block.signature,
            )
        if isinstance(block, Media) and self.texts:
            spoken = "".join(self.texts.get(("transcript", 0), ()))
            source = replace(block.source, value=block.source.value + text)
            transcript = (block.transcript or "") + spoken if spoken else block.transcript
            return replace(block, source=source, transcript=transcript)
        return block

    def parts(self, place: Place, before: tuple[str, ...]) -> tuple[str, ...]:
        """The texts of a reasoning block, by their numbers."""
        found = dict(enumerate(before))
        for (kind, part), texts in self.texts.items():
            if kind == place:
                found[part] = found.get(part, "") + "".join(texts)
        return tuple(found[part] for part in sorted(found))


def collect(events: Iterable[Event]) -> Response:
    """The response that consists of the events; a truncated one has its failure."""
    blocks: dict[int, Pieces] = {}
    head = Response(None, None, ())
    failure: Failure | None = None
    for event in events:
        if isinstance(event, Delta):
            blocks[event.index].texts.setdefault((event.place, event.part), []).append(event.text)
        elif isinstance(event, Open):
            blocks[event.index] = Pieces(event)
        elif isinstance(event, Cite):
            blocks[event.index].citations.append(event.citation)
        elif isinstance(event, Signed):
            blocks[event.index].signature = event.signature
        elif isinstance(event, Begin | End):
            head = event.response
        elif isinstance(event, Fail):
            failure = event.failure
            head = event.response or head
    response = _filled(head, blocks)
    return response if failure is None else replace(response, failure=failure)


def _filled(head: Response, blocks: dict[int, Pieces]) -> Response:
    """The head with the blocks in their candidates, if it does not have them itself."""
    written: dict[int, list[Block]] = {}
    for index in sorted(blocks):
        written.setdefault(blocks[index].candidate, []).append(blocks[index].whole())
    candidates = list(head.candidates)
    while len(candidates) <= max(written, default=-1):
        candidates.append(NOBODY)
    for index, content in written.items():
        candidate = candidates[index]
        if not candidate.message.content:
            message = replace(candidate.message, content=tuple(content))
            candidates[index] = replace(candidate, message=message)
    return replace(head, candidates=tuple(candidates))


def decompose(response: Response) -> Iterator[Event]:
    """The events of a response."""
    silent = tuple(replace(c, message=replace(c.message, content=())) for c in response.candidates)
    head = replace(response, candidates=silent)
    yield Begin(head)
    index = 0
    for number, candidate in enumerate(response.candidates):
        for block in candidate.message.content:
            yield Open(index, hollow(block), number)
            yield from deltas(index, block)
            yield Close(index)
            index += 1
    yield End(head) if response.failure is None else Fail(response.failure, head)


def hollow(block: Block) -> Block:
    """A block without the fields that come as deltas."""
    if isinstance(block, Text):
        return replace(block, text="", citations=())
    if isinstance(block, Refusal):
        return replace(block, text="")
    if isinstance(block, ToolCall):
        return replace(block, arguments="")
    if isinstance(block, Reasoning):
        return replace(block, content=(), summary=(), signature=None)
    if isinstance(block, Media) and block.transcript:
        return replace(block, transcript=None)
    return block


def deltas(index: int, block: Block) -> Iterator[Event]:
    """What fills a block that was opened without the fields that come as deltas."""
    if isinstance(block, Text | Refusal):
        if block.text:
            yield Delta(index, block.text)
        for citation in block.citations if isinstance(block, Text) else ():
            yield Cite(index, citation)
    elif isinstance(block, ToolCall):
        if block.arguments:
            yield Delta(index, block.arguments)
    elif isinstance(block, Reasoning):
        for part, text in enumerate(block.content):
            yield Delta(index, text, "text", part)
        for part, text in enumerate(block.summary):
            yield Delta(index, text, "summary", part)
        if block.signature is not None:
            yield Signed(index, block.signature)
    elif isinstance(block, Media) and block.transcript:
        yield Delta(index, block.transcript, "transcript")
