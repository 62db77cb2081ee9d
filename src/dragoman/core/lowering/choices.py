"""Tool choices on their way to a target: modes, subsets of tools, parallel calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...ledger import Ledger
from ...model import Block, Request, ToolCall, ToolChoice, ToolResult

if TYPE_CHECKING:
    from ...dialect import Dialect


def lower_request(tree: Request, to: Dialect, log: Ledger) -> Request:
    """A request with a choice that the target can express."""
    choice = tree.tool_choice
    assert choice is not None
    rules = to.can.choices
    if fits(choice, to) and (tree.tools or choice.mode in rules.alone):
        return tree
    lowered: ToolChoice | None = None
    if tree.tools or choice.mode in rules.alone:
        lowered = lower(choice, to, log)
    elif is_stated(choice):
        log.dropped("tool_choice", choice.at, f"{to.name} takes no tool choice without tools")
    if choice.kind == "custom" and to.can.freeform == "wrapped" and choice.mode == "named":
        if not any(tool.name == choice.name for tool in tree.tools or ()):
            why = "a freeform tool that the request does not define is chosen as a function"
            log.approximated("tool_choice", choice.at, why)
    if lowered is None or not is_stated(lowered):
        to.lose(choice.extras, choice.at, log)
        lowered = None
    return replace(tree, tool_choice=lowered)


def omitted(tree: Request, to: Dialect, log: Ledger) -> Request:
    """A request without tools, where that is how a target is told that none may be used."""
    omits, choice = to.can.choices.omits, tree.tool_choice
    if omits == "never" or choice is None or choice.mode != "none" or not tree.tools:
        return tree
    if omits == "unused" and any(is_use(b) for m in tree.messages for b in m.content):
        return tree
    for tool in tree.tools:
        log.dropped("tool", tool.at, f"{to.name} has no tool choice 'none'; tools are left out")
    return replace(tree, tools=None)


def is_use(block: Block) -> bool:
    return isinstance(block, ToolCall | ToolResult)


def lower_choice(choice: ToolChoice, to: Dialect, log: Ledger) -> ToolChoice:
    """A choice on its own, without what a request has beside it."""
    beside = to.can.choices.beside
    if choice.parallel is not None and "parallel" in beside:
        why = f"a field of requests in {to.name}, not of the choice"
        log.dropped("tool_choice.parallel", choice.at, why)
        choice = replace(choice, parallel=None)
    if choice.allowed is not None and "allowed" in beside:
        why = f"a field of requests in {to.name}, not of the choice"
        log.dropped("tool_choice.allowed", choice.at, why)
        choice = replace(choice, allowed=None)
    if fits(choice, to):
        return choice
    if choice.mode == "auto":  # which is null where there is no word for it
        return replace(lower(replace(choice, mode=None), to, log), mode="auto")
    lowered = lower(choice, to, log)
    if lowered.mode is None and (choice.mode is not None or choice.payload is not None):
        return replace(lowered, mode="auto")
    return lowered


def fits(choice: ToolChoice, to: Dialect) -> bool:
    """Whether a target has this choice, as usual."""
    rules, mode = to.can.choices, choice.mode
    return (
        (mode is None or mode in rules.modes)
        and (choice.parallel is not False or mode in rules.parallel)
        and (choice.allowed is None or mode in rules.subsets)
        and (choice.payload is None or to.has_tool(choice))
        and (choice.kind != "custom" or to.can.freeform == "native")
    )


def is_stated(choice: ToolChoice) -> bool:
    """Whether a choice says more than what is usual."""
    written = choice.mode is not None or choice.payload is not None or choice.allowed is not None
    return written or choice.parallel is False


def lower(choice: ToolChoice, to: Dialect, log: Ledger) -> ToolChoice:
    """A choice that has no more than the target can express."""
    rules, mode, at = to.can.choices, choice.mode, choice.at
    if not rules.modes:
        if mode is not None or choice.payload is not None or choice.allowed is not None:
            log.dropped("tool_choice", at, f"{to.name} has no tool choice; the model decides")
            choice = replace(choice, mode=None, name=None, allowed=None, payload=None)
    elif choice.payload is not None and not to.has_tool(choice):
        log.dropped("tool_choice", at, f"a choice that only {choice.dialect} knows")
        choice = replace(choice, payload=None)
    if choice.kind == "custom" and to.can.freeform != "native":
        if to.can.freeform == "function" and mode == "named":
            log.approximated("tool_choice", at, "a freeform tool is chosen as a function")
        choice = replace(choice, kind="function")
    if choice.allowed is not None and mode not in rules.subsets:
        choice = _whole(choice, to, log)
    if choice.parallel is False and mode not in rules.parallel:
        why = f"{to.name} cannot switch off parallel calls"
        if mode == "none" and rules.parallel:
            why = "no tool is called, so no calls are parallel"
        log.dropped("tool_choice.parallel", at, why)
        choice = replace(choice, parallel=None)
    return choice if choice.mode is None else _mode(choice, to, log)


def _whole(choice: ToolChoice, to: Dialect, log: Ledger) -> ToolChoice:
    """A choice of all tools of a request, or of the one that is allowed."""
    allowed = choice.allowed or ()
    if choice.mode == "required" and len(allowed) == 1 and "named" in to.can.choices.modes:
        why = f"the one tool that is allowed is required: {allowed[0]!r}"
        log.approximated("tool_choice.allowed", choice.at, why)
        return replace(choice, mode="named", name=allowed[0], allowed=None)
    why = f"{to.name} cannot restrict the choice to some of the tools"
    if to.can.choices.subsets and choice.mode in ("none", "named"):
        why = f"the mode {choice.mode!r} leaves no choice between tools"
    log.dropped("tool_choice.allowed", choice.at, why)
    return replace(choice, allowed=None)


def _mode(choice: ToolChoice, to: Dialect, log: Ledger) -> ToolChoice:
    """A choice of a mode that the target has."""
    modes = to.can.choices.modes
    if choice.mode in modes:
        return choice
    if choice.mode == "named" and "required" in modes:
        why = f"{to.name} can require a tool call, but not of a certain tool"
        log.approximated("tool_choice", choice.at, why)
        return replace(choice, mode="required", name=None, kind="function")
    log.dropped("tool_choice", choice.at, f"{to.name} has no tool choice {choice.mode!r}")
    return replace(choice, mode=None, name=None, kind="function")
