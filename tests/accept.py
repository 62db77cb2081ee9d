"""Writes the files that the conversions of a case now give. Read the diff as you would read code.

``python tests/accept.py CASE SOURCE TARGET...`` takes ``CASE/SOURCE.*.json`` as true. Where nothing
is lost on the way to another dialect and back, its file is written; where something is, what it
writes and all losses go to the transcript of the case, ``degraded.txt``. The other dialects are the
eight that are the API of a vendor, those that the case has already, and the TARGETs. Without
SOURCE, all is written anew from the first file. With ``losses`` for SOURCE, the files stay, and
only the transcript is written anew. Without CASE, all cases are.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path

import places
from dragoman import Result, Unsayable, testing
from dragoman.laws import transcript
from dragoman.laws.cases import TRANSCRIPT
from dragoman.laws.transcript import Kind, Transcript
from dragoman.model import Json
from dragoman.testing import Document, bodies, is_lossy, load_transcript, load_whole, speaks

ROOT = places.CORPUS
EVERYWHERE = (
    "anthropic-messages", "bedrock-converse", "cohere", "gemini", "mistral", "ollama",
    "openai-chat", "openai-responses",
)  # fmt: skip
"""Each case says what these make of it, as far as they have such a document."""


def main(arguments: list[str]) -> None:
    folders = sorted(path.parent for path in ROOT.glob(f"{(*arguments, '*')[0]}/case.toml"))
    source = arguments[1] if len(arguments) > 1 else None
    for folder in folders:
        accept(folder, source, {*EVERYWHERE, *arguments[2:]})


def accept(folder: Path, source: str | None, wanted: set[str]) -> None:
    whole = load_whole(folder)
    had = transcript.targets(load_transcript(folder)) | bodies(whole).keys()
    documents: dict[Kind, Json] = {}
    for facet in sorted({d.facet for d in whole}):
        same = [d for d in whole if d.facet == facet and not d.spelling]
        truth = next((d for d in same if source in (None, d.dialect)), same[0])
        kept = {d.dialect for d in same} if source == "losses" else {truth.dialect}
        for target in targets(had, wanted, facet):
            if target not in kept:
                documents |= write(folder, truth, target, source != "losses")
    whole = load_whole(folder)
    losses: dict[str, dict[str, list[str]]] = {}
    for document in whole:
        for target in targets(had, wanted, document.facet):
            if found := lost(document, target):
                who = document.dialect + (document.spelling and f"~{document.spelling}")
                losses.setdefault(document.facet, {})[f"{who} > {target}"] = found
    save(folder, Transcript(losses, documents), bodies(whole))


def targets(had: set[Kind], wanted: set[str], facet: str) -> list[str]:
    """The dialects that are wanted or in the case already, and can say such a document."""
    named = {*wanted, *(dialect for kind, dialect in had if kind == facet)}
    return sorted(name for name in named if speaks(name, facet))


def write(folder: Path, truth: Document, target: str, files: bool) -> dict[Kind, Json]:
    """Write the file of a target; where it would not be whole, give the document instead."""
    try:
        result = turn(truth, target)
    except Unsayable:
        return {}  # the dialect has no form for such a conversation
    path = folder / f"{target}.{truth.facet}.json"
    if not files or not is_same(truth, result, target):
        path.unlink(missing_ok=True)
        return {(truth.facet, target): result.document}
    if not path.exists() or json.loads(path.read_text("utf-8")) != result.document:
        # else it stays as somebody has laid it out
        text = json.dumps(result.document, indent=2, ensure_ascii=False)
        path.write_text(text + "\n", "utf-8")
    return {}


def is_same(truth: Document, result: Result, target: str) -> bool:
    """Whether nothing was lost, and nothing is on the way back."""
    if any(map(is_lossy, result.losses)):
        return False
    back = turn(truth._replace(dialect=target, body=result.document), truth.dialect)
    return back.document == truth.body and not any(map(is_lossy, back.losses))


def turn(document: Document, target: str) -> Result:
    return testing.converted(document, target)


def lost(document: Document, target: str) -> list[str]:
    try:
        return sorted(map(transcript.entry, turn(document, target).losses))
    except Unsayable:
        return []


def save(folder: Path, told: Transcript, whole: dict[Kind, Json]) -> None:
    with suppress(transcript.Stale):
        before = transcript.read(load_transcript(folder), whole)
        if same_text(before) == same_text(told):
            told = before  # keys in another order are no change
    path = folder / TRANSCRIPT
    if told.losses or told.documents:
        path.write_text(transcript.write(told, whole), "utf-8")
    else:
        path.unlink(missing_ok=True)


def same_text(told: Transcript) -> str:
    bodies = {" ".join(kind): body for kind, body in told.documents.items()}
    return json.dumps([told.losses, bodies], sort_keys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
