"""Jobs: what is written, what is rejected, and that nothing of it depends on who does the work."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard

from dragoman import containers
from dragoman.datasets import Finished, Job, Options, Run, job, read_recipe, records
from dragoman.datasets import inputs as files
from dragoman.datasets.engines import base, embedded
from dragoman.datasets.options import options_of
from dragoman.errors import DragomanError, Malformed, Unsupported

TOOL = {"name": "get_time", "description": "Tells the time.", "input_schema": {
    "type": "object", "properties": {"city": {"type": "string"}}}}  # fmt: skip


def claude(number: int, turns: int = 1) -> dict[str, Any]:
    """A conversation with a call in each turn but the last."""
    messages: list[Any] = [{"role": "user", "content": f"What time is it in city {number}?"}]
    for turn in range(turns):
        call = {
            "type": "tool_use",
            "id": f"toolu_{turn}",
            "name": "get_time",
            "input": {"city": "R"},
        }
        thought = {"type": "thinking", "thinking": f"I look {turn}.", "signature": "c2ln"}
        result = {
            "type": "tool_result",
            "tool_use_id": f"toolu_{turn}",
            "content": f"{turn} o'clock",
        }
        messages += [
            {"role": "assistant", "content": [thought, call]},
            {"role": "user", "content": [result]},
        ]
    messages.append({"role": "assistant", "content": [{"type": "text", "text": "It is late."}]})
    return {"model": "claude-opus-4-8", "max_tokens": 9, "tools": [TOOL], "messages": messages}


def chat(number: int) -> dict[str, Any]:
    messages = [{"role": "user", "content": f"Say {number}"}]
    reply = {"role": "assistant", "content": f"It is {number}."}
    return {
        "request": {"model": "gpt-5", "messages": messages, "max_completion_tokens": 5},
        "response": {"object": "chat.completion", "choices": [{"message": reply}]},
    }


def lines(values: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, data: bytes) -> str:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return name


def run(*paths: str, out: str = "out/", to: str = "functiongemma", **options: Any) -> Finished:
    how: dict[str, Any] = {
        key: options.pop(key) for key in ("workers", "form", "overwrite") if key in options
    }
    return Job(
        paths, Options(target=to, **options), Run(output=out, **{"workers": 1} | how)
    ).start()


def texts(out: str = "out/") -> list[str]:
    return [line["text"] for line in read(out)]


def read(out: str = "out/", pattern: str = "*[0-9].jsonl") -> list[Any]:
    found = sorted(Path(out).glob(pattern))
    return [json.loads(line) for path in found for line in path.read_bytes().splitlines()]


def rejects(out: str = "out/") -> list[Any]:
    return [json.loads(line) for line in Path(out, "rejects.jsonl").read_bytes().splitlines()]


def everything(out: str) -> dict[str, bytes]:
    """All files of an output, but for the recipe, which has its name."""
    return {
        path.name: path.read_bytes() for path in Path(out).iterdir() if path.name != "recipe.toml"
    }


# -- what is written -------------------------------------------------------------------------------


def test_bad_records_are_rejected_with_their_place_and_the_others_go_on() -> None:
    rows = [claude(0), chat(1)]
    secret = b'{"model": "gpt-5", "messages": [{"role": "user", "content": 42, "k": "hunter2"}]}\n'
    alone = json.dumps(chat(2)["response"]).encode()
    write("in/a.jsonl", lines(rows) + b"\n{not json\n" + secret + alone + b"\n" + lines([chat(3)]))
    done = run("in/")
    assert len(texts()) == 3
    assert [(r["input"], r["line"], r["code"]) for r in rejects()] == [
        ("in/a.jsonl", 4, "malformed"),
        ("in/a.jsonl", 5, "malformed"),
        ("in/a.jsonl", 6, "response"),
    ]
    assert rejects()[1]["at"] == "/messages/0/content"
    assert b"hunter2" not in Path("out/rejects.jsonl").read_bytes()
    counts = {"read": 6, "rejected": 3, "converted": 3, "written": 3}
    assert done.manifest["records"] == counts
    assert done.manifest["rejected"] == {"malformed": 2, "response": 1}


def test_a_pair_ends_with_its_reply_and_a_stored_turn_is_no_prefill() -> None:
    write("a.jsonl", lines([chat(1), claude(0)]))
    done = run("a.jsonl")
    assert texts()[0].endswith("<start_of_turn>model\nIt is 1.<end_of_turn>\n")
    assert texts()[1].endswith("It is late.<end_of_turn>\n")
    assert "prefill" not in {loss["code"] for loss in done.manifest["losses"]}


def test_the_manifest_counts_losses_by_source_and_says_where_each_was_met_first() -> None:
    write("a.jsonl", lines([chat(0), claude(1), claude(2)]))
    found = {(x["source"], x["code"]): x for x in run("a.jsonl").manifest["losses"]}
    reasoning = found["anthropic-messages", "reasoning"]
    assert (reasoning["kind"], reasoning["times"], reasoning["records"]) == ("dropped", 2, 2)
    assert reasoning["first"] == {"input": "a.jsonl", "line": 2, "at": "/messages/1/content/0"}
    assert found["openai-chat", "max_tokens"]["first"]["line"] == 1
    assert ("openai-chat", "reasoning") not in found


def test_the_manifest_has_hashes_of_inputs_and_shards() -> None:
    write("a.jsonl", lines(map(chat, range(20))))
    done = run("a.jsonl", shard_size=400)
    import hashlib

    assert len(done.manifest["shards"]) > 3
    for shard in done.manifest["shards"]:
        data = Path("out", shard["path"]).read_bytes()
        assert (len(data), data.count(b"\n")) == (shard["bytes"], shard["records"])
        assert hashlib.sha256(data).hexdigest() == shard["sha256"]
        assert len(data) <= 400
    assert (
        done.manifest["inputs"][0]["sha256"]
        == hashlib.sha256(Path("a.jsonl").read_bytes()).hexdigest()
    )


@pytest.mark.parametrize("workers", [1, 2])
def test_the_bytes_depend_on_neither_the_workers_nor_the_chunks(
    workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("in/a.jsonl", lines(map(claude, range(30))) + b"{\n\n" + lines(map(chat, range(30))))
    write("in/b.jsonl.gz", gzip.compress(lines(map(chat, range(20, 60))) + b"[]\n"))
    write("in/c.json", json.dumps(claude(99, 3)).encode())
    options: Any = {"split": {"train": 0.7, "test": 0.3}, "dedup": "exact", "seed": 3}
    options |= {"sample": 0.9, "shard_size": 2000, "cut": "turns"}
    run("in/", out="one/", **options)
    small = files.chunks

    def smaller(inputs: Any, options: Any) -> Any:
        return small(inputs, options, 1500)

    monkeypatch.setattr(job, "chunks", smaller)
    run("in/", out="two/", workers=workers, **options)
    assert everything("one") == everything("two")
    assert rejects("two/")[0]["line"] == 31
    assert len(list(Path("two").glob("train-*.jsonl"))) > 1


def test_lines_are_in_their_pieces_wherever_the_cuts_are(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"".join(b"%d %s\r\n" % (i, b"x" * (i % 7)) for i in range(40)) + b"\n\nlast"
    path = write("a.txt", data)
    whole = data.splitlines(keepends=True)
    for cuts in range(1, 60, 7):
        edges = [len(data) * i // cuts for i in range(cuts + 1)]
        found = [
            line
            for a, b in pairwise(edges)
            for line in files.lines_of(files.Piece(0, "lines", a, b), path, 1000)
        ]
        assert found == whole
    piece = files.Piece(0, "lines", 0, len(data))
    assert list(files.lines_of(piece, path, 4)).count(None) == sum(len(x) > 4 for x in whole)


# -- what is read ----------------------------------------------------------------------------------


def test_files_of_all_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [chat(1)["request"], chat(2)["request"]]
    write(
        "in/a.jsonl.zst",
        zstandard.compress(lines([rows[0]])) + zstandard.compress(lines([rows[1]])),
    )
    write("in/b.json", json.dumps([claude(1), claude(2)]).encode())
    batch = [{"custom_id": "a", "params": claude(3)}]
    write("in/c.jsonl", lines(batch))
    write("in/.hidden.jsonl", b"{")
    write("in/notes.txt", b"no conversation")
    session = Path(__file__).parent.parent / "commands/files/home/.claude/projects"
    write("in/d.jsonl", next(session.rglob("*.jsonl")).read_bytes())
    done = run("in/", "in/b.json", "in/*.json")
    assert [row["records"] for row in done.manifest["inputs"]] == [2, 2, 1, 1]
    assert [path["path"] for path in done.manifest["inputs"]] == [
        "in/a.jsonl.zst", "in/b.json", "in/c.jsonl", "in/d.jsonl"]  # fmt: skip
    assert done.manifest["records"] == {"read": 6, "rejected": 0, "converted": 6, "written": 6}
    sources = done.manifest["splits"]["data"]["sources"]
    assert sources == {"anthropic-messages": 3, "claude-code": 1, "openai-chat": 2}


def test_a_packed_file_that_breaks_off_is_told() -> None:
    write("a.jsonl.gz", gzip.compress(lines(map(chat, range(500))))[:-20])
    write("b.jsonl.zst", zstandard.compress(lines(map(chat, range(500))))[:-20])
    done = run("a.jsonl.gz", "b.jsonl.zst")
    damaged = [(r["input"], r["code"]) for r in rejects() if r["why"].startswith("damaged")]
    assert damaged == [("a.jsonl.gz", "malformed"), ("b.jsonl.zst", "malformed")]
    assert done.manifest["records"]["written"] > 0


def test_a_database_of_sessions_is_told_apart_from_what_is_no_json() -> None:
    write("sessions.db", b"SQLite format 3\0\x10\0")
    run("sessions.db")
    (reject,) = rejects()
    assert "a database" in reject["why"]


def test_a_value_that_is_a_string_here_and_a_list_there_stays_what_it_is() -> None:
    mixed = [{"model": "gpt-5", "max_completion_tokens": 5, "messages": [
        {"role": "user", "content": content}]} for content in
        ("Hi", [{"type": "text", "text": "Ho"}])]  # fmt: skip
    write("a.jsonl", lines(mixed))
    run("a.jsonl", to="openai-chat")
    assert read() == mixed


def test_columns_are_read_by_name_and_the_others_are_carried_along() -> None:
    rows = [
        {"id": 7, "asked": chat(1)["request"], "said": chat(1)["response"], "text": "x"},
        {"id": 8, "asked": json.dumps(chat(2)["request"]), "said": json.dumps(chat(2)["response"])},
        {"id": 9, "asked": None, "said": None},
    ]
    write("a.jsonl", lines(rows))
    columns = {"column": "asked", "response_column": "said"}
    done = run("a.jsonl", **columns)
    assert [line["id"] for line in read()] == [7, 8]
    assert read()[0]["source_text"] == "x"
    assert all(text.endswith(".<end_of_turn>\n") for text in texts())
    assert done.manifest["renamed"] == {"text": "source_text"}
    assert [r["line"] for r in rejects()] == [3]
    run("a.jsonl", carry=("id",), out="two/", **columns)
    assert [sorted(line) for line in read("two/")] == [["id", "text"]] * 2


# -- tables ----------------------------------------------------------------------------------------


def table(rows: list[dict[str, Any]], name: str, groups: int = 2) -> str:
    import pyarrow as pa
    import pyarrow.parquet

    made = pa.Table.from_pylist(rows)
    if name.endswith(".parquet"):
        pyarrow.parquet.write_table(made, name, row_group_size=groups)
    else:
        with pa.OSFile(name, "wb") as out, pa.ipc.new_file(out, made.schema) as writer:
            writer.write_table(made, groups)
    return name


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_tables_are_read_by_row_groups(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"request": json.dumps(claude(i)), "score": i / 2} for i in range(7)]
    rows[4]["request"] = "{"
    table(rows, name)
    done = run(name, column="request")
    assert [line["score"] for line in read()] == [0.0, 0.5, 1.0, 1.5, 2.5, 3.0]
    assert [r["line"] for r in rejects()] == [5]
    whole = everything("out")
    small = files.chunks
    monkeypatch.setattr(job, "chunks", lambda inputs, options: small(inputs, options, 1))
    run(name, column="request", out="two/")
    assert everything("two") == whole
    assert done.manifest["inputs"][0]["records"] == 7


def test_structs_of_a_table_are_read_without_the_nulls_that_fill_them() -> None:
    rows = [{"messages": claude(1)["messages"][:1]}, {"messages": chat(1)["request"]["messages"]}]
    rows[0]["messages"] = [{"role": "user", "content": "Hi", "name": "Ann"}]
    table(rows, "a.parquet")
    run("a.parquet", to="openai-chat", source="openai-chat")
    assert read()[1] == {"messages": chat(1)["request"]["messages"]}


def test_parquet_gives_back_what_was_written_to_those_who_read_it_with_datasets() -> None:
    from datasets import load_dataset

    rows = [claude(1), claude(2, 2), chat(3)]
    write("a.jsonl", lines({"id": i, "row": row} for i, row in enumerate(rows)))
    run("a.jsonl", column="row", to="openai-chat", source=None, out="lines/")
    run("a.jsonl", column="row", to="openai-chat", out="tables/", form="parquet")
    found = load_dataset("parquet", data_files="tables/*.parquet", split="train", cache_dir="cache")
    whole = [{key: value for key, value in row.items() if value is not None} for row in found]
    assert whole == read("lines/")
    assert whole[1]["messages"][1]["tool_calls"][0]["function"]["name"] == "get_time"


@pytest.mark.parametrize("form", ["jsonl", "jsonl.zst", "parquet"])
def test_datasets_reads_a_folder_as_it_is(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows whose objects have other keys, in shards of one row each, beside rejects and all."""
    from datasets import load_dataset

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    rows: list[dict[str, Any]] = [chat(i)["request"] for i in range(6)]
    for i in range(1, 6):
        schema = {"type": "object", "properties": {f"x{i}": {"type": "string", "default": None}}}
        rows[i]["tools"] = [{"type": "function", "function": {"name": "f", "parameters": schema}}]
    write("a.jsonl", lines({"n": i / 2, "row": row} for i, row in enumerate(rows)) + b"{")
    how: dict[str, Any] = {"column": "row", "source": "openai-chat", "to": "trl", "form": form}
    run("a.jsonl", out="all/", shard_size=10, **how)
    loaded = load_dataset("all/", cache_dir="cache")
    found = [{k: v for k, v in row.items() if v is not None} for row in loaded["train"]]
    assert found == [
        {"messages": row["messages"], "n": i / 2} | ({"tools": row["tools"]} if i else {})
        for i, row in enumerate(rows)
    ]
    split = {"train": 0.3, "hold-out": 0.4, "eval": 0.3}
    done = run("a.jsonl", out="cut/", split=split, **how)
    loaded = load_dataset("cut/", cache_dir="cache")
    counts = {name.replace("-", "_"): s["records"] for name, s in done.manifest["splits"].items()}
    assert {name: len(rows) for name, rows in loaded.items()} == {
        k: n for k, n in counts.items() if n
    }


