"""The way home when things have changed meanwhile."""

from __future__ import annotations

import contextlib
import copy
import json
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman import patching, testing
from dragoman.ledger import Ledger

SAMPLE = json.loads((Path(__file__).parents[1] / "examples" / "conversation.json").read_text())


def there() -> tuple[Any, Any]:
    result = dragoman.convert(SAMPLE, source="anthropic", target="chat", carry=True)
    return copy.deepcopy(result.document), result.capsule


def back(document: Any, sealed: Any) -> dragoman.Result:
    return dragoman.convert(document, source="chat", target="anthropic", capsule=sealed)


def test_grown_at_its_end() -> None:
    document, sealed = there()
    document["messages"].append({"role": "assistant", "content": "Istanbul, 14 degrees."})
    document["messages"].append({"role": "user", "content": "Thanks."})
    home = back(document, sealed)
    assert home.document["messages"][:3] == SAMPLE["messages"]
    assert home.document["messages"][3:] == [
        {"role": "assistant", "content": "Istanbul, 14 degrees."},
        {"role": "user", "content": "Thanks."},
    ]
    assert not home.losses


def test_a_changed_part_is_left_as_it_is_and_said() -> None:
    document, sealed = there()
    document["messages"][2]["tool_calls"][0]["function"]["arguments"] = '{"city":"Ankara"}'
    home = back(document, sealed)
    turn = home.document["messages"][1]
    assert turn["content"][1]["input"] == {"city": "Ankara"}
    assert not any(block["type"] == "thinking" for block in turn["content"])
    assert any(loss.what == "capsule" for loss in home.losses)


def test_a_new_conversation_gets_nothing_of_the_old() -> None:
    document, sealed = there()
    document["messages"] = [{"role": "user", "content": "fresh"}]
    home = back(document, sealed)
    assert home.document["messages"] == [{"role": "user", "content": "fresh"}]
    assert any(loss.what == "capsule" for loss in home.losses)


def test_a_turn_keeps_its_signature_when_an_earlier_one_changes() -> None:
    """A signature covers the reasoning that it stands with, not the conversation before it."""
    document, sealed = there()
    document["messages"][1]["content"][0]["text"] = "Something else?"
    home = back(document, sealed)
    assert home.document["messages"][1:] == SAMPLE["messages"][1:]
    assert home.document["messages"][0] != SAMPLE["messages"][0]


ASKED = {
    "model": "m",
    "store": False,
    "input": [
        {"role": "user", "content": "Weather?"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "eA=="},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather",
         "arguments": '{"city": "Paris", "days": 2}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "14 C"},
    ],
}  # fmt: skip


def echoed(document: Any, **options: Any) -> dragoman.Result:
    return dragoman.convert(document, source="chat", target="responses", **options)


def test_arguments_spelled_anew_are_the_same_turn() -> None:
    there = dragoman.convert(ASKED, source="responses", target="chat", carry=True)
    call = there.document["messages"][1]["tool_calls"][0]
    call["function"]["arguments"] = '{"days":2,"city":"Paris"}'
    home = echoed(there.document, capsule=there.capsule)
    assert json.dumps(home.document) == json.dumps(ASKED)
    assert not home.losses


def test_a_changed_call_stands_once_and_without_its_reasoning() -> None:
    there = dragoman.convert(ASKED, source="responses", target="chat", carry=True)
    call = there.document["messages"][1]["tool_calls"][0]
    call["function"]["arguments"] = '{"city":"Rome"}'
    home = echoed(there.document, capsule=there.capsule)
    kinds = [item.get("type", "message") for item in home.document["input"]]
    assert kinds == ["message", "function_call", "function_call_output"]
    assert [loss.path for loss in home.losses if loss.what == "capsule"] == ["/messages/1"]


def test_replaced_ids_stay_paired() -> None:
    there = dragoman.convert(ASKED, source="responses", target="chat", carry=True)
    there.document["messages"][1]["tool_calls"][0]["id"] = "other"
    there.document["messages"][2]["tool_call_id"] = "other"
    home = echoed(there.document, capsule=there.capsule)
    assert json.dumps(home.document) == json.dumps(ASKED)
    assert not home.losses


