"""Empty texts and messages, and consecutive messages of one role."""

from __future__ import annotations

from msgspec.structs import replace

from ...core.writing import is_blank
from ...model import Block, Message, Text, ToolResult
from .context import (
    Bench,
    Conversation,
    lose_extras,
    lose_text,
    merged,
    resettle,
    with_content,
    with_messages,
)


def drop_empty_text(tree: Conversation, bench: Bench) -> Conversation:
    """Drop empty texts beside other content. A message of empty texts only is an empty message."""
    out: list[Message] = []
    for message in tree.messages:
        content = [without_blanks(block, bench) for block in message.content]
        spoken = [b for b in content if not is_blank_text(b)]
        if spoken and len(spoken) < len(content):
            for block in content:
                if is_blank_text(block):
                    lose_text(block, "empty text dropped", bench.log)
            content = spoken
        out.append(with_content(message, content))
    return with_messages(tree, out)


def is_blank_text(block: Block) -> bool:
    return isinstance(block, Text) and is_blank(block.text)


def without_blanks(block: Block, bench: Bench) -> Block:
    """A tool result without its empty texts; all of them where a result may have no content."""
    if not isinstance(block, ToolResult) or not any(map(is_blank_text, block.content)):
        return block
    kept = tuple(b for b in block.content if not is_blank_text(b))
    if not kept and not bench.silent_results:
        return block
    for inner in block.content:
        if is_blank_text(inner):
            lose_text(inner, "empty text dropped", bench.log)
    return replace(block, content=kept)


def drop_empty_messages(tree: Conversation, bench: Bench) -> Conversation:
    """Drop messages without content, unless there are no others."""
    rest = [m for m in tree.messages if m.role not in ("system", "developer")]
    if all(m.role != "tool" and all(map(is_blank_text, m.content)) for m in rest):
        return tree
    out: list[Message] = []
    for message in tree.messages:
        if message.role == "tool" or not all(map(is_blank_text, message.content)):
            out.append(message)
            continue
        why = "message without content"
        bench.log.dropped("message.empty", message.at, why)
        lose_extras(message, why, bench.log)
        for block in message.content:
            if isinstance(block, Text) and block.cache is not None:
                bench.log.dropped("cache", block.cache.at, why)
    return with_messages(tree, resettle(tree.messages, out))


def trim_final_text(tree: Conversation, bench: Bench) -> Conversation:
    """Remove white space at the end of a final assistant turn."""
    last = tree.messages[-1] if tree.messages else None
    block = last.content[-1] if last is not None and last.content else None
    if last is None or last.role != "assistant" or not isinstance(block, Text):
        return tree
    text = block.text.rstrip()
    if text == block.text or not text:
        return tree
    bench.log.approximated(
        "text.space", block.at, "a final assistant text must not end with white space"
    )
    content = (*last.content[:-1], replace(block, text=text))
    return with_messages(tree, [*tree.messages[:-1], replace(last, content=content)])


def merge_same_role(tree: Conversation, bench: Bench) -> Conversation:
    out: list[Message] = []
    for message in tree.messages:
        last = out[-1] if out else None
        if (
            last is not None
            and last.role == message.role
            and message.role in ("user", "assistant")
            and last.name == message.name
        ):
            out[-1] = merged(last, message, bench.log)
        else:
            out.append(message)
    return with_messages(tree, resettle(tree.messages, out))
