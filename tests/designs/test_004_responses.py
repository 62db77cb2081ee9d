"""Design 004, Chat Completions <> Responses: its examples, rules and tests, by both its readings.

Its left side is ``openai-chat``. Its right side is what it calls Responses: the real API
(``openai-responses``), and its own variant of it (``router-responses``).
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import dragoman
from choosing import examples
from dragoman import dialects, testing
from dragoman.core.walk import meaning, placed
from dragoman.ledger import Ledger
from dragoman.model import History, Request, Text, Tree
from dragoman.testing import Document
from lookalikes import likely_json
from strategies import histories, requests, responses

CHAT, REAL, ROUTER, ANTHROPIC = (
    "openai-chat", "openai-responses", "router-responses", "anthropic-messages",
)  # fmt: skip


SUNNY = '{"temperature": 72, "condition": "sunny"}'
JPEG = "data:image/jpeg;base64,/9j/4AAQ"


def convert(doc: Any, source: str, target: str, facet: str = "messages") -> Any:
    return dragoman.convert(doc, source=source, target=target, facet=facet).document


def items(doc: Any) -> Any:
    """The items of a history."""
    return doc["input"]


def written(result: dragoman.Result) -> list[str]:
    return [f"{loss.kind} {loss.what} {loss.path}" for loss in result.losses]


def user(*parts: Any) -> Any:
    return {"role": "user", "content": list(parts)}


def assistant(*parts: Any) -> Any:
    return {"role": "assistant", "content": list(parts)}


def heard(text: str) -> Any:
    return {"type": "input_text", "text": text}


def spoke(text: str) -> Any:
    return {"type": "output_text", "text": text}


def use(call_id: str, **arguments: Any) -> Any:
    return {"type": "tool_use", "id": call_id, "name": "get_weather", "input": arguments}


def result(call_id: str, content: Any = SUNNY) -> Any:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def call(call_id: str, arguments: str = '{"location":"NYC"}') -> Any:
    function = {"name": "get_weather", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def calls(*made: Any, content: str | None = None) -> Any:
    return {"role": "assistant", "content": content, "tool_calls": list(made)}


def tool(call_id: str, content: str = SUNNY) -> Any:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


# -- message format examples ----------------------------------------------------------------------

ASKED: Any = {"role": "user", "content": "What is 2+2?"}
ANSWERED: Any = {"role": "assistant", "content": "2+2 equals 4."}
SEEN: Any = user(
    {"type": "text", "text": "What's in this image?"},
    {"type": "image_url", "image_url": {"url": JPEG}},
)
# chat message, the real API's items, the design's own message
EXAMPLES = [
    pytest.param(ASKED, [ASKED], user(heard("What is 2+2?")), id="1-simple-text"),
    pytest.param(ANSWERED, [ANSWERED], assistant(spoke("2+2 equals 4.")), id="2-answer"),
    pytest.param(
        calls(call("call_123")),
        [
            {
                "type": "function_call",
                "call_id": "call_123",
                "name": "get_weather",
                "arguments": '{"location":"NYC"}',
            }
        ],
        assistant(use("call_123", location="NYC")),
        id="3-tool-call",
    ),
    pytest.param(
        tool("call_123"),
        [{"type": "function_call_output", "call_id": "call_123", "output": SUNNY}],
        user(result("call_123")),
        id="4-tool-result",
    ),
    pytest.param(
        SEEN,
        [
            user(
                heard("What's in this image?"),
                {"type": "input_image", "image_url": JPEG, "detail": "auto"},
            )
        ],
        user(heard("What's in this image?"), {"type": "input_image", "image_url": JPEG}),
        id="5-multimodal",
    ),
]


@pytest.mark.parametrize(("chat", "real", "own"), EXAMPLES)
def test_004_examples_both_ways(chat: Any, real: Any, own: Any) -> None:
    for target, wanted in ((REAL, real), (ROUTER, [own])):
        there = dragoman.convert([chat], source=CHAT, target=target, facet="messages")
        assert items(there.document) == wanted
        assert not there.losses
        back = dragoman.convert(there.document, source=target, target=CHAT, facet="messages")
        assert back.document == [chat]
        assert not back.losses


def test_004_example_3_the_call_of_an_answer_is_an_item() -> None:
    """With an id of its own, ``fc_456``, beside the one that pairs it with its result."""
    item = {
        "id": "fc_456",
        "type": "function_call",
        "name": "get_weather",
        "arguments": '{"location":"NYC"}',
        "call_id": "call_123",
        "status": "completed",
    }
    for source in (REAL, ROUTER):
        reply = dragoman.convert(respond(item), source=source, target=CHAT, facet="response", now=0)
        message = reply.document["choices"][0]["message"]
        assert message["content"] is None
        assert message["tool_calls"] == [call("call_123")]
        assert "dropped tool_call.item_id /output/0" in written(reply)


def respond(*output: Any, **more: Any) -> Any:
    """A reply of the right side."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": "m",
        "output": list(output),
        **more,
    }


