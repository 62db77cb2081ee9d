"""Arguments and ids of calls, names of tools."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from msgspec.structs import replace

from ...core.reading import parse
from ...core.writing import Names, is_blank
from ...errors import Malformed
from ...ledger import Ledger
from ...model import (
    Block,
    Json,
    Message,
    Reasoning,
    Refusal,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolResult,
)
from ..json_repair import repair_object
from .context import (
    Bench,
    Conversation,
    calls_in,
    each_block,
    result_in,
    unspell,
    with_content,
    with_messages,
    with_tools,
)

ID_LIMIT = 40
"""How long a new id may be: the shortest limit of all APIs."""


def fix_arguments(tree: Conversation, bench: Bench) -> Conversation:
    def fix(block: Block) -> Block:
        return fixed_call(block, bench.log) if isinstance(block, ToolCall) else block

    return each_block(tree, fix)


def fixed_call(call: ToolCall, log: Ledger) -> ToolCall:
    if call.kind != "function":
        return call
    spelled = call.extras.spelling.get("arguments", "text") if call.extras is not None else "text"
    if (
        is_blank(call.arguments)
        or spelled is None
        or (spelled.__class__ is str and is_blank(spelled))
    ):
        log.approximated("tool_call.arguments", call.at, "empty arguments written as `{}`")
        return unspell(replace(call, arguments="{}"))
    try:
        if parse(call.arguments).__class__ is dict:
            return call
    except Malformed:
        pass
    repaired = repair_object(call.arguments)
    if repaired is None:
        return call
    log.approximated("tool_call.arguments", call.at, "invalid JSON repaired")
    return replace(call, arguments=repaired)


def dedupe_tool_ids(tree: Conversation, bench: Bench) -> Conversation:
    """A call whose id was used before gets another; so does its result, which is found by position.

    A result belongs to the latest call with its id that has no result yet; among the calls of one
    message, to the first.
    """
    unique = Unique({call.id for m in tree.messages for call in calls_in(m)})
    waiting: dict[str, list[deque[str]]] = {}
    out: list[Message] = []
    for message in tree.messages:
        if message.role == "assistant":
            fresh: dict[str, deque[str]] = {}
            content: list[Block] = []
            for block in message.content:
                if isinstance(block, ToolCall) and block.id is not None:
                    new = unique(block.id, block.at, bench.log)
                    fresh.setdefault(block.id, deque()).append(new)
                    block = block if new == block.id else replace(block, id=new)
                content.append(block)
            for old, ids in fresh.items():
                waiting.setdefault(old, []).append(ids)
            message = with_content(message, content)
        elif (result := result_in(message)) is not None and result.call_id in waiting:
            message = with_content(message, [paired(result, waiting, bench.log)])
        out.append(message)
    return with_messages(tree, out)


class Unique:
    """Unique ids: the second ``a`` is ``a_2``, or the next free number."""

    def __init__(self, taken: set[str | None]) -> None:
        self.taken = taken
        self.seen: set[str] = set()
        self.numbers: dict[str, int] = {}

    def __call__(self, name: str, at: str, log: Ledger) -> str:
        new = name
        if name in self.seen:
            number = self.numbers.get(name, 1)
            while new in self.taken:
                number += 1
                new = f"{name[: ID_LIMIT - len(str(number)) - 1]}_{number}"
            self.numbers[name] = number
            self.taken.add(new)
            log.renamed(
                "tool_call.id", at, f"{name!r} is the id of an earlier call; renamed to {new!r}"
            )
        self.seen.add(new)
        return new


def paired(result: ToolResult, waiting: dict[str, list[deque[str]]], log: Ledger) -> ToolResult:
    assert result.call_id is not None
    for ids in reversed(waiting[result.call_id]):
        if ids:
            new = ids.popleft()
            if new == result.call_id:
                return result
            log.renamed("tool_call.id", result.at, f"its call was renamed to {new!r}")
            return replace(result, call_id=new)
    return result


def pair_results(tree: Conversation, bench: Bench) -> Conversation:
    """A result without a call id gets that of the first call of its turn without a result, by tool
    name where possible. Where calls have no ids either, nothing changes.
    """
    out: list[Message] = []
    waiting: list[ToolCall] = []
    for message in tree.messages:
        result = result_in(message)
        if message.role == "assistant":
            waiting = [call for call in calls_in(message) if call.id is not None]
        elif result is not None and result.call_id is not None:
            waiting = [call for call in waiting if call.id != result.call_id]
        elif result is not None and waiting:
            named = [call for call in waiting if call.name == result.name]
            call = (named or waiting)[0]
            waiting = [other for other in waiting if other is not call]
            bench.log.invented(
                "tool_call.id",
                result.at,
                f"the result has no id; by its position it belongs to {call.id!r}",
            )
            message = with_content(message, [replace(result, call_id=call.id)])
        out.append(message)
    return with_messages(tree, out)


def legal_tool_ids(tree: Conversation, bench: Bench) -> Conversation:
    names = Names(bench.call_ids, "tool_call.id")
    reserve(names, (c.id for m in tree.messages for c in calls_in(m)))

    def change(block: Block) -> Block:
        if isinstance(block, ToolCall) and block.id is not None:
            new = names(block.id, block.at, bench.log)
            return block if new == block.id else replace(block, id=new)
        if isinstance(block, ToolResult) and block.call_id is not None:
            new = names(block.call_id, block.at, bench.log)
            return block if new == block.call_id else replace(block, call_id=new)
        return block

    return each_block(tree, change)


def reserve(names: Names, used: Iterator[str | None]) -> None:
    """A legal name is kept, even if an illegal one that comes earlier would be renamed to it."""
    for name in used:
        if name is not None:
            names.stays(name)


def drop_item_ids(tree: Conversation, bench: Bench) -> Conversation:
    """Ids of items that the API cannot have issued. They may be absent, but not wrong."""

    def change(block: Block) -> Block:
        match block:
            case ToolCall():
                if is_wrong(block.item_id, bench.item_prefixes.get(block.kind)):
                    bench.log.dropped(
                        "tool_call.item_id", block.at, "not an id that this API issues"
                    )
                    return replace(block, item_id=None)
            case Reasoning():
                if is_wrong(block.id, bench.item_prefixes.get("reasoning")):
                    bench.log.dropped("reasoning.id", block.at, "not an id that this API issues")
                    return replace(block, id=None)
            case Text() | Refusal() if block.extras is not None:
                fields = block.extras.fields
                if is_wrong(fields.get("id"), bench.item_prefixes.get("message")):
                    bench.log.dropped("extras", f"{block.at}/id", "not an id that this API issues")
                    kept = {key: value for key, value in fields.items() if key != "id"}
                    return replace(block, extras=replace(block.extras, fields=kept))
        return block

    return each_block(tree, change)


def is_wrong(name: Json, prefix: str | None) -> bool:
    return prefix is not None and isinstance(name, str) and not name.startswith(prefix)


def legal_tool_names(tree: Conversation, bench: Bench) -> Conversation:
    names = Names(bench.tool_names, "tool.name")
    tools = tree.tools or () if isinstance(tree, Request) else ()
    reserve(names, (tool.name for tool in tools))

    def change(block: Block) -> Block:
        if isinstance(block, ToolCall):
            new = names(block.name, block.at, bench.log)
            return block if new == block.name else replace(block, name=new)
        if isinstance(block, ToolResult) and block.name is not None:
            new = names(block.name, block.at, bench.log)
            return block if new == block.name else replace(block, name=new)
        return block

    if isinstance(tree, Request) and tree.tools:
        tree = with_tools(tree, [legal_tool(tool, names, bench.log) for tool in tree.tools])
        choice = tree.tool_choice
        if choice is not None and choice.name is not None and choice.kind != "hosted":
            new = names(choice.name, choice.at, bench.log)
            if new != choice.name:
                tree = replace(tree, tool_choice=replace(choice, name=new))
        choice = tree.tool_choice
        if choice is not None and choice.allowed is not None:
            allowed = tuple(names(name, choice.at, bench.log) for name in choice.allowed)
            if allowed != choice.allowed:
                tree = replace(tree, tool_choice=replace(choice, allowed=allowed))
    return each_block(tree, change)


def legal_tool(tool: Tool, names: Names, log: Ledger) -> Tool:
    if tool.kind == "hosted":
        return tool
    new = names(tool.name, tool.at, log)
    return tool if new == tool.name else replace(tool, name=new)
