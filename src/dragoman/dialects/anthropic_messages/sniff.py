"""How to know a document of the Anthropic Messages API."""

from __future__ import annotations

from ...dialect import Dialect


class Sniff(Dialect):
    """Evidence, not proof."""
