"""What training records share that look like Chat Completions: TRL's and OpenAI's.

Every form is read and written without its source, so that the writers have to spell it themselves.
"""

from __future__ import annotations

from typing import Any

import pytest

import dragoman
from dragoman import Malformed, dialects
from dragoman.ledger import Ledger
from dragoman.model import (
    Extras,
    History,
    Message,
    Raw,
    Reasoning,
    Request,
    Text,
    Tool,
    Toolbox,
    ToolCall,
    ToolResult,
)

USER = {"role": "user", "content": "Hi"}
FUNCTION = {"name": "f", "arguments": {"a": 1}}
CALLED = {"id": "c", "type": "function", "function": FUNCTION}
CALLS: dict[str, Any] = {"role": "assistant", "tool_calls": [CALLED]}


def read(messages: list[Any], dialect: str = "trl") -> tuple[Message, ...]:
    tree = dialects.get(dialect).read(messages, "messages")
    assert isinstance(tree, History)
    assert tree.dialect == dialect
    return tree.messages


def rewritten(messages: Any, dialect: str = "trl", facet: str = "messages") -> Any:
    """A document as the writer spells it, without a look at the source."""
    speaker, log = dialects.get(dialect), Ledger()
    document = speaker.write(speaker.read(messages, facet), log)
    assert not log.losses
    return document


def converted(tree: Any, target: str = "trl") -> tuple[Any, list[str]]:
    """Messages from elsewhere as messages of a record, and what is lost of them."""
    log = Ledger()
    document = dialects.get(target).write(tree, log)
    return document, [f"{x.kind} {x.what} {x.path}" for x in log.losses]


# -- what comes back ----------------------------------------------------------------------------

SPELLINGS: dict[str, list[Any]] = {
    "reasoning": [USER, {"role": "assistant", "reasoning_content": "Hm.", "content": "Hi."}],
    "thinking": [USER, {"role": "assistant", "thinking": "Hm.", "content": "Hi."}],
    "reasoning by its third name": [USER, {"role": "assistant", "reasoning": "Hm."}],
    "two names of reasoning": [
        {"role": "assistant", "thinking": "Hm.", "reasoning": "Well.", "content": "Hi."}
    ],
    "a call": [USER, CALLS, {"role": "tool", "name": "g", "tool_call_id": "c", "content": "1"}],
    "a call without id": [{**CALLS, "tool_calls": [{"type": "function", "function": FUNCTION}]}],
    "calls that say more": [
        {**CALLS, "tool_calls": [{**CALLED, "index": 0, "function": {**FUNCTION, "x": 1}}]}
    ],
    "a call of another type": [{**CALLS, "tool_calls": [{**CALLED, "type": "other"}]}],
    "a result without anything": [{"role": "tool"}],
    "a result of nobody": [{"role": "tool", "tool_call_id": "c", "name": "f", "x": 1}],
    "a text with more": [
        {"role": "user", "content": [{"type": "text", "text": "A", "x": 1}]},
    ],
    "a part that is unknown": [
        {"role": "user", "content": [{"type": "text", "text": "A"}, {"type": "x", "x": 1}]},
        {"role": "assistant", "content": [{"type": "x"}]},
    ],
    "no content": [{"role": "user"}, {"role": "assistant"}, {"role": "system", "x": 1}],
    "roles": [{"role": role, "content": "A"} for role in ("system", "developer", "user")],
    "a name": [{"role": "user", "content": "A", "name": "n"}],
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_record_is_written_as_it_was(spelling: str) -> None:
    messages = SPELLINGS[spelling]
    assert rewritten(messages) == messages
    wrapped = {"messages": messages, "x": 1}
    assert rewritten(wrapped) == wrapped
    assert rewritten({"messages": messages}, facet="request") == {"messages": messages}


TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "f"}},
    {"type": "function", "function": {"name": "f", "description": "F.", "parameters": {}}},
    {"type": "function", "function": {"name": "f", "x": 1}, "y": 2},
    {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "x-y": 1}}},
]


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_is_written_as_it_was(tool: Any) -> None:
    assert rewritten([tool], facet="tools") == [tool]
    record = {"messages": [USER], "tools": [tool, *TOOLS]}
    assert rewritten(record, facet="request") == record


