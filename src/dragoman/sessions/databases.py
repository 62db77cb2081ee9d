"""Agents whose sessions lie in an SQLite file: opened to read, and never written.

A session is read as the agent itself exports it, row by row, and what is moved to such an agent is
a file that the agent's own command imports. A database without a journal beside it is opened as
one that nobody changes, so that SQLite leaves nothing beside it; else the journal has the newest
rows, and SQLite reads it as the agent does.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

from ..core.reading import UNREADABLE, decode, encode
from ..errors import Malformed
from ..model import Json
from .agents import Agent, Session, is_context, quoted, spoken, text, within

Row = dict[str, Any]
BYTES = "octet_length" if sqlite3.sqlite_version_info >= (3, 43) else "length"
"""How long a text is; the first of the two does not read it."""


UNUSABLE = (sqlite3.Error, UnicodeError)
"""What sqlite3 raises for a damaged database; its own messages may be no UTF-8 there."""


class Stored(Agent):
    """An agent with one file for all of its sessions."""

    variable: ClassVar[str] = "XDG_DATA_HOME"
    listing: ClassVar[str]
    """a query for id, project, when it was changed, size, version and the first message"""

    def database(self, env: Mapping[str, str]) -> Path:
        raise NotImplementedError

    def files(self, env: Mapping[str, str]) -> Iterable[Path]:
        return ()

    def sessions(self, env: Mapping[str, str]) -> Iterator[Session]:
        path = self.database(env)
        if not path.is_file():
            return
        try:
            with closing(opened(path)) as db:
                db.text_factory = lambda text: text.decode(errors="replace")
                for row in db.execute(self.listing):
                    yield self.session(path, dict(row))
        except UNUSABLE:  # no such table, or no database: nothing that we know
            return

    def session(self, path: Path, row: Row) -> Session:
        return Session(
            self.name,
            text(row["id"]),
            path,
            text(row["project"]),
            self.seconds(row["changed"]),
            row["size"] if isinstance(row["size"], int) else 0,
            self.words(row["said"]),
            text(row["version"]),
        )

    def words(self, said: Any) -> str:
        """The first words, of a message or a list of parts as JSON."""
        try:
            found = spoken(decode(said)) if isinstance(said, str) else ""
        except UNREADABLE:
            return ""
        return "" if is_context(found) else found

    def seconds(self, told: Any) -> float:
        raise NotImplementedError

    def load(self, session: Session) -> bytes:
        try:
            with closing(opened(session.path)) as db:
                return encode(self.exported(db, session.id))
        except UNUSABLE as problem:
            raise Malformed(f"{session.path} cannot be read: {problem}") from None

    def exported(self, db: sqlite3.Connection, id: str) -> Json:
        raise NotImplementedError

    def place(self, env: Mapping[str, str], id: str, project: str, now: float) -> Path:
        """A file that the agent imports, among our own."""
        return data(env) / "dragoman" / "sessions" / f"{self.name}-{id}.json"


def data(env: Mapping[str, str]) -> Path:
    """The folder in which programs keep what is the user's."""
    if given := env.get("XDG_DATA_HOME"):
        return Path(given)
    above = env.get("HOME") or env.get("USERPROFILE") or "~"
    return Path(above).expanduser() / ".local" / "share"


def opened(path: Path) -> sqlite3.Connection:
    mode = "mode=ro" if os.path.exists(f"{path}-wal") else "immutable=1"
    db = sqlite3.connect(f"file:{quote(str(path))}?{mode}", uri=True)
    db.row_factory = sqlite3.Row
    db.execute("pragma query_only = on")
    return db


def rows(db: sqlite3.Connection, query: str, id: str) -> list[Row]:
    return [dict(row) for row in db.execute(query, (id,))]


def object_in(value: Any, at: str) -> dict[str, Json]:
    """A column with an object of JSON."""
    found = said_in(value, at)
    if not isinstance(found, dict):
        raise Malformed(f"{at} is not an object")
    return found


