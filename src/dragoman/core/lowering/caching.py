"""Prompt-cache marks on their way to a target: what may have one, and how long a cache lives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from ...ledger import Ledger
from ...model import Block, Cache, Media, Passage, Request, Text, Tool, ToolCall, ToolResult
from ..capabilities import MARKED, Place

if TYPE_CHECKING:
    from ...dialect import Dialect

Marked = TypeVar("Marked", Text, Media, Passage, ToolCall, ToolResult, Tool)


def lower(block: Marked, what: str, to: Dialect, place: Place, log: Ledger) -> Marked:
    """A block with its mark, if it may have one; ``what`` it is called in ``MARKED``."""
    cache = None if block.cache is None else fitted(block.cache, what, to, place, log)
    return block if cache is block.cache else replace(block, cache=cache)


def fitted(cache: Cache, what: str, to: Dialect, place: Place, log: Ledger) -> Cache | None:
    can = to.can.caching
    if place not in can.places or what not in can.on:
        where = f" on {MARKED[what]}" if place in can.places and can.on else ""
        where = where or (" in a response" if can.on and can.places else "")
        log.dropped("cache", cache.at, f"{to.name} has no cache marks{where}")
        return None
    if cache.ttl is None or can.ttls is None or cache.ttl in can.ttls:
        return cache
    ttl = can.longest
    told = "the default" if ttl is None else f"{ttl}, the longest,"
    why = f"{to.name} has no cache lifetime of {cache.ttl}; {told} is written"
    log.approximated("cache.ttl", cache.at, why)
    return replace(cache, ttl=ttl)


def omit(block: Block, to: Dialect, log: Ledger) -> None:
    """Report the mark of a block that is dropped, where it does not stand in the block."""
    cache = getattr(block, "cache", None)
    if isinstance(cache, Cache) and not f"{cache.at}/".startswith(f"{block.at}/"):
        log.dropped("cache", cache.at, f"the block that it marks is not written for {to.name}")


def result(block: ToolResult, to: Dialect, log: Ledger) -> ToolResult:
    """A result whose mark stands on its last text, where results bear none and their texts do."""
    cache, content, can = block.cache, block.content, to.can.caching
    if cache is None or "result" in can.on or "result part" not in can.on:
        return lower(block, "result", to, "history", log)
    for index in range(len(content) - 1, -1, -1):
        part = content[index]
        if isinstance(part, Text) and part.cache is None:
            why = f"{to.name} has no cache marks on results; it is on the last text of the result"
            log.approximated("cache", cache.at, why)
            marked = (*content[:index], replace(part, cache=cache), *content[index + 1 :])
            return replace(block, content=marked, cache=None)
    log.dropped("cache", cache.at, f"{to.name} has no cache marks on results without a text")
    return replace(block, cache=None)


def inside(blocks: tuple[Block, ...], to: Dialect, place: Place, log: Ledger) -> tuple[Block, ...]:
    """The texts of a passage or a document, each with its mark if it may have one."""
    if "document text" in to.can.caching.on:
        return blocks
    out = (lower(b, "document text", to, place, log) if isinstance(b, Text) else b for b in blocks)
    found = tuple(out)
    return blocks if all(a is b for a, b in zip(found, blocks, strict=True)) else found


def tools(listed: Sequence[Tool], to: Dialect, log: Ledger) -> tuple[Tool, ...]:
    return tuple(
        tool if tool.kind == "hosted" else lower(tool, "tool", to, "history", log)
        for tool in listed
    )


def request(tree: Request, to: Dialect, log: Ledger) -> Request:
    """A request whose tools, and which as a whole, bear marks only where that is possible."""
    listed, writes = tree.tools, to.writes
    if writes is not None and writes.marked is not None and writes.marked[0] is listed:
        _, fit, losses = writes.marked
        log.entries += losses
        tree = replace(tree, tools=fit)
    elif listed and any(tool.cache is not None for tool in listed):
        begun = len(log.losses)
        fit = tools(listed, to, log)
        if writes is not None:
            writes.marked = listed, fit, log.losses[begun:]
        tree = replace(tree, tools=fit)
    params = tree.params
    if params.cache is not None:
        cache = fitted(params.cache, "request", to, "history", log)
        if cache is not params.cache:
            tree = replace(tree, params=replace(params, cache=cache))
    return tree
