"""A session of any size, for the commands that show and read long ones.

python -m benchmarks.session FILE.json|FILE.jsonl [--megabytes 50] [--dialect openai-chat]

A ``.json`` is one request with the whole history of a coding agent; a ``.jsonl`` has one request
per line, each of some 20 kB. Everything comes from a fixed seed (see ``workload``).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from benchmarks import workload  # noqa: E402

MEGABYTES = 50
LINE = 20_000
"""How many bytes of history a line of a ``.jsonl`` has."""
VARIETY = 50
"""How many different conversations there are; then they come again."""


def whole(size: int, dialect: str) -> bytes:
    """One request of so many bytes."""
    return workload.wire(workload.large(size=size, most=30_000), dialect)


def lines(size: int, dialect: str) -> Iterator[bytes]:
    """Requests, one per line, until there are so many bytes."""
    seeds = range(workload.SEED, workload.SEED + VARIETY)
    talks = [workload.wire(workload.large(seed, LINE), dialect) + b"\n" for seed in seeds]
    written = number = 0
    while written < size:
        yield talks[number % VARIETY]
        written += len(talks[number % VARIETY])
        number += 1


def write(path: Path, size: int, dialect: str) -> None:
    with open(path, "wb") as file:
        if path.suffix == ".jsonl":
            file.writelines(lines(size, dialect))
        else:
            file.write(whole(size, dialect))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("file", type=Path)
    options.add_argument("--megabytes", type=float, default=MEGABYTES, metavar="N")
    options.add_argument("--dialect", choices=sorted(workload.SPEAKERS), default="openai-chat")
    chosen = options.parse_args()
    write(chosen.file, int(chosen.megabytes * 1_000_000), chosen.dialect)
    return 0


if __name__ == "__main__":
    sys.exit(main())
