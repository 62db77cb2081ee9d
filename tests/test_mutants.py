"""The mutants themselves: which faults are made, and that one which matters is noticed."""

from __future__ import annotations

from pathlib import Path

from mutants.__main__ import CORE, core, equivalents, name_of
from mutants.mutating import Module, function_code

SOURCE = '''
"""Prose is left alone."""
TABLE = {"a": 1, "b": 2}

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
