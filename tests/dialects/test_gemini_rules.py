"""What Gemini's API refuses, as ``check`` says it, and how ``repair`` repairs it."""

from __future__ import annotations

from typing import Any

import pytest

import dragoman
from dragoman.dialects._model_rules import RULES as MODEL_RULES
from dragoman.dialects.gemini.rules import RULES


def part(text: str) -> Any:
    return {"text": text}


def call(name: str = "f", **more: Any) -> Any:
    return {"functionCall": {"name": name, "args": {}, **more}}


def reply(name: str = "f", **more: Any) -> Any:
    return {"functionResponse": {"name": name, "response": {"output": "1"}, **more}}


def user(*parts: Any) -> Any:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> Any:
    return {"role": "model", "parts": list(parts)}


def functions(*names: str) -> Any:
    return [{"functionDeclarations": [{"name": name} for name in names]}]


HI = user(part("Hi"))
SIGNED = call() | {"thoughtSignature": "c2ln"}
ANY = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["g"]}}
AUTO = {"function_calling_config": {"mode": "AUTO", "allowed_function_names": ["f"]}}
JSON = {"generationConfig": {"responseMimeType": "application/json"}}
CASES: list[tuple[list[Any], dict[str, Any], list[tuple[str, str]]]] = [
    ([HI], {}, []),
    ([], {}, [("no-messages", "/contents")]),
    ([HI, {"role": "poet", "parts": [part("Ho")]}], {}, [("role", "/contents/1/role")]),
    ([user()], {}, [("empty-message", "/contents/0")]),
    # -- calls and responses
    ([HI, model(call(), call()), user(reply(), reply())], {}, []),
    (
        [HI, model(call(id="a"), call(id="b")), user(reply(id="b"))],
        {},
        [("unanswered-call", "/contents/1/parts/0")],
    ),
    (
        [HI, model(call("f"), call("g")), user(reply("f"))],
        {},
        [("unanswered-call", "/contents/1/parts/1")],
    ),
    ([HI, model(call()), HI], {}, []),  # nobody replies, and the API does not mind
    ([HI, model(call(), call()), user(reply()), user(reply())], {}, []),  # one turn
    ([HI, model(part("Ho")), model(call()), user(reply())], {}, []),
    (
        [HI, model(call(), call()), user(reply()), HI, model(part("Ho")), user(reply())],
        {},
        [("unanswered-call", "/contents/1/parts/1"), ("orphan-result", "/contents/5/parts/0")],
    ),
    ([HI, user(reply())], {}, [("orphan-result", "/contents/1/parts/0")]),
    ([model(call()), user(reply())], {}, [("call-turn", "/contents/0")]),
    # -- signatures: of this turn, the first of each step, of one model
    (
        [HI, model(call()), user(reply())],
        {"model": "models/gemini-3-pro"},
        [("thought-signature", "/contents/1/parts/0")],
    ),
    ([HI, model(SIGNED, call()), user(reply(), reply())], {"model": "gemini-3-pro"}, []),
    ([HI, model(call()), user(reply()), model(part("Ho")), HI], {"model": "gemini-3-pro"}, []),
    (
        [HI, model(call()), user(reply(parts=[{"inlineData": {"data": "AAAA"}}]))],
        {"model": "gemini-2.5-pro"},
        [("result-media", "/contents/2/parts/0/functionResponse/parts")],
    ),
    # -- tools
    (
        [HI],
        {"tools": functions("1f", "g", "g")},
        [
            ("tool-name", "/tools/0/functionDeclarations/0/name"),
            ("duplicate-tool", "/tools/0/functionDeclarations/2/name"),
        ],
    ),
    ([HI], {"tools": functions("mcp.a:b-c", "_x")[0]}, []),
    ([HI], {"toolConfig": ANY}, [("tool-choice", "/toolConfig/functionCallingConfig")]),
    (
        [HI],
        {"toolConfig": ANY, "tools": functions("f")},
        [("tool-choice", "/toolConfig/functionCallingConfig/allowedFunctionNames/0")],
    ),
    (
        [HI],
        {"tool_config": AUTO, "tools": functions("f")},
        [("tool-choice", "/tool_config/function_calling_config/allowed_function_names")],
    ),
    # -- the rest
    (
        [HI],
        {"model": "gemini-2.5-pro", "tools": functions("f"), **JSON},
        [("format-tools", "/generationConfig/responseMimeType")],
    ),
    ([HI], {"model": "gemini-3-pro", "tools": functions("f"), **JSON}, []),
    ([HI], {"tools": functions("f"), **JSON}, []),
    (
        [HI],
        {"generation_config": {"temperature": 3, "top_p": 0.5, "stop_sequences": list("abcdef")}},
        [
            ("range", "/generation_config/temperature"),
            ("stop", "/generation_config/stop_sequences"),
        ],
    ),
    (
        [HI],
        {"generationConfig": {"thinkingConfig": {"thinkingBudget": 1, "thinkingLevel": "LOW"}}},
        [("thinking", "/generationConfig/thinkingConfig")],
    ),
    (
        [HI],
        {
            "model": "gemini-2.5-pro",
            "generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW"}},
        },
        [("thinking", "/generationConfig/thinkingConfig/thinkingLevel")],
    ),
    ([HI], {"generationConfig": {"seed": "x"}}, [("malformed", "/generationConfig/seed")]),
]


def found(doc: Any, facet: str = "request") -> list[tuple[str, str]]:
    return [(p.rule, p.path) for p in dragoman.check(doc, "gemini", facet=facet)]


@pytest.mark.parametrize(("contents", "more", "expected"), CASES)
def test_check(contents: list[Any], more: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert found({"contents": contents, **more}) == expected


def test_every_rule_is_tested() -> None:
    tried = RULES.keys() - MODEL_RULES.keys()  # test_models.py has those, model by model
    assert {rule for case in CASES for rule, _ in case[2]} == tried


def test_a_history_may_end_in_calls() -> None:
    assert found([HI, model(call())], "messages") == []
    assert found([HI, user(reply())], "messages") == [("orphan-result", "/1/parts/0")]
    assert found(functions("a b"), "tools") == [("tool-name", "/0/functionDeclarations/0/name")]


def test_a_missing_response_is_repaired() -> None:
    contents = [HI, model(call(id="a"), call(id="b")), user(reply(id="a")), HI]
    result = dragoman.repair({"contents": contents}, "gemini")
    assert [str(loss).partition(" at ")[0] for loss in result.losses] == ["invented tool_result"]
    responses = result.document["contents"][2]["parts"]
    assert [response["functionResponse"]["id"] for response in responses] == ["a", "b"]
    assert found(result.document) == []
