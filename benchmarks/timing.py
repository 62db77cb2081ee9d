"""Timing side by side: every contender in turn, again and again, on one core."""

from __future__ import annotations

import gc
import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import TypeAlias

Work: TypeAlias = Callable[[], object]


@dataclass(frozen=True)
class Timing:
    """Seconds for one call: the best, and the middle, of all samples."""

    best: float
    median: float


def pin() -> None:
    """Stay on one core, where the system lets us choose."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def noise() -> str:
    """A word on how far the figures can be trusted: this process alone makes a load of one."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    busy = "others were at work here, so the figures are noisy" if load > 1.3 else "quiet"
    return f"\nLoad {load:.1f} on {cores} cores: {busy}."


def race(
    contenders: Sequence[Work],
    *,
    seconds: float,
    collect: bool = False,
    clock: Callable[[], float] = process_time,
) -> list[Timing]:
    """Time all contenders, interleaved (A B C A B C ...), until the seconds are spent.

    A sample lasts a millisecond at least. The garbage collector rests while a sample runs, unless
    ``collect``; memory is freed inside the sample, by whoever took it. The clock is that of the
    processor: others on the machine disturb the figures less.
    """
    loops = [_loops(work) for work in contenders]
    samples: list[list[float]] = [[] for _ in contenders]
    end = perf_counter() + seconds
    gc.collect()
    gc.freeze()
    try:
        while len(samples[0]) < 5 or perf_counter() < end:
            for work, count, taken in zip(contenders, loops, samples, strict=True):
                taken.append(_sample(work, count, collect, clock) / count)
    finally:
        gc.unfreeze()
        gc.enable()
    return [Timing(min(taken), statistics.median(taken)) for taken in samples]


def _sample(
    work: Work, count: int, collect: bool, clock: Callable[[], float] = process_time
) -> float:
    if not collect:
        gc.disable()
    start = clock()
    for _ in range(count):
        work()
    took = clock() - start
    gc.enable()
    return took


def _loops(work: Work) -> int:
    """How many calls make a sample of a millisecond; warms up on the way."""
    count = 1
    while (took := _sample(work, count, False)) < 0.001:
        count = max(count * 2, int(count * 0.001 / max(took, 1e-7)))
    return count
