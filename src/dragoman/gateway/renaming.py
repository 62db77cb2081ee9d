"""Replies that pass as they are, but for the name of the model.

In the frames of a stream the name stands in ``"model": "..."``. Quotes inside of texts are escaped,
so only the field itself can match. A line is changed when it is whole.
"""

from __future__ import annotations

import json
import re


class Renamer:
    """Bytes in, bytes out, with another name of the model."""

    def __init__(self, upstream: str, asked: str) -> None:
        old, new = (json.dumps(name).encode() for name in (upstream, asked))
        self._pattern = re.compile(rb'("model(?:Version)?"\s*:\s*)' + re.escape(old))
        self._new = rb"\g<1>" + new.replace(b"\\", b"\\\\")
        self._held: list[bytes] = []

    @property
    def waits(self) -> bool:
        """Whether a line has begun that is not whole."""
        return bool(self._held)

    def feed(self, data: bytes) -> bytes:
        whole, newline, rest = data.rpartition(b"\n")
        if not newline:
            self._held.append(data)
            return b""
        whole = b"".join((*self._held, whole, newline))
        self._held = [rest] if rest else []
        return self._pattern.sub(self._new, whole)

    def close(self) -> bytes:
        held, self._held = b"".join(self._held), []
        return self._pattern.sub(self._new, held)
