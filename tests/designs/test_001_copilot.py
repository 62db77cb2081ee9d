"""The scenarios of design 001, each under the design's own name.

The design's ``Message`` is the dialect ``xzatoma``, its ``ResponseInputItem`` and its request are
``copilot-responses``.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace

import dragoman
import sdk
from choosing import examples
from dragoman import Malformed, Transcoder, dialects, testing
from dragoman.core.walk import meaning, placed
from dragoman.ledger import Ledger
from dragoman.model import History, Media, Message, Request, Source, Text
from strategies import requests, responses

CALL = {"id": "call_1", "function": {"name": "read_file", "arguments": '{"path":"a.txt"}'}}
CALL_ITEM = {
    "type": "function_call",
    "call_id": "call_1",
    "name": "read_file",
    "arguments": '{"path":"a.txt"}',
}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOL = {"name": "read_file", "description": "Read file contents", "parameters": SCHEMA}


def to_items(messages: list[Any], *losses: str) -> Any:
    """``convert_messages_to_response_input``, and the losses it must have."""
    result = dragoman.convert(
        messages, source="xzatoma", target="copilot-responses", facet="messages"
    )
    assert [f"{loss.kind} {loss.what}" for loss in result.losses] == list(losses)
    return result.document["input"]


def to_messages(items: list[Any], *losses: str) -> Any:
    """``convert_response_input_to_messages``, and the losses it must have."""
    result = dragoman.convert(
        {"input": items}, source="copilot-responses", target="xzatoma", facet="messages"
    )
    assert [f"{loss.kind} {loss.what}" for loss in result.losses] == list(losses)
    return result.document


def to_tools(tools: list[Any]) -> Any:
    """``convert_tools_to_response_format``."""
    result = dragoman.convert(tools, source="xzatoma", target="copilot-responses", facet="tools")
    assert not result.losses
    return result.document


def to_choice(word: str | None) -> Any:
    """``convert_tool_choice``."""
    result = dragoman.convert(
        word, source="xzatoma", target="copilot-responses", facet="tool-choice"
    )
    assert not result.losses
    return result.document


def item(role: str, *texts: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text} for text in texts]
    return {"type": "message", "role": role, "content": content}


# -- task 2.1: messages to items --------------------------------------------------------------


def test_001_convert_user_message() -> None:
    assert to_items([{"role": "user", "content": "Hello"}]) == [item("user", "Hello")]


def test_001_convert_assistant_message() -> None:
    assert to_items([{"role": "assistant", "content": "Hi"}]) == [item("assistant", "Hi")]


def test_001_convert_system_message() -> None:
    system = {"role": "system", "content": "You are helpful"}
    assert to_items([system]) == [item("system", "You are helpful")]


def test_001_convert_tool_call_message() -> None:
    assert to_items([{"role": "assistant", "tool_calls": [CALL]}]) == [CALL_ITEM]


def test_001_convert_tool_result_message() -> None:
    result = {"role": "tool", "content": "one", "tool_call_id": "call_1"}
    output = {"type": "function_call_output", "call_id": "call_1", "output": "one"}
    assert to_items([result]) == [output]
    with pytest.raises(Malformed, match="'tool_call_id' is missing"):
        to_items([{"role": "tool", "content": "one"}])


def test_001_convert_conversation() -> None:
    written = ["system", "user", "assistant", "user", "assistant"]
    items = to_items([{"role": role, "content": f"{n}"} for n, role in enumerate(written)])
    assert items == [item(role, f"{n}") for n, role in enumerate(written)]


def test_001_convert_empty_messages() -> None:
    assert to_items([]) == []
    assert to_messages([]) == []


def test_001_convert_assistant_message_with_content_and_tools() -> None:
    """Calls first, then the text. That the order changes is written, which the design does not."""
    message = {"role": "assistant", "content": "I read it.", "tool_calls": [CALL]}
    items = to_items([message], "approximated content.order")
    assert items == [CALL_ITEM, item("assistant", "I read it.")]


def test_001_order_and_content_are_preserved() -> None:
    """The design's additional tests: several calls keep their order, texts are verbatim."""
    other = {"id": "call_2", "function": {"name": "read_file", "arguments": '{"path": "b"}'}}
    text = 'Line one\n\tline two "quoted", ünïcode 🎉 '
    messages = [
        {"role": "user", "content": text},
        {"role": "assistant", "tool_calls": [CALL, other]},
        {"role": "tool", "content": text, "tool_call_id": "call_2"},
        {"role": "tool", "content": "", "tool_call_id": "call_1"},
    ]
    items = to_items(messages)
    assert [i["call_id"] for i in items[1:]] == ["call_1", "call_2", "call_2", "call_1"]
    assert items[2]["arguments"] == '{"path": "b"}'
    assert items[0] == item("user", text)
    assert items[3]["output"] == text
    assert to_messages(items) == messages


