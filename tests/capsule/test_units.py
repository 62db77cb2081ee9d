"""Units: what of a document stands or falls together, what each says, and which correspond."""

from __future__ import annotations

import copy
import itertools
import json
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

import dragoman
from dragoman import dialects
from dragoman.capsule import modelled, names, places, references, types, units
from dragoman.capsule.units import Unit, View, align, common_gist, digest, gist_of, joined
from dragoman.ledger import Loss
from dragoman.model import (
    Block,
    Cache,
    Hosted,
    Media,
    Message,
    Passage,
    Raw,
    Reasoning,
    Refusal,
    Request,
    Source,
    Text,
    Tool,
    Toolbox,
    ToolCall,
    ToolResult,
)

MARK = Cache(at="/mark")
LONG = "long " * 100


def written(*blocks: Block, role: Any = "assistant", **more: Any) -> Message:
    return Message(role, blocks, **more)


# -- what a unit says -------------------------------------------------------------------------

SAYS: list[tuple[Any, Any]] = [
    (Text("Hi"), "Hi"),
    (Text(""), None),
    (Text("[x]"), "[x]"),
    (Text("[content of tool result call_1]"), "[content of tool result ]"),
    (Text("[result of the tool call call_1]"), "[result of the tool call ]"),
    (Text("[error of the tool call a\nb]"), "[error of the tool call ]"),
    (Text("x [error of the tool call a]"), "x [error of the tool call a]"),
    (Text("[error of the tool call a] x"), "[error of the tool call a] x"),
    (ToolCall("1", "f", '{"b": 1, "a": 2}'), ["call", "f", {"b": 1, "a": 2}]),
    (ToolCall("1", "f", ""), ["call", "f", {}]),
    (ToolCall("1", "f", " \n"), ["call", "f", {}]),
    (ToolCall("1", "f", "{broken"), ["call", "f", "{broken"]),
    (ToolCall("1", "f", '{"a": 1}', kind="custom"), ["call", "f", '{"a": 1}']),
    (ToolCall("1", "f", '{"a": 2.0, "b": [1.0, {"c": 3.0}], "d": 2.5}'),
     ["call", "f", {"a": 2, "b": [1, {"c": 3}], "d": 2.5}]),
    (ToolCall("1", "f", '{"a": 9007199254740991.0, "b": 9007199254740992.0}'),
     ["call", "f", {"a": 9007199254740991, "b": 9007199254740992.0}]),
    (ToolCall("1", "f", '{"a": 1e3}'), ["call", "f", {"a": 1000.0}]),
    (ToolResult("1", (Text("a"), Text(""), Reasoning(("hm",)))), ["result", False, ["a"]]),
    (ToolResult("1", (), is_error=True), ["result", True, []]),
    (Media("image", Source("url", "u")), ["media", "image", "url", "u", []]),
    (Media("document", Source("blocks", blocks=(Text("a"),))),
     ["media", "document", "blocks", "", ["a"]]),
    (Refusal("No."), ["refusal", "No."]),
    (Passage("s", "t", (Text("a"),)), ["passage", "s", "t", ["a"]]),
    (Raw("x", {"a": 1}), ["other", {"a": 1}]),
    (Hosted("x", "search", {"a": 1}, "call"), ["other", {"a": 1}]),
    (Reasoning(("hm",)), None),
]  # fmt: skip


def test_what_each_block_says() -> None:
    for block, atom in SAYS:
        wanted = [["assistant", None], "x", *([] if atom is None else [atom])]
        found = gist_of([written(Text("x"), block)])
        assert repr(found) == repr(wanted)
        unit = Unit("messages", 0, [written(Text("x", at="/0"), replace(block, at="/1"), at="/m")])
        assert unit.atoms == wanted
        assert unit.ats == ["/m", "/0", *([] if atom is None else ["/1"])]


def test_who_says_it() -> None:
    assert gist_of([written(role="developer", name="ada")]) == [["system", "ada"]]
    assert gist_of([written(role="user"), written(role="tool")]) == [["user", None], ["tool", None]]


def test_what_says_nothing_is_told_by_its_reasoning() -> None:
    reasoning = Reasoning(("a", "b"), summary=("s",), at="/r")
    told = ["reasoning", ("a", "b"), ("s",)]
    assert gist_of([written(reasoning, Text(""))]) == [["assistant", None], told]
    assert gist_of([written(reasoning, Text("x"))]) == [["assistant", None], "x"]
    unit = Unit("messages", 0, [written(Text("", at="/t"), reasoning, at="/m")])
    assert unit.ats == ["/m", "/r"]


def test_what_a_tool_says() -> None:
    tool = Tool("t", "d", {"type": "object"}, payload={"p": 1}, at="/t")
    assert gist_of([tool]) == [["tool", "function", "t", "d", {"type": "object"}, None]]
    hosted = replace(tool, kind="hosted")
    assert gist_of([hosted]) == [["tool", "hosted", "t", "d", {"type": "object"}, {"p": 1}]]
    assert Unit("tools", 0, [tool]).ats == ["/t"]


JOINED: list[tuple[list[Any], list[Any]]] = [
    ([], []),
    (["a"], ["a"]),
    (["a", "b", "c"], ["abc"]),
    ([["user", None], "a", "b", ["call", "f", {}], "c"],
     [["user", None], "ab", ["call", "f", {}], "c"]),
    ([["result", False, ["a", "b"]]], [["result", False, ["ab"]]]),
    ([["result", True, ["a"]], "b"], [["result", True, ["a"]], "b"]),
    ([["result", True, ["a", ["media"], "b", "c"]]], [["result", True, ["a", ["media"], "bc"]]]),
    (["a", ["x"], "b"], ["a", ["x"], "b"]),
]  # fmt: skip


