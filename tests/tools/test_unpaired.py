"""Results and calls that are no pairs, and what else was once lost in silence: each is reported."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

import leaves
from dragoman import Transcoder, check, convert, dialects, read
from dragoman.model import Text, ToolCall, ToolResult
from fuzz.oracles import Talk, audit_by_leaf, audit_by_node

CALL = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
MARK: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}


def claude(*turns: tuple[str, list[Any]]) -> dict[str, Any]:
    messages = [{"role": role, "content": content} for role, content in turns]
    return {"model": "m", "max_tokens": 9, "messages": messages}


def result(call: str, text: str = "14 C", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": text, **more}


def parts(*found: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": "m",
        "contents": [
            {"role": "model", "parts": [{"functionCall": {"id": "c", "name": "f", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": x} for x in found]},
        ],
    }


def content(speaker: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"speaker": speaker, "blocks": list(blocks)}


CALLED = {"type": "tool_call", "id": "hist_tool_1", "name": "f", "parameters": {}}
ANSWER = {"type": "tool_response", "callId": "hist_tool_1", "toolName": "f", "result": "14 C"}
CITED = {"start": 6, "end": 10, "text": "14 C", "sources": [{"type": "document", "id": "d"}]}
SEARCHED = {"type": "tool_search_output", "execution": "client", "call_id": "c", "tools": []}

# what it is: dialect, facet, document, target, and a loss that the ledger must have
SHAPES: dict[str, tuple[str, str, Any, str, str]] = {
    "the cache mark of a result without its call": (
        "anthropic-messages", "request", claude(("user", [result("x", **MARK)])),
        "xai", "dropped cache /messages/0/content/0/cache_control"),
    "the cache mark of a second result": (
        "anthropic-messages", "request",
        claude(("assistant", [CALL]), ("user", [result("c"), result("c", "20 C", **MARK)])),
        "xai", "dropped cache /messages/1/content/1/cache_control"),
    "the failure of a second result": (
        "anthropic-messages", "request",
        claude(("assistant", [CALL]), ("user", [result("c"), result("c", "No.", is_error=True)])),
        "openai-chat", "approximated tool_result.error /messages/1/content/1"),
    "the tool that a second result names": (
        "gemini", "request",
        parts({"id": "c", "name": "f", "response": {}}, {"id": "c", "name": "g", "response": {}}),
        "xai", "dropped tool_result.name /contents/1/parts/1"),
    "the kind of a result without its call": (
        "openai-responses", "request", {"model": "m", "input": [SEARCHED]},
        "anthropic-messages", "approximated tool_call.kind /input/0"),
    "the kind of a freeform result without its call": (
        "openai-responses", "messages",
        {"input": [{"type": "custom_tool_call_output", "call_id": "x", "output": "14 C"}]},
        "azure-openai", "approximated tool_call.kind /input/0"),
    "the tool of a result whose call has a namespace": (
        "openai-responses", "request",
        {"model": "m", "input": [
            {"type": "function_call", "call_id": "c", "name": "f", "namespace": "n",
             "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "name": "f", "output": "14 C"}]},
        "open-responses", "moved tool.namespace /input/1"),
    "a freeform tool that is chosen and not defined": (
        "azure-openai", "request",
        {"model": "m", "messages": [{"role": "user", "content": "Hi"}],
         "tools": [{"type": "function", "function": {"name": "g", "parameters": {}}}],
         "tool_choice": {"type": "custom", "custom": {"name": "f"}}},
        "vercel-core", "approximated tool_choice /tool_choice"),
    "citations of a text of white space": (
        "cohere", "messages",
        [{"role": "assistant", "content": " ",
          "citations": [{"start": 0, "end": 1, "sources": [{"type": "document", "id": "d"}]}]}],
        "bedrock-converse", "dropped text.citations /0/citations/0/sources/0"),
    "a citation of another text": (
        "cohere", "response", {"id": "r", "message": {"content": "So.", "citations": [CITED]}},
        "groq", "dropped extras /message/citations"),
    "a system message without content": (
        "icontent", "messages",
        [{"speaker": "ai", "blocks": [], "metadata": {"role": "system"}}],
        "anthropic-messages", "dropped message.empty /0"),
    "reasoning blocks with one id": (
        "openai-responses", "response",
        {"model": "m", "output": [
            {"type": "reasoning", "id": "rs_1",
             "summary": [{"type": "summary_text", "text": text}]} for text in ("One.", "Two.")]},
        "vercel-model", "approximated text.boundary /output/1"),
    "a status that failed, and why it was cut off": (
        "openai-responses", "response",
        {"id": "r", "model": "m", "status": "failed",
         "incomplete_details": {"reason": "max_output_tokens"}, "output": []},
        "openai-chat", "dropped stop.detail "),
    "the id of a request that failed": (
        "cohere", "response", {"id": "q", "message": "No."},
        "openai-responses", "dropped error.request_id "),
    "the id of a detail of OpenRouter's": (
        "openrouter", "response",
        {"id": "r", "model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": {
            "role": "assistant", "content": "So.", "reasoning_details": [
                {"type": "reasoning.text", "text": "Hm.", "id": "t1", "format": "unknown"}]}}]},
        "vllm", "dropped extras /choices/0/message/reasoning_details/0/id"),
    "the log probabilities of a response that failed": (
        "groq", "response",
        {"choices": [{"finish_reason": "stop", "message": {"role": "assistant"},
                      "logprobs": {"content": [{"token": "Hi"}]}}], "error": "No."},
        "icontent-design", "dropped logprobs /choices/0"),
    "arguments under two names": (
        "vercel-model", "messages",
        [{"role": "assistant", "content": [
            {"type": "tool-call", "toolCallId": "c", "toolName": "f",
             "input": {"a": 1}, "args": {"a": 2}}]}],
        "vercel-core", "dropped extras /0/content/0/args"),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_what_was_once_lost_in_silence(name: str) -> None:
    dialect, facet, document, target, loss = SHAPES[name]
    same = convert(document, source=dialect, target=dialect, facet=facet)
    assert (same.document, same.losses) == (document, ())
    case = Talk(dialect, facet, target, document)
    losses = [f"{x.kind} {x.what} {x.path}" for x in case.turned(target).losses]
    assert loss in losses
    audit_by_node(case)
    audit_by_leaf(case)


def test_an_object_of_kin_does_not_replace_what_is_written() -> None:
    dialect, facet, document, target, _ = SHAPES["arguments under two names"]
    other = convert(document, source=dialect, target=target, facet=facet)
    assert other.document[0]["content"][0]["args"] == {"a": 1}


def test_media_of_two_results_with_one_id_stay_after_both() -> None:
    """Nobody can tell of which they were: they are not put into one of them."""
    image = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    found = [
        {"type": "tool_result", "tool_use_id": "c", "content": [image]},
        {"type": "tool_result", "tool_use_id": "c", "content": "14 C"},
    ]
    document = [{"role": "assistant", "content": [CALL]}, {"role": "user", "content": found}]
    there = convert(document, source="anthropic-messages", target="openai-chat", facet="messages")
    back: Any = read(there.document, "openai-chat", facet="messages")
    assert [message.role for message in back.messages] == ["assistant", "tool", "tool", "user"]


@pytest.mark.parametrize("target", ["cohere", "ollama", "gemini"])
def test_a_usage_without_counts_says_nothing(target: str) -> None:
    message = {"role": "assistant", "content": "So."}
    document = {
        "id": "r", "model": "m", "usage": {},
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }  # fmt: skip
    audit_by_node(Talk("openai-chat", "response", target, document))


def test_data_that_are_no_image_are_not_written_as_one() -> None:
    document = [{"role": "user", "content": "Look.", "images": ["JVBERi0xLjQKJSVFT0YK"]}]
    other = convert(document, source="ollama", target="gemini", facet="messages")
    assert not leaves.unaccounted(document, other.document, other.losses)
    assert b"image/png" not in other.to_json()


def test_a_variant_with_one_candidate_writes_one(monkeypatch: pytest.MonkeyPatch) -> None:
    groq = dialects.get("groq")
    monkeypatch.setattr(type(groq), "can", replace(groq.can, candidates=1))
    one, two = (
        b'data: {"id":"1","model":"m","choices":[{"index":%d,"delta":{"content":"%s"}}]}\n\n'
        % spelled
        for spelled in ((0, b"One."), (1, b"Two."))
    )
    transcoder = Transcoder("openai-chat", "groq", now=0)
    written = transcoder.feed(one + two + b"data: [DONE]\n\n") + transcoder.close()
    assert b"One." in written
    assert b"Two." not in written
    assert "candidates" in [loss.what for loss in transcoder.losses]


@pytest.mark.parametrize(
    ("dialect", "key", "value"),
    [
        ("groq", "max_completion_tokens", 0),
        ("deepseek", "max_tokens", 0),
        ("xai", "top_logprobs", 9),
    ],
)
def test_variants_have_ranges(dialect: str, key: str, value: int) -> None:
    document = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], key: value}
    assert [x.path for x in check(document, dialect) if x.rule == "range"] == [f"/{key}"]


ORDERS = {
    "one turn": (((1, 2, 3), "1"), ((), "2"), ((), "3")),
    "one after the other": (((1,), "1"), ((2,), "2"), ((3, 4), "3"), ((), "4")),
    "the first is not replied": (((1,), None), ((2,), "2"), ((3,), "3")),
}
"""Calls of one id, each with its number, and the results that follow them."""


@pytest.mark.parametrize("target", ["anthropic-messages", "bedrock-converse", "cohere"])
@pytest.mark.parametrize("order", ORDERS)
def test_a_result_of_a_repeated_id_replies_its_own_call(order: str, target: str) -> None:
    messages: list[Any] = [{"role": "user", "content": "Hi"}]
    for numbers, text in ORDERS[order]:
        calls = [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": f'{{"n":{n}}}'}}
            for n in numbers
        ]
        if calls:
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        if text is not None:
            messages.append({"role": "tool", "tool_call_id": "c", "content": text})
    done = convert(messages, source="openai-chat", target=target, facet="messages")
    tree = read(done.document, target, facet="messages")
    blocks = [block for message in tree.messages for block in message.content]
    said = {block.id: block.arguments for block in blocks if isinstance(block, ToolCall)}
    results = [block for block in blocks if isinstance(block, ToolResult)]
    assert len(said) == sum(len(numbers) for numbers, _ in ORDERS[order])
    for result in results:
        assert isinstance(result.content[0], Text)
        assert result.call_id is not None
        assert said[result.call_id].replace(" ", "") == f'{{"n":{result.content[0].text}}}'
