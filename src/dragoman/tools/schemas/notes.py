"""What a rewriting says of itself.

Three kinds, as in the ledger: ``renamed`` says the same in other words, so the same values are
accepted; ``approximated`` accepts other values than before; ``dropped`` is gone, but speaks of no
value (a title, a default).
"""

from __future__ import annotations

from typing import NamedTuple

from ...core.reading import escape
from ...ledger import Kind, Ledger, Loss
from ...model import Json, OutputFormat, Tool

DEPTH = 50
"""How deep schemas are followed. The deepest in the wild nest about fifteen schemas."""
MOST = 5000
"""How many schemas may come of one by writing out what it refers to."""


class Note(NamedTuple):
    """One rewriting: its kind, its place in the schema it was made from, and what was done."""

    kind: Kind
    at: str
    why: str

    def __str__(self) -> str:
        return f"{self.kind} at {self.at or '/'} ({self.why})"


class Rewritten(NamedTuple):
    """A schema as a target takes it."""

    schema: Json
    notes: tuple[Note, ...] = ()

    def told(self, node: Schematic, log: Ledger) -> Json:
        """The schema, with what was rewritten told to the ledger."""
        if self.notes:
            code = "tool.schema" if isinstance(node, Tool) else "output.schema"
            log.losses += [
                Loss(n.kind, code, place_of(node, n.at), n.why, log.target) for n in self.notes
            ]
        return self.schema


class Refused(Exception):
    """A schema that cannot be expressed so that nothing else is accepted."""

    def __init__(self, at: str, why: str) -> None:
        super().__init__(why)
        self.at = at
        self.why = why


Schematic = Tool | OutputFormat
"""What has a schema."""


def place_of(node: Schematic, at: str) -> str:
    """Where in the source document something in a schema stands, as far as that is known."""
    return node.at if node.schema_at is None else f"{node.at}{node.schema_at}{at}"


class Place(NamedTuple):
    """Where a schema stands in the one that is rewritten; parts of what was merged have none."""

    pointer: str = ""
    merged: bool = False

    def __truediv__(self, key: str | int) -> Place:
        return self if self.merged else Place(f"{self.pointer}/{escape(str(key))}")

    def mixed(self) -> Place:
        """The same place, for what came here from several."""
        return Place(self.pointer, True)


class Notes:
    """The notes of one rewriting, each once."""

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found: dict[Note, None] = {}

    def same(self, at: Place, why: str) -> None:
        """Said otherwise, for the same values."""
        self.found[Note("renamed", at.pointer, why)] = None

    def other(self, at: Place, why: str) -> None:
        """Other values are accepted than before."""
        self.found[Note("approximated", at.pointer, why)] = None

    def gone(self, at: Place, why: str) -> None:
        """Left out; it says nothing of the values."""
        self.found[Note("dropped", at.pointer, why)] = None
