"""The laws over conversations nobody wrote down."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import dragoman
import leaves
import places
import sdk
import strangers
from choosing import chosen, examples
from dragoman import dialects, testing
from dragoman.core.walk import meaning, placed
from dragoman.dialect import FACETS
from dragoman.laws.auditing import faults
from dragoman.laws.comparing import changes
from dragoman.ledger import Ledger
from dragoman.model import History, Message, Request, Text, Tree
from dragoman.testing import Document
from strategies import distinct, histories, json_values, requests, responses

GREAT = ("anthropic-messages", "openai-chat", "openai-responses")
APIS = (*GREAT, "gemini", "bedrock-converse", "mistral", "cohere", "ollama")
relaxed = settings(
    max_examples=examples(150),
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
)
some = settings(relaxed, max_examples=examples(80))  # there are eight APIs
great = pytest.mark.parametrize("target", GREAT)
every = pytest.mark.parametrize("target", APIS)


def audit(tree: Any, target: str) -> None:
    """Nothing is lost in silence, and nothing is listed that did not happen, node by node."""
    log, writer = Ledger(now=0), dialects.get(target)
    facet = "request" if isinstance(tree, Request) else "response"
    document = writer.write(tree, log)
    if isinstance(document, dict) and "error" in document and "id" not in document:
        return
    back = writer.read(document, facet)
    lossy = [loss for loss in log.losses if testing.is_lossy(loss)]
    found = faults(changes(tree, back), lossy)
    assert not found, "\n".join(f"{kind}: {what}" for kind, what in found)
    assert not sdk.problems(target, facet, document)
    again = Ledger()
    rewritten = writer.write(back, again)
    if writer.keeps_source:
        assert rewritten == document, testing.difference(rewritten, document)
    else:  # the same, in another form
        got, meant = meaning(writer.read(rewritten, facet)), meaning(back)
        assert got == meant, testing.difference(got, meant)
    assert not again.losses


@every
@some
@given(tree=requests())
def test_requests(target: str, tree: Request) -> None:
    audit(placed(distinct(tree), ""), target)


@every
@some
@given(tree=responses())
def test_responses(target: str, tree: Tree) -> None:
    audit(placed(distinct(tree), ""), target)


@every
@some
@given(tree=requests() | responses())
def test_nothing_to_report_is_nothing_changed(target: str, tree: Tree) -> None:
    """The same where nodes have doubles, by which the audit could not tell them apart."""
    log, writer = Ledger(now=0), dialects.get(target)
    document = writer.write(tree, log)
    if not any(testing.is_lossy(loss) for loss in log.losses):
        facet = "request" if isinstance(tree, Request) else "response"
        got, meant = meaning(writer.read(document, facet)), meaning(tree)
        assert got == meant, testing.difference(got, meant)


# -- documents --------------------------------------------------------------------------------


@relaxed
@given(
    tree=requests() | responses(),
    source=st.sampled_from(APIS),
    target=st.sampled_from(APIS),
    dice=st.randoms(use_true_random=False),
)
def test_documents_leaf_by_leaf(tree: Tree, source: str, target: str, dice: Random) -> None:
    """What is written as one dialect, and has a strange key, is in what another makes of it."""
    facet = "request" if isinstance(tree, Request) else "response"
    document = dialects.get(source).write(distinct(tree), Ledger(now=0))
    if source == target or "error" in document:
        return
    tried = [document]
    tried += [strange.document for strange in strangers_of(document, dice)]
    for body in tried:
        try:
            result = dragoman.convert(body, source=source, target=target, facet=facet, now=0)
        except dragoman.DragomanError:
            if body is document:
                raise
            continue
        missed = leaves.unaccounted(body, result.document, result.losses)
        assert not missed, f"{missed[0].pointer}: {missed[0].value!r}"


def strangers_of(document: Any, dice: Random) -> list[strangers.Stranger]:
    """Some of the documents with one strange key each."""
    added = [s for s in strangers.strangers(document, set(), ()) if s.key == strangers.ADDED]
    return dice.sample(added, min(2, len(added)))


@relaxed
@given(
    tree=requests() | responses(),
    source=st.sampled_from(APIS),
    target=st.sampled_from(APIS),
    dice=st.randoms(use_true_random=False),
)
def test_documents_with_strange_keys(tree: Tree, source: str, target: str, dice: Random) -> None:
    """A strange key comes back in the same dialect, and is carried or reported in another."""
    facet = "request" if isinstance(tree, Request) else "response"
    document = dialects.get(source).write(distinct(tree), Ledger(now=0))
    if "error" in document:
        return
    for stranger in strangers_of(document, dice):
        problem = strangers.fault(stranger, source, target, facet)
        assert not problem, problem


@relaxed
@given(tree=requests(), source=st.sampled_from(GREAT), target=st.sampled_from(GREAT))
def test_the_way_home(tree: Request, source: str, target: str) -> None:
    document = dialects.get(source).write(tree, Ledger())
    testing.same(Document("", source, "", "request", False, document), target)


@relaxed
@given(
    old=histories(), new=histories(), source=st.sampled_from(GREAT), target=st.sampled_from(GREAT)
)
def test_the_way_home_of_a_conversation_that_grew(
    old: Any, new: Any, source: str, target: str
) -> None:
    """The old part comes home exactly, whatever came after it.

    Where two turns of one speaker are one, the last item goes on with what was added.
    """
    document = dragoman.write(History(old), source).document
    there = dragoman.convert(document, source=source, target=target, facet="messages", carry=True)
    grown = grow(there.document, target, new)
    same = dragoman.convert(
        grown, source=target, target=source, facet="messages", capsule=there.capsule
    )
    was, now = turns_of(document), turns_of(same.document)
    if was:  # of nothing but empty texts, no turn is written
        assert now[: len(was) - 1] == was[:-1]
        assert goes_on(was[-1], now[len(was) - 1])


def goes_on(item: Any, longer: Any) -> bool:
    """Whether an item is the same, or the same with more after it, for which a text is a list."""
    for key, value in item.items():
        more = longer.get(key)
        if isinstance(value, str) and isinstance(more, list):
            more = more[0].get("text") if set(more[0]) == {"type", "text"} else None
        if isinstance(value, list) and isinstance(more, list):
            more = more[: len(value)]
        if more != value:
            return False
    return True


def grow(document: Any, dialect: str, new: Any) -> Any:
    """The document with the messages of another conversation after it."""
    fresh = [m for m in new if m.role not in ("system", "developer")]
    written = turns_of(document)
    if written and written[-1].get("role") in ("system", "developer"):
        # Anthropic takes a system turn only right before the assistant's.
        fresh.insert(0, Message("assistant", (Text("ok"),)))
    more = turns_of(dragoman.write(History(tuple(fresh)), dialect).document)
    if isinstance(document, list):
        return document + more
    key = "input" if "input" in document else "messages"
    return document | {key: document[key] + more}


def turns_of(document: Any) -> list[Any]:
    if isinstance(document, list):
        return document
    turns: list[Any] = document["input"] if "input" in document else document["messages"]
    return turns


@great
@relaxed
@given(history=histories(), extra=histories())
def test_append_only_input_gives_append_only_output(target: str, history: Any, extra: Any) -> None:
    """What was written before stays as it was, byte for byte: prompt caches must hold."""
    extra = tuple(m for m in extra if m.role not in ("system", "developer"))
    before = dragoman.write(History(history), target).document
    after = dragoman.write(History((*history, *extra)), target).document
    old, new = turns_of(before), turns_of(after)
    assert json.dumps(new[: len(old)]) == json.dumps(old)


@pytest.mark.parametrize(
    ("dialect", "facet"),
    [
        (name, facet)
        for name in dialects.names()
        for facet, ways in dialects.get(name).facets().items()
        if "read" in ways and facet in FACETS
    ],
)
@relaxed
@given(body=json_values)
def test_malformed_or_answer(dialect: str, facet: str, body: Any) -> None:
    testing.malformed_or_answer(dialect, facet, body)


def test_the_same_bytes_whatever_order_sets_have() -> None:
    """A set of words has another order in each process: none may show in what is written."""
    program = """
import json
import sys

import places
from dragoman import DragomanError, convert, dialects
from dragoman.testing import load_corpus

for number, case in enumerate(load_corpus(places.CORPUS)[:: int(sys.argv[1])]):
    for place, document in enumerate(case.documents):
        for target in ("native", dialects.names()[(number + place) % len(dialects.names())]):
            try:
                done = convert(
                    document.body, source=document.dialect, target=target, facet=document.facet
                )
                print(json.dumps(done.document), *done.losses)
            except DragomanError as problem:
                print(problem)
"""
    path = os.pathsep.join([str(places.TESTS), *sys.path])
    runs = [
        subprocess.run(
            [sys.executable, "-c", program, "3" if chosen["quick"] else "1"],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]
    assert len(runs[0]) > 1_000_000
    assert runs[0] == runs[1]
