"""Reasoning."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

from msgspec.structs import replace

from ...core.reading import follow
from ...model import Block, Json, Message, Reasoning, Request
from .context import Bench, Conversation, lose_extras, resettle, with_content, with_messages


def strip_foreign_reasoning(tree: Conversation, bench: Bench) -> Conversation:
    """Drop reasoning that this API did not sign or encrypt; stored reasoning is known by its id."""
    out: list[Message] = []
    for message in tree.messages:
        kept: list[Block] = []
        for block in message.content:
            if isinstance(block, Reasoning) and is_foreign(block, bench.issuer):
                why = f"{bench.issuer or 'the API'} did not sign or encrypt this reasoning"
                bench.log.dropped("reasoning", block.at, why)
                lose_extras(block, why, bench.log)
            else:
                kept.append(block)
        out.append(with_content(message, kept))
    return with_messages(tree, out)


def is_foreign(block: Reasoning, issuer: str) -> bool:
    if block.signature is None:
        return block.id is None
    return block.signature.issuer != issuer


def complete_reasoning(tree: Conversation, bench: Bench) -> Conversation:
    """Reasoning without a ``summary`` list gets an empty one.

    Both mean the same, so it is the document that is repaired.
    """
    if tree.original is None:
        return tree
    doc = deepcopy(tree.original.doc)
    lacking = [item for item in reasoning_in(tree, doc) if item[1].get("summary") is None]
    for block, item in lacking:
        bench.log.invented(
            "reasoning.summary", block.at, "a reasoning item requires `summary`; written as []"
        )
        item["summary"] = []
    return replace(tree, original=replace(tree.original, doc=doc)) if lacking else tree


def reasoning_in(tree: Conversation, doc: Json) -> Iterator[tuple[Reasoning, dict[str, Json]]]:
    """The reasoning of a conversation, and the items that it was read from."""
    for message in tree.messages:
        for block in message.content:
            if isinstance(block, Reasoning):
                item, left = follow(doc, block.at)
                if not left and item.__class__ is dict and item.get("type") == "reasoning":
                    yield block, item


def drop_lone_reasoning(tree: Conversation, bench: Bench) -> Conversation:
    """Drop stored reasoning at the end of a turn, without the item that must follow it."""
    why = "stored reasoning without the item that must follow it"
    out: list[Message] = []
    for message in tree.messages:
        end = len(message.content)
        while (
            message.role == "assistant" and end and isinstance(message.content[end - 1], Reasoning)
        ):
            end -= 1
        lone = [block for block in message.content[end:] if is_stored_reasoning(block)]
        for block in lone:
            bench.log.dropped("reasoning", block.at, why)
            lose_extras(block, why, bench.log)
        content = [b for b in message.content if not any(b is gone for gone in lone)]
        if content or not lone:
            out.append(with_content(message, content))
    return with_messages(tree, resettle(tree.messages, out))


def is_stored_reasoning(block: Block) -> bool:
    return isinstance(block, Reasoning) and block.id is not None


def disable_thinking(tree: Conversation, bench: Bench) -> Conversation:
    """Without thinking, the API accepts a tool loop that lacks its first thinking block."""
    if not isinstance(tree, Request) or tree.params.thinking is None:
        return tree
    config = tree.params.thinking
    why = "thinking is omitted: the last turn of the assistant does not start with a thinking block"
    bench.log.dropped("thinking", config.at, why)
    lose_extras(config, why, bench.log)
    return replace(tree, params=replace(tree.params, thinking=None))
