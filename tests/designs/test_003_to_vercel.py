"""Design 003, the way it is meant: llxprt's contents as the core messages of the Vercel AI SDK.

The expectations are the design's text, with ``toolName``, which the SDK demands of a result.
"""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import convert

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJ"
    "RU5ErkJggg=="
)
URI = f"data:image/png;base64,{PNG}"


def vercel(*contents: dict[str, Any]) -> list[Any]:
    result = convert(list(contents), source="icontent", target="vercel-core", facet="messages")
    assert isinstance(result.document, list)
    return result.document


ROLES = [("human", "user"), ("ai", "assistant"), ("system", "system")]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def says(speaker: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"speaker": speaker, "blocks": list(blocks)}


CALL = {"type": "tool_call", "id": "hist_tool_abc", "name": "f", "parameters": {"x": 1}}
CALLED = {"type": "tool-call", "toolCallId": "call_abc", "toolName": "f", "args": {"x": 1}}


def reply(**written: Any) -> dict[str, Any]:
    return says("tool", {"type": "tool_response", "callId": "hist_tool_abc", **written})


def replied(**written: Any) -> dict[str, Any]:
    result = {"type": "tool-result", "toolCallId": "call_abc", "toolName": "f", **written}
    return {"role": "tool", "content": [result]}


def test_lines_001_to_012_one_message_for_each_content_in_order() -> None:
    messages = vercel(
        says("system", text("Be brief.")), says("human", text("Hi")), says("ai", text("Hello."))
    )
    assert messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello."},
    ]


def test_lines_026_to_028_results_make_a_tool_message() -> None:
    messages = vercel(says("ai", CALL), reply(result="1"))
    assert messages == [{"role": "assistant", "content": [CALLED]}, replied(result="1")]


def test_lines_062_to_074_images_make_parts_in_their_order() -> None:
    image = {"type": "image", "data": URI}
    (message,) = vercel(says("human", text("a"), image, text("b")))
    assert message["role"] == "user"
    assert [part["type"] for part in message["content"]] == ["text", "image", "text"]
    assert message["content"][0] == text("a")
    assert PNG in message["content"][1]["image"]


def test_lines_075_to_079_text_alone_is_a_string() -> None:
    assert vercel(says("human", text("a"))) == [{"role": "user", "content": "a"}]


def test_lines_094_to_112_calls_make_parts_with_ids_of_the_sdk() -> None:
    (message,) = vercel(says("ai", text("I look."), CALL))
    assert message == {"role": "assistant", "content": [text("I look."), CALLED]}


def test_lines_113_to_117_an_answer_in_text_is_a_string() -> None:
    assert vercel(says("ai", text("a"))) == [{"role": "assistant", "content": "a"}]


def test_line_137_both_ends_of_a_pair_are_named_alike() -> None:
    messages = vercel(says("ai", CALL), reply(result="1"))
    assert messages[0]["content"][0]["toolCallId"] == messages[1]["content"][0]["toolCallId"]


@pytest.mark.parametrize("written", [{"result": None}, {"result": ""}, {}])
def test_line_142_no_result_is_an_empty_string(written: dict[str, Any]) -> None:
    assert vercel(says("ai", CALL), reply(**written))[1]["content"][0]["result"] == ""


@pytest.mark.parametrize("value", [0, False])
def test_line_142_but_zero_and_false_are_results(value: Any) -> None:
    result = vercel(says("ai", CALL), reply(result=value))[1]["content"][0]["result"]
    assert result in (value, str(value).lower())
    assert result != ""


@pytest.mark.parametrize("written", [{"status": "error"}, {"error": "gone"}])
def test_lines_146_to_148_the_error_flag(written: dict[str, Any]) -> None:
    messages = vercel(says("ai", CALL), reply(result="gone", **written))
    assert messages[1] == replied(result="gone", isError=True)


def test_line_147_no_flag_where_nothing_failed() -> None:
    assert "isError" not in vercel(says("ai", CALL), reply(result="1"))[1]["content"][0]


def test_lines_161_to_162_a_system_turn_is_a_string() -> None:
    """ "text = extractTextContent(blocks)", "RETURN { role: 'system', content: text }"."""
    system, _ = vercel(says("system", text("a"), text("b")), says("human", text("Hi")))
    assert system == {"role": "system", "content": "a\nb"}
    request = {"contents": [says("human", text("Hi"))], "systemInstruction": "a\nb"}
    asked = convert(request, source="icontent", target="vercel-core", model="m").document
    assert asked["system"] == "a\nb"
    several = {"model": "m", "max_tokens": 9, "system": [text("a"), text("b")],
               "messages": [{"role": "user", "content": "Hi"}]}  # fmt: skip
    asked = convert(several, source="anthropic", target="vercel-core").document
    assert asked["system"] == "a\nb"


@pytest.mark.parametrize(("speaker", "role"), ROLES)
def test_line_179_several_texts_are_one_string(speaker: str, role: str) -> None:
    """ "RETURN JOIN textParts WITH '\\n'", which the design does in silence."""
    result = convert(
        [says(speaker, text("a"), text(""), text("b"))],
        source="icontent",
        target="vercel-core",
        facet="messages",
    )
    assert result.document == [{"role": role, "content": "a\n\nb"}]
    assert [f"{x.kind} {x.what} {x.path}" for x in result.losses] == [
        "approximated text.boundary /0/blocks/1",
        "approximated text.boundary /0/blocks/2",
    ]


@pytest.mark.parametrize(("speaker", "role"), ROLES)
def test_line_179_no_blocks_are_an_empty_string(speaker: str, role: str) -> None:
    result = convert([says(speaker)], source="icontent", target="vercel-core", facet="messages")
    assert result.document == [{"role": role, "content": ""}]
    assert [f"{x.kind} {x.what} {x.path}" for x in result.losses] == ["invented text.empty /0"]


def test_line_179_texts_beside_a_call_or_an_image_are_parts() -> None:
    """ "Build multi-part content array with text and tool calls"."""
    (message,) = vercel(says("ai", text("a"), text("b"), CALL))
    assert message["content"] == [text("a"), text("b"), CALLED]


def test_line_179_parts_of_the_sdk_stay_parts() -> None:
    """From version to version of the SDK nothing needs to be joined; nor where a part is marked."""
    parts = [{"role": "user", "content": [text("a"), text("b")]}]
    for version in ("vercel-model", "vercel-model-v6", "vercel-model-v5", "vercel-core"):
        there = convert(parts, source=version, target="vercel-core", facet="messages")
        assert there.document == parts
        assert not there.losses
    mark = {"cache_control": {"type": "ephemeral"}}
    marked = {"messages": [{"role": "user", "content": [text("a") | mark, text("b")]}]}
    there = convert(marked, source="anthropic", target="vercel-core", facet="messages")
    assert len(there.document[0]["content"]) == 2
    assert not there.losses


def test_warning_5_types_are_hyphenated() -> None:
    messages = vercel(says("ai", CALL), reply(result="1"))
    types = [part["type"] for message in messages for part in message["content"]]
    assert types == ["tool-call", "tool-result"]