# -- role-based content types ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "kind"),
    [
        ("user", "input_text"),
        ("system", "input_text"),
        ("developer", "input_text"),
        ("assistant", "output_text"),
    ],
)
def test_004_content_types_by_role(role: str, kind: str) -> None:
    chat = [{"role": "user", "content": "Hi"}, {"role": role, "content": "Yes."}]
    (*_, message) = items(convert(chat, CHAT, ROUTER))
    assert message == {"role": role, "content": [{"type": kind, "text": "Yes."}]}


def test_004_an_image_of_the_assistant_is_an_output_image() -> None:
    doc = {"input": [user(heard("Draw.")), assistant({"type": "output_image", "image_url": JPEG})]}
    tree = dragoman.read(doc, ROUTER, facet="messages")
    assert dragoman.write(tree, ROUTER).document == doc
    native = convert(doc, ROUTER, "native")
    assert convert(native, "native", ROUTER) == doc
    foreign = History(messages=tree.messages)
    assert dragoman.write(foreign, ROUTER).document == doc


def test_004_the_detail_of_an_image_is_stripped_and_said() -> None:
    def image(detail: str) -> Any:
        return [user({"type": "image_url", "image_url": {"url": JPEG, "detail": detail}})]

    there = dragoman.convert(image("high"), source=CHAT, target=ROUTER, facet="messages")
    assert items(there.document) == [user({"type": "input_image", "image_url": JPEG})]
    assert written(there) == ["dropped media.detail /0/content/0"]
    assert not dragoman.convert(image("auto"), source=CHAT, target=ROUTER, facet="messages").losses


# -- special cases --------------------------------------------------------------------------------


def test_004_special_1_only_calls_have_no_content() -> None:
    for source, doc in (
        (REAL, [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}]),
        (ROUTER, [assistant({"type": "tool_use", "id": "c", "name": "f", "input": {}})]),
    ):
        (message,) = convert(doc, source, CHAT)
        assert message["content"] is None
        assert [made["id"] for made in message["tool_calls"]] == ["c"]


def test_004_special_1_user_messages_have_content() -> None:
    empty = [{"role": "user", "content": []}, ASKED]
    there = dragoman.convert(empty, source=CHAT, target=ROUTER, facet="messages")
    assert items(there.document) == [user(heard("What is 2+2?"))]
    assert written(there) == ["dropped message.empty /0"]


def test_004_special_2_cache_control_is_stripped_and_said() -> None:
    mark = {"type": "ephemeral"}
    marked = {
        "system": [{"type": "text", "text": "Be brief.", "cache_control": mark}],
        "messages": [
            user({"type": "text", "text": "Hi", "cache_control": mark}),
            assistant(use("c") | {"cache_control": mark}),
            user(
                {
                    "type": "tool_result",
                    "tool_use_id": "c",
                    "cache_control": mark,
                    "content": [{"type": "text", "text": "1", "cache_control": mark}],
                }
            ),
        ],
    }
    there = dragoman.convert(marked, source=ANTHROPIC, target=ROUTER, facet="messages")
    assert "cache" not in json.dumps(there.document)
    assert there.document == {
        "system": "Be brief.",
        "input": [user(heard("Hi")), assistant(use("c")), user(result("c", "1"))],
    }
    assert {loss.what for loss in there.losses} == {"cache"}
    assert {loss.path for loss in there.losses} == {
        "/system/0/cache_control",
        "/messages/0/content/0/cache_control",
        "/messages/1/content/0/cache_control",
        "/messages/2/content/0/cache_control",
        "/messages/2/content/0/content/0/cache_control",
    }
    with pytest.raises(dragoman.Lossy, match="router-responses has no cache marks"):
        dragoman.convert(marked, source=ANTHROPIC, target=ROUTER, facet="messages", fail_on="cache")


