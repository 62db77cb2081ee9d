"""Exports of chats: each conversation a document, and what is not in it in the ledger."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from dragoman import Malformed, check, containers, convert
from transcripts import dragoman


def node(id: str, parent: str | None, role: str | None, content: Any = None, **more: Any) -> Any:
    message = None
    if role is not None:
        if isinstance(content, str):
            content = {"content_type": "text", "parts": [content]}
        author = {"role": role, "name": more.pop("name", None), "metadata": {}}
        message = {
            "id": id, "author": author, "content": content, "recipient": "all", "weight": 1.0,
            "metadata": {}, **more,
        }  # fmt: skip
    return {"id": id, "message": message, "parent": parent, "children": []}


NODES = [
    node("root", None, None),
    node("sys", "root", "system", ""),
    node("u1", "sys", "user", "What is 2 to the 100?"),
    node("old", "u1", "assistant", "No idea."),
    node(
        "think", "u1", "assistant",
        {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "c"}]},
    ),
    node(
        "call", "think", "assistant",
        {"content_type": "code", "language": "python", "text": "2**100"}, recipient="python",
    ),
    node(
        "done", "call", "tool", {"content_type": "execution_output", "text": "1267"}, name="python"
    ),
    node("a1", "done", "assistant", "It is 1267..."),
    node(
        "u2", "a1", "user",
        {
            "content_type": "multimodal_text",
            "parts": [
                {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-x"},
                "And this?",
            ],
        },
    ),
    node("a2", "u2", "assistant", "A picture."),
]  # fmt: skip
CHATGPT = {
    "title": "Powers",
    "create_time": 1_700_000_000.5,
    "mapping": {each["id"]: each for each in NODES},
    "current_node": "a2",
    "conversation_id": "5a5a",
}
CLAUDE = {
    "uuid": "c0",
    "name": "Weather",
    "created_at": "2026-01-01T00:00:00Z",
    "account": {"uuid": "somebody"},
    "chat_messages": [
        {
            "uuid": "m1", "sender": "human", "text": "Weather?",
            "content": [{"type": "text", "text": "Weather?", "citations": []}],
            "attachments": [{"file_name": "a.txt", "extracted_content": "Notes."}],
            "files": [{"file_name": "b.png"}],
        },
        {
            "uuid": "m2", "sender": "assistant", "text": "",
            "content": [
                {"type": "thinking", "thinking": "Look it up."},
                {"type": "tool_use", "name": "search", "input": {"q": "Pera"}},
                {"type": "tool_result", "name": "search", "is_error": False,
                 "content": [{"type": "text", "text": "rain"}]},
                {"type": "text", "text": "It rains."},
                {"type": "token_budget"},
            ],
        },
    ],
}  # fmt: skip


def packed(**files: Any) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in files.items():
            text = value if isinstance(value, bytes) else json.dumps(value).encode()
            archive.writestr(name, text)
    return out.getvalue()


def zipped(value: Any) -> bytes:
    return packed(**{"user.json": {"id": "user-1"}, "conversations.json": value, "chat.html": b"<"})


@pytest.mark.parametrize("spelled", [zipped, lambda value: json.dumps(value).encode()])
def test_the_path_that_is_current_is_the_conversation(spelled: Any) -> None:
    opened = containers.open(spelled([CHATGPT, CHATGPT]))
    one, two = opened
    assert not opened.problems
    assert (one.dialect, one.facet) == ("openai-chat", "messages")
    assert (
        one.value
        == two.value
        == [
            {"role": "user", "content": "What is 2 to the 100?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_call",
                        "type": "custom",
                        "custom": {"name": "python", "input": "2**100"},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "call_call", "content": "1267"},
            {"role": "assistant", "content": "It is 1267..."},
            {"role": "user", "content": "And this?"},
            {"role": "assistant", "content": "A picture."},
        ]
    )
    assert not list(check(one.value, "openai-chat", facet="messages"))
    assert two.place("/1/tool_calls/0").endswith("/1/mapping/call/message")
    lost = {loss.what: loss.path.rpartition("/mapping/")[2] for loss in one.notes}
    assert lost["container.branch"] == "old"
    assert lost["reasoning"] == "think/message/content"
    assert lost["media"] == "u2/message/content/parts/0"


@pytest.mark.parametrize("spelled", [zipped, lambda value: json.dumps(value).encode()])
def test_results_of_tools_move_to_messages_of_the_user(spelled: Any) -> None:
    (document,) = containers.open(spelled([CLAUDE]))
    assert (document.dialect, document.facet) == ("anthropic-messages", "messages")
    value = document.value
    assert [message["role"] for message in value] == ["user", "assistant", "user", "assistant"]
    notes = {"type": "text", "media_type": "text/plain", "data": "Notes."}
    assert value[0]["content"] == [
        {"type": "document", "source": notes, "title": "a.txt"},
        {"type": "text", "text": "Weather?"},
    ]
    call, (result,) = value[1]["content"][1], value[2]["content"]
    assert call["id"] == result["tool_use_id"]
    assert result["content"] == [{"type": "text", "text": "rain"}]
    assert value[3]["content"] == [{"type": "text", "text": "It rains."}]
    rules = [problem.rule for problem in check(value, "anthropic-messages", facet="messages")]
    assert rules == ["thinking-signature"]  # which the export does not have
    told = {loss.what: loss.path.partition("/chat_messages")[2] for loss in document.notes}
    assert told["media"] == "/0/files/0"
    assert told["tool_call.id"] == "/1/content/1"
    assert told["raw"] == "/1/content/4"
    convert(value, source="anthropic", target="chat", facet="messages")


def test_messages_with_parents_are_a_tree() -> None:
    ids = [("m1", "root"), ("m2", "m1"), ("m3", "m1"), ("m4", "m3")]
    messages = [
        {"uuid": id, "parent_message_uuid": parent, "sender": "human", "text": id, "content": []}
        for id, parent in ids
    ]
    (document,) = containers.open(json.dumps([{"chat_messages": messages}]).encode())
    texts = [message["content"][0]["text"] for message in document.value]
    assert texts == ["m1", "m3", "m4"]
    (loss,) = document.notes
    assert (loss.what, loss.path) == ("container.branch", "/0/chat_messages/1")


def test_the_command_line_reads_an_archive(tmp_path: Path) -> None:
    file = tmp_path / "export.zip"
    file.write_bytes(zipped([CLAUDE, {"chat_messages": []}, CLAUDE]))
    _, printed, code = dragoman(["convert", "-t", "chat", str(file), "-o", f"{tmp_path}/out/"])
    assert code == 4
    assert "no messages in this conversation" in printed
    assert "/conversations.json/1" in printed
    lines = (tmp_path / "out" / "export.zip.jsonl").read_text().splitlines()
    assert [json.loads(line)[-1]["content"] for line in lines] == ["It rains."] * 2
    shown, _, code = dragoman(["show", str(file)])
    assert code == 4
    assert shown.count(b"It rains.") == 2


# -- hostile input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["../conversations.json", "/conversations.json", "a/../../x.json", "..\\x.json"]
)
def test_a_name_that_leads_out_is_refused(name: str) -> None:
    data = packed(**{name: [CHATGPT], "conversations.json": [CHATGPT]})
    with pytest.raises(Malformed, match="leads out"):
        list(containers.open(data))


def test_an_archive_that_is_a_bomb_is_refused() -> None:
    data = packed(**{"conversations.json": b"[" + b" " * 50_000_000 + b"]"})
    assert len(data) < 100_000
    with pytest.raises(Malformed, match="decompressed"):
        list(containers.open(data, limit=1_000_000))


@pytest.mark.parametrize("share", [0.02, 0.4, 0.9])
def test_a_damaged_archive_is_an_error(share: float) -> None:
    data = zipped([CHATGPT])
    with pytest.raises(Malformed):
        list(containers.open(data[: int(len(data) * share) + 4]))


def test_an_archive_without_conversations_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "x.zip"
    file.write_bytes(packed(a=b"x"))
    _, printed, code = dragoman(["detect", str(file)])
    assert code in (1, 2)
    assert "no conversation that dragoman knows in this archive" in printed


def test_a_tree_that_is_a_loop_ends() -> None:
    loop = {**CHATGPT, "mapping": {**CHATGPT["mapping"], "root": node("root", "a2", "user", "x")}}  # type: ignore[dict-item]
    (document,) = containers.open(json.dumps([loop]).encode())
    assert document.value[0] == {"role": "user", "content": "x"}


ODD: tuple[Any, ...] = (None, 7, "x", [], {}, [7], {"x": 7}, True)


def mangled(value: Any) -> Any:
    if isinstance(value, dict):
        for key in value:
            for odd in ODD:
                yield {**value, key: odd}
            for inner in mangled(value[key]):
                yield {**value, key: inner}
    elif isinstance(value, list):
        for index in range(len(value)):
            for odd in [*ODD, *mangled(value[index])]:
                yield [*value[:index], odd, *value[index + 1 :]]


@pytest.mark.parametrize("value", [CHATGPT, CLAUDE])
def test_a_damaged_export_is_read_or_reported(value: Any) -> None:
    for odd in mangled(value):
        for document in containers.open(json.dumps([odd]).encode()):
            if document.dialect is not None:
                convert(document.data, source=document.dialect, target="native", facet="messages")


@pytest.mark.parametrize("data", [b"", b'{"a": "\\ud800"}', b"[" * 9], ids=repr)
def test_a_document_that_is_no_json_is_malformed(data: bytes) -> None:
    for document in containers.open(data):
        with pytest.raises(Malformed):
            document.value  # noqa: B018
