"""``dragoman sessions``: what agents have stored on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import click

from ..core.reading import encode
from ..sessions import AGENTS, Session, listed, references
from . import options, terminal
from .app import command as make_command
from .faults import FOUND

WORDS = 60
"""How many characters of the first words are shown."""
AGENT = options.Word("agent", lambda: [(name, "") for name in AGENTS])
UNITS = ("B", "kB", "MB", "GB")


@make_command(
    "sessions",
    "dragoman sessions",
    "dragoman sessions --agent codex --json",
)
@click.option("--agent", type=AGENT, metavar="AGENT", help="Only sessions of this agent.")
@click.option(
    "--project", type=click.Path(), metavar="DIR", help="Only sessions of this folder, or below it."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def command(agent: str | None, project: str | None, as_json: bool) -> int:
    """List the sessions that agents have stored on this machine, the newest first.

    Agent and id name a session: `dragoman show codex:latest`, `dragoman move claude-code:1dc1ae09
    --to codex`. Of each file only the beginning and the end are read. Exit 1 if there is none.
    """
    folder = None if project is None else os.path.abspath(project)
    found = listed(os.environ, agent=agent, project=folder)
    if as_json:
        for session in found:
            click.echo(encode(_entry(session)))
    else:
        for line in terminal.table(_rows(found), on_stdout=True):
            click.echo(line)
    return 0 if found else FOUND


def _rows(found: list[Session]) -> Iterable[tuple[str, ...]]:
    for session, reference in zip(found, references(found), strict=True):
        words = " ".join(session.words.split())
        short = words if len(words) <= WORDS else words[: WORDS - 1] + "…"
        yield (
            terminal.bold(terminal.clean(reference)),
            _date(session).strftime("%Y-%m-%d %H:%M"),
            size_of(session.size).rjust(7),
            terminal.cyan(terminal.clean(session.project)),
            terminal.clean(short),
        )


def _entry(session: Session) -> dict[str, Any]:
    return {
        "agent": session.agent,
        "id": session.id,
        "path": str(session.path),
        "project": session.project,
        "date": _date(session).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "size": session.size,
        "words": session.words,
        "version": session.version,
    }


def _date(session: Session) -> datetime:
    return datetime.fromtimestamp(session.changed, UTC)


def size_of(size: int) -> str:
    """How much that is, as people say it.

    >>> size_of(999), size_of(20_339), size_of(104_857_600)
    ('999 B', '20 kB', '105 MB')
    """
    amount, unit = float(size), 0
    while amount >= 999.5 and unit < len(UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{amount:.0f} {UNITS[unit]}"