def test_004_special_2_the_real_api_has_cache_marks() -> None:
    marked = [user({"type": "text", "text": "Hi", "prompt_cache_breakpoint": {"mode": "explicit"}})]
    there = dragoman.convert(marked, source=CHAT, target=REAL, facet="messages")
    assert "prompt_cache_breakpoint" in items(there.document)[0]["content"][0]
    assert not there.losses


@pytest.mark.parametrize(("target", "field"), [(REAL, "instructions"), (ROUTER, "system")])
def test_004_special_3_the_system_prompt_has_a_field(target: str, field: str) -> None:
    chat = [{"role": "system", "content": "Be brief."}, ASKED]
    there = convert(chat, CHAT, target)
    assert there[field] == "Be brief."
    assert len(items(there)) == 1
    assert convert(there, target, CHAT) == chat


def test_004_special_3_the_system_prompt_may_stand_among_the_items() -> None:
    own = [{"role": "system", "content": [heard("Be brief.")]}, user(heard("What is 2+2?"))]
    chat = convert(own, ROUTER, CHAT)
    assert [message["role"] for message in chat] == ["system", "user"]
    assert convert(own, ROUTER, ANTHROPIC)["system"] == "Be brief."
    both = {"system": "Be brief.", "instructions": "Be kind.", "input": own[1:]}
    assert [m["role"] for m in convert(both, ROUTER, CHAT)] == ["system", "system", "user"]
    assert dragoman.write(dragoman.read(both, ROUTER, facet="messages"), ROUTER).document == both


def test_004_special_4_results_are_grouped_in_order() -> None:
    chat = [
        ASKED,
        calls(call("call_1"), call("call_2"), call("call_3"), content="Let me look."),
        tool("call_2", "two"),
        tool("call_1", "one"),
        tool("call_3", "three"),
        {"role": "user", "content": "Well?"},
    ]
    there = dragoman.convert(chat, source=CHAT, target=ROUTER, facet="messages")
    assert items(there.document) == [
        user(heard("What is 2+2?")),
        assistant(spoke("Let me look."), *(use(f"call_{n}", location="NYC") for n in (1, 2, 3))),
        user(result("call_2", "two"), result("call_1", "one"), result("call_3", "three")),
        user(heard("Well?")),
    ]
    assert not there.losses
    assert convert(there.document, ROUTER, CHAT) == chat


def test_004_a_failed_tool_is_told_by_its_text() -> None:
    """The design's result has two fields, so its reader would not look at a third."""
    chat = [calls(call("c")), tool("c", "[tool error] no such place")]
    own = convert(chat, CHAT, ROUTER)
    assert items(own)[1] == user(result("c", "[tool error] no such place"))
    (failed,) = convert(own, ROUTER, ANTHROPIC)["messages"][1]["content"]
    assert (failed["content"], failed["is_error"]) == ("no such place", True)


@pytest.mark.parametrize("flag", [True, False])
def test_004_a_flag_beside_a_result_is_read(flag: bool) -> None:
    doc = [assistant(use("c")), user(result("c", "[tool error] x") | {"is_error": flag})]
    (read,) = convert(doc, ROUTER, ANTHROPIC)["messages"][1]["content"]
    assert read["content"] == "[tool error] x"
    assert read.get("is_error", False) is flag
    assert dragoman.write(dragoman.read(doc, ROUTER, facet="messages"), ROUTER).document == doc


