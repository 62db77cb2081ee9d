"""Cache marks of a restored turn: they stand where the client has put them last."""

from __future__ import annotations

import copy
from itertools import product
from typing import Any

import pytest

import dragoman
from dragoman import dialects
from dragoman.capsule.marks import has_mark, put_marks, relative
from dragoman.capsule.units import Unit, View
from dragoman.model import Cache, Message, Text

MARK: dict[str, Any] = {"type": "ephemeral"}
POINT: dict[str, Any] = {"cachePoint": {"type": "default"}}


# -- three ways of writing a mark: a key, a key in options, a block of its own --------------------


def as_key(block: dict[str, Any], marked: bool) -> list[Any]:
    return [block | {"cache_control": MARK} if marked else block]


def as_option(block: dict[str, Any], marked: bool) -> list[Any]:
    return [block | {"options": {"a": {"cacheControl": MARK}}} if marked else block]


def as_block(block: dict[str, Any], marked: bool) -> list[Any]:
    return [block, copy.deepcopy(POINT)] if marked else [block]


STYLES = [as_key, as_option, as_block]
styles = pytest.mark.parametrize("style", STYLES)


def marks_in(value: Any, path: tuple[Any, ...] = ()) -> list[list[Any]]:
    """The places of all marks, as ``relative`` gives them for one piece."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    out: list[list[Any]] = []
    for key, item in items:
        if key in ("cache_control", "cacheControl", "cachePoint"):
            out.append([0, *path, key])
        elif isinstance(item, dict | list):
            out += marks_in(item, (*path, str(key)))
    return out


def pieces(items: Any) -> list[Any]:
    return [["messages", False, copy.deepcopy(items)]]


def put(original: Any, was: Any, now: Any) -> tuple[Any, bool]:
    """The original of a turn with the marks of what it is now."""
    before = copy.deepcopy((was, now))
    entry = {"marks": [marks_in(was), marks_in(original)]} if marks_in(was) else {}
    found, shown = pieces(original), pieces(now)
    placed = put_marks(entry, found, shown, marks_in(now))
    assert (was, now) == before
    assert shown == pieces(now)
    return found[0][2], placed


def turn(texts: list[Any], marked: Any, style: Any, role: str = "assistant") -> Any:
    return {
        "role": role,
        "content": [b for text, m in zip(texts, marked, strict=True) for b in style(text, m)],
    }


PLAIN = [{"text": "one"}, {"image": "two"}, {"text": "three"}]
THOUGHT = {"reasoning": "hm"}


@styles
@pytest.mark.parametrize("lead", [[], [THOUGHT], [THOUGHT, THOUGHT]])
def test_marks_stand_where_the_client_has_put_them(style: Any, lead: list[Any]) -> None:
    """Whichever blocks were marked and are now, and whatever the target could not hold."""
    own = [block | {"own": n} for n, block in enumerate(PLAIN)]
    for was, now in product(product([False, True], repeat=3), repeat=2):
        original = turn([*lead, *own], (*[False] * len(lead), *was), style)
        found, placed = put([original], [turn(PLAIN, was, style)], [turn(PLAIN, now, style)])
        assert found == [turn([*lead, *own], (*[False] * len(lead), *now), style)], (was, now)
        assert placed


@styles
def test_marks_that_did_not_move_are_left_as_they_were(style: Any) -> None:
    """The original may spell them otherwise, or have marks that the target could not hold."""
    shown = [turn(PLAIN, (True, False, True), style)]
    original = [turn(PLAIN, (True, True, True), style) | {"own": 1}]
    assert put(original, shown, shown) == (original, True)


@styles
def test_texts_that_were_joined_or_split_keep_their_marks(style: Any) -> None:
    """By how much stands after them: a mark on the same block under another number stays."""
    parts = [{"text": "on"}, {"text": "e"}, {"image": "two"}, {"text": "three"}]
    original = [turn(PLAIN, (True, True, False), style)]
    was = [turn(PLAIN, (True, True, False), style)]
    now = [turn(parts, (False, True, True, False), style)]
    assert put(original, was, now) == (original, True)
    late = [{"text": "one"}, {"image": "two"}, {"text": "th"}, {"text": "ree"}]
    assert put(original, was, [turn(late, (True, True, False, False), style)]) == (original, True)
    moved = [turn(late, (True, False, False, True), style)]
    assert put(original, was, moved) == ([turn(PLAIN, (True, False, True), style)], True)
    moved = [turn(parts, (False, False, True, True), style)]
    assert put(original, was, moved) == ([turn(PLAIN, (False, True, True), style)], True)


def test_a_mark_of_another_turn_of_the_entry() -> None:
    """Turns correspond by their roles: one that the target could not hold stands beside it."""
    image = turn([{"image": "x"}], [True], as_key, "user")
    written = [turn(PLAIN, was, as_key) for was in ((True, False, False), (False, False, True))]
    assert put([written[0], image], [written[0]], [written[1]]) == (
        [written[1], turn([{"image": "x"}], [False], as_key, "user")],
        True,
    )


def test_a_value_of_a_mark_is_that_of_the_client() -> None:
    hour = {"type": "ephemeral", "ttl": "1h"}
    was, now = ({"text": "a", "cache_control": mark} for mark in (MARK, hour))
    other = {"text": "b", "cache_control": hour}
    found, _ = put([was | {"own": 1}, {"text": "b"}], [was, {"text": "b"}], [now, other])
    assert found == [was | {"own": 1}, other]  # what stands where it stood is what it was


def test_what_held_nothing_but_a_mark_goes_with_it() -> None:
    def block(**options: Any) -> Any:
        return {"text": "a", "options": options}

    held: Any = {"cacheControl": MARK}
    plain = [{"text": "a"}]
    assert put([block(a=held)], [block(a=held)], plain) == ([{"text": "a"}], True)
    assert put([block(a=held, b=1)], [block(a=held)], plain) == ([block(b=1)], True)
    assert put([block(a=held | {"c": 1})], [block(a=held)], plain) == ([block(a={"c": 1})], True)
    assert put([POINT, {"text": "a"}], [POINT, {"text": "a"}], plain) == (plain, True)


def test_a_mark_without_a_place_is_noticed() -> None:
    was = [{"role": "user", "content": "a text"}, {"content": [{"text": "b", "cache_control": 1}]}]
    now = [{"role": "user", "content": [{"text": "a text", "cache_control": 1}]}, {"content": []}]
    assert put(was, was, now) == ([was[0], {"content": [{"text": "b"}]}], False)
    point = [{"role": "user", "content": [{"text": "a text"}, POINT]}, {"content": []}]
    assert put(was, was, point)[1] is False
    entry = {"marks": [[[0, "0", "cache_control"]], [[0, "0", "cache_control"]]]}
    assert put_marks(entry, [], pieces([{"cache_control": 1, "x": 1}]), []) is True
    elsewhere = [[1, "0", "cache_control"]]
    shown = [["a", False, []], ["b", False, [{"text": "x", "cache_control": 1}]]]
    assert put_marks({}, pieces([{}]), shown, elsewhere) is False


def test_a_mark_whose_place_is_of_another_kind_is_noticed() -> None:
    block = [{"content": [POINT]}]
    for original, now in (
        ([{"content": {"x": 1}}], block),
        ([{"content": [1]}], [{"content": {"text": "a", "cache_control": 1}}]),
        ([{"content": "text"}], block),
    ):
        assert put(original, [{"cache_control": 1}], now)[1] is False


def test_marks_of_a_value_that_is_no_list() -> None:
    """A prompt may be an object that is marked itself, or a list that is all there is."""
    mark = [[0, "cacheControl"]]
    marked = [["system", True, {"text": "S", "cacheControl": 1}]]
    plain = [["system", True, {"text": "S"}]]
    found = copy.deepcopy(plain)
    assert put_marks({}, found, marked, mark)
    assert found == marked
    assert put_marks({"marks": [mark, mark]}, found, plain, [])
    assert found == plain
    bare: list[Any] = [["system", True, {"cacheControl": 1}]]
    assert put_marks({"marks": [mark, mark]}, bare, plain, [])
    assert bare == [["system", True, {}]]
    assert put_marks({}, bare, [["system", True, {"cacheControl": 1}]], mark)
    assert bare == [["system", True, {"cacheControl": 1}]]
    listed: list[Any] = [["system", True, [{"text": "S", "own": 1}]]]
    assert put_marks(
        {}, listed, [["system", True, [{"text": "S"}, POINT]]], [[0, "1", "cachePoint"]]
    )
    assert listed == [["system", True, [{"text": "S", "own": 1}, POINT]]]


def test_a_block_of_its_own_may_be_all_there_is() -> None:
    assert put([{"content": [THOUGHT]}], [], [{"content": [POINT]}]) == (
        [{"content": [THOUGHT, POINT]}], True,
    )  # fmt: skip
    assert put([{"content": [POINT]}], [{"content": [POINT]}], [{"content": []}]) == (
        [{"content": []}], True,
    )  # fmt: skip


def test_a_block_is_put_by_its_number_where_texts_are_of_other_lengths() -> None:
    now = [{"content": [{"text": "a"}, POINT, {"text": "b"}]}]
    long = [{"text": "another"}, {"text": "texts"}]
    assert put([{"content": long}], [], now)[0] == [{"content": [long[0], POINT, long[1]]}]
    assert put([{"content": long[:1]}], [], now)[0] == [{"content": [POINT, long[0]]}]
    assert put([{"content": []}], [], now)[0] == [{"content": [POINT]}]


def test_a_block_is_put_as_far_from_the_end_as_it_stands() -> None:
    now = [{"content": [POINT, {"text": "a"}, POINT, {"text": "b"}]}]
    original = [{"content": [THOUGHT, {"text": "a"}, {"text": "b"}]}]
    found, placed = put_marks_at_first(original, now)
    assert found == [{"content": [THOUGHT, POINT, {"text": "a"}, POINT, {"text": "b"}]}]
    assert placed
    short, _ = put_marks_at_first([{"content": []}], now)
    assert short[0]["content"][0] == POINT


def put_marks_at_first(original: Any, now: Any) -> tuple[Any, bool]:
    found = pieces(original)
    return found[0][2], put_marks({}, found, pieces(now), marks_in(now))


def test_whether_a_mark_stands_in_what_is_shown() -> None:
    shown = [["messages", False, [turn(PLAIN, (True, False, False), as_key)]]]
    path = [0, "0", "content", "0", "cache_control"]
    assert has_mark(shown, path)
    assert not has_mark(shown, [*path[:3], "1", "cache_control"])
    assert not has_mark(shown, [*path[:3], "3", "cache_control"])
    assert not has_mark(shown, [1, *path[1:]])
    assert not has_mark(shown, [0, "0", "content"][:2])


# -- where they stand in units --------------------------------------------------------------------


def told(*texts: tuple[str, bool], role: str = "user") -> Any:
    blocks = [
        {"type": "text", "text": t, **({"cache_control": MARK} if m else {})} for t, m in texts
    ]
    return {"role": role, "content": blocks}


CLAUDE: Any = {
    "model": "m",
    "max_tokens": 9,
    "system": [{"type": "text", "text": "S", "cache_control": MARK}],
    "messages": [
        told(("a", True)),
        told(("b", False), role="assistant"),
        told(("c", False), ("d", True)),
    ],
}


def units(document: Any, dialect: str, facet: str = "request") -> Any:
    return View(document, dialects.get(dialect).read(document, facet)).turns


def test_marks_are_counted_from_where_a_piece_begins() -> None:
    found = units(CLAUDE, "anthropic-messages")
    end = ["cache_control"]
    first, last = ["0", "content", "0", *end], ["content", "1", *end]
    assert relative(found) == [[0, "0", *end], [1, *first], [1, "2", *last]]
    assert relative(found[1:]) == [[0, *first], [0, "2", *last]]
    assert relative(found[2:]) == [[0, "1", *last]]
    assert relative(found[3:]) == [[0, "0", *last]]
    assert relative(found[:1]) == [[0, "0", *end]]
    assert relative(found[2:3]) == []
    assert relative([*found[1:2], *found[:1], *found[3:]]) == [
        [0, *first], [1, "0", *end], [2, "0", *last],
    ]  # fmt: skip


def test_marks_of_a_prompt_that_is_no_list() -> None:
    def prompt(at: str) -> Unit:
        return Unit("system", -1, [Message("system", (Text("S", cache=Cache(at=at)),))])

    assert relative([prompt("/system/options/x")]) == [[0, "options", "x"]]
    assert relative([prompt("/system/3/x")]) == [[0, "3", "x"]]
    assert relative([prompt("/system")]) == [[0]]


def test_marks_are_counted_wherever_the_conversation_stands() -> None:
    turns = CLAUDE["messages"]
    end = ["cache_control"]
    bare = units(turns, "anthropic-messages", "messages")
    assert relative(bare[1:]) == [[0, "1", "content", "1", *end]]
    tree = dragoman.convert(CLAUDE, source="anthropic", target="native").document
    inner = units(tree, "native")
    assert relative(inner[2:]) == [[0, "1", "content", "1", "cache"]]
    prompts = dragoman.convert(CLAUDE, source="anthropic", target="vercel-model").document
    options = ["providerOptions", "anthropic", "cacheControl"]
    assert relative(units(prompts, "vercel-model")[:2]) == [
        [0, "0", *options], [1, "0", "content", "0", *options],
    ]  # fmt: skip


# -- there and back -------------------------------------------------------------------------------


def test_a_mark_that_has_no_place_is_reported() -> None:
    """The restored turn is a text, which cannot be marked."""
    doc: Any = {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "Hi", "own": 1}],
    }
    there = dragoman.convert(doc, source="anthropic", target="openrouter", carry=True)
    marked = [{"type": "text", "text": "Hi", "cache_control": MARK}]
    there.document["messages"][0]["content"] = marked
    same = dragoman.convert(
        there.document, source="openrouter", target="anthropic", capsule=there.capsule
    )
    assert same.document["messages"] == doc["messages"]
    assert [loss.path for loss in same.losses if loss.what == "cache"] == ["/messages/0"]