def toolbox(document: Any, facet: str) -> tuple[Tool, ...]:
    tree = dialects.get("trl").read(document, facet)
    assert isinstance(tree, Request | Toolbox)
    assert tree.dialect == "trl"
    assert tree.tools is not None
    return tree.tools


def test_a_tool_without_its_wrapper() -> None:
    inner = {"name": "f", "description": "F.", "parameters": {"type": "object"}}
    (tool,) = toolbox([inner], "tools")
    assert tool == Tool("f", "F.", {"type": "object"}, at="/0", schema_at="/parameters")
    assert rewritten([inner], facet="tools") == [{"type": "function", "function": inner}]
    (more,) = toolbox([{**inner, "x": 1}], "tools")
    assert more.extras == Extras("trl", {"x": 1})
    wrapped = [{"type": "function", "function": inner}]
    (tool,) = toolbox(wrapped, "tools")
    assert (tool.schema_at, tool.extras) == ("/function/parameters", None)
    (bare,) = toolbox(TOOLS[:1], "tools")
    assert (bare.schema, bare.schema_at) == (None, None)


def test_no_tools() -> None:
    assert toolbox([], "tools") == ()
    assert rewritten([], facet="tools") == []
    record = {"messages": [USER], "tools": []}
    assert rewritten(record, facet="request") == record
    assert rewritten({"messages": [USER]}, facet="request") == {"messages": [USER]}


# -- what is read, and where it stands ----------------------------------------------------------


def test_the_blocks_of_a_reply_and_their_places() -> None:
    reply = {"role": "assistant", "thinking": "Hm.", "content": "Hi.", "tool_calls": [CALLED]}
    (message,) = read([reply])
    reasoning, text, call = message.content
    assert isinstance(reasoning, Reasoning)
    assert (reasoning.content, reasoning.at) == (("Hm.",), "/0/thinking")
    assert text == Text("Hi.", at="/0/content")
    assert call == ToolCall("c", "f", '{"a":1}', at="/0/tool_calls/0")
    assert (message.at, message.extras) == ("/0", None)
    (message,) = read([{**reply, "reasoning_content": "Aha."}])
    assert message.content[0] == Reasoning(("Aha.",), at="/0/reasoning_content")
    assert message.extras is not None
    assert message.extras.fields == {"thinking": "Hm."}


@pytest.mark.parametrize("key", ["reasoning_content", "thinking", "reasoning"])
def test_each_name_of_reasoning(key: str) -> None:
    (message,) = read([{"role": "assistant", key: "Hm.", "content": "Hi."}])
    assert message.content[0] == Reasoning(
        ("Hm.",), at=f"/0/{key}", extras=message.content[0].extras
    )
    assert message.extras is None


@pytest.mark.parametrize("blank", ["", None, 5])
def test_what_is_no_reasoning(blank: Any) -> None:
    (message,) = read([{"role": "assistant", "reasoning_content": blank, "content": "Hi."}])
    assert message.content == (Text("Hi.", at="/0/content"),)


def test_an_empty_text_beside_calls_or_reasoning_is_none() -> None:
    assert [b.__class__ for b in read([CALLS])[0].content] == [ToolCall]
    for empty in ("", [{"type": "text", "text": ""}]):
        (message,) = read([{"role": "assistant", "thinking": "Hm.", "content": empty}])
        assert [b.__class__ for b in message.content] == [Reasoning]
        (message,) = read([{"role": "assistant", "content": empty}])
        assert [b.__class__ for b in message.content] == [Text]


