"""Whether a mutant is noticed: the checks that reach it, in a process of their own.

The process is forked when everything is loaded; it puts the mutant into the functions as they are
(or into the tables), runs the checks until one fails, and ends. A check that takes too much CPU
time or memory has noticed something, too.
"""

from __future__ import annotations

import ast
import functools
import gc
import os
import pickle
import resource
import signal
import sys
import traceback
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from .checks import ROOT, Check, Reach
from .loading import checks_with, loaders
from .mutating import Module, function_code

LAWS = ("kept", "pair", "identity", "audit", "home", "test", "edits")
QUICK = ("kept", "pair", "identity")
"""Those that take least."""
MOST = {
    "kept": 800, "pair": 600, "identity": 150, "audit": 100, "home": 100, "test": 120, "edits": 150,
}  # fmt: skip
"""So many checks of each law are asked for one mutant, as unlike each other as can be."""
SECONDS = {"test": 4}
"""CPU time after which a check counts as failed; most take a thousandth of it."""
USUALLY = 1
MEMORY = 1 << 30
DIALECTS = ROOT / "src" / "dragoman" / "dialects"
"""Its files have nothing to do with each other, unlike those of another folder."""


class Verdict(NamedTuple):
    killer: str
    """the check that noticed; empty for a survivor"""
    asked: int
    """how many checks reach the mutant and were asked"""
    place: int = -1
    """of the check that noticed, among all; -1 if none did or the process ended without one"""


class Map:
    """Which checks reach a line, and which go the same way through a file."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = list(files)
        self.reaching: dict[tuple[int, int], array[int]] = {}
        self.width: dict[int, int] = {}  # how many of the files a check reaches
        self.ways: dict[int, dict[int, int]] = {number: {} for number in range(len(files))}

    def add(self, number: int, lines: Sequence[tuple[int, int]]) -> None:
        by_file: dict[int, list[int]] = {}
        for file, line in lines:
            self.reaching.setdefault((file, line), array("I")).append(number)
            by_file.setdefault(file, []).append(line)
        self.width[number] = len(by_file)
        for file, way in by_file.items():
            self.ways[file][number] = hash(tuple(way))

    def reach(self, module: Module, number: int) -> set[int]:
        """What reaches a mutant: its line, else its statement; of a table, who names it."""
        mutant = module.mutants[number]
        file = self.files.index(module.path)
        found: set[int] = set(self.reaching.get((file, mutant.line), ()))
        if not mutant.function:
            for other, lines in uses(module.table(number)[0], self.files):
                for line in lines:
                    found.update(self.reaching.get((other, line), ()))
            for path in loaded_by(module, number):
                for other, near in enumerate(self.files):
                    if near == path or near.parent == path.parent != DIALECTS:
                        found.update(self.ways[other])
            if not found:
                found.update(self.ways[file])
        elif not found:
            for line in range(mutant.lines[0], mutant.lines[1] + 1):
                found.update(self.reaching.get((file, line), ()))
        return found

    def around(self, module: Module, number: int) -> set[int]:
        """What reaches the function of a mutant; of a table, its file."""
        file = self.files.index(module.path)
        node = module.function(module.mutants[number].function)
        if node is None:
            return set(self.ways[file])
        found: set[int] = set()
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
            found.update(self.reaching.get((file, line), ()))
        return found

    def in_turn(self, found: Iterable[int], path: Path) -> list[int]:
        """Those that go different ways through a file first."""
        ways = self.ways[self.files.index(path)]
        apart: dict[int, list[int]] = {}
        for each in sorted(found, key=lambda n: n * 2654435761 % (1 << 32)):
            apart.setdefault(ways.get(each, 0), []).append(each)
        turns = chain.from_iterable(zip_longest(*apart.values()))
        return [each for each in turns if each is not None]


Functions = dict[tuple[str, str], list[FunctionType]]
Turn = Callable[[bool], None]
Known = dict[tuple[str, str, int], bytes]
"""Which lines a check reaches, in pairs of numbers, as far as it is known."""


def recorded(checks: Sequence[Check], files: Sequence[Path], store: Path) -> tuple[Map, list[str]]:
    """Which checks reach which lines, and the checks that fail without any mutant.

    Of those that are new, a process of its own finds out; it ends with all that it has put into
    caches. What fails reaches nothing, and is tried again the next time.
    """
    known: Known = pickle.loads(store.read_bytes()) if store.exists() else {}
    if any(check[:3] not in known for check in checks):
        store.parent.mkdir(parents=True, exist_ok=True)
        in_a_child(lambda: _record(checks, files, known, store), "no reach can be recorded")
        known = pickle.loads(store.read_bytes())
    found = Map(files)
    failing: list[str] = []
    for number, check in enumerate(checks):
        lines = known.get(check[:3])
        if lines is None:
            failing.append(f"{check.law} {check.name}")
            lines = b""
        flat = array("H", lines)
        found.add(number, list(zip(flat[::2], flat[1::2], strict=True)))
    return found, failing


def in_a_child(work: Callable[[], None], otherwise: str) -> None:
    """Do something that leaves nothing in the caches of this process."""
    if not (child := os.fork()):
        status, screen = 1, os.dup(2)
        try:
            _silence()
            work()
            status = 0
        except BaseException:
            os.write(screen, traceback.format_exc().encode())
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1]:
        raise SystemExit(otherwise)


def _record(checks: Sequence[Check], files: Sequence[Path], known: Known, store: Path) -> None:
    part = store.with_suffix(".part")
    part.write_bytes(pickle.dumps(known | dict(_new(checks, files, known))))
    part.rename(store)


def _new(
    checks: Sequence[Check], files: Sequence[Path], known: Known
) -> Iterator[tuple[tuple[str, str, int], bytes]]:
    reach = Reach(files)
    for check in checks:
        if check[:3] not in known:
            try:
                lines = sorted(reach.lines(check))
            except BaseException:  # it may count calls itself, and is not asked then
                lines = []
                try:
                    check.run()
                except Exception:
                    continue
            yield check[:3], array("H", chain.from_iterable(lines)).tobytes()


NOTHING = Check("", "test", 0, lambda: None)
"""Instead of a check that cannot be made anew."""


def loaded_by(module: Module, number: int) -> frozenset[Path]:
    """The files that look up a mutant's table while they are loaded."""
    if module.mutants[number].function or not module.path.is_relative_to(DIALECTS.parent):
        return frozenset()
    return loaders(module.path, module.table(number)[0])


