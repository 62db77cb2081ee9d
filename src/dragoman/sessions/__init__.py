"""Sessions that agents have stored on this machine: listed, loaded, and moved to another agent.

``listed`` looks at the beginning and the size of each file, never at all of it. ``find`` takes what
a user types, ``claude-code:1dc1ae09`` or ``codex:latest``. ``move`` writes a session of another
agent as a new file in that agent's place; the original is only read.

Which folders are looked into depends on the environment as it does for the agents themselves
(``HOME``, ``CLAUDE_CONFIG_DIR``, ``CODEX_HOME``, ...).
"""

from __future__ import annotations

from .agents import Agent, Session
from .known import AGENTS, agent_of
from .listing import find, is_reference, listed, references
from .moving import Moved, data_of, move

__all__ = [
    "AGENTS",
    "Agent",
    "Moved",
    "Session",
    "agent_of",
    "data_of",
    "find",
    "is_reference",
    "listed",
    "move",
    "references",
]
