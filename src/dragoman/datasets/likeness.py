"""Near-duplicates by MinHash: two texts are alike if most of their runs of words are the same.

``datasketch`` does both halves: the signature of a text, which a worker makes, and the index of
those that were kept, which the selection asks in the order of the records. The seed is fixed, so
the result is.
"""

from __future__ import annotations

import re
from typing import Any

from ..errors import MissingExtra

WIDE = 5
"""Words in a run."""
HASHES = 128
SEED = 1
WORD = re.compile(r"\w+")


def library() -> Any:
    try:
        import datasketch
    except ImportError:
        raise MissingExtra("near-duplicates", "minhash") from None
    return datasketch


def runs(text: str) -> set[bytes]:
    """The runs of words of a text; a short one is a run itself."""
    found = WORD.findall(text.lower())
    if len(found) <= WIDE:
        return {" ".join(found).encode("utf-8", "replace")}
    spans = range(len(found) - WIDE + 1)
    return {" ".join(found[i : i + WIDE]).encode("utf-8", "replace") for i in spans}


class Likeness:
    """Signatures, and an index of those that were kept."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.library = library()
        self.empty = self.library.MinHash(num_perm=HASHES, seed=SEED)
        self.index: Any = None
        self.kept: list[Any] = []

    def signature(self, text: str) -> bytes:
        made = self.empty.copy()
        made.update_batch(sorted(runs(text)))
        data: bytes = made.hashvalues.astype("<u8").tobytes()
        return data

    def is_new(self, signature: bytes) -> bool:
        """Whether nothing that was kept is as like it as that; if so, it is kept."""
        import numpy

        if self.index is None:
            self.index = self.library.MinHashLSH(threshold=self.threshold, num_perm=HASHES)
        made = self.empty.copy()
        made.hashvalues = numpy.frombuffer(signature, "<u8").astype(made.hashvalues.dtype)
        for number in self.index.query(made):
            if made.jaccard(self.kept[number]) >= self.threshold:
                return False
        self.index.insert(len(self.kept), made)
        self.kept.append(made)
        return True
