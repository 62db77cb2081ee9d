"""The result of a conversion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .core import lines as json_lines
from .core.reading import decode, encode
from .ledger import Loss, Restored
from .model import Json


class Result:
    """A document, and every loss of its conversion.

    ``document`` may hold parts as JSON text (``msgspec.Raw``), where it ``embeds`` them; they are
    parsed when somebody asks for it. ``status`` is the HTTP status that goes with the reply of an
    ``Exchange``. ``restored`` lists every place that came from a capsule, which is untrusted
    without a key. ``later`` is a function with its arguments that gives the losses when they are
    asked for: to look for keys that stand twice takes time, and so do reasons. ``lines``: the
    document is a file of JSON lines.

    A result unpacks into the two that most callers want:

    >>> document, losses = Result({"model": "m"}, ())
    >>> document
    {'model': 'm'}
    """

    __slots__ = (
        "_embeds", "_later", "_lines", "_losses", "_written", "capsule", "restored", "status",
    )  # fmt: skip

    def __init__(
        self,
        document: Json,
        losses: tuple[Loss, ...],
        capsule: Json | None = None,
        status: int | None = None,
        restored: tuple[Restored, ...] = (),
        *,
        later: tuple[Any, ...] | None = None,
        embeds: bool = False,
        lines: bool = False,
    ) -> None:
        self._written = document
        self._embeds = embeds
        self._lines = lines
        self._losses = losses
        self._later = later
        self.capsule = capsule
        self.status = status
        self.restored = restored

    @property
    def document(self) -> Json:
        """The document, as plain values; of a stream its bytes."""
        if self._embeds:
            self._written, self._embeds = decode(encode(self._written)), False
        return self._written

    @document.setter
    def document(self, value: Json) -> None:
        self._written, self._embeds = value, False

    @property
    def losses(self) -> tuple[Loss, ...]:
        """Every deviation, in the order in which they happened."""
        if self._later is not None:
            (tell, *about), self._later = self._later, None
            self._losses = (*tell(*about), *self._losses)
        return self._losses

    def __iter__(self) -> Iterator[Any]:
        """The document and the losses."""
        return iter((self.document, self.losses))

    def to_json(self) -> bytes:
        """The document as compact JSON, a line for each value where it is a file of lines; a
        stream as it is."""
        if self._written.__class__ is bytes:
            return self._written
        return json_lines.join(self._written) if self._lines else encode(self._written)

    def __repr__(self) -> str:
        kinds: dict[str, int] = {}
        for loss in self.losses:
            kinds[loss.kind] = kinds.get(loss.kind, 0) + 1
        written = ", ".join(f"{n} {kind}" for kind, n in kinds.items()) or "nothing lost"
        return f"<Result: {written}>"
