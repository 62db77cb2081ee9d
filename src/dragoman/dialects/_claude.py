"""What Claude demands of a request, whoever serves it; ``models`` has what depends on the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..core import capabilities as cap
from ..core import fitting
from ..core.lowering import thinking
from ..core.lowering.prefill import is_begun
from ..core.models import UNKNOWN, Facts, Models
from ..core.reading import maybe_bool, maybe_dict, maybe_int, maybe_str
from ..core.writing import Writing
from ..ledger import Ledger
from ..model import Json, Message, Params, Request, Text, Thinking, Tool, ToolChoice
from ._claude_turns import is_signed

if TYPE_CHECKING:
    from ..dialect import Dialect

EXCLUDED = "a forced tool call is not allowed with thinking enabled; the model may choose"
WAYS = {
    "enabled": "on",
    "adaptive": "adaptive",
    "disabled": "off",
    "between_tools": "between-tools",
}
"""what Claude's API calls the ways to think -> what the tree calls them"""
WORDS = {way: word for word, way in WAYS.items()}
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
MOST_MARKS = 4
CONTINUE = "Continue."
"""What the user says after an assistant's turn with which the model does not go on."""


def is_claude(model: str | None, models: Models) -> bool:
    """Whether a model is Claude, as far as its name tells: an ARN or no name tells nothing."""
    maker = models.vendor_of(model)
    if maker is None:
        return model is None or model.startswith("arn:")
    return maker == "anthropic"


def read_thinking(doc: dict[str, Json], effort: str | None, at: str) -> Thinking | None:
    """How the model is asked to think; None where it is in a way that is not known."""
    way = WAYS.get(str(doc.get("type")))
    if way is None:
        return None
    budget, display = maybe_int(doc, "budget_tokens", at), maybe_str(doc, "display", at)
    return Thinking(way, effort, budget, display, at=at)  # type: ignore[arg-type]


def write_thinking(config: Thinking) -> dict[str, Json] | None:
    """None where nothing but an effort is asked for."""
    way = config.mode or (None if config.budget is None else "on")
    if way is None:
        return None
    out: dict[str, Json] = {"type": WORDS[way]}
    if config.budget is not None:
        out["budget_tokens"] = config.budget
    if config.display is not None:
        out["display"] = config.display
    return out


def read_citable(doc: dict[str, Json], at: str) -> bool | None:
    """``citations: {"enabled": true}`` of a document."""
    citations = maybe_dict(doc, "citations", at)
    return None if citations is None else maybe_bool(citations, "enabled", f"{at}/citations")


def write_citable(out: dict[str, Json], citable: bool | None) -> None:
    if citable is not None:
        out["citations"] = {"enabled": citable}


def as_custom(choice: ToolChoice | None, tools: tuple[Tool, ...] | None) -> ToolChoice | None:
    """The choice of a freeform tool is one."""
    if choice is not None and choice.mode == "named":
        if any(tool.name == choice.name and tool.kind == "custom" for tool in tools or ()):
            return replace(choice, kind="custom")
    return choice


def surplus_marks(to: Dialect, w: Writing) -> list[Json]:
    """ "A maximum of 4 blocks with cache_control may be provided." The first ones go: a later
    mark covers the longer prefix.
    """
    surplus = [] if w.same else w.marks[:-MOST_MARKS]
    for _, cache in surplus:
        why = f"{to.name} allows at most {MOST_MARKS} cache marks; the last ones are kept"
        w.log.dropped("cache", cache.at, why)
    return [doc for doc, _ in surplus]


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
    word = WORDS[way]
    if "adaptive" not in (facts.thinking or ()):
        return f'"thinking.type.{word}" is not supported for this model.'
    return (
        f'"thinking.type.{word}" is not supported for this model. Use "thinking.type.adaptive" and '
        '"output_config.effort" to control thinking behavior.'
    )
