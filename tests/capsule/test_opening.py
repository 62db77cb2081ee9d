"""Opening a capsule: where entries belong, what is put there, and what is reported."""

from __future__ import annotations

import copy
import json
from collections import Counter
from itertools import combinations, product
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

import dragoman
from dragoman import Restored, dialects
from dragoman.capsule import entries as placing
from dragoman.capsule import opening
from dragoman.capsule.entries import Entry
from dragoman.capsule.places import neighbours
from dragoman.capsule.proof import Proof
from dragoman.capsule.units import Unit, View, digest, gist_of
from dragoman.ledger import Ledger, Loss
from dragoman.model import History, Message, Text, ToolCall, ToolResult
from dragoman.tools.results import NO_RESULT

# -- where entries belong -------------------------------------------------------------------------


def row(letters: str) -> list[Unit]:
    """A unit for each letter; a capital is a reply."""
    return [unit(n, letter) for n, letter in enumerate(letters)]


def unit(n: int, letter: str) -> Unit:
    role: Any = "assistant" if letter.isupper() else "user"
    at = f"/messages/{n}"
    blocks = (Text(letter, at=f"{at}/content/0"),)
    return Unit("messages", n, [Message(role, blocks, at=at)], end=n + 1)


def key(letter: str) -> str:
    return unit(0, letter).key


def entry(at: int, letters: str, **more: Any) -> Entry:
    data = {"at": at, "is": [key(letter) for letter in letters], "put": {"raw": []}, **more}
    return Entry(data)


def by(before: str, after: str) -> list[str]:
    return [x if x in "^$" else key(x) for x in (before, after)]


def test_an_entry_fits_where_its_units_stand() -> None:
    units = row("abcb")
    for letters, fitting in (
        ("a", [0]),
        ("b", [1, 3]),
        ("bc", [1]),
        ("cb", [2]),
        ("ac", []),
        ("x", []),
    ):
        found = [at for at in range(-1, 6) if entry(0, letters).fits(units, at)]
        assert found == fitting, letters
    assert entry(0, "abcb").fits(units, 0)
    assert not entry(0, "").fits(units, 0)
    assert entry(0, "").fits([], 0)
    assert not entry(0, "a").fits([], 0)


def test_the_first_unit_that_is_not_what_it_was() -> None:
    units = row("abc")
    assert entry(0, "axc").changed(units, 0) == 1
    assert entry(0, "abc").changed(units, 0) == 0
    assert entry(0, "xbc").changed(units, 0) == 0
    assert entry(0, "abx").changed(units, 0) == 2
    assert entry(0, "xx").changed(units, -1) == 0
    assert entry(0, "cx").changed(units, 2) == 2
    assert entry(0, "x").changed(units, 3) == 3


def grown(texts: list[str], size: int, start: int = 0) -> bool:
    blocks = tuple(Text(text, at=f"/messages/0/content/{n}") for n, text in enumerate(texts))
    node = Message("user", blocks, at="/messages/0")
    before = Message("user", blocks[: size - 1], at="/messages/0")
    data = {"at": 0, "is": [digest(gist_of([before]))[0]], "put": {"raw": []}, "size": size}
    return Entry(data).has_grown(Unit("messages", start, [node]))


def test_a_last_item_may_have_grown() -> None:
    assert grown(["a", "b"], 2)
    assert not grown(["a"], 2)
    assert not grown(["a", "b"], 1)
    assert not grown(["a", "b"], 2, start=-1)  # all that stands there is no item
    assert not entry(0, "x", size=2).has_grown(row("a")[0])
    assert not entry(0, "a").has_grown(row("a")[0])
    other = entry(0, "b", size=2)
    node = Message("user", (Text("a"), Text("b")), at="/messages/0")
    assert not other.has_grown(Unit("messages", 0, [node]))


def test_what_an_entry_stands_beside() -> None:
    units = row("abcb")
    assert entry(1, "b").is_near(units, 3)
    near = [at for at in (1, 3) if entry(1, "b", by=by("a", "c")).is_near(units, at)]
    assert near == [1]
    assert entry(1, "b", by=by("a", "x")).is_near(units, 1)
    assert entry(1, "b", by=by("x", "c")).is_near(units, 1)
    assert not entry(1, "b", by=by("x", "x")).is_near(units, 1)
    assert entry(0, "a", by=by("^", "x")).is_near(units, 0)
    assert entry(3, "b", by=by("x", "$")).is_near(units, 3)
    strict = {"strict": 1}
    assert entry(1, "b", by=by("a", "c"), **strict).is_near(units, 1)
    assert not entry(1, "b", by=by("a", "x"), **strict).is_near(units, 1)
    assert not entry(1, "b", by=by("x", "c"), **strict).is_near(units, 1)


