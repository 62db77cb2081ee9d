"""A request made to fit its model: what the model's row in ``models`` says is refused, is left out.

Only a request of another dialect is lowered; in the same dialect it is written as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ..ledger import Ledger
from ..model import Block, Media, Message, OutputFormat, Params, Request, Thinking, ToolResult
from .models import UNKNOWN, Facts

LADDER = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""every level of effort that any API knows, the least first"""
SYSTEM = ("system", "developer")


def fit(tree: Request, facts: Facts, log: Ledger) -> Request:
    """A request from elsewhere without what its model does not take."""
    if facts is UNKNOWN:
        return tree
    model = tree.model or "this model"
    params = fit_params(tree.params, facts, model, log)
    if params is not tree.params:
        tree = replace(tree, params=params)
    if facts.tools is False and (tree.tools or tree.tool_choice is not None):
        tree = without_tools(tree, model, log)
    if facts.forced_tools is False:
        tree = unforced(tree, model, log)
    if facts.system_prompt is False:
        tree = replace(tree, messages=written_by_the_user(tree.messages, model, log))
    return tree


# -- parameters ------------------------------------------------------------------------------------


def reasons(params: Params, facts: Facts) -> bool:
    """Whether the model will reason over this request."""
    thinking = params.thinking
    if facts.thinks in ("always", "never"):
        return facts.thinks == "always"
    if thinking is None or thinking == Thinking(display=thinking.display, at=thinking.at):
        return facts.thinks == "on"
    return thinking.mode != "off" and thinking.effort != "none"


def fit_params(params: Params, facts: Facts, model: str, log: Ledger) -> Params:
    """The parameters that the model takes, with values that it takes."""
    changed: dict[str, object] = {}
    for name, why in refused(params, facts):
        log.dropped(name, params.where(name), f"{name} {why.format(model)}")
        changed[name] = None
    if facts.exclusive:
        there = [n for n in facts.exclusive if getattr(params, n) is not None and n not in changed]
        for name in there[1:]:
            why = f"{there[0]} and {name} cannot be combined ({model})"
            log.dropped(name, params.where(name), why)
            changed[name] = None
    if facts.output is False and params.output is not None:
        if params.output != OutputFormat("text", at=params.output.at):
            log.dropped("output", params.output.at, f"JSON output is not supported by {model}")
            changed["output"] = None
    params = fit_limit(params, facts, model, log)
    return replace(params, **changed) if changed else params


def fit_limit(params: Params, facts: Facts, model: str, log: Ledger) -> Params:
    """The output limit, at most what the model takes."""
    limit, most = params.max_tokens, facts.max_tokens
    if limit is None or most is None or limit <= most:
        return params
    why = f"max_tokens {limit} lowered to {most}, the maximum of {model}"
    log.approximated("max_tokens", params.where("max_tokens"), why)
    return replace(params, max_tokens=most)


def refused(params: Params, facts: Facts) -> Iterator[tuple[str, str]]:
    """The parameters that are there and may not be, and why."""
    for name in facts.refuses:
        if getattr(params, name) is not None:
            yield name, "is not supported by {}"
    if facts.refuses_thinking and reasons(params, facts):
        for name in facts.refuses_thinking:
            if getattr(params, name) is not None:
                yield name, "is not supported by {} with thinking enabled"
    for name, value in facts.fixed.items():
        if getattr(params, name) not in (None, value):
            yield name, f"other than {value:g} is not supported by {{}}"


def nearest(effort: str, levels: Sequence[str]) -> str:
    """The level that comes nearest: the next lower one, or the lowest there is."""
    if effort in levels or not levels:
        return effort
    if effort not in LADDER:
        return "high" if "high" in levels else levels[-1]
    place = LADDER.index(effort)
    lower = [level for level in levels if level in LADDER[:place] and level != "none"]
    if lower:
        return lower[-1]
    return next((level for level in levels if level != "none"), levels[0])


def without_media(tree: Request, facts: Facts, log: Ledger) -> Request:
    """The conversation without media that the model does not take."""
    if facts.media is None and facts.stored_media is None:
        return tree
    out: list[Message] = []
    for message in tree.messages:
        content = fit_blocks(message.content, facts, tree.model or "this model", log)
        out.append(message if content == message.content else replace(message, content=content))
    return replace(tree, messages=tuple(out)) if tuple(out) != tree.messages else tree


def fit_blocks(blocks: Sequence[Block], facts: Facts, model: str, log: Ledger) -> tuple[Block, ...]:
    out: list[Block] = []
    for block in blocks:
        if isinstance(block, Media) and (why := unfit(block, facts)):
            log.dropped("media", block.at, f"{why} not supported by {model}")
        elif isinstance(block, ToolResult):
            content = fit_blocks(block.content, facts, model, log)
            out.append(block if content == block.content else replace(block, content=content))
        else:
            out.append(block)
    return tuple(out)


def unfit(block: Media, facts: Facts) -> str:
    """What of a medium the model does not take; empty: nothing."""
    if facts.media is not None and block.kind not in facts.media:
        return f"{block.kind} input is"
    stored = block.source.kind in ("url", "file") and block.source.value.startswith("s3://")
    if stored and facts.stored_media is not None and block.kind not in facts.stored_media:
        return f"{block.kind} input from S3 is"
    return ""


# -- tools and turns -------------------------------------------------------------------------------


def without_tools(tree: Request, model: str, log: Ledger) -> Request:
    for tool in tree.tools or ():
        log.dropped("tool", tool.at, f"tools are not supported by {model}")
    choice = tree.tool_choice
    if choice is not None:
        log.dropped("tool_choice", choice.at, f"tools are not supported by {model}")
    return replace(tree, tools=None, tool_choice=None)


def unforced(tree: Request, model: str, log: Ledger) -> Request:
    choice = tree.tool_choice
    if choice is None or choice.mode not in ("required", "named"):
        return tree
    why = f"a forced tool call is not supported by {model}; the model may choose"
    log.approximated("tool_choice", choice.at, why)
    return replace(tree, tool_choice=replace(choice, mode="auto", name=None, allowed=None))


def written_by_the_user(
    messages: Sequence[Message], model: str, log: Ledger
) -> tuple[Message, ...]:
    """The system prompt in front of the first words of the user, and system turns as the user's."""
    out: list[Message] = []
    prompt: list[Message] = []
    why = f"a system prompt is not supported by {model}; written as a user message"
    for message in messages:
        if message.role in SYSTEM:
            log.approximated("message.role", message.at, why)
            if out:
                out.append(replace(message, role="user"))
            else:
                prompt.append(message)
            continue
        if prompt and message.role == "user":
            words = tuple(block for m in prompt for block in m.content)
            for joined in prompt:
                told = "merged with the first user message"
                log.approximated("message.boundary", joined.at, told)
            message = replace(message, content=(*words, *message.content))
            prompt.clear()
        elif prompt:
            out += (replace(m, role="user") for m in prompt)
            prompt.clear()
        out.append(message)
    return (*out, *(replace(m, role="user") for m in prompt))
