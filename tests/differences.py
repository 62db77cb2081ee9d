"""What a change does to conversions: all documents of the corpus in all dialects, before and after.

python tests/differences.py [REVISION] [--recorded] [--show N]

Converts each document and each stream of this tree's corpus (with ``--recorded``, those of
``../shared`` too) with the code of REVISION (``main`` unless named) and with the code of this tree,
and compares documents, bytes and ledgers. A change that should alter no conversion prints one line;
any other is listed by target and code, with the first N differences in full. Exit code 1 where
something differs.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import places

ROOT = Path(__file__).resolve().parent.parent
SUFFIXES = {".sse", ".ndjson", ".eventstream", ".jsonl", ".json"}
STREAM = "stream"


class Source(NamedTuple):
    """A document or the bytes of a stream."""

    name: str
    dialect: str
    facet: str
    body: Any


def documents() -> Iterator[Source]:
    """The whole and the degraded documents of tests/corpus."""
    from dragoman.testing import load_corpus

    for case in load_corpus(ROOT / "tests" / "corpus"):
        for document in case.documents:
            name = document.name + ".degraded" * document.degraded
            yield Source(name, document.dialect, document.facet, document.body)


def read_documents(path: Path) -> Iterator[Source]:
    """What ``documents`` gave: another revision may not know how to read the corpus."""
    for line in path.read_text("utf-8").splitlines():
        yield Source(*json.loads(line))


def streams() -> Iterator[Source]:
    for path in sorted(places.AWKWARD.iterdir()):
        parts = path.name.split(".")
        if f".{parts[-1]}" in SUFFIXES and len(parts) >= 3:
            yield Source(path.name, parts[-2], STREAM, path.read_bytes())


def recorded() -> Iterator[Source]:
    sys.path.insert(0, str(ROOT))
    from conformance import reality

    for dialect in reality.DIALECTS:
        for facet in reality.FACETS:
            for record in reality.records(dialect, facet):
                yield Source(record.name, dialect, facet, record.body)
        for stream in reality.streams(dialect):
            yield Source(stream.name, dialect, STREAM, stream.data)


def sources(also_recorded: bool, corpus: Iterable[Source]) -> Iterator[Source]:
    yield from corpus
    yield from streams()
    if also_recorded:
        yield from recorded()


def convert(source: Source, target: str) -> tuple[bytes, list[str]]:
    """The bytes and the ledger; where there is no document, why."""
    import dragoman

    try:
        result = dragoman.convert(
            source.body, source=source.dialect, target=target, facet=source.facet, now=0.0
        )
    except dragoman.DragomanError as error:
        return f"{type(error).__name__}: {error}".encode(), []
    data = result.document
    if not isinstance(data, bytes):
        data = json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return data, [str(loss) for loss in result.losses]


def record(corpus: Path, also_recorded: bool, wanted: frozenset[str]) -> Iterator[str]:
    """A line for each conversion; those that are wanted with what they gave."""
    import dragoman

    for source in sources(also_recorded, read_documents(corpus)):
        for target in dragoman.dialects.names():
            key = f"{source.name} {source.facet} > {target}"
            if wanted and key not in wanted:
                continue
            data, losses = convert(source, target)
            line = [key, blake2b(data, digest_size=8).hexdigest(), losses]
            yield json.dumps([*line, data.decode("utf-8", "replace")] if wanted else line)


def run(
    tree: Path, corpus: Path, also_recorded: bool, wanted: Iterable[str] = ()
) -> dict[str, list[Any]]:
    """What the code of a tree makes of this tree's documents."""
    command = [sys.executable, str(Path(__file__).resolve()), "--record", str(corpus)]
    command += ["--recorded"] if also_recorded else []
    environment = os.environ | {"PYTHONPATH": str(tree / "src"), "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        command,
        env=environment,
        input="\n".join(wanted),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {row[0]: row[1:] for row in rows}


def report(before: dict[str, list[Any]], after: dict[str, list[Any]]) -> list[str]:
    """Print what differs, by target and code; gives the keys, those of other reasons alone last."""
    gone = sorted(before.keys() - after.keys())
    come = sorted(after.keys() - before.keys())
    both = [key for key in before if key in after]
    other = [key for key in both if before[key][0] != after[key][0]]
    ledgers = [key for key in both if before[key][1] != after[key][1]]
    coded = [key for key in ledgers if placed(before[key][1]) != placed(after[key][1])]
    counts = f"{len(after)} conversions: {len(other)} documents differ, {len(coded)} ledgers"
    print(f"{counts} (and {len(ledgers) - len(coded)} in their reasons or their order alone)")
    if gone or come:
        print(f"  {len(gone)} no longer possible, {len(come)} new")
    for target, count in Counter(key.rpartition(" > ")[2] for key in other).most_common():
        print(f"  {count:6} documents  {target}")
    entries: Counter[str] = Counter()
    for key in ledgers:
        was, is_ = (Counter(map(headless, side[key][1])) for side in (before, after))
        target = key.rpartition(" > ")[2]
        for sign, losses in (("-", was - is_), ("+", is_ - was)):
            entries.update(f"{sign} {_without(loss, target)}" for loss in losses.elements())
    for entry, count in entries.most_common():
        print(f"  {count:6} losses     {entry}")
    return [*dict.fromkeys([*other, *coded, *ledgers]), *gone, *come]


def placed(losses: list[str]) -> Counter[str]:
    """Kinds, codes and places of printed losses, without their reasons."""
    return Counter(loss.partition(" (")[0] for loss in losses)


def headless(loss: str) -> str:
    """Kind, code and reason of a printed loss, without its place."""
    head, _, reason = loss.partition(" (")
    return f"{head.partition(' at ')[0]} ({reason}"


def _without(loss: str, target: str) -> str:
    """A reason without the name of the target, so that those of all targets are one."""
    return loss.replace(f"({target} ", "(TARGET ").replace(f" {target}", " TARGET")


def show(keys: list[str], base: Path, corpus: Path, also_recorded: bool) -> None:
    """Some differences in full."""
    before, after = (run(tree, corpus, also_recorded, keys) for tree in (base, ROOT))
    for key in keys:
        print(f"\n{key}")
        was, is_ = lines_of(before.get(key)), lines_of(after.get(key))
        for line in difflib.unified_diff(was, is_, "before", "after", lineterm="", n=1):
            print(f"  {line}")


def lines_of(row: list[Any] | None) -> list[str]:
    if row is None:
        return ["(no conversion)"]
    _, losses, text = row
    with suppress(ValueError):
        text = json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    return [*text.splitlines(), *losses]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("revision", nargs="?", default="main")
    parser.add_argument("--recorded", action="store_true", help="the recordings of ../shared too")
    parser.add_argument("--show", type=int, default=5, metavar="N", help="differences in full")
    parser.add_argument("--record", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.record:
        for line in record(
            options.record, options.recorded, frozenset(sys.stdin.read().splitlines())
        ):
            print(line)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        base, corpus = Path(folder) / "base", Path(folder) / "corpus.jsonl"
        sys.path.insert(0, str(ROOT / "src"))
        corpus.write_text("".join(json.dumps(source) + "\n" for source in documents()), "utf-8")
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run(
            [*git, "add", "--quiet", "--detach", str(base), options.revision], check=True
        )
        try:
            before, after = (run(tree, corpus, options.recorded) for tree in (base, ROOT))
            keys = report(before, after)
            if keys and options.show:
                show(keys[: options.show], base, corpus, options.recorded)
        finally:
            subprocess.run([*git, "remove", "--force", str(base)], check=True)
    return 1 if keys else 0


if __name__ == "__main__":
    sys.exit(main())