def test_a_card_that_was_edited_stays() -> None:
    write("a.jsonl", lines(map(chat, range(3))))
    run("a.jsonl")
    card = Path("out/README.md")
    assert "3 records" in card.read_text()
    write("a.jsonl", lines(map(chat, range(4))))
    run("a.jsonl", overwrite=True)
    assert "4 records" in card.read_text()
    card.write_text(card.read_text() + "Licence: MIT\n")
    run("a.jsonl", seed=1, overwrite=True)
    assert card.read_text().endswith("Licence: MIT\n")


def test_a_conversation_without_messages_is_rejected() -> None:
    empty: list[Any] = [{"model": "m", "messages": []}, {"model": "m", "messages": [
        {"role": "user", "content": ""}]}]  # fmt: skip
    write("a.jsonl", lines([*empty, {"model": "m", "messages": chat(1)["request"]["messages"]}]))
    run("a.jsonl", to="trl", source="openai-chat")
    assert len(read()) == 1
    assert [(each["line"], each["code"]) for each in rejects()] == [
        (1, "unsayable"),
        (2, "unsayable"),
    ]


# -- what is asked for -----------------------------------------------------------------------------


def test_a_file_is_packed_as_its_name_says_and_has_the_rest_beside_it() -> None:
    write("a.jsonl", lines(map(chat, range(9))))
    run("a.jsonl", out="plain.jsonl")
    plain = Path("plain.jsonl").read_bytes()
    run("a.jsonl", out="two.jsonl.gz")
    run("a.jsonl", out="three.jsonl.zst", workers=2)
    assert gzip.decompress(Path("two.jsonl.gz").read_bytes()) == plain
    with Path("three.jsonl.zst").open("rb") as file:
        reader = zstandard.ZstdDecompressor().stream_reader(file)
        assert io.BufferedReader(reader).read() == plain
    names = {path.name for path in Path().iterdir()}
    assert {"plain.manifest.json", "plain.rejects.jsonl", "plain.report.html"} <= names
    assert not [name for name in names if "dragoman" in name]