def test_what_stood_at_the_end_may_be_followed_by_something_new() -> None:
    """After a system prompt in the middle that is a reply."""
    for following, wanted in (("B", True), ("b", False)):
        units = row(f"ab{following}")
        for strict, found in ((1, True), (2, wanted)):
            last = entry(1, "b", by=by("a", "$"), strict=strict)
            assert last.is_near(units, 1) is found
            assert last.is_near(units[:2], 1)
            assert not entry(1, "b", by=by("x", "$"), strict=strict).is_near(units, 1)


def called(name: str | None) -> Unit:
    return Unit("messages", 0, [Message("assistant", (ToolCall(name, "f", "{}"),))])


def test_ids_tell_where_an_entry_stands() -> None:
    units = [called("1"), called("2"), called("3")]
    told = Entry({"at": 0, "is": [units[0].key], "put": {"raw": []}, "ids": ["2"]})
    assert [told.is_near(units, at) for at in range(3)] == [True, True, False]
    assert told.is_told()
    assert entry(0, "a", by=by("^", "$")).is_told()
    assert not entry(0, "a").is_told()


def test_an_entry_that_is_put_where_no_list_is() -> None:
    for put, is_prompt in (
        ({"raw": [["system", True, "x"]]}, True),
        ({"raw": [["messages", False, []]]}, False),
        ([["messages", False, []], ["system", True, "x"]], True),
        ([], False),
    ):
        assert entry(0, "a", put=put).is_prompt() is is_prompt


