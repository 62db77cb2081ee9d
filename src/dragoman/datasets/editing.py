"""What is done to a conversation before it is written: turns cut apart, reasoning left out."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ..model import Message, Reasoning, Request


def without_reasoning(tree: Request) -> tuple[Request, int]:
    """The conversation without what the model thought, and how many blocks that was."""
    training = tree.training
    count = blocks(tree.messages)
    if training is not None:
        count += blocks(training.rejected or ())
    if not count:
        return tree, 0
    messages = speaking(tree.messages)
    if training is not None:
        last = training.completion
        if last:
            last = len(speaking(tree.messages[-last:]))
        rejected = training.rejected and speaking(training.rejected)
        training = replace(training, completion=last, rejected=rejected)
    return replace(tree, messages=messages, training=training), count


def blocks(messages: tuple[Message, ...]) -> int:
    """How many blocks of reasoning there are."""
    return sum(isinstance(block, Reasoning) for m in messages for block in m.content)


def speaking(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Messages without reasoning; those that were nothing else are left out."""
    found = []
    for message in messages:
        content = tuple(block for block in message.content if not isinstance(block, Reasoning))
        if len(content) == len(message.content):
            found.append(message)
        elif content:
            found.append(replace(message, content=content))
    return tuple(found)


def turns(tree: Request) -> Iterator[Request]:
    """A conversation for each turn of the assistant, which ends with it.

    What a training set tells of the whole is told of the last one alone.
    """
    for index, message in enumerate(tree.messages):
        if message.role == "assistant":
            last = index + 1 == len(tree.messages)
            training = tree.training if last else None
            yield replace(tree, messages=tree.messages[: index + 1], training=training)
