"""Writes the pages and files that are made from the code; ``--check`` only compares."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path

import schemas
from msgspec import to_builtins

import dragoman
from dragoman import dialects
from dragoman.cli.man import man_page
from dragoman.cli.models import words
from dragoman.core.endpoint import Endpoint
from dragoman.core.models import DEFAULT
from dragoman.dialects.openai_chat import OpenAIChat
from dragoman.dialects.openai_responses import OpenAIResponses
from dragoman.explain import ADVICE, KINDS
from dragoman.ledger import CODES
from dragoman.survey import Probe, lost, speaks
from dragoman.testing import Case, load_corpus

ROOT = Path(__file__).parents[1]


def ledger() -> str:
    lines = [
        "# The ledger",
        "",
        "A conversion returns its document *and* every deviation as a value:",
        "`Loss(kind, what, path, why, target)`. `path` is a JSON pointer into the source document,",
        "`why` is for people, `target` the dialect that was written. Kinds and codes are stable",
        "names; new ones may come, none is renamed. `document, losses = dragoman.convert(...)`.",
        "",
        "| kind | meaning |",
        "| --- | --- |",
        *(f"| `{kind}` | {meaning} |" for kind, meaning in KINDS.items()),
        "",
        "`dragoman.convert(..., fail_on={...})` takes kinds and codes and raises `dragoman.Lossy`;",
        "`dragoman convert --fail-on` takes them and exits with 3. `dragoman explain`",
        "says of one code what stands here.",
        "",
        "| code (`what`) | it speaks of | why it happens | what to do |",
        "| --- | --- | --- | --- |",
        *(
            f"| `{code}` | {meaning} | {ADVICE[code][0]} | {ADVICE[code][1]} |"
            for code, meaning in sorted(CODES.items())
        ),
    ]
    return "\n".join(lines) + "\n"


# The columns of the matrix, by kind.
GROUPS: dict[str, tuple[str, ...]] = {
    "The APIs": ("anthropic-messages", "openai-chat", "openai-responses", "copilot"),
    "More APIs": (
        "gemini", "gemini-interactions", "bedrock-converse", "mistral", "ollama", "cohere",
    ),
    "Variants of Chat and Responses": (),  # those that inherit from them
    "Shapes of routers and clients": ("copilot-responses", "router-responses", "xzatoma"),
    "The AI SDK": (
        "vercel-model", "vercel-model-v6", "vercel-model-v5", "vercel-core", "vercel-ui",
    ),
    "Frameworks": (
        "langchain", "langchain-dumpd", "pydantic-ai", "llamaindex", "strands", "openai-agents",
        "google-adk", "litellm", "semantic-kernel",
    ),
    "Protocols and records": ("mcp", "ag-ui", "otel-genai"),
    "llxprt": ("icontent", "icontent-design"),
    "Sessions of agents": (
        "claude-code", "codex", "copilot-cli", "gemini-cli", "goose", "opencode", "qwen-code",
    ),
    "Training text": ("functiongemma", "functiongemma-nobos", "functiongemma-teaching"),
}  # fmt: skip


def matrix() -> str:
    """For each code and each dialect: what is declared of it, or how often cases lose it."""
    found = occurrences(load_corpus(ROOT / "tests" / "corpus"))
    named = {n for g in GROUPS.values() for n in g}
    rest = [n for n in dialects.names() if n not in named and n != "native"]
    variants = tuple(n for n in rest if isinstance(dialects.get(n), OpenAIChat | OpenAIResponses))
    others = tuple(n for n in rest if n not in variants)
    lines = [
        "# What each dialect can hold",
        "",
        "A row is a code of [the ledger](ledger.md). Made from what each dialect declares it can",
        "express (`Dialect.can`, and `Dialect.fields` for parameters), and for the codes that no",
        "declaration decides from the cases in `tests/corpus`: each is a conversation that the",
        "tests convert into every dialect. A case has a code if some dialect loses it.",
        "",
        "- **yes**, **no**: the dialect can hold it, or cannot; all cases lose it, or none does",
        "- **history**, **requests**, **responses**: only there",
        "- **0 to 2**: the range of a parameter; the nearest value is written for others",
        "- **image, document**: of these, from these, on these",
        "- **3 of 9**: so many of the cases that have it lose it, or a part of it",
        "- **-**: the dialect has no such documents",
        "",
        "`native` holds everything. `dragoman formats -f chat -t anthropic` compares what",
        "two dialects declare and lists the other losses, with the cases; `dragoman explain CODE`",
        "tells what a code means.",
    ]
    for title, names in [*GROUPS.items(), ("Others", others)]:
        names = names or (others if title == "Others" else variants)
        lines += table(title, names, found) if names else []
    return "\n".join(lines) + "\n"


LOST = ("dropped", "approximated", "renamed")
"""What is moved is still there, and what is invented was not in the source."""

# Of a code: the cases that have it, by dialect, and whether they lose it there.
Occurrences = dict[str, dict[str, list[bool]]]


def occurrences(cases: tuple[Case, ...]) -> Occurrences:
    found: Occurrences = {}
    for case in cases:
        whole = [d for d in case.documents if not d.degraded and not d.spelling]
        for facet in sorted({d.facet for d in whole}):
            first = next(d for d in whole if d.facet == facet)
            lost_by = {
                name: {loss.what for loss in losses if loss.kind in LOST}
                for name in dialects.names()
                if name != "native"
                and speaks(name, facet)
                and (losses := lost(first.body, first.dialect, name, facet)) is not None
            }
            for code in set().union(*lost_by.values()):
                for name, codes in lost_by.items():
                    found.setdefault(code, {}).setdefault(name, []).append(code in codes)
    return found


def table(title: str, names: tuple[str, ...], found: Occurrences) -> list[str]:
    rows = []
    known = {name: dialects.get(name).declared() for name in names}
    for code in CODES:
        cells = [known[name].get(code) or cell(found.get(code, {}).get(name, [])) for name in names]
        if set(cells) - {"-", "yes"}:
            rows.append(f"| `{code}`: {CODES[code]} | " + " | ".join(cells) + " |")
    head = ["| code | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    return ["", f"## {title}", "", "What all of them hold is left out.", "", *head, *rows]


def cell(lost_in: list[bool]) -> str:
    if not lost_in:
        return "-"
    if not any(lost_in):
        return "yes"
    return "no" if all(lost_in) else f"{sum(lost_in)} of {len(lost_in)}"


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


def models() -> str:
    """Every row of the tables of models, with its sources."""
    lines = [
        "# The tables of models",
        "",
        "Made from `src/dragoman/core/models/`; [models.md](models.md) tells how they are used and",
        "extended. The first row that matches holds; `*` is any other name of the vendor.",
    ]
    for vendor in DEFAULT.vendors():
        if not vendor.rows:
            continue
        lines += ["", f"## {vendor.title}", "", "| names | what holds |", "| --- | --- |"]
        sources: dict[str, None] = {}
        for row in vendor.rows:
            names = ", ".join(f"`{name}`" for name in row.names)
            lines.append(f"| {names} | {'; '.join(words(row.facts)) or 'nothing is refused'} |")
            known = to_builtins(row.facts)
            sources |= dict.fromkeys(written for k, written in row.sources.items() if k in known)
        lines += ["", "Sources:", "", *(f"- {written}" for written in sources)]
    return "\n".join(lines) + "\n"


def probes() -> str:
    """Of every case one document of each facet: what `dragoman formats -f A -t B` tries."""
    lines = []
    for case in load_corpus(ROOT / "tests" / "corpus"):
        whole = [d for d in case.documents if not d.degraded and not d.spelling]
        first = {d.facet: d for d in reversed(whole)}
        for facet, document in sorted(first.items()):
            probe = Probe(case.name, case.title, document.dialect, facet, document.body)
            lines.append(json.dumps(probe, ensure_ascii=False, separators=(",", ":")))
    return "\n".join(lines) + "\n"


def addresses() -> str:
    """The page about providers, with the table of addresses."""
    head = "| dialect | base URL | path | url and settings from | key from | sent as |"
    text = (ROOT / "docs" / "providers.md").read_text("utf-8")
    before, after = text.split(head)
    rest = after.lstrip("\n").split("\n\n", 1)[1]
    rows = [address(name, row) for name in dialects.names() for row in dialects.get(name).endpoints]
    return (
        before + "\n".join((head, "| --- | --- | --- | --- | --- | --- |", *rows)) + "\n\n" + rest
    )


def address(name: str, row: Endpoint) -> str:
    """One row of that table."""
    known = dict.fromkeys((*row.url_variables, *(v for s in row.settings.values() for v in s)))
    keys = [f"`{key}`" for key in row.key_variables]
    keys += {"key": [], "aws": ["AWS"], "google": ["Google"]}[row.auth]
    stream = f" (stream: `{row.stream_path}`)" if row.stream_path else ""
    cells = (
        f"`{name}`" + (f', `platform="{row.platform}"`' if row.platform else ""),
        f"`{row.base or 'url='}`",
        f"`{row.prefix}{row.path}`{stream}",
        ", ".join(f"`{variable}`" for variable in known),
        ", ".join(keys),
        f"`{row.key_header}{': ' + row.key_scheme.strip() if row.key_scheme else ''}`",
    )
    return f"| {' | '.join(cells)} |"


PAGES: dict[str, Callable[[], str]] = {
    "docs/providers.md": addresses,
    "docs/ledger.md": ledger,
    "docs/matrix.md": matrix,
    "docs/formats.md": formats,
    "docs/models-table.md": models,
    "docs/dragoman.1": man_page,
    "src/dragoman/cli/probes.jsonl.gz": probes,
}


def read(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def main() -> int:
    stale = [f"schemas/{name}" for name in schemas.main(check="--check" in sys.argv)]
    for name, make in PAGES.items():
        path, text = ROOT / name, make()
        if path.exists() and read(path) == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv:
            data = text.encode()
            path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    if stale and "--check" in sys.argv:
        print(f"out of date: {', '.join(stale)}; run `make docs`")
        return 1
    print(f"docs: {', '.join(stale) or 'all'} {'written' if stale else 'up to date'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
