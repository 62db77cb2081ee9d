"""The recordings of servers that speak Chat Completions, held to the laws under their variant."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

import dragoman
from dragoman import testing
from dragoman.detect import detect
from dragoman.model import Reasoning, Response

from . import laws
from .reality import FACETS, Record, Stream, records, served, streams
from .test_reality import describe
from .test_streams import FAILED

# Who served it -> the dialect that it is.
VARIANTS = {
    "deepseek": "deepseek",
    "openrouter": "openrouter",
    "groq": "groq",
    "xai": "xai",
    "azure": "azure-openai",
    "databricks": "databricks",
    "llama-server": "llama-cpp",
}
CHAT = "openai-chat"
TARGETS = ("anthropic-messages", CHAT, "openai-responses", "openrouter", "native")
variants = pytest.mark.parametrize("via", VARIANTS)


@cache
def recorded(via: str) -> tuple[Record, ...]:
    return tuple(
        record._replace(dialect=VARIANTS[via])
        for facet in FACETS
        for record in records(CHAT, facet)
        if served(record.name) == via
    )


def flown(via: str) -> Iterator[Stream]:
    for stream in streams(CHAT):
        if served(stream.name) == via:
            yield stream._replace(dialect=VARIANTS[via])


@variants
def test_identity(via: str) -> None:
    failures: list[tuple[str, object]] = []
    for record in recorded(via):
        what = f"{record.dialect} {record.facet}"
        if not laws.tally("1 identity", what, laws.identity(record)):
            failures.append((record.name, "differs"))
    assert recorded(via)
    assert not failures, describe(failures)


@variants
def test_the_way_home(via: str) -> None:
    failures: list[tuple[str, object]] = []
    for record in recorded(via):
        for target in TARGETS:
            if target == record.dialect:
                continue
            what = f"{record.dialect} {record.facet} > {target}"
            if not laws.tally("3 comes home", what, laws.comes_home(record, target)):
                failures.append((record.name, target))
    assert not failures, describe(failures)


@variants
def test_detection(via: str) -> None:
    """A variant is known by its marks, or taken for Chat; never for another variant.

    But for the models of one provider that another one serves.
    """
    wrong: list[tuple[str, object]] = []
    for record in recorded(via):
        guesses = detect(record.body)
        right = bool(guesses) and guesses[0].dialect == record.dialect
        laws.tally("5 detected", f"{record.dialect} {record.facet}", right)
        if guesses and guesses[0].dialect not in (record.dialect, CHAT):
            wrong.append((record.name, guesses[0]))
    wrong = [found for found in wrong if found[0] not in SERVED_ELSEWHERE]
    assert not wrong, describe(wrong)


# Replies that have marks of two servers, as one of them passes on what the other says.
SERVED_ELSEWHERE: dict[str, str] = {
    "60b86c3bff66e356-60b86c3b-1-response": "a model of xAI's, served by Azure",
}


@variants
def test_streams(via: str) -> None:
    """They are read, and become in flight what they are at rest."""
    failures: list[tuple[str, object]] = []
    for stream in flown(via):
        failed = laws.failure(stream) is not None
        held = failed == (stream.name in FAILED or not stream.complete)
        if not laws.tally("7 streams are read", stream.dialect, held):
            failures.append((stream.name, "read"))
        for target in TARGETS[:-1]:
            try:
                testing.streaming_equals_batch(stream.data, stream.dialect, target)
                held = True
            except AssertionError as problem:
                held = False
                failures.append((f"{stream.name} > {target}", str(problem)[:300]))
            laws.tally("8 rest is flight", f"{stream.dialect} > {target}", held)
    assert not failures, describe(failures)


def test_reasoning_of_openrouter_are_signed_by_their_issuers() -> None:
    issuers: set[str] = set()
    signers: set[str] = set()
    for record in recorded("openrouter"):
        if record.facet == "response":
            tree = dragoman.read(record.body, "openrouter", facet="response")
            assert isinstance(tree, Response)
            blocks = [block for each in tree.candidates for block in each.message.content]
            signatures = [block.signature for block in blocks if isinstance(block, Reasoning)]
            issuers |= {signature.issuer for signature in signatures if signature is not None}
            signed = [block.extras.signature for block in blocks if block.extras is not None]
            signers |= {signature.issuer for signature in signed if signature is not None}
    assert issuers == {"anthropic", "google", "openai", "xai"}
    assert signers == {"google"}  # of calls and texts