def test_001_convert_unknown_role_error_in_messages() -> None:
    with pytest.raises(Malformed, match="unknown role 'narrator'; there are: user, assistant,"):
        to_items([{"role": "narrator", "content": "Once upon a time"}])


# -- task 2.2: items to messages --------------------------------------------------------------


def test_001_convert_response_message_to_message() -> None:
    for role in ("user", "assistant", "system"):
        assert to_messages([item(role, "Hello")]) == [{"role": role, "content": "Hello"}]


def test_001_convert_function_call_to_message() -> None:
    assert to_messages([CALL_ITEM]) == [{"role": "assistant", "tool_calls": [CALL]}]


def test_001_convert_function_output_to_message() -> None:
    output = {"type": "function_call_output", "call_id": "call_1", "output": "one"}
    result = {"role": "tool", "content": "one", "tool_call_id": "call_1"}
    assert to_messages([output]) == [result]


def test_001_convert_multiple_content_items() -> None:
    messages = to_messages([item("user", "Hello", "World")], "approximated text.boundary")
    assert messages == [{"role": "user", "content": "Hello World"}]


@pytest.mark.parametrize("role", ["developer", "narrator", "tool"])
def test_001_convert_unknown_role_error(role: str) -> None:
    with pytest.raises(Malformed, match=f"unknown role '{role}'; there are: user, system, assist"):
        to_messages([item(role, "Hello")])


def test_001_one_turn_comes_back_as_one_message() -> None:
    """Where the design makes N calls and a text N + 1 messages, its round trip holds here."""
    items = [CALL_ITEM, item("assistant", "I read it.")]
    message = {"role": "assistant", "content": "I read it.", "tool_calls": [CALL]}
    assert to_messages(items, "approximated content.order") == [message]
    assert to_items([message], "approximated content.order") == items


def test_001_images_are_lost_aloud() -> None:
    """The design skips images without a word."""
    image = {"type": "input_image", "url": "https://example.org/a.png"}
    asked = {
        "type": "message",
        "role": "user",
        "content": [*item("user", "Look")["content"], image],
    }
    assert to_messages([asked], "dropped media") == [{"role": "user", "content": "Look"}]


# -- task 2.3: tools and choices --------------------------------------------------------------


def test_001_convert_tool_to_response_format() -> None:
    assert to_tools([TOOL]) == [{"type": "function", "function": TOOL | {"strict": False}}]


def test_001_convert_tool_without_strict() -> None:
    assert to_tools([TOOL])[0]["function"]["strict"] is False
    schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    strict = {"type": "function", "name": "f", "parameters": schema, "strict": True}
    given = dragoman.convert(
        [strict], source="openai-responses", target="copilot-responses", facet="tools"
    )
    assert given.document[0]["function"]["strict"] is True


def test_001_convert_multiple_tools() -> None:
    tools = [TOOL | {"name": name} for name in ("one", "two", "three")]
    assert [tool["function"]["name"] for tool in to_tools(tools)] == ["one", "two", "three"]
    assert all(tool["type"] == "function" for tool in to_tools(tools))  # the variant
    assert to_tools([]) == []


def test_001_convert_tool_choice_auto() -> None:
    assert to_choice("auto") == {"auto": True}


def test_001_convert_tool_choice_required() -> None:
    assert to_choice("required") == {"any": True}
    assert to_choice("any") == {"any": True}


def test_001_convert_tool_choice_none() -> None:
    assert to_choice("none") == {"none": True}


