"""Sessions over recorded traffic: what clients really sent, turn by turn, gives what it gave."""

from __future__ import annotations

import json
import random
from itertools import groupby
from pathlib import PurePath

import pytest

import dragoman
import stories
from dragoman import dialects

from .reality import DIALECTS, Record, records

TARGETS = [
    name for name in dialects.names() if "write" in dialects.get(name).facets().get("request", ())
]
SAMPLE = 60
"""So many conversations of each dialect, by the same dice every time,"""
FEW = 3
"""with so many targets each,"""
LONGEST = 100_000
"""if they are no longer than that."""


def run_of(record: Record) -> str:
    """The agent's run that a captured request belongs to: ``claude-code/base``."""
    path = PurePath(record.name.partition("#")[0])
    return f"{path.parent}/{path.stem.rpartition('-')[0]}"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_requests_of_one_run(dialect: str) -> None:
    captured = [
        r for r in records(dialect, "request") if r.name.partition("#")[0].endswith(".json")
    ]
    for run, group in groupby(captured, run_of):
        requests = [stories.compact(record.body) for record in group]
        for target in TARGETS:
            options = {"source": dialect, "target": target}
            for make in (dragoman.Session, dragoman.Sessions):
                found = list(stories.differences(iter(requests), make, **options))
                assert not found, f"{run} > {target}: {found[0]}"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_conversations_and_what_may_happen_to_them(dialect: str) -> None:
    dice = random.Random(f"session {dialect}")
    talks = [r for r in records(dialect, "request") if stories.key_of(dialect, r.body)]
    talks = [r for r in talks if len(json.dumps(r.body)) < LONGEST]
    dice.shuffle(talks)
    for number, record in enumerate(talks[:SAMPLE]):
        key = stories.key_of(dialect, record.body)
        assert key is not None
        requests = list(stories.story(record.body, key, number))
        for target in dice.sample(TARGETS, FEW):
            options = {"source": dialect, "target": target}
            found = list(stories.differences(iter(requests), dragoman.Session, **options))
            assert not found, f"{record.name} > {target}: {found[0]}"
