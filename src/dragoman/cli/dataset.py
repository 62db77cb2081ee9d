"""``dragoman dataset``: many records, from sessions and logs to a training set."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import click

from ..datasets import Finished, Job, Recipe, Run, State, options_of, read_recipe
from ..datasets.job import FORMS
from . import options, terminal
from .app import command as make_command
from .faults import DONE, IO, MALFORMED, Fault, usage
from .inputs import LIMIT, limit, session_named
from .ledger import LOOKS
from .options import F, Kind, Size
from .progress import PATIENCE, PAUSE, describe

ROWS = 12
"""How many kinds of losses the summary lists."""
RUN = ("output", "form", "workers", "engine", "address", "overwrite")


class Workers(Kind):
    """A number of processes, or ``auto``."""

    name = "workers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: Any) -> Any:
        if value == "auto":
            return 0
        if isinstance(value, int) or (value.isdecimal() and int(value)):
            return int(value)
        return self.fail(f"{value!r} is not a number of processes, nor auto", param, ctx)


class Sample(Kind):
    """A share below 1, or a number of records."""

    name = "sample"

    def convert(self, value: Any, param: click.Parameter | None, ctx: Any) -> int | float:
        try:
            return int(value) if str(value).isdecimal() else float(value)
        except ValueError:
            self.fail(f"{value!r} is not a share such as 0.1, nor a number", param, ctx)


class Split(Kind):
    """``train=0.9,test=0.1``."""

    name = "split"

    def convert(self, value: Any, param: click.Parameter | None, ctx: Any) -> dict[str, float]:
        if isinstance(value, dict):
            return value
        found: dict[str, float] = {}
        for part in value.split(","):
            name, _, share = part.strip().partition("=")
            try:
                found[name] = float(share)
            except ValueError:
                self.fail(f"{value!r} is not a split such as train=0.9,test=0.1", param, ctx)
        return found


class Names(Kind):
    """Names with commas between."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: Any) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        return tuple(name for name in map(str.strip, value.split(",")) if name)


