"""The same conversions by other libraries: how fast they are, and what they silently lose.

    python -m benchmarks.peers [--quick] [--json FILE] [--markdown]

Every library gets its best case: its smallest entry point in memory, no network, and orjson as
its codec, which is faster than its own. Ratios are to ``orjson.loads`` + ``orjson.dumps``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]  # so that `python benchmarks/peers.py` works as well

import orjson  # noqa: E402

from benchmarks import answers, streams, timing, workload  # noqa: E402
from benchmarks import contenders as library  # noqa: E402
from benchmarks.contenders import ANTHROPIC, CHAT, RESPONSES, Contender, Pair  # noqa: E402
from benchmarks.gist import Received, gist  # noqa: E402
from benchmarks.probe import FEATURES, probe  # noqa: E402
from benchmarks.run import Row, baseline, markdown_table, plain_table  # noqa: E402

Json: TypeAlias = Any
Figures: TypeAlias = dict[str, Any]

INSTALL = (
    "python -m venv .venv-peers && .venv-peers/bin/pip install -r benchmarks/peers-requirements.txt"
)
WORKLOADS = ("small", "agentic")


def contenders() -> tuple[list[Contender], list[str]]:
    """Those that are installed, dragoman first, and the names of the missing."""
    here = [name for name in library.PEERS if library.installed(name)]
    missing = [name for name in library.PEERS if name not in here]
    return [library.dragoman(), *(library.PEERS[name]() for name in here)], missing


def work(contender: Contender, pair: Pair, data: bytes, reply: bool) -> Callable[[], bytes]:
    """From bytes to bytes, by the library's own means or with orjson around it."""
    text = contender.answer_text if reply else contender.text
    if pair in text:
        return partial(text[pair], data)
    convert = (contender.answers if reply else contender.convert)[pair]
    return lambda: orjson.dumps(convert(orjson.loads(data)), default=_plain)


def _plain(value: Any) -> Json:
    return value.model_dump(exclude_none=True)


def measure_speed(found: list[Contender], seconds: float) -> Iterator[Figures]:
    for name in WORKLOADS:
        script = workload.WORKLOADS[name]()
        for source in workload.SPEAKERS:
            data = workload.wire(script, source)
            for target in workload.SPEAKERS:
                if source != target:
                    written = gist(workload.SPEAKERS[target](script), target)
                    yield from measure_pair(found, name, written, (source, target), data, seconds)
    for name, make in answers.WORKLOADS.items():
        reply = make()
        for source in answers.SPEAKERS:
            data = answers.wire(reply, source)
            for target in answers.SPEAKERS:
                if source != target:
                    written = answers.gist(answers.SPEAKERS[target](reply), target)
                    yield from measure_pair(
                        found, f"response, {name}", written, (source, target), data, seconds, True
                    )


def measure_pair(
    found: list[Contender],
    name: str,
    written: list[Received],
    pair: Pair,
    data: bytes,
    seconds: float,
    reply: bool = False,
) -> Iterator[Figures]:
    """All libraries that speak both dialects, in the same rounds."""
    known = [c for c in found if pair in (c.answers if reply else c.convert)]
    able = [c for c in known if _works(c, pair, data, reply)]
    works = [baseline(data), *(work(c, pair, data, reply) for c in able)]
    base, *taken = timing.race(works, seconds=seconds * len(works))
    for contender, took in zip(able, taken, strict=True):
        yield {
            "library": contender.name,
            "workload": name,
            "source": pair[0],
            "target": pair[1],
            "ratio": took.best / base.best,
            "differs": differences(contender, written, pair, data, reply),
        }


def measure_streams(found: list[Contender], seconds: float) -> Iterator[Figures]:
    """A thousand deltas, event by event; the yardstick splits, parses, prints and frames them."""
    for source in (CHAT, ANTHROPIC, RESPONSES):
        frames = streams.STREAMS[source].make(streams.COUNT)
        for target in (CHAT, ANTHROPIC, RESPONSES):
            pair = source, target
            able = [c for c in found if pair in c.streams and _speaks(c, pair, frames)]
            works = [streams.yardsticks(frames, source)[1]]
            works += [partial(_streamed, contender, pair, frames) for contender in able]
            base, *taken = timing.race(works, seconds=seconds * len(works))
            for contender, took in zip(able, taken, strict=True):
                yield {
                    "library": contender.name,
                    "workload": "stream, by event",
                    "source": source,
                    "target": target,
                    "ratio": took.best / base.best,
                    "differs": {},
                }


