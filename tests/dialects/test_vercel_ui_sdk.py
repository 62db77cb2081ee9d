"""The AI SDK at the other end of a UI message stream.

What we write is read by the SDK of each version, as ``useChat`` reads it: its schema must accept
every chunk, and the message that it holds in the end must be the one that we say it is. What its
own server side sends is read by us, and must be the same message and the right reply elsewhere.
"""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

import dragoman
import places
from ai_sdk import NODE, node
from dragoman import Transcoder, dialects
from dragoman.ledger import Ledger
from dragoman.model import Failure, Json, Response
from dragoman.streams.events import End, decompose
from dragoman.testing import load_corpus
from strategies import responses
from talks import cuts

pytestmark = pytest.mark.node


UI = "vercel-ui"
CORPUS = load_corpus(places.CORPUS)
STREAMS = [name for name in dialects.names() if "stream" in dialects.get(name).facets()]
ANSWERS = [
    document
    for case in CORPUS
    for document in case.documents
    if document.facet == "response" and document.dialect in STREAMS
]
VERSIONS = (5, 6, 7)
versions = pytest.mark.parametrize("version", VERSIONS)


def ask(version: int, way: str, given: list[Any]) -> list[Any]:
    run = subprocess.run(
        [node(), "ui.mjs", str(version), way],
        cwd=NODE,
        input=json.dumps(given).encode(),
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr.decode()[-2000:]
    replies: list[Any] = json.loads(run.stdout)
    assert len(replies) == len(given)
    return replies


def shown(data: bytes, source: str) -> bytes:
    transcoder = Transcoder(source, UI, now=0)
    return transcoder.feed(data) + transcoder.close()


def sse(*chunks: Json) -> bytes:
    written = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    return written + b"data: [DONE]\n\n"


def chunks_of(data: bytes) -> list[Json]:
    events = data.decode().split("\n\n")
    return [json.loads(event[6:]) for event in events if event and event != "data: [DONE]"]


# -- the same message -----------------------------------------------------------------------


def comparable(message: Json, version: int) -> Json:
    """A message without what the two readers do not have in common, and why not."""
    doc = json.loads(json.dumps(message), parse_int=float)  # as all numbers are to the SDK
    if not doc.get("id"):
        doc.pop("id", None)  # where the stream gives none, the SDK has "" until useChat makes one
    metadata = doc.get("metadata")
    if isinstance(metadata, dict):
        # Said by ``finish`` beside the metadata, the SDK hands it to ``onFinish`` beside the
        # message. At rest there is no other place for it, so ours is in the metadata.
        metadata.pop("finishReason", None)
    if not metadata:
        doc.pop("metadata", None)
    doc["parts"] = [comparable_part(part, version) for part in doc["parts"]]
    return doc


def comparable_part(part: dict[str, Json], version: int) -> dict[str, Json]:
    left_out = set()
    if part["type"] == "reasoning":
        left_out.add("id")  # what the stream called it: it has to, and a message at rest has not
    elif part["type"] == "file":
        left_out.add("filename")  # of no chunk that the SDK knows; we say it all the same
        left_out |= {"providerMetadata"} if version == 5 else set()  # which it forgets
    elif part.get("state") == "input-streaming" or part.get("rawInput") is not None:
        left_out.add("input")  # a guess of the SDK's at what ``rawInput`` will be
    return {key: value for key, value in part.items() if key not in left_out and value is not None}


def disagreements(version: int, streams: dict[str, bytes]) -> list[str]:
    """Streams of which the SDK and we make something else, and what the SDK refuses of them."""
    seen = ask(version, "read", [data.decode() for data in streams.values()])
    out: list[str] = []
    for (name, data), written in zip(streams.items(), seen, strict=True):
        ours = dragoman.collect(data, UI).document
        if written["refused"]:
            out.append(f"{name}: refused {written['refused']}")
        elif ours.get("type") == "error":
            if written["errors"] != [ours["errorText"]]:
                out.append(f"{name}: {written['errors']} instead of {ours['errorText']!r}")
        elif written["errors"]:
            out.append(f"{name}: {written['errors']}")
        elif comparable(written["message"], version) != comparable(ours, version):
            out.append(f"{name}:\n  SDK  {written['message']}\n  ours {ours}")
    return out


@versions
def test_the_sdk_reads_every_answer_of_the_corpus(version: int) -> None:
    streams = {
        f"{d.name}{d.degraded * '.degraded'}": shown(
            dragoman.decompose(d.body, d.dialect), d.dialect
        )
        for d in ANSWERS
    }
    assert len(streams) > 140
    problems = disagreements(version, streams)
    assert not problems, "\n".join(problems)


def flown(tree: Response) -> bytes:
    log = Ledger()
    writer = dialects.get(UI).stream_writer(log, same=False)
    written = [writer.write(event) for event in decompose(tree) if not isinstance(event, End)]
    return b"".join(written) + writer.end(dialects.get(UI).write(tree, log))


@versions
def test_the_sdk_reads_answers_of_any_kind(version: int) -> None:
    streams: dict[str, bytes] = {}

    @settings(
        max_examples=300,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(responses())
    def gather(tree: Response) -> None:
        streams[str(tree)] = flown(tree)

    gather()
    assert len(streams) > 200
    problems = disagreements(version, streams)
    assert not problems, "\n".join(problems)


@versions
def test_the_sdk_learns_of_every_failure(version: int) -> None:
    failure = Failure("overloaded", "The line is dead.")
    streams: list[bytes] = []
    for document in ANSWERS:
        data = dragoman.decompose(document.body, document.dialect)
        transcoder = Transcoder(document.dialect, UI)
        written = transcoder.feed(data[: len(data) // 2])
        if not transcoder.ended:
            streams.append(written + transcoder.fail(failure))
    assert len(streams) > 100
    for written in ask(version, "read", [data.decode() for data in streams]):
        assert not written["refused"]
        assert written["errors"] == ["The line is dead."]


@versions
def test_the_sdk_learns_of_every_cut(version: int) -> None:
    streams = [
        shown_when_cut(data, source)
        for source in dialects.names()
        if "stream" in dialects.get(source).facets()
        for data in cuts(source)
    ]
    assert len(streams) > 200
    for written in ask(version, "read", [data.decode() for data in streams]):
        assert not written["refused"]
        assert len(written["errors"]) == 1


def shown_when_cut(data: bytes, source: str) -> bytes:
    transcoder = Transcoder(source, UI)
    written = transcoder.feed(data) + transcoder.close()
    assert transcoder.response.failure is not None
    return written


@versions
def test_the_sdk_can_refuse(version: int) -> None:
    bad = sse({"type": "start"}, {"type": "text-start", "id": 5}, {"type": "nonsense"})
    (written,) = ask(version, "read", [bad.decode()])
    assert len(written["refused"]) == 2
    broken = sse({"type": "start"}, {"type": "text-delta", "id": "1", "delta": "Hi"})
    (written,) = ask(version, "read", [broken.decode()])
    assert len(written["errors"]) == 1


# -- messages as useChat keeps them ---------------------------------------------------------

STEP = {"type": "step-start"}
META = {"openai": {"itemId": "i1"}}


def tool(call_id: str, state: str, **more: Json) -> Json:
    return {"type": "tool-add", "toolCallId": call_id, "state": state, "input": {"a": 1}, **more}


# name -> the first version that knows it, and the parts
KEPT: dict[str, tuple[int, list[Json]]] = {
    "texts": (
        5,
        [
            STEP,
            {"type": "reasoning", "text": "Hm.", "state": "done", "providerMetadata": META},
            {"type": "text", "text": "One.", "state": "done", "providerMetadata": META},
            {"type": "text", "text": "", "state": "done"},
        ],
    ),
    "tools": (
        5,
        [
            STEP,
            tool("1", "input-available", callProviderMetadata=META),
            tool("2", "output-available", output={"sum": 3}),
            tool("3", "output-available", output=None, preliminary=True),
            tool("4", "output-error", errorText="No."),
            STEP,
            tool("2", "output-available", output=4),
            {"type": "text", "text": "Four.", "state": "done"},
        ],
    ),
    "dynamic tools": (
        5,
        [
            {**tool("1", "input-available"), "type": "dynamic-tool", "toolName": "add"},
            {**tool("2", "output-available", output=1), "type": "dynamic-tool", "toolName": "add"},
            {**tool("3", "output-error", errorText=""), "type": "dynamic-tool", "toolName": "add"},
        ],
    ),
    "an input that breaks off": (
        5,
        [
            STEP,
            {
                "type": "tool-add",
                "toolCallId": "1",
                "state": "input-streaming",
                "rawInput": '{"a": 1',
            },
        ],
    ),
    "tools of the provider": (
        5,
        [
            STEP,
            tool("1", "input-available", providerExecuted=True),
            tool("2", "output-available", providerExecuted=True, output=[]),
            STEP,
            {"type": "text", "text": "Found.", "state": "done"},
        ],
    ),
    "steps without words": (5, [STEP, {"type": "text", "text": "Hi", "state": "done"}, STEP]),
    "things": (
        5,
        [
            {"type": "source-url", "sourceId": "1", "url": "https://example.org/a", "title": "A"},
            {"type": "text", "text": "Hi", "state": "done"},
            {"type": "source-url", "sourceId": "2", "url": "https://example.org/b"},
            {
                "type": "source-document",
                "sourceId": "3",
                "mediaType": "application/pdf",
                "title": "B",
                "filename": "b.pdf",
            },
            {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA"},
            {"type": "data-note", "id": "n", "data": [1]},
            {"type": "data-note", "data": None},
        ],
    ),
    "more of tools": (
        6,
        [
            tool("1", "input-available", title="Add", toolMetadata={"x": 1}),
            tool("2", "output-available", output=1, resultProviderMetadata=META),
            tool("3", "approval-requested", approval={"id": "a3", "signature": "s"}),
            tool("4", "output-denied", approval={"id": "a4"}),
        ],
    ),
    "what came later": (
        7,
        [
            tool("1", "approval-responded", approval={"id": "a1", "approved": True}),
            tool(
                "2",
                "output-denied",
                approval={"id": "a2", "requestReason": "?", "approved": False, "reason": "No."},
            ),
            {"type": "custom", "kind": "a.b", "providerMetadata": META},
            {"type": "reasoning-file", "mediaType": "image/png", "url": "data:image/png;base64,AA"},
            {"type": "steering-message", "id": "s1", "parts": [{"type": "text", "text": "Stop"}]},
            {
                "type": "text",
                "text": "Hi",
                "state": "done",
                "citations": [
                    {
                        "source": {"type": "source", "sourceType": "url", "id": "1", "url": "u"},
                        "startIndex": 0,
                        "endIndex": 2,
                    }
                ],
            },
        ],
    ),
}


@versions
def test_a_message_flies_to_the_sdk(version: int) -> None:
    known = {name: parts for name, (first, parts) in KEPT.items() if version >= first}
    head = {"id": "m1", "role": "assistant", "metadata": {"finishReason": "stop", "app": {"x": 1}}}
    bodies = {name: {**head, "parts": parts} for name, parts in known.items()}
    streams = {name: dragoman.decompose(body, UI) for name, body in bodies.items()}
    problems = disagreements(version, streams)
    assert not problems, "\n".join(problems)
    for name, data in streams.items():
        got = dragoman.collect(data, UI).document
        assert comparable(got, version) == comparable(bodies[name], version), name


@pytest.mark.parametrize("name", KEPT)
def test_a_message_stays_as_it_is(name: str) -> None:
    body = {"id": "m1", "role": "assistant", "parts": KEPT[name][1]}
    result = dragoman.convert(body, source=UI, target=UI, facet="response")
    assert result.document == body
    assert not result.losses


def test_what_the_provider_runs_is_nobody_elses_work() -> None:
    body = {"id": "m1", "role": "assistant", "parts": KEPT["tools of the provider"][1]}
    data = dragoman.decompose(body, UI)
    for target in ("openai-chat", "anthropic-messages", "openai-responses"):
        transcoder = Transcoder(UI, target, now=0)
        written = transcoder.feed(data) + transcoder.close()
        assert b'"add"' not in written
        assert b"Found." in written
        assert [x.what for x in transcoder.losses if x.what == "hosted"] == ["hosted", "hosted"]


# -- streams that an application made -------------------------------------------------------

TEXT = (
    {"type": "text-start", "id": "1"},
    {"type": "text-delta", "id": "1", "delta": "Hi"},
    {"type": "text-end", "id": "1"},
)
CALL = {"type": "tool-input-available", "toolCallId": "c", "toolName": "f", "input": {"a": 1}}
PROGRESS = {"type": "tool-output-available", "toolCallId": "c", "output": 1, "preliminary": True}
ODDITIES: dict[str, tuple[int, tuple[Json, ...]]] = {
    "several streams merged": (
        5,
        (
            {"type": "start", "messageId": "m", "messageMetadata": {"a": {"x": 1}}},
            *TEXT,
            {"type": "start", "messageMetadata": {"a": {"y": 2}, "b": [1]}},
            {"type": "start-step"},
            *TEXT,
            {"type": "message-metadata", "messageMetadata": {"a": {"x": 3}, "b": [2]}},
            {"type": "finish", "finishReason": "stop"},
        ),
    ),
    "data that change": (
        5,
        (
            {"type": "start", "messageId": "m"},
            {"type": "data-note", "id": "1", "data": {"n": 1}},
            {"type": "data-other", "id": "1", "data": {"n": 1}},
            {"type": "data-note", "data": {"n": 2}, "transient": True},
            {"type": "data-note", "id": "1", "data": {"n": 3}},
            *TEXT,
            {"type": "finish"},
        ),
    ),
    "an output that grows": (
        5,
        ({"type": "start", "messageId": "m"}, CALL, PROGRESS, {**PROGRESS, "preliminary": False}),
    ),
    "an output that ends": (
        5,
        (
            {"type": "start", "messageId": "m"},
            CALL,
            PROGRESS,
            {"type": "tool-output-error", "toolCallId": "c", "errorText": "No."},
        ),
    ),
    "the same id in the next step": (
        5,
        (
            {"type": "start", "messageId": "m"},
            {"type": "start-step"},
            CALL,
            {"type": "start-step"},
            {**CALL, "input": {"a": 2}},
        ),
    ),
    "an answer after the step": (
        5,
        (
            {"type": "start", "messageId": "m"},
            {"type": "start-step"},
            CALL,
            {"type": "finish-step"},
            {"type": "start-step"},
            {"type": "tool-output-available", "toolCallId": "c", "output": {}},
        ),
    ),
    "metadata of thoughts": (
        5,
        (
            {"type": "start", "messageId": "m"},
            {"type": "reasoning-start", "id": "1", "providerMetadata": {"a": {"x": 1}}},
            {"type": "reasoning-delta", "id": "1", "delta": "Hm."},
            {"type": "reasoning-end", "id": "1", "providerMetadata": {"a": {"x": 2}}},
        ),
    ),
    "an input that makes no sense": (
        7,
        (
            {"type": "start", "messageId": "m"},
            {"type": "tool-input-start", "toolCallId": "c", "toolName": "f"},
            {"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": "{"},
            {
                "type": "tool-input-error",
                "toolCallId": "c",
                "toolName": "f",
                "input": "{",
                "errorText": "No.",
            },
        ),
    ),
    "a step that begins anew": (
        7,
        (
            {"type": "start", "messageId": "m"},
            {"type": "start-step"},
            *TEXT,
            {"type": "finish-step"},
            {"type": "start-step"},
            *TEXT,
            CALL,
            {"type": "reset-step"},
            *TEXT,
        ),
    ),
}


@versions
def test_both_read_the_same_of_what_applications_send(version: int) -> None:
    end = {"type": "finish", "messageMetadata": {"end": True}}
    streams = {
        name: sse(*chunks) if chunks[-1]["type"] == "finish" else sse(*chunks, end)
        for name, (first, chunks) in ODDITIES.items()
        if version >= first
    }
    problems = disagreements(version, streams)
    assert not problems, "\n".join(problems)


def test_what_was_passed_on_cannot_be_taken_back() -> None:
    data = sse(*ODDITIES["a step that begins anew"][1], {"type": "finish"})
    transcoder = Transcoder(UI, "openai-chat", now=0)
    transcoder.feed(data)
    transcoder.close()
    assert transcoder.response.failure is not None
    assert "takes back" in transcoder.response.failure.message


def test_an_abort_is_no_answer() -> None:
    data = sse({"type": "start"}, *TEXT, {"type": "abort", "reason": "gone"})
    for target in ("openai-chat", "anthropic-messages", "openai-responses"):
        transcoder = Transcoder(UI, target, now=0)
        written = transcoder.feed(data) + transcoder.close()
        assert b"aborted: gone" in written
        assert transcoder.response.failure is not None


# -- the SDK's own server side --------------------------------------------------------------

SAY = [
    {"type": "text-start", "id": "0"},
    {"type": "text-delta", "id": "0", "delta": "It is "},
    {"type": "text-delta", "id": "0", "delta": "5."},
]
THINK = [
    {"type": "reasoning-start", "id": "r"},
    {"type": "reasoning-delta", "id": "r", "delta": "Look "},
    {"type": "reasoning-delta", "id": "r", "delta": "it up."},
    {
        "type": "reasoning-end",
        "id": "r",
        "providerMetadata": {"anthropic": {"signature": "c2ln"}},
    },
]
ADD = [
    {"type": "tool-input-start", "id": "call_1", "toolName": "add"},
    {"type": "tool-input-delta", "id": "call_1", "delta": '{"a":'},
    {"type": "tool-input-delta", "id": "call_1", "delta": "2}"},
    {"type": "tool-input-end", "id": "call_1"},
    {"type": "tool-call", "toolCallId": "call_1", "toolName": "add", "input": '{"a":2}'},
]
SOURCE = {
    "type": "source",
    "sourceType": "url",
    "id": "s1",
    "url": "https://example.org/a",
    "title": "A",
}
SAID = [*SAY, {"type": "text-end", "id": "0"}]
SCRIPTS: dict[str, dict[str, Json]] = {
    "text": {"steps": [[*SAID, {"finish": "stop"}]]},
    "length": {"steps": [[*SAID, {"finish": "length"}]]},
    "thought": {"steps": [[*THINK, *SAID, {"finish": "stop"}]]},
    "call": {"steps": [[*SAID, *ADD, {"finish": "tool-calls"}]], "tools": {"add": None}},
    "sources": {
        "steps": [[*SAY, SOURCE, {"type": "text-end", "id": "0"}, {"finish": "stop"}]],
    },
    "steps": {
        "steps": [
            [*ADD, {"finish": "tool-calls"}],
            [*SAID, SOURCE, {"finish": "stop"}],
        ],
        "tools": {"add": {"output": {"sum": 5}}},
    },
    "error of a tool": {
        "steps": [[*ADD, {"finish": "tool-calls"}], [*SAID, {"finish": "stop"}]],
        "tools": {"add": {"error": "No."}},
    },
    "breaks off": {"steps": [[*ADD[:2], {"finish": "length"}]], "tools": {"add": None}},
    "data": {
        "steps": [[*SAID, {"finish": "stop"}]],
        "data": [{"type": "data-note", "id": "1", "data": {"x": 1}}],
    },
    "error": {"steps": [[*SAID, {"type": "error", "error": {"message": "Too busy."}}]]},
}
GREAT = ("openai-chat", "anthropic-messages", "openai-responses")


@pytest.fixture(scope="module", params=VERSIONS)
def made(request: pytest.FixtureRequest) -> tuple[int, dict[str, bytes]]:
    version: int = request.param
    texts = ask(version, "make", list(SCRIPTS.values()))
    return version, {name: text.encode() for name, text in zip(SCRIPTS, texts, strict=True)}


def test_both_read_the_same_of_what_the_sdk_sends(made: tuple[int, dict[str, bytes]]) -> None:
    version, streams = made
    assert b'"reasoning-delta"' in streams["thought"]
    assert b'"source-url"' in streams["sources"]
    assert b'"tool-output-available"' in streams["steps"]
    # Data before ``start`` are gone for ``readUIMessageStream``: it takes the id of ``start`` for
    # another message's. useChat keeps them, and so do we.
    problems = disagreements(version, {k: v for k, v in streams.items() if k != "data"})
    assert not problems, "\n".join(problems)
    kept = dragoman.collect(streams["data"], UI).document
    assert kept["id"] == "msg-9"
    assert kept["parts"][0] == {"type": "data-note", "id": "1", "data": {"x": 1}}


def became(data: bytes, target: str) -> Json:
    transcoder = Transcoder(UI, target, now=0)
    written = transcoder.feed(data) + transcoder.close()
    return dragoman.collect(written, target).document


def test_the_stream_of_the_sdk_is_the_right_chat(made: tuple[int, dict[str, bytes]]) -> None:
    streams = made[1]
    got = {name: became(data, "openai-chat") for name, data in streams.items()}
    choices = {name: doc["choices"][0] for name, doc in got.items() if "choices" in doc}
    ended = {name: choice["finish_reason"] for name, choice in choices.items()}
    assert ended == {
        "text": "stop",
        "length": "length",
        "thought": "stop",
        "call": "tool_calls",
        "sources": "stop",
        "steps": "stop",
        "error of a tool": "stop",
        "breaks off": "length",
        "data": "stop",
    }
    assert choices["text"]["message"]["content"] == "It is 5."
    (call,) = choices["call"]["message"]["tool_calls"]
    assert call["id"] == "call_1"
    assert call["function"] == {"name": "add", "arguments": '{"a":2}'}
    (cut,) = choices["breaks off"]["message"]["tool_calls"]
    assert cut["function"] == {"name": "add", "arguments": '{"a":'}
    (note,) = choices["sources"]["message"]["annotations"]
    assert note["url_citation"]["url"] == "https://example.org/a"
    assert got["error"]["error"]["message"] == "Too busy."


def test_the_stream_of_the_sdk_is_the_right_message(made: tuple[int, dict[str, bytes]]) -> None:
    got = {name: became(data, "anthropic-messages") for name, data in made[1].items()}
    assert got["thought"]["content"] == [
        {"type": "thinking", "thinking": "Look it up.", "signature": "c2ln"},
        {"type": "text", "text": "It is 5."},
    ]
    assert got["call"]["content"] == [
        {"type": "text", "text": "It is 5."},
        {"type": "tool_use", "id": "call_1", "name": "add", "input": {"a": 2}},
    ]
    assert got["call"]["stop_reason"] == "tool_use"
    assert got["length"]["stop_reason"] == "max_tokens"
    assert got["error"]["error"]["message"] == "Too busy."


def test_the_stream_of_the_sdk_is_the_right_response(made: tuple[int, dict[str, bytes]]) -> None:
    got = {name: became(data, "openai-responses") for name, data in made[1].items()}
    written, called = got["call"]["output"]
    assert written["content"][0]["text"] == "It is 5."
    assert (called["call_id"], called["name"], called["arguments"]) == ("call_1", "add", '{"a":2}')
    (cited,) = got["sources"]["output"][0]["content"][0]["annotations"]
    assert cited["url"] == "https://example.org/a"
    assert got["length"]["status"] == "incomplete"
    assert got["error"]["error"]["message"] == "Too busy."


@pytest.mark.parametrize("target", GREAT)
def test_the_stream_of_the_sdk_is_at_rest_what_it_is_in_flight(
    made: tuple[int, dict[str, bytes]], target: str
) -> None:
    for name, data in made[1].items():
        dragoman.testing.streaming_equals_batch(data, UI, target)
        dragoman.testing.chunks_do_not_matter(data, UI, target, 7)
        assert name


def test_what_the_tools_of_the_application_answered_is_a_loss_elsewhere(
    made: tuple[int, dict[str, bytes]],
) -> None:
    transcoder = Transcoder(UI, "openai-chat", now=0)
    transcoder.feed(made[1]["steps"])
    transcoder.close()
    assert any(x.what == "extras" and x.path.endswith("/output") for x in transcoder.losses)
    assert chunks_of(made[1]["steps"])[-1]["type"] == "finish"
