"""The way home when things have changed meanwhile."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman import capsule
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


def test_no_seal_behind_a_prefix_that_has_changed() -> None:
    document, sealed = there()
    document["messages"][1]["content"][0]["text"] = "Something else?"
    home = back(document, sealed)
    assert "signature" not in json.dumps(home.document)
    assert any(loss.what == "capsule" for loss in home.losses)


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
    doc = {
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
    assert home.document["messages"][1]["tool_calls"][0]["id"] != "y.z"
    assert any(loss.what == "capsule" for loss in home.losses)


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


@pytest.mark.parametrize(
    "sealed",
    [
        {},
        {"capsule": 2},
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
    patch = json.loads(json.dumps(capsule.diff(old, new)))
    assert json.dumps(capsule.apply(patch, old, "", log, old)) == json.dumps(new)
    assert not log.losses
