"""What dragoman costs before it does anything: time to import, space on disk."""

from __future__ import annotations

import compileall
import importlib.util
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.timing import Timing

ROOT = Path(__file__).resolve().parent.parent
FIRST = (
    'import dragoman; dragoman.convert(b\'{"model":"m","max_tokens":1,"messages":[]}\', '
    "source='anthropic-messages', target='openai-chat').to_json()"
)


@contextmanager
def installation() -> Iterator[Path]:
    """Dragoman and msgspec as pip leaves them, byte code included, in a folder of their own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for package in (ROOT / "src" / "dragoman", _package("msgspec")):
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(package, folder / package.name, ignore=ignore)
        compileall.compile_dir(folder, quiet=2)
        yield folder


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def start_up(code: str, folder: Path, runs: int) -> Timing:
    """Milliseconds of the processor that ``python -c code`` takes beyond ``python -c pass``."""
    _spawn(code, folder)
    taken = [(_spawn(code, folder), _spawn("pass", folder)) for _ in range(runs)]
    best = min(ours for ours, _ in taken) - min(empty for _, empty in taken)
    return Timing(best * 1e3, statistics.median(ours - empty for ours, empty in taken) * 1e3)


def _spawn(code: str, folder: Path) -> float:
    env = os.environ | {"PYTHONPATH": str(folder)}
    before = spent()
    subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True)
    return spent() - before


def spent() -> float:
    """The time of the processor that all children have taken."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def size(folder: Path, byte_code: bool = True) -> dict[str, int]:
    """Bytes on disk of each package, with or without what Python compiles of it."""
    return {
        package.name: sum(
            path.stat().st_size
            for path in package.rglob("*")
            if path.is_file() and (byte_code or path.suffix != ".pyc")
        )
        for package in folder.iterdir()
    }
