"""Which tests run: all of them, a selection that ends soon, or the laws of one dialect.

``pytest`` alone runs everything (``make test-all``). ``--quick`` (``make test``) keeps every test
function but those in ``SLOW`` and those that need node; of a function with many parameters it keeps
a sample that never changes: those whose ids have the lowest checksums. The checksum covers the
name of the function, so that each law looks at other documents and other pairs of dialects; of each
dialect there are a few at least. ``--dialect`` keeps what has the dialect as a parameter or as the
dialect of its document, and the laws over the corpus with that dialect as the only target.
``--most`` (``make check``) is between the two: all of what is small, and a sample of the functions
that look at each document, or each pair of dialects; nothing is left out of what a quick run has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any
from zlib import crc32

from dragoman import dialects
from dragoman.testing import Document

ALL = 12
"""So many items of one function are kept, however many it has."""
PART = 16
"""Of those beyond, one in so many."""
LEAST = 1
"""So many items are kept of each dialect, as a parameter or as the dialect of a document."""
LESS = 8
"""A property is tried with one example in so many."""
SCARCE = 16
"""So many items are kept of a function whose items take a while."""
DEAR = frozenset(
    (
        "test_lowering.py::test_what_is_declared_is_what_is_written",
        "test_session.py::test_every_conversation_of_the_corpus",
        "test_session.py::test_an_agent_at_work",
        "test_streams.py::test_an_error_never_ends_up_inside_of_a_frame",
        "test_corpus.py::test_malformed_or_answer",
        "test_corpus.py::test_the_way_home_after_edits",
        "test_documents.py::test_documents",
        "test_kept.py::test_every_law_holds_for_them",
        "test_provider_upstreams.py::test_a_whole_response",
        "test_splicing.py::test_the_streams_of_the_corpus",
    )
)
"""Functions with many items that take more than 0.02 s each."""
MOST = 150
"""With ``--most``: so many items of one function are kept, and of those beyond one in so many."""
SHARE = 12
MOST_COSTLY = 12
"""With ``--most``: so many items of a function whose items take long."""
MOST_LEAST = 2
"""With ``--most``: so many items of each dialect."""
OF_A_DIALECT = 40
"""So many items of one function are kept where one dialect is tried."""
GREAT = frozenset({"anthropic-messages", "gemini", "openai-chat", "openai-responses"})
"""The APIs that every document is tried with."""
OTHERS = 8
"""With so many other dialects a document is tried; one of these APIs with three times as many."""
FEW = 2
"""So many items are kept of a function whose items take long."""
COSTLY = frozenset(
    (
        "test_001_copilot.py::test_001_nothing_is_lost_in_silence",
        "test_cli.py::test_words_are_completed",
        "test_cost.py::test_checking",
        "test_cost.py::test_reading",
        "test_cost.py::test_reading_streams",
        "test_cost.py::test_there_and_back_with_a_capsule",
        "test_cost.py::test_writing",
        "test_cost.py::test_writing_streams",
        "test_every_stream.py::test_a_mangled_stream_is_an_answer_or_an_error",
        "test_equals_batch.py::test_a_last_event_that_says_otherwise",
        "test_equals_batch.py::test_a_writer_that_swallows_is_noticed",
        "test_equals_batch.py::test_generated_responses",
        "test_equals_batch.py::test_legal_orders",
        "test_equals_batch.py::test_the_law_holds_without_mutants",
        "test_hostile_http.py::test_every_api",
        "test_hostile_http.py::test_every_api_asked_in_its_own_dialect",
        "test_hostile_http.py::test_other_callers",
        "test_hostile_streams.py::test_each_value_replaced_by_another",
        "test_hostile_streams.py::test_mangled_streams",
        "test_leaves.py::test_each_leaf_is_there_or_is_reported",
        "test_learned_schemas.py::test_every_facet_that_is_read_has_a_schema",
        "test_long_talks.py::test_a_block_that_was_left_out",
        "test_long_talks.py::test_arguments_that_were_written_anew",
        "test_long_talks.py::test_moved_cache_marks",
        "test_long_talks.py::test_parallel_calls_that_were_split",
        "test_long_talks.py::test_the_upstream_gets_the_history_that_it_would_have_directly",
        "test_private.py::test_no_reason_and_no_error_repeats_who_somebody_is",
        "test_properties.py::test_malformed_or_answer",
        "test_provider_upstreams.py::test_a_request_to_bedrock_is_signed_as_amazon_signs_it",
        "test_provider_upstreams.py::test_the_vendors_client_sends_the_same",
        "test_rules_hold.py::test_sessions",
        "test_rules_hold.py::test_sessions_of_others",
        "test_sdk_streams.py::test_no_client_takes_a_cut_stream_for_a_whole_one",
        "test_splicing.py::test_streams_that_nobody_sent",
        "test_strangers.py::test_a_strange_key_comes_back_or_is_reported",
        "test_strangers.py::test_a_strange_key_of_an_event_passes_or_is_reported",
        "test_strangers.py::test_options_at_other_places_come_back_or_are_reported",
    )
)
"""Functions whose items take more than 0.1 s each and 3 s together, as measured."""
SLOW = frozenset(
    (
        "test_cli.py::test_a_packed_file_that_breaks_off_is_damaged",
        "test_cli.py::test_many_lines_are_never_in_memory_together",
        "test_hostile_streams.py::test_memory_is_flat",
        "test_jobs.py::test_a_job_that_was_killed_anywhere_goes_on_and_ends_the_same",
        "test_mutants.py::test_a_check_that_fails_without_any_fault_is_found_out",
        "test_mutants.py::test_a_check_that_notices_a_fault_is_no_problem",
        "test_mutants.py::test_a_file_whose_mutants_cannot_be_put_in_is_found_out",
        "test_mutants.py::test_an_input_is_found_that_tells_a_mutant",
        "test_mutants.py::test_modules_that_cannot_be_loaded_anew_are_found_out",
        "test_mutants.py::test_what_breaks_a_law_is_not_kept",
        "test_provider_streams.py::test_a_provider_that_nobody_holds_lives_as_long_as_its_stream",
        "test_ray.py::test_ray_writes_the_same_files",
    )
)
"""Functions that take seconds for one item and look at memory, at time, or at how `make mutants`
judges: for the whole run alone."""

chosen: dict[str, Any] = {"quick": False, "most": False, "dialect": None}
"""As the command line says; each worker sets it for itself."""


def sampled(name: str, ids: list[str], most: int | None = None) -> list[int]:
    """The places of the items to keep, of all that a function has."""
    count = len(ids)
    usual = ALL + max(count - ALL, 0) // PART
    if chosen["most"]:
        usual = MOST_COSTLY if own(name) in COSTLY else MOST + max(count - MOST, 0) // SHARE
    elif own(name) in COSTLY:
        usual = FEW
    elif own(name) in DEAR:
        usual = SCARCE
    kept = min(count, most or usual)
    return list(range(count)) if kept == count else sorted(ranked(name, ids)[:kept])


def own(name: str) -> str:
    """The file and the function of a test, whatever folder it is in."""
    return name.rpartition("/")[2]


def ranked(name: str, ids: list[str]) -> list[int]:
    """The places of all items, in an order that has no meaning and never changes."""
    name = own(name)
    return sorted(range(len(ids)), key=lambda place: crc32(f"{name}[{ids[place]}]".encode()))


def spread(name: str, ids: list[str], values: list[Mapping[str, Any]]) -> list[int]:
    """The sample, and of each dialect in each role so many that none is left out."""
    found = set(sampled(name, ids))
    if len(found) == len(ids) or own(name) in COSTLY or (own(name) in DEAR and chosen["quick"]):
        return sorted(found)
    known = set(dialects.names())
    least = MOST_LEAST if chosen["most"] else LEAST
    seen: Counter[tuple[str, str]] = Counter()
    for place in sorted(ranked(name, ids), key=lambda place: place not in found):
        roles = [(role, getattr(v, "dialect", v)) for role, v in values[place].items()]
        roles = [each for each in roles if isinstance(each[1], str) and each[1] in known]
        if place in found or any(seen[each] < least for each in roles):
            found.add(place)
            seen.update(roles)
    return sorted(found)


def concerns(dialect: str, values: Iterable[Any]) -> bool:
    """Whether one of these parameters is the dialect, or is of it."""
    return any(value == dialect or getattr(value, "dialect", None) == dialect for value in values)


def kept(name: str, ids: list[str], values: list[Mapping[str, Any]], everywhere: bool) -> list[int]:
    """The places of the items of one function that run, by what was chosen."""
    dialect = chosen["dialect"]
    if dialect is None:
        some = chosen["quick"] or chosen["most"]
        return spread(name, ids, values) if some else list(range(len(ids)))
    near = [n for n, each in enumerate(values) if concerns(dialect, each.values())]
    found = {near[n] for n in sampled(name, [ids[n] for n in near], OF_A_DIALECT)}
    if everywhere:  # the laws with this dialect as their target
        found.update(sampled(name, ids, OF_A_DIALECT))
    return sorted(found)


def examples(count: int) -> int:
    """How many examples a property is tried with, of so many."""
    return max(count // LESS, 5) if chosen["quick"] else count


def is_own(file: str) -> bool:
    """Whether a file of tests bears the name of the dialect that is tried."""
    dialect = chosen["dialect"]
    return dialect is not None and file.startswith(f"test_{dialect.partition('-')[0]}")


def targets(document: Document) -> tuple[str, ...]:
    """The dialects that a law over the corpus tries with a document."""
    dialect = chosen["dialect"]
    if dialect in (None, document.dialect):
        return tried(document, dialects.names())
    return (dialect,)


def tried(document: Document, names: Iterable[str]) -> tuple[str, ...]:
    """Those of these dialects that a document is tried with, so that work grows with the
    documents and not with their number times that of the dialects.

    The great APIs, its own, and those with the lowest checksums, which cover the name of the
    document: each is tried with others.
    """
    always = {*GREAT, document.dialect}
    others = sorted(set(names) - always, key=lambda name: (_digest(document, name), name))
    found = always.union(others[: OTHERS * 3 if document.dialect in GREAT else OTHERS])
    return tuple(name for name in names if name in found)


def _digest(document: Document, name: str) -> int:
    return crc32(f"{document.name} > {name}".encode())
