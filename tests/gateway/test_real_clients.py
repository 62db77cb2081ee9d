"""What real clients were seen to break on, for each upstream: bytes of replies, not SDKs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from dragoman.gateway.config import Limits
from gateways import DOORS, chain, post
from sdk_clients import TALKS

REPLIES = (
    {"reasoning": "Hm.", "signature": "c2ln", "text": "Let me look.",
     "calls": [{"name": "look", "arguments": {"city": "Pera"}}], "when": {"model": "calling"}},
    {"text": "Once upon", "stop": "length", "when": {"model": "long"}},
    {"text": "No.", "stop": "filter", "when": {"model": "filtered"}},
    {"text": "Hi.", "when": {"model": "m"}},
)  # fmt: skip
FOREIGN = [name for name in DOORS if name != "openai-responses"]


@pytest.fixture(scope="module", params=list(DOORS))
def behind(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    with chain(request.param, *REPLIES) as (url, _):
        yield request.param, url


def events(url: str, path: str, document: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of a stream, which ends as it should."""
    reply = post(url, path, json.dumps({**document, "stream": True}).encode())
    assert reply.status == 200, reply.body
    lines = [line[6:] for line in reply.body.splitlines() if line.startswith(b"data: ")]
    if "chat" in path:
        assert lines.pop() == b"[DONE]"
    return [json.loads(line) for line in lines]


def whole(url: str, path: str, document: dict[str, Any]) -> dict[str, Any]:
    reply = post(url, path, json.dumps(document).encode())
    assert reply.status == 200, reply.body
    return dict(json.loads(reply.body))


# -- Responses --------------------------------------------------------------------------------

TOOL = {"type": "function", "name": "look", "strict": False,
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}  # fmt: skip
CALLING = {
    "model": "calling", "input": "How warm is it?", "tools": [TOOL], "store": False,
    "reasoning": {"effort": "medium", "summary": "auto"},
    "include": ["reasoning.encrypted_content"],
}  # fmt: skip


def test_a_response_has_the_second_that_it_was_made_in(behind: tuple[str, str]) -> None:
    told = [whole(behind[1], "/v1/responses", CALLING)]
    told += [e["response"] for e in events(behind[1], "/v1/responses", CALLING) if "response" in e]
    assert len(told) >= 3
    for response in told:
        assert type(response["created_at"]) is int
        assert response["created_at"] > 1_700_000_000
    assert len({response["created_at"] for response in told[1:]}) == 1


def test_reasoning_is_given_as_summaries(behind: tuple[str, str]) -> None:
    """Codex shows nothing else, and goose fails on ``reasoning_text``."""
    upstream, url = behind
    stream = events(url, "/v1/responses", CALLING)
    kinds = {event["type"] for event in stream}
    assert not any(kind.startswith("response.reasoning_text") for kind in kinds)
    if upstream != "openai-chat":  # which gives no reasoning
        assert "response.reasoning_summary_text.delta" in kinds
    for response in (whole(url, "/v1/responses", CALLING), stream[-1]["response"]):
        for item in response["output"]:
            if item["type"] == "reasoning":
                assert item["summary"] == [{"type": "summary_text", "text": "Hm."}]
                assert not item.get("content")


def test_items_are_whole_where_they_are_done(behind: tuple[str, str]) -> None:
    stream = events(behind[1], "/v1/responses", CALLING)
    done = {
        e["output_index"]: e["item"] for e in stream if e["type"] == "response.output_item.done"
    }
    assert stream[-1]["type"] == "response.completed"
    output = stream[-1]["response"]["output"]
    assert [done[number] for number in sorted(done)] == output
    call = output[-1]
    assert (call["type"], call["name"], call["status"]) == ("function_call", "look", "completed")
    assert json.loads(call["arguments"]) == {"city": "Pera"}
    assert call["call_id"]
    assert "".join(p["text"] for i in output if i["type"] == "message" for p in i["content"]) == (
        "Let me look."
    )
    for event in stream:
        assert type(event["sequence_number"]) is int


