"""``dragoman formats``: the dialects, and what is lost between two of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from ..core.reading import encode, parse
from ..formats import Format, formats
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

    The losses are found by converting some hundred small conversations that come with the package,
    each about one feature. Streams and capsules are not included.
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
        _print_json(_findings(found)) if as_json else _print(_pair(source, target, found, verbose))
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


def _pair(source: str, target: str, found: Survey, verbose: bool) -> list[str]:
    order = list(LOOKS)
    findings = sorted(found.findings, key=lambda f: (order.index(f.loss.kind), f.loss.what))
    rows = []
    for loss, cases in findings:
        shown = ", ".join(cases) if verbose else _few(cases)
        rows.append(
            (
                terminal.style(loss.kind, **LOOKS[loss.kind]),
                terminal.bold(loss.what),
                terminal.dim(shown),
                terminal.clean(loss.why),
            )
        )
    rows += [
        (terminal.red("refused"), "", terminal.dim(case), "cannot be expressed")
        for case in found.refused
    ]
    return terminal.table(rows, on_stdout=True)


def _few(cases: tuple[str, ...]) -> str:
    more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
    return f"e.g. {cases[0]}{more}"


def _findings(found: Survey) -> Iterable[dict[str, Any]]:
    for loss, cases in found.findings:
        yield {"kind": loss.kind, "what": loss.what, "why": loss.why, "cases": list(cases)}
    for case in found.refused:
        yield {"kind": "refused", "what": None, "why": None, "cases": [case]}


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