# -- the reply as a chat message -----------------------------------------------------------------


def test_004_inline_tool_use_in_an_answer() -> None:
    inline = {
        "type": "message",
        "role": "assistant",
        "content": [spoke("Let me look."), use("call_123", location="NYC")],
    }
    for source in (REAL, ROUTER):  # the real API never says so, but its reader understands
        message = convert(respond(inline), source, CHAT, "response")["choices"][0]["message"]
        assert message["content"] == "Let me look."
        assert message["tool_calls"] == [call("call_123")]


def test_004_all_parts_of_an_answer_are_kept() -> None:
    """The design overwrites the text with each part; here nothing is lost."""
    reply = respond(
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "message", "role": "assistant", "content": [spoke("One. "), spoke("Two.")]},
    )
    there = dragoman.convert(reply, source=ROUTER, target=CHAT, facet="response")
    assert there.document["choices"][0]["message"]["content"] == "One. Two."
    assert "dropped reasoning /output/0" in written(there)


def test_004_an_answer_without_a_word() -> None:
    chat: Any = {
        "id": "resp_1",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": None, "refusal": None},
                "finish_reason": "stop",
                "logprobs": None,
            }
        ],
    }
    there = dragoman.convert(chat, source=CHAT, target=ROUTER, facet="response")
    assert there.document["output"] == [
        {
            "type": "message",
            "role": "assistant",
            "content": [spoke("[No response generated]")],
        }
    ]
    assert written(there) == ["moved message.empty "]
    for target in (ANTHROPIC, REAL):  # the words were nobody's, so nobody is told them
        back = dragoman.convert(there.document, source=ROUTER, target=target, facet="response")
        assert "No response" not in back.to_json().decode()
    empty = dragoman.convert(respond(), source=REAL, target=ROUTER, facet="response", now=0)
    assert empty.document["output"] == there.document["output"]


THOUGHT: Any = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Hm."}],
}


@pytest.mark.parametrize("source", [REAL, ROUTER, "open-responses", "copilot"])
@pytest.mark.parametrize("output", [[], [THOUGHT]])
def test_004_an_empty_output_has_words_in_the_chat_message(source: str, output: Any) -> None:
    """ "if (message.content === null && !message.tool_calls) message.content = '[No ...]'"."""
    there = dragoman.convert(respond(*output), source=source, target=CHAT, facet="response")
    message = there.document["choices"][0]["message"]
    assert message == {
        "role": "assistant",
        "content": "[No response generated]",
        "refusal": None,
    }
    assert any(loss.startswith("approximated message.empty /output") for loss in written(there))
    stream = dragoman.decompose(respond(*output), source)
    flight = dragoman.convert(stream, source=source, target=CHAT, facet="stream").document
    collected = dragoman.collect(flight, CHAT).document["choices"][0]["message"]
    assert collected["content"] == "[No response generated]"


def test_004_an_empty_output_has_words_only_where_nothing_else_is_said() -> None:
    for item in (
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "refusal", "refusal": "No."}],
        },
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    ):
        reply = convert(respond(item), REAL, CHAT, "response")
        assert reply["choices"][0]["message"]["content"] is None
    for status in ("in_progress", "queued"):
        assert "No response" not in json.dumps(
            convert(respond(status=status), REAL, CHAT, "response")
        )
    reasoning = convert(respond(THOUGHT), REAL, "deepseek", "response")["choices"][0]["message"]
    assert reasoning == {
        "role": "assistant",
        "content": None,
        "reasoning_content": "Hm.",
        "refusal": None,
    }


def test_004_inline_parts_of_chat_messages_are_understood() -> None:
    """ "Handle inline tool use (Anthropic style)", "Handle tool results"."""
    inline = [
        FLOW[CHAT][0],
        assistant({"type": "text", "text": "Let me look."}, use("call_123", location="NYC")),
        user(result("call_123")),
        FLOW[CHAT][3],
    ]
    for target in FLOW:
        there = dragoman.convert(inline, source=CHAT, target=target, facet="messages")
        assert there.document == (FLOW[target] if target != CHAT else inline)
        assert not there.losses
    failed = [inline[1], user(result("call_123", "gone") | {"is_error": True})]
    there = convert(failed, CHAT, ANTHROPIC)
    assert there["messages"][1]["content"][0]["is_error"] is True


