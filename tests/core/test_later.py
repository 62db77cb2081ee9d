"""Losses that are told when somebody asks for them: the same ones, in the same order."""

from __future__ import annotations

import gc
import json
from typing import Any

import pytest

import dragoman
import places
from dragoman.ledger import Ledger, Loss
from dragoman.testing import load_corpus

GREAT = ("openai-chat", "anthropic-messages", "openai-responses", "gemini")
RESPONSES = [
    document
    for case in load_corpus(places.CORPUS)
    for document in case.documents
    if document.facet == "response" and document.dialect in GREAT
]


def told(about: str, log: Ledger) -> None:
    log.dropped("extras", about, "told late")


def test_they_stand_where_they_were_noted() -> None:
    log = Ledger(target="t")
    log.dropped("extras", "/1", "at once")
    log.later(told, "/2")
    log.invented("model", "/3", "at once")
    log.later(told, "/4")
    assert [loss.path for loss in log.losses] == ["/1", "/2", "/3", "/4"]
    log.later(told, "/5")
    assert log.losses[-1] == Loss("dropped", "extras", "/5", "told late", "t")
    assert len(log.losses) == 5


def test_they_can_be_replaced() -> None:
    log = Ledger()
    log.later(told, "/1")
    log.losses = [*log.losses, *log.losses]
    assert [loss.path for loss in log.losses] == ["/1", "/1"]


@pytest.mark.parametrize("target", GREAT)
def test_bytes_lose_what_values_lose(target: str) -> None:
    """Of bytes the losses are told after the conversion, of values before its end."""
    extras = 0
    for document in RESPONSES:
        options: dict[str, Any] = {
            "source": document.dialect,
            "target": target,
            "facet": "response",
            "now": 0.0,
        }
        result = dragoman.convert(json.dumps(document.body).encode(), **options)
        result.to_json()
        losses = dragoman.convert(document.body, **options).losses
        assert result.losses == losses, document.name
        extras += sum(loss.what == "extras" for loss in losses)
    assert extras >= 5


@pytest.mark.parametrize("target", GREAT)
def test_nothing_waits_for_the_collector(target: str) -> None:
    """What a loss is told about knows no ledger: a circle would keep each conversion in memory."""
    documents = [(document, json.dumps(document.body).encode()) for document in RESPONSES]
    for _ in range(2):  # what is made once is made in the first round
        gc.collect()
        gc.disable()
        try:
            for document, data in documents:
                dragoman.convert(
                    data, source=document.dialect, target=target, facet="response", now=0.0
                ).to_json()
            left = gc.collect()
        finally:
            gc.enable()
    assert left == 0
