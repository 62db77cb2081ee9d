"""A last message that the model is to continue, on its way to a target that cannot be told so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...ledger import Ledger
from ...model import Message, Request, ToolCall

if TYPE_CHECKING:
    from ...dialect import Dialect

REASONS = {
    "never": "{} starts a new turn after the last message, and does not continue it",
    "unknown": "{} has no field for a prefill; it depends on the model whether it continues",
}
"""Why a prefill is lost, by what the target does with a last message of the assistant."""


def lower(tree: Request, to: Dialect, log: Ledger) -> Request:
    how = to.can.prefill
    if tree.prefill and how in REASONS:
        at = tree.messages[-1].at if tree.messages else tree.at
        log.approximated("prefill", at, REASONS[how].format(to.name))
        return replace(tree, prefill=None)
    return tree


def is_begun(message: Message) -> bool:
    """Whether a message may be the beginning of a reply: the assistant's, and no call."""
    if message.role != "assistant":
        return False
    return all(block.__class__ is not ToolCall for block in message.content)
