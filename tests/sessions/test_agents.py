"""Sessions on a disk: listed, found, moved. The home folder is one of ours."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import places
from dragoman import DragomanError, Lossy, Malformed, Unsupported, convert, dialects
from dragoman.dialects._sessions import SessionFile
from dragoman.sessions import AGENTS, data_of, find, is_reference, listed, move, references
from dragoman.sessions.listing import MOST, first_lines

CORPUS = places.CORPUS
ID = "5b1a4a52-6f0a-4c0e-9a55-0d8a4c1f2b30"
NEW = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
NOW = 1_772_449_200.0
HEADS = {
    "claude-code": ".claude/projects/-home-dev-shop/{}.jsonl",
    "codex": ".codex/sessions/2026/03/02/rollout-2026-03-02T11-00-00-{}.jsonl",
    "copilot-cli": ".copilot/session-state/{}/events.jsonl",
    "gemini-cli": ".gemini/tmp/shop/chats/session-2026-03-02T13-00-{}.jsonl",
    "qwen-code": ".qwen/projects/-home-dev-shop/chats/{}.jsonl",
}
DATABASES = {
    "goose": ".local/share/goose/sessions/sessions.db",
    "opencode": ".local/share/opencode/opencode.db",
}
TABLES = {
    "goose": """
        create table sessions (id text primary key, name text, description text,
            user_set_name boolean, session_type text, working_dir text, created_at timestamp,
            updated_at timestamp, extension_data text, provider_name text, model_config_json text);
        create table messages (id integer primary key, message_id text, session_id text, role text,
            content_json text, created_timestamp integer, metadata_json text);
        """,
    "opencode": """
        create table session (id text primary key, project_id text, parent_id text, slug text,
            directory text, path text, title text, agent text, version text, model text, cost real,
            summary_additions integer, summary_deletions integer, summary_files integer,
            time_created integer, time_updated integer);
        create table message (id text primary key, session_id text, time_created integer,
            data text);
        create table part (id text primary key, message_id text, session_id text, data text);
        """,
}
"""The columns of the agents' tables that matter, as these agents have them."""


def lines_of(agent: str) -> list[Any]:
    case = CORPUS / f"session-{agent}" / f"{agent}.request.json"
    found: list[Any] = json.loads(case.read_text("utf-8"))
    return found


def store(home: Path, agent: str, id: str = ID, lines: list[Any] | None = None) -> Path:
    path = home / HEADS[agent].format(id)
    path.parent.mkdir(parents=True, exist_ok=True)
    if agent == "gemini-cli":
        (path.parents[1] / ".project_root").write_text("/home/dev/shop", "utf-8")
    written = lines_of(agent) if lines is None else lines
    path.write_text("".join(json.dumps(line) + "\n" for line in written), "utf-8")
    return path


def store_rows(home: Path, agent: str) -> Path:
    """The session of the corpus in the database of its agent."""
    path = home / DATABASES[agent]
    path.parent.mkdir(parents=True, exist_ok=True)
    doc = json.loads((CORPUS / f"session-{agent}" / f"{agent}.request.json").read_text("utf-8"))
    db = sqlite3.connect(path)
    db.executescript(TABLES[agent])
    insert = {"goose": goose_rows, "opencode": opencode_rows}[agent]
    for table, row in insert(doc):
        marks = ", ".join("?" * len(row))
        db.execute(f"insert into {table} ({', '.join(row)}) values ({marks})", [*row.values()])
    db.commit()
    db.close()
    return path


def goose_rows(doc: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    keys = ("id", "name", "user_set_name", "session_type", "working_dir", "provider_name")
    times = {key: doc[key].replace("T", " ").rstrip("Z") for key in ("created_at", "updated_at")}
    texts = {
        "extension_data": json.dumps(doc["extension_data"]),
        "model_config_json": json.dumps(doc["model_config"]),
    }
    yield "sessions", {**{key: doc[key] for key in keys}, **times, **texts, "description": ""}
    for number, message in enumerate(doc["conversation"]):
        yield (
            "messages",
            {
                "id": number,
                "message_id": message["id"],
                "session_id": doc["id"],
                "role": message["role"],
                "content_json": json.dumps(message["content"]),
                "created_timestamp": message["created"],
                "metadata_json": json.dumps(message["metadata"]),
            },
        )


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))  # as JavaScript writes it


