"""Whole trees of stored conversations, in place: what `dragoman migrate` promises.

The law: a second run changes nothing, and `--back` restores what was there, over the corpus.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import places
from transcripts import dragoman

CORPUS = places.CORPUS
TARGETS = ("openai-chat", "anthropic-messages", "openai-responses", "gemini")


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def values(folder: Path) -> dict[str, Any]:
    return {name: json.loads(data) for name, data in tree(folder).items()}


def stored(source: str, folder: Path) -> Path:
    """The requests of the corpus in one dialect, in folders, and wrapped as sessions."""
    for case in sorted(CORPUS.iterdir())[::3]:
        file = case / f"{source}.request.json"
        if file.exists():
            place = folder / case.name[0] / f"{case.name}.json"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.read_bytes())
    assert len(list(folder.rglob("*.json"))) > 10
    return folder


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", TARGETS[:2])
def test_a_second_run_changes_nothing_and_the_way_back_is_exact(
    source: str, target: str, tmp_path: Path
) -> None:
    folder = stored(source, tmp_path)
    before = values(folder)
    arguments = ["migrate", "-f", source, str(folder)]
    first = dragoman([*arguments, "-t", target])
    assert first[2] in (0, 3), first[1]  # a target may have no form for a case
    after = tree(folder)
    assert dragoman([*arguments, "-t", target])[2] == first[2]
    assert tree(folder) == after
    assert dragoman(["migrate", "--back", str(folder)])[2] == 0
    assert json.dumps(values(folder)) == json.dumps(before)  # the order of keys included


def test_one_migration_after_the_other_comes_back_step_by_step(tmp_path: Path) -> None:
    folder = stored("anthropic-messages", tmp_path)
    before = values(folder)
    for source, target in (("anthropic", "chat"), ("chat", "responses")):
        assert dragoman(["migrate", "-f", source, "-t", target, str(folder)])[2] in (0, 3)
    for _ in range(2):
        assert dragoman(["migrate", "--back", str(folder)])[2] == 0
    assert values(folder) == before


def test_what_has_grown_since_then_comes_back_too(tmp_path: Path) -> None:
    file = tmp_path / "session.json"
    reasoning = {"type": "thinking", "thinking": "Hm.", "signature": "EqQBCkYIBxgC"}
    written = [{"role": "user", "content": "Hi"}]
    written += [{"role": "assistant", "content": [reasoning, {"type": "text", "text": "Hello"}]}]  # type: ignore[dict-item]
    file.write_text(json.dumps({"id": 7, "messages": written}))
    arguments = ["migrate", "-f", "anthropic", "-t", "chat", "--at", "/messages", str(file)]
    assert dragoman(arguments)[2] == 0
    session = json.loads(file.read_text())
    assert "Hm." not in file.read_text()
    session["messages"].append({"role": "user", "content": "And now?"})
    file.write_text(json.dumps(session))
    assert dragoman(arguments)[2] == 0  # it is still in the target dialect
    assert json.loads(file.read_text()) == session
    assert dragoman(["migrate", "--back", str(file)])[2] == 0
    assert json.loads(file.read_text()) == {
        "id": 7,
        "messages": [*written, {"role": "user", "content": "And now?"}],
    }


def test_who_is_stopped_between_the_two_files_has_lost_nothing(
    tmp_path: Path, monkeypatch: Any
) -> None:
    folder = stored("anthropic-messages", tmp_path)
    before = tree(folder)
    real = os.replace

    def stopped(name: str, path: Path) -> None:
        if not str(path).endswith(".capsule.json"):
            raise KeyboardInterrupt
        real(name, path)

    monkeypatch.setattr(os, "replace", stopped)
    assert dragoman(["migrate", "-f", "anthropic", "-t", "chat", str(folder)])[2] == 130
    capsules = {k: v for k, v in tree(folder).items() if k.endswith(".capsule.json")}
    assert len(capsules) == 1
    assert {k: v for k, v in tree(folder).items() if k not in capsules} == before
    monkeypatch.setattr(os, "replace", real)
    assert dragoman(["migrate", "-f", "anthropic", "-t", "chat", str(folder)])[2] in (0, 3)
    assert dragoman(["migrate", "--back", str(folder)])[2] == 0
    assert {k: json.loads(v) for k, v in before.items()} == values(folder)


def test_how_a_file_is_indented_stays(tmp_path: Path) -> None:
    for indent in (None, 1, 2, 4):
        file = tmp_path / f"{indent}.json"
        request = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
        file.write_text(
            json.dumps(request, indent=indent, separators=(",", ": " if indent else ":"))
        )
        before = file.read_bytes()
        assert dragoman(["migrate", "-f", "anthropic", "-t", "chat", str(file)])[2] == 0
        assert file.read_bytes() != before
        assert dragoman(["migrate", "--back", str(file)])[2] == 0
        assert file.read_bytes() == before


def test_a_capsule_that_is_none_is_not_written_over(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text('{"model": "m", "max_tokens": 9, "messages": []}')
    other = tmp_path / "a.json.capsule.json"
    other.write_text("{}")
    _, written, code = dragoman(["migrate", "-f", "anthropic", "-t", "chat", str(file)])
    assert code == 4
    assert "not a file that migrate wrote" in written
    assert other.read_text() == "{}"


def test_a_migration_that_was_stopped_leaves_nothing_for_the_way_back(
    tmp_path: Path, monkeypatch: Any
) -> None:
    """What a capsule says of a file that was never written is forgotten by the next run."""
    written = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    call = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    written += [{"role": "assistant", "content": [call]}]
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"one": written, "two": written}))
    before = json.loads(file.read_text())
    real = os.replace

    def stopped(name: str, path: Path) -> None:
        if not str(path).endswith(".capsule.json"):
            raise KeyboardInterrupt
        real(name, path)

    arguments = ["migrate", "-f", "anthropic", "-t", "chat", str(file), "--at"]
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", stopped)
        assert dragoman([*arguments, "/one"])[2] == 130
    assert dragoman([*arguments, "/two"])[2] == 0
    assert json.loads(file.read_text())["one"] == before["one"]
    capsule = json.loads((tmp_path / "a.json.capsule.json").read_text())
    assert [part["at"] for part in capsule["parts"]] == ["/two"]
    assert dragoman(["migrate", "--back", str(file)])[2] == 0
    assert json.loads(file.read_text()) == before


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
from dragoman.cli import main
sys.exit(main())
"""


