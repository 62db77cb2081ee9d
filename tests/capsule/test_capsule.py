"""The way home when things have changed meanwhile."""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import sys
from typing import Any

import pytest

import dragoman
import places
from dragoman import testing
from dragoman.capsule import patching
from dragoman.laws import edited, editing
from dragoman.laws.edited import ways
from dragoman.laws.edits import OTHER, SAME
from dragoman.laws.wire import TURNS
from dragoman.ledger import Ledger, Loss

SAMPLE = json.loads((places.ROOT / "examples" / "conversation.json").read_text())


def there() -> tuple[Any, Any]:
    result = dragoman.convert(SAMPLE, source="anthropic", target="chat", carry=True)
    return copy.deepcopy(result.document), result.capsule


def back(document: Any, signed: Any) -> dragoman.Result:
    return dragoman.convert(document, source="chat", target="anthropic", capsule=signed)


def test_grown_at_its_end() -> None:
    document, signed = there()
    document["messages"].append({"role": "assistant", "content": "Istanbul, 14 degrees."})
    document["messages"].append({"role": "user", "content": "Thanks."})
    same = back(document, signed)
    assert same.document["messages"][:3] == SAMPLE["messages"]
    assert same.document["messages"][3:] == [
        {"role": "assistant", "content": "Istanbul, 14 degrees."},
        {"role": "user", "content": "Thanks."},
    ]
    assert not same.losses


def test_a_changed_part_is_left_as_it_is_and_said() -> None:
    document, signed = there()
    document["messages"][2]["tool_calls"][0]["function"]["arguments"] = '{"city":"Ankara"}'
    same = back(document, signed)
    turn = same.document["messages"][1]
    assert turn["content"][1]["input"] == {"city": "Ankara"}
    assert not any(block["type"] == "thinking" for block in turn["content"])
    assert any(loss.what == "capsule" for loss in same.losses)


def test_a_new_conversation_gets_nothing_of_the_old() -> None:
    document, signed = there()
    document["messages"] = [{"role": "user", "content": "fresh"}]
    same = back(document, signed)
    assert same.document["messages"] == [{"role": "user", "content": "fresh"}]
    assert any(loss.what == "capsule" for loss in same.losses)


def test_a_turn_keeps_its_signature_when_an_earlier_one_changes() -> None:
    """A signature covers the reasoning that it stands with, not the conversation before it."""
    document, signed = there()
    document["messages"][1]["content"][0]["text"] = "Something else?"
    same = back(document, signed)
    assert same.document["messages"][1:] == SAMPLE["messages"][1:]
    assert same.document["messages"][0] != SAMPLE["messages"][0]


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
    same = echoed(there.document, capsule=there.capsule)
    assert json.dumps(same.document) == json.dumps(ASKED)
    assert not same.losses


def test_a_changed_call_stands_once_and_without_its_reasoning() -> None:
    there = dragoman.convert(ASKED, source="responses", target="chat", carry=True)
    call = there.document["messages"][1]["tool_calls"][0]
    call["function"]["arguments"] = '{"city":"Rome"}'
    same = echoed(there.document, capsule=there.capsule)
    kinds = [item.get("type", "message") for item in same.document["input"]]
    assert kinds == ["message", "function_call", "function_call_output"]
    assert [loss.path for loss in same.losses if loss.what == "capsule"] == ["/messages/1"]


def test_replaced_ids_stay_paired() -> None:
    there = dragoman.convert(ASKED, source="responses", target="chat", carry=True)
    there.document["messages"][1]["tool_calls"][0]["id"] = "other"
    there.document["messages"][2]["tool_call_id"] = "other"
    same = echoed(there.document, capsule=there.capsule)
    assert json.dumps(same.document) == json.dumps(ASKED)
    assert not same.losses


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
    same = dragoman.convert(
        there.document, source="chat", target="anthropic", capsule=there.capsule
    )
    assert same.document["messages"] == doc["messages"][:2] + doc["messages"][4:]
    assert sum(loss.what == "capsule" for loss in same.losses) == 1


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
    same = dragoman.convert(
        there.document, source="openrouter", target="anthropic", capsule=there.capsule
    )
    wanted = copy.deepcopy(doc["messages"])
    del wanted[0]["content"][0]["cache_control"]
    wanted[2]["content"][0]["cache_control"] = mark
    assert same.document["messages"] == wanted
    assert not same.losses


def test_a_capsule_of_version_1_is_still_opened() -> None:
    document = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    signed = {
        "capsule": 1, "dialect": "anthropic-messages", "facet": "request",
        "patch": {"set": {"top_k": 3}},
    }  # fmt: skip
    same = back(document, signed)
    assert same.document["top_k"] == 3
    assert [str(place) for place in same.restored] == ["restored field at /top_k"]
    with pytest.raises(dragoman.Malformed, match="of version 3; this is for version 2"):
        back(document, signed | {"capsule": 3})


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
        same = dragoman.convert(changed, source="chat", target="responses", capsule=result.capsule)
        assert "fin" not in json.dumps(same.document)
        assert any(loss.what == "capsule" for loss in same.losses)


