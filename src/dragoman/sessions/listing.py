"""Which sessions there are; of each file only the beginning is read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO

from ..core.reading import UNREADABLE, decode
from ..errors import MissingExtra, Unsupported
from ..model import Json
from .agents import Agent, Session
from .databases import Stored
from .known import AGENTS, agent_of
from .packed import damaged, unpacked

HEAD = 16 * 1024
"""How much of a file is read at once, of its beginning and of its end."""
TAILS = (HEAD, 16 * HEAD)
"""How much of its end is read until there is a time."""
MOST = 1024 * 1024
"""How much of the beginning is read at most."""
TIME = re.compile(rb'"timestamp" ?: ?"([0-9T:.+-]{19,32}Z?)"')
REFERENCE = re.compile(r"([a-z][a-z-]*):(\w[\w-]*)")
LATEST = "latest"
SHORT = 8
"""How many characters of an id are shown, unless more are needed to tell it from others."""


def listed(
    env: Mapping[str, str], *, agent: str | None = None, project: str | None = None
) -> list[Session]:
    """The sessions of this machine, the newest first.

    ``project``: only those of this folder, or of folders below it.
    """
    found: list[Session] = []
    for each in AGENTS.values() if agent is None else (agent_of(agent),):
        for session in sessions_of(each, env):
            if project is None or is_in(session.project, project):
                found.append(session)
    return sorted(found, key=lambda s: (-s.changed, s.agent, s.id))


def sessions_of(agent: Agent, env: Mapping[str, str]) -> Iterator[Session]:
    if isinstance(agent, Stored):
        yield from agent.sessions(env)
        return
    for path in agent.files(env):
        if (session := described(agent, path)) is not None:
            yield session


def is_in(folder: str, project: str) -> bool:
    wanted = project.rstrip("/") or "/"
    return folder == wanted or folder.startswith(wanted.rstrip("/") + "/")


def described(agent: Agent, path: Path) -> Session | None:
    """What the beginning of a file tells; None: it is gone, or cannot be read."""
    try:
        status = path.stat()
        if not S_ISREG(status.st_mode):  # a pipe would be waited for
            return None
        project, words, version = agent.describe(first_lines(path))
        project = project or agent.project_of(path)
        id = agent.id_of(path)
        changed = last_time(path) or status.st_mtime
    except (OSError, MissingExtra):
        return None
    return Session(agent.name, id, path, project, changed, status.st_size, words, version)


def last_time(path: Path) -> float | None:
    """When the last line was written, as the end of a file tells."""
    if path.suffix == ".zst":
        return None
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        for length in TAILS:
            file.seek(max(size - length, 0))
            data = file.read(length)
            if (at := data.rfind(b'"timestamp"')) >= 0 and (found := TIME.match(data, at)):
                try:
                    return datetime.fromisoformat(found[1].decode()).timestamp()
                except ValueError:
                    return None
    return None


def first_lines(path: Path) -> Iterator[dict[str, Json]]:
    """The objects in the first lines of a file. No more is read than is asked for."""
    with path.open("rb") as packed:
        file = unpacked(packed) if path.suffix == ".zst" else packed
        read, data = 0, b""
        while read < MOST and (more := _more(file)):
            read += len(more)
            *whole, data = (data + more).split(b"\n")
            yield from _objects(whole)
        yield from _objects([data])


def _more(file: BinaryIO) -> bytes:
    """More of a file; nothing, if it is damaged from here on: who reads it will be told."""
    try:
        return file.read(HEAD)
    except damaged():
        return b""


def _objects(lines: list[bytes]) -> Iterator[dict[str, Json]]:
    for line in lines:
        try:
            value = decode(line)
        except UNREADABLE:
            continue
        if isinstance(value, dict):
            yield value


def references(sessions: list[Session]) -> list[str]:
    """How each session can be named, as shortly as may be."""
    ids: dict[str, list[str]] = {}
    for session in sessions:
        ids.setdefault(session.agent, []).append(session.id)
    short = {agent: _shortened(sorted(known)) for agent, known in ids.items()}
    return [f"{s.agent}:{short[s.agent][s.id]}" for s in sessions]


def _shortened(ids: list[str]) -> dict[str, str]:
    """The beginning of each id that no other one has; in their order, only neighbours may."""
    out: dict[str, str] = {}
    for before, id, after in zip(["", *ids], ids, [*ids[1:], ""], strict=False):
        alike = max(_alike(id, before), _alike(id, after))
        size = SHORT
        while size <= alike:
            size += 4
        out[id] = id[:size]
    return out


def _alike(one: str, two: str) -> int:
    """How many characters two ids begin with that are the same."""
    return next((n for n, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), len(two))


def is_reference(written: str) -> bool:
    """Whether a user means a session of an agent: ``codex:latest``."""
    found = REFERENCE.fullmatch(written)
    return found is not None and found[1] in AGENTS


def find(reference: str, env: Mapping[str, str]) -> Session:
    """The session that is meant: by its id, by how its id begins, or the ``latest``."""
    found = REFERENCE.fullmatch(reference)
    if found is None:
        raise Unsupported(f"{reference!r} is no session; name it as AGENT:ID or AGENT:latest")
    agent, wanted = agent_of(found[1]), found[2]
    if isinstance(agent, Stored):
        known = list(agent.sessions(env))
        sessions = known if wanted == LATEST else [s for s in known if s.id.startswith(wanted)]
        sessions = [s for s in sessions if s.id == wanted] or sessions
    else:
        sessions = found_in(agent, sorted(agent.files(env)), wanted)
    if wanted == LATEST:
        sessions = sorted(sessions, key=lambda session: session.changed)[-1:]
    if not sessions:
        hint = f"`dragoman sessions --agent {agent.name}` lists them"
        raise Unsupported(f"{agent.name} has no session {wanted!r}; {hint}")
    if len(sessions) > 1:
        ids = ", ".join(session.id for session in sessions[:4])
        raise Unsupported(f"{wanted!r} begins the ids of {len(sessions)} sessions: {ids}")
    return sessions[0]


def found_in(agent: Agent, paths: list[Path], wanted: str) -> list[Session]:
    """The sessions of files whose ids begin so, or the one that has this id."""
    if wanted != LATEST:
        paths = [path for path in paths if agent.id_of(path).startswith(wanted)]
        exact = [path for path in paths if agent.id_of(path) == wanted]
        paths = exact[:1] or paths
    return [session for path in paths if (session := described(agent, path)) is not None]
