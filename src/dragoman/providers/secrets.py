"""Keys that do not show: not in a repr, not in an error, not where an upstream repeats them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from ..model import Json

MASK = "[key]"
LATEST = 256
"""How many secrets of single requests are remembered."""
SHORTEST = 4
"""What is shorter is no secret, and is found in too many words."""


class Headers(dict[str, str]):
    """The headers of a request. Only their names are shown: tracebacks print local variables."""

    encoded: bytes | None = None
    """As they are sent, once they were."""

    def __repr__(self) -> str:
        return f"<headers: {', '.join(self)}>"


class Secrets:
    """Texts that must not be shown, and the mask that stands for them."""

    __slots__ = ("_heard", "_texts", "_told")

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts: list[str] = []
        self._heard: deque[str] = deque(maxlen=LATEST)
        self.keep(texts)

    def __repr__(self) -> str:
        return f"<{len(self._texts)} secrets>"

    def keep(self, texts: Iterable[str]) -> None:
        """These are secret, as long as the provider lives."""
        known = {*self._texts, *(text for text in texts if len(text) >= SHORTEST)}
        self._texts = sorted(known, key=len, reverse=True)  # the longest first: it may hold others
        self._told = [text.encode() for text in self._texts]

    def hear(self, texts: Iterable[str]) -> None:
        """These are secret now: tokens and signatures of single requests, of which many come."""
        known = {*self._heard, *self._texts}
        self._heard += (text for text in texts if len(text) >= SHORTEST and text not in known)

    def hide(self, text: str) -> str:
        for secret in (*self._texts, *sorted(self._heard, key=len, reverse=True)):
            text = text.replace(secret, MASK)
        return text

    def hide_bytes(self, data: bytes) -> bytes:
        """Bytes that pass as they are, with the mask wherever a secret stands in them."""
        for secret in self._told:
            if secret in data:
                data = data.replace(secret, MASK.encode())
        for heard in self._heard:
            data = data.replace(heard.encode(), MASK.encode())
        return data

    def hide_in(self, value: Json) -> Json:
        """A JSON value with the mask wherever a secret stood, in keys as well."""
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, list):
            return [self.hide_in(item) for item in value]
        if isinstance(value, dict):
            return {self.hide(key): self.hide_in(item) for key, item in value.items()}
        return value
