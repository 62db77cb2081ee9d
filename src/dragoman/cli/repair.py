"""``dragoman repair``: named passes, with every change in the ledger."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from ..check import check
from ..core.models import Models
from ..dialect import Problem
from ..ledger import Loss
from ..repair import repair, repair_passes
from . import ledger, options, printing, terminal
from .app import command as make_command
from .batch import Batch
from .faults import FOUND, usage
from .inputs import Document, Input, Reading, expand, form_of
from .ledger import Tally
from .outputs import Plan, Sink
from .sources import Source, Teller, identify
from .wrapped import View


def _passes() -> Iterable[tuple[str, str]]:
    return (*repair_passes(), ("list", "print the passes"))


@make_command(
    "repair",
    "dragoman repair broken.json",
    "dragoman repair --dry-run broken.json",
    "dragoman repair --passes list",
)
@options.files()
@options.source_option
@options.facet_option
@options.old_jsonl_option
@options.at_option
@click.option(
    "--passes",
    type=options.Words("pass", _passes),
    metavar="LIST",
    help="Passes to run, in this order; default: those that `check` calls for. `list` prints them.",
)
@options.models_option
@click.option("--dry-run", is_flag=True, help="Report what would change, and write nothing.")
@options.output_options
@options.ledger_options
def command(files: tuple[str, ...], passes: tuple[str, ...] | None, **settings: Any) -> int:
    """Repair what an API would reject, by named passes.

    Every change is in the ledger. Problems that no pass repairs are listed and unchanged (exit 1).
    """
    if passes is not None and "list" in passes:
        _print_passes()
        return 0
    return Repair(expand(files), passes=passes, **settings).run()


class Repair:
    """One run of the command."""

    def __init__(
        self,
        inputs: list[Input],
        *,
        source: str | None,
        facet: str | None,
        lines: bool | None,
        at: tuple[str, ...],
        passes: tuple[str, ...] | None,
        models: Models | None,
        dry_run: bool,
        output: str | None,
        in_place: bool,
        compact: bool,
        report: str | None,
        fail_on: tuple[str, ...],
        quiet: bool,
        verbose: bool,
    ) -> None:
        if dry_run and (output is not None or in_place):
            raise usage("--dry-run cannot be combined with --output or --in-place")
        self.source, self.facet, self.passes = source, facet, passes
        self.models = models
        self.form = form_of(lines, source)
        self.dry_run, self.compact, self.fail_on = dry_run, compact, fail_on
        self.quiet, self.verbose = quiet, verbose
        self.tally = Tally(report)
        if in_place and at:
            raise usage("--in-place replaces the whole file and cannot be combined with --at")
        self.batch = Batch(inputs, tally=self.tally, view=View(at, facet), quiet=quiet)
        self.plan = Plan(inputs, output, in_place=in_place)
        self.plan.beside(report)
        self.on_a_line = len(inputs) > 1 and self.plan.together
        self.several = len(inputs) > 1
        self.alone = False  # there is one document, and it is told of on its own
        self.teller = Teller(quiet)
        self.left = 0  # problems that no pass has repaired

    def run(self) -> int:
        with self.tally.reporting(self.batch.inputs):
            code = self.batch.write(self.plan, self.form, self.each)
        if not (self.quiet or self.alone or self.tally.is_stated):
            self.tally.show("checked" if self.dry_run else "repaired")
        return code or (FOUND if self.left else 0)

    def each(self, reading: Reading, sink: Sink) -> int:
        written = 0
        for document in self.batch.documents(reading):
            source: Source | None = None
            losses: tuple[Loss, ...] = ()
            left: list[Problem] = []
            with self.batch.attempt(document):
                source = identify(document, self.source, self.facet)
                if spelled := self.teller.tell(document, source):
                    self.batch.say(spelled)
                result = repair(
                    document.data,
                    source.dialect,
                    passes=self.passes,
                    facet=source.facet,
                    fail_on=self.fail_on,
                    models=self.models,
                )
                data, losses = result.to_json(), document.placed(result.losses)
                left = check(data, source.dialect, facet=source.facet, models=self.models)
                if not self.dry_run:
                    on_a_line = self.on_a_line or reading.form == "jsonl" or self.compact
                    sink.write(printing.document(data, source.dialect, on_a_line))
                written += 1
            self.note(document, source, losses, left)
        return written

    def note(
        self,
        document: Document,
        source: Source | None,
        losses: tuple[Loss, ...],
        left: list[Problem],
    ) -> None:
        self.left += len(left)
        dialect = source and source.dialect
        self.tally.add(
            losses,
            self.batch.fault,
            input=document.input.name,
            line=document.line,
            source=dialect,
            facet=source and source.facet,
            target=dialect,
            left=[{"rule": p.rule, "path": p.path, "message": p.message} for p in left],
        )
        alone = self.alone = not self.several and document.line is None
        if self.quiet or self.batch.fault is not None:
            return
        if alone or self.verbose:
            if not alone and losses:
                self.batch.say(f"{terminal.bold(document.name)}: {ledger.total(losses)}")
            ledger.show(losses, verbose=self.verbose)
        if alone and not losses:
            self.batch.say(f"{terminal.bold(document.name)}: no problems found")
        for problem in left:
            self.batch.say(
                f"{terminal.bold(document.name)}: {terminal.yellow('not repaired')}: "
                f"{terminal.clean(str(problem))}"
            )


def _print_passes() -> None:
    rows = [(terminal.bold(name), does) for name, does in repair_passes()]
    for line in terminal.table(rows, on_stdout=True):
        terminal.put(line)
