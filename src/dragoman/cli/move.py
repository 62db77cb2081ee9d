"""``dragoman move``: a session of one agent, for another one to go on with."""

from __future__ import annotations

import os
import time

import click

from ..sessions import find
from ..sessions import move as move_session
from . import ledger, options, printing, terminal
from .app import command as make_command
from .faults import io_fault
from .sessions import AGENT, size_of

REFERENCE = "AGENT:SESSION"


@make_command(
    "move",
    "dragoman move claude-code:latest --to codex",
    "dragoman move codex:latest --to claude-code --dry-run",
)
@click.argument("session", metavar=REFERENCE)
@click.option("--to", "target", type=AGENT, required=True, metavar="AGENT", help="The other agent.")
@click.option(
    "--project",
    type=click.Path(),
    metavar="DIR",
    help="The folder in which it goes on; that of the session, unless given.",
)
@click.option("--dry-run", is_flag=True, help="Write nothing; show what would be lost.")
@click.option(
    "--id", "id_", metavar="UUID", help="The id of the new session; a random one, unless given."
)
@click.option("--now", metavar="TIME", help="The time of the new session, as Unix seconds.")
@options.fail_on_option
@options.quiet_options
def command(
    session: str,
    target: str,
    project: str | None,
    dry_run: bool,
    id_: str | None,
    now: str | None,
    fail_on: tuple[str, ...],
    quiet: bool,
    verbose: bool,
) -> int:
    """Write a session of an agent as a new one of another agent.

    The original is only read, and no file is ever written over. Standard output is the command that
    goes on with the new session; the ledger of losses is on standard error. Calls of tools that the
    other agent does not have stay in the history.
    """
    found = find(session, os.environ)
    when = printing.time_of(now)
    try:
        moved = move_session(
            found,
            target,
            os.environ,
            now=time.time() if when is None else when,
            project=project,
            id=id_,
            fail_on=fail_on,
            dry_run=dry_run,
        )
    except OSError as problem:
        raise io_fault(problem, problem.filename or str(found.path)) from None
    if not quiet:
        ledger.show(moved.losses, verbose=verbose)
        written = "would be written" if dry_run else "written"
        terminal.say(f"{terminal.bold(str(moved.path))}: {size_of(moved.size)} {written}")
    click.echo(moved.command)
    return 0