def test_001_convert_tool_choice_named() -> None:
    assert to_choice("my_tool") == {"function": {"name": "my_tool"}}


def test_001_convert_tool_choice_option_none() -> None:
    """ "None → None": no choice stays no choice, alone and in a request."""
    assert to_choice(None) is None
    for source in ("copilot-responses", "openai-chat", "anthropic", "gemini", "xzatoma"):
        back = dragoman.convert(None, source=source, target="xzatoma", facet="tool-choice")
        assert back.document is None
        assert not back.losses
    asked = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tool_choice": None}
    result = dragoman.convert(asked, source="openai-chat", target="copilot-responses")
    assert "tool_choice" not in result.document
    assert not result.losses


@pytest.mark.parametrize(
    ("facet", "source", "doc"),
    [
        ("tools", "xzatoma", [TOOL | {"name": ""}]),
        ("tools", "copilot-responses", [{"type": "function", "function": TOOL | {"name": ""}}]),
        ("tools", "openai-chat", [{"type": "function", "function": TOOL | {"name": ""}}]),
        ("tool-choice", "xzatoma", ""),
        ("tool-choice", "copilot-responses", {"function": {"name": ""}}),
        ("tool-choice", "openai-chat", {"type": "function", "function": {"name": ""}}),
    ],
)
def test_001_an_empty_name_is_refused_not_renamed(facet: str, source: str, doc: Any) -> None:
    """ "Preserves tool name", "Named tool choice preserves name": a made-up one would not."""
    for target in ("xzatoma", "copilot-responses"):
        with pytest.raises((Malformed, dragoman.Unsayable), match="the name of a tool is empty"):
            dragoman.convert(doc, source=source, target=target, facet=facet)


@pytest.mark.parametrize(
    ("source", "doc", "lost"),
    [
        ("copilot-responses", {"input": [], "mood": "good"}, ["extras /mood"]),
        ("openai-responses", {"input": [], "tools": []}, ["extras /tools"]),
        ("anthropic", {"messages": [], "max_tokens": 9}, ["extras /max_tokens"]),
        ("openai-chat", {"messages": [], "temperature": 1}, ["extras /temperature"]),
    ],
)
def test_001_what_stands_beside_the_messages_is_reported(
    source: str, doc: Any, lost: list[str]
) -> None:
    result = dragoman.convert(doc, source=source, target="xzatoma", facet="messages")
    assert result.document == []
    assert [f"{loss.what} {loss.path}" for loss in result.losses] == lost
    with pytest.raises(dragoman.Lossy):
        dragoman.convert(doc, source=source, target="xzatoma", facet="messages", fail_on="dropped")


@pytest.mark.parametrize("name", ["auto", "any", "none", "required"])
def test_001_a_tool_named_like_a_mode_can_be_chosen(name: str) -> None:
    """The tree knows a mode from a name, so only XZatoma's own words are ambiguous."""
    chosen = {"type": "function", "name": name}
    result = dragoman.convert(
        chosen, source="openai-responses", target="copilot-responses", facet="tool-choice"
    )
    assert result.document == {"function": {"name": name}}
    assert not result.losses
    word = dragoman.convert(
        result.document, source="copilot-responses", target="xzatoma", facet="tool-choice"
    )
    assert [loss.what for loss in word.losses] == ["tool_choice"]


# -- the design's future extensions -----------------------------------------------------------


def test_001_reasoning_is_kept() -> None:
    reasoning = {"type": "reasoning", "content": [{"type": "output_text", "text": "Six sevens."}]}
    tree = dragoman.read({"input": [reasoning, item("assistant", "42")]}, "copilot-responses",
                         facet="messages")  # fmt: skip
    assert tree.messages[0].content[0].content == ("Six sevens.",)  # type: ignore[union-attr]
    signed = [
        {"type": "thinking", "thinking": "Six sevens.", "signature": "c2ln"},
        {"type": "text", "text": "42"},
    ]
    result = dragoman.convert(
        {"messages": [{"role": "assistant", "content": signed}]},
        source="anthropic",
        target="copilot-responses",
        facet="messages",
    )
    assert result.document == {"input": [reasoning, item("assistant", "42")]}
    assert [loss.what for loss in result.losses] == ["reasoning.signature"]


