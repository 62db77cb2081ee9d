"""Ids of calls as Mistral's models take them, wherever they are served: nine letters or digits.

"Tool call id was call_abc but must be a-z, A-Z, 0-9, with a length of 9." (code 3280)
"""

from __future__ import annotations

import re
import string

from ..core.writing import Names, Rule

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