def test_what_the_capsule_did_not_repair_stays_in_the_ledger() -> None:
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
    same = dragoman.convert(
        result.document, source="anthropic", target="chat", capsule=result.capsule
    )
    assert same.document["messages"] == [{"role": "user", "content": "Hello"}, *doc["messages"][1:]]
    assert [str(loss)[:31] for loss in same.losses] == ["dropped capsule at /messages/0 "]


def test_a_capsule_belongs_to_a_facet() -> None:
    document, signed = there()
    with pytest.raises(dragoman.Malformed, match="belongs to a"):
        back(document, signed | {"facet": "response"})


def test_a_shortened_conversation() -> None:
    document, signed = there()
    document["messages"] = document["messages"][:2]
    same = back(document, signed)
    assert same.document["messages"] == SAMPLE["messages"][:1]
    assert any(loss.what == "capsule" for loss in same.losses)


def test_settings_that_changed_stay_changed() -> None:
    document, signed = there()
    document["model"] = "another"
    document["reasoning_effort"] = "high"
    same = back(document, signed)
    assert same.document["model"] == "another"
    assert same.document["messages"] == SAMPLE["messages"]


def test_nothing_lost_nothing_carried() -> None:
    doc = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    result = dragoman.convert(doc, source="anthropic", target="chat", carry=True)
    assert result.capsule is not None
    assert result.capsule["patch"] is None


def typed(first: bool) -> Any:
    turns: list[Any] = [
        {"role": "user", "content": "Which way?"},
        {"role": "assistant", "content": "North."},
        {"role": "user", "content": [{"type": "input_text", "text": "How far?"}]},
    ]
    written = {"type": "message"}
    return {
        "model": "gpt-5",
        "input": [written | turn if first else turn | written for turn in turns],
    }


def carried(doc: Any, *, new: bool = False) -> tuple[Any, dragoman.Result]:
    """The capsule of a Responses request on its way to Chat, and the way home."""
    sent = dragoman.convert(doc, source="responses", target="chat", carry=True)
    turns = [{"role": "user", "content": "Why?"}] if new else []
    echo = sent.document | {"messages": sent.document["messages"] + turns}
    return sent.capsule, dragoman.convert(
        echo, source="chat", target="responses", capsule=sent.capsule
    )


@pytest.mark.parametrize("first", [True, False])
def test_a_type_that_each_message_has_needs_no_entries(first: bool) -> None:
    doc = typed(first)
    capsule, same = carried(doc)
    assert [entry["at"] for entry in capsule["turns"]] == [2], "a list of one text is a string"
    assert capsule["typed"] == ("first" if first else "last")
    assert json.dumps(same.document) == json.dumps(doc)
    assert [str(place) for place in same.restored] == [
        "removed field at /store",
        "restored turn at /input/2",
        "restored field at /input/0/type",
        "restored field at /input/1/type",
    ]


def test_a_new_message_has_the_type_that_the_others_have() -> None:
    _, same = carried(typed(True), new=True)
    assert json.dumps(same.document["input"][3]) == json.dumps(
        {"type": "message", "role": "user", "content": "Why?"}
    )
    assert dragoman.Restored("field", "/input/3/type") in same.restored
    assert not same.losses


def test_a_type_that_some_messages_have_is_theirs_alone() -> None:
    doc = typed(True)
    del doc["input"][1]["type"]
    capsule, same = carried(doc, new=True)
    assert "typed" not in capsule
    assert same.document["input"] == [*doc["input"], {"role": "user", "content": "Why?"}]


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
    same = dragoman.convert(
        result.document, source="chat", target="anthropic", capsule=result.capsule
    )
    assert same.document == doc
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
    same = dragoman.convert(
        result.document, source="chat", target="anthropic", capsule=result.capsule
    )
    assert same.document == doc


OURS: dict[str, Any] = {"capsule": 2, "dialect": "anthropic-messages", "facet": "request"}
HOSTILE: list[Any] = [
    OURS | {"patch": 5},
    OURS | {"patch": None, "count": 1},
    OURS | {"patch": None, "count": [1, 0], "turns": 5},
    OURS | {"patch": None, "count": [1, 0], "turns": [5]},
    OURS | {"patch": None, "count": [1, 0], "turns": [{"at": "x", "is": []}]},
    OURS | {"patch": None, "count": [3, 1], "repaired": [5]},
    OURS | {"patch": None, "count": [3, 1], "order": [[]]},
    OURS | {"patch": {"in": {"messages": {"length": 3, "items": [{"keep": -1, "was": ""}]}}}},
    OURS | {"patch": None, "count": [3, 1], "turns": [
        {"at": 0, "is": ["x"], "size": 1, "put": {"raw": []}}] * 2},
]  # fmt: skip


