"""TRL's records: what TRL itself takes them for, and what a chat template makes of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

import dragoman
import hugging
from dragoman import testing
from dragoman.core.walk import meaning
from dragoman.testing import Document
from places import CORPUS

CASES = testing.load_corpus(CORPUS)
CALLS = "openai-chat"
WRITTEN = [
    document
    for case in CASES
    for document in case.documents
    if document.facet == "request" and document.dialect in ("openai-chat", "trl", "claude-code")
]


@pytest.mark.parametrize("target", ["trl", "trl-completion"])
@pytest.mark.parametrize("document", WRITTEN, ids=lambda document: document.name)
def test_trl_takes_it_for_a_conversation(document: Document, target: str) -> None:
    """Its own rules: the columns of a record, and every text in what a template prints of it."""
    record = testing.converted(document, target).document
    assert set(record) <= {"messages", "prompt", "completion", "chosen", "rejected", "label",
                           "tools", "id", "metadata"} or document.dialect == "trl"  # fmt: skip
    if not any(record.get(key) for key in ("messages", "prompt", "completion")):
        return  # nothing was said at all
    hugging.accepts(record)


def test_nothing_is_null_and_arguments_are_objects() -> None:
    record = dragoman.convert(
        {
            "model": "m",
            "messages": [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": None, "refusal": None, "tool_calls": [
                    {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
                ]},
            ],
        },
        source=CALLS,
        target="trl",
    ).document  # fmt: skip
    assert "null" not in json.dumps(record)
    assert record["messages"][1]["tool_calls"][0]["function"]["arguments"] == {}


def test_a_table_of_records_is_loaded_with_every_value() -> None:
    """Rows with different arguments do not fill each other with nulls."""
    rows = [called({"city": "Rome"}), called({"lines": [1, 2], "deep": {"x": None}}), called({})]
    assert hugging.loaded(rows) == rows


def called(arguments: dict[str, Any]) -> dict[str, Any]:
    request = {
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "", "tool_calls": [
                {"type": "function", "function": {"name": "f", "arguments": arguments}}
            ]},
        ]
    }  # fmt: skip
    return dict(dragoman.convert(request, source="trl", target="trl").document)


def test_a_record_of_plain_texts_is_refused() -> None:
    with pytest.raises(dragoman.Malformed, match="dialect of its chat template"):
        dragoman.read({"prompt": "Hi", "completion": "Hello"}, "trl")


def test_detection() -> None:
    pair = {"prompt": [{"role": "user", "content": "a"}]}
    chosen = [{"role": "assistant", "content": "b"}]
    assert dragoman.detect(pair | {"completion": chosen})[0].dialect == "trl"
    assert dragoman.detect({"chosen": chosen, "rejected": chosen})[0].dialect == "trl"
    assert dragoman.detect(called({"a": 1}))[0].dialect == "trl"


def test_the_prompt_is_what_both_replies_begin_with() -> None:
    prompt = [{"role": "user", "content": "Hi"}]
    good, bad = ({"role": "assistant", "content": text} for text in ("Hello.", "What?"))
    whole = {"prompt": prompt, "chosen": [good], "rejected": [bad]}
    bare = {"chosen": [*prompt, good], "rejected": [*prompt, bad]}
    trees = [dragoman.read(doc, "trl") for doc in (whole, bare)]
    assert meaning(trees[0]) == meaning(trees[1])
    assert dragoman.convert(bare, source="trl", target="trl").document == bare
    pair = dragoman.convert(bare, source="trl", target="openai-finetune")
    assert (pair.document["preferred_output"], pair.losses) == ([good], ())


def test_tools_as_json_text() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    record = {"messages": [{"role": "user", "content": "Hi"}], "tools": json.dumps([tool])}
    written = dragoman.convert(record, source="trl", target="openai-finetune").document
    assert written["tools"] == [tool]
    with pytest.raises(dragoman.Malformed, match="JSON text"):
        dragoman.read(record | {"tools": "[{"}, "trl")
