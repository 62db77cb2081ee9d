"""Writes the files that the conversions of a case now give. Read the diff as you would read code.

``python tests/accept.py CASE SOURCE TARGET...`` takes ``CASE/SOURCE.*.json`` as true and writes the
files of the other dialects: whole where nothing is lost on the way there and back, else
``.degraded.json``, and the declared losses. The other dialects are the eight that are the API of
a vendor, those that have a file there, and the TARGETs. Without SOURCE, all is written anew from
the first file that is whole. With ``losses`` for SOURCE, the files stay, and only the declared
losses are written anew.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from dragoman import Result, Unsayable, testing
from dragoman.testing import Case, Document, is_lossy, load_case, load_corpus, speaks

ROOT = Path(__file__).parent / "corpus"
EVERYWHERE = (
    "anthropic-messages", "bedrock-converse", "cohere", "gemini", "mistral", "ollama",
    "openai-chat", "openai-responses",
)  # fmt: skip
"""Each case says what these make of it, as far as they have such a document."""


def main(arguments: list[str]) -> None:
    cases = [load_case(ROOT / arguments[0])] if arguments else list(load_corpus(ROOT))
    source = arguments[1] if len(arguments) > 1 else None
    for case in cases:
        accept(case, source, {*EVERYWHERE, *arguments[2:]})


def accept(case: Case, source: str | None, wanted: set[str]) -> None:
    degrades: dict[str, dict[str, list[str]]] = {}
    truths = [d for d in case.documents if not d.degraded and not d.spelling]
    for facet in sorted({d.facet for d in truths} if source != "losses" else ()):
        same = [d for d in truths if d.facet == facet]
        truth = next((d for d in same if source in (None, d.dialect)), same[0])
        for target in targets(case, wanted, facet):
            if target != truth.dialect:
                write(case.name, truth, target)
    for document in load_case(ROOT / case.name).documents:
        if not document.degraded:
            for target in targets(case, wanted, document.facet):
                if losses := lost(document, target):
                    who = document.dialect + (document.spelling and f"~{document.spelling}")
                    degrades.setdefault(document.facet, {})[f"{who} > {target}"] = losses
    save(case, degrades)


def targets(case: Case, wanted: set[str], facet: str) -> list[str]:
    """The dialects that are wanted or have a file in the case, and can say such a document."""
    named = {*wanted, *(d.dialect for d in case.documents if not d.spelling)}
    return sorted(name for name in named if speaks(name, facet))


def write(case: str, truth: Document, target: str) -> None:
    try:
        result = turn(truth, target)
    except Unsayable:
        return  # the dialect has no form for such a conversation
    whole = ROOT / case / f"{target}.{truth.facet}.json"
    degraded = ROOT / case / f"{target}.{truth.facet}.degraded.json"
    path, other = (whole, degraded) if is_same(truth, result, target) else (degraded, whole)
    other.unlink(missing_ok=True)
    if path.exists() and json.loads(path.read_text("utf-8")) == result.document:
        return  # it says the same, and stays as somebody has laid it out
    text = json.dumps(result.document, indent=2, ensure_ascii=False)
    path.write_text(text + "\n", "utf-8")


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
        return sorted(f"{loss.kind} {loss.what}" for loss in turn(document, target).losses)
    except Unsayable:
        return []


def save(case: Case, degrades: dict[str, dict[str, list[str]]]) -> None:
    path = ROOT / case.name / "case.toml"
    lines = [path.read_text("utf-8").partition("\n[degrades")[0].rstrip()]
    for facet, pairs in sorted(degrades.items()):
        lines += ["", f"[degrades.{facet}]"]
        for pair, losses in sorted(pairs.items()):
            lines.append(f"{json.dumps(pair)} = {json.dumps(losses)}")
    path.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