def test_a_full_disk_leaves_every_file_as_it_was_and_the_others_are_done(tmp_path: Path) -> None:
    """The capsule of one fits and the file does not, or the other way round; one fits whole."""
    reasoning = {"type": "thinking", "thinking": "Hm. " * 3000, "signature": "EqQBCkYIBxgC"}
    text = {"type": "text", "text": "Hm. " * 3000}
    for name, block in (("a", text), ("b", reasoning), ("c", text | {"text": "Hello"})):
        written = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [block]}]
        request = {"model": "m", "max_tokens": 9, "messages": written, "stop_sequences": ["x"]}
        (tmp_path / f"{name}.json").write_text(json.dumps(request))
    before = tree(tmp_path)
    arguments = ["migrate", "-f", "anthropic", "-t", "chat", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 5, done.stderr
    after = tree(tmp_path)
    assert set(after) == {*before, "c.json.capsule.json"}
    assert [name for name in before if after[name] != before[name]] == ["c.json"]
    squeezed = "".join(done.stderr.split())  # long paths are wrapped
    assert f"{tmp_path}/a.json:error:filetoolarge" in squeezed
    assert f"{tmp_path}/b.json.capsule.json:error:filetoolarge" in squeezed
    assert "1filemigrated,2failedandunchanged" in squeezed
    assert "standardoutput" not in squeezed


def test_an_empty_history_is_in_every_dialect_already(tmp_path: Path) -> None:
    """A session that nobody has spoken in keeps no other from being migrated."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    written = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [call]}]
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"sessions": [{"history": written}, {"history": []}]}))
    arguments = ["migrate", "-f", "anthropic", "-t", "chat", "--at", "/sessions/*/history"]
    assert dragoman([*arguments, str(file)])[2] == 0
    first, second = json.loads(file.read_text())["sessions"]
    assert "tool_calls" in first["history"][1]
    assert second["history"] == []
    file.write_text("[]")
    out, _, code = dragoman(["convert", "-f", "anthropic", "-t", "chat", str(file)])
    assert (json.loads(out), code) == ([], 0)
