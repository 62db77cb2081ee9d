"""What Claude demands of a request, whoever serves it; ``models`` has what depends on the model."""

from __future__ import annotations

from msgspec.structs import replace

from ..core import fitting
from ..core.models import UNKNOWN, Facts, Models
from ..core.turns import BUDGETS, effort_of
from ..ledger import Ledger
from ..model import Message, Params, Request, Text, Thinking, ToolCall, ToolChoice
from ._claude_turns import is_signed

LEAST = 1024
"""tokens that a budget of reasoning has"""
EXCLUDED = "thinking and a forced tool call exclude each other; the model may choose"
WAYS = {
    "enabled": "on",
    "adaptive": "adaptive",
    "disabled": "off",
    "between_tools": "between-tools",
}
"""what Claude's API calls the ways to think -> what the tree calls them"""
CONTINUE = "Continue."
"""What the user says after an assistant's turn with which the model does not go on."""


def is_claude(model: str | None, models: Models) -> bool:
    """Whether a model is Claude, as far as its name tells: an ARN or no name tells nothing."""
    maker = models.vendor_of(model)
    if maker is None:
        return model is None or model.startswith("arn:")
    return maker == "anthropic"


LAST_LEFT_OUT = "the last message is not written, and the model goes on with the turn before it"


def no_prefill(tree: Request, facts: Facts, thinks: bool) -> str | None:
    """Why the model does not go on with what the assistant says last.

    "This model does not support assistant message prefill. The conversation must end with a user
    message." And "You cannot pre-fill responses when thinking is enabled": within a budget, the
    final turn "must start with a thinking block".
    """
    if facts.prefill is False:
        return f"prefill is not supported by {tree.model}; the user says {CONTINUE!r}"
    spoken = (m.content for m in reversed(tree.messages) if m.role == "assistant")
    if thinks and not any(map(is_signed, next(spoken, ())[:1])):
        return f"prefill is not supported while thinking is enabled; the user says {CONTINUE!r}"
    return None


def begins_answer(message: Message) -> bool:
    """Whether a last message is the beginning of the answer: the assistant's, and no call."""
    return message.role == "assistant" and not any(
        block.__class__ is ToolCall for block in message.content
    )


def ends_in_words(tree: Request) -> bool:
    """Whether the last message is the beginning of the answer."""
    return bool(tree.messages) and begins_answer(tree.messages[-1])


def fit(tree: Request, facts: Facts, log: Ledger) -> Request:
    """A request from elsewhere as the model takes it."""
    params, asked = tree.params, tree.params.thinking
    if asked is not None:
        model = tree.model or "this model"
        params = fitting.fit_limit(params, facts, model, log)
        limit = params.max_tokens if params.max_tokens is not None else facts.max_tokens
        thinking = fit_thinking(asked, limit, facts, model, log)
        params = as_it_thinks(replace(params, thinking=thinking), limit, log)
        if params != tree.params:
            tree = replace(tree, params=params)
    return tree if facts is UNKNOWN else fitting.fit(tree, facts, log)


def repaired(tree: Request, facts: Facts, log: Ledger) -> Request:
    """A request that is broken for its model, made whole: what the writers do with one from
    elsewhere, on the tree.
    """
    tree = fit(tree, facts, log)
    choice = tree.tool_choice
    if choice is not None and is_excluded(choice, tree.params):
        log.approximated("tool_choice", choice.at, EXCLUDED)
        choice = replace(choice, mode="auto", name=None, allowed=None)
        tree = replace(tree, tool_choice=choice)
    model, messages = tree.model or "this model", list(tree.messages)
    for index, message in enumerate(messages):
        if facts.system_turns is False and message.role == "system" and index:
            why = f"a system turn is not supported by {model}; said by the user"
            log.approximated("message.role", message.at, why)
            messages[index] = replace(message, role="user")
    if facts.prefill is False and messages and begins_answer(last := messages[-1]):
        why = f"prefill is not supported by {model}; the user says {CONTINUE!r}"
        log.approximated("prefill", last.at, why)
        messages.append(Message("user", (Text(CONTINUE, at=last.at),), at=last.at))
        tree = replace(tree, prefill=None)
    if messages != list(tree.messages):
        tree = replace(tree, messages=tuple(messages))
    return tree


