"""The engine of Ray, on a real cluster of this machine: the same files as the embedded one."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.datasets import Job, Options, Run, inputs, job


def files(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.iterdir() if path.name != "recipe.toml"}


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ray_writes_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chat = {"model": "gpt-5", "max_completion_tokens": 5}
    rows = [
        json.dumps(chat | {"messages": [
            {"role": "user", "content": f"Say {i % 50}"},
            {"role": "assistant", "content": f"It is {i % 50}. " * 20}]})
        for i in range(120)
    ]  # fmt: skip
    (tmp_path / "a.jsonl").write_text("\n".join(rows) + "\n{bad\n")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress("\n".join(rows[:30]).encode()))
    small = inputs.chunks
    monkeypatch.setattr(job, "chunks", lambda files, options: small(files, options, 5000))
    values: dict[str, Any] = {"target": "functiongemma", "dedup": "exact", "shuffle": True}
    values |= {"split": {"train": 0.7, "test": 0.3}, "shard_size": 9000}
    paths = [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl.gz")]
    for engine in ("embedded", "ray"):
        run = Run(output=str(tmp_path / engine), workers=2, engine=engine)
        Job(paths, Options(**values), run).start()
    made = files(tmp_path / "ray")
    assert len([name for name in made if name.endswith(".jsonl")]) > 3
    assert made == files(tmp_path / "embedded")