@pytest.mark.parametrize(
    "signed",
    [
        {},
        {"capsule": 3},
        {"capsule": 2},
        *HOSTILE,
        {"capsule": 1, "dialect": "openai-chat"},
        {"capsule": 1, "dialect": "anthropic-messages", "patch": {"items": 5, "length": 1}},
        {"capsule": 1, "dialect": "anthropic-messages", "patch": {"in": {"messages": 5}}},
        {"capsule": 1, "dialect": "anthropic-messages", "patch": [1]},
        {"capsule": 1, "dialect": "anthropic-messages", "repaired": 5},
        "x",
        5,
    ],
)
def test_a_damaged_capsule_is_malformed(signed: Any) -> None:
    document, _ = there()
    with pytest.raises(dragoman.Malformed):
        back(document, signed)


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
    assert json.dumps(patching.apply(patch, old, "", log, patching.Root(old))) == json.dumps(new)
    assert not log.losses


@pytest.mark.parametrize("target", ["openai-chat", "gemini", "bedrock-converse"])
def test_any_broken_capsule_is_malformed_or_opened(target: str) -> None:
    """Each value of a real one replaced by what does not belong there: never another exception."""
    there = dragoman.convert(SAMPLE, source="anthropic", target=target, carry=True)
    for signed in testing.broken(there.capsule):
        with contextlib.suppress(dragoman.Malformed):
            dragoman.convert(
                there.document, source=target, target="anthropic", capsule=signed or {}
            )


# -- the law of edits can fail --------------------------------------------------------------


def agent(turns: int, *, signed: bool = True) -> Any:
    """An agent's request with so many calls, each with its own reasoning and result."""
    messages: list[Any] = [{"role": "user", "content": "Look around, and tell what you find."}]
    for number in range(turns):
        blocks: list[Any] = [
            {"type": "text", "text": f"I read file {number}."},
            {
                "type": "tool_use",
                "id": f"toolu_{number}",
                "name": "read",
                "input": {"n": number, "all": True},
            },
        ]
        if signed:
            thinking = {"type": "thinking", "thinking": f"hm {number}", "signature": f"s{number}"}
            blocks.insert(0, thinking)
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": f"{number}"}
        messages.append({"role": "assistant", "content": blocks})
        messages.append({"role": "user", "content": [result]})
    tool = {"name": "read", "input_schema": {"type": "object", "properties": {}}}
    return {"model": "m", "max_tokens": 9, "tools": [tool], "messages": messages}


def exchanged(capsule: Any) -> Any:
    """What belongs to one turn is put into another."""
    first, second, *_ = capsule["turns"]
    first["put"], second["put"] = second["put"], first["put"]
    return capsule


def doubled(capsule: Any) -> Any:
    """A turn is put twice."""
    for slot in capsule["turns"][0]["put"]["raw"]:
        slot[2] *= 2
    return capsule


def forgotten(capsule: Any) -> Any:
    """What was carried for a turn is lost, and nobody says so."""
    del capsule["turns"][-1]
    return capsule


def careless(capsule: Any) -> Any:
    """A signature without its turn: the original has lost its words."""
    for entry in capsule["turns"]:
        for _, _, items in entry["put"]["raw"]:
            items[0]["content"] = items[0]["content"][:1]
    return capsule


def misplaced(capsule: Any) -> Any:
    """Each is put where the next one stands."""
    entries = capsule["turns"]
    for entry, following in itertools.pairwise(entries):
        entry["put"] = following["put"]
    return capsule


@pytest.mark.parametrize("tamper", [exchanged, doubled, forgotten, careless, misplaced])
@pytest.mark.parametrize("target", ["openai-chat", "gemini", "openai-responses"])
def test_the_law_of_edits_sees_a_bad_capsule(tamper: Any, target: str) -> None:
    doc = agent(4)
    found: dict[str, list[str]] = {}
    for way in ways(doc, "anthropic-messages", target, tamper):
        found[way.edit] = list(editing.problems(way))
    assert found["added at the end"]
    assert found["arguments spelled anew"]
    for way in ways(doc, "anthropic-messages", target):
        assert not list(editing.problems(way)), way.edit


def test_the_law_of_edits_sees_a_loss_at_another_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def elsewhere(*args: Any, **options: Any) -> dragoman.Result:
        result = dragoman.convert(*args, **options)
        losses = [Loss(x.kind, x.what, "/messages/0", x.why) for x in result.losses]
        return dragoman.Result(result.document, tuple(losses), result.capsule)

    monkeypatch.setattr(edited, "convert", elsewhere)
    found = ways(agent(4), "anthropic-messages", "openai-chat")
    way = next(way for way in found if way.edit == "words changed")
    assert "not at the turn" in "".join(editing.problems(way))


