"""What the model of a request refuses: the table says so, and the dialect knows how it is said."""

from __future__ import annotations

from ..model import Request
from .bench import Bench, Conversation


def fit_model(tree: Conversation, bench: Bench) -> Conversation:
    """The request without what its model does not take."""
    return bench.dialect.fit_model(tree, bench.log) if isinstance(tree, Request) else tree
