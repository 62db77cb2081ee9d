"""Design 000: replies of the Anthropic Messages API as training lines for FunctionGemma."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

import dragoman
from dragoman.dialects.functiongemma_teaching import say_number
from dragoman.model import Response, Text, ToolCall, ToolResult

SYSTEM = "You are a semantic code analysis assistant."
TOOL = {
    "name": "select_symbols",
    "description": "Select relevant symbols from candidates.",
    "input_schema": {
        "type": "object",
        "properties": {"selected": {"type": "array", "description": "Array of selected symbols."}},
        "required": ["selected"],
    },
}
DESIGNED = """\
<start_of_turn>developer
You are a semantic code analysis assistant.
You have access to the following functions:

<start_function_declaration>select_symbols
Select relevant symbols from candidates.
Parameters:
  selected (array): Array of selected symbols. (required)
<end_function_declaration>

<end_of_turn>
<start_of_turn>user
Context here
<end_of_turn>
<start_of_turn>model
/* Selecting symbols... */
<start_function_call>
call:select_symbols{selected:<escape>Foo,Bar<escape>}
<end_function_call>
<end_of_turn>
"""


def written(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def called(arguments: Any, name: str = "select_symbols") -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments}


def reply(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "type": "message", "content": list(content)}


def lesson(
    *content: Any,
    user: str = "Context here",
    target: str = "functiongemma-teaching",
    losses: Sequence[str] | None = None,
) -> str:
    """The design's ``anthropicToFunctionGemma``: the request joined with its reply, converted."""
    request = {
        "model": "m",
        "max_tokens": 9,
        "system": SYSTEM,
        "tools": [TOOL],
        "messages": [{"role": "user", "content": user}],
    }
    joined = dragoman.join(request, reply(*content), dialect="anthropic-messages")
    result = dragoman.convert(joined.document, source="anthropic-messages", target=target)
    if losses is not None:  # those of the request are the same for all
        found = [x for x in result.losses if x.path.startswith("/messages/1")]
        assert [f"{x.kind} {x.what} {x.path}" for x in found] == list(losses)
    line = result.to_json()
    assert b"\n" not in line  # one JSON object for each line
    text = json.loads(line)["text"]
    assert isinstance(text, str)
    return text


def call_in(text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith("call:"))


DESIGNED_ANSWER: dict[str, Any] = {
    "content": [
        {"type": "text", "text": "Analyzing..."},
        {"type": "tool_use", "name": "select_symbols", "input": {"selected": ["Foo", "Bar"]}},
    ]
}


def test_extracts_reasoning_and_tool_use() -> None:
    tree = dragoman.read(DESIGNED_ANSWER, "anthropic-messages", facet="response")
    assert isinstance(tree, Response)
    text, call = tree.candidates[0].message.content
    assert isinstance(text, Text)
    assert text.text == "Analyzing..."
    assert isinstance(call, ToolCall)
    assert call.name == "select_symbols"
    assert json.loads(call.arguments) == {"selected": ["Foo", "Bar"]}


def test_formats_a_complete_conversation_byte_for_byte() -> None:
    assert lesson(written("Selecting symbols..."), called({"selected": ["Foo", "Bar"]})) == DESIGNED


def test_the_answer_of_the_design_is_a_lesson_though_its_call_has_no_id() -> None:
    text = lesson(*DESIGNED_ANSWER["content"])
    assert text == DESIGNED.replace("Selecting symbols...", "Analyzing...")


def test_user_text_and_response_become_a_line_in_one_call() -> None:
    """ "anthropicToFunctionGemma :: Text -> TeachingTurn -> Text": "Complete JSONL line"."""
    result = dragoman.join(
        "Context here",
        DESIGNED_ANSWER,
        dialect="anthropic-messages",
        target="functiongemma-teaching",
    )
    line = result.to_json()
    assert b"\n" not in line
    assert json.loads(line) == {"text": DESIGNED[DESIGNED.index("<start_of_turn>user") :].replace(
        "Selecting symbols...", "Analyzing...")}  # fmt: skip
    assert [f"{x.kind} {x.what} {x.path}" for x in result.losses] == [
        "approximated tool_call.arguments /response/content/1"
    ]


def test_request_and_response_become_a_line_in_one_call() -> None:
    request = {
        "model": "m",
        "max_tokens": 9,
        "system": SYSTEM,
        "tools": [TOOL],
        "messages": [{"role": "user", "content": "Context here"}],
    }
    result = dragoman.join(
        request,
        reply(written("Selecting symbols..."), called({"selected": ["Foo", "Bar"]})),
        dialect="anthropic",
        target="functiongemma-teaching",
    )
    assert result.document == {"text": DESIGNED}
    assert "/request/max_tokens" in [loss.path for loss in result.losses]
    assert all(loss.path.startswith(("/request", "/response")) for loss in result.losses)
    with pytest.raises(dragoman.Lossy):
        dragoman.join(
            request,
            reply(called({})),
            dialect="anthropic",
            target="functiongemma",
            fail_on="dropped",
        )