def test_equal_turns_are_told_apart_by_their_neighbours() -> None:
    turns: list[Any] = []
    for number in range(4):
        turns.append({"role": "user", "content": f"question {number}"})
        turns.append({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": f"sig{number}"},
            {"type": "text", "text": "OK."}]})  # fmt: skip
    doc: Any = {
        "model": "m",
        "max_tokens": 9,
        "messages": [*turns, {"role": "user", "content": "?"}],
    }
    there = dragoman.convert(doc, source="anthropic", target="chat", carry=True)
    del there.document["messages"][2:4]
    home = dragoman.convert(
        there.document, source="chat", target="anthropic", capsule=there.capsule
    )
    assert home.document["messages"] == doc["messages"][:2] + doc["messages"][4:]
    assert sum(loss.what == "capsule" for loss in home.losses) == 1


def test_a_mark_that_moved_voids_nothing_and_stays_moved() -> None:
    mark = {"type": "ephemeral"}
    doc: Any = {
        "model": "m",
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "Hi", "cache_control": mark, "unknown": 1}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig"},
                {"type": "text", "text": "Hello."}]},
            {"role": "user", "content": [{"type": "text", "text": "Go on."}]},
        ],
    }  # fmt: skip
    there = dragoman.convert(doc, source="anthropic", target="openrouter", carry=True)
    first, _, last = there.document["messages"]
    del first["content"][0]["cache_control"]
    last["content"] = [{"type": "text", "text": "Go on.", "cache_control": mark}]
    home = dragoman.convert(
        there.document, source="openrouter", target="anthropic", capsule=there.capsule
    )
    wanted = copy.deepcopy(doc["messages"])
    del wanted[0]["content"][0]["cache_control"]
    wanted[2]["content"][0]["cache_control"] = mark
    assert home.document["messages"] == wanted
    assert not home.losses


def test_a_capsule_of_version_1_is_still_opened() -> None:
    document = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    sealed = {
        "capsule": 1, "dialect": "anthropic-messages", "facet": "request",
        "patch": {"set": {"top_k": 3}}, "mended": [["invented", "max_tokens", ""]],
    }  # fmt: skip
    home = back(document, sealed)
    assert home.document["top_k"] == 3
    assert not home.losses
    with pytest.raises(dragoman.Malformed, match="but of version 3"):
        back(document, sealed | {"capsule": 3})


def test_what_goes_and_comes_at_the_end_is_not_raised_from_the_dead() -> None:
    doc = {
        "model": "m",
        "store": False,
        "input": [
            {"role": "user", "content": "Hi"},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "eA=="},
            {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
             "content": [{"type": "output_text", "text": "fin", "annotations": []}]},
        ],
    }  # fmt: skip
    result = dragoman.convert(doc, source="responses", target="chat", carry=True)
    for messages in (
        [{"role": "user", "content": "Hi"}],
        [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "EDITED"}],
    ):
        changed = result.document | {"messages": messages}
        home = dragoman.convert(changed, source="chat", target="responses", capsule=result.capsule)
        assert "fin" not in json.dumps(home.document)
        assert any(loss.what == "capsule" for loss in home.losses)


def test_what_the_capsule_did_not_mend_stays_in_the_ledger() -> None:
    call = {"id": "y" * 65, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    doc: Any = {
        "model": "m",
        "max_completion_tokens": 9,
        "messages": [
            {"role": "user", "name": "ada", "content": "Hi"},
            {"role": "assistant", "content": None, "tool_calls": [call | {"id": "y.z"}]},
            {"role": "tool", "tool_call_id": "y.z", "content": "x"},
        ],
    }
    result = dragoman.convert(doc, source="chat", target="anthropic", carry=True)
    result.document["messages"][0]["content"] = "Hello"
    home = dragoman.convert(
        result.document, source="anthropic", target="chat", capsule=result.capsule
    )
    assert home.document["messages"] == [{"role": "user", "content": "Hello"}, *doc["messages"][1:]]
    assert [str(loss)[:31] for loss in home.losses] == ["dropped capsule at /messages/0 "]


def test_a_capsule_belongs_to_a_facet() -> None:
    document, sealed = there()
    with pytest.raises(dragoman.Malformed, match="belongs to a"):
        back(document, sealed | {"facet": "response"})


def test_a_shortened_conversation() -> None:
    document, sealed = there()
    document["messages"] = document["messages"][:2]
    home = back(document, sealed)
    assert home.document["messages"] == SAMPLE["messages"][:1]
    assert any(loss.what == "capsule" for loss in home.losses)


def test_settings_that_changed_stay_changed() -> None:
    document, sealed = there()
    document["model"] = "another"
    document["reasoning_effort"] = "high"
    home = back(document, sealed)
    assert home.document["model"] == "another"
    assert home.document["messages"] == SAMPLE["messages"]


def test_nothing_lost_nothing_carried() -> None:
    doc = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    result = dragoman.convert(doc, source="anthropic", target="chat", carry=True)
    assert result.capsule is not None
    assert result.capsule["patch"] is None


def test_the_capsule_is_small() -> None:
    doc = {**SAMPLE, "system": [{"type": "text", "text": "long " * 10_000}]}
    result = dragoman.convert(doc, source="anthropic", target="chat", carry=True)
    assert len(json.dumps(result.capsule)) < 2_000


def test_what_has_merely_moved_is_not_copied() -> None:
    story = "once upon a time " * 500
    doc = {
        "model": "m",
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"},
                {"type": "text", "text": story}]},
        ],
    }  # fmt: skip
    result = dragoman.convert(doc, source="anthropic", target="chat", carry=True)
    assert len(json.dumps(result.capsule)) < 1_000
    home = dragoman.convert(
        result.document, source="chat", target="anthropic", capsule=result.capsule
    )
    assert home.document == doc
    result.document["messages"][-1]["content"] = "another"
    changed = dragoman.convert(
        result.document, source="chat", target="anthropic", capsule=result.capsule
    )
    assert changed.document["messages"][-1] == {"role": "user", "content": "another"}
    assert any(loss.what == "capsule" for loss in changed.losses)


