"""The driver: makes inputs, asks the oracles, minimises what breaks one, and stores it.

python -m fuzz --runs 2000             so many inputs, the same in every run
python -m fuzz --minutes 10            as many as that takes, others than with another --seed
python -m fuzz --minutes 10 --guided   led by coverage (atheris)
python -m fuzz --replay FILE ...       what a stored input does now
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import seeds
from dragoman.testing import speaks

from . import ROOT, mutations, oracles, streams
from .dice import Bytes, Dice, Seeded, one_of
from .oracles import Case, Stream, Talk

CRASHES = ROOT / "fuzz" / "crashes"
EACH = 10
"""Progress is printed so often, in seconds."""
ENOUGH = 40
"""After so many different faults there is something to be repaired first."""
SHOWN = 1500
"""So much is printed of an input."""
TRIES = 1500
"""How many smaller inputs are tried for a fault."""


def case_of(dice: Dice) -> Case:
    """The input that a row of choices amounts to: a stream in one of four, else a document."""
    if not dice.below(4):
        dialect, target = one_of(dice, seeds.STREAMS), one_of(dice, seeds.STREAMS)
        tame = bool(dice.below(2))
        data = (streams.unusual if tame else streams.mangled)(dialect, dice)
        cuts = sorted({dice.below(len(data) + 1) for _ in range(1 + dice.below(4))})
        return Stream(dialect, target, data, cuts, tame)
    dialect, facet = one_of(dice, seeds.FACES)
    target = one_of(dice, targets(facet))
    document = one_of(dice, seeds.documents(dialect, facet))
    if dice.below(3):
        document = mutations.recombined(document, dialect, facet, dice)
    tame = bool(dice.below(2))
    if tame:
        document = mutations.with_keys(document, seeds.keys(dialect, facet), dice)
    else:
        document = mutations.mutated(document, dice)
    return Talk(dialect, facet, target, document, tame)


@cache
def targets(facet: str) -> list[str]:
    """The dialects that write a facet, each once: one with few facets is tried as often."""
    return list(dict.fromkeys(name for name, _ in seeds.FACES if speaks(name, facet)))


def signature(oracle: str, problem: BaseException) -> str:
    """What tells one fault from another: its message without values, or where it was raised."""
    if isinstance(problem, AssertionError):
        words = re.sub(r"'[^']*'|\"[^\"]*\"|\d+", "_", str(problem).split("\n")[0])
        return f"{oracle}: {words[:100]}"
    frames = [f for f in traceback.extract_tb(problem.__traceback__) if "/dragoman/" in f.filename]
    where = f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else "?"
    return f"{oracle}: {type(problem).__name__} in {where}"


# -- smaller inputs ----------------------------------------------------------------------------


def minimised(case: Case, oracle: str, problem: BaseException) -> Case:
    """A smaller case that breaks the same oracle in the same way."""
    sign, tries = signature(oracle, problem), 0
    progress = True
    while progress and tries < TRIES:
        progress = False
        for smaller in reduced(case):
            tries += 1
            found = dict(oracles.faults(smaller, only=oracle))
            if any(signature(name, fault) == sign for name, fault in found.items()):
                case, progress = smaller, True
                break
            if tries >= TRIES:
                break
    return case


def reduced(case: Case) -> Iterator[Case]:
    """Cases that are smaller by one thing, those that lack much first."""
    if isinstance(case, Stream):
        frames = case.data.split(b"\n\n")
        for number in range(len(frames)):
            data = b"\n\n".join(frames[:number] + frames[number + 1 :])
            cuts = [cut for cut in case.cuts if cut <= len(data)]
            yield Stream(case.dialect, case.target, data, cuts, case.tame)
        for number in range(len(case.cuts)):
            cuts = case.cuts[:number] + case.cuts[number + 1 :]
            yield Stream(case.dialect, case.target, case.data, cuts, case.tame)
        return
    for document in smaller(case.document):
        yield Talk(case.dialect, case.facet, case.target, document, case.tame)


SIMPLE: tuple[Any, ...] = ("x", {}, [], 0)


def smaller(document: Any) -> Iterator[Any]:
    places = sorted(seeds.nodes(document), key=lambda node: -len(oracles.text(node[1])))
    for path, value in places:
        if path:
            yield without(document, path)
        if len(oracles.text(value)) > 4:
            yield from (edited(document, path, simple) for simple in SIMPLE)


def without(document: Any, path: seeds.Place) -> Any:
    """The document without one key or item."""
    holder = seeds.at(document, path[:-1])
    rest: Any = (
        {key: item for key, item in holder.items() if key != path[-1]}
        if isinstance(holder, dict)
        else holder[: path[-1]] + holder[path[-1] + 1 :]
    )
    return edited(document, path[:-1], rest)


def edited(value: Any, path: seeds.Place, new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = edited(value[path[0]], path[1:], new)
    return copy


# -- runs --------------------------------------------------------------------------------------


class Run:
    """What was tried, and what was found."""

    def __init__(self, *, store: Path | None = CRASHES, only: str | None = None) -> None:
        self.only = only
        self.started = self.told = time.monotonic()
        self.count = 0
        self.kinds: Counter[str] = Counter()
        self.found: Counter[str] = Counter()
        self.store = store

    def take(self, case: Case) -> None:
        self.count += 1
        self.kinds[case.kind] += 1
        if isinstance(case, Talk) and oracles.is_refused(case):
            self.kinds["refused"] += 1
        for oracle, problem in oracles.faults(case, self.only):
            sign = signature(oracle, problem)
            self.found[sign] += 1
            if self.found[sign] == 1:
                self.keep(case, oracle, problem)
        if time.monotonic() - self.told > EACH:
            self.told = time.monotonic()
            print(self, file=sys.stderr, flush=True)

    def keep(self, case: Case, oracle: str, problem: BaseException) -> None:
        small = minimised(case, oracle, problem)
        says = f"{type(problem).__name__}: {problem}"[:400]
        for name, fault in oracles.faults(small, only=oracle):
            says = f"{type(fault).__name__}: {fault}"[:400]
            assert name == oracle
        shown = f"{signature(oracle, problem)}\n  {says}\n  {json.dumps(small.stored())[:SHOWN]}"
        print(shown.encode("ascii", "backslashreplace").decode(), flush=True)
        if self.store is not None:
            path = self.store / f"{oracle}-{oracles.digest(small)}.json"
            stored = {"oracle": oracle, "fault": says, **small.stored()}
            path.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")

    def summary(self) -> int:
        """Print what was found, and give the exit code."""
        print(self)
        for sign, count in self.found.most_common():
            print(f"  {count} x {sign}".encode("ascii", "backslashreplace").decode())
        sys.stdout.flush()
        return 1 if self.found else 0

    def __str__(self) -> str:
        took = time.monotonic() - self.started
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.kinds.items()))
        return f"{self.count} inputs ({kinds}), {self.count / took:.0f}/s, {len(self.found)} faults"


def seeded(
    run: Run, seed: str, runs: int | None, minutes: float | None, enough: int = ENOUGH
) -> None:
    """Random choices, the same ones for the same seed."""
    number = 0
    while (runs is None or number < runs) and len(run.found) < enough:
        if minutes is not None and time.monotonic() - run.started > minutes * 60:
            break
        run.take(case_of(Seeded(f"{seed}/{number}")))
        number += 1


def guided(run: Run, minutes: float) -> None:
    """Choices that atheris makes, led by which code they reach; it never returns."""
    import atheris

    def take(data: bytes) -> None:
        run.take(case_of(Bytes(data)))
        if time.monotonic() - run.started > minutes * 60 or len(run.found) >= ENOUGH:
            os._exit(run.summary())

    options = ["-max_len=400", "-len_control=0", "-verbosity=0"]
    atheris.Setup([sys.argv[0], *options], take)
    atheris.Fuzz()


def replay(paths: list[str]) -> bool:
    """Ask the oracles about stored inputs; whether none is broken."""
    clean = True
    for path in paths:
        case = oracles.loaded(json.loads(Path(path).read_text("utf-8")))
        for oracle, problem in oracles.faults(case):
            clean = False
            print(f"{path}: {oracle}")
            traceback.print_exception(problem, limit=-4)
    return clean


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--enough", type=int, default=ENOUGH)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--guided", action="store_true")
    parser.add_argument("--only", metavar="ORACLE", help="ask no other oracle")
    parser.add_argument("--no-store", action="store_true")
    parser.add_argument("--replay", nargs="+", metavar="FILE")
    asked = parser.parse_args()
    if asked.replay:
        return 0 if replay(asked.replay) else 1
    run = Run(store=None if asked.no_store else CRASHES, only=asked.only)
    if asked.guided and find_spec("atheris") is not None:
        guided(run, asked.minutes or 10)
    else:
        asked.minutes = asked.minutes or (None if asked.runs else 10)
        seeded(run, asked.seed, asked.runs, asked.minutes, asked.enough)
    return run.summary()
