"""Batch files: every vendor's, into every other's; the types of the SDKs judge what is written."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from anthropic.types.messages import MessageBatchIndividualResponse
from anthropic.types.messages.batch_create_params import Request as AnthropicRequest
from google.genai import types as google
from openai.types.chat import ChatCompletion
from openai.types.responses import Response
from pydantic import TypeAdapter

from dragoman import Lossy, check, containers
from dragoman.core.reading import encode
from transcripts import dragoman

HI = [{"role": "user", "content": "Hi"}]
CHAT = {"model": "gpt-5", "messages": HI, "seed": 5}
CLAUDE = {"model": "claude-opus-5-5", "max_tokens": 9, "messages": HI}
GEMINI = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
SAID = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1_700_000_000,
    "model": "gpt-5",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Yo"}, "finish_reason": "stop"}
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
}
CLAUDE_SAID = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5-5",
    "content": [{"type": "text", "text": "Yo"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 2},
}
GEMINI_SAID = {
    "candidates": [
        {"content": {"role": "model", "parts": [{"text": "Yo"}]}, "finishReason": "STOP"}
    ],
    "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3},
    "modelVersion": "gemini-3-pro",
}
ERROR = {"error": {"message": "bad", "type": "invalid_request_error", "param": None, "code": None}}
CLAUDE_ERROR = {"type": "error", "error": {"type": "invalid_request_error", "message": "bad"}}
POST = {"method": "POST", "url": "/v1/chat/completions"}
REQUESTS: dict[str, Any] = {
    "openai": {"custom_id": "a", **POST, "body": CHAT},
    "responses": {
        "custom_id": "a", "method": "POST", "url": "/v1/responses",
        "body": {"model": "gpt-5", "input": "Hi"},
    },
    "mistral": {"custom_id": "a", "body": CHAT},
    "anthropic": {"custom_id": "a", "params": CLAUDE},
    "claude on vertex": {
        "custom_id": "a",
        "request": {"anthropic_version": "vertex-2023-10-16", "max_tokens": 9, "messages": HI},
    },
    "gemini": {"key": "a", "request": GEMINI},
    "bedrock": {"recordId": "a", "modelInput": {"messages": [
        {"role": "user", "content": [{"text": "Hi"}]}]}},
    "claude on bedrock": {
        "recordId": "a",
        "modelInput": {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": HI},
    },
}  # fmt: skip


def result(status: int, body: Any) -> dict[str, Any]:
    reply = {"status_code": status, "request_id": "r", "body": body}
    return {"id": "batch_req_1", "custom_id": "a", "response": reply, "error": None}


RESULTS: dict[str, Any] = {
    "openai": result(200, SAID),
    "openai error": result(400, ERROR),
    "openai expired": {
        "id": "b", "custom_id": "a", "response": None,
        "error": {"code": "batch_expired", "message": "late"},
    },
    "anthropic": {"custom_id": "a", "result": {"type": "succeeded", "message": CLAUDE_SAID}},
    "anthropic error": {"custom_id": "a", "result": {"type": "errored", "error": CLAUDE_ERROR}},
    "anthropic expired": {"custom_id": "a", "result": {"type": "expired"}},
    "anthropic canceled": {"custom_id": "a", "result": {"type": "canceled"}},
    "gemini": {"key": "a", "response": GEMINI_SAID},
    "gemini error": {"key": "a", "error": {"code": 3, "message": "bad"}},
    "vertex": {
        "status": "", "processed_time": "2026-01-01T00:00:00Z", "key": "a", "request": GEMINI,
        "response": GEMINI_SAID,
    },
    "vertex error": {
        "status": "bad", "processed_time": "2026-01-01T00:00:00Z", "key": "a", "request": GEMINI,
        "response": {},
    },
}  # fmt: skip


def line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


def converted(value: Any, target: str, **options: Any) -> Any:
    made = containers.convert(line(value), target=target, **options)
    assert not made.problems, made.problems
    return json.loads(made.data)


@pytest.mark.parametrize("source", REQUESTS)
class TestRequests:
    def test_for_anthropic(self, source: str) -> None:
        made = converted(REQUESTS[source], "anthropic", model="claude-opus-5-5")
        TypeAdapter(AnthropicRequest).validate_python(made)
        assert made.keys() == {"custom_id", "params"}
        assert made["custom_id"] == "a"
        assert not list(check(made["params"], "anthropic"))

    @pytest.mark.parametrize(
        ("target", "url"),
        [
            ("chat", "/v1/chat/completions"),
            ("responses", "/v1/responses"),
            ("groq", "/v1/chat/completions"),
            ("azure", "/chat/completions"),
        ],
    )
    def test_for_openai(self, source: str, target: str, url: str) -> None:
        made = converted(REQUESTS[source], target, model="gpt-6")
        assert (made["custom_id"], made["method"], made["url"]) == ("a", "POST", url)
        assert made["body"]["model"] == "gpt-6"
        assert not list(check(made["body"], target))

    def test_for_gemini(self, source: str) -> None:
        made = containers.convert(line(REQUESTS[source]), target="gemini", model="gemini-3-pro")
        value = json.loads(made.data)
        assert value["key"] == "a"
        google.GenerateContentConfig.model_validate(value["request"].get("generationConfig", {}))
        google.Content.model_validate(value["request"]["contents"][0])
        assert "model" not in value["request"]
        if source != "gemini":
            (loss,) = (x for x in made.losses if x.what == "model")
            assert loss.kind == "dropped"
            assert "the call that creates the batch does" in loss.why

    def test_and_back(self, source: str) -> None:
        for target in ("anthropic", "chat", "gemini", "bedrock", "mistral"):
            there = containers.convert(line(REQUESTS[source]), target=target, model="m")
            (document,) = containers.open(there.data)
            assert document.id == "a"
            back = converted(json.loads(there.data), "chat", model="gpt-5")
            assert back["body"]["messages"] == HI


@pytest.mark.parametrize("source", RESULTS)
class TestResults:
    def test_for_anthropic(self, source: str) -> None:
        made = converted(RESULTS[source], "anthropic")
        judged = MessageBatchIndividualResponse.model_validate(made, strict=True)
        kind = source.rpartition(" ")[2]
        expected = {"error": "errored", "expired": "expired", "canceled": "canceled"}
        assert judged.result.type == expected.get(kind, "succeeded")
        assert judged.custom_id == "a"

    @pytest.mark.parametrize(
        ("target", "judge"), [("chat", ChatCompletion), ("responses", Response)]
    )
    def test_for_openai(self, source: str, target: str, judge: Any) -> None:
        made = converted(RESULTS[source], target, now=5)
        assert made.keys() == {"id", "custom_id", "response", "error"}
        kind = source.rpartition(" ")[2]
        if kind in ("expired", "canceled"):
            assert made["response"] is None
            code = {"expired": "batch_expired", "canceled": "batch_cancelled"}[kind]
            assert made["error"]["code"] == code
        elif kind == "error":
            assert made["response"]["status_code"] >= 400
            assert made["response"]["body"]["error"]["message"] == "bad"
        else:
            judge.model_validate(made["response"]["body"])
            assert made["response"]["status_code"] == 200

    def test_for_gemini(self, source: str) -> None:
        made = converted(RESULTS[source], "gemini")
        assert made["key"] == "a"
        if "response" in made:
            google.GenerateContentResponse.model_validate(made["response"])
        else:
            google.JobError.model_validate({k: made["error"][k] for k in ("code", "message")})

    def test_it_is_found_by_every_command(self, source: str) -> None:
        document = list(containers.open(line(RESULTS[source])))[-1]
        is_reply = source.rpartition(" ")[2] in ("openai", "anthropic", "gemini", "vertex")
        assert document.facet == ("response" if is_reply else "error")
        assert document.id == "a"


@pytest.mark.parametrize("name", REQUESTS)
def test_the_same_vendor_is_the_same_line(name: str) -> None:
    (document,) = containers.open(line(REQUESTS[name]))
    made = containers.convert(line(REQUESTS[name]), target=document.dialect or "")
    if name not in ("claude on vertex", "claude on bedrock"):
        assert made.data == line(REQUESTS[name])
        assert not made.losses


def test_ids_stay_unique_and_are_told() -> None:
    ids = ["row 1", "row/1", "row_1", "x" * 65, "ü", ""]
    data = b"".join(line({"custom_id": id, **POST, "body": CHAT}) for id in ids)
    made = containers.convert(data, target="anthropic")
    new = [json.loads(each)["custom_id"] for each in made.data.splitlines()]
    assert len(set(new)) == len(ids)
    assert new[2] == "row_1"
    assert sum(loss.what == "container.id" for loss in made.losses) == 5
    for each in made.data.splitlines():
        TypeAdapter(AnthropicRequest).validate_json(each)
    assert made.data == containers.convert(data, target="anthropic").data


def test_the_body_of_a_call_that_creates_a_batch_is_a_file_of_lines() -> None:
    requests = [{"custom_id": str(n), "params": CLAUDE} for n in range(3)]
    made = containers.convert(line({"requests": requests}), target="chat")
    assert [json.loads(each)["custom_id"] for each in made.data.splitlines()] == ["0", "1", "2"]
    paths = {loss.path for loss in made.losses if loss.what == "model"}
    assert paths == {f"/requests/{n}/params/model" for n in range(3)}


def test_what_has_no_id_gets_one_by_its_line() -> None:
    made = containers.convert(line({"request": GEMINI}) * 2, target="chat", model="m")
    ids = [json.loads(each)["custom_id"] for each in made.data.splitlines()]
    assert ids == ["request-1", "request-2"]
    assert {loss.kind for loss in made.losses if loss.what == "container.id"} == {"invented"}


def test_a_record_that_cannot_be_read_is_reported_and_the_others_go_on() -> None:
    bad = [b"{", b'{"custom_id": "b", "params": 7}', b'{"a": 1}', b"[]", b'"x"', b"7"]
    bad.append(line({"custom_id": "b", "params": {**CLAUDE, "messages": 7}}).rstrip())
    data = line(REQUESTS["anthropic"]) + b"".join(each + b"\n" for each in bad)
    made = containers.convert(data + line(REQUESTS["openai"]), target="chat")
    assert [record.line for record in made.problems] == [2, 3, 4, 5, 6, 7, 8]
    assert len(made.data.splitlines()) == 2
    assert made.problems[-1].error is not None
    assert made.problems[-1].error.at == "/params/messages"  # type: ignore[attr-defined]


def test_refused_losses_refuse_the_record() -> None:
    made = containers.convert(line(REQUESTS["openai"]), target="gemini", fail_on="dropped")
    (problem,) = made.problems
    assert isinstance(problem.error, Lossy)
    assert not made.data


def test_memory_is_flat_in_the_size_of_the_file(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        file = tmp_path / f"{count}.jsonl"
        body = {**CHAT, "messages": [{"role": "user", "content": "x" * 2000}]}
        with file.open("wb") as out:
            for number in range(count):
                out.write(line({"custom_id": str(number), **POST, "body": body}))
        tracemalloc.start()
        documents = sum(1 for _ in containers.open(file))
        _, printed, code = dragoman(
            ["convert", "-q", "-t", "anthropic", str(file), "-o", str(tmp_path / "out.jsonl")]
        )
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert (documents, code) == (count, 0), printed
        return most

    peak(5)
    assert peak(400) < peak(40) + 100_000


def test_results_find_their_requests(tmp_path: Path) -> None:
    requests = [{"custom_id": str(n), **POST, "body": {**CHAT, "user": str(n)}} for n in range(9)]
    results = [{**result(200, SAID), "custom_id": str(n)} for n in (7, 2, 5, 11)]
    for name, values in (("in.jsonl", requests), ("out.jsonl", results)):
        (tmp_path / name).write_bytes(b"".join(map(line, values)))
    names = [str(tmp_path / name) for name in ("in.jsonl", "out.jsonl")]
    out, printed, code = dragoman(["join", "-q", *names])
    assert [json.loads(each)["user"] for each in out.splitlines()] == ["7", "2", "5"]
    assert code == 4
    assert "no request with the id '11'" in printed


ODD: tuple[Any, ...] = (None, 7, "x", [], {}, [7], {"x": 7}, True)


@pytest.mark.parametrize("value", [*REQUESTS.values(), *RESULTS.values()])
def test_a_damaged_record_is_read_or_reported(value: Any) -> None:
    def mangled(value: Any) -> Any:
        for key in value if isinstance(value, dict) else ():
            for odd in ODD:
                yield {**value, key: odd}
            yield {k: v for k, v in value.items() if k != key}
            for inner in mangled(value[key]):
                yield {**value, key: inner}

    for odd in mangled(value):
        list(containers.open(line(odd)))
        made = containers.convert(line(odd), target="anthropic", model="claude-opus-5-5")
        for each in made.data.splitlines():
            assert encode(json.loads(each))
