"""What the Anthropic Messages API rejects."""

from __future__ import annotations

from ...dialect import Dialect


class Rules(Dialect):
    """The rules of the real API, one function each."""
