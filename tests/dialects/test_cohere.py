"""What is special about Cohere: documents, citations, plans, events that begin and end."""

from __future__ import annotations

import json
from typing import Any

import pytest

import dragoman
import places
import sdk
from dragoman import Malformed, Transcoder, check, convert, dialects
from dragoman.detect import detect
from dragoman.streams.framing import framer
from dragoman.testing import Document, identity, load_corpus

COHERE = dialects.get("cohere")
HI: Any = {"role": "user", "content": "Hi"}
CALL: Any = {"id": "f_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLED: Any = {"role": "assistant", "tool_calls": [CALL]}
TOOL: Any = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
ASKED: Any = {"model": "command-a-03-2025", "messages": [HI]}


def comes_back(doc: Any, facet: str) -> None:
    identity(Document("any", "cohere", "", facet, False, doc))


def written(messages: Any, **more: Any) -> tuple[Any, list[str]]:
    """What a request of Anthropic's becomes, and what was lost."""
    doc = {"model": "m", "max_tokens": 9, "messages": messages, **more}
    done = convert(doc, source="anthropic-messages", target="cohere")
    return done.document, sorted(f"{loss.kind} {loss.what}" for loss in done.losses)


def found(source: str, text: str = "It is so.") -> Any:
    content = [{"type": "text", "text": text}]
    return {
        "type": "search_result", "source": source, "title": "T", "content": content,
        "citations": {"enabled": True},
    }  # fmt: skip


# -- documents ------------------------------------------------------------------------------


def test_passages_stand_beside_the_conversation() -> None:
    asked = {"role": "user", "content": [found("a"), {"type": "text", "text": "Is it?"}]}
    doc, lost = written([asked])
    assert doc["messages"] == [{"role": "user", "content": "Is it?"}]
    assert doc["documents"] == [{"id": "a", "data": {"title": "T", "text": "It is so."}}]
    assert lost == []


def test_passages_of_an_earlier_question_move() -> None:
    first = {"role": "user", "content": [found("a"), {"type": "text", "text": "Is it?"}]}
    doc, lost = written([first, {"role": "assistant", "content": "Yes."}, HI])
    assert [d["id"] for d in doc["documents"]] == ["a"]
    assert lost == ["moved message.position"]


def test_passages_after_the_question_come_before_it() -> None:
    doc, lost = written(
        [{"role": "user", "content": [{"type": "text", "text": "Is it?"}, found("a")]}]
    )
    assert [d["id"] for d in doc["documents"]] == ["a"]
    assert lost == ["approximated content.order"]


def test_ids_of_documents_are_unique() -> None:
    asked = [found("a", "1"), found("a", "2"), {"type": "text", "text": "Is it?"}]
    doc, lost = written([{"role": "user", "content": asked}])
    assert [d["id"] for d in doc["documents"]] == ["a", "a#2"]
    assert lost == ["approximated passage"]


def test_a_question_is_never_nothing_but_documents() -> None:
    doc, lost = written([{"role": "user", "content": [found("a")]}])
    assert doc["messages"] == [{"role": "user", "content": "It is so."}]
    assert "documents" not in doc
    assert lost == ["approximated passage"]


def test_no_documents_beside_a_demanded_form() -> None:
    """ "invalid request: response_format is not supported with RAG." """
    form = {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}}
    asked = {"role": "user", "content": [found("a"), {"type": "text", "text": "Is it?"}]}
    doc, lost = written([asked], **form)
    assert "documents" not in doc
    assert [part["text"] for part in doc["messages"][0]["content"]] == ["It is so.", "Is it?"]
    assert lost == ["approximated passage"]
    assert not check(doc, "cohere")


@pytest.mark.parametrize(
    "documents",
    [
        [],
        ["text"],
        [{"data": "text"}],
        [{"id": "", "data": {"text": "a"}}],
        [{"id": "a", "data": {}}],
        [{"id": "a", "data": {"title": "", "text": "b"}}],
        [{"id": "a", "data": {"content": "b", "title": "c"}, "more": 1}],
        [{"id": None, "data": {"n": 1e30}}],
    ],
)
def test_documents_come_back_as_they_were(documents: Any) -> None:
    comes_back(ASKED | {"documents": documents}, "request")
    comes_back({"model": "m", "messages": [], "documents": documents}, "request")


@pytest.mark.parametrize("documents", [7, [7], [{}], [{"data": 7}], [{"data": {}, "id": 7}]])
def test_what_is_no_document(documents: Any) -> None:
    with pytest.raises(Malformed):
        COHERE.read(ASKED | {"documents": documents}, "request")


