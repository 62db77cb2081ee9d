"""What the model of a request rejects: the model table has it, the dialect removes it."""

from __future__ import annotations

from ...model import Request
from .context import Bench, Conversation


def fit_model(tree: Conversation, bench: Bench) -> Conversation:
    """The request without what its model does not accept."""
    return bench.dialect.fit_model(tree, bench.log) if isinstance(tree, Request) else tree
