"""The order of blocks, where a target has a field for each kind of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...ledger import Ledger
from ...model import Block, Media, Passage, Reasoning, Refusal, Text, ToolCall

if TYPE_CHECKING:
    from ...dialect import Dialect

KINDS: dict[type, str] = {
    Text: "text",
    Refusal: "refusal",
    Reasoning: "reasoning",
    ToolCall: "call",
    Passage: "passage",
}
"""What blocks are called in ``Capabilities.order``; media go by their kinds."""


def kind_of(block: Block) -> str:
    return block.kind if isinstance(block, Media) else KINDS.get(block.__class__, "")


def by_class(ranks: Mapping[str, int]) -> dict[type, int]:
    """The ranks of blocks other than media."""
    return {kind: ranks[name] for kind, name in KINDS.items() if name in ranks}


def is_ordered(blocks: tuple[Block, ...], ranks: Mapping[type, int]) -> bool:
    """Whether no block stands behind one that must follow it; media are looked at elsewhere."""
    highest = 0
    for block in blocks:
        rank = ranks.get(block.__class__, highest)
        if rank < highest:
            return False
        highest = rank
    return True


def lower(
    blocks: tuple[Block, ...], ranks: Mapping[str, int], to: Dialect, log: Ledger
) -> tuple[Block, ...]:
    """The blocks in the order of their ranks; one that has none follows the one before it."""
    highest = 0
    placed: list[int] = []
    ordered = True
    for block in blocks:
        rank = ranks.get(kind_of(block), highest)
        if rank < highest:
            ordered = False
            why = f"blocks of a message have this order in {to.name}: {told(ranks)}"
            log.approximated("content.order", block.at, why)
        else:
            highest = rank
        placed.append(rank)
    if ordered:
        return blocks
    return tuple(blocks[place] for place in sorted(range(len(blocks)), key=placed.__getitem__))


def told(ranks: Mapping[str, int]) -> str:
    """The order in words: ``text or reasoning, call``."""
    steps = sorted(set(ranks.values()))
    return ", ".join(" or ".join(k for k, rank in ranks.items() if rank == step) for step in steps)
