"""What a document is: as it was told, or as it looks, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from .. import dialects
from ..core.surrogates import parse_leniently as parse
from ..detect import MARGIN, alike, candidates, detect_stream, is_tied
from ..dialect import Guess
from ..model import Json
from . import terminal
from .faults import MALFORMED, USAGE, Fault
from .inputs import CHUNK, Document, Nothing, Reading

SURE = 0.5
"""What is less likely than this is not taken for granted: `-f` must name the dialect."""


class Source(NamedTuple):
    """The dialect and the facet; ``why`` is empty where both were told."""

    dialect: str
    facet: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.dialect} {self.facet}"


def identify(
    document: Document, dialect: str | None, facet: str | None, value: Json = None
) -> Source:
    """What a document is. What was told is not doubted; the rest shows, or it is a ``Fault``.

    ``value`` is what the document says, for those who have parsed it already.
    """
    if dialect is not None and facet is not None:
        return Source(dialect, facet)
    if document.hint is not None:
        told, kind, why, *_ = document.hint
        return Source(dialect or told, facet or kind, why if dialect is None else "")
    value = parse(document.data) if value is None else value
    if dialect is not None:
        found = dialects.get(dialect).sniff(value)
        guesses = sorted((Guess(dialect, *each) for each in found), key=lambda g: -g.confidence)
        if not guesses or (
            len(guesses) > 1 and guesses[0].confidence - guesses[1].confidence < MARGIN
        ):
            is_list = value.__class__ is list and "messages" in dialects.get(dialect).facets()
            return Source(dialect, "messages" if is_list else "request")
        facet = guesses[0].facet
        # A request is what everybody expects; anything else is written.
        doubtful = guesses[0].confidence < SURE
        return Source(dialect, facet, "" if facet == "request" or doubtful else _why(guesses[0]))
    guesses = candidates(value, facet)
    if not guesses or is_tied(guesses):
        may_be = f": {named_alike(guesses)} match equally" if guesses else ""
        raise Nothing(
            f"cannot tell the dialect of this {facet or 'document'}{may_be}",
            USAGE,
            where=document.name,
            hint="name it with -f DIALECT; `dragoman formats` lists them",
        )
    best = guesses[0]
    if best.confidence < SURE:
        raise unsure(best, document.name)
    return Source(best.dialect, best.facet, _why(best))


def named_alike(guesses: list[Guess]) -> str:
    """The guesses that are tied."""
    return ", ".join(f"{guess.dialect} {guess.facet}" for guess in alike(guesses))


def unsure(guess: Guess, where: str) -> Fault:
    """Less than half sure is not sure enough to go on."""
    return Fault(
        f"dialect not certain: {guess.dialect} {guess.facet}? ({_why(guess)})",
        USAGE,
        where=where,
        hint=f"name it with -f {guess.dialect}, or another one; `dragoman formats` lists them",
    )


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


def identify_stream(reading: Reading, dialect: str | None) -> tuple[Source, Iterator[bytes]]:
    """What a stream is, and its bytes: those that were looked at, and those that come."""
    chunks = reading.chunks()
    if dialect is not None:
        return Source(dialect, "stream"), chunks
    seen = b""
    for chunk in chunks:
        seen += chunk
        if (guess := detect_stream(seen)) is not None:
            if guess.confidence < SURE:
                raise unsure(guess, reading.input.name)
            return Source(guess.dialect, "stream", _why(guess)), chain((seen,), chunks)
        if len(seen) > CHUNK:
            break
    raise Fault(
        "cannot tell the dialect of this stream" if seen.strip() else "empty file, no stream",
        USAGE if seen.strip() else MALFORMED,
        where=reading.input.name,
        hint="name it with -f DIALECT; `dragoman formats` lists them" if seen.strip() else "",
    )


class Teller:
    """Says what was detected: once, and again when it changes."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.told: tuple[str, str] | None = None

    def tell(self, document: Document | Reading, source: Source) -> str | None:
        """The line to say, if there is anything to say."""
        seen = (document.input.name, str(source))
        if self.quiet or not source.why or seen == self.told:
            return None
        self.told = seen
        name = terminal.bold(
            document.name if isinstance(document, Document) else document.input.name
        )
        return f"{name}: {terminal.cyan(str(source))} {terminal.dim(f'({source.why})')}"