@pytest.mark.parametrize("content", [{}, {"content": ""}, {"content": []}, {"content": None}])
def test_an_empty_tool_result_is_written_and_read(content: Any) -> None:
    """The design has no results; the official form writes an empty one, and it reads as one."""
    history = [
        {"role": "user", "content": "Go"},
        {"role": "assistant", "content": [called({})]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", **content}]},
        {"role": "assistant", "content": "Done."},
    ]
    there = dragoman.convert(
        {"messages": history}, source="anthropic", target="functiongemma", facet="messages"
    )
    assert "<start_function_response>response:select_symbols{" in there.document["text"]
    tree: Any = dragoman.read(there.document, "functiongemma", facet="messages")
    (result,) = [b for m in tree.messages for b in m.content if isinstance(b, ToolResult)]
    assert not "".join(b.text for b in result.content if isinstance(b, Text))
    assert result.is_error is None
    back = dragoman.convert(
        there.document, source="functiongemma", target="openai-chat", facet="messages"
    )
    assert back.document[2]["content"] == ""


def test_several_texts_are_lines_of_one_comment() -> None:
    text = lesson(
        written("One."),
        written("Two."),
        called({}),
        losses=[
            "approximated text.boundary /messages/1/content/1",
            "dropped tool_call.id /messages/1/content/2",
        ],
    )
    assert "<start_of_turn>model\n/* One.\nTwo. */\n<start_function_call>\n" in text


def test_no_reasoning_is_an_empty_comment() -> None:
    assert "<start_of_turn>model\n/*  */\n<start_function_call>\n" in lesson(called({}))


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        ({"selected": ["A", "B", "C"]}, "{selected:<escape>A,B,C<escape>}"),
        ({"selected": []}, "{selected:<escape><escape>}"),
        ({"a": "x{y}, [z]"}, "{a:<escape>x{y}, [z]<escape>}"),
        ({"a": 5}, "{a:<escape>5.0<escape>}"),
        ({"a": True, "b": False, "c": None},
         "{a:<escape>true<escape>,b:<escape>false<escape>,c:<escape>null<escape>}"),
        ({"z": "1", "a": "2"}, "{z:<escape>1<escape>,a:<escape>2<escape>}"),
        ({}, "{}"),
    ],
)  # fmt: skip
def test_function_calls(arguments: Any, written: str) -> None:
    """A value that was no text cannot be told from one, which is reported."""
    losses = ["dropped tool_call.id /messages/1/content/0"]
    if not all(isinstance(value, str) for value in arguments.values()):
        losses.append("approximated tool_call.arguments /messages/1/content/0")
    text = lesson(called(arguments), losses=losses)
    assert call_in(text) == f"call:select_symbols{written}"


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0.0"), (5, "5.0"), (-5, "-5.0"), (0.1, "0.1"), (0.05, "5.0e-2"), (1.25, "1.25"),
        (1234567, "1234567.0"), (12345678, "1.2345678e7"), (10**7, "1.0e7"), (1e21, "1.0e21"),
        (-2.5e-9, "-2.5e-9"), (100, "100.0"), (0.0, "0.0"),
    ],
)  # fmt: skip
def test_numbers_are_shown_as_the_design_shows_them(number: float, shown: str) -> None:
    assert say_number(number) == shown


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ([written("No.")], "no tool call"),
        ([called({}), called({}, "other") | {"id": "toolu_2"}], "2 tool calls"),
        ([called({"a": {"b": 1}})], "an object inside the arguments"),
        ([called({"a": [{"b": 1}]})], "an object inside the arguments"),
    ],
)
def test_what_the_design_cannot_say_is_refused_and_the_official_form_says_it(
    content: Any, what: str
) -> None:
    with pytest.raises(dragoman.Unsayable, match=what) as refusal:
        lesson(*content)
    assert refusal.value.at.startswith("/messages/1")
    assert "functiongemma, the official format, supports it" in str(refusal.value)
    assert lesson(*content, target="functiongemma")


def test_arguments_that_are_no_object_are_refused() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "[1]"}}
    doc = {"model": "m", "messages": [{"role": "assistant", "tool_calls": [call]}]}
    with pytest.raises(dragoman.Unsayable, match="not an object"):
        dragoman.convert(doc, source="openai-chat", target="functiongemma-teaching")


def test_a_conversation_without_an_answer_is_no_lesson() -> None:
    doc = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    with pytest.raises(dragoman.Unsayable, match="does not end in a tool call"):
        dragoman.convert(doc, source="openai-chat", target="functiongemma-teaching")


def test_nobody_ends_the_comment_or_the_turn() -> None:
    text = lesson(
        written("so */ <end_of_turn>"), called({"a": "<escape>}"}), user="<end_of_turn>\n<bos>"
    )
    assert "/* so * / < end_of_turn> */\n" in text
    assert "{a:<escape>< escape>}<escape>}" in text
    assert "user\n< end_of_turn>\n< bos>\n<end_of_turn>" in text


def test_a_lesson_is_read_back() -> None:
    chat = dragoman.convert(
        {"text": DESIGNED}, source="functiongemma-teaching", target="openai-chat", model="m"
    ).document
    assert [message["role"] for message in chat["messages"]] == ["system", "user", "assistant"]
    assert chat["messages"][2]["content"] == "Selecting symbols..."  # the comment
    call = chat["messages"][2]["tool_calls"][0]["function"]
    assert call == {"name": "select_symbols", "arguments": '{"selected":"Foo,Bar"}'}
    assert chat["tools"][0]["function"]["parameters"] == TOOL["input_schema"]
