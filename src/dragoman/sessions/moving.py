"""Writing a session where another agent looks for it."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import NamedTuple

from ..convert import convert
from ..core.lines import join
from ..errors import Malformed, Unsupported
from ..ledger import Loss
from .agents import Session
from .databases import Stored
from .known import agent_of
from .packed import damaged, unpacked

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
    id: str | None = None,
    fail_on: Iterable[str] = (),
    dry_run: bool = False,
) -> Moved:
    """Write a session as a new one of another agent, or of the same.

    ``project`` is the folder in which the other agent goes on, if it is not that of the session;
    ``id`` is that of the new session, from which those in it are derived. Nothing is ever
    overwritten, and the original is only read.
    """
    agent = agent_of(to)
    folder = project or session.project
    if not folder:
        raise Unsupported("the session does not tell its folder: name one with --project")
    folder = os.path.abspath(folder)
    new = str(uuid.uuid4()) if id is None else id
    result = convert(
        data_of(session),
        source=session.agent,
        target=agent.name,
        fail_on=fail_on,
        now=now,
        ids=ids_below(new),
        limit=LIMIT,
    )
    id = agent.id_for(new)
    path = agent.place(env, id, folder, now)
    fitted = agent.fit(result.document, id, folder)
    if not fitted:
        raise Malformed("the session has no message")
    data = join(fitted)
    if not dry_run:
        markers = [*agent.markers(path, folder)]
        write_new(path, data)
        for marker, said in markers:
            write_new(marker, said)
    return Moved(path, id, agent.resume(id, folder, path), result.losses, len(data))


def ids_below(id: str) -> Callable[[str], str]:
    """Ids that nobody else has, the same ones for the same session."""
    try:
        above = uuid.UUID(id)
    except ValueError:
        raise Unsupported(f"the id of a session is a UUID, not {id!r}") from None
    numbers = count(1)

    def made(prefix: str) -> str:
        new = uuid.uuid5(above, str(next(numbers)))
        return str(new) if prefix == "uuid" else f"{prefix}_{new.hex[:24]}"

    return made


def data_of(session: Session) -> bytes:
    """The whole of a session: its file, or what its agent would export."""
    agent = agent_of(session.agent)
    if isinstance(agent, Stored):
        return agent.load(session)
    with session.path.open("rb") as file:
        source = unpacked(file) if session.path.suffix == ".zst" else file
        try:
            data = source.read(LIMIT + 1)
        except damaged() as problem:
            raise Malformed(f"{session.path} is damaged: {problem}") from None
    if len(data) > LIMIT:
        raise Malformed(f"a session of more than {LIMIT:,} bytes")
    return data


def write_new(path: Path, data: bytes) -> None:
    """A file that was not there, for its owner alone; whole, or not at all."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(file, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
    except BaseException:
        os.unlink(path)
        raise
