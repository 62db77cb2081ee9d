"""``dragoman detect``: what a document is."""

from __future__ import annotations

from typing import Any

import click

from ..core.reading import encode
from ..core.surrogates import parse_leniently as parse
from ..detect import candidates, detect_stream, is_tied
from ..dialect import Guess
from . import options, terminal
from .app import command as make_command
from .batch import Batch
from .faults import FOUND
from .inputs import CHUNK, Document, Reading, expand, form_of
from .sources import SURE, named_alike, sure
from .wrapped import View


@make_command(
    "detect",
    "dragoman detect request.json answer.sse",
    "dragoman detect --json < request.json",
)
@options.files()
@options.facet_option
@options.jsonl_option
@options.at_option
@click.option("--all", "every", is_flag=True, help="Print every guess, not only the best.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per document.")
def command(
    files: tuple[str, ...],
    facet: str | None,
    lines: bool | None,
    at: tuple[str, ...],
    every: bool,
    as_json: bool,
) -> int:
    """Detect the dialect and facet of a document, with the evidence.

    A document is unknown if no format matches, and ambiguous if several match equally; these are
    named. In both cases, or if the best guess is less than 50 % sure, the exit code is 1: the
    other commands then require -f.
    """
    batch = Batch(expand(files), view=View(at))
    unknown = 0
    for reading in batch.readings(form_of(lines, None, facet)):
        if reading.form == "stream":
            guess = _stream(reading)
            unknown += not guess
            _print(Document(reading.input, b""), guess, every, as_json)
            continue
        for document in batch.documents(reading):
            with batch.attempt(document):
                guesses = _guesses(document, facet)
                unknown += not guesses or is_tied(guesses) or guesses[0].confidence < SURE
                _print(document, guesses, every, as_json)
    return batch.exit_code or (FOUND if unknown else 0)


def _stream(reading: Reading) -> list[Guess]:
    """A stream by how it begins; the rest of it is not read."""
    seen = b""
    for chunk in reading.chunks():
        seen += chunk
        if (guess := detect_stream(seen)) is not None:
            return [guess]
        if len(seen) > CHUNK:
            break
    return []


def _guesses(document: Document, facet: str | None) -> list[Guess]:
    """What stands around a document tells more than what it looks like."""
    if document.hint is not None and facet in (None, document.hint.facet):
        dialect, kind, why, *_ = document.hint
        return [Guess(dialect, kind, 1.0, (why,))]
    return candidates(parse(document.data), facet)


def _print(document: Document, guesses: list[Guess], every: bool, as_json: bool) -> None:
    name, line = document.input.name, document.line
    tied = is_tied(guesses)
    if as_json:
        entry: dict[str, Any] = {"input": name, "line": line, "tied": tied}
        if document.outer is not None:
            entry["path"] = document.place("")
        entry["guesses"] = [
            {
                "dialect": guess.dialect,
                "facet": guess.facet,
                "confidence": guess.confidence,
                "evidence": list(guess.evidence),
            }
            for guess in (guesses if every or tied else guesses[:1])
        ]
        terminal.put_json(encode(entry))
        return
    for written in _lines(document.name, guesses, tied, every):
        terminal.put(written)


def _lines(where: str, guesses: list[Guess], tied: bool, every: bool) -> list[str]:
    name = terminal.bold(where)
    if not guesses:
        return [f"{name}: unknown: not recognised as any supported format"]
    if tied and not every:
        return [f"{name}: ambiguous: {named_alike(guesses)}"]
    if guesses[0].confidence < SURE and not every:
        return [f"{name}: unsure: {_written(guesses[0])}"]
    return [f"{name}: {_written(guess)}" for guess in (guesses if every else guesses[:1])]


def _written(guess: Guess) -> str:
    evidence = ", ".join(terminal.clean(sign) for sign in guess.evidence)
    what = terminal.cyan(f"{guess.dialect} {guess.facet}")
    return f"{what} {terminal.dim(f'({sure(guess.confidence)} sure: {evidence})')}"
