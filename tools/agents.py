"""Real agents through the gateway, with every upstream dialect behind it: ``make agents``.

Installs the agents from the npm registry into a folder that is thrown away, starts a scripted model
and one gateway for each upstream dialect, runs a tool round trip and a rich one (reasoning, two
parallel calls, two rounds, an MCP server with a long name) with each, and prints a table. Nothing
leaves this machine; no key is needed. Not part of ``make check``: it takes minutes and 2 GB.

    python tools/agents.py [--agents claude,codex] [--upstreams gemini] [--keep FOLDER]

With ``--llama PATH --vocabulary FILE [--template FILE]`` the same agents have a real
``llama-server`` behind the gateway, asked over Chat, Responses and Messages, with a model that
calls one tool (``tiny_model.py``, which needs gguf and numpy).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.gateway import Config, Gateway, Upstream
from dragoman.gateway.testing import Model, running, scripted
from dragoman.model import Reasoning, ToolResult

PACKAGES = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "codex-ws": "@openai/codex",
    "gemini": "@google/gemini-cli",
    "qwen": "@qwen-code/qwen-code",
    "opencode": "opencode-ai",
    "goose": "@aaif/goose",
}
UPSTREAMS = {
    "anthropic-messages": "",
    "openai-chat": "/v1",
    "openai-responses": "/v1",
    "gemini": "",
    "bedrock-converse": "",
    "ollama": "",
}
SHELLS: dict[str, tuple[str, str]] = {
    "claude": ("Bash", "command"),
    "codex": ("exec_command", "cmd"),
    "codex-ws": ("exec_command", "cmd"),
    "gemini": ("run_shell_command", "command"),
    "qwen": ("run_shell_command", "command"),
    "opencode": ("bash", "command"),
    "goose": ("shell", "command"),
}
DONE = "All of it worked."
SERVER = "a_server_whose_name_is_longer_than_most_names_of_servers_are"
MCP = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, result = asked["method"], {}
    if method == "initialize":
        result = {"protocolVersion": asked["params"]["protocolVersion"],
                  "capabilities": {"tools": {}}, "serverInfo": {"name": "weather", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "look_up_the_weather", "description": "The weather.",
                  "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "from-mcp-14"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


class Run(NamedTuple):
    """One agent in a folder of its own."""

    agent: str
    url: str
    same: Path
    bin: Path

    @property
    def work(self) -> Path:
        return self.same / "work"


def environment(run: Run, **more: str) -> dict[str, str]:
    path = f"{run.bin}:/usr/local/bin:/usr/bin:/bin"
    return {"HOME": str(run.same), "PATH": path, "TERM": "dumb", **more}


def claude(run: Run) -> tuple[list[str], dict[str, str]]:
    servers = {SERVER: {"command": sys.executable, "args": [str(run.same / "mcp.py")]}}
    config = run.same / "mcp.json"
    config.write_text(json.dumps({"mcpServers": servers}))
    told = environment(
        run, ANTHROPIC_BASE_URL=run.url, ANTHROPIC_API_KEY="sk-x", IS_SANDBOX="1",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", ENABLE_TOOL_SEARCH="false",
    )  # fmt: skip
    allowed = ["--allowedTools", "Bash", f"mcp__{SERVER}"]
    return ["claude", "-p", "Go.", "--mcp-config", str(config), *allowed], told


def codex(run: Run) -> tuple[list[str], dict[str, str]]:
    folder = run.same / ".codex"
    folder.mkdir(exist_ok=True)
    sockets = "supports_websockets = true" if run.agent == "codex-ws" else ""
    (folder / "config.toml").write_text(
        f'model = "gpt-5.5"\nmodel_provider = "mock"\n[model_providers.mock]\nname = "mock"\n'
        f'base_url = "{run.url}/v1"\nenv_key = "MOCK_KEY"\nwire_api = "responses"\n{sockets}\n'
        f'[mcp_servers.{SERVER}]\ncommand = "{sys.executable}"\nargs = ["{run.same}/mcp.py"]\n'
    )
    flags = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    return ["codex", "exec", *flags, "Go."], environment(run, MOCK_KEY="x")


def gemini(run: Run) -> tuple[list[str], dict[str, str]]:
    folder = run.same / ".gemini"
    folder.mkdir(exist_ok=True)
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    (folder / "settings.json").write_text(json.dumps(settings))
    told = environment(
        run, GEMINI_API_KEY="x", GOOGLE_GEMINI_BASE_URL=run.url, GEMINI_CLI_TRUST_WORKSPACE="true"
    )
    return ["gemini", "-p", "Go.", "--yolo", "-m", "gemini-2.5-pro"], told


def qwen(run: Run) -> tuple[list[str], dict[str, str]]:
    told = environment(run, OPENAI_API_KEY="x", OPENAI_BASE_URL=f"{run.url}/v1", OPENAI_MODEL="m")
    return ["qwen", "-p", "Go.", "--yolo", "--auth-type", "openai"], told


def opencode(run: Run) -> tuple[list[str], dict[str, str]]:
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
    return ["opencode", "run", "-m", "mock/m", "Go."], environment(run)


def goose(run: Run) -> tuple[list[str], dict[str, str]]:
    told = environment(
        run, GOOSE_PROVIDER="openai", GOOSE_MODEL="m", OPENAI_HOST=run.url, OPENAI_API_KEY="x",
        GOOSE_DISABLE_KEYRING="1", GOOSE_MODE="auto", GOOSE_TELEMETRY_ENABLED="false",
    )  # fmt: skip
    return ["goose", "run", "--no-session", "-t", "Go.", "--with-builtin", "developer"], told


AGENTS: dict[str, Callable[[Run], tuple[list[str], dict[str, str]]]] = {
    "claude": claude,
    "codex": codex,
    "codex-ws": codex,
    "gemini": gemini,
    "qwen": qwen,
    "opencode": opencode,
    "goose": goose,
}
WITH_MCP = ("claude", "codex", "codex-ws")
"""Agents that the server with the long name is configured for."""
WITH_PATCHES = ("codex", "codex-ws")
"""Agents with a freeform tool."""
PATCH = "*** Begin Patch\n*** Add File: added.txt\n+patched-42\n*** End Patch\n"


def shell_call(agent: str, word: str) -> dict[str, Any]:
    name, key = SHELLS[agent]
    arguments: dict[str, Any] = {key: f"printf {word}-%d 42", "description": "say it"}
    if agent in ("codex", "codex-ws"):
        del arguments["description"]
    if agent == "qwen":
        arguments = {key: arguments[key], "is_background": False, "description": "say it"}
    return {"name": name, "arguments": arguments}


def replies(agent: str, rich: bool) -> list[dict[str, Any]]:
    """What the model says: one round, or two with reasoning and parallel calls."""
    when = {"tool": SHELLS[agent][0]}
    thinking = {"reasoning": "I should look.", "signature": "c2ln"}
    first: dict[str, Any] = {
        "text": "Let me look.",
        "calls": [shell_call(agent, "one")],
        "when": when,
    }
    if (
        agent == "goose"
    ):  # which writes a text and a call as two turns, with one of the user between
        del first["text"]
    last = [{"text": DONE, "when": when}] * 6
    more: list[dict[str, Any]] = []
    if agent in WITH_PATCHES:  # and which is shown the tools of servers when it searches for them
        search = [{"name": "tool_search*", "arguments": {"query": "weather"}}]
        more.append({**thinking, "calls": search, "when": when})
    if agent in WITH_MCP:
        look = [{"name": f"mcp__{SERVER[:8]}*", "arguments": {"city": "Pera"}}]
        more.append({**thinking, "calls": look, "when": when})
    if agent in WITH_PATCHES:
        more.append({"calls": [{"name": "apply_patch", "arguments": PATCH}], "when": when})
    title: list[dict[str, Any]] = [{"text": "A title."}]
    # qwen-code's conversations begin with a turn of the assistant that it wrote itself.
    start = [{"text": "Ready.", "when": when}] if agent == "qwen" else []
    if not rich:
        return [*start, first, *last, *title]
    two = {"calls": [shell_call(agent, "two"), shell_call(agent, "three")], "when": when}
    return [*start, {**thinking, **first}, {**thinking, **two}, *more, *last, *title]


def outputs(model: Model) -> str:
    """All results that the model was given."""
    results = [
        block
        for asked in model.asked
        for message in asked.messages
        for block in message.content
        if isinstance(block, ToolResult)
    ]
    return str(results)


def verdict(run: Run, model: Model, output: str, rich: bool, upstream: str) -> str:
    """What is missing, or ``ok``."""
    wanted = ["one-42", "two-42", "three-42"] if rich else ["one-42"]
    found = outputs(model)
    if missing := [word for word in wanted if word not in found]:
        return f"no {missing[0]}"
    if rich and run.agent in WITH_MCP and "from-mcp-14" not in found:
        return "no MCP result"
    if rich and run.agent in WITH_PATCHES and not (run.work / "added.txt").exists():
        return "no patch"
    if DONE not in output:
        return "no reply"
    if rich and upstream in ("anthropic-messages", "openai-responses", "bedrock-converse"):
        blocks = [b for message in model.asked[-1].messages for b in message.content]
        if not any(isinstance(b, Reasoning) and b.signature for b in blocks):
            return "no signature"
    return "ok"


@contextmanager
def behind(upstream: str, told: list[dict[str, Any]]) -> Iterator[tuple[str, Model]]:
    with ExitStack() as stack:
        model = stack.enter_context(scripted(*told))
        url = model.url + UPSTREAMS[upstream]
        server = Upstream(dialect=upstream, url=url, key="k", retries=0)
        gateway = Gateway(Config(log="none", upstreams={"up": server}))
        yield stack.enter_context(running(gateway)), model


LLAMA = {
    "llama-cpp": "/v1",
    "openai-responses": "/v1",
    "anthropic-messages": "",
}
"""What llama-server speaks."""


@contextmanager
def llama(told: argparse.Namespace, agent: str, folder: Path) -> Iterator[str]:
    """A llama-server whose model calls the shell of an agent."""
    make = import_module("tiny_model").make
    call = shell_call(agent, "one")
    command = SHELLS[agent][1]
    call["arguments"][command] += " | tee ran.txt"
    if agent in ("opencode", "goose"):
        # Their tools have no such parameter, and llama-server fails on what a schema does not have.
        del call["arguments"]["description"]
    path = folder / f"{agent}.gguf"
    make(told.vocabulary, path, json.dumps(call), DONE)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    flags = ["-m", str(path), "--port", str(port), "--jinja", "-t", "2", "-c", "131072", "-np", "1"]
    if told.template:
        flags += ["--chat-template-file", told.template]
    with (folder / f"llama-{agent}.txt").open("wb") as log:
        server = subprocess.Popen([told.llama, *flags], stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{port}"
            for _ in range(600):
                with suppress(OSError), urllib.request.urlopen(f"{url}/health"):
                    break
                time.sleep(0.1)
            yield url
        finally:
            server.terminate()
            server.wait()


def ran_with_llama(agent: str, dialect: str, url: str, folder: Path) -> str:
    """One cell: whether the agent ran the tool that the model called, and heard its last words."""
    normalize = dialect == "openai-responses"  # its streams lack output_index
    server = Upstream(
        dialect=dialect, url=url + LLAMA[dialect], key="k", retries=0, normalize=normalize,
        system="user",
    )  # fmt: skip
    gateway = Gateway(Config(log="none", upstreams={"up": server}))
    with running(gateway) as front:
        run, done = started(agent, front, folder)
    if done is None:
        return "timeout"
    made = run.work / "ran.txt"
    if not made.exists() or made.read_text() != "one-42":
        return "no call"
    return "ok" if DONE in done.stdout else "no reply"


def started(
    agent: str, url: str, folder: Path
) -> tuple[Run, subprocess.CompletedProcess[str] | None]:
    """An agent that has run in a folder of its own; None: it did not end."""
    same = Path(tempfile.mkdtemp(dir=folder))
    run = Run(agent, url, same, folder / "node_modules" / ".bin")
    run.work.mkdir()
    (same / "mcp.py").write_text(MCP)
    subprocess.run(["git", "init", "-q", "."], cwd=run.work, check=True)
    command, env = AGENTS[agent](run)
    command[0] = str(run.bin / command[0])
    try:
        done = subprocess.run(
            command, cwd=run.work, env=env, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=300, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return run, None
    (same / "output.txt").write_text(done.stdout + done.stderr)
    return run, done


def ran(agent: str, upstream: str, rich: bool, folder: Path) -> str:
    """One cell of the table."""
    told = replies(agent, rich)
    with behind(upstream, told) as (url, model):
        run, done = started(agent, url, folder)
        return "timeout" if done is None else verdict(run, model, done.stdout, rich, upstream)


def install(agents: list[str], folder: Path) -> None:
    packages = sorted({PACKAGES[agent] for agent in agents})
    missing = [name for name in packages if not (folder / "node_modules" / name).exists()]
    if missing:
        print(f"installing {', '.join(missing)} ...", flush=True)
        (folder / "package.json").write_text("{}")
        npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", *missing]
        subprocess.run(npm, cwd=folder, check=True)


def versions(agents: list[str], folder: Path) -> str:
    """What is installed."""
    names = sorted({PACKAGES[agent] for agent in agents})
    files = {name: folder / "node_modules" / name / "package.json" for name in names}
    return ", ".join(f"{n} {json.loads(file.read_text())['version']}" for n, file in files.items())


def main() -> int:
    asked = argparse.ArgumentParser(description="Real agents through the gateway.")
    asked.add_argument("--agents", default=",".join(AGENTS))
    asked.add_argument("--upstreams", default=",".join(UPSTREAMS))
    asked.add_argument("--llama", help="a llama-server, which is asked instead")
    asked.add_argument("--vocabulary", help="the vocabulary of its model")
    asked.add_argument("--template", help="its chat template")
    asked.add_argument("--keep", help="a folder that stays, with the agents in it")
    told = asked.parse_args()
    agents = told.agents.split(",")
    upstreams = list(LLAMA) if told.llama else told.upstreams.split(",")
    folder = Path(told.keep or tempfile.mkdtemp(prefix="agents-")).absolute()
    folder.mkdir(exist_ok=True)
    os.chdir(folder)
    failed = 0
    try:
        install(agents, folder)
        print(f"{date.today()}: {versions(agents, folder)}\n")
        print("| agent | " + " | ".join(upstreams) + " |")
        print("| --- |" + " --- |" * len(upstreams))
        for agent in agents:
            cells = []
            if told.llama:
                with llama(told, agent, folder) as url:
                    cells = [ran_with_llama(agent, each, url, folder) for each in upstreams]
                failed += sum(cell != "ok" for cell in cells)
            for upstream in () if told.llama else upstreams:
                plain, rich = (ran(agent, upstream, rich, folder) for rich in (False, True))
                cells.append(plain if plain == rich else f"{plain} / {rich}")
                failed += (plain != "ok") + (rich != "ok")
            print(f"| {agent} | " + " | ".join(cells) + " |", flush=True)
    finally:
        if told.keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