def opencode_rows(doc: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    info = doc["info"]
    row: dict[str, Any] = {"project_id": info["projectID"], "model": compact(info["model"])}
    plain = ("id", "slug", "directory", "path", "title", "agent", "version", "cost")
    row |= {key: info[key] for key in plain}
    row |= {f"summary_{key}": value for key, value in info["summary"].items()}
    yield "session", row | {f"time_{key}": value for key, value in info["time"].items()}
    for message in doc["messages"]:
        told = dict(message["info"])
        ids = {"id": told.pop("id"), "session_id": told.pop("sessionID")}
        yield "message", {**ids, "time_created": told["time"]["created"], "data": compact(told)}
        for each in message["parts"]:
            part = {k: v for k, v in each.items() if k not in ("id", "sessionID", "messageID")}
            row = {"id": each["id"], "message_id": ids["id"], "session_id": ids["session_id"]}
            yield "part", {**row, "data": compact(part)}


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    for agent in HEADS:
        store(tmp_path, agent)
    return {"HOME": str(tmp_path)}


def test_every_agent_has_a_dialect_and_a_place() -> None:
    assert AGENTS.keys() == {*HEADS, *DATABASES}
    known = {name for name in dialects.names() if isinstance(dialects.get(name), SessionFile)}
    assert AGENTS.keys() == known
    assert HEADS.keys() == {name for name in known if dialects.get(name).lines}


def test_the_newest_comes_first(env: dict[str, str]) -> None:
    found = listed(env)
    assert [session.agent for session in found] == [
        "copilot-cli", "gemini-cli", "qwen-code", "codex", "claude-code",
    ]  # fmt: skip
    assert {session.project for session in found} == {"/home/dev/shop"}
    assert [session.words for session in found] == [
        "Which tests fail?", "Which tests fail?", "Which tests fail?", "Why does the test fail?",
        "Which tests fail, and why?",
    ]  # fmt: skip
    assert (
        references(found)
        == [
            "copilot-cli:5b1a4a52",
            "gemini-cli:8d1a4a52",  # its head tells, not its name
            *(f"{session.agent}:5b1a4a52" for session in found[2:]),
        ]
    )
    assert listed(env, project="/home/dev") == found
    assert listed(env, project="/home/dev/sh") == []
    assert [session.agent for session in listed(env, agent="codex")] == ["codex"]
    assert listed({"HOME": "/nonexistent"}) == []


def test_the_environment_says_where(tmp_path: Path) -> None:
    store(tmp_path, "codex")
    moved = {"HOME": "/nonexistent", "CODEX_HOME": str(tmp_path / ".codex")}
    assert [session.agent for session in listed(moved)] == ["codex"]


def test_a_file_of_a_subagent_is_no_session(tmp_path: Path) -> None:
    path = store(tmp_path, "claude-code")
    path.rename(path.with_name("agent-a1b2c3.jsonl"))
    assert listed({"HOME": str(tmp_path)}) == []


@pytest.mark.parametrize("data", [b"", b"\xff\xfe\n", b'{"type":', b"[1]\n", b"{}\n" * 9])
def test_a_file_that_says_nothing_is_listed_all_the_same(tmp_path: Path, data: bytes) -> None:
    store(tmp_path, "claude-code").write_bytes(data)
    [session] = listed({"HOME": str(tmp_path)})
    assert (session.project, session.words, session.size) == ("", "", len(data))


def test_what_is_no_file_is_not_waited_for(env: dict[str, str]) -> None:
    known = listed(env)
    names = [path for session in known if ID in (path := session.path).name]
    assert len(names) > 1
    for path in names:
        os.mkfifo(path.with_name(path.name.replace(ID, NEW)))
    assert listed(env) == known


def test_of_a_large_file_little_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    with path.open("wb") as file:
        file.write(b'{"a": 1}\n')
        file.truncate(100 * MOST)  # a hole, which costs no disk
    lines = first_lines(path)
    assert next(lines) == {"a": 1}
    assert list(lines) == []  # it ends long before the file does


def test_sessions_are_found_by_how_their_ids_begin(env: dict[str, str], tmp_path: Path) -> None:
    other = ID[:-2] + "99"
    store(tmp_path, "codex", other)
    assert find(f"codex:{ID}", env).id == ID
    assert find("claude-code:5b1a", env).id == ID
    assert references(listed(env, agent="codex"))[0].count("-") == ID.count("-")
    with pytest.raises(Unsupported, match="2 sessions"):
        find("codex:5b1a", env)
    with pytest.raises(Unsupported, match="no session 'ffff'"):
        find("codex:ffff", env)
    with pytest.raises(Unsupported, match="unknown agent"):
        find("emacs:ffff", env)
    assert is_reference("codex:latest")
    assert not is_reference("emacs:latest")
    assert not is_reference("codex:../../etc")


@pytest.mark.parametrize("target", HEADS)
@pytest.mark.parametrize("source", HEADS)
def test_a_moved_session_is_a_new_one(env: dict[str, str], source: str, target: str) -> None:
    session = find(f"{source}:latest", env)
    before = session.path.read_bytes()
    moved = move(session, target, env, now=NOW, id=NEW)
    assert session.path.read_bytes() == before
    assert stat.S_IMODE(os.stat(moved.path).st_mode) == 0o600
    assert moved.command.startswith("cd /home/dev/shop && ")
    assert moved.command.endswith(NEW)
    found = find(f"{target}:{NEW}", env)
    assert (found.project, found.path) == ("/home/dev/shop", moved.path)
    assert found.words == session.words
    data = moved.path.read_bytes()
    assert ID not in data.decode()
    same = convert(data, source=target, target=target)
    assert same.to_json() == data
    assert not same.losses
    with pytest.raises(FileExistsError):
        move(session, target, env, now=NOW, id=NEW)
    assert moved.path.read_bytes() == data


def test_what_is_said_goes_with_it(env: dict[str, str]) -> None:
    """Round the agents, and home again: nothing that somebody said is lost on the way."""
    session = find("claude-code:latest", env)
    for number, agent in enumerate(
        ("codex", "gemini-cli", "copilot-cli", "qwen-code", "claude-code")
    ):
        moved = move(session, agent, env, now=NOW + number, id=NEW[:-1] + str(number))
        session = find(f"{agent}:{moved.id}", env)
    talks = [
        convert(path.read_bytes(), source="claude-code", target="openai-chat", facet="messages")
        for path in (find(f"claude-code:{ID}", env).path, session.path)
    ]
    one, two = ([{k: v for k, v in m.items() if k != "refusal"} for m in t.document] for t in talks)
    assert one == two


def test_the_command_sends_nothing_to_the_terminal(env: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "it's \x1b[31m\u202e\\n"
    folder.mkdir()
    moved = move(find("codex:latest", env), "claude-code", env, now=NOW, project=str(folder))
    assert moved.command.isprintable()
    shown = moved.command.replace("claude --resume", "pwd && true")
    assert subprocess.check_output(["bash", "-c", shown]).decode() == f"{folder}\n"


def test_a_dry_run_writes_nothing(env: dict[str, str]) -> None:
    session = find("codex:latest", env)
    moved = move(session, "claude-code", env, now=NOW, dry_run=True, project="/home/dev/other")
    assert not moved.path.exists()
    assert moved.path.parent.name == "-home-dev-other"
    assert "cd /home/dev/other && claude --resume" in moved.command
    assert moved.losses


def test_a_refused_loss_writes_nothing(env: dict[str, str]) -> None:
    with pytest.raises(Lossy):
        move(find("codex:latest", env), "qwen-code", env, now=NOW, id=NEW, fail_on={"dropped"})
    assert len(listed(env, agent="qwen-code")) == 1


def test_what_cannot_be_moved(env: dict[str, str], tmp_path: Path) -> None:
    session = find("codex:latest", env)
    with pytest.raises(Unsupported, match="UUID"):
        move(session, "claude-code", env, now=NOW, id="../../x")
    with pytest.raises(Unsupported, match="longer"):
        move(session, "claude-code", env, now=NOW, project="/a" * 150)
    store(tmp_path, "codex", lines=[{"type": "session_meta"}])
    with pytest.raises(Unsupported, match="--project"):
        move(find("codex:latest", env), "claude-code", env, now=NOW)
    session.path.write_bytes(b"nothing\n")
    with pytest.raises(Malformed):
        move(session, "claude-code", env, now=NOW)
    session.path.unlink()
    with pytest.raises(DragomanError):
        find("codex:latest", env)


def test_a_packed_file_is_read(env: dict[str, str]) -> None:
    zstandard = pytest.importorskip("zstandard")
    session = find("codex:latest", env)
    packed = session.path.with_name(session.path.name + ".zst")
    packed.write_bytes(zstandard.ZstdCompressor().compress(session.path.read_bytes()))
    session.path.unlink()
    found = find(f"codex:{ID}", env)
    assert found.words == "Why does the test fail?"
    assert move(found, "claude-code", env, now=NOW, id=NEW).path.exists()


def test_a_damaged_file_is_listed_and_said_to_be_damaged(env: dict[str, str]) -> None:
    zstandard = pytest.importorskip("zstandard")
    session = find("codex:latest", env)
    whole = zstandard.ZstdCompressor().compress(session.path.read_bytes())
    for data in (whole[:-9], b"no zstd"):
        packed = session.path.with_name(session.path.name + ".zst")
        packed.write_bytes(data)
        session.path.unlink(missing_ok=True)
        found = find(f"codex:{ID}", env)
        with pytest.raises(Malformed, match="is damaged"):
            move(found, "claude-code", env, now=NOW, id=NEW, project="/home/dev")


# -- databases --------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", DATABASES)
def test_a_session_of_a_database_is_what_its_agent_exports(tmp_path: Path, agent: str) -> None:
    path = store_rows(tmp_path, agent)
    before, env = path.read_bytes(), {"HOME": str(tmp_path)}
    [session] = listed(env)
    assert (session.agent, session.project) == (agent, "/home/dev/shop")
    assert session.words == {"goose": "An older question.", "opencode": "Which tests fail?"}[agent]
    assert session.size > 100
    assert find(f"{agent}:{session.id[:10]}", env) == find(f"{agent}:latest", env) == session
    exported = json.loads(data_of(session))
    case = CORPUS / f"session-{agent}" / f"{agent}.request.json"
    wanted = json.loads(case.read_text("utf-8"))
    assert {key: wanted[key] for key in exported} == exported
    assert convert(data_of(session), target=agent).document == exported
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]  # nothing was left beside it


@pytest.mark.parametrize("target", [*HEADS, *DATABASES])
@pytest.mark.parametrize("source", DATABASES)
def test_a_session_of_a_database_is_moved(tmp_path: Path, source: str, target: str) -> None:
    before = store_rows(tmp_path, source).read_bytes()
    session = find(f"{source}:latest", {"HOME": str(tmp_path)})
    moved = move(session, target, {"HOME": str(tmp_path)}, now=NOW, id=NEW)
    assert session.path.read_bytes() == before
    assert stat.S_IMODE(os.stat(moved.path).st_mode) == 0o600
    assert convert(moved.path.read_bytes(), source=target, target="openai-chat", model="m").document
    assert moved.command.startswith("cd /home/dev/shop && ")
    with pytest.raises(FileExistsError):
        move(session, target, {"HOME": str(tmp_path)}, now=NOW, id=NEW)


def test_what_is_moved_to_a_database_is_a_file_to_import(env: dict[str, str]) -> None:
    session = find("codex:latest", env)
    for agent in DATABASES:
        moved = move(session, agent, env, now=NOW, id=NEW)
        assert moved.path.parent == Path(env["HOME"]) / ".local/share/dragoman/sessions"
        assert f" import {moved.path} && " in moved.command
        doc = json.loads(moved.path.read_bytes())
        assert "/home/dev/shop" in (doc.get("working_dir"), doc.get("info", {}).get("directory"))


def test_a_session_moved_within_opencode_has_ids_of_its_own(tmp_path: Path) -> None:
    """opencode passes over messages whose ids it has already."""
    store_rows(tmp_path, "opencode")
    session = find("opencode:latest", {"HOME": str(tmp_path)})
    moved = move(session, "opencode", {"HOME": str(tmp_path)}, now=NOW, id=NEW)
    docs = [json.loads(data) for data in (data_of(session), moved.path.read_bytes())]
    one, two = ([message["info"]["id"] for message in doc["messages"]] for doc in docs)
    assert not {*one} & {*two}
    assert [id[:16] for id in one] == [id[:16] for id in two]  # which is their order


@pytest.mark.parametrize("agent", DATABASES)
def test_a_file_that_is_no_database_has_no_sessions(tmp_path: Path, agent: str) -> None:
    path = store_rows(tmp_path, agent)
    for data in (b"", b"garbage" * 999):
        path.write_bytes(data)
        assert listed({"HOME": str(tmp_path)}) == []
    with pytest.raises(Unsupported, match="no session"):
        find(f"{agent}:latest", {"HOME": str(tmp_path)})


def test_a_damaged_schema_has_no_sessions(tmp_path: Path) -> None:
    """SQLite's own message then repeats bytes that are no UTF-8."""
    path = store_rows(tmp_path, "goose")
    data = path.read_bytes()
    place = data.upper().index(b"CREATE TABLE")
    path.write_bytes(data[:place] + b"CR\xe9ATE" + data[place + 6 :])
    assert listed({"HOME": str(tmp_path)}) == []


@pytest.mark.parametrize("table", ["part", "message"])
@pytest.mark.parametrize("value", [None, "5", "[]", "{"])
def test_a_row_that_is_no_object(tmp_path: Path, table: str, value: Any) -> None:
    path = store_rows(tmp_path, "opencode")
    with sqlite3.connect(path) as db:
        db.execute(f"update {table} set data = ?", [value])
    [session] = listed({"HOME": str(tmp_path)})
    with pytest.raises(Malformed, match="is not"):
        data_of(session)


def test_a_name_that_is_no_utf_8_hides_no_session(tmp_path: Path) -> None:
    path = store_rows(tmp_path, "goose")
    with sqlite3.connect(path) as db:
        db.execute("update sessions set working_dir = cast(x'2fff' as text)")
    [session] = listed({"HOME": str(tmp_path)})
    assert session.project == "/\ufffd"
