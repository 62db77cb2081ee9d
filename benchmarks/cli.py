"""What the command costs beyond the bare interpreter, and beyond the library call.

python -m benchmarks.cli [--quick] [--enforce]

``dragoman --version`` and ``convert`` of a small file against ``python -c pass``; ``convert`` of
2 MB against a process that reads the file, calls ``dragoman.convert`` and writes the result;
``show`` of a session of 50 MB against a process that only parses it with ``json``. They take turns;
byte code is there, as pip leaves it. Times are of the processor, in the best run: they follow the
load of the machine less than the clock on the wall does.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from benchmarks import session, timing, workload  # noqa: E402
from benchmarks.footprint import spent  # noqa: E402

LIBRARY = """
import sys, dragoman
data = open(sys.argv[1], "rb").read()
sys.stdout.buffer.write(dragoman.convert(data, source="openai-chat", target="anthropic").to_json())
"""
PASS, VERSION, SMALL, DETECTED, LARGE, CALL = (
    "python -c pass",
    "dragoman --version",
    "dragoman convert, small",
    "dragoman convert, small, detected",
    "dragoman convert, 2 MB",
    "the library call, 2 MB",
)
# The bars: milliseconds beyond the bare interpreter, and times the library call.
BEYOND = {VERSION: 60.0, SMALL: 90.0, DETECTED: 120.0}
TIMES = 2.0
PARSE, SHOW, LAST, GREP, FULL = (
    "json.load, 50 MB",
    "dragoman show, 50 MB",
    "dragoman show --messages -5, 50 MB",
    "dragoman show --grep, 50 MB",
    "dragoman show --full, 50 MB",
)
# Times the parsing of the same file.
OF_PARSING = {SHOW: 15.0, LAST: 4.0, GREP: 6.0, FULL: 40.0}


def commands(folder: Path) -> dict[str, list[str]]:
    small, large = folder / "small.json", folder / "large.json"
    small.write_bytes(workload.wire(workload.small(), "openai-chat"))
    large.write_bytes(workload.wire(workload.lengthy_large(), "openai-chat"))
    dragoman = [sys.executable, "-m", "dragoman"]
    convert = [*dragoman, "convert", "-q", "-t", "anthropic"]
    return {
        PASS: [sys.executable, "-c", "pass"],
        VERSION: [*dragoman, "--version"],
        SMALL: [*convert, "-f", "chat", str(small)],
        DETECTED: [*convert, str(small)],
        LARGE: [*convert, "-f", "chat", str(large)],
        CALL: [sys.executable, "-c", LIBRARY, str(large)],
    }


def sessions(folder: Path) -> dict[str, list[str]]:
    """What people do with a session of 50 MB."""
    path = folder / "session.json"
    session.write(path, session.MEGABYTES * 1_000_000, "openai-chat")
    show = [sys.executable, "-m", "dragoman", "show", str(path)]
    parse = "import json, sys; json.load(open(sys.argv[1], 'rb'))"
    return {
        PASS: [sys.executable, "-c", "pass"],
        PARSE: [sys.executable, "-c", parse, str(path)],
        SHOW: show,
        LAST: [*show, "--messages", "-5"],
        GREP: [*show, "--grep", "update_plan"],
        FULL: [*show, "--full"],
    }


def race(contenders: dict[str, list[str]], runs: int, cache: Path) -> dict[str, timing.Timing]:
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    settings = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    settings["PYTHONPYCACHEPREFIX"] = str(cache)
    for run in range(runs + 1):
        for name, command in contenders.items():
            before = spent()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env=settings)
            if run:  # the first one compiles
                taken[name].append(spent() - before)
    return {name: timing.Timing(min(t), statistics.median(t)) for name, t in taken.items()}


def report(times: dict[str, timing.Timing]) -> bool:
    bare = times[PASS].best
    print(f"{'':36} {'best':>8} {'median':>8} {'beyond':>8} {'ratio':>7}   bar")
    good = True
    for name, each in times.items():
        beyond = (each.best - bare) * 1000
        bar, fine = "", True
        if name in BEYOND:
            fine = beyond <= BEYOND[name]
            bar = f"+{BEYOND[name]:.0f} ms: {'ok' if fine else 'missed'}"
        if name == LARGE:
            ratio = each.best / times[CALL].best
            fine = ratio <= TIMES
            bar = f"{TIMES} x the library call: {ratio:.2f} {'ok' if fine else 'missed'}"
        if name in OF_PARSING:
            ratio = (each.best - bare) / (times[PARSE].best - bare)
            fine = ratio <= OF_PARSING[name]
            bar = f"{OF_PARSING[name]} x parsing: {ratio:.1f} {'ok' if fine else 'missed'}"
        good = good and fine
        print(
            f"{name:36} {each.best * 1000:6.0f}ms {each.median * 1000:6.0f}ms {beyond:+6.0f}ms "
            f"{each.best / bare:6.1f}x   {bar}"
        )
    return good


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--quick", action="store_true", help="few runs, noisy")
    options.add_argument("--enforce", action="store_true", help="exit code 1 if a bar is missed")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        good = report(race(commands(place), 5 if chosen.quick else 31, place / "cache"))
        print()
        good = report(race(sessions(place), 1 if chosen.quick else 3, place / "cache")) and good
    print(timing.noise())
    return 1 if chosen.enforce and not good else 0


if __name__ == "__main__":
    sys.exit(main())
