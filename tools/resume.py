"""Real agents go on with sessions that dragoman wrote: ``make agents-resume``.

Installs the agents from the npm registry into a folder that is thrown away. An agent is asked
something and calls a tool; `dragoman move` writes its session for the next agent, which is told to
go on and calls a tool of its own; and so round a ring, until the first agent has it again. The
model is a script of ours, so what an agent sends is what it knows: each must send all that was
said and all results of all tools. Nothing leaves this machine; no key is needed. Not part of
``make check``: it takes minutes and 2 GB.

    python tools/resume.py [--rings claude-code,codex/codex,claude-code] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from dragoman.gateway import Config, Gateway
from dragoman.gateway.config import SCRIPTED
from dragoman.gateway.script import Reply, Script
from dragoman.gateway.testing import Model, running
from dragoman.model import Request, Text, ToolResult
from dragoman.sessions import find

PACKAGES = {
    "claude-code": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "qwen-code": "@qwen-code/qwen-code",
}
SHELLS: dict[str, tuple[str, str]] = {
    "claude-code": ("Bash", "command"),
    "codex": ("exec_command", "cmd"),
    "qwen-code": ("run_shell_command", "command"),
}
RINGS = (
    "claude-code,codex",
    "codex,claude-code",
    "claude-code,qwen-code",
    "qwen-code,codex,claude-code",
)
ASKED = "The word is {}. Say it with a tool."
SAID = "The tool has said {}."


class Asked(Script):
    """A model that calls the shell once in each run, and then says what it was told to."""

    def __init__(self, agent: str, word: str) -> None:
        super().__init__([])
        self.agent, self.word = agent, word

    def reply(self, request: Request) -> Reply:
        name, key = SHELLS[self.agent]
        if not any(tool.name == name for tool in request.tools or ()):
            return Reply(text="A title.")
        last = request.messages[-1]
        if any(isinstance(block, ToolResult) for block in last.content):
            return Reply(text=SAID.format(self.word))
        arguments: dict[str, Any] = {key: f"printf {self.word}-%d 42"}
        if self.agent != "codex":
            arguments["description"] = "say it"
        if self.agent == "qwen-code":
            arguments["is_background"] = False
        call = {"name": name, "arguments": arguments}
        return msgspec.convert({"text": f"I say {self.word}.", "calls": [call]}, Reply)


class Run(NamedTuple):
    """One agent in the home folder that all of them share."""

    url: str
    home: Path
    bin: Path

    @property
    def work(self) -> Path:
        return self.home / "work"


def environment(run: Run, **more: str) -> dict[str, str]:
    node = run.bin.parent / "node" / "bin"
    path = f"{node}:{run.bin}:/usr/local/bin:/usr/bin:/bin"
    return {"HOME": str(run.home), "PATH": path, "TERM": "dumb", **more}


def claude(run: Run, id: str, prompt: str) -> tuple[list[str], dict[str, str]]:
    told = environment(
        run, ANTHROPIC_BASE_URL=run.url, ANTHROPIC_API_KEY="sk-x", IS_SANDBOX="1",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", ENABLE_TOOL_SEARCH="false",
    )  # fmt: skip
    resume = ["--resume", id] if id else []
    return ["claude", *resume, "-p", prompt, "--allowedTools", "Bash"], told


def codex(run: Run, id: str, prompt: str) -> tuple[list[str], dict[str, str]]:
    folder = run.home / ".codex"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(
        f'model = "gpt-5"\nmodel_provider = "mock"\n[model_providers.mock]\nname = "mock"\n'
        f'base_url = "{run.url}/v1"\nenv_key = "MOCK_KEY"\nwire_api = "responses"\n'
    )
    flags = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    resume = ["resume", id] if id else []
    return ["codex", "exec", *flags, *resume, prompt], environment(run, MOCK_KEY="x")


def qwen(run: Run, id: str, prompt: str) -> tuple[list[str], dict[str, str]]:
    told = environment(run, OPENAI_API_KEY="x", OPENAI_BASE_URL=f"{run.url}/v1", OPENAI_MODEL="m")
    resume = ["--resume", id] if id else []
    return ["qwen", *resume, "-p", prompt, "--yolo", "--auth-type", "openai"], told


AGENTS: dict[str, Callable[[Run, str, str], tuple[list[str], dict[str, str]]]] = {
    "claude-code": claude,
    "codex": codex,
    "qwen-code": qwen,
}


@contextmanager
def listening(agent: str, word: str) -> Iterator[Model]:
    gateway = Gateway(Config(log="none"))
    model = Model(Asked(agent, word))
    gateway.upstreams[SCRIPTED] = model
    with running(gateway) as model.url:
        yield model


def ask(agent: str, id: str, word: str, home: Path, bin: Path) -> Model:
    """One run of an agent; what it has asked its model."""
    with listening(agent, word) as model:
        run = Run(model.url, home, bin)
        command, env = AGENTS[agent](run, id, ASKED.format(word))
        command[0] = str(bin / command[0])
        done = subprocess.run(
            command, cwd=run.work, env=env, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=180, check=False,
        )  # fmt: skip
        (home / f"{agent}-{word}.txt").write_text(done.stdout + done.stderr)
        return model


def moved(source: str, target: str, home: Path) -> str:
    """The id of a session that ``dragoman move`` has written."""
    command = [sys.executable, "-m", "dragoman", "move", f"{source}:latest", "--to", target, "-q"]
    env = {**os.environ, "HOME": str(home)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    ids = re.findall(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", done.stdout)
    return str(ids[-1])


def missing(model: Model, words: list[str]) -> str:
    """What of the conversation the agent did not send, in the last request with tools."""
    requests = [asked for asked in model.asked if asked.tools]
    if not requests:
        return "no request"
    texts: list[str] = []
    for message in requests[-1].messages:
        for block in message.content:
            if isinstance(block, Text):
                texts.append(block.text)
            elif isinstance(block, ToolResult):
                texts += (part.text for part in block.content if isinstance(part, Text))
    said = "\n".join(texts)
    for word in words:
        wanted = [ASKED.format(word), f"I say {word}.", f"{word}-42"]
        wanted += [SAID.format(word)] if word != words[-1] else []
        for each in wanted:
            if each not in said:
                return f"no {each!r}"
    return ""


def ring(names: list[str], folder: Path) -> list[tuple[str, str]]:
    """Each step of a ring, and what is wrong with it; nothing: the agent went on."""
    home, bin = Path(tempfile.mkdtemp(dir=folder)), folder / "node_modules" / ".bin"
    (home / "work").mkdir()
    subprocess.run(["git", "init", "-q", "."], cwd=home / "work", check=True)
    words, id, before = [], "", ""
    out: list[tuple[str, str]] = []
    for number, agent in enumerate([*names, names[0]]):
        words.append(f"word{number}x")
        if before:
            id = moved(before, agent, home)
        fault = missing(ask(agent, id, words[-1], home, bin), words)
        if before:
            out.append((f"{before} > {agent}", fault))
        if fault:
            if not before:
                out.append((agent, fault))
            break
        before = agent
        assert find(f"{agent}:latest", {"HOME": str(home)}).size
    return out


def install(agents: list[str], folder: Path) -> None:
    missing = [PACKAGES[a] for a in agents if not (folder / "node_modules" / PACKAGES[a]).exists()]
    if missing:
        print(f"installing {', '.join(missing)} ...", flush=True)
        if not (folder / "package.json").exists():
            (folder / "package.json").write_text("{}")
        npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "node@24", *missing]
        subprocess.run(npm, cwd=folder, check=True)


def main() -> int:
    asked = argparse.ArgumentParser(description="Real agents go on with what dragoman wrote.")
    asked.add_argument("--rings", default="/".join(RINGS))
    asked.add_argument("--keep", help="a folder that stays, with the agents in it")
    told = asked.parse_args()
    rings = [names.split(",") for names in told.rings.split("/")]
    folder = Path(told.keep or tempfile.mkdtemp(prefix="agents-")).absolute()
    folder.mkdir(exist_ok=True)
    failed = 0
    try:
        install(sorted({name for names in rings for name in names}), folder)
        print("| moved | goes on |\n| --- | --- |")
        for names in rings:
            for step, fault in ring(names, folder):
                print(f"| {step} | {fault or 'yes'} |", flush=True)
                failed += bool(fault)
    finally:
        if told.keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
