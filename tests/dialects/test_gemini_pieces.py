"""Arguments that come in pieces: https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling

"jsonPath: a JSON Path (RFC 9535) to the argument being streamed"; a value is a text, which goes on
while ``willContinue`` says so, a number, a boolean or null.
"""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import Malformed
from dragoman.dialects.gemini.pieces import CallPieces, begins, goes_on

Piece = dict[str, Any]


def text(path: str, value: str, goes_on: bool = False) -> Piece:
    return {"jsonPath": path, "stringValue": value} | ({"willContinue": True} if goes_on else {})


def call(*pieces: Piece, **more: Any) -> Piece:
    return {"functionCall": {"partialArgs": [*pieces], "willContinue": True, **more}}


def args_of(*parts: Piece) -> Any:
    whole = CallPieces({"functionCall": {"name": "f", "willContinue": True}})
    for part in parts:
        whole.add(part)
    return whole.document()["functionCall"]["args"]


@pytest.mark.parametrize(
    ("part", "first", "next_one"),
    [
        ({"functionCall": {"name": "f", "willContinue": True}}, True, False),
        (call(text("$.a", "x"), name="f"), True, False),
        ({"functionCall": {"name": "f", "partialArgs": []}}, True, False),
        ({"functionCall": {"name": "f", "args": {}}}, False, False),  # it is whole
        ({"functionCall": {"name": "f", "willContinue": False}}, False, False),
        ({"functionCall": {"name": 1, "willContinue": True}}, False, False),
        (call(text("$.a", "x")), False, True),
        ({"functionCall": {}}, False, True),
        ({"functionCall": []}, False, False),
        ({"text": "x"}, False, False),
    ],
)
def test_which_part_is_a_piece(part: Piece, first: bool, next_one: bool) -> None:
    assert (begins(part), goes_on(part)) == (first, next_one)


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        ([], {}),
        ([call(text("$.a", "x"))], {"a": "x"}),
        ([call(text("$.a", "New ", True)), call(text("$.a", "Delhi"))], {"a": "New Delhi"}),
        ([call({"jsonPath": "$.a", "willContinue": True}), call(text("$.a", "x"))], {"a": "x"}),
        ([call({"jsonPath": "$.a", "willContinue": True})], {"a": ""}),
        ([call({"jsonPath": "$.a", "numberValue": 0})], {"a": 0}),
        ([call({"jsonPath": "$.a", "numberValue": 1}, text("$.a", "x"))], {"a": "x"}),
        ([call({"jsonPath": "$.a", "boolValue": False})], {"a": False}),
        ([call({"jsonPath": "$.a", "nullValue": "NULL_VALUE"})], {"a": None}),
        ([call(text("$.a.b", "x"), text("$.a.c", "y"))], {"a": {"b": "x", "c": "y"}}),
        ([call(text("$.a[0]", "x"), text("$.a[1]", "y"))], {"a": ["x", "y"]}),
        ([call(text("$.a[0]", "x", True)), call(text("$.a[0]", "y"))], {"a": ["xy"]}),
        ([call(text("$.a[0].b", "x"), text("$.a[1].b", "y"))], {"a": [{"b": "x"}, {"b": "y"}]}),
        ([call(text("$.a[0][0]", "x"))], {"a": [["x"]]}),
        ([call(text("$['a b']", "x"), text('$["c.d"]', "y"))], {"a b": "x", "c.d": "y"}),
        ([{"functionCall": {"args": {"a": 1}}}, call(text("$.b", "x"))], {"a": 1, "b": "x"}),
    ],
)
def test_arguments_are_put_together(parts: list[Piece], wanted: Any) -> None:
    assert args_of(*parts) == wanted


@pytest.mark.parametrize(
    ("piece", "at"),
    [
        (text("a", "x"), "/jsonPath"),
        (text("x.a", "x"), "/jsonPath"),
        (text("$", "x"), "/jsonPath"),
        (text("$.a.", "x"), "/jsonPath"),
        (text("$[0]", "x"), "/jsonPath"),  # arguments are an object
        (text("$..a", "x"), "/jsonPath"),
        (text("$.a[*]", "x"), "/jsonPath"),
        (text("$.a[1]", "x"), ""),  # there is no item before it
        (text("$.a[0]", "x"), None),
        (text("$.t.b", "x"), ""),  # a text has no keys
        (text("$.t[0]", "x"), ""),
        (text("$.o[0]", "x"), ""),
        (text("$.l.b", "x"), ""),
        ({"stringValue": "x"}, ""),
    ],
)
def test_a_place_that_cannot_be(piece: Piece, at: str | None) -> None:
    begun = {"functionCall": {"args": {"t": "x", "o": {"b": 1}, "l": [1]}}}
    if at is None:
        assert args_of(begun, call(piece))["a"] == ["x"]
        return
    with pytest.raises(Malformed) as problem:
        args_of(begun, call({"jsonPath": "$.n", "numberValue": 1}, piece))
    assert problem.value.at == f"/functionCall/partialArgs/1{at}"


def test_a_call_is_done_when_nothing_goes_on() -> None:
    """What else the pieces say is the call's: the last of each key."""
    whole = CallPieces({"functionCall": {"name": "f", "id": "c", "willContinue": True}})
    assert not whole.done
    whole.add(call(text("$.a", "x")) | {"thoughtSignature": "cw=="})
    assert not whole.done
    whole.add({"functionCall": {}})
    assert whole.done
    assert whole.document() == {
        "functionCall": {"name": "f", "id": "c", "args": {"a": "x"}},
        "thoughtSignature": "cw==",
    }