# -- how to think ----------------------------------------------------------------------------------


def fit_thinking(
    asked: Thinking, limit: int | None, facts: Facts, model: str, log: Ledger
) -> Thinking:
    """How to think, in a way that the model takes."""
    ways = facts.thinking
    if ways == ():
        return without_thinking(asked, model, log)
    if asked.mode == "off":
        asked = without_display(turned_off(asked, facts, model, log), log)
    elif ways is not None and wants_reasoning(asked, facts):
        asked = turned_on(asked, limit, facts, model, log)
    if asked.effort is not None and facts.efforts is not None:
        asked = fit_effort(asked, facts, model, log)
    return asked


def without_thinking(asked: Thinking, model: str, log: Ledger) -> Thinking:
    """What remains for a model that does not think: nothing."""
    why = f"thinking is not supported by {model}"
    if asked.mode is not None or asked.budget is not None or asked.display is not None:
        log.dropped("thinking", asked.at, why)
    if asked.effort is not None:
        log.dropped("thinking.effort", asked.at, why)
    return replace(asked, mode=None, effort=None, budget=None, display=None)


def without_display(asked: Thinking, log: Ledger) -> Thinking:
    """ "thinking.disabled.display: Extra inputs are not permitted" """
    if asked.mode not in ("on", "adaptive") and asked.display is not None:
        log.dropped("thinking.display", asked.at, "nothing is shown of thinking that is off")
        asked = replace(asked, display=None)
    return asked


def turned_off(asked: Thinking, facts: Facts, model: str, log: Ledger) -> Thinking:
    """ ""thinking.type.disabled" is not supported for this model." """
    if asked.budget is not None:
        log.dropped("thinking.budget", asked.at, "thinking that is off has no budget")
        asked = replace(asked, budget=None)
    ways = facts.thinking
    if ways is None or "off" in ways:
        return asked
    if "between-tools" in ways:
        why = f"thinking cannot be disabled at {model}; it thinks between tools alone"
        log.approximated("thinking", asked.at, why)
        return replace(asked, mode="between-tools")
    log.dropped("thinking", asked.at, f"thinking cannot be disabled at {model}")
    return replace(asked, mode=None)


def wants_reasoning(asked: Thinking, facts: Facts) -> bool:
    """Whether thinking must be said: it is asked for, or an effort that would have no effect."""
    if asked.mode is not None or asked.budget is not None:
        return True
    return asked.effort is not None and facts.thinks == "off"


def turned_on(
    asked: Thinking, limit: int | None, facts: Facts, model: str, log: Ledger
) -> Thinking:
    """ ""thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and
    "output_config.effort"", or "adaptive thinking is not supported on this model".
    """
    ways = facts.thinking or ()
    if asked.mode == "between-tools" and asked.mode in ways:
        return asked
    if asked.budget is not None and "on" in ways:
        return asked
    if "adaptive" not in ways:
        if limit is not None and limit <= LEAST:
            return without_room(asked, limit, log)
        return within_budget(asked, limit, facts, model, log)
    if asked.budget is not None:
        return without_budget(asked, facts, model, log)
    if asked.mode != "adaptive":
        why = "thinking is adaptive here, and the effort says how much"
        log.approximated("thinking", asked.at, why)
    return replace(asked, mode="adaptive")


def without_budget(asked: Thinking, facts: Facts, model: str, log: Ledger) -> Thinking:
    """A budget where only an effort can say how much to think."""
    effort = asked.effort
    why = f"a thinking budget is not supported by {model}"
    if effort is None and facts.efforts:
        effort = fitting.nearest(effort_of(asked.budget or 0), facts.efforts)
        why = f"{why}; effort {effort!r} is written"
        log.approximated("thinking.budget", asked.at, why)
    else:
        log.dropped("thinking.budget", asked.at, why)
    return replace(asked, mode="adaptive", budget=None, effort=effort)