def test_texts_that_follow_each_other_are_one() -> None:
    for atoms, wanted in JOINED:
        before = copy.deepcopy(atoms)
        assert joined(atoms) == wanted
        assert atoms == before


def test_a_digest_is_of_what_is_said_and_of_its_length() -> None:
    assert digest(["a"])[0] != digest(["b"])[0]
    assert digest([{"a": 1, "b": 2}]) == digest([{"b": 2, "a": 1}])
    key, size = digest(["x" * 300])
    assert size > 300
    assert key.startswith(f"{size:x}-")
    huge = digest([{"b": 2**70, "a": 1}])
    assert huge == digest([{"a": 1, "b": 2**70}])
    assert huge[0] != digest([{"a": 1, "b": 2**71}])[0]


def test_units_that_say_the_same() -> None:
    one = written(ToolCall("1", "f", '{"a": 1, "b": 2}', cache=MARK), Text("a"), Text("b"))
    other = written(ToolCall("2", "f", '{"b":2,"a":1}'), Reasoning(("hm",)), Text("ab"))
    assert units.say_the_same([one], [other])
    assert Unit("x", 0, [one]).says_the_same(Unit("y", 5, [other]))
    assert Unit("x", 0, [one]).key == Unit("y", 5, [other]).key
    assert not units.say_the_same([one], [written(Text("ab"))])
    assert not units.say_the_same([one], [one, one])
    assert units.say_the_same([Tool("t")], [Tool("t", strict=True)])
    assert not units.say_the_same([Tool("t")], [Tool("u")])
    assert units.say_the_same([written(ToolCall("1", "f", f'{{"a": {2**70}}}'))] * 1, [
        written(ToolCall("2", "f", f'{{"a":{2**70}}}'))])  # fmt: skip


def test_a_unit_that_has_twins_says_what_they_say() -> None:
    mine, theirs = written(ToolCall("1", "f", "{}")), written(ToolCall("2", "g", "{}"))
    unit = Unit("messages", 0, [mine], twins=[theirs])
    assert unit.atoms == gist_of([theirs])
    assert unit.ids() == ["2"]
    assert Unit("messages", 0, [mine]).ids() == ["1"]
    assert unit.calls() == (["1"], [])
    assert unit.size == 0
    assert unit.key == digest(gist_of([theirs]))[0]
    assert unit.size == digest(gist_of([theirs]))[1]


def test_ids_of_calls_and_results() -> None:
    nodes = [written(Text("x"), ToolCall("1", "f", "{}"), ToolCall(None, "g", "{}")),
             written(ToolResult("1", (Text("a"), Text("b"))), role="tool"), Tool("t")]  # fmt: skip
    unit = Unit("messages", 0, nodes)
    assert unit.calls() == (["1", None], ["1"])
    assert units.ids_of(nodes) == ["1", None, "1"]
    assert list(unit.identified()) == [
        (["call", "f", {}], "1"), (["call", "g", {}], None), (["result", False, ["ab"]], "1"),
    ]  # fmt: skip


# -- at a glance ------------------------------------------------------------------------------

CALL = ToolCall("1", "f", '{"a": 1}')
RESULT = ToolResult("1", (Text("x"),))
HM = Reasoning(("hm",))


def both(*blocks: Block, **more: Any) -> tuple[Message, Message]:
    return written(*blocks, **more), written(*blocks, **more)


SEEN: list[tuple[Message, Message]] = [
    both(Text("Hi")),
    both(CALL),
    both(RESULT, role="tool"),
    both(Text("Hi"), CALL, Text("x"), role="user", name="ada"),
    both(Text("Hi"), role="developer"),
    (written(Text("Hi")), written(HM, Text("Hi"), HM)),
    (written(HM, Text("Hi"), HM), written(Text("Hi"))),
    (written(CALL), written(replace(CALL, id="2", arguments='{"a":1}'))),
    (written(CALL), written(replace(CALL, arguments='{"a":1.0}'))),
    (
        written(replace(CALL, arguments='{"b":1,"a":2}')),
        written(replace(CALL, arguments='{"a":2,"b":1}')),
    ),
    (written(replace(RESULT, is_error=False)), written(RESULT)),
    (written(replace(RESULT, is_error=True)), written(replace(RESULT, is_error=True))),
    (written(Text("Hi")), written(Text("Hi", cache=MARK))),  # the client's marks count
]
HUGE = [
    replace(CALL, arguments=f'{{"a":{space}{2**power}}}')
    for power, space in ((70, ""), (70, " "), (71, ""))
]
SEEN.append((written(HUGE[0]), written(HUGE[1])))
UNSEEN: list[tuple[Message, Message]] = [
    (written(HUGE[0]), written(HUGE[2])),
    (written(Text("Hi")), written(Text("Ho"))),
    (written(Text("Hi")), written(Text("Hi"), role="user")),
    (written(Text("Hi"), role="user"), written(Text("Hi"), role="user", name="ada")),
    (written(Text("Hi")), written(Text("Hi"), Text("there"))),
    (written(Text("Hi"), Text("there")), written(Text("Hi"))),
    (written(Text("Hi")), written(CALL)),
    (written(Text("Hi")), written()),
    both(),
    both(HM),
    both(Text("")),
    both(Text("[x]")),
    both(Text("Hi", cache=MARK)),
    both(replace(CALL, cache=MARK)),
    both(replace(RESULT, cache=MARK)),
    both(replace(RESULT, content=(Text("x", cache=MARK),))),
    both(replace(RESULT, content=(Text("x"), Text("y")))),
    both(replace(RESULT, content=())),
    both(replace(RESULT, content=(Media("image", Source("url", "u")),))),
    both(Refusal("No.")),
    (written(CALL), written(replace(CALL, name="g"))),
    (written(CALL), written(replace(CALL, kind="custom"))),
    (written(CALL), written(replace(CALL, arguments='{"a": 2}'))),
    (written(RESULT), written(replace(RESULT, is_error=True))),
    (written(RESULT), written(replace(RESULT, content=(Text("y"),)))),
    (written(RESULT), written(replace(RESULT, content=(Text("x"), Text("y"))))),
    (written(RESULT), written(replace(RESULT, content=(Media("image", Source("url", "u")),)))),
]