@pytest.mark.parametrize("dialect", ["openai-chat", "groq", "mistral", "openrouter", "deepseek"])
def test_004_inline_parts_come_back_in_the_same_dialect(dialect: str) -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    words = {"type": "text", "text": "Well?"}
    chat = [
        assistant(words, use("c") | {"caller": 1}, words, {"type": "of next year"}),
        user(words, result("c", [words]) | mark, result("d", None), words) | {"mood": "good"},
        user({"type": "tool_result", "tool_use_id": 3}, result("e", 4), use("f")),
        user(result("c")) | {"name": "bob"},
    ]
    there = dragoman.convert(chat, source=dialect, target=dialect, facet="messages")
    assert there.document == chat
    assert not there.losses


def test_004_inline_parts_that_were_changed_are_written_anew() -> None:
    chat = [assistant(use("c", n=1)), user(result("c", "one"), {"type": "text", "text": "Well?"})]
    tree: Any = dragoman.read(chat, CHAT, facet="messages")
    called, replied, asked = tree.messages
    called = replace(called, content=(replace(called.content[0], arguments='{"n":2}'),))
    block = replace(replied.content[0], content=(Text("two"),), is_error=True)
    replied = replace(replied, content=(block,))
    grown = dragoman.write(replace(tree, messages=(called, replied, asked)), CHAT).document
    function = {"name": "get_weather", "arguments": '{"n":2}'}
    call = {"id": "c", "type": "function", "function": function}
    assert grown == [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "[tool error] two"},
        {"role": "user", "content": "Well?"},
    ]


def test_004_an_unknown_part_is_passed_on_unchanged() -> None:
    """ "Fallback return item"; that the router may not know it is reported."""
    part = {"type": "hologram", "angle": 45}
    chat = [user({"type": "text", "text": "Look"}, part), assistant(part)]
    there = dragoman.convert(chat, source=CHAT, target=ROUTER, facet="messages")
    assert items(there.document) == [user(heard("Look"), part), assistant(part)]
    assert written(there) == ["approximated raw /0/content/1", "approximated raw /1/content/0"]
    real = dragoman.convert(chat, source=CHAT, target=REAL, facet="messages")
    assert "hologram" not in json.dumps(real.document)
    assert "dropped raw /0/content/1" in written(real)


def test_004_a_reasoning_alone_is_an_answer_without_a_word() -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": []}
    there = convert(respond(reasoning), REAL, ROUTER, "response")
    assert [item["type"] for item in there["output"]] == ["reasoning", "message"]
    back = dragoman.read(there, ROUTER, facet="response")
    assert len(back.candidates[0].message.content) == 1


def test_004_an_answer_that_is_still_running_or_failed_is_not_silent() -> None:
    for status in ("in_progress", "failed", "cancelled"):
        doc = respond(status=status)
        assert convert(doc, REAL, ROUTER, "response")["output"] == []


def test_004_an_answer_that_is_incomplete_for_no_known_reason_stays_so() -> None:
    stated = {"type": "message", "role": "assistant", "content": "Well,"}
    there = dragoman.convert(
        respond(stated, status="incomplete"), source=REAL, target=ROUTER, facet="response"
    )
    assert there.document["status"] == "incomplete"
    assert not there.losses


def test_004_who_really_says_the_words_is_warned() -> None:
    reply = respond({"type": "message", "role": "assistant", "content": "[No response generated]"})
    there = dragoman.convert(reply, source=REAL, target=ROUTER, facet="response")
    assert "approximated message.empty /output/0/content" in written(there)


