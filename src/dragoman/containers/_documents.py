"""A document that stands in a container, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from msgspec.structs import replace

from ..core.reading import load
from ..ledger import Loss
from ..model import Json

Put: TypeAlias = Callable[[Json, str, int], tuple[Json, tuple[Loss, ...]]]


class Document:
    """One document of a container.

    ``dialect`` and ``facet`` are what the container tells of it (its address, the shape of its
    record); None where it tells nothing, and the document must be detected. ``place`` is where a
    JSON pointer into the document points in the container; ``at`` is the record that it is part of,
    ``line`` the line of the file, ``id`` the record's own id.
    """

    __slots__ = (
        "asks_stream",
        "at",
        "data",
        "dialect",
        "facet",
        "id",
        "line",
        "notes",
        "place",
        "put",
        "status",
        "time",
        "why",
    )

    def __init__(
        self,
        data: bytes,
        dialect: str | None,
        facet: str | None,
        *,
        at: str = "",
        line: int | None = None,
        id: str | None = None,
        why: str = "",
        notes: tuple[Loss, ...] = (),
        place: Callable[[str], str] = str,
        asks_stream: str = "",
        status: int = 200,
        time: float | None = None,
        put: Put | None = None,
    ) -> None:
        self.data = data
        """The document, as JSON."""
        self.dialect = dialect
        self.facet = facet
        self.at = at
        self.line = line
        self.id = id
        self.why = why
        """How the dialect is known."""
        self.notes = notes
        """Losses that it has had before it was a document."""
        self.place = place
        self.asks_stream = asks_stream
        """Where the address stands that asks for a stream, if the document does not say so."""
        self.status = status
        self.time = time
        self.put = put
        """The record around a converted document: given that, its dialect, and the number of the
        record; with what was lost."""

    @property
    def value(self) -> Any:
        """The document, parsed; ``Malformed`` if it is no JSON."""
        return load(self.data, None)

    def __repr__(self) -> str:
        where = f"line {self.line}" if self.line else self.at or "the whole file"
        return f"<{self.dialect or 'unknown'} {self.facet or 'document'} at {where}>"


def located(losses: Iterable[Loss], place: Callable[[str], str]) -> Iterator[Loss]:
    """Losses by their places in the container."""
    return (replace(loss, path=place(loss.path)) for loss in losses)