@pytest.mark.parametrize(
    ("given", "arguments"),
    [({"a": 1}, '{"a":1}'), ('{"a": 1}', '{"a": 1}'), (None, ""), ([], "[]")],
)
def test_arguments_in_any_form(given: Any, arguments: str) -> None:
    for call in (
        {"function": {"name": "f", "arguments": given}},
        {"name": "f", "arguments": given},
    ):
        (message,) = read([{"role": "assistant", "tool_calls": [call]}])
        assert message.content == (ToolCall(None, "f", arguments, at="/0/tool_calls/0"),)


def test_parts_of_a_message() -> None:
    texts = [{"type": "text", "text": "A"}, {"type": "text", "text": 5}, {"type": "x", "text": "B"}]
    (message,) = read([{"role": "user", "content": texts}])
    assert message.content == (
        Text("A", at="/0/content/0"),
        Raw("trl", texts[1], at="/0/content/1"),
        Raw("trl", texts[2], at="/0/content/2"),
    )
    (message,) = read([{"role": "user", "content": None}])
    assert message.content == ()


MARKED = "[tool error] no"


@pytest.mark.parametrize(
    ("content", "texts", "failed"),
    [
        ("1", ["1"], None),
        (MARKED, ["no"], True),
        ("[tool error]", [], True),
        (None, [], None),
        ([], [], None),
        ([{"type": "text", "text": MARKED}, {"type": "text", "text": "B"}], ["no", "B"], True),
        ([{"type": "text", "text": "A"}, {"type": "text", "text": MARKED}], ["A", MARKED], None),
        ([{"type": "text", "text": "[tool error]"}, {"type": "text", "text": "B"}], ["B"], True),
    ],
)
def test_a_result_that_failed(content: Any, texts: list[str], failed: bool | None) -> None:
    (message,) = read([{"role": "tool", "tool_call_id": "c", "name": "f", "content": content}])
    (result,) = message.content
    assert isinstance(result, ToolResult)
    assert [b.text for b in result.content if isinstance(b, Text)] == texts
    assert (result.is_error, result.call_id, result.name) == (failed, "c", "f")
    assert (result.at, message.at, message.role, result.extras) == ("/0", "/0", "tool", None)


def test_the_name_of_a_result_is_that_of_its_call() -> None:
    """It says nothing new then, and is written all the same: templates without ids need it."""
    result = {"role": "tool", "name": "f", "tool_call_id": "c", "content": "1"}
    heard = read([CALLS, result, {**result, "name": "g"}, {**result, "tool_call_id": "d"}])
    names = [b.name for m in heard for b in m.content if isinstance(b, ToolResult)]
    assert names == [None, "g", "f"]
    assert rewritten([CALLS, result]) == [CALLS, result]
    bare = {k: v for k, v in result.items() if k != "name"}
    assert rewritten([CALLS, bare]) == [CALLS, result]


FAULTS: list[tuple[Any, str, str]] = [
    ([5], "messages", "/0"),
    ([USER, {"content": "A"}], "messages", "/1"),
    ([{"role": "nobody"}], "messages", "/0"),
    ([{"role": "user", "content": 5}], "messages", "/0/content"),
    ([{"role": "user", "content": ["A"]}], "messages", "/0/content/0"),
    ([{"role": "assistant", "tool_calls": 5}], "messages", "/0/tool_calls"),
    ([{"role": "assistant", "tool_calls": [CALLED, 5]}], "messages", "/0/tool_calls/1"),
    ([{"role": "assistant", "tool_calls": [{"function": {}}]}], "messages",
     "/0/tool_calls/0/function"),
    ([{"role": "assistant", "tool_calls": [{"arguments": {}}]}], "messages", "/0/tool_calls/0"),
    ([{"role": "assistant", "tool_calls": [{"id": 5, "name": "f"}]}], "messages",
     "/0/tool_calls/0/id"),
    ([{"role": "tool", "tool_call_id": 5}], "messages", "/0/tool_call_id"),
    ([{"role": "tool", "name": 5}], "messages", "/0/name"),
    ([5], "tools", "/0"),
    ([TOOLS[0], {}], "tools", "/1"),
    ([{"function": {}}], "tools", "/0/function"),
    ([{"function": {"name": "f", "description": 5}}], "tools", "/0/function/description"),
    ([{"name": "f", "description": 5}], "tools", "/0/description"),
    ({"messages": [USER], "tools": [5]}, "request", "/tools/0"),
    ({"messages": [USER], "tools": 5}, "request", "/tools"),
    ({"messages": [USER], "tools": "[5]"}, "request", "/tools"),
    ({"messages": [USER], "tools": "{}"}, "request", "/tools"),
]  # fmt: skip


