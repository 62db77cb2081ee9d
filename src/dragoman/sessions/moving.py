"""Writing a session where another agent looks for it."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from ..convert import convert
from ..core.lines import join
from ..errors import Malformed, Unsupported
from ..ledger import Loss
from .agents import Session, agent_of
from .packed import unpacked

LIMIT = 1024 * 1024 * 1024
"""How many bytes a session may have."""


class Moved(NamedTuple):
    """A session that was written for another agent."""

    path: Path
    id: str
    command: str
    """what goes on with it"""
    losses: tuple[Loss, ...]
    size: int


def move(
    session: Session,
    to: str,
    env: Mapping[str, str],
    *,
    now: float,
    project: str | None = None,
    make: Callable[[], str] = lambda: str(uuid.uuid4()),
    dry_run: bool = False,
) -> Moved:
    """Write a session as a new one of another agent, or of the same.

    ``project`` is the folder in which the other agent goes on, if it is not that of the session;
    ``make`` gives ids. Nothing is ever overwritten, and the original is only read.
    """
    agent = agent_of(to)
    folder = project or session.project
    if not folder:
        raise Unsupported("the session does not tell its folder: name one with --project")
    folder = os.path.abspath(folder)
    id = make()
    result = convert(
        data_of(session),
        source=session.agent,
        target=agent.name,
        now=now,
        ids=lambda prefix: make() if prefix == "uuid" else f"{prefix}_{make().replace('-', '')}",
        limit=LIMIT,
    )
    path = agent.place(env, id, folder, now)
    lines = agent.fit(result.document, id, folder)
    if not lines:
        raise Malformed("the session has no message")
    data = join(lines)
    if not dry_run:
        write_new(path, data)
    return Moved(path, id, agent.resume(id, folder), result.losses, len(data))


def data_of(session: Session) -> bytes:
    """The whole file of a session."""
    with session.path.open("rb") as file:
        source = unpacked(file) if session.path.suffix == ".zst" else file
        data = source.read(LIMIT + 1)
    if len(data) > LIMIT:
        raise Malformed(f"a session of more than {LIMIT:,} bytes")
    return data


def write_new(path: Path, data: bytes) -> None:
    """A file that was not there, for its owner alone; whole, or not at all."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)
    file = os.open(part, flags, 0o600)
    try:
        with os.fdopen(file, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        os.link(part, path)  # which fails where there is a file
    finally:
        os.unlink(part)
