"""A whole conversation of a coding agent: what a session costs, and files to try commands with.

python -m benchmarks.session [--quick] [--all] [--turns 100] [--enforce]
python -m benchmarks.session FILE.json|FILE.jsonl [--megabytes 50] [--dialect openai-chat]

Without a file, every request of a conversation is converted in turn, by ``dragoman.Session`` and by
``dragoman.convert``. The yardstick is ``orjson.loads`` + ``orjson.dumps`` of the same requests; it
drops each result before the next, as the others do. Times are those of the processor. All
contenders take turns, and of each request the best of several runs counts, for each of them alike:
on a machine that others use, a whole run without a disturbance is rare. Each run begins with a new
session, so the first request, which is converted as a whole, is part of the figures; and each
result is checked once against that of ``convert``.

Texts are ASCII for the most part, or (*not ASCII*) have a character every forty that is not, as the
texts had with which the bars were set: such a text has two bytes for each character in Python, and
takes orjson twice as long, but a session no longer.

With one, a ``.json`` is one request with the whole history of a coding agent; a ``.jsonl`` has one
request per line, each of some 20 kB. Everything comes from a fixed seed (see ``workload``).
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from benchmarks import timing, workload  # noqa: E402

MEGABYTES = 50
LINE = 20_000
"""How many bytes of history a line of a ``.jsonl`` has."""
VARIETY = 50
"""How many different conversations there are; then they come again."""
TURNS = 100
GREAT = tuple(workload.SPEAKERS)
OTHERS = ("bedrock-converse", "mistral", "ollama", "cohere", "openrouter", "vercel-model")
KINDS = {"agentic": 8192, "lengthy": 30_000, "short": 300}
"""How long a result may be; ``short``: how long it is, and so is what the model says."""
FOREIGN = ", not ASCII"
"""What the name of a kind ends in whose texts are not ASCII."""
CHARACTERS = "é→本ü"
EACH = 40
"""So many characters stand for each that is not ASCII."""
BARS = {True: (0.22, 0.15), False: (0.4, 0.3)}
"""Of a whole conversation and of its last turn: between the four great dialects, and others."""
SHORT = 0.6


# -- the conversation ---------------------------------------------------------------------------


def requests(kind: str, dialect: str, turns: int, marks: bool = True) -> list[bytes]:
    """What an agent sends, turn by turn: each request has one round of calls more."""
    rng = Random(workload.SEED)
    script = workload._agent(Random(workload.SEED), ())
    told: list[workload.Turn] = []
    out: list[bytes] = []
    size = KINDS[kind.removesuffix(FOREIGN)]
    for turn in workload.history(rng, max(size, 8192)):
        if turn.role == "assistant":
            out.append(_sent(replace(script, turns=tuple(told)), dialect, marks))
            if len(out) == turns:
                return out
        if size == KINDS["short"]:
            turn = _shortened(turn, size)
        told.append(_foreign(turn) if kind.endswith(FOREIGN) else turn)
    raise AssertionError("a history never ends")


def _foreign(turn: workload.Turn) -> workload.Turn:
    calls = tuple(replace(call, result=_spread(call.result)) for call in turn.calls)
    return replace(turn, text=_spread(turn.text), calls=calls)


def _spread(text: str) -> str:
    """A text of the same length in which some characters are not ASCII."""
    pieces = [text[at : at + EACH - 1] for at in range(0, len(text), EACH)]
    return "".join(
        piece + CHARACTERS[number % len(CHARACTERS)] for number, piece in enumerate(pieces)
    )


def _shortened(turn: workload.Turn, size: int) -> workload.Turn:
    calls = tuple(
        replace(call, result=call.result[:size], arguments={"path": "/repo/src/a.py", "limit": 9})
        for call in turn.calls
    )
    return replace(turn, text=turn.text[:size], calls=calls)


def _sent(script: workload.Script, dialect: str, marks: bool) -> bytes:
    doc = workload.SPEAKERS[dialect](script)
    if marks and dialect == "anthropic-messages":  # as Claude Code has it: the newest message
        last = doc["messages"][-1]
        if isinstance(last["content"], str):
            last["content"] = [{"type": "text", "text": last["content"]}]
        last["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return json.dumps(doc, separators=(",", ":"), ensure_ascii=False).encode()


# -- the figures --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """Ratios to the yardstick: of all requests, and of the last one."""

    kind: str
    source: str
    target: str
    size: int
    plain: float
    whole: float
    last: float
    with_losses: float

    @property
    def bars(self) -> tuple[float, float]:
        if self.kind.startswith("short"):
            return SHORT, SHORT
        return BARS[self.target in GREAT]

    @property
    def holds(self) -> bool:
        return self.whole <= self.bars[0] and self.last <= self.bars[1]


def timed(work: Callable[[bytes], object], data: Sequence[bytes]) -> list[float]:
    """Seconds of the processor for each request."""
    gc.collect()
    gc.disable()
    took: list[float] = []
    for raw in data:
        start = process_time()
        work(raw)
        took.append(process_time() - start)
    gc.enable()
    return took


def measured(kind: str, source: str, target: str, turns: int, runs: int) -> Row:
    import orjson

    import dragoman

    options: dict[str, Any] = {"source": source, "target": target}
    data = requests(kind, source, turns)
    _check(data, options)

    def begun(losses: bool) -> Callable[[bytes], object]:
        session = dragoman.Session(**options)
        if losses:
            return lambda raw: (result := session.convert(raw)).to_json() and result.losses
        return lambda raw: session.convert(raw).to_json()

    best: list[list[float]] = []
    for _ in range(runs):
        row = [
            timed(lambda raw: orjson.dumps(orjson.loads(raw)), data),
            timed(lambda raw: dragoman.convert(raw, **options).to_json(), data[-3:]),
            timed(begun(False), data),
            timed(begun(True), data),
        ]
        best = [[*map(min, *both)] for both in zip(best or row, row, strict=True)]
    yard, plain, ours, with_losses = best
    total = sum(yard)
    ratios = sum(plain) / sum(yard[-3:]), sum(ours) / total, ours[-1] / yard[-1]
    return Row(kind, source, target, len(data[-1]), *ratios, sum(with_losses) / total)


def _check(data: Sequence[bytes], options: dict[str, Any]) -> None:
    """Nothing is timed that is not right."""
    import dragoman

    session = dragoman.Session(**options)
    for raw in data:
        ours, plain = session.convert(raw), dragoman.convert(raw, **options)
        assert (ours.to_json(), ours.losses) == (plain.to_json(), plain.losses), options


def memory(kind: str, source: str, target: str, turns: int) -> tuple[float, float]:
    """Bytes held for each byte of the last request: really, and by the session's own account."""
    import dragoman

    data = requests(kind, source, turns)
    dragoman.convert(data[0], source=source, target=target)
    tracemalloc.start()
    session = dragoman.Session(source=source, target=target)
    for raw in data:
        session.convert(bytes(bytearray(raw)))  # a request of its own, as from a socket
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return held / len(data[-1]), session.size / len(data[-1])


