"""Parquet and Arrow: conversations in columns, read and written; pyarrow itself is the judge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

from dragoman import Malformed, check, containers
from dragoman.errors import Unsupported
from transcripts import dragoman

HI = [{"role": "user", "content": "Hi"}]
CHATS = [{"model": "gpt-5", "max_completion_tokens": n + 1, "messages": HI} for n in range(600)]


def parquet(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink, row_group_size=100)
    return bytes(sink.getvalue().to_pybytes())


def arrow(table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def loaded(data: bytes) -> Any:
    source = pa.BufferReader(data)
    if data.startswith(b"PAR1"):
        return pyarrow.parquet.read_table(source)
    return pyarrow.ipc.open_file(source).read_all()


TEXTS = pa.table(
    {"id": list(range(600)), "prompt": [json.dumps(chat) for chat in CHATS], "note": ["{x"] * 600}
)
STRUCTS = pa.table({"id": list(range(600)), "prompt": CHATS})
files = pytest.mark.parametrize("spelled", [parquet, arrow])
tables = pytest.mark.parametrize("table", [TEXTS, STRUCTS], ids=["texts", "structs"])


@files
@tables
def test_its_documents_are_found(spelled: Any, table: Any) -> None:
    opened = containers.open(spelled(table))
    documents = list(opened)
    assert [document.value for document in documents] == CHATS
    assert not opened.problems
    assert documents[3].place("/messages/0") == "/3/prompt/messages/0"


@files
@tables
def test_it_is_written_in_the_same_shape(spelled: Any, table: Any) -> None:
    made = containers.convert(spelled(table), target="anthropic", model="claude-opus-5-5")
    assert not made.problems
    new = loaded(made.data)
    assert new.schema.names == table.schema.names
    assert new.column("id").to_pylist() == list(range(600))
    for number, cell in enumerate(new.column("prompt").to_pylist()):
        document = json.loads(cell)
        assert not list(check(document, "anthropic"))
        assert document["max_tokens"] == number + 1
    assert (
        made.data
        == containers.convert(spelled(table), target="anthropic", model="claude-opus-5-5").data
    )


@files
def test_the_same_dialect_is_the_same_file(spelled: Any) -> None:
    data = spelled(TEXTS)
    assert containers.convert(data, target="chat").data == data


@files
def test_a_pair_in_a_row_is_a_pair(spelled: Any, tmp_path: Path) -> None:
    said = {"role": "assistant", "content": "Yo"}
    reply = {"id": "1", "object": "chat.completion", "created": 1, "model": "gpt-5", "choices": [
        {"index": 0, "message": said, "finish_reason": "stop"}]}  # fmt: skip
    table = pa.table({"request": [json.dumps(CHATS[0])], "response": [json.dumps(reply)]})
    file = tmp_path / "x.parquet"
    file.write_bytes(spelled(table))
    out, printed, code = dragoman(["convert", "-q", "-t", "chat", "--documents", str(file)])
    assert code == 0, printed
    assert json.loads(out)["messages"] == [*HI, said]


def test_a_cell_that_cannot_be_read_stays_and_is_reported() -> None:
    texts = [json.dumps(chat) for chat in CHATS[:3]]
    texts[1] = texts[1].replace('[{"role"', '[7, {"role"')
    table = pa.table({"prompt": [*texts, None, "none", "{"]})
    made = containers.convert(parquet(table), target="anthropic")
    (problem,) = made.problems
    assert problem.at == "/1/prompt"
    cells = loaded(made.data).column("prompt").to_pylist()
    assert cells[1] == texts[1]
    assert cells[3:] == [None, "none", "{"]
    assert "max_tokens" in cells[0]


@files
@pytest.mark.parametrize("share", [0.01, 0.3, 0.7, 0.99])
def test_a_damaged_table_is_an_error(spelled: Any, share: float) -> None:
    data = spelled(TEXTS)
    with pytest.raises(Malformed):
        list(containers.open(data[: int(len(data) * share) + 8]))


def test_a_table_without_conversations_is_refused() -> None:
    with pytest.raises(Unsupported, match="no column"):
        containers.convert(parquet(pa.table({"a": [1, 2]})), target="chat")


def test_a_bomb_is_refused() -> None:
    table = pa.table({"prompt": [" " * 1_000_000] * 50})
    data = parquet(table)
    assert len(data) < 1_000_000
    with pytest.raises(Malformed, match="more than 1,000,000 bytes"):
        list(containers.open(data, limit=1_000_000))


def test_the_command_line_keeps_the_shape(tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    file.write_bytes(parquet(TEXTS.slice(0, 2)))
    out = tmp_path / "out.parquet"
    _, printed, code = dragoman(
        ["convert", "-t", "anthropic", "--model", "claude-opus-5-5", str(file), "-o", str(out)]
    )
    assert code == 0, printed
    assert [
        json.loads(c)["max_tokens"] for c in loaded(out.read_bytes())["prompt"].to_pylist()
    ] == [1, 2]
    seen, _, code = dragoman(["detect", str(out)])
    assert code == 0
    assert seen.count(b"anthropic-messages request") == 2
