"""Files of agents: which lines are the conversation, and what becomes of the others."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from msgspec.structs import replace

import dragoman
import places
from dragoman import Malformed, dialects
from dragoman.dialects._sessions import Rows, linked
from dragoman.model import History, Message, Text, ToolCall, ToolResult

NAMES = [name for name in dialects.names() if dialects.get(name).lines]

VERSIONED = [name for name in NAMES if hasattr(dialects.get(name), "version")]
"""Those whose files tell which version of the agent has written them."""


def stored(name: str) -> list[Any]:
    path = places.CORPUS / f"session-{name}" / f"{name}.request.json"
    found: list[Any] = json.loads(path.read_text("utf-8"))
    return found


def bytes_of(lines: list[Any]) -> bytes:
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


def line(uuid: str, parent: str | None, said: Any, **more: Any) -> dict[str, Any]:
    who = more.pop("type", "user")
    message = {"role": who, "content": said, **more.pop("message", {})}
    ids = {"uuid": uuid, "parentUuid": parent, "sessionId": "s"}
    return {"type": who, **ids, "message": message, **more}


def said(lines: list[Any], name: str = "claude-code") -> list[str]:
    tree = dragoman.read(lines, name, facet="messages")
    return [b.text for m in tree.messages for b in m.content if isinstance(b, Text)]


# -- all of them ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_bytes_of_a_file_come_back(name: str) -> None:
    data = bytes_of(stored(name)) + b'\n{"type":"cut off\n'
    result = dragoman.convert(data, target=name)  # it is known by its lines
    assert result.to_json() == data
    assert result.losses == ()
    other = dragoman.convert(data, target="openai-chat", model="m")
    count = len(stored(name))
    assert [x.path for x in other.losses if "not a JSON" in x.why] == [f"/{count + 1}"]
    assert f"line {count + 2} is not" in str([x.why for x in other.losses])


@pytest.mark.parametrize("name", NAMES)
def test_its_lines_tell_whose_it_is(name: str) -> None:
    lines = stored(name)
    for guesses in (dragoman.detect(bytes_of(lines)), dragoman.detect(lines)):
        assert (guesses[0].dialect, guesses[0].facet) == (name, "request")
    assert not dragoman.detect([{"role": "user", "content": "Hi"}] * 2)
    written = b'{"messages":[{"role":"user","content":"Hi"}]}\n' * 2
    with pytest.raises(Malformed):  # several documents are not one
        dragoman.detect(written)


@pytest.mark.parametrize("name", VERSIONED)
def test_a_newer_version_is_noted_and_read(name: str) -> None:
    lines = json.loads(
        json.dumps(stored(name))
        .replace('"2.1.197"', '"99.0.1"')
        .replace('"0.166.0"', '"99.0.1"')
        .replace('"0.15.10"', '"99.0.1"')
        .replace('"1.0.102"', '"99.0.1"')
    )
    assert "written by 99.0.1, newer than" in str(dragoman.detect(lines)[0].evidence)
    assert dragoman.read(lines, name).messages == dragoman.read(stored(name), name).messages


@pytest.mark.parametrize("name", NAMES)
def test_a_line_of_an_unknown_type_is_kept(name: str) -> None:
    lines = stored(name)
    unknown = {"type": "zq-new", "sessionId": "s", "uuid": "zq", "payload": {"a": [1]}}
    lines.insert(2, unknown)
    assert dragoman.convert(lines, source=name, target=name).document == lines
    losses = dragoman.convert(lines, source=name, target="openai-chat", model="m").losses
    assert [x.why for x in losses if x.path == "/2"] == [
        f"only {name} knows a line of type 'zq-new'"
    ]


@pytest.mark.parametrize("name", NAMES)
def test_an_edited_conversation_keeps_all_other_lines(name: str) -> None:
    lines = stored(name)
    tree = dragoman.read(lines, name, facet="messages")
    last = tree.messages[-1]
    text = last.content[0]
    assert isinstance(text, Text)
    changed = replace(last, content=(replace(text, text="Something else."),))
    edited = replace(tree, messages=(*tree.messages[:-1], changed))
    out = dragoman.write(edited, name).document
    assert len(out) == len(lines)
    assert [one == two for one, two in zip(out, lines, strict=True)].count(False) == 1
    assert said(out, name)[-1] == "Something else."


@pytest.mark.parametrize("name", NAMES)
def test_a_new_message_follows_the_last_one(name: str) -> None:
    tree = dragoman.read(stored(name), name, facet="messages")
    more = (*tree.messages, Message("assistant", (Text("Done."),)), Message("user", (Text("Go."),)))
    result = dragoman.write(replace(tree, messages=more), name, now=0)
    assert said(result.document, name)[-2:] == ["Done.", "Go."]
    assert said(result.document, name)[:-2] == said(stored(name), name)
    assert [(x.kind, x.what) for x in result.losses] == [("invented", "session.line")]


@pytest.mark.parametrize("name", NAMES)
def test_a_removed_message_leaves_no_gap(name: str) -> None:
    tree = dragoman.read(stored(name), name, facet="messages")
    shorter = replace(tree, messages=tree.messages[-2:])
    assert said(dragoman.write(shorter, name).document, name) == [
        b.text for m in tree.messages[-2:] for b in m.content if isinstance(b, Text)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_without_an_object_is_malformed(name: str) -> None:
    for data in (b"", b"\n\n", b"garbage\n", b"1\n2\n"):
        with pytest.raises(Malformed):
            dragoman.read(data, name)
    with pytest.raises(Malformed, match="more than 10 bytes"):
        dragoman.read(bytes_of(stored(name)), name, limit=10)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_ids_each_time_and_those_of_the_caller(name: str) -> None:
    history = History((Message("user", (Text("Hi"),)), Message("assistant", (Text("Hello"),))))
    one, two = (dragoman.write(history, name).to_json() for _ in range(2))
    assert one == two
    given = iter(range(1000))
    written = dragoman.write(history, name, now=1.5, ids=lambda prefix: f"{prefix}-{next(given)}")
    assert "1970-01-01T00:00:01.500Z" in written.to_json().decode()
    if name != "codex":
        assert "uuid-" in written.to_json().decode()


# -- claude-code ------------------------------------------------------------------------------


def test_the_last_branch_is_the_conversation() -> None:
    lines = [
        line("1", None, "One."),
        line("2", "1", "Left."),
        line("3", "1", "Two."),
        line("4", "2", "Of a subagent.", isSidechain=True),
    ]
    assert said(lines) == ["One.", "Two."]
    losses = dragoman.convert(lines, source="claude-code", target="openai-chat", model="m").losses
    whys = {x.path: x.why for x in losses}
    assert whys["/1"] == "not of the active branch: left, or compacted"
    assert whys["/3"] == "a subagent's line, not of this conversation"


def test_a_tree_that_is_none() -> None:
    assert said([line("1", "2", "A."), line("2", "1", "B.")]) == ["A.", "B."]  # a circle
    assert said([line("1", "gone", "A."), line("2", "1", "B.")]) == ["A.", "B."]
    plain = [{"type": "user", "sessionId": "s", "message": {"role": "user", "content": "A."}}]
    assert said(plain * 2) == ["A.", "A."]
    assert said([line("1", None, "A."), line("1", None, "B.")]) == ["B."]  # one id twice


def call(number: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {}}


def result(number: str) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": number}]


def reply(uuid: str, parent: str, block: Any, id: str = "m", request: str = "r") -> dict[str, Any]:
    return line(uuid, parent, [block], type="assistant", message={"id": id}, requestId=request)


def test_parallel_results_stand_beside_the_chain() -> None:
    lines = [
        line("1", None, "Go."),
        reply("2", "1", call("a")),
        reply("3", "2", call("b")),
        line("4", "2", result("a")),
        line("5", "3", result("b")),
        reply("6", "5", {"type": "text", "text": "Done."}, "n", "s"),
    ]
    tree = dragoman.read(lines, "claude-code", facet="messages")
    assert [message.role for message in tree.messages] == [
        "user", "assistant", "tool", "tool", "assistant",
    ]  # fmt: skip
    calls = [block.id for block in tree.messages[1].content if isinstance(block, ToolCall)]
    assert calls == ["toolu_a", "toolu_b"]
    results = [m.content[0] for m in tree.messages if m.role == "tool"]
    assert [r.call_id for r in results if isinstance(r, ToolResult)] == calls


def test_lines_of_one_reply_are_one_turn() -> None:
    text = {"type": "text", "text": "A."}
    lines = [line("1", None, "Go."), reply("2", "1", text), reply("3", "2", text)]
    assert len(dragoman.read(lines, "claude-code").messages) == 2
    other = [*lines[:2], reply("3", "2", text, request="another")]
    assert len(dragoman.read(other, "claude-code").messages) == 3


def test_an_error_of_the_api_is_not_said() -> None:
    text = {"type": "text", "text": "API Error"}
    lines = [line("1", None, "Go."), {**reply("2", "1", text), "isApiErrorMessage": True}]
    assert said([*lines, line("3", "2", "Again.")]) == ["Go.", "Again."]


# -- codex ------------------------------------------------------------------------------------


def item(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text}]
    return {
        "type": "response_item",
        "payload": {"type": "message", "role": role, "content": content},
    }


def test_a_summary_stands_for_what_was_compacted() -> None:
    lines = [item("user", "A."), item("assistant", "B.")]
    summary = {"type": "compacted", "payload": {"message": "A and B."}}
    assert said([*lines, summary, item("user", "C.")], "codex") == ["A and B.", "C."]
    nothing = {"type": "compacted", "payload": {"message": "", "replacement_history": []}}
    assert said([*lines, nothing, item("user", "C.")], "codex") == ["C."]


@pytest.mark.parametrize(("turns", "left"), [(1, ["A.", "B."]), (2, []), (9, []), ("x", None)])
def test_turns_are_taken_back(turns: Any, left: list[str] | None) -> None:
    lines = [item("user", "A."), item("assistant", "B."), item("user", "C.")]
    event = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": turns}}
    expected = ["A.", "B.", "C."] if left is None else left
    assert said([*lines, event], "codex") == expected


def test_the_model_of_another_vendor_is_not_named() -> None:
    doc = {"model": "claude-opus-4-8", "messages": [{"role": "user", "content": "Hi"}]}
    lines = dragoman.convert(doc, source="openai-chat", target="codex").document
    assert "turn_context" not in [each["type"] for each in lines]
    doc["model"] = "gpt-5.5"
    lines = dragoman.convert(doc, source="openai-chat", target="codex").document
    assert lines[1]["payload"]["model"] == "gpt-5.5"


def test_the_document_is_not_changed() -> None:
    for name in NAMES:
        lines = stored(name)
        before = copy.deepcopy(lines)
        for target in ("openai-chat", *NAMES):
            dragoman.convert(lines, source=name, target=target, model="m")
        assert lines == before


def test_lines_follow_those_that_are_left() -> None:
    """The parent of a line that is gone takes its place; what the file never held stays named."""
    rows = Rows(None, "claude-code")
    rows.parts = {1: {"uuid": "b", "parentUuid": "a"}, 2: {"uuid": "c", "parentUuid": "b"}}
    rows.put(0, {"uuid": "a", "parentUuid": None})
    rows.put(3, {"uuid": "d", "parentUuid": "c"})
    rows.put(4, {"uuid": "e", "parentUuid": "elsewhere"})
    rows.put(5, {"type": "summary", "parentUuid": "c"})
    rows.add({"uuid": "f", "parentUuid": "x"})
    found = linked(rows, lambda line: "uuid" in line)
    assert [line["parentUuid"] for line in found] == [None, "a", "elsewhere", "c", "e"]
