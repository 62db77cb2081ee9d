"""Nothing that is written breaks a rule of its API: over sessions nobody wrote down."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings

import dragoman
from choosing import examples
from dragoman import dialects, testing
from dragoman.core.walk import placed
from dragoman.model import Request
from strategies import sessions

RULED = [
    name
    for name in dialects.names()
    if testing.speaks(name, "request") and getattr(dialects.get(name), "rules", None)
]
SOURCES = ["native", "ollama", "vercel-model", "openai-chat", "anthropic-messages", "gemini"]
relaxed = settings(
    max_examples=examples(60),
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
)


@pytest.mark.parametrize("target", RULED)
@relaxed
@given(tree=sessions())
def test_sessions(target: str, tree: Request) -> None:
    """A request of any form becomes one that the API takes."""
    testing.breaks_no_rule(placed(tree, ""), target)


@pytest.mark.parametrize("source", SOURCES)
@relaxed
@given(tree=sessions())
def test_sessions_of_others(source: str, tree: Request) -> None:
    """What a dialect makes of a session, and its own check accepts, is accepted everywhere."""
    document = dragoman.write(tree, source).document
    if dragoman.check(document, source):
        return
    read = dragoman.read(document, source)
    assert isinstance(read, Request)
    for target in RULED:
        if target != source:
            testing.breaks_no_rule(read, target)
