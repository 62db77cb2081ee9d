"""Random streams against every pair of the great dialects: an answer or an error, nothing else.

    make fuzz                                   with atheris, in an environment of its own
    python fuzz/fuzz_streams.py --plain 10000   with nothing but the standard library

The seeds are the awkward streams of the tests. Each input chooses a pair of dialects, a seed and
what happens to it; what is found is a traceback, and with atheris a file that shows it again.
"""

from __future__ import annotations

import random
import sys
from contextlib import nullcontext
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
RUNS = 10_000
OPTIONS = ("-max_len=80", "-len_control=0", "-seed=1", "-print_final_stats=1")

try:
    import atheris
except ImportError:
    atheris = None

with atheris.instrument_imports(include=["dragoman"]) if atheris else nullcontext():
    import dragoman
    from portraits import TARGETS, streams

    for _name in TARGETS:  # what is loaded when first asked for is asked for now
        dragoman.Transcoder(_name, _name)

SEEDS = {
    name: [stream.data.split(b"\n\n") for stream in streams() if stream.dialect == name]
    for name in TARGETS
}
BITS = (b"null", b"{}", b"[]", b"0", b"-1", b'""', b"1e9", b"true", b'"\\u0000"', b"\xff", b"\0")


class Dice:
    """Bytes as a source of choices, so that a fuzzer can learn which choices matter."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0

    def below(self, limit: int) -> int:
        taken = self.data[self.place : self.place + 2]
        self.place += 2
        return int.from_bytes(taken, "big") % limit if limit else 0

    def left(self) -> bool:
        return self.place < len(self.data)


def mangle(frames: list[bytes], dice: Dice, others: list[list[bytes]]) -> list[bytes]:
    """The frames after one mishap."""
    place, other = dice.below(len(frames)), dice.below(len(frames))
    match dice.below(7):
        case 0:
            return frames[:place] + frames[place + 1 :]
        case 1:
            return [*frames[:place], frames[other], *frames[place:]]
        case 2:
            frames[place], frames[other] = frames[other], frames[place]
        case 3:
            tail = others[dice.below(len(others))]
            return frames[:place] + tail[dice.below(len(tail)) :]
        case 4:  # a value becomes another one
            parts = frames[place].split(b":")
            spot = dice.below(len(parts))
            parts[spot] = BITS[dice.below(len(BITS))] + parts[spot][-1:]
            frames[place] = b":".join(parts)
        case 5:
            spot = dice.below(len(frames[place]) + 1)
            noise = BITS[dice.below(len(BITS))]
            frames[place] = frames[place][:spot] + noise + frames[place][spot + 1 :]
        case _:
            frames[place] = frames[place][: dice.below(len(frames[place]) + 1)]
    return frames


def run(data: bytes) -> None:
    """One stream: no exception, and what is said is well formed in the target's own eyes."""
    dice = Dice(data)
    source, target = TARGETS[dice.below(3)], TARGETS[dice.below(3)]
    seeds = SEEDS[source]
    frames = list(seeds[dice.below(len(seeds))])
    size, collect = 1 + dice.below(4000), bool(dice.below(2))
    while dice.left() and frames:
        frames = mangle(frames, dice, seeds)
    stream = b"\n\n".join(frames)
    transcoder = dragoman.Transcoder(source, target, collect=collect)
    said = b"".join(transcoder.feed(stream[i : i + size]) for i in range(0, len(stream), size))
    said += transcoder.close()
    again = dragoman.Transcoder(target, target)
    again.feed(said)
    again.close()
    assert (again.response.failure is None) == (transcoder.response.failure is None), said
    assert isinstance(transcoder.losses, tuple)


def plain(runs: int) -> None:
    """The same without atheris: random choices, the same ones in every run."""
    source = random.Random(0)
    for number in range(runs):
        data = source.randbytes(12 + source.randrange(60))
        try:
            run(data)
        except BaseException:
            print(f"run {number}: {data!r}", file=sys.stderr)
            raise
    print(f"{runs} streams, and nothing but answers and errors")


if __name__ == "__main__":
    if "--plain" in sys.argv or atheris is None:
        plain(int(sys.argv[-1]) if sys.argv[-1].isdigit() else RUNS)
    else:
        atheris.Setup([*sys.argv, f"-atheris_runs={RUNS}", *OPTIONS], run)
        atheris.Fuzz()