def places_of(units: list[Unit]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, each in enumerate(units):
        found.setdefault(each.key, []).append(number)
    return found


def candidates(found: Entry, letters: str, tail: int = 0) -> list[int]:
    units = row(letters)
    return [at for at, _ in found.candidates(units, places_of(units), tail)]


def test_where_an_entry_may_stand() -> None:
    assert candidates(entry(0, "b"), "ab") == [1]
    assert candidates(entry(1, "b"), "abab") == [1]  # one of several is where it stood
    assert candidates(entry(1, "b"), "abab", 2) == [1, 3]  # or moved as far as the end has
    assert candidates(entry(0, "b"), "abab") == []
    assert candidates(entry(0, "b", by=by("a", "$")), "abab") == [1, 3]
    assert candidates(entry(0, "bc"), "abab") == []
    assert candidates(entry(0, ""), "ab") == []
    prompt = {"put": {"raw": [["system", True, "x"]]}}
    assert candidates(entry(1, "b", **prompt), "ab") == [1]
    assert candidates(entry(0, "b", **prompt), "ab") == []  # it would stand further down


def test_a_grown_item_is_looked_for_where_nothing_else_fits() -> None:
    first = Message("user", (Text("a", at="/messages/0/c/0"),), at="/messages/0")
    more = Message("user", (*first.content, Text("b", at="/messages/0/c/1")), at="/messages/0")
    data = {"at": 0, "is": [digest(gist_of([first]))[0]], "put": {"raw": []}, "size": 2}
    units = [*row("x"), Unit("messages", 1, [more])]
    assert [at for at, _ in Entry(data).candidates(units, places_of(units), 0)] == [1]
    del data["size"]
    assert Entry(data).candidates(units, places_of(units), 0) == []


def test_what_speaks_for_a_place() -> None:
    units = row("abcb")
    plain = entry(1, "b").weight(units, 1, set())
    beside = [entry(1, "b", by=by(*pair)) for pair in ("xx", "ax", "xc", "ac")]
    assert [each.weight(units, 1, set()) - plain for each in beside] == [0, 2, 2, 4]
    calls = [called("1"), called("2")]
    ids = Entry({"at": 0, "is": [calls[0].key], "put": {"raw": []}, "ids": ["2"]})
    assert ids.weight(calls, 1, set()) - ids.weight(calls, 0, set()) == 2
    assert ids.weight(calls, 1, {"2"}) - ids.weight(calls, 1, {"1"}) == 1
    reply = Unit("messages", 1, [Message("tool", (ToolResult("1", (Text("x"),)),))])
    pair = [called("1"), reply]
    sides = [neighbours(pair, 0, 1), neighbours(pair, 1, 1)]
    call = Entry({"at": 0, "is": [pair[0].key], "put": {"raw": []}, "by": ["x", sides[0][1]]})
    result = Entry({"at": 1, "is": [reply.key], "put": {"raw": []}, "by": [sides[1][0], "x"]})
    assert call.weight(pair, 0, set()) == result.weight(pair, 1, set()) == plain + 4
    assert result.weight(pair, 1, {"1"}) == plain + 5
    assert plain == placing.TURN


def test_whether_an_entry_is_where_it_was() -> None:
    units = row("abc")
    assert entry(1, "b").stays(units)
    assert not entry(1, "c").stays(units)
    assert entry(1, "b", by=by("x", "x")).stays(units)
    assert not entry(1, "b", by=by("x", "c"), strict=1).stays(units)
    assert entry(1, "b", by=by("a", "c"), strict=1).stays(units)


@pytest.mark.parametrize(
    "data", [{"at": 0, "is": "x"}, {"at": "0", "is": []}, {"at": True, "is": []}]
)
def test_an_entry_has_a_number_and_digests(data: Any) -> None:
    with pytest.raises(TypeError):
        Entry(data)


def heaviest(counts: list[int], found: list[list[tuple[int, int]]]) -> int:
    """By trying all."""
    best = 0
    options = [[None, *each] for each in found]
    for choice in product(*options):
        taken = [
            (at, count, w)
            for (at, w), count in ((c, n) for c, n in zip(choice, counts, strict=True) if c)
        ]
        if all(a + n <= b for (a, n, _), (b, _, _) in combinations(taken, 2)):
            best = max(best, sum(w for _, _, w in taken))
    return best


def test_the_heaviest_choice_in_order_is_found() -> None:
    for number in range(250):
        dice = Random(number)
        size = dice.randrange(1, 9)
        counts = [dice.randrange(1, 3) for _ in range(dice.randrange(1, 5))]
        found = [
            sorted(
                {
                    at: dice.randrange(1, 6)
                    for at in dice.sample(range(size), dice.randrange(min(3, size) + 1))
                    if at + n <= size
                }.items()
            )
            for n in counts
        ]
        entries: Any = [SimpleNamespace(count=n) for n in counts]
        chosen = placing.heaviest(entries, found, size)
        end = 0
        for place in sorted(chosen):
            assert chosen[place] >= end
            end = chosen[place] + counts[place]
        weights = [dict(each) for each in found]
        assert sum(weights[n][at] for n, at in chosen.items()) == heaviest(counts, found)


def test_of_many_places_those_nearest_are_looked_at() -> None:
    few = list(range(0, 50, 2))
    assert len(few) == placing.FEW
    assert placing.around(few, (999,)) == few
    many = list(range(0, 400, 2))
    assert placing.around(many, (100,)) == list(range(50, 150, 2))
    assert placing.around(many, (100, 300)) == [*range(50, 150, 2), *range(250, 350, 2)]
    assert placing.around(many, (0,)) == list(range(0, 50, 2))
    assert placing.around(many, (999,)) == list(range(350, 400, 2))


def test_an_item_that_goes_on() -> None:
    a, b = {"role": "user", "content": [1], "x": 1}, {"role": "user", "content": [2], "y": 2}
    one = {"role": "user", "content": [1, 2], "x": 1, "y": 2}
    assert opening._joined([0, a], [b, 3]) == [0, one, 3]
    assert a["content"] == [1]
    assert opening._joined([a], [b | {"role": "x"}]) == [a, b | {"role": "x"}]
    assert opening._joined([a], []) == [a]
    assert opening._joined([], [b]) == [b]
    assert opening._joined([a], ["x"]) == [a, "x"]
    assert opening._joined(["x"], ["y"]) == ["x", "y"]
    for text in ([a, b | {"content": "text"}], [a | {"content": "text"}, b]):
        assert opening._joined(text[:1], text[1:]) == text  # nothing of either is lost


def test_turns_that_were_made_up() -> None:
    made = ToolResult("1", (Text(f"[{NO_RESULT}]"),))
    real = ToolResult("1", (Text("x"),))
    for blocks, is_made_up in (
        ((made,), True), ((made, made), True), ((made, real), False), ((real,), False),
        ((Text(NO_RESULT),), False), ((), False),
        ((ToolResult("1", (Text("x"), Text(NO_RESULT))),), True),
    ):  # fmt: skip
        assert opening.is_made_up([Message("tool", blocks)]) is is_made_up


# -- losses ---------------------------------------------------------------------------------------


def loss(path: str, kind: Any = "dropped", what: str = "x") -> Loss:
    return Loss(kind, what, path, "")


def test_losses_are_made_up_for_as_often_as_it_is_claimed() -> None:
    losses = [loss("/a"), loss("/a"), loss("/a", "moved"), loss("/a", what="y"), loss("/b/c")]

    def left(repaired: list[Any], owner: dict[str, Any]) -> list[Loss]:
        return opening._unrepaired(losses, Counter(repaired), owner)

    claimed = ("dropped", "x", "/a")
    assert left([claimed], {}) == losses[1:]
    assert left([claimed, claimed], {}) == losses[2:]
    assert left([], {}) == losses
    assert left([claimed], {"/a": ("turns", 0)}) == losses
    assert left([("dropped", "x", "/b/c")], {"/b": 1}) == losses
    assert left([("dropped", "x", "/b/c")], {"/c": 1}) == losses[:-1]


CHAT: Any = {
    "model": "m",
    "frequency_penalty": 0.5,
    "messages": [
        {"role": "user", "content": "Hi", "name": "ada"},
        {"role": "user", "content": "Ho"},
    ],
}


def proof() -> Proof:
    chat, claude = dialects.get("openai-chat"), dialects.get("anthropic-messages")
    return Proof(chat, CHAT, chat.read(CHAT, "request"), claude, "request", Ledger())


def test_a_loss_is_made_up_for_where_the_client_gets_the_same() -> None:
    found = proof()
    other = copy.deepcopy(CHAT)
    del other["messages"][0]["name"]
    assert found.holds("/messages/1/content", other)
    assert not found.holds("/messages/0/name", other)
    assert found.holds("/messages/0/name", CHAT)
    assert found.holds("", other)  # of no place: the settings tell
    assert found.holds("/nowhere", other)
    del other["frequency_penalty"]
    assert not found.holds("", other)
    assert not found.holds("/nowhere", other)
    assert not found.holds("/frequency_penalty", other)
    assert found.settings([]) is None


def test_what_is_claimed_is_tried() -> None:
    found = proof()
    claude = {"model": "m", "max_tokens": 9, "messages": CHAT["messages"][1:]}
    losses = [loss("/frequency_penalty"), loss("/messages/0/role"), loss("/messages/1/content")]
    assert found.left(claude, losses, losses) is losses
    assert found.left(claude, losses, losses[2:]) == [losses[0], losses[2]]
    assert found.left({"messages": 5}, losses, []) is losses  # which cannot be read


# -- there and back -------------------------------------------------------------------------------


def same(
    doc: Any, target: str, edit: Any, source: str = "anthropic-messages", **options: Any
) -> Any:
    there = dragoman.convert(doc, source=source, target=target, carry=True, now=0)
    document = json.loads(json.dumps(there.document))
    capsule = json.loads(json.dumps(there.capsule))
    document = edit(document) or document
    return dragoman.convert(document, source=target, target=source, capsule=capsule, **options)


def thinking(number: int, text: str) -> Any:
    return {"role": "assistant", "content": [
        {"type": "thinking", "thinking": f"hm {number}", "signature": f"s{number}"},
        {"type": "text", "text": text}]}  # fmt: skip


def talk(*turns: Any, **settings: Any) -> Any:
    return {"model": "m", "max_tokens": 9, "messages": [*turns], **settings}


def user(text: str, **more: Any) -> Any:
    return {"role": "user", "content": [{"type": "text", "text": text, **more}]}


TALK = talk(
    user("one", x=1), thinking(1, "two"), user("three", x=3), thinking(2, "four"), user("five", x=5)
)


def losses_of(result: Any) -> list[tuple[str, str]]:
    return [(x.what, x.path) for x in result.losses]


def turn(*numbers: int) -> list[Restored]:
    return [Restored("turn", f"/messages/{n}") for n in numbers]


def test_all_that_is_restored_is_named() -> None:
    result = same(TALK, "openai-chat", lambda document: None)
    assert result.document == TALK
    assert list(result.restored) == turn(0, 1, 2, 3, 4)
    assert not result.losses


def test_a_changed_turn_is_reported_at_its_place() -> None:
    for number in range(5):

        def edit(document: Any, number: int = number) -> None:
            document["messages"][number]["content"] = "changed"

        result = same(TALK, "openai-chat", edit)
        assert losses_of(result) == [("capsule", f"/messages/{number}")]
        assert list(result.restored) == turn(*(n for n in range(5) if n != number))
        found = [m for n, m in enumerate(result.document["messages"]) if n != number]
        assert found == [m for n, m in enumerate(TALK["messages"]) if n != number]


def test_turns_that_moved_are_found() -> None:
    """Removed or added at the front, in the middle, at the end."""
    for first, last in combinations(range(6), 2):

        def removed(document: Any, first: int = first, last: int = last) -> None:
            del document["messages"][first:last]

        result = same(TALK, "openai-chat", removed)
        left = TALK["messages"][:first] + TALK["messages"][last:]
        found = result.document["messages"]
        if not left:
            assert found == [{"role": "user", "content": "."}]  # which is made up
        elif left[-1]["role"] == "assistant":  # the model goes on with it
            assert found[:-1] == left[:-1]
            assert found[-1]["content"] == left[-1]["content"][1]["text"]
        else:
            assert found == left
    for place in range(6):

        def added(document: Any, place: int = place) -> None:
            written = [("user", "new"), ("assistant", "newer")]
            new = [{"role": role, "content": text} for role, text in written]
            document["messages"][place:place] = new

        result = same(TALK, "openai-chat", added)
        for message in TALK["messages"]:
            if place < 5 or message != TALK["messages"][4]:
                assert all(block in str(result.document) for block in map(str, message["content"]))
        assert "newer" in str(result.document)
        assert {x.what for x in result.losses} <= {"prefill"}


def test_the_last_turn_is_what_the_model_goes_on_with() -> None:
    """Which takes no reasoning, if other turns had followed it."""
    result = same(
        TALK, "openai-chat", lambda document: document["messages"].__delitem__(slice(2, 5))
    )
    assert result.document["messages"] == [
        TALK["messages"][0],
        {"role": "assistant", "content": "two"},
    ]
    assert ("capsule", "/messages/1") in losses_of(result)
    ends = talk(user("one", x=1), thinking(1, "two"))
    assert same(ends, "openai-chat", lambda document: None).document == ends
    listed = dragoman.convert(
        TALK["messages"], source="anthropic", target="openai-chat", facet="messages", carry=True
    )
    short = dragoman.convert(
        listed.document[:2], source="openai-chat", target="anthropic", facet="messages",
        capsule=listed.capsule,
    )  # fmt: skip
    assert short.document == TALK["messages"][:2]  # no request: nothing goes on


def bedrock(*last: Any, **more: Any) -> Any:
    return {
        "modelId": "m",
        "messages": [
            {"role": "user", "content": [{"text": "one"}]},
            {"role": "assistant", "content": [
                {"text": "two"}, {"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}]},
            {"role": "user", "content": [*last], **more},
        ],
    }  # fmt: skip


RESULT = {"toolResult": {"toolUseId": "t1", "content": [{"text": "x"}], "own": 1}}
GROWN: list[tuple[Any, list[Any]]] = [
    (bedrock(RESULT), [{"text": "new"}]),
    (bedrock(RESULT, {"text": "three", "own": 2}), [{"text": "new"}]),
    (bedrock(RESULT, {"text": "three"}, own=3), [{"text": "new"}]),
    (bedrock(RESULT, {"cachePoint": {"type": "default"}}), [{"text": "new"}]),
]


@pytest.mark.parametrize(("doc", "added"), GROWN)
@pytest.mark.parametrize("target", ["openai-chat", "anthropic-messages", "mistral", "cohere"])
def test_a_last_item_that_has_grown_keeps_what_it_was(doc: Any, added: Any, target: str) -> None:
    """Some APIs want one item where two turns of a role follow each other."""

    def grow(document: Any) -> None:
        document["messages"].append({"role": "user", "content": "new"})

    result = same(doc, target, grow, "bedrock-converse")
    *before, last = doc["messages"]
    assert result.document["messages"] == [*before, last | {"content": [*last["content"], *added]}]
    assert {x.what for x in result.losses} <= {"message.boundary"}  # what was added is merged
    assert Restored("turn", "/messages/2") in result.restored

    def changed(document: Any) -> None:
        grow(document)
        written = json.dumps(document["messages"]).replace('"x"', '"changed"')
        document["messages"] = json.loads(written)

    other = same(doc, target, changed, "bedrock-converse")
    assert "own" not in json.dumps(other.document)
    assert any(x.what == "capsule" for x in other.losses)


def test_settings_come_back_with_the_order_of_keys() -> None:
    doc: Any = {
        "x_first": 1,
        "messages": TALK["messages"],
        "top_k": 3,
        "max_tokens": 9,
        "model": "m",
    }
    result = same(doc, "openai-chat", lambda document: None)
    assert json.dumps(result.document) == json.dumps(doc)
    names = [str(place) for place in result.restored if place.what == "field"]
    assert names == ["restored field at /x_first", "restored field at /top_k"]

    def changed(document: Any) -> None:
        document["temperature"] = 0.5
        document["x_new"] = 1

    other = same(doc, "openai-chat", changed)
    assert [k for k in other.document if k in doc] == list(doc)
    assert other.document["temperature"] == 0.5


def test_ids_follow_those_of_a_restored_turn() -> None:
    def call(name: str, **more: Any) -> Any:
        block = {"type": "tool_use", "id": name, "name": "f", "input": {"n": name[1:]}}
        return {"role": "assistant", "content": [block | more]}

    def reply(name: str, **more: Any) -> Any:
        block = {"type": "tool_result", "tool_use_id": name, "content": f"of {name}"}
        return {"role": "user", "content": [block | more]}

    doc = talk(
        user("go"), call("t1", own=1), reply("t1"), call("t2"), reply("t2", own=2), user("on")
    )

    def renamed(document: Any) -> Any:
        written = json.dumps(document)
        return json.loads(written.replace('"t1"', '"n1"').replace('"t2"', '"n2"'))

    result = same(doc, "openai-chat", renamed)
    assert result.document == doc
    assert Restored("id", "/messages/2") in result.restored
    assert Restored("id", "/messages/3") in result.restored
    assert not result.losses


def test_a_prompt_stays_a_prompt() -> None:
    system = [{"type": "text", "text": "Be kind.", "x": 1}]
    doc = talk(*TALK["messages"], system=system)
    assert same(doc, "openai-chat", lambda document: None).document == doc
    gone = same(doc, "openai-chat", lambda document: document["messages"].__delitem__(0))
    assert "system" not in gone.document
    assert gone.document["messages"] == TALK["messages"]
    assert ("capsule", "") in losses_of(gone) or ("capsule", "/messages/0") in losses_of(gone)

    def moved(document: Any) -> None:
        document["messages"].append(document["messages"].pop(0))

    assert "Be kind." in str(same(doc, "openai-chat", moved).document)


def test_tools_come_back_one_by_one() -> None:
    tools = [{"name": n, "input_schema": {"type": "object"}, "own": n} for n in "abc"]
    doc = talk(*TALK["messages"], tools=tools)
    result = same(doc, "gemini", lambda document: None)
    assert result.document["tools"] == tools

    def changed(document: Any) -> None:
        del document["tools"][0]
        document["tools"][0]["function"]["description"] = "other"

    result = same(doc, "openai-chat", changed)
    found = result.document["tools"]
    assert [tool["name"] for tool in found] == ["b", "c"]
    assert found[1] == tools[2]
    assert Restored("tool", "/tools/1") in result.restored
    assert sum(x.what == "capsule" for x in result.losses) == 2


def test_a_long_text_that_stands_twice_moves_with_the_end() -> None:
    """It tells itself, and no neighbour is needed: it is where it stood, or moved as far."""
    long = "a long text " * 30
    plain = {"role": "user", "content": long}
    first, reply = ({"role": role, "content": role} for role in ("user", "assistant"))
    doc = talk(first, plain | {"own": 1}, reply, plain)
    result = same(doc, "openai-chat", lambda document: document["messages"].__delitem__(0))
    assert result.document["messages"] == doc["messages"][1:]
    assert not result.losses


# -- capsules of another shape ---------------------------------------------------------------------


def opened(doc: Any, capsule: dict[str, Any], facet: str = "request") -> Any:
    whole = {"capsule": 2, "dialect": "anthropic-messages", "facet": facet, "patch": None}
    return dragoman.convert(
        doc, source="openai-chat", target="anthropic", facet=facet, capsule=whole | capsule
    )


def test_only_the_last_turn_can_grow() -> None:
    grows = {"at": 0, "is": ["x"], "size": 2, "put": {"raw": []}}
    one = opened(CHAT, {"count": [2, None], "turns": [grows]})
    assert ("capsule", "/messages/0") in losses_of(one)
    with pytest.raises(dragoman.CapsuleError, match="only the last turn can grow"):
        opened(CHAT, {"count": [2, None], "turns": [grows, grows]})


def test_turns_of_what_has_none() -> None:
    reply: Any = {
        "id": "c", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop",
                     "message": {"role": "assistant", "content": "Hi"}}],
    }  # fmt: skip
    result = opened(reply, {"count": [0, None]}, "response")
    assert result.document["content"] == [{"type": "text", "text": "Hi"}]
    assert ("capsule", "") in losses_of(result)


def test_a_list_stays_one_unless_something_stands_beside_it() -> None:
    turns = [{"role": "user", "content": "Hi"}]
    there = dragoman.convert(
        turns, source="anthropic", target="openai-chat", facet="messages", carry=True
    )

    def back(document: Any) -> Any:
        return dragoman.convert(
            document, source="openai-chat", target="anthropic", facet="messages",
            capsule=there.capsule,
        ).document  # fmt: skip

    assert back(there.document) == turns
    system = {"role": "system", "content": "Be kind."}
    assert back([system, *there.document]) == {"system": "Be kind.", "messages": turns}


# -- what was written into the last item -----------------------------------------------------------


def parted(doc: Any, dialect: str, size: int, unit: int = -1) -> tuple[Any, Any]:
    tree = dialects.get(dialect).read(doc, "request")
    view = View(doc, tree)
    found = opening._Opening({"count": [len(view.turns), None]}, view, tree, Ledger(), proof())
    shown, rest = found.parted([view.turns[unit]], size)
    ((slot, whole, items),) = shown
    assert slot == dialects.get(dialect).history
    assert not whole
    return items, rest


def gemini(*parts: Any, role: str = "model", **more: Any) -> Any:
    written = [
        {"role": "user", "parts": [{"text": "Hi"}]},
        {"role": role, "parts": [*parts], **more},
    ]
    return {"model": "m", "contents": written}


HM = {"text": "hm", "thought": True}
OLD, NEW = {"text": "old"}, {"text": "new"}


def test_an_item_is_parted_where_something_was_added() -> None:
    for before, after in (([OLD], [NEW]), ([HM, OLD], [NEW, NEW]), ([OLD], [HM, HM, NEW])):
        doc = gemini(*before, *after)
        kept, rest = parted(doc, "gemini", 2)
        assert kept == [{"role": "model", "parts": before}]
        assert rest == [{"role": "model", "parts": after}]
    kept, rest = parted(gemini(OLD, NEW, own=1), "gemini", 2)
    assert kept == [{"role": "model", "parts": [OLD], "own": 1}]
    assert rest == [{"role": "model", "parts": [NEW], "own": 1}]
    kept, rest = parted(gemini(OLD, NEW, tags=["x"]), "gemini", 2)
    assert kept == [{"role": "model", "parts": [OLD], "tags": ["x"]}]
    assert rest == [{"role": "model", "parts": [NEW]}]


def test_items_that_were_added_are_parted() -> None:
    call = {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}
    reasoning = {"type": "reasoning", "id": "rs", "summary": []}
    doc = {"model": "m", "input": [{"role": "user", "content": "Hi"}, reasoning, call, reasoning,
                                   reasoning, call | {"call_id": "2"}]}  # fmt: skip
    kept, rest = parted(doc, "openai-responses", 2)
    assert kept == doc["input"][1:3]
    assert rest == doc["input"][3:]
    texts = [{"type": "output_text", "text": text} for text in ("old", "new")]
    message = {"type": "message", "role": "assistant", "content": texts}
    before, after = (message | {"content": [text]} for text in texts)
    asked, other = {"role": "user", "content": "Hi"}, call | {"call_id": "2"}
    kept, rest = parted({"model": "m", "input": [asked, call, message]}, "openai-responses", 3)
    assert (kept, rest) == ([call, before], [after])
    kept, rest = parted(
        {"model": "m", "input": [asked, message, call, other]}, "openai-responses", 2
    )
    assert (kept, rest) == ([before], [after, call, other])


def test_what_was_added_goes_after_what_is_put() -> None:
    for pieces, wanted in (
        ([], [["b", False, [2]]]),
        ([["a", False, [1]]], [["a", False, [1]], ["b", False, [2]]]),
        ([["b", True, "x"]], [["b", True, "x"], ["b", False, [2]]]),
        ([["a", False, [1]], ["b", False, [1]]], [["a", False, [1]], ["b", False, [1, 2]]]),
    ):
        found = entry(0, "a")
        found.pieces = pieces
        opening._Opening.add(SimpleNamespace(), found, "b", [2])  # type: ignore[arg-type]
        assert found.pieces == wanted


# -- several entries ------------------------------------------------------------------------------


def an_opening(letters: str, *entries: Entry, total: int = -1, **more: Any) -> opening._Opening:
    """A capsule for a conversation of one-letter texts, a capital for a reply."""
    turns = [
        {"role": "assistant" if x.isupper() else "user", "content": [{"type": "text", "text": x}]}
        for x in letters
    ]
    doc = {"model": "m", "max_tokens": 9, "messages": turns}
    tree = dialects.get("anthropic-messages").read(doc, "request")
    count = len(letters) if total < 0 else total
    capsule = {"count": [count, None], "turns": [each.data for each in entries], **more}
    return opening._Opening(capsule, View(doc, tree), tree, Ledger(), proof())


def put(*pieces: Any) -> dict[str, Any]:
    return {"put": {"raw": [*pieces]}}


def placed(found: opening._Opening) -> list[int | None]:
    return [each.at for each in found.entries["turns"]]


def hints(found: opening._Opening) -> list[int]:
    return [each.hint for each in found.entries["turns"]]


def place(letters: str, *entries: Entry, total: int = -1) -> opening._Opening:
    found = an_opening(letters, *entries, total=total)
    found.place("turns", found.capsule["count"][0])
    return found


def test_entries_are_placed() -> None:
    assert placed(place("abc", entry(0, "a"), entry(2, "c"))) == [0, 2]
    assert placed(place("xabc", entry(0, "a"), entry(2, "c"), total=3)) == [1, 3]
    assert placed(place("bc", entry(0, "a"), entry(2, "c"), total=3)) == [None, 1]
    assert placed(place("", entry(0, ""), total=0)) == [0]
    assert placed(place("ab", entry(0, ""), total=0)) == [0]  # all of it is new
    assert placed(place("ab", entry(0, ""), total=2)) == [None]
    assert placed(place("ba", entry(0, "a"), entry(1, "b"))) in ([None, 0], [1, None])


def test_turns_that_are_told_by_those_before_them() -> None:
    """Moved as far, if that place is free."""
    assert placed(place("xaxb", entry(0, "a"), entry(1, "x"), entry(2, "b"), total=3)) == [1, 2, 3]
    assert placed(place("axxb", entry(0, "a"), entry(1, "x"), entry(2, "b"), total=3)) == [0, 1, 3]
    more = place("xaxbqq", entry(0, "a"), entry(1, "x"), entry(2, "b"), total=3)
    assert placed(more) == [1, 2, 3]  # and not as far as the end
    assert placed(place("xxb", entry(0, "a"), entry(1, "x"), entry(2, "b"))) == [None, 1, 2]
    twice = placed(place("xb", entry(0, "x"), entry(0, "x"), entry(1, "q")))
    assert sorted(map(str, twice)) == ["0", "None", "None"]  # each turn is put once
    near = entry(1, "x", by=by("q", "q"))
    assert placed(place("xaxb", entry(0, "a"), near, entry(2, "b"), total=3)) == [1, None, 3]


def test_what_is_not_found_is_reported_where_it_would_stand() -> None:
    for letters, entries, wanted in (
        ("axc", [entry(1, "b")], [1]),
        ("a", [entry(1, "b")], [0]),
        ("axc", [entry(0, "a"), entry(1, "b"), entry(2, "c")], [0, 1, 0]),
        ("qaxc", [entry(0, "a"), entry(1, "b")], [0, 2]),
        ("abx", [entry(0, "abc")], [2]),
        ("x", [entry(0, "a"), entry(1, "b")], [0, 0]),
        ("bx", [entry(0, "b"), entry(0, "a")], [0, 1]),
    ):
        assert hints(place(letters, *entries, total=3)) == wanted, letters


def test_what_exchanged_something_is_restored_together() -> None:
    tied = [entry(0, "a", **{"with": 0}), entry(1, "b", **{"with": 0}), entry(2, "c")]
    found = place("abc", *tied)
    found.drop_sets()
    assert placed(found) == [0, 1, 2]
    found = place("axc", *tied)
    assert placed(found) == [0, None, 2]
    found.drop_sets()
    assert placed(found) == [None, None, 2]
    assert hints(found) == [0, 1, 0]


def test_a_slot_is_one_value_or_a_list() -> None:
    whole, items = put(["messages", True, "x"]), put(["messages", False, [1]])
    for letters, entries, wanted in (
        ("ab", [entry(0, "a", **whole)], [None]),
        ("a", [entry(0, "a", **whole)], [0]),
        ("ab", [entry(0, "a", **items)], [0]),
        ("ab", [entry(0, "a", **whole), entry(1, "b", **items)], [None, None]),
        ("ab", [entry(0, "a", **whole), entry(1, "b", **put(["system", True, "x"]))], [0, 1]),
        ("ab", [entry(0, "a", **whole), entry(1, "b")], [0, 1]),
        (
            "abc",
            [entry(0, "a", **whole, **{"with": 0}), entry(1, "b", **{"with": 0})],
            [None, None],
        ),
    ):
        found = place(letters, *entries)
        found.grow()
        found.drop_conflicts()
        assert placed(found) == wanted, (letters, wanted)
        assert all(
            at is not None or hint == n
            for n, (at, hint) in enumerate(zip(wanted, hints(found), strict=True))
        )


def test_what_was_made_up_stays_if_nothing_else_is_left() -> None:
    gone = entry(0, "a", **put())
    kept = entry(0, "a", **put(["messages", False, [1]]))
    for letters, each, total, wanted in (
        ("a", gone, 2, [None]), ("a", gone, 1, [0]), ("ab", gone, 3, [0]), ("a", kept, 2, [0]),
        ("a", entry(0, "a", **put(["messages", False, []])), 2, [None]),
        ("a", entry(0, "a", **put(["system", True, "x"])), 2, [None]),
    ):  # fmt: skip
        found = place(letters, each, total=total)
        found.grow()
        found.keep_one()
        assert placed(found) == wanted, (letters, total)
    both = place("a", gone, entry(1, "b"), total=1)
    both.grow()
    both.keep_one()
    assert placed(both) == [None, None]  # another is lost
    an_opening("", total=1).keep_one()


def test_a_reply_that_others_followed_is_not_restored_at_the_end() -> None:
    for letters, each, total, wanted in (
        ("aB", entry(1, "B"), 3, [None]), ("aB", entry(1, "B"), 2, [1]),
        ("ab", entry(1, "b"), 3, [1]), ("Bc", entry(0, "B"), 3, [0]),
        ("aB", entry(0, "aB"), 3, [None]),
    ):  # fmt: skip
        found = place(letters, each, total=total)
        found.drop_last()
        assert placed(found) == wanted
    found = place("aB", entry(1, "B"), total=3)
    found.heard = History(())
    found.drop_last()
    assert placed(found) == [1]


def test_what_had_no_turns_comes_before_those_that_are_new() -> None:
    written = {"role": "user", "content": "X"}
    for letters in ("", "ab"):
        found = an_opening(letters, entry(0, "", **put(["messages", False, [written]])), total=0)
        document = found.run(dialects.get("anthropic-messages"), "request")
        first, *rest = document["messages"]
        assert first == written
        assert [each["content"][0]["text"] for each in rest] == list(letters)
        assert found.log.restored == [Restored("turn", "/messages/0")]


def test_a_type_that_each_message_has_comes_back() -> None:
    written = {"type": "message", "role": "user", "content": "Hi"}
    doc = {
        "model": "m",
        "input": [written, {"role": "assistant", "content": "Ho", "type": "message"}],
    }
    for document in (doc, {"model": "m", "input": [*doc["input"]][::-1]}):
        there = dragoman.convert(document, source="responses", target="openai-chat", carry=True)
        same = dragoman.convert(
            there.document, source="openai-chat", target="responses", capsule=there.capsule
        )
        assert all("type" in each for each in same.document["input"])
        named = [str(place) for place in same.restored if place.path.endswith("type")]
        assert len(named) == 2 - len(there.capsule.get("turns", ()))  # type: ignore[union-attr]


def test_what_is_restored_in_a_list_of_turns_is_named_by_its_number() -> None:
    turns = [{"role": "user", "content": "Hi", "own": 1}, {"role": "assistant", "content": "Ho"}]
    one, other = "openai-chat", "anthropic-messages"
    there = dragoman.convert(turns, source=one, target=other, facet="messages", carry=True)
    same = dragoman.convert(
        there.document, source=other, target=one, facet="messages", capsule=there.capsule
    )
    assert same.document == turns
    assert same.restored == (Restored("turn", "/0"),)
