"""Blocks that the target cannot hold in a place, whoever it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...ledger import Ledger
from ...model import Block, Hosted, Message, Raw, Role
from ..turns import SILENCE
from . import caching

if TYPE_CHECKING:
    from ...dialect import Dialect
    from .messages import Messages


def omit(block: Block, to: Dialect, log: Ledger) -> None:
    """Report a block that is dropped as a whole."""
    if isinstance(block, Hosted):
        why = f"{to.name} has no form for {block.service}, a tool of {block.dialect}"
        log.dropped("hosted", block.at, why)
    elif isinstance(block, Raw):
        log.dropped("raw", block.at, f"a block that only {block.dialect} knows")
    else:
        log.dropped("content.role", block.at, f"{to.name} has no form for this block in this role")
    caching.omit(block, to, log)


LATE = {
    "first": "{0} has it only at the beginning",
    "by model": "not supported by {1} in a turn",
    "asked": "{0} has it only at the beginning or after a user turn",
}
"""Why a system message cannot stand in a place, by ``Capabilities.systems``."""


def lower_late(message: Message, before: Role, lowering: Messages) -> Message:
    """A system message, or one of the user where it cannot stand after the one ``before`` it."""
    where = lowering.to.can.systems
    if where == "asked":
        late = before in ("assistant", "tool")
    else:  # those at the beginning have been left as they are
        late = before != "system" and (where == "first" or lowering.facts.system_turns is False)
    if not late:
        return message
    if message.content:
        why = LATE[where].format(lowering.to.name, lowering.model)
        why = f"`system` role written as `user`: {why}"
        lowering.log.approximated("message.role", message.at, why)
    return replace(message, role="user")


def omit_message(message: Message, to: Dialect, log: Ledger) -> None:
    """Report a message that is dropped, as nothing of it is left."""
    why = f"nothing of this message can be written for {to.name}"
    log.dropped("message.empty", message.at, why)
    if message.name is not None:
        log.dropped("message.name", message.at, why)


def omit_prefill(message: Message, to: Dialect, log: Ledger) -> None:
    """Report a beginning of the reply of which nothing is left."""
    log.approximated("prefill", message.at, f"nothing of the prefill can be written for {to.name}")


def continue_message(message: Message, to: Dialect, log: Ledger) -> None:
    """Report a last message that the model continues though nobody asked for it."""
    why = f"{to.name} continues the last message, and does not start a new turn"
    log.approximated("prefill", message.at, why)


def merge_prompt(message: Message, to: Dialect, log: Ledger) -> None:
    """Report a system message that becomes part of the one before it."""
    log.approximated("message.boundary", message.at, f"{to.name} has one system prompt")


def note_prompt(message: Message, before: bool, written: bool, to: Dialect, log: Ledger) -> None:
    """Report what becomes of a system message where there is one prompt.

    ``before``: something stands in the prompt; ``written``: something of this message does.
    """
    if not written:
        omit_message(message, to, log)
    elif before:
        merge_prompt(message, to, log)


def join_text(at: str, to: Dialect, log: Ledger) -> None:
    """Report a text that is joined with the one before it."""
    log.approximated("text.boundary", at, f"joined with the text before it: {to.name} has one text")


def merge_message(message: Message, to: Dialect, log: Ledger) -> None:
    """Report a message that becomes part of the one before it."""
    why = f"merged with the message before it: both are one turn in {to.name}"
    log.approximated("message.boundary", message.at, why)


def omit_text(at: str, to: Dialect, log: Ledger) -> None:
    """Report an empty text that is left out."""
    log.dropped("text.empty", at, f"an empty text is left out for {to.name}")


def add_text(at: str, to: Dialect, log: Ledger) -> None:
    """Report an empty text that is made up."""
    log.invented("text.empty", at, f"{to.name} needs a text, if only an empty one")


def add_user_turn(at: str, to: Dialect, log: Ledger) -> None:
    """Report a turn of the user that is made up."""
    log.invented("message.empty", at, f"{to.name} needs a turn of the user first: {SILENCE!r}")
