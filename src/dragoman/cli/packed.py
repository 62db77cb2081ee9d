"""What comes with the command and was made from the corpus: lines of JSON, packed."""

from __future__ import annotations

import gzip
from importlib import resources


def packed(name: str) -> list[bytes]:
    """The lines of a file of this package."""
    return gzip.decompress(
        resources.files(__package__ or "").joinpath(name).read_bytes()
    ).splitlines()
