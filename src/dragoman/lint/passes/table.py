"""The table of passes, in the order in which they run, and how they are run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec import Struct

from ...dialect import Dialect
from ...dialects._model_rules import RULES as MODEL_RULES
from ...errors import Unsupported
from ...ledger import Ledger
from ...model import Json
from . import caches, calls, messages, models, pairs, reasoning
from .context import Bench, Conversation

Run: TypeAlias = Callable[[Conversation, Bench], Conversation]

ROUNDS = 5
"""How often a repair checks again: one pass may leave a problem that another repairs."""


class Pass(Struct, frozen=True):
    """One kind of repair. ``repairs`` are the rules of ``check`` that it repairs."""

    run: Run
    does: str
    repairs: frozenset[str] = frozenset()


def _pass(run: Run, does: str, *repairs: str) -> Pass:
    return Pass(run, does, frozenset(repairs))


# The order in which they run, unless passes are named. Those without a rule run only if named.
PASSES: dict[str, Pass] = {
    "fix-arguments": _pass(
        calls.fix_arguments,
        "repairs arguments that are empty, cut off or have a trailing comma",
        "arguments",
    ),
    "pair-results": _pass(
        calls.pair_results,
        "gives results without a call id the id of their call, by position",
        "orphan-result",
    ),
    "legal-tool-names": _pass(
        calls.legal_tool_names,
        "renames tools whose names the API rejects, in definitions, calls and choice alike",
        "tool-name",
    ),
    "legal-tool-ids": _pass(
        calls.legal_tool_ids,
        "renames call ids that the API rejects, in call and result alike",
        "call-id",
    ),
    "drop-item-ids": _pass(
        calls.drop_item_ids,
        "drops item ids that the API cannot have issued",
        "item-id",
    ),
    "dedupe-tool-ids": _pass(
        calls.dedupe_tool_ids,
        "renames call ids that were used before, in call and result alike, by position",
        "duplicate-call-id",
    ),
    "results-first": _pass(
        pairs.results_first,
        "moves results directly after their calls, in the order of the calls",
        "results-first",
        "unanswered-call",
        "orphan-result",
    ),
    "demote-orphan-results": _pass(
        pairs.demote_orphan_results,
        "turns results without a call into user messages",
        "orphan-result",
        "duplicate-result",
    ),
    "drop-orphan-results": _pass(
        pairs.drop_orphan_results,
        "drops results without a call; name it before demote-orphan-results, or instead of it",
    ),
    "answer-orphan-calls": _pass(
        pairs.answer_orphan_calls,
        "adds an error result to calls without a result",
        "unanswered-call",
    ),
    "calls-last": _pass(
        pairs.calls_last,
        "moves assistant text that follows tool calls before them",
        "calls-last",
    ),
    "strip-foreign-reasoning": _pass(
        reasoning.strip_foreign_reasoning,
        "drops reasoning that the API did not sign or encrypt",
        "thinking-signature",
    ),
    "disable-thinking": _pass(
        reasoning.disable_thinking,
        "omits the thinking budget where a tool loop lost the thinking block that began it",
        "thinking-missing",
    ),
    "drop-lone-reasoning": _pass(
        reasoning.drop_lone_reasoning,
        "drops stored reasoning that no item follows",
        "reasoning-alone",
    ),
    "complete-reasoning": _pass(
        reasoning.complete_reasoning,
        "gives reasoning without a `summary` list an empty one",
        "reasoning-summary",
    ),
    "drop-empty-text": _pass(
        messages.drop_empty_text,
        "drops empty texts beside other content",
        "empty-text",
    ),
    "drop-empty-messages": _pass(
        messages.drop_empty_messages,
        "drops messages without content",
        "empty-message",
        "empty-text",
    ),
    "trim-final-text": _pass(
        messages.trim_final_text,
        "trims white space at the end of a final assistant turn",
        "trailing-space",
    ),
    "limit-cache-marks": _pass(
        caches.limit_cache_marks,
        "keeps four cache breakpoints: the newest in the messages, then those on tools and system "
        "prompt, the newest first",
        "cache-marks",
    ),
    "fit-model": _pass(
        models.fit_model,
        "removes what the model of the request rejects: sampling, efforts, budgets, prefill",
        *MODEL_RULES,
        "thinking-display",
        "thinking-temperature",
        "thinking-budget",
        "thinking-choice",
        "thinking",
        "format-tools",
    ),
    "merge-same-role": _pass(
        messages.merge_same_role,
        "merges consecutive user messages, or assistant messages",
    ),
}


def run(chosen: Iterable[Pass], tree: Conversation, bench: Bench) -> Conversation:
    for each in chosen:
        tree = each.run(tree, bench)
    return tree


def repair(
    speaker: Dialect, tree: Conversation, doc: Json, facet: str, bench: Bench
) -> Conversation:
    """Repair what ``check`` finds until it finds nothing that a pass can repair."""
    for _ in range(ROUNDS):
        broken = {problem.rule for problem in speaker.check(doc, facet, bench.log.models)}
        repaired = run((each for each in PASSES.values() if each.repairs & broken), tree, bench)
        if repaired is tree:
            break
        tree, doc = repaired, speaker.write(repaired, Ledger())
    return tree


def find(name: str) -> Pass:
    if name not in PASSES:
        raise Unsupported(f"unknown pass {name!r}; the passes are: {', '.join(PASSES)}")
    return PASSES[name]
