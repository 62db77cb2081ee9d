"""Writes the files that the conversions of a case now give. Read the diff as you would read code.

``python tests/accept.py CASE SOURCE`` takes ``CASE/SOURCE.*.json`` as true and writes the files of
the other dialects: whole where the ledger is empty, ``.degraded.json`` with declared losses where
it is not. Without SOURCE, every file that exists is written anew from the first that is whole.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from dragoman import Result, convert
from dragoman.testing import Case, Document, is_lossy, load_case, load_corpus

ROOT = Path(__file__).parent / "corpus"
GREAT = ("anthropic-messages", "openai-chat", "openai-responses")


def main(arguments: list[str]) -> None:
    cases = [load_case(ROOT / arguments[0])] if arguments else list(load_corpus(ROOT))
    source = arguments[1] if len(arguments) > 1 else None
    for case in cases:
        accept(case, source)


def accept(case: Case, source: str | None) -> None:
    degrades: dict[str, dict[str, list[str]]] = {}
    truths = [d for d in case.documents if not d.degraded and not d.spelling]
    for facet in sorted({d.facet for d in truths}):
        same = [d for d in truths if d.facet == facet]
        truth = next((d for d in same if source in (None, d.dialect)), same[0])
        for target in GREAT:
            if target != truth.dialect:
                write(case.name, truth, target)
    for document in load_case(ROOT / case.name).documents:
        if not document.degraded:
            for target in GREAT:
                if losses := lost(document, target):
                    who = document.dialect + (document.spelling and f"~{document.spelling}")
                    degrades.setdefault(document.facet, {})[f"{who} > {target}"] = losses
    save(case, degrades)


def write(case: str, truth: Document, target: str) -> None:
    result = turn(truth, target)
    whole = ROOT / case / f"{target}.{truth.facet}.json"
    degraded = ROOT / case / f"{target}.{truth.facet}.degraded.json"
    lossy = any(map(is_lossy, result.losses))
    path, other = (degraded, whole) if lossy else (whole, degraded)
    other.unlink(missing_ok=True)
    text = json.dumps(result.document, indent=2, ensure_ascii=False)
    path.write_text(text + "\n", "utf-8")


def turn(document: Document, target: str) -> Result:
    return convert(
        document.body, source=document.dialect, target=target, facet=document.facet, now=0
    )


def lost(document: Document, target: str) -> list[str]:
    return sorted(f"{loss.kind} {loss.what}" for loss in turn(document, target).losses)


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
