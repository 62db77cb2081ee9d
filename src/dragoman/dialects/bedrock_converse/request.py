"""Requests of Bedrock's Converse API, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core import fitting
from ...core.lowering.prefill import is_begun
from ...core.models import Facts, Models
from ...core.reading import as_dict, maybe_dict, maybe_list, maybe_str, need_list
from ...core.writing import NO_PARAMETERS
from ...ledger import Ledger
from ...model import History, Json, Message, Request, Thinking, Tool, ToolCall, ToolResult, Tree
from .._claude import (
    CONTINUE,
    EXCLUDED,
    as_custom,
    ends_in_words,
    fit,
    is_claude,
    is_excluded,
    no_prefill,
    note_prefill,
    repaired,
    surplus_marks,
)
from .._claude_turns import (
    WITHOUT_THINKING,
    apart,
    lacks_thinking,
    why_unthinking,
    without_final_space,
)
from .._nine import ID_RULE, Nine
from .blocks import NOBODY, BedrockWriting, read_blocks, writing
from .params import FIELDS, MORE, read_params, write_params
from .tools import read_choice, read_tool_list, write_choice, write_tool_list
from .turns import begin, read_history, write_conversation

if TYPE_CHECKING:
    from . import BedrockConverse


MAKERS = ("anthropic", "mistral", "amazon")
"""Whose models are served here as their makers' tables say."""


def maker_of(model: str | None, models: Models) -> str:
    """Whose table holds for a model here."""
    maker = models.vendor_of(model)
    return maker if maker in MAKERS else ""


def read_request(d: BedrockConverse, doc: Json) -> Request:
    doc = as_dict(doc, "")
    config = maybe_dict(doc, "toolConfig", "")
    tools, choice = None, None
    params, partly = read_params(d, doc)
    if config is not None:
        partly["toolConfig"] = ("tools", "toolChoice")
        if config.get("tools") is not None:
            tools = read_tool_list(d, config["tools"], "/toolConfig/tools")
        given = maybe_dict(config, "toolChoice", "/toolConfig")
        choice = None if given is None else read_choice(d, given, "/toolConfig/toolChoice")
    messages = read_conversation(d, doc, tools)
    return Request(
        maybe_str(doc, "modelId", ""),
        tuple(messages),
        tools,
        as_custom(choice, tools),
        params,
        True if messages and is_begun(messages[-1]) else None,
        dialect=d.name,
        extras=d.keep(doc, FIELDS.taken, partly=partly),
    )


def write_request(d: BedrockConverse, tree: Request, log: Ledger) -> Json:
    w = writing(d, log, tree.dialect)
    w.signed = is_claude(tree.model, log.models)
    out: dict[str, Json] = {}
    if tree.model is not None:
        out["modelId"] = tree.model
    facts = w.address(maker_of(tree.model, log.models), tree.model)
    if not w.same:
        tree = fit(tree, facts, log)
        tree = apart(tree, d, log) if w.signed else tree
        if w.signed and not (ends_in_words(tree) and refuses_prefill(tree, w)):
            tree = without_final_space(tree, log)
        if facts.call_ids == "nine":
            w.ids = Nine(ID_RULE, "tool_call.id")
    # Tools come before the system prompt and the messages: that is the order of the cache.
    config = write_config(d, tree, w)
    write_conversation(d, out, tree.messages, w)
    if not (out["messages"] or w.same):
        out["messages"] = [begin(d, tree.at, w), *out["messages"]]
    if not log.restores:
        tree = fit_thinking(out, tree, w)
    write_params(d, out, tree, w)
    if config:
        out["toolConfig"] = config
    limit_marks(d, out, w)
    turns = out["messages"]
    if tree.messages and turns and not w.same:
        refused, words = refuses_prefill(tree, w), [{"text": CONTINUE}]
        note_prefill(d, tree, turns, refused, words, is_beginning(turns[-1]), log)
    return d.emit(out, tree, log)


def restored(d: BedrockConverse, document: Json, tree: Tree, log: Ledger) -> Json:
    if d.is_same(tree.dialect):
        return document
    more = document.get(MORE) if isinstance(tree, Request) else None
    if not isinstance(more, dict) or not isinstance(config := more.get("thinking"), dict):
        return document
    if config.get("type") != "enabled":
        return document
    why = why_unthinking(document["messages"], is_result, is_thinking)
    if why is None:
        return document
    asked = tree.params.thinking if isinstance(tree, Request) else None
    log.dropped("thinking", asked.at if asked is not None else "", why)
    left = {key: value for key, value in more.items() if key != "thinking"}
    rest = {key: value for key, value in document.items() if key != MORE}
    return rest | {MORE: left} if left else rest


