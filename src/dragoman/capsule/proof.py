"""Whether a loss that a capsule claims to make up for is none any more."""

from __future__ import annotations

from msgspec.structs import replace

from ..core import surrogates
from ..core.reading import follow
from ..core.source import with_source
from ..dialect import Dialect
from ..errors import DragomanError
from ..ledger import Ledger, Loss
from ..model import Json, Tree
from .modelled import wants_model


class Proof:
    """Whether a loss is none any more, found by trying and not believed.

    What was restored is converted to the client's dialect again. A loss is made up for if that
    gives what stands at its place in the client's document; where it is of no place, or of the
    whole document, if that gives the same settings.
    """

    def __init__(
        self,
        client: Dialect,
        echoed: Json,
        heard: Tree,
        dialect: Dialect,
        facet: str,
        log: Ledger,
    ) -> None:
        self.client, self.echoed, self.heard = client, echoed, heard
        self.dialect, self.facet, self.log = dialect, facet, log

    def left(self, document: Json, losses: list[Loss], claimed: list[Loss]) -> list[Loss]:
        """The losses that stay: those that the capsule claims to stay, and what it claims wrongly.

        ``claimed`` is what is left of ``losses`` if all that the capsule says is true.
        """
        if len(claimed) == len(losses):
            return claimed
        stays = {id(loss) for loss in claimed}
        try:
            if (halves := surrogates.halves_of(document)) is not None:
                document = halves.value  # as it was written for the client
            tree = self.dialect.read(document, self.facet)
            if self.client.name == self.dialect.name:
                tree = with_source(tree, document, self.dialect)
            heard = getattr(self.heard, "model", None)
            named = wants_model(tree, self.client)
            restored = not named and getattr(tree, "model", None) != heard
            if named:  # by the client
                tree = replace(tree, model=heard)
            again = self.client.write(tree, Ledger(self.log.now, None, self.log.models))
        except DragomanError:
            return losses
        return [
            loss
            for loss in losses
            if id(loss) in stays
            or not (self.holds(loss.path, again) or (restored and loss.what == "model"))
        ]

    def holds(self, path: str, again: Json) -> bool:
        found, left = follow(self.echoed, path)
        if path and not left:
            return (found, []) == follow(again, path)
        return bool(self.settings(self.echoed) == self.settings(again))

    def settings(self, document: Json) -> Json:
        if document.__class__ is not dict:
            return None
        return {k: v for k, v in document.items() if k != self.client.history}
