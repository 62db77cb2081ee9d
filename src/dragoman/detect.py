"""What is this document? Every dialect is asked how sure it is; on a tie there is no answer."""

from __future__ import annotations

from . import dialects
from .dialect import Dialect, Guess
from .model import Json
from .reading import load

FLOOR = 0.1
"""What is less likely than this is not worth saying."""
MARGIN = 0.01
"""Two guesses nearer than this are tied."""


def detect(doc: Json | bytes, *, facet: str | None = None) -> tuple[Guess, ...]:
    """The dialects and facets a document may be of, best first, each with its evidence.

    Nothing, if there is no likely guess or if the best two are tied: ``detect(doc)[0]`` is never
    the toss of a coin. With ``facet``, only guesses of that facet count.

    >>> detect({"choices": [{"message": {"role": "assistant", "content": "Hi"}}]})[0].dialect
    'openai-chat'
    >>> detect([{"role": "user", "content": "Hi"}])  # everybody says it so
    ()
    """
    return weigh(load(doc), facet)


def weigh(value: Json, facet: str | None = None) -> tuple[Guess, ...]:
    """``detect`` for a value that was just parsed, and need not be looked through again."""
    guesses = [
        Guess(speaker.name, found, confidence, evidence)
        for speaker in _speakers()
        for found, confidence, evidence in speaker.sniff(value)
        if confidence >= FLOOR and facet in (None, found)
    ]
    guesses.sort(key=lambda guess: (-guess.confidence, guess.dialect, guess.facet))
    if len(guesses) > 1 and guesses[0].confidence - guesses[1].confidence < MARGIN:
        return ()
    return tuple(guesses)


def _speakers() -> list[Dialect]:
    """The dialects that have evidence of their own.

    A variant that inherits its evidence would always be tied with what it is a variant of; it is
    left out, and the base speaks for both.
    """
    first: dict[object, Dialect] = {}
    for name in dialects.names():
        speaker = dialects.get(name)
        known = first.get(type(speaker).sniff)
        if known is None or issubclass(type(known), type(speaker)):
            first[type(speaker).sniff] = speaker
    return list(first.values())
