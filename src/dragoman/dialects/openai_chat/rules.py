"""Rules of Chat Completions."""

from __future__ import annotations

from ...dialect import Dialect


class Rules(Dialect):
    """Not yet."""
