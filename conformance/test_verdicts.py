"""Detect, check and repair, held against what real clients sent and real servers accepted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from dragoman.check import check
from dragoman.detect import detect
from dragoman.dialects import get
from dragoman.repair import repair

from . import laws
from .reality import DIALECTS, FACETS, file_of, records
from .test_reality import readable

# Documents that are taken for something else, each with its reason.
MISTAKEN: dict[str, str] = {
    "1fb883489fe0c184-7bf3036c-0-request": "filed under chat, but a request of Claude Code",
    "9d780077eacd7220-1d5fbb8c-0-request": "filed under chat, but it has Anthropic's keys",
}
# What a plain document may be taken for: nothing in it tells of anyone but the API all copied.
PLAIN = ("mistral", "ollama", "openai-chat")
# Requests that were accepted and break a rule, each with its reason.
BENT: dict[str, str] = {
    "47c0addf5b18ad0c-47c0addf-0-request": "an id that was changed by hand, in a recording of 2024",
}
OFFICIAL = {
    "anthropic-messages": "anthropic",
    "gemini": "google",
    "gemini-interactions": "google",
    "bedrock-converse": "bedrock",
    "mistral": "mistral",
    "ollama": "ollama",
    "cohere": "cohere",
}


@pytest.mark.parametrize(("dialect", "facet"), list(product(DIALECTS, FACETS)))
def test_detection(dialect: str, facet: str) -> None:
    wrong: list[object] = []
    for record in records(dialect, facet):
        if not isinstance(record.body, dict):
            continue
        guesses = detect(record.body)
        right = bool(guesses) and guesses[0].facet == facet and is_a(guesses[0].dialect, dialect)
        laws.tally("5 detected", f"{dialect} {facet}", right)
        plain = dialect in PLAIN and guesses and guesses[0].dialect == "openai-chat"
        if guesses and not right and not plain and record.name not in MISTAKEN:
            wrong.append((record.name, guesses[0]))
    assert not wrong, wrong[:5]


def is_a(found: str, dialect: str) -> bool:
    """Whether a dialect is the other or a variant of it: many servers speak Chat Completions."""
    return isinstance(get(found), type(get(dialect)))


def accepted(dialect: str) -> Iterator[tuple[str, Any]]:
    """Recorded requests to the vendor's own API that it answered."""
    replied: set[str] = set()
    for kind in ("response", "stream"):
        for entry in _entries(dialect, kind):
            if entry.get("status") in (None, 200):
                replied.add(entry["pair"])
    for entry in _entries(dialect, "request"):
        if entry["origin"] == "recorded" and entry["via"] == OFFICIAL.get(dialect, "openai"):
            if entry["pair"] in replied:
                yield entry["id"], entry["body"]


def _entries(dialect: str, kind: str) -> Iterator[dict[str, Any]]:
    for line in file_of(dialect, kind).read_bytes().splitlines():
        yield json.loads(line)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_was_accepted_breaks_no_rule(dialect: str) -> None:
    failures = []
    for name, body in accepted(dialect):
        problems = check(body, dialect)
        if not laws.tally("6 accepted, and no rule is broken", dialect, not problems):
            failures.append((name, problems[0]))
    assert not [f for f in failures if f[0] not in BENT], failures[:5]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_repair_leaves_alone_what_is_whole(dialect: str) -> None:
    for record in readable(dialect, "request"):
        problems = check(record.body, dialect)
        if any(problem.rule == "malformed" for problem in problems):
            continue
        done = repair(record.body, dialect)
        if not problems:
            held = laws.exact(done.document, record.body) and not done.losses
            assert laws.tally("7 whole, and left alone", dialect, held), record.name
        else:
            again = repair(done.document, dialect)
            held = laws.exact(again.document, done.document) and not again.losses
            assert laws.tally("7 mended, and done", dialect, held), record.name
