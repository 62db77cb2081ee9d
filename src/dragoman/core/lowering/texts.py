"""Texts without words on their way to a target, and results that have no text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...ledger import Ledger
from ...model import Block, Text, ToolResult
from ..capabilities import Place, Texts

if TYPE_CHECKING:
    from ...dialect import Dialect


def is_rejected(text: Text, rules: Texts, place: Place) -> bool:
    """Whether a message cannot hold a text, as it has no words."""
    if text.text:
        return place not in rules.blank and text.text.isspace()
    return place not in rules.empty and not (rules.cited and text.citations)


def is_rejected_in_result(text: Text, alone: bool, rules: Texts, place: Place) -> bool:
    """The same for the text of a result; ``alone``: it is all that the result holds."""
    if rules.results == "any" or (rules.results == "string" and alone and text.text):
        return False
    return is_rejected(text, rules, place)


def drop(text: Text, to: Dialect, log: Ledger) -> None:
    what = "a text of white space" if text.text else "an empty text"
    log.dropped("text.empty", text.at, f"{to.name} does not accept {what}")
    if text.cache is not None:
        log.dropped("cache", text.cache.at, "the text that it marks is left out")
    for cite in text.citations:
        log.dropped("text.citations", cite.at, "the text that cites is left out")
    to.lose(text.extras, text.at, log)


def filled(result: ToolResult, to: Dialect, log: Ledger) -> tuple[Block, ...]:
    """The content of a result that has none."""
    if not to.needs_text(result):
        return ()
    log.invented("text.empty", result.at, f"{to.name} needs a text in a tool result")
    return (Text("", at=result.at),)