@pytest.mark.parametrize(
    ("data", "written", "found", "loss"),
    [
        ("iVBORw0KGgoAAAANSUhEUg==", "image/png", "image/png", None),
        ("iVBORw0KGgoAAAANSUhEUg==", "image/jpeg", "image/png", "approximated media.type"),
        ("/9j/4AAQSkZJRgABAQAAAQ==", "image/png", "image/jpeg", "approximated media.type"),
        ("R0lGODlhAQABAIAAAAAAAA==", "image/png", "image/gif", "approximated media.type"),
        ("UklGRiQAAABXRUJQVlA4IA==", "image/png", "image/webp", "approximated media.type"),
        ("AAAA", "image/png", "image/png", None),
    ],
)
def test_001_content_types_are_detected(
    data: str, written: str, found: str, loss: str | None
) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": written, "data": data}}
    result = dragoman.convert(
        {"messages": [{"role": "user", "content": [image]}]},
        source="anthropic",
        target="copilot-responses",
        facet="messages",
    )
    part = result.document["input"][0]["content"][0]
    assert part == {"type": "input_image", "url": f"data:{found};base64,{data}"}
    assert [f"{x.kind} {x.what}" for x in result.losses] == ([] if loss is None else [loss])


def test_001_an_image_without_a_type_gets_one() -> None:
    image = {"type": "input_image", "image_url": "data:;base64,/9j/4AAQSkZJRgABAQAAAQ=="}
    result = dragoman.convert(
        [{"role": "user", "content": [image]}],
        source="openai-responses",
        target="copilot-responses",
        facet="messages",
    )
    part = result.document["input"][0]["content"][0]
    assert part["url"].startswith("data:image/jpeg;base64,")
    assert [f"{x.kind} {x.what}" for x in result.losses] == ["invented media.type"]


def test_001_a_large_batch_is_its_parts() -> None:
    """2,000 messages at once give what they give one by one."""
    messages: list[Any] = []
    for n in range(500):
        call = {"id": f"call_{n}", "function": {"name": "f", "arguments": f'{{"n":{n}}}'}}
        messages += [
            {"role": "user", "content": f"question {n}"},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "content": f"result {n}", "tool_call_id": f"call_{n}"},
            {"role": "assistant", "content": f"answer {n}"},
        ]
    items = to_items(messages)
    assert len(items) == 2000
    assert items == [part for message in messages for part in to_items([message])]
    assert to_messages(items) == messages


# -- in the same dialect --------------------------------------------------------------------------


def test_001_what_is_added_at_home_has_the_dialects_own_form() -> None:
    """A message added to a tree that was read from this dialect is no message of OpenAI's."""
    old = {"input": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}
    tree = dragoman.read(old, "copilot-responses", facet="messages")
    assert isinstance(tree, History)
    image = Media("image", Source("url", "https://example.org/a.png"))
    new = (Message("user", (Text("Look"), image)), Message("assistant", (Text("A cat."),)))
    grown = dragoman.write(replace(tree, messages=(*tree.messages, *new)), "copilot-responses")
    content = [
        {"type": "input_text", "text": "Look"},
        {"type": "input_image", "url": "https://example.org/a.png"},
    ]
    asked = {"type": "message", "role": "user", "content": content}
    assert grown.document == {"input": [*old["input"], asked, item("assistant", "A cat.")]}
    assert not grown.losses


# -- the endpoint as Copilot's own clients use it ---------------------------------------------


def test_001_only_copilots_own_signatures_go_back_to_copilot() -> None:
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    asked = {"model": "m", "input": [reasoning, {"role": "assistant", "content": "42"}]}
    for source, target, kept in (
        ("openai-responses", "copilot", False),
        ("copilot", "openai-responses", False),
        ("copilot", "copilot", True),
    ):
        result = dragoman.convert(asked, source=source, target=target)
        assert (reasoning in result.document["input"]) is kept
        assert ("reasoning.signature" in {loss.what for loss in result.losses}) is not kept


