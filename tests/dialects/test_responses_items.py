"""The items of Responses by themselves: whose they are, what they are read as, and written."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import Malformed, dialects
from dragoman.dialects.openai_responses.items import read_kind, side_of
from dragoman.ledger import Ledger
from dragoman.model import (
    Block,
    Extras,
    History,
    Hosted,
    Media,
    Message,
    Raw,
    Reasoning,
    Refusal,
    Response,
    Source,
    Text,
    ToolCall,
    ToolResult,
)

NAME = "openai-responses"
D: Any = dialects.get(NAME)
MINE = Extras(NAME, inner=("content/0",))
"""What the first block of an item without fields of its own has."""
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "c", "output": "1"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
USER = {"role": "user", "content": "Hi"}


def output(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], **more}


def said(*parts: Any, **more: Any) -> dict[str, Any]:
    item = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant"}
    return {**item, "content": list(parts), **more}


def read(*items: Any) -> tuple[Message, ...]:
    tree = D.read(list(items), "messages")
    assert isinstance(tree, History)
    return tree.messages


def replied(*items: Any) -> tuple[Block, ...]:
    document = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m",
                "status": "completed", "output": list(items)}  # fmt: skip
    tree = D.read(document, "response")
    assert isinstance(tree, Response)
    return tree.candidates[0].message.content


def rewritten(items: Any, facet: str = "messages") -> Any:
    log = Ledger()
    document = D.write(D.read(items, facet), log)
    assert log.losses == []
    return document["input"] if facet == "messages" else document


def converted(*messages: Message, dialect: str = "native") -> tuple[list[Any], list[str]]:
    log = Ledger()
    document = D.write(History(messages, dialect=dialect), log)
    return document["input"], [f"{x.kind} {x.what} {x.path}" for x in log.losses]


# -- whose an item is ---------------------------------------------------------------------------

# https://platform.openai.com/docs/guides/tools, and the types of the SDK
WORK: list[tuple[str, str, str, str]] = [
    ("web_search_call", "web_search", "both", "provider"),
    ("file_search_call", "file_search", "both", "provider"),
    ("code_interpreter_call", "code_interpreter", "both", "provider"),
    ("image_generation_call", "image_generation", "both", "provider"),
    ("mcp_list_tools", "mcp", "result", "provider"),
    ("mcp_call", "mcp", "both", "provider"),
    ("mcp_approval_request", "mcp", "call", "provider"),
    ("tool_search_call", "tool_search", "call", "provider"),
    ("tool_search_output", "tool_search", "result", "provider"),
    ("computer_call", "computer", "call", "client"),
    ("computer_call_output", "computer", "result", "client"),
    ("local_shell_call", "local_shell", "call", "client"),
    ("local_shell_call_output", "local_shell", "result", "client"),
    ("shell_call", "shell", "call", "client"),
    ("shell_call_output", "shell", "result", "client"),
    ("apply_patch_call", "apply_patch", "call", "client"),
    ("apply_patch_call_output", "apply_patch", "result", "client"),
    ("brand_new_call", "brand_new", "both", "provider"),
]


@pytest.mark.parametrize(("kind", "service", "phase", "executor"), WORK)
def test_work_of_tools(kind: str, service: str, phase: Any, executor: Any) -> None:
    doc = {"type": kind, "id": "i", "x": 1}
    (message,) = read(doc)
    assert message.content == (Hosted(NAME, service, doc, phase, executor, "i", at="/0"),)
    outputs = kind.endswith("_output") and kind != "tool_search_output"
    assert message.role == ("user" if outputs else "assistant")
    assert rewritten([doc]) == [doc]
    paired = {**doc, "call_id": "c"}
    (message,) = read(paired)
    assert [b.id for b in message.content if isinstance(b, Hosted)] == ["c"]
    if kind not in ("tool_search_call", "tool_search_output"):
        (message,) = read({**doc, "execution": "client"})
        assert [b.executor for b in message.content if isinstance(b, Hosted)] == ["client"]


@pytest.mark.parametrize(
    ("doc", "side"),
    [
        ({"type": "item_reference", "id": "x"}, "user"),
        ({"type": "mcp_approval_response"}, "user"),
        ({"type": "configuration_update"}, "user"),
        ({"type": "compaction_trigger"}, "user"),
        ({"type": "additional_tools", "role": "developer", "tools": []}, "developer"),
        ({"type": "compaction", "encrypted_content": "e"}, "model"),
        ({"type": "program_output"}, "model"),
        ({"type": "program_output", "execution": "client"}, "user"),
        ({"type": "tool_search_output", "execution": "client"}, "user"),
        ({"type": "tool_search_output", "execution": "server"}, "model"),
        ({"type": "strange"}, "model"),
        ({"type": "strange_output"}, "user"),
    ],
)
def test_whose_an_item_is(doc: dict[str, Any], side: str) -> None:
    kind, role = read_kind(D, doc, "/0")
    assert (kind, role) == (doc["type"], None)
    assert side_of(doc, kind, role) == side
    (message,) = read(doc)
    assert message.role in ((side,) if side != "model" else ("assistant",)) + ("tool",)
    assert message.at == "/0"


def test_who_speaks() -> None:
    for role in ("user", "system", "developer", "assistant"):
        for doc in ({"role": role}, {"type": "message", "role": role}):
            assert read_kind(D, doc, "/0") == ("message", role)
            assert side_of(doc, "message", role) == ("model" if role == "assistant" else role)
    assert read_kind(D, {"id": "x"}, "/0") == ("item_reference", None)


@pytest.mark.parametrize(
    ("doc", "at", "words"),
    [
        (5, "/1", "an object"),
        ({}, "/1", "type"),
        ({"id": 5}, "/1", "type"),
        ({"type": "message"}, "/1", "role"),
        ({"type": "message", "id": "x"}, "/1", "role"),
        ({"role": 5}, "/1/role", "a string"),
        ({"role": "nobody"}, "/1", "user, system, developer, assistant"),
        ({"type": 5}, "/1/type", "a string"),
        ({"role": "user", "content": 5}, "/1/content", "a string or a list"),
        ({"role": "assistant", "content": 5}, "/1/content", "a string or a list"),
        ({"role": "assistant", "content": {}}, "/1/content", "a string or a list"),
        ({"role": "user", "content": [5]}, "/1/content/0", "an object"),
        ({"type": "message", "role": "user", "content": [{"type": "input_text", "text": 5}]},
         "/1/content/0/text", "a string"),
        ({"type": "web_search_call", "id": 5}, "/1/id", "a string"),
        ({**CALL, "name": 5}, "/1/name", "a string"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_at_its_place(doc: Any, at: str, words: str) -> None:
    with pytest.raises(Malformed, match=words) as raised:
        read(USER, doc)
    assert raised.value.at.removesuffix("/role") == at.removesuffix("/role")


# -- the model's turn ---------------------------------------------------------------------------


def test_items_of_the_model_that_follow_each_other_are_one_message() -> None:
    items = [USER, THOUGHT, {"role": "assistant", "content": "A"}, CALL, RESULT,
             {**CALL, "call_id": "d"}, said(output("B")), USER, CALL]  # fmt: skip
    messages = read(*items)
    assert [(m.role, m.at) for m in messages] == [
        ("user", "/0"), ("assistant", "/1"), ("tool", "/4"), ("assistant", "/5"), ("user", "/7"),
        ("assistant", "/8"),
    ]  # fmt: skip
    assert [b.__class__ for b in messages[1].content] == [Reasoning, Text, ToolCall]
    assert messages[1].content[1] == Text("A", at="/2/content")
    assert messages[1].content[2] == ToolCall("c", "f", "{}", at="/3")
    assert messages[2].content == (ToolResult("c", (Text("1", at="/4/output"),), at="/4"),)
    assert rewritten(items) == items


@pytest.mark.parametrize("blank", ["", " ", "\n"])
def test_blank_arguments(blank: str) -> None:
    """Calls without arguments: not the usual shape, and written as they were."""
    item = {**CALL, "arguments": blank}
    ((call,),) = (m.content for m in read(item))
    assert isinstance(call, ToolCall)
    assert (call.at, call.id) == ("/0", "c")
    assert read(*rewritten([item]))[0].content[0].arguments == call.arguments  # type: ignore[union-attr]


def test_a_result_that_failed() -> None:
    for text, failed, words in (
        ("[tool error] no", True, "no"),
        ("[1]", None, "[1]"),
        ("", None, ""),
    ):
        (message,) = read({**RESULT, "output": text})
        (result,) = message.content
        assert isinstance(result, ToolResult)
        assert result.is_error is failed
        assert [b.text for b in result.content if isinstance(b, Text)] == [words]


def test_texts_of_the_model_and_their_items() -> None:
    plain = {"role": "assistant", "content": "A"}
    typed = {"type": "message", "role": "assistant", "content": "B"}
    (message,) = read(plain, plain, typed, typed, CALL, plain)
    assert message.content == (
        Text("A", at="/0/content"),  # begins an item without a mark
        Text("A", at="/1/content", extras=MINE),  # which another text does not
        Text("B", at="/2/content", extras=MINE),
        Text("B", at="/3/content", extras=MINE),
        ToolCall("c", "f", "{}", at="/4"),
        Text("A", at="/5/content"),
    )
    (message,) = read(typed)
    assert (message.at, message.content) == ("/0", (Text("B", at="/0/content", extras=MINE),))
    for doc in ({"role": "assistant"}, {"role": "assistant", "content": []}, said()):
        (message,) = read(doc)
        assert message.content == (Raw(NAME, doc, at="/0", extras=MINE),)  # it says nothing
        assert rewritten([doc]) == [doc]


def test_the_first_part_of_an_item_has_its_fields() -> None:
    (message,) = read(said(output("A"), output("B", x=1)))
    first, second = message.content
    assert (first.at, second.at) == ("/0", "/0/content/1")
    assert first.extras == Extras(NAME, {"id": "msg_1"}, inner=("content/0",))
    assert second.extras == Extras(NAME, {"x": 1})
    (message,) = read({"role": "assistant", "content": [output("A")]})
    assert message.content == (Text("A", at="/0/content/0", extras=MINE),)
    (message,) = read(said(output("A", x=1), status="incomplete", phase="final"))
    assert message.content[0].extras is not None
    assert message.content[0].extras.fields == {
        "id": "msg_1", "status": "incomplete", "phase": "final", "content/0": {"x": 1},
    }  # fmt: skip


ITEMS: dict[str, list[Any]] = {
    "a message": [said(output("A"))],
    "two messages": [said(output("A")), said(output("B"), id="msg_2")],
    "several parts": [said(output("A"), output("B"), {"type": "refusal", "refusal": "No."})],
    "a phase": [said(output("A"), phase="commentary", status="in_progress")],
    "a part that is unknown": [said({"type": "new", "x": 1}, output("A"))],
    "an unknown part alone": [said({"type": "new", "x": 1})],
    "an unknown item": [{"type": "new", "x": 1}, said(output("A"))],
    "reasoning between messages": [said(output("A")), THOUGHT, said(output("B"), id="msg_2")],
    "speakers": [{"role": "system", "content": "A"}, {"role": "developer", "content": "B"}, USER],
    "parts of a prompt": [{"role": "user", "content": [
        {"type": "input_text", "text": "A"}, {"type": "input_image", "image_url": "https://a/b"},
    ]}],
    "a prompt with fields": [{"role": "user", "content": "A", "x": 1}],
    "a prompt without content": [{"role": "user", "content": []}],
    "tools that are added": [{"type": "additional_tools", "role": "developer", "tools": [
        {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": False}
    ]}],
    "a reference": [USER, {"type": "item_reference", "id": "x"}],
    "a compaction": [USER, {"type": "compaction", "encrypted_content": "e", "id": "c"}],
    "a search by the client": [
        {"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {}},
        {"type": "tool_search_output", "call_id": "c", "execution": "client", "tools": []},
    ],
    "custom calls": [
        {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "x", "id": "ctc_1"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "y"},
    ],
    "calls with ids": [{**CALL, "id": "fc_1", "status": "completed"}, RESULT],
}  # fmt: skip
UNSAID = ({"status": "completed"}, {"type": "message"})
"""What says nothing."""


@pytest.mark.parametrize("items", ITEMS)
def test_items_come_back(items: str) -> None:
    """Written without their source; what says nothing may be left out or added."""

    def bare(doc: Any) -> Any:
        out = {k: v for k, v in doc.items() if {k: v} not in UNSAID}
        content = out.get("content")
        if (
            isinstance(content, list)
            and len(content) == 1
            and content[0].keys() == {"type", "text"}
        ):
            out["content"] = content[0]["text"]
        return out

    given = ITEMS[items]
    assert [bare(each) for each in rewritten(given)] == [bare(each) for each in given]


# -- a response ---------------------------------------------------------------------------------


def test_the_items_of_a_response() -> None:
    done = {**CALL, "id": "fc_1", "status": "completed"}
    blocks = replied(said(output("A", logprobs=[])), done, THOUGHT, {**done, "arguments": " "})
    assert blocks[0] == Text(
        "A", at="/output/0", extras=Extras(NAME, {"id": "msg_1"}, inner=("content/0",))
    )
    assert blocks[1] == ToolCall("c", "f", "{}", "function", "fc_1", at="/output/1")
    assert isinstance(blocks[2], Reasoning)
    assert (blocks[2].id, blocks[2].at) == ("rs_1", "/output/2")
    assert isinstance(blocks[3], ToolCall)
    assert (blocks[3].item_id, blocks[3].at) == ("fc_1", "/output/3")
    (cut,) = replied({**done, "status": "incomplete"})
    assert cut.extras is not None
    assert cut.extras.fields == {"status": "incomplete"}
    for odd in (RESULT, {"type": "message", "role": "user", "content": "A"}):
        assert replied(odd) == (Raw(NAME, odd, at="/output/0", extras=MINE),)
    with pytest.raises(Malformed) as raised:
        replied(said(output("A")), 5)
    assert raised.value.at == "/output/1"


@pytest.mark.parametrize(
    "item",
    [
        said(output("A"), output("B")),
        said(output("A", x=1)),
        said(output("A", logprobs=[{"token": "A"}])),
        said(output("A", annotations=[{"type": "url_citation", "url": "u", "title": "t",
                                       "start_index": 0, "end_index": 1}])),
        said(output("A"), status="incomplete"),
        said(output("A"), phase="final_answer"),
        said({"type": "refusal", "refusal": "No."}),
        said(),
    ],
)  # fmt: skip
def test_what_is_not_usual_in_a_response_comes_back(item: Any) -> None:
    document = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m",
                "status": "completed", "output": [item, CALL]}  # fmt: skip
    written = rewritten(document, "response")["output"]
    (first, second) = written
    assert {k: v for k, v in first.items() if k != "content"} == {
        k: v for k, v in item.items() if k != "content"
    }
    assert [{"logprobs": [], **part} for part in first["content"]] == [
        {"logprobs": [], **part} for part in item["content"]
    ]
    assert second.items() >= CALL.items()


# -- for others ---------------------------------------------------------------------------------


def user(*blocks: Block) -> Message:
    return Message("user", blocks, at="/u")


def model(*blocks: Block, **more: Any) -> Message:
    return Message("assistant", blocks, at="/a", **more)


def test_texts_of_the_assistant_are_messages_of_their_own() -> None:
    found, lost = converted(model(Text("A", at="/a/0"), Text("B", at="/a/1")))
    assert found == [{"role": "assistant", "content": text} for text in "AB"]
    assert lost == []
    found, lost = converted(model(Text("A", at="/a/0", extras=Extras("gemini", {"x": 1})), ToolCall(
        "c", "f", "{}", at="/a/1")))  # fmt: skip
    assert found == [{"role": "assistant", "content": "A"}, CALL]
    assert lost == ["dropped extras /a/0/x"]


def test_refusals_and_texts_share_a_message() -> None:
    blocks = (Refusal("No.", at="/a/0"), Text("Never.", at="/a/1"), ToolCall("c", "f", "{}"))
    turn = model(*blocks, Refusal("Stop.", at="/a/3"))
    found, lost = converted(turn, dialect=NAME)
    assert [item["type"] for item in found] == ["message", "function_call", "message"]
    assert [part["type"] for part in found[0]["content"]] == ["refusal", "output_text"]
    assert found[0].keys() == {"type", "role", "content"}
    assert lost == []
    found, lost = converted(turn)
    assert [item.get("content") for item in found] == ["No.", "Never.", None, "Stop."]
    assert lost == ["approximated refusal /a/0", "approximated refusal /a/3"]


def test_assistants_after_each_other_are_joined_and_it_is_said() -> None:
    _, lost = converted(model(Text("A", at="/a/0")), model(Text("B", at="/a/1")))
    assert lost == ["approximated message.boundary /a"]
    _, lost = converted(model(Text("A")), model(Text("B")), dialect=NAME)
    assert lost == []


def test_what_has_no_item_is_reported() -> None:
    foreign = Raw("gemini", {"x": 1}, at="/a/0")
    found, lost = converted(user(Text("Hi")), model(foreign, extras=Extras("gemini", {"y": 1})))
    assert found == [USER]
    assert {"dropped raw /a/0", "dropped extras /a/y"} <= set(lost)
    assert any(entry.startswith("dropped message.empty /a") for entry in lost)
    nameless = Hosted(NAME, "x", {"no": "type"}, "call", at="/a/0")
    found, lost = converted(model(nameless, Text("A", at="/a/1")))
    assert found == [{"role": "assistant", "content": "A"}]
    assert lost == ["dropped hosted /a/0"]


def test_a_prompt_that_is_an_item() -> None:
    payload = {"type": "item_reference", "id": "x"}
    block = Raw(NAME, payload, at="/u/0", extras=MINE)
    message = Message("user", (block,), at="/u", extras=Extras("gemini", {"y": 1}))
    assert converted(message) == ([payload], ["dropped extras /u/y"])
    part = Raw(NAME, {"type": "new"}, at="/u/0")
    assert converted(user(part))[0] == [{"role": "user", "content": [{"type": "new"}]}]


def test_an_image_that_the_assistant_has_drawn() -> None:
    image = Media("image", Source("url", "https://a/b"), at="/a/0")
    found, _ = converted(model(image, Text("A")), dialect=NAME)
    (item,) = found
    assert [part["type"] for part in item["content"]] == ["output_image", "output_text"]


def test_results_of_a_message_with_fields() -> None:
    result = ToolResult("c", (Text("1", at="/r/0"),), at="/r")
    message = Message("tool", (result,), at="/r", extras=Extras("gemini", {"x": 1}))
    assert converted(message) == ([RESULT], ["dropped extras /r/x"])
    mine = Message("tool", (result,), at="/r", extras=Extras(NAME, {"x": 1}))
    (item,), lost = converted(mine, dialect=NAME)
    assert (item["role"], item["x"], lost) == ("user", 1, [])
    assert [part["call_id"] for part in item["content"]] == ["c"]
