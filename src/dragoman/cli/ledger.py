"""The ledger, as people and programs read it: a table on stderr, JSON in a file.

The file of ``--report`` is a promise: one object

    {"documents": [entry, ...], "summary": {"documents": 2, "failed": 0, "losses": {...}}}

where an entry is ``{"input", "line", "source", "facet", "target", "losses", "error"}`` (what could
not be read at all has no source, facet and target); a loss is
``{"kind", "what", "path", "why", "target"}``;
an error is ``{"exit", "message", "where"}`` or null; and the losses of the summary count by kind,
then by code. With a name that ends in ``.jsonl`` it is one entry per line, without a summary.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..core.reading import encode
from ..ledger import Loss
from . import terminal
from .faults import Fault
from .inputs import Input, suffix_of
from .outputs import Sink, write_to

LOOKS: dict[str, dict[str, Any]] = {
    "dropped": {"fg": "red"},
    "approximated": {"fg": "yellow"},
    "invented": {"fg": "magenta"},
    "moved": {"fg": "cyan"},
    "renamed": {"fg": "blue"},
}
ROWS = 20
"""How many rows a table has at most, unless all are asked for."""


def show(losses: Sequence[Loss], *, verbose: bool = False) -> None:
    """The table of one document on stderr. What is alike is one row, unless ``verbose``."""
    if not losses:
        return
    rows = [_row(loss, 1) for loss in losses] if verbose else _grouped(losses)
    shown = rows if verbose else rows[:ROWS]
    for line in terminal.table(shown):
        terminal.say(line)
    if len(rows) > len(shown):
        terminal.say(
            terminal.dim(f"... and {len(rows) - len(shown)} more rows; --verbose shows all")
        )


def total(losses: Iterable[Loss]) -> str:
    """``2 dropped, 1 moved``, the gravest first."""
    return _count(Counter(loss.kind for loss in losses))


def _count(kinds: Counter[Any]) -> str:
    return ", ".join(f"{kinds[kind]:,} {kind}" for kind in LOOKS if kinds[kind])


def _grouped(losses: Sequence[Loss]) -> list[tuple[str, ...]]:
    first: dict[tuple[str, str, str], Loss] = {}
    count: Counter[tuple[str, str, str]] = Counter()
    for loss in losses:
        key = (loss.kind, loss.what, loss.why)
        first.setdefault(key, loss)
        count[key] += 1
    return [_row(loss, count[key]) for key, loss in first.items()]


def _row(loss: Loss, count: int) -> tuple[str, ...]:
    place = loss.path or "/"
    more = f" and {count - 1} more" if count > 1 else ""
    return (
        terminal.style(loss.kind, **LOOKS[loss.kind]),
        terminal.bold(loss.what),
        terminal.clean(place) + more,
        terminal.dim(terminal.clean(loss.why)),
    )


class Tally:
    """Counts the losses of many documents, and writes them to a report as they come.

    Use it as a context: the report is complete when it ends, and is not there if it breaks off.
    """

    def __init__(self, report: str | None = None) -> None:
        self.documents = 0
        self.failed = 0
        self.skipped = 0
        self.kinds: Counter[tuple[str, str]] = Counter()
        self.touched: Counter[tuple[str, str]] = Counter()
        self.path = Path(report) if report is not None else None
        self.lines = self.path is not None and suffix_of(self.path) in (".jsonl", ".ndjson")
        self.sink: Sink | None = None

    @contextlib.contextmanager
    def reporting(self, inputs: Iterable[Input]) -> Iterator[Tally]:
        """The report is written while this lasts, readable by those who may read the inputs."""
        if self.path is None:
            yield self
            return
        with write_to(self.path, inputs=inputs) as self.sink:
            if not self.lines:
                self.sink.write(b'{"documents": [')
            yield self
            if not self.lines:
                summary = encode(self.summary())
                self.sink.write(b"\n" * bool(self.documents) + b'], "summary": ' + summary + b"}\n")

    def add(self, losses: Sequence[Loss], fault: Fault | None = None, **entry: Any) -> None:
        """One document: its losses, or what went wrong. ``entry`` is what the report says of it."""
        self.documents += 1
        self.failed += fault is not None
        codes = [(loss.kind, loss.what) for loss in losses]
        self.kinds.update(codes)
        self.touched.update(set(codes))
        if self.sink is None:
            return
        error = fault and {
            "exit": fault.exit_code,
            "message": fault.message,
            "where": fault.where,
        }
        target = entry.get("target")
        listed = [
            {
                "kind": loss.kind,
                "what": loss.what,
                "path": loss.path,
                "why": loss.why,
                "target": loss.target or target,
            }
            for loss in losses
        ]
        written = encode(entry | {"losses": listed, "error": error})
        before = b"" if self.lines else b"\n" if self.documents == 1 else b",\n"
        self.sink.write(before + written + (b"\n" if self.lines else b""))

    @property
    def is_stated(self) -> bool:
        """Whether the one thing there is to say has been written: that the one document failed."""
        return self.documents == self.failed == 1

    def summary(self) -> dict[str, Any]:
        losses: dict[str, dict[str, int]] = {}
        for (kind, what), count in sorted(self.kinds.items()):
            losses.setdefault(kind, {})[what] = count
        return {"documents": self.documents, "failed": self.failed, "losses": losses}

    def table(self) -> list[str]:
        """Which losses in how many documents."""
        rows = [
            (
                terminal.style(kind, **LOOKS[kind]),
                terminal.bold(what),
                terminal.plural(count, "time"),
                f"in {terminal.plural(self.touched[kind, what], 'document')}",
            )
            for (kind, what), count in sorted(
                self.kinds.items(), key=lambda item: (list(LOOKS).index(item[0][0]), -item[1])
            )
        ]
        return terminal.table(rows)

    def show(self, did: str = "converted") -> None:
        """The summary on stderr: how many documents, and which losses in how many of them."""
        for line in self.table():
            terminal.say(line)
        done = terminal.plural(self.documents - self.failed, "document")
        written = f"{done} {did}"
        if self.failed:
            written += f", {terminal.red(f'{self.failed:,} failed')}"
        if self.skipped:
            written += f", {self.skipped:,} skipped"
        by_kind: Counter[str] = Counter()
        for (kind, _), count in self.kinds.items():
            by_kind[kind] += count
        terminal.say(f"{written}; {_count(by_kind) or 'nothing lost'}")
