"""What the types of the official SDKs can say, written in its own dialect without its source.

An edited tree is written by the writers; a document that was not edited is copied, and asks them
nothing. Here they are asked about each member of the vendors' types, and must say each leaf again.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any
from zlib import crc32

import pytest

import leaves
import sdk
import seeds
import typed
from dragoman import Malformed, dialects
from dragoman.core.walk import meaning
from dragoman.ledger import Ledger
from dragoman.testing import difference

VENDORS = (
    "anthropic-messages", "openai-chat", "openai-responses", "gemini", "cohere",
    "gemini-interactions", "mistral", "ollama",
)  # fmt: skip
SAMPLE = 300
"""So many documents of a dialect and facet are asked about; the choice never changes."""

documents = pytest.mark.parametrize(
    ("dialect", "facet"), [*product(VENDORS, ("request", "response"))]
)


def sample(dialect: str, facet: str) -> Iterator[Any]:
    """Those that can be read."""
    made = {seeds.text(each): each for each in typed.documents(sdk.schema(dialect, facet))}
    assert len(made) > 50, "the types of the SDK were not found"
    for written in sorted(made, key=lambda text: crc32(text.encode()), reverse=True)[:SAMPLE]:
        try:
            dialects.get(dialect).read(made[written], facet)
        except Malformed:
            continue
        yield made[written]


@documents
def test_each_leaf_is_said_again(dialect: str, facet: str) -> None:
    """What comes without a loss means the same; the types allow a little more than the API does."""
    speaker, faults = dialects.get(dialect), list[str]()
    for document in sample(dialect, facet):
        log, tree = Ledger(), speaker.read(document, facet)
        written = speaker.write(tree, log)
        missed = leaves.unaccounted(document, written, log.losses)
        faults += [f"{leaf.pointer} of {document}" for leaf in missed if not is_default(leaf)]
        if not log.losses and NO_CHOICE not in seeds.text(document):
            back = speaker.read(written, facet)
            assert meaning(back) == meaning(tree), difference(meaning(back), meaning(tree))
    assert not faults, "\n".join(sorted(faults)[:20])


NO_CHOICE = '"allowed_tools": {"tools": []}'
"""One of the tools must be called, of which there are none: no API knows what that is."""


def is_default(leaf: leaves.Leaf) -> bool:
    """Gemini's schemas may say of each type that it is not null, as it is without a word."""
    return "/responseSchema/" in leaf.pointer and "/nullable" in leaf.pointer
