"""Design 003, the half of the AI SDK: what its pseudocode asks for, and what the SDK demands."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman import Malformed, Result, convert, join, read
from dragoman.dialects.vercel_model.response import date_of, seconds_of

VERSIONS = ("vercel-core", "vercel-model-v5", "vercel-model-v6", "vercel-model")
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJg"
    "gg=="
)
versions = pytest.mark.parametrize("version", VERSIONS)


def chat(*messages: Any, to: str) -> Result:
    return convert(list(messages), source="openai-chat", target=to, facet="messages")


def claude(*messages: Any, to: str) -> Result:
    return convert(
        {"messages": list(messages)}, source="anthropic-messages", target=to, facet="messages"
    )


def called(*ids: str) -> Any:
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": i, "name": "look", "input": {"n": 1}} for i in ids],
    }


def replied(call_id: str, **written: Any) -> Any:
    result = {"type": "tool_result", "tool_use_id": call_id, **written}
    return {"role": "user", "content": [result]}


def results(result: Result) -> list[Any]:
    return [part for m in result.document if m["role"] == "tool" for part in m["content"]]


def value(version: str, part: Any) -> Any:
    return part["result"] if version == "vercel-core" else part["output"]["value"]


def losses(result: Result) -> list[str]:
    return [f"{loss.kind} {loss.what}" for loss in result.losses]


@versions
def test_types_have_hyphens_and_results_name_their_tool(version: str) -> None:
    result = claude(called("t1"), replied("t1", content="ok"), to=version)
    call = result.document[0]["content"][0]
    assert call["type"] == "tool-call"
    assert call["args" if version == "vercel-core" else "input"] == {"n": 1}
    (part,) = results(result)
    assert (part["type"], part["toolCallId"], part["toolName"]) == ("tool-result", "t1", "look")
    assert not result.losses


@versions
@pytest.mark.parametrize("call_id", ["hist_tool_1", "call_1", "toolu_1", "functions.look:0", "a b"])
def test_ids_are_free_strings_and_stay(version: str, call_id: str) -> None:
    result = claude(called(call_id), replied(call_id, content="ok"), to=version)
    assert result.document[0]["content"][0]["toolCallId"] == call_id
    assert results(result)[0]["toolCallId"] == call_id
    assert not result.losses


@versions
def test_a_result_is_never_null(version: str) -> None:
    empty: list[Any] = [{}, {"content": ""}, {"content": []}]
    for written in empty:
        (part,) = results(claude(called("t1"), replied("t1", **written), to=version))
        assert value(version, part) == ""


@versions
@pytest.mark.parametrize("written", ["0", "false", "null", "[]"])
def test_falsy_results_are_results(version: str, written: str) -> None:
    (part,) = results(claude(called("t1"), replied("t1", content=written), to=version))
    assert value(version, part) == written


@versions
def test_a_failed_tool_is_flagged(version: str) -> None:
    result = claude(called("t1"), replied("t1", content="no", is_error=True), to=version)
    (part,) = results(result)
    if version == "vercel-core":
        assert part["isError"] is True
    else:
        assert part["output"] == {"type": "error-text", "value": "no"}
    assert not result.losses
    back = convert(result.document, source=version, target="anthropic-messages", facet="messages")
    assert back.document["messages"][1]["content"][0]["is_error"] is True


@versions
def test_several_texts_stay_several_and_in_order(version: str) -> None:
    parts = [
        {"type": "text", "text": "One."},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
        {"type": "text", "text": "Two."},
    ]
    result = chat({"role": "user", "content": parts}, to=version)
    written = [part.get("text") for part in result.document[0]["content"]]
    assert written == ["One.", None, "Two."]
    assert not result.losses


@versions
def test_results_of_one_turn_share_a_message(version: str) -> None:
    both = replied("t1", content="1")
    both["content"] += replied("t2", content="2")["content"]
    result = claude(called("t1", "t2"), both, to=version)
    assert [len(m["content"]) for m in result.document if m["role"] == "tool"] == [2]


@versions
def test_an_image_that_lies_about_its_type_is_corrected(version: str) -> None:
    image = {"type": "image_url", "image_url": {"url": f"data:image/gif;base64,{PNG}"}}
    result = chat({"role": "user", "content": [image]}, to=version)
    key = "mimeType" if version == "vercel-core" else "mediaType"
    assert result.document[0]["content"][0][key] == "image/png"
    assert losses(result) == ["approximated media.type"]


@versions
@pytest.mark.parametrize(
    "url", ["data:image/png;base64,no!", "data:image/png,raw", "data:image/png;base64,aGVsbG8h"]
)
def test_an_image_that_is_none_is_not_passed_on(version: str, url: str) -> None:
    parts = [{"type": "text", "text": "Hi"}, {"type": "image_url", "image_url": {"url": url}}]
    result = chat({"role": "user", "content": parts}, to=version)
    assert result.document[0]["content"] == "Hi"  # one text is left
    assert losses(result) == ["dropped media"]


@versions
def test_at_home_even_a_lie_stays(version: str) -> None:
    key = "mimeType" if version == "vercel-core" else "mediaType"
    doc = [{"role": "user", "content": [{"type": "image", "image": "no!", key: "image/png"}]}]
    result = convert(doc, source=version, target=version, facet="messages")
    assert result.document == doc
    assert not result.losses


@versions
def test_a_result_without_its_call_has_a_name_all_the_same(version: str) -> None:
    result = claude(replied("t1", content="ok"), to=version)
    assert results(result)[0]["toolName"]
    assert losses(result) == ["invented tool_result.name"]


@versions
def test_odd_arguments_come_back(version: str) -> None:
    key = "args" if version == "vercel-core" else "input"
    call = {"type": "tool-call", "toolCallId": "1", "toolName": "f"}
    odd: list[Any] = ["{bad", "", [1, 2], 7, None, {}, {"a": 1}]
    calls = [call, *({**call, key: written} for written in odd)]
    doc = [{"role": "assistant", "content": calls}]
    result = convert(doc, source=version, target=version, facet="messages")
    assert result.document == doc
    told = convert(doc, source=version, target="openai-chat", facet="messages").document
    written = [c["function"]["arguments"] for c in told[0]["tool_calls"]]
    assert written == ["{}", "{bad", "{}", "[1,2]", "7", "{}", "{}", '{"a":1}']


@pytest.mark.parametrize("through", VERSIONS)
def test_signatures_go_back_to_their_issuers(through: str) -> None:
    reasoning = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    hidden = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
    written = {
        "role": "assistant",
        "content": [reasoning, hidden, {"type": "text", "text": "Yes."}],
    }
    asked = {"role": "user", "content": "Go on."}
    doc = {"messages": [asked, written, asked]}
    there = convert(doc, source="anthropic-messages", target=through, facet="messages")
    assert not there.losses
    back = convert(there.document, source=through, target="anthropic-messages", facet="messages")
    assert back.document == doc
    other = convert(there.document, source=through, target="openai-responses", facet="messages")
    assert "c2ln" not in json.dumps(other.document)
    assert "dropped reasoning.signature" in losses(other)


@pytest.mark.parametrize("through", VERSIONS)
def test_item_ids_go_back_to_openai(through: str) -> None:
    doc = {
        "input": [
            {"role": "user", "content": "Hi"},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZW5j"},
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "c1",
                "name": "f",
                "arguments": "{}",
            },
            {"type": "function_call_output", "call_id": "c1", "output": "ok"},
        ]
    }
    there = convert(doc, source="openai-responses", target=through, facet="messages")
    assert not there.losses
    back = convert(there.document, source=through, target="openai-responses", facet="messages")
    assert back.document == doc


def test_json_stays_json_from_version_to_version() -> None:
    output = {"type": "json", "value": {"rows": [1, 2]}}
    part = {"type": "tool-result", "toolCallId": "1", "toolName": "f", "output": output}
    doc: Any = [{"role": "tool", "content": [part]}]
    for source, target in (("vercel-model", "vercel-model-v5"), ("vercel-model-v5", "vercel-core")):
        doc = convert(doc, source=source, target=target, facet="messages").document
    assert doc[0]["content"][0]["result"] == {"rows": [1, 2]}
    doc = convert(doc, source="vercel-core", target="vercel-model", facet="messages").document
    assert doc[0]["content"][0]["output"] == output


def test_work_of_the_provider_never_becomes_a_clients() -> None:
    call = {
        "type": "tool-call",
        "toolCallId": "1",
        "toolName": "web_search",
        "input": {},
        "providerExecuted": True,
    }
    doc = [{"role": "assistant", "content": [call, {"type": "text", "text": "Found."}]}]
    for target in ("vercel-core", "openai-chat", "anthropic-messages", "openai-responses"):
        result = convert(doc, source="vercel-model", target=target, facet="messages")
        assert "web_search" not in json.dumps(result.document)
        assert losses(result) == ["dropped hosted"]


def test_system_turns_stand_where_the_version_takes_them() -> None:
    doc = {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi"},
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Ho"},
        ],
    }
    seven = convert(doc, source="openai-chat", target="vercel-model").document
    assert seven["instructions"] == "Be brief."
    assert seven["allowSystemInMessages"] is True
    six = convert(doc, source="openai-chat", target="vercel-model-v6").document
    assert six["system"] == "Be brief."
    assert "allowSystemInMessages" not in six
    assert [m["role"] for m in six["messages"]] == ["user", "system", "user"]


def test_version_seven_has_an_alias() -> None:
    doc = [{"role": "user", "content": "Hi"}]
    assert read(doc, "vercel-model-v7", facet="messages").dialect == "vercel-model"


@versions
@pytest.mark.parametrize(
    "doc",
    [
        {"role": "developer", "content": "Hi"},
        {"role": "system", "content": [{"type": "text", "text": "Hi"}]},
        {"role": "user", "parts": [{"type": "text", "text": "Hi"}]},
        {"role": "tool", "content": "ok"},
        {"role": "tool", "content": [{"type": "tool-result", "toolName": "f", "output": {}}]},
        {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "1", "input": {}}]},
    ],
)
def test_what_is_no_message_is_malformed(version: str, doc: Any) -> None:
    with pytest.raises(Malformed, match="/0"):
        read([doc], version, facet="messages")


def test_an_answer_joins_the_history_as_the_sdk_would_write_it() -> None:
    signed = {"anthropic": {"signature": "c2ln"}, "x": {"y": 1}}
    reply = {
        "content": [
            {"type": "source", "sourceType": "url", "id": "1", "url": "https://example.org/"},
            {"type": "reasoning", "text": "Hm.", "providerMetadata": signed},
            {
                "type": "tool-call",
                "toolCallId": "s",
                "toolName": "search",
                "input": "{}",
                "providerExecuted": True,
            },
            {"type": "tool-result", "toolCallId": "s", "toolName": "search", "result": [1]},
            {"type": "tool-call", "toolCallId": "c", "toolName": "look", "input": '{"n": 1}'},
        ],
        "finishReason": {"unified": "tool-calls"},
        "usage": {"inputTokens": {"total": 1}, "outputTokens": {"total": 1}},
        "warnings": [],
    }
    asked = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    result = join(asked, reply, dialect="vercel-model")
    assert result.document["messages"][1] == {
        "role": "assistant",
        "content": [
            {"type": "reasoning", "text": "Hm.", "providerOptions": signed},
            {
                "type": "tool-call",
                "toolCallId": "s",
                "toolName": "search",
                "input": {},
                "providerExecuted": True,
            },
            {
                "type": "tool-result",
                "toolCallId": "s",
                "toolName": "search",
                "output": {"type": "json", "value": [1]},
            },
            {"type": "tool-call", "toolCallId": "c", "toolName": "look", "input": {"n": 1}},
        ],
    }
    assert losses(result) == ["dropped raw"]


@pytest.mark.parametrize(
    ("seconds", "date"),
    [
        (0.0, "1970-01-01T00:00:00.000Z"),
        (1700000000.123, "2023-11-14T22:13:20.123Z"),
        (951782400.0, "2000-02-29T00:00:00.000Z"),
        (4102444799.0, "2099-12-31T23:59:59.000Z"),
    ],
)
def test_dates(seconds: float, date: str) -> None:
    assert date_of(seconds) == date
    assert seconds_of(date) == seconds


@pytest.mark.parametrize(
    "written", [None, 1, "", "2023-02-30T00:00:00.000Z", "2023-11-14 22:13:20.123Z"]
)
def test_no_dates(written: Any) -> None:
    assert seconds_of(written) is None
