"""``dragoman formats``: the dialects, and what is lost between two of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click

from ..core.reading import encode, parse
from ..formats import Difference, Format, differences, formats
from ..ledger import CODES
from ..survey import Probe, Survey, survey
from . import options, terminal
from .app import command as make_command
from .faults import usage
from .ledger import LOOKS
from .packed import packed

WAYS = {("read", "write"): "", ("read",): " (read)", ("write",): " (write)"}


@make_command("formats", "dragoman formats", "dragoman formats -f chat -t anthropic")
@click.option("-f", "--from", "source", type=options.DIALECT, help="With -t: the source dialect.")
@click.option("-t", "--to", "target", type=options.DIALECT, help="With -f: the target dialect.")
@options.facet_option
@click.option(
    "--models", "of_models", is_flag=True, help="List models instead, as dragoman models does."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@options.quiet_options
def command(
    source: str | None,
    target: str | None,
    facet: str | None,
    of_models: bool,
    as_json: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    """List the dialects; with -f and -t, what is lost between these two.

    What both dialects declare is shown as "0 to 2 -> 0 to 1". Losses that depend on more are found
    by converting some hundred small conversations that come with the package, each about one
    feature. Streams and capsules are not included.
    """
    if of_models:
        from ..core.models import DEFAULT
        from .models import listing

        listing(DEFAULT, as_json=as_json)
        return
    if (source is None) != (target is None):
        raise usage("-f and -t must be given together", "dragoman formats -f chat -t anthropic")
    if source is not None and target is not None:
        found = survey(probes(), source, target, facet)
        declared = {each.code: each for each in differences(source, target, facet)}
        if as_json:
            _print_json(_findings(found, declared))
        else:
            _print(_pair(found, declared, verbose))
        if not quiet:
            _say_what_was_tried(source, target, found)
        return
    listed = [form for form in formats() if facet is None or facet in form.facets]
    _print_json(map(_entry, listed)) if as_json else _print(_table(listed))


def probes() -> Iterable[Probe]:
    """The conversations that come with the package."""
    return (Probe(*parse(line)) for line in packed("probes.jsonl.gz"))


def _table(listed: Iterable[Format]) -> list[str]:
    rows = []
    for form in listed:
        facets = ", ".join(f"{facet}{WAYS[ways]}" for facet, ways in form.facets.items())
        rows.append((terminal.bold(form.name), terminal.cyan(", ".join(form.aliases)), facets))
    return terminal.table(rows, on_stdout=True)


def _entry(form: Format) -> dict[str, Any]:
    return {
        "name": form.name,
        "aliases": list(form.aliases),
        "facets": {facet: list(ways) for facet, ways in form.facets.items()},
        "spec": form.spec,
    }


def _pair(found: Survey, declared: Mapping[str, Difference], verbose: bool) -> list[str]:
    order = list(LOOKS)
    findings = sorted(found.findings, key=lambda f: (order.index(f.loss.kind), f.loss.what))
    rows = []
    for loss, cases in findings:
        shown = ", ".join(cases) if verbose else _few(cases)
        if loss.what in declared:
            shown = _declared(declared[loss.what])
        rows.append(
            (
                terminal.style(loss.kind, **LOOKS[loss.kind]),
                terminal.bold(loss.what),
                terminal.dim(shown),
                terminal.clean(loss.why),
            )
        )
    rows += [
        (terminal.dim("declared"), terminal.bold(code), terminal.dim(_declared(each)), CODES[code])
        for code, each in _unseen(found, declared)
    ]
    rows += [
        (terminal.red("refused"), "", terminal.dim(case), "cannot be expressed")
        for case in found.refused
    ]
    return terminal.table(rows, on_stdout=True)


def _declared(difference: Difference) -> str:
    return f"{difference.source} -> {difference.target}"


def _unseen(found: Survey, declared: Mapping[str, Difference]) -> Iterator[tuple[str, Difference]]:
    """What is declared to be lost, and in none of the conversations."""
    seen = {loss.what for loss, _ in found.findings}
    yield from ((code, each) for code, each in declared.items() if code not in seen)


def _few(cases: tuple[str, ...]) -> str:
    more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
    return f"e.g. {cases[0]}{more}"


def _findings(found: Survey, declared: Mapping[str, Difference]) -> Iterable[dict[str, Any]]:
    for loss, cases in found.findings:
        yield _finding(loss.kind, loss.what, loss.why, cases, declared.get(loss.what))
    for code, each in _unseen(found, declared):
        yield _finding("declared", code, CODES[code], (), each)
    for case in found.refused:
        yield _finding("refused", None, None, (case,), None)


def _finding(
    kind: str, what: str | None, why: str | None, cases: Iterable[str], each: Difference | None
) -> dict[str, Any]:
    words = None if each is None else {"source": each.source, "target": each.target}
    return {"kind": kind, "what": what, "why": why, "cases": list(cases), "declared": words}


def _say_what_was_tried(source: str, target: str, found: Survey) -> None:
    tried = terminal.plural(found.tried, "conversation")
    terminal.say(
        f"{tried} that {source} expresses without loss: {found.whole} converted to {target} "
        f"without loss, {found.tried - found.whole - len(found.refused)} with losses, "
        f"{len(found.refused)} refused"
    )


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        terminal.put(line)


def _print_json(entries: Iterable[dict[str, Any]]) -> None:
    for entry in entries:
        terminal.put_json(encode(entry))
