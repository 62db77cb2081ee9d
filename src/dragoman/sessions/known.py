"""The agents that are known, whether they keep files or a database."""

from __future__ import annotations

from ..errors import Unsupported
from .agents import Agent, ClaudeCode, Codex, CopilotCLI, GeminiCLI, QwenCode
from .databases import Goose, Opencode

AGENTS: dict[str, Agent] = {
    agent.name: agent
    for agent in (ClaudeCode(), Codex(), CopilotCLI(), GeminiCLI(), Goose(), Opencode(), QwenCode())
}


def agent_of(name: str) -> Agent:
    """The agent of that name."""
    if name not in AGENTS:
        raise Unsupported(f"unknown agent {name!r}; known: {', '.join(AGENTS)}")
    return AGENTS[name]