def test_a_document_that_has_the_key_of_references() -> None:
    doc = {
        "model": "m",
        "max_tokens": 9,
        "odd": {"\0ref": "/messages/0/content", "was": "x"},
        "messages": [{"role": "user", "content": "long " * 100}],
    }
    result = dragoman.convert(doc, source="anthropic", target="chat", carry=True)
    home = dragoman.convert(
        result.document, source="chat", target="anthropic", capsule=result.capsule
    )
    assert home.document == doc


OURS: dict[str, Any] = {"capsule": 2, "dialect": "anthropic-messages", "facet": "request"}
HOSTILE: list[Any] = [
    OURS | {"patch": 5},
    OURS | {"patch": None, "count": 1},
    OURS | {"patch": None, "count": [1, 0], "turns": 5},
    OURS | {"patch": None, "count": [1, 0], "turns": [5]},
    OURS | {"patch": None, "count": [1, 0], "turns": [{"at": "x", "is": []}]},
    OURS | {"patch": None, "count": [3, 1], "mended": [5]},
    OURS | {"patch": None, "count": [3, 1], "order": [[]]},
]


@pytest.mark.parametrize(
    "sealed",
    [
        {},
        {"capsule": 3},
        {"capsule": 2},
        *HOSTILE,
        {"capsule": 1, "dialect": "openai-chat"},
        {"capsule": 1, "dialect": "anthropic-messages", "patch": {"items": 5, "length": 1}},
        {"capsule": 1, "dialect": "anthropic-messages", "patch": {"in": {"messages": 5}}},
        {"capsule": 1, "dialect": "anthropic-messages", "patch": [1]},
        {"capsule": 1, "dialect": "anthropic-messages", "mended": 5},
        "x",
        5,
    ],
)
def test_a_damaged_capsule_is_malformed(sealed: Any) -> None:
    document, _ = there()
    with pytest.raises(dragoman.Malformed):
        back(document, sealed)


PATCHES: list[tuple[Any, Any]] = [
    (1, 1.0),
    (True, 1),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ([1, 2, 3], [0, 1, 3, 4]),
    ([], [{}]),
    ([{}], []),
    ("x", [{"type": "text", "text": "x", "y": 1}]),
    ([{"type": "text", "text": "x", "y": 1}], "x"),
    ([{"role": "a"}, {"role": "b"}], [{"role": "b", "x": None}]),
    ({"a": [[1, [2]]]}, {"a": [[1, [2, 3]]], "c": {}}),
    (None, {}),
]


@pytest.mark.parametrize(("old", "new"), PATCHES)
def test_a_patch_leads_from_old_to_new(old: Any, new: Any) -> None:
    log = Ledger()
    patch = json.loads(json.dumps(patching.diff(old, new)))
    assert json.dumps(patching.apply(patch, old, "", log, old)) == json.dumps(new)
    assert not log.losses


@pytest.mark.parametrize("target", ["openai-chat", "gemini", "bedrock-converse"])
def test_any_broken_capsule_is_malformed_or_opened(target: str) -> None:
    """Each value of a real one replaced by what does not belong there: never another exception."""
    there = dragoman.convert(SAMPLE, source="anthropic", target=target, carry=True)
    for sealed in testing.broken(there.capsule):
        with contextlib.suppress(dragoman.Malformed):
            dragoman.convert(
                there.document, source=target, target="anthropic", capsule=sealed or {}
            )
