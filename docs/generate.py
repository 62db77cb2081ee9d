"""Writes the pages of docs/ that are made from the code; ``--check`` only compares."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import dragoman
from dragoman import dialects
from dragoman.ledger import CODES
from dragoman.testing import Case, load_corpus

DOCS = Path(__file__).parent
ROOT = DOCS.parent

KINDS = {
    "dropped": "the target has no place for it",
    "approximated": "carried, with less precision",
    "invented": "the target demands it and the source never said it",
    "moved": "carried whole, but elsewhere; reading it back gives the same, but for its place",
    "renamed": "an identifier that had to change; both ends of a pair alike, and reversibly",
}


def ledger() -> str:
    lines = [
        "# The ledger",
        "",
        "A conversion returns its document *and* every deviation as a value:",
        "`Loss(kind, what, path, why)`. `path` is a JSON pointer into the source document, `why`",
        "is for people. Kinds and codes are stable names; new ones may come, none is renamed.",
        "",
        "| kind | meaning |",
        "| --- | --- |",
        *(f"| `{kind}` | {meaning} |" for kind, meaning in KINDS.items()),
        "",
        "`dragoman.convert(..., fail_on={...})` takes kinds and codes and raises `dragoman.Lossy`.",
        "",
        "| code (`what`) | it speaks of |",
        "| --- | --- |",
        *(f"| `{code}` | {meaning} |" for code, meaning in sorted(CODES.items())),
    ]
    return "\n".join(lines) + "\n"


def matrix() -> str:
    cases = load_corpus(ROOT / "tests" / "corpus")
    names = [n for n in dialects.names() if any(speaks(case, n) for case in cases)]
    lines = [
        "# What each dialect can say",
        "",
        "Made from the cases in `tests/corpus`: every row is a conversation that our tests convert",
        "between all dialects. **yes**: said whole, converted both ways without loss. Otherwise",
        "the codes of what is lost on the way there (see [the ledger](ledger.md)).",
        "",
        f"{len(cases)} cases, {sum(len(c.documents) for c in cases)} files.",
        "",
        "| case | " + " | ".join(names) + " |",
        "| --- |" + " --- |" * len(names),
        *(row(case, names) for case in cases),
    ]
    return "\n".join(lines) + "\n"


def row(case: Case, names: list[str]) -> str:
    cells = [cell(case, name) for name in names]
    return f"| **{case.name}**: {case.title} | " + " | ".join(cells) + " |"


def cell(case: Case, name: str) -> str:
    files = [d for d in case.documents if d.dialect == name and not d.spelling]
    if not files:
        return "-"
    lost: dict[str, None] = {}
    for facet, pairs in case.degrades.items():
        if any(d.degraded and d.facet == facet for d in files):
            for pair, losses in pairs.items():
                if pair.endswith(f"> {name}"):
                    lost |= dict.fromkeys(losses)
    if not lost:
        return "yes"
    return "<br>".join(f"{kind} `{code}`" for kind, code in (loss.split() for loss in lost))


def speaks(case: Case, name: str) -> bool:
    return any(d.dialect == name for d in case.documents)


def formats() -> str:
    lines = [
        "# The dialects",
        "",
        "Made from `dragoman.formats()`.",
        "",
        "| dialect | aliases | facets (r: read, w: write) | specification |",
        "| --- | --- | --- | --- |",
    ]
    for form in dragoman.formats():
        ways = {("read", "write"): "rw", ("read",): "r", ("write",): "w"}
        facets = ", ".join(f"{facet} ({ways[way]})" for facet, way in form.facets.items())
        aliases = ", ".join(f"`{alias}`" for alias in form.aliases)
        lines.append(f"| `{form.name}` | {aliases} | {facets} | {form.spec} |")
    return "\n".join(lines) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "ledger.md": ledger,
    "matrix.md": matrix,
    "formats.md": formats,
}


def main() -> int:
    stale = []
    for name, make in PAGES.items():
        path, text = DOCS / name, make()
        if path.exists() and path.read_text("utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            path.write_text(text, "utf-8")
    if stale and "--check" in sys.argv:
        print(f"out of date: {', '.join(stale)}; run `make docs`")
        return 1
    print(f"docs: {', '.join(stale) or 'all'} {'written' if stale else 'up to date'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