# -- Chat -------------------------------------------------------------------------------------

CHAT = "/v1/chat/completions"
ASKED: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}]}
REASONS = {
    "calling": "tool_calls", "long": "length", "filtered": "content_filter", "m": "stop",
}  # fmt: skip


@pytest.mark.parametrize("model", list(REASONS))
def test_a_chat_has_a_finish_reason(behind: tuple[str, str], model: str) -> None:
    upstream, url = behind
    asked = {**ASKED, "model": model, "tools": [{"type": "function", "function": {"name": "look"}}]}
    reason = REASONS[model]
    if (upstream, model) == ("ollama", "filtered"):  # which has no word for it
        reason = "length"
    assert whole(url, CHAT, asked)["choices"][0]["finish_reason"] == reason
    chunks = events(url, CHAT, asked)
    given = [c["finish_reason"] for chunk in chunks for c in chunk["choices"]]
    assert [each for each in given if each is not None] == [reason]


@pytest.mark.parametrize("wanted", [True, False, None])
def test_a_chat_stream_has_counts_if_asked_for(
    behind: tuple[str, str], wanted: bool | None
) -> None:
    options = {} if wanted is None else {"stream_options": {"include_usage": wanted}}
    chunks = events(behind[1], CHAT, {**ASKED, "model": "m", **options})
    counted = [chunk for chunk in chunks if chunk.get("usage")]
    if not wanted:
        assert not counted
        return
    assert counted == chunks[-1:]
    assert counted[0]["choices"] == []
    usage = counted[0]["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0


@pytest.mark.parametrize("door", list(TALKS))
def test_clients_wait_through_silence(door: str) -> None:
    """What keeps a stream alive is no part of the reply, before its first token and after."""
    slow = {"text": "Hi.", "calls": [{"name": "look", "arguments": {"city": "Pera"}}], "delay": 0.1}
    upstream = "anthropic-messages" if door == "openai-chat" else "openai-chat"
    with (
        chain(upstream, slow, limits=Limits(keep_alive=0.03)) as (url, _),
        TALKS[door](url) as talk,
    ):
        heard = talk.ask("Hm?", True)
    assert heard.text == "Hi."
    assert heard.calls == (("look", {"city": "Pera"}),)


def test_a_gemini_array_waits_through_silence() -> None:
    asked = json.dumps({"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}).encode()
    slow = {"text": "Hi.", "delay": 0.1}
    with chain("openai-chat", slow, limits=Limits(keep_alive=0.03)) as (url, _):
        body = post(url, "/v1beta/models/m:streamGenerateContent", asked).body
    assert body.startswith(b"\n")
    contents = [frame["candidates"][0]["content"] for frame in json.loads(body)]
    assert "".join(p["text"] for c in contents for p in c.get("parts", ())) == "Hi."


def test_ollama_clients_wait_through_silence() -> None:
    """Each line is a reply to them, so what keeps them waiting is an empty one."""
    slow = {"text": "Hi.", "delay": 0.2}
    with (
        chain("openai-chat", slow, limits=Limits(keep_alive=0.05)) as (url, _),
        TALKS["ollama"](url) as talk,
    ):
        assert talk.ask("Hm?", True).text == "Hi."
        body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
        lines = post(url, "/api/chat", json.dumps(body).encode()).body.splitlines()
    assert lines[0] == b'{"message":{"role":"assistant","content":""},"done":false}'
    assert all(json.loads(line)["message"]["role"] == "assistant" for line in lines)


def test_a_reply_names_the_model_that_was_asked_for() -> None:
    """Claude Code sends reasoning back to the model that the reply names; Bedrock names none."""
    with chain("bedrock-converse", {"text": "Hi"}) as (url, _):
        asked = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "Hi"}]}
        for stream in (False, True):
            body = json.dumps({**asked, "stream": stream}).encode()
            assert b'"model":"m"' in post(url, "/v1/messages", body).body