def test_001_copilot_keeps_what_openais_items_say_and_not_the_reverse() -> None:
    written = {"type": "message", "role": "assistant", "phase": "final_answer",
            "content": [{"type": "output_text", "text": "42", "annotations": []}]}  # fmt: skip
    there = dragoman.convert(
        {"input": [written]}, source="openai-responses", target="copilot", facet="messages"
    )
    assert there.document["input"] == [written | {"id": "msg_1", "status": "completed"}]
    assert not there.losses
    back = dragoman.convert(
        there.document, source="copilot", target="openai-responses", facet="messages"
    )
    assert back.document["input"] == [{"role": "assistant", "content": "42"}]
    assert [(loss.what, loss.path) for loss in back.losses] == [("extras", "/input/0/phase")]


@pytest.mark.parametrize("key", ["background", "max_tool_calls", "context_management"])
def test_001_copilot_is_sent_no_parameter_that_its_clients_do_not_send(key: str) -> None:
    asked = {"model": "m", "input": "Hi", key: 1, "include": ["reasoning.encrypted_content"]}
    result = dragoman.convert(asked, source="openai-responses", target="copilot")
    assert result.document.keys() == {"model", "input", "include", "store"}
    assert [(loss.what, loss.path) for loss in result.losses] == [("extras", f"/{key}")]


@pytest.mark.parametrize("target", ["copilot", "copilot-responses"])
@settings(max_examples=examples(100), suppress_health_check=list(HealthCheck))
@given(tree=requests() | responses())
def test_001_nothing_is_lost_in_silence(target: str, tree: Any) -> None:
    """Over conversations nobody wrote down; what Copilot is sent, OpenAI's own types accept."""
    log, writer = Ledger(now=0), dialects.get(target)
    tree = placed(tree, "")
    facet = "request" if isinstance(tree, Request) else "response"
    document = writer.write(tree, log)
    if target == "copilot":
        assert not sdk.problems("openai-responses", facet, document)
    back = writer.read(document, facet)
    if not any(map(testing.is_lossy, log.losses)):
        assert meaning(back) == meaning(tree)
    testing.identity(testing.Document("", target, "", facet, False, document))


# -- detection --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dialect", "facet", "doc"),
    [
        ("copilot-responses", "tool-choice", {"auto": True}),
        ("copilot-responses", "tool-choice", {"function": {"name": "f"}}),
        (
            "copilot-responses",
            "request",
            {"model": "m", "input": [item("user", "Hi")], "tool_choice": {"any": True}},
        ),
        (
            "copilot-responses",
            "request",
            {"model": "m", "input": [item("user", "Hi")], "include": ["reasoning"]},
        ),
        (
            "copilot-responses",
            "response",
            {
                "message": {"role": "assistant", "content": "Hi"},
                "usage": {"input_tokens": 1, "output_tokens": 1},
            },
        ),
        (
            "copilot-responses",
            "request",
            {
                "model": "m",
                "input": [
                    item("user", "Hi")
                    | {"content": [{"type": "input_image", "url": "https://example.org/a.png"}]}
                ],
            },
        ),
        ("openai-responses", "request", {"model": "m", "input": [item("user", "Hi")]}),
        (
            "openai-responses",
            "request",
            {
                "model": "m",
                "input": [{"role": "user", "content": "Hi"}],
                "max_output_tokens": 9,
                "tools": [{"type": "function", "function": {"name": "f"}}],
            },
        ),
    ],
)
def test_001_detection(dialect: str, facet: str, doc: Any) -> None:
    best = dragoman.detect(doc)[0]
    assert (best.dialect, best.facet) == (dialect, facet)


# -- stream events --------------------------------------------------------------------------


def message_of(event: Any, *losses: str) -> Any:
    """``convert_stream_event_to_message``: a message, or None; and the losses it must have."""
    result = dragoman.convert_event(event, source="copilot-responses", target="xzatoma")
    assert [f"{loss.kind} {loss.what} {loss.path}" for loss in result.losses] == list(losses)
    return result.document


def spoken(*texts: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text} for text in texts]
    return {"type": "message", "role": "assistant", "content": content}


def test_001_convert_stream_event_message() -> None:
    """ "Message Events: Converts to XZatoma `Message` objects"."""
    message = {"role": "assistant", "content": "Streaming response text"}
    assert message_of(spoken("Streaming response text")) == message
    assert message_of(spoken("One", "two"), "approximated text.boundary /content/1") == {
        "role": "assistant",
        "content": "One two",
    }