def test_what_is_seen_at_once_to_be_the_same() -> None:
    """Texts, calls and plain results without marks; the gist is that of all ways."""
    for a, b in SEEN:
        assert common_gist([a], [b]) == gist_of([a]) == gist_of([b]), (a, b)
        assert units.say_the_same([a], [b])
        assert not units.are_marked([a])
    two = SEEN[0][0], SEEN[1][0]
    assert common_gist(two, two) == gist_of(two)


def test_what_is_not_seen_at_once() -> None:
    for a, b in UNSEEN:
        assert common_gist([a], [b]) is None, (a, b)
        assert units.say_the_same([a], [b]) == (gist_of([a]) == gist_of([b]))
        plain = written(Text("x"))
        assert common_gist([plain, a], [plain, b]) is None
        assert common_gist([a, plain], [b, plain]) is None


def test_whether_messages_are_marked() -> None:
    blocks: list[Block] = [
        Text("x", cache=MARK), replace(CALL, cache=MARK), replace(RESULT, cache=MARK),
        Media("image", Source("url", "u"), cache=MARK), Passage("s", "t", (), cache=MARK),
        ToolResult("1", (Text("x"), Text("y", cache=MARK))),
        Passage("s", "t", (Text("x", cache=MARK),)),
    ]  # fmt: skip
    for block in blocks:
        assert units.are_marked([written(Text("x")), written(HM, Text("x"), block)])
        assert Unit("m", 0, [written(Text("x"), block)]).marks() == ["/mark"]
    for plain in (Text("x"), CALL, RESULT, HM, Raw("x", {}), Refusal("x"), Passage("s", "t", ())):
        assert not units.are_marked([written(plain)])
        assert Unit("m", 0, [written(plain)]).marks() == []
    result = replace(RESULT, cache=MARK, content=(Text("x", cache=Cache(at="/inner")),))
    assert Unit("m", 0, [written(result)]).marks() == ["/mark", "/inner"]
    assert Unit("t", 0, [Tool("t", cache=MARK)]).marks() == ["/mark"]


# -- a document as units ----------------------------------------------------------------------


def view(document: Any, dialect: str, facet: str = "request", **options: Any) -> View:
    return View(document, dialects.get(dialect).read(document, facet), **options)


def spans(found: list[Unit]) -> list[tuple[str, int, int, int]]:
    return [(unit.slot, unit.start, unit.end, len(unit.nodes)) for unit in found]


ASKED = {"role": "user", "content": "Hi"}
REPLY = {"role": "assistant", "content": "Hello."}
TOOL = {"name": "f", "input_schema": {"type": "object"}}
CLAUDE: Any = {
    "model": "m", "max_tokens": 9, "system": "Be kind.", "messages": [ASKED, REPLY, ASKED],
    "tools": [TOOL, TOOL | {"name": "g"}],
}  # fmt: skip
RESPONSES: Any = {
    "model": "m",
    "input": [
        {"type": "item_reference", "id": "x"},
        ASKED,
        {"type": "reasoning", "id": "rs", "summary": []},
        {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "x"},
        {"type": "function_call_output", "call_id": "2", "output": "y"},
    ],
}


def test_turns_are_runs_of_items() -> None:
    found = view(CLAUDE, "anthropic-messages")
    assert spans(found.turns) == [
        ("system", -1, 0, 1), ("messages", 0, 1, 1), ("messages", 1, 2, 1), ("messages", 2, 3, 1),
    ]  # fmt: skip
    assert spans(found.tools) == [("tools", 0, 1, 1), ("tools", 1, 2, 1)]
    assert found.base is None
    assert found.inner is CLAUDE
    assert found.slots() == {"system", "messages", "tools"}
    assert found.settings(found.slots()) == {"model": "m", "max_tokens": 9}
    assert [found.value(unit) for unit in found.turns] == ["Be kind.", [ASKED], [REPLY], [ASKED]]
    assert found.pieces(found.turns) == [
        ["system", True, "Be kind."], ["messages", False, CLAUDE["messages"]],
    ]  # fmt: skip
    assert found.pieces([*found.turns[1:2], *found.turns[:1], *found.turns[2:3]]) == [
        ["messages", False, [ASKED]], ["system", True, "Be kind."], ["messages", False, [REPLY]],
    ]  # fmt: skip


