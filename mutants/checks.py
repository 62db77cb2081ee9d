"""The checks that a mutant must pass to survive, and which lines each of them reaches.

A check is a case that is kept, one law over one document of the corpus and one target, or a test
that ``make test`` runs. What reaches which line is found once, in a process of its own, so that
nothing that the original has computed is left in a cache when a mutant is judged.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple
from zlib import crc32

import pytest
from _pytest.runner import runtestprotocol

import kept
import seeds
from dragoman import dialects, testing
from dragoman.testing import Document, load_corpus
from kept import Case, Outcome

ROOT = Path(__file__).parent.parent
UNRELATED = (
    "test_audit", "test_check", "test_compare", "test_detect", "test_equals_batch", "test_leaves",
    "test_properties", "test_repair", "test_rules_hold", "test_schemas", "test_surrogates",
    "test_difference", "test_llxprt_ids",
    "test_agent", "test_choosing", "test_cli", "test_commands", "test_corpus", "test_cost",
    "test_hostile_streams", "test_kept", "test_learned_schemas", "test_migrate",
    "test_models", "test_mutants",
    "test_private", "test_project", "test_provider_callers", "test_provider_streams",
    "test_provider_upstreams", "test_providers", "test_proxy", "test_sdk_streams", "test_servers",
    "test_show", "test_strangers", "test_vercel_sdk", "test_vercel_ui_sdk", "test_wrapped",
    "test_requirements",
)  # fmt: skip
"""Files of tests about other layers or too slow; the laws of test_corpus are checks themselves."""
OUTER = ("cli", "containers", "dataset", "gateway", "providers", "sessions", "views", "workbench")
"""Folders of tests about an outer layer: many take 0.1 to 2 s an item, and of a server or of a
process the lines are not seen."""
SLOW = (
    "test_001_nothing_is_lost_in_silence", "test_004_any_json_gives_problems_that_are_explained",
    "test_004_requests_are_audited", "test_a_mangled_stream_is_an_answer_or_an_error",
    "test_all_come_home_and_nothing_is_lost_in_silence", "test_the_law_of_edits_sees_a_bad_capsule",
    "test_an_error_never_ends_up_inside_of_a_frame", "test_detection",
    "test_from_version_to_version", "test_long_texts_take_their_time_once",
    "test_many_calls_without_ids_find_their_results", "test_requests",
    "test_the_cost_of_a_capsule_is_linear", "test_the_cost_of_the_way_home_is_linear",
    "test_the_official_client_hears_it",
)  # fmt: skip
"""Functions that take more than 0.05 s an item, as measured."""
EACH = 60
"""So many items of one test function are checks."""


class Check(NamedTuple):
    """Something that fails where a mutant is noticed."""

    name: str
    law: str
    stamp: int
    """changes with what the check looks at"""
    run: Callable[[], object]


def kept_check(case: Case, wanted: Outcome) -> Check:
    stamp = crc32(repr((case, wanted)).encode())
    return Check(f"{case.name} {stamp:x}", "kept", stamp, partial(_is_kept, case, wanted))


def _is_kept(case: Case, wanted: Outcome) -> None:
    assert kept.alike(kept.outcome(case), wanted)


def corpus_checks() -> Iterator[Check]:
    """Cases that are kept; identity, pair, audit, way home and edits, each of one document."""
    names = dialects.names()
    yield from (kept_check(*each) for each in kept.load())
    corpus = load_corpus(ROOT / "tests" / "corpus")
    yield from _of_edits(corpus)
    for case in corpus:
        for document in case.documents:
            if document.degraded:
                continue
            stamp = crc32(repr(document.body).encode())
            yield Check(document.name, "identity", stamp, partial(testing.identity, document))
            for target in names:
                if target == document.dialect or not testing.speaks(target, document.facet):
                    continue
                yield from _of_pair(case, document, target, stamp)


def _of_pair(case: testing.Case, document: Document, target: str, stamp: int) -> Iterator[Check]:
    name = f"{document.name} > {target}"
    number = crc32(name.encode())
    if (wanted := case.expected(target, document.facet)) is not None:
        stamp = crc32(repr(wanted.body).encode(), stamp)
        yield Check(name, "pair", stamp, partial(testing.pair, case, document, target))
    elif number % 3 == 0:
        law = partial(testing.for_all, testing.audit, document, (target,))
        yield Check(name, "audit", stamp, law)
    if number % 5 == 0:
        law = partial(testing.for_all, testing.same, document, (target,))
        yield Check(name, "home", stamp, law)


def _of_edits(corpus: Iterable[testing.Case]) -> Iterator[Check]:
    """A document and a target after each edit that clients make."""
    whole = [d for case in corpus for d in case.documents if not d.degraded]
    for document, targets in seeds.echoed(whole):
        stamp = crc32(repr(document.body).encode())
        for target in targets:
            law = partial(testing.echoes, document, target)
            yield Check(f"{document.name} > {target}", "edits", stamp, law)


class Instead:
    """A plugin of pytest: what is done with the tests that were collected, instead of a run."""

    def __init__(self, work: Callable[[list[Check]], int]) -> None:
        self.work, self.status = work, 2

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.status = self.work(list(_item_checks(session.items)))
        return True


def with_tests(work: Callable[[list[Check]], int]) -> int:
    """Do the work with the tests that ``make test`` runs, but for those about other layers."""
    folder = ROOT / "tests"
    files = [*folder.glob("test_*.py"), *folder.glob("[a-z]*/test_*.py")]
    inner = [path for path in files if path.parent.name not in OUTER]
    chosen = sorted(str(path) for path in inner if path.stem not in UNRELATED)
    options = ["--quick", "-qq", "-s", "-p", "no:cacheprovider", "-p", "no:xdist"]
    plugin = Instead(work)
    pytest.main([*options, "--rootdir", str(ROOT), *chosen], plugins=[plugin])
    return plugin.status


def _item_checks(items: Iterable[pytest.Item]) -> Iterator[Check]:
    """Of each function the items with the lowest checksums, as ``choosing`` does it."""
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.name.partition("[")[0] in SLOW:
            continue
        functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for same in functions.values():
        for item in sorted(same, key=lambda item: crc32(item.nodeid.encode()))[:EACH]:
            yield Check(item.nodeid, "test", _stamp(item.path), partial(_run_item, item))


@cache
def _stamp(path: Path) -> int:
    return crc32(path.read_bytes())


def _run_item(item: pytest.Item) -> None:
    item.session._setupstate.stack.clear()
    for report in runtestprotocol(item, log=False, nextitem=None):
        if report.failed:
            raise AssertionError(report.longreprtext)


class Reach:
    """Which lines of some files a check executes."""

    def __init__(self, files: Iterable[Path]) -> None:
        self.files = {str(path): number for number, path in enumerate(files)}
        self.hit: set[tuple[int, int]] = set()
        self.codes: dict[CodeType, Any] = {}

    def lines(self, check: Check) -> frozenset[tuple[int, int]]:
        self.hit = set()
        sys.settrace(self._called)
        try:
            check.run()
        finally:
            sys.settrace(None)
        return frozenset(self.hit)

    def _called(self, frame: FrameType, event: str, arg: object) -> Any:
        code = frame.f_code
        try:
            return self.codes[code]
        except KeyError:
            number = self.files.get(code.co_filename)
            local = None if number is None else self._local(number)
            self.codes[code] = local
            return local

    def _local(self, number: int) -> Any:
        def trace(frame: FrameType, event: str, arg: object) -> Any:
            self.hit.add((number, frame.f_lineno))
            return trace

        return trace
