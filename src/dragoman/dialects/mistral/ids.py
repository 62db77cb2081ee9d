"""Ids of calls as Mistral takes them: nine letters or digits, no more and no less."""

from __future__ import annotations

from ...core.writing import Rule, Writing
from ...ledger import Ledger
from .._nine import ID_RULE, Nine


class MistralWriting(Writing):
    """One conversion into Mistral's dialect."""

    def __init__(self, log: Ledger, names: Rule, same: bool, reply: bool) -> None:
        super().__init__(log, ID_RULE, names, same, reply)
        self.ids = Nine(ID_RULE, "tool_call.id")

    def made(self, call_id: str) -> str:
        return call_id if self.ids.fits(call_id) else self.ids.rename(call_id)