def said_in(value: Any, at: str) -> Json:
    """A column of JSON."""
    if not isinstance(value, str | bytes):
        return None
    try:
        return decode(value if isinstance(value, bytes) else value.encode())
    except UNREADABLE:
        raise Malformed(f"{at} is not JSON") from None


class Goose(Stored):
    name = "goose"
    program = "goose"
    listing = f"""
        select id, working_dir as project, updated_at as changed, '' as version,
            (select sum({BYTES}(content_json)) from messages m where m.session_id = s.id) as size,
            (select content_json from messages m where m.session_id = s.id and role = 'user'
                order by m.id limit 1) as said
        from sessions s where session_type in ('user', 'scheduled')"""

    def root(self, env: Mapping[str, str]) -> Path:
        if given := env.get("GOOSE_PATH_ROOT"):
            return Path(given) / "data"
        return data(env) / "goose"

    def database(self, env: Mapping[str, str]) -> Path:
        return self.root(env) / "sessions" / "sessions.db"

    def seconds(self, told: Any) -> float:
        """ "2026-11-16 11:39:49", in UTC."""
        try:
            return datetime.fromisoformat(str(told)).replace(tzinfo=UTC).timestamp()
        except ValueError:
            return 0.0

    def exported(self, db: sqlite3.Connection, id: str) -> Json:
        """As ``goose session export --format json`` writes it."""
        found = rows(db, "select * from sessions where id = ?", id)
        if not found:
            raise Malformed(f"goose has no session {id!r}")
        out: dict[str, Json] = {}
        for column, value in found[0].items():
            name = column.removesuffix("_json")
            if name != column or column == "extension_data":
                value = said_in(value, column)
            elif column == "user_set_name":
                value = bool(value)
            elif column.endswith("_at") and isinstance(value, str):
                value = value.replace(" ", "T") + "Z"
            out[name] = value
        messages = rows(db, "select * from messages where session_id = ? order by id", id)
        out["conversation"] = [
            {
                **({"id": row["message_id"]} if row.get("message_id") else {}),
                "role": row["role"],
                "created": row["created_timestamp"],
                "content": said_in(row["content_json"], f"/conversation/{index}/content"),
                "metadata": said_in(row.get("metadata_json"), f"/conversation/{index}/metadata")
                or {"userVisible": True, "agentVisible": True},
            }
            for index, row in enumerate(messages)
        ]
        out["message_count"] = len(messages)
        out.pop("description", None)
        return out

    def fit(self, document: Json, id: str, project: str) -> Json:
        name = " ".join(first_words(document["conversation"], "content").split())[:60]
        count = len(document["conversation"])
        told = {"id": id, "working_dir": project, "name": name, "message_count": count}
        return {**document, **told}

    def resume(self, id: str, project: str, path: Path) -> str:
        # It gives an imported session an id of its own; the newest one is resumed.
        return within(
            project, f"goose session import {quoted(str(path))} && goose session --resume"
        )


