"""Prints the figures of a conformance run."""

from __future__ import annotations

import pytest

from .laws import TALLY


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    write = terminalreporter.write_line
    write("")
    write(f"{'law':<34}{'documents':<32}{'held':>8}{'of':>8}{'':>9}")
    for (law, documents), (held, total) in sorted(TALLY.items()):
        share = f"{100 * held / total:.1f} %" if total else "-"
        write(f"{law:<34}{documents:<32}{held:>8}{total:>8}{share:>9}")
