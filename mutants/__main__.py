"""``python -m mutants [--sample N] [--seed N] [--tell] [FILE...]``: see CONTRIBUTING.md."""

from __future__ import annotations

import argparse
import hashlib
import sys
import tomllib
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from random import Random
from typing import NamedTuple

from .checks import ROOT, Check, corpus_checks, with_tests
from .judging import LAWS, QUICK, Judge, recorded
from .mutating import Module, Mutant
from .pool import gathered
from .telling import Teller

CORE = ROOT / "src" / "dragoman"
FILES = (
    "tools/pairing.py",
    "streams/transcoder.py",
    "streams/splicing.py",
    "streams/framing/*.py",
    "capsule/*.py",
    "dialects/_ai_sdk.py",
    "dialects/_chatlike.py",
    "dialects/_claude_turns.py",
    "dialects/_functions.py",
    "dialects/_gemma.py",
    "dialects/_sessions.py",
    "dialects/_stored.py",
    "dialects/_training.py",
    "dialects/_xzatoma.py",
    "dialects/*/turns.py",
    "dialects/*/order.py",
    "dialects/*/messages.py",
    "dialects/*/message.py",
    "dialects/*/assistant.py",
    "dialects/*/blocks.py",
    "dialects/*/fitting.py",
    "dialects/*/parts.py",
    "dialects/*/results.py",
    "dialects/minimax/__init__.py",
    "dialects/perplexity/__init__.py",
    "dialects/vercel_core/__init__.py",
    "dialects/*/contents.py",
    "dialects/*/history.py",
    "dialects/*/items.py",
    "dialects/*/pieces.py",
    "dialects/*/steps.py",
    "dialects/*/calls.py",
    "dialects/*/details.py",
    "dialects/*/signing.py",
    "dialects/*/inline.py",
    "dialects/*/writing.py",
    "dialects/copilot_responses/request.py",
    "dialects/[a-z]*.py",
)
"""The core: pairing, the transcoder, the framings, the capsule, writers of turns and of blocks."""
NOT = ("dialects/native.py", "dialects/azure_openai.py")
"""The tree as it is, and an API with other addresses: no turn and no block is written there."""
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
STORE = ROOT / ".cache" / "mutants"
MEASURED = Path(__file__).with_name("measured.md")


class Row(NamedTuple):
    """What became of the mutants of one file."""

    name: str
    made: int
    killed: int
    listed: int
    survived: list[Mutant]
    unfit: int
    told: int
    """of the killed, how many would have survived but for an input that was found now"""

    @property
    def tried(self) -> int:
        return self.killed + len(self.survived)

    @property
    def share(self) -> float:
        return 100 * len(self.survived) / self.tried if self.tried else 0.0


def core() -> list[Path]:
    found = {path for pattern in FILES for path in CORE.glob(pattern)} - {
        CORE / each for each in NOT
    }
    return sorted(path for path in found if path.stat().st_size > 400)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m mutants", description=__doc__)
    parser.add_argument("files", nargs="*", help="parts of the core, as tools/pairing.py; else all")
    parser.add_argument("--sample", type=int, default=0, help="so many mutants of each file")
    parser.add_argument("--seed", type=int, default=0, help="which ones a sample holds")
    parser.add_argument("--most", type=float, default=10.0, help="so many percent may survive")
    parser.add_argument("--laws", action="store_true", help="the laws of the corpus alone")
    parser.add_argument(
        "--tell", action="store_true", help="find inputs that tell what the quick checks miss"
    )
    parser.add_argument(
        "--write", action="store_true", help="write what became of them to mutants/measured.md"
    )
    options = parser.parse_args(arguments)
    files = core()
    wanted = [path for path in files if is_wanted(path, options.files)]
    if not wanted:
        raise SystemExit(f"no file of the core is named {options.files}")
    if options.laws or options.tell:
        return tried(wanted, files, list(corpus_checks()), options)
    return with_tests(lambda tests: tried(wanted, files, [*corpus_checks(), *tests], options))


def tried(
    wanted: list[Path], files: list[Path], checks: list[Check], options: argparse.Namespace
) -> int:
    """Try the mutants of the files that are wanted, and print what became of them."""
    for path in files:  # what is loaded on demand, too
        import_module(f"dragoman.{'.'.join(path.relative_to(CORE).with_suffix('').parts)}")
    reach, failing = recorded(checks, files, STORE / f"{digest()}.reach")
    pool = gathered(files, STORE / f"{digest()}.pool") if options.tell else None
    judge = Judge(checks, reach)
    teller = None if pool is None else Teller(judge, pool)
    reasons = equivalents()
    rows, wrong = [], list(unknown(reasons, wanted))
    wrong += [f"fails without any mutant, and is not asked: {check}" for check in failing]
    for path in wanted:
        row, problems = row_of(judge, teller, path, options.sample, options.seed, reasons)
        rows.append(row)
        wrong += problems
        print(f"{line(row)}", flush=True)
        for mutant in row.survived:
            print(f"  {mutant}".replace("\n", "\n  "), flush=True)
    print("\n" + HEAD)
    for row in rows:
        over = "  over the bar" if row.share > options.most else ""
        print(line(row) + over)
    for problem in wrong:
        print(problem)
    if options.write:
        MEASURED.write_text(measured(MEASURED.read_text("utf-8"), rows, options.seed), "utf-8")
    return int(bool(wrong) or any(row.share > options.most for row in rows))


