"""What the files of agents have alike: lines that are kept, written again, linked and made up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

import dragoman
from dragoman import dialects
from dragoman.core.capabilities import NO_CHOICE
from dragoman.dialects import _sessions
from dragoman.dialects._sessions import (
    Group,
    Kept,
    Rows,
    SessionFile,
    Stamps,
    groups_of,
    is_alike,
    is_newer,
    iso,
    linked,
    lose_prompt,
    number_of,
    objects,
    rest_of,
)
from dragoman.ledger import Ledger
from dragoman.model import Cache, Extras, History, Message, Request, Text, ToolChoice

FILES = [n for n in dialects.names() if isinstance(dialects.get(n), SessionFile)]
PROMPTLESS = [name for name in FILES if not dialects.get(name).prompts]  # type: ignore[attr-defined]
HI = {"role": "user", "content": "Hi"}
WELL = {"role": "assistant", "content": "Well."}


def entries(log: Any) -> list[str]:
    return sorted(f"{x.kind} {x.what} {x.path}" for x in log.losses if x.kind != "invented")


# -- a request ----------------------------------------------------------------------------------

SETTINGS: dict[str, Any] = {
    "max_completion_tokens": 9, "temperature": 0.5, "top_p": 0.5, "stop": ["x"], "seed": 1,
    "frequency_penalty": 1, "presence_penalty": 1, "logit_bias": {"1": 1}, "logprobs": True,
    "top_logprobs": 2, "n": 2, "verbosity": "low", "metadata": {"a": "b"}, "user": "u",
    "service_tier": "flex", "prompt_cache_key": "k", "store": True, "stream": True,
    "response_format": {"type": "json_object"}, "reasoning_effort": "low",
}  # fmt: skip
NAMED = {"max_completion_tokens": "max_tokens", "n": "candidates", "user": "user_id",
         "prompt_cache_key": "cache_key", "response_format": "output",
         "reasoning_effort": "thinking"}  # fmt: skip


@pytest.mark.parametrize("target", FILES)
def test_each_setting_is_one_loss_at_its_place(target: str) -> None:
    """An agent has settings of its own; a file stores none."""
    request = {"model": "gpt-5", "messages": [HI, WELL], "unknown": 1, **SETTINGS}
    found = dragoman.convert(request, source="openai-chat", target=target, now=0)
    wanted = [f"dropped {NAMED.get(key, key)} /{key}" for key in SETTINGS]
    lost = [entry for entry in entries(found) if not entry.startswith(("dropped model", "moved"))]
    assert lost == sorted([*wanted, "dropped extras /unknown"])


CHOICES: list[tuple[dict[str, Any], list[str]]] = [
    ({"tool_choice": "required"}, ["tool_choice /tool_choice"]),
    ({"parallel_tool_calls": False}, ["tool_choice.parallel"]),
    (
        {"tool_choice": "none", "parallel_tool_calls": False},
        ["tool_choice", "tool_choice.parallel"],
    ),
    ({}, []),
]


@pytest.mark.parametrize("target", FILES)
@pytest.mark.parametrize(("choice", "lost"), CHOICES)
def test_tools_and_their_choice_are_lost(choice: Any, lost: list[str], target: str) -> None:
    tool = {"type": "function", "function": {"name": "f", "x": 1}}
    request = {"model": "m", "messages": [HI, WELL], "tools": [tool, tool], **choice}
    found = dragoman.convert(request, source="openai-chat", target=target, now=0)
    told = [e.split(" ", 1)[1] for e in entries(found) if " tool_choice" in e]
    assert [entry.split()[0] for entry in told] == [entry.split()[0] for entry in lost]
    assert all(entry.split()[1].startswith(("/tool_choice", "/parallel")) for entry in told)
    assert [e for e in entries(found) if "/tools/" in e] == [
        "dropped extras /tools/0/function/x", "dropped extras /tools/1/function/x",
        "dropped tool /tools/0", "dropped tool /tools/1",
    ]  # fmt: skip


@pytest.mark.parametrize("target", FILES)
def test_a_choice_that_says_nothing_is_no_loss(target: str) -> None:
    message = Message("user", (Text("Hi", at="/a"),), at="/a")
    for choice, lost in (
        (ToolChoice(at="/c"), []),
        (ToolChoice(payload={"x": 1}, at="/c"), ["dropped tool_choice /c"]),
        (ToolChoice(payload={"x": 1}, parallel=False, at="/c"),
         ["dropped tool_choice /c", "dropped tool_choice.parallel /c"]),
        (ToolChoice(parallel=True, at="/c"), []),  # as it is without a word
        (ToolChoice(parallel=False, at="/c"), ["dropped tool_choice.parallel /c"]),
    ):  # fmt: skip
        log = Ledger(now=0)
        tree = Request(None, (message,), tool_choice=choice, dialect="native")
        dialects.get(target).write(tree, log)
        assert [entry for entry in entries(log) if "tool_choice" in entry] == lost


@pytest.mark.parametrize("target", PROMPTLESS)
@pytest.mark.parametrize("facet", ["request", "messages"])
def test_a_system_prompt_is_lost_block_by_block(target: str, facet: str) -> None:
    parts = [{"type": "text", "text": "no-A"}, {"type": "text", "text": "no-B"}]
    messages = [{"role": "system", "content": parts, "name": "n", "x": 1}, HI, WELL]
    messages += [{"role": "developer", "content": "no-C"}, HI, WELL]
    document: Any = messages if facet == "messages" else {"model": "m", "messages": messages}
    base = "" if facet == "messages" else "/messages"
    found = dragoman.convert(document, source="openai-chat", target=target, facet=facet, now=0)
    assert "no-" not in str(found.document)
    lost = [e for e in entries(found) if e.split()[1] in ("system", "message.name", "extras")]
    assert lost == sorted(
        [
            f"dropped system {base}/0/content/0", f"dropped system {base}/0/content/1",
            f"dropped system {base}/3/content", f"dropped message.name {base}/0",
            f"dropped extras {base}/0/x",
        ]
    )  # fmt: skip


def test_the_mark_of_a_prompt_that_stands_beside_it() -> None:
    speaker = dialects.get("claude-code")
    for at, lost in (
        ("/c", ["dropped cache /c"]),
        ("/s/0/cache", []),
        ("/s/00", ["dropped cache /s/00"]),
    ):
        block = Text("A", cache=Cache(at=at), at="/s/0")
        log = Ledger()
        lose_prompt(speaker, Message("system", (block,), at="/s"), log)
        assert entries(log) == sorted(["dropped system /s/0", *lost])
    log = Ledger()
    lose_prompt(speaker, Message("system", (), at="/s"), log)
    assert entries(log) == ["dropped system /s"]


# -- the model ----------------------------------------------------------------------------------

NAMING = [name for name in FILES if name not in ("goose", "opencode")]


@pytest.mark.parametrize("name", NAMING)
def test_another_model_is_written_where_the_file_names_it(name: str) -> None:
    lines = dragoman.convert(
        {"model": "gpt-5", "messages": [HI, WELL, HI, WELL]},
        source="openai-chat",
        target=name,
        now=0,
    ).document
    tree = dragoman.read(lines, name)
    assert isinstance(tree, Request)
    assert tree.model == "gpt-5"
    written = dialects.get(name).write(replace(tree, model="other", original=None), Ledger(now=0))
    again = dragoman.read(written, name)
    assert isinstance(again, Request)
    assert again.model == "other"
    assert tree.params.ats == again.params.ats
    assert again.messages == tree.messages
    history = dragoman.read(lines, name, facet="messages")
    assert isinstance(history, History)
    assert history.messages == tree.messages


# -- lines --------------------------------------------------------------------------------------


def test_what_is_kept_of_the_lines() -> None:
    kept = Kept("claude-code")
    assert kept.extras() is None
    kept.rest(10, {"message": {"id": 1}, "uuid": "u"}, "message", "other")
    kept.line(9, {"type": "x"})
    kept.line(2, "cut", "no object")
    assert kept.extras() == Extras(
        "claude-code",
        {"2": "cut", "9": {"type": "x"}, "10": {"message": {"id": 1}, "uuid": "u"}},
        {"2": "no object"},
        inner=("10", "10/message"),
        records=True,
    )
    fields = kept.extras()
    assert fields is not None
    assert list(fields.fields) == ["2", "9", "10"]


@pytest.mark.parametrize(
    ("at", "number"),
    [("/0", 0), ("/12/message/content/0", 12), ("", -1), ("/x/1", -1), ("/-1", -1),
     ("/99999999999", 99999999999), ("/999999999999", -1), ("/²", -1)],
)  # fmt: skip
def test_the_line_in_which_a_place_is(at: str, number: int) -> None:
    assert number_of(at) == number
    assert Group(at, Message("user", ()), []).number == number


def test_what_is_left_of_an_object() -> None:
    assert rest_of({"a": 1, "b": 2, "c": 3}, "a", "c", "d") == {"b": 2}
    lines: list[Any] = [1, {"a": 1}, "x", {}]
    assert list(objects(lines)) == [(1, {"a": 1}), (3, {})]


def test_lines_stand_in_their_places_and_new_ones_after_the_last() -> None:
    fields = {"0": {"first": 1}, "1": {"of": 1}, "2": {"of": 2}, "4": "last"}
    extras = Extras("a", fields, inner=("1", "1/message", "2"), records=True)
    rows = Rows(extras, "a")
    assert rows.rest(0) is rows.rest(3) is rows.rest(-1) is None
    assert (rows.rest(1), rows.rest(2)) == ({"of": 1}, {"of": 2})
    rows.add({"new": 0})
    rows.put(1, {"line": 1})
    assert rows.rest(1) is None  # it is written
    rows.add({"new": 1})
    rows.add({"new": 2})
    rows.put(2, {"line": 2})
    rows.add({"new": 3})
    assert rows.lines() == [
        {"new": 0}, {"first": 1}, {"line": 1}, {"new": 1}, {"new": 2}, {"line": 2}, {"new": 3},
        "last",
    ]  # fmt: skip
    assert rows.added == [{"new": number} for number in range(4)]
    assert Rows(extras, "b").lines() == []
    assert Rows(None, "a").lines() == []


def is_named(line: dict[str, Any]) -> bool:
    return "uuid" in line


def chain(*lines: Any) -> list[tuple[str, Any]]:
    return [(line["uuid"], line["parentUuid"]) for line in lines if "uuid" in line]


def test_new_lines_follow_what_precedes_them() -> None:
    rows = Rows(None, "a")
    rows.add({"uuid": "x", "parentUuid": "y"})
    rows.put(0, {"uuid": "a", "parentUuid": None})
    rows.put(1, {"type": "other"})
    rows.add({"uuid": "b", "parentUuid": None})
    rows.add({"uuid": "c", "parentUuid": None})
    found = linked(rows, is_named)
    assert chain(*found) == [("x", None), ("a", None), ("b", "a"), ("c", "b")]
    assert {"type": "other"} in found
    assert rows.added[1] == {"uuid": "b", "parentUuid": None}  # what was given is not changed


def test_parents_that_are_gone_are_passed_over() -> None:
    fields = {str(n): {"uuid": u, "parentUuid": p} for n, u, p in
              ((1, "b", "a"), (2, "c", "b"), (4, "e", "d"), (5, 7, "a"))}  # fmt: skip
    rows = Rows(Extras("a", fields, inner=tuple(fields), records=True), "a")
    rows.put(0, {"uuid": "a", "parentUuid": None})
    rows.put(3, {"uuid": "d", "parentUuid": "c"})
    rows.put(6, {"uuid": "f", "parentUuid": "e"})
    rows.put(7, {"uuid": "g", "parentUuid": "elsewhere"})
    assert chain(*linked(rows, is_named)) == [
        ("a", None), ("d", "a"), ("f", "d"), ("g", "elsewhere"),
    ]  # fmt: skip
    ring = {"1": {"uuid": "b", "parentUuid": "c"}, "2": {"uuid": "c", "parentUuid": "b"}}
    rows = Rows(Extras("a", ring, inner=("1", "2"), records=True), "a")
    rows.put(0, {"uuid": "a", "parentUuid": "b"})
    ((_, parent),) = chain(*linked(rows, is_named))
    assert parent in ("b", "c")  # it ends


# -- groups -------------------------------------------------------------------------------------


def text(at: str) -> Text:
    return Text(at, at=at)


def grouped(*messages: Message) -> list[tuple[str, str, list[str]]]:
    found = groups_of(messages, lambda at: at[:2] if at.startswith("/") else "")
    return [(g.at, g.message.role, [b.at for b in g.blocks]) for g in found]


def test_blocks_of_one_line_are_a_group() -> None:
    first = Message("user", (text("/0a"), text("new"), text("/0b"), text("/1")), at="/0")
    assert grouped(first) == [("/0", "user", ["/0a", "new", "/0b"]), ("/1", "user", ["/1"])]
    assert grouped() == []


def test_what_is_new_at_the_start_of_a_message_is_a_group() -> None:
    one, two = Message("user", (text("/0"),)), Message("user", (text("new"), text("/1")))
    assert grouped(one, two) == [
        ("/0", "user", ["/0"]), ("", "user", ["new"]), ("/1", "user", ["/1"]),
    ]  # fmt: skip
    assert grouped(two) == [("", "user", ["new"]), ("/1", "user", ["/1"])]


def test_messages_without_content_are_groups() -> None:
    empty = Message("user", (), at="/5")
    assert grouped(empty) == [("/5", "user", [])]
    assert grouped(Message("user", (text("/0"),)), empty, empty) == [
        ("/0", "user", ["/0"]), ("/5", "user", []), ("/5", "user", []),
    ]  # fmt: skip


def test_results_and_words_of_the_user_stand_in_one_line() -> None:
    both = [Message("tool", (text("/0a"),)), Message("user", (text("/0b"),))]
    assert grouped(*both) == [("/0", "tool", ["/0a", "/0b"])]
    assert grouped(both[0], Message("assistant", (text("/0c"),))) == [
        ("/0", "tool", ["/0a"]), ("/0", "assistant", ["/0c"]),
    ]  # fmt: skip
    roles: tuple[Any, ...] = ("user", "tool", "assistant", "system", "developer")
    alike = {(a, b) for a in roles for b in roles if is_alike(Message(a, ()), Message(b, ()))}
    assert alike == {(r, r) for r in roles} | {("user", "tool"), ("tool", "user")}


# -- what is made up ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seconds",
    [0, 1.5, 59.999, 60, 3599, 3600, 86_399.001, 86_400, 951_782_400.25, 1_700_000_000.123,
     4_102_444_799, -1, -86_400.5, 253_402_300_799],
)  # fmt: skip
def test_a_time_is_what_python_makes_of_it(seconds: float) -> None:
    wanted = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=round(seconds * 1000))
    assert (
        iso(seconds) == wanted.strftime("%Y-%m-%dT%H:%M:%S.") + f"{wanted.microsecond // 1000:03}Z"
    )


@pytest.mark.parametrize("seconds", [1e30, -1e30, float("inf"), float("nan")])
def test_a_time_that_has_no_year(seconds: float) -> None:
    assert iso(seconds) == "1970-01-01T00:00:00.000Z"


def test_ids_and_times_of_new_lines() -> None:
    stamps = Stamps(Ledger())
    assert [stamps.uuid(), stamps.uuid()] == [
        "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002",
    ]  # fmt: skip
    assert stamps.time == "1970-01-01T00:00:00.000Z"
    given = Stamps(Ledger(60, lambda prefix: f"{prefix}!"))
    assert (given.uuid(), given.time) == ("uuid!", "1970-01-01T00:01:00.000Z")


@pytest.mark.parametrize(
    ("version", "newer"),
    [("2.2.0", True), ("2.1.197", False), ("2.1.198", True), ("2.1.9", False), ("3", True),
     ("2.1.197.1", True), ("2.2.0-beta.1", True), ("2.1.197-beta", False), (None, False),
     (3, False), ("", False), ("v3.0", False), ("12345678.0", True), ("123456789.0", False),
     ("3.x", False)],
)  # fmt: skip
def test_a_newer_version(version: Any, newer: bool) -> None:
    assert is_newer(version, "2.1.197") is newer


def test_what_an_api_can_without_what_only_requests_say() -> None:
    can = dialects.get("anthropic-messages").can
    stored = _sessions.stored(can)
    assert (stored.strict, stored.choices, stored.thinking) == (False, NO_CHOICE, None)
    assert replace(stored, strict=can.strict, choices=can.choices, thinking=can.thinking) == can


@pytest.mark.parametrize("name", FILES)
def test_a_file_has_messages_and_no_more(name: str) -> None:
    facets = dialects.get(name).facets()
    assert facets.keys() == {"request", "messages"}
    assert all({"read", "write"} <= set(words) for words in facets.values())
