"""What dragoman costs before it does anything: time to import, space on disk."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "dragoman"
FIRST = (
    'import dragoman; dragoman.convert(b\'{"model":"m","max_tokens":1,"messages":[]}\', '
    "source='anthropic-messages', target='openai-chat').to_json()"
)


def start_up(code: str, runs: int) -> float:
    """Milliseconds that ``python -c code`` takes beyond ``python -c pass``, the median of runs."""
    _spawn(code)  # writes the byte code, once
    return statistics.median(_spawn(code) - _spawn("pass") for _ in range(runs)) * 1000


def _spawn(code: str) -> float:
    env = os.environ | {"PYTHONPATH": str(SOURCE.parent)}
    start = perf_counter()
    subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True)
    return perf_counter() - start


def installed_size() -> dict[str, int]:
    """Bytes on disk of dragoman and of what it requires, byte code included."""
    return {"dragoman": _tree_size(SOURCE), "msgspec": _distribution_size("msgspec")}


def _tree_size(folder: Path) -> int:
    tag = sys.implementation.cache_tag
    return sum(
        path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file() and (path.suffix != ".pyc" or f".{tag}." in path.name)
    )


def _distribution_size(name: str) -> int:
    files = metadata.files(name) or []
    return sum(path.stat().st_size for f in files if (path := Path(str(f.locate()))).is_file())
