"""Documents and what they are; documents that nobody can tell; and any JSON at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from dragoman import Malformed, Unsupported, convert, dialects
from dragoman.detect import FLOOR, detect
from dragoman.dialects.openai_chat import OpenAIChat
from lookalikes import likely_json
from strategies import json_values

ANTHROPIC, CHAT, RESPONSES = "anthropic-messages", "openai-chat", "openai-responses"
BEDROCK = "bedrock-converse"
GEMMA, TEACHING = "functiongemma", "functiongemma-teaching"
DECLARED = "<start_function_declaration>declaration:f{}<end_function_declaration>"
HI = [{"role": "user", "content": "Hi"}]
BLOCKS = [{"role": "user", "content": [{"text": "Hi"}]}]
SCHEMA = {"type": "object", "properties": {}}
ASKED = {"model": "m", "max_tokens": 9, "messages": HI}
CONTENTS = [{"role": "user", "parts": [{"text": "Hi"}]}, {"role": "model", "parts": [{"text": ""}]}]
SAID = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}}]}
CALLED = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}

KNOWN: list[tuple[str, str, Any]] = [
    # requests
    (ANTHROPIC, "request", ASKED | {"system": "Be brief."}),
    (ANTHROPIC, "request", ASKED | {"model": "claude-opus-4-8"}),
    (ANTHROPIC, "request", ASKED | {"stop_sequences": ["x"]}),
    (ANTHROPIC, "request", ASKED | {"thinking": {"type": "enabled", "budget_tokens": 1024}}),
    (ANTHROPIC, "request", ASKED | {"tools": [{"name": "f", "input_schema": SCHEMA}]}),
    (ANTHROPIC, "request", ASKED | {"tools": [{"type": "bash_20250124", "name": "bash"}]}),
    ("anthropic-bedrock", "request", {"anthropic_version": "bedrock-2023-05-31", "messages": HI}),
    ("anthropic-vertex", "request", {"anthropic_version": "vertex-2023-10-16", "messages": HI}),
    (ANTHROPIC, "request", {"anthropic_version": "2023-06-01", "messages": HI}),
    ("kimi", "request", ASKED | {"model": "kimi-k2.6"}),
    ("glm", "request", ASKED | {"model": "glm-4.6"}),
    ("minimax", "request", ASKED | {"reasoning_split": True}),
    ("minimax", "response", SAID | {"base_resp": {"status_code": 0, "status_msg": ""}}),
    ("qwen", "request", ASKED | {"enable_thinking": False}),
    ("cerebras", "response", SAID | {"time_info": {"queue_time": 0.1}}),
    ("fireworks", "request", ASKED | {"model": "accounts/fireworks/models/glm-4p6"}),
    ("perplexity", "request", ASKED | {"search_recency_filter": "week"}),
    ("perplexity", "response", SAID | {"search_results": [{"title": "a", "url": "https://a.b"}]}),
    ("sambanova", "response", SAID | {"usage": {"completion_tokens_after_first_per_sec": 1.5}}),
    ("huggingface", "request", ASKED | {"model": "openai/gpt-oss-120b:fastest"}),
    ("litellm", "request", ASKED | {"drop_params": True}),
    ("databricks", "request", ASKED | {"model": "databricks-claude-sonnet-4-5"}),
    ("databricks", "error", {"error_code": "BAD_REQUEST", "message": "no"}),
    ("watsonx", "request", {"model_id": "m", "project_id": "p", "messages": HI}),
    ("watsonx", "error", {"errors": [{"code": "not_found", "message": "no"}], "trace": "1"}),
    (CHAT, "request", {"model": "m", "messages": HI}),
    (CHAT, "request", ASKED | {"model": "gpt-4o"}),
    (CHAT, "request", ASKED | {"n": 2}),
    (CHAT, "request", ASKED | {"messages": [{"role": "system", "content": "Be brief."}, *HI]}),
    (CHAT, "request", ASKED | {"tools": [{"type": "function", "function": {"name": "f"}}]}),
    (CHAT, "request", ASKED | {"messages": [{"role": "assistant", "tool_calls": [CALLED]}]}),
    (RESPONSES, "request", {"model": "m", "input": "Hi"}),
    (RESPONSES, "request", {"model": "m", "input": HI, "instructions": "Be brief."}),
    (RESPONSES, "request", {"prompt": {"id": "pmpt_1", "variables": {}}}),
    (BEDROCK, "request", {"messages": BLOCKS, "inferenceConfig": {}}),
    (BEDROCK, "request", {"messages": BLOCKS, "modelId": "m", "system": [{"text": "Be brief."}]}),
    ("groq", "request", ASKED | {"reasoning_format": "parsed"}),
    ("llama-cpp", "request", ASKED | {"reasoning_format": "auto"}),
    ("llama-cpp", "request", ASKED | {"reasoning_budget_tokens": 9}),
    ("vllm", "request", ASKED | {"thinking_token_budget": 9}),
    # histories
    (BEDROCK, "messages", BLOCKS),
    (ANTHROPIC, "messages", {"system": "Be brief.", "messages": HI}),
    (ANTHROPIC, "messages", [{"role": "user", "content": [{"type": "tool_result"}]}]),
    (CHAT, "messages", {"messages": [{"role": "system", "content": "Be brief."}, *HI]}),
    (CHAT, "messages", [*HI, {"role": "tool", "tool_call_id": "call_1", "content": "1"}]),
    (RESPONSES, "messages", [*HI, {"type": "function_call", "call_id": "c", "name": "f"}]),
    (RESPONSES, "messages", [{"role": "user", "content": [{"type": "input_text"}]}]),
    (RESPONSES, "messages", {"instructions": "Be brief.", "input": HI}),
    # tools
    (ANTHROPIC, "tools", [{"name": "f", "input_schema": SCHEMA}]),
    (CHAT, "tools", [{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]),
    (RESPONSES, "tools", [{"type": "function", "name": "f", "parameters": SCHEMA}]),
    (RESPONSES, "tools", [{"type": "web_search"}]),
    (BEDROCK, "tools", [{"toolSpec": {"name": "f", "inputSchema": {"json": SCHEMA}}}]),
    # tool choices
    (BEDROCK, "tool-choice", {"tool": {"name": "f"}}),
    (ANTHROPIC, "tool-choice", {"type": "auto"}),
    (ANTHROPIC, "tool-choice", {"type": "tool", "name": "f"}),
    (CHAT, "tool-choice", {"type": "function", "function": {"name": "f"}}),
    (CHAT, "tool-choice", {"type": "allowed_tools", "allowed_tools": {"mode": "auto"}}),
    (RESPONSES, "tool-choice", {"type": "function", "name": "f"}),
    (RESPONSES, "tool-choice", {"type": "allowed_tools", "mode": "auto", "tools": []}),
    (RESPONSES, "tool-choice", {"type": "file_search"}),
    # replies
    (ANTHROPIC, "response", {"type": "message", "role": "assistant", "content": []}),
    (CHAT, "response", {"choices": [{"message": {"role": "assistant", "content": "Hi"}}]}),
    (RESPONSES, "response", {"object": "response", "output": []}),
    (BEDROCK, "response", {"output": {"message": {"role": "assistant", "content": []}}}),
    # errors
    (BEDROCK, "error", {"__type": "ThrottlingException", "message": "x"}),
    (ANTHROPIC, "error", {"type": "error", "error": {"type": "api_error", "message": "x"}}),
    # contents and parts
    ("gemini", "request", {"contents": [{"parts": [{"text": "Hi"}]}]}),
    ("gemini", "request", {"contents": CONTENTS, "generation_config": {"temperature": 1}}),
    ("gemini", "messages", CONTENTS),
    ("gemini", "tools", [{"functionDeclarations": [{"name": "f"}]}]),
    ("gemini", "tools", {"function_declarations": [{"name": "f"}]}),
    ("gemini", "tools", [{"googleSearch": {}}]),
    ("gemini", "tool-choice", {"functionCallingConfig": {"mode": "ANY"}}),
    ("gemini", "response", {"candidates": [{"content": CONTENTS[1], "finishReason": "STOP"}]}),
    ("gemini", "response", {"promptFeedback": {"blockReason": "SAFETY"}}),
    ("gemini", "error", {"error": {"code": 400, "message": "x", "status": "INVALID_ARGUMENT"}}),
    ("gemini", "error", [{"error": {"code": 429, "message": "x", "status": "UNKNOWN"}}]),
    # texts
    (GEMMA, "request", {"text": f"<bos><start_of_turn>developer\n{DECLARED}<end_of_turn>\n"}),
    (GEMMA, "request", {"prompt": "<bos><start_of_turn>user\nHi<end_of_turn>\n"
                        "<start_of_turn>model\n", "completion": "Hello."}),
    (GEMMA, "tools", {"text": DECLARED}),
    (GEMMA, "response", {"text": "<start_function_call>call:f{}<end_function_call>"}),
    (TEACHING, "request", {"text": "<start_of_turn>user\nHi\n<end_of_turn>\n<start_of_turn>model\n"
                           "/* So. */\n<start_function_call>\ncall:f{}\n"}),
    ("sharegpt", "request", {"conversations": [{"from": "human", "value": "Hi"}]}),
    ("alpaca", "request", {"instruction": "Add.", "input": "1 2", "output": "3"}),
    ("chatml", "request", {"text": "<|im_start|>user\nHi<|im_end|>\n"}),
    ("hermes", "request", {"text": "<|im_start|>tool\n<tool_response>\nHi\n</tool_response>"}),
    # variants, each by marks of its own
    ("deepseek", "request", ASKED | {"model": "deepseek-chat"}),
    ("deepseek", "response", SAID | {"usage": {"prompt_cache_hit_tokens": 0}}),
    ("openrouter", "request", ASKED | {"provider": {"order": ["Groq"]}, "n": 1}),
    ("openrouter", "response", SAID | {"id": "gen-1", "provider": "Groq"}),
    ("openrouter", "error", {"error": {"code": 404, "message": "x"}, "user_id": "user_1"}),
    ("groq", "request", {"model": "m", "messages": HI, "reasoning_format": "parsed"}),
    ("groq", "response", SAID | {"x_groq": {"id": "req_1"}}),
    ("xai", "request", {"model": "m", "messages": HI, "search_parameters": {"mode": "auto"}}),
    ("xai", "response", SAID | {"usage": {"num_sources_used": 0}}),
    ("xai", "error", {"code": "Internal error", "error": "x"}),
    ("azure-openai", "response", SAID | {"prompt_filter_results": []}),
    ("azure-openai", "error", {"error": {"message": "x", "innererror": {"code": "y"}}}),
    ("vllm", "request", {"model": "m", "messages": HI, "guided_choice": ["a", "b"]}),
    ("vllm", "response", SAID | {"kv_transfer_params": None}),
    ("llama-cpp", "request", {"model": "m", "messages": HI, "id_slot": 1}),
    ("llama-cpp", "response", SAID | {"timings": {"predicted_n": 1}}),
    ("open-responses", "request", {"model": "m", "input": "Hi", "tools": [{"type": "a:b"}]}),
    # but a model that many serve, or reasoning as many say them, are marks of nobody
    (CHAT, "request", ASKED | {"model": "grok-4", "n": 1}),
    (CHAT, "request", ASKED | {"model": "deepseek-ai/DeepSeek-R1", "n": 1}),
    (CHAT, "messages", [*HI, {"role": "assistant", "content": "Hi", "reasoning_content": "Hm."}]),
    ("native", "request", {"dragoman": 1, "facet": "request", "tree": {}}),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "facet", "doc"), KNOWN)
def test_known(dialect: str, facet: str, doc: Any) -> None:
    best = detect(doc)[0]
    assert (best.dialect, best.facet) == (dialect, facet)
    assert best.evidence


# What two APIs say alike is told apart by nobody.
@pytest.mark.parametrize(
    "doc",
    [
        ASKED,
        HI,
        "auto",
        {"error": {"message": "x", "type": "invalid_request_error", "param": None, "code": None}},
        [{"role": "system", "content": "Be brief."}, *HI],
        {"messages": BLOCKS},  # Bedrock's, but a request or a history
    ],
)
def test_a_tie_is_no_guess(doc: Any) -> None:
    assert detect(doc) == ()


@pytest.mark.parametrize(
    "doc",
    [
        None,
        7,
        "Hello",
        [],
        {},
        [[]],
        {"conversations": [{"who": "human", "value": "Hi"}]},
        {"instruction": "Add.", "input": "1 2", "result": "3"},
        {"text": "Hello"},
        {"prompt": "Hello", "completion": "Hi"},
        {"message": "The provided model identifier is invalid."},
        {"dragoman": 1, "facet": [], "tree": {}},
    ],
)
def test_neither_is_a_stranger(doc: Any) -> None:
    assert detect(doc) == ()


def test_guesses_are_ranked_and_explained() -> None:
    guesses = detect(ASKED | {"system": "Be brief."})
    assert [(g.dialect, g.facet) for g in guesses] == [(ANTHROPIC, "request"), (CHAT, "request")]
    assert guesses[0].confidence > guesses[1].confidence >= FLOOR
    assert "the key 'system'" in guesses[0].evidence
    assert "but the key 'system'" in guesses[1].evidence


def test_bytes_are_parsed() -> None:
    assert detect(b'{"model": "m", "input": "Hi"}')[0].dialect == RESPONSES
    with pytest.raises(Malformed):
        detect(b"{")


def test_a_facet_can_be_demanded() -> None:
    doc = {"messages": [{"role": "system", "content": "Be brief."}, *HI]}
    assert detect(doc)[0].facet == "messages"
    assert {g.facet for g in detect(doc, facet="request")} == {"request"}


ERRORS: list[tuple[str, dict[str, Any]]] = [
    (CHAT, {"error": {"message": "x", "type": "rate_limit_error", "param": None, "code": None}}),
    (ANTHROPIC, {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}),
    (
        RESPONSES,
        {"type": "error", "code": "x", "message": "x", "param": None, "sequence_number": 0},
    ),
    ("gemini", {"error": {"code": 429, "message": "x", "status": "RESOURCE_EXHAUSTED"}}),
    ("xai", {"code": "Some requested entity was not found", "error": "x"}),
    ("llama-cpp", {"error": {"code": 400, "message": "x", "type": "y", "n_ctx": 512}}),
    ("vercel-ui", {"type": "error", "errorText": "x"}),
]


@pytest.mark.parametrize(("dialect", "doc"), ERRORS)
def test_a_stream_may_begin_with_an_error(dialect: str, doc: dict[str, Any]) -> None:
    data = b"data: %b\n\n" % json.dumps(doc).encode()
    (guess,) = detect(data, facet="stream")
    assert (guess.dialect, guess.facet) == (dialect, "stream")
    assert b"x" in convert(data, target=ANTHROPIC, facet="stream").document


def test_streams_that_nobody_can_tell() -> None:
    assert detect(b'{"error": "model not found"}\n', facet="stream")[0].dialect == "ollama"
    for data in (b"", b"data: [DONE]\n\n", b'data: {"error": {}}\n\n', b'data: {"a": 1}\n\n'):
        assert detect(data, facet="stream") == ()
        with pytest.raises(Unsupported, match="name it with source="):
            convert(data, target=ANTHROPIC, facet="stream")


def test_a_variant_without_evidence_of_its_own_is_no_rival(monkeypatch: pytest.MonkeyPatch) -> None:
    class Variant(OpenAIChat):
        name = "variant"

    get, names = dialects.get, dialects.names()
    monkeypatch.setattr(dialects, "names", lambda: ("a-variant", *names))
    monkeypatch.setattr(dialects, "get", lambda n: Variant() if n == "a-variant" else get(n))
    assert detect({"model": "m", "messages": HI})[0].dialect == CHAT


@given(json_values | likely_json)
def test_any_json_gives_guesses_in_order(doc: Any) -> None:
    guesses = detect(doc)
    confidences = [guess.confidence for guess in guesses]
    assert confidences == sorted(confidences, reverse=True)
    assert all(FLOOR <= confidence <= 1 for confidence in confidences)


def test_the_work_is_bounded() -> None:
    strangers = [*HI * 60, {"role": "tool", "tool_call_id": "call_1", "content": "1"}]
    assert detect(strangers) == ()  # the sixtieth message is not looked at
