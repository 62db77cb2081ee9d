"""Broken conversations, what each pass makes of them, and the laws of repairing."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import places
from choosing import examples
from dragoman import DragomanError, Lossy, Unsupported, testing
from dragoman.check import check
from dragoman.dialects import get, names
from dragoman.dialects._model_rules import RULES as MODEL_RULES
from dragoman.lint.json_repair import repair_object
from dragoman.lint.passes.table import PASSES
from dragoman.repair import repair, repair_passes
from dragoman.tools.results import NO_RESULT

ANTHROPIC, CHAT, RESPONSES = "anthropic-messages", "openai-chat", "openai-responses"
DIALECTS = (ANTHROPIC, CHAT, RESPONSES)


# -- small words for long documents ---------------------------------------------------------------


def user(*content: Any) -> Any:
    return {"role": "user", "content": content[0] if len(content) == 1 else list(content)}


def written(*content: Any) -> Any:
    return {"role": "assistant", "content": content[0] if len(content) == 1 else list(content)}


def text(words: str, **more: Any) -> Any:
    return {"type": "text", "text": words, **more}


def use(call_id: str, name: str = "f", **more: Any) -> Any:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}, **more}


def result(call_id: str, words: str = "1") -> Any:
    return {"type": "tool_result", "tool_use_id": call_id, "content": words}


def failed(call_id: str) -> Any:
    return result(call_id, NO_RESULT) | {"is_error": True}


def call(call_id: str, arguments: str = "{}", name: str = "f") -> Any:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*made: Any) -> Any:
    return {"role": "assistant", "content": None, "tool_calls": list(made)}


def tool(call_id: str, words: str = "1") -> Any:
    return {"role": "tool", "tool_call_id": call_id, "content": words}


def item(call_id: str, arguments: str = "{}") -> Any:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": arguments}


def output(call_id: str, words: str = "1") -> Any:
    return {"type": "function_call_output", "call_id": call_id, "output": words}


def ask(dialect: str, messages: list[Any], **more: Any) -> Any:
    if dialect == ANTHROPIC:
        return {"model": "m", "max_tokens": 9, "messages": messages, **more}
    return {"model": "m", "input" if dialect == RESPONSES else "messages": messages, **more}


def repaired(
    dialect: str, messages: list[Any], passes: list[str] | None = None
) -> tuple[Any, list[str]]:
    """The messages after a repair, and what the ledger says of it."""
    result = repair(ask(dialect, messages), dialect, passes=passes)
    key = "input" if dialect == RESPONSES else "messages"
    return result.document[key], [f"{loss.kind} {loss.what}" for loss in result.losses]


# -- each pass, named -----------------------------------------------------------------------------

BLANK = text(" ")
LONG = "x" * 50
# pass -> dialect, messages, what becomes of them, the ledger
CASES: list[tuple[str, str, list[Any], list[Any], list[str]]] = [
    (
        "answer-orphan-calls",
        ANTHROPIC,
        [user("Hi"), written([use("a"), use("b")]), user([result("a")])],
        [user("Hi"), written([use("a"), use("b")]), user([result("a"), failed("b")])],
        ["invented tool_result"],
    ),
    (
        "answer-orphan-calls",
        CHAT,
        [user("Hi"), calls(call("a"), call("b")), tool("a"), user("And?")],
        [
            user("Hi"),
            calls(call("a"), call("b")),
            tool("a"),
            tool("b", f"[tool error] {NO_RESULT}"),
            user("And?"),
        ],
        ["invented tool_result"],
    ),
    (
        "answer-orphan-calls",
        RESPONSES,
        [user("Hi"), item("a")],
        [user("Hi"), item("a"), output("a", f"[tool error] {NO_RESULT}")],
        ["invented tool_result"],
    ),
    (  # the text stays in the turn of the result that was there
        "answer-orphan-calls",
        ANTHROPIC,
        [written([use("a"), use("b")]), user([result("a"), text("So?")])],
        [written([use("a"), use("b")]), user([result("a"), failed("b"), text("So?")])],
        ["invented tool_result"],
    ),
    (
        "drop-orphan-results",
        ANTHROPIC,
        [user("Hi"), written("Ho"), user([result("a"), text("So?")])],
        [user("Hi"), written("Ho"), user("So?")],
        ["dropped tool_result"],
    ),
    (
        "drop-orphan-results",
        CHAT,
        [calls(call("a")), tool("a"), tool("a", "2"), tool("b")],
        [calls(call("a")), tool("a")],
        ["dropped tool_result", "dropped tool_result"],
    ),
    (
        "demote-orphan-results",
        CHAT,
        [calls(call("a"), call("b")), tool("a"), tool("x", "9"), tool("b")],
        [
            calls(call("a"), call("b")),
            tool("a"),
            tool("b"),
            user([text("[result of the tool call x]"), text("9")]),
        ],
        ["approximated message.role"],
    ),
    (  # in the Responses API, a call may be anywhere before
        "drop-orphan-results",
        RESPONSES,
        [item("a"), user("Hi"), written("Ho"), output("a"), output("b")],
        [item("a"), user("Hi"), written("Ho"), output("a")],
        ["dropped tool_result"],
    ),
    (
        "results-first",
        ANTHROPIC,
        [written([use("a"), use("b")]), user([text("So?"), result("b"), result("a")])],
        [written([use("a"), use("b")]), user([result("a"), result("b"), text("So?")])],
        ["moved message.position", "moved message.position"],
    ),
    (  # a group that stands where it should is left in its order
        "results-first",
        CHAT,
        [calls(call("a"), call("b")), tool("b"), tool("a")],
        [calls(call("a"), call("b")), tool("b"), tool("a")],
        [],
    ),
    (
        "results-first",
        CHAT,
        [calls(call("a")), user("Well?"), written("Wait."), tool("a")],
        [calls(call("a")), tool("a"), user("Well?"), written("Wait.")],
        ["moved message.position"],
    ),
    (
        "calls-last",
        ANTHROPIC,
        [written([use("a"), text("Looking.")]), user([result("a")])],
        [written([text("Looking."), use("a")]), user([result("a")])],
        ["moved content.order"],
    ),
    (  # consecutive messages of the assistant are one turn
        "calls-last",
        ANTHROPIC,
        [written([use("a")]), written("Looking."), user([result("a")])],
        [written([text("Looking."), use("a")]), user([result("a")])],
        ["approximated message.boundary", "moved content.order"],
    ),
    (
        "drop-empty-text",
        ANTHROPIC,
        [user([text(""), text("Hi")]), written([BLANK, use("a")]), user([result("a", "")])],
        [user("Hi"), written([use("a")]), user([{"type": "tool_result", "tool_use_id": "a"}])],
        ["dropped text.empty", "dropped text.empty", "dropped text.empty"],
    ),
    (
        "drop-empty-text",
        ANTHROPIC,
        [user([text("", cache_control={"type": "ephemeral"}), text("Hi")])],
        [user("Hi")],
        ["dropped text.empty", "dropped cache"],
    ),
    (
        "drop-empty-messages",
        ANTHROPIC,
        [user("Hi"), written(""), user([]), user([BLANK]), written("Ho")],
        [user("Hi"), written("Ho")],
        ["dropped message.empty", "dropped message.empty", "dropped message.empty"],
    ),
    ("drop-empty-messages", ANTHROPIC, [user("")], [user("")], []),
    (
        "merge-same-role",
        ANTHROPIC,
        [user("Hi"), user([text("there")]), written("Ho")],
        [user(text("Hi"), text("there")), written("Ho")],
        ["approximated message.boundary"],
    ),
    (
        "merge-same-role",
        CHAT,
        [user("Hi") | {"name": "Ann"}, user("Ho") | {"name": "Bob"}],
        [user("Hi") | {"name": "Ann"}, user("Ho") | {"name": "Bob"}],
        [],
    ),
    (
        "dedupe-tool-ids",
        ANTHROPIC,
        [
            written([use("a"), use("a")]),
            user([result("a", "1"), result("a", "2")]),
            written([use("a")]),
            user([result("a", "3")]),
        ],
        [
            written([use("a"), use("a_2")]),
            user([result("a", "1"), result("a_2", "2")]),
            written([use("a_3")]),
            user([result("a_3", "3")]),
        ],
        ["renamed tool_call.id"] * 4,
    ),
    (
        "legal-tool-ids",
        ANTHROPIC,
        [written([use("functions.f:0")]), user([result("functions.f:0")])],
        [written([use("functions_f_0_d6bdd4de32")]), user([result("functions_f_0_d6bdd4de32")])],
        ["renamed tool_call.id", "renamed tool_call.id"],
    ),
    (
        "pair-results",
        CHAT,
        [calls(call("a"), call("b")), tool("b"), {"role": "tool", "content": "1"}],
        [calls(call("a"), call("b")), tool("b"), {"role": "tool", "content": "1"} | tool("a")],
        ["invented tool_call.id"],
    ),
    (
        "fix-arguments",
        CHAT,
        [calls(call("a", '{"x": [1,], "y": "cut o'), call("b", ""), call("c", "nonsense"))],
        [calls(call("a", '{"x": [1], "y": "cut o"}'), call("b", "{}"), call("c", "nonsense"))],
        ["approximated tool_call.arguments", "approximated tool_call.arguments"],
    ),
    (
        "strip-foreign-reasoning",
        ANTHROPIC,
        [
            written(
                {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                {"type": "thinking", "thinking": "Hm!", "signature": ""},
                text("Ho"),
            )
        ],
        [written({"type": "thinking", "thinking": "Hm.", "signature": "s"}, text("Ho"))],
        ["dropped reasoning"],
    ),
    (
        "drop-lone-reasoning",
        RESPONSES,
        [{"type": "reasoning", "id": "rs_1", "summary": []}, user("Hi")],
        [user("Hi")],
        ["dropped reasoning"],
    ),
    (
        "complete-reasoning",
        RESPONSES,
        [{"type": "reasoning", "encrypted_content": "e"}],
        [{"type": "reasoning", "encrypted_content": "e", "summary": []}],
        ["invented reasoning.summary"],
    ),
    (
        "drop-item-ids",
        RESPONSES,
        [item("a") | {"id": "call_1"}, output("a")],
        [item("a"), output("a")],
        ["dropped tool_call.item_id"],
    ),
    (
        "trim-final-text",
        ANTHROPIC,
        [user("Hi"), written("The answer is \n")],
        [user("Hi"), written("The answer is")],
        ["approximated text.space"],
    ),
]


@pytest.mark.parametrize(("name", "dialect", "messages", "expected", "losses"), CASES)
def test_pass(
    name: str, dialect: str, messages: list[Any], expected: list[Any], losses: list[str]
) -> None:
    before = json.dumps(messages)
    assert repaired(dialect, messages, [name]) == (expected, losses)
    assert repaired(dialect, expected, [name]) == (expected, [])
    assert json.dumps(messages) == before, "the input is never changed"


def test_every_pass_has_a_case() -> None:
    tested = {case[0] for case in CASES}
    # Those have tests of their own, here or in test_models.py.
    elsewhere = {"limit-cache-marks", "legal-tool-names", "fit-model", "disable-thinking"}
    assert tested | elsewhere == set(PASSES)


def test_thinking_is_disabled_where_a_loop_lost_its_block() -> None:
    config = {"type": "enabled", "budget_tokens": 1024}
    messages = [user("Hi"), written([use("a")]), user([result("a")])]
    more = {"max_tokens": 2000, "tools": [{"name": "f", "input_schema": {"type": "object"}}]}
    doc = ask(ANTHROPIC, messages, **more, thinking=config)
    assert [problem.rule for problem in check(doc, ANTHROPIC)] == ["thinking-missing"]
    repaired = repair(doc, ANTHROPIC)
    assert repaired.document == ask(ANTHROPIC, messages, **more)
    assert [f"{loss.kind} {loss.what}" for loss in repaired.losses] == ["dropped thinking"]
    kept = [written([{"type": "thinking", "thinking": "Hm.", "signature": "s"}, use("a")])]
    doc = ask(ANTHROPIC, [messages[0], *kept, messages[2]], **more, thinking=config)
    assert repair(doc, ANTHROPIC).document == doc


@pytest.mark.parametrize(
    ("options", "messages", "rule", "loss"),
    [
        ({"tool_choice": {"type": "any"}}, [], "thinking-choice", "approximated tool_choice"),
        ({}, [written("So")], "thinking-missing", "dropped thinking"),
    ],
)
def test_what_excludes_thinking_is_repaired(
    options: dict[str, Any], messages: list[Any], rule: str, loss: str
) -> None:
    config = {"type": "enabled", "budget_tokens": 1024}
    more = {"max_tokens": 2000, "tools": [{"name": "f", "input_schema": {"type": "object"}}]}
    doc = ask(ANTHROPIC, [user("Hi"), *messages], **more, **options, thinking=config)
    assert [problem.rule for problem in check(doc, ANTHROPIC)] == [rule]
    repaired = repair(doc, ANTHROPIC)
    assert check(repaired.document, ANTHROPIC) == []
    assert [f"{each.kind} {each.what}" for each in repaired.losses] == [loss]


def test_cache_marks_go_in_a_stated_order() -> None:
    mark: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}
    doc = ask(
        ANTHROPIC,
        [
            user([text("1", **mark), text("2", **mark)]),
            written([text("3", **mark), use("a", **mark)]),
            user([{**result("a"), **mark}]),
        ],
        tools=[{"name": "f", "input_schema": {"type": "object"}, **mark}],
        system=[text("Be brief.", **mark)],
    )
    result_ = repair(doc, ANTHROPIC)
    assert [loss.path for loss in result_.losses] == [
        "/messages/0/content/0/cache_control",
        "/messages/0/content/1/cache_control",
        "/messages/1/content/0/cache_control",
    ]
    assert check(result_.document, ANTHROPIC) == []
    crowded = doc | {"system": [text(str(n), **mark) for n in range(5)]}
    paths = [loss.path for loss in repair(crowded, ANTHROPIC).losses]
    assert paths[:2] == ["/tools/0/cache_control", "/system/0/cache_control"]
    assert "/messages/2/content/0/cache_control" not in paths, "the newest stays"


def test_names_of_tools_change_everywhere() -> None:
    doc = ask(
        CHAT,
        [user("Hi"), calls(call("a", name="my tool")), tool("a")],
        tools=[{"type": "function", "function": {"name": "my tool"}}],
        tool_choice={"type": "function", "function": {"name": "my tool"}},
    )
    done = repair(doc, CHAT)
    new = done.document["tools"][0]["function"]["name"]
    assert new == "my_tool_" + new[-10:]
    assert done.document["tool_choice"]["function"]["name"] == new
    assert done.document["messages"][1]["tool_calls"][0]["function"]["name"] == new
    assert {loss.what for loss in done.losses} == {"tool.name"}
    assert check(done.document, CHAT) == []


# -- without names, what check finds is repaired --------------------------------------------------


def test_what_is_broken_is_repaired() -> None:
    doc = ask(
        ANTHROPIC,
        [
            user([text(""), text("Hi")]),
            written([use("a.1"), text("Looking."), use("b")]),
            user([text("Well?"), result("b")]),
            written(""),
            user([result("gone", "2")]),
        ],
    )
    done = repair(doc, ANTHROPIC)
    assert check(done.document, ANTHROPIC) == []
    assert {f"{loss.kind} {loss.what}" for loss in done.losses} == {
        "dropped text.empty",
        "dropped message.empty",
        "renamed tool_call.id",
        "moved content.order",
        "moved message.position",
        "invented tool_result",
        "approximated message.role",
    }


def test_what_is_whole_is_left_alone() -> None:
    doc = ask(CHAT, [user(""), user(""), written(""), calls(call("a", "")), tool("a")])
    done = repair(doc, CHAT)
    assert done.document is doc
    assert done.losses == ()


def test_what_the_server_holds_is_not_missing() -> None:
    for more in ({"previous_response_id": "resp_1"}, {"conversation": "conv_1"}):
        doc = ask(RESPONSES, [output("a"), item("b")], **more)
        assert repair(doc, RESPONSES, passes=list(PASSES)).document == doc
    doc = ask(ANTHROPIC, [user([result("a")])], thread={"type": "continue"})
    assert repair(doc, ANTHROPIC).document == doc


def test_a_history_may_wait_for_its_results() -> None:
    history = [user("Hi"), written([use("a")])]
    assert repair(history, ANTHROPIC, facet="messages").losses == ()
    assert repair(ask(ANTHROPIC, history), ANTHROPIC).losses != ()


def test_policy_and_limits() -> None:
    doc = ask(CHAT, [calls(call("a"))])
    with pytest.raises(Lossy):
        repair(doc, CHAT, fail_on=["invented"])
    with pytest.raises(Unsupported, match="unknown pass"):
        repair(doc, CHAT, passes=["mend-everything"])
    with pytest.raises(Unsupported, match="repair supports the facets"):
        repair({}, CHAT, facet="error")
    assert [name for name, _ in repair_passes()] == list(PASSES)


def test_a_pass_repairs_rules_that_exist() -> None:
    known = {rule for name in names() for rule in getattr(get(name), "rules", ())}
    known |= MODEL_RULES.keys()
    for each in PASSES.values():
        assert each.repairs <= known


# -- laws -----------------------------------------------------------------------------------------

ids = st.sampled_from(["a", "b", "c.1", LONG])
words = st.sampled_from(["", " ", "Hi", "Ho\n"])
texts = words.map(text)
arguments = st.sampled_from(["{}", "", '{"a": 1,}', "{broken", '{"a": "b'])
chat_messages = st.one_of(
    words.map(user),
    words.map(written),
    st.lists(st.builds(call, ids, arguments), min_size=1, max_size=3).map(lambda c: calls(*c)),
    st.builds(tool, ids, words),
    words.map(lambda w: {"role": "tool", "content": w}),
    words.map(lambda w: {"role": "system", "content": w}),
)
reasoning = st.sampled_from(
    [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "thinking", "thinking": "Hm.", "signature": ""},
    ]
)
marked = words.map(lambda w: text(w, cache_control={"type": "ephemeral"}))
anthropic_messages = st.one_of(
    words.map(user),
    words.map(written),
    st.lists(texts | marked | ids.map(use) | reasoning, max_size=4).map(lambda c: written(list(c))),
    st.lists(texts | marked | st.builds(result, ids, words), max_size=4).map(
        lambda c: user(list(c)) | {"note": 1}
    ),
    words.map(lambda w: {"role": "system", "content": w}),
)
items = st.one_of(
    words.map(user),
    words.map(written),
    st.builds(item, ids, arguments),
    st.builds(output, ids, words),
    st.sampled_from(
        [
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "reasoning", "id": "x", "encrypted_content": "e"},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
        ]
    ),
    st.just({"type": "message", "id": "x", "role": "assistant", "content": [
        {"type": "output_text", "text": "Ho", "annotations": []}]}),
)  # fmt: skip
conversations = st.one_of(
    # a leading system message is the system prompt in the tree, wherever it stood
    st.tuples(
        st.just(ANTHROPIC),
        st.lists(anthropic_messages, max_size=7).map(lambda m: [user("Hi"), *m]),
    ),
    st.tuples(st.just(CHAT), st.lists(chat_messages, max_size=7)),
    st.tuples(st.just(RESPONSES), st.lists(items, max_size=7)),
)
MENDABLE = {rule for each in PASSES.values() for rule in each.repairs} - {
    "arguments",  # some text is beyond repairing
    "empty-message",  # nothing but empty messages is left
    "empty-text",
}


@settings(max_examples=examples(200), deadline=None)
@given(conversations)
def test_a_repair_repairs_what_it_can_and_is_done(conversation: tuple[str, list[Any]]) -> None:
    dialect, messages = conversation
    doc = ask(dialect, messages)
    done = repair(doc, dialect)
    left = {problem.rule for problem in check(done.document, dialect)}
    assert not left & MENDABLE
    again = repair(done.document, dialect)
    assert again.document == done.document
    assert again.losses == ()
    if not check(doc, dialect):
        assert done.document is doc


CORPUS = [
    document
    for case in testing.load_corpus(places.CORPUS)
    for document in case.documents
    if document.facet in ("request", "messages")
]


def changed(body: Any, rng: Random) -> Any:
    """A document with up to three of its values broken, and items of its lists left out or twice.

    So calls lose their results, and turns their neighbours.
    """
    body = json.loads(json.dumps(body))
    for _ in range(rng.randrange(4)):
        body = testing.broken_once(body, rng.randrange)
    lists: list[Any] = []
    waiting = [body]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list) and value:
            lists.append(value)
            waiting += value
        elif isinstance(value, dict):
            waiting += value.values()
    for value in rng.sample(lists, min(len(lists), rng.randrange(3))):
        place = rng.randrange(len(value))
        value[place : place + 1] = [value[place]] * rng.choice((0, 2))
    return json.loads(json.dumps(body))


@pytest.mark.parametrize("document", CORPUS, ids=lambda document: document.name)
def test_a_repair_done_twice_is_done_once(document: testing.Document) -> None:
    """Of the corpus, and of what is left of it after some accidents."""
    rng = Random(document.name)
    for body in (document.body, *(changed(document.body, rng) for _ in range(8))):
        try:
            once = repair(body, document.dialect, facet=document.facet)
        except DragomanError:
            continue
        again = repair(once.document, document.dialect, facet=document.facet)
        assert json.dumps(again.document) == json.dumps(once.document)
        assert again.losses == ()


def test_a_part_stands_alone_where_the_message_that_held_it_is_none_any_more() -> None:
    """A result is put after the first one, and the rest of its message follows."""
    uses: list[Any] = [
        {"type": "tool_use", "id": n, "name": "f", "input": {}} for n in ("call_1", "call_2")
    ]
    first = {"type": "tool_result", "tool_use_id": "call_1", "content": "72"}
    rest = {"type": "", "tool_use_id": "call_2", "content": "no such place"}
    doc = {
        "model": "m",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
            {"role": "assistant", "content": uses},
            {"role": "user", "content": [first, rest]},
        ],
    }
    once = repair(doc, "router-responses")
    assert "no such place" in json.dumps(once.document)
    assert repair(once.document, "router-responses").losses == ()


def test_a_reference_to_a_tool_that_is_no_name_is_a_problem() -> None:
    (document,) = [d for d in CORPUS if d.name == "tool-reference/anthropic-messages.request"]
    body = json.loads(
        json.dumps(document.body).replace('"tool_name": "', '"tool_name": {}, "x": "')
    )
    assert "tool-reference" in {problem.rule for problem in check(body, ANTHROPIC)}


@settings(max_examples=examples(200), deadline=None)
@given(conversations, st.lists(st.sampled_from(list(PASSES)), min_size=1, max_size=3))
def test_a_named_pass_done_twice_is_done_once(
    conversation: tuple[str, list[Any]], names: list[str]
) -> None:
    dialect, messages = conversation
    doc = ask(dialect, messages)
    for name in names:
        once = repair(doc, dialect, passes=[name])
        twice = repair(once.document, dialect, passes=[name])
        assert twice.document == once.document
        assert twice.losses == ()
        assert (once.document == doc) == (not once.losses), "a change and its entry come together"
        doc = once.document


@given(st.text() | st.dictionaries(st.text(), st.text(max_size=5), max_size=3).map(json.dumps))
def test_mending_json_is_total_and_leaves_objects_whole(text_: str) -> None:
    repaired_ = repair_object(text_)
    if repaired_ is not None:
        assert isinstance(json.loads(repaired_), dict)


@given(st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=6), max_size=4))
def test_cut_json_loses_only_its_end(value: dict[str, Any]) -> None:
    whole = json.dumps(value)
    for end in range(1, len(whole)):
        repaired_ = repair_object(whole[:end])
        if repaired_ is not None:
            found = json.loads(repaired_)
            assert list(found) == list(value)[: len(found)]
            assert all(found[key] == value[key] for key in list(found)[:-1])