def test_a_session_is_cut_into_a_record_for_each_turn() -> None:
    write("a.jsonl", lines([claude(0, 2)]))
    run("a.jsonl", to="anthropic-messages", cut="turns")
    assert [len(line["messages"]) for line in read()] == [2, 4, 6]
    assert all(line["messages"][-1]["role"] == "assistant" for line in read())
    assert read()[-1] == claude(0, 2)


def test_reasoning_is_left_out_where_that_is_asked_for() -> None:
    write("a.jsonl", lines([claude(0, 2)]))
    done = run("a.jsonl", to="anthropic-messages", reasoning="drop")
    assert "I look" not in json.dumps(read())
    assert [block["type"] for block in read()[0]["messages"][1]["content"]] == ["tool_use"]
    assert done.manifest["edits"] == {"reasoning blocks left out": 2}


FILTERS: list[tuple[dict[str, Any], list[int], str]] = [
    ({"formats": ("anthropic",)}, [0, 1], "format"),
    ({"tool_calls": True}, [0, 1], "no tool calls"),
    ({"tool_calls": False}, [2], "tool calls"),
    ({"max_chars": 60}, [2], "more than 60 characters"),
    ({"min_chars": 60}, [0, 1], "fewer than 60 characters"),
]


@pytest.mark.parametrize(("options", "left", "why"), FILTERS)
def test_filters(options: dict[str, Any], left: list[int], why: str) -> None:
    rows = [claude(0), claude(1), chat(2)]
    write("a.jsonl", lines(rows))
    done = run("a.jsonl", **options)
    every = run("a.jsonl", out="every/")
    assert every.manifest["filtered"] == {}
    assert texts() == [texts("every/")[i] for i in left]
    assert done.manifest["filtered"] == {why: 3 - len(left)}


