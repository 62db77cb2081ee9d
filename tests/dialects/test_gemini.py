"""What the Gemini API demands of names, and what is made of calls that nobody named."""

from __future__ import annotations

import json
from typing import Any

import pytest

import places
from dragoman import Malformed, Transcoder, convert

STREAMS = places.AWKWARD


@pytest.mark.parametrize(
    ("name", "stays"),
    [("get.weather:v2-x", True), ("_x", True), ("2nd", False), ("-x", False), ("a b", False)],
)
def test_a_name_begins_with_a_letter(name: str, stays: bool) -> None:
    tools = [{"type": "function", "function": {"name": name}}]
    result = convert(tools, source="openai-chat", target="gemini", facet="tools")
    written = result.document[0]["functionDeclarations"][0]["name"]
    assert (written == name) == stays
    assert [loss.what for loss in result.losses] == ([] if stays else ["tool.name"])
    assert written[0].isalpha() or written[0] == "_"


def test_results_find_their_calls_by_name_then_by_place() -> None:
    contents: list[dict[str, Any]] = [
        {"role": "user", "parts": [{"text": "Go."}]},
        {"role": "model", "parts": [{"functionCall": {"name": n, "args": {}}} for n in "aba"]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": n, "response": {"output": n}}}
                for n in ("b", "a", "a")
            ],
        },
    ]
    result = convert(
        {"contents": contents}, source="gemini", target="openai-chat", facet="messages"
    )
    replied = [m["tool_call_id"] for m in result.document if m["role"] == "tool"]
    assert replied == ["call_2", "call_1", "call_3"]


def test_a_key_in_both_spellings_is_refused() -> None:
    """The API parses a protocol buffer, whose fields may be written once."""
    spelled = {"parts": [{"text": "Be brief."}]}
    doc: dict[str, Any] = {"contents": [], "systemInstruction": None, "system_instruction": spelled}
    with pytest.raises(Malformed, match="given twice"):
        convert(doc, source="gemini", target="gemini")


def test_an_answer_begins_when_it_has_a_name() -> None:
    """A first chunk may hold nothing but feedback on the prompt."""
    data = (STREAMS / "begins-without-a-candidate.gemini.sse").read_bytes()
    spelled = convert(data, source="gemini", target="openai-chat", facet="stream").document
    assert isinstance(spelled, bytes)
    chunks = [json.loads(line[6:]) for line in spelled.splitlines() if line.startswith(b"data: {")]
    assert {(chunk["id"], chunk["model"]) for chunk in chunks} == {("r", "gemini-2.5-flash")}


def test_a_call_that_nobody_answered_does_not_take_the_answer_of_another() -> None:
    """Without ids, the last turn that waits is answered; and made-up ids are nobody else's."""

    def call(city: str, **more: str) -> dict[str, Any]:
        inner = {"name": "weather", "args": {"city": city}, **more}
        return {"role": "model", "parts": [{"functionCall": inner}]}

    def reply(degrees: str, **more: str) -> dict[str, Any]:
        inner = {"name": "weather", "response": {"output": degrees}, **more}
        return {"role": "user", "parts": [{"functionResponse": inner}]}

    contents = [
        {"role": "user", "parts": [{"text": "How warm is it in Oslo?"}]},
        call("Oslo"),
        {"role": "user", "parts": [{"text": "No, in Rome."}]},
        call("Rome"),
        reply("15"),
        call("Lima"),
        reply("19", id="mine-1"),
        call("Bern", id="call_2"),
        reply("9", id="call_2"),
    ]
    result = convert({"contents": contents}, source="gemini", target="openai-chat", model="m")
    messages = result.document["messages"]
    made = [m["tool_calls"][0]["id"] for m in messages if "tool_calls" in m]
    replied = [m["tool_call_id"] for m in messages if m["role"] == "tool"]
    assert made[:3] == ["call_1", "call_2", "mine-1"]  # which its result tells
    assert len(set(made)) == 4
    assert replied == made  # each has a result, and the first one says that there is none
    results = [m["content"] for m in messages if m["role"] == "tool"]
    assert "no result" in results[0]
    assert results[1:] == ["15", "19", "9"]
    same = convert({"contents": contents}, source="gemini", target="gemini").document
    assert same == {"contents": contents}


