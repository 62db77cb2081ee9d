"""Blocks that the target cannot hold in a place, whoever it comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ledger import Ledger
from ..model import Block, Hosted, Raw

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
