"""What is special about the variants of Chat Completions and Responses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

import families
from dragoman import Malformed, Transcoder, convert, decompose, dialects, join, read
from dragoman.ledger import Ledger
from dragoman.model import (
    ErrorKind,
    Failure,
    Message,
    Reasoning,
    Request,
    Response,
    Signature,
    Text,
    ToolChoice,
)
from dragoman.testing import streaming_equals_batch

# OpenRouter has blocks of reasoning, not one text beside the content.
COMPATIBLE = tuple(name for name in families.COMPATIBLE if name != "openrouter")


def stream(*chunks: dict[str, Any]) -> bytes:
    return b"".join(b"data: %b\n\n" % json.dumps(c).encode() for c in chunks) + b"data: [DONE]\n\n"


def heard_text(delta: dict[str, Any], reason: str | None = None, **more: Any) -> dict[str, Any]:
    return {"id": "1", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}], **more}


def written(content: tuple[Any, ...], target: str) -> tuple[dict[str, Any], list[str]]:
    """A turn of the assistant as a dialect writes it, and what of it is lost."""
    log = Ledger()
    user = Message("user", (Text("Hi"),))
    tree = Request("m", (user, Message("assistant", content), user))
    doc = dialects.get(target).write(tree, log)
    return doc["messages"][1], [f"{loss.kind} {loss.what}" for loss in log.losses]


# In a history, MiniMax and Databricks have reasoning part by part, and Perplexity has none.
IN_ONE = [name for name in COMPATIBLE if name not in ("minimax", "databricks", "perplexity")]


@pytest.mark.parametrize("target", IN_ONE)
def test_reasoning_that_become_one_are_noted(target: str) -> None:
    key = str(dialects.get(target).thinking_key)  # type: ignore[attr-defined]
    assert written((Reasoning(("a",)), Text("b")), target)[1] == []
    doc, lost = written((Reasoning(("a", "b")), Reasoning((), ("c",)), Text("d")), target)
    assert doc[key] == "a\n\nb\n\nc"
    assert lost == [
        "approximated reasoning.summary",
        "approximated text.boundary",
        "approximated text.boundary",
    ]
    doc, lost = written((Text("a"), Reasoning(("b",), ("c",))), target)
    assert doc[key] == "b"
    assert lost == ["dropped reasoning.summary", "approximated content.order"]


@pytest.mark.parametrize("target", COMPATIBLE)
def test_the_parts_of_a_reasoning_in_flight(target: str) -> None:
    parts = [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}]
    message = {"type": "message", "role": "assistant", "content": []}
    doc = {"object": "response", "output": [{"type": "reasoning", "summary": parts}, message]}
    tree = dialects.get("openai-responses").read(doc, "response")
    assert isinstance(tree, Response)
    data = decompose(doc, "openai-responses")
    streaming_equals_batch(data, "openai-responses", target)


def test_signatures_go_to_their_issuers_by_way_of_openrouter() -> None:
    for issuer, form in (("anthropic", "anthropic-claude-v1"), ("google", "google-gemini-v1")):
        doc, lost = written(
            (Reasoning(("a",), signature=Signature("s", issuer)), Text("b")), "openrouter"
        )
        (detail,) = doc["reasoning_details"]
        assert (detail["signature"], detail["format"], lost) == ("s", form, [])
    doc, lost = written(
        (Reasoning(("a",), signature=Signature("s", "mistral")), Text("b")), "openrouter"
    )
    assert "signature" not in doc["reasoning_details"][0]
    assert lost == ["dropped reasoning.signature"]


def test_a_detail_that_nobody_knows_stays() -> None:
    odd = [
        {"type": "reasoning.image", "data": "x"},
        {"type": "reasoning.text", "text": "a", "x": 1},
    ]
    doc = [{"role": "assistant", "content": "b", "reasoning": "c", "reasoning_details": odd}]
    tree = read(doc, "openrouter", facet="messages")
    assert dialects.get("openrouter").write(tree, Ledger()) == doc
    lost = convert(doc, source="openrouter", target="openai-chat", facet="messages").losses
    assert {loss.path for loss in lost} == {
        "/0/reasoning",
        "/0/reasoning_details/0",
        "/0/reasoning_details/1",
        "/0/reasoning_details/1/x",
    }


SIGNED = stream(
    heard_text({"role": "assistant", "content": "", "reasoning": "Hm", "reasoning_details": [
        {"type": "reasoning.text", "text": "Hm", "format": "anthropic-claude-v1", "index": 0}]}),
    heard_text({"content": "", "reasoning": ".", "reasoning_details": [
        {"type": "reasoning.text", "text": ".", "format": "anthropic-claude-v1", "index": 0}]}),
    heard_text({"content": "", "reasoning_details": [
        {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0,
         "signature": "s"}]}),
    heard_text({"content": "Hi"}),
    heard_text({}, "stop", provider="Anthropic"),
)  # fmt: skip


def test_a_signed_reasoning_in_flight() -> None:
    data = SIGNED.replace(b"data", b": OPENROUTER PROCESSING\n\ndata", 1)
    transcoder = Transcoder("openrouter", "anthropic-messages")
    out = transcoder.feed(data) + transcoder.close()
    assert b'"signature_delta","signature":"s"' in out
    (candidate,) = transcoder.response.candidates
    reasoning = candidate.message.content[0]
    assert isinstance(reasoning, Reasoning)
    assert (reasoning.content, reasoning.signature) == (("Hm.",), Signature("s", "anthropic"))
    assert Transcoder("openrouter", "openrouter").feed(data) == data
    for target in ("anthropic-messages", "openai-responses", "openrouter", "deepseek"):
        streaming_equals_batch(data, "openrouter", target)


def test_what_groq_counts_in_its_own_corner() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    data = stream(
        heard_text({"content": "Hi"}), heard_text({}, "stop", x_groq={"id": "r", "usage": usage})
    )
    transcoder = Transcoder("groq", "openai-chat")
    transcoder.feed(data)
    assert transcoder.document is not None
    assert transcoder.document["usage"] == usage
    assert [loss.path for loss in transcoder.losses if loss.what == "extras"] == ["/x_groq"]


@pytest.mark.parametrize("choices", [{}, {"choices": []}])
def test_why_a_stream_of_groq_broke_off(choices: dict[str, Any]) -> None:
    data = stream(
        heard_text({"content": "Hi"}), {"id": "1", **choices, "x_groq": {"error": "too slow"}}
    )
    transcoder = Transcoder("groq", "anthropic-messages")
    assert b"too slow" in transcoder.feed(data) + transcoder.close()
    assert transcoder.response.failure is not None
    assert transcoder.response.failure.message == "too slow"


def test_a_turn_without_reasoning_says_so_to_deepseek() -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    heard_text = {"role": "assistant", "content": None, "tool_calls": calls}
    asked = {"model": "deepseek-flash", "messages": [{"role": "user", "content": "Hi"}]}
    reply = {"choices": [{"index": 0, "message": heard_text, "finish_reason": "tool_calls"}]}
    grown = join(asked, reply, dialect="deepseek").document
    assert grown["messages"][1] == heard_text | {"reasoning_content": ""}
    reasoning = {**heard_text, "reasoning_content": "Hm."}
    reply["choices"][0]["message"] = reasoning
    grown = join(asked, reply, dialect="deepseek").document
    assert grown["messages"][1] == reasoning


def test_users_of_deepseek_have_plain_names() -> None:
    request = {"model": "m", "user": "anna@example.com", "messages": []}
    result = convert(request, source="openai-chat", target="deepseek")
    assert result.document["user_id"].startswith("anna_example_com_")
    assert [str(loss.kind) for loss in result.losses] == ["renamed"]
    same = request | {"model": "deepseek-flash"}
    assert convert(same, source="deepseek", target="deepseek").document == same


def test_xai_names_few_alternatives() -> None:
    request = {"model": "m", "logprobs": True, "top_logprobs": 20, "messages": []}
    result = convert(request, source="openai-chat", target="xai")
    assert result.document["top_logprobs"] == 8
    assert [loss.what for loss in result.losses] == ["top_logprobs"]


def test_a_recording_needs_no_format_at_llama_cpp() -> None:
    part = {"type": "input_audio", "input_audio": {"data": "AAAA"}}
    request = {"model": "m", "messages": [{"role": "user", "content": [part]}]}
    assert convert(request, source="llama-cpp", target="llama-cpp").document == request
    with pytest.raises(Malformed, match="format"):
        read(request, "openai-chat")


@pytest.mark.parametrize(("total", "reply"), [(334, 322), (14, 2)])
def test_the_total_tells_how_xai_counts(total: int, reply: int) -> None:
    usage = {"prompt_tokens": 12, "completion_tokens": 2, "total_tokens": total}
    usage["completion_tokens_details"] = {"reasoning_tokens": 1 if total == 14 else 320}  # type: ignore[assignment]
    doc = {"choices": [], "usage": usage}
    tree = read(doc, "xai", facet="response")
    assert isinstance(tree, Response)
    assert tree.usage is not None
    assert tree.usage.output_total == reply
    assert dialects.get("xai").write(tree, Ledger()) == {**doc}


@pytest.mark.parametrize(
    ("dialect", "doc", "kind"),
    [
        ("azure-openai", {"code": "DeploymentNotFound"}, "not-found"),
        ("vllm", {"type": "BadRequestError", "code": 400}, "invalid-request"),
        ("vllm", {"type": "ServiceUnavailableError", "code": 503}, "overloaded"),
        ("llama-cpp", {"type": "exceed_context_size_error", "code": 400}, "too-large"),
        ("groq", {"type": "invalid_request_error", "code": "model_decommissioned"}, "not-found"),
        ("openrouter", {"code": 402}, "billing"),
        ("openai-chat", {"code": 429}, "rate-limit"),
    ],
)
def test_kinds_of_errors(dialect: str, doc: dict[str, Any], kind: str) -> None:
    body = {"error": {"message": "x", **doc}}
    tree = read(body, dialect, facet="error")
    assert tree.kind == kind
    assert dialects.get(dialect).write(tree, Ledger()) == body


@pytest.mark.parametrize("target", [*COMPATIBLE, "openrouter", "open-responses"])
def test_a_freeform_call_in_flight(target: str) -> None:
    call = {
        "type": "custom_tool_call",
        "id": "ctc_1",
        "call_id": "c",
        "name": "f",
        "input": 'a "b"',
    }
    data = decompose({"object": "response", "id": "r", "output": [call]}, "openai-responses")
    streaming_equals_batch(data, "openai-responses", target)
    transcoder = Transcoder("openai-responses", target)
    out = (transcoder.feed(data) + transcoder.close()).decode()
    assert "custom" not in out


# -- what vLLM, xAI and Open Responses do with what only they have ------------------------------

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
ASKED = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


@pytest.mark.parametrize("choice", [None, "auto", "required"])
def test_a_schema_without_a_name_is_a_structured_output_of_vllm(choice: str | None) -> None:
    document = {**ASKED, "json_schema": SCHEMA, "tools": [TOOL]}
    if choice is not None:
        document["tool_choice"] = choice
    given = convert(document, source="llama-cpp", target="vllm", facet="request", now=0)
    assert given.document["structured_outputs"] == {"json": SCHEMA}
    assert "response_format" not in given.document
    assert given.losses == ()


def test_a_schema_of_vllm_beside_a_named_tool_gets_a_name() -> None:
    """ "You can only either use constraints for structured outputs or tools, not both." """
    tree = read({**ASKED, "guided_json": SCHEMA, "tools": [TOOL]}, "vllm", facet="request")
    assert isinstance(tree, Request)
    named = ToolChoice("named", "f")
    log = Ledger(target="vllm")
    doc = dialects.get("vllm").write(replace(tree, tool_choice=named, dialect=None), log)
    assert "structured_outputs" not in doc
    assert doc["response_format"]["json_schema"]["schema"] == SCHEMA
    assert doc["response_format"]["json_schema"]["name"]


def test_an_old_schema_of_vllm_is_read_where_it_stands() -> None:
    tree = read({**ASKED, "guided_json": SCHEMA}, "vllm", facet="request")
    assert isinstance(tree, Request)
    assert tree.params.output is not None
    assert (tree.params.output.schema, tree.params.output.at) == (SCHEMA, "/guided_json")
    given = convert(
        {**ASKED, "guided_json": SCHEMA}, source="vllm", target="llama-cpp", facet="request", now=0
    )
    assert given.document["json_schema"] == SCHEMA
    assert given.losses == ()


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("Client specified an invalid argument", "invalid-request"),
        ("Some requested entity was not found", "not-found"),
        ("The caller does not have permission to execute the specified operation", "permission"),
        ("The request does not have valid authentication credentials", "authentication"),
        ("Some resource has been exhausted", "rate-limit"),
        ("Deadline expired before operation could complete", "timeout"),
        ("Internal error", "server"),
        ("The service is currently unavailable", "overloaded"),
        ("Something else", "other"),
    ],
)
def test_errors_of_xai(code: str, kind: ErrorKind) -> None:
    tree = read({"code": code, "error": "m"}, "xai", facet="error")
    assert isinstance(tree, Failure)
    assert (tree.kind, tree.code, tree.message) == (kind, code, "m")
    written = dialects.get("xai").write(Failure(kind, "m"), Ledger(target="xai"))
    assert written == {"code": "Unknown error" if kind == "other" else code, "error": "m"}


@pytest.mark.parametrize(("total", "beside"), [(17, 3), (None, 3)])
def test_reasoning_tokens_of_xai_are_counted_beside_the_others(
    total: int | None, beside: int
) -> None:
    usage: dict[str, Any] = {"prompt_tokens": 10, "completion_tokens": 7}
    usage |= {"completion_tokens_details": {"reasoning_tokens": 4}}
    if total is not None:
        usage["total_tokens"] = total
    reply = {"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}
    document = {"id": "1", "created": 0, "model": "m", "choices": [reply], "usage": usage}
    given = convert(document, source="openai-chat", target="xai", facet="response", now=0)
    assert given.document["usage"]["completion_tokens"] == beside
    back = convert(given.document, source="xai", target="openai-chat", facet="response", now=0)
    assert back.document["usage"]["completion_tokens"] == 7


def test_what_open_responses_shares_with_openai() -> None:
    known = {"include": ["reasoning.encrypted_content"], "background": False, "max_tool_calls": 3}
    known["stream_options"] = {"include_obfuscation": False}
    given = convert(
        {"model": "m", "input": "Hi", **known, "unknown": 1},
        source="openai-responses", target="open-responses", facet="request", now=0,
    )  # fmt: skip
    assert {key: given.document[key] for key in known} == known
    assert [(loss.kind, loss.path) for loss in given.losses] == [("dropped", "/unknown")]


def test_what_copilot_takes_out_of_a_result_names_the_id_of_its_call() -> None:
    """Also where the id is made up, which is done once."""
    names = ("a", "b")
    image = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}
    calls = [{"functionCall": {"name": name, "args": {}}} for name in names]
    results = [
        {"functionResponse": {"name": name, "response": {"result": ""}, "parts": [image]}}
        for name in names
    ]
    doc = {
        "contents": [
            {"role": "user", "parts": [{"text": "Hi"}]},
            {"role": "model", "parts": calls},
            {"role": "user", "parts": results},
        ]
    }
    result = convert(doc, source="gemini", target="copilot", facet="messages")
    *_, first, second, last = result.document["input"]
    marks = [part["text"] for part in last["content"] if part["type"] == "input_text"]
    assert marks == [f"[content of tool result {doc['call_id']}]" for doc in (first, second)]
    made = [loss.path for loss in result.losses if "it gets" in loss.why]
    assert made == ["/contents/1/parts/0", "/contents/1/parts/1"]
