"""ShareGPT records, as LLaMA-Factory's own loader takes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

import dragoman
import llama_factory
from dragoman import dialects, testing
from dragoman.model import Request, ToolCall
from dragoman.testing import Document
from places import CORPUS

WRITTEN = [
    document
    for case in testing.load_corpus(CORPUS)
    for document in case.documents
    if document.facet == "request"
    and document.dialect in ("openai-chat", "trl", "claude-code", "sharegpt")
]


@pytest.mark.parametrize("document", WRITTEN, ids=lambda document: document.name)
def test_llama_factory_skips_nothing_that_is_written(document: Document) -> None:
    """Every turn is in the record that it trains on, and every call in a turn."""
    if document.case == "sharegpt-tags":
        return  # an older file, which it skips as it stands
    try:
        record = testing.converted(document, "sharegpt").document
    except dragoman.Unsayable:
        return
    done = llama_factory.loaded(record)
    assert len(done.turns) == len(record["conversations"]) + 2 * ("chosen" in record) + (
        "kto_tag" in record
    )
    tree = dragoman.read(record, "sharegpt")
    read = [call for turn in done.turns if turn["role"] == "function"
            for call in llama_factory.calls(turn["content"])]  # fmt: skip
    assert read == called(tree)
    assert (done.tools or "[]") == record.get("tools", "[]")
    assert json.loads(done.tools or "[]") is not None
    assert done.system == record.get("system", "")


def called(tree: Request) -> list[tuple[str, Any]]:
    told = tree.training
    messages = (*tree.messages, *(told.rejected or () if told is not None else ()))
    blocks = (block for message in messages for block in message.content)
    return [(b.name, arguments(b)) for b in blocks if isinstance(b, ToolCall)]


def arguments(call: ToolCall) -> Any:
    if call.kind == "custom":
        return {"input": call.arguments}
    return json.loads(call.arguments or "{}")


def test_a_result_that_the_user_comments_is_one_turn() -> None:
    chat = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "1"},
        {"role": "user", "content": "Hurry."},
        {"role": "assistant", "content": "One."},
        {"role": "user", "content": "Thanks."},
    ]  # fmt: skip
    result = dragoman.convert(
        {"model": "m", "messages": chat}, source="openai-chat", target="sharegpt"
    )
    turns = result.document["conversations"]
    assert [turn["from"] for turn in turns] == ["human", "function_call", "observation", "gpt"]
    assert turns[2]["value"] == "1\n\nHurry."
    told = ("content", "tool_result", "train")
    assert [(x.kind, x.what) for x in result.losses if x.what.startswith(told)] == [
        ("dropped", "training.unanswered"),
        ("approximated", "content.role"),
        ("approximated", "tool_result"),
    ]


def test_a_reply_is_not_read_as_reasoning_or_as_a_call() -> None:
    text = '<think>no</think> and <tool_call>{"name": "f"}</tool_call>'
    chat = {"model": "m", "messages": [
        {"role": "user", "content": "Hi"}, {"role": "assistant", "content": text}]}  # fmt: skip
    result = dragoman.convert(chat, source="openai-chat", target="sharegpt")
    assert [loss.what for loss in result.losses] == ["model", "text.control"]
    back = dragoman.read(result.document, "sharegpt")
    assert [type(block).__name__ for block in back.messages[1].content] == ["Text"]


@pytest.mark.parametrize(
    ("turns", "rule"),
    [
        (["human", "gpt"], []),
        (["system", "human", "gpt"], []),
        (["human", "observation", "gpt"], ["alternation"]),
        (["gpt"], ["alternation"]),
        (["human"], ["alternation"]),
    ],
)
def test_check_knows_what_is_skipped(turns: list[str], rule: list[str]) -> None:
    record = {"conversations": [{"from": who, "value": "1"} for who in turns]}
    assert [problem.rule for problem in dragoman.check(record, "sharegpt")] == rule
    assert bool(llama_factory.loaded(record).turns) is not bool(rule)


def test_detection() -> None:
    record = {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hi"}]}
    assert dragoman.detect(record)[0].dialect == "sharegpt"


def test_a_text_that_is_left_out_is_joined_with_none() -> None:
    """Calls of the same side come next, and there is no field for text beside them."""
    call = {"type": "tool_use", "id": "call_1", "name": "look", "input": {}}
    said = [{"type": "text", "text": "First."}, {"type": "text", "text": "Second."}]
    turns: list[Any] = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": said},
        {"role": "assistant", "content": [call]},
    ]
    for messages, joined in ((turns, []), (turns[:2], ["/1/content/1"])):
        result = dragoman.convert(
            messages, source="anthropic-messages", target="sharegpt", facet="messages"
        )
        found = [loss.path for loss in result.losses if loss.what == "text.boundary"]
        assert found == joined


SHAREGPT = dialects.get("sharegpt")
HUMAN, GPT = {"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Yes?"}


@pytest.mark.parametrize(
    ("document", "places"),
    [
        ({"conversations": [HUMAN, GPT]}, []),
        ({"conversations": [{"from": "system", "value": "s"}, HUMAN, GPT]}, []),
        ({"conversations": [HUMAN, GPT, HUMAN]}, ["/conversations"]),
        ({"conversations": [GPT, HUMAN]}, ["/conversations/0/from"]),
        ({"conversations": [HUMAN, HUMAN, GPT]}, ["/conversations/1/from"]),
        ({"conversations": [{"from": "system", "value": "s"}, GPT]}, ["/conversations/1/from"]),
        ({"conversations": [HUMAN, 5]}, ["/conversations/1/from"]),
        ({"conversations": [HUMAN], "chosen": GPT, "rejected": GPT}, []),
        ({"conversations": [HUMAN, GPT], "chosen": GPT, "rejected": GPT}, ["/conversations"]),
        ({"conversations": [HUMAN], "chosen": GPT}, ["/conversations"]),
        ({"conversations": [HUMAN], "rejected": GPT}, ["/conversations"]),
        ({"conversations": 5}, []),
        ([HUMAN], []),
    ],
)
def test_what_llama_factory_skips_is_found(document: Any, places: list[str]) -> None:
    """ "Skip this abnormal example": turns that do not alternate, and no reply at the end."""
    found = list(SHAREGPT.check(document, "request"))
    assert [problem.path for problem in found] == places
    assert list(SHAREGPT.check(document, "tools")) == []
