"""Faults that were reported by name, each with the smallest input that showed it.

The laws hold their classes (``tests/laws/test_strangers.py``, ``tests/test_cost.py``,
``tests/streams/test_equals_batch.py``, ``tests/capsule/test_forged.py``); these are the examples.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import dragoman
import leaves
import places
import seeds
from dragoman import Transcoder, dialects, testing
from dragoman.core.words import TELLING
from dragoman.streams.transcoder import collect, decompose
from test_cost import RATIO, conversion, ratio, repeated_ids

HI = {"role": "user", "content": "Hi"}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"city":"Paris"}'}}
CHATS = ["openai-chat", "azure-openai", "groq", "deepseek", "openrouter", "vllm", "llama-cpp"]
TARGETS = ["anthropic-messages", "openai-responses", "gemini", "bedrock-converse", "cohere"]


def entries(result: Any) -> set[str]:
    return {f"{loss.kind} {loss.what} {loss.path}" for loss in result.losses}


def paths(result: Any) -> list[str]:
    return [loss.path for loss in result.losses]


# -- silent loss ------------------------------------------------------------------------------


def reply(**message: Any) -> dict[str, Any]:
    """A Chat response whose message does not say its role."""
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


@pytest.mark.parametrize("source", CHATS)
def test_a_call_of_a_message_without_a_role_reaches_anthropic(source: str) -> None:
    document = reply(content=None, tool_calls=[CALL])
    result = dragoman.convert(document, source=source, target="anthropic", facet="response", now=0)
    (block,) = result.document["content"]
    assert (block["type"], block["name"], block["input"]) == ("tool_use", "f", {"city": "Paris"})
    assert result.document["stop_reason"] == "tool_use"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", CHATS)
@pytest.mark.parametrize("key", ["refusal", "reasoning_content"])
def test_what_else_it_says_is_written_or_reported(key: str, source: str, target: str) -> None:
    document = reply(content="Well.", **{key: "Not in silence."})
    result = dragoman.convert(document, source=source, target=target, facet="response", now=0)
    assert not leaves.unaccounted(document, result.document, result.losses)


@pytest.mark.parametrize("facet", ["tools", "request"])
def test_a_key_beside_name_and_schema_of_a_tool(facet: str) -> None:
    tool = {"name": "f", "input_schema": {"type": "object"}, "x": 1}
    document: Any = [tool]
    if facet == "request":
        document = {"model": "m", "max_tokens": 5, "messages": [HI], "tools": [tool]}
    result = dragoman.convert(document, source="anthropic", target="openai-chat", facet=facet)
    where = "/0/x" if facet == "tools" else "/tools/0/x"
    assert f"dropped extras {where}" in entries(result)


@pytest.mark.parametrize("source", ["openai-chat", "groq", "mistral", "cohere", "ollama"])
def test_a_key_beside_the_role_of_a_message(source: str) -> None:
    document = {"model": "m", "messages": [{"role": "user", "x": "Hello?"}, HI]}
    result = dragoman.convert(document, source=source, target="anthropic-messages")
    assert "/messages/0/x" in paths(result)


def test_messages_that_stand_twice() -> None:
    data = b'{"model":"m","messages":[{"role":"user","content":"A"}],"messages":[{"role":"user","content":"B"}]}'  # fmt: skip  # noqa: E501
    result = dragoman.convert(data, source="openai-chat", target="anthropic-messages")
    assert result.document["messages"][0]["content"] == "B"
    assert "/messages" in paths(result)


def heard(output: Any) -> Any:
    call = {"type": "tool-call", "toolCallId": "c", "toolName": "f", "input": {}}
    result = {"type": "tool-result", "toolCallId": "c", "toolName": "f", "output": output}
    return [
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
        {"role": "assistant", "content": [call]},
        {"role": "tool", "content": [result]},
    ]


OUTPUTS: tuple[Any, ...] = (
    {"type": "text", "value": "ok"},
    {"type": "json", "value": {"a": 1}},
    {"type": "error-text", "value": "no"},
    {"type": "error-json", "value": {"a": 1}},
    {"type": "execution-denied", "reason": "no"},
    {"type": "execution-denied"},
    {"type": "content", "value": [{"type": "text", "text": "ok"}]},
    {"type": "content", "value": [{"type": "media", "data": "aGk=", "mediaType": "image/png"}]},
    {"type": "content", "value": [{"type": "image-url", "url": "https://a/b.png"}]},
    {"type": "content", "value": [{"type": "file-id", "fileId": "f_1"}]},
    {"type": "content", "value": [{"type": "custom", "providerOptions": {"a": {"b": 1}}}]},
    {"type": "content", "value": []},
    {"type": "text", "value": "ok", "x": 1},
)


@pytest.mark.parametrize("output", OUTPUTS, ids=json.dumps)
@pytest.mark.parametrize("source", ["vercel-model", "vercel-model-v5", "vercel-model-v6"])
def test_vercel_core_reads_what_is_written_for_it(source: str, output: Any) -> None:
    document = heard(output)
    result = dragoman.convert(document, source=source, target="vercel-core", facet="messages")
    dragoman.read(result.document, "vercel-core", facet="messages")


def test_the_type_of_an_error_to_cohere() -> None:
    error = {"type": "error", "error": {"type": "rate_limit_error", "message": "Slow down."}}
    result = dragoman.convert(error, source="anthropic", target="cohere", facet="error")
    assert "rate_limit_error" in json.dumps(result.document) or result.losses


def gemini(config: Any) -> Any:
    return {
        "model": "m",
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "tools": [{"functionDeclarations": [{"name": "f"}, {"name": "g"}]}],
        "toolConfig": {"functionCallingConfig": config},
    }


def test_allowed_functions_without_a_mode() -> None:
    document = gemini({"allowedFunctionNames": ["f"]})
    for target in ("openai-chat", "anthropic-messages", "openai-responses"):
        result = dragoman.convert(document, source="gemini", target=target)
        assert any(path.startswith("/toolConfig") for path in paths(result))


def test_the_caller_of_a_call_without_an_id() -> None:
    caller = {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}
    call = {"type": "tool_use", "name": "f", "input": {}, "caller": caller}
    document = [HI, {"role": "assistant", "content": [call]}]
    result = dragoman.convert(document, source="anthropic", target="openai-chat", facet="messages")
    assert "/1/content/0/caller" in paths(result)


@pytest.mark.parametrize("facet", ["messages", "response"])
def test_keys_beside_the_text_of_functiongemma(facet: str) -> None:
    found = [x for x in seeds.documents("functiongemma", facet) if isinstance(x, dict)][:3]
    assert found
    for document in found:
        strange = {**document, "zq": "unread"}
        result = dragoman.convert(
            strange, source="functiongemma", target="openai-chat", facet=facet, now=0
        )
        assert "/zq" in paths(result)


# -- streams: in flight as at rest ------------------------------------------------------------

STREAMS = [
    name for name in dialects.names() if "write" in dialects.get(name).facets().get("stream", ())
]


def event(kind: str, **more: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


def responses(**more: Any) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", **more}


def responses_stream(item: Any, *, end: Any = None, tier: str | None = None) -> bytes:
    said = {"service_tier": "auto"} if tier else {}
    done = {"service_tier": tier} if tier else {}
    last = responses(status="completed", output=[item], **done) | (end or {})
    return b"".join(
        [
            event("response.created", response=responses(status="in_progress", output=[], **said)),
            event("response.output_item.added", output_index=0, item=item),
            event("response.output_item.done", output_index=0, item=item),
            event("response.completed", response=last),
        ]
    )


SAID = {
    "id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
    "content": [{"type": "output_text", "text": "Hello.", "annotations": []}],
}  # fmt: skip
ENCRYPTED = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAAA+first"}


@pytest.mark.parametrize("target", STREAMS)
def test_a_service_tier_that_the_last_event_names(target: str) -> None:
    testing.streaming_equals_batch(
        responses_stream(SAID, tier="default"), "openai-responses", target
    )


def test_groq_has_the_service_tier_in_flight_and_at_rest() -> None:
    data = responses_stream(SAID, tier="default")
    transcoder = Transcoder("openai-responses", "groq", now=0)
    written = transcoder.feed(data) + transcoder.close()
    document = collect(data, "openai-responses").document
    batch = dragoman.convert(
        document, source="openai-responses", target="groq", facet="response", now=0
    )
    assert entries(transcoder) == entries(batch)
    in_flight = [part for part in written.split(b"\n") if b'"service_tier"' in part]
    assert bool(in_flight) == ("service_tier" in batch.document)


@pytest.mark.parametrize("target", ["vercel-ui", *(x for x in STREAMS if x != "vercel-ui")])
def test_an_encrypted_signature_that_the_end_says_otherwise(target: str) -> None:
    last = {**ENCRYPTED, "encrypted_content": "gAAAA+second"}
    data = responses_stream(ENCRYPTED, end={"output": [last]})
    testing.streaming_equals_batch(data, "openai-responses", target)


def test_copilot_when_done_holds_more_than_the_deltas() -> None:
    message = {"role": "assistant", "content": "Hello."}
    data = decompose({"message": message, "model": "m"}, "copilot-responses")
    *before, last, end = data.split(b"\n\n", data.count(b"\n\n") - 1)
    assert b'"done"' in last
    short = b"\n\n".join([*(x.replace(b"Hello.", b"Hel") for x in before), last, end])
    assert short != data
    for target in STREAMS:
        testing.streaming_equals_batch(short, "copilot-responses", target)
    transcoder = Transcoder("copilot-responses", "openai-chat", now=0)
    written = transcoder.feed(short) + transcoder.close()
    found = collect(written, "openai-chat").document
    assert found["choices"][0]["message"]["content"] == "Hello."


# -- cost -------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["anthropic-messages", "bedrock-converse", "cohere"])
def test_an_id_that_every_call_has(target: str) -> None:
    assert ratio(lambda n: conversion(repeated_ids(n), "openai-chat", target)) < RATIO


def references(depth: int) -> dict[str, Any]:
    """Each definition leads to the next in two ways: 2^depth ways through them."""
    defs: dict[str, Any] = {
        f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(depth)
    }
    defs[f"d{depth}"] = {"type": "string"}
    table = {"a": {"$ref": "#/$defs/d0"}}
    return {"type": "object", "properties": table, "required": ["a"], "$defs": defs}


@pytest.mark.parametrize("target", ["openai-responses", "anthropic-messages", "gemini", "cohere"])
def test_an_output_schema_of_references(target: str) -> None:
    """As a strict tool it is a shape of the law of cost; here it is what the reply must be."""

    def work(n: int) -> Any:
        form = {"name": "f", "schema": references(n), "strict": True}
        output = {"type": "json_schema", "json_schema": form}
        document = {"model": "gpt-5", "messages": [HI], "response_format": output}
        return conversion(document, "openai-chat", target)

    assert ratio(work) < RATIO


def test_a_capsule_stays_small_where_an_early_message_is_dropped() -> None:
    """It has what is lost, not the conversation after it."""

    def sizes(n: int) -> tuple[int, int]:
        turns = [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "Next."}]
        empty = {"role": "system", "content": []}
        found = [
            dragoman.convert(
                {"model": "m", "messages": [*first, HI, *turns * n]},
                source="openai-chat", target="anthropic-messages", carry=True,
            ).capsule
            for first in ([], [empty])
        ]  # fmt: skip
        whole, dropped = (len(json.dumps(x)) for x in found)
        return whole, dropped

    few, many = sizes(50), sizes(400)
    assert many[1] - many[0] < few[1] - few[0] + 500
    assert many[1] < 5_000


# -- exceptions that are not ours, and places -------------------------------------------------


@pytest.mark.parametrize("facet", [[], {}, None, 5, "nothing"])
@pytest.mark.parametrize("tree", [{}, [], None, 5])
def test_a_native_document_whose_facet_is_none(facet: Any, tree: Any) -> None:
    document = {"dragoman": 1, "facet": facet, "tree": tree}
    assert isinstance(dragoman.detect(document), tuple)
    with pytest.raises(dragoman.DragomanError):
        dragoman.convert(document, target="openai-chat")


@pytest.mark.parametrize("target", STREAMS)
def test_closing_after_the_end_adds_nothing(target: str) -> None:
    transcoder = Transcoder("openai-responses", target, now=0)
    transcoder.feed(responses_stream(SAID))
    transcoder.close()
    assert transcoder.close() == b""
    assert transcoder.feed(b"") == b""


@pytest.mark.parametrize("payload", [5, None, [], "x", True], ids=repr)
@pytest.mark.parametrize("target", dialects.names())
def test_a_raw_block_is_an_object(target: str, payload: object) -> None:
    """Writers look into what they put back: a number there ended in a TypeError."""
    content = [{"block": "raw", "dialect": target, "payload": payload}]
    for role in ("user", "assistant"):
        tree = {"model": "m", "messages": [{"role": role, "content": content}]}
        document = {"dragoman": 1, "facet": "request", "tree": tree}
        with pytest.raises(dragoman.Malformed) as raised:
            dragoman.convert(document, source="native", target=target)
        assert raised.value.at == "/tree/messages/0/content/0/payload"
    candidate = {"message": {"role": "assistant", "content": content}}
    reply = {"id": None, "model": None, "candidates": [candidate]}
    with pytest.raises(dragoman.Malformed) as raised:
        dialects.get("native").read({"dragoman": 1, "facet": "response", "tree": reply}, "response")
    assert raised.value.at == "/tree/candidates/0/message/content/0/payload"


# -- what the types of the SDKs can say --------------------------------------------------------


@pytest.mark.parametrize("target", ["gemini", "cohere", "vercel-model"])
def test_marks_and_citations_inside_a_document_of_blocks(target: str) -> None:
    cite = {"type": "char_location", "cited_text": "Pera", "document_index": 0}
    cite |= {"document_title": None, "start_char_index": 0, "end_char_index": 4}
    part = {
        "type": "text",
        "text": "A",
        "cache_control": {"type": "ephemeral"},
        "citations": [cite],
    }
    source = {"type": "content", "content": [part, {"type": "text", "text": "B"}]}
    content = [{"type": "document", "source": source}]
    request = {
        "model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": content}],
    }  # fmt: skip
    result = dragoman.convert(request, source="anthropic-messages", target=target)
    at = "/messages/0/content/0/source/content/0"
    told = {f"dropped text.citations {at}/citations/0", f"dropped cache {at}/cache_control"}
    assert told <= entries(result)


@pytest.mark.parametrize("target", ["anthropic-messages", "openai-chat", "gemini"])
def test_the_namespace_of_a_result_without_its_call(target: str) -> None:
    item = {"type": "function_call_output", "call_id": "c", "output": "o"}
    item |= {"name": "f", "namespace": "n"}
    request = {"model": "m", "input": [item]}
    result = dragoman.convert(request, source="openai-responses", target=target)
    assert "dropped tool.namespace /input/0" in entries(result)


@pytest.mark.parametrize("source", ["openai-chat", "mistral"])
def test_a_function_that_the_server_runs_is_no_function_of_the_client(source: str) -> None:
    tool = {"type": "builtin_function", "function": {"name": "$web_search"}}
    request = {"model": "m", "messages": [HI], "tools": [tool]}
    result = dragoman.convert(request, source=source, target="anthropic-messages")
    assert not result.document.get("tools")
    assert "/tools/0" in paths(result)


def test_signed_reasoning_without_words_reaches_databricks() -> None:
    thinking = {"type": "thinking", "thinking": "", "signature": "c2ln"}
    content = [thinking, {"type": "text", "text": "Hello."}]
    messages = [HI, {"role": "assistant", "content": content}, HI]
    request = {"model": "m", "max_tokens": 9, "messages": messages}
    written = dragoman.convert(request, source="anthropic-messages", target="databricks").document
    back = dragoman.convert(written, source="databricks", target="anthropic-messages").document
    assert back["messages"] == messages


@pytest.mark.parametrize("dialect", ["mistral", "openai-chat"])
def test_a_medium_beside_a_text_is_in_the_stream_of_its_response(dialect: str) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.com/pera.png"}}
    document = reply(role="assistant", content=[{"type": "text", "text": "Pera."}, image])
    found = collect(decompose(document, dialect), dialect).document
    assert image in found["choices"][0]["message"]["content"]


@pytest.mark.parametrize("target", ["google-adk", "goose", "codex", "opencode", "qwen-code"])
def test_the_name_of_a_system_prompt_that_is_not_stored(target: str) -> None:
    messages = [{"role": "system", "name": "narrator", "content": "Be brief."}, HI]
    result = dragoman.convert(messages, source="openai-chat", target=target, facet="messages")
    assert "dropped message.name /0" in entries(result)


@pytest.mark.parametrize("target", ["gemini-cli", "qwen-code", "google-adk", "openai-chat"])
def test_a_part_of_a_result_that_only_gemini_knows(target: str) -> None:
    result = {"name": "f", "response": {"output": "o"}, "parts": [{"mediaProcessing": "STATIC"}]}
    contents = [{"role": "user", "parts": [{"functionResponse": result}]}]
    found = dragoman.convert(
        {"contents": contents}, source="gemini", target=target, facet="messages"
    )
    place = "/contents/0/parts/0/functionResponse/parts/0"
    assert "STATIC" in json.dumps(found.document) or place in paths(found)


@pytest.mark.parametrize("word", sorted(TELLING))
def test_why_a_reply_was_filtered_or_failed_is_there_or_reported(word: str) -> None:
    source = "gemini" if word.isupper() else "bedrock-converse"
    said = {"role": "model", "parts": [{"text": "Hi"}]}
    document: Any = {"candidates": [{"content": said, "finishReason": word, "index": 0}]}
    if source == "bedrock-converse":
        message = {"role": "assistant", "content": [{"text": "Hi"}]}
        document = {"output": {"message": message}, "stopReason": word}
    for target in dialects.names():
        if target in (source, "native") or not testing.speaks(target, "response"):
            continue
        result = dragoman.convert(document, source=source, target=target, facet="response", now=0)
        told = any(loss.what == "stop.reason" for loss in result.losses)
        assert told != (word in json.dumps(result.document)), target


def test_a_late_system_message_that_says_nothing_is_told_once() -> None:
    late = {"role": "system", "content": []}
    messages = [HI, {"role": "assistant", "content": "Hello"}, late, HI]
    asked = 0
    for target in dialects.names():
        if dialects.get(target).can.systems == "anywhere" or not testing.speaks(target, "messages"):
            continue
        result = dragoman.convert(messages, source="openai-chat", target=target, facet="messages")
        found = [loss.what for loss in result.losses if loss.path == "/2"]
        assert len(found) == 1, f"{target}: {found}"
        asked += 1
    assert asked > 5


def of_the_corpus(name: str) -> testing.Document:
    case = testing.load_case(places.CORPUS / name.partition("/")[0])
    return next(found for found in case.documents if found.name == name and not found.degraded)


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("mcp-returned/mcp.messages", "opencode"),
        ("tool-id-taken/gemini.request", "openai-finetune"),
        ("session-goose-parts/goose.messages", "pydantic-ai"),
        ("usage-iterations/anthropic-messages.response", "anthropic-bedrock"),
        ("vercel-ui-history/vercel-ui.messages", "sharegpt"),
        ("design-003-icontent-null-result/icontent~null.messages", "sharegpt"),
    ],
)
def test_audits_of_targets_that_the_laws_do_not_choose(name: str, target: str) -> None:
    testing.audit(of_the_corpus(name), target)


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("design-000-values/bedrock-converse.request", "goose"),
        ("xzatoma-request/bedrock-converse.request", "opencode"),
        ("vercel-no-result/gemini.messages", "langchain-dumpd"),
        ("session-opencode/opencode.request", "ag-ui"),
        ("session-opencode-compacted/opencode.messages", "gemini-interactions"),
        ("session-opencode-compacted/opencode.messages", "llamaindex"),
        ("vercel-ui-history/vercel-ui.messages", "gemini-interactions"),
        ("vercel-ui-history/vercel-ui.messages", "llamaindex"),
        ("gemini-signed-parts/gemini.request", "ag-ui"),
    ],
)
def test_edits_of_targets_that_the_laws_do_not_choose(name: str, target: str) -> None:
    testing.echoes(of_the_corpus(name), target)
