"""Finds for a mutant that survives an input which tells it from the original.

In a process of its own the mutant is put in and taken out again: first the inputs of the pool that
reach it are converted, then changes of these. What gives another document or another ledger is
made small and handed back, if all laws hold for it.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
from collections.abc import Callable, Iterator
from itertools import islice
from types import FrameType
from typing import Any, NamedTuple

import kept
import seeds
from dragoman import DragomanError
from fuzz import streams
from fuzz.dice import Seeded, one_of
from fuzz.run import edited, without
from kept import STREAM, Case, Failed, Outcome

from .checks import Reach, kept_check
from .judging import Judge, Switch, loaded_by
from .mutating import Module
from .pool import Pool, as_tree, digest, reached, to_tree, varied

POOL, FRESH, SMALLER = 1500, 450, 300
"""So many inputs of the pool are tried, so many new ones, and so many that are smaller."""
FEW = 60
"""With fewer inputs that reach a mutant, those that reach its function are taken as well."""
BATCH = 30
"""So many new inputs are converted before the mutant is put in or taken out."""
SLOW = 1.0
"""An input that takes longer with a mutant is told by that."""
LONG = 14
"""Texts that are longer are tried without their middle."""
TRIES = 2
"""So many inputs that break a law are passed over."""


LINE = "\n"


class Told(NamedTuple):
    """An input that tells a mutant from the original."""

    case: Case | None
    wanted: Outcome | None
    lines: list[tuple[int, int]]
    broken: list[tuple[Case, str]]
    """other inputs that do, but break a law without any mutant"""
    tried: int


class Late(BaseException):
    """A conversion takes too long."""


def _late(number: int, frame: FrameType | None) -> None:
    raise Late


class Teller:
    def __init__(self, judge: Judge, pool: Pool) -> None:
        self.judge, self.pool = judge, pool
        self.broken: set[str] = set()
        """inputs that broke a law, and were printed"""

    def keep(self, module: Module, number: int) -> bool:
        """Keep a case that tells a mutant; whether there is one. Broken laws are printed."""
        if loaded_by(module, number):
            return False  # it is loaded, and cannot be taken out again
        found = self.told(module, number)
        for case, problem in found.broken:
            if (written := stored(case)) not in self.broken:
                self.broken.add(written)
                print(f"  breaks a law: {problem.split(LINE)[0][:300]}\n    {written}", flush=True)
        if found.case is None or found.wanted is None:
            return False
        if not kept.alike(kept.outcome(found.case), found.wanted):
            return False  # the mutant has left something behind in the process of the search
        self.judge.add(kept_check(found.case, found.wanted), found.lines)
        kept.save([*kept.load(), (found.case, found.wanted)])
        print(f"  told: {found.case.name}", flush=True)
        return True

    def told(self, module: Module, number: int) -> Told:
        readable, writable = os.pipe()
        if not (child := os.fork()):
            os.close(readable)
            try:
                found = Search(self, module, number).run()
                with os.fdopen(writable, "wb") as pipe:
                    pickle.dump(found, pipe)
            finally:
                os._exit(0)
        os.close(writable)
        with os.fdopen(readable, "rb") as pipe:
            written = pipe.read()
        os.waitpid(child, 0)
        return pickle.loads(written) if written else Told(None, None, [], [], 0)


class Search:
    """The search for one mutant, in the child."""

    def __init__(self, teller: Teller, module: Module, number: int) -> None:
        judge, self.pool = teller.judge, teller.pool
        self.module, self.number = module, number
        self.switch = Switch(module, number, judge.functions, judge.caches)
        self.files = judge.reach.files
        self.tried = 0
        signal.signal(signal.SIGPROF, _late)

    def run(self) -> Told:
        broken: list[tuple[Case, str]] = []
        if not self.switch.turn(on=True):
            return Told(None, None, [], [], 0)
        for case in self.differing():
            small, problem = self.shrunk(case)
            self.switch.turn(on=False)
            if problem is None:
                lines = reached(Reach(self.files), small)
                return Told(small, kept.outcome(small), lines, broken, self.tried)
            broken.append((small, problem))
            if len(broken) >= TRIES:
                break
            self.switch.turn(on=True)
        return Told(None, None, [], broken, self.tried)

    def differing(self) -> Iterator[Case]:
        """Inputs whose result is another one; the mutant is in before and after each."""
        near = self.pool.reach.reach(self.module, self.number)
        order = self.pool.reach.in_turn(near, self.module.path)
        if len(order) < FEW:  # what reaches the function may reach the line when it is changed
            wider = self.pool.reach.around(self.module, self.number) - near
            order += self.pool.reach.in_turn(wider, self.module.path)[: FEW - len(order)]
        for place in order[:POOL]:
            self.tried += 1
            if self.digest(self.pool.cases[place]) != self.pool.digests[place]:
                yield self.pool.cases[place]
        if order:
            yield from self.fresh(order)

    def fresh(self, order: list[int]) -> Iterator[Case]:
        dice = Seeded(f"{self.module.name} {self.number}")
        words = self.module.words(self.number)
        for _ in range(FRESH // BATCH):
            self.switch.turn(on=False)
            bases = [self.pool.cases[one_of(dice, order[:200])] for _ in range(BATCH)]
            bases = [case if dice.below(3) else as_tree(case) for case in bases]
            cases = [varied(case, dice, words) for case in bases]
            cases = [case if dice.below(3) else to_tree(case) for case in cases]
            wanted = [self.digest(case) for case in cases]
            self.switch.turn(on=True)
            self.tried += len(cases)
            for case, right in zip(cases, wanted, strict=True):
                if self.digest(case) != right:
                    yield case

    def digest(self, case: Case) -> bytes:
        signal.setitimer(signal.ITIMER_PROF, SLOW)
        try:
            return digest(case)
        except (Late, RecursionError, MemoryError):
            return b"late"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def differs(self, case: Case, may_fail: bool) -> bool:
        self.switch.turn(on=False)
        if not may_fail and isinstance(kept.given(case)[0], Failed):
            return False
        right = self.digest(case)
        self.switch.turn(on=True)
        return self.digest(case) != right

    def problem(self, case: Case) -> str | None:
        """The law that a case breaks without any mutant."""
        self.switch.turn(on=False)
        return next(kept.laws(case), None)

    def shrunk(self, case: Case) -> tuple[Case, str | None]:
        """A smaller case that differs still, and the law that it breaks.

        What could be converted can be, and what broke no law breaks none.
        """
        small = self.reduced(case, lambda smaller: True)
        problem = self.problem(small)
        if problem is not None and self.problem(case) is None:
            small = self.reduced(case, lambda smaller: self.problem(smaller) is None)
            problem = None
        return small, problem

    def reduced(self, case: Case, may: Callable[[Case], bool]) -> Case:
        self.switch.turn(on=False)
        may_fail = isinstance(kept.given(case)[0], Failed)
        left, progress = SMALLER, True
        while progress:
            progress = False
            for smaller in reduced(case):
                left -= 1
                if left < 0:
                    return case
                if self.differs(smaller, may_fail) and may(smaller):
                    case, progress = smaller, True
                    break
        return case


def stored(case: Case) -> str:
    capsule = "" if case.capsule is None else f" + {kept.text(case.capsule)}"
    given = f"{case.dialect} {case.facet} {kept.text(case.document)}{capsule}"
    return f"{given} > {case.target}{' carry' if case.carry else ''}"[:1500]


# -- smaller cases -----------------------------------------------------------------------------


def reduced(case: Case) -> Iterator[Case]:
    """Cases that are smaller by one thing, those that lack much first."""
    if case.facet == STREAM:
        yield from (case._replace(document=data) for data in shorter(case))
        return
    if case.capsule is not None:
        yield from (case._replace(capsule=capsule) for capsule in smaller(case.capsule))
    yield from (case._replace(document=document) for document in smaller(case.document))


def shorter(case: Case) -> Iterator[bytes]:
    """A stream without a frame, or with a smaller event; else without some of its bytes."""
    data, dialect = case.document, case.dialect
    try:
        frames = streams.split(data, dialect)
    except DragomanError:
        frames = []
    for number, (name, inner) in enumerate(frames):
        yield streams.joined(frames[:number] + frames[number + 1 :], dialect)
        try:
            events = smaller(json.loads(inner))
        except ValueError:
            continue
        for event in islice(events, 40):
            written = json.dumps(event, separators=(",", ":")).encode()
            yield streams.joined(
                [*frames[:number], (name, written), *frames[number + 1 :]], dialect
            )
    size = len(data) // 2
    while size:
        for start in range(0, len(data), size):
            yield data[:start] + data[start + size :]
        size //= 2 if size > 16 else size


def smaller(document: Any) -> Iterator[Any]:
    """Without one key or item, or with a shorter text; types stay as they are."""
    places = sorted(seeds.nodes(document), key=lambda node: -len(seeds.text(node[1])))
    for path, value in places:
        if path:
            yield without(document, path)
        if isinstance(value, str) and len(value) > LONG:
            yield from (edited(document, path, text) for text in shorter_texts(value))


def shorter_texts(value: str) -> Iterator[str]:
    yield from ("x", value[:8], value[:LONG], value[: len(value) // 2])