def way(module: Module, number: int) -> str:
    """How a mutant is put into the program."""
    if module.mutants[number].function:
        return "a function"
    return "a module that is loaded" if loaded_by(module, number) else "a table"


class Judge:
    """Asks the checks about the mutants of one file after the other."""

    def __init__(self, checks: list[Check], reach: Map) -> None:
        self.checks, self.reach = checks, reach
        gc.unfreeze()  # what another judge has frozen is not among the objects
        self.functions = _functions({str(path) for path in reach.files})
        self.killers: dict[tuple[str, str], list[int]] = {}
        self.unsound: set[int] = set()
        """checks that have failed without any mutant"""
        self.caches = _caches()
        gc.collect()
        gc.freeze()

    def add(self, check: Check, lines: Sequence[tuple[int, int]]) -> None:
        """Ask one more check from now on."""
        self.reach.add(len(self.checks), lines)
        self.checks.append(check)

    def verdict(self, module: Module, number: int, laws: Sequence[str] = LAWS) -> Verdict | None:
        """Whether a mutant is noticed; None if it cannot be put into the running program."""
        mutant = module.mutants[number]
        asked = self.chosen(module, number, laws)
        killers = self.killers.setdefault((mutant.path, mutant.function), [])
        order = [n for n in killers if n in asked] + [n for n in asked if n not in killers]
        if not order:
            return Verdict("", 0)
        verdict = self._asked(module, number, order)
        if verdict is not None and verdict.place >= 0:
            if verdict.place in killers:
                killers.remove(verdict.place)
            killers.insert(0, verdict.place)
            del killers[8:]
        return verdict

    def mistaken(
        self, module: Module, verdicts: dict[int, Verdict], laws: Sequence[str] = LAWS
    ) -> Iterator[str]:
        """What is wrong with the verdicts: with the original in the place of a mutant, the checks
        that noticed it must pass. Else everything is noticed, and nothing is told by that.

        A check that fails is not asked any more, and what it noticed is judged again.
        """
        ways: dict[str, list[int]] = {}
        for number, verdict in verdicts.items():
            if verdict.killer:
                ways.setdefault(way(module, number), []).append(number)
        for name, noticed in ways.items():
            number = next((n for n in noticed if verdicts[n].place < 0), noticed[0])
            while True:
                order = {verdicts[n].place for n in noticed} - {-1} - self.unsound
                found = self._asked(module.unchanged(), number, sorted(order))
                if found is not None and not found.killer:
                    break
                by = "it cannot be put in" if found is None else found.killer
                yield f"{module.name}: without any fault, put in as {name}: {by}"
                if found is None or found.place < 0:
                    break
                self.unsound.add(found.place)
                for each in noticed:
                    if verdicts[each].place == found.place:
                        verdicts[each] = self.verdict(module, each, laws) or verdicts[each]

    def _asked(self, module: Module, number: int, order: list[int]) -> Verdict | None:
        """Put a mutant in, in a process of its own, and ask some checks."""
        readable, writable = os.pipe()
        if not (child := os.fork()):
            os.close(readable)
            self._judge(module, number, order, writable)
        os.close(writable)
        written = b""
        while piece := os.read(readable, 4096):
            written += piece
        os.close(readable)
        os.waitpid(child, 0)
        words = written.split()
        if words and words[-1] == b"unfit":
            return None
        if words and words[-1] == b"survived":
            return Verdict("", len(order))
        if not words:
            return Verdict("the process ended", len(order))
        place = int(words[-1])
        check = self.checks[place]
        return Verdict(f"{check.law} {check.name}", len(order), place)

    def chosen(self, module: Module, number: int, laws: Sequence[str]) -> dict[int, None]:
        """The checks that reach a mutant, those that go different ways through its file first."""
        by_law: dict[str, list[int]] = {}
        for check in self.reach.reach(module, number) - self.unsound:
            by_law.setdefault(self.checks[check].law, []).append(check)
        order: dict[int, None] = {}
        for law_name in laws:
            some = self.reach.in_turn(by_law.get(law_name, ()), module.path)
            if law_name == "test":  # a test of this file alone knows it best
                some.sort(key=self.reach.width.__getitem__)
            order.update(dict.fromkeys(some[: MOST[law_name]]))
        return order

    def _judge(self, module: Module, number: int, order: list[int], pipe: int) -> None:
        """In the child: never returns."""
        written = b"unfit"
        try:
            _silence()
            _limit()
            checks = self.checks
            if is_fit := bool(loaded_by(module, number)):
                anew = checks_with(module, number)
                checks = [anew.get(check[:3], NOTHING) for check in checks]
            else:
                is_fit = Switch(module, number, self.functions, self.caches).turn(on=True)
            if is_fit:
                written = b"survived"
                for place in order:
                    check = checks[place]
                    os.write(pipe, b"%d " % place)  # if the process ends here, this was why
                    signal.setitimer(signal.ITIMER_PROF, SECONDS.get(check.law, USUALLY))
                    try:
                        check.run()
                    except BaseException:
                        os._exit(0)
                signal.setitimer(signal.ITIMER_PROF, 0)
            os.write(pipe, written)
        finally:
            os._exit(0)