def test_004_an_answer_joins_the_history_with_its_calls_inside() -> None:
    request = {"model": "m", "input": [user(heard("Weather?"))]}
    item = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"}
    message = {"type": "message", "role": "assistant", "content": [spoke("Let me look.")]}
    joined = dragoman.join(request, respond(item), dialect=ROUTER)
    part = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    assert joined.document["input"][1:] == [assistant(part)]
    assert written(joined) == ["dropped tool_call.item_id /output/0"]
    joined = dragoman.join(request, respond(message, item, item | {"call_id": "d"}), dialect=ROUTER)
    (grown,) = joined.document["input"][1:]
    assert grown["content"] == [spoke("Let me look."), part, part | {"id": "d"}]


# -- validation rules -----------------------------------------------------------------------------

# input, [(rule, path)]
BROKEN: list[tuple[Any, list[tuple[str, str]]]] = [
    # 1. content type matching
    ([user(spoke("x"))], [("content-role", "/input/0/content/0/type")]),
    ([assistant(heard("x"))], [("content-role", "/input/0/content/0/type")]),
    (
        [{"role": "system", "content": [spoke("x")]}],
        [("content-role", "/input/0/content/0/type")],
    ),
    (
        [assistant(use("c")), assistant(result("c"))],
        [("content-role", "/input/1/content/0/type")],
    ),
    # 2. tool id preservation
    ([user(result("c"))], [("orphan-result", "/input/0/content/0")]),
    (
        [user(result("c")), assistant(use("c"))],
        [("orphan-result", "/input/0/content/0")],
    ),
    ([assistant(use("c"))], [("unanswered-call", "/input/0/content/0")]),
    # 3. content completeness
    ([{"role": "user", "content": []}], [("empty-message", "/input/0")]),
    ([{"role": "user", "content": None}], [("empty-message", "/input/0")]),
    ([{"role": "user"}], [("empty-message", "/input/0")]),
    # 4. order, and one message for all results
    (
        [assistant(use("c"), use("d")), user(result("c")), user(result("d"))],
        [("result-group", "/input/2")],
    ),
    # 5. type safety
    (
        [assistant(use("c") | {"input": "{}"}), user(result("c"))],
        [("field-type", "/input/0/content/0/input")],
    ),
    (
        [user({"type": "tool_result", "content": "x"})],
        [("field-type", "/input/0/content/0")],
    ),
    (
        [assistant(use("c")), user({"type": "tool_result", "tool_use_id": "c"})],
        [("field-type", "/input/1/content/0")],
    ),
    (
        [user({"type": "input_image", "image_url": {"url": JPEG}})],
        [("field-type", "/input/0/content/0/image_url")],
    ),
    ([user({"type": "input_text", "text": 1})], [("malformed", "/input/0/content/0/text")]),
    (
        [assistant(use("c") | {"name": "f g"}), user(result("c"))],
        [("tool-name", "/input/0/content/0/name")],
    ),
    (
        [assistant(use("c" * 65)), user(result("c" * 65))],
        [
            ("call-id", "/input/0/content/0/id"),
            ("call-id", "/input/1/content/0/tool_use_id"),
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("messages", "expected"), BROKEN)
def test_004_validation_rules(messages: Any, expected: list[tuple[str, str]]) -> None:
    problems = dragoman.check({"model": "m", "input": messages}, ROUTER)
    assert [(problem.rule, problem.path) for problem in problems] == expected
    rules = dialects.get(ROUTER).rules  # type: ignore[attr-defined]
    assert all(problem.rule in rules and problem.message for problem in problems)


def test_004_what_keeps_the_rules() -> None:
    whole = [
        {"role": "system", "content": [heard("Be brief.")]},
        user(heard("Weather?"), {"type": "input_image", "image_url": JPEG}),
        assistant(spoke("Let me look."), use("c"), use("d")),
        user(result("c"), result("d", [heard("x")])),
        {"type": "function_call", "call_id": "e", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "e", "output": "1"},
        assistant(spoke("Sunny.")),
    ]
    assert dragoman.check({"model": "m", "input": whole}, ROUTER) == []
    # a history on its own may end in calls that are still being answered
    assert dragoman.check({"input": [assistant(use("c"))]}, ROUTER, facet="messages") == []
    # what the server holds is not missing
    stored = {"model": "m", "previous_response_id": "resp_1", "input": [user(result("c"))]}
    assert dragoman.check(stored, ROUTER) == []


def test_004_the_rules_of_responses_still_hold() -> None:
    problems = dragoman.check({"model": "m", "input": "Hi", "temperature": 9}, ROUTER)
    assert [problem.rule for problem in problems] == ["range"]


@given(likely_json, st.sampled_from(["request", "messages", "response"]))
def test_004_any_json_gives_problems_that_are_explained(doc: Any, facet: str) -> None:
    rules = dialects.get(ROUTER).rules  # type: ignore[attr-defined]
    assert all(p.rule in rules for p in dragoman.check(doc, ROUTER, facet=facet))


# -- test cases -----------------------------------------------------------------------------------


def test_004_test_1_simple_conversation() -> None:
    chat = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi there!"}]
    own = convert(chat, CHAT, ROUTER)
    assert items(own) == [user(heard("Hello")), assistant(spoke("Hi there!"))]
    assert convert(own, ROUTER, CHAT) == chat
    real = convert(chat, CHAT, REAL)
    assert items(real) == chat
    assert convert(real, REAL, CHAT) == chat


FLOW: dict[str, Any] = {
    CHAT: [
        {"role": "user", "content": "What is the weather in NYC?"},
        calls(call("call_123"), content="Let me look."),
        tool("call_123"),
        {"role": "assistant", "content": "It is 72 degrees and sunny."},
    ],
    REAL: {
        "input": [
            {"role": "user", "content": "What is the weather in NYC?"},
            {"role": "assistant", "content": "Let me look."},
            {
                "type": "function_call",
                "call_id": "call_123",
                "name": "get_weather",
                "arguments": '{"location":"NYC"}',
            },
            {"type": "function_call_output", "call_id": "call_123", "output": SUNNY},
            {"role": "assistant", "content": "It is 72 degrees and sunny."},
        ]
    },
    ROUTER: {
        "input": [
            user(heard("What is the weather in NYC?")),
            assistant(spoke("Let me look."), use("call_123", location="NYC")),
            user(result("call_123")),
            assistant(spoke("It is 72 degrees and sunny.")),
        ]
    },
    ANTHROPIC: {
        "messages": [
            {"role": "user", "content": "What is the weather in NYC?"},
            assistant({"type": "text", "text": "Let me look."}, use("call_123", location="NYC")),
            user(result("call_123")),
            {"role": "assistant", "content": "It is 72 degrees and sunny."},
        ]
    },
}


@pytest.mark.parametrize("source", FLOW)
@pytest.mark.parametrize("target", FLOW)
def test_004_test_2_tool_use_flow(source: str, target: str) -> None:
    """The test that the design left empty: call, result, reply, from each side to each."""
    there = dragoman.convert(FLOW[source], source=source, target=target, facet="messages")
    assert there.document == FLOW[target]
    assert not there.losses


def test_004_test_2_turn_by_turn() -> None:
    """A client of one side, a server of the other: each turn is converted, none is lost."""
    asked: Any = {"model": "m", "messages": FLOW[CHAT][:1]}
    sent = convert(asked, CHAT, ROUTER, "request")
    assert sent["input"] == FLOW[ROUTER]["input"][:1]
    reply = respond(
        {"type": "message", "role": "assistant", "content": [spoke("Let me look.")]},
        {"type": "function_call", "id": "fc_456", "call_id": "call_123", "name": "get_weather",
         "arguments": '{"location":"NYC"}', "status": "completed"},
    )  # fmt: skip
    joined = dragoman.join(asked, convert(reply, ROUTER, CHAT, "response"), dialect=CHAT).document
    joined["messages"].append(FLOW[CHAT][2])
    sent = convert(joined, CHAT, ROUTER, "request")
    assert sent["input"] == FLOW[ROUTER]["input"][:3]


# -- how to know it -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facet", "doc"),
    [
        ("request", {"model": "m", "system": "Be brief.", "input": "Hi"}),
        ("request", {"model": "m", "input": [assistant(use("c")), user(result("c"))]}),
        ("messages", FLOW[ROUTER]),
        ("messages", items(FLOW[ROUTER])),
        ("messages", {"system": "Be brief.", "input": [user(heard("Hi"))]}),
        ("response", respond({"type": "message", "role": "assistant", "content": [use("c")]})),
    ],
)
def test_004_detected(facet: str, doc: Any) -> None:
    best = dragoman.detect(doc)[0]
    assert (best.dialect, best.facet) == (ROUTER, facet)


@pytest.mark.parametrize(
    ("dialect", "doc"),
    [
        (REAL, {"model": "m", "input": [user(heard("Hi"))]}),
        (REAL, FLOW[REAL]),
        (REAL, respond({"type": "message", "role": "assistant", "content": [spoke("Hi")]})),
        (ANTHROPIC, {"model": "m", "system": "x", "messages": [user(result("c"))]}),
        (ANTHROPIC, [assistant(use("c")), user(result("c"))]),
    ],
)
def test_004_the_neighbours_keep_what_is_theirs(dialect: str, doc: Any) -> None:
    assert dragoman.detect(doc)[0].dialect == dialect


@pytest.mark.parametrize(
    "doc",
    [
        {"system": "Be brief.", "input": "1 2", "output": "3"},  # a row of a data set
        respond({"type": "message", "role": "assistant", "content": [spoke("Hi")]}, system="x"),
    ],
)
def test_004_a_stranger_is_not_claimed(doc: Any) -> None:
    assert ROUTER not in {guess.dialect for guess in dragoman.detect(doc)}


# -- repairing ------------------------------------------------------------------------------------


def test_004_what_breaks_a_rule_can_be_repaired() -> None:
    broken = {
        "model": "m",
        "input": [
            {"role": "user", "content": []},
            user(heard("Hi")),
            assistant(use("c"), use("d")),
            user(result("c")),
        ],
    }
    rules = [problem.rule for problem in dragoman.check(broken, ROUTER)]
    assert rules == ["empty-message", "unanswered-call"]
    repaired = dragoman.repair(broken, ROUTER).document
    assert dragoman.check(repaired, ROUTER) == []
    chat = convert(repaired, ROUTER, CHAT, "request")["messages"]
    assert [message["role"] for message in chat] == ["user", "assistant", "tool", "tool"]
    assert chat[3]["tool_call_id"] == "d"


# -- the laws over conversations nobody wrote down ------------------------------------------------

relaxed = settings(max_examples=examples(100), suppress_health_check=list(HealthCheck))


def audit(tree: Any) -> None:
    log, router = Ledger(now=0), dialects.get(ROUTER)
    facet = "request" if isinstance(tree, Request) else "response"
    document = router.write(tree, log)
    back = router.read(document, facet)
    if not any(map(testing.is_lossy, log.losses)):
        assert meaning(back) == meaning(tree), json.dumps(document)
    testing.identity(Document("", ROUTER, "", facet, False, document))


@relaxed
@given(tree=requests())
def test_004_requests_are_audited(tree: Request) -> None:
    audit(placed(tree, ""))


@relaxed
@given(tree=responses())
def test_004_responses_are_audited(tree: Tree) -> None:
    audit(placed(tree, ""))


@relaxed
@given(tree=requests(), other=st.sampled_from([CHAT, REAL, ANTHROPIC]), out=st.booleans())
def test_004_the_way_home(tree: Request, other: str, out: bool) -> None:
    source, target = (ROUTER, other) if out else (other, ROUTER)
    document = dialects.get(source).write(tree, Ledger())
    testing.same(Document("", source, "", "request", False, document), target)


@relaxed
@given(history=histories())
def test_004_what_is_written_keeps_the_design_s_rules(history: Any) -> None:
    document = dragoman.write(History(history), ROUTER).document
    found = {problem.rule for problem in dragoman.check(document, ROUTER, facet="messages")}
    assert not found & {"content-role", "empty-message", "orphan-result", "result-group",
                        "field-type"}  # fmt: skip