@pytest.mark.parametrize(("document", "facet", "at"), FAULTS)
def test_what_makes_no_sense_is_refused_at_its_place(document: Any, facet: str, at: str) -> None:
    with pytest.raises(Malformed) as raised:
        dialects.get("trl").read(document, facet)
    assert raised.value.at.removesuffix("/role").removesuffix("/name") == at.removesuffix("/name")


def test_a_role_that_nobody_has() -> None:
    with pytest.raises(Malformed, match="system, developer, user, assistant, tool"):
        read([{"role": "nobody"}])


def test_tools_as_text_have_no_places_of_their_own() -> None:
    tools = '[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]'
    (tool,) = toolbox({"messages": [USER], "tools": tools}, "request")
    assert (tool.name, tool.at, tool.schema_at) == ("f", "/tools", None)


# -- what is written for others -----------------------------------------------------------------


def test_what_stands_beside_the_content() -> None:
    thought = Reasoning(("One.", "Two."), at="/a")
    more = Reasoning(("Three.",), at="/b")
    blocks = (thought, more, Text("A", at="/c"), Text("B", at="/d"))
    document, lost = converted(History((Message("assistant", blocks, at="/0"),), dialect="native"))
    assert document == [
        {"role": "assistant", "reasoning_content": "One.\n\nTwo.\n\nThree.", "content": "A\nB"}
    ]
    assert "approximated text.boundary /d" in lost
    document, lost = converted(History((Message("assistant", blocks[:3], at="/0"),), dialect="trl"))
    assert document[0]["reasoning_content"] == "One.\n\nTwo.\n\nThree."
    assert lost == ["approximated text.boundary /b"]
    silent = Reasoning((), at="/a")
    written = Message("assistant", (silent, Text("A", at="/c")), at="/0")
    document, _ = converted(History((written,), dialect="native"))
    assert document == [{"role": "assistant", "content": "A"}]


def test_a_result_names_its_tool() -> None:
    call = ToolCall("c", "f", "{}", at="/0/0")
    told = ToolResult("c", (Text("A", at="/1/0"), Text("B", at="/1/1")), at="/1")
    named = ToolResult("c", (Text("A", at="/1/0"),), name="g", at="/1")
    for result, name, content in ((told, "f", "A\nB"), (named, "g", "A")):
        turns = (Message("assistant", (call,), at="/0"), Message("tool", (result,), at="/1"))
        document, _ = converted(History(turns, dialect="native"))
        written = {"role": "tool", "name": name, "tool_call_id": "c", "content": content}
        assert document[1] == written
        assert list(document[1]) == list(written)


def test_arguments_are_objects() -> None:
    for given, written in (('{"a":[1]}', {"a": [1]}), ("", {}), ("  ", {})):
        turn = Message("assistant", (ToolCall("c", "f", given, at="/0/0"),), at="/0")
        document, lost = converted(History((turn,), dialect="native"))
        assert document[0]["tool_calls"][0]["function"] == {"name": "f", "arguments": written}
        assert document[0]["content"] == ""
        assert lost == []


