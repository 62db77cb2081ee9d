"""The exceptions.

DragomanError
├── Malformed         the input is invalid; ``at`` is its path
│   └── CapsuleError  a capsule is invalid, or of another document; ``at`` points into it
├── Unsupported       dragoman's limit: an unknown dialect, a facet that a dialect does not have
│   ├── Unsayable     the target cannot express this conversation; ``at`` is the path
│   ├── Undetected    the dialect of a document is unknown; ``tied`` lists those it may be of
│   └── MissingExtra  a package that only some of dragoman needs is not installed
└── Lossy             a loss that the caller's ``fail_on`` forbids; ``losses`` lists them

``dragoman.providers`` adds a branch of its own: ``ProviderError``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .dialect import Guess
    from .ledger import Loss


class DragomanError(Exception):
    """The base of everything dragoman raises on purpose."""


class Malformed(DragomanError):
    """The input cannot be read. ``at`` is the JSON pointer of the place at fault."""

    def __init__(self, what: str, at: str = "") -> None:
        self.what = what
        self.at = at
        super().__init__(f"{what} - at {at or 'the top of the document'}")


class CapsuleError(Malformed):
    """The capsule cannot be opened. ``at`` is the JSON pointer of the place in the capsule."""

    def __init__(self, what: str, at: str = "") -> None:
        super().__init__(what, at)
        self.args = (f"capsule: {what} - at {at or 'its top'}",)


class Unsupported(DragomanError):
    """Dragoman cannot do this; the message says what it can do instead."""


class Unsayable(Unsupported):
    """The target cannot express this conversation. ``at`` points into the source document."""

    def __init__(self, what: str, at: str = "") -> None:
        self.what = what
        self.at = at
        super().__init__(f"{what} - at {at or 'the top of the document'}")


class Undetected(Unsupported):
    """No dialect was named, and the document does not tell.

    ``tied`` has the guesses that are equally likely; it is empty where no dialect is likely.
    """

    def __init__(self, facet: str, tied: tuple[Guess, ...]) -> None:
        self.facet = facet
        self.tied = tied
        what = f"this {facet} is not recognised as any supported format"
        if tied:
            names = ", ".join(dict.fromkeys(guess.dialect for guess in tied))
            what = f"this {facet} is ambiguous: {names} match equally"
        super().__init__(f"{what}; name it with source=")


class MissingExtra(Unsupported, ImportError):
    """A package is not installed. To Python this is an ``ImportError`` like any other."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs extra packages: pip install 'dragoman[{extra}]'")


class Lossy(DragomanError):
    """A conversion lost something that the caller's ``fail_on`` forbids."""

    def __init__(self, losses: tuple[Loss, ...]) -> None:
        self.losses = losses
        shown = "; ".join(str(loss) for loss in losses[:3])
        more = f"; and {len(losses) - 3} more" if len(losses) > 3 else ""
        super().__init__(f"{shown}{more}")