def test_what_stands_before_belongs_to_the_first() -> None:
    found = view(RESPONSES, "openai-responses").turns
    assert found[0].start == 0
    assert [unit.end for unit in found] == [*(unit.start for unit in found[1:]), 6]
    assert all(unit.start < unit.end for unit in found)


def test_tools_are_settings_where_they_are_no_list() -> None:
    found = view(CLAUDE, "anthropic-messages", tools_too=False)
    assert (found.tools, found.has_tools) == ([], False)
    assert view(CLAUDE, "anthropic-messages").has_tools
    gemini: Any = {
        "model": "m", "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "tools": {"functionDeclarations": [{"name": "f"}]},
    }  # fmt: skip
    tree = dialects.get("gemini").read(gemini | {"tools": [gemini["tools"]]}, "request")
    assert isinstance(tree, Request)
    odd = View(gemini, tree)
    assert (odd.tools, odd.has_tools) == ([], False)
    assert odd.settings(odd.slots()).keys() == {"model", "tools"}
    listed = [TOOL]
    box = view(listed, "anthropic-messages", "tools")
    assert spans(box.tools) == [("", 0, 1, 1)]
    with pytest.raises(LookupError):
        box.leave_tools()


def test_a_conversation_may_be_a_list_or_inside_an_object() -> None:
    bare = view(CLAUDE["messages"], "anthropic-messages", "messages")
    assert spans(bare.turns) == [("", 0, 1, 1), ("", 1, 2, 1), ("", 2, 3, 1)]
    assert bare.settings(set()) == {}
    tree = dragoman.convert(CLAUDE, source="anthropic", target="native").document
    inner = view(tree, "native")
    assert inner.base == "tree"
    assert inner.inner is tree["tree"]
    assert {unit.slot for unit in inner.turns} == {"messages"}
    kept = inner.settings({"messages"})
    assert kept.keys() == tree.keys()
    assert "messages" not in kept["tree"]
    assert "messages" in tree["tree"]


def node(at: str, role: Any = "user", *blocks: Block) -> Message:
    return Message(role, blocks or (Text("x"),), at=at)


def units_at(document: Any, *nodes: Any) -> list[tuple[str, int, int, int]]:
    tree = Request("m", nodes)
    return spans(View(document, tree).turns)


def test_messages_of_one_item_are_one_unit() -> None:
    document = {"a": [1, 2, 3, 4], "b": [1], "s": "x", "~/": [1]}
    assert units_at(document, node("/a/0"), node("/a/0/x"), node("/a/2/y"), node("/a/3")) == [
        ("a", 0, 2, 2), ("a", 2, 3, 1), ("a", 3, 4, 1),
    ]  # fmt: skip
    assert units_at(document, node("/a/1"), node("/b/0"), node("/a/2")) == [
        ("a", 0, 2, 1), ("b", 0, 1, 1), ("a", 2, 4, 1),
    ]  # fmt: skip
    assert units_at(document, node("/~0~1/0")) == [("~/", 0, 1, 1)]
    assert units_at(document, node("/s", "system"), node("/a/0")) == [
        ("s", -1, 0, 1), ("a", 0, 4, 1),
    ]  # fmt: skip
    assert units_at(document, node("/s", "user")) == [("s", -1, 0, 1)]
    assert units_at(document, node("/a", "system"), node("/b/0")) == [
        ("a", -1, 0, 1), ("b", 0, 1, 1),
    ]  # fmt: skip
    assert units_at(document, node("/s", "system", Text("")), node("/a/0")) == [("a", 0, 4, 1)]
    long = {"a": list(range(12))}
    assert units_at(long, node("/a/9"), node("/a/10"), node("/a/11")) == [
        ("a", 0, 10, 1), ("a", 10, 11, 1), ("a", 11, 12, 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "nodes",
    [
        [node("")],
        [node("/none/0")],
        [node("/a/1"), node("/a/0")],
        [node("/a/0"), node("/b/0"), node("/a/0/x")],
        [node("/a", "user")],
        [node("/o", "user")],
        [node("/a/0"), node("/a", "system")],
        [node("/a", "system"), node("/a/0")],
    ],
)
def test_what_is_not_made_of_items_has_no_units(nodes: list[Any]) -> None:
    document = {"a": [1, 2], "b": [1], "o": {}}
    with pytest.raises(LookupError):
        View(document, Request("m", tuple(nodes)))
    assert places.view_of(document, Request("m", tuple(nodes))) is None


def test_a_list_has_no_prompt_beside_it() -> None:
    with pytest.raises(LookupError):
        View([1], Request("m", (node("/x", "system"),)))


def test_an_item_that_a_result_reaches_is_of_its_unit() -> None:
    """Images of a result may have been read from an item further down."""
    image = Media("image", Source("url", "u"), at="/a/2/content/0")
    result = node("/a/0", "tool", ToolResult("1", (Text("x", at="/a/0/content"), image)))
    document = {"a": [1, 2, 3, 4]}
    following = [node("/a/1", "tool"), node("/a/2"), node("/a/3")]
    assert units_at(document, result, *following) == [("a", 0, 3, 3), ("a", 3, 4, 1)]
    near = node("/a/0", "tool", ToolResult("1", (Text("x", at="/a/0/content"),)))
    assert len(units_at(document, near, *following)) == 4
    elsewhere = replace(image, at="/b/2")
    other = node("/a/0", "tool", ToolResult("1", (elsewhere,)))
    assert len(units_at(document, other, *following)) == 4


BASES: list[tuple[Any, list[str], str | None]] = [
    ({"t": {"m": [1, 2]}}, ["/t/m/0", "/t/m/1"], "t"),
    ({"t": {"m": [1, 2]}}, ["/t/m/0", "/t/x/1"], None),
    ({"t": {"m": [1, 2]}}, ["/t/m/x"], None),
    ({"t": {"m": {}}}, ["/t/m/0"], None),
    ({"t": {"m": [1]}}, ["/t/m"], None),
    ({"t": [[1]]}, ["/t/0/0"], None),
    ({"m": [1]}, ["/m/0"], None),
    ([1], ["/0"], None),
    ({}, [], None),
]


def test_what_holds_the_conversation() -> None:
    for document, ats, base in BASES:
        assert units._base(document, [node(at) for at in ats]) == base


# -- which belong together --------------------------------------------------------------------

ALIGNED: list[tuple[str, str, list[tuple[int, int]]]] = [
    ("", "", []),
    ("abc", "abc", [(0, 0), (1, 1), (2, 2)]),
    ("abc", "axc", [(0, 0), (1, 1), (2, 2)]),
    ("abc", "ac", [(0, 0), (2, 1)]),
    ("abc", "abxc", [(0, 0), (1, 1), (2, 3)]),
    ("abcde", "xbyydz", [(1, 1), (3, 4), (0, 0), (4, 5)]),
    ("axbxc", "cxaxb", [(0, 2), (1, 3), (2, 4)]),
    ("xxaxx", "xaxxx", [(0, 0), (2, 1), (3, 3), (4, 4)]),
    ("ab", "", []),
    ("aab", "ab", [(0, 0), (2, 1)]),
    ("abab", "ab", [(0, 0), (1, 1)]),
]


def test_which_members_correspond() -> None:
    for old, new, pairs in ALIGNED:
        assert align(old, new) == sorted(pairs), (old, new)


def test_members_correspond_in_order_and_the_ends_first() -> None:
    for number in range(400):
        dice = Random(number)
        old = [dice.choice("abcdef") for _ in range(dice.randrange(8))]
        new = [x for x in old if dice.randrange(4)] if number % 2 else dice.sample(old, len(old))
        if number % 3 == 0:
            new.insert(dice.randrange(len(new) + 1), dice.choice("abcx"))
        pairs = align(old, new)
        assert all(a < c and b < d for (a, b), (c, d) in itertools.pairwise(pairs))
        start = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), None)
        start = min(len(old), len(new)) if start is None else start
        assert pairs[:start] == [(n, n) for n in range(start)]
        ends = 0
        while ends < min(len(old), len(new)) - start and old[-1 - ends] == new[-1 - ends]:
            ends += 1
            assert (len(old) - ends, len(new) - ends) in pairs
        inner, other = old[start : len(old) - ends], new[start : len(new) - ends]
        once = [x for x in inner if inner.count(x) == other.count(x) == 1]
        met = sum(
            old[i] == new[j] and start <= i < len(old) - ends and old[i] in once for i, j in pairs
        )
        assert met == longest([other.index(x) for x in once])
        if len(old) == len(new):
            for (a, b), (c, d) in zip(
                [(-1, -1), *pairs], [*pairs, (len(old), len(new))], strict=True
            ):
                assert c - a == 1 or d - b != c - a  # nothing between them in equal number


