"""The laws over all recorded requests, replies and errors of the APIs."""

from __future__ import annotations

from itertools import product

import pytest

import dragoman
import sdk
from dragoman import DragomanError, dialects, testing
from dragoman.laws.wire import TURNS
from dragoman.model import Request

from . import laws
from .reality import DIALECTS, FACETS, Record, pairs, records

KINDS = list(product(DIALECTS, FACETS))


def describe(failures: list[tuple[str, object]]) -> str:
    return "\n".join(f"  {name}: {why}" for name, why in failures[:20])


@pytest.mark.parametrize(("dialect", "facet"), KINDS)
def test_identity(dialect: str, facet: str) -> None:
    failures: list[tuple[str, object]] = []
    for record in records(dialect, facet):
        try:
            held, why = laws.identity(record), "differs"
        except DragomanError as problem:
            held, why = False, str(problem)
        if not laws.tally("1 identity", f"{dialect} {facet}", held):
            failures.append((record.name, why))
    failures = [f for f in failures if f[0] not in EXCUSED]
    assert not failures, describe(failures)


@pytest.mark.parametrize(("dialect", "facet"), KINDS)
def test_the_way_home(dialect: str, facet: str) -> None:
    failures: list[tuple[str, object]] = []
    for record in readable(dialect, facet):
        for target in laws.targets(record):
            held = laws.comes_home(record, target)
            if not laws.tally("3 comes home", f"{dialect} {facet} > {target}", held):
                failures.append((record.name, target))
    assert not failures, describe(failures)


# Each record is edited in some seventeen ways: every so many records go to every so many targets.
STEP = 29


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_way_home_after_edits(dialect: str) -> None:
    failures: list[tuple[str, object]] = []
    for number, record in enumerate(readable(dialect, "request")):
        for place, target in enumerate(TURNS):
            if (number + place) % STEP or target == dialect:
                continue
            if not testing.speaks(target, "request"):
                continue
            broken = laws.comes_home_edited(record, target)
            if not laws.tally("3 comes home edited", f"{dialect} > {target}", not broken):
                failures.append((f"{record.name} > {target}", broken[0]))
    assert not failures, describe(failures)


@pytest.mark.parametrize(("dialect", "facet"), [k for k in KINDS if k[1] != "error"])
def test_the_official_types_accept(dialect: str, facet: str) -> None:
    failures: list[tuple[str, object]] = []
    for record in readable(dialect, facet):
        valid = not sdk.problems(dialect, facet, record.body)
        for target in laws.targets(record):
            if target == "native":
                continue
            problems = laws.accepted(record, target)
            documents = f"{dialect} {facet} > {target}"
            law = "2 accepted (valid source)" if valid else "2 accepted (other source)"
            held = laws.tally(law, documents, not problems)
            if not held and valid and (record.name, target) not in REFUSED:
                failures.append((f"{record.name} > {target}", problems[:2]))
    assert not failures, describe(failures)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_written_breaks_a_rule(dialect: str) -> None:
    """A recorded request that its own API accepts becomes one that the others accept."""
    failures: list[tuple[str, object]] = []
    for record in readable(dialect, "request"):
        if dragoman.check(record.body, dialect):
            continue
        tree = dragoman.read(record.body, dialect)
        assert isinstance(tree, Request)
        for target in RULED:
            if target == dialect or (record.name, target) in BROKEN:
                continue
            try:
                testing.breaks_no_rule(tree, target)
                held, why = True, ""
            except DragomanError:
                continue  # it says that it cannot
            except AssertionError as problem:
                held, why = False, str(problem)[:300]
            if not laws.tally("5 breaks no rule", f"{dialect} > {target}", held):
                failures.append((record.name, why))
    assert not failures, describe(failures)


RULED = [
    name
    for name in dialects.names()
    if testing.speaks(name, "request") and getattr(dialects.get(name), "rules", None)
]
PROMPT = "the prompt is stored at OpenAI: dropped, and nothing is left to say"
LONE = "what the stored reasoning led to is work of another provider's tool, and dropped"
BROKEN = {
    ("9c227edb12a87f12-9c227edb-0-request", "openai-chat"): PROMPT,
    ("9c227edb12a87f12-9c227edb-0-request", "azure-openai"): PROMPT,
    ("34b9239be28e4026-34b9239b-0-request", "openai-chat"): PROMPT,
    ("34b9239be28e4026-34b9239b-0-request", "azure-openai"): PROMPT,
    ("a8cfd1730d174dde-a8cfd173-1-request", "open-responses"): LONE,
    ("a8cfd1730d174dde-a8cfd173-1-request", "router-responses"): LONE,
}
"""Requests that cannot be made to fit, with what the ledger says of them."""


@pytest.mark.parametrize("dialect", DIALECTS)
def test_join(dialect: str) -> None:
    """A recorded request and its reply join to a history that the official types accept.

    All but the few listed below, each with its reason.
    """
    failures: list[tuple[str, object]] = []
    for asked, reply in pairs(dialect):
        joined = dragoman.join(asked.body, reply.body, dialect=dialect)
        if sdk.problems(dialect, "request", asked.body):
            continue  # what its vendor's own types refuse cannot become acceptable by joining
        problems = sdk.problems(dialect, "request", joined.document)
        if not laws.tally("4 joined (valid request)", dialect, not problems):
            failures.append((reply.name, problems[:3]))
    short = {name for name, _ in failures}
    assert short <= SHORT_OF_JOINING.keys(), describe(failures)


# Replies that join to what the types refuse: `join` keeps what the server said, as it must go back.
SHORT_OF_JOINING = {
    "60455f889b4ca904-60455f88-0-response": "a block that only the beta types know",
    "c2a0dcdf888810c0-c2a0dcdf-0-response": "a block that only the beta types know",
    "0716d5e8f7b27db2-0716d5e8-1-response": "reasoning_content of a compatible server",
    "2290df4d4c878c74-2290df4d-0-response": "reasoning and metadata of a gateway",
    "51c16d2e990bea98-e628889c-0-response": "reasoning_details of a gateway",
    "660409bcd8cff0de-660409bc-0-response": "executed_tools of a compatible server",
    "7050496b46576f4e-7050496b-0-response": "reasoning_details of a gateway",
    "7a388a285587b3ec-be584a26-0-response": "reasoning_details of a gateway",
    "c5d6410c76c6ec18-cc784c43-0-response": "reasoning_content of a compatible server",
    "db0bfd99a23a759e-db0bfd99-0-response": "an index on a tool call",
    "e768c8f1baca1894-e768c8f1-0-response": "an index on a tool call",
    "4b0bf83d55502408-461b9656-8-response": "an item that the request types do not know",
    "5b7e1d5e1ece1c3e-5b7e1d5e-0-response": "an item that the request types do not know",
    "e90236a6cb993978-e90236a6-0-response": "an item that the request types do not know",
}


def readable(dialect: str, facet: str) -> list[Record]:
    return [record for record in records(dialect, facet) if record.name not in EXCUSED]


# What a target's types refuse, and the source's own would not look at.
REFUSED = {
    ("00ecfe2cc8c8a8b6-2c96e6dd-0-request", "gemini"): "data that end in the middle of a byte",
    ("c8dae39d8d2d1d14-72ca70e5-0-request", "gemini"): "data that end in the middle of a byte",
    ("8c4cbefa69d4ceb2-9e942d2d-0-request", "ollama"): "a schema of another type than object",
}

# Documents that no reader should accept, each with its reason.
EXCUSED: dict[str, str] = {
    "73e252c6b5def9c0-73e252c6-0-request": "a role that the API rejects, to see how it does",
}
