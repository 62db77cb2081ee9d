"""Cohere's messages by themselves: plans, marks of errors, documents, images of results."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import Malformed, dialects
from dragoman.ledger import Ledger
from dragoman.model import (
    Block,
    Extras,
    History,
    Media,
    Message,
    Passage,
    Raw,
    Reasoning,
    Request,
    Source,
    Text,
    ToolCall,
    ToolResult,
)

NAME = "cohere"
D: Any = dialects.get(NAME)
URL = "https://example.com/a.png"
IMAGE = {"type": "image_url", "image_url": {"url": URL}}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLED = {"role": "assistant", "tool_calls": [CALL]}
HI = {"role": "user", "content": "Hi"}


def read(*docs: Any) -> tuple[Message, ...]:
    tree = D.read(list(docs), "messages")
    assert isinstance(tree, History)
    return tree.messages


def rewritten(docs: Any) -> Any:
    log = Ledger()
    document = D.write(D.read(docs, "messages"), log)
    assert log.losses == []
    return document


def converted(*messages: Message, dialect: str = "native") -> tuple[list[Any], list[str]]:
    log = Ledger()
    document = D.write(History(messages, dialect=dialect), log)
    return document, [f"{x.kind} {x.what} {x.path}" for x in log.losses]


def asked(*messages: Message) -> tuple[Any, list[str]]:
    """A request, beside whose conversation documents may stand."""
    log = Ledger()
    document = D.write(Request("m", messages, dialect="native"), log)
    return document, [f"{x.kind} {x.what} {x.path}" for x in log.losses]


def part(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


# -- what comes back ----------------------------------------------------------------------------

TALKS: dict[str, list[Any]] = {
    "texts": [{"role": "system", "content": "A"}, HI, {"role": "assistant", "content": "B"}],
    "keys": [{**HI, "x": 1}, {"role": "assistant", "content": "B", "x": 1}],
    "parts": [{"role": "user", "content": [part("A"), part("B"), IMAGE]}],
    "a part with a key": [{"role": "user", "content": [part("A", x=1)]}],
    "an unknown part": [{"role": "user", "content": [{"type": "new"}]}],
    "no content": [{"role": "user"}, {"role": "assistant"}],
    "a call": [HI, CALLED, {"role": "tool", "tool_call_id": "c", "content": "1"}],
    "a plan": [HI, {**CALLED, "tool_plan": "I look."}],
    "a call with keys": [{**CALLED, "tool_calls": [{**CALL, "x": 1}]}],
    "a call without an id": [{**CALLED, "tool_calls": [{**CALL, "id": None}]}],
    "reasoning": [
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}, part("A")]}
    ],
    "a result with a key": [CALLED, {"role": "tool", "tool_call_id": "c", "content": "1", "x": 1}],
    "a result of nobody": [{"role": "tool", "content": "1"}],
    "a result without content": [{"role": "tool", "tool_call_id": "c"}],
    "several texts": [CALLED, {"role": "tool", "tool_call_id": "c", "content": [part("A")] * 2}],
}  # fmt: skip


def bare(doc: Any) -> Any:
    """Without what is null."""
    calls = [{k: v for k, v in call.items() if v} for call in doc.get("tool_calls", ())]
    return {**doc, "tool_calls": calls} if calls else doc


@pytest.mark.parametrize("talk", TALKS)
def test_a_conversation_is_written_as_it_was(talk: str) -> None:
    docs = [bare(doc) for doc in TALKS[talk]]
    assert rewritten(docs) == docs
    assert rewritten({"messages": docs, "x": 1}) == {"messages": docs, "x": 1}
    assert rewritten({"messages": docs}) == {"messages": docs}


def test_the_order_of_a_reply() -> None:
    doc = {**CALLED, "content": [{"type": "thinking", "thinking": "Hm."}], "tool_plan": "I look."}
    (message,) = read(doc)
    assert message == Message(
        "assistant",
        (
            Reasoning(("Hm.",), at="/0/content/0"),
            Text("I look.", at="/0/tool_plan"),
            ToolCall("c", "f", "{}", at="/0/tool_calls/0"),
        ),
        at="/0",
    )
    for silence in ("", [part("")], None):
        (message,) = read({**CALLED, "content": silence})
        assert [b.__class__ for b in message.content] == [ToolCall]
    (message,) = read({"role": "assistant", "content": ""})
    assert message.content == (Text("", at="/0/content"),)


# -- results ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "failed", "texts"),
    [
        ("1", None, ["1"]),
        ("[tool error] no", True, ["no"]),
        ("[tool error]", True, []),
        ([part("[tool error] no"), part("b")], True, ["no", "b"]),
        ([part("[tool error] no", x=1)], True, ["no"]),
        ([part("[tool error]")], True, []),
        ([part("[tool error]", x=1)], None, ["[tool error]"]),
        ([part("b"), part("[tool error]")], None, ["b", "[tool error]"]),
        ([{"type": "document", "document": {"data": {"text": "[tool error] no"}}}], None,
         ["[tool error] no"]),
        ([], None, []),
        (None, None, []),
    ],
)  # fmt: skip
def test_a_result_that_failed(content: Any, failed: bool | None, texts: list[str]) -> None:
    (message,) = read({"role": "tool", "tool_call_id": "c", "content": content})
    (result,) = message.content
    assert isinstance(result, ToolResult)
    assert (result.is_error, result.call_id, result.at, message.at) == (failed, "c", "/0", "/0")
    assert [b.text for b in result.content if isinstance(b, Text)] == texts


def call(*ids: str) -> Message:
    return Message("assistant", tuple(ToolCall(i, "f", "{}", at="/a") for i in ids), at="/a")


def heard(call_id: str, *inner: Block, **more: Any) -> Message:
    return Message("tool", (ToolResult(call_id, inner, at="/r", **more),), at="/r")


PICTURE = Media("image", Source("url", URL), at="/i")


def test_images_of_results_stand_in_a_question_after_them() -> None:
    messages = (call("c", "d"), heard("c", Text("A"), PICTURE), heard("d", Text("B")))
    last = Message("user", (Text("Hi"),), at="/u")
    found, lost = converted(*messages, last)
    assert [doc["role"] for doc in found] == ["assistant", "tool", "tool", "user", "user"]
    assert (found[1]["content"], found[2]["content"]) == ("A", "B")
    assert found[3]["content"][1:] == [IMAGE]
    assert "c" in found[3]["content"][0]["text"]
    assert found[4] == HI
    assert lost == ["moved tool_result.content /i"]
    ending, _ = converted(*messages)
    assert ending == found[:4]
    again = read(*found)
    result = again[1].content[0]
    assert isinstance(result, ToolResult)
    assert [b.__class__ for b in result.content] == [Text, Media]
    assert len(again) == 4
    assert rewritten(found) == found
    kept = [*found[:3], {**found[3], "x": 1}]
    assert len(read(*kept)) == 4  # one with keys of its own stays
    assert rewritten(kept) == kept


def test_a_result_of_images_alone_is_empty() -> None:
    found, lost = converted(call("c"), heard("c", PICTURE))
    assert found[1] == {"role": "tool", "tool_call_id": "c", "content": ""}
    assert "moved tool_result.content /i" in lost


def test_keys_of_others_are_lost() -> None:
    foreign = Extras("gemini", {"x": 1})
    found, lost = converted(
        Message("user", (Text("Hi", at="/t", extras=foreign),), at="/u", extras=foreign),
        Message("assistant", (ToolCall("c", "f", " ", at="/c", extras=foreign),), at="/a"),
        Message("tool", heard("c", Text("1"), extras=foreign).content, at="/m", extras=foreign),
    )
    assert sorted(lost) == [f"dropped extras /{at}/x" for at in "cmrtu"]
    assert found[1]["tool_calls"] == [CALL]
    empty = Message("user", (Raw("gemini", {}, at="/b"),), at="/u", extras=foreign)
    found, lost = converted(Message("user", (Text("Hi"),), at="/t"), empty)
    assert found == [HI]
    assert {"dropped message.empty /u", "dropped extras /u/x"} <= set(lost)
    gone = Message("assistant", (Raw("gemini", {}, at="/b"),), at="/u", extras=foreign)
    found, lost = converted(Message("user", (Text("Hi"),), at="/t"), gone)
    assert found == [HI]
    assert "dropped extras /u/x" in lost


def test_empty_texts_are_left_out() -> None:
    message = Message("user", (Text("", at="/0"), Text("Hi", at="/1")), at="/u")
    assert converted(message) == ([HI], ["dropped text.empty /0"])
    assert converted(message, dialect=NAME)[0] == [
        {"role": "user", "content": [part(""), part("Hi")]}
    ]


# -- plans --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("blocks", "plan", "content"),
    [
        ((Text("A"),), "A", None),
        ((Text("A"), Text("B")), None, [part("A"), part("B")]),
        ((Reasoning(("H",)), Text("A")), "A", [{"type": "thinking", "thinking": "H"}]),
        ((Text("A", extras=Extras(NAME, {"x": 1})),), None, [part("A", x=1)]),
        ((Text(""),), None, [part("")]),
        ((), None, None),
    ],
)
def test_what_is_said_before_calls_is_a_plan(blocks: Any, plan: Any, content: Any) -> None:
    message = Message("assistant", (*blocks, *call("c").content), at="/a")
    (doc,), _ = converted(message, dialect=NAME)
    if isinstance(content, list) and [p.keys() for p in content] == [{"type", "text"}]:
        content = content[0]["text"]
    assert (doc.get("tool_plan"), doc.get("content")) == (plan, content)
    (doc,), _ = converted(Message("assistant", (Text("A"),), at="/a"))
    assert doc == {"role": "assistant", "content": "A"}


# -- documents ----------------------------------------------------------------------------------


def paper(text: str, **more: Any) -> Media:
    return Media("document", Source("text", text, "text/plain"), citable=True, at="/d", **more)


def user(*blocks: Block) -> Message:
    return Message("user", blocks, at="/u")


def test_documents_stand_beside_the_conversation() -> None:
    passage = Passage("p", "T", (Text("B"),), True, at="/p")
    document, lost = asked(user(paper("A"), passage, Text("Hi", at="/t")))
    assert document["messages"] == [HI]
    assert document["documents"] == [
        {"data": {"text": "A"}}, {"id": "p", "data": {"title": "T", "text": "B"}},
    ]  # fmt: skip
    assert lost == []
    document, lost = asked(user(Text("Hi", at="/t"), paper("A")))
    assert (document["messages"], len(document["documents"])) == ([HI], 1)
    assert lost == ["approximated content.order /d"]
    turns = (user(paper("A"), Text("Hi")), Message("assistant", (Text("B"),)), user(Text("Hi")))
    document, lost = asked(*turns)
    assert len(document["documents"]) == 1
    assert lost == ["moved message.position /d"]


@pytest.mark.parametrize("blank", [paper(""), Passage("p", "T", (Text(""),), True, at="/d")])
def test_a_document_that_holds_nothing_stays(blank: Block) -> None:
    """ "document at index 0 cannot be empty" """
    document, _ = asked(user(blank, Text("Hi", at="/t")))
    assert "documents" not in document


def test_documents_alone_are_the_question() -> None:
    document, _ = asked(user(paper("A")))
    assert "documents" not in document
    assert "A" in str(document["messages"])


@pytest.mark.parametrize(
    ("doc", "at"),
    [
        (5, "/0"),
        ({}, "/0"),
        ({"role": "nobody"}, "/0"),
        ({"role": "user", "content": 5}, "/0/content"),
        ({"role": "user", "content": [5]}, "/0/content/0"),
        ({"role": "user", "content": [{}]}, "/0/content/0"),
        ({"role": "user", "content": [{"type": "text"}]}, "/0/content/0"),
        ({"role": "assistant", "tool_calls": 5}, "/0/tool_calls"),
        ({"role": "assistant", "tool_calls": [5]}, "/0/tool_calls/0"),
        ({"role": "assistant", "tool_calls": [{}]}, "/0/tool_calls/0"),
        ({"role": "assistant", "tool_calls": [{"function": {}}]}, "/0/tool_calls/0/function"),
        ({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": 5}}]},
         "/0/tool_calls/0/function/arguments"),
        ({"role": "assistant", "tool_calls": [{"id": 5, "function": {"name": "f"}}]},
         "/0/tool_calls/0/id"),
        ({"role": "assistant", "tool_plan": 5}, "/0/tool_plan"),
        ({"role": "assistant", "citations": 5}, "/0/citations"),
        ({"role": "tool", "tool_call_id": 5}, "/0/tool_call_id"),
    ],
)  # fmt: skip
def test_it_is_refused_at_its_place(doc: Any, at: str) -> None:
    with pytest.raises(Malformed) as raised:
        read(doc)
    assert raised.value.at == at


def test_only_results_stand_in_a_tool_message() -> None:
    tree = History((Message("tool", (Text("A", at="/0/0"),), at="/0"),), dialect=NAME)
    with pytest.raises(Malformed) as raised:
        D.write(tree, Ledger())
    assert raised.value.at == "/0/0"
    with pytest.raises(Malformed, match="system, user, assistant, tool"):
        read({"role": "nobody"})