# -- messages -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": [{"type": "document", "document": {"data": {"a": 1}}}]},
        {"role": "user", "content": [{"type": "novel"}]},
        {"role": "user", "content": []},
        {"role": "system", "content": [{"type": "text", "text": "a", "more": 1}]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "assistant", "content": [{"type": "text", "text": ""}], "tool_calls": [CALL]},
        {"role": "assistant", "content": "a", "tool_plan": "b"},
        {"role": "assistant", "content": "a", "tool_calls": [CALL]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": ""}], "tool_plan": ""},
        {"role": "assistant", "tool_calls": [{"id": "x", "function": {"name": "f"}}]},
        {"role": "tool", "tool_call_id": "a", "content": "[tool error]"},
        {
            "role": "tool",
            "tool_call_id": "a",
            "content": [{"type": "text", "text": "[tool error]"}],
        },
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "document", "document": "x"}]},
        {"role": "tool", "content": None},
    ],
)
def test_messages_come_back_as_they_were(message: Any) -> None:
    comes_back([message], "messages")


def test_a_role_that_nobody_knows() -> None:
    with pytest.raises(Malformed, match="unknown role 'robot'"):
        COHERE.read([{"role": "robot", "content": "Hi"}], "messages")


def cited(**more: Any) -> Any:
    return {"start": 0, "end": 2, "text": "It", "type": "TEXT_CONTENT", "sources": [], **more}


@pytest.mark.parametrize(
    "citations",
    [
        [cited()],
        [{"start": 0, "end": 2}],
        [{}],
        [cited(text="other")],
        [cited(content_index=1), cited(content_index=0), cited(type="THINKING_CONTENT"), cited()],
        [cited(content_index=2), cited(content_index=9), cited(content_index=None)],
        [cited(type="PLAN")],
        [cited(type="NOVEL", more=1)],
        [cited(sources=None), cited(start=-1), cited(start=None)],
        [cited(sources=[{"type": "document", "id": "a", "document": None}])],
        [cited(sources=[{"type": "document", "id": "a", "document": {"id": "b", "url": "u"}}])],
        [cited(sources=[{"type": "document"}, {"type": "tool", "id": "a"}, {"type": "novel"}])],
    ],
)
def test_citations_come_back_as_they_were(citations: Any) -> None:
    parts = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "It is."}]
    parts.append({"type": "text", "text": "It was."})
    message = {"role": "assistant", "content": parts, "tool_plan": "It", "citations": citations}
    comes_back({"id": "1", "finish_reason": "COMPLETE", "message": message}, "response")


# -- requests -------------------------------------------------------------------------------


def test_all_tools_are_strict_or_none_is() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
    tools: list[dict[str, Any]] = [
        {"name": name, "input_schema": schema, "strict": strict}
        for name, strict in (("a", True), ("b", False))
    ]
    doc, lost = written([HI], tools=tools)
    assert "strict_tools" not in doc
    assert lost == ["dropped tool.strict"]
    doc, lost = written([HI], tools=tools[:1])
    assert doc["strict_tools"] is True
    assert lost == []


def test_strict_tools_need_something_and_are_few() -> None:
    """ "At least one required parameter must be specified", "a maximum of 200 fields"."""
    wide = {"x": {"type": "object", "properties": {f"p{i}": {} for i in range(200)}}}
    for properties, required in (({"x": {"type": "string"}}, []), (wide, ["x"])):
        schema = {"type": "object", "properties": properties, "required": required}
        doc, lost = written([HI], tools=[{"name": "a", "input_schema": schema, "strict": True}])
        assert "strict_tools" not in doc
        assert lost == ["dropped tool.strict"]


def test_names_of_tools() -> None:
    doc, lost = written([HI], tools=[{"name": "get-weather", "input_schema": {"type": "object"}}])
    name = doc["tools"][0]["function"]["name"]
    assert name.isidentifier()
    assert name.startswith("get_weather_")
    assert lost == ["renamed tool.name"]


@pytest.mark.parametrize(
    "more",
    [
        {"thinking": {"type": "novel"}},
        {"response_format": {"type": "novel"}},
        {"response_format": {"type": "text"}},
        {"tool_choice": "NOVEL"},
        {"tools": [], "strict_tools": True},
        {"tools": [TOOL], "strict_tools": False},
        {"stop_sequences": []},
        {"documents": None, "p": 1},
    ],
)
def test_requests_come_back_as_they_were(more: Any) -> None:
    comes_back(ASKED | more, "request")