def longest(numbers: list[int]) -> int:
    best: list[int] = []
    for n, number in enumerate(numbers):
        best.append(1 + max((best[m] for m in range(n) if numbers[m] < number), default=0))
    return max(best, default=0)


# -- where units stand ------------------------------------------------------------------------


def test_whether_a_key_may_hold_a_turn() -> None:
    for value, is_large in (("x", True), ([], True), ({}, True), (1, False), (None, False)):
        assert places.has_news({"a": 1}, {"a": "x", "b": value}) is is_large
    assert not places.has_news({"a": 1, "b": "x"}, {"b": "y"})


def test_units_that_are_like_each_other() -> None:
    one = Unit("a", 0, [written(Text("x"))])
    assert places.is_like(one, Unit("a", 5, [written(Text("y"))]))
    assert not places.is_like(one, Unit("b", 0, [written(Text("x"))]))
    assert not places.is_like(one, Unit("a", 0, [written(Text("x"), role="user")]))
    assert not places.is_like(one, Unit("a", 0, [written(), written()]))
    tool = Unit("a", 0, [Tool("t")])
    assert places.is_like(tool, Unit("a", 0, [Tool("t", "other")]))
    assert not places.is_like(tool, Unit("a", 0, [Tool("u")]))


def test_who_instructs() -> None:
    roles = ["system", "developer", "user", "assistant", "tool"]
    found = [places.instructs(Unit("m", 0, [written(role=role), written()])) for role in roles]
    assert found == [True, True, False, False, False]


def test_what_a_unit_stands_beside() -> None:
    row = [Unit("m", n, [written(Text(str(n)))]) for n in range(3)]
    keys = [unit.key for unit in row]
    assert places.neighbours(row, 0, 1) == ["^", keys[1]]
    assert places.neighbours(row, 1, 1) == [keys[0], keys[2]]
    assert places.neighbours(row, 1, 2) == [keys[0], "$"]
    assert places.neighbours(row, 2, 0) == [keys[1], keys[2]]


