"""Patches between JSON values: what they say, what they do, and where they no longer fit."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from dragoman import Restored
from dragoman.capsule import patching
from dragoman.capsule.patching import REF, digest
from dragoman.ledger import Ledger

LONG = "long " * 20

# Few values and few keys, so that two documents have much in common.
LEAVES = (None, True, False, 0, 1, 2, 1.0, 0.0, -0.0, "", "a", "b", LONG)
KEYS = ("a", "b", "role", "text", "type", "~/")


def drawn(dice: Random, depth: int = 4) -> Any:
    kind = dice.randrange(3) if depth else 0
    if kind == 0:
        return dice.choice(LEAVES)
    size = dice.randrange(5)
    if kind == 1:
        return [drawn(dice, depth - 1) for _ in range(size)]
    return {key: drawn(dice, depth - 1) for key in dice.sample(KEYS, size)}


def altered(value: Any, dice: Random) -> Any:
    """The value with a change somewhere, or another one."""
    if isinstance(value, list | dict) and value and dice.randrange(4):
        value = value.copy()
        key = dice.choice(list(value)) if isinstance(value, dict) else dice.randrange(len(value))
        how = dice.randrange(5)
        if how == 0:
            del value[key]
        elif how == 1 and isinstance(value, list):
            value.insert(key, drawn(dice, 1))
        elif how == 2 and isinstance(value, dict):
            value[dice.choice(KEYS)] = drawn(dice, 1)
        elif how == 3 and isinstance(value, dict):
            value[key] = value.pop(key)
        else:
            value[key] = altered(value[key], dice)
        return value
    return drawn(dice, 2)


def pairs(count: int) -> Iterator[tuple[Any, Any, Random]]:
    for number in range(count):
        dice = Random(number)
        old = drawn(dice)
        new = altered(old, dice)
        yield old, new if number % 2 else altered(new, dice), dice


def applied(patch: Any, value: Any, root: bool = False) -> tuple[Any, list[str], list[Restored]]:
    """The value with the patch, the places that no longer fit, and what was restored."""
    log = Ledger()
    found = patching.apply(patch, value, "", log, patching.Root(value) if root else None)
    assert all((loss.kind, loss.what) == ("dropped", "capsule") for loss in log.losses)
    return found, [loss.path for loss in log.losses], log.restored


def spelled(value: Any) -> str:
    return json.dumps(value)


# -- any two values ---------------------------------------------------------------------------


def test_a_patch_leads_from_any_value_to_any_other() -> None:
    for old, new, _ in pairs(400):
        before = copy.deepcopy((old, new))
        patch = patching.diff(old, new)
        assert (patch is None) == (spelled(old) == spelled(new))
        found, stale, restored = applied(json.loads(json.dumps(patch)), old)
        assert spelled(found) == spelled(new)
        assert not stale
        assert bool(restored) == (patch is not None and has_news(patch))
        small, refers = patching.make(old, new)
        assert spelled(applied(small, old, root=refers)[0]) == spelled(new)
        assert refers == ("\\u0000ref" in json.dumps(small))
        assert (old, new) == before


def has_news(patch: Any) -> bool:
    """Whether a patch does more than to put keys in order."""
    if isinstance(patch, dict) and patch.keys() <= {"order", "in"}:
        return any(map(has_news, patch.get("in", {}).values()))
    if isinstance(patch, dict) and "items" in patch:
        changes = [op[1] if isinstance(op, list) else op for op in patch["items"]]
        return any("keep" not in op and has_news(op) for op in changes)
    return True


def test_what_does_not_fit_any_more_is_reported() -> None:
    """Whatever became of the value, what is restored is named at a place that it has."""
    for old, new, dice in pairs(400):
        patch, now = patching.diff(old, new), altered(old, dice)
        if patch is None:
            continue
        found, stale, restored = applied(patch, now)
        if spelled(now) == spelled(old):
            assert not stale
        if spelled(found) == spelled(now):
            assert stale or has_same(patch)
        if not restored and not has_order(patch):
            assert spelled(found) == spelled(now)
        assert len(set(restored)) == len(restored)
        for place in restored:
            if not place.removed:
                at(found, place.path)


def has_order(patch: Any) -> bool:
    return '"order"' in json.dumps(patch)


def has_same(patch: Any) -> bool:
    """Whether a value has already what a patch would set, or the order that it would make."""
    return '"set"' in json.dumps(patch) or has_order(patch) or "items" in patch


def at(value: Any, path: str) -> Any:
    for token in path.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        value = value[int(token)] if isinstance(value, list) else value[token]
    return value


def test_the_same_is_what_is_written_the_same() -> None:
    for a, b, _ in pairs(400):
        for one, other in ((a, b), (a, copy.deepcopy(a)), ([a, b], [copy.deepcopy(a), b])):
            wanted = spelled(one) == spelled(other)
            assert patching.same(one, other) is wanted
            assert patching.equal(one, other) is wanted
        assert patching.same(a, a)
        assert patching.equal(a, a)


@pytest.mark.parametrize("value", [2**70, "\ud83d", [2**70], {"a": "\ud83d"}])
def test_what_messagepack_cannot_write_is_compared_all_the_same(value: Any) -> None:
    assert patching.equal([value], [copy.deepcopy(value)])
    assert not patching.equal([value, 1], [copy.deepcopy(value), 1.0])
    assert not patching.equal([value], [1])


# -- what a patch says ------------------------------------------------------------------------


def was(value: Any) -> dict[str, str]:
    return {"was": digest(value)}


PATCHES: list[tuple[Any, Any, Any]] = [
    (1, 1.0, {"=": 1.0, **was(1)}),
    (0.0, -0.0, {"=": -0.0, **was(0.0)}),
    ([], {}, {"=": {}, **was([])}),
    # objects
    ({"a": 1}, {"a": 1, "b": 2}, {"set": {"b": 2}}),
    ({"a": 1, "b": 2}, {"a": 1}, {"del": {"b": digest(2)}}),
    ({"a": {"b": 1}}, {"a": {"b": 2}}, {"in": {"a": {"in": {"b": {"=": 2, **was(1)}}}}}),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"order": ["b", "a"]}),
    ({"a": 1, "c": 2}, {"b": 0, "a": 1, "c": 2}, {"set": {"b": 0}, "order": ["b", "a", "c"]}),
    # lists: the last item may grow, so it is no part of a digest
    ([1, 2], [1, 3], {"items": [
        {"keep": 1, **was([1])}, [digest(2), {"=": 3, **was(2)}]], "length": 2}),
    ([1, 2, 3], [0, 1, 3, 4], {"items": [
        {"put": 0}, {"keep": 1, **was([1])}, {"skip": digest(2)}, {"keep": 1, **was([3])},
        {"put": 4}], "length": 3}),
    ([1, 2, 3], [4, 1, 2, 3], {"items": [{"put": 4}, {"keep": 3, **was([1, 2])}], "length": 3}),
    ([1, 2, 3], [1, 2], {"items": [{"keep": 2, **was([1, 2])}, {"skip": digest(3)}], "length": 3}),
    ([1, 2, 3, 4], [3, 4], {"items": [
        {"skip": digest(1)}, {"skip": digest(2)}, {"keep": 2, **was([3])}], "length": 4}),
    # items of one role are the same item, though parts of them differ
    ([{"role": "a", "x": 1}, {"role": "b"}, 5], [{"role": "a", "x": 2}, 5], {"items": [
        [digest({"role": "a", "x": 1}), {"in": {"x": {"=": 2, **was(1)}}}],
        {"skip": digest({"role": "b"})}, {"keep": 1, **was([])}], "length": 3}),
    # two spellings of one text
    ("x", [{"type": "x", "text": "x", "y": 1}],
     {"wrap": {"type": "x", "text": None, "y": 1}, "key": "text"}),
    ([{"type": "text", "text": "x", "y": 1}], "x", {"unwrap": "text"}),
    ("x", [{"type": "x"}], {"=": [{"type": "x"}], **was("x")}),
    ("x", [{"a": "x"}, {"a": "x"}], {"=": [{"a": "x"}, {"a": "x"}], **was("x")}),
    ("x", ["x"], {"=": ["x"], **was("x")}),
    (1, [{"a": 1}], {"=": [{"a": 1}], **was(1)}),
]  # fmt: skip


def test_what_a_patch_says() -> None:
    for old, new, patch in PATCHES:
        found = patching.diff(old, new)
        assert spelled(found) == spelled(patch)
        assert spelled(applied(found, old)[0]) == spelled(new)


IDENTITY = (
    "role", "type", "name", "id", "call_id", "tool_use_id", "tool_call_id", "text", "thinking",
)  # fmt: skip


@pytest.mark.parametrize("key", IDENTITY)
def test_items_are_known_by_who_they_are(key: str) -> None:
    """An item that came is put, and the one that stayed is patched, not the other way round."""
    old: Any = [{key: "mine", "x": 1}]
    new: Any = [{key: "another", "x": 1}, {key: "mine", "x": 2}]
    patch = patching.diff(old, new)
    assert [next(iter(op)) for op in patch["items"]] == ["put", digest(old[0])]
    assert patching.diff(old, new[:1])["items"][0][0] == digest(old[0])  # as many: one by one
    numbers: Any = [{key: 1}], [{key: 2}, {key: 1}]  # a number says nothing of who it is
    assert list(patching.diff(*numbers)["items"][1]) == ["put"]


def test_the_longest_run_of_items_is_found_but_not_at_any_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old, new = [1, 2, 3, 4, 5], [1, 9, 3, 8, 4, 7]
    assert patching._align(old, new) == [(0, 0), (2, 2), (3, 4)]
    monkeypatch.setattr(patching, "CELLS", 20)  # 4 items that are left by 5
    assert patching._align(old, new) == [(0, 0), (2, 2), (3, 4)]
    monkeypatch.setattr(patching, "CELLS", 19)
    assert patching._align(old, new) == [(0, 0)]
    assert patching._align([1, 2], [3, 4]) == [(0, 0), (1, 1)]
    assert patching._align([1, 2, 3], [1, 2]) == patching._align([1, 2], [1, 2, 3])


def test_aligned_items_are_alike_and_as_many_as_can_be() -> None:
    for number in range(200):
        dice = Random(number)
        old, new = ([dice.randrange(4) for _ in range(dice.randrange(7))] for _ in range(2))
        found = patching._align(old, new)
        assert found == sorted(found)
        assert len({i for i, _ in found}) == len({j for _, j in found}) == len(found)
        if len(old) != len(new):
            assert all(old[i] == new[j] for i, j in found)
            assert len(found) == longest(old, new)


def longest(a: list[int], b: list[int]) -> int:
    if not a or not b:
        return 0
    if a[0] == b[0]:
        return 1 + longest(a[1:], b[1:])
    return max(longest(a[1:], b), longest(a, b[1:]))


# -- what a patch does to what has changed ------------------------------------------------------

STALE: list[tuple[Any, Any, Any, Any, list[str]]] = [
    # old, new, what is there now, what it becomes, the places that do not fit
    (1, 2, 3, 3, [""]),
    ("x", [{"text": "x", "y": 1}], 5, 5, [""]),
    ("x", [{"text": "x", "y": 1}], "z", [{"text": "z", "y": 1}], []),
    ([{"text": "x"}], "x", "z", "z", [""]),
    ([{"text": "x"}], "x", [{"text": "z"}], "z", []),
    ([{"text": "x"}], "x", [{"text": "x"}, 1], [{"text": "x"}, 1], [""]),
    ([{"text": "x"}], "x", ["x"], ["x"], [""]),
    ([{"text": "x"}], "x", [], [], [""]),
    # objects, key by key
    ({"a": 1}, {"a": 1, "b": 2}, 5, 5, [""]),
    ({"a": 1}, {"a": 1, "b": 2}, [], [], [""]),
    ({"a": 1}, {"a": 1, "b": 2}, {"b": 2}, {"b": 2}, []),
    ({"a": 1}, {"a": 1, "b": 2}, {"b": 2.0}, {"b": 2.0}, ["/b"]),
    ({"a": 1, "~/": 2}, {"a": 1}, {"a": 1, "~/": 3}, {"a": 1, "~/": 3}, ["/~0~1"]),
    ({"a": 1, "~/": 2}, {"a": 1}, {"a": 1}, {"a": 1}, ["/~0~1"]),
    ({"~/": 1, "b": 1}, {"~/": 2, "b": 2}, {"b": 1}, {"b": 2}, ["/~0~1"]),
    ({"~/": 1, "b": 1}, {"~/": 2, "b": 2}, {"~/": 3, "b": 1}, {"~/": 3, "b": 2}, ["/~0~1"]),
    ({"a": 1, "b": 1}, {"b": 1, "a": 1}, {"a": 1, "c": 0, "b": 1}, {"b": 1, "a": 1, "c": 0}, []),
    ({"a": 1, "b": 1}, {"b": 1, "a": 1}, {"a": 1}, {"a": 1}, []),
    # lists, up to the first item that does not fit
    ([1, 2], [1, 3], {}, {}, [""]),
    ([1, 2], [1, 3], "12", "12", [""]),
    ([1, 2], [1, 3], [9, 2], [9, 2], ["/0"]),
    ([1, 2, 3], [0, 1, 2], [1, 9, 3], [0, 9, 3], ["/1"]),
    ([1, 2, 3, 4], [0, 1, 4], [1, 9, 3, 4], [0, 1, 9, 3, 4], ["/1"]),
    ([1, 2, 3], [0, 1, 2, 3], [1, 2], [1, 2], ["/0"]),
    ([1, 2, 3], [0, 1, 3], [], [], [""]),
    ([1, 2, 3], [3], [1], [], [""]),
    ([1, 2, 3], [1, 2, 5], [1, 2], [1, 2], [""]),
    ([{"role": "a"}, 5], [{"role": "a", "x": 1}, 6], [{"role": "b"}, 5], [{"role": "b"}, 5],
     ["/0"]),
    # what follows the last item is new, and the last item may have grown
    ([1, 2], [0, 1, 2], [1, 2, 3], [0, 1, 2, 3], []),
    ([1, 2], [0, 1, 2], [1, "2 and more"], [0, 1, "2 and more"], []),
    ([1, 2], [0, 1, 2], ["1 and more", 2], ["1 and more", 2], ["/0"]),
    ([1, 2, 3], [2], [1, 2, 3, 4], [2, 4], []),
    ([1, {"a": 1}], [1, {"a": 1, "b": 2}], [1, {"a": 1, "c": 3}],
     [1, {"a": 1, "c": 3, "b": 2}], []),
    ([{"a": 1}, 1], [{"a": 1, "b": 2}, 1], [{"a": 1, "c": 3}, 1], [{"a": 1, "c": 3}, 1], ["/0"]),
]  # fmt: skip


def test_what_has_changed_stays_and_is_reported() -> None:
    for old, new, now, wanted, stale in STALE:
        found, places, _ = applied(patching.diff(old, new), now)
        assert spelled(found) == spelled(wanted)
        assert places == stale, (old, new, now)


def field(path: str, removed: bool = False) -> Restored:
    return Restored("field", path, removed)


NAMED: list[tuple[Any, Any, list[Restored]]] = [
    (1, 2, [field("")]),
    ("x", [{"text": "x", "y": 1}], [field("")]),
    ([{"text": "x"}], "x", [field("")]),
    ({"a": 1}, {"a": 2, "~/": 3}, [field("/a"), field("/~0~1")]),
    ({"~/": 1, "b": 2}, {"b": 2}, [field("/~0~1", True)]),
    ({"~/": {"a": 1}}, {"~/": {"a": 2}}, [field("/~0~1/a")]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
    ([1, 2, 3], [0, 1, 3, 4], [field("/0"), field("/1", True), field("/3")]),
    # in an item that stands further up or down now
    ([{"role": "a", "x": 1}], [0, {"role": "a", "x": 2}], [field("/0"), field("/1/x")]),
    ([5, {"role": "a", "x": 1, "y": 1}], [{"role": "a", "x": 2}],
     [field("/0", True), field("/1/y", True), field("/0/x")]),
]  # fmt: skip


def test_what_is_restored_is_named_where_it_stands() -> None:
    for old, new, restored in NAMED:
        assert applied(patching.diff(old, new), old)[2] == restored


# -- references -------------------------------------------------------------------------------


def test_long_texts_are_referred_to() -> None:
    short = "x" * 99
    old = {"a": {"~/": [LONG]}, "b": short}
    new = {"c": LONG, "d": [LONG, {"e": LONG}], "f": short}
    patch, refers = patching.make(old, new)
    reference = {REF: "/a/~0~1/0", **was(LONG)}
    added = {"c": reference, "d": [reference, {"e": reference}], "f": short}
    assert refers
    assert patch == {"set": added, "del": {"a": digest(old["a"]), "b": digest(short)}}
    assert applied(patch, old, root=True)[0] == new
    assert patching.make(old, old) == (None, False)
    assert patching.make({}, {"a": 1}) == ({"set": {"a": 1}}, False)


def test_a_text_is_referred_to_where_it_stands_first() -> None:
    patch, _ = patching.make([LONG, LONG], {"a": LONG})
    assert patch == {"=": {"a": {REF: "/0", **was(LONG)}}, **was([LONG, LONG])}
    assert applied(patch, [LONG, LONG], root=True)[0] == {"a": LONG}


def test_a_text_is_referred_to_a_few_times() -> None:
    old = {"a": LONG}
    new = {"a": LONG, "b": [LONG] * 9}
    patch, refers = patching.make(old, new)
    assert refers
    assert patch["set"]["b"] == [{REF: "/a", **was(LONG)}] * 8 + [LONG]


def test_what_has_the_key_of_references_refers_to_nothing() -> None:
    old, new = {"a": LONG}, {"a": LONG, "b": LONG, "c": {REF: "/a"}}
    assert patching.make(old, new) == (patching.diff(old, new), False)
    assert applied({"set": {"c": {REF: "/a"}}}, old)[0] == {"a": LONG, "c": {REF: "/a"}}


REFERENCES: list[tuple[str, Any, str]] = [
    ("/a", {"a": "x"}, "x"),
    ("/a/1", {"a": ["x", "y"]}, "y"),
    ("/a~1b/~0", {"a/b": {"~": "x"}}, "x"),
    ("/1", {"1": "x"}, "x"),
    ("", "x", "x"),
]


WAYS: list[tuple[Any, Callable[[Any], Any]]] = [
    # what stands under "y", and a patch that holds a reference
    ([], lambda reference: {"set": {"z": [reference]}}),
    (0, lambda reference: {"in": {"y": {"=": reference, **was(0)}}}),
    ([], lambda reference: {"in": {"y": {"items": [{"put": reference}], "length": 0}}}),
    ("z", lambda reference: {"in": {"y": {"wrap": {"k": None, "l": reference}, "key": "k"}}}),
]


@pytest.mark.parametrize(("path", "document", "text"), REFERENCES)
@pytest.mark.parametrize(("held", "patch"), WAYS)
def test_references_are_followed(
    path: str, document: Any, text: str, held: Any, patch: Callable[[Any], Any]
) -> None:
    log, value = Ledger(), {"y": held}
    found = patching.apply(patch({REF: path, **was(text)}), value, "", log, patching.Root(document))
    assert text in json.dumps(found)
    assert not log.losses
    for other in ({REF: path, **was("z")}, {REF: f"{path}/7", **was(text)}):
        log = Ledger()
        assert patching.apply(patch(other), value, "", log, patching.Root(document)) == value
        assert [loss.path for loss in log.losses] in (["/y"], [""])
        assert not log.restored


@pytest.mark.parametrize("path", ["/a", "/b/2", "/b/x", "/b/-1", "/c/0", "/a/b", "/s/0"])
def test_what_is_not_there_or_no_text_is_not_referred_to(path: str) -> None:
    document: Any = {"a": {"x": 1}, "b": ["x", 2], "s": "text"}
    found, stale, restored = applied(
        {"set": {"k": 1, "z": {REF: path, **was(document.get("a"))}}}, document, root=True
    )
    assert found == document
    assert stale == [""]
    assert not restored


def test_how_much_may_be_repeated() -> None:
    """Eight times what there is, to the byte."""
    document = {"a": "x" * 93}  # 100 bytes of JSON, with {"a":""} around it
    root = patching.Root(document)
    assert root.left == 8 * 101
    root.left = 93
    reference = {REF: "/a", **was(document["a"])}
    assert patching.apply({"set": {"b": reference}}, document, "", Ledger(), root) == {
        **document,
        "b": document["a"],
    }
    assert root.left == 0
    with pytest.raises(TypeError, match="too many references"):
        patching.apply({"set": {"b": reference}}, document, "", Ledger(), root)


# -- what is no patch -------------------------------------------------------------------------


@pytest.mark.parametrize("patch", [5, [1], "x", {"items": 5, "length": 1}])
def test_what_is_no_patch_is_an_error(patch: Any) -> None:
    with pytest.raises(TypeError):
        applied(patch, [])


@pytest.mark.parametrize("keep", [0, -1])
def test_so_many_items_cannot_be_kept(keep: int) -> None:
    with pytest.raises(TypeError, match="items to keep"):
        applied({"items": [{"keep": keep, "was": ""}], "length": 1}, [1])