def fit_thinking(out: dict[str, Json], tree: Request, w: BedrockWriting) -> Request:
    """In the middle of a tool loop, thinking needs the thinking block that began it."""
    config = tree.params.thinking
    if w.same or config is None or not within_budget(config):
        return tree  # it is off, or the model's own judgement
    if not lacks_thinking(out["messages"], is_result, is_thinking):
        return tree
    w.log.dropped("thinking", config.at, WITHOUT_THINKING)
    left = replace(config, mode=None, budget=None, display=None)
    return replace(tree, params=replace(tree.params, thinking=left if left.effort else None))


def read_messages(d: BedrockConverse, doc: Json) -> History:
    if doc.__class__ is list:
        return History(tuple(read_history(d, doc, "", NOBODY)), dialect=d.name)
    doc = as_dict(doc, "")
    messages = read_conversation(d, doc, None)
    extras = d.keep(doc, ("messages", "system"))
    return History(tuple(messages), dialect=d.name, extras=extras)


def write_messages(d: BedrockConverse, tree: History, log: Ledger) -> Json:
    out: dict[str, Json] = {}
    write_conversation(d, out, tree.messages, writing(d, log, tree.dialect))
    return d.emit(out, tree, log)


def write_config(d: BedrockConverse, tree: Request, w: BedrockWriting) -> dict[str, Json]:
    config: dict[str, Json] = {}
    choice = tree.tool_choice
    tools = write_tool_list(d, tree.tools or (), w)
    if tools:
        config["tools"] = tools
    elif not w.same and (used := used_tools(tree.messages)):
        # "The toolConfig field must be defined when using toolUse and toolResult content
        # blocks."
        config["tools"] = [invent_tool(d, name, at, w) for name, at in used.items()]
    if choice is None:
        return config
    if not config and not w.same:
        w.log.dropped("tool_choice", choice.at, f"{d.name} requires tools beside tool_choice")
        return config
    if not w.same and is_excluded(choice, tree.params):
        w.log.approximated("tool_choice", choice.at, EXCLUDED)
        choice = replace(choice, mode="auto", name=None)
    written = write_choice(d, choice, w)
    if written is not None:
        config["toolChoice"] = written
    return config


def invent_tool(d: BedrockConverse, name: str, at: str, w: BedrockWriting) -> Json:
    why = f"{d.name} requires a definition of every tool that is called; written without parameters"
    w.log.invented("tool", at, why)
    return {"toolSpec": {"name": w.tool_name(name, at), "inputSchema": {"json": NO_PARAMETERS}}}


def fit_model(d: BedrockConverse, tree: Request, log: Ledger) -> Request:
    facts = log.models.facts(maker_of(tree.model, log.models), tree.model)
    tree = repaired(tree, d, facts, log)
    return fitting.without_media(tree, facts, log)


def facts_of(d: BedrockConverse, model: str | None, log: Ledger) -> Facts:
    return log.models.facts(maker_of(model, log.models), model)


def refuses_prefill(tree: Request, w: BedrockWriting) -> str | None:
    """Why the model does not go on with what the assistant says last."""
    return no_prefill(tree, w.facts, w.signed and within_budget(tree.params.thinking))


def limit_marks(d: BedrockConverse, out: dict[str, Json], w: BedrockWriting) -> None:
    surplus = set(map(id, surplus_marks(d, w)))
    if not surplus:
        return
    turns = [turn["content"] for turn in out["messages"]]
    for blocks in (out.get("toolConfig", {}).get("tools", []), out.get("system", []), *turns):
        blocks[:] = [block for block in blocks if id(block) not in surplus]


def read_conversation(
    d: BedrockConverse, doc: dict[str, Json], tools: tuple[Tool, ...] | None
) -> list[Message]:
    custom = frozenset(tool.name for tool in tools or () if tool.kind == "custom")
    messages = read_history(d, need_list(doc, "messages", ""), "/messages", custom)
    system = maybe_list(doc, "system", "")
    if not system:
        return messages
    blocks = read_blocks(d, system, "/system")
    return [Message("system", tuple(blocks), at="/system"), *messages]


def used_tools(messages: tuple[Message, ...]) -> dict[str, str]:
    """The tools that a conversation uses, each with the place where it does so first."""
    used: dict[str, str] = {}
    results: dict[str, str] = {}
    for message in messages:
        for block in message.content:
            if isinstance(block, ToolCall):
                used.setdefault(block.name, block.at)
            elif isinstance(block, ToolResult):
                results.setdefault(block.name or "tool", block.at)
    return used or results


def is_result(block: Json) -> bool:
    return "toolResult" in block


def is_beginning(turn: Json) -> bool:
    """Whether a turn at the end is one with which the model goes on."""
    written = turn["content"]
    return turn["role"] == "assistant" and not any("toolUse" in block for block in written)


def within_budget(config: Thinking | None) -> bool:
    """Whether the model thinks within a budget."""
    return config is not None and config.budget is not None and config.mode in (None, "on")


def is_thinking(block: Json) -> bool:
    return "reasoningContent" in block