# -- replies --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "usage",
    [
        {},
        {"tokens": {}},
        {"cached_tokens": 5},
        {"billed_units": {"input_tokens": 3, "output_tokens": 4, "search_units": 1}},
        {"tokens": {"output_tokens": 4}},
        {"tokens": {"input_tokens": 3, "output_tokens": 4, "reasoning_tokens": 9}},
        {"tokens": {"input_tokens": 3, "output_tokens": 4}, "cached_tokens": 9},
    ],
)
def test_counts_come_back_as_they_were(usage: Any) -> None:
    message = {"role": "assistant", "content": []}
    comes_back(
        {"id": "1", "finish_reason": "COMPLETE", "message": message, "usage": usage}, "response"
    )


@pytest.mark.parametrize(
    ("doc", "kind"),
    [
        ({"message": "invalid request: message must be at least 1 token long"}, "invalid-request"),
        ({"message": "invalid api token"}, "authentication"),
        ({"message": "no api key supplied"}, "authentication"),
        ({"id": "1", "message": "model 'x' not found, make sure it is there"}, "not-found"),
        ({"message": "trial token rate limit exceeded, limit is 100000 tokens"}, "rate-limit"),
        ({"message": "Please add or update your payment method to continue"}, "billing"),
        ({"message": "so", "error_type": "TOO_MANY_TOKENS"}, "invalid-request"),
        ({"message": "so", "error_type": "NOVEL", "more": 1}, "other"),
        ({"error": {"message": "from a proxy"}}, "other"),
    ],
)
def test_errors(doc: Any, kind: str) -> None:
    tree: Any = COHERE.read(doc, "error")
    assert tree.kind == kind
    comes_back(doc, "error")


# -- streams --------------------------------------------------------------------------------


def sse(*events: Any) -> bytes:
    return b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events)


def event(kind: str, index: int | None = None, **message: Any) -> Any:
    out: Any = {"type": kind, "delta": {"message": message}}
    return out if index is None else out | {"index": index}


START = {"type": "message-start", "id": "1", "delta": {"message": {"role": "assistant"}}}
TEXT = [
    event("content-start", 0, content={"type": "text", "text": ""}),
    event("content-delta", 0, content={"text": "It is."}),
    {"type": "content-end", "index": 0},
]
END = {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}


def heard(*events: Any, target: str = "openai-chat") -> tuple[Any, Transcoder]:
    transcoder = Transcoder("cohere", target)
    transcoder.feed(sse(*events))
    transcoder.close()
    return transcoder.document, transcoder


def test_an_error_ends_a_stream() -> None:
    failed = {"finish_reason": "ERROR", "error": "it broke", "error_type": "NOVEL"}
    transcoder = Transcoder("cohere", "openai-chat")
    data = sse(START, *TEXT, {"type": "message-end", "delta": failed})
    out = transcoder.feed(data) + transcoder.close()
    failure = transcoder.response.failure
    assert failure is not None
    assert (failure.message, failure.type) == ("it broke", "NOVEL")
    assert b"it broke" in out
    assert b"[DONE]" not in out


def test_an_error_instead_of_a_stream() -> None:
    _, transcoder = heard({"id": "1", "message": "invalid api token"})
    assert transcoder.response.failure is not None
    assert transcoder.response.failure.kind == "authentication"


@pytest.mark.parametrize("end", [b"data: [DONE]\n\n", b'data: "[DONE]"\n\n', b""])
def test_done_without_an_end_is_a_failure(end: bytes) -> None:
    transcoder = Transcoder("cohere", "openai-chat")
    transcoder.feed(sse(START, *TEXT) + end)
    transcoder.close()
    assert transcoder.response.failure is not None


def call(index: int, name: str) -> Any:
    begun = {"id": name, "type": "function", "function": {"name": name, "arguments": ""}}
    return event("tool-call-start", index, tool_calls=begun)


def argue(index: int, text: str) -> Any:
    return event("tool-call-delta", index, tool_calls={"function": {"arguments": text}})


def call_end(index: int) -> Any:
    return {"type": "tool-call-end", "index": index}


SIDE_BY_SIDE = [call(0, "f"), call(1, "g"), argue(0, '{"x":'), argue(1, '{"y":'), argue(0, "1}"),
                argue(1, "2}"), call_end(1), call_end(0)]  # fmt: skip
ONE_INDEX = [call(0, "f"), argue(0, '{"x":1}'), call_end(0),
             call(0, "g"), argue(0, '{"y":2}'), call_end(0)]  # fmt: skip


