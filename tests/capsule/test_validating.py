"""What is a capsule, key by key: a whole one is taken, and each fault is named with its place."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from dragoman import CapsuleError, dialects
from dragoman.capsule import LIMIT, check

CLAUDE, RESPONSES = "anthropic-messages", "openai-responses"
BARE: dict[str, Any] = {"capsule": 2, "dialect": CLAUDE, "facet": "request", "patch": None}
ENTRY: dict[str, Any] = {"at": 0, "is": ["x"], "put": {"raw": []}}
FULL: dict[str, Any] = BARE | {
    "count": [3, None],
    "turns": [
        ENTRY,
        ENTRY | {
            "put": [["messages", False, [{"role": "user"}]], ["system", True, "Hi"]],
            "cuts": [[1, 2], []], "ids": ["a", None], "by": ["^", "$"], "strict": 2, "with": 0,
            "size": 0, "marks": [[[0, "0", "x"], [1]], []], "reused": ["a"],
        },
    ],
    "tools": [ENTRY],
    "order": ["a"], "repaired": [["dropped", "x", "/x"]], "wrap": "messages", "bare": "messages",
    "model": "m", "echo": True, "unfit": True, "refs": True,
}  # fmt: skip


def tried(
    capsule: Any, dialect: str = CLAUDE, facet: str = "request", limit: int = LIMIT
) -> tuple[str, str] | None:
    """The place and the words of what is wrong; None: nothing is."""
    before = copy.deepcopy(capsule)
    try:
        check(capsule, dialects.get(dialect), facet, None, limit)
    except CapsuleError as problem:
        return problem.at, problem.what
    finally:
        assert capsule == before
    return None


WHOLE: list[Any] = [
    BARE,
    BARE | {"capsule": 1},
    FULL,
    FULL | {"count": [0, 0]},
]  # fmt: skip
PATCHES: list[Any] = [
        {"=": None, "was": ""},
        {"wrap": {}, "key": "k"},
        {"unwrap": "k"},
        {"items": [], "length": 0},
        {"set": {"x": 1}},
        {"del": {"x": "digest"}},
        {"order": ["x"]},
        {"in": {"x": None, "y": {"set": {}}}},
        {"set": {}, "del": {}, "in": {}, "order": []},
        {"items": [["d", None], ["d", {"set": {}}], {"keep": 1, "was": ""}, {"skip": ""},
                   {"put": 1}], "length": 9},
]  # fmt: skip


def test_a_capsule_is_taken() -> None:
    for capsule in [*WHOLE, *(BARE | {"patch": patch} for patch in PATCHES)]:
        assert tried(capsule) is None


def test_a_type_may_be_omitted_where_the_dialect_says_so() -> None:
    capsule = BARE | {"typed": "last", "count": [1, None]}
    assert tried(capsule) == ("/typed", f"items of {CLAUDE} have no type to omit")
    assert tried(capsule | {"dialect": RESPONSES}, RESPONSES) is None
    assert tried(capsule | {"typed": "first", "dialect": RESPONSES}, RESPONSES) is None


def entry(**changed: Any) -> Any:
    return BARE | {"count": [1, 0], "turns": [ENTRY, ENTRY | changed]}


def without(capsule: Any, *keys: str) -> Any:
    return {key: value for key, value in capsule.items() if key not in keys}


FAULTS: list[tuple[Any, str]] = [
    (None, ""),
    ("x", ""),
    ([], ""),
    ({}, "/capsule"),
    (BARE | {"capsule": 3}, "/capsule"),
    (BARE | {"capsule": True}, "/capsule"),
    (BARE | {"capsule": 2.0}, "/capsule"),
    (BARE | {"capsule": None}, "/capsule"),
    (without(BARE, "patch"), ""),
    (without(BARE, "dialect"), ""),
    (without(BARE, "facet"), ""),
    (BARE | {"other": 1}, ""),
    (BARE | {"dialect": 5}, "/dialect"),
    (BARE | {"facet": None}, "/facet"),
    (BARE | {"dialect": "gemini"}, "/dialect"),
    (BARE | {"facet": "response"}, "/facet"),
    (BARE | {"count": [1]}, "/count"),
    (BARE | {"count": [-1, 0]}, "/count/0"),
    (BARE | {"count": [None, 0]}, "/count/0"),
    (BARE | {"turns": []}, "/count"),
    (BARE | {"tools": []}, "/count"),
    (BARE | {"typed": "first"}, "/count"),
    (FULL | {"turns": 5}, "/turns"),
    (FULL | {"order": [1]}, "/order/0"),
    (FULL | {"repaired": [["dropped", "x"]]}, "/repaired/0"),
    *((FULL | {key: ""}, f"/{key}") for key in ("wrap", "bare", "model", "mac")),
    *((FULL | {key: False}, f"/{key}") for key in ("echo", "unfit", "refs")),
    (FULL | {"typed": "middle"}, "/typed"),
    (FULL | {"wrap": "input"}, "/wrap"),
    (FULL | {"bare": "input"}, "/bare"),
    # entries
    (FULL | {"turns": [5]}, "/turns/0"),
    (FULL | {"tools": [ENTRY, 5]}, "/tools/1"),
    *((FULL | {"turns": [without(ENTRY, key)]}, "/turns/0") for key in ENTRY),
    (entry(x=1), "/turns/1"),
    (entry(at=-1), "/turns/1/at"),
    (entry(at=None), "/turns/1/at"),
    (entry(**{"is": [1]}), "/turns/1/is/0"),
    (entry(put=5), "/turns/1/put"),
    (entry(put={"raw": [], "x": 1}), "/turns/1/put"),
    (entry(put=[["messages", False, {}]]), "/turns/1/put/0"),
    (entry(put=[["s", True, {}], ["messages", False, "x"]]), "/turns/1/put/1"),
    (entry(put={"raw": [["messages", False, None]]}), "/turns/1/put/0"),
    (entry(put=[["messages", 0, []]]), "/turns/1/put/0/1"),
    (entry(cuts=[[-1]]), "/turns/1/cuts/0/0"),
    (entry(ids=[1]), "/turns/1/ids/0"),
    (entry(by=["^"]), "/turns/1/by"),
    (entry(strict=1), "/turns/1"),
    (entry(strict=3, by=["^", "$"]), "/turns/1/strict"),
    (entry(**{"with": "a"}), "/turns/1/with"),
    (entry(size=-1), "/turns/1/size"),
    (entry(reused=[None]), "/turns/1/reused/0"),
    (entry(marks=[[]]), "/turns/1/marks"),
    (entry(marks=[[], [[]]]), "/turns/1/marks/0"),
    (entry(marks=[[[0]], [["0"]]]), "/turns/1/marks/1"),
    (entry(marks=[[[0, "a", 1]], []]), "/turns/1/marks/0"),
    (entry(marks=[[[0, 1]], []]), "/turns/1/marks/0"),
    # patches
    *((BARE | {"patch": patch}, f"/patch{at}") for patch, at in (
        (5, ""),
        ([], ""),
        ({}, ""),
        ({"x": 1}, ""),
        ({"=": 1}, ""),
        ({"=": 1, "was": "", "set": {}}, ""),
        ({"=": 1, "was": 5}, "/was"),
        ({"wrap": {}}, ""),
        ({"wrap": [], "key": "k"}, "/wrap"),
        ({"wrap": {}, "key": None}, "/key"),
        ({"unwrap": 5}, "/unwrap"),
        ({"set": []}, "/set"),
        ({"del": []}, "/del"),
        ({"in": []}, "/in"),
        ({"order": {}}, "/order"),
        ({"order": ["a", 1]}, "/order"),
        ({"del": {"a": "", "~/": 1}}, "/del/~0~1"),
        ({"in": {"a": None, "~/": 5}}, "/in/~0~1"),
        ({"in": {"a": {"in": {"b": {}}}}}, "/in/a/in/b"),
        ({"items": [], "length": -1}, "/length"),
        ({"items": [], "length": True}, "/length"),
        ({"items": {}, "length": 1}, "/items"),
        ({"items": []}, ""),
        ({"items": [5], "length": 1}, "/items/0"),
        ({"items": [{"put": 1}, []], "length": 1}, "/items/1"),
        ({"items": [{"put": 1}, ["d"]], "length": 1}, "/items/1"),
        ({"items": [[5, None]], "length": 1}, "/items/0/0"),
        ({"items": [["d", 5]], "length": 1}, "/items/0/1"),
        ({"items": [{"keep": 1}], "length": 1}, "/items/0"),
        ({"items": [{"keep": 0, "was": ""}], "length": 1}, "/items/0/keep"),
        ({"items": [{"keep": True, "was": ""}], "length": 1}, "/items/0/keep"),
        ({"items": [{"keep": 1, "was": 5}], "length": 1}, "/items/0/was"),
        ({"items": [{"skip": 5}], "length": 1}, "/items/0/skip"),
        ({"items": [{"skip": "", "put": 1}], "length": 1}, "/items/0"),
        ({"items": [{"push": 1}], "length": 1}, "/items/0"),
    )),
]  # fmt: skip


def test_a_fault_is_named_with_its_place() -> None:
    for capsule, at in FAULTS:
        found = tried(capsule)
        assert found is not None, capsule
        assert found[0] == at, capsule
        assert found[1][:1] == found[1][:1].lower()


@pytest.mark.parametrize(
    ("capsule", "what"),
    [
        ("x", "expected an object, got str"),
        ({}, "it has no version; this is for version 2"),
        ({"capsule": "1"}, "of version '1'; this is for version 2"),
        (entry(strict=1), "`strict` needs `by`"),
        (entry(size="x"), "expected `int`, got `str`"),
        (BARE | {"x": 1}, "object contains unknown field `x`"),
        (without(BARE, "facet"), "object missing required field `facet`"),
        (BARE | {"patch": {"unwrap": 5}}, "expected a string, got int"),
        (BARE | {"patch": {"set": []}}, "expected dict"),
        (BARE | {"patch": {"b": 1, "a": 1}}, "no patch has the keys ['a', 'b']"),
        (BARE | {"dialect": "x"}, f"it belongs to 'x', not to {CLAUDE!r}"),
        (BARE | {"facet": "x"}, "it belongs to a 'x', not to a 'request'"),
        (FULL | {"bare": "x"}, f"turns of {CLAUDE} are under another key"),
    ],
)
def test_a_fault_is_told(capsule: Any, what: str) -> None:
    assert (tried(capsule) or ("", ""))[1] == what


def test_a_capsule_may_be_as_long_as_the_limit() -> None:
    size = len(json.dumps(FULL, separators=(",", ":")))
    assert tried(FULL, limit=size) is None
    what = f"{size:,} bytes, and {size - 1:,} are allowed (capsule_limit)"
    assert tried(FULL, limit=size - 1) == ("", what)
    assert LIMIT == 64 << 20


@pytest.mark.parametrize("key", ["set", "in"])
def test_what_nests_too_deeply_is_refused(key: str) -> None:
    patch: Any = {"set": {}}
    for _ in range(20_000):
        patch = {key: {"x": patch}}
    try:
        found = None
        check(BARE | {"patch": patch}, dialects.get(CLAUDE), "request")
    except CapsuleError as problem:
        found = problem.what
    assert found is not None
    assert "nested too deeply" in found
