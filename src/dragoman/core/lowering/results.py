"""Tool results on their way to a target: texts that become one, and that a tool has failed.

Where a result has no flag for errors, its text begins with a mark that readers know again (see
``tools.tool_errors``). A target that has such marks reads them as errors, so a tree of its own has
them to be written as well: that is its form, and nothing is noted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...ledger import Ledger
from ...model import Block, History, Message, Request, Text, ToolResult
from ...tools.tool_errors import ERROR, MARK, OUTPUT, is_marked, mark_error, mark_plain
from ..writing import is_plain_text
from . import order, roles

if TYPE_CHECKING:
    from ...dialect import Dialect


def lower(result: ToolResult, to: Dialect, log: Ledger) -> ToolResult:
    """A result whose text is as the target has it."""
    can = to.can.results
    if can.joint is not None and len(result.content) > 1:
        result = join(result, can.joint, to, log)
    return result if can.errors == "flag" else mark(result, to, log)


def join(result: ToolResult, joint: str, to: Dialect, log: Ledger) -> ToolResult:
    """A result with one text, where all others were appended to; empty ones are left out."""
    texts = [block for block in result.content if isinstance(block, Text)]
    if len(texts) < 2:
        return result
    first = next((text for text in texts if text.text), texts[0])
    for text in texts:
        if text is not first:
            (roles.join_text if text.text else roles.omit_text)(text.at, to, log)
            to.lose(text.extras, text.at, log)
    words = joint.join(text.text for text in texts if text.text)
    place = result.content.index(texts[0])
    rest = tuple(block for block in result.content[place:] if not isinstance(block, Text))
    whole = replace(first, text=words)
    return replace(result, content=(*result.content[:place], whole, *rest))


def mark(result: ToolResult, to: Dialect, log: Ledger) -> ToolResult:
    """A result that says in its text whether the tool has failed."""
    content = result.content
    place = first_written(content, to)
    first = content[place] if content else None
    if result.is_error:
        why = f"{to.name} has no error flag; the text begins with '{ERROR}'"
        log.moved("tool_result.error", result.at, why)
        if isinstance(first, Text):
            content = put(content, place, mark_error(first.text))
        else:
            content = (Text(mark_error(None), at=result.at), *content)
    elif isinstance(first, Text) and is_marked(first.text):
        why = f"'{OUTPUT}' is written before a text that looks like an error"
        log.moved("tool_result.error", first.at, why)
        content = put(content, place, mark_plain(first.text))
    else:
        return result
    return replace(result, content=content, is_error=None)


def put(content: tuple[Block, ...], place: int, text: str) -> tuple[Block, ...]:
    block = content[place]
    assert isinstance(block, Text)
    return (*content[:place], replace(block, text=text), *content[place + 1 :])


def first_written(content: tuple[Block, ...], to: Dialect) -> int:
    """The place of the block that is written first."""
    ranks = to.can.order.get("tool")
    if ranks is None or len(content) < 2:
        return 0
    return min(range(len(content)), key=lambda place: ranks.get(order.kind_of(content[place]), 0))


def spell(tree: Request | History, to: Dialect, log: Ledger) -> Request | History:
    """A tree of the same dialect, with the marks of its results."""
    messages = tree.messages
    if not any(is_spoken(message) for message in messages):
        return tree
    return replace(tree, messages=tuple([spelled(message, to, log) for message in messages]))


def is_spoken(message: Message) -> bool:
    """Whether a message may hold a result that needs a mark, or texts that become one."""
    if message.role != "tool":
        return False
    return any(
        isinstance(block, ToolResult)
        and (block.is_error or len(block.content) > 1 or begins_with_mark(block.content))
        for block in message.content
    )


def begins_with_mark(content: Sequence[Block]) -> bool:
    return any(isinstance(block, Text) and block.text.startswith(MARK) for block in content)


def spelled(message: Message, to: Dialect, log: Ledger) -> Message:
    if message.role != "tool":
        return message
    content = [
        lower(block, to, log) if isinstance(block, ToolResult) and is_own(block) else block
        for block in message.content
    ]
    return replace(message, content=tuple(content))


def is_own(result: ToolResult) -> bool:
    """Whether a result was read from a form in which marks are known.

    A text with keys of its own is no mark, and is written as it was.
    """
    if result.cache is not None:
        return False
    first = result.content[0] if result.content else None
    return not (isinstance(first, Text) and first.text == ERROR and not is_plain_text(first))
