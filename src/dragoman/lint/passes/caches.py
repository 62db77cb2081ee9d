"""Cache breakpoints."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from ...ledger import Ledger
from ...model import (
    Block,
    Cache,
    Hosted,
    Json,
    Media,
    Node,
    Passage,
    Raw,
    Request,
    Text,
    Tool,
    ToolCall,
    ToolResult,
)
from .context import Bench, Conversation, each_block, with_tools

MARKS = 4
"""How many cache breakpoints a request may have."""


def limit_cache_marks(tree: Conversation, bench: Bench) -> Conversation:
    """At most four cache breakpoints.

    Those in the messages are removed first, the oldest first, but not the newest, which a growing
    conversation depends on. Then those on tools and system prompt, the oldest first. The automatic
    breakpoint of a request counts and is never removed.
    """
    marks = marks_in(tree)
    room = MARKS - is_automatic(tree, marks)
    spare = len(marks) - room
    if spare <= 0:
        return tree
    late = [mark for mark in marks if mark.in_messages]
    early = [mark for mark in marks if not mark.in_messages]
    doomed = {id(mark.node) for mark in [*late[:-1], *early, *late[-1:]][:spare]}
    return unmarked(tree, doomed, bench.log)


def is_automatic(tree: Conversation, marks: list[Mark]) -> bool:
    """Whether the API sets a breakpoint itself: on the last block, if that has none yet."""
    if not isinstance(tree, Request) or tree.params.cache is None:
        return False
    content = tree.messages[-1].content if tree.messages else ()
    return not (marks and content and marks[-1].node is content[-1])


class Mark:
    """A cache breakpoint: its node, and whether that is after the system prompt."""

    __slots__ = ("in_messages", "node")

    def __init__(self, node: Node, in_messages: bool) -> None:
        self.node = node
        self.in_messages = in_messages


def marks_in(tree: Conversation) -> list[Mark]:
    """All breakpoints, in the order of the prefix: tools, system prompt, messages."""
    out: list[Mark] = []
    for tool in (tree.tools or ()) if isinstance(tree, Request) else ():
        if is_marked(tool):
            out.append(Mark(tool, False))
    talk = False
    for message in tree.messages:
        talk = talk or message.role not in ("system", "developer")
        for block in message.content:
            inner = block.content if isinstance(block, ToolResult) else ()
            out += [Mark(b, talk) for b in (*inner, block) if is_marked(b)]
    return out


def is_marked(node: Node) -> bool:
    if isinstance(node, Hosted | Raw) or (isinstance(node, Tool) and node.kind == "hosted"):
        payload: Json = node.payload
        return payload.__class__ is dict and payload.get("cache_control") is not None
    return getattr(node, "cache", None) is not None


def unmarked(tree: Conversation, doomed: set[int], log: Ledger) -> Conversation:
    def change(block: Block) -> Block:
        if isinstance(block, ToolResult):
            inner = tuple(change(b) for b in block.content)
            new = unmark(block, log) if id(block) in doomed else block
            if all(a is b for a, b in zip(inner, block.content, strict=True)):
                return new
            return replace(new, content=inner)
        return unmark(block, log) if id(block) in doomed else block

    if isinstance(tree, Request) and tree.tools:
        tools = [unmark(t, log) if id(t) in doomed else t for t in tree.tools]
        tree = with_tools(tree, tools)
    return each_block(tree, change)


B = TypeVar("B", Text, Media, Passage, ToolCall, ToolResult, Tool, Block)


def unmark(node: B, log: Ledger) -> B:
    why = f"a request may have {MARKS} cache breakpoints; others are kept"
    if isinstance(node, Hosted | Raw) or (isinstance(node, Tool) and node.kind == "hosted"):
        log.dropped("cache", f"{node.at}/cache_control", why)
        payload = {k: v for k, v in node.payload.items() if k != "cache_control"}
        return replace(node, payload=payload)
    cache: Cache | None = getattr(node, "cache", None)
    log.dropped("cache", cache.at if cache is not None else node.at, why)
    return replace(node, cache=None)
