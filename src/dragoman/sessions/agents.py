"""Where each agent keeps its sessions, and what it wants in a file that it resumes."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from ..dialects.codex import CONTEXT
from ..dialects.gemini_cli import ASIDE
from ..errors import Unsupported
from ..model import Json

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MARKER = ".project_root"
"""The file by which gemini-cli knows whose a folder is."""
HEAD_ID = re.compile(rb'"sessionId" ?: ?"([\w-]{1,128})"')
LONGEST = 200
"""How long the name of a folder may be; beyond that, Claude Code adds a digest of its own."""


class Session(NamedTuple):
    """A stored session, as far as its beginning tells."""

    agent: str
    id: str
    path: Path
    project: str
    """the folder that the agent worked in; empty: the file does not tell"""
    changed: float
    """when something was last said, as seconds since 1970"""
    size: int
    words: str
    """what the user said first"""
    version: str = ""
    """of the agent that wrote it"""


class Agent:
    """An agent; its name is that of the dialect of its files."""

    name: ClassVar[str]
    program: ClassVar[str]

    def root(self, env: Mapping[str, str]) -> Path:
        """The folder with its sessions."""
        raise NotImplementedError

    def files(self, env: Mapping[str, str]) -> Iterable[Path]:
        """The files of its sessions."""
        raise NotImplementedError

    def id_for(self, uuid: str) -> str:
        """The id of a new session."""
        return uuid

    def id_of(self, path: Path) -> str:
        """The id by which it resumes the session in a file."""
        found = UUID.findall(path.name)
        return str(found[-1]) if found else path.name.partition(".")[0]

    def describe(self, lines: Iterable[dict[str, Json]]) -> tuple[str, str, str]:
        """The project, the first words and the version, by the first lines of a file."""
        raise NotImplementedError

    def project_of(self, path: Path) -> str:
        """The project of a file, where its place tells and its lines do not."""
        return ""

    def place(self, env: Mapping[str, str], id: str, project: str, now: float) -> Path:
        """Where the file of a new session lies."""
        raise NotImplementedError

    def fit(self, document: Json, id: str, project: str) -> Json:
        """A new session, under its id and in its folder: its lines, or what is imported."""
        raise NotImplementedError

    def resume(self, id: str, project: str, path: Path) -> str:
        """The command that goes on with a session."""
        raise NotImplementedError

    def markers(self, path: Path, project: str) -> Iterable[tuple[Path, bytes]]:
        """What else must lie beside a new file, for the agent to find it."""
        return ()


def home(env: Mapping[str, str], variable: str, folder: str) -> Path:
    """The folder of an agent: as a variable says, or in the home folder."""
    if given := env.get(variable):
        return Path(given)
    return Path(env.get("HOME") or env.get("USERPROFILE") or "~").expanduser() / folder


def within(project: str, command: str) -> str:
    return f"cd {quoted(project)} && {command}"


def quoted(path: str) -> str:
    """A path as a word of the shell; what would do something to a terminal is written as a code."""
    if path.isprintable():
        return shlex.quote(path)
    return "$'" + "".join(map(_escaped, path)) + "'"


def _escaped(letter: str) -> str:
    if letter in "\\'":
        return f"\\{letter}"
    if letter.isprintable():
        return letter
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(letter))


class ClaudeCode(Agent):
    name = "claude-code"
    program = "claude"

    def root(self, env: Mapping[str, str]) -> Path:
        return home(env, "CLAUDE_CONFIG_DIR", ".claude") / "projects"

    def files(self, env: Mapping[str, str]) -> Iterator[Path]:
        # Files of subagents are called agent-<id>.jsonl, and lie in folders of their sessions.
        for path in self.root(env).glob("*/*.jsonl"):
            if UUID.fullmatch(path.stem):
                yield path

    def describe(self, lines: Iterable[dict[str, Json]]) -> tuple[str, str, str]:
        project = words = version = ""
        for line in lines:
            project = project or text(line.get("cwd"))
            version = version or text(line.get("version"))
            message = line.get("message")
            if line.get("type") == "user" and not words and isinstance(message, dict):
                if not (line.get("isMeta") or line.get("isSidechain")):
                    said = spoken(message)
                    words = "" if is_context(said) else said
            if project and words and version:
                break
        return project, words, version

    def place(self, env: Mapping[str, str], id: str, project: str, now: float) -> Path:
        folder = re.sub("[^a-zA-Z0-9]", "-", project)
        if len(folder) > LONGEST:
            raise Unsupported(f"the path of the project is longer than {LONGEST} characters")
        return self.root(env) / folder / f"{id}.jsonl"

    def fit(self, document: Json, id: str, project: str) -> Json:
        return [{**line, "sessionId": id, "cwd": project} for line in document]

    def resume(self, id: str, project: str, path: Path) -> str:
        return within(project, f"claude --resume {id}")


class Codex(Agent):
    name = "codex"
    program = "codex"

    def root(self, env: Mapping[str, str]) -> Path:
        return home(env, "CODEX_HOME", ".codex") / "sessions"

    def files(self, env: Mapping[str, str]) -> Iterator[Path]:
        for pattern in ("rollout-*.jsonl", "rollout-*.jsonl.zst"):
            yield from self.root(env).glob(f"*/*/*/{pattern}")

    def describe(self, lines: Iterable[dict[str, Json]]) -> tuple[str, str, str]:
        project = words = version = ""
        for line in lines:
            payload = line.get("payload")
            if not isinstance(payload, dict):
                continue
            if line.get("type") == "session_meta" and not version:
                project = text(payload.get("cwd"))
                version = text(payload.get("cli_version"))
            elif line.get("type") == "response_item" and payload.get("role") == "user":
                said = spoken(payload.get("content"))
                if said and not is_context(said):
                    words = said
                    break
        return project, words, version

    def place(self, env: Mapping[str, str], id: str, project: str, now: float) -> Path:
        date = datetime.fromtimestamp(now, UTC)
        name = f"rollout-{date:%Y-%m-%dT%H-%M-%S}-{id}.jsonl"
        return self.root(env) / f"{date:%Y}" / f"{date:%m}" / f"{date:%d}" / name

    def fit(self, document: Json, id: str, project: str) -> Json:
        out: list[Json] = []
        for line in document:
            payload: dict[str, Any] = line["payload"]
            if line["type"] == "session_meta":
                payload = {**payload, "id": id, "cwd": project}
            elif line["type"] == "turn_context":
                payload = {**payload, "cwd": project}
            out.append({**line, "payload": payload})
        return out

    def resume(self, id: str, project: str, path: Path) -> str:
        return within(project, f"codex resume {id}")


class QwenCode(ClaudeCode):
    name = "qwen-code"
    program = "qwen"

    def root(self, env: Mapping[str, str]) -> Path:
        return home(env, "QWEN_HOME", ".qwen") / "projects"

    def files(self, env: Mapping[str, str]) -> Iterator[Path]:
        for path in self.root(env).glob("*/chats/*.jsonl"):
            if UUID.fullmatch(path.stem):
                yield path

    def place(self, env: Mapping[str, str], id: str, project: str, now: float) -> Path:
        path = super().place(env, id, project, now)
        return path.parent / "chats" / path.name

    def resume(self, id: str, project: str, path: Path) -> str:
        return within(project, f"qwen --resume {id}")


class CopilotCLI(Agent):
    """A session is a folder: the events are in a file of it, the rest is made again."""

    name = "copilot-cli"
    program = "copilot"

    def root(self, env: Mapping[str, str]) -> Path:
        return home(env, "COPILOT_HOME", ".copilot") / "session-state"

    def files(self, env: Mapping[str, str]) -> Iterator[Path]:
        yield from self.root(env).glob("*/events.jsonl")

    def id_of(self, path: Path) -> str:
        return path.parent.name

    def describe(self, lines: Iterable[dict[str, Json]]) -> tuple[str, str, str]:
        project = words = version = ""
        for line in lines:
            data = line.get("data")
            if not isinstance(data, dict):
                continue
            if line.get("type") == "session.start":
                context = data.get("context")
                project = text(context.get("cwd")) if isinstance(context, dict) else ""
                version = text(data.get("copilotVersion"))
            elif line.get("type") == "user.message" and "agentId" not in line:
                said = spoken(data)
                if said and not is_context(said):
                    words = said
                    break
        return project, words, version

    def place(self, env: Mapping[str, str], id: str, project: str, now: float) -> Path:
        return self.root(env) / id / "events.jsonl"

    def fit(self, document: Json, id: str, project: str) -> Json:
        out: list[Json] = []
        for line in document:
            if line["type"] == "session.start":
                told = {"sessionId": id, "context": {"cwd": project}}
                line = {**line, "data": {**line["data"], **told}}
            out.append(line)
        return out

    def resume(self, id: str, project: str, path: Path) -> str:
        return within(project, f"copilot --resume {id}")


class GeminiCLI(Agent):
    """A project has a folder with a short name; a file in it tells which project that is."""

    name = "gemini-cli"
    program = "gemini"

    def root(self, env: Mapping[str, str]) -> Path:
        above = env.get("GEMINI_CLI_HOME") or env.get("HOME") or env.get("USERPROFILE") or "~"
        return Path(above).expanduser() / ".gemini" / "tmp"

    def files(self, env: Mapping[str, str]) -> Iterator[Path]:
        # Those of subagents lie in folders of their sessions.
        yield from self.root(env).glob("*/chats/session-*.jsonl")

    def id_of(self, path: Path) -> str:
        """The name has no more than its beginning: "safeSessionId.slice(0, 8)"."""
        with path.open("rb") as file:
            head = HEAD_ID.search(file.read(4096))
        return head[1].decode() if head else path.stem[-8:]

    def describe(self, lines: Iterable[dict[str, Json]]) -> tuple[str, str, str]:
        for line in lines:
            if line.get("type") == "user":
                said = spoken(line)
                if said and not is_context(said) and not said.startswith(ASIDE):
                    return "", said, ""
        return "", "", ""

    def project_of(self, path: Path) -> str:
        try:
            return (path.parents[1] / MARKER).read_text("utf-8", "replace").strip()
        except OSError:
            return ""

    def place(self, env: Mapping[str, str], id: str, project: str, now: float) -> Path:
        name = f"session-{datetime.fromtimestamp(now, UTC):%Y-%m-%dT%H-%M}-{id[:8]}.jsonl"
        return self.root(env) / self.folder(env, project) / "chats" / name

    def folder(self, env: Mapping[str, str], project: str) -> str:
        """The folder of a project: the one that has its marker, or a name that is free."""
        root = self.root(env)
        for marker in sorted(root.glob(f"*/{MARKER}")):
            if self.project_of(marker.parent / "chats" / "any") == project:
                return marker.parent.name
        slug = re.sub("[^a-z0-9]+", "-", os.path.basename(project).lower()).strip("-")
        names = (f"{slug or 'project'}{f'-{n}' if n else ''}" for n in count())
        return next(name for name in names if not (root / name).exists())

    def markers(self, path: Path, project: str) -> Iterator[tuple[Path, bytes]]:
        marker = path.parents[1] / MARKER
        if not marker.exists():
            yield marker, project.encode()

    def fit(self, document: Json, id: str, project: str) -> Json:
        head = {"sessionId": id, "projectHash": sha256(project.encode()).hexdigest()}
        return [{**line, **head} if "projectHash" in line else line for line in document]

    def resume(self, id: str, project: str, path: Path) -> str:
        return within(project, f"gemini --resume {id}")


def text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def is_context(said: str) -> bool:
    """Whether an agent, any of them, has said that in the name of the user; or it is a command."""
    return said.startswith(("<", *CONTEXT))


def spoken(content: Json) -> str:
    """The first text of a message."""
    if isinstance(content, dict):
        content = content.get("parts", content.get("content"))
    if isinstance(content, str):
        return content.strip()
    for part in content if isinstance(content, list) else ():
        said = part.get("text") if isinstance(part, dict) else None
        if isinstance(said, str) and said.strip():
            return said.strip()
    return ""