def test_nodes_are_aligned_by_role_or_by_what_they_say() -> None:
    def texts(*pairs: str) -> list[Message]:
        return [written(Text(text), role=role) for role, text in (pair.split() for pair in pairs)]

    asked = texts("user a", "assistant b", "user c")
    assert places.aligned(asked, texts("user x", "assistant y", "user z")) == [
        (0, 0), (1, 1), (2, 2),
    ]  # fmt: skip
    assert places.aligned(asked, texts("user c", "assistant x", "user a")) == [
        (0, 0), (1, 1), (2, 2),
    ]  # fmt: skip
    assert places.aligned(asked, asked[1:]) == [(1, 0), (2, 1)]
    assert places.aligned(asked, texts("user a", "user c", "assistant b")) == [(0, 0), (2, 1)]
    results = [written(ToolResult(n, (Text(n),)), role="tool") for n in "12"]
    turned = [asked[0], *results[::-1], asked[1]]
    assert places.aligned([*results, asked[1]], turned) == [(0, 1), (1, 2), (2, 3)]
    assert places.aligned([Tool("a"), Tool("b")], [Tool("b")]) == [(1, 0)]


def test_who_owns_a_place() -> None:
    found = view(CLAUDE, "anthropic-messages")
    block = Text("Hi", at="/turns/1/content/0")
    heard = Request(
        "m",
        (written(role="system", at="/s"), written(block, role="user", at="/turns/1"),
         written(at="/turns/2"),
         written(role="user", at="")),
        (Tool("f", at="/t/0"), Tool("g", at="/t/1")),
    )  # fmt: skip
    owner = places.owners_of(found, heard)
    assert owner == {
        "/s": ("turns", 0), "/turns/1": ("turns", 1), "/turns/1/content/0": ("turns", 1),
        "/turns/2": ("turns", 2), "/t/0": ("tools", 0), "/t/1": ("tools", 1),
    }  # fmt: skip
    assert places.owner_of("/turns/1/content/0/x", owner) == ("turns", 1)
    assert places.owner_of("/turns", owner) is None
    assert places.owner_of("", {"": 1}) is None
    loss = Loss("dropped", "x", "/t/1/x", "")
    assert places.is_restored(loss, owner, {"turns": {1}, "tools": {1}}, 2)
    assert not places.is_restored(loss, owner, {"turns": {1}, "tools": {0}}, 2)
    assert not places.is_restored(replace(loss, path="/x"), owner, {"turns": {1}, "tools": {1}}, 2)
    told = replace(loss, what="prefill")
    assert places.is_restored(told, owner, {"turns": {1}, "tools": {1}}, 2)
    assert not places.is_restored(told, owner, {"turns": {1}, "tools": {1}}, 3)
    box = Toolbox(heard.tools or ())
    assert places.owners_of(found, box) == {"/t/0": ("tools", 0), "/t/1": ("tools", 1)}


def test_the_order_of_keys() -> None:
    found = view(CLAUDE, "anthropic-messages")
    inner = {"max_tokens": 1, "new": 1}
    assert places.keys_of(found, inner, {"messages", "z", "a"}) == [
        "max_tokens", "messages", "new", "a", "z",
    ]  # fmt: skip


# -- ids --------------------------------------------------------------------------------------


def test_ids_in_what_is_put() -> None:
    put = {"id": "1", "call_id": "2", "toolUseId": "3", "x": ["4", {"callId": "5", "idx": "6"}],
           "ids": "7", "valid": {"id": 8}}  # fmt: skip
    assert names.ids_in(put, set()) == {"1", "2", "3", "5"}
    assert names.ids_in([put, {"id": "9"}], {"0"}) == {"0", "1", "2", "3", "5", "9"}


def test_ids_are_replaced() -> None:
    value = {
        "id": "1",
        "toolUseId": "2",
        "text": "1",
        "in": [{"call_id": "1"}],
        "x_id": {"id": "1"},
    }
    assert names.renamed(value, {"1": "a"}) == {
        "id": "a", "toolUseId": "2", "text": "1", "in": [{"call_id": "a"}], "x_id": {"id": "a"},
    }  # fmt: skip
    assert names.renamed(["1", 5], {"1": "a"}) == ["1", 5]


def test_ids_that_stand_for_more_than_one_call() -> None:
    def tree(*ids: Any) -> Request:
        return Request("m", tuple(written(ToolCall(name, "f", "{}")) for name in ids))

    assert names.reused_ids(tree("1", "2", "3")) == set()
    assert names.reused_ids(tree("1", "2", "1", "3", "3")) == {"1", "3"}
    entries: list[Any] = [{"put": [{"id": "1"}, {"id": "2"}]}, {"put": [{"id": "2"}]}]
    names.note_reused(entries, {"1", "3", None})
    assert entries[0]["reused"] == ["1"]
    assert "reused" not in entries[1]


def pair(*named: tuple[Any, str]) -> list[Unit]:
    return [Unit("m", 0, [written(ToolCall(name, "f", f'{{"a": "{a}"}}'))]) for name, a in named]


@pytest.mark.parametrize(
    ("now", "original", "found"),
    [
        ([("1", "a"), ("2", "b")], [("x", "a"), ("y", "b")], {"1": "x", "2": "y"}),
        ([("2", "b"), ("1", "a")], [("x", "a"), ("y", "b")], {"1": "x", "2": "y"}),
        ([("1", "a"), ("2", "a")], [("x", "a"), ("y", "a")], {"1": "x", "2": "y"}),
        ([("1", "a"), ("2", "new")], [("x", "old"), ("y", "a")], {"1": "y", "2": "x"}),
        ([("1", "a"), ("2", "new")], [("x", "a")], None),
        ([("1", "a")], [("x", "a"), ("y", "b")], None),
        ([("1", "a"), ("1", "b")], [("x", "a"), ("x", "b")], {"1": "x"}),
        ([("1", "a"), ("1", "b")], [("x", "a"), ("y", "b")], None),
        ([("1", "n"), ("1", "o")], [("x", "p")], {"1": "x"}),
        ([], [], {}),
    ],
)
def test_ids_now_and_before(now: Any, original: Any, found: Any) -> None:
    assert names.paired(pair(*now), pair(*original)) == found