def test_only_what_check_accepts_of_the_target() -> None:
    odd = chat(1)["request"] | {"temperature": 7}
    write("a.jsonl", lines([odd, chat(2)["request"]]))
    done = run("a.jsonl", to="openai-chat", valid=True)
    assert done.manifest["filtered"] == {"not valid": 1}
    assert len(read()) == 1


def test_a_length_in_tokens_by_a_tokenizer() -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save("tokenizer.json")
    long = chat(0)
    long["request"]["messages"][0]["content"] = "word " * 50
    write("a.jsonl", lines([long, chat(1)]))
    done = run("a.jsonl", tokenizer="tokenizer.json", max_tokens=40)
    assert len(read()) == 1
    assert done.manifest["filtered"] == {"more than 40 tokens": 1}
    assert done.manifest["splits"]["data"]["tokens"] > 10


def test_the_tokens_of_a_long_text_are_those_of_the_line() -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save("tokenizer.json")
    long = claude(1)
    long["messages"][0]["content"] = "so long " * 2000
    write("a.jsonl", lines([long]))
    splits = run("a.jsonl", tokenizer="tokenizer.json").manifest["splits"]
    (text,) = texts()
    assert splits["data"]["tokens"] == len(tokenizer.encode(text).ids)


def test_duplicates() -> None:
    long = claude(0, 20)
    almost = claude(0, 20)
    almost["messages"][-1]["content"][0]["text"] = "It is late now."
    write("a.jsonl", lines([long, chat(1), long, almost, claude(0, 3), chat(1)]))
    exact = run("a.jsonl", dedup="exact")
    near = run("a.jsonl", dedup="near", out="near/", workers=2)
    assert exact.manifest["dropped"] == {"duplicate": 2}
    assert near.manifest["dropped"] == {"duplicate": 2, "near-duplicate": 1}
    assert texts("near/") == [texts()[i] for i in (0, 1, 3)]


