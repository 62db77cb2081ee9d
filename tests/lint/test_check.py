"""What the APIs reject, a small document for each rule; and what they accept."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import Problem, Unsupported
from dragoman.check import check
from dragoman.dialect import FACETS
from dragoman.dialects import get
from dragoman.dialects._model_rules import RULES as MODEL_RULES
from lookalikes import likely_json

ANTHROPIC, CHAT, RESPONSES = "anthropic-messages", "openai-chat", "openai-responses"
DIALECTS = (ANTHROPIC, CHAT, RESPONSES)

HI: Any = {"role": "user", "content": "Hi"}
HO: Any = {"role": "assistant", "content": "Ho"}
MARK = {"cache_control": {"type": "ephemeral"}}
OBJECT = {"type": "object"}
THOUGHT: Any = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
LOOSE: Any = {"type": "object", "properties": {"a": {}}, "additionalProperties": False}


def text(words: str, **more: Any) -> Any:
    return {"type": "text", "text": words, **more}


def use(call_id: str, name: str = "f") -> Any:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}


def result(call_id: str, content: Any = "1") -> Any:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def reference(name: str) -> Any:
    return {"type": "tool_reference", "tool_name": name}


def by(role: str, *content: Any) -> Any:
    return {"role": role, "content": list(content)}


def image(media_type: str) -> Any:
    source = {"type": "base64", "media_type": media_type, "data": "AAAA"}
    return {"type": "image", "source": source}


def call(call_id: str, arguments: str = "{}", name: str = "f") -> Any:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*made: Any) -> Any:
    return {"role": "assistant", "content": None, "tool_calls": list(made)}


def tool(call_id: str, content: Any = "1") -> Any:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def function(name: str = "f", **more: Any) -> Any:
    return {"type": "function", "function": {"name": name, **more}}


def item(call_id: str, **more: Any) -> Any:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}", **more}


def output(call_id: str) -> Any:
    return {"type": "function_call_output", "call_id": call_id, "output": "1"}


def reasoning(**more: Any) -> Any:
    return {"type": "reasoning", "id": "rs_1", "summary": [], **more}


def written(kind: str) -> Any:
    return {"role": "assistant", "content": [{"type": kind, "text": "Ho"}]}


def ask(dialect: str, messages: list[Any] | None = None, **more: Any) -> Any:
    messages = [HI] if messages is None else messages
    if dialect == ANTHROPIC:
        return {"model": "m", "max_tokens": 2000, "messages": messages, **more}
    return {"model": "m", "input" if dialect == RESPONSES else "messages": messages, **more}


def found(doc: Any, dialect: str, facet: str = "request") -> list[tuple[str, str]]:
    return [(problem.rule, problem.path) for problem in check(doc, dialect, facet=facet)]


SCHEMA = {"name": "f", "input_schema": OBJECT}
FORM = {"type": "json_schema", "json_schema": {"name": "x y", "schema": {}}}
STRICT = {"type": "json_schema", "name": "x", "strict": True, "schema": LOOSE}
# dialect, messages or None, the rest of the request, the rules that it breaks and where
BROKEN: list[tuple[str, list[Any] | None, dict[str, Any], list[tuple[str, str]]]] = [
    # -- Anthropic: the request
    (ANTHROPIC, None, {"max_tokens": None}, [("max-tokens", "")]),
    (ANTHROPIC, None, {"max_tokens": -1}, [("max-tokens", "/max_tokens")]),
    (ANTHROPIC, None, {"temperature": 1.5}, [("range", "/temperature")]),
    (ANTHROPIC, None, {"stop_sequences": ["x", " "]}, [("stop-sequence", "/stop_sequences/1")]),
    (
        ANTHROPIC,
        None,
        {"thinking": {"type": "enabled", "budget_tokens": 1000}},
        [("thinking-budget", "/thinking/budget_tokens")],
    ),
    (
        ANTHROPIC,
        None,
        {"thinking": {"type": "enabled", "budget_tokens": 2000}},
        [("thinking-budget", "/thinking/budget_tokens")],
    ),
    (
        ANTHROPIC,
        None,
        {
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "temperature": 0.5,
            "tool_choice": {"type": "any"},
            "tools": [SCHEMA],
        },
        [("thinking-choice", "/tool_choice"), ("thinking-temperature", "/temperature")],
    ),
    (
        ANTHROPIC,
        None,
        {"thinking": {"type": "disabled", "display": "omitted"}},
        [("thinking-display", "/thinking/display")],
    ),
    # -- Anthropic: tools
    (ANTHROPIC, None, {"tool_choice": {"type": "auto"}}, [("tool-choice", "/tool_choice")]),
    (
        ANTHROPIC,
        None,
        {"tool_choice": {"type": "tool", "name": "g"}, "tools": [SCHEMA]},
        [("tool-choice", "/tool_choice/name")],
    ),
    (ANTHROPIC, None, {"tools": [SCHEMA, SCHEMA]}, [("duplicate-tool", "/tools/1/name")]),
    (
        ANTHROPIC,
        None,
        {"tools": [SCHEMA | {"defer_loading": True}]},
        [("tool-deferred", "/tools/0")],
    ),
    (
        ANTHROPIC,
        [HI, by("assistant", use("a")), by("user", result("a", [reference("f"), reference("g")]))],
        {"tools": [SCHEMA]},
        [("tool-reference", "/messages/2/content/0/content/1")],
    ),
    (ANTHROPIC, None, {"tools": [SCHEMA | {"name": "a b"}]}, [("tool-name", "/tools/0/name")]),
    (
        ANTHROPIC,
        None,
        {"tools": [SCHEMA | {"name": "x" * 129}]},
        [("tool-name", "/tools/0/name")],
    ),
    (
        ANTHROPIC,
        None,
        {"tools": [SCHEMA | {"input_schema": {}}]},
        [("tool-schema", "/tools/0/input_schema")],
    ),
    # -- Anthropic: turns
    (ANTHROPIC, [], {}, [("no-messages", "/messages")]),
    (
        ANTHROPIC,
        [{"role": "system", "content": "x"}, HI],
        {},
        [("system-placement", "/messages/0")] * 2,
    ),
    (
        ANTHROPIC,
        [HI, HO, {"role": "system", "content": "x"}],
        {},
        [("system-placement", "/messages/2")],
    ),
    (
        ANTHROPIC,
        [HI, {"role": "system", "content": "x"}, {"role": "system", "content": "y"}],
        {},
        [("system-placement", "/messages/2")],
    ),
    (
        ANTHROPIC,
        [{"role": "user", "content": ""}, HO],
        {},
        [("empty-message", "/messages/0/content")],
    ),
    (ANTHROPIC, [by("user")], {}, [("empty-message", "/messages/0/content")]),
    (ANTHROPIC, [by("user", text(""), text("x"))], {}, [("empty-text", "/messages/0/content/0")]),
    (ANTHROPIC, [{"role": "user", "content": "\n"}], {}, [("empty-text", "/messages/0/content")]),
    (ANTHROPIC, None, {"system": [text("")]}, [("empty-text", "/system/0")]),
    (
        ANTHROPIC,
        [by("assistant", use("a")), by("user", result("a", [text("")]))],
        {},
        [("empty-text", "/messages/1/content/0/content/0")],
    ),
    (
        ANTHROPIC,
        [HI, {"role": "assistant", "content": "So "}],
        {},
        [("trailing-space", "/messages/1/content")],
    ),
    # -- Anthropic: calls and results, by adjacency
    (
        ANTHROPIC,
        [HI, by("assistant", use("a"))],
        {},
        [("unanswered-call", "/messages/1/content/0")],
    ),
    (ANTHROPIC, [by("user", result("a"))], {}, [("orphan-result", "/messages/0/content/0")]),
    (
        ANTHROPIC,
        [by("assistant", use("a")), HI, HO, by("user", result("a"))],
        {},
        [("unanswered-call", "/messages/0/content/0"), ("orphan-result", "/messages/3/content/0")],
    ),
    (
        ANTHROPIC,
        [by("assistant", use("a")), by("user", result("a"), result("a"))],
        {},
        [("duplicate-result", "/messages/1/content/1")],
    ),
    (
        ANTHROPIC,
        [by("assistant", use("a")), by("user", text("x"), result("a"))],
        {},
        [("results-first", "/messages/1/content/1")],
    ),
    (
        ANTHROPIC,
        [by("assistant", use("a")), HI, by("user", result("a"))],
        {},
        [("results-first", "/messages/2/content/0")],
    ),
    (
        ANTHROPIC,
        [by("assistant", use("a"), text("x")), by("user", result("a"))],
        {},
        [("calls-last", "/messages/0/content/1")],
    ),
    (
        ANTHROPIC,
        [by("assistant", use("a"), use("a")), by("user", result("a"))],
        {},
        [("duplicate-call-id", "/messages/0/content/1/id")],
    ),
    (
        ANTHROPIC,
        [by("assistant", use("a.1")), by("user", result("a.1"))],
        {},
        [("call-id", "/messages/0/content/0/id"), ("call-id", "/messages/1/content/0/tool_use_id")],
    ),
    (
        ANTHROPIC,
        [by("assistant", use("a", "a b")), by("user", result("a"))],
        {},
        [("tool-name", "/messages/0/content/0/name")],
    ),
    (
        ANTHROPIC,
        [by("user", use("a")), by("assistant", result("a"))],
        {},
        [("content-role", "/messages/0/content/0"), ("content-role", "/messages/1/content/0")],
    ),
    # -- Anthropic: reasoning, caches, media
    (
        ANTHROPIC,
        [HI, by("assistant", {"type": "thinking", "thinking": "Hm."}, text("x")), HI],
        {},
        [("thinking-signature", "/messages/1/content/0")],
    ),
    (
        ANTHROPIC,
        [HI, by("assistant", text("x"), THOUGHT), HI],
        {},
        [("thinking-first", "/messages/1/content/0")],
    ),
    (
        ANTHROPIC,
        [by("assistant", use("a")), by("user", result("a"))],
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        [("thinking-missing", "/messages/0/content/0")],
    ),
    (
        ANTHROPIC,
        [HI, by("assistant", text("x"))],
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        [("thinking-missing", "/messages/1/content/0")],
    ),
    (
        ANTHROPIC,
        [HI, by("assistant", THOUGHT, text("x"))],
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
        [],
    ),
    (
        ANTHROPIC,
        [HI, by("assistant", THOUGHT, text("x"))],
        {},
        [("thinking-final", "/messages/1/content/0")],
    ),
    (
        ANTHROPIC,
        [HI, by("assistant", THOUGHT | MARK, text("x")), HI],
        {},
        [("cache-place", "/messages/1/content/0/cache_control")],
    ),
    (
        ANTHROPIC,
        [by("user", *(text(str(n), **MARK) for n in range(5)))],
        {},
        [("cache-marks", "/messages/0/content/4")],
    ),
    (
        ANTHROPIC,
        [by("user", *(text(str(n), **MARK) for n in range(3)), text("x"))],
        {**MARK, "tools": [SCHEMA | MARK]},
        [("cache-marks", "/messages/0/content/2")],
    ),
    (
        ANTHROPIC,
        [by("user", image("image/jpg"))],
        {},
        [("media-type", "/messages/0/content/0/source/media_type")],
    ),
    (ANTHROPIC, [{"role": "tool", "content": "x"}], {}, [("role", "/messages/0/role")]),
    (ANTHROPIC, [{"role": "user"}], {}, [("malformed", "/messages/0")]),
    # -- Chat: the request
    (CHAT, None, {"temperature": 2.5}, [("range", "/temperature")]),
    (CHAT, None, {"top_p": -0.1, "n": 0}, [("range", "/top_p"), ("range", "/n")]),
    (CHAT, None, {"presence_penalty": 3}, [("range", "/presence_penalty")]),
    (CHAT, None, {"logit_bias": {"1": 101}}, [("range", "/logit_bias/1")]),
    (CHAT, None, {"stop": list("abcde")}, [("stop", "/stop")]),
    (CHAT, None, {"top_logprobs": 2}, [("logprobs", "/top_logprobs")]),
    (CHAT, None, {"max_tokens": 9, "max_completion_tokens": 9}, [("max-tokens", "/max_tokens")]),
    (CHAT, None, {"stream_options": {}}, [("stream-options", "/stream_options")]),
    (CHAT, None, {"metadata": {str(n): "x" for n in range(17)}}, [("metadata", "/metadata")]),
    (CHAT, None, {"metadata": {"a": "x" * 513}}, [("metadata", "/metadata/a")]),
    (CHAT, None, {"response_format": {"type": "json_object"}}, [("json-word", "/messages")]),
    (CHAT, None, {"response_format": FORM}, [("schema-name", "/response_format/json_schema/name")]),
    # -- Chat: tools
    (CHAT, None, {"tools": []}, [("tools", "/tools")]),
    (CHAT, None, {"tools": [function(f"f{n}") for n in range(129)]}, [("tools", "/tools")]),
    (CHAT, None, {"tools": [function("a.b")]}, [("tool-name", "/tools/0/function/name")]),
    (CHAT, None, {"tools": [function("x" * 65)]}, [("tool-name", "/tools/0/function/name")]),
    (
        CHAT,
        None,
        {"tools": [function(strict=True, parameters=LOOSE)]},
        [("strict-schema", "/tools/0/function/parameters")],
    ),
    (
        CHAT,
        None,
        {"tool_choice": function("g"), "tools": [function()]},
        [("tool-choice", "/tool_choice")],
    ),
    (CHAT, None, {"tool_choice": "auto"}, [("tool-choice", "/tool_choice")]),
    (CHAT, None, {"parallel_tool_calls": True}, [("parallel-calls", "/parallel_tool_calls")]),
    # -- Chat: messages
    (CHAT, [], {}, [("no-messages", "/messages")]),
    (CHAT, [{"role": "robot", "content": "x"}], {}, [("role", "/messages/0/role")]),
    (CHAT, [HI | {"name": "a b"}], {}, [("speaker-name", "/messages/0/name")]),
    (CHAT, [{"role": "user", "content": None}], {}, [("empty-message", "/messages/0")]),
    (CHAT, [HI, {"role": "assistant", "content": None}], {}, [("empty-message", "/messages/1")]),
    (
        CHAT,
        [calls(call("a")), tool("a", [{"type": "image_url", "image_url": {"url": "https://x"}}])],
        {},
        [("content-role", "/messages/1/content/0")],
    ),
    (CHAT, [calls(call("a"))], {}, [("unanswered-call", "/messages/0/tool_calls/0")]),
    (CHAT, [HI, tool("a")], {}, [("orphan-result", "/messages/1")]),
    (CHAT, [calls(call("a")), tool("a"), tool("a")], {}, [("duplicate-result", "/messages/2")]),
    (
        CHAT,
        [calls(call("a")), HI, tool("a")],
        {},
        [("unanswered-call", "/messages/0/tool_calls/0"), ("orphan-result", "/messages/2")],
    ),
    (
        CHAT,
        [calls(call("a"), call("a")), tool("a")],
        {},
        [("duplicate-call-id", "/messages/0/tool_calls/1/id")],
    ),
    (
        CHAT,
        [calls(call("x" * 41)), tool("x" * 41)],
        {},
        [("call-id", "/messages/0/tool_calls/0/id"), ("call-id", "/messages/1/tool_call_id")],
    ),
    (CHAT, [HO | {"tool_calls": []}], {}, [("no-calls", "/messages/0/tool_calls")]),
    (
        CHAT,
        [calls(call("a", '{"x":')), tool("a")],
        {},
        [("arguments", "/messages/0/tool_calls/0/function/arguments")],
    ),
    (CHAT, [{"content": "x"}], {}, [("malformed", "/messages/0")]),
    # -- Responses: the request
    (RESPONSES, None, {"max_output_tokens": 15}, [("range", "/max_output_tokens")]),
    (
        RESPONSES,
        None,
        {"previous_response_id": "resp_1", "conversation": "conv_1"},
        [("stored-twice", "/previous_response_id")],
    ),
    (RESPONSES, None, {"stream_options": {}}, [("stream-options", "/stream_options")]),
    (
        RESPONSES,
        None,
        {
            "tools": [
                {"type": "namespace", "name": "a.b", "tools": [{"type": "function", "name": ""}]}
            ]
        },
        [("tool-name", "/tools/0/tools/0/name"), ("tool-name", "/tools/0/name")],
    ),
    (RESPONSES, None, {"metadata": {"a": 1}}, [("metadata", "/metadata/a")]),
    (RESPONSES, None, {"text": {"format": {"type": "json_object"}}}, [("json-word", "/input")]),
    (RESPONSES, None, {"text": {"format": STRICT}}, [("strict-schema", "/text/format/schema")]),
    (
        RESPONSES,
        None,
        {"text": {"format": {"type": "json_schema", "name": "a b", "schema": {}}}},
        [("schema-name", "/text/format/name")],
    ),
    (
        RESPONSES,
        None,
        {"tools": [{"type": "function", "name": "f", "parameters": LOOSE, "strict": True}]},
        [("strict-schema", "/tools/0/parameters")],
    ),
    (
        RESPONSES,
        None,
        {"tools": [{"type": "function", "name": "a.b", "parameters": {}}]},
        [("tool-name", "/tools/0/name")],
    ),
    (
        RESPONSES,
        None,
        {"tool_choice": {"type": "function", "name": "g"}},
        [("tool-choice", "/tool_choice")],
    ),
    # -- Responses: items
    (RESPONSES, [{"content": "x"}], {}, [("malformed", "/input/0")]),
    (RESPONSES, [written("input_text")], {}, [("content-role", "/input/0/content/0/type")]),
    (RESPONSES, [item("a")], {}, [("unanswered-call", "/input/0")]),
    (RESPONSES, [output("a")], {}, [("orphan-result", "/input/0")]),
    (RESPONSES, [output("a"), item("a")], {}, [("orphan-result", "/input/0")]),
    (
        RESPONSES,
        [item("x" * 65), output("x" * 65)],
        {},
        [("call-id", "/input/0/call_id"), ("call-id", "/input/1/call_id")],
    ),
    (RESPONSES, [item("a", id="call_1"), output("a")], {}, [("item-id", "/input/0/id")]),
    (RESPONSES, [item("a", name="a b"), output("a")], {}, [("tool-name", "/input/0/name")]),
    (RESPONSES, [item("a", arguments="["), output("a")], {}, [("arguments", "/input/0/arguments")]),
    (RESPONSES, [reasoning(id="msg_1"), HO], {}, [("item-id", "/input/0/id")]),
    (RESPONSES, [reasoning(), HO, reasoning(), HO], {}, [("duplicate-item", "/input/2/id")]),
    (
        RESPONSES,
        [item("a"), item("a"), output("a")],
        {},
        [("duplicate-call-id", "/input/1/call_id")],
    ),
    (RESPONSES, [item("a"), output("a"), item("a"), output("a")], {}, []),
    (RESPONSES, [reasoning(summary=None), HO], {}, [("reasoning-summary", "/input/0")]),
    (RESPONSES, [reasoning()], {}, [("reasoning-alone", "/input/0")]),
    (RESPONSES, [HI, reasoning(), HI], {}, [("reasoning-alone", "/input/1")]),
    (RESPONSES, [{"role": "tool", "content": "x"}], {}, [("role", "/input/0/role")]),
]


@pytest.mark.parametrize(("dialect", "messages", "more", "expected"), BROKEN)
def test_rule(
    dialect: str,
    messages: list[Any] | None,
    more: dict[str, Any],
    expected: list[tuple[str, str]],
) -> None:
    assert sorted(found(ask(dialect, messages, **more), dialect)) == sorted(expected)


# What looks like a fault and is none.
WHOLE: list[tuple[str, list[Any] | None, dict[str, Any]]] = [
    (ANTHROPIC, None, {}),
    (ANTHROPIC, None, {"system": "", "unheard_of": True}),
    (ANTHROPIC, [HO, HI], {}),
    (ANTHROPIC, [HI, HI, HO, HO], {}),
    (ANTHROPIC, [HI, {"role": "system", "content": "x"}, HO], {}),
    (ANTHROPIC, [HI, {"role": "assistant", "content": ""}], {}),
    (ANTHROPIC, [by("assistant", text(" "), use("a")), by("user", result("a"))], {}),
    (ANTHROPIC, [by("assistant", use("a")), by("user", result("a"), text("x"))], {}),
    (ANTHROPIC, [by("assistant", use("a")), by("user", result("a")), HI], {}),
    (ANTHROPIC, [by("assistant", use("a"), use("b")), by("user", result("b"), result("a"))], {}),
    (ANTHROPIC, [by("user", result("a"))], {"thread": {"type": "continue"}}),
    (ANTHROPIC, [by("user", *(text(str(n), **MARK) for n in range(4)))], MARK),
    (ANTHROPIC, [HI, by("assistant", THOUGHT, use("a")), by("user", result("a"))], {}),
    (CHAT, None, {}),
    (CHAT, [HO, HI, HI, {"role": "system", "content": ""}], {"tool_choice": "none"}),
    (CHAT, [calls(call("a", "")), tool("a"), calls(call("a")), tool("a", "")], {}),
    (CHAT, [calls(call("a"), call("b")), tool("b"), tool("a"), HI], {}),
    (CHAT, [{"role": "assistant", "content": None, "refusal": "No."}], {}),
    (CHAT, None, {"logprobs": True, "top_logprobs": 20, "temperature": 2, "n": 128}),
    (CHAT, [HI | {"content": "As JSON."}], {"response_format": {"type": "json_object"}}),
    (RESPONSES, None, {"max_output_tokens": 16}),
    (RESPONSES, [item("a"), HI, HO, output("a")], {}),
    (RESPONSES, [output("a")], {"previous_response_id": "resp_1"}),
    (RESPONSES, [{"type": "item_reference", "id": "fc_1"}, output("a")], {}),
    (RESPONSES, [reasoning(), item("a", id="fc_1"), output("a")], {"tools": []}),
    (RESPONSES, [{"type": "reasoning", "summary": [], "encrypted_content": "e"}, HI], {}),
    (RESPONSES, [item("a", **{"async": True}), HI], {}),
]


@pytest.mark.parametrize(("dialect", "messages", "more"), WHOLE)
def test_no_fault(dialect: str, messages: list[Any] | None, more: dict[str, Any]) -> None:
    assert found(ask(dialect, messages, **more), dialect) == []


# -- the other facets -----------------------------------------------------------------------------

OTHERS: list[tuple[str, str, Any, list[tuple[str, str]]]] = [
    (ANTHROPIC, "messages", [HI, by("assistant", use("a"))], []),
    (ANTHROPIC, "messages", [by("user", result("a"))], [("orphan-result", "/0/content/0")]),
    (
        ANTHROPIC,
        "messages",
        {"system": [text("")], "messages": [HI]},
        [("empty-text", "/system/0")],
    ),
    (ANTHROPIC, "tools", [SCHEMA, SCHEMA], [("duplicate-tool", "/1/name")]),
    (ANTHROPIC, "tool-choice", {"type": "some"}, [("tool-choice", "/type")]),
    (ANTHROPIC, "tool-choice", {"type": "tool", "name": "f"}, []),
    (
        ANTHROPIC,
        "response",
        {"id": "msg_1", "type": "message", "role": "assistant", "content": [text("")]},
        [("response-field", "")] * 3,
    ),
    (ANTHROPIC, "error", {"type": "error", "error": {"type": "x"}}, [("error-field", "/error")]),
    (CHAT, "messages", [HI, calls(call("a"))], []),
    (CHAT, "messages", [HI, tool("a")], [("orphan-result", "/1")]),
    (CHAT, "tools", [function("a b")], [("tool-name", "/0/function/name")]),
    (CHAT, "tool-choice", "auto", []),
    (
        CHAT,
        "response",
        {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": []},
        [],
    ),
    (CHAT, "error", {"error": {"type": "x"}}, [("error-field", "")]),
    (RESPONSES, "messages", [HI, item("a")], []),
    (RESPONSES, "messages", [output("a")], [("orphan-result", "/0")]),
    (RESPONSES, "tools", [{"type": "function", "name": "a b"}], [("tool-name", "/0/name")]),
    (RESPONSES, "error", {"error": {"message": "x"}}, []),
]


@pytest.mark.parametrize(("dialect", "facet", "doc", "expected"), OTHERS)
def test_other_facets(dialect: str, facet: str, doc: Any, expected: list[tuple[str, str]]) -> None:
    assert found(doc, dialect, facet) == expected


# -- what holds for all rules ---------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_rule_is_explained_and_tested(dialect: str) -> None:
    tested = {rule for row in BROKEN if row[0] == dialect for rule, _ in row[3]}
    tested |= {rule for row in OTHERS if row[0] == dialect for rule, _ in row[3]}
    rules = set(getattr(get(dialect), "rules"))  # noqa: B009
    explained = rules - MODEL_RULES.keys()  # which test_models.py tries, model by model
    assert tested <= explained
    assert explained - tested <= {"response-field", "error-field", "stop-sequence"}


def test_a_problem_says_where_and_what() -> None:
    problem = check(ask(CHAT, None, temperature=99.0), CHAT)[0]
    assert problem == Problem(
        "range",
        "/temperature",
        "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, "
        "but got 99.0 instead.",
    )
    assert str(problem).startswith("range at /temperature: Invalid")


def test_bytes_are_parsed() -> None:
    assert found(b'{"model": "m", "messages": []}', CHAT) == [("no-messages", "/messages")]


def test_limits() -> None:
    with pytest.raises(Unsupported):
        check({}, CHAT, facet="melody")
    assert check({"dragoman": 1, "facet": "request"}, "native") == []


@given(likely_json, st.sampled_from(DIALECTS), st.sampled_from(list(FACETS)))
def test_any_json_gives_problems_that_are_explained(doc: Any, dialect: str, facet: str) -> None:
    explained = getattr(get(dialect), "rules")  # noqa: B009
    for problem in check(doc, dialect, facet=facet):
        assert problem.rule in explained
        assert problem.message
        assert points_into(doc, problem.path)


def points_into(doc: Any, path: str) -> bool:
    """Whether a JSON pointer leads somewhere; the name of what is missing may be its end."""
    for token in path.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(doc, list):
            doc = doc[int(token)]
        elif isinstance(doc, dict):
            doc = doc.get(token)
        else:
            return False
    return True