def test_001_convert_stream_event_function_call() -> None:
    """ "Function Call Events: Converts to assistant messages with tool calls"."""
    event = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": '{"a":1}'}
    call = {"id": "call_1", "function": {"name": "f", "arguments": '{"a":1}'}}
    assert message_of(event) == {"role": "assistant", "tool_calls": [call]}


def test_001_convert_stream_event_status_none() -> None:
    """ "Status/Done Events: Returns `None` (no message content)"."""
    assert message_of({"type": "status", "status": "in_progress"}) is None
    assert message_of({"type": "done"}) is None
    assert message_of({"type": "done", "response": {"message": spoken("Hi")}}) is None


def test_001_convert_stream_event_reasoning_none() -> None:
    """ "Reasoning Events: Returns `None`"; here the ledger says what was in it."""
    reasoning = spoken("Hm.") | {"type": "reasoning"}
    del reasoning["role"]
    assert message_of(reasoning, "dropped reasoning ", "dropped message.empty ") is None


def test_001_convert_stream_event_that_is_no_message() -> None:
    assert message_of({"type": "weather"}, "dropped stream.event ") is None
    assert message_of({"error": {"message": "No."}}, "dropped response.failure ") is None
    with pytest.raises(Malformed, match="unknown role 'narrator'") as caught:
        message_of(spoken("Once") | {"role": "narrator"})
    assert caught.value.at == ""
    odd_ones: list[Any] = [None, [], "message", {}, {"type": []}, {"type": "message"}]
    for odd in odd_ones:
        with pytest.raises(Malformed):
            message_of(odd)


def test_001_one_event_of_other_dialects() -> None:
    """Where each event stands for itself; elsewhere it is refused, not guessed."""
    event = {"role": "assistant", "content": "Hi"}
    there = dragoman.convert_event(event, source="xzatoma", target="copilot-responses")
    assert there.document == spoken("Hi")
    both = dragoman.convert_event(
        event | {"tool_calls": [CALL]}, source="xzatoma", target="responses"
    )
    assert [i.get("type", "message") for i in both.document] == ["message", "function_call"]
    piece = {"choices": [{"index": 0, "delta": {"content": "Hi"}}]}
    with pytest.raises(dragoman.Unsupported, match="use Transcoder"):
        dragoman.convert_event(piece, source="openai-chat", target="xzatoma")
    with pytest.raises(dragoman.Lossy):
        dragoman.convert_event(
            spoken("a", "b"), source="copilot-responses", target="xzatoma", fail_on="approximated"
        )


def test_001_extension_streaming_aggregation() -> None:
    """Pieces of text and of interleaved calls become one reply; nothing is sorted or dropped."""
    written = [
        {"type": "reasoning", "content": [{"type": "output_text", "text": "Two things."}]},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "On"}],
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "e"}]},
        {"type": "function_call", "call_id": "call_b", "name": "f", "arguments": '{"x"'},
        {"type": "function_call", "call_id": "call_a", "name": "g", "arguments": "{"},
        {"type": "function_call", "call_id": "call_b", "name": "f", "arguments": ":1}"},
        {"type": "function_call", "call_id": "call_a", "name": "g", "arguments": "}"},
        {"type": "done"},
    ]
    stream = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in written)
    reply = dragoman.collect(stream + b"data: [DONE]\n\n", "copilot-responses").document
    assert reply["reasoning"] == "Two things."
    assert reply["message"]["content"] == "One"
    calls = [(c["id"], c["function"]["arguments"]) for c in reply["message"]["tool_calls"]]
    assert calls == [("call_b", '{"x":1}'), ("call_a", "{}")]


def test_001_a_stream_that_breaks_off_is_no_answer() -> None:
    part = {"type": "output_text", "text": "Hal"}
    event = {"type": "message", "role": "assistant", "content": [part]}
    broken = b"data: " + json.dumps(event).encode() + b"\n\n"
    transcoder = Transcoder("copilot-responses", "openai-chat")
    written = transcoder.feed(broken) + transcoder.close()
    assert b"[DONE]" not in written
    assert transcoder.response.failure is not None
