"""Blocks that the target cannot hold in a place, whoever it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ledger import Ledger
from ..model import Block, Hosted, Message, Raw

if TYPE_CHECKING:
    from ..dialect import Dialect


def omit(block: Block, to: Dialect, log: Ledger) -> None:
    """Report a block that is dropped as a whole."""
    if isinstance(block, Hosted):
        why = f"{to.name} has no form for {block.service}, a tool of {block.dialect}"
        log.dropped("hosted", block.at, why)
    elif isinstance(block, Raw):
        log.dropped("raw", block.at, f"a block that only {block.dialect} knows")
    else:
        log.dropped("content.role", block.at, f"{to.name} has no form for this block in this role")


def omit_message(message: Message, to: Dialect, log: Ledger) -> None:
    """Report a message that is dropped, as nothing of it is left."""
    why = f"nothing of this message can be written for {to.name}"
    log.dropped("message.empty", message.at, why)


def merge_prompt(message: Message, to: Dialect, log: Ledger) -> None:
    """Report a system message that becomes part of the one before it."""
    log.approximated("message.boundary", message.at, f"{to.name} has one system prompt")


def join_text(at: str, to: Dialect, log: Ledger) -> None:
    """Report a text that is joined with the one before it."""
    log.approximated("text.boundary", at, f"joined with the text before it: {to.name} has one text")
