"""The plain function from bytes to bytes, and those who map it over their own data."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from dragoman.datasets import Job, Line, Options, Run
from dragoman.datasets.lines import Rejected
from dragoman.datasets.records import parsed

TURNS = ["Hi", "Hello.", "Again", "Hello again."]
ROLES = ["user", "assistant"] * 2
MESSAGES = [{"role": role, "content": text} for role, text in zip(ROLES, TURNS, strict=True)]
CHAT = {"model": "gpt-5", "messages": MESSAGES}
DATA = json.dumps(CHAT).encode()


def test_it_gives_what_a_job_gives(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(DATA + b"\n")
    some: tuple[dict[str, Any], ...] = (
        {},
        {"cut": "turns"},
        {"source": "chat", "redact_patterns": ("Hell",)},
    )
    for number, options in enumerate(some):
        values: dict[str, Any] = {"target": "functiongemma", **options}
        out = tmp_path / str(number)
        run = Run(output=f"{out}.jsonl", workers=1)
        Job([str(tmp_path / "a.jsonl")], Options(**values), run).start()
        assert Line(**values)(DATA) + b"\n" == Path(f"{out}.jsonl").read_bytes()


def test_what_is_filtered_is_empty_and_what_is_rejected_raises() -> None:
    assert Line(target="functiongemma", min_chars=1000)(DATA) == b""
    with pytest.raises(Rejected, match="not JSON") as raised:
        Line(target="functiongemma")(b"{")
    assert raised.value.code == "malformed"
    assert Line(target="functiongemma", rejected=b"null")(b"{") == b"null"


def test_it_can_be_pickled_also_after_it_was_used() -> None:
    line = Line(target="functiongemma", redact=("keys",))
    fresh = pickle.dumps(line)
    before = line(DATA)
    assert pickle.dumps(line) == fresh
    assert pickle.loads(fresh)(DATA) == before


def test_datasets_map_takes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from datasets import Dataset

    line = Line(target="trl", source="openai-chat")
    rows = Dataset.from_dict({"id": [1, 2], "request": [DATA.decode()] * 2})
    mapped = rows.map(lambda row: {"record": line(row["request"].encode()).decode()})
    assert mapped.column_names == ["id", "request", "record"]
    for row in mapped:
        assert json.loads(row["record"])["messages"] == CHAT["messages"]


def test_a_key_twice_is_told_in_a_line_with_a_byte_order_mark() -> None:
    value, notes = parsed(b'\xef\xbb\xbf{"a": 1, "a": 2}\n')
    assert (value, [note.path for note in notes]) == ({"a": 2}, ["/a"])