class Opencode(Stored):
    name = "opencode"
    program = "opencode"
    listing = f"""
        select id, directory as project, time_updated as changed, version,
            (select sum({BYTES}(data)) from part p where p.session_id = s.id) as size,
            (select p.data from part p join message m on m.id = p.message_id
                where p.session_id = s.id and m.data like '%"role":"user"%'
                and p.data like '%"type":"text"%'
                order by m.time_created, m.id, p.id limit 1) as said
        from session s where parent_id is null"""

    def root(self, env: Mapping[str, str]) -> Path:
        return data(env) / "opencode"

    def database(self, env: Mapping[str, str]) -> Path:
        return self.root(env) / "opencode.db"

    def words(self, said: Any) -> str:
        return super().words(f"[{said}]" if isinstance(said, str) else said)

    def seconds(self, told: Any) -> float:
        return told / 1000 if isinstance(told, int) else 0.0

    def exported(self, db: sqlite3.Connection, id: str) -> Json:
        """As ``opencode export`` writes it."""
        found = rows(db, "select * from session where id = ?", id)
        if not found:
            raise Malformed(f"opencode has no session {id!r}")
        parts: dict[str, list[Json]] = {}
        query = "select * from part where session_id = ? order by message_id, id"
        for row in rows(db, query, id):
            ids = {"id": row["id"], "sessionID": id, "messageID": row["message_id"]}
            part = object_in(row["data"], f"the part {row['id']}")
            parts.setdefault(row["message_id"], []).append({**part, **ids})
        query = "select * from message where session_id = ? order by time_created, id"
        messages = [
            {
                "info": {**object_in(row["data"], f"the message {row['id']}"), "id": row["id"],
                         "sessionID": id},
                "parts": parts.get(row["id"], []),
            }
            for row in rows(db, query, id)
        ]  # fmt: skip
        return {"info": head_of(found[0]), "messages": messages}

    def id_for(self, uuid: str) -> str:
        return f"ses_{uuid.replace('-', '')[:26]}"

    def fit(self, document: Json, id: str, project: str) -> Json:
        head = document["info"]
        title = " ".join(first_words(document["messages"], "parts").split())[:60]
        messages = [self.owned(each, id, project) for each in document["messages"]]
        head = {**head, "id": id, "directory": project, "title": title or head.get("title", "")}
        return {**document, "info": head, "messages": messages}

    def owned(self, message: Json, session: str, project: str) -> Json:
        """A message of a new session: an id that is there already would be passed over."""
        info = {**message["info"], "sessionID": session}
        for key in ("id", "parentID"):
            if key in info:
                info[key] = renewed(info[key], session)
        if "path" in info:
            info["path"] = {"cwd": project, "root": project}
        parts = [
            {
                **part,
                "id": renewed(part.get("id"), session),
                "sessionID": session,
                "messageID": info["id"],
            }
            for part in message["parts"]
        ]
        for part in parts:
            if "tail_start_id" in part:
                part["tail_start_id"] = renewed(part["tail_start_id"], session)
        return {**message, "info": info, "parts": parts}

    def resume(self, id: str, project: str, path: Path) -> str:
        return within(project, f"opencode import {quoted(str(path))} && opencode --session {id}")


def renewed(id: Json, session: str) -> Json:
    """Another id with the same place in the order, which its first twelve digits tell."""
    if not isinstance(id, str):
        return id
    return f"{id[:16]}{sha256(f'{session} {id}'.encode()).hexdigest()[:14]}"


def head_of(row: Row) -> Json:
    """What is told of a session of opencode: its columns, under the names of the export."""
    out: dict[str, Json] = {"id": row["id"]}
    for column, name in COLUMNS.items():
        if (value := row.get(column)) is None:
            continue
        value = said_in(value, column) if column in TEXTS else value
        *above, name = name.split(".")
        holder = out
        for key in above:
            holder = holder.setdefault(key, {})
        holder[name] = value
    return out


TEXTS = frozenset({"model", "summary_diffs", "metadata", "revert", "permission"})
COLUMNS = {
    "slug": "slug",
    "project_id": "projectID",
    "workspace_id": "workspaceID",
    "directory": "directory",
    "path": "path",
    "parent_id": "parentID",
    "title": "title",
    "agent": "agent",
    "model": "model",
    "version": "version",
    "summary_additions": "summary.additions",
    "summary_deletions": "summary.deletions",
    "summary_files": "summary.files",
    "summary_diffs": "summary.diffs",
    "cost": "cost",
    "tokens_input": "tokens.input",
    "tokens_output": "tokens.output",
    "tokens_reasoning": "tokens.reasoning",
    "tokens_cache_read": "tokens.cache.read",
    "tokens_cache_write": "tokens.cache.write",
    "share_url": "share.url",
    "metadata": "metadata",
    "revert": "revert",
    "permission": "permission",
    "time_created": "time.created",
    "time_updated": "time.updated",
    "time_compacting": "time.compacting",
    "time_archived": "time.archived",
}


def first_words(messages: list[Json], key: str) -> str:
    """What the user said first."""
    for message in messages:
        info = message.get("info", message)
        said = spoken(message.get(key))
        if info.get("role") == "user" and said and not is_context(said):
            return said
    return ""
