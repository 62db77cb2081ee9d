"""What Claude demands of a request, whoever serves it; ``models`` has what depends on the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core import fitting
from ..core.lowering import thinking
from ..core.lowering.prefill import is_begun
from ..core.models import UNKNOWN, Facts, Models
from ..ledger import Ledger
from ..model import Json, Message, Params, Request, Text, ToolChoice
from ._claude_turns import is_signed

if TYPE_CHECKING:
    from ..dialect import Dialect

EXCLUDED = "thinking and a forced tool call exclude each other; the model may choose"
WAYS = {
    "enabled": "on",
    "adaptive": "adaptive",
    "disabled": "off",
    "between_tools": "between-tools",
}
"""what Claude's API calls the ways to think -> what the tree calls them"""
# "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024", "`max_tokens`
# must be greater than `thinking.budget_tokens`", "thinking.disabled.display: Extra inputs are not
# permitted"
THINKING = cap.ThinkingForm(
    modes=frozenset(WAYS.values()),
    efforts=("low", "medium", "high", "xhigh", "max"),
    budgets=True,
    budgeted=True,
    least=1024,
    idle=frozenset({"effort"}),
    displays=("summarized", "omitted"),
    shown="summarized",
)
CONTINUE = "Continue."
"""What the user says after an assistant's turn with which the model does not go on."""


def is_claude(model: str | None, models: Models) -> bool:
    """Whether a model is Claude, as far as its name tells: an ARN or no name tells nothing."""
    maker = models.vendor_of(model)
    if maker is None:
        return model is None or model.startswith("arn:")
    return maker == "anthropic"


LAST_LEFT_OUT = "the last message is omitted; the model continues the turn before it"


def no_prefill(tree: Request, facts: Facts, thinks: bool) -> str | None:
    """Why the model does not go on with what the assistant says last.

    "This model does not support assistant message prefill. The conversation must end with a user
    message." And "You cannot pre-fill responses when thinking is enabled": within a budget, the
    final turn "must start with a thinking block".
    """
    if facts.prefill is False:
        return f"prefill is not supported by {tree.model}; a user turn {CONTINUE!r} is added"
    if not thinks:
        return None
    spoken = (m.content for m in reversed(tree.messages) if m.role == "assistant")
    if not any(map(is_signed, next(spoken, ())[:1])):
        return f"prefill is not supported with thinking enabled; a user turn {CONTINUE!r} is added"
    return None


def ends_in_words(tree: Request) -> bool:
    """Whether the last message is the beginning of the reply."""
    return bool(tree.messages) and is_begun(tree.messages[-1])


def note_prefill(
    to: Dialect,
    tree: Request,
    turns: list[Json],
    refused: str | None,
    words: Json,
    begun: bool,
    log: Ledger,
) -> None:
    """The model continues an assistant's turn that ends the conversation, or refuses it; the user
    says ``words`` then. ``begun``: whether the last turn that is written has no call.
    """
    last = tree.messages[-1]
    if turns[-1]["role"] != "assistant":
        if tree.prefill:
            to.omit_prefill(last, log)
        return
    if not is_begun(last) and (last.role == "assistant" or not begun):
        return
    if refused:
        turns.append({"role": "user", "content": words})
        log.approximated("prefill", last.at, refused)
    elif not is_begun(last):
        log.approximated("prefill", last.at, LAST_LEFT_OUT)
    elif not tree.prefill:
        to.continue_message(last, log)


def fit(tree: Request, facts: Facts, log: Ledger) -> Request:
    """A request from elsewhere as the model takes it."""
    if tree.params.thinking is not None:
        params = as_it_thinks(fitting.fit_limit(tree.params, facts, tree.model or "", log), log)
        if params is not tree.params:
            tree = replace(tree, params=params)
    return tree if facts is UNKNOWN else fitting.fit(tree, facts, log)


def repaired(tree: Request, to: Dialect, facts: Facts, log: Ledger) -> Request:
    """A request that is broken for its model, made whole: what the writers do with one from
    elsewhere, on the tree.
    """
    tree = fit(thinking.lower(tree, to, facts, log), facts, log)
    choice = tree.tool_choice
    if choice is not None and is_excluded(choice, tree.params):
        log.approximated("tool_choice", choice.at, EXCLUDED)
        choice = replace(choice, mode="auto", name=None, allowed=None)
        tree = replace(tree, tool_choice=choice)
    model, messages = tree.model or "this model", list(tree.messages)
    for index, message in enumerate(messages):
        if facts.system_turns is False and message.role == "system" and index:
            why = f"`system` role written as `user`: not supported by {model} in a turn"
            log.approximated("message.role", message.at, why)
            messages[index] = replace(message, role="user")
    if facts.prefill is False and messages and is_begun(last := messages[-1]):
        why = f"prefill is not supported by {model}; a user turn {CONTINUE!r} is added"
        log.approximated("prefill", last.at, why)
        messages.append(Message("user", (Text(CONTINUE, at=last.at),), at=last.at))
        tree = replace(tree, prefill=None)
    if messages != list(tree.messages):
        tree = replace(tree, messages=tuple(messages))
    return tree


# -- what goes with it -----------------------------------------------------------------------------


def is_excluded(choice: ToolChoice, params: Params) -> bool:
    """ "Thinking may not be enabled when tool_choice forces tool use." """
    asked = params.thinking
    if asked is None or choice.mode not in ("required", "named"):
        return False
    return asked.mode == "on" or (asked.mode is None and asked.budget is not None)


def as_it_thinks(params: Params, log: Ledger) -> Params:
    """Parameters as they are taken while the model thinks.

    "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode", "`top_k` must
    be unset when thinking is enabled", "`top_p` must be greater than or equal to 0.95 or unset when
    thinking is enabled".
    """
    asked = params.thinking
    if asked is None or (asked.mode not in ("on", "adaptive") and asked.budget is None):
        return params
    if params.temperature not in (None, 1):
        why = f"{log.target} requires temperature 1 with thinking enabled"
        log.dropped("temperature", params.where("temperature"), why)
        params = replace(params, temperature=None)
    if params.top_k is not None:
        log.dropped("top_k", params.where("top_k"), "top_k is not supported with thinking enabled")
        params = replace(params, top_k=None)
    if params.top_p is not None and params.top_p < 0.95:
        log.dropped(
            "top_p", params.where("top_p"), "top_p must be at least 0.95 with thinking enabled"
        )
        params = replace(params, top_p=None)
    return params


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