def test_all_records_of_a_conversation_are_in_one_split() -> None:
    growing = [claude(number, turns) for turns in range(4) for number in range(40)]
    write("a.jsonl", lines(growing))
    run("a.jsonl", split={"train": 0.5, "test": 0.5})
    sides = [texts_of("train"), texts_of("test")]
    cities = [{text.partition("city ")[2].partition("?")[0] for text in side} for side in sides]
    assert not cities[0] & cities[1]
    assert cities[0] | cities[1] == {str(number) for number in range(40)}
    assert min(map(len, cities)) > 8
    assert all(len(side) == 4 * len(found) for side, found in zip(sides, cities, strict=True))


def texts_of(split: str) -> list[str]:
    return [line["text"] for line in read(pattern=f"{split}-*.jsonl")]


def test_a_split_by_a_column_that_names_the_conversation() -> None:
    rows = [{"session": n % 5, "request": claude(n)} for n in range(40)]
    write("a.jsonl", lines(rows))
    run("a.jsonl", column="request", conversation="session", split={"train": 0.5, "test": 0.5})
    sides = [{row["session"] for row in read(pattern=f"{name}-*")} for name in ("train", "test")]
    assert not sides[0] & sides[1]


def test_samples_and_shuffles_follow_the_seed() -> None:
    write("a.jsonl", lines(map(chat, range(200))))
    run("a.jsonl", out="whole/")
    whole = texts("whole/")
    run("a.jsonl", sample=0.25, out="share/")
    assert 30 < len(texts("share/")) < 70
    run("a.jsonl", sample=25, out="number/")
    assert len(texts("number/")) == 25
    for out in ("share/", "number/"):
        assert texts(out) == [text for text in whole if text in set(texts(out))]
    run("a.jsonl", shuffle=True, out="mixed/")
    run("a.jsonl", shuffle=True, seed=1, out="other/")
    assert texts("mixed/") != whole != texts("other/") != texts("mixed/")
    assert sorted(texts("mixed/")) == sorted(whole) == sorted(texts("other/"))


def test_a_forbidden_loss_rejects_its_record() -> None:
    write("a.jsonl", lines([claude(0), chat(1)]))
    run("a.jsonl", fail_on=("reasoning",))
    assert len(texts()) == 1
    assert rejects()[0]["code"] == "loss"
    assert rejects()[0]["why"] == "refused: dropped reasoning"


# -- secrets ---------------------------------------------------------------------------------------

SECRETS = [
    "sk-ant-api03-" + "aB3_" * 8,
    "sk-proj-" + "Zz9x" * 8,
    "AKIA" + "ABCD1234" * 2,
    "ghp_" + "a1B2" * 9,
    "AIza" + "x" * 35,
    "hf_" + "Qq1w" * 8,
    "xoxb-1234567890-abcdef",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlMTIz",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAK\n-----END RSA PRIVATE KEY-----",
    "ann.lee+x@mail.example.com",
]


@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: secret[:8])
@pytest.mark.parametrize("to", ["functiongemma", "openai-chat", "anthropic-messages"])
def test_what_is_redacted_is_nowhere(secret: str, to: str) -> None:
    doc = claude(0)
    doc["messages"][0]["content"] = f"Use {secret}, please."
    doc["messages"][1]["content"][0]["thinking"] = f"It is {secret}"
    doc["messages"][1]["content"][1]["input"] = {"command": f"login '{secret}'", secret: 1}
    doc["messages"][2]["content"][0]["content"] = json.dumps({"stdout": f"key={secret}"})
    doc["tools"] = [TOOL | {"description": f"With {secret}."}]
    doc["metadata"] = {"user_id": secret}
    nested = {"note": secret, "row": doc}
    twice = json.dumps(nested).replace(
        '"row": {', '"row": {%s: 1, %s: 2, ' % ((json.dumps(secret),) * 2)
    )
    bad = {"row": {"model": "m", "messages": [{"role": "user", "content": {secret: 1}}]}}
    write("a.jsonl", twice.encode() + b"\n" + lines([bad]))
    done = run("a.jsonl", column="row", to=to, redact=("keys", "emails"), source="anthropic")
    assert len(rejects()) == 1
    written = b"".join(everything("out").values())
    for spelled in {secret, json.dumps(secret)[1:-1], json.dumps(json.dumps(secret)[1:-1])[1:-1]}:
        assert spelled.encode() not in written
    assert done.manifest["records"]["written"] == 1
    assert sum(done.manifest["redacted"].values()) >= 6
    assert b"[REDACTED " in written