# -- cost -----------------------------------------------------------------------------------


def steps(work: Any) -> int:
    """How many calls a piece of work takes: a measure without a clock."""
    count = 0

    def step(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(step)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def opened(turns: int, edit: str, target: str) -> int:
    doc = agent(turns)
    there = dragoman.convert(doc, source="anthropic", target=target, carry=True)
    key = TURNS[target]
    edited = (SAME | OTHER)[edit](copy.deepcopy(there.document[key]), target)
    echoed = {**there.document, key: edited}
    return steps(
        lambda: dragoman.convert(echoed, source=target, target="anthropic", capsule=there.capsule)
    )


@pytest.mark.parametrize("target", ["openai-chat", "gemini", "openai-responses"])
def test_the_cost_of_a_capsule_is_linear(target: str) -> None:
    def signed(turns: int) -> int:
        doc = agent(turns)
        return steps(lambda: dragoman.convert(doc, source="anthropic", target=target, carry=True))

    signed(1)  # what is made once is made now
    assert signed(160) < 5 * signed(40)


@pytest.mark.parametrize("edit", ["ids replaced", "removed at the front", "added in the middle"])
@pytest.mark.parametrize("target", ["openai-chat", "gemini", "openai-responses"])
def test_the_cost_of_the_way_home_is_linear(target: str, edit: str) -> None:
    assert opened(160, edit, target) < 5 * opened(40, edit, target)


def test_a_forged_capsule_cannot_multiply_a_text() -> None:
    """Each text of a turn is referred to once."""
    written = {"type": "text", "text": "long " * 1000, "x": 1}
    doc = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": [written]}]}
    there = dragoman.convert(doc, source="anthropic", target="chat", carry=True)
    assert there.capsule is not None
    (entry,) = there.capsule["turns"]
    reference = {"\0ref": 0}
    assert json.dumps(reference) in json.dumps(entry["put"])
    slot, whole, _ = entry["put"][0]
    for many in ([reference] * 2, [{"\0json": [[0, 0], [0, 1]]}]):
        entry["put"] = [[slot, whole, [{"role": "user", "content": many}]]]
        with pytest.raises(dragoman.Malformed):
            dragoman.convert(
                there.document, source="chat", target="anthropic", capsule=there.capsule
            )


def test_a_patch_cannot_multiply_a_text() -> None:
    old = {"text": "long " * 100}
    new = {**old, "again": [old["text"]] * 20}
    patch, refers = patching.make(old, new)
    assert refers
    assert patching.apply(patch, old, "", Ledger(), patching.Root(old)) == new
    reference = {"\0ref": "/text", "was": patching.digest(old["text"])}
    with pytest.raises(TypeError):
        patching.apply({"set": {"again": [reference] * 20}}, old, "", Ledger(), patching.Root(old))


FORGED: dict[str, Any] = {
    "one digest for all": lambda entries: [e.update({"is": entries[0]["is"]}) for e in entries],
    "all at the front": lambda entries: [e.update(at=0) for e in entries],
    "all in one set": lambda entries: [e.update({"with": 0, "strict": 1}) for e in entries],
    "of no unit": lambda entries: [e.update({"is": []}) for e in entries],
    "of nobody's unit": lambda entries: [e.update({"is": ["x"]}) for e in entries],
    "of many units": lambda entries: [e.update({"is": entries[0]["is"] * 3}) for e in entries],
    "backwards": lambda entries: entries.reverse(),
}


@pytest.mark.parametrize("how", FORGED)
def test_a_forged_capsule_costs_no_more(how: str) -> None:
    def cost(turns: int) -> int:
        there = dragoman.convert(agent(turns), source="anthropic", target="chat", carry=True)
        assert there.capsule is not None
        FORGED[how](there.capsule["turns"])

        def work() -> None:
            with contextlib.suppress(dragoman.Malformed):
                back(there.document, there.capsule)

        return steps(work)

    assert cost(160) < 5 * cost(40)


def test_the_way_back_is_written_for_the_callers_models() -> None:
    doc = {
        "model": "prod",
        "max_tokens": 9,
        "temperature": 0.5,
        "messages": [{"role": "user", "content": "Hi"}],
    }
    models = {"model": [{"names": ["prod"], "like": "claude-opus-4-7"}]}
    there = dragoman.convert(doc, source="anthropic", target="chat", carry=True, models=models)
    same = dragoman.convert(
        there.document, source="chat", target="anthropic", capsule=there.capsule, models=models
    )
    assert same.document == doc
