"""What a document is: as it was told, or as it looks, with the reason."""

from __future__ import annotations

from typing import NamedTuple

from .. import dialects
from ..detect import MARGIN, weigh
from ..dialect import Guess
from ..reading import parse
from . import terminal
from .faults import USAGE, Fault
from .inputs import Document


class Source(NamedTuple):
    """The dialect and the facet; ``why`` is empty where both were told."""

    dialect: str
    facet: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.dialect} {self.facet}"


def identify(document: Document, dialect: str | None, facet: str | None) -> Source:
    """What a document is. What was told is not doubted; the rest shows, or it is a ``Fault``."""
    if dialect is not None and facet is not None:
        return Source(dialect, facet)
    value = parse(document.data)
    if dialect is not None:
        found = dialects.get(dialect).sniff(value)
        guesses = sorted((Guess(dialect, *each) for each in found), key=lambda g: -g.confidence)
        if not guesses or (
            len(guesses) > 1 and guesses[0].confidence - guesses[1].confidence < MARGIN
        ):
            return Source(dialect, "request")
        facet = guesses[0].facet
        # A request is what everybody expects; anything else is said.
        return Source(dialect, facet, "" if facet == "request" else _why(guesses[0]))
    guesses = list(weigh(value, facet))
    if not guesses:
        what = facet or "document"
        raise Fault(
            f"cannot tell the dialect of this {what}",
            USAGE,
            where=document.name,
            hint="name it: -f DIALECT; `dragoman formats` lists them",
        )
    best = guesses[0]
    return Source(best.dialect, best.facet, _why(best))


def _why(guess: Guess) -> str:
    evidence = ", ".join(terminal.clean(sign) for sign in guess.evidence[:4])
    more = ", ..." if len(guess.evidence) > 4 else ""
    return f"{sure(guess.confidence)} sure: {evidence}{more}"


def sure(confidence: float) -> str:
    """A confidence in percent; what is not certain is not called so.

    >>> sure(0.9998), sure(1.0)
    ('99 %', '100 %')
    """
    return f"{int(confidence * 100)} %"


class Teller:
    """Says what was detected: once, and again when it changes."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.told: tuple[str, str] | None = None

    def tell(self, document: Document, source: Source) -> str | None:
        """The line to say, if there is anything to say."""
        seen = (document.input.name, str(source))
        if self.quiet or not source.why or seen == self.told:
            return None
        self.told = seen
        name = terminal.bold(document.name)
        return f"{name}: {terminal.cyan(str(source))} {terminal.dim(f'({source.why})')}"
