"""What is done to a conversation before it is written: turns cut apart, reasoning left out."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ..model import Message, Reasoning, Request


def without_reasoning(tree: Request) -> tuple[Request, int]:
    """The conversation without what the model thought, and how many blocks that was."""
    count = sum(isinstance(block, Reasoning) for m in tree.messages for block in m.content)
    if not count:
        return tree, 0
    messages = (_speaking(message) for message in tree.messages)
    return replace(tree, messages=tuple(m for m in messages if m is not None)), count


def _speaking(message: Message) -> Message | None:
    """A message without its reasoning; None where it was nothing else."""
    content = tuple(block for block in message.content if not isinstance(block, Reasoning))
    if len(content) == len(message.content):
        return message
    return replace(message, content=content) if content else None


def turns(tree: Request) -> Iterator[Request]:
    """A conversation for each turn of the assistant, which ends with it."""
    for index, message in enumerate(tree.messages):
        if message.role == "assistant":
            yield replace(tree, messages=tree.messages[: index + 1])
