"""The exceptions.

DragomanError
├── Malformed         the input is at fault; ``at`` says where
│   └── CapsuleError  a capsule is: damaged, forged, or of another document; ``at`` points into it
├── Unsupported       dragoman's limit: an unknown dialect, a facet that a dialect does not have
│   ├── Unsayable     the target cannot say this conversation at all; ``at`` says why not
│   └── MissingExtra  a package that only some of dragoman needs is not installed
└── Lossy             the caller's policy: a loss that was not to happen; ``losses`` lists them

``dragoman.providers`` adds a branch of its own: ``ProviderError``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    """The target has no form for this conversation. ``at`` points into the source document."""

    def __init__(self, what: str, at: str = "") -> None:
        self.what = what
        self.at = at
        super().__init__(f"{what} - at {at or 'the top of the document'}")


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