def within_budget(
    asked: Thinking, limit: int | None, facts: Facts, model: str, log: Ledger
) -> Thinking:
    """A budget for models that know nothing else; half of the answer at most."""
    budget = BUDGETS.get(asked.effort or "medium", BUDGETS["high"])
    if limit is not None:
        budget = min(budget, max(LEAST, limit // 2))
    why = f"{model} thinks within a budget only, which is {budget}"
    if asked.effort is not None and not facts.efforts:
        log.approximated("thinking.effort", asked.at, why)
        return replace(asked, mode="on", budget=budget, effort=None)
    if asked.mode != "on":
        log.approximated("thinking", asked.at, f"{model} thinks within a budget only")
    log.invented("thinking.budget", asked.at, why)
    return replace(asked, mode="on", budget=budget)


def fit_effort(asked: Thinking, facts: Facts, model: str, log: Ledger) -> Thinking:
    """ "This model does not support the effort parameter." """
    effort = asked.effort or ""
    if not facts.efforts:
        log.dropped("thinking.effort", asked.at, f"effort is not supported by {model}")
        return replace(asked, effort=None)
    effort = fitting.fit_effort(effort, facts, asked, model, log)
    if asked.mode == "off" and facts.efforts_off is not None and effort not in facts.efforts_off:
        near = fitting.nearest(effort, facts.efforts_off)
        why = f"effort {effort!r} is not supported by {model} while thinking is off"
        log.approximated("thinking.effort", asked.at, f"{why}; {near!r} is written")
        effort = near
    return replace(asked, effort=effort)


# -- what goes with it -----------------------------------------------------------------------------


def is_excluded(choice: ToolChoice, params: Params) -> bool:
    """ "Thinking may not be enabled when tool_choice forces tool use." """
    thinking = params.thinking
    if thinking is None or choice.mode not in ("required", "named"):
        return False
    return thinking.mode == "on" or (thinking.mode is None and thinking.budget is not None)


def as_it_thinks(params: Params, limit: int | None, log: Ledger) -> Params:
    """Parameters as they are taken while the model thinks.

    "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024", "`max_tokens`
    must be greater than `thinking.budget_tokens`", "`temperature` may only be set to 1 when
    thinking is enabled or in adaptive mode", "`top_k` must be unset when thinking is enabled",
    "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled".
    """
    thinking = params.thinking
    if thinking is None:
        return params
    if thinking.budget is not None and thinking.mode in (None, "on"):
        params = within_limit(params, limit, log)
        if params.thinking is None or params.thinking.budget is None:
            return params
    elif thinking.mode not in ("on", "adaptive"):
        return params
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


def without_room(asked: Thinking, limit: int, log: Ledger) -> Thinking:
    """No thinking, as there would be no room for it."""
    why = f"an answer of {limit} tokens has no room for thoughts here"
    log.dropped("thinking", asked.at, why)
    return without_display(replace(asked, mode=None, budget=None), log)


def within_limit(params: Params, limit: int | None, log: Ledger) -> Params:
    """A budget that is not too small, and leaves room for the answer."""
    thinking = params.thinking
    assert thinking is not None
    asked = thinking.budget or 0
    if limit is not None and limit <= LEAST:
        return replace(params, thinking=without_room(thinking, limit, log))
    budget = max(asked, LEAST)
    if limit is not None:
        budget = min(budget, limit - 1)
    if budget == asked:
        return params
    why = f"{budget} here: at least {LEAST}, and less than the answer may have"
    log.approximated("thinking.budget", thinking.at, why)
    return replace(params, thinking=replace(thinking, budget=budget))


def refusal(way: str, facts: Facts) -> str:
    """https://platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting"""
    if way == "adaptive":
        return "adaptive thinking is not supported on this model"
    word = next(kind for kind, name in WAYS.items() if name == way)
    if "adaptive" not in (facts.thinking or ()):
        return f'"thinking.type.{word}" is not supported for this model.'
    return (
        f'"thinking.type.{word}" is not supported for this model. Use "thinking.type.adaptive" and '
        '"output_config.effort" to control thinking behavior.'
    )
