"""Writes the pages of docs/ that are made from the code; ``--check`` only compares."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import dragoman
from dragoman import dialects
from dragoman.ledger import CODES
from dragoman.testing import Case, Document, is_lossy, load_corpus, speaks

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


# The columns of the matrix, by kind.
GROUPS: dict[str, tuple[str, ...]] = {
    "The APIs": ("anthropic-messages", "openai-chat", "openai-responses", "copilot"),
    "More APIs": ("gemini", "bedrock-converse", "mistral", "ollama"),
    "Shapes of routers and clients": ("copilot-responses", "router-responses", "xzatoma"),
    "The AI SDK": (
        "vercel-model", "vercel-model-v6", "vercel-model-v5", "vercel-core", "vercel-ui",
    ),
    "llxprt": ("icontent", "icontent-design"),
    "Training text": ("functiongemma", "functiongemma-nobos", "functiongemma-teaching"),
}  # fmt: skip


def matrix() -> str:
    cases = load_corpus(ROOT / "tests" / "corpus")
    rest = tuple(sorted(set(dialects.names()) - {n for g in GROUPS.values() for n in g}))
    lines = [
        "# What each dialect can say",
        "",
        "Made from the cases in `tests/corpus`: every row is a conversation that our tests convert",
        "between all dialects. **yes**: said whole. Otherwise the codes of what is lost on the way",
        "there from the case's first file (see [the ledger](ledger.md)); **refused**: the dialect",
        "has no form for it at all, and says so; **-**: it has no such documents. `native` says",
        "all.",
        "",
        f"{len(cases)} cases, {sum(len(c.documents) for c in cases)} files.",
    ]
    for title, names in [*GROUPS.items(), ("Others", tuple(n for n in rest if n != "native"))]:
        lines += table(title, names, cases) if names else []
    return "\n".join(lines) + "\n"


def table(title: str, names: tuple[str, ...], cases: tuple[Case, ...]) -> list[str]:
    rows = []
    for case in cases:
        cells = [cell(case, name) for name in names]
        if set(cells) != {"-"}:
            rows.append(f"| **{case.name}**: {case.title} | " + " | ".join(cells) + " |")
    head = ["| case | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    return ["", f"## {title}", "", *head, *rows]


def cell(case: Case, name: str) -> str:
    whole = [d for d in case.documents if not d.degraded and not d.spelling]
    if any(d.dialect == name for d in whole):
        return "yes"
    for document in whole:
        if speaks(name, document.facet):
            return verdict(document, name)
    return "-"


def verdict(document: Document, name: str) -> str:
    try:
        result = dragoman.convert(
            document.body, source=document.dialect, target=name, facet=document.facet, now=0
        )
    except dragoman.Unsayable:
        return "refused"
    lost = dict.fromkeys(loss.what for loss in result.losses if is_lossy(loss))
    return "<br>".join(f"`{code}`" for code in lost) or "yes"


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
        page = f"[`{form.name}`](dialects/{form.name}.md)"
        lines.append(f"| {page} | {aliases} | {facets} | {form.spec} |")
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
