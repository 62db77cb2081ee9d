"""The mutants themselves: which faults are made, and that one which matters is noticed."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import kept
from choosing import chosen
from kept import Case
from mutants import judging
from mutants.__main__ import CORE, MEASURED, Row, core, equivalents, measured, name_of, row_of
from mutants.checks import Check, Reach, kept_check
from mutants.judging import Judge, Map, Verdict, recorded
from mutants.mutating import Module, function_code
from mutants.pool import Pool, digest, reached
from mutants.telling import Search, Teller, Told, smaller


@pytest.fixture(scope="module", autouse=True)
def frozen_again() -> Iterator[None]:
    """A judge thaws all objects there are; no later test looks through them (``conftest.py``)."""
    yield
    gc.collect()
    gc.freeze()


SOURCE = '''
"""Prose is left alone."""
TABLE = {"a": 1, "b": 2}
SIGNS = ("price", "rebate")

class Shop:
    def price(self, goods: list[int], *, rebate: int = 0) -> int:
        """What it costs."""
        total = 0
        for each in goods:
            if each <= 0 or not each:
                continue
            total += each
        log(f"a reason of {total}", at="/x")
        return total

    def sniff(self, doc):
        return any(sign in doc for sign in SIGNS)
'''


def module(tmp_path: Path) -> Module:
    path = tmp_path / "shop.py"
    path.write_text(SOURCE, "utf-8")
    return Module(path, "shop.py")


def test_which_faults_are_made(tmp_path: Path) -> None:
    made = {(m.function, m.was, m.now) for m in module(tmp_path).mutants}
    for function, was, now in (
        ("", "TABLE = {'a': 1, 'b': 2}", "TABLE = {'b': 2}"),
        ("", "TABLE = {'a': 1, 'b': 2}", "TABLE = {'a': 2, 'b': 2}"),
        ("Shop.price", "total = 0", "total = 1"),
        ("Shop.price", "if each <= 0 or not each:", "if each < 0 or not each:"),
        ("Shop.price", "if each <= 0 or not each:", "if each <= 0 and (not each):"),
        ("Shop.price", "if each <= 0 or not each:", "if not each or not each:"),
        ("Shop.price", "if each <= 0 or not each:", "if each <= 0 or not not each:"),
        ("Shop.price", "continue", "break"),
        ("Shop.price", "total += each", "pass"),
        ("Shop.price", "return total", "return None"),
    ):
        assert (function, was, now) in made
    assert not any(was.startswith("SIGNS") for _, was, _ in made)  # it only weighs evidence
    told = {m.now for m in module(tmp_path).mutants if m.was.startswith("log(")}
    assert told == {"pass", "log(f'a reason of {total}')", "log(f'a reason of {total}', at='/xx')"}


def test_each_mutant_can_be_compiled(tmp_path: Path) -> None:
    found = module(tmp_path)
    original = compile(SOURCE, str(found.path), "exec")
    for number, mutant in enumerate(found.mutants):
        if not mutant.function:
            assert found.table(number)[0] == "TABLE"
            continue
        (code,) = function_code(found.compiled(number), mutant.function)
        (before,) = function_code(original, mutant.function)
        assert code != before
    assert compile(found.tree, str(found.path), "exec") == original


def test_every_equivalent_mutant_has_a_reason_and_is_still_made() -> None:
    reasons = equivalents()
    assert all(reasons.values())
    files = {name for name, *_ in reasons}
    made = {
        name_of(mutant)
        for path in core()
        if (name := path.relative_to(CORE).as_posix()) in files
        for mutant in Module(path, name).mutants
    }
    assert set(reasons) <= made


# -- the judge itself ----------------------------------------------------------------------------

PAIRING = "tools/pairing.py"
CALLS = Case(
    "gemini", "request", {"contents": [
        {"role": "model", "parts": [{"functionCall": {"name": n, "args": {}}} for n in "ab"]},
        {"role": "user", "parts": [
            {"functionResponse": {"name": n, "response": {"result": f"a long result of {n}"}}}
            for n in "ba"
        ]},
    ]}, "openai-chat",
)  # fmt: skip
"""Two results in another order than their calls."""


def judged_by(check: Callable[[], object], path: str) -> tuple[Judge, Module]:
    """A judge with one check, which reaches all of a file."""
    file = CORE / path
    lines = [(0, line) for line in range(1, len(file.read_text("utf-8").splitlines()) + 1)]
    reach = Map([file])
    judge = Judge([Check("one", "kept", 0, check)], reach)
    reach.add(0, lines)
    return judge, Module(file, path)


def verdicts(judge: Judge, found: Module, named: bool) -> dict[int, Verdict]:
    """Of a few mutants, of functions or of tables."""
    many = 8 if chosen["quick"] else 20
    some = [n for n, mutant in enumerate(found.mutants) if bool(mutant.function) is named][:many]
    given = {number: judge.verdict(found, number) for number in some}
    return {number: verdict for number, verdict in given.items() if verdict is not None}


def test_a_check_that_fails_without_any_fault_is_found_out() -> None:
    """Then all mutants are noticed, and none of them says anything."""
    judge, found = judged_by(lambda: 1 / 0, PAIRING)
    given = verdicts(judge, found, named=True)
    assert given
    assert all(verdict.killer for verdict in given.values())
    (problem,) = judge.mistaken(found, given)
    assert problem == f"{PAIRING}: without any fault, put in as a function: kept one"
    assert not any(verdict.killer for verdict in given.values()), "it is asked no more"


def test_a_check_that_fails_before_is_named_and_not_asked(tmp_path: Path) -> None:
    """It says nothing of a mutant, and what else there is can still be measured."""
    file = CORE / PAIRING
    checks = [
        Check("broken", "kept", 0, lambda: 1 / 0),
        kept_check(CALLS, kept.outcome(CALLS)),
    ]
    reach, failing = recorded(checks, [file], tmp_path / "some.reach")
    assert failing == ["kept broken"]
    found = Module(file, PAIRING)
    asked = {n for number in range(len(found.mutants)) for n in reach.reach(found, number)}
    assert asked == {1}


def test_a_check_that_notices_a_fault_is_no_problem() -> None:
    judge, found = judged_by(kept_check(CALLS, kept.outcome(CALLS)).run, PAIRING)
    given = verdicts(judge, found, named=True)
    assert any(verdict.killer for verdict in given.values())
    assert not list(judge.mistaken(found, given))


def test_modules_that_cannot_be_loaded_anew_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """All mutants that are loaded would be noticed: their process ends before any check."""

    def broken(*_: object) -> None:
        raise ImportError

    monkeypatch.setattr(judging, "loaders", lambda path, name: frozenset({path}))
    monkeypatch.setattr(judging, "checks_with", broken)
    judge, found = judged_by(lambda: None, "dialects/cohere/parts.py")
    given = verdicts(judge, found, named=False)
    assert {verdict.killer for verdict in given.values()} == {"the process ended"}
    (problem,) = judge.mistaken(found, given)
    assert problem.endswith("put in as a module that is loaded: the process ended")


def test_a_file_whose_mutants_cannot_be_put_in_is_found_out() -> None:
    """None of them survives, and none was tried."""
    judge, found = judged_by(lambda: None, PAIRING)
    judge.functions = {}
    row, (problem,) = row_of(judge, None, found.path, 4, 0, {})
    assert (row.tried, row.unfit) == (0, 4)
    assert problem == f"{PAIRING}: 4 of 4 mutants could not be put in"


# -- inputs that tell a mutant -------------------------------------------------------------------


def searched(case: Case, path: str, was: str, now: str) -> Told:
    """What a pool of one input finds for one mutant."""
    file = CORE / path
    pool = Pool([case], [digest(case)], Map([file]))
    pool.reach.add(0, reached(Reach([file]), case))
    judge = Judge([], Map([file]))
    found = Module(file, path)
    (number,) = [n for n, m in enumerate(found.mutants) if (m.was, m.now) == (was, now)]
    search = Search(Teller(judge, pool), found, number)
    try:
        return search.run()
    finally:
        search.switch.turn(on=False)


def test_an_input_is_found_that_tells_a_mutant() -> None:
    """It is made small, and differs still; a mutant that means the same is told by none."""
    before = kept.outcome(CALLS)
    found = searched(CALLS, "tools/pairing.py", "if callers:", "if not callers:")
    assert found.case is not None
    assert len(kept.text(found.case.document)) < len(kept.text(CALLS.document))
    assert found.wanted == kept.outcome(found.case), "the mutant is still in"
    assert kept.outcome(CALLS) == before
    assert found.lines


def test_a_case_that_is_kept_can_fail() -> None:
    check = kept_check(CALLS, kept.outcome(CALLS))
    check.run()
    wrong = kept.outcome(CALLS)._replace(losses=("dropped call.id at /contents/0",))
    with pytest.raises(AssertionError):
        kept_check(CALLS, wrong).run()


def test_what_breaks_a_law_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "laws", lambda case: iter(["way_home: it got lost"]))
    found = searched(CALLS, "tools/pairing.py", "if callers:", "if not callers:")
    assert found.case is None
    assert found.broken[0][1] == "way_home: it got lost"


def test_smaller_documents_keep_their_types() -> None:
    document = {"a": [1, {"b": "a text that is long"}], "c": "short"}
    made = list(smaller(document))
    assert {"a": [1, {"b": "a text that is long"}]} in made
    assert {"a": [1], "c": "short"} in made
    assert {"a": [1, {"b": "x"}], "c": "short"} in made
    assert all(isinstance(each.get("a", []), list) for each in made)


def test_the_table_of_what_was_measured() -> None:
    row = Row("tools/pairing.py", 67, 18, 1, [], 0, 0)
    head = "# Title\n\n| file | mutants |\n| --- | --- |\n"
    old = "| `capsule/names.py` | 62 | 20 | 31 | 0 | 0 % |\n"
    new = "| `tools/pairing.py` | 67 | 18 | 47 | 0 | 0 % |\n"
    assert measured(head + old, [row], 47) == head + old + new
    stale = "| `tools/pairing.py` | 60 | 20 | 1 | 5 | 25 % |\n"
    assert measured(head + stale, [row], 47) == head + new


def test_what_was_measured_are_files_of_the_core() -> None:
    names = {f"`{path.relative_to(CORE).as_posix()}`" for path in core()}
    rows = [line.split("|") for line in MEASURED.read_text("utf-8").splitlines() if "`" in line]
    found = {row[1].strip() for row in rows if len(row) == 8}
    assert found
    assert found <= names