class Dialects(options.DialectName):
    """Dialects with commas between."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: Any) -> Any:
        if isinstance(value, tuple):
            return value
        names = (name.strip() for name in value.split(","))
        return tuple(super(Dialects, self).convert(name, param, ctx) for name in names)


def number(name: str, text: str) -> Callable[[F], F]:
    """An option whose value is a number."""
    return click.option(name, type=click.IntRange(min=0), metavar="N", help=text)


@make_command(
    "dataset",
    "dragoman dataset -f anthropic sessions/ -t functiongemma -o train/",
    "dragoman dataset pairs.jsonl -t trl --cut turns --split train=0.9,test=0.1 -o sets/",
    "dragoman dataset pairs.jsonl -t chat --redact keys,emails --dedup exact -o out.jsonl.gz",
)
@options.files()
@options.source_option
@click.option("-t", "--to", "target", type=options.DIALECT, help="The target dialect.")
@click.option(
    "-o",
    "--output",
    metavar="DIR|FILE",
    help="A folder for shards, or one file: .jsonl, .jsonl.gz, .jsonl.zst, .parquet.",
)
@click.option(
    "--form",
    type=click.Choice([suffix[1:] for suffix in FORMS]),
    help="The shards of a folder; default: jsonl.",
)
@click.option("--shard-size", type=Size(), metavar="SIZE", help="Bytes of a shard; default: 256M.")
@click.option(
    "--workers", type=Workers(), metavar="N|auto", help="Processes; default: auto, one per core."
)
@click.option("--engine", type=click.Choice(["embedded", "ray"]), help="Who does the work.")
@click.option("--address", help="The cluster of Ray; `auto` is the one that is running.")
@click.option("--column", metavar="NAME", help="The column or key with the conversation.")
@click.option("--response-column", metavar="NAME", help="The one with the response to it.")
@click.option(
    "--carry", type=Names(), metavar="LIST", help="Columns to carry along; default: all others."
)
@click.option(
    "--conversation", metavar="NAME", help="The column that names the conversation, for --split."
)
@click.option("--formats", type=Dialects(), metavar="LIST", help="Only records of these dialects.")
@click.option(
    "--tool-calls/--no-tool-calls", default=None, help="Only records with calls; without."
)
@number("--min-chars", "Only records with so many characters of text.")
@number("--max-chars", "Only records with no more.")
@number("--min-tokens", "Only records with so many tokens.")
@number("--max-tokens", "Only records with no more.")
@click.option("--tokenizer", metavar="FILE", help="The tokenizer.json that counts tokens.")
@click.option("--valid", is_flag=True, default=None, help="Only what `check` accepts.")
@click.option("--cut", type=click.Choice(["turns"]), help="A record for each assistant turn.")
@click.option("--reasoning", type=click.Choice(["keep", "drop"]), help="Default: keep.")
@click.option(
    "--redact", type=Names(), metavar="LIST", help="Replace what these find: keys, emails."
)
@click.option(
    "--redact-pattern",
    "redact_patterns",
    multiple=True,
    metavar="REGEX",
    help="Replace what a regular expression finds; may be repeated.",
)
@click.option(
    "--dedup",
    type=click.Choice(["exact", "near"]),
    help="Drop records equal, or nearly equal, to an earlier one.",
)
@click.option("--threshold", type=float, help="How alike near-duplicates are; default: 0.8.")
@click.option("--sample", type=Sample(), metavar="SHARE|N", help="A random part of the records.")
@click.option("--split", type=Split(), metavar="NAME=SHARE,...", help="Splits, by conversation.")
@click.option("--shuffle", is_flag=True, default=None, help="Shuffle the records.")
@click.option("--seed", type=int, metavar="N", help="The seed of all chance; default: 0.")
@click.option("--model", metavar="NAME", help="The model to name in converted requests.")
@options.fail_on_option
@click.option("--recipe", metavar="FILE", help="Options (TOML) as an earlier job has written them.")
@click.option("--overwrite", is_flag=True, help="Replace what an earlier job has written.")
@number("--max-rejects", "Exit with 0 if no more records are rejected; default: 0.")
@options.quiet_option
def command(
    files: tuple[str, ...], recipe: str | None, max_rejects: int | None, quiet: bool, **given: Any
) -> int:
    """Convert sessions, logs and data sets to a training set.

    Reads JSON Lines, Parquet, Arrow, batch files, captures, sessions and folders of them. Writes
    shards, rejects.jsonl (what could not be converted, and why), manifest.json and report.html. A
    job that was stopped goes on where it was when the same command is run again, and the same
    input gives the same bytes whatever the number of workers. Exit code 4: records were rejected.
    """
    told = Recipe({}) if recipe is None else recipe_of(recipe)
    given |= {"fail_on": given["fail_on"] or None}
    given |= {"redact_patterns": given["redact_patterns"] or None}
    how = {key: given.pop(key) for key in RUN}
    values = told.values | {key: value for key, value in given.items() if value is not None}
    if limit() != LIMIT:
        values["max_size"] = limit()
    output = how["output"] or told.output
    how["form"] = how["form"] or told.form
    paths = [file_of(path) for path in files or told.inputs]
    if "target" not in values or output is None or not paths:
        raise usage(
            "FILES, -t DIALECT and -o OUTPUT are required, or a recipe that has them",
            "dragoman dataset --help",
        )
    run = Run(
        **{key: value for key, value in how.items() if value is not None} | {"output": output}
    )
    watch = Watch(quiet)
    try:
        done = Job(paths, options_of(values), run, watch).start()
    except KeyboardInterrupt:
        watch.clear()
        terminal.say("interrupted; the same command continues the job")
        raise
    watch.clear()
    if not quiet:
        for line in summary(done, watch.seconds):
            terminal.say(line)
    counts = done.manifest["records"]
    if not counts["read"]:
        raise Fault("no records in the input", IO, where=paths[0])
    return MALFORMED if counts["rejected"] > (max_rejects or 0) else DONE


def recipe_of(path: str) -> Recipe:
    return read_recipe(Path(path).read_text("utf-8"))


class Watch:
    """The progress on stderr, where that is a terminal."""

    def __init__(self, quiet: bool) -> None:
        self.active = not quiet and terminal.is_terminal(sys.stderr)
        self.start = self.last = monotonic()
        self.shown = False

    @property
    def seconds(self) -> float:
        return monotonic() - self.start

    def __call__(self, state: State) -> None:
        now = monotonic()
        if not self.active or now - self.start < PATIENCE or now - self.last < PAUSE:
            return
        self.last = now
        sys.stderr.write(f"\r{terminal.cut(progress(state, now - self.start))}\x1b[K")
        sys.stderr.flush()
        self.shown = True

    def clear(self) -> None:
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self.shown = False


def progress(state: State, seconds: float) -> str:
    """The line.

    >>> progress(State(100, 25, 1200, 1190, 10, Counter(dropped=31)), 4.0)
    '1,200 records, 300/s, 25 %, 12 s left, 31 losses, 10 rejected'
    """
    share = state.done / state.total if state.total else None
    line = describe(state.records, "records", seconds, share)
    if lost := sum(state.losses.values()):
        line += f", {lost:,} losses"
    return line + (f", {state.rejected:,} rejected" if state.rejected else "")


# -- the summary -----------------------------------------------------------------------------------


def summary(done: Finished, seconds: float) -> list[str]:
    """What came of it, on the terminal."""
    told = done.manifest
    lines = terminal.table(lost(told))
    more = len(kinds(told)) - ROWS
    if more > 0:
        kinds_left = terminal.plural(more, "more kind", "more kinds")
        lines.append(terminal.dim(f"... and {kinds_left} of losses in the report"))
    lines += terminal.table([row for row in counted(told) if row])
    lines += terminal.table(lengths(told))
    for first in told["first_rejected"].values():
        place = f"{first['input']}:{first['line']}" if first["line"] else first["input"]
        why = terminal.clean(first["why"])
        lines.append(f"{terminal.bold(terminal.clean(place))}: {terminal.red('rejected')}: {why}")
    counts = told["records"]
    written = f"{terminal.plural(counts['read'], 'record')} read, {counts['written']:,} written"
    if counts["rejected"]:
        rejected = f"{counts['rejected']:,} rejected"
        written += f", {terminal.red(rejected)}"
    shards = terminal.plural(len(told["shards"]), "shard")
    if done.again:
        written = f"done before: {written}"
    lines.append(f"{written} in {shards}; {done.files['report']}")
    return lines


def kinds(told: dict[str, Any]) -> dict[tuple[str, str], tuple[int, int]]:
    """Kind and code of losses -> how often, in how many records, the gravest first."""
    times: Counter[tuple[str, str]] = Counter()
    records: Counter[tuple[str, str]] = Counter()
    for loss in told["losses"]:
        key = loss["kind"], loss["code"]
        times[key] += loss["times"]
        records[key] += loss["records"]
    order = list(LOOKS)
    keys = sorted(times, key=lambda key: (order.index(key[0]), -times[key], key[1]))
    return {key: (times[key], records[key]) for key in keys}


def lost(told: dict[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            terminal.style(kind, **LOOKS[kind]),
            terminal.bold(code),
            terminal.plural(times, "time"),
            f"in {terminal.plural(records, 'record')}",
        )
        for (kind, code), (times, records) in list(kinds(told).items())[:ROWS]
    ]


def counted(told: dict[str, Any]) -> list[tuple[str, ...]]:
    """What was rejected, filtered, dropped, redacted and edited."""
    words = {"rejected": "rejected", "filtered": "filtered", "dropped": "left out",
             "redacted": "redacted", "edits": "edited"}  # fmt: skip
    return [
        (terminal.dim(word), terminal.clean(name), f"{count:,}")
        for key, word in words.items()
        for name, count in told[key].items()
    ]


def lengths(told: dict[str, Any]) -> list[tuple[str, ...]]:
    """How long the records of each split are."""
    rows: list[tuple[str, ...]] = []
    for name, split in told["splits"].items():
        for what, counts in split["lengths"].items():
            sizes = {int(size): count for size, count in counts.items()}
            middle, most, last = (quantile(sizes, share) for share in (0.5, 0.95, 1.0))
            spread = f"median {middle:,}, 95 % {most:,}, most {last:,}"
            rows.append(
                (terminal.dim(name), terminal.plural(split["records"], "record"), what, spread)
            )
    return rows


def quantile(sizes: dict[int, int], share: float) -> int:
    """The size that a share of all do not exceed.

    >>> quantile({1: 5, 10: 4, 100: 1}, 0.5), quantile({1: 5, 10: 4, 100: 1}, 0.95)
    (1, 100)
    """
    left = share * sum(sizes.values())
    for size in sorted(sizes):
        left -= sizes[size]
        if left <= 1e-9:
            return size
    return max(sizes, default=0)


def file_of(path: str) -> str:
    """A path, or the file of a session that is named by its agent, e.g. ``codex:latest``."""
    session = session_named(path)
    if session is None:
        return path
    if session.path.suffix == ".db":
        raise usage(
            f"{path} is stored in a database, which is no input of a dataset",
            f"first dragoman convert {path} -t {session.agent} -o FILE",
        )
    return str(session.path)
