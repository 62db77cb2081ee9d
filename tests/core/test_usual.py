"""A conversation that one look finds usual is one that no pass would change."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import places
from dragoman import dialects
from dragoman.core.capabilities import ALL_MARKS
from dragoman.core.lowering import is_usual, usual_marks
from dragoman.core.lowering.messages import Messages, fit
from dragoman.core.turns import results_in_place
from dragoman.dialect import Dialect
from dragoman.dialects._claude_turns import are_signed
from dragoman.dialects.gemini.order import in_order
from dragoman.dialects.mistral import DIALECT as MISTRAL
from dragoman.dialects.mistral.messages import in_order as in_turns
from dragoman.ledger import Ledger
from dragoman.model import Message, Request
from dragoman.testing import load_corpus
from dragoman.tools.results import fits

REQUESTS = [
    document
    for case in load_corpus(places.CORPUS)
    for document in case.documents
    if document.facet == "request" and not document.degraded
]
TARGETS = [
    dialect
    for dialect in map(dialects.get, dialects.names())
    if "write" in dialect.facets().get("request", ())
]


def conversations() -> Iterator[tuple[Message, ...]]:
    """Those of the corpus, and each without a message, with one twice, and with two exchanged."""
    for document in REQUESTS:
        tree = dialects.get(document.dialect).read(document.body, "request")
        assert isinstance(tree, Request)
        messages = tree.messages
        yield messages
        for place in range(len(messages)):
            yield messages[:place] + messages[place + 1 :]
            yield messages[: place + 1] + messages[place:]
            yield (
                *messages[:place],
                *reversed(messages[place : place + 2]),
                *messages[place + 2 :],
            )


CONVERSATIONS = tuple(conversations())


@pytest.mark.parametrize("target", TARGETS, ids=lambda dialect: dialect.name)
def test_nothing_of_a_usual_conversation_changes(target: Dialect) -> None:
    log = Ledger()
    for messages in CONVERSATIONS:
        if not is_usual(messages, target):
            continue
        assert fits(messages)
        assert fit(messages, target.can, "history")
        assert not are_signed(messages)
        assert results_in_place(messages, log, apart=True) is messages
        assert in_order(messages, log) is messages
        assert in_turns(MISTRAL, messages, log) is messages
    assert log.losses == []


@pytest.mark.parametrize("target", TARGETS, ids=lambda dialect: dialect.name)
def test_of_a_usual_conversation_with_marks_only_these_change(target: Dialect) -> None:
    for messages in CONVERSATIONS:
        if not (marked := usual_marks(messages, target)) or target.can.caching is ALL_MARKS:
            continue
        short, whole = Ledger(target=target.name), Ledger(target=target.name)
        written = Messages(target, short, "history").only_marks(messages, marked)
        assert written == Messages(target, whole, "history").all(messages)
        assert short.losses == whole.losses
        assert fits(written)
        assert fit(written, target.can, "history") or target.can.caching.on
        assert not are_signed(written)
        assert results_in_place(written, whole, apart=True) is written
        assert in_order(written, whole) is written
        assert in_turns(MISTRAL, written, whole) is written
        assert short.losses == whole.losses


def test_there_are_such() -> None:
    counts = [len(usual_marks(messages, TARGETS[0]) or ()) for messages in CONVERSATIONS]
    assert sum(count > 0 for count in counts) > 20


@pytest.mark.parametrize(
    "name", ["openai-chat", "anthropic-messages", "openai-responses", "gemini"]
)
def test_the_great_dialects_take_usual_conversations(name: str) -> None:
    to = dialects.get(name)
    usual = [messages for messages in CONVERSATIONS if is_usual(messages, to)]
    assert any(message.role == "tool" for messages in usual for message in messages)
