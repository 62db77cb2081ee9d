"""``dragoman check``: what the real API would reject."""

from __future__ import annotations

import click

from .. import dialects
from ..check import check
from ..convert import convert
from ..core.models import Models
from ..core.surrogates import ESCAPED, well_formed
from ..core.surrogates import parse_leniently as parse
from ..dialect import Problem
from ..errors import Malformed, Unsayable
from . import ledger, options, terminal
from .app import command as make_command
from .batch import Batch
from .faults import FOUND, place, usage
from .inputs import Document, expand, form_of
from .problems import FORMS, Found, Printer
from .sources import Source, Teller, identify
from .wrapped import View

HALVES = "lone surrogate (a text was cut inside a surrogate pair): no API accepts it"


@make_command(
    "check",
    "dragoman check broken.json",
    "dragoman check --for anthropic two.json",
    "dragoman check --output-format github sessions/",
)
@options.files()
@options.source_option
@options.facet_option
@options.jsonl_option
@options.at_option
@click.option(
    "--for",
    "target",
    type=options.DIALECT,
    help="Convert to this dialect first, and check the result.",
)
@click.option(
    "--output-format",
    "form",
    type=options.Word("format", lambda: ((each, "") for each in FORMS)),
    metavar="FORM",
    help="Output format: text, json (one object per line), github (annotations) or sarif.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --output-format json.")
@options.models_option
@options.quiet_options
def command(
    files: tuple[str, ...],
    source: str | None,
    facet: str | None,
    lines: bool | None,
    at: tuple[str, ...],
    target: str | None,
    form: str | None,
    as_json: bool,
    models: Models | None,
    quiet: bool,
    verbose: bool,
) -> int:
    """List what the real API would reject, rule by rule.

    Every problem is a line on standard output: place, rule, the API's message, and the JSON
    pointer. With --for, the document is converted first, and places are those of the result.
    `dragoman explain RULE` explains a rule; `dragoman repair` repairs what can be repaired. Exit 1
    if there is a problem.
    """
    if as_json and form not in (None, "json"):
        raise usage(f"--json and --output-format {form} cannot be combined")
    printer = Printer(form or ("json" if as_json else "text"))
    shape = form_of(lines, source)
    view = View(at, facet if facet in ("request", "response", "error") else None)
    batch, teller = Batch(expand(files), view=view, quiet=quiet), Teller(quiet)
    found = 0
    for document in batch.every(shape):
        with batch.attempt(document):
            what = identify(document, source, facet)
            if written := teller.tell(document, what):
                batch.say(written)
            problems = list(_problems(document, what, target, models, quiet, verbose))
            for problem in problems:
                printer.each(_found(document, what, target, problem))
            found += len(problems)
            if not problems and not quiet:
                batch.say(_praise(document, target or what.dialect))
    printer.close()
    if found and not quiet:
        batch.say(terminal.plural(found, "problem"))
    return batch.exit_code or (FOUND if found else 0)


def _problems(
    document: Document,
    what: Source,
    target: str | None,
    models: Models | None,
    quiet: bool,
    verbose: bool,
) -> list[Problem]:
    if target is None or target == what.dialect:
        found = well_formed(document.data) if ESCAPED.search(document.data) else None
        value = found.value if found else parse(document.data)
        halves = [Problem("malformed", at, HALVES) for at in (found.places if found else ())]
        return [*halves, *_checked(value, what.dialect, what.facet, models)]
    try:
        result = convert(
            document.data,
            source=what.dialect,
            target=target,
            facet=what.facet,
            models=models,
            limit=None,
        )
    except Unsayable as refused:
        return [Problem("unsayable", refused.at, refused.what)]
    if not quiet:
        ledger.show(result.losses, verbose=verbose)
    return _checked(parse(result.to_json()), target, what.facet, models)


def _checked(
    value: object, dialect: str, facet: str, models: Models | None = None
) -> list[Problem]:
    """The problems. Without known rules, the document is at least read."""
    problems = check(value, dialect, facet=facet, models=models)
    if not problems and not has_rules(dialect):
        try:
            dialects.get(dialect).read(value, facet)
        except Malformed as malformed:
            return [Problem("malformed", malformed.at, malformed.what)]
    return problems


def has_rules(dialect: str) -> bool:
    """Whether the rules of its API are known."""
    return bool(getattr(dialects.get(dialect), "rules", None))


def _praise(document: Document, dialect: str) -> str:
    name = terminal.bold(document.name)
    if not has_rules(dialect):
        return f"{name}: no rules of {dialect} are known; the document is well formed"
    return f"{name}: {terminal.green('no problems')} found for {dialect}"


def _found(document: Document, what: Source, target: str | None, problem: Problem) -> Found:
    line = column = None
    here = target is None or target == what.dialect
    path = document.place(problem.path) if here else problem.path
    if here:
        line, column = place(document.text, path, document.line)
    dialect = target or what.dialect
    name = document.input.name
    return Found(name, document.name, line, column, dialect, problem.rule, path, problem.message)