def test_units_are_found_by_where_they_stand() -> None:
    document = view(CLAUDE, "anthropic-messages")
    found = names.Places(document)
    system, first, second, third = document.turns
    assert found.within([("messages", 0, 2)]) == [first, second]
    assert found.within([("messages", 1, 1)]) == []
    assert found.within([("messages", 2, 3), ("system", 0, 1), ("x", 0, 9)]) == [third, system]
    assert names.all_ids(pair(("1", "a"), (None, "b"))) == {"1"}


# -- references -------------------------------------------------------------------------------


def atoms(*texts: Any) -> list[Any]:
    return [["user", None], *texts]


def test_originals_refer_to_the_texts_of_their_unit() -> None:
    """Each long text once; what is put back is the original, however the client spells it."""
    other = LONG + "!"
    call = ["call", "f", {"b": other, "a": 1}]
    gists = [atoms(LONG, "short", call)]
    arguments = '{"a": 1, "b": "' + other + '"}'
    for pieces in (
        [["messages", False, [{"text": LONG, "x": 1}, {"text": "short"}]]],
        [["messages", False, [{"text": LONG}, {"text": LONG}]]],
        [["messages", False, [{"input": {"b": other, "c": [other]}}]]],
        [["messages", False, [{"arguments": arguments, "text": LONG}]]],
        [["system", True, LONG]],
        [["messages", False, [{"text": LONG + "?"}]]],
    ):
        before = copy.deepcopy(pieces)
        entry = references.shrunk(pieces, gists, {})
        assert pieces == before
        assert references.expanded(entry["put"], gists, {}) == pieces
        assert repr(entry).count(LONG) == max(0, repr(pieces).count(LONG) - texts_in(pieces))


def texts_in(pieces: Any) -> int:
    """How many of the two texts stand in pieces, as they are."""
    return (f"'{LONG}'" in repr(pieces)) + (f"{LONG}!" in repr(pieces))


def test_what_has_our_keys_itself_is_put_as_it_is() -> None:
    for key in ("\0ref", "\0json"):
        pieces = [["messages", False, [{key: 1, "text": LONG}]]]
        entry = references.shrunk(pieces, [atoms(LONG)], {})
        assert entry == {"put": {"raw": pieces}}
        assert references.expanded(entry["put"], [atoms(LONG)], {}) == pieces


def test_lengths_of_texts_that_may_be_joined() -> None:
    result = ["result", False, ["ab", "c"]]
    gists = [atoms("a", "bc", result, "d"), atoms("e")]
    assert references.cuts_of(gists) == [[1, 2], [2, 1], [1], [1]]
    assert references.cuts_of([atoms("a", ["x"], "b"), atoms("c")]) is None
    assert references.cuts_of([atoms("a", "b")]) == [[1, 1]]
    entry = references.shrunk([["m", False, [LONG]]], [atoms(LONG, "b")], {})
    assert entry == {"put": [["m", False, [{"\0ref": 0}]]], "cuts": [[len(LONG), 1]]}
    assert "cuts" not in references.shrunk([["m", False, [LONG]]], [atoms(LONG)], {})
    for now in (
        gists[0],
        atoms("abc", ["result", False, ["abc"]], "d"),
        atoms("ab", "c", result, "d"),
    ):
        assert references.cut(now, iter([[1, 2], [2, 1], [1]])) == gists[0]
    assert references.cut(gists[0], None) == joined(gists[0])


def test_the_only_text() -> None:
    """Of a message without a name, or of a result."""
    for gist, text in (
        (atoms(LONG), LONG),
        ([["tool", None], ["result", False, [LONG]]], LONG),
        ([["tool", None], ["result", False, [LONG, "x"]]], None),
        (atoms(LONG[:255]), None),
        (atoms(LONG[:256]), LONG[:256]),
        (atoms(LONG, "x"), None),
        (atoms(["call", "f", {}]), None),
        ([["user", "ada"], LONG], None),
    ):
        assert references._only_text([gist]) == text
    assert references._only_text([atoms(LONG), atoms(LONG)]) is None
    assert references._only_text([]) is None


def test_schemas_are_referred_to_once() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    tools = [Unit("tools", 0, [Tool("f", schema=schema)]), Unit("tools", 1, [Tool("g")])]
    assert references.schemas_of(tools) == {0: schema}
    assert references.schemas_of([]) == {}
    assert references.schemas_of([Unit("m", 0, [written(Text("x"))])]) == {}
    pieces = [["tools", False, [{"a": copy.deepcopy(schema), "b": schema}]]]
    entry = references.held(pieces, tools[:1])
    assert entry == {"put": [["tools", False, [{"a": {"\0ref": ~0}, "b": schema}]]]}
    assert references.expanded(entry["put"], [], {0: schema}) == pieces


