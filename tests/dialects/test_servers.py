"""Servers as they are: each deviation in every dialect of its family, and in every target.

A row is a good stream with something that its specification does not know. It is a response, not an
error: the same bytes in the same dialect, and the same blocks everywhere, however it is cut.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

import dragoman
from dragoman import Transcoder, dialects, testing
from dragoman.model import Reasoning, Text, ToolCall
from dragoman.streams.framing.eventstream import write_frame
from families import CHAT, RESPONSES

STREAMS = [name for name in dialects.names() if "stream" in dialects.get(name).facets()]


class Row(NamedTuple):
    """What is odd, who may send it, the stream, what it says, and why it ended."""

    what: str
    sources: tuple[str, ...]
    data: bytes
    written: tuple[tuple[str, str], ...]
    stop: str | None


def sse(*docs: Any, done: bool = True) -> bytes:
    written = [d if isinstance(d, bytes) else b"data: " + json.dumps(d).encode() for d in docs]
    return b"\n\n".join((*written, *((b"data: [DONE]",) if done else ()), b""))


def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "c", "created": 1, "model": "m", "choices": [choice]}


def call(index: int, arguments: str, **named: str) -> dict[str, Any]:
    function = {"arguments": arguments, **({"name": "f"} if named else {})}
    return {"tool_calls": [{"index": index, "function": function, **named}]}


def event(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, **more}


START = event(
    "message_start",
    message={"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [],
             "stop_reason": None, "stop_sequence": None,
             "usage": {"input_tokens": 1, "output_tokens": 1}},
)  # fmt: skip
STOPPED = [
    event("message_delta", delta={"stop_reason": "max_tokens"}, usage={"output_tokens": 9}),
    event("message_stop"),
]
RESPONSE = {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": []}
ITEM = {"type": "message", "id": "i", "role": "assistant", "status": "completed", "content": []}
PART = {"type": "output_text", "text": "", "annotations": []}
ENDED = ITEM | {"content": [PART | {"text": "Hi"}]}
PLACE = {"output_index": 0, "item_id": "i", "content_index": 1}


def converse(*events: tuple[str, dict[str, Any]]) -> bytes:
    return b"".join(write_frame(name, json.dumps(doc).encode()) for name, doc in events)


HI = (("text", "Hi"),)
CALLED = (("call", '{"a":1}'),)
ROWS = (
    Row("blank heartbeats", (*CHAT, "mistral"),
        sse(b"data:", chunk({"content": "H"}), b"event: ping\ndata: ", chunk({"content": "i"}),
            b"data:  ", chunk({}, "stop")), HI, "end"),
    Row("a call with a negative index (GLM)", (*CHAT, "mistral"),
        sse(chunk(call(-1, '{"a":', id="x")), chunk(call(-1, "1}")), chunk({}, "tool_calls")),
        CALLED, "tool-call"),
    Row("[DONE] without a reason (Snowflake, Kimi)", (*CHAT, "mistral"),
        sse(chunk({"content": "Hi"})), HI, None),
    Row("reasoning as a part of the content (Databricks)", CHAT,
        sse(chunk({"content": [{"type": "reasoning", "summary": [
                {"type": "summary_text", "text": "Hm", "signature": "s"}]}]}),
            chunk({"content": [{"type": "text", "text": "Hi"}]}), chunk({}, "stop")),
        (("reasoning", "Hm"), *HI), "end"),
    Row("blocks of Anthropic beside the content (LiteLLM)", CHAT,
        sse(chunk({"reasoning_content": "Hm", "thinking_blocks": [
                {"type": "thinking", "thinking": "Hm", "signature": None}]}),
            chunk({"thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "s"}]}),
            chunk({"content": "Hi"}), chunk({}, "stop")),
        (("reasoning", "Hm"), *HI), "end"),
    Row("a choice without a delta that was filtered (Azure)", CHAT,
        sse({"choices": [], "prompt_filter_results": []},
            {"id": "c", "created": 1, "model": "m",
             "choices": [{"index": 0, "finish_reason": "content_filter"}]}), (), "filter"),
    Row("parts counted from one (gpt-oss on Bedrock)", RESPONSES,
        sse(event("response.created", response=RESPONSE),
            event("response.output_item.added", output_index=0, item=ITEM),
            event("response.content_part.added", part=PART, **PLACE),
            event("response.output_text.delta", delta="H", **PLACE),
            event("response.output_text.delta", delta="i", **PLACE),
            event("response.output_item.done", output_index=0, item=ENDED),
            event("response.completed",
                  response=RESPONSE | {"status": "completed", "output": [ENDED]}), done=False),
        HI, "end"),
    Row("a limit inside a call that has no end (Anthropic)", ("anthropic-messages",),
        sse(START, event("content_block_start", index=0, content_block={
                "type": "tool_use", "id": "t", "name": "f", "input": {}}),
            event("content_block_delta", index=0, delta={
                "type": "input_json_delta", "partial_json": '{"a":'}), *STOPPED, done=False),
        (("call", '{"a":'),), "length"),
    Row("a text that begins with an empty start (Bedrock)", ("bedrock-converse",),
        converse(("messageStart", {"role": "assistant"}),
                 ("contentBlockStart", {"start": {}, "contentBlockIndex": 0}),
                 ("contentBlockDelta", {"delta": {"text": "Hi"}, "contentBlockIndex": 0}),
                 ("contentBlockStop", {"contentBlockIndex": 0}),
                 ("messageStop", {"stopReason": "end_turn"}), ("metadata", {})), HI, "end"),
    Row("reasoning that begins without a start (Bedrock)", ("bedrock-converse",),
        converse(("messageStart", {"role": "assistant"}),
                 ("contentBlockStart", {"contentBlockIndex": 0}),
                 ("contentBlockDelta",
                  {"delta": {"reasoningContent": {"text": "Hm"}}, "contentBlockIndex": 0}),
                 ("contentBlockStop", {"contentBlockIndex": 0}),
                 ("messageStop", {"stopReason": "end_turn"}), ("metadata", {})),
        (("reasoning", "Hm"),), "end"),
)  # fmt: skip
CASES = [(row, source) for row in ROWS for source in row.sources]
cases = pytest.mark.parametrize(
    ("row", "source"), CASES, ids=[f"{source}: {row.what}" for row, source in CASES]
)


def written(transcoder: Transcoder) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    for block in transcoder.response.candidates[0].message.content:
        if isinstance(block, Text):
            found.append(("text", block.text))
        elif isinstance(block, ToolCall):
            found.append(("call", block.arguments))
        elif isinstance(block, Reasoning):
            found.append(("reasoning", "".join(block.words)))
    return tuple(found)


@cases
def test_it_is_a_response_everywhere(row: Row, source: str) -> None:
    for target in STREAMS:
        transcoder = Transcoder(source, target, now=0)
        data = transcoder.feed(row.data) + transcoder.close()
        assert transcoder.response.failure is None, target
        stop = transcoder.response.candidates[0].stop
        assert (stop and stop.reason) == row.stop
        if target == source:
            assert data == row.data
        else:
            assert written(transcoder) == row.written, target
            told = [loss.what for loss in transcoder.losses]
            assert ("stream.end" in told) == (row.stop is None), target


@cases
def test_the_laws_hold(row: Row, source: str) -> None:
    for target in (source, "anthropic-messages", "openai-chat", "gemini"):
        testing.streaming_equals_batch(row.data, source, target)
        testing.cuts_do_not_matter(row.data, source, target, f"{row.what} {source} {target}")


@cases
def test_a_stream_that_just_stops_is_a_failure(row: Row, source: str) -> None:
    testing.never_a_false_success(row.data, source, "openai-responses")


@pytest.mark.parametrize("source", [*CHAT, "mistral"])
def test_without_done_there_must_be_a_reason(source: str) -> None:
    transcoder = Transcoder(source, "anthropic-messages")
    transcoder.feed(sse(chunk({"content": "Hi"}), done=False))
    transcoder.close()
    assert transcoder.response.failure is not None


@pytest.mark.parametrize("raw", ['{"a":', {"a": "b"}, [1]])
def test_a_raw_input_is_what_the_model_wrote(raw: Any) -> None:
    part = {"type": "tool-f", "toolCallId": "c", "state": "output-error", "rawInput": raw,
            "errorText": "No."}  # fmt: skip
    doc = {"id": "m", "role": "assistant", "parts": [part]}
    same = dragoman.convert(doc, source="vercel-ui", target="vercel-ui", facet="response")
    assert same.document == doc
    chat = dragoman.convert(doc, source="vercel-ui", target="openai-chat", facet="response")
    (written,) = chat.document["choices"][0]["message"]["tool_calls"]
    text = raw if isinstance(raw, str) else json.dumps(raw, separators=(",", ":"))
    assert written["function"]["arguments"] == text


def test_a_line_of_fine_tuning_data_is_a_request() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    line = {"messages": [{"role": "user", "content": "Hi"}], "tools": [tool]}
    (guess, *_) = dragoman.detect(line)
    assert (guess.dialect, guess.facet) == ("openai-chat", "request")
    result = dragoman.convert(line, target="functiongemma")
    assert "declaration:f" in str(result.document)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('{"a":1}', ("tool_use", "tool_calls", "tool_use", "TOOL_CALL")),
        ('{"a":', (None, "stop", "malformed_model_output", "COMPLETE")),
    ],
)
def test_an_unknown_end_after_whole_calls_asks_to_run_them(
    arguments: str, words: tuple[str | None, ...]
) -> None:
    """An agent goes on by this word; a call that was cut must not look like one to run."""
    data = sse(chunk(call(0, arguments, id="a", type="function")), chunk({}, "eos"))
    response = dragoman.collect(data, "openai-chat").document
    targets = ("anthropic-messages", "mistral", "bedrock-converse", "cohere")
    for target, word in zip(targets, words, strict=True):
        result = dragoman.convert(
            response, source="openai-chat", target=target, facet="response", now=0
        )
        transcoder = Transcoder("openai-chat", target, now=0)
        collected = dragoman.collect(transcoder.feed(data) + transcoder.close(), target).document
        for document in (result.document, collected):
            first = document["choices"][0] if "choices" in document else document
            written = (first.get(key) for key in ("stop_reason", "stopReason", "finish_reason"))
            assert next((each for each in written if each), None) == word, target
        for losses in (result.losses, transcoder.losses):
            assert [loss.path for loss in losses if loss.what == "stop.reason"] == ["/choices/0"]


BEDROCK = {"format": "bedrock-openai-responses-v1"}


@pytest.mark.parametrize(
    ("dialect", "written"),
    [
        ("openai-chat", {"reasoning": "Hm."}),
        ("openai-chat", {"reasoning_content": "Hm."}),
        (
            "openai-chat",
            {
                "reasoning_content": "Hm.",
                "thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "s"}],
            },
        ),
        ("openai-chat", {"provider_specific_fields": {"thought_signatures": ["s"]}}),
        ("openai-chat", {"function_call": {"name": "f", "arguments": "{}"}}),
        (
            "openrouter",
            {
                "reasoning_details": [
                    {"type": "reasoning.summary", "summary": "Hm.", "index": 0, **BEDROCK},
                    {"type": "reasoning.encrypted", "data": "s", "index": 1, "id": "r", **BEDROCK},
                ]
            },
        ),
    ],
)
def test_a_server_gets_back_what_it_said_in_the_place_where_it_said_it(
    dialect: str, written: dict[str, Any]
) -> None:
    message = {"role": "assistant", "content": "Yes.", **written}
    response = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    request = {"model": "m", "messages": [{"role": "user", "content": "Really?"}]}
    result = dragoman.join(request, response, dialect=dialect)
    assert result.document["messages"][-1] == message
    assert not result.losses