def report(targets: Sequence[str], kinds: Sequence[str], turns: int, runs: int) -> bool:
    """Print the table; whether all bars hold."""
    print("| conversation | size | plain | session | last turn | with losses | bars |  |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    held = True
    for kind in kinds:
        for source in GREAT:
            for target in targets:
                if target == source:
                    continue
                row = measured(kind, source, target, turns, runs)
                held = held and row.holds
                bars = f"{row.bars[0]:g} / {row.bars[1]:g} | {'ok' if row.holds else 'MISS'}"
                print(
                    f"| {kind}: {source} > {target} | {row.size / 1000:,.0f} kB | {row.plain:.2f} |"
                    f" {row.whole:.2f} | {row.last:.2f} | {row.with_losses:.2f} | {bars} |",
                    flush=True,
                )
    return held


def report_memory(turns: int) -> None:
    print("\nBytes held for each byte of the last request, and by the session's own account:\n")
    for kind in KINDS:
        for source, target in ((GREAT[0], GREAT[1]), (GREAT[1], GREAT[0])):
            held, told = memory(kind, source, target, turns)
            print(f"- {kind}, {source} > {target}: {held:.1f}, {told:.1f}")


# -- files --------------------------------------------------------------------------------------


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
    options.add_argument("file", type=Path, nargs="?", help="where to write a session of any size")
    options.add_argument("--megabytes", type=float, default=MEGABYTES, metavar="N")
    options.add_argument("--dialect", choices=sorted(workload.SPEAKERS), default="openai-chat")
    options.add_argument("--turns", type=int, default=TURNS, metavar="N")
    options.add_argument("--quick", action="store_true", help="two runs of one kind, noisy")
    options.add_argument(
        "--all", action="store_true", help="other targets than the great four, too"
    )
    options.add_argument("--enforce", action="store_true", help="exit code 1 if a bar is missed")
    chosen = options.parse_args()
    if chosen.file is not None:
        write(chosen.file, int(chosen.megabytes * 1_000_000), chosen.dialect)
        return 0
    timing.pin()
    kinds = [*KINDS, *(kind + FOREIGN for kind in KINDS)]
    targets = (*GREAT, *OTHERS) if chosen.all else GREAT
    if chosen.quick:
        held = report(targets, kinds[:1], chosen.turns, 3)
    else:
        held = report(targets, kinds, chosen.turns, 12)
    report_memory(chosen.turns)
    print(timing.noise())
    return int(chosen.enforce and not held)


if __name__ == "__main__":
    sys.exit(main())
