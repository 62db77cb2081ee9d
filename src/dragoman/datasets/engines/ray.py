"""Ray Data: the same conversion on a cluster.

Each chunk is a row of a Ray dataset, and ``map`` converts it where Ray has room. The machines must
see the inputs under the same paths, as with any reader of Ray. Lines and notes come back as bytes,
and the process that started the job writes them, puts the shards together and writes the manifest:
so nobody shares a disk for the output, and the bytes are those of the embedded engine.

A window of chunks is converted at a time, so that lines out of packed files, which travel with
their chunks, are never all in memory.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from ...errors import MissingExtra
from .. import shards
from ..inputs import Chunk
from .base import Engine, Plan, convert_apart
from .embedded import Alone

WINDOW = 512 * 1024 * 1024
"""About how many bytes of inputs a dataset of Ray is made of."""
MOST = 4096
"""How many chunks."""


def engine(plan: Plan, address: str | None, workers: int) -> Engine:
    return Ray(plan, address, workers)


class Ray(Alone):
    """Chunks on a cluster; shards in this process."""

    def __init__(self, plan: Plan, address: str | None, workers: int) -> None:
        super().__init__(plan)
        try:
            import ray
            import ray.data
        except ImportError:
            raise MissingExtra("the engine ray", "ray") from None
        for name in ("ray", "ray.data"):
            logging.getLogger(name).setLevel(logging.ERROR)
        self.ray: Any = ray
        self.workers = workers
        self.started = not ray.is_initialized()
        if self.started:
            local: dict[str, Any] = {"include_dashboard": False}
            if address is None and workers:
                local["num_cpus"] = workers
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            ray.init(
                address or "local",
                logging_level=logging.ERROR,
                log_to_driver=False,
                **(local if address is None else {}),
            )
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False

    def convert(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        for window in windows(chunks):
            yield from self._window(window)

    def _window(self, window: list[Chunk]) -> Iterator[Chunk]:
        plan = self.ray.put(msgspec.msgpack.encode(self.plan))
        items = [{"chunk": msgspec.msgpack.encode(chunk)} for chunk in window]
        data = self.ray.data.from_items(items, override_num_blocks=len(items))
        by_number = {chunk.number: chunk for chunk in window}
        for row in data.map(Convert(plan)).iter_rows():
            number = int(row["number"])
            shards.put(shards.part(self.plan.folder, number), row["lines"], sure=False)
            shards.put(shards.note(self.plan.folder, number), row["note"], sure=False)
            yield by_number.pop(number)

    def close(self) -> None:
        if self.started:
            self.ray.shutdown()


class Convert:
    """A chunk, as a row, into its lines and its note: the function that Ray maps."""

    def __init__(self, plan: Any) -> None:
        self.plan = plan

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        import ray

        plan = msgspec.msgpack.decode(ray.get(self.plan), type=Plan)
        chunk = msgspec.msgpack.decode(row["chunk"], type=Chunk)
        lines, note = convert_apart(plan, chunk)
        return {"number": chunk.number, "lines": lines, "note": note}


def windows(chunks: Iterable[Chunk]) -> Iterator[list[Chunk]]:
    """Chunks, so many at a time as are about so many bytes."""
    held: list[Chunk] = []
    size = 0
    for chunk in chunks:
        bulk = sum(piece.size if piece.data is None else len(piece.data) for piece in chunk.pieces)
        if held and (size + bulk > WINDOW or len(held) == MOST):
            yield held
            held, size = [], 0
        held.append(chunk)
        size += bulk
    if held:
        yield held