def test_long_names_and_ids_stay() -> None:
    """Nothing limits them here."""
    long = "n " * 5000
    call = {"id": long, "type": "function", "function": {"name": long, "arguments": "{}"}}
    request = {"model": "m", "messages": [USER, {"role": "assistant", "tool_calls": [call]}]}
    result = dragoman.convert(request, source="openai-chat", target="trl")
    (written,) = result.document["messages"][1]["tool_calls"]
    assert (written["id"], written["function"]["name"]) == (long, long)


def test_a_message_of_which_nothing_is_left() -> None:
    foreign = Raw("gemini", {"x": 1}, at="/1/0")
    turns = (Message("user", (Text("Hi", at="/0"),), at="/0"), Message("user", (foreign,), at="/1"))
    document, lost = converted(History(turns, dialect="native"))
    assert document == [USER]
    assert lost == ["dropped content.role /1/0", "dropped message.empty /1"]


def test_only_results_stand_in_a_tool_message() -> None:
    tree = History((Message("tool", (Text("A", at="/0/0"),), at="/0"),), dialect="trl")
    with pytest.raises(Malformed) as raised:
        dialects.get("trl").write(tree, Ledger())
    assert raised.value.at == "/0/0"


def test_texts_of_an_edited_record_stand_on_lines_of_their_own() -> None:
    """Where there was one text are several now."""
    content = (Text("A", at="/0/content/0"), Text("B", at="/0/content/1"))
    tree = History((Message("user", content, at="/0"),), dialect="trl")
    assert converted(tree) == ([{"role": "user", "content": "A\nB"}], [])
    heard = Message("tool", (ToolResult("c", content, at="/0"),), at="/0")
    document, _ = converted(History((heard,), dialect="trl"))
    assert document == [{"role": "tool", "tool_call_id": "c", "content": "A\nB"}]


def test_keys_of_others_are_lost() -> None:
    messages = [{**USER, "x": 1}, {**CALLS, "x": 1, "tool_calls": [{**CALLED, "x": 1}]}]
    messages.append({"role": "tool", "tool_call_id": "c", "name": "f", "content": "1", "x": 1})
    tools = [{"type": "function", "function": {"name": "f", "x": 1}}]
    record = {"messages": messages, "tools": tools, "x": 1}
    result = dragoman.convert(record, source="trl", target="openai-finetune")
    assert sorted(x.path for x in result.losses if x.what == "extras") == [
        "/messages/0/x", "/messages/1/tool_calls/0/x", "/messages/1/x", "/messages/2/x",
        "/tools/0/function/x", "/x",
    ]  # fmt: skip


def test_freeform_calls_and_tools_are_functions() -> None:
    call = ToolCall("c", "f", "x", "custom", at="/c")
    for dialect in ("native", "trl"):
        document, _ = converted(History((Message("assistant", (call,)),), dialect=dialect))
        (written,) = document[0]["tool_calls"]
        assert written["function"] == {"name": "f", "arguments": {"input": "x"}}
        tool = Tool("f", "F.", kind="custom", at="/t")
        ((defined,), _) = converted(Toolbox((tool,), dialect=dialect))
        assert defined["function"]["parameters"]["required"] == ["input"]
    (back,) = read([{"role": "assistant", "tool_calls": [written]}])
    assert isinstance(back.content[0], ToolCall)


def test_keys_of_a_message_of_which_nothing_is_left() -> None:
    foreign = Extras("gemini", {"x": 1})
    empty = Message("user", (Raw("gemini", {}, at="/b"),), at="/u", extras=foreign)
    heard = ToolResult("c", (Text("1"),), name="f", at="/r", extras=Extras("gemini", {"y": 1}))
    result = Message("tool", (heard,), at="/m", extras=foreign)
    _, lost = converted(History((Message("user", (Text("Hi"),)), empty, result), dialect="native"))
    assert [e for e in lost if "extras" in e] == [
        "dropped extras /u/x", "dropped extras /m/x", "dropped extras /r/y",
    ]  # fmt: skip