@pytest.mark.parametrize("events", [SIDE_BY_SIDE, ONE_INDEX])
@pytest.mark.parametrize("target", ["openai-chat", "anthropic-messages", "bedrock-converse"])
def test_calls_side_by_side_keep_their_arguments(events: Any, target: str) -> None:
    transcoder = Transcoder("cohere", target)
    written = transcoder.feed(sse(START, *events, END)) + transcoder.close()
    reply: Any = dragoman.read(dragoman.collect(written, target).document, target, facet="response")
    calls = [(b.name, b.arguments) for b in reply.candidates[0].message.content]
    assert calls == [("f", '{"x":1}'), ("g", '{"y":2}')]


def test_texts_side_by_side_keep_their_words() -> None:
    begun = [event("content-start", n, content={"type": "text", "text": ""}) for n in (0, 1)]
    words = [event("content-delta", n, content={"text": t}) for n, t in ((0, "a"), (1, "b"))]
    transcoder = Transcoder("cohere", "anthropic-messages")
    written = transcoder.feed(sse(START, *begun, *words, *words, END)) + transcoder.close()
    content = dragoman.collect(written, "anthropic-messages").document["content"]
    assert [block["text"] for block in content] == ["aa", "bb"]


@pytest.mark.parametrize("events", [[argue(0, "{}")], [call(0, "f"), call_end(0), argue(0, "{}")]])
def test_arguments_of_no_call_are_a_failure(events: Any) -> None:
    _, transcoder = heard(START, *events, END)
    assert transcoder.response.failure is not None


def test_what_is_cited_after_its_text() -> None:
    source = {"type": "document", "id": "u", "document": {"id": "u", "url": "u", "title": "T"}}
    cite = event("citation-start", 0, citations=cited(sources=[source]))
    doc, transcoder = heard(START, *TEXT, cite, {"type": "citation-end", "index": 0}, END)
    (note,) = doc["choices"][0]["message"]["annotations"]
    assert note["url_citation"] == {"url": "u", "title": "T", "start_index": 0, "end_index": 2}
    assert not [loss for loss in transcoder.losses if loss.what.startswith("stream")]


def test_a_plan_before_the_content_is_said_so() -> None:
    plan = event("tool-plan-delta", tool_plan="I will look.")
    _, transcoder = heard(START, plan, *TEXT, END)
    assert [loss.what for loss in transcoder.losses if loss.what.startswith("stream")] == [
        "stream.order"
    ]


def test_events_that_only_cohere_knows() -> None:
    _, transcoder = heard(START, {"type": "debug", "prompt": "<so>"}, *TEXT, END)
    assert [loss.what for loss in transcoder.losses].count("stream.event") == 1


def test_probabilities_come_with_the_text() -> None:
    item = {"text": "It", "token_ids": [3]}
    likely = event("content-delta", 0, content={"text": "!"}) | {"logprobs": item}
    doc, _ = heard(START, *TEXT[:2], likely, TEXT[2], END, target="cohere")
    assert doc["logprobs"] == [item]
    assert doc["message"]["content"] == [{"type": "text", "text": "It is.!"}]


ANSWERS = [
    document
    for case in load_corpus(places.CORPUS)
    for document in case.documents
    if document.facet == "response" and not document.degraded and not document.spelling
    if "stream" in dialects.get(document.dialect).facets() and document.dialect != "cohere"
]


@pytest.mark.parametrize("document", ANSWERS, ids=lambda d: d.name)
def test_the_official_types_know_every_event(document: Document) -> None:
    transcoder = Transcoder(document.dialect, "cohere", now=0)
    data = transcoder.feed(dragoman.decompose(document.body, document.dialect))
    frames = framer("sse").feed(data + transcoder.close())
    assert frames[-1][1] == b"[DONE]"
    for name, body in frames[:-1]:
        doc = json.loads(body)
        assert doc["type"] == name
        problems = sdk.problems("cohere", "event", doc)
        if doc.get("delta", {}).get("error") is not None and "id" in doc["delta"]:
            continue  # the id of a failed request, which is the whole of its error at rest
        assert not problems, problems


