"""What a dialect is: a name, facets it reads and writes, and the rules of its API.

A facet is a kind of document. A dialect has a facet in a direction when it has the method:
``read_request(doc) -> Request``, ``write_request(tree, log) -> document``, and so on.
Nothing is registered anywhere else.

``keep`` and ``emit`` are the two halves of one promise: what a reader does not understand is kept
under the dialect's name, written back verbatim at home, and is a loss anywhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Literal, TypeAlias

from msgspec import Struct

from .errors import Unsupported
from .ledger import Ledger
from .model import (
    Extras,
    Failure,
    History,
    Json,
    Message,
    Node,
    Request,
    Response,
    Toolbox,
    ToolChoice,
    Tree,
)
from .reading import escape

Facet: TypeAlias = Literal["request", "messages", "tools", "tool-choice", "response", "error"]

FACETS: dict[str, type[Node]] = {
    "request": Request,
    "messages": History,
    "tools": Toolbox,
    "tool-choice": ToolChoice,
    "response": Response,
    "error": Failure,
}
_FACET_OF = {tree: facet for facet, tree in FACETS.items()}

_METHODS = {(way, f): f"{way}_{f.replace('-', '_')}" for f in FACETS for way in ("read", "write")}

NOTHING: dict[str, Json] = {}


class Guess(Struct, frozen=True):
    """One answer to the question what a document is."""

    dialect: str
    facet: str
    confidence: float
    evidence: tuple[str, ...]


class Problem(Struct, frozen=True):
    """Something the real API would reject: the rule it breaks, where, and what the API says."""

    rule: str
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.rule} at {self.path or '/'}: {self.message}"


class Dialect:
    """The base of all dialects. Subclass it, set the names, add ``read_*`` and ``write_*``."""

    name: ClassVar[str]
    spec: ClassVar[str]
    """Where the format is described."""
    issuer: ClassVar[str] = ""
    """Who issues (and alone accepts) the seals and file ids of this dialect."""
    aliases: ClassVar[tuple[str, ...]] = ()
    blank: ClassVar[frozenset[str]] = frozenset()
    """Keys whose empty list, empty object or empty string says the same as their absence."""

    def facets(self) -> dict[str, tuple[str, ...]]:
        """The facets with their directions: ``{"request": ("read", "write"), ...}``."""
        found: dict[str, tuple[str, ...]] = {}
        for facet in FACETS:
            suffix = facet.replace("-", "_")
            ways = tuple(w for w in ("read", "write") if hasattr(self, f"{w}_{suffix}"))
            if ways:
                found[facet] = ways
        return found

    def read(self, doc: Json, facet: str) -> Tree:
        """A document of this dialect as a canonical tree."""
        tree: Tree = self._method("read", facet)(doc)
        return tree

    def write(self, tree: Tree, log: Ledger) -> Json:
        """A canonical tree as a document of this dialect; what it cannot say goes to the log."""
        facet = _FACET_OF.get(type(tree))
        if facet is None:
            raise Unsupported(f"not a canonical tree: {type(tree).__name__}")
        return self._method("write", facet)(tree, log)

    def sniff(self, doc: Json) -> Iterable[tuple[str, float, tuple[str, ...]]]:
        """How sure this dialect is that a document is its own: (facet, confidence, evidence)."""
        return ()

    def settle(self, message: Message, log: Ledger) -> Message:
        """An answer as it stands in a history: what only answers may say is lost."""
        return message

    def check(self, doc: Json, facet: str) -> Iterator[Problem]:
        """What the real API would reject in a document of this dialect."""
        return iter(())

    def _method(self, way: str, facet: str) -> Any:
        method = getattr(self, _METHODS.get((way, facet), ""), None)
        if method is None:
            have = [f for f, ways in self.facets().items() if way in ways]
            raise Unsupported(
                f"{self.name} has no {facet} to {way}; it has: {', '.join(have) or 'nothing'}"
            )
        return method

    # -- the two halves of one promise ------------------------------------------------------

    def keep(
        self,
        doc: dict[str, Json],
        taken: Iterable[str],
        spelling: dict[str, Json] | None = None,
        *,
        partly: Mapping[str, Iterable[str]] = NOTHING,
    ) -> Extras | None:
        """Everything in ``doc`` that was not taken, and how it was spelled.

        A taken key whose value is null was not really taken: null says nothing, and is kept as
        a blank so that it comes back at home. ``partly`` names objects of which some keys were
        taken; what is left of them is kept under the same name.
        """
        fields: dict[str, Json] = {}
        blanks: dict[str, Json] = {}
        for key, value in doc.items():
            if key in partly and value.__class__ is dict:
                inner = self.keep(value, partly[key])
                if inner is not None and inner.fields:
                    fields[key] = inner.fields
                if inner is not None and inner.blanks:
                    blanks[key] = inner.blanks
                elif not value:
                    blanks[key] = value
            elif value is None or (key in self.blank and is_empty(value)):
                blanks[key] = value
            elif key not in taken:
                fields[key] = value
        if fields or blanks or spelling:
            return Extras(self.name, fields, blanks, spelling or {})
        return None

    def emit(self, out: dict[str, Json], node: Node, log: Ledger) -> dict[str, Json]:
        """Add what was kept at home; elsewhere, say that it is lost."""
        extras = node.extras
        if extras is not None:
            if self.is_home(extras.dialect):
                for key, value in extras.fields.items():
                    own = out.get(key)
                    if own.__class__ is dict and value.__class__ is dict:
                        value = own | value  # the rest of an object that was taken in part
                    out[key] = value
                for key, value in extras.blanks.items():
                    own = out.get(key)
                    if own.__class__ is dict and value.__class__ is dict:
                        out[key] = value | own
                    else:
                        out.setdefault(key, value)
            else:
                self.lose(extras, node.at, log)
        return out

    def lose(self, extras: Extras | None, at: str, log: Ledger) -> None:
        """Every foreign field is a loss."""
        if extras is not None and not self.is_home(extras.dialect):
            for key in extras.fields:
                why = f"only {extras.dialect} knows {key!r}"
                log.dropped("extras", f"{at}/{escape(key)}", why)

    def is_home(self, dialect: str | None) -> bool:
        """Whether what that dialect said may be said again here, word for word."""
        return dialect == self.name

    def spelling(self, node: Node) -> dict[str, Json]:
        """How this dialect spelled the node, when it was this dialect."""
        extras = node.extras
        if extras is None or not self.is_home(extras.dialect):
            return NOTHING
        return extras.spelling


def is_empty(value: Json) -> bool:
    """An empty list, object or string."""
    return value.__class__ in (list, dict, str) and not value
