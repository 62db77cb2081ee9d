"""What the passes share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from msgspec.structs import replace

from ...core.reading import escape
from ...dialect import Dialect
from ...ledger import Ledger
from ...model import (
    Block,
    Extras,
    History,
    Message,
    Node,
    Raw,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolResult,
)
from ..rules import Ruled

Conversation: TypeAlias = Request | History
Messages: TypeAlias = tuple[Message, ...]
N = TypeVar("N", bound=Node)


class Bench:
    """The context of one repair: the ledger, and what the dialect's API requires."""

    def __init__(self, dialect: Dialect, log: Ledger) -> None:
        rules: Any = dialect if isinstance(dialect, Ruled) else Ruled
        self.log = log
        self.dialect = dialect
        self.issuer = dialect.issuer
        self.adjacent: bool = rules.adjacent
        self.merges: bool = rules.merges
        self.silent_results: bool = rules.silent_results
        self.call_ids: tuple[str, int] = rules.call_ids
        self.tool_names: tuple[str, int] = rules.tool_names
        self.item_prefixes: Mapping[str, str] = rules.item_prefixes


def with_messages(tree: Conversation, messages: Sequence[Message]) -> Conversation:
    """The tree with other messages; the same tree if they are the same."""
    new = tuple(messages)
    if len(new) == len(tree.messages) and all(
        a is b for a, b in zip(new, tree.messages, strict=True)
    ):
        return tree
    return replace(tree, messages=new)


def with_content(message: Message, content: Sequence[Block]) -> Message:
    new = tuple(content)
    if len(new) == len(message.content) and all(
        a is b for a, b in zip(new, message.content, strict=True)
    ):
        return message
    return replace(message, content=new)


def resettle(old: Sequence[Message], new: Sequence[Message]) -> list[Message]:
    """The new order; a message with another predecessor than before loses its spelling.

    Among the results of one turn the predecessor does not matter.
    """
    before = {id(m): old[i - 1] if i else None for i, m in enumerate(old)}
    out: list[Message] = []
    run: set[int] = set()
    last: Message | None = None
    for message in new:
        known = before.get(id(message), message)
        settled = known is last or id(known) in run
        out.append(message if settled or id(message) not in before else unspell(message))
        if message.role == "tool":
            run.add(id(message))
        else:
            run.clear()
        last = message
    return out


def unspell(node: N) -> N:
    """The node without the spelling of its document; its extra fields stay."""
    extras = node.extras
    if extras is None or not extras.spelling:
        return node
    kept = Extras(extras.dialect, extras.fields)
    return replace(node, extras=kept if kept.fields else None)


def lose_extras(node: Node, why: str, log: Ledger) -> None:
    """Record the extra fields of a node that is dropped."""
    for key in node.extras.fields if node.extras is not None else ():
        log.dropped("extras", f"{node.at}/{escape(key)}", why)


def lose_text(block: Block, why: str, log: Ledger) -> None:
    """Record a text that is dropped, with its cache breakpoint and citations."""
    log.dropped("text.empty", block.at, why)
    lose_extras(block, why, log)
    if isinstance(block, Text):
        if block.cache is not None:
            log.dropped("cache", block.cache.at, why)
        for cite in block.citations:
            log.dropped("text.citations", cite.at, why)


def calls_in(message: Message) -> list[ToolCall]:
    return [b for b in message.content if isinstance(b, ToolCall)]


def result_in(message: Message) -> ToolResult | None:
    block = message.content[0] if message.role == "tool" and message.content else None
    return block if isinstance(block, ToolResult) else None


def turn_ends(messages: Sequence[Message], bench: Bench) -> Iterator[tuple[int, list[ToolCall]]]:
    """Where an assistant turn with calls ends, and its calls."""
    calls: list[ToolCall] = []
    for index, message in enumerate(messages):
        if message.role != "assistant":
            continue
        calls += calls_in(message)
        after = messages[index + 1].role if index + 1 < len(messages) else None
        if bench.merges and after == "assistant":
            continue
        if calls:
            yield index, calls
        calls = []


def is_stored(tree: Conversation) -> bool:
    """Whether a part of the conversation is stored by the provider, where no pass can see it."""
    if isinstance(tree, Request):
        if tree.params.previous_id is not None or tree.params.conversation_id is not None:
            return True
        if tree.extras is not None and "thread" in tree.extras.fields:
            return True
    return any(
        isinstance(block, Raw)
        and block.payload.__class__ is dict
        and block.payload.get("type") in ("item_reference", "compaction")
        for message in tree.messages
        for block in message.content
    )


def each_block(tree: Conversation, change: Callable[[Block], Block]) -> Conversation:
    """The tree with every block of its messages changed in place."""
    out = [with_content(m, [change(block) for block in m.content]) for m in tree.messages]
    return with_messages(tree, out)


def with_tools(tree: Request, tools: Sequence[Tool]) -> Request:
    old = tree.tools or ()
    if all(a is b for a, b in zip(tools, old, strict=True)):
        return tree
    return replace(tree, tools=tuple(tools))


def merged(first: Message, second: Message, log: Ledger) -> Message:
    """Two messages as one. Of two extra fields with the same name, the first stays."""
    log.approximated("message.boundary", second.at, "merged with the message before it")
    mine, more = unspell(first).extras, unspell(second).extras
    if mine is not None and more is not None:
        for key in mine.fields.keys() & more.fields.keys():
            if mine.fields[key] != more.fields[key]:
                log.dropped(
                    "extras",
                    f"{second.at}/{escape(key)}",
                    "the message before it has this field too",
                )
        mine = Extras(mine.dialect, more.fields | mine.fields)
    content = (*first.content, *second.content)
    return replace(first, content=content, extras=mine or more)
