"""The laws over the recordings of Mistral and Ollama, against the great dialects and each other."""

from __future__ import annotations

from itertools import product

import pytest

import dragoman
from dragoman import testing
from dragoman.detect import detect

from . import laws
from .reality import DIALECTS, FACETS, MORE, Stream, records
from .test_reality import describe
from .test_streams import hold, spoken

KINDS = list(product(MORE, FACETS))
PAIRS = list(product(MORE, (*DIALECTS, *MORE)))
# Requests in which nothing tells the dialect: one that everybody understands is taken for Chat's.
PLAIN = "openai-chat"


@pytest.mark.parametrize(("dialect", "facet"), KINDS)
def test_identity(dialect: str, facet: str) -> None:
    failures: list[tuple[str, object]] = []
    for record in records(dialect, facet):
        if not laws.tally("1 identity", f"{dialect} {facet}", laws.identity(record)):
            failures.append((record.name, "differs"))
    assert not failures, describe(failures)


@pytest.mark.parametrize(("dialect", "facet"), KINDS)
def test_the_way_home(dialect: str, facet: str) -> None:
    failures: list[tuple[str, object]] = []
    for record in records(dialect, facet):
        for target in (*DIALECTS, *MORE, "native"):
            if target == dialect:
                continue
            held = laws.comes_home(record, target)
            if not laws.tally("3 comes home", f"{dialect} {facet} > {target}", held):
                failures.append((record.name, target))
    assert not failures, describe(failures)


@pytest.mark.parametrize(("dialect", "facet"), KINDS)
def test_detection(dialect: str, facet: str) -> None:
    wrong: list[tuple[str, object]] = []
    for record in records(dialect, facet):
        guesses = detect(record.body)
        right = bool(guesses) and (guesses[0].dialect, guesses[0].facet) == (dialect, facet)
        laws.tally("5 detected", f"{dialect} {facet}", right)
        if guesses and not right and (guesses[0].dialect, guesses[0].facet) != (PLAIN, facet):
            wrong.append((record.name, guesses[0]))
    assert not wrong, describe(wrong)


@pytest.mark.parametrize("dialect", MORE)
def test_every_stream_is_read(dialect: str) -> None:
    def law(stream: Stream) -> None:
        failure = laws.failure(stream)
        assert (failure is not None) == (not stream.complete), failure

    hold(law, "7 streams are read", dialect, dialect)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_rest_is_flight(source: str, target: str) -> None:
    hold(
        lambda stream: testing.rest_is_flight(stream.data, source, target),
        "8 rest is flight", source, f"{source} > {target}",
    )  # fmt: skip


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_pieces_do_not_matter(source: str, target: str) -> None:
    hold(
        lambda stream: testing.chunks_do_not_matter(stream.data, source, target, 61),
        "9 pieces do not matter", source, f"{source} > {target}",
    )  # fmt: skip


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_never_a_false_success(source: str, target: str) -> None:
    def law(stream: Stream) -> None:
        transcoder = dragoman.Transcoder(source, target)
        said = transcoder.feed(stream.data[: len(stream.data) // 2]) + transcoder.close()
        if transcoder.response.failure is None:  # all was said by then
            whole = dragoman.Transcoder(source, target)
            whole.feed(stream.data)
            whole.close()
            assert spoken(transcoder.response) == spoken(whole.response), "a part for the whole"
            return
        again = dragoman.Transcoder(target, target)
        again.feed(said)
        again.close()
        assert again.response.failure is not None, said[-200:]

    hold(law, "10 never a false success", source, f"{source} > {target}")
