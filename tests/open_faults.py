"""Documents of which the audits cannot be asked yet, class by class: each is a fault that is open.

The generators put parts of documents together that no provider and no client says together. Where
such a document loses something in silence, its class is here until that is repaired; identity,
determinism, the ledger and the way home are asked of it all the same. Shrinking this list is work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import dragoman
import seeds
from dragoman import DragomanError
from dragoman.model import (
    History,
    Message,
    Reasoning,
    Request,
    Response,
    Text,
    ToolCall,
    ToolResult,
    Tree,
)
from fuzz.oracles import Talk, whole


def names(case: Talk) -> list[str]:
    """The classes that a document is in."""
    try:
        tree = dragoman.read(whole(case.document), case.dialect, facet=case.facet)
    except DragomanError:
        return []
    return [name for name, is_open in CLASSES.items() if is_open(case, tree)]


def messages_of(tree: Tree) -> tuple[Message, ...]:
    if isinstance(tree, Request | History):
        return tree.messages
    if isinstance(tree, Response):
        return tuple(candidate.message for candidate in tree.candidates)
    return ()


def blocks_of(tree: Tree) -> Iterator[Any]:
    return (block for message in messages_of(tree) for block in message.content)


def is_unpaired(case: Talk, tree: Tree) -> bool:
    """A result that does not follow its call at once, or has none; a call that is answered twice,
    late or never. Which result is whose is decided anew, and told in part only.
    """
    if not isinstance(tree, Request | History):
        ids = [block.id for block in blocks_of(tree) if isinstance(block, ToolCall)]
        return len(set(ids)) < len(ids)
    waiting: list[str | None] = []
    seen: Counter[str | None] = Counter()
    for message in tree.messages:
        results = [block for block in message.content if isinstance(block, ToolResult)]
        if waiting and not results:
            return True
        for result in results:
            if result.call_id not in waiting:
                return True
            waiting.remove(result.call_id)
        calls = [block.id for block in message.content if isinstance(block, ToolCall)]
        seen.update(calls)
        waiting += calls
    return any(count > 1 for count in seen.values())


def is_misplaced(case: Talk, tree: Tree) -> bool:
    """A call that is not the assistant's, or words of a tool: what stands beside it changes, too.

    With the call goes the name of its result, with the words the end of a conversation.
    """
    return any(
        isinstance(block, ToolCall) if message.role != "tool" else not isinstance(block, ToolResult)
        for message in messages_of(tree)
        if message.role != "assistant"
        for block in message.content
    )


def is_quoting(case: Talk, tree: Tree) -> bool:
    """A citation of no text, or of more than the text: it has no place in it."""
    return any(
        not block.text or (cite.span is not None and cite.span[1] > len(block.text))
        for block in blocks_of(tree)
        if isinstance(block, Text)
        for cite in block.citations
    )


def has_one_id_twice(case: Talk, tree: Tree) -> bool:
    """Reasoning blocks with one id: they are one where ids tell them apart."""
    ids = [x.id for x in blocks_of(tree) if isinstance(x, Reasoning) and x.id is not None]
    return len(set(ids)) < len(ids)


def is_worded(case: Talk, tree: Tree) -> bool:
    """Encrypted reasoning with words: where it is one block without, these are lost."""
    return any(
        isinstance(block, Reasoning)
        and block.signature is not None
        and block.signature.kind == "encrypted"
        and any((*block.content, *block.summary))
        for block in blocks_of(tree)
    )


def is_empty(case: Talk, tree: Tree) -> bool:
    """A message without content between others, which separates them no more when it is gone."""
    return not isinstance(tree, Response) and any(not x.content for x in messages_of(tree))


def is_contradictory(case: Talk, tree: Tree) -> bool:
    """A response that has ended well and tells why it was cut off."""
    document = case.document
    if case.facet != "response" or not isinstance(document, dict):
        return False
    return bool(document.get("incomplete_details")) and document.get("status") != "incomplete"


def is_failed(case: Talk, tree: Tree) -> bool:
    """An error where a response should be, of which the id is no request's."""
    return isinstance(tree, Response) and tree.failure is not None


def is_blank(case: Talk, tree: Tree) -> bool:
    """An object of settings or counts that says nothing: it is left out in silence."""
    if isinstance(tree, Request) and (thinking := tree.params.thinking) is not None:
        if not any((thinking.mode, thinking.effort, thinking.budget, thinking.display)):
            return True
    keys = ("thinkingConfig", "usage", "reasoning", "thinking")
    found = seeds.nodes(case.document)
    return any(value == {} and path[-1:] and path[-1] in keys for path, value in found)


CLASSES: dict[str, Callable[[Talk, Tree], bool]] = {
    "results and calls that are no pairs": is_unpaired,
    "calls of others than the assistant": is_misplaced,
    "encrypted reasoning with words": is_worded,
    "reasoning blocks with one id": has_one_id_twice,
    "citations of another text": is_quoting,
    "messages without content": is_empty,
    "a status and another reason": is_contradictory,
    "errors as responses": is_failed,
    "empty settings": is_blank,
}
