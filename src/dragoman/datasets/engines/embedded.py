"""The embedded engine: this process, or some beside it.

Workers read the inputs and write parts themselves; what goes between the processes is a number and
a note that it is done (and the lines of packed files, which one process must unpack). A worker ends
when the process that started it does, however that ended.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait

from ... import dialects
from .. import shards
from ..inputs import Chunk
from ..options import writer_of
from .base import Engine, Plan, Task, convert_here, decoded, write_shard

AHEAD = 2
"""How many chunks wait for each worker."""


def engine(plan: Plan, workers: int) -> Engine:
    return Alone(plan) if workers == 1 else Pool(plan, workers, needed(plan))


class Alone:
    """All in this process, one after the other."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.done: list[tuple[Task, shards.Finished]] = []

    def convert(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        for chunk in chunks:
            convert_here(self.plan, chunk)
            yield chunk

    def write(self, task: Task) -> None:
        self.done.append((task, write_shard(self.plan, task)))

    def written(self) -> Iterator[tuple[Task, shards.Finished]]:
        done, self.done = self.done, []
        return iter(done)

    finish = written

    def close(self) -> None:
        pass


class Pool:
    """Some processes, which outlive their tasks and nothing else. ``modules`` are loaded once."""

    def __init__(self, plan: Plan, workers: int, modules: Iterable[str] = ()) -> None:
        self.plan, self.workers = plan, workers
        methods = multiprocessing.get_all_start_methods()
        context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
        if context.get_start_method() == "forkserver":
            context.set_forkserver_preload([__name__, *modules])
        self.pool = ProcessPoolExecutor(workers, context, initializer=_end_with_parent)
        self.shards: dict[Future[shards.Finished], Task] = {}

    def convert(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        coming = iter(chunks)
        waiting: dict[Future[None], Chunk] = {}
        ended = False
        while waiting or not ended:
            while not ended and len(waiting) < self.workers * AHEAD:
                chunk = next(coming, None)
                if chunk is None:
                    ended = True
                else:
                    waiting[self.pool.submit(convert_here, self.plan, chunk)] = chunk
            done, _ = wait(waiting, return_when=FIRST_COMPLETED) if waiting else ((), None)
            for future in done:
                chunk = waiting.pop(future)
                future.result()
                yield chunk

    def write(self, task: Task) -> None:
        self.shards[self.pool.submit(write_shard, self.plan, task)] = task

    def written(self) -> Iterator[tuple[Task, shards.Finished]]:
        for future in [future for future in self.shards if future.done()]:
            yield self.shards.pop(future), future.result()

    def finish(self) -> Iterator[tuple[Task, shards.Finished]]:
        while self.shards:
            wait(self.shards, return_when=FIRST_COMPLETED)
            yield from self.written()

    def close(self) -> None:
        self.pool.shutdown(cancel_futures=True)


def needed(plan: Plan) -> list[str]:
    """The modules of the dialects that workers need, to be loaded once for all of them: all there
    are, where it must be detected which one a record is of.
    """
    options = decoded(plan.options)
    detects = options.source is None
    known = dialects.names() if detects else (writer_of(str(options.source)).name,)
    names = [*known, writer_of(options.target).name]
    return [f"{dialects.__name__}.{name.replace('-', '_')}" for name in names]


def _end_with_parent() -> None:
    """A pool whose owner was killed would wait forever: whoever reads its queue also writes it."""
    parent = multiprocessing.parent_process()
    if parent is not None:

        def watch() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=watch, daemon=True).start()


def cores() -> int:
    """How many processors there are for this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
