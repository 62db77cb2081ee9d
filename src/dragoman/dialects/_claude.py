"""What Claude demands of a request, whoever serves it."""

from __future__ import annotations

from msgspec.structs import replace

from ..ledger import Ledger
from ..model import Params, Request, ToolChoice

LEAST = 1024
"""tokens that a budget of thought has"""
EXCLUDED = "thinking and a forced tool call exclude each other; the model may choose"


def is_claude(model: str | None) -> bool:
    """Whether a model is Claude, as far as its name tells: an ARN or no name tells nothing."""
    return model is None or model.startswith("arn:") or "claude" in model


def thoughtful(tree: Request, log: Ledger) -> Request:
    """A request from elsewhere with its parameters as they are taken while the model thinks."""
    if tree.params.thinking is None:
        return tree
    return replace(tree, params=as_it_thinks(tree.params, log))


def is_excluded(choice: ToolChoice, params: Params) -> bool:
    """ "Thinking may not be enabled when tool_choice forces tool use." """
    thinking = params.thinking
    if thinking is None or choice.mode not in ("required", "named"):
        return False
    return thinking.mode == "on" or (thinking.mode is None and thinking.budget is not None)


def as_it_thinks(params: Params, log: Ledger) -> Params:
    """Parameters as they are taken while the model thinks by a budget.

    "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024", "`max_tokens`
    must be greater than `thinking.budget_tokens`", "`temperature` may only be set to 1 when
    thinking is enabled", "`top_k` must be unset when thinking is enabled", "`top_p` must be
    greater than or equal to 0.95 or unset when thinking is enabled".
    """
    thinking, limit = params.thinking, params.max_tokens
    if thinking is None or thinking.budget is None or thinking.mode not in (None, "on"):
        return params
    if limit is not None and limit <= LEAST:
        why = f"an answer of {limit} tokens has no room for thoughts here"
        log.dropped("thinking", thinking.at, why)
        return replace(params, thinking=replace(thinking, mode=None, budget=None))
    budget = max(thinking.budget, LEAST)
    if limit is not None:
        budget = min(budget, limit - 1)
    if budget != thinking.budget:
        why = f"{budget} here: at least {LEAST}, and less than the answer may have"
        log.approximated("thinking.budget", thinking.at, why)
        params = replace(params, thinking=replace(thinking, budget=budget))
    if params.temperature not in (None, 1):
        why = "the temperature of a model that thinks is 1 here"
        log.dropped("temperature", params.where("temperature"), why)
        params = replace(params, temperature=None)
    if params.top_k is not None:
        log.dropped("top_k", params.where("top_k"), "not while the model thinks")
        params = replace(params, top_k=None)
    if params.top_p is not None and params.top_p < 0.95:
        log.dropped("top_p", params.where("top_p"), "0.95 at least while the model thinks")
        params = replace(params, top_p=None)
    return params
