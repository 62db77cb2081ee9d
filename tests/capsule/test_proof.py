"""A loss that a capsule claims to make up for is tried, and not believed."""

from __future__ import annotations

import pytest

from dragoman import dialects
from dragoman.capsule.proof import Proof
from dragoman.ledger import Ledger, Loss

LISTED = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
PLAIN = {"role": "user", "content": "Hi"}


@pytest.mark.parametrize(
    ("client", "echoed", "left"),
    [
        ("anthropic-messages", LISTED, 0),  # the same dialect: its form is that of the document
        ("anthropic-messages", PLAIN, 1),
        ("mistral", PLAIN, 0),  # another one: as it is written there
        ("mistral", LISTED, 1),
    ],
)
def test_what_is_restored_is_written_again(client: str, echoed: object, left: int) -> None:
    ours, theirs = dialects.get("anthropic-messages"), dialects.get(client)
    document = {"model": "m", "max_tokens": 9, "messages": [LISTED]}
    heard = {"model": "m", "max_tokens": 9, "messages": [echoed]}
    log = Ledger()
    loss = Loss("dropped", "extras", "/messages/0/content", "a reason")
    proof = Proof(theirs, heard, theirs.read(heard, "request"), ours, "request", log)
    assert len(proof.left(document, [loss], [])) == left
