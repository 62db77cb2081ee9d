"""Alpaca records, as LLaMA-Factory's own loader takes them."""

from __future__ import annotations

import pytest

import dragoman
import llama_factory
from dragoman import testing
from dragoman.testing import Document
from places import CORPUS

WRITTEN = [
    document
    for case in testing.load_corpus(CORPUS)
    for document in case.documents
    if document.facet == "request" and document.dialect in ("openai-chat", "trl", "alpaca")
]
SIDES = {"human": "user", "gpt": "assistant"}


@pytest.mark.parametrize("document", WRITTEN, ids=lambda document: document.name)
def test_llama_factory_reads_the_same_turns_as_of_sharegpt(document: Document) -> None:
    try:
        record = testing.converted(document, "alpaca").document
    except dragoman.Unsayable:
        return
    done = llama_factory.answered(record)
    other = testing.converted(document, "sharegpt").document
    turns = [{"role": SIDES[t["from"]], "content": t["value"]} for t in other["conversations"]]
    turns += [{"role": "assistant", "content": other[key]["value"]}
              for key in ("chosen", "rejected") if key in other]  # fmt: skip
    written = [turn for turn in done.turns if turn["content"] or "kto_tag" not in record]
    assert written == turns
    assert done.system == other.get("system", "")


def test_a_conversation_with_calls_is_refused() -> None:
    chat = {"model": "m", "messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
    ]}  # fmt: skip
    with pytest.raises(dragoman.Unsayable, match="no form for calls; sharegpt has"):
        dragoman.convert(chat, source="openai-chat", target="alpaca")


def test_detection() -> None:
    record = {"instruction": "Hi", "input": "", "output": "Hello."}
    assert dragoman.detect(record)[0].dialect == "alpaca"
