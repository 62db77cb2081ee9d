"""The table of passes, in the order in which they run, and how they are run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec import Struct

from ..dialect import Dialect
from ..dialects._model_rules import RULES as MODEL_RULES
from ..errors import Unsupported
from ..ledger import Ledger
from ..model import Json
from . import caches, calls, models, pairs, thoughts, words
from .bench import Bench, Conversation

Run: TypeAlias = Callable[[Conversation, Bench], Conversation]

ROUNDS = 5
"""How often a repair looks again: what one pass leaves behind may be another's to mend."""


class Pass(Struct, frozen=True):
    """One kind of mending. ``mends`` are the rules of ``check`` that call for it."""

    run: Run
    does: str
    mends: frozenset[str] = frozenset()


def _pass(run: Run, does: str, *mends: str) -> Pass:
    return Pass(run, does, frozenset(mends))


# In this order they run when nobody names any. Those that mend no rule run only if named.
PASSES: dict[str, Pass] = {
    "fix-arguments": _pass(
        calls.fix_arguments,
        "mends argument text that is blank, cut off, or has a comma too many; other is left",
        "arguments",
    ),
    "pair-results": _pass(
        calls.pair_results,
        "gives results that name no call the id of the call they answer, by place",
        "orphan-result",
    ),
    "legal-tool-names": _pass(
        calls.legal_tool_names,
        "renames tools whose names the API rejects, in definitions, calls and choice alike",
        "tool-name",
    ),
    "legal-tool-ids": _pass(
        calls.legal_tool_ids,
        "renames ids of calls that the API rejects, on both sides of the pair",
        "call-id",
    ),
    "drop-item-ids": _pass(
        calls.drop_item_ids,
        "drops ids of items that the API cannot have given",
        "item-id",
    ),
    "dedupe-tool-ids": _pass(
        calls.dedupe_tool_ids,
        "renames ids of calls that were used before, on both sides of the pair, by place",
        "duplicate-call-id",
    ),
    "results-first": _pass(
        pairs.results_first,
        "moves results right behind their calls, in the order of the calls",
        "results-first",
        "unanswered-call",
        "orphan-result",
    ),
    "demote-orphan-results": _pass(
        pairs.demote_orphan_results,
        "turns results without a call into words of the user",
        "orphan-result",
        "duplicate-result",
    ),
    "drop-orphan-results": _pass(
        pairs.drop_orphan_results,
        "drops results without a call; name it before demote-orphan-results, or instead of it",
    ),
    "answer-orphan-calls": _pass(
        pairs.answer_orphan_calls,
        "answers calls without a result with an error that says so",
        "unanswered-call",
    ),
    "calls-last": _pass(
        pairs.calls_last,
        "moves what the assistant says behind its calls to before them",
        "calls-last",
    ),
    "strip-foreign-reasoning": _pass(
        thoughts.strip_foreign_reasoning,
        "drops thoughts that the API did not seal",
        "thinking-signature",
    ),
    "disable-thinking": _pass(
        thoughts.disable_thinking,
        "omits the thinking budget where a tool loop lost the thinking block that began it",
        "thinking-missing",
    ),
    "drop-lone-reasoning": _pass(
        thoughts.drop_lone_reasoning,
        "drops stored thoughts without the item they led to",
        "reasoning-alone",
    ),
    "complete-reasoning": _pass(
        thoughts.complete_reasoning,
        "gives thoughts without a list of summaries an empty one",
        "reasoning-summary",
    ),
    "drop-empty-text": _pass(
        words.drop_empty_text,
        "drops blank texts that stand beside something else",
        "empty-text",
    ),
    "drop-empty-messages": _pass(
        words.drop_empty_messages,
        "drops messages that say nothing",
        "empty-message",
        "empty-text",
    ),
    "trim-final-text": _pass(
        words.trim_final_text,
        "trims white space at the end of a final assistant turn",
        "trailing-space",
    ),
    "limit-cache-marks": _pass(
        caches.limit_cache_marks,
        "keeps four cache marks: the newest in the messages, then those on tools and system "
        "prompt, the newest first",
        "cache-marks",
    ),
    "fit-model": _pass(
        models.fit_model,
        "leaves out what the model of the request refuses: sampling, efforts, budgets, prefill",
        *MODEL_RULES,
        "thinking-display",
        "thinking-temperature",
        "thinking-budget",
        "thinking-choice",
        "thinking",
        "format-tools",
    ),
    "merge-same-role": _pass(
        words.merge_same_role,
        "merges messages of the user, or of the assistant, that follow each other",
    ),
}


def run(chosen: Iterable[Pass], tree: Conversation, bench: Bench) -> Conversation:
    for each in chosen:
        tree = each.run(tree, bench)
    return tree


def mend(speaker: Dialect, tree: Conversation, doc: Json, facet: str, bench: Bench) -> Conversation:
    """Mend what ``check`` finds until it finds nothing that a pass can mend."""
    for _ in range(ROUNDS):
        broken = {problem.rule for problem in speaker.check(doc, facet, bench.log.models)}
        mended = run((each for each in PASSES.values() if each.mends & broken), tree, bench)
        if mended is tree:
            break
        tree, doc = mended, speaker.write(mended, Ledger())
    return tree


def find(name: str) -> Pass:
    if name not in PASSES:
        raise Unsupported(f"unknown pass {name!r}; there are: {', '.join(PASSES)}")
    return PASSES[name]
