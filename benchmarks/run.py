"""How fast dragoman is, as a ratio to ``orjson.loads`` + ``orjson.dumps`` of the same bytes.

python -m benchmarks.run [--quick] [--json FILE] [--markdown] [--enforce]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]  # so that `python benchmarks/run.py` works as well

import orjson  # noqa: E402

import dragoman  # noqa: E402
from benchmarks import answers, footprint, timing, workload  # noqa: E402
from benchmarks.gist import gist  # noqa: E402

Figures: TypeAlias = dict[str, Any]
Row: TypeAlias = list[str]

LONG_BARS = {
    "openai-chat": 1.8,
    "openai-responses": 1.8,
    "anthropic-messages": 1.9,  # it takes arguments as an object, where others take text
    "gemini": 1.9,
}
BARS = {"small": 4.5}
ANSWER_BAR = 4.0
LINEARITY_BAR = 1.3  # cost per byte at 16 times the size, beside that of orjson; n² would be 16
IMPORT_BAR_MS = 45.0


def converting(data: bytes, source: str, target: str, facet: str) -> Callable[[], dragoman.Result]:
    """A conversion; a date is given, which some targets require in a response."""

    def work() -> dragoman.Result:
        return dragoman.convert(data, source=source, target=target, facet=facet, now=answers.NOW)

    return work


def conversion(data: bytes, source: str, target: str) -> Callable[[], bytes]:
    """The work that is measured: bytes in, bytes out."""

    def work() -> bytes:
        return dragoman.convert(data, source=source, target=target, facet="request").to_json()

    return work


def answering(data: bytes, source: str, target: str) -> Callable[[], bytes]:
    """The same for a response; a date is given, which some targets require."""

    def work() -> bytes:
        made = dragoman.convert(
            data, source=source, target=target, facet="response", now=answers.NOW
        )
        return made.to_json()

    return work


def telling(work: Callable[[], dragoman.Result]) -> Callable[[], object]:
    """A conversion whose losses are read as well."""

    def told() -> object:
        result = work()
        return result.to_json(), result.losses

    return told


def unusual(data: bytes) -> bytes:
    """The document with a key that nobody knows, in its last message or beside its reply: the
    conversation is not plain then, which is found out last (``dragoman/core/plain.py``)."""
    doc = orjson.loads(data)
    turns = doc.get("messages") or doc.get("input") or doc.get("contents")
    (turns[-1] if turns else doc)["x_note"] = True
    return orjson.dumps(doc)


def baseline(data: bytes) -> Callable[[], bytes]:
    """The cheapest a Python program can touch the same bytes."""

    def work() -> bytes:
        return orjson.dumps(orjson.loads(data))

    return work


def targets_of(source: str, data: bytes) -> list[str]:
    """The other dialects this one can be written as today."""
    return [t for t in workload.SPEAKERS if t != source and _speaks(data, source, t)]


def _speaks(data: bytes, source: str, target: str) -> bool:
    try:
        dragoman.convert(data, source=source, target=target, facet="request")
    except (dragoman.Unsupported, ImportError, AttributeError):
        return False
    return True


# -- measuring ----------------------------------------------------------------------------------


def measure_pairs(seconds: float, collect: bool) -> Iterator[Figures]:
    """Every ordered pair of dialects over every workload."""
    for name, make in workload.WORKLOADS.items():
        script = make()
        for source in workload.SPEAKERS:
            data = workload.wire(script, source)
            yield from measure_source(name, script, source, data, seconds, collect)


def measure_source(
    name: str, script: workload.Script, source: str, data: bytes, seconds: float, collect: bool
) -> Iterator[Figures]:
    """One document into every target, all against the same baseline in the same rounds."""
    targets = targets_of(source, data)
    works = [conversion(data, source, t) for t in targets]
    odd = [conversion(unusual(data), source, t) for t in targets]
    taken = measure_works(data, works, odd, targets, source, "request", seconds, collect)
    for target, took in zip(targets, taken, strict=True):
        bar = BARS.get(name, LONG_BARS[target])
        yield {
            "workload": name,
            "source": source,
            "target": target,
            "bar": bar,
            **took,
            **check(script, data, source, target),
        }


def measure_answers(seconds: float, collect: bool) -> Iterator[Figures]:
    """Every ordered pair of dialects over every response."""
    for name, make in answers.WORKLOADS.items():
        reply = make()
        for source in answers.SPEAKERS:
            data = answers.wire(reply, source)
            targets = [target for target in answers.SPEAKERS if target != source]
            works = [answering(data, source, t) for t in targets]
            odd = [answering(unusual(data), source, t) for t in targets]
            taken = measure_works(data, works, odd, targets, source, "response", seconds, collect)
            for target, took in zip(targets, taken, strict=True):
                yield {
                    "workload": f"response, {name}",
                    "source": source,
                    "target": target,
                    **took,
                    **check_answer(reply, data, source, target),
                    "bar": ANSWER_BAR,
                }


def measure_works(
    data: bytes,
    works: Sequence[timing.Work],
    odd: Sequence[timing.Work],
    targets: Sequence[str],
    source: str,
    facet: str,
    seconds: float,
    collect: bool,
) -> Iterator[Figures]:
    """Conversions of one document against its baseline, in the same rounds; and then, against it
    once more, with the losses read, and of an unusual document."""
    told = [telling(converting(data, source, target, facet)) for target in targets]
    base, *taken = timing.race(
        [baseline(data), *works], seconds=seconds * (1 + len(works)), collect=collect
    )
    again, *more = timing.race(
        [baseline(data), *told, *odd], seconds=seconds * (1 + len(works)), collect=collect
    )
    count = len(works)
    for took, telling_took, odd_took in zip(taken, more[:count], more[count:], strict=True):
        yield {
            "told_ratio": telling_took.best / again.best,
            "unusual_ratio": odd_took.best / again.best,
            "bytes": len(data),
            "micros": took.best * 1e6,
            "orjson_micros": base.best * 1e6,
            "ratio": took.best / base.best,
            "median_ratio": took.median / base.median,
        }


def check(script: workload.Script, data: bytes, source: str, target: str) -> Figures:
    """Whether the conversion said the same, and how many losses it noted."""
    result = dragoman.convert(data, source=source, target=target, facet="request")
    wanted = gist(workload.SPEAKERS[target](script), target)
    written = gist(orjson.loads(result.to_json()), target)
    return {"losses": len(result.losses), "faithful": sorted(written) == sorted(wanted)}


def check_answer(reply: answers.Reply, data: bytes, source: str, target: str) -> Figures:
    """The same for a response."""
    result = dragoman.convert(data, source=source, target=target, facet="response", now=answers.NOW)
    wanted = answers.gist(answers.SPEAKERS[target](reply), target)
    written = answers.gist(orjson.loads(result.to_json()), target)
    return {"losses": len(result.losses), "faithful": written == wanted}


def measure_scale(seconds: float, collect: bool) -> Iterator[Figures]:
    """The cost per byte while one history doubles."""
    scripts = workload.scale()
    for source in workload.SPEAKERS:
        for target in targets_of(source, workload.wire(scripts[0], source)):
            yield measure_doublings(scripts, source, target, seconds, collect)


def measure_doublings(
    scripts: list[workload.Script], source: str, target: str, seconds: float, collect: bool
) -> Figures:
    datas = [workload.wire(script, source) for script in scripts]
    works = [w for d in datas for w in (baseline(d), conversion(d, source, target))]
    took = timing.race(works, seconds=seconds * 4, collect=collect)
    ratios = [ours.best / base.best for base, ours in zip(took[::2], took[1::2], strict=True)]
    theirs = [t.best / len(d) * 1e9 for t, d in zip(took[::2], datas, strict=True)]
    ours = [t.best / len(d) * 1e9 for t, d in zip(took[1::2], datas, strict=True)]
    return {
        "source": source,
        "target": target,
        "bytes": [len(d) for d in datas],
        "nanos_per_byte": ours,
        "cost_growth": ours[-1] / ours[0],
        "orjson_cost_growth": theirs[-1] / theirs[0],
        "ratios": ratios,
        "growth": ratios[-1] / ratios[0],
        "bar": LINEARITY_BAR,
    }


def measure_footprint(runs: int) -> Figures:
    with footprint.installation() as folder:
        sizes = footprint.size(folder)
        unpacked = footprint.size(folder, byte_code=False)
        empty = footprint.start_up("import msgspec", folder, runs)
        alone = footprint.start_up("import dragoman", folder, runs)
        first = footprint.start_up(footprint.FIRST, folder, runs)
    return {
        "import_ms": alone.median,
        "import_best_ms": alone.best,
        "import_bar_ms": IMPORT_BAR_MS,
        "import_msgspec_ms": empty.median,
        "first_conversion_ms": first.median,
        "size_bytes": sizes,
        "size_mb": sum(sizes.values()) / 1e6,
        "unpacked_mb": sum(unpacked.values()) / 1e6,
    }


def measure(*, quick: bool, collect: bool) -> Figures:
    """Everything. ``quick`` takes seconds and is noisy; the full run takes some minutes."""
    seconds = 0.05 if quick else 1.5
    return {
        "python": sys.version.split()[0],
        "orjson": orjson.__version__,
        "gc": collect,
        "pairs": [*measure_pairs(seconds, collect), *measure_answers(seconds, collect)],
        "scale": list(measure_scale(seconds, collect)),
        "footprint": measure_footprint(3 if quick else 21),
    }


# -- showing ------------------------------------------------------------------------------------


def mark(figure: float, bar: float) -> str:
    return "ok" if figure <= bar else "MISS"


def pair_rows(figures: Figures) -> Iterator[Row]:
    head = ["conversion", "workload", "size", "orjson", "dragoman", "ratio", "median", "bar", ""]
    yield [*head, "with losses", "unusual"]
    for f in figures["pairs"]:
        yield [
            f"{f['source']} > {f['target']}",
            f["workload"],
            f"{f['bytes'] / 1000:,.1f} kB",
            f"{f['orjson_micros']:,.1f} µs",
            f"{f['micros']:,.1f} µs",
            f"{f['ratio']:.2f}",
            f"{f['median_ratio']:.2f}",
            f"{f['bar']:.1f}",
            mark(f["ratio"], f["bar"]) + ("" if f["faithful"] else " (says something else!)"),
            f"{f['told_ratio']:.2f}",
            f"{f['unusual_ratio']:.2f}",
        ]


def scale_rows(figures: Figures) -> Iterator[Row]:
    steps = [f"x{2**n}" for n in range(workload.DOUBLINGS + 1)]
    yield ["ratio to orjson", *steps, "growth", "bar", ""]
    for f in figures["scale"]:
        yield [
            f"{f['source']} > {f['target']}",
            *(f"{ratio:.2f}" for ratio in f["ratios"]),
            f"{f['growth']:.2f}",
            f"{f['bar']:.1f}",
            mark(f["growth"], f["bar"]),
        ]


def cost_rows(figures: Figures) -> Iterator[Row]:
    steps = [f"x{2**n}" for n in range(workload.DOUBLINGS + 1)]
    yield ["ns per byte", *steps, "growth", "orjson's growth"]
    for f in figures["scale"]:
        costs = (f"{cost:.2f}" for cost in f["nanos_per_byte"])
        grown = (f"{f[key]:.2f}" for key in ("cost_growth", "orjson_cost_growth"))
        yield [f"{f['source']} > {f['target']}", *costs, *grown]


def footprint_rows(figures: Figures) -> Iterator[Row]:
    f = figures["footprint"]
    millis, size = f["import_ms"], f["size_mb"]
    yield ["footprint", "figure", "bar", ""]
    bar = f["import_bar_ms"]
    yield ["import dragoman", f"{millis:.0f} ms", f"{bar:.0f} ms", mark(millis, bar)]
    yield ["import dragoman, best of the runs", f"{f['import_best_ms']:.0f} ms", "", ""]
    yield ["of which msgspec", f"{f['import_msgspec_ms']:.0f} ms", "", ""]
    yield ["import and first conversion", f"{f['first_conversion_ms']:.0f} ms", "", ""]
    unpacked = f["unpacked_mb"]
    yield ["dragoman + msgspec, as their wheels hold them", f"{unpacked:.1f} MB", "", ""]
    yield ["the same with byte code", f"{size:.1f} MB", "", ""]


def plain_table(rows: Iterable[Row]) -> str:
    listed = list(rows)
    widths = [max(map(len, column)) for column in zip(*listed, strict=True)]
    lines = []
    for row in listed:
        head, *rest = (cell.ljust(w) if not i else cell.rjust(w) for i, (cell, w) in
                       enumerate(zip(row, widths, strict=True)))  # fmt: skip
        lines.append("  ".join([head, *rest]).rstrip())
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)


def markdown_table(rows: Iterable[Row]) -> str:
    head, *body = rows
    rule = ["---", *("---:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *body])


def show(figures: Figures, *, markdown: bool) -> str:
    table = markdown_table if markdown else plain_table
    made = [pair_rows, scale_rows, cost_rows, footprint_rows]
    return "\n\n".join(table(rows(figures)) for rows in made)


def misses(figures: Figures) -> list[str]:
    """Every bar that was not reached."""
    f = figures["footprint"]
    out = [
        f"{p['source']} > {p['target']}, {p['workload']}: {p['ratio']:.2f} > {p['bar']}"
        for p in figures["pairs"]
        if p["ratio"] > p["bar"]
    ]
    out += [f"{p['source']} > {p['target']}: unfaithful" for p in figures["pairs"]
            if not p["faithful"]]  # fmt: skip
    out += [
        f"{s['source']} > {s['target']}: not linear, {s['growth']:.2f} > {s['bar']}"
        for s in figures["scale"]
        if s["growth"] > s["bar"]
    ]
    if f["import_ms"] > f["import_bar_ms"]:
        out.append(f"import: {f['import_ms']:.0f} ms > {f['import_bar_ms']:.0f} ms")
    made = len(workload.WORKLOADS) + len(answers.WORKLOADS)
    wanted = made * len(workload.SPEAKERS) * (len(workload.SPEAKERS) - 1)
    if len(figures["pairs"]) < wanted:
        out.append(f"only {len(figures['pairs'])} of {wanted} conversions exist")
    return out


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few seconds, noisy")
    parser.add_argument("--gc", action="store_true", help="leave the garbage collector on")
    parser.add_argument("--markdown", action="store_true", help="tables for the README")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--enforce", action="store_true", help="exit 1 if a bar is missed")
    asked = parser.parse_args(argv)
    timing.pin()
    figures = measure(quick=asked.quick, collect=asked.gc)
    print(show(figures, markdown=asked.markdown))
    print(timing.noise())
    if asked.json:
        Path(asked.json).write_text(json.dumps(figures, indent=1) + "\n")
    missed = misses(figures)
    if asked.enforce and missed:
        print("\nmissed:", *missed, sep="\n  ", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
