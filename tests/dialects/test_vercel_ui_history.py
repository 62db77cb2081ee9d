"""Stored UI messages: the AI SDK takes what we write, and sends a model what we say it means."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

import dragoman
import places
from ai_sdk import NODE, node
from dragoman import dialects, testing
from dragoman.model import History, Message, ToolResult
from dragoman.testing import Document, load_corpus

UI = "vercel-ui"
HISTORIES = [
    document
    for case in load_corpus(places.CORPUS)
    for document in case.documents
    if document.facet == "messages" and not document.degraded
]
GREAT = ("anthropic-messages", "openai-chat", "openai-responses", "gemini")
MODEL = {5: "vercel-model-v5", 6: "vercel-model-v6", 7: "vercel-model"}
OWN = next(d for d in HISTORIES if d.dialect == UI and "vercel-ui-history" in d.name)


def ask(version: int, given: list[Any]) -> list[Any]:
    run = subprocess.run(
        [node(), "ui.mjs", str(version), "stored"],
        cwd=NODE,
        input=json.dumps(given).encode(),
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr.decode()[-2000:]
    replies: list[Any] = json.loads(run.stdout)
    return replies


def is_freeform(doc: Any) -> bool:
    """Whether a call has text for its input, which the SDK's messages for models cannot tell."""
    return any(isinstance(p.get("input"), str) for message in doc for p in message["parts"])


def turned(doc: Any, source: str, target: str) -> Any:
    try:
        return testing.converted(Document("", source, "", "messages", False, doc), target).document
    except dragoman.Unsayable:
        return None


@pytest.mark.node
@pytest.mark.parametrize("version", MODEL)
def test_the_sdk_sends_what_we_say_that_it_means(version: int) -> None:
    written = {d.name: testing.converted(d, UI).document for d in HISTORIES}
    written = {n: doc for n, doc in written.items() if doc and not is_freeform(doc)}
    if version == 5:  # which knows no calls that were denied
        written = {n: doc for n, doc in written.items() if "output-denied" not in json.dumps(doc)}
    assert len(written) > 60
    replies = ask(version, list(written.values()))
    refused = {n: r["refused"] for n, r in zip(written, replies, strict=True) if r["refused"]}
    assert not refused
    for (name, doc), reply in zip(written.items(), replies, strict=True):
        for target in GREAT:
            ours, theirs = turned(doc, UI, target), turned(reply["sent"], MODEL[version], target)
            assert theirs == ours, f"{name}: {testing.difference(theirs, ours)}"


@pytest.mark.node
def test_the_sdk_can_refuse() -> None:
    bad = [[{"id": "m", "role": "tool", "parts": []}], [{"id": "m", "role": "user", "parts": [1]}]]
    assert all(reply["refused"] for reply in ask(7, bad))


def read(parts: list[Any]) -> tuple[Message, ...]:
    tree = dialects.get(UI).read([{"id": "a", "role": "assistant", "parts": parts}], "messages")
    assert isinstance(tree, History)
    return tree.messages


def test_a_step_is_a_turn_and_its_results_follow_it() -> None:
    roles = [message.role for message in read(OWN.body[1]["parts"])]
    assert roles == ["assistant", *["tool"] * 4, "assistant", "assistant"]


@pytest.mark.parametrize(
    ("part", "failed", "text"),
    [
        ({"state": "output-available", "output": "14 C"}, None, "14 C"),
        ({"state": "output-available", "output": {"c": 14}}, None, '{"c":14}'),
        ({"state": "output-error", "errorText": "No."}, True, "No."),
        ({"state": "output-denied", "approval": {"id": "1", "approved": False}}, True, None),
        (
            {
                "state": "approval-responded",
                "approval": {"id": "1", "approved": False, "reason": "Not now."},
            },
            True,
            "Not now.",
        ),
    ],
)
def test_what_a_tool_returned(part: Any, failed: bool | None, text: str | None) -> None:
    part = {"type": "tool-f", "toolCallId": "c1", "input": {}, **part}
    _, answered = read([part])
    result = answered.content[0]
    assert isinstance(result, ToolResult)
    assert result.is_error is failed
    words = [getattr(block, "text", None) for block in result.content]
    assert words == [text or "Tool call execution denied."]


@pytest.mark.parametrize("state", ["input-available", "input-streaming", "approval-requested"])
def test_a_call_without_a_result(state: str) -> None:
    part = {"type": "tool-f", "toolCallId": "c1", "input": {}, "state": state}
    assert [message.role for message in read([part])] == ["assistant"]


def test_a_result_without_its_call_is_reported() -> None:
    history = [{"role": "tool", "tool_call_id": "c1", "content": "14 C"}]
    result = dragoman.convert(history, source="openai-chat", target=UI, facet="messages")
    assert result.document == []
    assert [loss.what for loss in result.losses] == ["tool_result"]


def test_results_out_of_order_are_reported() -> None:
    called = [
        {"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for n in (1, 2)
    ]
    history = [
        {"role": "assistant", "content": None, "tool_calls": called},
        {"role": "tool", "tool_call_id": "c2", "content": "2"},
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
    ]
    result = dragoman.convert(history, source="openai-chat", target=UI, facet="messages")
    assert [part.get("output") for part in result.document[0]["parts"][1:]] == ["1", "2"]
    assert [loss.what for loss in result.losses] == ["message.position"]
