"""Every law over every case of the corpus, for every dialect."""

from __future__ import annotations

from difflib import unified_diff
from functools import cache

import pytest

import dragoman
import places
import sdk
from accept import EVERYWHERE
from choosing import chosen, targets
from dragoman import testing
from dragoman.laws import transcript
from dragoman.model import History, Request
from dragoman.testing import Case, Document, Place, bodies, load_corpus, load_transcript
from seeds import echoed

ROOT = places.CORPUS
CORPUS = load_corpus(ROOT)
WHOLE = [document for case in CORPUS for document in case.documents if not document.degraded]
CASES = {case.name: case for case in CORPUS}

documents = pytest.mark.parametrize("document", WHOLE, ids=lambda d: d.name)
everywhere = pytest.mark.everywhere


def test_there_are_cases_enough() -> None:
    assert len(CORPUS) >= 60


@documents
def test_identity(document: Document) -> None:
    testing.identity(document)


@everywhere
@documents
def test_pair(document: Document) -> None:
    case: Case = CASES[document.case]
    for target in {*targets(document), *said(case, document)}:
        declared = testing.pair(case, document, target)
        if target in EVERYWHERE and testing.speaks(target, document.facet):
            assert declared, f"{case.name} does not say what {target} makes of it"


def said(case: Case, document: Document) -> set[str]:
    """The dialects of which a case says what they make of its document."""
    if chosen["dialect"] not in (None, document.dialect):
        return set()
    return {each.dialect for each in case.documents if each.facet == document.facet}


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case.name)
def test_nothing_in_a_transcript_is_left_over(case: Case) -> None:
    folder = ROOT / case.name
    text, whole = load_transcript(folder), bodies(case.documents)
    told = transcript.read(text, whole)
    written = transcript.write(told, whole) if text else ""
    assert text == written, "\n".join(unified_diff(text.split("\n"), written.split("\n")))
    assert not told.documents.keys() & whole.keys(), "whole, and in the transcript as well"
    sources = {(d.facet, d.name.partition("/")[2].rpartition(".")[0]) for d in case.documents}
    pairs = {(facet, *pair.split(" > ")) for facet in told.losses for pair in told.losses[facet]}
    for facet, source, target in pairs:
        assert (facet, source) in sources - told.documents.keys(), f"no {facet} in {source}"
        assert case.expected(target, facet), f"no {facet} in {target}"


@everywhere
@documents
def test_audit(document: Document) -> None:
    testing.audit_everywhere(document, targets(document))


@everywhere
@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case.name)
def test_audit_of_what_was_converted(case: Case) -> None:
    """What comes out where a case cannot be expressed whole is a document like any other."""
    for document in case.documents:
        if document.degraded and (case.name, document.dialect) not in LOOKALIKES:
            testing.for_all(testing.audit, document, targets(document))


# Functions that were made of freeform tools, in dialects that do not know them again.
LOOKALIKES = {
    ("custom-tool", "copilot-responses"): "its mark is what others know a freeform tool by",
    ("custom-tool-plain", "copilot-responses"): "its mark is what others know a freeform tool by",
}


@everywhere
@documents
def test_the_way_home(document: Document) -> None:
    testing.for_all(testing.same, document, targets(document))


@everywhere
@pytest.mark.parametrize(
    ("document", "ways"), [pytest.param(d, ways, id=d.name) for d, ways in echoed(WHOLE)]
)
def test_the_way_home_after_edits(document: Document, ways: list[str]) -> None:
    chosen = set(targets(document))
    for target in ways:
        if target in chosen:
            testing.echoes(document, target)


@everywhere
@documents
def test_determinism(document: Document) -> None:
    testing.for_all(testing.determinism, document, targets(document))


@everywhere
@documents
def test_losses_point_into_the_source(document: Document) -> None:
    testing.for_all(testing.pointers, document, targets(document))


@cache
def novel() -> dict[str, list[Place]]:
    return testing.novel_places(WHOLE)


@documents
def test_malformed_or_answer(document: Document) -> None:
    for body in testing.broken(document.body, novel()[document.name]):
        testing.malformed_or_answer(document.dialect, document.facet, body, targets(document))


JUDGED = [
    document
    for case in CORPUS
    for document in case.documents
    if (document.dialect, document.facet) in sdk.judged() and not document.spelling
]


@pytest.mark.parametrize(
    "document", JUDGED, ids=lambda d: d.name + (".degraded" if d.degraded else "")
)
def test_the_official_types_accept(document: Document) -> None:
    case = CASES[document.case]
    if has_become_an_error(document, case):
        assert dragoman.read(document.body, document.dialect, facet="error")
        return  # for which the vendors have no type
    problems = sdk.problems(document.dialect, document.facet, document.body)
    assert bool(problems) == (document.dialect in case.unofficial), problems


def has_become_an_error(document: Document, case: Case) -> bool:
    """Whether a failed reply is an error where this dialect says it."""
    spelled = case.degrades.get(document.facet, {})
    return any(
        any(loss.startswith("moved response.failure") for loss in losses)
        for pair, losses in spelled.items()
        if pair.endswith(f" > {document.dialect}")
    )


def ends_in_a_call(document: Document) -> bool:
    tree = dragoman.read(document.body, document.dialect, facet=document.facet)
    return isinstance(tree, Request | History) and testing.ends_in_a_call(tree)


def has_broken_arguments(document: Document) -> bool:
    """Whether the model wrote no JSON object, which is kept as it is; `repair` repairs it."""
    tree = dragoman.read(document.body, document.dialect, facet=document.facet)
    return isinstance(tree, Request | History) and testing.has_broken_arguments(tree)


@everywhere
@documents
def test_nothing_written_breaks_a_rule(document: Document) -> None:
    """A document that the API accepts becomes one that the other API accepts."""
    if dragoman.check(document.body, document.dialect, facet=document.facet):
        return
    if ends_in_a_call(document):
        return  # a record that ends in what the model should say is a lesson, and no request
    if document.facet == "messages" and "content" in document.body:
        return  # what one tool returned: its call is elsewhere
    for target in filter(lambda name: testing.speaks(name, document.facet), targets(document)):
        try:
            result = dragoman.convert(
                document.body, source=document.dialect, target=target, facet=document.facet
            )
        except dragoman.Unsayable:
            continue
        if any(loss.what == "response.failure" for loss in result.losses):
            continue  # it has become an error
        problems = [
            problem
            for problem in dragoman.check(result.document, target, facet=document.facet)
            if problem.rule != "arguments" or not has_broken_arguments(document)
        ]
        assert not problems, f"{target}: {problems[0]}"
