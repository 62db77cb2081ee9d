"""Ids of calls as Mistral takes them: nine letters or digits, no more and no less.

"Tool call id was call_abc but must be a-z, A-Z, 0-9, with a length of 9." (code 3280)
"""

from __future__ import annotations

import re
import string

from ...ledger import Ledger
from ...writing import Names, Rule, Writing

LENGTH = 9
ALPHABET = string.digits + string.ascii_letters
ID_RULE: Rule = ("[a-zA-Z0-9]", LENGTH)
is_legal = re.compile(f"[a-zA-Z0-9]{{{LENGTH}}}").fullmatch


class Nine(Names):
    """An id that fits stays; another is a digest of itself, so that both ends get the same."""

    def stays(self, name: str) -> bool:
        return self.fits(name) and super().stays(name)  # not every word is legal here

    def fits(self, name: str) -> bool:
        return is_legal(name) is not None

    def rename(self, name: str) -> str:
        import hashlib  # slow to import, and rarely needed

        for salt in range(1000):
            seed = name if not salt else f"{name}\0{salt}"
            number = int.from_bytes(hashlib.sha256(seed.encode()).digest())
            new = ""
            while len(new) < LENGTH:
                number, digit = divmod(number, len(ALPHABET))
                new += ALPHABET[digit]
            if not self.knows(new):
                return new
        raise AssertionError("a thousand digests collided")


class MistralWriting(Writing):
    """One conversion into Mistral's dialect."""

    __slots__ = ()

    def __init__(self, log: Ledger, names: Rule, home: bool, answer: bool) -> None:
        super().__init__(log, ID_RULE, names, home, answer)
        self.ids = Nine(ID_RULE, "tool_call.id")

    def made(self, call_id: str) -> str:
        return call_id if self.ids.fits(call_id) else self.ids.rename(call_id)
