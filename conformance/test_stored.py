"""Sessions that real agents wrote: each is known, comes back byte for byte, and can be moved."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import dragoman
from dragoman.model import ToolCall, ToolResult
from dragoman.sessions import AGENTS, data_of
from dragoman.sessions.agents import Session
from dragoman.sessions.databases import Stored

from .reality import SHARED

ROOT = SHARED / "captures" / "sessions"
FILES = sorted(ROOT.glob("*/*.jsonl"))
DUMPS = sorted(ROOT.glob("*/*.sql"))
TARGETS = ("anthropic-messages", "openai-chat", "openai-responses", "gemini")


def name_of(path: Path) -> str:
    return path.stem


def stored(path: Path, folder: Path) -> list[tuple[Session, bytes]]:
    """The sessions of a dump, as they are read out of the file that it was made of."""
    agent = AGENTS[path.parent.name]
    assert isinstance(agent, Stored)
    place = agent.database({"HOME": str(folder)})
    place.parent.mkdir(parents=True)
    with closing(sqlite3.connect(place)) as db:
        db.executescript(path.read_text("utf-8"))
        table = "sessions" if agent.name == "goose" else "session"
        ids = [id for (id,) in db.execute(f"select id from {table} order by id")]
    found = [Session(agent.name, id, place, "", 0, 0, "") for id in ids]
    return [(session, data_of(session)) for session in found]


def judge(name: str, data: bytes) -> None:
    """It is what it is, and all of it that was said is in what it becomes."""
    guess = dragoman.detect(data)[0]
    assert (guess.dialect, guess.facet) == (name, "request")
    same = dragoman.convert(data, source=name, target=name)
    assert not same.losses
    tree = dragoman.read(data, name)
    calls = [b.id for m in tree.messages for b in m.content if isinstance(b, ToolCall)]
    results = [b.call_id for m in tree.messages for b in m.content if isinstance(b, ToolResult)]
    assert {*results} <= {*calls}
    for target in (*TARGETS, *AGENTS):
        result = dragoman.convert(data, source=name, target=target, model="m", now=0)
        again = dragoman.read(result.document, target)
        found = [b for m in again.messages for b in m.content if isinstance(b, ToolCall)]
        assert len(found) == len(calls), target
        found_results = [b for m in again.messages for b in m.content if isinstance(b, ToolResult)]
        assert len(found_results) >= len(results), target  # one is made up where a call has none


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files(path: Path) -> None:
    data = path.read_bytes()
    name = path.parent.name
    assert dragoman.convert(data, source=name, target=name).to_json() == data
    judge(name, data)


@pytest.mark.parametrize("path", DUMPS, ids=name_of)
def test_databases(path: Path, tmp_path: Path) -> None:
    name = path.parent.name
    sessions = stored(path, tmp_path)
    assert sessions
    for _, data in sessions:
        result = dragoman.convert(data, source=name, target=name)
        assert json.loads(result.to_json()) == json.loads(data)
        judge(name, data)