def test_patterns_are_redacted_and_counted_and_nothing_else_changes() -> None:
    write("a.jsonl", lines([claude(1234), claude(5)]))
    done = run("a.jsonl", to="anthropic-messages", redact_patterns=(r"\d{4}",))
    assert done.manifest["redacted"] == {"pattern 1": 1}
    assert read()[0]["messages"][0]["content"] == "What time is it in city [REDACTED]?"
    assert read()[1] == claude(5)
    for pattern in ("(", "a*"):
        with pytest.raises(Unsupported, match="redact"):
            run("a.jsonl", redact_patterns=(pattern,), out="two/")


# -- recipes ---------------------------------------------------------------------------------------


def test_a_recipe_says_all_of_it_and_can_be_run_again() -> None:
    write("a.jsonl", lines(map(claude, range(30))))
    options: dict[str, Any] = {
        "split": {"train": 0.5, "te st".replace(" ", "-"): 0.5},
        "fail_on": ("candidates",),
        "redact_patterns": ('"\\d+\n',),
        "sample": 0.5,
        "shuffle": True,
        "max_chars": 10_000,
        "threshold": 0.5,
    }
    run("a.jsonl", **options)
    recipe = read_recipe(Path("out/recipe.toml").read_text())
    assert (recipe.inputs, recipe.output) == (("a.jsonl",), "out/")
    again = options_of(recipe.values)
    assert again == Options(target="functiongemma", **options)
    Job(recipe.inputs, again, Run(output="two", workers=1)).start()
    assert everything("out") == everything("two")


@pytest.mark.parametrize(
    "text", ['colour = "red"', "target = 5", "x", 'target = "functiongemma"\ninputs = "a"']
)
def test_a_recipe_that_makes_no_sense_says_so(text: str) -> None:
    with pytest.raises(DragomanError):
        options_of(read_recipe(text).values)


WRONG: list[dict[str, Any]] = [
    {"target": "claude-code"},
    {"target": "nothing"},
    {"target": "functiongemma", "split": {"train": 0.5}},
    {"target": "functiongemma", "split": {"../x": 1.0}},
    {"target": "functiongemma", "sample": 0},
    {"target": "functiongemma", "sample": 1.5},
    {"target": "functiongemma", "min_tokens": 3},
    {"target": "functiongemma", "response_column": "x"},
    {"target": "functiongemma", "fail_on": ("nothing",)},
]


@pytest.mark.parametrize("values", WRONG, ids=str)
def test_options_that_make_no_sense(values: dict[str, Any]) -> None:
    with pytest.raises(Unsupported):
        options_of(values)


# -- outputs that are there, and jobs that were killed ---------------------------------------------


def test_what_is_done_is_not_done_again_and_nothing_of_others_is_written_over() -> None:
    write("a.jsonl", lines(map(chat, range(9))))
    assert not run("a.jsonl").again
    before = {path: path.stat().st_mtime_ns for path in Path("out").iterdir()}
    assert run("a.jsonl").again
    assert before == {path: path.stat().st_mtime_ns for path in Path("out").iterdir()}
    with pytest.raises(Unsupported, match="--overwrite"):
        run("a.jsonl", seed=1)
    write("out/mine.txt", b"mine")
    run("a.jsonl", seed=1, split={"train": 0.5, "test": 0.5}, overwrite=True)
    assert Path("out/mine.txt").read_bytes() == b"mine"
    assert not Path("out/data-00000.jsonl").exists()
    write("other/data-00000.jsonl", b"not ours")
    with pytest.raises(Unsupported, match="not empty"):
        run("a.jsonl", out="other/")
    write("b.jsonl", lines([chat(1)]))
    with pytest.raises(Unsupported, match="there already"):
        run("a.jsonl", out="b.jsonl")
    assert Path("b.jsonl").read_bytes() == lines([chat(1)])


def test_the_output_in_a_folder_of_inputs_is_no_input() -> None:
    write("logs/a.jsonl", lines(map(chat, range(9))))
    run("logs/", out="logs/out/")
    assert run("logs/", out="logs/out/").again
    done = run("logs/", out="logs/out/", overwrite=True)
    assert done.manifest["records"]["written"] == 9