def _streamed(contender: Contender, pair: Pair, frames: list[bytes]) -> int:
    """How many bytes a stream becomes; each event's are dropped, as a server sends them."""
    feed = contender.streams[pair]()
    return sum(len(feed(frame)) for frame in frames)


def _speaks(contender: Contender, pair: Pair, frames: list[bytes]) -> bool:
    """Whether a stream comes out that has all words of the one that went in."""
    try:
        feed = contender.streams[pair]()
        written = b"".join(map(feed, frames))
    except Exception as problem:  # a peer may raise anything; the table goes on without it
        print(f"{contender.name}, {pair[0]} > {pair[1]}: {problem}"[:200], file=sys.stderr)
        return False
    words = [piece for piece in streams.PIECES if piece.isascii() and piece.strip().isalpha()]
    return all(written.count(word.encode()) >= streams.COUNT // 20 for word in words)


def _works(contender: Contender, pair: Pair, data: bytes, reply: bool) -> bool:
    try:
        work(contender, pair, data, reply)()
    except Exception as problem:  # a peer may raise anything; the table goes on without it
        print(f"{contender.name}, {pair[0]} > {pair[1]}: {problem}"[:200], file=sys.stderr)
        return False
    return True


def differences(
    contender: Contender, wanted: list[Received], pair: Pair, data: bytes, reply: bool
) -> dict[str, int]:
    """How many texts, calls, results and tools came out with other words than went in."""
    made = (contender.answers if reply else contender.convert)[pair](orjson.loads(data))
    plain = orjson.loads(orjson.dumps(made, default=_plain))
    written = Counter((answers.gist if reply else gist)(plain, pair[1]))
    return dict(Counter(item[0] for item in (Counter(wanted) - written).elements()))


def measure(*, quick: bool) -> Figures:
    found, missing = contenders()
    seconds = 0.05 if quick else 1.0
    return {
        "versions": {c.name: library.installed(c.name) or "this repository" for c in found},
        "missing": missing,
        "speed": [*measure_speed(found, seconds), *measure_streams(found, seconds)],
        "fates": {t: {c.name: probe(c, t) for c in found} for t in (CHAT, RESPONSES)},
    }


# -- showing ------------------------------------------------------------------------------------


def speed_rows(figures: Figures) -> Iterator[Row]:
    names = list(figures["versions"])
    yield ["conversion", "workload", *names]
    cells = {
        (f["source"], f["target"], f["workload"], f["library"]): _cell(f) for f in figures["speed"]
    }
    for source, target, name in dict.fromkeys(key[:3] for key in cells):
        row = [cells.get((source, target, name, column), "-") for column in names]
        yield [f"{source} > {target}", name, *row]


def _cell(figure: Figures) -> str:
    changed = ", ".join(f"{count} {kind}" for kind, count in figure["differs"].items())
    return f"{figure['ratio']:.1f}" + (f" (changed: {changed})" if changed else "")


def fate_rows(figures: Figures, target: str) -> Iterator[Row]:
    names = list(figures["versions"])
    yield [f"anthropic-messages > {target}", *names]
    for feature in FEATURES:
        yield [feature, *(figures["fates"][target][column][feature] for column in names)]


def show(figures: Figures, *, markdown: bool) -> str:
    table = markdown_table if markdown else plain_table
    tables = [table(speed_rows(figures))]
    tables += [table(fate_rows(figures, target)) for target in figures["fates"]]
    used = ", ".join(f"{name} {version}" for name, version in figures["versions"].items())
    return "\n\n".join([*tables, f"Versions: {used}."])


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.peers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few seconds, noisy")
    parser.add_argument("--markdown", action="store_true", help="tables for the README")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    asked = parser.parse_args(argv)
    timing.pin()
    figures = measure(quick=asked.quick)
    print(show(figures, markdown=asked.markdown))
    print(timing.noise())
    if figures["missing"]:
        print(f"\nNot installed: {', '.join(figures['missing'])}. To compare with them:")
        print(f"  {INSTALL}\n  .venv-peers/bin/python -m benchmarks.peers")
    if asked.json:
        Path(asked.json).write_text(json.dumps(figures, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
