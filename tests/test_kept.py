"""The conversions of tests/kept: they give what they gave, and every law holds for them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dragoman
import kept
import sdk
from dragoman.testing import difference
from kept import Case, Outcome

CASES = kept.load()
BY_FILE = sorted({case.dialect for case, _ in CASES})


def of(dialect: str) -> list[tuple[Case, Outcome]]:
    return [each for each in CASES if each[0].dialect == dialect]


@pytest.mark.parametrize("dialect", BY_FILE)
def test_they_give_what_they_gave(dialect: str) -> None:
    """After a change that was meant, ``python tests/kept.py`` writes them anew."""
    for case, wanted in of(dialect):
        got = kept.outcome(case)
        assert kept.alike(got, wanted), f"{case.name}\n{difference(shown(got), shown(wanted))}"


def shown(found: Outcome) -> list[object]:
    """An outcome as JSON, as far as it is."""
    return [value(found.written), list(found.losses), value(found.capsule)]


def value(written: str) -> object:
    try:
        return json.loads(written)
    except ValueError:
        return written


@pytest.mark.parametrize("dialect", BY_FILE)
def test_every_law_holds_for_them(dialect: str) -> None:
    """So that a wrong result is not kept as the right one."""
    for case, _ in of(dialect):
        for problem in kept.laws(case):
            raise AssertionError(f"{case.name}\n{problem}")


@pytest.mark.parametrize(
    "target", sorted({d for d, _ in sdk.judged()} - {"openai-finetune", "vertex-tuning"})
)
def test_the_official_types_accept_them(target: str) -> None:
    """What was written for another dialect and breaks none of our rules breaks none of theirs."""
    asked = 0
    for case, wanted in CASES:
        if case.target == target and is_written(case, wanted):
            document = json.loads(wanted.written)
            if case.facet != "request" or not dragoman.check(document, target):
                problems = sdk.problems(target, case.facet, document)
                assert not problems, f"{case.name}\n{wanted.written}\n{problems}"
                asked += 1
    assert asked


def is_written(case: Case, wanted: Outcome) -> bool:
    """Whether it is a document with types, and nothing that came back as it was."""
    if (case.target, case.facet) not in sdk.judged() or wanted.written.startswith("! "):
        return False
    if case.dialect == "native":  # a tree may have been read from the dialect of the target
        return f'"dialect":"{case.target}"' not in kept.text(case.document)
    return case.dialect != case.target and case.capsule is None


def test_only_our_own_errors_are_kept() -> None:
    """A traceback is never the right result, whatever a file says."""
    names = {wanted.written.split()[1] for _, wanted in CASES if wanted.written.startswith("! ")}
    assert names
    for name in names:
        assert issubclass(getattr(dragoman, name, Exception), dragoman.DragomanError), name


def test_the_files_are_written_as_they_are_read(tmp_path: Path) -> None:
    """Sorted, each document once: a change of one case is a change of its lines."""
    kept.save(CASES, tmp_path)
    for path in kept.ROOT.glob("*.txt"):
        assert (tmp_path / path.name).read_text("utf-8") == path.read_text("utf-8")
    assert len(list(tmp_path.iterdir())) == len(list(kept.ROOT.glob("*.txt")))