KILLED = """
import os, signal, sys
sys.path.insert(0, {tests!r})
from dragoman.datasets import Job, Options, Run, inputs, job, shards
small = inputs.chunks
job.chunks = lambda files, options: small(files, options, 2000)
count = 0
rename = os.replace

def replace(*paths):
    global count
    count += 1
    if count == {at}:
        os.kill(os.getpid(), signal.SIGKILL)
    rename(*paths)

os.replace = replace
options = Options(target="functiongemma", shard_size=3000, dedup="exact")
Job(["a.jsonl"], options, Run(output="out", workers=1)).start()
"""


def test_a_job_that_was_killed_anywhere_goes_on_and_ends_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write("a.jsonl", lines(chat(n // 2) for n in range(60)) + b"{")
    small = files.chunks
    monkeypatch.setattr(job, "chunks", lambda inputs, options: small(inputs, options, 2000))
    options: dict[str, Any] = {"shard_size": 3000, "dedup": "exact"}
    whole = run("a.jsonl", out="whole", **options)
    shards = [shard["path"] for shard in whole.manifest["shards"]]
    assert len(shards) > 1
    seen = 0
    for at in (1, 3, 9, 14, 18, 22, 25, 200):
        code = KILLED.format(tests=str(Path(__file__).parent.parent), at=at)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        if done.returncode != -signal.SIGKILL:
            assert done.returncode == 0, done.stderr
            break
        for name in shards:  # what is there is whole
            if (path := Path("out", name)).exists():
                seen += 1
                assert path.read_bytes() == Path("whole", name).read_bytes()
        assert not Path("out/manifest.json").exists()
    assert seen
    assert everything("out") == everything("whole")
    assert not Path("out/.dragoman-job").exists()


def test_a_resumed_job_takes_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.jsonl", lines(map(chat, range(60))))
    small = files.chunks
    monkeypatch.setattr(job, "chunks", lambda inputs, options: small(inputs, options, 2000))
    done: list[int] = []
    most = 3
    convert = base.convert_here

    def counting(plan: Any, chunk: Any) -> None:
        if len(done) == most:
            raise KeyboardInterrupt
        done.append(chunk.number)
        convert(plan, chunk)

    monkeypatch.setattr(embedded, "convert_here", counting)
    with pytest.raises(KeyboardInterrupt):
        run("a.jsonl")
    with pytest.raises(Unsupported, match="unfinished job of other options"):
        run("a.jsonl", seed=5)
    most = 1000
    run("a.jsonl")
    assert sorted(done) == list(range(len(done)))


def test_workers_end_with_the_process_that_was_killed(tmp_path: Path) -> None:
    code = """
import os, signal
from dragoman.datasets import inputs, job, Job, Options, Run
from dragoman.datasets.engines.embedded import Pool
if __name__ == "__main__":
    pool = Pool(None, 2)
    pids = set(pool.pool.map(pid, range(8))) if False else {f.result() for f in
        [pool.pool.submit(os.getpid) for _ in range(8)]}
    print(*pids, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    script = tmp_path / "killed.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    left = [int(pid) for pid in done.stdout.split()]
    assert left
    end = time.monotonic() + 30
    while left and time.monotonic() < end:
        left = [pid for pid in left if is_running(pid)]
    assert not left


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def test_an_input_that_changes_meanwhile_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.jsonl", lines(map(chat, range(9))))

    def grow(state: Any) -> None:
        with Path("a.jsonl").open("ab") as file:
            file.write(b"\n")

    with pytest.raises(Unsupported, match="has changed"):
        Job(["a.jsonl"], Options(target="functiongemma"), Run(output="o/", workers=1), grow).start()
    assert not Path("o/manifest.json").exists()


def test_inputs_that_are_not_there() -> None:
    for path in ("nothing.jsonl", "-", "*.jsonl"):
        with pytest.raises((OSError, Unsupported)):
            run(path)
    Path("empty").mkdir()
    with pytest.raises(Unsupported, match="no file"):
        run("empty")


@pytest.mark.parametrize("value", [[], {}, "x", [{}], [{"id": "x", "type": "y"}], None], ids=str)
def test_what_has_none_but_plain_keys_is_no_container(value: Any) -> None:
    assert containers.kind_of(dict.fromkeys(records.PLAIN, value)) is None
    for key in records.PLAIN:
        assert containers.kind_of({key: value}) is None


def test_options_are_the_same_after_a_way_through_bytes() -> None:
    options = Options(target="functiongemma", split={"a": 1.0}, fail_on=("model",), sample=5)
    assert base.decoded(base.encoded(options)) == options
    assert msgspec.to_builtins(base.decoded(base.encoded(options))) == msgspec.to_builtins(options)
    with pytest.raises(Malformed):
        read_recipe("target = ")


def test_a_bug_rejects_its_record_and_says_nothing_of_what_it_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from dragoman.dialects.functiongemma import FunctionGemma

    write = FunctionGemma.write

    def failing(self: Any, tree: Any, log: Any) -> Any:
        if "city 1?" in str(tree):
            raise KeyError("hunter2")
        return write(self, tree, log)

    monkeypatch.setattr(FunctionGemma, "write", failing)
    Path("a.jsonl").write_bytes(lines(map(claude, range(3))))
    run("a.jsonl")
    assert len(texts()) == 2
    assert (rejects()[0]["code"], rejects()[0]["why"]) == ("bug", "KeyError; please report it")


def test_hostile_records_are_rejected() -> None:
    deep = b'{"model": "m", "messages": ' + b"[" * 5000 + b"]" * 5000 + b"}\n"
    odd = [
        b"null\n",
        b"5\n",
        b'"x"\n',
        b"[]\n",
        b"{}\n",
        b"\xff\xfe{}\n",
        deep,
        b'{"messages": 5}\n',
    ]
    write("a.jsonl", b"".join(odd) + lines([chat(1)]))
    done = run("a.jsonl")
    assert done.manifest["records"]["written"] == 1
    assert [r["line"] for r in rejects()] == list(range(1, 9))
    assert not {r["code"] for r in rejects()} & {"bug", "damaged"}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_chat_template_is_a_target_and_another_template_is_another_job(workers: int) -> None:
    template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    write("chat.jinja", template.encode())
    write("a.jsonl", lines(chat(i) for i in range(3)))
    done = run("a.jsonl", to="template:chat.jinja", workers=workers)
    assert texts()[1] == "<user>Say 1<assistant>It is 1."
    assert done.manifest["files"].keys() == {"chat.jinja"}
    write("chat.jinja", template.replace("<", "[").encode())
    with pytest.raises(Unsupported, match="of another job"):
        run("a.jsonl", to="template:chat.jinja")


def test_a_recipe_and_a_manifest_of_somebody_else_stay() -> None:
    write("a.jsonl", lines([chat(1)]))
    write("out.recipe.toml", b"mine")
    write("two.manifest.json", b"[mine]")
    for out in ("out.jsonl", "two.jsonl"):
        with pytest.raises(Unsupported, match="there already"):
            run("a.jsonl", out=out)
    assert Path("out.recipe.toml").read_bytes() == b"mine"
    assert Path("two.manifest.json").read_bytes() == b"[mine]"
    assert not Path("out.jsonl").exists()


def test_two_processes_do_not_write_one_output() -> None:
    write("a.jsonl", lines([chat(1)]))
    first = Job(["a.jsonl"], Options(target="functiongemma"), Run(output="out/", workers=1))
    first.prepare()
    with pytest.raises(Unsupported, match="another process"):
        run("a.jsonl")
    with pytest.raises(Unsupported, match="another process"):
        run("a.jsonl", overwrite=True)
    assert first.held is not None
    first.held.close()
    run("a.jsonl")


def test_a_shard_that_was_removed_is_written_again() -> None:
    write("a.jsonl", lines([chat(1)]))
    run("a.jsonl")
    Path("out/data-00000.jsonl").unlink()
    assert not run("a.jsonl").again
    assert len(texts()) == 1


def test_parquet_is_read_as_it_was_written() -> None:
    write("a.jsonl", lines([claude(1), claude(2)]))
    run("a.jsonl", to="trl", out="a.parquet")
    run("a.parquet", to="trl", source="trl", out="again/")
    run("a.jsonl", to="trl", out="lines/")
    assert read("again/") == read("lines/")


def test_the_report_shows_what_strangers_wrote_and_runs_none_of_it() -> None:
    odd = claude(1)
    odd["tools"][0] = TOOL | {"name": "<script>alert(1)</script>"}
    odd["messages"][1]["content"][1]["name"] = "<script>alert(1)</script>"
    Path("in").mkdir()
    write("in/<img src=x>.jsonl", lines([odd, claude(2, 30), chat(3)]) + b"{")
    run("in/", split={"a": 0.5, "b": 0.5}, redact=("keys",), redact_patterns=("hunter2",))
    page = Path("out/report.html").read_text("utf-8")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert not [sign for sign in ("<script", "<img", "http:", "https:") if sign in page]
    assert "hunter2" not in page + Path("out/manifest.json").read_text()
    from html.parser import HTMLParser

    opened: list[str] = []

    class Balanced(HTMLParser):
        def handle_starttag(self, tag: str, attrs: Any) -> None:
            if tag != "meta":
                opened.append(tag)

        def handle_startendtag(self, tag: str, attrs: Any) -> None:
            pass

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

    Balanced().feed(page)
    assert not opened
    for title in ("Length in characters", "Tools called", "Losses by source", "Splits", "Redacted"):
        assert (f"<h2>{title}</h2>" in page) is (title != "Redacted")


def test_a_system_prompt_alone_is_a_record_wherever_it_stands() -> None:
    request = {"model": "m", "messages": [{"role": "system", "content": "Say hi."}]}
    write("a.jsonl", lines([request]))
    for target in ("trl", "openai-responses", "gemini", "chatml"):
        done = run("a.jsonl", to=target, source="openai-chat", out=f"{target}/")
        assert done.manifest["records"]["written"] == 1