HEAD = f"{'file':52} " + "{:>8} {:>6} {:>7} {:>6} {:>5} {:>9}".format(
    "mutants", "tried", "killed", "equal", "told", "survived"
)


def line(row: Row) -> str:
    survived = f"{len(row.survived)} {row.share:3.0f}%"
    counts = f"{row.made:8} {row.tried:6} {row.killed:7} {row.listed:6} {row.told:5} {survived:>9}"
    return f"{row.name:52} {counts}"


def measured(text: str, rows: Sequence[Row], seed: int) -> str:
    """The table of what was measured last, with these rows instead of those of the same files."""
    lines = text.splitlines()
    head = next(n for n, line in enumerate(lines) if line.startswith("| ---")) + 1
    known = {line.split("|")[1].strip(): line for line in lines[head:]}
    for row in rows:
        counts = f"{row.made} | {row.tried} | {seed} | {len(row.survived)} | {row.share:.0f} %"
        known[f"`{row.name}`"] = f"| `{row.name}` | {counts} |"
    return "\n".join([*lines[:head], *(known[name] for name in sorted(known))]) + "\n"


def is_wanted(path: Path, names: Sequence[str]) -> bool:
    """Whether a file is asked for: by its path in the core, or by a folder."""
    name = path.relative_to(CORE).as_posix()
    asked = [each.removeprefix("src/dragoman/").rstrip("/") for each in names]
    return not asked or any(name == each or name.startswith(f"{each}/") for each in asked)


def row_of(
    judge: Judge,
    teller: Teller | None,
    path: Path,
    sample: int,
    seed: int,
    reasons: dict[tuple[str, ...], str],
) -> tuple[Row, list[str]]:
    """What became of the mutants of a file, and what is wrong with the list or with the judge."""
    module = Module(path, path.relative_to(CORE).as_posix())
    numbers = list(range(len(module.mutants)))
    if sample and sample < len(numbers):
        numbers = sorted(Random(f"{seed} {module.name}").sample(numbers, sample))
    laws = LAWS if teller is None else QUICK
    judged = {number: judge.verdict(module, number, laws) for number in numbers}
    verdicts = {number: verdict for number, verdict in judged.items() if verdict is not None}
    wrong = list(judge.mistaken(module, verdicts, laws))
    unfit = len(judged) - len(verdicts)
    if unfit > len(judged) // 2:
        wrong.append(f"{module.name}: {unfit} of {len(judged)} mutants could not be put in")
    killed, listed, told = 0, 0, 0
    survived: list[Mutant] = []
    for number, verdict in verdicts.items():
        mutant, killer = module.mutants[number], verdict.killer
        if name_of(mutant) in reasons:
            listed += 1
            if killer:
                wrong.append(f"listed as equivalent, but noticed by {killer}:\n{mutant}")
        elif killer or (told and is_noticed(judge, module, number, laws)):
            killed += 1
        elif teller is not None and teller.keep(module, number):
            killed, told = killed + 1, told + 1
        else:
            survived.append(mutant)
    return Row(module.name, len(module.mutants), killed, listed, survived, unfit, told), wrong


def is_noticed(judge: Judge, module: Module, number: int, laws: Sequence[str]) -> bool:
    """Whether a mutant that survived is noticed now, by what was kept for another one."""
    verdict = judge.verdict(module, number, laws)
    return verdict is not None and bool(verdict.killer)


def name_of(mutant: Mutant) -> tuple[str, ...]:
    return (mutant.path, mutant.function, mutant.was, mutant.now)


def equivalents() -> dict[tuple[str, ...], str]:
    """The mutants that mean the same as the original, and why."""
    found: dict[tuple[str, ...], str] = {}
    for each in tomllib.loads(EQUIVALENT.read_text("utf-8")).get("mutant", ()):
        for now in [each["now"]] if isinstance(each["now"], str) else each["now"]:
            found[each["file"], each["function"], each["was"], now] = each["reason"]
    return found


def unknown(reasons: dict[tuple[str, ...], str], files: Sequence[Path]) -> list[str]:
    """What the list names and nobody makes any more."""
    made = set()
    for path in files:
        name = path.relative_to(CORE).as_posix()
        made |= {name_of(mutant) for mutant in Module(path, name).mutants}
    names = {path.relative_to(CORE).as_posix() for path in files}
    return [f"no such mutant: {key}" for key in reasons if key[0] in names and key not in made]


def digest() -> str:
    """Of the source: with another one, checks reach other lines."""
    found = hashlib.sha256()
    found.update(repr((FILES, NOT)).encode())
    for path in sorted(CORE.rglob("*.py")):
        found.update(f"{path}\0".encode() + path.read_bytes())
    return found.hexdigest()[:16]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