class Switch:
    """A mutant that is put into the running program, and taken out again."""

    def __init__(
        self, module: Module, number: int, functions: Functions, caches: Sequence[Any]
    ) -> None:
        self.caches = caches
        name = module.mutants[number].function
        self.turns = _of_functions(module, number, functions) if name else _of_table(module, number)

    def turn(self, on: bool) -> bool:
        """Put it in or take it out; False if it cannot be put in."""
        for cache in self.caches:  # what was computed the other way
            cache.cache_clear()
        try:
            for turn in self.turns:
                turn(on)
        except ValueError:  # it closes over other names
            return False
        return bool(self.turns)


def _of_functions(module: Module, number: int, functions: Functions) -> list[Turn]:
    turns: list[Turn] = []
    for new in function_code(module.compiled(number), module.mutants[number].function):
        for function in functions.get((new.co_filename, new.co_qualname), ()):
            if function.__code__.co_firstlineno == new.co_firstlineno:
                turns.append(partial(_set_code, function, function.__code__, new))
    return turns


def _set_code(function: FunctionType, old: CodeType, new: CodeType, on: bool) -> None:
    function.__code__ = new if on else old


def _functions(files: set[str]) -> Functions:
    found: Functions = {}
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename in files:
            key = (each.__code__.co_filename, each.__code__.co_qualname)
            found.setdefault(key, []).append(each)
    return found


@functools.cache
def _used_names(path: Path) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.setdefault(node.id, set()).add(node.lineno)
        elif isinstance(node, ast.Attribute):
            found.setdefault(node.attr, set()).add(node.lineno)
    return found


def uses(name: str, files: Sequence[Path]) -> list[tuple[int, set[int]]]:
    """The lines of the files that use a name."""
    return [(n, lines) for n, path in enumerate(files) if (lines := _used_names(path).get(name))]


def _of_table(module: Module, number: int) -> list[Turn]:
    """Give a table of a module its other value, wherever it was imported to."""
    name, code = module.table(number)
    loaded = next((m for m in sys.modules.values() if _is_file(m, module.path)), None)
    if loaded is None:
        return []
    old, new = vars(loaded)[name], eval(code, dict(vars(loaded)))
    if isinstance(old, dict):
        return [partial(_set_items, old, dict(old), new)]
    spaces: list[Any] = [m for n, m in sys.modules.items() if n.startswith("dragoman")]
    spaces += [each for m in spaces for each in vars(m).values() if isinstance(each, type)]
    return [
        partial(_set_name, space, key, old, new)
        for space in spaces
        for key in [key for key, value in vars(space).items() if value is old]
    ]


def _set_items(table: dict[Any, Any], old: Any, new: Any, on: bool) -> None:
    table.clear()
    table.update(new if on else old)


def _set_name(space: Any, key: str, old: Any, new: Any, on: bool) -> None:
    with suppress(AttributeError, TypeError):
        setattr(space, key, new if on else old)


def _is_file(module: Any, path: Path) -> bool:
    return getattr(module, "__file__", None) == str(path)


def _caches() -> list[Any]:
    return [
        each
        for each in gc.get_objects()
        if isinstance(each, functools._lru_cache_wrapper)
        if (each.__module__ or "").startswith("dragoman.") and each.__name__ != "load_corpus"
    ]


def _silence() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def _limit() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
