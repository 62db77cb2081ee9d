"""What a conversion gives."""

from __future__ import annotations

from .ledger import Loss, Restored
from .model import Json
from .reading import encode


class Result:
    """A document, and every deviation on the way to it.

    ``status`` is the HTTP status that goes with the reply of an ``Exchange``. ``restored`` names
    every place that is as a capsule says: without a key, that may be anybody's word.
    """

    __slots__ = ("capsule", "document", "losses", "restored", "status")

    def __init__(
        self,
        document: Json,
        losses: tuple[Loss, ...],
        capsule: Json | None = None,
        status: int | None = None,
        restored: tuple[Restored, ...] = (),
    ) -> None:
        self.document = document
        self.losses = losses
        self.capsule = capsule
        self.status = status
        self.restored = restored

    def to_json(self) -> bytes:
        """The document as compact JSON; a stream as it is."""
        return self.document if self.document.__class__ is bytes else encode(self.document)

    def __repr__(self) -> str:
        kinds: dict[str, int] = {}
        for loss in self.losses:
            kinds[loss.kind] = kinds.get(loss.kind, 0) + 1
        said = ", ".join(f"{n} {kind}" for kind, n in kinds.items()) or "nothing lost"
        return f"<Result: {said}>"
