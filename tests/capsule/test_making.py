"""Making a capsule: which turns correspond, and what is carried for those that changed."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest

import dragoman
from dragoman import dialects
from dragoman.capsule import echoing, make, making
from dragoman.capsule.echoing import SLIGHT
from dragoman.capsule.places import neighbours
from dragoman.capsule.references import WORTH
from dragoman.capsule.units import Unit, View, digest, gist_of
from dragoman.core.models import DEFAULT
from dragoman.dialect import Dialect
from dragoman.ledger import Ledger, Loss
from dragoman.model import (
    History,
    Media,
    Message,
    Reasoning,
    Request,
    Response,
    Source,
    Text,
    Tool,
    ToolCall,
    ToolResult,
)

# -- which turns correspond ----------------------------------------------------------------------


def role_of(letter: str) -> Any:
    return "assistant" if letter.isupper() else "system" if letter.isdigit() else "user"


def unit(number: int, letter: str) -> Unit:
    """A reply for a capital, a system prompt for a digit."""
    at = f"/messages/{number}"
    node = Message(role_of(letter), (Text(letter, at=f"{at}/content/0"),), at=at)
    return Unit("messages", number, [node], end=number + 1)


def row(letters: str) -> list[Unit]:
    return [unit(number, letter) for number, letter in enumerate(letters)]


def one_by_one(count: int) -> list[tuple[int, int, int, int]]:
    return [(n, n + 1, n, n + 1) for n in range(count)]


RUNS: list[tuple[str, str, list[tuple[int, int, int, int]]]] = [
    # the way back, the original
    ("", "", []),
    ("ab", "ab", one_by_one(2)),
    ("aB", "xY", one_by_one(2)),
    ("abc", "xyz", one_by_one(3)),
    ("12a", "1ba", one_by_one(3)),
    # what was made up on the way has no counterpart: it goes alone
    ("abc", "ac", [(0, 1, 0, 1), (1, 2, 1, 1), (2, 3, 1, 2)]),
    ("xab", "ab", [(0, 1, 0, 0), (1, 2, 0, 1), (2, 3, 1, 2)]),
    ("aXY", "aX", [(0, 1, 0, 1), (1, 2, 1, 2), (2, 3, 2, 2)]),
    ("a", "", [(0, 1, 0, 0)]),
    # what did not come back goes with what stands before it
    ("ac", "abc", [(0, 1, 0, 2), (1, 2, 2, 3)]),
    ("abc", "abxyc", [(0, 1, 0, 1), (1, 2, 1, 4), (2, 3, 4, 5)]),
    ("aXb", "aXYb", [(0, 1, 0, 1), (1, 2, 1, 3), (2, 3, 3, 4)]),
    # or with what follows, if nothing stands before it, or if it is of one reply
    ("a", "ba", [(0, 1, 0, 2)]),
    ("ac", "xac", [(0, 1, 0, 2), (1, 2, 2, 3)]),
    ("aC", "aBC", [(0, 1, 0, 1), (1, 2, 1, 3)]),
    ("aCd", "aBCd", [(0, 1, 0, 1), (1, 2, 1, 3), (2, 3, 3, 4)]),
    ("Y", "XY", [(0, 1, 0, 2)]),
    ("", "a", [(0, 0, 0, 1)]),
    # system prompts at the front are the same, whatever they say
    ("1a", "2ba", [(0, 1, 0, 2), (1, 2, 2, 3)]),
    ("1a", "23a", [(0, 1, 0, 2), (1, 2, 2, 3)]),
    ("12ab", "34b", [(0, 1, 0, 1), (1, 2, 1, 2), (2, 3, 2, 2), (3, 4, 2, 3)]),
]


def test_which_turns_correspond() -> None:
    for old, new, runs in RUNS:
        assert making._runs(row(old), row(new)) == runs, (old, new)


def test_each_turn_is_in_one_run() -> None:
    for number in range(300):
        dice = Random(number)
        old = "".join(dice.choice("aBc1D") for _ in range(dice.randrange(7)))
        new = "".join(x for x in old if dice.randrange(4)) if number % 2 else old[::-1]
        place = dice.randrange(len(new) + 1)
        new = new[:place] + dice.choice(["", "x", "B", "YZ"]) + new[place:]
        runs = making._runs(row(old), row(new))
        b = o = 0
        for b0, b1, o0, o1 in runs:
            assert (b0, o0) == (b, o)
            assert b1 > b0 or o1 > o0
            b, o = b1, o1
        assert (b, o) == (len(old), len(new))


def test_units_of_one_reply() -> None:
    assert making._goes_on(unit(0, "A"), unit(1, "B"))
    assert not making._goes_on(unit(0, "A"), unit(1, "b"))
    assert not making._goes_on(unit(0, "a"), unit(1, "B"))
    assert not making._goes_on(unit(0, "a"), unit(1, "b"))
    assert not making._goes_on(Unit("t", 0, [Tool("a")]), Unit("t", 1, [Tool("b")]))


def test_where_the_conversation_begins() -> None:
    for letters, begin in (("12a1", 2), ("a1", 0), ("12", 2), ("", 0)):
        assert making._begin(row(letters)) == begin


def test_how_much_reasoning_is_in_a_unit() -> None:
    node = Message("assistant", (Reasoning(), Text("x"), Reasoning()))
    assert making._reasons(Unit("m", 0, [node, node])) == 4
    assert making._reasons(unit(0, "a")) == 0
    assert making._reasons(Unit("t", 0, [Tool("a")])) == 0


# -- how entries are told apart ------------------------------------------------------------------


def entry(at: int, units: list[Unit], count: int = 1, **more: Any) -> dict[str, Any]:
    return {"at": at, "is": [each.key for each in units[at : at + count]], **more}


def test_a_short_turn_is_told_by_what_it_stands_beside() -> None:
    units = row("abc")
    found = [entry(1, units)]
    making._tell_apart(found, units)
    assert found[0]["by"] == [units[0].key, units[2].key]
    assert "strict" not in found[0]


def long(number: int, text: str) -> Unit:
    return Unit("messages", number, [Message("user", (Text(text * 400),))])


def test_a_long_turn_tells_itself() -> None:
    units = [long(n, letter) for n, letter in enumerate("abb")]
    found = [entry(0, units), entry(1, units), entry(2, units)]
    making._tell_apart(found, units)
    assert ["by" in each for each in found] == [False, True, True]  # two say the same
    for more, strict in (
        ({"odd": 1}, None), ({"odd": 2}, 2), ({"odd": 3}, 1), ({"with": 0}, 1),
        ({"with": 0, "odd": 2}, 2),
    ):  # fmt: skip
        found = [entry(0, units, **more)]
        making._tell_apart(found, units)
        assert "odd" not in found[0]
        assert found[0].get("strict") == strict
        assert found[0]["by"] == neighbours(units, 0, 1)
    nothing = [entry(0, units, 0)]
    making._tell_apart(nothing, units)
    assert nothing[0]["by"] == ["^", units[0].key]


def test_how_long_a_turn_must_be() -> None:
    def told(length: int) -> bool:
        units = [Unit("messages", 0, [Message("user", (Text("x" * length),))])]
        found = [entry(0, units)]
        assert units[0].size == length + 10
        making._tell_apart(found, units)
        return "by" in found[0]

    assert told(SLIGHT - 11)
    assert not told(SLIGHT - 10)


def exchange(mine: str, theirs: str) -> Any:
    return {}, Counter(map(str.encode, mine)), Counter(map(str.encode, theirs))


def test_entries_that_exchanged_something_are_tied() -> None:
    """Mine is what the original has, theirs what came back."""
    for moved, ties in (
        (["ab a", "c bc"], [0, 0]),
        (["a a", "b b"], [None, None]),
        (["ab a", "c bc", "d d"], [0, 0, None]),
        (["a b", "b c", "c a"], [0, 0, 0]),
        (["ab a", "c cb", "de d", "f fe"], [0, 0, 2, 2]),
        (["x y"], [None]),
        (["ax a", "b b", "c cx", "d dx"], [0, None, 0, 0]),
        (["aa a", "b ab"], [0, 0]),
    ):
        entries = [exchange(*each.split()) for each in moved]
        making._tie(entries)
        assert [each.get("with") for each, _, _ in entries] == ties, moved


# -- what came back as it was ----------------------------------------------------------------------


def test_keys_that_came_back() -> None:
    original: Any = {"a": 1, "b": [1], "tools": [{"x": 1}], "c": 1, "d": 1}
    back = {"b": [1], "a": 1.0, "tools": [{"x": 1}], "c": 1, "e": 1}
    assert making._alike(original, back) == {"b", "tools", "c"}
    assert making._alike(original, [1]) == set()
    assert making._alike([1], back) == set()
    assert making._alike({"tools": [{"a": 1, "b": 1}]}, {"tools": [{"b": 1, "a": 1}]}) == set()


def test_whether_all_came_back() -> None:
    def is_all(a: Any, b: Any) -> bool:
        return making._is_all(a, b, making._alike(a, b))

    assert is_all({"a": 1, "b": 2}, {"a": 1, "b": 2})
    assert not is_all({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert not is_all({"a": 1}, {"a": 1, "b": 2})
    assert not is_all({"a": 1, "b": 2}, {"a": 1})
    assert is_all([1], [1])
    assert not is_all([1], [1.0])
    assert not is_all([], {})


def test_whether_the_tools_came_back() -> None:
    def tree(*ats: str) -> Request:
        return Request("m", (), tuple(Tool("t", at=at) for at in ats))

    assert making._have_same_tools(tree(), set())
    assert making._have_same_tools(History(()), set())
    assert making._have_same_tools(tree("/tools/0", "/tools/1/x"), {"tools"})
    assert not making._have_same_tools(tree("/tools/0"), {"messages"})
    assert not making._have_same_tools(tree("/tools/0", "/other/0"), {"tools"})
    assert not making._have_same_tools(tree(""), {"tools"})


def test_whether_only_numbers_and_the_like_differ() -> None:
    turns = [{"role": "user"}]
    original: Any = {"messages": turns, "a": 1}
    for back, is_apart in (
        ({"messages": turns, "a": 2}, True),
        ({"messages": turns}, True),
        ({"messages": turns, "a": 1, "b": 5}, True),
        ({"messages": turns, "a": 1, "b": "text"}, False),
        ({"messages": [], "a": 1}, False),
        ([], False),
    ):
        alike = making._alike(original, back)
        assert making._is_apart(original, back, alike) is is_apart, back
    lost = {"messages": turns, "a": "text"}
    assert not making._is_apart(lost, {"messages": turns}, {"messages"})
    bare = {"messages": "text", "a": 1}
    assert making._is_apart(bare, {"messages": "text"}, {"messages"})
    assert not making._is_apart([], original, set())


def test_a_unit_that_came_back_as_it_was() -> None:
    one, other = ({"messages": [{"a": 1, "b": 2}], "system": "x"} for _ in range(2))
    views = [
        View(each, Request("m", (Message("user", at="/messages/0"),))) for each in (one, other)
    ]
    (mine,), (theirs,) = (view.turns for view in views)
    assert making._is_clean(views[0], mine, views[1], theirs)
    other["messages"][0] = {"b": 2, "a": 1}  # type: ignore[index]
    assert not making._is_clean(views[0], mine, views[1], theirs)
    whole = Unit("messages", -1, mine.nodes)
    assert not making._is_clean(views[0], whole, views[0], mine)
    elsewhere = Unit("system", 0, mine.nodes)
    assert not making._is_clean(views[0], mine, views[0], elsewhere)


# -- whole capsules --------------------------------------------------------------------------------

HI: Any = {"role": "user", "content": "Hi"}
HO: Any = {"role": "assistant", "content": "Ho"}


def claude(*messages: Any, **settings: Any) -> Any:
    return {"model": "m", "max_tokens": 9, "messages": [*messages], **settings}


def chat(*messages: Any, **settings: Any) -> Any:
    return {"model": "m", "messages": [*messages], **settings}


def carried(doc: Any, source: str, target: str, facet: str = "request", **options: Any) -> Any:
    """The capsule, less what each of them says."""
    result = dragoman.convert(
        doc, source=source, target=target, facet=facet, carry=True, now=0, **options
    )
    capsule: Any = result.capsule
    assert (capsule.pop("capsule"), capsule.pop("facet")) == (2, facet)
    assert capsule.pop("dialect") == dialects.get(source).name
    back = dragoman.convert(
        result.document, source=target, target=source, facet=facet, now=0,
        capsule={"capsule": 2, "dialect": dialects.get(source).name, "facet": facet, **capsule},
    )  # fmt: skip
    assert json.dumps(back.document) == json.dumps(doc)
    return capsule


def key(role: str, *atoms: Any) -> str:
    return digest([[role, None], *atoms])[0]


def raw(*items: Any, slot: str = "messages") -> Any:
    return {"raw": [[slot, False, [*items]]]}


def test_nothing_is_carried_where_nothing_was_lost() -> None:
    assert carried(claude(HI), "anthropic", "openai-chat") == {"patch": None}


def test_a_turn_that_lost_something_is_carried() -> None:
    own = HI | {"own": 1}
    assert carried(claude(own, HO, HI), "anthropic", "openai-chat") == {
        "patch": None, "echo": True, "count": [3, None],
        "turns": [{"at": 0, "is": [key("user", "Hi")], "put": raw(own),
                   "by": ["^", key("assistant", "Ho")]}],
    }  # fmt: skip
    last = carried(claude(HI, HO, own), "anthropic", "openai-chat")["turns"]
    assert last == [{
        "at": 2, "is": [key("user", "Hi")], "put": raw(own), "size": 2,
        "by": [key("assistant", "Ho"), "$"],
    }]  # fmt: skip


def test_a_call_is_told_by_its_ids() -> None:
    use = {"type": "tool_use", "id": "t1", "name": "f", "input": {}, "own": 1}
    reply = {"type": "tool_result", "tool_use_id": "t1", "content": "x", "own": 1}
    doc = claude(
        HI, {"role": "assistant", "content": [use]}, {"role": "user", "content": [reply]}, HI
    )
    turns = carried(doc, "anthropic", "openai-chat")["turns"]
    assert [each.get("ids") for each in turns] == [["t1"], ["t1"]]
    assert all("by" not in each for each in turns)
    again = claude(*doc["messages"][:3], *doc["messages"][1:], HI)
    turns = carried(again, "anthropic", "openai-chat")["turns"]
    assert all("ids" not in each and "by" in each for each in turns)  # one id for two calls
    assert all(each["reused"] == ["t1"] for each in turns)


def test_settings_are_patched_and_their_order_is_kept() -> None:
    doc = {"top_k": 3, "model": "m", "x": [1], "max_tokens": 9, "messages": [HI]}
    capsule = carried(doc, "anthropic", "openai-chat")
    assert capsule["patch"] == {"set": {"top_k": 3, "x": [1]}}
    assert capsule["order"] == list(doc)
    assert capsule["echo"] is True
    assert "turns" not in capsule
    only = carried(claude(HI, top_k=3), "anthropic", "openai-chat")
    assert only == {"patch": {"set": {"top_k": 3}}, "count": [0, None]}


def test_long_texts_are_referred_to() -> None:
    text = "long " * WORTH
    block = {"type": "text", "text": text, "own": 1}
    doc = claude({"role": "user", "content": [block]}, HO, HI)
    (entry,) = carried(doc, "anthropic", "openai-chat")["turns"]
    assert entry["put"] == [
        ["messages", False, [{"role": "user", "content": [block | {"text": {"\0ref": 0}}]}]]
    ]
    assert "by" not in entry
    twice = carried(claude(*doc["messages"], *doc["messages"]), "anthropic", "openai-chat")["turns"]
    assert all("by" in each for each in twice)  # which of both is which


def test_what_the_target_has_no_field_for() -> None:
    """Where it keeps neither the model nor what stands around a list of turns."""
    bare = carried([HI, HO], "anthropic", "openai-chat", "messages")
    assert bare == {"patch": None, "bare": "messages"}
    assert carried({"messages": [HI]}, "anthropic", "openai-chat", "messages") == {"patch": None}
    listed = carried({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}, "gemini",
                     "openai-chat", "messages")  # fmt: skip
    assert "wrap" not in listed
    assert "bare" not in listed
    wrapped = carried({"messages": [HI]}, "openai-chat", "anthropic", "messages")
    assert wrapped.get("wrap") == "messages"
    named = carried(claude(HI), "anthropic", "bedrock-converse")
    assert "model" not in named


def test_marks_that_the_target_holds_are_noted() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    block = {"type": "text", "text": "Hi", "own": 1, **mark}
    doc = claude({"role": "user", "content": [block]}, HO, HI)
    place = [0, "0", "content", "0", "cache_control"]
    assert carried(doc, "anthropic", "openrouter") == {
        "patch": None, "count": [3, None],
        "turns": [{"at": 0, "is": [key("user", "Hi")], "put": raw(*doc["messages"][:1]),
                   "marks": [[place], [place]], "by": ["^", key("assistant", "Ho")]}],
    }  # fmt: skip


def test_tools_are_carried_one_by_one() -> None:
    own = {"name": "f", "input_schema": {"type": "object"}, "own": 1}
    capsule = carried(
        claude(HI, tools=[own, {"name": "g", "input_schema": {"type": "object"}}]),
        "anthropic", "openai-chat",
    )  # fmt: skip
    keys = [digest([["tool", "function", n, None, {"type": "object"}, None]])[0] for n in "fg"]
    assert capsule["count"] == [1, 2]
    assert capsule["tools"] == [{
        "at": 0, "is": keys[:1], "by": ["^", keys[1]],
        "put": [["tools", False, [own | {"input_schema": {"\0ref": -1}}]]],
    }]  # fmt: skip
    assert "turns" not in capsule


def test_results_that_moved_are_tied_to_where_they_came_from() -> None:
    def called(name: str) -> Any:
        call = {"functionCall": {"name": name, "args": {}, "id": name}}
        return {"role": "model", "parts": [call]}

    results = [{"functionResponse": {"id": n, "name": n, "response": {"r": n}}} for n in ("f", "g")]
    asked, replied = ({"role": "user", "parts": parts} for parts in ([{"text": "a"}], results))
    doc = {"model": "m", "contents": [asked, called("f"), called("g"), replied]}
    capsule = carried(doc, "gemini", "mistral")
    assert capsule["count"] == [5, None]
    turns = capsule["turns"]
    assert [each["at"] for each in turns] == [1, 2, 3, 4]
    assert [each["put"]["raw"][0][2] for each in turns] == [
        [called("f")], [], [called("g")], [replied],
    ]  # fmt: skip
    assert [each.get("with") for each in turns] == [None, 0, None, 0]
    assert [each.get("strict") for each in turns] == [None, 1, None, 1]
    assert ["by" in each for each in turns] == [True] * 4
    assert [each.get("size") for each in turns] == [None, None, None, 2]


def test_the_model_is_kept_where_the_document_names_none() -> None:
    source, target = dialects.get("anthropic-messages"), dialects.get("openai-chat")
    assert make(claude(HI), {"messages": [HI]}, source, target, "request")["model"] == "m"
    nameless = claude(HI) | {"model": ""}
    assert make(nameless, {"messages": [HI]}, source, target, "request")["model"] == "model"
    assert "model" not in make(claude(HI), chat(HI), source, target, "request")


def test_a_system_prompt_in_the_middle_needs_both_its_neighbours() -> None:
    told = {"role": "developer", "content": "D"}
    (entry,) = carried(chat(HI, told, HO), "openai-chat", "anthropic")["turns"]
    assert entry["strict"] == 2
    assert entry["by"] == [key("user", "Hi"), key("assistant", "Ho")]
    moved = carried(chat(HI, told, HI), "openai-chat", "anthropic")["turns"]
    assert [each["strict"] for each in moved] == [1, 2]  # the prompt goes after what followed it
    assert [each["with"] for each in moved] == [0, 0]
    front = carried(chat(told, HI), "openai-chat", "anthropic")
    assert all("strict" not in each for each in front["turns"])
    own = {"role": "system", "content": "S", "own": 1}
    assert carried(chat(own, HI), "openai-chat", "deepseek")["echo"] is True
    assert "echo" not in carried(chat(HI, own, HI), "openai-chat", "deepseek")


def test_replies_with_reasoning_that_became_one_need_a_neighbour_strictly() -> None:
    """Of the reasoning its gist tells nothing, so what is left of it may look the same."""
    replies = [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": letter, "signature": f"EqQB{letter}"},
                {"type": "text", "text": letter},
            ],
        }
        for letter in "ab"
    ]
    doc = claude(HI, *replies, HI) | {"model": "claude-sonnet-4-5"}
    (entry,) = carried(doc, "anthropic-messages", "bedrock-converse")["turns"]
    assert (entry["at"], entry["strict"]) == (1, 1)
    assert entry["by"] == [key("user", "Hi")] * 2


def test_turns_that_became_one_need_a_neighbour() -> None:
    one, other = ({"role": "user", "content": f"{letter} " * 300} for letter in "ab")
    (entry,) = carried(chat(one, other, HO), "openai-chat", "bedrock-converse")["turns"]
    assert entry["by"] == ["^", key("assistant", "Ho")]
    assert "strict" not in entry


def test_what_is_made_up_for_is_named() -> None:
    capsule = carried(claude(HI, HO), "anthropic", "vercel-model")
    assert capsule["repaired"] == [["approximated", "prefill", "/messages/1"]]
    source, target = dialects.get("anthropic-messages"), dialects.get("vercel-model")
    document = dragoman.convert(claude(HI, HO), source="anthropic", target="vercel-model").document
    own = make(claude(HI, HO), document, source, target, "request", converted=False)
    assert "repaired" not in own


def test_documents_without_turns_are_patched() -> None:
    reply = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "text", "text": "Hi", "own": 1}], "stop_reason": "end_turn",
        "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip
    capsule = carried(reply, "anthropic", "openai-chat", "response")
    assert "count" not in capsule
    assert "own" in json.dumps(capsule["patch"])
    assert "refs" not in capsule
    text = "long " * 50
    twice = reply | {"content": [{"type": "text", "text": text, "own": text}]}
    assert carried(twice, "anthropic", "openai-chat", "response")["refs"] is True


class Empty(Dialect):
    name = "empty"


def test_what_cannot_be_converted_back_is_refused() -> None:
    full, empty = dialects.get("openai-chat"), Empty()
    for source, target in ((full, empty), (empty, full)):
        for facet in ("response", "tool-choice"):
            with pytest.raises(dragoman.Unsupported, match="no conversion back"):
                make({}, {}, source, target, facet)
    assert make("auto", "auto", full, full, "tool-choice")["patch"] is None


def test_the_way_back_is_written_as_with_a_capsule() -> None:
    """Thinking stays on, although the turn that calls has lost its thinking block."""
    reply = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {}},
    ]
    reply = [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]
    doc = claude(
        HI, {"role": "assistant", "content": reply}, {"role": "user", "content": reply},
        thinking={"type": "enabled", "budget_tokens": 2000},
    ) | {"model": "claude-sonnet-4-5", "max_tokens": 4000}  # fmt: skip
    patch = carried(doc, "anthropic", "openai-chat")["patch"]
    assert patch["in"].keys() == {"thinking"}
    assert patch["in"]["thinking"]["in"].keys() == {"budget_tokens"}


def test_an_original_that_broke_a_rule_comes_back_as_it_was() -> None:
    thinking = {"type": "enabled", "budget_tokens": 2000}
    doc = claude(HI, {"role": "assistant", "content": [
        {"type": "tool_use", "id": "t1", "name": "f", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "x"}]},
        thinking=thinking) | {"max_tokens": 4000}  # fmt: skip
    capsule = carried(doc, "anthropic", "openai-chat")
    assert capsule.get("unfit") is True
    assert "unfit" not in carried(
        claude(HI, thinking=thinking) | {"max_tokens": 4000}, "anthropic", "openai-chat"
    )


def test_whether_turns_may_be_confused() -> None:
    def asked(*messages: Message) -> Request:
        return Request("m", messages)

    spelled, image = Message("user", (Text("x"),)), Media("image", Source("url", "u"))
    plain = Message("tool", (ToolResult("1", (Text("x"),)),))
    shown = Message("tool", (Text("x"), ToolResult("1", (Text("x"), image))))
    for message, is_odd in (
        (spelled, False), (plain, False), (shown, True), (Message("user"), True),
        (Message("user", (image,)), False), (Message("user", shown.content), False),
    ):  # fmt: skip
        tree = asked(spelled, message)
        assert making._is_odd(tree, tree) is is_odd
    assert making._is_odd(asked(spelled), asked(spelled, spelled))
    assert making._is_odd(History((spelled,)), asked())
    assert making._is_odd(asked(spelled), asked(Message("assistant", spelled.content)))
    moved, lowered = (Loss("moved", what, "/messages/1", "") for what in ("tool_result", "top_k"))
    assert making._is_odd(asked(spelled), asked(spelled), [lowered, moved])
    assert not making._is_odd(asked(spelled), asked(spelled), [lowered])
    reply = Response(None, None, ())
    assert not making._is_odd(reply, asked(spelled))
    assert not making._is_odd(asked(spelled), reply)


def test_a_capsule_is_tried() -> None:
    source, target = dialects.get("anthropic-messages"), dialects.get("openai-chat")
    own = HI | {"own": 1}
    original = claude(own, HO, HI)
    there = dragoman.convert(original, source="anthropic", target="openai-chat", carry=True)
    heard = target.read(there.document, "request")
    written = source.write(heard, Ledger())

    def opens(**changed: Any) -> bool:
        capsule: Any = copy.deepcopy(there.capsule)
        capsule["turns"][0] |= changed
        return making._opens(
            capsule, written, original, source, target, heard, there.document, DEFAULT
        )

    assert opens()
    assert not opens(put=raw(HI | {"own": 2}))
    assert not opens(put=raw(HI, HI))
    assert not opens(**{"is": ["x"]})
    assert not opens(put={"raw": 5})


# -- each in its place -----------------------------------------------------------------------------


def listed(ats: list[str], doc: Any, alike: Iterable[str] = ()) -> Any:
    nodes = tuple(
        Message("system" if at.startswith("/system") else "user", (Text("x"),), at=at) for at in ats
    )
    return echoing._listed(doc, Request("m", nodes), nodes, set(alike))


def test_turns_that_stand_in_one_list() -> None:
    doc = {"messages": [1, 2, 3, 4], "system": "S"}
    found = listed(["/messages/0", "/messages/1", "/messages/3/x"], doc)
    assert (found.count, found.starts, found.slots) == (3, [0, 1, 3], {"messages"})
    assert [found.span(n) for n in range(3)] == [
        (0, 1, "messages", 0, 1), (1, 2, "messages", 1, 3), (2, 3, "messages", 3, 4),
    ]  # fmt: skip
    assert [found.unit_of(n) for n in range(3)] == [0, 1, 2]
    assert not found.is_one_by_one()
    same = listed(["/messages/1", "/messages/1/x", "/messages/2"], doc)
    assert (same.count, same.starts) == (2, [0, 2])
    assert [same.span(n)[:2] for n in range(2)] == [(0, 2), (2, 3)]
    assert [same.unit_of(n) for n in range(3)] == [0, 0, 1]
    every = listed([f"/messages/{n}" for n in range(4)], doc)
    assert every.is_one_by_one()
    assert every.dirty({"messages": [1, 9, 3, 4]}, set()) == [1]
    assert every.dirty({"messages": [1, 9, 3, 4]}, {"messages"}) == []
    assert every.dirty({}, set()) is None
    assert found.dirty({"messages": [1, 9, 8, 4]}, set()) == [1]
    assert found.dirty({"messages": [0, 2, 3, 0]}, set()) == [0, 2]


def test_a_prompt_before_the_list_came_back_as_it_was() -> None:
    doc = {"messages": [1, 2], "system": "S"}
    ats = ["/system", "/messages/0", "/messages/1"]
    found = listed(ats, doc, {"system"})
    assert (found.count, found.lead, found.slots) == (3, 1, {"messages", "system"})
    assert [found.span(n) for n in range(3)] == [
        (0, 1, "messages", 0, 0), (1, 2, "messages", 0, 1), (2, 3, "messages", 1, 2),
    ]  # fmt: skip
    assert [found.unit_of(n) for n in range(3)] == [0, 1, 2]
    assert found.dirty({"messages": [1, 9]}, set()) == [2]
    assert listed(ats, doc) is None  # it did not
    assert listed(["/other/0", *ats[1:]], doc | {"other": [1]}, {"other"}) is None
    blank = (Message("system", (Text(""),), at="/system"), Message("user", at="/messages/0"))
    assert echoing._listed(doc, Request("m", blank), blank, {"system"}) is None  # it is a setting
    odd = listed(["/system", "/messages/1"], doc, {"system"})
    assert odd.dirty({"messages": [9, 2]}, set()) == [1]


@pytest.mark.parametrize(
    ("ats", "doc"),
    [
        ([], {"messages": [1], "x": [1]}),
        ([""], {"messages": [1]}),
        (["/messages/0"], {"messages": []}),
        (["/messages"], {"messages": "x"}),
        (["/messages/1", "/messages/0"], {"messages": [1, 2]}),
        (["/messages/0", "/messages/x"], {"messages": [1, 2]}),
        (["/a-b/0"], {"a-b": [1]}),
    ],
)
def test_what_does_not_stand_in_one_list(ats: list[str], doc: Any) -> None:
    assert listed(ats, doc) is None


def test_the_numbers_of_items() -> None:
    for _ in range(2):  # the second time they are known
        assert echoing._numbers("zz", ["/zz/0", "/zz/12/x", "/zz/12"]) == [0, 12, 12]
    assert echoing._numbers("zz", ["/zz/0", "/yy/1"]) is None
    assert echoing._numbers("zz", ["/zz/1x"]) is None
    assert echoing._numbers("zz", ["/zz/1\n/zz/2"]) is None
    assert echoing._numbers("zz", ["/x/zz/1"]) is None


def test_few_places_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(echoing, "MANY", 3)
    known = echoing._known("ww")
    assert echoing._numbers("ww", ["/ww/0", "/ww/1"]) == [0, 1]
    assert len(known) == 2
    assert echoing._numbers("ww", ["/ww/2", "/ww/3"]) == [2, 3]
    assert len(known) == 2
    assert echoing._numbers("ww", ["/ww/4"]) == [4]
    assert len(known) == 3


def item(kind: Any = None, **more: Any) -> Any:
    return ({} if kind is None else {"type": kind}) | more


CHANGED: list[tuple[Any, Any, list[int] | None]] = [
    # the original, what came back, the items that are not the same
    ([1, 2], [1, 2], []),
    ([1, 2], [1, 2.0], None),
    ([{"a": 1}], [{"a": 1.0}], [0]),
    ([{"a": 1, "b": 2}], [{"b": 2, "a": 1}], [0]),
    ([item("x"), item("y", a=1)], [item("x"), item("y", a=2)], [1]),
    ([item("x")], [item("y")], None),
    ([item()], [item("message")], [0]),
    ([{"role": "a"}], [{"role": "b"}], None),
    ([item("x")], "x", None),
    ([item("x")], None, None),
    # what did not come back is of a kind of which nothing did
    ([item("x"), item("r"), item("x", a=1)], [item("x"), item("x", a=2)], [1, 2]),
    ([item("r"), item("x")], [item("x")], [0]),
    ([item("x"), item("x")], [item("x")], None),
    ([item(), item("r")], [item()], [1]),
    ([item(), item("r")], [item("message")], [0, 1]),
    ([item("x")], [1], None),
    ([1], [item("x")], None),
    ([item("r"), item("x")], [item("y")], None),
    ([item("r"), item("x", role="a")], [item("x", role="b")], None),
    ([1, item("x")], [item("x")], None),
    ([item("x"), item([])], [item("x")], None),
]


def test_items_that_came_back_otherwise() -> None:
    for mine, theirs, found in CHANGED:
        assert echoing._changed(theirs, mine) == found, (mine, theirs)


def test_turns_that_stand_in_several_places() -> None:
    doc = {"system": "S", "a": [1, 2], "b": [3]}
    nodes = (Message("system", (Text("S"),), at="/system"), Message("user", at="/a/0"),
             Message("user", at="/b/0"), Message("user", at="/a/1"))  # fmt: skip
    turns = echoing._Viewed(View(doc, Request("m", nodes), False), nodes, nodes)
    assert turns.count == 4
    assert [turns.unit_of(n) for n in range(4)] == [0, 1, 2, 3]
    assert [turns.span(n) for n in range(4)] == [
        (0, 1, "system", -1, 0), (1, 2, "a", 0, 1), (2, 3, "b", 0, 1), (3, 4, "a", 1, 2),
    ]  # fmt: skip
    back = {"system": "T", "a": [1, 5], "b": [3]}
    assert turns.dirty(back, set()) == [0, 3]
    assert turns.dirty(back, {"system"}) == [3]
    assert turns.dirty(back | {"system": ["T"]}, set()) == [0, 3]
    assert turns.dirty({"a": [1, 2], "b": [3]}, set()) is None
    assert turns.dirty({"system": "S", "a": "x", "b": [3]}, set()) is None
    assert turns.dirty({"system": "S", "a": [1], "b": [3]}, set()) is None
    assert turns.neighbours(0) == ["^", digest(gist_of(nodes[1:2]))[0]]
    assert turns.neighbours(3) == [digest(gist_of(nodes[2:3]))[0], "$"]


def test_whether_an_image_stands_in_another_item() -> None:
    def result(at: str) -> Message:
        image = Media("image", Source("url", "u"), at=at)
        return Message("tool", (ToolResult("1", (Text("x", at="/m/0/c"), image)),), at="/m/0")

    assert echoing._is_hoisted([Message("user", (Text("x"),)), result("/m/1/c")])
    assert not echoing._is_hoisted([result("/m/0/c/1")])
    assert not echoing._is_hoisted([Message("tool"), Message("tool", (ToolResult("1", ()),))])
    assert not echoing._is_hoisted([Message("tool", (Text("x"),))])
    other = Message("user", result("/m/1/c").content, at="/m/0")
    assert not echoing._is_hoisted([other])


def test_whether_each_turn_came_back() -> None:
    tree = Request("m", (Message("user"), Message("assistant")))
    assert echoing._came_back({"a": "x"}, {"b": 1}, tree, tree)
    assert not echoing._came_back({"a": "x"}, {"b": "x"}, tree, tree)
    assert not echoing._came_back([], {}, tree, tree)
    assert not echoing._came_back({}, [], tree, tree)
    assert not echoing._came_back({}, {}, tree, Request("m", (Message("user"),)))
    assert not echoing._came_back({}, {}, tree, Request("m", (Message("user"), Message("user"))))
    assert echoing._came_back({}, {}, tree, History(tree.messages))
    assert not echoing._came_back({}, {}, tree, Response(None, None, ()))
    assert not echoing._came_back({}, {}, Response(None, None, ()), tree)


def test_whether_a_prompt_says_anything() -> None:
    assert echoing._says(Message("system", (Text(""), Text("x"))))
    assert echoing._says(Message("system", (ToolCall("1", "f", ""),)))
    assert not echoing._says(Message("system", (Text(""),)))
    assert not echoing._says(Message("system"))


def test_losses_that_no_restored_turn_makes_up_for() -> None:
    doc = {"messages": [1, 2, 3]}
    block = Text("x", at="/elsewhere/0")
    nodes = tuple(
        Message("user", (block,) if n == 1 else (), at=f"/messages/{n}") for n in range(3)
    )
    spelled = tuple(Message(m.role, m.content, at=f"/said/{n}") for n, m in enumerate(nodes))
    turns = echoing._listed(doc, Request("m", nodes), spelled, set())
    assert turns is not None
    losses = [Loss("dropped", "x", at, "") for at in ("/said/0/x", "/said/1", "/said/2/y")]
    assert echoing._left(losses, turns, {1}) == [losses[0], losses[2]]
    assert echoing._left(losses, turns, set()) == losses
    other = [*losses, Loss("dropped", "x", "/elsewhere/0/y", ""), Loss("dropped", "x", "", "")]
    assert echoing._left(other, turns, {1}) == [losses[0], losses[2], other[4]]


def test_settings_of_turns_in_their_place() -> None:
    def settled(original: Any, back: Any, slots: set[str]) -> Any:
        capsule: dict[str, Any] = {}
        echoing._settle(capsule, original, back, slots, making._alike(original, back))
        return capsule

    turns = {"messages": [1]}
    assert settled({"a": 1} | turns, {"a": 1} | turns, {"messages"}) == {"patch": None}
    assert settled({"a": 1} | turns, {"a": 2} | turns, {"messages"})["patch"].keys() == {"in"}
    assert settled(turns | {"a": 1}, turns, {"messages"}) == {"patch": {"set": {"a": 1}}}
    assert settled({"a": 1} | turns, turns, {"messages"}) == {
        "patch": {"set": {"a": 1}}, "order": ["a", "messages"],
    }  # fmt: skip
    assert "order" not in settled({"a": 1} | turns, {"x": 1, "a": 1} | turns, {"messages"})
    assert settled({"a": 1, "b": 2}, {"b": 2, "a": 1}, set())["order"] == ["a", "b"]
    lost = settled({"a": 1, "z": [1], "m": [1]}, {"a": 1, "m": [1]}, {"m", "z"})
    assert lost["order"] == ["a", "z", "m"]
    assert settled({"a": 1, "z": [1], "k": 1}, {"a": 1}, {"z"})["order"] == ["a", "z", "k"]
    assert "order" not in settled({"a": 1, "m": [1], "z": [1]}, {"a": 1, "m": [1]}, {"m", "z"})


def test_turns_in_one_list_are_not_looked_at_one_by_one() -> None:
    """That is the way of nearly all requests; else each is looked up."""

    def turns(doc: Any, dialect: str, alike: Iterable[str] = ()) -> Any:
        tree: Any = dialects.get(dialect).read(doc, "request")
        return echoing._turns(doc, tree, tree.messages, set(alike))

    asked = claude(HI, HO, system="S", tools=[{"name": "f", "input_schema": {}}])
    assert isinstance(turns(asked, "anthropic-messages", {"system"}), echoing._Listed)
    viewed = turns(asked, "anthropic-messages")
    assert isinstance(viewed, echoing._Viewed)
    assert viewed.slots == {"system", "messages"}
    inner = dragoman.convert(asked, source="anthropic", target="native").document
    assert turns(inner, "native") is None
    assert turns({"model": "m", "messages": []}, "openai-chat") is None
    nodes = (Message("user", (Text("x"),), at="/a/1"), Message("user", (Text("x"),), at="/a/0"))
    tree = Request("m", nodes)
    assert echoing._turns({"a": [1, 2]}, tree, nodes, set()) is None
    empty = (Message("system", (Text(""),), at="/s"), Message("user", (Text("x"),), at="/a/0"))
    assert echoing._turns({"a": [1], "s": ""}, Request("m", empty), empty, set()) is None


def test_nothing_is_all_of_nothing_only_of_its_kind() -> None:
    assert making._is_all({}, {}, set())
    assert making._is_all([], [], set())
    assert not making._is_all({}, [], set())
    assert not making._is_all([], {}, set())
