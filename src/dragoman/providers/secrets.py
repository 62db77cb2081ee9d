"""Keys that do not show: not in a repr, not in an error, not where an upstream repeats them."""

from __future__ import annotations

from collections.abc import Iterable

from ..model import Json

MASK = "[key]"
SHORTEST = 4
"""What is shorter is no secret, and is found in too many words."""


class Headers(dict[str, str]):
    """The headers of a request. Only their names are shown: tracebacks print local variables."""

    def __repr__(self) -> str:
        return f"<headers: {', '.join(self)}>"


class Secrets:
    """Texts that must not be shown, and the mask that stands for them."""

    __slots__ = ("_texts",)

    def __init__(self, texts: Iterable[str]) -> None:
        known = {text for text in texts if len(text) >= SHORTEST}
        self._texts = sorted(known, key=len, reverse=True)  # the longest first: it may hold others

    def __repr__(self) -> str:
        return f"<{len(self._texts)} secrets>"

    def hide(self, text: str) -> str:
        for secret in self._texts:
            text = text.replace(secret, MASK)
        return text

    def hide_in(self, value: Json) -> Json:
        """A JSON value with the mask wherever a secret stood, in keys as well."""
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, list):
            return [self.hide_in(item) for item in value]
        if isinstance(value, dict):
            return {self.hide(key): self.hide_in(item) for key, item in value.items()}
        return value
