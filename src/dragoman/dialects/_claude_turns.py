"""What Claude demands of the last turns of a request, at Anthropic and at Amazon alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..core.resuming import Scan
from ..core.signers import signer
from ..core.turns import SILENCE
from ..core.writing import Writing, is_blank
from ..ledger import Ledger
from ..model import Block, Hosted, Json, Message, Raw, Reasoning, Request, Text, ToolCall

if TYPE_CHECKING:
    from ..dialect import Dialect

CLAUDE = "anthropic"
Is = Callable[[Json], bool]

# "When `thinking` is enabled, a final `assistant` message must start with a thinking block
# (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include
# thinking blocks from previous turns. To avoid this requirement, disable `thinking`."
WITHOUT_THINKING = (
    "thinking is omitted: with it, the turn that calls the tools must start with a signed thinking "
    "block, and this one has none"
)
PREFILL_WITHOUT_THINKING = (
    "thinking is omitted: with it, an assistant turn at the end must start with a signed thinking "
    "block, and this one has none"
)

FINAL_THINKING = "a final assistant turn has no thinking blocks unless thinking is enabled"


def prompts(to: Dialect, messages: Sequence[Message], w: Writing) -> int:
    """How many messages at the beginning are the system prompt; in the same dialect, one at most.

    A turn with fields of its own stays one.
    """
    count = 0
    for message in messages:
        if message.role != "system" or (w.same and (count or has_fields(to, message))):
            break
        count += 1
    return count


def has_fields(to: Dialect, message: Message) -> bool:
    """Whether a message of this dialect has fields, which only a turn of its own can have."""
    return message.extras is not None and to.is_same(message.extras.dialect)


def calls_last(to: Dialect, content: Sequence[Block], w: Writing) -> Sequence[Block]:
    """What the assistant says, and then its calls. Text after a call makes it unanswered:
    "`tool_use` ids were found without `tool_result` blocks immediately after".
    """
    written: list[Block] = []
    calls: list[Block] = []
    for block in content:
        if block.__class__ is ToolCall:
            calls.append(block)
        elif calls and not w.reply:
            if not isinstance(block, Hosted | Raw) or to.is_same(block.dialect):  # else dropped
                w.log.approximated("content.order", block.at, f"tool calls come last in {to.name}")
            written.append(block)
        else:
            (calls if calls else written).append(block)
    return written + calls


def without_final_space(tree: Request, log: Ledger) -> Request:
    """ "final assistant content cannot end with trailing whitespace" """
    last = tree.messages[-1] if tree.messages else None
    block = last.content[-1] if last is not None and last.content else None
    if last is None or last.role != "assistant" or not isinstance(block, Text):
        return tree
    text = block.text.rstrip()
    if text == block.text:
        return tree
    log.approximated(
        "text.space",
        block.at,
        f"{log.target} does not allow white space at the end of the final text",
    )
    content = (*last.content[:-1], replace(block, text=text))
    return replace(tree, messages=(*tree.messages[:-1], replace(last, content=content)))


def without_final_thinking(tree: Request, log: Ledger) -> Request:
    """ "When thinking is disabled, an `assistant` message in the final position cannot contain
    `thinking`." Turns of the assistant that follow each other are one. A turn whose calls wait for
    their results is not final: the results are still to come.
    """
    if not tree.messages or tree.messages[-1].role in ("user", "tool"):
        return tree  # as most end
    for block in tree.messages[-1].content:
        if block.__class__ is ToolCall:
            return tree
    changed: list[Message] | None = None
    for index in range(len(tree.messages) - 1, -1, -1):
        message = tree.messages[index]
        if message.role == "system":
            continue
        if message.role != "assistant":
            break
        for block in message.content:
            if isinstance(block, Reasoning):
                log.dropped("reasoning", block.at, FINAL_THINKING)
        content = tuple(block for block in message.content if not isinstance(block, Reasoning))
        if len(content) < len(message.content):
            changed = changed or list(tree.messages)
            changed[index] = replace(message, content=content)
    return tree if changed is None else replace(tree, messages=tuple(changed))


def apart(tree: Request, to: Dialect, log: Ledger) -> Request:
    """ "If an assistant message contains any thinking blocks, the first block must be `thinking`."

    Turns of the assistant that follow each other are one; a user who says nothing is not heard.
    """
    if tree.messages is log.usual:
        return tree
    if not are_signed(tree.messages, None if to.writes is None else to.writes.signed):
        return tree  # as most are not
    places: set[int] = set()
    begun: bool | None = None  # whether the turn of the assistant that goes on began with thinking
    for index, message in enumerate(tree.messages):
        if message.role == "assistant":
            signed = any(is_signed(block) for block in message.content)
            if begun is False and signed:
                places.add(index)
                begun = True
            elif begun is None and (signed or any(map(is_stated, message.content))):
                begun = signed
        elif any(map(is_stated, message.content)):
            begun = None
    return replace(tree, messages=tuple(spoken(tree.messages, places, log))) if places else tree


def are_signed(messages: Sequence[Message], scan: Scan | None = None) -> bool:
    """Whether Claude signed any of the reasoning."""
    start, stop = (0, -1) if scan is None else scan.begin(messages)
    for index, message in enumerate(messages[start:] if start else messages, start):
        if index == stop and scan is not None:
            scan.note(messages)
        if message.role == "assistant":
            for block in message.content:
                if block.__class__ is Reasoning and is_signed(block):
                    return True
    if stop == len(messages) and scan is not None:
        scan.note(messages)
    return False


def is_signed(block: Block) -> bool:
    return (
        isinstance(block, Reasoning)
        and block.signature is not None
        and signer(block.signature) == CLAUDE
    )


def is_stated(block: Block) -> bool:
    return not isinstance(block, Reasoning) and not (
        isinstance(block, Text) and is_blank(block.text)
    )


def spoken(messages: Sequence[Message], places: set[int], log: Ledger) -> Iterator[Message]:
    """The messages with a word of the user at some places."""
    for index, message in enumerate(messages):
        if index in places:
            why = (
                f"{log.target} requires a user turn between two assistant turns; "
                f"written as {SILENCE!r}"
            )
            log.invented("message.empty", message.at, why)
            yield Message("user", (Text(SILENCE, at=message.at),), at=message.at)
        yield message


def why_unthinking(messages: Sequence[Json], is_result: Is, is_thinking: Is) -> str | None:
    """Why a request cannot ask for thinking with these turns; None: it can."""
    if lacks_thinking(messages, is_result, is_thinking):
        return WITHOUT_THINKING
    return PREFILL_WITHOUT_THINKING if ends_unthinking(messages, is_thinking) else None


def lacks_thinking(messages: Sequence[Json], is_result: Is, is_thinking: Is) -> bool:
    """Whether the results at the end reply a turn that does not start with a thinking block."""
    backwards = [message for message in reversed(messages) if message["role"] != "system"]
    reply = list(takewhile(lambda message: message["role"] == "user", backwards))
    if not any(is_result(block) for message in reply for block in blocks_of(message)):
        return False
    turn = list(takewhile(lambda m: m["role"] == "assistant", backwards[len(reply) :]))
    blocks = blocks_of(turn[-1]) if turn else []
    return bool(blocks) and not is_thinking(blocks[0])


def ends_unthinking(messages: Sequence[Json], is_thinking: Is) -> bool:
    """Whether the model is to go on with a turn that does not start with a thinking block."""
    last = next((message for message in reversed(messages) if message["role"] != "system"), None)
    if last is None or last["role"] != "assistant":
        return False
    blocks = blocks_of(last)
    return bool(blocks) and not is_thinking(blocks[0])


def blocks_of(message: Json) -> list[Json]:
    content = message["content"]
    return content if isinstance(content, list) else [{}]  # a text: no result, no thinking