def test_a_short_unit_is_put_as_it_is() -> None:
    def held(length: int) -> Any:
        unit = Unit("m", 0, [written(Text("x" * length))])
        assert unit.key
        return unit.size, references.held([["m", False, ["x" * length]]], [unit])["put"]

    size, _ = held(1000)
    for length, is_raw in ((1999 - size + 1000, True), (2000 - size + 1000, False)):
        size_now, put = held(length)
        assert size_now == (1999 if is_raw else 2000)
        assert isinstance(put, dict) is is_raw


def test_arguments_are_spelled_as_they_were() -> None:
    """As JSON in one of two spellings; what stands in neither is left alone."""
    text = "ä" * 300
    gists = [atoms(["call", "f", {"a": text}])]
    for spelled in ('{"a": "' + text + '"}', '{"a": "' + "\\u00e4" * 300 + '"}'):
        pieces = [["m", False, [{"arguments": spelled}]]]
        entry = references.shrunk(pieces, gists, {})
        assert len(repr(entry)) < 120
        assert references.expanded(entry["put"], gists, {}) == pieces
    said_elsewhere = references.shrunk([["m", False, ['{"a": "' + text + '"}']]], [atoms(text)], {})
    assert text in repr(said_elsewhere)  # no call says it


def test_texts_inside_of_arguments_are_found_where_they_stand_whole() -> None:
    """Each once: not where only the beginning is the same, and not in a second spelling."""
    first, second = "ä" * units.LONG, "b" * units.LONG
    gists = [atoms(["call", "f", {"a": [first], "b": second}])]
    one, other = json.dumps(first, ensure_ascii=False), json.dumps(second)
    for arguments, parts in (
        ("{" + one[:-9] + '", ' + one + "}", ["{" + one[:-9] + '", ', [0, 0], "}"]),
        ("{" + one + json.dumps(first) + "}", ["{", [0, 0], json.dumps(first) + "}"]),
        ("{" + one + other + "}", ["{", [0, 0], "", [1, 0], "}"]),
    ):
        pieces = [["m", False, [arguments, arguments]]]
        entry = references.shrunk(pieces, gists, {})
        assert entry == {"put": [["m", False, [{"\0json": parts}, arguments]]]}
        assert references.expanded(entry["put"], gists, {}) == pieces
    prose = [["m", False, ["not " + one]]]
    assert references.shrunk(prose, gists, {}) == {"put": prose}


def test_a_text_is_long_enough() -> None:
    text, short = "x" * units.LONG, "y" * (units.LONG - 1)
    gists = [atoms(text, short)]
    entry = references.shrunk([["m", False, [text, short]]], gists, {})
    assert entry["put"] == [["m", False, [{"\0ref": 0}, short]]]


@pytest.mark.parametrize(
    "put", [{"raw": 5}, {"raw": {}}, {"raw": [[5, True, "x"]]}, {"raw": [["m", False, "x"]]}]
)
def test_what_is_put_is_a_slot_and_its_items(put: Any) -> None:
    with pytest.raises(TypeError):
        references.expanded(put, [], {})
    whole = [["m", True, "x"], ["n", False, []]]
    assert references.expanded({"raw": whole}, [], {}) == whole


# -- models and types -------------------------------------------------------------------------


def test_a_model_is_named_where_one_must_be() -> None:
    claude, gemini = dialects.get("anthropic-messages"), dialects.get("gemini")
    assert claude.needs_model
    request = Request(None, (written(Text("x")),))
    named = modelled.named({"model": "m"}, request, claude)
    assert isinstance(named, Request)
    assert named.model == "m"
    assert named.params.ats["model"] == ""
    assert named.params.where("model") == ""
    own = replace(request, model="own")
    for capsule, tree in (
        ({"model": "m"}, own), ({"model": ""}, request), ({"model": 5}, request), ({}, request),
        ("model", request), ({"model": "m"}, Toolbox(())),
    ):  # fmt: skip
        assert modelled.named(capsule, tree, claude) is tree
    assert gemini.needs_model or modelled.named({"model": "m"}, request, gemini) is request


TYPED: Any = {"type": "message", "role": "user", "content": "Hi"}
UNTYPED: Any = {"role": "user", "content": "Hi"}
ITEM: Any = {"type": "reasoning", "id": "x", "summary": []}


@pytest.mark.parametrize(
    ("items", "place"),
    [
        ([TYPED], "first"),
        ([UNTYPED | {"type": "message"}], "last"),
        ([ITEM, TYPED], "first"),
        ([ITEM, UNTYPED | {"type": "message"}, TYPED], "last"),
        ([TYPED, UNTYPED], None),
        ([ITEM], None),
        ([], None),
        (["x"], None),
        ("x", None),
    ],
)
def test_where_a_client_writes_the_type(items: Any, place: Any) -> None:
    assert types.place_of({"input": items}, dialects.get("openai-responses")) == place
    assert types.place_of({"messages": items}, dialects.get("openai-chat")) is None
    assert types.place_of(items, dialects.get("openai-responses")) is None


def test_a_type_is_written_into_each_message_that_has_none() -> None:
    responses = dialects.get("openai-responses")
    odd = {"id": "x"}
    document = {"model": "m", "input": [UNTYPED, ITEM, odd, "x", UNTYPED | {"type": None}]}
    for place, written in (("first", TYPED), ("last", UNTYPED | {"type": "message"})):
        found = types.typed(document, responses, place)
        assert repr(found) == repr({**document, "input": [written, *document["input"][1:]]})
    same = {"input": [TYPED, ITEM]}
    assert types.typed(same, responses, "first") is same
    assert types.typed([UNTYPED], responses, "first") == [UNTYPED]
