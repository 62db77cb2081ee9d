"""Loss masks of tokens, from the places of the assistant's turns in a text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def token_mask(
    text: str, spans: Iterable[Sequence[int]], tokenizer: Any
) -> tuple[list[int], list[int]]:
    """The tokens of a text, and for each of them 1 if the model learns it.

    ``tokenizer`` is one of ``tokenizers`` or a fast one of ``transformers``; it adds no tokens of
    its own, as the template has printed them. A token is learned if it begins in a span.
    """
    ids, offsets = encoded(text, tokenizer)
    pieces = sorted((start, end) for start, end in spans)
    mask: list[int] = []
    place = 0
    for start, end in offsets:
        while place < len(pieces) and pieces[place][1] <= start:
            place += 1
        inside = place < len(pieces) and pieces[place][0] <= start < pieces[place][1]
        mask.append(int(inside and end > start))
    return ids, mask


def encoded(text: str, tokenizer: Any) -> tuple[list[int], list[tuple[int, int]]]:
    if callable(tokenizer):
        done = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        return list(done["input_ids"]), [tuple(pair) for pair in done["offset_mapping"]]
    done = tokenizer.encode(text, add_special_tokens=False)
    return list(done.ids), list(done.offsets)
