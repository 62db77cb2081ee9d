"""Two conversations compared by meaning."""

from __future__ import annotations

import copy
import itertools
import json
from typing import Any

import pytest

import dragoman
import places
from dragoman.core.walk import meaning
from dragoman.testing import Case, load_case, load_corpus
from dragoman.views.compare import IGNORABLE, Difference, compare, excerpts, resolves

CORPUS = load_corpus(places.CORPUS)
CHAIN = load_case(places.CORPUS / "tool-call-chain")


def request(dialect: str) -> Any:
    return next(d.body for d in CHAIN.documents if d.dialect == dialect and not d.degraded)


def differences(a: Any, b: Any, *ignore: str) -> list[Difference]:
    trees = dragoman.read(a, "anthropic-messages"), dragoman.read(b, "openai-chat")
    return list(compare(*trees, frozenset(ignore), (a, b)))


@pytest.mark.parametrize("case", CORPUS, ids=lambda c: c.name)
def test_there_is_a_difference_if_and_only_if_the_meaning_differs(case: Case) -> None:
    for one, two in itertools.combinations_with_replacement(case.documents, 2):
        if one.facet != two.facet:
            continue
        a = dragoman.read(one.body, one.dialect, facet=one.facet)
        b = dragoman.read(two.body, two.dialect, facet=two.facet)
        found = list(compare(a, b, documents=(one.body, two.body)))
        assert bool(found) == (meaning(a) != meaning(b)), (one.name, two.name)
        for difference in found:
            assert difference.trail, difference
            assert all(difference.trail), difference
            json.dumps(difference.to_json())
            for side, body in ((difference.a, one.body), (difference.b, two.body)):
                assert side is None or resolves(body, side.at), difference


def test_what_was_changed_is_found_where_it_is() -> None:
    a, b = request("anthropic-messages"), copy.deepcopy(request("openai-chat"))
    assert differences(a, b) == []
    b["messages"][1]["tool_calls"][0]["function"]["arguments"] = '{"city": "London"}'
    b["messages"].insert(3, {"role": "user", "content": "Really?"})
    del b["messages"][-1]
    b["temperature"] = 1
    b["tools"][0]["function"]["parameters"]["properties"]["city"]["type"] = "number"
    written = [
        (d.kind, " · ".join(d.trail), d.a and d.a.at, d.b and d.b.at) for d in differences(a, b)
    ]
    assert written == [
        (
            "differs",
            "message 2 · assistant · call get_weather · arguments · city",
            "/messages/1/content/1",
            "/messages/1/tool_calls/0",
        ),
        ("only in B", "message 4 · user", None, "/messages/3"),
        ("only in A", "message 7 · user", "/messages/6", None),
        (
            "differs",
            "tool get_weather · schema · properties · city · type",
            "/tools/0",
            "/tools/0",
        ),
        ("only in B", "temperature", None, "/temperature"),
    ]


def test_ids_may_be_ignored_but_not_which_result_answers_which_call() -> None:
    def conversation(first: str, second: str, *replies: str) -> Any:
        calls = [
            {"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}}
            for name in (first, second)
        ]
        results = [{"role": "tool", "tool_call_id": a, "content": "x"} for a in replies]
        messages = [{"role": "assistant", "content": None, "tool_calls": calls}, *results]
        return dragoman.read({"model": "m", "messages": messages}, "openai-chat")

    a, b = conversation("1", "2", "1", "2"), conversation("x", "y", "x", "y")
    assert len(list(compare(a, b))) == 4
    assert not list(compare(a, b, frozenset({"ids"})))
    crossed = conversation("x", "y", "y", "x")
    assert len(list(compare(a, crossed, frozenset({"ids"})))) == 2


def test_what_is_ignored_makes_no_difference() -> None:
    a = {
        "model": "m",
        "max_tokens": 5,
        "tools": [{"name": "f", "input_schema": {}}],
        "only_here": 1,
        "messages": [
            {"role": "user", "content": "Hi"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                    {"type": "text", "text": "Ho", "cache_control": {"type": "ephemeral"}},
                ],
            },
        ],
    }
    b = {
        "model": "n",
        "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}],
    }
    assert differences(a, b)
    assert not differences(a, b, "model", "params", "tools", "extras", "reasoning", "cache")
    assert not differences(a, b, *IGNORABLE)


def test_long_texts_are_shown_where_they_part() -> None:
    a = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "a" * 90 + "b"}]}
    b = {"model": "m", "max_completion_tokens": 5,
         "messages": [{"role": "user", "content": "a" * 90 + "c"}]}  # fmt: skip
    (difference,) = differences(a, b)
    assert excerpts(difference, 60) == (f'…{"a" * 24}b"', f'…{"a" * 24}c"')
