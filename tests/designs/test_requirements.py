"""The page that lists what the designs demand: every test is there, every quotation is theirs."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "designs.md"
DESIGNS = ROOT.parent / "shared" / "designs"
ROW = re.compile(r'^\| "(?P<quote>.*)" \| (?P<test>[^|]*) \| (?P<met>[^|]*) \|$')
NAMED = re.compile(r"(?:(tests/[\w/]+\.py)::)?\b(test_\w+)(?!\.py)")
MET = ("as it says", "in another way: ", "answered: ")
NUMBERS = ("000", "001", "002", "003", "004")


@cache
def sections() -> dict[str, list[re.Match[str]]]:
    """The rows of each design; a line of a table that is none of them is an error."""
    found: dict[str, list[re.Match[str]]] = {}
    for part in PAGE.read_text("utf-8").split("\n## ")[1:]:
        lines = [line for line in part.splitlines() if line.startswith("| ")]
        rows = [ROW.match(line) for line in lines[2:]]
        assert None not in rows, lines[2 + rows.index(None)]
        found[part[:3]] = [row for row in rows if row is not None]
    return found


@cache
def names_in(path: Path) -> frozenset[str]:
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef))


def is_there(file: str | None, name: str) -> bool:
    files = [ROOT / file] if file else sorted(Path(__file__).parent.glob("test_*.py"))
    return any(name in names_in(path) for path in files)


def plain(text: str) -> str:
    return " ".join(text.split())


def test_every_design_has_its_requirements() -> None:
    assert tuple(sections()) == NUMBERS
    assert all(len(rows) > 20 for rows in sections().values())


@pytest.mark.parametrize("number", NUMBERS)
def test_every_test_that_is_named_exists(number: str) -> None:
    for row in sections()[number]:
        named = NAMED.findall(row["test"])
        assert named, row[0]
        named += NAMED.findall(row["met"])
        missing = [name for file, name in named if not is_there(file or None, name)]
        assert not missing, row[0]


@pytest.mark.parametrize("number", NUMBERS)
def test_every_requirement_is_met_and_every_deviation_has_a_reason(number: str) -> None:
    for row in sections()[number]:
        assert row["met"].startswith(MET), row[0]


@pytest.mark.parametrize("number", NUMBERS)
def test_no_requirement_stands_twice(number: str) -> None:
    quotes = [row["quote"] for row in sections()[number]]
    assert len(quotes) == len(set(quotes))


@pytest.mark.parametrize("number", NUMBERS)
def test_every_quotation_is_in_its_design(number: str) -> None:
    """Where the designs lie beside the project; they are no part of it."""
    found = sorted(DESIGNS.glob(f"{number}_*.txt"))
    written = plain(found[0].read_text("utf-8")) if found else None
    for row in sections()[number]:
        quote = plain(row["quote"].replace('\\"', '"'))
        assert written is None or quote in written, quote
