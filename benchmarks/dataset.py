"""How fast `dragoman dataset` is, beside a loop of orjson over the same file.

python -m benchmarks.dataset [--quick] [--enforce] [--ray] [--memory GB]

Three files from a fixed seed: `sessions`, coding agents with six tools and about 40 messages
(80 kB); `long`, such agents with 25 tools after 200 messages, whose results are as long as agents
let them be (700 kB); and `calls`, requests of about one kB as an API logs them. Each is converted
to TRL's records and to FunctionGemma's text; the dialect of the source is named, but for
`detected`. The yardstick reads each line of the file with `orjson.loads` and writes it with
`orjson.dumps`. All take turns, files included; the time of `dragoman` is that of a whole job: two
passes over the lines, hashes of all files, manifest and report. One worker and the yardstick are
compared by the time of the processor, which others on the machine disturb less; two workers and one
by the clock on the wall, and by what all their processes take of the processor.

- one worker: records per second, as a share of the yardstick's (bar: 0.5 or more)
- two workers: as a multiple of one worker (bar: 1.7 or more, on two cores that nobody else uses)
- two, processor: what two workers take of the processor, by what one takes. Where this is 1.1, two
  cores that are free cannot give more than 1.8
- memory: the most that all processes of a job together have, for a file of 2 GB (bar: 500 MB)
- Ray (`--ray`): a local cluster with two processors, with what it takes to start it and without
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import orjson  # noqa: E402

from benchmarks import timing, workload  # noqa: E402
from dragoman.datasets import Job, Options, Run  # noqa: E402

SHARE, MULTIPLE, MEMORY = 0.5, 1.7, 500
TARGETS = ("trl", "functiongemma")
SOURCE = "openai-chat"
MB = 1024 * 1024
LARGER = {"sessions": 4, "long": 4, "calls": 1}
"""A session takes less time for each byte."""
TICKS = os.sysconf("SC_CLK_TCK")


def records(name: str) -> list[Any]:
    """Some different records, to be written again and again under other first words."""
    found = []
    for seed in range(8):
        if name == "sessions":
            script = workload.large(seed=seed, size=45_000)
            script = replace(script, tools=script.tools[:6])
        elif name == "long":
            script = workload.agentic(seed=seed, most=30_000)
        else:
            script = workload.small(seed=seed)
        found.append(orjson.loads(workload.wire(script, SOURCE)))
    return found


def make(name: str, size: int, path: Path) -> int:
    """A file of about so many bytes; how many records it has."""
    some, count, written = records(name), 0, 0
    with path.open("wb") as file:
        while written < size:
            doc = some[count % len(some)]
            messages = list(doc["messages"])
            first = next(i for i, m in enumerate(messages) if m["role"] == "user")
            messages[first] = {"role": "user", "content": f"Task {count}"}
            line = orjson.dumps(doc | {"messages": messages}) + b"\n"
            file.write(line)
            written, count = written + len(line), count + 1
    return count


def yardstick(path: Path, out: Path) -> None:
    with path.open("rb") as lines, out.open("wb") as file:
        for line in lines:
            file.write(orjson.dumps(orjson.loads(line)))
            file.write(b"\n")


def job(path: Path, out: Path, target: str, workers: int, **more: Any) -> None:
    engine = more.pop("engine", "embedded")
    options = Options(target=target, **more)
    run = Run(output=f"{out}/", workers=workers, engine=engine, overwrite=True)
    done = Job([str(path)], options, run).start().manifest["records"]
    assert done["written"] == done["read"], done


class Time(NamedTuple):
    """Seconds: by the clock on the wall, and of the processor, for this process and its own."""

    wall: float
    cpu: float


def best(times: int, *works: Callable[[], None]) -> list[Time]:
    """The best times of each; they take turns."""
    found = [Time(float("inf"), float("inf"))] * len(works)
    for _ in range(times):
        for index, work in enumerate(works):
            wall, cpu = perf_counter(), process_time() + elsewhere()
            work()
            took = Time(perf_counter() - wall, process_time() + elsewhere() - cpu)
            found[index] = Time(*map(min, found[index], took))
    return found


def elsewhere() -> float:
    """The seconds of the processor that were spent by processes started from here, and theirs."""
    spent = 0
    for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        spent += sum(map(int, fields[11:15]))  # its own, and those of its children that have ended
    return spent / TICKS


def contenders(folder: Path, path: Path, target: str) -> list[Callable[[], None]]:
    """The yardstick, one worker, one that detects, two workers."""
    out = folder / "out"
    return [
        partial(yardstick, path, folder / "yardstick"),
        partial(job, path, out, target, 1, source=SOURCE),
        partial(job, path, out, target, 1),
        partial(job, path, out, target, 2, source=SOURCE),
    ]


def speeds(folder: Path, size: int, times: int) -> int:
    missed = 0
    print(f"One worker beside orjson (bar {SHARE}), two beside one (bar {MULTIPLE})\n")
    head = ("one worker", "detected", "two workers", "two, processor")
    print(f"| file | target | records | orjson, MB/s | {' | '.join(head)} |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in ("sessions", "long", "calls"):
        path = folder / f"{name}.jsonl"
        count = make(name, size * LARGER[name], path)
        for target in TARGETS:
            base, one, detected, two = best(times, *contenders(folder, path, target))
            share, multiple = base.cpu / one.cpu, one.wall / two.wall
            missed += (share < SHARE) + (multiple < MULTIPLE)
            speed = path.stat().st_size / base.cpu / MB
            print(
                f"| {name} | {target} | {count:,} | {speed:.0f} | {share:.2f} "
                f"| {base.cpu / detected.cpu:.2f} | {multiple:.2f} | {two.cpu / one.cpu:.2f} |"
            )
    return missed


def with_ray(folder: Path) -> None:
    import ray

    path, out = folder / "sessions.jsonl", folder / "out"
    on_ray = partial(job, path, out, "trl", 2, source=SOURCE, engine="ray")
    embedded = best(1, partial(job, path, out, "trl", 2, source=SOURCE))[0].wall
    cold = best(1, on_ray)[0].wall
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    on_ray()
    warm = best(1, on_ray)[0].wall
    ray.shutdown()
    print("\nRay on this machine, by the embedded engine with two workers:")
    print(f"{cold / embedded:.1f} with its start ({cold - embedded:.1f} s more)")
    print(f"{warm / embedded:.1f} on a cluster that runs ({warm - embedded:.1f} s more)")


def resident(pid: int) -> int:
    """The memory of a process and those it has started, in bytes; shared parts count once."""
    total = 0
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) * 1024
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (OSError, ProcessLookupError):
        return total
    return total + sum(resident(int(child)) for child in children)


def memory(folder: Path, size: int, workers: int) -> int:
    """The most memory that a job has, in MB."""
    path = folder / "calls-large.jsonl"
    if not path.exists():
        make("calls", size, path)
    command = [sys.executable, "-m", "dragoman", "dataset", str(path), "-t", "trl", "-f", SOURCE]
    command += ["-o", f"{folder}/large/", "--workers", str(workers), "--overwrite", "-q"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(command, env=environment)
    most, ended = 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not ended.wait(0.1):
            most = max(most, resident(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    _, status, used = os.wait4(process.pid, 0)
    ended.set()
    watcher.join()
    assert status == 0
    return max(most, used.ru_maxrss * 1024) // MB


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small files, noisy")
    parser.add_argument("--enforce", action="store_true", help="exit 1 where a bar is missed")
    parser.add_argument("--ray", action="store_true", help="beside Ray")
    parser.add_argument(
        "--memory", type=float, metavar="GB", help="how much a file of so much takes"
    )
    options = parser.parse_args()
    size, times = (20 * MB, 1) if options.quick else (100 * MB, 3)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        missed = speeds(folder, size, times)
        if options.ray:
            with_ray(folder)
        if options.memory:
            for workers in (1, 2):
                most = memory(folder, int(options.memory * 1024 * MB), workers)
                missed += most > MEMORY
                print(f"\n{options.memory:g} GB, {workers} workers: {most} MB (bar {MEMORY})")
    print(timing.noise())
    return 1 if options.enforce and missed else 0


if __name__ == "__main__":
    sys.exit(main())
