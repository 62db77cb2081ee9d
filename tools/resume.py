"""Real agents go on with sessions that dragoman wrote: ``make agents-resume``.

Installs the agents from the npm registry into a folder that is thrown away. Each agent is asked
something and calls a tool; ``dragoman move`` writes its session for every agent, which is told to
go on and calls a tool of its own. Then one session goes round all of them, and home again. The
model is a script of ours, so what an agent sends is what it knows: each must send all that was said
and all results of all tools. Nothing leaves this machine; no key is needed. Not part of ``make
check``: it takes minutes and 2 GB.

    python tools/resume.py [--agents claude-code,codex] [--keep FOLDER] [--write]

``--write`` puts the table into docs/agent-sessions.md, with the versions that have run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
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

PAGE = Path(__file__).parents[1] / "docs" / "agent-sessions.md"
BEGIN, END = "<!-- resumed: written by tools/resume.py -->", "<!-- end of resumed -->"
PACKAGES = {
    "claude-code": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "copilot-cli": "@github/copilot",
    "gemini-cli": "@google/gemini-cli",
    "goose": "@aaif/goose",
    "opencode": "opencode-ai",
    "qwen-code": "@qwen-code/qwen-code",
}
SHELLS: dict[str, tuple[str, str]] = {
    "claude-code": ("Bash", "command"),
    "codex": ("exec_command", "cmd"),
    "copilot-cli": ("bash", "command"),
    "gemini-cli": ("run_shell_command", "command"),
    "goose": ("shell", "command"),
    "opencode": ("bash", "command"),
    "qwen-code": ("run_shell_command", "command"),
}
DESCRIBED = ("claude-code", "copilot-cli", "gemini-cli", "opencode", "qwen-code")
"""Agents whose shell wants a description of the command."""
ASKED = "The word is {}. Say it with a tool."
SAID = "The tool has said {}."
SECONDS = 180


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
        if self.agent in DESCRIBED:
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


Command = tuple[list[str], dict[str, str]]


def environment(run: Run, **more: str) -> dict[str, str]:
    node = run.bin.parent / "node" / "bin"
    path = f"{node}:{run.bin}:/usr/local/bin:/usr/bin:/bin"
    return {"HOME": str(run.home), "PATH": path, "TERM": "dumb", **more}


def claude(run: Run, id: str, prompt: str) -> Command:
    told = environment(
        run, ANTHROPIC_BASE_URL=run.url, ANTHROPIC_API_KEY="sk-x", IS_SANDBOX="1",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", ENABLE_TOOL_SEARCH="false",
    )  # fmt: skip
    resume = ["--resume", id] if id else []
    return ["claude", *resume, "-p", prompt, "--allowedTools", "Bash"], told


def codex(run: Run, id: str, prompt: str) -> Command:
    folder = run.home / ".codex"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(
        f'model = "gpt-5"\nmodel_provider = "mock"\n[model_providers.mock]\nname = "mock"\n'
        f'base_url = "{run.url}/v1"\nenv_key = "MOCK_KEY"\nwire_api = "responses"\n'
    )
    flags = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    resume = ["resume", id] if id else []
    return ["codex", "exec", *flags, *resume, prompt], environment(run, MOCK_KEY="x")


def copilot(run: Run, id: str, prompt: str) -> Command:
    told = environment(
        run, COPILOT_PROVIDER_BASE_URL=f"{run.url}/v1", COPILOT_PROVIDER_API_KEY="x",
        COPILOT_MODEL="gpt-5", COPILOT_OFFLINE="true",
    )  # fmt: skip
    resume = ["--resume", id] if id else []
    return ["copilot", *resume, "-p", prompt, "--allow-all-tools", "--no-color"], told


def gemini(run: Run, id: str, prompt: str) -> Command:
    folder = run.home / ".gemini"
    folder.mkdir(exist_ok=True)
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    (folder / "settings.json").write_text(json.dumps(settings))
    told = environment(
        run, GEMINI_API_KEY="x", GOOGLE_GEMINI_BASE_URL=run.url, GEMINI_CLI_TRUST_WORKSPACE="true"
    )
    resume = ["--resume", id] if id else []
    return ["gemini", *resume, "-p", prompt, "--yolo", "-m", "gemini-2.5-pro"], told


def goose(run: Run, id: str, prompt: str) -> Command:
    told = environment(
        run, GOOSE_PROVIDER="openai", GOOSE_MODEL="m", OPENAI_HOST=run.url, OPENAI_API_KEY="x",
        GOOSE_DISABLE_KEYRING="1", GOOSE_MODE="auto", GOOSE_TELEMETRY_ENABLED="false",
    )  # fmt: skip
    resume = ["--resume"] if id else []
    return ["goose", "run", *resume, "-t", prompt, "--with-builtin", "developer"], told


def opencode(run: Run, id: str, prompt: str) -> Command:
    provider = {
        "npm": "@ai-sdk/openai-compatible", "name": "M",
        "options": {"baseURL": f"{run.url}/v1", "apiKey": "sk-x"},
        "models": {"m": {"name": "M", "tool_call": True, "reasoning": True}},
    }  # fmt: skip
    settings = {
        "autoupdate": False, "share": "disabled", "provider": {"mock": provider},
        "permission": {"bash": "allow", "edit": "allow"},
    }  # fmt: skip
    (run.work / "opencode.json").write_text(json.dumps(settings))
    resume = ["--session", id] if id else []
    return ["opencode", "run", "-m", "mock/m", *resume, prompt], environment(run)


def qwen(run: Run, id: str, prompt: str) -> Command:
    told = environment(run, OPENAI_API_KEY="x", OPENAI_BASE_URL=f"{run.url}/v1", OPENAI_MODEL="m")
    resume = ["--resume", id] if id else []
    return ["qwen", *resume, "-p", prompt, "--yolo", "--auth-type", "openai"], told


AGENTS: dict[str, Callable[[Run, str, str], Command]] = {
    "claude-code": claude,
    "codex": codex,
    "copilot-cli": copilot,
    "gemini-cli": gemini,
    "goose": goose,
    "opencode": opencode,
    "qwen-code": qwen,
}


@contextmanager
def listening(agent: str, word: str) -> Iterator[Model]:
    gateway = Gateway(Config(log="none"))
    model = Model(Asked(agent, word))
    gateway.upstreams[SCRIPTED] = model
    with running(gateway) as model.url:
        yield model


class Test:
    """Sessions of agents in one home folder, moved from each to each."""

    def __init__(self, home: Path, bin: Path) -> None:
        self.home, self.bin = home, bin
        self.count = 0
        (home / "work").mkdir(parents=True)
        subprocess.run(["git", "init", "-q", "."], cwd=home / "work", check=True)

    def ask(self, agent: str, id: str, before: list[str], imports: list[list[str]]) -> str:
        """One run of an agent; what of the conversation it did not send, if anything."""
        self.count += 1
        word = f"word{self.count}x"
        with listening(agent, word) as model:
            run = Run(model.url, self.home, self.bin)
            command, env = AGENTS[agent](run, id, ASKED.format(word))
            said = ""
            for each in [*imports, command]:
                said += self.run(each, env)
            (self.home / f"{self.count}-{agent}.txt").write_text(said)
            before.append(word)
            return missing(model, before)

    def run(self, command: list[str], env: dict[str, str]) -> str:
        try:
            done = subprocess.run(
                [str(self.bin / command[0]), *command[1:]], cwd=self.home / "work", env=env,
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS,
                check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as late:
            return f"no end after {late.timeout} s\n"
        return done.stdout + done.stderr

    def latest(self, agent: str) -> str:
        return find(f"{agent}:latest", self.env).id

    @property
    def env(self) -> dict[str, str]:
        return {"HOME": str(self.home), "PATH": os.environ["PATH"]}

    def move(self, source: str, id: str, target: str) -> tuple[str, list[list[str]]]:
        """The id of what ``dragoman move`` has written, and the commands that go before it."""
        command = [sys.executable, "-m", "dragoman", "move", f"{source}:{id}", "--to", target, "-q"]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, check=True)
        _, *imports, last = [shlex.split(part) for part in done.stdout.split("&&")]
        return last[-1], imports


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


def everyone(test: Test, names: list[str]) -> tuple[list[str], int]:
    """The table of who goes on with whose session, and how many cannot."""
    lines = ["| session of | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    failed = 0
    for source in names:
        words: list[str] = []
        fault = test.ask(source, "", words, [])
        cells = [f"does not run: {fault}"] * len(names)
        if not fault:
            id = test.latest(source)
            cells = []
            for target in names:
                new, imports = test.move(source, id, target)
                fault = test.ask(target, new, list(words), imports)
                cells.append(fault or "yes")
        failed += sum(cell != "yes" for cell in cells)
        lines.append(f"| {source} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    return lines, failed


def ring(test: Test, names: list[str]) -> str:
    """One session from agent to agent, and home again; what is missing, if anything."""
    words: list[str] = []
    before = ""
    for agent in [*names, names[0]]:
        id, imports = test.move(before, test.latest(before), agent) if before else ("", [])
        if fault := test.ask(agent, id, words, imports):
            return f"{agent}: {fault}"
        before = agent
    return ""


def versions(names: list[str], folder: Path) -> str:
    found: list[str] = []
    for name in names:
        command = [str(folder / "node_modules" / ".bin" / AGENT_PROGRAMS[name]), "--version"]
        node = folder / "node_modules" / "node" / "bin"
        env = {**os.environ, "PATH": f"{node}:{os.environ['PATH']}"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
        number = re.search(r"\d+\.\d+\.\d+", done.stdout + done.stderr)
        found.append(f"{name} {number[0] if number else '?'}")
    return ", ".join(found)


AGENT_PROGRAMS = {
    "claude-code": "claude",
    "codex": "codex",
    "copilot-cli": "copilot",
    "gemini-cli": "gemini",
    "goose": "goose",
    "opencode": "opencode",
    "qwen-code": "qwen",
}


def install(agents: list[str], folder: Path) -> None:
    missing = [PACKAGES[a] for a in agents if not (folder / "node_modules" / PACKAGES[a]).exists()]
    if missing:
        print(f"installing {', '.join(missing)} ...", flush=True)
        if not (folder / "package.json").exists():
            (folder / "package.json").write_text("{}")
        npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "node@24", *missing]
        subprocess.run(npm, cwd=folder, check=True)


def write(lines: list[str]) -> None:
    """Put the table into its page."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text("\n".join([before + BEGIN, "", *lines, "", END]) + after, "utf-8")


def main() -> int:
    asked = argparse.ArgumentParser(description="Real agents go on with what dragoman wrote.")
    asked.add_argument("--agents", default=",".join(AGENTS))
    asked.add_argument("--keep", help="a folder that stays, with the agents in it")
    asked.add_argument("--write", action="store_true", help="put the table into its page")
    told = asked.parse_args()
    names = told.agents.split(",")
    folder = Path(told.keep or tempfile.mkdtemp(prefix="agents-")).absolute()
    folder.mkdir(exist_ok=True)
    try:
        install(names, folder)
        home = Path(tempfile.mkdtemp(dir=folder))
        bin = folder / "node_modules" / ".bin"
        lines, failed = everyone(Test(home / "all", bin), names)
        fault = ring(Test(home / "ring", bin), names)
        print(f"round all of them, and home again: {fault or 'yes'}")
        lines += ["", f"One session round all of them, and home again: {fault or 'yes'}."]
        lines += ["", f"Run with {versions(names, folder)}."]
        if told.write:
            write(lines)
    finally:
        if told.keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed or fault else 0


if __name__ == "__main__":
    sys.exit(main())