def test_the_events_of_a_stream() -> None:
    chunks = [
        {"id": "1", "model": "m", "created": 1, "choices": [{"index": 0, "delta": delta}]}
        for delta in (
            {"reasoning_content": "Hm."},
            {"content": "Yes."},
            {"tool_calls": [{"index": 0, "id": "call_1", "function": {"name": "f"}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": '{"a":1}'}}]},
        )
    ]
    chunks[-1]["choices"][0]["finish_reason"] = "tool_calls"  # type: ignore[index]
    transcoder = Transcoder("openai-chat", "cohere")
    data = transcoder.feed(sse(*chunks) + b"data: [DONE]\n\n") + transcoder.close()
    assert [name for name, _ in framer("sse").feed(data)] == [
        "message-start",
        *("content-start", "content-delta", "content-end") * 2,
        *("tool-call-start", "tool-call-delta", "tool-call-end"),
        "message-end",
        "",
    ]
    doc: Any = transcoder.document
    assert doc["message"]["tool_plan"] == "Yes."  # which is content in flight


# -- detection and rules --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facet", "doc"),
    [
        ("request", ASKED),
        ("request", ASKED | {"tools": [TOOL], "messages": [HI, CALLED, {"role": "tool"}]}),
        ("request", {"model": "m", "messages": [HI], "documents": ["a"]}),
        ("request", {"model": "m", "messages": [HI], "tools": [TOOL], "tool_choice": "REQUIRED"}),
        ("request", {"model": "m", "messages": [HI], "thinking": {"token_budget": 1}}),
        ("messages", [HI, CALLED | {"tool_plan": "I will look."}]),
        ("messages", {"messages": [HI, CALLED | {"tool_plan": "I will look."}]}),
        ("tool-choice", "NONE"),
        ("response", {"id": "1", "finish_reason": "COMPLETE", "message": {"role": "assistant"}}),
        ("error", {"id": "2da0d1db-941a-4db3-ba16-436533566b78", "message": "so"}),
    ],
)
def test_detection(facet: str, doc: Any) -> None:
    best = detect(doc)[0]
    assert (best.dialect, best.facet) == ("cohere", facet)


DATA = {"data": {"text": "a"}}
FUNCTION: dict[str, Any] = {
    "type": "function",
    "function": {"name": "f", "parameters": {"type": "object"}},
}
BROKEN: list[tuple[str, str, Any]] = [
    ("malformed", "request", ASKED | {"seed": "x"}),
    ("model", "request", {"messages": [HI]}),
    ("role", "messages", [{"role": "developer", "content": "Hi"}]),
    ("empty-message", "messages", [{"role": "user", "content": ""}]),
    ("unanswered-call", "messages", [CALLED, HI]),
    ("orphan-result", "messages", [HI, {"role": "tool", "tool_call_id": "x", "content": "1"}]),
    ("orphan-result", "messages", [{"role": "tool", "content": "1"}]),
    ("duplicate-call-id", "messages", [{"role": "assistant", "tool_calls": [CALL, CALL]}]),
    ("call-type", "messages", [{"role": "assistant", "tool_calls": [CALL | {"type": "x"}]}]),
    ("tool-name", "tools", [{"type": "function", "function": {"name": "get-weather"}}]),
    ("tool-field", "tools", [{"type": "function", "function": {"name": "f", "strict": True}}]),
    ("tool-choice", "request", ASKED | {"tool_choice": "REQUIRED"}),
    ("tool-choice", "tool-choice", "auto"),
    ("documents", "request", ASKED | {"documents": [{"data": {}}]}),
    ("documents", "request", ASKED | {"documents": [DATA | {"id": "a"}, DATA | {"id": "a"}]}),
    (
        "format-documents",
        "request",
        ASKED | {"documents": [DATA], "response_format": {"type": "json_object"}},
    ),
    (
        "format-documents",
        "request",
        ASKED | {"tools": [FUNCTION], "response_format": {"type": "json_object"}},
    ),
    ("strict-tools", "request", ASKED | {"tools": [FUNCTION], "strict_tools": True}),
    ("range", "request", ASKED | {"temperature": 1.5}),
    ("range", "request", ASKED | {"p": 1}),
    ("stop", "request", ASKED | {"stop_sequences": list("abcdef")}),
    ("response-field", "response", {"message": {"role": "assistant"}, "finish_reason": "COMPLETE"}),
    ("error-field", "error", {"error": "so"}),
]


@pytest.mark.parametrize(("rule", "facet", "doc"), BROKEN)
def test_rules(rule: str, facet: str, doc: Any) -> None:
    problems = check(doc, "cohere", facet=facet)
    assert [problem.rule for problem in problems] == [rule]
    assert problems[0].message


def test_every_rule_has_an_example() -> None:
    assert {rule for rule, _, _ in BROKEN} == set(getattr(COHERE, "rules"))  # noqa: B009


@pytest.mark.parametrize(
    ("facet", "doc"),
    [
        ("request", ASKED | {"tool_choice": "NONE", "documents": []}),  # both were recorded
        ("request", ASKED | {"messages": [HI, CALLED, {"role": "tool", "tool_call_id": "f_1"}]}),
        ("messages", [HI, CALLED]),
        ("tool-choice", "REQUIRED"),
        ("tool-choice", None),
    ],
)
def test_what_is_accepted(facet: str, doc: Any) -> None:
    assert not check(doc, "cohere", facet=facet)