@pytest.mark.parametrize(
    ("model", "effort", "config", "losses"),
    [
        ("gemini-3-flash", "low", {"thinkingLevel": "LOW"}, []),
        ("gemini-3-pro", "none", {"thinkingLevel": "LOW"}, ["thinking", "thinking.effort"]),
        ("gemini-2.5-flash", "low", {"thinkingBudget": 1024}, ["thinking.effort"]),
        ("gemini-2.5-flash", "xhigh", {"thinkingBudget": 24576}, ["thinking.effort"]),
        ("gemini-2.5-flash", "none", {"thinkingBudget": 0}, []),
        ("gemini-2.5-pro", "none", {"thinkingBudget": 128}, ["thinking", "thinking.budget"]),
    ],
)
def test_an_effort_is_what_the_model_takes(
    model: str, effort: str, config: dict[str, Any], losses: list[str]
) -> None:
    """Gemini 2.5 knows budgets and no levels; and some models cannot be kept from thinking."""
    asked = {
        "model": model,
        "messages": [{"role": "user", "content": "Hi"}],
        "reasoning_effort": effort,
    }
    result = convert(asked, source="openai-chat", target="gemini")
    assert result.document["generationConfig"]["thinkingConfig"] == config
    assert [loss.what for loss in result.losses] == losses


def test_a_refusal_to_stream_is_heard() -> None:
    """A request that fails is answered by the error alone, whatever was asked for."""
    error = {"code": 429, "message": "Quota exceeded.", "status": "RESOURCE_EXHAUSTED"}
    for body in ({"error": error}, [{"error": error}]):
        data = json.dumps(body, indent=2).encode()
        for size in (1, 7, len(data)):
            transcoder = Transcoder("gemini", "anthropic-messages")
            spelled = [transcoder.feed(data[i : i + size]) for i in range(0, len(data), size)]
            spelled.append(transcoder.close())
            assert b"rate_limit_error" in b"".join(spelled)


def test_many_calls_without_ids_find_their_results() -> None:
    """By name, however many wait: those of the last turn first."""
    turns = range(2000)
    calls = [{"functionCall": {"name": f"f{n % 7}", "args": {}}} for n in turns]
    results = [
        {"functionResponse": {"name": f"f{n % 7}", "response": {"output": "r"}}} for n in turns
    ]
    contents: list[dict[str, object]] = [{"role": "user", "parts": [{"text": "Go on."}]}]
    contents += [{"role": "model", "parts": [call]} for call in calls]
    contents += [{"role": "user", "parts": [result]} for result in results]
    body = {"model": "m", "contents": contents}
    messages = convert(body, source="gemini", target="openai-chat").document["messages"]
    called = [call for m in messages for call in m.get("tool_calls", ())]
    names = {call["id"]: call["function"]["name"] for call in called}
    replies = [names[m["tool_call_id"]] for m in messages if m["role"] == "tool"]
    assert len(names) == len(replies) == 2000
    assert sorted(replies) == sorted(f"f{n % 7}" for n in turns)


def test_data_in_the_alphabet_for_urls() -> None:
    """google-genai writes bytes so; other APIs take the usual alphabet only."""
    part = {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgoAAAAN-_8"}}
    document = {"contents": [{"role": "user", "parts": [part]}]}
    assert convert(document, source="gemini", target="gemini").document == document
    told = convert(document, source="gemini", target="openai-chat", model="m").document
    url = told["messages"][0]["content"][0]["image_url"]["url"]
    assert url == "data:image/png;base64,iVBORw0KGgoAAAAN+/8="
