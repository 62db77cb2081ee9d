"""What Claude demands of the last turns of a request, at Anthropic and at Amazon alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

from msgspec.structs import replace

from ..ledger import Ledger
from ..model import Json, Request, Text

Is = Callable[[Json], bool]

# "When `thinking` is enabled, a final `assistant` message must start with a thinking block
# (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include
# thinking blocks from previous turns. To avoid this requirement, disable `thinking`."
WITHOUT_THINKING = (
    "thinking is omitted: with it, the turn that calls the tools must start with a signed thinking "
    "block, and this one has none"
)


def without_final_space(tree: Request, log: Ledger) -> Request:
    """ "final assistant content cannot end with trailing whitespace" """
    last = tree.messages[-1] if tree.messages else None
    block = last.content[-1] if last is not None and last.content else None
    if last is None or last.role != "assistant" or not isinstance(block, Text):
        return tree
    text = block.text.rstrip()
    if text == block.text or not text:
        return tree
    log.approximated("text.space", block.at, "a final text cannot end in white space here")
    content = (*last.content[:-1], replace(block, text=text))
    return replace(tree, messages=(*tree.messages[:-1], replace(last, content=content)))


def lacks_thinking(messages: Sequence[Json], is_result: Is, is_thinking: Is) -> bool:
    """Whether the results at the end answer a turn that does not start with a thinking block."""
    backwards = list(reversed(messages))
    answer = list(takewhile(lambda message: message["role"] == "user", backwards))
    if not any(is_result(block) for message in answer for block in blocks_of(message)):
        return False
    turn = list(takewhile(lambda m: m["role"] == "assistant", backwards[len(answer) :]))
    blocks = blocks_of(turn[-1]) if turn else []
    return bool(blocks) and not is_thinking(blocks[0])


def blocks_of(message: Json) -> list[Json]:
    content = message["content"]
    return content if isinstance(content, list) else [{"type": "text"}]
