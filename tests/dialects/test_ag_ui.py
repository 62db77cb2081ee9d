"""The protocol's own types judge what we write, and we read what they dump."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ag_ui.core import events as ag_events
from ag_ui.core import types as ag
from ag_ui.encoder import EventEncoder
from pydantic import TypeAdapter

import dragoman
import places
from dragoman import dialects, testing
from dragoman.model import (
    History,
    Media,
    Raw,
    Reasoning,
    Request,
    Response,
    Text,
    ToolCall,
    ToolResult,
)
from dragoman.testing import Document, load_corpus

NAME = "ag-ui"
CORPUS = [
    document
    for case in load_corpus(places.CORPUS)
    for document in case.documents
    if document.facet in ("messages", "request", "tools") and not document.degraded
]
ANSWERS = [
    document
    for case in load_corpus(places.CORPUS)
    for document in case.documents
    if document.facet == "response" and not document.degraded
]
STREAMED = [x for x in ANSWERS if "stream" in dialects.get(x.dialect).facets()]
GREAT = ("anthropic-messages", "openai-chat", "gemini")
ADAPTERS: dict[str, TypeAdapter[Any]] = {
    "messages": TypeAdapter(list[ag.Message]),
    "request": TypeAdapter(ag.RunAgentInput),
    "tools": TypeAdapter(list[ag.Tool]),
}


EVENT: TypeAdapter[Any] = TypeAdapter(ag_events.Event)


def name_of(document: Document) -> str:
    return document.name


def dumped(doc: Any, facet: str) -> Any:
    """A document as the library loads and dumps it; it raises what it does not take."""
    adapter = ADAPTERS[facet]
    return adapter.dump_python(adapter.validate_python(doc), mode="json", by_alias=True)


def turned(doc: Any, facet: str, target: str) -> Any:
    model = "m" if facet == "request" else None
    try:
        result = dragoman.convert(doc, source=NAME, target=target, facet=facet, model=model)
    except dragoman.Unsayable:
        return None
    return result.document


def is_legacy(doc: Any) -> bool:
    """Whether a part is ``binary``, which the types of version 1.0 have no more."""
    return '"binary"' in json.dumps(doc)


@pytest.mark.parametrize("document", CORPUS, ids=name_of)
def test_the_library_loads_what_is_written_and_means_the_same(document: Document) -> None:
    try:
        written = testing.converted(document, NAME).document
    except dragoman.Unsayable:
        return
    if is_legacy(written):
        return
    dump = dumped(written, document.facet)
    for target in GREAT:
        ours, theirs = (turned(doc, document.facet, target) for doc in (written, dump))
        assert theirs == ours, testing.difference(theirs, ours)


def test_the_library_can_refuse() -> None:
    with pytest.raises(ValueError, match="toolCallId"):
        dumped([{"id": "1", "role": "tool", "content": "14 C"}], "messages")


def everything() -> list[Any]:
    """Messages of every role."""
    data = ag.DataSource(value="iVBORw0KGgo=", mime_type="image/png")
    function = ag.FunctionCall(name="f", arguments='{"a" : 1}')
    return [
        ag.SystemMessage(id="s1", content="Be brief."),
        ag.UserMessage(
            id="u1", content=[ag.TextPart(text="Look:"), ag.ImagePart(source=data)], name="ann"
        ),
        ag.ReasoningMessage(id="r1", content="Hm.", encrypted_value="ZW5j"),
        ag.AssistantMessage(
            id="a1", content="I ask.", tool_calls=[ag.ToolCall(id="c1", function=function)]
        ),
        ag.ToolMessage(id="t1", tool_call_id="c1", content="", error="no such city"),
        ag.ActivityMessage(id="x1", activity_type="PLAN", content={"a": 1}),
    ]


def test_what_is_read_of_each_message() -> None:
    adapter = ADAPTERS["messages"]
    dump = adapter.dump_python(everything(), mode="json", by_alias=True)
    result = dragoman.convert(dump, source=NAME, target=NAME, facet="messages")
    assert result.document == dump
    assert not result.losses
    guess = dragoman.detect(dump)[0]
    assert (guess.dialect, guess.facet) == (NAME, "messages")
    tree = dialects.get(NAME).read(dump, "messages")
    assert isinstance(tree, History)
    assert [m.role for m in tree.messages] == ["system", "user", "assistant", "tool", "user"]
    assert isinstance(tree.messages[1].content[1], Media)
    thought, _, call = tree.messages[2].content
    assert isinstance(thought, Reasoning)
    assert thought.signature is not None
    assert thought.signature.issuer == NAME  # nobody tells whose it is, so it goes nowhere else
    assert isinstance(call, ToolCall)
    assert call.arguments == '{"a" : 1}'
    replied = tree.messages[3].content[0]
    assert isinstance(replied, ToolResult)
    assert replied.is_error
    assert isinstance(tree.messages[4].content[0], Raw)


def test_a_run_is_a_request_to_a_model() -> None:
    run = ag.RunAgentInput(
        thread_id="t1",
        run_id="r1",
        messages=[ag.UserMessage(id="u1", content="Hi")],
        tools=[ag.Tool(name="f", description="F.", parameters={"type": "object"})],
    ).model_dump(mode="json", by_alias=True)
    guess = dragoman.detect(run)[0]
    assert (guess.dialect, guess.facet) == (NAME, "request")
    tree = dialects.get(NAME).read(run, "request")
    assert isinstance(tree, Request)
    assert tree.tools is not None
    result = dragoman.convert(run, source=NAME, target="openai-chat", model="m")
    assert result.document["messages"] == [{"role": "user", "content": "Hi"}]
    assert sorted(str(loss.path) for loss in result.losses) == [
        *("/messages/0/id", "/runId", "/threadId"),
    ]


def test_a_snapshot_of_messages_is_a_history() -> None:
    event = {
        "type": "MESSAGES_SNAPSHOT",
        "messages": [{"id": "msg-1", "role": "user", "content": "Hi"}],
    }
    assert dragoman.detect(event)[0].dialect == NAME
    result = dragoman.convert(event, source=NAME, target="openai-chat", facet="messages")
    assert result.document == [{"role": "user", "content": "Hi"}]
    assert not result.losses


def test_an_error_beside_the_content_is_told_apart() -> None:
    failed = {"id": "msg-1", "role": "tool", "toolCallId": "c1", "content": "Log.", "error": "No."}
    result = dragoman.convert([failed], source=NAME, target="anthropic-messages", facet="messages")
    [block] = result.document["messages"][0]["content"]
    assert (block["content"], block["is_error"]) == ("Log.", True)
    assert [loss.path for loss in result.losses] == ["/0/error"]


# -- what a run gives -----------------------------------------------------------------------


def events_of(data: bytes) -> list[dict[str, Any]]:
    frames = data.decode().split("\n\n")
    return [json.loads(frame.removeprefix("data: ")) for frame in frames if frame]


def streamed(*events: ag_events.BaseEvent) -> bytes:
    encoder = EventEncoder()
    return "".join(encoder.encode(event) for event in events).encode()


START = ag_events.RunStartedEvent(thread_id="t1", run_id="r1")
END = ag_events.RunFinishedEvent(thread_id="t1", run_id="r1")


@pytest.mark.parametrize("document", STREAMED, ids=name_of)
def test_the_library_takes_each_event(document: Document) -> None:
    stream = dragoman.decompose(document.body, document.dialect)
    written = dragoman.convert(stream, source=document.dialect, target=NAME, facet="stream")
    docs = events_of(written.document)
    for doc in docs:
        event = EVENT.validate_python(doc)
        assert json.loads(EventEncoder().encode(event).removeprefix("data: ")) == doc
    assert docs[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
    assert is_regular(docs)


def is_regular(docs: list[dict[str, Any]]) -> bool:
    """Whether messages and calls come one after the other, as older clients demand."""
    current: str | None = None
    for doc in docs:
        kind, _, word = doc["type"].rpartition("_")
        if word == "START" and kind != "REASONING":
            if current is not None:
                return False
            current = kind
        elif word == "END" and kind != "REASONING":
            if current != kind:
                return False
            current = None
    return current is None or docs[-1]["type"] == "RUN_ERROR"


@pytest.mark.parametrize("document", ANSWERS, ids=name_of)
def test_the_library_loads_the_messages_of_a_run(document: Document) -> None:
    written = testing.converted(document, NAME).document
    if "newMessages" in written:
        ADAPTERS["messages"].validate_python(written["newMessages"])
    else:
        EVENT.validate_python(written)


@pytest.mark.parametrize("document", [x for x in ANSWERS if x.dialect == NAME], ids=name_of)
def test_the_events_of_a_run_are_its_messages_again(document: Document) -> None:
    stream = dragoman.decompose(document.body, NAME)
    for doc in events_of(stream):
        EVENT.validate_python(doc)
    collected = dragoman.collect(stream, NAME)
    assert collected.document == document.body
    assert not collected.losses


def test_chunks_are_what_they_amount_to() -> None:
    data = streamed(
        START,
        ag_events.TextMessageChunkEvent(message_id="a1", delta="I "),
        ag_events.TextMessageChunkEvent(delta="look."),
        ag_events.ToolCallChunkEvent(
            tool_call_id="c1", tool_call_name="f", parent_message_id="a1", delta='{"a"'
        ),
        ag_events.ToolCallChunkEvent(delta=":1}"),
        ag_events.ReasoningMessageChunkEvent(message_id="r", delta="Hm."),
        ag_events.TextMessageChunkEvent(message_id="a2", delta="So."),
        ag_events.TextMessageChunkEvent(message_id="a3", delta="Done."),
        END,
    )
    function = {"name": "f", "arguments": '{"a":1}'}
    assert dragoman.collect(data, NAME).document["newMessages"] == [
        {
            "id": "a1",
            "role": "assistant",
            "content": "I look.",
            "toolCalls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"id": "r", "role": "reasoning", "content": "Hm."},
        {"id": "a2", "role": "assistant", "content": "So."},
        {"id": "a3", "role": "assistant", "content": "Done."},
    ]


def test_thinking_of_older_versions_is_reasoning() -> None:
    kinds = ("THINKING_START", "THINKING_TEXT_MESSAGE_START")
    before = [{"type": kind} for kind in kinds]
    said = {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "Hm."}
    after = [{"type": "THINKING_TEXT_MESSAGE_END"}, {"type": "THINKING_END"}]
    frames = [f"data: {json.dumps(doc)}\n\n" for doc in (*before, said, *after)]
    data = streamed(START) + "".join(frames).encode() + streamed(END)
    collected = dragoman.collect(data, NAME)
    assert collected.document["newMessages"] == [
        {"id": "msg-1", "role": "reasoning", "content": "Hm."}
    ]
    assert not collected.losses


def test_what_the_model_does_not_say_is_reported() -> None:
    data = streamed(
        START,
        ag_events.StepStartedEvent(step_name="plan"),
        ag_events.StateSnapshotEvent(snapshot={"a": 1}),
        ag_events.StateDeltaEvent.model_validate(
            {"delta": [{"op": "replace", "path": "/a", "value": 2}]}
        ),
        ag_events.CustomEvent(name="n", value=1),
        ag_events.RawEvent(event={"x": 1}),
        ag_events.ActivitySnapshotEvent(message_id="p1", activity_type="PLAN", content={"a": 1}),
        ag_events.ToolCallResultEvent(message_id="t", tool_call_id="c0", content="14 C"),
        ag_events.StepFinishedEvent(step_name="plan"),
        END,
    )
    same = dragoman.convert(data, source=NAME, target=NAME, facet="stream")
    assert same.document == data
    result = dragoman.convert(data, source=NAME, target="anthropic-messages", facet="stream")
    spelled = " ".join(str(loss) for loss in result.losses)
    for key in ("stepName", "snapshot", "delta", "name", "value", "event"):
        assert f"{key!r} of the event" in spelled
    assert sum(loss.what == "raw" for loss in result.losses) == 2  # an activity, and a result
    at_rest = dragoman.collect(data, NAME)
    assert [doc["role"] for doc in at_rest.document["newMessages"]] == ["activity", "tool"]
    assert {loss.what for loss in at_rest.losses} == {"extras"}


def test_an_activity_takes_the_place_of_another() -> None:
    def plan(step: str, **more: Any) -> ag_events.BaseEvent:
        return ag_events.ActivitySnapshotEvent(
            message_id="p1", activity_type="PLAN", content={"step": step}, **more
        )

    data = streamed(START, plan("a"), plan("b"), plan("c", replace=False), END)
    [message] = dragoman.collect(data, NAME).document["newMessages"]
    assert message["content"] == {"step": "b"}


def test_what_ends_a_run() -> None:
    text = [
        ag_events.TextMessageStartEvent(message_id="a1"),
        ag_events.TextMessageContentEvent(message_id="a1", delta="Once"),
    ]
    error = ag_events.RunErrorEvent(message="No.", code="E1")
    for data, message in (
        (streamed(START, *text), "the stream ended before"),
        (streamed(START, *text, END), "the run ended, and text 'a1' had not"),
        (streamed(START, *text, error), "No."),
        (streamed(error), "No."),
    ):
        for target in GREAT:
            transcoder = dragoman.Transcoder(NAME, target)
            transcoder.feed(data)
            transcoder.close()
            failure = transcoder.response.failure
            assert failure is not None
            assert message in failure.message
        failed = dragoman.convert(data, source=NAME, target=NAME, facet="stream").document
        assert events_of(failed)[-1]["type"] == "RUN_ERROR"


def test_calls_without_a_result_are_waited_for() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    turn = {"id": "msg-1", "role": "assistant", "toolCalls": [call]}
    replied = {"id": "msg-2", "role": "tool", "toolCallId": "c1", "content": "14 C"}
    said = {"id": "msg-3", "role": "assistant", "content": "14 C."}
    for docs, reason in (([turn], "tool-call"), ([turn, replied, said], "end")):
        tree = dialects.get(NAME).read({"runId": "r", "newMessages": docs}, "response")
        assert isinstance(tree, Response)
        stop = tree.candidates[0].stop
        assert stop is not None
        assert stop.reason == reason


def test_a_text_may_follow_the_calls_of_its_message() -> None:
    data = streamed(
        START,
        ag_events.ToolCallStartEvent(tool_call_id="c1", tool_call_name="f", parent_message_id="a1"),
        ag_events.ToolCallEndEvent(tool_call_id="c1"),
        ag_events.TextMessageStartEvent(message_id="a1"),
        ag_events.TextMessageContentEvent(message_id="a1", delta="I asked."),
        ag_events.TextMessageEndEvent(message_id="a1"),
        END,
    )
    transcoder = dragoman.Transcoder(NAME, "anthropic-messages")
    transcoder.feed(data)
    transcoder.close()
    content = transcoder.response.candidates[0].message.content
    assert [type(block) for block in content] == [Text, ToolCall]
    assert "stream.order" in {loss.what for loss in transcoder.losses}


def test_a_run_has_the_ids_that_its_front_end_gave_it() -> None:
    run: dict[str, Any] = {"threadId": "t9", "runId": "r9", "tools": [], "context": []}
    run["messages"] = [{"id": "u1", "role": "user", "content": "Hi"}]
    exchange = dragoman.Exchange(client=NAME, upstream="openai-chat", model="m")
    exchange.request(run)
    message = {"role": "assistant", "content": "Hello."}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    answer: dict[str, Any] = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    answer["choices"] = [choice]
    ids = {"threadId": "t9", "runId": "r9"}
    reply = exchange.response(answer)
    assert {key: reply.document[key] for key in ids} == ids
    assert "response.id" in {loss.what for loss in reply.losses}
    transcoder = exchange.transcoder()
    data = transcoder.feed(dragoman.decompose(answer, "openai-chat")) + transcoder.close()
    first, *_, last = events_of(data)
    assert first == {"type": "RUN_STARTED", **ids}
    assert {key: last[key] for key in ids} == ids


def test_times_of_events_say_nothing() -> None:
    deltas = [
        ag_events.TextMessageContentEvent(message_id="a1", delta=f"{n} ", timestamp=1000 + n)
        for n in range(60)
    ]
    data = streamed(
        START,
        ag_events.TextMessageStartEvent(message_id="a1", timestamp=999),
        *deltas,
        ag_events.TextMessageEndEvent(message_id="a1"),
        END,
    )
    transcoder = dragoman.Transcoder(NAME, "openai-chat", now=0)
    written = b"".join(transcoder.feed(data[n : n + 7]) for n in range(0, len(data), 7))
    written += transcoder.close()
    assert transcoder.spliced
    at_once = dragoman.Transcoder(NAME, "openai-chat", now=0)
    assert at_once.feed(data) + at_once.close() == written
    message = dragoman.collect(written, "openai-chat").document["choices"][0]["message"]
    assert message["content"] == "".join(f"{n} " for n in range(60))
    assert {loss.path for loss in transcoder.losses if loss.what == "extras"} == {
        *("/newMessages/0/id", "/threadId"),
    }
